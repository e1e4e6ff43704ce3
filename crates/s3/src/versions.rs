//! Versions of objects: what a bucket keeps behind a key that was replaced or deleted.

use std::collections::VecDeque;

use aws_sdk_s3::operation::list_object_versions::ListObjectVersionsOutput;
use aws_sdk_s3::types::EncodingType;
use strongroom_storage::{Key, StorageError};

use crate::failure::Failure;
use crate::list::decoded;
use crate::store::Inner;

/// Objects of which something is asked: one, or all whose names begin alike.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'a> {
    /// For errors.
    pub(crate) key: &'a Key,
    /// The name of the object, or what the names begin with.
    pub(crate) name: String,
    pub(crate) is_one: bool,
}

impl<'a> Scope<'a> {
    pub(crate) fn one(inner: &Inner, key: &'a Key) -> Result<Self, StorageError> {
        Ok(Self { key, name: inner.object(key)?, is_one: true })
    }

    pub(crate) fn below(inner: &Inner, prefix: &'a Key) -> Result<Self, StorageError> {
        inner.object(prefix)?;
        Ok(Self { key: prefix, name: inner.names_below(prefix)?, is_one: false })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        if self.is_one { name == self.name } else { name.starts_with(&self.name) }
    }
}

/// A version of an object, or a marker of its deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// As the service calls it; services call it `null` where the bucket kept no versions when it came.
    pub(crate) id: Option<String>,
    /// Whether the object is seen as this version.
    pub(crate) is_latest: bool,
    pub(crate) is_marker: bool,
}

/// The versions of objects page by page, those of an object one after another.
pub(crate) struct Versions<'a> {
    inner: &'a Inner,
    scope: &'a Scope<'a>,
    markers: (Option<String>, Option<String>),
    is_over: bool,
}

impl<'a> Versions<'a> {
    pub(crate) fn new(inner: &'a Inner, scope: &'a Scope<'a>) -> Self {
        Self { inner, scope, markers: (None, None), is_over: false }
    }

    /// The next ones, at most a thousand; nothing after the last.
    pub(crate) fn next_page(&mut self) -> Result<VecDeque<Version>, Failure> {
        while !self.is_over {
            let page = self.fetch()?;
            if !page.is_empty() {
                return Ok(page);
            }
        }
        Ok(VecDeque::new())
    }

    fn fetch(&mut self) -> Result<VecDeque<Version>, Failure> {
        let request = self
            .inner
            .client
            .list_object_versions()
            .bucket(&self.inner.settings.bucket)
            .prefix(&self.scope.name)
            // XML cannot express every key.
            .encoding_type(EncodingType::Url)
            .set_key_marker(self.markers.0.clone())
            .set_version_id_marker(self.markers.1.clone());
        let output = self.inner.ask(request.send())?;
        let is_encoded = output.encoding_type() == Some(&EncodingType::Url);
        let next = (
            output.next_key_marker().map(|name| decoded(name, is_encoded).into_owned()),
            output.next_version_id_marker().map(str::to_owned),
        );
        let is_truncated = output.is_truncated() == Some(true);
        if is_truncated && (next.0.is_none() || next == self.markers) {
            return Err(Failure::answer("the service does not say how its listing of versions continues"));
        }
        let mut page = entries(&output, is_encoded);
        // The names that begin alike come after the one that is looked for.
        let is_passed = self.scope.is_one && page.back().is_some_and(|last| last.name != self.scope.name);
        self.is_over = !is_truncated || is_passed;
        self.markers = next;
        page.retain(|version| self.scope.has(&version.name));
        Ok(page)
    }
}

/// A page has versions and markers in lists of their own.
fn entries(output: &ListObjectVersionsOutput, is_encoded: bool) -> VecDeque<Version> {
    let version = |name: Option<&str>, id: Option<&str>, is_latest: Option<bool>, is_marker: bool| {
        let name = decoded(name?, is_encoded).into_owned();
        let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        Some(Version { name, id, is_latest: is_latest == Some(true), is_marker })
    };
    let versions =
        output.versions().iter().map(|entry| version(entry.key(), entry.version_id(), entry.is_latest(), false));
    let markers =
        output.delete_markers().iter().map(|entry| version(entry.key(), entry.version_id(), entry.is_latest(), true));
    let mut entries: Vec<Version> = versions.chain(markers).flatten().collect();
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    entries.into()
}

/// Whether a failure means that the service knows no versions at all. That it does not permit to list them means nothing.
pub(crate) fn knows_no_versions(failure: &Failure) -> bool {
    failure.is("NotImplemented") || failure.is("MethodNotAllowed") || matches!(failure.status, Some(501 | 405))
}
