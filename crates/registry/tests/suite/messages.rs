//! Messages of the outbox that no work item has: kept until they are delivered, with what a channel notes of a part of the delivery.

use std::time::Duration;

use strongroom_registry::ItemId;
use strongroom_registry::outbox::{self, Message};

use super::world::*;

fn message(world: &World<'_>, key: &str) -> Message {
    world.read(|tx| outbox::by_key(tx, key)).expect("the message")
}

pub(crate) fn a_message_about_no_work_item_is_found_by_its_key_and_inserted_once(subject: &dyn Subject) {
    let world = World::new(subject);
    let institution = world.ours;
    for payload in ["{}", "{\"later\":1}"] {
        world.write(move |tx| outbox::insert(tx, institution, None::<ItemId>, "report 1", outbox::MAIL, payload));
    }
    let found = message(&world, "report 1");
    assert_eq!((found.item, found.payload.as_str(), found.progress, found.attempts), (None, "{}", None, 0));
    assert!(world.read(|tx| outbox::by_key(tx, "report 2")).is_none());
}

pub(crate) fn what_a_channel_notes_of_a_message_stays_until_it_is_delivered_and_attempts_are_counted_anew(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let institution = world.ours;
    world.write(move |tx| outbox::insert(tx, institution, None::<ItemId>, "mail", outbox::MAIL, "{}"));
    let id = message(&world, "mail").id;
    let later = world.later(Duration::from_hours(1));
    world.write(move |tx| outbox::reserve(tx, id, later));
    assert_eq!(message(&world, "mail").next_attempt_at, Some(later));
    world.write(move |tx| {
        outbox::set_progress(tx, id, "{\"accepted\":[]}")?;
        outbox::set_failed(tx, id, "no", later)?;
        outbox::set_undeliverable(tx, id, "never")
    });
    let found = message(&world, "mail");
    assert_eq!((found.attempts, found.progress.as_deref()), (1, Some("{\"accepted\":[]}")));
    world.write(move |tx| outbox::send_again(tx, id));
    let found = message(&world, "mail");
    assert_eq!((found.attempts, found.undeliverable_at, found.next_attempt_at), (0, None, None));
    assert!(found.progress.is_some(), "who has it is not forgotten");
    world.write(move |tx| {
        outbox::set_delivered(tx, id)?;
        outbox::reserve(tx, id, later)
    });
    let found = message(&world, "mail");
    assert!(found.delivered_at.is_some() && found.next_attempt_at.is_none());
}
