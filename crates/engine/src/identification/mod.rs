//! What a file's format is, by PRONOM: on the way into staging, from where bytes lie by now, and anew when there are newer
//! signature files. What is in the bytes never stops a deposit: the worst they bring is a warning.

mod handler;
mod log;
mod renewal;
mod request;
mod source;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use strongroom_pronom::{Identification, Identifier, Observation, Observed, Options};
use strongroom_registry::Format;

use crate::signatures::{self, SignaturesError};
use crate::{EngineError, Home};

pub(crate) use handler::TASK;
pub use handler::TOPIC;
pub use request::{Behind, ReidentifyRequest, ReidentifySummary, behind, enqueue, run};
pub(crate) use source::{SourceTrouble, StoredSource};

/// The longest text kept of what an identification rests on or warns of, in bytes: members of containers have names of any
/// length.
const LONGEST_TEXT: usize = 4_000;

/// The signature files in use, and how far an identification may go.
#[derive(Clone)]
pub(crate) struct Identifying {
    identifier: Identifier,
    options: Options,
    signatures: String,
}

impl Identifying {
    /// As the home has it now.
    pub(crate) fn of(home: &Home) -> Result<Self, EngineError> {
        let identifier = home.identifiers.in_use(&home.directory)?;
        let settings = &home.settings.identification;
        let options =
            Options { window: Some(settings.window).filter(|window| *window > 0), time_limit: settings.time_limit };
        let signatures = identifier.signatures();
        Ok(Self { identifier, options, signatures })
    }

    /// The names of the signature files, as formats keep them.
    pub(crate) fn signatures(&self) -> &str {
        &self.signatures
    }

    /// The format of bytes in memory.
    pub(crate) fn of_bytes(&self, name: &str, bytes: &[u8]) -> Format {
        let found = self.identifier.identify(name, &bytes, &self.options);
        found.map(|found| self.format(&found)).unwrap_or_default()
    }

    /// The format of what lies in a store.
    pub(crate) fn of_stored(&self, name: &str, source: &StoredSource<'_>) -> std::io::Result<Format> {
        Ok(self.format(&self.identifier.identify(name, source, &self.options)?))
    }

    /// Begins the identification of bytes that pass by.
    pub(crate) fn observe(&self, name: &str) -> Observation<'_> {
        self.identifier.observe(name, &self.options)
    }

    /// The format of bytes that have passed by and lie in a store by now.
    pub(crate) fn of_observed(&self, observed: Observed, source: &StoredSource<'_>) -> std::io::Result<Format> {
        let found = match observed {
            Observed::Complete(found) => found,
            Observed::Container(pending) => pending.finish(source)?,
        };
        Ok(self.format(&found))
    }

    /// An answer as the record keeps it: the first match is the file's format, and no other is left out.
    fn format(&self, found: &Identification) -> Format {
        let mut format = Format {
            signatures: Some(self.signatures.clone()),
            warning: warning(found).map(bounded),
            ..Format::default()
        };
        let Some((first, others)) = found.matches.split_first() else { return format };
        format.puid = Some(first.format.puid.clone());
        format.mime.clone_from(&first.format.mime);
        format.name = Some(first.format.name.clone());
        format.version.clone_from(&first.format.version);
        format.method = Some(first.method.as_str().to_owned());
        format.basis = Some(bounded(first.basis_text()));
        let others: Vec<&str> = others.iter().map(|other| other.format.puid.as_str()).collect();
        format.others = Some(others.join(" ")).filter(|others| !others.is_empty());
        format
    }
}

/// The identifier of a home, made ready once and again when other signature files are in use.
#[derive(Default)]
pub(crate) struct Identifiers(Mutex<Option<(String, Identifier)>>);

impl Identifiers {
    fn in_use(&self, home: &Path) -> Result<Identifier, SignaturesError> {
        let name = signatures::current(home)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, identifier)) = known.as_ref()
            && *of == name
        {
            return Ok(identifier.clone());
        }
        let identifier = Identifier::new(signatures::read(home, &name)?);
        *known = Some((name, identifier.clone()));
        Ok(identifier)
    }
}

/// Everything to be wary of, in one line.
fn warning(found: &Identification) -> Option<String> {
    let mut parts = Vec::new();
    if found.matches.len() > 1 && found.conclusive().is_none() {
        parts.push(format!("{} formats fit equally well", found.matches.len()));
    }
    if found.matches.first().is_some_and(|first| first.extension_mismatch) {
        parts.push("the extension is none of the format's".to_owned());
    }
    if !found.candidates.is_empty() {
        let candidates: Vec<&str> = found.candidates.iter().map(|format| format.puid.as_str()).collect();
        parts.push(format!("formats that it may be: {}", candidates.join(" ")));
    }
    parts.extend(found.warning());
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn bounded(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_any_length_is_kept_within_bounds() {
        assert_eq!(bounded("short".into()), "short");
        let long = bounded("\u{e4}".repeat(LONGEST_TEXT));
        assert_eq!(long.len(), LONGEST_TEXT + 3);
        assert!(long.ends_with("\u{e4}..."));
    }
}
