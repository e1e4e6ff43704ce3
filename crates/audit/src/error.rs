use std::path::PathBuf;

use thiserror::Error;

/// Why an entry, a head or a key cannot be written or read.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The body has a key that every entry has of its own.
    #[error("an entry has {0:?} of its own, so what is said of the act cannot have it")]
    Reserved(String),
    /// A number that other programs may read as another one.
    #[error("{0} cannot be written so that every reader of JSON reads the same number: the most are 9007199254740991")]
    Number(String),
    /// The entry is longer than a reader takes.
    #[error("an entry of {0} bytes is too long: the most are {most}", most = crate::LONGEST_LINE)]
    Long(usize),
    /// It is no JSON, or not of the form that is wanted.
    #[error("it is no head of a chain: {0}")]
    Json(#[from] serde_json::Error),
    /// A digest is not 64 hexadecimal digits in lower case.
    #[error("{0:?} is no SHA-256: 64 hexadecimal digits in lower case")]
    Digest(String),
    /// It says the same as a head, and is written in another way.
    #[error("it is not in the canonical form of RFC 8785")]
    Form,
    /// A range begins behind its end.
    #[error("a range cannot begin with entry {first} and end with entry {last}")]
    Range {
        /// The number of the first entry.
        first: u64,
        /// The number of the last one.
        last: u64,
    },
    /// A key is none of Ed25519 as PEM.
    #[error("it is no Ed25519 key as PEM, as \"openssl genpkey -algorithm ed25519\" writes it: {0}")]
    Key(String),
    /// A file or folder cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// Its path.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Nothing of a chain is there.
    #[error("{0} has no entries and no heads of audit chains")]
    Nothing(PathBuf),
}
