//! Reading what was staged. Staged bytes are not synced, so a power cut can leave others in their place: whatever a stage
//! reads from staging is compared with the SHA-512 that was recorded while the package itself was read. Bytes that differ
//! mean that staging is lost; they are never held against the package.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use strongroom_digest::{Algorithm, Digest, MultiHasher, hash_reader};
use strongroom_registry::interim::InterimFile;
use strongroom_storage::{Body, Key};

use crate::interruptible::Interruptible;
use crate::workflow::{StageContext, StageError};

/// Where the bytes of a file lie in staging, and what they have to be.
#[derive(Debug, Clone)]
pub(crate) struct StagedBytes {
    /// The key in the staging store.
    pub(crate) key: String,
    /// The first byte in it.
    pub(crate) offset: u64,
    /// How many bytes.
    pub(crate) size: u64,
    /// Their digest, as it was calculated while the package was read.
    pub(crate) sha512: Digest,
}

impl From<&InterimFile> for StagedBytes {
    fn from(file: &InterimFile) -> Self {
        Self {
            key: file.staging_key.clone(),
            offset: file.staging_offset,
            size: file.size,
            sha512: file.digests.sha512,
        }
    }
}

impl StagedBytes {
    fn lost(&self, what: &str) -> StageError {
        let Self { key, offset, size, sha512 } = self;
        StageError::StagingLost(format!(
            "the {size} bytes from byte {offset} of {key} in staging {what}; recorded was sha512:{sha512}"
        ))
    }
}

/// Reads staged bytes from the first to the last: whether they are those that were recorded. Bytes that are gone, cut off
/// or unreadable on the disk are not.
pub(crate) fn proves(context: &StageContext<'_>, staged: &StagedBytes) -> Result<bool, StageError> {
    let body = match context.staging().open(&Key::new(staged.key.as_str())?, staged.offset, Some(staged.size)) {
        Ok(body) => body,
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match hash_reader(Interruptible::new(body, context.task), &[Algorithm::Sha512]) {
        Ok((size, digests)) => Ok(size == staged.size && digests.get(Algorithm::Sha512) == Some(staged.sha512)),
        Err(error) => {
            context.task.check()?;
            if are_lost(&error) {
                return Ok(false);
            }
            Err(StageError::Transient(format!("could not read {} in staging: {error}", staged.key)))
        }
    }
}

/// Fails with [`StageError::StagingLost`] unless staged bytes are those that were recorded.
pub(crate) fn require(context: &StageContext<'_>, staged: &StagedBytes) -> Result<(), StageError> {
    if proves(context, staged)? { Ok(()) } else { Err(staged.lost("are not those that were staged")) }
}

/// Whether an error of reading says that the bytes are gone, rather than that reading failed for now.
fn are_lost(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// The staged files that one stage opens, each compared with its digest. What was read counts only after
/// [`Readings::settle`].
#[derive(Default)]
pub(crate) struct Readings {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first reading that failed.
    failure: Option<StageError>,
    /// How many files were opened.
    opened: u64,
    /// What was opened and not read to its end, by the number of its opening.
    unfinished: BTreeMap<u64, StagedBytes>,
}

impl Readings {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, failure: StageError) {
        self.state().failure.get_or_insert(failure);
    }

    /// Opens a staged file.
    pub(crate) fn open<'r>(
        &'r self,
        context: &'r StageContext<'_>,
        staged: StagedBytes,
    ) -> io::Result<Box<dyn Read + Send + 'r>> {
        let opened =
            Key::new(staged.key.as_str()).map_err(StageError::from).and_then(|key| {
                let opened = context.staging().open(&key, staged.offset, Some(staged.size));
                opened.map_err(|error| {
                    if error.is_not_found() { StageError::StagingLost(error.to_string()) } else { error.into() }
                })
            });
        match opened {
            Ok(body) => {
                let mut state = self.state();
                state.opened += 1;
                let number = state.opened;
                state.unfinished.insert(number, staged.clone());
                drop(state);
                let hasher = Some(MultiHasher::new(&[Algorithm::Sha512]));
                Ok(Box::new(Reading { body, staged, number, hasher, readings: self, context }))
            }
            Err(failure) => {
                self.fail(failure);
                Err(io::Error::other("a staged file could not be opened"))
            }
        }
    }

    /// Ends the reading: fails unless every byte that was read is one that was staged. Files that were not read to their
    /// end are read now.
    pub(crate) fn settle(self, context: &StageContext<'_>) -> Result<(), StageError> {
        let State { failure, unfinished, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = failure {
            return Err(failure);
        }
        unfinished.values().try_for_each(|staged| require(context, staged))
    }
}

/// A staged file that is read.
struct Reading<'r, 'c> {
    body: Body,
    staged: StagedBytes,
    number: u64,
    /// Nothing once the end was reached.
    hasher: Option<MultiHasher>,
    readings: &'r Readings,
    context: &'r StageContext<'c>,
}

impl Reading<'_, '_> {
    /// Compares what was read with what was recorded.
    fn end(&mut self) -> io::Result<()> {
        let Some(hasher) = self.hasher.take() else { return Ok(()) };
        if hasher.finish().get(Algorithm::Sha512) == Some(self.staged.sha512) {
            self.readings.state().unfinished.remove(&self.number);
            return Ok(());
        }
        self.readings.fail(self.staged.lost("are not those that were staged"));
        Err(io::Error::new(io::ErrorKind::InvalidData, "staged bytes are not those that were recorded"))
    }
}

impl Read for Reading<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Err(reason) = self.context.task.check() {
            self.readings.fail(reason.into());
            return Err(io::Error::other(reason));
        }
        match self.body.read(buffer) {
            Ok(0) => self.end().map(|()| 0),
            Ok(length) => {
                if let Some(hasher) = &mut self.hasher {
                    hasher.update(buffer.get(..length).unwrap_or_default());
                }
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.readings.fail(if are_lost(&error) {
                    self.staged.lost("cannot be read")
                } else {
                    StageError::Transient(format!("could not read {} in staging: {error}", self.staged.key))
                });
                Err(error)
            }
        }
    }
}
