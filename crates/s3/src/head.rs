//! Inspection of a key: class, whether it can be read now, and the digest that the service vouches for.

use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{ChecksumMode, ChecksumType, GlacierJobParameters, RestoreRequest, StorageClass, Tier};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use strongroom_digest::{Algorithm, Digest};
use strongroom_storage::{Head, Key, Retrieval, RetrievalRequest, StorageError};

use crate::failure::Failure;
use crate::probe::Probe;
use crate::store::Inner;

/// Classes of which objects must be restored before they can be read.
const COLD: [&str; 2] = ["GLACIER", "DEEP_ARCHIVE"];
/// Where services that have classes put what is put without one.
const STANDARD: &str = "STANDARD";
/// What names of metadata of ours begin with: `strongroom-sha512` is the digest that was declared of the whole.
const METADATA: &str = "strongroom-";

/// Digests that prove a content. Others that were declared are kept and prove nothing.
const VOUCHED: [Algorithm; 2] = [Algorithm::Sha512, Algorithm::Sha256];

impl Inner {
    pub(crate) fn head(&self, key: &Key) -> Result<Head, StorageError> {
        let name = self.object(key)?;
        let output = self.head_object(&name).map_err(|failure| self.failed(failure, "inspect", key))?;
        Ok(head_of(&output, self.probed()))
    }

    pub(crate) fn head_object(&self, name: &str) -> Result<HeadObjectOutput, Failure> {
        let request = self.client.head_object().bucket(&self.settings.bucket).key(name);
        self.ask(request.checksum_mode(ChecksumMode::Enabled).send())
    }

    /// Reads the state first: a retrieval that is under way is not requested again, and no request is paid for what can be read.
    /// Of threads that need the same object at once, one sends the request, and the others see that it did.
    pub(crate) fn request_retrieval(&self, key: &Key, how: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        let name = self.object(key)?;
        let _asking = self.retrieving.lock(&name);
        let failed = |failure: Failure| self.failed(failure, "request the retrieval of", key);
        let output = self.head_object(&name).map_err(failed)?;
        if is_readable(&output, output.storage_class().map(StorageClass::as_str)) {
            return Ok(Retrieval::Readable);
        }
        if output.restore().is_some_and(is_under_way) {
            return Ok(Retrieval::UnderWay);
        }
        let parameters = GlacierJobParameters::builder().tier(Tier::from(how.tier.as_str())).build();
        let parameters = parameters.map_err(|error| self.unusable(format!("tier {:?}: {error}", how.tier)))?;
        let asked = RestoreRequest::builder()
            .days(i32::try_from(how.days).unwrap_or(i32::MAX))
            .glacier_job_parameters(parameters)
            .build();
        let request = self.client.restore_object().bucket(&self.settings.bucket).key(name).restore_request(asked);
        match self.ask(request.send()) {
            Err(failure) if !failure.is("RestoreAlreadyInProgress") => Err(failed(failure)),
            _ => Ok(Retrieval::UnderWay),
        }
    }
}

/// The name under which a digest of the whole is kept with an object.
pub(crate) fn metadata_name(algorithm: Algorithm) -> String {
    format!("{METADATA}{algorithm}")
}

/// Whether a digest of this algorithm, declared of what came in parts, is shown as one the service vouches for.
pub(crate) fn is_vouched_for(algorithm: Algorithm) -> bool {
    VOUCHED.contains(&algorithm)
}

/// The class as heads show it: none where the service has no classes.
pub(crate) fn shown_class(class: Option<&str>, probe: Probe) -> Option<String> {
    probe.keeps_class.then(|| class.unwrap_or(STANDARD).to_owned())
}

pub(crate) fn is_cold(class: Option<&str>) -> bool {
    class.is_some_and(|class| COLD.contains(&class))
}

pub(crate) fn etag_of(etag: Option<&str>) -> String {
    etag.unwrap_or_default().trim_matches('"').to_owned()
}

pub(crate) fn base64(digest: &Digest) -> String {
    BASE64.encode(digest.as_bytes())
}

pub(crate) fn head_of(output: &HeadObjectOutput, probe: Probe) -> Head {
    let class = output.storage_class().map(StorageClass::as_str);
    Head {
        size: output.content_length().and_then(|length| u64::try_from(length).ok()).unwrap_or_default(),
        etag: etag_of(output.e_tag()),
        class: shown_class(class, probe),
        readable: is_readable(output, class),
        checksum: vouched(output, probe),
    }
}

pub(crate) fn is_readable(output: &HeadObjectOutput, class: Option<&str>) -> bool {
    if !is_cold(class) && output.archive_status().is_none() {
        return true;
    }
    output.restore().is_some_and(is_restored)
}

/// Reads the `x-amz-restore` header: `ongoing-request="false", expiry-date="..."` once the copy is there.
fn is_restored(header: &str) -> bool {
    is_ongoing(header, "false")
}

/// The same header while the copy is being made: `ongoing-request="true"`.
fn is_under_way(header: &str) -> bool {
    is_ongoing(header, "true")
}

fn is_ongoing(header: &str, wanted: &str) -> bool {
    header.split(',').any(|field| {
        let (name, value) = field.split_once('=').unwrap_or_default();
        name.trim() == "ongoing-request" && value.trim().trim_matches('"').eq_ignore_ascii_case(wanted)
    })
}

/// The SHA-256 that the service keeps of what came in one request; what came in parts has none of the whole.
pub(crate) fn sha256_of_whole(output: &HeadObjectOutput) -> Option<Digest> {
    let checksum = output.checksum_sha256()?;
    let raw = BASE64.decode(checksum).ok().filter(|raw| raw.len() == 32 && !is_composite(output, checksum))?;
    Digest::from_bytes(&raw).ok()
}

fn is_composite(output: &HeadObjectOutput, checksum: &str) -> bool {
    checksum.contains('-')
        || output.checksum_type() == Some(&ChecksumType::Composite)
        || etag_of(output.e_tag()).contains('-')
}

/// The digest of the whole content that the service vouches for. For what came in one request, that is its own SHA-256,
/// where it was found to refuse bytes that differ. What came in parts has a SHA-256 over those of the parts; with that,
/// the service vouches for what the put proved of the whole before it completed the parts, which stands beside it.
fn vouched(output: &HeadObjectOutput, probe: Probe) -> Option<(Algorithm, Digest)> {
    let checksum = output.checksum_sha256()?;
    if !is_composite(output, checksum) {
        let digest = sha256_of_whole(output)?;
        return probe.has_strong_checksums().then_some((Algorithm::Sha256, digest));
    }
    if !probe.has_strong_composites() {
        return None;
    }
    let metadata = output.metadata()?;
    VOUCHED.into_iter().find_map(|algorithm| {
        let digest = metadata.get(&metadata_name(algorithm))?.parse().ok()?;
        Some((algorithm, digest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restore_headers_are_read() {
        for (header, restored) in [
            ("ongoing-request=\"true\"", false),
            ("ongoing-request=\"false\", expiry-date=\"Fri, 21 Dec 2012 00:00:00 GMT\"", true),
            ("expiry-date=\"Fri, 21 Dec 2012 00:00:00 GMT\", ongoing-request=\"false\"", true),
            ("ongoing-request=false", true),
            ("", false),
            ("=,=,", false),
        ] {
            assert_eq!(is_restored(header), restored, "{header}");
            assert_eq!(is_under_way(header), header.contains("true"), "{header}");
        }
    }
}
