//! Taking chains up from the stores: where a registry was made from them, or is behind them. What a chain has by then is not appended again;
//! what the registry appended to it and never published is appended anew, behind what was published.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

use strongroom_audit::{Head, LONGEST_LINE, Link, PublicKey, RangeSum, Verifier, names};
use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{RegistryError, Scope, Time, Transaction, tenants};
use strongroom_storage::{Key, StorageError, Store};
use uuid::Uuid;

use super::seal::counts;
use super::{
    FOLDER, SUSPENDED, entries_key, folder, head_key, now, public_key_key, set_suspended, signature_key, unread,
};
use crate::{EngineError, Home, crash_point};

/// No head, signature or key is near this long.
const LONGEST: u64 = 64 * 1024;
/// Acts that are noted as appended at once.
const AT_ONCE: usize = 500;

/// Stops appending to chains until [`take_up`] has read them in the stores.
pub(crate) fn suspend(home: &Home) -> Result<(), RegistryError> {
    set_suspended(home, true)
}

/// Whether nothing is appended to chains until [`take_up`] has read them in the stores.
pub(crate) fn is_suspended(home: &Home) -> Result<bool, RegistryError> {
    home.registry.read(|tx| is_suspended_in(tx))
}

/// The same in a transaction.
pub(crate) fn is_suspended_in(tx: &mut dyn Transaction) -> Result<bool, RegistryError> {
    Ok(tenants::fact(tx, SUSPENDED)?.is_some_and(|fact| fact == "yes"))
}

/// Records every chain as far as the stores have it, and allows appending again. Returns a message for each chain of which a head tells of more
/// entries than the stores have.
///
/// # Errors
/// A store cannot be read. Nothing is appended then until this succeeds; the background task `audit` tries it again.
pub(crate) fn take_up(home: &Home) -> Result<Vec<String>, EngineError> {
    let mut stores = Vec::new();
    for store in home.preservation_stores() {
        if !home.is_retired(store.name())? {
            stores.push(store);
        }
    }
    let mut names = BTreeSet::new();
    for store in &stores {
        let root = Key::new(FOLDER).map_err(StorageError::from)?;
        for listed in store.list(&root)? {
            let key = listed?.key;
            let name = key.below(&root).and_then(|below| below.split('/').next());
            let is_name = |name: &&str| *name == rows::SYSTEM || tenants::is_institution_identifier(name);
            names.extend(name.filter(is_name).map(str::to_owned));
        }
    }
    let mut problems = Vec::new();
    for name in names {
        problems.extend(Taking::new(home, &stores, name)?.run()?);
    }
    set_suspended(home, false)?;
    Ok(problems)
}

/// A range that a store has whole, with its head.
struct Found {
    range: RangeRow,
    head: Head,
    store: String,
}

/// One chain that is read in the stores.
struct Taking<'a> {
    home: &'a Home,
    stores: &'a [&'a dyn Store],
    chain: Chain,
    /// Where files of entries begin, with where each ends.
    files: BTreeMap<u64, BTreeSet<u64>>,
    /// The most entries of which a head tells.
    told: u64,
}

impl<'a> Taking<'a> {
    fn new(home: &'a Home, stores: &'a [&'a dyn Store], name: String) -> Result<Self, EngineError> {
        let known = home.registry.read(rows::chains)?.into_iter().find(|chain| chain.name == name);
        let institution = home.registry.read(|tx| tenants::institution(tx, Scope::System, &name))?;
        let chain = known.unwrap_or_else(|| Chain::new(name, institution.map(|found| found.id)));
        let mut taking = Self { home, stores, chain, files: BTreeMap::new(), told: 0 };
        for store in stores {
            let root = folder(&taking.chain.name)?;
            for listed in store.list(&root)? {
                let key = listed?.key;
                let Some((kind, name)) = key.below(&root).and_then(|below| below.split_once('/')) else { continue };
                if kind == names::ENTRIES
                    && let Some((first, last)) = names::numbers_of_entries(name)
                {
                    taking.files.entry(first).or_default().insert(last);
                } else if kind == names::HEADS {
                    taking.told = taking.told.max(names::number_of_head(name).unwrap_or(0));
                }
            }
        }
        Ok(taking)
    }

    /// Records one range after the other. After an interruption it continues after the last one that was recorded.
    fn run(mut self) -> Result<Option<String>, EngineError> {
        let mut link = self.published_link()?;
        while let Some(found) = self.next(&link)? {
            if self.chain.sequence > link.sequence() {
                // Appended by an older state of the registry, and never published.
                self.set_end(&link, None)?;
            }
            link = found.head.link();
            self.note(found)?;
            crash_point("audit.taken_up");
        }
        let (told, there) = (self.told, link.sequence());
        Ok((told > there).then(|| {
            format!(
                "the audit chain {} goes on behind entry {there}, of which the stores have the last one that holds: a head in a store \
                 tells of {told} entries",
                self.chain.name
            )
        }))
    }

    /// Lets the chain end with a link, which is published; with a range that ends with it and the store that has it.
    fn set_end(&mut self, link: &Link, range: Option<(RangeRow, String)>) -> Result<(), EngineError> {
        (self.chain.sequence, self.chain.sha256, self.chain.published) =
            (link.sequence(), link.sha256().0, link.sequence());
        counts(&self.chain)?;
        let chain = self.chain.clone();
        Ok(self.home.registry.write(move |tx| {
            rows::take_up(tx, chain.published, &chain)?;
            let Some((range, store)) = &range else { return Ok(()) };
            rows::put_range(tx, range)?;
            rows::put_copy(tx, store, range)
        })?)
    }

    /// The end of what the registry has published of the chain.
    fn published_link(&self) -> Result<Link, EngineError> {
        let (name, published) = (&self.chain.name, self.chain.published);
        if published == 0 {
            return Ok(Link::start(name.clone()));
        }
        let range = self.home.registry.read(|tx| rows::ranges(tx, name, published - 1, 1))?.into_iter().next();
        let head = range.as_ref().map(super::publish::head_of).transpose()?;
        head.map(|head| head.link()).ok_or_else(|| {
            let found = format!("none that ends with entry {published} of {name}");
            RegistryError::Corrupt { wanted: "the range up to which an audit chain is published", found }.into()
        })
    }

    /// The next range that some store has whole, with its head: the longest one.
    fn next(&self, link: &Link) -> Result<Option<Found>, EngineError> {
        let first = link.sequence() + 1;
        for last in self.files.get(&first).into_iter().flatten().rev() {
            for store in self.stores {
                if let Some((range, head)) = self.read(*store, link, *last)? {
                    return Ok(Some(Found { range, head, store: store.name().to_owned() }));
                }
            }
        }
        Ok(None)
    }

    /// Reads a range in a store; none where it is not there, or does not hold.
    fn read(&self, store: &dyn Store, link: &Link, last: u64) -> Result<Option<(RangeRow, Head)>, EngineError> {
        let name = &self.chain.name;
        let Some(text) = small(store, &head_key(name, last)?)?.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return Ok(None);
        };
        let Ok(head) = Head::read(&text) else { return Ok(None) };
        if head.chain() != name || head.sequence() != last || head.before() != *link {
            return Ok(None);
        }
        let key = entries_key(name, head.range().first, last)?;
        let (mut verifier, mut sum) = (Verifier::new([]).behind(link.clone()), RangeSum::behind(link.clone()));
        let is_right = each_line(store, &key, &mut |line| {
            sum.take(line);
            verifier.take(line).is_ok()
        })?;
        let (range, end) = sum.finish();
        if !is_right || range != *head.range() || end != head.link() {
            return Ok(None);
        }
        let mut signature = None;
        if let Some(fingerprint) = head.key() {
            let pem = small(store, &public_key_key(name, fingerprint)?)?.and_then(|pem| String::from_utf8(pem).ok());
            signature = small(store, &signature_key(name, last)?)?.zip(pem);
            let is_signed = signature.as_ref().is_some_and(|(signature, pem)| {
                let key = PublicKey::from_pem(pem).ok();
                let key = key.filter(|key| key.fingerprint().is_ok_and(|found| found == fingerprint));
                key.is_some_and(|key| key.verifies(text.as_bytes(), signature))
            });
            if !is_signed {
                return Ok(None);
            }
        }
        let made_at = published_at(&head).unwrap_or(now(self.home)?);
        let moved_at = Some(now(self.home)?);
        Ok(Some((RangeRow { chain: name.clone(), last, made_at, head: text, signature, moved_at }, head)))
    }

    /// Notes a range that a store has, and that its acts are in the chain.
    fn note(&mut self, Found { range, head, store }: Found) -> Result<(), EngineError> {
        self.forget_acts(&store, &head)?;
        self.chain.published_at = range.made_at.min(now(self.home)?);
        self.chain.signing_key = head.key().map(str::to_owned);
        if !head.counts().is_empty() {
            self.chain.counts = serde_json::to_string(head.counts()).unwrap_or_default();
        }
        self.set_end(&head.link(), Some((range, store)))
    }

    /// Removes the acts of a range from those that are in no chain.
    fn forget_acts(&self, store: &str, head: &Head) -> Result<(), EngineError> {
        let store = self.home.store(store)?.as_ref();
        let key = entries_key(&self.chain.name, head.range().first, head.sequence())?;
        let mut acts = Vec::new();
        let mut failure = None;
        each_line(store, &key, &mut |line| {
            acts.extend(act_of(line));
            if acts.len() >= AT_ONCE {
                failure = self.are_sealed(&mut acts).err();
            }
            failure.is_none()
        })?;
        match failure {
            Some(error) => Err(error),
            None => self.are_sealed(&mut acts),
        }
    }

    fn are_sealed(&self, acts: &mut Vec<(String, Uuid)>) -> Result<(), EngineError> {
        let acts = std::mem::take(acts);
        Ok(self.home.registry.write(move |tx| rows::are_sealed(tx, &acts))?)
    }
}

/// When a head was published, as it says.
fn published_at(head: &Head) -> Option<Time> {
    let at: jiff::Timestamp = head.at().parse().ok()?;
    Some(Time(at.as_microsecond()))
}

/// From which table the act of an entry is, and its identifier there.
fn act_of(line: &[u8]) -> Option<(String, Uuid)> {
    let entry: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some((entry.get("source")?.as_str()?.to_owned(), entry.get("id")?.as_str()?.parse().ok()?))
}

/// The bytes of a small file; none where there is none.
fn small(store: &dyn Store, key: &Key) -> Result<Option<Vec<u8>>, EngineError> {
    let body = match store.open(key, 0, Some(LONGEST)) {
        Ok(body) => body,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    body.take(LONGEST).read_to_end(&mut bytes).map_err(|source| unread(store, key, source))?;
    Ok(Some(bytes))
}

/// Hands the lines of a file over, as long as `take` wants more; whether it took all, and each had an end and no more than a line may have.
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
