//! JSON and JSON Lines over HTTP, in pages.

mod cursor;
mod lines;
mod link;
mod pages;
mod paging;
mod source;
mod spans;

pub use cursor::JsonCursor;
pub use paging::Paging;
pub use source::{JsonForm, JsonOptions, JsonSource};
