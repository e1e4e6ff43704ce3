//! What must hold at the end of a run, whatever happened in it. Each broken promise is a finding; all are told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::bags::sha512;
use crate::deletions::has_deleted_nothing;
use crate::kept::Kept;
use crate::ocfl::{StoredObject, read_root};
use crate::origins::Origins;
use crate::perform::Cast;
use crate::plan::PRESERVATION;
use crate::settle::is_of_what_was_deleted;
use crate::world::INSTITUTION;

/// What the schedule removes by itself when its hour comes.
const SWEPT_LATER: &str = "staging.abandoned";

pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

impl Cast {
    /// Checks every promise.
    pub(crate) fn check(&mut self) -> Result<()> {
        let stores = self.stores_are_whole()?;
        let kept = self.registry_and_stores_agree(&stores)?;
        self.nothing_is_found()?;
        let origins = self.origins()?;
        self.items_have_ended_as_they_say(&kept, &origins)?;
        self.versions_follow_from_bags(&kept)?;
        self.packages_are_kept(&kept, &origins)?;
        self.deletions_took_what_was_asked(&kept, &origins)?;
        self.deletions_are_recorded(&kept)?;
        self.batches_are_true()?;
        self.arks_are_registered(&kept)?;
        self.uploads_are_kept(&kept)?;
        self.objects_come_back(&kept, &origins)?;
        self.chains_are_whole()?;
        self.problems_are_true()?;
        self.catalogues_are_true(&kept)?;
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
                    self.succeeded(item, kept)?;
                }
                "succeeded" | "cancelled" => {}
                "failed" if has_deleted_nothing(item) => {}
                "failed" if is_of_what_was_deleted(item) && was_deleted(item, kept) => {}
                _ => self.find(format!("an item could not be brought to its end: {item}")),
            }
        }
        self.world.log(format!("items: {counts:?}"));
        Ok(())
    }
}

/// Whether all of the object of an item was deleted at some time.
fn was_deleted(item: &Value, kept: &[Kept]) -> bool {
    let object = kept.iter().find(|object| object.identifier == text(item, "object"));
    object.is_some_and(|object| object.is_deleted() || !object.earlier.is_empty())
}
