//! The one table by which the status of an item changes.

use strongroom_registry::ItemStatus::{Cancelled, Deleted, Failed, Held, Pending, Started, Succeeded};
use strongroom_registry::{ItemStatus, RegistryError, Stage};

use super::world::*;
use strongroom_registry::items::Request;

const ALLOWED: &[(ItemStatus, ItemStatus)] = &[
    (Pending, Pending),
    (Pending, Started),
    (Pending, Held),
    (Pending, Cancelled),
    (Pending, Failed),
    (Pending, Deleted),
    (Started, Started),
    (Started, Pending),
    (Started, Held),
    (Started, Failed),
    (Started, Cancelled),
    (Started, Succeeded),
    (Held, Pending),
    (Held, Cancelled),
    (Held, Deleted),
    (Failed, Pending),
    (Failed, Deleted),
    (Cancelled, Pending),
    (Cancelled, Deleted),
    (Succeeded, Deleted),
];

pub(crate) fn i11_items_take_the_transitions_of_the_table_and_no_other(subject: &dyn Subject) {
    for from in ItemStatus::ALL {
        for to in ItemStatus::ALL {
            assert_eq!(from.may_become(*to), ALLOWED.contains(&(*from, *to)), "{from} to {to}");
        }
    }
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("cleanup"));
    world.finish(&claim, &succeeded());
    for request in [Request::Hold, Request::Release, Request::Cancel, Request::Fail, Request::Requeue(None)] {
        let refused = world.ask(item.id, request).expect_err("an ended item does not go on");
        assert!(matches!(refused, RegistryError::State { .. }), "{request:?}: {refused}");
    }
    assert_eq!(world.status(item.id), (Stage::named("cleanup"), Succeeded));
    assert!(world.topics(item.id).is_empty());
    world.ask(item.id, Request::Delete).expect("is put away");
    let refused = world.ask(item.id, Request::Delete).expect_err("once is enough");
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
}
