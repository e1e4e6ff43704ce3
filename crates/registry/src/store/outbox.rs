//! The outbox: what is to be told to people outside, put there in the transaction that gives the reason. Delivery is at
//! least once, in the order of the identifiers; [`Message::key`] stays the same in each attempt.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::{InstitutionId, ItemId, RegistryError};

/// The kind of a message that an invalid upload is going to be removed.
pub const UPLOAD_EXPIRES: &str = "upload_expires";
/// The kind of a message that a deposit was ingested.
pub const INGESTED: &str = "ingested";

/// A message of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its identifier; later messages have greater ones.
    pub id: Uuid,
    /// The institution that it is for.
    pub institution: InstitutionId,
    /// Its domain name.
    pub institution_identifier: String,
    /// The work item that it is about.
    pub item: Option<ItemId>,
    /// Names what is told; no two messages have the same.
    pub key: String,
    /// What kind of message it is.
    pub kind: String,
    /// What it says, as JSON.
    pub payload: String,
    /// When it was put into the outbox.
    pub created_at: Time,
    /// When it was delivered.
    pub delivered_at: Option<Time>,
}

/// Messages of a kind that were not delivered, in order, after `after`.
pub fn undelivered(
    tx: &mut dyn Transaction,
    kind: &str,
    after: Uuid,
    limit: usize,
) -> Result<Vec<Message>, RegistryError> {
    let values = [kind.into(), after.into(), limit.into()];
    tx.query(Statement("outbox.undelivered"), &values)?.iter().map(message_row).collect()
}

/// Records that a message was delivered.
pub fn set_delivered(tx: &mut dyn Transaction, id: Uuid) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("outbox.delivered"), &[id.into(), now.into()])?;
    Ok(())
}

/// Undelivered messages of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The kind.
    pub kind: String,
    /// How many.
    pub messages: u64,
    /// When the oldest was put into the outbox.
    pub oldest: Time,
}

/// How many messages of each kind were not delivered.
pub fn waiting(tx: &mut dyn Transaction) -> Result<Vec<Waiting>, RegistryError> {
    let row = |row: &Row| {
        Ok(Waiting {
            kind: row.text("kind")?.to_owned(),
            messages: row.count("messages")?,
            oldest: row.time("oldest_created_at")?,
        })
    };
    tx.query(Statement("outbox.waiting"), &[])?.iter().map(row).collect()
}

fn message_row(row: &Row) -> Result<Message, RegistryError> {
    Ok(Message {
        id: row.uuid("id")?,
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        item: row.optional_uuid("item_id")?.map(ItemId),
        key: row.text("key")?.to_owned(),
        kind: row.text("kind")?.to_owned(),
        payload: row.text("payload")?.to_owned(),
        created_at: row.time("created_at")?,
        delivered_at: row.optional_time("delivered_at")?,
    })
}
