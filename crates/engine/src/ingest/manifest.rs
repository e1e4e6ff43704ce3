//! The files that a Checkm manifest names, downloaded several at a time and shown one after the other.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use strongroom_bagit::open_regular;
use strongroom_checkm::{
    Column, Limits, ManifestProfile, Mode, Problem, ReadOptions, Reader, Severity, ValidateOptions, validate,
};
use strongroom_digest::{Algorithm, DigestSet, MultiHasher};
use strongroom_download::{Body, DownloadError, Expected, KeptBody, Supervision};
use strongroom_registry::items::ItemProblem;

use super::deposit::DepositOptions;
use super::intake::{DIGEST_MISMATCH, Download, PackageSource, SIZE_MISMATCH, download_failure, mismatch, unreadable};
use super::kept_downloads;
use super::stages::package::problem;
use crate::runtime::TaskContext;
use crate::workflow::{StageContext, StageError};

/// Files that are downloaded at the same time.
pub(crate) const AT_ONCE: usize = 4;
/// Bytes of a file that are handed over at once...
const CHUNK: usize = 256 << 10;
/// ... and how often, before the download waits.
const CHUNKS_AHEAD: usize = 4;
/// How often it is asked whether to go on while a server is waited for.
pub(super) const ASKED_EVERY: Duration = Duration::from_millis(500);
/// Files up to this size are not kept on their way.
const SMALL: u64 = 1 << 20;
/// Most bytes of a manifest.
const LARGEST: u64 = 1 << 30;
/// Problems of a manifest that are kept.
const MOST_PROBLEMS: usize = 1_000;

/// A file that a list names: a row of a manifest of files, or a line of the `fetch.txt` of a bag.
#[derive(Debug, Clone)]
pub(crate) struct FileRow {
    /// The line, from 1.
    pub(crate) line: u64,
    pub(crate) url: String,
    /// The path of the file in the object.
    pub(crate) path: String,
    pub(crate) size: Option<u64>,
    /// What is stated of its bytes.
    pub(crate) digests: DigestSet,
    pub(crate) modified: Option<jiff::Timestamp>,
}

/// The manifest of a work item, in a temporary file, and its SHA-256 in hexadecimal digits.
///
/// # Errors
/// It cannot be read, it is larger than 1 GiB, or it is another one than was declared.
pub(crate) fn spool(
    context: &StageContext<'_>,
    source: &PackageSource,
    options: &DepositOptions,
) -> Result<(File, String), StageError> {
    source.check_fits(options.kind())?;
    let mut failed = None;
    let mut body: Box<dyn Read> = match source {
        PackageSource::LocalPath(path) => Box::new(open_regular(path).map_err(|error| unreadable(path, &error))?),
        PackageSource::Url(url) => {
            let download = Download::open(context, url.as_str(), Expected::default())?;
            failed = Some(download.failure());
            Box::new(download)
        }
        PackageSource::Document(id) => return Err(StageError::fatal(format!("the document {id} is no manifest"))),
        PackageSource::ReceivingKey(key) => return Err(StageError::fatal(format!("{key} is no manifest"))),
    };
    let unwritable = |error: io::Error| StageError::Transient(format!("could not write a temporary file: {error}"));
    let mut file = tempfile::tempfile().map_err(unwritable)?;
    let mut buffer = vec![0; CHUNK];
    let mut size = 0_u64;
    let declared = options.digest.as_ref().map(|(algorithm, _)| *algorithm);
    let algorithms: Vec<Algorithm> = [Some(Algorithm::Sha256), declared].into_iter().flatten().collect();
    let mut hasher = MultiHasher::new(&algorithms);
    loop {
        context.task.check()?;
        let length = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let failure = failed.and_then(|failed| failed.take());
                let unread = || StageError::Transient(format!("could not read the manifest {source}: {error}"));
                return Err(failure.unwrap_or_else(unread));
            }
        };
        size += length as u64;
        if size > LARGEST {
            let note = format!("the manifest {source} is larger than {LARGEST} bytes; next: split it");
            let problems = vec![problem("error", "package.control_file_too_large", None, note.clone())];
            return Err(StageError::Fatal { note, problems });
        }
        let bytes = buffer.get(..length).unwrap_or_default();
        hasher.update(bytes);
        file.write_all(bytes).map_err(unwritable)?;
    }
    file.seek(SeekFrom::Start(0)).map_err(unwritable)?;
    let digests = hasher.finish();
    let found = |algorithm| digests.get(algorithm).map(|digest| digest.to_hex()).unwrap_or_default();
    if let Some((algorithm, declared)) = &options.digest
        && found(*algorithm) != *declared
    {
        let text = format!("the manifest has {algorithm}:{}, declared was {algorithm}:{declared}", found(*algorithm));
        return Err(mismatch(DIGEST_MISMATCH, text));
    }
    if let Some(declared) = options.size.filter(|declared| *declared != size) {
        let text = format!("the manifest has {size} bytes, declared were {declared}");
        return Err(mismatch(SIZE_MISMATCH, text));
    }
    Ok((file, found(Algorithm::Sha256)))
}

/// How manifests are read: what can be read without doubt is read, with a warning.
pub(crate) fn read_options(profile: Option<ManifestProfile>) -> ReadOptions {
    ReadOptions { mode: Mode::Lenient, limits: Limits { bytes: LARGEST, ..Limits::default() }, profile }
}

/// Checks a manifest as a whole, before anything that it names is downloaded: its warnings, and how many rows it has.
///
/// # Errors
/// It has errors: all of them.
pub(crate) fn check(
    manifest: &mut File,
    profile: Option<ManifestProfile>,
) -> Result<(Vec<ItemProblem>, u64), StageError> {
    let options =
        ValidateOptions { read: read_options(profile), problems: MOST_PROBLEMS, ..ValidateOptions::default() };
    let report = validate(BufReader::new(&mut *manifest), &options)
        .map_err(|error| StageError::Transient(format!("could not read the manifest: {error}")))?;
    manifest.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    let problems: Vec<ItemProblem> = report.problems.iter().map(item_problem).collect();
    if report.errors == 0 {
        return Ok((problems, report.rows));
    }
    let first = report.problems.iter().find(|problem| problem.severity == Severity::Error);
    let first = first.map(|problem| format!("; first: {}: {}", problem.code, problem.message)).unwrap_or_default();
    Err(StageError::Invalid { note: format!("the manifest is not valid (errors: {}){first}", report.errors), problems })
}

/// A problem of a manifest as a work item keeps it.
fn item_problem(problem: &Problem) -> ItemProblem {
    ItemProblem {
        severity: if problem.severity == Severity::Error { "error" } else { "warning" }.into(),
        code: problem.code.to_owned(),
        file: None,
        path: None,
        line: problem.line,
        message: problem.message.clone(),
    }
}

/// The rows of a manifest of files, in their order.
pub(crate) struct FileRows<'m> {
    reader: Reader<BufReader<&'m mut File>>,
}

impl<'m> FileRows<'m> {
    /// A manifest that [`check`] has found without errors.
    pub(crate) fn new(manifest: &'m mut File) -> Result<Self, StageError> {
        let options = read_options(Some(ManifestProfile::Object));
        let reader = Reader::new(BufReader::new(manifest), &options, &mut |_| {}).map_err(unread)?;
        Ok(Self { reader })
    }

    pub(crate) fn next_row(&mut self) -> Result<Option<FileRow>, StageError> {
        let row = self.reader.next_row(&mut |_| {}).map_err(unread)?;
        Ok(row.map(|row| FileRow {
            line: row.line(),
            url: row.url().to_owned(),
            path: row.file_name().to_owned(),
            size: row.size(),
            digests: row.checksum().map(|stated| (stated.algorithm(), stated.value())).into_iter().collect(),
            modified: row.text(Column::FileLastModified).and_then(|text| timestamp(&text)),
        }))
    }
}

pub(super) fn unread(error: impl std::fmt::Display) -> StageError {
    StageError::Transient(format!("could not read the manifest: {error}"))
}

/// A time or a date as a manifest states it; a date is its first instant in UTC.
fn timestamp(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok().or_else(|| {
        let date: jiff::civil::Date = text.parse().ok()?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })
}

/// What a download hands over.
enum Part {
    /// It was opened; the server says how many bytes there are.
    Opened(Option<u64>),
    Bytes(Vec<u8>),
    Failed(StageError),
    End,
}

/// A file that is downloaded.
pub(crate) struct Downloading {
    pub(crate) row: FileRow,
    parts: Receiver<Part>,
    current: Vec<u8>,
    position: usize,
    has_ended: bool,
    failure: Option<StageError>,
    task: TaskContext,
    /// Beside which path it is kept on its way.
    kept: Option<PathBuf>,
    /// Whether others are shown before it.
    is_ahead: Arc<AtomicBool>,
    /// Whether nothing proves at its end that it is whole.
    has_unproved_end: Arc<AtomicBool>,
    /// Dropped with the rest: then the thread stops.
    _is_wanted: Arc<()>,
}

impl Downloading {
    /// Begins a download in a thread of its own, which ends soon after this is dropped. Whether others are shown before it says
    /// `is_ahead`.
    fn begin(
        context: &StageContext<'_>,
        row: FileRow,
        named: Option<&str>,
        is_ahead: bool,
    ) -> Result<Self, StageError> {
        let client = context.home.downloads()?.clone();
        // Where its size is stated and small, it is not kept anyway.
        let is_kept = row.size.is_none_or(|size| size > SMALL);
        let name = named.filter(|_| is_kept).map(|named| format!("{named}-{}", row.line));
        let kept = name.map(|name| kept_downloads::path(context.home, context.item.id, &name));
        let to_keep = kept.clone();
        let (to, parts) = sync_channel(CHUNKS_AHEAD);
        let is_wanted = Arc::new(());
        let watched = Arc::downgrade(&is_wanted);
        let (url, expected, stated) = (row.url.clone(), expected_of(&row), row.size);
        let is_ahead = Arc::new(AtomicBool::new(is_ahead));
        let ahead = is_ahead.clone();
        let has_unproved_end = Arc::new(AtomicBool::new(false));
        let unproved = has_unproved_end.clone();
        std::thread::spawn(move || {
            let check = move || if watched.upgrade().is_some() { Ok(()) } else { Err("it is not needed any more") };
            let supervision = Supervision::new(check).ahead(ahead).noting_unproved_end(unproved);
            let opened = match to_keep {
                Some(kept) => {
                    client.open_kept(&url, expected, supervision, &kept).map(|body| (body.size(), body.into()))
                }
                None => client.open(&url, expected, supervision).map(|body| (body.size(), body.into())),
            };
            download((&url, stated), opened, &to);
        });
        Ok(Self {
            row,
            parts,
            current: Vec::new(),
            position: 0,
            has_ended: false,
            failure: None,
            task: context.task.clone(),
            kept,
            is_ahead,
            has_unproved_end,
            _is_wanted: is_wanted,
        })
    }

    /// Waits for the answer of the server: the size of the file, where it says it.
    pub(crate) fn open(&mut self) -> Result<Option<u64>, StageError> {
        match self.next_part() {
            Ok(Part::Opened(size)) => Ok(size),
            Ok(Part::Failed(error)) => Err(error),
            _ => Err(StageError::Transient(format!("the download of {} ended early", self.row.url))),
        }
    }

    /// The next that comes. An interruption of the stage is asked for while it is waited.
    fn next_part(&mut self) -> Result<Part, RecvTimeoutError> {
        loop {
            match self.parts.recv_timeout(ASKED_EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                part => return part,
            }
            if let Err(reason) = self.task.check() {
                return Ok(Part::Failed(reason.into()));
            }
        }
    }

    /// The file is where it is needed: removes what is kept of it.
    pub(crate) fn forget(&self) {
        if let Some(kept) = &self.kept {
            // What is left of it is removed with the item.
            let _ = strongroom_download::forget(kept);
        }
    }

    /// Whether nothing proves that it is whole, once it was read to its end.
    pub(crate) fn has_unproved_end(&self) -> bool {
        self.has_unproved_end.load(Ordering::Acquire)
    }

    /// Why it failed, where a read of it did.
    pub(crate) fn failure(&mut self) -> Option<StageError> {
        self.failure.take()
    }
}

impl Read for Downloading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.current.len() && !self.has_ended {
            match self.next_part() {
                Ok(Part::Bytes(bytes)) => (self.current, self.position) = (bytes, 0),
                Ok(Part::End) => self.has_ended = true,
                Ok(Part::Failed(error)) => {
                    let shown = error.to_string();
                    self.failure = Some(error);
                    return Err(io::Error::other(shown));
                }
                Ok(Part::Opened(_)) => {}
                Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let rest = self.current.get(self.position..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        self.position += length;
        Ok(length)
    }
}

/// What the list states of a file.
fn expected_of(row: &FileRow) -> Expected {
    Expected { size: row.size, digests: row.digests.clone(), version: None }
}

/// The bytes of a file, kept on their way or not.
enum Bytes<'b> {
    Kept(Box<KeptBody<'b>>),
    Passing(Box<Body<'b>>),
}

impl<'b> From<KeptBody<'b>> for Bytes<'b> {
    fn from(body: KeptBody<'b>) -> Self {
        Self::Kept(Box::new(body))
    }
}

impl<'b> From<Body<'b>> for Bytes<'b> {
    fn from(body: Body<'b>) -> Self {
        Self::Passing(Box::new(body))
    }
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Kept(body) => body.read(buffer),
            Self::Passing(body) => body.read(buffer),
        }
    }
}

/// Hands over the bytes of a file, of which the list states this size.
fn download(
    (url, stated): (&str, Option<u64>),
    opened: Result<(Option<u64>, Bytes<'_>), DownloadError>,
    to: &SyncSender<Part>,
) {
    let (size, mut body) = match opened {
        Ok(opened) => opened,
        Err(error) => return drop(to.send(Part::Failed(download_failure(error, stated)))),
    };
    // It is not needed any more where it cannot be sent.
    if to.send(Part::Opened(size)).is_err() {
        return;
    }
    let mut received = 0;
    loop {
        let mut bytes = Vec::with_capacity(CHUNK);
        let read = (&mut body).take(CHUNK as u64).read_to_end(&mut bytes);
        let part = match read {
            Ok(0) => Part::End,
            Ok(length) => {
                kept_downloads::received(received, received + length as u64);
                received += length as u64;
                Part::Bytes(bytes)
            }
            Err(error) => Part::Failed(match DownloadError::from_io(error) {
                Ok(error) => download_failure(error, stated),
                Err(error) => StageError::Transient(format!("could not read {url}: {error}")),
            }),
        };
        let is_last = !matches!(part, Part::Bytes(_));
        if to.send(part).is_err() || is_last {
            return;
        }
    }
}

/// What gives the rows of a list, one after the other.
pub(crate) type NextRow<'r> = &'r mut dyn FnMut() -> Result<Option<FileRow>, StageError>;

/// Downloads the files of a list, several at a time, and shows them in the order of their rows. Each download is ahead by at most
/// 1 MiB of what was shown, and keeps its connection meanwhile; one connection to each host is left to what is shown. Large files are
/// kept on their way by what is `named` and their line. `wanted` says whether a row is to be downloaded.
pub(crate) fn download_all(
    context: &StageContext<'_>,
    next_row: NextRow<'_>,
    named: Option<&str>,
    wanted: &mut dyn FnMut(&FileRow) -> Result<bool, StageError>,
    show: &mut dyn FnMut(Downloading) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut under_way: VecDeque<Downloading> = VecDeque::new();
    loop {
        if let Some(next) = under_way.front() {
            next.is_ahead.store(false, Ordering::Release);
        }
        while under_way.len() < AT_ONCE {
            context.task.check()?;
            let Some(row) = next_row()? else { break };
            if wanted(&row)? {
                let is_ahead = !under_way.is_empty();
                under_way.push_back(Downloading::begin(context, row, named, is_ahead)?);
            }
        }
        match under_way.pop_front() {
            Some(next) => show(next)?,
            None => return Ok(()),
        }
    }
}
