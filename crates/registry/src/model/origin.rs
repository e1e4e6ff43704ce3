//! Where something was harvested from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A source of records: its location, and which part of what is there. The records of two parts are different ones, also where they are
/// called alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The URL without its query, or the path.
    pub location: String,
    /// The part in words, such as `prefix marcxml`; empty for the whole. None where it was noted before parts were told apart, so that it
    /// may be any.
    pub part: Option<String>,
}

/// What the messages of versions and the notes of their deposits begin with that were harvested; the source is behind it. It is for people:
/// what was noted before origins were, is read by it.
pub const HARVESTED_FROM: &str = "harvested from ";

impl Origin {
    /// The whole of what is at a location.
    pub fn whole(location: impl Into<String>) -> Self {
        Self { location: location.into(), part: Some(String::new()) }
    }

    /// What a message says that was written before origins were noted; none where it says nothing of a harvest.
    pub fn of_message(message: &str) -> Option<Self> {
        let location = message.strip_prefix(HARVESTED_FROM).filter(|location| !location.is_empty())?;
        Some(Self { location: location.to_owned(), part: None })
    }

    /// Whether records of another origin may be those of this one.
    pub fn may_be(&self, other: &Self) -> bool {
        let is_known = |origin: &Self| origin.part.is_some();
        self.location == other.location && (!is_known(self) || !is_known(other) || self.part == other.part)
    }
}

impl From<&str> for Origin {
    fn from(location: &str) -> Self {
        Self::whole(location)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.location)?;
        match self.part.as_deref() {
            None | Some("") => Ok(()),
            Some(part) => write!(f, " ({part})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_location_are_different_origins_and_an_unknown_part_may_be_any() {
        let part = |part: &str| Origin { location: "https://example.edu/oai".into(), part: Some(part.to_owned()) };
        let old = Origin::of_message("harvested from https://example.edu/oai").unwrap();
        assert!(part("").may_be(&Origin::from("https://example.edu/oai")));
        assert!(!part("").may_be(&part("prefix marcxml")));
        assert!(old.may_be(&part("")) && part("prefix marcxml").may_be(&old));
        assert!(!old.may_be(&Origin::whole("https://example.edu/other")));
        assert_eq!(part("prefix marcxml").to_string(), "https://example.edu/oai (prefix marcxml)");
        assert_eq!([part(""), old].map(|origin| origin.to_string()), ["https://example.edu/oai"; 2]);
        assert_eq!((Origin::of_message("harvested from "), Origin::of_message("a deposit")), (None, None));
    }
}
