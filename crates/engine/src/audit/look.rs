//! What lies in the folders of chains in the stores, compared with the ranges that belong there: what is missing is put back, and what belongs to
//! no range is noted. What files have is read again by `copies`.

use std::collections::BTreeSet;

use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{Time, tenants};
use strongroom_storage::{Key, StorageError, Store};

use super::candidates::{StoreFiles, each_key};
use super::contradictions::undecided;
use super::import::note_foreign;
use super::publish::head_of;
use super::{FOLDER, copies, now};
use crate::error::Failures;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

/// How often folders are looked at, in microseconds: every day.
const EVERY: i64 = 24 * 3_600 * 1_000_000;
/// Ranges that are listed at once.
const AT_ONCE: usize = 100;

/// What was found in a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// Ranges that were read.
    pub(crate) read: u64,
    /// Files that were put back.
    pub(crate) put_back: u64,
}

/// Looks at the folders of a store where that was not done for a day; how many files were put back.
pub(super) fn look_if_due(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let (fact, begun) = (format!("audit.looked_at:{}", store.name()), now(home)?);
    let last = home.registry.read(|tx| tenants::fact(tx, &fact))?.and_then(|text| text.parse::<i64>().ok());
    // A time in the future is of a clock that was ahead.
    if last.is_some_and(|last| (0..EVERY).contains(&begun.0.saturating_sub(last))) {
        return Ok(0);
    }
    let put_back = look(home, store, stop)?;
    if !stop.is_requested() {
        home.registry.write(move |tx| tenants::set_fact(tx, &fact, &begun.0.to_string()))?;
    }
    Ok(put_back)
}

/// Puts into a store what it does not have yet, looks at the folders there, and reads every range; what was found, and what cannot be read or
/// put. One failure keeps nothing else from being read.
pub(crate) fn check(home: &Home, store: &dyn Store, stop: &Shutdown) -> (Looked, Failures) {
    let (mut looked, mut failures) = (Looked::default(), Failures::default());
    if let Err(error) = copies::bring(home, store, stop) {
        failures.add(error);
    }
    match look(home, store, stop) {
        Ok(put_back) => looked.put_back += put_back,
        Err(error) => failures.add(error),
    }
    let mut reread = || -> Result<(), EngineError> {
        let (begun, name) = (now(home)?, store.name().to_owned());
        home.registry.write(move |tx| rows::recheck_future(tx, &name))?;
        let (read, put_back) = copies::reread_before(home, store, Time(begun.0.saturating_add(1)), stop)?;
        looked = Looked { read, put_back: looked.put_back + put_back };
        Ok(())
    };
    if let Err(error) = reread() {
        failures.add(error);
    }
    (looked, failures)
}

fn look(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let (mut failures, mut put_back) = (Failures::default(), 0);
    let left_to_people = undecided(home)?;
    let chains = home.registry.read(rows::chains)?;
    for name in folders(store)? {
        if chains.iter().all(|chain| chain.name != name) {
            failures.add(EngineError::Refused(format!(
                "{FOLDER}/{name} in store {} is of no chain of this registry",
                store.name()
            )));
        }
    }
    for chain in chains {
        if stop.is_requested() {
            break;
        }
        if left_to_people.contains(&chain.name) {
            continue;
        }
        match look_at(home, store, &chain, stop) {
            Ok(files) => put_back += files,
            Err(error) if error.away().is_some() => return Err(error),
            Err(error) => failures.add(error),
        }
    }
    failures.or(put_back)
}

/// The folders below that of the chains.
fn folders(store: &dyn Store) -> Result<BTreeSet<String>, EngineError> {
    let root = Key::new(FOLDER).map_err(StorageError::from)?;
    let mut names = BTreeSet::new();
    each_key(store, &root, &mut Vec::new(), &mut |key| {
        names.extend(key.below(&root).and_then(|below| below.split_once('/')).map(|(name, _)| name.to_owned()));
    })?;
    Ok(names)
}

fn look_at(home: &Home, store: &dyn Store, chain: &Chain, stop: &Shutdown) -> Result<u64, EngineError> {
    // Before the ranges of the registry: what another process puts there meanwhile is one of them.
    let files = StoreFiles::list(store, &chain.name, &mut Vec::new())?;
    let mut put_back = 0;
    let list =
        |after: Option<u64>, limit| home.registry.read(|tx| rows::ranges(tx, &chain.name, after.unwrap_or(0), limit));
    for range in paging::rows(AT_ONCE, |range: &RangeRow| range.last, list) {
        let range = range?;
        if stop.is_requested() {
            break;
        }
        let first = head_of(&range)?.range().first;
        let has_entries = files.entries.get(&first).is_some_and(|lasts| lasts.contains(&range.last));
        if has_entries && files.heads.contains(&range.last) {
            continue;
        }
        let has = home.registry.read(|tx| rows::copies(tx, &chain.name, range.last))?;
        if has.iter().any(|name| name == store.name()) {
            put_back += copies::check(home, store, &range)?;
        }
    }
    note_foreign(home, &chain.name, &files)?;
    Ok(put_back)
}
