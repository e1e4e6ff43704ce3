//! What a stage notes of its item while it works on it.

use strongroom_database::{Statement, Transaction};

use super::claims::check_fence;
use super::items::{self, ItemProblem};
use crate::model::claim::Claim;
use crate::{RegistryError, WaitKey, interim};

/// Keeps what was found in a deposit that is taken in all the same.
pub fn note_problems(tx: &mut dyn Transaction, claim: &Claim, problems: &[ItemProblem]) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    items::put_problems(tx, claim.item, problems)
}

/// The same, with facts for the stages that follow: names and values.
pub fn note_findings(
    tx: &mut dyn Transaction,
    claim: &Claim,
    problems: &[ItemProblem],
    facts: &[(String, String)],
) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    items::put_problems(tx, claim.item, problems)?;
    interim::put_facts(tx, claim.item, facts)
}

/// Sets the note of an item while it is being worked on: progress for people to see.
pub fn set_note(tx: &mut dyn Transaction, claim: &Claim, note: &str) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    let now = tx.now()?;
    tx.execute(Statement("items.note"), &[claim.item.into(), claim.fence.into(), note.into(), now.into()])?;
    Ok(())
}

/// Notes what was received: the payload's etag, its size where known, its name where it changed.
pub fn set_source(
    tx: &mut dyn Transaction,
    claim: &Claim,
    etag: &str,
    size: Option<u64>,
    name: Option<&str>,
) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(
        Statement("items.set_source"),
        &[claim.item.into(), claim.fence.into(), etag.into(), size.into(), name.into()],
    )?;
    Ok(())
}

/// Whether a person asked that the item stops. The item is locked for the rest of the transaction, so that whoever asks later finds what
/// this transaction has written.
pub fn is_asked_to_stop(tx: &mut dyn Transaction, claim: &Claim) -> Result<bool, RegistryError> {
    check_fence(tx, claim)?;
    items::lock(tx, claim.item)?;
    let item = items::get(tx, crate::Scope::System, claim.item)?;
    Ok(item.is_some_and(|item| item.cancel_requested.is_some()))
}

/// Notes which object the item is about, with facts for the stages that follow: names and values.
pub fn note_object(
    tx: &mut dyn Transaction,
    claim: &Claim,
    object: crate::ObjectId,
    facts: &[(String, String)],
) -> Result<(), RegistryError> {
    set_object(tx, claim, object)?;
    interim::put_facts(tx, claim.item, facts)
}

/// Notes which object the item is about.
pub fn set_object(tx: &mut dyn Transaction, claim: &Claim, object: crate::ObjectId) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(Statement("items.set_object"), &[claim.item.into(), claim.fence.into(), object.into()])?;
    Ok(())
}

/// Fixes what was asked for, where that was left to be found out from the package.
pub fn set_options(tx: &mut dyn Transaction, claim: &Claim, options: &str) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(Statement("items.set_options"), &[claim.item.into(), claim.fence.into(), options.into()])?;
    Ok(())
}

/// Names another object that the item is about, which its package says. `wait_key` is what wakes it where it waits for that object.
pub fn set_object_identifier(
    tx: &mut dyn Transaction,
    claim: &Claim,
    identifier: &str,
    wait_key: Option<WaitKey>,
) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(
        Statement("items.set_object_identifier"),
        &[claim.item.into(), claim.fence.into(), identifier.into(), wait_key.map(|key| key.0).into()],
    )?;
    Ok(())
}
