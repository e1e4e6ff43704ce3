//! fetch: the one pass. Each byte is read once from where it came, hashed with every recorded algorithm and offered to
//! identification on the way, and written to staging. What was staged before an interruption is not staged again.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::sync::atomic::Ordering;

use strongroom_bagit::{BagError, BagFile, Scan, Serialization, open_regular};
use strongroom_checkm::ManifestProfile;
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::counted;
use strongroom_registry::interim::{self, Needed};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::work;
use strongroom_registry::{Digests, RegistryError, WaitKey};

use super::fetch_list::{self, Completed};
use super::listed::{Listed, stage_listed};
use super::provision::{is_stated, quota};
use crate::crash_point;
use crate::ingest::area::submission_row;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::{
    DIGEST_MISMATCH, OpenPackage, PackageSource, bag_trouble, check_unreplaced, end_not_proved, mismatch,
    package_source,
};
use crate::ingest::kept_downloads;
use crate::ingest::kind::DepositKind;
use crate::ingest::manifest::{self, FileRow, FileRows};
use crate::ingest::staging::{Begun, Staged, Staging, Stopped, interruption};
use crate::ingest::workflow::{ESTIMATE, FETCH, PROVISION, restage};
use crate::interruptible::Interruptible;
use crate::runtime::Interrupted;
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let begun = Begun::read(context)?;
    let is_recorded = Cell::new(!begun.has_unrecorded);
    let outcome = fetch(context, begun, &is_recorded);
    if let Err(error) = &outcome
        && may_write(error)
    {
        // What went wrong is told in any case.
        let _ = keep_for_another_attempt(context, is_recorded.get());
    }
    outcome
}

/// Whether the attempt that ended so may still write: another worker may have the deposit where its lease is lost.
fn may_write(error: &StageError) -> bool {
    !matches!(error, StageError::Interrupted(Interrupted::LeaseLost))
}

/// Notes how many bytes of downloads are kept on their way for another attempt: they count as what the deposit has. What was reserved
/// ahead of bytes that others state is free to others until they come: a deposit that is held may not go on for days, and a process that
/// stops does not know when another one does. Where bytes lie in staging that could not be recorded, it stays: it covers them.
fn keep_for_another_attempt(context: &StageContext<'_>, is_recorded: bool) -> Result<(), StageError> {
    let bytes = kept_downloads::bytes(context.home, context.item.id);
    let item = context.item.id;
    let (known, has_unrecorded) = context
        .registry()
        .read(|tx| Ok::<_, RegistryError>((interim::kept(tx, item)?, interim::has_unrecorded(tx, item)?)))?;
    let is_stated = is_recorded && (is_stated(context)? || fetch_list::has_begun(context)?);
    let has_been_recorded = is_recorded && has_unrecorded;
    if bytes == known && !is_stated && !has_been_recorded {
        return Ok(());
    }
    let topics = context.write(move |tx, claim| {
        if has_been_recorded {
            interim::set_unrecorded(tx, claim, false)?;
        }
        if bytes != known {
            interim::set_kept(tx, claim, bytes)?;
        }
        if is_stated { interim::return_unused(tx, claim) } else { Ok(Vec::new()) }
    })?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(())
}

/// `is_recorded` says whether everything is recorded that lies in staging when it ends early.
fn fetch(context: &StageContext<'_>, mut begun: Begun, is_recorded: &Cell<bool>) -> Result<Outcome, StageError> {
    let mut options = DepositOptions::of(context.item)?;
    if options.kind() == DepositKind::Metadata {
        let text = serde_json::to_string(&Scan::of_loose_files(0, 0))?;
        context.with_end(move |tx, claim| interim::set_fact(tx, claim, "fetched", &text).map(|()| Vec::new()));
        return Ok(Outcome::done("there is nothing to read"));
    }
    let payload = package_source(context)?;
    payload.check_fits(options.kind())?;
    let located = payload.locate(context)?;
    check_unreplaced(&payload, context.item.etag.as_deref(), &located)?;
    if context.item.etag.as_ref() != Some(&located.etag) {
        return start_over(context, &payload);
    }
    if let PackageSource::Url(_) = payload
        && options.size.is_none()
    {
        // A server that states one size and sends another has not sent all of it, or more.
        options.size = located.size.filter(|size| *size > 0);
    }
    let mut totals = begun.totals;
    if !begun.is_fetched || fetch_list::is_read_again(context)? {
        if let Some(bytes) = begun.reserve_ahead(context)? {
            // Nothing of it has come, and how much it needs others say: it keeps nothing for that.
            return grow(context, bytes, false);
        }
        begun.remove_unrecorded(context)?;
        is_recorded.set(true);
        check_declared_digest(context, &payload, &options)?;
        let (scan, rows, reserved) = match take(context, &payload, &options, (begun, is_recorded)) {
            Ok(Taken::Whole(scan, staged)) => {
                totals = staged.totals;
                (scan, staged.rows, staged.reserved)
            }
            Ok(Taken::NoRoom(bytes)) => return grow(context, bytes, true),
            Ok(Taken::Changed) => return start_over(context, &payload),
            Ok(Taken::Elsewhere) => return go_on_with_servers(context),
            Err(StageError::Interrupted(reason)) => return Err(reason.into()),
            Err(failure) => {
                // An upload that was replaced while it was read has failed for that reason and no other.
                if let PackageSource::ReceivingKey(_) = payload {
                    check_unreplaced(&payload, context.item.etag.as_deref(), &payload.locate(context)?)?;
                }
                if has_changed(context, &payload, &located.etag) {
                    return start_over(context, &payload);
                }
                return Err(failure);
            }
        };
        crash_point("ingest.fetch.read");
        let located_after = payload.locate(context)?;
        check_unreplaced(&payload, context.item.etag.as_deref(), &located_after)?;
        if located_after.etag != located.etag {
            return start_over(context, &payload);
        }
        // What cannot be removed now is removed with the item.
        let _ = kept_downloads::forget(context.home, context.item.id);
        let text = serde_json::to_string(&scan)?;
        context.with_end(move |tx, claim| {
            if !rows.is_empty() {
                interim::put_files(tx, claim, &rows)?;
            }
            if begun.kept > 0 {
                interim::set_kept(tx, claim, 0)?;
            }
            if begun.has_unrecorded {
                interim::set_unrecorded(tx, claim, false)?;
            }
            interim::set_fact(tx, claim, "fetched", &text)?;
            // What was reserved ahead of bytes, and for downloads on their way, is free to others that wait.
            if reserved > totals.bytes { interim::shrink(tx, claim, totals.bytes) } else { Ok(Vec::new()) }
        });
    }
    let note = format!(
        "{}, {} read and hashed",
        counted(totals.files, "file", "files"),
        counted(totals.bytes, "byte", "bytes")
    );
    Ok(Outcome::Done { note })
}

/// The name of a manifest in a submission.
const MANIFEST_NAME: &str = "manifest.checkm";
/// The fact that has the SHA-256 of the manifest that is fetched.
const MANIFEST: &str = "manifest_sha256";
/// The fact that has what is odd about a manifest, or a `fetch.txt`.
pub(super) const WARNINGS: &str = "manifest_warnings";

/// Has files downloaded that the bag names, in the topic of items that read from servers. The bag is read once more there, without what is
/// staged.
fn go_on_with_servers(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    keep_for_another_attempt(context, true)?;
    let options = DepositOptions { is_fetched: true, ..DepositOptions::of(context.item)? };
    let text = serde_json::to_string(&options)?;
    context.with_end(move |tx, claim| work::set_options(tx, claim, &text).map(|()| Vec::new()));
    Ok(Outcome::RestartFrom {
        stage: FETCH,
        note: "the bag was read; what its fetch.txt names is downloaded".to_owned(),
    })
}

/// How far reading the payload came.
enum Taken {
    Whole(Scan, Staged),
    /// There is no room for more than so many bytes right now.
    NoRoom(u64),
    /// What is left is downloaded in another topic.
    Elsewhere,
    /// The manifest is another one than what was staged is of.
    Changed,
}

/// Takes the payload into staging, in one pass. Where it ends early, what came is recorded; `is_recorded` says whether it could be.
fn take(
    context: &StageContext<'_>,
    payload: &PackageSource,
    options: &DepositOptions,
    (begun, is_recorded): (Begun, &Cell<bool>),
) -> Result<Taken, StageError> {
    if options.kind() == DepositKind::Manifest {
        return take_manifest(context, payload, options, (begun, is_recorded));
    }
    let package = payload.open(context, options)?;
    let is_archive = package.source.serialization() != Serialization::Directory;
    let staging = RefCell::new(Staging::begin(context, package.source.serialization(), begun)?);
    let read = read(context, package, options, &staging);
    let scan = match read.inspect_err(|failure| record_what_came(&staging, failure, is_recorded))? {
        Reading::Whole(scan) => scan,
        Reading::NoRoom(bytes) => return Ok(Taken::NoRoom(bytes)),
        Reading::Changed => return Ok(Taken::Changed),
        Reading::Elsewhere => return Ok(Taken::Elsewhere),
    };
    let taken = staging.borrow().taken();
    let staged = staging.into_inner().end()?;
    // An earlier attempt staged what the archive does not have any more.
    Ok(if is_archive && staged.totals.files > taken { Taken::Changed } else { Taken::Whole(scan, staged) })
}

/// How far reading a package came that lies in files of its own.
enum Reading {
    Whole(Scan),
    NoRoom(u64),
    Changed,
    Elsewhere,
}

/// Reads a package into staging, and what its list names.
fn read(
    context: &StageContext<'_>,
    package: OpenPackage,
    options: &DepositOptions,
    staging: &RefCell<Staging<'_, '_>>,
) -> Result<Reading, StageError> {
    let has_unproved_end = package.has_unproved_end.clone();
    let (mut has_list, mut last) = (false, None);
    let scanned = package.scan(&mut |bytes| staging.borrow_mut().spool(bytes), &mut |entry, bytes| {
        has_list |= entry.path == fetch_list::NAME;
        last = has_unproved_end.as_ref().map(|_| entry.path.clone());
        staging.borrow_mut().take(entry, bytes)
    });
    if staging.borrow().has_changed() {
        return Ok(Reading::Changed);
    }
    let failure = match staging.borrow_mut().stopped() {
        Some(Stopped::NoRoom(bytes)) => return Ok(Reading::NoRoom(bytes)),
        // What interrupts the stage makes its download fail, too.
        Some(Stopped::Failed(failure @ StageError::Interrupted(_))) => return Err(failure),
        Some(Stopped::Failed(failure)) => Some(failure),
        None => None,
    };
    let scanned = scanned?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut scan = match scanned {
        Err(BagError::Visit(error)) => return Err(StageError::Transient(error.to_string())),
        scanned => scanned.map_err(bag_trouble)?,
    };
    staging.borrow_mut().release_spool()?;
    if let Some(path) = last.filter(|_| has_unproved_end.is_some_and(|flag| flag.load(Ordering::Acquire))) {
        context.set_fact(WARNINGS, &[end_not_proved(&path, None, 0)])?;
    }
    if has_list && options.kind() == DepositKind::Bag {
        return Ok(match fetch_list::complete(context, staging, &mut scan)? {
            Completed::Whole => Reading::Whole(scan),
            Completed::NoRoom(bytes) => Reading::NoRoom(bytes),
            Completed::Elsewhere => Reading::Elsewhere,
        });
    }
    Ok(Reading::Whole(scan))
}

/// Records what came before reading failed: it is there for another attempt, and should this have been the last one, or a person hold the
/// deposit, it is what the deposit has.
fn record_what_came(staging: &RefCell<Staging<'_, '_>>, failure: &StageError, is_recorded: &Cell<bool>) {
    let goes_on = !matches!(failure, StageError::Fatal { .. } | StageError::Invalid { .. });
    if may_write(failure) && goes_on {
        is_recorded.set(staging.borrow_mut().flush().is_ok());
    }
}

/// Takes the files that a manifest names into staging, and the manifest itself. Every file that cannot be had for good is told of.
fn take_manifest(
    context: &StageContext<'_>,
    payload: &PackageSource,
    options: &DepositOptions,
    (begun, is_recorded): (Begun, &Cell<bool>),
) -> Result<Taken, StageError> {
    let (mut list, digest) = manifest::spool(context, payload, options)?;
    match context.fact::<String>(MANIFEST)? {
        Some(known) if known != digest => return Ok(Taken::Changed),
        Some(_) => {}
        None => context.set_fact(MANIFEST, &digest)?,
    }
    let (mut warnings, _) = manifest::check(&mut list, Some(ManifestProfile::Object))?;
    let staging = RefCell::new(Staging::begin(context, Serialization::Directory, begun)?);
    if let Some(bytes) = stage_list(&staging, &mut list)? {
        return Ok(Taken::NoRoom(bytes));
    }
    let mut rows = FileRows::new(&mut list)?;
    let listed = stage_listed(context, &staging, &mut || rows.next_row(), "row");
    let listed = match listed.inspect_err(|failure| record_what_came(&staging, failure, is_recorded))? {
        Listed::Staged(listed) => listed,
        Listed::NoRoom(bytes) => return Ok(Taken::NoRoom(bytes)),
    };
    if let Some((_, first)) = listed.failures.first() {
        let more = listed.more_failures;
        let files = counted(listed.failures.len() as u64 + more, "file", "files");
        let note = format!("{files} of the manifest cannot be fetched; first: {}", first.message);
        let is_permanent = listed.failures.iter().any(|(_, why)| why.is_permanent());
        let mut found: Vec<_> = listed.failures.iter().map(|(row, why)| problem_of(row, why)).collect();
        note_more(&mut found, more);
        let problems = found.into_iter().chain(warnings).collect();
        // A file that is another one than the manifest states is no better the next time.
        return Err(if is_permanent {
            StageError::Invalid { note, problems }
        } else {
            StageError::Fatal { note, problems }
        });
    }
    let last = listed.unproved.len().saturating_sub(1);
    warnings.extend(listed.unproved.iter().enumerate().map(|(at, (line, path))| {
        let more = if at == last { listed.more_unproved } else { 0 };
        ItemProblem { file: Some(MANIFEST_NAME.to_owned()), ..end_not_proved(path, Some(*line), more) }
    }));
    if !warnings.is_empty() {
        context.set_fact(WARNINGS, &warnings)?;
    }
    Ok(Taken::Whole(Scan::of_loose_files(listed.files, listed.bytes), staging.into_inner().end()?))
}

/// Stages the manifest itself: it describes the submission. Returns how many bytes there is no room for, where that is so.
fn stage_list(staging: &RefCell<Staging<'_, '_>>, list: &mut File) -> Result<Option<u64>, StageError> {
    let unreadable = |error: io::Error| StageError::Transient(format!("could not read the manifest: {error}"));
    let size = list.metadata().map_err(unreadable)?.len();
    let entry = BagFile::new(submission_row(MANIFEST_NAME), size, None);
    let mut staging = staging.borrow_mut();
    // Why it failed is kept in the staging.
    if let Err(error) = staging.take(&entry, list) {
        return match staging.stopped() {
            Some(Stopped::NoRoom(bytes)) => Ok(Some(bytes)),
            Some(Stopped::Failed(failure)) => Err(failure),
            None => Err(unreadable(error)),
        };
    }
    list.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    Ok(None)
}

/// Says with the last of these problems how many more files cannot be had.
pub(super) fn note_more(problems: &mut [ItemProblem], more: u64) {
    if let (1.., Some(last)) = (more, problems.last_mut()) {
        let files = counted(more, "more file", "more files");
        last.message = format!("{}; and {files} cannot be fetched, behind this one", last.message);
    }
}

/// What is told of a row whose file cannot be had.
fn problem_of(row: &FileRow, why: &ItemProblem) -> ItemProblem {
    ItemProblem {
        file: Some(MANIFEST_NAME.to_owned()),
        path: Some(row.path.clone()),
        line: Some(row.line),
        ..why.clone()
    }
}

/// Whether a folder or file is there and is another one than before, so that what failed while it was read says nothing about it.
fn has_changed(context: &StageContext<'_>, payload: &PackageSource, etag: &str) -> bool {
    matches!(payload, PackageSource::LocalPath(_)) && payload.locate(context).is_ok_and(|now| now.etag != etag)
}

/// The source changed: what was staged is of another deposit.
fn start_over(context: &StageContext<'_>, payload: &PackageSource) -> Result<Outcome, StageError> {
    restage(context)?;
    let located = payload.locate(context)?;
    context.write(move |tx, claim| work::set_source(tx, claim, &located.etag, located.size, None))?;
    Err(StageError::Changed { again_at: ESTIMATE, note: "the package changed since it was received".into() })
}

/// The deposit is larger than what was reserved, and there is no room for more right now: it gives back what it has, and waits for twice as
/// much, or for what is said of its size where that is less. `has_come` says whether so many bytes came, or are only stated.
fn grow(context: &StageContext<'_>, at_least: u64, has_come: bool) -> Result<Outcome, StageError> {
    let item = context.item.id;
    let (needed_before, waited_since) = context
        .registry()
        .read(|tx| Ok::<_, RegistryError>((interim::needed_at_least(tx, item)?, interim::waited_since(tx, item)?)))?;
    if restage(context)?.is_none() {
        // Its version is being committed: it goes only forward, with what it has.
        return Err(StageError::Transient(format!("no room for {at_least} bytes in staging")));
    }
    // What cannot be removed now is removed with the item.
    let _ = kept_downloads::forget(context.home, item);
    let stated = context.item.size.filter(|size| *size > at_least).unwrap_or(u64::MAX);
    let most = quota(context)?.unwrap_or(u64::MAX).min(context.home.staging_capacity());
    let free = at_least.saturating_mul(2).max(needed_before.free).min(stated).min(most);
    let needed = Needed { free, refused: if has_come { at_least } else { needed_before.refused } };
    let topics = context.write(move |tx, claim| {
        interim::give_back(tx, claim, needed, waited_since)?;
        // What it had is free to others that wait.
        work::wake_all(tx, &WaitKey::staging(), Some(claim.item.0))
    })?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(Outcome::RestartFrom {
        stage: PROVISION,
        note: format!("no room for {at_least} bytes in staging; waits for more space"),
    })
}

/// Compares the payload as a file with the digest that the depositor declared for it.
fn check_declared_digest(
    context: &StageContext<'_>,
    payload: &PackageSource,
    options: &DepositOptions,
) -> Result<(), StageError> {
    let Some((algorithm, declared)) = options.digest.clone() else { return Ok(()) };
    let PackageSource::LocalPath(path) = payload else { return Ok(()) };
    let unreadable = |error: io::Error| StageError::fatal(format!("could not read {}: {error}", path.display()));
    let file = open_regular(path).map_err(unreadable)?;
    let go_on = || context.task.check();
    let interruptible = Interruptible::new(file, &go_on);
    let (_, digests) = hash_reader(interruptible, &[algorithm]).map_err(|error| interruption(context, path, &error))?;
    let found = digests.get(algorithm).map(|digest| digest.to_hex()).unwrap_or_default();
    if found == declared {
        return Ok(());
    }
    let text = format!("the package has {algorithm}:{found}, declared was {algorithm}:{declared}");
    Err(mismatch(DIGEST_MISMATCH, text))
}

/// A recorded digest by its algorithm.
pub(in crate::ingest) fn digest_of(digests: &Digests, algorithm: Algorithm) -> Option<Digest> {
    match algorithm {
        Algorithm::Md5 => Some(digests.md5),
        Algorithm::Sha1 => Some(digests.sha1),
        Algorithm::Sha256 => Some(digests.sha256),
        Algorithm::Sha512 => Some(digests.sha512),
        _ => None,
    }
}
