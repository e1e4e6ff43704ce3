//! Content items of plain stores as they were last seen on a route: equal in both stores, deleted, or lost.

use strongroom_database::{Row, Statement, Time, Transaction};

use super::duplication_routes::{Route, route_row};
use super::objects::optional_count;
use crate::{CopyOutcome, RegistryError, RouteId, Scope};

/// Longer details are cut, in characters: parts of them come from stores.
const LONGEST_DETAIL: usize = 1_000;

/// What is known of a content item of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicatedItem {
    /// Its key.
    pub key: String,
    /// What came of it.
    pub outcome: CopyOutcome,
    /// The etag in the source, where the bytes are known to be equal.
    pub source_etag: Option<String>,
    /// The etag in the destination, where it has it.
    pub destination_etag: Option<String>,
    /// What a listing of the source shows of it, with its description.
    pub source_revision: Option<String>,
    /// The same of the destination.
    pub destination_revision: Option<String>,
    /// Its length in bytes.
    pub size: Option<u64>,
    /// The SHA-512 of its bytes, where they were read.
    pub sha512: Option<Vec<u8>>,
    /// When the bytes of both were compared.
    pub verified_at: Option<Time>,
    /// When this was recorded.
    pub recorded_at: Time,
    /// In words.
    pub detail: String,
}

impl DuplicatedItem {
    /// One of which nothing is known but that it is lost.
    pub fn empty(key: &str, now: Time) -> Self {
        Self {
            key: key.to_owned(),
            outcome: CopyOutcome::Lost,
            source_etag: None,
            destination_etag: None,
            source_revision: None,
            destination_revision: None,
            size: None,
            sha512: None,
            verified_at: None,
            recorded_at: now,
            detail: String::new(),
        }
    }
}

/// What is known of one; none where nothing is.
pub fn get(tx: &mut dyn Transaction, route: RouteId, key: &str) -> Result<Option<DuplicatedItem>, RegistryError> {
    let row = tx.query_one(Statement("duplicated_items.get"), &[route.into(), key.into()])?;
    row.as_ref().map(item_row).transpose()
}

/// Those of a route behind a key, in the order of the bytes of their keys.
pub fn list(
    tx: &mut dyn Transaction,
    route: RouteId,
    after: &str,
    limit: usize,
) -> Result<Vec<DuplicatedItem>, RegistryError> {
    let values = [route.into(), after.into(), limit.into()];
    tx.query(Statement("duplicated_items.list"), &values)?.iter().map(item_row).collect()
}

/// The routes from other sources into the same space that brought what the destination has under an etag. A rule may have them no more.
pub fn brought_by(tx: &mut dyn Transaction, route: &Route, key: &str, etag: &str) -> Result<Vec<Route>, RegistryError> {
    let (destination, space, source) = (&route.destination, &route.space, &route.source);
    let values = [destination.into(), space.into(), route.id.into(), key.into(), etag.into(), source.into()];
    tx.query(Statement("duplicated_items.brought_by"), &values)?.iter().map(route_row).collect()
}

/// Records what came of one, in place of what was known.
pub fn put(tx: &mut dyn Transaction, route: RouteId, item: &DuplicatedItem) -> Result<(), RegistryError> {
    let detail: String = item.detail.chars().take(LONGEST_DETAIL).collect();
    let values = [
        route.into(),
        (&item.key).into(),
        item.outcome.as_str().into(),
        item.source_etag.as_deref().into(),
        item.destination_etag.as_deref().into(),
        item.source_revision.as_deref().into(),
        item.destination_revision.as_deref().into(),
        item.size.into(),
        item.sha512.clone().into(),
        item.verified_at.into(),
        item.recorded_at.into(),
        detail.into(),
    ];
    tx.execute(Statement("duplicated_items.put"), &values)?;
    Ok(())
}

/// Removes what is known of one of which nothing is there, and nothing is missing.
pub fn remove(tx: &mut dyn Transaction, route: RouteId, key: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("duplicated_items.remove"), &[route.into(), key.into()])?;
    Ok(())
}

/// A content item that is lost or damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TroubledItem {
    /// The route.
    pub route: Route,
    /// Its key.
    pub key: String,
    /// Which of both.
    pub outcome: CopyOutcome,
    /// Whether the destination has it.
    pub is_in_destination: bool,
    /// The etag of the source that was compared last.
    pub source_etag: Option<String>,
    /// The same of the destination.
    pub destination_etag: Option<String>,
    /// The SHA-512 of the bytes that were equal, where they were read.
    pub sha512: Option<Vec<u8>>,
    /// When the bytes of both were compared last.
    pub verified_at: Option<Time>,
    /// Its length in bytes, where it is known.
    pub size: Option<u64>,
    /// Since when it is known.
    pub recorded_at: Time,
    /// In words.
    pub detail: String,
}

/// Those that are lost or damaged within a scope, behind one of a route.
pub fn in_trouble(
    tx: &mut dyn Transaction,
    scope: Scope,
    (route, key): (RouteId, &str),
    limit: usize,
) -> Result<Vec<TroubledItem>, RegistryError> {
    let place = [route.into(), key.into(), limit.into()];
    let rows = match scope {
        Scope::System => tx.query(Statement("duplicated_items.in_trouble"), &place)?,
        Scope::Institution(own) => {
            let [route, key, limit] = place;
            tx.query(Statement("duplicated_items.in_trouble_of"), &[route, key, limit, own.into()])?
        }
    };
    let item = |row: &Row| {
        Ok(TroubledItem {
            route: route_row(row)?,
            key: row.text("key")?.to_owned(),
            outcome: row.text("outcome")?.parse()?,
            is_in_destination: row.optional_text("destination_etag")?.is_some(),
            source_etag: row.optional_text("source_etag")?.map(str::to_owned),
            destination_etag: row.optional_text("destination_etag")?.map(str::to_owned),
            sha512: row.optional_bytes("sha512")?.map(<[u8]>::to_vec),
            verified_at: row.optional_time("verified_at")?,
            size: optional_count(row, "size")?,
            recorded_at: row.time("recorded_at")?,
            detail: row.text("detail")?.to_owned(),
        })
    };
    rows.iter().map(item).collect()
}

/// How many are lost, or damaged, on each route that has such.
pub fn count_in_trouble(tx: &mut dyn Transaction) -> Result<Vec<(Route, CopyOutcome, u64)>, RegistryError> {
    let rows = tx.query(Statement("duplicated_items.count_in_trouble"), &[])?;
    rows.iter().map(|row| Ok((route_row(row)?, row.text("outcome")?.parse()?, row.count("items")?))).collect()
}

/// How many are equal on a route, up to `limit`.
pub fn count_equal(tx: &mut dyn Transaction, route: RouteId, limit: u64) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("duplicated_items.count_equal"), &[route.into(), limit.into()])?;
    Ok(row.map(|row| row.count("items")).transpose()?.unwrap_or_default())
}

fn item_row(row: &Row) -> Result<DuplicatedItem, RegistryError> {
    Ok(DuplicatedItem {
        key: row.text("key")?.to_owned(),
        outcome: row.text("outcome")?.parse()?,
        source_etag: row.optional_text("source_etag")?.map(str::to_owned),
        destination_etag: row.optional_text("destination_etag")?.map(str::to_owned),
        source_revision: row.optional_text("source_revision")?.map(str::to_owned),
        destination_revision: row.optional_text("destination_revision")?.map(str::to_owned),
        size: optional_count(row, "size")?,
        sha512: row.optional_bytes("sha512")?.map(<[u8]>::to_vec),
        verified_at: row.optional_time("verified_at")?,
        recorded_at: row.time("recorded_at")?,
        detail: row.text("detail")?.to_owned(),
    })
}
