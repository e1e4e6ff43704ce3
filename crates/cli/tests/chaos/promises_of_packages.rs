//! What must hold of packages that are no bags. What a version has follows from the version before it and from what was sent, so
//! every version is compared, in whatever order deposits became versions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::bags::{files_of_tar, sha512};
use crate::kept::{Generation, Kept, Place};
use crate::origins::{Origins, rows_of};
use crate::packages::{Mode, Sent};
use crate::perform::{Cast, Deposited};
use crate::promises::text;
use crate::stores::walk;

/// Path to SHA-512.
type Files = BTreeMap<String, String>;

impl Sent {
    /// What is left of it when these logical paths are deleted.
    fn without(&self, gone: &BTreeSet<&str>) -> Self {
        let mut left = self.clone();
        left.files.retain(|path, _| !gone.contains(format!("deposit/{path}").as_str()));
        left
    }
}

impl Cast {
    pub(crate) fn packages_are_kept(&mut self, kept: &[Kept], origins: &Origins) -> Result<()> {
        let items = self.all_items()?;
        for object in kept {
            self.versions_follow_from_deposits(object, origins);
            for generation in object.generations() {
                self.versions_are_in_the_order_of_deposits(&object.identifier, generation, origins)?;
            }
        }
        self.local_ids_are_of_one_object(kept, origins);
        for item in items.iter().filter(|item| text(item, "status") == "succeeded" && text(item, "action") == "ingest")
        {
            self.package_succeeded(item, kept, origins)?;
        }
        self.each_row_is_one_item(&items, origins);
        self.nothing_is_staged_of_what_failed()?;
        for (path, times) in self.world.web.asked_against_the_rules() {
            self.find(format!("{path} was asked for {times} times at a host that the settings do not allow"));
        }
        Ok(())
    }

    /// A version has exactly what was sent; where it merges, also what the one before had, without the delete list. What was deleted of it
    /// afterwards is missing, and nothing else.
    fn versions_follow_from_deposits(&mut self, object: &Kept, origins: &Origins) {
        let generation = &object.generation;
        let made_by: BTreeMap<u64, &String> =
            generation.made_by.iter().map(|(item, version)| (*version, item)).collect();
        let mut before = Files::new();
        for version in object.versions() {
            let found = deposited(generation, version);
            let item = made_by.get(&version).copied();
            let sent = item.and_then(|item| origins.0.get(item)).and_then(|origin| self.sent(*origin)).cloned();
            if let Some(sent) = sent.map(|sent| sent.without(&generation.gone(version)))
                && !is_made_of(&found, &before, &sent)
            {
                let wanted = (sent.package.mode(), &sent.files, &sent.package.deleted);
                self.find(format!(
                    "version {version} of {} has {found:?} after {before:?}; sent was {wanted:?}",
                    object.identifier
                ));
            }
            before = found;
        }
    }

    /// Of two deposits of one object the one that was accepted first is the earlier version, unless it had ended meanwhile.
    fn versions_are_in_the_order_of_deposits(
        &mut self,
        identifier: &str,
        generation: &Generation,
        origins: &Origins,
    ) -> Result<()> {
        let mut made = Vec::new();
        for (item, version) in &generation.made_by {
            let Some(origin) = origins.0.get(item).filter(|origin| origin.row.is_none()) else { continue };
            if let Some(submitted) = self.deposits[origin.deposit].submitted {
                made.push((*version, submitted, item));
            }
        }
        for (version, (_, accepted), item) in &made {
            for (later, (asked, _), other) in &made {
                if accepted < asked && version > later && !self.has_ended_before(item)? {
                    self.find(format!(
                        "{identifier}: {item} was accepted before {other} was asked for, and is version {version} after version {later}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether an item failed or was cancelled before it succeeded: others do not wait for such a one.
    fn has_ended_before(&self, item: &str) -> Result<bool> {
        let history = self.world.run(["items", "history", item, "--json"])?.succeeded()?.json()?;
        Ok(history.iter().any(|line| ["failed", "cancelled"].contains(&text(line, "status"))))
    }

    fn local_ids_are_of_one_object(&mut self, kept: &[Kept], origins: &Origins) {
        let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for object in kept {
            for id in &object.local_ids {
                owners.entry(id).or_default().push(&object.identifier);
            }
        }
        for (id, owners) in owners.iter().filter(|(_, owners)| owners.len() > 1) {
            self.find(format!("the local id {id:?} is that of {owners:?}"));
        }
        for object in kept {
            for (item, version) in object.generations().flat_map(|generation| &generation.made_by) {
                let sent = origins.0.get(item).and_then(|origin| self.sent(*origin));
                let Some(id) = sent.and_then(|sent| sent.package.local_id.clone()) else { continue };
                if !object.local_ids.contains(&id) {
                    self.find(format!(
                        "version {version} of {} was deposited with the local id {id:?}, and the object has {:?}",
                        object.identifier, object.local_ids
                    ));
                }
            }
        }
    }

    fn package_succeeded(&mut self, item: &Value, kept: &[Kept], origins: &Origins) -> Result<()> {
        let id = text(item, "item");
        let Some(sent) = origins.0.get(id).and_then(|origin| self.sent(*origin)).cloned() else { return Ok(()) };
        if sent.package.is_lost() {
            self.find(format!("an item succeeded whose files cannot be had: {item}"));
            return Ok(());
        }
        let Some(object) = kept.iter().find(|object| object.identifier == text(item, "object")) else {
            self.find(format!("an item succeeded and its object is not kept: {item}"));
            return Ok(());
        };
        let generation = &object.generation;
        let holds = |version: u64| holds(&deposited(generation, version), &sent.without(&generation.gone(version)));
        let is_right = match object.place_of(id) {
            Place::Version(version) => holds(version),
            Place::Deleted => true,
            Place::Nowhere => object.versions().any(holds) || self.has_ended_before_deletion(id, object)?,
        };
        if !is_right {
            self.find(format!("an item succeeded and what it deposited is not kept: {item}"));
        }
        Ok(())
    }

    /// No row of a list has two items; where the list was read to its end, each has one.
    fn each_row_is_one_item(&mut self, items: &[Value], origins: &Origins) {
        let is_list = |item: &&Value| text(item, "action") == "expand_batch";
        for list in items.iter().filter(is_list) {
            let Some(origin) = origins.0.get(text(list, "item")) else {
                self.find(format!("a list is of no deposit: {list}"));
                continue;
            };
            let Deposited::Package(sent) = &self.deposits[origin.deposit].what else { continue };
            let mut made: Vec<&str> = items
                .iter()
                .filter(|item| item["batch"] == list["batch"] && text(item, "action") == "ingest")
                .map(|item| text(item, "name"))
                .collect();
            made.sort_unstable();
            let mut wanted: Vec<String> = rows_of(sent).iter().map(|row| row.package.file_name()).collect();
            wanted.sort_unstable();
            let is_whole = made == wanted;
            let distinct: BTreeSet<&str> = made.iter().copied().collect();
            let is_part =
                distinct.len() == made.len() && distinct.iter().all(|name| wanted.iter().any(|row| row == name));
            let is_lost = sent.package.is_list_lost();
            let has_ended = text(list, "status") == "succeeded";
            if !is_part || (has_ended && (!is_whole || is_lost)) || (is_lost && !made.is_empty()) {
                self.find(format!("of the rows {wanted:?} the items {made:?} were made; the list: {list}"));
            }
        }
    }

    /// Of an item that failed for good, and was deleted, nothing is in staging.
    fn nothing_is_staged_of_what_failed(&mut self) -> Result<()> {
        let folder = self.world.as_folder("staging", "checked")?;
        let mut staged = Vec::new();
        walk(&folder, &mut |path| {
            if let Ok(below) = path.strip_prefix(&folder) {
                staged.push(below.to_string_lossy().into_owned());
            }
        });
        for key in staged {
            if self.failed_rightly.iter().any(|item| key.contains(item.as_str())) {
                self.find(format!("an item failed for good and was deleted, and {key} is in staging"));
            }
        }
        Ok(())
    }

    /// An object comes back as its newest version is: every other one as a bag, the others as they were submitted.
    pub(crate) fn package_comes_back(&mut self, number: usize, object: &Kept, origins: &Origins) -> Result<()> {
        let head = object.head();
        let mut expected = deposited(&object.generation, head);
        let form = if number.is_multiple_of(2) { "bag" } else { "submitted" };
        if form == "bag" {
            expected = expected.into_iter().map(|(path, digest)| (format!("data/{path}"), digest)).collect();
        } else {
            let last = object.generation.made_by.iter().find(|(_, version)| **version == head);
            let sent = last.and_then(|(item, _)| origins.0.get(item)).and_then(|origin| self.sent(*origin));
            if let Some(manifest) = sent.and_then(|sent| sent.manifest.as_ref()) {
                expected.insert("manifest.checkm".to_owned(), sha512(manifest));
            }
        }
        let name = object.identifier.rsplit('/').next().unwrap_or_default();
        fs::create_dir_all(self.world.path("back"))?;
        let restore = ["restore", "object", &object.identifier, "--format", form, "--to", "back", "--wait", "--json"];
        let answer = self.world.run(restore)?;
        if answer.code != Some(0) {
            self.find(format!("{} is not restored: {answer:?}", object.identifier));
            return Ok(());
        }
        let tar = self.world.path("back").join(format!("{name}.tar"));
        let mut found = files_of_tar(&tar)?;
        if form == "bag" {
            found.retain(|path, _| path.starts_with("data/"));
            let valid = self.world.run(["bag".as_ref(), "validate".as_ref(), tar.as_os_str()])?;
            if valid.code != Some(0) {
                self.find(format!("the restored bag of {} is not valid: {valid:?}", object.identifier));
            }
        }
        if found != expected {
            self.find(format!("{} comes back ({form}) with {found:?}, kept is {expected:?}", object.identifier));
        }
        Ok(())
    }
}

/// What was deposited, of a version.
pub(crate) fn deposited(generation: &Generation, version: u64) -> Files {
    let state = generation.stored.versions.get(&version).into_iter().flatten();
    state.filter_map(|(path, digest)| Some((path.strip_prefix("deposit/")?.to_owned(), digest.clone()))).collect()
}

/// Whether the files have all that was sent, and of the delete list nothing.
fn holds(files: &Files, sent: &Sent) -> bool {
    let has = |(path, digests): (&String, &Vec<String>)| files.get(path).is_some_and(|digest| digests.contains(digest));
    let is_exact = sent.package.mode() == Mode::Merge || files.len() == sent.files.len();
    is_exact && sent.files.iter().all(has) && !sent.package.deleted.iter().any(|path| files.contains_key(path))
}

/// Whether a version is what the one before it becomes by a deposit.
fn is_made_of(found: &Files, before: &Files, sent: &Sent) -> bool {
    let is_sent = |path: &String| sent.files.contains_key(path);
    let others = |files: &Files| -> Files {
        files.iter().filter(|(path, _)| !is_sent(path)).map(|(path, digest)| (path.clone(), digest.clone())).collect()
    };
    let mut stays = if sent.package.mode() == Mode::Merge { others(before) } else { Files::new() };
    stays.retain(|path, _| !sent.package.deleted.contains(path));
    holds(found, sent) && others(found) == stays
}

#[test]
fn a_version_that_lost_kept_or_mixed_files_is_told_from_what_was_sent() {
    let files = |files: &[(&str, &str)]| -> Files {
        files.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect()
    };
    let mut sent = Sent::of_files(&[("b", &["new", "newer"]), ("c", &["c"])]);
    let before = files(&[("a", "a"), ("b", "old"), ("d", "d")]);
    let replaced = files(&[("b", "newer"), ("c", "c")]);
    assert!(is_made_of(&replaced, &before, &sent));
    for wrong in [
        files(&[("b", "new")]),
        files(&[("b", "old"), ("c", "c")]),
        files(&[("a", "a"), ("b", "new"), ("c", "c")]),
        before.clone(),
    ] {
        assert!(!is_made_of(&wrong, &before, &sent), "{wrong:?}");
    }
    sent.package.mode = Some(Mode::Merge);
    sent.package.deleted.insert("d".to_owned());
    let merged = files(&[("a", "a"), ("b", "new"), ("c", "c")]);
    assert!(is_made_of(&merged, &before, &sent));
    for wrong in [
        replaced,
        files(&[("a", "other"), ("b", "new"), ("c", "c")]),
        files(&[("a", "a"), ("b", "new"), ("c", "c"), ("d", "d")]),
        files(&[("a", "a"), ("b", "new"), ("c", "c"), ("e", "e")]),
    ] {
        assert!(!is_made_of(&wrong, &before, &sent), "{wrong:?}");
    }
}
