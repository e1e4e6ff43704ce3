//! Audit chains.

use serde::Serialize;
use strongroom_audit::Sha256;
use strongroom_registry::audit::Chain;

use crate::EngineError;
use crate::audit::{Checked, Exported};

/// How far an audit chain is.
#[derive(Debug, Clone, Serialize)]
pub struct AuditChainView {
    /// Its name: the domain name of the institution, or `_system`.
    pub chain: String,
    /// How many entries it has.
    pub entries: u64,
    /// The SHA-256 of the last one; none where it has none.
    pub sha256: Option<String>,
    /// How many of them are published in the preservation stores.
    pub published: u64,
    /// When that was; none where it was not.
    pub published_at: Option<String>,
    /// The fingerprint of the key that signs its heads; none where they are not signed.
    pub signing_key: Option<String>,
}

impl From<Chain> for AuditChainView {
    fn from(chain: Chain) -> Self {
        Self {
            sha256: (chain.sequence > 0).then(|| Sha256(chain.sha256).to_string()),
            published_at: (chain.published > 0).then(|| chain.published_at.to_string()),
            chain: chain.name,
            entries: chain.sequence,
            published: chain.published,
            signing_key: chain.signing_key,
        }
    }
}

/// What a store has of the chains.
#[derive(Debug, Clone, Serialize)]
pub struct AuditCheckView {
    /// The store.
    pub store: String,
    /// Whether every range was there as it was published, and nothing else.
    pub ok: bool,
    /// Ranges that were read.
    pub ranges: u64,
    /// Files that were missing or changed, and were put back.
    pub put_back: u64,
    /// What cannot be put back or read, or is of no chain.
    pub message: Option<String>,
}

impl AuditCheckView {
    pub(crate) fn new(store: &str, checked: Checked, error: Option<&EngineError>) -> Self {
        let (Checked { read, put_back }, message) = (checked, error.map(EngineError::chain));
        Self { store: store.to_owned(), ok: message.is_none() && put_back == 0, ranges: read, put_back, message }
    }
}

/// A chain that was exported.
#[derive(Debug, Clone, Serialize)]
pub struct AuditExportView {
    /// Its name.
    pub chain: String,
    /// The number of the first entry that was exported.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// The SHA-256 of the last one. Compared with that of a later verification, it shows whether the export was changed.
    pub sha256: String,
    /// How many files of entries, or rows of the table, there are.
    pub count: u64,
    /// The folder, or the table.
    pub path: String,
}

impl From<Exported> for AuditExportView {
    fn from(exported: Exported) -> Self {
        Self {
            chain: exported.chain,
            first: exported.first,
            last: exported.last,
            sha256: exported.sha256,
            count: exported.count,
            path: exported.path.display().to_string(),
        }
    }
}
