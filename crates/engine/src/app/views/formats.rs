//! The signatures by which formats are identified.

use std::path::Path;

use serde::Serialize;
use strongroom_pronom::{Release, SignatureSet};

use crate::EngineError;
use crate::signatures::{self, BUILT_IN, Named, SignaturesError};

/// A pair of signature files.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SignaturesView {
    /// The name under which it is chosen.
    pub name: String,
    /// Whether files are identified with it.
    pub in_use: bool,
    /// The name of the binary signature file.
    pub binary: Option<String>,
    /// Its version.
    pub binary_version: Option<String>,
    /// When it was made, by its own word.
    pub binary_created: Option<String>,
    /// Its SHA-256.
    pub binary_sha256: Option<String>,
    /// The name of the container signature file.
    pub container: Option<String>,
    /// Its version.
    pub container_version: Option<String>,
    /// Its SHA-256.
    pub container_sha256: Option<String>,
    /// How many formats it knows.
    pub formats: usize,
    /// How many signatures of bytes it has.
    pub byte_signatures: usize,
    /// How many signatures of containers it has.
    pub container_signatures: usize,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

impl SignaturesView {
    /// Every pair that a data directory has, the one in use first. A folder without any, or one that does not exist, has the
    /// built-in ones. It reads files only, so that a program without registry and stores can show them.
    ///
    /// # Errors
    /// The pair in use cannot be used. Of the others their problem is shown.
    pub fn of_directory(directory: &Path) -> Result<Vec<Self>, EngineError> {
        let used = signatures::load(directory)?;
        let mut others = signatures::installed(directory)?;
        others.retain(|name| *name != used.name);
        if used.name != BUILT_IN {
            others.push(BUILT_IN.to_owned());
        }
        let mut views = vec![Self::in_use(&used)];
        for name in others {
            views.push(match signatures::read(directory, &name) {
                Ok(set) => Self::sound(&name, false, &set),
                Err(error) => Self::damaged(&name, &error),
            });
        }
        Ok(views)
    }

    /// The pair that is in use now.
    pub(crate) fn in_use(named: &Named) -> Self {
        Self::sound(&named.name, true, &named.set)
    }

    fn sound(name: &str, in_use: bool, set: &SignatureSet) -> Self {
        let container = set.container.as_ref();
        let text = |value: fn(&Release) -> &String| container.map(|release| value(release).clone());
        Self {
            name: name.to_owned(),
            in_use,
            binary: Some(set.binary.name.clone()),
            binary_version: Some(set.binary.version.clone()),
            binary_created: set.binary.created.clone(),
            binary_sha256: Some(set.binary.sha256.clone()),
            container: text(|release| &release.name),
            container_version: text(|release| &release.version),
            container_sha256: text(|release| &release.sha256),
            formats: set.formats.len(),
            byte_signatures: set.signatures.len(),
            container_signatures: set.containers.len(),
            problem: None,
        }
    }

    fn damaged(name: &str, error: &SignaturesError) -> Self {
        Self { name: name.to_owned(), problem: Some(crate::chain(error)), ..Self::default() }
    }
}
