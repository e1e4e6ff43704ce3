//! A row as a line of COPY text, and what many of them come to, in whatever order.

use std::fmt;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Rows and a digest over them that does not depend on their order: the sum of the SHA-256 of each, modulo 2^256.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many.
    pub rows: u64,
    /// The sum, lowest limb first.
    sum: [u64; 4],
}

impl Tally {
    /// Adds a line with its end.
    pub(super) fn add(&mut self, line: &[u8]) {
        self.rows += 1;
        let digest = Sha256::digest(line);
        let mut carry = false;
        for (limb, bytes) in self.sum.iter_mut().zip(digest.chunks_exact(8)) {
            let other = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let (sum, over) = limb.overflowing_add(other);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            (*limb, carry) = (sum, over | over_again);
        }
    }

    /// The digest, in hexadecimal digits.
    pub fn digest(&self) -> String {
        let [first, second, third, fourth] = self.sum;
        format!("{first:016x}{second:016x}{third:016x}{fourth:016x}")
    }

    /// A tally whose digest was written down.
    pub(super) fn read(rows: u64, digest: &str) -> Option<Self> {
        let mut sum = [0; 4];
        for (nth, limb) in sum.iter_mut().enumerate() {
            *limb = u64::from_str_radix(digest.get(nth * 16..nth * 16 + 16)?, 16).ok()?;
        }
        (digest.len() == 64).then_some(Self { rows, sum })
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows {}", self.rows, self.digest())
    }
}

/// Writes the fields of one row.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    has_field: bool,
}

impl Line {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.has_field = false;
    }

    /// The line with its end.
    pub(super) fn end(&mut self) -> &[u8] {
        self.bytes.push(b'\n');
        &self.bytes
    }

    fn begin_field(&mut self) {
        if self.has_field {
            self.bytes.push(b'\t');
        }
        self.has_field = true;
    }

    pub(super) fn null(&mut self) {
        self.begin_field();
        self.bytes.extend_from_slice(b"\\N");
    }

    pub(super) fn integer(&mut self, number: i64) {
        self.begin_field();
        self.bytes.extend_from_slice(number.to_string().as_bytes());
    }

    pub(super) fn bool(&mut self, is_true: bool) {
        self.begin_field();
        self.bytes.push(if is_true { b't' } else { b'f' });
    }

    /// PostgreSQL's text cannot hold U+0000; the replacement character stands in for it, as everywhere here.
    pub(super) fn text(&mut self, text: &str) {
        self.begin_field();
        for byte in text.bytes() {
            let escaped = match byte {
                b'\\' => b"\\\\".as_slice(),
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                b'\t' => b"\\t",
                0x08 => b"\\b",
                0x0B => b"\\v",
                0x0C => b"\\f",
                0 => "\u{FFFD}".as_bytes(),
                _ => {
                    self.bytes.push(byte);
                    continue;
                }
            };
            self.bytes.extend_from_slice(escaped);
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.begin_field();
        self.bytes.extend_from_slice(b"\\\\x");
        for byte in bytes {
            let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
            self.bytes.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
    }

    pub(super) fn uuid(&mut self, uuid: Uuid) {
        self.begin_field();
        self.bytes.extend_from_slice(uuid.hyphenated().to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_rows_does_not_count_and_each_of_them_does() {
        let tally = |lines: &[&str]| {
            let mut tally = Tally::default();
            for line in lines {
                tally.add(line.as_bytes());
            }
            tally
        };
        assert_eq!(tally(&["a\n", "b\n", "c\n"]), tally(&["c\n", "a\n", "b\n"]));
        assert_ne!(tally(&["a\n", "b\n"]), tally(&["a\n", "c\n"]));
        assert_ne!(tally(&["a\n"]), tally(&["a\n", "a\n"]));
        let written = tally(&["a\n", "b\n"]);
        assert_eq!(Tally::read(2, &written.digest()), Some(written));
        assert_eq!(Tally::read(2, "abc"), None);
    }

    #[test]
    fn a_row_is_written_as_postgresql_writes_it() {
        let mut line = Line::default();
        line.text("a\\b\tc\nd\u{8}\0ü");
        line.null();
        line.integer(-7);
        line.bool(true);
        line.bytes(&[0, 255]);
        line.uuid(Uuid::nil());
        let wanted = "a\\\\b\\tc\\nd\\b\u{FFFD}ü\t\\N\t-7\tt\t\\\\x00ff\t00000000-0000-0000-0000-000000000000\n";
        assert_eq!(std::str::from_utf8(line.end()).expect("text"), wanted);
    }
}
