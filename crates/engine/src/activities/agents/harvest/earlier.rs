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
    runs: Option<Vec<By>>,
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
        let mut found = Vec::new();
        for runs in self.runs.iter().flat_map(|runs| runs.chunks(RUNS_AT_ONCE)) {
            finding.check()?;
            found.extend(finding.home().registry.read(|tx| provenance::made_of(tx, runs, records))?);
        }
        Ok(found)
    }
}

fn runs(home: &Home, options: &Options, activity: &Activity) -> Result<Vec<By>, RegistryError> {
    let scope = activity.institution.map_or(Scope::System, Scope::Institution);
    let filter =
        ActivityFilter { agent: Some(NAME.to_owned()), order: Order::OldestFirst, ..ActivityFilter::default() };
    let page = |after, limit| home.registry.read(|tx| activities::list(tx, scope, &filter, after, limit));
    let mut runs = Vec::new();
    for other in paging::rows(PAGE, |other: &Activity| other.id, page) {
        let other = other?;
        let theirs = parsed::<Options>(NAME, &other.options).ok();
        let is_same = other.institution == activity.institution && theirs.is_some_and(|theirs| theirs.is_of(options));
        if is_same {
            runs.extend((1..=other.run).map(|run| By { run, ..By::from(&other) }));
        }
    }
    Ok(runs)
}
