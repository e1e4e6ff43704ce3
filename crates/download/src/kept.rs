//! The bytes of a file as a reader that keeps them in a file as they come, so that another process can begin where this one ended.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use strongroom_digest::{DigestSet, MultiHasher};

use crate::body::{Body, compare};
use crate::client::Client;
use crate::error::DownloadError;
use crate::location::shown_text;
use crate::opening::Expected;
use crate::partial::{Partial, SYNC_EVERY, has_room, remove};
use crate::supervision::Supervision;

/// The bytes of a file, of which those that came to an earlier reader are read from the disk, and only the rest from the server.
///
/// It is read like a [`Body`]. Sizes and digests are those of all bytes, wherever they were read.
pub struct KeptBody<'a> {
    body: Body<'a>,
    /// Where the bytes are kept; nothing where they are not, or cannot be any more.
    partial: Option<Partial>,
    /// The offset of the next byte.
    position: u64,
    /// Those that are expected of all bytes.
    expected: DigestSet,
    hasher: Option<MultiHasher>,
    supervision: Supervision<'a>,
    shown: String,
    state: State,
}

/// Whether there is more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed,
}

impl Client {
    /// Opens a file for reading as [`Client::open`] does, and keeps what comes in files beside `kept` (see [`Client::fetch`]), which is
    /// never made itself. A later call with the same URL and `kept` reads what was kept from there, and asks only for the rest, if the
    /// server still has the same version of the file; otherwise everything is read from the server.
    ///
    /// Only what may be resumed is kept: files of at least 16 MiB, of known size, that have a validator. What cannot be written, or would
    /// leave less than a twentieth of the file system free, is not kept, and the file is read all the same. When the bytes are where
    /// they are needed, [`forget`] removes what is kept.
    pub fn open_kept<'a>(
        &self,
        url: &str,
        expected: Expected,
        supervision: Supervision<'a>,
        kept: &Path,
    ) -> Result<KeptBody<'a>, DownloadError> {
        let begun = if Partial::is_there(kept) { Partial::open(kept, url).ok() } else { None };
        let resume = begun.as_ref().and_then(Partial::resume_before_end);
        let Expected { size, digests, version } = expected;
        let expected = (Expected { size, digests: DigestSet::default(), version }, !digests.is_empty());
        let body = match self.open_at(url, expected, supervision.clone(), resume.as_ref()) {
            Ok(body) => body,
            Err(error) => {
                if let Some(partial) = begun.filter(|_| !error.is_transient() || is_changed(&error)) {
                    // What is left of it is another version, and is not used.
                    let _ = partial.remove();
                }
                return Err(error);
            }
        };
        let left = body.size().filter(|size| *size >= SYNC_EVERY).map(|size| size.saturating_sub(body.start()));
        let is_worth_it = body.validator().is_some() && left.is_some_and(|left| has_room(kept, left));
        let mut partial = begun.or_else(|| if is_worth_it { Partial::open(kept, url).ok() } else { None });
        let has_begun = |partial: &mut Partial| is_worth_it && partial.begin(body.start(), body.validator()).is_ok();
        if let Some(useless) = partial.take_if(|partial| !has_begun(partial)) {
            // The next attempt does not need it to be gone.
            let _ = useless.remove();
            if body.start() > 0 {
                let detail = "what was kept of it cannot be used any more".to_owned();
                return Err(DownloadError::Changed { url: shown_text(url), detail });
            }
        }
        let algorithms: Vec<_> = digests.iter().map(|(algorithm, _)| algorithm).collect();
        let hasher = (!algorithms.is_empty()).then(|| MultiHasher::new(&algorithms));
        let shown = shown_text(url);
        Ok(KeptBody { body, partial, position: 0, expected: digests, hasher, supervision, shown, state: State::Open })
    }
}

/// Removes what [`Client::open_kept`] keeps beside a path, where there is any.
pub fn forget(kept: &Path) -> Result<(), DownloadError> {
    remove(kept)
}

fn is_changed(error: &DownloadError) -> bool {
    matches!(error, DownloadError::Changed { .. })
}

impl KeptBody<'_> {
    /// All bytes of the file; none where the server does not say.
    pub fn size(&self) -> Option<u64> {
        self.body.size()
    }

    /// Bytes that an earlier reader had left, and that are not sent again.
    pub fn resumed(&self) -> u64 {
        self.body.start()
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, DownloadError> {
        match self.state {
            State::Open => {}
            State::Ended => return Ok(0),
            State::Failed => {
                let source = io::Error::other("an earlier read failed");
                return Err(DownloadError::Broken { url: self.shown.clone(), position: self.position, source });
            }
        }
        if buffer.is_empty() {
            return Ok(0);
        }
        self.advance(buffer).map_err(|error| self.fail(error))
    }

    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, DownloadError> {
        let is_repeated = self.position < self.body.start();
        let length = if is_repeated { self.read_kept(buffer)? } else { self.body.read_some(buffer)? };
        let bytes = buffer.get(..length).unwrap_or_default();
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        if length == 0 {
            self.finish()?;
        } else if !is_repeated {
            self.keep(bytes);
        }
        self.position = self.position.saturating_add(length as u64);
        Ok(length)
    }

    /// Reads bytes that an earlier reader has left.
    fn read_kept(&mut self, buffer: &mut [u8]) -> Result<usize, DownloadError> {
        self.supervision.check(&self.shown)?;
        let left = self.body.start() - self.position;
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = match (&self.partial, buffer.get_mut(..most)) {
            (Some(partial), Some(buffer)) => partial.read_at(self.position, buffer)?,
            _ => 0,
        };
        if read == 0 {
            let detail = "what was kept of it is gone".to_owned();
            return Err(DownloadError::Changed { url: self.shown.clone(), detail });
        }
        Ok(read)
    }

    /// Keeps bytes, for as long as that is possible.
    fn keep(&mut self, bytes: &[u8]) {
        let failed = |partial: &mut Partial| partial.write(bytes).is_err() || !partial.leaves_room();
        if let Some(partial) = self.partial.take_if(failed) {
            // What is left of it is cut or removed when it is opened.
            let _ = partial.remove();
        }
    }

    /// The server has sent everything: compares the digests of all bytes. What was kept stays until it is forgotten.
    fn finish(&mut self) -> Result<(), DownloadError> {
        if let Some(hasher) = self.hasher.take() {
            compare(&self.shown, &self.expected, &hasher.finish())?;
        }
        if let Some(partial) = &mut self.partial {
            // Without it the next reader asks for more.
            let _ = partial.keep();
        }
        self.state = State::Ended;
        Ok(())
    }

    /// Says what a failure means, and keeps or removes what came.
    fn fail(&mut self, error: DownloadError) -> DownloadError {
        self.state = State::Failed;
        // What an earlier reader left may be wrong, not what the server sends.
        let is_of_content = matches!(
            error,
            DownloadError::Digest { .. } | DownloadError::Length { .. } | DownloadError::TooLong { .. }
        );
        let error = if is_of_content && self.body.start() > 0 {
            let detail =
                format!("with the {} bytes that were kept of it, it is not as expected: {error}", self.body.start());
            DownloadError::Changed { url: self.shown.clone(), detail }
        } else {
            error
        };
        if let Some(mut partial) = self.partial.take() {
            // The error says more than that this failed.
            let _ = if error.is_transient() && !is_changed(&error) { partial.keep() } else { partial.remove() };
        }
        error
    }
}

impl Read for KeptBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.read_some(buffer)?)
    }
}

impl fmt::Debug for KeptBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptBody").field("url", &self.shown).field("position", &self.position).finish_non_exhaustive()
    }
}
