//! The errors of the protocol (section 3.6).

use std::fmt;

use crate::error::shown;

/// The code of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OaiCode {
    /// An argument is missing, repeated, not known or malformed.
    BadArgument,
    /// The resumption token is not valid, or no longer.
    BadResumptionToken,
    /// The verb is missing, repeated or not known.
    BadVerb,
    /// There is nothing in this format.
    CannotDisseminateFormat,
    /// There is no record with this identifier.
    IdDoesNotExist,
    /// The list is empty. A list of records is empty without an error then.
    NoRecordsMatch,
    /// The record is in no format.
    NoMetadataFormats,
    /// The provider has no sets.
    NoSetHierarchy,
    /// A code that the protocol does not have.
    Other(String),
}

impl OaiCode {
    /// By the word of the protocol.
    pub fn parse(word: &str) -> Self {
        match word {
            "badArgument" => Self::BadArgument,
            "badResumptionToken" => Self::BadResumptionToken,
            "badVerb" => Self::BadVerb,
            "cannotDisseminateFormat" => Self::CannotDisseminateFormat,
            "idDoesNotExist" => Self::IdDoesNotExist,
            "noRecordsMatch" => Self::NoRecordsMatch,
            "noMetadataFormats" => Self::NoMetadataFormats,
            "noSetHierarchy" => Self::NoSetHierarchy,
            other => Self::Other(shown(other)),
        }
    }

    /// The word of the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::BadArgument => "badArgument",
            Self::BadResumptionToken => "badResumptionToken",
            Self::BadVerb => "badVerb",
            Self::CannotDisseminateFormat => "cannotDisseminateFormat",
            Self::IdDoesNotExist => "idDoesNotExist",
            Self::NoRecordsMatch => "noRecordsMatch",
            Self::NoMetadataFormats => "noMetadataFormats",
            Self::NoSetHierarchy => "noSetHierarchy",
            Self::Other(word) => word,
        }
    }
}

/// An error that a provider answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OaiError {
    /// Its code.
    pub code: OaiCode,
    /// What the provider says about it, shortened.
    pub message: String,
}

impl fmt::Display for OaiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.as_str())?;
        if self.message.is_empty() { Ok(()) } else { write!(f, " ({})", self.message) }
    }
}
