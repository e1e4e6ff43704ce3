//! The forms of the values of settings, in the words of errors and of the reference.

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any string.
    Text,
    /// The URL of a database, which may hold a password; also read from a file, its password masked when shown.
    Database,
    /// A string that is a secret; also read from a file, and masked when shown.
    Secret,
    /// A path; relative ones start at the home.
    Path,
    /// Bytes, with a unit.
    Size,
    /// A duration, with units.
    Duration,
    /// An integer of at least this.
    Count(i64),
    /// `true` or `false`.
    Flag,
    /// A list of strings.
    List,
    /// Access rights, in octal.
    Mode,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// The type of a value as the reference names it, with what narrows it.
    pub(super) fn described(self) -> String {
        match self {
            Self::Text | Self::Database | Self::Secret => "string".to_owned(),
            Self::Path | Self::Mode | Self::Choice(_) => format!("string: {}", self.wanted()),
            Self::Size => "size".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Count(least) => format!("integer, at least {least}"),
            Self::Flag => "boolean".to_owned(),
            Self::List => "list of strings".to_owned(),
        }
    }

    /// What a value has to be, in words.
    pub(super) fn wanted(self) -> String {
        match self {
            Self::Text | Self::Database | Self::Secret => "a string".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Size => "a size in bytes with a unit (kB, MB, GB, TB, KiB, MiB, GiB, TiB), or 0".to_owned(),
            Self::Duration => "a duration with units (ms, s, m, h, d)".to_owned(),
            Self::Count(least) => format!("an integer, at least {least}"),
            Self::Flag => "true or false".to_owned(),
            Self::List => "a list of strings".to_owned(),
            Self::Mode => "access rights as three or four octal digits, with 7 for the owner".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// A valid value, as it is written in the file.
    pub(super) fn example(self) -> String {
        match self {
            Self::Text | Self::Secret => "\"text\"".to_owned(),
            Self::Database => "\"sqlite:registry.db\"".to_owned(),
            Self::Path => "\"stores/primary\"".to_owned(),
            Self::Size => "\"10 GiB\"".to_owned(),
            Self::Duration => "\"30m\"".to_owned(),
            Self::Count(least) => (least + 1).to_string(),
            Self::Flag => "true".to_owned(),
            Self::List => "[\"one\", \"two\"]".to_owned(),
            Self::Mode => "\"0700\"".to_owned(),
            Self::Choice(words) => format!("\"{}\"", words.first().unwrap_or(&"")),
        }
    }

    /// Whether values may be read from a file and are not shown as they are.
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Database | Self::Secret)
    }
}
