//! Spaces of plain stores, and what lies in them.

use serde::Serialize;

/// A line of the list of spaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpaceView {
    /// The plain store.
    pub store: String,
    /// The name of the space; none where the store is away. A byte of no UTF-8, a control character and `%` are two hexadecimal digits
    /// after `%`.
    pub space: Option<String>,
    /// Why the store is away, its list failed, or what bears the name is no space.
    pub reason: Option<String>,
}

impl SpaceView {
    pub(crate) fn of(store: &str, space: &str, reason: Option<String>) -> Self {
        Self { store: store.to_owned(), space: Some(space.to_owned()), reason }
    }

    pub(crate) fn away(store: &str, reason: String) -> Self {
        Self { store: store.to_owned(), space: None, reason: Some(reason) }
    }
}

/// A space, and what its store honours as far as it is known.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpaceDetailsView {
    /// The plain store.
    pub store: String,
    /// The name of the space.
    pub space: String,
    /// `folder` or `s3`.
    pub kind: String,
    /// Where the store is.
    pub place: String,
    /// Whether properties are kept.
    pub keeps_properties: bool,
    /// Whether content types are kept.
    pub keeps_content_types: bool,
    /// Whether a space is there in which nothing lies.
    pub keeps_empty_spaces: bool,
    /// Whether puts compare and write in one step.
    pub conditional_put: bool,
    /// Whether deletions compare and remove in one step.
    pub conditional_delete: bool,
    /// The digests that the store states and that are as good as reading the bytes.
    pub vouched: Vec<String>,
    /// Whether content may be in an archived storage class.
    pub may_be_archived: bool,
    /// Whether what changes in the store is reported as events.
    pub watched: bool,
    /// Since when.
    pub watched_since: Option<String>,
    /// Why it is not watched, or what of it is not.
    pub unwatched: Option<String>,
}

/// A line of the listing of a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpaceItemView {
    /// The key, or the name of what is none. A byte of no UTF-8, a control character and `%` are two hexadecimal digits after `%`.
    pub name: String,
    /// Its length in bytes; none for what is no content item.
    pub size: Option<u64>,
    /// Its etag; none for what is no content item.
    pub etag: Option<String>,
    /// Why it is no content item that every store can keep.
    pub reason: Option<String>,
}
