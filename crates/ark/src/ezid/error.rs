//! Why a request to EZID failed, and whether it may succeed later.

use std::fmt;
use std::io;

use crate::ark::Ark;
use crate::error::printable;

/// What was asked of EZID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// To create an identifier, or to update it where it exists.
    Register,
    /// To update an identifier.
    Update,
    /// To say what it has of an identifier.
    Read,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Register => "register",
            Self::Update => "update",
            Self::Read => "read",
        })
    }
}

/// What went wrong. No variant has the password, and what the server said is cut and has no control characters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EzidError {
    /// The client cannot be made of these options.
    #[error("cannot use EZID at {}: {reason}", shown(.base))]
    Options {
        /// The base URL that was given.
        base: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The name of an element cannot be sent: it is empty, or begins with `#`.
    #[error("could not {action} {ark} with EZID: an element cannot have the name {:?}", shown(.name))]
    Name {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// The name.
        name: String,
    },
    /// The server does not know the user name, or the password is wrong (status 401).
    #[error("could not {action} {ark} with EZID: it refused the user name or the password: {text}")]
    Credentials {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// What the server said.
        text: String,
    },
    /// The account may not do this with the identifier, for example because it may not use its shoulder (status 403).
    #[error("could not {action} {ark} with EZID: the account is not allowed to: {text}")]
    Forbidden {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// What the server said.
        text: String,
    },
    /// The server has no such identifier.
    #[error("could not {action} {ark} with EZID: it has no such identifier")]
    Unknown {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
    },
    /// The server refused the request as wrong (any other status from 400 to 499).
    #[error("could not {action} {ark} with EZID: it refused the request with status {status}: {text}")]
    BadRequest {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// The status.
        status: u16,
        /// What the server said.
        text: String,
    },
    /// The server could not answer now (status 408, 425, 429, or from 500).
    #[error("could not {action} {ark} with EZID: it failed with status {status}: {text}")]
    Unavailable {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// The status.
        status: u16,
        /// What the server said.
        text: String,
    },
    /// There was no answer, or not all of it. Whether the request was carried out is not known.
    #[error("could not {action} {ark} with EZID: there was no complete answer")]
    NoAnswer {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// Why.
        source: Box<ureq::Error>,
    },
    /// The answer is not one of EZID: another service answers at this URL, or the answer is about another identifier.
    #[error("could not {action} {ark} with EZID: the answer with status {status} is not understood: {text}")]
    Answer {
        /// What was asked.
        action: Action,
        /// The identifier.
        ark: Ark,
        /// The status.
        status: u16,
        /// What the server said.
        text: String,
    },
}

impl EzidError {
    /// Whether the same request may succeed later without a change of anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } => true,
            Self::NoAnswer { source, .. } => is_transient(source),
            _ => false,
        }
    }
}

fn is_transient(error: &ureq::Error) -> bool {
    match error {
        // TLS reports what is wrong with a certificate or a handshake as invalid data.
        ureq::Error::Io(error) => error.kind() != io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::ConnectProxyFailed(_)
        | ureq::Error::BodyStalled => true,
        _ => false,
    }
}

/// What the server said, as it may be shown.
pub(super) fn shown(text: &str) -> String {
    /// Most characters of it.
    const SHOWN: usize = 500;
    let text = text.trim();
    if text.is_empty() { "nothing".to_owned() } else { printable(text, SHOWN) }
}
