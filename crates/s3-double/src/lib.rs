//! An S3 server within the test that asks it: real signatures and real XML over a loopback port, strict where AWS is
//! strict, lax where a test wants another maker's server, and faulty where it was planned.
//!
//! It keeps everything in memory and shows what lies in it. It knows nothing of stores.

mod bucket;
mod copying;
mod counts;
mod faults;
mod listing;
mod multipart;
mod rules;
mod server;
mod service;
mod versions;

pub use bucket::Stored;
pub use counts::{Counts, Operation};
pub use faults::{Fault, WrongListing};
pub use rules::{Rules, VersionListing};
pub use server::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};
pub use versions::{Mode, VersionSeen};
