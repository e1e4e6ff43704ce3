//! Deposits.

use serde::Serialize;
use strongroom_registry::items::{self, Item, ItemProblem};
use strongroom_registry::{BatchId, ItemId, ItemStatus, Part, Parts, RegistryError, Scope, Stage, Transaction};

use super::items::{PROBLEMS, is_over};

/// What was made of a submission.
#[derive(Debug, Clone, Serialize)]
pub struct SubmittedView {
    /// The batch.
    pub batch: BatchId,
    /// Its items, in the order of the packages.
    pub items: Vec<ItemId>,
}

/// A deposit as it stands, or as it ended.
#[derive(Debug, Clone, Serialize)]
pub struct DepositView {
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
    /// The work item.
    pub item: ItemId,
    /// The object's identifier, `<institution>/<name>`.
    pub object: String,
    /// Where it is.
    pub status: ItemStatus,
    /// The stage it is at.
    pub stage: Stage,
    /// The last thing that happened, in words.
    pub note: Option<String>,
    /// The version it made; none before it is there.
    pub version: Option<u64>,
    /// Which part of its object it is, where that comes in parts.
    pub part: Option<u64>,
    /// Of how many.
    pub parts: Option<u64>,
    /// Parts that are not there yet.
    pub missing_parts: Vec<u64>,
    /// What was found in the package.
    pub problems: Vec<ItemProblem>,
}

impl DepositView {
    /// An item with the parts of its object.
    pub(crate) fn read(
        tx: &mut dyn Transaction,
        item: Item,
        parts: Option<(Part, Option<Parts>)>,
    ) -> Result<Self, RegistryError> {
        let problems =
            if is_over(item.status) { items::problems(tx, Scope::System, item.id, PROBLEMS)? } else { Vec::new() };
        let (part, all) = parts.unzip();
        Ok(Self {
            part: part.map(Part::number),
            parts: part.map(Part::total),
            missing_parts: all.flatten().as_ref().map(Parts::missing).unwrap_or_default(),
            batch: item.batch,
            item: item.id,
            object: item.object_identifier,
            status: item.status,
            stage: item.stage,
            note: item.note,
            // The version that an item was making counts once it is there.
            version: item.version.filter(|_| item.status == ItemStatus::Succeeded),
            problems,
        })
    }
}
