//! What the registry knows of a content item.

use strongroom_digest::Digest;
use strongroom_registry::content_events::{self, ContentEvent};
use strongroom_registry::duplicated_items::{self as items, DuplicatedItem};
use strongroom_registry::duplication_routes as routes;
use strongroom_registry::{ContentEventKind, CopyOutcome, RegistryError};
use strongroom_spaces::ItemHead;

use super::ItemTask;
use crate::duplication::handler::may_delete;
use crate::hold::OperationError;

/// What the registry knows of a content item.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Its newest event in the source.
    pub(super) event: Option<ContentEvent>,
    /// Its newest event in the destination.
    event_there: Option<ContentEvent>,
    /// What came of it last.
    pub(super) item: Option<DuplicatedItem>,
    /// What came of it on the route in the other direction.
    pub(super) reverse: Option<DuplicatedItem>,
    /// Whether it was deleted in the source, and its copy may be deleted with it.
    pub(super) may_delete: bool,
}

impl Known {
    /// Reads it.
    pub(super) fn of(task: &ItemTask<'_>) -> Result<Self, OperationError> {
        let (home, route, key) = (task.home, task.route, task.key.as_str());
        let known = home.registry.read(|tx| {
            let event = content_events::get(tx, (&route.source, &route.space, key))?;
            let event_there = content_events::get(tx, (&route.destination, &route.space, key))?;
            let other = (route.destination.as_str(), route.source.as_str(), route.space.as_str());
            let other = routes::find(tx, route.institution, other)?;
            let reverse = other.map(|other| items::get(tx, other.id, key)).transpose()?.flatten();
            let item = items::get(tx, route.id, key)?;
            Ok::<_, RegistryError>(Self { event, event_there, item, reverse, may_delete: false })
        })?;
        let may_delete = known.is_deletion_recorded() && may_delete(home, route, &task.applied)?;
        Ok(Self { may_delete, ..known })
    }

    pub(super) fn is_deletion_recorded(&self) -> bool {
        self.event.as_ref().is_some_and(|event| event.kind == ContentEventKind::Delete)
    }

    /// Whether its deletion in the source is left to sweeps.
    pub(super) fn is_left_to_sweep(&self) -> bool {
        self.is_deletion_recorded() && self.event.as_ref().is_some_and(|event| event.left_to_sweep)
    }

    pub(super) fn is_deletion_recorded_there(&self) -> bool {
        self.event_there.as_ref().is_some_and(|event| event.kind == ContentEventKind::Delete)
    }

    /// Whether the bytes of both were compared since they are as they are. Another revision under the same etag may have other bytes.
    pub(super) fn is_equal(&self, source: &ItemHead, destination: &ItemHead) -> bool {
        let is = |etag: &Option<String>, revision: &Option<String>, head: &ItemHead| {
            etag.as_ref() == Some(&head.etag) && *revision == head.revision
        };
        let is_of = |item: &DuplicatedItem, one: &ItemHead, other: &ItemHead| {
            item.outcome == CopyOutcome::Equal
                && item.verified_at.is_some()
                && is(&item.source_etag, &item.source_revision, one)
                && is(&item.destination_etag, &item.destination_revision, other)
        };
        self.item.as_ref().is_some_and(|item| is_of(item, source, destination))
            || self.reverse.as_ref().is_some_and(|item| is_of(item, destination, source))
    }

    /// Whether people have to act, and neither was changed since that was found.
    pub(super) fn waits_for_person(&self, source: &str, destination: &str) -> bool {
        self.item.as_ref().is_some_and(|item| {
            matches!(item.outcome, CopyOutcome::Damaged | CopyOutcome::Conflict)
                && item.source_etag.as_deref() == Some(source)
                && item.destination_etag.as_deref() == Some(destination)
        })
    }

    /// The etags of source and destination when both were known to be equal last, on this route or in the other direction.
    pub(super) fn last_equal(&self) -> Option<(Option<&str>, Option<&str>)> {
        let equal = |item: &&DuplicatedItem| item.outcome == CopyOutcome::Equal;
        let item = self.item.as_ref().filter(equal);
        let reverse = self.reverse.as_ref().filter(equal);
        match (reverse, item) {
            (Some(reverse), item) if item.is_none_or(|item| reverse.recorded_at > item.recorded_at) => {
                Some((reverse.destination_etag.as_deref(), reverse.source_etag.as_deref()))
            }
            (_, item) => item.map(|item| (item.source_etag.as_deref(), item.destination_etag.as_deref())),
        }
    }

    /// Whether the destination is as it was when it was recorded last.
    pub(super) fn is_unchanged_there(&self, etag: &str) -> bool {
        let kept = self.item.as_ref().filter(|item| item.outcome != CopyOutcome::Equal);
        self.last_equal().is_some_and(|(_, there)| there == Some(etag))
            || kept.is_some_and(|item| item.destination_etag.as_deref() == Some(etag))
    }

    /// The SHA-512 of the bytes that the source has under an etag, where they were read, on this route or in the other direction.
    pub(super) fn sha512_of(&self, etag: &str) -> Option<Digest> {
        let digest = |item: &DuplicatedItem| Digest::from_bytes(item.sha512.as_deref()?).ok();
        let here = self.item.as_ref().filter(|item| item.source_etag.as_deref() == Some(etag));
        let reverse = self.reverse.as_ref().filter(|item| item.outcome == CopyOutcome::Equal);
        let reverse = reverse.filter(|item| item.destination_etag.as_deref() == Some(etag));
        here.and_then(digest).or_else(|| reverse.and_then(digest))
    }

    /// Whether both had these etags when they were equal last: other bytes under one of them are damage.
    pub(super) fn were_equal(&self, source: &ItemHead, destination: &ItemHead) -> bool {
        self.last_equal() == Some((Some(source.etag.as_str()), Some(destination.etag.as_str())))
    }
}
