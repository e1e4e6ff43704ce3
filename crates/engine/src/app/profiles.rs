//! Profiles of bags: versions of documents, of which each stays as it was added. They belong to the installation; every
//! institution sees them.

use strongroom_bagit::{Profile, Severity};
use strongroom_registry::profiles::{self, Addition, ProfileVersion};
use strongroom_registry::{ProfileOrigin, RegistryError};

use super::OpContext;
use super::authorization::{PROFILES_ADD, PROFILES_LIST, PROFILES_REMOVE, PROFILES_SHOW};
use super::views::{AddedProfileView, ProfileDocumentView, ProfileOutcome, ProfileView};
use crate::EngineError;
use crate::error::chain;
use crate::journal::Target;
use crate::profiles::{document_of, target};

/// What stands for no profile where a profile is named.
const NONE: &str = "none";
/// The short names of built-in profiles.
const SHORT_NAMES: [&str; 2] = ["aptrust", "btr"];

/// A document to be added.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The name of the profile; absent: the name of the file without its extension.
    pub name: Option<String>,
    /// The name of the file; none for what came from elsewhere.
    pub file: Option<String>,
    /// The document, in one of the forms of [`Profile::parse`].
    pub bytes: Vec<u8>,
}

/// Every version of every profile, in order of names and versions.
pub fn list(context: &OpContext) -> Result<Vec<ProfileView>, EngineError> {
    let authorized = context.authorize(&PROFILES_LIST)?;
    let found = authorized.read(profiles::list)?;
    Ok(found.chunk_by(|one, next| one.name == next.name).flat_map(views).collect())
}

/// A version of a profile; without a number the newest that may be used.
pub fn show(context: &OpContext, profile: &str, version: Option<u64>) -> Result<ProfileView, EngineError> {
    let authorized = context.authorize(&PROFILES_SHOW)?;
    let name = Profile::canonical_name(profile);
    let (found, all) =
        authorized.read(|tx| Ok((profiles::find(tx, &name, version)?, profiles::versions(tx, &name)?)))?;
    Ok(ProfileView::new(&found, current(&all)))
}

/// The document of a version of a profile; without a number of the newest that may be used.
pub fn document(context: &OpContext, profile: &str, version: Option<u64>) -> Result<ProfileDocumentView, EngineError> {
    let authorized = context.authorize(&PROFILES_SHOW)?;
    let name = Profile::canonical_name(profile);
    let (found, document) = authorized.read(|tx| {
        let found = profiles::find(tx, &name, version)?;
        let document = profiles::document(tx, &found.name, found.version)?;
        Ok((found, document))
    })?;
    let document = document.ok_or_else(|| {
        let what = target(&found.name, found.version);
        EngineError::Absent(format!("the document of profile {what} is missing")).next(format!(
            "add the document whose SHA-512 is {} again: strongroom profile add FILE --name {}",
            found.sha512, found.name
        ))
    })?;
    let document = String::from_utf8(document).map_err(|_| RegistryError::Corrupt {
        wanted: "the document of a profile",
        found: target(&found.name, found.version),
    })?;
    Ok(ProfileDocumentView { profile: found.name, version: found.version, document })
}

/// Adds a document as the next version of its profile, which it makes where there is none. A document that is no sound profile
/// changes nothing; the answer has every problem of it. The same document again changes nothing either, and one that was removed
/// is in use again.
///
/// # Errors
/// It is no JSON object, or longer than [`Profile::LONGEST_DOCUMENT`]; the name is none, or belongs to a built-in profile.
pub fn add(context: &OpContext, document: Document) -> Result<AddedProfileView, EngineError> {
    let authorized = context.authorize(&PROFILES_ADD)?;
    let Document { name, file, bytes } = document;
    let name = name_of(name, file.as_deref())?;
    let source = file.unwrap_or_else(|| "standard input".to_owned());
    let (profile, problems) = Profile::parse(&bytes).map_err(|error| {
        EngineError::CheckFailed(format!("{source} is no profile: {}", chain(&error)))
            .next("correct it; \"strongroom profile show aptrust-2.3 --document\" shows a profile")
    })?;
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Ok(AddedProfileView { profile: name, version: None, outcome: ProfileOutcome::Refused, problems });
    }
    let is_builtin = Profile::builtin_names().any(|builtin| builtin == name);
    let actor = Some(authorized.actor().clone());
    let new = document_of(&name, ProfileOrigin::File, &source, bytes, &profile, actor)
        .ok_or_else(|| EngineError::Usage(format!("{source} could not be hashed")))?;
    let entry = authorized.entry();
    let addition = authorized.home().registry.write(move |tx| {
        let addition = match profiles::restore(tx, &new)? {
            Some(addition) => addition,
            None if is_builtin => {
                return Err(RegistryError::Exists { what: "a built-in profile", id: new.name.clone() });
            }
            None => profiles::append(tx, &new)?,
        };
        if !matches!(addition, Addition::Unchanged(_)) {
            entry.done(tx, &Target::of_system(target(&new.name, addition.version())))?;
        }
        Ok(addition)
    })?;
    let outcome = match addition {
        Addition::Added(_) => ProfileOutcome::Added,
        Addition::Restored(_) => ProfileOutcome::Restored,
        Addition::Unchanged(_) => ProfileOutcome::Unchanged,
    };
    Ok(AddedProfileView { profile: name, version: Some(addition.version()), outcome, problems })
}

/// Removes a version of a profile, or all of them: no collection may name it and no new deposit is checked against it. What was
/// checked against it still names it, and its document stays. Answers which versions were removed.
///
/// # Errors
/// There is none such, it was removed before, or a collection or the setting `ingest.default_profile` names it.
pub fn remove(context: &OpContext, profile: &str, version: Option<u64>) -> Result<Vec<ProfileView>, EngineError> {
    let authorized = context.authorize(&PROFILES_REMOVE)?;
    let name = Profile::canonical_name(profile);
    let default = &authorized.home().settings.ingest.default_profile;
    let is_default = !default.is_empty() && Profile::canonical_name(default) == name;
    let removed = authorized.write(move |tx| {
        let removed = profiles::remove(tx, &name, version)?;
        if is_default && !profiles::find(tx, &name, None)?.is_usable() {
            return Err(RegistryError::Named {
                what: "profile",
                id: name.clone(),
                by: "the setting ingest.default_profile".to_owned(),
                act: profiles::REMOVE.to_owned(),
            });
        }
        let told = version.map_or_else(|| name.clone(), |version| target(&name, version));
        Ok((Target::of_system(told), removed))
    });
    let removed = removed.map_err(|error| match error {
        named @ RegistryError::Named { .. } => EngineError::from(named)
            .next("let it name another profile first: a collection by \"strongroom collection set\", a setting in strongroom.toml"),
        error => error.into(),
    })?;
    Ok(views(&removed).collect())
}

/// The versions of one profile as they are shown.
fn views(all: &[ProfileVersion]) -> impl Iterator<Item = ProfileView> {
    let current = current(all);
    all.iter().map(move |one| ProfileView::new(one, current))
}

/// The newest version that may be used.
fn current(all: &[ProfileVersion]) -> Option<u64> {
    all.iter().filter(|one| one.is_usable()).map(|one| one.version).max()
}

/// The name of a profile that is added.
fn name_of(given: Option<String>, file: Option<&str>) -> Result<String, EngineError> {
    let of_file = file.map(|file| file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned());
    let Some(name) = given.or(of_file) else {
        return Err(EngineError::Usage("a profile needs a name".to_owned()).next("give one with --name"));
    };
    let name = name.to_ascii_lowercase();
    if !profiles::is_name(&name) {
        return Err(EngineError::Usage(format!("{name:?} cannot name a profile")).next(
            "give up to 100 letters, digits, dots, - and _ with --name, of which the first is a letter or a digit",
        ));
    }
    if name == NONE || SHORT_NAMES.contains(&name.as_str()) {
        return Err(EngineError::Usage(format!("{name:?} is kept for what it means already"))
            .next("give another name with --name"));
    }
    Ok(name)
}
