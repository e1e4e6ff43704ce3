//! `bag-info.txt` of a bag made anew: the depositor's tags, and what no longer holds kept as `Original-<tag>`.

use strongroom_bagit::Tag;

/// Tags that describe the packing and are made anew. `Bag-Size` and the rest: RFC 8493 section 2.2.2; `Bagging-Software`:
/// the APTrust profile.
const REPLACED: [&str; 5] = ["Payload-Oxum", "Bagging-Date", "Bag-Size", "Bagging-Software", "Bag-Software-Agent"];

/// What packed the bag.
const SOFTWARE: &str = concat!("strongroom ", env!("CARGO_PKG_VERSION"));

/// The tags of the new `bag-info.txt`. `date` is `YYYY-MM-DD`; the bag writer adds `Payload-Oxum`.
pub(super) fn rewritten(original: &[Tag], date: &str, payload_bytes: u64) -> Vec<(String, String)> {
    let mut tags: Vec<(String, String)> = Vec::with_capacity(original.len() + REPLACED.len());
    for tag in original {
        let replaced = REPLACED.iter().any(|label| label.eq_ignore_ascii_case(&tag.label));
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
        let tags = rewritten(&[tag("Title", "T"), tag("payload-oxum", "3.1")], "2026-01-31", 12_345);
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
