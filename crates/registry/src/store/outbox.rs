//! The outbox: messages to people outside, put there in the transaction that gives the reason. Delivery is at least once, for
//! each institution in the order in which they were put there; [`Message::key`] stays the same in each attempt.

use serde_json::Value;
use strongroom_database::{CLOCK_TOLERANCE, Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::{BatchId, InstitutionId, ItemId, RegistryError};

/// The kind of a message that an invalid upload is going to be removed.
pub const UPLOAD_EXPIRES: &str = "upload_expires";
/// The kind of a message that EZID is to have what a new version says of its object.
pub const EZID: &str = "ezid";
/// The kind of a message that a deposit was ingested.
pub const INGESTED: &str = "ingested";

/// The kind of a message that is sent by mail.
pub const MAIL: &str = "mail";
/// The kind of a message that is posted to a URL.
pub const CALLBACK: &str = "callback";

/// What the key of a message begins with that a person removed.
const REMOVED: &str = "removed ";

/// Longer errors are cut, in characters: parts of them come from stores and servers.
const LONGEST_ERROR: usize = 1_000;

/// What identifies a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId(pub Uuid);

/// A message of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its identifier.
    pub id: Uuid,
    /// Its place in the order of the outbox: a message that was put there later has a greater number.
    pub number: u64,
    /// The institution that it is for.
    pub institution: InstitutionId,
    /// Its domain name.
    pub institution_identifier: String,
    /// The work item that it is about.
    pub item: Option<ItemId>,
    /// The batch that it is about.
    pub batch: Option<BatchId>,
    /// Names what is reported; no two messages have the same.
    pub key: String,
    /// What kind of message it is.
    pub kind: String,
    /// What it says, as JSON. In lists a long one is without the attachment of a mail; [`get`] and [`by_key`] read all of it.
    pub payload: String,
    /// When it was put into the outbox.
    pub created_at: Time,
    /// When it was delivered, or a person removed it.
    pub delivered_at: Option<Time>,
    /// Since when it is not attempted any more, because it cannot be delivered as things are.
    pub undeliverable_at: Option<Time>,
    /// Attempts to deliver it that failed.
    pub attempts: u64,
    /// When the next attempt is to be made; none before the first one failed.
    pub next_attempt_at: Option<Time>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// What the channel noted of a part of the delivery, as JSON.
    pub progress: Option<String>,
}

impl Message {
    /// Whether a person removed it, so that it was never delivered.
    pub fn is_removed(&self) -> bool {
        self.key.starts_with(REMOVED)
    }

    /// The key under which it was put into the outbox, also of one that was removed.
    pub fn first_key(&self) -> &str {
        let behind = self.key.strip_prefix(REMOVED).and_then(|text| text.split_once(' '));
        behind.map_or(self.key.as_str(), |(_, key)| key)
    }
}

/// Inserts a message to be delivered; a key that the outbox has already changes nothing.
pub fn insert(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    item: impl Into<Option<ItemId>>,
    key: &str,
    kind: &str,
    payload: &str,
) -> Result<(), RegistryError> {
    insert_about(tx, About { institution, item: item.into(), batch: None }, key, kind, payload)
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The institution that it is for.
    pub institution: InstitutionId,
    /// The work item.
    pub item: Option<ItemId>,
    /// The batch: the message is among those that are shown with it.
    pub batch: Option<BatchId>,
}

/// The same for a message that may be about a batch.
pub fn insert_about(
    tx: &mut dyn Transaction,
    about: About,
    key: &str,
    kind: &str,
    payload: &str,
) -> Result<(), RegistryError> {
    let (id, now) = (Uuid::now_v7(), tx.now()?);
    let values = [
        id.into(),
        about.institution.into(),
        about.item.into(),
        key.into(),
        kind.into(),
        payload.into(),
        now.into(),
        about.batch.into(),
    ];
    tx.execute(Statement("outbox.insert"), &values)?;
    Ok(())
}

/// The message with an identifier.
pub fn get(tx: &mut dyn Transaction, id: Uuid) -> Result<Option<Message>, RegistryError> {
    tx.query_one(Statement("outbox.get"), &[id.into()])?.as_ref().map(message_row).transpose()
}

/// The message with a key.
pub fn by_key(tx: &mut dyn Transaction, key: &str) -> Result<Option<Message>, RegistryError> {
    tx.query_one(Statement("outbox.by_key"), &[key.into()])?.as_ref().map(message_row).transpose()
}

/// Keeps an undelivered message from the background task until a time: the caller delivers it.
pub fn reserve(tx: &mut dyn Transaction, id: Uuid, until: Time) -> Result<(), RegistryError> {
    tx.execute(Statement("outbox.reserve"), &[id.into(), until.into()])?;
    Ok(())
}

/// Records what a channel did of a delivery that is not complete, so that another attempt does only the rest.
pub fn set_progress(tx: &mut dyn Transaction, id: Uuid, progress: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("outbox.progress"), &[id.into(), progress.into()])?;
    Ok(())
}

/// The first institution after `after`, in the order of the identifiers, that has undelivered messages of a kind.
pub fn next_institution(
    tx: &mut dyn Transaction,
    kind: &str,
    after: InstitutionId,
) -> Result<Option<InstitutionId>, RegistryError> {
    let row = tx.query_one(Statement("outbox.next_institution"), &[kind.into(), after.into()])?;
    Ok(row.map(|row| row.uuid("institution_id")).transpose()?.map(InstitutionId))
}

/// Messages of a kind to an institution that were not delivered, in order, after the number `after`.
pub fn undelivered(
    tx: &mut dyn Transaction,
    kind: &str,
    institution: InstitutionId,
    after: u64,
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    let values = [kind.into(), institution.into(), after.into(), limit.into()];
    let rows = tx.query(Statement("outbox.undelivered"), &values)?;
    listed(tx, &rows)
}

/// Records that a message was delivered, or is about nothing any more.
pub fn set_delivered(tx: &mut dyn Transaction, id: Uuid) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("outbox.delivered"), &[id.into(), now.into()])?;
    Ok(())
}

/// Ends a message that is not to be delivered. Its key is free again: where what the message is about goes on, a new one is put.
pub fn set_removed(tx: &mut dyn Transaction, message: &Message) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let key = format!("{REMOVED}{} {}", message.id, message.key);
    tx.execute(Statement("outbox.removed"), &[message.id.into(), now.into(), key.into()])?;
    Ok(())
}

/// Records that an attempt to deliver a message failed, and when the next is to be made.
pub fn set_failed(tx: &mut dyn Transaction, id: Uuid, error: &str, next_attempt_at: Time) -> Result<(), RegistryError> {
    let error: String = error.chars().take(LONGEST_ERROR).collect();
    tx.execute(Statement("outbox.failed"), &[id.into(), next_attempt_at.into(), error.into()])?;
    Ok(())
}

/// Records that a message cannot be delivered as things are, and why: it is not attempted any more.
pub fn set_undeliverable(tx: &mut dyn Transaction, id: Uuid, reason: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let reason: String = reason.chars().take(LONGEST_ERROR).collect();
    tx.execute(Statement("outbox.set_undeliverable"), &[id.into(), now.into(), reason.into()])?;
    Ok(())
}

/// A message that is undeliverable.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is no such message; [`RegistryError::State`] where it is not undeliverable.
pub fn find_undeliverable(tx: &mut dyn Transaction, id: Uuid, act: &str) -> Result<Message, RegistryError> {
    let message = get(tx, id)?.ok_or_else(|| RegistryError::NotFound { what: "message", id: id.to_string() })?;
    if message.undeliverable_at.is_none() {
        let state = match message.delivered_at {
            Some(_) if message.is_removed() => "removed",
            Some(_) => "delivered",
            None => "still to be attempted",
        };
        let (id, state, act) = (id.to_string(), state.to_owned(), act.to_owned());
        return Err(RegistryError::State { what: "message", id, state, act });
    }
    Ok(message)
}

/// Has an undeliverable message attempted again; its attempts are counted anew.
pub fn send_again(tx: &mut dyn Transaction, id: Uuid) -> Result<(), RegistryError> {
    tx.execute(Statement("outbox.send_again"), &[id.into()])?;
    Ok(())
}

/// Has an undelivered message attempted again with another payload, and with another note of its channel.
pub fn replace(tx: &mut dyn Transaction, id: Uuid, payload: &str, progress: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("outbox.replace"), &[id.into(), payload.into(), progress.into()])?;
    Ok(())
}

/// The messages of a kind that are still attempted, in order, after the number `after`.
pub fn attempted(
    tx: &mut dyn Transaction,
    kind: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    let values = [kind.into(), after.into(), limit.into()];
    let rows = tx.query(Statement("outbox.attempted"), &values)?;
    listed(tx, &rows)
}

/// A page of messages about a batch, on one side of a number.
fn page_of_batch(
    tx: &mut dyn Transaction,
    statement: Statement,
    (batch, number): (BatchId, u64),
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    let values = [batch.into(), number.into(), limit.into()];
    let rows = tx.query(statement, &values)?;
    listed(tx, &rows)
}

/// The messages about a batch, the newest first, before the number `before`: of the callbacks about its items only those that were not
/// delivered.
pub fn of_batch(
    tx: &mut dyn Transaction,
    batch: BatchId,
    before: u64,
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    page_of_batch(tx, Statement("outbox.of_batch"), (batch, before), limit)
}

/// How many messages of a kind there are about a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// The kind.
    pub kind: String,
    /// All of them.
    pub messages: u64,
    /// Those that were delivered.
    pub delivered: u64,
    /// Of these, the mails that some of their recipients were refused.
    pub incomplete: u64,
    /// Those that a person removed.
    pub removed: u64,
    /// Those that need review.
    pub undeliverable: u64,
}

/// How many messages of each kind there are about a batch.
pub fn counts_of_batch(tx: &mut dyn Transaction, batch: BatchId) -> Result<Vec<Counts>, RegistryError> {
    let row = |row: &Row| {
        Ok(Counts {
            kind: row.text("kind")?.to_owned(),
            messages: row.count("messages")?,
            delivered: row.count("delivered")?,
            incomplete: row.count("incomplete")?,
            removed: row.count("removed")?,
            undeliverable: row.count("undeliverable")?,
        })
    };
    tx.query(Statement("outbox.counts_of_batch"), &[batch.into()])?.iter().map(row).collect()
}

/// The messages about a batch that are undeliverable, in order, after the number `after`.
pub fn undeliverable_of_batch(
    tx: &mut dyn Transaction,
    batch: BatchId,
    after: u64,
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    page_of_batch(tx, Statement("outbox.undeliverable_of_batch"), (batch, after), limit)
}

/// The mails about a batch that were not delivered, or were refused for some of their recipients, in order, after the number `after`; none
/// that a person removed.
pub fn undelivered_mails_of_batch(
    tx: &mut dyn Transaction,
    batch: BatchId,
    after: u64,
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    page_of_batch(tx, Statement("outbox.undelivered_mails_of_batch"), (batch, after), limit)
}

/// The first messages of a kind whose last attempt failed, and that are attempted again.
pub fn failing(tx: &mut dyn Transaction, kind: &str, limit: usize) -> Result<Vec<Message>, RegistryError> {
    let rows = tx.query(Statement("outbox.failing"), &[kind.into(), limit.into()])?;
    listed(tx, &rows)
}

/// How many messages of a kind there are whose last attempt failed, and that are attempted again.
pub fn count_failing(tx: &mut dyn Transaction, kind: &str) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("outbox.count_failing"), &[kind.into()])?;
    Ok(row.map_or(Ok(0), |row| row.count("messages"))?)
}

/// The messages that are undeliverable, in order, after the number `after`.
pub fn undeliverable(tx: &mut dyn Transaction, after: u64, limit: usize) -> Result<Vec<Message>, RegistryError> {
    let rows = tx.query(Statement("outbox.undeliverable"), &[after.into(), limit.into()])?;
    listed(tx, &rows)
}

/// How many messages are undeliverable.
pub fn count_undeliverable(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("outbox.count_undeliverable"), &[])?;
    Ok(row.map_or(Ok(0), |row| row.count("messages"))?)
}

/// How many messages of a kind that were put into the outbox before `before` are undelivered, and the error of the first of
/// them that has one. Those that were put there by a clock which was ahead are counted too: their age is not known.
pub fn overdue(tx: &mut dyn Transaction, kind: &str, before: Time) -> Result<(u64, Option<String>), RegistryError> {
    let ahead = tx.now()?.plus(CLOCK_TOLERANCE);
    let values = [kind.into(), before.into(), ahead.into()];
    let count = tx.query_one(Statement("outbox.overdue"), &values)?.map_or(Ok(0), |row| row.count("messages"))?;
    let failed = tx.query_one(Statement("outbox.overdue_error"), &values)?;
    let error = failed.map(|row| row.text("last_error").map(str::to_owned)).transpose()?;
    Ok((count, error))
}

/// Undelivered messages that are attempted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many.
    pub messages: u64,
    /// When the oldest was put into the outbox; none where there is none.
    pub oldest: Option<Time>,
}

impl Waiting {
    /// These and others.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        let oldest = [self.oldest, others.oldest].into_iter().flatten().min();
        Self { messages: self.messages + others.messages, oldest }
    }
}

/// The messages of a kind that wait to be delivered.
pub fn waiting(tx: &mut dyn Transaction, kind: &str) -> Result<Waiting, RegistryError> {
    let Some(row) = tx.query_one(Statement("outbox.waiting"), &[kind.into()])? else { return Ok(Waiting::default()) };
    Ok(Waiting { messages: row.count("messages")?, oldest: row.optional_time("oldest_created_at")? })
}

/// Messages of a list. The payloads that are too long for it are read one after the other: together, attachments would fill the memory.
fn listed(tx: &mut dyn Transaction, rows: &[Row]) -> Result<Vec<Message>, RegistryError> {
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        let payload = if let Some(payload) = row.optional_text("payload")? {
            payload.to_owned()
        } else {
            let whole = tx.query_one(Statement("outbox.payload"), &[row.uuid("id")?.into()])?;
            let whole = whole.as_ref().map(|whole| whole.text("payload")).transpose()?;
            whole.map(without_attachment).unwrap_or_default()
        };
        messages.push(message(row, payload)?);
    }
    Ok(messages)
}

/// A payload without the attachment of a mail. What is no JSON cannot be delivered as it is; nothing of it is shown.
fn without_attachment(payload: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(payload) else { return String::new() };
    fields.remove("attachment");
    Value::Object(fields).to_string()
}

fn message_row(row: &Row) -> Result<Message, RegistryError> {
    message(row, row.text("payload")?.to_owned())
}

fn message(row: &Row, payload: String) -> Result<Message, RegistryError> {
    Ok(Message {
        id: row.uuid("id")?,
        number: row.count("number")?,
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        item: row.optional_uuid("item_id")?.map(ItemId),
        batch: row.optional_uuid("batch_id")?.map(BatchId),
        key: row.text("key")?.to_owned(),
        kind: row.text("kind")?.to_owned(),
        payload,
        created_at: row.time("created_at")?,
        delivered_at: row.optional_time("delivered_at")?,
        undeliverable_at: row.optional_time("undeliverable_at")?,
        attempts: row.count("attempts")?,
        next_attempt_at: row.optional_time("next_attempt_at")?,
        last_error: row.optional_text("last_error")?.map(str::to_owned),
        progress: row.optional_text("progress")?.map(str::to_owned),
    })
}
