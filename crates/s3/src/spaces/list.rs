//! Listings: of spaces, and of what lies in one.

use std::collections::VecDeque;
use std::sync::Arc;

use aws_sdk_s3::types::EncodingType;
use strongroom_spaces::{ListedContent, ListedItem, ListedName, ListedSpace, SpaceName, why_not_carried};
use strongroom_storage::{Key, StorageError};

use super::form::BucketPattern;
use super::head::revision;
use crate::failure::Failure;
use crate::list::{ListedObject, Names, decoded};
use crate::store::{BOOKKEEPING, Inner, is_reserved};

/// Where objects lie for a moment by which the service is tried.
const PROBES: &str = ".strongroom/probe/";

/// What lies in a space, page by page.
pub(super) struct ItemPages {
    names: Option<Names<Arc<Inner>>>,
    space: SpaceName,
    /// What stands before keys in the names of objects.
    prefix: usize,
    after: ListedName,
}

impl ItemPages {
    pub(super) fn new(inner: &Arc<Inner>, space: &SpaceName, after: &ListedName) -> Result<Self, StorageError> {
        let prefix = inner.names_below(&Key::ROOT)?;
        let mut names = Names::new(Arc::clone(inner), prefix.clone(), &Key::ROOT);
        let text = nearest_before(after);
        if !text.is_empty() {
            names.go_on_after(format!("{prefix}{text}"));
        }
        Ok(Self { names: Some(names), space: space.clone(), prefix: prefix.len(), after: after.clone() })
    }

    fn item_of(&self, object: ListedObject) -> Option<ListedItem> {
        let relative = object.name.get(self.prefix..).unwrap_or_default();
        // The name of the space itself, with `/` behind it, stands for the space as the entry of a folder does.
        if relative.is_empty() || relative.as_bytes() <= self.after.as_bytes() || relative.starts_with(PROBES) {
            return None;
        }
        let reason = match Key::new(relative) {
            Ok(key) => match why_not_carried(&key) {
                None => {
                    let revision = revision(&object.etag, object.modified);
                    return Some(ListedItem::Item(ListedContent {
                        key,
                        size: object.size,
                        etag: object.etag,
                        revision,
                    }));
                }
                Some(reason) => reason,
            },
            Err(error) => error.reason(),
        };
        Some(ListedItem::NotCarried { name: ListedName::new(relative), reason: format!("its name {reason}") })
    }
}

/// What a service can be asked to go on after: some (`MinIO`) refuse segments of dots, and none takes what is no text. What lies
/// between that and the name is passed over here.
fn nearest_before(name: &ListedName) -> &str {
    let text = name.as_bytes().utf8_chunks().next().map(|chunk| chunk.valid()).unwrap_or_default();
    let mut end = 0;
    for segment in text.split_inclusive('/') {
        if matches!(segment.trim_end_matches('/'), "." | "..") {
            break;
        }
        end += segment.len();
    }
    text.get(..end).unwrap_or_default()
}

impl Iterator for ItemPages {
    type Item = Result<ListedItem, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.names.as_mut()?.next() {
                Some(Ok(object)) => {
                    if let Some(item) = self.item_of(object) {
                        return Some(Ok(item));
                    }
                }
                Some(Err(error)) => {
                    self.names = None;
                    return Some(Err(error.below(self.space.as_key())));
                }
                None => {
                    self.names = None;
                    return None;
                }
            }
        }
    }
}

/// Whether anything lies in a space.
pub(super) fn is_anything_in(inner: &Inner) -> Result<bool, StorageError> {
    let prefix = inner.names_below(&Key::ROOT)?;
    let request = inner.client.list_objects_v2().bucket(&inner.settings.bucket).prefix(prefix).max_keys(1);
    let output = inner.ask(request.send()).map_err(|failure| inner.failed(failure, "list", &Key::ROOT))?;
    Ok(!output.contents().is_empty())
}

/// The first-level prefixes of a place, page by page.
pub(super) struct Prefixes {
    inner: Arc<Inner>,
    prefix: String,
    page: VecDeque<String>,
    token: Option<String>,
    /// The last name that was given, or after which to begin.
    last: Option<String>,
    is_over: bool,
}

impl Prefixes {
    pub(super) fn new(inner: &Arc<Inner>, after: Option<SpaceName>) -> Result<Self, StorageError> {
        let prefix = inner.names_below(&Key::ROOT)?;
        let last = after.map(|space| format!("{prefix}{space}/"));
        Ok(Self { inner: Arc::clone(inner), prefix, page: VecDeque::new(), token: None, last, is_over: false })
    }

    fn fetch(&mut self) -> Result<(), StorageError> {
        let failed = |failure| self.inner.failed(failure, "list", &Key::ROOT);
        let request = self
            .inner
            .client
            .list_objects_v2()
            .bucket(&self.inner.settings.bucket)
            .prefix(&self.prefix)
            .delimiter("/")
            .encoding_type(EncodingType::Url)
            .set_start_after(self.last.clone().filter(|_| self.token.is_none()))
            .set_continuation_token(self.token.clone());
        let output = self.inner.ask(request.send()).map_err(failed)?;
        let next = output.next_continuation_token().map(str::to_owned);
        if output.is_truncated() == Some(true) && (next.is_none() || next == self.token) {
            return Err(failed(Failure::answer("the service does not say how its listing continues")));
        }
        self.is_over = output.is_truncated() != Some(true);
        self.token = next;
        let is_encoded = output.encoding_type() == Some(&EncodingType::Url);
        let prefixes = output.common_prefixes().iter().filter_map(|prefix| prefix.prefix());
        let names = prefixes.chain(output.contents().iter().filter_map(|object| object.key()));
        let mut page: Vec<String> = names.map(|name| decoded(name, is_encoded).into_owned()).collect();
        page.sort_unstable();
        self.page = page.into();
        Ok(())
    }

    fn space_of(&mut self, name: String) -> Option<Result<ListedSpace, StorageError>> {
        let Some(relative) = name.strip_prefix(self.prefix.as_str()).map(str::to_owned) else {
            self.is_over = true;
            self.page.clear();
            let failure = Failure::answer(format!("the service lists what was not asked for: {name:?}"));
            return Some(Err(self.inner.failed(failure, "list", &Key::ROOT)));
        };
        // A page may repeat the last line of the one before, where that is a prefix.
        if self.last.as_ref().is_some_and(|last| name <= *last) {
            return None;
        }
        self.last = Some(name);
        // What belongs to Strongroom itself, and the name of the place itself.
        if relative.is_empty() || is_reserved(&relative) {
            return None;
        }
        let reason = match relative.strip_suffix('/').map(SpaceName::new) {
            Some(Ok(space)) => return Some(Ok(ListedSpace::Space(space))),
            Some(Err(error)) => format!("its name {}", error.reason()),
            None => "it is an object outside of every space".to_owned(),
        };
        Some(Ok(ListedSpace::NotCarried { name: ListedName::new(relative), reason }))
    }
}

impl Iterator for Prefixes {
    type Item = Result<ListedSpace, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(name) = self.page.pop_front() {
                if let Some(line) = self.space_of(name) {
                    return Some(line);
                }
                continue;
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

/// The buckets that match, as spaces in their order. All names are held: services limit the buckets of an account.
pub(super) fn buckets(
    base: &Arc<Inner>,
    pattern: &BucketPattern,
    after: Option<&SpaceName>,
) -> Result<impl Iterator<Item = Result<ListedSpace, StorageError>> + use<>, StorageError> {
    let mut spaces: Vec<SpaceName> = Vec::new();
    let mut others: Vec<ListedSpace> = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let (names, next) = page_of_buckets(base, pattern, token.as_ref(), None)?;
        for bucket in &names {
            let Some(name) = pattern.space_of(bucket) else { continue };
            match SpaceName::new(name) {
                Ok(space) if pattern.bucket_of(&space).is_ok() => spaces.push(space),
                Ok(_) => others.push(not_a_space(name, "its bucket has a name that buckets can no longer have")),
                Err(error) => others.push(not_a_space(name, error.reason())),
            }
        }
        if next.is_some() && next == token {
            let failure = Failure::answer("the service does not say how its list of buckets continues");
            return Err(base.failed(failure, "list", &Key::ROOT));
        }
        token = next;
        if token.is_none() {
            break;
        }
    }
    spaces.retain(|space| after.is_none_or(|after| space > after));
    spaces.sort();
    spaces.dedup();
    // What is no space is said once, before the spaces.
    let others = if after.is_none() { others } else { Vec::new() };
    Ok(others.into_iter().chain(spaces.into_iter().map(ListedSpace::Space)).map(Ok))
}

fn not_a_space(name: &str, reason: &str) -> ListedSpace {
    ListedSpace::NotCarried { name: ListedName::new(name), reason: reason.to_owned() }
}

/// Names of buckets, and how the list continues. Services that know neither prefix nor pages give all of them.
pub(super) fn page_of_buckets(
    base: &Inner,
    pattern: &BucketPattern,
    token: Option<&String>,
    most: Option<i32>,
) -> Result<(Vec<String>, Option<String>), StorageError> {
    let request = base.client.list_buckets().set_continuation_token(token.cloned()).set_max_buckets(most);
    let request = request.set_prefix((!pattern.before.is_empty()).then(|| pattern.before.clone()));
    let output = base.ask(request.send()).map_err(|failure| base.failed(failure, "list", &Key::ROOT))?;
    let names = output.buckets().iter().filter_map(|bucket| bucket.name()).map(str::to_owned).collect();
    Ok((names, output.continuation_token().filter(|token| !token.is_empty()).map(str::to_owned)))
}

// The folder of probes is part of the bookkeeping.
const _: () = assert!(PROBES.len() > BOOKKEEPING.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_goes_on_after_what_it_can_be_asked_for() {
        for (name, asked) in [
            (&b"a/b"[..], "a/b"),
            (b"a/../b", "a/"),
            (b"..", ""),
            (b"a/.", "a/"),
            (b"a//b", "a//b"),
            (b"a/b\xffc", "a/b"),
            (b"\xff", ""),
        ] {
            assert_eq!(nearest_before(&ListedName::new(name)), asked);
        }
    }
}
