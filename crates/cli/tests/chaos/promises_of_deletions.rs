//! What must hold of deletions. What was asked for is known by the commands of the run, and what was taken by the tombstones and by what
//! lies in the stores; whether a deposit came before or after a deletion follows from the numbers of versions and generations.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use strongroom_registry::{ItemId, ItemStatus, Scope, items};

use crate::deletions::Named;
use crate::kept::{Generation, Kept};
use crate::origins::Origins;
use crate::perform::{Cast, Deposited};
use crate::promises::text;
use crate::tombstones::Tombstone;
use crate::world::ADMINS;

/// A request as it is at the end.
struct Request {
    id: String,
    state: String,
    approved_by: Option<String>,
    /// What the command that made it named.
    named: Named,
    /// By object: the work item, and how it ended.
    items: BTreeMap<String, (String, String)>,
}

impl Cast {
    pub(crate) fn deletions_took_what_was_asked(&mut self, kept: &[Kept], origins: &Origins) -> Result<()> {
        let requests = self.requests()?;
        for request in &requests {
            self.request_has_ended(request, kept);
        }
        let (mut whole, mut of_files) = (0, 0);
        for object in kept {
            for generation in object.generations() {
                self.tombstones_are_of_requests(object, generation, &requests);
                self.is_gone(object, generation);
                self.was_not_deposited_since(object, generation, origins);
                let tombstones = &generation.stored.tombstones;
                whole += tombstones.iter().filter(|tombstone| tombstone.is_whole()).count();
                of_files += tombstones.iter().filter(|tombstone| !tombstone.is_whole()).count();
            }
        }
        self.each_deletion_is_requested(&requests)?;
        let mut states: BTreeMap<&str, u64> = BTreeMap::new();
        for request in &requests {
            *states.entry(&request.state).or_default() += 1;
        }
        let line =
            format!("requests for deletion: {states:?}; {whole} of objects and {of_files} of files were carried out");
        self.world.log(line);
        Ok(())
    }

    fn requests(&mut self) -> Result<Vec<Request>> {
        let mut requests = Vec::new();
        for request in self.world.run(["delete", "list", "--json"])?.succeeded()?.json()? {
            let id = text(&request, "request").to_owned();
            let Some(named) = self.requested.get(text(&request, "reason")).cloned() else {
                self.find(format!("a request that no command has made: {request}"));
                continue;
            };
            let shown = self.world.run(["delete", "show", &id, "--json"])?.succeeded()?.json()?;
            let (mut targets, mut items) = (Named::new(), BTreeMap::new());
            for target in shown.iter().skip(1) {
                let object = text(target, "object").to_owned();
                match target["path"].as_str() {
                    None => _ = targets.insert(object.clone(), None),
                    Some(path) => {
                        if let Some(paths) = targets.entry(object.clone()).or_insert_with(|| Some(BTreeSet::new())) {
                            paths.insert(path.to_owned());
                        }
                    }
                }
                if let Some(item) = target["item"].as_str() {
                    let item = (item.to_owned(), text(target, "status").to_owned());
                    if items.insert(object.clone(), item.clone()).is_some_and(|other| other != item) {
                        self.find(format!("request {id} has two work items for {object}"));
                    }
                }
            }
            if targets != named {
                self.find(format!("request {id} names {targets:?}, and asked for was {named:?}"));
            }
            let approved_by = request["approved_by"].as_str().map(str::to_owned);
            requests.push(Request { id, state: text(&request, "state").to_owned(), approved_by, named, items });
        }
        Ok(requests)
    }

    /// A request has ended as its work items have; each that succeeded has a tombstone, and no other one has.
    fn request_has_ended(&mut self, request: &Request, kept: &[Kept]) {
        let Request { id, state, items, .. } = request;
        let have_succeeded =
            items.len() == request.named.len() && items.values().all(|(_, status)| status == "succeeded");
        let is_right = match state.as_str() {
            "completed" => have_succeeded,
            "failed" => !have_succeeded,
            "cancelled" => true,
            "denied" => items.is_empty(),
            _ => false,
        };
        if !is_right {
            self.find(format!("request {id} is {state} with the work items {items:?}"));
        }
        for (identifier, (item, status)) in items {
            let object = kept.iter().find(|object| object.identifier == *identifier);
            let tombstones: Vec<(&Generation, &Tombstone)> = object
                .into_iter()
                .flat_map(Kept::generations)
                .flat_map(|generation| {
                    generation.stored.tombstones.iter().map(move |tombstone| (generation, tombstone))
                })
                .collect();
            let own: Vec<&(&Generation, &Tombstone)> =
                tombstones.iter().filter(|(_, tombstone)| tombstone.item == *item).collect();
            match (status.as_str(), own.as_slice()) {
                ("succeeded", [(generation, tombstone)]) => {
                    self.took_what_is_named(request, identifier, generation, tombstone);
                }
                // Another request was carried out before it.
                ("succeeded", []) if self.was_deleted_before(item, &tombstones, request.named[identifier].as_ref()) => {
                }
                ("failed" | "cancelled", []) => {}
                _ => {
                    let count = own.len();
                    self.find(format!("work item {item} of {identifier} is {status} and has {count} tombstones"));
                }
            }
        }
    }

    /// Whether an item says that what it names was deleted before, by a deletion of another item that named all of that.
    fn was_deleted_before(
        &self,
        item: &str,
        tombstones: &[(&Generation, &Tombstone)],
        named: Option<&BTreeSet<String>>,
    ) -> bool {
        let note = self.all_items().ok().into_iter().flatten().find(|other| text(other, "item") == item);
        let says_so = note.is_some_and(|item| text(&item, "note").contains("deleted before"));
        let covers = |tombstone: &Tombstone| match (named, &tombstone.files) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(paths), Some(files)) => paths.iter().all(|path| files.contains(&format!("deposit/{path}"))),
        };
        says_so && tombstones.iter().any(|(_, tombstone)| covers(tombstone))
    }

    /// A tombstone takes what its request names of the object and nothing else; of files some may have been deleted before.
    fn took_what_is_named(&mut self, request: &Request, object: &str, generation: &Generation, tombstone: &Tombstone) {
        let paths: Option<BTreeSet<String>> =
            request.named[object].as_ref().map(|paths| paths.iter().map(|path| format!("deposit/{path}")).collect());
        let is_right = match (&paths, &tombstone.files) {
            (None, None) => true,
            (Some(named), Some(files)) => files.is_subset(named),
            _ => false,
        };
        if !is_right {
            self.find(format!(
                "request {} names {paths:?} of {object}, and deleted was {:?}",
                request.id, tombstone.files
            ));
        }
        for (version, state) in generation.stored.versions.range(..=tombstone.version) {
            for path in paths.iter().flatten().filter(|path| state.contains_key(*path)) {
                self.find(format!(
                    "request {} is carried out, and version {version} of {object} has {path}",
                    request.id
                ));
            }
        }
    }

    /// Each tombstone is of the work item of a request, by one of the two users and approved by the other one.
    fn tombstones_are_of_requests(&mut self, object: &Kept, generation: &Generation, requests: &[Request]) {
        for tombstone in &generation.stored.tombstones {
            let request = requests.iter().find(|request| request.id == tombstone.request);
            let is_of_item = request
                .and_then(|request| request.items.get(&object.identifier))
                .is_some_and(|(item, status)| *item == tombstone.item && status == "succeeded");
            let users = [tombstone.requested_by.as_str(), tombstone.approved_by.as_str()];
            let by_two = users == ADMINS || users == [ADMINS[1], ADMINS[0]];
            let is_approved =
                request.is_some_and(|request| request.approved_by.as_ref() == Some(&tombstone.approved_by));
            let is_of_reason =
                request.is_some_and(|request| self.requested.get(&tombstone.reason) == Some(&request.named));
            if !(is_of_item && by_two && is_approved && is_of_reason && tombstone.identifier == object.identifier) {
                self.find(format!("{} has a tombstone that no request explains: {tombstone:?}", object.identifier));
            }
        }
    }

    /// Of an object that was deleted its versions are empty, and one more has the record of it; the files that were deleted are in no
    /// version that there was. That no other content is there the reader of the stores has found.
    fn is_gone(&mut self, object: &Kept, generation: &Generation) {
        let (identifier, stored) = (&object.identifier, &generation.stored);
        for tombstone in &stored.tombstones {
            for (version, state) in stored.versions.range(..=tombstone.version) {
                for path in state.keys().filter(|path| tombstone.took(*version, path)) {
                    self.find(format!("version {version} of {identifier} has {path}, which was deleted of it"));
                }
            }
        }
        let Some(end) = generation.end() else { return };
        let record: Vec<(&String, &String)> = stored.versions.values().next_back().into_iter().flatten().collect();
        let contents: Vec<(&String, &Vec<String>)> = stored.contents.iter().collect();
        let ([(path, digest)], [(kept, places)]) = (record.as_slice(), contents.as_slice()) else {
            return self.find(format!("of {identifier}, which was deleted, there is {record:?} in {contents:?}"));
        };
        if path.starts_with("deposit/") || digest != kept || places.len() != 1 || stored.head() != end.version + 1 {
            self.find(format!("of {identifier}, which was deleted, version {} has {record:?}", stored.head()));
        }
        let made_last = generation.made_by.get(&end.item);
        if made_last != Some(&stored.head()) || generation.made_by.values().any(|version| *version > stored.head()) {
            self.find(format!(
                "the last version of {identifier} is not of work item {}: {:?}",
                end.item, generation.made_by
            ));
        }
        if !stored.record.as_ref().is_some_and(|line| line.to_string().contains(identifier)) {
            self.find(format!("the record of the deletion of {identifier} begins with {:?}", stored.record));
        }
    }

    /// What was deposited after a deletion had been requested was not deleted by it: of an object any version, of files one that changed
    /// them.
    fn was_not_deposited_since(&mut self, object: &Kept, generation: &Generation, origins: &Origins) {
        let made_by: BTreeMap<u64, &String> =
            generation.made_by.iter().map(|(item, version)| (*version, item)).collect();
        for tombstone in &generation.stored.tombstones {
            let is_later =
                |version: u64| generation.published.get(&version).is_some_and(|time| time.0 > tombstone.requested_at);
            let Some(files) = &tombstone.files else {
                if let Some(version) = (1..=tombstone.version).find(|version| is_later(*version)) {
                    self.find(format!(
                        "version {version} of {} was deposited after its deletion was requested, and deleted",
                        object.identifier
                    ));
                }
                continue;
            };
            for file in files {
                let path = file.strip_prefix("deposit/").unwrap_or(file);
                let mut last: Option<Vec<String>> = None;
                for version in 1..=tombstone.version {
                    let Some(item) = made_by.get(&version) else { continue };
                    let Some(digests) = self.digests_sent(item, path, origins) else { continue };
                    let has_changed = last.is_some_and(|last| !last.iter().any(|digest| digests.contains(digest)));
                    if has_changed && is_later(version) {
                        self.find(format!(
                            "{path} of {} was deposited as version {version} after its deletion was requested, and deleted",
                            object.identifier
                        ));
                    }
                    last = Some(digests);
                }
            }
        }
    }

    /// Which digests a file may have that an item has sent; none where it sent no file of that path.
    fn digests_sent(&self, item: &str, path: &str, origins: &Origins) -> Option<Vec<String>> {
        if let Some(sent) = origins.0.get(item).and_then(|origin| self.sent(*origin)) {
            return sent.files.get(path).cloned();
        }
        let deposit = self.deposits.iter().find(|deposit| deposit.item.as_deref() == Some(item))?;
        let Deposited::Bag(slot, variant) = deposit.what else { return None };
        self.bags[slot][variant].files.get(path).map(|digest| vec![digest.clone()])
    }

    /// Every work item that deletes is one of a request.
    fn each_deletion_is_requested(&mut self, requests: &[Request]) -> Result<()> {
        let known: BTreeSet<&str> =
            requests.iter().flat_map(|request| request.items.values()).map(|(item, _)| item.as_str()).collect();
        for item in self.all_items()? {
            let deletes = ["delete_object", "delete_files"].contains(&text(&item, "action"));
            if deletes && !known.contains(text(&item, "item")) {
                self.find(format!("a work item deletes and no request names it: {item}"));
            }
        }
        Ok(())
    }

    /// Whether an item, which made no version, succeeded before all of its object was deleted: what it found to be kept was deleted.
    pub(crate) fn has_ended_before_deletion(&self, item: &str, object: &Kept) -> Result<bool> {
        let id = ItemId(item.parse()?);
        let history = self.home()?.registry.read(|tx| items::history(tx, Scope::System, id))?;
        let ended = history.iter().rfind(|line| line.status == ItemStatus::Succeeded).map(|line| line.time.0);
        let deleted = object.generations().filter_map(Generation::end).map(|end| end.time).max();
        Ok(ended.is_some_and(|ended| deleted.is_some_and(|deleted| ended < deleted)))
    }
}
