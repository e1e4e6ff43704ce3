//! What a test may plan to go wrong.

use std::time::Duration;

/// A fault of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The request is carried out, and the connection is closed without an answer.
    LoseReply,
    /// The connection is closed without an answer, and nothing is done.
    LoseRequest,
    /// The answer ends in its middle; the request is carried out.
    CutReply,
    /// Nothing is done, and this status is answered with this text.
    Answer(u16, String),
    /// The request is carried out, and answered with status 200 and these bytes.
    Garbage(Vec<u8>),
    /// The request is carried out, and answered after this time, or when the server ends.
    Slow(Duration),
}
