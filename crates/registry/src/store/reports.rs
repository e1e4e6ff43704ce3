//! Reports of batches: what a batch had come to at one moment, row by row. A report is made in the transaction that ends its batch, with the
//! counts of that moment. The rows of a long one are written afterwards, page by page; no item that has ended changes before
//! the unfinished reports of its batch are finished, so that every row says what was true when the report was made. Reports do not
//! change after that. Who hears of them is decided elsewhere, by tasks that are enqueued here.

use std::fmt;
use std::str::FromStr;

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_queue::{NewTask, tasks};
use uuid::Uuid;

use super::objects::optional_count;
use crate::batches::Batch;
use crate::items::{self, Item};
use crate::{
    BatchId, BatchState, InstitutionId, ItemId, ItemStatus, RegistryError, ReportId, ReportKind, Scope, Stage,
};

/// The topic of the tasks that finish reports and compose messages about batches and their items.
pub const TOPIC: &str = "batch.report";
/// Attempts that such a task has.
const MAX_ATTEMPTS: u32 = 10;

/// A report with at most so many rows is written whole in the transaction that makes it.
const SHORT: usize = 100;
/// Items of a batch that one statement lists.
pub(super) const PAGE: usize = 1_000;

/// A report of a batch, without its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its identifier.
    pub id: ReportId,
    /// What it reports on.
    pub batch: BatchId,
    /// Whose batch it is.
    pub institution: InstitutionId,
    /// Its number among the reports of the batch, from 1.
    pub number: u64,
    /// What it is.
    pub kind: ReportKind,
    /// Where the batch was.
    pub batch_state: BatchState,
    /// The moment of which it is true.
    pub made_at: Time,
    /// Who asked for it; none for one that was made because the batch ended.
    pub made_by: Option<String>,
    /// Items of the batch.
    pub items: u64,
    /// Those that had succeeded.
    pub succeeded: u64,
    /// Those that had failed.
    pub failed: u64,
    /// Those that had been cancelled.
    pub cancelled: u64,
    /// Those that had been deleted.
    pub deleted: u64,
    /// Those that were held.
    pub held: u64,
    /// Those that waited or were worked on.
    pub at_work: u64,
    /// Rows of it that differ from the last report before.
    pub changed: u64,
    /// Whether all its rows are written.
    pub is_filled: bool,
    /// When its messages were in the outbox.
    pub completed_at: Option<Time>,
}

impl Report {
    /// Items that had not come to a good end and were not given up.
    pub fn unresolved(&self) -> u64 {
        self.failed + self.cancelled + self.held + self.at_work
    }
}

/// What a report says of an item.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReportRow {
    /// The item.
    pub item: ItemId,
    /// Its place among those of the batch, from 1: the row of a manifest. None for the item that reads a manifest.
    pub row: Option<u64>,
    /// What was sent, such as the name of a file.
    pub name: String,
    /// The identifier of the object, `<institution>/<name>`.
    pub object_identifier: String,
    /// The version that was made.
    pub version: Option<u64>,
    /// The local identifiers that the depositor gave.
    pub local_ids: Vec<String>,
    /// The ARK of the object.
    pub ark: Option<String>,
    /// Where it was.
    pub state: ItemStatus,
    /// The stage that it had reached.
    pub stage: Stage,
    /// The code of the first error that was found.
    pub code: Option<String>,
    /// What the item says of itself.
    pub message: Option<String>,
    /// Whether the last report before says something else of it, or nothing.
    pub is_changed: bool,
}

impl ReportRow {
    /// Whether it had not come to a good end and was not given up.
    pub fn is_unresolved(&self) -> bool {
        !matches!(self.state, ItemStatus::Succeeded | ItemStatus::Deleted)
    }
}

/// What a task of [`TOPIC`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A batch that was accepted.
    Queued(BatchId),
    /// A report that is to be finished and told.
    Report(ReportId),
    /// The end of an item at a time, which the payload of the task has.
    Item(ItemId, Time),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued(batch) => write!(f, "queued {batch}"),
            Self::Report(report) => write!(f, "report {report}"),
            Self::Item(item, at) => write!(f, "item {item} {}", at.0),
        }
    }
}

impl FromStr for Subject {
    type Err = ();

    fn from_str(key: &str) -> Result<Self, ()> {
        let mut words = key.split(' ');
        let (kind, id) = (words.next().ok_or(())?, words.next().ok_or(())?.parse::<Uuid>().map_err(drop)?);
        match (kind, words.next()) {
            ("queued", None) => Ok(Self::Queued(BatchId(id))),
            ("report", None) => Ok(Self::Report(ReportId(id))),
            ("item", Some(at)) => Ok(Self::Item(ItemId(id), Time(at.parse().map_err(drop)?))),
            _ => Err(()),
        }
    }
}

/// The end of an item, as the payload of its task has it, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndedItem {
    /// How it ended.
    pub status: ItemStatus,
    /// The stage that it had reached.
    pub stage: String,
    /// The version that it made.
    pub version: Option<u64>,
    /// What it says of itself.
    pub message: Option<String>,
}

/// Longer messages are cut in the payload of a task, in characters.
const LONGEST_MESSAGE: usize = 1_000;

pub(crate) fn enqueue(
    tx: &mut dyn Transaction,
    subject: Subject,
    institution: InstitutionId,
    payload: Vec<u8>,
) -> Result<(), RegistryError> {
    let task = NewTask {
        fair_key: institution.to_string(),
        max_attempts: MAX_ATTEMPTS,
        ..NewTask::new(TOPIC, subject.to_string(), payload)
    };
    tasks::enqueue(tx, &[task])?;
    Ok(())
}

/// Has the end of an item told to the program that the collection names. It is read as it is in this transaction.
pub(crate) fn tell_end(tx: &mut dyn Transaction, item: ItemId) -> Result<(), RegistryError> {
    let item = items::find(tx, Scope::System, item)?;
    let ended = EndedItem {
        status: item.status,
        stage: item.stage.to_string(),
        version: item.version_made(),
        message: item.note.map(|note| note.chars().take(LONGEST_MESSAGE).collect()),
    };
    // Texts and numbers only: it cannot fail.
    let payload = serde_json::to_vec(&ended).unwrap_or_default();
    enqueue(tx, Subject::Item(item.id, item.updated_at), item.institution, payload)
}

/// Makes the report of a batch all items of which have ended: the final one, or an update where there is one already. A short one is
/// written at once. Where it is long, or its collection has it told, a task does the rest. Whether there is one. That items failed may be told
/// to others as well: such a report is among the [`untold`].
pub(crate) fn make_at_end(
    tx: &mut dyn Transaction,
    batch: &Batch,
    state: BatchState,
    has_listeners: bool,
) -> Result<bool, RegistryError> {
    let is_quiet = state == BatchState::Completed && !has_listeners;
    let id = ReportId::new();
    let new = New { state, is_provisional: false, made_by: None, short: SHORT, is_quiet };
    let (is_short, is_complete) = insert(tx, id, batch.id, &new)?;
    if is_short {
        insert_rows(tx, id, batch.id, ItemId(Uuid::nil()))?;
    }
    let needs_task = !is_complete && (has_listeners || !is_short);
    if needs_task {
        enqueue(tx, Subject::Report(id), batch.institution, Vec::new())?;
    }
    Ok(needs_task)
}

/// A report whose messages are not in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untold {
    /// Its identifier.
    pub report: ReportId,
    /// Whether all its rows are written.
    pub is_filled: bool,
}

/// Reports whose messages are not in the outbox, after the report `after` in the order of their identifiers.
pub fn untold(tx: &mut dyn Transaction, after: Option<ReportId>, limit: usize) -> Result<Vec<Untold>, RegistryError> {
    let after = after.unwrap_or(ReportId(Uuid::nil()));
    let rows = tx.query(Statement("reports.untold"), &[after.into(), limit.into()])?;
    rows.iter().map(|row| Ok(Untold { report: ReportId(row.uuid("id")?), is_filled: row.bool("is_filled")? })).collect()
}

/// Whether a task is to finish a report and to tell it: none is, once it was given up or deleted.
pub fn has_task(tx: &mut dyn Transaction, id: ReportId) -> Result<bool, RegistryError> {
    Ok(!tasks::of_key(tx, &Subject::Report(id).to_string())?.is_empty())
}

/// The numbers of the reports of a batch whose messages are not in the outbox.
pub fn untold_of_batch(tx: &mut dyn Transaction, batch: BatchId, limit: usize) -> Result<Vec<u64>, RegistryError> {
    let rows = tx.query(Statement("reports.untold_of_batch"), &[batch.into(), limit.into()])?;
    rows.iter().map(|row| Ok(row.count("number")?)).collect()
}

/// A report that a person asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its identifier.
    pub report: ReportId,
    /// Whether all its rows are written. If not, [`fill`] writes them, or the task that is enqueued with it.
    pub is_filled: bool,
    /// The topics that have new work.
    pub topics: Vec<String>,
}

/// Makes a report that a person asks for: a provisional one while the batch is open, in place of the provisional ones before it; else an
/// update, or the final report where the batch has none. One with 1,000 items or more is not written whole: an update is finished like
/// the report of a batch that has ended. Of an open batch none is made here then: see [`super::provisional_reports`].
///
/// # Errors
/// Nothing has changed since the last report, or the batch was deleted: [`RegistryError::State`]. The report before it is not written:
/// [`RegistryError::ReportUnwritten`]. The batch is open and too long: [`RegistryError::ReportTooLong`].
pub fn make(tx: &mut dyn Transaction, batch: &Batch, who: &str) -> Result<Made, RegistryError> {
    let state = lock_to_report(tx, batch)?;
    finish_unfilled(tx, batch.id)?;
    let is_provisional = !is_ended(state);
    if is_provisional && end_of_page(tx, batch.id, ItemId(Uuid::nil()))?.is_some() {
        return Err(RegistryError::ReportTooLong { batch: batch.id });
    }
    let id = ReportId::new();
    insert(tx, id, batch.id, &New { state, is_provisional, made_by: Some(who), short: 0, is_quiet: false })?;
    let is_filled = fill(tx, id, 1)?;
    let report = get(tx, id)?;
    if is_provisional {
        let values = [batch.id.into(), report.number.into()];
        tx.execute(Statement("reports.drop_provisional_rows"), &values)?;
        tx.execute(Statement("reports.drop_provisional"), &values)?;
        complete(tx, id)?;
        return Ok(Made { report: id, is_filled, topics: Vec::new() });
    }
    if is_filled && report.kind == ReportKind::Update && report.changed == 0 {
        return Err(nothing_new(batch.id));
    }
    enqueue(tx, Subject::Report(id), batch.institution, Vec::new())?;
    Ok(Made { report: id, is_filled, topics: vec![TOPIC.to_owned()] })
}

/// Locks a batch of which a report is to be made; its state.
pub(crate) fn lock_to_report(tx: &mut dyn Transaction, batch: &Batch) -> Result<BatchState, RegistryError> {
    tx.execute(Statement("batches.lock"), &[batch.id.into()])?;
    let state = super::batches::get(tx, Scope::System, batch.id)?.map_or(batch.state, |batch| batch.state);
    if state == BatchState::Deleted {
        return Err(refusal(batch.id, "deleted"));
    }
    Ok(state)
}

/// Why no update is made.
pub fn nothing_new(batch: BatchId) -> RegistryError {
    refusal(batch, "as the last report says, and nothing of it has changed since then")
}

fn refusal(batch: BatchId, state: &str) -> RegistryError {
    let (id, state, act) = (batch.to_string(), state.to_owned(), "make a report of it".to_owned());
    RegistryError::State { what: "batch", id, state, act }
}

/// Whether an update would say something new of a page of the items of a batch behind `after`; and the last of the page, to go on behind.
pub fn is_changed_in_page(
    tx: &mut dyn Transaction,
    batch: BatchId,
    after: Option<ItemId>,
) -> Result<(bool, Option<ItemId>), RegistryError> {
    let after = after.unwrap_or(ItemId(Uuid::nil()));
    let values = [batch.into(), after.into(), PAGE.into()];
    let is_changed = tx.query_one(Statement("reports.changed_in_page"), &values)?.is_some();
    Ok((is_changed, end_of_page(tx, batch, after)?))
}

/// The last item of a page that is full.
pub(super) fn end_of_page(
    tx: &mut dyn Transaction,
    batch: BatchId,
    after: ItemId,
) -> Result<Option<ItemId>, RegistryError> {
    let values = [batch.into(), after.into(), (PAGE - 1).into()];
    let last = tx.query_one(Statement("reports.last_of_page"), &values)?;
    last.map(|row| Ok(ItemId(row.uuid("id")?))).transpose()
}

/// How many numbered rows a page of items has.
pub(super) fn numbered_in_page(tx: &mut dyn Transaction, batch: BatchId, after: ItemId) -> Result<u64, RegistryError> {
    let values = [batch.into(), after.into(), PAGE.into()];
    let counted = tx.query_one(Statement("reports.page_end"), &values)?;
    Ok(counted.map_or(Ok(0), |row| row.count("row_count"))?)
}

/// Whether a batch of this state has ended.
pub fn is_ended(state: BatchState) -> bool {
    matches!(state, BatchState::Completed | BatchState::Failed)
}

/// What is known of a report before its batch is counted.
struct New<'n> {
    state: BatchState,
    is_provisional: bool,
    made_by: Option<&'n str>,
    /// With at most so many rows it is short.
    short: usize,
    /// Whether nothing is left to be done for a short one.
    is_quiet: bool,
}

/// Inserts a report with the counts of its batch. Whether it is short, so that the caller lists its items; whether nothing is left to
/// be done then.
fn insert(
    tx: &mut dyn Transaction,
    id: ReportId,
    batch: BatchId,
    new: &New<'_>,
) -> Result<(bool, bool), RegistryError> {
    let now = tx.now()?;
    let values = [
        id.into(),
        batch.into(),
        new.is_provisional.into(),
        new.state.as_str().into(),
        now.into(),
        new.made_by.into(),
        new.short.into(),
        new.is_quiet.into(),
    ];
    let row = tx.query_one(Statement("reports.insert"), &values)?.ok_or_else(|| not_found(id))?;
    Ok((row.bool("is_filled")?, row.optional_time("completed_at")?.is_some()))
}

/// Lists the items of a report that follow, so many pages of them. Whether all are listed.
pub fn fill(tx: &mut dyn Transaction, id: ReportId, pages: usize) -> Result<bool, RegistryError> {
    let row = tx.query_one(Statement("reports.lock"), &[id.into()])?.ok_or_else(|| not_found(id))?;
    let batch = BatchId(row.uuid("batch_id")?);
    let mut is_filled = row.bool("is_filled")?;
    let mut after = row.optional_uuid("filled_to")?.map_or(ItemId(Uuid::nil()), ItemId);
    let mut listed = 0;
    while !is_filled && listed < pages {
        let last = end_of_page(tx, batch, after)?;
        insert_rows(tx, id, batch, after)?;
        if let Some(last) = last {
            let rows = numbered_in_page(tx, batch, after)?;
            after = last;
            tx.execute(Statement("reports.advance"), &[id.into(), after.into(), rows.into()])?;
        } else {
            tx.execute(Statement("reports.set_filled"), &[id.into()])?;
            is_filled = true;
        }
        listed += 1;
    }
    Ok(is_filled)
}

/// Lists a page of items behind `after`.
fn insert_rows(tx: &mut dyn Transaction, id: ReportId, batch: BatchId, after: ItemId) -> Result<(), RegistryError> {
    tx.execute(Statement("report_rows.insert"), &[id.into(), batch.into(), after.into(), PAGE.into()])?;
    Ok(())
}

/// Finishes the reports of a batch that are not whole: an item of it is about to change.
///
/// # Errors
/// One of them lacks more than a page: [`RegistryError::ReportUnwritten`]. It is written by [`fill`], page by page, in other transactions;
/// then this one can be repeated.
pub(crate) fn finish_unfilled(tx: &mut dyn Transaction, batch: BatchId) -> Result<(), RegistryError> {
    for report in unfilled(tx, batch)? {
        if !fill(tx, report, 1)? {
            return Err(RegistryError::ReportUnwritten { report });
        }
    }
    Ok(())
}

/// Locks a batch of which items that had ended have changed, and looks again for reports that are not whole: another transaction may have
/// inserted one since [`finish_unfilled`]. Its rows would say what is true only now.
///
/// # Errors
/// There is one: [`RegistryError::ReportUnwritten`].
pub(crate) fn refuse_unfilled(tx: &mut dyn Transaction, batch: BatchId) -> Result<(), RegistryError> {
    tx.execute(Statement("batches.lock"), &[batch.into()])?;
    match unfilled(tx, batch)?.into_iter().next() {
        Some(report) => Err(RegistryError::ReportUnwritten { report }),
        None => Ok(()),
    }
}

/// The reports of a batch that are not whole, but for provisional ones.
pub fn unfilled(tx: &mut dyn Transaction, batch: BatchId) -> Result<Vec<ReportId>, RegistryError> {
    let rows = tx.query(Statement("reports.unfilled"), &[batch.into()])?;
    rows.iter().map(|row| Ok(ReportId(row.uuid("id")?))).collect()
}

/// Whether the last report that lists an item says what the item says now; provisional reports do not count.
pub fn says(tx: &mut dyn Transaction, item: &Item) -> Result<bool, RegistryError> {
    let Some(batch) = item.batch else { return Ok(false) };
    let values =
        [batch.into(), item.id.into(), item.status.as_str().into(), item.note.clone().unwrap_or_default().into()];
    Ok(tx.query_one(Statement("reports.says"), &values)?.is_some())
}

/// Records that the messages of a report are in the outbox. Whether they were not there before.
pub fn complete(tx: &mut dyn Transaction, id: ReportId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("reports.complete"), &[id.into(), now.into()])?.is_some())
}

/// A report.
pub fn get(tx: &mut dyn Transaction, id: ReportId) -> Result<Report, RegistryError> {
    let row = tx.query_one(Statement("reports.get"), &[id.into()])?;
    row.as_ref().map(report_row).transpose()?.ok_or_else(|| not_found(id))
}

/// Whether a batch has a report that is not provisional, or was deleted. The batch is locked: it does not end before the transaction of the
/// caller has, so that what is written with a no lies before all that its end brings.
pub fn has_ended_once(tx: &mut dyn Transaction, batch: BatchId) -> Result<bool, RegistryError> {
    tx.execute(Statement("batches.lock"), &[batch.into()])?;
    let is_deleted =
        super::batches::get(tx, Scope::System, batch)?.is_none_or(|batch| batch.state == BatchState::Deleted);
    Ok(is_deleted || last(tx, batch)?.is_some())
}

/// The reports of a batch after the number `after`, in their order.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    batch: BatchId,
    after: u64,
    limit: usize,
) -> Result<Vec<Report>, RegistryError> {
    let values = [batch.into(), scope.value(), after.into(), limit.into()];
    tx.query(Statement("reports.list"), &values)?.iter().map(report_row).collect()
}

/// The last report of a batch that is not provisional.
pub fn last(tx: &mut dyn Transaction, batch: BatchId) -> Result<Option<Report>, RegistryError> {
    tx.query_one(Statement("reports.last"), &[batch.into()])?.as_ref().map(report_row).transpose()
}

/// Which rows of a report are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowFilter {
    /// Only those that changed.
    pub changed: bool,
    /// Only those that are unresolved.
    pub unresolved: bool,
}

/// The rows of a report after the item `after`, in the order of the items.
pub fn rows(
    tx: &mut dyn Transaction,
    id: ReportId,
    filter: RowFilter,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<ReportRow>, RegistryError> {
    let after = after.unwrap_or(ItemId(Uuid::nil()));
    let values = [id.into(), after.into(), filter.changed.into(), filter.unresolved.into(), limit.into()];
    tx.query(Statement("report_rows.list"), &values)?.iter().map(row_of_report).collect()
}

fn not_found(id: ReportId) -> RegistryError {
    RegistryError::NotFound { what: "report", id: id.to_string() }
}

fn report_row(row: &Row) -> Result<Report, RegistryError> {
    Ok(Report {
        id: ReportId(row.uuid("id")?),
        batch: BatchId(row.uuid("batch_id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        number: row.count("number")?,
        kind: row.text("kind")?.parse()?,
        batch_state: row.text("batch_state")?.parse()?,
        made_at: row.time("made_at")?,
        made_by: row.optional_text("made_by")?.map(str::to_owned),
        items: row.count("items")?,
        succeeded: row.count("succeeded")?,
        failed: row.count("failed")?,
        cancelled: row.count("cancelled")?,
        deleted: row.count("deleted")?,
        held: row.count("held")?,
        at_work: row.count("at_work")?,
        changed: row.count("changed")?,
        is_filled: row.bool("is_filled")?,
        completed_at: row.optional_time("completed_at")?,
    })
}

pub(super) fn row_of_report(row: &Row) -> Result<ReportRow, RegistryError> {
    let local_ids = row.optional_text("local_ids")?.unwrap_or("[]");
    Ok(ReportRow {
        item: ItemId(row.uuid("item_id")?),
        row: optional_count(row, "row_number")?,
        name: row.text("name")?.to_owned(),
        object_identifier: row.text("object_identifier")?.to_owned(),
        version: optional_count(row, "version")?,
        local_ids: serde_json::from_str(local_ids)
            .map_err(|_| RegistryError::Corrupt { wanted: "local identifiers", found: local_ids.to_owned() })?,
        ark: row.optional_text("ark")?.map(str::to_owned),
        state: row.text("state")?.parse()?,
        stage: row.text("stage")?.parse()?,
        code: row.optional_text("code")?.map(str::to_owned),
        message: row.optional_text("message")?.map(str::to_owned),
        is_changed: row.bool("is_changed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_task_says_what_it_is_about() {
        let (batch, report, item) = (BatchId::new(), ReportId::new(), ItemId::new());
        for subject in [Subject::Queued(batch), Subject::Report(report), Subject::Item(item, Time(5))] {
            assert_eq!(subject.to_string().parse(), Ok(subject));
            assert!(subject.to_string().parse::<ItemId>().is_err(), "it would be the key of a work item");
        }
        for wrong in [
            "",
            "report",
            "report x",
            "other 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
            "item 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
        ] {
            assert_eq!(wrong.parse::<Subject>(), Err(()), "{wrong}");
        }
    }
}
