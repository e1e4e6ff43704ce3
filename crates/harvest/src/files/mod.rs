//! Records in XML files of the disk: MARC-XML, other elements of files, and files that are a record each.

mod cursor;
mod elements;
mod path;
mod source;
mod walk;

pub use cursor::FileCursor;
pub use path::ElementPath;
pub use source::{FileOptions, FileRecords, FileSource};
