//! Messages of the outbox.

use serde::Serialize;
use strongroom_registry::ItemId;
use strongroom_registry::outbox::Message;
use uuid::Uuid;

/// A message that cannot be delivered as things are.
#[derive(Debug, Clone, Serialize)]
pub struct MessageView {
    /// Its identifier.
    pub message: Uuid,
    /// The domain name of the institution that it is for.
    pub institution: String,
    /// What kind of message it is, such as `upload_expires`.
    pub kind: String,
    /// The work item that it is about.
    pub item: Option<ItemId>,
    /// When it was put into the outbox.
    pub created_at: String,
    /// Since when it is undeliverable.
    pub undeliverable_at: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

impl From<Message> for MessageView {
    fn from(message: Message) -> Self {
        Self {
            message: message.id,
            institution: message.institution_identifier,
            kind: message.kind,
            item: message.item,
            created_at: message.created_at.to_string(),
            undeliverable_at: message.undeliverable_at.map(|time| time.to_string()),
            reason: message.last_error,
        }
    }
}

/// A test message that was delivered.
#[derive(Debug, Clone, Serialize)]
pub struct NotificationTestView {
    /// Its identifier in the outbox.
    pub message: Uuid,
    /// `mail` or `callback`.
    pub kind: String,
    /// Who got it.
    pub receiver: String,
    /// `delivered`.
    pub state: String,
}
