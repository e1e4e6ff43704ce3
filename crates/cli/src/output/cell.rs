//! What a cell of a table shows of a value: identifiers, times, sizes, numbers and texts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use uuid::Uuid;

use super::fit::{self, Keep};
use super::{printable, size, text_of};

/// Columns whose numbers are bytes.
const SIZES: [&str; 5] = ["size", "bytes", "restored_bytes", "deleted_bytes", "without_price"];
/// Columns with paths: the end of a long one is shown.
const PATHS: [&str; 2] = ["path", "key"];
/// Columns with names that are distinguished by both of their ends.
const NAMES: [&str; 5] = ["institution", "target", "record", "result", "document"];
/// Columns with objects, `INSTITUTION/NAME`, or identifiers.
const OBJECTS: [&str; 3] = ["object", "identifier", "name"];
/// The column with what is wrong: an object, and a path in it.
const NAMED: &str = "what";
/// Characters of a shortened identifier before and behind what is left out.
const SHORT_IDENTIFIER: (usize, usize) = (8, 4);
/// Characters of a shortened identifier between them, at least and at most: few of them may be in another identifier as well, elsewhere.
const MIDDLE: (usize, usize) = (7, 20);

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    /// A shorter text that says the same, where there is one.
    pub(super) short: Option<String>,
    pub(super) is_number: bool,
    pub(super) keep: Keep,
}

impl Cell {
    /// A text in a column.
    pub(super) fn of_text(column: &str, text: &str) -> Self {
        let keep = if PATHS.contains(&column) {
            Keep::End
        } else if column == NAMED {
            Keep::Named
        } else if NAMES.contains(&column) || (OBJECTS.contains(&column) && !text.contains('/') && column != "name") {
            Keep::Ends
        } else if OBJECTS.contains(&column) && text.contains('/') {
            Keep::Object
        } else {
            Keep::Beginning
        };
        Self { text: printable(text), short: None, is_number: false, keep }
    }

    /// A value in a column.
    pub(super) fn of_value(column: &str, value: &Value, zone: &TimeZone) -> Self {
        match value {
            Value::Number(number) => {
                let text = if SIZES.contains(&column) { size_of(number) } else { number.to_string() };
                Self { is_number: true, ..Self::of_text(column, &text) }
            }
            Value::String(text) => Self::of_string(column, text, zone),
            other => Self::of_text(column, &text_of(other)),
        }
    }

    fn of_string(column: &str, text: &str, zone: &TimeZone) -> Self {
        if is_identifier(text) {
            let (before, behind) = SHORT_IDENTIFIER;
            let (beginning, end) = (text.get(..before), text.get(text.len() - behind..));
            let short = beginning.zip(end).map(|(beginning, end)| format!("{beginning}…{end}"));
            return Self { short, keep: Keep::Ends, ..Self::of_text(column, text) };
        }
        if let Some(time) = time_of(text) {
            let (text, short) = (local_second(time, zone), Some(local_minute(time, zone)));
            return Self { short, ..Self::of_text(column, &text) };
        }
        Self::of_text(column, text)
    }

    /// The text that a table of limited width shows where there is room for it.
    pub(super) fn shown(&self, is_shortened: bool) -> &str {
        self.short.as_deref().filter(|_| is_shortened).unwrap_or(&self.text)
    }

    pub(super) fn width(&self, is_shortened: bool) -> usize {
        fit::width_of(self.shown(is_shortened))
    }
}

/// A number of bytes with its unit; one below nothing is what was taken away.
fn size_of(number: &serde_json::Number) -> String {
    match (number.as_u64(), number.as_i64()) {
        (Some(bytes), _) => size(bytes),
        (None, Some(bytes)) => format!("-{}", size(bytes.unsigned_abs())),
        (None, None) => number.to_string(),
    }
}

/// Shortens the identifiers of each column of these rows so that different ones stay different, with what they differ by in the middle:
/// those that were made together begin alike, and those of the rows of a manifest end alike, too.
pub(super) fn distinguish(rows: &mut [Vec<Cell>]) {
    for column in 0..rows.iter().map(Vec::len).max().unwrap_or_default() {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let texts = cells.filter(|cell| is_identifier(&cell.text)).map(|cell| cell.text.clone());
        let Some(range) = difference(&texts.collect()) else { continue };
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)).filter(|cell| is_identifier(&cell.text)) {
            cell.short = with_middle(&cell.text, &range);
        }
    }
}

/// Where identifiers that would be shortened to the same text differ; none where there are none.
fn difference(texts: &BTreeSet<String>) -> Option<Range<usize>> {
    let (before, behind) = SHORT_IDENTIFIER;
    let mut firsts: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut range: Option<Range<usize>> = None;
    for text in texts {
        let ends = (text.get(..before)?, text.get(text.len().checked_sub(behind)?..)?);
        let first = *firsts.entry(ends).or_insert(text);
        let differ = |(one, other): (u8, u8)| one != other;
        let from = first.bytes().zip(text.bytes()).position(differ);
        let to = text.len() - first.bytes().rev().zip(text.bytes().rev()).position(differ).unwrap_or_default();
        if let Some(from) = from {
            range = Some(range.map_or(from..to, |range| range.start.min(from)..range.end.max(to)));
        }
    }
    range.map(|range| range.start.min(range.end.saturating_sub(MIDDLE.0)).max(before)..range.end)
}

/// An identifier with its beginning, this part of it, and its end; none where that is hardly shorter than the whole.
fn with_middle(text: &str, part: &Range<usize>) -> Option<String> {
    let (before, behind) = SHORT_IDENTIFIER;
    let (beginning, middle) = (text.get(..before)?, text.get(part.clone())?);
    let end = text.get(text.len().checked_sub(behind)?..)?;
    (middle.len() <= MIDDLE.1).then(|| format!("{beginning}…{middle}…{end}"))
}

fn is_identifier(text: &str) -> bool {
    text.len() == uuid::fmt::Hyphenated::LENGTH && text.is_ascii() && Uuid::try_parse(text).is_ok()
}

/// A time as records have it: RFC 3339 in UTC.
pub(super) fn time_of(text: &str) -> Option<Timestamp> {
    let has_form = text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    has_form.then(|| text.parse().ok()).flatten()
}

/// The local date and minute.
pub(super) fn local_minute(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// The local date and second, with the offset from UTC.
pub(super) fn local_second(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(column: &str, value: &Value) -> Cell {
        Cell::of_value(column, value, &TimeZone::get("Europe/Berlin").expect("a time zone"))
    }

    #[test]
    fn identifiers_that_begin_and_end_alike_are_shortened_to_what_they_differ_by() {
        let shorts = |texts: &[&str]| {
            let mut rows: Vec<Vec<Cell>> = texts.iter().map(|text| vec![cell("item", &json!(text))]).collect();
            distinguish(&mut rows);
            rows.iter().map(|row| row[0].shown(true).to_owned()).collect::<Vec<_>>()
        };
        let rows = ["01a206d3-9f8e-7000-8004-01d979e0815a", "01a206d3-9f8e-7000-8008-01d979e0815a"];
        assert_eq!(shorts(&rows), ["01a206d3…00-8004…815a", "01a206d3…00-8008…815a"]);
        let third = "01a206d3-9f8e-7001-8008-01d979e0815a";
        let of_three = shorts(&[rows[0], rows[1], third]);
        assert_eq!(of_three, ["01a206d3…00-8004…815a", "01a206d3…00-8008…815a", "01a206d3…01-8008…815a"]);
        assert_eq!(shorts(&[rows[0], rows[0]]), ["01a206d3…815a", "01a206d3…815a"], "one and the same");
        let other = "01a206d3-9f8e-7000-8004-01d979e0815b";
        assert_eq!(shorts(&[rows[0], other]), ["01a206d3…815a", "01a206d3…815b"]);
        let far = "01a206d3-0f8e-7000-8004-31d979e0815a";
        assert_eq!(shorts(&[rows[0], far]), ["01a206d3…9f8e-7000-8004-0…815a", "01a206d3…0f8e-7000-8004-3…815a"]);
    }

    #[test]
    fn a_time_is_local_and_an_identifier_is_short() {
        let time = cell("created_at", &json!("2026-07-01T22:30:15.123456Z"));
        assert_eq!((time.shown(true), time.shown(false)), ("2026-07-02 00:30", "2026-07-02 00:30:15+02:00"));
        let id = cell("item", &json!("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"));
        assert_eq!(id.shown(true), "0190a1b2…4a5b");
        assert_eq!(id.shown(false), "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b");
    }

    #[test]
    fn bytes_have_units_and_other_numbers_are_as_they_are() {
        assert_eq!(cell("bytes", &json!(3 << 20)).text, "3.0 MiB");
        assert_eq!(cell("deleted_bytes", &json!(-2048)).text, "-2.0 KiB");
        assert_eq!((cell("items", &json!(2048)).text.as_str(), cell("items", &json!(2048)).is_number), ("2048", true));
        assert!(!cell("note", &json!("2048")).is_number);
    }
}
