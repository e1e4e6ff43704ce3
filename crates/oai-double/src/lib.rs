//! A provider of OAI-PMH 2.0 within the test that asks it: it answers as the protocol says, and wrongly where the test wants that. It
//! listens on a free loopback port, and ends with its value. Sections named here are of
//! <http://www.openarchives.org/OAI/openarchivesprotocol.html>.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use strongroom_oai_double::{OaiDouble, OaiRecord};
//!
//! let provider = OaiDouble::start(vec![OaiRecord::new("oai:test:1", "2024-01-01T00:00:00Z")]);
//! let mut connection = TcpStream::connect(provider.web().authority())?;
//! connection.write_all(b"GET /oai?verb=Identify HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.contains("<repositoryName>Test provider</repositoryName>"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod answer;
mod arguments;
mod fault;
mod provider;
mod record;

pub use fault::OaiFault;
pub use provider::{OaiDouble, PATH};
pub use record::OaiRecord;
