//! Removal for good: of every version of an object, of the markers of its deletion, and of the parts of unfinished uploads.
//!
//! A deletion without a version only hides an object where the bucket keeps versions. The versions that are not seen are removed
//! before the one that is: whenever the process ends, none of them has taken its place. Afterwards they are listed again, since
//! services differ in how a listing goes on after a version that was removed meanwhile.

use std::time::SystemTime;

use aws_sdk_s3::types::EncodingType;
use strongroom_storage::{RemovalHold, StorageError};

use crate::delete::{BATCH, Named, Undeleted};
use crate::failure::Failure;
use crate::list::{Names, decoded};
use crate::store::Inner;
use crate::versions::{Scope, Version, Versions, knows_no_versions};

/// How often it is looked whether anything is left. More than two or three times means that others put there.
const ROUNDS: u32 = 16;

/// What is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Everything,
    /// What is not seen any more, of objects that are.
    Replaced,
}

impl Inner {
    /// Removes everything of these objects.
    pub(crate) fn purge(&self, scope: &Scope<'_>) -> Result<(), StorageError> {
        self.abort_uploads_of(scope)?;
        let mut has_versions = false;
        for _ in 0..ROUNDS {
            if self.purge_versions(scope, Extent::Everything)? > 0 {
                has_versions = true;
                continue;
            }
            // Whose versions are listed is not there without one. Some services list none.
            if has_versions || !self.delete_seen(scope)? {
                return Ok(());
            }
        }
        Err(self.failed(Failure::busy("what is removed is put again and again"), "delete", scope.key))
    }

    /// Removes what was replaced under these objects and is not seen any more.
    pub(crate) fn purge_replaced(&self, scope: &Scope<'_>) -> Result<(), StorageError> {
        for _ in 0..ROUNDS {
            if self.purge_versions(scope, Extent::Replaced)? == 0 {
                return Ok(());
            }
        }
        Err(self.failed(Failure::busy("what is removed is put again and again"), "delete", scope.key))
    }

    /// One pass through the versions; how many were removed.
    fn purge_versions(&self, scope: &Scope<'_>, extent: Extent) -> Result<u64, StorageError> {
        let mut versions = Versions::new(self, scope);
        let mut pass =
            Pass { inner: self, scope, extent, hidden: Vec::new(), seen: Vec::new(), open: Vec::new(), removed: 0 };
        loop {
            let page = match versions.next_page() {
                Ok(page) => page,
                Err(failure) if knows_no_versions(&failure) => return Ok(0),
                Err(failure) => return Err(self.failed(failure, "list the versions of", scope.key)),
            };
            if page.is_empty() {
                break;
            }
            for version in page {
                pass.take(version)?;
            }
        }
        pass.close_object();
        pass.remove()?;
        Ok(pass.removed)
    }

    /// Deletes what is seen of these objects; whether there was anything.
    fn delete_seen(&self, scope: &Scope<'_>) -> Result<bool, StorageError> {
        if !scope.is_one {
            let mut names = Names::new(self, scope.name.clone(), scope.key);
            if names.next().transpose()?.is_none() {
                return Ok(false);
            }
            return self.delete_below(scope.key).map(|()| true);
        }
        match self.head_object(&scope.name) {
            Ok(_) => {}
            Err(failure) if failure.is_not_found() => match self.failed(failure, "delete", scope.key) {
                error if error.is_not_found() => return Ok(false),
                error => return Err(error),
            },
            Err(failure) => return Err(self.failed(failure, "delete", scope.key)),
        }
        let named = Named { name: scope.name.clone(), version: None };
        let deleted = self.delete_named(&named);
        deleted
            .map_err(|failure| self.undeleted(Undeleted { failure, named: Some(Box::new(named)) }, scope))
            .map(|()| true)
    }

    /// The error of a removal that the service refused. It answers most locks with nothing but `AccessDenied`, as it does
    /// where the rights are missing, so what it reports of the version decides.
    fn undeleted(&self, undeleted: Undeleted, scope: &Scope<'_>) -> StorageError {
        let Undeleted { failure, named } = undeleted;
        let held = |reason: String| {
            let key = named.as_ref().and_then(|named| self.key_of(&named.name)).unwrap_or_else(|| scope.key.clone());
            StorageError::Held { store: self.name.clone(), key, reason }
        };
        if failure.may_be_of_a_lock() {
            if let Some(named) = &named
                && let Ok(Some(hold)) = self.hold_of(&named.name, named.version.as_deref(), scope.key)
                && hold.forbids_at(SystemTime::now())
            {
                return held(describe(&hold, &failure));
            }
            if failure.names_a_lock() {
                return held(format!("the service says: {failure}"));
            }
        }
        self.failed(failure, "delete", scope.key)
    }

    /// Drops every upload to these objects that is under way: its parts are bytes that are kept.
    fn abort_uploads_of(&self, scope: &Scope<'_>) -> Result<(), StorageError> {
        let failed = |failure| self.failed(failure, "drop the uploads of", scope.key);
        let mut markers: (Option<String>, Option<String>) = (None, None);
        loop {
            let request = self
                .client
                .list_multipart_uploads()
                .bucket(&self.settings.bucket)
                .prefix(&scope.name)
                .encoding_type(EncodingType::Url)
                .set_key_marker(markers.0.clone())
                .set_upload_id_marker(markers.1.clone());
            let page = match self.ask(request.send()) {
                Ok(page) => page,
                Err(failure) if failure.is_unsupported() => return Ok(()),
                Err(failure) => return Err(failed(failure)),
            };
            let is_encoded = page.encoding_type().is_some();
            for upload in page.uploads() {
                let (Some(name), Some(id)) = (upload.key(), upload.upload_id()) else { continue };
                let name = decoded(name, is_encoded);
                if scope.has(&name) {
                    self.abort(&name, id).map_err(failed)?;
                }
            }
            let next = (
                page.next_key_marker().map(|name| decoded(name, is_encoded).into_owned()),
                page.next_upload_id_marker().map(str::to_owned),
            );
            if page.is_truncated() != Some(true) || next == markers || next.0.is_none() {
                return Ok(());
            }
            markers = next;
        }
    }
}

/// Versions on their way to be removed, in requests for many.
struct Pass<'a> {
    inner: &'a Inner,
    scope: &'a Scope<'a>,
    extent: Extent,
    /// Versions that are not seen.
    hidden: Vec<Named>,
    /// Those that are, of objects of which every other version is known.
    seen: Vec<Named>,
    /// Those of the object that is being listed.
    open: Vec<Named>,
    removed: u64,
}

impl Pass<'_> {
    fn take(&mut self, version: Version) -> Result<(), StorageError> {
        if self.open.first().is_some_and(|open| open.name != version.name) {
            self.close_object();
        }
        let named = Named { name: version.name, version: version.id };
        match (version.is_latest, self.extent) {
            (false, _) => self.hidden.push(named),
            (true, Extent::Everything) => self.open.push(named),
            (true, Extent::Replaced) => {}
        }
        if self.hidden.len() + self.seen.len() >= BATCH { self.remove() } else { Ok(()) }
    }

    fn close_object(&mut self) {
        self.seen.append(&mut self.open);
    }

    /// Removes what is known so far, hidden versions first.
    fn remove(&mut self) -> Result<(), StorageError> {
        for batch in [std::mem::take(&mut self.hidden), std::mem::take(&mut self.seen)] {
            if batch.is_empty() {
                continue;
            }
            let count = batch.len() as u64;
            self.inner.delete_batch(batch).map_err(|undeleted| self.inner.undeleted(undeleted, self.scope))?;
            self.removed += count;
        }
        Ok(())
    }
}

fn describe(hold: &RemovalHold, failure: &Failure) -> String {
    let until = hold.retention.map(|retention| aws_sdk_s3::primitives::DateTime::from(retention.until).to_string());
    match (hold.has_legal_hold, until) {
        (true, _) => format!("it has a legal hold at the service, which has to be taken off there first ({failure})"),
        (false, Some(until)) => format!("the service retains it until {until} ({failure})"),
        (false, None) => format!("the service says: {failure}"),
    }
}
