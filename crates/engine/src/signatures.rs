//! Which PRONOM signatures a home uses: the pair that was installed there and chosen, or the one that comes with the
//! program. Installed pairs lie below `signatures/`, each in a folder of its own with the two XML files and their compiled
//! form; the file `signatures/current` names the one in use. The caller that identifies files asks here.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use strongroom_pronom::{ContainerSignature, PronomError, Release, SignatureSet, builtin, compiled, xml};

/// The name under which the signatures that come with the program are chosen.
pub const BUILT_IN: &str = "built-in";

/// Within the home.
const FOLDER: &str = "signatures";
/// Within [`FOLDER`]: the name of the pair in use.
const CURRENT: &str = "current";
/// Within the folder of a pair.
const COMPILED: &str = "signatures.compiled";
/// No signature file is larger: PRONOM's own has 4 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Why signatures could not be used, installed or chosen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignaturesError {
    /// A file that was given is no signature file.
    #[error("could not read the signature file {file}")]
    Unusable {
        /// Which.
        file: String,
        /// Why.
        source: PronomError,
    },
    /// What was installed at the home is damaged.
    #[error("the installed signatures {path} cannot be used: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The signatures that come with the program cannot be read.
    #[error("the built-in signatures cannot be used")]
    BuiltIn(#[source] PronomError),
    /// No such pair is installed.
    #[error("there are no installed signatures {0:?}")]
    NotFound(String),
    /// It is older than what is in use.
    #[error("{0}")]
    Older(String),
    /// It cannot be installed or used as it was asked.
    #[error("{0}")]
    Refused(String),
    /// The system refused something.
    #[error("could not {act} {path}")]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl SignaturesError {
    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { act, path: path.display().to_string(), source }
    }
}

/// A signature file as it was published.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its file name.
    pub name: String,
    /// The XML.
    pub bytes: Vec<u8>,
}

impl Published {
    /// Reads a signature file to be installed.
    pub fn read(path: &Path) -> Result<Self, SignaturesError> {
        let bytes = read_bounded(path).map_err(|error| SignaturesError::io("read the signature file", path, error))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, bytes })
    }

    /// Whether this is the container file of a pair. The root elements differ; what is neither is reported when it is read.
    pub(crate) fn is_container(&self) -> bool {
        let beginning = self.bytes.get(..self.bytes.len().min(4096)).unwrap_or_default();
        String::from_utf8_lossy(beginning).contains("<ContainerSignatureMapping")
    }

    fn document(&self) -> xml::Document<'_> {
        // A name without digits distinguishes no releases; then the version within the file names it.
        let name = Some(self.name.as_str()).filter(|name| name.bytes().any(|byte| byte.is_ascii_digit()));
        xml::Document { name, bytes: &self.bytes }
    }
}

/// Signatures with the name under which they are chosen.
#[derive(Debug, Clone)]
pub struct Named {
    /// [`BUILT_IN`], or the folder of an installed pair.
    pub name: String,
    /// The signatures.
    pub set: SignatureSet,
}

/// Loads the signatures that the home uses.
pub fn load(home: &Path) -> Result<Named, SignaturesError> {
    let name = current(home)?;
    let set = read(home, &name)?;
    Ok(Named { name, set })
}

/// Loads signatures by name.
pub fn read(home: &Path, name: &str) -> Result<SignatureSet, SignaturesError> {
    if name == BUILT_IN {
        return builtin::signatures().map_err(SignaturesError::BuiltIn);
    }
    let path = folder(home).join(name).join(COMPILED);
    let damaged = |reason: String| SignaturesError::Damaged { path: path.display().to_string(), reason };
    let bytes = match read_bounded(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged("the file is missing".to_owned())),
        Err(error) => return Err(SignaturesError::io("read the installed signatures", &path, error)),
    };
    compiled::decode(&bytes).map_err(|error| damaged(crate::chain(&error)))
}

/// The names of all installed pairs, in order.
pub fn installed(home: &Path) -> Result<Vec<String>, SignaturesError> {
    let folder = folder(home);
    let fail = |error| SignaturesError::io("list", &folder, error);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_safe(&name) && entry.file_type().map_err(fail)?.is_dir() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Loads the signatures that are installed under a name, or [`BUILT_IN`].
pub(crate) fn named(home: &Path, name: &str) -> Result<Named, SignaturesError> {
    if name != BUILT_IN && !installed(home)?.iter().any(|known| known == name) {
        return Err(SignaturesError::NotFound(name.to_owned()));
    }
    Ok(Named { name: name.to_owned(), set: read(home, name)? })
}

/// Signatures that were checked and are ready to be installed.
pub(crate) struct Prepared {
    pub(crate) named: Named,
    /// The files that they were read from, with the names that they get.
    files: Vec<(String, Vec<u8>)>,
}

/// Makes a newer binary or container signature file, or both, ready for [`put`]. What is not given stays as it is in use.
/// Refused unless the files can be read and are no older than those in use, or `allow_older` is set.
pub(crate) fn prepare(
    home: &Path,
    binary: Option<&Published>,
    container: Option<&Published>,
    allow_older: bool,
) -> Result<Prepared, SignaturesError> {
    if !home.is_dir() {
        let error = io::Error::new(io::ErrorKind::NotFound, "there is no such folder");
        return Err(SignaturesError::io("install signatures in the data directory", home, error));
    }
    let before = current_or_default(home, allow_older)?;
    let set = combine(before.as_ref(), binary, container)?;
    if !allow_older && let Some(before) = &before {
        refuse_older(Some(&before.set.binary), Some(&set.binary))?;
        refuse_older(before.set.container.as_ref(), set.container.as_ref())?;
    }
    let name = folder_name(&set)?;
    let given_or_kept = |given: Option<&Published>, release: Option<&Release>| match given {
        Some(given) => Some(given.clone()),
        None => published_of(home, before.as_ref(), release),
    };
    let mut files = Vec::new();
    if let Some(file) = given_or_kept(binary, Some(&set.binary)) {
        files.push((file_name(&set.binary), file.bytes));
    }
    if let Some(release) = &set.container
        && let Some(file) = given_or_kept(container, Some(release))
    {
        files.push((file_name(release), file.bytes));
    }
    Ok(Prepared { named: Named { name, set }, files })
}

/// Installs signatures that are ready, and uses them from now on.
pub(crate) fn put(home: &Path, prepared: Prepared) -> Result<Named, SignaturesError> {
    let Prepared { named, files } = prepared;
    store(home, &named.name, &named.set, &files)?;
    make_current(home, &named.name)?;
    Ok(named)
}

/// Reads signatures from files: a binary file and, where given, a container file, both XML; or one compiled file.
pub fn read_files(binary: &Path, container: Option<&Path>) -> Result<SignatureSet, SignaturesError> {
    let binary_file = Published::read(binary)?;
    let is_xml =
        binary_file.bytes.trim_ascii_start().starts_with(b"<") || binary_file.bytes.starts_with(b"\xEF\xBB\xBF");
    if is_xml {
        let container_file = container.map(Published::read).transpose()?;
        return parse(&binary_file, container_file.as_ref());
    }
    if container.is_some() {
        let reason = "is no XML, and a container signature file goes only with a binary one in XML";
        return Err(SignaturesError::Refused(format!("the signature file {} {reason}", binary.display())));
    }
    compiled::decode(&binary_file.bytes)
        .map_err(|source| SignaturesError::Unusable { file: binary.display().to_string(), source })
}

fn folder(home: &Path) -> PathBuf {
    home.join(FOLDER)
}

/// The name of the signatures in use.
pub fn current(home: &Path) -> Result<String, SignaturesError> {
    let path = folder(home).join(CURRENT);
    let damaged =
        |reason: &str| SignaturesError::Damaged { path: path.display().to_string(), reason: reason.to_owned() };
    let text = match read_bounded(&path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| damaged("it holds no name"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BUILT_IN.to_owned()),
        Err(error) => return Err(SignaturesError::io("read", &path, error)),
    };
    let name = text.trim();
    if is_safe(name) { Ok(name.to_owned()) } else { Err(damaged("it holds no name of installed signatures")) }
}

/// What is in use, as far as it can be read: the caller that insists may also replace what is damaged.
fn current_or_default(home: &Path, insists: bool) -> Result<Option<Named>, SignaturesError> {
    match load(home) {
        Ok(named) => Ok(Some(named)),
        Err(SignaturesError::Damaged { .. }) if insists => Ok(None),
        Err(error) => Err(error),
    }
}

/// The signatures of new files, with those of the files in use where only one is new.
fn combine(
    before: Option<&Named>,
    binary: Option<&Published>,
    container: Option<&Published>,
) -> Result<SignatureSet, SignaturesError> {
    match (binary, container) {
        (Some(binary), Some(_)) => parse(binary, container),
        (Some(binary), None) => {
            let mut set = parse(binary, None)?;
            if let Some(before) = before {
                adopt_containers(&mut set, &before.set);
            }
            Ok(set)
        }
        (None, Some(container)) => {
            let Some(before) = before else {
                let reason = "a container signature file alone needs valid signatures in use: give both files";
                return Err(SignaturesError::Refused(reason.to_owned()));
            };
            let mut set = before.set.clone();
            xml::replace_container(container.document(), &mut set)
                .map_err(|source| SignaturesError::Unusable { file: container.name.clone(), source })?;
            Ok(set)
        }
        (None, None) => Err(SignaturesError::Refused("no signature file was given".to_owned())),
    }
}

/// Takes over the container signatures of other signatures, for the formats that both know.
fn adopt_containers(set: &mut SignatureSet, from: &SignatureSet) {
    let known: HashMap<&str, u32> =
        set.formats.iter().zip(0_u32..).map(|(format, index)| (format.puid.as_str(), index)).collect();
    let puid = |format: u32| from.formats.get(format as usize).map_or("", |format| format.puid.as_str());
    let mut skipped = Vec::new();
    let mut containers = Vec::new();
    for signature in &from.containers {
        match known.get(puid(signature.format)) {
            Some(&format) => containers.push(ContainerSignature { format, ..signature.clone() }),
            None => skipped.push(format!(
                "container signature {} belongs to {}, an unknown format",
                signature.id,
                puid(signature.format)
            )),
        }
    }
    let triggers = from
        .triggers
        .iter()
        .filter_map(|(kind, format)| known.get(puid(*format)).map(|&format| (*kind, format)))
        .collect();
    set.container.clone_from(&from.container);
    set.containers = containers;
    set.triggers = triggers;
    set.skipped.extend(skipped);
}

/// The file that a release came from, where the pair in use has it as XML.
fn published_of(home: &Path, before: Option<&Named>, release: Option<&Release>) -> Option<Published> {
    Published::read(&folder(home).join(&before?.name).join(file_name(release?))).ok()
}

fn file_name(release: &Release) -> String {
    format!("{}.xml", release.name)
}

fn parse(binary: &Published, container: Option<&Published>) -> Result<SignatureSet, SignaturesError> {
    let unusable = |file: &Published, source| SignaturesError::Unusable { file: file.name.clone(), source };
    let mut set = xml::read(binary.document(), None).map_err(|source| unusable(binary, source))?;
    if let Some(container) = container {
        xml::replace_container(container.document(), &mut set).map_err(|source| unusable(container, source))?;
    }
    Ok(set)
}

fn refuse_older(before: Option<&Release>, new: Option<&Release>) -> Result<(), SignaturesError> {
    let version = |release: &Release| release.version.trim().parse::<u64>().ok();
    let (Some(before), Some(new)) = (before, new) else { return Ok(()) };
    if version(new) < version(before) {
        let reason = format!(
            "{} (version {}) is older than {} (version {}), which is in use",
            new.name, new.version, before.name, before.version
        );
        return Err(SignaturesError::Older(reason));
    }
    Ok(())
}

fn folder_name(set: &SignatureSet) -> Result<String, SignaturesError> {
    let container = set.container.as_ref().map_or("none", |release| release.name.as_str());
    let name = format!("{}_{container}", set.binary.name);
    if is_safe(&name) && name != BUILT_IN {
        return Ok(name);
    }
    Err(SignaturesError::Refused(format!("{name:?} cannot be the name of a folder: rename the signature files")))
}

/// Whether a name can stand for one folder and nothing else.
fn is_safe(name: &str) -> bool {
    (1..=200).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Puts a pair into its folder, whole or not at all.
fn store(home: &Path, name: &str, set: &SignatureSet, files: &[(String, Vec<u8>)]) -> Result<(), SignaturesError> {
    let target = folder(home).join(name);
    if target.exists() {
        match read(home, name) {
            Ok(known) if known == *set => return Ok(()),
            Ok(_) => {
                let reason = format!(
                    "other signatures are installed as {name}: rename the new files, or remove {}",
                    target.display()
                );
                return Err(SignaturesError::Refused(reason));
            }
            Err(SignaturesError::Damaged { .. }) => {
                fs::remove_dir_all(&target)
                    .map_err(|error| SignaturesError::io("remove the damaged", &target, error))?;
            }
            Err(error) => return Err(error),
        }
    }
    let parent = folder(home);
    fs::create_dir_all(&parent).map_err(|error| SignaturesError::io("make the folder", &parent, error))?;
    let compiled =
        compiled::encode(set).map_err(|source| SignaturesError::Unusable { file: name.to_owned(), source })?;
    let fail = |error| SignaturesError::io("install signatures in", &target, error);
    let staged = tempfile::Builder::new().prefix(".new-").tempdir_in(&parent).map_err(fail)?;
    write_synced(&staged.path().join(COMPILED), &compiled).map_err(fail)?;
    for (file, bytes) in files {
        write_synced(&staged.path().join(file), bytes).map_err(fail)?;
    }
    sync_folder(staged.path()).map_err(fail)?;
    fs::rename(staged.path(), &target).map_err(fail)?;
    // Its folder has another name now; there is nothing left to remove.
    let _ = staged.keep();
    make_readable(&target).map_err(fail)?;
    sync_folder(&parent).map_err(fail)
}

/// A temporary folder is its owner's alone; the installed one is as the home's other folders.
fn make_readable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

/// Uses the signatures that are installed under a name, or [`BUILT_IN`], from now on.
pub(crate) fn make_current(home: &Path, name: &str) -> Result<(), SignaturesError> {
    let parent = folder(home);
    let path = parent.join(CURRENT);
    let fail = |error| SignaturesError::io("write", &path, error);
    fs::create_dir_all(&parent).map_err(fail)?;
    let mut file = tempfile::Builder::new().prefix(".current-").tempfile_in(&parent).map_err(fail)?;
    writeln!(file, "{name}").map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(&path).map_err(|error| fail(error.error))?;
    sync_folder(&parent).map_err(fail)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(bytes)
}
