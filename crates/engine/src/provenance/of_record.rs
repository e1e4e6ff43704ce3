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
/// Records and entities of which it is written what was made of them.
const FOLLOWED: usize = 100;
/// Ends of the validity of one entity that are written.
const ENDS: usize = 1_000;

/// Writes what activities of an institution have made of a record, and of that, with these; whether there is anything. Records of several
/// sources may have the same id: the activities say which source each is of.
///
/// # Errors
/// The registry cannot be read, or `out` refuses bytes.
pub(crate) fn write_record(
    home: &Home,
    institution: InstitutionId,
    record: &str,
    out: &mut dyn Write,
) -> Result<bool, EngineError> {
    let mut document = Document::new(out);
    write_made_of(home, institution, record, &mut document)?;
    if !document.has_nodes {
        return Ok(false);
    }
    document.end().map(|()| true)
}

/// Writes what was made of a record or an entity, of what was made of it, and so on.
pub(super) fn write_made_of(
    home: &Home,
    institution: InstitutionId,
    record: &str,
    document: &mut Document<'_>,
) -> Result<(), EngineError> {
    let mut names = vec![record.to_owned()];
    let mut written = 0;
    while written < names.len().min(FOLLOWED) {
        let name = names.get(written).cloned().unwrap_or_default();
        for entity in write_step(home, institution, &name, document)? {
            if !names.contains(&entity) {
                names.push(entity);
            }
        }
        written += 1;
    }
    Ok(())
}

/// Writes what activities have made of a record; what that is.
fn write_step(
    home: &Home,
    institution: InstitutionId,
    record: &str,
    document: &mut Document<'_>,
) -> Result<Vec<String>, EngineError> {
    let filter = ActivityFilter { order: Order::OldestFirst, ..ActivityFilter::default() };
    let (mut made, mut after) = (Vec::new(), None);
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
                    if !is_written {
                        document.activity(home, activity)?;
                        is_written = true;
                    }
                    document.result(by, &result)?;
                    document.versions(home, by.institution, std::iter::once(result.entity.as_str()))?;
                    ends_of(home, document, (institution, &result))?;
                    made.push(result.entity);
                }
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.id),
            _ => return Ok(made),
        }
    }
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
