//! Who may work on a task, and for how long.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::{Heartbeat, Lease, LeaseRequest, Outcome, Settled, WorkerId};

use super::{LEASE, Subject, counts, dead, end, holder, later, put, request, retry_at, seconds, take, take_one, task};

/// Threads of two processes lease at once; every task is leased by one of them.
pub fn two_holders_never_share_a_task(subject: &dyn Subject) {
    let all = 400;
    let tasks: Vec<_> = (0..all).map(|number| task(&format!("{number}"))).collect();
    put(&*subject.queue(), &tasks);
    let seen = Mutex::new(HashSet::new());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let queue = if number % 2 == 0 { subject.queue() } else { subject.other() };
            let seen = &seen;
            scope.spawn(move || {
                let request = LeaseRequest { holder: holder(number), ..request(1 + number as usize % 3) };
                loop {
                    let leased = queue.lease(&request).expect("leases");
                    if leased.is_empty() {
                        break;
                    }
                    for task in leased {
                        assert!(seen.lock().expect("lives").insert(task.lease.task), "leased twice");
                    }
                }
            });
        }
    });
    assert_eq!(seen.into_inner().expect("lives").len(), all);
}

/// Whatever a former holder, a guesser or a repeated call says.
pub fn a_stale_lease_changes_nothing(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let first = take_one(&*queue).lease;
    end(&*queue, first, Outcome::Release);
    assert_eq!(end(&*queue, first, Outcome::Done), Settled::Lost, "nobody holds it");
    let second = take_one(&*queue).lease;
    assert!(second.attempt > first.attempt, "the fence rises even where the attempt was given back");
    let guessed = Lease { attempt: second.attempt + 1, ..second };
    let before = queue.show(second.task).expect("shows");
    for stale in [first, guessed] {
        let outcomes = [
            Outcome::Done,
            Outcome::Release,
            Outcome::Defer(subject.now()),
            dead("late"),
            retry_at(subject.now(), "late"),
        ];
        for outcome in outcomes {
            assert_eq!(end(&*queue, stale, outcome), Settled::Lost);
        }
        assert_eq!(queue.heartbeat(&[stale], seconds(999)).expect("beats"), [Heartbeat::Lost]);
        assert!(!queue.checkpoint(stale).expect("answers"));
    }
    assert_eq!(queue.show(second.task).expect("shows"), before);
    assert_eq!(end(&*queue, second, Outcome::Done), Settled::Ok);
    assert_eq!(end(&*queue, second, Outcome::Done), Settled::Lost, "a second time");
}

/// Expiry permits take-over, no more.
pub fn a_lease_that_ran_out_goes_on_while_nobody_took_it_over(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let lease = take_one(&*queue).lease;
    subject.advance(LEASE * 2);
    assert!(take(&*queue, 1).is_empty());
    let until = later(subject, seconds(60));
    assert_eq!(queue.heartbeat(&[lease], LEASE).expect("beats"), [Heartbeat::Held(until)]);
    assert!(queue.take_over_expired(10).expect("looks").is_empty());
    subject.advance(LEASE * 2);
    assert_eq!(end(&*queue, lease, Outcome::Done), Settled::Ok);
}

/// A sign of life cannot do harm.
pub fn a_heartbeat_never_shortens_a_lease(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key")]);
    let leased = take_one(&*queue);
    assert_eq!(leased.lease_until, later(subject, LEASE));
    let answer = queue.heartbeat(&[leased.lease], seconds(1)).expect("beats");
    assert_eq!(answer, [Heartbeat::Held(leased.lease_until)]);
}

/// At the very end of the lease and not before; the attempt stays counted, and the former holder has lost.
pub fn a_lease_that_ran_out_is_taken_over(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("key"), task("kept")]);
    let leased = take(&*queue, 2);
    let (lost, kept) = (leased[0].lease, leased[1].lease);
    subject.advance(seconds(30));
    queue.heartbeat(&[kept], LEASE).expect("beats");
    assert!(queue.take_over_expired(10).expect("looks").is_empty());
    subject.advance(seconds(30));
    let taken = subject.other().take_over_expired(10).expect("takes over");
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].lease, taken[0].key.as_str(), &taken[0].buried), (lost, "key", &None));
    assert_eq!(taken[0].holder, holder(1).to_string());
    assert_eq!(queue.heartbeat(&[lost, kept], LEASE).expect("beats")[0], Heartbeat::Lost);
    let again = take_one(&*queue);
    assert_eq!((again.key.as_str(), again.spent), ("key", 2));
    assert_eq!(end(&*queue, lost, Outcome::Done), Settled::Lost);
    assert_eq!(end(&*queue, again.lease, Outcome::Done), Settled::Ok);
}

/// Attempts count when the lease is given, so a task that nobody survives ends too, and says why.
pub fn a_task_that_ends_its_workers_is_buried(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[crate::NewTask { max_attempts: 2, ..task("deadly") }]);
    for attempt in 1..=2 {
        let leased = take_one(&*queue);
        assert_eq!((leased.spent, leased.max_attempts), (attempt, 2));
        subject.advance(LEASE);
        let taken = queue.take_over_expired(10).expect("takes over");
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].buried.is_some(), attempt == 2);
    }
    assert!(take(&*queue, 1).is_empty());
    let page = queue.list(super::TOPIC, crate::TaskState::Dead, None, 10).expect("lists");
    let reason = page.tasks[0].reason.as_deref().expect("a reason");
    assert!(reason.contains("attempt 2 of 2") && reason.contains("test.invalid"), "{reason}");
}

/// The attempt in progress is the first of the new count.
pub fn a_checkpoint_counts_the_attempts_anew(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[crate::NewTask { max_attempts: 2, ..task("long") }]);
    for round in 0..5 {
        let leased = take_one(&*queue);
        assert_eq!(leased.spent, if round == 0 { 1 } else { 2 });
        assert!(queue.checkpoint(leased.lease).expect("notes"));
        assert_eq!(end(&*queue, leased.lease, retry_at(subject.now(), "slow")), Settled::Ok);
    }
    let leased = take_one(&*queue);
    assert_eq!(end(&*queue, leased.lease, retry_at(subject.now(), "stuck")), Settled::Buried);
}

/// Without waiting for the lease to run out; whoever is alive, or out of sight, keeps theirs.
pub fn tasks_of_an_ended_process_are_taken_over_at_once(subject: &dyn Subject) {
    if !cfg!(target_os = "linux") {
        println!("SKIPPED: processes can be looked up on Linux only");
        return;
    }
    let queue = subject.queue();
    put(&*queue, &[task("gone"), task("alive"), task("elsewhere")]);
    let this = WorkerId::this_process();
    // The same process id, started at another time: that process has ended, or this one could not have the id.
    let text = this.to_string();
    let (before, _) = text.rsplit_once('-').expect("a start");
    let gone: WorkerId = format!("{before}-1").parse().expect("parses");
    let elsewhere = WorkerId::new("elsewhere.invalid", this.pid(), "0-0-1");
    for holder in [gone.clone(), this, elsewhere] {
        assert_eq!(queue.lease(&LeaseRequest { holder, ..request(1) }).expect("leases").len(), 1);
    }
    let taken = queue.take_over_gone(10).expect("takes over");
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].key.as_str(), taken[0].holder.as_str()), ("gone", gone.to_string().as_str()));
    assert_eq!((counts(&*queue).ready, counts(&*queue).leased), (1, 2));
}

/// Whoever holds a task of the key now, in whatever topic, and whoever leases it next; done is done.
pub fn a_request_to_cancel_reaches_the_holder(subject: &dyn Subject) {
    let queue = subject.queue();
    put(&*queue, &[task("item"), task("other")]);
    let held: Vec<_> = take(&*queue, 2).iter().map(|task| task.lease).collect();
    assert_eq!(queue.request_cancel("item").expect("asks"), 1);
    assert_eq!(queue.request_cancel("nobody").expect("asks"), 0);
    let until = later(subject, seconds(90));
    let answers = queue.heartbeat(&held, seconds(90)).expect("beats");
    assert_eq!(answers, [Heartbeat::CancelRequested(until), Heartbeat::Held(until)]);
    end(&*queue, held[0], Outcome::Done);
    put(&*queue, &[task("item")]);
    let fresh = take_one(&*queue).lease;
    assert!(matches!(queue.heartbeat(&[fresh], LEASE).expect("beats")[0], Heartbeat::Held(_)));
}
