//! Copies within the server: of whole objects, and of ranges as parts of an upload.

use s3s::dto::{CopyObjectInput, CopySource, ETagCondition, MetadataDirective, UploadPartCopyInput};
use s3s::{S3Result, s3_error};

use crate::bucket::{Part, Stored, kept_class, metadata_of};
use crate::listing::hex;
use crate::server::State;
use crate::versions::Lock;

/// Most bytes that one request copies.
const LARGEST: u64 = 5 << 30;

fn source(state: &State, source: &CopySource, if_match: Option<&ETagCondition>) -> S3Result<Stored> {
    let CopySource::Bucket { bucket, key, .. } = source else { return Err(s3_error!(NotImplemented)) };
    if !state.has(bucket) {
        return Err(s3_error!(NoSuchBucket));
    }
    let stored = state.at(bucket).object(key)?.clone();
    if !stored.is_readable(state.at(bucket).now()) {
        return Err(s3_error!(InvalidObjectState));
    }
    let wanted = if_match.filter(|_| state.rules.copy_if_match).and_then(ETagCondition::as_etag);
    if wanted.is_some_and(|wanted| wanted.value() != stored.etag) {
        return Err(s3_error!(PreconditionFailed));
    }
    Ok(stored)
}

/// Copies an object; gives what now lies there.
pub(crate) fn copy(state: &mut State, input: CopyObjectInput) -> S3Result<Stored> {
    use md5::{Digest, Md5};
    let found = source(state, &input.copy_source, input.copy_source_if_match.as_ref())?;
    if found.size() > LARGEST {
        return Err(s3_error!(InvalidRequest, "the source is larger than a copy may be"));
    }
    let rules = state.rules;
    let replaces =
        input.metadata_directive.as_ref().is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE);
    let is_itself = matches!(&input.copy_source, CopySource::Bucket { bucket, key, .. }
        if **bucket == *input.bucket && **key == *input.key);
    if is_itself && !replaces {
        return Err(s3_error!(InvalidRequest, "this copy changes nothing"));
    }
    let (metadata, content_type, content_encoding) = if replaces {
        (metadata_of(input.metadata), input.content_type, input.content_encoding)
    } else {
        (found.metadata.clone(), found.content_type.clone(), found.content_encoding.clone())
    };
    let stored = Stored {
        etag: hex(&Md5::digest(found.bytes())),
        // What was put in parts gets no checksum of the whole.
        sha256: found.sha256.clone().filter(|sha256| !sha256.contains('-')),
        class: kept_class(&rules, input.storage_class.as_ref().map(s3s::dto::StorageClass::as_str))?,
        encryption: input.server_side_encryption.map(|asked| asked.as_str().to_owned()),
        metadata,
        content_type,
        content_encoding,
        modified: state.at(&input.bucket).now(),
        restoration: None,
        version: None,
        lock: Lock::default(),
        ..found
    };
    Ok(state.at_mut(&input.bucket).put(&rules, &input.key, stored))
}

/// Copies a range as a part of an upload.
pub(crate) fn copy_part(state: &mut State, input: &UploadPartCopyInput) -> S3Result<Part> {
    use md5::{Digest, Md5};
    let found = source(state, &input.copy_source, input.copy_source_if_match.as_ref())?;
    let size = found.size();
    let range = match &input.copy_source_range {
        Some(text) => range_of(text).filter(|range| range.end <= size).ok_or_else(|| s3_error!(InvalidArgument))?,
        None => 0..size,
    };
    if range.end - range.start > LARGEST {
        return Err(s3_error!(InvalidRequest, "the range is larger than a part may be"));
    }
    let bytes: bytes::Bytes = found.range(range).concat().into();
    let part = Part { etag: hex(&Md5::digest(&bytes)), bytes, sha256: None };
    state.at_mut(&input.bucket).upload(&input.upload_id, &input.key)?.parts.insert(input.part_number, part.clone());
    Ok(part)
}

/// `bytes=FIRST-LAST`, where the last byte is part of it.
fn range_of(text: &str) -> Option<std::ops::Range<u64>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?)
}
