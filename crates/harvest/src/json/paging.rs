//! How the pages of an API follow each other.

use crate::error::{HarvestError, shown};

/// How the pages of an API follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Paging {
    /// There is one page.
    #[default]
    One,
    /// Pages have numbers. A page without records is the end.
    Number {
        /// The parameter of the query.
        parameter: String,
        /// The number of the first page.
        first: u64,
    },
    /// Pages begin at a number of records. A page without records is the end.
    Offset {
        /// The parameter of the query.
        parameter: String,
    },
    /// A page has the URL of the next one, which may be relative, at this JSON Pointer (RFC 6901). None, null or an empty text there is the
    /// end.
    Pointer(String),
    /// An answer has the URL of the next one in its header `Link` with `rel="next"` (RFC 8288). An answer without it is the end.
    Link,
}

/// Whether a text is a JSON Pointer.
pub(crate) fn check_pointer(what: &'static str, pointer: &str) -> Result<(), HarvestError> {
    if pointer.is_empty() || pointer.starts_with('/') {
        return Ok(());
    }
    let reason = "a JSON Pointer is empty or begins with \"/\"".to_owned();
    Err(HarvestError::Setting { what, value: shown(pointer), reason })
}
