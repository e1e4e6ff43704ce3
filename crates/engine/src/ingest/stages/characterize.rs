//! characterize: what each file is, for those that `fetch` could not identify as they passed by. They are read from staging,
//! wherever an identification asks, once their bytes have been compared with the recorded digest. Then the tools of `ingest.tools` are
//! run for each.

use std::io::ErrorKind;

use strongroom_registry::counted;
use strongroom_registry::interim::InterimFile;
use strongroom_registry::{Decision, Format, interim};
use strongroom_storage::Key;

use crate::identification::{Identifying, SourceTrouble, StoredSource};
use crate::ingest::paging::for_each_page;
use crate::ingest::staged;
use crate::ingest::staging::identifying;
use crate::ingest::tools::DepositTools;
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let mut identified = 0_u64;
    let mut unknown = 0_u64;
    // Made ready only where something is left to do.
    let mut known: Option<Identifying> = None;
    let tools = DepositTools::of(context)?;
    for_each_page(context, |mut rows| {
        rows.retain(|row| row.decision != Some(Decision::Unchanged));
        let mut found = Vec::new();
        for row in &rows {
            let format = if row.format.was_tried() {
                row.format.clone()
            } else {
                let with = match known.take() {
                    Some(with) => with,
                    None => identifying(context)?,
                };
                let format = identify(context, known.insert(with), row)?;
                found.push((row.path.clone(), format.clone()));
                format
            };
            if format.puid.is_some() {
                identified += 1;
            } else {
                unknown += 1;
            }
            if let Some(tools) = &tools {
                tools.run(row, &format)?;
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        context.write(move |tx, claim| {
            interim::set_formats(tx, claim, &mut found.iter().map(|(path, format)| (path.as_str(), format)))
        })
    })?;
    let mut note = format!("{} identified, {unknown} of no known format", counted(identified, "file", "files"));
    if let Some(tools) = &tools {
        note.push_str("; ");
        note.push_str(&tools.in_words());
    }
    Ok(Outcome::Done { note })
}

/// Identifies a staged file. An identification reads where it likes, so the whole file is compared with its digest before
/// the answer is believed.
fn identify(context: &StageContext<'_>, with: &Identifying, row: &InterimFile) -> Result<Format, StageError> {
    staged::require(context, &row.into())?;
    let key = Key::new(row.staging_key.as_str())?;
    let go_on = || context.task.check();
    let source = StoredSource::new(context.staging().as_ref(), &key, row.staging_offset, row.size, &go_on);
    with.of_stored(&row.path, &source).map_err(|error| match StoredSource::trouble(error) {
        SourceTrouble::Store(error) if error.is_not_found() => StageError::StagingLost(error.to_string()),
        SourceTrouble::Store(error) => error.into(),
        SourceTrouble::Interrupted(reason) => reason.into(),
        SourceTrouble::Other(error) if error.kind() == ErrorKind::UnexpectedEof => {
            StageError::StagingLost(format!("{:?} is cut off in staging", row.path))
        }
        SourceTrouble::Other(error) => StageError::Transient(format!("could not identify {:?}: {error}", row.path)),
    })
}
