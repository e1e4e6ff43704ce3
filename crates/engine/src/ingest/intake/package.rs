//! Where a package lies: a path of the server, a URL or a key of a receiving store, with its size and an etag that changes
//! when its bytes may have changed.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use strongroom_bagit::{BagError, Limits, Scan, SingleFile, Source, Visitor};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_registry::{DocumentId, documents};
use url::Url;

use super::web::{self, DownloadFailure};
use crate::EngineError;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::kind::{self, DepositKind, Misfit};
use crate::ingest::stages::package::problem;
use crate::receiving::ReceivingKey;
use crate::workflow::{StageContext, StageError};

/// Where the package of a deposit lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageSource {
    /// A file or folder of the server, which is only read. Only for actors of the whole installation.
    LocalPath(PathBuf),
    /// A file at a web server.
    Url(Url),
    /// A key of a receiving store. Only the scan of that store makes one.
    ReceivingKey(ReceivingKey),
    /// A harvested document, which is in the registry. Only the agent deposit makes one.
    Document(DocumentId),
}

/// What a document as a source begins with. A path as a work item keeps it is absolute, and never begins so.
const DOCUMENT: &str = "document:";

/// A source as a work item keeps it.
impl fmt::Display for PackageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalPath(path) => path.display().fmt(f),
            Self::Url(url) => url.fmt(f),
            Self::ReceivingKey(key) => key.fmt(f),
            Self::Document(id) => write!(f, "{DOCUMENT}{id}"),
        }
    }
}

/// What is known of a package before it is read.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Changes whenever the bytes may have changed.
    pub(crate) etag: String,
    /// Bytes as they lie there, packed or not; unknown for servers that do not say.
    pub(crate) size: Option<u64>,
}

impl PackageSource {
    /// Parses a source as a depositor writes it: a URL begins with `http://` or `https://`, everything else is a path.
    ///
    /// # Errors
    /// The text begins as a URL and is none, or is one of another scheme.
    pub fn parse(source: &str) -> Result<Self, EngineError> {
        if source.starts_with("http://") || source.starts_with("https://") {
            let url = Url::parse(source);
            return url.map(Self::Url).map_err(|error| {
                EngineError::Usage(format!("{source:?} is not a URL: {error}"))
                    .next("give a path, or a URL with http or https")
            });
        }
        // A path that looks like a URL is given with what stands before it, such as `./`.
        if let Some((scheme, _)) = source.split_once("://")
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        {
            return Err(EngineError::Usage(format!("{source:?} cannot be fetched: only http and https URLs are"))
                .next("give a path, or a URL with http or https"));
        }
        Ok(Self::LocalPath(PathBuf::from(source)))
    }

    /// Parses a source as a work item keeps it.
    pub(crate) fn kept(source: &str) -> Result<Self, EngineError> {
        if let Some(id) = source.strip_prefix(DOCUMENT).and_then(|id| id.parse().ok()) {
            return Ok(Self::Document(id));
        }
        ReceivingKey::parse(source).map_or_else(|| Self::parse(source), |upload| Ok(Self::ReceivingKey(upload)))
    }

    /// The last name of the path or URL.
    pub(crate) fn file_name(&self) -> Option<String> {
        match self {
            Self::LocalPath(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::Url(url) => url_file_name(url),
            Self::ReceivingKey(upload) => Some(upload.file_name().to_owned()),
            Self::Document(_) => None,
        }
    }

    /// Finds the package, without reading it.
    pub(crate) fn locate(&self, context: &StageContext<'_>) -> Result<Located, StageError> {
        match self {
            Self::LocalPath(path) => locate_path(path),
            Self::Url(url) => web::locate(context, url),
            Self::Document(id) => match context.registry().read(|tx| documents::size(tx, *id))? {
                Some(size) => Ok(Located { etag: id.to_string(), size: Some(size) }),
                None => Err(document_gone(*id)),
            },
            Self::ReceivingKey(upload) => match upload.look(context.home)? {
                Some(seen) => Ok(Located { etag: seen.etag, size: Some(seen.size) }),
                None => Err(StageError::Withdrawn(format!("{upload} is gone"))),
            },
        }
    }

    /// Refuses what is no package of this type, without opening it: what is neither a file nor a folder, and one of them where the
    /// other was stated.
    pub(crate) fn check_fits(&self, kind: DepositKind) -> Result<(), StageError> {
        let misfit = match self {
            Self::LocalPath(path) => kind::misfit(path, kind).map_err(|error| unreadable(path, &error))?,
            Self::Url(url) if kind == DepositKind::Folder => Some(Misfit::of_folder_url(url)),
            Self::Url(_) | Self::ReceivingKey(_) | Self::Document(_) => None,
        };
        misfit.map_or(Ok(()), |Misfit { code, message }| {
            let problem = problem("error", code, None, message);
            let note = format!("the package cannot be deposited{}", problem.in_note());
            Err(StageError::Invalid { note, problems: vec![problem] })
        })
    }

    /// Opens the package to be read once.
    pub(crate) fn open(&self, context: &StageContext<'_>, options: &DepositOptions) -> Result<OpenPackage, StageError> {
        let source = match (self, options.kind()) {
            (Self::LocalPath(path), DepositKind::File) => {
                let source = Source::open_single(path).map_err(bag_trouble)?;
                let source = match &options.file_name {
                    Some(name) => source.named(name.as_bytes()),
                    None => source,
                };
                return Ok(OpenPackage { source, failure: None, has_unproved_end: None });
            }
            (Self::LocalPath(path), DepositKind::Container) => Source::open(path).map_err(no_container)?,
            (Self::LocalPath(path), _) => Source::open(path).map_err(bag_trouble)?,
            (Self::Url(url), _) => return web::open(context, url, options),
            (Self::Document(id), _) => return open_document(context, *id, options),
            (Self::ReceivingKey(upload), _) => upload
                .open(context.home)?
                .ok_or_else(|| StageError::fatal(format!("{upload} is neither a tar, tar.gz, tgz nor zip archive")))?,
        };
        let source = if options.kind() == DepositKind::Bag { source } else { source.with_plain_paths() };
        Ok(OpenPackage { source, failure: None, has_unproved_end: None })
    }

    /// What the package is, for one that was not recognized when it was submitted.
    pub(crate) fn recognize(&self, context: &StageContext<'_>) -> Result<DepositKind, StageError> {
        match self {
            Self::LocalPath(path) => kind::recognize(path).map_err(|error| match error {
                EngineError::Io { source, .. } => unreadable(path, &source),
                other => StageError::fatal(other.chain()),
            }),
            Self::Url(url) => web::recognize(context, url),
            Self::ReceivingKey(_) => Ok(DepositKind::Bag),
            Self::Document(_) => Ok(DepositKind::File),
        }
    }
}

/// A harvested document as a package of one file. Its bytes are bounded, and in memory.
fn open_document(
    context: &StageContext<'_>,
    id: DocumentId,
    options: &DepositOptions,
) -> Result<OpenPackage, StageError> {
    let document = context.registry().read(|tx| documents::get(tx, id))?.ok_or_else(|| document_gone(id))?;
    let name = options.file_name.clone().unwrap_or_else(|| context.item.name.clone()).into_bytes();
    let file = SingleFile { name, size: Some(document.bytes.len() as u64), modified: None };
    Ok(OpenPackage {
        source: Source::single(file, Box::new(io::Cursor::new(document.bytes))),
        failure: None,
        has_unproved_end: None,
    })
}

fn document_gone(id: DocumentId) -> StageError {
    StageError::fatal(format!("the harvested document {id} was removed after its time; harvest the record again"))
}

/// The last part of the path of a URL that is not empty, decoded where that gives a name.
pub(super) fn url_file_name(url: &Url) -> Option<String> {
    let segment = url.path_segments()?.rfind(|segment| !segment.is_empty())?;
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8();
    let decoded = decoded.ok().filter(|name| !name.contains('/') && !name.chars().any(char::is_control));
    Some(decoded.map_or_else(|| segment.to_owned(), std::borrow::Cow::into_owned))
}

/// A package that is read.
pub(crate) struct OpenPackage {
    pub(crate) source: Source,
    /// Why its download failed, where it is one.
    pub(crate) failure: Option<DownloadFailure>,
    /// Whether nothing proves at its end that it is whole, where it is a download of which that is not known otherwise.
    pub(crate) has_unproved_end: Option<Arc<AtomicBool>>,
}

impl OpenPackage {
    /// Shows every file of the package; see [`Source::scan`]. `allow` is asked for room for what is put into a temporary file.
    pub(crate) fn scan(
        self,
        allow: &mut dyn FnMut(u64) -> io::Result<()>,
        visit: Visitor<'_>,
    ) -> Result<Result<Scan, BagError>, StageError> {
        let limits = Limits::default();
        let scanned = self.source.spooled(&limits, allow).and_then(|source| source.scan(&limits, visit));
        match self.failure.and_then(|failure| failure.take()) {
            Some(failure) => Err(failure),
            None => Ok(scanned),
        }
    }
}

/// Where the item's package lies.
pub(crate) fn package_source(context: &StageContext<'_>) -> Result<PackageSource, StageError> {
    let source = context.item.source.as_deref().ok_or_else(|| StageError::fatal("the work item names no package"))?;
    PackageSource::kept(source).map_err(|error| StageError::fatal(error.chain()))
}

/// An upload is taken in as it was when it had settled, or not at all: what replaced it is taken up by itself.
pub(crate) fn check_unreplaced(
    source: &PackageSource,
    wanted: Option<&str>,
    located: &Located,
) -> Result<(), StageError> {
    match (source, wanted) {
        (PackageSource::ReceivingKey(upload), Some(wanted)) if wanted != located.etag => {
            let note = format!("{upload} was replaced; the new upload is submitted after its quiet period");
            Err(StageError::Withdrawn(note))
        }
        _ => Ok(()),
    }
}

fn locate_path(path: &Path) -> Result<Located, StageError> {
    let metadata = look(path)?;
    if !metadata.is_dir() {
        return Ok(Located { etag: etag_of(&metadata), size: Some(metadata.len()) });
    }
    let (tree, size) = tree_state(path)?;
    Ok(Located { etag: short(&format!("{};{tree:x}", etag_of(&metadata))), size: Some(size) })
}

/// A number that changes when anything below a directory changes, and the bytes of all regular files there; links are not followed. The
/// size is an estimate: what is deposited, `fetch` reads by descriptor.
fn tree_state(path: &Path) -> Result<(u128, u64), StageError> {
    let (mut state, mut size) = (0_u128, 0_u64);
    let mut waiting = vec![path.to_owned()];
    while let Some(directory) = waiting.pop() {
        let entries = match fs::read_dir(&directory) {
            // It was there when the folder above it was listed, so that the state is another one than before.
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory != path => continue,
            entries => entries.map_err(|error| unreadable(&directory, &error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let place = entry.path();
            let metadata = match fs::symlink_metadata(&place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(|error| unreadable(&place, &error))?,
            };
            let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
            hasher.update(place.as_os_str().as_encoded_bytes());
            hasher.update(format!(";{}", etag_of(&metadata)).as_bytes());
            let digest = hasher.finish().get(Algorithm::Sha256);
            let number = digest.and_then(|digest| digest.as_bytes().first_chunk::<16>().copied());
            // A sum does not depend on the order in which a directory lists.
            state = state.wrapping_add(u128::from_be_bytes(number.unwrap_or_default()));
            if metadata.is_dir() {
                waiting.push(place);
            } else if metadata.is_file() {
                size = size.saturating_add(metadata.len());
            }
        }
    }
    Ok((state, size))
}

fn look(path: &Path) -> Result<Metadata, StageError> {
    fs::symlink_metadata(path)
        .and_then(|metadata| if metadata.is_symlink() { fs::metadata(path) } else { Ok(metadata) })
        .map_err(|error| unreadable(path, &error))
}

/// Why a file of a package cannot be read: for good where only a person can change it.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> StageError {
    let note = format!("could not read {}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => StageError::fatal(format!("{note}; the deposit is gone from where it was")),
        std::io::ErrorKind::PermissionDenied => {
            StageError::fatal(format!("{note}; give the user that runs the workers permission to read it"))
        }
        _ => StageError::Transient(note),
    }
}

/// The same as [`bag_trouble`], of what was to be a container.
fn no_container(error: BagError) -> StageError {
    match error {
        BagError::UnknownSerialization { path } => StageError::fatal(format!(
            "{} is none of the archives that are read: zip, tar, tar.gz and tar.bz2; next: pack it anew, or deposit it with --type file",
            path.display()
        )),
        other => bag_trouble(other),
    }
}

/// Trouble with reading a bag, with advice where a person can help.
pub(crate) fn bag_trouble(error: BagError) -> StageError {
    match error {
        BagError::Io { source, path, .. } => unreadable(&path, &source),
        other => other.into(),
    }
}

fn etag_of(metadata: &Metadata) -> String {
    let (changed, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
    let (ino, length) = (metadata.ino(), metadata.len());
    format!("{ino:x}-{length:x}-{:x}.{:x}-{changed:x}.{nanoseconds:x}", metadata.mtime(), metadata.mtime_nsec())
}

/// A long etag as a digest.
fn short(etag: &str) -> String {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(etag.as_bytes());
    hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default()
}
