//! Spaces themselves: one that the source has is made in the destination; one that it has not any more is removed there where nothing lies in it.

use strongroom_queue::Outcome;
use strongroom_registry::ContentEventKind;
use strongroom_registry::duplication_routes::Route;
use strongroom_spaces::{PlainStore, Removal, SpaceName};

use super::events::{Follow, policies};
use super::handler::Applied;
use crate::hold::OperationError;
use crate::runtime::TaskEnd;
use crate::{EngineError, Home, crash_point};

pub(super) fn run(home: &Home, route: &Route, space: &SpaceName, applied: &Applied) -> Result<TaskEnd, OperationError> {
    let (source, destination) = (home.plain_stores.get(&route.source)?, home.plain_stores.get(&route.destination)?);
    let has = |store: &dyn PlainStore| -> Result<bool, EngineError> { Ok(store.has_space(space)?) };
    let kind = match (has(source.as_ref())?, has(destination.as_ref())?) {
        // A store that keeps no empty spaces makes one with the first content item, and says nothing by not having one.
        (true, false) => destination.create_space(space).map_err(EngineError::from)?.then_some(ContentEventKind::Put),
        // Where something lies in it, the content items come first; the next sweep tries again.
        (false, true) if applied.may_delete && source.capabilities().keeps_empty_spaces => {
            let removed = destination.delete_space_if_empty(space).map_err(EngineError::from)?;
            (removed == Removal::Removed).then_some(ContentEventKind::Delete)
        }
        _ => None,
    };
    crash_point("duplicate.space");
    let end = TaskEnd::from(Outcome::Done);
    let Some(kind) = kind else { return Ok(end) };
    let follow =
        Follow::new(home, &policies(home)?, (&route.destination, &route.space, ""), kind, "", crate::hold::now(home)?);
    Ok(end.with(Box::new(move |tx, _| follow.write(tx))))
}
