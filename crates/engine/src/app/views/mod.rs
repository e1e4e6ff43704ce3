//! What functions of [`crate::app`] answer: plain structs that every edge renders as it likes. Their fields are the keys of the
//! JSON that scripts read; times are RFC 3339 in UTC, sizes bytes, digests hexadecimal digits in lower case.

mod activities;
mod audit;
mod background;
mod batches;
mod content_acts;
mod deletion_requests;
mod deposits;
mod disposal;
mod documents;
mod duplication;
mod duplication_runs;
mod events;
mod fields;
mod files;
mod fixity;
mod formats;
mod installation;
mod interim;
mod items;
mod journal;
mod legal_holds;
mod levels;
mod objects;
mod outbox;
mod pipelines;
mod problems;
mod profiles;
mod queues;
mod receiving;
mod registry;
mod restorations;
mod settings;
mod spaces;
mod spot_tests;
mod statistics;
mod stores;
mod tenants;
mod users;
mod versions;
mod workers;

pub use crate::held::{HoldView, StopView};
pub(crate) use activities::ActivityNames;
pub use activities::{ActivityView, AgentOptionView, AgentView, RecordView, RetriedView, ToolFindingView};
pub use audit::{AuditChainView, AuditCheckView, AuditExportView};
pub use background::{BackgroundRunView, BackgroundTaskView};
pub use batches::BatchView;
pub use content_acts::ContentActView;
pub use deletion_requests::{DeletionTargetView, DeletionView, UnfinishedDeletionView};
pub use deposits::{DepositView, SubmittedView};
pub use disposal::{DueView, ObstacleToDeletionView};
pub use documents::DocumentView;
pub use duplication::{
    ImportedPoliciesView, ImportedPolicyView, PlacementView, PolicyDocumentView, PolicyOutcome, PolicyPreviewView,
    PolicyVersionView, PolicyView, SetPolicyView, SpacePolicyView, SpaceRulesView,
};
pub(crate) use duplication_runs::TroubledRules;
pub use duplication_runs::{
    EventProblemView, HeldDeletionView, RecordedEventsView, SweepPartView, SweepView, TroubledItemView, WaitedSweepView,
};
pub use events::EventView;
pub use fields::View;
pub use files::{CopyView, DigestsView, FileView};
pub use fixity::{CoverageView, FindingView, RepairView};
pub use formats::SignaturesView;
pub use installation::{InstallationView, UnusableStoreView};
pub use interim::{FactView, InterimFileView, InterimView};
pub use items::{
    BytesView, FailureGroupView, FailureGroupsView, HistoryLineView, ItemCountsView, ItemView, ObstacleView,
    RequeuedView, RestoredView, StandingView,
};
pub use journal::JournalView;
pub use legal_holds::LegalHoldView;
pub use levels::{AreaView, LevelRowView, SealRowView};
pub use objects::{FoundView, ObjectView};
pub use outbox::{MessageCountsView, MessageState, MessageView, NotificationTestView, ToldView};
pub use pipelines::{PipelineRunView, PipelineStepView, PipelineView, SetPipelineView};
pub use problems::{ProblemLineView, ProblemView};
pub use profiles::{AddedProfileView, ProfileDocumentView, ProfileOutcome, ProfileState, ProfileView};
pub use queues::{AffectedTasksView, TaskView, TopicView};
pub use receiving::UploadView;
pub use registry::{BackupView, MovedRegistryView, MovedTableView, RebuildProblemView, RebuildView, SchemaView};
pub use restorations::{RestorationBatchView, RestorationView};
pub use settings::{CheckView, SettingView};
pub use spaces::{SpaceDetailsView, SpaceItemView, SpaceView};
pub use spot_tests::SpotTestView;
pub use statistics::{
    CostReportView, DepositsReportView, FixityReportView, FormatsReportView, RecomputedView, StorageReportView,
};
pub use stores::{
    BackfillView, CreatedStoreView, DifferenceView, EnqueuedBackfillView, ReplacementView, RetirementView,
    ReusedStoreView, StoreCheckView, StoreView, UnretiredView,
};
pub use tenants::{CollectionView, InstitutionView, RulesView};
pub use users::{AddedKeyView, FactorState, InvitedView, KeyState, KeyView, SecretText, TokenView, UserView};
pub use versions::VersionView;
pub use workers::ScheduleView;

pub use crate::backfill::BackfillSummary;
pub use crate::fixity::{FixitySummary, RepairOutcome};
pub use crate::identification::{Behind, ReidentifySummary};
pub use crate::pipelines::PipelineProblemView;
pub use crate::reconcile::Compared;
pub use crate::reports::{ReportRowView, ReportView};
pub use crate::review::{InfectedFile, Review, ReviewActivity, ReviewBatch, ReviewEntry, ReviewItem};
pub use crate::status::Status;
pub use strongroom_duplication::Problem as PolicyProblemView;
pub use strongroom_queue::{TaskId, TaskState};
pub use strongroom_registry::items::ItemProblem;
pub use strongroom_registry::{
    Action, ActivityId, ActivityState, BatchId, BatchState, CopyState, DeletionRequestId, DeletionRequestState, FileId,
    FindingId, FindingState, ItemId, ItemStatus, MailKind, ObjectId, ObjectState, Period, ProblemId, ProblemState,
    PublicAccess, ReportKind, SpotTestState, Stage, Time, ToolFindingId, ToolFindingState, UploadId,
};
