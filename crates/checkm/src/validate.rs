//! Checks a whole manifest: every row, and the file names against each other.

use std::io::BufRead;
use std::path::PathBuf;

use serde::Serialize;
use strongroom_listing::{Sorter, collision_key};

use crate::codes;
use crate::column::Column;
use crate::error::CheckmError;
use crate::mode::{Mode, ReadOptions};
use crate::problem::{Problem, Severity, quoted};
use crate::profile::ManifestProfile;
use crate::reader::Reader;

/// What a check concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is no error; there may be warnings.
    Valid,
    /// There is an error.
    Invalid,
}

/// How a manifest is checked.
#[derive(Debug, Clone)]
pub struct ValidateOptions {
    /// How it is read.
    pub read: ReadOptions,
    /// Most problems of each severity that are listed; the others are counted, and the problem `problems.truncated` states their number.
    pub problems: usize,
    /// Most bytes of memory for file names; more of them are sorted in a temporary file.
    pub memory: usize,
    /// Where the temporary file goes; nothing is where the system has such files.
    pub directory: Option<PathBuf>,
}

impl Default for ValidateOptions {
    /// Strict, 1,000 problems of each severity, 32 MiB.
    fn default() -> Self {
        Self { read: ReadOptions::default(), problems: 1_000, memory: 32 << 20, directory: None }
    }
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What it comes to.
    pub verdict: Verdict,
    /// What the rows are, where the manifest says so.
    pub profile: Option<ManifestProfile>,
    /// Rows read, with or without errors.
    pub rows: u64,
    /// Errors in all, listed or not.
    pub errors: u64,
    /// Warnings in all, listed or not.
    pub warnings: u64,
    /// What is wrong, by line.
    pub problems: Vec<Problem>,
}

/// Reads a manifest to its end and tells every problem of it. The rows of one object are compared by file name; memory does not grow
/// with their number.
pub fn validate<R: BufRead>(input: R, options: &ValidateOptions) -> Result<Report, CheckmError> {
    let mut collector = Collector { most: options.problems, ..Collector::default() };
    let mut reader = Reader::new(input, &options.read, &mut |problem| collector.push(problem))?;
    let profile = reader.header().profile();
    let is_one_object = profile.is_some_and(|profile| !profile.is_batch());
    let mut names = Names::new(options);
    while reader.advance_row(&mut |problem| collector.push(problem))?.is_some() {
        if is_one_object && !reader.current_name().is_empty() {
            names.push(reader.current_name(), reader.rows(), reader.current_line())?;
        }
    }
    names.compare(options.read.mode, &mut |problem| collector.push(problem))?;
    Ok(collector.finish(profile, reader.rows(), options.read.mode))
}

/// The file names of an object, in the order of the names.
struct Names(Sorter);

/// A file name with its first row.
struct Named {
    key: Vec<u8>,
    name: String,
    row: u64,
    line: u64,
}

impl Names {
    fn new(options: &ValidateOptions) -> Self {
        Self(Sorter::new(options.memory, options.directory.as_deref()))
    }

    /// The name is followed by its row and line as big-endian numbers, so that equal names are in the order of their rows. Names have no
    /// NUL, and the first byte of a row is one: a name that begins with another is never between two rows of that.
    fn push(&mut self, name: &str, row: u64, line: u64) -> Result<(), CheckmError> {
        let value = [name.as_bytes(), &row.to_be_bytes(), &line.to_be_bytes()].concat();
        self.0.push(collision_key(name).as_bytes(), &value).map_err(CheckmError::Sort)
    }

    fn compare(self, mode: Mode, report: &mut dyn FnMut(Problem)) -> Result<(), CheckmError> {
        let sorted = self.0.finish().map_err(CheckmError::Sort)?;
        let mut earlier: Option<Named> = None;
        for record in sorted.iter().map_err(CheckmError::Sort)? {
            let (key, value) = record.map_err(CheckmError::Sort)?;
            let Some((rest, line)) = number_at_end(&value) else { continue };
            let Some((name, row)) = number_at_end(rest) else { continue };
            let name = String::from_utf8_lossy(name);
            match &earlier {
                Some(first) if first.key == key && first.name == name => {
                    let message = format!(
                        "the file name {} is that of row {} too; expected each name once",
                        quoted(&name),
                        first.row
                    );
                    let problem = Problem::new(codes::NAME_DUPLICATE, mode, message);
                    report(problem.in_row(row, line).about(Column::FileName, &name));
                    continue;
                }
                Some(other) if other.key == key => {
                    // Told of the later row, whichever name comes first by its bytes.
                    let this = (row, line, &*name);
                    let that = (other.row, other.line, other.name.as_str());
                    let (first, later) = if this.0 < that.0 { (this, that) } else { (that, this) };
                    let message = format!(
                        "the file name {} and {} of row {} differ only in letter case or normal form; expected names that no \
                         system takes for one",
                        quoted(later.2),
                        quoted(first.2),
                        first.0
                    );
                    let problem = Problem::new(codes::NAME_CASE, mode, message);
                    report(problem.in_row(later.0, later.1).about(Column::FileName, later.2));
                }
                _ => {}
            }
            earlier = Some(Named { key, name: name.into_owned(), row, line });
        }
        Ok(())
    }
}

/// A big-endian number at the end, and what stands before it.
fn number_at_end(value: &[u8]) -> Option<(&[u8], u64)> {
    let (rest, number) = value.split_last_chunk()?;
    Some((rest, u64::from_be_bytes(*number)))
}

/// Keeps the first problems of each severity, and counts the others.
#[derive(Debug, Default)]
struct Collector {
    most: usize,
    kept: Vec<Problem>,
    errors: u64,
    warnings: u64,
    kept_errors: usize,
    kept_warnings: usize,
}

impl Collector {
    fn push(&mut self, problem: Problem) {
        let (found, kept) = match problem.severity {
            Severity::Error => (&mut self.errors, &mut self.kept_errors),
            Severity::Warning => (&mut self.warnings, &mut self.kept_warnings),
        };
        *found += 1;
        if *kept < self.most {
            *kept += 1;
            self.kept.push(problem);
        }
    }

    fn finish(mut self, profile: Option<ManifestProfile>, rows: u64, mode: Mode) -> Report {
        // Names are compared after the rows were read.
        self.kept.sort_by_key(|problem| problem.line);
        let unlisted = self.errors + self.warnings - self.kept.len() as u64;
        if unlisted > 0 {
            let message = format!(
                "{unlisted} more problems are not listed; there are {} errors and {} warnings in all",
                self.errors, self.warnings
            );
            self.kept.push(Problem::new(codes::PROBLEMS_TRUNCATED, mode, message));
        }
        let verdict = if self.errors == 0 { Verdict::Valid } else { Verdict::Invalid };
        Report { verdict, profile, rows, errors: self.errors, warnings: self.warnings, problems: self.kept }
    }
}
