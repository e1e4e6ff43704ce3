//! Processes of the engine, disturbed at every operation: what is published in the end is whole in every store, and what is
//! not published leaves nothing.
//!
//! Two engines share the stores and the registry's file, as two processes would, under a clock that tests move. The first
//! stops at an operation, or it fails there; something happens; then it goes on with what it was about to do.
//!
//! A deletion deletes everything or nothing: what was deleted is in no store, and what was not is whole.
//!
//! By default every operation that changes a store and every write transaction of a first version in folders is met by
//! take-over, cancellation and failure, every one of a restoration by everything, and a sample of the rest by everything.
//! With `STRONGROOM_INTERLEAVINGS=changes` every one of them is met by everything; with `STRONGROOM_INTERLEAVINGS=all`
//! reading operations and the ends of puts are stops, too.

mod check;
mod database;
mod deleting;
mod deposits;
mod disturbing;
mod expected;
#[cfg(feature = "failpoints")]
mod faults;
mod gate;
mod house;
#[path = "../suite/installation.rs"]
mod installation;
mod process;
mod workers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use strongroom_engine::Home;
use strongroom_engine::ingest::{sweep_assemblies, sweep_staging};
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::{ItemId, ItemStatus};

use disturbing::requeue;
use expected::Expected;
use gate::{Event, Gate};
use house::{House, Kind, Subject, Template};
use process::{Disturbance, End, Process, ingest};
use workers::{Sleeper, work};

/// Whether operations of stores that only read are stops, too.
pub(crate) fn stops_at_reads() -> bool {
    std::env::var_os("STRONGROOM_INTERLEAVINGS").is_some_and(|value| value == "all")
}

/// Whether no operation is left out at which a process stops.
fn leaves_nothing_out() -> bool {
    stops_at_reads() || std::env::var_os("STRONGROOM_INTERLEAVINGS").is_some_and(|value| value == "changes")
}

/// Faults that are put back are put back for the whole process: meanwhile nothing else is searched.
static FAULTS: RwLock<()> = RwLock::new(());

/// A process over stores of a kind, disturbed once.
struct Run<'t> {
    process: Process,
    template: &'t Template,
    disturbance: Disturbance,
    operation: &'t str,
}

impl Run<'_> {
    /// Everything that is wrong in the end.
    fn problems(&self) -> Vec<String> {
        let house = self.template.copy("disturbed");
        let mut problems = match self.disturbance {
            Disturbance::Fail => self.failing(&house, Event::Fail),
            Disturbance::LoseAnswer => self.failing(&house, Event::LoseAnswer),
            _ => self.stopping(&house),
        };
        house.expire_leases();
        let last = house.engine(None, house.clock());
        problems.extend(work(&house, &last, &house.subject).err());
        problems.extend(self.clear_up(&house, &last));
        // What a woken worker put under its own name is garbage, which goes by the sweeps that every start makes.
        problems.extend(sweep_staging(&last, &Shutdown::new()).err().map(|error| error.chain()));
        problems.extend(sweep_assemblies(&last, &Shutdown::new()).err().map(|error| error.chain()));
        self.check_end(&house, &last, &mut problems);
        problems
    }

    /// What is done in the end, so that the object is whole in every store again.
    fn clear_up(&self, house: &House, home: &Arc<Home>) -> Vec<String> {
        let mut problems = Vec::new();
        let status = status(house, home);
        if self.process == Process::Healing && status == Some(ItemStatus::Cancelled) {
            // What was lost is still lost; the next deposit brings it back.
            ingest(house, 1);
        }
        if status == Some(ItemStatus::Failed) && self.may_fail() {
            problems.extend(requeue(house, home).err());
        }
        for item in others(house) {
            problems.extend(work(house, home, &Subject::from(item)).err());
        }
        if self.process.deletes().is_some()
            || matches!(self.disturbance, Disturbance::Delete | Disturbance::DeleteFiles)
        {
            problems.extend(disturbing::finish_deletions(home).err());
        }
        if self.disturbance == Disturbance::Check {
            problems.extend(disturbing::check(home).err());
        }
        if self.process.lacks_copies() {
            problems.extend(disturbing::fill(home).err());
        }
        problems
    }

    /// Whether the item may fail by the disturbance and has to succeed when it is requeued.
    fn may_fail(&self) -> bool {
        use Disturbance::{Check, Fail, LoseAnswer, Restore};
        let is_met = matches!(self.disturbance, Fail | LoseAnswer | Check | Restore);
        is_met && self.process.end(self.disturbance) == End::Succeeded
    }

    fn check_end(&self, house: &House, home: &Home, problems: &mut Vec<String>) {
        let status = status(house, home);
        if let (Some(item), Some(status)) = (house.subject.item, status)
            && !self.process.end(self.disturbance).allows(status)
        {
            let item = house::item(home, item);
            problems.push(format!("the item is {status} at {}: {:?}", item.stage, item.note));
        }
        let mut expected = self.process.expected(status, self.disturbance);
        let mut restorations = Vec::new();
        for item in others(house) {
            let is_kept = house::item(home, item).status == ItemStatus::Succeeded;
            match self.disturbance {
                Disturbance::Delete if is_kept => expected = expected.deleted(),
                Disturbance::DeleteFiles if is_kept => expected = expected.without_files(),
                Disturbance::Restore => restorations.push(item),
                _ => {}
            }
        }
        if self.process == Process::Restoration {
            restorations.extend(house.subject.item);
        }
        let before = Expected::of_versions([(house.payload)(2)]);
        let after = before.clone().without_files();
        let files = |expected: &Expected| expected.generations[0].versions[0].clone();
        for item in restorations {
            problems.extend(check::restored(house, home, item, &[&files(&before), &files(&after)]));
        }
        problems.extend(check::problems(house, home, &expected, self.disturbance == Disturbance::Restore));
    }

    /// The operation fails once, and the same engine goes on.
    fn failing(&self, house: &House, event: Event) -> Vec<String> {
        let gate = Gate::at(self.operation, event);
        let engine = house.engine(Some(&gate), house.clock());
        let mut problems: Vec<String> = work(house, &engine, &house.subject).err().into_iter().collect();
        if !gate.is_reached() {
            problems.push("the operation was not reached".to_owned());
        }
        problems
    }

    /// The engine stops before the operation while others act.
    fn stopping(&self, house: &House) -> Vec<String> {
        let is_cut = matches!(self.disturbance, Disturbance::PowerCut(_));
        let gate = Gate::at(self.operation, if is_cut { Event::Die } else { Event::Sleep });
        let clock = house.clock();
        let first = house.engine(Some(&gate), clock.clone());
        let sleeper = Sleeper::new();
        let is_over = AtomicBool::new(false);
        let mut problems = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleeper.work(&first, &house.subject);
                is_over.store(true, Ordering::SeqCst);
            });
            if !gate.wait(|| is_over.load(Ordering::SeqCst)) {
                problems.push("the operation was not reached".to_owned());
            } else if !is_cut {
                clock.stand_still();
                house.expire_leases();
                problems.extend(disturbing::act(self.process, self.disturbance, house).err());
                clock.go_on();
                gate.wake();
            }
            sleeper.let_go();
        });
        if let Disturbance::PowerCut(loss) = self.disturbance {
            house.cut(loss);
        }
        problems
    }
}

/// The work items that the disturbance has made.
fn others(house: &House) -> Vec<ItemId> {
    house.others.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// How the subject's item has ended; none where it is no item.
fn status(house: &House, home: &Home) -> Option<ItemStatus> {
    house.subject.item.map(|item| house::item(home, item).status)
}

/// The names of all operations of a process that nobody disturbs.
fn operations(process: Process, template: &Template) -> Vec<String> {
    let house = template.copy("undisturbed");
    let gate = Gate::open();
    let engine = house.engine(Some(&gate), house.clock());
    let sleeper = Sleeper::new();
    sleeper.work(&engine, &house.subject);
    let passed = gate.passed();
    let expected = process.expected(status(&house, &engine), Disturbance::TakeOver);
    let mut problems = Vec::new();
    if process.lacks_copies() {
        problems.extend(disturbing::fill(&engine).err());
    }
    problems.extend(check::problems(&house, &engine, &expected, false));
    assert!(problems.is_empty(), "{process:?} alone: {problems:?}");
    passed
}

/// How many of the operations of a process are disturbed in a way, unless nothing is left out: one of so many.
fn one_of(process: Process, kind: Kind, disturbance: Disturbance) -> usize {
    use Disturbance::{Cancel, Fail, TakeOver};
    match (process, kind, disturbance) {
        _ if leaves_nothing_out() => 1,
        (Process::FirstVersion, Kind::Folders, TakeOver | Cancel | Fail) | (Process::Restoration, ..) => 1,
        (_, Kind::Folders, _) if process == Process::Filling || process.deletes().is_some() => 24,
        (_, Kind::Buckets, _) if process == Process::Filling || process.deletes().is_some() => 48,
        (_, Kind::Folders, _) => 16,
        (_, Kind::Buckets, _) => 32,
    }
}

fn search(process: Process, kind: Kind) {
    let _whole = FAULTS.read().unwrap_or_else(PoisonError::into_inner);
    let template = process.prepare(kind);
    let operations = operations(process, &template);
    let mut wrong = Vec::new();
    let mut runs = 0;
    for (turn, disturbance) in process.disturbances(kind).into_iter().enumerate() {
        let one_of = one_of(process, kind, disturbance);
        // Each disturbance begins elsewhere, so that together they meet more operations.
        for operation in operations.iter().skip(turn % one_of).step_by(one_of) {
            runs += 1;
            let problems = Run { process, template: &template, disturbance, operation }.problems();
            if !problems.is_empty() {
                eprintln!("{disturbance:?} at {operation}: {}", problems.join("; "));
                wrong.push(format!("{disturbance:?} at {operation}: {}", problems.join("; ")));
            }
        }
    }
    println!("{process:?} in {kind:?}: {} operations, {runs} disturbances", operations.len());
    assert!(wrong.is_empty(), "{process:?} in {kind:?}, {} of {runs}:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! interleavings {
    ($($name:ident: $process:ident in $kind:ident;)*) => {$(
        #[test]
        fn $name() {
            search(Process::$process, Kind::$kind);
        }
    )*};
}

interleavings! {
    a_first_version_in_folders: FirstVersion in Folders;
    a_second_version_in_folders: SecondVersion in Folders;
    a_deposit_that_heals_in_folders: Healing in Folders;
    a_discarded_version_in_folders: Discarding in Folders;
    a_repair_in_folders: Repair in Folders;
    a_restoration_from_folders: Restoration in Folders;
    a_filled_store_in_folders: Filling in Folders;
    an_object_deletion_in_folders: ObjectDeletion in Folders;
    a_file_deletion_in_folders: FileDeletion in Folders;
    a_deletion_of_an_object_that_a_store_lacks_in_folders: LackingObjectDeletion in Folders;
    a_deletion_of_files_that_a_store_lacks_in_folders: LackingFileDeletion in Folders;
    a_deletion_of_an_object_that_changed_in_folders: ChangedObjectDeletion in Folders;
    a_first_version_in_buckets: FirstVersion in Buckets;
    a_second_version_in_buckets: SecondVersion in Buckets;
    a_deposit_that_heals_in_buckets: Healing in Buckets;
    a_discarded_version_in_buckets: Discarding in Buckets;
    a_repair_in_buckets: Repair in Buckets;
    a_restoration_from_buckets: Restoration in Buckets;
    a_filled_store_in_buckets: Filling in Buckets;
    an_object_deletion_in_buckets: ObjectDeletion in Buckets;
    a_file_deletion_in_buckets: FileDeletion in Buckets;
    a_deletion_of_an_object_that_a_store_lacks_in_buckets: LackingObjectDeletion in Buckets;
    a_deletion_of_files_that_a_store_lacks_in_buckets: LackingFileDeletion in Buckets;
    a_deletion_of_an_object_that_changed_in_buckets: ChangedObjectDeletion in Buckets;
}
