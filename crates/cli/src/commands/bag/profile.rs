//! Which profile a person means: a built-in one, a file, or one that a data directory has recorded.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use strongroom_bagit::{Profile, Severity};
use strongroom_engine::app::profiles;
use strongroom_engine::settings::nearest;

use crate::context::Context;
use crate::failure::{Exit, Failure};

/// A profile by the name of a built-in one, by a file, or by the name of one that the data directory has recorded, `NAME` or
/// `NAME@VERSION`.
pub(super) fn profile_of(name: &str, context: &Context) -> Result<Profile, Failure> {
    if let Some(profile) = Profile::builtin(name) {
        return Ok(profile);
    }
    let path = Path::new(name);
    match document_of(path) {
        Ok(document) => return parsed(&document, name),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::io("read the profile", path, &error)),
    }
    if !context.settings_file.exists() {
        let near = nearest(name, Profile::builtin_names()).unwrap_or_default();
        return Err(Failure::new(Exit::NotFound, format!("there is no profile {name:?}, nor a file of this name"))
            .next(format!("the nearest profile is {near}")));
    }
    recorded(name, context)
}

fn document_of(path: &Path) -> std::io::Result<Vec<u8>> {
    if path.exists() && !path.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut document = Vec::new();
    File::open(path)?.take(Profile::LONGEST_DOCUMENT as u64 + 1).read_to_end(&mut document)?;
    Ok(document)
}

/// A profile that the data directory has recorded.
fn recorded(name: &str, context: &Context) -> Result<Profile, Failure> {
    let (profile, version) = match name.rsplit_once('@') {
        None => (name, None),
        Some((profile, number)) => match number.parse() {
            Ok(number) => (profile, Some(number)),
            Err(_) => {
                return Err(Failure::usage(format!("{number:?} in {name:?} is not the number of a version"))
                    .next("write NAME@VERSION, such as maps@2"));
            }
        },
    };
    let found = profiles::document(&context.call()?, profile, version)
        .map_err(|error| Failure::from(error).next("\"strongroom profile list\" shows those there are"))?;
    let profile = parsed(found.document.as_bytes(), name)?;
    Ok(profile.recorded_as(&found.profile, found.version))
}

fn parsed(document: &[u8], name: &str) -> Result<Profile, Failure> {
    let example = "correct it; \"strongroom profile show aptrust-2.3 --document\" shows a profile";
    let (profile, problems) = Profile::parse(document).map_err(|error| {
        Failure::usage(format!("{name} is not a profile: {}", strongroom_engine::chain(&error))).next(example)
    })?;
    match problems.iter().find(|problem| problem.severity == Severity::Error) {
        None => Ok(profile),
        Some(problem) => {
            Err(Failure::usage(format!("{name} is not a usable profile: {}", problem.message)).next(example))
        }
    }
}
