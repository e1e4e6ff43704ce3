//! Days, weeks and months in UTC.

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use strongroom_registry::Time;

const MICROSECONDS: i64 = 86_400_000_000;

/// The day of a time: days since 1970-01-01.
pub(crate) fn day_of(time: Time) -> i64 {
    time.0.div_euclid(MICROSECONDS)
}

/// When a day begins.
pub(crate) fn begin_of(day: i64) -> Time {
    Time(day.saturating_mul(MICROSECONDS))
}

/// The date of a day; of one that no calendar has, the last that it has.
pub(crate) fn date_of(day: i64) -> Date {
    Timestamp::from_microsecond(begin_of(day).0).map_or(Date::MAX, |time| time.to_zoned(TimeZone::UTC).date())
}

/// The day of a date.
pub(crate) fn day_of_date(of: Date) -> i64 {
    let since = of.since((jiff::Unit::Day, date(1970, 1, 1)));
    since.map_or(0, |span: Span| i64::from(span.get_days()))
}

/// The month of a day, such as `2026-01`.
pub(crate) fn month_of(day: i64) -> String {
    let date = date_of(day);
    format!("{:04}-{:02}", date.year(), date.month())
}

/// The week of a day by ISO 8601, such as `2026-W05`.
pub(crate) fn week_of(day: i64) -> String {
    let week = date_of(day).iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

/// The first day of the month of a day, and of the next month.
pub(crate) fn month_around(day: i64) -> (i64, i64) {
    let date = date_of(day);
    let first = date.first_of_month();
    let next = first.checked_add(Span::new().months(1)).unwrap_or(Date::MAX);
    (day_of_date(first), day_of_date(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let time = Time("2026-01-31T23:59:59.999999Z".parse::<Timestamp>().expect("a time").as_microsecond());
        let day = day_of(time);
        assert_eq!((date_of(day).to_string(), day_of(time.plus(1))), ("2026-01-31".to_owned(), day + 1));
        assert_eq!(day_of_date(date_of(day)), day);
        assert_eq!((month_of(day), week_of(day)), ("2026-01".to_owned(), "2026-W05".to_owned()));
        assert_eq!(month_around(day), (day - 30, day + 1));
        assert_eq!(date_of(day_of(Time(-1))).to_string(), "1969-12-31");
        assert_eq!(day_of_date(date(1969, 12, 31)), -1);
    }
}
