//! Spans of the calendar, as rules of collections have them: for years, months or days after a moment. Ten years are ten years of the
//! calendar, not 3650 days, because laws and contracts say years.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::{Serialize, Serializer};
use strongroom_database::Time;

use crate::RegistryError;

/// A span of years, months or days, at least one and at most a thousand years. Its text is `10y`, `6m` or `3650d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    count: u32,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Years,
    Months,
    Days,
}

impl Unit {
    /// The letter behind the count, and the largest count.
    fn form(self) -> (char, u32) {
        match self {
            Self::Years => ('y', 1_000),
            Self::Months => ('m', 12_000),
            Self::Days => ('d', 365_250),
        }
    }
}

impl Period {
    /// What a text means; none where it means no period.
    pub fn parse(text: &str) -> Option<Self> {
        let unit = [Unit::Years, Unit::Months, Unit::Days].into_iter().find(|unit| text.ends_with(unit.form().0))?;
        let digits = text.strip_suffix(unit.form().0)?;
        let count = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok()).flatten()?;
        (1..=unit.form().1).contains(&count).then_some(Self { count, unit })
    }

    /// When it is over that began at `from`, by the calendar of UTC; a day that its month does not have is the month's last one.
    pub fn end(self, from: Time) -> Time {
        let count = i64::from(self.count);
        let span = match self.unit {
            Unit::Years => Span::new().try_years(count),
            Unit::Months => Span::new().try_months(count),
            Unit::Days => Span::new().try_days(count),
        };
        let end = span.and_then(|span| from.timestamp().to_zoned(TimeZone::UTC).checked_add(span));
        end.map_or(Timestamp::MAX, |end| end.timestamp()).into()
    }

    /// Whether it may be over before `other` is, where both begin at the same moment. A year has 365 or 366 days, and a month 28 to 31, so
    /// that of two periods of different units each may be shorter than the other.
    pub fn may_be_shorter_than(self, other: Self) -> bool {
        if self.unit == other.unit {
            return self.count < other.count;
        }
        match (self.months(), other.months()) {
            (Some(own), Some(others)) => own < others,
            _ => self.days().0 < other.days().1,
        }
    }

    /// Its months, where it is of months or years.
    fn months(self) -> Option<u64> {
        match self.unit {
            Unit::Years => Some(u64::from(self.count) * 12),
            Unit::Months => Some(u64::from(self.count)),
            Unit::Days => None,
        }
    }

    /// The fewest and the most days that it has.
    fn days(self) -> (u64, u64) {
        let count = u64::from(self.count);
        match self.unit {
            Unit::Days => (count, count),
            Unit::Years => (count * 365 + count / 8, count * 365 + count.div_ceil(4)),
            Unit::Months => (count * 28, count * 31),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.count, self.unit.form().0))
    }
}

impl FromStr for Period {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<Self, RegistryError> {
        Self::parse(text)
            .ok_or_else(|| RegistryError::Corrupt { wanted: "a period such as 10y", found: text.to_owned() })
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use strongroom_database::Time;

    use super::Period;

    fn period(text: &str) -> Period {
        Period::parse(text).expect("is a period")
    }

    fn end(text: &str, from: &str) -> String {
        period(text).end(from.parse::<jiff::Timestamp>().expect("is a time").into()).to_string()
    }

    #[test]
    fn a_period_is_written_as_it_is_read_and_has_bounds() {
        for text in ["10y", "6m", "3650d", "1000y", "1d"] {
            assert_eq!(period(text).to_string(), text);
        }
        for text in ["", "y", "0y", "1001y", "10", "10 y", "-1y", "+1y", "1.5y", "10Y", "4294967296d", "none"] {
            assert_eq!(Period::parse(text), None, "{text}");
        }
    }

    #[test]
    fn years_and_months_are_those_of_the_calendar() {
        assert_eq!(end("10y", "2026-03-01T12:00:00Z"), "2036-03-01T12:00:00Z");
        assert_eq!(end("1y", "2024-02-29T00:00:00Z"), "2025-02-28T00:00:00Z");
        assert_eq!(end("1m", "2026-01-31T00:00:00Z"), "2026-02-28T00:00:00Z");
        assert_eq!(end("365d", "2027-03-01T00:00:00Z"), "2028-02-29T00:00:00Z");
        assert!(period("1000y").end(Time(i64::MAX)) > Time(0), "a time beyond the calendar is its end");
    }

    #[test]
    fn a_period_is_shorter_where_it_may_end_sooner() {
        let shorter = [("9y", "10y"), ("11m", "1y"), ("3650d", "10y"), ("1y", "366d"), ("1m", "29d"), ("364d", "12m")];
        for (one, other) in shorter {
            assert!(period(one).may_be_shorter_than(period(other)), "{one} {other}");
        }
        for (one, other) in
            [("10y", "10y"), ("12m", "1y"), ("1y", "12m"), ("366d", "1y"), ("10y", "3650d"), ("1m", "28d")]
        {
            assert!(!period(one).may_be_shorter_than(period(other)), "{one} {other}");
        }
    }
}
