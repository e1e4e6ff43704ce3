//! What the history of a content item gets from a task: what was done, or what was found first.

use strongroom_registry::content_acts::{ActEvent, ContentAct};
use strongroom_registry::{ContentActKind, ContentEventKind, CopyOutcome, Time};

use super::{Both, Came, ItemTask, Known, Proof};
use crate::duplication::acts::{self, Acts};
use crate::duplication::tasks::HIGH;

impl ItemTask<'_> {
    /// What the history of the content item gets.
    pub(super) fn acts(&self, came: &Came, known: &Known, both: &Both<'_>, now: Time) -> Acts {
        let of = |kind| acts::of_task(kind, self.route, self.key.as_str(), self.task, now);
        let there = both.in_destination.as_ref();
        let before = there.map(|head| head.etag.clone());
        let recorded = known.item.as_ref().and_then(|item| item.destination_etag.clone());
        match came {
            Came::AsKnown | Came::Nothing | Came::Later => Acts::default(),
            Came::Equal(equal) => {
                let is_first = equal.proof == Proof::Compared && !known.is_equal(&equal.source, &equal.destination);
                let Some(kind) = equal.did.or(is_first.then_some(ContentActKind::Equal)) else {
                    return Acts::default();
                };
                let mut acts = Vec::new();
                if equal.makes_space {
                    acts.push(acts::of_task(ContentActKind::SpaceCreated, self.route, "", self.task, now));
                }
                let sha512 = equal.sha512.or_else(|| known.sha512_of(&equal.source.etag));
                let act = ContentAct {
                    size: Some(equal.source.size),
                    sha512: sha512.map(|digest| digest.as_bytes().to_vec()),
                    source_etag: Some(equal.source.etag.clone()),
                    etag_before: if acts::is_change(kind) { before } else { recorded },
                    etag_after: Some(equal.destination.etag.clone()),
                    event: self.event_of(kind, known),
                    detail: equal.detail.clone(),
                    ..of(kind)
                };
                let was_equal = known.item.as_ref().is_some_and(|item| {
                    item.outcome == CopyOutcome::Equal
                        && item.verified_at.is_some()
                        && item.source_etag.as_ref() == Some(&equal.source.etag)
                        && item.destination_etag == act.etag_before
                });
                if kind == ContentActKind::Replaced && was_equal {
                    // Equal by its etag, and not by its bytes.
                    acts.push(ContentAct {
                        etag_after: act.etag_before.clone(),
                        detail: format!(
                            "{} has other bytes than it had under the same etag; they are replaced",
                            self.route.destination
                        ),
                        event: None,
                        source_etag: act.source_etag.clone(),
                        etag_before: act.etag_before.clone(),
                        sha512: act.sha512.clone(),
                        size: act.size,
                        ..of(ContentActKind::Damaged)
                    });
                }
                let is_unproved = acts::is_change(kind) && equal.proof != Proof::Compared;
                acts.push(match kind {
                    ContentActKind::Equal => self.perhaps_before(act, "both have the same bytes", "copied"),
                    _ if is_unproved => ContentAct { outcome: acts::WARNING.to_owned(), ..act },
                    _ => act,
                });
                Acts(acts)
            }
            Came::Else { act: kind, detail, .. } => {
                let is_deleted = matches!(kind, ContentActKind::Deleted | ContentActKind::Absent);
                let item = known.item.as_ref();
                // What is recorded of the bytes is about this etag alone.
                let is_recorded = there.is_none_or(|head| recorded.as_ref() == Some(&head.etag));
                let act = ContentAct {
                    size: there.map(|head| head.size).or_else(|| item.and_then(|item| item.size)),
                    sha512: item.filter(|_| is_recorded).and_then(|item| item.sha512.clone()),
                    source_etag: both.in_source.as_ref().map(|head| head.etag.clone()),
                    etag_before: if is_deleted { before.clone().or(recorded) } else { recorded },
                    etag_after: before.filter(|_| !is_deleted),
                    event: self.event_of(*kind, known),
                    detail: detail.clone(),
                    ..of(*kind)
                };
                let act = if *kind == ContentActKind::Absent { self.perhaps_before(act, "", "deleted") } else { act };
                Acts(vec![act])
            }
        }
    }

    /// What was found may have been done by an attempt of this task that was cut off before its end.
    fn perhaps_before(&self, act: ContentAct, what: &str, done: &str) -> ContentAct {
        let found = if act.detail.is_empty() { what.to_owned() } else { act.detail.clone() };
        let detail = match self.task.attempt {
            1 => found,
            attempt => {
                format!("{found}; found so at attempt {attempt} of this task, and an earlier one may have {done} it")
            }
        };
        ContentAct { detail, ..act }
    }

    /// The event for which something was done: of what follows from a deletion, and of a change by a task that an event has made.
    fn event_of(&self, kind: ContentActKind, known: &Known) -> Option<ActEvent> {
        let event = known.event.as_ref()?;
        let is_of_deletion = matches!(kind, ContentActKind::Deleted | ContentActKind::Absent | ContentActKind::Kept);
        let is_cause = match event.kind {
            ContentEventKind::Delete => is_of_deletion,
            ContentEventKind::Put => acts::is_change(kind) && !is_of_deletion && self.task.topic == HIGH,
        };
        is_cause.then(|| event.into())
    }
}
