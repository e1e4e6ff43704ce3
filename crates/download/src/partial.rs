//! An unfinished download beside its target, with what another process needs to resume it.
//!
//! For the target `NAME`, the bytes are in `.NAME.download`, and their state is in `.NAME.download-state`. The state counts only
//! bytes that were synchronized with the disk; what is after them is cut off before the download is resumed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, hash_reader};

use crate::entity::Validator;
use crate::error::DownloadError;
use crate::opening::Resume;

/// Bytes after which they are synchronized with the disk and counted in the state.
pub(crate) const SYNC_EVERY: u64 = 16 << 20;
/// Of which part of its file system a download leaves at least one free.
const LEAST_FREE: u64 = 20;

/// An unfinished download. It is locked against other processes.
#[derive(Debug)]
pub(crate) struct Partial {
    path: PathBuf,
    state_path: PathBuf,
    target: PathBuf,
    file: File,
    /// The SHA-256 of the URL, which may contain secrets.
    source: String,
    validator: Option<Validator>,
    written: u64,
    synced: u64,
}

/// What is in the state file.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    source: String,
    validator: Validator,
    bytes: u64,
}

impl Partial {
    /// Opens what an earlier download of the same URL left beside the target, or begins anew.
    pub(crate) fn open(target: &Path, url: &str) -> Result<Self, DownloadError> {
        let (path, state_path) = (beside(target, "download")?, beside(target, "download-state")?);
        let file = locked(&path)?;
        let (_, digests) =
            hash_reader(url.as_bytes(), &[Algorithm::Sha256]).map_err(|error| failed("open", &path, error))?;
        let source = digests.get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
        let mut partial =
            Self { path, state_path, target: target.to_owned(), file, source, validator: None, written: 0, synced: 0 };
        let length = partial.file.metadata().map_err(|error| failed("open", &partial.path, error))?.len();
        match partial.read_state().filter(|state| state.source == partial.source && state.bytes <= length) {
            Some(state) => {
                partial.cut(state.bytes)?;
                partial.validator = Some(state.validator);
            }
            None => partial.clear()?,
        }
        Ok(partial)
    }

    /// Whether an earlier download has left something beside the target.
    pub(crate) fn is_there(target: &Path) -> bool {
        beside(target, "download-state").is_ok_and(|state| state.exists())
    }

    /// As [`Partial::resume`], but at least one byte is left to ask for, also where all bytes are there.
    pub(crate) fn resume_before_end(&self) -> Option<Resume> {
        let Resume { position, validator } = self.resume()?;
        Some(Resume { position: position - 1, validator }).filter(|resume| resume.position > 0)
    }

    /// Whether enough of the file system is free. It is looked up whenever bytes were synchronized.
    pub(crate) fn leaves_room(&self) -> bool {
        self.synced != self.written || has_room(&self.target, 0)
    }

    /// Where the download can be resumed.
    pub(crate) fn resume(&self) -> Option<Resume> {
        let validator = self.validator.clone().filter(|_| self.written > 0)?;
        Some(Resume { position: self.written, validator })
    }

    /// Bytes of the file that are there.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Reads bytes that are there.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DownloadError> {
        self.file.read_at(buffer, offset).map_err(|error| failed("read", &self.path, error))
    }

    /// Prepares for bytes from an offset on, which is within what is there.
    pub(crate) fn begin(&mut self, start: u64, validator: Option<&Validator>) -> Result<(), DownloadError> {
        if start == 0 {
            self.clear()?;
        }
        self.validator = validator.cloned();
        self.written = start;
        self.synced = self.synced.min(start);
        self.file.seek(SeekFrom::Start(start)).map(drop).map_err(|error| failed("write", &self.path, error))
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        self.file.write_all(bytes).map_err(|error| failed("write", &self.path, error))?;
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.written.saturating_sub(self.synced) >= SYNC_EVERY { self.keep() } else { Ok(()) }
    }

    /// Synchronizes the bytes with the disk and counts them, so that the download can be resumed after them.
    pub(crate) fn keep(&mut self) -> Result<(), DownloadError> {
        let Some(validator) = self.validator.clone() else { return Ok(()) };
        self.file.sync_data().map_err(|error| failed("synchronize", &self.path, error))?;
        self.synced = self.written;
        let state = State { source: self.source.clone(), validator, bytes: self.written };
        let write = || {
            // Replaced as a whole: a state that is cut off would be lost.
            let mut new = tempfile::NamedTempFile::new_in(directory(&self.target))?;
            serde_json::to_writer(&mut new, &state)?;
            new.as_file().sync_data()?;
            new.persist(&self.state_path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| failed("write", &self.state_path, error))
    }

    /// Makes the bytes durable and gives them the name of the target, in the place of what is there.
    pub(crate) fn publish(self) -> Result<(), DownloadError> {
        self.file.sync_all().map_err(|error| failed("synchronize", &self.path, error))?;
        fs::rename(&self.path, &self.target).map_err(|error| failed("create", &self.target, error))?;
        self.remove_state()?;
        let directory = directory(&self.target);
        let synced = File::open(directory).and_then(|opened| opened.sync_all());
        synced.map_err(|error| failed("synchronize", directory, error))
    }

    /// Removes the bytes and their state.
    pub(crate) fn remove(self) -> Result<(), DownloadError> {
        self.remove_state()?;
        fs::remove_file(&self.path).map_err(|error| failed("remove", &self.path, error))
    }

    /// Forgets what is there.
    pub(crate) fn clear(&mut self) -> Result<(), DownloadError> {
        self.validator = None;
        self.remove_state()?;
        self.cut(0)
    }

    fn cut(&mut self, length: u64) -> Result<(), DownloadError> {
        self.file.set_len(length).map_err(|error| failed("write", &self.path, error))?;
        (self.written, self.synced) = (length, length);
        Ok(())
    }

    fn read_state(&self) -> Option<State> {
        let text = fs::read(&self.state_path).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn remove_state(&self) -> Result<(), DownloadError> {
        match fs::remove_file(&self.state_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &self.state_path, error)),
            _ => Ok(()),
        }
    }
}

/// Removes what is beside a target, where there is any.
pub(crate) fn remove(target: &Path) -> Result<(), DownloadError> {
    for ending in ["download-state", "download"] {
        let path = beside(target, ending)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the file system beside a target has so many bytes, and enough besides. Where that cannot be known, it has not.
pub(crate) fn has_room(target: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(directory(target)).is_ok_and(|space| {
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        free.saturating_sub(bytes) >= space.f_blocks.saturating_mul(space.f_frsize) / LEAST_FREE
    })
}

/// Opens the file and locks it. Another process may rename or remove it between the two, and it must not be written to then.
fn locked(path: &Path) -> Result<File, DownloadError> {
    let busy = || failed("lock", path, io::Error::new(io::ErrorKind::ResourceBusy, "another process downloads it"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(|error| failed("create", path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(busy()),
        Err(TryLockError::Error(error)) => return Err(failed("lock", path, error)),
    }
    let opened = file.metadata().map_err(|error| failed("open", path, error))?;
    match fs::symlink_metadata(path) {
        Ok(named) if named.is_file() && (named.dev(), named.ino()) == (opened.dev(), opened.ino()) => Ok(file),
        Ok(_) => Err(busy()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(busy()),
        Err(error) => Err(failed("open", path, error)),
    }
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(target: &Path, ending: &str) -> Result<PathBuf, DownloadError> {
    let Some(name) = target.file_name() else {
        return Err(failed("create", target, io::Error::new(io::ErrorKind::InvalidInput, "it names no file")));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden.push(ending);
    Ok(directory(target).join(hidden))
}

fn failed(act: &'static str, path: &Path, source: io::Error) -> DownloadError {
    DownloadError::File { act, path: path.to_owned(), source }
}
