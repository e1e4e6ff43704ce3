//! The number of an authority that assigns names.

use std::fmt;
use std::str::FromStr;

use crate::check::ordinal;
use crate::error::ArkError;

/// A NAAN: 1 to [`Naan::LONGEST`] digits or consonants, kept in lower case. Those that are assigned have five digits; `99999` is for
/// tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Naan(String);

impl Naan {
    /// The longest NAAN that has to be understood, in characters (draft-kunze-ark-42).
    pub const LONGEST: usize = 16;

    /// Reads a NAAN; upper-case letters become lower-case.
    ///
    /// # Errors
    /// [`ArkError::Naan`].
    pub fn new(text: &str) -> Result<Self, ArkError> {
        let naan = text.to_ascii_lowercase();
        let is_valid = (1..=Self::LONGEST).contains(&naan.len()) && naan.chars().all(|c| ordinal(c).is_some());
        if is_valid { Ok(Self(naan)) } else { Err(ArkError::Naan { given: text.to_owned() }) }
    }

    /// The NAAN as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Naan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Naan {
    type Err = ArkError;

    fn from_str(text: &str) -> Result<Self, ArkError> {
        Self::new(text)
    }
}
