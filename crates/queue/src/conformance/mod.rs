//! The rules of a queue, one function each, named for the rule. An engine's tests expand [`conformance_suite!`] once.
//!
//! A case panics where the engine breaks the rule, as tests do.

mod administration;
mod endings;
mod leases;
mod order;
mod waiting;

pub use administration::*;
pub use endings::*;
pub use leases::*;
pub use order::*;
pub use waiting::*;

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::Time;

use crate::{
    Enqueued, Lease, LeaseRequest, Leased, NewTask, Outcome, Queue, Settled, Settlement, TaskId, TopicCounts, WorkerId,
};

/// An engine under test, with no tasks in it.
pub trait Subject {
    /// The queue.
    fn queue(&self) -> Arc<dyn Queue>;

    /// The same tasks as another process would reach them.
    fn other(&self) -> Arc<dyn Queue>;

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
            equals_come_in_the_order_they_were_enqueued
            i10_the_lower_priority_goes_first
            no_priority_waits_for_ever
            fair_keys_take_turns
            who_comes_late_joins_where_the_line_is_served
            tasks_that_failed_together_do_not_come_back_in_front
            topics_are_served_in_order_of_preference
            only_tasks_of_the_keys_asked_for_are_leased
            a_delayed_task_comes_at_its_time_and_not_before
            one_task_of_a_topic_and_key_waits
            a_waiting_task_is_brought_forward_by_a_more_urgent_one
            batches_of_none_one_and_a_thousand_are_taken
            payloads_of_nothing_and_of_a_mebibyte_come_back_whole
            names_that_are_empty_or_endless_are_refused
            two_holders_never_share_a_task
            a_stale_lease_changes_nothing
            a_lease_that_ran_out_goes_on_while_nobody_took_it_over
            a_heartbeat_never_shortens_a_lease
            a_lease_that_ran_out_is_taken_over
            a_task_that_ends_its_workers_is_buried
            a_checkpoint_counts_the_attempts_anew
            tasks_of_an_ended_process_are_taken_over_at_once
            a_request_to_cancel_reaches_the_holder
            a_task_that_is_done_is_forgotten
            endings_that_are_told_together_end_each_as_it_says
            a_released_task_keeps_its_place_and_its_attempt
            a_task_to_retry_waits_and_keeps_its_reason
            a_retry_without_attempts_left_is_a_burial
            a_deferred_task_spends_no_attempt
            a_key_enqueued_while_leased_is_done_once_more
            a_key_wanted_again_survives_retry_and_burial
            a_dead_task_does_not_stand_in_the_way
            the_dead_are_retried_one_by_one_or_all
            ids_are_never_used_twice
            a_paused_topic_leases_nothing
            emptying_leaves_the_leased_and_the_dead
            a_deleted_task_is_lost_to_its_holder
            a_key_is_deleted_in_every_topic_and_state
            keys_are_deleted_by_prefix_and_not_by_pattern
            counts_are_exact
            every_task_is_listed_on_exactly_one_page
            waiting_ends_when_there_is_work
            waiting_ends_when_another_process_enqueues
            waiting_ends_at_the_deadline_and_for_a_paused_topic
            waiting_does_not_end_before_a_delayed_task_is_due
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

const TOPIC: &str = "ingest.fetch";
const LEASE: Duration = Duration::from_mins(1);

fn task(key: &str) -> NewTask {
    NewTask::new(TOPIC, key, format!("payload of {key}"))
}

fn of(fair_key: &str, key: &str) -> NewTask {
    NewTask { fair_key: fair_key.to_owned(), ..task(key) }
}

fn put(queue: &dyn Queue, tasks: &[NewTask]) -> Vec<TaskId> {
    let enqueued = queue.enqueue(tasks).expect("enqueues");
    assert_eq!(enqueued.len(), tasks.len(), "one answer for each task");
    enqueued.into_iter().map(Enqueued::task).collect()
}

fn holder(number: u32) -> WorkerId {
    WorkerId::new("test.invalid", number, "0-0-1")
}

fn request(limit: usize) -> LeaseRequest {
    LeaseRequest { topics: vec![TOPIC.to_owned()], keys: None, limit, holder: holder(1), duration: LEASE }
}

fn take(queue: &dyn Queue, limit: usize) -> Vec<Leased> {
    let leased = queue.lease(&request(limit)).expect("leases");
    assert!(leased.len() <= limit, "no more than asked for");
    leased
}

fn take_one(queue: &dyn Queue) -> Leased {
    let mut leased = take(queue, 1);
    assert_eq!(leased.len(), 1, "there is a task");
    leased.remove(0)
}

fn end(queue: &dyn Queue, lease: Lease, outcome: Outcome) -> Settled {
    let settled = queue.settle(&[Settlement { lease, outcome }]).expect("settles");
    assert_eq!(settled.len(), 1, "one answer for each settlement");
    settled[0]
}

fn keys(leased: &[Leased]) -> Vec<&str> {
    leased.iter().map(|task| task.key.as_str()).collect()
}

fn counts(queue: &dyn Queue) -> TopicCounts {
    let found = queue.counts().expect("counts").into_iter().find(|counts| counts.topic == TOPIC);
    found.unwrap_or(TopicCounts { topic: TOPIC.into(), ..TopicCounts::default() })
}

fn dead(reason: &str) -> Outcome {
    Outcome::Dead { reason: reason.to_owned() }
}

fn retry_at(at: Time, reason: &str) -> Outcome {
    Outcome::RetryAt { at, reason: reason.to_owned() }
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn later(subject: &dyn Subject, by: Duration) -> Time {
    subject.now().plus(by.as_micros() as i64)
}
