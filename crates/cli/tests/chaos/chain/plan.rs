//! What a run of a chain consists of: chosen by the seed alone, so that a run can be repeated.

use std::fmt;

use super::source::Size;
use crate::acts::Timed;
use crate::chance::Chance;
use crate::options::{Database, Stores};
use crate::plan::LEASE;
use crate::world::Equipment;

/// How many worker processes there are.
pub(super) const WORKERS: usize = 3;
/// Activities in both chains.
pub(super) const ACTIVITIES: usize = 8;
/// Those in which records fail: the harvests, and the tool.
const FAILING: [usize; 3] = [0, 4, 5];
/// Fail points at which a worker may be killed by itself.
const POINTS: [&str; 5] =
    ["activity.begin", "activity.population", "activity.page", "activity.claimed", "activity.committed"];
/// How long a worker sleeps at a record, and between two pages of a source, where it does.
const NAP: u64 = 20;
/// Tasks that all processes work on at the same time.
const AT_ONCE: u64 = 2 * WORKERS as u64;

/// What a person asks of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Pause,
    Resume,
    RetryFailed,
    Restart,
    Show,
}

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// With fail points at which it sleeps or is killed.
    Start { worker: usize, points: String },
    /// SIGKILL.
    Kill { worker: usize },
    /// SIGTERM.
    Terminate { worker: usize },
    /// SIGSTOP.
    Sleep { worker: usize },
    /// SIGCONT.
    Wake { worker: usize },
    /// A command of a person about one of the activities.
    Ask { wish: Wish, activity: usize },
    /// A background task is run at once.
    Background { task: &'static str },
    /// The sources and the tool are put right.
    Mend,
}

/// A run as it is planned.
#[derive(Debug, Clone)]
pub(crate) struct ChainPlan {
    pub(crate) seed: u64,
    pub(super) database: Database,
    pub(super) size: Size,
    /// How long acts go on; none in a run that nothing disturbs.
    pub(super) seconds: u64,
    pub(crate) acts: Vec<Timed<Act>>,
}

impl fmt::Display for ChainPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, database, size, .. } = self;
        write!(out, "chains of {} and {} records on {database} with seed {seed}", size.records, size.share)
    }
}

impl ChainPlan {
    /// The plan of a seed.
    pub(crate) fn new(seed: u64, database: Database, size: Size, seconds: u64) -> Self {
        let mut planner = Planner {
            chance: Chance::new(seed),
            pace: pace(size, seconds),
            free: [0; WORKERS],
            kills: 0,
            acts: Vec::new(),
        };
        planner.plan(seconds * 1_000);
        let mut acts = planner.acts;
        // Acts of one moment stay in the order in which they were planned.
        acts.sort_by_key(|timed| timed.at);
        Self { seed, database, size, seconds, acts }
    }

    /// A run that nothing disturbs.
    pub(super) fn undisturbed(size: Size) -> Self {
        Self { seed: 0, database: Database::Sqlite, size, seconds: 0, acts: Vec::new() }
    }

    /// The fail points by which work on the chains takes about as long as acts go on, whatever the machine.
    pub(super) fn pace(&self) -> String {
        pace(self.size, self.seconds)
    }

    /// What the run is made with.
    pub(super) fn equipment(&self, settings: Vec<(&'static str, String)>) -> Equipment {
        let kind = if self.acts.is_empty() { "undisturbed" } else { "chain" };
        Equipment {
            name: format!("{kind}-{}-{}-{}", self.seed, self.database, self.size.records),
            database: self.database,
            stores: Stores::Folders,
            max_attempts: 3,
            has_arks: false,
            settings,
        }
    }
}

fn pace(size: Size, seconds: u64) -> String {
    // Of the first chain three activities of four process record by record.
    let of_hundred = (seconds * 1_000 * AT_ONCE * 100).div_ceil(3 * size.records * NAP).min(100);
    format!("activity.processed={of_hundred}%sleep({NAP});activity.page=50%sleep({NAP})")
}

struct Planner {
    chance: Chance,
    pace: String,
    /// From when on each worker is as it should be.
    free: [u64; WORKERS],
    kills: u64,
    acts: Vec<Timed<Act>>,
}

impl Planner {
    fn add(&mut self, at: u64, act: Act) {
        self.acts.push(Timed { at, act });
    }

    fn plan(&mut self, end: u64) {
        for worker in 0..WORKERS {
            self.start(worker, 0);
        }
        let mended = self.chance.between(end / 4, end);
        self.add(mended, Act::Mend);
        let mut at = 0;
        loop {
            at += self.chance.between(60, 350);
            if at >= end {
                return;
            }
            let worker = usize::try_from(self.chance.below(WORKERS as u64)).unwrap();
            match self.chance.below(100) {
                0..60 => self.trouble(worker, at),
                60..96 => self.ask(at),
                _ => self.add(at, Act::Background { task: "activities" }),
            }
        }
    }

    fn start(&mut self, worker: usize, at: u64) {
        let mut points = self.pace.clone();
        if self.chance.percent(30) {
            let (point, of_hundred) = (*self.chance.pick(&POINTS), self.chance.between(2, 30));
            // The later one of two that name the same point is the one that counts.
            points = format!("{points};{point}={of_hundred}%1*return");
        }
        self.add(at, Act::Start { worker, points });
    }

    fn trouble(&mut self, worker: usize, at: u64) {
        let (kind, away) = (self.chance.below(100), self.chance.between(20, 600));
        if at < self.free[worker] {
            return;
        }
        self.free[worker] = at + away + 200;
        match kind {
            // Kills are what it is about: no run is without one.
            _ if self.kills == 0 || kind < 82 => {
                self.kills += 1;
                self.add(at, Act::Kill { worker });
                self.start(worker, at + away);
            }
            82..90 => {
                let nap = LEASE * 1_000 + self.chance.between(300, 1_500);
                self.free[worker] = at + nap + 500;
                self.add(at, Act::Sleep { worker });
                self.add(at + nap, Act::Wake { worker });
            }
            _ => {
                self.add(at, Act::Terminate { worker });
                self.start(worker, at + away);
            }
        }
    }

    fn ask(&mut self, at: u64) {
        let wish = match self.chance.below(100) {
            0..40 => Wish::Pause,
            40..75 => Wish::RetryFailed,
            75..82 => Wish::Restart,
            _ => Wish::Show,
        };
        let activity = match wish {
            Wish::RetryFailed => *self.chance.pick(&FAILING),
            _ => usize::try_from(self.chance.below(ACTIVITIES as u64)).unwrap(),
        };
        self.add(at, Act::Ask { wish, activity });
        if wish == Wish::Pause {
            let later = at + self.chance.between(100, 1_500);
            self.add(later, Act::Ask { wish: Wish::Resume, activity });
        }
    }
}
