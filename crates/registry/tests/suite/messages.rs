//! Messages of the outbox that no work item has: kept until they are delivered, with what a channel notes of a part of the delivery.

use std::time::Duration;

use strongroom_registry::outbox::{self, About, Counts, Message};
use strongroom_registry::{BatchId, ItemId};

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

pub(crate) fn messages_about_a_batch_are_counted_and_those_of_delivered_items_are_not_listed(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, other, institution) = (BatchId::new(), BatchId::new(), world.ours);
    let item = world.make(&world.new_item("bag"));
    let about = move |batch, item| About { institution, item, batch: Some(batch) };
    world.write(move |tx| {
        for (key, kind, of) in [
            ("mail", outbox::MAIL, about(batch, None)),
            ("first", outbox::CALLBACK, about(batch, Some(item))),
            ("second", outbox::CALLBACK, about(batch, Some(item))),
            ("report", outbox::CALLBACK, about(batch, None)),
            ("other", outbox::MAIL, about(other, None)),
        ] {
            outbox::insert_about(tx, of, key, kind, "{}")?;
        }
        for key in ["first", "report"] {
            let id = outbox::by_key(tx, key)?.expect("a message").id;
            outbox::set_delivered(tx, id)?;
        }
        let id = outbox::by_key(tx, "second")?.expect("a message").id;
        outbox::set_undeliverable(tx, id, "no")
    });
    let listed = |limit| world.read(|tx| outbox::of_batch(tx, batch, i64::MAX as u64, limit));
    let keys: Vec<String> = listed(9).into_iter().map(|message| message.key).collect();
    assert_eq!(keys, ["report", "second", "mail"], "the newest first");
    assert_eq!(listed(1).len(), 1);
    let counts = |kind: &str, messages, delivered, undeliverable| Counts {
        kind: kind.to_owned(),
        messages,
        delivered,
        undeliverable,
    };
    let found = world.read(|tx| outbox::counts_of_batch(tx, batch));
    assert_eq!(found, [counts(outbox::CALLBACK, 3, 2, 1), counts(outbox::MAIL, 1, 0, 0)]);
    let waiting = world.read(|tx| outbox::attempted(tx, outbox::MAIL, 0, 9));
    assert_eq!(waiting.iter().map(|message| message.batch).collect::<Vec<_>>(), [Some(batch), Some(other)]);
    // Another payload, by which it is attempted again; what was delivered stays as it is.
    for (key, is_replaced) in [("second", true), ("first", false)] {
        let before = message(&world, key);
        world.write(move |tx| outbox::replace(tx, before.id, "{\"new\":1}", "{}"));
        let found = message(&world, key);
        assert_eq!((found.payload != "{}", found.undeliverable_at), (is_replaced, None), "{key}");
    }
    let mail = message(&world, "mail");
    world.write(move |tx| outbox::set_removed(tx, &mail));
    assert!(listed(9)[2].is_removed());
}
