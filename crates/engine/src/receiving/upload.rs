//! An upload as the payload of a deposit: located by its etag, and opened through its store to be read once.

use std::io::{self, Read};
use std::sync::Arc;

use strongroom_bagit::{LooseFiles, Serialization, Source};
use strongroom_registry::receiving::ScannedUpload;
use strongroom_storage::{Key, StorageError, Store};

use super::listing;
use crate::{EngineError, Home};

/// How a work item names an upload as its source.
const SCHEME: &str = "upload:";
/// Enough of an archive to recognise it.
const HEAD: u64 = 600;

/// Where an upload lies: a key of a receiving store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivingKey {
    /// The store's name in the settings.
    pub(crate) store: String,
    /// With a slash at the end for a folder.
    pub(crate) key: String,
}

impl ReceivingKey {
    /// Takes the source of a work item, where it is an upload.
    pub(crate) fn parse(source: &str) -> Option<Self> {
        let (store, key) = source.strip_prefix(SCHEME)?.split_once('/')?;
        Some(Self { store: store.to_owned(), key: key.to_owned() })
    }

    /// The last name of the key.
    pub(crate) fn file_name(&self) -> &str {
        let key = self.key.trim_end_matches('/');
        key.rsplit_once('/').map_or(key, |(_, name)| name)
    }

    /// The upload as it is now; none where nothing lies there.
    pub(crate) fn look(&self, home: &Home) -> Result<Option<ScannedUpload>, EngineError> {
        Ok(listing::look_at(home.store(&self.store)?.as_ref(), &self.key, &mut |_| Ok(()))?)
    }

    /// Opens it as a bag that is read once; none where it is no archive after all.
    pub(crate) fn open(&self, home: &Home) -> Result<Option<Source>, EngineError> {
        let store = home.store(&self.store)?;
        if let Some(folder) = self.key.strip_suffix('/') {
            let prefix = Key::new(folder).map_err(StorageError::from)?;
            let files = FilesOfFolder { store: store.clone(), prefix };
            return Ok(Some(Source::from_loose_files(self.file_name(), Box::new(files))));
        }
        let key = Key::new(self.key.as_str()).map_err(StorageError::from)?;
        let mut head = Vec::new();
        let read = store.open(&key, 0, Some(HEAD))?.read_to_end(&mut head);
        read.map_err(|source| EngineError::Io { act: "read", path: self.to_string(), source })?;
        let Some(serialization) = Serialization::detect(&head, self.file_name()) else { return Ok(None) };
        let body = store.open(&key, 0, None)?;
        Ok(Some(Source::from_stream(body, serialization, Some(self.file_name().to_owned()))))
    }
}

impl std::fmt::Display for ReceivingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.store, self.key)
    }
}

/// The files of a folder in a store.
struct FilesOfFolder {
    store: Arc<dyn Store>,
    prefix: Key,
}

impl LooseFiles for FilesOfFolder {
    fn list(&self, show: &mut dyn FnMut(&str, u64) -> io::Result<()>) -> io::Result<()> {
        for line in self.store.list(&self.prefix).map_err(io::Error::other)? {
            match line {
                Ok(listed) => {
                    let Some(path) = listed.key.below(&self.prefix) else { continue };
                    show(path, listed.size)?;
                }
                Err(error) if listing::is_no_key(&error) => {}
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(())
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send>> {
        let key = self.prefix.join(path).map_err(io::Error::other)?;
        self.store.open(&key, 0, None).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_comes_back_as_it_was_written() {
        for (store, key, name) in
            [("receiving", "test.edu/a.tar", "a.tar"), ("own", "a.tar", "a.tar"), ("receiving", "test.edu/a b/", "a b")]
        {
            let source = ReceivingKey { store: store.into(), key: key.into() };
            assert_eq!(ReceivingKey::parse(&source.to_string()), Some(source.clone()));
            assert_eq!(source.file_name(), name);
        }
        assert_eq!(ReceivingKey::parse("/home/upload:x/y"), None);
    }
}
