//! `fixity`: how well the copies are watched, what was found, and what became of it.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use strongroom_engine::EngineError;
use strongroom_engine::app::fixity::{self, Filter, FixityRequest};
use strongroom_engine::app::views::{CoverageView, FindingId, FindingState, FindingView, RepairOutcome, Time};
use strongroom_engine::app::{self, OpContext};

use super::values::time;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, printable};
use crate::progress::{Line, Unit};
use crate::signals;

/// Check the copies, and repair what is damaged
#[derive(Debug, Subcommand)]
pub(crate) enum Fixity {
    /// Check copies that are due, in this process, and repair what is damaged; exit 1 if any damage is found
    Run {
        #[command(flatten)]
        whose: Whose,
        /// Only those of this object: its identifier, or INSTITUTION/NAME
        #[arg(long)]
        object: Option<String>,
        /// Only those in this store
        #[arg(long)]
        store: Option<String>,
        /// Also those that are not due
        #[arg(long)]
        all: bool,
        /// Those last checked before, instead of those that are due: a date such as 2026-01-31, a time, or an age such as 7d
        #[arg(long, value_name = "DATE|TIME|AGE", conflicts_with = "all")]
        checked_before: Option<String>,
        /// At most this many copies
        #[arg(long, value_name = "N")]
        max: Option<usize>,
        /// Leave the checks to the workers: only put them into the queue
        #[arg(long)]
        enqueue: bool,
    },
    /// Try to repair what is not repaired yet: the findings named, or all; exit 1 if anything stays damaged
    Repair {
        /// Their identifiers, as "fixity problems" shows them, or parts of them that no others have
        findings: Vec<String>,
    },
    /// Show for each store how many copies it has, how many were checked, and the oldest check
    Report {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        options: ListOptions,
    },
    /// List open findings: what is wrong and not repaired; exit 1 if there are any
    Problems {
        #[command(flatten)]
        whose: Whose,
        /// Also those that were repaired
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        options: ListOptions,
    },
}

/// Whose copies.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
}

pub(crate) fn run(command: &Fixity, context: &Context) -> Outcome {
    match command {
        Fixity::Run { whose, object, store, all, checked_before, max, enqueue } => {
            let request = FixityRequest {
                institution: whose.institution.clone(),
                object: object.clone(),
                store: store.clone(),
                all: *all,
                checked_before: checked_before.as_deref().map(time).transpose()?,
                max: *max,
                stop: signals::watch()?,
                ..FixityRequest::default()
            };
            check(&request, *enqueue, context)
        }
        Fixity::Repair { findings } => repair(findings, context),
        Fixity::Report { whose, options } => coverage(whose, options, context),
        Fixity::Problems { whose, all, options } => {
            problems(&Filter { institution: whose.institution.clone(), repaired_too: *all }, options, context)
        }
    }
}

fn check(request: &FixityRequest, enqueue: bool, context: &Context) -> Outcome {
    let call = context.call()?;
    if enqueue {
        context.output.show(&fixity::enqueue(&call, request)?)?;
        return Ok(Exit::Done);
    }
    let began = Time::from(Timestamp::now());
    let line = Line::new(context, Unit::Copies, "0 damaged");
    if !line.is_hidden() {
        let (copies, bytes) = amount_to_check(&call, request);
        line.counts().set_expected(copies, bytes);
    }
    let request = &FixityRequest { progress: line.counts().clone(), ..request.clone() };
    let summary = fixity::run(&call, request, &mut |so_far| {
        line.counts().set_files(so_far.checked + so_far.failed + so_far.postponed);
        line.note(&format!("{} damaged", so_far.damaged));
    });
    drop(line);
    let summary = summary?;
    context.output.show(&summary)?;
    Ok(if request.stop.is_requested() {
        if !context.is_quiet {
            eprintln!("stopped; the checks that were made are recorded");
            let rest = if request.all { Some(began) } else { request.checked_before };
            match rest {
                Some(time) => {
                    eprintln!("  next: the same command with --checked-before {time} checks the other copies");
                }
                None => eprintln!(
                    "  next: the same command checks the other copies, which stay due; workers check them, too"
                ),
            }
        }
        Exit::Interrupted
    } else if summary.damaged > 0 {
        Exit::No
    } else if summary.failed > 0 {
        Exit::OutOfReach
    } else {
        Exit::Done
    })
}

/// How many copies a request is about, and their bytes, where the registry counts them: not those of one object or those last checked
/// before a time, and the bytes only of all copies. 0 where that is not known.
fn amount_to_check(call: &OpContext, request: &FixityRequest) -> (u64, u64) {
    if request.object.is_some() || request.checked_before.is_some() {
        return (0, 0);
    }
    let Ok(stores) = fixity::report(call, request.institution.as_deref()) else { return (0, 0) };
    let of_store = |store: &&CoverageView| request.store.as_ref().is_none_or(|name| *name == store.store);
    let count = |store: &CoverageView| if request.all { store.copies } else { store.due };
    let copies = stores.iter().filter(of_store).map(count).sum::<u64>();
    match request.max {
        Some(max) => (copies.min(max as u64), 0),
        None if request.all => (copies, stores.iter().filter(of_store).map(|store| store.bytes).sum()),
        None => (copies, 0),
    }
}

fn repair(findings: &[String], context: &Context) -> Outcome {
    let call = context.call()?;
    let named = findings.iter().map(|id| fixity::named(&call, id)).collect::<Result<Vec<FindingId>, EngineError>>()?;
    let wanted = if named.is_empty() { unrepaired(&call)? } else { named };
    let mut table = context.output.table(&["finding", "what", "store", "outcome"]);
    let (mut exit, mut is_lost) = (Exit::Done, false);
    for finding in wanted {
        let repair = fixity::repair(&call, finding)?;
        is_lost |= repair.outcome == RepairOutcome::Unrepairable;
        if repair.outcome.is_unsolved() {
            exit = Exit::No;
        }
        table.row_with(&repair, &[("what", repair.what())])?;
    }
    table.end("there is nothing to repair")?;
    if is_lost {
        tell_unrepairable(context);
    }
    Ok(exit)
}

/// Says on standard error what a person can do where no store has the right bytes.
fn tell_unrepairable(context: &Context) {
    if !context.is_quiet {
        eprintln!("no store has the correct bytes of what is unrepairable");
        eprintln!(
            "  next: deposit a package that has these bytes, which repairs the copies; or make a store that is away \
             available again"
        );
    }
}

/// Every finding that is not repaired, as they are before the first repair.
fn unrepaired(call: &OpContext) -> Result<Vec<FindingId>, Failure> {
    let mut all = Vec::new();
    app::each(
        |after| fixity::unrepaired(call, after),
        |finding| {
            all.push(finding);
            Ok::<_, Failure>(())
        },
    )?;
    Ok(all)
}

fn coverage(whose: &Whose, options: &ListOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let columns = ["store", "copies", "checked", "never", "attested", "due", "damaged", "oldest"];
    let in_full = ["store", "copies", "bytes", "checked", "never", "attested", "due", "damaged", "oldest"];
    let mut table = context.output.table(&columns).with::<CoverageView>(options.table).in_full(&in_full);
    for store in options.of(fixity::report(&call, whose.institution.as_deref())?) {
        let oldest = if store.due_now { vec![("oldest", "due now".to_owned())] } else { Vec::new() };
        table.row_with(&store, &oldest)?;
    }
    table.end("there are no copies")?;
    Ok(Exit::Done)
}

fn problems(filter: &Filter, options: &ListOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let columns = ["finding", "what", "store", "kind", "state"];
    let in_full = ["finding", "what", "store", "kind", "state", "found_at", "repaired_at", "key", "detail"];
    let mut table =
        context.output.table(&columns).with::<FindingView>(options.table).if_room(&["found_at"]).in_full(&in_full);
    let (mut is_unsolved, mut is_lost, mut derived) = (false, false, BTreeMap::new());
    app::arranged(
        options.oldest_first(),
        |after| fixity::problems(&call, filter, after),
        |finding| {
            is_unsolved |= finding.repaired_at.is_none();
            is_lost |= finding.state == FindingState::Unrepairable.as_str();
            if finding.finding.is_none() {
                // One line for each store, which says what to do.
                let lacking = (finding.store.clone(), finding.kind.clone());
                derived.entry(lacking).or_insert_with(|| finding.detail.clone());
            }
            table.row_with(&finding, &[("what", finding.what())])
        },
    )?;
    table.end("there are no problems")?;
    if !options.table.csv && !options.table.long {
        for ((store, kind), detail) in derived {
            context.output.say(printable(&format!("store {store}, {kind}: {detail}")))?;
        }
    }
    if is_lost {
        tell_unrepairable(context);
    }
    Ok(if is_unsolved { Exit::No } else { Exit::Done })
}
