use serde_json::{Map, Value};

use crate::{AuditError, Sha256};

/// The longest entry in bytes.
pub const LONGEST_LINE: usize = 1 << 20;
/// The greatest whole number that every reader of JSON reads as it is (RFC 8259, section 6).
const GREATEST: u64 = (1 << 53) - 1;
/// What every entry has of its own.
pub(crate) const OWN: [&str; 4] = ["chain", "previous", "sequence", "time"];

/// The end of a chain: what the next entry has to name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    chain: String,
    sequence: u64,
    sha256: Sha256,
}

impl Link {
    /// The beginning of a chain.
    pub fn start(chain: impl Into<String>) -> Self {
        Self { chain: chain.into(), sequence: 0, sha256: Sha256::NOTHING }
    }

    /// The end of a chain whose last entry is known by its number and its SHA-256.
    pub fn at(chain: impl Into<String>, sequence: u64, sha256: Sha256) -> Self {
        Self { chain: chain.into(), sequence, sha256 }
    }

    /// The name of the chain.
    pub fn chain(&self) -> &str {
        &self.chain
    }

    /// The number of the last entry; 0 where there is none.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The SHA-256 of the last entry.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// The next entry, without a line end, and the end of the chain behind it. `time` is as RFC 3339 in UTC.
    ///
    /// # Errors
    /// The body has a key of the entry itself or a number that not every reader reads alike, or the entry is too long.
    pub fn append(&self, time: &str, body: &Map<String, Value>) -> Result<(String, Self), AuditError> {
        if let Some(key) = OWN.iter().find(|key| body.contains_key(**key)) {
            return Err(AuditError::Reserved((*key).to_owned()));
        }
        body.values().try_for_each(check_numbers)?;
        let sequence = self.sequence + 1;
        let mut entry = body.clone();
        entry.insert("chain".into(), self.chain.clone().into());
        entry.insert("previous".into(), self.sha256.to_string().into());
        entry.insert("sequence".into(), sequence.into());
        entry.insert("time".into(), time.into());
        let line = serde_json_canonicalizer::to_string(&entry)?;
        if line.len() > LONGEST_LINE {
            return Err(AuditError::Long(line.len()));
        }
        let next = self.behind(line.as_bytes());
        Ok((line, next))
    }

    /// The end of the chain behind a line.
    #[must_use]
    pub fn behind(&self, line: &[u8]) -> Self {
        Self { chain: self.chain.clone(), sequence: self.sequence + 1, sha256: Sha256::of(line) }
    }
}

fn check_numbers(value: &Value) -> Result<(), AuditError> {
    match value {
        Value::Number(number) => {
            let is_plain = number.as_u64().is_some_and(|number| number <= GREATEST)
                || number.as_i64().is_some_and(|number| number.unsigned_abs() <= GREATEST);
            if is_plain { Ok(()) } else { Err(AuditError::Number(number.to_string())) }
        }
        Value::Array(values) => values.iter().try_for_each(check_numbers),
        Value::Object(values) => values.values().try_for_each(check_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}
