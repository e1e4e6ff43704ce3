//! Validates a directory of the disk that is no store of ours, an object or a storage root: read only, links not
//! followed. A directory also shows what keys cannot: links and empty directories.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use strongroom_storage::{
    Assembly, Body, Capabilities, Head, Key, Listed, Listing, PutOptions, RemovalHold, StorageError, Store,
};

use super::report::Report;
use super::{ValidateOptions, validate_object, validate_root};
use crate::path::CONTENT;
use crate::{OcflError, VersionNumber};

/// What a directory turned out to be, and the report on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validated {
    /// An object, or something that was to be one.
    Object(Report),
    /// A storage root; the reports on its objects were handed out on the way.
    Root(Report),
}

/// Validates the object or storage root in a directory. For a storage root each object's report is handed to `each` with
/// its path below the root.
pub fn validate_directory(
    path: &Path,
    options: &ValidateOptions,
    each: &mut dyn FnMut(&str, Report),
) -> Result<Validated, OcflError> {
    let failed = |source| OcflError::Io { act: "read a directory", source };
    let (mut names, mut has_directories) = (Vec::new(), false);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        has_directories |= entry.file_type().map_err(failed)?.is_dir();
        names.extend(entry.file_name().into_string());
    }
    let is_object = names.iter().any(|name| name.starts_with("0=ocfl_object_"));
    let is_root = !is_object && names.iter().any(|name| is_of_root(name));
    // Directories, and nothing of an object beside them: a storage root without its declaration.
    let is_undeclared = has_directories && !names.iter().any(|name| is_of_object(name));
    if !is_root && !is_object && is_undeclared {
        crate::local::refuse_above_roots(path)?;
    }
    let is_root = is_root || !is_object && is_undeclared;
    let directory = Directory { name: path.display().to_string(), path: path.to_owned() };
    if is_root {
        let mut report = validate_root(&directory, &Key::ROOT, options, &mut |key, report| each(key.as_str(), report))?;
        survey(path, "", &mut |shape, at| match shape {
            Shape::Empty => report.add("E073", at, "the directory is empty"),
            Shape::Odd(what) => report.add("E090", at, what),
        })?;
        report.sort();
        return Ok(Validated::Root(report));
    }
    let mut report = validate_object(&directory, &Key::ROOT, options)?;
    survey(path, "", &mut |shape, at| match shape {
        Shape::Odd(what) => report.add("E090", at, what),
        Shape::Empty => {
            let mut elements = at.splitn(3, '/');
            let is_version = elements.next().is_some_and(|name| name.parse::<VersionNumber>().is_ok());
            match (is_version, elements.next(), elements.next()) {
                (true, Some(CONTENT), None) => report.add("W003", at, "the content directory is empty"),
                (true, Some(_), Some(_)) => report.add("E024", at, "the directory is empty"),
                (false, None, _) if at != "logs" && at != "extensions" => {
                    report.add("E001", at, "the directory is none of an object");
                }
                _ => {}
            }
        }
    })?;
    report.sort();
    Ok(Validated::Object(report))
}

/// Whether a name says that it lies in a storage root.
fn is_of_root(name: &str) -> bool {
    name.starts_with("0=ocfl_") || name == "ocfl_layout.json"
}

/// Whether a name says that it lies in an object, also in one without its declaration.
fn is_of_object(name: &str) -> bool {
    name.starts_with("inventory.json") || name.parse::<VersionNumber>().is_ok()
}

enum Shape {
    Empty,
    Odd(&'static str),
}

/// Hands out every empty directory and everything that is neither a directory nor a file.
fn survey(at: &Path, relative: &str, found: &mut dyn FnMut(Shape, &str)) -> Result<(), OcflError> {
    let failed = |source| OcflError::Io { act: "read a directory", source };
    let mut is_empty = true;
    for entry in fs::read_dir(at).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        is_empty = false;
        let name = entry.file_name();
        let below = if relative.is_empty() {
            name.to_string_lossy().into_owned()
        } else {
            format!("{relative}/{}", name.to_string_lossy())
        };
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            survey(&entry.path(), &below, found)?;
        } else if kind.is_symlink() {
            found(Shape::Odd("it is a symbolic link"), &below);
        } else if !kind.is_file() {
            found(Shape::Odd("it is neither a file nor a directory"), &below);
        }
    }
    if is_empty && !relative.is_empty() {
        found(Shape::Empty, relative);
    }
    Ok(())
}

/// A directory as a store that can only be read.
#[derive(Clone)]
struct Directory {
    name: String,
    path: PathBuf,
}

impl Directory {
    fn failed(&self, act: &'static str, key: &Key, source: io::Error) -> StorageError {
        if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
            return StorageError::NotFound { store: self.name.clone(), key: key.clone() };
        }
        StorageError::Io { store: self.name.clone(), act, key: key.clone(), source }
    }

    fn read_only<T>(&self) -> Result<T, StorageError> {
        Err(StorageError::Unusable { store: self.name.clone(), reason: "it is only read".to_owned() })
    }

    /// The path of a regular file.
    fn file(&self, act: &'static str, key: &Key) -> Result<(PathBuf, u64), StorageError> {
        let path = self.path.join(key.as_str());
        let metadata = fs::symlink_metadata(&path).map_err(|source| self.failed(act, key, source))?;
        if !metadata.is_file() {
            return Err(StorageError::NotFound { store: self.name.clone(), key: key.clone() });
        }
        Ok((path, metadata.len()))
    }
}

impl Store for Directory {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { conditional_put: false, strong_checksum: false, atomic_assembly: false }
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        let (_, size) = self.file("inspect", key)?;
        Ok(Head { size, etag: String::new(), class: None, readable: true, checksum: None })
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        let (path, _) = self.file("open", key)?;
        let mut file = File::open(path).map_err(|source| self.failed("open", key, source))?;
        file.seek(SeekFrom::Start(offset)).map_err(|source| self.failed("open", key, source))?;
        Ok(Box::new(file.take(length.unwrap_or(u64::MAX))))
    }

    fn put(&self, _: &Key, _: &mut dyn Read, _: &PutOptions) -> Result<Head, StorageError> {
        self.read_only()
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        let mut listing = Walk { directory: self.clone(), levels: Vec::new() };
        match listing.enter(self.path.join(prefix.as_str()), prefix) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(Box::new(listing)),
        }
    }

    fn delete(&self, _: &Key) -> Result<(), StorageError> {
        self.read_only()
    }

    fn delete_all(&self, _: &Key) -> Result<(), StorageError> {
        self.read_only()
    }

    fn purge(&self, _: &Key) -> Result<(), StorageError> {
        self.read_only()
    }

    fn purge_all(&self, _: &Key) -> Result<(), StorageError> {
        self.read_only()
    }

    fn purge_replaced(&self, _: &Key) -> Result<(), StorageError> {
        self.read_only()
    }

    fn removal_hold(&self, _: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.read_only()
    }

    fn removal_hold_below(&self, _: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.read_only()
    }

    fn assembly(&self, _: &str, _: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        self.read_only()
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        Ok(Vec::new())
    }
}

/// The walk in byte order of the keys, with the names of one directory per level in memory.
struct Walk {
    directory: Directory,
    /// For each directory on the way: its key, and its entries, the next one last.
    levels: Vec<(Key, Vec<(String, DirEntry)>)>,
}

impl Walk {
    fn enter(&mut self, path: PathBuf, key: &Key) -> Result<(), StorageError> {
        let failed = |source| self.directory.failed("list", key, source);
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let mut name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                name.push('/');
            }
            if kind.is_dir() || kind.is_file() {
                entries.push((name, entry));
            }
        }
        entries.sort_by(|left, right| right.0.cmp(&left.0));
        self.levels.push((key.clone(), entries));
        Ok(())
    }

    fn visit(&mut self, parent: &Key, name: &str, entry: &DirEntry) -> Result<Option<Listed>, StorageError> {
        if let Some(directory) = name.strip_suffix('/') {
            let key = parent.join(directory)?;
            self.enter(entry.path(), &key)?;
            return Ok(None);
        }
        let key = parent.join(name)?;
        let metadata = entry.metadata().map_err(|source| self.directory.failed("inspect", &key, source))?;
        Ok(Some(Listed { key, size: metadata.len(), etag: String::new() }))
    }
}

impl Iterator for Walk {
    type Item = Result<Listed, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (parent, entries) = self.levels.last_mut()?;
            let Some((name, entry)) = entries.pop() else {
                self.levels.pop();
                continue;
            };
            let parent = parent.clone();
            if let Some(outcome) = self.visit(&parent, &name, &entry).transpose() {
                return Some(outcome);
            }
        }
    }
}
