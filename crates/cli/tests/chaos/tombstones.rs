//! Reads the tombstones that deletions leave in the `logs/` of OCFL objects, with nothing of the engine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::bags::sha512;

/// A tombstone. Two are equal where they are equal byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) deletion: String,
    /// The work item that deleted.
    pub(crate) item: String,
    /// The identifier of the object in the registry.
    pub(crate) object: String,
    /// `<institution>/<name>`.
    pub(crate) identifier: String,
    pub(crate) generation: String,
    /// The newest version before the deletion.
    pub(crate) version: u64,
    /// When it was begun, in microseconds since the epoch.
    pub(crate) time: i64,
    pub(crate) request: String,
    pub(crate) reason: String,
    pub(crate) requested_by: String,
    pub(crate) requested_at: i64,
    pub(crate) approved_by: String,
    /// Logical paths; none where all of the object was deleted.
    pub(crate) files: Option<BTreeSet<String>>,
    /// The versions that have no inventory of their own any more.
    pub(crate) without_inventory: BTreeSet<u64>,
    sha512: String,
}

impl Tombstone {
    pub(crate) fn is_whole(&self) -> bool {
        self.files.is_none()
    }

    /// Whether it took a path out of a version.
    pub(crate) fn took(&self, version: u64, path: &str) -> bool {
        version <= self.version && self.files.as_ref().is_none_or(|files| files.contains(path))
    }
}

/// Whether a file of an object, by its path in the folder of the object, is a tombstone.
pub(crate) fn is_tombstone(file: &str) -> bool {
    file.starts_with("logs/") && file.contains("-deletion-")
}

pub(crate) fn read(path: &Path) -> Result<Tombstone> {
    let bytes = fs::read(path)?;
    let log: Value = serde_json::from_slice(&bytes)?;
    let text = |value: &Value, key: &str| -> Result<String> {
        value[key].as_str().map(str::to_owned).with_context(|| format!("{key} is missing"))
    };
    let time = |value: &Value, key: &str| value[key].as_i64().with_context(|| format!("{key} is missing"));
    anyhow::ensure!(log["act"] == "deletion", "the act is {}", log["act"]);
    let (grounds, scope) = (&log["grounds"], &log["plan"]["scope"]);
    let named = log["files"].as_array().context("files is missing")?;
    let named = named.iter().map(|file| text(file, "path")).collect::<Result<BTreeSet<String>>>()?;
    let (mut files, mut without_inventory) = (None, BTreeSet::new());
    if let Some(paths) = scope["paths"]["paths"].as_array() {
        let planned: BTreeSet<&str> = paths.iter().filter_map(Value::as_str).collect();
        anyhow::ensure!(!named.is_empty() && named.iter().eq(planned), "the plan names other files than the tombstone");
        let versions = scope["paths"]["without_inventory"].as_array().context("without_inventory is missing")?;
        for version in versions {
            without_inventory.insert(number(version)?);
        }
        files = Some(named);
    } else {
        anyhow::ensure!(scope["object"].is_object() && named.is_empty(), "the scope of the plan is {scope}");
    }
    Ok(Tombstone {
        deletion: text(&log, "deletion")?,
        item: text(&log, "item")?,
        object: text(&log, "object")?,
        identifier: text(&log, "identifier")?,
        generation: text(&log, "generation")?,
        version: number(&log["version"])?,
        time: time(&log, "time")?,
        request: text(grounds, "request")?,
        reason: text(grounds, "reason")?,
        requested_by: text(grounds, "requested_by")?,
        requested_at: time(grounds, "requested_at")?,
        approved_by: text(grounds, "approved_by")?,
        files,
        without_inventory,
        sha512: sha512(&bytes),
    })
}

/// The number of a version, which is written as a number or as `v` with it.
fn number(version: &Value) -> Result<u64> {
    let of_text = || version.as_str()?.strip_prefix('v')?.parse().ok();
    version.as_u64().or_else(of_text).with_context(|| format!("{version} is no version"))
}
