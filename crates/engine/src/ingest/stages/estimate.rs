//! estimate: small deposits go before large ones that came at the same time. Never fails for want of a size.

use strongroom_checkm::ManifestProfile;
use strongroom_registry::counted;
use strongroom_registry::items::NewItem;
use strongroom_registry::work;

use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::package_source;
use crate::ingest::kind::DepositKind;
use crate::ingest::{manifest, manifest_size};
use crate::workflow::{Outcome, StageContext, StageError};

/// Up to so many bytes, so much is added to the priority; ageing sees to it that large ones have their turn.
const STEPS: [(u64, i64); 3] = [(1 << 30, 0), (64 << 30, 5), (u64::MAX, 10)];

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    context.task.check()?;
    let options = DepositOptions::of(context.item)?;
    let is_manifest = options.kind() == DepositKind::Manifest;
    let size_known = if is_manifest { size_of_manifest(context, &options)? } else { context.item.size };
    if is_manifest {
        let etag = context.item.etag.clone().unwrap_or_default();
        context.with_end(move |tx, claim| {
            work::set_source(tx, claim, &etag, Some(size_known.unwrap_or(0)), None).map(|()| Vec::new())
        });
    }
    let size = size_known.unwrap_or(0);
    let add = STEPS.iter().find(|(limit, _)| size <= *limit).map_or(0, |(_, add)| *add);
    let priority = NewItem::PRIORITY + add;
    if priority != context.item.priority {
        context.with_end(move |tx, claim| work::set_priority(tx, claim, priority).map(|()| Vec::new()));
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
