//! PREMIS events of an object.

use std::collections::BTreeMap;

use strongroom_digest::Digest;
pub use strongroom_registry::events::EventCursor;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{FileId, RegistryError, Time, Transaction, events};

use super::authorization::EVENTS_LIST;
use super::views::EventView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::arks::find_object;
use crate::content_name::ContentName;

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
    let (items, next) = authorized.read(|tx| {
        let found = find_object(tx, authorized.scope(), object)?;
        let (events, next) = events::of_object(tx, authorized.scope(), found.id, filter.file, after, PAGE)?;
        let mut paths = BTreeMap::new();
        let fitting = events.into_iter().filter(|event| filter.fits(event)).map(|event| {
            let content = content_path(tx, &found, &event, &mut paths)?;
            Ok(EventView { content_path: content, ..EventView::from(event) })
        });
        Ok((fitting.collect::<Result<Vec<_>, RegistryError>>()?, next))
    })?;
    Ok(Page { items, next })
}

/// The first path of the content that an event about no file names by its digest. `known` are those that were read before.
fn content_path(
    tx: &mut dyn Transaction,
    object: &Object,
    event: &events::Event,
    known: &mut BTreeMap<Digest, Option<String>>,
) -> Result<Option<String>, RegistryError> {
    let digest = event.outcome_detail.as_deref().and_then(|detail| detail.strip_prefix("sha512:"));
    let Some(digest) = digest.filter(|_| event.path.is_none()).and_then(|digest| digest.parse::<Digest>().ok()) else {
        return Ok(None);
    };
    if let Some(path) = known.get(&digest) {
        return Ok(path.clone());
    }
    let content = objects::content_by_digest(tx, object, &digest)?;
    let path = ContentName::read(tx, &object.identifier, content)?.path;
    known.insert(digest, path.clone());
    Ok(path)
}
