//! The names that this program has given to objects, as their own records have them.

use std::path::Path;

use serde::Deserialize;
use strongroom_engine::settings::is_near;
use strongroom_ocfl::{InventoryEntry, InventorySummary, LocalObject, LocalRoot, VersionNumber};

use crate::failure::{Exit, Failure};

/// Objects that this program wrote have ids of this form; no others have records.
const OWN_ID: &str = "urn:uuid:";
/// The first line of a record is shorter.
const LONGEST_LINE: u64 = 1 << 20;

/// How many paths an error names.
const NAMED: usize = 3;

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

/// The object that a person means: by its id, its path in the storage root, or its name; of its id and its name a beginning and an
/// end suffice, as tables show them, where no other object has both.
pub(super) fn find(root: &LocalRoot, dir: &Path, object: &str) -> Result<LocalObject, Failure> {
    if let Some(found) = root.at(Path::new(object)).ok().flatten() {
        return Ok(found);
    }
    if let Some(found) = root.find(object)? {
        return Ok(found);
    }
    let ends = object.split_once('…').or_else(|| object.split_once("..."));
    let below = format!("/{object}");
    let (mut fitting, mut names, mut ending) = (None, Vec::new(), Vec::new());
    for candidate in root.objects() {
        let Ok(candidate) = candidate else { continue };
        let Ok(summary) = candidate.summary() else { continue };
        let name = name_of(&candidate, &summary);
        if name.as_deref() == Some(object) {
            return Ok(candidate);
        }
        if let Some(name) = name.as_ref().filter(|name| name.ends_with(&below) && ending.len() < NAMED) {
            ending.push(name.clone());
        }
        let id = summary.header.id;
        if ends.is_some_and(|ends| has_ends(&id, ends) || name.as_deref().is_some_and(|name| has_ends(name, ends))) {
            names.push(name.unwrap_or(id));
            fitting = Some(candidate);
        }
    }
    match (fitting, names.len()) {
        (Some(found), 1) => return Ok(found),
        (Some(_), count) => {
            names.truncate(NAMED);
            let more = if count > NAMED { ", ..." } else { "" };
            let message = format!("{count} objects in the storage root {} fit {object:?}", dir.display());
            return Err(Failure::usage(message).next(format!("give one of them whole: {}{more}", names.join(", "))));
        }
        (None, _) => {}
    }
    let message = format!("there is no object {object:?} in the storage root {}", dir.display());
    if !ending.is_empty() {
        let next = format!("give the name with its institution: {}", ending.join(", "));
        return Err(Failure::new(Exit::NotFound, message).next(next));
    }
    Err(Failure::new(Exit::NotFound, message).next(format!("\"strongroom ocfl ls {}\" lists them", dir.display())))
}

/// Whether a text begins and ends so, as tables shorten it.
fn has_ends(text: &str, (beginning, end): (&str, &str)) -> bool {
    text.strip_prefix(beginning).is_some_and(|rest| rest.ends_with(end)) && !(beginning.is_empty() && end.is_empty())
}

/// The logical path that a person means: the path itself, or the one that ends with it, as a depositor knows files without
/// the folder that this program puts them in.
///
/// # Errors
/// The version has no such path, or several that end with it.
pub(super) fn find_path(object: &LocalObject, version: Option<VersionNumber>, wanted: &str) -> Result<String, Failure> {
    let summary = object.summary()?;
    let version = summary.version(version)?;
    let mut is_there = false;
    let (mut ending, mut ending_count, mut near) = (Vec::new(), 0_u64, Vec::new());
    let below = format!("/{wanted}");
    object.read(&mut |entry| {
        let InventoryEntry::State { version: of, path, .. } = entry else { return Ok(()) };
        if of != version {
            return Ok(());
        }
        is_there |= path == wanted;
        if path.ends_with(&below) {
            ending_count += 1;
            if ending.len() < NAMED {
                ending.push(path.to_owned());
            }
        } else if near.len() < NAMED && is_near(wanted, last_segments(path, wanted)) {
            near.push(path.to_owned());
        }
        Ok(())
    })?;
    if is_there {
        return Ok(wanted.to_owned());
    }
    let name = name_of(object, &summary).unwrap_or(summary.header.id);
    match (ending_count, ending.pop()) {
        (1, Some(path)) => Ok(path),
        (0, _) => {
            let next = match near.as_slice() {
                [] => "\"strongroom ocfl ls\" with the object lists its files".to_owned(),
                near => format!("similar paths there are: {}", near.join(", ")),
            };
            let message = format!("there is no file {wanted:?} in version {version} of the object {name}");
            Err(Failure::new(Exit::NotFound, message).next(next))
        }
        (count, last) => {
            ending.extend(last);
            let more = if count > ending.len() as u64 { ", ..." } else { "" };
            let message = format!("{count} files in version {version} of the object {name} end with {wanted:?}");
            Err(Failure::usage(message).next(format!("give one of them whole: {}{more}", ending.join(", "))))
        }
    }
}

/// As many segments from the end of a path as another path has.
fn last_segments<'p>(path: &'p str, other: &str) -> &'p str {
    let separators = other.matches('/').count();
    path.rmatch_indices('/').nth(separators).map_or(path, |(at, _)| path.get(at + 1..).unwrap_or(path))
}
