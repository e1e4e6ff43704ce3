//! `config`: what is set, where it comes from, and whether it is all right.

use clap::Subcommand;
use strongroom_engine::places::Conflict;
use strongroom_engine::settings::Origin;
use strongroom_registry::health;

use super::opened::OpenedStores;
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
    let opened = OpenedStores::open(&settings, context);
    let mut unconditional = Vec::new();
    for (name, one) in opened.stores {
        if one.store.as_ref().is_ok_and(|store| !store.capabilities().conditional_put) {
            unconditional.push(name.clone());
        }
        note(format!("store {name}"), one.store.map(|_| ()));
    }
    for conflict in opened.conflicts {
        let Conflict { store, other, reason } = conflict;
        note(format!("places of {other} and {store}"), Err(Failure::usage(reason)));
    }
    let registry = context.registry_of(&settings);
    let damage = registry.as_ref().ok().map(|registry| registry.read(health::open_findings));
    note("registry".to_owned(), registry.map(|_| ()));
    if let Some(found) = damage {
        let found = found.map_err(Failure::from).and_then(|found| {
            let open: u64 = found.iter().map(|one| one.findings).sum();
            let text = format!("{open} findings of damage are open");
            let failure = Failure::new(Exit::No, text).next("\"strongroom fixity problems\" lists them");
            if open == 0 { Ok(()) } else { Err(failure) }
        });
        note("copies".to_owned(), found);
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
