//! BagIt 0.93 to 1.0 (RFC 8493): read, validate and write bags, as directories, tar, tar.gz and zip; BagIt Profiles 1.4.
//!
//! The crate stands alone: it takes paths and readers, knows no registry, no store and no queue.

mod problem;
mod profile;

pub use profile::{BagFacts, Paths, Profile, ProfileError, Serialization, TagFact, TagRule};
pub use problem::{Problem, Severity, Verdict};
