//! The rows that go with a deletion: entries, contents and copies, page by page; then what the inventories of the versions are.

use strongroom_digest::Digest;
use strongroom_ocfl::PurgeScope;
use strongroom_registry::deletions::{self, AT_ONCE, Rewritten};
use strongroom_registry::{GenerationId, ObjectId};

use super::tombstone::DeletionLog;
use crate::crash_point;
use crate::hold::{GoOn, ObjectHold, OperationError};

/// Removes them. Repeating it removes what is left.
pub(super) fn remove(hold: &ObjectHold<'_>, log: &DeletionLog, go_on: &GoOn<'_>) -> Result<(), OperationError> {
    let of: (ObjectId, GenerationId) = (log.object, log.generation);
    let head = log.version;
    match &log.plan.scope {
        PurgeScope::Object { .. } => loop {
            go_on.check()?;
            if hold.write(move |tx| deletions::remove_rows(tx, of, head))? {
                break;
            }
            crash_point("deletion.rows.page");
        },
        PurgeScope::Paths { paths, contents, .. } => {
            let paths: Vec<&String> = paths.iter().collect();
            for page in paths.chunks(AT_ONCE) {
                go_on.check()?;
                let page: Vec<String> = page.iter().map(|path| (*path).clone()).collect();
                hold.write(move |tx| deletions::remove_paths(tx, (of.0, of.1, head), &page))?;
                crash_point("deletion.rows.page");
            }
            // A content path ends with the SHA-512 of its content.
            let digests: Vec<Digest> =
                contents.iter().filter_map(|path| path.rsplit('/').next()?.parse().ok()).collect();
            for page in digests.chunks(AT_ONCE) {
                go_on.check()?;
                let page = page.to_vec();
                hold.write(move |tx| deletions::remove_contents(tx, (of.0, of.1, head), &page))?;
                crash_point("deletion.rows.page");
            }
        }
    }
    let versions = rewritten(log);
    for page in versions.chunks(AT_ONCE) {
        go_on.check()?;
        let page = page.to_vec();
        hold.write(move |tx| deletions::set_inventories(tx, of, &page))?;
    }
    Ok(())
}

/// What the versions are after it.
fn rewritten(log: &DeletionLog) -> Vec<Rewritten> {
    let of_plan = log.plan.inventories.iter();
    let mut versions: Vec<Rewritten> =
        of_plan.map(|(number, one)| (u64::from(number.number()), one.after.map(|seal| seal.digest))).collect();
    let made = log.plan.made.iter();
    versions.extend(made.map(|(number, seal)| (u64::from(number.number()), Some(seal.digest))));
    if !log.is_whole() {
        // The inventory of the newest version is the root inventory.
        versions.retain(|(number, _)| *number != log.version);
        versions.push((log.version, Some(log.plan.after.digest)));
    }
    versions
}
