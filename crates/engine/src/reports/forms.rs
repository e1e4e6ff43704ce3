//! Reports as JSON Lines, CSV and HTML, and the words that people read of them. Names come from strangers: nothing of them becomes markup, a
//! formula, a further line, or changes the order in which text is shown.

use std::io::{self, Write};

use strongroom_listing::csv;
use strongroom_registry::reports::RowFilter;
use strongroom_registry::{ReportKind, counted};

use super::view::ROW_KEYS;
use super::{ReportRowView, ReportView, sections};
use crate::EngineError;

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// JSON Lines: the report, then each of its rows.
    Json,
    /// CSV (RFC 4180): a line for each row.
    Csv,
    /// A document for browsers that needs nothing else.
    Html,
}

/// Gives the rows of a report one by one.
pub(crate) type Rows<'r> = dyn Fn(RowFilter) -> Box<dyn Iterator<Item = Result<ReportRowView, EngineError>> + 'r> + 'r;

/// Writes a report in a form.
pub(crate) fn write(
    form: ReportForm,
    report: &ReportView,
    rows: &Rows<'_>,
    out: &mut dyn Write,
) -> Result<(), EngineError> {
    match form {
        ReportForm::Json => write_json(report, rows, out),
        ReportForm::Csv => write_csv(rows, out),
        ReportForm::Html => write_html(report, rows, out),
    }
}

fn failed(source: io::Error) -> EngineError {
    EngineError::Io { act: "write", path: "the report".to_owned(), source }
}

fn write_json(report: &ReportView, rows: &Rows<'_>, out: &mut dyn Write) -> Result<(), EngineError> {
    let mut line = |value: serde_json::Result<String>| {
        let value = value.map_err(|error| failed(error.into()))?;
        writeln!(out, "{value}").map_err(failed)
    };
    line(serde_json::to_string(report))?;
    for row in rows(RowFilter::default()) {
        line(serde_json::to_string(&row?))?;
    }
    Ok(())
}

fn write_csv(rows: &Rows<'_>, out: &mut dyn Write) -> Result<(), EngineError> {
    let mut line = |mut line: Vec<u8>| {
        line.extend_from_slice(b"\r\n");
        out.write_all(&line).map_err(failed)
    };
    line(csv::line(ROW_KEYS))?;
    for row in rows(RowFilter::default()) {
        let row = row?;
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        line(csv::line([
            number(row.row),
            row.name,
            row.state.to_string(),
            row.object,
            number(row.version),
            row.ark.unwrap_or_default(),
            row.local_ids.join("; "),
            row.stage,
            row.code.unwrap_or_default(),
            row.message.unwrap_or_default(),
            row.changed.to_string(),
            row.unresolved.to_string(),
            row.item.to_string(),
        ]))?;
    }
    Ok(())
}

const STYLE: &str = "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin:1em 0}\
th,td{border:1px solid #bbb;padding:.3em .6em;text-align:left;vertical-align:top}th{background:#eee}\
.failed,.cancelled,.held{background:#fde8e8}";

fn write_html(report: &ReportView, rows: &Rows<'_>, out: &mut dyn Write) -> Result<(), EngineError> {
    let title = title(report);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
        escaped(&title),
        escaped(&title)
    )
    .map_err(failed)?;
    out.write_all(facts_as_html(report).as_bytes()).map_err(failed)?;
    for (title, filter) in sections(report) {
        write!(out, "<h2>{title}</h2>\n{TABLE_HEAD}").map_err(failed)?;
        for row in rows(filter) {
            out.write_all(row_as_html(&row?).as_bytes()).map_err(failed)?;
        }
        out.write_all(b"</table>\n").map_err(failed)?;
    }
    out.write_all(b"</body>\n</html>\n").map_err(failed)
}

/// What a table of rows begins with.
pub(super) const TABLE_HEAD: &str = "<table>\n<tr><th>Row</th><th>Name</th><th>State</th><th>Object</th><th>Version</th><th>ARK</th>\
<th>Local identifiers</th><th>Code</th><th>Message</th></tr>\n";

/// A row of a table.
pub(super) fn row_as_html(row: &ReportRowView) -> String {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let text = |text: &str| if text.is_empty() { String::new() } else { format!("<bdi>{}</bdi>", escaped(text)) };
    format!(
        "<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        row.state,
        number(row.row),
        text(&row.name),
        row.state,
        text(&row.object),
        number(row.version),
        text(row.ark.as_deref().unwrap_or_default()),
        text(&row.local_ids.join("; ")),
        text(row.code.as_deref().unwrap_or_default()),
        text(row.message.as_deref().unwrap_or_default()),
    )
}

/// What a report is about, for its first line.
pub(super) fn title(report: &ReportView) -> String {
    let kind = match report.kind {
        ReportKind::Final => "Report",
        ReportKind::Update => "Update",
        ReportKind::Provisional => "Provisional report",
    };
    format!("{kind} {} of batch {}", report.number, report.batch)
}

/// What a report says of the whole batch: names and texts of one line each.
pub fn facts(report: &ReportView) -> Vec<(&'static str, String)> {
    let place = match &report.collection {
        Some(collection) => format!("{}/{collection}", report.institution),
        None => report.institution.clone(),
    };
    let mut facts = vec![
        ("Collection", place),
        ("Submitted", report.submitted_at.clone()),
        ("By", printable(&report.submitted_by)),
    ];
    if let Some(note) = &report.note {
        facts.push(("Note", printable(note)));
    }
    facts.push(("True of", report.made_at.clone()));
    if let Some(who) = &report.made_by {
        facts.push(("Asked for by", printable(who)));
    }
    if report.kind == ReportKind::Provisional {
        facts.push((
            "Provisional",
            format!("the batch was {}; its report follows when all its items have ended", report.state),
        ));
    }
    if let Some(time) = &report.deleted_at {
        facts.push(("Deleted", time.clone()));
    }
    facts.push(("Items", counts(report)));
    if report.kind == ReportKind::Update {
        facts.push(("Changed", format!("{} since the last report", counted(report.changed, "item", "items"))));
    }
    facts
}

/// The items of a report by their states.
pub(super) fn counts(report: &ReportView) -> String {
    let counts = [
        ("succeeded", report.succeeded),
        ("failed", report.failed),
        ("cancelled", report.cancelled),
        ("deleted", report.deleted),
        ("held", report.held),
        ("at work", report.open.saturating_sub(report.held)),
    ];
    let parts: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{count} {word}")).collect();
    if parts.is_empty() { report.items.to_string() } else { format!("{}: {}", report.items, parts.join(", ")) }
}

/// The same as a table.
pub(super) fn facts_as_html(report: &ReportView) -> String {
    let rows = facts(report)
        .into_iter()
        .map(|(name, text)| format!("<tr><th>{}</th><td><bdi>{}</bdi></td></tr>\n", escaped(name), escaped(&text)));
    format!("<table>\n{}</table>\n", rows.collect::<String>())
}

/// A text on one line, in which no character changes the order of others (Unicode Standard Annex 9, section 2).
pub(crate) fn printable(text: &str) -> String {
    let is_unprintable = |c: char| {
        c.is_control()
            || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_unprintable(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// A text as it stands in HTML, in an attribute too.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use strongroom_registry::{ItemId, ItemStatus};

    use super::*;

    const NAMES: [&str; 6] = [
        "a,b.txt",
        "a\"b.txt",
        "a\nb.txt",
        "=cmd|' /C calc'!A0",
        "invoice\u{202e}fdp.exe",
        "<script>alert(1)</script>",
    ];

    fn row(name: &str) -> ReportRowView {
        ReportRowView {
            row: Some(1),
            name: name.to_owned(),
            state: ItemStatus::Failed,
            object: format!("example.edu/{name}"),
            version: None,
            ark: None,
            local_ids: vec![name.to_owned()],
            stage: "fetch".to_owned(),
            code: None,
            message: Some(format!("could not read {name}")),
            changed: true,
            unresolved: true,
            item: ItemId::new(),
        }
    }

    #[test]
    fn no_name_becomes_a_formula_a_row_or_another_field_of_a_spreadsheet() {
        for name in NAMES {
            let mut out = Vec::new();
            let rows = |_| Box::new(std::iter::once(Ok(row(name)))) as Box<dyn Iterator<Item = _>>;
            write_csv(&rows, &mut out).expect("is written");
            let text = String::from_utf8(out).expect("UTF-8");
            let (head, line) = text.split_once("\r\n").expect("two lines");
            assert_eq!(head, ROW_KEYS.join(","));
            assert!(line.ends_with("\r\n"));
            assert!(!line.contains(",=") && !line.contains(",\"="), "{line}");
            let fields = fields_of(line.trim_end_matches("\r\n"));
            assert_eq!(fields.len(), ROW_KEYS.len(), "{line}");
            assert_eq!(fields[1].trim_start_matches('\''), name);
        }
    }

    /// The fields of a line (RFC 4180).
    fn fields_of(line: &str) -> Vec<String> {
        let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if is_quoted && characters.peek() == Some(&'"') => {
                    characters.next();
                    field.push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
                other => field.push(other),
            }
        }
        fields.push(field);
        fields
    }

    #[test]
    fn no_name_becomes_markup_or_turns_the_reading_order_of_a_page() {
        for name in NAMES {
            let html = row_as_html(&row(name));
            assert!(!html.contains("<script") && !html.contains('\u{202e}'), "{html}");
            assert_eq!(html.matches('\n').count(), 1, "{html}");
            assert_eq!((html.matches("<td>").count(), html.matches("</td>").count()), (9, 9), "{html}");
        }
    }
}
