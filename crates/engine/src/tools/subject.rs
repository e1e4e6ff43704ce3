//! How a file that is kept comes to a tool: copied from a store into the scratch folder, with its digest compared on the way. What is too
//! large to be copied is read where it lies, in a store that is a folder, and the tool is given that path.

use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use strongroom_digest::{Algorithm, Digest, MultiHasher};
use strongroom_registry::objects::{self, Copy};
use strongroom_registry::{ContentId, CopyState};
use strongroom_storage::{Key, StorageError, Store};

use super::scratch::Scratch;
use crate::error::chain;
use crate::fixity::{SuspectCopy, check_attempts, is_unreadable, read_copy, report_suspect};
use crate::hold::{GoOn, OperationError};
use crate::interruptible::Interruptible;
use crate::runtime::Interrupted;
use crate::{EngineError, Home};

/// Bytes that are copied at once.
const BLOCK: usize = 256 << 10;

/// A content that a tool is run for.
#[derive(Debug, Clone)]
pub(crate) struct StoredFile {
    pub(crate) content: ContentId,
    /// A path that has it.
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) sha512: Digest,
}

/// A file that a tool can read. A copy goes with it.
pub(crate) struct Provided {
    pub(crate) path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

/// Why a file cannot be given to a tool.
#[derive(Debug)]
pub(crate) enum Unprovided {
    /// The work stops.
    Interrupted(Interrupted),
    /// A later attempt may succeed.
    Later(String),
    /// It will not without an act of a person.
    Failed(String),
}

impl From<EngineError> for Unprovided {
    fn from(error: EngineError) -> Self {
        if error.is_transient() || error.away().is_some() {
            Self::Later(error.chain())
        } else {
            Self::Failed(error.chain())
        }
    }
}

impl From<OperationError> for Unprovided {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Interrupted(reason) => Self::Interrupted(reason),
            OperationError::Busy(_) => Self::Later(error.to_string()),
            OperationError::Engine(error) => error.into(),
        }
    }
}

/// Why one copy was not used.
enum Refused {
    /// It has to be retrieved first.
    Cold,
    /// Its store did not give it, and may later.
    Away(String),
    /// For a reason that stays.
    Wrong(String),
}

/// How a file is provided.
pub(crate) struct Providing<'p> {
    pub(crate) home: &'p Home,
    pub(crate) scratch: &'p Scratch,
    /// The largest file that is copied.
    pub(crate) max_copied: u64,
    pub(crate) go_on: &'p GoOn<'p>,
}

/// Gives a file out of one of its copies, whose bytes were compared with its digest. A copy that is wrong becomes a finding, and the next one is
/// tried.
pub(crate) fn provide(with: &Providing<'_>, file: &StoredFile) -> Result<Provided, Unprovided> {
    let copies = with.home.registry.read(|tx| objects::copies_in_use(tx, file.content)).map_err(EngineError::from)?;
    let (mut reasons, mut is_cold, mut may_pass) = (Vec::new(), false, false);
    for copy in copies.iter().filter(|copy| copy.state == CopyState::Kept) {
        with.go_on.check().map_err(Unprovided::Interrupted)?;
        match from_copy(with, file, copy)? {
            Ok(provided) => return Ok(provided),
            Err(Refused::Cold) => is_cold = true,
            Err(Refused::Away(reason)) => {
                may_pass = true;
                reasons.push(format!("{}: {reason}", copy.store));
            }
            Err(Refused::Wrong(reason)) => reasons.push(format!("{}: {reason}", copy.store)),
        }
    }
    if reasons.is_empty() {
        let reason = if is_cold {
            "its copies are archived, and cannot be read before they are retrieved"
        } else {
            "no copy of it is known to be correct"
        };
        reasons.push(reason.to_owned());
    }
    let reason = reasons.join("; ");
    Err(if may_pass { Unprovided::Later(reason) } else { Unprovided::Failed(reason) })
}

fn from_copy(with: &Providing<'_>, file: &StoredFile, copy: &Copy) -> Result<Result<Provided, Refused>, Unprovided> {
    let store = match with.home.store(&copy.store) {
        Ok(store) => store.as_ref(),
        Err(error) => return Ok(Err(Refused::Away(error.chain()))),
    };
    let key = Key::new(copy.key.as_str()).map_err(StorageError::from).map_err(EngineError::from)?;
    match store.head(&key) {
        Ok(head) if !head.readable => return Ok(Err(Refused::Cold)),
        Ok(head) if head.size != file.size => {
            return wrong(with, file, copy, (false, format!("it has {} bytes and not {}", head.size, file.size)));
        }
        Ok(_) => {}
        Err(error) => return unread(with, file, copy, &error),
    }
    let (provided, read) = if file.size > with.max_copied {
        match in_place(with, file, copy, (store, &key))? {
            Ok(found) => found,
            Err(refused) => return Ok(Err(refused)),
        }
    } else {
        match copied(with, file, store, &key) {
            Ok(found) => found,
            Err(CopyError::Store(error)) => return unread(with, file, copy, &error),
            Err(CopyError::Interrupted(reason)) => return Err(Unprovided::Interrupted(reason)),
            Err(CopyError::Scratch(error)) => {
                let place = with.scratch.path().display();
                return Err(Unprovided::Later(format!("cannot copy it to {place}: {}", chain(&error))));
            }
        }
    };
    if read != (file.size, file.sha512) {
        let reason = format!("its bytes are not the recorded ones: {} bytes with sha512:{}", read.0, read.1);
        return wrong(with, file, copy, (false, reason));
    }
    Ok(Ok(provided))
}

/// A copy that its store did not give: missing, unreadable, or nothing known of it.
fn unread(
    with: &Providing<'_>,
    file: &StoredFile,
    copy: &Copy,
    error: &StorageError,
) -> Result<Result<Provided, Refused>, Unprovided> {
    if error.is_not_found() || is_unreadable(error) {
        return wrong(with, file, copy, (error.is_not_found(), chain(error)));
    }
    Ok(Err(Refused::Away(chain(error))))
}

/// A copy that is wrong: a finding, which has it checked next.
fn wrong(
    with: &Providing<'_>,
    file: &StoredFile,
    copy: &Copy,
    (is_missing, reason): (bool, String),
) -> Result<Result<Provided, Refused>, Unprovided> {
    let suspect = SuspectCopy {
        content: file.content,
        store: copy.store.clone(),
        is_missing,
        detail: format!("found when a tool was to read it: {reason}"),
    };
    let attempts = check_attempts(with.home);
    let reported = with.home.registry.write_and_wake(move |tx| report_suspect(tx, &suspect, attempts));
    reported.map_err(EngineError::from)?;
    Ok(Err(Refused::Wrong(reason)))
}

type ProvidedAndRead = (Provided, (u64, Digest));

/// Where the file lies, in a store that is a folder, with what was read there.
fn in_place(
    with: &Providing<'_>,
    file: &StoredFile,
    copy: &Copy,
    (store, key): (&dyn Store, &Key),
) -> Result<Result<ProvidedAndRead, Refused>, Unprovided> {
    let settings = with.home.settings.stores.get(&copy.store);
    let folder = settings.and_then(|store| store.folder(&with.home.directory));
    let Some(path) = folder.map(|folder| folder.join(key.as_str())).filter(|path| is_of(path, file.size)) else {
        return Ok(Err(Refused::Wrong(format!(
            "it has {} bytes, at most {} are copied for a tool, and this store is no folder in which the tool could read it; \
             next: raise max_copied of the tool in the settings",
            file.size, with.max_copied
        ))));
    };
    match read_copy(store, key, with.go_on) {
        Ok(read) => Ok(Ok((Provided::in_place(path), read))),
        Err(OperationError::Engine(EngineError::Storage(error))) => {
            unread(with, file, copy, &error).map(|refused| match refused {
                Err(refused) => Err(refused),
                Ok(_) => Err(Refused::Away(chain(&error))),
            })
        }
        Err(error) => Err(error.into()),
    }
}

fn is_of(path: &Path, size: u64) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() == size)
}

enum CopyError {
    Store(StorageError),
    Scratch(io::Error),
    Interrupted(Interrupted),
}

/// Copies a file into the scratch folder, with what was read.
fn copied(with: &Providing<'_>, file: &StoredFile, store: &dyn Store, key: &Key) -> Result<ProvidedAndRead, CopyError> {
    let mut body = Interruptible::new(store.open(key, 0, None).map_err(CopyError::Store)?, with.go_on);
    let (folder, path, mut to) = with.scratch.file(&file.path).map_err(CopyError::Scratch)?;
    let (mut hasher, mut block, mut size) = (MultiHasher::new(&[Algorithm::Sha512]), vec![0; BLOCK], 0);
    loop {
        let read = body.read(&mut block).map_err(|source| {
            if let Err(reason) = with.go_on.check() {
                return CopyError::Interrupted(reason);
            }
            let store = store.name().to_owned();
            CopyError::Store(StorageError::Io { store, act: "read", key: key.clone(), source })
        })?;
        let Some(bytes) = block.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        size += read as u64;
        if size > file.size {
            break;
        }
        hasher.update(bytes);
        to.write_all(bytes).map_err(CopyError::Scratch)?;
    }
    to.set_permissions(std::fs::Permissions::from_mode(0o400)).map_err(CopyError::Scratch)?;
    let sha512 = hasher.finish().get(Algorithm::Sha512);
    let sha512 = sha512.ok_or_else(|| CopyError::Scratch(io::Error::other("sha512 was not computed")))?;
    Ok((Provided { path, _folder: Some(folder) }, (size, sha512)))
}

impl Provided {
    /// A file that is read where it lies.
    pub(crate) fn in_place(path: PathBuf) -> Self {
        Self { path, _folder: None }
    }

    /// A copy of bytes in the scratch folder; `of` is the path that they are of.
    pub(crate) fn copy_of(scratch: &Scratch, of: &str, bytes: &mut dyn Read) -> io::Result<Self> {
        let (folder, path, mut to) = scratch.file(of)?;
        io::copy(bytes, &mut to)?;
        to.set_permissions(std::fs::Permissions::from_mode(0o400))?;
        Ok(Self { path, _folder: Some(folder) })
    }
}
