//! What the caller of a long download is asked, and what it is shown.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    is_ahead: Option<Arc<AtomicBool>>,
    has_unproved_end: Option<Arc<AtomicBool>>,
}

impl<'a> Supervision<'a> {
    /// Continues for as long as `check` returns no error. The error is the source of [`DownloadError::Interrupted`].
    pub fn new<E: Into<Box<dyn Error + Send + Sync>>>(check: impl Fn() -> Result<(), E> + Send + Sync + 'a) -> Self {
        Self {
            check: Some(Arc::new(move || check().map_err(Into::into))),
            count: None,
            is_ahead: None,
            has_unproved_end: None,
        }
    }

    /// Calls `count` with the number of bytes of each read.
    #[must_use]
    pub fn counting(mut self, count: impl Fn(u64) + Send + Sync + 'a) -> Self {
        self.count = Some(Arc::new(count));
        self
    }

    /// A download whose bytes are taken only after those of others: while `is_ahead` is set, it leaves one connection to its host to
    /// downloads whose bytes are taken. All connections could be in use by downloads that wait for others otherwise, which wait for a
    /// connection.
    #[must_use]
    pub fn ahead(mut self, is_ahead: Arc<AtomicBool>) -> Self {
        self.is_ahead = Some(is_ahead);
        self
    }

    /// Sets `flag` where nothing proves at the end that the file is whole: only the end of the connection says where it ends, neither the
    /// server nor the caller says its size, and no digest is compared.
    #[must_use]
    pub fn noting_unproved_end(mut self, flag: Arc<AtomicBool>) -> Self {
        self.has_unproved_end = Some(flag);
        self
    }

    /// Notes that nothing proves that the file is whole.
    pub(crate) fn note_unproved_end(&self) {
        if let Some(flag) = &self.has_unproved_end {
            flag.store(true, Ordering::Release);
        }
    }

    /// Whether the bytes are not taken yet.
    pub(crate) fn is_ahead(&self) -> bool {
        is_set(self.is_ahead.as_ref())
    }

    /// What says whether the bytes are not taken yet, where that is so at all.
    pub(crate) fn ahead_flag(&self) -> Option<Arc<AtomicBool>> {
        self.is_ahead.clone()
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

/// Whether a download whose flag this is waits for others to end.
pub(crate) fn is_set(flag: Option<&Arc<AtomicBool>>) -> bool {
    flag.is_some_and(|flag| flag.load(Ordering::Acquire))
}

impl fmt::Debug for Supervision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervision").finish_non_exhaustive()
    }
}
