//! What stores lack of their placements: counted without reading every object, and never less than there is.

use strongroom_registry::placements::{self, LackingCount};
use strongroom_registry::stores::{self, LostCursor};
use strongroom_registry::{
    ContentId, Description, ItemStatus, ObjectId, Stage, backfill, batches, items, retention, versions,
};

use super::world::*;

const LIMIT: usize = 100;

/// An object of the placement `Standard`, published in these stores.
pub(crate) fn kept(world: &World<'_>, name: &str, stores: &[&'static str]) -> (ObjectId, ContentId) {
    let object = world.object(name);
    let (claim, _) = world.claimed_at(Stage::named("record"));
    let version = {
        let (claim, object) = (claim.clone(), object.clone());
        world.write(move |tx| {
            let said = Description { placement: Some("Standard".to_owned()), ..Description::default() };
            versions::prepare(tx, &claim, &new_version(&object, &said))
        })
    };
    let (_, content) = world.put(&claim, &version, "deposit/data/a", name.as_bytes());
    for store in stores {
        world.copy(&claim, &version, store, &[content]);
    }
    world.commit(&claim, &version);
    world.publish(&claim, stores);
    world.finish(&claim, &succeeded());
    (object.id, content)
}

/// What the background task does with these stores of the placement, objects one by one.
pub(crate) fn compare(world: &World<'_>, stores: &[&str]) {
    let wanted: Vec<(String, String)> =
        stores.iter().map(|store| ("standard".to_owned(), (*store).to_owned())).collect();
    world.write(move |tx| placements::set(tx, &wanted));
    for store in stores {
        let store = (*store).to_owned();
        while !world.write({
            let store = store.clone();
            move |tx| placements::advance(tx, ("standard", &store), 1)
        }) {}
    }
    let marked = marked(world);
    let whole: Vec<ObjectId> =
        marked.iter().filter(|(_, lacking)| lacking.is_empty()).map(|(object, _)| *object).collect();
    // Those that lack something keep their marks whatever is asked.
    let all: Vec<ObjectId> = marked.iter().map(|(object, _)| *object).collect();
    assert_eq!(world.write(move |tx| placements::unmark(tx, &all)), whole.len() as u64);
}

/// The objects that are marked, each with the stores that lack something of it.
pub(crate) fn marked(world: &World<'_>) -> Vec<(ObjectId, Vec<String>)> {
    let marked = world.read(|tx| placements::marked(tx, "Standard", ObjectId(uuid::Uuid::nil()), LIMIT));
    marked.into_iter().map(|one| (one.object, one.lacking_in)).collect()
}

/// How many objects a store lacks, by both counts.
fn lacking(world: &World<'_>, store: &str) -> u64 {
    let count = world.read(|tx| placements::count_lacking(tx, ("standard", store), LIMIT));
    let exact = world.read(|tx| backfill::count_lacking(tx, "standard", store));
    assert_eq!(count, LackingCount { objects: exact, is_all: true }, "{store}");
    exact
}

pub(crate) fn what_a_store_lacks_is_counted_before_and_after_it_was_compared(subject: &dyn Subject) {
    let world = World::new(subject);
    assert_eq!(lacking(&world, "primary"), 0);
    let (first, _) = kept(&world, "first", &["primary", "secondary"]);
    let (second, _) = kept(&world, "second", &["primary"]);
    assert_eq!([lacking(&world, "primary"), lacking(&world, "secondary"), lacking(&world, "third")], [0, 1, 2]);
    compare(&world, &["primary", "secondary"]);
    assert_eq!(marked(&world), [(second, vec!["secondary".to_owned()])]);
    assert_eq!([lacking(&world, "primary"), lacking(&world, "secondary"), lacking(&world, "third")], [0, 1, 2]);
    // What comes later is marked by itself.
    let (third, _) = kept(&world, "third", &["secondary"]);
    assert_eq!([lacking(&world, "primary"), lacking(&world, "secondary"), lacking(&world, "third")], [1, 1, 3]);
    compare(&world, &["primary", "secondary", "third"]);
    let marks: Vec<ObjectId> = marked(&world).into_iter().map(|(object, _)| object).collect();
    assert_eq!(marks, [first, second, third]);
    assert_eq!([lacking(&world, "primary"), lacking(&world, "secondary"), lacking(&world, "third")], [1, 1, 3]);
}

pub(crate) fn whatever_takes_something_away_is_counted_at_once(subject: &dyn Subject) {
    let world = World::new(subject);
    for name in ["first", "second"] {
        kept(&world, name, &["primary", "secondary"]);
    }
    compare(&world, &["primary", "secondary"]);
    assert_eq!(marked(&world), []);
    // A store is replaced: copies go first, then what is kept of the objects besides.
    world.write(|tx| stores::lose_copies(tx, ("secondary", &[]), LostCursor::START, 1)).expect("one is lost");
    assert_eq!(lacking(&world, "secondary"), 1);
    compare(&world, &["primary", "secondary"]);
    assert_eq!(lacking(&world, "secondary"), 1);
    world.write(|tx| stores::lose_object_copies(tx, ("secondary", &[]), LostCursor::START, LIMIT));
    assert_eq!([lacking(&world, "primary"), lacking(&world, "secondary")], [0, 2]);
    assert_eq!(marked(&world).len(), 2);
    compare(&world, &["primary", "secondary"]);
    assert_eq!([lacking(&world, "primary"), lacking(&world, "secondary")], [0, 2]);
}

pub(crate) fn a_mark_goes_when_every_store_holds_the_object_whole(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, content) = kept(&world, "first", &["primary"]);
    compare(&world, &["primary", "secondary"]);
    assert_eq!(marked(&world), [(object, vec!["secondary".to_owned()])]);
    let institution = world.ours;
    world.write(move |tx| {
        let proof = backfill::CopyProof::Read;
        let copy = backfill::BroughtCopy { content, key: "key".to_owned(), class: None, proof };
        backfill::put_copies(tx, institution, object, "secondary", &[copy])
    });
    compare(&world, &["primary", "secondary"]);
    assert_eq!(lacking(&world, "secondary"), 1, "its inventories are still to come");
    let found = world.read(|tx| strongroom_registry::objects::get(tx, strongroom_registry::Scope::System, object));
    let generation = found.expect("is there").generation;
    world.write(move |tx| {
        let copy = backfill::ObjectCopy { institution, object, generation, store: "secondary".to_owned() };
        backfill::put_object_copy(tx, &copy, true)
    });
    assert_eq!(lacking(&world, "secondary"), 0, "at once");
    compare(&world, &["primary", "secondary"]);
    assert_eq!(marked(&world), []);
}

pub(crate) fn a_count_that_stops_at_its_bound_says_so(subject: &dyn Subject) {
    let world = World::new(subject);
    let count = |store: &str, limit| world.read(|tx| placements::count_lacking(tx, ("standard", store), limit));
    for name in ["a", "b", "c"] {
        kept(&world, name, &["primary"]);
    }
    assert_eq!(count("secondary", 2), LackingCount { objects: 2, is_all: false });
    assert_eq!(count("primary", 2), LackingCount { objects: 0, is_all: false }, "not all were looked at");
    assert_eq!(count("primary", 4), LackingCount { objects: 0, is_all: true });
    compare(&world, &["primary"]);
    assert_eq!(count("primary", 1), LackingCount { objects: 0, is_all: true }, "all were compared");
    assert_eq!(count("secondary", 3), LackingCount { objects: 3, is_all: false }, "there may be one behind them");
    assert_eq!(count("secondary", 4), LackingCount { objects: 3, is_all: true });
}

pub(crate) fn a_store_that_is_compared_no_more_is_compared_from_the_beginning_later(subject: &dyn Subject) {
    let world = World::new(subject);
    kept(&world, "first", &["primary", "secondary"]);
    compare(&world, &["primary", "secondary"]);
    compare(&world, &["primary"]);
    // Meanwhile the placement does not name the store.
    kept(&world, "second", &["primary"]);
    compare(&world, &["primary"]);
    assert_eq!(marked(&world), []);
    assert_eq!(lacking(&world, "secondary"), 1);
    compare(&world, &["primary", "secondary"]);
    assert_eq!(lacking(&world, "secondary"), 1);
    assert_eq!(marked(&world).len(), 1);
}

pub(crate) fn counts_of_items_and_rows_stop_at_their_bound(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, made) = world.batch(3);
    world.ask(made[0], items::Request::Cancel).expect("is cancelled");
    let counts = |limit| world.read(|tx| items::counts_up_to(tx, limit));
    assert_eq!(counts(9), [(ItemStatus::Pending, 2), (ItemStatus::Cancelled, 1)]);
    assert_eq!(counts(1), [(ItemStatus::Pending, 2), (ItemStatus::Cancelled, 1)], "one beyond the bound");
    assert_eq!(counts(0), [(ItemStatus::Pending, 1), (ItemStatus::Cancelled, 1)]);
    let sizes = |limit| world.read(|tx| retention::sizes_now(tx, limit));
    let all = world.read(retention::sizes);
    let now = sizes(99);
    assert_eq!((now.rows, now.at_least.len(), now.counted_at), (all.clone(), 0, None));
    let some = sizes(2);
    assert_eq!((&some.at_least[..1], some.rows[0]), (&["work_items"][..], ("work_items", 2)));
    world.write(move |tx| retention::note_sizes(tx, &all));
    let noted = sizes(2);
    assert_eq!((noted.at_least.len(), noted.rows[0]), (0, ("work_items", 3)));
    assert!(noted.counted_at.is_some());
}

pub(crate) fn items_of_a_cancelled_batch_that_a_worker_has_are_counted_until_they_end(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(2);
    world.claim(Stage::named("receive"));
    let ending = || world.read(|tx| batches::count_ending(tx, batch));
    assert_eq!(ending(), 0);
    world.ask_batch(batch, items::Request::Cancel).expect("is asked");
    assert_eq!(world.read(|tx| batches::stop_of(tx, batch)), None, "each was told");
    assert_eq!(ending(), 1);
    // Its process is gone; another one finds that it is to end.
    world.crash();
    world.lease(2, Stage::named("receive"), 9);
    assert_eq!(ending(), 0);
}
