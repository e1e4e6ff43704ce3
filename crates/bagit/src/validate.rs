//! Validates a bag where it lies: a scan, the digests that its manifests ask for, and the check. Directories, tar and zip
//! archives are hashed on all cores, the largest files first; a gzip stream in its order.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use strongroom_archive::{FileSource, SectionReader};
use strongroom_digest::{Algorithm, Progress, hash_reader};
use strongroom_listing::{Iter, Sorted, Sorter};

use crate::check::record::{pack_fact, unpack_fact};
use crate::check::{CheckLevel, CheckOptions, Evidence, FileFact, FileFacts, check};
use crate::codes;
use crate::declaration;
use crate::error::BagError;
use crate::manifest::{FETCH, ManifestKind, ManifestName, PAYLOAD};
use crate::problem::Problem;
use crate::report::{Collector, Report};
use crate::source::{BagFile, Limits, Members, Scan, Serialization, Source};

/// Files that a thread takes from the queue at once, at most.
const BATCH: usize = 64;
/// Bytes after which a batch is full.
const BATCH_BYTES: u64 = 1 << 20;

/// Validates the bag at `path`: a directory, or a tar, tar.gz or zip archive, which is not unpacked. Each byte is read once,
/// whatever the number of manifests. A folder without a declaration and without manifests is no bag: nothing in it is read or counted.
pub fn validate(path: &Path, options: &CheckOptions) -> Result<Report, BagError> {
    let source = Source::open(path)?;
    if source.is_folder_of_no_bag().map_err(|error| BagError::io("list", path, error))? {
        return check(&Nothing, &Scan::of_loose_files(0, 0), options);
    }
    let limits = &options.limits;
    let members = source.members().map_err(|error| BagError::io("open", path, error))?;
    let (scan, evidence) = if let Some(members) = members {
        hash_members(source, members, options)?
    } else {
        // The manifests may come last: every algorithm that is likely to be asked for is computed.
        let algorithms: &[Algorithm] = if options.level == CheckLevel::Full { &Algorithm::RECORDED } else { &[] };
        let is_kept = |path: &str| !path.starts_with(PAYLOAD);
        let source = source.counted(&options.progress).map_err(|error| BagError::io("inspect", path, error))?;
        let (scan, facts, tag_files) = hash_stream(source, (limits, &options.progress), algorithms, is_kept)?;
        let archive = Some(path.to_owned());
        (scan, Spilled { facts, again: Again::Stream { archive, tag_files, limits: limits.clone() } })
    };
    check(&evidence, &scan, options)
}

/// Validates a bag in a tar or tar.gz archive that comes as a stream, in one pass: such as while it is written. Nothing is
/// kept of it but the digests, and the tag files that the check reads, in a temporary file. `algorithms` are those of which
/// the bag has manifests; a file listed under another one counts as unreadable.
pub fn validate_stream(
    stream: Box<dyn Read + Send>,
    serialization: Serialization,
    archive_name: Option<String>,
    algorithms: &[Algorithm],
    options: &CheckOptions,
) -> Result<Report, BagError> {
    let source = Source::from_stream(stream, serialization, archive_name);
    let limits = &options.limits;
    let (scan, facts, tag_files) = hash_stream(source, (limits, &options.progress), algorithms, is_read_by_check)?;
    let again = Again::Stream { archive: None, tag_files, limits: limits.clone() };
    check(&Spilled { facts, again }, &scan, options)
}

/// Whether a check without a profile may read the file: what BagIt defines, and `*-info.txt` in the base directory.
fn is_read_by_check(path: &str) -> bool {
    let is_defined = path == declaration::FILE || path == FETCH || ManifestName::parse(path).is_some();
    is_defined || !path.contains('/') && path.strip_suffix("-info.txt").is_some()
}

/// Of a folder that is not read.
struct Nothing;

impl Evidence for Nothing {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        Ok(Box::new(std::iter::empty()))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        Err(BagError::Evidence(format!("there is no file {path:?}").into()))
    }
}

/// Facts in order of path, and where to read a file again.
struct Spilled {
    facts: Sorted,
    again: Again,
}

enum Again {
    Members(Members),
    /// Only by reading the archive once more, where there is one; tag files are kept in a file of their own.
    Stream {
        archive: Option<PathBuf>,
        tag_files: FileSource,
        limits: Limits,
    },
}

impl Evidence for Spilled {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        let records = self.facts.iter().map_err(BagError::Spill)?;
        Ok(Box::new(records.map(|record| {
            let (key, packed) = record.map_err(BagError::Spill)?;
            Ok(unpack_fact(&key, &packed).ok_or_else(broken)?.0)
        })))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        let Some((fact, location)) = self.find(path)? else {
            return Err(BagError::Evidence(format!("there is no file {path:?}").into()));
        };
        match &self.again {
            Again::Members(members) => {
                let entry = BagFile { path: fact.path, size: fact.size, modified: None, location };
                members.read(&entry).or_else(|error| Ok(Box::new(Failing(Some(error)))))
            }
            Again::Stream { tag_files, .. } if location != ELSEWHERE => {
                Ok(Box::new(SectionReader::new(tag_files, location, fact.size)))
            }
            Again::Stream { archive: Some(archive), limits, .. } => reread(archive, path, limits),
            Again::Stream { archive: None, .. } => {
                let error = io::Error::new(io::ErrorKind::Unsupported, "the stream is read once, and is over");
                Ok(Box::new(Failing(Some(error))))
            }
        }
    }
}

impl Spilled {
    fn find(&self, path: &str) -> Result<Option<(FileFact, u64)>, BagError> {
        match self.facts.find(path.as_bytes()).map_err(BagError::Spill)? {
            Some((key, packed)) => Ok(Some(unpack_fact(&key, &packed).ok_or_else(broken)?)),
            None => Ok(None),
        }
    }
}

fn broken() -> BagError {
    BagError::Spill(io::ErrorKind::InvalidData.into())
}

/// A reader of a file that cannot be opened: the trouble belongs to the bag and is reported when it is read.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The algorithms that a bag's manifests ask for.
#[derive(Default)]
struct WantedAlgorithms {
    payload: Vec<Algorithm>,
    tag: Vec<Algorithm>,
}

impl WantedAlgorithms {
    fn note(&mut self, path: &str) {
        let Some(manifest) = ManifestName::parse(path) else { return };
        let Some(algorithm) = manifest.algorithm else { return };
        let list = match manifest.kind {
            ManifestKind::Payload => &mut self.payload,
            ManifestKind::Tag => &mut self.tag,
        };
        if !list.contains(&algorithm) {
            list.push(algorithm);
        }
    }

    fn of(&self, path: &str) -> &[Algorithm] {
        if path.starts_with(PAYLOAD) { &self.payload } else { &self.tag }
    }
}

/// Lists the members, then hashes them in parallel.
fn hash_members(source: Source, members: Members, options: &CheckOptions) -> Result<(Scan, Spilled), BagError> {
    let limits = &options.limits;
    let mut queue = Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref());
    let mut wanted = WantedAlgorithms::default();
    let mut spill_failure = None;
    let outcome = source.scan(limits, &mut |entry, _| {
        wanted.note(&entry.path);
        // Largest first.
        let key = (!entry.size).to_be_bytes();
        let mut value = entry.location.to_le_bytes().to_vec();
        value.extend_from_slice(entry.path.as_bytes());
        queue.push(&key, &value).inspect_err(|error| {
            spill_failure = Some(BagError::Spill(io::Error::new(error.kind(), error.to_string())));
        })
    });
    if let Some(failure) = spill_failure {
        return Err(failure);
    }
    let mut scan = outcome?;
    let queue = queue.finish().map_err(BagError::Spill)?;
    let results = Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref());
    let work = Work {
        queue: Mutex::new(queue.iter().map_err(BagError::Spill)?),
        results: Mutex::new((results, Collector::new(limits))),
        wanted,
        members: &members,
        serialization: scan.serialization,
        is_read: options.level == CheckLevel::Full,
        is_over: AtomicBool::new(false),
        progress: &options.progress,
    };
    if work.is_read {
        options.progress.set_expected(scan.files, scan.bytes);
    }
    if !scan.truncated {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let outcomes: Vec<Result<(), BagError>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work.run())).collect();
            let own = work.run();
            let others =
                others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            others.chain([own]).collect()
        });
        outcomes.into_iter().collect::<Result<(), BagError>>()?;
    }
    let (results, problems) = work.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let problems = problems.finish();
    scan.problems.extend(problems.problems);
    scan.unlisted.extend(problems.unlisted);
    let facts = results.finish().map_err(BagError::Spill)?;
    Ok((scan, Spilled { facts, again: Again::Members(members) }))
}

struct Work<'w> {
    queue: Mutex<Iter<'w>>,
    results: Mutex<(Sorter, Collector)>,
    wanted: WantedAlgorithms,
    members: &'w Members,
    serialization: Serialization,
    /// Whether files are read; else their size is what the container states.
    is_read: bool,
    is_over: AtomicBool,
    progress: &'w Progress,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work<'_> {
    fn run(&self) -> Result<(), BagError> {
        loop {
            let outcome = self.take().and_then(|batch| {
                let is_last = batch.is_empty();
                self.hash(batch).map(|()| is_last)
            });
            match outcome {
                Ok(false) => {}
                Ok(true) => return Ok(()),
                Err(error) => {
                    self.is_over.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    }

    /// The next files: one large one, or as many small ones as make a batch.
    fn take(&self) -> Result<Vec<BagFile>, BagError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(batch);
        }
        let mut queue = lock(&self.queue);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(record) = queue.next() else { break };
            let (key, value) = record.map_err(BagError::Spill)?;
            let (location, path) = value.split_first_chunk().ok_or_else(broken)?;
            let size = !u64::from_be_bytes(*key.first_chunk().ok_or_else(broken)?);
            let path = String::from_utf8(path.to_vec()).map_err(|_| broken())?;
            bytes += size;
            batch.push(BagFile { path, size, modified: None, location: u64::from_le_bytes(*location) });
        }
        Ok(batch)
    }

    fn hash(&self, batch: Vec<BagFile>) -> Result<(), BagError> {
        let mut problems = Vec::new();
        let mut facts = Vec::with_capacity(batch.len());
        for entry in batch {
            if !self.is_read {
                facts.push((pack_fact(entry.size, entry.location, [], ""), entry.path));
                continue;
            }
            let digests = self.members.read(&entry).and_then(|reader| {
                let counted = self.progress.counting(reader);
                hash_reader(counted, self.wanted.of(&entry.path))
            });
            self.progress.add_file();
            match digests {
                // A file that has grown or shrunk since it was listed counts as what was read.
                Ok((length, digests)) => {
                    facts.push((pack_fact(length, entry.location, digests.iter(), ""), entry.path));
                }
                Err(error) => problems.push(self.unreadable(&error, &entry.path)),
            }
        }
        let mut results = lock(&self.results);
        for (packed, path) in facts {
            results.0.push(path.as_bytes(), &packed).map_err(BagError::Spill)?;
        }
        for problem in problems {
            results.1.push(problem);
        }
        Ok(())
    }

    fn unreadable(&self, error: &io::Error, path: &str) -> Problem {
        match self.serialization {
            Serialization::Directory => {
                codes::ENTRY_UNREADABLE.problem(format!("the file cannot be read: {error}")).about(path)
            }
            _ => crate::source::member_problem(error).about(path),
        }
    }
}

/// The place of a file that is not among the tag files kept.
const ELSEWHERE: u64 = u64::MAX;

/// Most bytes of tag files that are kept of a stream; others are read again from the archive.
const MOST_KEPT: u64 = 4 << 30;

/// Hashes a stream in its order with these algorithms. The bytes of tag files that `is_kept` names go to a temporary file.
fn hash_stream(
    source: Source,
    (limits, progress): (&Limits, &Progress),
    algorithms: &[Algorithm],
    is_kept: fn(&str) -> bool,
) -> Result<(Scan, Sorted, FileSource), BagError> {
    use io::Write;
    let mut results = Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref());
    let mut tag_files = match &limits.temporary_directory {
        Some(directory) => tempfile::tempfile_in(directory),
        None => tempfile::tempfile(),
    }
    .map_err(BagError::Spill)?;
    let mut kept = 0;
    let mut buffer = vec![0; 128 * 1024];
    let scan = source.scan(limits, &mut |entry, reader| {
        let is_kept = is_kept(&entry.path) && kept + entry.size <= MOST_KEPT;
        let mut hasher = strongroom_digest::MultiHasher::new(algorithms);
        let mut length = 0;
        loop {
            let more = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(more) => more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let bytes = buffer.get(..more).unwrap_or_default();
            hasher.update(bytes);
            if is_kept {
                tag_files.write_all(bytes)?;
            }
            length += more as u64;
        }
        progress.add_file();
        let location = if is_kept { kept } else { ELSEWHERE };
        if is_kept {
            kept += length;
        }
        results.push(entry.path.as_bytes(), &pack_fact(length, location, hasher.finish().iter(), ""))
    });
    // What the visitor above fails with is always trouble with temporary files.
    let scan = scan.map_err(|error| match error {
        BagError::Visit(error) => BagError::Spill(error),
        other => other,
    })?;
    let facts = results.finish().map_err(BagError::Spill)?;
    let tag_files = FileSource::new(tag_files).map_err(BagError::Spill)?;
    Ok((scan, facts, tag_files))
}

/// Reads one file of an archive that has no other way to it, into a temporary file.
fn reread(archive: &Path, wanted: &str, limits: &Limits) -> Result<Box<dyn Read + Send>, BagError> {
    use io::{Seek, Write};
    let mut file = match &limits.temporary_directory {
        Some(directory) => tempfile::tempfile_in(directory),
        None => tempfile::tempfile(),
    }
    .map_err(BagError::Spill)?;
    Source::open(archive)?.scan(limits, &mut |entry, reader| {
        if entry.path == wanted {
            io::copy(reader, &mut file)?;
        }
        Ok(())
    })?;
    file.flush().and_then(|()| file.rewind()).map_err(BagError::Spill)?;
    Ok(Box::new(file))
}
