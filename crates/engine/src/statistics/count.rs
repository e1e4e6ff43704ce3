//! What an object adds to the statistics: the difference between what the registry has of it and what was counted of it before. Amounts of
//! versions are of the day on which the version was made, as every store knows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strongroom_registry::statistics::{
    self as rows, DayKey, Epoch, Flow, Growth, Increment, ObjectFacts, PartKey, PartOfVersion,
};
use strongroom_registry::{CollectionId, ObjectId, RegistryError, Time, Transaction};
use uuid::Uuid;

use super::days::day_of;
use crate::EngineError;

/// What was counted of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Counted {
    collection: Option<CollectionId>,
    /// Generation and number of the last version.
    last: Option<(Uuid, u64)>,
    /// Files and bytes by store and class.
    stored: Vec<Part>,
    /// Files and bytes by format and type.
    formatted: Vec<Part>,
    /// Objects, files and bytes that were deleted, by day.
    deleted: BTreeMap<i64, (i64, i64, i64)>,
    /// When the last of it was deleted.
    last_deleted: Option<i64>,
    /// Restorations and the bytes of their results, by day.
    restored: BTreeMap<i64, (i64, i64)>,
}

type Parts = BTreeMap<(String, String), Growth>;
/// Store and class, or format and type, with files and bytes.
type Part = (String, String, i64, i64);
/// What was counted before: amounts, the collection, and the last version.
type Before<'c> = (&'c [Part], Option<CollectionId>, Option<(Uuid, u64)>);
type Days = BTreeMap<DayKey, Flow>;

/// What each of these objects adds to each of these epochs.
pub(super) fn increments(
    tx: &mut dyn Transaction,
    objects: &[ObjectId],
    epochs: &[Epoch],
) -> Result<Vec<Increment>, EngineError> {
    let today = day_of(tx.now().map_err(RegistryError::from)?);
    let mut increments = Vec::new();
    for object in objects {
        // An object that was never published may be gone.
        let Some(facts) = rows::facts(tx, *object)? else { continue };
        for epoch in epochs {
            let before = rows::counted(tx, epoch.number, *object)?;
            increments.push(increment(&facts, *object, epoch.number, before, today)?);
        }
    }
    Ok(increments)
}

fn increment(
    facts: &ObjectFacts,
    object: ObjectId,
    epoch: u64,
    before: Option<String>,
    today: i64,
) -> Result<Increment, EngineError> {
    let unfit = |error: serde_json::Error| RegistryError::Corrupt {
        wanted: "what was counted of an object",
        found: error.to_string(),
    };
    let old: Counted = before.as_deref().map(serde_json::from_str).transpose().map_err(unfit)?.unwrap_or_default();
    let new = counted(facts);
    let changed_on =
        if new.last_deleted > old.last_deleted { new.last_deleted.map(|time| day_of(Time(time))) } else { None };
    let changed_on = changed_on.unwrap_or(today);
    let growth = |part: fn(&Counted) -> &Vec<Part>, brought: &[PartOfVersion]| {
        grown(facts, (part(&old), old.collection, old.last), part(&new), brought, changed_on)
    };
    Ok(Increment {
        epoch,
        object,
        institution: facts.institution,
        before,
        after: serde_json::to_string(&new).map_err(unfit)?,
        last: facts.versions.last().map(|(generation, number, ..)| (*generation, *number)),
        days: flows(facts, &old, &new),
        storage: growth(|counted| &counted.stored, &facts.stored),
        formats: growth(|counted| &counted.formatted, &facts.formatted),
    })
}

/// What is to be counted of an object.
fn counted(facts: &ObjectFacts) -> Counted {
    let mut deleted: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
    for time in &facts.deletions {
        deleted.entry(day_of(*time)).or_default().0 += 1;
    }
    for (time, amount) in &facts.deleted {
        let day = deleted.entry(day_of(*time)).or_default();
        day.1 += signed(amount.files);
        day.2 += signed(amount.bytes);
    }
    let mut restored: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for (time, bytes) in &facts.disseminations {
        let day = restored.entry(day_of(*time)).or_default();
        day.0 += 1;
        day.1 += signed(*bytes);
    }
    let times = facts.deletions.iter().chain(facts.deleted.iter().map(|(time, _)| time));
    Counted {
        collection: facts.collection,
        last: facts.versions.last().map(|(generation, number, ..)| (generation.0, *number)),
        stored: listed(summed(&facts.stored)),
        formatted: listed(summed(&facts.formatted)),
        deleted,
        last_deleted: times.map(|time| time.0).max(),
        restored,
    }
}

/// What is added to days.
fn flows(facts: &ObjectFacts, old: &Counted, new: &Counted) -> Vec<(DayKey, Flow)> {
    let mut days = Days::new();
    let mut generation = None;
    for (of, number, made_at, amount) in &facts.versions {
        let is_first = generation.replace(*of) != Some(*of);
        let mut count = |collection, sign: i64| {
            let flow = days.entry((day_of(*made_at), collection)).or_default();
            flow.versions += sign;
            flow.objects += sign * i64::from(is_first);
            flow.files += sign * signed(amount.files);
            flow.bytes += sign * signed(amount.bytes);
        };
        // An object that came into a collection later is of it from its first day on.
        if Some((of.0, *number)) <= old.last {
            count(old.collection, -1);
        }
        count(facts.collection, 1);
    }
    let collection_of = |sign: i64| if sign < 0 { old.collection } else { facts.collection };
    for (day, (objects, files, bytes), sign) in with_signs(&old.deleted, &new.deleted) {
        let flow = days.entry((day, collection_of(sign))).or_default();
        flow.deleted_objects += sign * objects;
        flow.deleted_files += sign * files;
        flow.deleted_bytes += sign * bytes;
    }
    for (day, (restorations, bytes), sign) in with_signs(&old.restored, &new.restored) {
        let flow = days.entry((day, collection_of(sign))).or_default();
        flow.restorations += sign * restorations;
        flow.restored_bytes += sign * bytes;
    }
    days.retain(|_, flow| *flow != Flow::default());
    days.into_iter().collect()
}

/// Old values to be taken away, and new ones to be added.
fn with_signs<T: Copy>(old: &BTreeMap<i64, T>, new: &BTreeMap<i64, T>) -> Vec<(i64, T, i64)> {
    let old = old.iter().map(|(day, value)| (*day, *value, -1));
    old.chain(new.iter().map(|(day, value)| (*day, *value, 1))).collect()
}

/// By how much what is kept has grown: by what new versions brought, on the days on which they were made; what is left of the difference, such
/// as what was deleted or brought into another store, on `changed_on`.
fn grown(
    facts: &ObjectFacts,
    (old, old_collection, last): Before<'_>,
    new: &[Part],
    brought: &[PartOfVersion],
    changed_on: i64,
) -> Vec<(PartKey, Growth)> {
    let (old, new) = (unlisted(old), unlisted(new));
    let mut left: BTreeMap<(Option<CollectionId>, String, String), Growth> = BTreeMap::new();
    for ((first, second), growth) in &old {
        add(left.entry((old_collection, first.clone(), second.clone())).or_default(), growth, -1);
    }
    for ((first, second), growth) in &new {
        add(left.entry((facts.collection, first.clone(), second.clone())).or_default(), growth, 1);
    }
    let mut grown: BTreeMap<PartKey, Growth> = BTreeMap::new();
    let new_versions = facts.versions.iter().filter(|(generation, number, ..)| Some((generation.0, *number)) > last);
    for (generation, number, made_at, _) in new_versions {
        for part in brought.iter().filter(|part| part.version == (*generation, *number)) {
            let key = (facts.collection, part.first.clone(), part.second.clone());
            let left = left.entry(key.clone()).or_default();
            let growth = Growth {
                // The first version with something there makes the object be there.
                objects: left.objects.max(0),
                files: signed(part.amount.files),
                bytes: signed(part.amount.bytes),
            };
            add(left, &growth, -1);
            add(grown.entry((day_of(*made_at), key.0, key.1, key.2)).or_default(), &growth, 1);
        }
    }
    for ((collection, first, second), growth) in left {
        add(grown.entry((changed_on, collection, first, second)).or_default(), &growth, 1);
    }
    grown.retain(|_, growth| *growth != Growth::default());
    grown.into_iter().collect()
}

fn add(to: &mut Growth, growth: &Growth, sign: i64) {
    to.objects += sign * growth.objects;
    to.files += sign * growth.files;
    to.bytes += sign * growth.bytes;
}

fn summed(parts: &[PartOfVersion]) -> Parts {
    let mut sums = Parts::new();
    for part in parts {
        let sum = sums.entry((part.first.clone(), part.second.clone())).or_default();
        sum.objects = 1;
        sum.files += signed(part.amount.files);
        sum.bytes += signed(part.amount.bytes);
    }
    sums
}

fn listed(parts: Parts) -> Vec<Part> {
    parts.into_iter().map(|((first, second), growth)| (first, second, growth.files, growth.bytes)).collect()
}

fn unlisted(parts: &[Part]) -> Parts {
    let growth = |files: i64, bytes: i64| Growth { objects: 1, files, bytes };
    parts
        .iter()
        .map(|(first, second, files, bytes)| ((first.clone(), second.clone()), growth(*files, *bytes)))
        .collect()
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
