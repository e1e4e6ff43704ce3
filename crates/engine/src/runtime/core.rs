//! What all threads of one run share, and the two ways tasks move through it: leased into a pool, and ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use strongroom_queue::tasks::{QueueStatus, ReadyFilter};
use strongroom_queue::{LeaseRequest, Outcome, WorkerId, tasks};
use strongroom_registry::work::{self, Assignment, BareEnd, Ended, ItemOutcome, Leasing, Room};
use strongroom_registry::{Position, Registry, RegistryError, Together, Transaction, Workflows, check_schema};

use super::clock::MonotonicClock;
use super::context::{Interrupted, TaskContext};
use super::held::{HeldTask, HeldTasks};
use super::notifier::{Notifier, Over};
use super::order::{Order, Turn};
use super::pool::{NextSlot, Pool, Work};
use super::running::RunningTasks;
use super::turns::Turns;
use super::{Summary, TaskEnd};
use crate::event::Event;

/// What is counted during a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) looks: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) given_back: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Tally {
    pub(super) fn count(number: &AtomicU64) {
        number.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn summary(&self) -> Summary {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Summary {
            looks: read(&self.looks),
            ended: read(&self.ended),
            given_back: read(&self.given_back),
            panicked: read(&self.panicked),
            dropped: read(&self.dropped),
            abandoned: 0,
            failure: None,
        }
    }
}

/// Which tasks of a topic to lease, at most how many.
#[derive(Debug, Clone)]
pub(super) struct TopicLease {
    pub(super) pool: usize,
    pub(super) limit: usize,
    /// Whether the slot is for the next stage of the item whose stage ends, which may begin at once.
    pub(super) follows: bool,
    /// Whether the slot is for that item alone, as it may have to wait for a thread: nothing else is leased for it.
    pub(super) only_follows: bool,
    /// Whether it is that item's turn before those that wait in the topic.
    pub(super) passes: bool,
    /// See [`Pool::max_total`].
    pub(super) max_total: Option<usize>,
    /// See [`Pool::without`].
    pub(super) without: Vec<String>,
    /// What goes before the topic.
    pub(super) order: Order,
    pub(super) request: LeaseRequest,
}

impl TopicLease {
    /// The room for one task of the topic.
    fn room(&self) -> Room {
        let topic = self.request.topics.first().cloned().unwrap_or_default();
        Room { topic, max_total: self.max_total, duration: self.request.duration, passes: self.passes }
    }
}

/// What the transaction that records the end of a task gave.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    /// The topics that have new work by it.
    topics: Vec<String>,
    /// What the worker has from then on.
    leased: Vec<Assignment>,
    /// What came of items.
    outcomes: Vec<ItemOutcome>,
}

/// The end of a stage that is written with those of others, and the slots to fill in the same transaction.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    end: BareEnd,
    wanted: Vec<TopicLease>,
}

pub(super) struct Core {
    pub(super) registry: Registry,
    /// The ends of stages that are written in one transaction.
    pub(super) ends: Together<Ending, Written>,
    pub(super) holder: WorkerId,
    pub(super) holder_text: Arc<str>,
    /// In order of preference.
    pub(super) pools: Vec<Pool>,
    /// Those of institutions, in all pools together.
    pub(super) turns: Arc<Turns>,
    pub(super) by_topic: HashMap<String, usize>,
    /// Only tasks of these keys.
    pub(super) keys: Option<Arc<HashSet<String>>>,
    pub(super) max_attempts: Arc<HashMap<String, u32>>,
    pub(super) held: HeldTasks,
    pub(super) clock: Arc<dyn MonotonicClock>,
    pub(super) notifier: Notifier,
    pub(super) over: Over,
    /// Whether the run ends by a condition, which is checked whenever a work item may have ended.
    pub(super) has_condition: bool,
    pub(super) draining: AtomicBool,
    pub(super) threads: AtomicUsize,
    pub(super) tally: Tally,
    pub(super) running: Arc<RunningTasks>,
}

/// How long between attempts to record the end of a task while the registry does not answer.
const RECORD_AGAIN: Duration = Duration::from_millis(200);

impl Core {
    /// A request for up to `limit` tasks of a pool's topic, in which a task of `ending` is about to end.
    pub(super) fn wanted(&self, pool: usize, limit: usize, ending: Option<&str>) -> Option<TopicLease> {
        let of = self.pools.get(pool)?;
        let request = LeaseRequest {
            topics: vec![of.topic.clone()],
            keys: self.keys.clone(),
            limit,
            holder: self.holder.clone(),
            duration: of.settings.lease,
        };
        let max_total = of.max_total();
        // Of items that one caller works on, and waits for, none is kept for others.
        let without = if self.keys.is_some() { Vec::new() } else { of.without(ending) };
        Some(TopicLease {
            pool,
            limit,
            follows: false,
            only_follows: false,
            passes: false,
            max_total,
            without,
            order: self.order_of(of),
            request,
        })
    }

    /// What goes before the topic of a pool.
    pub(super) fn order_of(&self, pool: &Pool) -> Order {
        if pool.earlier.is_empty() {
            return Order::default();
        }
        let earlier = pool.earlier.iter().filter_map(|place| self.pools.get(*place));
        let earlier = earlier.map(|earlier| (earlier.topic.clone(), earlier.max_total())).collect();
        Order { earlier, aged_after: pool.aged_after() }
    }

    /// Leases what is wanted, within a transaction; with the topics that have new work by it.
    pub(super) fn lease_all(
        tx: &mut dyn Transaction,
        wanted: &[TopicLease],
        workflows: &dyn Workflows,
        max_attempts: &HashMap<String, u32>,
    ) -> Result<Leasing, RegistryError> {
        let mut all = Leasing::default();
        for one in wanted.iter().filter(|one| one.limit > 0 && !one.only_follows) {
            let since = match one.order.turn(tx)? {
                Turn::All => None,
                Turn::Since(time) => Some(time),
                Turn::None => continue,
            };
            let limits = |topic: &str| max_attempts.get(topic).copied().unwrap_or(1);
            let mut request = one.request.clone();
            for topic in &one.request.topics {
                if let Some(most) = one.max_total {
                    request.limit = request.limit.min(tasks::room(tx, topic, most)?);
                }
            }
            let filter = ReadyFilter { without: &one.without, since };
            if let Some(topic) = request.topics.first().filter(|_| since.is_some() || !one.without.is_empty()) {
                let keys = tasks::ready_keys(tx, topic, filter, request.limit)?;
                request.keys = Some(Arc::new(keys.into_iter().collect()));
            }
            let leasing = work::lease(tx, workflows, &request, &limits)?;
            all.assignments.extend(leasing.assignments);
            all.topics.extend(leasing.topics);
            all.outcomes.extend(leasing.outcomes);
        }
        Ok(all)
    }

    /// Those of the wanted whose topics have something to lease: most often there is nothing, and one statement says.
    fn with_work(tx: &mut dyn Transaction, wanted: &[TopicLease]) -> Result<Vec<TopicLease>, RegistryError> {
        let topics: Vec<String> = wanted.iter().flat_map(|one| one.request.topics.iter().cloned()).collect();
        if topics.is_empty() {
            return Ok(Vec::new());
        }
        let QueueStatus::Work(topics) = tasks::look(tx, &topics)? else { return Ok(Vec::new()) };
        Ok(Self::of_topics(wanted, &topics.iter().collect::<Vec<_>>()))
    }

    /// Those of the wanted that are of one of these topics.
    fn of_topics(wanted: &[TopicLease], topics: &[&String]) -> Vec<TopicLease> {
        let is_of = |one: &&TopicLease| one.request.topics.iter().any(|topic| topics.contains(&topic));
        wanted.iter().filter(is_of).cloned().collect()
    }

    /// Puts what was leased by a transaction begun at `asked_at` into the pools, and gives up the slots that were kept for
    /// it; where one is free then that a look for work passed by, there is another look. What no pool takes any more is returned.
    pub(super) fn take_in(self: &Arc<Self>, wanted: &[TopicLease], assignments: Vec<Assignment>, asked_at: Duration) {
        let mut by_pool: HashMap<usize, Vec<Work>> = HashMap::new();
        for assignment in assignments {
            let Some(&index) = self.by_topic.get(&assignment.task.topic) else { continue };
            let Some(pool) = self.pools.get(index) else { continue };
            let held = self.held.add(HeldTask::new(&assignment, &pool.settings, asked_at));
            let waits_for_servers = pool.has_shares;
            let work = Work { assignment, held, since: Instant::now(), waits_for_servers };
            by_pool.entry(index).or_default().push(work);
        }
        for one in wanted {
            let Some(pool) = self.pools.get(one.pool) else { continue };
            let work = by_pool.remove(&one.pool).unwrap_or_default();
            let refused = pool.fill(one.limit, work, &|| self.start_thread(one.pool));
            for work in refused {
                self.give_back(&work);
            }
            if pool.has_missed() {
                self.notifier.notify();
            }
        }
    }

    fn start_thread(self: &Arc<Self>, index: usize) -> bool {
        let Some(pool) = self.pools.get(index) else { return false };
        let core = self.clone();
        self.spawn(&pool.topic, move || {
            let Some(pool) = core.pools.get(index) else { return };
            while let Some(work) = pool.next() {
                core.perform(index, pool, &work);
            }
        })
    }

    /// Starts a counted thread; whether it could be started.
    pub(super) fn spawn(self: &Arc<Self>, name: &str, body: impl FnOnce() + Send + 'static) -> bool {
        struct Counted(Arc<Core>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.threads.fetch_sub(1, Ordering::SeqCst);
                self.0.notifier.notify();
            }
        }
        self.threads.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(self.clone());
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _counted = counted;
            body();
        });
        if let Err(error) = &started {
            Event::ThreadNotStarted { name, error }.emit();
        }
        started.is_ok()
    }

    /// Does one task on this thread and records its end.
    fn perform(self: &Arc<Self>, index: usize, pool: &Pool, work: &Work) {
        let began = Instant::now();
        let task = &work.assignment.task;
        let context = TaskContext {
            registry: self.registry.clone(),
            holder: self.holder_text.clone(),
            settings: pool.settings.clone(),
            signal: work.held.signal.clone(),
            clock: self.clock.clone(),
            progress: self.running.begin(&task.topic, &task.key),
        };
        if self.draining.load(Ordering::SeqCst) {
            work.held.signal.interrupt(Interrupted::Draining);
        }
        let end = if let Err(reason) = context.check() {
            Tally::count(&self.tally.given_back);
            TaskEnd::from(reason)
        } else {
            Event::TaskStarted { topic: &task.topic, key: &task.key, attempt: task.lease.attempt }.emit();
            let handler = &pool.handler;
            catch_unwind(AssertUnwindSafe(|| handler.run(&work.assignment, &context))).unwrap_or_else(|panic| {
                let message = panic_message(panic.as_ref());
                Tally::count(&self.tally.panicked);
                Event::TaskPanicked { topic: &task.topic, key: &task.key, message }.emit();
                context.transient(&work.assignment, format!("the worker panicked: {message}"))
            })
        };
        self.running.end(&task.topic, &task.key);
        self.end(Some((index, pool)), work, end, began.elapsed());
    }

    /// Gives a task back that was not begun, with its attempt unspent.
    pub(super) fn give_back(self: &Arc<Self>, work: &Work) {
        Tally::count(&self.tally.given_back);
        let end = TaskEnd::from(Outcome::Release);
        self.end(None, work, end, Duration::ZERO);
    }

    /// Records the end of a task. What may follow it at once - the next stage of its item, the next task for its thread -
    /// is leased in the same transaction, so that no worker has to be notified of it.
    fn end(self: &Arc<Self>, ran: Option<(usize, &Pool)>, work: &Work, end: TaskEnd, elapsed: Duration) {
        let held = &work.held;
        let mut end = end.fitting(&work.assignment);
        let next = end.next(&work.assignment, self.registry.workflows().as_ref());
        held.begin_to_end();
        let wanted = ran.map(|ran| self.successors(ran, work.institution(), next.as_ref())).unwrap_or_default();
        let mut leasing = !wanted.is_empty();
        // What waits in the pool takes the slot that gets free: there is nothing to look for.
        let is_taken = wanted.is_empty() && ran.is_some_and(|(_, pool)| pool.has_waiting());
        let mut is_asked = false;
        let leased = loop {
            let asked_at = self.clock.now();
            let together = if is_asked { None } else { self.end_with_others(&end, held, &wanted) };
            is_asked = true;
            let job = {
                let (end, held, holder) = (end.clone(), held.clone(), self.holder_text.clone());
                let workflows = self.registry.workflows();
                let wanted = if leasing { wanted.clone() } else { Vec::new() };
                let (max_attempts, schema) = (self.max_attempts.clone(), self.registry.known_schema());
                move |tx: &mut dyn Transaction| {
                    let workflows = workflows.as_ref();
                    // Nothing is leased from a schema that is newer than the one this program knows. The end of a stage looks
                    // itself, as it does for what else there is to lease.
                    if !(wanted.is_empty() || end.is_of_stage(&held)) {
                        check_schema(tx, schema)?;
                    }
                    let following = following(&wanted);
                    let known_schema = Some(schema).filter(|_| !wanted.is_empty());
                    let next = (following.as_ref(), known_schema);
                    let ended = end.write(tx, &held, (workflows, &holder), next)?;
                    let rest =
                        if end.is_of_stage(&held) { rest_of(&wanted, &ended) } else { Self::with_work(tx, &wanted)? };
                    let leasing = Self::lease_all(tx, &rest, workflows, &max_attempts)?;
                    let mut written = Written::of(ended);
                    written.extend(leasing);
                    Ok::<_, RegistryError>(written)
                }
            };
            let written = together.map_or_else(|| self.registry.write_by_rows(job), Ok);
            let error = match written {
                Ok(Written { topics, leased, outcomes }) => {
                    Tally::count(&self.tally.ended);
                    end.emit(held, elapsed);
                    for outcome in &outcomes {
                        Event::ItemEnded { outcome }.emit();
                    }
                    self.announce(work, &topics, &leased);
                    break Some((leased, asked_at));
                }
                Err(error) => error,
            };
            if let RegistryError::FenceLost { .. } = error
                && let Some(given_back) = end.without_writes()
            {
                // What was to be written may be what is refused, after a store was replaced, and the task still ours.
                end = given_back;
                leasing = false;
                continue;
            }
            if let RegistryError::FenceLost { .. } = error {
                Tally::count(&self.tally.dropped);
                Event::TaskLost { topic: &held.topic, key: &held.key, cause: "its end was refused" }.emit();
                break None;
            }
            let lost = held.signal.is_lost(self.clock.now());
            if error.is_transient() && !lost {
                Event::RegistryUnavailable { act: "record the end of a task", error: &error }.emit();
                std::thread::sleep(RECORD_AGAIN);
            } else if leasing {
                // What failed may be the successor's record, not this task's.
                leasing = false;
            } else {
                Tally::count(&self.tally.dropped);
                Event::EndNotRecorded { topic: &held.topic, key: &held.key, error: &error }.emit();
                break None;
            }
        };
        self.held.remove(held.lease);
        if let Some((_, pool)) = ran {
            pool.ended(work);
        }
        let looked = is_taken || (leasing && leased.is_some());
        let (leased, asked_at) = leased.unwrap_or_default();
        self.take_in(&wanted, leased, asked_at);
        // Only now: an item that goes on to its next stage has not been gone in between.
        if let Some(whose) = work.in_turns().filter(|_| ran.is_some()) {
            self.turns.end(whose);
        }
        if self.turns.take_held_back() {
            self.pools.iter().for_each(Pool::wake);
        }
        // Where the free slot was offered to the queue in the transaction itself, there is nothing more to look for, unless a task
        // was put off, which is due some time.
        let is_over = end.is_success() && !self.has_condition;
        // What goes after this topic may be leased now.
        let leads_others = ran.is_some_and(|(_, pool)| pool.goes_before_others);
        if !(looked && (next.is_some() || is_over)) || leads_others || self.draining.load(Ordering::SeqCst) {
            self.notifier.notify();
        }
    }

    /// Writes the end of a stage together with those of others that end at the same time. None where it is to be written by itself: so is each
    /// where the engine makes the transactions of several threads durable together.
    fn end_with_others(&self, end: &TaskEnd, held: &HeldTask, wanted: &[TopicLease]) -> Option<Written> {
        let has_shares = |one: &TopicLease| self.pools.get(one.pool).is_some_and(|pool| pool.has_shares);
        if self.registry.database().writes_alone()
            || wanted.iter().any(|one| one.max_total.is_some() || has_shares(one))
        {
            return None;
        }
        let known_schema = Some(self.registry.known_schema()).filter(|_| !wanted.is_empty());
        let end = end.bare(held, (following(wanted), known_schema))?;
        self.ends.ask(Ending { end, wanted: wanted.to_vec() }, |group| self.write_ends(group))
    }

    /// Writes the ends of a group. Where the transaction does not come about, each is written by itself.
    fn write_ends(&self, group: Vec<Ending>) -> Vec<Option<Written>> {
        let (ends, wanted): (Vec<_>, Vec<_>) = group.into_iter().map(|one| (one.end, one.wanted)).unzip();
        let (count, holder, workflows) = (ends.len(), self.holder_text.clone(), self.registry.workflows());
        let max_attempts = self.max_attempts.clone();
        let job = move |tx: &mut dyn Transaction| {
            let ended = work::end_stages(tx, workflows.as_ref(), &holder, &ends)?;
            let rest = |(ended, wanted): (&Option<Ended>, &Vec<TopicLease>)| {
                ended.as_ref().map(|ended| rest_of(wanted, ended)).unwrap_or_default()
            };
            let mut rest: Vec<_> = ended.iter().zip(&wanted).map(rest).collect();
            let mut written: Vec<_> = ended.into_iter().map(|ended| ended.map(Written::of)).collect();
            let leasing = Self::lease_all(tx, &merged(&rest), workflows.as_ref(), &max_attempts)?;
            share_out(leasing, &mut written, &mut rest);
            Ok::<_, RegistryError>(written)
        };
        self.registry.write_by_rows(job).unwrap_or_else(|_| vec![None; count])
    }

    /// The slots to fill when this task ends: one for the next stage, and the task's own. An item to which others give way does not wait in
    /// the next topic behind what is held back there.
    fn successors(
        &self,
        (index, pool): (usize, &Pool),
        whose: Option<&str>,
        next: Option<&Position>,
    ) -> Vec<TopicLease> {
        let mut wanted = Vec::new();
        if let Some(position) = next
            && let Some(&next) = self.by_topic.get(&position.topic)
            && next != index
            && let Some(next_pool) = self.pools.get(next)
        {
            // Where topics go before the next one, the item goes by the queue: it is leased there as every other.
            let is_inline = position.is_inline && next_pool.earlier.is_empty();
            let is_next = whose.is_some_and(|whose| is_inline && self.turns.is_next(whose));
            let slot = next_pool.reserve_next(is_inline, whose.unwrap_or_default(), is_next);
            if let Some(NextSlot { may_wait, passes }) = slot {
                let follows = |slot| TopicLease { follows: is_inline, only_follows: may_wait, passes, ..slot };
                wanted.extend(self.wanted(next, 1, None).map(follows));
            }
        }
        let reserved = pool.reserve_own();
        if reserved > 0 {
            wanted.extend(self.wanted(index, reserved, whose));
        }
        wanted
    }

    /// Wakes those who wait for what the end of a task put into the queue, unless we have it already.
    fn announce(&self, work: &Work, topics: &[String], leased: &[Assignment]) {
        let is_ours = |topic: &String| {
            leased.iter().any(|one| one.task.topic == *topic && one.task.key == work.assignment.task.key)
        };
        let others = topics.iter().filter(|topic| !is_ours(topic));
        self.registry.wakeups().notify(others.map(String::as_str));
    }
}

/// The room for the stage that follows at once, where a slot is kept for it.
fn following(wanted: &[TopicLease]) -> Option<Room> {
    wanted.first().filter(|one| one.follows).map(TopicLease::room)
}

impl Written {
    fn of(ended: Ended) -> Self {
        let Ended { topics, left: _, goes_on, outcome } = ended;
        Self { topics, leased: goes_on.into_iter().collect(), outcomes: outcome.into_iter().collect() }
    }

    fn extend(&mut self, leasing: Leasing) {
        self.topics.extend(leasing.topics);
        self.leased.extend(leasing.assignments);
        self.outcomes.extend(leasing.outcomes);
    }
}

/// The slots that several workers have to fill, those of a pool as one.
fn merged(slots: &[Vec<TopicLease>]) -> Vec<TopicLease> {
    let mut by_pool: BTreeMap<usize, TopicLease> = BTreeMap::new();
    for slot in slots.iter().flatten().filter(|slot| !slot.only_follows) {
        let limit = slot.limit;
        by_pool.entry(slot.pool).and_modify(|one| one.limit += limit).or_insert_with(|| slot.clone());
    }
    by_pool.into_values().collect()
}

/// Gives each worker of a group what was leased for its slots, and the first one that has written its end what is to be told.
fn share_out(leasing: Leasing, written: &mut [Option<Written>], slots: &mut [Vec<TopicLease>]) {
    let Leasing { assignments, topics, outcomes } = leasing;
    for assignment in assignments {
        let is_for = |slot: &&mut TopicLease| {
            slot.limit > 0 && !slot.only_follows && slot.request.topics.contains(&assignment.task.topic)
        };
        let place = slots.iter_mut().position(|slots| match slots.iter_mut().find(is_for) {
            Some(slot) => {
                slot.limit -= 1;
                true
            }
            None => false,
        });
        if let Some(Some(written)) = place.and_then(|place| written.get_mut(place)) {
            written.leased.push(assignment);
        }
    }
    if let Some(first) = written.iter_mut().flatten().next() {
        first.extend(Leasing { assignments: Vec::new(), topics, outcomes });
    }
}

/// What of the wanted is left to lease behind the end of a stage: that of topics which have work by it, as far as it is known.
fn rest_of(wanted: &[TopicLease], ended: &Ended) -> Vec<TopicLease> {
    let known: Vec<&String> = ended.topics.iter().chain(&ended.left).collect();
    Core::of_topics(wanted.get(usize::from(ended.goes_on.is_some())..).unwrap_or_default(), &known)
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
