//! Where large downloads of an item lie on their way, so that one that was cut off by the end of the process begins there again:
//! `downloads/<item>/` of the data directory. What is there only saves requests; everything works without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use strongroom_registry::{ItemId, Scope, items};

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

/// Removes what is kept of an item.
pub(crate) fn forget(home: &Home, item: ItemId) -> Result<(), EngineError> {
    remove(&home.directory.join(FOLDER).join(item.to_string()))
}

/// Removes what is kept of items that have ended.
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
        let found = home.registry.read(|tx| items::get(tx, Scope::System, item))?;
        if !found.is_some_and(|item| !item.status.is_ended() || item.needs_review) {
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
