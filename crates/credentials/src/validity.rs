//! Until when a token is valid: it expires, it is used or revoked, and it is not valid before it was made.

use jiff::{SignedDuration, Timestamp};

/// By how much clocks of several machines may differ, or one be corrected, before what was made a moment ago counts as made
/// in the future.
pub const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// The times of a token, as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// When it was made.
    pub issued_at: Timestamp,
    /// When it ends by itself. Only API keys may have none.
    pub expires_at: Option<Timestamp>,
    /// When it was used, for what is usable once; or when it was revoked.
    pub ended_at: Option<Timestamp>,
}

impl Validity {
    /// Says whether the token is valid.
    ///
    /// Where the clock is before the time at which the token was made, it was turned back, and says nothing of how much time has
    /// passed: the token is not valid until the clock is there again. A token that is made then is.
    pub fn check(&self, now: Timestamp) -> Result<(), Refusal> {
        if self.ended_at.is_some() {
            Err(Refusal::Ended)
        } else if self.issued_at.duration_since(now) > CLOCK_TOLERANCE {
            Err(Refusal::NotYet)
        } else if self.expires_at.is_some_and(|expires_at| now >= expires_at) {
            Err(Refusal::Expired)
        } else {
            Ok(())
        }
    }
}

/// Why a token that was made here is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was used before, or revoked.
    #[error("it was used before or revoked")]
    Ended,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// The clock is before the time at which it was made.
    #[error(
        "the clock is before the time at which it was made; next: compare the clock of this machine with the right time"
    )]
    NotYet,
}
