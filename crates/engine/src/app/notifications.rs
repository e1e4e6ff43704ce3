//! A test of notifications: one message, through the outbox, delivered before the function returns.

use strongroom_registry::{RegistryError, Scope, advice, outbox, tenants};
use uuid::Uuid;

use super::authorization::NOTIFICATIONS_TEST;
use super::collections::check_url;
use super::views::NotificationTestView;
use super::{OpContext, find_institution};
use crate::EngineError;
use crate::journal::Target;
use crate::notifications::{Callback, Mail, Prepared, TEST, mailbox};
use crate::outbox::{Delay, Delivery, deliver_one};

/// For how long the background task leaves the message to this function, in microseconds.
const RESERVED: i64 = 15 * 60 * 1_000_000;

/// Who gets the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// The address of a person.
    Mail(String),
    /// The URL of a program, and the short name of the collection whose secret signs; the common secret where there is none.
    Callback {
        /// The URL.
        url: String,
        /// The collection, of the institution that is named.
        collection: Option<String>,
    },
}

impl Receiver {
    fn name(&self) -> String {
        match self {
            Self::Mail(address) => address.clone(),
            // A query may have a secret of the receiver.
            Self::Callback { url, .. } => strongroom_download::shown_url(url),
        }
    }
}

/// Sends a test message in the name of an institution, the first where none is named, and waits until it is delivered. One that another
/// attempt may deliver stays in the outbox like any other; one that needs review is removed: after the correction, another test is made.
///
/// # Errors
/// It was not delivered: why, and what to change.
pub fn test(
    context: &OpContext,
    receiver: &Receiver,
    institution: Option<&str>,
) -> Result<NotificationTestView, EngineError> {
    let authorized = context.authorize(&NOTIFICATIONS_TEST)?;
    let home = authorized.home();
    let found = authorized.read(|tx| match institution {
        Some(name) => find_institution(tx, Scope::System, name).map(Some),
        None => Ok::<_, RegistryError>(tenants::institutions(tx, Scope::System, "", 1)?.into_iter().next()),
    })?;
    let Some(institution) = found else {
        return Err(EngineError::Absent("there is no institution in whose name a message could be sent".to_owned())
            .next("\"strongroom institution add DOMAIN\" adds one"));
    };
    if let Receiver::Callback { url, .. } = receiver {
        check_url(url, &authorized)?;
    }
    let prepared = prepare(home, receiver, &institution.identifier)?;
    let target = Target::of(institution.id, receiver.name());
    let message = authorized.write(move |tx| {
        prepared.insert(tx, institution.id, None)?;
        let inserted = outbox::by_key(tx, prepared.key())?;
        if let Some(message) = &inserted {
            let until = tx.now()?.plus(RESERVED);
            outbox::reserve(tx, message.id, until)?;
        }
        Ok::<_, RegistryError>((target.clone(), inserted))
    })?;
    let Some(message) = message else {
        return Err(EngineError::Absent("the test message is not in the outbox".to_owned()).next("send another one"));
    };
    match deliver_one(home, &message)? {
        Delivery::Made | Delivery::Obsolete => Ok(NotificationTestView {
            message: message.id,
            kind: message.kind,
            receiver: receiver.name(),
            state: "delivered".to_owned(),
        }),
        Delivery::Undeliverable(text) => {
            home.registry.write(move |tx| outbox::set_removed(tx, &message))?;
            // In the outbox both are one text; the commands for messages that need review are for others.
            let (reason, next) = advice::split(&text);
            let next = next.unwrap_or("correct the cause");
            let next = next.split_once(", then: strongroom outbox ").map_or("correct the cause", |(next, _)| next);
            Err(EngineError::CheckFailed(reason.to_owned()).next(format!("{next}, then test again")))
        }
        Delivery::Delayed(Delay { reason, .. }) => {
            let reason = format!("the test message was not delivered: {reason}");
            Err(EngineError::CheckFailed(reason).next(format!(
                "check [{}] of the settings, which \"strongroom config show\" lists, and the receiver; the background task outbox \
                 attempts this message again",
                match receiver {
                    Receiver::Mail(_) => "mail",
                    Receiver::Callback { .. } => "callbacks",
                }
            )))
        }
    }
}

fn prepare(home: &crate::Home, receiver: &Receiver, institution: &str) -> Result<Prepared, EngineError> {
    let key = format!("{TEST}{}", Uuid::now_v7());
    match receiver {
        Receiver::Mail(address) => {
            if let Err(reason) = mailbox(address) {
                return Err(EngineError::Usage(reason).next("give one such as ann@example.edu"));
            }
            let text = format!("This is a test message of Strongroom for {institution}. Nothing has to be done.");
            let mail = Mail {
                to: vec![address.clone()],
                subject: "Strongroom: test message".to_owned(),
                html: format!("<p>{text}</p>\n"),
                text: format!("{text}\n"),
                ..Mail::default()
            };
            mail.prepare(&home.settings.mail, key).ok_or_else(|| {
                EngineError::Settings("mail.host is empty, so no mails are sent".to_owned())
                    .next("set host, from and what the mail server needs in [mail] of the settings")
            })
        }
        Receiver::Callback { url, collection } => {
            let collection = collection.as_ref().map(|collection| format!("{institution}/{collection}"));
            let body = serde_json::json!({ "institution": institution });
            Ok(Callback { url: url.clone(), collection, event: "test".to_owned(), body }.prepare(key))
        }
    }
}
