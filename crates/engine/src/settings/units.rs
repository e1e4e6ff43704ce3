//! Durations and sizes as people write them: `30m`, `1h 30m`, `90d`, `10 GiB`. The crates that read them know more units and
//! forms than the settings document (`jiff` years and ISO 8601, `bytesize` fractions and units in any case); what is
//! documented is all that is accepted.

use std::time::Duration;

use bytesize::ByteSize;
use jiff::SpanRelativeTo;
use jiff::fmt::friendly::SpanParser;

/// Milliseconds to days. A day has 24 hours.
const DURATION_UNITS: &[&str] = &["ms", "s", "m", "h", "d"];

/// Powers of 1000 and of 1024 (IEC 80000-13). The case counts, so that no bit is taken for a byte.
const SIZE_UNITS: &[&str] = &["B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"];

/// A duration such as `250ms`, `60s`, `30m`, `1h 30m`, `90d`: whole numbers with units, the largest unit first.
pub fn duration(text: &str) -> Option<Duration> {
    units(text, DURATION_UNITS)?;
    let span = SpanParser::new().parse_span(text.trim()).ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

/// A size such as `512 MiB` or `1TB`: a whole number with a unit; `0` needs none.
pub fn size(text: &str) -> Option<u64> {
    let has_unit = units(text, SIZE_UNITS)? > 0;
    let bytes = text.trim().parse::<ByteSize>().ok()?.as_u64();
    // SQL keeps sizes as signed numbers.
    (has_unit || bytes == 0).then_some(bytes).filter(|bytes| i64::try_from(*bytes).is_ok())
}

/// Bytes in the unit that reads best.
pub fn readable_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// How many units a text has beside digits and spaces; none where it has anything else.
fn units(text: &str, known: &[&str]) -> Option<usize> {
    let mut units = text.split(|c: char| c.is_ascii_digit() || c.is_whitespace()).filter(|part| !part.is_empty());
    units.try_fold(0, |count, unit| known.contains(&unit).then_some(count + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_the_unit_that_reads_best() {
        for (bytes, shown) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 << 19, "1.5 MiB"), (11 << 40, "11.0 TiB")]
        {
            assert_eq!(readable_size(bytes), shown);
        }
    }

    #[test]
    fn durations_need_known_units() {
        for (text, milliseconds) in [
            ("250ms", 250),
            ("0s", 0),
            ("60s", 60_000),
            (" 30 m ", 30 * 60_000),
            ("36h", 36 * 3_600_000),
            ("90d", 90 * 86_400_000),
            ("1h 30m", 90 * 60_000),
            ("1h30m", 90 * 60_000),
            ("1d 12h", 36 * 3_600_000),
            ("1s 500ms", 1_500),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for wrong in [
            "",
            " ",
            "5",
            "m",
            "-1s",
            "+1s",
            "1.5h",
            "1,5h",
            "5 weeks",
            "5w",
            "1M",
            "1mo",
            "1y",
            "5 min",
            "1H",
            "1 D",
            "10us",
            "10ns",
            "1h ago",
            "PT1H",
            "01:30:00",
            "1h, 30m",
            "30m 1h",
            "1h 1h",
            "1h 30",
            "1_000s",
            "٣s",
            "1s2",
            "99999999999999999999d",
            "18446744073709551615d",
            "18446744073709551615ms",
        ] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_need_a_known_unit_unless_zero() {
        for (text, bytes) in [
            ("0", 0),
            (" 0 ", 0),
            ("0 B", 0),
            ("7B", 7),
            ("1kB", 1_000),
            ("1 KB", 1_000),
            ("2 MB", 2_000_000),
            ("3GB", 3_000_000_000),
            ("1TB", 1_000_000_000_000),
            ("1 KiB", 1 << 10),
            (" 512 MiB ", 512 << 20),
            ("10 GiB", 10 << 30),
            ("2TiB", 2 << 40),
            ("9007199254740993 B", 9_007_199_254_740_993),
            ("9223372036854775807 B", i64::MAX as u64),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for wrong in [
            "",
            " ",
            "10",
            "GiB",
            "-1 GiB",
            "+1 GiB",
            "10 gib",
            "10 mb",
            "10 G",
            "10 Gi",
            "1.5 GiB",
            ".5 GiB",
            "1e3 B",
            "1_000 B",
            "1 000 B",
            "1 GiB 5 MiB",
            "1 PB",
            "1 EiB",
            "9999999 TiB",
            "9223372036854775808 B",
            "99999999999999999999 B",
            "99999999999999999999 TiB",
            "٣ B",
        ] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
