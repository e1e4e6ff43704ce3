//! What can be wrong with settings. The fix is part of each text.

use std::path::PathBuf;

/// What is wrong with the settings. The fix is part of the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// There is no such file.
    #[error("there are no settings at {path}")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("settings {path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("settings {path} are not valid TOML: {detail}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        detail: String,
    },
    /// No such setting.
    #[error("{origin} sets {key}, which is no setting{}", proposed(.nearest.as_deref()))]
    Unknown {
        /// Where it stands.
        origin: String,
        /// As it was written.
        key: String,
        /// The known key with the most similar name, where one is near.
        nearest: Option<String>,
    },
    /// A setting is given by its old name and by its name.
    #[error("{origin} sets both {old} and {new}, which are the old and the new name of one setting; remove {old}")]
    Twice {
        /// Where both stand.
        origin: String,
        /// The old name, as it is written there.
        old: String,
        /// The name, as it is written there.
        new: String,
    },
    /// A value of the wrong kind.
    #[error("{origin} sets {key} to {found}, which is not {wanted}")]
    Value {
        /// Where it stands.
        origin: String,
        /// Its key.
        key: String,
        /// What stands there.
        found: String,
        /// What belongs there, with an example.
        wanted: String,
    },
    /// A setting without a default is not given.
    #[error("{key} is not set; give it in {path}, for example {key} = {example}")]
    Required {
        /// Its key.
        key: String,
        /// The file.
        path: PathBuf,
        /// A value that would do.
        example: String,
    },
    /// Values that do not fit each other, or that this program cannot serve.
    #[error("{}{key}: {reason}", if origin.is_empty() { String::new() } else { format!("{origin}: ") })]
    Unfit {
        /// Where it stands; empty where that is not known.
        origin: String,
        /// The key to change.
        key: String,
        /// Why, and what to do.
        reason: String,
    },
}

fn proposed(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is not set.
    Default,
    /// The settings file.
    File(PathBuf),
    /// This variable.
    Environment(String),
}

impl Origin {
    /// The file, or the environment as a whole.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Environment(_) => "the environment".to_owned(),
            Self::Default | Self::File(_) => self.to_string(),
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
        }
    }
}
