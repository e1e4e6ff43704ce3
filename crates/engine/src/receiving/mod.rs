//! Receiving: stores in which depositors put bags are watched, and what no longer changes is taken in, once. A name at the
//! top of an institution's place is one upload: an archive, or a folder that holds `bagit.txt`.
//!
//! Looks only compare: what lies there against what was last known. So an interrupted look is made good by the next one,
//! and two processes that scan at once do no more than one. An upload becomes a work item in the transaction that notes
//! it, and its bytes are named by their etag for as long as it is worked on.

mod decide;
mod follow;
mod listing;
mod name;
mod notice;
mod place;
mod removal;
mod report;
mod upload;
mod watch;
mod wholeness;

pub(crate) use notice::Notices;
pub(crate) use removal::{REMOVAL, remove_ingested};
pub use report::{UploadReport, list, show};
pub use upload::ReceivingKey;
pub use watch::{ScanSummary, watch};
