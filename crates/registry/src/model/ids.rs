//! Identifiers of records, each a type of its own. They are made by us (version 7) before the first use, so that
//! repeating an insert inserts nothing. Clocks differ: no order follows from them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strongroom_database::Value;
use strongroom_digest::{Algorithm, MultiHasher};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new identifier.
            #[allow(clippy::new_without_default)]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }

        impl From<$name> for Value {
            fn from(id: $name) -> Self {
                Self::Uuid(id.0)
            }
        }
    )*};
}

ids! {
    /// An institution.
    InstitutionId,
    /// A collection.
    CollectionId,
    /// An object.
    ObjectId,
    /// A storage generation of an object: its OCFL id is `urn:uuid:` of this.
    GenerationId,
    /// A file: a path of an object. It never changes.
    FileId,
    /// The deletion of an object, or of files of one.
    DeletionId,
    /// A content: distinct bytes within one generation of an object.
    ContentId,
    /// A version of an object.
    VersionId,
    /// A PREMIS event.
    EventId,
    /// A batch.
    BatchId,
    /// A work item.
    ItemId,
    /// A report of a batch.
    ReportId,
    /// A finding of damage.
    FindingId,
    /// Something that a tool has found in a file.
    ToolFindingId,
    /// Something that lies in a receiving store.
    UploadId,
    /// An actor.
    ActorId,
    /// A line of the journal.
    JournalId,
    /// An activity: a run of an agent over a list of record ids.
    ActivityId,
    /// A pipeline of agents.
    PipelineId,
    /// Something that an activity made.
    EntityId,
    /// A harvested document.
    DocumentId,
    /// A user.
    UserId,
    /// A session of a user.
    SessionId,
    /// A request for deletion.
    DeletionRequestId,
    /// A legal hold.
    LegalHoldId,
    /// A spot test of restoration.
    SpotTestId,
    /// A problem.
    ProblemId,
    /// A route of duplication.
    RouteId,
    /// A sweep of duplication.
    SweepId,
}

/// An identifier that follows from others, so that making it again makes the same one: of the SHA-256 of both, as a UUID of an
/// own form (RFC 9562 section 5.8).
pub(crate) fn derived(from: Uuid, label: &str) -> Uuid {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(from.as_bytes());
    hasher.update(label.as_bytes());
    let digests = hasher.finish();
    let mut bytes = [0_u8; 16];
    if let Some(digest) = digests.get(Algorithm::Sha256) {
        for (byte, from) in bytes.iter_mut().zip(digest.as_bytes()) {
            *byte = *from;
        }
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

impl GenerationId {
    /// A new identifier that is later than another one, also where the clock was turned back: the later generation is what an object is.
    #[must_use]
    pub fn after(earlier: Self) -> Self {
        let new = Self::new();
        if new > earlier { new } else { Self(Uuid::from_u128(earlier.0.as_u128().wrapping_add(1))) }
    }
}
