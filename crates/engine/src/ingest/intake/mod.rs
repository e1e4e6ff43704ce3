//! Where packages come from: a path of the server, a URL or a key of a receiving store, located, dated and opened.

mod admissible;
mod bag;
mod package;
mod web;

pub(crate) use admissible::{check_apart, check_is_bag};
pub(crate) use bag::{bag_name, bag_part, is_submission_file};
pub use package::PackageSource;
pub(crate) use package::{Located, OpenPackage, bag_trouble, check_unreplaced, package_source, unreadable};
pub(crate) use web::{
    DIGEST_MISMATCH, Download, NOT_FETCHED, SIZE_MISMATCH, end_not_proved, failure as download_failure, mismatch,
};
