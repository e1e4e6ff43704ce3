//! Waiting for work. Deadlines are far away where waiting is to end by work, and long past where it is to end by itself.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::NewTask;

use super::{Subject, TOPIC, later, put, seconds, take_one, task};

fn topics() -> Vec<String> {
    vec!["other".to_owned(), TOPIC.to_owned()]
}

fn far_away() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

/// At once where there is some already, and as soon as somebody of this process makes some.
pub fn waiting_ends_when_there_is_work(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("there")]);
    assert!(queue.wait_for_work(&topics(), far_away()).expect("waits"));
    take_one(&*queue);
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let waiting = subject.queue();
        scope.spawn(move || {
            tell.send(()).expect("is heard");
            assert!(waiting.wait_for_work(&topics(), far_away()).expect("waits"));
        });
        told.recv().expect("has begun");
        put(&*queue, &[task("new")]);
    });
}

/// Nobody tells; it is seen all the same.
pub fn waiting_ends_when_another_process_enqueues(subject: &dyn Subject) {
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let waiting = subject.queue();
        scope.spawn(move || {
            tell.send(()).expect("is heard");
            assert!(waiting.wait_for_work(&topics(), far_away()).expect("waits"));
        });
        told.recv().expect("has begun");
        put(&*subject.other(), &[task("new")]);
    });
}

/// Nothing to do is an answer.
pub fn waiting_ends_at_the_deadline_and_for_a_paused_topic(subject: &dyn Subject) {
    let queue = subject.queue();
    assert!(!queue.wait_for_work(&topics(), Instant::now()).expect("waits"));
    put(&*queue, &[task("paused")]);
    queue.set_paused(TOPIC, true).expect("pauses");
    assert!(!queue.wait_for_work(&topics(), Instant::now()).expect("waits"));
    queue.set_paused(TOPIC, false).expect("resumes");
    assert!(queue.wait_for_work(&topics(), Instant::now()).expect("waits"));
}

/// Else a worker would ask for it over and over.
pub fn waiting_does_not_end_before_a_delayed_task_is_due(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[NewTask { not_before: Some(later(subject, seconds(5))), ..task("delayed") }]);
    subject.advance(seconds(4));
    assert!(!queue.wait_for_work(&topics(), Instant::now()).expect("waits"));
    subject.advance(seconds(1));
    assert!(queue.wait_for_work(&topics(), Instant::now()).expect("waits"));
}
