//! What must hold of bags: what an item deposited is a version, a part of an object leaves the other parts as they are, an upload is kept,
//! and objects come back.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::bags::{Bag, files_of_tar, sha512};
use crate::kept::{Generation, Kept, Place};
use crate::origins::Origins;
use crate::perform::{Cast, Deposited};
use crate::promises::text;
use crate::promises_of_packages::deposited;
use crate::world::INSTITUTION;

impl Cast {
    /// The bags that an item may have deposited: one, or, where it came otherwise, every variant of the bag of that name.
    fn bags_of(&self, item: &str, name: &str) -> Vec<Bag> {
        let of_deposit = self.deposits.iter().find(|deposit| deposit.item.as_deref() == Some(item));
        if let Some(Deposited::Bag(slot, variant)) = of_deposit.map(|deposit| &deposit.what) {
            return vec![self.bags[*slot][*variant].clone()];
        }
        let name = name.trim_end_matches(".tar");
        self.bags.iter().flatten().filter(|bag| bag.slot.bag_name() == name).cloned().collect()
    }

    /// What an item that succeeded deposited is kept, but for what was deleted of it afterwards.
    pub(crate) fn succeeded(&mut self, item: &Value, kept: &[Kept]) -> Result<()> {
        let id = text(item, "item");
        let bags = self.bags_of(id, text(item, "name"));
        let Some(object) = kept.iter().find(|object| object.identifier == text(item, "object")) else {
            self.find(format!("an item succeeded and its object is not kept: {item}"));
            return Ok(());
        };
        let is_kept = |version: u64| bags.iter().any(|bag| has_all(&object.generation, version, bag));
        let is_right = match object.place_of(id) {
            Place::Version(version) => is_kept(version),
            Place::Deleted => true,
            Place::Nowhere => object.versions().any(is_kept) || self.has_ended_before_deletion(id, object)?,
        };
        if !is_right {
            self.find(format!("an item succeeded and what it deposited is not kept: {item}"));
        }
        Ok(())
    }

    /// A version has the payload of one bag that its item may have deposited, and of an object that comes in parts every other part as it
    /// was; but for what was deleted of it afterwards.
    pub(crate) fn versions_follow_from_bags(&mut self, kept: &[Kept]) -> Result<()> {
        let names: BTreeMap<String, String> = self
            .all_items()?
            .iter()
            .map(|item| (text(item, "item").to_owned(), text(item, "name").to_owned()))
            .collect();
        for object in kept {
            if !self.is_of_bags(object) {
                continue;
            }
            let made_by: BTreeMap<u64, &String> =
                object.generation.made_by.iter().map(|(item, version)| (*version, item)).collect();
            let mut before = BTreeMap::new();
            for version in object.versions() {
                let mut found = deposited(&object.generation, version);
                found.retain(|path, _| path.starts_with("data/"));
                let item = made_by.get(&version).map(|item| item.as_str()).unwrap_or_default();
                let bags = self.bags_of(item, names.get(item).map(String::as_str).unwrap_or_default());
                let gone = object.generation.gone(version);
                let is_made_of = |bag: &Bag| {
                    let folder = bag.slot.folder();
                    let is_of_slot = |path: &str| bag.slot.part.is_none() || path.starts_with(&folder);
                    let of_bag = payload(bag).filter(|(path, _)| !gone.contains(format!("deposit/{path}").as_str()));
                    let others = |files: &BTreeMap<String, String>| -> BTreeMap<String, String> {
                        let others = files.iter().filter(|(path, _)| !is_of_slot(path));
                        others.map(|(path, digest)| (path.clone(), digest.clone())).collect()
                    };
                    found.iter().filter(|(path, _)| is_of_slot(path)).eq(of_bag) && others(&found) == others(&before)
                };
                if !bags.iter().any(is_made_of) {
                    self.find(format!(
                        "version {version} of {}, of item {item:?}, has {found:?} after {before:?}; deleted were {gone:?}",
                        object.identifier
                    ));
                }
                before = found;
            }
        }
        Ok(())
    }

    /// What was put into the receiving store last under a name lies there, or is kept, but for what was deleted of it.
    pub(crate) fn uploads_are_kept(&mut self, kept: &[Kept]) -> Result<()> {
        let mut last: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for upload in &self.uploads {
            last.insert(self.bags[upload.bag.0][upload.bag.1].slot.bag_name(), upload.bag);
        }
        let items = self.all_items()?;
        let folder = self.world.as_folder("receiving", "checked")?.join(INSTITUTION);
        for (name, (slot, variant)) in last {
            let bag = self.bags[slot][variant].clone();
            let file = format!("{name}.tar");
            let still_there = fs::read(folder.join(&file)).is_ok_and(|bytes| sha512(&bytes) == bag.sha512);
            let object = kept.iter().find(|object| object.identifier == format!("{INSTITUTION}/{}", bag.slot.object));
            let is_kept = object
                .is_some_and(|object| object.versions().any(|version| has_all(&object.generation, version, &bag)));
            let mut was_deleted = false;
            if let (Some(object), false) = (object, still_there || is_kept) {
                // Which of the items that came by themselves it was is not known.
                let is_known = |id: &str| self.deposits.iter().any(|deposit| deposit.item.as_deref() == Some(id));
                let came = items.iter().filter(|item| {
                    text(item, "action") == "ingest"
                        && text(item, "name") == file
                        && text(item, "status") == "succeeded"
                        && !is_known(text(item, "item"))
                });
                for item in came {
                    let id = text(item, "item");
                    was_deleted |= match object.place_of(id) {
                        Place::Deleted => true,
                        Place::Version(_) => false,
                        Place::Nowhere => self.has_ended_before_deletion(id, object)?,
                    };
                }
            }
            if !(still_there || is_kept || was_deleted) {
                self.find(format!("the upload {file} (variant {variant}) is gone and kept nowhere"));
            }
        }
        Ok(())
    }

    fn is_of_bags(&self, object: &Kept) -> bool {
        let name = object.identifier.rsplit('/').next().unwrap_or_default();
        self.bags.iter().flatten().any(|bag| bag.slot.object == name)
    }

    /// Every object is restored with the files of its newest version; of one that was deleted nothing is.
    pub(crate) fn objects_come_back(&mut self, kept: &[Kept], origins: &Origins) -> Result<()> {
        fs::create_dir_all(self.world.path("back"))?;
        for (number, object) in kept.iter().enumerate() {
            if object.is_deleted() {
                self.does_not_come_back(object)?;
                continue;
            }
            if !self.is_of_bags(object) {
                self.package_comes_back(number, object, origins)?;
                continue;
            }
            let name = object.identifier.rsplit('/').next().unwrap_or_default();
            let answer =
                self.world.run(["restore", "object", &object.identifier, "--to", "back", "--wait", "--json"])?;
            if answer.code != Some(0) {
                self.find(format!("{} is not restored: {answer:?}", object.identifier));
                continue;
            }
            let tar = self.world.path("back").join(format!("{name}.tar"));
            let valid = self.world.run(["bag".as_ref(), "validate".as_ref(), tar.as_os_str()])?;
            if valid.code != Some(0) {
                self.find(format!("the restored bag of {} is not valid: {valid:?}", object.identifier));
            }
            let mut files = files_of_tar(&tar)?;
            files.retain(|path, _| path.starts_with("data/"));
            let mut wanted = deposited(&object.generation, object.head());
            wanted.retain(|path, _| path.starts_with("data/"));
            if files != wanted {
                self.find(format!("{} comes back with {files:?}, kept is {wanted:?}", object.identifier));
            }
        }
        Ok(())
    }

    fn does_not_come_back(&mut self, object: &Kept) -> Result<()> {
        let name = object.identifier.rsplit('/').next().unwrap_or_default();
        let answer = self.world.run(["restore", "object", &object.identifier, "--to", "back", "--wait", "--json"])?;
        if answer.code == Some(0) || self.world.path("back").join(format!("{name}.tar")).exists() {
            self.find(format!("{} was deleted and is restored: {answer:?}", object.identifier));
        }
        Ok(())
    }
}

fn payload(bag: &Bag) -> impl Iterator<Item = (&String, &String)> {
    bag.files.iter().filter(|(path, _)| path.starts_with("data/"))
}

/// Whether a version has every file of a bag, with its bytes, but for those that were deleted of it afterwards.
fn has_all(generation: &Generation, version: u64, bag: &Bag) -> bool {
    let Some(state) = generation.stored.versions.get(&version) else { return false };
    let gone = generation.gone(version);
    bag.files.iter().all(|(path, digest)| {
        let path = format!("deposit/{path}");
        if gone.contains(path.as_str()) { !state.contains_key(&path) } else { state.get(&path) == Some(digest) }
    })
}
