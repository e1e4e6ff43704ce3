//! Why an identification of files cannot go on, as opposed to what cannot be read (that is a [`crate::Unidentified`]).

use std::io;

/// What stopped an identification.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentifyError {
    /// The system gave no thread.
    #[error("could not start a thread: {0}")]
    Thread(io::Error),
    /// An answer cannot be written as JSON.
    #[error("could not write the answer as JSON: {0}")]
    Json(serde_json::Error),
}
