//! Format identification by PRONOM, the registry of file formats of The National Archives (UK): by byte signatures, by
//! what lies inside containers (OLE2, ZIP), by text, and by extension. Reads DROID signature files of any version.
//!
//! A library that stands alone: it knows no stores, no registry and no command line. Memory is bounded whatever the input.

mod answer;
pub mod builtin;
pub mod compiled;
pub mod container;
mod error;
mod identifier;
mod knowledge;
mod matching;
mod members;
mod observation;
mod options;
mod pattern;
mod ranking;
mod signatures;
pub mod text;
pub mod xml;

pub use answer::{Basis, Identification, Match, Member, Method, Span, Warning};
pub use error::PronomError;
pub use identifier::Identifier;
pub use observation::{Observation, Observed, Pending};
pub use options::Options;
pub use pattern::{Anchor, ByteClass, ByteSet, Gap, Link, Piece, Sequence, parse_pattern};
pub use signatures::{ByteSignature, ContainerKind, ContainerSignature, Format, MemberRule, Release, SignatureSet};
pub use strongroom_archive::{FileSource, Source};
