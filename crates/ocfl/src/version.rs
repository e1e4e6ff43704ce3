//! Versions of an object: their numbers, as directory names write them, and what an inventory says of each.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::OcflError;

/// A version number, 1 or more, as its directory is named: `v3`, or zero-padded to a width (`v003`), which others may
/// have done and we only read. Compared by the number alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VersionNumber {
    number: u32,
    width: u32,
}

impl VersionNumber {
    /// The first version.
    pub const FIRST: Self = Self { number: 1, width: 0 };

    /// Takes a number of 1 or more.
    pub fn new(number: u32) -> Result<Self, OcflError> {
        if number == 0 {
            return Err(OcflError::unwritable("a version number", "0", "versions are counted from 1"));
        }
        Ok(Self { number, width: 0 })
    }

    /// The number.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Digits of a zero-padded name, 0 where names are not padded.
    pub fn width(self) -> u32 {
        self.width
    }

    /// The version after this one, named by the same convention.
    pub fn next(self) -> Result<Self, OcflError> {
        let next = self.number.checked_add(1).map(|number| Self { number, width: self.width });
        let fits = |version: &Self| version.width == 0 || version.number.to_string().len() < version.width as usize;
        next.filter(fits)
            .ok_or_else(|| OcflError::unwritable("a version number", self.to_string(), "no number is left after it"))
    }

    /// Every version from the first to this one, named by the same convention.
    pub fn up_to(self) -> impl DoubleEndedIterator<Item = Self> {
        (1..=self.number).map(move |number| Self { number, width: self.width })
    }
}

impl PartialEq for VersionNumber {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for VersionNumber {}

impl PartialOrd for VersionNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for VersionNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl Hash for VersionNumber {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{:0width$}", self.number, width = self.width as usize)
    }
}

impl FromStr for VersionNumber {
    type Err = OcflError;

    /// Takes `v` and a number of 1 or more, where a leading zero means padding (OCFL 1.1 section 3.3.1).
    fn from_str(text: &str) -> Result<Self, OcflError> {
        let fault = |reason| OcflError::unwritable("a version number", text, reason);
        let digits = text.strip_prefix('v').ok_or_else(|| fault("it does not begin with v"))?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(fault("v is not followed by digits alone"));
        }
        if digits.len() > 32 {
            return Err(fault("it has too many digits"));
        }
        let number = digits.parse().map_err(|_| fault("it is too large"))?;
        if number == 0 {
            return Err(fault("versions are counted from 1"));
        }
        let width = if digits.starts_with('0') { digits.len() as u32 } else { 0 };
        Ok(Self { number, width })
    }
}

impl TryFrom<String> for VersionNumber {
    type Error = OcflError;

    fn try_from(text: String) -> Result<Self, OcflError> {
        text.parse()
    }
}

impl From<VersionNumber> for String {
    fn from(version: VersionNumber) -> Self {
        version.to_string()
    }
}

/// What an inventory says of a version beside its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionDetails {
    /// When it was made, in the form of RFC 3339 with seconds and offset.
    pub created: String,
    /// Why it was made.
    pub message: Option<String>,
    /// Who made it.
    pub user: Option<User>,
}

impl VersionDetails {
    /// Details with every member that the specification wants to see.
    pub fn new(created: jiff::Timestamp, message: impl Into<String>, user: User) -> Self {
        Self { created: created.to_string(), message: Some(message.into()), user: Some(user) }
    }
}

/// Who made a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// A name.
    pub name: String,
    /// A `mailto:` URI or the URL of a personal identifier.
    pub address: Option<String>,
}

/// Whether a text is a date and time of RFC 3339 section 5.6: date, time to the second, offset.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let at = |index: usize, wanted: &[u8]| bytes.get(index).is_some_and(|byte| wanted.contains(byte));
    let date_and_time = digits(0..4)
        && at(4, b"-")
        && digits(5..7)
        && at(7, b"-")
        && digits(8..10)
        && at(10, b"Tt ")
        && digits(11..13)
        && at(13, b":")
        && digits(14..16)
        && at(16, b":")
        && digits(17..19);
    if !date_and_time {
        return false;
    }
    let Some(rest) = bytes.get(19..) else { return false };
    let fraction = match rest.split_first() {
        Some((b'.', after)) => 1 + after.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    if fraction == 1 {
        return false;
    }
    let offset = rest.get(fraction..).unwrap_or_default();
    let two = |from: usize| {
        let part = offset.get(from..from + 2)?;
        part.iter().all(u8::is_ascii_digit).then(|| (part[0] - b'0') * 10 + part[1] - b'0')
    };
    let offset_holds = match offset {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', _, _, b':', _, _] => two(1).is_some_and(|h| h < 24) && two(4).is_some_and(|m| m < 60),
        _ => false,
    };
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<i16>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else { return false };
    let date_exists = jiff::civil::Date::new(year, month as i8, day as i8).is_ok();
    let time_exists = number(11, 13).is_some_and(|hour| hour < 24)
        && number(14, 16).is_some_and(|minute| minute < 60)
        && number(17, 19).is_some_and(|second| second <= 60);
    offset_holds && date_exists && time_exists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_number_is_read_and_written_as_its_directory_is_named() {
        for text in ["v1", "v12", "v001", "v0012"] {
            assert_eq!(text.parse::<VersionNumber>().unwrap().to_string(), text);
        }
        for text in ["", "v", "1", "v0", "v00", "V1", "v1a", "v-1", "v+1", "v99999999999"] {
            assert!(text.parse::<VersionNumber>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_padded_number_ends_where_its_leading_zero_would_go() {
        assert_eq!("v08".parse::<VersionNumber>().unwrap().next().unwrap().to_string(), "v09");
        assert!("v09".parse::<VersionNumber>().unwrap().next().is_err());
    }

    #[test]
    fn a_date_and_time_needs_seconds_and_an_offset() {
        for good in ["2020-01-01T00:00:00Z", "2021-03-31T10:21:21.740101149-05:00", "1990-12-31T23:59:60Z"] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "",
            "2020-01-01",
            "2020-01-01T00:00Z",
            "2020-01-01T00:00:00",
            "2020-02-30T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00+5:00",
            "é020-01-01T00:00:00Z",
            "2020-13-01T00:00:00Z",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }
}
