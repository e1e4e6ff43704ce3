//! The folder of pages that are too large for memory: `harvest/` of the data directory. Its files have no names, or lose theirs at once, so what
//! a process had that was killed goes with it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::EngineError;

/// The folder of the data directory.
const FOLDER: &str = "harvest";
/// A file that has had its name for so long was left by a process that was killed before it could take the name away.
const LEFT_AFTER: Duration = Duration::from_hours(1);

/// The folder, made where it is not there, without what was left in it.
pub(super) fn make(directory: &Path) -> Result<PathBuf, EngineError> {
    let made = || -> io::Result<PathBuf> {
        let folder = std::path::absolute(directory.join(FOLDER))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let age = entry.metadata().ok().and_then(|metadata| metadata.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age >= LEFT_AFTER) {
                // What cannot be removed is no obstacle.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(folder)
    };
    let path = directory.join(FOLDER).display().to_string();
    made().map_err(|source| EngineError::Io { act: "make the folder of pages", path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_goes_and_what_is_new_stays() {
        let directory = tempfile::tempdir().expect("a folder");
        let folder = make(directory.path()).expect("makes");
        for name in ["left", "new"] {
            fs::write(folder.join(name), "a page").expect("writes");
        }
        let earlier = std::time::SystemTime::now() - 2 * LEFT_AFTER;
        fs::File::options()
            .write(true)
            .open(folder.join("left"))
            .and_then(|file| file.set_modified(earlier))
            .expect("sets");
        assert_eq!(make(directory.path()).expect("makes"), folder);
        let names: Vec<_> =
            fs::read_dir(&folder).expect("lists").map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(names, ["new"]);
    }
}
