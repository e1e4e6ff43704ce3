//! The threads and slots of one topic: tasks wait here for a thread, and threads for tasks. A pool takes no more than its
//! workers and what it prefetches; both can change while it works. Besides it takes as many items as it has workers that come from
//! the stage before: they wait for a thread for a moment, instead of going by the queue, and are returned where that
//! takes longer. It takes as many again of institutions to which others give way, which pass what waits in the queue. Behind each that does, a task
//! of the queue has its turn before another passes.
//!
//! A pool whose tasks wait for servers has a share for each institution: an institution is given another task only while more workers are free
//! than it has tasks. So no institution has all workers of a pool of several: of four, the first one has two, and two others one each. Such a pool prefetches
//! nothing, and leases one task at a time.
//!
//! Those that wait here are begun in turns, too, as in the queue: first the tasks of whom the fewest are worked on, then of whom none was begun
//! for the longest; and of work items those whose institution's turn it is in the whole process ([`Turns`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use strongroom_registry::work::Assignment;

use super::held::HeldTask;
use super::turns::Turns;
use super::{Handler, PoolSettings};

/// How soon a thread looks again where what waits is held back. It is woken when a task ends; what others give way for ends by time as well.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A task to be done.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) assignment: Assignment,
    pub(super) held: Arc<HeldTask>,
    /// Since when it is held.
    pub(super) since: Instant,
    /// See [`Handler::waits_for_servers`].
    pub(super) waits_for_servers: bool,
}

impl Work {
    /// Whose the work item is; none where it is no stage of an item.
    pub(super) fn institution(&self) -> Option<&str> {
        self.assignment.claimed.as_ref().map(|_| self.assignment.task.fair_key.as_str())
    }

    /// The institution, where its items take turns in the process: those that wait for servers need no processor.
    pub(super) fn in_turns(&self) -> Option<&str> {
        self.institution().filter(|_| !self.waits_for_servers)
    }
}

struct State {
    /// Tasks worked on at once, as they are now.
    workers: usize,
    /// Tasks held beyond those, as they are now.
    prefetch: usize,
    /// Tasks of all processes together, as they are now; 0: no limit.
    max_total: usize,
    /// See [`PoolSettings::aged_after`], as it is now.
    aged_after: Duration,
    /// Held and not begun.
    waiting: VecDeque<Work>,
    /// Being worked on.
    running: usize,
    /// How many of these each has whose tasks they are, by its fair key; nobody without any.
    running_of: BTreeMap<String, usize>,
    /// How many tasks were begun.
    begun: u64,
    /// The number of the last task that was begun of each whose tasks came here, by the fair key.
    last_begun_of: BTreeMap<String, u64>,
    /// See [`Handler::waits_for_servers`].
    has_shares: bool,
    /// Whether an item has passed what waits in the queue, and no slot was offered to the queue since.
    owes_queue: bool,
    /// Slots kept for tasks that a transaction under way may lease.
    reserved: usize,
    /// How many looks for work found no slot free while some were kept.
    looks_passed_by: u64,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl State {
    /// Takes out the task whose turn it is: of whom the fewest are worked on, then of whom none was begun for the longest, then the one
    /// that has waited longest; none that is held back.
    fn take_next(&mut self, turns: &Turns) -> Option<Work> {
        let turn = |work: &Work| {
            let whose = &work.assignment.task.fair_key;
            let last_begun = self.last_begun_of.get(whose).copied().unwrap_or_default();
            (self.running_of.get(whose).copied().unwrap_or_default(), last_begun)
        };
        let mut places: Vec<usize> = (0..self.waiting.len()).collect();
        places.sort_by_key(|place| self.waiting.get(*place).map(turn));
        let may_begin = |work: &Work| work.in_turns().is_none_or(|whose| turns.begin(whose));
        let place = places.into_iter().find(|place| self.waiting.get(*place).is_some_and(may_begin))?;
        let work = self.waiting.remove(place)?;
        self.running += 1;
        let whose = work.assignment.task.fair_key.clone();
        *self.running_of.entry(whose.clone()).or_default() += 1;
        self.begun += 1;
        self.last_begun_of.insert(whose, self.begun);
        Some(work)
    }

    fn used(&self) -> usize {
        self.waiting.len() + self.running + self.reserved
    }

    /// Whether it holds a task of this institution, begun or not.
    fn has(&self, whose: &str) -> bool {
        self.running_of.contains_key(whose) || self.waiting.iter().any(|work| work.assignment.task.fair_key == whose)
    }

    /// How many tasks it holds of each, begun or not, by the fair key.
    fn held_of(&self) -> BTreeMap<String, usize> {
        let mut held = self.running_of.clone();
        for work in &self.waiting {
            *held.entry(work.assignment.task.fair_key.clone()).or_default() += 1;
        }
        held
    }

    /// Those who have as many tasks as workers are free, where a task of `ending` is about to end.
    fn with_full_share(&self, ending: Option<&str>) -> Vec<String> {
        let mut held = self.held_of();
        if let Some(has) = ending.and_then(|whose| held.get_mut(whose)) {
            *has = has.saturating_sub(1);
        }
        let free = self.workers.saturating_sub(held.values().sum());
        held.into_iter().filter(|(_, has)| *has > 0 && *has >= free).map(|(whose, _)| whose).collect()
    }

    fn free(&self) -> usize {
        let free = self.workers.saturating_add(self.prefetch).saturating_sub(self.used());
        // One at a time: what one transaction leases, the next one has to know.
        let is_asked_for = self.has_shares && self.reserved > 0;
        if self.closed || is_asked_for { 0 } else { free }
    }

    /// Most tasks that are leased at once.
    fn most_at_once(&self) -> usize {
        if self.has_shares { 1 } else { usize::MAX }
    }

    /// Slots for items that come from the stage before. Where one passes those that wait, what is held back leaves it a slot.
    fn free_to_follow(&self, passes: bool) -> usize {
        let each = if passes { 3 } else { 2 };
        let slots = self.workers.saturating_mul(each).saturating_add(self.prefetch);
        if self.closed { 0 } else { slots.saturating_sub(self.used()) }
    }
}

/// A slot that is kept for an item which comes from the stage before.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextSlot {
    /// Whether no slot was free: the item may have to wait for a thread.
    pub(super) may_wait: bool,
    /// Whether the item passes those that wait in the queue.
    pub(super) passes: bool,
}

/// One topic's share of this process.
pub(super) struct Pool {
    pub(super) topic: String,
    /// As they were at the start.
    pub(super) settings: Arc<PoolSettings>,
    pub(super) handler: Arc<dyn Handler>,
    /// See [`Handler::waits_for_servers`].
    pub(super) has_shares: bool,
    /// The places of the pools whose topics go before its own; see [`super::Builder::goes_after`].
    pub(super) earlier: Vec<usize>,
    /// Whether its topic goes before another one of this process.
    pub(super) goes_before_others: bool,
    turns: Arc<Turns>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Pool {
    pub(super) fn new(handler: Arc<dyn Handler>, settings: PoolSettings, turns: Arc<Turns>) -> Self {
        let has_shares = handler.waits_for_servers();
        Self {
            topic: handler.topic().to_owned(),
            has_shares,
            earlier: Vec::new(),
            goes_before_others: false,
            state: Mutex::new(State {
                workers: settings.workers,
                prefetch: if has_shares { 0 } else { settings.prefetch },
                has_shares,
                max_total: settings.max_total,
                aged_after: settings.aged_after,
                waiting: VecDeque::new(),
                running: 0,
                running_of: BTreeMap::new(),
                begun: 0,
                last_begun_of: BTreeMap::new(),
                owes_queue: false,
                reserved: 0,
                looks_passed_by: 0,
                threads: 0,
                idle: 0,
                closed: false,
            }),
            settings: Arc::new(settings),
            handler,
            turns,
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how much the pool takes; whether that is another measure. What is under way ends as it began.
    pub(super) fn resize(&self, wanted: &PoolSettings) -> bool {
        let prefetch = if self.has_shares { 0 } else { wanted.prefetch };
        let wanted = (wanted.workers, prefetch, wanted.max_total, wanted.aged_after);
        let mut state = self.state();
        let is_other = (state.workers, state.prefetch, state.max_total, state.aged_after) != wanted;
        (state.workers, state.prefetch, state.max_total, state.aged_after) = wanted;
        self.changed.notify_all();
        is_other
    }

    /// How many tasks of the topic all processes together may have, where that is bounded.
    pub(super) fn max_total(&self) -> Option<usize> {
        Some(self.state().max_total).filter(|most| *most > 0)
    }

    /// After how long a task is leased although earlier topics have tasks, where it is at all.
    pub(super) fn aged_after(&self) -> Option<Duration> {
        Some(self.state().aged_after).filter(|aged_after| !aged_after.is_zero())
    }

    /// Whether a slot is free, for one who looks for work. Where those that are not used are kept for ends of tasks, the look has passed the
    /// pool by.
    pub(super) fn is_open(&self) -> bool {
        let mut state = self.state();
        let is_open = state.free() > 0;
        state.looks_passed_by += u64::from(!is_open && state.reserved > 0);
        is_open
    }

    /// Whether a slot is free that was kept when a look passed the pool by: what came into the queue meanwhile was seen by none.
    pub(super) fn has_missed(&self) -> bool {
        let mut state = self.state();
        let has_missed = state.looks_passed_by > 0 && state.free() > 0;
        if has_missed {
            state.looks_passed_by = 0;
        }
        has_missed
    }

    /// Keeps up to `limit` free slots for tasks about to be leased; how many. Each is used or given up by [`Self::fill`].
    pub(super) fn reserve(&self, limit: usize) -> usize {
        let mut state = self.state();
        let granted = state.free().min(limit).min(state.most_at_once());
        state.reserved += granted;
        state.owes_queue &= granted == 0;
        granted
    }

    /// Whose tasks may not be leased now, by the fair key; a task of `ending` is about to end. A slot that is kept for a lease is free.
    pub(super) fn without(&self, ending: Option<&str>) -> Vec<String> {
        if self.has_shares { self.state().with_full_share(ending) } else { Vec::new() }
    }

    /// As [`Self::reserve`], one slot for the item of a stage that ends. One that goes on inline may wait for a thread, behind those that wait.
    /// Where others give way to its institution, named in `is_next`, it passes the queue, unless the pool has a task of the institution, or
    /// owes the queue a turn.
    /// Where institutions have shares, an item passes none, and waits in the queue.
    pub(super) fn reserve_next(&self, is_inline: bool, whose: &str, is_next: bool) -> Option<NextSlot> {
        let mut state = self.state();
        if self.has_shares {
            let is_free = state.free() > 0 && !state.with_full_share(None).iter().any(|full| full == whose);
            state.reserved += usize::from(is_free);
            return is_free.then_some(NextSlot { may_wait: false, passes: false });
        }
        let passes = is_inline && !state.owes_queue && is_next && !state.has(whose);
        let may_wait = state.free() == 0;
        if may_wait && !(is_inline && state.free_to_follow(passes) > 0) {
            return None;
        }
        state.reserved += 1;
        state.owes_queue |= passes;
        Some(NextSlot { may_wait, passes })
    }

    /// Takes out what has waited for a thread for longer than `patience` beyond what the pool prefetches: another process may have
    /// a thread for it.
    pub(super) fn overdue(&self, patience: Duration) -> Vec<Work> {
        let mut state = self.state();
        let mut overdue = Vec::new();
        while state.waiting.len() > state.prefetch
            && state.idle == 0
            && let Some(first) = state.waiting.pop_front_if(|first| first.since.elapsed() > patience)
        {
            self.go(&first);
            overdue.push(first);
        }
        overdue
    }

    /// Whether it holds what was not begun.
    pub(super) fn has_waiting(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// Keeps the slot of a running task that is about to end for the one that follows it; how many slots that is. Where the queue is owed a turn,
    /// the slot is for the queue, also where the pool holds more than it takes: others that pass would fill it without end.
    pub(super) fn reserve_own(&self) -> usize {
        let mut state = self.state();
        // The task itself still counts as running.
        let is_wanted = state.used() <= state.workers.saturating_add(state.prefetch);
        let is_owed = state.owes_queue && state.workers > 0;
        let is_asked_for = self.has_shares && state.reserved > 0;
        let granted = usize::from(!state.closed && !is_asked_for && (is_wanted || is_owed));
        state.reserved += granted;
        state.owes_queue &= granted == 0;
        granted
    }

    /// Gives up `reserved` slots and puts `work` into them. Where the pool is closed, or has no thread and cannot start
    /// one with `start`, the work comes back.
    pub(super) fn fill(&self, reserved: usize, work: Vec<Work>, start: &dyn Fn() -> bool) -> Vec<Work> {
        let mut state = self.state();
        state.reserved = state.reserved.saturating_sub(reserved);
        if state.closed {
            return work;
        }
        for one in work {
            if let Some(whose) = one.in_turns() {
                self.turns.come(whose);
            }
            state.waiting.push_back(one);
            self.changed.notify_one();
        }
        while state.idle < state.waiting.len() && state.threads < state.workers {
            // Counted before it runs, or the next caller would start it a second time.
            state.threads += 1;
            state.idle += 1;
            if !start() {
                state.threads -= 1;
                state.idle -= 1;
                break;
            }
        }
        if state.threads == 0 { self.take_all(&mut state) } else { Vec::new() }
    }

    /// Takes out everything that waits.
    fn take_all(&self, state: &mut State) -> Vec<Work> {
        let all: Vec<Work> = state.waiting.drain(..).collect();
        for work in &all {
            self.go(work);
        }
        all
    }

    /// Says that what waited for a thread here does not any more.
    fn go(&self, work: &Work) {
        if let Some(whose) = work.in_turns() {
            self.turns.go(whose);
        }
    }

    /// Has the threads look again whose turn it is.
    pub(super) fn wake(&self) {
        // A thread that has looked and does not wait yet has the lock.
        drop(self.state());
        self.changed.notify_all();
    }

    /// The next task for a thread, when there is one; none when the pool is closed or has too many threads, and then the
    /// thread ends. A thread counts as idle before it calls this first, and afterwards only while it waits here.
    pub(super) fn next(&self) -> Option<Work> {
        let mut state = self.state();
        loop {
            if state.threads > state.workers {
                // What this thread was woken for is for another one.
                self.changed.notify_one();
                state.idle = state.idle.saturating_sub(1);
                state.threads -= 1;
                return None;
            }
            if let Some(work) = state.take_next(&self.turns) {
                state.idle = state.idle.saturating_sub(1);
                return Some(work);
            }
            if state.closed {
                state.idle = state.idle.saturating_sub(1);
                state.threads = state.threads.saturating_sub(1);
                return None;
            }
            state = if state.waiting.is_empty() {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(state, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }

    /// A task ended; its thread is idle again.
    pub(super) fn ended(&self, work: &Work) {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        let whose = &work.assignment.task.fair_key;
        let left = state.running_of.get(whose).copied().unwrap_or_default().saturating_sub(1);
        if left == 0 {
            state.running_of.remove(whose);
        } else {
            state.running_of.insert(whose.clone(), left);
        }
        state.idle += 1;
    }

    /// Takes no more work and lets idle threads go; what was not begun.
    pub(super) fn close(&self) -> Vec<Work> {
        let mut state = self.state();
        state.closed = true;
        self.changed.notify_all();
        self.take_all(&mut state)
    }

    /// Tasks being worked on.
    pub(super) fn running(&self) -> usize {
        self.state().running
    }
}
