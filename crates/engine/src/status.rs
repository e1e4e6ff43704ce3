//! The state of an installation on one page: what is worked on, what needs a person, how the stores and their copies are. It
//! reads the registry, and shows each store as [`crate::survey`] found it; one that is away hides nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use strongroom_queue::TopicCounts;
use strongroom_registry::{
    FindingKind, Health, Registry, RegistryError, Time, Transaction, UploadState, backfill, deletion_requests, fixity,
    health, interim, items, objects::Object, outbox, retention,
};
use strongroom_storage::FolderStore;

use crate::backfill::{BackfillProgress, StoreProgress};
use crate::background::TaskStatus;
use crate::ingest::kept_in;
use crate::people::check_factor_key;
use crate::review::Review;
use crate::settings::Settings;
use crate::statistics::quotas::{self, QuotaUse};
use crate::survey::{Condition, Survey};
use crate::{EngineError, background};

/// A message that is undelivered for so many microseconds is overdue.
const MESSAGE_OVERDUE: i64 = 3_600_000_000;

/// Work items of a state and rows of a table are counted up to so many: in a time that does not grow with what is kept.
const COUNTED: u64 = 10_000;

/// The state of an installation.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Why the registry can only be read; none where it can be written to.
    pub read_only: Option<String>,
    /// Why second factors cannot be checked; none where they can, or there are none.
    pub second_factors: Option<String>,
    /// Work items by state; of each at most 10,000 are counted.
    pub items: BTreeMap<&'static str, u64>,
    /// The states of which there are more work items than were counted.
    pub items_at_least: Vec<&'static str>,
    /// What needs a person.
    pub review: Review,
    /// The queue, topic by topic.
    pub queue: Vec<TopicCounts>,
    /// Every store of the settings.
    pub stores: Vec<StoreStatus>,
    /// What stores lack of their placements, and how far it was brought.
    pub backfill: BackfillStatus,
    /// How the copies are watched.
    pub fixity: FixityStatus,
    /// Requests for deletion that another user has to approve or deny. They are no part of the review: `status --check` does not fail because of them.
    pub requested_deletions: u64,
    /// Uploads in states in which a person may have to act.
    pub uploads: BTreeMap<&'static str, u64>,
    /// Notices of removals.
    pub notices: Notices,
    /// Messages that wait to be delivered.
    pub outbox: OutboxStatus,
    /// Background tasks that have run.
    pub background: Vec<Background>,
    /// The space of open deposits.
    pub staging: StagingStatus,
    /// Institutions that use as much of their storage quotas as `statistics.quota_warning` says, or more.
    pub storage_quotas: Vec<QuotaStatus>,
    /// Rows of the tables that grow with use: counted now up to 10,000, else as the background task `retention` last counted them.
    pub tables: BTreeMap<&'static str, u64>,
    /// The tables that have more rows, and were not counted yet.
    pub tables_at_least: Vec<&'static str>,
    /// When the background task counted those that were not counted now; none where all were counted now.
    pub tables_counted_at: Option<String>,
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
    /// Whether there may be more: not every object was compared with the stores of its placement.
    pub problems_at_least: bool,
    /// Files of objects' logs that it has still to get.
    pub missed_logs: u64,
    /// Objects of which it still has something that was deleted: it was away, refuses, or was put back as it was before.
    pub unfinished_deletions: u64,
}

/// What stores lack of their placements, as the background task `placements` found last.
#[derive(Debug, Clone, Serialize)]
pub struct BackfillStatus {
    /// The stores that lack something, with how many objects they do not hold whole, of how many of those a task waits or is being worked
    /// on, and of how many it was given up.
    pub stores: BTreeMap<String, StoreProgress>,
    /// When that was found; none where nothing was lacking.
    pub found_at: Option<String>,
    /// How many objects are enqueued in an hour at most without a command.
    pub objects_per_hour: u64,
    /// How many bytes of contents; 0: no limit.
    pub bytes_per_hour: u64,
    /// When the last object is enqueued at the earliest; none where nothing is left to be enqueued.
    pub enqueued_by: Option<String>,
    /// The same in words.
    #[serde(skip)]
    pub text: Option<String>,
}

impl BackfillStatus {
    fn of(settings: &Settings, registry: &Registry) -> Result<Self, RegistryError> {
        let progress = BackfillProgress::read(registry)?;
        Ok(Self {
            found_at: (!progress.stores.is_empty()).then(|| progress.found_at().to_string()),
            objects_per_hour: settings.backfill.objects_per_hour,
            bytes_per_hour: settings.backfill.bytes_per_hour,
            enqueued_by: progress.enqueued_by(settings).map(|time| time.to_string()),
            text: progress.in_words(settings),
            stores: progress.stores,
        })
    }
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
    /// Whether there may be more that stores lack: not every object was compared with the stores of its placement.
    pub problems_at_least: bool,
}

/// What an institution uses of its storage quota.
#[derive(Debug, Clone, Serialize)]
pub struct QuotaStatus {
    /// Its domain name.
    pub institution: String,
    /// Bytes that may be kept.
    pub quota: u64,
    /// Bytes that are kept, of one copy of each content, as the statistics count them.
    pub kept: u64,
    /// In percent, rounded down.
    pub percent: u64,
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
    /// Bytes in the staging store of puts and removals whose processes ended in their middle, as far as a folder tells. They are reserved for
    /// nothing.
    pub unfinished_bytes: u64,
    /// Files and folders with such bytes.
    pub unfinished_entries: u64,
}

impl StagingStatus {
    fn of(directory: &Path, settings: &Settings, registry: &Registry) -> Result<Self, RegistryError> {
        let found = registry.read(interim::by_status)?;
        let kept = kept_in(directory);
        let store = settings.stores.get(&settings.roles.staging).and_then(|store| store.folder(directory));
        let unfinished = store.map(FolderStore::unfinished).unwrap_or_default();
        Ok(Self {
            items: found.iter().map(|one| (one.status.as_str(), one.items)).collect(),
            bytes: found.iter().map(|one| (one.status.as_str(), one.bytes)).collect(),
            kept_bytes: kept.bytes,
            kept_items: kept.items,
            unfinished_bytes: unfinished.bytes,
            unfinished_entries: unfinished.entries,
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

/// Messages that wait to be delivered, of the kinds that a channel delivers.
#[derive(Debug, Clone, Serialize)]
pub struct OutboxStatus {
    /// All of them.
    pub waiting: u64,
    /// Since when the oldest of them waits.
    pub oldest_waiting: Option<String>,
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
            problems_at_least: !survey.is_counted_whole(Some(&one.name)),
            missed_logs: one.missed_logs.unwrap_or_default(),
            unfinished_deletions: one.unfinished_deletions.unwrap_or_default(),
        });
    }
    let (queue, items_by_status) = registry.read(|tx| {
        let queue = strongroom_queue::tasks::counts(tx)?;
        Ok::<_, RegistryError>((queue, items::counts_up_to(tx, COUNTED)?))
    })?;
    let (items, items_at_least) = bounded(items_by_status.into_iter().map(|(status, count)| (status.as_str(), count)));
    let tables = registry.read(|tx| retention::sizes_now(tx, COUNTED))?;
    let tasks = background::list(settings, registry)?;
    let mut problems: BTreeMap<&'static str, u64> = FindingKind::ALL.iter().map(|kind| (kind.as_str(), 0)).collect();
    problems.extend(survey.findings_by_kind());
    let scheduled = tasks.iter().find(|task| task.name == background::fixity::NAME).and_then(|task| task.last_run_at);
    let last_round = [scheduled, registry.read(fixity::last_run)?].into_iter().flatten().max();
    let (oldest_check, due_now) = self::oldest_check(oldest_check);
    Ok(Status {
        read_only: registry.refusal().map(str::to_owned),
        second_factors: check_factor_key(directory, registry)?.and_then(Result::err).map(|error| error.chain()),
        items,
        items_at_least,
        review: registry.read(|tx| Review::collect(tx, settings, (&queue, &tasks), survey))?,
        queue,
        stores,
        backfill: BackfillStatus::of(settings, registry)?,
        fixity: FixityStatus {
            last_round: last_round.map(|time| time.to_string()),
            oldest_check,
            due_now,
            problems,
            problems_at_least: !survey.is_counted_whole(None),
        },
        requested_deletions: registry.read(deletion_requests::count_requested)?,
        uploads: registry.read(health::uploads)?.into_iter().map(by_word).collect(),
        notices: registry.read(notices)?,
        outbox: registry.read(outbox_status)?,
        background: tasks.into_iter().filter(TaskStatus::has_run).map(Background::from).collect(),
        staging: StagingStatus::of(directory, settings, registry)?,
        storage_quotas: storage_quotas(settings, registry)?,
        tables_counted_at: tables.counted_at,
        tables_at_least: tables.at_least,
        tables: tables.rows.into_iter().collect(),
    })
}

fn storage_quotas(settings: &Settings, registry: &Registry) -> Result<Vec<QuotaStatus>, RegistryError> {
    let used = registry.read(|tx| quotas::nearly_used(tx, settings.statistics.quota_warning))?;
    let status = |(institution, used): (String, QuotaUse)| QuotaStatus {
        institution,
        quota: used.quota,
        kept: used.kept,
        percent: used.percent(),
    };
    Ok(used.into_iter().map(status).collect())
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

/// Counts that stop at the bound, and which of them did.
fn bounded(counts: impl Iterator<Item = (&'static str, u64)>) -> (BTreeMap<&'static str, u64>, Vec<&'static str>) {
    let (mut found, mut at_least) = (BTreeMap::new(), Vec::new());
    for (name, count) in counts {
        if count > COUNTED {
            at_least.push(name);
        }
        found.insert(name, count.min(COUNTED));
    }
    (found, at_least)
}

fn by_word((state, count): (UploadState, u64)) -> (&'static str, u64) {
    (state.as_str(), count)
}

fn notices(tx: &mut dyn Transaction) -> Result<Notices, RegistryError> {
    let (delivered, next) = health::notices(tx)?;
    let waiting = outbox::waiting(tx, outbox::UPLOAD_EXPIRES)?;
    Ok(Notices {
        delivered,
        next_removal: next.map(|time| time.to_string()),
        undelivered: waiting.messages,
        oldest_undelivered: waiting.oldest.map(|time| time.to_string()),
    })
}

fn outbox_status(tx: &mut dyn Transaction) -> Result<OutboxStatus, RegistryError> {
    let before = tx.now()?.plus(-MESSAGE_OVERDUE);
    let (overdue, last_error) = crate::outbox::overdue(tx, before)?;
    let waiting = crate::outbox::waiting(tx)?;
    let oldest_waiting = waiting.oldest.map(|time| time.to_string());
    Ok(OutboxStatus { waiting: waiting.messages, oldest_waiting, overdue, last_error })
}

/// Free bytes and all bytes of the file system of a folder.
pub(crate) fn space(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some((found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize)))
}
