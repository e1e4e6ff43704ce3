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

use strongroom_registry::{InstitutionId, ItemId, RegistryError, Transaction, outbox};

pub(crate) use addresses::mailbox;
pub use callback::Callback;
pub(crate) use callbacks::{Callbacks, client as callback_client};
pub use mail::{Attachment, Mail};
pub(crate) use mails::Mails;
pub(crate) use smtp::Sessions as MailSessions;

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

    /// What names the message in the outbox.
    pub fn key(&self) -> &str {
        &self.key
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
