//! The history of content items.

use serde::Serialize;
use strongroom_registry::content_acts::RecordedAct;

use super::duplication_runs::digest_in_hex;

/// What was done with a content item, or found of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContentActView {
    /// Its number, in the order in which acts were written.
    pub number: u64,
    /// When, by the clock of the registry.
    pub time: String,
    /// What was done, or found.
    pub act: String,
    /// The type of the PREMIS event.
    pub event_type: String,
    /// `success`, `failure` or `warning`.
    pub outcome: String,
    /// Who acted, or reported.
    pub actor: String,
    /// The domain name of the institution whose rule it was; none of an event of what no rule copies.
    pub institution: Option<String>,
    /// The store that is read, or of which an event was reported.
    pub source: String,
    /// The store that is written; none of an event.
    pub destination: Option<String>,
    /// The space.
    pub space: String,
    /// The key; none for the space itself.
    pub key: Option<String>,
    /// The length in bytes, where it is known.
    pub size: Option<u64>,
    /// The SHA-512 of the bytes, where they were read.
    pub sha512: Option<String>,
    /// The etag in the source.
    pub source_etag: Option<String>,
    /// The etag in the destination before the act; of what was found, as it was recorded.
    pub etag_before: Option<String>,
    /// The etag in the destination after it; of what was found, as it was found.
    pub etag_after: Option<String>,
    /// The version of the policy that applied.
    pub policy_version: Option<u64>,
    /// The number of the task.
    pub task: Option<i64>,
    /// The topic of the task.
    pub topic: Option<String>,
    /// The attempt of the task, from 1.
    pub attempt: Option<u64>,
    /// The event of the source for which it was done.
    pub event: Option<String>,
    /// When that happened, as it was reported.
    pub event_at: Option<String>,
    /// Who reported it.
    pub event_actor: Option<String>,
    /// What was said of it.
    pub event_reason: Option<String>,
    /// In words.
    pub detail: String,
}

impl From<RecordedAct> for ContentActView {
    fn from(recorded: RecordedAct) -> Self {
        let act = recorded.act;
        let (task, event) = (act.task.as_ref(), act.event.as_ref());
        Self {
            number: recorded.id,
            time: act.time.to_string(),
            act: act.kind.to_string(),
            policy_version: task.map(|task| task.policy_version),
            task: task.map(|task| task.id),
            topic: task.map(|task| task.topic.clone()),
            attempt: task.map(|task| task.attempt),
            event: event.map(|event| event.id.to_string()),
            event_at: event.map(|event| event.happened_at.to_string()),
            event_actor: event.map(|event| event.actor.clone()),
            event_reason: event.map(|event| event.reason.clone()),
            event_type: act.event_type,
            outcome: act.outcome,
            actor: act.actor,
            institution: recorded.institution_identifier,
            source: act.source,
            destination: act.destination,
            space: act.space,
            key: Some(act.key).filter(|key| !key.is_empty()),
            size: act.size,
            sha512: act.sha512.as_deref().and_then(digest_in_hex),
            source_etag: act.source_etag,
            etag_before: act.etag_before,
            etag_after: act.etag_after,
            detail: act.detail,
        }
    }
}
