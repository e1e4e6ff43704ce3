//! One object in one store against the record: its keys, as they are listed in byte order, beside the rows of its copies in
//! the order of their keys, page by page.

use std::collections::{BTreeSet, VecDeque};

use strongroom_registry::rebuild::{self as rows, StoredObject};
use strongroom_registry::{RegistryError, VersionId, VersionState, deletions, versions};

use super::finding::Code;
use crate::logs::object_root;
use crate::{EngineError, Home, deletion};

/// Rows read at once.
const ROWS: usize = 20_000;

/// What is said of a file that no deletion removes, because it lies in no place of a content.
const DELETED_NAME: &str = "it has the name of a content that was deleted, in a folder where no content lies";

/// Told of each difference: its code, where it lies, and more about it.
pub(super) type Tell<'t> = &'t mut dyn FnMut(Code, &str, Option<String>) -> Result<(), EngineError>;

/// The comparison of one object.
pub(super) struct Comparison<'a> {
    home: &'a Home,
    store: &'a str,
    object: StoredObject,
    /// The object root, with `/` behind it.
    root: String,
    head: u64,
    /// The version that is being made, whose keys are not compared yet.
    open: Option<VersionId>,
    /// The version whose identifier was met last in a key that the record has no copy of, and whether it was given up.
    met: Option<(VersionId, bool)>,
    /// What an earlier generation, which was deleted, has besides: the record of that, of which there may be no copy in the registry.
    record: Option<String>,
    /// Older versions that the record does not have: the object was deleted, and they hold inventories and nothing else.
    emptied: BTreeSet<u64>,
    /// Declaration, inventories, sidecars and tombstones that were not seen yet, relative to the root.
    expected: BTreeSet<String>,
    page: VecDeque<(String, u64)>,
    after: String,
    is_last: bool,
    seen: u64,
    told_version: bool,
}

/// The version under whose identifier a key lies, which is relative to an object root: `vN/content/<version id>/...`.
pub(super) fn owner_of(relative: &str) -> Option<VersionId> {
    let mut segments = relative.split('/').skip(1);
    if segments.next() != Some("content") {
        return None;
    }
    segments.next()?.parse().ok()
}

/// Whether the record knows a version as given up.
pub(super) fn is_given_up(home: &Home, version: VersionId) -> Result<bool, EngineError> {
    let known = home.registry.read(|tx| versions::get(tx, version))?;
    Ok(known.is_some_and(|version| matches!(version.state, VersionState::Dropping | VersionState::Dropped)))
}

impl<'a> Comparison<'a> {
    /// Begins with what the record says now.
    pub(super) fn begin(home: &'a Home, store: &'a str, object: StoredObject) -> Result<Self, EngineError> {
        let root = format!("{}/", object_root(&object.institution, object.generation)?);
        let (id, generation) = (object.object, object.generation);
        let (whole, known, open, tombstones) = home.registry.read(|tx| {
            Ok::<_, RegistryError>((
                deletions::whole_of_generation(tx, (id, generation))?,
                versions::list(tx, id, generation, false)?,
                versions::open_of_object(tx, id)?,
                deletions::tombstones_in(tx, (id, generation), store)?,
            ))
        })?;
        let record = match &whole {
            Some(whole) => deletion::last_record(whole, &object_root(&object.institution, generation)?)?,
            None => None,
        };
        let record = record.map(|(file, _)| file);
        let mut expected: BTreeSet<String> =
            ["0=ocfl_object_1.1", "inventory.json", "inventory.json.sha512"].map(str::to_owned).into();
        let unrecorded = known.last().map_or(0, |last| last.number);
        let recorded: BTreeSet<u64> = known.iter().map(|version| version.number).collect();
        for version in known.iter().filter(|version| version.inventory.is_some()) {
            expected.insert(format!("v{}/inventory.json", version.number));
            expected.insert(format!("v{}/inventory.json.sha512", version.number));
        }
        expected.extend(tombstones.into_iter().map(|(_, name)| format!("logs/{name}")));
        Ok(Self {
            home,
            store,
            object,
            root,
            head: known.last().map_or(0, |version| version.number),
            open: open.map(|version| version.id),
            met: None,
            record,
            // Of an object that was deleted, a registry that was made from the stores knows the last version alone.
            emptied: (1..unrecorded).filter(|number| !recorded.contains(number)).collect(),
            expected,
            page: VecDeque::new(),
            after: String::new(),
            is_last: false,
            seen: 0,
            told_version: false,
        })
    }

    /// Takes the next key of the object, in byte order.
    pub(super) fn see(&mut self, key: &str, size: u64, tell: Tell<'_>) -> Result<(), EngineError> {
        self.seen += 1;
        let Some(relative) = key.strip_prefix(&self.root) else { return Ok(()) };
        if self.expected.remove(relative) || relative.starts_with("logs/") || self.is_of_emptied(relative) {
            return Ok(());
        }
        while let Some((recorded, recorded_size)) = self.front()? {
            if recorded.as_str() > key {
                break;
            }
            self.page.pop_front();
            if recorded != key {
                tell(Code::CopyMissing, &recorded, None)?;
                continue;
            }
            if recorded_size != size {
                tell(Code::CopySize, key, Some(format!("{size} bytes, recorded are {recorded_size}")))?;
            }
            return Ok(());
        }
        if let Some(owner) = owner_of(relative).filter(|owner| self.open != Some(*owner)) {
            let was_met = self.met.is_some_and(|(met, _)| met == owner);
            if self.is_given_up(owner)? {
                // Once for all that lies there.
                return if was_met { Ok(()) } else { tell(Code::VersionDiscarded, key, Some(owner.to_string())) };
            }
        }
        let is_open = self.open.is_some();
        let version = relative.split_once('/').and_then(|(first, _)| first.strip_prefix('v')?.parse::<u64>().ok());
        match version {
            Some(version) if version > self.head && is_open => Ok(()),
            Some(version) if version > self.head => {
                let is_told = std::mem::replace(&mut self.told_version, true);
                if is_told {
                    Ok(())
                } else {
                    tell(Code::VersionUnknown, key, Some(format!("recorded is version {}", self.head)))
                }
            }
            Some(_) if is_open => Ok(()),
            Some(_) if self.record.as_deref() == Some(relative) => Ok(()),
            Some(version) if self.was_deleted(version, relative)? => {
                let of = (self.object.object, self.object.generation);
                // Plans are read for what lies where no deposit has put it: of all the others there may be many.
                if is_content_path(relative) || deletion::removes(self.home, of, self.store, relative)? {
                    tell(Code::CopyDeleted, key, None)
                } else {
                    tell(Code::FileForeign, key, Some(DELETED_NAME.to_owned()))
                }
            }
            Some(_) => tell(Code::CopyUnknown, key, None),
            None => tell(Code::FileForeign, key, None),
        }
    }

    /// Whether a content was deleted from the version in whose folder it lies. The last segment of a content path is its SHA-512.
    fn was_deleted(&self, version: u64, relative: &str) -> Result<bool, EngineError> {
        let Some(sha512) = relative.rsplit('/').next().and_then(|name| name.parse().ok()) else { return Ok(false) };
        let of = (self.object.object, self.object.generation);
        Ok(self.home.registry.read(|tx| deletions::has_deleted_content(tx, of, version, &sha512))?)
    }

    /// Whether a key is the inventory of an older version of a deleted object, or its sidecar.
    fn is_of_emptied(&self, relative: &str) -> bool {
        let Some((folder, name)) = relative.split_once('/') else { return false };
        let number = folder.strip_prefix('v').and_then(|number| number.parse::<u64>().ok());
        number.is_some_and(|number| self.emptied.contains(&number))
            && matches!(name, "inventory.json" | "inventory.json.sha512")
    }

    /// Whether the record knows a version as given up. Keys of one version come one behind the other.
    fn is_given_up(&mut self, version: VersionId) -> Result<bool, EngineError> {
        match self.met {
            Some((met, is_given_up)) if met == version => Ok(is_given_up),
            _ => {
                let is_given_up = is_given_up(self.home, version)?;
                self.met = Some((version, is_given_up));
                Ok(is_given_up)
            }
        }
    }

    /// Ends it: what was not seen is missing.
    pub(super) fn end(mut self, tell: Tell<'_>) -> Result<(), EngineError> {
        if self.seen == 0 {
            return tell(Code::ObjectMissing, self.root.trim_end_matches('/'), None);
        }
        while let Some((recorded, _)) = self.front()? {
            self.page.pop_front();
            tell(Code::CopyMissing, &recorded, None)?;
        }
        for name in &self.expected {
            tell(Code::InventoryMissing, &format!("{}{name}", self.root), None)?;
        }
        Ok(())
    }

    /// The first recorded copy that was not met yet.
    fn front(&mut self) -> Result<Option<(String, u64)>, EngineError> {
        if self.page.is_empty() && !self.is_last {
            let (of, store, after) = ((self.object.object, self.object.generation), self.store, &self.after);
            let page = self.home.registry.read(|tx| rows::copies_by_key(tx, of, store, after, ROWS))?;
            self.is_last = page.len() < ROWS;
            if let Some((last, _)) = page.last() {
                self.after.clone_from(last);
            }
            self.page = page.into();
        }
        Ok(self.page.front().cloned())
    }
}

/// Whether a path has the form of a content path: `vN/content/<version id>/<2 hex>/<sha512>`, or without the identifier.
fn is_content_path(relative: &str) -> bool {
    let segments: Vec<&str> = relative.split('/').collect();
    match segments.as_slice() {
        [_, "content", part, name] => name.starts_with(part) && part.len() == 2,
        [_, "content", owner, part, name] => {
            owner.parse::<VersionId>().is_ok() && name.starts_with(part) && part.len() == 2
        }
        _ => false,
    }
}
