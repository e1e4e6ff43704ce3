//! Writes an inventory from sorted entries with constant memory, and computes its digest on the way.
//!
//! Entries are pushed in the order of the document; equal digests that follow each other become one array. What needs
//! the whole to be seen (that a state's digest is in the manifest, that logical paths do not conflict) is the caller's
//! to guarantee: the record enforces it.

use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, Digest, MultiHasher};

use crate::path::path_flaws;
use crate::version::is_rfc3339;
use crate::{OcflError, SpecVersion, VersionDetails, VersionNumber};

/// What an inventory says of the object as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryHeader {
    /// The object's id.
    pub id: String,
    /// The version of the specification that it follows.
    pub spec: SpecVersion,
    /// The algorithm of manifest and states.
    pub algorithm: Algorithm,
    /// The newest version.
    pub head: VersionNumber,
    /// The content directory, where it is named.
    pub content_directory: Option<String>,
}

impl InventoryHeader {
    /// The header of an object as we write it: OCFL 1.1, SHA-512, `content`.
    pub fn new(id: impl Into<String>, head: VersionNumber) -> Self {
        Self { id: id.into(), spec: SpecVersion::V1_1, algorithm: Algorithm::Sha512, head, content_directory: None }
    }
}

/// Digest and size of a finished inventory: what a sidecar states and the record keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SealText", into = "SealText")]
pub struct InventorySeal {
    /// The digest by the inventory's own algorithm.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
}

/// The same as records and plans keep it: the digest in hexadecimal.
#[derive(Serialize, Deserialize)]
struct SealText {
    digest: String,
    size: u64,
}

impl From<InventorySeal> for SealText {
    fn from(seal: InventorySeal) -> Self {
        Self { digest: seal.digest.to_hex(), size: seal.size }
    }
}

impl TryFrom<SealText> for InventorySeal {
    type Error = strongroom_digest::DigestError;

    fn try_from(text: SealText) -> Result<Self, Self::Error> {
        Ok(Self { digest: text.digest.parse()?, size: text.size })
    }
}

/// Writes one inventory.
///
/// ```
/// use strongroom_ocfl::{InventoryHeader, InventoryWriter, User, VersionDetails, VersionNumber, content_path};
///
/// let v1 = VersionNumber::FIRST;
/// let header = InventoryHeader::new("urn:uuid:0192f5e1-7c2b-7000-8000-0123456789ab", v1);
/// let digest = "ab".repeat(64).parse()?;
/// let details = VersionDetails {
///     created: "2026-01-31T12:00:00Z".into(),
///     message: Some("deposit".into()),
///     user: Some(User { name: "strongroom".into(), address: Some("https://example.edu/".into()) }),
/// };
///
/// let mut writer = InventoryWriter::new(Vec::new(), &header)?;
/// writer.manifest(&digest, &content_path(v1, &digest))?;
/// writer.version(v1, &details)?;
/// writer.state(&digest, "deposit/data/a.txt")?;
/// writer.state(&digest, "deposit/data/b.txt")?;
/// let (bytes, seal) = writer.finish()?;
/// assert_eq!(seal.size, bytes.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InventoryWriter<W: Write> {
    out: BufWriter<Sealing<W>>,
    head: VersionNumber,
    algorithm: Algorithm,
    ordered: bool,
    section: Section,
    /// Blocks that were begun; each comes once.
    blocks: Vec<Section>,
    last_version: Option<VersionNumber>,
    fixity_algorithms: Vec<String>,
    last: Option<(Digest, String)>,
}

/// Where in the document the next entry goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Top,
    Manifest,
    State,
    Fixity,
}

impl<W: Write> InventoryWriter<W> {
    /// Begins an inventory on `out`.
    pub fn new(out: W, header: &InventoryHeader) -> Result<Self, OcflError> {
        let sealing = Sealing { out, hasher: MultiHasher::new(&[header.algorithm]), size: 0 };
        let mut writer = Self {
            out: BufWriter::with_capacity(64 * 1024, sealing),
            head: header.head,
            algorithm: header.algorithm,
            ordered: true,
            section: Section::Top,
            blocks: Vec::new(),
            last_version: None,
            fixity_algorithms: Vec::new(),
            last: None,
        };
        writer.raw("{\n  \"id\": ")?;
        writer.string(&header.id)?;
        writer.raw(",\n  \"type\": ")?;
        writer.string(&header.spec.inventory_type())?;
        writer.raw(",\n  \"digestAlgorithm\": ")?;
        writer.string(header.algorithm.name())?;
        writer.raw(",\n  \"head\": ")?;
        writer.string(&header.head.to_string())?;
        if let Some(directory) = &header.content_directory {
            writer.raw(",\n  \"contentDirectory\": ")?;
            writer.string(directory)?;
        }
        Ok(writer)
    }

    /// Takes digests in any order, for inventories that others wrote; each must still come once.
    pub(crate) fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// States that a content lies under `path`, relative to the object root. Digests ascend; paths ascend within one.
    pub fn manifest(&mut self, digest: &Digest, path: &str) -> Result<(), OcflError> {
        if self.section != Section::Manifest {
            self.open(Section::Manifest, "a manifest entry", path)?;
        }
        self.entry(self.algorithm.length(), "a content path", digest, path)
    }

    /// Begins the entry of a version. Every version from the first to the head is written, in order.
    pub fn version(&mut self, number: VersionNumber, details: &VersionDetails) -> Result<(), OcflError> {
        let follows = self.last_version.map_or(1, |last| last.number().saturating_add(1)) == number.number();
        if !follows || number > self.head || (self.blocks.contains(&Section::State) && self.section != Section::State) {
            return Err(OcflError::unwritable(
                "a version",
                number.to_string(),
                "versions come in order, up to the head",
            ));
        }
        if !is_rfc3339(&details.created) {
            return Err(OcflError::unwritable(
                "a version's time",
                &details.created,
                "it is not in the form of RFC 3339",
            ));
        }
        if self.section == Section::State {
            self.close_entries("      ")?;
            self.raw("}\n    },")?;
        } else {
            self.close()?;
            self.blocks.push(Section::State);
            self.raw(",\n  \"versions\": {")?;
        }
        self.section = Section::State;
        self.last_version = Some(number);
        self.raw("\n    ")?;
        self.string(&number.to_string())?;
        self.raw(": {\n      \"created\": ")?;
        self.string(&details.created)?;
        if let Some(message) = &details.message {
            self.raw(",\n      \"message\": ")?;
            self.string(message)?;
        }
        if let Some(user) = &details.user {
            self.raw(",\n      \"user\": { \"name\": ")?;
            self.string(&user.name)?;
            if let Some(address) = &user.address {
                self.raw(", \"address\": ")?;
                self.string(address)?;
            }
            self.raw(" }")?;
        }
        self.raw(",\n      \"state\": {")
    }

    /// States that in the version begun last, `path` has this content. Digests ascend; paths ascend within one.
    pub fn state(&mut self, digest: &Digest, path: &str) -> Result<(), OcflError> {
        if self.section != Section::State {
            return Err(OcflError::unwritable("a logical path", path, "no version was begun"));
        }
        self.entry(self.algorithm.length(), "a logical path", digest, path)
    }

    /// States one more digest of the content under `path`, by an algorithm such as `md5`. All entries of an algorithm
    /// follow each other; digests ascend; paths ascend within one.
    pub fn fixity(&mut self, algorithm: &str, digest: &Digest, path: &str) -> Result<(), OcflError> {
        if self.section != Section::Fixity {
            self.open(Section::Fixity, "a fixity entry", path)?;
        }
        if self.fixity_algorithms.last().is_none_or(|last| last != algorithm) {
            if self.fixity_algorithms.iter().any(|earlier| earlier == algorithm) {
                return Err(OcflError::unwritable(
                    "a fixity algorithm",
                    algorithm,
                    "its entries do not follow each other",
                ));
            }
            if !self.fixity_algorithms.is_empty() {
                self.close_entries("    ")?;
                self.raw("},")?;
            }
            self.raw("\n    ")?;
            self.string(algorithm)?;
            self.raw(": {")?;
            self.fixity_algorithms.push(algorithm.to_owned());
        }
        self.entry(digest.as_bytes().len(), "a content path", digest, path)
    }

    /// Ends the inventory and says what it has become.
    pub fn finish(mut self) -> Result<(W, InventorySeal), OcflError> {
        self.close()?;
        if !self.blocks.contains(&Section::Manifest) {
            self.raw(",\n  \"manifest\": {}")?;
        }
        if self.last_version != Some(self.head) {
            return Err(OcflError::unwritable("an inventory", self.head.to_string(), "the head was not written"));
        }
        self.raw("\n}\n")?;
        let failed = |source| OcflError::Io { act: "write an inventory", source };
        let mut sealing = self.out.into_inner().map_err(|error| failed(error.into_error()))?;
        sealing.out.flush().map_err(failed)?;
        let digests = sealing.hasher.finish();
        let digest = digests.get(self.algorithm).ok_or_else(|| {
            OcflError::unwritable("an inventory digest", self.algorithm.name(), "the algorithm was not computed")
        })?;
        Ok((sealing.out, InventorySeal { digest, size: sealing.size }))
    }

    fn open(&mut self, section: Section, what: &'static str, value: &str) -> Result<(), OcflError> {
        if self.blocks.contains(&section) {
            return Err(OcflError::unwritable(what, value, "its block was already closed"));
        }
        self.close()?;
        self.section = section;
        self.blocks.push(section);
        self.raw(if section == Section::Manifest { ",\n  \"manifest\": {" } else { ",\n  \"fixity\": {" })
    }

    /// Ends whatever block is open.
    fn close(&mut self) -> Result<(), OcflError> {
        match self.section {
            Section::Top => {}
            Section::Manifest => {
                self.close_entries("  ")?;
                self.raw("}")?;
            }
            Section::State => {
                self.close_entries("      ")?;
                self.raw("}\n    }\n  }")?;
            }
            Section::Fixity => {
                self.close_entries("    ")?;
                self.raw("}\n  }")?;
            }
        }
        self.section = Section::Top;
        Ok(())
    }

    fn close_entries(&mut self, indent: &str) -> Result<(), OcflError> {
        if self.last.take().is_some() {
            self.raw("]\n")?;
            self.raw(indent)?;
        }
        Ok(())
    }

    fn entry(&mut self, length: usize, what: &'static str, digest: &Digest, path: &str) -> Result<(), OcflError> {
        if let Some(flaw) = path_flaws(path).next() {
            return Err(OcflError::unwritable(what, path, flaw.reason()));
        }
        if digest.as_bytes().len() != length {
            return Err(OcflError::unwritable("a digest", digest.to_hex(), "its length is not that of the algorithm"));
        }
        let indent = if self.section == Section::Manifest { "\n    " } else { "\n        " };
        match &mut self.last {
            Some((last, last_path)) if last == digest => {
                if self.ordered && path <= last_path.as_str() {
                    return Err(OcflError::unwritable(what, path, "paths of a digest do not ascend"));
                }
                path.clone_into(last_path);
                self.raw(", ")?;
            }
            Some((last, last_path)) => {
                if self.ordered && *digest < *last {
                    return Err(OcflError::unwritable(what, path, "digests do not ascend"));
                }
                *last = *digest;
                path.clone_into(last_path);
                self.raw("],")?;
                self.key(indent, digest)?;
            }
            None => {
                self.last = Some((*digest, path.to_owned()));
                self.key(indent, digest)?;
            }
        }
        self.string(path)
    }

    fn key(&mut self, indent: &str, digest: &Digest) -> Result<(), OcflError> {
        write!(self.out, "{indent}\"{digest}\": [")
            .map_err(|source| OcflError::Io { act: "write an inventory", source })
    }

    fn raw(&mut self, text: &str) -> Result<(), OcflError> {
        self.out.write_all(text.as_bytes()).map_err(|source| OcflError::Io { act: "write an inventory", source })
    }

    fn string(&mut self, text: &str) -> Result<(), OcflError> {
        serde_json::to_writer(&mut self.out, text)
            .map_err(|error| OcflError::Io { act: "write an inventory", source: error.into() })
    }
}

/// Passes bytes on, counted and hashed.
#[derive(Debug)]
struct Sealing<W> {
    out: W,
    hasher: MultiHasher,
    size: u64,
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or(bytes));
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
