//! The forms of single values: percent forms, ISO 8601 dates, ARKs, media types, URLs. Nothing is fetched or opened.

use std::borrow::Cow;

use jiff::civil::Date;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::{Host, Url};

/// The three percent forms of a manifest. Every other `%` stands for itself.
const FORMS: [(&str, char); 3] = [("20", ' '), ("7c", '|'), ("sc", ';')];

/// Decodes `%20` and `%7c`, and in metadata `%sc`, in either letter case.
pub(crate) fn decode(text: &str, is_metadata: bool) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        decoded.push_str(before);
        let form = from.get(1..3).and_then(|form| FORMS.iter().find(|(known, _)| form.eq_ignore_ascii_case(known)));
        match form {
            Some((_, character)) if *character != ';' || is_metadata => {
                decoded.push(*character);
                rest = from.get(3..).unwrap_or_default();
            }
            _ => {
                decoded.push('%');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// The form in which [`decode`] gives a value back, or nothing where there is none: a control character, a tab at an end, or text that
/// looks like a percent form. `is_part` is for a part of a list: its semicolons are encoded.
pub(crate) fn encode(value: &str, is_metadata: bool, is_part: bool) -> Option<String> {
    let inner = value.trim_matches(' ');
    let leading = value.len() - value.trim_start_matches(' ').len();
    let trailing = value.len() - leading - inner.len();
    let mut encoded = "%20".repeat(leading);
    for character in inner.chars() {
        match character {
            '|' => encoded.push_str("%7c"),
            ';' if is_part => encoded.push_str("%sc"),
            other => encoded.push(other),
        }
    }
    encoded.push_str(&"%20".repeat(trailing));
    let is_read_back =
        decode(&encoded, is_metadata) == value && trim(&encoded) == encoded && !has_control_character(value);
    is_read_back.then_some(encoded)
}

/// Without the spaces and tabs at its ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// Whether there is a control character other than a tab.
pub(crate) fn has_control_character(text: &str) -> bool {
    if text.is_ascii() {
        return text.bytes().any(|byte| (byte < 0x20 && byte != b'\t') || byte == 0x7F);
    }
    text.chars().any(|character| character.is_control() && character != '\t')
}

/// Digits of a fixed number at the start, and what follows.
fn digits(text: &str, count: usize) -> Option<(u16, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
    Some((number, rest))
}

/// Whether this is a date, or a date and a time of the day, in the extended format of ISO 8601-1: a year, a month or a day; the time
/// to the hour, minute or second, whose last part may have a decimal fraction; with or without a zone.
pub(crate) fn is_iso_8601(text: &str) -> bool {
    is_date_and_time(text).is_some()
}

/// The same, or two of them with a slash between them.
pub(crate) fn is_iso_8601_period(text: &str) -> bool {
    match text.split_once('/') {
        Some((start, end)) => is_iso_8601(start) && is_iso_8601(end),
        None => is_iso_8601(text),
    }
}

fn is_date_and_time(text: &str) -> Option<()> {
    let (year, rest) = digits(text, 4)?;
    let Some(rest) = rest.strip_prefix('-') else { return rest.is_empty().then_some(()) };
    let (month, rest) = digits(rest, 2)?;
    let (day, rest) = match rest.strip_prefix('-') {
        Some(rest) => digits(rest, 2)?,
        None if rest.is_empty() => (1, rest),
        None => return None,
    };
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let Some(time) = rest.strip_prefix('T') else { return rest.is_empty().then_some(()) };
    let (hour, mut rest) = digits(time, 2)?;
    (hour < 24).then_some(())?;
    // A leap second is the sixty-first.
    for most in [59, 60] {
        let Some(next) = rest.strip_prefix(':') else { break };
        let (number, after) = digits(next, 2)?;
        (number <= most).then_some(())?;
        rest = after;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        (after.len() < fraction.len()).then_some(())?;
        rest = after;
    }
    if rest.is_empty() || rest == "Z" {
        return Some(());
    }
    let (hours, rest) = digits(rest.strip_prefix(['+', '-'])?, 2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" if rest.is_empty() => 0,
        other => digits(other, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    (hours < 24 && minutes < 60).then_some(())
}

/// Whether this is an ARK: `ark:`, an optional slash, a name assigning authority number of five or more letters and digits, a slash and
/// a name.
pub(crate) fn is_ark(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("ark:") else { return false };
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let Some((authority, name)) = rest.split_once('/') else { return false };
    authority.len() >= 5
        && authority.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"=~*+@_$.-%/".contains(&byte))
}

/// Whether this is a type, a slash and a subtype (RFC 6838 section 4.2), with or without parameters.
pub(crate) fn is_media_type(text: &str) -> bool {
    let essence = trim(text.split(';').next().unwrap_or_default());
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    essence.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

/// What is wrong with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlFault {
    Malformed,
    Scheme,
    Characters,
    Credentials,
    Host,
}

/// Every fault of a URL. Where the URL cannot be read or has another scheme, there is that one alone.
pub(crate) fn url_faults(text: &str) -> Vec<UrlFault> {
    let Ok(url) = Url::parse(text) else { return vec![UrlFault::Malformed] };
    if !matches!(url.scheme(), "http" | "https") {
        return vec![UrlFault::Scheme];
    }
    // The parser of URLs takes `https:host` and `https:/host` too.
    let has_authority = text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://"));
    if !has_authority {
        return vec![UrlFault::Malformed];
    }
    let mut faults = Vec::new();
    if !has_url_characters(text) {
        faults.push(UrlFault::Characters);
    }
    if !url.username().is_empty() || url.password().is_some() {
        faults.push(UrlFault::Credentials);
    }
    if let Some(Host::Domain(name)) = url.host()
        && !name.trim_end_matches('.').contains('.')
    {
        faults.push(UrlFault::Host);
    }
    faults
}

/// The same text, with what stands before the last `@` of its authority replaced by an ellipsis.
pub(crate) fn without_credentials(url: &str) -> Cow<'_, str> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => Cow::Owned(format!("{scheme}...{}", rest.get(at..).unwrap_or_default())),
        None => Cow::Borrowed(url),
    }
}

/// Whether all characters are those of RFC 3986, and each `%` is followed by two hexadecimal digits.
fn has_url_characters(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        other => other.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(other),
    })
}

/// What stands for itself in the path of a URL: the unreserved characters of RFC 3986 section 2.3, and the slash.
const ENCODED_IN_PATHS: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A path as it is written in a URL, such as that of a [`crate::NewRow`]: percent-encoded except for letters, digits, `-._~` and `/`.
pub fn encode_url_path(path: &str) -> String {
    utf8_percent_encode(path, &ENCODED_IN_PATHS).to_string()
}

/// The file name that a URL ends in: the last part of its path, decoded. Nothing where there is none, or where it is not UTF-8.
pub(crate) fn name_in_url(text: &str) -> Option<String> {
    let without_query = text.split(['?', '#']).next()?;
    let (_, after_scheme) = without_query.split_once("://")?;
    let (_, path) = after_scheme.split_once('/')?;
    let last = path.rsplit('/').next().filter(|last| !last.is_empty())?;
    percent_decode_str(last).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_percent_forms_of_the_format_are_decoded() {
        assert_eq!(decode("a%20b%7Cc%7cd%41%25%2%", false), "a b|c|d%41%25%2%");
        assert_eq!(decode("a%sc%SCb", true), "a;;b");
        assert_eq!(decode("a%scb", false), "a%scb");
        assert_eq!(decode("%é%20é%", true), "%é é%");
        assert!(matches!(decode("plain", true), Cow::Borrowed("plain")));
    }

    #[test]
    fn what_no_form_gives_back_is_not_encoded() {
        for value in ["a%20b", "%7C", "\ta", "a\t", "a\nb", "a\0"] {
            assert_eq!(encode(value, true, false), None, "{value:?}");
        }
        assert_eq!(encode("a%scb", true, false), None);
        assert_eq!(encode("a%scb", false, false).as_deref(), Some("a%scb"));
        assert_eq!(encode(" a|b ; 50% ", true, true).as_deref(), Some("%20a%7cb %sc 50%%20"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for date in [
            "2009",
            "2009-09",
            "2009-09-01",
            "2009-09-01T00:00:00",
            "2020-01-01T00:00.000Z",
            "2020-02-29T23:59:60.5+01:00",
            "2020-02-29T23-0800",
            "2020-02-29T23:10,25+02",
        ] {
            assert!(is_iso_8601(date), "{date}");
        }
        for date in [
            "",
            "foo",
            "209",
            "2009-",
            "2009-13",
            "2009-02-29",
            "20090901",
            "2009-09-01T",
            "2009-09-01T24:00",
            "2009-09-01T1:00",
            "2009-09-01T10:60",
            "2009-09-01T10:00.Z",
            "2009-09-01T10:00+25",
            "2009-09-01T10:00+01:",
            "2009-09-01 10:00",
            "2009/10",
            "2009-09-01T10:00:00:00",
            "２００９",
        ] {
            assert!(!is_iso_8601(date), "{date}");
        }
        assert!(is_iso_8601_period("1914/1918-11-11") && !is_iso_8601_period("1914/") && !is_iso_8601_period("/"));
    }

    #[test]
    fn arks_have_an_authority_and_a_name() {
        for ark in ["ark:/13030/m5xyz", "ark:99999/fk4abc", "ark:/b5060/d8x/part.v2", "ark:/99999/dummy"] {
            assert!(is_ark(ark), "{ark}");
        }
        for ark in [
            "",
            "ark:",
            "ark:/13030",
            "ark:/13030/",
            "ark:/1303/x",
            "doi:10.5060/x",
            "ark:/13030/m5 xyz",
            "ARK:/13030/x",
        ] {
            assert!(!is_ark(ark), "{ark}");
        }
    }

    #[test]
    fn media_types_have_two_parts() {
        assert!(is_media_type("image/svg+xml") && is_media_type("text/plain; charset=utf-8"));
        assert!(!is_media_type("jpeg") && !is_media_type("image/") && !is_media_type("a/b/c") && !is_media_type(""));
    }

    #[test]
    fn every_fault_of_a_url_is_found() {
        assert_eq!(url_faults("https://example.org/a%20b.jpg?x=1#y"), []);
        assert_eq!(url_faults("http://192.0.2.1:8080/a"), []);
        assert_eq!(url_faults("http://[2001:db8::1]/a"), []);
        for text in [
            "",
            "a.jpg",
            "http:/example.org/a",
            "https:example.org",
            "http://",
            "http://exa mple.org/",
            "http://a.b:99999/",
        ] {
            assert_eq!(url_faults(text), [UrlFault::Malformed], "{text}");
        }
        assert_eq!(url_faults("file:///etc/passwd"), [UrlFault::Scheme]);
        assert_eq!(url_faults("ftp://example.org/a"), [UrlFault::Scheme]);
        assert_eq!(url_faults("https://raw/a"), [UrlFault::Host]);
        assert_eq!(url_faults("https://localhost./a"), [UrlFault::Host]);
        assert_eq!(url_faults("https://u:p@raw/a b%2"), [UrlFault::Characters, UrlFault::Credentials, UrlFault::Host]);
        assert_eq!(url_faults("https://example.org/é"), [UrlFault::Characters]);
    }

    #[test]
    fn a_name_is_the_last_part_of_the_path() {
        for (url, name) in [
            ("https://example.org/a/b.jpg", Some("b.jpg")),
            ("https://example.org/a/b%20c.jpg?d/e#f/g", Some("b c.jpg")),
            ("https://example.org/%C3%A9", Some("é")),
            ("https://example.org/%FF", None),
            ("https://example.org/a/", None),
            ("https://example.org", None),
            ("https://example.org/?a", None),
        ] {
            assert_eq!(name_in_url(url).as_deref(), name, "{url}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(value in "[ -~é\t|;%]{0,24}", is_metadata: bool, is_part: bool) {
            if let Some(encoded) = encode(&value, is_metadata, is_part && is_metadata) {
                prop_assert!(!encoded.contains('|'));
                prop_assert_eq!(trim(&encoded), &encoded);
                prop_assert_eq!(decode(&encoded, is_metadata), value);
            }
        }

        #[test]
        fn a_path_in_a_url_keeps_its_name(name in "[^/\\p{Cc}]{1,12}") {
            let url = format!("https://example.org/a/{}", encode_url_path(&name));
            prop_assert_eq!(url_faults(&url), []);
            prop_assert_eq!(name_in_url(&url), Some(name));
        }

        #[test]
        fn any_text_is_looked_at(text in "\\PC{0,40}") {
            let _ = (is_iso_8601_period(&text), is_ark(&text), is_media_type(&text), url_faults(&text), name_in_url(&text));
        }
    }
}
