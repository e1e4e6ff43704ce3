//! The state of an installation on one page: what is worked on, what needs a person, how the stores and their copies are. It
//! reads the registry, and shows each store as it stands; one that is away hides nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use strongroom_queue::TopicCounts;
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::{
    FindingKind, Health, ItemId, ItemStatus, RegistryError, Scope, Stage, Transaction, UploadState, backfill, health,
    objects::Object, outbox, schedules,
};

use crate::settings::Settings;
use crate::{Availability, EngineError, Home};

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
    pub queue: Vec<TopicCounts>,
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
    /// Stores that are away or refused.
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

/// One store.
#[derive(Debug, Clone, Serialize)]
pub struct StoreStatus {
    /// Its name.
    pub store: String,
    /// `folder` or `s3`.
    pub kind: String,
    /// Whether it can be used.
    pub reachable: bool,
    /// `available`, `away`, or `refused` where it is not the store that it should be.
    pub state: &'static str,
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
    /// Files of objects' logs that it has still to get.
    pub missed_logs: u64,
}

impl StoreStatus {
    /// Whether it answers, and is not the store that it should be.
    pub fn is_refused(&self) -> bool {
        self.state == Availability::Refused.as_str()
    }
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
pub fn collect(home: &Home) -> Result<Status, EngineError> {
    let registry = &home.registry;
    let findings = registry.read(health::open_findings)?;
    let missed = registry.read(strongroom_registry::stores::missed_log_counts)?;
    let states = home.store_states();
    let mut stores = Vec::with_capacity(states.len());
    let mut oldest_check = None;
    for state in states {
        let Some(store) = home.settings.stores.get(&state.store) else { continue };
        let oldest = registry.read(|tx| health::oldest_check(tx, &state.store))?;
        oldest_check = [oldest_check, oldest].into_iter().flatten().min();
        let is_available = state.availability == Availability::Available;
        let space = store.folder(&home.directory).filter(|_| is_available).and_then(|folder| space(&folder));
        let missed = missed.iter().find(|(name, _, _)| *name == state.store);
        stores.push(StoreStatus {
            kind: store.kind().to_owned(),
            reachable: is_available,
            state: state.availability.as_str(),
            message: state.reason,
            free: space.map(|(free, _)| free),
            capacity: space.map(|(_, capacity)| capacity),
            oldest_check: oldest.map(|time| time.to_string()),
            problems: findings.iter().filter(|one| one.store == state.store).map(|one| one.findings).sum(),
            missed_logs: missed.map_or(0, |(_, logs, _)| *logs),
            store: state.store,
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
        queue,
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
