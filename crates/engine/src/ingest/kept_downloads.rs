//! Where large downloads of an item lie on their way, so that one that was cut off by the end of the process begins there again:
//! `downloads/<item>/` of the data directory. What is there only saves requests; everything works without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use strongroom_registry::{ItemId, ItemStatus, RegistryError, Scope, interim, items};

use crate::{EngineError, Home, crash_point};

/// The folder of the data directory.
const FOLDER: &str = "downloads";
/// Bytes of a download between two points at which the crash tests kill the process.
const CRASH_EVERY: u64 = 16 << 20;

/// Beside which path a download of an item is kept. Its folder is made; where it cannot be, nothing is kept.
pub(crate) fn path(home: &Home, item: ItemId, name: &str) -> PathBuf {
    let folder = home.directory.join(FOLDER).join(item.to_string());
    if !folder.exists() {
        // Other machines have folders of their own, which no background task reaches.
        let _ = sweep_downloads(home);
        let _ = fs::create_dir_all(&folder);
    }
    folder.join(name)
}

/// Bytes that are kept of an item; of what cannot be read none are counted.
pub(crate) fn bytes(home: &Home, item: ItemId) -> u64 {
    bytes_of(&home.directory.join(FOLDER).join(item.to_string()))
}

fn bytes_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// What is kept of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DownloadsOfItem {
    /// Where.
    pub(crate) folder: PathBuf,
    /// Files.
    pub(crate) files: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

/// What is kept of an item on this machine; none where that is nothing.
pub(crate) fn of_item(home: &Home, item: ItemId) -> Option<DownloadsOfItem> {
    let folder = home.directory.join(FOLDER).join(item.to_string());
    let files = fs::read_dir(&folder).ok()?.flatten().count() as u64;
    (files > 0).then(|| DownloadsOfItem { bytes: bytes_of(&folder), folder, files })
}

/// What lies in the folder of downloads of a data directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KeptDownloads {
    /// Items of which something is kept.
    pub(crate) items: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

/// What is kept in a data directory.
pub(crate) fn kept_in(directory: &Path) -> KeptDownloads {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return KeptDownloads::default() };
    let sizes = entries.flatten().map(|entry| bytes_of(&entry.path())).filter(|bytes| *bytes > 0);
    sizes.fold(KeptDownloads::default(), |all, bytes| KeptDownloads {
        items: all.items + 1,
        bytes: all.bytes.saturating_add(bytes),
    })
}

/// Removes what is kept of an item.
pub(crate) fn forget(home: &Home, item: ItemId) -> Result<(), EngineError> {
    remove(&home.directory.join(FOLDER).join(item.to_string()))
}

/// Removes what is kept of items that have ended; of those that failed only where what they have in staging was removed, too.
pub fn sweep_downloads(home: &Home) -> Result<u64, EngineError> {
    let folder = home.directory.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed("list", &folder, error)),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(|error| failed("list", &folder, error))?;
        let Some(item) = entry.file_name().to_str().and_then(|name| name.parse::<ItemId>().ok()) else { continue };
        let is_kept = home.registry.read(|tx| {
            let Some(found) = items::get(tx, Scope::System, item)? else { return Ok(false) };
            let has_failed = found.status == ItemStatus::Failed;
            Ok::<_, RegistryError>(!found.status.is_ended() || has_failed && interim::has_reservation(tx, item)?)
        })?;
        if !is_kept {
            remove(&entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn remove(folder: &Path) -> Result<(), EngineError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", folder, error)),
        _ => Ok(()),
    }
}

fn failed(act: &'static str, folder: &Path, source: io::Error) -> EngineError {
    EngineError::Io { act, path: folder.display().to_string(), source }
}

/// Passes the points at which the crash tests kill the process in the middle of a download.
pub(crate) fn received(before: u64, after: u64) {
    if before / CRASH_EVERY != after / CRASH_EVERY {
        crash_point("ingest.fetch.downloading");
    }
}
