//! The operations of S3 over the bucket, each behind the faults planned for it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_core::Stream;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use md5::{Digest, Md5};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput, CompleteMultipartUploadOutput,
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopyPartResult, CreateBucketInput, CreateBucketOutput,
    CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteBucketInput, DeleteBucketOutput, DeleteObjectInput,
    DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag, GetObjectInput,
    GetObjectLegalHoldInput, GetObjectLegalHoldOutput, GetObjectLockConfigurationInput,
    GetObjectLockConfigurationOutput, GetObjectOutput, GetObjectRetentionInput, GetObjectRetentionOutput,
    HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListBucketsInput, ListBucketsOutput,
    ListMultipartUploadsInput, ListMultipartUploadsOutput, ListObjectVersionsInput, ListObjectVersionsOutput,
    ListObjectsV2Input, ListObjectsV2Output, ListPartsInput, ListPartsOutput, ObjectLockConfiguration,
    ObjectLockEnabled, ObjectLockLegalHold, ObjectLockLegalHoldStatus, ObjectLockRetention, PutObjectInput,
    PutObjectOutput, RestoreObjectInput, RestoreObjectOutput, StreamingBlob, Timestamp, UploadPartCopyInput,
    UploadPartCopyOutput, UploadPartInput, UploadPartOutput,
};
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use sha2::Sha256;

use crate::bucket::{Part, Restoration, Stored, Upload, kept_class, metadata_of};
use crate::faults::Outgoing;
use crate::listing::{self, hex};
use crate::server::State;
use crate::versions::Lock;
use crate::{Fault, Operation, Rules, WrongListing, copying, multipart};

/// What services state as the content type where none was given.
const NO_TYPE: &str = "binary/octet-stream";

pub(crate) struct Service {
    state: Arc<Mutex<State>>,
}

/// What the client declared of a body.
struct Declared {
    md5: Option<String>,
    sha256: Option<String>,
    length: Option<i64>,
}

/// A body that was read whole and found to be as declared.
struct Taken {
    bytes: Bytes,
    etag: String,
    sha256: Option<String>,
}

impl Service {
    pub(crate) fn new(state: Arc<Mutex<State>>) -> Self {
        Self { state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of a bucket that is there, and gives what is planned for it, unless that is a refusal.
    async fn enter(&self, operation: Operation, bucket: &str) -> S3Result<Option<Fault>> {
        let fault = self.begin(operation).await?;
        if !self.lock().has(bucket) {
            return Err(s3_error!(NoSuchBucket));
        }
        Ok(fault)
    }

    /// Counts a request and gives what is planned for it, unless that is a refusal.
    async fn begin(&self, operation: Operation) -> S3Result<Option<Fault>> {
        let fault = {
            let mut state = self.lock();
            *state.counts.requests.entry(operation).or_default() += 1;
            state.plans.due(operation)
        };
        if let Some(Fault::Late(by)) = fault {
            tokio::time::sleep(by).await;
        }
        if let Some(Fault::Refuse(status)) = fault {
            return Err(self.refusal(status));
        }
        Ok(fault)
    }

    fn refusal(&self, status: u16) -> S3Error {
        let code = match status {
            503 => S3ErrorCode::SlowDown,
            403 => S3ErrorCode::AccessDenied,
            _ => S3ErrorCode::InternalError,
        };
        let mut error = S3Error::with_message(code, "refused as planned");
        error.set_status_code(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        let request = format!("double-{}", self.lock().counts.all());
        if let Ok(value) = HeaderValue::from_str(&request) {
            error.set_headers(HeaderMap::from_iter([(HeaderName::from_static("x-amz-request-id"), value)]));
        }
        error
    }

    /// The answer, or the failure that was planned in spite of success.
    fn leave<T>(&self, fault: Option<Fault>, output: T) -> S3Result<S3Response<T>> {
        if fault == Some(Fault::RefuseAfter) { Err(self.refusal(500)) } else { Ok(S3Response::new(output)) }
    }

    async fn take(&self, body: Option<StreamingBlob>, declared: Declared) -> S3Result<Taken> {
        let mut bytes = Vec::new();
        if let Some(mut body) = body {
            while let Some(piece) = std::future::poll_fn(|context| Pin::new(&mut body).poll_next(context)).await {
                bytes.extend_from_slice(&piece.map_err(|_| s3_error!(IncompleteBody))?);
            }
        }
        let mut state = self.lock();
        state.counts.bytes_in += bytes.len() as u64;
        state.counts.undeclared += u64::from(declared.md5.is_none() && declared.sha256.is_none());
        check(&state.rules, &bytes, &declared)?;
        let sha256 = declared.sha256.filter(|_| state.rules.returns_checksums);
        Ok(Taken { etag: hex(&Md5::digest(&bytes)), sha256, bytes: bytes.into() })
    }
}

fn check(rules: &Rules, bytes: &[u8], declared: &Declared) -> S3Result<()> {
    if declared.length.is_some_and(|length| usize::try_from(length) != Ok(bytes.len())) {
        return Err(s3_error!(IncompleteBody));
    }
    if !rules.checks_digests {
        return Ok(());
    }
    for (given, length, found) in
        [(&declared.md5, 16, Md5::digest(bytes).to_vec()), (&declared.sha256, 32, Sha256::digest(bytes).to_vec())]
    {
        let Some(given) = given else { continue };
        let raw = BASE64.decode(given).ok().filter(|raw| raw.len() == length);
        if raw.ok_or_else(|| s3_error!(InvalidDigest))? != found {
            return Err(s3_error!(BadDigest));
        }
    }
    Ok(())
}

/// The checksum of what was put, or of other bytes where that is planned: of the same form, with another first character.
fn answered(fault: Option<Fault>, sha256: Option<String>) -> Option<String> {
    if fault != Some(Fault::OtherChecksum) {
        return sha256;
    }
    sha256
        .map(|sha256| if sha256.starts_with('A') { sha256.replacen('A', "B", 1) } else { format!("A{}", &sha256[1..]) })
}

/// What is kept of what was put: the same, or something else where that is planned.
fn kept(fault: Option<Fault>, taken: Taken) -> Taken {
    let mut bytes = taken.bytes.to_vec();
    match (fault, bytes.last_mut()) {
        (Some(Fault::KeepsOther | Fault::KeepsOtherUnnoticed), Some(last)) => *last ^= 1,
        (Some(Fault::KeepsLess), Some(_)) => {
            bytes.pop();
        }
        _ => return taken,
    }
    if fault == Some(Fault::KeepsOtherUnnoticed) {
        return Taken { bytes: bytes.into(), ..taken };
    }
    let sha256 = taken.sha256.map(|_| BASE64.encode(Sha256::digest(&bytes)));
    Taken { etag: hex(&Md5::digest(&bytes)), sha256, bytes: bytes.into() }
}

fn checksum_type(sha256: Option<&String>) -> Option<s3s::dto::ChecksumType> {
    let kind = if sha256?.contains('-') { "COMPOSITE" } else { "FULL_OBJECT" };
    Some(kind.to_owned().into())
}

#[async_trait::async_trait]
impl S3 for Service {
    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> S3Result<S3Response<HeadBucketOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::HeadBucket, &bucket).await?;
        self.leave(fault, HeadBucketOutput::default())
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::HeadObject, &bucket).await?;
        let state = self.lock();
        let stored = match fault {
            Some(Fault::Stale) => state.at(&bucket).object_before(&input.key)?,
            _ => state.at(&bucket).object(&input.key)?,
        };
        let sha256 = answered(fault, stored.sha256.clone().filter(|_| input.checksum_mode.is_some()));
        let output = HeadObjectOutput {
            content_length: i64::try_from(stored.size()).ok(),
            e_tag: Some(stored.entity_tag()),
            last_modified: Some(Timestamp::from(stored.modified)),
            storage_class: stored.class.clone().map(Into::into),
            restore: stored.restore_header(state.at(&bucket).now()),
            checksum_type: checksum_type(sha256.as_ref()),
            checksum_sha256: sha256,
            metadata: Some(stored.metadata.clone().into_iter().collect()),
            content_type: Some(stored.content_type.clone().unwrap_or_else(|| NO_TYPE.to_owned())),
            content_encoding: stored.content_encoding.clone(),
            server_side_encryption: stored.encryption.clone().map(Into::into),
            ..HeadObjectOutput::default()
        };
        drop(state);
        self.leave(fault, output)
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::GetObject, &bucket).await?;
        let mut state = self.lock();
        let fault = fault.or_else(|| state.plans.of_first_read(&input.key));
        let stored = state.at(&bucket).object(&input.key)?.clone();
        if !stored.is_readable(state.at(&bucket).now()) {
            return Err(s3_error!(InvalidObjectState));
        }
        if let Some(wanted) = input.if_match.as_ref().and_then(s3s::dto::ETagCondition::as_etag)
            && wanted.value() != stored.etag
        {
            return Err(s3_error!(PreconditionFailed));
        }
        let size = stored.size();
        let range = match &input.range {
            Some(range) => range.check(size)?,
            None => 0..size,
        };
        let range = match fault {
            Some(Fault::Short { to }) => range.start..range.end.min(range.start.saturating_add(to)),
            _ => range,
        };
        let length = range.end - range.start;
        state.counts.bytes_out += length;
        drop(state);
        let content_range =
            input.range.is_some().then(|| format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1)));
        let body = Outgoing::new(stored.range(range), fault);
        let output = GetObjectOutput {
            body: Some(StreamingBlob::wrap(body)),
            content_length: i64::try_from(length).ok(),
            content_range,
            e_tag: Some(stored.entity_tag()),
            last_modified: Some(Timestamp::from(stored.modified)),
            storage_class: stored.class.clone().map(Into::into),
            metadata: Some(stored.metadata.clone().into_iter().collect()),
            ..GetObjectOutput::default()
        };
        if input.range.is_some() {
            return Ok(S3Response::with_status(output, StatusCode::PARTIAL_CONTENT));
        }
        self.leave(fault, output)
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::PutObject, &bucket).await?;
        let declared = Declared { md5: input.content_md5, sha256: input.checksum_sha256, length: input.content_length };
        let taken = kept(fault, self.take(input.body, declared).await?);
        let mut state = self.lock();
        let rules = state.rules;
        state.at(&bucket).check_conditions(
            &rules,
            &input.key,
            input.if_none_match.as_ref(),
            input.if_match.as_ref(),
        )?;
        let lock = Lock::asked(
            &rules,
            input.object_lock_mode.as_ref().map(s3s::dto::ObjectLockMode::as_str),
            input.object_lock_retain_until_date,
            input.object_lock_legal_hold_status.as_ref().map(s3s::dto::ObjectLockLegalHoldStatus::as_str),
        )?;
        let stored = Stored {
            pieces: vec![taken.bytes],
            etag: taken.etag,
            sha256: taken.sha256,
            class: kept_class(&rules, input.storage_class.as_ref().map(s3s::dto::StorageClass::as_str))?,
            encryption: input.server_side_encryption.map(|asked| asked.as_str().to_owned()),
            metadata: metadata_of(input.metadata),
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            modified: state.at(&bucket).now(),
            restoration: None,
            version: None,
            lock,
        };
        let stored = state.at_mut(&bucket).put(&rules, &input.key, stored);
        let output = PutObjectOutput {
            version_id: stored.version.clone(),
            e_tag: Some(stored.entity_tag()),
            checksum_type: checksum_type(stored.sha256.as_ref()),
            checksum_sha256: answered(fault, stored.sha256.clone()),
            ..PutObjectOutput::default()
        };
        drop(state);
        self.leave(fault, output)
    }

    async fn delete_object(&self, request: S3Request<DeleteObjectInput>) -> S3Result<S3Response<DeleteObjectOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::DeleteObject, &bucket).await?;
        let output = {
            let mut state = self.lock();
            let rules = state.rules;
            let if_match = request.input.if_match.as_ref().filter(|_| rules.delete_if_match);
            let strict = Rules { if_match: true, ..rules };
            state.at(&bucket).check_conditions(&strict, &request.input.key, None, if_match)?;
            if fault == Some(Fault::NotDone) {
                return self.leave(None, DeleteObjectOutput::default());
            }
            let removed =
                state.at_mut(&bucket).remove(&rules, &request.input.key, request.input.version_id.as_deref())?;
            DeleteObjectOutput {
                delete_marker: removed.is_marker.then_some(true),
                version_id: removed.version,
                ..DeleteObjectOutput::default()
            }
        };
        self.leave(fault, output)
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::DeleteObjects, &bucket).await?;
        let mut state = self.lock();
        if !state.rules.deletes_many {
            return Err(s3_error!(NotImplemented));
        }
        let rules = state.rules;
        let named = request.input.delete.objects;
        if named.is_empty() || named.len() > 1000 {
            return Err(s3_error!(MalformedXML));
        }
        let mut output = DeleteObjectsOutput { deleted: Some(Vec::new()), ..DeleteObjectsOutput::default() };
        for (nth, object) in named.into_iter().enumerate() {
            if fault == Some(Fault::RefuseAfter) && nth == 0 {
                let refused = s3s::dto::Error {
                    code: Some("InternalError".to_owned()),
                    key: Some(object.key),
                    message: Some("refused as planned".to_owned()),
                    version_id: None,
                };
                output.errors = Some(vec![refused]);
                continue;
            }
            match state.at_mut(&bucket).remove(&rules, &object.key, object.version_id.as_deref()) {
                Err(error) => output.errors.get_or_insert_default().push(s3s::dto::Error {
                    code: Some(error.code().as_str().to_owned()),
                    key: Some(object.key),
                    message: error.message().map(str::to_owned),
                    version_id: object.version_id,
                }),
                Ok(_) if request.input.delete.quiet.unwrap_or_default() => {}
                Ok(removed) => output.deleted.get_or_insert_default().push(DeletedObject {
                    key: Some(object.key),
                    delete_marker: removed.is_marker.then_some(true),
                    version_id: object.version_id,
                    ..DeletedObject::default()
                }),
            }
        }
        Ok(S3Response::new(output))
    }

    async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<S3Response<ListObjectVersionsOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::ListObjectVersions, &bucket).await?;
        let output = {
            let state = self.lock();
            listing::versions(state.at(&bucket), &state.rules, request.input)?
        };
        self.leave(fault, output)
    }

    async fn get_object_lock_configuration(
        &self,
        request: S3Request<GetObjectLockConfigurationInput>,
    ) -> S3Result<S3Response<GetObjectLockConfigurationOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::GetObjectLockConfiguration, &bucket).await?;
        if !self.lock().rules.locks {
            return Err(s3_error!(ObjectLockConfigurationNotFoundError));
        }
        let configuration = ObjectLockConfiguration {
            object_lock_enabled: Some(ObjectLockEnabled::from_static(ObjectLockEnabled::ENABLED)),
            ..ObjectLockConfiguration::default()
        };
        let output = GetObjectLockConfigurationOutput { object_lock_configuration: Some(configuration) };
        self.leave(fault, output)
    }

    async fn get_object_retention(
        &self,
        request: S3Request<GetObjectRetentionInput>,
    ) -> S3Result<S3Response<GetObjectRetentionOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::GetObjectRetention, &bucket).await?;
        let retention = {
            let state = self.lock();
            let stored = state.at(&bucket).lockable(&state.rules, &input.key, input.version_id.as_deref())?;
            let (mode, until) =
                stored.lock.retention.clone().ok_or_else(|| s3_error!(NoSuchObjectLockConfiguration))?;
            ObjectLockRetention { mode: Some(mode.as_str().to_owned().into()), retain_until_date: Some(until) }
        };
        self.leave(fault, GetObjectRetentionOutput { retention: Some(retention) })
    }

    async fn get_object_legal_hold(
        &self,
        request: S3Request<GetObjectLegalHoldInput>,
    ) -> S3Result<S3Response<GetObjectLegalHoldOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::GetObjectLegalHold, &bucket).await?;
        let is_held = {
            let state = self.lock();
            state.at(&bucket).lockable(&state.rules, &input.key, input.version_id.as_deref())?.lock.is_held
        };
        if !is_held {
            return Err(s3_error!(NoSuchObjectLockConfiguration));
        }
        let status = ObjectLockLegalHoldStatus::from_static(ObjectLockLegalHoldStatus::ON);
        self.leave(fault, GetObjectLegalHoldOutput { legal_hold: Some(ObjectLockLegalHold { status: Some(status) }) })
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::ListObjects, &bucket).await?;
        let is_first = request.input.continuation_token.is_none();
        if fault == Some(Fault::Listing(WrongListing::FailsBehindFirst)) && !is_first {
            return Err(self.refusal(500));
        }
        let mut output = {
            let state = self.lock();
            listing::objects(state.at(&bucket), &state.rules, request.input)?
        };
        if let Some(Fault::Listing(wrong)) = fault {
            listing::falsify(&mut output, wrong);
        }
        self.leave(fault, output)
    }

    async fn restore_object(
        &self,
        request: S3Request<RestoreObjectInput>,
    ) -> S3Result<S3Response<RestoreObjectOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::RestoreObject, &bucket).await?;
        let mut state = self.lock();
        let (now, takes) = (state.at(&bucket).now(), state.rules.restoration_takes);
        let days = input.restore_request.and_then(|request| request.days).unwrap_or_default();
        let kept = std::time::Duration::from_hours(24) * u32::try_from(days).unwrap_or_default();
        let stored = state.at_mut(&bucket).objects.get_mut(&input.key).ok_or_else(|| s3_error!(NoSuchKey))?;
        if !stored.is_cold() {
            return Err(s3_error!(InvalidObjectState));
        }
        let there = stored.restoration.filter(|copy| now < copy.expires);
        let status = match there {
            Some(copy) if now < copy.ready => return Err(s3_error!(RestoreAlreadyInProgress)),
            Some(copy) => {
                stored.restoration = Some(Restoration { ready: copy.ready, expires: now + kept });
                StatusCode::OK
            }
            None => {
                stored.restoration = Some(Restoration { ready: now + takes, expires: now + takes + kept });
                StatusCode::ACCEPTED
            }
        };
        drop(state);
        let mut response = self.leave(fault, RestoreObjectOutput::default())?;
        response.status = Some(status);
        Ok(response)
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::CreateMultipartUpload, &bucket).await?;
        let mut state = self.lock();
        let rules = state.rules;
        let lock = Lock::asked(
            &rules,
            input.object_lock_mode.as_ref().map(s3s::dto::ObjectLockMode::as_str),
            input.object_lock_retain_until_date,
            input.object_lock_legal_hold_status.as_ref().map(s3s::dto::ObjectLockLegalHoldStatus::as_str),
        )?;
        state.at_mut(&bucket).uploads_begun += 1;
        let id = format!("upload-{:08}", state.at(&bucket).uploads_begun);
        let upload = Upload {
            key: input.key.clone(),
            initiated: state.at(&bucket).now(),
            has_sha256: input.checksum_algorithm.is_some_and(|algorithm| algorithm.as_str() == "SHA256"),
            class: kept_class(&rules, input.storage_class.as_ref().map(s3s::dto::StorageClass::as_str))?,
            encryption: input.server_side_encryption.map(|asked| asked.as_str().to_owned()),
            metadata: metadata_of(input.metadata),
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            parts: std::collections::BTreeMap::new(),
            lock,
        };
        state.at_mut(&bucket).uploads.insert(id.clone(), upload);
        drop(state);
        let output = CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(id),
            ..CreateMultipartUploadOutput::default()
        };
        self.leave(fault, output)
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::UploadPart, &bucket).await?;
        if !(1..=10_000).contains(&input.part_number) {
            return Err(s3_error!(InvalidArgument));
        }
        let declared = Declared { md5: input.content_md5, sha256: input.checksum_sha256, length: input.content_length };
        let taken = kept(fault, self.take(input.body, declared).await?);
        let mut state = self.lock();
        let upload = state.at_mut(&bucket).upload(&input.upload_id, &input.key)?;
        let output = UploadPartOutput {
            e_tag: Some(ETag::Strong(taken.etag.clone())),
            checksum_sha256: taken.sha256.clone(),
            ..UploadPartOutput::default()
        };
        let part = Part { bytes: taken.bytes, etag: taken.etag, sha256: taken.sha256 };
        upload.parts.insert(input.part_number, part);
        drop(state);
        self.leave(fault, output)
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::CompleteMultipartUpload, &bucket).await?;
        let stored = {
            let mut state = self.lock();
            let rules = state.rules;
            if fault == Some(Fault::UploadGone) {
                state.at_mut(&bucket).uploads.remove(&input.upload_id);
            }
            multipart::complete(state.at_mut(&bucket), &rules, &input)?
        };
        let output = CompleteMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            e_tag: Some(stored.entity_tag()),
            checksum_type: checksum_type(stored.sha256.as_ref()),
            checksum_sha256: answered(fault, stored.sha256),
            ..CompleteMultipartUploadOutput::default()
        };
        self.leave(fault, output)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        let bucket = request.input.bucket.clone();
        let input = request.input;
        let fault = self.enter(Operation::AbortMultipartUpload, &bucket).await?;
        {
            let mut state = self.lock();
            state.at_mut(&bucket).upload(&input.upload_id, &input.key)?;
            state.at_mut(&bucket).uploads.remove(&input.upload_id);
        }
        self.leave(fault, AbortMultipartUploadOutput::default())
    }

    async fn list_parts(&self, request: S3Request<ListPartsInput>) -> S3Result<S3Response<ListPartsOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::ListParts, &bucket).await?;
        let output = {
            let mut state = self.lock();
            let rules = state.rules;
            multipart::list_parts(state.at_mut(&bucket), &rules, &request.input)?
        };
        self.leave(fault, output)
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::ListMultipartUploads, &bucket).await?;
        let output = {
            let state = self.lock();
            listing::uploads(state.at(&bucket), &state.rules, request.input)
        };
        self.leave(fault, output)
    }

    async fn list_buckets(&self, request: S3Request<ListBucketsInput>) -> S3Result<S3Response<ListBucketsOutput>> {
        let fault = self.begin(Operation::ListBuckets).await?;
        let input = request.input;
        let output = {
            let state = self.lock();
            listing::buckets(&state.names(), &state.rules, &input)
        };
        self.leave(fault, output)
    }

    async fn create_bucket(&self, request: S3Request<CreateBucketInput>) -> S3Result<S3Response<CreateBucketOutput>> {
        let fault = self.begin(Operation::CreateBucket).await?;
        if !self.lock().create(&request.input.bucket) {
            return Err(s3_error!(BucketAlreadyOwnedByYou));
        }
        self.leave(fault, CreateBucketOutput::default())
    }

    async fn delete_bucket(&self, request: S3Request<DeleteBucketInput>) -> S3Result<S3Response<DeleteBucketOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::DeleteBucket, &bucket).await?;
        if !self.lock().remove(&bucket) {
            return Err(s3_error!(BucketNotEmpty));
        }
        self.leave(fault, DeleteBucketOutput::default())
    }

    async fn copy_object(&self, request: S3Request<CopyObjectInput>) -> S3Result<S3Response<CopyObjectOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::CopyObject, &bucket).await?;
        let copied = copying::copy(&mut self.lock(), request.input)?;
        let result = CopyObjectResult {
            e_tag: Some(copied.entity_tag()),
            last_modified: Some(Timestamp::from(copied.modified)),
            ..CopyObjectResult::default()
        };
        self.leave(fault, CopyObjectOutput { copy_object_result: Some(result), ..CopyObjectOutput::default() })
    }

    async fn upload_part_copy(
        &self,
        request: S3Request<UploadPartCopyInput>,
    ) -> S3Result<S3Response<UploadPartCopyOutput>> {
        let bucket = request.input.bucket.clone();
        let fault = self.enter(Operation::UploadPartCopy, &bucket).await?;
        let part = copying::copy_part(&mut self.lock(), &request.input)?;
        let result = CopyPartResult { e_tag: Some(ETag::Strong(part.etag)), ..CopyPartResult::default() };
        self.leave(fault, UploadPartCopyOutput { copy_part_result: Some(result), ..UploadPartCopyOutput::default() })
    }
}
