//! What an identification says: every format that fits, how it was found and where, and what to be wary of.

use std::fmt;
use std::sync::Arc;

use crate::signatures::Format;

/// The answer about one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identification {
    /// All formats found, those that fit the extension first. More than one: nothing in PRONOM ranks them.
    pub matches: Vec<Match>,
    /// Formats that only the extension suggests.
    pub candidates: Vec<Arc<Format>>,
    /// What the answer may have missed, and why.
    pub warnings: Vec<Warning>,
}

/// A format that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Which.
    pub format: Arc<Format>,
    /// How.
    pub method: Method,
    /// Where; one entry for each signature that matched.
    pub basis: Vec<Basis>,
    /// The file's extension is none of the format's.
    pub extension_mismatch: bool,
}

/// How a format was found, the most reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// By members of a container.
    Container,
    /// By a byte signature.
    Signature,
    /// The bytes are text.
    Text,
    /// By the extension alone.
    Extension,
}

/// What a match rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A container signature.
    Container {
        /// Its id.
        signature: u32,
        /// The members that its rules found.
        members: Vec<Member>,
    },
    /// A byte signature.
    Signature {
        /// Its id.
        signature: u32,
        /// Where each of its sequences matched.
        spans: Vec<Span>,
    },
    /// The text test, with the encoding it found.
    Text(crate::text::Encoding),
    /// The extension, in lower case.
    Extension(String),
}

/// A member of a container that a rule asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path in the container.
    pub path: String,
    /// Where its sequences matched within it; empty where the name was enough.
    pub spans: Vec<Span>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte, from 0.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// What an answer may have missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The file is empty.
    Empty,
    /// It is a container that could not be read, or not far enough; the match rests on its bytes.
    ContainerUnreadable(String),
    /// A window was set, and what lies outside might have told more.
    WindowLimited {
        /// Bytes inspected from each end.
        window: u64,
    },
    /// The time for one file was spent.
    TimeSpent,
}

impl Identification {
    /// One answer, or none where there is more than one that fits equally well.
    pub fn conclusive(&self) -> Option<&Match> {
        match self.matches.as_slice() {
            [only] => Some(only),
            [first, rest @ ..] if !first.extension_mismatch && rest.iter().all(|other| other.extension_mismatch) => {
                Some(first)
            }
            _ => None,
        }
    }

    /// All warnings in one line; `None` where there are none.
    pub fn warning(&self) -> Option<String> {
        let lines: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

impl Match {
    /// The basis of the match in one line.
    pub fn basis_text(&self) -> String {
        let lines: Vec<String> = self.basis.iter().map(ToString::to_string).collect();
        lines.join("; ")
    }
}

impl Method {
    /// The word used in records and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Signature => "signature",
            Self::Text => "text",
            Self::Extension => "extension",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container { signature, members } => {
                write!(formatter, "container signature {signature}")?;
                for (index, member) in members.iter().enumerate() {
                    write!(formatter, "{} {:?}", if index == 0 { ": member" } else { ", member" }, member.path)?;
                    write_spans(formatter, &member.spans)?;
                }
                Ok(())
            }
            Self::Signature { signature, spans } => {
                write!(formatter, "signature {signature}")?;
                write_spans(formatter, spans)
            }
            Self::Text(encoding) => write!(formatter, "text, {encoding}"),
            Self::Extension(extension) => write!(formatter, "extension {extension}"),
        }
    }
}

/// ` at 0 (8 bytes) and 1024 (5 bytes)`
fn write_spans(formatter: &mut fmt::Formatter<'_>, spans: &[Span]) -> fmt::Result {
    for (index, span) in spans.iter().enumerate() {
        let word = if index == 0 { "at" } else { "and" };
        let unit = if span.length == 1 { "byte" } else { "bytes" };
        write!(formatter, " {word} {} ({} {unit})", span.offset, span.length)?;
    }
    Ok(())
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("the file is empty"),
            Self::ContainerUnreadable(reason) => write!(formatter, "container not readable: {reason}"),
            Self::WindowLimited { window } => {
                write!(formatter, "only {window} bytes at each end were read: the answer may be incomplete")
            }
            Self::TimeSpent => formatter.write_str(
                "the time limit for one file was reached: the answer may be \
                 incomplete",
            ),
        }
    }
}
