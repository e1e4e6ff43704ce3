//! What must hold at the end of a run, whatever happened in it. Each broken promise is a finding; all are told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::bags::{Bag, files_of_tar, sha512};
use crate::ocfl::{StoredObject, read_root};
use crate::origins::Origins;
use crate::perform::{Cast, Deposited};
use crate::plan::PRESERVATION;
use crate::world::INSTITUTION;

/// What the schedule removes by itself when its hour comes.
const SWEPT_LATER: &str = "staging.abandoned";

pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// An object as the registry has it and as the stores hold it.
pub(crate) struct Kept {
    pub(crate) identifier: String,
    pub(crate) stored: StoredObject,
    /// Which item made which version.
    pub(crate) made_by: BTreeMap<String, u64>,
    pub(crate) local_ids: Vec<String>,
    pub(crate) ark: Option<String>,
}

impl Cast {
    /// Checks every promise.
    pub(crate) fn check(&mut self) -> Result<()> {
        let stores = self.stores_are_whole()?;
        let kept = self.registry_and_stores_agree(&stores)?;
        self.nothing_is_found()?;
        let origins = self.origins()?;
        self.items_have_ended_as_they_say(&kept, &origins)?;
        self.packages_are_kept(&kept, &origins)?;
        self.batches_are_true()?;
        self.arks_are_registered(&kept)?;
        self.uploads_are_kept(&kept)?;
        self.objects_come_back(&kept, &origins)?;
        for bag in self.bags.iter().flatten() {
            if fs::read(&bag.tar).map(|bytes| sha512(&bytes)).ok().as_ref() != Some(&bag.sha512) {
                self.findings.push(format!("the deposited {} was touched", bag.tar.display()));
            }
        }
        Ok(())
    }

    pub(crate) fn find(&mut self, finding: impl Into<String>) {
        let finding = finding.into();
        self.world.log(format!("FINDING: {finding}"));
        self.findings.push(finding);
    }

    /// Every storage root is whole by its own digests, by our own reading and by `ocfl validate`; all hold the same.
    fn stores_are_whole(&mut self) -> Result<BTreeMap<String, StoredObject>> {
        let mut roots = Vec::new();
        for store in PRESERVATION {
            let folder = self.world.as_folder(store, "checked")?.join(INSTITUTION);
            let root = read_root(&folder);
            for fault in &root.faults {
                self.find(format!("{store}: {fault}"));
            }
            if !root.objects.is_empty() {
                let answer = self.world.run(["ocfl".as_ref(), "validate".as_ref(), folder.as_os_str()])?;
                if answer.code != Some(0) {
                    self.find(format!("ocfl validate of {store}: {answer:?}"));
                }
            }
            roots.push(root.objects);
        }
        let first = roots.swap_remove(0);
        for other in roots {
            for id in first.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                if first.get(id) != other.get(id) {
                    let heads = [&first, &other].map(|root| root.get(id).map(StoredObject::head));
                    self.find(format!("{id} differs between the stores: heads {heads:?}"));
                }
            }
        }
        Ok(first)
    }

    /// Every published version is the stores' version of that number, and the stores hold no other.
    fn registry_and_stores_agree(&mut self, stores: &BTreeMap<String, StoredObject>) -> Result<Vec<Kept>> {
        let mut kept = Vec::new();
        let objects = self.world.run(["objects", "list", "--json"])?.succeeded()?.json()?;
        for object in &objects {
            let identifier = text(object, "identifier").to_owned();
            if object["head"] == 0 {
                continue;
            }
            let versions = self.world.run(["objects", "versions", &identifier, "--json"])?.succeeded()?.json()?;
            let mut inventories = BTreeMap::new();
            let mut made_by = BTreeMap::new();
            for version in versions.iter().filter(|version| text(version, "state") == "published") {
                let number = version["version"].as_u64().context("a version without number")?;
                inventories.insert(number, text(version, "inventory_sha512").to_owned());
                made_by.insert(text(version, "item").to_owned(), number);
            }
            let head = inventories.keys().next_back().copied().unwrap_or_default();
            if object["head"].as_u64() != Some(head) {
                self.find(format!(
                    "{identifier} has the head {} and the published versions 1 to {head}",
                    object["head"]
                ));
            }
            match stores.values().find(|stored| stored.inventories == inventories) {
                Some(stored) => {
                    let local_ids = serde_json::from_value(object["local_ids"].clone())?;
                    let ark = object["ark"].as_str().map(str::to_owned);
                    kept.push(Kept { identifier, stored: stored.clone(), made_by, local_ids, ark });
                }
                None => self.find(format!("{identifier} with {head} published versions lies in no store like that")),
            }
        }
        if kept.len() != stores.len() {
            self.find(format!("the stores hold {} objects, the registry {}", stores.len(), kept.len()));
        }
        Ok(kept)
    }

    /// `store reconcile`, `fixity run --all` and `fixity problems` find nothing.
    fn nothing_is_found(&mut self) -> Result<()> {
        let answer = self.world.run(["store", "reconcile", "--json"])?;
        for difference in answer.json()? {
            if text(&difference, "code") == SWEPT_LATER {
                self.world.log(format!("not counted: {difference}"));
            } else {
                self.find(format!("store reconcile: {difference}"));
            }
        }
        if answer.code != Some(0) && answer.stdout.is_empty() {
            self.find(format!("store reconcile: {answer:?}"));
        }
        let round = self.world.run(["fixity", "run", "--all", "--json"])?;
        let is_clean =
            round.code == Some(0) && round.json()?.first().is_some_and(|round| round["passed"] == round["checked"]);
        if !is_clean {
            self.find(format!("fixity run: {round:?}"));
        }
        let problems = self.world.run(["fixity", "problems", "--json"])?;
        if problems.code != Some(0) || !problems.stdout.is_empty() {
            self.find(format!("fixity problems: {problems:?}"));
        }
        Ok(())
    }

    /// No item is open; what failed, failed although nothing is wrong; what succeeded is kept.
    fn items_have_ended_as_they_say(&mut self, kept: &[Kept], origins: &Origins) -> Result<()> {
        let items = self.world.run(["items", "list", "--json"])?.succeeded()?.json()?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for item in &items {
            *counts.entry(format!("{} {}", text(item, "action"), text(item, "status"))).or_default() += 1;
            match text(item, "status") {
                "succeeded" if text(item, "action") == "ingest" && !origins.is_of_package(text(item, "item")) => {
                    self.succeeded(item, kept);
                }
                "succeeded" | "cancelled" => {}
                _ => self.find(format!("an item could not be brought to its end: {item}")),
            }
        }
        self.world.log(format!("items: {counts:?}"));
        Ok(())
    }

    fn succeeded(&mut self, item: &Value, kept: &[Kept]) {
        let id = text(item, "item");
        let of_deposit = self.deposits.iter().find(|deposit| deposit.item.as_deref() == Some(id));
        // What came otherwise is some variant of the bag of that name.
        let bags: Vec<Bag> = if let Some(Deposited::Bag(slot, variant)) = of_deposit.map(|deposit| &deposit.what) {
            vec![self.bags[*slot][*variant].clone()]
        } else {
            let name = text(item, "name").trim_end_matches(".tar");
            self.bags.iter().flatten().filter(|bag| bag.slot.bag_name() == name).cloned().collect()
        };
        let Some(object) = kept.iter().find(|object| object.identifier == text(item, "object")) else {
            return self.find(format!("an item succeeded and its object is not kept: {item}"));
        };
        let is_kept = |version: u64| bags.iter().any(|bag| has_all(object, version, bag));
        let is_right = match object.made_by.get(id) {
            Some(version) => is_kept(*version),
            None => (1..=object.stored.head()).any(is_kept),
        };
        if !is_right {
            self.find(format!("an item succeeded and what it deposited is not kept: {item}"));
        }
    }

    /// What was put into the receiving store last under a name lies there, or is kept.
    fn uploads_are_kept(&mut self, kept: &[Kept]) -> Result<()> {
        let mut last: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for upload in &self.uploads {
            last.insert(self.bags[upload.bag.0][upload.bag.1].slot.bag_name(), upload.bag);
        }
        let folder = self.world.as_folder("receiving", "checked")?.join(INSTITUTION);
        for (name, (slot, variant)) in last {
            let bag = self.bags[slot][variant].clone();
            let still_there =
                fs::read(folder.join(format!("{name}.tar"))).is_ok_and(|bytes| sha512(&bytes) == bag.sha512);
            let object = kept.iter().find(|object| object.identifier == format!("{INSTITUTION}/{}", bag.slot.object));
            let is_kept =
                object.is_some_and(|object| (1..=object.stored.head()).any(|version| has_all(object, version, &bag)));
            if !still_there && !is_kept {
                self.find(format!("the upload {name}.tar (variant {variant}) is gone and kept nowhere"));
            }
        }
        Ok(())
    }

    /// Every object is restored, and each of its slots is exactly one variant that was deposited.
    fn objects_come_back(&mut self, kept: &[Kept], origins: &Origins) -> Result<()> {
        for (number, object) in kept.iter().enumerate() {
            let name = object.identifier.rsplit('/').next().unwrap_or_default();
            if !self.bags.iter().flatten().any(|bag| bag.slot.object == name) {
                self.package_comes_back(number, object, origins)?;
                continue;
            }
            fs::create_dir_all(self.world.path("back"))?;
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
            let slots: Vec<Vec<Bag>> =
                self.bags.iter().filter(|bags| bags.iter().all(|bag| bag.slot.object == name)).cloned().collect();
            for bags in slots {
                let folder = bags[0].slot.folder();
                let own: BTreeMap<_, _> = files.iter().filter(|(path, _)| path.starts_with(&folder)).collect();
                let is_one_of_them =
                    bags.iter().any(|bag| own.iter().map(|(path, digest)| (*path, *digest)).eq(payload(bag)));
                // A part that never came in has no files.
                let never_came = own.is_empty() && bags[0].slot.part.is_some();
                if !(is_one_of_them || never_came) {
                    self.find(format!("{} comes back with {folder} as no deposit had it: {own:?}", object.identifier));
                }
                files.retain(|path, _| !path.starts_with(&folder));
            }
            if !files.is_empty() {
                self.find(format!("{} comes back with files that no deposit had: {files:?}", object.identifier));
            }
        }
        Ok(())
    }
}

fn payload(bag: &Bag) -> impl Iterator<Item = (&String, &String)> {
    bag.files.iter().filter(|(path, _)| path.starts_with("data/"))
}

/// Whether a version has every file of a bag, with its bytes.
fn has_all(object: &Kept, version: u64, bag: &Bag) -> bool {
    let Some(state) = object.stored.versions.get(&version) else { return false };
    bag.files.iter().all(|(path, digest)| state.get(&format!("deposit/{path}")) == Some(digest))
}
