//! Lines of tag files: character encodings by IANA label, byte order marks, and the three line ends, read as a stream with
//! a bound on the length of a line.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::Encoding;

/// Longest line that is kept, in bytes of the file: far more than any path or digest takes.
const LONGEST_LINE: usize = 1 << 20;

/// A character encoding that tag files may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Utf8,
    Ascii,
    Latin1,
    /// UTF-16 or UTF-32: bytes in a unit, and the byte order where the label gives it.
    Wide(usize, Option<ByteOrder>),
    Other(&'static Encoding),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Big,
    Little,
}

impl Charset {
    /// UTF-8.
    pub const UTF_8: Self = Self(Kind::Utf8);

    /// The encoding of an IANA label, in any letter case.
    pub fn for_label(label: &str) -> Option<Self> {
        let label = label.trim().to_ascii_lowercase();
        // The web's registry of labels takes these for their Windows supersets, or lacks them.
        let kind = match label.as_str() {
            "utf-8" | "utf8" | "csutf8" => Kind::Utf8,
            "us-ascii" | "ascii" | "iso646-us" | "ansi_x3.4-1968" | "iso_646.irv:1991" | "us" | "ibm367" | "cp367"
            | "csascii" => Kind::Ascii,
            "iso-8859-1" | "iso_8859-1" | "iso_8859-1:1987" | "latin1" | "l1" | "ibm819" | "cp819" | "iso-ir-100"
            | "csisolatin1" => Kind::Latin1,
            "utf-16" | "csutf16" | "iso-10646-ucs-2" | "csunicode" => Kind::Wide(2, None),
            "utf-16be" | "csutf16be" => Kind::Wide(2, Some(ByteOrder::Big)),
            "utf-16le" | "csutf16le" => Kind::Wide(2, Some(ByteOrder::Little)),
            "utf-32" | "csutf32" | "iso-10646-ucs-4" | "csucs4" => Kind::Wide(4, None),
            "utf-32be" | "csutf32be" => Kind::Wide(4, Some(ByteOrder::Big)),
            "utf-32le" | "csutf32le" => Kind::Wide(4, Some(ByteOrder::Little)),
            "cp1250" | "cp1251" | "cp1252" | "cp1253" | "cp1254" | "cp1255" | "cp1256" | "cp1257" | "cp1258"
            | "cp936" | "cp932" | "ms932" => {
                let web = match label.as_str() {
                    "cp936" => "gbk".to_owned(),
                    "cp932" | "ms932" => "shift_jis".to_owned(),
                    other => other.replace("cp", "windows-"),
                };
                Kind::Other(Encoding::for_label_no_replacement(web.as_bytes())?)
            }
            // `x-user-defined` is a device of browsers, no character set.
            other if other != "x-user-defined" => Kind::Other(Encoding::for_label_no_replacement(other.as_bytes())?),
            _ => return None,
        };
        Some(Self(kind))
    }

    /// Decodes one line, or names the fault.
    fn decode(self, raw: &[u8]) -> Option<Cow<'_, str>> {
        match self.0 {
            // Wide text has been brought to UTF-8 before it was cut into lines.
            Kind::Utf8 | Kind::Wide(..) => std::str::from_utf8(raw).ok().map(Cow::Borrowed),
            Kind::Ascii => raw.is_ascii().then(|| std::str::from_utf8(raw).ok().map(Cow::Borrowed)).flatten(),
            Kind::Latin1 => Some(match std::str::from_utf8(raw) {
                Ok(text) if raw.is_ascii() => Cow::Borrowed(text),
                _ => Cow::Owned(raw.iter().map(|byte| char::from(*byte)).collect()),
            }),
            Kind::Other(encoding) => encoding.decode_without_bom_handling_and_without_replacement(raw),
        }
    }
}

/// What is odd about a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrderMark {
    /// As the standard asks.
    AsExpected,
    /// A byte order mark where none may be (UTF-8).
    Unwanted,
    /// No byte order mark where one has to be (UTF-16, UTF-32).
    Missing,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFault {
    /// It cannot be decoded; the text has replacement characters.
    Malformed,
    /// It is too long; the text is its beginning.
    TooLong,
}

/// One line without its end.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: u64,
    /// The text.
    pub(crate) text: Cow<'a, str>,
    /// What is wrong with it.
    pub(crate) fault: Option<LineFault>,
}

/// Reads lines that end with LF, CR or CRLF.
pub(crate) struct Lines<'r> {
    reader: BufReader<Box<dyn Read + 'r>>,
    charset: Charset,
    mark: ByteOrderMark,
    raw: Vec<u8>,
    number: u64,
    is_after_carriage_return: bool,
}

impl<'r> Lines<'r> {
    /// Begins to read, and looks for a byte order mark.
    pub(crate) fn new(mut reader: Box<dyn Read + 'r>, charset: Charset) -> io::Result<Self> {
        let mut head = [0_u8; 4];
        let mut length = 0;
        while length < head.len() {
            match reader.read(&mut head[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let head = &head[..length];
        let (mark, skipped, wide) = match charset.0 {
            Kind::Utf8 if head.starts_with(&[0xEF, 0xBB, 0xBF]) => (ByteOrderMark::Unwanted, 3, None),
            Kind::Wide(unit, named) => {
                let (mark, skipped, order) = wide_start(head, unit, named);
                (mark, skipped, Some((unit, order)))
            }
            _ => (ByteOrderMark::AsExpected, 0, None),
        };
        let start = io::Cursor::new(head[skipped..].to_vec()).chain(reader);
        let reader: Box<dyn Read + 'r> = match wide {
            Some((unit, order)) => Box::new(Narrowed::new(start, unit, order)),
            None => Box::new(start),
        };
        let reader = BufReader::with_capacity(64 * 1024, reader);
        Ok(Self { reader, charset, mark, raw: Vec::new(), number: 0, is_after_carriage_return: false })
    }

    /// What is odd about the start of the file.
    pub(crate) fn mark(&self) -> ByteOrderMark {
        self.mark
    }

    /// The next line, or nothing at the end. A line end at the end of the file begins no further line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.raw.clear();
        let mut is_too_long = false;
        let mut is_any = false;
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if self.is_after_carriage_return {
                self.is_after_carriage_return = false;
                if buffer.first() == Some(&b'\n') {
                    self.reader.consume(1);
                    continue;
                }
            }
            if buffer.is_empty() {
                if !is_any {
                    return Ok(None);
                }
                break;
            }
            is_any = true;
            let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &buffer[..end.unwrap_or(buffer.len())];
            let room = LONGEST_LINE - self.raw.len();
            is_too_long |= part.len() > room;
            self.raw.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.is_after_carriage_return = end.is_some_and(|at| buffer[at] == b'\r');
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        self.number += 1;
        let (text, fault) = match self.charset.decode(&self.raw) {
            _ if is_too_long => {
                (String::from_utf8_lossy(&self.raw[..200.min(self.raw.len())]), Some(LineFault::TooLong))
            }
            Some(text) => (text, None),
            None => (String::from_utf8_lossy(&self.raw), Some(LineFault::Malformed)),
        };
        Ok(Some(Line { number: self.number, text, fault }))
    }
}

/// Whether there is a byte order mark, how many bytes it takes, and the byte order.
fn wide_start(head: &[u8], unit: usize, named: Option<ByteOrder>) -> (ByteOrderMark, usize, ByteOrder) {
    let big: &[u8] = if unit == 2 { &[0xFE, 0xFF] } else { &[0, 0, 0xFE, 0xFF] };
    let little: &[u8] = if unit == 2 { &[0xFF, 0xFE] } else { &[0xFF, 0xFE, 0, 0] };
    if head.starts_with(big) && named != Some(ByteOrder::Little) {
        return (ByteOrderMark::AsExpected, unit, ByteOrder::Big);
    }
    if head.starts_with(little) && named != Some(ByteOrder::Big) {
        return (ByteOrderMark::AsExpected, unit, ByteOrder::Little);
    }
    if let Some(order) = named {
        return (ByteOrderMark::AsExpected, 0, order);
    }
    // RFC 2781 section 4.3 says big-endian; a first character of ASCII in little-endian order says otherwise.
    let is_little = head.len() >= unit && head[0] != 0 && head[1..unit].iter().all(|byte| *byte == 0);
    let mark = if head.is_empty() { ByteOrderMark::AsExpected } else { ByteOrderMark::Missing };
    (mark, 0, if is_little { ByteOrder::Little } else { ByteOrder::Big })
}

/// UTF-16 or UTF-32 as UTF-8. What is malformed becomes a byte that UTF-8 never has, so that its line is malformed too.
struct Narrowed<R> {
    inner: R,
    unit: usize,
    order: ByteOrder,
    pending: Vec<u8>,
    high: Option<u16>,
    out: Vec<u8>,
    used: usize,
    is_done: bool,
}

const NEVER_UTF_8: u8 = 0xFF;

impl<R: Read> Narrowed<R> {
    fn new(inner: R, unit: usize, order: ByteOrder) -> Self {
        Self { inner, unit, order, pending: Vec::new(), high: None, out: Vec::new(), used: 0, is_done: false }
    }

    fn push(&mut self, code_point: u32) {
        match char::from_u32(code_point) {
            Some(character) => self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.out.push(NEVER_UTF_8),
        }
    }

    fn take(&mut self, unit: u32) {
        if self.unit == 4 {
            return self.push(unit);
        }
        match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => self.push(0x10000 + ((u32::from(high) - 0xD800) << 10) + (unit - 0xDC00)),
            (high, _) => {
                if high.is_some() {
                    self.out.push(NEVER_UTF_8);
                }
                if (0xD800..0xDC00).contains(&unit) {
                    self.high = Some(unit as u16);
                } else {
                    self.push(unit);
                }
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.used = 0;
        let mut buffer = [0; 16 * 1024];
        let length = self.inner.read(&mut buffer)?;
        if length == 0 {
            self.is_done = true;
            if self.high.take().is_some() || !self.pending.is_empty() {
                self.pending.clear();
                self.out.push(NEVER_UTF_8);
            }
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(&buffer[..length]);
        let units = bytes.chunks_exact(self.unit);
        self.pending = units.remainder().to_vec();
        for unit in units {
            let value = match self.order {
                ByteOrder::Big => unit.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte)),
                ByteOrder::Little => unit.iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte)),
            };
            self.take(value);
        }
        Ok(())
    }
}

impl<R: Read> Read for Narrowed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.out.len() {
            if self.is_done {
                return Ok(0);
            }
            self.fill()?;
        }
        let length = buffer.len().min(self.out.len() - self.used);
        buffer[..length].copy_from_slice(&self.out[self.used..self.used + length]);
        self.used += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(raw: &[u8], label: &str) -> (ByteOrderMark, Vec<(String, Option<LineFault>)>) {
        let mut lines = Lines::new(Box::new(raw), Charset::for_label(label).unwrap()).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            assert_eq!(line.number, found.len() as u64 + 1);
            found.push((line.text.into_owned(), line.fault));
        }
        (lines.mark(), found)
    }

    fn plain(found: &[(String, Option<LineFault>)]) -> Vec<&str> {
        found.iter().map(|(text, _)| text.as_str()).collect()
    }

    #[test]
    fn lf_cr_and_crlf_end_lines() {
        assert_eq!(plain(&lines(b"a\nb\rc\r\n\r\nd", "UTF-8").1), ["a", "b", "c", "", "d"]);
        assert_eq!(lines(b"", "UTF-8").1, []);
        assert_eq!(plain(&lines(b"a\r\n", "UTF-8").1), ["a"]);
    }

    #[test]
    fn wide_encodings_are_read_in_either_order_with_and_without_a_mark() {
        let text = "x: é😀\ny";
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (raw, mark) in [
            ([&[0xFE, 0xFF], big.as_slice()].concat(), ByteOrderMark::AsExpected),
            ([&[0xFF, 0xFE], little.as_slice()].concat(), ByteOrderMark::AsExpected),
            (big, ByteOrderMark::Missing),
            (little, ByteOrderMark::Missing),
        ] {
            let (found_mark, found) = lines(&raw, "utf-16");
            assert_eq!((found_mark, plain(&found)), (mark, vec!["x: é😀", "y"]));
        }
        let wide: Vec<u8> = text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        assert_eq!(plain(&lines(&wide, "UTF-32LE").1), ["x: é😀", "y"]);
    }

    #[test]
    fn a_line_that_cannot_be_decoded_is_named_and_the_next_is_read() {
        let (_, found) = lines(b"a\n\xFFb\nc", "UTF-8");
        assert_eq!(found.iter().map(|(_, fault)| *fault).collect::<Vec<_>>(), [None, Some(LineFault::Malformed), None]);
        let (_, found) = lines(&[0, b'a', 0, b'\n', 0xD8, 0], "UTF-16BE");
        assert_eq!(found[1].1, Some(LineFault::Malformed));
    }

    #[test]
    fn labels_are_those_of_iana_and_unknown_ones_are_refused() {
        assert_eq!(plain(&lines(b"caf\xE9", "ISO-8859-1").1), ["café"]);
        assert_eq!(plain(&lines(b"\x83\x65", "Shift_JIS").1), ["テ"]);
        assert_eq!(lines(b"caf\xE9", "US-ASCII").1[0].1, Some(LineFault::Malformed));
        for label in ["", "UTF-9", "x-user-defined", "replacement", "hz-gb-2312"] {
            assert_eq!(Charset::for_label(label), None, "{label}");
        }
    }

    #[test]
    fn a_line_longer_than_any_real_one_is_cut_and_named() {
        let raw = [vec![b'x'; LONGEST_LINE + 5], b"\nnext".to_vec()].concat();
        let (_, found) = lines(&raw, "UTF-8");
        assert_eq!(found[0].1, Some(LineFault::TooLong));
        assert_eq!(found[1], ("next".to_owned(), None));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_encoding_are_read_to_the_end(raw in prop::collection::vec(any::<u8>(), 0..300), at in 0..6_usize) {
            let label = ["UTF-8", "UTF-16", "UTF-32", "GB18030", "ISO-2022-JP", "US-ASCII"][at];
            lines(&raw, label);
        }
    }
}
