//! Stores: how they stand, and what came of filling, replacing and retiring them.

use serde::Serialize;

use crate::backfill::{BackfillSummary, Unretired};
use crate::reconcile::Difference;

/// A store of the settings.
#[derive(Debug, Clone, Serialize)]
pub struct StoreView {
    /// Its name.
    pub store: String,
    /// `folder` or `s3`.
    pub kind: String,
    /// `available`, `away`, `refused` where it is not the store that it should be, or `retired`.
    pub state: String,
    /// Where it is.
    pub path: String,
    /// The roles that it has.
    pub roles: Vec<String>,
    /// The placements that name it.
    pub placements: Vec<String>,
    /// What is wrong with it, and what to do.
    pub reason: Option<String>,
    /// Files of objects' logs that it has still to get.
    pub missed_logs: Option<u64>,
    /// Objects of which it still has something that was deleted.
    pub unfinished_deletions: Option<u64>,
    /// Objects of its placements that it does not hold whole, as the background task `placements` found last.
    pub lacking: Option<u64>,
    /// Those of which a task waits or is being worked on.
    pub backfill_queued: Option<u64>,
    /// Those whose task was given up.
    pub backfill_given_up: Option<u64>,
}

/// A store that is there now.
#[derive(Debug, Clone, Serialize)]
pub struct CreatedStoreView {
    /// Its name.
    pub store: String,
    /// `folder` or `s3`.
    pub kind: String,
    /// Where it is.
    pub path: String,
}

/// What a check of a store found.
#[derive(Debug, Clone, Serialize)]
pub struct StoreCheckView {
    /// Its name.
    pub store: String,
    /// Whether it can be used and no finding is open in it.
    pub ok: bool,
    /// As in [`StoreView`].
    pub state: String,
    /// Whether it honours conditions on puts.
    pub conditional_put: Option<bool>,
    /// Whether it computes a strong checksum of what is put.
    pub strong_checksum: Option<bool>,
    /// Whether several files appear in it at once.
    pub atomic_assembly: Option<bool>,
    /// The registry that its registry watermark names.
    pub registry: Option<String>,
    /// The term of that registry in it.
    pub term: Option<u64>,
    /// How many acts of that registry it names.
    pub acts: Option<u64>,
    /// Findings that are open in it.
    pub problems: Option<u64>,
    /// What is wrong, and what to do.
    pub message: Option<String>,
}

/// Something that only a store or only the registry knows.
#[derive(Debug, Clone, Serialize)]
pub struct DifferenceView {
    /// The store.
    pub store: String,
    /// What kind of difference it is.
    pub code: String,
    /// The key, or what stands for it.
    pub path: String,
    /// The object, where it is known.
    pub object: Option<String>,
    /// What was found and expected, where that says more than the code.
    pub detail: Option<String>,
    /// What the code means.
    pub meaning: String,
    /// What a person can do: a command to type, where there is one.
    pub next: String,
}

impl From<Difference> for DifferenceView {
    fn from(difference: Difference) -> Self {
        let next = difference.next();
        Self {
            store: difference.store,
            code: difference.code.as_str().to_owned(),
            path: difference.path,
            object: difference.object.map(|object| object.to_string()),
            detail: difference.detail,
            meaning: difference.code.meaning().to_owned(),
            next,
        }
    }
}

/// What was left to the workers.
#[derive(Debug, Clone, Serialize)]
pub struct EnqueuedBackfillView {
    /// The store.
    pub store: String,
    /// The topic of the tasks.
    pub topic: String,
    /// How many tasks there are.
    pub tasks: u64,
}

/// What came of bringing a store up to date.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BackfillView {
    /// The store.
    pub store: String,
    /// Objects that it holds whole now.
    pub objects: u64,
    /// Contents that were put and verified.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects left for later: other work holds them, or their contents are being retrieved from a cold storage class.
    pub postponed: u64,
    /// Objects that could not be brought.
    pub failed: u64,
    /// Why: the first few reasons.
    pub errors: Vec<String>,
}

impl BackfillView {
    pub(crate) fn new(store: &str, summary: BackfillSummary) -> Self {
        let BackfillSummary { objects, contents, bytes, postponed, failed, errors } = summary;
        Self { store: store.to_owned(), objects, contents, bytes, postponed, failed, errors }
    }
}

/// What came of replacing a store.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReplacementView {
    /// The name of the store.
    pub store: String,
    /// The identifier of the store that has the name now.
    pub id: String,
    /// That of the store that the registry knew by it.
    pub replaced: Option<String>,
    /// Contents of which no other store in use has a good copy.
    pub only_copies: u64,
    /// Tasks that were left to the workers, where the copying was.
    pub tasks: Option<u64>,
    /// As in [`BackfillView`], as all below.
    pub objects: u64,
    /// Contents that were put and verified.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects left for later.
    pub postponed: u64,
    /// Objects that could not be brought.
    pub failed: u64,
    /// Why: the first few reasons.
    pub errors: Vec<String>,
    /// Whether placements name the store, so that it lacks copies now.
    #[serde(skip)]
    pub keeps_copies: bool,
}

impl ReplacementView {
    /// The same with what was copied into the store since.
    #[must_use]
    pub fn filled(self, filled: BackfillView) -> Self {
        let BackfillView { store: _, objects, contents, bytes, postponed, failed, errors } = filled;
        Self { objects, contents, bytes, postponed, failed, errors, ..self }
    }
}

/// An object, or a placement, that a store cannot be taken from.
#[derive(Debug, Clone, Serialize)]
pub struct UnretiredView {
    /// The placement, where it is about a whole one.
    pub placement: Option<String>,
    /// The object, where it is about one.
    pub object: Option<String>,
    /// The store that lacks the object.
    pub store: Option<String>,
    /// Why.
    pub reason: String,
}

impl From<Unretired> for UnretiredView {
    fn from(unretired: Unretired) -> Self {
        let Unretired { object, placement, store, reason } = unretired;
        Self { placement, object, store, reason }
    }
}

/// A store that is out of use.
#[derive(Debug, Clone, Serialize)]
pub struct RetirementView {
    /// The store.
    pub store: String,
    /// Since when.
    pub retired_at: String,
}

/// A store that is in use again.
#[derive(Debug, Clone, Serialize)]
pub struct ReusedStoreView {
    /// The store.
    pub store: String,
    /// How many tasks bring what it lacks.
    pub tasks: u64,
}
