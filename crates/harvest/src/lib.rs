//! Readers of sources of records. Each source gives records with their identifiers and bytes, tells what it could not read and goes on,
//! and gives cursors, by which reading continues later, also in another process.
//!
//! | source | type |
//! |---|---|
//! | a provider of OAI-PMH 2.0: the whole of it or some of its sets, in a window of dates | [`OaiSource`] |
//! | JSON and JSON Lines over HTTP, in pages | [`JsonSource`] |
//! | MARC-XML, other elements of XML files, and files that are a record each | [`FileSource`] |
//!
//! All of them are a [`RecordSource`]. The verbs of OAI-PMH besides the lists of records are functions of [`OaiClient`];
//! [`read_answer`] reads an answer that was stored.
//!
//! # Reading and going on
//!
//! Nothing is asked for before it is consumed: a page when its first record is wanted, the next one after the last record of it. An
//! [`Event`] is a record, a [`Notice`], or a [`Cursor`]. Everything before a cursor was given, so it is what to store together with what
//! was made of the records. Reading from a cursor never leaves a record out. It may give records twice, so what is done with them must
//! bear that.
//!
//! ```
//! # use std::time::Duration;
//! use strongroom_download::{Policy, Supervision};
//! use strongroom_harvest::{Connection, Cursor, Event, OaiClient, OaiOptions, OaiSource, RecordSource};
//! # use strongroom_oai_double::{OaiDouble, OaiRecord};
//! # let provider = OaiDouble::start((0..15).map(|n| OaiRecord::new(&format!("oai:x:{n}"), "2024-01-01T00:00:00Z")).collect());
//! # let (host, base_url) = (provider.web().authority(), provider.base_url());
//!
//! let policy = Policy { hosts: vec![host], ..Policy::default() };
//! # let policy = Policy { allow_private_networks: true, ..policy };
//! let connection = Connection::new(policy)?.user_agent("archive/1").from_address("archive@example.org");
//! let source = OaiSource::new(OaiClient::new(connection, &base_url)?, OaiOptions::default())?;
//!
//! let mut stored = String::new();
//! for event in source.records(None, Supervision::default())? {
//!     match event? {
//!         Event::Record(record) => println!("{} {}", record.id, if record.is_deleted { "deleted" } else { "changed" }),
//!         Event::Notice(notice) => eprintln!("{notice}"),
//!         Event::Page(cursor) => {
//!             stored = serde_json::to_string(&cursor)?;
//!             break;
//!         }
//!     }
//! }
//!
//! // Later, perhaps in another process:
//! let cursor: Cursor = serde_json::from_str(&stored)?;
//! let rest = source.records(Some(cursor), Supervision::default())?;
//! let ids: Vec<String> = rest.filter_map(|event| if let Ok(Event::Record(record)) = event { Some(record.id) } else { None }).collect();
//! assert_eq!(ids, ["oai:x:10", "oai:x:11", "oai:x:12", "oai:x:13", "oai:x:14"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An API is described by JSON Pointers and by how its pages follow each other:
//!
//! ```
//! use strongroom_download::{Policy, Supervision};
//! use strongroom_harvest::{Connection, Event, JsonForm, JsonOptions, JsonSource, Paging, RecordSource};
//! # use strongroom_web_double::{Reply, WebDouble};
//! # let web = WebDouble::start();
//! # web.answer("/search", |request| {
//! #     let records = if request.query == "page=1" { r#"{"id": 7, "title": "Notes"}"# } else { "" };
//! #     Reply::ok(format!(r#"{{"response": {{"docs": [{records}]}}}}"#).into_bytes())
//! # });
//! # let (host, url) = (web.authority(), web.url("/search"));
//!
//! let policy = Policy { hosts: vec![host], ..Policy::default() };
//! # let policy = Policy { allow_private_networks: true, ..policy };
//! let options = JsonOptions {
//!     url,
//!     form: JsonForm::Document { records: "/response/docs".to_owned() },
//!     id: "/id".to_owned(),
//!     datestamp: None,
//!     deleted: None,
//!     paging: Paging::Number { parameter: "page".to_owned(), first: 1 },
//! };
//! let source = JsonSource::new(Connection::new(policy)?, options)?;
//! let mut events = source.records(None, Supervision::default())?;
//! let Some(Event::Record(record)) = events.next().transpose()? else { panic!("no record") };
//! assert_eq!(record.id, "7");
//! assert_eq!(record.document.expect("a document").bytes, br#"{"id": 7, "title": "Notes"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files of the disk are read in the order of their paths, without following symbolic links:
//!
//! ```
//! use strongroom_download::Supervision;
//! use strongroom_harvest::{Event, FileOptions, FileRecords, FileSource, Limits, RecordSource};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(
//!     folder.path().join("catalogue.xml"),
//!     "<collection xmlns='http://www.loc.gov/MARC21/slim'><record><leader>00000nam a2200000 a 4500</leader>\
//!      <controlfield tag='001'>ocm1</controlfield></record></collection>",
//! )?;
//! let options = FileOptions { path: folder.path().to_owned(), records: FileRecords::Marc, limits: Limits::default() };
//! let source = FileSource::new(options)?;
//! let mut events = source.records(None, Supervision::default())?;
//! let Some(Event::Record(record)) = events.next().transpose()? else { panic!("no record") };
//! assert_eq!(record.id, "ocm1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is wrong with a source
//!
//! - A record that cannot be read is a notice with its identifier, where that can be read, its place and the reason: bytes that are no
//!   UTF-8, characters that XML forbids, references to entities, prefixes without namespaces, what is beyond a bound. The records before
//!   and after it are given. This goes as far as XML allows: where tags do not match, nothing after them can be found.
//! - A page that cannot be read to its end gives the records before the fault, then an error with URL, page and byte. One that is cut off
//!   is asked for again a few times; its records are not given twice.
//! - A set that fails is a notice, and the other sets go on. What concerns every set, such as a host that is not allowed, is an error.
//! - A token that has expired begins the list again. A list that has no end is an error.
//!
//! # Bounds
//!
//! [`Limits`] has a bound for everything that comes from outside. XML and JSON Lines are read record by record, from memory up to 1 MiB of a
//! page and from a temporary file beyond it, so memory does not grow with the page. A document in JSON is kept in memory. No entity is
//! expanded, no document type is fetched.
//!
//! # Politeness
//!
//! A [`Connection`] has one request at a time to each host. The wait that a server asks for by `Retry-After` is kept, up to a bound, and so
//! are growing waits after failures; the number of attempts is bounded ([`strongroom_download::Retries`]). Hosts, addresses, redirects
//! and certificates are judged as by [`strongroom_download::Policy`].

#![forbid(unsafe_code)]

mod connection;
mod error;
mod files;
mod json;
mod limits;
mod notice;
mod oai;
mod passed;
mod repetition;
mod source;
mod tape;
mod xml;

pub use connection::Connection;
pub use error::{HarvestError, Place, Position};
pub use files::{ElementPath, FileCursor, FileOptions, FileRecords, FileSource};
pub use json::{JsonCursor, JsonForm, JsonOptions, JsonSource, Paging};
pub use limits::Limits;
pub use notice::Notice;
pub use oai::{
    Granularity, Identify, MetadataFormat, OaiClient, OaiCode, OaiCursor, OaiError, OaiOptions, OaiSource, SetInfo,
    Window, read_answer,
};
pub use source::{Cursor, Description, Document, Event, Record, RecordSource, Records};
