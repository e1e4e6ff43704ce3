//! A mail: what its message in the outbox has. It is composed when it is sent (`composed`).

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use strongroom_registry::outbox;
use uuid::Uuid;

use super::Prepared;
use crate::people::tokens::TokenOf;
use crate::settings::MailSettings;

/// Longer subjects are cut, in characters.
const LONGEST_SUBJECT: usize = 200;

/// A mail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The recipients that are named in it: `NAME <ADDRESS>`, or the address alone.
    pub to: Vec<String>,
    /// The recipients that are not.
    pub bcc: Vec<String>,
    /// Its subject, one line.
    pub subject: String,
    /// What it says as plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
    /// A table that it brings.
    pub attachment: Option<Attachment>,
}

/// A table as CSV.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The name of the file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What the message of a mail has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Payload {
    /// The same in each attempt, with its angle brackets (RFC 5322 section 3.6.4).
    pub(super) message_id: String,
    #[serde(flatten)]
    pub(super) mail: Mail,
    /// For whom a token is made at each attempt, which is put into the texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_of: Option<TokenOf>,
}

impl Mail {
    /// The mail as a message of the outbox, under a key that names what it reports; none where no mails are sent, or it has no
    /// recipient. An attachment that is too large is left out, and the mail says so.
    pub fn prepare(self, settings: &MailSettings, key: impl Into<String>) -> Option<Prepared> {
        self.prepare_for(settings, key.into(), None)
    }

    /// The same for a mail with a token of a user, which is made when it is sent.
    pub(crate) fn prepare_with_token(self, settings: &MailSettings, key: String, of: TokenOf) -> Option<Prepared> {
        self.prepare_for(settings, key, Some(of))
    }

    fn prepare_for(mut self, settings: &MailSettings, key: String, token_of: Option<TokenOf>) -> Option<Prepared> {
        let sender = settings.sender()?;
        if self.to.is_empty() && self.bcc.is_empty() {
            return None;
        }
        self.subject = one_line(&self.subject);
        self.limit_attachment(settings.max_attachment);
        let message_id = format!("<{}@{}>", Uuid::new_v4(), sender.email.domain());
        let payload = Payload { message_id, mail: self, token_of };
        // Texts only: it cannot fail.
        let payload = serde_json::to_string(&payload).unwrap_or_default();
        Some(Prepared { key, kind: outbox::MAIL, payload })
    }

    fn limit_attachment(&mut self, most: u64) {
        let Some(attachment) = &mut self.attachment else { return };
        attachment.name = one_line(&attachment.name).replace(['/', '\\', '"'], "_");
        let size = attachment.text.len() as u64;
        if size <= most {
            return;
        }
        let lack = format!(
            "The table {} is not attached: it has {size} bytes, and mail.max_attachment of the settings is {most}.",
            attachment.name
        );
        let _ = write!(self.text, "\n{lack}\n");
        let _ = writeln!(self.html, "<p>{}</p>", lack.replace('&', "&amp;").replace('<', "&lt;"));
        self.attachment = None;
    }
}

/// A text without what ends a line, cut.
fn one_line(text: &str) -> String {
    text.chars().take(LONGEST_SUBJECT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
