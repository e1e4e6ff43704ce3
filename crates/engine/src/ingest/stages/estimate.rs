//! estimate: small deposits go before large ones that came at the same time. Never fails for want of a size.

use strongroom_checkm::ManifestProfile;
use strongroom_registry::counted;
use strongroom_registry::tenants::{self, Collection};
use strongroom_registry::work;

use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::package_source;
use crate::ingest::kind::DepositKind;
use crate::ingest::{manifest, manifest_size, rules};
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    context.task.check()?;
    let options = DepositOptions::of(context.item)?;
    let is_manifest = options.kind() == DepositKind::Manifest;
    let size_known = if is_manifest { size_of_manifest(context, &options)? } else { context.item.size };
    let collection = context.registry().read(|tx| tenants::collection_of(tx, context.item))?;
    let too_large = |(of, size): (&Collection, u64)| rules::too_large(of, size);
    if let Some(text) = collection.as_ref().zip(size_known).and_then(too_large) {
        return Err(StageError::fatal(text));
    }
    if is_manifest {
        let etag = context.item.etag.clone().unwrap_or_default();
        context.with_end(move |tx, claim| {
            work::set_source(tx, claim, &etag, Some(size_known.unwrap_or(0)), None).map(|()| Vec::new())
        });
    }
    let note = match size_known {
        Some(size) => format!("{} to ingest", counted(size, "byte", "bytes")),
        None => "its size will be known when it is read".into(),
    };
    Ok(Outcome::Done { note })
}

/// Bytes that the files of a manifest have together, where every row states them, or the servers do.
fn size_of_manifest(context: &StageContext<'_>, options: &DepositOptions) -> Result<Option<u64>, StageError> {
    let (mut list, _) = manifest::spool(context, &package_source(context)?, options)?;
    manifest::check(&mut list, Some(ManifestProfile::Object))?;
    manifest_size::size(context, &mut list, context.home.settings.ingest.size_timeout)
}
