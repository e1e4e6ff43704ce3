//! Where something is given back to: a folder, or the institution's place in the restoration store. Either way it appears
//! whole under its name or not at all, and its SHA-256 and size are told.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::SystemTime;

use strongroom_digest::{Algorithm, Digest, MultiHasher};
use strongroom_registry::objects::DEPOSIT;
use strongroom_registry::restored::{self, Place, Turn};
use strongroom_storage::{Key, PutOptions};

use super::request::RestoreOptions;
use crate::crash_point;
use crate::ingest::{StageContext, StageError};

/// Bytes handed over at once.
const CHUNK: usize = 256 << 10;
/// Chunks that may wait for the store.
const CHUNKS_WAITING: usize = 4;
/// The longest name that any file system in use takes, with room for a suffix.
const LONGEST_NAME: usize = 240;

/// A place to give back to.
pub(super) enum Target {
    /// A folder of this machine.
    Folder(PathBuf),
    /// The restoration store, below the institution.
    Store(Key),
}

/// What was given back, where, and how to prove it.
pub(super) struct Given {
    place: String,
    pub(super) size: u64,
    sha256: Digest,
    /// Where it lies in the restoration store, if that is where it is.
    pub(super) stored: Option<Stored>,
}

/// Something in the restoration store.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) place: Place,
    /// As it was put.
    pub(super) etag: String,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes, sha256:{}", self.place, self.size, self.sha256)
    }
}

/// What writes the bytes; it may be asked again after it failed.
pub(super) type Give<'g> = dyn FnMut(&mut (dyn Write + Send)) -> Result<(), StageError> + 'g;

impl Target {
    pub(super) fn of(context: &StageContext<'_>, options: &RestoreOptions) -> Result<Self, StageError> {
        Ok(match &options.to {
            Some(folder) => Self::Folder(PathBuf::from(folder)),
            None => Self::Store(Key::new(context.item.institution_identifier.as_str())?),
        })
    }

    /// Gives back what `give` writes: in a folder under the last segment of `path`, in the store under all of it.
    pub(super) fn put(
        &self,
        context: &StageContext<'_>,
        path: &[&str],
        modified: Option<SystemTime>,
        give: &mut Give<'_>,
    ) -> Result<Given, StageError> {
        match self {
            Self::Folder(folder) => {
                let name = safe_name(path.last().copied().unwrap_or_default());
                put_into_folder(context, folder, &name, modified, give)
            }
            Self::Store(prefix) => {
                let names: Vec<String> = path.iter().map(|segment| safe_name(segment)).collect();
                let key = prefix.join(&names.join("/"));
                // A path too long for a key is known by the item that gave it back.
                let key = key.or_else(|_| prefix.join(&context.item.id.to_string()))?;
                put_into_store(context, &key, give)
            }
        }
    }
}

fn put_into_folder(
    context: &StageContext<'_>,
    folder: &Path,
    name: &str,
    modified: Option<SystemTime>,
    give: &mut Give<'_>,
) -> Result<Given, StageError> {
    let trouble = |act: &str, error: &io::Error| StageError::Transient(format!("could not {act}: {error}"));
    fs::create_dir_all(folder).map_err(|error| trouble(&format!("make {}", folder.display()), &error))?;
    let beginning = format!(".{}-", context.item.id);
    drop_partial(folder, &beginning);
    // Another attempt, which may not know yet that it has ended, writes to a name of its own.
    let partial = Partial(folder.join(format!("{beginning}{}.partial", context.claim.fence)));
    let shown = partial.0.display().to_string();
    let file = File::create(&partial.0).map_err(|error| trouble(&format!("make {shown}"), &error))?;
    let mut out = Hashing::new(BufWriter::with_capacity(CHUNK, file));
    give(&mut out)?;
    let (out, size, sha256) = out.finish()?;
    let finished = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
        if let Some(time) = modified {
            file.set_modified(time)?;
        }
        file.sync_all()
    });
    finished.map_err(|error| trouble(&format!("write {shown}"), &error))?;
    context.task.check_lease()?;
    let path = folder.join(name);
    let renamed = fs::rename(&partial.0, &path).and_then(|()| File::open(folder)?.sync_all());
    renamed.map_err(|error| trouble(&format!("put {} in its place", path.display()), &error))?;
    Ok(Given { place: path.display().to_string(), size, sha256, stored: None })
}

/// Removes what earlier attempts of the item left in the folder.
fn drop_partial(folder: &Path, beginning: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(beginning)) {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file that goes when it has not been renamed.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn put_into_store(context: &StageContext<'_>, key: &Key, give: &mut Give<'_>) -> Result<Given, StageError> {
    let store = &context.home.roles.restoration;
    let place = Place { store: store.name().to_owned(), key: key.to_string() };
    take_turn(context, &place)?;
    crash_point("restoration.put.begun");
    let (sender, receiver) = sync_channel(CHUNKS_WAITING);
    let mut out = Hashing::new(ToStore { sender, chunk: Vec::with_capacity(CHUNK) });
    let (given, stored) = std::thread::scope(|scope| {
        let storing = scope.spawn(|| {
            let mut body = FromWriter { receiver, chunk: Vec::new(), used: 0, ended: false };
            store.put(key, &mut body, &PutOptions::default())
        });
        let given = give(&mut out).and_then(|()| {
            context.task.check_lease()?;
            let (out, size, sha256) = out.finish()?;
            // Without this the store takes nothing: whatever stops before it leaves no trace.
            out.end().map_err(|error| StageError::Transient(format!("could not end {key}: {error}")))?;
            Ok((size, sha256))
        });
        (given, storing.join())
    });
    match (given, stored) {
        (Ok((size, sha256)), Ok(Ok(head))) => {
            crash_point("restoration.put.done");
            let shown = format!("{key} in store {}", store.name());
            Ok(Given { place: shown, size, sha256, stored: Some(Stored { place, etag: head.etag }) })
        }
        (Err(error @ StageError::Interrupted(_)), _) => Err(error),
        // Where the store failed, the writer only saw that nobody reads any more.
        (_, Ok(Err(error))) if !matches!(error, strongroom_storage::StorageError::Source { .. }) => Err(error.into()),
        (Err(error), _) => Err(error),
        (Ok(_), Ok(Err(error))) => Err(error.into()),
        (Ok(_), Err(_)) => Err(StageError::Transient("a thread of the stage panicked".into())),
    }
}

/// Notes what is about to be put where, and waits while somebody else is at that place.
fn take_turn(context: &StageContext<'_>, place: &Place) -> Result<(), StageError> {
    let (institution, there) = (context.item.institution, place.clone());
    match context.write(move |tx, claim| restored::begin(tx, claim, institution, &there))? {
        Turn::Ours => Ok(()),
        Turn::Busy(until) => Err(StageError::Waits {
            until,
            note: format!(
                "waits for {} in store {}, which somebody else is putting or removing",
                place.key, place.store
            ),
        }),
    }
}

enum Handed {
    Bytes(Vec<u8>),
    End,
}

/// The writer's end of the way into a store.
struct ToStore {
    sender: SyncSender<Handed>,
    chunk: Vec<u8>,
}

impl ToStore {
    fn hand_over(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.sender.send(Handed::Bytes(chunk)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn end(mut self) -> io::Result<()> {
        self.hand_over()?;
        self.sender.send(Handed::End).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for ToStore {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK - self.chunk.len().min(CHUNK);
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.chunk.extend_from_slice(taken);
        if self.chunk.len() >= CHUNK {
            self.hand_over()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The store's end: an end that was not announced is an error, so that nothing partial is ever kept.
struct FromWriter {
    receiver: Receiver<Handed>,
    chunk: Vec<u8>,
    used: usize,
    ended: bool,
}

impl Read for FromWriter {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used >= self.chunk.len() {
            if self.ended {
                return Ok(0);
            }
            match self.receiver.recv() {
                Ok(Handed::Bytes(chunk)) => (self.chunk, self.used) = (chunk, 0),
                Ok(Handed::End) => self.ended = true,
                Err(_) => return Err(io::Error::other("the restoration stopped before its end")),
            }
        }
        let length = self.chunk.get(self.used..).unwrap_or_default().read(buffer)?;
        self.used += length;
        Ok(length)
    }
}

/// Hashes and counts what passes.
struct Hashing<W> {
    inner: W,
    hasher: MultiHasher,
}

impl<W: Write> Hashing<W> {
    fn new(inner: W) -> Self {
        Self { inner, hasher: MultiHasher::new(&[Algorithm::Sha256]) }
    }

    fn finish(self) -> Result<(W, u64, Digest), StageError> {
        let size = self.hasher.length();
        let sha256 = self.hasher.finish().get(Algorithm::Sha256);
        let sha256 = sha256.ok_or_else(|| StageError::fatal("the sha256 of what was given back was not computed"))?;
        Ok((self.inner, size, sha256))
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A logical path as people know it.
pub(super) fn shown_path(path: &str) -> &str {
    path.strip_prefix(DEPOSIT).unwrap_or(path)
}

/// The last segment of a path.
pub(super) fn file_name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name that every file system and store takes: without control characters and separators, no dots alone, and not too
/// long. What is changed is percent-encoded, or cut and marked by a digest.
pub(super) fn safe_name(name: &str) -> String {
    use fmt::Write as _;
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() || matches!(character, '/' | '\\') {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(safe, "%{byte:02X}");
            }
        } else {
            safe.push(character);
        }
    }
    if safe.chars().all(|character| character == '.') {
        return if safe.is_empty() { "unnamed".into() } else { safe.replace('.', "%2E") };
    }
    if safe.len() <= LONGEST_NAME {
        return safe;
    }
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(name.as_bytes());
    let digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
    let mut end = LONGEST_NAME - 17;
    while !safe.is_char_boundary(end) {
        end -= 1;
    }
    safe.truncate(end);
    format!("{safe}~{}", digest.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_to_a_file_system_are_encoded() {
        assert_eq!(safe_name("a b.txt"), "a b.txt");
        assert_eq!(safe_name(".."), "%2E%2E");
        assert_eq!(safe_name("a\nb\\c"), "a%0Ab%5Cc");
        assert_eq!(safe_name("..."), "%2E%2E%2E");
        assert_eq!(safe_name(""), "unnamed");
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let (one, other) = (safe_name(&"ä".repeat(200)), safe_name(&"ä".repeat(201)));
        assert!(one.len() <= LONGEST_NAME && other.len() <= LONGEST_NAME);
        assert_ne!(one, other);
    }

    #[test]
    fn an_end_that_was_not_announced_is_an_error() {
        let (sender, receiver) = sync_channel(2);
        let mut reader = FromWriter { receiver, chunk: Vec::new(), used: 0, ended: false };
        let mut writer = ToStore { sender, chunk: Vec::new() };
        writer.write_all(b"half").unwrap();
        writer.hand_over().unwrap();
        drop(writer);
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
    }
}
