//! Why a description could not be read.

use std::fmt;

use crate::field::Field;

/// The kinds of files with descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An ERC file, `mrt-erc.txt`.
    Erc,
    /// Dublin Core in XML, `mrt-dc.xml`.
    DublinCore,
    /// DataCite in XML, `mrt-datacite.xml`.
    DataCite,
    /// A JSON object.
    Json,
    /// A table with a header.
    Csv,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Erc => "ERC",
            Self::DublinCore => "Dublin Core",
            Self::DataCite => "DataCite",
            Self::Json => "JSON",
            Self::Csv => "CSV",
        })
    }
}

/// Where in a file something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What was read; nothing for a value that comes from no file.
    pub format: Option<Format>,
    /// The line, from 1, where it is known.
    pub line: Option<u64>,
}

impl Place {
    /// A value that comes from no file.
    pub(crate) const NO_FILE: Self = Self { format: None, line: None };

    pub(crate) fn line(format: Format, line: u64) -> Self {
        Self { format: Some(format), line: Some(line) }
    }

    pub(crate) fn file(format: Format) -> Self {
        Self { format: Some(format), line: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.format, self.line) {
            (Some(format), Some(line)) => write!(f, "cannot read the {format} description at line {line}"),
            (Some(format), None) => write!(f, "cannot read the {format} description"),
            (None, _) => f.write_str("cannot take a value into a description"),
        }
    }
}

/// What stopped the reading of a description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The file is larger than [`crate::Limits::bytes`].
    #[error("{place}: it has {found} bytes, and at most {limit} are allowed")]
    TooLarge {
        /// Which file.
        place: Place,
        /// Its size in bytes.
        found: usize,
        /// The greatest size in bytes.
        limit: usize,
    },
    /// The file is not UTF-8, or says so of itself.
    #[error("{place}: it is not in UTF-8, the only encoding that is read: {reason}")]
    Encoding {
        /// Where.
        place: Place,
        /// What was found.
        reason: String,
    },
    /// The text is not what its format asks for.
    #[error("{place}: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong there.
        reason: String,
    },
    /// There are more values than [`crate::Limits::values`].
    #[error("{place}: it has more than {limit} values")]
    TooManyValues {
        /// Where the first value over the limit is.
        place: Place,
        /// The greatest number.
        limit: usize,
    },
    /// There are more rows than [`crate::Limits::rows`].
    #[error("{place}: it has more than {limit} rows")]
    TooManyRows {
        /// Where the first row over the limit is.
        place: Place,
        /// The greatest number.
        limit: usize,
    },
    /// A value is longer than [`crate::Limits::value_bytes`].
    #[error("{place}: a value of {field} has {found} bytes, and at most {limit} are allowed")]
    ValueTooLong {
        /// Where.
        place: Place,
        /// Of what.
        field: Field,
        /// Its length in bytes.
        found: usize,
        /// The greatest length in bytes.
        limit: usize,
    },
    /// A value has a character that XML cannot express.
    #[error("{place}: a value of {field} has the control character U+{:04X}", u32::from(*.character))]
    Character {
        /// Where.
        place: Place,
        /// Of what.
        field: Field,
        /// The character.
        character: char,
    },
    /// A name that stands for no field.
    #[error("{place}: there is no field {}; the fields are {}", quoted(.name), Field::names())]
    UnknownField {
        /// Where.
        place: Place,
        /// The name.
        name: String,
    },
}

/// A name or text of a stranger between quotation marks, as it may be shown: escaped, and cut after 80 characters.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut shown = String::from("\"");
    for (at, character) in text.chars().enumerate() {
        if at == SHOWN {
            shown.push('…');
            break;
        }
        let is_hidden = character.is_control()
            || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
        if is_hidden {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown.push('"');
    shown
}
