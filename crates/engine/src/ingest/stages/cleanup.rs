//! cleanup: nothing interim is left, and an upload that was taken in is removed from its receiving store. A path or a URL that
//! was deposited is never touched.

use strongroom_registry::WaitKey;
use strongroom_registry::work;

use crate::ingest::intake::{PackageSource, package_source};
use crate::ingest::sweep;
use crate::receiving::remove_ingested;
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    if let (PackageSource::ReceivingKey(_), Some(etag)) = (package_source(context)?, &context.item.etag) {
        let note = context.item.note.as_deref().unwrap_or("taken in");
        remove_ingested(context.home, context.claim, etag, note)?;
    }
    sweep::clear_staging(context.home, context.item.id, &context.authority())?;
    // The item's leases go with its end; what it had staged is others' room now.
    context.with_end(|tx, _| work::wake_all(tx, &WaitKey::staging(), None));
    Ok(Outcome::done(context.item.note.clone().unwrap_or_else(|| "done".into())))
}
