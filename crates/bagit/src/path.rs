//! Names: which travel well, how manifests encode them (RFC 8493 sections 2.1.3 and 5.2), and how bytes that are not UTF-8 are
//! shown. It reads no files, only text. Which are safe is the same for every list of files (`strongroom-listing`).

use std::borrow::Cow;

pub use strongroom_listing::unsafe_reason;
pub(crate) use strongroom_listing::{LONGEST_PATH, collision_key, normal_form, too_long_reason};
use unicode_normalization::UnicodeNormalization;

use crate::codes::{self, Rule};

/// Longest path that the oldest common systems take, in characters (Windows `MAX_PATH` less its drive and end).
const LONG: usize = 255;

/// A name as text. Bytes that are not UTF-8 become `\xHH`, and in such a name a backslash is doubled, so that two different
/// names that are not UTF-8 stay different. A name that is UTF-8 is as it stands, also where it looks like an escaped one: what has
/// both in one place is refused (`entry.duplicate`).
pub fn escape_name(raw: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(raw) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(raw.len() + 8);
    for chunk in raw.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    text
}

/// The bytes of a name that [`escape_name`] has escaped.
pub(crate) fn unescape_name(escaped: &str) -> Vec<u8> {
    let mut raw = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'\\' {
            if let [b'\\', after @ ..] = after {
                raw.push(b'\\');
                rest = after;
                continue;
            }
            if let [b'x', high, low, after @ ..] = after
                && let Some(high) = char::from(*high).to_digit(16)
                && let Some(low) = char::from(*low).to_digit(16)
            {
                raw.push((high * 16 + low) as u8);
                rest = after;
                continue;
            }
        }
        raw.push(*first);
        rest = after;
    }
    raw
}

/// Whether a path is what [`escape_name`] makes of a name that is not UTF-8. A name that has been written so itself is one, too.
pub fn is_escaped_name(path: &str) -> bool {
    if !path.contains("\\x") {
        return false;
    }
    let raw = unescape_name(path);
    std::str::from_utf8(&raw).is_err() && escape_name(&raw) == path
}

fn is_reserved_on_windows(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or_default().trim_end();
    let device = match stem.len() {
        3 => ["con", "prn", "aux", "nul"].iter().any(|name| stem.eq_ignore_ascii_case(name)),
        4 => {
            let (name, digit) = stem.split_at_checked(3).unwrap_or((stem, ""));
            (name.eq_ignore_ascii_case("com") || name.eq_ignore_ascii_case("lpt"))
                && digit.bytes().all(|digit| digit.is_ascii_digit() && digit != b'0')
        }
        _ => false,
    };
    device || component.ends_with([' ', '.']) || component.contains(['<', '>', ':', '"', '|', '?', '*'])
}

fn is_system_file(name: &str) -> bool {
    name.starts_with("._")
        || [".DS_Store", "Thumbs.db", "desktop.ini", ".Spotlight-V100", ".Trashes", ".fseventsd", "ehthumbs.db"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

/// What may make the name of an existing file travel badly.
pub(crate) fn portability(path: &str, report: &mut dyn FnMut(Rule, String)) {
    // Almost every name is plain; one check of the bytes makes the closer ones unnecessary.
    if path.chars().any(char::is_control) {
        report(codes::PATH_CONTROL_CHARACTER, format!("{path:?} has control characters"));
    }
    if path.contains('\\') {
        report(codes::PATH_BACKSLASH, format!("{path:?} has a backslash"));
    }
    if path.len() > LONG && path.chars().count() > LONG {
        report(codes::PATH_LONG, format!("the path has {} characters, more than {LONG}", path.chars().count()));
    }
    if path.split('/').any(is_reserved_on_windows) {
        report(codes::PATH_RESERVED_NAME, format!("{path:?} cannot exist on Windows"));
    }
    if is_system_file(path.rsplit('/').next().unwrap_or_default()) {
        report(codes::PATH_SYSTEM_FILE, format!("{path:?} is a file that operating systems leave behind"));
    }
}

/// Which of the three encoded characters a decoding takes back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decoding {
    /// `%0A`, `%0D` and `%25`.
    Full,
    /// `%0A` and `%0D` only, as writers do that leave a bare `%`.
    LineEnds,
}

fn decode(text: &str, decoding: Decoding) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        decoded.push_str(before);
        let character = match from.as_bytes().get(1..3) {
            Some(b"0A" | b"0a") => Some('\n'),
            Some(b"0D" | b"0d") => Some('\r'),
            Some(b"25") if decoding == Decoding::Full => Some('%'),
            _ => None,
        };
        decoded.push(character.unwrap_or('%'));
        rest = &from[if character.is_some() { 3 } else { 1 }..];
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// The readings of a listed path, the right one of its version first. From 1.0 on CR, LF and `%` are percent-encoded; before
/// nothing was. Common writers keep to neither.
pub(crate) fn readings(listed: &str, is_encoded: bool) -> Vec<Cow<'_, str>> {
    if !listed.contains('%') {
        return vec![Cow::Borrowed(listed)];
    }
    let raw = Cow::Borrowed(listed);
    let line_ends = decode(listed, Decoding::LineEnds);
    let full = decode(listed, Decoding::Full);
    let order = if is_encoded { [full, raw, line_ends] } else { [raw, line_ends, full] };
    let mut distinct: Vec<Cow<'_, str>> = Vec::with_capacity(3);
    for reading in order {
        if !distinct.contains(&reading) {
            distinct.push(reading);
        }
    }
    distinct
}

/// The key under which a file meets every listed path that could mean it, under any reading and any normal form: decoding
/// is repeated until nothing changes. The three encoded forms never overlap, so the order of decoding does not matter.
pub(crate) fn join_key(path: &str) -> Cow<'_, str> {
    if path.is_ascii() && !path.contains('%') {
        return Cow::Borrowed(path);
    }
    // Taken apart first: composing could join a character of an encoded form with a mark that follows it.
    let mut key: String = path.nfd().collect();
    loop {
        let next = decode(&key, Decoding::Full);
        if next == key {
            break;
        }
        key = next.into_owned();
    }
    let normal = normal_form(&key).into_owned();
    if normal == path { Cow::Borrowed(path) } else { Cow::Owned(normal) }
}

/// Encodes a path for a manifest of version 1.0: `%`, CR and LF, nothing else.
pub fn encode_path(path: &str) -> String {
    path.replace('%', "%25").replace('\n', "%0A").replace('\r', "%0D")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_three_encoded_forms_are_decoded() {
        assert_eq!(decode("a%0Ab%0dc%25d%7E%%2", Decoding::Full), "a\nb\rc%d%7E%%2");
        assert_eq!(decode("a%0ab%25c", Decoding::LineEnds), "a\nb%25c");
        assert_eq!(decode("%250A", Decoding::Full), "%0A");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped_without_loss() {
        assert_eq!(escape_name(b"caf\xE9"), "caf\\xE9");
        assert_eq!(escape_name("café".as_bytes()), "café");
        assert_ne!(escape_name(b"\\xE9\xFF"), escape_name(b"\xE9\xFF"));
    }

    #[test]
    fn windows_devices_are_reserved_with_any_extension() {
        for name in ["CON", "con.txt", "Lpt1", "com9.log", "a.", "b ", "x?y"] {
            assert!(is_reserved_on_windows(name), "{name}");
        }
        for name in ["console", "com0", "lpt10", "a.b", "nullo"] {
            assert!(!is_reserved_on_windows(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn an_escaped_name_is_taken_back(raw in prop::collection::vec(any::<u8>(), 1..20)) {
            let escaped = escape_name(&raw);
            if std::str::from_utf8(&raw).is_err() {
                prop_assert_eq!(unescape_name(&escaped), raw);
            }
        }

        #[test]
        fn what_is_encoded_is_read_back(path in "[a-zA-Z%0-9\\r\\n ]{0,30}") {
            let encoded = encode_path(&path);
            prop_assert!(!encoded.contains(['\r', '\n']));
            prop_assert_eq!(readings(&encoded, true)[0].to_string(), path);
        }

        #[test]
        fn every_reading_of_a_listed_path_meets_its_file(listed in "[a%0-9ADd25é\\u{301}e]{0,24}") {
            let key = join_key(&listed).into_owned();
            for is_encoded in [true, false] {
                for reading in readings(&listed, is_encoded) {
                    prop_assert_eq!(join_key(&reading).into_owned(), key.clone());
                    prop_assert_eq!(join_key(&normal_form(&reading)).into_owned(), key.clone());
                }
            }
        }
    }
}
