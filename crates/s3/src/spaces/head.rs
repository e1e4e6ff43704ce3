//! Inspection of a content item: everything that the service states of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::StorageClass;
use strongroom_digest::{Algorithm, Digest};
use strongroom_spaces::{Description, ItemHead, Properties, PropertyError};
use strongroom_storage::{Key, StorageError};

use super::header_text;
use crate::head::{etag_of, is_cold, is_readable, sha256_of_whole};
use crate::store::Inner;

/// What stands before names of metadata of this program, which are no properties.
const METADATA: &str = "strongroom-";
/// Server-side encryption with keys of S3 itself: the one with which an `ETag` still is an MD5.
const OWN_KEYS: &str = "AES256";

/// What a content item is, and the answer that says so.
pub(super) fn head(inner: &Inner, key: &Key) -> Result<(ItemHead, HeadObjectOutput), StorageError> {
    let name = inner.object(key)?;
    let output = inner.head_object(&name).map_err(|failure| inner.failed(failure, "inspect", key))?;
    let description = description(&output).map_err(|error| inner.unusable(format!("{name}: {error}")))?;
    let class = output.storage_class().map(StorageClass::as_str);
    let etag = etag_of(output.e_tag());
    let head = ItemHead {
        size: output.content_length().and_then(|length| u64::try_from(length).ok()).unwrap_or_default(),
        revision: output.last_modified().map(|modified| revision(&etag, modified.secs())),
        etag,
        modified: modified(&output),
        description,
        checksums: checksums(inner, &output),
        class: class.map(str::to_owned),
        is_archived: is_cold(class) || output.archive_status().is_some(),
        is_readable: is_readable(&output, class),
    };
    Ok((head, output))
}

/// What changes with the bytes and the description. Listings have fractions of seconds, and inspections have none.
pub(super) fn revision(etag: &str, modified: i64) -> String {
    format!("{etag}@{modified}")
}

fn modified(output: &HeadObjectOutput) -> Option<SystemTime> {
    let seconds = u64::try_from(output.last_modified()?.secs()).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn description(output: &HeadObjectOutput) -> Result<Description, PropertyError> {
    let metadata = output.metadata().into_iter().flatten().filter(|(name, _)| !name.starts_with(METADATA));
    let properties = metadata.map(|(name, value)| (name.to_ascii_lowercase(), header_text::decoded(value)));
    Description::new(output.content_type(), Properties::new(properties)?)
}

/// The digests of the whole that the service states.
fn checksums(inner: &Inner, output: &HeadObjectOutput) -> Vec<(Algorithm, Digest)> {
    let sha256 = sha256_of_whole(output).map(|digest| (Algorithm::Sha256, digest));
    let md5 = md5(inner, output).map(|digest| (Algorithm::Md5, digest));
    sha256.into_iter().chain(md5).collect()
}

/// The MD5, where the `ETag` is one: not of what came in parts, nor of what is encrypted with keys of others than S3 (S3 API:
/// Object, `ETag`).
fn md5(inner: &Inner, output: &HeadObjectOutput) -> Option<Digest> {
    let is_encrypted = match output.server_side_encryption() {
        None => false,
        Some(encryption) => encryption.as_str() != OWN_KEYS || !inner.settings.is_aws(),
    };
    if is_encrypted || output.sse_customer_algorithm().is_some() || output.ssekms_key_id().is_some() {
        return None;
    }
    let etag = etag_of(output.e_tag());
    let is_hexadecimal = etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hexadecimal.then(|| etag.to_ascii_lowercase().parse().ok()).flatten()
}
