//! What people do to a queue, and what they see of it.

use std::collections::BTreeSet;

use crate::{Heartbeat, NewTask, Outcome, Settled, TaskState, TopicCounts};

use super::{LEASE, Subject, TOPIC, counts, dead, end, later, put, seconds, take, take_one, task};

/// What is held is finished; the rest waits until the topic goes on.
pub fn a_paused_topic_leases_nothing(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("held"), task("waiting")]);
    let held = take_one(&*queue).lease;
    queue.set_paused(TOPIC, true).expect("pauses");
    assert!(counts(&*queue).paused);
    assert!(take(&*queue, 10).is_empty());
    assert!(take(&*subject.other(), 10).is_empty());
    put(&*queue, &[task("accepted")]);
    assert!(matches!(queue.heartbeat(&[held], LEASE).expect("beats")[0], Heartbeat::Held(_)));
    assert_eq!(end(&*queue, held, Outcome::Done), Settled::Ok);
    queue.set_paused(TOPIC, false).expect("resumes");
    assert!(!counts(&*queue).paused);
    assert_eq!(take(&*queue, 10).len(), 2);
}

/// Ready and delayed tasks go.
pub fn emptying_leaves_the_leased_and_the_dead(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("dead"), task("leased")]);
    let buried = take_one(&*queue).lease;
    end(&*queue, buried, dead("broken"));
    let leased = take_one(&*queue).lease;
    let many: Vec<_> = (0..2_500).map(|number| task(&format!("ready {number}"))).collect();
    put(&*queue, &many);
    put(&*queue, &[NewTask { not_before: Some(later(subject, seconds(9))), ..task("delayed") }]);
    put(&*queue, &[NewTask::new("elsewhere", "stays", "")]);
    assert_eq!(queue.empty(TOPIC).expect("empties"), 2_501);
    let left = counts(&*queue);
    assert_eq!((left.ready, left.delayed, left.leased, left.dead), (0, 0, 1, 1));
    assert_eq!(end(&*queue, leased, Outcome::Done), Settled::Ok);
    assert_eq!(queue.empty("elsewhere").expect("empties"), 1);
}

/// Its heartbeat and its settlement say so.
pub fn a_deleted_task_is_lost_to_its_holder(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let lease = take_one(&*queue).lease;
    assert!(queue.delete(lease.task).expect("deletes"));
    assert!(!queue.delete(lease.task).expect("answers"));
    assert_eq!(queue.heartbeat(&[lease], LEASE).expect("beats"), [Heartbeat::Lost]);
    assert_eq!(end(&*queue, lease, Outcome::Release), Settled::Lost);
    assert!(take(&*queue, 1).is_empty());
}

/// One call clears everything about a work item.
pub fn a_key_is_deleted_in_every_topic_and_state(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("item")]);
    let buried = take_one(&*queue).lease;
    end(&*queue, buried, dead("broken"));
    put(&*queue, &[task("item")]);
    take_one(&*queue);
    let delayed = NewTask { not_before: Some(later(subject, seconds(9))), ..NewTask::new("b", "item", "") };
    put(&*queue, &[NewTask::new("a", "item", ""), delayed, task("other")]);
    assert_eq!(queue.of_key("item").expect("lists").len(), 3, "the live ones");
    assert_eq!(queue.delete_key("item").expect("deletes"), 4);
    assert!(queue.of_key("item").expect("lists").is_empty());
    assert_eq!(queue.of_key("other").expect("lists").len(), 1);
}

/// Signs that mean something in patterns mean themselves.
pub fn keys_are_deleted_by_prefix_and_not_by_pattern(subject: &dyn Subject) {
    let queue = subject.queue();
    let all = ["a/1", "a/2", "a", "b/1", "a%", "a_x", "ab", "é/1", "é/2", "\u{10FFFF}x"];
    put(&*queue, &all.map(task));
    assert_eq!(queue.delete_keys_with_prefix("a/").expect("deletes"), 2);
    assert_eq!(queue.delete_keys_with_prefix("%").expect("deletes"), 0);
    assert_eq!(queue.delete_keys_with_prefix("a_").expect("deletes"), 1);
    assert_eq!(queue.delete_keys_with_prefix("é/").expect("deletes"), 2);
    assert_eq!(queue.delete_keys_with_prefix("").expect("deletes"), 0, "nobody is not everybody");
    assert_eq!(queue.delete_keys_with_prefix("a").expect("deletes"), 3);
    assert_eq!(counts(&*queue).ready, 2);
}

/// Per topic and state, with the age of the oldest ready task.
pub fn counts_are_exact(subject: &dyn Subject) {
    let queue = subject.queue();
    assert!(queue.counts().expect("counts").is_empty());
    let delayed = |key, after| NewTask { not_before: Some(later(subject, seconds(after))), ..task(key) };
    put(&*queue, &[task("a"), task("b"), task("c"), delayed("due", 5), delayed("later", 60)]);
    put(&*queue, &[NewTask::new("zebra", "z", "")]);
    let buried = take_one(&*queue).lease;
    end(&*queue, buried, dead("broken"));
    take_one(&*queue);
    subject.advance(seconds(10));
    let expected = TopicCounts {
        topic: TOPIC.into(),
        ready: 2,
        delayed: 1,
        leased: 1,
        dead: 1,
        oldest_ready_seconds: Some(10),
        paused: false,
    };
    assert_eq!(counts(&*subject.other()), expected);
    take_one(&*queue);
    assert_eq!(counts(&*queue).oldest_ready_seconds, Some(5), "what is due has waited since it was");
    take_one(&*queue);
    assert_eq!(counts(&*queue).oldest_ready_seconds, None);
    let topics: Vec<_> = queue.counts().expect("counts").into_iter().map(|counts| counts.topic).collect();
    assert_eq!(topics, [TOPIC, "zebra"]);
}

/// In every state, with pages of any size.
pub fn every_task_is_listed_on_exactly_one_page(subject: &dyn Subject) {
    let queue = subject.queue();
    let ready: Vec<_> = (0..7).map(|number| NewTask { priority: number % 3, ..task(&format!("{number}")) }).collect();
    put(&*queue, &ready);
    for (number, leased) in take(&*queue, 4).into_iter().enumerate() {
        if number % 2 == 0 {
            end(&*queue, leased.lease, dead("broken"));
        }
    }
    let timed = |number: u64, after| NewTask {
        not_before: Some(later(subject, seconds(after))),
        ..task(&format!("timed {number}"))
    };
    put(&*queue, &(0..5).map(|number| timed(number, 5)).collect::<Vec<_>>());
    put(&*queue, &(5..9).map(|number| timed(number, 50)).collect::<Vec<_>>());
    subject.advance(seconds(10));
    let expected = [(TaskState::Ready, 8), (TaskState::Delayed, 4), (TaskState::Leased, 2), (TaskState::Dead, 2)];
    for (state, number) in expected {
        for size in [1, 2, 3, 100] {
            let (mut seen, mut after, mut listed) = (BTreeSet::new(), None, 0);
            loop {
                let page = queue.list(TOPIC, state, after, size).expect("lists");
                assert!(page.tasks.len() <= size);
                assert!(page.tasks.iter().all(|task| task.state == state), "{state:?}");
                listed += page.tasks.len();
                seen.extend(page.tasks.iter().map(|task| task.task));
                let Some(next) = page.next else { break };
                after = Some(next.to_string().parse().expect("a cursor survives its text"));
                assert!(listed <= number, "the pages end");
            }
            assert_eq!((seen.len(), listed), (number, number), "{state:?} in pages of {size}");
        }
    }
}
