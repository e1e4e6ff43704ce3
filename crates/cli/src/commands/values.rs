//! Values of options that several commands take: a word of a set, a point in time, and a size.

use std::fmt::Display;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};
use strongroom_engine::app::views::Time;
use strongroom_engine::settings::nearest_few;

use crate::failure::Failure;

/// What is named by a word, or which words there are.
pub(super) fn word<T: Copy + Display>(text: &str, what: &str, all: &[T]) -> Result<T, Failure> {
    all.iter().copied().find(|one| one.to_string() == text).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(T::to_string).collect();
        let near = nearest_few(text, words.iter().map(String::as_str));
        let known = words.join(", ");
        let next = match near.as_slice() {
            [] => format!("give one of {known}"),
            near => format!("did you mean {}? There are {known}", near.join(" or ")),
        };
        Failure::usage(format!("there is no {what} {text:?}")).next(next)
    })
}

/// A point in time: RFC 3339, a date or a date and time of this machine's time zone, or an age.
pub(super) fn time(text: &str) -> Result<Time, Failure> {
    time_in(text, &TimeZone::system()).ok_or_else(|| {
        Failure::usage(format!("{text:?} is neither a time nor an age"))
            .next("give for example 2026-01-31, \"2026-01-31 14:30\", 2026-01-31T00:00:00Z, 7d or 12h")
    })
}

/// A point in time that may lie ahead, as [`time`], but no age.
pub(super) fn moment(text: &str) -> Result<Time, Failure> {
    moment_in(text, &TimeZone::system()).ok_or_else(|| {
        Failure::usage(format!("{text:?} is neither a date nor a time"))
            .next("give for example 2030-01-31, \"2030-01-31 14:30\" or 2030-01-31T00:00:00Z")
    })
}

/// A point in time that lies ahead: as [`moment`], or how long from now, such as 90d; none for `never`.
pub(super) fn expiry(text: &str) -> Result<Option<Time>, Failure> {
    if text == NEVER {
        return Ok(None);
    }
    let ahead = || span(text).and_then(|span| Timestamp::now().checked_add(span).ok()).map(Time::from);
    moment_in(text, &TimeZone::system()).or_else(ahead).map(Some).ok_or_else(|| {
        Failure::usage(format!("{text:?} is neither a date, a time nor a span"))
            .next("give for example 2030-01-31, 2030-01-31T00:00:00Z, 90d, 12h or never")
    })
}

/// Stands for no end.
const NEVER: &str = "never";

fn time_in(text: &str, zone: &TimeZone) -> Option<Time> {
    moment_in(text, zone).or_else(|| before_now(text))
}

fn moment_in(text: &str, zone: &TimeZone) -> Option<Time> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.into());
    }
    let local = text.parse::<civil::DateTime>().ok()?;
    Some(local.to_zoned(zone.clone()).ok()?.timestamp().into())
}

fn before_now(text: &str) -> Option<Time> {
    Timestamp::now().checked_sub(span(text)?).ok().map(Time::from)
}

/// A span of time that is not negative.
fn span(text: &str) -> Option<SignedDuration> {
    // Days are 24 hours: an age has no time zone.
    let hours = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()).and_then(|days| days.checked_mul(24));
    let span = hours.and_then(SignedDuration::try_from_hours).or_else(|| text.parse().ok())?;
    (!span.is_negative()).then_some(span)
}

/// A size in bytes, such as 50 GiB.
pub(super) fn size(text: &str) -> Result<u64, String> {
    strongroom_engine::settings::parse_size(text)
        .ok_or_else(|| "it is not a size in bytes, such as 500 MiB, 50 GiB or 138000 B".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_local_date_or_an_age() {
        let zone = TimeZone::get("Europe/Berlin").expect("a time zone");
        let time = |text: &str| time_in(text, &zone);
        let at = |text: &str| Some(Time::from(text.parse::<Timestamp>().expect("a time")));
        assert_eq!(time("2026-01-31T00:00:00Z"), at("2026-01-31T00:00:00Z"));
        assert_eq!(time("2026-01-31T00:00:00+02:00"), at("2026-01-30T22:00:00Z"));
        assert_eq!(time("2026-01-31"), at("2026-01-30T23:00:00Z"));
        assert_eq!(time("2026-07-31 14:30"), at("2026-07-31T12:30:00Z"));
        assert_eq!(time("2026-02-30"), None);
        assert_eq!(time("-3h"), None);
        assert_eq!(time("yesterday"), None);
        assert!(time("7d") < time("12h"));
        assert_eq!(moment_in("2026-01-31", &zone), time("2026-01-31"));
        assert_eq!((moment_in("7d", &zone), moment_in("12h", &zone)), (None, None));
    }

    #[test]
    fn an_expiry_lies_ahead_or_is_none() {
        let now = Time::from(Timestamp::now());
        assert_eq!(expiry("never").expect("is one"), None);
        assert!(
            expiry("12h").expect("is one") > Some(now)
                && expiry("90d").expect("is one") > expiry("12h").expect("is one")
        );
        assert_eq!(expiry("2030-01-31T00:00:00Z").expect("is one"), moment("2030-01-31T00:00:00Z").ok());
        for wrong in ["-1d", "soon", "", "99999999999999d"] {
            expiry(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn an_unknown_word_is_answered_with_those_like_it() {
        let failure = word("fetsh", "stage", &["fetch", "write"]).expect_err("no such word");
        assert!(format!("{failure:?}").contains("did you mean fetch? There are fetch, write"), "{failure:?}");
        let failure = word("xxxxxxxxx", "stage", &["fetch", "write"]).expect_err("no such word");
        assert!(format!("{failure:?}").contains("give one of fetch, write"), "{failure:?}");
    }
}
