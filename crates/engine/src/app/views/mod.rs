//! What functions of [`crate::app`] answer: plain structs that every edge renders as it likes. Their fields are the keys of the
//! JSON that scripts read; times are RFC 3339 in UTC, sizes bytes, digests hexadecimal digits in lower case.

mod batches;
mod deposits;
mod items;
mod journal;
mod queues;
mod receiving;
mod restorations;
mod tenants;

pub use batches::BatchView;
pub use deposits::{DepositView, SubmittedView};
pub use items::{HistoryLineView, ItemView, ObstacleView, RestoredView, StandingView};
pub use journal::JournalView;
pub use queues::{AffectedTasksView, TaskView, TopicView};
pub use receiving::UploadView;
pub use restorations::RestorationView;
pub use tenants::{CollectionView, InstitutionView};

pub use strongroom_queue::{TaskId, TaskState};
pub use strongroom_registry::items::ItemProblem;
pub use strongroom_registry::{Action, BatchId, ItemId, ItemStatus, Stage, Time, UploadId};
