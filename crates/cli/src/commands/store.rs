//! `store`: the places that keep bytes, and whether they can be used.

use clap::Subcommand;
use strongroom_engine::EngineError;
use strongroom_engine::places;
use strongroom_engine::reconcile::{self, Compared};
use strongroom_engine::settings::Settings;
use strongroom_engine::survey::{self, Condition};
use strongroom_storage::{self as storage, Key, PutOptions, StorageError};
use uuid::Uuid;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{printable, report};
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
    /// Take a store out of use: no longer written, checked or counted. Nothing in it is deleted. Refused with exit 1
    /// while objects lack verified copies in the rest of their placement, or a placement would be left with fewer than
    /// two stores
    ///
    /// Example: strongroom store retire first
    Retire {
        /// Its name
        store: String,
        /// Also where a placement is left with one store, so that new objects get one copy
        #[arg(long, conflicts_with = "undo")]
        allow_one_copy: bool,
        /// Take a retired store back into use: its copies count as unverified until they are read, and workers bring
        /// what it lacks
        #[arg(long)]
        undo: bool,
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
        state: String,
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
        Store::Retire { store, undo: true, .. } => super::backfill::use_again(store, context),
        Store::Retire { store, allow_one_copy, .. } => super::backfill::retire(store, *allow_one_copy, context),
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
    let survey = context.survey(settings)?;
    let mut table = context.output.table(&["store", "kind", "state", "path", "roles", "placements", "missed_logs"]);
    let mut reasons = Vec::new();
    for (name, store) in &settings.stores {
        let Some(one) = survey.store(name) else { continue };
        if let Some(reason) = &one.problem {
            reasons.push(match one.condition {
                Condition::Available => format!("store {name}: {reason}"),
                condition => format!("store {name} is {}: {reason}", condition.as_str()),
            });
        }
        table.row(&StoreReport {
            state: one.condition.as_str().to_owned(),
            reason: one.problem.clone(),
            missed_logs: one.missed_logs,
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
    // A reason says what to do: a cell would be cut.
    for reason in reasons {
        context.output.say(printable(&reason))?;
    }
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
    let registry = context.unguarded_registry(settings)?;
    let mut table = context.output.table(&["store", "kind", "path"]);
    for (name, store) in chosen {
        if let Some(conflict) = conflicts.iter().find(|conflict| conflict.names(name)) {
            return Err(Failure::usage(conflict.reason.clone()).while_trying(format!("make store {name}")));
        }
        if let Some(reason) = registry
            .as_ref()
            .map(|registry| survey::may_be_made(settings, &context.home, registry, name))
            .transpose()?
            .flatten()
        {
            return Err(Failure::usage(reason).while_trying(format!("make store {name}")));
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
        "state",
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
    let survey = context.survey(settings)?;
    for one in &survey.stores {
        let name = &one.name;
        if !wanted.is_empty() && !wanted.contains(name) {
            continue;
        }
        // Only a store that is the one it should be is written to.
        let failure = one.store.as_ref().filter(|_| one.condition == Condition::Available);
        let failure = failure.and_then(|store| probe(store.as_ref()).err()).map(|failure| failure.to_string());
        let problems = survey.findings_in(name);
        let open = problems
            .filter(|count| *count > 0)
            .map(|count| format!("{count} findings are open; \"strongroom fixity problems\" lists them"));
        let message = failure.or_else(|| one.problem.clone()).or(open);
        if message.is_some() {
            exit = Exit::No;
        }
        let capabilities = one.store.as_ref().filter(|_| one.condition == Condition::Available);
        let capabilities = capabilities.map(|store| store.capabilities());
        table.row(&StoreCheck {
            store: name.clone(),
            ok: message.is_none(),
            state: one.condition.as_str().to_owned(),
            conditional_put: capabilities.map(|found| found.conditional_put),
            strong_checksum: capabilities.map(|found| found.strong_checksum),
            atomic_assembly: capabilities.map(|found| found.atomic_assembly),
            registry: one.mark.map(|mark| mark.registry.to_string()),
            term: one.mark.map(|mark| mark.term),
            acts: one.mark.map(|mark| mark.acts),
            problems,
            message,
        })?;
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
