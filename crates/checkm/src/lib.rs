//! Checkm manifests as Merritt has them: read strictly or leniently, checked, and written.
//!
//! A manifest lists what is to be fetched, one file, container or manifest a row: a URL, and as far as the depositor knows them a
//! digest, a size, a name and what describes the object. It is UTF-8 text in lines that end with LF or CRLF; `|` separates the columns;
//! blank lines and lines that begin with `#` are ignored, except the directives, which begin with `#%`:
//!
//! ```text
//! #%checkm_0.7
//! #%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest
//! #%prefix | mrt: | http://merritt.cdlib.org/terms#
//! #%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#
//! #%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | mrt:mimeType
//! https://example.org/a.jpg | md5 | 900150983cd24fb0d6963f7d28e17f72 | 3 | | a.jpg | image/jpeg
//! #%eof
//! ```
//!
//! - The profile ([`ManifestProfile`]) says what the rows are. The columns ([`Column`]) are found by `#%fields`, in any order; only the
//!   URL must have a value, and a row may end early.
//! - In every value but the URL `%20` is a space and `%7c` is a `|`; in what describes the object `%sc` is a semicolon. Every other `%`
//!   is itself.
//! - `#%eof` is the last line, with or without a line end; blank lines and comments may follow.
//! - [`Mode`] says what reading strictly and reading leniently have in common and what not; [`CODES`] lists every problem with its
//!   severity in both.
//!
//! [`Reader`] reads a stream within [`Limits`], in the memory of one line. [`validate`] tells every problem of a manifest at once;
//! [`ManifestWriter`] writes what a strict reader reads back. The crate stands alone: it takes readers and writers, fetches nothing, and
//! knows no registry.
//!
//! ```
//! use strongroom_checkm::{Column, ManifestProfile, ManifestWriter, NewRow, ReadOptions, Reader};
//!
//! # fn main() -> Result<(), strongroom_checkm::CheckmError> {
//! let mut writer = ManifestWriter::new(Vec::new(), ManifestProfile::SingleFileBatch, &[])?;
//! let row = NewRow::new("https://example.org/a.jpg").size(3).text(Column::Title, "Doors | Windows");
//! writer.row(&row.text(Column::LocalIdentifier, "a-1").text(Column::LocalIdentifier, "b-2"))?;
//! let manifest = writer.finish()?;
//!
//! let mut report = |problem: strongroom_checkm::Problem| panic!("{}", problem.message);
//! let mut reader = Reader::new(manifest.as_slice(), &ReadOptions::default(), &mut report)?;
//! let row = reader.next_row(&mut report)?.expect("a row");
//! assert_eq!((row.number(), row.file_name(), row.size()), (1, "a.jpg", Some(3)));
//! assert_eq!(row.text(Column::Title).as_deref(), Some("Doors | Windows"));
//! assert_eq!(row.values(Column::LocalIdentifier), ["a-1", "b-2"]);
//! # Ok(())
//! # }
//! ```

mod check;
mod checksum;
mod codes;
mod column;
mod error;
mod forms;
mod header;
mod lines;
mod mode;
mod problem;
mod profile;
mod reader;
mod row;
mod validate;
mod writer;

pub use checksum::Checksum;
pub use codes::{CODES, Rule};
pub use column::Column;
pub use error::CheckmError;
pub use forms::encode_url_path;
pub use header::Header;
pub use mode::{Limits, Mode, ReadOptions};
pub use problem::{Problem, Severity};
pub use profile::ManifestProfile;
pub use reader::Reader;
pub use row::Row;
pub use validate::{Report, ValidateOptions, Verdict, validate};
pub use writer::{ManifestWriter, NewRow};
