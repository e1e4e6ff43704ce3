//! The bytes of a content out of other stores: from the first copy that proves right while it is read. A copy in a cold storage
//! class is requested where no other serves; a store that does not answer says nothing of its copy.

use std::io::Read;

use strongroom_registry::CopyState;
use strongroom_registry::fixity::WatchedCopy;
use strongroom_storage::{Body, Key, Retrieval, RetrievalRequest, StorageError};

use super::check::is_unreadable;
use super::{GoOn, ObjectHold, OperationError};
use crate::error::chain;
use crate::interruptible::Interruptible;
use crate::{EngineError, Home};

/// What came of asking every copy.
pub(crate) enum Copied {
    /// The bytes came from this store.
    From(String),
    /// They are being retrieved in this store.
    Retrieving(String),
    /// No copy serves, for these reasons; none where there is no other copy.
    Nowhere(Vec<String>),
}

/// What came of one source.
pub(super) enum Attempt {
    /// Its bytes were put.
    Served,
    /// It cannot serve, for this reason.
    Refused(String),
    /// It has to be retrieved first.
    Cold,
    /// Its store does not answer.
    Silent(StorageError),
}

/// Writes bytes to the target. The caller decides by an error of the store; an [`OperationError`] ends the copying.
pub(crate) type Put<'a> = dyn FnMut(&mut dyn Read) -> Result<Result<(), StorageError>, OperationError> + 'a;

/// Notes that a copy proved wrong, or was missing (`true`), and why.
pub(crate) type Doubt<'a> = dyn Fn(&WatchedCopy, bool, &str) -> Result<(), OperationError> + 'a;

/// Who copies.
pub(crate) struct Copying<'a> {
    pub(crate) home: &'a Home,
    pub(crate) hold: &'a ObjectHold<'a>,
    pub(crate) doubt: &'a Doubt<'a>,
    pub(crate) go_on: &'a GoOn<'a>,
}

/// The copies of a content that lie outside a store, those first that should be right.
pub(crate) fn others<'c>(copies: &'c [WatchedCopy], store: &str) -> Vec<&'c WatchedCopy> {
    let mut others: Vec<&WatchedCopy> = copies.iter().filter(|other| other.store != store).collect();
    others.sort_by_key(|other| other.state != CopyState::Kept);
    others
}

/// Requests the retrieval of a copy from a cold storage class, as the settings say.
pub(super) fn retrieve(home: &Home, copy: &WatchedCopy) -> Result<Retrieval, EngineError> {
    let settings = &home.settings.restoration;
    let how = RetrievalRequest { days: settings.retrieval_days, tier: settings.retrieval_tier.clone() };
    let key = Key::new(copy.key.as_str()).map_err(StorageError::from)?;
    Ok(home.store(&copy.store)?.request_retrieval(&key, &how)?)
}

impl Copying<'_> {
    /// Puts the bytes of the first copy that proves right. `reasons` are those for which other sources did not serve before.
    pub(crate) fn run(
        &self,
        copies: &[&WatchedCopy],
        mut reasons: Vec<String>,
        put: &mut Put<'_>,
    ) -> Result<Copied, OperationError> {
        let (mut cold, mut silent): (Vec<&WatchedCopy>, Option<StorageError>) = (Vec::new(), None);
        for source in copies {
            self.go_on.check()?;
            match self.put_from(source, put)? {
                Attempt::Served => return Ok(Copied::From(source.store.clone())),
                Attempt::Refused(reason) => reasons.push(format!("{}: {reason}", source.store)),
                Attempt::Cold => cold.push(source),
                Attempt::Silent(error) => silent = silent.or(Some(error)),
            }
        }
        // What is away may stay away: a copy that can be retrieved elsewhere is.
        if let Some(error) = silent.take_if(|error| cold.is_empty() || !error.is_away()) {
            return Err(error.into());
        }
        for source in cold {
            match retrieve(self.home, source) {
                // It can be read by now, and serves the next time.
                Ok(Retrieval::UnderWay | Retrieval::Readable) => return Ok(Copied::Retrieving(source.store.clone())),
                Err(error) => reasons.push(format!("{}: cannot be retrieved: {}", source.store, error.chain())),
            }
        }
        // Where no other copy serves, it is tried again.
        silent.map_or(Ok(Copied::Nowhere(reasons)), |error| Err(error.into()))
    }

    fn put_from(&self, source: &WatchedCopy, put: &mut Put<'_>) -> Result<Attempt, OperationError> {
        let from = match self.home.store(&source.store) {
            Ok(from) => from,
            Err(error) => return Ok(Attempt::Refused(error.chain())),
        };
        let key = Key::new(source.key.as_str()).map_err(StorageError::from)?;
        let body = match from.head(&key) {
            Ok(head) if !head.readable => return Ok(Attempt::Cold),
            Ok(_) => from.open(&key, 0, None),
            Err(error) => Err(error),
        };
        let body = match body {
            Ok(body) => body,
            Err(error) if error.is_absent() => return self.refuse(source, true, &error),
            Err(error) if is_unreadable(&error) => return self.refuse(source, false, &error),
            Err(error) => return Ok(Attempt::Silent(error)),
        };
        match self.put(body, put)? {
            Ok(()) => Ok(Attempt::Served),
            Err(error @ StorageError::Mismatch { .. }) => self.refuse(source, false, &error),
            Err(error @ StorageError::Source { .. }) if is_unreadable(&error) => self.refuse(source, false, &error),
            Err(error @ StorageError::Source { .. }) => Ok(Attempt::Silent(error)),
            Err(error @ (StorageError::InTheWay { .. } | StorageError::Unusable { .. })) => {
                Ok(Attempt::Refused(chain(&error)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts bytes while the object's lease is kept.
    pub(super) fn put(&self, body: Body, put: &mut Put<'_>) -> Result<Result<(), StorageError>, OperationError> {
        self.hold.keep()?;
        let outcome = put(&mut self.hold.keeping(Interruptible::new(body, self.go_on)))?;
        if outcome.is_err() {
            self.go_on.check()?;
        }
        Ok(outcome)
    }

    /// The next copy is tried when this one is wrong too.
    fn refuse(&self, source: &WatchedCopy, is_missing: bool, error: &StorageError) -> Result<Attempt, OperationError> {
        let reason = match error {
            StorageError::Mismatch { declared, found, .. } => in_place_of(declared, found),
            other => chain(other),
        };
        (self.doubt)(source, is_missing, &reason)?;
        Ok(Attempt::Refused(reason))
    }
}

/// What is wrong with a copy that could not serve: the store that refused its bytes is not the one that they came from.
fn in_place_of(declared: &str, found: &str) -> String {
    match found {
        "more" => format!("its copy has more than {declared}"),
        found => format!("its copy has {found} in place of {declared}"),
    }
}
