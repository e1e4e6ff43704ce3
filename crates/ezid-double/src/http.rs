//! As much of HTTP/1.1 as the API needs: one request for each connection, with a length.

use std::io::{self, BufRead, Read, Write};

/// Most bytes of a line of the head, and of a body.
const LONGEST_LINE: u64 = 64 << 10;
const LONGEST_BODY: u64 = 8 << 20;
const MOST_HEADERS: usize = 100;

/// A request.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) method: String,
    /// Path and query as they were sent.
    pub(crate) target: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        Self { status, body: text.into().into_bytes() }
    }

    /// Writes it, or only its first half.
    pub(crate) fn write(&self, output: &mut impl Write, is_cut: bool) -> io::Result<()> {
        let authenticate = if self.status == 401 { "WWW-Authenticate: Basic realm=\"EZID\"\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n{authenticate}Connection: close\r\n\r\n",
            self.status,
            if self.status < 400 { "OK" } else { "Error" },
            self.body.len(),
        );
        output.write_all(head.as_bytes())?;
        let end = if is_cut { self.body.len() / 2 } else { self.body.len() };
        output.write_all(self.body.get(..end).unwrap_or_default())?;
        output.flush()
    }
}

impl Message {
    /// Reads a request; nothing where the connection ends before one.
    pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some(first) = line(input)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(_)) = (words.next(), words.next(), words.next()) else {
            return Err(invalid("the request line is malformed"));
        };
        let mut headers = Vec::new();
        loop {
            let line = line(input)?.ok_or_else(|| invalid("the head ends early"))?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header has no colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            if headers.len() > MOST_HEADERS {
                return Err(invalid("there are too many headers"));
            }
        }
        let mut message = Self { method: method.to_owned(), target: target.to_owned(), headers, body: Vec::new() };
        let length = message.header("content-length").map_or(Ok(0), str::parse::<u64>);
        let length =
            length.ok().filter(|length| *length <= LONGEST_BODY).ok_or_else(|| invalid("the length is wrong"))?;
        if message.header("transfer-encoding").is_some() {
            return Err(invalid("only bodies with a length are read"));
        }
        input.take(length).read_to_end(&mut message.body)?;
        if message.body.len() as u64 != length {
            return Err(invalid("the body ends early"));
        }
        Ok(Some(message))
    }

    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }
}

fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if input.take(LONGEST_LINE).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    line.strip_suffix('\n')
        .map(|line| Some(line.trim_end_matches('\r').to_owned()))
        .ok_or_else(|| invalid("a line is too long"))
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
