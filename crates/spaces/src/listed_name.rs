//! Names as listings have them: any bytes, as a text that can be kept, shown and read again.

use std::fmt;
use std::str::FromStr;

use strongroom_storage::Key;

/// The name of what a listing yields, below its space: the bytes of a key, or of what is none. A listing can be resumed after it.
///
/// As a text, a byte of no UTF-8, a control character and `%` are two hexadecimal digits after `%`; everything else is itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ListedName(Vec<u8>);

/// Why a text is no name of a listing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no name of a listing: a % is followed by two hexadecimal digits, and stands for itself as %25")]
pub struct ListedNameError {
    text: String,
}

impl ListedName {
    /// Before everything.
    pub const START: Self = Self(Vec::new());

    /// A name of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&Key> for ListedName {
    fn from(key: &Key) -> Self {
        Self(key.as_str().as_bytes().to_vec())
    }
}

impl fmt::Display for ListedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if character == '%' || character.is_control() {
                    let mut buffer = [0; 4];
                    for byte in character.encode_utf8(&mut buffer).bytes() {
                        write!(f, "%{byte:02X}")?;
                    }
                } else {
                    write!(f, "{character}")?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for ListedName {
    type Err = ListedNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                bytes.push(byte);
                continue;
            }
            let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
            match (digit(), digit()) {
                (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                _ => return Err(ListedNameError { text: text.to_owned() }),
            }
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_shown_so_that_they_can_be_read() {
        for (bytes, text) in [(&b"a/b"[..], "a/b"), ("é".as_bytes(), "é"), (b"\xff%\n", "%FF%25%0A"), (b"", "")] {
            assert_eq!(ListedName::new(bytes).to_string(), text);
        }
        for wrong in ["%", "%4", "%zz", "a%+1"] {
            assert!(wrong.parse::<ListedName>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let name = ListedName::new(bytes);
            prop_assert_eq!(name.to_string().parse::<ListedName>(), Ok(name));
        }
    }
}
