//! Many downloads at a time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use crate::body::Body;
use crate::client::Client;
use crate::error::DownloadError;
use crate::location::shown_text;
use crate::opening::Expected;
use crate::supervision::Supervision;

/// A file that is downloaded with others.
pub trait Job: Send {
    /// Where it is.
    fn url(&self) -> &str;

    /// What is known of it.
    fn expected(&self) -> Expected;
}

/// How a download of many ended.
#[derive(Debug)]
pub struct Finished<J, T> {
    /// Its number in the order of the jobs, from 0.
    pub index: usize,
    /// What was asked for.
    pub job: J,
    /// What the sink returned, or why it failed.
    pub outcome: Result<T, DownloadError>,
}

/// What became of many downloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files that were downloaded.
    pub succeeded: usize,
    /// Files that were not.
    pub failed: usize,
    /// Whether jobs were left that were not begun, because another one failed for good.
    pub is_stopped: bool,
}

impl Client {
    /// Downloads `jobs` with so many threads, each through `sink`, and shows each end to `report`, in the order in which they end.
    /// Connections to one host are limited by the policy.
    ///
    /// After a failure that is not transient no further job is begun. Those that had begun are completed and reported, so every
    /// failure is seen. An error of `sink` that is none of a download fails its job for good.
    pub fn fetch_all<J: Job, T: Send>(
        &self,
        jobs: impl Iterator<Item = J> + Send,
        parallel: &Parallel<'_>,
        sink: impl Fn(&J, Body<'_>) -> io::Result<T> + Sync,
        mut report: impl FnMut(Finished<J, T>),
    ) -> Totals {
        let jobs = Mutex::new(jobs.enumerate());
        let is_stopped = AtomicBool::new(false);
        let work = |ended: mpsc::Sender<Finished<J, T>>| {
            while !is_stopped.load(Ordering::Relaxed) {
                let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((index, job)) = next else { return };
                let outcome = self.run(&job, &parallel.supervision, &sink);
                if outcome.as_ref().is_err_and(|error| !is_passing(error)) {
                    is_stopped.store(true, Ordering::Relaxed);
                }
                if ended.send(Finished { index, job, outcome }).is_err() {
                    return;
                }
            }
        };
        let mut totals = Totals::default();
        thread::scope(|scope| {
            let (sender, ended) = mpsc::channel();
            for _ in 0..parallel.threads.max(1) {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            for finished in ended {
                match finished.outcome {
                    Ok(_) => totals.succeeded += 1,
                    Err(_) => totals.failed += 1,
                }
                report(finished);
            }
        });
        let is_left = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next().is_some();
        totals.is_stopped = is_stopped.load(Ordering::Relaxed) && is_left();
        totals
    }

    fn run<J: Job, T>(
        &self,
        job: &J,
        supervision: &Supervision<'_>,
        sink: &(impl Fn(&J, Body<'_>) -> io::Result<T> + Sync),
    ) -> Result<T, DownloadError> {
        let body = self.open(job.url(), job.expected(), supervision.clone())?;
        sink(job, body).map_err(|error| {
            DownloadError::from_io(error)
                .unwrap_or_else(|source| DownloadError::Sink { url: shown_text(job.url()), source })
        })
    }
}

/// How many downloads at a time, and who is asked between reads.
#[derive(Debug, Clone, Default)]
pub struct Parallel<'a> {
    /// Threads; at least one.
    pub threads: usize,
    /// Asked by all of them.
    pub supervision: Supervision<'a>,
}

/// Whether other downloads go on after a failure: not after one for good, and not when the caller asked to stop.
fn is_passing(error: &DownloadError) -> bool {
    error.is_transient() && !matches!(error, DownloadError::Interrupted { .. } | DownloadError::Sink { .. })
}
