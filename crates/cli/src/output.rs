//! What a command answers on standard output: tables and fields for people, JSON Lines for scripts. A reader that goes
//! away ends the command quietly.

use std::cell::{RefCell, RefMut};
use std::io::{self, BufWriter, Stdout, Write as _};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use strongroom_engine::EngineError;

use crate::failure::{Exit, Failure};

/// Rows that a table gathers before it knows how wide its columns are.
const TABLE_ROWS: usize = 500;
/// Wider cells are cut in tables of several columns.
const CELL: usize = 60;

/// Names and values of a struct's fields, in order.
struct Fields(Vec<(String, Value)>);

impl Fields {
    fn of(report: &impl Serialize) -> Result<Self, Failure> {
        let text = serde_json::to_string(report);
        text.and_then(|text| serde_json::from_str(&text)).map_err(|error| unwritable(&error))
    }

    fn get(&self, name: &str) -> &Value {
        self.0.iter().find(|(known, _)| known == name).map_or(&Value::Null, |(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a struct")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

fn unwritable(error: &serde_json::Error) -> Failure {
    Failure::new(Exit::OutOfReach, format!("could not write the answer as JSON: {error}"))
}

/// Declares what a command answers that no function of the engine does.
macro_rules! report {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type,)*
        }
    };
}
pub(crate) use report;

/// Standard output.
pub(crate) struct Output {
    is_json: bool,
    writer: RefCell<BufWriter<Stdout>>,
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        Self { is_json, writer: RefCell::new(BufWriter::new(io::stdout())) }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// A line for people; nothing where scripts read.
    pub(crate) fn say(&self, line: impl AsRef<str>) -> Result<(), Failure> {
        if self.is_json { Ok(()) } else { self.line(line.as_ref()) }
    }

    /// A line, whoever reads.
    pub(crate) fn line(&self, line: &str) -> Result<(), Failure> {
        writeln!(self.writer.borrow_mut(), "{line}").map_err(|error| failed(&error))
    }

    /// Bytes as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer.borrow_mut().write_all(bytes).map_err(|error| failed(&error))
    }

    /// A document that the engine writes. A reader that goes away ends it quietly.
    pub(crate) fn document(
        &self,
        write: impl FnOnce(&mut dyn io::Write) -> Result<(), EngineError>,
    ) -> Result<(), Failure> {
        let mut writer = WatchedWriter { writer: self.writer.borrow_mut(), is_closed: false };
        let outcome = write(&mut writer);
        if writer.is_closed { Err(Failure::closed_output()) } else { Ok(outcome?) }
    }

    /// One JSON object on one line.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|error| unwritable(&error))?;
        self.line(&text)
    }

    /// One thing with all its fields.
    pub(crate) fn show(&self, report: &impl Serialize) -> Result<(), Failure> {
        self.show_named(report, &[])
    }

    /// The same, where people see other names of some fields than scripts.
    pub(crate) fn show_named(&self, report: &impl Serialize, names: &[(&str, &str)]) -> Result<(), Failure> {
        if self.is_json {
            return self.json(report);
        }
        let Fields(mut fields) = Fields::of(report)?;
        for (name, _) in &mut fields {
            if let Some((_, shown)) = names.iter().find(|(known, _)| known == name) {
                *name = (*shown).to_owned();
            }
        }
        let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in fields {
            let text = text_of(&value);
            if !text.is_empty() {
                self.line(&format!("{name:width$}  {text}"))?;
            }
        }
        Ok(())
    }

    /// A table whose rows come one by one; for people only these columns.
    pub(crate) fn table<'o>(&'o self, columns: &'static [&'static str]) -> Table<'o> {
        Table { output: self, columns, rows: Vec::new(), is_begun: false }
    }

    /// Hands over what was written so far.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.writer.borrow_mut().flush().map_err(|error| failed(&error))
    }
}

/// A writer that remembers whether its reader went away.
struct WatchedWriter<'o> {
    writer: RefMut<'o, BufWriter<Stdout>>,
    is_closed: bool,
}

impl io::Write for WatchedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes).inspect_err(|error| self.is_closed |= error.kind() == io::ErrorKind::BrokenPipe)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().inspect_err(|error| self.is_closed |= error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// See [`Output::table`].
pub(crate) struct Table<'o> {
    output: &'o Output,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
    is_begun: bool,
}

impl Table<'_> {
    /// Adds a row.
    pub(crate) fn row(&mut self, report: &impl Serialize) -> Result<(), Failure> {
        self.row_with(report, &[])
    }

    /// Adds a row; people see these texts in the columns of these names, scripts the fields as they are.
    pub(crate) fn row_with(&mut self, report: &impl Serialize, cells: &[(&str, String)]) -> Result<(), Failure> {
        if self.output.is_json {
            return self.output.json(report);
        }
        let fields = Fields::of(report)?;
        let cell = |column: &&str| {
            if let Some((_, text)) = cells.iter().find(|(name, _)| name == column) {
                return printable(text);
            }
            text_of(fields.get(column))
        };
        let mut cells: Vec<String> = self.columns.iter().map(cell).collect();
        // The last column may be as long as it is: nothing stands behind it.
        let before_last = cells.len().saturating_sub(1);
        for cell in cells.iter_mut().take(before_last) {
            *cell = beginning_of(cell, CELL);
        }
        self.rows.push(cells);
        if self.rows.len() >= TABLE_ROWS { self.write() } else { Ok(()) }
    }

    /// Ends the table; `none` is said where it has no rows.
    pub(crate) fn end(mut self, none: &str) -> Result<(), Failure> {
        if self.rows.is_empty() && !self.is_begun {
            return self.output.say(none);
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), Failure> {
        let mut lines: Vec<Vec<String>> = Vec::with_capacity(self.rows.len() + 1);
        if !self.is_begun {
            lines.push(self.columns.iter().map(|column| column.replace('_', " ").to_uppercase()).collect());
        }
        lines.append(&mut self.rows);
        self.is_begun = true;
        let mut widths = vec![0; self.columns.len()];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in &lines {
            let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
            self.output.line(cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// A value for people: control characters of strangers' names never reach a terminal.
fn text_of(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| format!("{name}={}", text_of(value)))
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    };
    printable(&text)
}

/// Whether a character moves the cursor, ends the line, or changes the order in which others are shown (the bidirectional
/// formatting characters of Unicode Standard Annex 9, section 2).
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A text that does nothing to a terminal, on one line.
pub(crate) fn printable(text: &str) -> String {
    if !text.chars().any(is_unprintable) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_unprintable(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// As [`printable`], line by line: for texts of ours that have several.
pub(crate) fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// A path of at most `width` characters: of a longer one the end, with the file's name.
pub(crate) fn end_of(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count + 1 - width).collect();
    format!("…{end}")
}

/// The beginning of a text that is longer than `width` characters.
pub(crate) fn beginning_of(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

fn failed(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::closed_output();
    }
    Failure::new(Exit::OutOfReach, format!("could not write to standard output: {error}"))
}

/// A number with the word for one or for many.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Bytes in the unit that reads best.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(end_of("data/a.txt", 10), "data/a.txt");
        assert_eq!(end_of("data/é/a.txt", 10), "…a/é/a.txt");
    }

    #[test]
    fn what_would_steer_a_terminal_or_turn_the_reading_order_is_escaped() {
        assert_eq!(printable("r\u{e9}sum\u{e9} \u{5e9}\u{5dc}.pdf"), "r\u{e9}sum\u{e9} \u{5e9}\u{5dc}.pdf");
        assert_eq!(printable("a\u{1b}[31m\r\nb\u{9b}"), "a\\u{1b}[31m\\r\\nb\\u{9b}");
        for character in ['\u{202A}', '\u{202E}', '\u{2066}', '\u{2069}', '\u{200F}', '\u{61C}', '\u{2028}'] {
            let text = printable(&format!("a{character}b"));
            assert!(text.is_ascii(), "{text}");
        }
        assert_eq!(printable_lines("one\n\ttwo"), "one\n\\ttwo");
    }
}
