//! What people do to lists.

use crate::{ListId, RecordState, RecordsError};

use super::{
    LEASE, Subject, addition, all, claim, claim_by, claimed_ids, end, endings, failed, filled, id, ids, numbers,
    processed, request_by, take,
};

/// With all their attempts (Q19).
pub fn only_failed_records_are_retried(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 9);
    end(&*lists, &claim(&*lists, list, 3), &processed());
    end(&*lists, &claim(&*lists, list, 3), &failed("no"));
    assert_eq!(lists.retry_failed(list, subject.now(), 2).expect("retries"), 2);
    assert_eq!(lists.retry_failed(list, subject.now(), 2).expect("retries"), 1);
    assert_eq!(lists.retry_failed(list, subject.now(), 2).expect("retries"), 0);
    assert_eq!(numbers(&*lists, list), [6, 0, 3, 0, 0]);
    assert_eq!(all(&*lists, list, RecordState::Todo, 10)[0].error.as_deref(), Some("no"), "it says why until it ends");
    let again = claim(&*lists, list, 3);
    assert_eq!(claimed_ids(&again), [id(3), id(4), id(5)]);
    assert!(again.records.iter().all(|record| record.attempts == 1));
}

/// What fails again while a person's request goes on is not its business.
pub fn what_fails_after_the_time_of_a_retry_is_left_alone(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 4);
    end(&*lists, &claim(&*lists, list, 4), &failed("no"));
    let until = subject.now();
    subject.advance(LEASE);
    assert_eq!(lists.retry_failed(list, until, 2).expect("retries"), 2);
    end(&*lists, &claim(&*lists, list, 2), &failed("no"));
    assert_eq!(lists.retry_failed(list, until, 10).expect("retries"), 2);
    assert_eq!(lists.retry_failed(list, until, 10).expect("retries"), 0);
    assert_eq!(numbers(&*lists, list), [2, 0, 0, 2, 0]);
}

/// What is under way ends as its worker says, and nothing is added (Q21).
pub fn cancelling_ends_what_has_not_begun(subject: &dyn Subject) {
    let (lists, list) = (subject.lists(), ListId::new());
    lists.create(list).expect("is made");
    let population = take(&*lists, list);
    lists.add(&population, &addition(ids(0..10), "1", false)).expect("adds");
    let chunk = claim(&*lists, list, 3);
    assert_eq!(lists.cancel_rest(list, 5).expect("cancels"), 5);
    assert!(lists.add(&population, &addition(ids(10..12), "2", false)).is_err());
    assert_eq!(lists.cancel_rest(list, 5).expect("cancels"), 2);
    assert_eq!(lists.cancel_rest(list, 5).expect("cancels"), 0);
    assert_eq!(claim_by(&*lists, list, "worker", 5), None);
    assert_eq!(numbers(&*lists, list), [0, 3, 0, 0, 7]);
    end(&*lists, &chunk, &processed());
    let status = lists.status(list).expect("reads");
    assert_eq!((status.counts.open(), status.is_complete), (0, false), "it does not have all of its records");
}

/// Whatever the size of the page.
pub fn every_record_is_on_exactly_one_page(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 25);
    while let Some(chunk) = claim_by(&*lists, list, "worker", 4) {
        end(&*lists, &chunk, &processed());
    }
    for page in [1, 3, 25, 100] {
        let records = all(&*lists, list, RecordState::Processed, page);
        let mut numbers: Vec<u64> = records.iter().map(|record| record.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=25).collect::<Vec<_>>(), "pages of {page}");
    }
    for wrong in ["", "1", "a.b", "1.2.3", "1.99999999999999999999"] {
        assert!(wrong.parse::<crate::Cursor>().is_err(), "{wrong}");
    }
}

/// And what is left at a crash is found again (Q20).
pub fn a_list_is_removed_in_pages_and_not_found_from_the_first_one_on(subject: &dyn Subject) {
    let lists = subject.lists();
    let (list, kept) = (filled(&*lists, 25), filled(&*lists, 3));
    let chunk = claim(&*lists, list, 5);
    assert!(!lists.remove(list, 10).expect("removes"));
    assert_eq!(lists.being_removed(10).expect("reads"), [list]);
    assert!(matches!(lists.status(list), Err(RecordsError::NoList(_))));
    assert!(matches!(lists.take_population(&request_by(list, "worker")), Err(RecordsError::NoList(_))));
    assert_eq!(claim_by(&*lists, list, "worker", 5), None);
    assert!(matches!(lists.finish(chunk.lease, &endings(&chunk, &processed())), Err(RecordsError::ChunkLost(_))));
    let population = {
        let follower = ListId::new();
        lists.create(follower).expect("is made");
        take(&*lists, follower)
    };
    let from = crate::From { list, selection: crate::Selection::Processed, takes: crate::Takes::Records };
    assert!(matches!(lists.add_from(&population, from, 5), Err(RecordsError::NoList(gone)) if gone == list));
    while !lists.remove(list, 10).expect("removes") {}
    assert!(lists.remove(list, 10).expect("answers"), "there is nothing left");
    assert_eq!(lists.being_removed(10).expect("reads"), []);
    assert_eq!(numbers(&*lists, kept), [3, 0, 0, 0, 0]);
}

/// What came of them is still known when they are gone (Q20).
pub fn the_records_of_a_list_are_removed_in_pages_and_its_counts_stay(subject: &dyn Subject) {
    let lists = subject.lists();
    let (list, kept) = (filled(&*lists, 25), filled(&*lists, 3));
    assert_eq!(lists.outcome(list).expect("reads"), None);
    end(&*lists, &claim(&*lists, list, 9), &processed());
    end(&*lists, &claim(&*lists, list, 5), &failed("no"));
    lists.cancel_rest(list, 100).expect("cancels");
    let before = lists.status(list).expect("reads");
    assert_eq!(numbers(&*lists, list), [0, 0, 9, 5, 11]);
    assert!(!lists.remove_records(list, 10).expect("removes"));
    assert_eq!(lists.outcome(list).expect("reads"), Some((before.clone(), false)));
    assert!(matches!(lists.status(list), Err(RecordsError::NoList(_))));
    assert!(matches!(lists.take_population(&request_by(list, "worker")), Err(RecordsError::NoList(_))));
    assert_eq!(claim_by(&*lists, list, "worker", 5), None);
    assert_eq!(lists.retry_failed(list, subject.now(), 10).ok(), None, "nothing of it is changed any more");
    while !lists.remove_records(list, 10).expect("removes") {}
    assert!(lists.remove_records(list, 10).expect("answers"), "there is nothing left");
    assert_eq!(lists.outcome(list).expect("reads"), Some((before, true)));
    assert_eq!(all(&*lists, list, RecordState::Processed, 10), []);
    assert_eq!(lists.being_removed(10).expect("reads"), [], "nothing is to be done about it");
    // The whole of it can still be removed.
    assert!(lists.remove(list, 10).expect("removes"));
    assert_eq!(lists.outcome(list).expect("reads"), None);
    assert_eq!(numbers(&*lists, kept), [3, 0, 0, 0, 0]);
    assert!(lists.remove_records(ListId::new(), 10).expect("answers"), "there is no such list");
}

/// Ids of one may be in another.
pub fn lists_do_not_know_each_other(subject: &dyn Subject) {
    let lists = subject.lists();
    let (one, other) = (filled(&*lists, 5), filled(&*lists, 5));
    end(&*lists, &claim(&*lists, one, 5), &failed("no"));
    assert_eq!(numbers(&*lists, other), [5, 0, 0, 0, 0]);
    lists.retry_failed(other, subject.now(), 10).expect("retries");
    let mut foreign = claim(&*lists, other, 2).lease;
    foreign.list = one;
    let refused = lists.finish(foreign, &[crate::Ending { number: 1, outcome: processed() }]);
    assert!(matches!(refused, Err(RecordsError::ChunkLost(_))), "{refused:?}");
    assert_eq!(numbers(&*lists, one), [0, 0, 0, 5, 0]);
}
