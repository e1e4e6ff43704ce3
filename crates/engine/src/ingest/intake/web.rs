//! Packages at web servers: only from hosts that the settings allow, never from private networks unless they allow that.

use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use strongroom_bagit::{BagError, ManifestName, Serialization, SingleFile, Source};
use strongroom_digest::DigestSet;
use strongroom_download::{DownloadError, Expected, Supervision};
use strongroom_registry::items::ItemProblem;
use url::Url;

use super::Located;
use super::package::{OpenPackage, url_file_name};
use crate::error::chain;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::kept_downloads;
use crate::ingest::kind::{DepositKind, holds_bag, is_container_name};
use crate::ingest::stages::package::problem;
use crate::workflow::{StageContext, StageError};

/// Size and etag as the server says them.
pub(super) fn locate(context: &StageContext<'_>, url: &Url) -> Result<Located, StageError> {
    let probe = context.home.downloads()?.probe(url.as_str(), &context.supervision());
    // What interrupts the stage makes its request fail, too.
    let probe = probe.map_err(|error| context.task.check().map_or_else(StageError::from, |()| failure(error, None)))?;
    // A server that tells neither is taken at its word by what it says of the length.
    let etag = probe.version().map(str::to_owned);
    let etag = etag.or_else(|| probe.size.map(|size| format!("length {size}"))).unwrap_or_else(|| "unknown".into());
    Ok(Located { etag, size: probe.size })
}

/// The package, which is read once, as it comes.
pub(super) fn open(context: &StageContext<'_>, url: &Url, options: &DepositOptions) -> Result<OpenPackage, StageError> {
    let name = url_file_name(url).unwrap_or_default();
    let kind = options.kind();
    let serialization = Serialization::detect(&[], &name);
    let Some(serialization) = serialization.or((kind == DepositKind::File).then_some(Serialization::Directory)) else {
        return Err(StageError::fatal(format!(
            "{url} does not name a ZIP or tar archive (plain, or compressed by gzip or bzip2), by its ending"
        )));
    };
    let digest = options.digest.as_ref().and_then(|(algorithm, hex)| Some((*algorithm, hex.parse().ok()?)));
    let expected = Expected { size: options.size, digests: digest.into_iter().collect::<DigestSet>(), version: None };
    // What only the server says of its size is not stated.
    let stated = DepositOptions::of(context.item)?.size;
    let has_unproved_end = Arc::new(AtomicBool::new(false));
    let supervision = context.supervision().noting_unproved_end(has_unproved_end.clone());
    let download = Download::open_kept(context, url.as_str(), (expected, stated), supervision)?;
    let failure = download.failure.clone();
    let source = if kind == DepositKind::File {
        let name = options.file_name.clone().unwrap_or(name).into_bytes();
        // Where the answer says no size, it is what the server said when it was asked for that: then no temporary file is needed.
        let size = download.size().or(options.size);
        Source::single(SingleFile { name, size, modified: None }, Box::new(download))
    } else {
        Source::from_stream(Box::new(download), serialization, Some(name))
    };
    let source = if kind == DepositKind::Bag { source } else { source.with_plain_paths() };
    // An archive ends as its format says.
    let has_unproved_end = Some(has_unproved_end).filter(|_| kind == DepositKind::File);
    Ok(OpenPackage { source, failure: Some(failure), has_unproved_end })
}

/// What a package at a URL is, where its name says that it is an archive: told from its beginning.
pub(super) fn recognize(context: &StageContext<'_>, url: &Url) -> Result<DepositKind, StageError> {
    let name = url_file_name(url).unwrap_or_default();
    let Some(serialization) = Serialization::detect(&[], &name).filter(|_| is_container_name(&name)) else {
        return Ok(DepositKind::File);
    };
    let mut download = Download::open(context, url.as_str(), Expected::default())?;
    let failed = download.failure.clone();
    let recognized = if serialization == Serialization::Zip {
        let mut beginning = Vec::new();
        let read = (&mut download).take(BEGINNING_OF_ZIP).read_to_end(&mut beginning);
        read.map(|_| begins_as_zipped_bag(&beginning)).map_err(BagError::Stream)
    } else {
        holds_bag(Source::from_stream(Box::new(download.take(BEGINNING_OF_TAR)), serialization, Some(name)))
    };
    match recognized {
        Ok(true) => Ok(DepositKind::Bag),
        Ok(false) => Ok(DepositKind::Container),
        Err(error) => Err(failed.take().unwrap_or_else(|| super::bag_trouble(error))),
    }
}

/// Bytes of an archive that are read to see what it is.
const BEGINNING_OF_TAR: u64 = 256 << 20;
const BEGINNING_OF_ZIP: u64 = 4 << 20;

/// Whether the first members of a ZIP (APPNOTE 4.3.7) are those of a bag.
fn begins_as_zipped_bag(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.windows(4).position(|window| window == b"PK\x03\x04") {
        let header = rest.get(at..).unwrap_or_default();
        let length = header.get(26..28).map_or(0, |length| usize::from(u16::from_le_bytes([length[0], length[1]])));
        let name = String::from_utf8_lossy(header.get(30..30 + length).unwrap_or_default()).into_owned();
        if let Some((_, below)) = name.split_once('/')
            && (below == "bagit.txt" || below.starts_with("data/") || ManifestName::parse(below).is_some())
        {
            return true;
        }
        rest = header.get(4..).unwrap_or_default();
    }
    false
}

/// A download that keeps why it failed: what reads an archive does not pass on errors as they are.
pub(crate) struct Download {
    body: Box<dyn Read + Send>,
    size: Option<u64>,
    /// Bytes that were read of what is kept on its way.
    received: Option<u64>,
    failure: DownloadFailure,
}

impl Download {
    pub(crate) fn open(context: &StageContext<'_>, url: &str, expected: Expected) -> Result<Self, StageError> {
        let stated = expected.size;
        let body = context.home.downloads()?.open(url, expected, context.supervision());
        let body = body.map_err(|error| failure(error, stated))?;
        Ok(Self::of(body.size(), Box::new(body), stated))
    }

    /// The package of the item, which is kept on its way.
    fn open_kept(
        context: &StageContext<'_>,
        url: &str,
        (expected, stated): (Expected, Option<u64>),
        supervision: Supervision<'static>,
    ) -> Result<Self, StageError> {
        let kept = kept_downloads::path(context.home, context.item.id, "package");
        let client = context.home.downloads()?;
        let body = client.open_kept(url, expected, supervision, &kept);
        let body = body.map_err(|error| failure(error, stated))?;
        Ok(Self { received: Some(0), ..Self::of(body.size(), Box::new(body), stated) })
    }

    fn of(size: Option<u64>, body: Box<dyn Read + Send>, stated: Option<u64>) -> Self {
        Self { body, size, received: None, failure: DownloadFailure { stated, ..DownloadFailure::default() } }
    }

    /// Why it failed, once a read of it has.
    pub(crate) fn failure(&self) -> DownloadFailure {
        self.failure.clone()
    }

    /// Bytes, where the server says how many.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer).inspect(|length| {
            if let Some(before) = &mut self.received {
                let received = *before + *length as u64;
                kept_downloads::received(*before, received);
                *before = received;
            }
        });
        read.map_err(|error| match DownloadError::from_io(error) {
            Ok(error) => {
                let shown = error.to_string();
                self.failure.put(error);
                io::Error::other(shown)
            }
            Err(other) => other,
        })
    }
}

/// Why a download failed, where it did.
#[derive(Debug, Clone, Default)]
pub(crate) struct DownloadFailure {
    error: Arc<Mutex<Option<DownloadError>>>,
    /// The size that the depositor stated.
    stated: Option<u64>,
}

impl DownloadFailure {
    fn put(&self, error: DownloadError) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// What it means for the stage.
    pub(crate) fn take(&self) -> Option<StageError> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map(|error| failure(error, self.stated))
    }
}

/// What the failure of a download means for a stage. A size that was stated by a manifest or the depositor is another one the next time,
/// too; one that only the server said may be right then.
pub(crate) fn failure(error: DownloadError, stated: Option<u64>) -> StageError {
    match error {
        DownloadError::Refused { .. } => not_fetched(format!(
            "{error}; ingest.url_hosts in the settings allows hosts, ingest.private_url_hosts or ingest.allow_private_addresses those of private networks"
        )),
        other if other.is_transient() => StageError::Transient(chain(&other)),
        other @ DownloadError::Digest { .. } => {
            let problem = problem("error", DIGEST_MISMATCH, None, chain(&other));
            let note = format!("the package has another digest than was stated{}", problem.in_note());
            StageError::Invalid { note, problems: vec![problem] }
        }
        other @ (DownloadError::Length { expected: size, .. } | DownloadError::TooLong { most: size, .. })
            if stated == Some(size) =>
        {
            let problem = problem("error", SIZE_MISMATCH, None, chain(&other));
            let note = format!("the package has another size than was stated{}", problem.in_note());
            StageError::Invalid { note, problems: vec![problem] }
        }
        other => not_fetched(chain(&other)),
    }
}

/// The code of a package, or a file of it, that cannot be had.
pub(crate) const NOT_FETCHED: &str = "package.not_fetched";
/// The code of a file that nothing proves to be whole.
const END_NOT_PROVED: &str = "package.end_not_proved";

/// The warning of a file that nothing proves to be whole, and of `more` others.
pub(crate) fn end_not_proved(path: &str, line: Option<u64>, more: u64) -> ItemProblem {
    let mut message = "only the end of the connection says where the file ends, as it would if it was cut: the server states no size, and the \
                       deposit neither size nor digest; next: compare the file, or deposit it again with its digest"
        .to_owned();
    if more > 0 {
        message = format!("{message}; the same is so of {more} more files");
    }
    ItemProblem { line, ..problem("warning", END_NOT_PROVED, Some(path), message) }
}

/// The code of a package that has another digest than was stated.
pub(crate) const DIGEST_MISMATCH: &str = "package.digest_mismatch";
/// The code of a package that has another size than was stated.
pub(crate) const SIZE_MISMATCH: &str = "package.size_mismatch";

/// Ends a work item whose package is another one than was stated.
pub(crate) fn mismatch(code: &str, text: String) -> StageError {
    let problems = vec![problem("error", code, None, text.clone())];
    StageError::Invalid { note: text, problems }
}

/// Ends a work item whose package, or a file of it, cannot be had.
fn not_fetched(message: String) -> StageError {
    let problem = problem("error", NOT_FETCHED, None, message);
    StageError::Fatal { note: format!("the package cannot be fetched{}", problem.in_note()), problems: vec![problem] }
}
