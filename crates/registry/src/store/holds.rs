//! Holds: what a person keeps from going on, each independent of the others. A collection, a batch and an item have at most one
//! each. A row of `holds` is the truth: no stage of an item begins while one of them applies to it (`request_to_carry_out` in
//! `endings.rs`), and items that are made meanwhile are held from the start. That the status of the other items follows is
//! [`settle`], page by page.

use std::fmt;

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use strongroom_queue::tasks;
use uuid::Uuid;

use super::endings::{carry_out, request_to_carry_out};
use super::items::{self, Asker, Item, Move};
use super::requests::lock_with_task;
use crate::batches::{self, Batch};
use crate::model::actor::name_of;
use crate::{
    BatchId, CollectionId, HoldKind, InstitutionId, ItemId, ItemStatus, RegistryError, Scope, Workflows, workflow,
};

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Every item of a collection.
    Collection(CollectionId),
    /// Every item of a batch.
    Batch(BatchId),
    /// One item.
    Item(ItemId),
}

impl On {
    /// The kind of what is held.
    pub fn kind(self) -> HoldKind {
        match self {
            Self::Collection(_) => HoldKind::Collection,
            Self::Batch(_) => HoldKind::Batch,
            Self::Item(_) => HoldKind::Item,
        }
    }

    fn id(self) -> Uuid {
        match self {
            Self::Collection(id) => id.0,
            Self::Batch(id) => id.0,
            Self::Item(id) => id.0,
        }
    }
}

/// A hold that was placed and not lifted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// What it is on.
    pub on: On,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// The short name of the collection, where it is on one.
    pub collection_identifier: Option<String>,
    /// Who placed it.
    pub placed_by: String,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub placed_at: Time,
    /// Whether it is on a batch that is being deleted: it ends with the last item, and not by a release.
    pub is_of_deletion: bool,
}

impl Hold {
    /// What it is on, as commands name it: `example.edu/photos` for a collection, else an identifier.
    pub fn subject(&self) -> String {
        let Self { institution_identifier, collection_identifier, .. } = self;
        match (self.on, collection_identifier) {
            (On::Collection(_), Some(collection)) => format!("{institution_identifier}/{collection}"),
            (on, _) => on.id().to_string(),
        }
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the hold on {} {}, placed by {} at {}",
            self.on.kind(),
            self.subject(),
            name_of(&self.placed_by),
            self.placed_at
        )?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))
    }
}

/// Places a hold; whether there was none before.
pub fn place(
    tx: &mut dyn Transaction,
    on: On,
    institution: InstitutionId,
    by: Asker<'_>,
) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let values = [
        on.id().into(),
        on.kind().as_str().into(),
        institution.into(),
        by.who.into(),
        by.reason.map(str::to_owned).into(),
        now.into(),
    ];
    Ok(tx.query_one(Statement("holds.place"), &values)?.is_some())
}

/// Lifts a hold; whether there was one.
pub fn lift(tx: &mut dyn Transaction, on: On) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("holds.lift"), &[on.id().into()])?.is_some())
}

/// Every hold that applies to an item, the oldest first.
pub fn of_item(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<Hold>, RegistryError> {
    if !item.is_on_hold {
        return Ok(Vec::new());
    }
    of(tx, [Some(item.id.0), item.batch.map(|batch| batch.0), item.collection.map(|collection| collection.0)])
}

/// Every hold that applies to all items of a batch, the oldest first.
pub fn of_batch(tx: &mut dyn Transaction, batch: &Batch) -> Result<Vec<Hold>, RegistryError> {
    of(tx, [Some(batch.id.0), batch.collection.map(|collection| collection.0), None])
}

/// The hold on one thing.
pub fn on(tx: &mut dyn Transaction, on: On) -> Result<Option<Hold>, RegistryError> {
    Ok(of(tx, [Some(on.id()), None, None])?.pop())
}

/// At most `limit` of a kind, the oldest first.
pub fn of_kind(tx: &mut dyn Transaction, kind: HoldKind, limit: usize) -> Result<Vec<Hold>, RegistryError> {
    tx.query(Statement("holds.of_kind"), &[kind.as_str().into(), limit.into()])?.iter().map(hold_row).collect()
}

fn of(tx: &mut dyn Transaction, subjects: [Option<Uuid>; 3]) -> Result<Vec<Hold>, RegistryError> {
    tx.query(Statement("holds.of"), &subjects.map(Value::from))?.iter().map(hold_row).collect()
}

/// Why an item is held, as its note says it.
pub(crate) fn note_of(holds: &[Hold]) -> String {
    let one = |hold: &Hold| {
        let with = match hold.on {
            On::Item(_) => String::new(),
            On::Batch(_) => " with its batch".to_owned(),
            On::Collection(_) => format!(" with the collection {}", hold.subject()),
        };
        let reason = hold.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("held{with} by {}{reason}", name_of(&hold.placed_by))
    };
    // One that was lifted in between is settled later.
    if holds.is_empty() { "held".to_owned() } else { holds.iter().map(one).collect::<Vec<_>>().join("; ") }
}

/// Why an item is held by the holds that there are now; none where it is not. Its own note names those of the time when it was held.
pub fn note_now(item: &Item, holds: &[Hold]) -> Option<String> {
    (item.status == ItemStatus::Held && !holds.is_empty()).then(|| note_of(holds))
}

/// Lifts the hold on an item, for `request`. The topics that have new work where nothing else holds it.
///
/// # Errors
/// There is no hold on the item itself: [`RegistryError::StillHeld`] names those on its batch and its collection.
pub(crate) fn release(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &Item,
    by: Asker<'_>,
) -> Result<Vec<String>, RegistryError> {
    let of_item = of_item(tx, item)?;
    if !lift(tx, On::Item(item.id))? {
        if of_item.is_empty() {
            return Err(RegistryError::State {
                what: "work item",
                id: item.id.to_string(),
                state: format!("{} at {}", item.status, item.stage),
                act: "release it: it is not held".to_owned(),
            });
        }
        return Err(RegistryError::StillHeld { what: "work item", id: item.id.to_string(), holds: of_item });
    }
    if item.status != ItemStatus::Held {
        return Ok(Vec::new());
    }
    let left: Vec<Hold> = of_item.into_iter().filter(|hold| hold.on != On::Item(item.id)).collect();
    if left.is_empty() {
        return resume(tx, workflows, item, by.who);
    }
    let note = format!("released by {}; still {}", name_of(by.who), note_of(&left));
    let now = tx.now()?;
    tx.execute(Statement("items.note"), &[item.id.into(), item.fence.into(), (&note).into(), now.into()])?;
    let line =
        items::NewLine { note: Some(&note), actor: Some(by.who), ..items::NewLine::new(item.stage, item.status) };
    items::add_history(tx, item.id, line)?;
    Ok(Vec::new())
}

/// Lets a held item continue where it stood. The topics that have new work.
fn resume(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &Item,
    who: &str,
) -> Result<Vec<String>, RegistryError> {
    let here = workflow::here(workflows, item);
    let topic = here.topic.clone();
    let note = format!("released by {}", name_of(who));
    let change =
        Move { retry_count: 0, holder: None, actor: Some(who), ..Move::new(item, here, ItemStatus::Pending, note) };
    items::apply(tx, item, &change)?;
    tasks::delete_key(tx, &item.id.to_string())?;
    items::enqueue(tx, item, &topic)?;
    if let Some(batch) = item.batch {
        batches::settle(tx, batch)?;
    }
    Ok(vec![topic])
}

/// A page of items, as far as their status is not what holds say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// The last item of the page, to go on behind; none at the end.
    pub last: Option<ItemId>,
    /// Items that [`settle`] may have to change.
    pub items: Vec<ItemId>,
}

/// The status of items that wait for a worker.
pub const WAITING: ItemStatus = ItemStatus::Pending;

/// The statuses whose items [`unsettled`] finds.
pub const SETTLED_STATUSES: [ItemStatus; 2] = [WAITING, ItemStatus::Held];

/// Of at most `limit` items of a status behind `after`, of one batch where one is given: those that wait although they are on hold, or
/// are held although nothing holds them. A read: no writer waits for it.
pub fn unsettled(
    tx: &mut dyn Transaction,
    batch: Option<BatchId>,
    status: ItemStatus,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Unsettled, RegistryError> {
    let after = after.unwrap_or(ItemId(Uuid::nil()));
    let mut values = vec![status.as_str().into(), after.into(), limit.into()];
    let statement = match batch {
        Some(batch) => {
            values.push(batch.into());
            Statement("holds.page_of_batch")
        }
        None => Statement("holds.page"),
    };
    let mut found = Unsettled::default();
    for row in tx.query(statement, &values)? {
        let id = ItemId(row.uuid("id")?);
        found.last = Some(id);
        if row.bool("is_on_hold")? != (status == ItemStatus::Held) {
            found.items.push(id);
        }
    }
    Ok(found)
}

/// Whether there is any hold.
pub fn has_any(tx: &mut dyn Transaction) -> Result<bool, RegistryError> {
    let row = tx.query_one(Statement("holds.any"), &[])?;
    Ok(row.map(|row| row.bool("has_any")).transpose()?.unwrap_or(false))
}

/// Brings the status of items in line with the holds: those that wait are held, those that nothing holds continue where they stood.
/// A worker that has one ends its stage first. How many changed, and the topics that have new work. Right by rows: all of them are locked before
/// the first is changed, since their batch is locked with it.
pub fn settle(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    found: &[ItemId],
    who: &str,
) -> Result<(u64, Vec<String>), RegistryError> {
    let (mut changed, mut topics) = (0, Vec::new());
    for id in found {
        lock_with_task(tx, *id)?;
    }
    for id in found {
        if let Some(new) = settle_item(tx, workflows, *id, who)? {
            changed += 1;
            topics.extend(new);
        }
    }
    topics.sort();
    topics.dedup();
    Ok((changed, topics))
}

/// The same for one item; none where its status is right.
pub(crate) fn settle_item(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    id: ItemId,
    who: &str,
) -> Result<Option<Vec<String>>, RegistryError> {
    lock_with_task(tx, id)?;
    let Some(item) = items::get(tx, Scope::System, id)? else { return Ok(None) };
    match item.status {
        ItemStatus::Pending if request_to_carry_out(&item) == Some(ItemStatus::Held) => {
            tasks::delete_key(tx, &id.to_string())?;
            let (topics, _) = carry_out(tx, &item, ItemStatus::Held)?;
            Ok(Some(topics))
        }
        ItemStatus::Held if !item.is_on_hold => resume(tx, workflows, &item, who).map(Some),
        _ => Ok(None),
    }
}

fn hold_row(row: &Row) -> Result<Hold, RegistryError> {
    let id = row.uuid("subject_id")?;
    Ok(Hold {
        on: match row.text("kind")?.parse()? {
            HoldKind::Collection => On::Collection(CollectionId(id)),
            HoldKind::Batch => On::Batch(BatchId(id)),
            HoldKind::Item => On::Item(ItemId(id)),
        },
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        collection_identifier: row.optional_text("collection_identifier")?.map(str::to_owned),
        placed_by: row.text("placed_by")?.to_owned(),
        reason: row.optional_text("reason")?.map(str::to_owned),
        placed_at: row.time("placed_at")?,
        is_of_deletion: row.bool("is_of_deletion")?,
    })
}
