//! `problems`: what is wrong in the installation, who works on it, and what became of it.

use clap::{Args, Subcommand};
use strongroom_engine::app::problems::{self, Assignee, Compared, Filter};
use strongroom_engine::app::views::{ProblemLineView, ProblemState, ProblemView};
use strongroom_engine::app::{self, OpContext};

use super::values::{expiry, word};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions, printable};

/// List what is wrong, and record who works on it
#[derive(Debug, Subcommand)]
pub(crate) enum Problems {
    /// List what is wrong: damaged copies, stores, background tasks, tasks and messages; exit 1 if anything is that is not waived
    List(ListArguments),
    /// Show a problem with its cause, who can resolve it, by which command, and its history
    Show {
        /// The problem: its identifier, or a beginning of it that no other has
        problem: String,
    },
    /// Record who works on a problem: a user, or another organization by the reference of its ticket
    Assign(AssignArguments),
    /// Record that a problem may be there, and why: it is listed as waived, and "problems list" does not fail for it; other checks do
    Waive {
        /// The problem: its identifier, or a beginning of it that no other has
        problem: String,
        /// Why it may be
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Until when: a date such as 2027-01-31, a time, or an age such as 90d [default: until it is resolved, or another fault of the same]
        #[arg(long, value_name = "DATE|TIME|AGE")]
        until: Option<String>,
    },
    /// Find out whether problems are there still, and resolve those that are not; damaged copies are repaired first. Exit 1 if one is there
    Resolve {
        /// The problems: their identifiers, or beginnings of them that no others have
        #[arg(required = true, value_name = "PROBLEM")]
        problems: Vec<String>,
    },
}

/// Which problems are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those in this state: open, assigned, external, waived or resolved
    #[arg(long)]
    state: Option<String>,
    /// Only those of this kind, such as store.away, or of these kinds, such as store
    #[arg(long)]
    kind: Option<String>,
    /// Only those about this store
    #[arg(long)]
    store: Option<String>,
    /// Also those that are resolved
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: ListOptions,
}

/// Who works on a problem.
#[derive(Debug, Args)]
pub(crate) struct AssignArguments {
    /// The problem: its identifier, or a beginning of it that no other has
    problem: String,
    #[command(flatten)]
    whom: Whom,
    /// What others need to know
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Whom {
    /// The user who works on it
    #[arg(long, value_name = "EMAIL")]
    to: Option<String>,
    /// The reference of another organization that works on it, such as the ticket of a storage provider
    #[arg(long, value_name = "TEXT")]
    ticket: Option<String>,
    /// No user or organization works on it: it is open again
    #[arg(long)]
    none: bool,
}

pub(crate) fn run(command: Problems, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Problems::List(arguments) => list(&call, arguments, context),
        Problems::Show { problem } => show(&call, &problem, context),
        Problems::Assign(arguments) => {
            let assignee = match arguments.whom {
                Whom { to: Some(email), .. } => Assignee::User(email),
                Whom { ticket: Some(ticket), .. } => Assignee::Ticket(ticket),
                Whom { none: true, .. } => Assignee::None,
                Whom { .. } => {
                    return Err(Failure::usage("it is not said who works on the problem")
                        .next("give --to EMAIL, --ticket REFERENCE or --none"));
                }
            };
            let problem = problems::named(&call, &arguments.problem)?;
            context.output.show(&problems::assign(&call, problem, &assignee, arguments.note.as_deref())?)?;
            Ok(Exit::Done)
        }
        Problems::Waive { problem, reason, until } => {
            let until = until.as_deref().map(expiry).transpose()?.flatten();
            let problem = problems::named(&call, &problem)?;
            context.output.show(&problems::waive(&call, problem, &reason, until)?)?;
            Ok(Exit::Done)
        }
        Problems::Resolve { problems } => resolve(&call, &problems, context),
    }
}

fn list(call: &OpContext, arguments: ListArguments, context: &Context) -> Outcome {
    let state = arguments.state.map(|text| word(&text, "state", ProblemState::ALL)).transpose()?;
    let filter = Filter {
        institution: arguments.institution,
        state,
        kind: arguments.kind,
        store: arguments.store,
        resolved_too: arguments.all,
    };
    let Compared { at: compared_at, read_only } = problems::compare(call)?;
    let columns = ["problem", "kind", "state", "subject"];
    let in_full = [
        "problem",
        "kind",
        "state",
        "subject",
        "institution",
        "store",
        "finding",
        "detail",
        "resolver",
        "next",
        "assigned_to",
        "ticket",
        "reason",
        "waived_until",
        "opened_at",
        "reopened_at",
        "times_opened",
        "changed_at",
        "resolved_at",
    ];
    let mut table = context
        .output
        .table(&columns)
        .with::<ProblemView>(arguments.options.table)
        .if_room(&["reopened_at", "store", "assigned_to"])
        .in_full(&in_full)
        .wrapping();
    let mut is_wrong = false;
    app::arranged(
        arguments.options.oldest_first(),
        |after| problems::list(call, &filter, after),
        |problem| {
            is_wrong |= !matches!(problem.state, ProblemState::Waived | ProblemState::Resolved);
            table.row_with(&problem, &[("subject", subject(&problem))])
        },
    )?;
    table.end(if read_only.is_some() { "no other problems are recorded" } else { "there are no problems" })?;
    if let Some(reason) = &read_only {
        is_wrong = true;
        eprintln!("the registry can only be read, and nothing is compared with it: {}", printable(reason));
    }
    if is_wrong && read_only.is_none() && !context.is_quiet && !context.output.is_json() {
        eprintln!("next: \"strongroom problems show ID\" has the cause, who can resolve it, and by which command");
    }
    if !context.is_quiet && !context.output.is_json() {
        match compared_at {
            Some(time) => eprintln!("compared with the installation at {time}"),
            None => eprintln!("only findings of fixity checks: the rest was never compared with the installation"),
        }
    }
    Ok(if is_wrong { Exit::No } else { Exit::Done })
}

fn show(call: &OpContext, problem: &str, context: &Context) -> Outcome {
    let (problem, history) = problems::show(call, problems::named(call, problem)?)?;
    context.output.show(&problem)?;
    if context.output.is_json() {
        for line in &history {
            context.output.json(line)?;
        }
        return Ok(Exit::Done);
    }
    context.output.say("")?;
    let columns = ["time", "state", "actor", "note"];
    let mut table = context.output.table(&columns).with::<ProblemLineView>(TableOptions::default()).wrapping();
    for line in &history {
        table.row(line)?;
    }
    table.end("there is no history")?;
    Ok(Exit::Done)
}

fn resolve(call: &OpContext, names: &[String], context: &Context) -> Outcome {
    let ids = names.iter().map(|name| problems::named(call, name)).collect::<Result<Vec<_>, _>>()?;
    let mut exit = Exit::Done;
    for id in ids {
        let problem = problems::resolve(call, id)?;
        let is_resolved = problem.state == ProblemState::Resolved;
        if !is_resolved {
            exit = Exit::No;
        }
        tell(&problem, is_resolved, context)?;
    }
    Ok(exit)
}

/// What a problem is about; of a copy, with the store that it is in.
fn subject(problem: &ProblemView) -> String {
    match &problem.store {
        Some(store) if problem.finding.is_some() => format!("{}, in {store}", problem.subject),
        _ => problem.subject.clone(),
    }
}

fn tell(problem: &ProblemView, is_resolved: bool, context: &Context) -> Result<(), Failure> {
    if context.output.is_json() {
        return context.output.json(problem);
    }
    let (kind, subject) = (&problem.kind, subject(problem));
    if is_resolved {
        let evidence = problem.reason.as_deref().unwrap_or_default();
        return context.output.say(printable(&format!("{kind} {subject}: resolved, {evidence}")));
    }
    context.output.say(printable(&format!("{kind} {subject}: still there, {}", problem.detail)))?;
    if let Some(resolver) = problem.resolver {
        context.output.say(printable(&format!("  resolved by {resolver}")))?;
    }
    if let Some(next) = &problem.next {
        context.output.say(printable(&format!("  next: {next}")))?;
    }
    Ok(())
}
