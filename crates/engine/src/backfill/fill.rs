//! One object brought up to date in one store, under the object's lease: the contents of every version from copies that
//! prove right while they are read, each proved in the store before its row says so; then declaration, inventories and
//! sidecars, the root inventory last; then the logs. What was done stays done: repeating it goes on.

use std::collections::HashSet;

use strongroom_digest::Algorithm;
use strongroom_registry::backfill::{self as rows, BroughtCopy, CopyProof, LackingContent, ObjectCopy};
use strongroom_registry::epoch::RegistryEpoch;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity::{self as watched, WatchedCopy};
use strongroom_registry::objects::{self, File, Object};
use strongroom_registry::{ContentId, FindingId, FindingState, RegistryError, Transaction, stores};
use strongroom_storage::{Durability, Key, PutCondition, PutOptions, StorageError, Store};

use crate::content_name::ContentName;
use crate::fixity::{
    About, Copied, Copying, Root, SuspectCopy, check_attempts, is_unreadable, open_root, other_copies, put_inventories,
    read_copy, report_suspect, vouched,
};
use crate::hold::{GoOn, ObjectHold, OperationError, now};
use crate::logs::{LogCopying, object_root};
use crate::settings::StoreSettings;
use crate::{EngineError, Home, crash_point, paging, record, watermark};

/// Contents listed, synced and recorded at once.
const CONTENTS_AT_ONCE: usize = 200;
/// Files listed at once.
const FILES_AT_ONCE: usize = 1_000;
/// Reasons kept of one object.
const REASONS_KEPT: usize = 5;

/// What came of bringing an object up to date in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Contents put and proved.
    pub(crate) contents: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Contents whose only right copies are being retrieved from a cold storage class.
    pub(crate) waiting: u64,
    /// Why the store does not hold the object whole yet; empty when it does.
    pub(crate) reasons: Vec<String>,
}

impl Filled {
    /// Whether the store holds the object whole now.
    pub(crate) fn is_whole(&self) -> bool {
        self.waiting == 0 && self.reasons.is_empty()
    }

    fn refuse(&mut self, reason: String) {
        if self.reasons.len() < REASONS_KEPT {
            self.reasons.push(reason);
        }
    }
}

/// What is brought up to date.
pub(crate) struct Filling<'a> {
    pub(crate) home: &'a Home,
    pub(crate) hold: &'a ObjectHold<'a>,
    pub(crate) object: &'a Object,
    /// The store's name.
    pub(crate) store: &'a str,
    pub(crate) go_on: &'a GoOn<'a>,
}

/// A finding that is solved by what was brought.
#[derive(Clone)]
struct Solved {
    finding: FindingId,
    detail: String,
    event: EventRow,
}

impl Solved {
    fn close(&self, tx: &mut dyn Transaction) -> Result<(), RegistryError> {
        events::append(tx, std::slice::from_ref(&self.event))?;
        watched::close_finding(tx, self.finding, FindingState::Repaired, &self.detail)
    }
}

/// What came of one content.
enum Brought {
    /// It was put now.
    Put(BroughtCopy),
    /// It lay there already.
    StoredWatermark(BroughtCopy),
    /// It is being retrieved.
    Waits,
    /// It cannot be brought, for this reason.
    Refused(String),
}

impl Filling<'_> {
    /// Brings the object up to date in the store.
    pub(crate) fn run(&self) -> Result<Filled, OperationError> {
        let mut filled = Filled::default();
        let store = self.home.store(self.store)?.as_ref();
        let announced = watermark::announce(self.home)?;
        watermark::advance(self.home, store, &announced)?;
        self.hold.keep()?;
        let identifier = self.object.institution_identifier.as_str();
        open_root(self.home, Root { store: self.store, institution: self.object.institution, identifier }, store)?;
        crash_point("backfill.begun");
        self.contents(store, &announced, &mut filled)?;
        if !filled.is_whole() {
            // A root inventory never names bytes that are not there.
            return Ok(filled);
        }
        crash_point("backfill.contents");
        for reason in put_inventories(self.home, self.hold, self.object, self.store, self.go_on)? {
            filled.refuse(reason);
        }
        if !filled.is_whole() {
            return Ok(filled);
        }
        self.logs(store)?;
        crash_point("backfill.files");
        let announced = watermark::announce(self.home)?;
        watermark::advance(self.home, store, &announced)?;
        watermark::confirm(self.home, &[store], &announced)?;
        let (institution, object, generation) = (self.object.institution, self.object.id, self.object.generation);
        let copy = ObjectCopy { institution, object, generation, store: self.store.to_owned() };
        let solved = self.solved(None, &object_root(identifier, generation)?)?;
        self.hold.write(move |tx| {
            rows::put_object_copy(tx, &copy, true)?;
            solved.iter().try_for_each(|solved| solved.close(tx))
        })?;
        Ok(filled)
    }

    fn contents(
        &self,
        store: &dyn Store,
        announced: &RegistryEpoch,
        filled: &mut Filled,
    ) -> Result<(), OperationError> {
        let records = self.records()?;
        let object = self.object.id;
        let list =
            |after, limit| self.home.registry.read(|tx| rows::lacking_contents(tx, object, self.store, after, limit));
        for page in paging::pages(CONTENTS_AT_ONCE, |content: &LackingContent| content.sha512, list) {
            let page = page?;
            let mut brought = Vec::with_capacity(page.len());
            for content in &page {
                self.go_on.check()?;
                match self.bring(store, content, records.contains(&content.id))? {
                    Brought::Put(copy) => brought.push((content, copy, true)),
                    Brought::StoredWatermark(copy) => brought.push((content, copy, false)),
                    Brought::Waits => filled.waiting += 1,
                    Brought::Refused(reason) => filled.refuse(format!("{}: {reason}", self.name_of(content.id)?)),
                }
            }
            store.sync()?;
            self.prove(store, announced, brought, filled)?;
            crash_point("backfill.page");
        }
        Ok(())
    }

    /// Proves what was put or found, and records it: what proves right as verified, else as damage that a check repairs.
    fn prove(
        &self,
        store: &dyn Store,
        announced: &RegistryEpoch,
        brought: Vec<(&LackingContent, BroughtCopy, bool)>,
        filled: &mut Filled,
    ) -> Result<(), OperationError> {
        let mut copies = Vec::with_capacity(brought.len());
        let (mut wrong, mut solved) = (Vec::new(), Vec::new());
        for (content, mut copy, is_put) in brought {
            self.go_on.check()?;
            self.hold.keep_in_time()?;
            let key = Key::new(copy.key.as_str()).map_err(StorageError::from)?;
            copy.proof = self.look(store, &key, content)?;
            if copy.proof == CopyProof::None {
                let name = self.name_of(content.id)?;
                let reason = format!("{name} in store {} ({key}) does not read back as recorded", self.store);
                wrong.push(SuspectCopy {
                    content: content.id,
                    store: self.store.to_owned(),
                    is_missing: false,
                    detail: format!("found while the store was brought up to date: {reason}"),
                });
                filled.refuse(reason);
            } else {
                solved.extend(self.solved(Some(content.id), &key)?);
                if is_put {
                    filled.contents += 1;
                    filled.bytes += content.size;
                }
            }
            copies.push(copy);
        }
        watermark::confirm(self.home, &[store], announced)?;
        let (institution, object, name) = (self.object.institution, self.object.id, self.store.to_owned());
        let attempts = check_attempts(self.home);
        self.hold.write(move |tx| {
            rows::put_copies(tx, institution, object, &name, &copies)?;
            for suspect in &wrong {
                report_suspect(tx, suspect, attempts)?;
            }
            solved.iter().try_for_each(|solved| solved.close(tx))
        })
    }

    /// A content as people know it.
    fn name_of(&self, content: ContentId) -> Result<ContentName, OperationError> {
        Ok(self.home.registry.read(|tx| ContentName::read(tx, &self.object.identifier, Some(content)))?)
    }

    /// What was found wrong of a copy, or of the object's inventories, before it was brought.
    fn solved(&self, content: Option<ContentId>, key: &Key) -> Result<Option<Solved>, OperationError> {
        let (object, store) = (self.object.id, self.store);
        let finding = self.home.registry.read(|tx| watched::unsolved(tx, object, store, content))?;
        let Some(finding) = finding else { return Ok(None) };
        let name = self.home.registry.read(|tx| ContentName::read(tx, &self.object.identifier, content))?;
        let detail = format!("{name} in store {store} ({key}) was copied from other stores and verified");
        let about = About { institution: self.object.institution, object, content };
        let event = about.event(now(self.home)?, "recovery", "success", detail.clone(), "as recorded".into());
        let event = event.in_store(store);
        Ok(Some(Solved { finding: finding.id, detail, event }))
    }

    /// How a copy proves: by the store's own strong checksum, or by reading.
    fn look(&self, store: &dyn Store, key: &Key, content: &LackingContent) -> Result<CopyProof, OperationError> {
        let head = match store.head(key) {
            Ok(head) => head,
            Err(error) if error.is_not_found() => return Ok(CopyProof::None),
            Err(error) => return Err(error.into()),
        };
        let vouched = vouched(&head, content.size, content.sha512, Some(content.sha256));
        if vouched == Some(true) && (store.capabilities().strong_checksum || !head.readable) {
            return Ok(CopyProof::Attested);
        }
        if !head.readable {
            return match vouched {
                Some(_) => Ok(CopyProof::None),
                None => Err(EngineError::Usage(format!(
                    "{key} in store {} is in a storage class that cannot be read back, and its service keeps no \
                     checksum: give the store a class that can be read",
                    self.store
                ))
                .into()),
            };
        }
        match read_copy(store, key, self.go_on) {
            Ok((size, sha512)) if size == content.size && sha512 == content.sha512 => Ok(CopyProof::Read),
            Ok(_) => Ok(CopyProof::None),
            Err(OperationError::Engine(EngineError::Storage(error)))
                if error.is_not_found() || is_unreadable(&error) =>
            {
                Ok(CopyProof::None)
            }
            Err(halt) => Err(halt),
        }
    }

    /// Puts one content from the first copy that proves right while it is read, under the key that its inventories name.
    fn bring(&self, store: &dyn Store, content: &LackingContent, is_record: bool) -> Result<Brought, OperationError> {
        let id = content.id;
        let copies = self.home.registry.read(|tx| watched::copies_of_content(tx, id))?;
        let copies = other_copies(&copies, self.store);
        let Some(first) = copies.first() else { return Ok(Brought::Refused("no store has a copy".into())) };
        // An object has the same inventories, and so the same content paths, in every store.
        let key = Key::new(first.key.as_str()).map_err(StorageError::from)?;
        let class = self.home.settings.stores.get(self.store).and_then(StoreSettings::content_class);
        // The record of a version stays readable, as in an ingest.
        let class = class.filter(|_| !is_record).map(str::to_owned);
        let copy = BroughtCopy { content: id, key: key.to_string(), class: class.clone(), proof: CopyProof::None };
        match store.head(&key) {
            Ok(_) => return Ok(Brought::StoredWatermark(copy)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        let condition =
            if store.capabilities().conditional_put { PutCondition::IfAbsent } else { PutCondition::Always };
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, content.sha512)),
            size: Some(content.size),
            class,
            condition,
            durability: Durability::OnSync,
            ..PutOptions::default()
        };
        let doubt = |source: &WatchedCopy, is_missing: bool, reason: &str| self.doubt(source, is_missing, reason);
        let copying = Copying { home: self.home, hold: self.hold, doubt: &doubt, go_on: self.go_on };
        let copied = copying.run(&copies, Vec::new(), &mut |body| Ok(store.put(&key, body, &options).map(drop)))?;
        Ok(match copied {
            Copied::From(_) => Brought::Put(copy),
            Copied::Retrieving(_) => Brought::Waits,
            Copied::Nowhere(reasons) => Brought::Refused(reasons.join("; ")),
        })
    }

    /// A source that is wrong itself becomes a finding.
    fn doubt(&self, source: &WatchedCopy, is_missing: bool, reason: &str) -> Result<(), OperationError> {
        let suspect = SuspectCopy {
            content: source.content,
            store: source.store.clone(),
            is_missing,
            detail: format!("found while another store was brought up to date: {reason}"),
        };
        let attempts = check_attempts(self.home);
        self.hold.write(move |tx| report_suspect(tx, &suspect, attempts).map(drop))
    }

    /// The contents that are records of versions.
    fn records(&self) -> Result<HashSet<ContentId>, OperationError> {
        let (object, head) = (self.object.id, self.object.head);
        let list = |after: Option<String>, limit| {
            let after = after.unwrap_or_default();
            self.home.registry.read(|tx| objects::files(tx, object, head, "metadata/", &after, limit))
        };
        let mut found = HashSet::new();
        for file in paging::rows(FILES_AT_ONCE, |file: &File| file.path.clone(), list) {
            let file = file?;
            if file.path == record::path(file.since) {
                found.insert(file.content);
            }
        }
        Ok(found)
    }

    /// Copies the logs that other stores have and this one lacks. What a store that cannot be read now has is noted, and
    /// copied when it is back.
    fn logs(&self, store: &dyn Store) -> Result<(), OperationError> {
        let object = self.object.id;
        let holders = self.home.registry.read(|tx| objects::object_copies(tx, object))?;
        let mut copying = LogCopying::new(self.hold, self.object, store)?;
        for (holder, _, _) in holders.iter().filter(|(holder, _, _)| holder != self.store) {
            // One that is no longer in the settings, or is out of use, is not waited for.
            let Ok(from) = self.home.store(holder) else { continue };
            let is_awaited = !self.home.is_retired(holder)?;
            if copying.copy_from(from.as_ref(), self.go_on)?.is_err() && is_awaited {
                let (holder, store) = (holder.clone(), self.store.to_owned());
                self.hold.write(move |tx| stores::note_unread_logs(tx, &holder, &store, object))?;
            }
        }
        copying.put_missed(self.home, object, self.go_on)
    }
}
