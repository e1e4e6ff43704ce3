//! What is kept of later acts on an object in its `logs/`: one small file each, in every store that holds the object, so that
//! a registry can be made from the stores alone.

use std::collections::HashSet;

use strongroom_ocfl::{Layout, Object, object_id};
use strongroom_registry::epoch::{self, RegistryEpoch};
use strongroom_registry::objects::{self, Object as StoredObject};
use strongroom_registry::stores::{self, MissedLog, UnreadLogs};
use strongroom_registry::{GenerationId, ObjectId, RegistryError, Scope, Time};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};
use uuid::Uuid;

use crate::error::chain;
use crate::event::Event;
use crate::hold::{GoOn, ObjectHold, OperationError, now};
use crate::home::storage_root;
use crate::interruptible::Interruptible;
use crate::runtime::Shutdown;
use crate::watermark;
use crate::{EngineError, Home, paging};

/// The largest log that is read: no log that this program writes is larger.
pub(crate) const LARGEST_READ: u64 = 16 << 20;
/// Missed logs that are listed at once.
const LOGS_AT_ONCE: usize = 100;

/// The name of a log; logs sort by time.
pub(crate) fn name(time: Time, act: &str, id: Uuid) -> String {
    let moment = time.timestamp().strftime("%Y%m%dT%H%M%S.%6fZ");
    format!("{moment}-{act}-{id}.json")
}

/// Puts a log into every store that holds the object; at least one must take it. What a store misses, because it is away or
/// fails, is noted in the registry before anything is put, and added by [`put_missed`]. The caller holds the object.
pub(crate) fn put(
    home: &Home,
    institution: &str,
    object: ObjectId,
    generation: GenerationId,
    name: &str,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let mut stores: Vec<String> = Vec::new();
    for (store, _, _) in home.registry.read(|tx| objects::object_copies(tx, object))? {
        if !home.is_retired(&store)? {
            stores.push(store);
        }
    }
    let due = Due { home, object, name, stores: &stores };
    let announced = due.announce(&MissedLog {
        store: String::new(),
        object,
        name: name.to_owned(),
        generation,
        institution: institution.to_owned(),
        bytes: bytes.to_owned(),
        missed_at: Time(0),
    })?;
    let (mut kept, mut failure) = (Vec::new(), None);
    for store in &stores {
        match put_into(home, store, &announced, institution, generation, (name, bytes)) {
            Ok(store) => kept.push(store),
            Err(error @ EngineError::Superseded { .. }) => {
                due.forget(&stores)?;
                return Err(error);
            }
            Err(error) => failure = Some(error),
        }
    }
    if kept.is_empty() {
        // The act is reported as failed, and its log is not to appear later.
        due.forget(&stores)?;
        return failure.map_or(Ok(()), Err);
    }
    // Once more: a registry that was copied since the first announcement does not know what has happened now.
    let there: Vec<String> = kept.iter().map(|store| store.name().to_owned()).collect();
    let announced = due.forget(&there)?;
    for store in &kept {
        watermark::advance(home, *store, &announced)?;
    }
    watermark::confirm(home, &kept, &announced)
}

/// Puts one log into one store, behind the store's mark.
fn put_into<'h>(
    home: &'h Home,
    store: &str,
    announced: &RegistryEpoch,
    institution: &str,
    generation: GenerationId,
    (name, bytes): (&str, &[u8]),
) -> Result<&'h dyn Store, EngineError> {
    let store = home.store(store)?.as_ref();
    watermark::advance(home, store, announced)?;
    Object::new(store, object_root(institution, generation)?).put_log(name, bytes)?;
    Ok(store)
}

/// A log that is due in some stores.
struct Due<'a> {
    home: &'a Home,
    object: ObjectId,
    name: &'a str,
    stores: &'a [String],
}

impl Due<'_> {
    /// Announces the act, and notes in every store that the log is missed there.
    fn announce(&self, log: &MissedLog) -> Result<RegistryEpoch, EngineError> {
        let (stores, log) = (self.stores.to_vec(), log.clone());
        Ok(self.home.registry.write(move |tx| {
            let announced = epoch::announce(tx)?;
            let missed_at = tx.now()?;
            for store in &stores {
                stores::note_log(tx, &MissedLog { store: store.clone(), missed_at, ..log.clone() })?;
            }
            Ok::<_, RegistryError>(announced)
        })?)
    }

    /// Announces the act once more, and notes that these stores do not miss the log.
    fn forget(&self, stores: &[String]) -> Result<RegistryEpoch, EngineError> {
        let (stores, object, name) = (stores.to_vec(), self.object, self.name.to_owned());
        Ok(self.home.registry.write(move |tx| {
            for store in &stores {
                stores::log_is_put(tx, store, object, &name)?;
            }
            epoch::announce(tx)
        })?)
    }
}

/// Puts the logs that stores have missed into those that are there, each under its object's lease; how many were put. What
/// cannot be put now stays noted.
pub(crate) fn put_missed(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let now = now(home)?;
    let mut all = 0;
    for (store, _, _) in home.registry.read(stores::missed_log_counts)? {
        if !home.stores.contains_key(&store) || home.is_retired(&store)? {
            continue;
        }
        let mut put = 0;
        let list = |after: Option<_>, limit| {
            home.registry.read(|tx| stores::missed_logs(tx, &store, now, after.as_ref(), limit))
        };
        for log in paging::rows(LOGS_AT_ONCE, |log: &MissedLog| (log.object, log.name.clone()), list) {
            let log = log?;
            if stop.is_requested() {
                break;
            }
            match put_one_missed(home, &log) {
                Ok(()) => put += 1,
                // A worker works on the object, or one key cannot be put: the rest can.
                Err(OperationError::Engine(error)) if error.away().is_some() => break,
                Err(OperationError::Interrupted(_)) => break,
                Err(OperationError::Busy(_) | OperationError::Engine(_)) => {}
            }
        }
        if put > 0 {
            Event::MissedLogsPut { store: &store, logs: put }.emit();
        }
        all += put;
    }
    Ok(all)
}

/// Copies the logs that could not be read when a store was filled, from holders that are there again, each under its
/// object's lease; how many objects have them now.
pub(crate) fn copy_unread(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut all = 0;
    for (holder, from) in &home.stores {
        let mut left: (u64, Option<String>) = (0, None);
        let list =
            |after: Option<_>, limit| home.registry.read(|tx| stores::unread_logs(tx, holder, after.as_ref(), limit));
        for unread in paging::rows(LOGS_AT_ONCE, |unread: &UnreadLogs| (unread.store.clone(), unread.object), list) {
            let unread = unread?;
            if stop.is_requested() {
                break;
            }
            match copy_one_unread(home, &unread, from.as_ref()) {
                Ok(Ok(())) => all += 1,
                Ok(Err(error)) => {
                    left.0 += 1;
                    left.1.get_or_insert_with(|| chain(&error));
                    if error.is_away() {
                        break;
                    }
                }
                Err(OperationError::Interrupted(_)) => break,
                // A worker works on the object, or the store that lacks them is away: the rest can be copied.
                Err(OperationError::Busy(_) | OperationError::Engine(_)) => {}
            }
        }
        if let (objects @ 1.., Some(reason)) = left {
            Event::LogsUnread { store: holder, objects, reason: &reason }.emit();
        }
    }
    Ok(all)
}

/// Copies the logs of one object from a holder into the store that lacks them; the error of a holder that cannot be read.
fn copy_one_unread(
    home: &Home,
    unread: &UnreadLogs,
    from: &dyn Store,
) -> Result<Result<(), StorageError>, OperationError> {
    let hold = ObjectHold::take(home, unread.object)?;
    let object = home.registry.read(|tx| objects::get(tx, Scope::System, unread.object))?;
    let is_wanted = home.stores.contains_key(&unread.store) && !home.is_retired(&unread.store)?;
    if let Some(object) = object.filter(|_| is_wanted) {
        let store = home.store(&unread.store)?.as_ref();
        let announced = watermark::announce(home)?;
        watermark::advance(home, store, &announced)?;
        if let Err(error) = LogCopying::new(&hold, &object, store)?.copy_from(from, &|| Ok(()))? {
            return Ok(Err(error));
        }
        watermark::confirm(home, &[store], &announced)?;
    }
    let (holder, store, object) = (unread.holder.clone(), unread.store.clone(), unread.object);
    hold.write(move |tx| stores::logs_are_read(tx, &holder, &store, object))?;
    Ok(Ok(()))
}

/// Copies logs of an object into a store that lacks them. The caller holds the object.
pub(crate) struct LogCopying<'a> {
    hold: &'a ObjectHold<'a>,
    store: &'a dyn Store,
    folder: Key,
    /// Logs that lie in the store.
    there: HashSet<Key>,
}

impl<'a> LogCopying<'a> {
    /// Lists what the store has.
    pub(crate) fn new(
        hold: &'a ObjectHold<'a>,
        object: &StoredObject,
        store: &'a dyn Store,
    ) -> Result<Self, OperationError> {
        let folder = object_root(&object.institution_identifier, object.generation)?.join("logs");
        let folder = folder.map_err(StorageError::from)?;
        let there = store.list(&folder)?.map(|listed| listed.map(|listed| listed.key)).collect::<Result<_, _>>()?;
        Ok(Self { hold, store, folder, there })
    }

    /// Copies what a holder has and the store lacks; the error of a holder that cannot be read.
    pub(crate) fn copy_from(
        &mut self,
        from: &dyn Store,
        go_on: &GoOn<'_>,
    ) -> Result<Result<(), StorageError>, OperationError> {
        let listing = match from.list(&self.folder) {
            Ok(listing) => listing,
            Err(error) => return Ok(Err(error)),
        };
        for listed in listing {
            go_on.check()?;
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) => return Ok(Err(error)),
            };
            if self.there.contains(&listed.key) {
                continue;
            }
            let body = match from.open(&listed.key, 0, None) {
                Ok(body) => body,
                Err(error) => return Ok(Err(error)),
            };
            self.hold.keep()?;
            let mut body = self.hold.keeping(Interruptible::new(body, go_on));
            let has_conditions = self.store.capabilities().conditional_put;
            let condition = if has_conditions { PutCondition::IfAbsent } else { PutCondition::Always };
            let options = PutOptions { size: Some(listed.size), condition, ..PutOptions::default() };
            match self.store.put(&listed.key, &mut body, &options) {
                Ok(_) => {}
                Err(error @ (StorageError::Source { .. } | StorageError::Mismatch { .. })) => {
                    go_on.check()?;
                    return Ok(Err(error));
                }
                Err(error) => return Err(error.into()),
            }
            self.there.insert(listed.key);
        }
        Ok(Ok(()))
    }

    /// Puts what other stores miss: it may have lain nowhere but in what the store has lost.
    pub(crate) fn put_missed(&mut self, home: &Home, object: ObjectId, go_on: &GoOn<'_>) -> Result<(), OperationError> {
        // Several stores may miss one file.
        let key = |log: &MissedLog| (log.name.clone(), log.store.clone());
        let list = |after: Option<(String, String)>, limit| {
            home.registry.read(|tx| stores::missed_logs_of(tx, object, after.as_ref(), limit))
        };
        for log in paging::rows(LOGS_AT_ONCE, key, list) {
            let log = log?;
            go_on.check()?;
            let root = object_root(&log.institution, log.generation)?;
            // Of this generation; also over one that was copied torn from another store.
            if root.join("logs").is_ok_and(|folder| folder == self.folder) {
                self.hold.keep()?;
                let put = Object::new(self.store, root).put_log(&log.name, &log.bytes).map_err(EngineError::from)?;
                self.there.insert(put);
            }
        }
        Ok(())
    }
}

/// Puts logs that were just noted, as far as that is possible now: the others are put by [`put_missed`].
pub(crate) fn put_noted(home: &Home, noted: &[MissedLog]) {
    for log in noted {
        // A worker works on the object, or the store is away.
        if home.stores.contains_key(&log.store) {
            let _ = put_one_missed(home, log);
        }
    }
}

fn put_one_missed(home: &Home, log: &MissedLog) -> Result<(), OperationError> {
    let hold = ObjectHold::take(home, log.object)?;
    let announced = watermark::announce(home)?;
    let store =
        put_into(home, &log.store, &announced, &log.institution, log.generation, (&log.name, log.bytes.as_slice()))?;
    watermark::confirm(home, &[store], &announced)?;
    let (store, object, name) = (log.store.clone(), log.object, log.name.clone());
    hold.write(move |tx| stores::log_is_put(tx, &store, object, &name))
}

/// Where an object lies in every preservation store. Asks no store: what declares the storage root may be damaged.
pub(crate) fn object_root(institution: &str, generation: GenerationId) -> Result<Key, EngineError> {
    let id = object_id(&generation.to_string())?;
    let path = Layout::ours().path(&id)?;
    Ok(storage_root(institution)?.join(path.as_str()).map_err(StorageError::from)?)
}
