//! Lines of a manifest: read as a stream, each bounded in length, the whole bounded in bytes.

use std::io::{self, BufRead};

use memchr::memchr;

/// What a read came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A line of text is in [`Lines::text`].
    Line,
    /// A line that is too long; its beginning is in [`Lines::text`].
    TooLong,
    /// A line that is not UTF-8; it is in [`Lines::text`] with replacement characters.
    NotUtf8,
    /// There are more bytes than the limit.
    TooManyBytes,
    /// The end of the manifest.
    End,
}

/// Most bytes of a line that is too long that are kept, to be shown.
const KEPT: usize = 512;

/// Reads lines that end with LF or CRLF.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    most_line_bytes: usize,
    bytes_left: u64,
    number: u64,
    text: String,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, most_line_bytes: usize, most_bytes: u64) -> Self {
        Self { input, most_line_bytes, bytes_left: most_bytes, number: 0, text: String::new() }
    }

    /// The current line without its end.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Removes a byte order mark at the start of the current line; whether there was one.
    pub(crate) fn remove_mark(&mut self) -> bool {
        let has_mark = self.text.starts_with('\u{FEFF}');
        if has_mark {
            self.text.remove(0);
        }
        has_mark
    }

    /// Reads the next line. A line end at the end of the manifest begins no further line.
    pub(crate) fn advance(&mut self) -> io::Result<Next> {
        let mut raw = std::mem::take(&mut self.text).into_bytes();
        raw.clear();
        let mut is_too_long = false;
        let mut is_any = false;
        let mut is_ended = false;
        while !is_ended {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                break;
            }
            is_any = true;
            let end = memchr(b'\n', buffer);
            is_ended = end.is_some();
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            // One more, so that a carriage return before the line feed does not count.
            let room = (self.most_line_bytes.saturating_add(1)).saturating_sub(raw.len());
            is_too_long |= part.len() > room;
            raw.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            let used = part.len() + usize::from(is_ended);
            self.input.consume(used);
            let Some(left) = self.bytes_left.checked_sub(used as u64) else {
                self.number += 1;
                return Ok(Next::TooManyBytes);
            };
            self.bytes_left = left;
        }
        if !is_any {
            return Ok(Next::End);
        }
        self.number += 1;
        if is_ended && !is_too_long && raw.last() == Some(&b'\r') {
            raw.pop();
        }
        if is_too_long || raw.len() > self.most_line_bytes {
            raw.truncate(KEPT);
            self.text = lossy(&raw);
            return Ok(Next::TooLong);
        }
        match String::from_utf8(raw) {
            Ok(text) => {
                self.text = text;
                Ok(Next::Line)
            }
            Err(error) => {
                self.text = lossy(error.as_bytes());
                Ok(Next::NotUtf8)
            }
        }
    }
}

fn lossy(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn read(raw: &[u8], line_bytes: usize) -> Vec<(Next, String)> {
        let mut lines = Lines::new(BufReader::with_capacity(3, raw), line_bytes, 1 << 20);
        let mut found = Vec::new();
        loop {
            let next = lines.advance().unwrap();
            if next == Next::End {
                return found;
            }
            found.push((next, lines.text().to_owned()));
            assert_eq!(lines.number(), found.len() as u64);
        }
    }

    #[test]
    fn lf_and_crlf_end_lines_and_a_lone_cr_does_not() {
        let texts: Vec<String> = read(b"a\r\nb\rc\n\n\r\nd", 10).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["a", "b\rc", "", "", "d"]);
        assert_eq!(read(b"", 10), []);
        assert_eq!(read(b"a\r", 10), [(Next::Line, "a\r".to_owned())]);
    }

    #[test]
    fn a_line_as_long_as_the_limit_is_read_and_one_longer_is_not() {
        assert_eq!(read(b"abcd\r\nabcd\nabcd", 4).iter().map(|(next, _)| *next).collect::<Vec<_>>(), [Next::Line; 3]);
        for raw in [&b"abcde\nnext"[..], b"abcde\r\nnext", b"abcdefghij\nnext", b"abcd\re\nnext"] {
            let found = read(raw, 4);
            assert_eq!((found[0].0, &found[1]), (Next::TooLong, &(Next::Line, "next".to_owned())), "{raw:?}");
        }
        assert_eq!(read(b"abcde", 4)[0].0, Next::TooLong);
    }

    #[test]
    fn a_line_of_a_gigabyte_takes_no_more_memory_than_the_limit() {
        /// So many bytes that no line ends in.
        struct Endless(usize);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = buffer.len().min(self.0);
                self.0 -= length;
                Ok(length)
            }
        }
        let line = Endless(1 << 30);
        let input = BufReader::with_capacity(1 << 20, line.chain(&b"\nnext"[..]));
        let mut lines = Lines::new(input, 1 << 16, 2 << 30);
        assert_eq!(lines.advance().unwrap(), Next::TooLong);
        assert_eq!(lines.text().len(), KEPT);
        assert_eq!((lines.advance().unwrap(), lines.text()), (Next::Line, "next"));
        assert!(lines.text.capacity() < 1 << 18, "{}", lines.text.capacity());
    }

    #[test]
    fn bytes_beyond_the_limit_are_not_read() {
        let mut lines = Lines::new(&b"abc\ndef\n"[..], 10, 5);
        assert_eq!(lines.advance().unwrap(), Next::Line);
        assert_eq!(lines.advance().unwrap(), Next::TooManyBytes);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_found() {
        assert_eq!(read(b"\xFFa\nb", 10)[0].0, Next::NotUtf8);
    }
}
