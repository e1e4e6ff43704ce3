//! Making a folder a store, and recognising one.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{self as rfs, Mode};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::durability::Durability;
use super::root::Root;
use super::temporary::STALE;
use super::{ASSEMBLIES, BOOKKEEPING, DESCRIPTION, Folder, FolderMode, LOCK, TEMPORARY, case};
use crate::StorageError;

/// The layout of `.strongroom/` that this code keeps.
const FORMAT: u32 = 1;

/// What to do where no store lies.
const UNMOUNTED: &str = "is the disk mounted? a store that is lost is replaced by `store replace`, and one that never was is \
                         made by `store create`";

/// What `store.json` says.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    format: u32,
    store: Uuid,
}

pub(super) fn create(name: String, path: &Path, mode: FolderMode) -> Result<(Folder, Uuid), StorageError> {
    if !path.join(DESCRIPTION).exists() {
        describe(path, mode).map_err(|error| {
            unusable(&name, format!("folder {} could not be made a store: {error}", path.display()))
        })?;
    }
    open(name, path, mode)
}

fn describe(path: &Path, mode: FolderMode) -> std::io::Result<()> {
    let bookkeeping = path.join(BOOKKEEPING);
    let mut directories = DirBuilder::new();
    directories.recursive(true).mode(mode.bookkeeping().directory());
    directories.create(path.join(TEMPORARY))?;
    directories.create(path.join(ASSEMBLIES))?;
    File::options().create(true).append(true).mode(mode.bookkeeping().file()).open(path.join(LOCK))?;
    let staged = path.join(format!("{TEMPORARY}/{}", Uuid::new_v4().simple()));
    let mut file = File::options().write(true).create_new(true).mode(mode.file()).open(&staged)?;
    let description = Description { format: FORMAT, store: Uuid::now_v7() };
    serde_json::to_writer_pretty(&mut file, &description)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    // Of several who make the same store at once, one gives it its name.
    match fs::hard_link(&staged, path.join(DESCRIPTION)) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => fs::rename(&staged, path.join(DESCRIPTION))?,
        _ => fs::remove_file(&staged)?,
    }
    for directory in [bookkeeping.as_path(), path, path.parent().unwrap_or(path)] {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

pub(super) fn open(name: String, path: &Path, mode: FolderMode) -> Result<(Folder, Uuid), StorageError> {
    let root = open_root(&name, path, mode, UNMOUNTED)?;
    let id = described(&name, path)?;
    let folds_case = case::folds_case(&root);
    let proof = Some(DESCRIPTION.to_owned());
    let folder = Folder { name, root, proof, durability: Durability::default(), folds_case };
    // A store on a read-only disk can still be read: what needs these will say so.
    for directory in [TEMPORARY, ASSEMBLIES] {
        let _ = folder.root.make_directory(directory, &mut |_| {});
    }
    close_bookkeeping(&folder, mode);
    // Folders that were being removed may have many files, and whoever opens a store may be in a hurry.
    folder.sweep(STALE, false);
    Ok((folder, id))
}

/// Opens the folder; `unmounted` says what to do where there is none.
pub(super) fn open_root(name: &str, path: &Path, mode: FolderMode, unmounted: &str) -> Result<Root, StorageError> {
    let shown = path.display();
    Root::open(path, mode).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::NotFound => unmounted,
            ErrorKind::NotADirectory => "it is not a folder",
            ErrorKind::PermissionDenied => "check its owner and permissions",
            _ => "check the disk",
        };
        unusable(name, format!("folder {shown} cannot be opened ({error}): {advice}"))
    })
}

/// Takes rights to the bookkeeping away that earlier programs gave. Only the owner can; others leave it as it is.
fn close_bookkeeping(folder: &Folder, mode: FolderMode) {
    let Ok(directory) = folder.root.open_directory(BOOKKEEPING) else { return };
    let Ok(stat) = rfs::fstat(&directory) else { return };
    let (found, wanted) = (stat.st_mode & 0o777, mode.bookkeeping().directory());
    if found & !wanted != 0 {
        let _ = rfs::fchmod(&directory, Mode::from_raw_mode(found & wanted));
    }
}

/// Which store the folder at a path says that it is.
pub(super) fn described(name: &str, path: &Path) -> Result<Uuid, StorageError> {
    let shown = path.display();
    let text = fs::read(path.join(DESCRIPTION)).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            unusable(name, format!("folder {shown} has no {DESCRIPTION}: {UNMOUNTED}"))
        }
        _ => unusable(name, format!("{shown}/{DESCRIPTION} cannot be read: {error}")),
    })?;
    let description: Description = serde_json::from_slice(&text)
        .map_err(|error| unusable(name, format!("{shown}/{DESCRIPTION} is not a store's description: {error}")))?;
    if description.format != FORMAT {
        let format = description.format;
        let reason = format!("folder {shown} has format {format}, this program knows {FORMAT}: use a newer one");
        return Err(unusable(name, reason));
    }
    Ok(description.store)
}

fn unusable(name: &str, reason: String) -> StorageError {
    StorageError::Unusable { store: name.to_owned(), reason }
}
