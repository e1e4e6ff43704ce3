//! XML files as a source of records.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;

use strongroom_download::Supervision;

use crate::error::{HarvestError, Place, name};
use crate::files::cursor::FileCursor;
use crate::files::elements::{FileReader, Wanted};
use crate::files::path::ElementPath;
use crate::files::walk::{Entry, Walk};
use crate::limits::Limits;
use crate::notice::Notice;
use crate::passed::Passed;
use crate::source::{Cursor, Description, Event, RecordSource, Records};

/// The namespace of MARC-XML.
const MARC: &str = "http://www.loc.gov/MARC21/slim";
/// Records after which there is a cursor within a file.
const RECORDS_OF_CURSOR: u64 = 1000;

/// What is a record in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRecords {
    /// `record` of MARC-XML, with or without its namespace. Its identifier is control field 001, and it is deleted where its leader says
    /// so (status `d`).
    Marc,
    /// Every element with a name.
    Elements {
        /// The name, without prefix.
        name: String,
        /// The namespace; none for every one.
        namespace: Option<String>,
        /// Where the identifier is.
        id: ElementPath,
    },
    /// Each file.
    Files {
        /// Where the identifier is below the root element; none for the path of the file below the folder.
        id: Option<ElementPath>,
    },
}

/// What is read of the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOptions {
    /// A file, or a folder whose files with the ending `.xml` are read, also those of folders below it.
    pub path: PathBuf,
    /// What is a record.
    pub records: FileRecords,
    /// The bounds.
    pub limits: Limits,
}

/// XML files as a source of records. Symbolic links are not followed; each is a notice.
#[derive(Debug)]
pub struct FileSource {
    options: FileOptions,
    is_folder: bool,
    id: Option<ElementPath>,
    leader: Option<ElementPath>,
}

impl FileSource {
    /// Reads the records of a file or folder.
    pub fn new(options: FileOptions) -> Result<Self, HarvestError> {
        let failed = |source| HarvestError::File { act: "read", path: options.path.clone(), source };
        let metadata = fs::symlink_metadata(&options.path).map_err(failed)?;
        if metadata.is_symlink() {
            return Err(failed(io::Error::other("it is a symbolic link, which is not followed")));
        }
        let (id, leader) = match &options.records {
            FileRecords::Marc => {
                (Some(ElementPath::parse("controlfield[@tag='001']")?), Some(ElementPath::parse("leader")?))
            }
            FileRecords::Elements { id, .. } => (Some(id.clone()), None),
            FileRecords::Files { id } => (id.clone(), None),
        };
        Ok(Self { is_folder: metadata.is_dir(), options, id, leader })
    }

    fn wanted(&self) -> Wanted<'_> {
        let (element, namespace, media_type) = match &self.options.records {
            FileRecords::Marc => (Some("record"), Some(MARC), "application/marcxml+xml"),
            FileRecords::Elements { name, namespace, .. } => {
                (Some(name.as_str()), namespace.as_deref(), "application/xml")
            }
            FileRecords::Files { .. } => (None, None, "application/xml"),
        };
        Wanted {
            element,
            namespace,
            is_namespace_optional: self.options.records == FileRecords::Marc,
            id: self.id.as_ref(),
            leader: self.leader.as_ref(),
            media_type,
            limits: &self.options.limits,
        }
    }
}

impl RecordSource for FileSource {
    fn describe(&self, _: &Supervision<'_>) -> Result<Description, HarvestError> {
        let kind = match self.options.records {
            FileRecords::Marc => "MARC-XML",
            FileRecords::Elements { .. } | FileRecords::Files { .. } => "XML",
        };
        let name = self.options.path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Description {
            name: name.unwrap_or_default(),
            location: self.options.path.display().to_string(),
            kind: kind.to_owned(),
            deleted_records: None,
        })
    }

    fn records<'s>(&'s self, from: Option<Cursor>, supervision: Supervision<'s>) -> Result<Records<'s>, HarvestError> {
        let cursor = match from {
            None => FileCursor::default(),
            Some(Cursor::Files(cursor)) => cursor,
            Some(_) => return Err(HarvestError::Cursor { reason: "it is of another kind of source".to_owned() }),
        };
        let files = match (self.is_folder, cursor.is_finished) {
            (_, true) => Files::None,
            (true, false) => Files::Folder(Walk::new(&self.options.path, &cursor.file, &self.options.limits)?),
            (false, false) => Files::One,
        };
        let is_ended = cursor.is_finished;
        let (skipped, noted) = (cursor.records, cursor.records);
        let (events, again) = (VecDeque::new(), Passed::default());
        Ok(Box::new(RecordsOfFiles {
            source: self,
            supervision,
            files,
            cursor,
            file: None,
            skipped,
            again,
            noted,
            events,
            is_ended,
        }))
    }
}

enum Files {
    Folder(Walk),
    One,
    None,
}

/// The records of the files, one after the other.
struct RecordsOfFiles<'s> {
    source: &'s FileSource,
    supervision: Supervision<'s>,
    files: Files,
    cursor: FileCursor,
    file: Option<FileReader<'s>>,
    /// Records of the next file that a stored cursor has passed, without those that were read again, and what these are.
    skipped: u64,
    again: Passed,
    /// Records of the file that the last cursor has passed.
    noted: u64,
    /// What is given before anything else is read.
    events: VecDeque<Event>,
    is_ended: bool,
}

impl RecordsOfFiles<'_> {
    fn place(&mut self) {
        self.noted = self.cursor.records;
        self.events.push_back(Event::Page(Cursor::Files(self.cursor.clone())));
    }

    fn step(&mut self) -> Result<(), HarvestError> {
        let Some(file) = &mut self.file else { return self.next_file() };
        let outcome = file.next();
        match outcome {
            Ok(Some(event)) if self.skipped > 0 => {
                self.skipped -= 1;
                pass(&mut self.again, &event);
                if self.skipped == 0 && self.again != self.cursor.passed {
                    return self.begin_again();
                }
            }
            // It has fewer records than were read of it.
            Ok(None) | Err(_) if self.skipped > 0 => return self.begin_again(),
            Ok(Some(event)) => {
                pass(&mut self.cursor.passed, &event);
                self.cursor.records = self.cursor.records.saturating_add(1);
                self.cursor.found = self.cursor.found.saturating_add(1);
                self.events.push_back(event);
                if self.cursor.records >= self.noted.saturating_add(RECORDS_OF_CURSOR) {
                    self.place();
                }
            }
            Ok(None) => {
                for other in file.others() {
                    name(&mut self.cursor.others, other);
                }
                self.end_file();
            }
            Err(error) => {
                let path = self.cursor.file.clone();
                self.fail(path, error)?;
                self.end_file();
            }
        }
        Ok(())
    }

    /// Nothing that was found is an error, unless the source says so: by files whose root elements have nothing in them, or by a folder
    /// without files.
    fn check_found(&self) -> Result<(), HarvestError> {
        let cursor = &self.cursor;
        if cursor.found > 0 || cursor.failures > 0 {
            return Ok(());
        }
        let (sought, instead) = match (&self.files, self.source.wanted().element) {
            (Files::Folder(walk), _) if cursor.files == 0 => {
                ("file whose name ends with .xml".to_owned(), walk.others())
            }
            (_, Some(element)) if self.source.options.records == FileRecords::Marc => {
                (format!("element {element:?} of {MARC}"), cursor.others.as_slice())
            }
            (_, Some(element)) => (format!("element {element:?}"), cursor.others.as_slice()),
            (_, None) => return Ok(()),
        };
        if instead.is_empty() {
            return Ok(());
        }
        let source = self.source.options.path.display().to_string();
        Err(HarvestError::Nothing {
            place: Place { source, ..Place::default() },
            sought: sought.into(),
            instead: instead.into(),
        })
    }

    /// A file that fails does not end the reading of a folder.
    fn fail(&mut self, path: String, error: HarvestError) -> Result<(), HarvestError> {
        if !self.source.is_folder {
            return Err(error);
        }
        self.cursor.failures = self.cursor.failures.saturating_add(1);
        self.events.push_back(Event::Notice(Notice::FileFailed { path, error }));
        Ok(())
    }

    fn end_file(&mut self) {
        self.file = None;
        self.skipped = 0;
        self.cursor.is_read = true;
        self.place();
    }

    fn next_file(&mut self) -> Result<(), HarvestError> {
        let next = match &mut self.files {
            Files::Folder(walk) => walk.next(),
            Files::One if !self.cursor.is_read => {
                self.files = Files::None;
                Some(Entry::File(String::new()))
            }
            Files::One | Files::None => None,
        };
        let name = match next {
            None => {
                self.check_found()?;
                self.cursor.is_finished = true;
                self.is_ended = true;
                self.place();
                return Ok(());
            }
            Some(Entry::Failed { path, .. }) if path == self.cursor.file && self.cursor.is_read => return Ok(()),
            Some(Entry::Failed { path, error }) => {
                self.begin_file(&path);
                self.fail(path, error)?;
                self.end_file();
                return Ok(());
            }
            Some(Entry::File(name)) if self.source.is_folder && name == self.cursor.file && self.cursor.is_read => {
                return Ok(());
            }
            Some(Entry::File(name)) => name,
        };
        self.begin_file(&name);
        self.open(name)
    }

    /// Begins the file again that a stored cursor is within: by their number alone, records would be passed that were never read.
    fn begin_again(&mut self) -> Result<(), HarvestError> {
        let name = self.cursor.file.clone();
        let path = &self.source.options.path;
        let source = if name.is_empty() { path.display().to_string() } else { path.join(&name).display().to_string() };
        (self.cursor.records, self.cursor.passed) = (0, Passed::default());
        (self.skipped, self.noted) = (0, 0);
        self.events.push_back(Event::Notice(Notice::Changed { place: Place { source, ..Place::default() } }));
        self.open(name)
    }

    fn open(&mut self, name: String) -> Result<(), HarvestError> {
        let options = &self.source.options;
        let (path, shown_name) = if name.is_empty() {
            let own = options.path.file_name().map(|name| name.to_string_lossy().into_owned());
            (options.path.clone(), own.unwrap_or_default())
        } else {
            (options.path.join(&name), name.clone())
        };
        match FileReader::open(&path, &shown_name, self.source.wanted()) {
            Ok(file) => {
                self.cursor.files = self.cursor.files.saturating_add(1);
                self.file = Some(file);
            }
            Err(error) => {
                self.fail(name, error)?;
                self.end_file();
            }
        }
        Ok(())
    }

    /// Sets the cursor to the beginning of a file, unless it is within it.
    fn begin_file(&mut self, name: &str) {
        if self.cursor.file != name || self.cursor.is_read {
            (self.cursor.file, self.cursor.records, self.cursor.is_read) = (name.to_owned(), 0, false);
            self.cursor.passed = Passed::default();
            (self.skipped, self.noted) = (0, 0);
        }
    }
}

/// Goes behind what was read of a file.
fn pass(passed: &mut Passed, event: &Event) {
    match event {
        Event::Record(record) => {
            let bytes = record.document.as_ref().map(|document| document.bytes.as_slice()).unwrap_or_default();
            passed.pass(&[record.id.as_bytes(), bytes]);
        }
        Event::Notice(Notice::Unreadable { id, reason, .. }) => {
            passed.pass(&[b"", id.as_deref().unwrap_or_default().as_bytes(), reason.as_bytes()]);
        }
        Event::Notice(_) | Event::Page(_) => {}
    }
}

impl Iterator for RecordsOfFiles<'_> {
    type Item = Result<Event, HarvestError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            if self.is_ended {
                return None;
            }
            let stopped = self.supervision.ask(&self.source.options.path.display().to_string());
            if let Err(error) = stopped.map_err(HarvestError::from).and_then(|()| self.step()) {
                self.is_ended = true;
                return Some(Err(error));
            }
        }
    }
}
