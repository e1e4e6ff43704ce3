//! How long a session lasts: it ends after a time without a request, and after a time in any case. Its token is replaced now and
//! then, so that one that leaks is not of use until the end.

use jiff::{SignedDuration, Timestamp};

use crate::validity::CLOCK_TOLERANCE;

/// Limits of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The longest time without a request.
    pub idle: SignedDuration,
    /// The longest time since signing in.
    pub absolute: SignedDuration,
    /// After this time its token is replaced.
    pub rotation: SignedDuration,
    /// The time of the last request is noted no more often than this: each note is a write.
    pub noted: SignedDuration,
}

impl Default for SessionLimits {
    /// One hour idle and 12 hours in all. NIST SP 800-63B-4, section 2.2.3, has one hour and 24 for two factors; 12 hours is what the
    /// sessions of APTrust last.
    fn default() -> Self {
        Self {
            idle: SignedDuration::from_hours(1),
            absolute: SignedDuration::from_hours(12),
            rotation: SignedDuration::from_mins(15),
            noted: SignedDuration::from_mins(1),
        }
    }
}

/// The times of a session, as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTimes {
    /// When its user signed in.
    pub started_at: Timestamp,
    /// When its last request was noted.
    pub seen_at: Timestamp,
    /// When its token was made.
    pub rotated_at: Timestamp,
}

/// What is to be done with a session that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionNext {
    /// Nothing.
    Continue,
    /// Note the time of this request.
    Note,
    /// Replace the token, and note the time. The old token stays valid for requests that are on their way, for as long as the caller decides.
    Rotate,
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionEnd {
    /// There was no request for too long.
    #[error("the session ended because it was not used; next: sign in again")]
    Idle,
    /// It has lasted for too long.
    #[error("the session ended after the longest time for one; next: sign in again")]
    Absolute,
    /// The clock is before the time at which the session was started or seen.
    #[error("the session ended because the clock was turned back; next: sign in again")]
    Clock,
}

impl SessionTimes {
    /// Times of a session that starts now.
    pub const fn start(now: Timestamp) -> Self {
        Self { started_at: now, seen_at: now, rotated_at: now }
    }

    /// Says whether the session goes on, and what is to be done.
    ///
    /// A clock that was turned back ends sessions: how much of their time has passed is no longer known, and signing in again is
    /// a small price. Nothing is locked by it.
    pub fn check(&self, now: Timestamp, limits: &SessionLimits) -> Result<SessionNext, SessionEnd> {
        let latest = self.started_at.max(self.seen_at).max(self.rotated_at);
        if latest.duration_since(now) > CLOCK_TOLERANCE {
            Err(SessionEnd::Clock)
        } else if now.duration_since(self.started_at) >= limits.absolute {
            Err(SessionEnd::Absolute)
        } else if now.duration_since(self.seen_at) >= limits.idle {
            Err(SessionEnd::Idle)
        } else if now.duration_since(self.rotated_at) >= limits.rotation {
            Ok(SessionNext::Rotate)
        } else if now.duration_since(self.seen_at) >= limits.noted {
            Ok(SessionNext::Note)
        } else {
            Ok(SessionNext::Continue)
        }
    }

    /// The times after a request, by what [`SessionTimes::check`] said.
    #[must_use]
    pub fn after(self, next: SessionNext, now: Timestamp) -> Self {
        match next {
            SessionNext::Continue => self,
            SessionNext::Note => Self { seen_at: now, ..self },
            SessionNext::Rotate => Self { seen_at: now, rotated_at: now, ..self },
        }
    }
}
