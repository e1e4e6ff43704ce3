//! `fixity`: how well the copies are watched, what was found, and what became of it.

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use strongroom_registry::fixity::{self as record, Coverage, Finding};
use strongroom_registry::{ContentId, FindingId, Registry, Time};

use super::PAGE;
use super::institution::scope;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Watch the copies, and repair what is damaged
#[derive(Debug, Subcommand)]
pub(crate) enum Fixity {
    /// Say how well the copies in each store are watched
    Report(Whose),
    /// List what is wrong and not repaired; exit 1 if there is anything
    Problems {
        #[command(flatten)]
        whose: Whose,
        /// What was repaired as well
        #[arg(long)]
        all: bool,
    },
}

/// Whose copies.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
}

report! {
    /// How well one store is watched.
    CoverageReport {
        store: String,
        copies: u64,
        bytes: u64,
        checked: u64,
        never: u64,
        attested: u64,
        damaged: u64,
        due: u64,
        oldest: Option<String>,
    }
}

report! {
    /// Something wrong that was found.
    FindingReport {
        finding: FindingId,
        institution: String,
        object: String,
        content: Option<ContentId>,
        store: String,
        key: String,
        kind: String,
        state: String,
        detail: String,
        quarantine_key: Option<String>,
        found_at: String,
        repaired_at: Option<String>,
    }
}

impl From<Coverage> for CoverageReport {
    fn from(coverage: Coverage) -> Self {
        Self {
            store: coverage.store,
            copies: coverage.copies,
            bytes: coverage.bytes,
            checked: coverage.checked,
            never: coverage.never,
            attested: coverage.attested,
            damaged: coverage.damaged,
            due: coverage.due,
            oldest: coverage.oldest.map(|time| time.to_string()),
        }
    }
}

impl From<Finding> for FindingReport {
    fn from(finding: Finding) -> Self {
        Self {
            finding: finding.id,
            institution: finding.institution_identifier,
            object: finding.object_identifier,
            content: finding.content,
            store: finding.store,
            key: finding.key,
            kind: finding.kind.to_string(),
            state: finding.state.to_string(),
            detail: finding.detail,
            quarantine_key: finding.quarantine_key,
            found_at: finding.found_at.to_string(),
            repaired_at: finding.repaired_at.map(|time| time.to_string()),
        }
    }
}

pub(crate) fn run(command: &Fixity, context: &Context) -> Outcome {
    match command {
        Fixity::Report(whose) => coverage(whose, context),
        Fixity::Problems { whose, all } => problems(&context.registry()?, whose, *all, context),
    }
}

fn coverage(whose: &Whose, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    let registry = context.registry_of(&settings)?;
    let scope = scope(&registry, whose.institution.as_deref())?;
    let interval = SignedDuration::try_from(settings.fixity.interval).unwrap_or(SignedDuration::MAX);
    // An interval longer than time itself begins with it.
    let since = Time::from(Timestamp::now().checked_sub(interval).unwrap_or(Timestamp::MIN));
    let mut table =
        context.output.table(&["store", "copies", "checked", "never", "attested", "due", "damaged", "oldest"]);
    for store in registry.read(|tx| record::report(tx, scope, since))? {
        table.row(&CoverageReport::from(store))?;
    }
    table.end("there are no copies")?;
    Ok(Exit::Done)
}

fn problems(registry: &Registry, whose: &Whose, all: bool, context: &Context) -> Outcome {
    let scope = scope(registry, whose.institution.as_deref())?;
    let mut table = context.output.table(&["finding", "object", "store", "kind", "state", "found_at", "detail"]);
    let mut is_unsolved = false;
    each_finding(registry, scope, all, |finding| {
        is_unsolved |= finding.repaired_at.is_none();
        table.row(&FindingReport::from(finding))
    })?;
    table.end("there are no problems")?;
    Ok(if is_unsolved { Exit::No } else { Exit::Done })
}

/// Hands over findings one by one, oldest first.
fn each_finding(
    registry: &Registry,
    scope: strongroom_registry::Scope,
    repaired_too: bool,
    mut take: impl FnMut(Finding) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let page = registry.read(|tx| record::findings(tx, scope, repaired_too, after, PAGE))?;
        let Some(last) = page.last().map(|finding| finding.id) else { return Ok(()) };
        after = Some(last);
        page.into_iter().try_for_each(&mut take)?;
    }
}
