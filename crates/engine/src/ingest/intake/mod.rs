//! Where packages come from: a path of the server, a URL or a key of a receiving store, located, dated and opened.

mod bag;
mod package;
mod web;

pub(crate) use bag::{bag_name, bag_part, is_submission_file};
pub use package::PackageSource;
pub(crate) use package::{Located, bag_trouble, check_unreplaced, package_source, unreadable};
