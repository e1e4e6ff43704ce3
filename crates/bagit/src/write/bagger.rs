//! Bags a directory: inspects every name and kind first and reports all that is wrong at once, then reads each file once.

use std::ffi::OsString;
use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::names::{Names, problem};
use super::planned::{self, Payload};
use super::{BagWriter, NamePolicy, NewFile, WARNINGS_KEPT, WriteError, WriterOptions, WrittenBag, codes, in_place};
use crate::{Problem, Profile, Serialization, Severity};

/// The file that keeps an otherwise empty directory in a bag.
pub(super) const KEEP: &str = ".keep";

/// How a directory is bagged.
#[derive(Debug, Clone)]
pub struct BagOptions {
    /// As a directory or an archive.
    pub form: Serialization,
    /// Tags of `bag-info.txt`, in order.
    pub bag_info: Vec<(String, String)>,
    /// Further tag files: the path in the bag, and the file to take.
    pub tag_files: Vec<(String, PathBuf)>,
    /// Further tag files in the form of `bag-info.txt`: the path in the bag, and the tags in order.
    pub info_files: Vec<(String, Vec<(String, String)>)>,
    /// A profile that the bag has to keep. The bag names it, and what would break it is refused before a byte is written
    /// ([`WriteError::Profile`]).
    pub profile: Option<Profile>,
    /// Whether an empty directory gets an empty `.keep` file, so that it is not lost.
    pub keep_empty_directories: bool,
    /// Everything else.
    pub writer: WriterOptions,
}

impl Default for BagOptions {
    fn default() -> Self {
        Self {
            form: Serialization::Directory,
            bag_info: Vec::new(),
            tag_files: Vec::new(),
            info_files: Vec::new(),
            profile: None,
            keep_empty_directories: false,
            writer: WriterOptions::default(),
        }
    }
}

/// Makes a bag at `target` whose payload is what lies in `source`, which is left as it is.
///
/// Links, FIFOs, devices and names that are not UTF-8 are refused, all of them at once ([`WriteError::Refused`]).
pub fn create(source: &Path, target: &Path, options: &BagOptions) -> Result<WrittenBag, WriteError> {
    refuse_target_inside(source, target)?;
    let survey = survey(source, target, options)?;
    let writer = BagWriter::create(target, options.form, judged(options))?;
    write(source, writer, survey, options, None)
}

/// Makes a bag of a directory in its place: what lies in it is moved into `data/`, beside which the tag files are written.
/// Every file is read before anything is moved; what fails or is interrupted leaves the directory as it was.
///
/// Refuses what [`create`] refuses, and a directory that is a bag already. `options.form` does not matter.
pub fn create_in_place(directory: &Path, options: &BagOptions) -> Result<WrittenBag, WriteError> {
    let options = BagOptions { form: Serialization::Directory, ..options.clone() };
    in_place::refuse(directory)?;
    let survey = survey(directory, directory, &options)?;
    let writer = BagWriter::in_place(directory, judged(&options))?;
    write(directory, writer, survey, &options, Some(in_place::PARTIAL))
}

/// The code of a tag that a profile requires and that is not given.
const TAG_REQUIRED: &str = "profile.tag_required";

/// Checks every name below a directory and opens no file: whether [`create`] would refuse one of them, or the profile forbids
/// anything but missing tags.
pub fn check_names(source: &Path, target: &Path, options: &BagOptions) -> Result<(), WriteError> {
    match survey(source, target, options) {
        Err(WriteError::Profile { profile, mut problems, more }) => {
            problems.retain(|problem| problem.code != TAG_REQUIRED);
            if problems.is_empty() { Ok(()) } else { Err(WriteError::Profile { profile, problems, more }) }
        }
        other => other.map(|_| ()),
    }
}

/// The writer's options. The names have been judged, and a second time would cost as much.
fn judged(options: &BagOptions) -> WriterOptions {
    WriterOptions { names: NamePolicy::ACCEPT, ..options.writer.clone() }
}

fn write(
    source: &Path,
    mut writer: BagWriter<'_>,
    survey: Survey,
    options: &BagOptions,
    skipped: Option<&str>,
) -> Result<WrittenBag, WriteError> {
    options.writer.progress.set_expected(survey.files, survey.bytes);
    walk_without(source, skipped, &mut |found| match found {
        Visited::File { path, name } => add(&mut writer, &format!("data/{name}"), &path, BagWriter::add_payload),
        Visited::EmptyDirectory { name } if options.keep_empty_directories => {
            let keep = if name.is_empty() { format!("data/{KEEP}") } else { format!("data/{name}/{KEEP}") };
            writer.add_payload(&NewFile::new(&keep, 0), io::empty()).map(|_| ())
        }
        Visited::EmptyDirectory { .. } => Ok(()),
        // Changed since the survey.
        Visited::NotUtf8 { path } | Visited::Other { path, .. } => Err(WriteError::Io {
            act: "bag",
            path,
            source: io::Error::new(io::ErrorKind::InvalidInput, "it is no longer a regular file"),
        }),
    })?;
    for (path, file) in &options.tag_files {
        add(&mut writer, path, file, BagWriter::add_tag_file)?;
    }
    for (path, tags) in &options.info_files {
        let text = super::tags::bag_info(tags)?;
        writer.add_tag_file(&NewFile::new(path, text.len() as u64), text.as_bytes())?;
    }
    let mut written = writer.finish(&planned::bag_info(options))?;
    written.warnings = survey.warnings;
    written.more_warnings = survey.more_warnings;
    Ok(written)
}

fn add<'w, T>(
    writer: &mut BagWriter<'w>,
    path: &str,
    file: &Path,
    how: impl FnOnce(&mut BagWriter<'w>, &NewFile<'_>, File) -> Result<T, WriteError>,
) -> Result<(), WriteError> {
    let failed = |source| WriteError::Io { act: "read", path: file.to_owned(), source };
    let opened = open_regular(file).map_err(failed)?;
    let metadata = opened.metadata().map_err(failed)?;
    let mut new = NewFile::new(path, metadata.len());
    if let Ok(modified) = metadata.modified() {
        new = new.modified(modified);
    }
    how(writer, &new, opened).map(|_| ())
}

/// Opens without following a link and without waiting on a FIFO, should one have taken the file's place.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

fn refuse_target_inside(source: &Path, target: &Path) -> Result<(), WriteError> {
    let source_directory = fs::canonicalize(source).map_err(|error| WriteError::io("read", source, error))?;
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = match fs::canonicalize(parent) {
        Ok(parent) => parent,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(WriteError::NoTargetDirectory { path: parent.to_owned() });
        }
        Err(error) => return Err(WriteError::io("find", parent, error)),
    };
    if parent.starts_with(&source_directory) {
        return Err(WriteError::TargetInsideSource { target: target.to_owned(), source_directory });
    }
    Ok(())
}

#[derive(Default)]
struct Survey {
    files: u64,
    bytes: u64,
    warnings: Vec<Problem>,
    more_warnings: u64,
    refused: Vec<Problem>,
    more_refused: u64,
}

impl Survey {
    fn take(&mut self, problem: Problem) {
        let (list, more) = match problem.severity {
            Severity::Error => (&mut self.refused, &mut self.more_refused),
            Severity::Warning => (&mut self.warnings, &mut self.more_warnings),
        };
        if list.len() < WARNINGS_KEPT {
            list.push(problem);
        } else {
            *more += 1;
        }
    }
}

/// Inspects every entry, opening none.
fn survey(source: &Path, target: &Path, options: &BagOptions) -> Result<Survey, WriteError> {
    let writer = &options.writer;
    let mut survey = Survey::default();
    let mut names = Names::new(writer.names, writer.memory_limit / 2, writer.temporary_directory.as_deref());
    walk(source, &mut |found| {
        writer.check_interrupt()?;
        match found {
            Visited::File { path, name } => {
                let metadata = fs::symlink_metadata(&path).map_err(|error| WriteError::io("inspect", &path, error))?;
                survey.files += 1;
                survey.bytes += metadata.len();
                names.add(&name).map_err(WriteError::Spill)?;
            }
            Visited::EmptyDirectory { .. } if options.keep_empty_directories => survey.files += 1,
            Visited::EmptyDirectory { name } if !name.is_empty() => {
                let message = format!("the directory {name:?} is empty, and so not in the bag");
                survey.take(problem(codes::EMPTY_DIRECTORY, Some(&name), message));
            }
            Visited::EmptyDirectory { .. } => {}
            Visited::NotUtf8 { path } => {
                let message = format!("the name {} is not UTF-8", path.display());
                survey.take(problem(codes::NAME_NOT_UTF8, Some(&path.to_string_lossy()), message));
            }
            Visited::Other { path, kind } => {
                let message = format!("{} is {kind}", path.display());
                survey.take(problem(codes::NOT_A_FILE, Some(&path.to_string_lossy()), message));
            }
        }
        Ok(())
    })?;
    names.finish(&mut |problem| survey.take(problem)).map_err(WriteError::Spill)?;
    if survey.files == 0 && survey.refused.is_empty() {
        let message = format!("{} has no files: the bag has an empty payload", source.display());
        survey.take(problem(codes::EMPTY_PAYLOAD, None, message));
    }
    if !survey.refused.is_empty() {
        return Err(WriteError::Refused {
            path: source.to_owned(),
            problems: survey.refused,
            more: survey.more_refused,
        });
    }
    let Some(profile) = &options.profile else { return Ok(survey) };
    let payload = Payload { directory: source, files: survey.files, bytes: survey.bytes };
    planned::check(profile, &payload, target, options, &mut |problem| survey.take(problem))?;
    if survey.refused.is_empty() {
        return Ok(survey);
    }
    let profile = profile.name().to_owned();
    Err(WriteError::Profile { profile, problems: survey.refused, more: survey.more_refused })
}

/// What a walk meets.
pub(super) enum Visited {
    File { path: PathBuf, name: String },
    EmptyDirectory { name: String },
    NotUtf8 { path: PathBuf },
    Other { path: PathBuf, kind: &'static str },
}

/// Visits everything below `source`, each directory in the order of its names' bytes. Holds one listing per level.
pub(super) fn walk(source: &Path, visit: &mut dyn FnMut(Visited) -> Result<(), WriteError>) -> Result<(), WriteError> {
    walk_without(source, None, visit)
}

/// The same, without an entry of `source` itself.
fn walk_without(
    source: &Path,
    skipped: Option<&str>,
    visit: &mut dyn FnMut(Visited) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut levels = vec![Level::open(source.to_owned(), String::new())?];
    if levels.last().is_some_and(|level| level.entries.len() == 0) {
        return visit(Visited::EmptyDirectory { name: String::new() });
    }
    while let Some(level) = levels.last_mut() {
        let Some((name, kind)) = level.entries.next() else {
            levels.pop();
            continue;
        };
        if level.name.is_empty() && skipped.is_some_and(|skipped| name == skipped) {
            continue;
        }
        let path = level.path.join(&name);
        let Some(name) = name.to_str() else {
            visit(Visited::NotUtf8 { path })?;
            continue;
        };
        let name = if level.name.is_empty() { name.to_owned() } else { format!("{}/{name}", level.name) };
        if kind.is_dir() {
            let level = Level::open(path, name)?;
            if level.entries.len() == 0 {
                visit(Visited::EmptyDirectory { name: level.name })?;
            } else {
                levels.push(level);
            }
        } else if kind.is_file() {
            visit(Visited::File { path, name })?;
        } else {
            visit(Visited::Other { path, kind: describe(kind) })?;
        }
    }
    Ok(())
}

struct Level {
    path: PathBuf,
    name: String,
    entries: std::vec::IntoIter<(OsString, FileType)>,
}

impl Level {
    fn open(path: PathBuf, name: String) -> Result<Self, WriteError> {
        let list = || -> io::Result<Vec<(OsString, FileType)>> {
            fs::read_dir(&path)?
                .map(|entry| {
                    let entry = entry?;
                    Ok((entry.file_name(), entry.file_type()?))
                })
                .collect()
        };
        let mut entries = list().map_err(|error| WriteError::io("list", &path, error))?;
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self { path, name, entries: entries.into_iter() })
    }
}

fn describe(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_symlink() { "a symbolic link" } else { "no regular file" }
}
