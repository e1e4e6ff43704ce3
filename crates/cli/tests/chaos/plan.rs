//! Which acts a run consists of, and when: chosen by the seed alone, so that a run can be repeated. When an act meets
//! what the program is doing depends on the machine.

use strongroom_engine::background::TASKS;
use strongroom_ezid_double::Fault as EzidFault;
use strongroom_s3_double::{Fault, Operation};

use crate::acts::{Act, Harm, Held, Timed, Wish};
use crate::bags::{VARIANTS, slots};
use crate::chance::Chance;
use crate::deletion_plan::{self, Planned};
use crate::hook::HookFault;
use crate::late::Late;
use crate::options::{Database, Stores};
use crate::packages::{self, Package};
use crate::world::Equipment;

/// How many worker processes there are.
pub(crate) const WORKERS: usize = 2;
/// The lease of a task, in seconds: the shortest that the settings allow.
pub(crate) const LEASE: u64 = 5;
/// Packages that are no bags and that there are from the beginning.
const FIRST_PACKAGES: u64 = 4;
/// How long a run is, in seconds, in which deposits are made in peace first.
const LONG: u64 = 10;
/// Deletions that are requested in every run.
const FIRST_DELETIONS: u64 = 3;
/// The stores that keep bytes.
pub(crate) const PRESERVATION: [&str; 2] = ["primary", "secondary"];

const STAGES: [&str; 14] = [
    "receive",
    "estimate",
    "provision",
    "fetch",
    "validate",
    "resolve",
    "compare",
    "gather",
    "characterize",
    "write",
    "verify",
    "record",
    "notify",
    "cleanup",
];
/// Fail points that a worker may sleep at, or be killed at by itself, beside the begin and end of every stage.
const POINTS: [&str; 24] = [
    "batch.expand.begin",
    "batch.expand.page",
    "batch.expand.end",
    "ingest.resolve.chosen",
    "ingest.resolve.registered",
    "outbox.ezid.sent",
    "outbox.callback.sent",
    "batch.report.begin",
    "batch.report.end",
    "report.composed",
    "ingest.sweep.unstaged",
    "ingest.fetch.middle",
    "ingest.fetch.read",
    "ingest.write.middle",
    "ingest.record.committing",
    "ingest.record.marked",
    "ingest.record.middle",
    "ingest.record.published",
    "receiving.decide.end",
    "receiving.remove.begun",
    "receiving.remove.end",
    "fixity.check.quarantined",
    "fixity.check.replaced",
    "restoration.put.begun",
];
const OPERATIONS: [Operation; 9] = [
    Operation::HeadObject,
    Operation::GetObject,
    Operation::PutObject,
    Operation::PutObject,
    Operation::PutObject,
    Operation::DeleteObject,
    Operation::DeleteObjects,
    Operation::ListObjects,
    Operation::ListObjects,
];

/// A run as it is planned.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) database: Database,
    pub(crate) stores: Stores,
    pub(crate) seconds: u64,
    /// The only store in which copies are damaged: whatever is damaged has a good copy in the other.
    pub(crate) damaged: &'static str,
    pub(crate) max_attempts: u64,
    /// Whether objects get ARKs, registered with EZID.
    pub(crate) has_arks: bool,
    /// Deposits that are made in peace before anything else, so that people find something to delete; short runs do without them.
    pub(crate) first: Vec<Act>,
    pub(crate) acts: Vec<Timed>,
}

impl Plan {
    /// The plan of a seed.
    pub(crate) fn new(seed: u64, database: Database, stores: Stores, seconds: u64) -> Self {
        let mut chance = Chance::new(seed);
        let damaged = *chance.pick(&PRESERVATION);
        let max_attempts = *chance.pick(&[3, 5, 100]);
        let has_arks = chance.percent(50);
        let mut planner = Planner {
            chance,
            stores,
            has_arks,
            end: seconds * 1_000,
            first: Vec::new(),
            acts: Vec::new(),
            worker_free: [0; WORKERS],
            store_free: [0; PRESERVATION.len()],
            deposits: 0,
            deletions: 0,
        };
        planner.plan();
        let (mut acts, mut first) = (planner.acts, planner.first);
        if seconds < LONG {
            // They keep their numbers, and are made with everything else.
            acts.extend(first.drain(..).map(|act| Timed { at: 0, act }));
        }
        // Acts of one moment stay in the order in which they were planned.
        acts.sort_by_key(|timed| timed.at);
        Self { seed, database, stores, seconds, damaged, max_attempts, has_arks, first, acts }
    }

    /// What the run is made with.
    pub(crate) fn equipment(&self) -> Equipment {
        Equipment {
            name: format!("{}-{}-{}", self.seed, self.database, self.stores),
            database: self.database,
            stores: self.stores,
            max_attempts: self.max_attempts,
            has_arks: self.has_arks,
            settings: Vec::new(),
        }
    }
}

struct Planner {
    chance: Chance,
    stores: Stores,
    has_arks: bool,
    end: u64,
    first: Vec<Act>,
    acts: Vec<Timed>,
    /// From when on each worker and each store is as it should be.
    worker_free: [u64; WORKERS],
    store_free: [u64; PRESERVATION.len()],
    deposits: u64,
    deletions: u64,
}

impl Planner {
    fn add(&mut self, at: u64, act: Act) {
        self.acts.push(Timed { at, act });
    }

    fn plan(&mut self) {
        for worker in 0..WORKERS {
            self.start(worker, 0, None);
        }
        let count = slots().len();
        for package in Package::first(&mut self.chance) {
            self.deposits += 1;
            self.first.push(Act::Submit { number: self.deposits, package: Box::new(package) });
        }
        for slot in 0..count {
            self.deposits += 1;
            self.first.push(Act::Deposit { number: self.deposits, slot, variant: 0 });
        }
        // Something to work on from the beginning.
        for slot in 0..count {
            let at = self.chance.below(self.end / 3);
            self.deposit(at, slot);
        }
        for _ in 0..FIRST_PACKAGES {
            let at = self.chance.below(self.end / 3);
            let package = Package::any(&mut self.chance);
            self.submit(at, package);
        }
        let at = self.chance.below(self.end / 2);
        self.race(at);
        for _ in 0..FIRST_DELETIONS {
            let at = self.chance.between(self.end / 4, self.end);
            self.delete(at);
        }
        let mut at = 0;
        loop {
            at += self.chance.between(40, 320);
            if at >= self.end {
                return;
            }
            self.act(at);
        }
    }

    fn act(&mut self, at: u64) {
        match self.chance.below(108) {
            0..9 => {
                let slot = usize::try_from(self.chance.below(slots().len() as u64)).unwrap();
                self.deposit(at, slot);
            }
            9..18 => {
                let package = Package::any(&mut self.chance);
                self.submit(at, package);
            }
            18..20 => self.race(at),
            20..26 => {
                let slot = usize::try_from(self.chance.below(slots().len() as u64)).unwrap();
                let variant = usize::try_from(self.chance.below(VARIANTS as u64)).unwrap();
                self.add(at, Act::Upload { slot, variant });
            }
            26..40 => self.trouble_worker(at),
            40..58 => self.ask(at),
            58..62 => self.administer(at),
            62..64 => self.trouble_hook(at),
            64..69 => self.drop_late(at),
            69..74 => self.pause(at),
            84..86 if self.has_arks => self.trouble_ezid(at),
            74..86 => self.trouble_store(at),
            86..92 => {
                let pick = self.chance.next();
                let harm = *self.chance.pick(&[Harm::Flip, Harm::Cut, Harm::Delete]);
                let of_inventory = self.chance.percent(20);
                self.add(
                    at,
                    if of_inventory { Act::DamageInventory { pick, harm } } else { Act::Damage { pick, harm } },
                );
            }
            92..94 => self.add(at, Act::Fixity),
            94 => {
                let task = self.chance.pick(&TASKS).name;
                self.add(at, Act::Background { task });
            }
            95..98 => {
                let slots = slots();
                let of_bags = self.chance.percent(50);
                let object =
                    if of_bags { self.chance.pick(&slots).object } else { packages::any_object(&mut self.chance) };
                let object = object.to_owned();
                self.add(at, Act::Restore { object });
            }
            98 => self.add(at, Act::Reconcile),
            100..108 => self.delete(at),
            _ => self.add(at, Act::Backup),
        }
    }

    fn deposit(&mut self, at: u64, slot: usize) {
        let variant = usize::try_from(self.chance.below(VARIANTS as u64)).unwrap();
        self.deposits += 1;
        self.add(at, Act::Deposit { number: self.deposits, slot, variant });
    }

    fn submit(&mut self, at: u64, package: Package) {
        self.deposits += 1;
        self.add(at, Act::Submit { number: self.deposits, package: Box::new(package) });
        let later = at + self.chance.between(200, 2_000);
        self.add(later, Act::Release);
    }

    /// Deposits of one local identifier at the same moment.
    fn race(&mut self, at: u64) {
        for package in Package::racing(&mut self.chance) {
            self.submit(at, package);
        }
    }

    fn delete(&mut self, at: u64) {
        self.deletions += 1;
        let planned = Planned::any(&mut self.chance, self.deletions);
        // At times what is to be deleted is deposited again.
        let object = planned.targets[0].object.clone();
        let later = at + self.chance.between(200, 2_500);
        let slot = slots().iter().position(|slot| slot.object == object);
        if self.chance.percent(40) {
            if let Some(slot) = slot {
                self.deposit(later, slot);
            } else if let Some(package) = Package::of(&mut self.chance, &object) {
                self.submit(later, package);
            }
        }
        self.add(at, Act::Delete(Box::new(planned)));
    }

    fn trouble_ezid(&mut self, at: u64) {
        let fault = match self.chance.below(6) {
            0 | 1 => EzidFault::LoseReply,
            2 => EzidFault::LoseRequest,
            3 => EzidFault::CutReply,
            4 => EzidFault::Slow(std::time::Duration::from_millis(self.chance.between(50, 1_500))),
            _ => EzidFault::Answer(503, "error: temporarily unavailable".to_owned()),
        };
        let times = usize::try_from(self.chance.between(1, 5)).unwrap();
        self.add(at, Act::Ezid { fault, times });
    }

    /// Starts a worker with some fail points at which it sleeps or dies.
    fn start(&mut self, worker: usize, at: u64, largest: Option<u64>) {
        let mut slow = Vec::new();
        for _ in 0..self.chance.below(5) {
            let stage = *self.chance.pick(&STAGES);
            let point = match self.chance.below(3) {
                0 => format!("ingest.{stage}.begin"),
                1 => format!("ingest.{stage}.end"),
                _ => (*self.chance.pick(&POINTS)).to_owned(),
            };
            let percent = self.chance.between(10, 60);
            slow.push(if self.chance.percent(25) {
                format!("{point}={percent}%1*return")
            } else {
                // Longer than the lease is no crime: the heartbeat goes on meanwhile.
                format!("{point}={percent}%sleep({})", self.chance.between(50, 900))
            });
        }
        if self.chance.percent(60) {
            let point = *self.chance.pick(&deletion_plan::POINTS);
            let percent = self.chance.between(20, 100);
            slow.push(if self.chance.percent(40) {
                format!("{point}={percent}%1*return")
            } else {
                format!("{point}={percent}%sleep({})", self.chance.between(50, 900))
            });
        }
        self.add(at, Act::Start { worker, slow: slow.join(";"), largest });
    }

    fn trouble_worker(&mut self, at: u64) {
        let worker = usize::try_from(self.chance.below(WORKERS as u64)).unwrap();
        let kind = self.chance.below(100);
        let pause = self.chance.below(900);
        if at < self.worker_free[worker] {
            return;
        }
        self.worker_free[worker] = at + pause + 200;
        match kind {
            0..45 => {
                self.add(at, Act::Kill { worker });
                self.start(worker, at + pause, None);
            }
            45..80 => {
                let nap = LEASE * 1_000 + self.chance.between(300, 1_500);
                self.worker_free[worker] = at + nap + 500;
                self.add(at, Act::Sleep { worker });
                self.add(at + nap, Act::Wake { worker });
            }
            80..90 => {
                self.add(at, Act::Terminate { worker });
                self.start(worker, at + pause, None);
            }
            _ => {
                let full = self.chance.between(800, 2_500);
                let largest = self.chance.between(200, 4_000);
                self.worker_free[worker] = at + full + 500;
                self.add(at, Act::Kill { worker });
                self.start(worker, at, Some(largest));
                self.add(at + full, Act::Kill { worker });
                self.start(worker, at + full, None);
            }
        }
    }

    fn ask(&mut self, at: u64) {
        let deposit = if self.chance.percent(60) {
            // One of the last ones is likely to be at work.
            self.deposits.saturating_sub(self.chance.below(3))
        } else {
            1 + self.chance.below(self.deposits.max(1))
        };
        let stage = *self.chance.pick(&STAGES);
        let stage = self.chance.percent(70).then_some(stage);
        let later = at + self.chance.below(700);
        match self.chance.below(100) {
            0..45 => {
                self.add(at, Act::Ask { wish: Wish::Cancel, deposit });
                if self.chance.percent(80) {
                    self.add(later, Act::Ask { wish: Wish::Requeue(stage), deposit });
                }
            }
            45..75 => self.add(at, Act::Ask { wish: Wish::Requeue(stage), deposit }),
            _ => {
                let held = *self.chance.pick(&[Held::Item, Held::Item, Held::Batch, Held::Collection]);
                self.add(at, Act::Ask { wish: Wish::Hold(held), deposit });
                self.add(later, Act::Ask { wish: Wish::Release(held), deposit });
            }
        }
    }

    /// What people do with whole batches, and with what has ended.
    fn administer(&mut self, at: u64) {
        let deposit = 1 + self.chance.below(self.deposits.max(1));
        let wish = match self.chance.below(100) {
            0..30 => Wish::Report,
            30..50 => Wish::RequeueGroup,
            50..65 => Wish::Move(self.chance.below(100)),
            65..80 => Wish::CancelBatch,
            80..92 => Wish::Delete,
            _ => Wish::DeleteBatch,
        };
        self.add(at, Act::Ask { wish, deposit });
    }

    fn trouble_hook(&mut self, at: u64) {
        let times = usize::try_from(self.chance.between(1, 5)).unwrap();
        let fault = match self.chance.below(4) {
            0 => HookFault::Fails(times),
            1 => HookFault::Silent(times),
            2 => HookFault::Refuses(times),
            _ => HookFault::Slow,
        };
        self.add(at, Act::Hook(fault));
    }

    /// See [`Late`].
    fn drop_late(&mut self, at: u64) {
        let late = ["write", "verify", "record"];
        let stage = *self.chance.pick(&["write", "verify", "record", "record"]);
        self.add(at, Act::Pause { topic: format!("ingest.{stage}") });
        let slot = usize::try_from(self.chance.below(slots().len() as u64)).unwrap();
        // So that one comes there.
        self.deposit(at + 10, slot);
        let (store, is_full) = (*self.chance.pick(&PRESERVATION), self.chance.percent(60));
        let failing = self.chance.percent(75).then_some((store, is_full));
        let pause = self.chance.between(100, 1_200);
        let is_healed_first = self.chance.percent(50);
        let from = [late[0], late[1], late[2], stage, stage, stage, "compare"];
        let requeued_for = (0..self.chance.between(1, 4)).map(|_| *self.chance.pick(&from)).collect();
        let late = Late { stage, failing, pause, is_healed_first, requeued_for };
        self.add(at + 20, Act::DropLate(late));
    }

    fn pause(&mut self, at: u64) {
        let stage = *self.chance.pick(&STAGES);
        let topic = match self.chance.below(10) {
            0..2 => "ingest.sweep".to_owned(),
            2 => "batch.report".to_owned(),
            3 => "batch.expand".to_owned(),
            4 => format!("ingest.{}.remote", self.chance.pick(&["receive", "estimate", "fetch"])),
            _ => format!("ingest.{stage}"),
        };
        let later = at + self.chance.between(200, 2_000);
        self.add(at, Act::Pause { topic: topic.clone() });
        self.add(later, Act::Resume { topic });
    }

    fn trouble_store(&mut self, at: u64) {
        let which = usize::try_from(self.chance.below(PRESERVATION.len() as u64)).unwrap();
        let store = PRESERVATION[which];
        let is_s3 = self.stores == Stores::S3 || (self.stores == Stores::Both && store == "secondary");
        if is_s3 && self.chance.percent(60) {
            for _ in 0..self.chance.between(1, 5) {
                let operation = *self.chance.pick(&OPERATIONS);
                let nth = self.chance.between(1, 30);
                let fault = match self.chance.below(5) {
                    0 => Fault::Refuse(503),
                    1 | 2 => Fault::RefuseAfter,
                    3 => Fault::Torn { after: self.chance.below(500) },
                    _ => Fault::Late(std::time::Duration::from_millis(self.chance.between(50, 1_500))),
                };
                self.add(at, Act::Flaw { store, operation, nth, fault });
            }
            return;
        }
        let long = self.chance.between(300, 2_500);
        let is_full = self.chance.percent(50);
        if at < self.store_free[which] {
            return;
        }
        self.store_free[which] = at + long + 100;
        self.add(at, if is_full { Act::Full { store } } else { Act::Away { store } });
        self.add(at + long, Act::Heal { store });
    }
}
