//! Properties of content items: names and values that every engine can keep as they are.

use std::collections::BTreeMap;

/// Most bytes of all names and values together (S3: user-defined object metadata).
const MOST: usize = 2048;
/// Most bytes of a name, so that it fits into the name of an extended attribute (Linux: 255 bytes with its prefix).
const LONGEST_NAME: usize = 200;
/// What stands before names of metadata that the S3 engine keeps for itself.
const RESERVED: &str = "strongroom-";

/// Properties of a content item, by name.
///
/// A name has 1 to 200 of the characters `a-z`, `0-9`, `-`, `_` and `.`, and does not begin with `strongroom-`: names of headers of
/// HTTP have no case, and S3 keeps properties as headers. A value is a text without control characters that neither begins nor
/// ends with a blank, nor has `=?`: S3 takes the blanks away, and `=?` for the beginning of an encoded word. All names and values
/// together have at most 2,048 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Properties(BTreeMap<String, String>);

/// Why something is no property that every engine can keep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    /// The name.
    #[error("the property {name:?} {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The value.
    #[error("the value of the property {name:?} {reason}")]
    Value {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// All of them.
    #[error("the properties have {found} bytes, and {MOST} is the limit")]
    TooLarge {
        /// Their bytes.
        found: usize,
    },
    /// The content type.
    #[error("the content type {text:?} {reason}")]
    ContentType {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Properties {
    /// Checks and takes properties.
    pub fn new(properties: impl IntoIterator<Item = (String, String)>) -> Result<Self, PropertyError> {
        let mut checked = BTreeMap::new();
        let mut size = 0;
        for (name, value) in properties {
            if let Some(reason) = fault_of_name(&name) {
                return Err(PropertyError::Name { name, reason });
            }
            if let Some(reason) = fault_of_value(&value) {
                return Err(PropertyError::Value { name, reason });
            }
            size += name.len() + value.len();
            checked.insert(name, value);
        }
        if size > MOST {
            return Err(PropertyError::TooLarge { found: size });
        }
        Ok(Self(checked))
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + '_ {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn fault_of_value(value: &str) -> Option<&'static str> {
    if value.chars().any(char::is_control) {
        return Some("has a control character");
    }
    if value.starts_with(' ') || value.ends_with(' ') {
        return Some("begins or ends with a blank, which S3 does not keep");
    }
    value.contains("=?").then_some("has =?, which S3 takes for the beginning of an encoded word")
}

fn fault_of_name(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Some("has no name of 1 to 200 characters");
    }
    if name.starts_with(RESERVED) {
        return Some("begins with strongroom-, which belongs to Strongroom itself");
    }
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
    (!name.bytes().all(is_plain)).then_some("has a name with other characters than a-z, 0-9, -, _ and .")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Result<Properties, PropertyError> {
        Properties::new([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn properties_that_some_engine_cannot_keep_are_refused() {
        assert!(one("creator", "Émile Zola").is_ok());
        for name in ["", "Creator", "a b", "é", "strongroom-put", "a:b", &"a".repeat(201)] {
            assert!(matches!(one(name, "x"), Err(PropertyError::Name { .. })), "{name}");
        }
        for value in ["x\ny", " x", "x ", "=?UTF-8?B?eA==?="] {
            assert!(matches!(one("a", value), Err(PropertyError::Value { .. })), "{value}");
        }
        assert!(one("a", &"x".repeat(2047)).is_ok());
        assert_eq!(one("a", &"x".repeat(2048)), Err(PropertyError::TooLarge { found: 2049 }));
    }
}
