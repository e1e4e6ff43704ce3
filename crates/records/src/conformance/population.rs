//! How a list is populated.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Addition, Arrival, ListId, NewRecord, RecordState, RecordsError};

use super::{
    LEASE, Subject, addition, all, claim, counts, drain, end, expected, id, ids, numbers, processed, request_by,
    sorted_ids, take,
};

/// Records and cursor are kept together, so that nothing is lost or doubled whoever goes on.
pub fn one_worker_at_a_time_populates_and_the_next_goes_on_from_its_cursor(subject: &dyn Subject) {
    let (lists, other, list) = (subject.lists(), subject.other(), ListId::new());
    lists.create(list).expect("is made");
    lists.create(list).expect("making it again changes nothing");
    let population = take(&*lists, list);
    assert_eq!(population.cursor, None);
    assert_eq!(other.take_population(&request_by(list, "another")).expect("answers"), None);
    lists.add(&population, &addition(ids(0..10), "after 10", false)).expect("adds");
    subject.advance(LEASE / 2);
    let until = lists.extend_population(&population, LEASE).expect("is extended");
    assert_eq!(until, subject.now().plus(LEASE.as_micros() as i64));
    subject.advance(LEASE * 2 / 3);
    assert_eq!(other.take_population(&request_by(list, "another")).expect("answers"), None, "it was extended");
    subject.advance(LEASE);
    let next = other.take_population(&request_by(list, "another")).expect("answers").expect("the lease has run out");
    assert_eq!(next.cursor.as_deref(), Some("after 10"));
    assert!(next.fence > population.fence);
    other.add(&next, &addition(ids(10..20), "after 20", true)).expect("adds");
    assert_eq!(sorted_ids(&*lists, list, RecordState::Todo), expected(20));
    let status = lists.status(list).expect("reads");
    assert!(status.is_complete && !status.is_finished());
    assert_eq!((status.cursor.as_deref(), status.populated_by), (Some("after 20"), None));
}

/// Nor does it extend its lease or give it back.
pub fn a_population_that_was_taken_over_adds_nothing(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let first = take(&*lists, list);
    // The same worker may take it at once: it may have been restarted.
    let second = take(&*lists, list);
    let late = lists.add(&first, &addition(ids(0..3), "late", true));
    assert!(matches!(late, Err(RecordsError::PopulationLost(lost)) if lost == list), "{late:?}");
    assert!(lists.extend_population(&first, LEASE).is_err());
    assert!(lists.release_population(&first).is_err());
    let status = lists.status(list).expect("reads");
    assert_eq!((status.counts.populated(), status.cursor, status.is_complete), (0, None, false));
    lists.release_population(&second).expect("is given back");
    assert!(lists.add(&second, &addition(ids(0..3), "late", false)).is_err());
    lists.take_population(&request_by(list, "another")).expect("answers").expect("it is free at once");
}

/// Within one addition and between them; the record stays as it is.
pub fn ids_that_are_repeated_are_left_out(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    let twice: Vec<NewRecord> = ids(0..5).into_iter().chain(ids(3..8)).collect();
    let added = lists.add(&population, &addition(twice, "1", false)).expect("adds");
    assert_eq!((added.added, added.duplicates), (8, 2));
    end(&*lists, &claim(&*lists, list, 2), &processed());
    let added = lists.add(&population, &addition(ids(0..10), "2", true)).expect("adds");
    assert_eq!((added.added, added.duplicates), (2, 8));
    assert_eq!(numbers(&*lists, list), [8, 0, 2, 0, 0]);
}

/// As where what a list follows has got more.
pub fn a_complete_list_takes_no_more_until_it_is_reopened(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    lists.add(&population, &addition(ids(0..1), "1", true)).expect("adds");
    assert!(lists.add(&population, &addition(ids(1..2), "2", false)).is_err());
    assert_eq!(lists.take_population(&request_by(list, "another")).expect("answers"), None);
    assert!(lists.reopen(list).expect("is reopened"));
    assert!(!lists.reopen(list).expect("answers"), "it is open");
    let population = take(&*lists, list);
    assert_eq!(population.cursor.as_deref(), Some("1"));
    lists.add(&population, &addition(ids(1..2), "2", true)).expect("adds");
    assert_eq!(counts(&*lists, list).populated(), 2);
}

/// One gets it and asks the source; the others wait, and find it complete.
pub fn workers_that_populate_at_once_make_one_list(subject: &dyn Subject) {
    let list = ListId::new();
    subject.lists().create(list).expect("is made");
    let asked = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let lists = if number % 2 == 0 { subject.lists() } else { subject.other() };
            let asked = &asked;
            scope.spawn(move || {
                let request = request_by(list, &format!("worker {number}"));
                while !lists.status(list).expect("reads").is_complete {
                    let Some(population) = lists.take_population(&request).expect("answers") else { continue };
                    asked.fetch_add(1, Ordering::Relaxed);
                    for first in (0..500).step_by(100) {
                        let page = addition(ids(first..first + 100), &first.to_string(), first == 400);
                        lists.add(&population, &page).expect("adds");
                    }
                }
            });
        }
    });
    assert_eq!(asked.into_inner(), 1);
    assert_eq!(sorted_ids(&*subject.lists(), list, RecordState::Todo), expected(500));
}

/// A harvest gets records together with their list.
pub fn records_arrive_as_what_they_are(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    let with = |number, arrival| NewRecord { id: id(number), arrival };
    let records = vec![
        with(0, Arrival::Todo),
        with(1, Arrival::Processed { result: Some("urn:one".into()) }),
        with(2, Arrival::Failed { error: "is no XML".into() }),
        with(3, Arrival::Processed { result: None }),
    ];
    lists.add(&population, &Addition { records, cursor: None, is_last: true }).expect("adds");
    assert_eq!(numbers(&*lists, list), [1, 0, 2, 1, 0]);
    let done = all(&*lists, list, RecordState::Processed, 1);
    assert_eq!(done.iter().map(|record| record.result.as_deref()).collect::<Vec<_>>(), [Some("urn:one"), None]);
    assert!(done.iter().all(|record| record.attempts == 1));
    assert_eq!(all(&*lists, list, RecordState::Failed, 10)[0].error.as_deref(), Some("is no XML"));
    drain(&*lists, list, "worker", 10);
    assert!(lists.status(list).expect("reads").is_finished());
}

/// Before anything is changed.
pub fn what_is_not_fit_to_be_kept_is_refused(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    let long = "x".repeat(2_049);
    for unfit in ["", "line\nbreak", "null\0byte", &long] {
        let records = vec![NewRecord::todo(id(1)), NewRecord::todo(unfit)];
        let refused = lists.add(&population, &addition(records, "1", true));
        assert!(matches!(refused, Err(RecordsError::Text { .. })), "{refused:?}");
    }
    let many = lists.add(&population, &addition(ids(0..10_001), "1", true));
    assert!(matches!(many, Err(RecordsError::Many { .. })), "{many:?}");
    assert_eq!(counts(&*lists, list).populated(), 0);
    lists
        .add(&population, &addition(vec![NewRecord::todo("ü".repeat(1_024))], "1", true))
        .expect("the longest is kept");
    let chunk = claim(&*lists, list, 1);
    let result = crate::Outcome::Processed { result: Some(long) };
    assert!(lists.finish(chunk.lease, &super::endings(&chunk, &result)).is_err());
    end(&*lists, &chunk, &processed());
    let absent = ListId::new();
    assert!(matches!(lists.status(absent), Err(RecordsError::NoList(list)) if list == absent));
    assert!(matches!(lists.take_population(&request_by(absent, "worker")), Err(RecordsError::NoList(_))));
}

/// Work begins before the population ends; its end mark says when there is no more.
pub fn a_half_populated_list_is_worked_on_and_is_not_finished(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    lists.add(&population, &addition(ids(0..5), "1", false)).expect("adds");
    drain(&*lists, list, "worker", 3);
    assert_eq!(numbers(&*lists, list), [0, 0, 5, 0, 0]);
    assert!(!lists.status(list).expect("reads").is_finished());
    lists.add(&population, &addition(ids(5..7), "2", true)).expect("adds");
    assert!(!lists.status(list).expect("reads").is_finished());
    drain(&*lists, list, "worker", 3);
    assert!(lists.status(list).expect("reads").is_finished());
}
