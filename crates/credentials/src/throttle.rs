//! How often something may be tried: a state machine without a clock, one state for each password, second factor and network address.
//!
//! - An attempt is counted before its outcome is known, and taken back when it succeeds. Otherwise many that run at the same time would all be
//!   tried before the first of them fails.
//! - The first few are free. After that each has to wait, and the wait doubles up to a limit (OWASP Authentication Cheat Sheet, "Account
//!   Lockout"; NIST SP 800-63B-4, section 3.2.2, has "30 seconds up to an hour"). What is refused is not counted: attempts of a
//!   stranger do not make the wait of the owner longer.
//! - After a time without an attempt, the waits begin anew.
//! - After 100 failures in a row an authenticator is disabled until it is replaced (the same section). This count forgets nothing with
//!   time, so a clock that is turned opens nothing: between two successes there are never more than 100 guesses.
//! - Where the clock is before the last attempt, it was turned back. The last attempt is moved to now: a wait begins
//!   again at this time, and is never longer than the whole of it.
//!
//! States are stored after each attempt, whatever its answer, in one transaction with their reading.

use jiff::{SignedDuration, Timestamp};

/// When an attempt has to wait, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottlePolicy {
    /// Attempts without a wait.
    pub free: u32,
    /// The wait after those.
    pub first_wait: SignedDuration,
    /// The longest wait.
    pub longest_wait: SignedDuration,
    /// After this time without an attempt, the waits begin anew. It is longer than the longest wait.
    pub forget_after: SignedDuration,
    /// After so many failures in a row, nothing is admitted any more.
    pub disable_after: Option<u32>,
}

impl ThrottlePolicy {
    /// For a password or a second factor of an account: five attempts, then 30 seconds to an hour, 100 in a row.
    pub const AUTHENTICATOR: Self = Self {
        free: 5,
        first_wait: SignedDuration::from_secs(30),
        longest_wait: SignedDuration::from_hours(1),
        forget_after: SignedDuration::from_hours(24),
        disable_after: Some(100),
    };

    /// For a network address, behind which there may be a whole institution: 50 attempts, then 10 seconds to 15 minutes. An address
    /// is never disabled: it is no authenticator, and may belong to someone else tomorrow.
    pub const ADDRESS: Self = Self {
        free: 50,
        first_wait: SignedDuration::from_secs(10),
        longest_wait: SignedDuration::from_mins(15),
        forget_after: SignedDuration::from_hours(1),
        disable_after: None,
    };

    /// The wait after so many attempts.
    fn wait(&self, recent: u32) -> SignedDuration {
        let Some(doublings) = recent.checked_sub(self.free) else { return SignedDuration::ZERO };
        let mut wait = self.first_wait;
        for _ in 0..doublings {
            if wait >= self.longest_wait {
                break;
            }
            wait = wait.saturating_mul(2);
        }
        wait.min(self.longest_wait)
    }
}

/// The answer to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// It may be tried, and is counted.
    Admitted,
    /// It has to wait for so long, and is not counted.
    Wait(SignedDuration),
    /// There were too many failures in a row: the password is to be reset, or the factor to be replaced.
    Disabled,
}

/// The attempts of one authenticator or address. The default is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttle {
    /// Attempts since the waits began anew.
    pub recent: u32,
    /// Attempts since the last success.
    pub consecutive: u32,
    /// The last attempt that was admitted.
    pub last_at: Option<Timestamp>,
}

impl Throttle {
    /// Asks for an attempt, and counts it where it is admitted.
    pub fn attempt(&mut self, policy: &ThrottlePolicy, now: Timestamp) -> Attempt {
        Self::attempt_all([(self, policy)], now)
    }

    /// Asks for an attempt that several states are about, such as those of a password and of an address. It is counted in all of
    /// them or in none: one that an address has to wait for does not count against the account.
    pub fn attempt_all<'a, const COUNT: usize>(
        mut all: [(&'a mut Self, &'a ThrottlePolicy); COUNT],
        now: Timestamp,
    ) -> Attempt {
        let mut longest = SignedDuration::ZERO;
        let mut is_disabled = false;
        for (throttle, policy) in &mut all {
            throttle.settle(policy, now);
            is_disabled |= policy.disable_after.is_some_and(|most| throttle.consecutive >= most);
            longest = longest.max(throttle.remaining(policy, now));
        }
        // The wait comes first: it is what a stranger sees, and an account that is disabled should look like any other.
        if longest > SignedDuration::ZERO {
            return Attempt::Wait(longest);
        }
        // It is counted also where nothing is admitted any more: otherwise the attempts on a disabled account would not have to wait, and
        // those on an account that does not exist would.
        for (throttle, _) in &mut all {
            throttle.recent = throttle.recent.saturating_add(1);
            throttle.consecutive = throttle.consecutive.saturating_add(1);
            throttle.last_at = Some(now);
        }
        if is_disabled { Attempt::Disabled } else { Attempt::Admitted }
    }

    /// The attempt has succeeded, and this is the state of the authenticator: every failure before it is disregarded.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// The attempt has succeeded, and this is the state of an address: only this attempt is disregarded. An attacker who has an account
    /// could otherwise sign in now and then, and never wait.
    pub fn take_back(&mut self) {
        self.recent = self.recent.saturating_sub(1);
        self.consecutive = self.consecutive.saturating_sub(1);
    }

    /// Whether the waits have begun anew by now. The row of an address, or of an account that does not exist, is of no more use then and may
    /// be deleted; that of an account that exists keeps `consecutive`.
    pub fn is_forgotten(&self, policy: &ThrottlePolicy, now: Timestamp) -> bool {
        self.last_at.is_none_or(|last| now.duration_since(last) >= policy.forget_after)
    }

    /// Moves what lies in the future to now, and forgets what is long ago.
    fn settle(&mut self, policy: &ThrottlePolicy, now: Timestamp) {
        self.last_at = self.last_at.map(|last| last.min(now));
        if self.is_forgotten(policy, now) {
            self.recent = 0;
        }
    }

    /// How long an attempt has to wait from now on.
    fn remaining(&self, policy: &ThrottlePolicy, now: Timestamp) -> SignedDuration {
        let Some(last) = self.last_at else { return SignedDuration::ZERO };
        policy.wait(self.recent).saturating_sub(now.duration_since(last)).max(SignedDuration::ZERO)
    }
}
