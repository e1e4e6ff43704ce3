//! Problems: what is wrong with a manifest, where, and what was expected there.

use std::fmt::Write as _;

use serde::Serialize;

use crate::codes::Rule;
use crate::column::Column;
use crate::mode::Mode;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The manifest, or the row, is refused.
    Error,
    /// The manifest is accepted.
    Warning,
}

/// One problem of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A stable dotted word such as `digest.malformed`; all are listed in [`crate::CODES`].
    pub code: &'static str,
    /// The row, from 1, not counting directives, comments and blank lines; nothing for what is not in a row.
    pub row: Option<u64>,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// The column, as Merritt writes its name.
    pub column: Option<&'static str>,
    /// What stands there: printable, and cut after 120 characters.
    pub value: Option<String>,
    /// What is wrong, with the value, and what was expected.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(rule: Rule, mode: Mode, message: impl Into<String>) -> Self {
        Self {
            severity: rule.severity(mode),
            code: rule.code,
            row: None,
            line: None,
            column: None,
            value: None,
            message: message.into(),
        }
    }

    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn in_row(mut self, row: u64, line: u64) -> Self {
        self.row = Some(row);
        self.at_line(line)
    }

    pub(crate) fn about(mut self, column: Column, value: &str) -> Self {
        self.column = Some(column.name());
        self.with_value(value)
    }

    pub(crate) fn with_value(mut self, value: &str) -> Self {
        self.value = Some(printable(value));
        self
    }
}

/// Most characters of a value that are shown.
const LONGEST_VALUE: usize = 120;

/// A value of a stranger as it may be shown: control characters and those that change the direction of text are escaped, and what is
/// long ends in an ellipsis.
pub(crate) fn printable(value: &str) -> String {
    let mut shown = String::with_capacity(value.len().min(LONGEST_VALUE));
    for (at, character) in value.chars().enumerate() {
        if at == LONGEST_VALUE {
            shown.push('…');
            break;
        }
        let is_hidden = character.is_control()
            || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
        if is_hidden {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The same between quotation marks.
pub(crate) fn quoted(value: &str) -> String {
    format!("\"{}\"", printable(value))
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn values_are_shown_without_control_characters_and_cut() {
        assert_eq!(printable("a\0b\r\u{202E}c é"), "a\\u{0}b\\u{d}\\u{202e}c é");
        let long = printable(&"x".repeat(1_000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (121, true));
    }
}
