//! A directory that becomes a bag where it is. Its files are read first; then they are moved into `data/`, and moved back
//! where that fails halfway.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::WriteError;
use super::sink::{FileHeader, Sink};

/// The directory in which the bag is made, inside the one that becomes a bag: a rename must not leave the file system.
pub(super) const PARTIAL: &str = ".bag-in-place.partial";
const DECLARATION: &str = "bagit.txt";

/// Refuses a directory that is a bag already, and one that an earlier run has left behind.
pub(super) fn refuse(directory: &Path) -> Result<(), WriteError> {
    let exists = |path: &Path| match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(WriteError::io("look at", path, error)),
    };
    let partial = directory.join(PARTIAL);
    if exists(&partial)? {
        return Err(WriteError::LeftOver { path: partial });
    }
    if exists(&directory.join(DECLARATION))? {
        return Err(WriteError::AlreadyBag { path: directory.to_owned() });
    }
    Ok(())
}

/// A directory that becomes a bag when it is finished.
pub(super) struct InPlaceTarget {
    directory: PathBuf,
    partial: PathBuf,
    interrupt: Option<Arc<AtomicBool>>,
    /// Empty files that were added to the payload.
    added: Vec<PathBuf>,
    /// The tag file that is being written; absent for a file of the payload, which is there.
    open: Option<File>,
    /// What was moved: from where, and to where.
    moved: Vec<(PathBuf, PathBuf)>,
    is_finished: bool,
}

impl InPlaceTarget {
    pub(super) fn create(directory: &Path, interrupt: Option<Arc<AtomicBool>>) -> Result<Self, WriteError> {
        let partial = directory.join(PARTIAL);
        fs::create_dir(&partial).map_err(|error| WriteError::io("create", &partial, error))?;
        let target = Self {
            directory: directory.to_owned(),
            partial,
            interrupt,
            added: Vec::new(),
            open: None,
            moved: Vec::new(),
            is_finished: false,
        };
        let data = target.partial.join("data");
        let permissions = fs::metadata(directory).map(|metadata| metadata.permissions());
        fs::create_dir(&data)
            .and_then(|()| fs::set_permissions(&data, permissions?))
            .map_err(|error| WriteError::io("create", &data, error))?;
        Ok(target)
    }

    /// Moves everything to its place: the payload first, the declaration last, so that it is a bag only when all is there.
    fn move_all(&mut self) -> io::Result<()> {
        let data = self.partial.join("data");
        for name in names(&self.directory)? {
            if name != PARTIAL {
                self.rename(self.directory.join(&name), data.join(&name))?;
            }
        }
        let mut tag_files = names(&self.partial)?;
        tag_files.sort_by_key(|name| name == DECLARATION);
        for name in tag_files {
            self.rename(self.partial.join(&name), self.directory.join(&name))?;
        }
        fs::remove_dir(&self.partial)?;
        File::open(self.directory.join("data"))?.sync_all()?;
        File::open(&self.directory)?.sync_all()
    }

    fn rename(&mut self, from: PathBuf, to: PathBuf) -> io::Result<()> {
        if self.interrupt.as_ref().is_some_and(|interrupt| interrupt.load(Ordering::Relaxed)) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        fs::rename(&from, &to)?;
        self.moved.push((from, to));
        Ok(())
    }
}

/// The names in a directory, in the order of their bytes.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names: Vec<OsString> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

impl Sink for InPlaceTarget {
    fn begin(&mut self, entry: &FileHeader<'_>) -> io::Result<()> {
        self.open = None;
        if let Some(name) = entry.path.strip_prefix("data/") {
            let path = self.directory.join(name);
            if entry.size == 0 && fs::symlink_metadata(&path).is_err() {
                File::options().write(true).create_new(true).open(&path)?.sync_all()?;
                self.added.push(path);
            }
            return Ok(());
        }
        let path = self.partial.join(entry.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        self.open = Some(File::options().write(true).create_new(true).open(path)?);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn end(&mut self) -> io::Result<()> {
        self.open.take().map_or(Ok(()), |file| file.sync_all())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.move_all()?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for InPlaceTarget {
    /// Puts everything back, unless the bag is there. What cannot be moved back stays in the partial directory, which the next
    /// run refuses to touch.
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        let mut is_undone = true;
        for (from, to) in self.moved.iter().rev() {
            // The last step that failed may have been the removal of the partial directory.
            if let Some(parent) = from.parent() {
                let _ = fs::create_dir_all(parent);
            }
            is_undone &= fs::rename(to, from).is_ok();
        }
        for path in &self.added {
            let _ = fs::remove_file(path);
        }
        if is_undone {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_is_moved_back_where_the_bag_is_not_finished() {
        let place = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(place.path().join("data/sub")).unwrap();
        fs::write(place.path().join("data/sub/a"), "a").unwrap();
        fs::write(place.path().join("b"), "b").unwrap();
        let before = names(place.path()).unwrap();
        for steps in 0..=4 {
            let mut target = InPlaceTarget::create(place.path(), None).unwrap();
            for (path, size) in [("data/data/sub/.keep", 0), ("bagit.txt", 1), ("sub/tags.txt", 1)] {
                target.begin(&FileHeader { path, size, modified: std::time::SystemTime::now() }).unwrap();
                target.write(b"x").unwrap();
                target.end().unwrap();
            }
            let data = target.partial.join("data");
            let all = [
                (place.path().join("b"), data.join("b")),
                (place.path().join("data"), data.join("data")),
                (data, place.path().join("data")),
                (target.partial.join("sub"), place.path().join("sub")),
            ];
            for (from, to) in all.into_iter().take(steps) {
                target.rename(from, to).unwrap();
            }
            drop(target);
            assert_eq!(names(place.path()).unwrap(), before, "{steps}");
            assert_eq!(names(&place.path().join("data/sub")).unwrap(), ["a"], "{steps}");
        }
    }
}
