use thiserror::Error;

/// Why an entry or a head cannot be written or read.
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
    #[error("the head of a chain cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A digest is not 64 hexadecimal digits in lower case.
    #[error("{0:?} is no SHA-256: 64 hexadecimal digits in lower case")]
    Digest(String),
}
