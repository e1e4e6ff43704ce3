//! PREMIS events of an object.

pub use strongroom_registry::events::EventCursor;
use strongroom_registry::{FileId, Time, events};

use super::authorization::EVENTS_LIST;
use super::views::EventView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::arks::find_object;

/// How an act can have ended.
pub const OUTCOMES: [&str; 3] = ["success", "failure", "warning"];

/// Which events are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this file.
    pub file: Option<FileId>,
    /// Only acts of this type.
    pub r#type: Option<String>,
    /// Only those that ended so.
    pub outcome: Option<String>,
    /// Only those since then.
    pub since: Option<Time>,
}

impl Filter {
    /// One row of the registry may stand for several acts, which differ in type, outcome and time.
    fn fits(&self, event: &events::Event) -> bool {
        self.r#type.as_ref().is_none_or(|kind| event.kind == *kind)
            && self.outcome.as_ref().is_none_or(|outcome| event.outcome == *outcome)
            && self.since.is_none_or(|since| event.time >= since)
    }
}

/// Events of an object that fit, in the order of their times, after `after`. A page may be empty although another one follows.
pub fn list(
    context: &OpContext,
    object: &str,
    filter: &Filter,
    after: Option<EventCursor>,
) -> Result<Page<EventView, EventCursor>, EngineError> {
    let authorized = context.authorize(&EVENTS_LIST)?;
    let after = after.unwrap_or_else(|| filter.since.map_or(EventCursor::START, EventCursor::since));
    let (events, next) = authorized.read(|tx| {
        let found = find_object(tx, authorized.scope(), object)?;
        events::of_object(tx, authorized.scope(), found.id, filter.file, after, PAGE)
    })?;
    let fitting = events.into_iter().filter(|event| filter.fits(event));
    Ok(Page { items: fitting.map(EventView::from).collect(), next })
}
