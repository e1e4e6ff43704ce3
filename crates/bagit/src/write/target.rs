//! A target appears whole or not at all: it is written under a temporary name beside its place, synced, and renamed.
//!
//! Nothing that exists is written over, not even when it appears while the bag is being written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::WriteError;
use super::sink::{FileHeader, Output, Sink};

/// Bytes gathered before they go to an archive file.
const BUFFER: usize = 256 << 10;

/// The directory a target lies in, with the temporary name's prefix; refuses a target that exists.
fn place(target: &Path) -> Result<(PathBuf, String), WriteError> {
    let Some(name) = target.file_name() else {
        return Err(WriteError::Options { reason: "the target has no file name" });
    };
    match fs::symlink_metadata(target) {
        Ok(_) => return Err(WriteError::TargetExists { path: target.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(WriteError::io("inspect", target, error)),
    }
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok((parent, format!(".{}.", name.to_string_lossy().chars().take(60).collect::<String>())))
}

/// Makes a directory entry outlast a crash.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// An archive file that takes its place when it is closed.
pub(super) struct FileTarget {
    file: BufWriter<tempfile::NamedTempFile>,
    target: PathBuf,
    parent: PathBuf,
}

impl FileTarget {
    pub(super) fn create(target: &Path) -> Result<Self, WriteError> {
        let (parent, prefix) = place(target)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(&parent).map_err(|error| WriteError::io("create a file in", &parent, error))?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), target: target.to_owned(), parent })
    }
}

impl Write for FileTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output for FileTarget {
    fn close(self: Box<Self>) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&self.target).map_err(|error| error.error)?;
        sync_directory(&self.parent)
    }
}

/// A directory that takes its place when it is finished.
pub(super) struct DirectoryTarget {
    temporary: tempfile::TempDir,
    /// The bag inside the temporary directory, so that its permissions are those of any new directory.
    root: PathBuf,
    target: PathBuf,
    parent: PathBuf,
    /// Where the last file went; spares a system call per file.
    last_directory: PathBuf,
    open: Option<(File, std::time::SystemTime)>,
}

impl DirectoryTarget {
    pub(super) fn create(target: &Path) -> Result<Self, WriteError> {
        let (parent, prefix) = place(target)?;
        let temporary = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".partial")
            .tempdir_in(&parent)
            .map_err(|error| WriteError::io("create a directory in", &parent, error))?;
        let root = temporary.path().join("bag");
        fs::create_dir_all(root.join("data")).map_err(|error| WriteError::io("create", &root, error))?;
        Ok(Self { temporary, last_directory: root.clone(), root, target: target.to_owned(), parent, open: None })
    }
}

impl Sink for DirectoryTarget {
    fn begin(&mut self, entry: &FileHeader<'_>) -> io::Result<()> {
        let path = self.root.join(entry.path);
        if let Some(directory) = path.parent()
            && directory != self.last_directory
        {
            fs::create_dir_all(directory)?;
            directory.clone_into(&mut self.last_directory);
        }
        self.open = Some((File::options().write(true).create_new(true).open(path)?, entry.modified));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.open {
            Some((file, _)) => file.write_all(bytes),
            None => Err(io::Error::other("no file is open")),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        let Some((file, modified)) = self.open.take() else { return Ok(()) };
        file.set_modified(modified)?;
        if cfg!(not(target_os = "linux")) {
            file.sync_all()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        sync_tree(&self.root)?;
        rename_to_nothing(&self.root, &self.target)?;
        sync_directory(&self.parent)?;
        self.temporary.close()
    }
}

/// Syncs the file system once: for many files far cheaper than one sync each.
#[cfg(target_os = "linux")]
fn sync_tree(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

/// Elsewhere each file was synced when it ended; what remains are the directories.
#[cfg(not(target_os = "linux"))]
fn sync_tree(root: &Path) -> io::Result<()> {
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            }
        }
        sync_directory(&directory)?;
    }
    Ok(())
}

/// Renames, unless something is there; on Linux in one step.
fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // File systems that cannot do this say so; then looking first is the best there is.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return Ok(other?),
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}
