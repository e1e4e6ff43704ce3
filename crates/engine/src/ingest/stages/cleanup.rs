//! cleanup: nothing interim is left. A path or a URL that was deposited is never touched.

use strongroom_registry::leases;
use strongroom_registry::work::{self, StageEnd};

use crate::ingest::context::{StageContext, StageError};
use crate::ingest::sweep;

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    sweep::clear_staging(context.home, context.item.id, Some(context.claim))?;
    let topics = context.write(|tx, claim| {
        leases::release_owner(tx, claim.item.0)?;
        work::wake_provisioning(tx)
    })?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(StageEnd::Succeeded { note: context.item.note.clone().unwrap_or_else(|| "done".into()) })
}
