//! Writing bags of BagIt 1.0: [`BagWriter`] takes files one by one, [`create`] bags a directory.
//!
//! Each byte is read once and hashed by every algorithm on its way. Memory does not grow with the number of files, equal
//! input gives equal bytes, and a target appears whole or not at all.

mod bagger;
mod codes;
mod error;
mod in_place;
mod listing;
mod names;
mod planned;
mod sink;
mod tags;
mod tar;
mod target;
mod zip;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use strongroom_digest::{Algorithm, DigestSet, MultiHasher, Progress};

pub use bagger::{BagOptions, check_names, create, create_in_place};
pub(crate) use codes::CODES;
pub use error::{LeftOver, WriteError};
pub use names::{NamePolicy, Reaction};
pub use planned::read_tags;

use crate::manifest::{ManifestKind, ManifestName};
use crate::path::unsafe_reason;
use crate::{Problem, Serialization, Severity};
use listing::Listing;
use names::Names;
use sink::{FileHeader, Gzip, Output, Sink, Stream};

/// Bytes read at once.
const BUFFER: usize = 256 << 10;
/// Warnings kept for the summary; further ones are counted.
const WARNINGS_KEPT: usize = 1_000;
const DEFAULT_MEMORY: usize = 32 << 20;

/// How a bag is written.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Algorithms of the manifests and tag manifests; at least one. SHA-512 by default.
    pub algorithms: Vec<Algorithm>,
    /// Name of the one directory at the top of an archive. Where absent, an archive file's name without its extension;
    /// a stream needs it.
    pub base_directory: Option<String>,
    /// Modification time of what the writer makes itself (manifests, directories), and of files added without one.
    pub timestamp: SystemTime,
    /// What to do about colliding names.
    pub names: NamePolicy,
    /// Bytes of memory for what grows with the number of files; beyond, it goes to temporary files.
    pub memory_limit: usize,
    /// Where temporary files go, if not where the system has them.
    pub temporary_directory: Option<PathBuf>,
    /// Becomes true when the writing must stop, such as by a handler of signals. It then ends with
    /// [`WriteError::Interrupted`] and leaves nothing behind.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Counts what is written, and for [`super::create`] and [`super::create_in_place`] what there is to write.
    pub progress: Progress,
}

impl WriterOptions {
    /// Fails where the writing must stop.
    fn check_interrupt(&self) -> Result<(), WriteError> {
        match &self.interrupt {
            Some(interrupt) if interrupt.load(Ordering::Relaxed) => Err(WriteError::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            algorithms: vec![Algorithm::Sha512],
            base_directory: None,
            timestamp: SystemTime::now(),
            names: NamePolicy::default(),
            memory_limit: DEFAULT_MEMORY,
            temporary_directory: None,
            interrupt: None,
            progress: Progress::default(),
        }
    }
}

/// A file on its way into a bag.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    path: &'a str,
    size: u64,
    modified: Option<SystemTime>,
    expected: Option<&'a DigestSet>,
}

impl<'a> NewFile<'a> {
    /// A file at `path` (relative to the bag, with `/`) of `size` bytes.
    pub fn new(path: &'a str, size: u64) -> Self {
        Self { path, size, modified: None, expected: None }
    }

    /// Gives its modification time.
    #[must_use]
    pub fn modified(mut self, time: SystemTime) -> Self {
        self.modified = Some(time);
        self
    }

    /// Gives digests it must have; those of algorithms without a manifest are computed for it too.
    #[must_use]
    pub fn expecting(mut self, digests: &'a DigestSet) -> Self {
        self.expected = Some(digests);
        self
    }
}

/// A bag that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenBag {
    /// Files in `data/`.
    pub payload_files: u64,
    /// Bytes in `data/`.
    pub payload_bytes: u64,
    /// Files outside `data/`, manifests included.
    pub tag_files: u64,
    /// What deserves a look, up to a limit.
    pub warnings: Vec<Problem>,
    /// How many warnings went beyond the limit.
    pub more_warnings: u64,
}

/// Writes one bag, file by file.
///
/// Paths are relative to the bag. Nothing is seen at the target before [`BagWriter::finish`] has returned; a writer that is
/// dropped leaves nothing. A stream of the caller's own has of course received what was written so far.
///
/// ```
/// use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
///
/// let mut archive = Vec::new();
/// let options = WriterOptions { base_directory: Some("letters".to_owned()), ..WriterOptions::default() };
/// let mut writer = BagWriter::to_writer(&mut archive, Serialization::Tar, options)?;
/// writer.add_payload(&NewFile::new("data/1.txt", 5), "Dear ".as_bytes())?;
/// let written = writer.finish(&[("Source-Organization".to_owned(), "example.edu".to_owned())])?;
/// assert_eq!(written.payload_bytes, 5);
/// # Ok::<(), strongroom_bagit::WriteError>(())
/// ```
pub struct BagWriter<'w> {
    sink: Box<dyn Sink + 'w>,
    options: WriterOptions,
    payload: Listing,
    tag_files: Listing,
    names: Names,
    written: WrittenBag,
    /// Files at the top that the writer would make itself, but that were added verbatim or made already.
    made: Vec<String>,
    is_broken: bool,
    buffer: Vec<u8>,
}

impl<'w> BagWriter<'w> {
    /// Begins a bag at `target`, which must not exist.
    pub fn create(target: &Path, form: Serialization, options: WriterOptions) -> Result<Self, WriteError> {
        check_algorithms(&options)?;
        check_form(form)?;
        if form == Serialization::Directory {
            let sink = target::DirectoryTarget::create(target)?;
            return Ok(Self::over(Box::new(sink), options));
        }
        let base_directory = match &options.base_directory {
            Some(name) => name.clone(),
            None => archive_stem(target)?,
        };
        check_base_directory(&base_directory)?;
        let output = target::FileTarget::create(target)?;
        Self::archive(Box::new(output), form, &base_directory, options)
            .map_err(|error| WriteError::io("write", target, error))
    }

    /// Begins an archive on a stream. `form` must not be a directory, and the options must name the base directory.
    pub fn to_writer(
        stream: impl Write + Send + 'w,
        form: Serialization,
        options: WriterOptions,
    ) -> Result<Self, WriteError> {
        check_algorithms(&options)?;
        check_form(form)?;
        if form == Serialization::Directory {
            return Err(WriteError::Options { reason: "a stream cannot hold a directory" });
        }
        let Some(base_directory) = options.base_directory.clone() else {
            return Err(WriteError::Options { reason: "a bag on a stream needs a base directory name" });
        };
        check_base_directory(&base_directory)?;
        Self::archive(Box::new(Stream(stream)), form, &base_directory, options).map_err(WriteError::Finish)
    }

    /// Begins a bag of which the payload lies in a directory already ([`create_in_place`]).
    fn in_place(directory: &Path, options: WriterOptions) -> Result<Self, WriteError> {
        check_algorithms(&options)?;
        let sink = in_place::InPlaceTarget::create(directory, options.interrupt.clone())?;
        Ok(Self::over(Box::new(sink), options))
    }

    fn archive(
        output: Box<dyn Output + 'w>,
        form: Serialization,
        base_directory: &str,
        options: WriterOptions,
    ) -> io::Result<Self> {
        let modified = options.timestamp;
        let sink: Box<dyn Sink + 'w> = match form {
            Serialization::Zip => Box::new(zip::ZipSink::new(output, base_directory, modified)?),
            Serialization::TarGz => Box::new(tar::TarSink::new(Box::new(Gzip::new(output)), base_directory, modified)?),
            Serialization::Tar | Serialization::TarBz2 | Serialization::Directory => {
                Box::new(tar::TarSink::new(output, base_directory, modified)?)
            }
        };
        Ok(Self::over(sink, options))
    }

    fn over(sink: Box<dyn Sink + 'w>, mut options: WriterOptions) -> Self {
        options.algorithms.sort_unstable();
        options.algorithms.dedup();
        // Most of the memory for the digests; the rest for the names twice over, and for the tag files.
        let (memory, directory) = (options.memory_limit, options.temporary_directory.as_deref());
        Self {
            sink,
            payload: Listing::new(&options.algorithms, memory / 2, directory),
            tag_files: Listing::new(&options.algorithms, memory / 8, directory),
            names: Names::new(options.names, memory / 4, directory),
            written: WrittenBag {
                payload_files: 0,
                payload_bytes: 0,
                tag_files: 0,
                warnings: Vec::new(),
                more_warnings: 0,
            },
            made: Vec::new(),
            is_broken: false,
            buffer: vec![0; BUFFER],
            options,
        }
    }

    /// Adds a file of the payload; its path begins with `data/`. Returns its digests.
    pub fn add_payload(&mut self, file: &NewFile<'_>, reader: impl Read) -> Result<DigestSet, WriteError> {
        check_path(file.path)?;
        if !file.path.starts_with("data/") {
            return Err(path_error(file.path, "the payload belongs in data/"));
        }
        self.declare()?;
        let digests = self.put(file, reader)?;
        self.payload.add(file.path, &digests).map_err(WriteError::Spill)?;
        self.written.payload_files += 1;
        self.written.payload_bytes += file.size;
        Ok(digests)
    }

    /// Adds a tag file of the caller's, anywhere outside `data/`, but none that the writer makes itself.
    pub fn add_tag_file(&mut self, file: &NewFile<'_>, reader: impl Read) -> Result<DigestSet, WriteError> {
        check_tag_path(file.path)?;
        if is_special(file.path) {
            return Err(path_error(file.path, "the name belongs to a file that BagIt defines"));
        }
        self.declare()?;
        self.put_tag_file(file, reader)
    }

    /// Adds a file that BagIt defines (`bagit.txt`, `bag-info.txt`, `fetch.txt`, a manifest, a tag manifest) as it is; the
    /// writer then does not make its own. This gives a bag back byte for byte. A `bagit.txt` must come before any other
    /// file; whether manifests are true is the caller's business.
    pub fn add_verbatim(&mut self, file: &NewFile<'_>, reader: impl Read) -> Result<DigestSet, WriteError> {
        check_tag_path(file.path)?;
        if !is_special(file.path) {
            return Err(path_error(file.path, "the name does not belong to a file that BagIt defines"));
        }
        if self.made.iter().any(|made| made == file.path) {
            return Err(WriteError::Duplicate { path: file.path.to_owned() });
        }
        self.made.push(file.path.to_owned());
        if file.path != "bagit.txt" {
            self.declare()?;
        }
        self.put_tag_file(file, reader)
    }

    /// Adds `bag-info.txt` with these tags in this order, then the manifests and tag manifests, and puts the bag in its
    /// place. `Payload-Oxum` is always the writer's own; `Bagging-Date` and `Bag-Software-Agent` are added where absent.
    pub fn finish(mut self, bag_info: &[(String, String)]) -> Result<WrittenBag, WriteError> {
        if self.is_broken {
            return Err(WriteError::Broken);
        }
        self.declare()?;
        self.put_bag_info(bag_info)?;
        self.judge_names()?;
        self.options.check_interrupt()?;
        let payload = std::mem::replace(&mut self.payload, Listing::new(&[], 0, None)).finish()?;
        for algorithm in self.options.algorithms.clone() {
            let path = format!("manifest-{algorithm}.txt");
            if !self.made.contains(&path) {
                let text = payload.manifest(algorithm).map_err(WriteError::Spill)?;
                self.put_tag_file(&NewFile::new(&path, payload.manifest_length(algorithm)), text)?;
            }
        }
        drop(payload);
        let tag_files = std::mem::replace(&mut self.tag_files, Listing::new(&[], 0, None)).finish()?;
        for algorithm in self.options.algorithms.clone() {
            let path = format!("tagmanifest-{algorithm}.txt");
            if !self.made.contains(&path) {
                let text = tag_files.manifest(algorithm).map_err(WriteError::Spill)?;
                self.put_tag_file(&NewFile::new(&path, tag_files.manifest_length(algorithm)), text)?;
            }
        }
        self.options.check_interrupt()?;
        self.sink.finish().map_err(|error| match self.options.check_interrupt() {
            Err(interrupted) if error.kind() == io::ErrorKind::Interrupted => interrupted,
            _ => error.downcast::<WriteError>().unwrap_or_else(WriteError::Finish),
        })?;
        Ok(self.written)
    }

    /// Puts the bag in its place as it was given, with nothing made by the writer but a `bagit.txt` where there was none:
    /// for giving a bag back byte for byte, with whatever manifests and tags it had.
    pub fn finish_as_given(mut self) -> Result<WrittenBag, WriteError> {
        if self.is_broken {
            return Err(WriteError::Broken);
        }
        self.declare()?;
        self.judge_names()?;
        self.sink.finish().map_err(WriteError::Finish)?;
        Ok(self.written)
    }

    /// Writes the declaration, unless it is there.
    fn declare(&mut self) -> Result<(), WriteError> {
        const PATH: &str = "bagit.txt";
        if self.made.iter().any(|made| made == PATH) {
            return Ok(());
        }
        self.made.push(PATH.to_owned());
        let text = tags::DECLARATION.as_bytes();
        self.put_tag_file(&NewFile::new(PATH, text.len() as u64), text)?;
        Ok(())
    }

    fn put_bag_info(&mut self, given: &[(String, String)]) -> Result<(), WriteError> {
        const PATH: &str = "bag-info.txt";
        if self.made.iter().any(|made| made == PATH) {
            return if given.is_empty() { Ok(()) } else { Err(WriteError::Duplicate { path: PATH.to_owned() }) };
        }
        let (files, bytes) = (self.written.payload_files, self.written.payload_bytes);
        let tags = tags::completed(given, self.options.timestamp, files, bytes);
        let text = tags::bag_info(&tags)?;
        self.put_tag_file(&NewFile::new(PATH, text.len() as u64), text.as_bytes())?;
        Ok(())
    }

    fn judge_names(&mut self) -> Result<(), WriteError> {
        let names = std::mem::replace(&mut self.names, Names::new(NamePolicy::ACCEPT, 0, None));
        let written = &mut self.written;
        let mut refused = None;
        let mut report = |problem: Problem| {
            if problem.severity == Severity::Error {
                refused.get_or_insert(problem);
            } else if written.warnings.len() < WARNINGS_KEPT {
                written.warnings.push(problem);
            } else {
                written.more_warnings += 1;
            }
        };
        names.finish(&mut report).map_err(WriteError::Spill)?;
        match refused {
            None => Ok(()),
            Some(problem) => Err(WriteError::Path {
                path: problem.path.unwrap_or_default(),
                reason: if problem.code == codes::NAME_CASE {
                    "another path differs only in letter case"
                } else {
                    "another path differs only in Unicode normal form"
                },
            }),
        }
    }

    fn put_tag_file(&mut self, file: &NewFile<'_>, reader: impl Read) -> Result<DigestSet, WriteError> {
        let digests = self.put(file, reader)?;
        self.written.tag_files += 1;
        // No tag manifest lists one (RFC 8493 section 2.2.1).
        if ManifestName::parse(file.path).is_none_or(|name| name.kind != ManifestKind::Tag) {
            self.tag_files.add(file.path, &digests).map_err(WriteError::Spill)?;
        }
        Ok(digests)
    }

    /// Writes one file. What fails halfway leaves a bag that cannot be finished.
    fn put(&mut self, file: &NewFile<'_>, reader: impl Read) -> Result<DigestSet, WriteError> {
        if self.is_broken {
            return Err(WriteError::Broken);
        }
        self.is_broken = true;
        let digests = self.copy(file, reader)?;
        self.names.add(file.path).map_err(WriteError::Spill)?;
        self.is_broken = false;
        Ok(digests)
    }

    fn copy(&mut self, file: &NewFile<'_>, mut reader: impl Read) -> Result<DigestSet, WriteError> {
        let to_write = |source| WriteError::Write { path: file.path.to_owned(), source };
        let mut algorithms = self.options.algorithms.clone();
        algorithms.extend(file.expected.into_iter().flat_map(DigestSet::iter).map(|(algorithm, _)| algorithm));
        let mut hasher = MultiHasher::new(&algorithms);
        let modified = file.modified.unwrap_or(self.options.timestamp);
        self.sink.begin(&FileHeader { path: file.path, size: file.size, modified }).map_err(to_write)?;
        loop {
            self.options.check_interrupt()?;
            let bytes = match reader.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) => self.buffer.get(..length).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(WriteError::Read { path: file.path.to_owned(), source }),
            };
            hasher.update(bytes);
            if hasher.length() > file.size {
                break;
            }
            self.sink.write(bytes).map_err(to_write)?;
            self.options.progress.add_bytes(bytes.len() as u64);
        }
        if hasher.length() != file.size {
            return Err(WriteError::Size { path: file.path.to_owned(), announced: file.size, found: hasher.length() });
        }
        let digests = hasher.finish();
        for (algorithm, expected) in file.expected.into_iter().flat_map(DigestSet::iter) {
            if let Some(found) = digests.get(algorithm).filter(|found| *found != expected) {
                let (expected, found) = (Box::new(expected), Box::new(found));
                return Err(WriteError::Digest { path: file.path.to_owned(), algorithm, expected, found });
            }
        }
        self.sink.end().map_err(to_write)?;
        self.options.progress.add_file();
        Ok(digests)
    }
}

impl std::fmt::Debug for BagWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BagWriter")
            .field("options", &self.options)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

/// A file at the top of a bag that BagIt defines (RFC 8493 section 2).
fn is_special(path: &str) -> bool {
    matches!(path, "bagit.txt" | "bag-info.txt" | "fetch.txt") || ManifestName::parse(path).is_some()
}

fn path_error(path: &str, reason: &'static str) -> WriteError {
    WriteError::Path { path: path.to_owned(), reason }
}

fn check_path(path: &str) -> Result<(), WriteError> {
    match unsafe_reason(path) {
        Some(reason) => Err(path_error(path, reason)),
        None if path.ends_with('/') => Err(path_error(path, "it ends with a separator")),
        None => Ok(()),
    }
}

fn check_tag_path(path: &str) -> Result<(), WriteError> {
    check_path(path)?;
    if path == "data" || path.starts_with("data/") {
        return Err(path_error(path, "data/ is for the payload"));
    }
    Ok(())
}

fn check_algorithms(options: &WriterOptions) -> Result<(), WriteError> {
    if options.algorithms.is_empty() {
        return Err(WriteError::Options { reason: "a bag needs a manifest, so at least one algorithm" });
    }
    Ok(())
}

fn check_form(form: Serialization) -> Result<(), WriteError> {
    if form == Serialization::TarBz2 {
        return Err(WriteError::Options { reason: "archives compressed by bzip2 are read and not written" });
    }
    Ok(())
}

fn check_base_directory(name: &str) -> Result<(), WriteError> {
    check_path(name)?;
    if name.contains('/') {
        return Err(path_error(name, "a base directory is one directory"));
    }
    Ok(())
}

/// An archive's file name without its extension.
fn archive_stem(target: &Path) -> Result<String, WriteError> {
    let Some(name) = target.file_name().and_then(|name| name.to_str()) else {
        return Err(WriteError::Options {
            reason: "the target's name is not UTF-8, so the base directory needs a name",
        });
    };
    let stem = [".tar.gz", ".tgz", ".tar", ".zip"].into_iter().find_map(|extension| name.strip_suffix(extension));
    Ok(stem.filter(|stem| !stem.is_empty()).unwrap_or(name).to_owned())
}
