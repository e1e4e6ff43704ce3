//! Which topics of a process go before another one, and whether that one has its turn. The order is strict: no task of the later topic is leased
//! while one of an earlier topic could be leased by some process. Where the settings say so, a task that has been ready for long is leased all the same.

use std::time::Duration;

use strongroom_queue::tasks::{self, QueueStatus};
use strongroom_registry::{RegistryError, Time, Transaction};

/// The topics that go before another one.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// Those that this process works on, each with the most tasks that all processes together may have of it.
    pub(super) earlier: Vec<(String, Option<usize>)>,
    /// After how long a task is leased all the same; none: never.
    pub(super) aged_after: Option<Duration>,
}

/// What of a topic may be leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Every task.
    All,
    /// Only tasks that have been ready since this time, or longer.
    Since(Time),
    /// No task.
    None,
}

impl Order {
    /// What of the topic may be leased now. Nothing is asked of the database where no topic goes before it.
    pub(super) fn turn(&self, tx: &mut dyn Transaction) -> Result<Turn, RegistryError> {
        if !self.is_preceded(tx)? {
            return Ok(Turn::All);
        }
        let Some(aged_after) = self.aged_after else { return Ok(Turn::None) };
        let age = i64::try_from(aged_after.as_micros()).unwrap_or(i64::MAX);
        Ok(Turn::Since(Time(tx.now()?.0.saturating_sub(age))))
    }

    /// Whether an earlier topic has a task to lease: it is not paused, and has not as many leased as all processes together may have.
    fn is_preceded(&self, tx: &mut dyn Transaction) -> Result<bool, RegistryError> {
        if self.earlier.is_empty() {
            return Ok(false);
        }
        let topics: Vec<String> = self.earlier.iter().map(|(topic, _)| topic.clone()).collect();
        let QueueStatus::Work(ready) = tasks::look(tx, &topics)? else { return Ok(false) };
        for (topic, most) in self.earlier.iter().filter(|(topic, _)| ready.contains(topic)) {
            match most {
                Some(most) if tasks::leased_of(tx, topic)? >= *most => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}
