//! Why a source could not be read. URLs in errors have no query, which may contain secrets.

use std::fmt;
use std::io;
use std::path::PathBuf;

use strongroom_download::DownloadError;

use crate::oai::OaiError;

/// Longest text from outside in an error, in characters.
const SHOWN: usize = 200;

/// Where in a source something is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The URL without its query, or the path of the file.
    pub source: String,
    /// What was asked for there, such as `ListRecords, set music`; empty where the source says all.
    pub request: String,
    /// The page, from 1.
    pub page: Option<u64>,
    /// Where in the page or file.
    pub at: Option<Position>,
}

/// A place in a page or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The byte, from 0.
    Byte(u64),
    /// The line, from 1.
    Line(u64),
}

impl Place {
    /// The same place, at a byte.
    #[must_use]
    pub(crate) fn at(&self, byte: u64) -> Self {
        Self { at: Some(Position::Byte(byte)), ..self.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        let page = self.page.map(|page| format!("page {page}"));
        let request = Some(self.request.clone()).filter(|request| !request.is_empty());
        let within: Vec<String> = request.into_iter().chain(page).collect();
        if !within.is_empty() {
            write!(f, " ({})", within.join(", "))?;
        }
        match self.at {
            Some(Position::Byte(byte)) => write!(f, ", byte {byte}"),
            Some(Position::Line(line)) => write!(f, ", line {line}"),
            None => Ok(()),
        }
    }
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarvestError {
    /// An answer could not be fetched.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The server refuses, and its answer is none of the protocol.
    #[error("{place} was answered with status {status}")]
    Status {
        /// What was asked for.
        place: Place,
        /// The HTTP status.
        status: u16,
    },
    /// An answer or a file is not what it must be.
    #[error("could not read {place}: {reason}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
        /// Whether it ends too early, so that it may be whole when it is asked for again.
        is_cut: bool,
    },
    /// The provider answers with errors of OAI-PMH (section 3.6).
    #[error("{place} was answered with {}", listed(errors))]
    Oai {
        /// What was asked for.
        place: Place,
        /// The errors, at least one.
        errors: Vec<OaiError>,
    },
    /// The resumption token of a list expired again and again.
    #[error(
        "the resumption token of {place} has expired, also after the list was begun {restarts} times again; \
         next: ask for smaller windows of dates"
    )]
    TokenExpired {
        /// The list.
        place: Place,
        /// How often it was begun again.
        restarts: u32,
    },
    /// The next page of a list is one that was read before, so the list has no end.
    #[error("{place} leads to a page that was read before, so its list has no end")]
    Loop {
        /// The page.
        place: Place,
    },
    /// The source is not described as it must be.
    #[error("{what} cannot be {value:?}: {reason}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// Why not.
        reason: String,
    },
    /// There is nothing in the source that is looked for, and it does not say that it has no records.
    #[error(
        "there is no {sought} in {place}, which has {}; next: correct what says where the records are",
        named(instead)
    )]
    Nothing {
        /// The source.
        place: Place,
        /// What is looked for.
        sought: Box<str>,
        /// What is there instead, at most five and one more where there is more.
        instead: Box<[String]>,
    },
    /// The cursor does not belong to this source.
    #[error("the cursor cannot be used for this source: {reason}")]
    Cursor {
        /// Why not.
        reason: String,
    },
    /// A file on this machine could not be read.
    #[error("could not {act} {}", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A temporary file could not be read.
    #[error("could not read what was fetched from {place}")]
    Kept {
        /// The page.
        place: Place,
        /// Why it failed.
        source: io::Error,
    },
}

impl HarvestError {
    /// Whether reading again later may help: the cause is the network or the load of the server, not what was asked for.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Download(error) => error.is_transient(),
            Self::Malformed { is_cut, .. } => *is_cut,
            // Only the system has numbers: without one it is what the file is, which reading it again does not change.
            Self::File { source, .. } => {
                source.raw_os_error().is_some() && source.kind() != io::ErrorKind::PermissionDenied
            }
            Self::Kept { source, .. } => source.kind() != io::ErrorKind::PermissionDenied,
            Self::TokenExpired { .. } => true,
            Self::Status { .. }
            | Self::Oai { .. }
            | Self::Loop { .. }
            | Self::Setting { .. }
            | Self::Nothing { .. }
            | Self::Cursor { .. } => false,
        }
    }

    /// Whether it concerns everything that is read from the source, not only the set that is read: what may pass is waited for, so that an
    /// outage does not have one set after the other fail. A token that expires again and again is of its list.
    pub(crate) fn is_of_all(&self) -> bool {
        let may_pass = self.is_transient() && !matches!(self, Self::TokenExpired { .. });
        may_pass
            || matches!(
                self,
                Self::Download(DownloadError::Interrupted { .. } | DownloadError::Refused { .. })
                    | Self::Setting { .. }
                    | Self::Cursor { .. }
                    | Self::Kept { .. }
            )
    }
}

/// Most names of what is there instead of what is looked for.
pub(crate) const MOST_NAMED: usize = 5;

/// Adds a name to those that are told, where there is room for it; one more than are told says that there are more.
pub(crate) fn name(names: &mut Vec<String>, name: &str) {
    if names.len() <= MOST_NAMED {
        let name = shown(name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// Names for people.
pub(crate) fn named(names: &[String]) -> String {
    let mut texts: Vec<String> = names.iter().take(MOST_NAMED).map(|name| format!("{name:?}")).collect();
    if names.len() > MOST_NAMED {
        texts.push("others".to_owned());
    }
    texts.join(", ")
}

fn listed(errors: &[OaiError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Text from outside, shortened, with control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}
