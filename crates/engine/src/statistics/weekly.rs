//! The weekly storage report by mail: to the admins of each institution, and to those who run the installation. The week that was reported last
//! is noted in the transaction that inserts the mails, so that each is sent once, whatever the number of processes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use strongroom_registry::statistics::{self as rows, Flow, Growth, Span};
use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::users::{self, UserFilter};
use strongroom_registry::{InstitutionId, RegistryError, Scope, Time, UserRole};

use super::days::{begin_of, date_of, day_of};
use super::quotas::{QuotaUse, of_institution};
use crate::notifications::{Mail, Prepared};
use crate::reports::escaped;
use crate::settings::readable_size;
use crate::{EngineError, Home};

/// The fact that has the day of the last report.
const REPORTED: &str = "statistics.weekly_report";
/// What the figures have besides what depositors sent.
const RECORDS: &str = "Files and bytes include the records that Strongroom keeps of each version.";
const PAGE: usize = 500;
const MOST_ADMINS: usize = 100;
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Inserts the mails that are due; how many.
pub(crate) fn report(home: &Home) -> Result<u64, EngineError> {
    let settings = &home.settings.statistics;
    let Some(weekday) = WEEKDAYS.iter().position(|day| *day == settings.weekly_report) else { return Ok(0) };
    if !home.settings.mail.is_set() {
        return Ok(0);
    }
    let due = last_due(super::now(home)?, weekday, settings.weekly_report_hour);
    let reported = home.registry.read(|tx| tenants::fact(tx, REPORTED))?.and_then(|day| day.parse::<i64>().ok());
    if reported.is_some_and(|reported| reported >= due) {
        return Ok(0);
    }
    // An installation that begins has nothing to report of the week before.
    let mails = if reported.is_some() { compose(home, due)? } else { Vec::new() };
    let count = mails.len() as u64;
    home.registry
        .write(move |tx| {
            let known = tenants::fact(tx, REPORTED)?.and_then(|day| day.parse::<i64>().ok());
            if known != reported {
                return Ok(0);
            }
            tenants::set_fact(tx, REPORTED, &due.to_string())?;
            for (institution, mail) in &mails {
                mail.insert(tx, *institution, None)?;
            }
            Ok::<_, RegistryError>(count)
        })
        .map_err(EngineError::from)
}

/// The last day on which a report was due; its hour is past.
fn last_due(now: Time, weekday: usize, hour: u64) -> i64 {
    let hours = i64::try_from(hour).unwrap_or(0);
    let day = day_of(now.plus(-hours.saturating_mul(3_600_000_000)));
    // 1970-01-01 was a Thursday.
    let back = (day + 3 - i64::try_from(weekday).unwrap_or(0)).rem_euclid(7);
    day - back
}

fn compose(home: &Home, due: i64) -> Result<Vec<(InstitutionId, Prepared)>, EngineError> {
    let (mut mails, mut after) = (Vec::new(), String::new());
    loop {
        let page = home.registry.read(|tx| tenants::institutions(tx, Scope::System, &after, PAGE))?;
        let Some(last) = page.last() else { return Ok(mails) };
        after.clone_from(&last.identifier);
        for institution in &page {
            if let Some(mail) = mail_of(home, institution, due)? {
                mails.push((institution.id, mail));
            }
        }
    }
}

/// The report of an institution that keeps something, or did something in the week.
fn mail_of(home: &Home, institution: &Institution, due: i64) -> Result<Option<Prepared>, EngineError> {
    let span = super::span(home, Scope::Institution(institution.id))?;
    let week = (due - 7, due);
    let (flow, stores, used, admins) = home.registry.read(|tx| {
        let flow = flow_of(tx, span, week)?;
        let stores = rows::storage_at(tx, span, due - 1)?;
        let wanted = UserFilter { role: Some(UserRole::InstitutionAdmin), deactivated_too: false };
        let admins = users::list(tx, Scope::Institution(institution.id), wanted, "", MOST_ADMINS)?;
        Ok::<_, RegistryError>((flow, stores, of_institution(tx, institution)?, admins))
    })?;
    let mut by_store: BTreeMap<String, Growth> = BTreeMap::new();
    for row in stores {
        let of_store = by_store.entry(row.store).or_default();
        of_store.objects += row.growth.objects;
        of_store.files += row.growth.files;
        of_store.bytes += row.growth.bytes;
    }
    if by_store.is_empty() && flow == Flow::default() {
        return Ok(None);
    }
    let lines = lines_of(&flow, &by_store, used.as_ref(), home.settings.statistics.quota_warning);
    let name = &institution.identifier;
    let (from, until) = (date_of(due - 7), date_of(due - 1));
    let subject = format!("Storage report of {name}: {from} to {until}");
    let begin = format!("Storage report of {name}, {from} to {until}, days in UTC");
    let end = format!("{RECORDS} More figures: strongroom report deposits --institution {name} --by day");
    let mut text = format!("{begin}\n\n");
    for (what, value) in &lines {
        let _ = writeln!(text, "{:28} {value}", format!("{what}:"));
    }
    let text = format!("{text}\n{end}\n");
    let operators = home.settings.mail.admins.clone();
    let to: Vec<String> = admins.into_iter().map(|user| user.email).collect();
    let (to, bcc) = if to.is_empty() { (operators, Vec::new()) } else { (to, operators) };
    let html = html_of(&begin, &lines, &end);
    let mail = Mail { to, bcc, subject, text, html, ..Mail::default() };
    Ok(mail.prepare(&home.settings.mail, format!("storage report {} {}", institution.id, begin_of(due))))
}

fn flow_of(tx: &mut dyn strongroom_registry::Transaction, span: Span, week: (i64, i64)) -> Result<Flow, RegistryError> {
    let (mut sum, mut after) = (Flow::default(), None);
    loop {
        let page = rows::days(tx, span, week, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(sum) };
        after = Some(last.cursor);
        for row in &page {
            sum.add(&row.flow);
        }
    }
}

fn lines_of(
    flow: &Flow,
    stores: &BTreeMap<String, Growth>,
    used: Option<&QuotaUse>,
    warning: u64,
) -> Vec<(String, String)> {
    let mut lines = vec![
        ("New objects".to_owned(), flow.objects.to_string()),
        ("New versions".to_owned(), flow.versions.to_string()),
        ("Deposited".to_owned(), format!("{} files, {}", flow.files, sized(flow.bytes))),
        ("Restored".to_owned(), format!("{} results, {}", flow.restorations, sized(flow.restored_bytes))),
        ("Deleted".to_owned(), format!("{} files, {}", flow.deleted_files, sized(flow.deleted_bytes))),
    ];
    for (store, growth) in stores {
        let Growth { objects, files, bytes } = growth;
        lines.push((format!("Kept in {store}"), format!("{objects} objects, {files} files, {}", sized(*bytes))));
    }
    if let Some(used) = used {
        let percent = used.percent();
        let warned = if percent >= warning { "; deposits that pass the quota are refused" } else { "" };
        lines.push((
            "Storage quota".to_owned(),
            format!("{percent} % used: {} of {}{warned}", sized(signed(used.kept)), sized(signed(used.quota))),
        ));
    }
    lines
}

/// A size as people read it, with the exact bytes behind it.
fn sized(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    let size = bytes.unsigned_abs();
    if size < 1024 { format!("{bytes} bytes") } else { format!("{sign}{} ({bytes} bytes)", readable_size(size)) }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn html_of(begin: &str, lines: &[(String, String)], end: &str) -> String {
    let mut html = format!("<p>{}</p>\n<table>\n", escaped(begin));
    for (what, value) in lines {
        let _ = writeln!(html, "<tr><th align=\"left\">{}</th><td>{}</td></tr>", escaped(what), escaped(value));
    }
    let _ = write!(html, "</table>\n<p>{}</p>\n", escaped(end));
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_and_the_exact_bytes() {
        assert_eq!(sized(85_019), "83.0 KiB (85019 bytes)");
        assert_eq!(sized(-85_019), "-83.0 KiB (-85019 bytes)");
        assert_eq!(sized(17), "17 bytes");
    }

    #[test]
    fn a_report_is_due_once_a_week_at_its_hour() {
        let at = |text: &str| Time::from(text.parse::<jiff::Timestamp>().expect("a time"));
        let due = |text, weekday, hour| date_of(last_due(at(text), weekday, hour)).to_string();
        // 2026-03-02 was a Monday.
        assert_eq!(due("2026-03-02T05:59:59Z", 0, 6), "2026-02-23");
        assert_eq!(due("2026-03-02T06:00:00Z", 0, 6), "2026-03-02");
        assert_eq!(due("2026-03-08T23:59:59Z", 0, 6), "2026-03-02");
        assert_eq!(due("2026-03-08T23:59:59Z", 6, 0), "2026-03-08");
    }
}
