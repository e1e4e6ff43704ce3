//! fetch: the one pass. Each byte is read once from where it came, hashed with every recorded algorithm on the way, and
//! written to staging. What was staged before an interruption is not staged again. Staged bytes need not be synced: every
//! later reader of them declares their digest, and what a power cut took is fetched again.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use strongroom_bagit::{BagError, Entry, Limits, Problem, Scan, Serialization};
use strongroom_digest::{Algorithm, Digest, HashingReader, hash_reader};
use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::work::{self, StageEnd};
use strongroom_registry::{Digests, Format, Stage};
use strongroom_storage::{Durability, PutOptions, StorageError};

use super::provision;
use super::receive::payload;
use crate::crash_point;
use crate::ingest::context::{StageContext, StageError, restart};
use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::Payload;
use crate::runtime::TaskContext;

/// Rows that wait to be recorded are recorded at the latest when there are so many...
const ROWS_AT_ONCE: usize = 500;
/// ... or when their files have so many bytes together.
const BYTES_AT_ONCE: u64 = 256 << 20;

/// What later stages need to know of the scan.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fetched {
    base_directory: Option<String>,
    archive_name: Option<String>,
    serialization: String,
    has_payload_directory: bool,
    problems: Vec<Problem>,
    truncated: bool,
    files: u64,
    bytes: u64,
}

impl Fetched {
    fn new(scan: Scan) -> Self {
        Self {
            base_directory: scan.base_directory,
            archive_name: scan.archive_name,
            serialization: scan.serialization.mime().unwrap_or_default().to_owned(),
            has_payload_directory: scan.has_payload_directory,
            problems: scan.problems,
            truncated: scan.truncated,
            files: scan.files,
            bytes: scan.bytes,
        }
    }

    /// The scan as the validator takes it.
    pub(super) fn scan(&self) -> Scan {
        let all = [Serialization::Directory, Serialization::Tar, Serialization::TarGz, Serialization::Zip];
        let serialization = all
            .into_iter()
            .find(|one| one.mime().unwrap_or_default() == self.serialization)
            .unwrap_or(Serialization::Directory);
        Scan {
            base_directory: self.base_directory.clone(),
            archive_name: self.archive_name.clone(),
            serialization,
            has_payload_directory: self.has_payload_directory,
            problems: self.problems.clone(),
            truncated: self.truncated,
            files: self.files,
            bytes: self.bytes,
        }
    }
}

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    let payload = payload(context)?;
    let located = payload.locate(context.home)?;
    if context.item.etag.as_ref() != Some(&located.etag) {
        return start_over(context, &payload);
    }
    if context.fact::<Fetched>("fetched")?.is_none() {
        check_declared_digest(context, &payload)?;
        let mut staging = Staging::begin(context)?;
        let source = payload.open(context.home)?;
        let scanned = source.scan(&Limits::default(), &mut |entry, bytes| staging.take(entry, bytes));
        if staging.growth_refused {
            return grow(context, staging.bytes);
        }
        let scan = match (scanned, staging.failure.take()) {
            (_, Some(failure)) => return Err(failure),
            (Err(BagError::Visit(error)), None) => return Err(StageError::Transient(error.to_string())),
            (scanned, None) => scanned?,
        };
        staging.record_rows()?;
        if payload.locate(context.home)?.etag != located.etag {
            return start_over(context, &payload);
        }
        context.set_fact("fetched", &Fetched::new(scan))?;
    }
    let totals = context.registry().read(|tx| interim::totals(tx, context.item.id))?;
    let note = format!("{} files, {} bytes read and hashed", totals.files, totals.bytes);
    Ok(StageEnd::Next { next: Stage::Validate, note })
}

/// The source changed: what was staged is of another deposit.
fn start_over(context: &StageContext<'_>, payload: &Payload) -> Result<StageEnd, StageError> {
    restart(context)?;
    let located = payload.locate(context.home)?;
    context.write(move |tx, claim| work::set_source(tx, claim, &located.etag, located.size, None))?;
    Ok(StageEnd::Back { to: Stage::Provision, note: "the payload changed since it was received; starting over".into() })
}

/// The deposit is larger than what was reserved, and there is no room for more right now.
fn grow(context: &StageContext<'_>, at_least: u64) -> Result<StageEnd, StageError> {
    restart(context)?;
    let etag = context.item.etag.clone().unwrap_or_default();
    let size = at_least.saturating_mul(2).min(provision::capacity(context));
    context.write(move |tx, claim| {
        work::set_source(tx, claim, &etag, Some(size), None)?;
        interim::release_space(tx, claim)
    })?;
    Ok(StageEnd::Back {
        to: Stage::Provision,
        note: format!("more than {at_least} bytes unpacked; waits for more room"),
    })
}

/// Compares the payload as a file with the digest that the depositor declared for it.
fn check_declared_digest(context: &StageContext<'_>, payload: &Payload) -> Result<(), StageError> {
    let options: DepositOptions = serde_json::from_str(&context.item.options)?;
    let Some((algorithm, declared)) = options.digest else { return Ok(()) };
    let Payload::Path(path) = payload else { return Ok(()) };
    let unreadable = |error: io::Error| StageError::fatal(format!("could not read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let interruptible = Interruptible { bytes: file, task: context.task };
    let (_, digests) = hash_reader(interruptible, &[algorithm]).map_err(|error| interruption(context, error))?;
    let found = digests.get(algorithm).map(|digest| digest.to_hex()).unwrap_or_default();
    if found == declared {
        return Ok(());
    }
    Err(StageError::fatal(format!("the payload has {algorithm}:{found}, declared was {algorithm}:{declared}")))
}

/// Writes the files of a scan to staging and notes them in batches.
struct Staging<'a, 'c> {
    context: &'a StageContext<'c>,
    number: u64,
    resumes: bool,
    rows: Vec<InterimFile>,
    unrecorded_bytes: u64,
    bytes: u64,
    reserved: u64,
    growth_refused: bool,
    failure: Option<StageError>,
}

impl<'a, 'c> Staging<'a, 'c> {
    fn begin(context: &'a StageContext<'c>) -> Result<Self, StageError> {
        let totals = context.registry().read(|tx| interim::totals(tx, context.item.id))?;
        Ok(Self {
            context,
            number: 0,
            resumes: totals.files > 0,
            rows: Vec::with_capacity(ROWS_AT_ONCE),
            unrecorded_bytes: 0,
            bytes: 0,
            reserved: context.item.size.unwrap_or(0),
            growth_refused: false,
            failure: None,
        })
    }

    /// Takes one file. What goes wrong is kept in `failure`; the error returned only ends the scan.
    fn take(&mut self, entry: &Entry, bytes: &mut dyn Read) -> io::Result<()> {
        self.try_take(entry, bytes).map_err(|failure| {
            let text = format!("{failure:?}");
            self.failure = Some(failure);
            io::Error::other(text)
        })
    }

    fn try_take(&mut self, entry: &Entry, bytes: &mut dyn Read) -> Result<(), StageError> {
        self.context.task.check()?;
        self.number += 1;
        self.bytes = self.bytes.saturating_add(entry.size);
        if self.bytes > self.reserved {
            self.reserve_more()?;
        }
        if self.resumes && self.is_recorded(entry)? {
            return Ok(());
        }
        // A thousand files a folder keeps listings and removals quick.
        let key = format!("{}/{}/{}", self.context.item.id, self.number / 1000, self.number);
        let interruptible = Interruptible { bytes, task: self.context.task };
        let mut hashing = HashingReader::new(interruptible, &Algorithm::RECORDED);
        let options = PutOptions { size: Some(entry.size), durability: Durability::OnSync, ..PutOptions::default() };
        let key_in_store = strongroom_storage::Key::new(key.clone())?;
        match self.context.staging().put(&key_in_store, &mut hashing, &options) {
            Ok(_) => {}
            Err(StorageError::Source { source, .. }) => return Err(interruption(self.context, source)),
            Err(error) => return Err(error.into()),
        }
        let (size, digests) = hashing.finish();
        let digest = |algorithm| digests.get(algorithm).ok_or_else(|| StageError::Transient("no digest".into()));
        let digests = Digests {
            md5: digest(Algorithm::Md5)?,
            sha1: digest(Algorithm::Sha1)?,
            sha256: digest(Algorithm::Sha256)?,
            sha512: digest(Algorithm::Sha512)?,
        };
        self.rows.push(InterimFile {
            path: entry.path.clone(),
            size,
            digests,
            modified: entry.modified,
            staging_key: key,
            format: Format::default(),
            decision: None,
            file: None,
            content: None,
        });
        self.unrecorded_bytes += size;
        if self.rows.len() >= ROWS_AT_ONCE || self.unrecorded_bytes >= BYTES_AT_ONCE {
            self.record_rows()?;
            crash_point("ingest.fetch.middle");
        }
        Ok(())
    }

    fn is_recorded(&mut self, entry: &Entry) -> Result<bool, StageError> {
        let known = self.context.registry().read(|tx| interim::file(tx, self.context.item.id, &entry.path))?;
        let Some(known) = known.filter(|known| known.size == entry.size) else { return Ok(false) };
        let key = strongroom_storage::Key::new(known.staging_key)?;
        match self.context.staging().head(&key) {
            Ok(head) => Ok(head.size == entry.size),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Unpacked, a deposit can be larger than it lay there.
    fn reserve_more(&mut self) -> Result<(), StageError> {
        let wanted = self.bytes.saturating_add(self.bytes / 4);
        let capacity = provision::capacity(self.context);
        if self.bytes > capacity {
            return Err(StageError::fatal(format!(
                "unpacked it is more than all of staging ({capacity} bytes); raise staging.capacity or split the deposit"
            )));
        }
        let wanted = wanted.min(capacity);
        if self.context.write(move |tx, claim| interim::reserve(tx, claim, wanted, capacity))? {
            self.reserved = wanted;
            return Ok(());
        }
        self.growth_refused = true;
        Err(StageError::Transient("no room".into()))
    }

    fn record_rows(&mut self) -> Result<(), StageError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(ROWS_AT_ONCE));
        self.unrecorded_bytes = 0;
        self.context.write(move |tx, claim| interim::put_files(tx, claim, &rows))
    }
}

/// A reader that stops when the task must.
pub(crate) struct Interruptible<'t, R> {
    pub(crate) bytes: R,
    pub(crate) task: &'t TaskContext,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.task.check().map_err(io::Error::other)?;
        self.bytes.read(buffer)
    }
}

/// Tells an interruption from trouble with the source.
fn interruption(context: &StageContext<'_>, error: io::Error) -> StageError {
    match context.task.check() {
        Err(reason) => reason.into(),
        Ok(()) => StageError::Transient(format!("could not read the payload: {error}")),
    }
}

/// A recorded digest by its algorithm.
pub(super) fn digest_of(digests: &Digests, algorithm: Algorithm) -> Option<Digest> {
    match algorithm {
        Algorithm::Md5 => Some(digests.md5),
        Algorithm::Sha1 => Some(digests.sha1),
        Algorithm::Sha256 => Some(digests.sha256),
        Algorithm::Sha512 => Some(digests.sha512),
        _ => None,
    }
}
