//! Repairing a copy from bytes that are at hand elsewhere, for a work item that holds the object.

use strongroom_registry::fixity as record;
use strongroom_registry::work::Claim;
use strongroom_registry::{ContentId, ObjectId};
use strongroom_storage::{Body, StorageError};

use super::repair::{RepairOutcome, treat_held};
use super::{GoOn, ObjectHold, OperationError};
use crate::Home;

/// Bytes that a copy can be repaired from before the copies of other stores are asked.
pub(crate) struct Spare<'a> {
    /// Whose bytes they are, for people.
    pub(crate) name: &'a str,
    /// Opens them.
    pub(crate) open: &'a dyn Fn() -> Result<Body, StorageError>,
}

/// One copy that is not known to be right, of an object that a work item holds.
pub(crate) struct Suspect<'a> {
    pub(crate) claim: &'a Claim,
    pub(crate) object: ObjectId,
    pub(crate) content: ContentId,
    pub(crate) store: &'a str,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Healed {
    /// It was read, and is right.
    Right,
    /// It cannot be read now; what its store says of it is right.
    Attested,
    /// It was wrong or missing, and is repaired and read back.
    Repaired,
    /// It is wrong or missing still.
    Not,
}

/// Reads a copy, and repairs it where it is wrong. The finding is closed by the repair, as in a fixity check.
pub(crate) fn heal(
    home: &Home,
    suspect: &Suspect<'_>,
    spare: &Spare<'_>,
    go_on: &GoOn<'_>,
) -> Result<Healed, OperationError> {
    let copies = home.registry.read(|tx| record::copies_of_content(tx, suspect.content))?;
    let Some(copy) = copies.into_iter().find(|copy| copy.store == suspect.store) else { return Ok(Healed::Not) };
    let hold = ObjectHold::of_item(home, suspect.object, suspect.claim)?;
    Ok(match treat_held(home, hold, &copy, Some(spare), go_on)? {
        RepairOutcome::Right => Healed::Right,
        RepairOutcome::Attested => Healed::Attested,
        RepairOutcome::Repaired => Healed::Repaired,
        RepairOutcome::Gone | RepairOutcome::Unrepairable | RepairOutcome::Retrieving => Healed::Not,
    })
}
