//! Writing marks: before an act in a store, after it, and where an adoption takes a store over.

use std::sync::atomic::Ordering;

use strongroom_registry::epoch::{self, RegistryEpoch};
use strongroom_registry::stores::{self as registered, KnownStore};
use strongroom_registry::{Registry, RegistryError, Transaction};
use strongroom_storage::Store;
use uuid::Uuid;

use super::comparing::{check, look_again, read_current, superseded};
use super::{StoredWatermark, Watermark, lock, put, read, read_with_etag};
use crate::{EngineError, Home};

/// How often a mark that others write at the same time is tried.
const TRIES: u32 = 1_000;
/// How far a late act raises the acts of a mark: further than the registry that adopted the store announces meanwhile.
const LATE: u64 = 1 << 20;
/// What is said of a store where that did not do.
const ENDLESS: &str = "has a registry watermark that other processes change again and again";

/// Announces an act of the registry. Before anything is done in a store, its mark has to be [advanced](advance).
pub(crate) fn announce(home: &Home) -> Result<RegistryEpoch, EngineError> {
    Ok(home.registry.write(epoch::announce)?)
}

/// Brings the mark of a store up to an act that was announced. It is durable when this returns: a mark that a power cut
/// leaves half written cannot be read, and the registry would be read-only.
///
/// # Errors
/// [`EngineError::Superseded`] where the store belongs to another registry, or to a later state of this one.
pub(crate) fn advance(home: &Home, store: &dyn Store, epoch: &RegistryEpoch) -> Result<(), EngineError> {
    let written = home.marks.of(store.name());
    let mut slot = lock(&written.slot);
    let covers = |mark: &Watermark| mark.is_by(epoch) && mark.is_of(store) && mark.acts >= epoch.acts;
    if !store.capabilities().conditional_put {
        // A put would not tell that another process has written it since.
        slot.last = None;
    }
    for _ in 0..TRIES {
        let (before, etag) = match &slot.last {
            Some((mark, _)) if covers(mark) => return Ok(()),
            Some((mark, etag)) => (Some(*mark), Some(etag.clone())),
            None => {
                let (found, etag) = read_current(home, store)?;
                match &found {
                    StoredWatermark::Watermark(mark) if covers(mark) => {
                        slot.last = etag.map(|etag| (*mark, etag));
                        return Ok(());
                    }
                    // Nothing in the place says whose it is, but for the store's id.
                    StoredWatermark::None => store.check_identity()?,
                    other => check(store, other, epoch)?,
                }
                (found.mark().copied(), etag)
            }
        };
        let mark = Watermark::of(*epoch, store).behind(before.as_ref());
        let acts = before.filter(|before| before.is_by(epoch)).map_or(0, |before| before.acts);
        let mark = Watermark { acts: mark.acts.max(acts), ..mark };
        match put(store, &mark, etag.as_deref())? {
            Some(etag) => {
                slot.last = Some((mark, etag));
                return Ok(());
            }
            // Another process wrote it: read it again.
            None => slot.last = None,
        }
    }
    Err(superseded(store, ENDLESS))
}

/// Writes the marks once more, after an act, which says whether the stores still belong to this registry and are the
/// ones that the act was done in; and notes them in the registry, before anything is recorded of the act. Where an
/// adoption has taken a store over in between, its mark is raised, so that the registry that adopted it learns of the
/// late act.
pub(crate) fn confirm(home: &Home, stores: &[&dyn Store], epoch: &RegistryEpoch) -> Result<(), EngineError> {
    let replacements = home.registry.read(registered::replacements)?;
    confirm_since(home, stores, epoch, replacements)
}

/// The same for who knows how often stores had been replaced when the act began.
pub(crate) fn confirm_since(
    home: &Home,
    stores: &[&dyn Store],
    epoch: &RegistryEpoch,
    replacements: u64,
) -> Result<(), EngineError> {
    let confirmed = confirm_in_each(home, stores, epoch)?;
    Ok(home.registry.write(move |tx| {
        if registered::replacements(tx)? != replacements {
            // What was seen of a store before it was taken anew says nothing of it now.
            let id = confirmed.0.first().map(|(name, ..)| name.clone()).unwrap_or_default();
            return Err(RegistryError::FenceLost { what: "store", id });
        }
        confirmed.note(tx)
    })?)
}

/// Marks that were written after an act, by store: its name, its identifier and the revision of the mark.
#[derive(Debug, Clone, Default)]
pub(crate) struct Confirmed(Vec<(String, Uuid, u64)>);

impl Confirmed {
    /// Notes the marks in the registry. The caller refuses in the same transaction where a store was replaced since the act began.
    pub(crate) fn note(&self, tx: &mut dyn Transaction) -> Result<(), RegistryError> {
        registered::note_marks(tx, &self.0)
    }
}

/// As [`confirm`], but for noting the marks: that is left to the transaction that records the act.
pub(crate) fn confirm_in_each(
    home: &Home,
    stores: &[&dyn Store],
    epoch: &RegistryEpoch,
) -> Result<Confirmed, EngineError> {
    let mut noted = Vec::with_capacity(stores.len());
    // In every store, also behind one that fails: an act that ended late is reported wherever it ended.
    let written: Vec<_> = stores.iter().map(|store| (store, confirm_in(home, *store, epoch))).collect();
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
    // In one order, so that no two transactions wait for rows of each other.
    noted.sort();
    Ok(Confirmed(noted))
}

/// Writes the mark of one store once more, for all who ask for it meanwhile; its revision then.
fn confirm_in(home: &Home, store: &dyn Store, epoch: &RegistryEpoch) -> Result<u64, EngineError> {
    let has_conditions = store.capabilities().conditional_put;
    let is_enough = |mark: &Watermark| {
        // Where puts have no conditions, a late put may have put an earlier one back.
        mark.is_by(epoch) && mark.is_of(store) && (mark.acts >= epoch.acts || !has_conditions)
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
                (StoredWatermark::Watermark(mark), etag) if is_enough(&mark) => (mark, etag),
                // A late put, where puts have no conditions.
                (StoredWatermark::Watermark(mark), etag)
                    if mark.is_before(epoch) && mark.is_of(store) && !has_conditions =>
                {
                    (Watermark { revision: mark.revision, ..Watermark::of(*epoch, store) }, etag)
                }
                (StoredWatermark::Watermark(mark), etag) if !mark.is_by(epoch) && mark.is_of(store) => {
                    store.check_identity()?;
                    if home.registry.read(epoch::get)?.is_some_and(|now| mark.is_by(&now)) {
                        // It knows of the act, which is announced anew.
                        return Err(superseded(store, "was adopted by this registry while it was written to"));
                    }
                    if put(store, &Watermark { acts: mark.acts + LATE, ..mark }.behind(Some(&mark)), etag.as_deref())?
                        .is_some()
                    {
                        let reason = "was adopted by another state of the registry while it was written to";
                        return Err(superseded(store, reason));
                    }
                    continue;
                }
                _ => {
                    let reason = format!("does not have act {}, which was announced there", epoch.acts);
                    return Err(look_again(home, store, &reason));
                }
            },
        };
        let mark = Watermark { acts: mark.acts.max(epoch.acts), ..mark }.behind(Some(&mark));
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
    let epoch = registry.read(epoch::get)?;
    let mark = match read(store) {
        Ok(StoredWatermark::Watermark(mark)) => mark,
        Ok(StoredWatermark::None | StoredWatermark::Unreadable(_)) => return Ok(()),
        // It is compared when it comes back.
        Err(error) if error.is_away() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let is_ours = epoch.is_some_and(|epoch| mark.registry == epoch.registry) && mark.is_of(store);
    if is_ours && mark.revision > 0 {
        let (name, id) = (known.name.clone(), known.id);
        registry.write(move |tx| registered::note_mark(tx, &name, id, mark.revision))?;
    }
    Ok(())
}

/// Makes a store belong to the registry: for adoptions. Keeps the number of acts that the mark says, which it returns.
pub(crate) fn claim(home: &Home, store: &dyn Store, epoch: &RegistryEpoch) -> Result<u64, EngineError> {
    let known = home.registry.read(registered::list)?.into_iter().find(|known| known.name == store.name());
    let seen = known.map_or(0, |known| known.mark_revision);
    for _ in 0..TRIES {
        let (found, etag) = read_with_etag(store)?;
        let acts = match &found {
            StoredWatermark::Watermark(mark) if mark.is_by(epoch) => return Ok(mark.acts),
            StoredWatermark::Watermark(mark) => mark.acts,
            StoredWatermark::None => return Ok(0),
            StoredWatermark::Unreadable(_) => epoch.acts,
        };
        home.marks.forget(store.name());
        let mark = Watermark::of(*epoch, store).behind(found.mark());
        let mark = Watermark { acts, revision: mark.revision.max(seen + 1), ..mark };
        if put(store, &mark, etag.as_deref())?.is_some() {
            return Ok(acts);
        }
    }
    Err(superseded(store, ENDLESS))
}
