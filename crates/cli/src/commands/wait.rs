//! `--wait`: works on some work items until they end, tells each as it does, and answers how it went.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::parse_span;
use strongroom_engine::{Home, work_on};
use strongroom_queue::tasks;
use strongroom_registry::items::{self, Item, ItemProblem};
use strongroom_registry::{ItemId, ItemStatus, RegistryError, Scope, Transaction, WaitReason};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::printable;
use crate::{progress, signals};

/// Problems told with one item.
const PROBLEMS: usize = 1_000;
/// How often it is looked whether an item has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How an item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It succeeded.
    Well,
    /// It failed, was cancelled, or is held.
    Otherwise,
}

impl Ended {
    pub(crate) fn of(status: ItemStatus) -> Self {
        if status == ItemStatus::Succeeded { Self::Well } else { Self::Otherwise }
    }
}

/// Tells one item that ended.
pub(crate) type Tell<'t> = &'t mut dyn FnMut(Item, Vec<ItemProblem>) -> Result<Ended, Failure>;

/// How long a command waits for its items.
#[derive(Debug, Clone, Args)]
pub(crate) struct Waiting {
    /// Stop waiting after this time, such as 10m; exit 1 if any has not ended by then [default: none]
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = duration)]
    timeout: Option<Duration>,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_span(text).ok_or_else(|| "it is no time with a unit (ms, s, m, h, d), such as 10m".to_owned())
}

/// What ends the waiting before the items have ended.
pub(crate) struct Stop {
    pub(crate) shutdown: Shutdown,
    pub(crate) timeout: Option<Duration>,
}

/// Works on `items` until all have ended, a signal asks to stop, or the time is over.
pub(crate) fn wait(
    home: &Arc<Home>,
    items: &[ItemId],
    context: &Context,
    waiting: &Waiting,
    tell: Tell<'_>,
) -> Outcome {
    wait_until(home, items, context, &Stop { shutdown: signals::watch()?, timeout: waiting.timeout }, tell)
}

/// As [`wait`], under a wish to stop that is there already.
pub(crate) fn wait_until(
    home: &Arc<Home>,
    items: &[ItemId],
    context: &Context,
    stop: &Stop,
    tell: Tell<'_>,
) -> Outcome {
    let (shutdown, began) = (&stop.shutdown, Instant::now());
    let mut is_late = false;
    let bar = progress::steps(context, items.len() as u64, "");
    let (sender, receiver) = mpsc::channel();
    let (summary, exit) = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let summary = work_on(home, items, shutdown);
            // The receiver is there until this thread has been joined.
            let _ = sender.send(());
            summary
        });
        let mut open: BTreeSet<ItemId> = items.iter().copied().collect();
        let mut exit = Ok(Exit::Done);
        let mut patience = Patience { home, context, told: BTreeSet::new() };
        loop {
            let is_over = !matches!(receiver.recv_timeout(LOOK_EVERY), Err(RecvTimeoutError::Timeout));
            if exit.is_ok() {
                exit = look(home, &mut open, &bar, &mut patience, tell).and_then(|all_well| {
                    context.output.flush()?;
                    Ok(if all_well { exit.unwrap_or(Exit::No) } else { Exit::No })
                });
            }
            if exit.is_err() {
                // Nobody reads any more: what runs comes to its checkpoint, the rest waits for other workers.
                shutdown.request();
            }
            if is_over || exit.is_err() {
                break;
            }
            if !is_late && stop.timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
                is_late = true;
                // Tasks stop at their next checkpoint and return to the queue.
                shutdown.request();
            }
        }
        (worker.join(), exit.map(|exit| (exit, open)))
    });
    bar.finish_and_clear();
    let (exit, open) = exit?;
    let summary = summary.map_err(|_| Failure::new(Exit::OutOfReach, "the worker thread ended abnormally"))??;
    if let Some(failure) = summary.failure {
        return Err(Failure::from(failure).while_trying("work on the items"));
    }
    if let (Some(timeout), true, Some(first)) = (stop.timeout, is_late, open.first()) {
        let (count, all) = (open.len(), items.len());
        let message =
            format!("{count} of {all} work items had not ended after {timeout:?}; they go on under other workers");
        return Err(
            Failure::new(Exit::No, message).next(format!("\"strongroom items show {first}\" shows the first of them"))
        );
    }
    if shutdown.is_requested() && !open.is_empty() {
        return Ok(Exit::Interrupted);
    }
    Ok(if open.is_empty() { exit } else { Exit::No })
}

/// Says on standard error, once for each, what an item waits for. Older deposits of its object are worked on with it; what a
/// person holds or has paused, or other workers are at, this command cannot end.
struct Patience<'c> {
    home: &'c Home,
    context: &'c Context,
    told: BTreeSet<(ItemId, Obstacle)>,
}

/// What an item waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    /// An older deposit of the same object, which is held.
    Held(ItemId),
    /// Its topic, which is paused.
    Paused(String),
    /// What its note says.
    Other,
}

impl Patience<'_> {
    fn ask(&mut self, item: &Item) -> Result<(), Failure> {
        if item.status != ItemStatus::Pending || self.context.is_quiet {
            return Ok(());
        }
        let waits = item.wait_reason.is_some();
        let topic = item.topic.clone();
        let (held, is_paused, are_all) = self.home.registry.read(|tx| {
            let held = if waits { older_held(tx, item)? } else { None };
            Ok::<_, RegistryError>((held, tasks::is_paused(tx, &topic)?, tasks::are_all_paused(tx)?))
        })?;
        let (obstacle, reason, next) = match (held, is_paused) {
            (Some(held), _) => {
                let why = held.note.as_deref().unwrap_or_default();
                let reason =
                    format!("waits for item {}, an older deposit of the same object, which is held: {why}", held.id);
                let next = format!("strongroom items release {0}, or strongroom items cancel {0}", held.id);
                (Obstacle::Held(held.id), reason, next)
            }
            (None, true) => {
                let next = format!("strongroom queue resume {}", if are_all { "--all" } else { &topic });
                let reason = format!("waits for the topic {topic}, which is paused");
                (Obstacle::Paused(topic), reason, next)
            }
            (None, false) if item.wait_reason == Some(WaitReason::RefusedStore) => {
                let next = "do what the reason says; the item goes on by itself then. \"strongroom store list\" shows the \
                            store";
                (Obstacle::Other, item.note.clone().unwrap_or_default(), next.to_owned())
            }
            (None, false) if waits => {
                (Obstacle::Other, item.note.clone().unwrap_or_default(), "nothing; it goes on by itself".to_owned())
            }
            (None, false) => return Ok(()),
        };
        if self.told.insert((item.id, obstacle)) {
            let identifier = printable(&item.object_identifier);
            eprintln!("{identifier} (item {}) {}", item.id, printable(&reason));
            eprintln!("  next: {}", printable(&next));
        }
        Ok(())
    }
}

/// The oldest open deposit of the same object before an item, where it is held.
fn older_held(tx: &mut dyn Transaction, item: &Item) -> Result<Option<Item>, RegistryError> {
    if item.wait_reason != Some(WaitReason::OlderDeposit) {
        return Ok(None);
    }
    for older in items::open_up_to(tx, item)?.into_iter().filter(|older| *older != item.id) {
        let older = items::find(tx, Scope::System, older)?;
        if older.status == ItemStatus::Held {
            return Ok(Some(older));
        }
    }
    Ok(None)
}

/// Tells the items that ended since the last look; whether all of these ended well.
fn look(
    home: &Home,
    open: &mut BTreeSet<ItemId>,
    bar: &indicatif::ProgressBar,
    patience: &mut Patience<'_>,
    tell: Tell<'_>,
) -> Result<bool, Failure> {
    let mut all_well = true;
    for id in open.clone() {
        let found = home.registry.read(|tx| {
            let item = items::find(tx, Scope::System, id)?;
            let problems =
                if is_over(item.status) { items::problems(tx, Scope::System, id, PROBLEMS)? } else { Vec::new() };
            Ok::<_, RegistryError>((item, problems))
        })?;
        let (item, problems) = found;
        if !is_over(item.status) {
            bar.suspend(|| patience.ask(&item))?;
            bar.set_message(printable(&format!("{} {}", item.object_identifier, item.stage)));
            continue;
        }
        open.remove(&id);
        bar.inc(1);
        all_well &= bar.suspend(|| tell(item, problems))? == Ended::Well;
    }
    Ok(all_well)
}

/// Whether nothing more happens without a person.
fn is_over(status: ItemStatus) -> bool {
    status.is_ended() || status == ItemStatus::Held
}
