//! Audit chains ([decision 66](../../../../docs/decisions/0066-audit-chains.md)): what was done, for outsiders to verify. One chain for
//! each institution, and one for what belongs to none.
//!
//! An act is pending as soon as it is recorded; the background task `audit` appends what is pending to its chain (`seal`), makes ranges of
//! entries with a head (`publish`, `keys`), puts these into every preservation store and reads them back (`copies`), compares the names there with the ranges (`folders`), and removes old ones
//! from the registry (`copies`). A registry that was made from its stores, or is behind them, imports the chains (`import`, `candidates`); where
//! stores contradict each other, people decide (`contradictions`).

mod candidates;
mod contradictions;
mod copies;
mod entry;
mod export;
mod folders;
mod import;
mod keys;
mod publish;
mod seal;
mod tsv;

use strongroom_audit::names;
use strongroom_registry::audit::{self as rows, Chain};
use strongroom_registry::{RegistryError, Scope, Time, tenants};
use strongroom_storage::{Key, StorageError, Store};

use crate::error::Failures;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

pub(crate) use export::{Exported, Form, export};
pub(crate) use folders::Checked;
pub(crate) use import::{import, is_suspended, is_suspended_in, suspend};

/// Where a store has the chains, beside its storage roots.
pub(crate) const FOLDER: &str = "_strongroom/audit";

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Entries that were appended.
    pub(crate) sealed: u64,
    /// Ranges that were made.
    pub(crate) published: u64,
    /// Ranges that were put into a store.
    pub(crate) put: u64,
    /// Ranges that were read in a store again.
    pub(crate) checked: u64,
    /// Files that were missing in a store and put back.
    pub(crate) put_back: u64,
    /// Ranges whose entries were removed from the registry.
    pub(crate) moved: u64,
}

/// Does what is due.
pub(crate) fn run(home: &Home, stop: &Shutdown) -> Result<Ran, EngineError> {
    if is_suspended(home)? {
        // An adoption that could not read the chains of every store.
        import(home)?;
    }
    // Nothing that fails keeps anything else from being done.
    let mut failures = Failures::default();
    for done in [import::add_lacking_acts(home), contradictions::check(home), keys::check_key(home)] {
        done.unwrap_or_else(|error| failures.add(error));
    }
    let mut ran = Ran { sealed: seal::seal(home, stop)?, ..Ran::default() };
    match publish::publish(home, &|chain, now| publish::is_due(home, chain, now), stop) {
        Ok((published, sealed)) => {
            ran.published = published;
            ran.sealed += sealed;
        }
        Err(error) => failures.add(error),
    }
    for store in home.preservation_stores() {
        if home.is_retired(store.name())? || home.away(store.name()).is_some() {
            continue;
        }
        match copies::bring(home, store, stop) {
            Ok(put) => ran.put += put,
            Err(error) => failures.add(error),
        }
        match copies::reread(home, store, stop) {
            Ok(checked) => ran.checked += checked,
            Err(error) => failures.add(error),
        }
        match folders::compare_if_due(home, store, stop) {
            Ok(put_back) => ran.put_back += put_back,
            Err(error) => failures.add(error),
        }
    }
    ran.moved = copies::move_out(home, stop)?;
    failures.or(ran)
}

/// Reads every range of every chain in a store now; what is not as it was published is put back, and what is of no range is an error.
pub(crate) fn check(home: &Home, store: &dyn Store, stop: &Shutdown) -> (Checked, Option<EngineError>) {
    let (checked, mut failures) = folders::check(home, store, stop);
    // What others of the stores have is an error of theirs.
    drop(contradictions::check(home));
    if let Err(error) = contradictions::in_store(home, store.name()) {
        failures.add(error);
    }
    (checked, failures.or(()).err())
}

/// Every chain, and how many acts of this scope are in none.
pub(crate) fn chains(home: &Home, scope: Scope) -> Result<(Vec<Chain>, u64), RegistryError> {
    home.registry.read(|tx| Ok::<_, RegistryError>((rows::chains(tx)?, rows::count_pending(tx, scope)?)))
}

/// The folder of a chain in a store.
fn folder(chain: &str) -> Result<Key, StorageError> {
    Ok(Key::new(format!("{FOLDER}/{chain}"))?)
}

fn entries_key(chain: &str, first: u64, last: u64) -> Result<Key, StorageError> {
    Ok(folder(chain)?.join(&format!("{}/{}", names::ENTRIES, names::entries_name(first, last)))?)
}

fn head_key(chain: &str, last: u64) -> Result<Key, StorageError> {
    Ok(folder(chain)?.join(&format!("{}/{}", names::HEADS, names::head_name(last)))?)
}

fn signature_key(chain: &str, last: u64) -> Result<Key, StorageError> {
    Ok(folder(chain)?.join(&format!("{}/{}", names::HEADS, names::signature_name(last)))?)
}

fn public_key_key(chain: &str, fingerprint: &str) -> Result<Key, StorageError> {
    Ok(folder(chain)?.join(&format!("{}/{}", names::KEYS, names::key_name(fingerprint)))?)
}

fn now(home: &Home) -> Result<Time, RegistryError> {
    home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))
}

/// What a text of the registry or of a store that should be of a chain is not.
fn unfit(what: &'static str, error: &strongroom_audit::AuditError) -> EngineError {
    RegistryError::Corrupt { wanted: what, found: error.to_string() }.into()
}

/// Reading a store failed.
fn unread(store: &dyn Store, key: &Key, source: std::io::Error) -> EngineError {
    StorageError::Io { store: store.name().to_owned(), act: "read", key: key.clone(), source }.into()
}

/// The name of the fact that is `yes` while nothing is appended until chains were read in the stores.
const SUSPENDED: &str = "audit.suspended";

fn set_suspended(home: &Home, is_suspended: bool) -> Result<(), RegistryError> {
    home.registry.write(move |tx| tenants::set_fact(tx, SUSPENDED, if is_suspended { "yes" } else { "no" }))
}
