//! The binary signature file: `FFSignatureFile` with its byte signatures and formats.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::assembly::Assembly;
use super::reader::{Element, Reader};
use super::{Document, inconsistent, release, sequences};
use crate::error::PronomError;
use crate::pattern::Sequence;
use crate::signatures::{ByteSignature, Format, Release};

/// What a binary signature file says.
pub(super) struct Binary {
    pub(super) release: Release,
    pub(super) formats: Vec<Format>,
    pub(super) signatures: Vec<ByteSignature>,
    pub(super) skipped: Vec<String>,
}

/// `FileFormat`, still in the file's own ids.
struct FileFormat {
    id: u32,
    format: Format,
    signatures: Vec<u32>,
    outranks: Vec<u32>,
}

/// Reads the file.
pub(super) fn read(document: &Document<'_>, assembly: &mut Assembly) -> Result<Binary, PronomError> {
    let what = document.name.unwrap_or("binary signature file");
    let (mut reader, root) = Reader::open(what, document.bytes, "FFSignatureFile")?;
    let version = reader.required(&root, "Version")?;
    let created = reader.attribute(&root, "DateCreated")?;
    let mut patterns = BTreeMap::new();
    let mut entries = Vec::new();
    while let Some(collection) = reader.child(&root)? {
        match collection.name() {
            "InternalSignatureCollection" => read_signatures(&mut reader, &collection, assembly, &mut patterns)?,
            "FileFormatCollection" => {
                while let Some(element) = reader.child(&collection)? {
                    if element.name() == "FileFormat" {
                        entries.push(read_format(&mut reader, &element)?);
                    }
                }
            }
            _ => {}
        }
    }
    reader.finish()?;
    let release = Release { created, ..release(document, version, "DROID_SignatureFile_V") };
    resolve(release, entries, patterns)
}

fn read_signatures(
    reader: &mut Reader<'_>,
    collection: &Element<'_>,
    assembly: &mut Assembly,
    patterns: &mut BTreeMap<u32, Vec<Sequence>>,
) -> Result<(), PronomError> {
    while let Some(element) = reader.child(collection)? {
        if element.name() != "InternalSignature" {
            continue;
        }
        let id = reader.id(&element, "ID")?;
        let sequences = sequences::read(reader, &element, &id.to_string(), assembly)?;
        if patterns.insert(id, sequences).is_some() {
            return Err(inconsistent(format!("signature {id}"), "there are two of this id"));
        }
    }
    Ok(())
}

fn read_format(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<FileFormat, PronomError> {
    let text = |name: &str| -> Result<Option<String>, PronomError> {
        let value = reader.attribute(element, name)?.map(|value| value.trim().to_owned());
        Ok(value.filter(|value| !value.is_empty()))
    };
    let format = Format {
        puid: text("PUID")?.ok_or_else(|| reader.fault(element.position, "a format without a PUID"))?,
        name: text("Name")?.unwrap_or_default(),
        version: text("Version")?,
        mime: text("MIMEType")?,
        extensions: Vec::new(),
        outranks: Vec::new(),
    };
    let id = reader.id(element, "ID")?;
    let mut entry = FileFormat { id, format, signatures: Vec::new(), outranks: Vec::new() };
    let mut extensions = HashSet::new();
    while let Some(child) = reader.child(element)? {
        match child.name() {
            "InternalSignatureID" => {
                let id = reader.text(&child)?;
                entry.signatures.push(reader.parse(&child, &id)?);
            }
            "HasPriorityOverFileFormatID" => {
                let id = reader.text(&child)?;
                entry.outranks.push(reader.parse(&child, &id)?);
            }
            "Extension" => {
                let extension = reader.text(&child)?.to_lowercase();
                if !extension.is_empty() && extensions.insert(extension.clone()) {
                    entry.format.extensions.push(extension);
                }
            }
            _ => {}
        }
    }
    sort_out(&mut entry.signatures);
    Ok(entry)
}

/// From the file's ids to indices. A format that names a signature which is not there could not be used, and two
/// of the same id or PUID could not be distinguished: errors. A signature of no format says nothing and is left out; so is
/// one without sequences, and a priority over a format that is not there.
fn resolve(
    release: Release,
    entries: Vec<FileFormat>,
    mut patterns: BTreeMap<u32, Vec<Sequence>>,
) -> Result<Binary, PronomError> {
    let mut indices = HashMap::new();
    let mut puids = HashSet::new();
    for (index, entry) in (0u32..).zip(&entries) {
        if indices.insert(entry.id, index).is_some() {
            return Err(inconsistent(format!("format {}", entry.id), "there are two of this id"));
        }
        if !puids.insert(entry.format.puid.as_str()) {
            return Err(inconsistent(format!("format {}", entry.format.puid), "there are two of this PUID"));
        }
    }
    let mut owners: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut formats = Vec::with_capacity(entries.len());
    for (index, mut entry) in (0u32..).zip(entries) {
        for id in entry.signatures {
            if !patterns.contains_key(&id) {
                let reason = format!("its signature {id} is not in the file");
                return Err(inconsistent(format!("format {}", entry.format.puid), &reason));
            }
            owners.entry(id).or_default().push(index);
        }
        entry.format.outranks = entry.outranks.iter().filter_map(|id| indices.get(id).copied()).collect();
        sort_out(&mut entry.format.outranks);
        formats.push(entry.format);
    }
    let mut skipped = Vec::new();
    let mut signatures = Vec::new();
    while let Some((id, sequences)) = patterns.pop_first() {
        match owners.remove(&id) {
            _ if sequences.is_empty() => skipped.push(format!("signature {id} has no sequences")),
            None => skipped.push(format!("signature {id} belongs to no format")),
            Some(owners) => signatures.extend(owners.into_iter().map(|format| ByteSignature {
                id,
                format,
                sequences: sequences.clone(),
            })),
        }
    }
    Ok(Binary { release, formats, signatures, skipped })
}

/// In order, and each once.
fn sort_out(ids: &mut Vec<u32>) {
    ids.sort_unstable();
    ids.dedup();
}
