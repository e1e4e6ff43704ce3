//! characterize: what each new content is, for those that are not identified yet.

use strongroom_registry::work::StageEnd;
use strongroom_registry::{Decision, Stage, interim};

use super::compare::for_each_page;
use crate::formats;
use crate::ingest::context::{StageContext, StageError};

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    let mut identified = 0_u64;
    let mut others = 0_u64;
    for_each_page(context, |mut rows| {
        rows.retain(|row| row.decision != Some(Decision::Unchanged));
        for row in &mut rows {
            if row.format.method.is_none() {
                row.format = formats::by_extension(&row.path);
            }
            if row.format.method.is_some() {
                identified += 1;
            } else {
                others += 1;
            }
        }
        context.write(move |tx, claim| {
            interim::set_formats(tx, claim, &mut rows.iter().map(|row| (row.path.as_str(), &row.format)))
        })
    })?;
    let note = format!("{identified} files identified by extension, {others} not");
    Ok(StageEnd::Next { next: Stage::Write, note })
}
