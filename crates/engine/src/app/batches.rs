//! Batches: one submission each, with its work items.

use strongroom_registry::batches::{self, Batch, BatchFilter};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::outbox::About;
use strongroom_registry::{
    BatchId, BatchState, ItemId, RegistryError, Scope, Stage, Time, Transaction, counted, notifications, outbox,
    reports, restorations, schedules,
};

use super::authorization::{BATCHES_LIST, BATCHES_SHOW, BATCHES_STEER, ITEMS_WORK};
use super::collections::scope_of_collection;
use super::items::{Ask, check_folder};
use super::outbox::views;
use super::untold;
use super::views::{BatchView, MessageCountsView, ToldView};
use super::{Authorized, Listing, OpContext, PAGE, Page};
use crate::EngineError;
use crate::background::{self, holds};
use crate::batch_acts::{self, Act, find};
use crate::journal::Target;
use crate::notifications::{Readdressed, checked_addresses, readdressed};
use crate::paging::rows;
use crate::reports::is_for_admins;
use crate::runtime::{Shutdown, Summary};
use crate::work::work_on_batch;

/// Which batches are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those of the collection of this short name, of the institution where one is given; or `<institution>/<name>`.
    pub collection: Option<String>,
    /// Only this state; those that were deleted only by it.
    pub state: Option<BatchState>,
    /// Only those made since.
    pub since: Option<Time>,
    /// In which order, and at most how many on a page.
    pub listing: Listing,
}

/// The batch that a text names: its identifier, or a part of it that no other batch has.
pub fn named(context: &OpContext, text: &str) -> Result<BatchId, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    authorized.named(text).map_err(|error| match (&error, authorized.named::<ItemId>(text)) {
        (EngineError::Registry(RegistryError::NotFound { .. }), Ok(item)) => {
            EngineError::Absent(format!("{text} is a work item, and no batch"))
                .next(format!("\"strongroom items show {item}\" shows it, and its batch"))
        }
        _ => error,
    })
}

/// Batches in the order that the filter says, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<BatchId>,
) -> Result<Page<BatchView, BatchId>, EngineError> {
    let authorized = context.authorize(&BATCHES_LIST)?;
    let (scope, collection) =
        scope_of_collection(&authorized, filter.institution.as_deref(), filter.collection.as_deref())?;
    let wanted = BatchFilter { state: filter.state, collection, since: filter.since, order: filter.listing.order };
    let items = authorized.read(|tx| {
        let page = batches::list(tx, scope, &wanted, after, filter.listing.page())?;
        page.into_iter().map(|batch| BatchView::read(tx, batch)).collect::<Result<Vec<_>, RegistryError>>()
    })?;
    let next = items.last().map(|last| last.batch);
    Ok(Page { items, next })
}

/// One batch.
pub fn show(context: &OpContext, batch: BatchId) -> Result<BatchView, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    Ok(authorized.read(|tx| {
        let batch = find(tx, authorized.scope(), batch)?;
        BatchView::read(tx, batch)
    })?)
}

/// Who hears of a batch, what was told, and what is to be.
pub fn told(context: &OpContext, batch: BatchId) -> Result<ToldView, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    Ok(authorized.read(|tx| {
        find(tx, authorized.scope(), batch)?;
        let told = notifications::of_batch(tx, batch)?;
        let messages = outbox::of_batch(tx, batch, i64::MAX as u64, MESSAGES)?;
        Ok::<_, RegistryError>(ToldView {
            rules_version: batches::rules_version(tx, batch)?,
            notify_to: told.addresses,
            suppress: told.suppressed,
            callback_url: told.callback_url.map(|url| strongroom_download::shown_url(&url)),
            callback_required: told.is_callback_required,
            reports_not_told: reports::untold_of_batch(tx, batch, MESSAGES)?,
            counts: outbox::counts_of_batch(tx, batch)?.into_iter().map(MessageCountsView::from).collect(),
            messages: views(tx, messages)?,
        })
    })?)
}

/// The messages about a batch that are shown with it.
const MESSAGES: usize = 50;

/// How many objects a batch of restorations restores, also those that have no work items yet, and their bytes.
pub fn restoration_amount(context: &OpContext, batch: BatchId) -> Result<(u64, u64), EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    Ok(authorized.read(|tx| {
        find(tx, authorized.scope(), batch)?;
        restorations::amount(tx, batch)
    })?)
}

/// What depositors do not hear because a batch is deleted, a sentence each; nothing where its last report says how it ended.
pub fn untold_by_deletion(context: &OpContext, batch: BatchId) -> Result<Vec<String>, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    let settings = &authorized.home().settings;
    Ok(authorized.read(|tx| {
        let batch = find(tx, authorized.scope(), batch)?;
        untold::of_batch(tx, settings, &batch)
    })?)
}

/// Places a hold on a batch or lifts it, or asks something of every item of it that can be meant, in transactions of 100 items; the batch as
/// it is then. Items whose version is committed go on to their end.
///
/// A batch that is deleted begins nothing more. The items that workers have are deleted by the background task `holds` when they have ended.
///
/// # Errors
/// Nothing would change, or some items refuse a request that the others follow: [`EngineError::Refused`]. A deletion that is not confirmed
/// keeps something from the depositor: [`EngineError::Usage`].
pub fn steer(context: &OpContext, batch: BatchId, ask: Ask, reason: Option<&str>) -> Result<BatchView, EngineError> {
    steer_with(context, batch, (ask, reason), false)
}

/// Requeues the failed items of a batch, for this stage or for the one that each stopped at, and has the batch go on with the rules that
/// its collection has now instead of those that it began with, also where no item has failed: stages that begin later, and the mails and
/// events of later ends, follow those rules.
///
/// # Errors
/// As [`steer`].
pub fn requeue_with_new_rules(
    context: &OpContext,
    batch: BatchId,
    stage: Option<Stage>,
) -> Result<BatchView, EngineError> {
    steer_with(context, batch, (Ask::Requeue(stage), None), true)
}

fn steer_with(
    context: &OpContext,
    batch: BatchId,
    (ask, reason): (Ask, Option<&str>),
    takes_new_rules: bool,
) -> Result<BatchView, EngineError> {
    let authorized = context.authorize(&BATCHES_STEER)?;
    let (scope, who) = (authorized.scope(), authorized.actor().to_string());
    let home = authorized.home();
    let found = authorized.read(|tx| find(tx, scope, batch))?;
    if let Ask::Delete { is_confirmed: false } = ask {
        let untold = authorized.read(|tx| untold::of_batch(tx, &home.settings, &found))?;
        // No report comes while all that has not ended is held.
        let first = match found.state {
            BatchState::Held => format!("release what is held, or \"strongroom batches cancel {batch}\", and {WAIT}"),
            _ => WAIT.to_owned(),
        };
        refuse_untold(&untold, &first)?;
    }
    check_folders(&authorized, ask, batch)?;
    let act = Act { request: ask.into(), who, reason: reason.map(str::to_owned), takes_new_rules };
    let done = batch_acts::carry_out(home, (scope, batch), &act, Some(&authorized.entry_named(ask.act())))?;
    if matches!(ask, Ask::Hold | Ask::Release) {
        holds::settle(home, Some(batch), &act.who, &|| false)?;
    }
    match (done.has_changed, done.refusal) {
        (true, None) => {}
        (false, None) => return Err(nothing_to_do(&found, ask, done.permanent)),
        (_, Some(refusal)) => {
            let (refused, items) = (counted(done.refused, "item", "items"), counted(done.items, "item", "items"));
            return Err(EngineError::Refused(format!(
                "{refused} of batch {batch} refused to {}, and {items} did it; the first: {refusal}",
                ask.act()
            ))
            .next(format!("\"strongroom items list --batch {batch}\" shows where each is")));
        }
    }
    Ok(authorized.read(|tx| {
        let batch = find(tx, scope, batch)?;
        BatchView::read(tx, batch)
    })?)
}

/// Mails that are readdressed in one transaction.
const MAILS_AT_ONCE: usize = 10;

/// Sets the addresses that mails about a batch go to; none: those of its collection. Mails that were not delivered go to them instead, and
/// what was refused for some recipients is sent to those who do not have it. The batch as it is then.
///
/// # Errors
/// One is no address: [`EngineError::Usage`]. The batch was deleted: [`EngineError::Refused`].
pub fn set_addresses(context: &OpContext, batch: BatchId, addresses: &[String]) -> Result<BatchView, EngineError> {
    let authorized = context.authorize(&BATCHES_STEER)?;
    let (scope, home, entry) = (authorized.scope(), authorized.home(), authorized.entry_named("set"));
    let found = authorized.read(|tx| find(tx, scope, batch))?;
    if found.state == BatchState::Deleted {
        return Err(deleted(batch, "set the addresses of"));
    }
    let addresses = checked_addresses(addresses)?;
    home.registry.write(move |tx| {
        batches::set_addresses(tx, batch, &addresses)?;
        entry.done(tx, &Target::of(found.institution, format!("batch {batch}")))?;
        Ok::<_, RegistryError>(())
    })?;
    let mut after = Some(0);
    while let Some(number) = after {
        after = home.registry.write(move |tx| readdress(tx, batch, number))?;
    }
    show(context, batch)
}

/// Readdresses the mails of a batch behind a number; the number of the last, unless there are no more.
fn readdress(tx: &mut dyn Transaction, batch: BatchId, after: u64) -> Result<Option<u64>, RegistryError> {
    let told = notifications::of_batch(tx, batch)?;
    let page = outbox::undelivered_mails_of_batch(tx, batch, after, MAILS_AT_ONCE)?;
    for listed in page.iter().filter(|message| !is_for_admins(message)) {
        // What is listed lacks a long attachment, which stays with the mail.
        let Some(message) = outbox::get(tx, listed.id)? else { continue };
        let message = &message;
        let Some(Readdressed { progress, replaced, further }) = readdressed(message, &told.addresses) else { continue };
        match replaced {
            Some(payload) => outbox::replace(tx, message.id, &payload, &progress)?,
            None => outbox::set_progress(tx, message.id, &progress)?,
        }
        if let Some(further) = further {
            further
                .insert_about(tx, About { institution: message.institution, item: message.item, batch: Some(batch) })?;
            if let Some(inserted) = outbox::by_key(tx, further.key())? {
                outbox::set_progress(tx, inserted.id, &progress)?;
            }
        }
        schedules::hasten(tx, background::outbox::NAME)?;
    }
    Ok(page.last().map(|last| last.number))
}

/// What to do before a deletion, so that the depositor hears how it ended.
pub(super) const WAIT: &str = "wait for the report";

/// Refuses a deletion that keeps something from the depositor, unless something is done first.
pub(super) fn refuse_untold(untold: &[String], first: &str) -> Result<(), EngineError> {
    if untold.is_empty() {
        return Ok(());
    }
    Err(EngineError::Usage(format!(
        "the depositor does not hear everything when this is deleted: {}",
        untold.join("; ")
    ))
    .next(format!("{first}, or repeat the command with --yes")))
}

/// Works on the items of a batch in this process, under their leases, until all have ended, a person has to release what is
/// left, or a stop is asked for; also on those that are made meanwhile.
pub fn work(context: &OpContext, batch: BatchId, shutdown: &Shutdown) -> Result<Summary, EngineError> {
    let (call, scope) = (context.for_work(), context.caller().scope);
    let authorized = call.authorize(&ITEMS_WORK)?;
    authorized.read(|tx| find(tx, scope, batch))?;
    work_on_batch(authorized.home(), batch, shutdown)
}

/// [`check_folder`] for each item of a batch.
fn check_folders(authorized: &Authorized<'_>, ask: Ask, batch: BatchId) -> Result<(), EngineError> {
    let scope = authorized.scope();
    if !matches!((scope, ask), (Scope::Institution(_), Ask::Requeue(_))) {
        return Ok(());
    }
    let of_batch = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
    let page = |after, limit| authorized.read(|tx| items::list(tx, scope, &of_batch, after, limit));
    for item in rows(PAGE, |item: &Item| item.id, page) {
        check_folder(scope, ask, &item?)?;
    }
    Ok(())
}

/// Why nothing is done with a batch that was deleted.
pub(super) fn deleted(id: BatchId, act: &str) -> EngineError {
    EngineError::Refused(format!("could not {act} batch {id}: it was deleted before, which is final"))
        .next(format!("\"strongroom items list --batch {id} --status deleted\" shows its items"))
}

/// Why a request that would change nothing is refused.
fn nothing_to_do(batch: &Batch, ask: Ask, permanent: u64) -> EngineError {
    if batch.state == BatchState::Deleted {
        return deleted(batch.id, ask.act());
    }
    let none = match ask {
        Ask::Hold if batch.state.is_open() => "it is on hold already",
        Ask::Hold => "none of its items is open",
        Ask::Release => "there is no hold on it; what holds its items is lifted with \"items release\"",
        Ask::Cancel => "all its items have ended, or their versions are committed",
        Ask::Fail => {
            "no item of it waits or is worked on, but for those that were asked to end before; those that are held are released or cancelled first"
        }
        Ask::Delete { .. } => "none of its items can be deleted",
        Ask::Requeue(_) if permanent > 0 => {
            "each item of it that failed did so by its package, which has to be corrected and deposited again"
        }
        Ask::Requeue(_) => "no item of it has failed",
    };
    let Batch { id, state, .. } = batch;
    EngineError::Refused(format!("could not {} batch {id}, which is {state}: {none}", ask.act()))
        .next(format!("\"strongroom batches report {id}\" shows its items"))
}
