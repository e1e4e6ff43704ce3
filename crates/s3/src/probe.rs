//! Finding out what a server really honours: by small objects under `.strongroom/probe/`, removed afterwards.

use std::fmt;

use aws_sdk_s3::operation::complete_multipart_upload::CompleteMultipartUploadOutput;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::operation::upload_part::builders::UploadPartFluentBuilder;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart, StorageClass};
use serde::{Deserialize, Serialize};
use strongroom_storage::{Key, StorageError};
use uuid::Uuid;

use crate::failure::Failure;
use crate::head::{base64, etag_of};
use crate::multipart::{Done, composite, is_same_composite};
use crate::settings::Checksums;
use crate::source::sha256;
use crate::store::{BOOKKEEPING, Inner};

/// What is put to see what becomes of it.
const CONTENT: &[u8] = b"what does this server honour?\n";
const OTHER_CONTENT: &[u8] = b"these bytes are others\n";
/// The class that is tried where the settings name none.
const SOME_CLASS: &str = "STANDARD_IA";
/// An etag that nothing has.
const NO_ETAG: &str = "\"00000000000000000000000000000000\"";

/// What a server honours of what S3 promises.
#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Probe {
    /// The credentials permit writing; where not, nothing else was found out.
    pub is_writable: bool,
    /// `If-None-Match: *` keeps puts, in one request and in parts, from replacing what lies there.
    pub if_none_match: bool,
    /// `If-Match` keeps puts, in one request and in parts, from replacing what another put has made.
    pub if_match: bool,
    /// `If-Match` keeps a deletion from removing what another put has made.
    pub delete_if_match: bool,
    /// Bytes that differ from their declared SHA-256 are refused.
    pub checks_sha256: bool,
    /// The SHA-256 of what was put is returned.
    pub returns_sha256: bool,
    /// Parts that differ from their declared SHA-256 are refused.
    pub checks_parts: bool,
    /// The SHA-256 over those of the parts is returned, and is right.
    pub composite_sha256: bool,
    /// The storage class that was asked for is kept.
    pub keeps_class: bool,
}

impl Probe {
    /// Whether a SHA-256 that the server returns is as good as reading the bytes of what came in one request.
    pub fn has_strong_checksums(self) -> bool {
        self.checks_sha256 && self.returns_sha256
    }

    /// The same for what came in parts.
    pub fn has_strong_composites(self) -> bool {
        self.checks_parts && self.composite_sha256
    }

    /// What remains of it when puts carry these checksums.
    pub(crate) fn under(self, checksums: Checksums) -> Self {
        if checksums == Checksums::Sha256 {
            return self;
        }
        Self { checks_sha256: false, returns_sha256: false, checks_parts: false, composite_sha256: false, ..self }
    }

    /// Each finding with what it means, for people.
    pub fn findings(&self) -> [(&'static str, bool); 9] {
        [
            ("may be written to", self.is_writable),
            ("supports if-none-match", self.if_none_match),
            ("supports if-match", self.if_match),
            ("supports if-match of deletions", self.delete_if_match),
            ("refuses bytes that differ from their sha256", self.checks_sha256),
            ("returns the sha256 of what was put", self.returns_sha256),
            ("refuses parts that differ from their sha256", self.checks_parts),
            ("returns the sha256 over those of the parts", self.composite_sha256),
            ("keeps the storage class", self.keeps_class),
        ]
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (what, holds)) in self.findings().into_iter().enumerate() {
            let line = if nth == 0 { "" } else { "\n" };
            write!(f, "{line}{}: {what}", if holds { "yes" } else { " no" })?;
        }
        Ok(())
    }
}

impl Inner {
    pub(crate) fn find_out(&self) -> Result<Probe, StorageError> {
        let folder = self.name_of(&format!("{BOOKKEEPING}/probe/{}", Uuid::new_v4().simple()))?;
        let trial =
            Trial { inner: self, names: ["put", "wrong", "parts", "class"].map(|name| format!("{folder}/{name}")) };
        let found = trial.run();
        for name in &trial.names {
            // Left over it does no harm: nothing relies on these names.
            let _ = self.delete_object(name, &Key::ROOT);
        }
        found.map_err(|failure| self.failed(failure, "probe", &Key::ROOT))
    }
}

/// One run through everything.
struct Trial<'a> {
    inner: &'a Inner,
    names: [String; 4],
}

impl Trial<'_> {
    fn run(&self) -> Result<Probe, Failure> {
        let [put, wrong, parts, class] = &self.names;
        let right = digest(CONTENT)?;
        let uses_sha256 = self.inner.settings.checksums == Checksums::Sha256;
        let first = self.request(put).set_checksum_sha256(uses_sha256.then(|| right.clone()));
        let etag = match self.inner.ask(first.body(ByteStream::from_static(CONTENT)).send()) {
            Ok(output) => format!("\"{}\"", etag_of(output.e_tag())),
            Err(failure) if failure.is_denied() => return Ok(Probe::default()),
            Err(failure) => return Err(failure),
        };
        let mut probe = Probe { is_writable: true, ..Probe::default() };
        if uses_sha256 {
            let head = self.inner.head_object(put)?;
            probe.returns_sha256 = head.checksum_sha256() == Some(&right);
            let lie = self.request(wrong).checksum_sha256(digest(OTHER_CONTENT)?);
            probe.checks_sha256 = self.is_refused(lie)?;
        }
        probe.if_none_match = self.is_refused(self.request(put).if_none_match("*"))?;
        probe.if_match = self.is_refused(self.request(put).if_match(NO_ETAG))?
            && !self.is_refused(self.request(put).if_match(&etag))?;
        let delete = self.inner.client.delete_object().bucket(&self.inner.settings.bucket).key(put);
        probe.delete_if_match = refused(self.inner.ask(delete.if_match(NO_ETAG).send()))?;
        probe.keeps_class = self.keeps_class(class)?;
        self.try_parts(parts, &mut probe, uses_sha256)?;
        Ok(probe)
    }

    fn request(&self, name: &str) -> PutObjectFluentBuilder {
        self.inner.client.put_object().bucket(&self.inner.settings.bucket).key(name)
    }

    fn is_refused(&self, request: PutObjectFluentBuilder) -> Result<bool, Failure> {
        refused(self.inner.ask(request.body(ByteStream::from_static(CONTENT)).send()))
    }

    fn keeps_class(&self, name: &str) -> Result<bool, Failure> {
        let class = self.inner.settings.storage_class.as_deref().unwrap_or(SOME_CLASS);
        if self.is_refused(self.request(name).storage_class(StorageClass::from(class)))? {
            return Ok(false);
        }
        let head = self.inner.head_object(name)?;
        let kept = head.storage_class().map_or("STANDARD", StorageClass::as_str);
        Ok(kept == class)
    }

    /// Uploads of one part each, completed under conditions that do not hold and under one that does.
    fn try_parts(&self, name: &str, probe: &mut Probe, uses_sha256: bool) -> Result<(), Failure> {
        self.inner.ask(self.request(name).body(ByteStream::from_static(OTHER_CONTENT)).send())?;
        if uses_sha256 {
            let Some(upload) = self.begin(name, true)? else { return Ok(()) };
            let lie = self.part(name, &upload, Some(digest(OTHER_CONTENT)?));
            probe.checks_parts = refused(self.inner.ask(lie.send()))?;
            self.inner.abort(name, &upload)?;
        }
        let checksum = if uses_sha256 { Some(digest(CONTENT)?) } else { None };
        let attempt = |if_none_match: Option<&str>, if_match: Option<&str>| {
            self.try_upload(name, checksum.as_ref(), if_none_match, if_match)
        };
        probe.if_none_match &= attempt(Some("*"), None)?.is_none();
        probe.if_match &= attempt(None, Some(NO_ETAG))?.is_none();
        let there = self.inner.head_object(name)?;
        let etag = format!("\"{}\"", etag_of(there.e_tag()));
        let right = Some(etag.as_str()).filter(|_| probe.if_match);
        let mut completed = attempt(None, right)?;
        if completed.is_none() {
            probe.if_match = false;
            completed = attempt(None, None)?;
        }
        if let Some(completed) = completed.filter(|_| uses_sha256) {
            probe.composite_sha256 = self.is_composite_kept(name, &completed)?;
        }
        Ok(())
    }

    /// Begins an upload; `None` where the server knows no uploads in parts.
    fn begin(&self, name: &str, uses_sha256: bool) -> Result<Option<String>, Failure> {
        let request = self.inner.client.create_multipart_upload().bucket(&self.inner.settings.bucket).key(name);
        let request = request.set_checksum_algorithm(uses_sha256.then_some(ChecksumAlgorithm::Sha256));
        let begun = refusal_or(self.inner.ask(request.send()))?;
        Ok(begun.and_then(|output| output.upload_id().map(str::to_owned)))
    }

    fn part(&self, name: &str, upload: &str, checksum: Option<String>) -> UploadPartFluentBuilder {
        let request = self.inner.client.upload_part().bucket(&self.inner.settings.bucket).key(name);
        let request = request.upload_id(upload).part_number(1).set_checksum_sha256(checksum);
        request.body(ByteStream::from_static(CONTENT))
    }

    /// Puts by an upload; `None` when the server refused to complete it under these conditions.
    fn try_upload(
        &self,
        name: &str,
        checksum: Option<&String>,
        if_none_match: Option<&str>,
        if_match: Option<&str>,
    ) -> Result<Option<CompleteMultipartUploadOutput>, Failure> {
        let Some(upload) = self.begin(name, checksum.is_some())? else { return Ok(None) };
        let sent = self.inner.ask(self.part(name, &upload, checksum.cloned()).send())?;
        let part = CompletedPart::builder().part_number(1).set_e_tag(sent.e_tag().map(str::to_owned));
        let part = part.set_checksum_sha256(checksum.cloned()).build();
        let request = self.inner.client.complete_multipart_upload().bucket(&self.inner.settings.bucket).key(name);
        let request =
            request.upload_id(&upload).multipart_upload(CompletedMultipartUpload::builder().parts(part).build());
        let request = request.set_if_none_match(if_none_match.map(str::to_owned));
        let completed = refusal_or(self.inner.ask(request.set_if_match(if_match.map(str::to_owned)).send()))?;
        if completed.is_none() {
            self.inner.abort(name, &upload)?;
        }
        Ok(completed)
    }

    fn is_composite_kept(&self, name: &str, completed: &CompleteMultipartUploadOutput) -> Result<bool, Failure> {
        let sha256 = sha256(CONTENT).map_err(|error| Failure::answer(error.to_string()))?;
        let part = Done { etag: String::new(), size: CONTENT.len() as u64, sha256: Some(sha256) };
        let Some(wanted) = composite([&part].into_iter()) else { return Ok(false) };
        let head = self.inner.head_object(name)?;
        let is_right = |given: Option<&str>| given.is_some_and(|given| is_same_composite(&wanted, given));
        Ok(is_right(completed.checksum_sha256()) && is_right(head.checksum_sha256()))
    }
}

fn digest(bytes: &[u8]) -> Result<String, Failure> {
    sha256(bytes).map(|digest| base64(&digest)).map_err(|error| Failure::answer(error.to_string()))
}

/// Whether the server refused, rather than failed.
fn refused<T>(answer: Result<T, Failure>) -> Result<bool, Failure> {
    refusal_or(answer).map(|output| output.is_none())
}

/// What the server did; `None` when it refused, rather than failed.
fn refusal_or<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(output) => Ok(Some(output)),
        Err(failure) if failure.is_refusal() => Ok(None),
        Err(failure) => Err(failure),
    }
}
