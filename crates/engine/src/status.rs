//! The state of an installation on one page: what is worked on, what needs a person, how the stores and their copies are. It
//! reads the registry, and shows each store as [`crate::survey`] found it; one that is away hides nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use strongroom_queue::{TopicCounts, tasks};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::{
    FindingKind, Health, HoldKind, ItemId, ItemStatus, Registry, RegistryError, Scope, Stage, Time, Transaction,
    UploadState, backfill, fixity, health, holds, interim, objects::Object, outbox, tool_findings,
};

use crate::background::TaskStatus;
use crate::content_name::in_package;
use crate::findings::NamedFinding;
use crate::held::HoldView;
use crate::ingest::kept_in;
use crate::settings::Settings;
use crate::survey::{Condition, Survey};
use crate::{EngineError, background, findings};

/// Work items that need a person are counted up to this many.
const REVIEWED: usize = 1_000;
/// A task that is ready for so many seconds, while no worker holds any, waits for a worker.
const UNATTENDED_SECONDS: u64 = 60;
/// A message that is undelivered for so many microseconds is overdue.
const MESSAGE_OVERDUE: i64 = 3_600_000_000;
/// How many of them are named.
const NAMED: usize = 5;
/// How many holds of a kind are named.
const HOLDS: usize = 10;

/// The state of an installation.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Why the registry can only be read; none where it can be written to.
    pub read_only: Option<String>,
    /// Work items by state.
    pub items: BTreeMap<&'static str, u64>,
    /// What needs a person.
    pub review: Review,
    /// The queue, topic by topic.
    pub queue: Vec<TopicCounts>,
    /// Every store of the settings.
    pub stores: Vec<StoreStatus>,
    /// How the copies are watched.
    pub fixity: FixityStatus,
    /// Uploads in states in which a person may have to act.
    pub uploads: BTreeMap<&'static str, u64>,
    /// Notices of removals.
    pub notices: Notices,
    /// Messages that were not delivered for long.
    pub outbox: OutboxStatus,
    /// Background tasks that have run.
    pub background: Vec<Background>,
    /// The space of open deposits.
    pub staging: StagingStatus,
    /// Rows of the tables that grow with use.
    pub tables: BTreeMap<&'static str, u64>,
}

/// What needs a person.
#[derive(Debug, Clone, Serialize)]
pub struct Review {
    /// Work items; at most 1,000 are counted.
    pub items: u64,
    /// The first of them.
    pub first: Vec<ReviewItem>,
    /// The first findings of damage that are open, oldest first.
    pub findings: Vec<NamedFinding>,
    /// Files that are kept in which a tool has found a virus.
    pub tool_findings: u64,
    /// The first of them.
    pub first_tool_findings: Vec<InfectedFile>,
    /// Tasks that no worker tries any more.
    pub dead_tasks: u64,
    /// Work items that are held.
    pub held: u64,
    /// The holds on collections and batches, the oldest first; at most ten of each.
    pub holds: Vec<HoldView>,
    /// Topics that are paused.
    pub paused_topics: u64,
    /// Tasks that have been ready for a minute, or whose leases have ended, while no worker holds a lease.
    pub unattended_tasks: u64,
    /// Whether all topics are paused, those that come to be later as well.
    pub all_paused: bool,
    /// Findings that are open, by the same count as `fixity.problems`.
    pub problems: u64,
    /// Background tasks whose last run failed.
    pub failed_background_tasks: u64,
    /// Background tasks that have been due for an hour, while no process runs them.
    pub overdue_background_tasks: u64,
    /// The latest time that a clock which was ahead has given to a background task that has not run since.
    pub clock_was_ahead: Option<String>,
    /// Stores that are away or refused.
    pub stores_away: u64,
    /// Those of them that are refused: they do not come back by themselves.
    pub stores_refused: u64,
    /// Uploads that were refused, or of which the work item failed.
    pub uploads: u64,
    /// Messages that are not attempted any more, because they cannot be delivered as things are.
    pub undeliverable_messages: u64,
    /// Whether the registry can only be read.
    pub registry_read_only: bool,
}

/// A work item that needs a person.
#[derive(Debug, Clone, Serialize)]
pub struct ReviewItem {
    /// Its identifier.
    pub item: ItemId,
    /// Its object.
    pub object: String,
    /// Where it is.
    pub stage: Stage,
    /// How it ended.
    pub status: ItemStatus,
    /// Why.
    pub note: Option<String>,
}

/// A file in which a tool has found a virus.
#[derive(Debug, Clone, Serialize)]
pub struct InfectedFile {
    /// Its object.
    pub object: String,
    /// Its path in the package.
    pub path: String,
    /// The tool.
    pub tool: String,
    /// What it has found.
    pub detail: String,
}

/// One store.
#[derive(Debug, Clone, Serialize)]
pub struct StoreStatus {
    /// Its name.
    pub store: String,
    /// `folder` or `s3`.
    pub kind: String,
    /// Whether it can be used.
    pub reachable: bool,
    /// `available`, `away`, `refused` where it is not the store that it should be, or `retired`.
    pub state: &'static str,
    /// What is wrong, and what to do.
    pub message: Option<String>,
    /// Bytes that can still be written, where the store has an end.
    pub free: Option<u64>,
    /// Bytes altogether, where the store has an end.
    pub capacity: Option<u64>,
    /// When the copy that waits longest was last checked, for a store that keeps copies; none where one is due now.
    pub oldest_check: Option<String>,
    /// Whether a copy is due now that was never checked, or was asked for.
    pub due_now: bool,
    /// Findings that are open.
    pub problems: u64,
    /// Files of objects' logs that it has still to get.
    pub missed_logs: u64,
}

/// How the copies are watched.
#[derive(Debug, Clone, Serialize)]
pub struct FixityStatus {
    /// When the last look for due copies ended, or the last `fixity run` over all stores.
    pub last_round: Option<String>,
    /// When the copy that waits longest was last checked; none where one is due now.
    pub oldest_check: Option<String>,
    /// Whether a copy is due now that was never checked, or was asked for.
    pub due_now: bool,
    /// Findings that are open, by kind, what stores lack of their placements included.
    pub problems: BTreeMap<&'static str, u64>,
}

/// The space of open deposits.
#[derive(Debug, Clone, Serialize)]
pub struct StagingStatus {
    /// Work items that have space in staging, by state.
    pub items: BTreeMap<&'static str, u64>,
    /// Bytes that are reserved for them, by state. Those of held and failed items become free when a person acts on them.
    pub bytes: BTreeMap<&'static str, u64>,
    /// Bytes of downloads that are kept on their way in this data directory.
    pub kept_bytes: u64,
    /// Work items whose downloads they are.
    pub kept_items: u64,
}

impl StagingStatus {
    fn of(directory: &Path, registry: &Registry) -> Result<Self, RegistryError> {
        let found = registry.read(interim::by_status)?;
        let kept = kept_in(directory);
        Ok(Self {
            items: found.iter().map(|one| (one.status.as_str(), one.items)).collect(),
            bytes: found.iter().map(|one| (one.status.as_str(), one.bytes)).collect(),
            kept_bytes: kept.bytes,
            kept_items: kept.items,
        })
    }
}

/// Notices of removals.
#[derive(Debug, Clone, Serialize)]
pub struct Notices {
    /// Invalid uploads whose notice was delivered and that were not removed yet.
    pub delivered: u64,
    /// When the first of them is removed.
    pub next_removal: Option<String>,
    /// Notices that wait for delivery.
    pub undelivered: u64,
    /// Since when the oldest of those waits.
    pub oldest_undelivered: Option<String>,
}

/// Messages that were not delivered for long, of the kinds that a channel delivers.
#[derive(Debug, Clone, Serialize)]
pub struct OutboxStatus {
    /// Messages that have been in the outbox for more than an hour.
    pub overdue: u64,
    /// The error of the first of them that has one.
    pub last_error: Option<String>,
}

/// A background task.
#[derive(Debug, Clone, Serialize)]
pub struct Background {
    /// Its name.
    pub task: &'static str,
    /// When a run last ended well.
    pub last_run_at: Option<String>,
    /// What that run did, in words.
    pub result: Option<String>,
    /// Why the last run failed; none where it ended well.
    pub error: Option<String>,
    /// When the first of the failures in a row was.
    pub error_since: Option<String>,
    /// When it runs next.
    pub next_run_at: String,
    /// Whether it runs now.
    pub running: bool,
    /// Since when that run has been under way.
    pub running_since: Option<String>,
}

impl From<TaskStatus> for Background {
    fn from(task: TaskStatus) -> Self {
        Self {
            task: task.name,
            running_since: task.running_since().map(|time| time.to_string()),
            last_run_at: task.last_run_at.map(|time| time.to_string()),
            result: task.result,
            error: task.error,
            error_since: task.error_since.map(|time| time.to_string()),
            next_run_at: task.next_run_at.to_string(),
            running: task.holder.is_some(),
        }
    }
}

/// The state of an installation now: what the registry says, beside the stores as they were found.
pub fn collect(
    directory: &Path,
    settings: &Settings,
    registry: &Registry,
    survey: &Survey,
) -> Result<Status, EngineError> {
    let mut stores = Vec::with_capacity(survey.stores.len());
    let mut oldest_check = None;
    for one in &survey.stores {
        let Some(store) = settings.stores.get(&one.name) else { continue };
        let is_available = one.condition == Condition::Available;
        let is_retired = one.condition == Condition::Retired;
        let oldest = if is_retired { None } else { registry.read(|tx| health::oldest_check(tx, &one.name))? };
        oldest_check = [oldest_check, oldest].into_iter().flatten().min();
        let space = store.folder(directory).filter(|_| is_available).and_then(|folder| space(&folder));
        let (oldest, due_now) = self::oldest_check(oldest);
        stores.push(StoreStatus {
            store: one.name.clone(),
            kind: store.kind().to_owned(),
            reachable: is_available,
            state: one.condition.as_str(),
            message: one.problem.clone(),
            free: space.map(|(free, _)| free),
            capacity: space.map(|(_, capacity)| capacity),
            oldest_check: oldest,
            due_now,
            problems: survey.findings_in(&one.name).unwrap_or_default(),
            missed_logs: one.missed_logs.unwrap_or_default(),
        });
    }
    let (queue, items_by_status) = registry.read(|tx| {
        let queue = strongroom_queue::tasks::counts(tx)?;
        Ok::<_, RegistryError>((queue, items::counts(tx, Scope::System, None)?))
    })?;
    let tasks = background::list(settings, registry)?;
    let mut problems: BTreeMap<&'static str, u64> = FindingKind::ALL.iter().map(|kind| (kind.as_str(), 0)).collect();
    problems.extend(survey.findings_by_kind());
    let scheduled = tasks.iter().find(|task| task.name == background::fixity::NAME).and_then(|task| task.last_run_at);
    let last_round = [scheduled, registry.read(fixity::last_run)?].into_iter().flatten().max();
    let (oldest_check, due_now) = self::oldest_check(oldest_check);
    Ok(Status {
        read_only: registry.refusal().map(str::to_owned),
        items: items_by_status.into_iter().map(|(status, count)| (status.as_str(), count)).collect(),
        review: registry.read(|tx| review(tx, &queue, &tasks, survey))?,
        queue,
        stores,
        fixity: FixityStatus { last_round: last_round.map(|time| time.to_string()), oldest_check, due_now, problems },
        uploads: registry.read(health::uploads)?.into_iter().map(by_word).collect(),
        notices: registry.read(notices)?,
        outbox: registry.read(outbox_status)?,
        background: tasks.into_iter().filter(TaskStatus::has_run).map(Background::from).collect(),
        staging: StagingStatus::of(directory, registry)?,
        tables: registry.read(strongroom_registry::retention::sizes)?.into_iter().collect(),
    })
}

/// The time of the oldest check as it is shown, and whether a copy is due whatever the time: its clock stands at the
/// beginning then.
pub(crate) fn oldest_check(oldest: Option<Time>) -> (Option<String>, bool) {
    let due_now = oldest == Some(Time(0));
    (oldest.filter(|_| !due_now).map(|time| time.to_string()), due_now)
}

/// The health of objects as they are listed, by the registry and by how the stores stand; see [`health::of`]. What lay
/// in a store that is refused is not where it belongs.
pub(crate) fn health_of(
    tx: &mut dyn Transaction,
    settings: &Settings,
    refused: &[String],
    object: &Object,
) -> Result<Option<Health>, RegistryError> {
    let in_use = stores_of(tx, settings, object)?;
    let found = health::of(tx, object, &in_use)?;
    let is_gone = in_use.iter().any(|store| refused.contains(store));
    Ok(found.map(|found| if is_gone && found != Health::Damaged { Health::MissingCopies } else { found }))
}

/// The stores that should hold an object: those of its placement that are in use.
pub(crate) fn stores_of(
    tx: &mut dyn Transaction,
    settings: &Settings,
    object: &Object,
) -> Result<Vec<String>, RegistryError> {
    let placement = object.description.placement.as_deref().unwrap_or_default();
    let stores = settings.placements.iter().find(|(name, _)| name.eq_ignore_ascii_case(placement));
    let mut in_use = Vec::new();
    for store in stores.map_or(&[][..], |(_, stores)| stores.as_slice()) {
        // A retired store need not hold anything.
        if backfill::retired_at(tx, store)?.is_none() {
            in_use.push(store.clone());
        }
    }
    Ok(in_use)
}

fn by_word((state, count): (UploadState, u64)) -> (&'static str, u64) {
    (state.as_str(), count)
}

/// The first holds on collections and on batches.
fn holds_of_many(tx: &mut dyn Transaction) -> Result<Vec<HoldView>, RegistryError> {
    let mut found = holds::of_kind(tx, HoldKind::Collection, HOLDS)?;
    found.extend(holds::of_kind(tx, HoldKind::Batch, HOLDS)?);
    Ok(found.into_iter().map(HoldView::from).collect())
}

fn review(
    tx: &mut dyn Transaction,
    queue: &[TopicCounts],
    tasks: &[TaskStatus],
    survey: &Survey,
) -> Result<Review, RegistryError> {
    let filter = ItemFilter { needs_review: Some(true), ..ItemFilter::default() };
    let found = items::list(tx, Scope::System, &filter, None, REVIEWED)?;
    let held = ItemFilter { status: Some(ItemStatus::Held), ..ItemFilter::default() };
    let held = items::list(tx, Scope::System, &held, None, REVIEWED)?;
    let mut named: Vec<&Item> = found.iter().collect();
    named.extend(held.iter().filter(|item| !item.needs_review));
    let mut first = Vec::new();
    for item in named.into_iter().take(NAMED) {
        let held = holds::of_item(tx, item)?;
        first.push(ReviewItem {
            item: item.id,
            object: item.object_identifier.clone(),
            stage: item.stage,
            status: item.status,
            note: holds::note_now(item, &held).or(item.note.clone()),
        });
    }
    let refused = survey.count(Condition::Refused);
    let is_to_review = |state: UploadState| matches!(state, UploadState::Refused | UploadState::Failed);
    let uploads = health::uploads(tx)?.into_iter().filter(|(state, _)| is_to_review(*state)).map(|(_, count)| count);
    Ok(Review {
        items: found.len() as u64,
        first,
        findings: findings::first_named(tx, None, NAMED)?,
        tool_findings: tool_findings::count_open(tx)?,
        first_tool_findings: tool_findings::list(tx, Scope::System, false, None, NAMED)?
            .into_iter()
            .map(|found| InfectedFile {
                object: found.object_identifier,
                path: in_package(&found.path).to_owned(),
                tool: found.tool,
                detail: found.detail,
            })
            .collect(),
        dead_tasks: queue.iter().map(|topic| topic.dead).sum(),
        held: held.len() as u64,
        holds: holds_of_many(tx)?,
        paused_topics: queue.iter().filter(|topic| topic.paused).count() as u64,
        unattended_tasks: unattended(tx, queue)?,
        all_paused: tasks::are_all_paused(tx)?,
        problems: survey.open_findings().unwrap_or_default(),
        failed_background_tasks: tasks.iter().filter(|task| task.error.is_some()).count() as u64,
        overdue_background_tasks: tasks.iter().filter(|task| task.is_overdue).count() as u64,
        clock_was_ahead: tasks.iter().filter_map(|task| task.started_ahead).max().map(|time| time.to_string()),
        stores_away: survey.count(Condition::Away) + refused,
        stores_refused: refused,
        uploads: uploads.sum(),
        undeliverable_messages: outbox::count_undeliverable(tx)?,
        registry_read_only: survey.registry.as_ref().is_some_and(|registry| registry.refusal().is_some()),
    })
}

/// Tasks that wait for a worker, or for one that is gone, where no worker holds a lease.
fn unattended(tx: &mut dyn Transaction, queue: &[TopicCounts]) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    let is_attended = tasks::last_lease(tx)?.is_some_and(|until| until > now);
    if is_attended || tasks::are_all_paused(tx)? {
        return Ok(0);
    }
    let waits = |topic: &&TopicCounts| {
        !topic.paused && (topic.leased > 0 || topic.oldest_ready_seconds.is_some_and(|age| age >= UNATTENDED_SECONDS))
    };
    Ok(queue.iter().filter(waits).map(|topic| topic.ready + topic.leased).sum())
}

fn notices(tx: &mut dyn Transaction) -> Result<Notices, RegistryError> {
    let (delivered, next) = health::notices(tx)?;
    let waiting = outbox::waiting(tx)?.into_iter().find(|waiting| waiting.kind == outbox::UPLOAD_EXPIRES);
    Ok(Notices {
        delivered,
        next_removal: next.map(|time| time.to_string()),
        undelivered: waiting.as_ref().map_or(0, |waiting| waiting.messages),
        oldest_undelivered: waiting.map(|waiting| waiting.oldest.to_string()),
    })
}

fn outbox_status(tx: &mut dyn Transaction) -> Result<OutboxStatus, RegistryError> {
    let before = tx.now()?.plus(-MESSAGE_OVERDUE);
    let (overdue, last_error) = crate::outbox::overdue(tx, before)?;
    Ok(OutboxStatus { overdue, last_error })
}

/// Free bytes and all bytes of the file system of a folder.
pub(crate) fn space(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some((found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize)))
}
