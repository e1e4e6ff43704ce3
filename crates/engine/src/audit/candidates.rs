//! What the stores have of a chain, and reading a range there: each is read once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

use strongroom_audit::{Head, LONGEST_LINE, Link, PublicKey, RangeSum, Verifier, names};
use strongroom_registry::audit::RangeRow;
use strongroom_registry::audit_imports::ImportedAct;
use strongroom_storage::{Key, Listed, StorageError, Store};

use super::publish::MOST_ENTRIES;
use super::{FOLDER, entries_key, folder, head_key, now, public_key_key, signature_key, unread};
use crate::error::chain as reasons;
use crate::{EngineError, Home};

/// No head, signature or key is near this long.
const LONGEST: u64 = 64 * 1024;
/// The tables of the registry from which acts are.
const SOURCES: [&str; 3] = ["event", "journal", "version"];

/// The files of a chain in a store, by their names.
pub(super) struct StoreFiles<'a> {
    pub(super) store: &'a dyn Store,
    /// Where files of entries begin, with where each ends.
    pub(super) entries: BTreeMap<u64, BTreeSet<u64>>,
    /// The numbers of the heads.
    pub(super) heads: BTreeSet<u64>,
}

impl<'a> StoreFiles<'a> {
    pub(super) fn list(store: &'a dyn Store, chain: &str, problems: &mut Vec<String>) -> Result<Self, EngineError> {
        let mut files = Self::none(store);
        let root = folder(chain)?;
        each_key(store, &root, problems, &mut |key| {
            if let Some(below) = key.below(&root) {
                files.add(below);
            }
        })?;
        Ok(files)
    }

    /// The files of every folder of a chain in a store, by the names of the folders.
    pub(super) fn list_all(store: &'a dyn Store) -> Result<BTreeMap<String, Self>, EngineError> {
        let root = Key::new(FOLDER).map_err(StorageError::from)?;
        let mut found: BTreeMap<String, Self> = BTreeMap::new();
        each_key(store, &root, &mut Vec::new(), &mut |key| {
            if let Some((chain, below)) = key.below(&root).and_then(|below| below.split_once('/')) {
                found.entry(chain.to_owned()).or_insert_with(|| Self::none(store)).add(below);
            }
        })?;
        Ok(found)
    }

    /// A store without any files of a chain.
    pub(super) fn none(store: &'a dyn Store) -> Self {
        Self { store, entries: BTreeMap::new(), heads: BTreeSet::new() }
    }

    /// Adds a file, by its name below the folder of the chain.
    fn add(&mut self, below: &str) {
        let Some((kind, name)) = below.split_once('/') else { return };
        if kind == names::ENTRIES
            && let Some((first, last)) = names::numbers_of_entries(name)
        {
            self.entries.entry(first).or_default().insert(last);
        } else if kind == names::HEADS {
            self.heads.extend(names::number_of_head(name));
        }
    }

    /// The heads of ranges here that say that they are behind a link, with their text; the longest range first.
    pub(super) fn heads_behind(&self, link: &Link) -> Result<Vec<(Head, String)>, EngineError> {
        let first = link.sequence() + 1;
        let mut found = Vec::new();
        for last in self.entries.get(&first).into_iter().flatten().rev() {
            let text =
                small(self.store, &head_key(link.chain(), *last)?)?.and_then(|bytes| String::from_utf8(bytes).ok());
            let Some(text) = text else { continue };
            let Ok(head) = Head::read(&text) else { continue };
            if head.chain() == link.chain() && head.sequence() == *last && head.before() == *link {
                found.push((head, text));
            }
        }
        Ok(found)
    }
}

/// Hands over every key below a folder. Names that are no keys are noted, and passed over.
pub(super) fn each_key(
    store: &dyn Store,
    root: &Key,
    problems: &mut Vec<String>,
    take: &mut dyn FnMut(&Key),
) -> Result<(), EngineError> {
    for listed in store.list(root)? {
        match listed {
            Ok(Listed { key, .. }) => take(&key),
            Err(error @ (StorageError::Key(_) | StorageError::Unusable { .. })) => {
                let said = format!("a file below {root} in store {} is passed over: {}", store.name(), reasons(&error));
                if !problems.contains(&said) {
                    problems.push(said);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A range that a store has whole, with its head.
pub(super) struct Candidate {
    pub(super) range: RangeRow,
    pub(super) head: Head,
    /// The store in which it was read.
    pub(super) store: String,
    pub(super) acts: Vec<ImportedAct>,
    /// The keys that its entries announce.
    pub(super) keys: Vec<(u64, String)>,
}

/// Reads a range in a store; none where it does not hold. `key` signs the heads before it.
pub(super) fn read(
    home: &Home,
    store: &dyn Store,
    link: &Link,
    (head, text): (&Head, &str),
    key: Option<&str>,
) -> Result<Option<Candidate>, EngineError> {
    let (name, last) = (link.chain(), head.sequence());
    if last - link.sequence() > MOST_ENTRIES {
        return Ok(None);
    }
    let (mut sum, mut acts, mut keys) = (RangeSum::behind(link.clone()), Vec::new(), Vec::new());
    let mut verifier = Verifier::new([head.clone()]).behind(link.clone()).signed_by(key);
    let entries = entries_key(name, head.range().first, last)?;
    let is_right = each_line(store, &entries, &mut |line| {
        sum.take(line);
        let number = verifier.link().map_or(0, Link::sequence) + 1;
        let Some((act, announced)) = act_of(line) else { return false };
        keys.extend(announced.map(|key| (number, key)));
        acts.push((number, act.0, act.1));
        number <= last && verifier.take(line).is_ok()
    })?;
    let (range, end) = sum.finish();
    if !is_right || range != *head.range() || end != head.link() || verifier.finish().is_err() {
        return Ok(None);
    }
    let mut signed = None;
    if let Some(fingerprint) = head.key() {
        signed = signature(store, name, last, fingerprint, text)?;
        if signed.is_none() {
            return Ok(None);
        }
    }
    let now = now(home)?;
    let range = RangeRow {
        chain: name.to_owned(),
        last,
        made_at: published_at(head).unwrap_or(now),
        head: text.to_owned(),
        signature: signed,
        moved_at: Some(now),
    };
    Ok(Some(Candidate { range, head: head.clone(), store: store.name().to_owned(), acts, keys }))
}

/// The signature of a head in a store, with the public key beside it; none where it is not one of the key with this fingerprint.
fn signature(
    store: &dyn Store,
    chain: &str,
    last: u64,
    fingerprint: &str,
    head: &str,
) -> Result<Option<(Vec<u8>, String)>, EngineError> {
    let pem = small(store, &public_key_key(chain, fingerprint)?)?.and_then(|pem| String::from_utf8(pem).ok());
    let found = small(store, &signature_key(chain, last)?)?.zip(pem);
    Ok(found.filter(|(signature, pem)| {
        let key = PublicKey::from_pem(pem).ok();
        let key = key.filter(|key| key.fingerprint().is_ok_and(|found| found == fingerprint));
        key.is_some_and(|key| key.verifies(head.as_bytes(), signature))
    }))
}

/// When a head was published, as it says.
fn published_at(head: &Head) -> Option<strongroom_registry::Time> {
    let at: jiff::Timestamp = head.at().parse().ok()?;
    Some(strongroom_registry::Time(at.as_microsecond()))
}

/// From which table the act of an entry is, with its identifier there; and the key that it announces.
pub(super) fn act_of(line: &[u8]) -> Option<((&'static str, uuid::Uuid), Option<String>)> {
    let entry: serde_json::Value = serde_json::from_slice(line).ok()?;
    let source = entry.get("source")?.as_str()?;
    let source = SOURCES.into_iter().find(|known| *known == source)?;
    let id = entry.get("id")?.as_str()?.parse().ok()?;
    let is_of_key = entry.get("act").is_some_and(|act| act == strongroom_audit::KEY_ACT);
    let key = entry.get("target").and_then(serde_json::Value::as_str).filter(|_| is_of_key);
    Some(((source, id), key.map(str::to_owned)))
}

/// The bytes of a small file; none where there is none.
pub(super) fn small(store: &dyn Store, key: &Key) -> Result<Option<Vec<u8>>, EngineError> {
    let body = match store.open(key, 0, Some(LONGEST)) {
        Ok(body) => body,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    body.take(LONGEST).read_to_end(&mut bytes).map_err(|source| unread(store, key, source))?;
    Ok(Some(bytes))
}

/// Hands over the lines of a file, as long as `take` wants more; whether it took all, and each had an end and no more than a line may have.
fn each_line(store: &dyn Store, key: &Key, take: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, EngineError> {
    let body = match store.open(key, 0, None) {
        Ok(body) => body,
        Err(error) if error.is_absent() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut reader = BufReader::with_capacity(128 * 1024, body);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut reader).take(LONGEST_LINE as u64 + 1);
        let read = bounded.read_until(b'\n', &mut line).map_err(|source| unread(store, key, source))?;
        if read == 0 {
            return Ok(true);
        }
        let is_taken = line.strip_suffix(b"\n").is_some_and(&mut *take);
        if !is_taken {
            return Ok(false);
        }
    }
}
