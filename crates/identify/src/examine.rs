//! Inspects one file: opens it, identifies it, and goes on into archives where that is wanted.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use strongroom_archive::{FileSource, Source, SourceReader};
use strongroom_digest::{Algorithm, Digest, MultiHasher, Progress, hash_reader};
use strongroom_pronom::{Identification, Identifier, Observed, Options};

use crate::Target;
use crate::archives::{self, Archives};
use crate::entry::{Examined, IdentifiedFile, Unidentified, UnidentifiedKind, timestamp};
use crate::spool::Spool;

/// Bytes read at once from what passes by.
const BLOCK: usize = 64 << 10;

/// Takes an answer; says whether to go on.
pub(crate) type Emit<'e> = &'e mut dyn FnMut(Examined) -> bool;

/// What every file is inspected with.
pub struct Examiner {
    /// The signatures.
    pub identifier: Identifier,
    /// Limits of one look.
    pub options: Options,
    /// How far archives are opened, if they are.
    pub archives: Option<Archives>,
    /// Which digest of each file is computed, if one is. It reads every file whole.
    pub hash: Option<Algorithm>,
    /// Counts the files that were inspected, without members of archives; and the bytes that are read of them: with a digest
    /// all, without one those that the identification asks for.
    pub progress: Progress,
}

/// A file whose bytes are counted as they are read.
struct CountedSource<'s> {
    source: &'s FileSource,
    progress: Progress,
}

impl Source for CountedSource<'_> {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read_at(offset, buffer)?;
        self.progress.add_bytes(length as u64);
        Ok(length)
    }
}

/// What bytes told that passed by.
pub(crate) struct Streamed {
    pub(crate) identification: Identification,
    /// The digest of all bytes, where it was asked for and they all came.
    pub(crate) digest: Option<Digest>,
    /// Bytes that came.
    pub(crate) size: u64,
    /// The bytes, where they were kept.
    pub(crate) kept: Option<Box<dyn Source>>,
    /// What ended the stream before its end.
    pub(crate) cause: Option<Cause>,
}

/// Why a stream was not read to its end.
pub(crate) enum Cause {
    /// There are more bytes than are allowed.
    TooLong,
    /// The stream is damaged, or its source failed.
    Broken(io::Error),
}

impl Examiner {
    /// Inspects a target and says what there is.
    pub(crate) fn examine(&self, target: &Target, emit: Emit<'_>) {
        let outcome = match target {
            Target::File(path) => self.examine_file(path, emit),
            Target::StandardInput { name } => self.examine_standard_input(name, emit),
        };
        if let Err(error) = outcome {
            emit(Examined::Unidentified(Unidentified::new(
                target.path(),
                UnidentifiedKind::Unreadable,
                error.to_string(),
            )));
        }
    }

    fn examine_file(&self, path: &Path, emit: Emit<'_>) -> io::Result<()> {
        // What was a file when it was listed may be a FIFO by now, which must not hold us up.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            let reason = "it is no regular file";
            emit(Examined::Unidentified(Unidentified::new(path.as_os_str(), UnidentifiedKind::Skipped, reason)));
            return Ok(());
        }
        let source = FileSource::new(file)?;
        // With a digest every byte is read once for it; what is read once more of these is not counted.
        let progress = if self.hash.is_some() { Progress::default() } else { self.progress.clone() };
        let counted = CountedSource { source: &source, progress };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let entry = IdentifiedFile {
            path: path.as_os_str().to_owned(),
            size: source.size(),
            modified: timestamp(metadata.modified()),
            digest: self.digest_through(&source, |reader| self.progress.counting(reader))?,
            identification: self.identifier.identify(&name, &counted, &self.options)?,
            note: None,
        };
        self.progress.add_file();
        self.tell_and_open(entry, &counted, emit);
        Ok(())
    }

    /// The digest that was asked for, of bytes that can be read again.
    pub(crate) fn digest_of(&self, source: &dyn Source) -> io::Result<Option<Digest>> {
        self.digest_through(source, |reader| reader)
    }

    /// The same, read through what `through` makes of the bytes.
    fn digest_through<'s, R: Read>(
        &self,
        source: &'s dyn Source,
        through: impl FnOnce(SourceReader<'s, dyn Source + 's>) -> R,
    ) -> io::Result<Option<Digest>> {
        let Some(algorithm) = self.hash else { return Ok(None) };
        let (_, digests) = hash_reader(through(SourceReader::new(source)), &[algorithm])?;
        Ok(digests.get(algorithm))
    }

    fn examine_standard_input(&self, name: &str, emit: Emit<'_>) -> io::Result<()> {
        let streamed = self.observe(name, &mut self.progress.counting(io::stdin().lock()), u64::MAX, true)?;
        if let Some(Cause::Broken(error)) = streamed.cause {
            return Err(error);
        }
        let path = if name.is_empty() { "-" } else { name };
        let entry = IdentifiedFile {
            path: path.into(),
            size: streamed.size,
            modified: None,
            digest: streamed.digest,
            identification: streamed.identification,
            note: None,
        };
        self.progress.add_file();
        match streamed.kept {
            Some(kept) => self.tell_and_open(entry, &*kept, emit),
            None => drop(emit(Examined::IdentifiedFile(Box::new(entry)))),
        }
        Ok(())
    }

    fn tell_and_open(&self, entry: IdentifiedFile, source: &dyn Source, emit: Emit<'_>) {
        let archive = self.archives.as_ref().zip(archives::kind(&entry.identification));
        let path = entry.path.clone();
        if emit(Examined::IdentifiedFile(Box::new(entry)))
            && let Some((archives, kind)) = archive
        {
            archives.open(self, kind, &path, source, emit);
        }
    }

    /// Identifies bytes that pass by, `most` of them, and keeps them where a second look may be wanted: always what is
    /// short, else what may be a container or, where members are `opened`, an archive. An error is one of the temporary
    /// file; trouble with the stream is a cause.
    pub(crate) fn observe(&self, name: &str, stream: &mut dyn Read, most: u64, opened: bool) -> io::Result<Streamed> {
        let is_worth_a_file = |beginning: &[u8]| {
            archives::may_be_container(beginning) || (opened && self.archives.is_some() && archives::may_be(beginning))
        };
        let mut observation = self.identifier.observe(name, &self.options);
        let mut spool = Spool::new();
        let mut hasher = self.hash.map(|algorithm| MultiHasher::new(&[algorithm]));
        let mut buffer = vec![0; BLOCK];
        let mut size = 0_u64;
        let cause = loop {
            let length = match stream.read(&mut buffer) {
                Ok(0) => break None,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => break Some(Cause::Broken(error)),
            };
            let allowed = usize::try_from(most - size).unwrap_or(usize::MAX).min(length);
            let bytes = buffer.get(..allowed).unwrap_or_default();
            size += allowed as u64;
            observation.update(bytes);
            if let Some(hasher) = &mut hasher {
                hasher.update(bytes);
            }
            spool.write(bytes, &is_worth_a_file)?;
            if allowed < length {
                break Some(Cause::TooLong);
            }
        };
        let kept = spool.finish()?;
        let identification = match (observation.finish(), &kept, &cause) {
            (Observed::Complete(identification), _, _) => identification,
            (Observed::Container(pending), Some(kept), None) => pending.finish(&**kept)?,
            (Observed::Container(pending), _, Some(Cause::TooLong)) => pending.give_up("it was cut off"),
            (Observed::Container(pending), _, Some(Cause::Broken(error))) => pending.give_up(&error.to_string()),
            (Observed::Container(pending), None, None) => pending.give_up("it passed by and was not kept"),
        };
        let digest = self.hash.zip(hasher).filter(|_| cause.is_none());
        let digest = digest.and_then(|(algorithm, hasher)| hasher.finish().get(algorithm));
        Ok(Streamed { identification, digest, size, kept, cause })
    }
}

impl Target {
    /// As it is reported.
    pub fn path(&self) -> &OsStr {
        match self {
            Self::File(path) => path.as_os_str(),
            Self::StandardInput { name } if name.is_empty() => OsStr::new("-"),
            Self::StandardInput { name } => OsStr::new(name),
        }
    }
}
