//! Downloads to a file, which another process can resume.

use std::path::Path;

use strongroom_digest::{Algorithm, DigestSet, MultiHasher};

use crate::body::compare;
use crate::client::Client;
use crate::error::DownloadError;
use crate::location::shown_text;
use crate::opening::Expected;
use crate::partial::Partial;
use crate::retry::Attempts;
use crate::supervision::Supervision;

/// Bytes that are read and written at a time.
const BUFFER: usize = 256 << 10;

/// A download to a file.
#[derive(Debug, Clone, Copy)]
pub struct FileRequest<'r> {
    /// What is downloaded.
    pub url: &'r str,
    /// The file. What is there under its name is replaced when the download is complete.
    pub target: &'r Path,
    /// What is known of the file.
    pub expected: &'r Expected,
    /// Digests to compute besides those that are expected.
    pub algorithms: &'r [Algorithm],
}

/// A downloaded file.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Its bytes.
    pub bytes: u64,
    /// The digests that were expected or asked for.
    pub digests: DigestSet,
    /// The header `ETag` as it was sent, with its quotes.
    pub etag: Option<String>,
    /// Bytes that an earlier download had left, and that were not sent again.
    pub resumed: u64,
}

impl Client {
    /// Downloads a file. The bytes are written to a file beside the target, which is renamed when they are complete, verified and
    /// synchronized with the disk. After an error that is transient they are kept with their state, and a later call with the same
    /// URL and target asks only for the rest, if the server still has the same version of the file. After any other error they are
    /// removed.
    ///
    /// Where the server changes the file in between, or cannot send the rest alone, the download starts over, as often as the policy
    /// says.
    pub fn fetch(&self, request: &FileRequest<'_>, supervision: &Supervision<'_>) -> Result<Fetched, DownloadError> {
        self.check(request.url)?;
        let mut partial = Partial::open(request.target, request.url)?;
        let mut attempts = Attempts::new(self.retries());
        loop {
            let resumed = partial.resume().map_or(0, |resume| resume.position);
            let error = match self.complete(request, &mut partial, supervision) {
                Ok(fetched) => {
                    partial.publish()?;
                    return Ok(fetched);
                }
                Err(error) => error,
            };
            let is_repeated = match &error {
                DownloadError::Changed { .. } => true,
                // What an earlier process left may be wrong, not what the server sends.
                DownloadError::Digest { .. } | DownloadError::Length { .. } | DownloadError::TooLong { .. } => {
                    resumed > 0
                }
                // With a version to resume at, the reader has made its attempts.
                _ => error.is_retried() && partial.written() > 0 && partial.resume().is_none(),
            };
            let error = if is_repeated {
                partial.clear()?;
                match attempts.failed(error, 0, supervision) {
                    Ok(()) => continue,
                    Err(error) => error,
                }
            } else {
                error
            };
            // A later call removes or replaces what this does not; the error that led here says more.
            let _ = match partial.resume() {
                Some(_) if error.is_transient() => partial.keep(),
                _ => partial.remove(),
            };
            return Err(error);
        }
    }

    fn complete(
        &self,
        request: &FileRequest<'_>,
        partial: &mut Partial,
        supervision: &Supervision<'_>,
    ) -> Result<Fetched, DownloadError> {
        // The reader does not see the bytes of earlier downloads, so the digests are compared here.
        let expected = Expected { digests: DigestSet::default(), ..request.expected.clone() };
        let is_compared = !request.expected.digests.is_empty();
        let mut body =
            self.open_at(request.url, (expected, is_compared), supervision.clone(), partial.resume().as_ref())?;
        partial.begin(body.start(), body.validator())?;
        let mut hasher = MultiHasher::new(&algorithms(request));
        let mut buffer = vec![0; BUFFER];
        if body.start() > 0 {
            hash_kept(partial, &mut hasher, &mut buffer, &|| supervision.check(&shown_text(request.url)))?;
        }
        loop {
            let length = body.read_some(&mut buffer)?;
            let Some(bytes) = buffer.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
            hasher.update(bytes);
            partial.write(bytes)?;
        }
        let digests = hasher.finish();
        compare(&shown_text(request.url), &request.expected.digests, &digests)?;
        let etag = body.etag().map(str::to_owned);
        Ok(Fetched { bytes: body.position(), digests, etag, resumed: body.start() })
    }
}

/// The algorithms that are expected or asked for, each once.
fn algorithms(request: &FileRequest<'_>) -> Vec<Algorithm> {
    let mut algorithms: Vec<_> = request.expected.digests.iter().map(|(algorithm, _)| algorithm).collect();
    for algorithm in request.algorithms {
        if !algorithms.contains(algorithm) {
            algorithms.push(*algorithm);
        }
    }
    algorithms
}

fn hash_kept(
    partial: &mut Partial,
    hasher: &mut MultiHasher,
    buffer: &mut [u8],
    check: &dyn Fn() -> Result<(), DownloadError>,
) -> Result<(), DownloadError> {
    let mut left = partial.written();
    while left > 0 {
        check()?;
        let offset = partial.written() - left;
        let length = partial.read_at(offset, buffer)?;
        let Some(bytes) = buffer.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
        left = left.saturating_sub(length as u64);
    }
    Ok(())
}
