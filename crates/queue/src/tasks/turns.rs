//! The order of a topic's line: fair between those who share it, the more urgent first, and no task waits without end.
//!
//! Each fair key numbers its tasks with turns, beginning where the line is being served. A task's rank is its turn plus
//! [`TURNS_PER_PRIORITY`] for each step of priority, and the lowest rank is leased first. So fair keys of one priority
//! alternate, however long one's backlog is. A less urgent task stands that many turns further back and no further: the
//! turns of newer tasks rise until they lie behind it. (Start-time fair queueing: Goyal, Vin and Cheng, SIGCOMM 1996.)

use std::collections::BTreeMap;

use strongroom_database::{DatabaseError, Statement, Transaction};

/// How many tasks of each fair key may pass a task that is one step of priority less urgent.
pub const TURNS_PER_PRIORITY: i64 = 100;

const RESERVE: Statement = Statement("queue_reserve_turns");
const RETURN: Statement = Statement("queue_return_turns");

/// The rank of a task with this turn and priority.
pub(super) fn rank(turn: i64, priority: i32) -> i64 {
    turn.saturating_add(i64::from(priority) * TURNS_PER_PRIORITY)
}

/// The turn of a task with this rank and priority.
pub(super) fn turn(rank: i64, priority: i32) -> i64 {
    rank.saturating_sub(i64::from(priority) * TURNS_PER_PRIORITY)
}

#[derive(Clone, Copy)]
struct Reserved {
    first: i64,
    used: i64,
    wanted: i64,
}

/// Turns reserved in one transaction, one statement for each fair key and priority however many tasks there are, and always
/// in the same order: who reserves locks the share.
pub(super) struct Turns<'a> {
    reserved: BTreeMap<(&'a str, &'a str, i32), Reserved>,
}

impl<'a> Turns<'a> {
    /// Reserves a turn for each of `tasks`, given as topic, fair key and priority.
    pub(super) fn reserve(
        transaction: &mut dyn Transaction,
        tasks: impl Iterator<Item = (&'a str, &'a str, i32)>,
    ) -> Result<Self, DatabaseError> {
        let mut reserved: BTreeMap<_, Reserved> = BTreeMap::new();
        for share in tasks {
            reserved.entry(share).or_insert(Reserved { first: 0, used: 0, wanted: 0 }).wanted += 1;
        }
        for ((topic, fair_key, priority), turns) in &mut reserved {
            let values = [(*topic).into(), (*fair_key).into(), (*priority).into(), turns.wanted.into()];
            turns.first = match transaction.query_one(RESERVE, &values)? {
                Some(row) => row.integer("first_turn")?,
                None => 0,
            };
        }
        Ok(Self { reserved })
    }

    /// The rank that comes next for this share; it is used up by [`Self::used`].
    pub(super) fn next_rank(&self, topic: &'a str, fair_key: &'a str, priority: i32) -> i64 {
        let turn = self.reserved.get(&(topic, fair_key, priority)).map_or(0, |turns| turns.first + turns.used);
        rank(turn, priority)
    }

    /// Notes that the rank was given to a task.
    pub(super) fn used(&mut self, topic: &'a str, fair_key: &'a str, priority: i32) {
        if let Some(turns) = self.reserved.get_mut(&(topic, fair_key, priority)) {
            turns.used += 1;
        }
    }

    /// Returns what was reserved and not used.
    pub(super) fn finish(self, transaction: &mut dyn Transaction) -> Result<(), DatabaseError> {
        for ((topic, fair_key, priority), turns) in self.reserved {
            let unused = turns.wanted - turns.used;
            if unused > 0 {
                transaction.execute(RETURN, &[topic.into(), fair_key.into(), priority.into(), unused.into()])?;
            }
        }
        Ok(())
    }
}
