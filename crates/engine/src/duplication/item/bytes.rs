//! The bytes of a content item in both stores: how they are read, compared and proved.

use std::io::Read;

use strongroom_digest::{Algorithm, Digest, DigestSet, hash_reader};
use strongroom_spaces::{ItemHead, PlainStore, shown_key};
use strongroom_storage::StorageError;

use super::{Both, Came, EqualItem, ItemTask, Known};
use crate::EngineError;
use crate::hold::OperationError;
use crate::interruptible::Interruptible;

/// The digests by which a copy is known: that which is recorded, and that for which stores vouch. Whether a store does may be known only when
/// something was written to it.
pub(super) const PROOFS: [Algorithm; 2] = [Algorithm::Sha512, Algorithm::Sha256];

/// What is known of the bytes of a content item that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// They were compared now.
    Compared,
    /// They were compared when they were recorded last, and are the same.
    AsRecorded,
    /// They were not compared: what is archived cannot be read.
    None,
}

impl ItemTask<'_> {
    /// Proves that a copy has the bytes that were read from the source: by a digest that its store vouches for, or by reading it.
    /// None where neither can be: it is in an archived storage class.
    pub(super) fn prove(
        &self,
        store: &dyn PlainStore,
        put: &ItemHead,
        read: &DigestSet,
    ) -> Result<Proof, OperationError> {
        let vouched = store.capabilities().vouched.iter();
        let common = vouched.filter_map(|algorithm| Some((put.checksum(*algorithm)?, read.get(*algorithm)?)));
        let is_equal = match common.map(|(one, other)| one == other).reduce(|all, one| all && one) {
            Some(is_equal) => is_equal,
            None if !put.is_readable => return Ok(Proof::None),
            None => Some(self.digest_of(store, put)?) == read.get(Algorithm::Sha512),
        };
        if is_equal {
            return Ok(Proof::Compared);
        }
        Err(EngineError::CheckFailed(format!(
            "the copy of {}/{} in {} does not have the bytes that were written",
            self.space, self.key, self.route.destination
        ))
        .into())
    }

    pub(super) fn digest_of(&self, store: &dyn PlainStore, head: &ItemHead) -> Result<Digest, OperationError> {
        let body = store.open(self.space, self.key, &head.etag)?;
        let mut body = Interruptible::new(body, self.context).take(head.size.saturating_add(1));
        let read = hash_reader(&mut body, &[Algorithm::Sha512]);
        self.context.check()?;
        let (length, digests) = read.map_err(|source| StorageError::Io {
            store: store.name().to_owned(),
            act: "read",
            key: shown_key(self.space, self.key),
            source,
        })?;
        match digests.get(Algorithm::Sha512) {
            Some(digest) if length == head.size => Ok(digest),
            _ => Err(self.changed(store.name()).into()),
        }
    }

    /// Reads both of a content item for which a person is needed: where they are as they should be, none is.
    pub(super) fn read_again(&self, both: &Both<'_>, known: &Known) -> Result<Came, OperationError> {
        let (Some(source), Some(destination)) = (&both.in_source, &both.in_destination) else {
            return Ok(Came::Later);
        };
        if !(source.is_readable && destination.is_readable) {
            return Ok(Came::AsKnown);
        }
        let one = self.digest_of(both.source, source)?;
        let is_equal = known.sha512_of(&source.etag).is_none_or(|recorded| recorded == one)
            && one == self.digest_of(both.destination, destination)?;
        if !is_equal {
            return Ok(Came::AsKnown);
        }
        Ok(Came::Equal(Box::new(EqualItem {
            source: source.clone(),
            destination: destination.clone(),
            sha512: Some(one),
            proof: Proof::Compared,
            is_news: true,
            did: None,
            makes_space: false,
            detail: String::new(),
        })))
    }

    /// Digests of both, read once more where people would have to act on them: a read that goes wrong is no damage.
    pub(super) fn read_with_care(
        &self,
        read: &dyn Fn() -> Result<(Digest, Digest), OperationError>,
        needs_person: &dyn Fn((Digest, Digest)) -> bool,
    ) -> Result<(Digest, Digest), OperationError> {
        let first = read()?;
        if !needs_person(first) {
            return Ok(first);
        }
        let second = read()?;
        if needs_person(second) && first != second {
            return Err(EngineError::CheckFailed(format!(
                "{}/{} was read twice in {} and {}, and other bytes came each time",
                self.space, self.key, self.route.source, self.route.destination
            ))
            .into());
        }
        Ok(second)
    }
}
