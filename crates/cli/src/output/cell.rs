//! What a cell of a table shows of a value: identifiers, times, sizes, numbers and texts.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use uuid::Uuid;

use super::fit::{self, Keep};
use super::{printable, size, text_of};

/// Columns whose numbers are bytes.
const SIZES: [&str; 2] = ["size", "bytes"];
/// Columns with paths: the end of a long one is shown.
const PATHS: [&str; 2] = ["path", "key"];
/// Columns with names that are distinguished by both of their ends.
const NAMES: [&str; 2] = ["institution", "target"];
/// Columns with objects, `INSTITUTION/NAME`, or identifiers.
const OBJECTS: [&str; 3] = ["object", "identifier", "name"];
/// The column with what is wrong: an object, and a path in it.
const NAMED: &str = "what";
/// Characters of a shortened identifier before and behind what is left out.
const SHORT_IDENTIFIER: (usize, usize) = (8, 4);

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
                let bytes = number.as_u64().filter(|_| SIZES.contains(&column));
                let text = bytes.map_or_else(|| number.to_string(), size);
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
        assert_eq!((cell("items", &json!(2048)).text.as_str(), cell("items", &json!(2048)).is_number), ("2048", true));
        assert!(!cell("note", &json!("2048")).is_number);
    }
}
