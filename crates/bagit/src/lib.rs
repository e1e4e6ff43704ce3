//! BagIt 0.93 to 1.0 (RFC 8493): read, validate and write bags, as directories, tar, tar.gz and zip; BagIt Profiles 1.4.
//!
//! The crate stands alone: it takes paths and readers, knows no registry, no store and no queue.

mod check;
mod codes;
mod declaration;
mod error;
pub mod fetch;
mod manifest;
mod path;
mod problem;
pub mod profile;
mod report;
mod source;
mod spill;
mod tag_file;
mod text;
mod validate;
mod write;

pub use check::{CheckOptions, Evidence, FileFact, FileFacts, ProfileChoice, check};
pub use codes::{CODES, Rule};
pub use declaration::{Declaration, Version};
pub use error::BagError;
pub use manifest::{FetchLine, ManifestKind, ManifestName};
pub use path::{encode_path, escape_name, unsafe_reason};
pub use problem::{Problem, Severity, Verdict};
pub use profile::{BagFacts, Paths, Profile, ProfileError, TagFact, TagRule};
pub use report::Report;
pub use source::{Entry, Limits, Scan, Serialization, Source, Visitor};
pub use tag_file::{Tag, TagFile};
pub use text::Charset;
pub use validate::validate;
pub use write::{BagOptions, BagWriter, NamePolicy, NewFile, Reaction, WriteError, WriterOptions, WrittenBag, create};
