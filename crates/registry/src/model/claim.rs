//! How a worker holds a work item, and how its stages end.

use std::time::Duration;

use strongroom_database::Time;
use strongroom_queue::{Lease, Leased};

use super::item::{Item, ItemProblem};
use super::{Action, ItemId, ItemStatus, Stage, WaitReason};

/// An item held by one worker.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Which item.
    pub item: ItemId,
    /// What every write carries.
    pub fence: i64,
    /// How often stores had been replaced when the item was claimed. Every write carries it, too: what a worker knows of a
    /// store of this name need not be so of the one that has the name since.
    pub replacements: u64,
    /// The lease of the task behind it.
    pub lease: Lease,
    /// Attempts of the stage that are spent, this one included.
    pub spent: u32,
    /// Which statement checks the fence for the writes that carry the claim.
    pub fence_check: FenceCheck,
}

/// Which statement checks the fence of a claim. Only the transaction that ends a stage makes a claim whose writes need no check of
/// their own: it checks the fence behind them, and they are undone where it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FenceCheck {
    by_end: bool,
}

impl FenceCheck {
    /// For the writes of the transaction that ends the stage.
    pub(crate) const BY_END: Self = Self { by_end: true };

    /// Whether the end of the stage checks the fence for the writes.
    pub(crate) fn is_by_end(self) -> bool {
        self.by_end
    }
}

/// A leased task, with the item that it is a stage of, where it is one.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The task.
    pub task: Leased,
    /// The item as it was claimed, with its claim.
    pub claimed: Option<(Claim, Box<Item>)>,
}

/// What a look for work gave.
#[derive(Debug, Clone, Default)]
pub struct Leasing {
    /// What was leased.
    pub assignments: Vec<Assignment>,
    /// The topics that have new work because items ended on the way; those waiting for them are to be woken after the
    /// commit.
    pub topics: Vec<String>,
    /// The items that ended or were held on the way.
    pub outcomes: Vec<ItemOutcome>,
}

impl Leasing {
    /// Takes in what came of an item on the way, and the topics that have new work by it.
    pub(crate) fn add(&mut self, (topics, outcome): (Vec<String>, Option<ItemOutcome>)) {
        self.topics.extend(topics);
        self.outcomes.extend(outcome);
    }
}

/// What came of a work item that ended, or that is held until a person releases it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemOutcome {
    /// The item.
    pub item: ItemId,
    /// What it was to do.
    pub action: Action,
    /// The object's identifier, `<institution>/<name>`.
    pub object_identifier: String,
    /// The stage that it was at.
    pub stage: Stage,
    /// How it ended, or that it is held.
    pub status: ItemStatus,
    /// What happened, in words.
    pub note: String,
    /// How long ago it was made.
    pub age: Duration,
}

/// What was taken over from workers that are silent or gone.
#[derive(Debug, Clone, Default)]
pub struct Reclaimed {
    /// The topics that have work again.
    pub topics: Vec<String>,
    /// The items that ended or were held with it, as a person had asked.
    pub outcomes: Vec<ItemOutcome>,
}

/// How a stage ended.
#[derive(Debug, Clone)]
pub enum StageEnd {
    /// On to `next`.
    Next {
        /// The stage that follows.
        next: Stage,
        /// What is shown to people.
        note: String,
    },
    /// Not yet; look again at this time, or when someone wakes the item.
    Defer {
        /// When.
        until: Time,
        /// What it waits for.
        reason: WaitReason,
        /// The same, in words.
        note: String,
    },
    /// Went wrong in a way that may pass.
    Transient {
        /// When to try again.
        retry_at: Time,
        /// Give up when this many attempts went wrong.
        max_attempts: u32,
        /// The error in full.
        note: String,
    },
    /// Went wrong for good.
    Fatal {
        /// The error in full.
        note: String,
        /// What was found in the deposit.
        problems: Vec<ItemProblem>,
    },
    /// Ended by a verdict: its package was read and is not valid. Only this end says so; every other failure is ours.
    Invalid {
        /// What is wrong, in short.
        note: String,
        /// What was found in the deposit.
        problems: Vec<ItemProblem>,
    },
    /// What was staged is not what was fetched, and was discarded: back to an earlier stage to fetch it again. A person is
    /// asked for where that has happened too often since one was last at it.
    StagingLost {
        /// The stage to go back to.
        to: Stage,
        /// This many losses end the item.
        max_losses: u32,
        /// What was lost.
        note: String,
        /// What to tell a person where it ends the item.
        advice: String,
    },
    /// Back to an earlier stage, with what it left behind dropped.
    Back {
        /// The stage to go back to.
        to: Stage,
        /// Why.
        note: String,
    },
    /// A person must look first.
    Held {
        /// Why.
        note: String,
    },
    /// There is nothing left to do for it: something newer took its place, or what it was to take in is gone.
    Cancelled {
        /// Why.
        note: String,
    },
    /// The item is done.
    Succeeded {
        /// What is shown to people.
        note: String,
    },
    /// The worker stops; the attempt is returned.
    Released {
        /// Why.
        note: String,
    },
}

/// What came of recording the end of a stage.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// The topics that have new work by it; those waiting for them are to be woken after the commit.
    pub topics: Vec<String>,
    /// The topic of the stage that ended, where it has more to lease.
    pub left: Option<String>,
    /// What the worker holds from then on, where it goes on with the item.
    pub goes_on: Option<Assignment>,
    /// What came of the item, where it ended or is held by it.
    pub outcome: Option<ItemOutcome>,
}

/// How many attempts the tasks of a topic have, by the settings.
pub type MaxAttempts<'a> = dyn Fn(&str) -> u32 + 'a;

/// What a heartbeat learned of one assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeartbeatOutcome {
    /// Still held, until then.
    Held(Time),
    /// Still held, but a person asks to stop.
    StopRequested,
    /// Another worker has it, or it ended.
    Lost,
}

/// Where a worker has room for the stage that follows.
#[derive(Debug, Clone)]
pub struct Room {
    /// Its topic.
    pub topic: String,
    /// How many tasks of it all processes together may have, where that is bounded.
    pub max_total: Option<usize>,
    /// For how long a lease of it is.
    pub duration: Duration,
    /// Whether it is the item's turn before those that wait in the topic.
    pub passes: bool,
}
