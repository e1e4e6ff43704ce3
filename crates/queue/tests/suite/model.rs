//! Random sequences of operations against a queue of maps and lists that is too simple to be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use strongroom_database::{ManualClock, Time};
use strongroom_queue::tasks::TURNS_PER_PRIORITY;
use strongroom_queue::{
    Enqueued, Heartbeat, Lease, LeaseRequest, NewTask, Outcome, Queue, Settled, Settlement, TaskId, TaskState,
    TopicCounts, WorkerId,
};

const LEASE: Duration = Duration::from_mins(1);
const TOPICS: [&str; 2] = ["ingest.fetch", "ingest.write"];

#[derive(Debug, Clone)]
enum Operation {
    Enqueue(Vec<NewTask>),
    Lease {
        topics: Vec<usize>,
        limit: usize,
    },
    /// Settles one of all leases ever given, so that stale ones are tried as well.
    Settle {
        lease: prop::sample::Index,
        outcome: Ending,
    },
    Heartbeat {
        lease: prop::sample::Index,
        seconds: u64,
    },
    Checkpoint {
        lease: prop::sample::Index,
    },
    TakeOver {
        limit: usize,
    },
    Advance {
        seconds: u64,
    },
    SetPaused {
        topic: usize,
        paused: bool,
    },
    Empty {
        topic: usize,
    },
    Delete {
        lease: prop::sample::Index,
    },
    DeleteKey {
        key: u8,
    },
    Cancel {
        key: u8,
    },
    RetryTopic {
        topic: usize,
    },
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Done,
    Retry(u64),
    Defer(u64),
    Dead,
    Release,
}

fn operation() -> impl Strategy<Value = Operation> {
    let lease = any::<prop::sample::Index>;
    let ending = prop_oneof![
        4 => Just(Ending::Done),
        2 => (0..40_u64).prop_map(Ending::Retry),
        1 => (0..40_u64).prop_map(Ending::Defer),
        1 => Just(Ending::Dead),
        2 => Just(Ending::Release),
    ];
    prop_oneof![
        8 => prop::collection::vec(new_task(), 0..6).prop_map(Operation::Enqueue),
        8 => (prop::collection::vec(0..2_usize, 1..3), 0..4_usize)
            .prop_map(|(topics, limit)| Operation::Lease { topics, limit }),
        8 => (lease(), ending).prop_map(|(lease, outcome)| Operation::Settle { lease, outcome }),
        2 => (lease(), 0..120_u64).prop_map(|(lease, seconds)| Operation::Heartbeat { lease, seconds }),
        1 => lease().prop_map(|lease| Operation::Checkpoint { lease }),
        2 => (0..4_usize).prop_map(|limit| Operation::TakeOver { limit }),
        4 => (0..50_u64).prop_map(|seconds| Operation::Advance { seconds }),
        1 => (0..2_usize, any::<bool>()).prop_map(|(topic, paused)| Operation::SetPaused { topic, paused }),
        1 => (0..2_usize).prop_map(|topic| Operation::Empty { topic }),
        1 => lease().prop_map(|lease| Operation::Delete { lease }),
        1 => (0..6_u8).prop_map(|key| Operation::DeleteKey { key }),
        1 => (0..6_u8).prop_map(|key| Operation::Cancel { key }),
        1 => (0..2_usize).prop_map(|topic| Operation::RetryTopic { topic }),
    ]
}

/// `not_before` counts from 0 here and is moved to the present when the task is enqueued.
fn new_task() -> impl Strategy<Value = NewTask> {
    let delay = prop::option::weighted(0.3, 0..40_i64);
    (0..2_usize, 0..6_u8, any::<u8>(), 0..3_i32, 0..3_u8, delay, 1..4_u32).prop_map(
        |(topic, key, payload, priority, fair_key, delay, max_attempts)| NewTask {
            priority,
            fair_key: format!("institution {fair_key}"),
            not_before: delay.map(|seconds| Time(seconds * 1_000_000)),
            max_attempts,
            ..NewTask::new(TOPICS[topic], name(key), vec![payload])
        },
    )
}

fn name(key: u8) -> String {
    format!("item {key}")
}

#[derive(Debug, Clone, PartialEq)]
struct ModelTask {
    topic: String,
    key: String,
    /// Delayed tasks whose time has come stay delayed until somebody leases from their topic.
    state: TaskState,
    priority: i32,
    fair_key: String,
    rank: i64,
    ready_at: i64,
    attempt: u32,
    spent: u32,
    max_attempts: u32,
    lease_until: i64,
    cancel_requested: bool,
    reason: Option<String>,
    again: Option<(i64, i32, Vec<u8>)>,
    payload: Vec<u8>,
}

#[derive(Default)]
struct Model {
    now: i64,
    next_id: i64,
    tasks: BTreeMap<i64, ModelTask>,
    clocks: BTreeMap<String, i64>,
    turns: BTreeMap<(String, String, i32), i64>,
    paused: BTreeSet<String>,
    topics: BTreeSet<String>,
}

impl Model {
    fn take_turn(&mut self, topic: &str, fair_key: &str, priority: i32) -> i64 {
        let clock = self.clocks.get(topic).copied().unwrap_or(0);
        let next = self.turns.entry((topic.to_owned(), fair_key.to_owned(), priority)).or_insert(clock);
        let turn = clock.max(*next);
        *next = turn + 1;
        turn + i64::from(priority) * TURNS_PER_PRIORITY
    }

    fn live(&mut self, topic: &str, key: &str) -> Option<(i64, &mut ModelTask)> {
        let found = self
            .tasks
            .iter_mut()
            .find(|(_, task)| task.topic == topic && task.key == key && task.state != TaskState::Dead);
        found.map(|(id, task)| (*id, task))
    }

    fn enqueue(&mut self, new: &[NewTask]) -> Vec<Enqueued> {
        let now = self.now;
        let mut answers = Vec::new();
        for task in new {
            let id = self.next_id;
            self.next_id += 1;
            let ready_at = task.not_before.map_or(now, |time| time.0.max(now));
            if let Some((live, present)) = self.live(&task.topic, &task.key) {
                answers.push(match present.state {
                    TaskState::Leased => {
                        let new = (ready_at, task.priority, task.payload.clone());
                        present.again = Some(match present.again.take() {
                            None => new,
                            Some((at, priority, payload)) => (at.min(new.0), priority.min(new.1), payload),
                        });
                        Enqueued::MarkedAgain(TaskId(live))
                    }
                    TaskState::Ready => {
                        let steps = i64::from((present.priority - task.priority).max(0));
                        present.rank -= steps * TURNS_PER_PRIORITY;
                        present.priority = present.priority.min(task.priority);
                        Enqueued::Existing(TaskId(live))
                    }
                    _ => {
                        present.ready_at = present.ready_at.min(ready_at);
                        present.priority = present.priority.min(task.priority);
                        Enqueued::Existing(TaskId(live))
                    }
                });
                continue;
            }
            let delayed = ready_at > now;
            let rank = if delayed { 0 } else { self.take_turn(&task.topic, &task.fair_key, task.priority) };
            let state = if delayed { TaskState::Delayed } else { TaskState::Ready };
            self.tasks.insert(
                id,
                ModelTask {
                    topic: task.topic.clone(),
                    key: task.key.clone(),
                    state,
                    priority: task.priority,
                    fair_key: task.fair_key.clone(),
                    rank,
                    ready_at,
                    attempt: 0,
                    spent: 0,
                    max_attempts: task.max_attempts,
                    lease_until: 0,
                    cancel_requested: false,
                    reason: None,
                    again: None,
                    payload: task.payload.clone(),
                },
            );
            answers.push(Enqueued::Created(TaskId(id)));
        }
        answers
    }

    fn lease(&mut self, topics: &[String], limit: usize) -> Vec<Lease> {
        let mut leases = Vec::new();
        for topic in topics {
            if leases.len() >= limit {
                break;
            }
            if self.paused.contains(topic) {
                continue;
            }
            self.admit_due(topic);
            let mut line: Vec<_> = self
                .tasks
                .iter()
                .filter(|(_, task)| task.topic == *topic && task.state == TaskState::Ready)
                .map(|(id, task)| (task.rank, task.ready_at, *id))
                .collect();
            line.sort_unstable();
            for (rank, _, id) in line.into_iter().take(limit - leases.len()) {
                let task = self.tasks.get_mut(&id).expect("is in the line");
                task.state = TaskState::Leased;
                task.attempt += 1;
                task.spent += 1;
                task.lease_until = self.now + LEASE.as_micros() as i64;
                let turn = rank - i64::from(task.priority) * TURNS_PER_PRIORITY;
                let clock = self.clocks.entry(topic.clone()).or_insert(0);
                *clock = turn.max(*clock);
                self.topics.insert(topic.clone());
                leases.push(Lease { task: TaskId(id), attempt: task.attempt });
            }
        }
        leases
    }

    fn admit_due(&mut self, topic: &str) {
        let mut due: Vec<_> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.topic == topic && task.state == TaskState::Delayed && task.ready_at <= self.now)
            .map(|(id, task)| (task.ready_at, *id, task.fair_key.clone(), task.priority))
            .collect();
        due.sort_unstable();
        for (_, id, fair_key, priority) in due {
            let rank = self.take_turn(topic, &fair_key, priority);
            let task = self.tasks.get_mut(&id).expect("is due");
            task.state = TaskState::Ready;
            task.rank = rank;
        }
    }

    fn held(&mut self, lease: Lease) -> Option<&mut ModelTask> {
        let task = self.tasks.get_mut(&lease.task.0)?;
        (task.state == TaskState::Leased && task.attempt == lease.attempt).then_some(task)
    }

    fn settle(&mut self, lease: Lease, outcome: &Outcome) -> Settled {
        let now = self.now;
        let Some(task) = self.held(lease) else { return Settled::Lost };
        let exhausted = task.spent >= task.max_attempts;
        match outcome {
            Outcome::Done => match task.again.take() {
                None => {
                    self.tasks.remove(&lease.task.0);
                }
                Some((at, priority, payload)) => {
                    task.state = TaskState::Delayed;
                    (task.ready_at, task.priority, task.payload) = (at, priority, payload);
                    (task.spent, task.cancel_requested, task.reason) = (0, false, None);
                }
            },
            Outcome::RetryAt { reason, .. } if exhausted => {
                self.bury(lease.task.0, reason);
                return Settled::Buried;
            }
            Outcome::RetryAt { at, reason } => {
                task.state = TaskState::Delayed;
                task.ready_at = at.0;
                task.reason = Some(reason.clone());
            }
            Outcome::Defer(at) => {
                task.state = TaskState::Delayed;
                task.ready_at = at.0;
                task.reason = None;
                task.spent = task.spent.saturating_sub(1);
            }
            Outcome::Dead { reason } => self.bury(lease.task.0, reason),
            Outcome::Release => {
                task.state = TaskState::Ready;
                task.ready_at = now;
                task.spent = task.spent.saturating_sub(1);
            }
        }
        Settled::Ok
    }

    fn bury(&mut self, id: i64, reason: &str) {
        let task = self.tasks.get_mut(&id).expect("is held");
        task.state = TaskState::Dead;
        task.ready_at = self.now;
        task.reason = Some(reason.to_owned());
        task.cancel_requested = false;
        if let Some((at, priority, payload)) = task.again.take() {
            let successor = ModelTask {
                state: TaskState::Delayed,
                priority,
                ready_at: at,
                attempt: 0,
                spent: 0,
                reason: None,
                payload,
                ..task.clone()
            };
            self.tasks.insert(self.next_id, successor);
            self.next_id += 1;
        }
    }

    fn take_over(&mut self, limit: usize, holder: &WorkerId) -> Vec<(Lease, Option<String>)> {
        let mut expired: Vec<_> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.state == TaskState::Leased && task.lease_until <= self.now)
            .map(|(id, task)| (task.lease_until, *id))
            .collect();
        expired.sort_unstable();
        let mut taken = Vec::new();
        for (_, id) in expired.into_iter().take(limit) {
            let now = self.now;
            let task = self.tasks.get_mut(&id).expect("is leased");
            let lease = Lease { task: TaskId(id), attempt: task.attempt };
            if task.spent >= task.max_attempts {
                let (spent, most) = (task.spent, task.max_attempts);
                let reason = format!("the lease ran out on attempt {spent} of {most}, held by {holder}");
                self.bury(id, &reason);
                taken.push((lease, Some(reason)));
            } else {
                task.state = TaskState::Ready;
                task.ready_at = now;
                taken.push((lease, None));
            }
        }
        taken
    }

    fn retry_topic(&mut self, topic: &str) -> u64 {
        let dead: Vec<_> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.topic == topic && task.state == TaskState::Dead)
            .map(|(id, task)| (*id, task.key.clone()))
            .collect();
        let mut retried = 0;
        for (id, key) in dead {
            if self.live(topic, &key).is_none() {
                let now = self.now;
                let task = self.tasks.get_mut(&id).expect("is dead");
                task.state = TaskState::Delayed;
                (task.ready_at, task.spent, task.reason) = (now, 0, None);
                retried += 1;
            }
        }
        retried
    }

    fn remove(&mut self, gone: impl Fn(&ModelTask) -> bool) -> u64 {
        let before = self.tasks.len();
        self.tasks.retain(|_, task| !gone(task));
        (before - self.tasks.len()) as u64
    }

    fn seen_state(&self, task: &ModelTask) -> TaskState {
        match task.state {
            TaskState::Delayed if task.ready_at <= self.now => TaskState::Ready,
            state => state,
        }
    }

    fn counts(&self) -> Vec<TopicCounts> {
        let mut counts: BTreeMap<&str, TopicCounts> = BTreeMap::new();
        let named = self.topics.iter().map(String::as_str).chain(self.tasks.values().map(|task| task.topic.as_str()));
        for topic in named {
            counts.entry(topic).or_insert_with(|| TopicCounts {
                topic: topic.to_owned(),
                paused: self.paused.contains(topic),
                ..TopicCounts::default()
            });
        }
        for task in self.tasks.values() {
            let topic = counts.get_mut(task.topic.as_str()).expect("was named");
            match self.seen_state(task) {
                TaskState::Ready => {
                    topic.ready += 1;
                    let age = ((self.now - task.ready_at) / 1_000_000) as u64;
                    topic.oldest_ready_seconds = Some(topic.oldest_ready_seconds.map_or(age, |oldest| oldest.max(age)));
                }
                TaskState::Delayed => topic.delayed += 1,
                TaskState::Leased => topic.leased += 1,
                TaskState::Dead => topic.dead += 1,
            }
        }
        counts.into_values().collect()
    }
}

/// Carries an operation out on both and compares what they answer.
fn step(
    operation: Operation,
    queue: &dyn Queue,
    clock: &ManualClock,
    model: &mut Model,
    given: &mut Vec<Lease>,
) -> Result<(), TestCaseError> {
    let holder = WorkerId::new("test.invalid", 1, "0-0-1");
    let pick = |index: prop::sample::Index| {
        if given.is_empty() { Lease { task: TaskId(99), attempt: 1 } } else { *index.get(given) }
    };
    let after = |model: &Model, seconds: u64| Time(model.now + seconds as i64 * 1_000_000);
    match operation {
        Operation::Enqueue(mut tasks) => {
            for task in &mut tasks {
                task.not_before = task.not_before.map(|delay| Time(model.now + delay.0));
            }
            prop_assert_eq!(queue.enqueue(&tasks).expect("enqueues"), model.enqueue(&tasks));
        }
        Operation::Lease { topics, limit } => {
            let topics: Vec<String> = topics.into_iter().map(|topic| TOPICS[topic].to_owned()).collect();
            let expected = model.lease(&topics, limit);
            let leased =
                queue.lease(&LeaseRequest { topics, keys: None, limit, holder, duration: LEASE }).expect("leases");
            let answered: Vec<Lease> = leased.iter().map(|task| task.lease).collect();
            prop_assert_eq!(&answered, &expected);
            given.extend(answered);
        }
        Operation::Settle { lease, outcome } => {
            let lease = pick(lease);
            let outcome = match outcome {
                Ending::Done => Outcome::Done,
                Ending::Retry(seconds) => Outcome::RetryAt { at: after(model, seconds), reason: "again".into() },
                Ending::Defer(seconds) => Outcome::Defer(after(model, seconds)),
                Ending::Dead => Outcome::Dead { reason: "hopeless".into() },
                Ending::Release => Outcome::Release,
            };
            let expected = model.settle(lease, &outcome);
            prop_assert_eq!(queue.settle(&[Settlement { lease, outcome }]).expect("settles"), [expected]);
        }
        Operation::Heartbeat { lease, seconds } => {
            let lease = pick(lease);
            let until = after(model, seconds);
            let expected = match model.held(lease) {
                None => Heartbeat::Lost,
                Some(task) => {
                    task.lease_until = task.lease_until.max(until.0);
                    let until = Time(task.lease_until);
                    if task.cancel_requested { Heartbeat::CancelRequested(until) } else { Heartbeat::Held(until) }
                }
            };
            prop_assert_eq!(queue.heartbeat(&[lease], Duration::from_secs(seconds)).expect("beats"), [expected]);
        }
        Operation::Checkpoint { lease } => {
            let lease = pick(lease);
            let expected = model.held(lease).map(|task| task.spent = 1).is_some();
            prop_assert_eq!(queue.checkpoint(lease).expect("notes"), expected);
        }
        Operation::TakeOver { limit } => {
            let expected = model.take_over(limit, &holder);
            let taken = queue.take_over_expired(limit).expect("takes over");
            let taken: Vec<_> = taken.into_iter().map(|task| (task.lease, task.buried)).collect();
            prop_assert_eq!(taken, expected);
        }
        Operation::Advance { seconds } => {
            model.now += seconds as i64 * 1_000_000;
            clock.advance(seconds as i64 * 1_000_000);
        }
        Operation::SetPaused { topic, paused } => {
            let topic = TOPICS[topic];
            queue.set_paused(topic, paused).expect("is set");
            model.topics.insert(topic.to_owned());
            if paused {
                model.paused.insert(topic.to_owned())
            } else {
                model.paused.remove(topic)
            };
        }
        Operation::Empty { topic } => {
            let waits = |task: &ModelTask| {
                task.topic == TOPICS[topic] && matches!(task.state, TaskState::Ready | TaskState::Delayed)
            };
            prop_assert_eq!(queue.empty(TOPICS[topic]).expect("empties"), model.remove(waits));
        }
        Operation::Delete { lease } => {
            let task = pick(lease).task;
            prop_assert_eq!(queue.delete(task).expect("deletes"), model.tasks.remove(&task.0).is_some());
        }
        Operation::DeleteKey { key } => {
            let key = name(key);
            prop_assert_eq!(queue.delete_key(&key).expect("deletes"), model.remove(|task| task.key == key));
        }
        Operation::Cancel { key } => {
            let key = name(key);
            let mut concerned = 0;
            for task in model.tasks.values_mut().filter(|task| task.key == key && task.state != TaskState::Dead) {
                task.cancel_requested = true;
                concerned += 1;
            }
            prop_assert_eq!(queue.request_cancel(&key).expect("asks"), concerned);
        }
        Operation::RetryTopic { topic } => {
            prop_assert_eq!(queue.retry_topic(TOPICS[topic]).expect("retries"), model.retry_topic(TOPICS[topic]));
        }
    }
    Ok(())
}

fn compare(queue: &dyn Queue, model: &Model) -> Result<(), TestCaseError> {
    for id in 1..model.next_id {
        let shown = queue.show(TaskId(id)).expect("shows");
        prop_assert_eq!(shown.is_some(), model.tasks.contains_key(&id), "task {}", id);
        let (Some(shown), Some(task)) = (shown, model.tasks.get(&id)) else { continue };
        prop_assert_eq!((&shown.topic, &shown.key, &shown.fair_key), (&task.topic, &task.key, &task.fair_key));
        prop_assert_eq!(shown.state, model.seen_state(task));
        prop_assert_eq!(
            (shown.attempt, shown.spent, shown.max_attempts),
            (task.attempt, task.spent, task.max_attempts)
        );
        prop_assert_eq!((shown.priority, shown.ready_at.0), (task.priority, task.ready_at));
        prop_assert_eq!(&shown.payload, &task.payload);
        prop_assert_eq!(&shown.reason, &task.reason);
        prop_assert_eq!((shown.again, shown.cancel_requested), (task.again.is_some(), task.cancel_requested));
        prop_assert_eq!(
            shown.lease_until.map(|time| time.0),
            match task.state {
                TaskState::Leased => Some(task.lease_until),
                _ => None,
            }
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_answers_as_the_model_does(operations in prop::collection::vec(operation(), 1..80)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let start = 1_750_000_000_000_000;
        let clock = Arc::new(ManualClock::at(Time(start)));
        let queue = super::queue_at(&folder.path().join("registry.db"), clock.clone());
        let mut model = Model { now: start, next_id: 1, ..Model::default() };
        let mut given = Vec::new();
        for operation in operations {
            step(operation, &*queue, &clock, &mut model, &mut given)?;
            prop_assert_eq!(queue.counts().expect("counts"), model.counts());
        }
        compare(&*queue, &model)?;
    }
}
