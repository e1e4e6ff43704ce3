//! An object as a bag made anew: every file at a version, in order of its path, with the manifests that the object's profile
//! asks for. Memory does not grow with the number of files.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::time::SystemTime;

use strongroom_bagit::{
    BagWriter, Charset, Declaration, ManifestName, NamePolicy, NewFile, Profile, Serialization, Tag, TagFile, Version,
    WriterOptions,
};
use strongroom_digest::{Algorithm, DigestSet};
use strongroom_registry::objects::{self, Digests, File, Object};
use strongroom_registry::{Description, Layout, ProfileOrigin, versions};

use super::proof::CopyReader;
use super::retrieval::Requested;
use super::target::{Delivery, Target};
use super::validation::validated;
use super::{bag_trouble, for_each_page, object_name, parts, tags};
use crate::content_name::in_package;
use crate::profiles::{self, CheckedBy};
use crate::workflow::{StageContext, StageError};

const BAG_INFO: &str = "bag-info.txt";

/// Gives an object back as a bag, and says what of it is not as its profile asked for.
pub(super) fn give(
    context: &StageContext<'_>,
    target: &Target,
    object: &Object,
    version: u64,
) -> Result<(Delivery, Option<String>), StageError> {
    let proof = CopyReader::new(context, object, Requested::Bag(version));
    let said = described(context, object, version)?;
    let layout = said.as_ref().map_or(Layout::Bag, |said| said.layout);
    let checked_by = match said {
        Some(said) => profiles::checked_by(context.registry(), &said)?,
        None => CheckedBy::Nothing,
    };
    let algorithms = algorithms(&checked_by);
    let name = object_name(object);
    let archive = format!("{name}.tar");
    let given = proof.until_right(|| {
        target.put(context, &[&archive], None, &mut |out| {
            validated(context, &archive, &algorithms, out, &mut |out| {
                write(context, &proof, (object, version, layout), &algorithms, out)
            })
        })
    })?;
    let lack = match checked_by {
        CheckedBy::Lost(profile) => Some(format!(
            "not by the profile that it was checked against ({profile}): the registry does not have its document"
        )),
        CheckedBy::Document(..) | CheckedBy::Name(_) | CheckedBy::Nothing => None,
    };
    Ok((given, lack))
}

/// What the deposit that made a version said of the object.
fn described(context: &StageContext<'_>, object: &Object, version: u64) -> Result<Option<Description>, StageError> {
    let versions = context.registry().read(|tx| versions::list(tx, object.id, object.generation, false))?;
    Ok(versions.into_iter().find(|known| known.number == version).map(|known| known.description))
}

fn write(
    context: &StageContext<'_>,
    proof: &CopyReader<'_>,
    (object, version, layout): (&Object, u64, Layout),
    algorithms: &[Algorithm],
    out: &mut (dyn Write + Send),
) -> Result<(), StageError> {
    // Of the item, not of the clock: an attempt made again gives the same bytes.
    let made = context.item.created_at.timestamp();
    let options = WriterOptions {
        algorithms: algorithms.to_vec(),
        base_directory: Some(object_name(object).to_owned()),
        timestamp: made.into(),
        names: NamePolicy::WARN,
        ..WriterOptions::default()
    };
    let trouble = |error| bag_trouble(context, &error);
    let mut bag = BagWriter::to_writer(out, Serialization::Tar, options).map_err(trouble)?;
    let mut original_tags = Vec::new();
    let mut payload_bytes = 0;
    for_each_page(context, object, version, objects::DEPOSIT, &mut |page| {
        for file in page {
            let in_bag = path_in_bag(layout, in_package(&file.path));
            let path = in_bag.as_ref();
            if path == BAG_INFO {
                original_tags = read_tags(context, proof, object, file)?;
            } else if ManifestName::parse(path).is_none() {
                // A manifest spelled so that the deposit kept it as a tag file would speak of another bag.
                let digests = expected(&file.digests, algorithms);
                let new = new_file(path, file, &digests);
                let is_payload = path.starts_with("data/");
                payload_bytes += if is_payload { file.size } else { 0 };
                proof.read(file, &mut |bytes| {
                    let added = if is_payload { bag.add_payload(&new, bytes) } else { bag.add_tag_file(&new, bytes) };
                    added.map(drop).map_err(trouble)
                })?;
            }
        }
        Ok(())
    })?;
    let date = made.to_zoned(jiff::tz::TimeZone::UTC).date().to_string();
    let was_in_parts = parts(context, object, version)?.is_some();
    bag.finish(&tags::rewritten(&original_tags, &date, payload_bytes, was_in_parts)).map_err(trouble)?;
    Ok(())
}

/// The path of a deposited file in a bag that is made of its object: files that came in no bag are the payload.
fn path_in_bag(layout: Layout, path: &str) -> Cow<'_, str> {
    match layout {
        Layout::Bag => Cow::Borrowed(path),
        Layout::Files => Cow::Owned(format!("data/{path}")),
    }
}

/// A file on its way into a bag, with the time and the digests on record.
pub(super) fn new_file<'f>(path: &'f str, file: &File, digests: &'f DigestSet) -> NewFile<'f> {
    let new = NewFile::new(path, file.size).expecting(digests);
    match file.modified {
        Some(time) => new.modified(SystemTime::from(time)),
        None => new,
    }
}

/// The recorded digests of these algorithms.
pub(super) fn expected(digests: &Digests, algorithms: &[Algorithm]) -> DigestSet {
    let recorded = [
        (Algorithm::Md5, digests.md5),
        (Algorithm::Sha1, digests.sha1),
        (Algorithm::Sha256, digests.sha256),
        (Algorithm::Sha512, digests.sha512),
    ];
    recorded.into_iter().filter(|(algorithm, _)| algorithms.contains(algorithm)).collect()
}

/// Manifests where no profile asks for others.
const USUAL: [Algorithm; 2] = [Algorithm::Md5, Algorithm::Sha256];

/// The manifests that the profile asks for which a deposit was checked against; the usual ones where that is not known.
fn algorithms(checked_by: &CheckedBy) -> Vec<Algorithm> {
    let builtin = match checked_by {
        CheckedBy::Document(profile, ProfileOrigin::BuiltIn) => Some(profile.name().to_owned()),
        CheckedBy::Document(profile, _) => return asked_for(profile),
        CheckedBy::Name(name) => {
            Profile::builtin(name).or_else(|| Profile::for_identifier(name)).map(|builtin| builtin.name().to_owned())
        }
        CheckedBy::Nothing | CheckedBy::Lost(_) => None,
    };
    if builtin.is_some_and(|name| name.starts_with("btr")) {
        return vec![Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
    }
    USUAL.to_vec()
}

/// What a profile requires of the digests that are recorded of every file; where it requires none, what is usual and allowed.
fn asked_for(profile: &Profile) -> Vec<Algorithm> {
    let required = among(&Algorithm::RECORDED, profile.manifests_required());
    if !required.is_empty() {
        return required;
    }
    let Some(allowed) = profile.manifests_allowed() else { return USUAL.to_vec() };
    [among(&USUAL, allowed), among(&Algorithm::RECORDED, allowed)]
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_else(|| USUAL.to_vec())
}

/// The algorithms that are named.
fn among(algorithms: &[Algorithm], names: &[String]) -> Vec<Algorithm> {
    algorithms
        .iter()
        .copied()
        .filter(|algorithm| names.iter().any(|name| name.parse().is_ok_and(|named: Algorithm| named == *algorithm)))
        .collect()
}

/// The tags of a deposit's `bag-info.txt`, read as the deposit's declaration says.
fn read_tags(
    context: &StageContext<'_>,
    proof: &CopyReader<'_>,
    object: &Object,
    file: &File,
) -> Result<Vec<Tag>, StageError> {
    let (version, charset) = declared(context, proof, object, file.since)?;
    let mut tags = Vec::new();
    proof.read(file, &mut |bytes| {
        // What is odd about the lines was reported when the deposit was taken in.
        let parsed = TagFile { name: BAG_INFO, charset, version }.parse(bytes, &mut |_| {});
        tags = parsed.map_err(|error| StageError::Transient(format!("could not read {BAG_INFO}: {error}")))?;
        Ok(())
    })?;
    Ok(tags)
}

/// BagIt version and encoding of the deposit that made a version.
fn declared(
    context: &StageContext<'_>,
    proof: &CopyReader<'_>,
    object: &Object,
    version: u64,
) -> Result<(Version, Charset), StageError> {
    let prefix = format!("submission/v{version}/");
    let mut said = (Version::V0_97, Charset::UTF_8);
    for_each_page(context, object, version, &prefix, &mut |page| {
        let Some(file) = page.iter().find(|file| file.path.strip_prefix(&prefix) == Some("bagit.txt")) else {
            return Ok(());
        };
        proof.read(file, &mut |bytes: &mut dyn Read| {
            let declaration = Declaration::parse(bytes, &mut |_| {})
                .map_err(|error| StageError::Transient(format!("could not read bagit.txt: {error}")))?;
            said = (declaration.version.unwrap_or(said.0), declaration.charset().unwrap_or(said.1));
            Ok(())
        })
    })?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_follow_the_profile_by_name_and_by_identifier() {
        let btr = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
        for profile in ["btr-1.0", "https://github.com/dpscollaborative/btr_bagit_profile/releases/download/1.0/x.json"]
        {
            assert_eq!(algorithms(&CheckedBy::Name(profile.to_owned())), btr, "{profile}");
        }
        for profile in ["aptrust-2.3", "of our own"] {
            assert_eq!(algorithms(&CheckedBy::Name(profile.to_owned())), USUAL, "{profile}");
        }
        assert_eq!(algorithms(&CheckedBy::Nothing), USUAL);
        assert_eq!(algorithms(&CheckedBy::Lost("btr-1.0 version 1".to_owned())), USUAL);
    }

    #[test]
    fn manifests_follow_the_document_of_a_recorded_profile() {
        for (fields, expected) in [
            (r#""Manifests-Required":["sha512"]"#, vec![Algorithm::Sha512]),
            (r#""Manifests-Required":["crc32"]"#, USUAL.to_vec()),
            (r#""Manifests-Allowed":["sha256","sha512"]"#, vec![Algorithm::Sha256]),
            (r#""Manifests-Allowed":["sha512"]"#, vec![Algorithm::Sha512]),
            (r#""Data-Empty":false"#, USUAL.to_vec()),
        ] {
            let (profile, _) = Profile::parse(format!("{{{fields}}}").as_bytes()).expect("a profile");
            let document = CheckedBy::Document(Box::new(profile.recorded_as("maps", 1)), ProfileOrigin::File);
            assert_eq!(algorithms(&document), expected, "{fields}");
        }
    }
}
