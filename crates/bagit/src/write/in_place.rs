//! A directory that becomes a bag where it is. Its files are read first; then they are moved into `data/`, and moved back
//! where that fails halfway, or where what was moved is not what was read.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use super::bagger::{Visited, walk};
use super::sink::{FileHeader, Sink};
use super::{LeftOver, WriteError};

/// The directory in which the bag is made, inside the one that becomes a bag: a rename must not leave the file system.
pub(super) const PARTIAL: &str = ".bag-in-place.partial";
const DATA: &str = "data";
const DECLARATION: &str = "bagit.txt";
/// Changed files that an error names.
const NAMED: usize = 3;

/// Refuses a directory that is a bag already, and one that an earlier run has left behind.
pub(super) fn refuse(directory: &Path) -> Result<(), WriteError> {
    let exists = |path: &Path| match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(WriteError::io("inspect", path, error)),
    };
    let partial = directory.join(PARTIAL);
    if exists(&partial)? {
        let rest = if exists(&partial.join(DATA))? {
            LeftOver::Payload
        } else if names(&partial).map_err(|error| WriteError::io("list", &partial, error))?.is_empty() {
            LeftOver::Nothing
        } else {
            LeftOver::TagFiles
        };
        return Err(WriteError::LeftOver { path: partial, rest });
    }
    if exists(&directory.join(DECLARATION))? {
        return Err(WriteError::AlreadyBag { path: directory.to_owned() });
    }
    Ok(())
}

/// Files by path, size and modification time, without their order: what is held does not grow with the number of files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct FileSet {
    files: u64,
    sum: u64,
}

impl FileSet {
    fn add(&mut self, path: &str, size: u64, modified: SystemTime) {
        let mut hasher = DefaultHasher::new();
        (path, size, modified).hash(&mut hasher);
        self.files += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// A directory that becomes a bag when it is finished.
pub(super) struct InPlaceTarget {
    directory: PathBuf,
    partial: PathBuf,
    interrupt: Option<Arc<AtomicBool>>,
    /// Files with a later modification time were changed while the bag was made.
    begun: SystemTime,
    /// The files of the payload, as they were when they were read.
    read: FileSet,
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
        // By the clock of the file system, as the times of the files.
        let begun =
            fs::metadata(&partial).and_then(|metadata| metadata.modified()).unwrap_or_else(|_| SystemTime::now());
        let target = Self {
            directory: directory.to_owned(),
            partial,
            interrupt,
            begun,
            read: FileSet::default(),
            added: Vec::new(),
            open: None,
            moved: Vec::new(),
            is_finished: false,
        };
        let data = target.partial.join(DATA);
        let permissions = fs::metadata(directory).map(|metadata| metadata.permissions());
        fs::create_dir(&data)
            .and_then(|()| fs::set_permissions(&data, permissions?))
            .map_err(|error| WriteError::io("create", &data, error))?;
        Ok(target)
    }

    /// Moves everything to its place: the payload first, so that the partial directory has `data/` until it is complete, and
    /// the declaration last, so that it is a bag only when all is there.
    fn move_all(&mut self) -> io::Result<()> {
        let data = self.partial.join(DATA);
        for name in names(&self.directory)? {
            if name != PARTIAL {
                self.rename(self.directory.join(&name), data.join(&name))?;
            }
        }
        self.check_moved(&data)?;
        let mut parts = names(&self.partial)?;
        parts.sort_by_key(|name| (name != DATA, name == DECLARATION));
        for name in parts {
            self.rename(self.partial.join(&name), self.directory.join(&name))?;
        }
        fs::remove_dir(&self.partial)?;
        File::open(self.directory.join(DATA))?.sync_all()?;
        File::open(&self.directory)?.sync_all()
    }

    /// Fails where what was moved is not what was read.
    fn check_moved(&self, data: &Path) -> io::Result<()> {
        let mut moved = FileSet::default();
        let (mut paths, mut more) = (Vec::new(), 0);
        walk(data, &mut |found| {
            self.check_interrupt().map_err(WriteError::Finish)?;
            match found {
                Visited::File { path, name } => {
                    let failed = |error| WriteError::io("inspect", &path, error);
                    let metadata = fs::symlink_metadata(&path).map_err(failed)?;
                    let modified = metadata.modified().map_err(failed)?;
                    moved.add(&name, metadata.len(), modified);
                    if modified < self.begun {
                        return Ok(());
                    }
                    if paths.len() < NAMED {
                        paths.push(name);
                    } else {
                        more += 1;
                    }
                }
                Visited::EmptyDirectory { .. } => {}
                Visited::NotUtf8 { path } | Visited::Other { path, .. } => {
                    moved.files += 1;
                    paths.push(path.strip_prefix(data).unwrap_or(&path).display().to_string());
                }
            }
            Ok(())
        })
        .map_err(|error| match error {
            WriteError::Finish(error) => error,
            other => io::Error::other(other),
        })?;
        if moved == self.read {
            return Ok(());
        }
        Err(io::Error::other(WriteError::Changed { path: self.directory.clone(), paths, more }))
    }

    fn check_interrupt(&self) -> io::Result<()> {
        match &self.interrupt {
            Some(interrupt) if interrupt.load(Ordering::Relaxed) => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    }

    fn rename(&mut self, from: PathBuf, to: PathBuf) -> io::Result<()> {
        self.check_interrupt()?;
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
                let added = File::options().write(true).create_new(true).open(&path)?;
                self.added.push(path);
                added.sync_all()?;
                let modified = added.metadata().and_then(|metadata| metadata.modified())?;
                self.read.add(name, 0, modified);
            } else {
                self.read.add(name, entry.size, entry.modified);
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

    /// A directory with two files, read for a bag, before anything is moved.
    fn read() -> (tempfile::TempDir, Box<InPlaceTarget>) {
        let place = tempfile::TempDir::new().unwrap();
        fs::create_dir(place.path().join("sub")).unwrap();
        for path in ["sub/a", "b"] {
            let mut file = File::create(place.path().join(path)).unwrap();
            file.write_all(b"x").unwrap();
            file.set_modified(SystemTime::now() - std::time::Duration::from_hours(1)).unwrap();
        }
        let mut target = InPlaceTarget::create(place.path(), None).unwrap();
        for path in ["sub/a", "b"] {
            let modified = fs::metadata(place.path().join(path)).unwrap().modified().unwrap();
            target.begin(&FileHeader { path: &format!("data/{path}"), size: 1, modified }).unwrap();
            target.write(b"x").unwrap();
            target.end().unwrap();
        }
        target.begin(&FileHeader { path: "bagit.txt", size: 1, modified: SystemTime::now() }).unwrap();
        target.write(b"x").unwrap();
        target.end().unwrap();
        (place, Box::new(target))
    }

    /// What another program does to a directory that is being bagged.
    type Change = fn(&Path) -> io::Result<()>;

    #[test]
    fn a_directory_that_changes_between_reading_and_moving_is_no_bag_and_stays_as_it_is() {
        let (place, target) = read();
        target.finish().unwrap();
        assert_eq!(names(place.path()).unwrap(), ["bagit.txt", "data"]);
        let other = "files were added, removed or replaced";
        let changes: [(Change, &str); 4] = [
            (|place| fs::write(place.join("b"), "longer"), "b"),
            (|place| fs::write(place.join("sub/c"), "c"), "sub/c"),
            (|place| fs::remove_file(place.join("sub/a")), other),
            // As long as before and with a time before the run, as a program may set it.
            (|place| File::options().write(true).open(place.join("b"))?.set_modified(SystemTime::UNIX_EPOCH), other),
        ];
        for (change, named) in changes {
            let (place, target) = read();
            change(place.path()).unwrap();
            let before = names(&place.path().join("sub")).unwrap();
            let error = target.finish().unwrap_err().downcast::<WriteError>().unwrap();
            assert!(matches!(error, WriteError::Changed { .. }), "{error}");
            assert!(error.to_string().ends_with(&format!("no bag: {named}")), "{error}");
            assert_eq!(names(place.path()).unwrap(), ["b", "sub"]);
            assert_eq!(names(&place.path().join("sub")).unwrap(), before);
        }
    }

    #[test]
    fn what_is_left_says_how_far_the_run_had_come() {
        for (rest, steps) in
            [(LeftOver::Payload, 0), (LeftOver::Payload, 1), (LeftOver::TagFiles, 2), (LeftOver::Nothing, 3)]
        {
            let (place, target) = read();
            let partial = target.partial.clone();
            // As a kill leaves it.
            std::mem::forget(target);
            let data = partial.join(DATA);
            let moves = [
                (place.path().join("b"), data.join("b")),
                (data.clone(), place.path().join(DATA)),
                (partial.join(DECLARATION), place.path().join(DECLARATION)),
            ];
            for (from, to) in moves.into_iter().take(steps) {
                fs::rename(from, to).unwrap();
            }
            let error = refuse(place.path()).unwrap_err();
            assert!(matches!(&error, WriteError::LeftOver { rest: found, .. } if *found == rest), "{steps}: {error:?}");
        }
    }

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
