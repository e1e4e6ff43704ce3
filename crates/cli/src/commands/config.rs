//! `config`: what is set, where it comes from, and whether it is all right.

use clap::Subcommand;
use strongroom_engine::places::{self, Conflict};
use strongroom_engine::settings::Origin;
use strongroom_registry::health;

use super::rights;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

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
    let mut ids = Vec::with_capacity(settings.stores.len());
    for (name, store) in &settings.stores {
        let opened = store.open(name, &context.home).map_err(Failure::from);
        ids.push((name.as_str(), opened.as_ref().ok().and_then(|store| store.id())));
        note(format!("store {name}"), opened.map(|_| ()));
    }
    let mut conflicts = places::conflicts(&settings, &context.home);
    // Stores in one place are told once: they hold one id, too.
    for same in places::same_ids(&settings, &context.home, ids) {
        if !conflicts.iter().any(|known| (&known.store, &known.other) == (&same.store, &same.other)) {
            conflicts.push(same);
        }
    }
    for conflict in conflicts {
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
