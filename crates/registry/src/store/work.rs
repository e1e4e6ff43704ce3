//! How workers hold and move work items. Claiming an item and leasing its task are one transaction, with one heartbeat;
//! every later write carries the fence that the claim raised; finishing a stage is one transaction that checks the fence,
//! writes the outcome and the history, and enqueues the next task.

pub use super::advance::{BareEnd, Next, end_stage, end_stages};
pub(crate) use super::claims::may_go_on;
pub use super::claims::{check_fence, heartbeat, lease};
pub use super::endings::{SWEEP_TOPIC, finish};
pub(crate) use super::endings::{carry_out, request_to_carry_out, set_committed};
pub use super::notes::{
    is_asked_to_stop, note_findings, note_object, note_problems, set_note, set_object, set_object_identifier,
    set_options, set_source,
};
pub use super::recovery::{
    OpenItems, Retried, open_items, reclaim, requeue_stranded, retry, retry_one, wake_written_ahead,
};
pub use super::waking::{wake_all, wake_younger};
pub use crate::model::claim::{
    Assignment, Claim, Ended, FenceCheck, HeartbeatOutcome, ItemOutcome, Leasing, MaxAttempts, Reclaimed, Room,
    StageEnd,
};
