//! What is told of batches: mails to the addresses of a collection and to those who run the installation, and events for the program
//! that a collection names. Each message has a key that follows from what it is about, so that it is in the outbox once.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;
use strongroom_registry::batches::{self, Batch};
use strongroom_registry::items::Item;
use strongroom_registry::notifications::{self, Notifications};
use strongroom_registry::outbox::{About, Message};
use strongroom_registry::reports::{EndedItem, Report, RowFilter};
use strongroom_registry::{
    BatchId, BatchState, ItemId, MailKind, RegistryError, ReportKind, Scope, Time, counted, items, objects,
};

use super::forms::{self, ReportForm, TABLE_HEAD, escaped, facts, facts_as_html, printable, row_as_html, title};
use super::reader::Reader;
use super::{ReportRowView, ReportView};
use crate::deletion::BATCH_KIND;
use crate::ingest::{DepositOptions, INGEST};
use crate::notifications::{Attachment, Callback, Mail, Prepared, TEST};
use crate::restoration::KIND_OF_BATCHES;
use crate::settings::MailSettings;
use crate::{EngineError, Home};

/// Rows that the text of a mail lists.
const MOST_IN_TEXT: usize = 20;
/// Longer texts of others are cut in mails, in characters.
const LONGEST_TEXT: usize = 300;

/// What the key of a mail ends with that is for those who run the installation.
const OF_ADMINS: &str = " admins";

/// Whether a mail about a batch is for those who run the installation.
pub(crate) fn is_for_admins(message: &Message) -> bool {
    message.first_key().ends_with(OF_ADMINS)
}

/// A message, and what it is about.
#[derive(Debug, Clone)]
pub(super) struct Composed {
    pub(super) message: Prepared,
    pub(super) about: About,
}

/// A batch and its recipients; none where batches of its kind have none: restorations have a receipt, and of deletions others are told.
fn batch_and_listeners(home: &Home, id: BatchId) -> Result<Option<(Batch, Notifications)>, RegistryError> {
    home.registry.read(|tx| {
        let is_told = |batch: &Batch| batch.kind != KIND_OF_BATCHES && batch.kind != BATCH_KIND;
        let batch = batches::get(tx, Scope::System, id)?.filter(is_told);
        let listeners = notifications::of_batch(tx, id)?;
        Ok(batch.map(|batch| (batch, listeners)))
    })
}

/// What is told when a batch was accepted.
pub(super) fn of_queued(home: &Home, id: BatchId) -> Result<Vec<Composed>, EngineError> {
    let Some((batch, listeners)) = batch_and_listeners(home, id)? else { return Ok(Vec::new()) };
    let place = place_of(&batch);
    let mut lines = vec![
        ("Batch", batch.id.to_string()),
        ("Collection", place.clone()),
        ("Submitted", format!("{} by {}, as {}", batch.created_at, printable(&batch.submitted_by), batch.kind)),
    ];
    if let Some(note) = &batch.note {
        lines.push(("Note", printable(note)));
    }
    let mail = Mail {
        to: listeners.recipients(MailKind::Queued).to_vec(),
        subject: format!("Strongroom: {place}: batch {id} is queued"),
        text: text_of(&lines, "Another mail follows when all of it has ended."),
        html: html_of(&lines, "Another mail follows when all of it has ended."),
        ..Mail::default()
    };
    let message = mail.prepare(&home.settings.mail, format!("batch {id} queued"));
    let about = about(&batch);
    Ok(message.map(|message| Composed { message, about }).into_iter().collect())
}

/// What is told of a report.
pub(super) fn of_report(home: &Home, report: &Report, view: &ReportView) -> Result<Vec<Composed>, EngineError> {
    let nothing_new = report.kind == ReportKind::Update && report.changed == 0;
    if nothing_new || report.kind == ReportKind::Provisional {
        return Ok(Vec::new());
    }
    let Some((batch, listeners)) = batch_and_listeners(home, report.batch)? else { return Ok(Vec::new()) };
    let (kind, event) = match (report.kind, report.batch_state) {
        (ReportKind::Update, _) => (MailKind::Update, "batch.updated"),
        (_, BatchState::Completed) => (MailKind::Done, "batch.completed"),
        _ => (MailKind::Failed, "batch.failed"),
    };
    let key = format!("batch {} report {}", report.batch, report.number);
    let mut messages = Vec::new();
    let recipients = listeners.recipients(kind);
    if !recipients.is_empty() && home.settings.mail.is_set() {
        let mail = mail_of_report(home, (report, view), &subject(view, &batch, kind), Reader::Depositor)?;
        let mail = Mail { to: recipients.to_vec(), ..mail };
        messages.extend(mail.prepare(&home.settings.mail, format!("{key} {kind}")));
    }
    if report.failed > 0 && !home.settings.mail.admins.is_empty() && home.settings.mail.is_set() {
        let failed = counted(report.failed, "item of batch", "items of batch");
        let subject = format!("Strongroom: warning: {}: {failed} {} failed", place_of(&batch), report.batch);
        let mail = mail_of_report(home, (report, view), &subject, Reader::Operator)?;
        let mail = Mail { to: home.settings.mail.admins.clone(), ..mail };
        messages.extend(mail.prepare(&home.settings.mail, format!("{key}{OF_ADMINS}")));
    }
    if let Some(url) = listeners.callback_url {
        // Texts and numbers only: it cannot fail.
        let body = serde_json::to_value(view).unwrap_or_default();
        let collection = secret_of(&batch);
        messages.push(Callback { url, collection, event: event.to_owned(), body }.prepare(format!("{key} callback")));
    }
    let about = about(&batch);
    Ok(messages.into_iter().map(|message| Composed { message, about }).collect())
}

fn about(batch: &Batch) -> About {
    About { institution: batch.institution, item: None, batch: Some(batch.id) }
}

/// What is told when an item ended at a time.
pub(super) fn of_item(home: &Home, id: ItemId, at: Time, ended: &EndedItem) -> Result<Vec<Composed>, EngineError> {
    let Some(item) = home.registry.read(|tx| items::get(tx, Scope::System, id))? else { return Ok(Vec::new()) };
    // The item that reads a manifest is no row of it; what came of it is told of the batch.
    let Some(batch) = item.batch.filter(|_| item.action == INGEST) else { return Ok(Vec::new()) };
    let Some((batch, listeners)) = batch_and_listeners(home, batch)? else { return Ok(Vec::new()) };
    let Some(url) = listeners.callback_url else { return Ok(Vec::new()) };
    let event = format!("item.{}", ended.status);
    let callback = callback_of_item(home, (&item, url), event, (ended, Some(at)))?;
    let message = callback.prepare(format!("item {id} {} callback", at.0));
    Ok(vec![Composed { message, about: About { item: Some(id), ..about(&batch) } }])
}

/// The event that an item has done what it had to, and waits for the program at a URL to confirm that.
pub(crate) fn ingested(home: &Home, item: &Item, url: &str, message: &str) -> Result<Callback, EngineError> {
    let done = EndedItem {
        status: item.status,
        stage: item.stage.to_string(),
        version: item.version,
        message: Some(message.to_owned()),
    };
    callback_of_item(home, (item, url.to_owned()), "item.ingested".to_owned(), (&done, None))
}

/// An event about an item.
fn callback_of_item(
    home: &Home,
    (item, url): (&Item, String),
    event: String,
    (state, ended_at): (&EndedItem, Option<Time>),
) -> Result<Callback, EngineError> {
    let object = match item.object {
        Some(object) => home.registry.read(|tx| objects::get(tx, Scope::System, object))?,
        None => None,
    };
    let local_ids = DepositOptions::of(item).map(|options| options.local_ids).unwrap_or_default();
    let body = json!({
        "item": item.id,
        "batch": item.batch,
        "institution": item.institution_identifier,
        "collection": item.collection_identifier,
        "action": item.action.as_str(),
        "name": item.name,
        "object": item.object_identifier,
        "ark": object.and_then(|object| object.ark),
        "local_ids": local_ids,
        "status": state.status,
        "stage": state.stage,
        "version": state.version,
        "message": state.message,
        "ended_at": ended_at.map(|at| at.to_string()),
    });
    // Whose secret signs it.
    let collection = item.collection_identifier.as_ref().map(|name| format!("{}/{name}", item.institution_identifier));
    Ok(Callback { url, collection, event, body })
}

/// The mail to those who run the installation when a message cannot be delivered: the first of a channel in each hour. None where it is
/// such a mail itself.
pub(crate) fn undeliverable_warning(
    settings: &MailSettings,
    channel: &str,
    message: &Message,
    (reason, now): (&str, Time),
) -> Option<Prepared> {
    const HOUR: i64 = 3_600_000_000;
    const KEY: &str = "undeliverable";
    // `notify test` answers at once what came of its message.
    if message.key.starts_with(KEY) || message.key.starts_with(TEST) {
        return None;
    }
    let reason: String = printable(reason).chars().take(LONGEST_TEXT).collect();
    let lines = [
        ("Message", format!("{}, {}", message.id, printable(&message.key))),
        ("Institution", message.institution_identifier.clone()),
        ("Reason", reason),
    ];
    let end = "\"strongroom outbox list\" has this message and any others that need review. The next mail about such messages \
               follows in an hour at the earliest.";
    let mail = Mail {
        to: settings.admins.clone(),
        subject: format!("Strongroom: warning: a message of the channel {channel} cannot be delivered"),
        text: text_of(&lines, end),
        html: html_of(&lines, end),
        ..Mail::default()
    };
    mail.prepare(settings, format!("{KEY} {channel} {}", now.0.div_euclid(HOUR)))
}

fn place_of(batch: &Batch) -> String {
    match &batch.collection_identifier {
        Some(collection) => format!("{}/{collection}", batch.institution_identifier),
        None => batch.institution_identifier.clone(),
    }
}

/// Whose secret signs what is posted about a batch.
fn secret_of(batch: &Batch) -> Option<String> {
    batch.collection_identifier.as_ref().map(|_| place_of(batch))
}

fn subject(view: &ReportView, batch: &Batch, kind: MailKind) -> String {
    let outcome = match kind {
        MailKind::Failed => format!("ended with {} unresolved", counted(view.unresolved, "item", "items")),
        MailKind::Update => {
            format!("changed: {}, {} unresolved", counted(view.changed, "item", "items"), view.unresolved)
        }
        _ => "is done".to_owned(),
    };
    format!("Strongroom: {}: batch {} {outcome}", place_of(batch), batch.id)
}

/// The mail that brings a report, without recipients.
fn mail_of_report(
    home: &Home,
    (report, view): (&Report, &ReportView),
    subject: &str,
    reader: Reader,
) -> Result<Mail, EngineError> {
    let (mut text, mut html) = (format!("{}\n\n", title(view)), format!("<p>{}</p>\n", escaped(&title(view))));
    for (name, value) in facts(view) {
        let _ = writeln!(text, "{:13} {value}", format!("{name}:"));
    }
    html.push_str(&facts_as_html(view));
    let unresolved = ("Unresolved", RowFilter { changed: false, unresolved: true });
    let changed = ("Changed since the last report", RowFilter { changed: true, unresolved: false });
    let parts = if report.kind == ReportKind::Update { vec![changed, unresolved] } else { vec![unresolved] };
    for part in parts {
        list(home, (report, reader), part, &mut text, &mut html)?;
    }
    let attachment = table(home, (report, reader), view)?;
    let whole = reader.of_table(report, attachment.is_some());
    let _ = write!(text, "\n{whole}\n");
    let _ = writeln!(html, "<p>{}</p>", escaped(&whole));
    Ok(Mail { subject: subject.to_owned(), text, html, attachment, ..Mail::default() })
}

/// Lists the first rows of a part of a report.
fn list(
    home: &Home,
    (report, reader): (&Report, Reader),
    (shown, filter): (&str, RowFilter),
    text: &mut String,
    html: &mut String,
) -> Result<(), EngineError> {
    let mut rows = super::rows(home, report.id, filter).take(MOST_IN_TEXT + 1).collect::<Result<Vec<_>, _>>()?;
    if rows.is_empty() {
        return Ok(());
    }
    let has_more = rows.len() > MOST_IN_TEXT;
    rows.truncate(MOST_IN_TEXT);
    let _ = writeln!(text, "\n{shown}:");
    let _ = write!(html, "<h2>{shown}</h2>\n{TABLE_HEAD}");
    for row in rows {
        let _ = writeln!(text, "- {}", line_of(&row, reader));
        html.push_str(&row_as_html(&reader.row(row)));
    }
    html.push_str("</table>\n");
    if has_more {
        text.push_str("- and others\n");
        html.push_str("<p>and others</p>\n");
    }
    Ok(())
}

/// A row as a line of text.
fn line_of(row: &ReportRowView, reader: Reader) -> String {
    let cut = |text: &str| printable(text).chars().take(LONGEST_TEXT).collect::<String>();
    let number = row.row.map(|row| format!("row {row}, ")).unwrap_or_default();
    let code = row.code.as_ref().map(|code| format!(" ({})", cut(code))).unwrap_or_default();
    let (message, to_do) = reader.message(row);
    let message = message.map(|message| format!(": {}", cut(message))).unwrap_or_default();
    let to_do = to_do.map(|to_do| format!(". What to do: {to_do}")).unwrap_or_default();
    format!("{number}{}: {}{code}{message}{to_do}", cut(&row.name), row.state)
}

/// The table of a report as an attachment; none where it is too large.
fn table(
    home: &Home,
    (report, reader): (&Report, Reader),
    view: &ReportView,
) -> Result<Option<Attachment>, EngineError> {
    let most = usize::try_from(home.settings.mail.max_attachment).unwrap_or(usize::MAX);
    let mut out = Bounded { bytes: Vec::new(), most, is_over: false };
    let rows = |filter| {
        let rows = super::rows(home, report.id, filter).map(move |row| Ok(reader.row(row?)));
        Box::new(rows) as Box<dyn Iterator<Item = _>>
    };
    let written = forms::write(ReportForm::Csv, view, &rows, &mut out);
    if out.is_over {
        return Ok(None);
    }
    written?;
    let name = format!("batch-{}-report-{}.csv", report.batch, report.number);
    Ok(Some(Attachment { name, text: String::from_utf8_lossy(&out.bytes).into_owned() }))
}

/// Bytes in memory, up to a number of them.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    is_over: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(bytes.len()) > self.most {
            self.is_over = true;
            return Err(io::Error::other("the table is too large for a mail"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn text_of(lines: &[(&str, String)], end: &str) -> String {
    let mut text = String::new();
    for (name, value) in lines {
        let _ = writeln!(text, "{:13} {value}", format!("{name}:"));
    }
    let _ = write!(text, "\n{end}\n");
    text
}

/// Lines of a mail as a table, and what stands below it.
pub(crate) fn html_of(lines: &[(&str, String)], end: &str) -> String {
    let rows = lines
        .iter()
        .map(|(name, value)| format!("<tr><th>{}</th><td><bdi>{}</bdi></td></tr>\n", escaped(name), escaped(value)));
    format!("<table>\n{}</table>\n<p>{}</p>\n", rows.collect::<String>(), escaped(end))
}
