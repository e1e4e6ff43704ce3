//! Messages of the outbox.

use serde::Serialize;
use strongroom_registry::outbox::{Counts, Message};
use strongroom_registry::{BatchId, ItemId, MailKind, Time, advice};
use uuid::Uuid;

use crate::notifications::Receivers;

/// A message of the outbox.
#[derive(Debug, Clone, Serialize)]
pub struct MessageView {
    /// Its identifier.
    pub message: Uuid,
    /// The domain name of the institution that it is for.
    pub institution: String,
    /// What kind of message it is, such as `upload_expires`.
    pub kind: String,
    /// What became of it.
    pub state: MessageState,
    /// The subject of a mail, the event of a callback.
    pub subject: Option<String>,
    /// The addresses of a mail, the URL of a callback.
    pub to: Vec<String>,
    /// The recipients of a mail whom the server refused, with its answers.
    pub refused: Vec<String>,
    /// The batch that it is about.
    pub batch: Option<BatchId>,
    /// The work item that it is about.
    pub item: Option<ItemId>,
    /// When it was put into the outbox.
    pub created_at: String,
    /// When it was delivered.
    pub delivered_at: Option<String>,
    /// When a person removed it.
    pub removed_at: Option<String>,
    /// Since when it is undeliverable.
    pub undeliverable_at: Option<String>,
    /// Attempts that failed.
    pub attempts: u64,
    /// When the next attempt is made; none before the first one failed.
    pub next_attempt_at: Option<String>,
    /// Why it is not delivered.
    pub reason: Option<String>,
    /// What that advises to do.
    pub next: Option<String>,
}

impl MessageView {
    /// The reason without what it advises.
    pub fn said(&self) -> Option<&str> {
        self.reason.as_deref().map(|reason| advice::split(reason).0)
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// It is to be delivered.
    Waiting,
    /// Another attempt would not deliver it: it needs review.
    NeedsReview,
    /// It was delivered, or what it was about has changed.
    Delivered,
    /// A person removed it.
    Removed,
}

impl MessageState {
    fn of(message: &Message) -> Self {
        match (message.delivered_at, message.undeliverable_at) {
            (Some(_), _) if message.is_removed() => Self::Removed,
            (Some(_), _) => Self::Delivered,
            (None, Some(_)) => Self::NeedsReview,
            (None, None) => Self::Waiting,
        }
    }
}

impl From<Message> for MessageView {
    fn from(message: Message) -> Self {
        let receivers = Receivers::of(&message);
        let state = MessageState::of(&message);
        let is_open = matches!(state, MessageState::Waiting | MessageState::NeedsReview);
        let text = |time: Option<Time>| time.map(|time| time.to_string());
        let next = next_of(&message, state);
        Self {
            message: message.id,
            institution: message.institution_identifier,
            kind: message.kind,
            state,
            subject: receivers.subject,
            to: receivers.to,
            refused: receivers.refused,
            batch: message.batch,
            item: message.item,
            created_at: message.created_at.to_string(),
            delivered_at: text(message.delivered_at.filter(|_| state == MessageState::Delivered)),
            removed_at: text(message.delivered_at.filter(|_| state == MessageState::Removed)),
            undeliverable_at: text(message.undeliverable_at),
            attempts: message.attempts,
            next_attempt_at: text(message.next_attempt_at.filter(|_| state == MessageState::Waiting)),
            next,
            reason: message.last_error.filter(|_| is_open),
        }
    }
}

/// What to do about a message: what the reason advises; of one that is attempted again by itself, when that is.
fn next_of(message: &Message, state: MessageState) -> Option<String> {
    if !matches!(state, MessageState::Waiting | MessageState::NeedsReview) {
        return None;
    }
    let advised = message.last_error.as_deref().and_then(|error| advice::split(error).1).map(str::to_owned);
    let again = message.next_attempt_at.filter(|_| state == MessageState::Waiting && message.attempts > 0);
    advised.or_else(|| again.map(|at| format!("remove the cause; the message is attempted again by itself at {at}")))
}

/// What was told of a batch, and what is to be.
#[derive(Debug, Clone, Serialize)]
pub struct ToldView {
    /// Which version of the rules of its collection it has; none without a collection.
    pub rules_version: Option<u64>,
    /// The addresses that its mails go to.
    pub notify_to: Vec<String>,
    /// The kinds of mails that are not sent.
    pub suppress: Vec<MailKind>,
    /// The URL that its events are posted to.
    pub callback_url: Option<String>,
    /// Whether its items succeed only when the program at that URL has confirmed their events.
    pub callback_required: bool,
    /// The reports whose messages are not composed yet, by their numbers.
    pub reports_not_told: Vec<u64>,
    /// How many messages there are, by kind.
    pub counts: Vec<MessageCountsView>,
    /// The newest messages, the newest first: of those about single items only the ones that were not delivered.
    pub messages: Vec<MessageView>,
}

/// How many messages of a kind there are.
#[derive(Debug, Clone, Serialize)]
pub struct MessageCountsView {
    /// The kind.
    pub kind: String,
    /// Those that were delivered.
    pub delivered: u64,
    /// Of these, the mails that some of their recipients were refused.
    pub incomplete: u64,
    /// Those that a person removed: they were not delivered.
    pub removed: u64,
    /// Those that are to be delivered.
    pub waiting: u64,
    /// Those that need review.
    pub needs_review: u64,
}

impl From<Counts> for MessageCountsView {
    fn from(counts: Counts) -> Self {
        Self {
            kind: counts.kind,
            delivered: counts.delivered,
            incomplete: counts.incomplete,
            removed: counts.removed,
            waiting: counts.messages.saturating_sub(counts.delivered + counts.removed + counts.undeliverable),
            needs_review: counts.undeliverable,
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
