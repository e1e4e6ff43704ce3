//! The tasks of duplication: a content item of a route, or with an empty key the space itself.
//!
//! Topic [`HIGH`] has what events make, and is never capped; topic [`LOW`] has what sweeps make. The payload says what a task is about; its key
//! only keeps two of the same from waiting.

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_queue::{NewTask, TaskRecord};
use strongroom_registry::RouteId;
use strongroom_registry::duplication_routes::Route;

/// The topic of tasks that events make.
pub const HIGH: &str = "duplicate.high";
/// The topic of tasks that sweeps make.
pub const LOW: &str = "duplicate.low";
/// Keys of content items with more bytes are distinguished by their digest in the key of a task.
const LONGEST_KEY: usize = 400;
/// Deletions go before copies.
const OF_DELETIONS: i32 = -1;

/// What a task is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    /// The key of the content item; empty for the space.
    pub(super) key: String,
    /// Whether the bytes are read in both stores, also where they are known to be equal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_read_whole: bool,
    /// Whether nothing is deleted, whatever the rule says when the task is carried out: deletions of a sweep are counted before they are queued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_kept: bool,
}

/// Why there is a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// An event.
    Event,
    /// A sweep found a difference.
    Difference,
    /// A sweep has it read whole.
    Sample,
    /// A sweep found a deletion that was not carried out.
    Deletion,
    /// A sweep found a deletion of a rule that keeps its copies.
    Kept,
}

/// A task for a content item of a route.
pub(super) fn new_task(max_attempts: u32, route: &Route, key: &str, cause: Cause) -> NewTask {
    let topic = if cause == Cause::Event { HIGH } else { LOW };
    let payload = Payload {
        key: key.to_owned(),
        is_read_whole: cause == Cause::Sample,
        is_kept: !matches!(cause, Cause::Event | Cause::Deletion),
    };
    // Texts and booleans only: it cannot fail.
    let payload = serde_json::to_vec(&payload).unwrap_or_default();
    NewTask {
        priority: if cause == Cause::Deletion { OF_DELETIONS } else { 0 },
        fair_key: route.institution_identifier.clone(),
        max_attempts,
        ..NewTask::new(topic, task_key(route, key, cause), payload)
    }
}

/// The route of a task, and the key of its content item; none where it does not say.
pub(crate) fn subject_of(task: &TaskRecord) -> Option<(RouteId, String)> {
    let route = task.key.split_once('/')?.0.parse().ok()?;
    let payload: Payload = serde_json::from_slice(&task.payload).ok()?;
    Some((route, payload.key))
}

/// Tasks that do different things never join each other: neither has the other one's payload then.
fn task_key(route: &Route, key: &str, cause: Cause) -> String {
    // No key of a content item has an empty segment.
    let of_cause = match cause {
        Cause::Event | Cause::Difference | Cause::Kept => "",
        Cause::Sample => "/read/",
        Cause::Deletion => "/delete/",
    };
    if key.len() <= LONGEST_KEY {
        return format!("{}/{of_cause}{key}", route.id);
    }
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(key.as_bytes());
    let digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
    format!("{}/{of_cause}/{digest}", route.id)
}
