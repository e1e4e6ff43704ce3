//! What people ask of whole batches, carried out page after page of their items, each page in a transaction of its own: a batch may have a
//! million items. What was cut short is continued by the same request; deletions, cancellations and failures also by the background task
//! `holds`.

use strongroom_registry::batches::{self, Batch, BatchAct, BatchRequest, Step, Stop};
use strongroom_registry::items::{Asker, Request};
use strongroom_registry::{BatchId, ItemStatus, JournalOutcome, RegistryError, Scope, Transaction};

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

/// Carries out a request for every item of a batch that it means, page by page. The journal has a line where something changes, and one
/// more at the end where that takes more than one transaction. What it did, of all steps together.
pub(crate) fn carry_out(
    home: &Home,
    (scope, batch): (Scope, BatchId),
    act: &Act,
    entry: Option<&JournalEntry>,
) -> Result<BatchRequest, EngineError> {
    carry_out_from(Step::Begin, home, (scope, batch), (act, entry), &|| false)
}

/// Carries out the rest of a request that was begun in a transaction of its own, from a step on.
pub(crate) fn go_on(home: &Home, batch: BatchId, act: &Act, from: Step) -> Result<BatchRequest, EngineError> {
    carry_out_from(from, home, (Scope::System, batch), (act, None), &|| false)
}

/// The same from a step on, until a stop is asked for.
fn carry_out_from(
    first: Step,
    home: &Home,
    (scope, batch): (Scope, BatchId),
    (act, entry): (&Act, Option<&JournalEntry>),
    is_stopped: &dyn Fn() -> bool,
) -> Result<BatchRequest, EngineError> {
    let registry = &home.registry;
    let mut all = BatchRequest::default();
    let mut next = Some(first);
    while let Some(step) = next.filter(|_| !is_stopped()) {
        let (workflows, of_step, entry, before) = (registry.workflows(), act.clone(), entry.cloned(), all.clone());
        let carry_out = move |tx: &mut dyn Transaction| {
            let found = find(tx, scope, batch)?;
            let by = Asker { who: &of_step.who, reason: of_step.reason.as_deref() };
            let takes_new_rules = of_step.takes_new_rules;
            let asked = BatchAct { request: of_step.request, by, step, takes_new_rules };
            let mut done = batches::request(tx, workflows.as_ref(), scope, batch, asked)?;
            let is_first = done.has_changed && !before.has_changed;
            if is_first && matches!(of_step.request, Request::Requeue(_)) {
                done.topics.extend(follow_receipt(tx, workflows.as_ref(), batch)?);
            }
            let outcome = match done.next {
                None => (done.has_changed || before.has_changed).then_some(JournalOutcome::Done),
                Some(_) => is_first.then_some(JournalOutcome::Begun),
            };
            if let (Some(entry), Some(outcome)) = (&entry, outcome) {
                entry.append(tx, &Target::of(found.institution, format!("batch {batch}")), outcome, None)?;
            }
            Ok::<_, EngineError>(done)
        };
        let done = behind_reports(home, || registry.write_as(act.request.isolation(), carry_out.clone()));
        let done = done.map_err(|error| match step {
            Step::Page { .. } | Step::End(_) if all.has_changed => error.next(left_to_do(batch)),
            _ => error,
        })?;
        registry.wakeups().notify(done.topics.iter().map(String::as_str));
        next = done.next;
        all = BatchRequest {
            topics: Vec::new(),
            items: all.items + done.items,
            has_changed: all.has_changed || done.has_changed,
            permanent: all.permanent + done.permanent,
            refused: all.refused + done.refused,
            refusal: all.refusal.or(done.refusal),
            next,
        };
        if next.is_some() {
            crash_point("batch.act.page");
        }
    }
    Ok(all)
}

/// What follows where a request was begun and a page of it failed.
fn left_to_do(batch: BatchId) -> String {
    format!(
        "repeat the command, which does the rest; cancellations, failures and deletions are also completed by the background task holds. \
         \"strongroom batches show {batch}\" shows how far it is"
    )
}

/// Completes what people asked of batches and what was cut short: deletions, also of items that workers had; cancellations and failures.
/// How many items changed.
pub(crate) fn complete(home: &Home, is_stopped: &dyn Fn() -> bool) -> Result<u64, EngineError> {
    let deletions = |after: Option<BatchId>, limit| home.registry.read(|tx| batches::being_deleted(tx, after, limit));
    let stops = |after: Option<BatchId>, limit| home.registry.read(|tx| batches::stops(tx, after, limit));
    let deletions = rows(BATCHES_AT_ONCE, |(batch, _): &(BatchId, String)| *batch, deletions).map(|found| {
        let (batch, who) = found?;
        let act = Act { request: Request::Delete, who, reason: None, takes_new_rules: false };
        Ok::<_, EngineError>((batch, Step::Begin, act))
    });
    let stops = rows(BATCHES_AT_ONCE, |stop: &Stop| stop.batch, stops).map(|found| {
        let Stop { batch, status, asked_by: who, reason, asked_at } = found?;
        let request = if status == ItemStatus::Failed { Request::Fail } else { Request::Cancel };
        // What another process has done by then is not written down anew.
        let step = Step::Page { after: None, of: Some(asked_at) };
        Ok((batch, step, Act { request, who, reason, takes_new_rules: false }))
    });
    let (mut changed, mut failure) = (0, None);
    for begun in deletions.chain(stops) {
        if is_stopped() {
            break;
        }
        let (batch, step, act) = begun?;
        match carry_out_from(step, home, (Scope::System, batch), (&act, None), is_stopped) {
            Ok(done) => changed += done.items,
            // It is gone, with everything of it.
            Err(EngineError::Registry(RegistryError::NotFound { .. })) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(changed), Err)
}

/// Batches looked up at once.
const BATCHES_AT_ONCE: usize = 100;

/// A batch that must exist and be within the scope.
pub(crate) fn find(tx: &mut dyn Transaction, scope: Scope, id: BatchId) -> Result<Batch, RegistryError> {
    batches::get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "batch", id: id.to_string() })
}
