//! The text test: whether bytes read as text, and in what encoding. PRONOM has no byte signature for plain text, so this
//! stands in for one. It follows the rules that file(1) documents: text is what holds no control characters but those
//! that printers and terminals know.

use std::fmt;

/// The encodings that the test distinguishes, by their names in file(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// 7-bit ASCII.
    Ascii,
    /// UTF-7 (RFC 2152), told by its byte order mark alone.
    Utf7,
    /// UTF-8 with at least one character beyond ASCII.
    Utf8,
    /// UTF-8 that begins with a byte order mark.
    Utf8Bom,
    /// UTF-16 with a byte order mark, little-endian.
    Utf16Le,
    /// UTF-16 with a byte order mark, big-endian.
    Utf16Be,
    /// UTF-32 with a byte order mark, little-endian.
    Utf32Le,
    /// UTF-32 with a byte order mark, big-endian.
    Utf32Be,
    /// ASCII and the printable upper half of an ISO 8859 part, or its next-line character.
    Latin1,
    /// ASCII and an upper half that uses 0x80 to 0x9F, as the code pages of Windows, DOS and the Macintosh do.
    ExtendedAscii,
    /// EBCDIC, read as code page 037.
    Ebcdic,
}

impl Encoding {
    /// Its name in records and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ascii => "ASCII",
            Self::Utf7 => "UTF-7",
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with byte order mark",
            Self::Utf16Le => "UTF-16, little-endian",
            Self::Utf16Be => "UTF-16, big-endian",
            Self::Utf32Le => "UTF-32, little-endian",
            Self::Utf32Be => "UTF-32, big-endian",
            Self::Latin1 => "ISO-8859",
            Self::ExtendedAscii => "non-ISO extended ASCII",
            Self::Ebcdic => "EBCDIC",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// No text in any superset of ASCII.
const CONTROL: u8 = 1;
/// 0x80 to 0x9F but 0x85: printable only in code pages that are no ISO 8859.
const UPPER_CONTROL: u8 = 2;
/// 0xA0 to 0xFF and 0x85, the next-line character: text in ISO 8859.
const UPPER_PRINTABLE: u8 = 4;
/// No text in EBCDIC.
const EBCDIC_CONTROL: u8 = 8;

/// The classes that each byte belongs to, so that one OR over all bytes says every single-byte encoding at once.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        let class = match byte {
            0x07..=0x0D | 0x1B | 0x20..=0x7E => 0,
            0x85 | 0xA0..=0xFF => UPPER_PRINTABLE,
            0x80..=0x9F => UPPER_CONTROL,
            _ => CONTROL,
        };
        // Code page 037: tab, vertical tab, form feed, carriage return, next line, backspace, line feed, escape and bell;
        // from 0x40 on everything is printable but the last, which is a control character.
        let ebcdic_class = match byte {
            0x05 | 0x0B..=0x0D | 0x15 | 0x16 | 0x25 | 0x27 | 0x2F | 0x40..=0xFE => 0,
            _ => EBCDIC_CONTROL,
        };
        classes[byte as usize] = class | ebcdic_class;
        if byte == u8::MAX {
            return classes;
        }
        byte += 1;
    }
}

/// Says whether the beginning of a file is text, and in what encoding. `is_whole` says that it is the whole file;
/// otherwise a character that the end cuts off is no fault. Nothing at all is not text.
pub fn detect(beginning: &[u8], is_whole: bool) -> Option<Encoding> {
    if beginning.is_empty() {
        return None;
    }
    let found = classes_of(beginning);
    if found & (CONTROL | UPPER_CONTROL | UPPER_PRINTABLE) == 0 {
        return Some(if has_utf7_mark(beginning) { Encoding::Utf7 } else { Encoding::Ascii });
    }
    if found & CONTROL == 0 && is_utf8(beginning, is_whole) {
        let is_marked = beginning.starts_with(b"\xEF\xBB\xBF");
        return Some(if is_marked { Encoding::Utf8Bom } else { Encoding::Utf8 });
    }
    if let Some(encoding) = wide_encoding(beginning, is_whole) {
        return Some(encoding);
    }
    if found & CONTROL == 0 {
        return Some(if found & UPPER_CONTROL == 0 { Encoding::Latin1 } else { Encoding::ExtendedAscii });
    }
    (found & EBCDIC_CONTROL == 0).then_some(Encoding::Ebcdic)
}

/// All classes that occur. Looks no further where nothing can be text any more.
fn classes_of(bytes: &[u8]) -> u8 {
    let mut found = 0;
    for chunk in bytes.chunks(4096) {
        if is_spaced_ascii(chunk) {
            found |= EBCDIC_CONTROL;
            continue;
        }
        found |= chunk.iter().fold(0, |classes, byte| classes | CLASSES[usize::from(*byte)]);
        let is_hopeless = found & CONTROL != 0 && found & EBCDIC_CONTROL != 0;
        if is_hopeless {
            break;
        }
    }
    found
}

/// RFC 2152: U+FEFF in UTF-7 is `+/v` and one of four characters, by what follows.
/// Whether these are printable ASCII and its control characters, with a space or digit among them, which in EBCDIC are
/// control characters. Most text is; many bytes are compared at once.
fn is_spaced_ascii(chunk: &[u8]) -> bool {
    let (mut odd, mut spaced) = (0_u8, 0_u8);
    for byte in chunk {
        let is_control = u8::from(*byte < 0x20) & u8::from(byte.wrapping_sub(0x07) > 0x06) & u8::from(*byte != 0x1B);
        odd |= u8::from(*byte > 0x7E) | is_control;
        spaced |= u8::from(*byte & 0xE0 == 0x20);
    }
    odd == 0 && spaced == 1
}

fn has_utf7_mark(bytes: &[u8]) -> bool {
    bytes.len() > 4 && bytes.starts_with(b"+/v") && matches!(bytes.get(3), Some(b'8' | b'9' | b'+' | b'/'))
}

fn is_utf8(bytes: &[u8], is_whole: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // No length: the end came within a character. Some character must be whole, or there is nothing to tell by.
        Err(error) => !is_whole && error.error_len().is_none() && error.valid_up_to() > 0,
    }
}

/// UTF-32 and UTF-16, by their byte order marks.
fn wide_encoding(bytes: &[u8], is_whole: bool) -> Option<Encoding> {
    let (encoding, width, is_big_endian) = match bytes {
        [0xFF, 0xFE, 0, 0, ..] => (Encoding::Utf32Le, 4, false),
        [0, 0, 0xFE, 0xFF, ..] => (Encoding::Utf32Be, 4, true),
        [0xFF, 0xFE, ..] => (Encoding::Utf16Le, 2, false),
        [0xFE, 0xFF, ..] => (Encoding::Utf16Be, 2, true),
        _ => return None,
    };
    let units = bytes.chunks_exact(width);
    if is_whole && !units.remainder().is_empty() {
        return None;
    }
    let mut values = units.map(|unit| {
        let push = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        if is_big_endian { unit.iter().fold(0, push) } else { unit.iter().rev().fold(0, push) }
    });
    values.all(is_text_unit).then_some(encoding)
}

/// Whether a unit of UTF-16, or a character of UTF-32, may occur in text.
fn is_text_unit(value: u32) -> bool {
    match value {
        0xFFFE => false, // a byte order mark in the other order
        0..0x80 => CLASSES.get(value as usize).is_some_and(|class| class & CONTROL == 0),
        _ => value <= u32::from(char::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, detect};

    #[test]
    fn nothing_is_not_text() {
        assert_eq!(detect(b"", true), None);
    }

    #[test]
    fn ascii_may_hold_the_control_characters_of_printers() {
        assert_eq!(detect(b"a\x07\x08\t\n\x0B\x0C\r\x1Bz ~", true), Some(Encoding::Ascii));
        for control in (0..0x20).chain([0x7F]).filter(|byte| !matches!(byte, 0x07..=0x0D | 0x1B)) {
            assert_eq!(detect(&[b'a', b' ', control], true), None, "{control:#04x}");
        }
    }

    #[test]
    fn utf7_is_told_by_its_mark() {
        assert_eq!(detect(b"+/v8-Hi", true), Some(Encoding::Utf7));
        assert_eq!(detect(b"+/vx-Hi", true), Some(Encoding::Ascii));
    }

    #[test]
    fn utf8_is_told_from_single_byte_encodings() {
        assert_eq!(detect("Käse".as_bytes(), true), Some(Encoding::Utf8));
        assert_eq!(detect("\u{FEFF}cheese".as_bytes(), true), Some(Encoding::Utf8Bom));
        assert_eq!(detect(b"K\xE4se", true), Some(Encoding::Latin1));
        assert_eq!(detect(b"line\x85line", true), Some(Encoding::Latin1));
        assert_eq!(detect(b"K\x84se", true), Some(Encoding::ExtendedAscii));
        assert_eq!(detect("Käse\0".as_bytes(), true), None);
    }

    #[test]
    fn a_character_cut_off_by_the_end_is_a_fault_only_of_a_whole_file() {
        let cut = &"Käse für 5 €".as_bytes()[..15];
        assert_eq!(detect(cut, false), Some(Encoding::Utf8));
        assert_eq!(detect(cut, true), Some(Encoding::ExtendedAscii));
        assert_eq!(detect(b"\xFF\xFEa\0b", false), Some(Encoding::Utf16Le));
        assert_eq!(detect(b"\xFF\xFEa\0\x02", true), None);
    }

    #[test]
    fn wide_encodings_need_a_byte_order_mark() {
        assert_eq!(detect(b"\xFF\xFEa\0\r\0\n\0", true), Some(Encoding::Utf16Le));
        assert_eq!(detect(b"\xFE\xFF\0a\0\r\0\n", true), Some(Encoding::Utf16Be));
        assert_eq!(detect(b"\xFF\xFE\0\0a\0\0\0", true), Some(Encoding::Utf32Le));
        assert_eq!(detect(b"\0\0\xFE\xFF\0\0\0a", true), Some(Encoding::Utf32Be));
        assert_eq!(detect(b"a\0b\0", true), None);
        assert_eq!(detect(b"\xFF\xFEa\0\x01\0", true), None);
        assert_eq!(detect(b"\xFF\xFEa\0\xFE\xFF", true), None);
        assert_eq!(detect(b"\xFF\xFE\0\0a\0\x11\0", true), None);
    }

    #[test]
    fn ebcdic_is_told_by_its_own_control_characters() {
        // "HELLO" and a next-line character in code page 037.
        assert_eq!(detect(b"\xC8\xC5\xD3\xD3\xD6\x40\x15", true), Some(Encoding::Ebcdic));
        assert_eq!(detect(b"\xC8\xC5\xD3\xD3\xD6\x40\x15\x00", true), None);
        assert_eq!(detect(b"\xC8\xC5\xD3\xD3\xD6\x40\x15\xFF", true), None);
    }
}
