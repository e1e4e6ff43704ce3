//! Random acts of people and workers on batches, against [`crate::batch_model`]. After each act everything that is stored is compared
//! with the model: states, holds, tasks, sums, reports row by row, and what is told of ends. What proptest prints replays a case.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use strongroom_queue::tasks;
use strongroom_registry::items::Request;
use strongroom_registry::notifications::Notifications;
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::work::{Claim, SWEEP_TOPIC};
use strongroom_registry::{ItemId, ItemStatus, Stage};

use super::batch_model::{EXPAND, End, Model, STAGES};
use super::world::*;

/// At most so many batches: more would be untouched by most acts.
pub(crate) const BATCHES: usize = 4;
/// Rows that a worker makes of a manifest at once.
pub(crate) const ROWS_AT_ONCE: u64 = 2;

#[derive(Debug, Clone)]
enum Act {
    /// Of so many items; of a manifest with so many rows.
    Submit {
        size: usize,
        rows: Option<u64>,
        priority: i64,
    },
    /// A worker takes one task of a stage up; of the last, the manifests.
    Claim {
        stage: usize,
    },
    /// One of all claims ever given is ended, so that workers that slept wake, too.
    Finish {
        claim: Index,
        end: End,
    },
    /// One of them makes a page of rows.
    Expand {
        claim: Index,
    },
    Ask {
        item: Index,
        request: Request,
    },
    AskBatch {
        batch: Index,
        request: Request,
    },
    /// The process is killed that asked it, before any item was told.
    BeginStop {
        batch: Index,
        request: Request,
    },
    HoldCollection(bool),
    /// The statuses of items follow the holds.
    Settle,
    Pause {
        stage: usize,
        paused: bool,
    },
    Move {
        item: Index,
        priority: u32,
    },
    /// A group of failures is requeued: those of a batch at a stage.
    RequeueGroup {
        batch: Index,
        stage: usize,
    },
    Report {
        batch: Index,
    },
    /// Every task of reports is done.
    Tell,
    /// What ended items left behind is cleared.
    Sweep,
    /// Every worker stops without a word.
    Crash,
    /// What waits for a time becomes due.
    Wait,
    /// The time of what ended runs out.
    Retain,
}

fn act() -> impl Strategy<Value = Act> {
    let end = prop_oneof![
        4 => (0..STAGES.len()).prop_map(End::Next),
        1 => Just(End::Wait),
        1 => Just(End::Retry),
        1 => Just(End::GiveUp),
        2 => Just(End::Fatal),
        1 => Just(End::Permanent),
        1 => Just(End::NeedsPerson),
        5 => Just(End::Succeeded),
        1 => Just(End::Released),
    ];
    let request = || {
        prop_oneof![
            2 => Just(Request::Hold),
            3 => Just(Request::Release),
            2 => Just(Request::Cancel),
            1 => Just(Request::Fail),
            1 => Just(Request::Delete),
            3 => Just(Request::Requeue(None)),
            1 => (0..STAGES.len()).prop_map(|stage| Request::Requeue(Some(STAGES[stage]))),
        ]
    };
    prop_oneof![
        3 => (1..4_usize, 0..20_i64).prop_map(|(size, priority)| Act::Submit { size, rows: None, priority }),
        2 => (1..5_u64, 0..20_i64).prop_map(|(rows, priority)| Act::Submit { size: 1, rows: Some(rows), priority }),
        12 => (0..=STAGES.len()).prop_map(|stage| Act::Claim { stage }),
        12 => (any::<Index>(), end).prop_map(|(claim, end)| Act::Finish { claim, end }),
        5 => any::<Index>().prop_map(|claim| Act::Expand { claim }),
        6 => (any::<Index>(), request()).prop_map(|(item, request)| Act::Ask { item, request }),
        4 => (any::<Index>(), request()).prop_map(|(batch, request)| Act::AskBatch { batch, request }),
        2 => (any::<Index>(), prop_oneof![Just(Request::Cancel), Just(Request::Fail)])
            .prop_map(|(batch, request)| Act::BeginStop { batch, request }),
        1 => any::<bool>().prop_map(Act::HoldCollection),
        1 => Just(Act::Settle),
        1 => (0..=STAGES.len(), any::<bool>()).prop_map(|(stage, paused)| Act::Pause { stage, paused }),
        1 => (any::<Index>(), 0..100_u32).prop_map(|(item, priority)| Act::Move { item, priority }),
        1 => (any::<Index>(), 0..STAGES.len()).prop_map(|(batch, stage)| Act::RequeueGroup { batch, stage }),
        2 => any::<Index>().prop_map(|batch| Act::Report { batch }),
        1 => Just(Act::Tell),
        1 => Just(Act::Sweep),
        1 => Just(Act::Crash),
        1 => Just(Act::Wait),
        1 => Just(Act::Retain),
    ]
}

pub(crate) struct Run<'a> {
    pub(crate) world: &'a World<'a>,
    pub(crate) model: Model,
    pub(crate) claims: Vec<Claim>,
    pub(crate) paused: [bool; STAGES.len() + 1],
    /// Reports whose task is to come, and batches that were accepted.
    pub(crate) untold: Vec<String>,
}

pub(crate) fn stage_of(number: usize) -> Stage {
    STAGES.get(number).copied().unwrap_or(EXPAND)
}

impl Run<'_> {
    /// An item that is there still.
    pub(crate) fn item(&self, index: Index) -> Option<usize> {
        let left: Vec<usize> = (0..self.model.items.len())
            .filter(|item| !self.model.batches[self.model.items[*item].batch].is_gone)
            .collect();
        (!left.is_empty()).then(|| *index.get(&left))
    }

    pub(crate) fn batch(&self, index: Index) -> Option<usize> {
        let left: Vec<usize> =
            (0..self.model.batches.len()).filter(|batch| !self.model.batches[*batch].is_gone).collect();
        (!left.is_empty()).then(|| *index.get(&left))
    }

    pub(crate) fn place(&self, id: ItemId) -> usize {
        self.model.items.iter().position(|known| known.id == id).expect("one of ours")
    }

    fn apply(&mut self, act: &Act) {
        // No two acts are at the same moment.
        self.world.subject.advance(Duration::from_millis(1));
        match act {
            Act::Submit { size, rows, priority } => self.submit(*size, *rows, *priority),
            Act::Claim { stage } => self.claim(*stage),
            Act::Finish { claim, .. } | Act::Expand { claim } => {
                let left: Vec<Claim> = self.claims.iter().filter(|claim| self.is_there(claim)).cloned().collect();
                if left.is_empty() {
                    return;
                }
                // Those of late more often than those that are certain to be refused.
                let recent = &left[left.len().saturating_sub(6)..];
                let claim = claim.get(recent).clone();
                match act {
                    Act::Finish { end, .. } => self.finish(&claim, *end),
                    _ => self.expand(&claim),
                }
            }
            Act::Ask { item, request } => {
                if let Some(item) = self.item(*item) {
                    self.ask(item, *request);
                }
            }
            Act::AskBatch { batch, request } => {
                if let Some(batch) = self.batch(*batch) {
                    self.ask_batch(batch, *request);
                }
            }
            Act::BeginStop { batch, request } => {
                if let Some(batch) = self.batch(*batch) {
                    self.begin_stop(batch, *request);
                }
            }
            Act::HoldCollection(is_on) => self.hold_collection(*is_on),
            Act::Settle => self.settle(),
            Act::Pause { stage, paused } => {
                let (topic, paused) = (batch_topic(stage_of(*stage)), *paused);
                self.world.write(move |tx| Ok(tasks::set_paused(tx, &topic, paused)?));
                self.paused[*stage] = paused;
            }
            Act::Move { item, priority } => {
                if let Some(item) = self.item(*item) {
                    self.move_to(item, *priority);
                }
            }
            Act::RequeueGroup { batch, stage } => {
                if let Some(batch) = self.batch(*batch) {
                    self.requeue_group(batch, STAGES[*stage]);
                }
            }
            Act::Report { batch } => {
                if let Some(batch) = self.batch(*batch) {
                    self.report(batch);
                }
            }
            Act::Tell => self.tell(),
            Act::Sweep => drop(self.do_tasks(SWEEP_TOPIC)),
            Act::Crash => {
                self.world.crash();
                for item in 0..self.model.items.len() {
                    self.model.items[item].sleeps = false;
                    if self.model.items[item].status == ItemStatus::Started {
                        self.model.take_over(item);
                    }
                }
            }
            Act::Wait => {
                self.world.subject.advance(Duration::from_secs(30));
                self.model.items.iter_mut().for_each(|known| known.sleeps = false);
            }
            Act::Retain => self.retain(),
        }
        self.model.follow();
    }

    fn is_there(&self, claim: &Claim) -> bool {
        !self.model.batches[self.model.items[self.place(claim.item)].batch].is_gone
    }
}

/// The topic of a stage of the items of batches.
pub(crate) fn batch_topic(stage: Stage) -> String {
    if stage == EXPAND { "restoration.expand".to_owned() } else { topic(stage) }
}

pub(crate) fn i01_random_acts_leave_each_item_in_one_state_and_each_batch_in_that_of_its_items(
    make: impl Fn() -> Option<Box<dyn Subject>>,
) {
    let Some(subject) = make() else { return };
    // A statement costs far more where it travels to a server.
    let cases = if subject.registry().database().dialect() == "sqlite" { 32 } else { 5 };
    drop(subject);
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default() };
    proptest!(config, |(acts in prop::collection::vec(act(), 1..90))| {
        let Some(subject) = make() else { return Ok(()) };
        let world = World::new(subject.as_ref());
        let collection = world.collection;
        let notifications =
            Notifications {
                addresses: vec!["ann@example.edu".into()],
                callback_url: Some("https://hooks.example.edu/".into()),
                ..Notifications::default()
            };
        world.write(move |tx| {
            let known = tenants::collection_by_id(tx, collection)?.expect("the collection");
            let rules = CollectionRules { notifications: notifications.clone(), ..known.rules };
            tenants::set_collection(tx, collection, (&rules, "a person"), true)
        });
        let mut run = Run {
            world: &world,
            model: Model::default(),
            claims: Vec::new(),
            paused: [false; STAGES.len() + 1],
            untold: Vec::new(),
        };
        for act in &acts {
            run.apply(act);
            run.check();
        }
        run.tell();
    });
}
