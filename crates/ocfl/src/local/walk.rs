//! The walk over the objects of a storage root, of any layout. Names of one directory that are held are bounded: a directory
//! with more is listed again for each batch.

use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::object::LocalObject;
use crate::OcflError;

/// Names of one directory that are held at once.
const BATCH: usize = if cfg!(test) { 10 } else { 65_536 };
/// Directories within each other; a layout needs a few dozen.
const DEEPEST: usize = 256;

/// The objects of a storage root.
pub struct LocalObjects<'r> {
    directory: &'r Directory,
    levels: Vec<Level>,
    is_begun: bool,
}

/// A directory on the way down.
struct Level {
    path: PathBuf,
    /// Directories in it not yet come to, the next one last.
    names: Vec<OsString>,
    /// Whether no names follow those held.
    is_complete: bool,
}

enum Listed {
    Object,
    Directories { names: Vec<OsString>, is_complete: bool },
}

impl<'r> LocalObjects<'r> {
    pub(super) fn new(directory: &'r Directory) -> Self {
        Self { directory, levels: Vec::new(), is_begun: false }
    }

    /// Whether a directory is an object, else the first directories in it behind `after`.
    fn list(&self, path: &Path, after: Option<&OsString>) -> Result<Listed, OcflError> {
        let is_root = path.as_os_str().is_empty();
        let (mut is_object, mut is_complete) = (false, true);
        // The greatest name is on top, and goes when a smaller one comes.
        let mut smallest: BinaryHeap<OsString> = BinaryHeap::new();
        self.directory.each_name(path, &mut |name, is_directory| {
            is_object |= !is_root && name.to_string_lossy().starts_with("0=ocfl_object_");
            let is_wanted = is_directory && !(is_root && name == "extensions");
            if !is_wanted || after.is_some_and(|after| name <= after.as_os_str()) {
                return;
            }
            if smallest.len() == BATCH {
                is_complete = false;
                if smallest.peek().is_some_and(|greatest| greatest.as_os_str() <= name) {
                    return;
                }
                smallest.pop();
            }
            smallest.push(name.to_owned());
        })?;
        if is_object {
            return Ok(Listed::Object);
        }
        let mut names = smallest.into_sorted_vec();
        names.reverse();
        Ok(Listed::Directories { names, is_complete })
    }

    /// Comes to a directory: an object is handed out, in any other the walk goes on.
    fn enter(&mut self, path: PathBuf) -> Result<Option<LocalObject>, OcflError> {
        if self.levels.len() >= DEEPEST {
            let reason = format!("directories are more than {DEEPEST} deep");
            return Err(OcflError::NotOcfl { path: self.directory.path().join(path), reason });
        }
        match self.list(&path, None)? {
            Listed::Object => Ok(Some(LocalObject::new(self.directory.try_clone()?, path))),
            Listed::Directories { names, is_complete } => {
                self.levels.push(Level { path, names, is_complete });
                Ok(None)
            }
        }
    }

    /// The next directory, `None` at the end.
    fn step(&mut self) -> Result<Option<PathBuf>, OcflError> {
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(name) = level.names.pop() else {
                self.levels.pop();
                continue;
            };
            let path = level.path.join(&name);
            if level.names.is_empty() && !level.is_complete {
                let folder = level.path.clone();
                let listed = self.list(&folder, Some(&name))?;
                if let (Listed::Directories { names, is_complete }, Some(level)) = (listed, self.levels.last_mut()) {
                    (level.names, level.is_complete) = (names, is_complete);
                }
            }
            return Ok(Some(path));
        }
    }
}

impl Iterator for LocalObjects<'_> {
    type Item = Result<LocalObject, OcflError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.is_begun {
            self.is_begun = true;
            match self.enter(PathBuf::new()) {
                Ok(found) => debug_assert!(found.is_none()),
                Err(error) => return Some(Err(error)),
            }
        }
        loop {
            let entered = match self.step() {
                Ok(Some(path)) => self.enter(path),
                Ok(None) => return None,
                Err(error) => Err(error),
            };
            if let Some(outcome) = entered.transpose() {
                return Some(outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_beyond_a_batch_follow_in_order_and_links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..35 {
            let object = place.path().join(format!("a/{:02}", number * 17 % 35));
            std::fs::create_dir_all(&object).unwrap();
            std::fs::write(object.join("0=ocfl_object_1.1"), "").unwrap();
        }
        std::fs::create_dir_all(place.path().join("extensions/x")).unwrap();
        std::fs::write(place.path().join("extensions/x/0=ocfl_object_1.1"), "").unwrap();
        std::os::unix::fs::symlink("..", place.path().join("a/loop")).unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let found: Vec<String> =
            LocalObjects::new(&directory).map(|object| object.unwrap().path().display().to_string()).collect();
        let expected: Vec<String> = (0..35).map(|number| format!("a/{number:02}")).collect();
        assert_eq!(found, expected);
    }
}
