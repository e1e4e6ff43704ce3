//! What the service reports against a removal: Object Lock with its retention and legal holds.
//!
//! Inspection (HEAD) names a lock only to those who may ask for it, and says nothing to others. Its silence proves nothing, so
//! retention and legal hold are asked for themselves: a lack of rights is an error then.

use std::time::SystemTime;

use aws_sdk_s3::types::{ObjectLockLegalHoldStatus, ObjectLockRetention, ObjectLockRetentionMode};
use strongroom_storage::{Key, RemovalHold, Retention, RetentionMode, StorageError};

use crate::failure::Failure;
use crate::list::Names;
use crate::store::Inner;
use crate::versions::{Scope, Version, Versions, knows_no_versions};

/// Threads that ask for many versions at once.
const ASKING: usize = 8;
const ACT: &str = "learn what the service retains of";

impl Inner {
    /// What forbids the removal of these objects for longest, over all versions.
    pub(crate) fn removal_hold(&self, scope: &Scope<'_>) -> Result<Option<RemovalHold>, StorageError> {
        if !self.may_lock(scope.key)? {
            return Ok(None);
        }
        let mut found = None;
        let mut versions = Versions::new(self, scope);
        loop {
            let page = match versions.next_page() {
                Ok(page) => Vec::from(page),
                Err(failure) if knows_no_versions(&failure) => return self.hold_of_seen(scope),
                Err(failure) => return Err(self.failed(failure, "list the versions of", scope.key)),
            };
            if page.is_empty() {
                return Ok(found);
            }
            found = longest(found, self.hold_of_many(&page, scope.key)?);
        }
    }

    /// Whether anything in the bucket may be locked. Only a bucket that has Object Lock keeps retentions and legal holds. Who
    /// may not ask for that has to ask for each version.
    fn may_lock(&self, key: &Key) -> Result<bool, StorageError> {
        let request = self.client.get_object_lock_configuration().bucket(&self.settings.bucket);
        match self.ask(request.send()) {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_denied() => Ok(true),
            Err(failure) if is_none(&failure) || knows_no_versions(&failure) => Ok(false),
            Err(failure) => Err(self.failed(failure, ACT, key)),
        }
    }

    /// Of what is seen, where the service lists no versions.
    fn hold_of_seen(&self, scope: &Scope<'_>) -> Result<Option<RemovalHold>, StorageError> {
        if scope.is_one {
            return self.hold_of(&scope.name, None, scope.key);
        }
        let mut found = None;
        for entry in Names::new(self, scope.name.clone(), scope.key) {
            found = longest(found, self.hold_of(&entry?.name, None, scope.key)?);
        }
        Ok(found)
    }

    fn hold_of_many(&self, versions: &[Version], key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        let of_some = |some: &[Version]| -> Result<Option<RemovalHold>, StorageError> {
            let mut found = None;
            for version in some.iter().filter(|version| !version.is_marker) {
                found = longest(found, self.hold_of(&version.name, version.id.as_deref(), key)?);
            }
            Ok(found)
        };
        let share = versions.len().div_ceil(ASKING).max(1);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = versions.chunks(share).map(|some| scope.spawn(move || of_some(some))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut found = None;
        for answer in answers {
            let answer = answer.map_err(|_| self.unusable("a thread that asked what the service retains has ended"))?;
            found = longest(found, answer?);
        }
        Ok(found)
    }

    /// What the service says of one version; none also where it is gone.
    pub(crate) fn hold_of(
        &self,
        name: &str,
        version: Option<&str>,
        key: &Key,
    ) -> Result<Option<RemovalHold>, StorageError> {
        let bucket = &self.settings.bucket;
        let version = version.map(str::to_owned);
        let request = self.client.get_object_retention().bucket(bucket).key(name).set_version_id(version.clone());
        let retention = match self.ask(request.send()) {
            Ok(output) => output.retention().map(retention_of).transpose(),
            Err(failure) if is_none(&failure) => Ok(None),
            Err(failure) => Err(failure),
        };
        let retention = retention.map_err(|failure| self.failed(failure, ACT, key))?;
        let request = self.client.get_object_legal_hold().bucket(bucket).key(name).set_version_id(version);
        let has_legal_hold = match self.ask(request.send()) {
            Ok(output) => output.legal_hold().and_then(|hold| hold.status()) == Some(&ObjectLockLegalHoldStatus::On),
            Err(failure) if is_none(&failure) => false,
            Err(failure) => return Err(self.failed(failure, ACT, key)),
        };
        let key = self.key_of(name).unwrap_or_else(|| key.clone());
        let is_held = retention.is_some() || has_legal_hold;
        Ok(is_held.then_some(RemovalHold { key, retention, has_legal_hold }))
    }

    /// The key of an object.
    pub(crate) fn key_of(&self, name: &str) -> Option<Key> {
        let above = self.names_below(&Key::ROOT).ok()?;
        Key::new(name.strip_prefix(&above)?).ok()
    }
}

fn longest(one: Option<RemovalHold>, two: Option<RemovalHold>) -> Option<RemovalHold> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.with(two)),
        (one, two) => one.or(two),
    }
}

fn retention_of(retention: &ObjectLockRetention) -> Result<Retention, Failure> {
    let until = retention.retain_until_date().and_then(|date| SystemTime::try_from(*date).ok());
    let until = until.ok_or_else(|| Failure::answer("the service retains it and does not say until when"))?;
    let is_governed = retention.mode() == Some(&ObjectLockRetentionMode::Governance);
    Ok(Retention { until, mode: if is_governed { RetentionMode::Governance } else { RetentionMode::Compliance } })
}

/// Whether the service says that there is no lock: nothing was asked for, the bucket has no Object Lock, or the version is gone.
fn is_none(failure: &Failure) -> bool {
    let has_no_lock = failure.is("InvalidRequest") && failure.message.to_ascii_lowercase().contains("object lock");
    ["ObjectLockConfigurationNotFoundError", "NoSuchObjectLockConfiguration", "NoSuchVersion", "NoSuchKey"]
        .iter()
        .any(|code| failure.is(code))
        || has_no_lock
}
