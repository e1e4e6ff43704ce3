//! Spans of time and sizes as people write them: `30m`, `90d`, `10 GiB`.

use std::time::Duration;

const SPANS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A span such as `250ms`, `60s`, `30m`, `6h`, `90d`.
pub fn span(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let factor = SPANS.iter().find(|(name, _)| *name == unit)?.1;
    number.checked_mul(factor).map(Duration::from_millis)
}

/// A size such as `512 MiB` or `1TB`; `0` needs no unit.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    if number == 0 && unit.is_empty() {
        return Some(0);
    }
    let factor = SIZES.iter().find(|(name, _)| *name == unit)?.1;
    // SQL keeps sizes as signed numbers.
    number.checked_mul(factor).filter(|bytes| i64::try_from(*bytes).is_ok())
}

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_need_a_known_unit() {
        assert_eq!(span("90d"), Some(Duration::from_hours(90 * 24)));
        assert_eq!(span(" 30 m "), Some(Duration::from_mins(30)));
        assert_eq!(span("250ms"), Some(Duration::from_millis(250)));
        for wrong in ["", "5", "m", "-1s", "1.5h", "5 weeks", "99999999999999999999d", "18446744073709551615d"] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_need_a_known_unit_unless_zero() {
        assert_eq!(size("10 GiB"), Some(10 << 30));
        assert_eq!(size("1TB"), Some(1_000_000_000_000));
        assert_eq!(size("0"), Some(0));
        for wrong in ["", "10", "GiB", "-1 GiB", "10 gib", "9999999 TiB", "1.5 GiB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
