//! The second factor by time: the vectors of the RFC, the window, and that a code is usable once.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use strongroom_credentials::{CredentialError, TotpCode, TotpRefusal, TotpSecret, TotpStep};

/// The secret of RFC 6238, appendix B: "12345678901234567890".
const RFC: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

/// RFC 6238, appendix B, in seconds; of its eight digits the last six.
const VECTORS: [(i64, &str); 6] = [
    (59, "287082"),
    (1_111_111_109, "081804"),
    (1_111_111_111, "050471"),
    (1_234_567_890, "005924"),
    (2_000_000_000, "279037"),
    (20_000_000_000, "353130"),
];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

fn verify(code: &str, seconds: i64, last_used: Option<TotpStep>) -> Result<TotpStep, TotpRefusal> {
    let secret = TotpSecret::parse(RFC).expect("a secret");
    secret.verify(TotpCode::parse(code).expect("a code"), at(seconds), last_used)
}

#[test]
fn codes_of_times_are_those_of_rfc_6238() {
    for (seconds, code) in VECTORS {
        assert_eq!(verify(code, seconds, None), Ok(TotpStep::new(seconds / 30)), "at {seconds}");
    }
}

#[test]
fn a_code_of_the_step_before_or_after_is_accepted_and_none_beyond() {
    // The code of the step from 1111111080 to 1111111109.
    let (code, step) = ("081804", TotpStep::new(37_037_036));
    let start = 1_111_111_080;
    assert_eq!(verify(code, start - 31, None), Err(TotpRefusal::Wrong));
    assert_eq!(verify(code, start - 30, None), Ok(step));
    assert_eq!(verify(code, start + 59, None), Ok(step));
    assert_eq!(verify(code, start + 60, None), Err(TotpRefusal::Wrong));
}

#[test]
fn a_code_is_usable_once_and_none_before_it_afterwards() {
    let step = verify("081804", 1_111_111_109, None).expect("the first use");
    assert_eq!(verify("081804", 1_111_111_109, Some(step)), Err(TotpRefusal::Used));
    assert_eq!(verify("081804", 1_111_111_111, Some(step)), Err(TotpRefusal::Used), "in the next step");

    let next = verify("050471", 1_111_111_111, Some(step)).expect("the code of the next step");
    assert!(next > step);
    assert_eq!(verify("081804", 1_111_111_111, Some(next)), Err(TotpRefusal::Used), "the step before a used one");
    assert_eq!(verify("999999", 1_111_111_111, Some(next)), Err(TotpRefusal::Wrong));
}

#[test]
fn two_steps_with_the_same_code_are_used_one_after_the_other() {
    // These two steps, one after the other, have the same code.
    let (first, second) = (TotpStep::new(50_424_280), TotpStep::new(50_424_281));
    let now = second.number() * 30;
    assert_eq!(verify("070562", now, None), Ok(first));
    assert_eq!(verify("070562", now, Some(first)), Ok(second));
    assert_eq!(verify("070562", now, Some(second)), Err(TotpRefusal::Used));
}

#[test]
fn a_clock_that_is_turned_back_makes_no_code_usable_again() {
    let step = verify("279037", 2_000_000_000, None).expect("the first use");
    assert_eq!(verify("081804", 1_111_111_109, Some(step)), Err(TotpRefusal::Used));
}

#[test]
fn times_before_1970_have_no_codes() {
    for seconds in [-1_000_000, -31] {
        for code in ["000000", "755224"] {
            assert_eq!(verify(code, seconds, None), Err(TotpRefusal::Wrong));
        }
    }
    // The first step of all is in the window of the moment before it.
    assert_eq!(verify("755224", -1, None), Ok(TotpStep::new(0)));
}

#[test]
fn codes_are_six_digits_with_spaces_or_without() {
    assert_eq!(verify("287 082", 59, None), Ok(TotpStep::new(1)));
    for text in ["", "28708", "2870822", "28708a", "-87082", "２８７０８２", "287082\n"] {
        assert!(matches!(TotpCode::parse(text), Err(CredentialError::TotpCode { digits: 6 })), "{text:?}");
    }
}

#[test]
fn secrets_are_random_and_survive_being_stored_and_typed() {
    let (one, two) = (TotpSecret::generate().expect("a secret"), TotpSecret::generate().expect("a secret"));
    assert_ne!(one.reveal(), two.reveal());
    assert_eq!(one.reveal().len(), 32, "160 bits in base32");

    let stored = one.reveal();
    let typed = stored.to_lowercase().as_bytes().chunks(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
    assert_eq!(*TotpSecret::parse(&typed).expect("a secret").reveal(), *stored);
    for text in ["", "GEZDGNBVGY3TQOJQ", &format!("{RFC}{RFC}"), &RFC.replace('G', "1"), &"A ".repeat(1000)] {
        assert!(matches!(TotpSecret::parse(text), Err(CredentialError::TotpSecret { .. })), "{text:?}");
    }
}

#[test]
fn the_uri_has_what_an_app_needs_and_escapes_the_rest() {
    let secret = TotpSecret::parse(RFC).expect("a secret");
    assert_eq!(
        *secret.uri("Strongroom of A&B", "ada+1@example.org"),
        format!(
            "otpauth://totp/Strongroom%20of%20A%26B:ada%2B1%40example.org?secret={RFC}&issuer=Strongroom%20of%20A%26B\
             &algorithm=SHA1&digits=6&period=30"
        )
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_used_next_is_later_than_what_was_used(
        start in 0_i64..4_000_000_000,
        moves in proptest::collection::vec((-100_i64..100, 0_usize..6), 1..40),
    ) {
        let mut last_used = None;
        let mut now = at(start);
        for (seconds, which) in moves {
            now = now.saturating_add(SignedDuration::from_secs(seconds)).expect("a time");
            let code = TotpCode::parse(VECTORS[which].1).expect("a code");
            let secret = TotpSecret::parse(RFC).expect("a secret");
            if let Ok(step) = secret.verify(code, now, last_used) {
                prop_assert!(last_used.is_none_or(|last| step > last));
                prop_assert!((TotpStep::at(now).number() - step.number()).abs() <= 1);
                last_used = Some(step);
            }
        }
    }
}
