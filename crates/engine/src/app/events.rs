//! PREMIS events of an object.

pub use strongroom_registry::events::EventCursor;
use strongroom_registry::{FileId, events, objects};

use super::authorization::EVENTS_LIST;
use super::views::EventView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;

/// Events of an object, or of one of its files, in the order of their times, after `after`.
pub fn list(
    context: &OpContext,
    object: &str,
    file: Option<FileId>,
    after: Option<EventCursor>,
) -> Result<Page<EventView, EventCursor>, EngineError> {
    let authorized = context.authorize(&EVENTS_LIST)?;
    let after = after.unwrap_or(EventCursor::START);
    let (events, next) = authorized.read(|tx| {
        let found = objects::find(tx, authorized.scope(), object)?;
        events::of_object(tx, authorized.scope(), found.id, file, after, PAGE)
    })?;
    Ok(Page { items: events.into_iter().map(EventView::from).collect(), next })
}
