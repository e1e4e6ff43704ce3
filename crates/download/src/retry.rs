//! When a failed request is sent again: after growing waits, a bounded number of times, not before the server asks for it.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::error::DownloadError;
use crate::policy::Retries;
use crate::supervision::Supervision;

/// Counts the failures of one download.
#[derive(Debug)]
pub(crate) struct Attempts {
    retries: Retries,
    begun: Instant,
    failures: u32,
    /// How far the download was at the last failure that counts as one after progress.
    position: u64,
}

impl Attempts {
    pub(crate) fn new(retries: &Retries) -> Self {
        Self { retries: retries.clone(), begun: Instant::now(), failures: 0, position: 0 }
    }

    /// Waits until the next attempt, or returns the failure where there is none. `position` is how many bytes had come.
    pub(crate) fn failed(
        &mut self,
        failure: DownloadError,
        position: u64,
        supervision: &Supervision<'_>,
    ) -> Result<(), DownloadError> {
        if position.saturating_sub(self.position) >= self.retries.progress_bytes {
            self.position = position;
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.retries.attempts {
            return Err(failure);
        }
        let asked = match &failure {
            DownloadError::Status { retry_after, .. } => *retry_after,
            _ => None,
        };
        let wait = delay(&self.retries, self.failures, asked, chance());
        if self.begun.elapsed().saturating_add(wait) > self.retries.within {
            return Err(failure);
        }
        supervision.wait(failure.url(), wait)
    }
}

/// The wait after so many failures, with a number from the whole range of `u32` as chance.
fn delay(retries: &Retries, failures: u32, asked: Option<Duration>, chance: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    let full = retries.first_delay.saturating_mul(doubled).min(retries.max_delay);
    let jittered = full.mul_f64(1.0 - 0.5 * f64::from(chance) / f64::from(u32::MAX));
    jittered.max(asked.unwrap_or_default().min(retries.max_retry_after))
}

/// A random number: the keys of `RandomState` are random.
fn chance() -> u32 {
    RandomState::new().hash_one(0_u8) as u32
}

/// The value of `Retry-After`: seconds or a date (RFC 9110 section 10.2.3).
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = http_date(value)?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

/// A date of HTTP in its preferred form (RFC 9110 section 5.6.7).
pub(crate) fn http_date(value: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(value).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_are_shortened_by_up_to_a_half() {
        let retries = Retries::default();
        let millis = |failures, chance| delay(&retries, failures, None, chance).as_millis();
        assert_eq!([1, 2, 3, 7, 1000].map(|failures| millis(failures, 0)), [1000, 2000, 4000, 60_000, 60_000]);
        assert_eq!([1, 2, 1000].map(|failures| millis(failures, u32::MAX)), [500, 1000, 30_000]);
    }

    #[test]
    fn a_server_can_ask_for_a_longer_wait_up_to_a_bound() {
        let retries = Retries::default();
        let seconds = |asked| delay(&retries, 1, Some(Duration::from_secs(asked)), 0).as_secs();
        assert_eq!([0, 120, 86400, u64::MAX].map(seconds), [1, 120, 300, 300]);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (value, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now), expected.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn a_failure_is_returned_where_the_next_attempt_would_begin_too_late() {
        let within = |within, asked| {
            let retries = Retries { first_delay: Duration::ZERO, within, ..Retries::default() };
            let retry_after = Some(Duration::from_secs(asked));
            let failure = DownloadError::Status { url: "url".into(), status: 503, retry_after };
            Attempts::new(&retries).failed(failure, 0, &Supervision::default()).is_ok()
        };
        assert!(within(Duration::from_mins(1), 0));
        assert!(!within(Duration::from_secs(5), 60));
        assert!(!within(Duration::from_secs(5), u64::MAX));
        assert!(!within(Duration::ZERO, 0), "the first one has taken a moment");
    }

    #[test]
    fn attempts_are_bounded_and_counted_anew_after_progress() {
        let retries = Retries { attempts: 3, progress_bytes: 100, first_delay: Duration::ZERO, ..Retries::default() };
        let mut attempts = Attempts::new(&retries);
        let mut fail = |position| {
            let failure = DownloadError::TooLong { url: "url".into(), most: 0 };
            attempts.failed(failure, position, &Supervision::default()).is_ok()
        };
        assert_eq!([10, 20, 120, 130, 140].map(&mut fail), [true, true, true, true, false]);
    }
}
