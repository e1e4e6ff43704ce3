//! Chains of four activities under kills: one of a harvest of JSON Lines and three copies of many records, and one of a harvest of
//! OAI-PMH, which a tool and deposits follow, and a copy of what was deposited. All activities are begun at once, each follows another one, and
//! three processes work on them, which are killed, suspended and started again, while people pause, resume and retry. An [`Observer`] looks at the database all
//! the time. In the end what became of each record is what becomes of it where nothing is disturbed.

mod observer;
mod plan;
mod sets;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::Value;
use strongroom_registry::ActivityState;

use self::observer::{Found, Observer, Shown, open};
use self::plan::{ACTIVITIES, Act, WORKERS, Wish};
use self::sets::Sets;
use self::source::{Source, configure_tool};
use crate::commands::{Commands, Continuation};
use crate::workers::Workers;
use crate::world::{INSTITUTION, World, place};

pub(crate) use self::plan::ChainPlan;
pub(crate) use self::source::Size;

/// What each process runs: one also ingests what is deposited, and does what is due by the clock.
const RUNS: [&[&str]; WORKERS] =
    [&["serve"], &["work", "--topics", "activity.run"], &["work", "--topics", "activity.run"]];
/// How long nothing at all may change before the run counts as stuck.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often failed records are processed again once nothing is wrong.
const RETRIES: u64 = 4;

/// Makes one run; false where it could not be made.
pub(crate) fn run(plan: &ChainPlan) -> Result<bool> {
    let expected = undisturbed(plan.size)?;
    let Some((run, sets)) = Run::make(plan, Some(&expected))? else { return Ok(false) };
    let mut findings = sets.map_or_else(|error| vec![format!("{error:#}")], |sets| sets.differences(&expected));
    findings.extend((run.kills == 0).then(|| "no worker was killed while there was work".to_owned()));
    run.end(plan, &findings)?;
    Ok(true)
}

/// What becomes of each record where nothing is disturbed; read once for each size.
fn undisturbed(size: Size) -> Result<Arc<Sets>> {
    static KNOWN: Mutex<BTreeMap<Size, Arc<Sets>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sets) = known.get(&size) {
        return Ok(sets.clone());
    }
    let plan = ChainPlan::undisturbed(size);
    let (run, sets) = Run::make(&plan, None)?.context("SQLite is always there")?;
    let sets = Arc::new(sets.with_context(|| format!("the undisturbed run: {}", place(&run.name).1.display()))?);
    run.end(&plan, &[])?;
    known.insert(size, sets.clone());
    Ok(sets)
}

/// A run under way.
struct Run {
    // What uses the home ends before it.
    workers: Workers,
    commands: Commands,
    observer: Observer,
    world: World,
    source: Source,
    size: Size,
    name: String,
    /// The activities, in the order of [`Found`].
    activities: Vec<String>,
    /// Workers that were killed while there was work.
    kills: u64,
}

impl Run {
    /// Makes a home with both chains, carries the plan out, and works to the end; what became of the records. None where there is no
    /// PostgreSQL.
    fn make(plan: &ChainPlan, expected: Option<&Sets>) -> Result<Option<(Self, Result<Sets>)>> {
        let source = Source::start(plan.size);
        let settings = vec![
            ("STRONGROOM_INGEST__URL_HOSTS", source.authority()),
            ("STRONGROOM_ACTIVITIES__WORKERS", WORKERS.to_string()),
        ];
        let equipment = plan.equipment(settings);
        let Some(mut world) = World::new(&equipment)? else { return Ok(None) };
        world.log(plan);
        configure_tool(&world.folder)?;
        if expected.is_some() {
            source.trouble(&world.folder)?;
        }
        let activities = make_activities(&world, &source)?;
        let observer = Observer::start(open(&world)?);
        let (workers, commands) = (Workers::new(&RUNS), Commands::new("command"));
        let (name, size) = (equipment.name, plan.size);
        let mut run = Self { name, world, source, size, workers, commands, observer, activities, kills: 0 };
        let sets = run.carry_out(plan, expected);
        run.workers.kill_all(&mut run.world)?;
        Ok(Some((run, sets)))
    }

    fn carry_out(&mut self, plan: &ChainPlan, expected: Option<&Sets>) -> Result<Sets> {
        self.perform(plan)?;
        self.settle(expected.map(Sets::failed).as_deref())?;
        self.workers.stop_all()?;
        let Shown { last, looks, longest, .. } = self.shown()?;
        let line = format!("{} kills, {looks} looks, at most {longest:.0?} apart", self.kills);
        self.world.log(&line);
        let ids: Vec<_> = last.iter().map(|found| found.id).collect();
        let sets = Sets::read(open(&self.world)?.as_ref(), &self.source.authority(), &ids)?;
        println!("{plan}: {line}; records of each activity: {:?}", sets.sizes());
        Ok(sets)
    }

    /// Tells what was found, and removes the home where that is nothing.
    fn end(self, plan: &ChainPlan, findings: &[String]) -> Result<()> {
        let Self { world, observer, .. } = self;
        drop(observer);
        if findings.is_empty() {
            return world.remove();
        }
        let kept = world.keep();
        let (folder, log) = place(&self.name);
        bail!(
            "{plan} found:\n  {}\n\nthe acts are in {}\nthe data directory is {} (kept whole: {})\nagain: cargo xtask chaos \
             --runs 1 --seed {} --database {} --chain {} --seconds {}",
            findings.join("\n  "),
            log.display(),
            folder.join("home").display(),
            kept.is_ok(),
            plan.seed,
            plan.database,
            plan.size.records,
            plan.seconds,
        )
    }

    /// What the looks have shown, unless one of them found something wrong.
    fn shown(&self) -> Result<Shown> {
        let shown = self.observer.shown();
        match &shown.finding {
            Some(finding) => bail!("{finding}"),
            None => Ok(shown),
        }
    }

    /// Carries out the acts, each at its time, for as long as there is work.
    fn perform(&mut self, plan: &ChainPlan) -> Result<()> {
        let (began, pace, mut is_over) = (Instant::now(), plan.pace(), false);
        for timed in &plan.acts {
            let at = Duration::from_millis(timed.at);
            while began.elapsed() < at {
                self.attend(&pace)?;
                // Not a wait for anything: the moment is the point.
                std::thread::sleep(at.saturating_sub(began.elapsed()).min(Duration::from_millis(10)));
            }
            let last = self.shown()?.last;
            // What was asked before may still have it go on. Of two acts that belong together the first may have been left out by then.
            is_over |= last.len() == ACTIVITIES && last.iter().all(Found::has_finished);
            if is_over && !matches!(timed.act, Act::Wake { .. }) {
                continue;
            }
            self.act(&timed.act).with_context(|| format!("{:?}", timed.act))?;
        }
        while !self.commands.is_idle() {
            self.attend(&pace)?;
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Ok(())
    }

    fn attend(&mut self, pace: &str) -> Result<()> {
        for answered in self.commands.serve(&mut self.world)? {
            answered.answer.json().unwrap_or_default().iter().try_for_each(check_answer)?;
        }
        self.workers.restart_lost(&mut self.world, pace)
    }

    fn act(&mut self, act: &Act) -> Result<()> {
        self.world.log(format!("{act:?}"));
        match act {
            Act::Start { worker, points } => self.workers.start(&self.world, *worker, points, None)?,
            Act::Kill { worker } => {
                self.workers.kill(&mut self.world, *worker)?;
                self.kills += 1;
            }
            Act::Terminate { worker } => self.workers.terminate(&mut self.world, *worker)?,
            Act::Sleep { worker } => self.workers.signal(*worker, Signal::STOP)?,
            Act::Wake { worker } => self.workers.signal(*worker, Signal::CONT)?,
            Act::Mend => self.source.mend(&self.world.folder, self.size)?,
            Act::Background { task } => self.commands.ask(&["background", "run", task, "--json"], Continuation::None),
            Act::Ask { wish, activity } => {
                let word = match wish {
                    Wish::Pause => "pause",
                    Wish::Resume => "resume",
                    Wish::RetryFailed => "retry-failed",
                    Wish::Restart => "restart",
                    Wish::Show => "show",
                };
                self.commands.ask(&["activity", word, &self.activities[*activity], "--json"], Continuation::None);
            }
        }
        Ok(())
    }

    /// Puts everything right, has what people have stopped go on, and works until nothing is left. What has failed is processed again, once,
    /// and more often where more has failed than `expected`.
    fn settle(&mut self, expected: Option<&[u64]>) -> Result<()> {
        self.world.log("settling");
        self.workers.kill_all(&mut self.world)?;
        self.source.mend(&self.world.folder, self.size)?;
        self.workers.start_all(&self.world)?;
        let (mut before, mut moved, mut retries) = (Vec::new(), Instant::now(), 0);
        loop {
            let last = self.shown()?.last;
            ensure!(!self.workers.has_lost()?, "a worker ended before its work; see worker-*.log");
            if last != before {
                (before, moved) = (last.clone(), Instant::now());
            }
            ensure!(moved.elapsed() < PATIENCE, "nothing moves any more: {last:#?}");
            let of = |state: ActivityState| last.iter().position(|found| found.state == state);
            if let Some(paused) = of(ActivityState::Paused) {
                self.ask("resume", paused)?;
            } else if let Some(failed) = of(ActivityState::Failed) {
                self.ask("restart", failed)?;
            } else if last.len() == ACTIVITIES && last.iter().all(Found::has_finished) {
                let failed: Vec<u64> = last.iter().map(|found| found.counts.failed).collect();
                let is_as_expected = expected.is_none_or(|expected| expected == failed);
                if retries == RETRIES || retries > 0 && is_as_expected {
                    self.world.log("settled");
                    return Ok(());
                }
                retries += 1;
                for (nth, _) in failed.iter().enumerate().filter(|(_, failed)| **failed > 0) {
                    self.ask("retry-failed", nth)?;
                }
                // Until it is shown what came of it.
                let looks = self.shown()?.looks;
                while self.shown()?.looks < looks + 2 {
                    std::thread::park_timeout(Duration::from_millis(10));
                }
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// A command of a person about an activity, which may be refused where the activity has moved on since it was looked at.
    fn ask(&mut self, word: &str, activity: usize) -> Result<()> {
        let answer = self.world.run(["activity", word, &self.activities[activity], "--json"])?;
        self.world.log(format!("{word} {activity}: {:?} {}", answer.code, answer.stderr.trim()));
        answer.json().unwrap_or_default().iter().try_for_each(check_answer)
    }
}

/// Begins the activities of both chains; their identifiers.
fn make_activities(world: &World, source: &Source) -> Result<Vec<String>> {
    // Each with the place of the one that it follows.
    let activities: [(&str, Vec<String>, Option<usize>); ACTIVITIES] = [
        ("harvest", source.lines(), None),
        ("copy", vec!["chunk=40".to_owned()], Some(0)),
        ("copy", vec!["chunk=10".to_owned()], Some(1)),
        ("copy", vec!["chunk=100".to_owned()], Some(2)),
        ("harvest", source.provider(), None),
        ("tool", vec!["tool=bytes".to_owned()], Some(4)),
        ("deposit", Vec::new(), Some(4)),
        ("copy", vec!["chunk=5".to_owned()], Some(6)),
    ];
    let mut made: Vec<String> = Vec::new();
    for (agent, options, follows) in activities {
        let mut arguments = vec!["activity".to_owned(), "run".to_owned(), agent.to_owned(), "--json".to_owned()];
        arguments.extend(options.into_iter().flat_map(|option| ["--option".to_owned(), option]));
        arguments.extend(match follows {
            Some(place) => vec!["--input".to_owned(), made[place].clone(), "--follow".to_owned()],
            None => vec!["--option".to_owned(), format!("institution={INSTITUTION}")],
        });
        let shown = world.run(&arguments)?.succeeded()?.json()?;
        made.push(shown.first().and_then(|shown| shown["activity"].as_str()).context("an activity")?.to_owned());
    }
    Ok(made)
}

/// Whether the counts of an answer of the program are exact, where it is about an activity.
fn check_answer(answer: &Value) -> Result<()> {
    let Some(populated) = answer["populated"].as_u64() else { return Ok(()) };
    let states = ["todo", "processing", "processed", "failed", "cancelled"];
    let sum: u64 = states.iter().map(|state| answer[*state].as_u64().unwrap_or_default()).sum();
    ensure!(populated == sum, "populated is not the sum of the states: {answer}");
    Ok(())
}
