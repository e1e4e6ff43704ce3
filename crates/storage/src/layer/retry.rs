//! Trying again what failed for a reason that may pass.

use std::fmt;
use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use super::{Call, Layer};
use crate::{Head, StorageError};

/// Bytes of a put's body that are kept to be read again.
const KEPT: usize = 1 << 20;

/// How often, and how long to wait before the next attempt: twice as long each time, up to `longest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; 0 counts as 1.
    pub attempts: u32,
    /// Wait before the second attempt.
    pub first: Duration,
    /// No wait is longer.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    /// Four attempts, with waits of 0.2, 0.4 and 0.8 seconds.
    fn default() -> Self {
        Self { attempts: 4, first: Duration::from_millis(200), longest: Duration::from_secs(10) }
    }
}

/// Tries transient errors again. A put is tried again while its body can be read again: up to 1 MiB of it is kept for
/// that; what has read further is the caller's to repeat, who has the source. The reading of an opened body and of a
/// listing is not tried again. A put with [`crate::PutCondition::IfAbsent`] whose first attempt did take effect before
/// it failed is refused by the second: its caller looks at what lies there, as after any refusal.
pub struct Retry {
    policy: RetryPolicy,
    sleep: Box<dyn Fn(Duration) + Send + Sync>,
}

impl Retry {
    /// Retries by this policy, sleeping in the caller's thread.
    pub fn new(policy: RetryPolicy) -> Self {
        Self::with_sleep(policy, thread::sleep)
    }

    /// As [`Retry::new`], with another way to wait.
    pub fn with_sleep(policy: RetryPolicy, sleep: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self { policy, sleep: Box::new(sleep) }
    }

    /// Waits, when there is another attempt after the one of this number (the first is 1).
    fn waits(&self, attempt: u32, error: &StorageError) -> bool {
        let is_source = matches!(error, StorageError::Source { .. });
        if is_source || !error.is_transient() || attempt >= self.policy.attempts {
            return false;
        }
        let doubled = 2_u32.checked_pow(attempt - 1).and_then(|times| self.policy.first.checked_mul(times));
        (self.sleep)(doubled.unwrap_or(self.policy.longest).min(self.policy.longest));
        true
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Layer for Retry {
    fn call<T>(&self, _call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let mut attempt = 1;
        loop {
            match act() {
                Err(error) if self.waits(attempt, &error) => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    fn put(
        &self,
        _call: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        let mut body = Replay { rest: body, seen: Vec::new(), position: 0, is_whole: true };
        let mut attempt = 1;
        loop {
            body.position = 0;
            match act(&mut body) {
                Err(error) if body.is_whole && self.waits(attempt, &error) => attempt += 1,
                outcome => return outcome,
            }
        }
    }
}

/// A reader that keeps what it reads, up to [`KEPT`] bytes, and can give it again.
struct Replay<'a> {
    rest: &'a mut dyn Read,
    seen: Vec<u8>,
    position: usize,
    /// Whether all that was read is kept.
    is_whole: bool,
}

impl Read for Replay<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(again) = self.seen.get(self.position..).filter(|again| !again.is_empty()) {
            let length = again.len().min(buffer.len());
            let (now, _) = again.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.position += length;
            return Ok(length);
        }
        let length = self.rest.read(buffer)?;
        if self.is_whole {
            let bytes = buffer.get(..length).unwrap_or_default();
            self.is_whole = self.seen.len() + bytes.len() <= KEPT;
            if self.is_whole {
                self.seen.extend_from_slice(bytes);
                self.position = self.seen.len();
            } else {
                self.seen = Vec::new();
                self.position = 0;
            }
        }
        Ok(length)
    }
}
