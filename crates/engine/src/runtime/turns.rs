//! Whose work items this process works on, in all topics together. A long batch gives way to the few items of another institution: while there are
//! any, stages of the batch are begun only as far as they leave processors for the others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// For how long others give way to an institution after it has got work. What takes longer waits for a network or for large files rather
/// than for processors.
const YIELD_FOR: Duration = Duration::from_secs(10);

/// What an institution has in this process.
struct Share {
    waiting: usize,
    running: usize,
    /// When work last came.
    came: Instant,
}

/// See the header of the file.
pub(super) struct Turns {
    shares: Mutex<BTreeMap<String, Share>>,
    /// How many more stages of an institution may run than of another one.
    ahead: usize,
    /// Whether something was held back since the last end.
    holds_back: AtomicBool,
}

impl Turns {
    /// On a machine with so many processors.
    pub(super) fn new(processors: usize) -> Self {
        Self { shares: Mutex::default(), ahead: processors / 4, holds_back: AtomicBool::new(false) }
    }

    fn shares(&self) -> MutexGuard<'_, BTreeMap<String, Share>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An item of this institution waits for a thread.
    pub(super) fn come(&self, whose: &str) {
        let now = Instant::now();
        let mut shares = self.shares();
        let share = shares.entry(whose.to_owned()).or_insert(Share { waiting: 0, running: 0, came: now });
        share.waiting += 1;
        share.came = now;
    }

    /// An item that waited goes elsewhere.
    pub(super) fn go(&self, whose: &str) {
        self.change(whose, |share| share.waiting = share.waiting.saturating_sub(1));
    }

    /// Begins a stage of an item that waits, where it is its institution's turn; whether it is.
    pub(super) fn begin(&self, whose: &str) -> bool {
        let mut shares = self.shares();
        let own = shares.get(whose).map_or(0, |share| share.running);
        let others = shares.iter().filter(|(of, share)| *of != whose && share.came.elapsed() < YIELD_FOR);
        // Where others have more to begin, each may be one ahead in turns; otherwise they have as many as they can have.
        let most = others.map(|(_, share)| (share.running + usize::from(share.waiting > 0)).max(1) + self.ahead).min();
        if own > 0 && most.is_some_and(|most| own >= most) {
            self.holds_back.store(true, Ordering::SeqCst);
            return false;
        }
        if let Some(share) = shares.get_mut(whose) {
            share.waiting = share.waiting.saturating_sub(1);
            share.running += 1;
        }
        true
    }

    /// Whether others give way to this institution: another one has work in the process, and none has less.
    pub(super) fn is_next(&self, whose: &str) -> bool {
        let shares = self.shares();
        let has = |share: &Share| share.waiting + share.running;
        let own = shares.get(whose).map_or(0, has);
        let mut others = shares.iter().filter(|(of, _)| *of != whose).map(|(_, share)| has(share)).peekable();
        others.peek().is_some() && others.all(|other| own <= other)
    }

    /// A stage has ended.
    pub(super) fn end(&self, whose: &str) {
        self.change(whose, |share| share.running = share.running.saturating_sub(1));
    }

    /// Whether something was held back that may be begun now. It is to be asked again then.
    pub(super) fn take_held_back(&self) -> bool {
        self.holds_back.swap(false, Ordering::SeqCst)
    }

    fn change(&self, whose: &str, change: impl FnOnce(&mut Share)) {
        let mut shares = self.shares();
        let Some(share) = shares.get_mut(whose) else { return };
        change(share);
        if share.waiting + share.running == 0 {
            shares.remove(whose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(turns: &Turns, whose: &str, at_most: usize) -> usize {
        (0..at_most)
            .take_while(|_| {
                turns.come(whose);
                turns.begin(whose)
            })
            .count()
    }

    #[test]
    fn alone_an_institution_runs_what_it_has() {
        let turns = Turns::new(2);
        assert_eq!(running(&turns, "a", 50), 50);
    }

    #[test]
    fn it_gives_way_while_another_has_fewer() {
        let turns = Turns::new(2);
        assert_eq!(running(&turns, "a", 5), 5);
        turns.come("b");
        assert!(turns.begin("b"));
        turns.come("a");
        assert!(!turns.begin("a"), "five run, and one of the other");
        assert!(turns.take_held_back());
        assert!(!turns.take_held_back());
        for _ in 0..4 {
            turns.end("a");
        }
        assert!(!turns.begin("a"), "one runs of each");
        turns.end("a");
        assert!(turns.begin("a"), "one runs of the other");
        turns.end("b");
        turns.come("a");
        assert!(turns.begin("a"), "the other has ended");
    }

    #[test]
    fn with_more_processors_more_go_on_beside_another() {
        let turns = Turns::new(8);
        turns.come("b");
        assert!(turns.begin("b"));
        assert_eq!(running(&turns, "a", 5), 3);
    }

    #[test]
    fn an_institution_that_has_nothing_running_begins() {
        let turns = Turns::new(1);
        turns.come("b");
        turns.come("a");
        assert!(turns.begin("a") && turns.begin("b"));
    }

    #[test]
    fn the_one_that_has_least_is_next_where_others_have_work() {
        let turns = Turns::new(2);
        turns.come("b");
        assert!(turns.begin("b") && !turns.is_next("b"), "no other has work");
        running(&turns, "a", 3);
        assert!(turns.is_next("b") && !turns.is_next("a"));
        turns.come("b");
        assert!(turns.is_next("b") && turns.is_next("a"), "two each, of which one waits");
        turns.come("b");
        assert!(!turns.is_next("b") && turns.is_next("a"));
    }

    #[test]
    fn two_long_batches_run_side_by_side() {
        let turns = Turns::new(2);
        for whose in ["a", "b"].repeat(20) {
            turns.come(whose);
        }
        for whose in ["a", "b"].repeat(20) {
            assert!(turns.begin(whose));
        }
    }

    #[test]
    fn what_has_gone_elsewhere_holds_nothing_back() {
        let turns = Turns::new(2);
        turns.come("b");
        assert_eq!(running(&turns, "a", 5), 1);
        turns.go("b");
        assert!(turns.begin("a"));
    }
}
