//! Messages of the outbox: those that cannot be delivered as things are are listed, sent again, and removed by people; those that wait are
//! listed.

use strongroom_registry::{ItemId, ItemStatus, RegistryError, Scope, Transaction, items, outbox, schedules};
use uuid::Uuid;

use super::authorization::{OUTBOX_LIST, OUTBOX_REMOVE, OUTBOX_SEND};
use super::views::MessageView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::background;
use crate::ingest::{CONFIRM, confirmation_key};
use crate::journal::Target;
use crate::outbox::CHANNELS;

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
        Ok(found)
    })?;
    let next = found.last().map(|message| message.number);
    Ok(Page { items: found.into_iter().map(MessageView::from).collect(), next })
}

/// Has an undeliverable message attempted again, by the next run of the background task `outbox`, which is due now. A work item that failed
/// because this message could not be delivered is requeued: it has the message attempted, and succeeds with its delivery.
///
/// # Errors
/// There is no such message, or it is not undeliverable.
pub fn send(context: &OpContext, message: Uuid) -> Result<MessageView, EngineError> {
    let authorized = context.authorize(&OUTBOX_SEND)?;
    let (who, workflows) = (authorized.actor().name.clone(), authorized.home().registry.workflows());
    Ok(authorized.write_and_wake(move |tx| {
        let found = outbox::find_undeliverable(tx, message, "send it again")?;
        let topics = if let Some(item) = failed_by(tx, &found)? {
            let request = items::Request::Requeue(Some(CONFIRM));
            items::request(tx, workflows.as_ref(), Scope::System, item, request, who.as_str())?
        } else {
            outbox::send_again(tx, message)?;
            schedules::hasten(tx, background::outbox::NAME)?;
            Vec::new()
        };
        let again = outbox::Message { undeliverable_at: None, attempts: 0, next_attempt_at: None, ..found };
        Ok::<_, RegistryError>((target(&again), (MessageView::from(again), topics)))
    })?)
}

/// The work item that failed because a message was not delivered.
fn failed_by(tx: &mut dyn Transaction, message: &outbox::Message) -> Result<Option<ItemId>, RegistryError> {
    let Some(item) = message.item.filter(|item| message.key == confirmation_key(*item)) else { return Ok(None) };
    let found = items::get(tx, Scope::System, item)?;
    Ok(found.filter(|item| item.status == ItemStatus::Failed && item.stage == CONFIRM).map(|item| item.id))
}

/// Removes an undeliverable message: it is never delivered. An upload that waits for its notice gets another one when its receiving
/// store is scanned again.
///
/// # Errors
/// There is no such message, or it is not undeliverable.
pub fn remove(context: &OpContext, message: Uuid) -> Result<MessageView, EngineError> {
    let authorized = context.authorize(&OUTBOX_REMOVE)?;
    Ok(authorized.write(move |tx| {
        let found = outbox::find_undeliverable(tx, message, "remove it")?;
        outbox::set_removed(tx, &found)?;
        let removed = outbox::get(tx, message)?.unwrap_or(found);
        Ok::<_, RegistryError>((target(&removed), MessageView::from(removed)))
    })?)
}

fn target(message: &outbox::Message) -> Target {
    Target::of(message.institution, format!("message {}", message.id))
}
