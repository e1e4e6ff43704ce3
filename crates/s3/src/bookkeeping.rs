//! Small objects in which the store keeps what it needs to know, as JSON.

use std::io::Read;

use serde::Serialize;
use serde::de::DeserializeOwned;
use strongroom_storage::{Head, Key, PutOptions, StorageError};

use crate::store::Inner;

/// Nothing of the bookkeeping is near this long; more is not read.
const LONGEST: u64 = 64 << 10;

impl Inner {
    /// Writes a small object; whatever lay there is replaced.
    pub(crate) fn write_bookkeeping(&self, name: &str, content: &impl Serialize) -> Result<Head, StorageError> {
        let mut text = serde_json::to_vec_pretty(content)
            .map_err(|error| self.unusable(format!("{name} could not be written: {error}")))?;
        text.push(b'\n');
        let options = PutOptions { size: Some(text.len() as u64), ..PutOptions::default() };
        self.put_object_named(&Key::ROOT, name.to_owned(), &mut text.as_slice(), &options)
    }

    /// Reads a small object; `None` when nothing lies there.
    pub(crate) fn read_bookkeeping<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StorageError> {
        let request = self.client.get_object().bucket(&self.settings.bucket).key(name);
        let output = match self.ask(request.send()) {
            Ok(output) => output,
            Err(failure) if failure.is_not_found() => return Ok(None),
            Err(failure) => return Err(self.failed(failure, "read the bookkeeping of", &Key::ROOT)),
        };
        let mut text = Vec::new();
        let body = crate::body::whole(self, name, output);
        body.take(LONGEST).read_to_end(&mut text).map_err(|source| StorageError::Io {
            store: self.name.clone(),
            act: "read the bookkeeping of",
            key: Key::ROOT,
            source,
        })?;
        let content = serde_json::from_slice(&text);
        content.map(Some).map_err(|error| self.unusable(format!("{name} is not what this program writes: {error}")))
    }
}
