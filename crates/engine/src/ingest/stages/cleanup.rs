//! cleanup: nothing interim is left, and an upload that was taken in is removed from its receiving store. A path or a URL that
//! was deposited is never touched. The item is done, unless a program has to confirm that.

use strongroom_registry::work;
use strongroom_registry::{WaitKey, interim, notifications};

use crate::ingest::intake::{PackageSource, package_source};
use crate::ingest::sweep;
use crate::receiving::remove_ingested;
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let note = context.said_before()?;
    if context.item.source.is_some()
        && let (PackageSource::ReceivingKey(_), Some(etag)) = (package_source(context)?, &context.item.etag)
    {
        remove_ingested(context.home, context.claim, etag, &note)?;
    }
    let item = context.item.id;
    let place = sweep::clear_staged_bytes(context.home, item, &context.authority())?;
    // The last rows go with the item's end, as its leases do; what it had staged is others' room now.
    context.with_end(move |tx, claim| {
        work::check_fence(tx, claim)?;
        interim::drop_staged_rows(tx, item, place)?;
        work::wake_all(tx, &WaitKey::staging(), None)
    });
    Ok(if must_be_confirmed(context)? { Outcome::done(note) } else { Outcome::End { note } })
}

/// Whether the rules of the item's batch have a program confirm it.
fn must_be_confirmed(context: &StageContext<'_>) -> Result<bool, StageError> {
    let Some(batch) = context.item.batch.filter(|_| context.item.collection.is_some()) else { return Ok(false) };
    Ok(context.registry().read(|tx| notifications::of_batch(tx, batch))?.required_url().is_some())
}
