//! `store`: the places that keep bytes, and whether they can be used.

use clap::Subcommand;
use strongroom_engine::EngineError;
use strongroom_engine::app::stores;
use strongroom_engine::app::views::{Compared, DifferenceView, StoreCheckView, StoreView};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::logging::without_lost_stores;
use crate::output::{ListOptions, TableOptions, counted, printable};
use crate::progress;

/// Show and check the stores
#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// List the stores of the settings
    List(ListOptions),
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
        #[command(flatten)]
        options: TableOptions,
    },
    /// List what only a store or only the registry has, with what to do about it; exit 1 if there is anything
    Reconcile {
        /// Only this store; repeat for more [default: preservation stores and staging]
        #[arg(long = "store", value_name = "NAME")]
        stores: Vec<String>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Copy what a store lacks of the objects whose placement names it, each content verified; workers do it
    Backfill {
        /// Its name
        store: String,
        /// Do it in this process and wait until it ends; exit 1 if something could not be copied
        #[arg(long)]
        wait: bool,
    },
    /// Put a new store in the place of a lost one, and copy into it what the other stores have. A folder that is not there is
    /// made. Exit 1 if something could not be copied
    Replace {
        /// Its name
        store: String,
        /// Leave the copying to the workers
        #[arg(long)]
        no_wait: bool,
        /// Copy in this process, which is the default
        #[arg(long, hide = true, conflicts_with = "no_wait")]
        wait: bool,
    },
    /// Take a store out of use: no longer written, checked or counted. Nothing in it is deleted. Refused with exit 1
    /// while objects lack verified copies in the other stores of their placement, or a placement would be left with fewer than
    /// two stores
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

pub(crate) fn run(command: &Store, context: &Context) -> Outcome {
    match command {
        Store::List(options) => list(options, context),
        Store::Create { stores } => create(stores, context),
        Store::Check { stores, options } => check(stores, *options, context),
        Store::Reconcile { stores, options } => reconcile(stores, *options, context),
        Store::Backfill { store, wait } => super::backfill::backfill(store, *wait, context),
        Store::Replace { store, no_wait, .. } => super::backfill::replace(store, *no_wait, context),
        Store::Retire { store, undo: true, .. } => super::backfill::use_again(store, context),
        Store::Retire { store, allow_one_copy, .. } => super::backfill::retire(store, *allow_one_copy, context),
    }
}

fn reconcile(wanted: &[String], options: TableOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let mut compared = Compared::default();
    let columns = ["store", "code", "path", "next"];
    let in_full = ["store", "code", "object", "path", "detail", "meaning", "next"];
    let mut table = context.output.table(&columns).with::<DifferenceView>(options).in_full(&in_full).wrapping();
    for name in &stores::to_reconcile(&call, wanted)? {
        let bar = progress::spinner(context, format!("comparing store {name} with the registry"));
        let mut failure = None;
        let outcome = stores::reconcile(&call, name, &mut |difference| {
            bar.suspend(|| table.row(&difference).and_then(|()| context.output.flush())).map_err(|error| {
                failure = Some(error);
                EngineError::Usage("the answer could not be written".into())
            })
        });
        bar.finish_and_clear();
        if let Some(failure) = failure {
            return Err(failure);
        }
        let found = outcome?;
        compared.keys += found.keys;
        compared.objects += found.objects;
        compared.differences += found.differences;
    }
    table.end("the stores and the registry agree")?;
    if !context.is_quiet {
        let Compared { keys, objects, differences } = compared;
        eprintln!(
            "compared {} with {}: {}",
            counted(keys, "key", "keys"),
            counted(objects, "object in a store", "objects in stores"),
            counted(differences, "difference", "differences")
        );
    }
    Ok(if compared.differences == 0 { Exit::Done } else { Exit::No })
}

fn list(options: &ListOptions, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let found = without_lost_stores(|| stores::list(&installation))?;
    let columns = ["store", "kind", "state", "roles", "path"];
    let in_full = [
        "store",
        "kind",
        "state",
        "roles",
        "placements",
        "missed_logs",
        "unfinished_deletions",
        "lacking",
        "backfill_queued",
        "backfill_given_up",
        "path",
    ];
    let mut table = context.output.table(&columns).with::<StoreView>(options.table).in_full(&in_full);
    let found = options.of(found);
    for store in &found {
        let roles = [("roles", roles(store))];
        table.row_with(store, if options.table.long { &[] } else { &roles })?;
    }
    table.end("there are no stores")?;
    if options.table.csv {
        return Ok(Exit::Done);
    }
    // A reason says what to do: a cell would be cut.
    for store in found {
        let Some(reason) = store.reason else { continue };
        context.output.say(printable(&match store.state.as_str() {
            "available" => format!("store {}: {reason}", store.store),
            state => format!("store {} is {state}: {reason}", store.store),
        }))?;
    }
    Ok(Exit::Done)
}

/// What a store is for, in one cell.
fn roles(store: &StoreView) -> String {
    let placements = store.placements.len() as u64;
    let kept = (placements > 0).then(|| format!("in {}", counted(placements, "placement", "placements")));
    store.roles.iter().cloned().chain(kept).collect::<Vec<_>>().join(", ")
}

fn create(wanted: &[String], context: &Context) -> Outcome {
    let made = stores::create(&context.installation()?, wanted)?;
    let mut table = context.output.table(&["store", "kind", "path"]);
    made.iter().try_for_each(|store| table.row(store))?;
    table.end("there are no stores")?;
    Ok(Exit::Done)
}

fn check(wanted: &[String], options: TableOptions, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let checks = without_lost_stores(|| stores::check(&installation, wanted))?;
    let found = checks.stores;
    let columns = ["store", "ok", "state", "problems", "message"];
    let in_full = [
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
    ];
    let mut table = context.output.table(&columns).with::<StoreCheckView>(options).in_full(&in_full).wrapping();
    found.iter().try_for_each(|store| table.row(store))?;
    table.end("there are no stores")?;
    context.output.flush()?;
    checks.journal?;
    let wrong: Vec<_> = found.iter().filter(|store| !store.ok).collect();
    for store in wrong.iter().filter(|store| store.problems.is_none_or(|open| open == 0)) {
        if !context.is_quiet && !context.output.is_json() {
            let name = printable(&store.store);
            let what =
                if store.state == "away" { "make the store reachable again" } else { "mend what the message says" };
            eprintln!(
                "next: {what}, or correct store {name} in strongroom.toml; then \"strongroom store check {name}\""
            );
        }
    }
    Ok(if wrong.is_empty() {
        Exit::Done
    } else if wrong.iter().all(|store| store.state == "away") {
        Exit::OutOfReach
    } else {
        Exit::No
    })
}
