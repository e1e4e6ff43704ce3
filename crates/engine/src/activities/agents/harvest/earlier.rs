//! What earlier harvests of the same source made of records, for those that the source says are deleted.

use strongroom_registry::activities::{self, Activity, ActivityFilter};
use strongroom_registry::provenance::{self, By};
use strongroom_registry::{Order, RegistryError, Scope};

use super::NAME;
use super::options::Options;
use crate::activities::agent::Finding;
use crate::activities::error::AgentError;
use crate::activities::options::parsed;
use crate::{Home, paging};

/// Activities that are read at once.
const PAGE: usize = 200;
/// Runs whose results are looked up at once: with each of at most 500 records.
const RUNS_AT_ONCE: usize = 20;

/// The runs of the harvests of a source, this one among them. They are looked up when the first record is deleted.
#[derive(Default)]
pub(super) struct Earlier {
    options: Options,
    of: Option<Activity>,
    runs: Option<Runs>,
}

/// Runs of harvests.
#[derive(Default)]
struct Runs {
    of_source: Vec<By>,
    /// Those of other parts of the same location.
    of_others: Vec<By>,
}

impl Earlier {
    pub(super) fn of(options: &Options, activity: &Activity) -> Self {
        Self { options: options.clone(), of: Some(activity.clone()), runs: None }
    }

    /// What they made of these records and is valid now.
    pub(super) fn made_of(&mut self, finding: &dyn Finding, records: &[String]) -> Result<Vec<String>, AgentError> {
        let Some(activity) = self.of.as_ref().filter(|_| !records.is_empty()) else { return Ok(Vec::new()) };
        if self.runs.is_none() {
            self.runs = Some(runs(finding.home(), &self.options, activity)?);
        }
        let Some(runs) = &self.runs else { return Ok(Vec::new()) };
        let mut found = made_of(finding, &runs.of_source, records)?;
        // A document that was made before parts were told apart is that of the other part as well, which may have the record still.
        let shared = made_of(finding, &runs.of_others, records)?;
        found.retain(|entity| !shared.contains(entity));
        Ok(found)
    }
}

fn made_of(finding: &dyn Finding, runs: &[By], records: &[String]) -> Result<Vec<String>, AgentError> {
    let mut found = Vec::new();
    for runs in runs.chunks(RUNS_AT_ONCE) {
        finding.check()?;
        found.extend(finding.home().registry.read(|tx| provenance::made_of(tx, runs, records))?);
    }
    Ok(found)
}

fn runs(home: &Home, options: &Options, activity: &Activity) -> Result<Runs, RegistryError> {
    let scope = activity.institution.map_or(Scope::System, Scope::Institution);
    let filter =
        ActivityFilter { agent: Some(NAME.to_owned()), order: Order::OldestFirst, ..ActivityFilter::default() };
    let page = |after, limit| home.registry.read(|tx| activities::list(tx, scope, &filter, after, limit));
    let mut found = Runs::default();
    for other in paging::rows(PAGE, |other: &Activity| other.id, page) {
        let other = other?;
        let theirs = parsed::<Options>(NAME, &other.options).ok();
        let Some(theirs) = theirs.filter(|_| other.institution == activity.institution) else { continue };
        let runs = (1..=other.run).map(|run| By { run, ..By::from(&other) });
        if theirs.is_of(options) {
            found.of_source.extend(runs);
        } else if theirs.may_share(options) {
            found.of_others.extend(runs);
        }
    }
    Ok(found)
}
