//! Importing chains from the stores: where a registry was made from them, or is behind them. What a chain has by then is not appended again. What
//! the registry has of it that no store has is removed from the chain, where the stores continue it otherwise; its acts are appended again, behind
//! what was imported.

use std::collections::{BTreeMap, BTreeSet};

use strongroom_audit::{Head, Link};
use strongroom_registry::audit::{self as rows, Chain, NO_KEY, RangeRow};
use strongroom_registry::audit_imports::{self as imports, Contradiction, ImportedAct, ImportedRange};
use strongroom_registry::{RegistryError, Scope, Transaction, tenants};
use strongroom_storage::{Key, StorageError, Store};

use super::candidates::{Candidate, StoreFiles, act_of, each_key, read, small};
use super::copies::open_entries;
use super::keys::own_fingerprint;
use super::publish::head_of;
use super::seal::counts_of;
use super::{FOLDER, SUSPENDED, contradictions, head_key, now, set_suspended};
use crate::error::Failures;
use crate::{EngineError, Home, crash_point, paging};

/// Ranges that are listed at once.
const AT_ONCE: usize = 100;

/// Stops appending to chains until [`import`] has read them in the stores.
pub(crate) fn suspend(home: &Home) -> Result<(), RegistryError> {
    set_suspended(home, true)
}

/// Whether nothing is appended to chains until [`import`] has read them in the stores.
pub(crate) fn is_suspended(home: &Home) -> Result<bool, RegistryError> {
    home.registry.read(|tx| is_suspended_in(tx))
}

/// The same in a transaction.
pub(crate) fn is_suspended_in(tx: &mut dyn Transaction) -> Result<bool, RegistryError> {
    Ok(tenants::fact(tx, SUSPENDED)?.is_some_and(|fact| fact == "yes"))
}

/// Records every chain as far as the stores have it, and allows appending again. Returns a message for each chain of which a head says that there
/// are more entries than the stores have, for each that the stores continue in several ways, and for each file that is passed over.
///
/// # Errors
/// A store cannot be read. Nothing is appended then until this succeeds; the background task `audit` tries it again.
pub(crate) fn import(home: &Home) -> Result<Vec<String>, EngineError> {
    let (mut problems, mut names) = (Vec::new(), BTreeSet::new());
    problems.extend(add_lacking_acts(home).err().map(|error| error.chain()));
    for store in stores(home)? {
        let root = Key::new(FOLDER).map_err(StorageError::from)?;
        each_key(store, &root, &mut problems, &mut |key| {
            let name = key.below(&root).and_then(|below| below.split('/').next());
            let is_name = |name: &&str| *name == rows::SYSTEM || tenants::is_institution_identifier(name);
            names.extend(name.filter(is_name).map(str::to_owned));
        })?;
    }
    for name in names {
        import_chain(home, &name, &mut problems)?;
    }
    set_suspended(home, false)?;
    Ok(problems)
}

fn stores(home: &Home) -> Result<Vec<&dyn Store>, EngineError> {
    let mut stores = Vec::new();
    for store in home.preservation_stores() {
        if !home.is_retired(store.name())? {
            stores.push(store);
        }
    }
    Ok(stores)
}

/// Adds the acts of ranges whose entries an older version of the program has removed from the registry.
///
/// # Errors
/// A range cannot be read in any store; those of others are added.
pub(super) fn add_lacking_acts(home: &Home) -> Result<(), EngineError> {
    let mut failures = Failures::default();
    let list =
        |after: Option<(String, u64)>, limit| home.registry.read(|tx| imports::lacking(tx, after.as_ref(), limit));
    for range in paging::rows(AT_ONCE, |range: &RangeRow| (range.chain.clone(), range.last), list) {
        let range = range?;
        match acts_in(home, &range) {
            Ok(acts) => home.registry.write(move |tx| imports::add_lacking(tx, &range, &acts))?,
            Err(error) => failures.add(error),
        }
    }
    failures.or(())
}

/// The acts of a range, read in a store.
fn acts_in(home: &Home, range: &RangeRow) -> Result<Vec<ImportedAct>, EngineError> {
    let first = head_of(range)?.range().first;
    let mut text = String::new();
    let unread = |source| EngineError::Io { act: "read", path: format!("the audit chain {}", range.chain), source };
    open_entries(home, range)?.read_to_string(&mut text).map_err(unread)?;
    let lines = (first..).zip(text.lines());
    Ok(lines
        .filter_map(|(number, line)| act_of(line.as_bytes()).map(|((source, id), _)| (number, source, id)))
        .collect())
}

/// Records one chain as far as the stores have it. Contradictions that are not found any more are resolved.
pub(super) fn import_chain(home: &Home, name: &str, problems: &mut Vec<String>) -> Result<(), EngineError> {
    let found = Importing::new(home, name, problems)?.run(problems)?;
    let known = home.registry.read(imports::contradictions)?;
    for old in known.into_iter().filter(|old| old.chain == name && !found.contains(old)) {
        if !old.is_decided || !contradictions::is_open(home, &old)? {
            home.registry.write(move |tx| imports::drop_contradiction(tx, &old))?;
        }
    }
    Ok(())
}

/// A range by which a chain may continue, with the stores that have its head.
struct Continuation {
    head: Head,
    text: String,
    stores: Vec<String>,
    /// As it was read in a store; none of a range of the registry itself.
    read: Option<Candidate>,
}

/// One chain that is read in the stores.
struct Importing<'a> {
    home: &'a Home,
    stores: Vec<StoreFiles<'a>>,
    chain: Chain,
    /// Up to which entry some store has the ranges of the registry.
    confirmed: u64,
    /// The key that signs heads at the place that is read.
    key: Option<String>,
    /// The key of the settings.
    own_key: Option<String>,
    counts: BTreeMap<String, u64>,
}

impl<'a> Importing<'a> {
    fn new(home: &'a Home, name: &str, problems: &mut Vec<String>) -> Result<Self, EngineError> {
        let known = home.registry.read(rows::chains)?.into_iter().find(|chain| chain.name == name);
        let institution = home.registry.read(|tx| tenants::institution(tx, Scope::System, name))?;
        let chain = known.unwrap_or_else(|| Chain::new(name.to_owned(), institution.map(|found| found.id)));
        let mut files = Vec::new();
        for store in stores(home)? {
            files.push(StoreFiles::list(store, name, problems)?);
        }
        let own_key = own_fingerprint(home);
        Ok(Self { home, stores: files, chain, confirmed: 0, key: None, own_key, counts: BTreeMap::new() })
    }

    /// Records one range after the other, each in one transaction. After an interruption it begins anew, with what was recorded.
    fn run(mut self, problems: &mut Vec<String>) -> Result<Vec<Contradiction>, EngineError> {
        let mut contradicting = Vec::new();
        if let Some(mut link) = self.start()? {
            loop {
                let found = self.continuations(&link)?;
                let count = found.len();
                let chosen = match self.decide(found, &link)? {
                    Ok(chosen) => {
                        let Some((chosen, others)) = chosen else { break };
                        if count > 1 {
                            let others = self.note(&others, true)?;
                            problems.push(contradictions::text(&others));
                            contradicting.extend(others);
                        }
                        chosen
                    }
                    Err(undecided) => {
                        let undecided = self.note(&undecided, false)?;
                        problems.push(contradictions::text(&undecided));
                        contradicting.extend(undecided);
                        return Ok(contradicting);
                    }
                };
                if !self.is_vouched_for(&chosen)? {
                    let undecided = self.note(&[chosen], false)?;
                    problems.push(contradictions::text(&undecided));
                    contradicting.extend(undecided);
                    return Ok(contradicting);
                }
                let behind = link.sequence();
                link = chosen.head.link();
                self.key = chosen.head.key().map(str::to_owned);
                if let Some(read) = chosen.read {
                    self.record(read, behind)?;
                    crash_point("audit.imported");
                }
            }
        }
        let there = self.chain.published;
        let said_to_be = self.stores.iter().filter_map(|files| files.heads.last().copied()).max().unwrap_or(0);
        if said_to_be > there {
            problems.push(format!(
                "the audit chain {} continues behind entry {there}, of which the stores have the last one that holds: a head in a store \
                 says that there are {said_to_be} entries",
                self.chain.name
            ));
        }
        let foreign = foreign(self.home, &self.chain.name, &self.stores, &contradicting)?;
        if !foreign.is_empty() {
            problems.push(contradictions::text(&foreign));
            contradicting.extend(foreign);
        }
        Ok(contradicting)
    }

    /// Where reading begins: the end of the last own range that a store has as it is, in the store that has a continuation of it; the
    /// earliest one where several have. None where no store has a continuation.
    fn start(&mut self) -> Result<Option<Link>, EngineError> {
        let mut start: Option<(u64, Option<Head>, Link)> = None;
        for files in &self.stores {
            let own = self.last_own_in(files)?;
            let last = own.as_ref().map_or(0, Head::sequence);
            self.confirmed = self.confirmed.max(last);
            let link = own.as_ref().map_or_else(|| Link::start(self.chain.name.clone()), Head::link);
            if start.as_ref().is_none_or(|(first, ..)| last < *first) && !files.heads_behind(&link)?.is_empty() {
                start = Some((last, own, link));
            }
        }
        let Some((last, own, link)) = start else { return Ok(None) };
        let name = &self.chain.name;
        self.counts = self.home.registry.read(|tx| imports::counts(tx, name, last))?;
        if let Some(head) = &own {
            self.correct_counts(head);
        }
        self.key = own.and_then(|head| head.key().map(str::to_owned));
        Ok(Some(link))
    }

    /// Takes the counts of a head, where the acts of some earlier range are not known.
    fn correct_counts(&mut self, head: &Head) {
        if self.counts.values().sum::<u64>() != head.sequence() && !head.counts().is_empty() {
            self.counts.clone_from(head.counts());
        }
    }

    /// The head of the last range of the registry that a store has as it is.
    fn last_own_in(&self, files: &StoreFiles<'_>) -> Result<Option<Head>, EngineError> {
        for last in files.heads.iter().rev().filter(|last| **last <= self.chain.published) {
            let Some(own) = self.own_behind(last.saturating_sub(1))?.filter(|own| own.last == *last) else { continue };
            let there = small(files.store, &head_key(&self.chain.name, *last)?)?;
            if there.is_some_and(|there| there == own.head.as_bytes()) {
                return Ok(Some(head_of(&own)?));
            }
        }
        Ok(None)
    }

    /// The first range of the registry that ends behind an entry.
    fn own_behind(&self, sequence: u64) -> Result<Option<RangeRow>, EngineError> {
        let name = &self.chain.name;
        Ok(self.home.registry.read(|tx| rows::ranges(tx, name, sequence, 1))?.into_iter().next())
    }

    /// Every range by which the chain continues in a store. One of the registry that a store has is among them.
    fn continuations(&self, link: &Link) -> Result<Vec<Continuation>, EngineError> {
        let mut found: Vec<Continuation> = Vec::new();
        let own = self.own_behind(link.sequence())?.filter(|own| own.last <= self.confirmed);
        if let Some(own) = own {
            let head = head_of(&own)?;
            found.push(Continuation { head, text: own.head, stores: Vec::new(), read: None });
        }
        let own = found.len();
        for files in &self.stores {
            for (head, text) in files.heads_behind(link)? {
                let store = files.store.name().to_owned();
                match found.iter().position(|known| known.text == text) {
                    Some(place) if place < own => found[place].stores.push(store),
                    Some(place) => {
                        let known = &mut found[place];
                        if known.read.is_none() {
                            known.read = read(self.home, files.store, link, (&head, &text), self.key.as_deref())?;
                        }
                        known.stores.push(store);
                    }
                    None => {
                        let read = read(self.home, files.store, link, (&head, &text), self.key.as_deref())?;
                        found.push(Continuation { head, text, stores: vec![store], read });
                    }
                }
            }
        }
        let mut place = 0;
        found.retain(|known| {
            place += 1;
            place <= own || known.read.is_some()
        });
        Ok(found)
    }

    /// Which of several ranges is of the chain, with the others: the only one that is signed by a key that the chain has announced before, or by
    /// the key of the settings. All of them where that is not certain.
    #[expect(clippy::type_complexity, reason = "the chosen one with the others, or all")]
    fn decide(
        &self,
        mut found: Vec<Continuation>,
        link: &Link,
    ) -> Result<Result<Option<(Continuation, Vec<Continuation>)>, Vec<Continuation>>, EngineError> {
        if found.len() < 2 {
            return Ok(Ok(found.pop().map(|only| (only, Vec::new()))));
        }
        let name = &self.chain.name;
        let announced = self.home.registry.read(|tx| imports::keys(tx, name))?;
        let is_known = |key: &str| {
            self.own_key.as_deref() == Some(key)
                || announced.iter().any(|(known, sequence)| known == key && *sequence <= link.sequence())
        };
        let signed: Vec<usize> = (0..found.len()).filter(|at| found[*at].head.key().is_some_and(is_known)).collect();
        let [only] = signed.as_slice() else { return Ok(Err(found)) };
        let chosen = found.swap_remove(*only);
        Ok(Ok(Some((chosen, found))))
    }

    /// Whether a range is signed as what is before it, or it is certain that the signer of the chain has changed that: the key of the settings
    /// signs the range, or a head behind it, with which everything before it is signed. Everyone who can write into one store could end or
    /// replace the signature otherwise. The setting `none` accepts what is not signed.
    fn is_vouched_for(&self, chosen: &Continuation) -> Result<bool, EngineError> {
        let (before, own) = (self.key.as_deref(), self.own_key.as_deref());
        let has_ended = self.home.settings.audit.signing_key.as_deref() == Some(NO_KEY);
        if chosen.read.is_none() || before.is_none() || chosen.head.key() == before || has_ended {
            return Ok(true);
        }
        let Some(own) = own else { return Ok(false) };
        if chosen.head.key() == Some(own) {
            return Ok(true);
        }
        // Each range on the way is read: only what really leads to a head of the own key is signed with it.
        let (mut link, mut key) = (chosen.head.link(), chosen.head.key().map(str::to_owned));
        loop {
            let Some(next) = self.next_behind(&link, key.as_deref())? else { return Ok(false) };
            if next.key() == Some(own) {
                return Ok(true);
            }
            (link, key) = (next.link(), next.key().map(str::to_owned));
        }
    }

    /// The head of a range behind a link that some store has whole.
    fn next_behind(&self, link: &Link, key: Option<&str>) -> Result<Option<Head>, EngineError> {
        for files in &self.stores {
            for (head, text) in files.heads_behind(link)? {
                if read(self.home, files.store, link, (&head, &text), key)?.is_some() {
                    return Ok(Some(head));
                }
            }
        }
        Ok(None)
    }

    /// Notes ranges that contradict each other, or the chain.
    fn note(&self, found: &[Continuation], is_decided: bool) -> Result<Vec<Contradiction>, EngineError> {
        let mut noted = Vec::new();
        for range in found {
            for store in &range.stores {
                noted.push(Contradiction {
                    chain: self.chain.name.clone(),
                    store: store.clone(),
                    first: range.head.range().first,
                    last: range.head.sequence(),
                    head: strongroom_audit::Sha256::of(range.text.as_bytes()).0,
                    is_decided,
                });
            }
        }
        let rows = noted.clone();
        self.home.registry.write(move |tx| rows.iter().try_for_each(|found| imports::put_contradiction(tx, found)))?;
        Ok(noted)
    }

    /// Lets the chain end with a range that a store has.
    fn record(&mut self, read: Candidate, behind: u64) -> Result<(), EngineError> {
        let Candidate { range, head, store, acts, keys } = read;
        for (_, source, _) in &acts {
            *self.counts.entry((*source).to_owned()).or_default() += 1;
        }
        self.correct_counts(&head);
        self.confirmed = self.confirmed.min(behind);
        let chain = &mut self.chain;
        (chain.sequence, chain.sha256, chain.published) = (head.sequence(), head.sha256().0, head.sequence());
        chain.published_at = range.made_at.min(now(self.home)?);
        chain.signing_key = head.key().map(str::to_owned);
        chain.counts = counts_of(&self.counts)?;
        let imported = ImportedRange { chain: chain.clone(), behind, range, store, acts, keys };
        Ok(self.home.registry.write(move |tx| imports::import(tx, &imported))?)
    }
}

/// Files of entries and heads in the stores that are of no range of the chain: also those that do not hold, entries without a head, and
/// heads without entries, within the chain or behind its end. Verifiers find them, and what is published later does not remove them.
fn foreign(
    home: &Home,
    name: &str,
    stores: &[StoreFiles<'_>],
    known: &[Contradiction],
) -> Result<Vec<Contradiction>, EngineError> {
    let mut own = BTreeSet::new();
    let list = |after: Option<u64>, limit| home.registry.read(|tx| rows::ranges(tx, name, after.unwrap_or(0), limit));
    for range in paging::rows(AT_ONCE, |range: &RangeRow| range.last, list) {
        let range = range?;
        own.insert((head_of(&range)?.range().first, range.last));
    }
    let mut found = Vec::new();
    for files in stores {
        let store = files.store.name();
        let of_entries = files.entries.iter().flat_map(|(first, lasts)| lasts.iter().map(|last| (*first, *last)));
        let mut there: BTreeSet<(u64, u64)> = of_entries.collect();
        let lasts: BTreeSet<u64> = own.iter().chain(&there).map(|(_, last)| *last).collect();
        there.extend(files.heads.iter().filter(|last| !lasts.contains(last)).map(|last| (*last, *last)));
        for (first, last) in there {
            let is_known = |old: &Contradiction| {
                // A contradiction of this head, wherever its entries begin.
                old.store == store && old.last == last && (old.first == first || first == last)
            };
            if own.contains(&(first, last)) || known.iter().any(is_known) {
                continue;
            }
            let head = small(files.store, &head_key(name, last)?)?.unwrap_or_default();
            found.push(Contradiction {
                chain: name.to_owned(),
                store: store.to_owned(),
                first,
                last,
                head: strongroom_audit::Sha256::of(&head).0,
                is_decided: true,
            });
        }
    }
    let rows = found.clone();
    home.registry.write(move |tx| rows.iter().try_for_each(|found| imports::put_contradiction(tx, found)))?;
    Ok(found)
}

/// Notes the files of a chain in a store that are of no range of it.
pub(super) fn note_foreign(home: &Home, name: &str, files: &StoreFiles<'_>) -> Result<(), EngineError> {
    let mut known = home.registry.read(imports::contradictions)?;
    known.retain(|found| found.chain == name);
    foreign(home, name, std::slice::from_ref(files), &known).map(drop)
}
