//! PREMIS events.

use serde::Serialize;
use strongroom_premis::EventType;
use strongroom_registry::events::Event;
use strongroom_registry::{EventId, FileId, ObjectId};

/// An event.
#[derive(Debug, Clone, Serialize)]
pub struct EventView {
    /// Its identifier.
    pub event: EventId,
    /// The act, by its term in the Library of Congress vocabulary where it has one.
    pub r#type: String,
    /// When.
    pub time: String,
    /// `success`, `failure` or `warning`.
    pub outcome: String,
    /// What was done.
    pub detail: Option<String>,
    /// What came of it.
    pub outcome_detail: Option<String>,
    /// The object it is about.
    pub object: Option<ObjectId>,
    /// The file it is about.
    pub file: Option<FileId>,
    /// The path of that file within the object.
    pub path: Option<String>,
    /// Where it is about no file: the first path in the package of the content whose digest it names.
    pub content_path: Option<String>,
    /// The stores that it is about; none where it is about no copies, or was recorded before events had stores.
    pub stores: Vec<String>,
    /// What did it.
    pub agent: String,
    /// On whose behalf, where that is known.
    pub actor: Option<String>,
}

impl EventView {
    /// The types that an event can have: the terms of the Library of Congress vocabulary, and those of this program.
    pub fn types() -> Vec<&'static str> {
        EventType::NAMED.iter().map(EventType::label).collect()
    }
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        Self {
            event: event.id,
            r#type: event.kind,
            time: event.time.to_string(),
            outcome: event.outcome,
            detail: event.detail,
            outcome_detail: event.outcome_detail,
            object: event.object,
            file: event.file,
            path: event.path,
            content_path: None,
            stores: event.stores,
            agent: event.agent,
            actor: event.actor.map(|actor| actor.name),
        }
    }
}
