//! Events of content items of plain stores: the newest one of each key. The feed may repeat events and bring them in any order: what is not
//! newer than what is known changes nothing. Where a put and a deletion have the same time, the put counts.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::{ContentEventKind, RegistryError, RouteId};

/// Longer reasons are cut, in characters.
const LONGEST_REASON: usize = 1_000;

/// An event of a content item, or with an empty key of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentEvent {
    /// The store.
    pub store: String,
    /// The space.
    pub space: String,
    /// The key; empty for the space itself.
    pub key: String,
    /// Identifies it.
    pub id: Uuid,
    /// What happened.
    pub kind: ContentEventKind,
    /// When, by the clock of who reports it.
    pub happened_at: Time,
    /// When it was recorded, by the clock of the registry.
    pub recorded_at: Time,
    /// Who reports it.
    pub actor: String,
    /// What they say of it.
    pub reason: String,
    /// Whether no task follows from it: sweeps count such deletions, and ask a person where they are many.
    pub left_to_sweep: bool,
}

/// The newest event of a content item.
pub fn get(
    tx: &mut dyn Transaction,
    (store, space, key): (&str, &str, &str),
) -> Result<Option<ContentEvent>, RegistryError> {
    let row = tx.query_one(Statement("content_events.get"), &[store.into(), space.into(), key.into()])?;
    row.as_ref().map(event_row).transpose()
}

/// Records an event; whether it is the newest one of its content item now. One that is known or older changes nothing.
pub fn record(tx: &mut dyn Transaction, event: &ContentEvent) -> Result<bool, RegistryError> {
    // PostgreSQL holds no U+0000 in a text.
    let reason: String = event.reason.replace('\0', "\u{fffd}").chars().take(LONGEST_REASON).collect();
    let values = [
        (&event.store).into(),
        (&event.space).into(),
        (&event.key).into(),
        event.id.into(),
        event.kind.as_str().into(),
        event.happened_at.into(),
        event.recorded_at.into(),
        (&event.actor).into(),
        reason.into(),
        event.left_to_sweep.into(),
    ];
    Ok(tx.execute(Statement("content_events.insert"), &values)? == 1
        || tx.execute(Statement("content_events.replace"), &values)? == 1)
}

/// The content item of this deletion was seen in its store after it: it was put again, and a later absence is no consequence of the deletion.
/// Nothing where another event came meanwhile; whether it was the newest one until now.
pub fn supersede(tx: &mut dyn Transaction, event: &ContentEvent) -> Result<bool, RegistryError> {
    let values = [(&event.store).into(), (&event.space).into(), (&event.key).into(), event.id.into()];
    Ok(tx.execute(Statement("content_events.supersede"), &values)? == 1)
}

/// Keys of deletions in a space that were not carried out on a route, behind a key, up to those recorded at a time.
pub fn pending(
    tx: &mut dyn Transaction,
    (store, space): (&str, &str),
    route: RouteId,
    (after, up_to): (&str, Time),
    limit: usize,
) -> Result<Vec<String>, RegistryError> {
    let values = [store.into(), space.into(), after.into(), route.into(), up_to.into(), limit.into()];
    keys(tx, Statement("content_events.pending"), &values)
}

/// As [`pending`], for a route that keeps its copies: those of which nothing is recorded on it.
pub fn unseen(
    tx: &mut dyn Transaction,
    (store, space): (&str, &str),
    route: RouteId,
    (after, up_to): (&str, Time),
    limit: usize,
) -> Result<Vec<String>, RegistryError> {
    let values = [store.into(), space.into(), after.into(), route.into(), up_to.into(), limit.into()];
    keys(tx, Statement("content_events.unseen"), &values)
}

fn keys(tx: &mut dyn Transaction, of: Statement, values: &[Value]) -> Result<Vec<String>, RegistryError> {
    tx.query(of, values)?.iter().map(|row| Ok(row.text("key")?.to_owned())).collect()
}

/// How many deletions of content items in a space were recorded after a time.
pub fn count_deleted(
    tx: &mut dyn Transaction,
    (store, space): (&str, &str),
    since: Time,
) -> Result<u64, RegistryError> {
    counted(tx, Statement("content_events.count_deleted"), &[store.into(), space.into(), since.into()])
}

/// How many of those of [`count_deleted`] were carried out on a route.
pub fn count_carried_out(
    tx: &mut dyn Transaction,
    (store, space): (&str, &str),
    route: RouteId,
    since: Time,
) -> Result<u64, RegistryError> {
    let values = [store.into(), space.into(), since.into(), route.into()];
    counted(tx, Statement("content_events.count_carried_out"), &values)
}

fn counted(tx: &mut dyn Transaction, of: Statement, values: &[Value]) -> Result<u64, RegistryError> {
    Ok(tx.query_one(of, values)?.map(|row| row.count("deletions")).transpose()?.unwrap_or_default())
}

/// How many deletions of content items in a space that were recorded up to a time were not carried out on a route, up to `limit`.
pub fn count_pending(
    tx: &mut dyn Transaction,
    (store, space): (&str, &str),
    route: RouteId,
    up_to: Time,
    limit: u64,
) -> Result<u64, RegistryError> {
    let values = [store.into(), space.into(), route.into(), limit.into(), up_to.into()];
    counted(tx, Statement("content_events.count_pending"), &values)
}

fn event_row(row: &Row) -> Result<ContentEvent, RegistryError> {
    Ok(ContentEvent {
        store: row.text("store")?.to_owned(),
        space: row.text("space")?.to_owned(),
        key: row.text("key")?.to_owned(),
        id: row.uuid("id")?,
        kind: row.text("kind")?.parse()?,
        happened_at: row.time("happened_at")?,
        recorded_at: row.time("recorded_at")?,
        actor: row.text("actor")?.to_owned(),
        reason: row.text("reason")?.to_owned(),
        left_to_sweep: row.bool("left_to_sweep")?,
    })
}
