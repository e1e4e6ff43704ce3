//! What a file's format was found to be. It belongs to what a path holds from a version on, and not to the bytes alone:
//! where nothing else says, the name decides.

use serde::{Deserialize, Serialize};
use strongroom_database::{Row, Value};

use crate::RegistryError;

/// How many columns a format has, in the order of [`Format::values`].
const COLUMNS: usize = 9;

/// A file's format. Without a PRONOM identifier and without signatures it was not identified yet; without an identifier but
/// with signatures none was recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Format {
    /// Its media type, or several separated by ", ".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Its PRONOM identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub puid: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How it was identified: `container`, `signature`, `text`, `extension`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What the identification rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// The signature files it was identified with, by name, separated by "; ".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signatures: Option<String>,
    /// What to be wary of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The PRONOM identifiers of all other formats that match, separated by a space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<String>,
}

impl Format {
    /// Whether an identification was tried.
    pub fn was_tried(&self) -> bool {
        self.signatures.is_some()
    }

    /// Whether it says the same formats, found in the same way, as another.
    pub fn agrees_with(&self, other: &Self) -> bool {
        (&self.puid, &self.others, &self.method) == (&other.puid, &other.others, &other.method)
    }

    /// Its columns: puid, mime, name, version, method, basis, signatures, warning, others.
    pub(crate) fn values(&self) -> [Value; COLUMNS] {
        [
            self.puid.clone().into(),
            self.mime.clone().into(),
            self.name.clone().into(),
            self.version.clone().into(),
            self.method.clone().into(),
            self.basis.clone().into(),
            self.signatures.clone().into(),
            self.warning.clone().into(),
            self.others.clone().into(),
        ]
    }

    /// A format out of its columns, by the names that they have in every table.
    pub(crate) fn of_row(row: &Row) -> Result<Self, RegistryError> {
        let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
        Ok(Self {
            puid: text("puid")?,
            mime: text("mime")?,
            name: text("format_name")?,
            version: text("format_version")?,
            method: text("format_method")?,
            basis: text("format_basis")?,
            signatures: text("format_signatures")?,
            warning: text("format_warning")?,
            others: text("format_others")?,
        })
    }
}
