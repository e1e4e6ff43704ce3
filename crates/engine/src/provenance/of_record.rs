//! What activities have made of a record. Provenance is found by activity and run, so each run of the institution is looked up by key; an
//! index by record would be an entry more for each record that any activity processes.

use std::io::Write;

use strongroom_registry::activities::{self, Activity, ActivityFilter};
use strongroom_registry::provenance::{self, By, Produced};
use strongroom_registry::{InstitutionId, Order, RegistryError, Scope};

use super::Document;
use crate::{EngineError, Home};

/// Activities that are read at once, and runs that are looked up at once.
const PAGE: usize = 100;
/// Ends of the validity of one entity that are written.
const ENDS: usize = 1_000;

/// Writes what activities of an institution have made of a record, with these; whether there is anything. Records of several sources may
/// have the same id: the activities say which source each is of.
///
/// # Errors
/// The registry cannot be read, or `out` refuses bytes.
pub(crate) fn write_record(
    home: &Home,
    institution: InstitutionId,
    record: &str,
    out: &mut dyn Write,
) -> Result<bool, EngineError> {
    let mut out = Some(out);
    let mut document: Option<Document<'_>> = None;
    let filter = ActivityFilter { order: Order::OldestFirst, ..ActivityFilter::default() };
    let mut after = None;
    loop {
        let scope = Scope::Institution(institution);
        let page = home.registry.read(|tx| activities::list(tx, scope, &filter, after, PAGE))?;
        for activity in &page {
            let mut is_written = false;
            let mut first = 1;
            while first <= activity.run {
                let last = activity.run.min(first + PAGE as u64 - 1);
                let found = made_of(home, activity, (first, last), record)?;
                first = last + 1;
                for (by, result) in found {
                    if document.is_none() {
                        document = out.take().map(Document::begin).transpose()?;
                    }
                    let Some(document) = document.as_mut() else { continue };
                    if !is_written {
                        document.activity(home, activity)?;
                        is_written = true;
                    }
                    document.result(by, &result)?;
                    ends_of(home, document, (institution, &result))?;
                }
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.id),
            _ => break,
        }
    }
    document.map_or(Ok(false), |document| document.end().map(|()| true))
}

/// What some runs of an activity have made of a record.
fn made_of(
    home: &Home,
    activity: &Activity,
    (first, last): (u64, u64),
    record: &str,
) -> Result<Vec<(By, Produced)>, RegistryError> {
    let runs: Vec<By> = (first..=last).map(|run| By { run, ..By::from(activity) }).collect();
    home.registry.read(|tx| provenance::of_record(tx, &runs, record))
}

/// Writes when what was made was no longer valid, though it is valid again.
fn ends_of(
    home: &Home,
    document: &mut Document<'_>,
    (institution, result): (InstitutionId, &Produced),
) -> Result<(), EngineError> {
    let ends = home.registry.read(|tx| provenance::ends_of_entity(tx, Some(institution), result, ENDS))?;
    ends.iter().filter(|end| !end.is_present).try_for_each(|end| document.end_of_validity(end))
}
