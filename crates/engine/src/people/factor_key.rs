//! The key that seals second factors: a file in the data directory, beside the registry and not in it. Several machines of one installation
//! have the same file. Without it second factors cannot be used, and are reset.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use strongroom_credentials::{CredentialError, SealingKey, TotpSecret};
use strongroom_registry::second_factors::{self, SealedFactor};
use strongroom_registry::{Registry, UserId};
use zeroize::Zeroizing;

use crate::{EngineError, Home};

/// The name of the file.
pub(crate) const FILE: &str = "second-factors.key";

/// What to do where the file is not the one with which second factors were sealed.
const RESTORE: &str = "copy second-factors.key from another machine of this installation or from its backup; where it is lost, reset second \
                       factors with \"strongroom user set EMAIL --reset-second-factor\"";

/// The key that there is.
///
/// # Errors
/// There is none, or the file is none.
fn existing_key(home: &Home) -> Result<SealingKey, EngineError> {
    let path = home.directory.join(FILE);
    read(&path)?.ok_or_else(|| missing(&path))
}

/// Whether the file has the key with which the second factors of the registry are sealed. None where there are none.
///
/// # Errors
/// Those of the registry.
pub(crate) fn check(directory: &Path, registry: &Registry) -> Result<Option<Result<(), EngineError>>, EngineError> {
    let mut after = String::new();
    let mut checked = None;
    // There is one key at most, unless rows were brought together from several registries.
    while let Some(sealed) = registry.read(|tx| second_factors::key_after(tx, &after))? {
        let path = directory.join(FILE);
        let outcome = match read(&path) {
            Err(error) => Err(error),
            Ok(None) => Err(missing(&path)),
            Ok(Some(key)) if key.id().to_string() != sealed => Err(other_key(&sealed)),
            Ok(Some(_)) => Ok(()),
        };
        let is_wrong = outcome.is_err();
        checked = Some(outcome);
        if is_wrong {
            break;
        }
        after = sealed;
    }
    Ok(checked)
}

fn missing(path: &Path) -> EngineError {
    EngineError::Absent(format!("the key of the second factors, {}, is missing", path.display())).next(RESTORE)
}

/// The key that there is, or a new one where no second factor was ever sealed.
pub(crate) fn key_or_new(home: &Home) -> Result<SealingKey, EngineError> {
    let path = home.directory.join(FILE);
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    if home.registry.read(|tx| second_factors::key_after(tx, ""))?.is_some() {
        return existing_key(home);
    }
    make(&path)?;
    existing_key(home)
}

/// The secret of the second factor of a user.
///
/// # Errors
/// The file is missing, or has another key; what is stored was changed.
pub(crate) fn open_factor(home: &Home, user: UserId, sealed: &SealedFactor) -> Result<TotpSecret, EngineError> {
    existing_key(home)?.open(sealed.as_bytes(), user.0.as_bytes()).map_err(|error| match error {
        CredentialError::OtherKey { sealed, .. } => other_key(&sealed.to_string()),
        error => error.into(),
    })
}

/// The error where second factors are sealed with another key than that of the file.
pub(crate) fn other_key(sealed: &str) -> EngineError {
    EngineError::Refused(format!("second factors are sealed with the key {sealed}, and the file {FILE} has another"))
        .next(RESTORE)
}

fn read(path: &Path) -> Result<Option<SealingKey>, EngineError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => Zeroizing::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed("read", path, source)),
    };
    let key = SealingKey::parse(&text)
        .map_err(|error| EngineError::Refused(format!("{}: {error}", path.display())).next(RESTORE))?;
    Ok(Some(key))
}

/// Makes the file as a whole; where another process is faster, its file stays.
fn make(path: &Path) -> Result<(), EngineError> {
    let (key, partial) = (SealingKey::generate()?, path.with_extension(format!("{}.new", std::process::id())));
    let write = || -> io::Result<()> {
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
        file.write_all(key.reveal().as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        match fs::hard_link(&partial, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    let written = write();
    let removed = fs::remove_file(&partial);
    written.and(removed).map_err(|source| failed("write", path, source))
}

fn failed(act: &'static str, path: &Path, source: io::Error) -> EngineError {
    EngineError::Io { act, path: path.display().to_string(), source }
}
