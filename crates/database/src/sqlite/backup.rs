//! A copy of the database while it is in use.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::DatabaseError;

use super::copied;
use super::failure::{Act, explain, explain_io};
use super::lock::folder_of;

const ACT: &str = "back up the database";

/// Copies what `source` sees, in one step: in WAL mode that is one state, and writers go on beside it.
pub(super) fn copy(source: &Connection, path: &Path, to: &Path) -> Result<(), DatabaseError> {
    let part = part_name(to);
    let outcome = copy_to_part(source, path, &part).and_then(|()| publish(&part, to));
    // Gone already when all went well; where it is not, the first error is the one to tell.
    let _ = std::fs::remove_file(&part);
    outcome
}

/// As [`copy`], in the place of an earlier copy of this name.
pub(super) fn copy_over(source: &Connection, path: &Path, to: &Path) -> Result<(), DatabaseError> {
    let part = part_name(to);
    // Of a copy that was cut short; the caller holds the lock under which it was made.
    let _ = std::fs::remove_file(&part);
    let outcome = copy_to_part(source, path, &part).and_then(|()| {
        sync(&part)?;
        std::fs::rename(&part, to).map_err(|error| explain_io(to, ACT, &error))?;
        sync(folder_of(to))
    });
    if outcome.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    outcome
}

fn copy_to_part(source: &Connection, path: &Path, part: &Path) -> Result<(), DatabaseError> {
    // What the database holds is for its owner only.
    let new = File::options().write(true).create_new(true).mode(0o600).open(part);
    new.map_err(|error| explain_io(part, ACT, &error))?;
    let failed = |error: rusqlite::Error| explain(part, Act::Other(ACT), &error);
    let mut target = Connection::open(part).map_err(failed)?;
    // The whole file is synced below, once.
    target.pragma_update(None, "synchronous", "OFF").map_err(failed)?;
    let backup = Backup::new(source, &mut target).map_err(failed)?;
    match backup.step(-1).map_err(failed)? {
        StepResult::Done => {}
        other => {
            return Err(DatabaseError::Unavailable {
                act: ACT.into(),
                detail: format!("{}: the copy stopped early ({other:?})", path.display()),
            });
        }
    }
    drop(backup);
    copied::mark(&target).map_err(failed)?;
    target.close().map_err(|(_, error)| failed(error))
}

/// Makes the finished copy visible under its name, without overwriting what may stand there.
fn publish(part: &Path, to: &Path) -> Result<(), DatabaseError> {
    sync(part)?;
    std::fs::hard_link(part, to).map_err(|error| explain_io(to, ACT, &error))?;
    sync(folder_of(to))
}

fn sync(path: &Path) -> Result<(), DatabaseError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| explain_io(path, ACT, &error))
}

fn part_name(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    to.with_file_name(name)
}
