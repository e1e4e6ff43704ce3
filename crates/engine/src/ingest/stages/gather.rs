//! gather: what a deposit names and staging has not got yet. A bag is staged as a whole by `fetch`; what is inspected
//! here is that it is all still there.

use strongroom_registry::Decision;
use strongroom_registry::counted;

use crate::ingest::paging::for_each_page;
use crate::ingest::staging::Presence;
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let mut needed = 0_u64;
    let mut presence = Presence::default();
    for_each_page(context, |rows| {
        for row in rows.iter().filter(|row| row.decision != Some(Decision::Unchanged)) {
            if !presence.of(context, row)? {
                return Err(StageError::StagingLost(format!("{:?} is gone from staging", row.path)));
            }
            needed += 1;
        }
        Ok(())
    })?;
    Ok(Outcome::done(format!("{} in staging", counted(needed, "file", "files"))))
}
