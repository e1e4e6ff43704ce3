//! Completes a bag by downloading what its `fetch.txt` names (RFC 8493 section 2.2.3), within the policy of a client.
//!
//! A fetch list comes from a stranger and would make this machine ask for whatever it names. What may be asked for is up to the
//! client (see `strongroom-download`). Nothing is written here but new files below `data/`.

use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use strongroom_download::{Client, DownloadError, Expected, Supervision};

use crate::declaration::{self, Declaration, Version};
use crate::error::BagError;
use crate::manifest::{self, FETCH, FetchLine, PAYLOAD};
use crate::path;
use crate::source::{Folder, open_member};
use crate::text::Lines;

/// Why a file was not fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The path is not one that a fetch list may name.
    #[error("{path} is not fetched: {reason}")]
    Refused {
        /// The path it was for.
        path: String,
        /// Why not.
        reason: String,
    },
    /// It could not be downloaded, or may not be.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The bytes could not be written.
    #[error("could not write {}", path.display())]
    Io {
        /// Where they were to go.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl FetchError {
    /// Whether asking again later may help: the cause is the network, the server or the machine, not what was asked for.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused { .. } => false,
            Self::Download(error) => error.is_transient(),
            Self::Io { .. } => true,
        }
    }
}

/// What became of one line of `fetch.txt`.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchOutcome {
    /// The file is there now, with so many bytes.
    Fetched(u64),
    /// It was there before.
    Present,
    /// It could not be fetched.
    Failed(FetchError),
}

/// Reads a `fetch.txt` beside the `bagit.txt` of its bag, and shows each line of which a file below `data/` can be made out, with the path
/// of the file, decoded, as [`crate::BagFile::path`] has it.
///
/// # Errors
/// One of them cannot be read, or the character encoding that `bagit.txt` names is not known.
pub fn read_list(
    declaration: &mut dyn Read,
    list: Box<dyn Read + '_>,
    show: &mut dyn FnMut(FetchLine, &str),
) -> io::Result<()> {
    let declaration = Declaration::parse(declaration, &mut |_| {})?;
    let version = declaration.version.unwrap_or(Version::V0_97);
    let mut lines = Lines::new(list, declaration.charset().ok_or(io::ErrorKind::Unsupported)?)?;
    while let Some(line) = lines.next()? {
        let Some(entry) = manifest::parse_fetch_line(&line.text, &mut |_, _| {}).filter(|_| line.fault.is_none())
        else {
            continue;
        };
        let readings = path::readings(&entry.path, version.is_strict());
        let path = readings.first().map(ToString::to_string).unwrap_or_default();
        if path.starts_with(PAYLOAD) && manifest::unsafe_listing(&entry.path).is_none() {
            show(entry, &path);
        }
    }
    Ok(())
}

/// Fetches every file of `fetch.txt` that is not there yet into the bag, a directory, and shows each line with its outcome.
/// What was fetched proves nothing by itself: validate the bag afterwards. Says whether all files are there.
pub fn complete(
    bag: &Path,
    client: &Client,
    show: &mut dyn FnMut(&FetchLine, &FetchOutcome),
) -> Result<bool, BagError> {
    let fail = |act, name: &str, error| BagError::io(act, &bag.join(name), error);
    let folder = Folder::open(bag).map_err(|error| BagError::io("open", bag, error))?;
    let declaration = open_member(&folder, declaration::FILE)
        .and_then(|file| Declaration::parse(file, &mut |_| {}))
        .map_err(|error| fail("read", declaration::FILE, error))?;
    let version = declaration.version.unwrap_or(Version::V0_97);
    let charset = declaration.charset().ok_or_else(|| {
        fail(
            "read",
            declaration::FILE,
            io::Error::new(io::ErrorKind::Unsupported, "the character encoding is not known"),
        )
    })?;
    let list = match open_member(&folder, FETCH) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(fail("open", FETCH, error)),
    };
    let mut is_complete = true;
    let mut lines = Lines::new(Box::new(list), charset).map_err(|error| fail("read", FETCH, error))?;
    while let Some(line) = lines.next().map_err(|error| fail("read", FETCH, error))? {
        if line.text.trim().is_empty() {
            continue;
        }
        let Some(entry) = manifest::parse_fetch_line(&line.text, &mut |_, _| {}).filter(|_| line.fault.is_none())
        else {
            is_complete = false;
            continue;
        };
        let outcome = bring(client, bag, (&entry, version)).unwrap_or_else(FetchOutcome::Failed);
        is_complete &= !matches!(outcome, FetchOutcome::Failed(_));
        show(&entry, &outcome);
    }
    Ok(is_complete)
}

fn bring(client: &Client, bag: &Path, (line, version): (&FetchLine, Version)) -> Result<FetchOutcome, FetchError> {
    let refused = |reason: &str| FetchError::Refused { path: line.path.clone(), reason: reason.to_owned() };
    if let Some(reason) = manifest::unsafe_listing(&line.path) {
        return Err(refused(&format!("the path is not safe: {reason}")));
    }
    if !line.path.starts_with(PAYLOAD) {
        return Err(refused("only payload files are fetched"));
    }
    let readings = path::readings(&line.path, version.is_strict());
    let relative = readings.first().ok_or_else(|| refused("it has no path"))?;
    let target = bag.join(relative.as_ref());
    let fail = |source| FetchError::Io { path: target.clone(), source };
    if fs::symlink_metadata(&target).is_ok() {
        return Ok(FetchOutcome::Present);
    }
    client.check(&line.url)?;
    let parent = make_parents(bag, relative).map_err(fail)?;
    let expected = Expected { size: line.length, ..Expected::default() };
    let mut body = client.open(&line.url, expected, Supervision::default())?;
    let mut file = tempfile::Builder::new().prefix(".fetching-").tempfile_in(&parent).map_err(fail)?;
    let found = io::copy(&mut body, &mut file)
        .map_err(|error| DownloadError::from_io(error).map_or_else(fail, FetchError::Download))?;
    file.flush().and_then(|()| file.as_file().sync_all()).map_err(fail)?;
    file.persist_noclobber(&target).map_err(|error| fail(error.error))?;
    Ok(FetchOutcome::Fetched(found))
}

/// Makes the directories above a path of the bag; refuses to go through a link.
fn make_parents(bag: &Path, relative: &str) -> io::Result<PathBuf> {
    let mut directory = bag.to_owned();
    let Some((parents, _)) = relative.rsplit_once('/') else { return Ok(directory) };
    for part in parents.split('/') {
        directory.push(part);
        match fs::symlink_metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    "something else stands where a directory has to be",
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => DirBuilder::new().create(&directory)?,
            Err(error) => return Err(error),
        }
    }
    Ok(directory)
}
