//! HTTP downloads for programs that must have every byte: from allowed hosts only, resumed after broken connections, bounded, and
//! verified at the end. Everything blocks; many downloads at a time have threads.
//!
//! - [`Client::probe`] asks for the size and the version of a file.
//! - [`Client::open`] returns a [`Body`], a reader that asks for the rest of the file when the connection breaks or stalls.
//! - [`Client::open_kept`] returns such a reader that keeps what comes, so that another process can begin where this one ended.
//! - [`Client::fetch`] downloads to a file. What came before an interruption is kept, and another process can resume there.
//! - [`Client::fetch_all`] downloads many files at a time.
//! - [`Client::page`] asks for an answer as a whole, with headers of the caller's.
//! - [`Client::post`] posts a body, to the same hosts and addresses.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use strongroom_digest::Algorithm;
//! use strongroom_download::{Client, Expected, FileRequest, Policy, Supervision};
//!
//! let client = Client::new(Policy { hosts: vec!["*.example.org".to_owned()], ..Policy::default() })?;
//! let url = "https://archive.example.org/bag.tar";
//! let probe = client.probe(url, &Supervision::default())?;
//!
//! // As a reader:
//! let expected = Expected { size: probe.size, version: probe.version().map(str::to_owned), ..Expected::default() };
//! let mut body = client.open(url, expected.clone(), Supervision::default())?;
//! std::io::copy(&mut body, &mut std::io::sink())?;
//!
//! // To a file:
//! let target = Path::new("bag.tar");
//! let request = FileRequest { url, target, expected: &expected, algorithms: &[Algorithm::Sha256] };
//! let fetched = client.fetch(&request, &Supervision::default())?;
//! println!("{} bytes, of which {} came earlier", fetched.bytes, fetched.resumed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What may be asked for
//!
//! A URL may come from a stranger. So its host must be among those of the [`Policy`], and the addresses that the name has must be
//! public unless the policy allows others. The address is judged when it is connected to, so that a name that changes its address
//! gains nothing. Each redirect is judged like the URL itself; there are at most five, and none from https to http. URLs with a user
//! name or a password are refused. Proxies are not used. Certificates are verified by the authorities that the system trusts.
//!
//! # When a download is resumed
//!
//! The rest of a file is asked for with `Range` and `If-Range` (RFC 9110 sections 14.2 and 13.1.5). This needs a validator: a strong
//! `ETag`, or a `Last-Modified` that is older than the answer. Without one a reader fails with a transient error and a download to a
//! file starts over. Where the server sends the whole file again, a reader passes over what it has if the validator is the same,
//! and fails with [`DownloadError::Changed`] otherwise.
//!
//! A file of which the server states no size, and whose end is marked by nothing but the end of the connection, can be cut off
//! without a trace. Where that matters, an [`Expected`] size or digest proves that it is complete.

mod address;
mod body;
mod client;
mod entity;
mod error;
mod fetch;
mod kept;
mod location;
mod meter;
mod opening;
mod page;
mod parallel;
mod partial;
mod permits;
mod policy;
mod post;
mod probe;
mod retry;
mod supervision;

pub use body::Body;
pub use client::Client;
pub use error::DownloadError;
pub use fetch::{Fetched, FileRequest};
pub use kept::{KeptBody, forget};
pub use location::host_fault;
pub use location::shown_text as shown_url;
pub use opening::Expected;
pub use page::{Page, PageRequest};
pub use parallel::{Finished, Job, Parallel, Totals};
pub use policy::{Patience, Policy, Retries, Timeouts};
pub use post::{Post, Posted};
pub use probe::Probe;
pub use supervision::Supervision;
