//! The files of a version that came in no bag, as they were sent: a tar of the files that the version has, with the manifest that named
//! them where there was one.

use std::borrow::Cow;
use std::io::{Read, Write};

use strongroom_registry::RegistryError;
use strongroom_registry::objects::{self, DEPOSIT, File, Object};
use tar::Builder;

use super::names::safe_name;
use super::proof::CopyReader;
use super::retrieval::Requested;
use super::selection::header;
use super::submission::submission_prefix;
use super::target::{Delivery, Target};
use super::{for_each_page, object_name};
use crate::content_name::in_package;
use crate::workflow::{StageContext, StageError};

pub(super) fn give(
    context: &StageContext<'_>,
    target: &Target,
    object: &Object,
    version: u64,
) -> Result<Delivery, StageError> {
    let proof = CopyReader::new(context, object, Requested::Submission(version));
    let archive = format!("{}.tar", object_name(object));
    proof.until_right(|| target.put(context, &[&archive], None, &mut |out| write(&proof, version, out)))
}

fn write(proof: &CopyReader<'_>, version: u64, out: &mut (dyn Write + Send)) -> Result<(), StageError> {
    let (context, object) = (proof.context, proof.object);
    let folder = safe_name(object_name(object));
    // Of the item, not of the clock: an attempt made again gives the same bytes.
    let made = context.item.created_at.timestamp();
    let mut archive = Builder::new(out);
    let mut add = |file: &File, name: &str| {
        let path = format!("{folder}/{name}");
        let mut header = header(file, file.modified.unwrap_or(made));
        proof.read(file, &mut |bytes: &mut dyn Read| {
            let added = archive.append_data(&mut header, &path, bytes);
            added.map_err(|error| match context.task.check() {
                Err(reason) => reason.into(),
                Ok(()) => StageError::Transient(format!("could not write {path:?}: {error}")),
            })
        })
    };
    let submission = submission_prefix(version);
    for_each_page(context, object, version, &submission, &mut |page| {
        page.iter().try_for_each(|file| {
            let name = file.path.strip_prefix(&submission).unwrap_or(&file.path);
            add(file, &free_name(context, object, version, name)?)
        })
    })?;
    for_each_page(context, object, version, DEPOSIT, &mut |page| {
        page.iter().try_for_each(|file| add(file, in_package(&file.path)))
    })?;
    archive.finish().map_err(|error| StageError::Transient(format!("could not end {}: {error}", context.item.name)))
}

/// The name of a file that described the submission, or with a number the first like it that neither a file nor a folder of the version
/// has.
fn free_name<'n>(
    context: &StageContext<'_>,
    object: &Object,
    version: u64,
    name: &'n str,
) -> Result<Cow<'n, str>, StageError> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let mut free = Cow::Borrowed(name);
    for number in 2_u64.. {
        context.task.check()?;
        let path = format!("{DEPOSIT}{free}");
        let is_taken = context.registry().read(|tx| {
            let file = objects::file_at(tx, object.id, version, &path)?;
            let below = objects::files(tx, object.id, version, &format!("{path}/"), "", 1)?;
            Ok::<_, RegistryError>(file.is_some() || !below.is_empty())
        })?;
        if !is_taken {
            break;
        }
        free = Cow::Owned(format!("{stem}-{number}.{ending}"));
    }
    Ok(free)
}
