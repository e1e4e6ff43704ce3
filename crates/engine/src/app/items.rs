//! Work items: shown, steered, and worked on here and now.

use strongroom_queue::tasks;
use strongroom_registry::items::{self, Asker, Item, ItemFilter, Request};
use strongroom_registry::{
    Action, ActivityId, BatchId, InstitutionId, ItemId, ItemStatus, RegistryError, Scope, Stage, Time, Transaction,
    WaitReason, holds,
};

use super::authorization::{ITEMS_HISTORY, ITEMS_LIST, ITEMS_SHOW, ITEMS_STEER, ITEMS_WORK};
use super::batches::{WAIT, refuse_untold};
use super::collections::{MOST_PRIORITY, scope_of_collection};
use super::untold;
use super::views::{BytesView, HistoryLineView, ItemView, ObstacleView, StandingView};
use super::{Authorized, Listing, OpContext, Page, find_institution};
use crate::arks::{find_object, is_ark};
use crate::journal::Target;
use crate::reports::behind_reports;
use crate::restoration::{follow_receipt, is_into_folder};
use crate::runtime::{Shutdown, Summary};
use crate::{EngineError, Home, work_on};

/// Which items are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those of the collection of this short name, of the institution where one is given; or `<institution>/<name>`.
    pub collection: Option<String>,
    /// Only those of this batch.
    pub batch: Option<BatchId>,
    /// Only those that this activity made.
    pub activity: Option<ActivityId>,
    /// Only those of this object: `<institution>/<name>`, also where nothing of it is kept yet, or its identifier in records or a part of it.
    pub object: Option<String>,
    /// Only this status.
    pub status: Option<ItemStatus>,
    /// Only this stage.
    pub stage: Option<Stage>,
    /// Only this action.
    pub action: Option<Action>,
    /// Only those that ask for review.
    pub needs_review: bool,
    /// Only those made since.
    pub since: Option<Time>,
    /// In which order, and at most how many on a page; those of a batch come oldest first.
    pub listing: Listing,
}

/// What is asked of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Stay where it is until released.
    Hold,
    /// Go on.
    Release,
    /// End without success.
    Cancel,
    /// End as failed: it keeps what it has in staging, and can be requeued.
    Fail,
    /// Go away, where it has ended; row and history stay.
    Delete {
        /// Whether the actor knows what the depositor does not hear because of it.
        is_confirmed: bool,
    },
    /// Be worked on again, from this stage, or from the one it stopped at.
    Requeue(Option<Stage>),
}

impl Ask {
    /// As the journal names it.
    pub(crate) fn act(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Cancel => "cancel",
            Self::Fail => "fail",
            Self::Delete { .. } => "delete",
            Self::Requeue(_) => "requeue",
        }
    }
}

impl From<Ask> for Request {
    fn from(ask: Ask) -> Self {
        match ask {
            Ask::Hold => Self::Hold,
            Ask::Release => Self::Release,
            Ask::Cancel => Self::Cancel,
            Ask::Fail => Self::Fail,
            Ask::Delete { .. } => Self::Delete,
            Ask::Requeue(stage) => Self::Requeue(stage),
        }
    }
}

/// Every stage that an item can be at.
pub fn stages(context: &OpContext) -> Result<Vec<Stage>, EngineError> {
    Ok(context.authorize(&ITEMS_LIST)?.home().workflows().stages())
}

/// Every action that an item can have.
pub fn actions(context: &OpContext) -> Result<Vec<Action>, EngineError> {
    Ok(context.authorize(&ITEMS_LIST)?.home().workflows().actions())
}

/// The item that a text names: its identifier, or a part of it that no other item has.
pub fn named(context: &OpContext, text: &str) -> Result<ItemId, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    authorized.named(text).map_err(|error| match (&error, authorized.named::<BatchId>(text)) {
        (EngineError::Registry(RegistryError::NotFound { .. }), Ok(batch)) => {
            let next = format!(
                "\"strongroom batches show {batch}\" shows it, \"strongroom items list --batch {batch}\" its work items"
            );
            EngineError::Absent(format!("{text} is a batch, and no work item")).next(next)
        }
        _ => error,
    })
}

/// Items in the order that the filter says, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<ItemId>,
) -> Result<Page<ItemView, ItemId>, EngineError> {
    let authorized = context.authorize(&ITEMS_LIST)?;
    let (scope, collection) =
        scope_of_collection(&authorized, filter.institution.as_deref(), filter.collection.as_deref())?;
    let object = filter.object.as_deref().map(|object| of_object(&authorized, object)).transpose()?;
    let wanted = ItemFilter {
        status: filter.status,
        stage: filter.stage,
        action: filter.action,
        needs_review: filter.needs_review.then_some(true),
        since: filter.since,
        batch: filter.batch,
        collection,
        activity: filter.activity,
        object,
        order: filter.listing.order,
    };
    let items = authorized.read(|tx| {
        let page = items::list(tx, scope, &wanted, after, filter.listing.page())?;
        page.into_iter().map(|item| ItemView::read(tx, item)).collect::<Result<Vec<_>, RegistryError>>()
    })?;
    let next = items.last().map(|last| last.item);
    Ok(Page { items, next })
}

/// The institution of an object and the object's identifier, as work items have them.
fn of_object(authorized: &Authorized<'_>, identifier: &str) -> Result<(InstitutionId, String), EngineError> {
    let scope = authorized.scope();
    let Some((institution, _)) = identifier.split_once('/').filter(|_| !is_ark(identifier)) else {
        return match authorized.read(|tx| find_object(tx, scope, identifier)) {
            Ok(object) => Ok((object.institution, object.identifier)),
            Err(RegistryError::NotFound { .. }) => {
                let error = EngineError::Usage(format!("{identifier:?} is not the identifier of an object"));
                Err(error
                    .next("identifiers look like example.edu/letters; \"strongroom objects list\" lists those kept"))
            }
            Err(error) => Err(error.into()),
        };
    };
    // Shortened, or in another normalization form.
    if identifier.contains("...") || !identifier.is_ascii() {
        match authorized.read(|tx| find_object(tx, scope, identifier)) {
            Ok(object) => return Ok((object.institution, object.identifier)),
            // It may be the whole name of an object of which nothing is kept.
            Err(RegistryError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let institution = authorized.read(|tx| find_institution(tx, scope, institution))?;
    Ok((institution.id, identifier.to_owned()))
}

/// One item.
pub fn show(context: &OpContext, item: ItemId) -> Result<ItemView, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    Ok(authorized.read(|tx| {
        let item = items::find(tx, authorized.scope(), item)?;
        ItemView::read(tx, item)
    })?)
}

/// Where these items are, in this order.
pub fn standing(context: &OpContext, wanted: &[ItemId]) -> Result<Vec<StandingView>, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    let find = |tx: &mut dyn Transaction, id: &ItemId| items::find(tx, authorized.scope(), *id);
    let found: Vec<Item> = authorized.read(|tx| wanted.iter().map(|id| find(tx, id)).collect())?;
    let home = authorized.home();
    Ok(found
        .into_iter()
        .map(|item| {
            let bytes = bytes_of(home, &item);
            StandingView::new(item, bytes)
        })
        .collect())
}

/// How far an item is in bytes, by its stage and by what its task has read in this process.
fn bytes_of(home: &Home, item: &Item) -> Option<BytesView> {
    let bytes = home.workflows().of(item.action)?.bytes(item.stage, item.size?, home.usual_copies());
    if item.status.is_ended() {
        return Some(BytesView { read: bytes.all, expected: bytes.all });
    }
    let here = home.running.bytes(&item.topic, &item.id.to_string()).unwrap_or_default();
    Some(BytesView { read: bytes.before + here.min(bytes.here), expected: bytes.all })
}

/// Bytes that the tasks of this process have read.
pub fn bytes_read(context: &OpContext) -> Result<u64, EngineError> {
    Ok(context.for_work().authorize(&ITEMS_WORK)?.home().running.all_bytes())
}

/// What happened to an item, oldest first.
pub fn history(context: &OpContext, item: ItemId) -> Result<Vec<HistoryLineView>, EngineError> {
    let authorized = context.authorize(&ITEMS_HISTORY)?;
    let lines = authorized.read(|tx| {
        items::find(tx, authorized.scope(), item)?;
        items::history(tx, authorized.scope(), item)
    })?;
    Ok(lines.into_iter().map(HistoryLineView::from).collect())
}

/// Refuses that an actor of one institution has an item worked on again that writes into a folder of the server.
pub(super) fn check_folder(scope: Scope, ask: Ask, item: &Item) -> Result<(), EngineError> {
    match (scope, ask) {
        (Scope::Institution(_), Ask::Requeue(_)) if is_into_folder(&item.options) => Err(EngineError::Refused(
            format!("item {} restores into a folder of the server, and the actor acts for one institution", item.id),
        )
        .next("restore anew, into the restoration store of the institution")),
        _ => Ok(()),
    }
}

/// What depositors do not hear because items are deleted, a sentence each; nothing of those whose ends are in a report.
pub fn untold_by_deletion(context: &OpContext, wanted: &[ItemId]) -> Result<Vec<String>, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    untold_of(&authorized, wanted)
}

fn untold_of(authorized: &Authorized<'_>, wanted: &[ItemId]) -> Result<Vec<String>, EngineError> {
    Ok(authorized.read(|tx| {
        let found: Vec<Item> =
            wanted.iter().map(|id| items::find(tx, authorized.scope(), *id)).collect::<Result<_, _>>()?;
        untold::of_items(tx, &found)
    })?)
}

/// Asks something of several items, all or none of them; the items as they are then. The reason is kept with a hold, and with a failure.
///
/// # Errors
/// A deletion that is not confirmed keeps something from the depositor: [`EngineError::Usage`].
pub fn steer(
    context: &OpContext,
    wanted: &[ItemId],
    ask: Ask,
    reason: Option<&str>,
) -> Result<Vec<ItemView>, EngineError> {
    let authorized = context.authorize(&ITEMS_STEER)?;
    if let Ask::Delete { is_confirmed: false } = ask {
        refuse_untold(&untold_of(&authorized, wanted)?, WAIT)?;
    }
    let (scope, who) = (authorized.scope(), authorized.actor().to_string());
    let (entry, registry) = (authorized.entry_named(ask.act()), &authorized.home().registry);
    let (asked, workflows, reason) = (wanted.to_vec(), registry.workflows(), reason.map(str::to_owned));
    let act = move |tx: &mut dyn Transaction| {
        let mut topics = Vec::new();
        for id in &asked {
            let item = items::find(tx, scope, *id)?;
            check_folder(scope, ask, &item)?;
            topics.extend(items::request(
                tx,
                workflows.as_ref(),
                scope,
                *id,
                ask.into(),
                Asker { who: &who, reason: reason.as_deref() },
            )?);
            if let (Ask::Requeue(_), Some(batch)) = (ask, item.batch) {
                topics.extend(follow_receipt(tx, workflows.as_ref(), batch)?);
            }
            entry.done(
                tx,
                &Target::of(item.institution, format!("item {id} of {}", item.object_identifier))
                    .about(&item.object_identifier),
            )?;
        }
        Ok::<_, EngineError>(topics)
    };
    let topics = behind_reports(authorized.home(), || registry.write_as(Request::from(ask).isolation(), act.clone()))?;
    registry.wakeups().notify(topics.iter().map(String::as_str));
    views(&authorized, wanted)
}

/// Sets the priority of several items, all or none of them, from 0 to 99, lower is sooner; the items as they are then.
pub fn move_to(context: &OpContext, wanted: &[ItemId], priority: u32) -> Result<Vec<ItemView>, EngineError> {
    let authorized = context.authorize(&ITEMS_STEER)?;
    if u64::from(priority) > MOST_PRIORITY {
        return Err(EngineError::Usage(format!("{priority} is no priority"))
            .next(format!("give one from 0, the most urgent, to {MOST_PRIORITY}")));
    }
    let (scope, who) = (authorized.scope(), authorized.actor().to_string());
    let (entry, asked) = (authorized.entry_named("move"), wanted.to_vec());
    authorized.home().registry.write_and_wake(move |tx| {
        let mut topics = Vec::new();
        for id in &asked {
            let item = items::find(tx, scope, *id)?;
            topics.extend(items::move_to(tx, scope, *id, priority, &who)?);
            entry.done(
                tx,
                &Target::of(item.institution, format!("item {id} of {}", item.object_identifier))
                    .about(&item.object_identifier),
            )?;
        }
        Ok::<_, EngineError>(topics)
    })?;
    views(&authorized, wanted)
}

/// Items as they are now.
fn views(authorized: &Authorized<'_>, wanted: &[ItemId]) -> Result<Vec<ItemView>, EngineError> {
    Ok(authorized.read(|tx| {
        let mut views = Vec::with_capacity(wanted.len());
        for id in wanted {
            let item = items::find(tx, authorized.scope(), *id)?;
            views.push(ItemView::read(tx, item)?);
        }
        Ok(views)
    })?)
}

/// Works on these items in this process, under their leases, until all have ended, a person has to release them, or a stop is
/// asked for. Older deposits that they wait for are worked on with them.
pub fn work(context: &OpContext, wanted: &[ItemId], shutdown: &Shutdown) -> Result<Summary, EngineError> {
    let context = context.for_work();
    let authorized = context.authorize(&ITEMS_WORK)?;
    work_on(authorized.home(), wanted, shutdown)
}

/// Why an item waits, where that is known and lasts longer than a moment.
pub fn obstacle(context: &OpContext, item: ItemId) -> Result<Option<ObstacleView>, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    Ok(authorized.read(|tx| {
        let item = items::find(tx, authorized.scope(), item)?;
        if item.status != ItemStatus::Pending {
            return Ok(None);
        }
        let held = match older_held(tx, authorized.scope(), &item)? {
            Some(held) => {
                let holds = holds::of_item(tx, &held)?;
                Some(Item { note: holds::note_now(&held, &holds).or(held.note.clone()), ..held })
            }
            None => None,
        };
        let (is_paused, are_all) = (tasks::is_paused(tx, &item.topic)?, tasks::are_all_paused(tx)?);
        Ok(obstacle_of(&item, held.as_ref(), is_paused, are_all))
    })?)
}

fn obstacle_of(item: &Item, held: Option<&Item>, is_paused: bool, are_all: bool) -> Option<ObstacleView> {
    if let Some(held) = held {
        let why = held.note.as_deref().unwrap_or_default();
        return Some(ObstacleView {
            key: format!("held {}", held.id),
            reason: format!("waits for item {}, an older deposit of the same object, which is held: {why}", held.id),
            next: format!("strongroom items release {0}, or strongroom items cancel {0}", held.id),
        });
    }
    if is_paused {
        let topic = &item.topic;
        return Some(ObstacleView {
            key: format!("paused {topic}"),
            reason: format!("waits for the topic {topic}, which is paused"),
            next: format!("strongroom queue resume {}", if are_all { "--all" } else { topic }),
        });
    }
    let next = match item.wait_reason? {
        WaitReason::RefusedStore => {
            "do what the reason says; the item then continues by itself. \"strongroom store list\" shows the store"
        }
        WaitReason::Confirmation => {
            "nothing; it continues when the program has answered. Background tasks deliver the event: \"strongroom background run \
             outbox\". Where no answer will come: \"strongroom outbox list --waiting\", then: strongroom outbox remove MESSAGE --reason TEXT"
        }
        WaitReason::Tool => {
            "start what the tool needs, such as its server; the item then continues by itself within a minute. \
             Workers read the settings of tools when they start"
        }
        _ => "nothing; it continues by itself",
    };
    let reason = item.note.clone().unwrap_or_default();
    Some(ObstacleView { key: String::new(), reason, next: next.to_owned() })
}

/// The oldest open deposit of the same object before an item, where it is held.
fn older_held(tx: &mut dyn Transaction, scope: Scope, item: &Item) -> Result<Option<Item>, RegistryError> {
    if item.wait_reason != Some(WaitReason::OlderDeposit) {
        return Ok(None);
    }
    for older in items::open_up_to(tx, item)?.into_iter().filter(|older| *older != item.id) {
        let older = items::find(tx, scope, older)?;
        if older.status == ItemStatus::Held {
            return Ok(Some(older));
        }
    }
    Ok(None)
}
