//! The closed sets of words that records hold: states, and the transitions between them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::RegistryError;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident ($wanted:literal) { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word in records, JSON and pages.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = RegistryError;

            fn from_str(text: &str) -> Result<Self, RegistryError> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|one| one.as_str() == text)
                    .ok_or_else(|| RegistryError::Corrupt { wanted: $wanted, found: text.to_owned() })
            }
        }
    )*};
}

words! {
    /// What of a collection the public may see.
    PublicAccess ("what the public may see") {
        /// Nothing.
        None = "none",
        /// What describes its objects.
        Metadata = "metadata",
        /// Their files, too.
        Files = "files",
    }

    /// Where a work item is.
    ItemStatus ("a work item's status") {
        /// Waits for a worker or a time.
        Pending = "pending",
        /// A worker has it.
        Started = "started",
        /// A person holds it back.
        Held = "held",
        /// It ended without success and asks for review.
        Failed = "failed",
        /// A person or a newer deposit ended it.
        Cancelled = "cancelled",
        /// Done.
        Succeeded = "succeeded",
        /// A person put it away; the row stays.
        Deleted = "deleted",
    }

    /// What came of a content item of a route of duplication.
    CopyOutcome ("what came of a content item") {
        /// Both stores have it, with equal bytes.
        Equal = "equal",
        /// It was deleted in the source, and the rule keeps its copy.
        Kept = "kept",
        /// It was deleted in the source, and then its copy.
        Deleted = "deleted",
        /// It is missing, and no deletion is recorded.
        Lost = "lost",
        /// The bytes of one of both are not those that were recorded under its etag.
        Damaged = "damaged",
        /// Both were changed, and rules copy in both directions.
        Conflict = "conflict",
    }

    /// What was done with a content item, or found of it.
    ContentActKind ("a kind of act on a content item") {
        /// It was copied to where it was missing.
        Copied = "copied",
        /// It was copied over other bytes.
        Replaced = "replaced",
        /// Its copy got the description of the source.
        Described = "described",
        /// Its copy was deleted.
        Deleted = "deleted",
        /// The space was made in the destination.
        SpaceCreated = "space_created",
        /// The space was removed from the destination.
        SpaceRemoved = "space_removed",
        /// Both stores were compared for the first time as they are, and have the same bytes.
        Equal = "equal",
        /// Its copy was to be deleted, and was not there.
        Absent = "absent",
        /// It was deleted in the source, and its copy is kept.
        Kept = "kept",
        /// It is missing, and no deletion is recorded.
        Lost = "lost",
        /// The bytes of one of both are not those that were recorded under its etag.
        Damaged = "damaged",
        /// Both were changed, and rules copy in both directions.
        Conflict = "conflict",
        /// Its deletion in the source was reported.
        DeletionReported = "deletion_reported",
        /// A deletion that was reported counts no more: the content item was put again.
        DeletionEnded = "deletion_ended",
    }

    /// What happened to a content item of a plain store.
    ContentEventKind ("a kind of event of a content item") {
        /// It was put, replaced, or described anew.
        Put = "put",
        /// It was deleted.
        Delete = "delete",
    }

    /// Where a part of a sweep is.
    SweepPhase ("the phase of a part of a sweep") {
        /// The spaces of both stores are listed.
        Spaces = "spaces",
        /// Deletions that were recorded are queued.
        Deletions = "deletions",
        /// Both listings are compared, and what differs is queued.
        Copies = "copies",
        /// It is compared, and deletions wait for a person.
        Held = "held",
        /// It is compared, and deletions that a person has allowed are queued.
        Allowed = "allowed",
        /// At its end.
        Done = "done",
        /// It failed too often.
        Failed = "failed",
        /// No rule copies there any more.
        Dropped = "dropped",
    }

    /// What a person holds.
    HoldKind ("a kind of hold") {
        /// Every item of a collection.
        Collection = "collection",
        /// Every item of a batch.
        Batch = "batch",
        /// One item.
        Item = "item",
    }

    /// What a report of a batch is.
    ReportKind ("a kind of report") {
        /// The first when every item of the batch has ended.
        Final = "final",
        /// One after that: what changed since the last report, and what is unresolved.
        Update = "update",
        /// What a person asked for of a batch that has not ended. It counts as no report to the depositor.
        Provisional = "provisional",
    }

    /// A mail about a batch.
    MailKind ("a kind of mail") {
        /// The batch was accepted.
        Queued = "queued",
        /// Every item of it succeeded.
        Done = "done",
        /// It ended, and not every item succeeded.
        Failed = "failed",
        /// Items changed after it had ended.
        Update = "update",
        /// An upload of it is not valid and is going to be removed.
        Removal = "removal",
    }

    /// Where an activity is.
    ActivityState ("the state of an activity") {
        /// It waits for a worker.
        Queued = "queued",
        /// Its list is being populated, and no record was claimed yet.
        Populating = "populating",
        /// Records are processed; its list may still grow.
        Running = "running",
        /// A person keeps it from going on.
        Paused = "paused",
        /// Every record ended, and none of them failed.
        Finished = "finished",
        /// Every record ended, and some of them failed.
        FinishedWithErrors = "finished_with_errors",
        /// It could not go on as a whole.
        Failed = "failed",
        /// A person ended it.
        Cancelled = "cancelled",
    }

    /// Where the records of an activity come from.
    ActivityInput ("the input of an activity") {
        /// The agent itself finds them.
        Source = "source",
        /// What another activity has processed when the list is populated.
        Snapshot = "snapshot",
        /// What another activity processes, until it has ended.
        Follow = "follow",
    }

    /// What an activity did to an entity.
    ProvenanceKind ("a kind of provenance") {
        /// It made it.
        Generated = "generated",
        /// It made it anew.
        Revised = "revised",
        /// It ended its validity; the entity stays.
        Invalidated = "invalidated",
    }

    /// What kind of actor acts.
    ActorKind ("a kind of actor") {
        /// The system itself.
        System = "system",
        /// An account of the operating system, at the console.
        Console = "console",
        /// A person, by an email address.
        User = "user",
    }

    /// How a user got what it may do.
    GrantAct ("a grant of a role") {
        /// The user was added.
        Added = "added",
        /// The role or the institution was changed.
        Changed = "changed",
        /// The user was activated again.
        Activated = "activated",
    }

    /// The outcome of an act in the journal.
    JournalOutcome ("an outcome in the journal") {
        /// It takes more than one transaction, of which the first begins it.
        Begun = "begun",
        /// It was done.
        Done = "done",
        /// It was begun and could not be done.
        Failed = "failed",
        /// The actor may not do it.
        Refused = "refused",
    }

    /// Where a version of a profile comes from.
    ProfileOrigin ("the origin of a profile") {
        /// It came with a program.
        BuiltIn = "built-in",
        /// A person added it.
        File = "file",
        /// A record in a store names it; its document is missing.
        Stores = "stores",
    }

    /// Where a batch is.
    BatchState ("a batch's state") {
        /// Not every row has an item yet.
        Pending = "pending",
        /// Every item of it that has not ended is held.
        Held = "held",
        /// Items are at work.
        Processing = "processing",
        /// Its report is being made.
        Reporting = "reporting",
        /// Every row has an item, and every item succeeded.
        Completed = "completed",
        /// Every item ended, and not all succeeded.
        Failed = "failed",
        /// Its report is being made anew.
        UpdateReporting = "update_reporting",
        /// A person put it away.
        Deleted = "deleted",
    }

    /// Where an object is.
    ObjectState ("an object's state") {
        /// Nothing is published yet.
        New = "new",
        /// Kept.
        Active = "active",
        /// Every file was taken out.
        Deleted = "deleted",
    }

    /// Where a version is.
    VersionState ("a version's state") {
        /// Rows and bytes are being prepared; it may be dropped.
        Preparing = "preparing",
        /// From here only forward.
        Committing = "committing",
        /// Readers see it.
        Published = "published",
        /// It is discarded: its rows go, it is never resumed.
        Dropping = "dropping",
        /// Given up before it was true.
        Dropped = "dropped",
    }

    /// Where a deletion is.
    DeletionState ("a deletion's state") {
        /// Rows and bytes are removed; no other work can hold the object.
        Begun = "begun",
        /// The registry says what is left of the object; some stores may still have bytes.
        Settled = "settled",
        /// Carried out in every store.
        Completed = "completed",
    }

    /// Where a copy is.
    CopyState ("a copy's state") {
        /// Kept, as far as is known.
        Kept = "kept",
        /// Its bytes are wrong.
        Damaged = "damaged",
        /// Nothing lies under its key.
        Missing = "missing",
    }

    /// What a work item, or the repair of a finding, waits for.
    WaitReason ("a reason to wait") {
        /// An older deposit of the same object.
        OlderDeposit = "older_deposit",
        /// Other work on the same object.
        Object = "object",
        /// Room in staging.
        StagingSpace = "staging_space",
        /// Archived copies that were requested.
        Retrieval = "retrieval",
        /// A store that is away.
        Store = "store",
        /// A store that is refused: a person has to put it right.
        RefusedStore = "refused_store",
        /// The service that registers identifiers.
        IdentifierService = "identifier_service",
        /// A tool that cannot tell now, such as one whose server is away.
        Tool = "tool",
        /// The other work items of its batch.
        Batch = "batch",
        /// The program that has to confirm what was ingested.
        Confirmation = "confirmation",
        /// What the note says.
        Other = "other",
    }

    /// What a finding says is wrong.
    FindingKind ("a finding's kind") {
        /// The bytes of a copy.
        Damaged = "damaged",
        /// Nothing lies where a copy should.
        Missing = "missing",
        /// A declaration, an inventory or a sidecar.
        Inventory = "inventory",
    }

    /// What became of a finding.
    FindingState ("a finding's state") {
        /// Nothing yet.
        Open = "open",
        /// Put right, and proved.
        Repaired = "repaired",
        /// No copy proved right to repair it from.
        Unrepairable = "unrepairable",
    }

    /// What became of something that a tool has found in a file.
    ToolFindingState ("a state of what a tool has found") {
        /// A person is to look at it.
        Open = "open",
        /// The same tool has passed the file later.
        Passed = "passed",
        /// A person has decided that it is nothing.
        Dismissed = "dismissed",
    }

    /// What became of something that a restoration has put into the restoration store.
    RestoredState ("a restored thing's state") {
        /// It is being put, or was when its restoration stopped.
        Putting = "putting",
        /// It lies there.
        Kept = "kept",
        /// A later restoration put something under the same name.
        Replaced = "replaced",
        /// Its removal has begun.
        Removing = "removing",
        /// It was removed when its time had ended, or nothing lay there any more.
        Removed = "removed",
        /// Another process put something in its place, which stays.
        Changed = "changed",
    }

    /// What became of a spot test.
    SpotTestState ("a state of a spot test") {
        /// Its object is being restored.
        Restoring = "restoring",
        /// Its object was restored; a person is to look at the result.
        Restored = "restored",
        /// A person has looked at the result, and it is right.
        Confirmed = "confirmed",
        /// The restoration failed, or a person has looked at the result, and it is not right.
        Failed = "failed",
        /// It failed, and a person has closed it.
        Closed = "closed",
        /// It says nothing: its object was deleted, or its work item was cancelled.
        Dropped = "dropped",
    }

    /// Where a problem is.
    ProblemState ("a state of a problem") {
        /// It is there, and no person has done anything about it.
        Open = "open",
        /// A person works on it.
        Assigned = "assigned",
        /// Others work on it, such as the provider of a store.
        External = "external",
        /// It is there, and a person has decided with a reason that it may be.
        Waived = "waived",
        /// It was seen not to be there any more: repaired, and verified.
        Resolved = "resolved",
    }

    /// What became of something that lies, or lay, in a receiving store.
    UploadState ("an upload's state") {
        /// It is waits until it no longer changes (quiet period).
        Settling = "settling",
        /// It no longer changes, and is nothing that can be taken in.
        NotABag = "not_a_bag",
        /// Its collection takes no deposits.
        Refused = "refused",
        /// A work item takes it in.
        Submitted = "submitted",
        /// The same bytes were taken in under this name before, and another upload since.
        Known = "known",
        /// It was taken in and is about to be removed.
        Published = "published",
        /// It could not be taken in for a reason that is not its own.
        Failed = "failed",
        /// It is wrong, and is removed when its time has run out.
        Invalid = "invalid",
        /// Its work item was cancelled.
        Cancelled = "cancelled",
        /// Its removal has begun.
        Removing = "removing",
        /// It was removed.
        Removed = "removed",
        /// It is no longer there, and the program did not remove it.
        Withdrawn = "withdrawn",
    }

    /// The state of an object's copies in the stores of its placement.
    Health ("a health") {
        /// Every content has a verified copy in every store, and nothing that was found is open.
        Whole = "ok",
        /// A copy or an inventory has wrong bytes.
        Damaged = "damaged",
        /// A copy or an inventory is not where it belongs.
        MissingCopies = "missing copies",
        /// A copy was not verified since it was put or found.
        Unverified = "unverified",
    }

    /// What a user may do, within an institution or the whole installation.
    UserRole ("the role of a user") {
        /// Runs the installation.
        SystemAdmin = "system_admin",
        /// Answers for what an institution keeps.
        InstitutionAdmin = "institution_admin",
        /// Deposits for an institution, and inspects what it keeps.
        InstitutionUser = "institution_user",
        /// Sees everything, of an institution or of all, and changes nothing.
        Auditor = "auditor",
    }

    /// What a key may be used for, at most: its user has to have the right as well. Each includes to read.
    KeyScope ("a scope of a key") {
        /// What changes nothing, and no more.
        Read = "read",
        /// Deposits, and descriptions of objects.
        Deposit = "deposit",
        /// Restorations.
        Restore = "restore",
        /// Whatever else changes something, but users and keys.
        Manage = "manage",
    }

    /// What a token that is used once is for.
    OneTimeKind ("what a token is for") {
        /// A new user chooses a first password.
        Invitation = "invitation",
        /// A user chooses a new password.
        PasswordReset = "password_reset",
    }

    /// Where a request for deletion is.
    DeletionRequestState ("a state of a request for deletion") {
        /// Another user has to approve it.
        Requested = "requested",
        /// Two users want it: its work items delete what it names.
        Approved = "approved",
        /// It was refused.
        Denied = "denied",
        /// It was taken back, as far as its work items had not begun.
        Cancelled = "cancelled",
        /// It was not approved in time.
        Expired = "expired",
        /// All that it names was deleted.
        Completed = "completed",
        /// Its work items have ended, and not all that it names was deleted.
        Failed = "failed",
    }

    /// What `compare` found for a file.
    Decision ("a decision") {
        /// A path the object did not have.
        New = "new",
        /// A path whose bytes differ from those kept.
        Changed = "changed",
        /// Nothing to do.
        Unchanged = "unchanged",
    }
}

impl BatchState {
    /// The states that a batch takes from this one. It follows from its items; a person only deletes it.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Pending => matches!(next, Self::Held | Self::Processing | Self::Failed | Self::Deleted),
            Self::Held => matches!(next, Self::Pending | Self::Processing | Self::Failed | Self::Deleted),
            Self::Processing => matches!(next, Self::Held | Self::Completed | Self::Failed | Self::Deleted),
            Self::Failed => matches!(next, Self::Pending | Self::Held | Self::Processing | Self::Deleted),
            Self::Completed => matches!(next, Self::Deleted),
            // Those of reports: no batch has them.
            Self::Reporting | Self::UpdateReporting | Self::Deleted => false,
        }
    }

    /// Whether something more happens to it by itself, or when a hold is lifted.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Held | Self::Processing)
    }
}

impl ItemStatus {
    /// Whether nothing more will happen by itself.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::Succeeded | Self::Deleted)
    }

    /// The one transition table: every path, an administrator's too, goes through it.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Pending => matches!(
                next,
                Self::Started | Self::Held | Self::Cancelled | Self::Failed | Self::Deleted | Self::Pending
            ),
            Self::Started => {
                matches!(
                    next,
                    Self::Pending | Self::Held | Self::Failed | Self::Cancelled | Self::Succeeded | Self::Started
                )
            }
            Self::Held => matches!(next, Self::Pending | Self::Cancelled | Self::Deleted),
            Self::Failed | Self::Cancelled => matches!(next, Self::Pending | Self::Deleted),
            Self::Succeeded => matches!(next, Self::Deleted),
            Self::Deleted => false,
        }
    }
}

#[expect(clippy::derivable_impls, reason = "the macro derives the same for every enum")]
impl Default for PublicAccess {
    fn default() -> Self {
        Self::None
    }
}

impl CopyOutcome {
    /// Whether a person has to act.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::Lost | Self::Damaged | Self::Conflict)
    }
}

impl SweepPhase {
    /// Whether a process goes on with a part in this phase.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Spaces | Self::Deletions | Self::Copies | Self::Allowed)
    }
}
