//! DROID's signature files: binary (`FFSignatureFile`) and container (`ContainerSignatureMapping`). Elements and attributes
//! that identification has no use for, such as the search tables of older programs, are passed over.

mod assembly;
mod containers;
mod formats;
mod reader;
mod sequences;

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::error::PronomError;
use crate::signatures::{Release, SignatureSet};

/// A signature file.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The name of the file, with or without folders and `.xml`; the release is named after it. Where absent, it is named
    /// after its version.
    pub name: Option<&'a str>,
    /// The XML.
    pub bytes: &'a [u8],
}

/// Reads a binary signature file and, where given, a container signature file. What they hold that can tell no format is
/// left out, and listed in [`SignatureSet::skipped`].
pub fn read(binary: Document<'_>, container: Option<Document<'_>>) -> Result<SignatureSet, PronomError> {
    let mut assembly = assembly::Assembly::default();
    let read = formats::read(&binary, &mut assembly)?;
    let mut set = SignatureSet {
        binary: read.release,
        container: None,
        formats: read.formats,
        signatures: read.signatures,
        containers: Vec::new(),
        triggers: Vec::new(),
        skipped: read.skipped,
    };
    if let Some(container) = container {
        add_container(&container, &mut set, &mut assembly)?;
    }
    set.validate()?;
    Ok(set)
}

/// Reads a container signature file in the place of the one that a set has. What was left out of the binary file stays
/// listed.
pub fn replace_container(container: Document<'_>, set: &mut SignatureSet) -> Result<(), PronomError> {
    // Only signatures of the binary file are listed by that word first.
    set.skipped.retain(|line| line.starts_with("signature "));
    add_container(&container, set, &mut assembly::Assembly::default())?;
    set.validate()
}

fn add_container(
    container: &Document<'_>,
    set: &mut SignatureSet,
    assembly: &mut assembly::Assembly,
) -> Result<(), PronomError> {
    let read = containers::read(container, &set.formats, assembly)?;
    set.container = Some(read.release);
    set.containers = read.signatures;
    set.triggers = read.triggers;
    set.skipped.extend(read.skipped);
    Ok(())
}

/// The release that a document is, without a date.
fn release(document: &Document<'_>, version: String, fallback: &str) -> Release {
    let stem = document.name.and_then(|name| name.rsplit(['/', '\\']).next()).map(|name| match name.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case("xml") => stem,
        _ => name,
    });
    let name = stem.filter(|stem| !stem.is_empty()).map_or_else(|| format!("{fallback}{version}"), str::to_owned);
    let sha256 = Sha256::digest(document.bytes).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Release { name, version, created: None, sha256 }
}

fn inconsistent(what: String, reason: &str) -> PronomError {
    PronomError::Inconsistent { what, reason: reason.to_owned() }
}
