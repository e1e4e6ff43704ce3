//! The names that this program has given to objects, as their own records have them.

use std::path::Path;

use serde::Deserialize;
use strongroom_ocfl::{InventorySummary, LocalObject, LocalRoot, VersionNumber};

use crate::failure::{Exit, Failure};

/// Objects that this program wrote have ids of this form; no others have records.
const OWN_ID: &str = "urn:uuid:";
/// The first line of a record is shorter.
const LONGEST_LINE: u64 = 1 << 20;

/// What the first line of a record has of the object's name.
#[derive(Deserialize)]
struct FirstLine {
    institution: String,
    identifier: String,
}

/// The name of an object, `INSTITUTION/NAME`, as the record of its newest version has it; nothing where there is no record.
pub(super) fn name_of(object: &LocalObject, summary: &InventorySummary) -> Option<String> {
    if !summary.header.id.starts_with(OWN_ID) {
        return None;
    }
    let of = |version: VersionNumber| {
        let path = format!("metadata/v{}/record.jsonl", version.number());
        let beginning = object.file(Some(version), &path).ok()?.beginning(LONGEST_LINE).ok()?;
        let line = beginning.split(|byte| *byte == b'\n').next()?;
        let FirstLine { institution, identifier } = serde_json::from_slice(line).ok()?;
        Some(if identifier.starts_with(&format!("{institution}/")) {
            identifier
        } else {
            format!("{institution}/{identifier}")
        })
    };
    of(summary.header.head)
}

/// The object that a person means: by its id, its path in the storage root, or its name.
pub(super) fn find(root: &LocalRoot, dir: &Path, object: &str) -> Result<LocalObject, Failure> {
    if let Some(found) = root.at(Path::new(object)).ok().flatten() {
        return Ok(found);
    }
    if let Some(found) = root.find(object)? {
        return Ok(found);
    }
    for candidate in root.objects() {
        let Ok(candidate) = candidate else { continue };
        let Ok(summary) = candidate.summary() else { continue };
        if name_of(&candidate, &summary).as_deref() == Some(object) {
            return Ok(candidate);
        }
    }
    let message = format!("there is no object {object:?} in the storage root {}", dir.display());
    Err(Failure::new(Exit::NotFound, message).next(format!("\"strongroom ocfl ls {}\" lists them", dir.display())))
}
