//! Taking the files that a list names into staging: several are downloaded at a time, one after the other is staged, and what was
//! staged before an interruption is not downloaded again.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use strongroom_bagit::BagFile;
use strongroom_registry::items::ItemProblem;

use super::package::problem;
use crate::ingest::intake::NOT_FETCHED;
use crate::ingest::manifest::{Downloading, FileRow, NextRow, download_all};
use crate::ingest::staging::{Staging, Stopped};
use crate::workflow::{StageContext, StageError};

/// Files of a list of which it is told why they cannot be had.
const MOST_FAILURES: usize = 1_000;
/// Files of a list of which it is told that nothing proves that they are whole.
const MOST_UNPROVED: usize = 100;
/// The fact that has those files.
const UNPROVED: &str = "unproved_ends";

/// How far staging the files of a list came.
pub(super) enum Listed {
    Staged(StagedList),
    /// There is no room for more than so many bytes right now.
    NoRoom(u64),
}

/// What became of the files of a list.
#[derive(Default)]
pub(super) struct StagedList {
    /// Files that the list names.
    pub(super) files: u64,
    /// Bytes that were downloaded now.
    pub(super) bytes: u64,
    /// The first of those that cannot be had for good, and why.
    pub(super) failures: Vec<(FileRow, ItemProblem)>,
    /// How many more of them there are.
    pub(super) more_failures: u64,
    /// The first of those that nothing proves to be whole: their lines and paths.
    pub(super) unproved: Vec<(u64, String)>,
    /// How many more of them this attempt has found.
    pub(super) more_unproved: u64,
}

impl StagedList {
    /// A file cannot be had for good.
    fn failed(&mut self, row: FileRow, why: ItemProblem) {
        if self.failures.len() < MOST_FAILURES {
            self.failures.push((row, why));
        } else {
            self.more_failures += 1;
        }
    }

    /// Nothing proves that a file is whole. It is noted for other attempts, which do not download it again.
    fn unproved(&mut self, context: &StageContext<'_>, row: &FileRow) -> Result<(), StageError> {
        if self.unproved.len() < MOST_UNPROVED {
            self.unproved.push((row.line, row.path.clone()));
            return context.set_fact(UNPROVED, &self.unproved);
        }
        self.more_unproved += 1;
        Ok(())
    }
}

/// Takes the files that a list names into staging. Where it fails, the caller records what came. What stands before the line of a file in its key is `named`.
pub(super) fn stage_listed(
    context: &StageContext<'_>,
    staging: &RefCell<Staging<'_, '_>>,
    next_row: NextRow<'_>,
    named: &str,
) -> Result<Listed, StageError> {
    let unproved = context.fact(UNPROVED)?.unwrap_or_default();
    let mut staged = StagedList { unproved, ..StagedList::default() };
    let mut files = 0;
    let outcome = download_all(
        context,
        next_row,
        Some(named),
        &mut |row| {
            files += 1;
            Ok(!staging.borrow_mut().is_staged(&row.path, row.size, &row.digests)?)
        },
        &mut |mut download| {
            let mut staging = staging.borrow_mut();
            staging.name_next(format!("{named}-{}", download.row.line));
            match stage_download(context, &mut staging, &mut download) {
                Ok(size) => {
                    download.forget();
                    staged.bytes += size;
                    if download.has_unproved_end() {
                        staged.unproved(context, &download.row)?;
                    }
                    Ok(())
                }
                Err(StageError::Fatal { note, problems } | StageError::Invalid { note, problems }) => {
                    let first = problems.into_iter().next();
                    staged.failed(download.row, first.unwrap_or_else(|| problem("error", NOT_FETCHED, None, note)));
                    Ok(())
                }
                Err(other) => Err(other),
            }
        },
    );
    let mut staging = staging.borrow_mut();
    let outcome = match staging.stopped() {
        Some(Stopped::NoRoom(bytes)) => return Ok(Listed::NoRoom(bytes)),
        Some(Stopped::Failed(failure)) => Err(failure),
        None => outcome,
    };
    outcome?;
    staged.files = files;
    Ok(Listed::Staged(staged))
}

/// Stages a file while it is downloaded, and compares it with what the list states; its bytes.
fn stage_download(
    context: &StageContext<'_>,
    staging: &mut Staging<'_, '_>,
    download: &mut Downloading,
) -> Result<u64, StageError> {
    let size = download.open()?.or(download.row.size);
    let (path, modified) = (download.row.path.clone(), download.row.modified);
    let (size, taken) = if let Some(size) = size {
        (size, staging.take(&BagFile::new(path, size, modified), download))
    } else {
        let mut spooled = spool_unknown(context, staging, download)?;
        let size = spooled.metadata().map_err(|error| unspooled(&error))?.len();
        (size, staging.take(&BagFile::new(path, size, modified), &mut spooled))
    };
    let Err(error) = taken else { return Ok(size) };
    match (download.failure(), staging.stopped()) {
        (_, Some(Stopped::NoRoom(bytes))) => Err(StageError::Transient(format!("no room for more than {bytes} bytes"))),
        (_, Some(Stopped::Failed(failure @ StageError::Interrupted(_))))
        | (Some(failure), _)
        | (None, Some(Stopped::Failed(failure))) => Err(failure),
        (None, None) => Err(StageError::Transient(error.to_string())),
    }
}

/// Puts a file of unknown size into a temporary file.
fn spool_unknown(
    context: &StageContext<'_>,
    staging: &mut Staging<'_, '_>,
    download: &mut Downloading,
) -> Result<File, StageError> {
    let mut file = tempfile::tempfile().map_err(|error| unspooled(&error))?;
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0_u64;
    loop {
        context.task.check()?;
        let length = match download.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) => return Err(download.failure().unwrap_or_else(|| unspooled(&error))),
        };
        bytes += length as u64;
        staging.make_room(bytes)?;
        file.write_all(buffer.get(..length).unwrap_or_default()).map_err(|error| unspooled(&error))?;
    }
    file.seek(SeekFrom::Start(0)).map_err(|error| unspooled(&error))?;
    Ok(file)
}

fn unspooled(error: &io::Error) -> StageError {
    StageError::Transient(format!("could not write a temporary file: {error}"))
}
