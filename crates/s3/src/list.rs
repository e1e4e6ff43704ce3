//! Listing: page by page, in byte order of the key, with what is no key as an error in its place.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::primitives::DateTime;
use aws_sdk_s3::types::EncodingType;
use percent_encoding::percent_decode_str;
use strongroom_storage::{Key, Listed, StorageError};

use crate::failure::Failure;
use crate::head::etag_of;
use crate::store::{BOOKKEEPING, Inner, is_reserved};

/// An object as a listing names it.
pub(crate) struct ListedObject {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) etag: String,
    /// When it was written last, in seconds since 1970.
    pub(crate) modified: i64,
}

/// The names of objects that begin alike, page by page.
pub(crate) struct Names<I> {
    inner: I,
    key: Key,
    prefix: String,
    page: VecDeque<ListedObject>,
    token: Option<String>,
    last: Option<String>,
    is_over: bool,
    most: Option<i32>,
    after: Option<String>,
}

impl<I: Deref<Target = Inner>> Names<I> {
    /// `key` is for errors.
    pub(crate) fn new(inner: I, prefix: String, key: &Key) -> Self {
        Self {
            inner,
            key: key.clone(),
            prefix,
            page: VecDeque::new(),
            token: None,
            last: None,
            is_over: false,
            most: None,
            after: None,
        }
    }

    /// Only what comes after this name.
    pub(crate) fn go_on_after(&mut self, name: String) {
        self.after = Some(name);
    }

    fn fetch(&mut self) -> Result<(), StorageError> {
        let failed = |failure| self.inner.failed(failure, "list", &self.key);
        let request = self
            .inner
            .client
            .list_objects_v2()
            .bucket(&self.inner.settings.bucket)
            .prefix(&self.prefix)
            // XML cannot express every key.
            .encoding_type(EncodingType::Url)
            .set_max_keys(self.most)
            .set_start_after(self.after.clone().filter(|_| self.token.is_none()))
            .set_continuation_token(self.token.clone());
        let output = self.inner.ask(request.send()).map_err(failed)?;
        let next = output.next_continuation_token().map(str::to_owned);
        if output.is_truncated() == Some(true) && (next.is_none() || next == self.token) {
            return Err(failed(Failure::answer("the service does not say how its listing continues")));
        }
        self.is_over = output.is_truncated() != Some(true);
        self.token = next;
        self.page = entries(&output);
        Ok(())
    }

    fn is_before(&self, entry: &ListedObject) -> bool {
        self.after.as_ref().is_some_and(|after| entry.name <= *after)
    }

    fn in_order(&mut self, entry: ListedObject) -> Result<ListedObject, StorageError> {
        let is_behind = self.last.as_ref().is_some_and(|last| entry.name <= *last);
        if is_behind || !entry.name.starts_with(&self.prefix) {
            self.is_over = true;
            self.page.clear();
            let failure = Failure::answer(format!("the service does not list in byte order: {:?}", entry.name));
            return Err(self.inner.failed(failure, "list", &self.key));
        }
        self.last = Some(entry.name.clone());
        Ok(entry)
    }
}

impl<I: Deref<Target = Inner>> Iterator for Names<I> {
    type Item = Result<ListedObject, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.page.pop_front() {
                // A service that does not know `start-after` lists what comes before as well.
                if self.last.is_none() && self.is_before(&entry) {
                    continue;
                }
                return Some(self.in_order(entry));
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.fetch() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
    }
}

fn entries(output: &ListObjectsV2Output) -> VecDeque<ListedObject> {
    let is_encoded = output.encoding_type() == Some(&EncodingType::Url);
    let contents = output.contents().iter();
    contents
        .filter_map(|object| {
            let name = decoded(object.key()?, is_encoded).into_owned();
            let size = object.size().and_then(|size| u64::try_from(size).ok()).unwrap_or_default();
            let modified = object.last_modified().map(DateTime::secs).unwrap_or_default();
            Some(ListedObject { name, size, etag: etag_of(object.e_tag()), modified })
        })
        .collect()
}

/// A key as it is, from a listing that encodes keys: percent signs, and `+` for a blank.
pub(crate) fn decoded(name: &str, is_encoded: bool) -> Cow<'_, str> {
    if !is_encoded {
        return Cow::Borrowed(name);
    }
    let blanks = name.replace('+', " ");
    Cow::Owned(percent_decode_str(&blanks).decode_utf8_lossy().into_owned())
}

/// The keys below a prefix.
pub(crate) struct Pages {
    names: Names<Arc<Inner>>,
    /// What stands before keys in the names of objects.
    store_prefix: usize,
}

impl Pages {
    pub(crate) fn new(inner: &Arc<Inner>, prefix: &Key) -> Result<Self, StorageError> {
        let store_prefix = inner.names_below(&Key::ROOT)?.len();
        Ok(Self { names: Names::new(Arc::clone(inner), inner.names_below(prefix)?, prefix), store_prefix })
    }

    /// Only what comes after a key.
    pub(crate) fn after(mut self, after: &Key) -> Result<Self, StorageError> {
        if !after.is_root() {
            let name = self.names.inner.name_of(after.as_str())?;
            self.names.after = Some(name);
        }
        Ok(self)
    }
}

impl Iterator for Pages {
    type Item = Result<Listed, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.names.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            let relative = entry.name.get(self.store_prefix..).unwrap_or_default();
            if is_reserved(relative.split('/').next().unwrap_or_default()) {
                continue;
            }
            return Some(match Key::new(relative) {
                // Nothing lies under the root; an object there is named as the prefix itself.
                Ok(key) if key.is_root() => continue,
                Ok(key) => Ok(Listed { key, size: entry.size, etag: entry.etag }),
                Err(error) => Err(error.into()),
            });
        }
    }
}

impl Inner {
    /// The names of the bookkeeping of one kind.
    pub(crate) fn names_of_bookkeeping(&self, kind: &str) -> Result<Vec<String>, StorageError> {
        let prefix = self.name_of(&format!("{BOOKKEEPING}/{kind}/"))?;
        Names::new(self, prefix, &Key::ROOT).map(|entry| entry.map(|entry| entry.name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_names_are_read_as_different_makers_write_them() {
        for encoded in ["a+b%2Bc%0A%C3%A9", "a%20b%2Bc%0A%c3%a9"] {
            assert_eq!(decoded(encoded, true), "a b+c\n\u{e9}");
        }
        assert_eq!(decoded("a+b%2B", false), "a+b%2B");
    }
}
