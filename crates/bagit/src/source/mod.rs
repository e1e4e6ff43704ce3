//! Where a bag is read from: a directory, or a tar, tar.gz or zip archive, in one pass and without unpacking.
//!
//! A scan yields regular files with safe names and nothing else; all that is wrong with the container itself becomes a
//! problem. Of BagIt it uses the base directory only.

mod directory;
mod folder;
mod gate;
mod loose;
mod single;
mod tar;
mod zip;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strongroom_archive::{FileSource, SectionReader};
use strongroom_digest::Progress;

use crate::declaration;
use crate::error::BagError;
use crate::manifest::ManifestName;
use crate::problem::{Problem, Unlisted};

pub(crate) use directory::open_member;
pub use directory::open_regular;
pub(crate) use folder::Folder;
use gate::Gate;
pub use loose::LooseFiles;
pub use single::SingleFile;
pub(crate) use zip::member_problem;

/// How a bag is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serialization {
    /// A directory: not serialized.
    Directory,
    /// A tar archive.
    Tar,
    /// A gzip-compressed tar archive.
    TarGz,
    /// A bzip2-compressed tar archive, which is read and never written.
    TarBz2,
    /// A zip archive.
    Zip,
}

impl Serialization {
    /// The MIME type that profiles name; nothing for a directory.
    pub fn mime(self) -> Option<&'static str> {
        match self {
            Self::Directory => None,
            Self::Tar => Some("application/tar"),
            Self::TarGz => Some("application/gzip"),
            Self::TarBz2 => Some("application/x-bzip2"),
            Self::Zip => Some("application/zip"),
        }
    }

    /// Recognises an archive by its first bytes (600 are enough), and where they do not say, by its name.
    pub fn detect(head: &[u8], name: &str) -> Option<Self> {
        let ends_with =
            |extension: &str| name.len() > extension.len() && name.to_ascii_lowercase().ends_with(extension);
        if head.starts_with(&[0x1F, 0x8B]) {
            return Some(Self::TarGz);
        }
        if head.starts_with(b"BZh") {
            return Some(Self::TarBz2);
        }
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            return Some(Self::Zip);
        }
        if strongroom_archive::tar::is_header(head) {
            return Some(Self::Tar);
        }
        if ends_with(".tar") {
            Some(Self::Tar)
        } else if ends_with(".tar.gz") || ends_with(".tgz") {
            Some(Self::TarGz)
        } else if ends_with(".tar.bz2") || ends_with(".tbz2") || ends_with(".tbz") {
            Some(Self::TarBz2)
        } else if ends_with(".zip") {
            Some(Self::Zip)
        } else {
            None
        }
    }
}

/// Bounds that a scan keeps, so that a hostile archive costs no more than a large one.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Most files.
    pub files: u64,
    /// Most bytes of all files together, unpacked.
    pub bytes: u64,
    /// Most bytes that one packed byte may become, once more than 1 GiB has been unpacked.
    pub ratio: u64,
    /// Memory for what grows with the number of files; beyond it goes to temporary files.
    pub memory: usize,
    /// Where temporary files go, if not where the system has them.
    pub temporary_directory: Option<PathBuf>,
    /// Most problems of each severity that are listed; the rest is counted.
    pub problems: usize,
    /// Most bytes, as JSON, of the problems of each severity that are listed.
    pub problem_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 50_000_000,
            bytes: 64 << 40,
            // Text and images come to 20 at most; a whole bag beyond this is zeros.
            ratio: 250,
            memory: 64 << 20,
            temporary_directory: None,
            problems: 10_000,
            problem_bytes: 2 << 20,
        }
    }
}

/// A regular file of a bag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BagFile {
    /// Relative to the bag's base directory, `/` separated; what is not UTF-8 is escaped (see [`crate::escape_name`]).
    pub path: String,
    /// Bytes, as the container states them.
    pub size: u64,
    /// When it was last modified, where the container says.
    pub modified: Option<jiff::Timestamp>,
    /// Where in the archive it lies: the place of its header, or 0.
    pub(crate) location: u64,
}

impl BagFile {
    /// A file of a package that was not read by a scan of this crate.
    pub fn new(path: impl Into<String>, size: u64, modified: Option<jiff::Timestamp>) -> Self {
        Self { path: path.into(), size, modified, location: 0 }
    }
}

/// What a scan found beside the files. It may be kept and checked later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// Name of the bag's base directory, where there is one.
    pub base_directory: Option<String>,
    /// File name of the archive; nothing for a directory.
    pub archive_name: Option<String>,
    /// How the bag is stored.
    pub serialization: Serialization,
    /// Whether there is a directory `data/`, be it empty.
    pub has_payload_directory: bool,
    /// What is wrong with the container and its entries, within the bounds of [`Limits`].
    pub problems: Vec<Problem>,
    /// What was found and is not listed, by code.
    #[serde(default)]
    pub unlisted: Vec<Unlisted>,
    /// Whether the container could not be read to its end: it is truncated, damaged, or beyond the limits.
    pub truncated: bool,
    /// Regular files seen.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Scan {
    /// So many files with so many bytes that were in no container, and of which nothing is wrong.
    pub fn of_loose_files(files: u64, bytes: u64) -> Self {
        Self {
            base_directory: None,
            archive_name: None,
            serialization: Serialization::Directory,
            has_payload_directory: false,
            problems: Vec::new(),
            unlisted: Vec::new(),
            truncated: false,
            files,
            bytes,
        }
    }
}

/// A callback that is shown each file and may read it.
pub type Visitor<'v> = &'v mut dyn FnMut(&BagFile, &mut dyn Read) -> io::Result<()>;

/// A bag that can be scanned.
pub struct Source {
    input: Input,
    serialization: Serialization,
    archive_name: Option<String>,
    /// Whether paths are those of the container itself, with no base directory.
    has_plain_paths: bool,
}

enum Input {
    Directory { folder: Folder, name: Option<String> },
    Single { file: SingleFile, body: Box<dyn Read + Send> },
    File(File),
    Stream(Box<dyn Read + Send>),
    Loose { name: String, files: Box<dyn LooseFiles> },
}

impl Source {
    /// Opens a directory or an archive, which is recognised by its first bytes and then by its name.
    pub fn open(path: &Path) -> Result<Self, BagError> {
        let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BagError::NotFound { path: path.to_owned() },
            _ => BagError::io("inspect", path, error),
        })?;
        if metadata.is_dir() {
            let folder = Folder::open(path).map_err(|error| BagError::io("open", path, error))?;
            return Ok(Self {
                input: Input::Directory { folder, name: directory::name_of(path) },
                serialization: Serialization::Directory,
                archive_name: None,
                has_plain_paths: false,
            });
        }
        if !metadata.is_file() {
            return Err(BagError::UnknownSerialization { path: path.to_owned() });
        }
        let mut file = directory::open_regular(path).map_err(|error| BagError::io("open", path, error))?;
        let mut head = Vec::with_capacity(600);
        (&mut file).take(600).read_to_end(&mut head).map_err(|error| BagError::io("read", path, error))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| BagError::io("read", path, error))?;
        let name = path.file_name().map(|name| crate::path::escape_name(name.as_encoded_bytes()));
        let serialization = Serialization::detect(&head, name.as_deref().unwrap_or_default())
            .ok_or_else(|| BagError::UnknownSerialization { path: path.to_owned() })?;
        Ok(Self { input: Input::File(file), serialization, archive_name: name, has_plain_paths: false })
    }

    /// Reads an archive from a stream. A zip archive is put into a temporary file first, since its directory is at its end.
    pub fn from_stream(
        stream: Box<dyn Read + Send>,
        serialization: Serialization,
        archive_name: Option<String>,
    ) -> Self {
        Self { input: Input::Stream(stream), serialization, archive_name, has_plain_paths: false }
    }

    /// Reads a bag whose files lie one by one in some place; `name` is what its directory would be called.
    pub fn from_loose_files(name: impl Into<String>, files: Box<dyn LooseFiles>) -> Self {
        let input = Input::Loose { name: name.into(), files };
        Self { input, serialization: Serialization::Directory, archive_name: None, has_plain_paths: false }
    }

    /// One file of a file system by itself: a package that is no bag. The last part of its path is its name; links are followed.
    pub fn open_single(path: &Path) -> Result<Self, BagError> {
        let file = directory::open_regular(path).map_err(|error| BagError::io("open", path, error))?;
        let metadata = file.metadata().map_err(|error| BagError::io("read", path, error))?;
        let name = path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
        let modified = metadata.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok());
        Ok(Self::single(SingleFile { name, size: Some(metadata.len()), modified }, Box::new(file)))
    }

    /// One file by itself, from a stream. Where its size is not known it is put into a temporary file first.
    pub fn single(file: SingleFile, body: Box<dyn Read + Send>) -> Self {
        Self {
            input: Input::Single { file, body },
            serialization: Serialization::Directory,
            archive_name: None,
            has_plain_paths: true,
        }
    }

    /// The same file under another name; any other source as it is.
    #[must_use]
    pub fn named(mut self, name: &[u8]) -> Self {
        if let Input::Single { file, .. } = &mut self.input {
            name.clone_into(&mut file.name);
        }
        self
    }

    /// The same container, read as one that is no bag: its paths are as they stand in it, with no base directory.
    #[must_use]
    pub fn with_plain_paths(mut self) -> Self {
        self.has_plain_paths = true;
        self
    }

    /// How the bag is stored.
    pub fn serialization(&self) -> Serialization {
        self.serialization
    }

    /// An archive that can only be read in order, so that its bytes are counted as they lie there, packed; any other source as it
    /// is. They are all that there is to read.
    pub(crate) fn counted(self, progress: &Progress) -> io::Result<Self> {
        match (self.input, self.serialization) {
            (Input::File(file), Serialization::TarGz | Serialization::TarBz2) => {
                progress.set_expected(0, file.metadata()?.len());
                Ok(Self { input: Input::Stream(Box::new(progress.counting(file))), ..self })
            }
            (input, _) => Ok(Self { input, ..self }),
        }
    }

    /// Whether this is a folder that has neither a declaration nor a manifest, by the names at its top: no bag.
    pub(crate) fn is_folder_of_no_bag(&self) -> io::Result<bool> {
        let Input::Directory { folder, .. } = &self.input else { return Ok(false) };
        for entry in folder.list(b"")?.entries {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && (name == declaration::FILE || ManifestName::parse(name).is_some())
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// File name of the archive; nothing for a directory.
    pub fn archive_name(&self) -> Option<&str> {
        self.archive_name.as_deref()
    }

    /// Opens the members of the same folder or archive; nothing for a container that can only be read in order.
    pub(crate) fn members(&self) -> io::Result<Option<Members>> {
        Ok(match (&self.input, self.serialization) {
            (Input::Directory { folder, .. }, _) => Some(Members::Directory(folder.try_clone()?)),
            (Input::File(file), Serialization::Tar) => Some(Members::Tar(FileSource::new(file.try_clone()?)?)),
            (Input::File(file), Serialization::Zip) => Some(Members::Zip(FileSource::new(file.try_clone()?)?)),
            _ => None,
        })
    }

    /// Puts a zip archive that comes as a stream into a temporary file, since its directory is at its end; any other source
    /// stays as it is. `allow` gets the number of bytes of the file before they are written, and may refuse;
    /// its error comes back as [`BagError::Visit`].
    pub fn spooled(self, limits: &Limits, allow: &mut dyn FnMut(u64) -> io::Result<()>) -> Result<Self, BagError> {
        match (self.input, self.serialization) {
            (Input::Stream(stream), Serialization::Zip) => {
                Ok(Self { input: Input::File(staged(stream, limits, allow)?), ..self })
            }
            (Input::Single { file: SingleFile { size: None, name, modified }, body }, _) => {
                let body = staged(body, limits, allow)?;
                let size = Some(body.metadata().map_err(BagError::Spill)?.len());
                let file = SingleFile { name, size, modified };
                Ok(Self { input: Input::Single { file, body: Box::new(body) }, ..self })
            }
            (input, _) => Ok(Self { input, ..self }),
        }
    }

    /// Shows every file to the visitor, in one pass: archives in their own order, directories by name. A visitor that
    /// returns without reading skips the file, which costs nothing where the source can seek. An error of the visitor ends
    /// the scan and comes back as [`BagError::Visit`]; damage to the container is a problem of the scan and no error.
    pub fn scan(self, limits: &Limits, visit: Visitor<'_>) -> Result<Scan, BagError> {
        let has_plain_paths = self.has_plain_paths;
        let source = self.spooled(limits, &mut |_| Ok(()))?;
        let mut gate = Gate::new(source.serialization, source.archive_name, limits);
        if has_plain_paths {
            gate.set_plain_paths();
        }
        match (source.input, source.serialization) {
            (Input::Single { file, body }, _) => single::scan(&file, body, &mut gate, visit)?,
            (Input::Directory { folder, name }, _) if has_plain_paths => {
                drop(name);
                directory::scan(&folder, &mut gate, visit)?;
            }
            (Input::Directory { folder, name }, _) => {
                gate.set_base_directory(name);
                directory::scan(&folder, &mut gate, visit)?;
            }
            (Input::Loose { name, files }, _) => {
                gate.set_base_directory(Some(name));
                loose::scan(files.as_ref(), &mut gate, visit)?;
            }
            (Input::File(file), Serialization::Zip) => zip::scan(file, &mut gate, visit)?,
            (Input::File(file), Serialization::TarGz) => tar::scan_gzip(Box::new(file), &mut gate, visit)?,
            (Input::File(file), Serialization::TarBz2) => tar::scan_bzip2(Box::new(file), &mut gate, visit)?,
            (Input::File(file), _) => tar::scan_file(file, &mut gate, visit)?,
            (Input::Stream(stream), Serialization::TarGz) => tar::scan_gzip(stream, &mut gate, visit)?,
            (Input::Stream(stream), Serialization::TarBz2) => tar::scan_bzip2(stream, &mut gate, visit)?,
            (Input::Stream(stream), _) => tar::scan_stream(stream, &mut gate, visit)?,
        }
        gate.finish()
    }
}

fn staged(
    mut stream: Box<dyn Read + Send>,
    limits: &Limits,
    allow: &mut dyn FnMut(u64) -> io::Result<()>,
) -> Result<File, BagError> {
    let mut file = match &limits.temporary_directory {
        Some(directory) => tempfile::tempfile_in(directory),
        None => tempfile::tempfile(),
    }
    .map_err(BagError::Spill)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut bytes = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                bytes += length as u64;
                allow(bytes).map_err(BagError::Visit)?;
                io::Write::write_all(&mut file, &buffer[..length]).map_err(BagError::Spill)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(BagError::Stream(error)),
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(BagError::Spill)?;
    Ok(file)
}

/// Opens single members again, from any thread.
pub(crate) enum Members {
    Directory(Folder),
    Tar(FileSource),
    Zip(FileSource),
}

impl Members {
    /// The bytes of a member that a scan has shown.
    pub(crate) fn read(&self, entry: &BagFile) -> io::Result<Box<dyn Read + Send + '_>> {
        match self {
            Self::Directory(base) => Ok(Box::new(directory::open_member(base, &entry.path)?)),
            Self::Tar(file) => Ok(Box::new(SectionReader::new(file, entry.location, entry.size))),
            Self::Zip(file) => zip::open_member(file, entry.location),
        }
    }
}
