//! Reports that a person asks for: an update, or a provisional report of a batch that is open. Of a long batch both are written page by
//! page: an update like the report of every batch that has ended, a provisional one from a file into which one read transaction has written
//! what is true at that moment.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use strongroom_registry::batches::Batch;
use strongroom_registry::provisional_reports::{self as provisional, Snapshot};
use strongroom_registry::reports::{self, ReportRow};
use strongroom_registry::{BatchId, RegistryError, ReportId, Time};

use super::handler::fill;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// Rows that one transaction writes.
const ROWS_AT_ONCE: usize = 1_000;
/// A provisional report that is not whole after this time is abandoned, in microseconds.
const ABANDONED_AFTER: i64 = 24 * 3_600_000_000;

/// Refuses an update that would say nothing new. It reads page after page, and stops at the first that has something.
pub(crate) fn check_news(home: &Home, batch: BatchId) -> Result<(), EngineError> {
    if home.registry.read(|tx| reports::last(tx, batch))?.is_none() {
        return Ok(());
    }
    // What the last one says has to be written for that.
    for report in home.registry.read(|tx| reports::unfilled(tx, batch))? {
        fill(home, report, &Shutdown::new())?;
    }
    let mut after = None;
    loop {
        let (is_changed, last) = home.registry.read(|tx| reports::is_changed_in_page(tx, batch, after))?;
        if is_changed {
            return Ok(());
        }
        if last.is_none() {
            return Err(reports::nothing_new(batch).into());
        }
        after = last;
    }
}

/// Writes the provisional report of a long batch but for its end, which the caller records. None where the batch is not open any more.
pub(crate) fn write_provisional(home: &Home, batch: &Batch, who: &str) -> Result<Option<ReportId>, EngineError> {
    let failed = |source: io::Error| not_kept(batch.id, source);
    let Some((snapshot, file)) = snapshot(home, batch.id)? else { return Ok(None) };
    let (of, who) = (batch.clone(), who.to_owned());
    let begun = home.registry.write(move |tx| provisional::begin(tx, &of, &who, &snapshot))?;
    let Some(report) = begun else { return Ok(None) };
    crash_point("report.provisional.begun");
    let mut lines = BufReader::new(file).lines();
    loop {
        let mut page: Vec<ReportRow> = Vec::with_capacity(ROWS_AT_ONCE);
        for line in lines.by_ref().take(ROWS_AT_ONCE) {
            let line = line.map_err(failed)?;
            page.push(serde_json::from_str(&line).map_err(|error| failed(error.into()))?);
        }
        if page.is_empty() {
            return Ok(Some(report));
        }
        home.registry.write(move |tx| provisional::put(tx, report, &page))?;
        crash_point("report.provisional.page");
    }
}

/// The file with what is true of a batch could not be written or read.
fn not_kept(batch: BatchId, source: io::Error) -> EngineError {
    EngineError::Io { act: "keep what is true of the batch for its report", path: batch.to_string(), source }
}

/// What is true of a batch at one moment, with the rows of a report in a file that has no name. None where it is not open.
fn snapshot(home: &Home, batch: BatchId) -> Result<Option<(Snapshot, File)>, EngineError> {
    let failed = |source: io::Error| not_kept(batch, source);
    home.registry.read(|tx| {
        // The transaction may be run again.
        let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
        let taken = provisional::read(tx, batch, |row| {
            serde_json::to_writer(&mut out, row)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(failed)
        })?;
        let Some(snapshot) = taken else { return Ok(None) };
        let mut file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        Ok(Some((snapshot, file)))
    })
}

/// Removes provisional reports that a later one replaced, and those that are abandoned, page by page.
pub(crate) fn drop_abandoned(home: &Home, stop: &Shutdown) -> Result<(), RegistryError> {
    let now: Time = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let before = now.plus(-ABANDONED_AFTER);
    while let Some(report) = home.registry.read(|tx| provisional::next_abandoned(tx, before))? {
        while !stop.is_requested() && !home.registry.write(move |tx| provisional::drop_page(tx, report))? {}
        if stop.is_requested() {
            break;
        }
    }
    Ok(())
}
