//! A web server within the test that asks it: it answers as HTTP says, with ranges and validators, and wrongly where the test
//! wants that. It listens on a free loopback port, with or without TLS, and ends with its value.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use strongroom_web_double::{Behaviour, WebDouble};
//!
//! let web = WebDouble::start();
//! web.put("/a", b"alpha");
//! web.on("/a", Behaviour::FailTimes { times: 1, status: 503 });
//! let mut connection = TcpStream::connect(web.authority())?;
//! connection.write_all(b"GET /a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 503 "));
//! assert_eq!(web.requests()[0].path, "/a");
//! # Ok::<(), std::io::Error>(())
//! ```

mod answer;
mod behaviour;
mod certificates;
mod connection;
mod request;
mod server;
mod state;

pub use answer::Reply;
pub use behaviour::Behaviour;
pub use certificates::{Certificate, Issued};
pub use request::Request;
pub use server::WebDouble;
