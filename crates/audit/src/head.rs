use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::link::{from_hex, to_hex};
use crate::{AuditError, Link};

/// What is published of a chain: its entries up to one are those that there were then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    chain: String,
    sequence: u64,
    sha256: [u8; 32],
    at: String,
    counts: BTreeMap<String, u64>,
}

/// How it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    at: String,
    chain: String,
    #[serde(default)]
    counts: BTreeMap<String, u64>,
    sequence: u64,
    sha256: String,
}

impl Head {
    /// The head of a chain that ends with `link`, at a time as RFC 3339 in UTC.
    pub fn of(link: &Link, at: impl Into<String>) -> Self {
        Self {
            chain: link.chain().to_owned(),
            sequence: link.sequence(),
            sha256: *link.sha256(),
            at: at.into(),
            counts: BTreeMap::new(),
        }
    }

    /// The same with how many entries there are of what.
    #[must_use]
    pub fn counting(mut self, counts: BTreeMap<String, u64>) -> Self {
        self.counts = counts;
        self
    }

    /// The name of the chain.
    pub fn chain(&self) -> &str {
        &self.chain
    }

    /// How many entries there are.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The SHA-256 of the last one.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// When it was published.
    pub fn at(&self) -> &str {
        &self.at
    }

    /// How many entries there are of what.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Its text: a JSON object in the canonical form, without a line end.
    pub fn to_text(&self) -> Result<String, AuditError> {
        Ok(serde_json_canonicalizer::to_string(&Written {
            at: self.at.clone(),
            chain: self.chain.clone(),
            counts: self.counts.clone(),
            sequence: self.sequence,
            sha256: to_hex(&self.sha256),
        })?)
    }

    /// Reads the text of a head.
    pub fn read(text: &str) -> Result<Self, AuditError> {
        let Written { at, chain, counts, sequence, sha256 } = serde_json::from_str(text)?;
        Ok(Self { chain, sequence, sha256: from_hex(&sha256)?, at, counts })
    }
}
