//! Where payloads come from: a path of this machine or a URL, located, dated and opened.

mod bag;
mod payload;
mod web;

pub(crate) use bag::{bag_name, bag_part, is_submission_file};
pub(crate) use payload::{Located, Payload, bag_trouble, check_unreplaced, is_url, payload, unreadable};
