//! What functions of [`crate::app`] answer: plain structs that every edge renders as it likes. Their fields are the keys of the
//! JSON that scripts read; times are RFC 3339 in UTC, sizes bytes, digests hexadecimal digits in lower case.

mod background;
mod batches;
mod deposits;
mod events;
mod files;
mod fixity;
mod formats;
mod items;
mod journal;
mod objects;
mod queues;
mod receiving;
mod restorations;
mod tenants;
mod versions;

pub use background::{BackgroundRunView, BackgroundTaskView};
pub use batches::BatchView;
pub use deposits::{DepositView, SubmittedView};
pub use events::EventView;
pub use files::{CopyView, DigestsView, FileView};
pub use fixity::{CoverageView, FindingView, RepairView};
pub use formats::SignaturesView;
pub use items::{HistoryLineView, ItemView, ObstacleView, RestoredView, StandingView};
pub use journal::JournalView;
pub use objects::ObjectView;
pub use queues::{AffectedTasksView, TaskView, TopicView};
pub use receiving::UploadView;
pub use restorations::RestorationView;
pub use tenants::{CollectionView, InstitutionView};
pub use versions::VersionView;

pub use crate::fixity::{FixitySummary, Mended};
pub use crate::identification::{Behind, ReidentifySummary};
pub use strongroom_queue::{TaskId, TaskState};
pub use strongroom_registry::items::ItemProblem;
pub use strongroom_registry::{
    Action, BatchId, CopyState, FileId, FindingId, ItemId, ItemStatus, ObjectId, ObjectState, Stage, Time, UploadId,
};
