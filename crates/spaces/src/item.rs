//! Content items: what is known of one, how one is put, and what a listing yields.

use std::time::SystemTime;

use strongroom_digest::{Algorithm, Digest};
use strongroom_storage::{Key, PutCondition};

use crate::{ListedName, Properties, PropertyError, SpaceName};

/// Most bytes of a content type.
const LONGEST_CONTENT_TYPE: usize = 255;
/// Content types that services state where none was given, and that say nothing.
const SAY_NOTHING: [&str; 2] = ["application/octet-stream", "binary/octet-stream"];

/// What goes with the bytes of a content item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Description {
    content_type: Option<String>,
    properties: Properties,
}

impl Description {
    /// Checks and takes a content type and properties. `application/octet-stream` and `binary/octet-stream` say nothing, and
    /// count as no content type: services state one of them where none was given.
    pub fn new(content_type: Option<&str>, properties: Properties) -> Result<Self, PropertyError> {
        let content_type = content_type.filter(|text| !text.is_empty() && !SAY_NOTHING.contains(text));
        let reason = content_type.and_then(|text| {
            if text.len() > LONGEST_CONTENT_TYPE {
                Some("is longer than 255 bytes")
            } else if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) || text.trim() != text {
                Some("has other characters than visible ASCII")
            } else {
                None
            }
        });
        match (content_type, reason) {
            (Some(text), Some(reason)) => Err(PropertyError::ContentType { text: text.to_owned(), reason }),
            _ => Ok(Self { content_type: content_type.map(str::to_owned), properties }),
        }
    }

    /// The content type; none where it is not known.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The properties.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }
}

/// What a content item is, without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemHead {
    /// Length in bytes.
    pub size: u64,
    /// Changes whenever the bytes may have changed. Folder: inode, size and modification time; S3: the `ETag`, which a change
    /// of the properties may change as well.
    pub etag: String,
    /// Changes whenever the bytes or the description may have changed, as far as the store says so: as [`ListedContent::revision`]. A put and
    /// a change of properties do not say it.
    pub revision: Option<String>,
    /// When it was written last, where the store says so; a put does not.
    pub modified: Option<SystemTime>,
    /// Content type and properties. Empty where the store keeps none ([`crate::PlainCapabilities`]).
    pub description: Description,
    /// Digests of the whole content that the store states. Only those of [`crate::PlainCapabilities::vouched`] are as good as
    /// reading the bytes; others may be what someone declared.
    pub checksums: Vec<(Algorithm, Digest)>,
    /// Storage class as the store names it; none where it names none.
    pub class: Option<String>,
    /// Whether the class is an archived one, in which properties cannot be changed.
    pub is_archived: bool,
    /// Whether the bytes can be read now.
    pub is_readable: bool,
}

impl ItemHead {
    /// The digest that the store states, of one algorithm.
    pub fn checksum(&self, algorithm: Algorithm) -> Option<Digest> {
        self.checksums.iter().find(|(other, _)| *other == algorithm).map(|(_, digest)| *digest)
    }
}

/// How a content item is put.
#[derive(Debug, Clone, Default)]
pub struct ItemPut {
    /// What goes with the bytes. Stores that keep none ignore it.
    pub description: Description,
    /// Refuse, and leave nothing behind, when the bytes read do not have this length.
    pub size: Option<u64>,
    /// The same for these digests.
    pub digests: Vec<(Algorithm, Digest)>,
    /// Storage class, for stores that have them; none: as the settings of the store say.
    pub class: Option<String>,
    /// What must be true of the key for the put to happen.
    pub condition: PutCondition,
}

/// A content item as a listing has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedContent {
    /// The key.
    pub key: Key,
    /// Length in bytes.
    pub size: u64,
    /// As [`ItemHead::etag`].
    pub etag: String,
    /// Changes whenever the bytes or the description may have changed. Folder: etag and time of the last change of the inode; S3: `ETag` and
    /// `LastModified`, in seconds.
    pub revision: String,
}

/// One line of the listing of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedItem {
    /// A content item.
    Item(ListedContent),
    /// What lies there and is no content item that every store can keep.
    NotCarried {
        /// Its name; a folder has `/` behind it, and nothing below it is listed.
        name: ListedName,
        /// Why.
        reason: String,
    },
}

impl ListedItem {
    /// The name, after which a listing can be resumed.
    pub fn name(&self) -> ListedName {
        match self {
            Self::Item(listed) => ListedName::from(&listed.key),
            Self::NotCarried { name, .. } => name.clone(),
        }
    }
}

/// One line of the list of spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedSpace {
    /// A space.
    Space(SpaceName),
    /// What lies there and is no space.
    NotCarried {
        /// Its name.
        name: ListedName,
        /// Why.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_that_say_nothing_count_as_none() {
        let of = |text| Description::new(Some(text), Properties::default()).map(|description| description.content_type);
        assert_eq!(of("text/plain; charset=utf-8"), Ok(Some("text/plain; charset=utf-8".to_owned())));
        for nothing in ["", "application/octet-stream", "binary/octet-stream"] {
            assert_eq!(of(nothing), Ok(None));
        }
        for wrong in ["text/pl\u{e4}in", "a\nb", " a", &"a".repeat(256)] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
