//! Batches: one submission each, with its work items.

use strongroom_registry::batches::{self, Batch, BatchFilter};
use strongroom_registry::items::{self, Asker, ItemFilter};
use strongroom_registry::{
    BatchId, BatchState, RegistryError, Scope, Stage, Time, Transaction, notifications, outbox, reports, restorations,
};

use super::authorization::{BATCHES_LIST, BATCHES_SHOW, BATCHES_STEER, ITEMS_WORK};
use super::items::{Ask, check_folder};
use super::views::{BatchView, MessageCountsView, MessageView, ToldView};
use super::{Listing, OpContext, PAGE, Page};
use crate::EngineError;
use crate::background::holds;
use crate::journal::Target;
use crate::reports::behind_reports;
use crate::restoration::follow_receipt;
use crate::runtime::{Shutdown, Summary};
use crate::work::work_on_batch;

/// Which batches are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only this state; those that were deleted only by it.
    pub state: Option<BatchState>,
    /// Only those made since.
    pub since: Option<Time>,
    /// In which order, and at most how many on a page.
    pub listing: Listing,
}

/// The batch that a text names: its identifier, or a part of it that no other batch has.
pub fn named(context: &OpContext, text: &str) -> Result<BatchId, EngineError> {
    context.authorize(&BATCHES_SHOW)?.named(text)
}

/// Batches in the order that the filter says, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<BatchId>,
) -> Result<Page<BatchView, BatchId>, EngineError> {
    let authorized = context.authorize(&BATCHES_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let wanted = BatchFilter { state: filter.state, since: filter.since, order: filter.listing.order };
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
            messages: messages.into_iter().map(MessageView::from).collect(),
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

/// Places a hold on a batch or lifts it, or asks something of every item of it that can be meant, all or none; the batch as it is then.
/// Items whose version is committed go on to their end.
///
/// # Errors
/// Nothing would change: [`EngineError::Refused`].
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
    let (scope, who) = (authorized.scope(), authorized.actor().name.clone());
    let (entry, registry) = (authorized.entry_named(ask.act()), &authorized.home().registry);
    let workflows = registry.workflows();
    let (asker, reason) = (who.clone(), reason.map(str::to_owned));
    let act = move |tx: &mut dyn Transaction| {
        let found = find(tx, scope, batch)?;
        check_folders(tx, scope, ask, batch)?;
        let has_new_rules = takes_new_rules && batches::take_new_rules(tx, batch)?;
        let by = Asker { who: &asker, reason: reason.as_deref() };
        let mut done = batches::request(tx, workflows.as_ref(), scope, batch, ask.into(), by)?;
        if let Ask::Requeue(_) = ask {
            done.topics.extend(follow_receipt(tx, workflows.as_ref(), batch)?);
        }
        let is_newly_deleted = ask == Ask::Delete && found.state != BatchState::Deleted;
        if !(done.has_changed || is_newly_deleted || has_new_rules) {
            return Err(nothing_to_do(&found, ask, done.permanent));
        }
        entry.done(tx, &Target::of(found.institution, format!("batch {batch}")))?;
        Ok::<_, EngineError>(done.topics)
    };
    behind_reports(authorized.home(), || registry.write_and_wake(act.clone()))?;
    if matches!(ask, Ask::Hold | Ask::Release) {
        holds::settle(authorized.home(), Some(batch), &who, &|| false)?;
    }
    Ok(authorized.read(|tx| {
        let batch = find(tx, scope, batch)?;
        BatchView::read(tx, batch)
    })?)
}

/// Works on the items of a batch in this process, under their leases, until all have ended, a person has to release what is
/// left, or a stop is asked for; also on those that are made meanwhile.
pub fn work(context: &OpContext, batch: BatchId, shutdown: &Shutdown) -> Result<Summary, EngineError> {
    let authorized = context.authorize(&ITEMS_WORK)?;
    authorized.read(|tx| find(tx, authorized.scope(), batch))?;
    work_on_batch(authorized.home(), batch, shutdown)
}

/// [`check_folder`] for each item of a batch.
fn check_folders(tx: &mut dyn Transaction, scope: Scope, ask: Ask, batch: BatchId) -> Result<(), EngineError> {
    if !matches!((scope, ask), (Scope::Institution(_), Ask::Requeue(_))) {
        return Ok(());
    }
    let of_batch = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
    let mut after = None;
    loop {
        let page = items::list(tx, scope, &of_batch, after, PAGE)?;
        page.iter().try_for_each(|item| check_folder(scope, ask, item))?;
        match page.last() {
            Some(last) => after = Some(last.id),
            None => return Ok(()),
        }
    }
}

/// Why a request that would change nothing is refused.
fn nothing_to_do(batch: &Batch, ask: Ask, permanent: u64) -> EngineError {
    let none = match ask {
        Ask::Hold if batch.state.is_open() => "it is on hold already",
        Ask::Hold => "none of its items is open",
        Ask::Release => "there is no hold on it; what holds its items is lifted with \"items release\"",
        Ask::Cancel => "all its items have ended, or their versions are committed",
        Ask::Delete => "it was deleted before",
        Ask::Requeue(_) if permanent > 0 => {
            "each item of it that failed did so by its package, which has to be corrected and deposited again"
        }
        Ask::Requeue(_) => "no item of it has failed",
    };
    let Batch { id, state, .. } = batch;
    EngineError::Refused(format!("could not {} batch {id}, which is {state}: {none}", ask.act()))
        .next(format!("\"strongroom batches report {id}\" shows its items"))
}

fn find(tx: &mut dyn Transaction, scope: Scope, id: BatchId) -> Result<Batch, RegistryError> {
    batches::get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "batch", id: id.to_string() })
}
