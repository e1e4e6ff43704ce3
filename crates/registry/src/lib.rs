//! The record: institutions to events, work items, and the SQL that keeps them.
//!
//! What records hold lies in `model/`, without SQL. Operations are plain functions over a [`Transaction`] in `store/`, a file for
//! each group of tables, one implementation for all engines; their SQL lies in `sql/`: shared, or in a folder per dialect.
//! [`Registry`] opens a database with them. Readers see published versions only.

mod counted;
mod error;
#[cfg(feature = "failpoints")]
pub mod faults;
mod hastened;
mod model;
mod registry;
mod store;
mod together;

pub use counted::counted;
pub use error::RegistryError;
pub use hastened::Listener as HastenedListener;
pub use model::advice;
pub(crate) use model::workflow;
pub use model::{
    Action, ActivityId, ActivityInput, ActivityState, ActorId, ActorKind, BatchId, BatchState, CollectionId,
    ContentActKind, ContentEventKind, ContentId, CopyOutcome, CopyState, Decision, DeletionId, DeletionRequestId,
    DeletionRequestState, DeletionState, DocumentId, EntityId, EventId, FileId, FindingId, FindingKind, FindingState,
    Format, GenerationId, GrantAct, HARVESTED_FROM, Health, HoldKind, InstitutionId, ItemId, ItemStatus, JournalId,
    JournalOutcome, KeyScope, LegalHoldId, MailKind, ObjectId, ObjectState, OneTimeKind, Order, Origin,
    PERMANENT_CODES, Period, PipelineId, Position, ProblemId, ProblemState, ProfileOrigin, ProvenanceKind,
    PublicAccess, ReportId, ReportKind, RestoredState, RouteId, Scope, SessionId, SpotTestId, SpotTestState, Stage,
    Subject, SweepId, SweepPhase, ToolFindingId, ToolFindingState, UploadId, UploadState, UserId, UserRole, VersionId,
    VersionState, WaitKey, WaitReason, Workflows, is_permanent_code,
};
pub use registry::{Registry, check_schema, migrations, schema, statements};
pub use store::objects::{Description, Digests, Layout};
pub use store::parts::{Part, Parts};
pub use store::{
    activities, api_keys, approval_tokens, audit, audit_imports, backfill, batches, begun_deletions, checks, comparing,
    confirmations, content_acts, content_events, copies, deletion_requests, deletion_targets, deletions, discarding,
    documents, duplicated_items, duplication_policies, duplication_routes, epoch, events, failures, fixity, health,
    holds, identification, interim, items, journal, leases, legal_holds, levels, manifests, named, notifications,
    object_ids, objects, obstacles, one_time_tokens, outbox, parts, pipelines, placements, problems, profiles,
    provenance, provisional_reports, rebuild, receiving, reports, restorations, restored, retention, schedules, search,
    second_factors, sessions, spot_tests, statistics, stores, sweeps, tenants, throttles, tool_findings, users,
    versions, watermarks, work,
};
pub use strongroom_database::{Time, Transaction};
pub use together::Together;
