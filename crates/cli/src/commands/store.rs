//! `store`: the places that keep bytes, and whether they can be used.

use clap::Subcommand;
use strongroom_engine::mark::{self, Found as Mark};
use strongroom_engine::places;
use strongroom_engine::reconcile::{self, Compared};
use strongroom_engine::settings::Settings;
use strongroom_engine::{Availability, EngineError};
use strongroom_registry::health::{self, OpenFindings};
use strongroom_storage::{self as storage, Key, PutOptions, StorageError};
use uuid::Uuid;

use super::opened::OpenedStores;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;
use crate::progress;

/// Show and check the stores
#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// List the stores of the settings
    List,
    /// Make stores of the settings that are not there yet; those there are stay as they are
    Create {
        /// Their names
        #[arg(required = true)]
        stores: Vec<String>,
    },
    /// Write, read and delete a few bytes in each store, or in those named; exit 1 if one cannot be used or has open damage
    Check {
        /// Their names
        stores: Vec<String>,
    },
    /// List what only a store or only the record knows, with what to do about it; exit 1 if there is anything
    Reconcile {
        /// Only this store; repeat for more [default: preservation stores and staging]
        #[arg(long = "store", value_name = "NAME")]
        stores: Vec<String>,
    },
    /// Copy what a store lacks of the objects whose placement names it, each content verified; workers do it
    ///
    /// Example: strongroom store backfill third --wait
    Backfill {
        /// Its name
        store: String,
        /// Do it here and now; exit 1 if something could not be copied
        #[arg(long)]
        wait: bool,
    },
    /// Put a new store in the place of a lost one, and copy into it what the other stores have. A folder that is not there is
    /// made. Exit 1 if something could not be copied
    ///
    /// Example: strongroom store replace secondary
    Replace {
        /// Its name
        store: String,
        /// Leave the copying to the workers
        #[arg(long)]
        no_wait: bool,
        /// Copy here and now, which is the default
        #[arg(long, hide = true, conflicts_with = "no_wait")]
        wait: bool,
    },
    /// Take a store out of use: no longer written, checked or counted. Nothing in it is deleted. Refused with exit 1 while
    /// objects lack verified copies in the rest of their placement
    ///
    /// Example: strongroom store retire first
    Retire {
        /// Its name
        store: String,
    },
}

report! {
    /// A store.
    StoreReport {
        store: String,
        kind: String,
        state: String,
        path: String,
        roles: Vec<String>,
        placements: Vec<String>,
        reason: Option<String>,
        missed_logs: Option<u64>,
    }
}

report! {
    /// A store that is there now.
    StoreMade { store: String, kind: String, path: String }
}

report! {
    /// What a check of a store found.
    StoreCheck {
        store: String,
        ok: bool,
        conditional_put: Option<bool>,
        strong_checksum: Option<bool>,
        atomic_assembly: Option<bool>,
        registry: Option<String>,
        term: Option<u64>,
        acts: Option<u64>,
        problems: Option<u64>,
        message: Option<String>,
    }
}

report! {
    /// Something that only a store or only the record knows.
    DifferenceReport {
        store: String,
        code: String,
        path: String,
        object: Option<String>,
        detail: Option<String>,
        meaning: String,
        next: String,
    }
}

pub(crate) fn run(command: &Store, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    match command {
        Store::List => list(&settings, context),
        Store::Create { stores } => create(&settings, stores, context),
        Store::Check { stores } => check(&settings, stores, context),
        Store::Reconcile { stores } => reconcile(stores, context),
        Store::Backfill { store, wait } => super::backfill::backfill(store, *wait, context),
        Store::Replace { store, no_wait, .. } => super::backfill::replace(store, *no_wait, context),
        Store::Retire { store } => super::backfill::retire(store, context),
    }
}

fn reconcile(wanted: &[String], context: &Context) -> Outcome {
    let home = context.open_home()?;
    if let Some(name) = wanted.iter().find(|name| !home.stores.contains_key(*name)) {
        return Err(Failure::not_found("store", name).next("\"strongroom store list\" shows those there are"));
    }
    let mut stores: Vec<String> = wanted.to_vec();
    if stores.is_empty() {
        stores.extend(home.preservation_stores().iter().map(|store| store.name().to_owned()));
        stores.push(home.roles.staging.name().to_owned());
    }
    let mut compared = Compared::default();
    let mut table = context.output.table(&["store", "code", "meaning", "next", "path"]);
    for name in &stores {
        let bar = progress::spinner(context, format!("comparing store {name} with the record"));
        let mut failure = None;
        let outcome = reconcile::run(&home, name, &mut |difference| {
            let report = DifferenceReport {
                store: difference.store.clone(),
                code: difference.code.word().to_owned(),
                path: difference.path.clone(),
                object: difference.object.map(|object| object.to_string()),
                detail: difference.detail.clone(),
                meaning: difference.code.meaning().to_owned(),
                next: difference.next(),
            };
            bar.suspend(|| table.row(&report)).map_err(|error| {
                failure = Some(error);
                EngineError::Usage("the answer could not be written".into())
            })
        });
        bar.finish_and_clear();
        if let Some(failure) = failure {
            return Err(failure);
        }
        let found = outcome.map_err(|error| Failure::from(error).while_trying(format!("compare store {name}")))?;
        compared.keys += found.keys;
        compared.objects += found.objects;
        compared.differences += found.differences;
    }
    table.end("the stores and the record say the same")?;
    if !context.is_quiet {
        let Compared { keys, objects, differences } = compared;
        eprintln!("compared {keys} keys with {objects} objects in stores: {differences} differences");
    }
    Ok(if compared.differences == 0 { Exit::Done } else { Exit::No })
}

fn list(settings: &Settings, context: &Context) -> Outcome {
    let roles = [
        ("receiving", &settings.roles.receiving),
        ("staging", &settings.roles.staging),
        ("restoration", &settings.roles.restoration),
        ("quarantine", &settings.roles.quarantine),
    ];
    let opened = OpenedStores::open(settings, context);
    let mut table =
        context.output.table(&["store", "kind", "state", "path", "roles", "placements", "reason", "missed_logs"]);
    for (name, store) in &settings.stores {
        let one = opened.stores.get(name);
        let missed = opened.missed_logs.as_ref();
        table.row(&StoreReport {
            state: one.map_or(Availability::Away, |one| one.availability).as_str().to_owned(),
            reason: one.and_then(|one| one.reason.clone()),
            missed_logs: missed.map(|missed| missed.get(name).copied().unwrap_or_default()),
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

fn create(settings: &Settings, wanted: &[String], context: &Context) -> Outcome {
    let mut chosen = Vec::with_capacity(wanted.len());
    for name in wanted {
        match settings.stores.get(name) {
            Some(store) => chosen.push((name, store)),
            None => {
                return Err(
                    Failure::not_found("store", name).next("name it in the settings first, with its kind and place")
                );
            }
        }
    }
    let conflicts = places::conflicts(settings, &context.home);
    let mut table = context.output.table(&["store", "kind", "path"]);
    for (name, store) in chosen {
        if let Some(conflict) = conflicts.iter().find(|conflict| conflict.store == *name || conflict.other == *name) {
            return Err(Failure::usage(conflict.reason.clone()).while_trying(format!("make store {name}")));
        }
        if let Some(folder) = store.folder(&context.home) {
            store.make_folder(&context.home).map_err(|error| Failure::io("make the store", &folder, &error))?;
        }
        store.create(name, &context.home)?;
        let (kind, path) = (store.kind().to_owned(), store.place(&context.home));
        table.row(&StoreMade { store: name.clone(), kind, path })?;
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
    let mut table = context.output.table(&[
        "store",
        "ok",
        "conditional_put",
        "strong_checksum",
        "atomic_assembly",
        "registry",
        "term",
        "acts",
        "problems",
        "message",
    ]);
    let mut exit = Exit::Done;
    // Where there is no registry yet, it knows of no damage.
    let registry = context.check_registry(settings).and_then(|()| context.registry_of(settings)).ok();
    let open = registry.map(|registry| registry.read(health::open_findings)).transpose()?;
    // A store that is not the one it should be is not written to.
    let mut opened = OpenedStores::open(settings, context);
    for name in settings.stores.keys() {
        if !wanted.is_empty() && !wanted.contains(name) {
            continue;
        }
        let Some(one) = opened.stores.remove(name) else { continue };
        let is_kept = settings.preservation_stores().contains(&name.as_str());
        let found = one.store.and_then(|store| look(store.as_ref(), is_kept).map(|found| (store, found)));
        let (store, found, message) = match found {
            Ok((store, found)) => (Some(store), found, None),
            Err(failure) => (None, Mark::None, Some(failure.to_string())),
        };
        let (mark, message) = match found {
            Mark::Mark(mark) => (Some(mark), message),
            Mark::None => (None, message),
            Mark::Unreadable(why) => (None, Some(format!("its mark cannot be read: {why}"))),
        };
        let of_store =
            |all: &Vec<OpenFindings>| all.iter().filter(|one| one.store == *name).map(|one| one.findings).sum();
        let problems: Option<u64> = open.as_ref().map(of_store);
        let damage = problems
            .filter(|count| *count > 0)
            .map(|count| format!("{count} findings of damage are open; \"strongroom fixity problems\" lists them"));
        let message = message.or(damage);
        let message = message.or_else(|| opened.conflict_of(name).map(|conflict| conflict.reason.clone()));
        if message.is_some() {
            exit = Exit::No;
        }
        let capabilities = store.map(|store| store.capabilities());
        table.row(&StoreCheck {
            store: name.clone(),
            ok: message.is_none(),
            conditional_put: capabilities.map(|found| found.conditional_put),
            strong_checksum: capabilities.map(|found| found.strong_checksum),
            atomic_assembly: capabilities.map(|found| found.atomic_assembly),
            registry: mark.map(|mark| mark.registry.to_string()),
            term: mark.map(|mark| mark.term),
            acts: mark.map(|mark| mark.acts),
            problems,
            message,
        })?;
    }
    table.end("there are no stores")?;
    Ok(exit)
}

/// Probes a store, and reads the mark of one that keeps copies.
fn look(store: &dyn storage::Store, is_kept: bool) -> Result<Mark, Failure> {
    probe(store)?;
    Ok(if is_kept { mark::read(store)? } else { Mark::None })
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
