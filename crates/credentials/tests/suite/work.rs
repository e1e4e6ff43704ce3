//! The answer for an account that does not exist takes the work of one that does.

use std::time::{Duration, Instant};

use strongroom_credentials::{HashParameters, Password, PasswordContext, PasswordHasher, PasswordUse};

/// The share of pairs in which the first is greater: one half for two samples of one distribution (the statistic of Mann and
/// Whitney).
fn share_greater(first: &[Duration], second: &[Duration]) -> f64 {
    let greater =
        first.iter().flat_map(|one| second.iter().map(move |two| one > two)).filter(|greater| *greater).count();
    greater as f64 / (first.len() * second.len()) as f64
}

#[test]
fn times_of_known_and_unknown_accounts_are_of_one_distribution() {
    let hasher = PasswordHasher::new(HashParameters::new(1024, 1, 1).expect("allowed parameters"));
    let stored = Password::new("seven teapots beside the harbour")
        .and_then(|password| password.accept(PasswordUse::Alone, &PasswordContext::default()))
        .and_then(|accepted| hasher.hash(&accepted))
        .expect("a hash");
    let tried = Password::new("eight teapots beside the harbour").expect("a password");
    let timed = |stored| {
        let start = Instant::now();
        hasher.verify(stored, &tried).expect("an answer");
        start.elapsed()
    };
    // In turns, so that whatever else the machine does falls on both alike.
    let (known, unknown): (Vec<_>, Vec<_>) = (0..200).map(|_| (timed(Some(&stored)), timed(None))).unzip();
    // Without the work for unknown accounts the share is 1. With it, it is near one half, however slow the machine is.
    let share = share_greater(&known, &unknown);
    assert!((0.1..=0.9).contains(&share), "the share of pairs in which the known account takes longer is {share}");
}
