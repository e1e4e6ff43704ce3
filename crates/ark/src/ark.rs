//! An ARK: read, shown as it was given, compared by its normal form.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::ArkError;
use crate::naan::Naan;

/// An ARK, `ark:/NAAN/NAME`.
///
/// It is read with and without the slash after `ark:`, and shown with it. The NAAN is kept in lower case; the name is kept as it was
/// given, with its hyphens. Two ARKs are equal where their normal forms are (see [`Ark::normal`]).
///
/// A name has ASCII letters, digits, `= ~ * + @ _ $`, the separators `/` and `.` of qualifiers, hyphens, and `%` with two hexadecimal
/// digits for any other byte. Upper and lower case differ. Characters that only look like a hyphen (U+2010 to U+2015) become one.
#[derive(Clone)]
pub struct Ark {
    /// `ark:/NAAN/NAME` as given.
    text: String,
    /// The same in normal form.
    normal: String,
    naan: Naan,
}

const LABEL: &str = "ark:/";

impl Ark {
    /// The longest ARK that is read, in bytes of its UTF-8 text, as it was given and with the slash after `ark:`.
    pub const LONGEST: usize = 255;

    /// An ARK of a NAAN and a name.
    ///
    /// # Errors
    /// As [`Ark::from_str`], but for the label and the NAAN.
    pub fn new(naan: &Naan, name: &str) -> Result<Self, ArkError> {
        Self::read(&format!("{LABEL}{naan}/{name}"), naan.clone(), name)
    }

    /// An ARK of a name in normal form that has nothing to refuse.
    pub(crate) fn of_parts(naan: &Naan, name: &str) -> Self {
        let text = format!("{LABEL}{naan}/{name}");
        Self { normal: text.clone(), text, naan: naan.clone() }
    }

    fn read(given: &str, naan: Naan, name: &str) -> Result<Self, ArkError> {
        let name: String = name.chars().map(|c| if matches!(c, '\u{2010}'..='\u{2015}') { '-' } else { c }).collect();
        let text = format!("{LABEL}{naan}/{name}");
        // The text is read again where it was stored, so its own length counts.
        if given.len().max(text.len()) > Self::LONGEST {
            return Err(ArkError::TooLong { given: given.to_owned(), length: given.len().max(text.len()) });
        }
        let normal = normal_name(given, &name)?;
        if normal.is_empty() {
            return Err(ArkError::NoName { given: given.to_owned() });
        }
        Ok(Self { text, normal: format!("{LABEL}{naan}/{normal}"), naan })
    }

    /// `ark:/NAAN/NAME`, the name as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The normal form, by which ARKs are compared and under which they are registered (draft-kunze-ark-42, section 3.2): without hyphens,
    /// with upper-case hexadecimal digits after `%`, without `/` and `.` at the ends of the name, and of several of them in a row only the
    /// first.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// The NAAN, in lower case.
    pub fn naan(&self) -> &Naan {
        &self.naan
    }

    /// What follows the NAAN, with qualifiers, as it was given.
    pub fn name(&self) -> &str {
        self.text.get(LABEL.len() + self.naan.as_str().len() + 1..).unwrap_or_default()
    }

    /// `NAAN/NAME` in normal form and without qualifiers, that is up to the first `/` or `.` of the name: what a check character covers.
    pub(crate) fn normal_base(&self) -> &str {
        let name_at = LABEL.len() + self.naan.as_str().len() + 1;
        let name = self.normal.get(name_at..).unwrap_or_default();
        let end = name.find(['/', '.']).unwrap_or(name.len());
        self.normal.get(LABEL.len()..name_at + end).unwrap_or_default()
    }
}

/// The name in normal form; empty where nothing is left of it.
fn normal_name(given: &str, name: &str) -> Result<String, ArkError> {
    let mut normal = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        match character {
            '-' => {}
            '/' | '.' => {
                if !normal.is_empty() && !normal.ends_with(['/', '.']) {
                    normal.push(character);
                }
            }
            '%' => {
                let digits = [characters.next(), characters.next()].map(|c| c.filter(char::is_ascii_hexdigit));
                let [Some(high), Some(low)] = digits else {
                    return Err(ArkError::Percent { given: given.to_owned() });
                };
                normal.extend(['%', high.to_ascii_uppercase(), low.to_ascii_uppercase()]);
            }
            '=' | '~' | '*' | '+' | '@' | '_' | '$' => normal.push(character),
            _ if character.is_ascii_alphanumeric() => normal.push(character),
            _ => return Err(ArkError::Character { given: given.to_owned(), character }),
        }
    }
    if normal.ends_with(['/', '.']) {
        normal.pop();
    }
    Ok(normal)
}

impl FromStr for Ark {
    type Err = ArkError;

    /// Reads `ark:/NAAN/NAME` or `ark:NAAN/NAME`, the label in any case. White space around it is not ignored.
    ///
    /// # Errors
    /// Every [`ArkError`] about an ARK or a NAAN.
    fn from_str(given: &str) -> Result<Self, ArkError> {
        let (label, rest) = given.split_at_checked(4).ok_or_else(|| ArkError::NoLabel { given: given.to_owned() })?;
        if !label.eq_ignore_ascii_case("ark:") {
            return Err(ArkError::NoLabel { given: given.to_owned() });
        }
        if given.len() > Self::LONGEST {
            return Err(ArkError::TooLong { given: given.to_owned(), length: given.len() });
        }
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let (naan, name) = rest.split_once('/').ok_or_else(|| ArkError::NoName { given: given.to_owned() })?;
        Self::read(given, Naan::new(naan)?, name)
    }
}

impl fmt::Display for Ark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Ark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ark").field(&self.text).finish()
    }
}

impl PartialEq for Ark {
    fn eq(&self, other: &Self) -> bool {
        self.normal == other.normal
    }
}

impl Eq for Ark {}

impl PartialOrd for Ark {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ark {
    fn cmp(&self, other: &Self) -> Ordering {
        self.normal.cmp(&other.normal)
    }
}

impl Hash for Ark {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normal.hash(state);
    }
}

impl Serialize for Ark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Ark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
