//! Replacing a wrong copy by the bytes of another that proves right while it is read. Only what was seen, and kept as
//! evidence, is replaced: a worker that lost the object's lease meanwhile changes nothing.

use strongroom_digest::Algorithm;
use strongroom_registry::fixity::{self as record, Finding, WatchedCopy};
use strongroom_registry::{CopyState, FindingId, FindingState, WaitReason};
use strongroom_storage::{Body, Key, PutCondition, PutOptions, StorageError, Store, Thaw, Thawing};

use super::OperationError;
use super::check::{self, Interruptible, StoredBytes, Wrong};
use super::evidence;
use super::heal::Spare;
use super::repair::Case;
use crate::EngineError;
use crate::error::chain;

/// Where a repair's bytes came from, or why there are none.
pub(super) enum Source {
    Store(String),
    /// They were at hand elsewhere: whose they are.
    Spare(String),
    /// They are being thawed in this store.
    Thawing(String),
    None(String),
}

/// What came of one source.
enum Attempt {
    /// The copy is replaced, and reads back right.
    Served,
    /// It cannot serve, for this reason.
    Refused(String),
    /// It has to be thawed first.
    Cold,
    /// Its store does not answer.
    Silent(StorageError),
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
        // A store that does not answer says nothing of its copy: where no other serves, the repair is tried again.
        let mut silent: Option<StorageError> = None;
        let mut cold = Vec::new();
        let to = Target { store, key: &key, condition: evidence::replacing(store, etag) };
        if let Some(spare) = self.spare {
            match self.replace_by_spare(&to, spare)? {
                Attempt::Served => return Ok(Source::Spare(spare.name.to_owned())),
                Attempt::Refused(reason) => reasons.push(format!("{}: {reason}", spare.name)),
                Attempt::Silent(error) => reasons.push(format!("{}: {}", spare.name, chain(&error))),
                Attempt::Cold => {}
            }
        }
        for other in self.others(copies) {
            (self.go_on)()?;
            match self.replace_from(&to, other)? {
                Attempt::Served => return Ok(Source::Store(other.store.clone())),
                Attempt::Refused(reason) => reasons.push(format!("{}: {reason}", other.store)),
                Attempt::Cold => cold.push(other),
                Attempt::Silent(error) => silent = silent.or(Some(error)),
            }
        }
        // What is away may stay away: a copy that can be retrieved elsewhere is.
        if let Some(error) = silent.take_if(|error| cold.is_empty() || !error.is_away()) {
            return Err(error.into());
        }
        for other in cold {
            match self.thaw(other) {
                // It can be read by now, and serves the next time.
                Ok(Thawing::UnderWay | Thawing::Readable) => return Ok(Source::Thawing(other.store.clone())),
                Err(error) => reasons.push(format!("{}: cannot be thawed: {}", other.store, error.chain())),
            }
        }
        if let Some(error) = silent {
            return Err(error.into());
        }
        if reasons.is_empty() {
            reasons.push("there is no other copy".into());
        }
        Ok(Source::None(reasons.join("; ")))
    }

    /// Other copies of the same content, those first that should be right.
    fn others<'c>(&self, copies: &'c [WatchedCopy]) -> Vec<&'c WatchedCopy> {
        let mut others: Vec<&WatchedCopy> = copies.iter().filter(|other| other.store != self.copy.store).collect();
        others.sort_by_key(|other| other.state != CopyState::Kept);
        others
    }

    fn thaw(&self, other: &WatchedCopy) -> Result<Thawing, EngineError> {
        let settings = &self.home.settings.restoration;
        let how = Thaw { days: settings.retrieval_days, tier: settings.retrieval_tier.clone() };
        let key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
        Ok(self.home.store(&other.store)?.thaw(&key, &how)?)
    }

    /// Whether a finding waits for a copy that is being thawed, and no other copy can be read: there is nothing new to tell.
    pub(super) fn still_waits(&self, known: &Finding, copies: &[WatchedCopy]) -> Result<bool, OperationError> {
        if known.state != FindingState::Open || known.wait_reason != Some(WaitReason::Retrieval) {
            return Ok(false);
        }
        let mut is_thawing = false;
        for other in self.others(copies) {
            let key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
            match self.home.store(&other.store)?.head(&key) {
                Ok(head) if head.readable => return Ok(false),
                Ok(_) => is_thawing |= matches!(self.thaw(other), Ok(Thawing::UnderWay)),
                Err(error) if error.is_not_found() || error.is_away() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if is_thawing {
            self.look_again_first()?;
        }
        Ok(is_thawing)
    }

    /// Says in the finding what it waits for. The copy stays due.
    pub(super) fn wait(&self, id: FindingId, wrong: Option<&Wrong>, from: &str) -> Result<(), OperationError> {
        let detail =
            format!("{} waits for its copy to be thawed in store {from}, from which it is repaired then", self.place());
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

    /// Replaces the copy by another's bytes and reads it back.
    fn replace_from(&self, to: &Target<'_>, other: &WatchedCopy) -> Result<Attempt, OperationError> {
        let from = match self.home.store(&other.store) {
            Ok(from) => from,
            Err(error) => return Ok(Attempt::Refused(error.chain())),
        };
        let other_key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
        let body = match from.head(&other_key) {
            Ok(head) if !head.readable => return Ok(Attempt::Cold),
            Ok(_) => from.open(&other_key, 0, None),
            Err(error) => Err(error),
        };
        let body = match body {
            Ok(body) => body,
            Err(error) if error.is_absent() => return self.doubt(other, chain(&error)),
            Err(error) if check::is_unreadable(&error) => return self.doubt(other, chain(&error)),
            Err(error) => return Ok(Attempt::Silent(error)),
        };
        if let Err(error) = self.put(to, body)? {
            return match error {
                StorageError::Mismatch { .. } => self.doubt(other, chain(&error)),
                StorageError::Source { .. } if check::is_unreadable(&error) => self.doubt(other, chain(&error)),
                StorageError::Source { .. } => Ok(Attempt::Silent(error)),
                StorageError::InTheWay { .. } | StorageError::Unusable { .. } => Ok(Attempt::Refused(chain(&error))),
                _ => Err(error.into()),
            };
        }
        self.read_back(to)
    }

    /// Replaces the copy by bytes that are at hand elsewhere, and reads it back.
    fn replace_by_spare(&self, to: &Target<'_>, spare: &Spare<'_>) -> Result<Attempt, OperationError> {
        let body = match (spare.open)() {
            Ok(body) => body,
            Err(error) => return Ok(Attempt::Silent(error)),
        };
        match self.put(to, body)? {
            Ok(()) => self.read_back(to),
            Err(
                error @ (StorageError::Mismatch { .. }
                | StorageError::Source { .. }
                | StorageError::InTheWay { .. }
                | StorageError::Unusable { .. }),
            ) => Ok(Attempt::Refused(chain(&error))),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts bytes in the place of the copy; what the store says of them is for the caller to judge.
    fn put(&self, to: &Target<'_>, body: Body) -> Result<Result<(), StorageError>, OperationError> {
        self.hold.keep()?;
        let mut body = self.hold.keeping(Interruptible { body, go_on: self.go_on });
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, self.copy.sha512)),
            size: Some(self.copy.size),
            class: self.copy.class.clone(),
            condition: to.condition.clone(),
            ..PutOptions::default()
        };
        let outcome = to.store.put(to.key, &mut body, &options);
        if outcome.is_err() {
            (self.go_on)()?;
        }
        Ok(outcome.map(drop))
    }

    fn read_back(&self, to: &Target<'_>) -> Result<Attempt, OperationError> {
        match check::look(to.store, self.copy, self.go_on)? {
            StoredBytes::Right | StoredBytes::Attested { .. } => Ok(Attempt::Served),
            _ => Err(StorageError::Unusable {
                store: to.store.name().to_owned(),
                reason: format!("{} was replaced and does not read back right", to.key),
            }
            .into()),
        }
    }

    /// The next copy is tried when this one is damaged too.
    fn doubt(&self, other: &WatchedCopy, reason: String) -> Result<Attempt, OperationError> {
        let (content, store) = (other.content, other.store.clone());
        self.hold.write(move |tx| record::make_due(tx, content, &store))?;
        Ok(Attempt::Refused(reason))
    }
}
