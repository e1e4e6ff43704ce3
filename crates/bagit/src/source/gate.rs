//! The gate that every entry of a container passes before anyone sees it: names, kinds, duplicates, the one base directory,
//! and the bounds against bombs. It collects what is wrong with the container.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};

use strongroom_archive::{ArchiveError, MemberKind};
use strongroom_listing::Sorter;

use super::{BagFile, Limits, Scan, Serialization, Visitor};
use crate::codes::{self, Rule};
use crate::error::BagError;
use crate::path;
use crate::problem::Problem;
use crate::report::Collector;

/// Below this much unpacked no ratio is too high: small files of zeros are common.
const RATIO_FROM: u64 = 1 << 30;

/// What an entry of a container is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    /// A link, device, FIFO or socket, by the name people know it by.
    Other(&'static str),
}

impl EntryKind {
    /// Of a member of an archive; nothing where what is stored is not its plain bytes.
    pub(crate) fn of(kind: MemberKind) -> Option<Self> {
        match kind {
            MemberKind::File => Some(Self::File),
            MemberKind::Folder => Some(Self::Directory),
            MemberKind::HardLink => Some(Self::Other("a hard link")),
            MemberKind::SymbolicLink => Some(Self::Other("a symbolic link")),
            MemberKind::Device => Some(Self::Other("a device")),
            MemberKind::Fifo => Some(Self::Other("a FIFO")),
            MemberKind::Socket => Some(Self::Other("a socket")),
            MemberKind::Sparse | MemberKind::Unknown(_) => None,
        }
    }
}

/// What became of an entry.
pub(crate) enum Passage {
    /// It may be shown, under this path.
    File(String),
    /// It is to be skipped.
    Skip,
    /// Nothing more is to be read.
    Stop,
}

enum Base {
    Unknown,
    /// The base directory's name with a `/`, or nothing where files lie at the top.
    Named(String),
}

pub(crate) struct Gate {
    serialization: Serialization,
    archive_name: Option<String>,
    base: Base,
    base_directory: Option<String>,
    has_payload_directory: bool,
    problems: Collector,
    truncated: bool,
    files: u64,
    bytes: u64,
    limits: Limits,
    seen: SeenPaths,
    foreign: HashSet<String>,
}

impl Gate {
    pub(crate) fn new(serialization: Serialization, archive_name: Option<String>, limits: &Limits) -> Self {
        Self {
            serialization,
            archive_name,
            base: if serialization == Serialization::Directory { Base::Named(String::new()) } else { Base::Unknown },
            base_directory: None,
            has_payload_directory: false,
            problems: Collector::new(limits),
            truncated: false,
            files: 0,
            bytes: 0,
            limits: limits.clone(),
            seen: SeenPaths::new(limits),
            foreign: HashSet::new(),
        }
    }

    /// Leaves paths as they stand in the container: there is no base directory.
    pub(crate) fn set_plain_paths(&mut self) {
        self.base = Base::Named(String::new());
    }

    /// Bytes of the files let through so far, as the container states them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn set_base_directory(&mut self, name: Option<String>) {
        self.base_directory = name;
    }

    pub(crate) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports that the container cannot be read further.
    pub(crate) fn stop(&mut self, rule: Rule, message: impl Into<String>) {
        self.truncated = true;
        self.problems.push(rule.problem(message));
    }

    /// Reports trouble with reading the container: a stream that ends too early, or damage. Trouble of another kind is not
    /// the container's, and comes back.
    pub(crate) fn stop_for(&mut self, error: io::Error, place: &str) -> Result<(), BagError> {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.stop(codes::ARCHIVE_TRUNCATED, format!("the archive ends in the middle of {place}"));
            }
            io::ErrorKind::FileTooLarge => {
                self.stop(codes::ARCHIVE_BOMB, format!("the archive unpacks to too much, in {place}"));
            }
            // What decompression and our own parsing say of bytes that make no sense.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                self.stop(codes::ARCHIVE_CORRUPT, format!("{place} cannot be read: {error}"));
            }
            _ => return Err(BagError::Stream(error)),
        }
        Ok(())
    }

    /// As [`Gate::stop_for`], for what the reader of an archive says.
    pub(crate) fn stop_for_archive(&mut self, error: ArchiveError) -> Result<(), BagError> {
        match error {
            ArchiveError::Malformed(reason) => self.stop(codes::ARCHIVE_CORRUPT, reason),
            ArchiveError::Truncated(reason) => self.stop(codes::ARCHIVE_TRUNCATED, reason),
            ArchiveError::Conflict(reason) => self.stop(codes::ARCHIVE_SIZE_CONFLICT, reason),
            ArchiveError::Unsupported(reason) => self.stop(codes::ARCHIVE_UNSUPPORTED_ENTRY, reason),
            ArchiveError::Io { place, source } => return self.stop_for(source, &place),
            other => self.stop(codes::ARCHIVE_CORRUPT, other.to_string()),
        }
        Ok(())
    }

    /// Inspects one entry. `raw` is its name in the container.
    pub(crate) fn admit(&mut self, raw: &[u8], kind: EntryKind, size: u64) -> Result<Passage, BagError> {
        if self.files >= self.limits.files {
            self.stop(codes::ARCHIVE_BOMB, format!("there are more than {} files", self.limits.files));
            return Ok(Passage::Stop);
        }
        if let Some(reason) = path::too_long_reason(raw) {
            let start = raw.get(..path::LONGEST_PATH).unwrap_or(raw);
            self.problem(codes::PATH_TOO_LONG.problem(reason).about(path::escape_name(start)));
            return Ok(Passage::Skip);
        }
        let full = path::escape_name(raw);
        let mut name = full.as_str();
        while let Some(rest) = name.strip_prefix("./") {
            name = rest.trim_start_matches('/');
        }
        let name = if kind == EntryKind::File { name } else { name.trim_end_matches('/') };
        if kind == EntryKind::Directory && (name.is_empty() || name == ".") && !full.starts_with('/') {
            return Ok(Passage::Skip);
        }
        if let Some(reason) = path::unsafe_reason(name) {
            self.problem(codes::PATH_UNSAFE.problem(format!("the name of an entry is not safe: {reason}")).about(full));
            return Ok(Passage::Skip);
        }
        let Some(relative) = self.below_base(name, kind) else { return Ok(Passage::Skip) };
        let relative = relative.to_owned();
        // Below the base directory the rules hold anew: `bag/~root/x` must not become `~root/x`.
        if !relative.is_empty()
            && let Some(reason) = path::unsafe_reason(&relative)
        {
            self.problem(codes::PATH_UNSAFE.problem(format!("the path is not safe: {reason}")).about(relative));
            return Ok(Passage::Skip);
        }
        if relative.starts_with("data/") || (relative == "data" && kind == EntryKind::Directory) {
            self.has_payload_directory = true;
        }
        match kind {
            EntryKind::Directory => return Ok(Passage::Skip),
            EntryKind::Other(what) => {
                self.problem(
                    codes::ENTRY_NOT_A_FILE
                        .problem(format!("{what} is no regular file, and is not followed or opened"))
                        .about(relative),
                );
                return Ok(Passage::Skip);
            }
            EntryKind::File => {}
        }
        if self.serialization != Serialization::Directory && self.seen.is_repeated(&relative)? {
            self.problem(codes::ENTRY_DUPLICATE.problem("the archive has this path more than once").about(relative));
            return Ok(Passage::Skip);
        }
        if std::str::from_utf8(raw).is_err() {
            self.problem(
                codes::PATH_NOT_UTF8
                    .problem("the name is not UTF-8; it is shown with its odd bytes escaped")
                    .about(&relative),
            );
        }
        if size > self.limits.bytes - self.bytes.min(self.limits.bytes) {
            self.stop(codes::ARCHIVE_BOMB, format!("the files have more than {} bytes", self.limits.bytes));
            return Ok(Passage::Stop);
        }
        self.files += 1;
        self.bytes += size;
        Ok(Passage::File(relative))
    }

    fn below_base<'n>(&mut self, name: &'n str, kind: EntryKind) -> Option<&'n str> {
        if let Base::Unknown = self.base {
            let base = match name.split_once('/') {
                Some((top, _)) => Some(top),
                None if kind == EntryKind::Directory => Some(name),
                None => None,
            };
            if let Some(top) = base {
                self.base_directory = Some(top.to_owned());
                self.base = Base::Named(format!("{top}/"));
            } else {
                let message = "files are at the top of the archive and not in one base directory";
                self.problem(codes::ARCHIVE_NO_BASE_DIRECTORY.problem(message).about(name));
                self.base = Base::Named(String::new());
            }
        }
        let Base::Named(base) = &self.base else { return None };
        if let Some(relative) = name.strip_prefix(base.as_str()) {
            return Some(relative);
        }
        if base.strip_suffix('/') == Some(name) && kind == EntryKind::Directory {
            return Some("");
        }
        let (top, is_within) = name.split_once('/').map_or((name, false), |(top, _)| (top, true));
        if self.foreign.len() < 1000 && self.foreign.insert(top.to_owned()) {
            let problem = if is_within || kind == EntryKind::Directory {
                let message = format!("the archive has a second top directory beside {:?}", base.trim_end_matches('/'));
                codes::ARCHIVE_SEVERAL_DIRECTORIES.problem(message)
            } else {
                codes::ARCHIVE_NO_BASE_DIRECTORY
                    .problem(format!("a file is at the top of the archive, beside {:?}", base.trim_end_matches('/')))
            };
            self.problem(problem.about(top.to_owned()));
        }
        None
    }

    pub(crate) fn finish(self) -> Result<Scan, BagError> {
        let mut problems = self.problems;
        self.seen.finish(&mut problems)?;
        let problems = problems.finish();
        Ok(Scan {
            base_directory: self.base_directory,
            archive_name: self.archive_name,
            serialization: self.serialization,
            has_payload_directory: self.has_payload_directory,
            problems: problems.problems,
            unlisted: problems.unlisted,
            truncated: self.truncated,
            files: self.files,
            bytes: self.bytes,
        })
    }
}

/// Which paths have been seen, by keyed hashes: in memory up to a bound, and beyond it sorted on disk and inspected when
/// the scan ends.
struct SeenPaths {
    state: RandomState,
    hashes: HashSet<u64>,
    most: usize,
    overflow: Option<Sorter>,
    limits: Limits,
}

impl SeenPaths {
    fn new(limits: &Limits) -> Self {
        // A set of 8-byte hashes takes up to some 20 bytes each while it grows.
        Self {
            state: RandomState::new(),
            hashes: HashSet::new(),
            most: limits.memory / 4 / 20,
            overflow: None,
            limits: limits.clone(),
        }
    }

    fn is_repeated(&mut self, path: &str) -> Result<bool, BagError> {
        let hash = self.state.hash_one(path);
        if self.hashes.len() < self.most {
            return Ok(!self.hashes.insert(hash));
        }
        if self.hashes.contains(&hash) {
            return Ok(true);
        }
        let limits = &self.limits;
        let sorter =
            self.overflow.get_or_insert_with(|| Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref()));
        sorter.push(path.as_bytes(), &[]).map_err(BagError::Spill)?;
        Ok(false)
    }

    fn finish(self, problems: &mut Collector) -> Result<(), BagError> {
        let Some(sorter) = self.overflow else { return Ok(()) };
        let paths = sorter.finish().map_err(BagError::Spill)?;
        let mut last: Option<Vec<u8>> = None;
        for record in paths.iter().map_err(BagError::Spill)? {
            let (path, _) = record.map_err(BagError::Spill)?;
            if last.as_ref() == Some(&path) {
                problems.push(
                    codes::ENTRY_DUPLICATE
                        .problem("the archive has this path more than once")
                        .about(path::escape_name(&path)),
                );
            }
            last = Some(path);
        }
        Ok(())
    }
}

/// Whether what has been unpacked is too much for what it came from.
pub(crate) fn is_out_of_proportion(packed: u64, unpacked: u64, limits: &Limits) -> bool {
    unpacked > limits.bytes || (unpacked > RATIO_FROM && unpacked / packed.max(1) > limits.ratio)
}

/// A reader that remembers whether its source has failed, so that errors of the source are distinguished from errors
/// of the visitor.
pub(crate) struct WatchedReader<R> {
    pub(crate) inner: R,
    pub(crate) failure: Option<io::Error>,
}

impl<R: Read> Read for WatchedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.failure.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
            }
        })
    }
}

/// Shows a file to the visitor. The failure of the source comes back as the inner error, that of the visitor as the outer.
pub(crate) fn show<R: Read>(
    entry: &BagFile,
    reader: R,
    visit: &mut Visitor<'_>,
) -> Result<Result<R, io::Error>, BagError> {
    let mut watched = WatchedReader { inner: reader, failure: None };
    let outcome = visit(entry, &mut watched);
    if let Some(failure) = watched.failure {
        return Ok(Err(failure));
    }
    outcome.map_err(BagError::Visit)?;
    Ok(Ok(watched.inner))
}
