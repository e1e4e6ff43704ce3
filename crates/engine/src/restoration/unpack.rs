//! A result as a folder: the tar that a restoration writes is unpacked on its way, into a folder beside the name, which is then
//! renamed only where nothing has that name.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use strongroom_archive::MemberKind;
use strongroom_archive::tar::{Reader, StreamInput};

use super::into_folder::{begin, name_partial, sync_folder};
use super::pipe::{CHUNK, Hashing, pipe};
use super::target::{Delivery, Give};
use crate::crash_point;
use crate::workflow::{StageContext, StageError};

/// The fact of a work item that has the folders which its attempts were about to name: one of these that has the name is the
/// result, whatever became of the attempt.
const NAMED: &str = "restoration.folders";

/// A folder, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FolderNumber {
    device: u64,
    inode: u64,
}

impl FolderNumber {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

/// Why a tar could not be unpacked.
enum Failure {
    /// It could not be read: whoever writes it says why.
    Reading(String),
    Writing(String),
    /// The file system takes no such name.
    Name(String),
}

/// Puts what `give` writes, a tar with one folder at its top, as a folder of this name.
pub(super) fn put(
    context: &StageContext<'_>,
    folder: &Path,
    name: &str,
    give: &mut Give<'_>,
) -> Result<Delivery, StageError> {
    let partial = begin(context, folder)?;
    let failed = |act: &str, error: &io::Error| StageError::Transient(format!("could not {act}: {error}"));
    let shown = partial.0.display().to_string();
    fs::create_dir(&partial.0).map_err(|error| failed(&format!("make {shown}"), &error))?;
    let (writer, body) = pipe();
    let mut out = Hashing::new(writer);
    let root = partial.0.clone();
    let (written, unpacked) = thread::scope(|scope| {
        let unpacking = scope.spawn(move || unpack(body, &root));
        let written = give(&mut out).and_then(|()| {
            let (out, size, sha256) = out.finish()?;
            // Where the other end has gone, it says why.
            let _ = out.end();
            Ok((size, sha256))
        });
        (written, unpacking.join())
    });
    context.task.check()?;
    let (size, sha256) = match (written, unpacked) {
        (_, Err(_)) => return Err(StageError::Transient("a thread of the stage panicked".into())),
        (_, Ok(Err(Failure::Writing(reason)))) => return Err(StageError::Transient(reason)),
        (_, Ok(Err(Failure::Name(reason)))) => {
            return Err(StageError::fatal(format!("{reason}; next: restore the object as a tar")));
        }
        (Err(error), _) => return Err(error),
        (Ok(_), Ok(Err(Failure::Reading(reason)))) => return Err(StageError::Transient(reason)),
        (Ok(written), Ok(Ok(()))) => written,
    };
    // For many files one sync is cheaper than one each.
    let synced = File::open(&partial.0).and_then(|root| Ok(rustix::fs::syncfs(root)?));
    synced.map_err(|error| failed(&format!("sync {shown}"), &error))?;
    context.task.check_lease()?;
    let earlier: Vec<FolderNumber> = context.fact(NAMED)?.unwrap_or_default();
    let own = FolderNumber::of(&partial.0).map_err(|error| failed(&format!("look at {shown}"), &error))?;
    context.set_fact(NAMED, &earlier.iter().cloned().chain([own]).collect::<Vec<_>>())?;
    crash_point("restoration.rename.begun");
    let is_result = |path: &Path| Ok(FolderNumber::of(path).is_ok_and(|found| earlier.contains(&found)));
    let path = name_partial(context, &partial, &folder.join(name), &is_result)?;
    crash_point("restoration.rename.end");
    sync_folder(folder)?;
    Ok(Delivery { place: path.display().to_string(), size, sha256, stored: None })
}

/// Writes the files of a tar below `root`, without the folder at the top of the tar.
fn unpack(tar: impl Read, root: &Path) -> Result<(), Failure> {
    let mut reader = Reader::new(StreamInput(BufReader::with_capacity(CHUNK, tar)));
    loop {
        let member = reader.next_member().map_err(|error| Failure::Reading(format!("could not unpack: {error}")))?;
        let Some(member) = member else { break };
        let shown = String::from_utf8_lossy(&member.name).into_owned();
        let Some(below) = path_below(&shown) else {
            return Err(Failure::Name(format!("{shown:?} is no path below a folder")));
        };
        let path = root.join(&below);
        let failed = |error: &io::Error| {
            let reason = format!("could not write {}: {error}", path.display());
            match error.kind() {
                io::ErrorKind::InvalidFilename | io::ErrorKind::AlreadyExists | io::ErrorKind::InvalidInput => {
                    Failure::Name(reason)
                }
                _ => Failure::Writing(reason),
            }
        };
        match member.kind {
            MemberKind::Folder => fs::create_dir_all(&path).map_err(|error| failed(&error))?,
            MemberKind::File => {
                if let Some(above) = path.parent() {
                    fs::create_dir_all(above).map_err(|error| failed(&error))?;
                }
                let mut file = File::create_new(&path).map_err(|error| failed(&error))?;
                copy(&mut reader.content(), &mut file, &failed)?;
                let modified = member.modified.map(SystemTime::from);
                modified.map_or(Ok(()), |time| file.set_modified(time)).map_err(|error| failed(&error))?;
            }
            other => return Err(Failure::Name(format!("{shown:?} is no file: {other:?}"))),
        }
    }
    // What fills the last record.
    reader.has_more_than_zeros().map(drop).map_err(|error| Failure::Reading(format!("could not unpack: {error}")))
}

/// Copies, and knows which side failed.
fn copy(from: &mut impl Read, to: &mut File, failed: &dyn Fn(&io::Error) -> Failure) -> Result<(), Failure> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Reading(format!("could not unpack: {error}"))),
        };
        io::Write::write_all(to, buffer.get(..length).unwrap_or_default()).map_err(|error| failed(&error))?;
    }
}

/// A member's path without the first folder; none where it leads anywhere else than below.
fn path_below(name: &str) -> Option<PathBuf> {
    let mut segments = Path::new(name).components();
    let is_plain = |segment: &Component<'_>| matches!(segment, Component::Normal(_));
    segments.next().filter(is_plain)?;
    segments.clone().all(|segment| is_plain(&segment)).then(|| segments.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_folder() {
        assert_eq!(path_below("bag/data/a.txt"), Some(PathBuf::from("data/a.txt")));
        assert_eq!(path_below("bag/"), Some(PathBuf::new()));
        for name in ["/etc/passwd", "../x", "bag/../../x", ""] {
            assert_eq!(path_below(name), None, "{name}");
        }
    }
}
