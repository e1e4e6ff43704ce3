//! How the work on a task ends, and what comes after.

use crate::{Enqueued, NewTask, Outcome, Settled, Settlement, TaskState};

use super::{LEASE, Subject, TOPIC, counts, dead, end, keys, later, of, put, retry_at, seconds, take, take_one, task};

/// History lives elsewhere.
pub fn a_task_that_is_done_is_forgotten(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let leased = take_one(&*queue);
    assert_eq!(end(&*queue, leased.lease, Outcome::Done), Settled::Ok);
    assert_eq!(queue.show(leased.lease.task).expect("shows"), None);
    let left = counts(&*queue);
    assert_eq!((left.ready, left.delayed, left.leased, left.dead), (0, 0, 0, 0));
}

/// In whatever order: what is done goes, what is not stays.
pub fn endings_that_are_told_together_end_each_as_it_says(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &["done", "retried", "released", "done too"].map(task));
    let leased = take(&*queue, 4);
    let at = later(subject, LEASE);
    let outcomes = [Outcome::Done, retry_at(at, "away"), Outcome::Release, Outcome::Done];
    let settlements: Vec<Settlement> =
        leased.iter().zip(outcomes).map(|(task, outcome)| Settlement { lease: task.lease, outcome }).collect();
    assert_eq!(queue.settle(&settlements).expect("settles"), [Settled::Ok; 4]);
    let left = leased.iter().map(|task| queue.show(task.lease.task).expect("shows").map(|record| record.state));
    let expected = [None, Some(TaskState::Delayed), Some(TaskState::Ready), None];
    assert_eq!(left.collect::<Vec<_>>(), expected);
}

/// Draining a worker costs a task nothing.
pub fn a_released_task_keeps_its_place_and_its_attempt(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("first"), task("second"), task("third")]);
    let leased = take(&*queue, 2);
    put(&*queue, &[task("fourth")]);
    assert_eq!(end(&*queue, leased[0].lease, Outcome::Release), Settled::Ok);
    let next = take(&*queue, 10);
    assert_eq!(keys(&next), ["first", "third", "fourth"]);
    assert_eq!(next[0].spent, 1, "the attempt was given back");
}

/// The reason goes with it to who tries next.
pub fn a_task_to_retry_waits_and_keeps_its_reason(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let lease = take_one(&*queue).lease;
    assert_eq!(end(&*queue, lease, retry_at(later(subject, seconds(5)), "the source was away")), Settled::Ok);
    assert!(take(&*queue, 1).is_empty());
    assert_eq!(
        queue.enqueue(&[NewTask { not_before: Some(later(subject, LEASE)), ..task("key") }]).expect("enqueues"),
        [Enqueued::Existing(lease.task)]
    );
    subject.advance(seconds(5));
    let again = take_one(&*queue);
    assert_eq!((again.lease.task, again.spent, again.reason.as_deref()), (lease.task, 2, Some("the source was away")));
}

/// One atomic change, with the reason kept.
pub fn a_retry_without_attempts_left_is_a_burial(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[NewTask { max_attempts: 2, ..task("key") }]);
    let first = take_one(&*queue).lease;
    assert_eq!(end(&*queue, first, retry_at(subject.now(), "once")), Settled::Ok);
    let second = take_one(&*queue).lease;
    assert_eq!(end(&*queue, second, retry_at(subject.now(), "twice")), Settled::Buried);
    let record = queue.show(second.task).expect("shows").expect("is kept");
    assert_eq!((record.state, record.reason.as_deref()), (TaskState::Dead, Some("twice")));
    assert!(take(&*queue, 1).is_empty());
}

/// Waiting is no failure, however often.
pub fn a_deferred_task_spends_no_attempt(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[NewTask { max_attempts: 1, ..task("key") }]);
    for _ in 0..5 {
        let leased = take_one(&*queue);
        assert_eq!(leased.spent, 1);
        assert_eq!(end(&*queue, leased.lease, Outcome::Defer(later(subject, seconds(1)))), Settled::Ok);
        assert!(take(&*queue, 1).is_empty());
        subject.advance(seconds(1));
    }
}

/// However often it is enqueued meanwhile, once more, with what was enqueued first and attempts of its own.
pub fn a_key_enqueued_while_leased_is_done_once_more(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[of("someone", "key")]);
    let lease = take_one(&*queue).lease;
    let again = NewTask { payload: b"more".to_vec(), ..of("someone", "key") };
    for _ in 0..3 {
        let answer = queue.enqueue(std::slice::from_ref(&again)).expect("enqueues");
        assert_eq!(answer, [Enqueued::MarkedAgain(lease.task)]);
    }
    assert!(take(&*queue, 1).is_empty(), "not while it is held");
    assert_eq!(end(&*queue, lease, Outcome::Done), Settled::Ok);
    assert_eq!(counts(&*queue).ready, 1);
    let second = take_one(&*queue);
    assert_eq!((second.payload.as_slice(), second.spent, second.reason), (b"more".as_slice(), 1, None));
    assert_eq!(end(&*queue, lease, Outcome::Done), Settled::Lost, "the first lease has ended");
    assert_eq!(end(&*queue, second.lease, Outcome::Done), Settled::Ok);
    assert!(take(&*queue, 1).is_empty());
}

/// What was wanted again is not forgotten because the work before it fails.
pub fn a_key_wanted_again_survives_retry_and_burial(subject: &dyn Subject) {
    let queue = subject.queue();
    let again = || NewTask { payload: b"more".to_vec(), ..task("key") };
    put(&*queue, &[task("key")]);
    let first = take_one(&*queue);
    put(&*queue, &[again()]);
    end(&*queue, first.lease, retry_at(subject.now(), "not yet"));
    let retried = take_one(&*queue);
    assert_eq!(retried.payload, first.payload, "first what was begun");
    end(&*queue, retried.lease, Outcome::Release);
    let released = take_one(&*queue);
    assert_eq!(end(&*queue, released.lease, dead("hopeless")), Settled::Ok);
    let successor = take_one(&*queue);
    assert_eq!((successor.payload.as_slice(), successor.spent), (b"more".as_slice(), 1));
    assert_ne!(successor.lease.task, first.lease.task);
    assert_eq!(counts(&*queue).dead, 1);

    put(&*queue, &[NewTask { payload: b"yet more".to_vec(), ..task("key") }]);
    subject.advance(LEASE);
    queue.take_over_expired(10).expect("takes over");
    let resumed = take_one(&*queue);
    assert_eq!(resumed.payload, b"more");
    end(&*queue, resumed.lease, Outcome::Done);
    assert_eq!(take_one(&*queue).payload, b"yet more");
}

/// Dead is dead; the key may be worked on anew.
pub fn a_dead_task_does_not_stand_in_the_way(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let buried = take_one(&*queue).lease;
    end(&*queue, buried, dead("unreadable payload"));
    let answer = queue.enqueue(&[task("key")]).expect("enqueues")[0];
    assert!(matches!(answer, Enqueued::Created(id) if id != buried.task), "{answer:?}");
    assert_eq!((counts(&*queue).ready, counts(&*queue).dead), (1, 1));
}

/// With attempts of their own again, and never beside a live task of the same key.
pub fn the_dead_are_retried_one_by_one_or_all(subject: &dyn Subject) {
    let queue = subject.queue();
    let all = ["a", "b", "c", "d"];
    put(&*queue, &all.map(|key| NewTask { max_attempts: 1, ..task(key) }));
    let leased = take(&*queue, 4);
    for task in &leased {
        assert_eq!(end(&*queue, task.lease, retry_at(subject.now(), "broken")), Settled::Buried);
    }
    let ids: Vec<_> = leased.iter().map(|task| task.lease.task).collect();
    assert!(queue.retry(ids[0]).expect("retries"));
    assert!(!queue.retry(ids[0]).expect("answers"), "it is not dead any more");
    let retried = take_one(&*queue);
    assert_eq!((retried.key.as_str(), retried.spent), ("a", 1));
    assert!(retried.lease.attempt > leased[0].lease.attempt);

    put(&*queue, &[task("b")]);
    assert!(!queue.retry(ids[1]).expect("answers"), "a live task does its work");
    assert_eq!(queue.retry_topic(TOPIC).expect("retries"), 2);
    assert_eq!((counts(&*queue).ready, counts(&*queue).dead), (3, 1));
    assert_eq!(queue.retry_topic("elsewhere").expect("retries"), 0);
}

/// Or a late lease of a deleted task could fit a new one.
pub fn ids_are_never_used_twice(subject: &dyn Subject) {
    let queue = subject.queue();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 {
        let ids = put(&*queue, &[task("a"), task("b")]);
        for id in ids {
            assert!(seen.insert(id), "{id} came twice");
            assert!(queue.delete(id).expect("deletes"));
        }
    }
}
