//! The XML files of a folder, in the order of their paths. Symbolic links are not followed.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

use rustix::fs::{Mode, OFlags};

use crate::error::{HarvestError, name as note};
use crate::limits::Limits;

/// A file, or something that is none and why.
#[derive(Debug)]
pub(crate) enum Entry {
    /// The path below the folder, with slashes.
    File(String),
    Failed {
        path: String,
        error: HarvestError,
    },
}

/// The XML files of a folder.
#[derive(Debug)]
pub(crate) struct Walk {
    root: PathBuf,
    /// Folders that are open, with the names that come next in each.
    levels: Vec<Level>,
    /// Files before this path are passed over.
    from: String,
    /// Names of files that are passed over because of their names.
    others: Vec<String>,
    names: usize,
    depth: usize,
}

#[derive(Debug)]
struct Level {
    /// The path below the root, with a slash at its end; empty for the root.
    prefix: String,
    names: vec::IntoIter<(String, Kind)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    Link,
    Other,
    NoText,
}

impl Walk {
    /// Reads a folder from a file on.
    pub(crate) fn new(root: &Path, from: &str, limits: &Limits) -> Result<Self, HarvestError> {
        let (names, depth) = (limits.folder_names, limits.folder_depth);
        let mut walk =
            Self { root: root.to_owned(), levels: Vec::new(), from: from.to_owned(), others: Vec::new(), names, depth };
        walk.enter(String::new())?;
        Ok(walk)
    }

    /// Names of files that were passed over because of their names.
    pub(crate) fn others(&self) -> &[String] {
        &self.others
    }

    fn enter(&mut self, prefix: String) -> Result<(), HarvestError> {
        let path = self.root.join(&prefix);
        let failed = |source| HarvestError::File { act: "list", path: path.clone(), source };
        if self.levels.len() >= self.depth {
            let text = format!("more than {} folders are within each other", self.depth);
            return Err(failed(io::Error::other(text)));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if names.len() >= self.names {
                return Err(failed(io::Error::other(format!("it has more than {} names", self.names))));
            }
            let kind = match kind {
                kind if kind.is_symlink() => Kind::Link,
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_file() => Kind::File,
                _ => Kind::Other,
            };
            names.push(match entry.file_name().into_string() {
                Ok(name) => (name, kind),
                Err(name) => (name.to_string_lossy().into_owned(), Kind::NoText),
            });
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.levels.push(Level { prefix, names: names.into_iter() });
        Ok(())
    }

    /// Whether all below a path comes before the file that is read from.
    fn is_passed(&self, path: &str, kind: Kind) -> bool {
        let is_above = self.from.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        !(kind == Kind::Folder && is_above) && by_parts(path, &self.from) == Ordering::Less
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.names.next() else {
                self.levels.pop();
                continue;
            };
            let path = format!("{}{name}", level.prefix);
            if self.is_passed(&path, kind) {
                continue;
            }
            let is_xml = Path::new(&name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("xml"));
            let refused = |text: &str| HarvestError::File {
                act: "read",
                path: self.root.join(&path),
                source: io::Error::other(text.to_owned()),
            };
            let error = match kind {
                Kind::Folder => match self.enter(format!("{path}/")) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Kind::File if is_xml => return Some(Entry::File(path)),
                // It may lead to a folder, so its name does not matter.
                Kind::Link => refused("it is a symbolic link, which is not followed"),
                Kind::Other if is_xml => refused("it is neither a file nor a folder"),
                Kind::NoText => refused("its name is no UTF-8"),
                Kind::File => {
                    note(&mut self.others, &path);
                    continue;
                }
                Kind::Other => continue,
            };
            return Some(Entry::Failed { path, error });
        }
    }
}

/// Paths in the order in which a folder is read: by their parts.
fn by_parts(one: &str, other: &str) -> Ordering {
    one.split('/').cmp(other.split('/'))
}

/// Opens a file that is no symbolic link.
pub(crate) fn open(path: &Path) -> Result<File, HarvestError> {
    let failed = |source| HarvestError::File { act: "read", path: path.to_owned(), source };
    // Without `NONBLOCK`, opening a pipe waits for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::LOOP => failed(io::Error::other("it is a symbolic link, which is not followed")),
        error => failed(error.into()),
    })?;
    let file = File::from(file);
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(_) => Err(failed(io::Error::other("it is no file"))),
        Err(error) => Err(failed(error)),
    }
}
