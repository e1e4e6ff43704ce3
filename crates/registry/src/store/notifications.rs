//! Who hears of the batches of a collection: addresses of mails, kinds of mails that are not sent, and a URL that events are
//! posted to. What is said is composed elsewhere.

use strongroom_database::{Row, Statement, Transaction, Value};

use crate::{BatchId, CollectionId, MailKind, RegistryError};

/// Who hears of the batches of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notifications {
    /// The addresses that mails go to.
    pub addresses: Vec<String>,
    /// The mails that are not sent.
    pub suppressed: Vec<MailKind>,
    /// The URL that events are posted to.
    pub callback_url: Option<String>,
}

impl Notifications {
    /// Whether nobody hears of anything.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.suppressed.is_empty() && self.callback_url.is_none()
    }

    /// The addresses that a mail of this kind goes to.
    pub fn recipients(&self, kind: MailKind) -> &[String] {
        if self.suppressed.contains(&kind) { &[] } else { &self.addresses }
    }
}

/// Those of a collection.
pub fn get(tx: &mut dyn Transaction, collection: CollectionId) -> Result<Notifications, RegistryError> {
    read(tx.query_one(Statement("notifications.get"), &[collection.into()])?.as_ref())
}

/// Those of the collection of a batch; nobody where it has none.
pub fn of_batch(tx: &mut dyn Transaction, batch: BatchId) -> Result<Notifications, RegistryError> {
    read(tx.query_one(Statement("notifications.of_batch"), &[batch.into()])?.as_ref())
}

/// Sets those of a collection.
pub fn set(
    tx: &mut dyn Transaction,
    collection: CollectionId,
    notifications: &Notifications,
) -> Result<(), RegistryError> {
    if notifications.is_empty() {
        tx.execute(Statement("notifications.remove"), &[collection.into()])?;
        return Ok(());
    }
    let Notifications { addresses, suppressed, callback_url } = notifications;
    let values: [Value; 4] =
        [collection.into(), as_json(addresses).into(), as_json(suppressed).into(), callback_url.clone().into()];
    tx.execute(Statement("notifications.set"), &values)?;
    Ok(())
}

fn read(row: Option<&Row>) -> Result<Notifications, RegistryError> {
    let Some(row) = row else { return Ok(Notifications::default()) };
    Ok(Notifications {
        addresses: from_json(row.text("addresses")?)?,
        suppressed: from_json(row.text("suppressed")?)?,
        callback_url: row.optional_text("callback_url")?.map(str::to_owned),
    })
}

fn as_json<T: serde::Serialize>(list: &[T]) -> String {
    // Texts only: it cannot fail.
    serde_json::to_string(list).unwrap_or_default()
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, RegistryError> {
    serde_json::from_str(text)
        .map_err(|_| RegistryError::Corrupt { wanted: "a list of notifications", found: text.to_owned() })
}
