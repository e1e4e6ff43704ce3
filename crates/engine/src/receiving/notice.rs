//! Notices to an institution that an upload which is not valid is going to be removed. A notice is delivered when it lies in
//! `notices/` of the institution's place in the receiving store; the time until the removal counts from then. Where the collection of the
//! upload has it told by mail, the mail is put into the outbox with the delivery of the notice, and the time counts from what becomes of
//! the mail: see [`mail_standing`].

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use strongroom_registry::items::{self, ItemProblem};
use strongroom_registry::notifications::{self, Notifications};
use strongroom_registry::outbox::{self, About, Message};
use strongroom_registry::receiving::{self as record, Fate, Upload};
use strongroom_registry::{
    ItemId, MailKind, RegistryError, Scope, Time, Transaction, UploadId, UploadState, advice, schedules,
};
use strongroom_storage::{Key, PutOptions, StorageError};

use super::name::NOTICES;
use super::upload::ReceivingKey;
use crate::event::Event;
use crate::notifications::Mail;
use crate::outbox::{Channel, Delivery};
use crate::reports::html_of;
use crate::{EngineError, Home, background, crash_point};

/// Problems that a notice names.
const PROBLEMS: usize = 20;
/// Longer texts of others are cut in a notice, in characters.
const TEXT: usize = 500;
/// How much of an upload's name stands in that of its notice.
const NAME: usize = 100;

/// What a message of this kind says.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    upload: UploadId,
    store: String,
    key: String,
    /// None in messages of before notices were delivered.
    etag: Option<String>,
    item: ItemId,
    note: Option<String>,
    remove_after: Option<String>,
}

/// The payload of the message about an upload.
pub(super) fn payload(upload: &Upload, item: ItemId) -> String {
    let payload = Payload {
        upload: upload.id,
        store: upload.store.clone(),
        key: upload.key.clone(),
        etag: Some(upload.etag.clone()),
        item,
        note: upload.note.clone(),
        remove_after: upload.remove_after.map(|time| time.to_string()),
    };
    // Texts and identifiers only: it cannot fail.
    serde_json::to_string(&payload).unwrap_or_default()
}

/// The channel whose messages are files in `notices/`.
pub(crate) struct Notices;

impl Channel for Notices {
    fn name(&self) -> &'static str {
        NOTICES
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[outbox::UPLOAD_EXPIRES]
    }

    fn place(&self, message: &Message) -> String {
        serde_json::from_str(&message.payload).map(|payload: Payload| payload.store).unwrap_or_default()
    }

    fn deliver(&self, home: &Home, message: &Message) -> Result<Delivery, EngineError> {
        deliver(home, message)
    }
}

/// Delivers one notice, where it is still needed. Repeating it replaces the notice by one with a later date.
fn deliver(home: &Home, message: &Message) -> Result<Delivery, EngineError> {
    let payload: Option<Payload> = serde_json::from_str(&message.payload).ok();
    let wanted = payload.and_then(|payload| Some((payload.upload, payload.etag?, payload.item)));
    let Some((id, etag, item)) = wanted else { return set_obsolete(home, message) };
    let found = home.registry.read(|tx| {
        let upload = to_warn_of(tx, id, &etag)?;
        let problems = items::problems(tx, Scope::System, item, PROBLEMS + 1)?;
        let batch = items::get(tx, Scope::System, item)?.and_then(|item| item.batch);
        let told = batch.map_or_else(|| Ok(Notifications::default()), |batch| notifications::of_batch(tx, batch))?;
        Ok::<_, RegistryError>((upload, problems, (batch, told), tx.now()?))
    })?;
    let (Some(upload), problems, (batch, told), now) = found else { return set_obsolete(home, message) };
    if !home.settings.stores.contains_key(&upload.store) {
        return Ok(Delivery::Undeliverable(format!(
            "the settings have no store {}, which has the upload that the notice is about",
            upload.store
        )));
    }
    let notice = home.settings.receiving.warn_before.min(home.settings.receiving.invalid_retention);
    let least = now.plus(i64::try_from(notice.as_micros()).unwrap_or(i64::MAX));
    let remove_after = upload.remove_after.map_or(least, |due| due.max(least));
    let lines = lines(&upload, item, &problems, remove_after);
    let text = text(&lines);
    let mail = Mail {
        to: told.recipients(MailKind::Removal).to_vec(),
        subject: format!(
            "Strongroom: {}: an upload is not valid and will be removed: {}",
            message.institution_identifier,
            shown(&upload.key)
        ),
        text: text.clone(),
        html: format!("<p>{INTRODUCTION}</p>\n{}", html_of(&lines, ADVICE)),
        ..Mail::default()
    };
    let about = About { institution: message.institution, item: Some(item), batch };
    let settings = home.settings.mail.clone();
    let store = home.store(&upload.store)?;
    let key = key(home, &upload, message)?;
    store.put(&key, &mut text.as_bytes(), &PutOptions::default())?;
    store.sync()?;
    crash_point("outbox.notice.put");
    let message_id = message.id;
    let is_recorded = home.registry.write(move |tx| {
        outbox::set_delivered(tx, message_id)?;
        let Some(upload) = to_warn_of(tx, id, &etag)? else { return Ok(false) };
        let warned_at = tx.now()?;
        if let Some(mail) = mail.clone().prepare(&settings, mail_key(id, &upload.etag, warned_at)) {
            mail.insert_about(tx, about)?;
            schedules::hasten(tx, background::outbox::NAME)?;
        }
        let fate = Fate {
            remove_after: Some(remove_after),
            warned_at: Some(warned_at),
            ..Fate::new(UploadState::Invalid, upload.note.unwrap_or_default())
        };
        record::decide(tx, id, &fate)?;
        Ok::<_, RegistryError>(true)
    })?;
    if is_recorded {
        let (store, key, date) = (&upload.store, &upload.key, remove_after.to_string());
        Event::UploadExpires { store, key, remove_after: &date }.emit();
    }
    Ok(if is_recorded { Delivery::Made } else { Delivery::Obsolete })
}

/// The upload, where its removal is still to be reported.
fn to_warn_of(tx: &mut dyn Transaction, id: UploadId, etag: &str) -> Result<Option<Upload>, RegistryError> {
    let upload = record::get(tx, Scope::System, id)?;
    Ok(upload
        .filter(|upload| upload.state == UploadState::Invalid && upload.etag == etag && upload.warned_at.is_none()))
}

fn set_obsolete(home: &Home, message: &Message) -> Result<Delivery, EngineError> {
    let id = message.id;
    home.registry.write(move |tx| outbox::set_delivered(tx, id))?;
    Ok(Delivery::Obsolete)
}

/// Where the notice lies: named by its date and the upload, and the same in each attempt.
fn key(home: &Home, upload: &Upload, message: &Message) -> Result<Key, EngineError> {
    let own = home.settings.institutions.get(&message.institution_identifier).map(|own| own.receiving.as_str());
    let is_common = upload.store == home.settings.roles.receiving;
    let place = match own {
        Some(own) if own == upload.store && !is_common => Key::ROOT,
        _ => Key::new(message.institution_identifier.as_str()).map_err(StorageError::from)?,
    };
    let source = ReceivingKey { store: upload.store.clone(), key: upload.key.clone() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = source.file_name().chars().take(NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let date = message.created_at.timestamp().strftime("%Y-%m-%d");
    let id = message.id.simple().to_string();
    let tail = id.get(24..).unwrap_or_default();
    let key = place.join(&format!("{NOTICES}/{date}-{name}-{tail}.txt")).map_err(StorageError::from)?;
    Ok(key)
}

/// What a notice begins with.
const INTRODUCTION: &str = "This upload is not valid and will be removed.";
/// What it ends with.
const ADVICE: &str = "What to do: put a corrected bag under the same name, which replaces this one and is ingested; or copy the upload \
                      elsewhere before it is removed. Nothing else is removed. This notice may be deleted at any time.";

/// What a notice says of an upload: names, and texts of one line each.
fn lines(upload: &Upload, item: ItemId, problems: &[ItemProblem], remove_after: Time) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("Upload", format!("{} (store {}, {} bytes)", shown(&upload.key), upload.store, upload.size)),
        ("Etag", shown(&upload.etag)),
        ("Changed", upload.changed_at.to_string()),
        ("Work item", item.to_string()),
        ("Removed", format!("not before {remove_after}")),
        ("Why", shown(advice::split(upload.note.as_deref().unwrap_or("it is not valid")).0)),
    ];
    for problem in problems.iter().take(PROBLEMS) {
        let place = problem.path.as_deref().or(problem.file.as_deref()).map(shown).unwrap_or_default();
        let message = shown(advice::split(&problem.message).0);
        lines.push(("", format!("{} {}: {place} {message}", problem.severity, problem.code)));
    }
    if problems.len() > PROBLEMS {
        lines.push(("", format!("and more: ask the archive for all of work item {item}")));
    }
    lines
}

fn text(lines: &[(&'static str, String)]) -> String {
    let mut text = format!("{INTRODUCTION}\n\n");
    for (name, value) in lines {
        let _ = match *name {
            "" => writeln!(text, "  {value}"),
            name => writeln!(text, "{:12} {value}", format!("{name}:")),
        };
    }
    let _ = writeln!(text, "\n{ADVICE}");
    text
}

/// The key of the mail about the removal of an upload whose notice was delivered at a time.
fn mail_key(upload: UploadId, etag: &str, warned_at: Time) -> String {
    format!("removal of {upload} {etag} told {}", warned_at.0)
}

/// What the mail about the removal of an upload means for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MailStanding {
    /// There is none, or a person removed it: the notice alone counts.
    None,
    /// It is still attempted: the upload is not removed before that has ended.
    Waiting,
    /// It was sent, or given up, at this time: the time until the removal counts from then.
    Settled(Time),
}

/// What became of the mail about the removal of an upload. A mail is attempted for `mail.give_up_after` at most: a server that is away
/// delays a removal, and does not prevent it.
pub(super) fn mail_standing(tx: &mut dyn Transaction, upload: &Upload) -> Result<MailStanding, RegistryError> {
    let Some(warned_at) = upload.warned_at else { return Ok(MailStanding::None) };
    let Some(mail) = outbox::by_key(tx, &mail_key(upload.id, &upload.etag, warned_at))? else {
        return Ok(MailStanding::None);
    };
    Ok(mail.delivered_at.or(mail.undeliverable_at).map_or(MailStanding::Waiting, MailStanding::Settled))
}

/// A text of others, cut, on one line, without characters that steer a terminal or the direction of writing.
fn shown(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::new();
    for c in text.chars().take(TEXT) {
        if steers(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    if text.chars().nth(TEXT).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn texts_of_others_are_cut_and_steer_nothing() {
        assert_eq!(shown("a\nb\u{202e}c"), "a\\u{a}b\\u{202e}c");
        assert_eq!(shown(&"x".repeat(600)).chars().count(), 501);
    }
}
