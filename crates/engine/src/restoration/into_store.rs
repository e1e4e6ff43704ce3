//! A result in a restoration store, below the institution. It is put only where there is nothing, at a place that no other work
//! item has used. Where the store cannot make a put depend on that, each attempt has a place of its own.

use std::io::{self, Read};

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::restored::{self, Announced, Place, Turn};
use strongroom_storage::{Head, Key, PutCondition, PutOptions, StorageError, Store};

use super::names::{MOST_NAMES, numbered};
use super::pipe::{CHUNK, Hashing, pipe};
use super::target::{Delivery, Give, Shelf, Stored};
use crate::crash_point;
use crate::interruptible::Interruptible;
use crate::workflow::{StageContext, StageError};

/// A place that this attempt may put something at.
struct Turned {
    key: Key,
    place: Place,
    /// What an earlier attempt of the item may have put there.
    announced: Option<Announced>,
}

/// How an attempt at one place ended.
enum Put {
    Done(Delivery),
    /// Something lies there. What was about to be put, where that is known.
    Occupied(Option<Announced>),
}

/// Puts what `give` writes under `names` on the shelf, the last of them numbered where it is in use.
pub(super) fn put(
    context: &StageContext<'_>,
    shelf: &Shelf,
    names: &[String],
    give: &mut Give<'_>,
) -> Result<Delivery, StageError> {
    for number in 1..=MOST_NAMES {
        let Some(turn) = take_turn(context, shelf, key_of(context, shelf, names, number)?)? else { continue };
        let outcome = match head(shelf, &turn.key)? {
            Some(_) => Put::Occupied(turn.announced.clone()),
            None => put_once(context, shelf, &turn, give)?,
        };
        let announced = match outcome {
            Put::Done(given) => return Ok(given),
            Put::Occupied(announced) => announced,
        };
        // An attempt of this item that stopped after it had put everything, or that slept, has done what this one would do.
        if let Some(announced) = announced
            && let Some(head) = head(shelf, &turn.key)?
            && let Some(sha256) = is_same(shelf.store.as_ref(), &turn.key, &head, &announced, context)?
        {
            return Ok(given(turn.place, &turn.key, head, sha256));
        }
        let place = turn.place;
        context.write(move |tx, claim| restored::give_up(tx, claim, &place))?;
    }
    let wanted = key_of(context, shelf, names, 1)?;
    Err(StageError::fatal(format!(
        "{wanted} in store {} and {MOST_NAMES} names after it are in use; nothing is replaced; next: remove results that \
         are not needed, or restore into a folder",
        shelf.store.name()
    )))
}

fn key_of(context: &StageContext<'_>, shelf: &Shelf, names: &[String], number: u32) -> Result<Key, StageError> {
    let (last, above) = names.split_last().map_or(("", names), |(last, above)| (last.as_str(), above));
    let item = context.item.id.to_string();
    // A put that comes late, from a worker that slept, then reaches only what its own attempt has put.
    let own =
        if shelf.store.capabilities().conditional_put { None } else { Some(format!("{item}-{}", context.claim.fence)) };
    let mut path: Vec<&str> = own.as_deref().into_iter().chain(above.iter().map(String::as_str)).collect();
    let last = numbered(last, number);
    path.push(&last);
    // A path too long for a key is known by the item that gave it back.
    let short = numbered(own.as_deref().unwrap_or(&item), number);
    Ok(shelf.prefix.join(&path.join("/")).or_else(|_| shelf.prefix.join(&short))?)
}

/// Notes what is about to be put where; none where the place is another work item's.
fn take_turn(context: &StageContext<'_>, shelf: &Shelf, key: Key) -> Result<Option<Turned>, StageError> {
    let place = Place { store: shelf.store.name().to_owned(), key: key.to_string() };
    let (institution, there) = (context.item.institution, place.clone());
    Ok(match context.write(move |tx, claim| restored::begin(tx, claim, institution, &there))? {
        Turn::Ours { announced } => Some(Turned { key, place, announced }),
        Turn::Taken => None,
    })
}

fn head(shelf: &Shelf, key: &Key) -> Result<Option<Head>, StageError> {
    match shelf.store.head(key) {
        Ok(head) => Ok(Some(head)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn put_once(context: &StageContext<'_>, shelf: &Shelf, turn: &Turned, give: &mut Give<'_>) -> Result<Put, StageError> {
    let (store, key) = (&shelf.store, &turn.key);
    crash_point("restoration.put.begun");
    let (writer, mut body) = pipe();
    let mut out = Hashing::new(writer);
    let mut announced = None;
    let (written, stored) = std::thread::scope(|scope| {
        let storing = scope.spawn(move || {
            let options = PutOptions { condition: PutCondition::IfAbsent, ..PutOptions::default() };
            store.put(key, &mut body, &options)
        });
        let written = give(&mut out).and_then(|()| {
            context.task.check_lease()?;
            let (out, size, sha256) = out.finish()?;
            announced = Some(announce(context, &turn.place, size, &sha256)?);
            // Without this the store takes nothing: whatever stops before it leaves no trace.
            out.end().map_err(|error| StageError::Transient(format!("could not end {key}: {error}")))?;
            Ok(sha256)
        });
        (written, storing.join())
    });
    match (written, stored) {
        (Ok(sha256), Ok(Ok(head))) => {
            crash_point("restoration.put.done");
            Ok(Put::Done(given(turn.place.clone(), key, head, sha256)))
        }
        (Err(error @ StageError::Interrupted(_)), _) => Err(error),
        (_, Ok(Err(StorageError::Condition { .. }))) => Ok(Put::Occupied(announced)),
        // Where the store failed, the writer only saw that no process reads any more.
        (_, Ok(Err(error))) if !matches!(error, StorageError::Source { .. }) => Err(error.into()),
        (Err(error), _) => Err(error),
        (Ok(_), Ok(Err(error))) => Err(error.into()),
        (Ok(_), Err(_)) => Err(StageError::Transient("a thread of the stage panicked".into())),
    }
}

/// Notes what the store is about to keep, under the fence: an attempt that has lost its item ends here.
fn announce(context: &StageContext<'_>, place: &Place, size: u64, sha256: &Digest) -> Result<Announced, StageError> {
    let announced = Announced { size, sha256: sha256.to_hex() };
    let (there, noted) = (place.clone(), announced.clone());
    context.write(move |tx, claim| restored::announce(tx, claim, &there, &noted))?;
    Ok(announced)
}

fn given(place: Place, key: &Key, head: Head, sha256: Digest) -> Delivery {
    let shown = format!("{key} in store {}", place.store);
    Delivery { place: shown, size: head.size, sha256, stored: Some(Stored { place, etag: head.etag }) }
}

/// The digest of what lies there, where it is what was announced.
fn is_same(
    store: &dyn Store,
    key: &Key,
    head: &Head,
    announced: &Announced,
    context: &StageContext<'_>,
) -> Result<Option<Digest>, StageError> {
    let read = |bytes: &mut dyn Read| lies_as_announced(head, announced, bytes);
    let go_on = || context.task.check();
    let outcome = read_stored(store, key, |body| read(&mut Interruptible::new(body, &go_on)));
    context.task.check()?;
    Ok(outcome?)
}

/// As [`is_same`], outside a work item.
pub(super) fn is_announced(
    store: &dyn Store,
    key: &Key,
    head: &Head,
    announced: &Announced,
) -> Result<bool, StorageError> {
    Ok(read_stored(store, key, |mut body| lies_as_announced(head, announced, &mut body))?.is_some())
}

fn read_stored<T>(
    store: &dyn Store,
    key: &Key,
    read: impl FnOnce(strongroom_storage::Body) -> io::Result<Option<T>>,
) -> Result<Option<T>, StorageError> {
    let body = match store.open(key, 0, None) {
        Ok(body) => body,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let failed = |source| StorageError::Io { store: store.name().to_owned(), act: "read", key: key.clone(), source };
    read(body).map_err(failed)
}

fn lies_as_announced(head: &Head, announced: &Announced, bytes: &mut dyn Read) -> io::Result<Option<Digest>> {
    if head.size != announced.size {
        return Ok(None);
    }
    let (size, digests) = hash_reader(io::BufReader::with_capacity(CHUNK, bytes), &[Algorithm::Sha256])?;
    let found = digests.get(Algorithm::Sha256);
    Ok(found.filter(|found| size == announced.size && found.to_hex() == announced.sha256))
}
