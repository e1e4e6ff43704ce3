//! Putting the workers together: a runtime over the handlers, and waiting for work items to end.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use strongroom_queue::{NewTask, Outcome, TaskState, tasks};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::work::Assignment;
use strongroom_registry::{BatchId, ItemId, ItemStatus, ObjectId, RegistryError, Scope, WaitReason};

use crate::restoration::OF_BATCHES;
use crate::runtime::{Builder, Pools, Runtime, Shutdown, Summary};
use crate::settings::{Settings, Watch};
use crate::task_kinds::{handlers, in_order};
use crate::{EngineError, Home, deletion, ingest};

/// The key of a task for one object in one store.
pub(crate) fn object_store_key(object: ObjectId, store: &str) -> String {
    format!("{object}/{store}")
}

/// The object and the store of such a key, or the end of a task with another key.
pub(crate) fn object_and_store(assignment: &Assignment) -> Result<(ObjectId, &str), Outcome> {
    let parsed = assignment.task.key.split_once('/').and_then(|(object, store)| Some((object.parse().ok()?, store)));
    parsed.ok_or_else(|| Outcome::Dead { reason: "the task's key is no object and store".into() })
}

/// Puts tasks of a topic that are no stages, each by its key and by the domain name of the institution whose turn it takes, and
/// wakes the workers of the topic. One that waits already is not put twice.
pub(crate) fn put_tasks(
    home: &Home,
    topic: &'static str,
    keys: impl IntoIterator<Item = (String, String)>,
) -> Result<(), EngineError> {
    let max_attempts = home.settings.pool(topic).max_attempts;
    let task = |(key, fair_key)| NewTask { fair_key, max_attempts, ..NewTask::new(topic, key, Vec::new()) };
    let new: Vec<NewTask> = keys.into_iter().map(task).collect();
    if new.is_empty() {
        return Ok(());
    }
    home.registry.write_and_wake(move |tx| {
        tasks::enqueue(tx, &new)?;
        Ok::<_, RegistryError>(vec![topic.to_owned()])
    })?;
    Ok(())
}

/// A runtime over all topics, or over those named; an unknown name is an error.
pub fn build_runtime(home: &Arc<Home>, topics: Option<&[String]>) -> Result<Builder, EngineError> {
    let mut handlers = handlers(home);
    if let Some(topics) = topics {
        let known: Vec<String> = handlers.iter().map(|handler| handler.topic().to_owned()).collect();
        for topic in topics {
            if !known.contains(topic) {
                let known = known.join(", ");
                return Err(EngineError::Usage(format!("there is no topic {topic:?}; the topics are {known}"))
                    .next("\"strongroom queue list\" shows what waits in each"));
            }
        }
        handlers.retain(|handler| topics.iter().any(|topic| topic == handler.topic()));
    }
    let builder = Runtime::builder(home.registry.clone(), handlers);
    Ok(in_order(builder).pools(home.settings.pools()).running(home.running.clone()))
}

/// How often it is looked whether the settings have changed.
const LOOK_AT_SETTINGS: Duration = Duration::from_secs(5);

/// The same runtime, which takes up the capacity of pools and of staging when the settings file changes. `pools` says what
/// the settings mean for this process.
pub fn with_settings_reload(
    builder: Builder,
    home: &Arc<Home>,
    file: &Path,
    pools: impl Fn(&Settings) -> Pools + Send + Sync + 'static,
) -> Builder {
    let (watch, home) = (Watch::new(file, std::env::vars_os()), home.clone());
    let ask = move || {
        let settings = watch.changed()?;
        home.apply_capacity(&settings);
        Some(pools(&settings))
    };
    builder.capacity(LOOK_AT_SETTINGS, Arc::new(ask))
}

/// Works on these items, under their leases, until all have ended and nothing of them is left to clear up; any other
/// process that works on them counts too. Older deposits that they wait for are worked on with them.
pub fn work_on(home: &Arc<Home>, items: &[ItemId], shutdown: &Shutdown) -> Result<Summary, EngineError> {
    let runtime = build_runtime(home, None)?.only_items(with_older(home, items)?).build();
    let done = || items.iter().all(|item| has_ended(home, *item).unwrap_or(false));
    Ok(runtime.run_until(shutdown, &done))
}

/// Items of a batch that are worked on at once.
const OF_BATCH_AT_ONCE: usize = 200;

/// Works on the items of a batch, page by page, until all have ended or what is left waits for a person; also on those that
/// are made meanwhile.
pub fn work_on_batch(home: &Arc<Home>, batch: BatchId, shutdown: &Shutdown) -> Result<Summary, EngineError> {
    let mut all = Summary::default();
    // Behind those that were worked on: what comes before is inspected again only where nothing else is left.
    let mut after = None;
    while !shutdown.is_requested() && all.failure.is_none() {
        let others = open_restorations(home, batch, after)?;
        if others.is_empty() && after.take().is_some() {
            continue;
        }
        let maker = open_maker(home, batch)?;
        let is_stuck = || {
            Ok::<_, RegistryError>(match open_maker(home, batch)? {
                Some(maker) => waits_for_person(home, &maker)?,
                None => true,
            })
        };
        if others.is_empty() && is_stuck()? {
            break;
        }
        let chosen = others.iter().copied().chain(maker.map(|maker| maker.id));
        let runtime = build_runtime(home, None)?.only_items(chosen).build();
        let done = || {
            if others.is_empty() {
                let has_more = open_restorations(home, batch, None).is_ok_and(|made| !made.is_empty());
                has_more || is_stuck().unwrap_or(false)
            } else {
                others.iter().all(|item| has_ended(home, *item).unwrap_or(false))
            }
        };
        all += runtime.run_until(shutdown, &done);
        after = others.last().copied();
    }
    Ok(all)
}

/// Items of a batch at work or waiting, after `after` in order of their making, but for the one that makes the others: only
/// the first of them.
fn open_restorations(home: &Home, batch: BatchId, after: Option<ItemId>) -> Result<Vec<ItemId>, RegistryError> {
    let mut open = Vec::new();
    for status in [ItemStatus::Pending, ItemStatus::Started] {
        let filter = ItemFilter { batch: Some(batch), status: Some(status), ..ItemFilter::default() };
        open.extend(home.registry.read(|tx| items::list(tx, Scope::System, &filter, after, OF_BATCH_AT_ONCE))?);
    }
    let mut open: Vec<ItemId> =
        open.into_iter().filter(|item| item.action != OF_BATCHES.action).map(|item| item.id).collect();
    open.sort_unstable();
    open.truncate(OF_BATCH_AT_ONCE);
    Ok(open)
}

/// The item of a batch that makes the others and writes the receipt, where one has not ended. It is the first that was made,
/// unless clocks differ or the receipt is written again.
fn open_maker(home: &Home, batch: BatchId) -> Result<Option<Item>, RegistryError> {
    let of_batch = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
    let of_action = ItemFilter { action: Some(OF_BATCHES.action), ..of_batch.clone() };
    let is_open =
        |item: &Item| item.action == OF_BATCHES.action && !item.status.is_ended() && item.status != ItemStatus::Held;
    home.registry.read(|tx| {
        let mut page = items::list(tx, Scope::System, &of_batch, None, 1)?;
        while !page.iter().any(is_open) {
            let after = page.last().filter(|last| last.action == OF_BATCHES.action).map(|last| last.id);
            page = items::list(tx, Scope::System, &of_action, after, OF_BATCH_AT_ONCE)?;
            if page.is_empty() {
                break;
            }
        }
        Ok(page.into_iter().find(is_open))
    })
}

/// Whether the item that makes the others waits for their ends, and all that are open are held.
fn waits_for_person(home: &Home, first: &Item) -> Result<bool, RegistryError> {
    let (Some(batch), Some(WaitReason::Batch)) = (first.batch, first.wait_reason) else { return Ok(false) };
    let counts = home.registry.read(|tx| items::counts(tx, Scope::System, Some(batch)))?;
    let count = |wanted: &[ItemStatus]| -> u64 {
        counts.iter().filter(|(status, _)| wanted.contains(status)).map(|(_, count)| count).sum()
    };
    Ok(count(&[ItemStatus::Held]) > 0 && count(&[ItemStatus::Pending, ItemStatus::Started]) <= 1)
}

/// The items, and the open deposits and deletions of the same objects that come before them.
fn with_older(home: &Home, chosen: &[ItemId]) -> Result<BTreeSet<ItemId>, RegistryError> {
    home.registry.read(|tx| {
        let mut all = BTreeSet::new();
        // The latest come first, as far as clocks tell: the older ones of their objects are found with them.
        for id in chosen.iter().rev() {
            if !all.insert(*id) {
                continue;
            }
            let Some(item) = items::get(tx, Scope::System, *id)? else { continue };
            if [ingest::INGEST, deletion::OF_OBJECTS.action, deletion::OF_FILES.action].contains(&item.action) {
                all.extend(items::open_up_to(tx, &item)?);
            }
        }
        Ok(all)
    })
}

fn has_ended(home: &Home, id: ItemId) -> Result<bool, RegistryError> {
    home.registry.read(|tx| {
        let Some(item) = items::get(tx, Scope::System, id)? else { return Ok(true) };
        if !item.status.is_ended() && item.status != ItemStatus::Held {
            return Ok(false);
        }
        Ok(tasks::of_key(tx, &id.to_string())?.iter().all(|task| task.state == TaskState::Dead))
    })
}
