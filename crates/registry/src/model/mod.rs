//! What records hold: identifiers, words, and the things that they describe. No SQL.

pub(crate) mod activity;
pub(crate) mod actor;
pub mod advice;
pub(crate) mod claim;
mod enums;
mod format;
pub(crate) mod ids;
pub(crate) mod item;
mod order;
pub(crate) mod origin;
mod period;
pub(crate) mod permanent;
mod scope;
pub(crate) mod version;
pub(crate) mod workflow;

pub use enums::{
    ActivityInput, ActivityState, ActorKind, BatchState, ContentActKind, ContentEventKind, CopyOutcome, CopyState,
    Decision, DeletionRequestState, DeletionState, FindingKind, FindingState, GrantAct, Health, HoldKind, ItemStatus,
    JournalOutcome, KeyScope, MailKind, ObjectState, OneTimeKind, ProblemState, ProfileOrigin, ProvenanceKind,
    PublicAccess, ReportKind, RestoredState, SpotTestState, SweepPhase, ToolFindingState, UploadState, UserRole,
    VersionState, WaitReason,
};
pub use format::Format;
pub use ids::{
    ActivityId, ActorId, BatchId, CollectionId, ContentId, DeletionId, DeletionRequestId, DocumentId, EntityId,
    EventId, FileId, FindingId, GenerationId, InstitutionId, ItemId, JournalId, LegalHoldId, ObjectId, PipelineId,
    ProblemId, ReportId, RouteId, SessionId, SpotTestId, SweepId, ToolFindingId, UploadId, UserId, VersionId,
};
pub use order::Order;
pub use origin::{HARVESTED_FROM, Origin};
pub use period::Period;
pub use permanent::{PERMANENT_CODES, is_permanent_code};
pub use scope::Scope;
pub use workflow::{Action, Position, Stage, Subject, WaitKey, Workflows};
