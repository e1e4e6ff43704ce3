//! The files that a Checkm manifest names, downloaded several at a time and shown one after the other.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use strongroom_checkm::{
    Checksum, Column, Limits, ManifestProfile, Mode, Problem, ReadOptions, Reader, Severity, ValidateOptions, validate,
};
use strongroom_registry::items::ItemProblem;

use super::deposit::DepositOptions;
use super::intake::{PackageSource, open_url, unreadable};
use crate::Home;
use crate::workflow::{StageContext, StageError};

/// Files that are downloaded at the same time.
pub(crate) const AT_ONCE: usize = 4;
/// Bytes of a file that are handed over at once...
const CHUNK: usize = 256 << 10;
/// ... and how often, before the download waits.
const CHUNKS_AHEAD: usize = 4;
/// Most bytes of a manifest.
const LARGEST: u64 = 1 << 30;
/// Problems of a manifest that are kept.
const MOST_PROBLEMS: usize = 1_000;

/// A row of a manifest of files.
#[derive(Debug, Clone)]
pub(crate) struct FileRow {
    /// The row, from 1.
    pub(crate) number: u64,
    /// The line, from 1.
    pub(crate) line: u64,
    pub(crate) url: String,
    /// The path of the file in the object.
    pub(crate) path: String,
    pub(crate) size: Option<u64>,
    pub(crate) checksum: Option<Checksum>,
    pub(crate) modified: Option<jiff::Timestamp>,
}

/// The manifest of a work item, in a temporary file.
///
/// # Errors
/// It cannot be read, or it is larger than 1 GiB.
pub(crate) fn spool(home: &Home, source: &PackageSource, go_on: &dyn Fn() -> Result<(), StageError>) -> Result<File, StageError> {
    let mut body: Box<dyn Read> = match source {
        PackageSource::LocalPath(path) => Box::new(File::open(path).map_err(|error| unreadable(path, &error))?),
        PackageSource::Url(url) => open_url(home, url.as_str())?.1,
        PackageSource::ReceivingKey(key) => return Err(StageError::fatal(format!("{key} is no manifest"))),
    };
    let unwritable = |error: io::Error| StageError::Transient(format!("could not write a temporary file: {error}"));
    let mut file = tempfile::tempfile().map_err(unwritable)?;
    let mut buffer = vec![0; CHUNK];
    let mut size = 0_u64;
    loop {
        go_on()?;
        let length = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StageError::Transient(format!("could not read the manifest {source}: {error}"))),
        };
        size += length as u64;
        if size > LARGEST {
            return Err(StageError::fatal(format!("the manifest {source} is larger than {LARGEST} bytes; split it")));
        }
        file.write_all(buffer.get(..length).unwrap_or_default()).map_err(unwritable)?;
    }
    file.seek(SeekFrom::Start(0)).map_err(unwritable)?;
    Ok(file)
}

/// How manifests are read: what can be read without doubt is read, with a warning.
pub(crate) fn read_options(profile: Option<ManifestProfile>) -> ReadOptions {
    ReadOptions { mode: Mode::Lenient, limits: Limits { bytes: LARGEST, ..Limits::default() }, expected: profile }
}

/// Checks a manifest as a whole, before anything that it names is downloaded: its warnings.
///
/// # Errors
/// It has errors: all of them.
pub(crate) fn check(manifest: &mut File, profile: Option<ManifestProfile>) -> Result<Vec<ItemProblem>, StageError> {
    let options = ValidateOptions { read: read_options(profile), problems: MOST_PROBLEMS, ..ValidateOptions::default() };
    let report = validate(BufReader::new(&mut *manifest), &options)
        .map_err(|error| StageError::Transient(format!("could not read the manifest: {error}")))?;
    manifest.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    let problems: Vec<ItemProblem> = report.problems.iter().map(item_problem).collect();
    if report.errors == 0 {
        return Ok(problems);
    }
    let first = report.problems.iter().find(|problem| problem.severity == Severity::Error);
    let first = first.map(|problem| format!("; first: {}: {}", problem.code, problem.message)).unwrap_or_default();
    Err(StageError::Invalid { note: format!("the manifest is not valid (errors: {}){first}", report.errors), problems })
}

/// A problem of a manifest as a work item keeps it.
fn item_problem(problem: &Problem) -> ItemProblem {
    ItemProblem {
        severity: if problem.severity == Severity::Error { "error" } else { "warning" }.into(),
        code: problem.code.clone(),
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
            number: row.number(),
            line: row.line(),
            url: row.url().to_owned(),
            path: row.file_name().to_owned(),
            size: row.size(),
            checksum: row.checksum(),
            modified: row.text(Column::FileLastModified).and_then(|text| timestamp(&text)),
        }))
    }
}

fn unread(error: impl std::fmt::Display) -> StageError {
    StageError::Transient(format!("could not read the manifest: {error}"))
}

/// A time or a date as a manifest states it; a date is its first instant in UTC.
fn timestamp(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok().or_else(|| {
        let date: jiff::civil::Date = text.parse().ok()?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })
}

/// The bytes that the rows of a manifest state, where every row states them, and how many rows there are.
pub(crate) fn stated(manifest: &mut File) -> Result<(u64, Option<u64>), StageError> {
    let (mut count, mut bytes) = (0, Some(0_u64));
    let mut rows = FileRows::new(manifest)?;
    while let Some(row) = rows.next_row()? {
        count += 1;
        bytes = bytes.zip(row.size).map(|(bytes, size)| bytes.saturating_add(size));
    }
    drop(rows);
    manifest.seek(SeekFrom::Start(0)).map_err(unread)?;
    Ok((count, bytes))
}

/// What a download hands over.
enum Part {
    /// It was opened; the server says how many bytes there are.
    Opened(Option<u64>),
    Bytes(Vec<u8>),
    Failed(StageError),
    /// The connection failed while the bytes were read.
    Broken(io::Error),
    End,
}

/// A file that is downloaded.
pub(crate) struct Downloading {
    pub(crate) row: FileRow,
    parts: Receiver<Part>,
    current: Vec<u8>,
    position: usize,
    has_ended: bool,
}

impl Downloading {
    /// Waits for the answer of the server: the size of the file, where that is known. A file of unknown size that is small is read.
    pub(crate) fn open(&mut self) -> Result<Option<u64>, StageError> {
        match self.parts.recv() {
            Ok(Part::Opened(size)) => Ok(size),
            Ok(Part::Failed(error)) => Err(error),
            _ => Err(StageError::Transient(format!("the download of {} ended early", self.row.url))),
        }
    }
}

impl Read for Downloading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.current.len() && !self.has_ended {
            match self.parts.recv() {
                Ok(Part::Bytes(bytes)) => (self.current, self.position) = (bytes, 0),
                Ok(Part::End) => self.has_ended = true,
                Ok(Part::Broken(error)) => return Err(error),
                Ok(Part::Failed(error)) => return Err(io::Error::other(error.to_string())),
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

fn download(home: &Home, url: &str, to: &SyncSender<Part>) {
    let (size, mut body) = match open_url(home, url) {
        Ok(opened) => opened,
        Err(error) => return drop(to.send(Part::Failed(error))),
    };
    // Nobody waits any more where it cannot be sent.
    if to.send(Part::Opened(size)).is_err() {
        return;
    }
    loop {
        let mut bytes = Vec::with_capacity(CHUNK);
        match (&mut body).take(CHUNK as u64).read_to_end(&mut bytes) {
            Ok(0) => return drop(to.send(Part::End)),
            Ok(_) => {
                if to.send(Part::Bytes(bytes)).is_err() {
                    return;
                }
            }
            Err(error) => return drop(to.send(Part::Broken(error))),
        }
    }
}

/// Downloads the files of a manifest, several at a time, and shows them in the order of their rows. Each download is ahead by at most
/// 1 MiB of what was shown. `wanted` says whether a row is to be downloaded.
pub(crate) fn download_all(
    context: &StageContext<'_>,
    manifest: &mut File,
    wanted: &mut dyn FnMut(&FileRow) -> Result<bool, StageError>,
    show: &mut dyn FnMut(Downloading) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut rows = FileRows::new(manifest)?;
    let home = context.home;
    std::thread::scope(|scope| {
        let mut under_way: VecDeque<Downloading> = VecDeque::new();
        loop {
            while under_way.len() < AT_ONCE {
                context.task.check()?;
                let Some(row) = rows.next_row()? else { break };
                if !wanted(&row)? {
                    continue;
                }
                let (to, parts) = sync_channel(CHUNKS_AHEAD);
                let url = row.url.clone();
                scope.spawn(move || download(home, &url, &to));
                under_way.push_back(Downloading { row, parts, current: Vec::new(), position: 0, has_ended: false });
            }
            match under_way.pop_front() {
                Some(next) => show(next)?,
                None => return Ok(()),
            }
        }
    })
}

/// The options of the row of a batch as far as the manifest states them.
pub(crate) fn algorithm_of(checksum: Checksum, options: &mut DepositOptions) {
    if let Some(algorithm) = checksum.algorithm().computed() {
        options.digest = Some((algorithm, checksum.value().to_hex()));
    }
}
