//! The history of content items: what was done with them, and what was found, as rows that are appended in the transaction of the outcome. What is
//! as it was recorded adds none.

use strongroom_premis::EventType;
use strongroom_registry::content_acts::{self as rows, ActTask, ContentAct};
use strongroom_registry::content_events::{self, ContentEvent};
use strongroom_registry::duplicated_items::{self as items, DuplicatedItem};
use strongroom_registry::duplication_routes::Route;
use strongroom_registry::{ContentActKind, ContentEventKind, InstitutionId, RegistryError, Time, Transaction};
use strongroom_spaces::ItemHead;

use super::events::ACTOR;

/// The outcome of what was done as wanted, with something to inspect.
pub(super) const WARNING: &str = "warning";

/// How PREMIS names an act of this kind: the type of the event, and its outcome.
fn premis(kind: ContentActKind) -> (EventType, &'static str) {
    use ContentActKind as Kind;
    match kind {
        Kind::Copied | Kind::Replaced => (EventType::Replication, "success"),
        Kind::Described => (EventType::MetadataModification, "success"),
        Kind::Deleted | Kind::Absent | Kind::SpaceRemoved | Kind::DeletionReported => (EventType::Deletion, "success"),
        Kind::SpaceCreated | Kind::DeletionEnded => (EventType::Creation, "success"),
        Kind::Equal => (EventType::FixityCheck, "success"),
        Kind::Kept => (EventType::Appraisal, "success"),
        Kind::Lost | Kind::Damaged | Kind::Conflict => (EventType::FixityCheck, "failure"),
    }
}

/// Whether an act of this kind changed the destination; else something was found.
pub(super) fn is_change(kind: ContentActKind) -> bool {
    use ContentActKind as Kind;
    matches!(
        kind,
        Kind::Copied | Kind::Replaced | Kind::Described | Kind::Deleted | Kind::SpaceCreated | Kind::SpaceRemoved
    )
}

/// An act of a task on a content item of a route, or with an empty key on the space.
pub(super) fn of_task(kind: ContentActKind, route: &Route, key: &str, task: &ActTask, time: Time) -> ContentAct {
    let (event_type, outcome) = premis(kind);
    ContentAct {
        institution: Some(route.institution),
        time,
        kind,
        event_type: event_type.label().to_owned(),
        outcome: outcome.to_owned(),
        actor: ACTOR.to_owned(),
        source: route.source.clone(),
        destination: Some(route.destination.clone()),
        space: route.space.clone(),
        key: key.to_owned(),
        size: None,
        sha512: None,
        source_etag: None,
        etag_before: None,
        etag_after: None,
        task: Some(task.clone()),
        event: None,
        detail: String::new(),
    }
}

/// An act that is an event of the source: a deletion that is reported, or that counts no more.
pub(super) fn of_event(kind: ContentActKind, event: &ContentEvent, institution: Option<InstitutionId>) -> ContentAct {
    let (event_type, outcome) = premis(kind);
    ContentAct {
        institution,
        time: event.recorded_at,
        kind,
        event_type: event_type.label().to_owned(),
        outcome: outcome.to_owned(),
        actor: event.actor.clone(),
        source: event.store.clone(),
        destination: None,
        space: event.space.clone(),
        key: event.key.clone(),
        size: None,
        sha512: None,
        source_etag: None,
        etag_before: None,
        etag_after: None,
        task: None,
        event: Some(event.into()),
        detail: String::new(),
    }
}

/// Records an event that was reported, once for each institution whose rules copy the space: a deletion, and a put that ends one. Other puts are
/// followed by copies, which are acts of their own.
pub(super) fn append_event(
    tx: &mut dyn Transaction,
    event: &ContentEvent,
    before: Option<&ContentEvent>,
    institutions: &[Option<InstitutionId>],
) -> Result<(), RegistryError> {
    use ContentEventKind::{Delete, Put};
    for institution in institutions {
        let act = match (event.kind, before) {
            (Delete, _) => ContentAct {
                detail: format!("deleted, as {} reported{}", event.actor, reason_of(event)),
                ..of_event(ContentActKind::DeletionReported, event, *institution)
            },
            (Put, Some(deletion)) if deletion.kind == Delete => ContentAct {
                time: event.recorded_at,
                actor: event.actor.clone(),
                detail: format!(
                    "put again, by the event of {} that {} reported{}",
                    event.happened_at,
                    event.actor,
                    reason_of(event)
                ),
                ..of_event(ContentActKind::DeletionEnded, deletion, *institution)
            },
            (Put, _) => return Ok(()),
        };
        rows::append(tx, &act)?;
    }
    Ok(())
}

/// A deletion that is used up, because the content item was seen in the source again.
pub(super) struct SeenAgain {
    event: ContentEvent,
    act: ContentAct,
}

impl SeenAgain {
    /// `event` is the newest one of the content item; none where that is no deletion.
    pub(super) fn new(route: &Route, event: Option<ContentEvent>, found: &ItemHead, now: Time) -> Option<Self> {
        let event = event.filter(|event| event.kind == ContentEventKind::Delete)?;
        let act = ContentAct {
            time: now,
            actor: ACTOR.to_owned(),
            size: Some(found.size),
            source_etag: Some(found.etag.clone()),
            detail: format!("it is in {} again, so this deletion counts no more", route.source),
            ..of_event(ContentActKind::DeletionEnded, &event, Some(route.institution))
        };
        Some(Self { event, act })
    }

    /// By which task it was seen.
    #[must_use]
    pub(super) fn by(mut self, task: &ActTask) -> Self {
        self.act.task = Some(task.clone());
        self
    }

    /// Records that. Nothing where another event came meanwhile.
    pub(super) fn write(&self, tx: &mut dyn Transaction) -> Result<(), RegistryError> {
        if content_events::supersede(tx, &self.event)? { rows::append(tx, &self.act) } else { Ok(()) }
    }
}

fn reason_of(event: &ContentEvent) -> String {
    if event.reason.is_empty() { String::new() } else { format!(": {}", event.reason) }
}

/// What a task adds to the history of a content item.
#[derive(Debug, Default)]
pub(super) struct Acts(pub(super) Vec<ContentAct>);

impl Acts {
    /// Appends them, before `item` is recorded. What was found is left out where it is what is recorded by now: two tasks for one content item
    /// may run at once, and what people have to act on may be found again.
    pub(super) fn append(
        &self,
        tx: &mut dyn Transaction,
        route: &Route,
        item: &DuplicatedItem,
    ) -> Result<(), RegistryError> {
        let is_found = !self.0.is_empty() && !self.0.iter().any(|act| is_change(act.kind));
        if is_found && items::get(tx, route.id, &item.key)?.is_some_and(|known| is_same(&known, item)) {
            return Ok(());
        }
        self.0.iter().try_for_each(|act| rows::append(tx, act))
    }
}

/// Whether both say the same of a content item.
fn is_same(known: &DuplicatedItem, item: &DuplicatedItem) -> bool {
    known.outcome == item.outcome
        && known.source_etag == item.source_etag
        && known.destination_etag == item.destination_etag
        && known.source_revision == item.source_revision
        && known.destination_revision == item.destination_revision
        && known.verified_at.is_some() == item.verified_at.is_some()
}
