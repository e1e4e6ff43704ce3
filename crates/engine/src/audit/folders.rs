//! What lies in the folders of chains in the stores, compared with the ranges that belong there: what is missing is put back, and what belongs to
//! no range is noted. What files have is read again by `copies`.

use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{Time, tenants};
use strongroom_storage::Store;

use super::candidates::StoreFiles;
use super::contradictions::undecided;
use super::import::note_foreign;
use super::publish::head_of;
use super::{FOLDER, copies, now};
use crate::error::Failures;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

/// How often folders are compared, in microseconds: every day.
const EVERY: i64 = 24 * 3_600 * 1_000_000;
/// Ranges that are listed at once.
const AT_ONCE: usize = 100;

/// What was found in a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Ranges that were read.
    pub(crate) read: u64,
    /// Files that were put back.
    pub(crate) put_back: u64,
}

/// Compares the folders of a store where that was not done for a day; how many files were put back.
pub(super) fn compare_if_due(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let (fact, begun) = (format!("audit.compared_at:{}", store.name()), now(home)?);
    let last = home.registry.read(|tx| tenants::fact(tx, &fact))?.and_then(|text| text.parse::<i64>().ok());
    // A time in the future is of a clock that was ahead.
    if last.is_some_and(|last| (0..EVERY).contains(&begun.0.saturating_sub(last))) {
        return Ok(0);
    }
    let put_back = compare(home, store, stop)?;
    if !stop.is_requested() {
        home.registry.write(move |tx| tenants::set_fact(tx, &fact, &begun.0.to_string()))?;
    }
    Ok(put_back)
}

/// Puts into a store what it does not have yet, compares the folders there, and reads every range; what was found, and what cannot be read or
/// put. One failure keeps nothing else from being read.
pub(crate) fn check(home: &Home, store: &dyn Store, stop: &Shutdown) -> (Checked, Failures) {
    let (mut checked, mut failures) = (Checked::default(), Failures::default());
    if let Err(error) = copies::bring(home, store, stop) {
        failures.add(error);
    }
    match compare(home, store, stop) {
        Ok(put_back) => checked.put_back += put_back,
        Err(error) => failures.add(error),
    }
    let mut reread = || -> Result<(), EngineError> {
        let (begun, name) = (now(home)?, store.name().to_owned());
        home.registry.write(move |tx| rows::recheck_future(tx, &name))?;
        let (read, put_back) = copies::reread_before(home, store, Time(begun.0.saturating_add(1)), stop)?;
        checked = Checked { read, put_back: checked.put_back + put_back };
        Ok(())
    };
    if let Err(error) = reread() {
        failures.add(error);
    }
    (checked, failures)
}

fn compare(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let (mut failures, mut put_back) = (Failures::default(), 0);
    let left_to_people = undecided(home)?;
    // Before chains and ranges of the registry: what another process puts there meanwhile is one of them.
    let mut found = StoreFiles::list_all(store)?;
    let chains = home.registry.read(rows::chains)?;
    for name in found.keys().filter(|name| chains.iter().all(|chain| chain.name != **name)) {
        let text = format!("{FOLDER}/{name} in store {} is of no chain of this registry", store.name());
        failures.add(EngineError::Refused(text).next("move the folder out of the store and keep it"));
    }
    for chain in chains {
        if stop.is_requested() {
            break;
        }
        if left_to_people.contains(&chain.name) {
            continue;
        }
        let files = found.remove(&chain.name).unwrap_or_else(|| StoreFiles::none(store));
        match compare_chain(home, &files, &chain, stop) {
            Ok(files) => put_back += files,
            Err(error) if error.away().is_some() => return Err(error),
            Err(error) => failures.add(error),
        }
    }
    failures.or(put_back)
}

fn compare_chain(home: &Home, files: &StoreFiles<'_>, chain: &Chain, stop: &Shutdown) -> Result<u64, EngineError> {
    let (store, mut put_back) = (files.store, 0);
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
    note_foreign(home, &chain.name, files)?;
    Ok(put_back)
}
