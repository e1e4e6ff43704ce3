//! Profiles of bags in the registry: those that come with the program are put there when a data directory is opened, and what
//! bags are checked against is read from there. What a document asks of a bag is known to `strongroom-bagit` alone.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use strongroom_bagit::{BagError, KnownProfiles, Profile, ProfileError};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_registry::journal::Actor;
use strongroom_registry::profiles::{self, NewProfile, ProfileVersion};
use strongroom_registry::{Description, ProfileOrigin, Registry, RegistryError, Transaction};

use crate::error::chain;
use crate::journal::{JournalEntry, Target};

/// What brings the built-in profiles.
const PROGRAM: &str = concat!("strongroom ", env!("CARGO_PKG_VERSION"));

/// What a version is wanted for, in the error where there is none.
const TO_CHECK: &str = "check a deposit against it";

/// Puts the profiles that come with this program into the registry, where they are missing. A version that is there stays: what
/// deposits were checked against does not change with the program. The journal names a version that joins earlier ones.
pub(crate) fn put_builtins(registry: &Registry) -> Result<(), RegistryError> {
    let missing: Vec<NewProfile> = registry.read(|tx| {
        let mut missing = Vec::new();
        for builtin in Profile::builtins() {
            let known = profiles::versions(tx, builtin.name)?;
            if !known.iter().any(|one| one.version == builtin.number && one.has_document) {
                missing.extend(builtin_document(builtin.name));
            }
        }
        Ok::<_, RegistryError>(missing)
    })?;
    if missing.is_empty() {
        return Ok(());
    }
    registry.write(move |tx| {
        for new in &missing {
            let Some(builtin) = Profile::builtins().find(|builtin| builtin.name == new.name) else { continue };
            let is_first = profiles::versions(tx, builtin.name)?.is_empty();
            if profiles::put_numbered(tx, new, builtin.number)? && !is_first {
                let target = Target::of_system(target(&new.name, builtin.number));
                JournalEntry::of_system("profiles.add").done(tx, &target)?;
            }
        }
        Ok(())
    })
}

/// A built-in profile as a document; none where there is none of this name, or it cannot be read, which a test excludes.
fn builtin_document(name: &str) -> Option<NewProfile> {
    let builtin = Profile::builtins().find(|builtin| builtin.name == name)?;
    let profile = Profile::builtin(name)?;
    let document = builtin.document.as_bytes().to_vec();
    document_of(name, ProfileOrigin::BuiltIn, PROGRAM, document, &profile, None)
}

/// A document as the registry keeps it; none where a digest is missing, which does not happen.
pub(crate) fn document_of(
    name: &str,
    origin: ProfileOrigin,
    source: &str,
    document: Vec<u8>,
    profile: &Profile,
    actor: Option<Actor>,
) -> Option<NewProfile> {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256, Algorithm::Sha512]);
    hasher.update(&document);
    let digests = hasher.finish();
    Some(NewProfile {
        name: name.to_owned(),
        origin,
        source: source.to_owned(),
        identifier: profile.identifier().to_owned(),
        stated_version: profile.version().to_owned(),
        description: profile.description().to_owned(),
        document,
        sha256: digests.get(Algorithm::Sha256)?,
        sha512: digests.get(Algorithm::Sha512)?,
        actor,
    })
}

/// A version of a profile as the journal names it.
pub(crate) fn target(name: &str, version: u64) -> String {
    format!("{name} version {version}")
}

/// The profile that a new deposit is checked against where this one is asked for: a version of it, or the newest.
///
/// # Errors
/// [`RegistryError::NotFound`] or [`RegistryError::State`] where there is none that may be used.
pub(crate) fn chosen(registry: &Registry, name: &str, version: Option<u64>) -> Result<Profile, RegistryError> {
    usable(registry, name, version).map(|(_, profile)| profile)
}

/// The same, with what the registry says of it.
fn usable(registry: &Registry, name: &str, version: Option<u64>) -> Result<(ProfileVersion, Profile), RegistryError> {
    let name = Profile::canonical_name(name);
    registry.read(|tx| {
        let found = profiles::usable(tx, &name, version, TO_CHECK)?;
        let profile = read(tx, &found.name, found.version)?;
        Ok((found, profile))
    })
}

/// The profile that a deposit was checked against, as far as it is known today.
pub(crate) enum CheckedBy {
    /// The document that it was checked against, and whether it is one of those that come with the program.
    Document(Box<Profile>, ProfileOrigin),
    /// A profile of which only the name was recorded.
    Name(String),
    /// None.
    Nothing,
    /// One whose document the registry does not have: which it was.
    Lost(String),
}

/// The profile that a deposit was checked against: by the digest of its document, since names and numbers may be those of other
/// documents by now.
pub(crate) fn checked_by(registry: &Registry, said: &Description) -> Result<CheckedBy, RegistryError> {
    let Some(name) = &said.profile else { return Ok(CheckedBy::Nothing) };
    let Some(recorded) = &said.profile_sha512 else { return Ok(CheckedBy::Name(name.clone())) };
    let lost = || {
        let version = said.profile_version.map(|version| format!(" version {version}")).unwrap_or_default();
        CheckedBy::Lost(format!("{name}{version}, sha512:{recorded}"))
    };
    let Ok(sha512) = recorded.parse() else { return Ok(lost()) };
    registry.read(|tx| {
        let Some((name, version, origin)) = profiles::of_digest(tx, sha512, name)? else { return Ok(lost()) };
        Ok(CheckedBy::Document(Box::new(read(tx, &name, version)?), origin))
    })
}

fn read(tx: &mut dyn Transaction, name: &str, version: u64) -> Result<Profile, RegistryError> {
    let unreadable = |reason: String| RegistryError::Corrupt {
        wanted: "the document of a profile",
        found: format!("{}: {reason}", target(name, version)),
    };
    let document = profiles::document(tx, name, version)?.ok_or_else(|| unreadable("nothing".to_owned()))?;
    let (profile, _) = Profile::parse(&document).map_err(|error: ProfileError| unreadable(chain(&error)))?;
    Ok(profile.recorded_as(name, version))
}

/// The profiles of a registry, as those that bags may name. What was read of one of them while a bag is checked is kept for what
/// is recorded of the check.
pub(crate) struct RecordedProfiles {
    registry: Registry,
    read: Mutex<Vec<ProfileVersion>>,
}

impl RecordedProfiles {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self { registry: registry.clone(), read: Mutex::default() }
    }

    /// A version of a profile by what a report says of it.
    pub(crate) fn version(&self, name: &str, version: u64) -> Result<ProfileVersion, RegistryError> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        match read.iter().find(|known| known.name == name && known.version == version) {
            Some(known) => Ok(known.clone()),
            None => self.registry.read(|tx| profiles::find(tx, name, Some(version))),
        }
    }

    /// The newest version of this name that may be used.
    fn newest(&self, name: &str) -> Result<Option<Profile>, BagError> {
        match usable(&self.registry, name, None) {
            Ok((version, profile)) => {
                self.read.lock().unwrap_or_else(PoisonError::into_inner).push(version);
                Ok(Some(profile))
            }
            Err(RegistryError::NotFound { .. } | RegistryError::State { .. }) => Ok(None),
            Err(error) => Err(BagError::Evidence(error.into())),
        }
    }
}

impl fmt::Debug for RecordedProfiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordedProfiles")
    }
}

impl KnownProfiles for RecordedProfiles {
    fn for_identifier(&self, identifier: &str) -> Result<Option<Profile>, BagError> {
        let identifier = identifier.trim();
        if let Some(builtin) = Profile::for_identifier(identifier)
            && let Some(profile) = self.newest(builtin.name())?
        {
            return Ok(Some(profile.answering_to(identifier)));
        }
        let found = self.registry.read(|tx| match profiles::of_identifier(tx, identifier)? {
            Some((name, version)) => read(tx, &name, version).map(Some),
            None => Ok::<_, RegistryError>(None),
        });
        found.map_err(|error| BagError::Evidence(error.into()))
    }

    fn for_aptrust(&self) -> Result<Option<Profile>, BagError> {
        self.newest("aptrust")
    }
}

/// What a bag was checked against: its profile by name, number and digest, so that it is known whatever becomes of the name.
pub(crate) fn checked_against(said: &Description) -> String {
    match (&said.profile, said.profile_version, &said.profile_sha512) {
        (Some(name), Some(version), Some(sha512)) => {
            format!("the bag was checked against BagIt and the profile {name} version {version}, sha512:{sha512}")
        }
        (Some(name), ..) => format!("the bag was checked against BagIt and the profile {name}"),
        (None, ..) => "the bag was checked against BagIt, without a profile".to_owned(),
    }
}
