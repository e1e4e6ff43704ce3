//! Reading: ranges, and bodies that are asked for anew where they were cut or stood still.

use std::io::{self, ErrorKind, Read};
use std::ops::Deref;
use std::sync::Arc;

use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use bytes::{Buf, Bytes};
use strongroom_storage::{Body, Key, StorageError};
use tokio::time::timeout;

use crate::condition::is_etag;
use crate::failure::Failure;
use crate::head::etag_of;
use crate::store::Inner;

/// No object reaches further.
const LAST_BYTE: u64 = 1 << 50;
/// So many bytes after a resumption count as the body going on well.
const GOES_WELL: u64 = 1 << 20;

/// Opens a key for reading.
pub(crate) fn open(inner: &Arc<Inner>, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
    let name = inner.object(key)?;
    // There is no empty range, and none that begins where no object reaches.
    if length == Some(0) || offset > LAST_BYTE {
        inner.head(key)?;
        return Ok(Box::new(io::empty()));
    }
    // The last byte of a range is part of it.
    let last = length.map(|length| offset.saturating_add(length - 1).min(LAST_BYTE));
    let output = match get(inner, &name, offset, last, None) {
        Ok(output) => output,
        Err(failure) if failure.is("InvalidRange") || failure.status == Some(416) => {
            return Ok(Box::new(io::empty()));
        }
        Err(failure) => return Err(unopened(inner, key, failure)),
    };
    Ok(Box::new(Reading::new(Arc::clone(inner), name, offset, output)))
}

/// Opens an item of a space that has this etag.
pub(crate) fn open_match(inner: &Arc<Inner>, key: &Key, etag: &str) -> Result<Body, StorageError> {
    let name = inner.object(key)?;
    let changed = || StorageError::Changed { store: inner.name.clone(), key: key.clone(), etag: etag.to_owned() };
    if !is_etag(etag) {
        // Nothing has it, and nothing lies there or something else does.
        return Err(inner.head(key).map_or_else(|error| error, |_| changed()));
    }
    match get(inner, &name, 0, None, Some(format!("\"{etag}\""))) {
        // Where the service does not look after the condition.
        Ok(output) if etag_of(output.e_tag()) != etag => Err(changed()),
        Ok(output) => Ok(Box::new(Reading::new(Arc::clone(inner), name, 0, output))),
        Err(failure) if failure.is_condition() => Err(changed()),
        Err(failure) => Err(unopened(inner, key, failure)),
    }
}

/// What a request of the whole object gave.
pub(crate) fn whole<'a>(inner: &'a Inner, name: &str, output: GetObjectOutput) -> impl Read + 'a {
    Reading::new(inner, name.to_owned(), 0, output)
}

/// Cold classes refuse with a code of their own; HEAD knows the class.
fn unopened(inner: &Inner, key: &Key, failure: Failure) -> StorageError {
    let is_cold = failure.is("InvalidObjectState");
    match inner.failed(failure, "open", key) {
        StorageError::NotReadable { store, key, .. } if is_cold => {
            let class = inner.head(&key).ok().and_then(|head| head.class);
            StorageError::NotReadable { store, key, class }
        }
        error => error,
    }
}

fn get(
    inner: &Inner,
    name: &str,
    first: u64,
    last: Option<u64>,
    if_match: Option<String>,
) -> Result<GetObjectOutput, Failure> {
    let range = match (first, last) {
        (0, None) => None,
        (first, None) => Some(format!("bytes={first}-")),
        (first, Some(last)) => Some(format!("bytes={first}-{last}")),
    };
    let request = inner.client.get_object().bucket(&inner.settings.bucket).key(name);
    let output = inner.ask(request.set_range(range.clone()).set_if_match(if_match).send())?;
    let begins = format!("bytes {first}-");
    if range.is_some() && !output.content_range().is_some_and(|given| given.starts_with(&begins)) {
        return Err(Failure::answer("the service answered with another range than was asked for"));
    }
    Ok(output)
}

/// A body being read.
struct Reading<I> {
    inner: I,
    name: String,
    /// Of the bytes that were opened: what is asked for anew must be of the same.
    etag: Option<String>,
    /// Of the next byte, in the object.
    position: u64,
    /// Past the last byte, where the service said.
    end: Option<u64>,
    stream: ByteStream,
    chunk: Bytes,
    /// For so many times more a cut body is gone on with, unless it goes well in between.
    resumptions_left: u32,
    /// Where the last resumption began.
    resumed_at: u64,
}

/// What became of waiting for the next bytes.
enum Arrived {
    Bytes(Bytes),
    End,
    Trouble(ErrorKind, String),
}

impl<I: Deref<Target = Inner>> Reading<I> {
    fn new(inner: I, name: String, position: u64, output: GetObjectOutput) -> Self {
        let length = output.content_length().and_then(|length| u64::try_from(length).ok());
        let resumptions_left = inner.settings.attempts - 1;
        Self {
            inner,
            name,
            etag: output.e_tag().map(str::to_owned),
            position,
            end: length.map(|length| position.saturating_add(length)),
            stream: output.body,
            chunk: Bytes::new(),
            resumptions_left,
            resumed_at: position,
        }
    }

    fn arrive(&mut self) -> Arrived {
        let Self { inner, stream, .. } = self;
        let patience = inner.settings.stall_timeout;
        match inner.runtime.block_on(async { timeout(patience, stream.next()).await }) {
            Ok(Some(Ok(bytes))) => Arrived::Bytes(bytes),
            Ok(Some(Err(error))) => Arrived::Trouble(ErrorKind::ConnectionReset, error.to_string()),
            Ok(None) if self.end.is_some_and(|end| self.position < end) => {
                Arrived::Trouble(ErrorKind::UnexpectedEof, "the body ended early".to_owned())
            }
            Ok(None) => Arrived::End,
            Err(_) => Arrived::Trouble(ErrorKind::TimedOut, format!("no byte arrived for {patience:?}")),
        }
    }

    /// Asks anew for what has not arrived.
    fn resume(&mut self, kind: ErrorKind, trouble: &str) -> io::Result<()> {
        let (Some(etag), true) = (self.etag.clone(), self.resumptions_left > 0) else {
            return Err(io::Error::new(kind, format!("{trouble} at byte {} of {}", self.position, self.name)));
        };
        self.resumptions_left -= 1;
        self.resumed_at = self.position;
        let last = self.end.map(|end| end.saturating_sub(1));
        match get(&self.inner, &self.name, self.position, last, Some(etag.clone())) {
            Ok(output) if etag_of(output.e_tag()) == etag_of(Some(&etag)) => {
                self.stream = output.body;
                Ok(())
            }
            Ok(_) => Err(self.changed()),
            Err(failure) if failure.is_condition() || failure.is_not_found() => Err(self.changed()),
            Err(failure) => Err(failure.into()),
        }
    }

    fn changed(&self) -> io::Error {
        let (name, position) = (&self.name, self.position);
        io::Error::other(format!("{name} was replaced or removed while it was read, after {position} bytes"))
    }
}

impl<I: Deref<Target = Inner>> Read for Reading<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.chunk.is_empty() {
            match self.arrive() {
                Arrived::Bytes(bytes) => {
                    let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(self.position));
                    if bytes.len() as u64 > left {
                        return Err(io::Error::new(ErrorKind::InvalidData, "more bytes arrived than were announced"));
                    }
                    self.position += bytes.len() as u64;
                    self.chunk = bytes;
                    if self.position - self.resumed_at >= GOES_WELL {
                        self.resumptions_left = self.inner.settings.attempts - 1;
                    }
                }
                Arrived::End => return Ok(0),
                Arrived::Trouble(..) if self.end == Some(self.position) => return Ok(0),
                Arrived::Trouble(kind, trouble) => self.resume(kind, &trouble)?,
            }
        }
        let length = self.chunk.len().min(buffer.len());
        if let Some(room) = buffer.get_mut(..length) {
            self.chunk.copy_to_slice(room);
        }
        Ok(length)
    }
}
