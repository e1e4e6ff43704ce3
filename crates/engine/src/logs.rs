//! What is kept of later acts on an object in its `logs/`: one small file each, in every store that holds the object, so that
//! a registry can be made from the stores alone.

use strongroom_ocfl::{Layout, Object, object_id};
use strongroom_registry::{GenerationId, ObjectId, Time, objects};
use strongroom_storage::{Durability, Key, StorageError};
use uuid::Uuid;

use crate::home::storage_root;
use crate::mark;
use crate::{EngineError, Home};

/// The name of a log; logs sort by time.
pub(crate) fn name(time: Time, act: &str, id: Uuid) -> String {
    let moment = time.timestamp().strftime("%Y%m%dT%H%M%S.%6fZ");
    format!("{moment}-{act}-{id}.json")
}

/// Puts a log into every store that holds the object; at least one must take it. The caller holds the object.
pub(crate) fn put(
    home: &Home,
    institution: &str,
    object: ObjectId,
    generation: GenerationId,
    name: &str,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let stores = home.registry.read(|tx| objects::object_copies(tx, object))?;
    let announced = mark::announce(home)?;
    let (mut kept, mut failure) = (Vec::new(), None);
    for (store, _, _) in stores {
        if home.is_retired(&store)? {
            continue;
        }
        let put = home.store(&store).and_then(|store| {
            mark::advance(home, store.as_ref(), &announced, Durability::OnReturn)?;
            let in_store = Object::new(store.as_ref(), object_root(institution, generation)?);
            in_store.put_log(name, bytes)?;
            Ok(store.as_ref())
        });
        match put {
            Ok(store) => kept.push(store),
            Err(error @ EngineError::Superseded { .. }) => return Err(error),
            Err(error) => failure = Some(error),
        }
    }
    if kept.is_empty() {
        return failure.map_or(Ok(()), Err);
    }
    // Once more: a registry that was copied since the first announcement does not know what has happened now.
    let announced = mark::announce(home)?;
    for store in &kept {
        mark::advance(home, *store, &announced, Durability::OnReturn)?;
    }
    mark::confirm(home, &kept, &announced)
}

/// Where an object lies in every preservation store. Asks no store: what declares the storage root may be damaged.
pub(crate) fn object_root(institution: &str, generation: GenerationId) -> Result<Key, EngineError> {
    let id = object_id(&generation.to_string())?;
    let path = Layout::ours().path(&id)?;
    Ok(storage_root(institution)?.join(path.as_str()).map_err(StorageError::from)?)
}
