//! What stores lack is enqueued without a command, at the rate of the settings. The background task `placements` finds it and counts it; what
//! waits already, or was given up, is not enqueued again. What was found last is kept for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use strongroom_queue::{Enqueued, NewTask, tasks};
use strongroom_registry::placements::{self, Marked};
use strongroom_registry::{Registry, RegistryError, Time, Transaction, backfill as rows, counted, tenants};

use super::rate::Credit;
use super::turns::{Candidate, Turns};
use super::{OBJECTS_AT_ONCE, TOPIC};
use crate::runtime::Shutdown;
use crate::settings::{Backfill, Settings};
use crate::work::object_store_key;
use crate::{EngineError, Home, hold};

/// The fact that says how much may be enqueued.
const CREDIT: &str = "placements.credit";
/// The fact that names the institution of which an object was enqueued last.
const LAST: &str = "placements.last_institution";
/// The fact that says what was found last.
const PROGRESS: &str = "placements.progress";
/// The most that one run enqueues, whatever the rate: they are in memory.
const MOST_AT_ONCE: usize = 10_000;

/// What was found in one store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreProgress {
    /// Objects that it does not hold whole.
    pub lacking: u64,
    /// Those of which a task waits or is being worked on.
    pub queued: u64,
    /// Those whose task was given up: none is enqueued until a person retries it.
    pub given_up: u64,
}

impl StoreProgress {
    /// Those that are still to be enqueued.
    pub fn left(&self) -> u64 {
        self.lacking.saturating_sub(self.queued).saturating_sub(self.given_up)
    }
}

/// What the background task found last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillProgress {
    /// When, in microseconds since 1970.
    found_at: i64,
    /// In each store that lacked something.
    pub stores: BTreeMap<String, StoreProgress>,
}

impl BackfillProgress {
    /// What was found last; nothing where no run has ended yet.
    pub fn read(registry: &Registry) -> Result<Self, RegistryError> {
        let text = registry.read(|tx| tenants::fact(tx, PROGRESS))?;
        // What another version wrote in another form is found anew within a minute.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// When it was found.
    pub fn found_at(&self) -> Time {
        Time(self.found_at)
    }

    /// How far each store is, in words; none where nothing was lacking.
    pub fn in_words(&self, settings: &Settings) -> Option<String> {
        let of_store = |(store, found): (&String, &StoreProgress)| {
            let mut text = format!("{store} lacks {}", counted(found.lacking, "object", "objects"));
            for (count, what) in [(found.queued, "in the queue"), (found.given_up, "given up")] {
                if count > 0 {
                    let _ = write!(text, ", {count} {what}");
                }
            }
            text
        };
        let stores: Vec<String> = self.stores.iter().map(of_store).collect();
        let mut text = (!stores.is_empty()).then(|| stores.join("; "))?;
        let per_hour = settings.backfill.objects_per_hour;
        if let Some(time) = self.enqueued_by(settings) {
            let _ = write!(text, "; at {per_hour} an hour the last one is enqueued at {time} at the earliest");
        } else if per_hour == 0 {
            text.push_str("; backfill.objects_per_hour is 0, so none is enqueued without a command");
        }
        Some(text)
    }

    /// When the last object of a store is enqueued at the earliest; none where nothing is left to be enqueued, or the settings have
    /// no rate. Objects of all stores share the rate.
    pub fn enqueued_by(&self, settings: &Settings) -> Option<Time> {
        let left: u64 = self.stores.values().map(StoreProgress::left).sum();
        let per_hour = settings.backfill.objects_per_hour;
        if left == 0 || per_hour == 0 {
            return None;
        }
        let micros = i128::from(left).saturating_mul(3_600_000_000) / i128::from(per_hour);
        Some(self.found_at().plus(i64::try_from(micros).unwrap_or(i64::MAX)))
    }
}

/// What a run finds, object by object.
pub(crate) struct Finding<'h> {
    home: &'h Home,
    turns: Turns,
    found: BTreeMap<String, StoreProgress>,
    /// The stores that take copies now: asked for when the first one lacks something.
    usable: Option<BTreeSet<String>>,
}

impl<'h> Finding<'h> {
    /// Begins with nothing found.
    pub(crate) fn begin(home: &'h Home) -> Result<Self, EngineError> {
        let rate = home.settings.backfill.clone();
        let (objects, last) = home.registry.read(|tx| {
            let credit = credit(tx, &rate)?;
            Ok::<_, RegistryError>((credit.objects(&rate), tenants::fact(tx, LAST)?.unwrap_or_default()))
        })?;
        let turns = Turns::new(objects.min(MOST_AT_ONCE), last);
        Ok(Self { home, turns, found: BTreeMap::new(), usable: None })
    }

    /// Counts what a page of marked objects lacks, and keeps what may be enqueued.
    pub(crate) fn add<'p>(&mut self, page: &'p [Marked]) -> Result<(), EngineError> {
        let lacking = |marked: &'p Marked| {
            let Marked { object, institution, lacking_in, .. } = marked;
            lacking_in.iter().map(move |store| (*object, institution.as_deref().unwrap_or_default(), store))
        };
        let lacking: Vec<_> = page.iter().flat_map(lacking).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let usable = match self.usable.take() {
            Some(usable) => usable,
            None => usable(self.home)?,
        };
        let keys: Vec<String> = lacking.iter().map(|(object, _, store)| object_store_key(*object, store)).collect();
        let known = self.home.registry.read(|tx| Ok::<_, RegistryError>(tasks::known(tx, TOPIC, &keys)?))?;
        for ((object, institution, store), known) in lacking.into_iter().zip(known) {
            let found = self.found.entry(store.clone()).or_default();
            found.lacking += 1;
            if known.is_live {
                found.queued += 1;
            } else if known.is_dead {
                found.given_up += 1;
            } else if usable.contains(store) {
                self.turns.add(store, institution, object);
            }
        }
        self.usable = Some(usable);
        Ok(())
    }

    /// Enqueues what the rate allows, and keeps what was found for people. What was found, and how many tasks were enqueued.
    pub(crate) fn end(self, stop: &Shutdown) -> Result<(BTreeMap<String, StoreProgress>, u64), EngineError> {
        let Self { home, turns, mut found, .. } = self;
        let most = home.settings.backfill.max_queued;
        let room = |store: &str| {
            let queued = found.get(store).map_or(0, |found| found.queued);
            usize::try_from(most.saturating_sub(queued)).unwrap_or(usize::MAX)
        };
        let mut enqueued = 0;
        let chosen = turns.chosen(room);
        // Without any, too, the credit is kept as it is now: a clock that was set back counts from here.
        let without: &[Candidate] = &[];
        let pages =
            chosen.chunks(OBJECTS_AT_ONCE).chain(Some(without).filter(|_| chosen.is_empty() && !found.is_empty()));
        for chosen in pages {
            if stop.is_requested() {
                break;
            }
            let made = enqueue(home, chosen)?;
            for candidate in &made {
                found.entry(candidate.store.clone()).or_default().queued += 1;
            }
            enqueued += made.len() as u64;
            if made.len() < chosen.len() {
                break;
            }
        }
        keep(home, &found)?;
        Ok((found, enqueued))
    }
}

/// The preservation stores that are in use, answer, and can be written to.
fn usable(home: &Home) -> Result<BTreeSet<String>, EngineError> {
    home.compare_stores()?;
    home.try_stores();
    let retired = home.registry.read(rows::retired)?;
    let stores = home.preservation_stores().into_iter();
    let usable = stores.filter(|store| {
        !retired.contains(store.name()) && home.away(store.name()).is_none() && store.check_writable().is_ok()
    });
    Ok(usable.map(|store| store.name().to_owned()).collect())
}

/// The credit that there is now.
fn credit(tx: &mut dyn Transaction, rate: &Backfill) -> Result<Credit, RegistryError> {
    let now = tx.now()?;
    let known = tenants::fact(tx, CREDIT)?.and_then(|text| text.parse::<Credit>().ok());
    Ok(known.map_or_else(|| Credit::first(now, rate), |credit| credit.at(now, rate)))
}

/// Enqueues these as far as the credit allows it; those of which a task was made. A process beside this one that has lost its
/// lease spends the same credit.
fn enqueue(home: &Home, chosen: &[Candidate]) -> Result<Vec<Candidate>, EngineError> {
    let (rate, chosen) = (home.settings.backfill.clone(), chosen.to_vec());
    let max_attempts = home.settings.pool(TOPIC).max_attempts;
    let made = home.registry.write(move |tx| {
        placements::take_turn(tx)?;
        let mut credit = credit(tx, &rate)?;
        let (mut new, mut sizes) = (Vec::new(), Vec::new());
        for Candidate { object, institution, store } in &chosen {
            if credit.objects(&rate) == 0 {
                break;
            }
            let bytes = placements::bytes_lacking(tx, *object, store)?;
            credit.spend(bytes);
            sizes.push(bytes);
            let key = object_store_key(*object, store);
            new.push(NewTask { fair_key: institution.clone(), max_attempts, ..NewTask::new(TOPIC, key, Vec::new()) });
        }
        let mut made = Vec::new();
        let answers = tasks::enqueue(tx, &new)?;
        for ((candidate, answer), bytes) in chosen.iter().zip(answers).zip(sizes) {
            match answer {
                Enqueued::Created(_) => made.push(candidate.clone()),
                Enqueued::Existing(_) | Enqueued::MarkedAgain(_) => credit.restore(bytes),
            }
        }
        tenants::set_fact(tx, CREDIT, &credit.to_string())?;
        if let Some(last) = made.last() {
            tenants::set_fact(tx, LAST, &last.institution)?;
        }
        Ok::<_, RegistryError>(made)
    })?;
    if !made.is_empty() {
        home.registry.wakeups().notify([TOPIC]);
    }
    Ok(made)
}

/// Keeps what was found, where it says something else than before or something is lacking.
fn keep(home: &Home, found: &BTreeMap<String, StoreProgress>) -> Result<(), EngineError> {
    let known = BackfillProgress::read(&home.registry)?;
    if found.is_empty() && known.stores.is_empty() {
        return Ok(());
    }
    let progress = BackfillProgress { found_at: hold::now(home)?.0, stores: found.clone() };
    let text = serde_json::to_string(&progress).unwrap_or_default();
    home.registry.write(move |tx| tenants::set_fact(tx, PROGRESS, &text))?;
    Ok(())
}
