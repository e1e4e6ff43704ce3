//! Marks: a small file in each preservation store, beside its storage roots, that says which registry the store belongs to
//! and how many acts that registry has announced. An act is announced in the registry, then marked, then done in the
//! store. So a registry that knows fewer acts than a mark says is an older state of itself, whatever it was restored from.
//!
//! After the act the mark is written once more, and the registry notes how often it has been written. So a store whose mark was
//! written less often holds an older state of itself, and one that lies in another place does not pass for it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use strongroom_registry::standing::{self, Standing};
use strongroom_registry::stores::{self as registered, KnownStore};
use strongroom_registry::{Registry, RegistryError};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};
use uuid::Uuid;

use crate::{EngineError, Home};

/// Where a mark lies. No institution can have this name, so no storage root holds it.
pub(crate) const KEY: &str = "_strongroom/registry.json";
/// The form written today.
const FORM: u32 = 1;
/// No mark is near this long.
const LONGEST: u64 = 16 * 1024;
/// How often a mark that others write at the same time is tried.
const TRIES: u32 = 1_000;
/// How far a late act raises the acts of a mark: further than the registry that adopted the store announces meanwhile.
const LATE: u64 = 1 << 20;
/// What is said of a store where that did not do.
const ENDLESS: &str = "has a mark that others write without end";

/// What a store says of its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    form: u32,
    /// The registry.
    pub registry: Uuid,
    /// Its term: raised by each adoption.
    pub term: u64,
    /// How many acts it had announced before the latest one in this store was begun.
    pub acts: u64,
    /// How often it was written.
    #[serde(default)]
    pub revision: u64,
    /// The store that it was written into; none in marks of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Uuid>,
}

impl Mark {
    fn of(standing: Standing, store: &dyn Store) -> Self {
        let Standing { registry, term, acts } = standing;
        Self { form: FORM, registry, term, acts, revision: 0, store: store.id() }
    }

    /// The same in this store, written once more behind `before`.
    fn behind(self, before: Option<&Self>) -> Self {
        Self { revision: before.map_or(0, |before| before.revision) + 1, ..self }
    }

    /// Whether it was written by the registry of this standing, in its term.
    fn is_by(&self, standing: &Standing) -> bool {
        self.registry == standing.registry && self.term == standing.term
    }

    /// Whether it was written by an earlier state of the registry of this standing.
    fn is_before(&self, standing: &Standing) -> bool {
        self.registry == standing.registry && self.term < standing.term
    }

    /// Whether it was written into this store, as far as it says.
    fn is_of(&self, store: &dyn Store) -> bool {
        self.store.is_none() || self.store == store.id()
    }
}

/// What lies where a store's mark belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing: no registry has kept anything there yet.
    None,
    /// A mark.
    Mark(Mark),
    /// Something that is no mark, and why not.
    Unreadable(String),
}

impl Found {
    fn mark(&self) -> Option<&Mark> {
        match self {
            Self::Mark(mark) => Some(mark),
            Self::None | Self::Unreadable(_) => None,
        }
    }
}

/// The marks that this process has written, by store; one thread at a time writes the mark of a store.
#[derive(Default)]
pub(crate) struct Marks {
    stores: Mutex<BTreeMap<String, Arc<Written>>>,
}

#[derive(Default)]
struct Written {
    /// How many have asked for the mark to be written behind their act.
    asked: AtomicU64,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    /// The mark that this process wrote last, and its etag.
    last: Option<(Mark, String)>,
    /// The latest mark behind acts, and how many had asked for it before it was begun: it is written for all of them.
    confirmed: Option<(u64, Mark)>,
}

impl Marks {
    fn of(&self, store: &str) -> Arc<Written> {
        lock(&self.stores).entry(store.to_owned()).or_default().clone()
    }

    /// Forgets what was written last: somebody else has written it since.
    fn forget(&self, store: &str) {
        lock(&self.of(store).slot).last = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key() -> Result<Key, StorageError> {
    Ok(Key::new(KEY)?)
}

/// Reads the mark of a store.
pub fn read(store: &dyn Store) -> Result<Found, StorageError> {
    Ok(read_with_etag(store)?.0)
}

fn read_with_etag(store: &dyn Store) -> Result<(Found, Option<String>), StorageError> {
    let key = key()?;
    let head = match store.head(&key) {
        Ok(head) => head,
        Err(error) if error.is_not_found() => return Ok((Found::None, None)),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let body = match store.open(&key, 0, Some(LONGEST)) {
        Ok(body) => body,
        Err(error) if error.is_not_found() => return Ok((Found::None, None)),
        Err(error) => return Err(error),
    };
    body.take(LONGEST).read_to_end(&mut bytes).map_err(|source| StorageError::Io {
        store: store.name().to_owned(),
        act: "read",
        key,
        source,
    })?;
    let found = match serde_json::from_slice::<Mark>(&bytes) {
        Ok(mark) if mark.form == FORM => Found::Mark(mark),
        Ok(mark) => Found::Unreadable(format!("it has form {}, this program knows {FORM}", mark.form)),
        Err(error) => Found::Unreadable(error.to_string()),
    };
    Ok((found, Some(head.etag)))
}

/// Puts a mark where what lies there is still what `etag` says (none: nothing); its etag, or none where it is not.
fn put(store: &dyn Store, mark: &Mark, etag: Option<&str>) -> Result<Option<String>, StorageError> {
    let mut bytes = serde_json::to_vec(mark).unwrap_or_default();
    bytes.push(b'\n');
    let condition = match etag {
        _ if !store.capabilities().conditional_put => PutCondition::Always,
        Some(etag) => PutCondition::IfMatch(etag.to_owned()),
        None => PutCondition::IfAbsent,
    };
    let options = PutOptions { size: Some(bytes.len() as u64), condition, ..PutOptions::default() };
    match store.put(&key()?, &mut bytes.as_slice(), &options) {
        Ok(head) => Ok(Some(head.etag)),
        Err(StorageError::Condition { .. }) => Ok(None),
        // Gone since it was read.
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Announces an act of the registry. Before anything is done in a store, its mark has to be [advanced](advance).
pub(crate) fn announce(home: &Home) -> Result<Standing, EngineError> {
    Ok(home.registry.write(standing::announce)?)
}

/// Brings the mark of a store up to an act that was announced. It is durable when this returns: a mark that a power cut
/// leaves half written can be read by nobody, and the registry would be read-only.
///
/// # Errors
/// [`EngineError::Superseded`] where the store belongs to another registry, or to a later state of this one.
pub(crate) fn advance(home: &Home, store: &dyn Store, standing: &Standing) -> Result<(), EngineError> {
    let written = home.marks.of(store.name());
    let mut slot = lock(&written.slot);
    let covers = |mark: &Mark| mark.is_by(standing) && mark.is_of(store) && mark.acts >= standing.acts;
    if !store.capabilities().conditional_put {
        // A put would not tell that somebody else has written it since.
        slot.last = None;
    }
    for _ in 0..TRIES {
        let (before, etag) = match &slot.last {
            Some((mark, _)) if covers(mark) => return Ok(()),
            Some((mark, etag)) => (Some(*mark), Some(etag.clone())),
            None => {
                let (found, etag) = read_current(home, store)?;
                match &found {
                    Found::Mark(mark) if covers(mark) => {
                        slot.last = etag.map(|etag| (*mark, etag));
                        return Ok(());
                    }
                    // Nothing in the place tells whose it is, but for the store's id.
                    Found::None => store.check_identity()?,
                    other => check(store, other, standing)?,
                }
                (found.mark().copied(), etag)
            }
        };
        let mark = Mark::of(*standing, store).behind(before.as_ref());
        let acts = before.filter(|before| before.is_by(standing)).map_or(0, |before| before.acts);
        let mark = Mark { acts: mark.acts.max(acts), ..mark };
        match put(store, &mark, etag.as_deref())? {
            Some(etag) => {
                slot.last = Some((mark, etag));
                return Ok(());
            }
            // Somebody else wrote it: look again.
            None => slot.last = None,
        }
    }
    Err(superseded(store, ENDLESS))
}

/// Refuses to go on where the store belongs to somebody else.
fn check(store: &dyn Store, found: &Found, standing: &Standing) -> Result<(), EngineError> {
    match contradiction(found, Some(standing)) {
        Some(reason) => Err(superseded(store, reason)),
        None => Ok(()),
    }
}

fn superseded(store: &dyn Store, reason: impl Into<String>) -> EngineError {
    EngineError::Superseded { store: store.name().to_owned(), reason: reason.into() }
}

/// Reads the mark of a store in use. One that is older than the registry has seen it, or belongs to another of its stores,
/// tells that something else lies in the place: the store is opened anew, which tells what.
fn read_current(home: &Home, store: &dyn Store) -> Result<(Found, Option<String>), EngineError> {
    // The registry first: marks only rise.
    let (known, standing) =
        home.registry.read(|tx| Ok::<_, RegistryError>((registered::list(tx)?, standing::get(tx)?)))?;
    let (found, etag) = read_with_etag(store)?;
    let own = known.iter().find(|known| known.name == store.name());
    if let Some(reason) = own.and_then(|known| behind(&found, known, standing.as_ref(), store)) {
        return Err(look_again(home, store, &reason));
    }
    let others =
        known.iter().filter(|other| other.name != store.name() && home.settings.stores.contains_key(&other.name));
    let others: Vec<Uuid> = others.map(|other| other.id).collect();
    if found.mark().and_then(|mark| mark.store).is_some_and(|id| others.contains(&id)) {
        return Err(look_again(home, store, "has the mark of another store of this registry"));
    }
    if standing
        .is_some_and(|standing| found.mark().is_some_and(|mark| mark.is_by(&standing) && mark.acts > standing.acts))
    {
        // Acts are announced before they are marked: by now the registry knows those of all who work with it. What it does
        // not know is an act of an earlier term, done late.
        let standing = home.registry.read(standing::get)?;
        if let Some(reason) = contradiction(&found, standing.as_ref()) {
            return Err(superseded(store, reason));
        }
    }
    Ok((found, etag))
}

/// Stops using a store until it was opened anew and compared with the registry; the error for what was under way.
fn look_again(home: &Home, store: &dyn Store, reason: &str) -> EngineError {
    let state = match home.access(store.name()) {
        Ok(access) => access.open_anew(),
        Err(error) => return error,
    };
    EngineError::Storage(StorageError::Away {
        store: store.name().to_owned(),
        reason: state.reason.unwrap_or_else(|| format!("it {reason}")),
    })
}

/// Why what lies in a store is older than what the registry has seen there; none where it is not.
pub(crate) fn behind(
    found: &Found,
    known: &KnownStore,
    standing: Option<&Standing>,
    store: &dyn Store,
) -> Option<String> {
    let is_behind = match found {
        // Where puts have no conditions, a late put may put an earlier mark back.
        Found::Mark(mark) => {
            mark.revision < known.mark_revision
                && standing.is_some_and(|standing| standing.registry == mark.registry)
                && store.capabilities().conditional_put
        }
        Found::None => known.mark_revision > 0,
        Found::Unreadable(_) => false,
    };
    is_behind.then(|| match found.mark() {
        Some(mark) => format!(
            "holds older content, such as a snapshot: its mark is number {}, and the registry has seen number {} there",
            mark.revision, known.mark_revision
        ),
        None => format!(
            "has no mark, and the registry has seen number {} there: what lay in it is gone, or older content was put back",
            known.mark_revision
        ),
    })
}

/// Writes the marks once more, after an act, which tells whether the stores still belong to this registry and are the ones that
/// the act was done in; and notes them in the registry, before anything is recorded of the act. Where an adoption has taken
/// a store over in between, its mark is raised, so that the registry that adopted it learns of the late act.
pub(crate) fn confirm(home: &Home, stores: &[&dyn Store], standing: &Standing) -> Result<(), EngineError> {
    let replacements = home.registry.read(registered::replacements)?;
    let mut noted = Vec::with_capacity(stores.len());
    // In every store, also behind one that fails: an act that ended late is told of wherever it ended.
    let written: Vec<_> = stores.iter().map(|store| (store, confirm_in(home, *store, standing))).collect();
    for (store, revision) in written {
        let revision = revision?;
        // Without conditions a late put may put an earlier one back: what counts is that there is one.
        let revision = if store.capabilities().conditional_put { revision } else { 1 };
        match store.id() {
            Some(id) => noted.push((store.name().to_owned(), id, revision)),
            // It is away, or it is one that keeps no identity.
            None => store.check_presence()?,
        }
    }
    // In one order, so that nobody waits for a row of somebody who waits for theirs.
    noted.sort();
    Ok(home.registry.write(move |tx| {
        if registered::replacements(tx)? != replacements {
            // What was seen of a store before it was taken anew tells nothing of it now.
            let id = noted.first().map(|(name, ..)| name.clone()).unwrap_or_default();
            return Err(RegistryError::FenceLost { what: "store", id });
        }
        noted.iter().try_for_each(|(name, id, revision)| registered::note_mark(tx, name, *id, *revision))
    })?)
}

/// Refuses to go on where a store in use belongs to another registry, or to a later state of this one.
pub(crate) fn check_standing(home: &Home, store: &dyn Store) -> Result<(), EngineError> {
    let found = read_current(home, store)?.0;
    // The registry last: acts are announced before they are marked.
    match home.registry.read(standing::get)? {
        Some(standing) => check(store, &found, &standing),
        None => Ok(()),
    }
}

/// Writes the mark of one store once more, for all who ask for it meanwhile; its revision then.
fn confirm_in(home: &Home, store: &dyn Store, standing: &Standing) -> Result<u64, EngineError> {
    let has_conditions = store.capabilities().conditional_put;
    let is_enough = |mark: &Mark| {
        // Where puts have no conditions, a late put may have put an earlier one back.
        mark.is_by(standing) && mark.is_of(store) && (mark.acts >= standing.acts || !has_conditions)
    };
    let written = home.marks.of(store.name());
    let asked = written.asked.fetch_add(1, Ordering::SeqCst) + 1;
    let mut slot = lock(&written.slot);
    if let Some((_, mark)) = slot.confirmed.filter(|(before, mark)| *before >= asked && is_enough(mark)) {
        return Ok(mark.revision);
    }
    let before = written.asked.load(Ordering::SeqCst);
    for _ in 0..TRIES {
        let last = slot.last.take().filter(|(mark, _)| is_enough(mark) && has_conditions);
        let (mark, etag) = match last {
            Some((mark, etag)) => (mark, Some(etag)),
            None => match read_current(home, store)? {
                (Found::Mark(mark), etag) if is_enough(&mark) => (mark, etag),
                // A late put, where puts have no conditions.
                (Found::Mark(mark), etag) if mark.is_before(standing) && mark.is_of(store) && !has_conditions => {
                    (Mark { revision: mark.revision, ..Mark::of(*standing, store) }, etag)
                }
                (Found::Mark(mark), etag) if !mark.is_by(standing) && mark.is_of(store) => {
                    store.check_identity()?;
                    if home.registry.read(standing::get)?.is_some_and(|now| mark.is_by(&now)) {
                        // It knows of the act, which is announced anew.
                        return Err(superseded(store, "was adopted by this registry while it was written to"));
                    }
                    if put(store, &Mark { acts: mark.acts + LATE, ..mark }.behind(Some(&mark)), etag.as_deref())?
                        .is_some()
                    {
                        let reason = "was adopted by another state of the registry while it was written to";
                        return Err(superseded(store, reason));
                    }
                    continue;
                }
                _ => {
                    let reason = format!("does not tell of act {}, which was marked there", standing.acts);
                    return Err(look_again(home, store, &reason));
                }
            },
        };
        let mark = Mark { acts: mark.acts.max(standing.acts), ..mark }.behind(Some(&mark));
        if let Some(etag) = put(store, &mark, etag.as_deref())? {
            slot.last = Some((mark, etag));
            slot.confirmed = Some((before, mark));
            return Ok(mark.revision);
        }
    }
    Err(superseded(store, ENDLESS))
}

/// Notes the mark of a store of which none was seen yet, such as after a rebuild.
pub(crate) fn note_first(registry: &Registry, known: &KnownStore, store: &dyn Store) -> Result<(), EngineError> {
    if known.mark_revision > 0 || registry.refusal().is_some() {
        return Ok(());
    }
    let standing = registry.read(standing::get)?;
    let mark = match read(store) {
        Ok(Found::Mark(mark)) => mark,
        Ok(Found::None | Found::Unreadable(_)) => return Ok(()),
        // It is compared when it comes back.
        Err(error) if error.is_away() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let is_ours = standing.is_some_and(|standing| mark.registry == standing.registry) && mark.is_of(store);
    if is_ours && mark.revision > 0 {
        let (name, id) = (known.name.clone(), known.id);
        registry.write(move |tx| registered::note_mark(tx, &name, id, mark.revision))?;
    }
    Ok(())
}

/// Makes a store belong to the registry: for adoptions. Keeps the number of acts that the mark tells, which it returns.
pub(crate) fn claim(home: &Home, store: &dyn Store, standing: &Standing) -> Result<u64, EngineError> {
    let known = home.registry.read(registered::list)?.into_iter().find(|known| known.name == store.name());
    let seen = known.map_or(0, |known| known.mark_revision);
    for _ in 0..TRIES {
        let (found, etag) = read_with_etag(store)?;
        let acts = match &found {
            Found::Mark(mark) if mark.is_by(standing) => return Ok(mark.acts),
            Found::Mark(mark) => mark.acts,
            Found::None => return Ok(0),
            Found::Unreadable(_) => standing.acts,
        };
        home.marks.forget(store.name());
        let mark = Mark::of(*standing, store).behind(found.mark());
        let mark = Mark { acts, revision: mark.revision.max(seen + 1), ..mark };
        if put(store, &mark, etag.as_deref())?.is_some() {
            return Ok(acts);
        }
    }
    Err(superseded(store, ENDLESS))
}

/// What a mark says against a registry of this standing (none: one that has kept nothing yet).
pub(crate) fn contradiction(found: &Found, standing: Option<&Standing>) -> Option<String> {
    let mark = match found {
        Found::None => return None,
        Found::Mark(mark) => mark,
        Found::Unreadable(why) => return Some(format!("has a mark that cannot be read ({why})")),
    };
    match standing {
        Some(standing) if standing.registry == mark.registry => {
            if mark.term > standing.term || mark.acts > standing.acts {
                return Some(format!(
                    "holds acts up to number {} of term {}, and the registry knows them up to {} of term {}: it is an older \
                     state of itself",
                    mark.acts, mark.term, standing.acts, standing.term
                ));
            }
            None
        }
        _ => Some(format!("belongs to another registry, {}", mark.registry)),
    }
}

/// Why a registry may only be read beside these stores; none where it knows all that they tell.
pub(crate) fn refusal(registry: &Registry, stores: &[&dyn Store]) -> Result<Option<String>, EngineError> {
    // The marks first: an act that is announced in between is known to the registry by then.
    let mut found = Vec::with_capacity(stores.len());
    for store in stores {
        match read(*store) {
            Ok(mark) => found.push((store.name(), mark)),
            // It says nothing, and is asked when it comes back.
            Err(error) if error.is_away() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (standing, adoption) =
        registry.read(|tx| Ok::<_, EngineError>((standing::get(tx)?, standing::adoption(tx)?)))?;
    let pending = adoption.map(|adoption| adoption.pending).unwrap_or_default();
    if !pending.is_empty() {
        return Ok(Some(format!("what lies in {} is being taken up and is not all known yet", pending.join(", "))));
    }
    let reasons: Vec<String> = found
        .iter()
        .filter_map(|(name, found)| Some(format!("store {name} {}", contradiction(found, standing.as_ref())?)))
        .collect();
    Ok((!reasons.is_empty()).then(|| reasons.join("; ")))
}
