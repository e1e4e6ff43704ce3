//! A result as a folder: the tar that a restoration writes is unpacked on its way, into a folder beside the name, which is then
//! renamed only where nothing has that name.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use strongroom_archive::MemberKind;
use strongroom_archive::tar::{Reader, StreamInput};

use super::into_folder::{begin, name_partial, open_regular, sync_folder};
use super::pipe::{CHUNK, Hashing, pipe};
use super::target::{Delivery, Give};
use crate::crash_point;
use crate::workflow::{StageContext, StageError};

/// Why a tar could not be unpacked.
enum Failure {
    /// It could not be read: the caller that writes it says why.
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
        (_, Ok(Err(Failure::Writing(reason)))) | (Ok(_), Ok(Err(Failure::Reading(reason)))) => {
            return Err(StageError::Transient(reason));
        }
        (_, Ok(Err(Failure::Name(reason)))) => {
            return Err(StageError::fatal(format!("{reason}; next: restore the object as a tar")));
        }
        (Err(error), _) => return Err(error),
        (Ok(written), Ok(Ok(()))) => written,
    };
    // For many files one sync is cheaper than one each.
    let synced = File::open(&partial.0).and_then(|root| Ok(rustix::fs::syncfs(root)?));
    synced.map_err(|error| failed(&format!("sync {shown}"), &error))?;
    context.task.check_lease()?;
    crash_point("restoration.rename.begun");
    // An attempt that was cut short behind this may have given the name already: then the same lies there.
    let is_result = |path: &Path| {
        let is_same = is_same_folder(&partial.0, path)?;
        if is_same {
            // The caller that made it may not have synced it.
            rustix::fs::syncfs(File::open(path)?)?;
        }
        Ok(is_same)
    };
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
    reader.rest().map(drop).map_err(|error| Failure::Reading(format!("could not unpack: {error}")))
}

/// Whether another folder has the same files with the same bytes, and nothing else. Links are not followed. Memory does not grow
/// with the number of files.
fn is_same_folder(ours: &Path, other: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(other)?.is_dir() {
        return Ok(false);
    }
    let mut count = 0_usize;
    for entry in fs::read_dir(ours)? {
        let entry = entry?;
        count += 1;
        let beside = other.join(entry.file_name());
        let is_same = if entry.file_type()?.is_dir() {
            beside.symlink_metadata().is_ok_and(|found| found.is_dir()) && is_same_folder(&entry.path(), &beside)?
        } else {
            is_same_file(&entry.path(), &beside)?
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(fs::read_dir(other)?.take(count + 1).count() == count)
}

/// Whether a regular file with the same bytes lies there.
fn is_same_file(ours: &Path, other: &Path) -> io::Result<bool> {
    let Some(other) = open_regular(other)? else { return Ok(false) };
    let ours = File::open(ours)?;
    if ours.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let [mut ours, mut other] = [ours, other].map(|file| BufReader::with_capacity(CHUNK, file));
    loop {
        let (left, right) = (ours.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        ours.consume(length);
        other.consume(length);
    }
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

    #[test]
    fn a_folder_is_the_same_only_with_the_same_files_and_nothing_else() {
        let place = tempfile::tempdir().expect("a folder");
        let [ours, other] = ["ours", "other"].map(|name| place.path().join(name));
        let fill = |folder: &Path| {
            fs::create_dir_all(folder.join("data/b")).expect("makes folders");
            fs::write(folder.join("data/b/c.txt"), "two").expect("writes");
            fs::write(folder.join("a.txt"), "one").expect("writes");
        };
        let changes: [&dyn Fn(); 6] = [
            &|| fs::write(other.join("a.txt"), "ONE").expect("writes"),
            &|| fs::write(other.join("a.txt"), "one and more").expect("writes"),
            &|| fs::write(other.join("data/d.txt"), "more").expect("writes"),
            &|| fs::remove_file(other.join("data/b/c.txt")).expect("removes"),
            &|| fs::remove_dir_all(other.join("data")).expect("removes"),
            &|| {
                fs::remove_file(other.join("a.txt")).expect("removes");
                std::os::unix::fs::symlink(ours.join("a.txt"), other.join("a.txt")).expect("links");
            },
        ];
        fill(&ours);
        for (number, change) in changes.iter().enumerate() {
            let _ = fs::remove_dir_all(&other);
            fill(&other);
            assert!(is_same_folder(&ours, &other).expect("reads"));
            change();
            assert!(!is_same_folder(&ours, &other).expect("reads"), "{number}");
        }
        assert!(!is_same_folder(&ours, &ours.join("a.txt")).expect("reads"));
    }
}
