//! An EZID server for tests: the EZID API version 2 on a port of the loopback interface, with faults where a test plans them.
//!
//! It speaks plain HTTP, keeps its identifiers in memory, and shows them and the requests that it got. What it answers follows the
//! documentation of the API and the texts of the real server: `success: ark:/...` or `error: ...`, with 200, 201, 400, 401, 403, 404 and
//! 405. A new server has one account, [`USER`] with [`PASSWORD`], which may use the shoulder [`SHOULDER`].
//!
//! ```
//! use std::io::{Read, Write};
//! use strongroom_ezid_double::{EzidDouble, PASSWORD, SHOULDER, USER};
//!
//! # fn main() -> std::io::Result<()> {
//! let double = EzidDouble::start()?;
//! let mut connection = std::net::TcpStream::connect(double.address())?;
//! write!(connection, "GET /id/{SHOULDER}x HTTP/1.1\r\nHost: {}\r\n\r\n", double.address())?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("\r\n\r\nerror: bad request - no such identifier"));
//! assert_eq!(double.requests().len(), 1);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod anvl;
mod faults;
mod http;
mod identifiers;
mod server;
mod service;

pub use faults::Fault;
pub use identifiers::Identifier;
pub use server::EzidDouble;
pub use service::Request;

/// The user name of the account that a new server has.
pub const USER: &str = "apitest";
/// The password of that account.
pub const PASSWORD: &str = "correct horse";
/// The shoulder that this account may use.
pub const SHOULDER: &str = "ark:/99999/fk4";
