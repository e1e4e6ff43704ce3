//! Lines of a bounded length.

use std::io::{self, BufRead};

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    /// It has more bytes than are read.
    TooLong,
    /// There is none.
    End,
}

/// Reads a line. One that is too long is passed over.
pub(crate) fn read_line(reader: &mut impl BufRead, most: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    let (mut is_too_long, mut is_begun) = (false, false);
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            break;
        }
        is_begun = true;
        let newline = memchr::memchr(b'\n', available);
        let part = available.get(..newline.unwrap_or(available.len())).unwrap_or_default();
        if line.len().saturating_add(part.len()) > most {
            is_too_long = true;
            line = Vec::new();
        }
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(newline.is_some());
        reader.consume(used);
        if newline.is_some() {
            break;
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(match (is_begun, is_too_long) {
        (false, _) => Line::End,
        (true, true) => Line::TooLong,
        (true, false) => Line::Whole(line),
    })
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_whole_or_passed_over() {
        let text = b"ab\r\n\n0123456789\nc\nend";
        for size in [1, 3, 100] {
            let mut reader = BufReader::with_capacity(size, &text[..]);
            let mut next = || read_line(&mut reader, 5).unwrap();
            let whole = |text: &str| Line::Whole(text.into());
            assert_eq!([next(), next(), next()], [whole("ab"), whole(""), Line::TooLong]);
            assert_eq!([next(), next(), next()], [whole("c"), whole("end"), Line::End]);
        }
    }
}
