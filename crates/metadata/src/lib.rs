//! Descriptions of objects: read from the files that depositors send, merged into one, and written.
//!
//! A [`Record`] has for each [`Field`] a list of values. The fields are who, what, when and where of ERC, the 15 elements of Dublin Core,
//! and the resource type of DataCite.
//!
//! | file | reads | writes |
//! |---|---|---|
//! | ERC, `mrt-erc.txt` | [`read_erc`] | [`write_erc`] |
//! | Dublin Core, `mrt-dc.xml`, `oai_dc` | [`read_dublin_core`] | [`write_dublin_core`] |
//! | DataCite, `mrt-datacite.xml` | [`read_datacite`] | |
//! | JSON, a flat object | [`read_json`] | [`write_json`] |
//! | CSV, one row or many | [`read_csv`], [`read_table`] | |
//!
//! [`merge`] makes one description of those that come with a deposit, by their precedence.
//!
//! Files are UTF-8, with or without a byte order mark. Every reader has [`Limits`]; what is beyond one is an error that says which, and
//! nothing is cut off. XML is read without entities: a document type declaration that has content is refused. A file of a standard may
//! say more than a description has fields for; that is in the [`Note`]s of its [`Reading`].
//!
//! The crate stands alone: it takes and gives bytes, and knows no registry.
//!
//! ```
//! use strongroom_metadata::{Field, Limits, Sources, merge, read_dublin_core, read_erc};
//!
//! # fn main() -> Result<(), strongroom_metadata::MetadataError> {
//! let limits = Limits::default();
//! let erc = read_erc(b"erc:\nwho: Lovelace, Ada\nwhere: ark:/99999/fk4x\nwhere: box-7\n", &limits)?.record;
//! let dublin_core = read_dublin_core(
//!     br#"<DublinCore xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>King, Ada</dc:creator><dc:title>Notes</dc:title></DublinCore>"#,
//!     &limits,
//! )?
//! .record;
//! let merged = merge(&Sources { erc: Some(&erc), dublin_core: Some(&dublin_core), ..Sources::default() });
//! assert_eq!(merged.record.first(Field::Who), Some("Lovelace, Ada"));
//! assert_eq!(merged.record.first(Field::What), Some("Notes"));
//! assert_eq!((merged.primary.as_deref(), merged.local_ids), (Some("ark:/99999/fk4x"), vec!["box-7".to_owned()]));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod datacite;
mod dublin_core;
mod erc;
mod error;
mod field;
mod json;
mod limits;
mod merge;
mod reading;
mod record;
mod table;
mod xml;

pub use datacite::read_datacite;
pub use dublin_core::{read_dublin_core, write_dublin_core};
pub use erc::{read_erc, write_erc};
pub use error::{Format, MetadataError, Place};
pub use field::{Element, Field};
pub use json::{read_json, write_json};
pub use limits::Limits;
pub use merge::{Merged, Sources, merge};
pub use reading::{Note, Reading};
pub use record::Record;
pub use table::{Row, Table, read_csv, read_table};
