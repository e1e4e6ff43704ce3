//! `activity`: agents that work through records.

use clap::{Args, Subcommand};
use serde::Serialize;
use strongroom_engine::app::activities::{ActivityState, Filter, FindingFilter, RecordFilter, RecordState, Request};
use strongroom_engine::app::views::{ActivityId, ActivityView, RecordView, ToolFindingState, ToolFindingView};
use strongroom_engine::app::{self, OpContext, activities, documents, provenance};

use super::activity_wait::{Told, Waiting, records_that_failed, work_on};
use super::values::word;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, counted};

/// Run agents over records: harvest them from a source, and deposit them
#[derive(Debug, Subcommand)]
pub(crate) enum Activity {
    /// List the agents with their options
    Agents,
    /// Make an activity, which workers carry out
    ///
    /// An agent either finds its records in a source, or takes those that another activity has processed.
    Run(Run),
    /// List activities, the newest first (with --json the oldest)
    List(Listed),
    /// Show an activity with the counts of its records
    Show(Which),
    /// List the records of an activity with what came of each
    Records {
        #[command(flatten)]
        which: Which,
        /// Only those in this state: todo, processing, processed, failed or cancelled
        #[arg(long)]
        state: Option<String>,
        /// Only those of which the tool said this: pass or fail
        #[arg(long)]
        outcome: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Write what an activity has made, or the history of an entity, as JSON-LD in the terms of PROV-O
    Provenance {
        /// The activity: its identifier, or a part of it that no other has
        #[arg(required_unless_present = "entity")]
        activity: Option<String>,
        /// What activities have done to this document or work item, or have made of this record, as "activity records" names it
        #[arg(long, value_name = "NAME", conflicts_with = "activity")]
        entity: Option<String>,
        /// The institution that the entity belongs to; the only one where it is not given
        #[arg(long, value_name = "DOMAIN", requires = "entity")]
        institution: Option<String>,
    },
    /// Write a document, such as one that was harvested, to standard output; with --json what it is as well
    Document {
        /// The document: urn:uuid: and its identifier, as "activity records" names it
        document: String,
        /// The institution that it belongs to; the only one where it is not given
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
    },
    /// Have an activity that failed go on where it was
    Restart(Which),
    /// Process the failed records of an activity again, and no others
    RetryFailed(Which),
    /// Run an activity that has ended again
    Rerun {
        #[command(flatten)]
        which: Which,
        /// Find the records anew, instead of taking all those of the run before
        #[arg(long)]
        anew: bool,
    },
    /// Keep an activity from going on
    Pause(Which),
    /// Have a paused activity go on
    Resume(Which),
    /// End an activity: what is still to be processed is not processed any more
    Cancel(Which),
    /// List the files and documents that are kept in which a virus check found something; exit 1 if there are any
    Findings {
        /// All that this activity has found, settled or not
        #[arg(long, value_name = "ACTIVITY")]
        activity: Option<String>,
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// Also those that are settled
        #[arg(long)]
        settled: bool,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Settle a finding that is nothing, such as a false alarm; it stays in the list of those that are settled
    Dismiss {
        /// The finding: its identifier, or a part of it that no other has
        finding: String,
        /// Why it is nothing
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
}

/// Names an activity.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The activity: its identifier, or a part of it that no other has
    activity: String,
}

/// An activity that is asked for.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The agent, such as harvest
    agent: String,
    #[arg(
        long = "option",
        value_name = "NAME=VALUE",
        help = "An option of the agent as NAME=VALUE, such as url=https://example.edu/oai; may be given several times"
    )]
    options: Vec<String>,
    /// The institution that it belongs to; the only one where it is not given, or that of the input
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// The activity that the records come from
    #[arg(long, value_name = "ACTIVITY")]
    input: Option<String>,
    /// Take also what the input processes later, until it has ended
    #[arg(long, requires = "input")]
    follow: bool,
    /// Take only what has changed since the last activity of the same source that ended well
    #[arg(long, conflicts_with = "input")]
    only_changed: bool,
    #[command(flatten)]
    waiting: Waiting,
}

/// Which activities are listed.
#[derive(Debug, Args)]
pub(crate) struct Listed {
    /// Only those in this state, such as running, finished or failed
    #[arg(long)]
    state: Option<String>,
    /// Only those of this agent
    #[arg(long)]
    agent: Option<String>,
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Activity, context: &Context) -> Outcome {
    let call = context.call()?;
    let named = |which: &Which| activities::named(&call, &which.activity);
    match command {
        Activity::Agents => return agents(&call, context),
        Activity::Run(run) => return begin(&call, run, context),
        Activity::List(listed) => return list(&call, listed, context),
        Activity::Records { which, state, outcome, options } => {
            let id = named(&which)?;
            let state = state.map(|text| word(&text, "state of a record", &RecordState::ALL)).transpose()?;
            let outcome = outcome.map(|text| word(&text, "outcome of a tool", &OUTCOMES)).transpose()?;
            return records(&call, id, RecordFilter { state, outcome }, options, context);
        }
        Activity::Provenance { activity: Some(activity), .. } => {
            let id = activities::named(&call, &activity)?;
            context.output.document(|out| provenance::of_activity(&call, id, out))?;
        }
        Activity::Provenance { entity, institution, .. } => {
            let entity = entity.unwrap_or_default();
            context.output.document(|out| provenance::of_entity(&call, &entity, institution.as_deref(), out))?;
        }
        Activity::Document { document, institution } => {
            let (view, bytes) = documents::show(&call, &document, institution.as_deref())?;
            if context.output.is_json() {
                context.output.json(&view)?;
            } else {
                context.output.raw(&bytes)?;
            }
        }
        Activity::Show(which) => show(&activities::show(&call, named(&which)?)?, context)?,
        Activity::Restart(which) => show(&activities::restart(&call, named(&which)?)?, context)?,
        Activity::RetryFailed(which) => context.output.show(&activities::retry_failed(&call, named(&which)?)?)?,
        Activity::Rerun { which, anew } => show(&activities::rerun(&call, named(&which)?, anew)?, context)?,
        Activity::Pause(which) => show(&activities::pause(&call, named(&which)?)?, context)?,
        Activity::Resume(which) => show(&activities::resume(&call, named(&which)?)?, context)?,
        Activity::Findings { activity, institution, settled, options } => {
            let activity = activity.map(|text| activities::named(&call, &text)).transpose()?;
            let filter = FindingFilter { institution, settled_too: settled, activity };
            return findings(&call, &filter, options, context);
        }
        Activity::Dismiss { finding, note } => {
            let id = activities::finding_named(&call, &finding)?;
            context.output.show(&activities::dismiss(&call, id, &note)?)?;
        }
        Activity::Cancel(which) => show(&activities::cancel(&call, named(&which)?)?, context)?,
    }
    Ok(Exit::Done)
}

/// The agent whose records are files.
const TOOL: &str = "tool";
/// What a tool may say.
const OUTCOMES: [&str; 2] = ["pass", "fail"];

/// An option of an agent, as people list it.
#[derive(Serialize)]
struct OptionRow {
    agent: &'static str,
    option: &'static str,
    default: &'static str,
    meaning: &'static str,
}

fn agents(call: &OpContext, context: &Context) -> Outcome {
    let agents = activities::agents(call)?;
    if context.output.is_json() {
        for agent in &agents {
            context.output.json(agent)?;
        }
        return Ok(Exit::Done);
    }
    for (number, agent) in agents.iter().enumerate() {
        let input = match agent.input {
            "source" => "finds its records",
            "activity" => "takes those of --input ACTIVITY",
            _ => "finds its records, or takes those of --input ACTIVITY",
        };
        let gap = if number == 0 { "" } else { "\n" };
        context.output.say(format!("{gap}{}: {}; {input}", agent.agent, agent.about))?;
        let mut table = context.output.table(&["option", "default", "meaning"]).wrapping();
        for option in &agent.options {
            table.row(&OptionRow {
                agent: agent.agent,
                option: option.option,
                default: option.default,
                meaning: option.meaning,
            })?;
        }
        if agent.input != "activity" {
            let meaning =
                "the domain name of the institution, as with --institution; the only one where it is not given";
            table.row(&OptionRow { agent: agent.agent, option: "institution", default: "", meaning })?;
        }
        table.end("it has no options")?;
    }
    Ok(Exit::Done)
}

fn option(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
        Failure::usage(format!("the option {text:?} is not NAME=VALUE"))
            .next("\"strongroom activity agents\" lists the options of each agent")
    })
}

fn begin(call: &OpContext, run: Run, context: &Context) -> Outcome {
    let options = run.options.iter().map(|text| option(text)).collect::<Result<_, _>>()?;
    let input = run.input.as_deref().map(|text| activities::named(call, text)).transpose()?;
    let request = Request {
        agent: run.agent,
        options,
        institution: run.institution,
        input,
        follow: run.follow,
        only_changed: run.only_changed,
    };
    let made = activities::run(call, &request)?;
    if !run.waiting.wait {
        show(&made, context)?;
        return Ok(Exit::Done);
    }
    let follow = format!("activity show {}", made.activity);
    let told = Told { name: &made.agent, follow: &follow };
    let waited = work_on(call, &[made.activity], &told, run.waiting, context)?;
    waited.views.iter().try_for_each(|view| show(view, context))?;
    waited.outcome
}

fn show(view: &ActivityView, context: &Context) -> Result<(), Failure> {
    context.output.show(view)
}

fn list(call: &OpContext, listed: Listed, context: &Context) -> Outcome {
    let state =
        listed.state.as_deref().map(|text| word(text, "state of an activity", ActivityState::ALL)).transpose()?;
    let is_filtered = state.is_some() || listed.agent.is_some() || listed.institution.is_some();
    let listing = listed.options.newest_first(&context.output);
    let wanted = Filter { state, agent: listed.agent, institution: listed.institution, listing };
    let columns = ["activity", "agent", "state", "populated", "processed", "failed"];
    let in_full = [
        "activity",
        "agent",
        "state",
        "populated",
        "todo",
        "processing",
        "processed",
        "failed",
        "cancelled",
        "tool_failed",
        "institution",
        "pipeline",
        "step",
        "run",
        "made_at",
        "started_at",
        "ended_at",
        "error",
    ];
    let table = context.output.table(&columns).with::<ActivityView>(listed.options.table);
    // The words of states stay whole.
    let mut table = table.if_room(&["made_at"]).in_full(&in_full);
    app::first(listing.limit, |after| activities::list(call, &wanted, after), |view| table.row(&view))?;
    table.end(if is_filtered { "no activities match" } else { "there are no activities" })?;
    Ok(Exit::Done)
}

fn records(call: &OpContext, id: ActivityId, filter: RecordFilter, options: ListOptions, context: &Context) -> Outcome {
    let listing = options.oldest_first();
    let of_tool = activities::show(call, id)?.agent == TOOL;
    let (columns, in_full): (&[_], &[_]) = if of_tool {
        (
            // The last column is shown whole.
            if filter.outcome.is_some() {
                &["object", "path", "version", "outcome", "message"]
            } else {
                &["object", "path", "version", "state", "outcome", "message", "attempts", "error"]
            },
            &[
                "record",
                "object",
                "path",
                "version",
                "state",
                "outcome",
                "message",
                "attempts",
                "changed_at",
                "result",
                "error",
            ],
        )
    } else {
        (
            &["record", "state", "attempts", "result", "error"],
            &["record", "state", "attempts", "changed_at", "result", "error"],
        )
    };
    let mut table = context.output.table(columns).with::<RecordView>(options.table).in_full(in_full).wrapping();
    app::arranged(
        listing,
        |after| activities::records(call, id, filter, after),
        |view| {
            // What is no file is named by its id.
            let object = view.object.clone().unwrap_or_else(|| view.record.clone());
            table.row_with(&view, &[("object", object)])
        },
    )?;
    table.end(match filter {
        RecordFilter { outcome: Some(_), .. } => {
            "no records match; of a record that is a work item, \"strongroom objects events OBJECT\" shows what was said of its files"
        }
        RecordFilter { state: Some(_), .. } => "no records match",
        RecordFilter { state: None, outcome: None } => "it has no records",
    })?;
    Ok(Exit::Done)
}

fn findings(call: &OpContext, filter: &FindingFilter, options: ListOptions, context: &Context) -> Outcome {
    let listing = options.oldest_first();
    let columns = ["finding", "object", "path", "tool", "detail", "state"];
    let in_full = [
        "finding",
        "object",
        "path",
        "file",
        "document",
        "record",
        "tool",
        "detail",
        "state",
        "activity",
        "found_at",
        "settled_at",
        "note",
        "institution",
    ];
    let mut table = context.output.table(&columns).with::<ToolFindingView>(options.table).in_full(&in_full).wrapping();
    let mut is_open = false;
    app::arranged(
        listing,
        |after| activities::findings(call, filter, after),
        |view| {
            is_open |= view.state == ToolFindingState::Open;
            // A document has a name and a record in the place of an object and a path.
            let object = view.object.clone().or_else(|| view.document.clone()).unwrap_or_default();
            let path = view.path.clone().or_else(|| view.record.clone()).unwrap_or_default();
            table.row_with(&view, &[("object", object), ("path", path)])
        },
    )?;
    table.end(&without_findings(call, filter)?)?;
    Ok(if is_open { Exit::No } else { Exit::Done })
}

/// What is said where no finding is listed.
fn without_findings(call: &OpContext, filter: &FindingFilter) -> Result<String, Failure> {
    let Some(id) = filter.activity else {
        return Ok(if filter.settled_too {
            "no virus check has found anything".to_owned()
        } else {
            "no finding is open; \"strongroom activity findings --settled\" lists those that are settled".to_owned()
        });
    };
    let failed = activities::show(call, id)?.tool_failed.unwrap_or(0);
    if failed == 0 {
        return Ok("this activity has found nothing".to_owned());
    }
    let failed = counted(failed, "file or document", "files or documents");
    let command = records_that_failed(call, id);
    Ok(format!(
        "this activity has no findings, which virus checks make; its tool has failed {failed}: \"strongroom {command}\" shows which"
    ))
}
