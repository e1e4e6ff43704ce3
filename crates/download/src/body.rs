//! The bytes of a file as a reader that asks again for the rest when the connection breaks.

use std::fmt;
use std::io::{self, Read};

use strongroom_digest::{DigestSet, MultiHasher};

use crate::client::status_error;
use crate::entity::{ContentRange, Entity, Validator};
use crate::error::{DownloadError, is_of};
use crate::meter::{Quiet, Stall};
use crate::opening::{Begun, Request, Source, starts_at};
use crate::retry::Attempts;

/// The bytes of a file.
///
/// A read that fails because the connection broke or stalled is not seen: the rest is asked for with `Range` and `If-Range`, as often
/// as the policy says. At the end the size and the digests are compared. A failed read has a [`DownloadError`] in its
/// [`io::Error`]; see [`DownloadError::of`]. Nothing more comes after it.
pub struct Body<'a> {
    request: Request<'a>,
    entity: Entity,
    attempts: Attempts,
    source: Option<Source>,
    /// The offset of the first byte in the file.
    start: u64,
    /// The offset of the next byte in the file.
    position: u64,
    /// Bytes of the connection that were read before and have to be passed over.
    repeated: u64,
    hasher: Option<MultiHasher>,
    state: State,
}

/// Whether there is more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed,
}

impl<'a> Body<'a> {
    pub(crate) fn new(request: Request<'a>, begun: Begun, attempts: Attempts) -> Self {
        let algorithms: Vec<_> = request.expected.digests.iter().map(|(algorithm, _)| algorithm).collect();
        let hasher = (!algorithms.is_empty()).then(|| MultiHasher::new(&algorithms));
        Self {
            request,
            entity: begun.entity,
            attempts,
            source: Some(begun.source),
            start: begun.start,
            position: begun.start,
            repeated: 0,
            hasher,
            state: State::Open,
        }
    }

    /// All bytes of the file; none where the server does not say.
    pub fn size(&self) -> Option<u64> {
        self.entity.size
    }

    /// The header `ETag` as it was sent, with its quotes.
    pub fn etag(&self) -> Option<&str> {
        self.entity.etag.as_deref()
    }

    /// The same as [`Probe::version`](crate::Probe::version).
    pub fn version(&self) -> Option<&str> {
        self.entity.etag.as_deref().or(self.entity.last_modified.as_deref())
    }

    /// Bytes of the file that were read.
    pub fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn validator(&self) -> Option<&Validator> {
        self.entity.validator.as_ref()
    }

    /// The same as reading, with the error of the crate.
    pub(crate) fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, DownloadError> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let outcome = self.advance(buffer);
        if outcome.is_err() {
            self.state = State::Failed;
            self.source = None;
        }
        outcome
    }

    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, DownloadError> {
        if self.state == State::Failed {
            let source = io::Error::other("an earlier read failed");
            return Err(DownloadError::Broken { url: self.request.shown(), position: self.position, source });
        }
        while self.state == State::Open {
            self.request.supervision.check(&self.request.shown)?;
            let read = match &mut self.source {
                Some(source) => source.reader.read(buffer),
                None => match self.reconnect() {
                    Err(error) if error.is_retried() => {
                        self.attempts.failed(error, self.position, &self.request.supervision)?;
                        continue;
                    }
                    Err(error) => return Err(error),
                    Ok(()) => continue,
                },
            };
            match read {
                // The server sent less than was asked for, or the connection was closed.
                Ok(0) if self.entity.size.is_some_and(|size| self.position < size) => {
                    self.interrupted(io::ErrorKind::UnexpectedEof.into())?;
                }
                Ok(0) if self.entity.is_open_ended => self.ask_where_it_ends()?,
                Ok(0) if self.repeated > 0 => return Err(self.changed("it is shorter than before".into())),
                Ok(0) => self.finish()?,
                Ok(count) => {
                    let length = self.take(buffer, count)?;
                    if length > 0 {
                        return Ok(length);
                    }
                }
                Err(error) if is_of::<Quiet>(&error) => {}
                Err(error) => self.interrupted(error)?,
            }
        }
        Ok(0)
    }

    /// The end of the connection is the only sign of the end of the file (RFC 9112 section 6.3): one that was cut looks the same. So the server is
    /// asked for the size where none is expected. The file of one that does not say has ended here.
    fn ask_where_it_ends(&mut self) -> Result<(), DownloadError> {
        self.source = None;
        self.entity.is_open_ended = false;
        if self.stated_size().is_none() {
            self.entity.size = match self.request.client.probe(&self.request.url, &self.request.supervision) {
                Ok(probe) => probe.size.filter(|size| *size > 0),
                Err(error) if error.is_transient() => return Err(error),
                Err(_) => None,
            };
        }
        match self.stated_size() {
            Some(size) if self.position < size => self.interrupted(io::ErrorKind::UnexpectedEof.into()),
            _ if self.repeated > 0 => Err(self.changed("it is shorter than before".into())),
            stated => {
                if stated.is_none() && !self.request.is_compared {
                    self.request.supervision.note_unproved_end();
                }
                self.finish()
            }
        }
    }

    fn changed(&self, detail: String) -> DownloadError {
        DownloadError::Changed { url: self.request.shown(), detail }
    }

    /// The size that is expected, or else the one that the server states.
    fn stated_size(&self) -> Option<u64> {
        self.request.expected.size.or(self.entity.size)
    }

    /// Takes over the bytes that came, without those that had come before.
    fn take(&mut self, buffer: &mut [u8], count: usize) -> Result<usize, DownloadError> {
        let repeated = usize::try_from(self.repeated).unwrap_or(usize::MAX).min(count);
        self.repeated -= repeated as u64;
        buffer.copy_within(repeated..count, 0);
        let length = count - repeated;
        let position = self.position.saturating_add(length as u64);
        let most = self.stated_size().unwrap_or(u64::MAX).min(self.request.client.policy().max_bytes);
        if position > most {
            return Err(DownloadError::TooLong { url: self.request.shown(), most });
        }
        self.position = position;
        if let (Some(hasher), Some(bytes)) = (&mut self.hasher, buffer.get(..length)) {
            hasher.update(bytes);
        }
        self.request.supervision.count(length as u64);
        Ok(length)
    }

    /// The connection broke or stalled: the rest can be asked for, if there is something that proves that it is of the same file.
    fn interrupted(&mut self, error: io::Error) -> Result<(), DownloadError> {
        self.source = None;
        let (url, position) = (self.request.shown(), self.position);
        let failure = match error.get_ref().and_then(|inner| inner.downcast_ref::<Stall>()) {
            Some(stall) => DownloadError::Stalled { url, position, received: stall.received, window: stall.window },
            None => DownloadError::Broken { url, position, source: error },
        };
        if self.position > 0 && self.entity.validator.is_none() {
            return Err(failure);
        }
        self.attempts.failed(failure, self.position, &self.request.supervision)
    }

    fn reconnect(&mut self) -> Result<(), DownloadError> {
        if self.stated_size() == Some(self.position) {
            return self.finish();
        }
        let changed = |detail| self.changed(detail);
        let range = (self.position > 0).then(|| format!("bytes={}-", self.position));
        let validator = self.entity.validator.as_ref().filter(|_| range.is_some()).map(Validator::as_str);
        let answer = self.request.ask(range.as_deref(), validator)?;
        let headers = answer.response.headers();
        let (later, repeated) = match answer.response.status().as_u16() {
            206 if range.is_some() => {
                if !starts_at(&answer, self.position) {
                    return Err(changed(format!("byte {} was asked for, and the server sent others", self.position)));
                }
                (Entity::part(headers), 0)
            }
            200 => {
                let later = Entity::whole(headers);
                // The server sends no parts, or the file is another one now.
                if range.is_some() && later.validator != self.entity.validator {
                    return Err(changed("another version was sent when its rest was asked for".into()));
                }
                (later, self.position)
            }
            // The end of a file of unknown size was not marked, and there is no more.
            416 if ContentRange::of(headers).is_some_and(|range| range.size == Some(self.position)) => {
                let later = Entity::part(headers);
                return match self.entity.difference(&later) {
                    Some(detail) => Err(changed(detail)),
                    None => self.finish(),
                };
            }
            416 => return Err(changed(format!("it no longer has {} bytes", self.position.saturating_add(1)))),
            _ => return Err(status_error(&self.request.url, &answer.response)),
        };
        if let Some(detail) = self.entity.difference(&later) {
            return Err(changed(detail));
        }
        self.entity.size = self.entity.size.or(later.size);
        self.repeated = repeated;
        self.source = Some(Source::of(answer));
        Ok(())
    }

    /// The server has sent everything: compares the size and the digests.
    fn finish(&mut self) -> Result<(), DownloadError> {
        self.source = None;
        let url = self.request.shown();
        let found = self.position;
        if let Some(expected) = self.stated_size().filter(|size| *size != found) {
            return Err(DownloadError::Length { url, expected, found });
        }
        if let Some(hasher) = self.hasher.take() {
            compare(&url, &self.request.expected.digests, &hasher.finish())?;
        }
        self.state = State::Ended;
        Ok(())
    }
}

/// Compares digests with those that were expected.
pub(crate) fn compare(url: &str, expected: &DigestSet, found: &DigestSet) -> Result<(), DownloadError> {
    for (algorithm, expected) in expected.iter() {
        match found.get(algorithm) {
            Some(found) if found != expected => {
                let (expected, found) = (Box::new(expected), Box::new(found));
                return Err(DownloadError::Digest { url: url.to_owned(), algorithm, expected, found });
            }
            _ => {}
        }
    }
    Ok(())
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_some(buffer).map_err(io::Error::from)
    }
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("url", &self.request.shown())
            .field("position", &self.position)
            .field("size", &self.entity.size)
            .finish_non_exhaustive()
    }
}
