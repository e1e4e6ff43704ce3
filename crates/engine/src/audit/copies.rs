//! Ranges in the preservation stores: put there, read back, read again, and brought back where they were lost. Entries that every store
//! has go from the registry.

use std::io::{self, Read};

use strongroom_audit::Sha256;
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::audit::{self as rows, RangeRow};
use strongroom_registry::{JournalOutcome, RegistryError, Time, counted};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};

use super::contradictions::undecided;
use super::publish::head_of;
use super::{entries_key, head_key, now, public_key_key, signature_key, unread};
use crate::error::Failures;
use crate::journal::{JournalEntry, Target};
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point, paging, watermark};

/// Ranges that are listed at once.
const AT_ONCE: usize = 100;
/// How old the last reading of a range in a store may be, in microseconds: 30 days.
const AGE: i64 = 30 * 24 * 3_600 * 1_000_000;
/// Entries read at once.
const PAGE: usize = 500;

/// The content of a file of a range.
enum Bytes<'a> {
    /// The entries.
    Entries,
    /// These bytes.
    These(&'a [u8]),
}

/// A file of a range.
struct File<'a> {
    key: Key,
    bytes: Bytes<'a>,
    size: u64,
    sha256: Sha256,
}

/// The files of a range: the entries first, the head last, so that no head is there without its entries.
fn files(range: &RangeRow) -> Result<Vec<File<'_>>, EngineError> {
    let head = head_of(range)?;
    let these = |key: Key, bytes| {
        let (size, sha256) = (<[u8]>::len(bytes) as u64, Sha256::of(bytes));
        File { key, bytes: Bytes::These(bytes), size, sha256 }
    };
    let (chain, entries) = (&range.chain, head.range());
    let mut files = vec![File {
        key: entries_key(chain, entries.first, range.last)?,
        bytes: Bytes::Entries,
        size: entries.bytes,
        sha256: entries.sha256,
    }];
    if let (Some((signature, pem)), Some(fingerprint)) = (&range.signature, head.key()) {
        files.push(these(public_key_key(chain, fingerprint)?, pem.as_bytes()));
        files.push(these(signature_key(chain, range.last)?, signature));
    }
    files.push(these(head_key(chain, range.last)?, range.head.as_bytes()));
    Ok(files)
}

/// Puts into a store every range that it does not have; how many.
pub(super) fn bring(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut put = 0;
    let name = store.name();
    let list =
        |after: Option<(String, u64)>, limit| home.registry.read(|tx| rows::uncopied(tx, name, after.as_ref(), limit));
    let (mut announced, mut failures, mut refused) = (None, Failures::default(), undecided(home)?);
    for range in paging::rows(AT_ONCE, |range: &RangeRow| (range.chain.clone(), range.last), list) {
        let range = range?;
        if stop.is_requested() {
            break;
        }
        // Of a chain that has other entries in the store, or in one of them, nothing further is put there.
        if refused.contains(&range.chain) {
            continue;
        }
        let epoch = match announced {
            Some(epoch) => epoch,
            None => watermark::announce(home)?,
        };
        announced = Some(epoch);
        watermark::advance(home, store, &epoch)?;
        match put_range(home, store, &range) {
            Ok(()) => {}
            Err(error) if is_of_store(&error) => return Err(error),
            // What belongs to other chains is put all the same.
            Err(error) => {
                refused.insert(range.chain.clone());
                failures.add(error);
                continue;
            }
        }
        watermark::confirm(home, &[store], &epoch)?;
        let name = name.to_owned();
        home.registry.write(move |tx| rows::put_copy(tx, &name, &range))?;
        put += 1;
    }
    failures.or(put)
}

/// Whether an error ends the work in a store: the registry failed, the store is away, or it belongs to another registry.
fn is_of_store(error: &EngineError) -> bool {
    error.away().is_some() || matches!(error, EngineError::Registry(_) | EngineError::Superseded { .. })
}

fn put_range(home: &Home, store: &dyn Store, range: &RangeRow) -> Result<(), EngineError> {
    for file in files(range)? {
        match compare(store, &file)? {
            Found::Right => continue,
            Found::Nothing => {}
            Found::Other { sha256, .. } => return Err(other_bytes(store, &file, sha256)),
        }
        write(home, store, range, &file, PutCondition::IfAbsent)?;
        crash_point("audit.put");
    }
    Ok(())
}

fn other_bytes(store: &dyn Store, file: &File<'_>, found: Option<Sha256>) -> EngineError {
    let found = digest_text(found);
    EngineError::Refused(format!(
        "{} in store {} has other bytes ({found}) than this registry publishes there (sha256:{}): it is not replaced",
        file.key,
        store.name(),
        file.sha256
    ))
    .next(
        "if another state of this registry published it, \"strongroom rebuild --adopt\" imports that; otherwise move the file out of the \
         store by hand, and the next run of the background task audit puts the right one there",
    )
}

fn digest_text(found: Option<Sha256>) -> String {
    found.map_or_else(|| "of another length".to_owned(), |sha256| format!("sha256:{sha256}"))
}

/// What is in the place of a file.
enum Found {
    Right,
    Nothing,
    /// Other bytes; the digest is known where they are as many.
    Other {
        sha256: Option<Sha256>,
        etag: String,
    },
}

fn compare(store: &dyn Store, file: &File<'_>) -> Result<Found, EngineError> {
    let head = match store.head(&file.key) {
        Ok(head) => head,
        Err(error) if error.is_absent() => return Ok(Found::Nothing),
        Err(error) => return Err(error.into()),
    };
    if head.size != file.size {
        return Ok(Found::Other { sha256: None, etag: head.etag });
    }
    let sha256 = read_sha256(store, &file.key)?;
    if sha256 == file.sha256 { Ok(Found::Right) } else { Ok(Found::Other { sha256: Some(sha256), etag: head.etag }) }
}

fn read_sha256(store: &dyn Store, key: &Key) -> Result<Sha256, EngineError> {
    let body = store.open(key, 0, None)?;
    let (_, digests) = hash_reader(body, &[Algorithm::Sha256]).map_err(|source| unread(store, key, source))?;
    let digest = digests.get(Algorithm::Sha256).and_then(|digest| digest.as_bytes().try_into().ok());
    Ok(Sha256(digest.unwrap_or_default()))
}

/// Writes a file and reads it back.
fn write(
    home: &Home,
    store: &dyn Store,
    range: &RangeRow,
    file: &File<'_>,
    condition: PutCondition,
) -> Result<(), EngineError> {
    let digest = Digest::from_bytes(&file.sha256.0).ok().map(|digest| (Algorithm::Sha256, digest));
    let condition = if store.capabilities().conditional_put { condition } else { PutCondition::Always };
    let options = PutOptions { digest, size: Some(file.size), condition, ..PutOptions::default() };
    match &file.bytes {
        Bytes::These(bytes) => {
            let mut bytes: &[u8] = bytes;
            store.put(&file.key, &mut bytes, &options)?;
        }
        Bytes::Entries => {
            let mut body = open_entries(home, range)?;
            store.put(&file.key, &mut body, &options)?;
        }
    }
    match compare(store, file)? {
        Found::Right => Ok(()),
        Found::Nothing | Found::Other { .. } => {
            let reason = format!("{} does not read back as it was written", file.key);
            Err(StorageError::Unusable { store: store.name().to_owned(), reason }.into())
        }
    }
}

/// Reads in a store again what was not read for a long time, and puts back what is not as it was published; how many ranges were read.
pub(super) fn reread(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<u64, EngineError> {
    let before = Time(now(home)?.0.saturating_sub(AGE));
    let name = store.name().to_owned();
    home.registry.write(move |tx| rows::recheck_future(tx, &name))?;
    Ok(reread_before(home, store, before, stop)?.0)
}

/// The same of every range that was not read since a time; how many were read, and how many files were put back.
pub(super) fn reread_before(
    home: &Home,
    store: &dyn Store,
    before: Time,
    stop: &Shutdown,
) -> Result<(u64, u64), EngineError> {
    let (mut checked, mut put_back) = (0, 0);
    loop {
        let due = home.registry.read(|tx| rows::unchecked(tx, store.name(), before, AT_ONCE))?;
        let mut failures = Failures::default();
        for range in &due {
            if stop.is_requested() {
                return Ok((checked, put_back));
            }
            match check(home, store, range) {
                Ok(files) => (checked, put_back) = (checked + 1, put_back + files),
                Err(error) if is_of_store(&error) => return Err(error),
                Err(error) => failures.add(error),
            }
        }
        failures.or(())?;
        if due.len() < AT_ONCE {
            return Ok((checked, put_back));
        }
    }
}

/// Reads a range in a store, and puts back what is not as it was published; how many files. The journal says so before.
pub(super) fn check(home: &Home, store: &dyn Store, range: &RangeRow) -> Result<u64, EngineError> {
    let mut put_back = 0;
    for file in files(range)? {
        let (found, condition) = match compare(store, &file)? {
            Found::Right => continue,
            Found::Nothing => ("nothing".to_owned(), PutCondition::IfAbsent),
            Found::Other { sha256, etag } => (digest_text(sha256), PutCondition::IfMatch(etag)),
        };
        if let Bytes::Entries = file.bytes {
            // The journal names no repair that cannot be made.
            drop(open_entries(home, range)?);
        }
        let institution = home.registry.read(rows::chains)?.into_iter().find(|chain| chain.name == range.chain);
        let target = Target {
            name: format!("{} in store {}", file.key, store.name()),
            institution: institution.and_then(|chain| chain.institution),
            object: None,
        };
        let detail = format!("there was {found}, published is sha256:{}: it is put back", file.sha256);
        home.registry.write(move |tx| {
            JournalEntry::of_system("audit.repair").append(tx, &target, JournalOutcome::Begun, Some(&detail))
        })?;
        let epoch = watermark::announce(home)?;
        watermark::advance(home, store, &epoch)?;
        if let Err(error) = write(home, store, range, &file, condition) {
            // Another process has put it back meanwhile.
            if !matches!(compare(store, &file)?, Found::Right) {
                return Err(error);
            }
        }
        watermark::confirm(home, &[store], &epoch)?;
        put_back += 1;
    }
    let (name, range) = (store.name().to_owned(), range.clone());
    home.registry.write(move |tx| rows::put_copy(tx, &name, &range))?;
    Ok(put_back)
}

/// Removes entries from the registry whose retention there has ended, once every preservation store has them, as was read just now.
pub(super) fn move_out(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let Some(before) = crate::retention::before(now(home)?, home.settings.retention.audit_entries) else {
        return Ok(0);
    };
    let mut moved = 0;
    let list =
        |after: Option<(String, u64)>, limit| home.registry.read(|tx| rows::movable(tx, before, after.as_ref(), limit));
    for range in paging::rows(AT_ONCE, |range: &RangeRow| (range.chain.clone(), range.last), list) {
        let range = range?;
        if stop.is_requested() {
            break;
        }
        let (mut is_everywhere, mut stores) = (true, 0_u64);
        for store in home.preservation_stores() {
            if home.is_retired(store.name())? {
                continue;
            }
            let mut is_right = home.away(store.name()).is_none();
            for file in if is_right { files(&range)? } else { Vec::new() } {
                is_right &= matches!(compare(store, &file)?, Found::Right);
            }
            is_everywhere &= is_right;
            stores += 1;
        }
        if !is_everywhere || stores == 0 {
            continue;
        }
        let first = head_of(&range)?.range().first;
        home.registry.write(move |tx| rows::move_out(tx, &range, first))?;
        crash_point("audit.moved");
        moved += 1;
    }
    Ok(moved)
}

/// The entries of a range, as they are in their file: from the registry, or from a store where they are there alone.
pub(super) fn open_entries<'h>(home: &'h Home, range: &RangeRow) -> Result<Box<dyn Read + 'h>, EngineError> {
    let head = head_of(range)?;
    let first = head.range().first;
    if range.moved_at.is_none() {
        let lines = Lines { home, chain: range.chain.clone(), next: first, last: range.last, bytes: Vec::new(), at: 0 };
        return Ok(Box::new(lines));
    }
    let key = entries_key(&range.chain, first, range.last)?;
    let mut reasons = Vec::new();
    for store in home.registry.read(|tx| rows::copies(tx, &range.chain, range.last))? {
        let Some(store) = home.stores.get(&store) else { continue };
        match read_sha256(store.as_ref(), &key) {
            Ok(sha256) if sha256 == head.range().sha256 => return Ok(store.open(&key, 0, None)?),
            Ok(sha256) => reasons.push(format!("store {}: it has sha256:{sha256}", store.name())),
            Err(error) => reasons.push(error.chain()),
        }
    }
    let tried = counted(reasons.len() as u64, "store", "stores");
    Err(EngineError::Refused(format!("{key} cannot be read in any of {tried}: {}", reasons.join("; "))))
}

/// Entries of the registry as the bytes of their file.
struct Lines<'h> {
    home: &'h Home,
    chain: String,
    next: u64,
    last: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() && self.next <= self.last {
            let wanted = (self.next, self.last);
            let page = self.home.registry.read(|tx| rows::entries(tx, &self.chain, wanted, PAGE));
            let page = page.map_err(|error: RegistryError| io::Error::other(error))?;
            (self.at, self.next) = (0, page.last().map_or(self.last, |(sequence, _)| *sequence) + 1);
            self.bytes.clear();
            for (_, line) in page {
                self.bytes.extend_from_slice(line.as_bytes());
                self.bytes.push(b'\n');
            }
        }
        let there = self.bytes.get(self.at..).unwrap_or_default();
        let length = there.len().min(buffer.len());
        buffer.iter_mut().zip(there).for_each(|(to, from)| *to = *from);
        self.at += length;
        Ok(length)
    }
}
