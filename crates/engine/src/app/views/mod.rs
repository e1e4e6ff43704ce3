//! What functions of [`crate::app`] answer: plain structs that every edge renders as it likes. Their fields are the keys of the
//! JSON that scripts read; times are RFC 3339 in UTC, sizes bytes, digests hexadecimal digits in lower case.

mod journal;
mod queues;
mod tenants;

pub use journal::JournalView;
pub use queues::{AffectedTasksView, TaskView, TopicView};
pub use tenants::{CollectionView, InstitutionView};

pub use strongroom_queue::{TaskId, TaskState};
