//! Files that are to be downloaded, in a temporary file: a list of any length is written and read row by row.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use strongroom_digest::Algorithm;

use super::manifest::FileRow;
use crate::workflow::StageError;

/// A row, as a line of the temporary file has it.
#[derive(Serialize, Deserialize)]
struct Planned {
    line: u64,
    url: String,
    path: String,
    size: Option<u64>,
    digests: Vec<(Algorithm, String)>,
}

/// A list that is written.
pub(super) struct PlannedWriter {
    out: BufWriter<File>,
}

impl PlannedWriter {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { out: BufWriter::new(tempfile::tempfile()?) })
    }

    pub(super) fn push(&mut self, row: FileRow) -> io::Result<()> {
        let FileRow { line, url, path, size, digests, .. } = row;
        let digests = digests.iter().map(|(algorithm, digest)| (algorithm, digest.to_hex())).collect();
        serde_json::to_writer(&mut self.out, &Planned { line, url, path, size, digests })?;
        self.out.write_all(b"\n")
    }

    pub(super) fn end(self) -> io::Result<PlannedList> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(PlannedList { file })
    }
}

/// A list that was written.
pub(super) struct PlannedList {
    file: File,
}

impl PlannedList {
    /// The rows from the first one on, in the order in which they were written.
    pub(super) fn rows(&mut self) -> Result<PlannedRows<'_>, StageError> {
        self.file.seek(SeekFrom::Start(0)).map_err(|error| unplanned(&error))?;
        Ok(PlannedRows { lines: BufReader::new(&mut self.file) })
    }
}

/// The rows of a list.
pub(super) struct PlannedRows<'p> {
    lines: BufReader<&'p mut File>,
}

impl PlannedRows<'_> {
    pub(super) fn next_row(&mut self) -> Result<Option<FileRow>, StageError> {
        let mut text = String::new();
        if self.lines.read_line(&mut text).map_err(|error| unplanned(&error))? == 0 {
            return Ok(None);
        }
        let Planned { line, url, path, size, digests } = serde_json::from_str(&text)?;
        let digests = digests.into_iter().filter_map(|(algorithm, digest)| Some((algorithm, digest.parse().ok()?)));
        Ok(Some(FileRow { line, url, path, size, digests: digests.collect(), modified: None }))
    }
}

/// Why the temporary file of a list could not be written or read.
pub(super) fn unplanned(error: &io::Error) -> StageError {
    StageError::Transient(format!("could not use a temporary file: {error}"))
}
