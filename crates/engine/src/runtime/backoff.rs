//! How long to wait after an attempt that went wrong.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The wait after the first attempt, before jitter.
const FIRST: Duration = Duration::from_secs(1);
/// No wait is longer.
const LONGEST_DELAY: Duration = Duration::from_mins(10);

/// The wait after attempt number `attempt` (from 1): doubled each time from one second up to ten minutes, less up to half
/// of it by chance, so that tasks that failed together do not come back together. Never less than a second.
pub fn retry_delay(attempt: u64) -> Duration {
    jittered(attempt, chance())
}

fn jittered(attempt: u64, chance: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(16);
    let full = FIRST.saturating_mul(1 << doublings).min(LONGEST_DELAY);
    let less = full.mul_f64(0.5 * f64::from(chance) / f64::from(u32::MAX));
    full.saturating_sub(less).max(FIRST)
}

/// A number that differs from call to call. The standard library seeds every map with one; nothing secret depends on it.
fn chance() -> u32 {
    RandomState::new().hash_one(()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_from_one_second_to_ten_minutes() {
        assert_eq!(jittered(1, 0), Duration::from_secs(1));
        assert_eq!(jittered(2, 0), Duration::from_secs(2));
        assert_eq!(jittered(5, 0), Duration::from_secs(16));
        assert_eq!(jittered(u64::MAX, 0), LONGEST_DELAY);
    }

    #[test]
    fn chance_takes_at_most_half_and_never_goes_below_a_second() {
        assert_eq!(jittered(1, u32::MAX), FIRST);
        assert_eq!(jittered(5, u32::MAX), Duration::from_secs(8));
        assert_eq!(jittered(0, u32::MAX), FIRST);
    }
}
