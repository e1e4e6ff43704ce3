//! What people ask of whole batches, carried out page after page of their items, each page in a transaction of its own: a batch may have a
//! million items. What was cut short is continued by the same request; deletions also by the background task `holds`.

use strongroom_registry::batches::{self, Batch, BatchAct, BatchRequest};
use strongroom_registry::items::{Asker, Request};
use strongroom_registry::{BatchId, BatchState, JournalOutcome, RegistryError, Scope, Transaction};

use crate::journal::{JournalEntry, Target};
use crate::paging::rows;
use crate::reports::behind_reports;
use crate::restoration::follow_receipt;
use crate::{EngineError, Home, crash_point};

/// What is asked of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    /// What.
    pub(crate) request: Request,
    /// Who asks.
    pub(crate) who: String,
    /// Why.
    pub(crate) reason: Option<String>,
    /// Whether the batch goes on with the rules that its collection has now.
    pub(crate) takes_new_rules: bool,
}

/// Carries out a request for every item of a batch that it means, 100 in a transaction. The journal has a line where something changes,
/// and one more at the end where that takes more than one transaction. What it did, of all pages together.
pub(crate) fn carry_out(
    home: &Home,
    (scope, batch): (Scope, BatchId),
    act: &Act,
    entry: Option<&JournalEntry>,
) -> Result<BatchRequest, EngineError> {
    let registry = &home.registry;
    let mut all = BatchRequest::default();
    loop {
        let (workflows, act, entry, before) = (registry.workflows(), act.clone(), entry.cloned(), all.clone());
        let page_of = move |tx: &mut dyn Transaction| {
            let found = find(tx, scope, batch)?;
            let by = Asker { who: &act.who, reason: act.reason.as_deref() };
            let takes_new_rules = act.takes_new_rules;
            let asked = BatchAct { request: act.request, by, after: before.last, takes_new_rules };
            let mut page = batches::request(tx, workflows.as_ref(), scope, batch, asked)?;
            page.has_changed |= act.request == Request::Delete && found.state != BatchState::Deleted;
            let is_first = page.has_changed && !before.has_changed;
            if is_first && matches!(act.request, Request::Requeue(_)) {
                page.topics.extend(follow_receipt(tx, workflows.as_ref(), batch)?);
            }
            let outcome = match page.last {
                None => (page.has_changed || before.has_changed).then_some(JournalOutcome::Done),
                Some(_) => is_first.then_some(JournalOutcome::Begun),
            };
            if let (Some(entry), Some(outcome)) = (&entry, outcome) {
                entry.append(tx, &Target::of(found.institution, format!("batch {batch}")), outcome, None)?;
            }
            Ok::<_, EngineError>(page)
        };
        let page = behind_reports(home, || registry.write(page_of.clone()))?;
        registry.wakeups().notify(page.topics.iter().map(String::as_str));
        all = BatchRequest {
            topics: Vec::new(),
            items: all.items + page.items,
            has_changed: all.has_changed || page.has_changed,
            permanent: all.permanent + page.permanent,
            refused: all.refused + page.refused,
            refusal: all.refusal.or(page.refusal),
            last: page.last,
        };
        if all.last.is_none() {
            return Ok(all);
        }
        crash_point("batch.act.page");
    }
}

/// Deletes the items of batches that were deleted and have items that are not: a process was killed, or a worker had them. How many.
pub(crate) fn finish_deletions(home: &Home, is_stopped: &dyn Fn() -> bool) -> Result<u64, EngineError> {
    let page = |after: Option<BatchId>, limit| home.registry.read(|tx| batches::being_deleted(tx, after, limit));
    let mut deleted = 0;
    for found in rows(BATCHES_AT_ONCE, |(batch, _): &(BatchId, String)| *batch, page) {
        if is_stopped() {
            break;
        }
        let (batch, who) = found?;
        let act = Act { request: Request::Delete, who, reason: None, takes_new_rules: false };
        deleted += carry_out(home, (Scope::System, batch), &act, None)?.items;
    }
    Ok(deleted)
}

/// Batches looked up at once.
const BATCHES_AT_ONCE: usize = 100;

/// A batch that must exist and be within the scope.
pub(crate) fn find(tx: &mut dyn Transaction, scope: Scope, id: BatchId) -> Result<Batch, RegistryError> {
    batches::get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "batch", id: id.to_string() })
}
