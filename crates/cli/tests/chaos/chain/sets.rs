//! What has become of each record of each activity, in words that are the same in every home: documents and work items by what they are of,
//! and not by their identifiers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use strongroom_database::Database;
use strongroom_records::{Cursor, RecordState, lists};
use strongroom_registry::activities::{self, Activity};
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::provenance::{self, By};
use strongroom_registry::{ActivityId, ItemId, Scope, Transaction, documents};

use crate::bags::sha512;

/// Rows that are read at once.
const PAGE: usize = 1_000;
/// Differences that are told.
const TOLD: usize = 5;

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    state: RecordState,
    result: Option<String>,
    error: Option<String>,
}

/// What became of the records of each activity, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sets(Vec<BTreeMap<String, End>>);

impl Sets {
    /// Reads those of these activities. `host` is that of the sources, which differs from home to home.
    ///
    /// # Errors
    /// Two records of an activity are the same; a processed record has not exactly one row of provenance, with its result; a deposit made
    /// other work items than its results say.
    pub(super) fn read(database: &dyn Database, host: &str, ids: &[ActivityId]) -> Result<Self> {
        let mut reading = Reading { host, names: BTreeMap::new() };
        database.read(|tx| Ok(Self(ids.iter().map(|id| reading.activity(tx, *id)).collect::<Result<_>>()?)))
    }

    /// How many have failed, by activity.
    pub(super) fn failed(&self) -> Vec<u64> {
        let failed =
            |ends: &BTreeMap<_, End>| ends.values().filter(|end| end.state == RecordState::Failed).count() as u64;
        self.0.iter().map(failed).collect()
    }

    /// How many there are, by activity.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.0.iter().map(BTreeMap::len).collect()
    }

    /// In what they differ.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let mut told = Vec::new();
        for (nth, (ours, theirs)) in self.0.iter().zip(&other.0).enumerate() {
            let all: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            let differ = all.into_iter().filter(|record| ours.get(*record) != theirs.get(*record));
            told.extend(differ.take(TOLD).map(|record| {
                format!("activity {nth}, {record}: {:?}, undisturbed {:?}", ours.get(record), theirs.get(record))
            }));
        }
        told
    }
}

struct Reading<'h> {
    host: &'h str,
    /// What entities are.
    names: BTreeMap<String, String>,
}

impl Reading<'_> {
    fn activity(&mut self, tx: &mut dyn Transaction, id: ActivityId) -> Result<BTreeMap<String, End>> {
        let activity = activities::find(tx, Scope::System, id)?;
        let mut made = made(tx, &activity)?;
        let mut ends = BTreeMap::new();
        for state in RecordState::ALL {
            let mut after = Cursor::START;
            loop {
                let page = lists::page(tx, activity.list, (state, after), PAGE)?;
                let Some(last) = page.last() else { break };
                after = last.cursor;
                for record in page {
                    if state == RecordState::Processed {
                        let entity = made.remove(&record.id).with_context(|| format!("no provenance: {record:?}"))?;
                        let result = record.result.as_ref().unwrap_or(&record.id);
                        ensure!(entity == *result, "provenance says {entity}: {record:?}");
                    }
                    let result = record.result.map(|result| self.name(tx, result)).transpose()?;
                    let error = record.error.filter(|_| state == RecordState::Failed);
                    let of_home = |error: String| error.replace(self.host, "HOST").replace(&id.to_string(), "ACTIVITY");
                    let error = error.map(of_home);
                    let name = self.name(tx, record.id)?;
                    let before = ends.insert(name.clone(), End { state, result, error });
                    ensure!(before.is_none(), "{name} is there twice");
                }
            }
        }
        ensure!(made.is_empty(), "there is provenance of what was not processed: {made:?}");
        if activity.agent == "deposit" {
            self.check_items(tx, &ends)?;
        }
        Ok(ends)
    }

    /// Whether the work items are those that the records made.
    fn check_items(&mut self, tx: &mut dyn Transaction, ends: &BTreeMap<String, End>) -> Result<()> {
        let made: Vec<&String> = ends.values().filter_map(|end| end.result.as_ref()).collect();
        let items = items::list(tx, Scope::System, &ItemFilter::default(), None, made.len() + 1)?;
        ensure!(items.len() == made.len(), "{} work items of {} records", items.len(), made.len());
        let items = items.into_iter().map(|item| self.name(tx, item.id.to_string()));
        let items = items.collect::<Result<BTreeSet<String>>>()?;
        ensure!(made.iter().all(|name| items.contains(*name)), "the work items are {items:?}, the results {made:?}");
        Ok(())
    }

    /// What an entity is.
    fn name(&mut self, tx: &mut dyn Transaction, entity: String) -> Result<String> {
        if let Some(name) = self.names.get(&entity) {
            return Ok(name.clone());
        }
        let name = if let Some(id) = documents::of_entity(&entity) {
            let document = documents::get(tx, id)?.with_context(|| format!("{entity} is not kept"))?;
            format!("document of {}, {}, {}", document.record, document.media_type, sha512(&document.bytes))
        } else if let Ok(id) = entity.parse::<ItemId>() {
            let item = items::get(tx, Scope::System, id)?.with_context(|| format!("there is no item {entity}"))?;
            format!("item of {}, {}", item.object_identifier, item.name)
        } else {
            entity.replace(self.host, "HOST")
        };
        self.names.insert(entity, name.clone());
        Ok(name)
    }
}

/// What an activity has made of each record, by the rows of provenance, of which there is one for each.
fn made(tx: &mut dyn Transaction, activity: &Activity) -> Result<BTreeMap<String, String>> {
    let (mut made, mut after) = (BTreeMap::new(), None);
    loop {
        let page = provenance::results(tx, By::from(activity), true, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(made) };
        after = Some(last.cursor);
        for row in page {
            let before = made.insert(row.record.clone(), row.entity);
            ensure!(before.is_none(), "two rows of provenance of {}", row.record);
        }
    }
}
