use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sha256::Sum;
use crate::{AuditError, Link, Sha256};

/// Entries that are in one file, one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The number of the first one.
    pub first: u64,
    /// The SHA-256 of the entry before the first one; that of [`Sha256::NOTHING`] where it is the first of the chain.
    pub previous: Sha256,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub sha256: Sha256,
}

/// The entries of a range as they are added, one behind the other.
pub struct RangeSum {
    first: u64,
    previous: Sha256,
    link: Link,
    sum: Sum,
}

impl RangeSum {
    /// Begins with the entry behind a link.
    pub fn behind(link: Link) -> Self {
        Self { first: link.sequence() + 1, previous: link.sha256(), link, sum: Sum::new() }
    }

    /// Adds an entry, without its line end.
    pub fn take(&mut self, line: &[u8]) {
        self.link = self.link.behind(line);
        self.sum.update(line);
        self.sum.update(b"\n");
    }

    /// How many bytes the entries have, with their line ends.
    pub fn bytes(&self) -> u64 {
        self.sum.length()
    }

    /// The range, and the end of the chain behind it.
    pub fn finish(self) -> (Range, Link) {
        let Self { first, previous, link, sum } = self;
        (Range { first, previous, bytes: sum.length(), sha256: sum.finish() }, link)
    }
}

/// What is published of a chain: its entries up to one are those that there were then, and the last of them are in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    chain: String,
    sequence: u64,
    sha256: Sha256,
    range: Range,
    at: String,
    counts: BTreeMap<String, u64>,
    key: Option<String>,
}

/// How it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the JSON object of a head")]
struct Written {
    at: String,
    chain: String,
    #[serde(default)]
    counts: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    range: WrittenRange,
    sequence: u64,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the range of a head")]
struct WrittenRange {
    bytes: u64,
    first: u64,
    previous: String,
    sha256: String,
}

impl Head {
    /// The head of a chain that ends with `link`, whose last entries are the range; at a time as RFC 3339 in UTC.
    pub fn of(link: &Link, range: Range, at: impl Into<String>) -> Self {
        Self {
            chain: link.chain().to_owned(),
            sequence: link.sequence(),
            sha256: link.sha256(),
            range,
            at: at.into(),
            counts: BTreeMap::new(),
            key: None,
        }
    }

    /// The same with how many entries there are of what.
    #[must_use]
    pub fn counting(mut self, counts: BTreeMap<String, u64>) -> Self {
        self.counts = counts;
        self
    }

    /// The same, which is signed by the key of this fingerprint.
    #[must_use]
    pub fn signed_by(mut self, fingerprint: Option<String>) -> Self {
        self.key = fingerprint;
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
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// The end of the chain that it says.
    pub fn link(&self) -> Link {
        Link::at(self.chain.clone(), self.sequence, self.sha256)
    }

    /// The last entries, which are in one file.
    pub fn range(&self) -> &Range {
        &self.range
    }

    /// The end of the chain before the range.
    pub fn before(&self) -> Link {
        Link::at(self.chain.clone(), self.range.first.saturating_sub(1), self.range.previous)
    }

    /// When it was published.
    pub fn at(&self) -> &str {
        &self.at
    }

    /// How many entries there are of what.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// The fingerprint of the key that signs it.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Its text: a JSON object in the canonical form, without a line end.
    pub fn to_text(&self) -> Result<String, AuditError> {
        let Range { first, previous, bytes, sha256 } = &self.range;
        Ok(serde_json_canonicalizer::to_string(&Written {
            at: self.at.clone(),
            chain: self.chain.clone(),
            counts: self.counts.clone(),
            key: self.key.clone(),
            range: WrittenRange {
                bytes: *bytes,
                first: *first,
                previous: previous.to_string(),
                sha256: sha256.to_string(),
            },
            sequence: self.sequence,
            sha256: self.sha256.to_string(),
        })?)
    }

    /// Reads the text of a head.
    ///
    /// # Errors
    /// It is no head, is written in another way than the canonical one, or says of a range that its end is before its beginning.
    pub fn read(text: &str) -> Result<Self, AuditError> {
        let Written { at, chain, counts, key, range, sequence, sha256 } = serde_json::from_str(text)?;
        let WrittenRange { bytes, first, previous, sha256: of_file } = range;
        if first == 0 || first > sequence {
            return Err(AuditError::Range { first, last: sequence });
        }
        if let Some(key) = &key {
            Sha256::read(key)?;
        }
        let range = Range { first, previous: Sha256::read(&previous)?, bytes, sha256: Sha256::read(&of_file)? };
        let head = Self { chain, sequence, sha256: Sha256::read(&sha256)?, range, at, counts, key };
        if head.to_text()? == text { Ok(head) } else { Err(AuditError::Form) }
    }
}
