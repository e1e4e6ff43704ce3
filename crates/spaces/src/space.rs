//! Names of spaces.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use strongroom_storage::Key;

/// What stands before names that belong to Strongroom: such a space, or such a first segment of a key, is none.
pub(crate) const RESERVED: &str = ".strongroom";
/// What file systems keep at the top of a disk.
const OF_FILE_SYSTEMS: &str = "lost+found";

/// The name of a space: one segment of a key, at most 255 bytes, which neither begins with `.strongroom` nor is `lost+found`.
///
/// Names are ordered by their bytes with `/` behind them, which is the order of the keys below them: `a-b` comes before `a`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpaceName(Key);

/// Why a text names no space.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no space: it {reason}")]
pub struct SpaceNameError {
    text: String,
    reason: &'static str,
}

impl SpaceNameError {
    /// What is wrong with it, such as `is empty`.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

impl SpaceName {
    /// Checks and takes a text as the name of a space.
    pub fn new(text: impl Into<String>) -> Result<Self, SpaceNameError> {
        let text = text.into();
        let reason = match Key::new(text.as_str()) {
            Err(error) => error.reason(),
            Ok(_) if text.is_empty() => "is empty",
            Ok(_) if text.contains('/') => "has more than one segment",
            Ok(_) if text.starts_with(RESERVED) => "begins with .strongroom, which belongs to Strongroom itself",
            Ok(_) if text == OF_FILE_SYSTEMS => "belongs to the file system",
            Ok(key) => return Ok(Self(key)),
        };
        Err(SpaceNameError { text, reason })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The name as a key of one segment.
    pub fn as_key(&self) -> &Key {
        &self.0
    }

    fn sorted(&self) -> impl Iterator<Item = u8> + '_ {
        self.as_str().bytes().chain([b'/'])
    }
}

impl Ord for SpaceName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sorted().cmp(other.sorted())
    }
}

impl PartialOrd for SpaceName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for SpaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SpaceName {
    type Err = SpaceNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_the_keys_below_them() {
        let mut names: Vec<SpaceName> =
            ["a", "a-b", "a.d", "a0", "b"].map(|name| SpaceName::new(name).expect("a name")).into();
        names.sort();
        let sorted: Vec<&str> = names.iter().map(SpaceName::as_str).collect();
        assert_eq!(sorted, ["a-b", "a.d", "a", "a0", "b"]);
    }

    #[test]
    fn what_names_no_space_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", "is empty"),
            ("a/b", "more than one segment"),
            ("..", "dots"),
            ("a\nb", "control character"),
            (".strongroom", "belongs to Strongroom"),
            ("lost+found", "file system"),
        ] {
            let error = SpaceName::new(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
