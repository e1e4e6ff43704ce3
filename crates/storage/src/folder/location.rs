//! Where a folder really lies: its path without symbolic links, and device and inode of the folder and of every folder above
//! it. Two spellings of one folder, a symbolic link, a bind mount, and a folder within another are recognised by these. The
//! folder need not exist: a store whose disk is not mounted still has a place.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How two places relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// Both are one place.
    Same,
    /// The first lies within the second.
    Within,
    /// The second lies within the first.
    Around,
}

/// The place of a folder, as far as it can be known now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderLocation {
    path: PathBuf,
    /// Device and inode of the folder itself; none while it does not exist.
    own: Option<(u64, u64)>,
    /// Device and inode of the folders above it that exist.
    above: Vec<(u64, u64)>,
}

impl FolderLocation {
    /// The place of the folder at `path`. What of the path does not exist is taken as it is written.
    pub fn of(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut existing = absolute.as_path();
        let mut missing = Vec::new();
        let real = loop {
            match (fs::canonicalize(existing), existing.parent(), existing.components().next_back()) {
                (Ok(real), _, _) => break real,
                (Err(_), Some(parent), Some(last)) => {
                    missing.push(last.as_os_str().to_owned());
                    existing = parent;
                }
                (Err(_), _, _) => break existing.to_owned(),
            }
        };
        let own = if missing.is_empty() { identity(&real) } else { None };
        let above = real.ancestors().skip(usize::from(missing.is_empty())).filter_map(identity).collect();
        let path = missing.into_iter().rev().fold(real, |path, name| path.join(name));
        Self { path, own, above }
    }

    /// The folder's path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How this place relates to another; none where they are apart.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        let is_within = |inner: &Self, outer: &Self| {
            inner.path.starts_with(&outer.path) || outer.own.is_some_and(|own| inner.above.contains(&own))
        };
        if self.path == other.path || (self.own.is_some() && self.own == other.own) {
            Some(Overlap::Same)
        } else if is_within(self, other) {
            Some(Overlap::Within)
        } else if is_within(other, self) {
            Some(Overlap::Around)
        } else {
            None
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn one_folder_has_one_place_however_it_is_written() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let store = folder.path().join("store");
        fs::create_dir_all(store.join("inner")).expect("makes folders");
        symlink(&store, folder.path().join("link")).expect("links");
        let place = FolderLocation::of(&store);
        for spelling in ["store/", "./store", "store/inner/..", "link", "link/inner/.."] {
            let other = FolderLocation::of(&folder.path().join(spelling));
            assert_eq!(place.overlap(&other), Some(Overlap::Same), "{spelling}");
        }
        for nested in ["store/inner", "link/inner", "link/not/there/yet", "store/not/there"] {
            let other = FolderLocation::of(&folder.path().join(nested));
            assert_eq!(place.overlap(&other), Some(Overlap::Around), "{nested}");
            assert_eq!(other.overlap(&place), Some(Overlap::Within), "{nested}");
        }
        for apart in ["stores", "store2", "other/store"] {
            let other = FolderLocation::of(&folder.path().join(apart));
            assert_eq!(place.overlap(&other), None, "{apart}");
        }
    }
}
