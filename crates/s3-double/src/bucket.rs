//! What lies in the bucket: objects with class and restoration, uploads under way, and the server's own clock.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use s3s::S3Result;
use s3s::dto::{ETag, Timestamp, TimestampFormat};
use s3s::s3_error;

use crate::versions::{Lock, Older};
use crate::{Mode, Rules};

/// Classes whose objects cannot be read before they are restored.
const COLD: [&str; 2] = ["GLACIER", "DEEP_ARCHIVE"];
const CLASSES: [&str; 8] = [
    "STANDARD",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER_IR",
    "REDUCED_REDUNDANCY",
    "GLACIER",
    "DEEP_ARCHIVE",
];

/// An object as it lies in the bucket.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The bytes, in the pieces they came in.
    pub(crate) pieces: Vec<Bytes>,
    /// The `ETag` without quotes.
    pub etag: String,
    /// The SHA-256 checksum in Base64, with the number of parts behind it where it is a composite.
    pub sha256: Option<String>,
    /// The storage class, where it is not the standard one.
    pub class: Option<String>,
    /// The server-side encryption that was asked for.
    pub encryption: Option<String>,
    /// Metadata of the user, without the prefix `x-amz-meta-`.
    pub metadata: BTreeMap<String, String>,
    /// The content type, where one was given.
    pub content_type: Option<String>,
    /// The content encoding, where one was given.
    pub content_encoding: Option<String>,
    pub(crate) modified: SystemTime,
    pub(crate) restoration: Option<Restoration>,
    /// The name of this version; none where the bucket kept no versions when it came.
    pub(crate) version: Option<String>,
    pub(crate) lock: Lock,
}

/// A copy for reading of what lies in a cold class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Restoration {
    pub(crate) ready: SystemTime,
    pub(crate) expires: SystemTime,
}

impl Stored {
    /// The bytes in one piece.
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    pub(crate) fn entity_tag(&self) -> ETag {
        ETag::Strong(self.etag.clone())
    }

    pub(crate) fn is_cold(&self) -> bool {
        self.class.as_deref().is_some_and(|class| COLD.contains(&class))
    }

    pub(crate) fn is_readable(&self, now: SystemTime) -> bool {
        !self.is_cold() || self.restoration.is_some_and(|copy| copy.ready <= now && now < copy.expires)
    }

    /// The `x-amz-restore` header.
    pub(crate) fn restore_header(&self, now: SystemTime) -> Option<String> {
        let copy = self.restoration.filter(|copy| now < copy.expires)?;
        if now < copy.ready {
            return Some("ongoing-request=\"true\"".to_owned());
        }
        let mut date = Vec::new();
        Timestamp::from(copy.expires).format(TimestampFormat::HttpDate, &mut date).ok()?;
        Some(format!("ongoing-request=\"false\", expiry-date=\"{}\"", String::from_utf8_lossy(&date)))
    }

    /// The pieces of a range of the bytes.
    pub(crate) fn range(&self, range: std::ops::Range<u64>) -> Vec<Bytes> {
        let mut start = 0;
        let mut wanted = Vec::new();
        for piece in &self.pieces {
            let end = start + piece.len() as u64;
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                wanted.push(piece.slice((from - start) as usize..(to - start) as usize));
            }
            start = end;
        }
        wanted
    }
}

/// A multipart upload under way.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    pub(crate) key: String,
    pub(crate) initiated: SystemTime,
    pub(crate) has_sha256: bool,
    pub(crate) class: Option<String>,
    pub(crate) encryption: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) parts: BTreeMap<i32, Part>,
    pub(crate) lock: Lock,
}

/// A part of an upload.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) bytes: Bytes,
    pub(crate) etag: String,
    pub(crate) sha256: Option<String>,
}

/// Everything that lies in the bucket.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, Stored>,
    /// What lay under each key before its last change; none where nothing did.
    pub(crate) before: BTreeMap<String, Option<Stored>>,
    /// What was replaced or deleted, and markers of deletions, by key, the oldest first.
    pub(crate) older: BTreeMap<String, Vec<Older>>,
    pub(crate) versions_made: u64,
    /// For how long what is put is retained where the put says nothing else.
    pub(crate) default_retention: Option<(Mode, Duration)>,
    pub(crate) uploads: BTreeMap<String, Upload>,
    pub(crate) uploads_begun: u64,
    pub(crate) is_dropped: bool,
    /// How far the test has turned the clock.
    pub(crate) turned: Duration,
}

impl Bucket {
    pub(crate) fn now(&self) -> SystemTime {
        SystemTime::now() + self.turned
    }

    pub(crate) fn object(&self, key: &str) -> S3Result<&Stored> {
        self.objects.get(key).ok_or_else(|| s3_error!(NoSuchKey))
    }

    /// The same as it was before its last change.
    pub(crate) fn object_before(&self, key: &str) -> S3Result<&Stored> {
        match self.before.get(key) {
            Some(before) => before.as_ref().ok_or_else(|| s3_error!(NoSuchKey)),
            None => self.object(key),
        }
    }

    pub(crate) fn upload(&mut self, id: &str, key: &str) -> S3Result<&mut Upload> {
        self.uploads.get_mut(id).filter(|upload| upload.key == key).ok_or_else(|| s3_error!(NoSuchUpload))
    }

    /// Refuses a put whose conditions do not hold.
    pub(crate) fn check_conditions(
        &self,
        rules: &Rules,
        key: &str,
        if_none_match: Option<&s3s::dto::ETagCondition>,
        if_match: Option<&s3s::dto::ETagCondition>,
    ) -> S3Result<()> {
        let there = self.objects.get(key);
        if rules.if_none_match && if_none_match.is_some() && there.is_some() {
            return Err(s3_error!(PreconditionFailed));
        }
        let Some(wanted) = if_match.filter(|_| rules.if_match) else { return Ok(()) };
        let Some(there) = there else { return Err(s3_error!(NoSuchKey)) };
        match wanted.as_etag() {
            Some(etag) if etag.value() != there.etag => Err(s3_error!(PreconditionFailed)),
            _ => Ok(()),
        }
    }
}

/// The class a put asks for, as the server keeps it.
pub(crate) fn kept_class(rules: &Rules, asked: Option<&str>) -> S3Result<Option<String>> {
    match asked {
        Some(class) if rules.keeps_classes && !CLASSES.contains(&class) => Err(s3_error!(InvalidStorageClass)),
        Some(class) if rules.keeps_classes && class != "STANDARD" => Ok(Some(class.to_owned())),
        _ => Ok(None),
    }
}

pub(crate) fn metadata_of(given: Option<HashMap<String, String>>) -> BTreeMap<String, String> {
    given.unwrap_or_default().into_iter().collect()
}
