//! The stages of an ingest, one file each. A stage does only what the interim record says is not done, so that it
//! may be repeated at any time.

mod characterize;
mod cleanup;
mod compare;
mod confirm;
mod estimate;
mod fetch;
mod fetch_list;
mod gather;
mod listed;
mod notify;
pub(in crate::ingest) mod package;
mod provision;
mod receive;
mod record;
mod resolve;
pub(super) mod validate;
pub(super) mod verify;
pub(super) mod write;

pub(super) use characterize::run as characterize;
pub(super) use cleanup::run as cleanup;
pub(super) use compare::run as compare;
pub(crate) use confirm::key as confirmation_key;
pub(super) use confirm::run as confirm;
pub(super) use estimate::run as estimate;
pub(super) use fetch::digest_of;
pub(super) use fetch::run as fetch;
pub(super) use fetch_list::is_fetched;
pub(super) use gather::run as gather;
pub(super) use notify::run as notify;
pub(super) use provision::run as provision;
pub(super) use provision::{is_stated, more_than_quota, quota};
pub(super) use receive::run as receive;
pub(super) use record::run as record;
pub(super) use resolve::Resolved;
pub(super) use resolve::run as resolve;
pub(crate) use validate::Findings;
pub(super) use validate::run as validate;
pub(super) use verify::run as verify;
pub(super) use write::run as write;
