//! Spaces themselves: one that the source has is made in the destination; one that it has not any more is removed there where nothing lies in it.

use strongroom_queue::Outcome;
use strongroom_registry::content_acts::{self, ActTask, ContentAct};
use strongroom_registry::duplication_routes::Route;
use strongroom_registry::{ContentActKind, ContentEventKind};
use strongroom_spaces::{PlainStore, Removal, SpaceName};

use super::acts;
use super::events::{Follow, policies};
use super::handler::{Applied, may_delete};
use crate::hold::OperationError;
use crate::runtime::TaskEnd;
use crate::{EngineError, Home, crash_point};

pub(super) fn run(
    home: &Home,
    route: &Route,
    space: &SpaceName,
    applied: &Applied,
    task: &ActTask,
) -> Result<TaskEnd, OperationError> {
    let (source, destination) = (home.plain_stores.get(&route.source)?, home.plain_stores.get(&route.destination)?);
    let has = |store: &dyn PlainStore| -> Result<bool, EngineError> { Ok(store.has_space(space)?) };
    let both = (has(source.as_ref())?, has(destination.as_ref())?);
    let kind = match both {
        // A store that keeps no empty spaces makes one with the first content item, and says nothing by not having one.
        (true, false) => destination.create_space(space).map_err(EngineError::from)?.then_some(ContentEventKind::Put),
        // Where something lies in it, the content items come first; the next sweep tries again.
        (false, true) if source.capabilities().keeps_empty_spaces && may_delete(home, route, applied)? => {
            let removed = destination.delete_space_if_empty(space).map_err(EngineError::from)?;
            (removed == Removal::Removed).then_some(ContentEventKind::Delete)
        }
        _ => None,
    };
    crash_point("duplicate.space");
    let end = TaskEnd::from(Outcome::Done);
    let now = crate::hold::now(home)?;
    let act_of = |event| {
        let kind = match event {
            ContentEventKind::Put => ContentActKind::SpaceCreated,
            ContentEventKind::Delete => ContentActKind::SpaceRemoved,
        };
        acts::of_task(kind, route, "", task, now)
    };
    if let Some(kind) = kind {
        let act = act_of(kind);
        let follow = Follow::new(home, &policies(home)?, (&route.destination, &route.space, ""), kind, "", now);
        return Ok(end.with(Box::new(move |tx, _| {
            content_acts::append(tx, &act)?;
            follow.write(tx)
        })));
    }
    // An attempt that was cut off may have done it; then it is not in the history yet.
    let done = match both {
        _ if task.attempt == 1 || !destination.capabilities().keeps_empty_spaces => None,
        (true, true) => Some(ContentEventKind::Put),
        (false, false) => Some(ContentEventKind::Delete),
        _ => None,
    };
    let Some(done) = done else { return Ok(end) };
    let detail = format!("found so at attempt {} of this task; an earlier one may have done it", task.attempt);
    let act = ContentAct { detail, ..act_of(done) };
    let route = route.clone();
    Ok(end.with(Box::new(move |tx, _| {
        let last = content_acts::last_of_space(tx, (&route.destination, &route.space))?;
        let is_missing = match done {
            ContentEventKind::Put => last != Some(ContentActKind::SpaceCreated),
            ContentEventKind::Delete => last == Some(ContentActKind::SpaceCreated),
        };
        if is_missing {
            content_acts::append(tx, &act)?;
        }
        Ok(Vec::new())
    })))
}
