//! BagIt 0.93 to 1.0 (RFC 8493): read, validate and write bags, as directories, tar, tar.gz and zip; BagIt Profiles 1.4.
//!
//! The crate stands alone: it takes paths and readers, knows no registry, no store and no queue.
//!
//! [`validate`] judges a bag where it lies. Who takes a bag in and keeps its bytes on the way calls [`Source::scan`], and then
//! [`check`] with an [`Evidence`] of what was kept, so that each byte is read once.
//!
//! ```no_run
//! use strongroom_bagit::{CheckOptions, validate};
//!
//! let report = validate("deposits/bag.tar".as_ref(), &CheckOptions::default())?;
//! for problem in &report.problems {
//!     println!("{}: {}", problem.code, problem.message);
//! }
//! # Ok::<(), strongroom_bagit::BagError>(())
//! ```

mod check;
mod codes;
mod declaration;
mod error;
pub mod fetch;
mod manifest;
mod part;
mod path;
mod problem;
pub mod profile;
mod report;
mod source;
mod tag_file;
mod text;
mod validate;
mod write;

pub use check::{
    CheckLevel, CheckOptions, Evidence, FetchEntries, FetchEntry, FileFact, FileFacts, KnownProfiles, ProfileChoice,
    check, check_collisions, check_with_entries,
};
pub use codes::{CODES, Rule};
pub use declaration::{Declaration, Version};
pub use error::BagError;
pub use manifest::{FetchLine, ManifestKind, ManifestName};
pub use part::split_part;
pub use path::{encode_path, escape_name, is_escaped_name, unsafe_reason};
pub use problem::{Problem, Severity, Unlisted, Verdict};
pub use profile::{BagFacts, BuiltinProfile, Paths, Profile, ProfileError, TagFact, TagRule};
pub use report::{ProfileReason, Report};
pub use source::{BagFile, Limits, LooseFiles, Scan, Serialization, SingleFile, Source, Visitor, open_regular};
pub use tag_file::{Tag, TagFile};
pub use text::Charset;
pub use validate::{validate, validate_stream};
pub use write::{
    BagOptions, BagWriter, LeftOver, NamePolicy, NewFile, Reaction, WriteError, WriterOptions, WrittenBag, check_names,
    create, create_in_place, read_tags,
};
