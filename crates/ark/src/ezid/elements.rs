//! What EZID keeps of an identifier: elements, each a name and a value.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::anvl;
use crate::ark::Ark;

/// Elements that are sent, or that EZID has.
///
/// A name is used once. Values have no white space at their ends: EZID removes it. An element that is sent with an empty value is deleted;
/// one that is not sent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elements(BTreeMap<String, String>);

impl Elements {
    /// No elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// The URL to which the identifier leads, `_target`. EZID replaces `${identifier}` in it by the identifier.
    #[must_use]
    pub fn target(self, url: &str) -> Self {
        self.with("_target", url)
    }

    /// The status, `_status`.
    #[must_use]
    pub fn status(self, status: &Status) -> Self {
        self.with("_status", &status.to_string())
    }

    /// Whether the identifier is given to indexes and harvesters, `_export`.
    #[must_use]
    pub fn export(self, is_exported: bool) -> Self {
        self.with("_export", if is_exported { "yes" } else { "no" })
    }

    /// The description in ERC: `_profile: erc`, and the element `erc` with a line for each label and value, such as
    /// `("who", "Lovelace, Ada")`.
    #[must_use]
    pub fn erc<'v>(self, lines: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let mut block = String::new();
        for (label, value) in lines {
            anvl::write_line(&mut block, label, value);
        }
        self.with("_profile", "erc").with("erc", &block)
    }

    /// Any other element; an empty value deletes it. A value that was set before is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.insert(name.trim().to_owned(), value.trim().to_owned());
        self
    }

    /// The value of an element.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Every element, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The body of a request; the name of an element that cannot be sent, because EZID would read its line as a comment or as malformed.
    pub(super) fn body(&self) -> Result<String, &str> {
        let mut body = String::new();
        for (name, value) in self.iter() {
            if name.is_empty() || name.starts_with('#') {
                return Err(name);
            }
            anvl::write_line(&mut body, name, value);
        }
        Ok(body)
    }
}

/// An identifier as EZID has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The identifier, as EZID writes it.
    pub ark: Ark,
    /// Its elements, also those that EZID sets, such as `_owner` and `_created`.
    pub elements: Elements,
}

impl Registered {
    pub(super) fn new(ark: Ark, elements: BTreeMap<String, String>) -> Self {
        Self { ark, elements: Elements(elements) }
    }

    /// The URL to which it leads.
    pub fn target(&self) -> Option<&str> {
        self.elements.get("_target")
    }

    /// Its status; nothing where EZID says none that is known.
    pub fn status(&self) -> Option<Status> {
        self.elements.get("_status")?.parse().ok()
    }
}

/// The status of an identifier. A reserved identifier can become public; a public one unavailable, and public again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It is known to everybody, and cannot be deleted.
    Public,
    /// It is known to its owner alone, and can be deleted.
    Reserved,
    /// It stays known, and leads to a page that says that its object cannot be had.
    Unavailable {
        /// Why, for that page.
        reason: Option<String>,
    },
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("public"),
            Self::Reserved => f.write_str("reserved"),
            Self::Unavailable { reason: None } => f.write_str("unavailable"),
            Self::Unavailable { reason: Some(reason) } => write!(f, "unavailable | {reason}"),
        }
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (word, reason) = match text.split_once('|') {
            Some((word, reason)) => (word.trim(), Some(reason.trim()).filter(|reason| !reason.is_empty())),
            None => (text.trim(), None),
        };
        match (word, reason) {
            ("public", None) => Ok(Self::Public),
            ("reserved", None) => Ok(Self::Reserved),
            ("unavailable", reason) => Ok(Self::Unavailable { reason: reason.map(str::to_owned) }),
            _ => Err(()),
        }
    }
}
