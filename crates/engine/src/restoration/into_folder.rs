//! A result in a folder of this machine: written beside its name, then renamed in only where nothing has that name. Where
//! something has it that is not this result, the next free name is taken.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, open, renameat_with};
use rustix::io::Errno;
use strongroom_digest::{Algorithm, Digest, hash_reader};

use super::names::{MOST_NAMES, numbered};
use super::pipe::{CHUNK, Hashing};
use super::target::{Delivery, Give};
use crate::crash_point;
use crate::workflow::{StageContext, StageError};

fn failed(act: &str, error: &io::Error) -> StageError {
    StageError::Transient(format!("could not {act}: {error}"))
}

pub(super) fn put(
    context: &StageContext<'_>,
    folder: &Path,
    name: &str,
    modified: Option<SystemTime>,
    give: &mut Give<'_>,
) -> Result<Delivery, StageError> {
    let partial = begin(context, folder)?;
    let shown = partial.0.display().to_string();
    let file = File::create_new(&partial.0).map_err(|error| failed(&format!("make {shown}"), &error))?;
    let mut out = Hashing::new(BufWriter::with_capacity(CHUNK, file));
    give(&mut out)?;
    let (out, size, sha256) = out.finish()?;
    let finished = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
        if let Some(time) = modified {
            file.set_modified(time)?;
        }
        file.sync_all()
    });
    finished.map_err(|error| failed(&format!("write {shown}"), &error))?;
    context.task.check_lease()?;
    crash_point("restoration.rename.begun");
    let path = name_partial(context, &partial, &folder.join(name), &|path| is_same(path, size, &sha256))?;
    crash_point("restoration.rename.end");
    sync_folder(folder)?;
    Ok(Delivery { place: path.display().to_string(), size, sha256, stored: None })
}

/// Makes the folder, and the name in it under which this attempt writes; what earlier attempts have left goes.
pub(super) fn begin(context: &StageContext<'_>, folder: &Path) -> Result<Partial, StageError> {
    fs::create_dir_all(folder).map_err(|error| failed(&format!("make {}", folder.display()), &error))?;
    let beginning = format!(".{}-", context.item.id);
    drop_partial(folder, &beginning, context.claim.fence);
    // Another attempt, which may not know yet that it has ended, writes to a name of its own.
    Ok(Partial(folder.join(format!("{beginning}{}.partial", context.claim.fence))))
}

/// Makes the names in a folder outlast a crash.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StageError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| failed(&format!("sync {}", folder.display()), &error))
}

/// Gives what is finished its name, or the next one that is free. Where an earlier attempt of the item has done so already,
/// that is enough: `is_result` says by what has the name.
pub(super) fn name_partial(
    context: &StageContext<'_>,
    partial: &Partial,
    wanted: &Path,
    is_result: &dyn Fn(&Path) -> io::Result<bool>,
) -> Result<PathBuf, StageError> {
    let name = wanted.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=MOST_NAMES {
        let path = wanted.with_file_name(numbered(&name, number));
        let act = || format!("give the result the name {}", path.display());
        match rename_new(&partial.0, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if is_result(&path).map_err(|error| failed(&act(), &error))? {
                    return Ok(path);
                }
            }
            Err(error) => return Err(failed(&act(), &error)),
        }
        context.task.check_lease()?;
    }
    Err(StageError::fatal(format!(
        "{} and {MOST_NAMES} names after it are in use; nothing is replaced; next: restore into another folder",
        wanted.display()
    )))
}

/// Renames where nothing has the new name; [`io::ErrorKind::AlreadyExists`] where something has, a dangling link too.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems without this flag have hard links, and the other way round.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if from.is_dir() => {
            // A folder takes the place of an empty one: of that which is made here, where nothing had the name.
            fs::create_dir(to)?;
            fs::rename(from, to)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        outcome => Ok(outcome?),
    }
}

/// Whether a regular file with these bytes lies there, and is on the disk.
fn is_same(path: &Path, size: u64, sha256: &Digest) -> io::Result<bool> {
    let Some(file) = open_regular(path)? else { return Ok(false) };
    if file.metadata()?.len() != size {
        return Ok(false);
    }
    let (length, digests) = hash_reader(&file, &[Algorithm::Sha256])?;
    let is_same = length == size && digests.get(Algorithm::Sha256).as_ref() == Some(sha256);
    if is_same {
        file.sync_all()?;
    }
    Ok(is_same)
}

/// Opens what lies there, where it is a regular file that can be read: what an attempt of this user has put there is one.
pub(super) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    // Without `NONBLOCK` a named pipe would wait for someone to write to it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP | Errno::NOENT | Errno::ACCESS | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Removes what earlier attempts of the item left in the folder. What a later one writes stays: this attempt may have slept.
fn drop_partial(folder: &Path, beginning: &str, fence: i64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let other = name.to_str().and_then(|name| name.strip_prefix(beginning)?.strip_suffix(".partial"));
        if other.and_then(|fence| fence.parse::<i64>().ok()).is_some_and(|other| other <= fence) {
            remove(&entry.path());
        }
    }
}

/// Removes a file, or a folder with all that is in it. What cannot be removed does no harm.
fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// A file or folder that goes when it has not been renamed.
pub(super) struct Partial(pub(super) PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_use_is_never_taken_whatever_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let [new, file, link] = ["new", "file", "link"].map(|name| folder.path().join(name));
        fs::write(&new, "new").expect("writes");
        fs::write(&file, "old").expect("writes");
        std::os::unix::fs::symlink(folder.path().join("absent"), &link).expect("links");
        for taken in [&file, &link, &folder.path().to_owned()] {
            let error = rename_new(&new, taken).expect_err("is refused");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{}", taken.display());
        }
        assert_eq!(fs::read(&file).expect("reads"), b"old");
        assert_eq!(fs::read(&new).expect("reads"), b"new");
    }

    #[test]
    fn an_attempt_that_slept_leaves_what_a_later_one_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [".item-1.partial", ".item-2.partial", ".item-3.partial", ".item-of-others"] {
            fs::write(folder.path().join(name), "half").expect("writes");
        }
        drop_partial(folder.path(), ".item-", 2);
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).expect("lists").flatten().map(|one| one.file_name()).collect();
        left.sort();
        assert_eq!(left, [".item-3.partial", ".item-of-others"]);
    }
}
