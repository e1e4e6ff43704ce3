//! The folder that the tools of one process work in: `tools/<id>/` of the data directory. What a process leaves that was killed is
//! removed by the next one that runs tools: as long as a process lives it has a lock on the file beside its folder.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::EngineError;

/// The folder of the data directory.
const FOLDER: &str = "tools";
/// The lock of those who make and remove folders.
const LOCK: &str = "lock";
const LOCK_ENDING: &str = "lock";

/// A folder that goes when it is dropped.
pub(crate) struct Scratch {
    path: PathBuf,
    lock_path: PathBuf,
    /// Locked for as long as the process lives.
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes what processes left that have ended.
    pub(super) fn make(directory: &Path) -> Result<Self, EngineError> {
        let all = directory.join(FOLDER);
        let made = || -> io::Result<Self> {
            DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
            let turn = lock_file(&all.join(LOCK))?;
            turn.lock()?;
            sweep(&all)?;
            let name = Uuid::now_v7().to_string();
            let (path, lock_path) =
                (std::path::absolute(all.join(&name))?, all.join(&name).with_extension(LOCK_ENDING));
            let lock = lock_file(&lock_path)?;
            lock.lock()?;
            DirBuilder::new().mode(0o700).create(&path)?;
            Ok(Self { path, lock_path, _lock: lock })
        };
        made().map_err(|source| EngineError::Io {
            act: "make a folder for tools in",
            path: all.display().to_string(),
            source,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A new file for a tool, which goes with the folder that holds it. Its name has the extension of the path that the bytes are of,
    /// by which some tools choose what to do.
    pub(super) fn file(&self, of: &str) -> io::Result<(tempfile::TempDir, PathBuf, File)> {
        let folder = tempfile::Builder::new()
            .prefix("file-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.path)?;
        let extension = of.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
        let is_plain = |text: &&str| (1..=10).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric());
        let name =
            extension.filter(is_plain).map_or_else(|| "file".to_owned(), |extension| format!("file.{extension}"));
        let path = folder.path().join(name);
        let file = File::create_new(&path)?;
        Ok((folder, path, file))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next process.
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

/// Removes the folders of processes that have ended. The caller has the turn.
fn sweep(all: &Path) -> io::Result<()> {
    for entry in fs::read_dir(all)? {
        let path = entry?.path();
        let is_of_process =
            path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| Uuid::parse_str(name).is_ok());
        if !is_of_process || path.extension().is_none_or(|ending| ending != LOCK_ENDING) {
            continue;
        }
        let Ok(lock) = File::options().write(true).open(&path) else { continue };
        if lock.try_lock().is_ok() {
            // Other users' files may be in it, where a tool has made them; the next process tries again.
            let is_gone = match fs::remove_dir_all(path.with_extension("")) {
                Err(error) => error.kind() == io::ErrorKind::NotFound,
                Ok(()) => true,
            };
            if is_gone {
                let _ = fs::remove_file(&path);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory.join(FOLDER)).expect("lists").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_dir()).collect()
    }

    #[test]
    fn what_a_process_left_goes_and_what_another_one_has_stays() {
        let directory = tempfile::tempdir().expect("a folder");
        let lives = Scratch::make(directory.path()).expect("makes");
        let left = directory.path().join(FOLDER).join(Uuid::now_v7().to_string());
        fs::create_dir(&left).expect("makes");
        fs::write(left.join("file"), "a copy").expect("writes");
        fs::write(left.with_extension(LOCK_ENDING), "").expect("writes");
        let next = Scratch::make(directory.path()).expect("makes");
        let mut expected = [lives.path().to_owned(), next.path().to_owned()];
        expected.sort();
        let mut found: Vec<PathBuf> = folders(directory.path());
        found.sort();
        assert_eq!(found.len(), expected.len());
        assert!(!left.exists());
        drop((lives, next));
        assert_eq!(folders(directory.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_file_has_the_extension_of_its_path_where_that_is_plain() {
        let directory = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::make(directory.path()).expect("makes");
        for (of, name) in [("a/b.PDF", "file.PDF"), ("a.b/c", "file"), ("x.-rf *", "file"), ("x.", "file")] {
            let (_folder, path, _) = scratch.file(of).expect("a file");
            assert_eq!(path.file_name().and_then(|name| name.to_str()), Some(name));
        }
    }
}
