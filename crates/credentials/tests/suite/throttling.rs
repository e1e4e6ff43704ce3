//! How often something may be tried: the waits, the end of them, and what a clock that is turned does to them.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use strongroom_credentials::{Attempt, Throttle, ThrottleKey, ThrottlePolicy};

const PASSWORD: ThrottlePolicy = ThrottlePolicy::AUTHENTICATOR;
const ADDRESS: ThrottlePolicy = ThrottlePolicy::ADDRESS;

fn start() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

/// Fails so often at one time as is admitted.
fn exhausted(policy: &ThrottlePolicy) -> Throttle {
    let mut throttle = Throttle::default();
    while throttle.attempt(policy, start()) == Attempt::Admitted {}
    throttle
}

#[test]
fn the_first_attempts_are_free_and_then_the_wait_doubles_up_to_its_limit() {
    let mut throttle = Throttle::default();
    let mut now = start();
    for _ in 0..5 {
        assert_eq!(throttle.attempt(&PASSWORD, now), Attempt::Admitted);
    }
    for wait in [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600] {
        assert_eq!(throttle.attempt(&PASSWORD, now), Attempt::Wait(seconds(wait)));
        assert_eq!(throttle.attempt(&PASSWORD, now + seconds(wait - 1)), Attempt::Wait(seconds(1)));
        now += seconds(wait);
        assert_eq!(throttle.attempt(&PASSWORD, now), Attempt::Admitted);
    }
}

#[test]
fn attempts_that_are_refused_do_not_make_the_wait_longer() {
    let mut throttle = exhausted(&PASSWORD);
    for second in 0..30 {
        assert_eq!(throttle.attempt(&PASSWORD, start() + seconds(second)), Attempt::Wait(seconds(30 - second)));
    }
    assert_eq!(throttle.attempt(&PASSWORD, start() + seconds(30)), Attempt::Admitted);
}

#[test]
fn attempts_that_run_at_the_same_time_are_counted_before_any_of_them_has_failed() {
    let mut throttle = Throttle::default();
    let admitted = (0..1000).filter(|_| throttle.attempt(&PASSWORD, start()) == Attempt::Admitted).count();
    assert_eq!(admitted, 5);
}

#[test]
fn a_success_disregards_what_was_before_it() {
    let mut throttle = exhausted(&PASSWORD);
    throttle.succeed();
    assert_eq!(throttle, Throttle::default());
    assert_eq!(throttle.attempt(&PASSWORD, start()), Attempt::Admitted);
}

#[test]
fn a_success_gives_an_address_no_more_than_its_own_attempt() {
    let mut throttle = Throttle::default();
    let mut failures = 0;
    // Every second attempt succeeds: it is of a person who has an account.
    loop {
        if throttle.attempt(&ADDRESS, start()) != Attempt::Admitted {
            break;
        }
        failures += 1;
        if throttle.attempt(&ADDRESS, start()) == Attempt::Admitted {
            throttle.take_back();
        }
        assert!(failures <= 50);
    }
    assert_eq!(failures, 50);
    Throttle::default().take_back();
}

#[test]
fn the_waits_begin_anew_after_a_time_without_attempts() {
    let mut throttle = exhausted(&PASSWORD);
    let later = start() + PASSWORD.forget_after;
    assert!(!throttle.is_forgotten(&PASSWORD, later - seconds(1)));
    assert!(throttle.is_forgotten(&PASSWORD, later));
    let admitted = (0..100).filter(|_| throttle.attempt(&PASSWORD, later) == Attempt::Admitted).count();
    assert_eq!(admitted, 5);
    assert_eq!(throttle.consecutive, 10, "failures in a row are not forgotten");
}

#[test]
fn after_a_hundred_failures_in_a_row_nothing_is_admitted_until_the_authenticator_is_replaced() {
    let mut throttle = Throttle::default();
    let mut now = start();
    let mut admitted = 0;
    loop {
        match throttle.attempt(&PASSWORD, now) {
            Attempt::Admitted => admitted += 1,
            Attempt::Wait(wait) => now += wait,
            Attempt::Disabled => break,
        }
        assert!(admitted <= 100);
    }
    assert_eq!(admitted, 100);
    // Neither a year later nor a year before.
    for later in [now + seconds(31_536_000), now - seconds(31_536_000)] {
        let answer = throttle.attempt(&PASSWORD, later);
        assert_ne!(answer, Attempt::Admitted);
        if let Attempt::Wait(wait) = answer {
            assert_eq!(throttle.attempt(&PASSWORD, later + wait), Attempt::Disabled);
        }
    }
    throttle.succeed();
    assert_eq!(throttle.attempt(&PASSWORD, now), Attempt::Admitted);
}

#[test]
fn a_stranger_cannot_tell_a_disabled_account_from_one_that_does_not_exist_over_days() {
    let mut known = Throttle::default();
    let mut unknown = Throttle::default();
    let mut now = start();
    // What a stranger sees: whether it was tried, or how long to wait. Of an account that does not exist nothing is kept that is forgotten.
    let seen = |attempt| match attempt {
        Attempt::Wait(wait) => Some(wait),
        Attempt::Admitted | Attempt::Disabled => None,
    };
    let (mut is_disabled, mut tried) = (false, 0);
    for step in 0..3_000_u32 {
        if unknown.is_forgotten(&PASSWORD, now) {
            unknown = Throttle::default();
        }
        let answer = known.attempt(&PASSWORD, now);
        is_disabled |= answer == Attempt::Disabled;
        assert_eq!(seen(answer), seen(unknown.attempt(&PASSWORD, now)), "at step {step}");
        tried += u32::from(seen(answer).is_none());
        // Bursts, hours, and pauses of more than a day.
        now += seconds(match step % 50 {
            0 => 25 * 3600,
            10 | 20 | 30 | 40 => 3600,
            _ => 7,
        });
    }
    assert!(is_disabled && tried > 200, "{tried}");
}

#[test]
fn an_address_is_never_disabled() {
    let mut throttle = Throttle { recent: u32::MAX, consecutive: u32::MAX, last_at: Some(start()) };
    assert_eq!(throttle.attempt(&ADDRESS, start()), Attempt::Wait(ADDRESS.longest_wait));
    assert_eq!(throttle.attempt(&ADDRESS, start() + ADDRESS.longest_wait), Attempt::Admitted);
    // What is counted is at its greatest, and does not begin anew.
    let again = throttle.attempt(&ADDRESS, start() + ADDRESS.longest_wait);
    assert_eq!(again, Attempt::Wait(ADDRESS.longest_wait));
}

#[test]
fn an_attempt_is_counted_for_account_and_address_or_for_neither() {
    let (mut password, mut address) = (Throttle::default(), exhausted(&ADDRESS));
    let both = [(&mut password, &PASSWORD), (&mut address, &ADDRESS)];
    assert_eq!(Throttle::attempt_all(both, start()), Attempt::Wait(seconds(10)));
    assert_eq!(password, Throttle::default(), "a stranger's wait is not the account's");

    let both = [(&mut password, &PASSWORD), (&mut address, &ADDRESS)];
    assert_eq!(Throttle::attempt_all(both, start() + seconds(10)), Attempt::Admitted);
    assert_eq!((password.recent, address.recent), (1, 51));

    let (mut password, mut address) = (exhausted(&PASSWORD), exhausted(&ADDRESS));
    let both = [(&mut password, &PASSWORD), (&mut address, &ADDRESS)];
    assert_eq!(Throttle::attempt_all(both, start()), Attempt::Wait(seconds(30)), "the longer wait is answered");
}

#[test]
fn a_clock_that_is_turned_back_neither_locks_out_nor_opens() {
    let year = seconds(31_536_000);
    let mut throttle = exhausted(&PASSWORD);
    let back = start() - year;
    assert_eq!(throttle.attempt(&PASSWORD, back), Attempt::Wait(seconds(30)), "it does not open");
    assert_eq!(throttle.attempt(&PASSWORD, back + seconds(29)), Attempt::Wait(seconds(1)));
    assert_eq!(throttle.attempt(&PASSWORD, back + seconds(30)), Attempt::Admitted, "it does not lock out");
    // The free attempts did not come back with it.
    assert_eq!(throttle.attempt(&PASSWORD, back + seconds(30)), Attempt::Wait(seconds(60)));
}

#[test]
fn keys_are_the_same_for_the_same_account_and_differ_by_what_is_tried() {
    let key = ThrottleKey::password("ada@example.org");
    assert_eq!(ThrottleKey::password(" Ada@Example.ORG\n"), key);
    assert_eq!(ThrottleKey::password("ＡＤＡ@example.org"), key);
    assert_ne!(ThrottleKey::password("bob@example.org"), key);
    assert_ne!(ThrottleKey::second_factor("ada@example.org"), key);
    assert!(!key.as_str().contains("ada"), "{key}");
    assert_eq!(ThrottleKey::password(&"x".repeat(1_000_000)).as_str().len(), key.as_str().len());
    assert!(ThrottleKey::second_factor("").as_str().len() <= 80);
}

#[test]
fn addresses_are_counted_by_what_one_customer_has() {
    let key = |text: &str| ThrottleKey::address(text.parse::<IpAddr>().expect("an address")).to_string();
    assert_eq!(key("192.0.2.7"), "address:192.0.2.7");
    assert_eq!(key("::ffff:192.0.2.7"), key("192.0.2.7"));
    assert_ne!(key("192.0.2.8"), key("192.0.2.7"));
    assert_eq!(key("2001:db8:1:2:3:4:5:6"), "address:2001:db8:1:2::/64");
    assert_eq!(key("2001:db8:1:2:ffff::1"), key("2001:db8:1:2::"));
    assert_ne!(key("2001:db8:1:3::"), key("2001:db8:1:2::"));
}

/// What happens to a state.
#[derive(Debug, Clone)]
enum Act {
    Attempt,
    Succeed,
    TakeBack,
    Move(i64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        10 => Just(Act::Attempt),
        1 => Just(Act::Succeed),
        1 => Just(Act::TakeBack),
        4 => (-100_000_i64..100_000).prop_map(Act::Move),
        4 => (0_i64..4_000).prop_map(Act::Move),
        1 => (-400_000_000_i64..400_000_000).prop_map(Act::Move),
    ];
    proptest::collection::vec(act, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_clock_does_a_wait_is_bounded_and_ends_and_guesses_are_limited(acts in acts()) {
        let mut throttle = Throttle::default();
        let mut now = start();
        let mut guesses = 0;
        for act in acts {
            match act {
                Act::Move(by) => now += seconds(by),
                Act::Succeed => {
                    throttle.succeed();
                    guesses = 0;
                }
                // Of an authenticator nothing is taken back.
                Act::TakeBack => {}
                Act::Attempt => match throttle.attempt(&PASSWORD, now) {
                    Attempt::Admitted => guesses += 1,
                    Attempt::Wait(wait) => {
                        prop_assert!(wait > SignedDuration::ZERO && wait <= PASSWORD.longest_wait);
                        let mut later = throttle;
                        prop_assert!(!matches!(later.attempt(&PASSWORD, now + wait), Attempt::Wait(_)));
                    }
                    Attempt::Disabled => prop_assert!(throttle.consecutive >= 100),
                },
            }
            prop_assert!(guesses <= 100);
        }
    }

    #[test]
    fn an_address_is_never_locked_out_for_longer_than_the_longest_wait(acts in acts()) {
        let mut throttle = Throttle::default();
        let mut now = start();
        for act in acts {
            match act {
                Act::Move(by) => now += seconds(by),
                Act::Succeed | Act::TakeBack => throttle.take_back(),
                Act::Attempt => {
                    throttle.attempt(&ADDRESS, now);
                }
            }
        }
        // The first attempt after the clock was turned begins the wait at the latest.
        throttle.attempt(&ADDRESS, now);
        prop_assert_eq!(throttle.attempt(&ADDRESS, now + ADDRESS.longest_wait), Attempt::Admitted);
    }

    #[test]
    fn with_a_clock_that_goes_forward_no_more_is_admitted_than_the_waits_allow(
        moves in proptest::collection::vec(0_i64..7_200, 1..300),
    ) {
        // Without a pause of a day, so that nothing is forgotten.
        let mut throttle = Throttle::default();
        let mut now = start();
        let mut admitted: Vec<Timestamp> = Vec::new();
        for by in moves {
            now += seconds(by);
            if throttle.attempt(&PASSWORD, now) == Attempt::Admitted {
                admitted.push(now);
            }
        }
        for (at, pair) in admitted.windows(2).enumerate() {
            let doublings = u32::try_from(at).expect("few").checked_sub(4);
            let wait = doublings.map_or(0, |doublings| 30_i64.saturating_mul(1 << doublings.min(20)).min(3600));
            prop_assert!(pair[1].duration_since(pair[0]) >= seconds(wait), "attempt {at}");
        }
    }
}
