//! `--wait`: works on some work items until they end, prints each as it ends, and returns how they ended.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use strongroom_digest::Progress;
use strongroom_engine::app::views::{BytesView, ItemId, ItemStatus, ItemView, StandingView};
use strongroom_engine::app::{OpContext, Shutdown, items};
use strongroom_engine::settings::parse_duration;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable, without_told};
use crate::progress::{Line, Unit};
use crate::signals;

/// How often the command checks whether an item has ended.
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

/// Reports one item that ended.
pub(crate) type Tell<'t> = &'t mut dyn FnMut(ItemView) -> Result<Ended, Failure>;

/// Whether a command waits for its items, and how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct Waiting {
    /// Work on this in this process until it ends; exit 1 if anything does not succeed [default: where standard output is a
    /// terminal]
    #[arg(long)]
    wait: bool,
    /// Leave this to the workers, which is the default where standard output is no terminal
    #[arg(long, conflicts_with = "wait")]
    detach: bool,
    /// Stop waiting after this time, such as 10m; exit 1 if any has not ended by then [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
}

impl Waiting {
    /// Whether the command waits.
    ///
    /// # Errors
    ///
    /// There is a time for waiting, and the command does not wait.
    pub(super) fn is_wanted(&self) -> Result<bool, Failure> {
        let is_wanted = self.wait || (!self.detach && io::stdout().is_terminal());
        if is_wanted || self.timeout.is_none() {
            return Ok(is_wanted);
        }
        Err(Failure::usage("--timeout is a time for waiting, and the command does not wait").next("add --wait"))
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .ok_or_else(|| "it is not a duration with units (ms, s, m, h, d), such as 10m or 1h 30m".to_owned())
}

/// What ends the waiting before the items have ended.
pub(crate) struct Stop {
    pub(crate) shutdown: Shutdown,
    pub(crate) timeout: Option<Duration>,
    /// Since when the command has waited.
    pub(crate) began: Instant,
}

/// Works on `items` until all have ended, a signal asks to stop, or the time is over.
pub(crate) fn wait(
    call: &OpContext,
    wanted: &[ItemId],
    context: &Context,
    waiting: &Waiting,
    tell: Tell<'_>,
) -> Outcome {
    let stop = Stop { shutdown: signals::watch()?, timeout: waiting.timeout, began: Instant::now() };
    wait_until(call, wanted, context, &stop, tell)
}

/// As [`wait`], under a wish to stop that is there already.
pub(crate) fn wait_until(
    call: &OpContext,
    wanted: &[ItemId],
    context: &Context,
    stop: &Stop,
    tell: Tell<'_>,
) -> Outcome {
    let (shutdown, began) = (&stop.shutdown, stop.began);
    let mut is_late = false;
    let line = Line::new(context, Unit::Items, "");
    line.counts().set_expected(wanted.len() as u64, 0);
    let (sender, receiver) = mpsc::channel();
    let (summary, exit) = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let summary = items::work(call, wanted, shutdown);
            // The receiver is there until this thread has been joined.
            let _ = sender.send(());
            summary
        });
        let mut open = Open { items: wanted.iter().copied().collect(), bytes: BTreeMap::new(), all: wanted.len() };
        let mut exit = Ok(Exit::Done);
        let mut patience = Patience { call, context, told: BTreeSet::new() };
        loop {
            let is_over = !matches!(receiver.recv_timeout(LOOK_EVERY), Err(RecvTimeoutError::Timeout));
            if exit.is_ok() {
                exit = look(call, &mut open, &line, &mut patience, tell)
                    .map(|all_well| if all_well { exit.unwrap_or(Exit::No) } else { Exit::No });
            }
            if exit.is_err() {
                // No reader is left: what runs comes to its checkpoint, the rest waits for other workers.
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
    drop(line);
    let (exit, open) = exit?;
    let open = open.items;
    let summary = summary.map_err(|_| Failure::new(Exit::OutOfReach, "the worker thread ended abnormally"))??;
    if let Some(failure) = summary.failure {
        return Err(Failure::from(failure).while_trying("work on the items"));
    }
    if let (Some(timeout), true, Some(first)) = (stop.timeout, is_late, open.first()) {
        let (count, all) = (open.len(), wanted.len());
        let message = format!("{count} of {all} work items had not ended after {timeout:?}; workers continue them");
        return Err(Failure::new(Exit::No, message).next(after_waiting(&format!("items show {first}"))));
    }
    if shutdown.is_requested()
        && let Some(first) = open.first()
    {
        tell_stopped(open.len() as u64, &format!("items show {first}"), context);
        return Ok(Exit::Interrupted);
    }
    Ok(if open.is_empty() { exit } else { Exit::No })
}

/// What a person can do who does not wait any more.
pub(super) fn after_waiting(follow: &str) -> String {
    format!(
        "\"strongroom {follow}\" shows how far they are; where no worker runs, \"strongroom work\" or \"strongroom \
         serve\" continues them"
    )
}

/// Says on standard error what becomes of the work items that a person has stopped waiting for.
pub(super) fn tell_stopped(open: u64, follow: &str, context: &Context) {
    if context.is_quiet {
        return;
    }
    let items = counted(open, "work item has", "work items have");
    eprintln!("stopped waiting: {items} not ended; what is done stays, and workers continue from there");
    eprintln!("  next: {}", after_waiting(follow));
}

/// Says on standard error, once for each, what an item waits for. Older deposits of its object are worked on with it; what a
/// person holds or has paused, or other workers are at, this command cannot end.
struct Patience<'c> {
    call: &'c OpContext,
    context: &'c Context,
    /// What was printed, by item and obstacle.
    told: BTreeSet<(ItemId, String)>,
}

impl Patience<'_> {
    fn ask(&mut self, item: &StandingView) -> Result<(), Failure> {
        if item.status != ItemStatus::Pending || self.context.is_quiet {
            return Ok(());
        }
        let Some(obstacle) = items::obstacle(self.call, item.item)? else { return Ok(()) };
        if self.told.insert((item.item, obstacle.key)) {
            eprintln!(
                "{} (item {}) {}",
                printable(&item.object),
                item.item,
                printable(&without_told(&obstacle.reason))
            );
            eprintln!("  next: {}", printable(&obstacle.next));
        }
        Ok(())
    }
}

/// The items that have not ended, and how far all of them are in bytes.
struct Open {
    items: BTreeSet<ItemId>,
    /// Also of those that have ended.
    bytes: BTreeMap<ItemId, BytesView>,
    all: usize,
}

impl Open {
    /// Counts what was read for an item. A stage that has just begun takes nothing back.
    fn count(&mut self, item: &StandingView) {
        let Some(now) = item.bytes else { return };
        let known = self.bytes.entry(item.item).or_insert(now);
        *known = BytesView { read: now.read.max(known.read), expected: now.expected };
    }

    /// Says how far all items are. There is no end while the size of one is not known.
    fn tell(&self, counts: &Progress) {
        let is_known = self.bytes.len() == self.all;
        counts.set_bytes(self.bytes.values().map(|bytes| bytes.read).sum());
        counts.set_files((self.all - self.items.len()) as u64);
        let expected = self.bytes.values().map(|bytes| bytes.expected).sum();
        counts.set_expected(self.all as u64, if is_known { expected } else { 0 });
    }
}

/// Prints the items that ended since the last check; whether all of these succeeded.
fn look(
    call: &OpContext,
    open: &mut Open,
    line: &Line,
    patience: &mut Patience<'_>,
    tell: Tell<'_>,
) -> Result<bool, Failure> {
    let mut all_well = true;
    let wanted: Vec<ItemId> = open.items.iter().copied().collect();
    for item in items::standing(call, &wanted)? {
        open.count(&item);
        if !item.is_over() {
            line.suspend(|| patience.ask(&item))?;
            line.note(&format!("{} {}", item.stage, item.object));
            continue;
        }
        open.items.remove(&item.item);
        let ended = items::show(call, item.item)?;
        all_well &= line.print(&patience.context.output, || tell(ended))? == Ended::Well;
    }
    open.tell(line.counts());
    Ok(all_well)
}
