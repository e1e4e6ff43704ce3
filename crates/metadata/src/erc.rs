//! ERC files: an Electronic Resource Citation in ANVL, as `mrt-erc.txt` has it.

use std::fmt::Write as _;

use crate::error::{Format, MetadataError, Place};
use crate::field::Field;
use crate::limits::Limits;
use crate::reading::{Collector, Reading, text_of};
use crate::record::Record;

const FORMAT: Format = Format::Erc;

/// Reads an ERC file: lines `LABEL: VALUE`, the labels in any case. A line that begins with white space continues the value before it;
/// lines that begin with `#`, and blank lines, are ignored. The short form `erc: WHO | WHAT | WHEN | WHERE` is read too. In values
/// `%25`, `%0A`, `%0D` and `%3A` stand for `%`, the line ends and the colon; every other `%` is itself.
///
/// # Errors
/// Every [`MetadataError`] about a file; lines are those on which a value begins.
///
/// ```
/// use strongroom_metadata::{Field, Limits, read_erc};
///
/// # fn main() -> Result<(), strongroom_metadata::MetadataError> {
/// let file = b"erc:\nwho: Lovelace, Ada\nwhat: Notes on the\n  analytical engine\nwhen: (:unas)\nwhere: ark:/99999/fk4x\n";
/// let record = read_erc(file, &Limits::default())?.record;
/// assert_eq!(record.first(Field::What), Some("Notes on the analytical engine"));
/// assert_eq!(record.first(Field::When), None);
/// # Ok(())
/// # }
/// ```
pub fn read_erc(bytes: &[u8], limits: &Limits) -> Result<Reading, MetadataError> {
    let text = text_of(FORMAT, bytes, limits)?;
    let syntax =
        |line: u64, reason: &str| MetadataError::Syntax { place: Place::line(FORMAT, line), reason: reason.to_owned() };
    let mut collector = Collector::new(FORMAT, limits);
    let mut open: Option<Statement<'_>> = None;
    for (number, line) in lines(text) {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let Some(statement) = &mut open else {
                return Err(syntax(
                    number,
                    "the line begins with white space, and there is no value that it continues",
                ));
            };
            if !statement.value.is_empty() {
                statement.value.push(' ');
            }
            statement.value.push_str(line.trim());
            continue;
        }
        let Some((label, value)) = line.split_once(':') else {
            return Err(syntax(number, "the line has no colon after its label"));
        };
        if let Some(statement) = open.take() {
            statement.finish(&mut collector)?;
        }
        open = Some(Statement { line: number, label: label.trim(), value: value.trim().to_owned() });
    }
    if let Some(statement) = open {
        statement.finish(&mut collector)?;
    }
    Ok(collector.finish())
}

/// A label and its value, with the lines that continue it.
struct Statement<'t> {
    line: u64,
    label: &'t str,
    value: String,
}

impl Statement<'_> {
    fn finish(&self, collector: &mut Collector<'_>) -> Result<(), MetadataError> {
        if self.label.eq_ignore_ascii_case("erc") {
            for (field, value) in Field::ERC.into_iter().zip(self.value.splitn(4, '|')) {
                collector.add(self.line, field, &decoded(value))?;
            }
            return Ok(());
        }
        if let Some(field) = Field::of_erc(self.label) {
            collector.add(self.line, field, &decoded(&self.value))
        } else {
            collector.ignore(self.line, self.label);
            Ok(())
        }
    }
}

/// The lines of a text with their numbers from 1; they end with LF, CR LF or CR.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut rest = Some(text);
    let lines = std::iter::from_fn(move || {
        let text = rest?;
        let Some((line, after)) = text.split_once(['\n', '\r']) else {
            rest = None;
            return Some(text);
        };
        let is_pair = text.get(line.len()..).is_some_and(|end| end.starts_with("\r\n"));
        rest = Some(if is_pair { after.get(1..).unwrap_or_default() } else { after });
        Some(line)
    });
    (1..).zip(lines)
}

/// The forms of characters that would be read as something else.
const FORMS: [(&str, char); 4] = [("%25", '%'), ("%0a", '\n'), ("%0d", '\r'), ("%3a", ':')];

fn decoded(value: &str) -> String {
    let mut decoded = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at);
        decoded.push_str(before);
        let form = after.get(..3).and_then(|form| FORMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(form)));
        let (character, length) = form.map_or(('%', 1), |&(_, character)| (character, 3));
        decoded.push(character);
        rest = after.get(length..).unwrap_or_default();
    }
    decoded.push_str(rest);
    decoded
}

/// Writes the fields of ERC as a file that [`read_erc`] reads as [`Record::erc`]; who, what and when that have no value as `(:unas)`.
pub fn write_erc(record: &Record) -> String {
    let mut file = String::from("erc:\n");
    for field in Field::ERC {
        let values = record.values(field);
        if values.is_empty() && field != Field::Where {
            let _ = writeln!(file, "{field}: (:unas)");
        }
        for value in values {
            let value = value.replace('%', "%25").replace('\n', "%0A").replace('\r', "%0D");
            let _ = writeln!(file, "{field}: {value}");
        }
    }
    file
}
