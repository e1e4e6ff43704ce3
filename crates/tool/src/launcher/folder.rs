//! The working folder of a run: how much is in it, and its removal, whatever the tool made of it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Most entries that are looked at to know how large a folder is.
const MOST_ENTRIES: usize = 10_000;

/// What is in a folder.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// Bytes on the disk.
    pub(super) bytes: u64,
    /// The length of the longest file.
    pub(super) longest: u64,
}

/// Looks at what is in a folder, without following links. What cannot be read counts as nothing.
pub(super) fn content(folder: &Path) -> Content {
    let mut content = Content::default();
    let mut folders = vec![folder.to_owned()];
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                return content;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            content.bytes = content.bytes.saturating_add(metadata.blocks().saturating_mul(512));
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.is_file() {
                content.longest = content.longest.max(metadata.len());
            }
        }
    }
    content
}

/// Removes a folder with everything in it, also folders that may not be entered or changed.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    if fs::remove_dir_all(folder).is_ok() {
        return Ok(());
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        folders.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
