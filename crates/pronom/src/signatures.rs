//! What a pair of signature files says: formats, their signatures of each kind, and which format outranks which.

use serde::{Deserialize, Serialize};

use crate::pattern::Sequence;

/// A pair of signature files, binary and container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureSet {
    /// The binary signature file.
    pub binary: Release,
    /// The container signature file, where one was given.
    pub container: Option<Release>,
    /// All formats, in the file's order. Other parts name a format by its index here.
    pub formats: Vec<Format>,
    /// All byte signatures.
    pub signatures: Vec<ByteSignature>,
    /// All container signatures.
    pub containers: Vec<ContainerSignature>,
    /// Formats (by index) which, once found by bytes, ask for a look inside.
    pub triggers: Vec<(ContainerKind, u32)>,
}

/// A published signature file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The name it is known by: `DROID_SignatureFile_V125` or `container-signature-20260119`.
    pub name: String,
    /// The version within the file: 125, or 40 for containers.
    pub version: String,
    /// When it was made, as the file says; container files do not say.
    pub created: Option<String>,
    /// SHA-256 of the file, lower-case hex.
    pub sha256: String,
}

/// A format of the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// PRONOM's unique identifier: `fmt/18`, `x-fmt/111`.
    pub puid: String,
    /// Name.
    pub name: String,
    /// Version of the format; often absent.
    pub version: Option<String>,
    /// Media types, several separated by ", " as PRONOM gives them.
    pub mime: Option<String>,
    /// Extensions in lower case, without the dot.
    pub extensions: Vec<String>,
    /// Formats (by index) that this one outranks, directly.
    pub outranks: Vec<u32>,
}

/// A byte signature: all its sequences must match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteSignature {
    /// PRONOM's id of the signature.
    pub id: u32,
    /// The format (by index) that it tells.
    pub format: u32,
    /// Never empty.
    pub sequences: Vec<Sequence>,
}

/// The kinds of containers that are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ContainerKind {
    /// Compound File Binary (MS-CFB).
    Ole2,
    /// ZIP (PKWARE APPNOTE).
    Zip,
}

/// A container signature: all its rules must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSignature {
    /// Id in the container signature file.
    pub id: u32,
    /// The format (by index) that it tells.
    pub format: u32,
    /// In which kind of container.
    pub kind: ContainerKind,
    /// Never empty.
    pub rules: Vec<MemberRule>,
}

/// A member that must be there, and what must be in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRule {
    /// Path of the member, or a glob.
    pub path: String,
    /// Signatures of which one must match the member's content; where empty, the name is enough.
    pub signatures: Vec<Vec<Sequence>>,
}
