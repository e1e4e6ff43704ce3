//! Deletion: of one object, and of everything below a prefix a thousand at a time.

use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use strongroom_storage::{Key, Removal, StorageError};

use crate::condition::is_etag;
use crate::failure::Failure;
use crate::head::etag_of;
use crate::list::Names;
use crate::store::Inner;

/// Most objects of one request (S3: `DeleteObjects`).
pub(crate) const BATCH: usize = 1000;

/// What is to be removed: an object as it is seen, or one version of it for good.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

/// Why something was not removed, and what.
#[derive(Debug)]
pub(crate) struct Undeleted {
    pub(crate) failure: Failure,
    pub(crate) named: Option<Box<Named>>,
}

impl Inner {
    /// Removes one object; `key` is for errors.
    pub(crate) fn delete_object(&self, name: &str, key: &Key) -> Result<(), StorageError> {
        let named = Named { name: name.to_owned(), version: None };
        self.delete_named(&named).map_err(|failure| self.failed(failure, "delete", key))
    }

    pub(crate) fn delete_named(&self, named: &Named) -> Result<(), Failure> {
        let request = self.client.delete_object().bucket(&self.settings.bucket).key(&named.name);
        match self.ask(request.set_version_id(named.version.clone()).send()) {
            Err(failure) if failure.is_not_found() || failure.is("NoSuchVersion") => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// Removes an object that has this etag. Where the service does not look after
    /// it, it is inspected before, and what comes in that moment is lost.
    pub(crate) fn delete_match(&self, name: &str, key: &Key, etag: &str) -> Result<Removal, StorageError> {
        if !is_etag(etag) {
            return Ok(Removal::Changed);
        }
        if self.probed().delete_if_match {
            let request = self.client.delete_object().bucket(&self.settings.bucket).key(name);
            return match self.ask(request.if_match(format!("\"{etag}\"")).send()) {
                Err(failure) if failure.is_condition() => self.why_not_deleted(name, key),
                Err(failure) if failure.is_not_found() => self.absent(failure, key),
                Err(failure) => Err(self.failed(failure, "delete", key)),
                Ok(_) => Ok(Removal::Removed),
            };
        }
        match self.head_object(name) {
            Ok(output) if etag_of(output.e_tag()) != etag => Ok(Removal::Changed),
            Ok(_) => self.delete_object(name, key).map(|()| Removal::Removed),
            Err(failure) if failure.is_not_found() => self.absent(failure, key),
            Err(failure) => Err(self.failed(failure, "delete", key)),
        }
    }

    /// Services refuse a condition alike where the object is another one and where there is none.
    fn why_not_deleted(&self, name: &str, key: &Key) -> Result<Removal, StorageError> {
        match self.head_object(name) {
            Ok(_) => Ok(Removal::Changed),
            Err(failure) if failure.is_not_found() => self.absent(failure, key),
            Err(failure) => Err(self.failed(failure, "delete", key)),
        }
    }

    /// Nothing lies there, unless it is the bucket that is not there.
    fn absent(&self, failure: Failure, key: &Key) -> Result<Removal, StorageError> {
        match self.failed(failure, "delete", key) {
            error if error.is_not_found() => Ok(Removal::Absent),
            error => Err(error),
        }
    }

    /// Removes everything below a prefix, also what is no key.
    pub(crate) fn delete_below(&self, prefix: &Key) -> Result<(), StorageError> {
        let mut names = Names::new(self, self.names_below(prefix)?, prefix);
        loop {
            let seen = names.by_ref().take(BATCH);
            let batch: Vec<Named> = seen
                .map(|entry| entry.map(|entry| Named { name: entry.name, version: None }))
                .collect::<Result<_, _>>()?;
            if batch.is_empty() {
                return Ok(());
            }
            self.delete_batch(batch).map_err(|undeleted| self.failed(undeleted.failure, "delete", prefix))?;
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
                    batch.push(Named { name, version: None });
                }
                if batch.len() == BATCH {
                    break;
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.delete_batch(batch).map_err(|undeleted| self.failed(undeleted.failure, "delete", prefix))?;
        }
    }

    /// Removes some of what was listed.
    pub(crate) fn delete_batch(&self, batch: Vec<Named>) -> Result<(), Undeleted> {
        // XML cannot express every key.
        let (together, mut single): (Vec<Named>, Vec<Named>) =
            batch.into_iter().partition(|named| !named.name.chars().any(char::is_control));
        let mut left = together;
        for attempt in 1.. {
            if left.is_empty() {
                break;
            }
            match self.delete_together(&left) {
                Ok(refused) => match refused.into_iter().next() {
                    // What is gone already is removed again without harm.
                    Some(undeleted) if undeleted.failure.may_pass() && self.settings.wait_after(attempt) => {}
                    Some(undeleted) => return Err(undeleted),
                    None => left.clear(),
                },
                Err(failure) if failure.is_unsupported() => single.append(&mut left),
                Err(failure) => return Err(Undeleted { failure, named: None }),
            }
        }
        single.into_iter().try_for_each(|named| {
            let deleted = self.delete_named(&named);
            deleted.map_err(|failure| Undeleted { failure, named: Some(Box::new(named)) })
        })
    }

    /// Removes many objects by one request; gives why some were not removed.
    fn delete_together(&self, batch: &[Named]) -> Result<Vec<Undeleted>, Failure> {
        let identifier = |named: &Named| {
            let named = ObjectIdentifier::builder().key(&named.name).set_version_id(named.version.clone()).build();
            named.map_err(|error| Failure::answer(error.to_string()))
        };
        let named: Vec<_> = batch.iter().map(identifier).collect::<Result<_, _>>()?;
        let delete = Delete::builder().set_objects(Some(named)).quiet(true).build();
        let delete = delete.map_err(|error| Failure::answer(error.to_string()))?;
        let request = self.client.delete_objects().bucket(&self.settings.bucket).delete(delete);
        let output = self.ask(request.send())?;
        let refused =
            output.errors().iter().filter(|error| !matches!(error.code(), Some("NoSuchKey" | "NoSuchVersion")));
        let undeleted = |error: &aws_sdk_s3::types::Error| Undeleted {
            failure: Failure::of_one(error.code(), error.message()),
            named: error.key().map(|name| {
                let version = error.version_id().filter(|id| !id.is_empty()).map(str::to_owned);
                Box::new(Named { name: name.to_owned(), version })
            }),
        };
        Ok(refused.map(undeleted).collect())
    }
}
