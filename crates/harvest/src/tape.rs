//! The bytes of a document as they pass the parser: characters that XML forbids are replaced and noted, and what was read last is kept,
//! so that an element can be had with its exact bytes.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Read};

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;
/// Most places with forbidden characters that are noted at a time.
const MOST_FAULTS: usize = 10_000;
/// What stands in the place of a byte that cannot be read. It has one byte, so that places stay what they are.
const REPLACEMENT: u8 = b'?';

/// Something at a place that is wrong, while what comes after it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The byte.
    pub(crate) byte: u64,
    /// What is wrong.
    pub(crate) reason: String,
}

/// A bound of the tape was reached.
#[derive(Debug)]
pub(crate) struct Beyond(pub(crate) String);

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Beyond {}

/// A reader for the parser.
pub(crate) struct Tape<R> {
    inner: R,
    buffer: Vec<u8>,
    /// Where the bytes begin that were not consumed, where those end that were checked, and where those end that were read.
    start: usize,
    checked: usize,
    filled: usize,
    is_at_end: bool,
    /// Bytes that were consumed.
    position: u64,
    /// The place that may not be reached; it is moved for each event.
    bound: u64,
    most: usize,
    kept: Vec<u8>,
    is_kept_too_long: bool,
    faults: VecDeque<Fault>,
}

impl<R: Read> Tape<R> {
    /// `most` is how many bytes one event may have, and how many are kept.
    pub(crate) fn new(inner: R, most: usize) -> Self {
        Self {
            inner,
            buffer: vec![0; BUFFER],
            start: 0,
            checked: 0,
            filled: 0,
            is_at_end: false,
            position: 0,
            bound: 0,
            most,
            kept: Vec::new(),
            is_kept_too_long: false,
            faults: VecDeque::new(),
        }
    }

    /// Bytes that were consumed.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Lets the next event begin: what is kept is dropped unless `keeps`.
    pub(crate) fn begin_event(&mut self, keeps: bool) {
        self.bound = self.position.saturating_add(self.most as u64);
        if !keeps {
            self.is_kept_too_long = false;
            self.kept.clear();
        }
    }

    /// What is kept; none where it is too long. Its memory goes with it.
    pub(crate) fn take_kept(&mut self) -> Option<Vec<u8>> {
        let kept = std::mem::take(&mut self.kept);
        (!std::mem::take(&mut self.is_kept_too_long)).then_some(kept)
    }

    /// Puts bytes before those that are kept from here on.
    pub(crate) fn put_kept(&mut self, bytes: Vec<u8>) {
        self.kept = bytes;
    }

    /// The first fault at or after one place and before another.
    pub(crate) fn fault_within(&self, from: u64, to: u64) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.byte >= from && fault.byte < to)
    }

    /// Forgets the faults before a place.
    pub(crate) fn forget_faults(&mut self, before: u64) {
        while self.faults.front().is_some_and(|fault| fault.byte < before) {
            self.faults.pop_front();
        }
    }

    /// Reads more, and checks it.
    fn fill(&mut self) -> io::Result<()> {
        // The beginning of a character, whose rest was not read.
        self.buffer.copy_within(self.checked..self.filled, 0);
        self.filled -= self.checked;
        (self.start, self.checked) = (0, 0);
        while self.checked == 0 && !(self.is_at_end && self.filled == 0) {
            let space = self.buffer.get_mut(self.filled..).unwrap_or_default();
            match self.inner.read(space) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.check()?;
        }
        Ok(())
    }

    /// Checks what was read and not checked. The beginning of a character stays unless the end was read.
    fn check(&mut self) -> io::Result<()> {
        loop {
            let unchecked = self.buffer.get(self.checked..self.filled).unwrap_or_default();
            let (valid, broken) = match std::str::from_utf8(unchecked) {
                Ok(text) => (text.len(), None),
                Err(error) => match (error.error_len(), self.is_at_end) {
                    (Some(length), _) => (error.valid_up_to(), Some(length)),
                    (None, true) => (error.valid_up_to(), Some(unchecked.len() - error.valid_up_to())),
                    (None, false) => (error.valid_up_to(), None),
                },
            };
            self.check_characters(self.checked, self.checked + valid)?;
            self.checked += valid;
            let Some(length) = broken else { return Ok(()) };
            let is_beginning = self.position == 0 && self.checked == 0;
            let reason = if is_beginning && matches!(self.buffer.get(..2), Some([0xfe, 0xff] | [0xff, 0xfe])) {
                "it is in UTF-16, and UTF-8 is read".to_owned()
            } else {
                let first = self.buffer.get(self.checked).copied().unwrap_or_default();
                format!("the byte 0x{first:02x} is no UTF-8 there")
            };
            self.replace(self.checked, length, reason)?;
            self.checked += length;
        }
    }

    /// Replaces characters that XML 1.0 forbids (section 2.2, production 2).
    fn check_characters(&mut self, from: usize, to: usize) -> io::Result<()> {
        let mut at = from;
        while let Some(byte) = self.buffer.get(at).copied().filter(|_| at < to) {
            if byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r') {
                self.replace(at, 1, format!("it has the control character U+{byte:04X}, which XML forbids"))?;
            } else if byte == 0xef
                && let Some([0xef, 0xbf, last @ 0xbe..=0xbf]) = self.buffer.get(at..at + 3)
            {
                let reason = format!("it has the character U+FF{:02X}, which XML forbids", last + 0x40);
                self.replace(at, 3, reason)?;
            }
            at += 1;
        }
        Ok(())
    }

    fn replace(&mut self, at: usize, length: usize, reason: String) -> io::Result<()> {
        let byte = self.position.saturating_add((at - self.start) as u64);
        if self.faults.len() >= MOST_FAULTS {
            let text = format!("more than {MOST_FAULTS} characters in it cannot be read, the next at byte {byte}");
            return Err(io::Error::other(Beyond(text)));
        }
        self.faults.push_back(Fault { byte, reason });
        if let Some(bytes) = self.buffer.get_mut(at..at + length) {
            bytes.fill(REPLACEMENT);
        }
        Ok(())
    }
}

impl<R: Read> Read for Tape<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(into.len());
        if let (Some(into), Some(available)) = (into.get_mut(..count), available.get(..count)) {
            into.copy_from_slice(available);
        }
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Tape<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position > self.bound {
            return Err(io::Error::other(Beyond(format!("a text or tag in it has more than {} bytes", self.most))));
        }
        if self.start == self.checked {
            self.fill()?;
        }
        Ok(self.buffer.get(self.start..self.checked).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        let end = self.start.saturating_add(count).min(self.checked);
        let consumed = self.buffer.get(self.start..end).unwrap_or_default();
        if self.kept.len().saturating_add(consumed.len()) > self.most {
            self.is_kept_too_long = true;
            self.kept = Vec::new();
        }
        if !self.is_kept_too_long {
            self.kept.extend_from_slice(consumed);
        }
        self.position = self.position.saturating_add(consumed.len() as u64);
        self.start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a few bytes at a time.
    struct Dribble<'b>(&'b [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len()).min(self.0.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn read(bytes: &[u8], piece: usize) -> (String, Vec<u64>) {
        let mut tape = Tape::new(Dribble(bytes, piece), 1000);
        tape.begin_event(false);
        let mut found = Vec::new();
        tape.read_to_end(&mut found).unwrap();
        assert_eq!(tape.position(), bytes.len() as u64);
        (String::from_utf8(found).unwrap(), tape.faults.iter().map(|fault| fault.byte).collect())
    }

    #[test]
    fn what_xml_forbids_is_replaced_and_noted_however_it_comes() {
        for piece in [1, 2, 3, 1000] {
            for (bytes, text, faults) in [
                (&b"abc\t\r\n"[..], "abc\t\r\n", vec![]),
                ("h\u{e9}\u{20ac}\u{1f600}\u{fffd}".as_bytes(), "h\u{e9}\u{20ac}\u{1f600}\u{fffd}", vec![]),
                (b"a\x00b\x1bc", "a?b?c", vec![1, 3]),
                (b"caf\xe9 x", "caf? x", vec![3]),
                (b"caf\xe9", "caf?", vec![3]),
                (b"\xe2\x82", "??", vec![0]),
                (b"a\xe2\x82b", "a??b", vec![1]),
                ("a\u{fffe}b\u{ffff}".as_bytes(), "a???b???", vec![1, 5]),
                (b"\xed\xa0\x80", "???", vec![0, 1, 2]),
                (b"", "", vec![]),
            ] {
                assert_eq!(read(bytes, piece), (text.to_owned(), faults), "{bytes:?} by {piece}");
            }
        }
    }

    #[test]
    fn what_was_read_since_the_last_event_is_kept_up_to_a_bound() {
        let mut tape = Tape::new(&b"0123456789"[..], 4);
        tape.begin_event(false);
        tape.fill_buf().unwrap();
        tape.consume(2);
        tape.begin_event(true);
        tape.consume(2);
        assert_eq!(tape.take_kept().unwrap(), b"0123");
        tape.begin_event(false);
        tape.consume(5);
        assert_eq!(tape.take_kept(), None);
        assert!(tape.fill_buf().is_err());
    }
}
