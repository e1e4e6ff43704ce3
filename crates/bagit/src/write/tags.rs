//! The text of what the writer makes itself: the declaration and `bag-info.txt`.

use std::time::SystemTime;

use super::WriteError;

/// `bagit.txt` of a bag of version 1.0 (RFC 8493 section 2.1.1).
pub(super) const DECLARATION: &str = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";

/// The tags of `bag-info.txt` with those that the writer adds: its own `Payload-Oxum` in the place of any other, and
/// `Bagging-Date` and `Bag-Software-Agent` where they are absent.
pub(super) fn completed(
    given: &[(String, String)],
    timestamp: SystemTime,
    payload_files: u64,
    payload_bytes: u64,
) -> Vec<(String, String)> {
    let is = |label: &str, other: &str| label.eq_ignore_ascii_case(other);
    let mut tags: Vec<(String, String)> =
        given.iter().filter(|(label, _)| !is(label, "Payload-Oxum")).cloned().collect();
    for (label, value) in [
        ("Bagging-Date", date(timestamp)),
        ("Bag-Software-Agent", concat!("strongroom-bagit ", env!("CARGO_PKG_VERSION")).to_owned()),
    ] {
        if !tags.iter().any(|(given, _)| is(given, label)) {
            tags.push((label.to_owned(), value));
        }
    }
    tags.push(("Payload-Oxum".to_owned(), format!("{payload_bytes}.{payload_files}")));
    tags
}

/// `YYYY-MM-DD` in UTC.
fn date(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time)
        .map_or_else(|_| "1970-01-01".to_owned(), |time| time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

/// The lines of `bag-info.txt`, in the order given. Line ends in a value become continuation lines.
pub(super) fn bag_info(tags: &[(String, String)]) -> Result<String, WriteError> {
    let mut text = String::new();
    for (label, value) in tags {
        check_label(label)?;
        text.push_str(label);
        text.push(':');
        for (number, line) in value.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty()).enumerate() {
            text.push_str(if number == 0 { " " } else { "\n  " });
            text.push_str(line);
        }
        if text.ends_with(':') {
            // One blank must follow the colon, also where there is no value (RFC 8493 section 2.2.2).
            text.push(' ');
        }
        text.push('\n');
    }
    Ok(text)
}

fn check_label(label: &str) -> Result<(), WriteError> {
    let reason = if label.is_empty() {
        "a label must not be empty"
    } else if label.contains([':', '\r', '\n']) {
        "a label must not have a colon or a line end"
    } else if label.trim() != label {
        "a label must not begin or end with white space"
    } else {
        return Ok(());
    };
    Err(WriteError::Tag { label: label.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_line_ends_become_continuation_lines() {
        let tags = [("A B", "one\r\n two\n\n"), ("Empty", ""), ("C", " x ")].map(|(l, v)| (l.to_owned(), v.to_owned()));
        assert_eq!(bag_info(&tags).unwrap(), "A B: one\n  two\nEmpty: \nC: x\n");
    }

    #[test]
    fn labels_that_no_reader_would_take_are_refused() {
        for label in ["", "a:b", "a\nb", " a", "a "] {
            assert!(matches!(bag_info(&[(label.to_owned(), String::new())]), Err(WriteError::Tag { .. })), "{label:?}");
        }
    }
}
