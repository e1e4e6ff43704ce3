//! What the registry knows of the stores themselves: which store each name stands for, and what has still to be put into
//! one that could not be reached.

use std::collections::BTreeSet;

use super::audit;
use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::{ContentId, GenerationId, ObjectId, RegistryError, statistics, tenants};

/// A store as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownStore {
    /// Its name in the settings.
    pub name: String,
    /// The id that lies in it.
    pub id: Uuid,
    /// When the name was given to it.
    pub recorded_at: Time,
    /// The store that takes its place, while what lay in it is taken out of the registry.
    pub replacing: Option<Uuid>,
    /// How often its mark had been written when it was last seen; 0 where it was never seen.
    pub mark_revision: u64,
}

/// Every store that was ever used, by name.
pub fn list(tx: &mut dyn Transaction) -> Result<Vec<KnownStore>, RegistryError> {
    let rows = tx.query(Statement("stores.list"), &[])?;
    rows.iter()
        .map(|row| {
            Ok(KnownStore {
                name: row.text("name")?.to_owned(),
                id: row.uuid("store_id")?,
                recorded_at: row.time("recorded_at")?,
                replacing: row.optional_uuid("replacing_id")?,
                mark_revision: row.count("mark_revision")?,
            })
        })
        .collect()
}

/// Records which store a name stands for, where that is not recorded yet; the id that is recorded then.
pub fn record(tx: &mut dyn Transaction, name: &str, id: Uuid) -> Result<Uuid, RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("stores.insert"), &[name.into(), id.into(), now.into()])?;
    let recorded = list(tx)?.into_iter().find(|store| store.name == name);
    Ok(recorded.map_or(id, |store| store.id))
}

/// Notes how often the mark of a store has been written: one that was written less often, under this id, is of older content.
/// Nothing is noted of a store that has been replaced since, or is being replaced.
pub fn note_mark(tx: &mut dyn Transaction, name: &str, id: Uuid, revision: u64) -> Result<(), RegistryError> {
    note_marks(tx, &[(name.to_owned(), id, revision)])
}

/// The same of several stores: name, identifier and revision.
pub fn note_marks(tx: &mut dyn Transaction, marks: &[(String, Uuid, u64)]) -> Result<(), RegistryError> {
    let mut rows = marks.iter().map(|(name, id, revision)| vec![name.into(), (*id).into(), (*revision).into()]);
    tx.execute_each(Statement("stores.marked"), &mut rows)?;
    Ok(())
}

/// A file of an object's `logs/` that has still to be put into a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedLog {
    /// The store.
    pub store: String,
    /// The object.
    pub object: ObjectId,
    /// The file's name.
    pub name: String,
    /// The generation of the object.
    pub generation: GenerationId,
    /// Whose it is, by domain name.
    pub institution: String,
    /// What the file holds.
    pub bytes: Vec<u8>,
    /// When it was to be put.
    pub missed_at: Time,
}

/// Notes that a file has to be put into a store.
pub fn note_log(tx: &mut dyn Transaction, log: &MissedLog) -> Result<(), RegistryError> {
    tx.execute(
        Statement("missed_logs.insert"),
        &[
            (&log.store).into(),
            log.object.into(),
            (&log.name).into(),
            log.generation.into(),
            (&log.institution).into(),
            log.bytes.clone().into(),
            log.missed_at.into(),
        ],
    )?;
    Ok(())
}

/// Notes that a file lies in its store.
pub fn log_is_put(tx: &mut dyn Transaction, store: &str, object: ObjectId, name: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("missed_logs.delete"), &[store.into(), object.into(), name.into()])?;
    Ok(())
}

/// Files that have to be put into a store since `before` or longer, in order of object and name, after `after`.
pub fn missed_logs(
    tx: &mut dyn Transaction,
    store: &str,
    before: Time,
    after: Option<&(ObjectId, String)>,
    limit: usize,
) -> Result<Vec<MissedLog>, RegistryError> {
    let (object, name) = after.map_or((ObjectId(Uuid::nil()), ""), |(object, name)| (*object, name.as_str()));
    let values = [store.into(), before.into(), object.into(), name.into(), limit.into()];
    tx.query(Statement("missed_logs.list"), &values)?.iter().map(missed_log).collect()
}

/// Files of one object that have to be put into some store, in order of name and store, after the name and the store of `after`.
pub fn missed_logs_of(
    tx: &mut dyn Transaction,
    object: ObjectId,
    after: Option<&(String, String)>,
    limit: usize,
) -> Result<Vec<MissedLog>, RegistryError> {
    let (name, store) = after.map_or(("", ""), |(name, store)| (name.as_str(), store.as_str()));
    let values = [object.into(), name.into(), store.into(), limit.into()];
    tx.query(Statement("missed_logs.of_object"), &values)?.iter().map(missed_log).collect()
}

fn missed_log(row: &Row) -> Result<MissedLog, RegistryError> {
    Ok(MissedLog {
        store: row.text("store")?.to_owned(),
        object: ObjectId(row.uuid("object_id")?),
        name: row.text("name")?.to_owned(),
        generation: GenerationId(row.uuid("generation")?),
        institution: row.text("institution")?.to_owned(),
        bytes: row.bytes("bytes")?.to_vec(),
        missed_at: row.time("missed_at")?,
    })
}

/// How many files a store misses, and since when: only stores that miss any.
pub fn missed_log_counts(tx: &mut dyn Transaction) -> Result<Vec<(String, u64, Time)>, RegistryError> {
    let rows = tx.query(Statement("missed_logs.count"), &[])?;
    rows.iter()
        .map(|row| Ok((row.text("store")?.to_owned(), row.count("logs")?, row.time("first_missed_at")?)))
        .collect()
}

/// Objects whose logs in a store could not be read when they were to be copied into another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadLogs {
    /// The store that has the logs.
    pub holder: String,
    /// The store that lacks them.
    pub store: String,
    /// The object.
    pub object: ObjectId,
    /// Since when.
    pub noted_at: Time,
}

/// Notes that the logs of an object in `holder` have still to be copied into `store`.
pub fn note_unread_logs(
    tx: &mut dyn Transaction,
    holder: &str,
    store: &str,
    object: ObjectId,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("unread_logs.insert"), &[holder.into(), store.into(), object.into(), now.into()])?;
    Ok(())
}

/// Notes that the logs of an object in `holder` were copied into `store`, or need not be.
pub fn logs_are_read(
    tx: &mut dyn Transaction,
    holder: &str,
    store: &str,
    object: ObjectId,
) -> Result<(), RegistryError> {
    tx.execute(Statement("unread_logs.delete"), &[holder.into(), store.into(), object.into()])?;
    Ok(())
}

/// Objects whose logs have still to be copied from `holder`, in order of store and object, after `after`.
pub fn unread_logs(
    tx: &mut dyn Transaction,
    holder: &str,
    after: Option<&(String, ObjectId)>,
    limit: usize,
) -> Result<Vec<UnreadLogs>, RegistryError> {
    let (store, object) = after.map_or(("", ObjectId(Uuid::nil())), |(store, object)| (store.as_str(), *object));
    let values = [holder.into(), store.into(), object.into(), limit.into()];
    let rows = tx.query(Statement("unread_logs.list"), &values)?;
    rows.iter()
        .map(|row| {
            Ok(UnreadLogs {
                holder: row.text("holder")?.to_owned(),
                store: row.text("store")?.to_owned(),
                object: ObjectId(row.uuid("object_id")?),
                noted_at: row.time("noted_at")?,
            })
        })
        .collect()
}

/// The fact that counts how often a name was taken from a store or given to another.
const REPLACEMENTS: &str = "stores.replacements";

/// How often a store was taken out of use to be replaced, or recorded in the place of another. Who works with stores
/// remembers it from before it compares them with the registry; a write that carries another number is refused, so that
/// nothing that was seen of a lost store is recorded of the one that has its name.
pub fn replacements(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    Ok(tenants::fact(tx, REPLACEMENTS)?.and_then(|count| count.parse().ok()).unwrap_or(0))
}

fn count_replacement(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    // A stage that ends meanwhile notes nothing of the store that was there; see `versions::claimed_state`.
    tx.query_one(Statement("stores.lock_replacements"), &[])?;
    let count = replacements(tx)? + 1;
    tenants::set_fact(tx, REPLACEMENTS, &count.to_string())
}

/// Begins to put another store in the place of the one recorded under a name: neither is used until
/// [`end_replacing`].
pub fn begin_replacing(tx: &mut dyn Transaction, name: &str, id: Uuid) -> Result<(), RegistryError> {
    let now = tx.now()?;
    count_replacement(tx)?;
    tx.execute(Statement("stores.replace"), &[name.into(), id.into(), now.into()])?;
    Ok(())
}

/// Where taking out what lay in a store goes on: behind this time of the last check and this identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostCursor(Time, Uuid);

impl LostCursor {
    /// Before the first.
    pub const START: Self = Self(Time(i64::MIN), Uuid::nil());
}

/// Takes the next `limit` copies of published contents that lay in a lost store out of the registry. A content that has no
/// other copy which is good, in a store in use and not `refused`, stays recorded as missing, under its key, so that a check
/// names it and a deposit of the same bytes repairs it. Copies of versions that are not published stay, and count as
/// unproved. Where to go on, and how many contents have no other copy; none at the end.
pub fn lose_copies(
    tx: &mut dyn Transaction,
    (store, refused): (&str, &[String]),
    after: LostCursor,
    limit: usize,
) -> Result<Option<(LostCursor, u64)>, RegistryError> {
    let rows = tx.query(Statement("stores.copies"), &[store.into(), after.0.into(), after.1.into(), limit.into()])?;
    let mut cursor = None;
    let mut only_copies = 0;
    let mut objects = BTreeSet::new();
    for row in &rows {
        let content = ContentId(row.uuid("content_id")?);
        objects.insert(ObjectId(row.uuid("object_id")?));
        cursor = Some(LostCursor(row.time("checked_at")?, content.0));
        if tx.execute(Statement("stores.drop_copy"), &[store.into(), content.into(), listed(refused).into()])? == 0 {
            let lost = tx.execute(Statement("stores.lose_copy"), &[store.into(), content.into()])?;
            if lost == 0 {
                tx.execute(Statement("stores.doubt_unpublished"), &[store.into(), content.into()])?;
            }
            only_copies += lost;
        }
    }
    objects.into_iter().try_for_each(|object| statistics::mark(tx, object))?;
    Ok(cursor.map(|cursor| (cursor, only_copies)))
}

/// The same for declarations and inventories of objects, behind [`lose_copies`]: they stay recorded where the object has
/// contents that are recorded as missing, or lies nowhere else; then its logs are to be copied from where it lies.
pub fn lose_object_copies(
    tx: &mut dyn Transaction,
    (store, refused): (&str, &[String]),
    after: LostCursor,
    limit: usize,
) -> Result<Option<LostCursor>, RegistryError> {
    let now = tx.now()?;
    let values = [store.into(), after.0.into(), after.1.into(), limit.into()];
    let rows = tx.query(Statement("stores.object_copies"), &values)?;
    let mut cursor = None;
    for row in &rows {
        let object = ObjectId(row.uuid("object_id")?);
        cursor = Some(LostCursor(row.time("checked_at")?, object.0));
        let values = [store.into(), object.into(), listed(refused).into()];
        if tx.execute(Statement("stores.drop_object_copy"), &values)? == 0 {
            tx.execute(Statement("stores.lose_object_copy"), &[store.into(), object.into()])?;
            tx.execute(Statement("stores.note_logs"), &[store.into(), object.into(), now.into()])?;
        }
    }
    Ok(cursor)
}

/// Names in one text, each between slashes, which no name has.
fn listed(names: &[String]) -> String {
    names.iter().fold("/".to_owned(), |listed, name| listed + name + "/")
}

/// Makes the next `limit` copies in a store count as unverified until they are read, such as those of a store that was
/// not watched for a while. Where to go on; none at the end.
pub fn doubt_copies(
    tx: &mut dyn Transaction,
    store: &str,
    after: LostCursor,
    limit: usize,
) -> Result<Option<LostCursor>, RegistryError> {
    doubt(tx, (Statement("stores.copies"), "content_id", Statement("backfill.doubt_copy")), store, after, limit)
}

/// The same for declarations and inventories of objects.
pub fn doubt_object_copies(
    tx: &mut dyn Transaction,
    store: &str,
    after: LostCursor,
    limit: usize,
) -> Result<Option<LostCursor>, RegistryError> {
    let (list, update) = (Statement("stores.object_copies"), Statement("backfill.doubt_object_copy"));
    doubt(tx, (list, "object_id", update), store, after, limit)
}

fn doubt(
    tx: &mut dyn Transaction,
    (list, id_column, update): (Statement, &'static str, Statement),
    store: &str,
    after: LostCursor,
    limit: usize,
) -> Result<Option<LostCursor>, RegistryError> {
    let rows = tx.query(list, &[store.into(), after.0.into(), after.1.into(), limit.into()])?;
    let mut cursor = None;
    for row in &rows {
        let id = row.uuid(id_column)?;
        cursor = Some(LostCursor(row.time("checked_at")?, id));
        tx.execute(update, &[store.into(), id.into()])?;
    }
    Ok(cursor)
}

/// Records the store that takes the place of a lost one, once nothing is recorded in that one any more. What was to be
/// copied from it is no longer waited for.
pub fn end_replacing(tx: &mut dyn Transaction, name: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    count_replacement(tx)?;
    tx.execute(Statement("unread_logs.delete_of_holder"), &[name.into()])?;
    audit::forget_store(tx, name)?;
    tx.execute(Statement("stores.replaced"), &[name.into(), now.into()])?;
    Ok(())
}
