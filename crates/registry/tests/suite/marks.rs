//! What is remembered of the marks in stores.

use strongroom_registry::stores;
use uuid::Uuid;

use super::world::*;

pub(crate) fn the_mark_of_a_store_only_rises_and_belongs_to_the_store_itself(subject: &dyn Subject) {
    let world = World::new(subject);
    let (id, other, new) = (Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7());
    let known = |name: &str| {
        let all = world.registry.read(stores::list).expect("lists");
        all.into_iter().find(|store| store.name == name).expect("is recorded")
    };
    let note = |id: Uuid, acts: u64| {
        world.registry.write(move |tx| stores::note_mark(tx, "cellar", id, acts)).expect("is noted");
        known("cellar").mark_revision
    };
    world
        .registry
        .write(move |tx| {
            stores::record(tx, "cellar", id)?;
            stores::record(tx, "attic", other)
        })
        .expect("are recorded");
    assert_eq!(known("cellar").mark_revision, 0);
    assert_eq!(note(id, 7), 7);
    assert_eq!(note(id, 5), 7, "a late note lowers nothing");
    assert_eq!(note(other, 9), 7, "that is another store");
    assert_eq!(known("attic").mark_revision, 0);

    world.registry.write(move |tx| stores::begin_replacing(tx, "cellar", new)).expect("begins");
    assert_eq!(note(id, 11), 7, "it is being replaced");
    world.registry.write(|tx| stores::end_replacing(tx, "cellar")).expect("ends");
    assert_eq!(known("cellar").mark_revision, 0, "nothing was seen of the new one");
    assert_eq!(note(id, 12), 0, "whoever had the old one open comes late");
    assert_eq!(note(new, 12), 12);
}
