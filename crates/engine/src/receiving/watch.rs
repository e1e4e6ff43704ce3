//! One scan: every place is listed, those first that waited longest, each for its share of the keys that a
//! turn may list. What one place does not need falls to the others, so that a place with millions of keys delays no
//! other place; it is listed on from where the turn before left it.

use std::collections::BTreeMap;

use serde::Serialize;
use strongroom_registry::receiving::{self as record, Cursor, ScannedUpload, Upload};
use strongroom_registry::{RegistryError, UploadState};
use strongroom_storage::{Key, StorageError};

use super::decide::{self, Act};
use super::follow;
use super::listing::{DECLARATION, Folder, ListedUpload, is_no_key, look_at};
use super::name::{NOTICES, is_archive, is_unfinished};
use super::place::{Place, places};
use crate::error::Failures;
use crate::event::Event;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// Uploads that are compared with the record at once.
const UPLOADS_AT_ONCE: usize = 500;
/// The smallest share of a turn: below it the cost of beginning a listing is more than that of the listing.
const LEAST_SHARE: u64 = 1_000;

/// What a turn came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ScanSummary {
    /// Places inspected.
    pub places: u64,
    /// Of those: not listed to their end; the next turn goes on.
    pub unfinished: u64,
    /// Of those: the store did not answer.
    pub failed: u64,
    /// Keys listed.
    pub keys: u64,
    /// Uploads seen for the first time or changed.
    pub changed: u64,
    /// Uploads that became work items.
    pub submitted: u64,
    /// Uploads removed from their store.
    pub removed: u64,
}

/// Follows up on earlier uploads, and scans every place once. Neither an upload nor a place that fails keeps others
/// from it. Asked to stop, it keeps how far it came.
pub fn watch(home: &Home, stop: &Shutdown) -> Result<ScanSummary, EngineError> {
    let mut watched = ScanSummary::default();
    let mut failures = Failures::default();
    follow::follow(home, stop, &mut watched).unwrap_or_else(|error| failures.add(error));
    let mut waiting = Vec::new();
    for place in places(home)? {
        let cursor = home.registry.read(|tx| record::cursor(tx, &place.store_name, place.institution))?;
        waiting.push((cursor.looked_at, place));
    }
    watched.places = waiting.len() as u64;
    // Where a listing goes on after a stop, it had its share last time; those that never needed that come first.
    waiting.sort_by_key(|(looked_at, _)| *looked_at);
    let mut left = home.settings.receiving.max_per_run as u64;
    let mut waiting: Vec<Place> = waiting.into_iter().map(|(_, place)| place).collect();
    while !waiting.is_empty() && left > 0 && !stop.is_requested() {
        let share = (left / waiting.len() as u64).max(LEAST_SHARE.min(left));
        let mut unfinished = Vec::new();
        for place in waiting {
            if left == 0 || stop.is_requested() {
                unfinished.push(place);
                continue;
            }
            match Look::at(home, stop, &place, share.min(left), &mut watched) {
                Ok(listed) => {
                    left = left.saturating_sub(listed.keys);
                    watched.keys += listed.keys;
                    if !listed.is_whole {
                        unfinished.push(place);
                    }
                }
                Err(error) => {
                    let name = format!("{} of {}", place.store_name, place.institution_identifier);
                    Event::PlaceNotWatched { place: &name, error: &error.chain() }.emit();
                    watched.failed += 1;
                    failures.add(error);
                }
            }
        }
        waiting = unfinished;
    }
    watched.unfinished = waiting.len() as u64;
    failures.or(watched)
}

/// How far a look came.
struct Listed {
    keys: u64,
    is_whole: bool,
}

/// A scan of one place.
struct Look<'a> {
    home: &'a Home,
    place: &'a Place,
    /// The last upload that was compared with the record.
    compared_to: String,
    found: Vec<ListedUpload>,
    /// Folders of the place that have a collection's name: whether they are the collection's, and no bag.
    areas: BTreeMap<String, bool>,
    watched: &'a mut ScanSummary,
}

impl<'a> Look<'a> {
    fn at(
        home: &'a Home,
        stop: &Shutdown,
        place: &'a Place,
        most: u64,
        watched: &'a mut ScanSummary,
    ) -> Result<Listed, EngineError> {
        let cursor = home.registry.read(|tx| record::cursor(tx, &place.store_name, place.institution))?;
        let began = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
        let beginning = place.beginning();
        let compared_to = if cursor.after_upload.is_empty() { beginning.clone() } else { cursor.after_upload.clone() };
        let mut look = Self { home, place, compared_to, found: Vec::new(), areas: BTreeMap::new(), watched };
        let after = Key::new(cursor.after_key.as_str()).map_err(StorageError::from)?;
        let mut folder: Option<Folder> = cursor.folder.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let mut last_key = cursor.after_key.clone();
        let mut keys = 0;
        for line in place.store.list_after(&place.prefix, &after)? {
            let listed = match line {
                Ok(listed) => listed,
                Err(error) if is_no_key(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            if keys == most || stop.is_requested() {
                look.compare(None)?;
                look.keep(&cursor, last_key, folder.as_ref())?;
                return Ok(Listed { keys, is_whole: false });
            }
            keys += 1;
            let Some(name) = listed.key.as_str().strip_prefix(&beginning) else { continue };
            last_key.clear();
            last_key.push_str(listed.key.as_str());
            let top = name.split_once('/').map(|(name, _)| name);
            if let Some(open) = folder.take_if(|open| !listed.key.as_str().starts_with(&open.key)) {
                look.found(open.finish())?;
            }
            if is_unfinished(top.unwrap_or(name)) || top == Some(NOTICES) {
                continue;
            }
            // Where the name of the upload begins.
            let start = match top {
                Some(area) if look.is_area(area)? => beginning.len() + area.len() + 1,
                _ => beginning.len(),
            };
            let (before, name) = listed.key.as_str().split_at_checked(start).unwrap_or((beginning.as_str(), name));
            let folder_name = name.split_once('/').map(|(name, _)| name);
            if is_unfinished(folder_name.unwrap_or(name)) {
                continue;
            }
            if let Some(name) = folder_name {
                folder.get_or_insert_with(|| Folder::new(format!("{before}{name}/"), began)).take(&listed);
                continue;
            }
            let is_bag = is_archive(name);
            let seen = ScannedUpload { key: listed.key.to_string(), etag: listed.etag, size: listed.size };
            look.found(ListedUpload { seen, is_bag, since: began })?;
        }
        if let Some(open) = folder {
            look.found(open.finish())?;
        }
        look.compare(Some(place.end()))?;
        if cursor != Cursor::default() {
            let (store, institution) = (place.store_name.clone(), place.institution);
            home.registry.write(move |tx| record::drop_cursor(tx, &store, institution))?;
        }
        Ok(Listed { keys, is_whole: true })
    }

    /// Whether a folder at the top of the place is that of a collection: it has its name, and is no bag itself.
    fn is_area(&mut self, folder: &str) -> Result<bool, EngineError> {
        if !self.place.collections.contains_key(folder) {
            return Ok(false);
        }
        if let Some(known) = self.areas.get(folder) {
            return Ok(*known);
        }
        let declaration = format!("{}{folder}/{DECLARATION}", self.place.beginning());
        let is_area = match self.place.store.head(&Key::new(declaration).map_err(StorageError::from)?) {
            Ok(_) => false,
            Err(error) if error.is_not_found() => true,
            Err(error) => return Err(error.into()),
        };
        self.areas.insert(folder.to_owned(), is_area);
        Ok(is_area)
    }

    fn found(&mut self, found: ListedUpload) -> Result<(), EngineError> {
        self.found.push(found);
        if self.found.len() >= UPLOADS_AT_ONCE { self.compare(None) } else { Ok(()) }
    }

    /// Keeps where the next look goes on.
    fn keep(&self, before: &Cursor, after_key: String, folder: Option<&Folder>) -> Result<(), EngineError> {
        let folder = folder.map(serde_json::to_string).transpose();
        let folder = folder.map_err(|error| EngineError::Usage(error.to_string()))?;
        let after_upload = self.compared_to.clone();
        let cursor = Cursor { after_key, after_upload, folder, looked_at: None };
        if (&cursor.after_key, &cursor.after_upload) == (&before.after_key, &before.after_upload) {
            return Ok(());
        }
        let (store, institution) = (self.place.store_name.clone(), self.place.institution);
        Ok(self.home.registry.write(move |tx| record::put_cursor(tx, &store, institution, &cursor))?)
    }

    /// Compares what was found with what is known, up to the last upload found or to the `end` of the place.
    fn compare(&mut self, end: Option<String>) -> Result<(), EngineError> {
        let found = std::mem::take(&mut self.found);
        let Some(to) = end.or_else(|| found.last().map(|last| last.seen.key.clone())) else { return Ok(()) };
        let mut acts = Vec::new();
        let mut found = found.into_iter().peekable();
        let mut after = std::mem::replace(&mut self.compared_to, to.clone());
        loop {
            let store = &self.place.store_name;
            let known = self.home.registry.read(|tx| record::between(tx, store, &after, &to, UPLOADS_AT_ONCE))?;
            for upload in &known {
                while let Some(new) = found.next_if(|found| found.seen.key < upload.key) {
                    acts.push(Act::FirstSeen(new.seen));
                }
                let act = match found.next_if(|found| found.seen.key == upload.key) {
                    Some(found) => self.act_on(upload, found)?,
                    None => Self::act_on_absence(upload),
                };
                acts.extend(act);
            }
            match known.last().filter(|_| known.len() == UPLOADS_AT_ONCE) {
                Some(last) => after.clone_from(&last.key),
                None => break,
            }
        }
        acts.extend(found.map(|new| Act::FirstSeen(new.seen)));
        decide::carry_out(self.home, self.place, acts, self.watched)?;
        crash_point("receiving.watch.middle");
        Ok(())
    }

    /// What is to be done about an upload that is there.
    fn act_on(&self, upload: &Upload, found: ListedUpload) -> Result<Option<Act>, EngineError> {
        match upload.state {
            UploadState::Removing => Ok(None),
            UploadState::Removed | UploadState::Withdrawn => {
                // It may have been removed after it was listed; what lies there now was put there anew.
                let now = look_at(self.place.store.as_ref(), &upload.key, &mut |_| Ok(()))?;
                Ok(now.map(|seen| Act::Changed { id: upload.id, seen }))
            }
            _ if upload.etag != found.seen.etag => Ok(Some(Act::Changed { id: upload.id, seen: found.seen })),
            UploadState::Settling => Ok(self.act_on_quiet(upload, found)),
            UploadState::Refused if self.place.takes(&upload.key) => {
                Ok(Some(Act::Settled { id: upload.id, etag: found.seen.etag, is_bag: found.is_bag }))
            }
            _ => Ok(None),
        }
    }

    /// What is to be done about an upload that is as it was when it was last inspected.
    fn act_on_quiet(&self, upload: &Upload, found: ListedUpload) -> Option<Act> {
        let settle = i64::try_from(self.home.settings.receiving.quiet_period.as_micros()).unwrap_or(i64::MAX);
        let quiet = found.since.0.saturating_sub(upload.changed_at.0);
        if quiet < 0 {
            // The clock was put back since: the first look says nothing any more.
            return Some(Act::Changed { id: upload.id, seen: found.seen });
        }
        (quiet >= settle).then_some(Act::Settled { id: upload.id, etag: found.seen.etag, is_bag: found.is_bag })
    }

    /// What is to be done about an upload that is no longer there.
    fn act_on_absence(upload: &Upload) -> Option<Act> {
        let is_elsewhere = matches!(
            upload.state,
            // The work item sees for itself.
            UploadState::Submitted | UploadState::Removing | UploadState::Removed | UploadState::Withdrawn
        );
        (!is_elsewhere).then_some(Act::Gone { id: upload.id, etag: upload.etag.clone() })
    }
}
