//! Replacing a wrong copy by the bytes of another that proves right while it is read. Only what was seen, and kept as
//! evidence, is replaced: a worker that lost the object's lease meanwhile changes nothing.

use std::io::Read;

use strongroom_digest::Algorithm;
use strongroom_registry::fixity::{self as record, Finding, WatchedCopy};
use strongroom_registry::{FindingId, FindingState, WaitReason};
use strongroom_storage::{Key, PutCondition, PutOptions, Retrieval, StorageError, Store};

use super::OperationError;
use super::check::{self, StoredBytes, Wrong};
use super::copying::{self, Copied, Copying};
use super::evidence;
use super::heal::Spare;
use super::repair::Case;
use crate::error::chain;

/// Where a repair's bytes came from, or why there are none.
pub(super) enum Source {
    Store(String),
    /// They were at hand elsewhere: whose they are.
    Spare(String),
    /// They are being retrieved in this store.
    Retrieving(String),
    None(String),
}

/// The place of a copy, and what may be replaced there.
struct Target<'a> {
    store: &'a dyn Store,
    key: &'a Key,
    condition: PutCondition,
}

impl Case<'_> {
    /// Puts the bytes of the first copy that proves right while it is read, and reads them back.
    /// Only what has this etag is replaced; where there is none, only nothing.
    pub(super) fn replace(
        &self,
        store: &dyn Store,
        copies: &[WatchedCopy],
        etag: Option<&str>,
    ) -> Result<Source, OperationError> {
        let key = Key::new(self.copy.key.as_str()).map_err(StorageError::from)?;
        let mut reasons = Vec::new();
        let to = Target { store, key: &key, condition: evidence::replacing(store, etag) };
        let doubt = |other: &WatchedCopy, _: bool, _: &str| self.doubt(other);
        let copying = Copying { home: self.home, hold: &self.hold, doubt: &doubt, go_on: self.go_on };
        if let Some(spare) = self.spare {
            match self.replace_by_spare(&copying, &to, spare)? {
                Ok(()) => return Ok(Source::Spare(spare.name.to_owned())),
                Err(reason) => reasons.push(format!("{}: {reason}", spare.name)),
            }
        }
        let others = copying::others(copies, &self.copy.store);
        let copied = copying.run(&others, reasons, &mut |body| self.put(&to, body))?;
        Ok(match copied {
            Copied::From(store) => Source::Store(store),
            Copied::Retrieving(store) => Source::Retrieving(store),
            Copied::Nowhere(reasons) if reasons.is_empty() => Source::None("there is no other copy".into()),
            Copied::Nowhere(reasons) => Source::None(reasons.join("; ")),
        })
    }

    /// Whether a finding waits for a copy that is being retrieved, and no other copy can be read: there is nothing new to tell.
    pub(super) fn still_waits(&self, known: &Finding, copies: &[WatchedCopy]) -> Result<bool, OperationError> {
        if known.state != FindingState::Open || known.wait_reason != Some(WaitReason::Retrieval) {
            return Ok(false);
        }
        let mut is_retrieving = false;
        for other in copying::others(copies, &self.copy.store) {
            let key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
            match self.home.store(&other.store)?.head(&key) {
                Ok(head) if head.readable => return Ok(false),
                Ok(_) => is_retrieving |= matches!(copying::retrieve(self.home, other), Ok(Retrieval::UnderWay)),
                Err(error) if error.is_not_found() || error.is_away() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if is_retrieving {
            self.look_again_first()?;
        }
        Ok(is_retrieving)
    }

    /// Says in the finding what it waits for. The copy stays due.
    pub(super) fn wait(&self, id: FindingId, wrong: Option<&Wrong>, from: &str) -> Result<(), OperationError> {
        let detail = format!(
            "{} waits for the retrieval of its copy in store {from}, from which it is repaired then",
            self.place()
        );
        let finding = self.finding(id, wrong, detail);
        self.hold.write(move |tx| {
            record::open_finding(tx, &finding)?;
            record::set_waiting(tx, finding.id, WaitReason::Retrieval)
        })?;
        self.look_again_first()
    }

    fn look_again_first(&self) -> Result<(), OperationError> {
        let (content, store) = (self.copy.content, self.copy.store.clone());
        self.hold.write(move |tx| record::make_due(tx, content, &store))
    }

    /// Replaces the copy by bytes that are at hand elsewhere; why that did not serve.
    fn replace_by_spare(
        &self,
        copying: &Copying<'_>,
        to: &Target<'_>,
        spare: &Spare<'_>,
    ) -> Result<Result<(), String>, OperationError> {
        let body = match (spare.open)() {
            Ok(body) => body,
            Err(error) => return Ok(Err(chain(&error))),
        };
        match copying.put(body, &mut |body| self.put(to, body))? {
            Ok(()) => Ok(Ok(())),
            Err(
                error @ (StorageError::Mismatch { .. }
                | StorageError::Source { .. }
                | StorageError::InTheWay { .. }
                | StorageError::Unusable { .. }),
            ) => Ok(Err(chain(&error))),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts bytes in the place of the copy, and reads them back.
    fn put(&self, to: &Target<'_>, body: &mut dyn Read) -> Result<Result<(), StorageError>, OperationError> {
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, self.copy.sha512)),
            size: Some(self.copy.size),
            class: self.copy.class.clone(),
            condition: to.condition.clone(),
            ..PutOptions::default()
        };
        if let Err(error) = to.store.put(to.key, body, &options) {
            return Ok(Err(error));
        }
        match check::look(to.store, self.copy, self.go_on)? {
            StoredBytes::Right | StoredBytes::Attested { .. } => Ok(Ok(())),
            _ => Err(StorageError::Unusable {
                store: to.store.name().to_owned(),
                reason: format!("{} was replaced and does not read back as recorded", to.key),
            }
            .into()),
        }
    }

    fn doubt(&self, other: &WatchedCopy) -> Result<(), OperationError> {
        let (content, store) = (other.content, other.store.clone());
        self.hold.write(move |tx| record::make_due(tx, content, &store))
    }
}
