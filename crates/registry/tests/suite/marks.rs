//! What is remembered of the marks in stores.

use strongroom_registry::stores::{self, MissedLog};
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

pub(crate) fn a_file_that_several_stores_miss_is_on_a_page_for_each(subject: &dyn Subject) {
    let world = World::new(subject);
    let made = world.object("bag");
    let (object, generation) = (made.id, made.generation);
    let missed = [("a.json", "attic"), ("a.json", "cellar"), ("b.json", "attic")];
    world.write(move |tx| {
        let missed_at = tx.now()?;
        for (name, store) in missed {
            let (store, name) = (store.to_owned(), name.to_owned());
            let institution = "example.edu".to_owned();
            let log = MissedLog { store, object, name, generation, institution, bytes: b"{}".to_vec(), missed_at };
            stores::note_log(tx, &log)?;
        }
        Ok(())
    });
    for limit in 1..=missed.len() {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = world.read(|tx| stores::missed_logs_of(tx, object, after.as_ref(), limit));
            let Some(last) = page.last() else { break };
            after = Some((last.name.clone(), last.store.clone()));
            found.extend(page.into_iter().map(|log| (log.name, log.store)));
        }
        let expected = missed.map(|(name, store)| (name.to_owned(), store.to_owned()));
        assert_eq!(found, expected, "pages of {limit}");
    }
}
