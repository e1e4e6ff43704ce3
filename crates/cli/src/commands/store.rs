//! `store`: the places that keep bytes, and whether they can be used.

use clap::Subcommand;
use strongroom_engine::settings::Settings;
use strongroom_storage::{self as storage, Key, PutOptions, StorageError};
use uuid::Uuid;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Show and check the stores
#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// List the stores of the settings
    List,
    /// Write, read and delete a few bytes in each store, or in those named; exit 1 if one cannot be used
    Check {
        /// Their names
        stores: Vec<String>,
    },
}

report! {
    /// A store.
    StoreReport { store: String, kind: String, path: String, roles: Vec<String>, placements: Vec<String> }
}

report! {
    /// What a check of a store found.
    StoreCheck { store: String, ok: bool, message: Option<String> }
}

pub(crate) fn run(command: &Store, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    match command {
        Store::List => list(&settings, context),
        Store::Check { stores } => check(&settings, stores, context),
    }
}

fn list(settings: &Settings, context: &Context) -> Outcome {
    let roles = [
        ("receiving", &settings.roles.receiving),
        ("staging", &settings.roles.staging),
        ("restoration", &settings.roles.restoration),
        ("quarantine", &settings.roles.quarantine),
    ];
    let mut table = context.output.table(&["store", "kind", "path", "roles", "placements"]);
    for (name, store) in &settings.stores {
        table.row(&StoreReport {
            kind: store.kind().to_owned(),
            path: store.place(&context.home),
            roles: roles.iter().filter(|(_, store)| *store == name).map(|(role, _)| (*role).to_owned()).collect(),
            placements: settings
                .placements
                .iter()
                .filter(|(_, stores)| stores.contains(name))
                .map(|(placement, _)| placement.clone())
                .collect(),
            store: name.clone(),
        })?;
    }
    table.end("there are no stores")?;
    Ok(Exit::Done)
}

fn check(settings: &Settings, wanted: &[String], context: &Context) -> Outcome {
    for name in wanted {
        if !settings.stores.contains_key(name) {
            return Err(Failure::not_found("store", name).next("\"strongroom store list\" shows those there are"));
        }
    }
    let mut table = context.output.table(&["store", "ok", "message"]);
    let mut exit = Exit::Done;
    for (name, store) in &settings.stores {
        if !wanted.is_empty() && !wanted.contains(name) {
            continue;
        }
        let opened = store.open(name, &context.home).map_err(Failure::from);
        let message = opened.and_then(|store| probe(store.as_ref())).err().map(|failure| failure.to_string());
        if message.is_some() {
            exit = Exit::No;
        }
        table.row(&StoreCheck { store: name.clone(), ok: message.is_none(), message })?;
    }
    table.end("there are no stores")?;
    Ok(exit)
}

/// Writes a few bytes, reads them back, and takes them away.
fn probe(store: &dyn storage::Store) -> Result<(), Failure> {
    let text = Uuid::new_v4().to_string();
    let key = Key::new(format!("probe-{text}")).map_err(StorageError::from)?;
    store.put(&key, &mut text.as_bytes(), &PutOptions::default())?;
    let outcome: Result<String, Failure> = (|| {
        let mut found = String::new();
        let mut body = store.open(&key, 0, None)?;
        std::io::Read::read_to_string(&mut body, &mut found)
            .map_err(|error| Failure::new(Exit::OutOfReach, format!("could not read {key}: {error}")))?;
        Ok(found)
    })();
    store.delete(&key)?;
    if outcome? == text {
        Ok(())
    } else {
        Err(Failure::new(Exit::No, "other bytes were read back than were written").next("check the disk or service"))
    }
}
