//! Reports of batches: the tasks that finish them and compose what is told, and the forms in which they are written. The registry makes
//! them ([`strongroom_registry::reports`]).

mod asked;
mod forms;
mod handler;
mod messages;
mod reader;
mod view;

use strongroom_registry::reports::{self as records, RowFilter};
use strongroom_registry::{RegistryError, ReportId, Scope, Transaction, batches};

use crate::paging;
use crate::{EngineError, Home};

pub(crate) use asked::{check_news, drop_abandoned, write_provisional};
pub use forms::{ReportForm, facts};
pub(crate) use forms::{escaped, printable, write};
pub(crate) use handler::{TASK, behind_reports, fill, tell_untold};
pub(crate) use messages::{html_of, ingested, is_for_admins, text_of, undeliverable_warning};
pub use view::{ReportRowView, ReportView};

/// Rows read at once.
const ROWS_AT_ONCE: usize = 500;

/// A report with its batch.
pub(crate) fn view(tx: &mut dyn Transaction, id: ReportId) -> Result<ReportView, RegistryError> {
    let report = records::get(tx, id)?;
    let batch = batches::get(tx, Scope::System, report.batch)?;
    let batch = batch.ok_or_else(|| RegistryError::NotFound { what: "batch", id: report.batch.to_string() })?;
    Ok(ReportView::new(&report, &batch))
}

/// The rows of a report one by one, read page by page: they do not change.
pub(crate) fn rows(
    home: &Home,
    id: ReportId,
    filter: RowFilter,
) -> impl Iterator<Item = Result<ReportRowView, EngineError>> {
    let page = move |after, limit| home.registry.read(|tx| records::rows(tx, id, filter, after, limit));
    let rows = paging::rows(ROWS_AT_ONCE, |row: &records::ReportRow| row.item, page);
    rows.map(|row| Ok(ReportRowView::from(row?)))
}

/// The parts of a report for people: their titles, and the rows that they list.
pub fn sections(report: &ReportView) -> Vec<(&'static str, RowFilter)> {
    use strongroom_registry::ReportKind;
    let (all, changed) = (RowFilter::default(), RowFilter { changed: true, unresolved: false });
    let unresolved = RowFilter { changed: false, unresolved: true };
    let mut sections = Vec::new();
    if report.kind == ReportKind::Update {
        sections.push(("Changed since the last report", changed));
    }
    if report.unresolved > 0 {
        sections.push(("Unresolved", unresolved));
    }
    if report.kind != ReportKind::Update && report.unresolved < report.items {
        sections.push(("All items", all));
    }
    sections
}
