//! Reading the counts, page by page: by day, as they are at the end of a day, and the checks of fixity, which are counted from their events.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::{Flow, Growth};
use crate::store::checks;
use crate::{EventId, InstitutionId, RegistryError, Scope};

/// Of which counts, and of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The epoch.
    pub epoch: u64,
    /// Of which institutions.
    pub scope: Scope,
}

impl Span {
    /// The first and the last identifier of the institutions.
    fn institutions(self) -> [Uuid; 2] {
        match self.scope {
            Scope::System => [Uuid::nil(), Uuid::max()],
            Scope::Institution(id) => [id.0, id.0],
        }
    }
}

/// What was counted for a day of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayCount {
    /// Days since 1970-01-01 in UTC.
    pub day: i64,
    /// The domain name.
    pub institution: String,
    /// The name of the collection; empty where there is none.
    pub collection: String,
    /// The counts.
    pub flow: Flow,
    /// Where a listing goes on.
    pub cursor: DayCursor,
}

/// Where a listing by day goes on: behind this day, institution and collection.
pub type DayCursor = (i64, Uuid, Uuid);

/// The days from one to before another, in order, behind `after`.
pub fn days(
    tx: &mut dyn Transaction,
    span: Span,
    (from, to): (i64, i64),
    after: Option<DayCursor>,
    limit: usize,
) -> Result<Vec<DayCount>, RegistryError> {
    let [first, last] = span.institutions();
    let (day, institution, collection) = after.unwrap_or((i64::MIN, Uuid::nil(), Uuid::nil()));
    let rows = tx.query(
        Statement("statistics.days"),
        &[
            span.epoch.into(),
            from.into(),
            to.into(),
            first.into(),
            last.into(),
            day.into(),
            institution.into(),
            collection.into(),
            limit.into(),
        ],
    )?;
    rows.iter().map(day_row).collect()
}

fn day_row(row: &Row) -> Result<DayCount, RegistryError> {
    let day = row.integer("day")?;
    Ok(DayCount {
        day,
        institution: row.text("institution")?.to_owned(),
        collection: row.text("collection")?.to_owned(),
        flow: Flow {
            versions: row.integer("versions")?,
            objects: row.integer("objects")?,
            files: row.integer("files")?,
            bytes: row.integer("bytes")?,
            restorations: row.integer("restorations")?,
            restored_bytes: row.integer("restored_bytes")?,
            deleted_objects: row.integer("deleted_objects")?,
            deleted_files: row.integer("deleted_files")?,
            deleted_bytes: row.integer("deleted_bytes")?,
        },
        cursor: (day, row.uuid("institution_id")?, row.uuid("collection_id")?),
    })
}

/// What a store has of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageCount {
    /// The domain name.
    pub institution: String,
    /// The name of the collection; empty where there is none.
    pub collection: String,
    /// The store.
    pub store: String,
    /// The storage class; empty where the store has none.
    pub class: String,
    /// How much.
    pub growth: Growth,
}

/// What stores have at the end of a day.
pub fn storage_at(tx: &mut dyn Transaction, span: Span, day: i64) -> Result<Vec<StorageCount>, RegistryError> {
    let [first, last] = span.institutions();
    let values = [span.epoch.into(), day.into(), first.into(), last.into()];
    let count = |row: &Row| {
        Ok(StorageCount {
            institution: row.text("institution")?.to_owned(),
            collection: row.text("collection")?.to_owned(),
            store: row.text("store")?.to_owned(),
            class: row.text("class")?.to_owned(),
            growth: Growth {
                objects: row.integer("objects")?,
                files: row.integer("files")?,
                bytes: row.integer("bytes")?,
            },
        })
    };
    tx.query(Statement("statistics.storage_at"), &values)?.iter().map(count).collect()
}

/// What is kept of a format in a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatCount {
    /// The domain name.
    pub institution: String,
    /// The name of the collection; empty where there is none.
    pub collection: String,
    /// The identifier in PRONOM; empty where it is not known.
    pub puid: String,
    /// The type; empty where it is not known.
    pub mime: String,
    /// Contents.
    pub files: i64,
    /// Their size.
    pub bytes: i64,
}

/// What is kept at the end of a day by format, each content once.
pub fn formats_at(tx: &mut dyn Transaction, span: Span, day: i64) -> Result<Vec<FormatCount>, RegistryError> {
    let [first, last] = span.institutions();
    let values = [span.epoch.into(), day.into(), first.into(), last.into()];
    let count = |row: &Row| {
        Ok(FormatCount {
            institution: row.text("institution")?.to_owned(),
            collection: row.text("collection")?.to_owned(),
            puid: row.text("puid")?.to_owned(),
            mime: row.text("mime")?.to_owned(),
            files: row.integer("files")?,
            bytes: row.integer("bytes")?,
        })
    };
    tx.query(Statement("statistics.formats_at"), &values)?.iter().map(count).collect()
}

/// Bytes that are kept of what an institution has deposited, of one copy of each content.
pub fn kept_of_institution(
    tx: &mut dyn Transaction,
    epoch: u64,
    institution: InstitutionId,
) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("statistics.kept_of_institution"), &[epoch.into(), institution.into()])?;
    let bytes = row.map_or(Ok(0), |row| row.integer("bytes"))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// By how much a store has grown on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrowthRow {
    /// Days since 1970-01-01 in UTC.
    pub day: i64,
    /// The domain name.
    pub institution: String,
    /// The name of the collection; empty where there is none.
    pub collection: String,
    /// The store.
    pub store: String,
    /// The storage class; empty where the store has none.
    pub class: String,
    /// Bytes.
    pub bytes: i64,
    /// Where a listing goes on.
    pub cursor: GrowthCursor,
}

/// Where a listing of growth goes on: behind this day, institution, collection, store and class.
pub type GrowthCursor = (i64, Uuid, Uuid, String, String);

/// By how much stores have grown, on the days before one, in order, behind `after`.
pub fn growth(
    tx: &mut dyn Transaction,
    span: Span,
    before: i64,
    after: Option<GrowthCursor>,
    limit: usize,
) -> Result<Vec<GrowthRow>, RegistryError> {
    let [first, last] = span.institutions();
    let start = || (i64::MIN, Uuid::nil(), Uuid::nil(), String::new(), String::new());
    let (day, institution, collection, store, class) = after.unwrap_or_else(start);
    let rows = tx.query(
        Statement("statistics.growth"),
        &[
            span.epoch.into(),
            before.into(),
            first.into(),
            last.into(),
            day.into(),
            institution.into(),
            collection.into(),
            store.into(),
            class.into(),
            limit.into(),
        ],
    )?;
    let growth = |row: &Row| {
        let text = |column| Ok::<_, RegistryError>(row.text(column)?.to_owned());
        let (day, store, class) = (row.integer("day")?, text("store")?, text("class")?);
        Ok(GrowthRow {
            day,
            institution: text("institution")?,
            collection: text("collection")?,
            store: store.clone(),
            class: class.clone(),
            bytes: row.integer("bytes")?,
            cursor: (day, row.uuid("institution_id")?, row.uuid("collection_id")?, store, class),
        })
    };
    rows.iter().map(growth).collect()
}

/// Checks that one event records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixityRow {
    /// The domain name.
    pub institution: String,
    /// When.
    pub time: Time,
    /// The store, where the event names one.
    pub store: String,
    /// Copies that were read and have the recorded digests.
    pub passed: u64,
    /// Copies that have not, or could not be found.
    pub failed: u64,
    /// Where a listing goes on.
    pub cursor: (Time, EventId),
}

/// The checks of an institution from a time to before another, in order, behind `after`.
pub fn fixity(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    (from, to): (Time, Time),
    after: Option<(Time, EventId)>,
    limit: usize,
) -> Result<Vec<FixityRow>, RegistryError> {
    let (time, id) = after.unwrap_or((Time(i64::MIN), EventId(Uuid::nil())));
    let values = [institution.into(), from.into(), to.into(), time.into(), id.into(), limit.into()];
    tx.query(Statement("statistics.fixity"), &values)?.iter().map(fixity_row).collect()
}

fn fixity_row(row: &Row) -> Result<FixityRow, RegistryError> {
    let (time, is_passed) = (row.time("time")?, row.text("outcome")? == "success");
    let listed = row.optional_text("components")?.and_then(checks::copies_of);
    let (store, copies) = listed.unwrap_or_default();
    let copies = copies.max(1);
    let named = row.optional_text("store")?.map(str::to_owned);
    Ok(FixityRow {
        institution: row.text("institution")?.to_owned(),
        time,
        store: named.unwrap_or(store),
        passed: if is_passed { copies } else { 0 },
        failed: if is_passed { 0 } else { copies },
        cursor: (time, EventId(row.uuid("id")?)),
    })
}
