//! By which key heads are signed. A chain announces each key by an entry. A key that was replaced does not sign again: of two processes with
//! different keys, the one with the later key publishes.

use std::fs;

use strongroom_audit::{KEY_ACT, SigningKey};
use strongroom_registry::JournalOutcome;
use strongroom_registry::audit::{Chain, NO_KEY};
use strongroom_registry::audit_imports as imports;

use super::seal::seal;
use super::unfit;
use crate::journal::{JournalEntry, Target};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// What the setting `audit.signing_key` says.
pub(super) enum Signing {
    /// Nothing.
    Unset,
    /// That heads are not signed any more.
    Ended,
    /// A key, with its fingerprint.
    Key(Box<SigningKey>, String),
}

impl Signing {
    pub(super) fn of(home: &Home) -> Result<Self, EngineError> {
        let Some(file) = &home.settings.audit.signing_key else { return Ok(Self::Unset) };
        if file == NO_KEY {
            return Ok(Self::Ended);
        }
        let path = home.directory.join(file);
        let wrong = |why: String| {
            EngineError::Usage(format!(
                "audit.signing_key: {}: {why}; until it can be read, nothing is published of audit chains",
                path.display()
            ))
            .next(format!(
                "put the key back; only where there never was one, or it is lost: openssl genpkey -algorithm ed25519 -out {}",
                path.display()
            ))
        };
        let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let key = SigningKey::from_pem(&text).map_err(|error| wrong(error.to_string()))?;
        let fingerprint = key.public().fingerprint().map_err(|error| unfit("a key", &error))?;
        Ok(Self::Key(Box::new(key), fingerprint))
    }

    pub(super) fn fingerprint(&self) -> Option<&str> {
        if let Self::Key(_, fingerprint) = self { Some(fingerprint) } else { None }
    }
}

/// Whether the key of the settings can be read, where there is one.
pub(crate) fn check_key(home: &Home) -> Result<(), EngineError> {
    Signing::of(home).map(drop)
}

/// The fingerprint of the key of the settings, where it can be read.
pub(super) fn own_fingerprint(home: &Home) -> Option<String> {
    Signing::of(home).ok()?.fingerprint().map(str::to_owned)
}

/// Announces in a chain by which key its heads are signed from here on, where that is another one than before; how many entries were appended.
///
/// # Errors
/// The chain is signed by another key, which this process does not have.
pub(super) fn announce(home: &Home, chain: &Chain, signing: &Signing, stop: &Shutdown) -> Result<u64, EngineError> {
    let present = chain.signing_key.as_deref();
    if signing.fingerprint() == present {
        return Ok(0);
    }
    match signing {
        Signing::Unset => return Err(left(chain, "this process has no audit.signing_key")),
        Signing::Key(_, own) => {
            let keys = home.registry.read(|tx| imports::keys(tx, &chain.name))?;
            let is_known = keys.iter().any(|(key, _)| key == own);
            if is_known && keys.last().is_some_and(|(key, _)| key != own) {
                return Err(left(chain, "the key of audit.signing_key was replaced earlier, and does not sign again"));
            }
        }
        Signing::Ended => {}
    }
    let name = |key: Option<&str>| key.unwrap_or(NO_KEY).to_owned();
    let detail = format!("heads were signed by: {}", name(present));
    let target = Target { name: name(signing.fingerprint()), institution: chain.institution, object: None };
    home.registry
        .write(move |tx| JournalEntry::of_system(KEY_ACT).append(tx, &target, JournalOutcome::Done, Some(&detail)))?;
    seal(home, stop)
}

/// Why a chain is left to processes that have its key.
pub(super) fn left(chain: &Chain, why: &str) -> EngineError {
    let signed = match &chain.signing_key {
        Some(key) => format!("is signed by the key {key}"),
        None => "is not signed any more".to_owned(),
    };
    EngineError::Refused(format!(
        "audit.signing_key: the audit chain {} {signed}, and {why}: this process does not publish it",
        chain.name
    ))
    .next(
        "set audit.signing_key to the present key, or to a new key, in every process of this registry; \"none\" ends signing",
    )
}
