//! The mails about requests: each admin of the institution gets one of each act, and where a system admin may have to approve or has asked,
//! system admins get them as well. They are inserted in the transaction of the act, under keys that follow from request, act and recipient.

use strongroom_registry::deletion_requests::{self, Request};
use strongroom_registry::journal::Actor;
use strongroom_registry::outbox::About;
use strongroom_registry::users::{self, User};
use strongroom_registry::{ActorKind, Transaction, counted, schedules};

use super::rules;
use crate::notifications::Mail;
use crate::people::tokens::{EXPIRES, TOKEN, TokenOf};
use crate::reports::{html_of, printable, text_of};
use crate::settings::MailSettings;
use crate::{EngineError, background};

/// What is told of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Requested,
    Approved,
    Denied,
    Cancelled,
    Expired,
    Completed,
    Failed,
}

impl Act {
    fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    fn subject(self) -> &'static str {
        match self {
            Self::Requested => "a deletion was requested and needs approval",
            Self::Approved => "a deletion was approved",
            Self::Denied => "a deletion was denied",
            Self::Cancelled => "a deletion was cancelled",
            Self::Expired => "a request for deletion has expired",
            Self::Completed => "a deletion is completed",
            Self::Failed => "warning: a deletion failed in part or whole",
        }
    }
}

/// Puts the mails about an act into the outbox; none where the settings name no mail server.
pub(super) fn tell(
    tx: &mut dyn Transaction,
    settings: &MailSettings,
    request: &Request,
    act: Act,
) -> Result<(), EngineError> {
    if !settings.is_set() {
        return Ok(());
    }
    let approvers = rules::approvers(tx, request.into())?;
    let mut readers = rules::admins(tx, request.institution)?;
    readers.extend(approvers.iter().cloned());
    readers.extend(users::get(tx, request.requester)?.filter(|user| user.is_active));
    readers.sort_by_key(|user| user.id);
    readers.dedup_by_key(|user| user.id);
    let (lines, progress) = (lines(request), progress(tx, request)?);
    for reader in &readers {
        let may_approve = act == Act::Requested && approvers.iter().any(|user| user.id == reader.id);
        let end = closing(request, act, may_approve, progress.as_deref());
        insert(tx, settings, request, (act, reader, may_approve), (&lines, &end))?;
    }
    schedules::hasten(tx, background::outbox::NAME)?;
    Ok(())
}

fn insert(
    tx: &mut dyn Transaction,
    settings: &MailSettings,
    request: &Request,
    (act, reader, may_approve): (Act, &User, bool),
    (lines, end): (&[(&'static str, String)], &str),
) -> Result<(), EngineError> {
    let mail = Mail {
        to: vec![reader.email.clone()],
        subject: format!(
            "Strongroom: {}: {}: {}",
            request.institution_identifier,
            act.subject(),
            printable(&request.name)
        ),
        text: text_of(lines, end),
        html: html_of(lines, end),
        ..Mail::default()
    };
    let key = format!("deletion {} {} {} {}", request.id, act.as_str(), request.ends, reader.id);
    let about = About { institution: request.institution, item: None, batch: request.batch };
    let message = if may_approve {
        let requester = Actor::new(ActorKind::User, &request.requested.name);
        mail.prepare_with_token(settings, key, TokenOf::approval(reader.id, request.id, &requester))
    } else {
        mail.prepare(settings, key)
    };
    if let Some(message) = message {
        message.insert_about(tx, about)?;
    }
    Ok(())
}

fn lines(request: &Request) -> Vec<(&'static str, String)> {
    let by = |act: &deletion_requests::Act| format!("{} at {}", printable(&act.name), act.at);
    let mut lines = vec![
        ("Request", request.id.to_string()),
        ("Institution", request.institution_identifier.clone()),
        ("Names", printable(&request.name)),
        ("Objects", request.objects.to_string()),
        ("Files", request.files.to_string()),
        ("Bytes", request.bytes.map_or_else(|| "not counted".to_owned(), |bytes| bytes.to_string())),
        ("Reason", printable(&request.reason)),
        ("Requested", by(&request.requested)),
    ];
    if let Some(approved) = &request.approved {
        lines.push(("Approved", by(approved)));
        lines.extend(approved.words.as_ref().map(|note| ("Note", printable(note))));
    }
    if let Some(closed) = &request.closed {
        lines.push(("Ended", by(closed)));
        lines.extend(closed.words.as_ref().map(|reason| ("Why", printable(reason))));
    }
    lines
}

fn progress(tx: &mut dyn Transaction, request: &Request) -> Result<Option<String>, EngineError> {
    let Some(batch) = request.batch else { return Ok(None) };
    let progress = deletion_requests::progress(tx, batch)?;
    Ok(Some(format!(
        "{} deleted from, {} failed, {} cancelled.",
        counted(progress.deleted, "object was", "objects were"),
        progress.failed,
        progress.cancelled
    )))
}

fn closing(request: &Request, act: Act, may_approve: bool, progress: Option<&str>) -> String {
    let id = request.id;
    match act {
        Act::Requested if may_approve => format!(
            "You can approve it until {EXPIRES}: \"strongroom --as EMAIL delete approve {id}\"; or deny it: \"strongroom --as EMAIL delete deny {id} --reason REASON\". \
             Where the command line needs a token, \"strongroom --as EMAIL delete approve --token-stdin\" takes this one, once, from you: {TOKEN}"
        ),
        Act::Requested => format!(
            "Another user has to approve it until {}. \"strongroom delete cancel {id} --reason REASON\" takes it back.",
            request.expires_at
        ),
        Act::Approved => {
            format!(
                "Work items delete what it names. \"strongroom delete cancel {id} --reason REASON\" cancels those that have not begun."
            )
        }
        Act::Completed | Act::Cancelled => progress.unwrap_or("Nothing was deleted.").to_owned(),
        Act::Failed => format!("{} \"strongroom delete show {id}\" shows where each is.", progress.unwrap_or_default()),
        Act::Denied | Act::Expired => "Nothing was deleted.".to_owned(),
    }
}
