//! Who gets which records, and for how long.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::{ChunkLease, Outcome, RecordState, RecordsError};

use super::{
    LEASE, Subject, WORKER, all, claim, claim_by, claimed_ids, end, endings, expected, failed, filled, id, numbers,
    processed,
};

/// So that a record that was begun does not wait for all others.
pub fn the_oldest_are_claimed_first_and_what_came_back_before_them(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 10);
    let first = claim(&*lists, list, 3);
    assert_eq!(claimed_ids(&first), [id(0), id(1), id(2)]);
    let second = claim(&*lists, list, 2);
    assert_eq!(claimed_ids(&second), [id(3), id(4)]);
    end(&*lists, &first, &Outcome::Released);
    assert_eq!(claimed_ids(&claim(&*lists, list, 4)), [id(0), id(1), id(2), id(5)]);
    subject.advance(LEASE * 2);
    lists.return_expired(10).expect("returns");
    assert_eq!(claimed_ids(&claim(&*lists, list, 10)), expected(10));
    assert_eq!(claim_by(&*lists, list, WORKER, 10), None);
}

/// It is claimed at its time, and not before.
pub fn a_record_waits_for_its_time_and_keeps_no_other_waiting(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 3);
    let not_before = subject.now().plus(LEASE.as_micros() as i64);
    let later = Outcome::Retry { not_before, error: "the server is away".into(), max_attempts: 5 };
    end(&*lists, &claim(&*lists, list, 2), &later);
    assert_eq!(claimed_ids(&claim(&*lists, list, 3)), [id(2)]);
    assert_eq!(claim_by(&*lists, list, WORKER, 3), None);
    assert_eq!(numbers(&*lists, list), [2, 1, 0, 0, 0]);
    subject.advance(LEASE);
    assert_eq!(claimed_ids(&claim(&*lists, list, 3)), [id(0), id(1)]);
}

/// Also where the worker dies.
pub fn every_claim_counts_an_attempt_and_a_release_gives_it_back(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 1);
    let attempts = || claim(&*lists, list, 1).records[0].attempts;
    let chunk = claim(&*lists, list, 1);
    assert_eq!(chunk.records[0].attempts, 1);
    end(&*lists, &chunk, &Outcome::Released);
    assert_eq!(attempts(), 1);
    subject.advance(LEASE * 2);
    lists.return_expired(10).expect("returns");
    assert_eq!(attempts(), 2);
}

/// However often it waits.
pub fn a_record_that_waits_for_something_else_keeps_its_attempts(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 1);
    for _ in 0..5 {
        let chunk = claim(&*lists, list, 1);
        assert_eq!(chunk.records[0].attempts, 1);
        let not_before = subject.now().plus(LEASE.as_micros() as i64);
        end(&*lists, &chunk, &Outcome::Waiting { not_before, error: "the work item is open".into() });
        assert_eq!(claim_by(&*lists, list, WORKER, 1), None);
        assert_eq!(numbers(&*lists, list), [1, 0, 0, 0, 0]);
        let waits = &all(&*lists, list, RecordState::Todo, 10)[0];
        assert_eq!((waits.attempts, waits.error.as_deref()), (0, Some("the work item is open")));
        subject.advance(LEASE);
    }
}

/// Threads of two processes claim at once; each record is claimed by one of them.
pub fn workers_never_share_a_record(subject: &dyn Subject) {
    let list = filled(&*subject.lists(), 1_000);
    let seen = Mutex::new(HashSet::new());
    std::thread::scope(|scope| {
        for number in 0..6 {
            let lists = if number % 2 == 0 { subject.lists() } else { subject.other() };
            let seen = &seen;
            scope.spawn(move || {
                // One that is passed by while others claim it is theirs, so none is left behind.
                while let Some(chunk) = claim_by(&*lists, list, &format!("worker {number}"), 1 + number * 7) {
                    for record in &chunk.records {
                        assert!(seen.lock().expect("lives").insert(record.number), "claimed twice");
                    }
                    end(&*lists, &chunk, &processed());
                }
            });
        }
    });
    assert_eq!(seen.into_inner().expect("lives").len(), 1_000);
    assert_eq!(numbers(&*subject.lists(), list), [0, 0, 1_000, 0, 0]);
}

/// A worker that lives is never robbed.
pub fn a_lease_that_ran_out_is_returned_and_one_that_was_extended_is_not(subject: &dyn Subject) {
    let (lists, other) = (subject.lists(), subject.other());
    let list = filled(&*lists, 4);
    let (dead, alive) = (claim(&*lists, list, 2), claim_by(&*lists, list, "alive", 2).expect("there are records"));
    subject.advance(LEASE / 2);
    assert_eq!(lists.extend(&[alive.lease], LEASE).expect("answers"), [true]);
    assert_eq!(other.return_expired(10).expect("returns"), []);
    subject.advance(LEASE * 2 / 3);
    let returned = other.return_expired(10).expect("returns");
    assert_eq!(
        returned.iter().map(|one| (one.list, one.worker.as_str(), one.records)).collect::<Vec<_>>(),
        [(list, WORKER, 2)]
    );
    assert_eq!(numbers(&*lists, list), [2, 2, 0, 0, 0]);
    let guessed = ChunkLease { chunk: list.0, ..alive.lease };
    assert_eq!(lists.extend(&[dead.lease, alive.lease, guessed], LEASE).expect("answers"), [false, true, false]);
    subject.advance(LEASE * 2);
    end(&*lists, &alive, &processed());
    assert_eq!(other.return_expired(10).expect("returns"), [], "it was late, and not returned before");
}

/// Where its process is known to have ended.
pub fn what_an_ended_worker_had_is_returned_at_once(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 6);
    let chunks = [claim(&*lists, list, 2), claim(&*lists, list, 2)];
    let alive = claim_by(&*lists, list, "alive", 2).expect("there are records");
    lists.finish(chunks[0].lease, &endings(&chunks[0], &processed())[..1]).expect("ends");
    let returned = subject.other().return_of_worker(WORKER, 10).expect("returns");
    assert_eq!(returned.iter().map(|one| one.records).sum::<u64>(), 3);
    assert_eq!(numbers(&*lists, list), [3, 2, 1, 0, 0]);
    let late = lists.finish(chunks[0].lease, &endings(&chunks[0], &failed("late"))[1..]);
    assert!(matches!(late, Err(RecordsError::ChunkLost(_))), "{late:?}");
    assert_eq!(claimed_ids(&claim(&*lists, list, 10)), [id(1), id(2), id(3)]);
    end(&*lists, &alive, &processed());
}
