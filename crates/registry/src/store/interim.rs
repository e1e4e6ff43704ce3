//! What an open work item knows of its deposit, row by row, and where its bytes lie in staging. Interim rows go when the item
//! ends.

use std::collections::BTreeMap;

use jiff::Timestamp;
use strongroom_database::{Row, Statement, Time, Transaction, Value};
use strongroom_digest::Digest;
use uuid::Uuid;

pub use super::space::{
    Demand, Needed, Provision, SpaceHolder, SpaceOfStatus, by_status, failed_before, give_back, has_returned,
    has_unrecorded, kept, needed_at_least, provision, reclaim_failed, reserve, reserved, return_unused, set_kept,
    set_unrecorded, shrink, waited_since, waiting_for,
};
use crate::objects::Object;
use crate::versions::ROWS_AT_ONCE;
use crate::work::{self, Claim};
use crate::{ContentId, Decision, Digests, FileId, Format, ItemId, RegistryError};

/// One file of a deposit.
#[derive(Debug, Clone)]
pub struct InterimFile {
    /// Relative to the bag.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// All four.
    pub digests: Digests,
    /// When it was last modified, by the depositor's word.
    pub modified: Option<Timestamp>,
    /// Under which key its bytes lie in staging.
    pub staging_key: String,
    /// From which byte on.
    pub staging_offset: u64,
    /// What it is.
    pub format: Format,
    /// What `compare` found.
    pub decision: Option<Decision>,
    /// The file it becomes or is.
    pub file: Option<FileId>,
    /// The content it becomes or is.
    pub content: Option<ContentId>,
}

/// The totals of a deposit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Payload files among them.
    pub payload_files: u64,
    /// Files at paths that the object does not have.
    pub new: u64,
    /// Files whose bytes differ from those kept.
    pub changed: u64,
}

/// Puts rows for files that `fetch` has staged, with their formats where it could tell; at most 1,000 at a time.
pub fn put_files(tx: &mut dyn Transaction, claim: &Claim, files: &[InterimFile]) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    tx.execute_each(
        Statement("interim.file_put"),
        &mut files.iter().map(|file| {
            let mut values = vec![
                claim.item.into(),
                (&file.path).into(),
                file.size.into(),
                file.digests.md5.as_bytes().into(),
                file.digests.sha1.as_bytes().into(),
                file.digests.sha256.as_bytes().into(),
                file.digests.sha512.as_bytes().into(),
                file.modified.map(Time::from).into(),
                (&file.staging_key).into(),
                file.staging_offset.into(),
            ];
            values.extend(file.format.values());
            values
        }),
    )?;
    Ok(())
}

/// Rows in byte order of the path, after `after`.
pub fn files_after(
    tx: &mut dyn Transaction,
    item: ItemId,
    after: &str,
    limit: usize,
) -> Result<Vec<InterimFile>, RegistryError> {
    tx.query(Statement("interim.files_after"), &[item.into(), after.into(), limit.into()])?
        .iter()
        .map(file_row)
        .collect()
}

/// One row.
pub fn file(tx: &mut dyn Transaction, item: ItemId, path: &str) -> Result<Option<InterimFile>, RegistryError> {
    tx.query_one(Statement("interim.file"), &[item.into(), path.into()])?.as_ref().map(file_row).transpose()
}

/// Notes formats.
pub fn set_formats<'a>(
    tx: &mut dyn Transaction,
    claim: &Claim,
    formats: &mut dyn Iterator<Item = (&'a str, &'a Format)>,
) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    tx.execute_each(
        Statement("interim.set_format"),
        &mut formats.map(|(path, format)| {
            let mut values: Vec<Value> = vec![claim.item.into(), path.into()];
            values.extend(format.values());
            values
        }),
    )?;
    Ok(())
}

/// Notes what `compare` found, with the identifiers fixed for what is new.
pub fn set_decisions(tx: &mut dyn Transaction, claim: &Claim, files: &[InterimFile]) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    write_decisions(tx, claim.item, files)
}

/// The same for a caller that has checked the fence in the same transaction.
pub fn write_decisions(tx: &mut dyn Transaction, item: ItemId, files: &[InterimFile]) -> Result<(), RegistryError> {
    tx.execute_each(
        Statement("interim.set_decision"),
        &mut files.iter().map(|file| {
            vec![
                item.into(),
                (&file.path).into(),
                file.decision.map(Decision::as_str).into(),
                file.file.into(),
                file.content.into(),
            ]
        }),
    )?;
    Ok(())
}

/// Notes which contents of an object's published versions the files of a page have, whatever was decided of them.
pub fn match_kept(
    tx: &mut dyn Transaction,
    claim: &Claim,
    page: &[InterimFile],
    object: &Object,
) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(()) };
    let parameters = [
        claim.item.into(),
        (&first.path).into(),
        (&last.path).into(),
        object.id.into(),
        object.generation.into(),
        object.head.into(),
    ];
    tx.execute(Statement("interim.match_kept"), &parameters)?;
    Ok(())
}

/// Forgets which paths the version of an item does not have any more.
pub fn clear_removals(tx: &mut dyn Transaction, claim: &Claim) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    tx.execute(Statement("interim.clear_removals"), &[claim.item.into()])?;
    Ok(())
}

/// Notes files that the version of an item does not have any more, with their logical paths; at most 1,000 at a time.
pub fn add_removals(tx: &mut dyn Transaction, claim: &Claim, files: &[(FileId, String)]) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    for (file, path) in files {
        tx.execute(Statement("interim.add_removal"), &[claim.item.into(), path.into(), (*file).into()])?;
    }
    Ok(())
}

/// How many files the version of an item does not have any more.
pub fn count_removals(tx: &mut dyn Transaction, item: ItemId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("interim.count_removals"), &[item.into()])?;
    Ok(row.map(|row| row.count("removals")).transpose()?.unwrap_or_default())
}

/// The logical paths of the files that the version of an item does not have any more, in byte order, after `after`.
pub fn removals(
    tx: &mut dyn Transaction,
    item: ItemId,
    after: &str,
    limit: usize,
) -> Result<Vec<String>, RegistryError> {
    let rows = tx.query(Statement("interim.removals_after"), &[item.into(), after.into(), limit.into()])?;
    rows.iter().map(|row| Ok(row.text("path")?.to_owned())).collect()
}

/// Counts and sums over the rows.
pub fn totals(tx: &mut dyn Transaction, item: ItemId) -> Result<Totals, RegistryError> {
    let Some(row) = tx.query_one(Statement("interim.totals"), &[item.into()])? else { return Ok(Totals::default()) };
    Ok(Totals {
        files: row.count("files")?,
        bytes: row.count("bytes")?,
        payload_files: row.count("payload_files")?,
        new: row.count("new_files")?,
        changed: row.count("changed_files")?,
    })
}

/// Drops the facts of an item.
pub(crate) fn clear_facts(tx: &mut dyn Transaction, item: ItemId) -> Result<(), RegistryError> {
    tx.execute(Statement("interim.clear_facts"), &[item.into()])?;
    Ok(())
}

/// Drops the facts of an item, and its reservation, for one that stages no bytes.
pub fn clear(tx: &mut dyn Transaction, item: ItemId) -> Result<(), RegistryError> {
    clear_facts(tx, item)?;
    tx.execute(Statement("space.release"), &[item.into()])?;
    Ok(())
}

/// Where the bytes of an item lie in staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagingPlace {
    /// Bytes lie under `<item>/<id>/`. None where they were staged before places had identifiers: under `<item>/`.
    pub id: Option<Uuid>,
    /// Whether they are being removed: nothing of them is used any more, and nothing is added.
    pub is_discarded: bool,
}

/// Where the bytes of an item lie in staging; none where no space is reserved for it.
pub fn staging_place(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<StagingPlace>, RegistryError> {
    tx.query_one(Statement("space.of_item"), &[item.into()])?.as_ref().map(place_row).transpose()
}

pub(super) fn place_row(row: &Row) -> Result<StagingPlace, RegistryError> {
    Ok(StagingPlace { id: row.optional_uuid("staging_id")?, is_discarded: row.bool("is_discarded")? })
}

/// Marks what an item has staged as being removed, and drops its facts, so that no stage goes on with it; where that lies.
/// Only then are the bytes removed. The caller checks its authority in the same transaction.
pub fn discard_staging(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<StagingPlace>, RegistryError> {
    tx.execute(Statement("interim.clear_facts"), &[item.into()])?;
    tx.query_one(Statement("space.discard"), &[item.into()])?.as_ref().map(place_row).transpose()
}

/// Drops up to [`ROWS_AT_ONCE`] rows of staged files of an item; when all are gone, its reservation with its place. Whether
/// all are gone. Nothing changes where the item has another place by now. The caller checks its authority in the same
/// transaction.
pub fn drop_staged_rows(
    tx: &mut dyn Transaction,
    item: ItemId,
    of: Option<StagingPlace>,
) -> Result<bool, RegistryError> {
    if staging_place(tx, item)? != of {
        return Ok(true);
    }
    let dropped = tx.execute(Statement("interim.clear_files"), &[item.into(), ROWS_AT_ONCE.into()])?;
    if dropped == ROWS_AT_ONCE as u64 {
        return Ok(false);
    }
    tx.execute(Statement("interim.clear_removals"), &[item.into()])?;
    tx.execute(Statement("space.release"), &[item.into()])?;
    Ok(true)
}

/// Whether an item has more rows of staged files than one transaction drops.
pub fn has_many_rows(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    let values = [item.into(), (ROWS_AT_ONCE - 1).into()];
    Ok(tx.query_one(Statement("interim.has_more_files"), &values)?.is_some())
}

/// A named fact of an item.
pub fn fact(tx: &mut dyn Transaction, item: ItemId, name: &str) -> Result<Option<String>, RegistryError> {
    let row = tx.query_one(Statement("interim.fact"), &[item.into(), name.into()])?;
    Ok(row.map(|row| row.text("value").map(str::to_owned)).transpose()?)
}

/// Sets a named fact of an item.
pub fn set_fact(tx: &mut dyn Transaction, claim: &Claim, name: &str, value: &str) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    tx.execute(Statement("interim.set_fact"), &[claim.item.into(), name.into(), value.into()])?;
    Ok(())
}

/// Everything that the stages of an item left behind, by name.
#[derive(Debug, Clone, Default)]
pub struct Facts(BTreeMap<String, String>);

impl Facts {
    /// One of them.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The facts of an item.
pub fn facts(tx: &mut dyn Transaction, item: ItemId) -> Result<Facts, RegistryError> {
    let rows = tx.query(Statement("interim.facts"), &[item.into()])?;
    let of_row = |row: &Row| Ok((row.text("name")?.to_owned(), row.text("value")?.to_owned()));
    Ok(Facts(rows.iter().map(of_row).collect::<Result<_, RegistryError>>()?))
}

/// A fact of an item as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFact {
    /// Its name.
    pub name: String,
    /// The beginning of its value.
    pub value: String,
    /// How many characters the whole value has.
    pub length: u64,
}

/// At most `limit` facts of an item, by their names, with at most `most` characters of each.
pub fn shown_facts(
    tx: &mut dyn Transaction,
    item: ItemId,
    limit: usize,
    most: usize,
) -> Result<Vec<ShownFact>, RegistryError> {
    let rows = tx.query(Statement("interim.shown_facts"), &[item.into(), limit.into(), most.into()])?;
    let of_row = |row: &Row| {
        Ok(ShownFact {
            name: row.text("name")?.to_owned(),
            value: row.text("value")?.to_owned(),
            length: row.count("length")?,
        })
    };
    rows.iter().map(of_row).collect()
}

/// Sets facts of an item, for a caller that has checked the fence.
pub(crate) fn put_facts(
    tx: &mut dyn Transaction,
    item: ItemId,
    facts: &[(String, String)],
) -> Result<(), RegistryError> {
    if !facts.is_empty() {
        let mut rows = facts.iter().map(|(name, value)| vec![item.into(), name.into(), value.into()]);
        tx.execute_each(Statement("interim.set_fact"), &mut rows)?;
    }
    Ok(())
}

/// Which of these paths are files of an item's deposit, in their order.
pub fn are_files(
    tx: &mut dyn Transaction,
    item: ItemId,
    paths: &mut dyn Iterator<Item = &str>,
) -> Result<Vec<bool>, RegistryError> {
    let rows = tx.query_many(Statement("interim.is_file"), &mut paths.map(|path| vec![item.into(), path.into()]))?;
    Ok(rows.iter().map(Option::is_some).collect())
}

/// Whether staging space is reserved for an item, and what is staged there can be used.
pub fn has_reservation(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    Ok(staging_place(tx, item)?.is_some_and(|place| !place.is_discarded))
}

fn file_row(row: &Row) -> Result<InterimFile, RegistryError> {
    Ok(InterimFile {
        path: row.text("path")?.to_owned(),
        size: row.count("size")?,
        digests: Digests {
            md5: digest(row, "md5")?,
            sha1: digest(row, "sha1")?,
            sha256: digest(row, "sha256")?,
            sha512: digest(row, "sha512")?,
        },
        modified: row.optional_time("modified")?.map(Time::timestamp),
        staging_key: row.text("staging_key")?.to_owned(),
        staging_offset: row.count("staging_offset")?,
        decision: row.optional_text("decision")?.map(str::parse).transpose()?,
        file: row.optional_uuid("file_id")?.map(FileId),
        content: row.optional_uuid("content_id")?.map(ContentId),
        format: Format::of_row(row)?,
    })
}

/// A digest column.
pub(crate) fn digest(row: &Row, column: &'static str) -> Result<Digest, RegistryError> {
    let bytes = row.bytes(column)?;
    Digest::from_bytes(bytes)
        .map_err(|_| RegistryError::Corrupt { wanted: "a digest", found: format!("{} bytes", bytes.len()) })
}
