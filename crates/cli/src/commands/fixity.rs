//! `fixity`: how well the copies are watched, what was found, and what became of it.

use clap::{Args, Subcommand};
use strongroom_engine::StoreState;
use strongroom_engine::backfill::{self, LackingCopy};
use strongroom_engine::findings;
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary, Mended};
use strongroom_registry::fixity::{self as record, Coverage, Finding};
use strongroom_registry::objects::{self, ContentPaths};
use strongroom_registry::{ContentId, FindingId, Registry, Scope};

use super::PAGE;
use super::institution::scope;
use super::items::identifier;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{end_of, report, size};
use crate::{progress, signals};

/// Characters of the column of paths, at most.
const PATH: usize = 48;

/// Watch the copies, and repair what is damaged
#[derive(Debug, Subcommand)]
pub(crate) enum Fixity {
    /// Check copies that are due, here and now, and repair what is damaged; exit 1 if anything is found
    Run {
        #[command(flatten)]
        whose: Whose,
        /// Only those of this object: its identifier, or INSTITUTION/NAME
        #[arg(long)]
        object: Option<String>,
        /// Only those in this store
        #[arg(long)]
        store: Option<String>,
        /// Also those whose last check is fresh
        #[arg(long)]
        all: bool,
        /// At most this many copies
        #[arg(long, value_name = "N")]
        max: Option<usize>,
        /// Leave the checks to the workers: only put them into the queue
        #[arg(long)]
        enqueue: bool,
    },
    /// Try to repair what is not repaired yet: the findings named, or all; exit 1 if anything stays damaged
    Repair {
        /// Their identifiers, as "fixity problems" shows them
        findings: Vec<String>,
    },
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
        finding: Option<FindingId>,
        institution: String,
        object: String,
        content: Option<ContentId>,
        path: Option<String>,
        more_paths: u64,
        store: String,
        key: String,
        kind: String,
        state: String,
        detail: String,
        quarantine_key: Option<String>,
        found_at: Option<String>,
        repaired_at: Option<String>,
    }
}

report! {
    /// What a round of checks came to.
    RunReport {
        checked: u64,
        passed: u64,
        attested: u64,
        damaged: u64,
        repaired: u64,
        unrepairable: u64,
        postponed: u64,
        failed: u64,
        bytes: u64,
        errors: Vec<String>,
    }
}

report! {
    /// What was left to the workers.
    Enqueued { topic: String, tasks: u64 }
}

report! {
    /// What came of a repair.
    RepairReport { finding: FindingId, outcome: String }
}

impl From<FixitySummary> for RunReport {
    fn from(summary: FixitySummary) -> Self {
        Self {
            checked: summary.checked,
            passed: summary.passed,
            attested: summary.attested,
            damaged: summary.damaged,
            repaired: summary.repaired,
            unrepairable: summary.unrepairable,
            postponed: summary.postponed,
            failed: summary.failed,
            bytes: summary.bytes,
            errors: summary.errors,
        }
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

impl FindingReport {
    /// A finding, with where its content lies in the package.
    fn new(finding: Finding, paths: Option<ContentPaths>) -> Self {
        let (path, more_paths) = paths.map_or((None, 0), |paths| {
            (Some(paths.first.strip_prefix(objects::DEPOSIT).unwrap_or(&paths.first).to_owned()), paths.more)
        });
        Self {
            finding: Some(finding.id),
            institution: finding.institution_identifier,
            object: finding.object_identifier,
            content: finding.content,
            path,
            more_paths,
            store: finding.store,
            key: finding.key,
            kind: finding.kind.to_string(),
            state: finding.state.to_string(),
            detail: finding.detail,
            quarantine_key: finding.quarantine_key,
            found_at: Some(finding.found_at.to_string()),
            repaired_at: finding.repaired_at.map(|time| time.to_string()),
        }
    }

    /// Its paths in one cell.
    fn paths(&self) -> String {
        let more = if self.more_paths > 0 { format!(" and {} more", self.more_paths) } else { String::new() };
        let path = self.path.as_deref().unwrap_or_default();
        format!("{}{more}", end_of(path, PATH.saturating_sub(more.chars().count())))
    }

    /// A store that is not the one that it should be: no copy in it counts.
    fn of_refused(state: StoreState) -> Self {
        Self {
            finding: None,
            institution: String::new(),
            object: String::new(),
            content: None,
            path: None,
            more_paths: 0,
            store: state.store,
            key: String::new(),
            kind: findings::REFUSED.to_owned(),
            state: "open".to_owned(),
            detail: state.reason.unwrap_or_default(),
            quarantine_key: None,
            found_at: None,
            repaired_at: None,
        }
    }
}

impl From<LackingCopy> for FindingReport {
    fn from(lacking: LackingCopy) -> Self {
        let LackingCopy { store, placement, object } = lacking;
        let inventories = if object.has_inventories { "" } else { " and its inventories" };
        let detail = format!(
            "the placement {placement} names store {store}, which lacks {} contents{inventories}: \
             strongroom store backfill {store}",
            object.contents
        );
        Self {
            finding: None,
            institution: object.institution_identifier,
            object: object.object_identifier,
            content: None,
            path: None,
            more_paths: 0,
            store,
            key: String::new(),
            kind: findings::LACKING.to_owned(),
            state: "open".to_owned(),
            detail,
            quarantine_key: None,
            found_at: None,
            repaired_at: None,
        }
    }
}

pub(crate) fn run(command: &Fixity, context: &Context) -> Outcome {
    match command {
        Fixity::Run { whose, object, store, all, max, enqueue } => {
            let request = FixityRequest {
                institution: whose.institution.clone(),
                object: object.clone(),
                store: store.clone(),
                all: *all,
                max: *max,
                stop: signals::watch()?,
            };
            check(&request, *enqueue, context)
        }
        Fixity::Repair { findings } => repair(findings, context),
        Fixity::Report(whose) => coverage(whose, context),
        Fixity::Problems { whose, all } => problems(whose, *all, context),
    }
}

fn check(request: &FixityRequest, enqueue: bool, context: &Context) -> Outcome {
    let home = context.open_home()?;
    if enqueue {
        let tasks = fixity::enqueue_due(&home, request)?;
        context.output.show(&Enqueued { topic: fixity::TOPIC.to_owned(), tasks })?;
        return Ok(Exit::Done);
    }
    let bar = progress::spinner(context, "checking copies");
    let summary = fixity::run(&home, request, &mut |so_far| {
        let size = size(so_far.bytes);
        bar.set_message(format!("checked {} copies, {size}, {} damaged", so_far.checked, so_far.damaged));
    });
    bar.finish_and_clear();
    let summary = summary?;
    let exit = if request.stop.is_requested() {
        Exit::Interrupted
    } else if summary.damaged > 0 {
        Exit::No
    } else if summary.failed > 0 {
        Exit::OutOfReach
    } else {
        Exit::Done
    };
    context.output.show(&RunReport::from(summary))?;
    Ok(exit)
}

fn repair(findings: &[String], context: &Context) -> Outcome {
    let mut ids = findings.iter().map(|id| identifier(id, "finding")).collect::<Result<Vec<FindingId>, Failure>>()?;
    let home = context.open_home()?;
    if ids.is_empty() {
        each_finding(&home.registry, Scope::System, false, |finding| {
            ids.push(finding.id);
            Ok(())
        })?;
    }
    let mut table = context.output.table(&["finding", "outcome"]);
    let mut exit = Exit::Done;
    for finding in ids {
        let outcome = match fixity::repair(&home, finding)? {
            Mended::Repaired => "repaired",
            Mended::Right => "right",
            Mended::Gone => "gone",
            Mended::Thawing => {
                exit = Exit::No;
                "thawing"
            }
            Mended::Unrepairable => {
                exit = Exit::No;
                "unrepairable"
            }
        };
        table.row(&RepairReport { finding, outcome: outcome.to_owned() })?;
    }
    table.end("there is nothing to repair")?;
    Ok(exit)
}

fn coverage(whose: &Whose, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let mut table =
        context.output.table(&["store", "copies", "checked", "never", "attested", "due", "damaged", "oldest"]);
    for store in fixity::report(&home, whose.institution.as_deref())? {
        table.row(&CoverageReport::from(store))?;
    }
    table.end("there are no copies")?;
    Ok(Exit::Done)
}

fn problems(whose: &Whose, all: bool, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    let (registry, refused) = context.registry_with_stores(&settings)?;
    let scope = scope(&registry, whose.institution.as_deref())?;
    let mut table =
        context.output.table(&["finding", "object", "path", "store", "kind", "state", "found_at", "detail"]);
    let mut is_unsolved = false;
    each_finding(&registry, scope, all, |finding| {
        is_unsolved |= finding.repaired_at.is_none();
        let paths = match finding.content {
            Some(content) => registry.read(|tx| objects::paths(tx, content))?,
            None => None,
        };
        let report = FindingReport::new(finding, paths);
        let paths = report.paths();
        table.row_with(&report, &[("path", paths)])
    })?;
    // Derived each time from the copies that there are: it has no identifier, and ends when the copies are there.
    backfill::each_lacking((&settings, &registry), scope, None, &mut |lacking| {
        is_unsolved = true;
        table.row(&FindingReport::from(lacking))
    })?;
    for state in refused {
        is_unsolved = true;
        table.row(&FindingReport::of_refused(state))?;
    }
    table.end("there are no problems")?;
    Ok(if is_unsolved { Exit::No } else { Exit::Done })
}

/// Hands over findings one by one, oldest first.
fn each_finding(
    registry: &Registry,
    scope: Scope,
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
