//! The container signature file: `ContainerSignatureMapping` with its signatures, their formats, and the formats that ask
//! for a look inside.

use std::collections::{HashMap, HashSet};

use super::assembly::Assembly;
use super::reader::{Element, Reader};
use super::{Document, inconsistent, release, sequences};
use crate::error::PronomError;
use crate::signatures::{ContainerKind, ContainerSignature, Format, MemberRule, Release};

/// What a container signature file says.
pub(super) struct Containers {
    pub(super) release: Release,
    pub(super) signatures: Vec<ContainerSignature>,
    pub(super) triggers: Vec<(ContainerKind, u32)>,
    pub(super) skipped: Vec<String>,
}

/// `ContainerSignature`; its format stands elsewhere in the file.
struct ContainerEntry {
    id: u32,
    kind: ContainerKind,
    rules: Vec<MemberRule>,
}

/// Reads the file. It gives formats by PUID, which are looked for among those of the binary file. Files of different dates
/// are used together, so what speaks of a PUID that is not there is left out.
pub(super) fn read(
    document: &Document<'_>,
    formats: &[Format],
    assembly: &mut Assembly,
) -> Result<Containers, PronomError> {
    let what = document.name.unwrap_or("container signature file");
    let (mut reader, root) = Reader::open(what, document.bytes, "ContainerSignatureMapping")?;
    let version = reader.required(&root, "signatureVersion")?;
    let mut entries = Vec::new();
    let mut mappings: HashMap<u32, Vec<String>> = HashMap::new();
    let mut triggers = Vec::new();
    while let Some(collection) = reader.child(&root)? {
        match collection.name() {
            "ContainerSignatures" => read_signatures(&mut reader, &collection, assembly, &mut entries)?,
            "FileFormatMappings" => {
                while let Some(mapping) = reader.child(&collection)? {
                    if mapping.name() == "FileFormatMapping" {
                        let puid = reader.required(&mapping, "Puid")?.trim().to_owned();
                        mappings.entry(reader.id(&mapping, "signatureId")?).or_default().push(puid);
                    }
                }
            }
            "TriggerPuids" => {
                while let Some(trigger) = reader.child(&collection)? {
                    if trigger.name() == "TriggerPuid" {
                        triggers.push((kind(&reader, &trigger)?, reader.required(&trigger, "Puid")?.trim().to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    reader.finish()?;
    let release = release(document, version, "container-signature-v");
    resolve(release, entries, mappings, triggers, formats)
}

fn read_signatures(
    reader: &mut Reader<'_>,
    collection: &Element<'_>,
    assembly: &mut Assembly,
    entries: &mut Vec<ContainerEntry>,
) -> Result<(), PronomError> {
    while let Some(element) = reader.child(collection)? {
        if element.name() != "ContainerSignature" {
            continue;
        }
        let (id, kind) = (reader.id(&element, "Id")?, kind(reader, &element)?);
        let mut rules = Vec::new();
        while let Some(files) = reader.child(&element)? {
            if files.name() != "Files" {
                continue;
            }
            while let Some(file) = reader.child(&files)? {
                if file.name() == "File" {
                    rules.push(read_rule(reader, &file, id, assembly)?);
                }
            }
        }
        entries.push(ContainerEntry { id, kind, rules });
    }
    Ok(())
}

/// `File`
fn read_rule(
    reader: &mut Reader<'_>,
    file: &Element<'_>,
    container: u32,
    assembly: &mut Assembly,
) -> Result<MemberRule, PronomError> {
    let mut path = None;
    let mut signatures = Vec::new();
    while let Some(child) = reader.child(file)? {
        match child.name() {
            "Path" => path = Some(reader.text(&child)?),
            "BinarySignatures" => {
                while let Some(collection) = reader.child(&child)? {
                    if collection.name() != "InternalSignatureCollection" {
                        continue;
                    }
                    while let Some(element) = reader.child(&collection)? {
                        if element.name() == "InternalSignature" {
                            let name = match reader.attribute(&element, "ID")? {
                                Some(id) => format!("{} of container signature {container}", id.trim()),
                                None => format!("of container signature {container}"),
                            };
                            let sequences = sequences::read(reader, &element, &name, assembly)?;
                            if sequences.is_empty() {
                                return Err(inconsistent(format!("signature {name}"), "it has no sequences"));
                            }
                            signatures.push(sequences);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let path = path.filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| reader.fault(file.position, "a member without a path"))?;
    Ok(MemberRule { path, signatures })
}

fn kind(reader: &Reader<'_>, element: &Element<'_>) -> Result<ContainerKind, PronomError> {
    match reader.required(element, "ContainerType")?.as_str() {
        "OLE2" => Ok(ContainerKind::Ole2),
        "ZIP" => Ok(ContainerKind::Zip),
        other => {
            let reason = format!("{other:?} is no kind of container that can be read");
            Err(reader.fault(element.position, &reason))
        }
    }
}

/// From PUIDs to indices. Two signatures of one id would share a format that is meant for one of them: an error.
fn resolve(
    release: Release,
    entries: Vec<ContainerEntry>,
    mut mappings: HashMap<u32, Vec<String>>,
    triggers: Vec<(ContainerKind, String)>,
    formats: &[Format],
) -> Result<Containers, PronomError> {
    let indices: HashMap<&str, u32> =
        (0u32..).zip(formats).map(|(index, format)| (format.puid.as_str(), index)).collect();
    let mut skipped = Vec::new();
    let mut signatures = Vec::new();
    let mut ids = HashSet::new();
    for ContainerEntry { id, kind, rules } in entries {
        if !ids.insert(id) {
            return Err(inconsistent(format!("container signature {id}"), "there are two of this id"));
        }
        if rules.is_empty() {
            skipped.push(format!("container signature {id} has no members"));
            continue;
        }
        let mut puids = mappings.remove(&id).unwrap_or_default();
        puids.sort_unstable();
        puids.dedup();
        if puids.is_empty() {
            skipped.push(format!("container signature {id} belongs to no format"));
        }
        for puid in puids {
            match indices.get(puid.as_str()) {
                Some(&format) => signatures.push(ContainerSignature { id, format, kind, rules: rules.clone() }),
                None => skipped.push(format!("container signature {id} belongs to {puid}, an unknown format")),
            }
        }
    }
    let mut known = Vec::new();
    for (kind, puid) in triggers {
        match indices.get(puid.as_str()) {
            Some(&format) => known.push((kind, format)),
            None => skipped.push(format!("{puid}, which asks for a container signature, is an unknown format")),
        }
    }
    known.sort_unstable();
    known.dedup();
    Ok(Containers { release, signatures, triggers: known, skipped })
}
