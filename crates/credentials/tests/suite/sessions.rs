//! How long sessions last, and when their token is replaced.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use strongroom_credentials::{SessionEnd, SessionLimits, SessionNext, SessionTimes};

fn start() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

#[test]
fn a_session_that_is_used_goes_on_until_its_longest_time() {
    let limits = SessionLimits::default();
    let mut times = SessionTimes::start(start());
    for minute in 1..720 {
        let now = start() + minutes(minute);
        let next = times.check(now, &limits).expect("the session goes on");
        times = times.after(next, now);
    }
    assert_eq!(times.check(start() + minutes(720), &limits), Err(SessionEnd::Absolute));
}

#[test]
fn a_session_that_is_not_used_ends() {
    let (limits, times) = (SessionLimits::default(), SessionTimes::start(start()));
    assert!(times.check(start() + minutes(59), &limits).is_ok());
    assert_eq!(times.check(start() + minutes(60), &limits), Err(SessionEnd::Idle));
}

#[test]
fn a_request_is_noted_once_a_minute_and_the_token_replaced_every_quarter_of_an_hour() {
    let (limits, times) = (SessionLimits::default(), SessionTimes::start(start()));
    let second = SignedDuration::from_secs(1);
    assert_eq!(times.check(start(), &limits), Ok(SessionNext::Continue));
    assert_eq!(times.check(start() + minutes(1) - second, &limits), Ok(SessionNext::Continue));
    assert_eq!(times.check(start() + minutes(1), &limits), Ok(SessionNext::Note));
    assert_eq!(times.check(start() + minutes(15), &limits), Ok(SessionNext::Rotate));

    let now = start() + minutes(15);
    assert_eq!(times.after(SessionNext::Continue, now), times);
    assert_eq!(times.after(SessionNext::Note, now), SessionTimes { seen_at: now, ..times });
    assert_eq!(
        times.after(SessionNext::Rotate, now),
        SessionTimes { started_at: start(), seen_at: now, rotated_at: now }
    );
}

#[test]
fn a_clock_that_is_turned_back_ends_the_session_and_a_small_correction_does_not() {
    let limits = SessionLimits::default();
    let times = SessionTimes::start(start());
    assert_eq!(times.check(start() - minutes(5), &limits), Ok(SessionNext::Continue));
    assert_eq!(times.check(start() - minutes(6), &limits), Err(SessionEnd::Clock));
    let seen = times.after(SessionNext::Note, start() + minutes(30));
    assert_eq!(seen.check(start(), &limits), Err(SessionEnd::Clock));
    let again = SessionTimes::start(start() - minutes(6));
    assert_eq!(again.check(start() - minutes(6), &limits), Ok(SessionNext::Continue), "one can sign in again");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_session_outlives_its_limits_whatever_the_clock_does(moves in proptest::collection::vec(-2000_i64..4000, 1..100)) {
        let limits = SessionLimits::default();
        let mut times = SessionTimes::start(start());
        let mut now = start();
        for seconds in moves {
            now += SignedDuration::from_secs(seconds);
            let Ok(next) = times.check(now, &limits) else { break };
            prop_assert!(now.duration_since(times.started_at) < limits.absolute);
            prop_assert!(now.duration_since(times.seen_at) < limits.idle);
            times = times.after(next, now);
            prop_assert_eq!(times.started_at, start());
        }
    }
}
