//! `--wait`: works on some work items until they end, tells each as it does, and answers how it went.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, work_on};
use strongroom_registry::items::{self, Item, ItemProblem};
use strongroom_registry::{ItemId, ItemStatus, RegistryError, Scope};

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

/// Works on `items` until all have ended, or a signal asks to stop.
pub(crate) fn wait(home: &Arc<Home>, items: &[ItemId], context: &Context, tell: Tell<'_>) -> Outcome {
    wait_until(home, items, context, &signals::watch()?, tell)
}

/// As [`wait`], under a wish to stop that is there already.
pub(crate) fn wait_until(
    home: &Arc<Home>,
    items: &[ItemId],
    context: &Context,
    shutdown: &Shutdown,
    tell: Tell<'_>,
) -> Outcome {
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
        let mut patience = Patience { context, told: BTreeSet::new() };
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
        }
        (worker.join(), exit.map(|exit| (exit, open)))
    });
    bar.finish_and_clear();
    let (exit, open) = exit?;
    let summary = summary.map_err(|_| Failure::new(Exit::OutOfReach, "the worker thread ended abnormally"))??;
    if let Some(failure) = summary.failure {
        return Err(Failure::from(failure).while_trying("work on the items"));
    }
    if shutdown.is_requested() && !open.is_empty() {
        return Ok(Exit::Interrupted);
    }
    Ok(if open.is_empty() { exit } else { Exit::No })
}

/// Says on standard error, once for each, what an item waits for. Older deposits of its object are worked on with it; what a
/// person holds back, or other workers are at, this command cannot end.
struct Patience<'c> {
    context: &'c Context,
    told: BTreeSet<ItemId>,
}

impl Patience<'_> {
    fn ask(&mut self, item: &Item) {
        let note = item.note.as_deref().unwrap_or_default();
        // What a stage defers for says so in its note.
        let waits = item.status == ItemStatus::Pending && note.starts_with("waits");
        if waits && !self.context.is_quiet && self.told.insert(item.id) {
            eprintln!("{} {}", printable(&item.object_identifier), printable(note));
            eprintln!(
                "  next: nothing, unless what it waits for is held: then \"strongroom items release\" or \"cancel\" it"
            );
        }
    }
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
            bar.suspend(|| patience.ask(&item));
            bar.set_message(format!("{} {}", item.object_identifier, item.stage));
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
