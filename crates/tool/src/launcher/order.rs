//! What the processes of a run say to each other, as JSON with its length before it.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::{Limit, Limits};

/// The byte that asks the supervisor to kill.
pub(crate) const STOP: u8 = b's';
/// Most bytes of a message.
const MOST_BYTES: usize = 16 << 20;

/// What is to be run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The launcher: its program and its arguments.
    pub(crate) launcher: (OsString, Vec<OsString>),
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) folder: OsString,
    pub(crate) stdin: Option<OsString>,
    pub(crate) network: bool,
    pub(crate) limits: Limits,
    /// The process that supervises; 0 until it is known.
    pub(crate) supervisor: i32,
}

/// Why a tool was not started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// What was tried.
    pub(crate) what: String,
    /// Whether it was to start the program of the tool.
    pub(crate) is_program: bool,
    /// The code of the system's error, where it has one.
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, error: &io::Error) -> Self {
        Self { what: what.into(), is_program: false, code: error.raw_os_error(), text: error.to_string() }
    }

    pub(crate) fn error(&self) -> io::Error {
        self.code.map_or_else(|| io::Error::other(self.text.clone()), io::Error::from_raw_os_error)
    }
}

/// What the supervisor says at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) failure: Option<Failure>,
    /// The exit code, or the signal.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) limit: Option<Limit>,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) peak_memory: u64,
    pub(crate) left_behind: u32,
}

/// Writes a message.
pub(crate) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&[&length.to_le_bytes(), bytes.as_slice()].concat())
}

/// Reads a message; none where the other side has ended.
pub(crate) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_BYTES {
        return Err(io::Error::other(format!("a message of {length} bytes is too long")));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}
