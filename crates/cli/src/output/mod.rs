//! What a command answers on standard output: tables and fields for people, JSON Lines for scripts. A reader that goes
//! away ends the command quietly.

mod cell;
mod fit;
mod table;
mod told;

use std::cell::{RefCell, RefMut};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write as _};
use std::os::fd::AsFd;

use jiff::tz::TimeZone;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use strongroom_engine::EngineError;
pub(crate) use strongroom_engine::settings::readable_size as size;

use crate::failure::{Exit, Failure};
pub(crate) use fit::{beginning_of, width_of};
pub(crate) use strongroom_engine::counted;
pub(crate) use table::{ListOptions, Table, TableOptions};
pub(crate) use told::{note_told, without_told};

/// Columns of a terminal whose width is not known.
const WIDTH: usize = 80;
/// Fewer columns than a table can be read in.
const LEAST_WIDTH: usize = 20;

/// Blanks between the name of a field and its text.
const NAME_GAP: usize = 2;

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

        impl strongroom_engine::app::views::View for $name {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
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

    /// A line, for people and scripts.
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
        let zone = TimeZone::system();
        for (name, value) in fields {
            let time = value.as_str().and_then(cell::time_of);
            let text = time.map_or_else(|| without_told(&text_of(&value)), |time| cell::local_second(time, &zone));
            if !text.is_empty() {
                self.field(&name, width + NAME_GAP, &text)?;
            }
        }
        Ok(())
    }

    /// A name and a text behind it from the column `indent` on. What is wider than the terminal goes on on further lines, whose words
    /// stay whole where they can.
    pub(crate) fn field(&self, name: &str, indent: usize, text: &str) -> Result<(), Failure> {
        let line = format!("{name:indent$}{text}");
        let Some(columns) = known_columns().filter(|columns| fit::width_of(line.trim_end()) > *columns) else {
            return self.line(line.trim_end());
        };
        let room = columns.saturating_sub(indent);
        let longest = text.split(' ').map(fit::width_of).max().unwrap_or(0);
        if longest > room {
            // A digest or path has more room below its name.
            if !name.is_empty() {
                self.line(name)?;
            }
            let lines = fit::wrapped(text, columns - NAME_GAP);
            return lines.iter().try_for_each(|line| self.line(&format!("{:NAME_GAP$}{line}", "")));
        }
        let mut name = name;
        fit::wrapped(text, room).iter().try_for_each(|line| {
            let name = std::mem::take(&mut name);
            self.line(format!("{name:indent$}{line}").trim_end())
        })
    }

    /// A table whose rows come one by one; for people only these columns.
    pub(crate) fn table<'o>(&'o self, columns: &[&'static str]) -> Table<'o> {
        Table::new(self, columns)
    }

    /// Hands over what was written so far.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.writer.borrow_mut().flush().map_err(|error| failed(&error))
    }
}

/// Columns of the terminal, or those of a terminal of the usual width where that is not known.
fn terminal_columns() -> usize {
    known_columns().unwrap_or(WIDTH)
}

/// Columns of the terminal: as `COLUMNS` says, else as wide as the terminal is; none where there is no terminal.
fn known_columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|width| *width > 0);
    said.or_else(terminal_width).map(|width: usize| width.max(LEAST_WIDTH))
}

/// The width of the terminal that standard output is; none where it is none, or does not say.
fn terminal_width() -> Option<usize> {
    width_of_terminal(&io::stdout())
}

/// The width of the terminal behind a descriptor, in columns; 80 where it is no terminal, or does not say.
pub(crate) fn columns_of(terminal: &(impl AsFd + IsTerminal)) -> usize {
    width_of_terminal(terminal).unwrap_or(WIDTH)
}

fn width_of_terminal(terminal: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = terminal.is_terminal().then(|| rustix::termios::tcgetwinsize(terminal).ok()).flatten()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
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

fn failed(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::closed_output();
    }
    Failure::new(Exit::OutOfReach, format!("could not write to standard output: {error}"))
}

/// A time of a record as the local date and minute; what is no time as it is.
pub(crate) fn minute(text: &str) -> String {
    cell::time_of(text).map_or_else(|| text.to_owned(), |time| cell::local_minute(time, &TimeZone::system()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
