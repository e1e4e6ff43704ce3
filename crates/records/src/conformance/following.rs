//! Lists that are populated from another one.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{From, ListId, Outcome, Population, RecordLists, RecordState, Selection, Takes};

use super::{
    Subject, claim, claim_by, counts, drain, end, expected, failed, filled, id, numbers, processed, sorted_ids, take,
};

fn of(list: ListId) -> From {
    From { list, selection: Selection::Processed, takes: Takes::Records }
}

/// Takes all that there is.
fn take_all(lists: &dyn RecordLists, population: &Population, from: From, limit: usize) -> u64 {
    let mut added = 0;
    loop {
        let copied = lists.add_from(population, from, limit).expect("takes");
        added += copied.added.added;
        if copied.is_caught_up {
            return added;
        }
    }
}

fn following(lists: &dyn RecordLists) -> Population {
    let list = ListId::new();
    lists.create(list).expect("is made");
    take(lists, list)
}

/// Workers process with chunks of many sizes while another process follows; it takes every record, and none twice.
pub fn a_follower_misses_nothing_that_is_committed_late(subject: &dyn Subject) {
    const ALL: usize = 1_200;
    const WORKERS: usize = 4;
    let lists = subject.lists();
    let (list, at_work) = (filled(&*lists, ALL), AtomicUsize::new(WORKERS));
    let follower = following(&*lists);
    let taken = std::thread::scope(|scope| {
        for number in 0..WORKERS {
            let (lists, at_work) = (if number % 2 == 0 { subject.lists() } else { subject.other() }, &at_work);
            scope.spawn(move || {
                drain(&*lists, list, &format!("worker {number}"), 1 + number * 5);
                at_work.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let lists = subject.other();
        let mut taken = 0;
        loop {
            let has_ended = at_work.load(Ordering::SeqCst) == 0;
            taken += take_all(&*lists, &follower, of(list), 37);
            if has_ended {
                return taken;
            }
        }
    });
    assert_eq!(taken, ALL as u64);
    assert_eq!(sorted_ids(&*lists, follower.list, RecordState::Todo), expected(ALL));
}

/// What is processed afterwards is not part of it, unless it is asked for again, and then nothing is repeated.
pub fn a_snapshot_takes_what_was_processed_once(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 10);
    end(&*lists, &claim(&*lists, list, 4), &processed());
    end(&*lists, &claim(&*lists, list, 2), &failed("no"));
    let population = following(&*lists);
    assert_eq!(take_all(&*lists, &population, of(list), 3), 4);
    drain(&*lists, list, "worker", 10);
    assert_eq!(sorted_ids(&*lists, population.list, RecordState::Todo), (0..4).map(id).collect::<Vec<_>>());
    let copied = lists.add_from(&population, of(list), 1_000).expect("takes");
    assert_eq!((copied.added.added, copied.added.duplicates, copied.is_caught_up), (4, 0, true));
    lists.retry_failed(list, subject.now(), 10).expect("retries");
    drain(&*lists, list, "worker", 10);
    assert_eq!(lists.add_from(&population, of(list), 1_000).expect("takes").added.added, 2);
    assert_eq!(sorted_ids(&*lists, population.list, RecordState::Todo), expected(10));
    assert_eq!(counts(&*lists, list).processed, 10, "the list that is followed stays as it is");
    let cursor = lists.status(population.list).expect("reads").cursor;
    assert_eq!(cursor, Some(lists.add_from(&population, of(list), 1).expect("takes").cursor));
}

/// A mapping makes other entities than it reads.
pub fn results_or_records_are_taken(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 3);
    for result in [Some("urn:made"), None, Some("urn:made")] {
        let outcome = Outcome::Processed { result: result.map(str::to_owned) };
        end(&*lists, &claim(&*lists, list, 1), &outcome);
    }
    let population = following(&*lists);
    let from = From { takes: Takes::Results, ..of(list) };
    let copied = lists.add_from(&population, from, 1_000).expect("takes");
    assert_eq!((copied.added.added, copied.added.duplicates), (2, 1));
    assert_eq!(sorted_ids(&*lists, population.list, RecordState::Todo), [id(1), "urn:made".to_owned()]);
}

/// As for another run of the same: everything is to be processed again.
pub fn a_list_is_made_of_all_records_of_another(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 10);
    end(&*lists, &claim(&*lists, list, 4), &processed());
    end(&*lists, &claim(&*lists, list, 2), &failed("no"));
    let population = following(&*lists);
    let from = From { selection: Selection::All, ..of(list) };
    let first = lists.add_from(&population, from, 4).expect("takes");
    assert_eq!((first.added.added, first.is_caught_up), (4, false));
    // Another worker goes on from there.
    lists.release_population(&population).expect("is given back");
    let population = take(&*lists, population.list);
    assert_eq!(take_all(&*lists, &population, from, 4), 6);
    assert_eq!(numbers(&*lists, population.list), [10, 0, 0, 0, 0]);
    let chunk = claim_by(&*lists, population.list, "worker", 10).expect("there are records");
    assert!(chunk.records.iter().all(|record| record.attempts == 1));
    assert_eq!(numbers(&*lists, list), [4, 0, 4, 2, 0]);
}
