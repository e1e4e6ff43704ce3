//! `fixity`: how well the copies are watched, what was found, and what became of it.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use strongroom_engine::EngineError;
use strongroom_engine::app::fixity::{self, Filter, FixityRequest};
use strongroom_engine::app::views::{CoverageView, FindingId};
use strongroom_engine::app::{self, OpContext};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, printable, size};
use crate::progress::{self, per_second};
use crate::signals;

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
        /// Their identifiers, as "fixity problems" shows them, or parts of them that no others have
        findings: Vec<String>,
    },
    /// Say how well the copies in each store are watched
    Report {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        options: ListOptions,
    },
    /// List what is wrong and not repaired; exit 1 if there is anything
    Problems {
        #[command(flatten)]
        whose: Whose,
        /// What was repaired as well
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
        Fixity::Run { whose, object, store, all, max, enqueue } => {
            let request = FixityRequest {
                institution: whose.institution.clone(),
                object: object.clone(),
                store: store.clone(),
                all: *all,
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
    let bar = progress::copies(context, || copies_to_check(&call, request));
    let summary = fixity::run(&call, request, &mut |so_far| {
        bar.set_position(so_far.checked + so_far.failed + so_far.postponed);
        let rate = size(per_second(so_far.bytes, bar.elapsed()));
        bar.set_message(format!("{}, {rate}/s, {} damaged", size(so_far.bytes), so_far.damaged));
    });
    bar.finish_and_clear();
    let summary = summary?;
    context.output.show(&summary)?;
    Ok(if request.stop.is_requested() {
        if !context.is_quiet {
            eprintln!("stopped; the checks that were made are recorded, and the other copies stay due");
            eprintln!("  next: the same command without --all goes on with them; workers check what is due, too");
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

/// How many copies a request is about, where the registry counts them: not those of one object.
fn copies_to_check(call: &OpContext, request: &FixityRequest) -> Option<u64> {
    if request.object.is_some() {
        return None;
    }
    let stores = fixity::report(call, request.institution.as_deref()).ok()?;
    let of_store = |store: &&CoverageView| request.store.as_ref().is_none_or(|name| *name == store.store);
    let count = |store: &CoverageView| if request.all { store.copies } else { store.due };
    let all = stores.iter().filter(of_store).map(count).sum::<u64>();
    Some(request.max.map_or(all, |max| all.min(max as u64)))
}

fn repair(findings: &[String], context: &Context) -> Outcome {
    let call = context.call()?;
    let named = findings.iter().map(|id| fixity::named(&call, id)).collect::<Result<Vec<FindingId>, EngineError>>()?;
    let wanted = if named.is_empty() { unrepaired(&call)? } else { named };
    let mut table = context.output.table(&["finding", "what", "store", "outcome"]);
    let mut exit = Exit::Done;
    for finding in wanted {
        let repair = fixity::repair(&call, finding)?;
        if repair.outcome.is_unsolved() {
            exit = Exit::No;
        }
        table.row_with(&repair, &[("what", repair.what())])?;
    }
    table.end("there is nothing to repair")?;
    Ok(exit)
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
    let mut table = context.output.table(&columns).with(options.table).in_full(&in_full);
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
    let mut table = context.output.table(&columns).with(options.table).if_room(&["found_at"]).in_full(&in_full);
    let (mut is_unsolved, mut derived) = (false, BTreeMap::new());
    app::arranged(
        options.oldest_first(),
        |after| fixity::problems(&call, filter, after),
        |finding| {
            is_unsolved |= finding.repaired_at.is_none();
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
    Ok(if is_unsolved { Exit::No } else { Exit::Done })
}
