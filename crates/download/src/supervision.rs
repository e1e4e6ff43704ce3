//! What the caller of a long download is asked, and what it is shown.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::DownloadError;

/// How long a wait lasts until the caller is asked again whether to continue.
pub(crate) const SLICE: Duration = Duration::from_millis(500);

type Check<'a> = dyn Fn() -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync + 'a;
type Count<'a> = dyn Fn(u64) + Send + Sync + 'a;

/// Asks the caller whether to continue: before each read, and at least every second while a body, a free connection or the next
/// attempt is waited for. Shows it how many bytes come. The default continues always and shows nothing.
#[derive(Clone, Default)]
pub struct Supervision<'a> {
    check: Option<Arc<Check<'a>>>,
    count: Option<Arc<Count<'a>>>,
}

impl<'a> Supervision<'a> {
    /// Continues for as long as `check` returns no error. The error is the source of [`DownloadError::Interrupted`].
    pub fn new<E: Into<Box<dyn Error + Send + Sync>>>(check: impl Fn() -> Result<(), E> + Send + Sync + 'a) -> Self {
        Self { check: Some(Arc::new(move || check().map_err(Into::into))), count: None }
    }

    /// Calls `count` with the number of bytes of each read.
    #[must_use]
    pub fn counting(mut self, count: impl Fn(u64) + Send + Sync + 'a) -> Self {
        self.count = Some(Arc::new(count));
        self
    }

    /// Asks the caller whether to continue, where `what` is done.
    ///
    /// # Errors
    /// [`DownloadError::Interrupted`] with the caller's error.
    pub fn ask(&self, what: &str) -> Result<(), DownloadError> {
        self.check(what)
    }

    pub(crate) fn check(&self, url: &str) -> Result<(), DownloadError> {
        match &self.check {
            Some(check) => check().map_err(|source| DownloadError::Interrupted { url: url.to_owned(), source }),
            None => Ok(()),
        }
    }

    pub(crate) fn count(&self, bytes: u64) {
        if let Some(count) = &self.count {
            count(bytes);
        }
    }

    /// Waits, and asks in between.
    pub(crate) fn wait(&self, url: &str, time: Duration) -> Result<(), DownloadError> {
        let begun = Instant::now();
        loop {
            self.check(url)?;
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(SLICE));
        }
    }
}

impl fmt::Debug for Supervision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervision").finish_non_exhaustive()
    }
}
