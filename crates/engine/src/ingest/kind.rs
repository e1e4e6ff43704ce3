//! What a package is, where the depositor does not say: told from what lies there, without reading more of it than is needed.

use std::fmt;
use std::fs;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strongroom_bagit::{BagError, BagFile, Limits, ManifestName, Serialization, Source, open_regular};
use strongroom_checkm::{ManifestProfile, Mode as ReadMode, ReadOptions, Reader};
use strongroom_registry::Layout;
use url::Url;

use super::stages::package::NO_END_MARK;
use crate::EngineError;

/// What is deposited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DepositKind {
    /// Recognized from the package.
    #[default]
    Auto,
    /// A BagIt bag.
    Bag,
    /// One file, which is the object's only one.
    File,
    /// A folder, whose files are those of the object.
    Folder,
    /// A ZIP or tar archive, whose members are the files of the object.
    Container,
    /// A Checkm manifest of the files of one object.
    Manifest,
    /// A Checkm manifest of such manifests, each of them an object.
    BatchManifest,
    /// A Checkm manifest of files, each of them an object.
    SingleFileBatchManifest,
    /// A Checkm manifest of containers, each of them an object.
    ContainerBatchManifest,
    /// No package: what describes an object that is kept already.
    Metadata,
}

/// What becomes of the files that an object has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DepositMode {
    /// The new version has exactly the files that were sent.
    Replace,
    /// The new version has the files of the version before and those that were sent, without those of the delete list.
    Merge,
}

impl DepositKind {
    /// What packages are submitted as.
    pub const SUBMITTED: &[Self] = &[
        Self::Bag,
        Self::File,
        Self::Folder,
        Self::Container,
        Self::Manifest,
        Self::BatchManifest,
        Self::SingleFileBatchManifest,
        Self::ContainerBatchManifest,
    ];

    /// Whether it makes an object of each row.
    pub fn is_batch(self) -> bool {
        matches!(self, Self::BatchManifest | Self::SingleFileBatchManifest | Self::ContainerBatchManifest)
    }

    /// What the rows of a batch are; none for what is no batch.
    pub(crate) fn of_rows(self) -> Option<Self> {
        match self {
            Self::BatchManifest => Some(Self::Manifest),
            Self::SingleFileBatchManifest => Some(Self::File),
            Self::ContainerBatchManifest => Some(Self::Container),
            _ => None,
        }
    }

    /// The kind of a manifest of this profile; none where nothing is deposited by it.
    pub(crate) fn of_profile(profile: ManifestProfile) -> Option<Self> {
        match profile {
            ManifestProfile::Object => Some(Self::Manifest),
            ManifestProfile::Batch => Some(Self::BatchManifest),
            ManifestProfile::SingleFileBatch => Some(Self::SingleFileBatchManifest),
            ManifestProfile::ContainerBatch => Some(Self::ContainerBatchManifest),
            ManifestProfile::Add => None,
        }
    }

    /// The profile that a manifest of this kind has; none for what is no manifest.
    pub(crate) fn profile(self) -> Option<ManifestProfile> {
        ManifestProfile::ALL.into_iter().find(|profile| Self::of_profile(*profile) == Some(self))
    }

    /// The paths that an object of such a package has.
    pub(crate) fn layout(self) -> Layout {
        if self == Self::Bag { Layout::Bag } else { Layout::Files }
    }

    /// What becomes of the files that the object has already, where the depositor does not say.
    pub(crate) fn default_mode(self) -> DepositMode {
        if matches!(self, Self::Bag | Self::Metadata) { DepositMode::Merge } else { DepositMode::Replace }
    }

    /// The name that people give it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bag => "bag",
            Self::File => "file",
            Self::Folder => "folder",
            Self::Container => "container",
            Self::Manifest => "manifest",
            Self::BatchManifest => "batch-manifest",
            Self::SingleFileBatchManifest => "single-file-batch-manifest",
            Self::ContainerBatchManifest => "container-batch-manifest",
            Self::Metadata => "metadata",
        }
    }
}

impl fmt::Display for DepositKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Endings of the names of containers.
const CONTAINER_ENDINGS: [&str; 7] = [".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz"];

/// Whether a file is named as a container.
pub(crate) fn is_container_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    CONTAINER_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// Whether a file is named as a manifest.
pub(crate) fn is_manifest_name(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".checkm")
}

/// How a Checkm manifest begins.
const CHECKM: &[u8] = b"#%checkm";
/// Bytes of a file that say what it is.
const HEAD: u64 = 600;
/// Most bytes of files of a compressed archive that are passed over in search of what makes it a bag.
const PASSED_OVER: u64 = 256 << 20;

/// Why what lies at a path is not deposited as it was asked: a problem code, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Misfit {
    /// A URL that was stated to be a folder.
    pub(crate) fn of_folder_url(url: &Url) -> Self {
        let message = format!(
            "{url} is a file, and a folder has no URL; \"--type container\" takes the members of an archive, \"--type file\" a file as it is"
        );
        Self { code: OTHER_TYPE, message }
    }
}

/// Whether what lies at a path can be a package of this type; links are followed.
pub(crate) fn misfit(path: &Path, kind: DepositKind) -> io::Result<Option<Misfit>> {
    let metadata = fs::metadata(path)?;
    let shown = path.display();
    if !metadata.is_dir() && !metadata.is_file() {
        let kind = metadata.file_type();
        let what = match (kind.is_fifo(), kind.is_socket()) {
            (true, _) => "a FIFO",
            (_, true) => "a socket",
            _ => "a device",
        };
        let message = format!("{shown} is {what}, and only files and folders are deposited");
        return Ok(Some(Misfit { code: "entry.not_a_file", message }));
    }
    let is_right = match kind {
        DepositKind::Auto | DepositKind::Bag | DepositKind::Metadata => true,
        DepositKind::Folder => metadata.is_dir(),
        _ => metadata.is_file(),
    };
    if is_right {
        return Ok(None);
    }
    let what = if metadata.is_dir() { "a folder" } else { "a file" };
    let fitting = recognize(path).unwrap_or(DepositKind::File);
    Ok(Some(Misfit {
        code: OTHER_TYPE,
        message: format!(
            "{shown} is {what}, which the type {} is not; \"--type {}\" fits",
            kind.as_str(),
            fitting.as_str()
        ),
    }))
}

/// The code of a package that is of another type than was stated.
pub(crate) const OTHER_TYPE: &str = "package.other_type";

/// Recognizes the package at a path, which is a file or a folder.
///
/// # Errors
/// It cannot be read, or it is a manifest of a profile by which nothing is deposited.
pub(crate) fn recognize(path: &Path) -> Result<DepositKind, EngineError> {
    let unreadable = |source| EngineError::Io { act: "read", path: path.display().to_string(), source };
    if fs::metadata(path).map_err(unreadable)?.is_dir() {
        let is_bag = has_tag_files(path).map_err(unreadable)?;
        return Ok(if is_bag { DepositKind::Bag } else { DepositKind::Folder });
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut file = open_regular(path).map_err(unreadable)?;
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    if is_manifest(&head) {
        return manifest_kind(open_regular(path).map_err(unreadable)?, &path.display().to_string());
    }
    if Serialization::detect(&head, "").is_none() {
        // Named as an archive and none: that is told, not kept as a file.
        return Ok(if is_container_name(&name) { DepositKind::Bag } else { DepositKind::File });
    }
    Ok(match Source::open(path).and_then(holds_bag) {
        Ok(true) => DepositKind::Bag,
        Ok(false) if is_container_name(&name) => DepositKind::Container,
        Err(_) if is_container_name(&name) => DepositKind::Bag,
        Ok(false) | Err(_) => DepositKind::File,
    })
}

/// Whether a file begins as a Checkm manifest.
pub(crate) fn is_manifest(head: &[u8]) -> bool {
    head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).starts_with(CHECKM)
}

/// What the header of a manifest says that its rows are.
pub(crate) fn manifest_kind(manifest: impl Read, shown: &str) -> Result<DepositKind, EngineError> {
    let mut problems = Vec::new();
    let options = ReadOptions { mode: ReadMode::Lenient, ..ReadOptions::default() };
    let reader = Reader::new(BufReader::new(manifest), &options, &mut |problem| problems.push(problem));
    let reader = reader.map_err(|error| EngineError::Usage(format!("the manifest {shown} cannot be read: {error}")))?;
    match reader.header().profile().and_then(DepositKind::of_profile) {
        Some(kind) => Ok(kind),
        None => Err(EngineError::Usage(format!("the manifest {shown} does not say what its rows are")).next(
            "give it a line \"#%profile\" of one of the profiles that \"strongroom checkm create --help\" lists, or name what it is \
             with --type",
        )),
    }
}

/// Whether a folder has at its top what makes it a bag, also a broken one.
pub(crate) fn has_tag_files(folder: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(folder.join("bagit.txt")).is_ok() {
        return Ok(true);
    }
    for entry in fs::read_dir(folder)? {
        if entry?.file_name().to_str().is_some_and(|name| ManifestName::parse(name).is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an archive holds what makes it a bag, also a broken one: a declaration or a manifest in its base directory. Of an archive
/// that must be unpacked to see that, only a part is: then a payload directory says that it is one.
pub(crate) fn holds_bag(source: Source) -> Result<bool, BagError> {
    let is_compressed = matches!(source.serialization(), Serialization::TarGz | Serialization::TarBz2);
    let (mut found, mut has_payload, mut passed) = (None, false, 0_u64);
    let scanned = source.scan(&Limits::default(), &mut |entry: &BagFile, _| {
        has_payload |= entry.path.starts_with("data/");
        passed = passed.saturating_add(entry.size);
        if entry.path == "bagit.txt" || ManifestName::parse(&entry.path).is_some() {
            found = Some(true);
        } else if is_compressed && passed > PASSED_OVER {
            found = Some(has_payload);
        }
        if found.is_some() { Err(io::Error::other("it is known what the archive is")) } else { Ok(()) }
    });
    match (found, scanned) {
        (Some(found), _) => Ok(found),
        // An archive that is cut off or damaged may have had more.
        (None, Ok(scan)) => {
            let is_cut = scan.truncated || scan.problems.iter().any(|problem| problem.code == NO_END_MARK);
            Ok(has_payload && is_cut)
        }
        (None, Err(error)) => Err(error),
    }
}
