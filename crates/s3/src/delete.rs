//! Deletion: of one object, and of everything below a prefix a thousand at a time.

use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use strongroom_storage::{Key, StorageError};

use crate::condition::is_etag;
use crate::failure::Failure;
use crate::head::etag_of;
use crate::list::Names;
use crate::store::Inner;

/// Most objects of one request (S3: `DeleteObjects`).
const BATCH: usize = 1000;

impl Inner {
    /// Removes one object; `key` is for errors.
    pub(crate) fn delete_object(&self, name: &str, key: &Key) -> Result<(), StorageError> {
        let request = self.client.delete_object().bucket(&self.settings.bucket).key(name);
        match self.ask(request.send()) {
            Err(failure) if failure.is_not_found() => Ok(()),
            Err(failure) => Err(self.failed(failure, "delete", key)),
            Ok(_) => Ok(()),
        }
    }

    /// Removes an object that has this etag; whether it had, or nothing lay there. Where the service does not look after
    /// it, it is inspected before, and what comes in that moment is lost.
    pub(crate) fn delete_match(&self, name: &str, key: &Key, etag: &str) -> Result<bool, StorageError> {
        if !is_etag(etag) {
            return Ok(false);
        }
        if self.probed().delete_if_match {
            let request = self.client.delete_object().bucket(&self.settings.bucket).key(name);
            return match self.ask(request.if_match(format!("\"{etag}\"")).send()) {
                Err(failure) if failure.is_condition() => Ok(false),
                Err(failure) if failure.is_not_found() => Ok(true),
                Err(failure) => Err(self.failed(failure, "delete", key)),
                Ok(_) => Ok(true),
            };
        }
        match self.head_object(name) {
            Ok(output) if etag_of(output.e_tag()) != etag => Ok(false),
            Ok(_) => self.delete_object(name, key).map(|()| true),
            Err(failure) if failure.is_not_found() => Ok(true),
            Err(failure) => Err(self.failed(failure, "delete", key)),
        }
    }

    /// Removes everything below a prefix, also what is no key.
    pub(crate) fn delete_below(&self, prefix: &Key) -> Result<(), StorageError> {
        let mut names = Names::new(self, self.names_below(prefix)?, prefix);
        loop {
            let batch: Vec<String> =
                names.by_ref().take(BATCH).map(|entry| entry.map(|entry| entry.name)).collect::<Result<_, _>>()?;
            if batch.is_empty() {
                return Ok(());
            }
            self.delete_batch(batch, prefix)?;
        }
    }

    /// Removes everything below a prefix that has `segment` as a segment of its name below it.
    pub(crate) fn delete_segment_below(&self, prefix: &Key, segment: &str) -> Result<(), StorageError> {
        let above = self.names_below(prefix)?;
        let mut names = Names::new(self, above.clone(), prefix);
        let is_owned = |name: &str| {
            name.strip_prefix(above.as_str()).is_some_and(|below| below.split('/').any(|part| part == segment))
        };
        loop {
            let mut batch = Vec::new();
            for entry in names.by_ref() {
                let name = entry?.name;
                if is_owned(&name) {
                    batch.push(name);
                }
                if batch.len() == BATCH {
                    break;
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.delete_batch(batch, prefix)?;
        }
    }

    fn delete_batch(&self, names: Vec<String>, prefix: &Key) -> Result<(), StorageError> {
        // XML cannot express every key.
        let (together, mut single): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| !name.chars().any(char::is_control));
        let mut left = together;
        for attempt in 1.. {
            if left.is_empty() {
                break;
            }
            match self.delete_together(&left) {
                Ok(refused) => match refused.into_iter().next() {
                    // What is gone already is removed again without harm.
                    Some(failure) if failure.may_pass() && self.settings.wait_after(attempt) => {}
                    Some(failure) => return Err(self.failed(failure, "delete", prefix)),
                    None => left.clear(),
                },
                Err(failure) if failure.is_unsupported() => single.append(&mut left),
                Err(failure) => return Err(self.failed(failure, "delete", prefix)),
            }
        }
        single.iter().try_for_each(|name| self.delete_object(name, prefix))
    }

    /// Removes many objects by one request; gives why some were not removed.
    fn delete_together(&self, names: &[String]) -> Result<Vec<Failure>, Failure> {
        let named = names.iter().map(|name| ObjectIdentifier::builder().key(name).build());
        let named: Vec<_> = named.collect::<Result<_, _>>().map_err(|error| Failure::answer(error.to_string()))?;
        let delete = Delete::builder().set_objects(Some(named)).quiet(true).build();
        let delete = delete.map_err(|error| Failure::answer(error.to_string()))?;
        let request = self.client.delete_objects().bucket(&self.settings.bucket).delete(delete);
        let output = self.ask(request.send())?;
        let refused = output.errors().iter().filter(|error| error.code() != Some("NoSuchKey"));
        Ok(refused.map(|error| Failure::of_one(error.code(), error.message())).collect())
    }
}
