//! Notifications to people and to other programs: what a mail or a callback says, and the two channels of the outbox that deliver
//! them. A message is complete in itself when it is inserted, with the identifier that is the same in each attempt. What is said when is
//! decided by those who insert; a delivery that fails changes nothing else.

mod addresses;
mod callback;
mod callbacks;
mod composed;
mod mail;
mod mails;
mod smtp;

use strongroom_registry::outbox::{self, About, Message};
use strongroom_registry::{InstitutionId, ItemId, RegistryError, Transaction};

pub(crate) use addresses::{checked_addresses, mailbox};
pub use callback::Callback;
pub(crate) use callback::sent;
pub(crate) use callbacks::{Callbacks, client as callback_client};
pub use mail::{Attachment, Mail};
pub(crate) use mails::{Mails, Readdressed, readdressed};
pub(crate) use smtp::Sessions as MailSessions;

/// What the key of a test message begins with.
pub(crate) const TEST: &str = "test ";

/// A message that is ready for the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    key: String,
    kind: &'static str,
    payload: String,
}

impl Prepared {
    /// Inserts the message, in the transaction that gives the reason for it; where the outbox has its key already, nothing changes.
    pub fn insert(
        &self,
        tx: &mut dyn Transaction,
        institution: InstitutionId,
        item: Option<ItemId>,
    ) -> Result<(), RegistryError> {
        outbox::insert(tx, institution, item, &self.key, self.kind, &self.payload)
    }

    /// The same for a message that may be about a batch.
    pub fn insert_about(&self, tx: &mut dyn Transaction, about: About) -> Result<(), RegistryError> {
        outbox::insert_about(tx, about, &self.key, self.kind, &self.payload)
    }

    /// What it says, as the outbox keeps it.
    pub(crate) fn payload(&self) -> &str {
        &self.payload
    }

    /// What names the message in the outbox.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Who gets a message and what of it, for people: nothing of messages that are neither mails nor callbacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Receivers {
    /// The addresses, or the URL.
    pub(crate) to: Vec<String>,
    /// The subject of a mail, the event of a callback.
    pub(crate) subject: Option<String>,
    /// Those of the recipients of a mail whom the server refused, with its answers.
    pub(crate) refused: Vec<String>,
}

impl Receivers {
    /// Those of a message.
    pub(crate) fn of(message: &Message) -> Self {
        match message.kind.as_str() {
            outbox::MAIL => mails::receivers(message),
            outbox::CALLBACK => callback::receivers(message),
            _ => Self::default(),
        }
    }
}

/// A text of others as it is written in errors: cut, on one line.
fn shown(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut shown: String = text.trim().chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.trim().chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
