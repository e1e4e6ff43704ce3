//! What the registry records of deletions: each is completed in every store and has its tombstone there, none was begun while there was a
//! legal hold, and of what is deleted no evidence of damage is left in quarantine.

use std::collections::BTreeSet;

use anyhow::Result;
use strongroom_registry::deletions::{self, Deletion};
use strongroom_registry::legal_holds::{self, LegalHold, Listed};
use strongroom_registry::{DeletionState, ObjectId, Scope};

use crate::kept::Kept;
use crate::perform::Cast;

/// More legal holds than a run has.
const ALL: usize = 10_000;

impl Cast {
    pub(crate) fn deletions_are_recorded(&mut self, kept: &[Kept]) -> Result<()> {
        let home = self.home()?;
        let holds = home.registry.read(|tx| legal_holds::list(tx, Scope::System, (Listed::All, true), None, ALL))?;
        for object in kept {
            let of_object = ObjectId(object.id.parse()?);
            let recorded = home.registry.read(|tx| deletions::of_object(tx, of_object))?;
            let known: BTreeSet<String> = recorded.iter().map(|deletion| deletion.id.to_string()).collect();
            let tombstones: BTreeSet<String> = object
                .generations()
                .flat_map(|generation| &generation.stored.tombstones)
                .map(|tombstone| tombstone.deletion.clone())
                .collect();
            if known != tombstones {
                self.find(format!(
                    "{} has the deletions {known:?}, and the tombstones of {tombstones:?}",
                    object.identifier
                ));
            }
            for deletion in &recorded {
                let stores = home.registry.read(|tx| deletions::stores(tx, deletion.id))?;
                if deletion.state != DeletionState::Completed || stores.iter().any(|store| store.done_at.is_none()) {
                    self.find(format!(
                        "deletion {} of {} is not completed: {stores:?}",
                        deletion.id, object.identifier
                    ));
                }
                for hold in holds.iter().filter(|hold| forbade(hold, &object.identifier, deletion)) {
                    self.find(format!(
                        "deletion {} of {} was begun while there was {hold:?}",
                        deletion.id, object.identifier
                    ));
                }
                // An object that was deposited again may be damaged again.
                if deletion.files.is_none() && !object.is_deleted() {
                    continue;
                }
                let evidence = home.registry.read(|tx| deletions::evidence(tx, deletion))?;
                let folder = self.world.as_folder("quarantine", "checked")?;
                for key in evidence.iter().filter(|key| folder.join(key).exists()) {
                    self.find(format!("{key} is in quarantine, and {} was deleted", object.identifier));
                }
            }
        }
        Ok(())
    }
}

/// Whether a legal hold on an object was placed before a deletion of it was begun, and released after it was settled.
fn forbade(hold: &LegalHold, object: &str, deletion: &Deletion) -> bool {
    let is_of_object = hold.object_identifier.as_deref() == Some(object);
    let is_released_before = match (&hold.release, deletion.settled_at) {
        (Some(release), Some(settled)) => release.at <= settled,
        _ => false,
    };
    is_of_object && hold.placed_at < deletion.begun_at && !is_released_before
}
