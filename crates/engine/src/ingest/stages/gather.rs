//! gather: what a deposit names and staging has not got yet. A bag is staged as a whole by `fetch`; what is looked at here is
//! that it is all still there.

use strongroom_registry::work::StageEnd;
use strongroom_registry::{Decision, Stage};
use strongroom_storage::Key;

use super::compare::for_each_page;
use crate::ingest::context::{StageContext, StageError};

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    let mut needed = 0_u64;
    for_each_page(context, |rows| {
        for row in rows.iter().filter(|row| row.decision != Some(Decision::Unchanged)) {
            match context.staging().head(&Key::new(row.staging_key.as_str())?) {
                Ok(head) if head.size == row.size => needed += 1,
                Ok(_) => {
                    return Err(StageError::StagingLost(format!("{:?} in staging is not what was fetched", row.path)));
                }
                Err(error) if error.is_not_found() => {
                    return Err(StageError::StagingLost(format!("{:?} is gone from staging", row.path)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    })?;
    Ok(StageEnd::Next { next: Stage::Characterize, note: format!("{needed} files in staging") })
}
