//! Walks folders in a fixed order: names sorted by their bytes, a folder where its name stands. Memory is bounded however
//! many names a folder has: it is listed again for each batch of them.

use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::{Unidentified, UnidentifiedKind};

/// Names of one folder that are held at once.
const BATCH: usize = if cfg!(test) { 100 } else { 65_536 };

/// What the walk comes to.
pub(crate) enum Step {
    /// A folder, before all that is in it.
    Folder(PathBuf),
    /// A regular file.
    File(PathBuf),
    /// Something that is not identified.
    Unidentified(Unidentified),
}

/// A folder on the way down.
struct Level {
    folder: PathBuf,
    /// Names not yet come to, the next one last.
    names: Vec<Name>,
    /// Whether no names follow those held.
    is_complete: bool,
}

struct Name {
    name: OsString,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Folder,
    Link,
    Special,
}

/// Walks a named path. A link that was named is followed; those within folders are not. `visit` says whether to go on.
pub(crate) fn walk(path: &Path, visit: &mut dyn FnMut(Step) -> bool) -> bool {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let kind = if is_missing { UnidentifiedKind::Missing } else { UnidentifiedKind::Unreadable };
            return visit(Step::Unidentified(Unidentified::new(path.as_os_str(), kind, error.to_string())));
        }
    };
    match Kind::of(metadata.file_type()) {
        Kind::File => visit(Step::File(path.to_owned())),
        Kind::Folder => walk_folder(path.to_owned(), visit),
        kind => visit(skipped(path, kind)),
    }
}

fn walk_folder(root: PathBuf, visit: &mut dyn FnMut(Step) -> bool) -> bool {
    let mut levels: Vec<Level> = Vec::new();
    if !enter(root, &mut levels, visit) {
        return false;
    }
    while let Some(level) = levels.last_mut() {
        let Some(Name { name, kind }) = level.names.pop() else {
            levels.pop();
            continue;
        };
        let path = level.folder.join(&name);
        if level.names.is_empty() && !level.is_complete {
            match list(&level.folder, Some(&name)) {
                Ok((names, is_complete)) => (level.names, level.is_complete) = (names, is_complete),
                Err(error) => {
                    level.is_complete = true;
                    if !visit(unreadable(&level.folder, &error)) {
                        return false;
                    }
                }
            }
        }
        let goes_on = match kind {
            Kind::File => visit(Step::File(path)),
            Kind::Folder => enter(path, &mut levels, visit),
            Kind::Link | Kind::Special => visit(skipped(&path, kind)),
        };
        if !goes_on {
            return false;
        }
    }
    true
}

fn enter(folder: PathBuf, levels: &mut Vec<Level>, visit: &mut dyn FnMut(Step) -> bool) -> bool {
    match list(&folder, None) {
        Ok((names, is_complete)) => {
            let goes_on = visit(Step::Folder(folder.clone()));
            levels.push(Level { folder, names, is_complete });
            goes_on
        }
        Err(error) => visit(unreadable(&folder, &error)),
    }
}

/// The first names of a folder behind `after`, last one first, and whether these are all.
fn list(folder: &Path, after: Option<&OsString>) -> io::Result<(Vec<Name>, bool)> {
    // The greatest name is on top, and goes when a smaller one comes.
    let mut smallest: BinaryHeap<(OsString, Kind)> = BinaryHeap::new();
    let mut is_complete = true;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if after.is_some_and(|after| name <= *after) {
            continue;
        }
        if smallest.len() == BATCH {
            is_complete = false;
            if smallest.peek().is_some_and(|(greatest, _)| *greatest <= name) {
                continue;
            }
            smallest.pop();
        }
        // A name that goes while it is inspected is reported when it is opened.
        let kind = entry.file_type().map_or(Kind::File, Kind::of);
        smallest.push((name, kind));
    }
    let names = smallest.into_sorted_vec().into_iter().rev().map(|(name, kind)| Name { name, kind }).collect();
    Ok((names, is_complete))
}

fn unreadable(folder: &Path, error: &io::Error) -> Step {
    Step::Unidentified(Unidentified::new(folder.as_os_str(), UnidentifiedKind::Unreadable, error.to_string()))
}

fn skipped(path: &Path, kind: Kind) -> Step {
    let reason = if kind == Kind::Link { "it is a symbolic link" } else { "it is no regular file" };
    Step::Unidentified(Unidentified::new(path.as_os_str(), UnidentifiedKind::Skipped, reason))
}

impl Kind {
    fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(path: &Path) -> Vec<String> {
        let mut found = Vec::new();
        walk(path, &mut |step| {
            found.push(match step {
                Step::Folder(_) => return true,
                Step::File(file) => file.strip_prefix(path).unwrap().display().to_string(),
                Step::Unidentified(trouble) => format!("({})", trouble.reason),
            });
            true
        });
        found
    }

    #[test]
    fn folders_are_walked_by_name_and_links_in_them_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("b/deep")).unwrap();
        for name in ["c", "a", "b/deep/2", "b/deep/1", "b.txt"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("..", place.path().join("b/up")).unwrap();
        assert_eq!(walked(place.path()), ["a", "b/deep/1", "b/deep/2", "(it is a symbolic link)", "b.txt", "c"]);
    }

    #[test]
    fn a_visitor_that_has_enough_ends_the_walk() {
        let place = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let mut seen = 0;
        let ended = !walk(place.path(), &mut |_| {
            seen += 1;
            seen < 2
        });
        assert!(ended);
        // The folder itself, and a file.
        assert_eq!(seen, 2);
    }

    #[test]
    fn names_beyond_a_batch_follow_in_order_and_none_comes_twice() {
        let place = tempfile::tempdir().unwrap();
        let count = BATCH + 10;
        for number in 0..count {
            fs::write(place.path().join(format!("{:06}", number * 7919 % count)), "").unwrap();
        }
        let expected: Vec<String> = (0..count).map(|number| format!("{number:06}")).collect();
        assert_eq!(walked(place.path()), expected);
    }
}
