//! The rules of record lists, one function each, named for the rule. An engine's tests expand [`conformance_suite!`] once.
//!
//! A case panics where the engine breaks the rule, as tests do.

mod administration;
mod claims;
mod counting;
mod endings;
mod following;
mod population;
mod ranges;

pub use administration::*;
pub use claims::*;
pub use counting::*;
pub use endings::*;
pub use following::*;
pub use population::*;
pub use ranges::*;

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::Time;

use crate::{
    Addition, Chunk, ClaimRequest, Counts, Cursor, Ending, Finished, ListId, NewRecord, Outcome, Population,
    PopulationRequest, Record, RecordLists, RecordState,
};

/// An engine under test, without lists.
pub trait Subject: Sync {
    /// The lists.
    fn lists(&self) -> Arc<dyn RecordLists>;

    /// The same lists as another process would reach them.
    fn other(&self) -> Arc<dyn RecordLists>;

    /// The present time.
    fn now(&self) -> Time;

    /// Lets time pass.
    fn advance(&self, by: Duration);
}

/// A test for each rule; `$make` is a function that gives a fresh [`Subject`], or none where the engine's server is absent.
#[macro_export]
macro_rules! conformance_suite {
    ($make:path) => {
        $crate::conformance_suite! { $make:
            one_worker_at_a_time_populates_and_the_next_goes_on_from_its_cursor
            a_population_that_was_taken_over_adds_nothing
            ids_that_are_repeated_are_left_out
            a_complete_list_takes_no_more_until_it_is_reopened
            workers_that_populate_at_once_make_one_list
            records_arrive_as_what_they_are
            what_is_not_fit_to_be_kept_is_refused
            a_half_populated_list_is_worked_on_and_is_not_finished
            the_oldest_are_claimed_first_and_what_came_back_before_them
            a_record_waits_for_its_time_and_keeps_no_other_waiting
            every_claim_counts_an_attempt_and_a_release_gives_it_back
            a_record_that_waits_for_something_else_keeps_its_attempts
            workers_never_share_a_record
            a_lease_that_ran_out_is_returned_and_one_that_was_extended_is_not
            what_an_ended_worker_had_is_returned_at_once
            claims_at_once_share_the_last_records_of_a_list
            a_half_ended_chunk_is_returned_without_what_has_ended
            a_chunk_has_what_came_back_what_is_new_and_what_waited
            what_is_claimed_is_not_cancelled_with_the_rest
            records_that_are_claimed_one_by_one_are_all_claimed_once
            numbers_between_those_of_a_chunk_do_not_belong_to_it
            many_records_that_arrived_as_processed_are_passed_by
            each_record_ends_as_its_worker_says
            records_of_a_chunk_end_one_by_one_or_together
            a_record_is_retried_until_its_attempts_are_spent
            a_late_ending_is_refused_and_changes_nothing
            endings_are_kept_together_or_not_at_all
            long_errors_are_cut
            counts_are_exact_at_every_instant
            counts_are_what_the_pages_have
            a_worker_that_stops_without_a_word_costs_no_record_and_repeats_none_that_was_processed
            a_follower_misses_nothing_that_is_committed_late
            a_snapshot_takes_what_was_processed_once
            results_or_records_are_taken
            a_list_is_made_of_all_records_of_another
            only_failed_records_are_retried
            what_fails_after_the_time_of_a_retry_is_left_alone
            cancelling_ends_what_has_not_begun
            every_record_is_on_exactly_one_page
            a_list_is_removed_in_pages_and_not_found_from_the_first_one_on
            the_records_of_a_list_are_removed_in_pages_and_its_counts_stay
            lists_do_not_know_each_other
        }
    };
    ($make:path: $($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                if let Some(subject) = $make() {
                    $crate::conformance::$case(&subject);
                }
            }
        )*
    };
}

const LEASE: Duration = Duration::from_mins(1);
const WORKER: &str = "test.invalid:1:0";

fn id(number: usize) -> String {
    format!("https://example.org/records/{number:06}")
}

fn ids(numbers: std::ops::Range<usize>) -> Vec<NewRecord> {
    numbers.map(|number| NewRecord::todo(id(number))).collect()
}

fn request_by(list: ListId, worker: &str) -> PopulationRequest {
    PopulationRequest { list, worker: worker.to_owned(), lease: LEASE }
}

fn take(lists: &dyn RecordLists, list: ListId) -> Population {
    lists.take_population(&request_by(list, WORKER)).expect("answers").expect("the population is free")
}

fn addition(records: Vec<NewRecord>, cursor: &str, is_last: bool) -> Addition {
    Addition { records, cursor: Some(cursor.to_owned()), is_last }
}

/// A complete list of so many records.
fn filled(lists: &dyn RecordLists, records: usize) -> ListId {
    let list = ListId::new();
    lists.create(list).expect("is made");
    let population = take(lists, list);
    for first in (0..records).step_by(1_000) {
        let page = ids(first..records.min(first + 1_000));
        lists.add(&population, &addition(page, "page", false)).expect("adds");
    }
    lists.add(&population, &addition(Vec::new(), "end", true)).expect("adds");
    list
}

fn claim_by(lists: &dyn RecordLists, list: ListId, worker: &str, limit: usize) -> Option<Chunk> {
    let request = ClaimRequest { list, worker: worker.to_owned(), limit, lease: LEASE };
    let chunk = lists.claim(&request).expect("claims");
    assert!(chunk.iter().all(|chunk| (1..=limit).contains(&chunk.records.len())), "no more than asked for");
    chunk
}

fn claim(lists: &dyn RecordLists, list: ListId, limit: usize) -> Chunk {
    claim_by(lists, list, WORKER, limit).expect("there are records")
}

fn processed() -> Outcome {
    Outcome::Processed { result: None }
}

fn failed(error: &str) -> Outcome {
    Outcome::Failed { error: error.to_owned() }
}

fn endings(chunk: &Chunk, outcome: &Outcome) -> Vec<Ending> {
    chunk.records.iter().map(|record| Ending { number: record.number, outcome: outcome.clone() }).collect()
}

fn end(lists: &dyn RecordLists, chunk: &Chunk, outcome: &Outcome) -> Finished {
    let finished = lists.finish(chunk.lease, &endings(chunk, outcome)).expect("ends");
    assert_eq!(finished.states.len(), chunk.records.len(), "one answer for each ending");
    finished
}

fn counts(lists: &dyn RecordLists, list: ListId) -> Counts {
    lists.status(list).expect("reads").counts
}

/// Todo, processing, processed, failed, cancelled.
fn numbers(lists: &dyn RecordLists, list: ListId) -> [u64; 5] {
    let counts = counts(lists, list);
    [counts.todo, counts.processing, counts.processed, counts.failed, counts.cancelled]
}

fn claimed_ids(chunk: &Chunk) -> Vec<&str> {
    chunk.records.iter().map(|record| record.id.as_str()).collect()
}

/// All records of a state, read in pages of so many.
fn all(lists: &dyn RecordLists, list: ListId, state: RecordState, page: usize) -> Vec<Record> {
    let (mut records, mut after) = (Vec::new(), Cursor::START);
    loop {
        let page = lists.page(list, state, after, page).expect("reads");
        let Some(last) = page.last() else { return records };
        after = last.cursor.to_string().parse().expect("a cursor");
        records.extend(page);
    }
}

fn sorted_ids(lists: &dyn RecordLists, list: ListId, state: RecordState) -> Vec<String> {
    let mut ids: Vec<String> = all(lists, list, state, 1_000).into_iter().map(|record| record.id).collect();
    ids.sort_unstable();
    ids
}

/// Works on a list until nothing of it is to be processed.
fn drain(lists: &dyn RecordLists, list: ListId, worker: &str, limit: usize) {
    while let Some(chunk) = claim_by(lists, list, worker, limit) {
        end(lists, &chunk, &processed());
    }
}

fn expected(records: usize) -> Vec<String> {
    (0..records).map(id).collect()
}
