//! Carries out the acts of a plan, each at its time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use crate::acts::{Act, Held, Wish};
use crate::bags::Bag;
use crate::commands::{Answered, Commands, Continuation};
use crate::deletions::{Deletion, Named};
use crate::late::Underway;
use crate::packages::{Layout, Package, Sent};
use crate::plan::{Plan, WORKERS};
use crate::promises::text;
use crate::workers::Workers;
use crate::world::{COLLECTION, INSTITUTION, World};

/// What each worker process runs: one also what is due by the clock.
const RUNS: [&[&str]; WORKERS] = [&["serve"], &["work"]];

/// A deposit that was asked for.
#[derive(Debug)]
pub(crate) struct Deposit {
    /// As planned.
    pub(crate) number: u64,
    pub(crate) what: Deposited,
    /// Its work item, once it is known.
    pub(crate) item: Option<String>,
    /// Its batch, once it is known.
    pub(crate) batch: Option<String>,
    /// From when to when the command ran, once it has succeeded.
    pub(crate) submitted: Option<(Instant, Instant)>,
}

/// What was deposited.
#[derive(Debug)]
pub(crate) enum Deposited {
    /// Into [`Cast::bags`].
    Bag(usize, usize),
    Package(Box<Sent>),
}

/// What the note of a package's deposit begins with; its number follows.
pub(crate) const NOTE: &str = "deposit ";

/// What came into the receiving store under one name, the last one last.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) bag: (usize, usize),
}

/// Everything that takes part in a run.
pub(crate) struct Cast {
    pub(crate) world: World,
    /// By slot and variant.
    pub(crate) bags: Vec<Vec<Bag>>,
    pub(crate) deposits: Vec<Deposit>,
    pub(crate) uploads: Vec<Upload>,
    /// Dead tasks that were brought back once.
    pub(crate) retried: BTreeSet<String>,
    /// Promises that were broken.
    pub(crate) findings: Vec<String>,
    /// Items that failed as they had to, and were deleted then.
    pub(crate) failed_rightly: BTreeSet<String>,
    pub(crate) late: Option<Underway>,
    pub(crate) deletions: Vec<Deletion>,
    /// What requests for deletion name, by their reasons.
    pub(crate) requested: BTreeMap<String, Named>,
    /// How often each was tried to be approved at the end.
    pub(crate) approvals: BTreeMap<String, u64>,
    pub(crate) damaged: &'static str,
    pub(crate) seed: u64,
    pub(crate) workers: Workers,
    commands: Commands,
    /// Those about deletions, which do not wait for the others.
    pub(crate) about_deletions: Commands,
    folders: usize,
}

impl Cast {
    pub(crate) fn new(world: World, bags: Vec<Vec<Bag>>, plan: &Plan) -> Self {
        Self {
            world,
            bags,
            deposits: Vec::new(),
            uploads: Vec::new(),
            retried: BTreeSet::new(),
            findings: Vec::new(),
            failed_rightly: BTreeSet::new(),
            late: None,
            deletions: Vec::new(),
            requested: BTreeMap::new(),
            approvals: BTreeMap::new(),
            damaged: plan.damaged,
            seed: plan.seed,
            workers: Workers::new(&RUNS),
            commands: Commands::new("command"),
            about_deletions: Commands::new("deletion"),
            folders: 0,
        }
    }

    /// Carries out the whole plan.
    pub(crate) fn perform(&mut self, plan: &Plan) -> Result<()> {
        self.prepare(plan)?;
        let began = Instant::now();
        for timed in &plan.acts {
            let at = Duration::from_millis(timed.at);
            while began.elapsed() < at {
                self.serve_commands()?;
                self.restart_lost()?;
                self.step_late()?;
                self.step_deletions();
                // Not a wait for anything: the moment is the point.
                let left = at.saturating_sub(began.elapsed());
                std::thread::sleep(left.min(Duration::from_millis(10)));
            }
            self.act(&timed.act).with_context(|| format!("{:?}", timed.act))?;
        }
        while !self.is_idle() || self.late.is_some() {
            self.serve_commands()?;
            self.restart_lost()?;
            self.step_late()?;
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Makes the first deposits while nothing is wrong.
    fn prepare(&mut self, plan: &Plan) -> Result<()> {
        if plan.first.is_empty() {
            return Ok(());
        }
        self.workers.start_all(&self.world)?;
        for act in &plan.first {
            self.act(act)?;
        }
        loop {
            self.serve_commands()?;
            let items = self.world.run(["items", "list", "--json"])?.succeeded()?.json()?;
            let have_ended = items.iter().all(|item| ["succeeded", "failed"].contains(&text(item, "status")));
            if self.is_idle() && have_ended {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
        self.world.log("the first deposits are made");
        self.workers.kill_all(&mut self.world)
    }

    fn restart_lost(&mut self) -> Result<()> {
        self.workers.restart_lost(&mut self.world, "")
    }

    fn act(&mut self, act: &Act) -> Result<()> {
        match act {
            Act::Ask { .. } | Act::Damage { .. } | Act::DamageInventory { .. } | Act::Release => {}
            _ => self.world.log(format!("{act:?}")),
        }
        match act {
            Act::Start { worker, slow, largest } => self.workers.start(&self.world, *worker, slow, *largest)?,
            Act::Kill { worker } => self.workers.kill(&mut self.world, *worker)?,
            Act::Terminate { worker } => self.workers.terminate(&mut self.world, *worker)?,
            Act::Sleep { worker } => self.workers.signal(*worker, Signal::STOP)?,
            Act::Wake { worker } => self.workers.signal(*worker, Signal::CONT)?,
            Act::Deposit { number, slot, variant } => self.deposit(*number, *slot, *variant)?,
            Act::Submit { number, package } => self.submit(*number, package)?,
            Act::Release => {
                self.world.web.release();
                self.world.hook.release();
            }
            Act::Hook(fault) => self.world.hook.fail(*fault),
            Act::Ezid { fault, times } => {
                if let Some(double) = &self.world.ezid {
                    double.plan(fault, *times);
                }
            }
            Act::Upload { slot, variant } => self.upload(*slot, *variant)?,
            Act::Ask { wish, deposit } => self.ask_of_item(*wish, *deposit),
            Act::DropLate(late) => match &self.late {
                None => self.late = Some(Underway::new(late.clone())),
                // The end of the other one resumes its own topic only.
                Some(_) => self.ask(&["queue", "resume", &format!("ingest.{}", late.stage)]),
            },
            Act::Pause { topic } => self.ask(&["queue", "pause", topic]),
            Act::Resume { topic } => self.ask(&["queue", "resume", topic]),
            Act::Away { store } => self.world.take_away(store)?,
            Act::Full { store } => self.world.fill(store)?,
            Act::Heal { store } => self.world.heal(store)?,
            Act::Flaw { store, operation, nth, fault } => {
                if let Some(double) = self.world.doubles.get(*store) {
                    double.plan(*operation, *nth, *fault);
                }
            }
            Act::Damage { pick, harm } => {
                let found = self.world.damage(self.damaged, *pick, *harm)?;
                self.world.log(format!("{harm:?} in {}: {}", self.damaged, found.as_deref().unwrap_or("nothing yet")));
            }
            Act::DamageInventory { pick, harm } => {
                let found = self.world.damage_inventory(self.damaged, *pick, *harm)?;
                self.world.log(format!("{harm:?} in {}: {}", self.damaged, found.as_deref().unwrap_or("nothing yet")));
            }
            Act::Fixity => self.ask(&["fixity", "run", "--all", "--json"]),
            Act::Background { task } => self.ask(&["background", "run", task, "--json"]),
            Act::Restore { object } => {
                self.folders += 1;
                let folder = format!("restored-{}", self.folders);
                fs::create_dir_all(self.world.path(&folder))?;
                self.ask(&["restore", "object", &format!("{INSTITUTION}/{object}"), "--to", &folder]);
            }
            Act::Delete(planned) => self.deletions.push(Deletion::new((**planned).clone())),
            Act::Reconcile => self.ask(&["store", "reconcile", "--json"]),
            Act::Backup => {
                self.folders += 1;
                self.ask(&["backup", &format!("backup-{}", self.folders)]);
            }
        }
        Ok(())
    }

    fn deposit(&mut self, number: u64, slot: usize, variant: usize) -> Result<()> {
        let tar = self.bags[slot][variant].tar.to_string_lossy().into_owned();
        self.submitted(number, Deposited::Bag(slot, variant), &["deposit", &tar, "--collection", COLLECTION, "--json"])
    }

    fn submit(&mut self, number: u64, package: &Package) -> Result<()> {
        let (name, note) = (format!("packages/{number}"), format!("{NOTE}{number}"));
        let folder = self.world.path(&name);
        let prefix = format!("/{number}");
        let layout = Layout { web: &self.world.web, seed: self.seed, folder: &folder, prefix };
        let (sent, how) = layout.lay(package).with_context(|| format!("cannot lay out {package:?}"))?;
        let mut arguments = vec!["deposit", "--json", "--collection", COLLECTION, "--note", &note];
        arguments.extend(how.iter().map(String::as_str));
        self.submitted(number, Deposited::Package(Box::new(sent)), &arguments)
    }

    fn submitted(&mut self, number: u64, what: Deposited, arguments: &[&str]) -> Result<()> {
        self.deposits.push(Deposit { number, what, item: None, batch: None, submitted: None });
        self.commands.ask(arguments, Continuation::Deposit(self.deposits.len() - 1));
        self.serve_commands()
    }

    /// As a client does it: under another name first.
    fn upload(&mut self, slot: usize, variant: usize) -> Result<()> {
        let bag = &self.bags[slot][variant];
        let name = format!("{}.tar", bag.slot.bag_name());
        if let Some(double) = self.world.doubles.get("receiving") {
            double.lay(&format!("{INSTITUTION}/{name}"), &fs::read(&bag.tar)?);
        } else {
            let folder = self.world.path("home/stores/receiving").join(INSTITUTION);
            fs::copy(&bag.tar, folder.join(format!(".{name}")))?;
            fs::rename(folder.join(format!(".{name}")), folder.join(&name))?;
        }
        self.uploads.push(Upload { bag: (slot, variant) });
        Ok(())
    }

    fn ask_of_item(&mut self, wish: Wish, deposit: u64) {
        let made = self.deposits.iter().filter(|made| made.number <= deposit && made.item.is_some());
        let known = made.max_by_key(|made| made.number);
        let Some((item, batch)) = known.and_then(|made| Some((made.item.clone()?, made.batch.clone()?))) else {
            self.world.log(format!("{wish:?} of deposit {deposit}: it is not known yet"));
            return;
        };
        self.world.log(format!("{wish:?} of {item}"));
        match wish {
            Wish::Cancel => self.ask(&["items", "cancel", &item]),
            Wish::Hold(Held::Item) => self.ask(&["items", "hold", &item]),
            Wish::Release(Held::Item) => self.ask(&["items", "release", &item]),
            Wish::Hold(Held::Batch) => self.ask(&["batches", "hold", &batch, "--reason", "chaos"]),
            Wish::Release(Held::Batch) => self.ask(&["batches", "release", &batch]),
            Wish::Hold(Held::Collection) => {
                self.ask(&["collection", "hold", COLLECTION, "--institution", INSTITUTION]);
            }
            Wish::Release(Held::Collection) => {
                self.ask(&["collection", "release", COLLECTION, "--institution", INSTITUTION]);
            }
            Wish::RequeueGroup => self.ask(&["items", "requeue", "--batch", &batch]),
            Wish::Delete => self.ask(&["items", "delete", &item]),
            Wish::CancelBatch => self.ask(&["batches", "cancel", &batch]),
            Wish::DeleteBatch => self.ask(&["batches", "delete", &batch]),
            Wish::Move(priority) => self.ask(&["items", "move", &item, "--priority", &priority.to_string()]),
            Wish::Report => self.ask(&["batches", "report", &batch, "--update"]),
            Wish::Requeue(None) => self.ask(&["items", "requeue", &item]),
            Wish::Requeue(Some(stage)) => self.ask(&["items", "requeue", &item, "--stage", stage]),
        }
    }

    /// Whether no command of a person runs or waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.commands.is_idle() && self.about_deletions.is_idle()
    }

    /// Has a command run beside what else goes on, as soon as no more than some run.
    pub(crate) fn ask(&mut self, arguments: &[&str]) {
        self.commands.ask(arguments, Continuation::None);
    }

    /// Takes in the answers there are, and starts commands that wait.
    pub(crate) fn serve_commands(&mut self) -> Result<()> {
        let mut answered = self.commands.serve(&mut self.world)?;
        answered.extend(self.about_deletions.serve(&mut self.world)?);
        for answered in answered {
            self.take_in(&answered);
        }
        Ok(())
    }

    fn take_in(&mut self, answered: &Answered) {
        match answered.continuation {
            Continuation::None => {}
            Continuation::Deletion(deletion, question) => self.answer_deletion(deletion, question, &answered.answer),
            Continuation::Deposit(deposit) => {
                if let Some(line) = answered.answer.json().unwrap_or_default().first()
                    && let Some(item) = line["item"].as_str()
                {
                    self.deposits[deposit].item = Some(item.to_owned());
                    self.deposits[deposit].batch = line["batch"].as_str().map(str::to_owned);
                    self.deposits[deposit].submitted = Some((answered.began, Instant::now()));
                }
            }
        }
    }
}
