//! Keys: relative, clean, `/`-separated names that mean the same in a folder and in a bucket.

use std::fmt;

/// A key within a store. Never empty segments, never `.` or `..`, never a leading or trailing `/`, no NUL or control
/// character; each segment at most 255 bytes, the whole at most 1,024 (S3's limit). The empty key is the store's root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(String);

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a storage key: {text:?} {reason}")]
pub struct KeyError {
    text: String,
    reason: &'static str,
}

impl KeyError {
    /// What is wrong with it, such as `has an empty segment`.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

impl Key {
    /// The root of a store.
    pub const ROOT: Key = Key(String::new());

    /// Checks and takes a text as a key.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        match fault(&text) {
            None => Ok(Self(text)),
            Some(reason) => Err(KeyError { text, reason }),
        }
    }

    /// This key with `relative` below it.
    pub fn join(&self, relative: &str) -> Result<Self, KeyError> {
        if self.0.is_empty() {
            return Self::new(relative);
        }
        Self::new(format!("{}/{relative}", self.0))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the store's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The key above this one: without its last segment. The root is above itself.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(self.0.rsplit_once('/').map_or_else(String::new, |(above, _)| above.to_owned()))
    }

    /// The part of this key below `prefix`, when it lies below it.
    pub fn below(&self, prefix: &Key) -> Option<&str> {
        if prefix.is_root() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&prefix.0)?.strip_prefix('/')
    }
}

fn fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return None;
    }
    if text.len() > 1024 {
        return Some("is longer than 1,024 bytes");
    }
    for segment in text.split('/') {
        match segment {
            "" => return Some("has an empty segment"),
            "." | ".." => return Some("has a segment of dots"),
            _ if segment.len() > 255 => return Some("has a segment longer than 255 bytes"),
            _ => {}
        }
    }
    text.chars().any(char::is_control).then_some("has a control character")
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
