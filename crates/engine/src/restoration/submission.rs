//! A deposit byte for byte as it was sent: what described the bag, and the files that its manifests name as they were then.
//! The archive around them is made anew. What came in no bag is given by `as_sent`.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Write};

use strongroom_bagit::{BagWriter, ManifestKind, ManifestName, NamePolicy, Serialization, WriterOptions, encode_path};
use strongroom_digest::Algorithm;
use strongroom_registry::objects::{self, File, Object};
use strongroom_registry::{Layout, versions};

use super::bag::{expected, new_file};
use super::proof::CopyReader;
use super::retrieval::Requested;
use super::target::{Delivery, Target};
use super::validation::validated;
use super::{as_sent, bag_trouble, for_each_page, object_name};
use crate::content_name::in_package;
use crate::workflow::{StageContext, StageError};

/// The longest line of a manifest that is inspected.
const LONGEST_LINE: u64 = 64 << 10;

pub(super) fn give(
    context: &StageContext<'_>,
    target: &Target,
    object: &Object,
    version: u64,
) -> Result<Delivery, StageError> {
    let published = context.registry().read(|tx| versions::list(tx, object.id, object.generation, false))?;
    let said = published.into_iter().find(|one| one.number == version).map(|one| one.description);
    if said.as_ref().is_some_and(|said| said.layout == Layout::Files) {
        return as_sent::give(context, target, object, version);
    }
    let proof = CopyReader::new(context, object, Requested::Submission(version));
    let name = object_name(object);
    let archive = format!("{name}.tar");
    let folder = said.and_then(|said| said.base_directory).unwrap_or_else(|| name.to_owned());
    proof.until_right(|| {
        let listed = Listed::read(context, &proof, object, version)?;
        target.put(context, &[&archive], None, &mut |out| {
            validated(context, &archive, &listed.algorithms, out, &mut |out| {
                write(context, &proof, object, version, &listed, &folder, out)
            })
        })
    })
}

fn write(
    context: &StageContext<'_>,
    proof: &CopyReader<'_>,
    object: &Object,
    version: u64,
    listed: &Listed,
    name: &str,
    out: &mut (dyn Write + Send),
) -> Result<(), StageError> {
    let algorithms = [Algorithm::Sha256];
    let options = WriterOptions {
        algorithms: algorithms.to_vec(),
        base_directory: Some(name.to_owned()),
        timestamp: context.item.created_at.timestamp().into(),
        names: NamePolicy::WARN,
        ..WriterOptions::default()
    };
    let trouble = |error| bag_trouble(context, &error);
    let mut bag = BagWriter::to_writer(out, Serialization::Tar, options).map_err(trouble)?;
    let mut add = |file: &File, path: &str| {
        let digests = expected(&file.digests, &algorithms);
        let new = new_file(path, file, &digests);
        proof.read(file, &mut |bytes| {
            let added = if path.starts_with("data/") {
                bag.add_payload(&new, bytes)
            } else if path == "bagit.txt" || is_defined(path) {
                bag.add_verbatim(&new, bytes)
            } else {
                bag.add_tag_file(&new, bytes)
            };
            added.map(drop).map_err(trouble)
        })
    };
    let prefix = submission_prefix(version);
    for_each_page(context, object, version, &prefix, &mut |page| {
        page.iter().try_for_each(|file| add(file, file.path.strip_prefix(&prefix).unwrap_or(&file.path)))
    })?;
    for_each_page(context, object, version, objects::DEPOSIT, &mut |page| {
        page.iter().filter(|file| listed.has(file, version)).try_for_each(|file| add(file, in_package(&file.path)))
    })?;
    bag.finish_as_given().map_err(trouble)?;
    Ok(())
}

/// Whether BagIt defines the file, so that the bag writer has to know that this is intended.
fn is_defined(path: &str) -> bool {
    matches!(path, "bag-info.txt" | "fetch.txt") || ManifestName::parse(path).is_some()
}

/// Where what described the deposit of a version lies.
pub(super) fn submission_prefix(version: u64) -> String {
    format!("submission/v{version}/")
}

/// Which files the manifests of a deposit name: sixteen bytes for each, whatever its path.
struct Listed {
    paths: HashSet<u128>,
    /// Whether tag files are listed too; only a tag manifest does that.
    has_tag_manifest: bool,
    /// The algorithms of the manifests.
    algorithms: Vec<Algorithm>,
}

impl Listed {
    fn read(
        context: &StageContext<'_>,
        proof: &CopyReader<'_>,
        object: &Object,
        version: u64,
    ) -> Result<Self, StageError> {
        let mut listed = Self { paths: HashSet::new(), has_tag_manifest: false, algorithms: Vec::new() };
        let prefix = submission_prefix(version);
        let mut files = 0;
        for_each_page(context, object, version, &prefix, &mut |page| {
            files += page.len();
            for file in page {
                let path = file.path.strip_prefix(&prefix).unwrap_or(&file.path);
                let Some(name) = ManifestName::parse(path) else { continue };
                listed.has_tag_manifest |= name.kind == ManifestKind::Tag;
                listed.algorithms.extend(name.algorithm.filter(|known| !listed.algorithms.contains(known)));
                proof.read(file, &mut |bytes| {
                    listed.take(bytes).map_err(|error| match context.task.check() {
                        Err(reason) => reason.into(),
                        Ok(()) => StageError::Transient(format!("could not read {path}: {error}")),
                    })
                })?;
            }
            Ok(())
        })?;
        if files == 0 {
            return Err(StageError::fatal(format!(
                "version {version} of {} was not made by a deposit",
                object.identifier
            )));
        }
        Ok(listed)
    }

    /// Takes the paths of a manifest: what follows the digest, less the marks of other tools (RFC 8493 section 2.1.3).
    fn take(&mut self, manifest: &mut dyn Read) -> io::Result<()> {
        let mut manifest = BufReader::new(manifest);
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut manifest).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\r', '\n']);
            let Some((_, path)) = text.split_once([' ', '\t']) else { continue };
            let path = path.trim_start_matches([' ', '\t']);
            let path = path.strip_prefix('*').unwrap_or(path);
            let path = path.strip_prefix("./").unwrap_or(path);
            self.paths.insert(key_of(path));
        }
    }

    /// Whether a file of the object at the version was part of the deposit. Tag files that no tag manifest lists were, where
    /// the deposit brought them; without any tag manifest all are taken for it.
    fn has(&self, file: &File, version: u64) -> bool {
        let path = in_package(&file.path);
        file.since == version
            || self.paths.contains(&key_of(path))
            || self.paths.contains(&key_of(&encode_path(path)))
            || !self.has_tag_manifest && !path.starts_with("data/")
    }
}

fn key_of(path: &str) -> u128 {
    let mut hasher = strongroom_digest::MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(path.as_bytes());
    let digest = hasher.finish().get(Algorithm::Sha256);
    let raw = digest.as_ref().and_then(|digest| digest.as_bytes().first_chunk::<16>().copied());
    u128::from_be_bytes(raw.unwrap_or_default())
}
