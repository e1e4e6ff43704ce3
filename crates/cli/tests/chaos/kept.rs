//! The objects as the registry has them and as the stores hold them: each with its newest generation, and with those before it, of
//! which each was deleted as a whole.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::Value;
use strongroom_engine::Home;
use strongroom_registry::versions::{self, Version};
use strongroom_registry::{GenerationId, ObjectId, Time, VersionState};

use crate::ocfl::StoredObject;
use crate::perform::Cast;
use crate::promises::text;
use crate::tombstones::Tombstone;

/// What an object is between its first deposit, or the first after its deletion, and its deletion: an OCFL object of its own.
pub(crate) struct Generation {
    pub(crate) stored: StoredObject,
    /// Which item made which version.
    pub(crate) made_by: BTreeMap<String, u64>,
    /// When readers first saw each version.
    pub(crate) published: BTreeMap<u64, Time>,
}

impl Generation {
    /// The logical paths that deletions of files took out of a version.
    pub(crate) fn gone(&self, version: u64) -> BTreeSet<&str> {
        let later = self.stored.tombstones.iter().filter(|tombstone| version <= tombstone.version);
        later.filter_map(|tombstone| tombstone.files.as_ref()).flatten().map(String::as_str).collect()
    }

    /// The deletion of all of it.
    pub(crate) fn end(&self) -> Option<&Tombstone> {
        self.stored.tombstones.iter().find(|tombstone| tombstone.is_whole())
    }
}

/// Where what an item deposited is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this version.
    Version(u64),
    /// It was in a version of a generation that was deleted.
    Deleted,
    /// It made no version.
    Nowhere,
}

/// An object.
pub(crate) struct Kept {
    pub(crate) id: String,
    pub(crate) identifier: String,
    /// The newest generation.
    pub(crate) generation: Generation,
    pub(crate) earlier: Vec<Generation>,
    pub(crate) local_ids: Vec<String>,
    pub(crate) ark: Option<String>,
}

impl Kept {
    pub(crate) fn is_deleted(&self) -> bool {
        self.generation.end().is_some()
    }

    pub(crate) fn head(&self) -> u64 {
        self.generation.stored.head()
    }

    /// Every generation, the oldest first.
    pub(crate) fn generations(&self) -> impl Iterator<Item = &Generation> {
        self.earlier.iter().chain([&self.generation])
    }

    /// Where what an item deposited is.
    pub(crate) fn place_of(&self, item: &str) -> Place {
        match self.generation.made_by.get(item) {
            Some(_) if self.is_deleted() => Place::Deleted,
            Some(version) => Place::Version(*version),
            None if self.earlier.iter().any(|earlier| earlier.made_by.contains_key(item)) => Place::Deleted,
            None => Place::Nowhere,
        }
    }

    /// The versions that are kept; none where the object is deleted.
    pub(crate) fn versions(&self) -> std::ops::RangeInclusive<u64> {
        1..=if self.is_deleted() { 0 } else { self.head() }
    }
}

impl Cast {
    /// Every published version is the stores' version of that number, and the stores hold no other. An object that was deposited again
    /// after its deletion has one OCFL object more in the stores for each time it was deleted.
    pub(crate) fn registry_and_stores_agree(&mut self, stores: &BTreeMap<String, StoredObject>) -> Result<Vec<Kept>> {
        let home = self.home()?;
        let mut kept = Vec::new();
        let objects = self.world.run(["objects", "list", "--json"])?.succeeded()?.json()?;
        let mut found = 0;
        for object in objects.iter().filter(|object| object["head"] != 0) {
            let identifier = text(object, "identifier").to_owned();
            let versions = self.world.run(["objects", "versions", &identifier, "--json"])?.succeeded()?.json()?;
            let (inventories, numbers) = published(&versions)?;
            let head = numbers.last().copied().unwrap_or_default();
            if object["head"].as_u64() != Some(head) || !numbers.iter().copied().eq(1..=head) {
                self.find(format!("{identifier} has the head {} and the versions {numbers:?}", object["head"]));
            }
            let Some((id, _)) = stores
                .iter()
                .find(|(_, stored)| stored.inventories == inventories && stored.versions.keys().eq(&numbers))
            else {
                self.find(format!("{identifier} with {head} published versions lies in no store like that"));
                continue;
            };
            let mut earlier = Vec::new();
            let is_of_object =
                |of: &StoredObject| of.tombstones.iter().any(|tombstone| tombstone.identifier == identifier);
            let others = stores.iter().filter(|(other, stored)| *other != id && is_of_object(stored));
            for (other, stored) in others {
                match generation_of(&home, object, other, stored)? {
                    Some(generation) if generation.end().is_some() => earlier.push(generation),
                    _ => self.find(format!("{other} lies in the stores beside the newest generation of {identifier}")),
                }
            }
            earlier.sort_by_key(|generation| generation.end().map(|end| end.time));
            let Some(generation) = generation_of(&home, object, id, &stores[id])? else {
                self.find(format!("the registry has no versions of {id} of {identifier}"));
                continue;
            };
            let is_deleted = text(object, "state") == "deleted";
            if is_deleted != generation.end().is_some() {
                self.find(format!(
                    "{identifier} is {} and has the tombstones {:?}",
                    object["state"], stores[id].tombstones
                ));
            }
            found += 1 + earlier.len();
            let local_ids = serde_json::from_value(object["local_ids"].clone())?;
            let ark = object["ark"].as_str().map(str::to_owned);
            let id = text(object, "object").to_owned();
            kept.push(Kept { id, identifier, generation, earlier, local_ids, ark });
        }
        if found != stores.len() {
            self.find(format!("the stores hold {} objects, the registry {found}", stores.len()));
        }
        Ok(kept)
    }
}

/// The inventories of the published versions that have one, and the numbers of all.
fn published(versions: &[Value]) -> Result<(BTreeMap<u64, String>, Vec<u64>)> {
    let (mut inventories, mut numbers) = (BTreeMap::new(), Vec::new());
    for version in versions.iter().filter(|version| text(version, "state") == "published") {
        let number = version["version"].as_u64().context("a version without number")?;
        numbers.push(number);
        if let Some(inventory) = version["inventory_sha512"].as_str() {
            inventories.insert(number, inventory.to_owned());
        }
    }
    Ok((inventories, numbers))
}

/// A generation of an object with its rows in the registry; none where these have other inventories.
fn generation_of(home: &Home, object: &Value, id: &str, stored: &StoredObject) -> Result<Option<Generation>> {
    let of_object = ObjectId(text(object, "object").parse()?);
    let generation = GenerationId(id.strip_prefix("urn:uuid:").context("an id that is no UUID")?.parse()?);
    let rows = home.registry.read(|tx| versions::list(tx, of_object, generation, false))?;
    let rows: Vec<Version> = rows.into_iter().filter(|row| row.state == VersionState::Published).collect();
    let inventories: BTreeMap<u64, String> =
        rows.iter().filter_map(|row| Some((row.number, row.inventory?.to_hex()))).collect();
    if inventories != stored.inventories || !rows.iter().map(|row| &row.number).eq(stored.versions.keys()) {
        return Ok(None);
    }
    let made_by = rows.iter().filter_map(|row| Some((row.item?.to_string(), row.number))).collect();
    let published = rows.iter().filter_map(|row| Some((row.number, row.published_at?))).collect();
    Ok(Some(Generation { stored: stored.clone(), made_by, published }))
}
