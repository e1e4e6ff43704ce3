//! Why the engine could not do what a person asked. Errors of stages are [`crate::workflow::StageError`].

use std::collections::BTreeSet;

use strongroom_ark::EzidError;
use strongroom_bagit::BagError;
use strongroom_credentials::CredentialError;
use strongroom_database::DatabaseError;
use strongroom_ocfl::OcflError;
use strongroom_registry::RegistryError;
use strongroom_storage::StorageError;

use crate::settings::SettingsError;
use crate::signatures::SignaturesError;

/// Why the engine could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The record failed or refused.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A store failed or refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An OCFL object could not be read or written.
    #[error(transparent)]
    Ocfl(#[from] OcflError),
    /// A bag could not be read or written.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// Signatures could not be used.
    #[error(transparent)]
    Signatures(#[from] SignaturesError),
    /// EZID could not be asked, or refused.
    #[error(transparent)]
    Ezid(#[from] EzidError),
    /// A credential could not be made or read.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// What was asked for does not exist.
    #[error("there is no {what} {name:?}{hint}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// By which name.
        name: String,
        /// Where it was looked for, or what there is, with a leading separator; or nothing.
        hint: String,
    },
    /// What was asked for is not possible as it was asked.
    #[error("{0}")]
    Usage(String),
    /// What was to be made exists, and is not written over.
    #[error("{0}")]
    Exists(String),
    /// The state of what it concerns does not allow what was asked.
    #[error("{0}")]
    Refused(String),
    /// What the act needs does not exist.
    #[error("{0}")]
    Absent(String),
    /// What was checked is not as it should be.
    #[error("{0}")]
    CheckFailed(String),
    /// The actor may not do what was asked.
    #[error("{actor} may not do {act}: {reason}")]
    NotAllowed {
        /// Who asked.
        actor: String,
        /// The act, such as `items.hold`.
        act: &'static str,
        /// Why not.
        reason: String,
    },
    /// An error with what to do next.
    #[error(transparent)]
    Advised(Box<Advised>),
    /// An error with what was tried.
    #[error(transparent)]
    Attempted(Box<Attempted>),
    /// Errors of things that do not keep each other from being done.
    #[error(transparent)]
    Several(Box<Several>),
    /// The settings cannot be read, or cannot be changed as was asked.
    #[error(transparent)]
    SettingsFile(#[from] SettingsError),
    /// The settings contradict themselves or the home.
    #[error("settings: {0}")]
    Settings(String),
    /// A store belongs to another registry, or to a later state of this one.
    #[error("store {store} {reason}")]
    Superseded {
        /// The store.
        store: String,
        /// What its mark says.
        reason: String,
    },
    /// The system refused something.
    #[error("could not {act} {path}")]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// An error with what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Advised {
    /// The error.
    #[source]
    pub error: EngineError,
    /// What to do next.
    pub next: String,
}

/// An error with what was tried.
#[derive(Debug, thiserror::Error)]
#[error("could not {act}")]
pub struct Attempted {
    /// What was tried, such as `open the home /srv/strongroom`.
    pub act: String,
    /// The error.
    #[source]
    pub error: EngineError,
}

/// Errors of things that do not keep each other from being done, such as those of one run of a background task.
#[derive(Debug, thiserror::Error)]
#[error("{}; {others}", chain(first))]
pub struct Several {
    /// The first one, which says what kind of error it is.
    pub first: EngineError,
    /// The others, in words.
    pub others: String,
}

/// Collects [`Several`] errors. What they say together changes when one of them is added, changes or goes.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    first: Option<EngineError>,
    others: BTreeSet<String>,
    left_out: usize,
}

impl Failures {
    /// More errors are counted only.
    const MOST: usize = 20;

    pub(crate) fn add(&mut self, error: EngineError) {
        let Some(first) = &self.first else {
            self.first = Some(error);
            return;
        };
        let text = error.chain();
        if text == first.chain() || self.others.contains(&text) {
            return;
        }
        if self.others.len() < Self::MOST {
            self.others.insert(text);
        } else {
            self.left_out += 1;
        }
    }

    /// This value, where there are no errors.
    pub(crate) fn or<T>(self, value: T) -> Result<T, EngineError> {
        let Some(first) = self.first else { return Ok(value) };
        let mut others = self.others.into_iter().collect::<Vec<_>>();
        if others.is_empty() {
            return Err(first);
        }
        if self.left_out > 0 {
            others.push(format!("and {} more", self.left_out));
        }
        let others = others.join("; ");
        Err(match first {
            EngineError::Advised(advised) => {
                let Advised { error, next } = *advised;
                EngineError::Several(Box::new(Several { first: error, others })).next(next)
            }
            first => EngineError::Several(Box::new(Several { first, others })),
        })
    }
}

impl From<DatabaseError> for EngineError {
    fn from(error: DatabaseError) -> Self {
        Self::Registry(error.into())
    }
}

impl EngineError {
    /// The same with what to do next.
    #[must_use]
    pub fn next(self, advice: impl Into<String>) -> Self {
        Self::Advised(Box::new(Advised { error: self, next: advice.into() }))
    }

    /// The same with what was tried.
    #[must_use]
    pub fn while_trying(self, act: impl Into<String>) -> Self {
        Self::Attempted(Box::new(Attempted { act: act.into(), error: self }))
    }

    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Registry(error) => error.is_transient(),
            Self::Storage(error) => error.is_transient(),
            Self::Ocfl(error) => error.is_transient(),
            Self::Bag(error) => error.is_transient(),
            Self::Signatures(error) => error.is_transient(),
            Self::Ezid(error) => error.is_transient(),
            // The process that set the mark may be the one that is stopped.
            Self::Io { .. } | Self::Superseded { .. } => true,
            Self::Advised(advised) => advised.error.is_transient(),
            Self::Attempted(attempted) => attempted.error.is_transient(),
            Self::Several(several) => several.first.is_transient(),
            Self::NotFound { .. }
            | Self::Credential(_)
            | Self::Absent(_)
            | Self::Usage(_)
            | Self::Exists(_)
            | Self::Refused(_)
            | Self::CheckFailed(_)
            | Self::NotAllowed { .. }
            | Self::SettingsFile(_)
            | Self::Settings(_) => false,
        }
    }

    /// Which store is away and why, where that is the cause.
    pub fn away(&self) -> Option<(&str, &str)> {
        match self {
            Self::Storage(error) | Self::Ocfl(OcflError::Storage(error)) => error.away(),
            Self::Advised(advised) => advised.error.away(),
            Self::Attempted(attempted) => attempted.error.away(),
            Self::Several(several) => several.first.away(),
            _ => None,
        }
    }

    /// The error and all that caused it, one behind the other.
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// An error and all that caused it, one behind the other; what an error repeats of its source is reported once. Errors
/// of the system are without their numbers.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    without_system_codes(&text)
}

/// A text without the numbers that the standard library adds to errors of the system, such as ` (os error 2)`: the words
/// before them say the same.
pub fn without_system_codes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest.split_once(SYSTEM_CODE) {
        shown.push_str(before);
        let after = code.trim_start_matches(|digit: char| digit.is_ascii_digit());
        match after.strip_prefix(')') {
            Some(behind) if after.len() < code.len() => rest = behind,
            _ => {
                shown.push_str(SYSTEM_CODE);
                rest = code;
            }
        }
    }
    shown.push_str(rest);
    shown
}

/// How the standard library begins the number of an error of the system.
const SYSTEM_CODE: &str = " (os error ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_errors_are_told_once_each_with_what_to_do_for_the_first() {
        let refused = |text: &str| EngineError::Refused(text.to_owned());
        assert_eq!(Failures::default().or(7).ok(), Some(7));
        let mut failures = Failures::default();
        for text in ["c", "b", "a", "b", "c"] {
            failures.add(refused(text).next(format!("mend {text}")));
        }
        let error = failures.or(()).expect_err("fails");
        assert!(matches!(&error, EngineError::Advised(advised) if advised.next == "mend c"), "{error:?}");
        assert_eq!(error.chain(), "c; a; b");
        let mut failures = Failures::default();
        (0..30).for_each(|number| failures.add(refused(&number.to_string())));
        let text = failures.or(()).expect_err("fails").chain();
        assert!(text.starts_with("0; 1; 10; ") && text.ends_with("and 9 more"), "{text}");
    }

    #[test]
    fn errors_of_the_system_are_shown_without_their_numbers() {
        let text = std::io::Error::from_raw_os_error(2).to_string();
        assert!(text.ends_with("(os error 2)"), "{text}");
        assert_eq!(chain(&std::io::Error::from_raw_os_error(2)), "No such file or directory");
        for (text, shown) in [
            ("a: b (os error 13), c: d (os error 2)", "a: b, c: d"),
            ("a (os error ) b", "a (os error ) b"),
            ("a (os error x)", "a (os error x)"),
            ("a (os error 1", "a (os error 1"),
        ] {
            assert_eq!(without_system_codes(text), shown);
        }
    }
}
