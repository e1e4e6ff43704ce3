//! Whether what a data directory holds can be read by others than its owner.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use strongroom_database::Location;

use crate::people::FACTOR_KEY_FILE;
use crate::settings::Settings;

/// What is there and gives others more access than it should: the path, and what to do about it.
pub(crate) fn too_wide(directory: &Path, settings_file: &Path, settings: &Settings) -> Vec<(PathBuf, String)> {
    let mut wanted: Vec<(PathBuf, u32)> = vec![
        (directory.to_owned(), 0o700),
        (settings_file.to_owned(), 0o600),
        (directory.join(FACTOR_KEY_FILE), 0o600),
    ];
    if let Ok(Location::Sqlite(registry)) = settings.registry_location(directory) {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = registry.as_os_str().to_owned();
            name.push(suffix);
            wanted.push((name.into(), 0o600));
        }
        wanted.extend(copies_of(&registry).into_iter().map(|copy| (copy, 0o600)));
    }
    for store in settings.stores.values() {
        wanted.extend(store.rights(directory));
    }
    wanted.into_iter().filter_map(|(path, mode)| warning(&path, mode).map(|warning| (path, warning))).collect()
}

/// The copies that were made of a registry before its schema was brought up to date.
fn copies_of(registry: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (registry.parent(), registry.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_copy = |path: &PathBuf| {
        let other = path.file_name().and_then(|other| other.to_str()).and_then(|other| other.strip_prefix(name));
        other.is_some_and(|rest| rest.starts_with(".before-"))
    };
    entries.flatten().map(|entry| entry.path()).filter(is_copy).collect()
}

fn warning(path: &Path, wanted: u32) -> Option<String> {
    let found = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let too_much = found & !wanted;
    (too_much != 0).then(|| {
        let narrower = found & wanted;
        format!("warning: its mode {found:04o} gives others access; next: chmod {narrower:04o} {}", path.display())
    })
}
