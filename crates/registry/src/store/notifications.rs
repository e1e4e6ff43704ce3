//! Who hears of the batches of a collection: addresses of mails, kinds of mails that are not sent, and a URL that events are
//! posted to. It is a part of the collection's rules; a submission may name addresses of its own. What is said is composed elsewhere.

use serde::Serialize;
use strongroom_database::{Row, Statement, Transaction};

use crate::{BatchId, MailKind, RegistryError};

/// Who hears of the batches of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Notifications {
    /// The addresses that mails go to.
    pub addresses: Vec<String>,
    /// The mails that are not sent.
    pub suppressed: Vec<MailKind>,
    /// The URL that events are posted to.
    pub callback_url: Option<String>,
    /// Whether a deposit succeeds only when the program at that URL has confirmed its event.
    pub is_callback_required: bool,
}

impl Notifications {
    /// The addresses that a mail of this kind goes to.
    pub fn recipients(&self, kind: MailKind) -> &[String] {
        if self.suppressed.contains(&kind) { &[] } else { &self.addresses }
    }

    /// The URL whose program has to confirm that a deposit was ingested.
    pub fn required_url(&self) -> Option<&str> {
        self.callback_url.as_deref().filter(|_| self.is_callback_required)
    }
}

/// Those of a batch: as the rules that it has say, with the addresses of its submission where that named some. Nobody where it has neither.
pub fn of_batch(tx: &mut dyn Transaction, batch: BatchId) -> Result<Notifications, RegistryError> {
    let row = tx.query_one(Statement("notifications.of_batch"), &[batch.into()])?;
    row.as_ref().map_or_else(|| Ok(Notifications::default()), read)
}

pub(crate) fn read(row: &Row) -> Result<Notifications, RegistryError> {
    Ok(Notifications {
        addresses: from_json(row.optional_text("notify_to")?)?,
        suppressed: from_json(row.optional_text("suppressed")?)?,
        callback_url: row.optional_text("callback_url")?.map(str::to_owned),
        is_callback_required: row.bool("callback_required")?,
    })
}

/// A list as it is kept; none where it is empty.
pub(crate) fn as_json<T: Serialize>(list: &[T]) -> Option<String> {
    // Texts only: it cannot fail.
    (!list.is_empty()).then(|| serde_json::to_string(list).unwrap_or_default())
}

fn from_json<T: serde::de::DeserializeOwned>(text: Option<&str>) -> Result<Vec<T>, RegistryError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    serde_json::from_str(text)
        .map_err(|_| RegistryError::Corrupt { wanted: "a list of notifications", found: text.to_owned() })
}
