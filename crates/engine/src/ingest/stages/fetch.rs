//! fetch: the one pass. Each byte is read once from where it came, hashed with every recorded algorithm and offered to
//! identification on the way, and written to staging. What was staged before an interruption is not staged again.

use std::io;
use strongroom_registry::counted;

use strongroom_bagit::{BagError, Limits, Scan};
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::Digests;
use strongroom_registry::interim;
use strongroom_registry::work;

use crate::crash_point;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::{PackageSource, bag_trouble, check_unreplaced, package_source};
use crate::ingest::staging::{Begun, Staged, Staging, Stopped, interruption};
use crate::ingest::workflow::{PROVISION, restage};
use crate::interruptible::Interruptible;
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let payload = package_source(context)?;
    let located = payload.locate(context.home)?;
    check_unreplaced(&payload, context.item.etag.as_deref(), &located)?;
    if context.item.etag.as_ref() != Some(&located.etag) {
        return start_over(context, &payload);
    }
    let begun = Begun::read(context)?;
    let mut totals = begun.totals;
    if !begun.is_fetched {
        check_declared_digest(context, &payload)?;
        let (scan, rows) = match take(context, &payload, begun) {
            Ok(Taken::Whole(scan, staged)) => {
                totals = staged.totals;
                (scan, staged.rows)
            }
            Ok(Taken::NoRoom(bytes)) => return grow(context, bytes),
            Err(StageError::Interrupted(reason)) => return Err(reason.into()),
            Err(failure) => {
                // An upload that was replaced while it was read has failed for that reason and no other.
                if let PackageSource::ReceivingKey(_) = payload {
                    check_unreplaced(&payload, context.item.etag.as_deref(), &payload.locate(context.home)?)?;
                }
                return Err(failure);
            }
        };
        crash_point("ingest.fetch.read");
        let located_after = payload.locate(context.home)?;
        check_unreplaced(&payload, context.item.etag.as_deref(), &located_after)?;
        if located_after.etag != located.etag {
            return start_over(context, &payload);
        }
        let text = serde_json::to_string(&scan)?;
        context.with_end(move |tx, claim| {
            if !rows.is_empty() {
                interim::put_files(tx, claim, &rows)?;
            }
            interim::set_fact(tx, claim, "fetched", &text).map(|()| Vec::new())
        });
    }
    let note = format!(
        "{}, {} read and hashed",
        counted(totals.files, "file", "files"),
        counted(totals.bytes, "byte", "bytes")
    );
    Ok(Outcome::Done { note })
}

/// How far reading the payload came.
enum Taken {
    Whole(Scan, Staged),
    /// There is no room for more than so many bytes right now.
    NoRoom(u64),
}

/// Takes the payload into staging, in one pass.
fn take(context: &StageContext<'_>, payload: &PackageSource, begun: Begun) -> Result<Taken, StageError> {
    let source = payload.open(context.home)?;
    let mut staging = Staging::begin(context, source.serialization(), begun)?;
    let limits = Limits::default();
    let spooled = source.spooled(&limits, &mut |bytes| staging.spool(bytes));
    let scanned = spooled.and_then(|source| source.scan(&limits, &mut |entry, bytes| staging.take(entry, bytes)));
    let scan = match (staging.stopped(), scanned) {
        (Some(Stopped::NoRoom(bytes)), _) => return Ok(Taken::NoRoom(bytes)),
        (Some(Stopped::Failed(failure)), _) => return Err(failure),
        (None, Err(BagError::Visit(error))) => return Err(StageError::Transient(error.to_string())),
        (None, Err(error)) => return Err(bag_trouble(error)),
        (None, Ok(scan)) => scan,
    };
    staging.release_spool()?;
    Ok(Taken::Whole(scan, staging.end()?))
}

/// The source changed: what was staged is of another deposit.
fn start_over(context: &StageContext<'_>, payload: &PackageSource) -> Result<Outcome, StageError> {
    restage(context)?;
    let located = payload.locate(context.home)?;
    context.write(move |tx, claim| work::set_source(tx, claim, &located.etag, located.size, None))?;
    Ok(Outcome::RestartFrom {
        stage: PROVISION,
        note: "the package changed since it was received; starting again".into(),
    })
}

/// The deposit is larger than what was reserved, and there is no room for more right now.
fn grow(context: &StageContext<'_>, at_least: u64) -> Result<Outcome, StageError> {
    restage(context)?;
    let etag = context.item.etag.clone().unwrap_or_default();
    let size = at_least.saturating_mul(2).min(context.home.staging_capacity());
    context.write(move |tx, claim| {
        work::set_source(tx, claim, &etag, Some(size), None)?;
        interim::release_space(tx, claim)
    })?;
    Ok(Outcome::RestartFrom {
        stage: PROVISION,
        note: format!("more than {at_least} bytes unpacked; waits for more space"),
    })
}

/// Compares the payload as a file with the digest that the depositor declared for it.
fn check_declared_digest(context: &StageContext<'_>, payload: &PackageSource) -> Result<(), StageError> {
    let options: DepositOptions = serde_json::from_str(&context.item.options)?;
    let Some((algorithm, declared)) = options.digest else { return Ok(()) };
    let PackageSource::LocalPath(path) = payload else { return Ok(()) };
    let unreadable = |error: io::Error| StageError::fatal(format!("could not read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let go_on = || context.task.check();
    let interruptible = Interruptible::new(file, &go_on);
    let (_, digests) = hash_reader(interruptible, &[algorithm]).map_err(|error| interruption(context, path, &error))?;
    let found = digests.get(algorithm).map(|digest| digest.to_hex()).unwrap_or_default();
    if found == declared {
        return Ok(());
    }
    Err(StageError::fatal(format!("the package has {algorithm}:{found}, declared was {algorithm}:{declared}")))
}

/// A recorded digest by its algorithm.
pub(super) fn digest_of(digests: &Digests, algorithm: Algorithm) -> Option<Digest> {
    match algorithm {
        Algorithm::Md5 => Some(digests.md5),
        Algorithm::Sha1 => Some(digests.sha1),
        Algorithm::Sha256 => Some(digests.sha256),
        Algorithm::Sha512 => Some(digests.sha512),
        _ => None,
    }
}
