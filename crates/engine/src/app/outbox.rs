//! Messages of the outbox: those that cannot be delivered as things are are listed, sent again, and removed by people; those that wait are
//! listed.

use strongroom_registry::confirmations::GivenUp;
use strongroom_registry::items::Item;
use strongroom_registry::outbox::MessageId;
use strongroom_registry::{
    BatchId, ItemStatus, RegistryError, Scope, Transaction, advice, confirmations, items, outbox, schedules,
};
use uuid::Uuid;

use super::authorization::{OUTBOX_LIST, OUTBOX_REMOVE, OUTBOX_SEND};
use super::views::MessageView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::background;
use crate::batch_acts::find;
use crate::ingest::{CONFIRM, confirmation_key};
use crate::journal::Target;
use crate::outbox::CHANNELS;

/// The earlier messages that a waiting one may wait for, of those that failed.
const FAILING: usize = 50;

/// The message that a text names: its identifier, or a part of it that no other message has.
pub fn named(context: &OpContext, text: &str) -> Result<Uuid, EngineError> {
    let MessageId(id) = context.authorize(&OUTBOX_LIST)?.named(text)?;
    Ok(id)
}

/// The undeliverable messages, in the order in which they were put into the outbox, after the number `after`.
pub fn list(context: &OpContext, after: Option<u64>) -> Result<Page<MessageView, u64>, EngineError> {
    let authorized = context.authorize(&OUTBOX_LIST)?;
    let found = authorized.read(|tx| outbox::undeliverable(tx, after.unwrap_or(0), PAGE))?;
    let next = found.last().map(|message| message.number);
    Ok(Page { items: found.into_iter().map(MessageView::from).collect(), next })
}

/// The messages that are to be delivered, of the kinds that a channel takes; in the order in which they were put into the outbox, after the
/// number `after`.
pub fn waiting(context: &OpContext, after: Option<u64>) -> Result<Page<MessageView, u64>, EngineError> {
    let authorized = context.authorize(&OUTBOX_LIST)?;
    let found = authorized.read(|tx| {
        let mut found = Vec::new();
        for kind in CHANNELS.iter().flat_map(|channel| channel.kinds()) {
            found.extend(outbox::attempted(tx, kind, after.unwrap_or(0), PAGE)?);
        }
        // Behind the first of them, those of a kind of which there are more may be missing.
        found.sort_by_key(|message| message.number);
        found.truncate(PAGE);
        let next = found.last().map(|message| message.number);
        Ok::<_, RegistryError>((views(tx, found)?, next))
    })?;
    let (items, next) = found;
    Ok(Page { items, next })
}

/// The undeliverable messages about a batch, in the order in which they were put into the outbox, after the number `after`.
pub fn undeliverable_of_batch(
    context: &OpContext,
    batch: BatchId,
    after: Option<u64>,
) -> Result<Page<MessageView, u64>, EngineError> {
    let authorized = context.authorize(&OUTBOX_LIST)?;
    let found = authorized.read(|tx| {
        find(tx, authorized.scope(), batch)?;
        outbox::undeliverable_of_batch(tx, batch, after.unwrap_or(0), PAGE)
    })?;
    let next = found.last().map(|message| message.number);
    Ok(Page { items: found.into_iter().map(MessageView::from).collect(), next })
}

/// Messages, and of those that were not attempted yet which earlier one failed by the same way.
pub(super) fn views(
    tx: &mut dyn Transaction,
    messages: Vec<outbox::Message>,
) -> Result<Vec<MessageView>, RegistryError> {
    let mut failing = Vec::new();
    for kind in CHANNELS.iter().flat_map(|channel| channel.kinds()) {
        failing.extend(outbox::failing(tx, kind, FAILING)?);
    }
    let view = |message: outbox::Message| {
        let before = obstacle(&message, &failing);
        let view = MessageView::from(message);
        let next = before.as_deref().map(|before| match advice::split(before).1 {
            Some(advised) => advised.to_owned(),
            None => "nothing; it is attempted after that one".to_owned(),
        });
        MessageView { next: view.next.or(next), reason: view.reason.or(before), ..view }
    };
    Ok(messages.into_iter().map(view).collect())
}

/// Why a message was not attempted yet, where an earlier one failed.
fn obstacle(message: &outbox::Message, failing: &[outbox::Message]) -> Option<String> {
    let is_new = message.delivered_at.is_none() && message.undeliverable_at.is_none() && message.attempts == 0;
    let channel = CHANNELS.iter().find(|channel| channel.kinds().contains(&message.kind.as_str()))?;
    let is_same_way = |failed: &&outbox::Message| {
        channel.kinds().contains(&failed.kind.as_str()) && channel.route(failed) == channel.route(message)
    };
    let mut others = failing.iter().filter(|_| is_new).filter(is_same_way).peekable();
    others.peek()?;
    // What a server answered about the message of one institution is nothing for another one.
    let own = others.find(|failed| failed.institution == message.institution && failed.number < message.number);
    Some(match own {
        Some(failed) => {
            let error = failed.last_error.as_deref().unwrap_or("it could not be delivered");
            format!("it was not attempted yet: the earlier message {} failed: {error}", failed.id)
        }
        None => "it was not attempted yet: another message that takes the same way failed".to_owned(),
    })
}

/// Has an undeliverable message attempted again, by the next run of the background task `outbox`, which is due now. A work item that failed
/// because this message could not be delivered is requeued: it has the message attempted, and succeeds with its delivery.
///
/// # Errors
/// There is no such message, or it is not undeliverable.
pub fn send(context: &OpContext, message: Uuid) -> Result<MessageView, EngineError> {
    let sent = send_all(context, &[message])?.pop();
    sent.ok_or_else(|| RegistryError::NotFound { what: "message", id: message.to_string() }.into())
}

/// The same for several messages: all of a page of them in one transaction, the first that was put into the outbox first, so that no run
/// delivers a later one before an earlier one is to be attempted. As they are then, in that order.
///
/// # Errors
/// One of them does not exist, or is not undeliverable; those of the pages before it are sent.
pub fn send_all(context: &OpContext, messages: &[Uuid]) -> Result<Vec<MessageView>, EngineError> {
    let authorized = context.authorize(&OUTBOX_SEND)?;
    let mut numbered = Vec::with_capacity(messages.len());
    for message in messages {
        let (number, item) = authorized.read(|tx| match outbox::get(tx, *message)? {
            Some(removed) if removed.is_removed() => Ok((removed.number, failed_by(tx, &removed)?)),
            Some(found) => Ok((found.number, None)),
            None => Err(RegistryError::NotFound { what: "message", id: message.to_string() }),
        })?;
        if let Some(Item { id: item, .. }) = item {
            let text = format!("message {message} was removed, and is not sent again");
            let next = format!("strongroom items requeue {item}, which has the event posted by a new message");
            return Err(EngineError::Refused(text).next(next));
        }
        numbered.push((number, *message));
    }
    numbered.sort_unstable();
    numbered.dedup();
    let registry = &authorized.home().registry;
    let mut sent = Vec::with_capacity(numbered.len());
    for page in numbered.chunks(PAGE) {
        let (page, who, workflows) = (page.to_vec(), authorized.actor().to_string(), registry.workflows());
        let entry = authorized.entry();
        let (views, topics) = registry.write(move |tx| {
            let (mut views, mut topics) = (Vec::with_capacity(page.len()), Vec::new());
            for (_, message) in &page {
                let found = outbox::find_undeliverable(tx, *message, "send it again")?;
                if let Some(item) = failed_by(tx, &found)? {
                    let request = items::Request::Requeue(Some(CONFIRM));
                    topics.extend(items::request(
                        tx,
                        workflows.as_ref(),
                        Scope::System,
                        item.id,
                        request,
                        who.as_str(),
                    )?);
                } else {
                    outbox::send_again(tx, *message)?;
                    schedules::hasten(tx, background::outbox::NAME)?;
                }
                let again = outbox::Message { undeliverable_at: None, attempts: 0, next_attempt_at: None, ..found };
                entry.done(tx, &target(&again))?;
                views.push(MessageView::from(again));
            }
            Ok::<_, RegistryError>((views, topics))
        })?;
        registry.wakeups().notify(topics.iter().map(String::as_str));
        sent.extend(views);
    }
    Ok(sent)
}

/// Has all undeliverable messages about a batch attempted again, page by page in the order in which they were put into the outbox; each is
/// handed to `take` as it is then.
pub fn send_of_batch<E: From<EngineError>>(
    context: &OpContext,
    batch: BatchId,
    take: &mut dyn FnMut(MessageView) -> Result<(), E>,
) -> Result<(), E> {
    context.authorize(&OUTBOX_SEND)?;
    let mut after = None;
    loop {
        let page = undeliverable_of_batch(context, batch, after)?;
        let messages: Vec<Uuid> = page.items.iter().map(|message| message.message).collect();
        send_all(context, &messages)?.into_iter().try_for_each(&mut *take)?;
        if page.next.is_none() {
            return Ok(());
        }
        after = page.next;
    }
}

/// The work item that failed because a message was not delivered.
fn failed_by(tx: &mut dyn Transaction, message: &outbox::Message) -> Result<Option<Item>, RegistryError> {
    Ok(to_be_confirmed_by(tx, message)?.filter(|item| item.status == ItemStatus::Failed))
}

/// The work item that waits for the delivery of a message, or failed because it was not delivered.
fn to_be_confirmed_by(tx: &mut dyn Transaction, message: &outbox::Message) -> Result<Option<Item>, RegistryError> {
    let Some(item) = message.item.filter(|item| message.first_key() == confirmation_key(*item)) else {
        return Ok(None);
    };
    let found = items::get(tx, Scope::System, item)?;
    let is_meant =
        |item: &Item| item.stage == CONFIRM && (item.status == ItemStatus::Failed || confirmations::is_awaited(item));
    Ok(found.filter(is_meant))
}

/// Removes a message: it is never delivered. It has to be undeliverable, unless a work item waits for its delivery. An upload that waits for
/// its notice gets another one when its receiving store is scanned again.
///
/// With a reason the work item that waits for the delivery succeeds without it, and so does one that failed because there was none: its
/// note says who gave the confirmation up, and why.
///
/// # Errors
/// There is no such message, or it is not undeliverable. A work item waits for its delivery, and there is no reason; or none waits or failed,
/// and there is one.
pub fn remove(context: &OpContext, message: Uuid, reason: Option<&str>) -> Result<MessageView, EngineError> {
    let authorized = context.authorize(&OUTBOX_REMOVE)?;
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let item = authorized.read(|tx| match outbox::get(tx, message)? {
        Some(found) => to_be_confirmed_by(tx, &found),
        None => Err(RegistryError::NotFound { what: "message", id: message.to_string() }),
    })?;
    match (item, reason) {
        (Some(item), None) if confirmations::is_awaited(&item) => {
            let text = format!("work item {} waits for the delivery of message {message}", item.id);
            let next = "repeat the command with --reason TEXT: the item succeeds without the confirmation, and its note says why";
            return Err(EngineError::Usage(text).next(next));
        }
        (None, Some(_)) => {
            let text = format!("no work item waits for the delivery of message {message}, or failed without it");
            return Err(EngineError::Usage(text).next("leave --reason away"));
        }
        _ => {}
    }
    let workflows = authorized.home().registry.workflows();
    let by = authorized.actor().to_string();
    let given_up = reason.map(|reason| GivenUp { by, reason: reason.to_owned() });
    Ok(authorized.write_and_wake(move |tx| {
        let open = outbox::get(tx, message)?.filter(|found| found.delivered_at.is_none());
        let item = open.as_ref().map(|open| to_be_confirmed_by(tx, open)).transpose()?.flatten();
        let (found, topics) = match (open, item, &given_up) {
            (Some(open), Some(item), Some(given_up)) => {
                (open, confirmations::give_up(tx, workflows.as_ref(), &item, given_up)?)
            }
            _ => (outbox::find_undeliverable(tx, message, "remove it")?, Vec::new()),
        };
        outbox::set_removed(tx, &found)?;
        let removed = outbox::get(tx, message)?.unwrap_or(found);
        Ok::<_, RegistryError>((target(&removed), (MessageView::from(removed), topics)))
    })?)
}

fn target(message: &outbox::Message) -> Target {
    Target::of(message.institution, format!("message {}", message.id))
}
