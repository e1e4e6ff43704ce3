//! Listings: pages in byte order, keys encoded where the server does that.

use std::ops::Bound;
use std::time::SystemTime;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use s3s::dto::{
    Bucket as NamedBucket, CommonPrefix, DeleteMarkerEntry, EncodingType, ListBucketsInput, ListBucketsOutput,
    ListMultipartUploadsInput, ListMultipartUploadsOutput, ListObjectVersionsInput, ListObjectVersionsOutput,
    ListObjectsV2Input, ListObjectsV2Output, MultipartUpload, Object, ObjectVersion, Timestamp,
};
use s3s::{S3Result, s3_error};

use crate::bucket::Bucket;
use crate::{Rules, VersionListing, WrongListing};

/// Most entries of one page.
const PAGE: i32 = 1000;
/// Most buckets of one page: fewer than those of AWS, so that pages are seen.
const BUCKETS_PAGE: i32 = 3;
/// What AWS leaves as it is; a blank becomes `+`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'*');

fn encoded(key: &str, encodes: bool) -> String {
    if encodes { percent_encode(key.as_bytes(), ENCODED).to_string().replace("%20", "+") } else { key.to_owned() }
}

fn page_size(asked: Option<i32>) -> usize {
    usize::try_from(asked.unwrap_or(PAGE).min(PAGE)).unwrap_or_default()
}

pub(crate) fn objects(bucket: &Bucket, rules: &Rules, input: ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
    if input.delimiter.as_ref().is_some_and(|delimiter| delimiter != "/") {
        return Err(s3_error!(NotImplemented, "this server knows no other delimiter than /"));
    }
    let prefix = input.prefix.clone().unwrap_or_default();
    let after = match &input.continuation_token {
        Some(token) => String::from_utf8(unhex(token)).ok(),
        None => input.start_after.clone(),
    };
    if input.delimiter.is_some() {
        return Ok(delimited(bucket, rules, &input, &prefix, after.as_deref()));
    }
    let bound = match after {
        Some(after) if after.as_str() >= prefix.as_str() => Bound::Excluded(after),
        _ => Bound::Included(prefix.clone()),
    };
    let encodes = rules.encodes_keys && input.encoding_type.is_some();
    let most = page_size(input.max_keys).min(rules.most_listed);
    let mut below = bucket
        .objects
        .range((bound, Bound::Unbounded))
        .take_while(|(key, _)| key.starts_with(&prefix))
        .take(most + 1)
        .collect::<Vec<_>>();
    let is_truncated = below.len() > most;
    below.truncate(most);
    let next = below.last().filter(|_| is_truncated).map(|(key, _)| hex(key.as_bytes()));
    let contents = below
        .iter()
        .map(|(key, stored)| Object {
            key: Some(encoded(key, encodes)),
            size: i64::try_from(stored.size()).ok(),
            e_tag: Some(stored.entity_tag()),
            last_modified: Some(Timestamp::from(stored.modified)),
            storage_class: stored.class.clone().map(Into::into),
            ..Object::default()
        })
        .collect();
    Ok(ListObjectsV2Output {
        name: Some(input.bucket),
        key_count: i32::try_from(below.len()).ok(),
        max_keys: input.max_keys,
        is_truncated: Some(is_truncated),
        next_continuation_token: next,
        contents: Some(contents),
        encoding_type: encodes.then(|| EncodingType::from_static(EncodingType::URL)),
        prefix: Some(encoded(&prefix, encodes)),
        ..ListObjectsV2Output::default()
    })
}

/// Makes a page wrong.
pub(crate) fn falsify(output: &mut ListObjectsV2Output, wrong: WrongListing) {
    let contents = output.contents.get_or_insert_default();
    match wrong {
        WrongListing::Repeats => contents.extend(contents.last().cloned()),
        WrongListing::Omits if contents.is_empty() => {}
        WrongListing::Omits => {
            let at = usize::from(contents.len() > 1);
            contents.remove(at);
        }
        WrongListing::Misorders => {
            if let Some(last) = contents.len().checked_sub(1) {
                contents.swap(0, last);
            }
        }
        WrongListing::EndsEarly => {
            output.is_truncated = Some(false);
            output.next_continuation_token = None;
        }
        WrongListing::FailsBehindFirst => {}
    }
}

/// A listing that has common prefixes in the place of what lies below them.
fn delimited(
    bucket: &Bucket,
    rules: &Rules,
    input: &ListObjectsV2Input,
    prefix: &str,
    after: Option<&str>,
) -> ListObjectsV2Output {
    let encodes = rules.encodes_keys && input.encoding_type.is_some();
    let most = page_size(input.max_keys);
    // Of each name, what stands in the listing: itself, or the common prefix.
    let mut lines: Vec<(String, Option<&str>)> = Vec::new();
    for name in bucket.objects.keys().filter(|name| name.starts_with(prefix)) {
        let rest = name.get(prefix.len()..).unwrap_or_default();
        let line = match rest.find('/') {
            Some(at) => (format!("{prefix}{}", rest.get(..=at).unwrap_or_default()), None),
            None => (name.clone(), Some(name.as_str())),
        };
        // As AWS: a common prefix is passed over where the whole of it comes before.
        if after.is_none_or(|after| line.0.as_str() > after) && lines.last().is_none_or(|last| last.0 != line.0) {
            lines.push(line);
        }
    }
    let is_truncated = lines.len() > most;
    lines.truncate(most);
    let next = lines.last().filter(|_| is_truncated).map(|(line, _)| hex(line.as_bytes()));
    let prefixes = lines.iter().filter(|(_, name)| name.is_none());
    let prefixes = prefixes.map(|(line, _)| CommonPrefix { prefix: Some(encoded(line, encodes)) }).collect();
    let contents = lines.iter().filter_map(|(_, name)| {
        let stored = bucket.objects.get((*name)?)?;
        Some(Object {
            key: Some(encoded((*name)?, encodes)),
            size: i64::try_from(stored.size()).ok(),
            e_tag: Some(stored.entity_tag()),
            ..Object::default()
        })
    });
    ListObjectsV2Output {
        name: Some(input.bucket.clone()),
        is_truncated: Some(is_truncated),
        next_continuation_token: next,
        contents: Some(contents.collect()),
        common_prefixes: Some(prefixes),
        encoding_type: encodes.then(|| EncodingType::from_static(EncodingType::URL)),
        ..ListObjectsV2Output::default()
    }
}

pub(crate) fn buckets(names: &[String], rules: &Rules, input: &ListBucketsInput) -> ListBucketsOutput {
    let named = |name: &String| NamedBucket { name: Some(name.clone()), ..NamedBucket::default() };
    if !rules.pages_buckets {
        let buckets = names.iter().map(named).collect();
        return ListBucketsOutput { buckets: Some(buckets), ..ListBucketsOutput::default() };
    }
    let prefix = input.prefix.clone().unwrap_or_default();
    let after = input.continuation_token.as_ref().map(|token| String::from_utf8_lossy(&unhex(token)).into_owned());
    let most = usize::try_from(input.max_buckets.unwrap_or(BUCKETS_PAGE)).unwrap_or_default();
    let mut below: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with(&prefix) && after.as_ref().is_none_or(|after| *name > after))
        .collect();
    let is_truncated = below.len() > most;
    below.truncate(most);
    let next = below.last().filter(|_| is_truncated).map(|name| hex(name.as_bytes()));
    let buckets = below.into_iter().map(named).collect();
    ListBucketsOutput { buckets: Some(buckets), continuation_token: next, ..ListBucketsOutput::default() }
}

pub(crate) fn versions(
    bucket: &Bucket,
    rules: &Rules,
    input: ListObjectVersionsInput,
) -> S3Result<ListObjectVersionsOutput> {
    if input.delimiter.is_some() {
        return Err(s3_error!(NotImplemented, "this server lists without delimiters only"));
    }
    let most = page_size(input.max_keys).min(match rules.lists_versions {
        VersionListing::Unknown => return Err(s3_error!(NotImplemented)),
        VersionListing::Empty => return Ok(ListObjectVersionsOutput::default()),
        VersionListing::Pages(most) => most,
        VersionListing::Right => usize::MAX,
    });
    let prefix = input.prefix.clone().unwrap_or_default();
    let all = bucket.versions();
    let begin = match (&input.key_marker, &input.version_id_marker) {
        (None, _) => 0,
        (Some(key), None) => all.partition_point(|version| version.key <= *key),
        // After a version that is gone, the versions of its key are listed again.
        (Some(key), Some(id)) => all
            .iter()
            .position(|version| version.key == *key && version.version == *id)
            .map_or_else(|| all.partition_point(|version| version.key < *key), |at| at + 1),
    };
    let encodes = rules.encodes_keys && input.encoding_type.is_some();
    let mut below: Vec<_> = all.into_iter().skip(begin).filter(|version| version.key.starts_with(&prefix)).collect();
    let is_truncated = below.len() > most;
    below.truncate(most);
    let last = below.last().filter(|_| is_truncated).cloned();
    let (mut versions, mut markers) = (Vec::new(), Vec::new());
    for version in below {
        let (key, id) = (Some(encoded(&version.key, encodes)), Some(version.version));
        let is_latest = Some(version.is_latest);
        if version.is_marker {
            markers.push(DeleteMarkerEntry { key, version_id: id, is_latest, ..DeleteMarkerEntry::default() });
        } else {
            versions.push(ObjectVersion { key, version_id: id, is_latest, ..ObjectVersion::default() });
        }
    }
    Ok(ListObjectVersionsOutput {
        name: Some(input.bucket),
        versions: Some(versions),
        delete_markers: Some(markers),
        is_truncated: Some(is_truncated),
        next_key_marker: last.as_ref().map(|version| encoded(&version.key, encodes)),
        next_version_id_marker: last.map(|version| version.version),
        encoding_type: encodes.then(|| EncodingType::from_static(EncodingType::URL)),
        prefix: Some(encoded(&prefix, encodes)),
        ..ListObjectVersionsOutput::default()
    })
}

pub(crate) fn uploads(bucket: &Bucket, rules: &Rules, input: ListMultipartUploadsInput) -> ListMultipartUploadsOutput {
    let encodes = rules.encodes_keys && input.encoding_type.is_some();
    let prefix = input.prefix.unwrap_or_default();
    let after = (input.key_marker.unwrap_or_default(), input.upload_id_marker.unwrap_or_default());
    let mut all: Vec<(String, String, SystemTime)> = bucket
        .uploads
        .iter()
        .filter(|(_, upload)| upload.key.starts_with(&prefix))
        .map(|(id, upload)| (upload.key.clone(), id.clone(), upload.initiated))
        .filter(|(key, id, _)| (key.as_str(), id.as_str()) > (after.0.as_str(), after.1.as_str()))
        .collect();
    all.sort_unstable();
    let most = page_size(input.max_uploads);
    let is_truncated = all.len() > most;
    all.truncate(most);
    let last = all.last().filter(|_| is_truncated).cloned();
    let listed = all.into_iter().map(|(key, id, initiated)| MultipartUpload {
        key: Some(encoded(&key, encodes)),
        upload_id: Some(id),
        initiated: Some(Timestamp::from(initiated)),
        ..MultipartUpload::default()
    });
    ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        uploads: Some(listed.collect()),
        is_truncated: Some(is_truncated),
        next_key_marker: last.as_ref().map(|(key, ..)| encoded(key, encodes)),
        next_upload_id_marker: last.map(|(_, id, _)| id),
        encoding_type: encodes.then(|| EncodingType::from_static(EncodingType::URL)),
        ..ListMultipartUploadsOutput::default()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
