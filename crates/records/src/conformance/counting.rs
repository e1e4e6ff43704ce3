//! That counts are exact, whatever happens at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Outcome, RecordState};

use super::{
    LEASE, Subject, addition, all, claim, claim_by, counts, drain, end, endings, expected, failed, filled, ids,
    numbers, processed, sorted_ids, take,
};

/// While three workers claim, end, release and are late, a reader always finds the sum; while records are added, it only rises, by
/// whole additions.
pub fn counts_are_exact_at_every_instant(subject: &dyn Subject) {
    const PAGE: usize = 50;
    const ALL: usize = 1_500;
    let lists = subject.lists();
    let list = crate::ListId::new();
    lists.create(list).expect("is made");
    let (is_over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (lists, mut before) = (subject.other(), 0);
            while !is_over.load(Ordering::Relaxed) {
                let counts = counts(&*lists, list);
                let populated = counts.populated();
                assert_eq!(populated % PAGE as u64, 0, "an addition is there as a whole: {counts:?}");
                assert!((before..=ALL as u64).contains(&populated), "{counts:?}");
                before = populated;
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        let workers: Vec<_> = (0..3).map(|number| scope.spawn(move || work(subject, list, number))).collect();
        let population = take(&*lists, list);
        for first in (0..ALL).step_by(PAGE) {
            let page = addition(ids(first..first + PAGE), &first.to_string(), first + PAGE == ALL);
            lists.add(&population, &page).expect("adds");
        }
        for worker in workers {
            worker.join().expect("a worker");
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().expect("the reader");
    });
    assert!(reads.into_inner() > 0);
    let found = numbers(&*lists, list);
    assert_eq!((found[0], found[1], found.iter().sum::<u64>()), (0, 0, ALL as u64));
    for (state, count) in RecordState::ALL.into_iter().zip(found) {
        assert_eq!(all(&*lists, list, state, 1_000).len() as u64, count, "{state}");
    }
}

/// Ends a third of the records as failed, and lets some go first.
fn work(subject: &dyn Subject, list: crate::ListId, number: u64) {
    let lists = subject.other();
    let mut round = number;
    while !lists.status(list).expect("reads").is_finished() {
        let Some(chunk) = claim_by(&*lists, list, &format!("worker {number}"), 1 + (round as usize * 13) % 90) else {
            continue;
        };
        round += 1;
        let outcome = match round % 4 {
            0 => Outcome::Released,
            1 => failed("no"),
            _ => processed(),
        };
        let ends = endings(&chunk, &outcome);
        let (one, rest) = ends.split_at(1);
        lists.finish(chunk.lease, one).expect("ends");
        if !rest.is_empty() {
            lists.finish(chunk.lease, rest).expect("ends");
        }
    }
}

/// In every state, after each kind of change.
pub fn counts_are_what_the_pages_have(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 30);
    let check = || {
        for (state, count) in RecordState::ALL.into_iter().zip(numbers(&*lists, list)) {
            assert_eq!(all(&*lists, list, state, 7).len() as u64, count, "{state}");
        }
        assert_eq!(counts(&*lists, list).populated(), 30);
    };
    check();
    end(&*lists, &claim(&*lists, list, 5), &processed());
    end(&*lists, &claim(&*lists, list, 5), &failed("no"));
    let _left = claim(&*lists, list, 5);
    check();
    subject.advance(LEASE * 2);
    lists.return_expired(10).expect("returns");
    check();
    lists.retry_failed(list, subject.now(), 2).expect("retries");
    check();
    lists.cancel_rest(list, 10).expect("cancels");
    check();
}

/// The set of processed records is that of a run that was not disturbed (Q6, Q18).
pub fn a_worker_that_stops_without_a_word_costs_no_record_and_repeats_none_that_was_processed(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 20);
    let killed = claim(&*lists, list, 6);
    lists.finish(killed.lease, &endings(&killed, &processed())[..2]).expect("ends");
    subject.advance(LEASE * 2);
    lists.return_expired(10).expect("returns");
    let restarted = claim_by(&*subject.other(), list, "restarted", 4).expect("there are records");
    let numbers: Vec<u64> = restarted.records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, [3, 4, 5, 6], "what it had begun comes first");
    assert!(restarted.records.iter().all(|record| record.attempts == 2));
    end(&*lists, &restarted, &processed());
    drain(&*lists, list, "restarted", 4);
    assert_eq!(sorted_ids(&*lists, list, RecordState::Processed), expected(20));
    assert!(all(&*lists, list, RecordState::Processed, 100).iter().all(|record| record.attempts <= 2));
}
