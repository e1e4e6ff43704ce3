//! Messages of the outbox that cannot be delivered as things are: listed, sent again, and removed by people.

use strongroom_registry::{RegistryError, outbox, schedules};
use uuid::Uuid;

use super::authorization::{OUTBOX_LIST, OUTBOX_REMOVE, OUTBOX_SEND};
use super::views::MessageView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::background;
use crate::journal::Target;

/// The undeliverable messages, in the order in which they were put into the outbox, after the number `after`.
pub fn list(context: &OpContext, after: Option<u64>) -> Result<Page<MessageView, u64>, EngineError> {
    let authorized = context.authorize(&OUTBOX_LIST)?;
    let found = authorized.read(|tx| outbox::undeliverable(tx, after.unwrap_or(0), PAGE))?;
    let next = found.last().map(|message| message.number);
    Ok(Page { items: found.into_iter().map(MessageView::from).collect(), next })
}

/// Has an undeliverable message attempted again, by the next run of the background task `outbox`, which is due now.
///
/// # Errors
/// There is no such message, or it is not undeliverable.
pub fn send(context: &OpContext, message: Uuid) -> Result<MessageView, EngineError> {
    let authorized = context.authorize(&OUTBOX_SEND)?;
    Ok(authorized.write(move |tx| {
        let found = outbox::find_undeliverable(tx, message, "send it again")?;
        outbox::send_again(tx, message)?;
        schedules::hasten(tx, background::outbox::NAME)?;
        Ok::<_, RegistryError>((target(&found), MessageView::from(found)))
    })?)
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
        Ok::<_, RegistryError>((target(&found), MessageView::from(found)))
    })?)
}

fn target(message: &outbox::Message) -> Target {
    Target::of(message.institution, format!("message {}", message.id))
}
