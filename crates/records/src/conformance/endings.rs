//! What comes of claimed records.

use crate::{ChunkLease, Ending, Outcome, RecordState, RecordsError};

use super::{LEASE, Subject, all, claim, claim_by, end, endings, failed, filled, numbers, processed};

/// In one transaction, with what is known of each.
pub fn each_record_ends_as_its_worker_says(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 4);
    let chunk = claim(&*lists, list, 4);
    let not_before = subject.now().plus(1);
    let outcomes = [
        Outcome::Processed { result: Some("urn:made".into()) },
        failed("no title"),
        Outcome::Retry { not_before, error: "no answer".into(), max_attempts: 2 },
        Outcome::Released,
    ];
    let ends: Vec<Ending> = (chunk.records.iter().zip(outcomes))
        .map(|(record, outcome)| Ending { number: record.number, outcome })
        .collect();
    subject.advance(LEASE / 4);
    let finished = lists.finish(chunk.lease, &ends).expect("ends");
    let states = [RecordState::Processed, RecordState::Failed, RecordState::Todo, RecordState::Todo];
    assert_eq!((finished.states, finished.open), (states.to_vec(), 0));
    assert_eq!(numbers(&*lists, list), [2, 0, 1, 1, 0]);
    let done = &all(&*lists, list, RecordState::Processed, 10)[0];
    assert_eq!((done.result.as_deref(), done.attempts, done.changed_at), (Some("urn:made"), 1, subject.now()));
    assert_eq!(done.error, None);
    assert_eq!(all(&*lists, list, RecordState::Failed, 10)[0].error.as_deref(), Some("no title"));
    let todo = all(&*lists, list, RecordState::Todo, 10);
    assert_eq!(
        todo.iter().map(|record| (record.error.as_deref(), record.attempts)).collect::<Vec<_>>(),
        [(None, 0), (Some("no answer"), 1)]
    );
}

/// As the agent commits; what has ended stays ended when the rest is returned.
pub fn records_of_a_chunk_end_one_by_one_or_together(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 5);
    let chunk = claim(&*lists, list, 5);
    let ends = endings(&chunk, &processed());
    assert_eq!(lists.finish(chunk.lease, &ends[..1]).expect("ends").open, 4);
    assert_eq!(lists.finish(chunk.lease, &ends[1..2]).expect("ends").open, 3);
    let again = lists.finish(chunk.lease, &ends[..1]);
    assert!(matches!(again, Err(RecordsError::ChunkLost(_))), "it has ended: {again:?}");
    subject.advance(LEASE * 2);
    lists.return_expired(1).expect("returns");
    assert_eq!(numbers(&*lists, list), [3, 0, 2, 0, 0]);
    let rest = claim(&*lists, list, 5);
    assert_eq!(end(&*lists, &rest, &processed()).open, 0);
    assert_eq!(lists.extend(&[rest.lease], LEASE).expect("answers"), [false], "the chunk is over");
}

/// The last error is kept, and goes when the record is processed.
pub fn a_record_is_retried_until_its_attempts_are_spent(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 2);
    let retry = || Outcome::Retry { not_before: subject.now(), error: "no answer".into(), max_attempts: 2 };
    assert_eq!(end(&*lists, &claim(&*lists, list, 2), &retry()).states, [RecordState::Todo; 2]);
    let chunk = claim(&*lists, list, 1);
    assert_eq!(chunk.records[0].attempts, 2);
    assert_eq!(end(&*lists, &chunk, &retry()).states, [RecordState::Failed]);
    end(&*lists, &claim(&*lists, list, 1), &processed());
    assert_eq!(numbers(&*lists, list), [0, 0, 1, 1, 0]);
    let gone = &all(&*lists, list, RecordState::Failed, 10)[0];
    assert_eq!((gone.attempts, gone.error.as_deref()), (2, Some("no answer")));
    assert_eq!(all(&*lists, list, RecordState::Processed, 10)[0].error, None);
}

/// Whatever a worker says that slept, guesses or repeats itself.
pub fn a_late_ending_is_refused_and_changes_nothing(subject: &dyn Subject) {
    let (lists, other) = (subject.lists(), subject.other());
    let list = filled(&*lists, 3);
    let late = claim(&*lists, list, 2);
    subject.advance(LEASE * 2);
    other.return_expired(10).expect("returns");
    let present = claim_by(&*other, list, "another", 3).expect("there are records");
    let guessed = ChunkLease { chunk: late.lease.list.0, list };
    let before = (numbers(&*lists, list), all(&*lists, list, RecordState::Processing, 10));
    for outcome in [processed(), failed("late"), Outcome::Released] {
        for lease in [late.lease, guessed] {
            let refused = lists.finish(lease, &endings(&late, &outcome));
            assert!(matches!(refused, Err(RecordsError::ChunkLost(_))), "{refused:?}");
        }
    }
    assert_eq!((numbers(&*lists, list), all(&*lists, list, RecordState::Processing, 10)), before);
    end(&*other, &present, &processed());
    assert_eq!(numbers(&*lists, list), [0, 0, 3, 0, 0]);
}

/// An ending of a record that the chunk does not have, or one that is repeated, leaves the others as they were.
pub fn endings_are_kept_together_or_not_at_all(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 4);
    let (one, other) = (claim(&*lists, list, 2), claim(&*lists, list, 2));
    let mut foreign = endings(&one, &processed());
    foreign.extend(endings(&other, &processed()));
    assert!(matches!(lists.finish(one.lease, &foreign), Err(RecordsError::ChunkLost(_))));
    let unknown = [Ending { number: 999, outcome: processed() }];
    assert!(matches!(lists.finish(one.lease, &unknown), Err(RecordsError::ChunkLost(_))));
    let mut twice = endings(&one, &processed());
    twice.extend(endings(&one, &processed()));
    assert!(matches!(lists.finish(one.lease, &twice), Err(RecordsError::ChunkLost(_))));
    assert_eq!(numbers(&*lists, list), [0, 4, 0, 0, 0]);
    end(&*lists, &one, &processed());
    end(&*lists, &other, &processed());
}

/// Parts of them come from servers.
pub fn long_errors_are_cut(subject: &dyn Subject) {
    let lists = subject.lists();
    let list = filled(&*lists, 1);
    end(&*lists, &claim(&*lists, list, 1), &failed(&format!("null\0{}", "ü".repeat(100_000))));
    let error = all(&*lists, list, RecordState::Failed, 1)[0].error.clone().expect("an error");
    assert!(error.chars().count() <= 2_000 && error.starts_with("null\u{fffd}ü"), "{error}");
}
