//! What a pair of signature files says: formats, their signatures of each kind, and which format outranks which.

use serde::{Deserialize, Serialize};

use crate::error::PronomError;
use crate::pattern::{Gap, Link, MAX_GAP, Sequence};

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
    /// What the files hold that can tell no format and was left out, one sentence each.
    pub skipped: Vec<String>,
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
    /// The format (by index) that it states.
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
    /// The format (by index) that it states.
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

impl SignatureSet {
    /// Whether all parts fit together, so that users of the set may rely on it: indices lead somewhere, nothing
    /// is empty that must not be, gaps do not end before they begin, and no format outranks itself, in however many steps.
    pub(crate) fn validate(&self) -> Result<(), PronomError> {
        let formats = self.formats.len();
        let is_known = |index: u32| usize::try_from(index).is_ok_and(|index| index < formats);
        for format in &self.formats {
            let is_right = !format.puid.is_empty() && format.outranks.iter().copied().all(is_known);
            require(is_right, || format!("format {}", format.puid))?;
        }
        for signature in &self.signatures {
            let is_right = is_known(signature.format) && are_sequences_sound(&signature.sequences);
            require(is_right, || format!("signature {}", signature.id))?;
        }
        for signature in &self.containers {
            let is_right = is_known(signature.format)
                && !signature.rules.is_empty()
                && signature.rules.iter().all(|rule| {
                    !rule.path.is_empty() && rule.signatures.iter().all(|sequences| are_sequences_sound(sequences))
                });
            require(is_right, || format!("container signature {}", signature.id))?;
        }
        require(self.triggers.iter().all(|(_, format)| is_known(*format)), || "triggers".to_owned())?;
        self.validate_priorities()
    }

    /// Takes away formats that outrank nothing that is left, until none is left or those that outrank each other.
    fn validate_priorities(&self) -> Result<(), PronomError> {
        let mut open: Vec<usize> = self.formats.iter().map(|format| format.outranks.len()).collect();
        let mut outranked_by: Vec<Vec<usize>> = vec![Vec::new(); self.formats.len()];
        for (index, format) in self.formats.iter().enumerate() {
            for outranked in &format.outranks {
                if let Some(list) =
                    usize::try_from(*outranked).ok().and_then(|outranked| outranked_by.get_mut(outranked))
                {
                    list.push(index);
                }
            }
        }
        let mut done: Vec<usize> =
            open.iter().enumerate().filter_map(|(index, open)| (*open == 0).then_some(index)).collect();
        while let Some(index) = done.pop() {
            for above in outranked_by.get_mut(index).map(std::mem::take).unwrap_or_default() {
                if let Some(open) = open.get_mut(above) {
                    *open = open.saturating_sub(1);
                    if *open == 0 {
                        done.push(above);
                    }
                }
            }
        }
        match self.formats.iter().zip(&open).find(|(_, open)| **open > 0) {
            Some((format, _)) => Err(PronomError::Inconsistent {
                what: format!("format {}", format.puid),
                reason: "its priorities lead back to where they began".to_owned(),
            }),
            None => Ok(()),
        }
    }
}

fn are_sequences_sound(sequences: &[Sequence]) -> bool {
    let is_gap_sound = |gap: Gap| gap.max.unwrap_or(gap.min) >= gap.min && gap.max.unwrap_or(gap.min) <= MAX_GAP;
    let is_link_sound = |link: &Link| {
        is_gap_sound(link.gap) && !link.choices.is_empty() && link.choices.iter().all(|piece| !piece.is_empty())
    };
    let is_sound = |sequence: &Sequence| !sequence.links.is_empty() && sequence.links.iter().all(is_link_sound);
    !sequences.is_empty() && sequences.iter().all(is_sound)
}

fn require(is_right: bool, what: impl FnOnce() -> String) -> Result<(), PronomError> {
    if is_right {
        return Ok(());
    }
    Err(PronomError::Inconsistent { what: what(), reason: "it has no format, or a part of it is empty".to_owned() })
}
