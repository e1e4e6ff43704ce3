//! Multipart uploads: parts with their checksums, and what completing them makes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest, Md5};
use s3s::dto::{CompleteMultipartUploadInput, ListPartsInput, ListPartsOutput, Part as ListedPart};
use s3s::{S3Result, s3_error};
use sha2::Sha256;

use crate::Rules;
use crate::bucket::{Bucket, Part, Stored};
use crate::listing::hex;

/// What the parts of a completion make together.
struct Joined {
    pieces: Vec<bytes::Bytes>,
    etag: String,
    sha256: Option<String>,
}

/// Completes an upload; gives what now lies in the bucket. What fails leaves the upload as it was.
pub(crate) fn complete(bucket: &mut Bucket, rules: &Rules, input: &CompleteMultipartUploadInput) -> S3Result<Stored> {
    let upload = bucket.upload(&input.upload_id, &input.key)?.clone();
    let listed = input.multipart_upload.as_ref().and_then(|upload| upload.parts.as_ref());
    let listed = listed.filter(|parts| !parts.is_empty()).ok_or_else(|| s3_error!(MalformedXML))?;
    let mut parts = Vec::new();
    let mut last_number = 0;
    for named in listed {
        let number = named.part_number.unwrap_or_default();
        if number <= last_number {
            return Err(s3_error!(InvalidPartOrder));
        }
        last_number = number;
        let part = upload.parts.get(&number).ok_or_else(|| s3_error!(InvalidPart))?;
        if named.e_tag.as_ref().map(s3s::dto::ETag::value) != Some(part.etag.as_str()) {
            return Err(s3_error!(InvalidPart));
        }
        if rules.composite_checksums
            && upload.has_sha256
            && part.sha256.is_some()
            && named.checksum_sha256 != part.sha256
        {
            return Err(s3_error!(InvalidPart, "the checksum of part {number} is missing or another"));
        }
        parts.push(part);
    }
    let all_but_last = parts.len() - 1;
    if parts.iter().take(all_but_last).any(|part| (part.bytes.len() as u64) < rules.least_part) {
        return Err(s3_error!(EntityTooSmall));
    }
    bucket.check_conditions(rules, &input.key, input.if_none_match.as_ref(), input.if_match.as_ref())?;
    let joined = join(&parts, rules.composite_checksums && rules.returns_checksums && upload.has_sha256);
    let stored = Stored {
        pieces: joined.pieces,
        etag: joined.etag,
        sha256: joined.sha256,
        class: upload.class,
        encryption: upload.encryption,
        metadata: upload.metadata,
        content_type: upload.content_type,
        content_encoding: upload.content_encoding,
        modified: bucket.now(),
        restoration: None,
        version: None,
        lock: upload.lock,
    };
    let stored = bucket.put(rules, &input.key, stored);
    bucket.uploads.remove(&input.upload_id);
    Ok(stored)
}

fn join(parts: &[&Part], with_sha256: bool) -> Joined {
    let mut md5s = Md5::new();
    let mut sha256s = Sha256::new();
    for part in parts {
        md5s.update(Md5::digest(&part.bytes));
        sha256s.update(Sha256::digest(&part.bytes));
    }
    let count = parts.len();
    Joined {
        pieces: parts.iter().map(|part| part.bytes.clone()).collect(),
        etag: format!("{}-{count}", hex(&md5s.finalize())),
        sha256: with_sha256.then(|| format!("{}-{count}", BASE64.encode(sha256s.finalize()))),
    }
}

pub(crate) fn list_parts(bucket: &mut Bucket, rules: &Rules, input: &ListPartsInput) -> S3Result<ListPartsOutput> {
    let upload = bucket.upload(&input.upload_id, &input.key)?;
    let after = input.part_number_marker.unwrap_or_default();
    let most = usize::try_from(input.max_parts.unwrap_or(1000).min(1000)).unwrap_or_default();
    let mut parts: Vec<(&i32, &Part)> = upload.parts.range(after + 1..).take(most + 1).collect();
    let is_truncated = parts.len() > most;
    parts.truncate(most);
    let last = parts.last().filter(|_| is_truncated).map(|(number, _)| **number);
    let listed = parts.into_iter().map(|(number, part)| ListedPart {
        part_number: Some(*number),
        size: i64::try_from(part.bytes.len()).ok(),
        e_tag: Some(s3s::dto::ETag::Strong(part.etag.clone())),
        checksum_sha256: part.sha256.clone().filter(|_| rules.returns_checksums),
        ..ListedPart::default()
    });
    Ok(ListPartsOutput {
        bucket: Some(input.bucket.clone()),
        key: Some(input.key.clone()),
        upload_id: Some(input.upload_id.clone()),
        parts: Some(listed.collect()),
        is_truncated: Some(is_truncated),
        next_part_number_marker: last,
        ..ListPartsOutput::default()
    })
}
