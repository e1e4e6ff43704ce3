//! Versions of the OCFL specification, and the declarations that name them (NAMASTE files).

use std::fmt;

/// A version of the OCFL specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecVersion {
    /// OCFL 1.0.
    V1_0,
    /// OCFL 1.1, which we write.
    V1_1,
}

impl SpecVersion {
    /// Every version we read.
    pub const ALL: [Self; 2] = [Self::V1_0, Self::V1_1];

    /// The number, such as `1.1`.
    pub fn number(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }

    /// The `type` of an inventory of this version.
    pub fn inventory_type(self) -> String {
        format!("https://ocfl.io/{}/spec/#inventory", self.number())
    }

    /// The version whose inventories have this `type`.
    pub fn of_inventory_type(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.inventory_type() == uri)
    }

    /// File name of the declaration of an object.
    pub(crate) fn object_declaration(self) -> String {
        format!("0=ocfl_object_{}", self.number())
    }

    /// File name of the declaration of a storage root.
    pub(crate) fn root_declaration(self) -> String {
        format!("0=ocfl_{}", self.number())
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

/// The text of a declaration: its name from the `=` on, and a newline.
pub(crate) fn declaration_text(file_name: &str) -> String {
    let value = file_name.split_once('=').map_or(file_name, |(_, value)| value);
    format!("{value}\n")
}
