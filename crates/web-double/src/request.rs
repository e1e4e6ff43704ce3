//! A request as it was read.

use std::io::{self, BufRead, Read as _};

/// Longest body that is read, in bytes.
const MAX_BODY: u64 = 16 << 20;
/// Longest line of a request, in bytes.
const MAX_LINE: u64 = 64 << 10;

/// A request that the server got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `HEAD`, or what else was sent.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query without the question mark; empty where there is none.
    pub query: String,
    /// Names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body; empty where there is none, or it has no `Content-Length`.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The value of `Range`.
    pub fn range(&self) -> Option<&str> {
        self.header("range")
    }

    /// Reads a request; none where the connection ends.
    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let first = line(reader)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut headers = Vec::new();
        loop {
            let text = line(reader)?;
            let Some((name, value)) = text.split_once(':') else { break };
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request =
            Self { method: method.into(), path: path.into(), query: query.into(), headers, body: Vec::new() };
        let length: u64 = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        io::Read::take(reader, length.min(MAX_BODY)).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    io::Read::take(reader, MAX_LINE).read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}
