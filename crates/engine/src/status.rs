//! The state of an installation on one page: what is worked on, what needs a person, how the stores and their copies are. It
//! reads the registry and opens each store by itself, so that one that is away is shown and hides nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use strongroom_queue::TopicCounts;
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::{
    FindingKind, Health, ItemId, ItemStatus, Registry, RegistryError, Scope, Stage, Transaction, UploadState, backfill,
    health, objects::Object, outbox, schedules,
};

use crate::EngineError;
use crate::settings::Settings;

/// Work items that need a person are counted up to this many.
const REVIEWED: usize = 1_000;
/// How many of them are named.
const NAMED: usize = 5;

/// The state of an installation.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Work items by state.
    pub items: BTreeMap<&'static str, u64>,
    /// What needs a person.
    pub review: Review,
    /// The queue, topic by topic.
    pub queue: Vec<Topic>,
    /// Every store of the settings.
    pub stores: Vec<StoreStatus>,
    /// How the copies are watched.
    pub fixity: FixityStatus,
    /// Uploads in states in which a person may have to act.
    pub uploads: BTreeMap<&'static str, u64>,
    /// Notices of removals.
    pub notices: Notices,
    /// Background tasks.
    pub background: Vec<Background>,
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
    /// Tasks that no worker tries any more.
    pub dead_tasks: u64,
    /// Findings of damage that are not repaired.
    pub problems: u64,
    /// Stores that cannot be reached.
    pub stores_away: u64,
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

/// One topic of the queue.
#[derive(Debug, Clone, Serialize)]
pub struct Topic {
    /// Its name.
    pub topic: String,
    /// Tasks that can be leased.
    pub ready: u64,
    /// Tasks whose time has not come.
    pub delayed: u64,
    /// Tasks under lease.
    pub leased: u64,
    /// Dead tasks.
    pub dead: u64,
    /// How long the oldest ready task has waited.
    pub oldest_ready_seconds: Option<u64>,
    /// Whether it is paused.
    pub paused: bool,
}

impl From<TopicCounts> for Topic {
    fn from(counts: TopicCounts) -> Self {
        let TopicCounts { topic, ready, delayed, leased, dead, oldest_ready_seconds, paused } = counts;
        Self { topic, ready, delayed, leased, dead, oldest_ready_seconds, paused }
    }
}

/// One store.
#[derive(Debug, Clone, Serialize)]
pub struct StoreStatus {
    /// Its name.
    pub store: String,
    /// `folder` or `s3`.
    pub kind: String,
    /// Whether it could be opened.
    pub reachable: bool,
    /// Why not.
    pub message: Option<String>,
    /// Bytes that can still be written, where the store has an end.
    pub free: Option<u64>,
    /// Bytes altogether, where the store has an end.
    pub capacity: Option<u64>,
    /// When the copy that waits longest was last checked, for a store that keeps copies.
    pub oldest_check: Option<String>,
    /// Findings of damage that are not repaired.
    pub problems: u64,
}

/// How the copies are watched.
#[derive(Debug, Clone, Serialize)]
pub struct FixityStatus {
    /// When the last look for due copies ended.
    pub last_round: Option<String>,
    /// When the copy that waits longest was last checked.
    pub oldest_check: Option<String>,
    /// Findings that are not repaired, by kind.
    pub problems: BTreeMap<&'static str, u64>,
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

/// A background task.
#[derive(Debug, Clone, Serialize)]
pub struct Background {
    /// Its name.
    pub task: String,
    /// When it last ran to its end.
    pub last_run_at: Option<String>,
    /// When it runs next.
    pub next_run_at: String,
    /// Whether it runs now.
    pub running: bool,
}

/// The state of an installation now.
pub fn collect(directory: &Path, settings: &Settings, registry: &Registry) -> Result<Status, EngineError> {
    let findings = registry.read(health::open_findings)?;
    let mut stores = Vec::with_capacity(settings.stores.len());
    let mut oldest_check = None;
    for (name, store) in &settings.stores {
        let oldest = registry.read(|tx| health::oldest_check(tx, name))?;
        oldest_check = [oldest_check, oldest].into_iter().flatten().min();
        let opened = store.open(name, directory);
        let space = store.folder(directory).filter(|_| opened.is_ok()).and_then(|folder| space(&folder));
        stores.push(StoreStatus {
            store: name.clone(),
            kind: store.kind().to_owned(),
            reachable: opened.is_ok(),
            message: opened.err().map(|error| EngineError::from(error).chain()),
            free: space.map(|(free, _)| free),
            capacity: space.map(|(_, capacity)| capacity),
            oldest_check: oldest.map(|time| time.to_string()),
            problems: findings.iter().filter(|one| one.store == *name).map(|one| one.findings).sum(),
        });
    }
    let (queue, items_by_status) = registry.read(|tx| {
        let queue = strongroom_queue::tasks::counts(tx)?;
        Ok::<_, RegistryError>((queue, items::counts(tx, Scope::System, None)?))
    })?;
    let schedules = registry.read(schedules::list)?;
    let mut problems: BTreeMap<&'static str, u64> = FindingKind::ALL.iter().map(|kind| (kind.word(), 0)).collect();
    for found in &findings {
        *problems.entry(found.kind.word()).or_default() += found.findings;
    }
    let last_round = schedules.iter().find(|one| one.name == "fixity").and_then(|one| one.last_run_at);
    let away = stores.iter().filter(|store| !store.reachable).count() as u64;
    let dead = queue.iter().map(|topic| topic.dead).sum();
    let open = findings.iter().map(|found| found.findings).sum();
    Ok(Status {
        items: items_by_status.into_iter().map(|(status, count)| (status.word(), count)).collect(),
        review: registry.read(|tx| review(tx, dead, open, away))?,
        queue: queue.into_iter().map(Topic::from).collect(),
        stores,
        fixity: FixityStatus {
            last_round: last_round.map(|time| time.to_string()),
            oldest_check: oldest_check.map(|time| time.to_string()),
            problems,
        },
        uploads: registry.read(health::uploads)?.into_iter().map(by_word).collect(),
        notices: registry.read(notices)?,
        background: schedules
            .into_iter()
            .map(|one| Background {
                task: one.name,
                last_run_at: one.last_run_at.map(|time| time.to_string()),
                next_run_at: one.next_run_at.to_string(),
                running: one.holder.is_some(),
            })
            .collect(),
        tables: registry.read(strongroom_registry::retention::sizes)?.into_iter().collect(),
    })
}

/// The health of objects as they are listed, by the registry alone; see [`health::of`].
pub fn health_of(
    tx: &mut dyn Transaction,
    settings: &Settings,
    object: &Object,
) -> Result<Option<Health>, RegistryError> {
    let placement = object.description.placement.as_deref().unwrap_or_default();
    let stores = settings.placements.iter().find(|(name, _)| name.eq_ignore_ascii_case(placement));
    let mut in_use = Vec::new();
    for store in stores.map_or(&[][..], |(_, stores)| stores.as_slice()) {
        // A retired store need not hold anything.
        if backfill::retired_at(tx, store)?.is_none() {
            in_use.push(store.clone());
        }
    }
    health::of(tx, object, &in_use)
}

fn by_word((state, count): (UploadState, u64)) -> (&'static str, u64) {
    (state.word(), count)
}

fn review(tx: &mut dyn Transaction, dead_tasks: u64, problems: u64, stores_away: u64) -> Result<Review, RegistryError> {
    let filter = ItemFilter { needs_review: Some(true), ..ItemFilter::default() };
    let found = items::list(tx, Scope::System, &filter, None, REVIEWED)?;
    let items = found.len() as u64;
    let first = found.into_iter().take(NAMED).map(|item| ReviewItem {
        item: item.id,
        object: item.object_identifier,
        stage: item.stage,
        status: item.status,
        note: item.note,
    });
    Ok(Review { items, first: first.collect(), dead_tasks, problems, stores_away })
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

/// Free bytes and all bytes of the file system of a folder.
fn space(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some((found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize)))
}
