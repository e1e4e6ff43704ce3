//! `config`: what is set, where it comes from, and whether it is all right.

use clap::Subcommand;
use strongroom_database::DatabaseError;
use strongroom_engine::places::Conflict;
use strongroom_engine::settings::Origin;
use strongroom_engine::survey::{Condition, SurveyedStore};

use super::rights;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// What remains possible in a store that honours no conditions on puts.
const UNCONDITIONAL: &str = "it honours no conditions on puts: a process that sleeps for longer than its lease between \
     reading and putting can replace an inventory by an older one; inventories are read again, and put right, when every \
     lease of that time has ended";

/// Check and show the settings
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check settings, stores, registry and whether damage is open; exit 0 when all is well
    Check,
    /// Show every setting with its value, its source and its meaning; secrets masked
    Show,
}

report! {
    /// One setting.
    SettingLine { key: String, value: String, source: String, meaning: String }
}

report! {
    /// One thing that was checked.
    Checked { check: String, ok: bool, message: Option<String> }
}

pub(crate) fn run(command: &Config, context: &Context) -> Outcome {
    match command {
        Config::Check => check(context),
        Config::Show => show(context),
    }
}

fn show(context: &Context) -> Outcome {
    let loaded = context.settings()?;
    let mut table = context.output.table(&["key", "value", "source", "meaning"]);
    for entry in loaded.entries {
        let source = match &entry.origin {
            Origin::Default => "default".to_owned(),
            Origin::File(_) => "file".to_owned(),
            Origin::Environment(name) => format!("env {name}"),
        };
        let (key, value, meaning) = (entry.key, entry.value, entry.meaning.to_owned());
        table.row(&SettingLine { key, value, source, meaning })?;
    }
    table.end("there are no settings")?;
    Ok(Exit::Done)
}

/// What is wrong with a store itself, as a failure.
fn judged(one: &SurveyedStore) -> Result<(), Failure> {
    let Some(problem) = &one.problem else { return Ok(()) };
    let text = match one.condition {
        Condition::Available | Condition::Retired => format!("store {}: {problem}", one.name),
        condition => format!("store {} is {}: {problem}", one.name, condition.as_str()),
    };
    Err(match one.condition {
        Condition::Refused => Failure::usage(text),
        Condition::Away => Failure::new(Exit::OutOfReach, text),
        Condition::Available | Condition::Retired => Failure::new(Exit::No, text),
    })
}

fn check(context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    // Before the registry is opened: its log has the same rights as the file, and would be told of besides.
    let too_wide = rights::too_wide(context, &settings);
    let mut first: Option<Failure> = None;
    let mut lines = vec![Checked { check: "settings".to_owned(), ok: true, message: None }];
    let mut note = |check: String, outcome: Result<(), Failure>| {
        let message = outcome.as_ref().err().map(ToString::to_string);
        lines.push(Checked { check, ok: outcome.is_ok(), message });
        if let Err(failure) = outcome {
            first.get_or_insert(failure);
        }
    };
    // Without a registry that can be read, the stores are compared with one another only.
    let registry = context.unguarded_registry(&settings);
    let known = registry.as_ref().ok().and_then(Option::as_ref);
    let survey = context.survey_with(&settings, known)?;
    let mut unconditional = Vec::new();
    for one in &survey.stores {
        let is_open = one.condition == Condition::Available;
        if one.store.as_ref().is_some_and(|store| is_open && !store.capabilities().conditional_put) {
            unconditional.push(one.name.clone());
        }
        note(format!("store {}", one.name), judged(one));
    }
    for conflict in &survey.conflicts {
        let Conflict { store, other, reason } = conflict;
        note(format!("places of {other} and {store}"), Err(Failure::usage(reason.clone())));
    }
    note(
        "registry".to_owned(),
        registry.and_then(|_| {
            context.check_registry(&settings)?;
            match survey.registry.as_ref().and_then(|registry| registry.refusal()) {
                Some(reason) => Err(DatabaseError::ReadOnly { reason: reason.to_owned() }.into()),
                None => Ok(()),
            }
        }),
    );
    if let Some(open) = survey.open_findings() {
        let text = format!("{open} findings are open");
        let failure = Failure::new(Exit::No, text).next("\"strongroom fixity problems\" lists them");
        note("copies".to_owned(), if open == 0 { Ok(()) } else { Err(failure) });
    }
    for (placement, retired) in survey.retired_in_placements(&settings) {
        let message = format!("it names retired stores, which get no copies: {}", retired.join(", "));
        lines.push(Checked { check: format!("placement {placement}"), ok: true, message: Some(message) });
    }
    for name in unconditional {
        let check = format!("conditions of store {name}");
        lines.push(Checked { check, ok: true, message: Some(UNCONDITIONAL.to_owned()) });
    }
    for (path, warning) in too_wide {
        lines.push(Checked { check: format!("access {}", path.display()), ok: true, message: Some(warning) });
    }
    let mut table = context.output.table(&["check", "ok", "message"]);
    for line in &lines {
        table.row(line)?;
    }
    table.end("")?;
    first.map_or(Ok(Exit::Done), Err)
}
