//! Records that are claimed for the first time: with those behind them, with others that came back or arrived with a state, and beside numbers
//! that no record has.

use std::sync::Barrier;

use crate::{
    Addition, Arrival, Chunk, Ending, ListId, NewRecord, Outcome, Record, RecordLists, RecordState, RecordsError,
};

use super::{
    LEASE, Subject, addition, all, claim, claim_by, claimed_ids, drain, end, endings, expected, failed, filled, id,
    ids, numbers, processed, sorted_ids, take,
};

fn claimed_numbers(chunk: &Chunk) -> Vec<u64> {
    chunk.records.iter().map(|record| record.number).collect()
}

fn numbers_of(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.number).collect()
}

fn ends(numbers: &[u64], outcome: &Outcome) -> Vec<Ending> {
    numbers.iter().map(|number| Ending { number: *number, outcome: outcome.clone() }).collect()
}

/// Every page of a state, whatever its size, has these records.
#[track_caller]
fn check_pages(lists: &dyn RecordLists, list: ListId, state: RecordState, expected: &[u64]) {
    for page in [1, 2, 3, 100] {
        assert_eq!(numbers_of(&all(lists, list, state, page)), expected, "{state}, pages of {page}");
    }
}

/// One gets what the other leaves, and no record is claimed twice.
pub fn claims_at_once_share_the_last_records_of_a_list(subject: &dyn Subject) {
    for limit in [1, 7, 10, 20] {
        let list = filled(&*subject.lists(), 10);
        let begin = Barrier::new(2);
        let claimed: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let threads = [subject.lists(), subject.other()].map(|lists| {
                let begin = &begin;
                scope.spawn(move || {
                    begin.wait();
                    claim_by(&*lists, list, "worker", limit).map_or_else(Vec::new, |chunk| claimed_numbers(&chunk))
                })
            });
            threads.into_iter().map(|thread| thread.join().expect("lives")).collect()
        });
        let mut both = claimed.concat();
        both.sort_unstable();
        let expected = (2 * limit).min(10) as u64;
        assert_eq!(both, (1..=expected).collect::<Vec<_>>(), "two claims of {limit}");
        assert_eq!(numbers(&*subject.lists(), list), [10 - expected, expected, 0, 0, 0]);
    }
}

/// What has ended stays as it ended; what was not tried has no attempt.
pub fn a_half_ended_chunk_is_returned_without_what_has_ended(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), filled(&*subject.lists(), 12));
    let chunk = claim(&*lists, list, 10);
    lists.finish(chunk.lease, &ends(&[4, 9], &processed())).expect("ends");
    lists.finish(chunk.lease, &ends(&[1], &failed("no"))).expect("ends");
    assert_eq!(lists.finish(chunk.lease, &ends(&[5], &Outcome::Released)).expect("ends").open, 6);
    check_pages(&*lists, list, RecordState::Processing, &[2, 3, 6, 7, 8, 10]);
    check_pages(&*lists, list, RecordState::Todo, &[5, 11, 12]);
    assert_eq!(numbers(&*lists, list), [3, 6, 2, 1, 0]);
    subject.advance(LEASE * 2);
    let returned = subject.other().return_expired(10).expect("returns");
    assert_eq!(returned.iter().map(|one| one.records).collect::<Vec<_>>(), [6]);
    assert_eq!(numbers(&*lists, list), [9, 0, 2, 1, 0]);
    check_pages(&*lists, list, RecordState::Processing, &[]);
    check_pages(&*lists, list, RecordState::Todo, &[2, 3, 5, 6, 7, 8, 10, 11, 12]);
    let late = lists.finish(chunk.lease, &ends(&[2], &processed()));
    assert!(matches!(late, Err(RecordsError::ChunkLost(_))), "{late:?}");
    let again = claim(&*lists, list, 20);
    assert_eq!(claimed_numbers(&again), [2, 3, 5, 6, 7, 8, 10, 11, 12]);
    let attempts: Vec<u32> = again.records.iter().map(|record| record.attempts).collect();
    assert_eq!(attempts, [2, 2, 1, 2, 2, 2, 2, 1, 1]);
    end(&*lists, &again, &processed());
    assert_eq!(numbers(&*lists, list), [0, 0, 11, 1, 0]);
}

/// They have one order, and pages show it.
pub fn a_chunk_has_what_came_back_what_is_new_and_what_waited(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), filled(&*subject.lists(), 8));
    let first = claim(&*lists, list, 4);
    let later = Outcome::Retry { not_before: subject.now().plus(1), error: "away".into(), max_attempts: 3 };
    lists.finish(first.lease, &ends(&[1], &later)).expect("ends");
    lists.finish(first.lease, &ends(&[2, 4], &Outcome::Released)).expect("ends");
    end(&*lists, &Chunk { records: first.records[2..3].to_vec(), ..first }, &processed());
    check_pages(&*lists, list, RecordState::Todo, &[2, 4, 5, 6, 7, 8, 1]);
    subject.advance(LEASE / 2);
    let claimed_at = subject.now();
    let mixed = claim(&*lists, list, 100);
    assert_eq!(claimed_numbers(&mixed), [2, 4, 5, 6, 7, 8, 1]);
    let at_work = all(&*lists, list, RecordState::Processing, 3);
    assert_eq!(numbers_of(&at_work), [1, 2, 4, 5, 6, 7, 8]);
    let attempts: Vec<u32> = at_work.iter().map(|record| record.attempts).collect();
    assert_eq!(attempts, [2, 1, 1, 1, 1, 1, 1]);
    assert!(at_work.iter().all(|record| record.changed_at == claimed_at), "{at_work:?}");
    // Some of each kind end together, and the rest comes back.
    let foreign = lists.finish(mixed.lease, &ends(&[4, 6, 3], &processed()));
    assert!(matches!(foreign, Err(RecordsError::ChunkLost(_))), "{foreign:?}");
    let finished = lists.finish(mixed.lease, &ends(&[8, 4, 1, 5], &processed())).expect("ends");
    assert_eq!((finished.states, finished.open), (vec![RecordState::Processed; 4], 3));
    check_pages(&*lists, list, RecordState::Processing, &[2, 6, 7]);
    let twice = lists.finish(mixed.lease, &ends(&[5, 6], &processed()));
    assert!(matches!(twice, Err(RecordsError::ChunkLost(_))), "{twice:?}");
    assert_eq!(numbers(&*lists, list), [0, 3, 5, 0, 0]);
    assert_eq!(lists.return_of_worker(super::WORKER, 10).expect("returns")[0].records, 3);
    check_pages(&*lists, list, RecordState::Todo, &[2, 6, 7]);
    drain(&*lists, list, "worker", 1);
    assert_eq!(sorted_ids(&*lists, list, RecordState::Processed), expected(8));
}

/// What is claimed ends as its worker says; what it releases can be cancelled.
pub fn what_is_claimed_is_not_cancelled_with_the_rest(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), filled(&*subject.lists(), 10));
    let chunk = claim(&*lists, list, 4);
    assert_eq!(lists.cancel_rest(list, 4).expect("cancels"), 4);
    check_pages(&*lists, list, RecordState::Todo, &[9, 10]);
    check_pages(&*lists, list, RecordState::Cancelled, &[5, 6, 7, 8]);
    check_pages(&*lists, list, RecordState::Processing, &[1, 2, 3, 4]);
    lists.finish(chunk.lease, &ends(&[2, 3], &Outcome::Released)).expect("ends");
    assert_eq!(lists.cancel_rest(list, 3).expect("cancels"), 3, "what came back, and what is new");
    check_pages(&*lists, list, RecordState::Todo, &[10]);
    assert_eq!(claimed_numbers(&claim(&*lists, list, 5)), [10]);
    lists.finish(chunk.lease, &ends(&[1, 4], &processed())).expect("ends");
    subject.advance(LEASE * 2);
    lists.return_expired(10).expect("returns");
    assert_eq!(lists.cancel_rest(list, 3).expect("cancels"), 1);
    assert_eq!(lists.cancel_rest(list, 3).expect("cancels"), 0);
    assert_eq!(numbers(&*lists, list), [0, 0, 2, 0, 8]);
    assert!(lists.status(list).expect("reads").is_finished());
}

/// Also where a number between them is of no record, or of one that arrived as processed.
pub fn records_that_are_claimed_one_by_one_are_all_claimed_once(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), with_gaps(&*subject.lists()));
    let mut claimed = Vec::new();
    while let Some(chunk) = claim_by(&*lists, list, "worker", 1) {
        assert_eq!(chunk.records[0].attempts, 1);
        claimed.extend(claimed_numbers(&chunk));
        end(&*lists, &chunk, &processed());
    }
    assert_eq!(claimed, [1, 5, 6, 8, 11]);
    assert_eq!(numbers(&*lists, list), [0, 0, 7, 1, 0]);
}

/// Nor are they ended, cancelled or returned with those around them.
pub fn numbers_between_those_of_a_chunk_do_not_belong_to_it(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), with_gaps(&*subject.lists()));
    check_pages(&*lists, list, RecordState::Todo, &[1, 5, 6, 8, 11]);
    let chunk = claim(&*lists, list, 4);
    assert_eq!(claimed_numbers(&chunk), [1, 5, 6, 8]);
    check_pages(&*lists, list, RecordState::Processing, &[1, 5, 6, 8]);
    for foreign in [2, 3, 4, 7, 9, 11] {
        let refused = lists.finish(chunk.lease, &ends(&[1, foreign], &processed()));
        assert!(matches!(refused, Err(RecordsError::ChunkLost(_))), "{foreign}: {refused:?}");
    }
    lists.finish(chunk.lease, &ends(&[5], &processed())).expect("ends");
    // One that arrived as failed is claimed by itself, and ends with the others.
    assert_eq!(lists.retry_failed(list, subject.now(), 10).expect("retries"), 1);
    let retried = claim(&*lists, list, 2);
    assert_eq!(claimed_ids(&retried), [id(7), id(9)]);
    assert_eq!(claimed_numbers(&retried), [9, 11]);
    assert_eq!(end(&*lists, &retried, &processed()).open, 0);
    subject.advance(LEASE * 2);
    assert_eq!(lists.return_expired(10).expect("returns")[0].records, 3);
    check_pages(&*lists, list, RecordState::Todo, &[1, 6, 8]);
    assert_eq!(lists.cancel_rest(list, 10).expect("cancels"), 3);
    assert_eq!(numbers(&*lists, list), [0, 0, 5, 0, 3]);
}

/// As a list that is rebuilt has, whose activity had come far.
pub fn many_records_that_arrived_as_processed_are_passed_by(subject: &dyn Subject) {
    const ALL: usize = 12_000;
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    lists.add(&population, &addition(ids(0..1), "1", false)).expect("adds");
    for first in (1..ALL).step_by(4_000) {
        let records = (first..ALL.min(first + 4_000)).map(|number| arrived(number, None)).collect();
        lists.add(&population, &Addition { records, cursor: None, is_last: false }).expect("adds");
    }
    assert_eq!(claimed_numbers(&claim(&*lists, list, 5)), [1]);
    assert_eq!(claim_by(&*lists, list, "worker", 5), None);
    lists.add(&population, &addition(ids(ALL..ALL + 2), "2", true)).expect("adds");
    check_pages(&*lists, list, RecordState::Todo, &[ALL as u64 + 1, ALL as u64 + 2]);
    let chunk = claim(&*lists, list, 5);
    assert_eq!(claimed_ids(&chunk), [id(ALL), id(ALL + 1)]);
    lists.finish(chunk.lease, &endings(&chunk, &processed())).expect("ends");
    assert_eq!(numbers(&*lists, list), [0, 1, ALL as u64 + 1, 0, 0]);
}

fn arrived(number: usize, error: Option<&str>) -> NewRecord {
    let arrival = match error {
        Some(error) => Arrival::Failed { error: error.to_owned() },
        None => Arrival::Processed { result: None },
    };
    NewRecord { id: id(number), arrival }
}

/// A list whose records 1, 5, 6, 8 and 11 are to be processed; 3 and 4 arrived as processed and 9 as failed, and 2, 7 and 10 would be ids
/// that it has already.
fn with_gaps(lists: &dyn RecordLists) -> ListId {
    let list = ListId::new();
    lists.create(list).expect("is made");
    let population = take(lists, list);
    let todo = |number| NewRecord::todo(id(number));
    let records = vec![
        todo(0),
        todo(0),
        arrived(1, None),
        arrived(2, None),
        todo(3),
        todo(4),
        todo(3),
        todo(6),
        arrived(7, Some("is no XML")),
        todo(4),
        todo(9),
    ];
    let added = lists.add(&population, &Addition { records, cursor: None, is_last: true }).expect("adds");
    assert_eq!((added.added, added.duplicates), (8, 3));
    list
}
