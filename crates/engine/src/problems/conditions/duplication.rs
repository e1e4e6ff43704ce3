//! What is wrong with duplication: content items that are lost or damaged, sweeps that fail or wait for a person, plain stores that are away.

use strongroom_registry::duplicated_items;
use strongroom_registry::sweeps::{self, Part};
use strongroom_registry::{CopyOutcome, RegistryError, RouteId, SweepPhase, Transaction, counted};
use uuid::Uuid;

use super::super::kinds::{
    DUPLICATION_CONFLICT, DUPLICATION_DAMAGED, DUPLICATION_FAILED, DUPLICATION_HELD, DUPLICATION_LOST,
    PLAIN_STORE_AWAY, PLAIN_STORE_UNWATCHED,
};
use super::{Conditions, PAGE};
use crate::duplication::watch::{self, WatchStatus};
use crate::{EngineError, Home};

/// Parts that are named in the detail of a problem.
const NAMED: usize = 5;

/// Plain stores that are away, or cannot be watched.
pub(super) fn of_plain_stores(home: &Home, found: &mut Conditions) -> Result<(), EngineError> {
    let names: Vec<String> = home.plain_stores.names().map(str::to_owned).collect();
    for name in names {
        if let Err(error) = home.plain_stores.get(&name) {
            found.add_of_store(PLAIN_STORE_AWAY, &name, error.chain());
        } else if let WatchStatus::Unwatched { reason, is_problem: true } = watch::status(home, &name)? {
            let detail = format!("{reason}; what changes in it is found by sweeps alone");
            found.add_of_store(PLAIN_STORE_UNWATCHED, &name, detail);
        }
    }
    Ok(())
}

/// Content items that are lost or damaged, by route.
pub(super) fn of_items(tx: &mut dyn Transaction, found: &mut Conditions) -> Result<(), RegistryError> {
    for (route, outcome, count) in duplicated_items::count_in_trouble(tx)? {
        let items =
            |is: &str, are: &str| counted(count, &format!("content item {is}"), &format!("content items {are}"));
        let (kind, detail) = if outcome == CopyOutcome::Damaged {
            (DUPLICATION_DAMAGED, format!("{} damaged in one of both stores", items("is", "are")))
        } else if outcome == CopyOutcome::Conflict {
            (DUPLICATION_CONFLICT, format!("{} changed in both stores: nothing is overwritten", items("is", "are")))
        } else {
            let gone = items("has gone", "have gone");
            (DUPLICATION_LOST, format!("{gone} from {} without a deletion that is recorded; copies stay", route.source))
        };
        let subject = format!("{}: {route}", route.institution_identifier);
        let new = found.add_counted(kind, &subject, count, detail);
        (new.institution, new.store) = (Some(route.institution), Some(route.source));
    }
    Ok(())
}

/// Parts of the newest sweep of each institution that fail, failed, or wait for a person.
pub(super) fn of_sweeps(tx: &mut dyn Transaction, found: &mut Conditions) -> Result<(), RegistryError> {
    for institution in sweeps::institutions(tx)? {
        let Some(sweep) = sweeps::newest(tx, institution)? else { continue };
        let (mut failing, mut held) = (Trouble::default(), Trouble::default());
        let mut after = RouteId(Uuid::nil());
        loop {
            let page = sweeps::parts_in_trouble(tx, sweep.id, after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.route.id;
            for part in &page {
                if part.phase == SweepPhase::Failed || part.error.is_some() {
                    failing.add(1, part, part.error.as_deref().unwrap_or_default());
                }
                if part.phase == SweepPhase::Held {
                    held.add(part.held, part, &counted(part.held, "deletion waits", "deletions wait"));
                }
            }
        }
        let subject = sweep.id.to_string();
        if failing.count > 0 {
            let parts = counted(failing.count, "part fails", "parts fail");
            let detail = format!("{}: {parts}, such as {}", sweep.institution_identifier, failing.examples.join("; "));
            found.add_counted(DUPLICATION_FAILED, &subject, failing.count, detail).institution = Some(institution);
        }
        if held.count > 0 {
            let detail = format!(
                "{}: more than one in a hundred content items would be deleted: {}",
                sweep.institution_identifier,
                held.examples.join("; ")
            );
            found.add_counted(DUPLICATION_HELD, &subject, held.count, detail).institution = Some(institution);
        }
    }
    Ok(())
}

/// Parts in trouble.
#[derive(Default)]
struct Trouble {
    count: u64,
    examples: Vec<String>,
}

impl Trouble {
    fn add(&mut self, count: u64, part: &Part, detail: &str) {
        self.count += count;
        if self.examples.len() < NAMED {
            self.examples.push(format!("{}: {detail}", part.route));
        }
    }
}
