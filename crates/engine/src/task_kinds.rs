//! The kinds of tasks that are no stages of work items: one constant for each in the file of its handler, and one line in [`TASK_KINDS`]. Everything
//! else about a topic (workers, pauses, counts, problems, worker kinds) follows from this table.

use std::sync::Arc;

use crate::runtime::{Builder, Handler};
use crate::{Home, activities, backfill, duplication, fixity, identification, ingest, reports, workflow};

/// A kind of task that is no stage of a work item.
pub(crate) struct TaskKind {
    /// Its topic.
    pub(crate) topic: &'static str,
    /// The topics whose tasks go before its own; see [`Builder::goes_after`].
    pub(crate) goes_after: &'static [&'static str],
    /// Whether its tasks are looked for before stages of work items. What only watches waits behind them.
    pub(crate) is_before_stages: bool,
    /// What does its tasks.
    pub(crate) handler: fn(&Arc<Home>) -> Arc<dyn Handler>,
}

/// Every kind. Tasks of those further down are looked for first.
pub(crate) const TASK_KINDS: &[TaskKind] = &[
    fixity::TASK,
    duplication::LOW_TASK,
    duplication::HIGH_TASK,
    backfill::TASK,
    identification::TASK,
    activities::TASK,
    reports::TASK,
    ingest::SWEEP_TASK,
];

/// Every handler of the system, in the order of a work item's way: those further down take precedence.
pub fn handlers(home: &Arc<Home>) -> Vec<Arc<dyn Handler>> {
    let of = |is_before_stages: bool| {
        TASK_KINDS.iter().filter(move |kind| kind.is_before_stages == is_before_stages).map(|kind| (kind.handler)(home))
    };
    of(false).chain(workflow::handlers(home)).chain(of(true)).collect()
}

/// The same runtime, in which topics go after others as their kinds say.
pub(crate) fn in_order(builder: Builder) -> Builder {
    TASK_KINDS.iter().fold(builder, |builder, kind| builder.goes_after(kind.topic, kind.goes_after))
}

/// The topics that go before this one.
pub(crate) fn earlier_topics(topic: &str) -> &'static [&'static str] {
    TASK_KINDS.iter().find(|kind| kind.topic == topic).map_or(&[], |kind| kind.goes_after)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{TASK_KINDS, earlier_topics};

    #[test]
    fn each_kind_is_in_the_book_and_has_a_topic_of_its_own() {
        let book = include_str!("../../../docs/queue.md");
        let mut topics = BTreeSet::new();
        for kind in TASK_KINDS {
            assert!(topics.insert(kind.topic), "{} has two kinds", kind.topic);
            assert!(book.contains(&format!("`{}`", kind.topic)), "docs/queue.md does not name {}", kind.topic);
        }
    }

    #[test]
    fn no_topic_goes_before_itself_and_each_that_goes_before_another_is_there() {
        for kind in TASK_KINDS {
            let (mut seen, mut next) = (BTreeSet::new(), kind.goes_after.to_vec());
            while let Some(topic) = next.pop() {
                assert_ne!(topic, kind.topic, "it would wait for itself");
                assert!(TASK_KINDS.iter().any(|other| other.topic == topic), "{}: no topic {topic}", kind.topic);
                if seen.insert(topic) {
                    next.extend(earlier_topics(topic));
                }
            }
        }
    }
}
