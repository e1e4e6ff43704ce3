//! Putting what is large: parts with a SHA-256 each, a few under way at once, completed when all of it is proved.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use aws_sdk_s3::operation::complete_multipart_upload::CompleteMultipartUploadOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use strongroom_digest::Digest;
use strongroom_storage::{Head, PutCondition, StorageError};
use tokio::task::JoinSet;

use crate::condition::Guard;
use crate::failure::Failure;
use crate::head::{base64, etag_of, is_vouched_for};
use crate::put::Put;
use crate::resume::Upload;
use crate::settings::Checksums;
use crate::source::{Piece, Source, sha256};
use crate::store::Inner;

/// Most parts of an upload (S3: multipart upload limits).
const MOST_PARTS: u64 = 10_000;
/// Most bytes of an object (S3: multipart upload limits).
const LARGEST: u64 = 5 << 40;
/// Sizes of parts are multiples of this.
const GRAIN: u64 = 1 << 20;
/// Where the size is not known, parts double in length after so many of them: 5 TiB then fit into 10,000.
const STEP: u32 = 900;
/// No part is longer (S3 takes 5 GiB).
const LONGEST_PART: u64 = 4 << 30;
/// Parts of one put that are under way hold no more bytes than this together, unless one alone is longer.
const MOST_UNDER_WAY: u64 = 256 << 20;

/// How long the parts of an upload are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartSizes {
    first: u64,
    grows: bool,
}

impl PartSizes {
    pub(crate) fn new(least: u64, declared: Option<u64>) -> Self {
        // More than S3 takes is no size to plan by.
        let declared = declared.filter(|declared| *declared <= LARGEST);
        let needed = declared.unwrap_or_default().div_ceil(MOST_PARTS).next_multiple_of(GRAIN);
        Self { first: least.max(needed), grows: declared.is_none() }
    }

    /// The length of every part but the last, where it is the same for all.
    pub(crate) fn fixed(self) -> Option<NonZeroU64> {
        if self.grows { None } else { NonZeroU64::new(self.first) }
    }

    /// The length of a part; the first has number 1.
    pub(crate) fn of(self, number: i32) -> u64 {
        let steps = if self.grows { number.unsigned_abs().saturating_sub(1) / STEP } else { 0 };
        self.first.saturating_mul(1_u64.checked_shl(steps).unwrap_or(u64::MAX)).min(LONGEST_PART)
    }

    fn at_once(self, number: i32, most: usize) -> usize {
        let fitting = usize::try_from(MOST_UNDER_WAY / self.of(number).max(1)).unwrap_or(most);
        fitting.clamp(1, most)
    }
}

/// A part that lies at the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) etag: String,
    pub(crate) size: u64,
    pub(crate) sha256: Option<Digest>,
}

/// A put in parts while it is under way.
struct Parts<'a> {
    inner: &'a Inner,
    put: &'a Put<'a>,
    upload: &'a Upload,
    sizes: PartSizes,
    done: BTreeMap<i32, Done>,
    under_way: JoinSet<(i32, Result<Done, Failure>)>,
}

impl Inner {
    /// Puts in parts what is longer than one, of which `first` was read.
    pub(crate) fn put_parts(
        &self,
        mut put: Put<'_>,
        sizes: PartSizes,
        first: Piece,
        source: Source<'_>,
    ) -> Result<Head, StorageError> {
        let declared = put.options.size;
        if declared.is_some_and(|declared| declared > LARGEST) {
            return Err(self.unusable(format!("{} is larger than the 5 TiB that S3 takes", put.key)));
        }
        // The service looks after a condition when everything has been sent, which is late.
        if put.options.condition != PutCondition::Always {
            self.look_first(put.key, &put.name, &put.options.condition)?;
        }
        let upload = self.begin_upload(&mut put, sizes)?;
        let mut parts =
            Parts { inner: self, put: &put, upload: &upload, sizes, done: BTreeMap::new(), under_way: JoinSet::new() };
        let outcome = parts.send_all(first, source).and_then(|whole| parts.complete(whole));
        parts.settle_all();
        match &outcome {
            Ok(_) => self.forget_upload(&upload),
            // What was sent is right as far as it goes: the next put of the same content goes on with it.
            Err(error) if upload.is_recorded() && is_interruption(error) => {}
            Err(_) => self.abort_upload(&put.name, &upload),
        }
        outcome
    }
}

/// Whether an error says nothing against the bytes.
fn is_interruption(error: &StorageError) -> bool {
    matches!(error, StorageError::Source { .. } | StorageError::Unusable { .. }) || error.is_transient()
}

impl Parts<'_> {
    fn send_all(&mut self, first: Piece, mut source: Source<'_>) -> Result<u64, StorageError> {
        let mut piece = first;
        let mut number = 1;
        loop {
            self.send(number, piece)?;
            if source.is_over() {
                break;
            }
            number += 1;
            if u64::from(number.unsigned_abs()) > MOST_PARTS {
                return Err(self.inner.unusable(format!("{} is larger than the 5 TiB that S3 takes", self.put.key)));
            }
            piece = source.piece(self.sizes.of(number))?;
        }
        while !self.under_way.is_empty() {
            self.settle_one()?;
        }
        Ok(source.finish()?.size)
    }

    /// Sends a part when there is room for one, unless it lies there already.
    fn send(&mut self, number: i32, piece: Piece) -> Result<(), StorageError> {
        let size = piece.buffer.as_slice().len() as u64;
        let there = self.upload.parts.get(&number);
        if let Some(there) = there.filter(|there| there.size == size && there.sha256 == Some(piece.sha256)) {
            self.done.insert(number, there.clone());
            return Ok(());
        }
        let settings = &self.inner.settings;
        while self.under_way.len() >= self.sizes.at_once(number, settings.parts_at_once) {
            self.settle_one()?;
        }
        let declared = self.inner.declared(piece.buffer.as_slice(), &piece.sha256);
        let sha256 = piece.sha256;
        let request = self
            .inner
            .client
            .upload_part()
            .bucket(&settings.bucket)
            .key(&self.put.name)
            .upload_id(&self.upload.id)
            .part_number(number)
            .set_checksum_sha256(declared.sha256)
            .set_content_md5(declared.md5)
            .content_length(i64::try_from(size).unwrap_or(i64::MAX))
            .body(ByteStream::from(piece.buffer.into_bytes()));
        let mut limits = aws_sdk_s3::config::Builder::new();
        limits.set_timeout_config(self.inner.timeouts(size));
        let sending = request.customize().config_override(limits).send();
        let permits = Arc::clone(&self.inner.permits);
        let sending = async move {
            // The semaphore is never closed.
            let _permit = permits.acquire_owned().await;
            let answer = sending.await.map_err(|error| Failure::of(&error));
            let done = answer.map(|output| Done {
                etag: output.e_tag().unwrap_or_default().to_owned(),
                size,
                sha256: Some(sha256),
            });
            (number, done)
        };
        self.under_way.spawn_on(sending, &self.inner.runtime);
        Ok(())
    }

    fn settle_one(&mut self) -> Result<(), StorageError> {
        match self.inner.runtime.block_on(self.under_way.join_next()) {
            Some(Ok((number, Ok(done)))) => {
                self.done.insert(number, done);
                Ok(())
            }
            Some(Ok((_, Err(failure)))) => Err(self.inner.failed(failure, "put a part of", self.put.key)),
            Some(Err(error)) => Err(self.inner.unusable(format!("a thread of the network failed: {error}"))),
            None => Ok(()),
        }
    }

    /// Lets what is under way arrive, when something else has failed: the next put need not send it again.
    fn settle_all(&mut self) {
        while !self.under_way.is_empty() {
            // One failure is reported already.
            let _ = self.settle_one();
        }
    }

    /// Makes the parts an object.
    fn complete(&mut self, size: u64) -> Result<Head, StorageError> {
        let (inner, put) = (self.inner, self.put);
        let with_sha256 = inner.settings.checksums == Checksums::Sha256;
        let parts = self.done.iter().map(|(number, done)| {
            let sha256 = done.sha256.filter(|_| with_sha256).map(|digest| base64(&digest));
            CompletedPart::builder().part_number(*number).e_tag(&done.etag).set_checksum_sha256(sha256).build()
        });
        let upload = CompletedMultipartUpload::builder().set_parts(Some(parts.collect())).build();
        let request = inner
            .client
            .complete_multipart_upload()
            .bucket(&inner.settings.bucket)
            .key(&put.name)
            .upload_id(&self.upload.id)
            .multipart_upload(upload)
            .set_if_none_match(put.guard.if_none_match())
            .set_if_match(put.guard.if_match());
        let mut limits = aws_sdk_s3::config::Builder::new();
        limits.set_timeout_config(inner.timeouts(size));
        match inner.ask(request.customize().config_override(limits).send()) {
            Ok(output) => self.head(&output, size),
            // When the answer to the first attempt was lost, the second does not find the upload any more.
            Err(failure) if failure.is("NoSuchUpload") || put.guard.is_refused_by(&failure) => {
                if let Some(head) = inner.made_before(put.key, &put.name, &put.token)? {
                    return Ok(head);
                }
                if put.guard != Guard::None && put.guard.is_refused_by(&failure) {
                    return Err(inner.refused(put.key, &put.options.condition));
                }
                Err(inner.failed(failure, "complete", put.key))
            }
            Err(failure) => Err(inner.failed(failure, "complete", put.key)),
        }
    }

    fn head(&self, output: &CompleteMultipartUploadOutput, size: u64) -> Result<Head, StorageError> {
        let (inner, put) = (self.inner, self.put);
        if inner.settings.checksums == Checksums::Sha256
            && let Some(found) = output.checksum_sha256()
            && let Some(composite) = composite(self.done.values())
            && !is_same_composite(&composite, found)
        {
            return Err(inner.taken_back(put, &etag_of(output.e_tag()), &composite, found));
        }
        let is_vouched = inner.probed().has_strong_composites() && inner.settings.checksums == Checksums::Sha256;
        let checksum = put.options.digest.filter(|(algorithm, _)| is_vouched && is_vouched_for(*algorithm));
        Ok(inner.head_of_put(put, etag_of(output.e_tag()), size, checksum))
    }
}

/// SHA-256 over those of the parts, and how many they are (S3: composite checksums).
pub(crate) fn composite<'a>(parts: impl ExactSizeIterator<Item = &'a Done>) -> Option<String> {
    let count = parts.len();
    let mut digests = Vec::with_capacity(count * 32);
    for part in parts {
        digests.extend_from_slice(part.sha256?.as_bytes());
    }
    Some(format!("{}-{count}", base64(&sha256(&digests).ok()?)))
}

/// Some services leave the number of parts out.
pub(crate) fn is_same_composite(ours: &str, theirs: &str) -> bool {
    ours == theirs || ours.split_once('-').is_some_and(|(digest, _)| digest == theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What all parts hold together.
    fn capacity(sizes: PartSizes) -> u64 {
        (1..=10_000).map(|number| sizes.of(number)).fold(0, u64::saturating_add)
    }

    #[test]
    fn parts_are_as_long_as_set_where_that_suffices() {
        assert_eq!(PartSizes::new(8 * MIB, Some(80_000 * MIB)), PartSizes { first: 8 * MIB, grows: false });
        assert_eq!(PartSizes::new(8 * MIB, Some(80_001 * MIB)), PartSizes { first: 9 * MIB, grows: false });
    }

    #[test]
    fn ten_thousand_parts_hold_the_largest_object() {
        for declared in [None, Some(LARGEST), Some(LARGEST - 1)] {
            assert!(capacity(PartSizes::new(5 * MIB, declared)) >= declared.unwrap_or(LARGEST), "{declared:?}");
        }
    }

    #[test]
    fn parts_of_unknown_bodies_grow() {
        let sizes = PartSizes::new(8 * MIB, None);
        let lengths: Vec<u64> = [1, 900, 901, 1_801, 10_000].map(|number| sizes.of(number) / MIB).into();
        assert_eq!(lengths, [8, 8, 16, 32, 4096]);
        assert_eq!(sizes.fixed(), None);
    }

    #[test]
    fn the_number_of_parts_may_be_left_out_and_nothing_else() {
        for (theirs, is_same) in [("abc=-2", true), ("abc=", true), ("abd=-2", false), ("abc=-3", false), ("2", false)]
        {
            assert_eq!(is_same_composite("abc=-2", theirs), is_same, "{theirs}");
        }
    }

    #[test]
    fn fewer_long_parts_are_under_way_at_once() {
        let sizes = PartSizes::new(8 * MIB, None);
        assert_eq!([1, 6_000, 10_000].map(|number| sizes.at_once(number, 3)), [3, 1, 1]);
    }
}
