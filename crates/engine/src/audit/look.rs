//! What lies in the folders of chains in the stores, compared with the ranges that belong there: what is missing is put back, and what belongs to
//! no range is noted. What files have is read again by `copies`.

use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{Time, tenants};
use strongroom_storage::Store;

use super::candidates::StoreFiles;
use super::contradictions::undecided;
use super::import::note_foreign;
use super::publish::head_of;
use super::{copies, now};
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

/// Reads every range in a store now, and looks at the folders there.
///
/// # Errors
/// Something cannot be read or put back. What else there is was read all the same.
pub(crate) fn check(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<Looked, EngineError> {
    let (begun, name) = (now(home)?, store.name().to_owned());
    home.registry.write(move |tx| rows::recheck_future(tx, &name))?;
    let mut failures = Failures::default();
    let mut looked = Looked::default();
    // First what is missing by its name: to read it would be an error of the store each time.
    match look(home, store, stop) {
        Ok(put_back) => looked.put_back += put_back,
        Err(error) => failures.add(error),
    }
    match copies::reread_before(home, store, Time(begun.0.saturating_add(1)), stop) {
        Ok((read, put_back)) => looked = Looked { read, put_back: looked.put_back + put_back },
        Err(error) => failures.add(error),
    }
    failures.or(looked)
}

fn look(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let (mut failures, mut put_back) = (Failures::default(), 0);
    let left_to_people = undecided(home)?;
    for chain in home.registry.read(rows::chains)? {
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
