//! Reports of batches.

use std::io::Write;

use strongroom_registry::batches::Batch;
use strongroom_registry::reports::{self as records, Report};
use strongroom_registry::{
    BatchId, BatchState, ItemId, RegistryError, ReportId, Scope, Transaction, batches, provisional_reports,
};

use super::authorization::{BATCHES_REPORT, BATCHES_SHOW};
use super::views::{ReportRowView, ReportView};
use super::{Authorized, OpContext, PAGE, Page};
use crate::journal::Target;
use crate::runtime::Shutdown;
use crate::{EngineError, reports};

pub use crate::reports::{ReportForm, facts, sections};
/// Which rows of a report are listed.
pub use strongroom_registry::reports::RowFilter;

/// The reports of a batch after the number `after`, in their order.
pub fn list(context: &OpContext, batch: BatchId, after: Option<u64>) -> Result<Page<ReportView, u64>, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    let items = authorized.read(|tx| {
        let batch = find_batch(tx, authorized.scope(), batch)?;
        let found = records::list(tx, authorized.scope(), batch.id, after.unwrap_or(0), PAGE)?;
        Ok(found.iter().map(|report| ReportView::new(report, &batch)).collect::<Vec<_>>())
    })?;
    let next = items.last().map(|last| last.number);
    Ok(Page { items, next })
}

/// A report of a batch: that of a number, or the last that is not provisional.
pub fn show(context: &OpContext, batch: BatchId, number: Option<u64>) -> Result<ReportView, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    let scope = authorized.scope();
    let report = find(context, scope, batch, number)?;
    Ok(authorized.read(|tx| reports::view(tx, report.id))?)
}

/// Makes a report of a batch as it is now: a provisional one while it is open, else an update. It is told as any other. The rows of a long
/// one are written page by page, and say what was true at one moment.
///
/// # Errors
/// Nothing has changed since the last report.
pub fn make(context: &OpContext, batch: BatchId) -> Result<ReportView, EngineError> {
    let authorized = context.authorize(&BATCHES_REPORT)?;
    make_in(&authorized, batch).map_err(|error| match error {
        EngineError::Registry(RegistryError::State { .. }) => {
            error.next(format!("\"strongroom batches reports {batch}\" lists its reports"))
        }
        error => error,
    })
}

fn make_in(authorized: &Authorized<'_>, id: BatchId) -> Result<ReportView, EngineError> {
    let (home, scope, who) = (authorized.home(), authorized.scope(), authorized.actor().name.clone());
    let target = |batch: &Batch, view: &ReportView| {
        Target::of(batch.institution, format!("batch {} report {}", batch.id, view.number))
    };
    loop {
        let batch = authorized.read(|tx| find_batch(tx, scope, id))?;
        if records::is_ended(batch.state) {
            reports::check_news(home, id)?;
        }
        let made = {
            let (batch, who) = (batch.clone(), who.clone());
            let act = move |tx: &mut dyn Transaction| {
                let made = records::make(tx, &batch, &who)?;
                let view = reports::view(tx, made.report)?;
                Ok((target(&batch, &view), ((made.report, made.is_filled, view), made.topics)))
            };
            reports::behind_reports(home, || Ok(authorized.write_and_wake(act.clone())?))
        };
        match made {
            Ok((_, true, view)) => return Ok(view),
            Ok((report, false, _)) => {
                // The task of the report does the same where this process is killed.
                reports::fill(home, report, &Shutdown::new())?;
                return Ok(authorized.read(|tx| reports::view(tx, report))?);
            }
            Err(EngineError::Registry(RegistryError::ReportTooLong { .. })) => {}
            Err(error) => return Err(error),
        }
        // Where the batch has ended meanwhile, an update is made.
        let Some(report) = reports::write_provisional(home, &batch, &who)? else { continue };
        let view = authorized.write(move |tx| {
            provisional_reports::end(tx, report)?;
            let view = reports::view(tx, report)?;
            Ok((target(&batch, &view), view))
        })?;
        reports::drop_abandoned(home, &Shutdown::new())?;
        return Ok(view);
    }
}

/// Rows of a report after the item `after`, in the order of the items.
///
/// # Errors
/// Its rows are not all written yet: [`EngineError::Refused`].
pub fn rows(
    context: &OpContext,
    (batch, number): (BatchId, u64),
    filter: RowFilter,
    after: Option<ItemId>,
) -> Result<Page<ReportRowView, ItemId>, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    let report = find_filled(context, authorized.scope(), batch, number)?;
    let found = authorized.read(|tx| records::rows(tx, report, filter, after, PAGE))?;
    let next = found.last().map(|last| last.item);
    Ok(Page { items: found.into_iter().map(ReportRowView::from).collect(), next })
}

/// Writes a report in a form.
///
/// # Errors
/// Its rows are not all written yet: [`EngineError::Refused`].
pub fn write(
    context: &OpContext,
    (batch, number): (BatchId, u64),
    form: ReportForm,
    out: &mut dyn Write,
) -> Result<(), EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    let id = find_filled(context, authorized.scope(), batch, number)?;
    let report = authorized.read(|tx| reports::view(tx, id))?;
    let home = authorized.home();
    let rows = |filter| Box::new(reports::rows(home, id, filter)) as Box<dyn Iterator<Item = _>>;
    reports::write(form, &report, &rows, out)
}

fn find_batch(tx: &mut dyn Transaction, scope: Scope, id: BatchId) -> Result<batches::Batch, RegistryError> {
    batches::get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "batch", id: id.to_string() })
}

fn find(context: &OpContext, scope: Scope, batch: BatchId, number: Option<u64>) -> Result<Report, EngineError> {
    let authorized = context.authorize(&BATCHES_SHOW)?;
    let (state, found) = authorized.read(|tx| {
        let of = find_batch(tx, scope, batch)?;
        let found = match number {
            Some(number) => {
                let found = records::list(tx, scope, batch, number.saturating_sub(1), 1)?;
                found.into_iter().find(|report| report.number == number)
            }
            None => records::last(tx, batch)?,
        };
        Ok::<_, RegistryError>((of.state, found))
    })?;
    found.ok_or_else(|| match number {
        Some(number) => EngineError::Absent(format!("batch {batch} has no report {number}"))
            .next(format!("\"strongroom batches reports {batch}\" lists its reports")),
        None if state == BatchState::Deleted => {
            EngineError::Absent(format!("batch {batch} has no report, and gets none: it was deleted"))
                .next(format!("\"strongroom items list --batch {batch} --status deleted\" shows its items"))
        }
        None => EngineError::Absent(format!("batch {batch} has no report"))
            .next(format!("\"strongroom batches report {batch} --update\" makes one")),
    })
}

fn find_filled(context: &OpContext, scope: Scope, batch: BatchId, number: u64) -> Result<ReportId, EngineError> {
    let report = find(context, scope, batch, Some(number))?;
    if !report.is_filled {
        return Err(EngineError::Refused(format!(
            "report {number} of batch {batch} is still being written by a worker"
        ))
        .next("try again; where no worker runs, \"strongroom work --topics batch.report\" writes it"));
    }
    Ok(report.id)
}
