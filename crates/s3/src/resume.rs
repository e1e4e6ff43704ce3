//! Uploads that were begun: recorded, so that the next put of the same content goes on with them, and swept when no put
//! did for long.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_s3::primitives::DateTime;
use aws_sdk_s3::types::ChecksumAlgorithm;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use strongroom_digest::Digest;
use strongroom_storage::{Key, StorageError};

use crate::condition::PUT_TOKEN;
use crate::failure::Failure;
use crate::list::decoded;
use crate::multipart::{Done, PartSizes};
use crate::put::Put;
use crate::settings::Checksums;
use crate::source::sha256;
use crate::store::{BOOKKEEPING, Inner};

/// An upload at the service.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) id: String,
    /// Parts that lay there before this put.
    pub(crate) parts: BTreeMap<i32, Done>,
    /// Where it is recorded.
    record: Option<String>,
}

/// What was dropped by [`crate::S3Store::sweep_uploads`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Uploads that were never finished.
    pub uploads: u64,
    /// Records of uploads that are gone.
    pub records: u64,
}

/// What lies in the bookkeeping for an upload that can be gone on with.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The name of the object.
    object: String,
    upload: String,
    /// The token in the metadata of the object to come.
    token: String,
}

impl Upload {
    /// Whether the next put of the same content will find it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.record.is_some()
    }
}

impl Inner {
    /// Goes on with the upload that was begun for the same content, or begins one.
    pub(crate) fn begin_upload(&self, put: &mut Put<'_>, sizes: PartSizes) -> Result<Upload, StorageError> {
        let record = self.record_name(put, sizes)?;
        if let Some(name) = &record
            && let Some(found) = self.found_upload(put, name)?
        {
            return Ok(found);
        }
        let mut request = self
            .client
            .create_multipart_upload()
            .bucket(&self.settings.bucket)
            .key(&put.name)
            .set_storage_class(put.class())
            .set_content_type(put.content_type())
            .set_server_side_encryption(self.encryption())
            .set_ssekms_key_id(self.settings.kms_key.clone())
            .metadata(PUT_TOKEN, &put.token);
        if self.settings.checksums == Checksums::Sha256 {
            request = request.checksum_algorithm(ChecksumAlgorithm::Sha256);
        }
        for (name, value) in put.metadata() {
            request = request.metadata(name, value);
        }
        let failed = |failure| self.failed(failure, "begin to put", put.key);
        let output = self.ask(request.send()).map_err(failed)?;
        let Some(id) = output.upload_id().map(str::to_owned) else {
            return Err(failed(Failure::answer("the service began an upload and did not name it")));
        };
        let mut upload = Upload { id, parts: BTreeMap::new(), record: None };
        if let Some(name) = record {
            let content = Record { object: put.name.clone(), upload: upload.id.clone(), token: put.token.clone() };
            // Without its record the upload is none the worse, but that it cannot be gone on with.
            if self.write_bookkeeping(&name, &content).is_ok() {
                upload.record = Some(name);
            }
        }
        Ok(upload)
    }

    /// Where the upload of a content is recorded: only what was declared is known to be the same the next time.
    fn record_name(&self, put: &Put<'_>, sizes: PartSizes) -> Result<Option<String>, StorageError> {
        let (Some((algorithm, digest)), Some(size), Some(part)) = (put.options.digest, put.options.size, sizes.fixed())
        else {
            return Ok(None);
        };
        let class = put.options.class.as_deref().unwrap_or_default();
        let content = format!("{}\n{algorithm} {digest}\n{size} {part}\n{class}", put.name);
        let digest = sha256(content.as_bytes()).map_err(|source| StorageError::Source {
            store: self.name.clone(),
            key: put.key.clone(),
            source,
        })?;
        Ok(Some(self.name_of(&format!("{BOOKKEEPING}/upload/{digest}"))?))
    }

    fn found_upload(&self, put: &mut Put<'_>, name: &str) -> Result<Option<Upload>, StorageError> {
        let Some(record) = self.read_bookkeeping::<Record>(name)? else { return Ok(None) };
        if record.object != put.name {
            return Ok(None);
        }
        match self.list_parts(&put.name, &record.upload) {
            Ok(parts) => {
                put.token = record.token;
                Ok(Some(Upload { id: record.upload, parts, record: Some(name.to_owned()) }))
            }
            Err(failure) if failure.is_refusal() => Ok(None),
            Err(failure) => Err(self.failed(failure, "continue the put of", put.key)),
        }
    }

    fn list_parts(&self, name: &str, upload: &str) -> Result<BTreeMap<i32, Done>, Failure> {
        let mut parts = BTreeMap::new();
        let mut marker: Option<String> = None;
        loop {
            let request = self.client.list_parts().bucket(&self.settings.bucket).key(name).upload_id(upload);
            let page = self.ask(request.set_part_number_marker(marker.clone()).send())?;
            for part in page.parts() {
                let (Some(number), Some(etag)) = (part.part_number(), part.e_tag()) else { continue };
                let raw = part.checksum_sha256().and_then(|text| BASE64.decode(text).ok());
                let done = Done {
                    etag: etag.to_owned(),
                    size: part.size().and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
                    sha256: raw.and_then(|raw| Digest::from_bytes(&raw).ok()),
                };
                parts.insert(number, done);
            }
            let next = page.next_part_number_marker().map(str::to_owned);
            if page.is_truncated() != Some(true) || next.is_none() || next == marker {
                return Ok(parts);
            }
            marker = next;
        }
    }

    /// Removes the record of an upload that is over.
    pub(crate) fn forget_upload(&self, upload: &Upload) {
        if let Some(name) = &upload.record {
            // A record without upload is harmless and swept.
            let _ = self.delete_object(name, &Key::ROOT);
        }
    }

    /// Drops an upload with everything that was sent.
    pub(crate) fn abort_upload(&self, name: &str, upload: &Upload) {
        // What cannot be dropped now is swept.
        let _ = self.abort(name, &upload.id);
        self.forget_upload(upload);
    }

    pub(crate) fn abort(&self, name: &str, upload: &str) -> Result<(), Failure> {
        let request = self.client.abort_multipart_upload().bucket(&self.settings.bucket).key(name).upload_id(upload);
        match self.ask(request.send()) {
            Err(failure) if failure.is("NoSuchUpload") => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    pub(crate) fn sweep_uploads(&self, age: Duration) -> Result<Swept, StorageError> {
        let mut swept = Swept::default();
        let failed = |failure| self.failed(failure, "sweep the uploads of", &Key::ROOT);
        let latest = SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH);
        let mut markers: (Option<String>, Option<String>) = (None, None);
        loop {
            let request = self
                .client
                .list_multipart_uploads()
                .bucket(&self.settings.bucket)
                .prefix(self.names_below(&Key::ROOT)?)
                .encoding_type(aws_sdk_s3::types::EncodingType::Url)
                .set_key_marker(markers.0.clone())
                .set_upload_id_marker(markers.1.clone());
            let page = self.ask(request.send()).map_err(failed)?;
            let is_encoded = page.encoding_type().is_some();
            for upload in page.uploads() {
                let (Some(name), Some(id)) = (upload.key(), upload.upload_id()) else { continue };
                if upload.initiated().is_none_or(|begun| *begun > DateTime::from(latest)) {
                    continue;
                }
                self.abort(&decoded(name, is_encoded), id).map_err(failed)?;
                swept.uploads += 1;
            }
            let next = (
                page.next_key_marker().map(|name| decoded(name, is_encoded).into_owned()),
                page.next_upload_id_marker().map(str::to_owned),
            );
            if page.is_truncated() != Some(true) || next == markers || next.0.is_none() {
                break;
            }
            markers = next;
        }
        self.sweep_records(DateTime::from(latest), &mut swept)?;
        Ok(swept)
    }

    /// Some services list uploads only where they are asked for one key: what is recorded is inspected besides.
    fn sweep_records(&self, latest: DateTime, swept: &mut Swept) -> Result<(), StorageError> {
        let failed = |failure| self.failed(failure, "sweep the uploads of", &Key::ROOT);
        for name in self.names_of_bookkeeping("upload")? {
            let Some(record) = self.read_bookkeeping::<Record>(&name)? else { continue };
            match self.list_parts(&record.object, &record.upload) {
                Err(failure) if failure.is("NoSuchUpload") => {}
                Err(failure) => return Err(failed(failure)),
                Ok(_) => {
                    let head = self.head_object(&name).map_err(failed)?;
                    if head.last_modified().is_none_or(|written| *written > latest) {
                        continue;
                    }
                    self.abort(&record.object, &record.upload).map_err(failed)?;
                    swept.uploads += 1;
                }
            }
            self.delete_object(&name, &Key::ROOT)?;
            swept.records += 1;
        }
        Ok(())
    }
}
