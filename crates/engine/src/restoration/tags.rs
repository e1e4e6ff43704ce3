//! `bag-info.txt` of a bag made anew: the depositor's tags, and what no longer holds kept as `Original-<tag>`.

use strongroom_bagit::Tag;

/// Tags that describe the packing and are made anew. `Bag-Size` and the rest: RFC 8493 section 2.2.2; `Bagging-Software`:
/// the APTrust profile.
const REPLACED: [&str; 5] = ["Payload-Oxum", "Bagging-Date", "Bag-Size", "Bagging-Software", "Bag-Software-Agent"];

/// What packed the bag.
const SOFTWARE: &str = concat!("strongroom ", env!("CARGO_PKG_VERSION"));

/// Says which of several bags this is (RFC 8493 section 2.2.2).
const COUNT: &str = "Bag-Count";

/// The tags of the new `bag-info.txt`. `date` is `YYYY-MM-DD`; the bag writer adds `Payload-Oxum`. What came as several bags
/// goes back as one.
pub(super) fn rewritten(original: &[Tag], date: &str, payload_bytes: u64, was_in_parts: bool) -> Vec<(String, String)> {
    let mut tags: Vec<(String, String)> = Vec::with_capacity(original.len() + REPLACED.len());
    for tag in original {
        let is_count = was_in_parts && COUNT.eq_ignore_ascii_case(&tag.label);
        let replaced = is_count || REPLACED.iter().any(|label| label.eq_ignore_ascii_case(&tag.label));
        let label = if replaced { format!("Original-{}", tag.label) } else { tag.label.clone() };
        tags.push((label, tag.value.clone()));
    }
    for (label, value) in [
        ("Bagging-Date", date.to_owned()),
        ("Bag-Size", readable_size(payload_bytes)),
        ("Bagging-Software", SOFTWARE.to_owned()),
        ("Bag-Software-Agent", SOFTWARE.to_owned()),
    ] {
        tags.push((label.to_owned(), value));
    }
    if was_in_parts && original.iter().any(|tag| COUNT.eq_ignore_ascii_case(&tag.label)) {
        tags.push((COUNT.to_owned(), "1 of 1".to_owned()));
    }
    tags
}

/// Bytes as people read them, with one decimal from a kilobyte on.
fn readable_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_described_the_old_packing_is_kept_as_original() {
        let tag = |label: &str, value: &str| Tag {
            file: "bag-info.txt".into(),
            label: label.into(),
            value: value.into(),
            line: 1,
        };
        let tags = rewritten(&[tag("Title", "T"), tag("payload-oxum", "3.1")], "2026-01-31", 12_345, false);
        let expected = [
            ("Title", "T"),
            ("Original-payload-oxum", "3.1"),
            ("Bagging-Date", "2026-01-31"),
            ("Bag-Size", "12.3 KB"),
            ("Bagging-Software", SOFTWARE),
            ("Bag-Software-Agent", SOFTWARE),
        ];
        assert_eq!(tags, expected.map(|(label, value)| (label.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_came_as_several_bags_is_counted_as_one() {
        let count = Tag { file: "bag-info.txt".into(), label: "Bag-Count".into(), value: "2 of 3".into(), line: 1 };
        let said = |tags: &[(String, String)], label: &str| {
            tags.iter().find(|(known, _)| known == label).map(|(_, value)| value.clone())
        };
        let tags = rewritten(std::slice::from_ref(&count), "2026-01-31", 1, true);
        assert_eq!(said(&tags, "Original-Bag-Count").as_deref(), Some("2 of 3"));
        assert_eq!(said(&tags, "Bag-Count").as_deref(), Some("1 of 1"));
        let tags = rewritten(&[count], "2026-01-31", 1, false);
        assert_eq!(said(&tags, "Bag-Count").as_deref(), Some("2 of 3"), "of a set that nothing else tells of");
        assert_eq!(said(&rewritten(&[], "2026-01-31", 1, true), "Bag-Count"), None);
    }

    #[test]
    fn sizes_are_told_in_decimal_units() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 KB"),
            (999_999, "999.9 KB"),
            (1_000_000, "1.0 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(readable_size(bytes), text);
        }
    }
}
