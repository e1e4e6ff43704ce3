//! Changing what goes with an object, whose bytes stay: S3 has no request for that but a copy of the object onto itself.

use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use aws_sdk_s3::types::{
    CompletedMultipartUpload, CompletedPart, MetadataDirective, ServerSideEncryption, StorageClass,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use strongroom_spaces::ItemHead;
use strongroom_storage::{Key, StorageError};

use super::head::head;
use crate::failure::Failure;
use crate::head::etag_of;
use crate::put::Headers;
use crate::store::Inner;

/// Most bytes that one request copies (S3: `CopyObject`).
const MOST_AT_ONCE: u64 = 5 << 30;
/// Bytes of a part of a larger copy: 10,000 of them are more than the largest object.
const PART: u64 = 1 << 30;
/// What a source of a copy is written with.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Gives an object that has this etag other headers; what it is then, or nothing where it has another etag. Class, encryption,
/// tags and the other headers stay as they are.
pub(super) fn set(inner: &Inner, key: &Key, etag: &str, headers: &Headers) -> Result<Option<ItemHead>, StorageError> {
    let name = inner.object(key)?;
    let output = inner.head_object(&name).map_err(|failure| inner.failed(failure, "inspect", key))?;
    if etag_of(output.e_tag()) != etag {
        return Ok(None);
    }
    let class = output.storage_class().map(StorageClass::as_str);
    if crate::head::is_cold(class) || output.archive_status().is_some() {
        let (store, class) = (inner.name.clone(), class.map(str::to_owned));
        return Err(StorageError::Archived { store, key: key.clone(), class });
    }
    let size = output.content_length().and_then(|length| u64::try_from(length).ok()).unwrap_or_default();
    let change = Change { inner, name: &name, etag, headers, found: &output };
    let copied = if size <= MOST_AT_ONCE { change.copy() } else { change.copy_in_parts(size, PART) };
    match copied {
        Ok(()) => head(inner, key).map(|(head, _)| Some(head)),
        Err(failure) if failure.is_condition() => Ok(None),
        Err(failure) if failure.is("InvalidObjectState") => {
            let (store, class) = (inner.name.clone(), class.map(str::to_owned));
            Err(StorageError::Archived { store, key: key.clone(), class })
        }
        Err(failure) => Err(inner.failed(failure, "change the properties of", key)),
    }
}

struct Change<'a> {
    inner: &'a Inner,
    name: &'a str,
    etag: &'a str,
    headers: &'a Headers,
    found: &'a HeadObjectOutput,
}

impl Change<'_> {
    fn source(&self) -> String {
        format!("{}/{}", self.inner.settings.bucket, utf8_percent_encode(self.name, ENCODED))
    }

    fn quoted_etag(&self) -> String {
        format!("\"{}\"", self.etag)
    }

    /// The etag that the object must have when the copy takes its place, where the service looks after that.
    fn guard(&self) -> Option<String> {
        self.inner.probed().if_match.then(|| self.quoted_etag())
    }

    fn encryption(&self) -> Option<ServerSideEncryption> {
        self.found.server_side_encryption().cloned()
    }

    fn expires(&self) -> Option<DateTime> {
        DateTime::from_str(self.found.expires_string()?, DateTimeFormat::HttpDate).ok()
    }

    /// The tags of the object as a header, for an upload, which does not take those of what it copies.
    fn tags(&self) -> Result<Option<String>, Failure> {
        let inner = self.inner;
        let request = inner.client.get_object_tagging().bucket(&inner.settings.bucket).key(self.name);
        let output = match inner.ask(request.send()) {
            Ok(output) => output,
            // A service without tags has none to lose.
            Err(failure) if failure.is_unsupported() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let tags: Vec<String> =
            output.tag_set().iter().map(|tag| format!("{}={}", encoded(tag.key()), encoded(tag.value()))).collect();
        Ok((!tags.is_empty()).then(|| tags.join("&")))
    }

    fn copy(&self) -> Result<(), Failure> {
        let (inner, found) = (self.inner, self.found);
        let mut request = inner
            .client
            .copy_object()
            .bucket(&inner.settings.bucket)
            .key(self.name)
            .copy_source(self.source())
            .copy_source_if_match(self.quoted_etag())
            .set_if_match(self.guard())
            .metadata_directive(MetadataDirective::Replace)
            .set_storage_class(found.storage_class().cloned())
            .set_server_side_encryption(self.encryption())
            .set_ssekms_key_id(found.ssekms_key_id().map(str::to_owned))
            .set_bucket_key_enabled(found.bucket_key_enabled())
            .set_content_type(self.headers.content_type.clone())
            .set_cache_control(found.cache_control().map(str::to_owned))
            .set_content_disposition(found.content_disposition().map(str::to_owned))
            .set_content_encoding(found.content_encoding().map(str::to_owned))
            .set_content_language(found.content_language().map(str::to_owned))
            .set_website_redirect_location(found.website_redirect_location().map(str::to_owned))
            .set_expires(self.expires());
        for (name, value) in &self.headers.metadata {
            request = request.metadata(name, value);
        }
        let size = found.content_length().and_then(|length| u64::try_from(length).ok()).unwrap_or_default();
        let mut limits = aws_sdk_s3::config::Builder::new();
        limits.set_timeout_config(inner.timeouts(size));
        inner.ask(request.customize().config_override(limits).send()).map(|_| ())
    }

    /// Copies what is larger than one request takes: as the parts of an upload, which the service reads itself.
    fn copy_in_parts(&self, size: u64, part: u64) -> Result<(), Failure> {
        let (inner, found) = (self.inner, self.found);
        let mut request = inner
            .client
            .create_multipart_upload()
            .bucket(&inner.settings.bucket)
            .key(self.name)
            .set_storage_class(found.storage_class().cloned())
            .set_server_side_encryption(self.encryption())
            .set_ssekms_key_id(found.ssekms_key_id().map(str::to_owned))
            .set_bucket_key_enabled(found.bucket_key_enabled())
            .set_content_type(self.headers.content_type.clone())
            .set_cache_control(found.cache_control().map(str::to_owned))
            .set_content_disposition(found.content_disposition().map(str::to_owned))
            .set_content_encoding(found.content_encoding().map(str::to_owned))
            .set_content_language(found.content_language().map(str::to_owned))
            .set_website_redirect_location(found.website_redirect_location().map(str::to_owned))
            .set_expires(self.expires())
            .set_tagging(self.tags()?);
        for (name, value) in &self.headers.metadata {
            request = request.metadata(name, value);
        }
        let output = inner.ask(request.send())?;
        let Some(upload) = output.upload_id() else {
            return Err(Failure::answer("the service began an upload and did not name it"));
        };
        let outcome = self.copy_parts(upload, size, part).and_then(|parts| self.complete(upload, parts));
        if outcome.is_err() {
            // What remains of it costs money and is not seen.
            let _ = inner.abort(self.name, upload);
        }
        outcome
    }

    fn copy_parts(&self, upload: &str, size: u64, part: u64) -> Result<Vec<CompletedPart>, Failure> {
        let inner = self.inner;
        let mut parts = Vec::new();
        let mut first = 0;
        while first < size {
            let last = (first + part).min(size) - 1;
            let number = i32::try_from(parts.len() + 1).unwrap_or(i32::MAX);
            let request = inner
                .client
                .upload_part_copy()
                .bucket(&inner.settings.bucket)
                .key(self.name)
                .upload_id(upload)
                .part_number(number)
                .copy_source(self.source())
                .copy_source_if_match(self.quoted_etag())
                .copy_source_range(format!("bytes={first}-{last}"));
            let mut limits = aws_sdk_s3::config::Builder::new();
            limits.set_timeout_config(inner.timeouts(last - first));
            let output = inner.ask(request.customize().config_override(limits).send())?;
            let etag = output.copy_part_result().and_then(|part| part.e_tag()).map(str::to_owned);
            parts.push(CompletedPart::builder().part_number(number).set_e_tag(etag).build());
            first = last + 1;
        }
        Ok(parts)
    }

    fn complete(&self, upload: &str, parts: Vec<CompletedPart>) -> Result<(), Failure> {
        let inner = self.inner;
        let request = inner
            .client
            .complete_multipart_upload()
            .bucket(&inner.settings.bucket)
            .key(self.name)
            .upload_id(upload)
            .multipart_upload(CompletedMultipartUpload::builder().set_parts(Some(parts)).build())
            .set_if_match(self.guard());
        inner.ask(request.send()).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};
    use strongroom_spaces::{ItemPut, PlainStore, SpaceName};

    use super::*;
    use crate::{S3Settings, S3Spaces, Secret};

    #[test]
    fn what_is_larger_than_one_request_takes_is_copied_in_parts() {
        let double = Double::start().expect("a server");
        let settings = S3Settings {
            bucket: BUCKET.into(),
            endpoint: Some(double.endpoint()),
            access_key: Some(ACCESS_KEY.into()),
            secret_key: Some(Secret::new(SECRET_KEY)),
            ..S3Settings::default()
        };
        let store = S3Spaces::open("far", settings).expect("a store");
        let space = SpaceName::new("alpha").expect("a name");
        let key = Key::new("a b/\u{e9}+%").expect("a key");
        let bytes: Vec<u8> = (0..11_534_343_u32).map(|n| (n % 251) as u8).collect();
        let how = ItemPut { class: Some("STANDARD_IA".into()), ..ItemPut::default() };
        let etag = store.put(&space, &key, &mut bytes.as_slice(), &how).expect("a put").etag;
        let inner = store.space(&space).expect("a space");
        let name = inner.object(&key).expect("a name");
        let found = inner.head_object(&name).expect("a head");
        let headers = Headers { content_type: Some("image/tiff".into()), metadata: vec![("a".into(), "1".into())] };
        let of = |etag| Change { inner: &inner, name: &name, etag, headers: &headers, found: &found };
        of(&etag).copy_in_parts(bytes.len() as u64, 5 << 20).expect("a copy");
        let head = store.head(&space, &key).expect("a head");
        assert!(head.etag.ends_with("-3"), "{}", head.etag);
        assert_eq!(head.class.as_deref(), Some("STANDARD_IA"));
        assert_eq!(head.description.content_type(), Some("image/tiff"));
        assert_eq!(head.description.properties().get("a"), Some("1"));
        let mut read = Vec::new();
        store.open(&space, &key, &head.etag).expect("a body").read_to_end(&mut read).expect("bytes");
        assert!(read == bytes);
        let refused = of(&etag).copy_in_parts(bytes.len() as u64, 5 << 20).expect_err("a refusal");
        assert!(refused.is_condition(), "{refused}");
        assert_eq!(double.uploads(), Vec::<String>::new(), "nothing is left of the upload");
    }
}
