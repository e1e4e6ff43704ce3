//! Who comes first, and what waits at all.

use crate::tasks::TURNS_PER_PRIORITY;
use crate::{Enqueued, LeaseRequest, NewTask, Outcome, QueueError};

use super::{
    LEASE, Subject, TOPIC, counts, end, holder, keys, later, of, put, retry_at, seconds, take, take_one, task,
};

/// First in, first out, also across batches.
pub fn equals_come_in_the_order_they_were_enqueued(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("c"), task("a")]);
    put(&*queue, &[task("b"), task("d")]);
    assert_eq!(keys(&take(&*queue, 3)), ["c", "a", "b"]);
    assert_eq!(keys(&take(&*queue, 3)), ["d"]);
    assert!(take(&*queue, 3).is_empty());
}

/// Lower numbers are more urgent, negative ones as well.
pub fn i10_the_lower_priority_goes_first(subject: &dyn Subject) {
    let queue = subject.queue();
    let with = |priority, key| NewTask { priority, ..task(key) };
    put(&*queue, &[with(5, "late"), with(0, "middle"), with(-5, "first"), with(0, "middle too")]);
    assert_eq!(keys(&take(&*queue, 10)), ["first", "middle", "middle too", "late"]);
}

/// However many urgent tasks keep coming, the other one is reached after so many turns.
pub fn no_priority_waits_for_ever(subject: &dyn Subject) {
    let queue = subject.queue();
    let steps = 2;
    put(&*queue, &[NewTask { priority: steps, ..task("patient") }]);
    let bound = i64::from(steps) * TURNS_PER_PRIORITY + 1;
    let mut passed = 0;
    loop {
        let key = format!("urgent {passed}");
        put(&*queue, &[task(&key)]);
        let leased = take_one(&*queue);
        end(&*queue, leased.lease, Outcome::Done);
        if leased.key == "patient" {
            break;
        }
        passed += 1;
        assert!(passed <= bound, "{passed} urgent tasks passed it");
    }
    assert!(passed >= bound - 2, "priority means something: only {passed} passed it");
}

/// A small backlog is served beside a big one.
pub fn fair_keys_take_turns(subject: &dyn Subject) {
    let queue = subject.queue();
    let big: Vec<_> = (0..100).map(|number| of("big", &format!("big {number}"))).collect();
    put(&*queue, &big);
    put(&*queue, &[of("small", "small 0"), of("small", "small 1"), of("tiny", "tiny 0")]);
    let first = take(&*queue, 6);
    let first = keys(&first);
    assert_eq!(first, ["big 0", "small 0", "tiny 0", "big 1", "small 1", "big 2"]);
}

/// Waiting elsewhere earns nothing: a newcomer neither waits behind a backlog nor is served alone until it is level.
pub fn who_comes_late_joins_where_the_line_is_served(subject: &dyn Subject) {
    let queue = subject.queue();
    let many = |name: &str| (0..100).map(|number| of(name, &format!("{name} {number}"))).collect::<Vec<_>>();
    put(&*queue, &many("early"));
    for leased in take(&*queue, 50) {
        end(&*queue, leased.lease, Outcome::Done);
    }
    put(&*queue, &many("late"));
    let next = take(&*queue, 20);
    let late = next.iter().filter(|task| task.fair_key == "late").count();
    assert!((9..=11).contains(&late), "{late} of 20 are the newcomer's");
}

/// A crowd that was delayed until one moment lines up again as a newcomer does.
pub fn tasks_that_failed_together_do_not_come_back_in_front(subject: &dyn Subject) {
    let queue = subject.queue();
    let crowd: Vec<_> = (0..40).map(|number| of("crowd", &format!("crowd {number}"))).collect();
    put(&*queue, &crowd);
    for leased in take(&*queue, 40) {
        end(&*queue, leased.lease, retry_at(later(subject, seconds(60)), "the store was away"));
    }
    let others: Vec<_> = (0..100).map(|number| of("others", &format!("others {number}"))).collect();
    put(&*queue, &others);
    for leased in take(&*queue, 60) {
        end(&*queue, leased.lease, Outcome::Done);
    }
    subject.advance(seconds(60));
    let next = take(&*queue, 20);
    let crowd = next.iter().filter(|task| task.fair_key == "crowd").count();
    assert!((9..=11).contains(&crowd), "{crowd} of 20 are those that failed");
}

/// A later topic is looked at when the earlier ones have no more.
pub fn topics_are_served_in_order_of_preference(subject: &dyn Subject) {
    let queue = subject.queue();
    let on = |topic: &str, key: &str| NewTask::new(topic, key, "");
    put(&*queue, &[on("b", "b1"), on("a", "a1"), on("c", "c1"), on("a", "a2")]);
    let request = LeaseRequest {
        topics: vec!["a".into(), "none".into(), "b".into()],
        keys: None,
        limit: 10,
        holder: holder(1),
        duration: LEASE,
    };
    let leased = queue.lease(&request).expect("leases");
    assert_eq!(keys(&leased), ["a1", "a2", "b1"]);
    assert_eq!(leased[2].topic, "b");
    assert!(queue.lease(&request).expect("leases").is_empty(), "c was not asked for");
}

/// In the order of the line, whether few keys are asked for or many.
pub fn only_tasks_of_the_keys_asked_for_are_leased(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &(0..600).map(|number| task(&format!("{number}"))).collect::<Vec<_>>());
    let among = |wanted: &[usize], limit: usize| {
        let keys = wanted.iter().map(ToString::to_string).collect();
        let request = LeaseRequest { keys: Some(std::sync::Arc::new(keys)), ..super::request(limit) };
        queue.lease(&request).expect("leases").into_iter().map(|task| task.key).collect::<Vec<_>>()
    };
    assert_eq!(among(&[580, 3, 1000, 7], 2), ["3", "7"]);
    assert_eq!(among(&[580, 3, 1000, 7], 2), ["580"], "what is leased is not leased twice");
    let many: Vec<_> = (500..600).collect();
    assert_eq!(among(&many, 3), ["500", "501", "502"]);
    assert_eq!(among(&many, 200).len(), 96);
    assert!(among(&[], 1).is_empty());
    assert_eq!(take_one(&*queue).key, "0", "others are where they were");
}

/// Not a microsecond early, and due tasks count as ready.
pub fn a_delayed_task_comes_at_its_time_and_not_before(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[NewTask { not_before: Some(later(subject, seconds(10))), ..task("timed") }]);
    assert!(take(&*queue, 1).is_empty());
    assert_eq!((counts(&*queue).ready, counts(&*queue).delayed), (0, 1));
    subject.advance(std::time::Duration::from_micros(9_999_999));
    assert!(take(&*queue, 1).is_empty());
    subject.advance(std::time::Duration::from_micros(1));
    assert_eq!((counts(&*queue).ready, counts(&*queue).delayed), (1, 0));
    assert_eq!(take_one(&*queue).key, "timed");
}

/// A second one finds the first and adds nothing; another topic is another matter.
pub fn one_task_of_a_topic_and_key_waits(subject: &dyn Subject) {
    let queue = subject.queue();
    let elsewhere = NewTask { topic: "elsewhere".into(), ..task("key") };
    let answers = queue.enqueue(&[task("key"), task("key"), elsewhere]).expect("enqueues");
    let Enqueued::Created(id) = answers[0] else { panic!("{answers:?}") };
    assert_eq!(answers[1], Enqueued::Existing(id), "within one batch");
    assert!(matches!(answers[2], Enqueued::Created(other) if other != id));
    assert_eq!(queue.enqueue(&[task("key")]).expect("enqueues"), [Enqueued::Existing(id)]);
    assert_eq!(take(&*queue, 10).len(), 1);
}

/// The earlier time and the lower priority of both hold; the payload that waits stays.
pub fn a_waiting_task_is_brought_forward_by_a_more_urgent_one(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[NewTask { not_before: Some(later(subject, seconds(100))), ..task("timed") }]);
    put(&*queue, &[NewTask { not_before: Some(later(subject, seconds(200))), ..task("timed") }]);
    subject.advance(seconds(100));
    assert_eq!(take_one(&*queue).key, "timed", "a later one does not put it off");

    put(&*queue, &[NewTask { not_before: Some(later(subject, seconds(100))), ..task("now") }]);
    put(&*queue, &[NewTask { payload: b"other".to_vec(), ..task("now") }]);
    let leased = take_one(&*queue);
    assert_eq!((leased.key.as_str(), leased.payload.as_slice()), ("now", b"payload of now".as_slice()));

    let with = |priority, key| NewTask { priority, ..task(key) };
    put(&*queue, &[with(3, "a"), with(3, "b"), with(1, "b"), with(9, "a")]);
    let leased = take(&*queue, 2);
    assert_eq!(keys(&leased), ["b", "a"]);
    assert_eq!((leased[0].priority, leased[1].priority), (1, 3));
}

/// Every call takes batches.
pub fn batches_of_none_one_and_a_thousand_are_taken(subject: &dyn Subject) {
    let queue = subject.queue();
    assert!(put(&*queue, &[]).is_empty());
    assert!(take(&*queue, 0).is_empty());
    assert!(queue.settle(&[]).expect("settles").is_empty());
    assert!(queue.heartbeat(&[], LEASE).expect("beats").is_empty());
    let many: Vec<_> = (0..1000).map(|number| task(&format!("{number}"))).collect();
    let ids = put(&*queue, &many);
    put(&*queue, &[task("one")]);
    let leased = take(&*queue, 1000);
    assert_eq!(leased.iter().map(|task| task.lease.task).collect::<Vec<_>>(), ids);
    let done: Vec<_> =
        leased.iter().map(|task| crate::Settlement { lease: task.lease, outcome: Outcome::Done }).collect();
    assert!(queue.settle(&done).expect("settles").iter().all(|settled| *settled == crate::Settled::Ok));
    assert_eq!(keys(&take(&*queue, 1000)), ["one"]);
}

/// The queue does not look inside.
pub fn payloads_of_nothing_and_of_a_mebibyte_come_back_whole(subject: &dyn Subject) {
    let queue = subject.queue();
    let big: Vec<u8> = (0..1_048_576_u32).map(|number| number as u8).collect();
    put(&*queue, &[NewTask::new(TOPIC, "empty", ""), NewTask::new(TOPIC, "big", big.clone())]);
    let leased = take(&*queue, 2);
    assert!(leased[0].payload.is_empty());
    assert_eq!(leased[1].payload, big);
}

/// Nothing of the batch is enqueued then.
pub fn names_that_are_empty_or_endless_are_refused(subject: &dyn Subject) {
    let queue = subject.queue();
    for wrong in [NewTask::new("", "key", ""), NewTask::new(TOPIC, "", ""), NewTask::new(TOPIC, "x".repeat(2_000), "")]
    {
        let error = queue.enqueue(&[task("good"), wrong]).expect_err("refused");
        assert!(matches!(error, QueueError::Name { .. }), "{error}");
    }
    assert!(take(&*queue, 10).is_empty());
}
