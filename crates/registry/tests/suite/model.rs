//! Random work on a few items, against a model of status, stage and fence that is too simple to be wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use strongroom_registry::items::Request;
use strongroom_registry::work::{Claim, StageEnd};
use strongroom_registry::{ItemId, ItemStatus, Stage, WaitReason};

use super::world::*;

const ITEMS: usize = 3;
/// Stages that need nothing an earlier one left behind, so that requeueing is plain.
const STAGES: [Stage; 3] = [Stage::named("receive"), Stage::named("estimate"), Stage::named("provision")];

#[derive(Debug, Clone)]
enum Operation {
    /// A worker looks for one task of a stage.
    Claim {
        stage: usize,
    },
    /// One of all claims ever given is ended, so that stale ones are tried as well.
    Finish {
        claim: prop::sample::Index,
        end: End,
    },
    Ask {
        item: usize,
        request: Request,
    },
    /// Every worker stops without a word.
    Crash,
    /// What is deferred or to be retried becomes due.
    Wait,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Next(usize),
    Defer,
    Retry,
    GiveUp,
    Fatal,
    Held,
    Succeeded,
    Released,
}

fn operation() -> impl Strategy<Value = Operation> {
    let end = prop_oneof![
        3 => (0..STAGES.len()).prop_map(End::Next),
        1 => Just(End::Defer),
        2 => Just(End::Retry),
        1 => Just(End::GiveUp),
        1 => Just(End::Fatal),
        1 => Just(End::Held),
        1 => Just(End::Succeeded),
        1 => Just(End::Released),
    ];
    let request = prop_oneof![
        2 => Just(Request::Hold),
        2 => Just(Request::Release),
        2 => Just(Request::Cancel),
        1 => Just(Request::Delete),
        2 => Just(Request::Requeue(None)),
        1 => (0..STAGES.len()).prop_map(|stage| Request::Requeue(Some(STAGES[stage]))),
    ];
    prop_oneof![
        5 => (0..STAGES.len()).prop_map(|stage| Operation::Claim { stage }),
        5 => (any::<prop::sample::Index>(), end).prop_map(|(claim, end)| Operation::Finish { claim, end }),
        3 => (0..ITEMS, request).prop_map(|(item, request)| Operation::Ask { item, request }),
        1 => Just(Operation::Crash),
        2 => Just(Operation::Wait),
    ]
}

/// The place of a stage among the others.
fn place(stage: Stage) -> Option<usize> {
    STAGES.iter().position(|one| *one == stage)
}

/// An item as the model knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    stage: Stage,
    status: ItemStatus,
    fence: i64,
    /// Whether a worker that has it was asked to let it end.
    asked: Option<ItemStatus>,
    /// Whether there is a hold on it.
    on_hold: bool,
    /// Attempts of its task that are spent.
    spent: u32,
    /// Whether its task waits for a time.
    sleeps: bool,
}

impl Known {
    fn rest(&mut self, status: ItemStatus) {
        (self.status, self.asked) = (status, None);
        // A hold outlasts a failure, and no other end.
        self.on_hold &= matches!(status, ItemStatus::Held | ItemStatus::Failed | ItemStatus::Pending);
    }

    /// What it is to be instead of beginning a stage.
    fn wanted(&mut self) -> Option<ItemStatus> {
        self.asked.take().or(self.on_hold.then_some(ItemStatus::Held))
    }

    fn go_on(&mut self, stage: Stage) {
        (self.stage, self.status, self.asked) = (stage, ItemStatus::Pending, None);
        (self.spent, self.sleeps) = (0, false);
    }

    /// A worker looks at its task: whether it gets the item.
    fn look(&mut self) -> bool {
        if self.spent == MAX_ATTEMPTS {
            self.rest(ItemStatus::Failed);
            self.fence += 1;
            return false;
        }
        (self.status, self.spent) = (ItemStatus::Started, self.spent + 1);
        self.fence += 1;
        true
    }

    fn end(&mut self, end: End) {
        let wanted = self.wanted();
        match (end, wanted) {
            (End::Fatal, _) | (End::GiveUp, None) => self.rest(ItemStatus::Failed),
            (End::Succeeded, _) => self.rest(ItemStatus::Succeeded),
            (End::Next(stage), Some(wanted)) => {
                self.stage = STAGES[stage];
                self.rest(wanted);
            }
            (_, Some(wanted)) => self.rest(wanted),
            (End::Next(stage), None) => self.go_on(STAGES[stage]),
            (End::Retry, None) if self.spent == MAX_ATTEMPTS => self.rest(ItemStatus::Failed),
            (End::Held, None) => {
                self.on_hold = true;
                self.rest(ItemStatus::Held);
            }
            (End::Retry, None) => (self.status, self.sleeps) = (ItemStatus::Pending, true),
            (End::Defer, None) => {
                (self.status, self.sleeps, self.spent) = (ItemStatus::Pending, true, self.spent - 1);
            }
            (End::Released, None) => (self.status, self.spent) = (ItemStatus::Pending, self.spent - 1),
        }
    }

    /// Whether the request is granted.
    fn ask(&mut self, request: Request) -> bool {
        use ItemStatus::{Cancelled, Deleted, Failed, Held, Pending, Started, Succeeded};
        match (request, self.status) {
            (Request::Hold, Started | Pending) if !self.on_hold => {
                self.on_hold = true;
                if self.status == Pending {
                    self.rest(Held);
                }
            }
            (Request::Cancel, Started) => self.asked = Some(Cancelled),
            (Request::Release, _) if self.on_hold => {
                self.on_hold = false;
                if self.status == Held {
                    self.go_on(self.stage);
                }
            }
            (Request::Cancel, Pending | Held) => self.rest(Cancelled),
            (Request::Delete, Pending | Held | Failed | Cancelled | Succeeded) => self.rest(Deleted),
            (Request::Requeue(wanted), Pending | Failed | Cancelled)
                if place(wanted.unwrap_or(self.stage)) <= place(self.stage) =>
            {
                self.go_on(wanted.unwrap_or(self.stage));
                if self.on_hold {
                    self.rest(Held);
                }
            }
            _ => return false,
        }
        true
    }

    fn has_task(&self) -> bool {
        matches!(self.status, ItemStatus::Pending | ItemStatus::Started)
    }
}

struct Run<'a> {
    world: &'a World<'a>,
    ids: Vec<ItemId>,
    known: Vec<Known>,
    claims: Vec<Claim>,
}

impl Run<'_> {
    fn place(&self, id: ItemId) -> usize {
        self.ids.iter().position(|known| *known == id).expect("one of ours")
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Claim { stage } => {
                let stage = STAGES[*stage];
                let leased = self.world.lease(1, stage, ITEMS).assignments;
                let given: BTreeSet<ItemId> = leased
                    .into_iter()
                    .map(|one| {
                        let (claim, _) = one.claimed.expect("a stage's task stands for an item");
                        let item = claim.item;
                        self.claims.push(claim);
                        item
                    })
                    .collect();
                let mut expected = BTreeSet::new();
                for (id, known) in self.ids.iter().zip(&mut self.known) {
                    let waits = known.status == ItemStatus::Pending && known.stage == stage && !known.sleeps;
                    if waits && known.look() {
                        expected.insert(*id);
                    }
                }
                assert_eq!(given, expected);
            }
            Operation::Finish { claim, end } => {
                if self.claims.is_empty() {
                    return;
                }
                let claim = claim.get(&self.claims).clone();
                let place = self.place(claim.item);
                let known = &mut self.known[place];
                let is_current = known.status == ItemStatus::Started && known.fence == claim.fence;
                let finished = self.world.try_finish(&claim, &self.world_end(*end));
                assert_eq!(finished.is_ok(), is_current, "{finished:?}");
                if is_current {
                    self.known[place].end(*end);
                }
            }
            Operation::Ask { item, request } => {
                let asked = self.world.ask(self.ids[*item], *request);
                assert_eq!(asked.is_ok(), self.known[*item].ask(*request), "{asked:?}");
            }
            Operation::Crash => {
                self.world.crash();
                for known in &mut self.known {
                    known.sleeps = false;
                    if known.status == ItemStatus::Started {
                        let wanted = known.wanted();
                        known.rest(wanted.unwrap_or(ItemStatus::Pending));
                    }
                }
            }
            Operation::Wait => {
                self.world.subject.advance(Duration::from_secs(30));
                self.known.iter_mut().for_each(|known| known.sleeps = false);
            }
        }
    }

    fn world_end(&self, end: End) -> StageEnd {
        let soon = self.world.later(Duration::from_secs(30));
        let note = "a note".to_owned();
        match end {
            End::Next(stage) => next(STAGES[stage]),
            End::Defer => StageEnd::Defer { until: soon, reason: WaitReason::Other, note },
            End::Retry => StageEnd::Transient { retry_at: soon, max_attempts: MAX_ATTEMPTS, note },
            End::GiveUp => StageEnd::Transient { retry_at: soon, max_attempts: 1, note },
            End::Fatal => fatal(),
            End::Held => StageEnd::Held { note },
            End::Succeeded => succeeded(),
            End::Released => StageEnd::Released { note },
        }
    }

    fn check(&self) {
        for (id, known) in self.ids.iter().zip(&self.known) {
            let item = self.world.find(*id);
            assert_eq!(
                (item.stage, item.status, item.fence, item.cancel_requested, item.is_on_hold),
                (known.stage, known.status, known.fence, known.asked, known.on_hold)
            );
            assert_eq!(
                item.holder.is_some(),
                item.status == ItemStatus::Started,
                "who holds it is named, and no other"
            );
            let topic = topic(known.stage);
            let tasks = self.world.topics(*id).into_iter().filter(|one| *one == topic).count();
            assert_eq!(tasks, usize::from(known.has_task()), "an open item has one task, and no other has any");
            let last = self.world.history(*id).pop().expect("a line");
            assert_eq!((last.stage, last.status), (item.stage, item.status), "the history tells where it is");
        }
    }
}

pub(crate) fn random_work_follows_the_model(make: impl Fn() -> Option<Box<dyn Subject>>) {
    let Some(subject) = make() else { return };
    // A statement costs far more where it travels to a server.
    let cases = if subject.registry().database().dialect() == "sqlite" { 48 } else { 10 };
    drop(subject);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(operations in prop::collection::vec(operation(), 1..60))| {
        let Some(subject) = make() else { return Ok(()) };
        let world = World::new(subject.as_ref());
        let ids: Vec<ItemId> = (0..ITEMS).map(|number| world.item_named(&format!("bag-{number}"))).collect();
        let fresh = Known {
            stage: Stage::named("receive"),
            status: ItemStatus::Pending,
            fence: 0,
            asked: None,
            on_hold: false,
            spent: 0,
            sleeps: false,
        };
        let mut run = Run { world: &world, known: vec![fresh; ids.len()], ids, claims: Vec::new() };
        for operation in &operations {
            run.apply(operation);
            run.check();
        }
    });
}
