//! Putting: what is small in one request, checked before it is sent; what is large in parts.

use std::io::Read;
use std::time::Duration;

use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::operation::put_object::PutObjectOutput;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ServerSideEncryption, StorageClass};
use bytes::Bytes;
use strongroom_digest::{Algorithm, Digest};
use strongroom_storage::{Head, Key, PutOptions, StorageError};
use uuid::Uuid;

use crate::condition::{Guard, PUT_TOKEN};
use crate::failure::Failure;
use crate::head::{base64, etag_of, is_cold, metadata_name, shown_class};
use crate::multipart::PartSizes;
use crate::settings::{Checksums, S3Settings};
use crate::source::{Piece, Source, md5};
use crate::store::Inner;

/// Bytes a second at which a connection counts as alive while it sends.
const SLOWEST: u64 = 32 << 10;

/// A put as it goes to the service.
pub(crate) struct Put<'a> {
    pub(crate) key: &'a Key,
    /// The name of the object.
    pub(crate) name: String,
    pub(crate) options: &'a PutOptions,
    pub(crate) guard: Guard,
    /// Made for this put, to know its work again.
    pub(crate) token: String,
    /// What goes with an item of a space; none for a key of a store.
    pub(crate) headers: Option<&'a Headers>,
}

/// Headers that go with an item of a space.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headers {
    pub(crate) content_type: Option<String>,
    pub(crate) metadata: Vec<(String, String)>,
}

/// The checksum headers of bytes that are sent.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) sha256: Option<String>,
    pub(crate) md5: Option<String>,
}

impl Inner {
    pub(crate) fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        let name = self.object(key)?;
        self.put_object_named(key, name, body, options)
    }

    /// Puts an item of a space, with these headers.
    pub(crate) fn put_item(
        &self,
        key: &Key,
        body: &mut dyn Read,
        options: &PutOptions,
        headers: &Headers,
    ) -> Result<Head, StorageError> {
        self.put_with(key, self.object(key)?, body, options, Some(headers))
    }

    /// Puts a key of the store, or something of the bookkeeping.
    pub(crate) fn put_object_named(
        &self,
        key: &Key,
        name: String,
        body: &mut dyn Read,
        options: &PutOptions,
    ) -> Result<Head, StorageError> {
        self.put_with(key, name, body, options, None)
    }

    fn put_with(
        &self,
        key: &Key,
        name: String,
        body: &mut dyn Read,
        options: &PutOptions,
        headers: Option<&Headers>,
    ) -> Result<Head, StorageError> {
        let guard = self.guard(key, &name, &options.condition)?;
        let put = Put { key, name, options, guard, token: Uuid::new_v4().simple().to_string(), headers };
        let sizes = PartSizes::new(self.settings.part_size, options.size);
        let mut source = Source::new(self, key, body, options, sizes.of(1));
        let first = source.piece(sizes.of(1))?;
        if source.is_over() {
            source.finish()?;
            self.put_whole(&put, first)
        } else {
            self.put_parts(put, sizes, first, source)
        }
    }

    /// Puts in one request what was read to its end and found to be as declared.
    fn put_whole(&self, put: &Put<'_>, piece: Piece) -> Result<Head, StorageError> {
        let declared = self.declared(piece.buffer.as_slice(), &piece.sha256);
        let sha256 = piece.sha256;
        let bytes = piece.buffer.into_bytes();
        let size = bytes.len() as u64;
        let mut attempt = 0;
        loop {
            let failure = match self.send_whole(put, bytes.clone(), &declared) {
                Ok(output) => return self.head_of_whole(put, &output, size, sha256),
                Err(failure) => failure,
            };
            if put.guard.is_refused_by(&failure) {
                let made = self.made_before(put.key, &put.name, &put.token)?;
                return made.ok_or_else(|| self.refused(put.key, &put.options.condition));
            }
            attempt += 1;
            if !failure.is_conflict() || !self.settings.wait_after(attempt) {
                return Err(self.failed(failure, "put", put.key));
            }
        }
    }

    fn send_whole(&self, put: &Put<'_>, bytes: Bytes, declared: &Declared) -> Result<PutObjectOutput, Failure> {
        let timeouts = self.timeouts(bytes.len() as u64);
        let mut request = self
            .put_request(put)
            .set_checksum_sha256(declared.sha256.clone())
            .set_content_md5(declared.md5.clone())
            .content_length(i64::try_from(bytes.len()).unwrap_or(i64::MAX))
            .body(ByteStream::from(bytes));
        for (name, value) in put.metadata() {
            request = request.metadata(name, value);
        }
        match timeouts {
            None => self.ask(request.send()),
            Some(timeouts) => {
                let timeouts = aws_sdk_s3::config::Builder::new().timeout_config(timeouts);
                self.ask(request.customize().config_override(timeouts).send())
            }
        }
    }

    fn put_request(&self, put: &Put<'_>) -> PutObjectFluentBuilder {
        self.client
            .put_object()
            .bucket(&self.settings.bucket)
            .key(&put.name)
            .set_storage_class(put.class())
            .set_content_type(put.content_type())
            .set_server_side_encryption(self.encryption())
            .set_ssekms_key_id(self.settings.kms_key.clone())
            .set_if_none_match(put.guard.if_none_match())
            .set_if_match(put.guard.if_match())
    }

    fn head_of_whole(
        &self,
        put: &Put<'_>,
        output: &PutObjectOutput,
        size: u64,
        sha256: Digest,
    ) -> Result<Head, StorageError> {
        if let Some(found) = output.checksum_sha256()
            && self.settings.checksums == Checksums::Sha256
            && found != base64(&sha256)
        {
            let etag = etag_of(output.e_tag());
            return Err(self.taken_back(put, &etag, &base64(&sha256), found));
        }
        let is_vouched = self.probed().has_strong_checksums() && self.settings.checksums == Checksums::Sha256;
        let checksum = is_vouched.then_some((Algorithm::Sha256, sha256));
        Ok(self.head_of_put(put, etag_of(output.e_tag()), size, checksum))
    }

    pub(crate) fn head_of_put(
        &self,
        put: &Put<'_>,
        etag: String,
        size: u64,
        checksum: Option<(Algorithm, Digest)>,
    ) -> Head {
        let class = put.options.class.as_deref();
        let shown = shown_class(class, self.probed());
        let readable = !is_cold(shown.as_deref());
        Head { size, etag, class: shown, readable, checksum }
    }

    /// Removes what the service has made of a put that it answers for with another checksum.
    pub(crate) fn taken_back(&self, put: &Put<'_>, etag: &str, sent: &str, kept: &str) -> StorageError {
        // The mismatch is what the caller has to know; what cannot be removed is found by fixity.
        let _ = self.delete_match(&put.name, put.key, etag);
        self.mismatch(put.key, format!("checksum sha256 {sent}"), format!("checksum sha256 {kept} in the store"))
    }

    pub(crate) fn declared(&self, bytes: &[u8], sha256: &Digest) -> Declared {
        match self.settings.checksums {
            Checksums::Sha256 => Declared { sha256: Some(base64(sha256)), md5: None },
            Checksums::Md5 => Declared { sha256: None, md5: md5(bytes).map(|digest| base64(&digest)) },
            Checksums::None => Declared::default(),
        }
    }

    pub(crate) fn encryption(&self) -> Option<ServerSideEncryption> {
        self.settings.encryption.as_deref().map(ServerSideEncryption::from)
    }

    /// Longer limits for a request that carries so many bytes.
    pub(crate) fn timeouts(&self, bytes: u64) -> Option<TimeoutConfig> {
        timeouts(&self.settings, bytes)
    }
}

fn timeouts(settings: &S3Settings, bytes: u64) -> Option<TimeoutConfig> {
    let seconds = bytes / SLOWEST;
    let limit = settings.answer_timeout + Duration::from_secs(seconds);
    (seconds > 0).then(|| {
        let connect = settings.connect_timeout;
        TimeoutConfig::builder().connect_timeout(connect).operation_attempt_timeout(limit).build()
    })
}

impl Put<'_> {
    pub(crate) fn class(&self) -> Option<StorageClass> {
        self.options.class.as_deref().map(StorageClass::from)
    }

    pub(crate) fn content_type(&self) -> Option<String> {
        self.headers.and_then(|headers| headers.content_type.clone())
    }

    /// What is kept with the object: the digest that was declared of the whole, and which put it was.
    pub(crate) fn metadata(&self) -> Vec<(String, String)> {
        let digest = self.options.digest.map(|(algorithm, digest)| (metadata_name(algorithm), digest.to_hex()));
        let token = (self.guard != Guard::None).then(|| (PUT_TOKEN.to_owned(), self.token.clone()));
        let given = self.headers.map(|headers| headers.metadata.clone()).unwrap_or_default();
        given.into_iter().chain(digest).chain(token).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_take_as_much_longer_as_the_bytes_need() {
        let settings = S3Settings::default();
        assert!(timeouts(&settings, SLOWEST - 1).is_none(), "the usual limits do");
        for seconds in [1, 90] {
            let limits = timeouts(&settings, SLOWEST * seconds).expect("longer limits");
            let longer = settings.answer_timeout + Duration::from_secs(seconds);
            assert_eq!(limits.operation_attempt_timeout(), Some(longer));
            assert_eq!(limits.connect_timeout(), Some(settings.connect_timeout));
        }
    }
}
