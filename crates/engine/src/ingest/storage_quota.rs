//! The storage quota of an institution: a deposit that would pass it is refused when it is known what is new in it, before anything is written
//! into a preservation store.

use strongroom_registry::statistics::{self as rows, Room};
use strongroom_registry::versions::Version;
use strongroom_registry::{Scope, tenants};

use super::stages::package::problem;
use crate::runtime::Shutdown;
use crate::statistics;
use crate::statistics::quotas::percent;
use crate::workflow::{StageContext, StageError};

/// Reserves what a version brings; what is to be put behind the note of the item.
///
/// # Errors
/// There is no room for it. The package stays where it is.
pub(super) fn reserve(context: &StageContext<'_>, version: &Version) -> Result<String, StageError> {
    let (id, name) = (context.item.institution, &context.item.institution_identifier);
    let institution = context.registry().read(|tx| tenants::institution_by_id(tx, Scope::System, id))?;
    if institution.is_none_or(|institution| institution.storage_quota.is_none()) {
        return Ok(String::new());
    }
    // What was published and deleted until now counts.
    count(context)?;
    let (item, version) = (context.item.id, version.clone());
    let room = context.write(move |tx, _| rows::reserve(tx, (id, item), &version))?;
    let Some(room) = room else { return Ok(String::new()) };
    if !room.is_enough() {
        return Err(refusal(context, room));
    }
    let used = percent(room.used(), room.quota);
    let is_warned = used >= context.home.settings.statistics.quota_warning;
    Ok(if is_warned { format!("; with it {used} % of the storage quota of {name} are used") } else { String::new() })
}

fn count(context: &StageContext<'_>) -> Result<(), StageError> {
    let stop = Shutdown::new();
    let (_, is_first) = statistics::uncounted(context.home)?;
    let counted = if is_first {
        statistics::run(context.home, &stop).map(drop)
    } else {
        statistics::count_pending(context.home, &stop).map(drop)
    };
    counted.map_err(|error| StageError::Transient(format!("what is kept cannot be counted: {}", error.chain())))
}

/// A quota for so many bytes and a tenth more, in whole MB; below 1 MB in whole kB.
fn with_room(bytes: u64) -> String {
    let bytes = bytes.saturating_add(bytes.div_ceil(10));
    let (unit, name) = if bytes < 1_000_000 { (1_000, "kB") } else { (1_000_000, "MB") };
    format!("{} {name}", bytes.div_ceil(unit))
}

fn refusal(context: &StageContext<'_>, room: Room) -> StageError {
    let Room { quota, kept, reserved, wanted } = room;
    let name = &context.item.institution_identifier;
    let enough = kept.saturating_add(reserved).saturating_add(wanted);
    let note = format!(
        "the deposit adds {wanted} bytes, and {name} may keep {quota} bytes: {kept} are kept, and {reserved} are being deposited; \
         next: delete what is not needed, or let a system_admin (institutions.set) raise the quota: strongroom institution set {name} \
         --storage-quota '{}'; then strongroom items requeue {}",
        with_room(enough),
        context.item.id
    );
    let problems = vec![problem("error", "deposit.storage_quota", None, note.clone())];
    StageError::Fatal { note, problems }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_quota_has_room_for_more_than_one_deposit() {
        for (bytes, quota) in [
            (1, "1 kB"),
            (60_647, "67 kB"),
            (950_000, "2 MB"),
            (10_000_000, "11 MB"),
            (10_000_000_000_001, "11000001 MB"),
        ] {
            assert_eq!(with_room(bytes), quota);
            assert!(crate::settings::parse_size(quota).is_some_and(|parsed| parsed > bytes));
        }
    }
}
