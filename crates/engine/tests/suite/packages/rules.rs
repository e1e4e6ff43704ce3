//! What the rules of a collection say of the deposits in it.

use strongroom_engine::ingest::DepositRequest;
use strongroom_registry::items::{Item, Request};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{BatchId, CollectionId, ItemStatus, Scope, batches};

use super::world::{OBJECT, ONE_ATTEMPT, SINGLE_FILES, World, manifest};
use crate::fixture::{INSTITUTION, on_both_databases};

on_both_databases! {
    a_type_that_the_collection_does_not_take_is_refused_when_it_is_known
    a_package_that_is_too_large_for_the_collection_is_refused_when_its_size_is_known
    a_manifest_with_too_many_rows_makes_no_items
    the_items_of_a_large_batch_come_behind_those_of_a_small_one
    the_new_arks_of_a_collection_have_its_shoulder
    a_batch_that_failed_by_the_rules_goes_on_with_new_ones_when_a_person_says_so
}

const COLLECTION: &str = "photos";

/// Adds the collection with these rules.
fn collection(world: &World, rules: CollectionRules) -> CollectionId {
    let id = CollectionId::new();
    let adds = move |tx: &mut dyn strongroom_registry::Transaction| {
        let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
        tenants::add_collection(tx, id, institution, COLLECTION, (&named(rules.clone()), "test"))
    };
    world.home.registry.write(adds).expect("adds it");
    id
}

fn named(rules: CollectionRules) -> CollectionRules {
    CollectionRules { name: COLLECTION.into(), ..rules }
}

fn in_collection(request: DepositRequest) -> DepositRequest {
    DepositRequest { collection: Some(COLLECTION.into()), ..request }
}

fn accepting(types: &[&str]) -> CollectionRules {
    CollectionRules { accepted: types.iter().map(|one| (*one).to_owned()).collect(), ..CollectionRules::default() }
}

/// How the only item of a deposit ended.
fn ended(world: &World, request: DepositRequest) -> Item {
    let items = world.deposit(&in_collection(request));
    let [item] = items.as_slice() else { panic!("one item: {items:?}") };
    item.clone()
}

fn check_failed(item: &Item, needle: &str) {
    let note = item.note.as_deref().unwrap_or_default();
    assert_eq!(item.status, ItemStatus::Failed, "{note}");
    assert!(note.contains(needle) && note.contains("next: "), "{note}");
}

fn a_type_that_the_collection_does_not_take_is_refused_when_it_is_known(engine: crate::fixture::Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    collection(&world, accepting(&["file", "manifest"]));
    let refused = |request| world.submit(&in_collection(request)).expect_err("is refused").to_string();
    let error = refused(world.request(world.folder("folder", &[("a", b"alpha")])));
    assert!(error.contains("takes submissions of the types file, manifest, and this is a folder"), "{error}");
    // Recognized when it is read.
    world.web.put("/a.txt", "alpha");
    let rows = [format!("{} | | | | | a.txt | | | | |", world.web.url("/a.txt"))];
    world.web.put("/list.checkm", manifest(SINGLE_FILES, &rows));
    check_failed(&ended(&world, world.request("/list.checkm")), "this is a single-file-batch-manifest");
    let rows = [format!("{} | | | | | a.txt", world.web.url("/a.txt"))];
    world.web.put("/one.checkm", manifest(OBJECT, &rows));
    let taken = world.deposit(&in_collection(world.request("/one.checkm")));
    assert!(taken.iter().all(|item| item.status == ItemStatus::Succeeded), "{taken:?}");
    world.ingest(&in_collection(world.request(world.write("b.txt", "beta"))));
}

fn a_package_that_is_too_large_for_the_collection_is_refused_when_its_size_is_known(engine: crate::fixture::Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    collection(&world, CollectionRules { most_bytes: Some(5), ..CollectionRules::default() });
    let item = ended(&world, world.request(world.write("b.txt", "bigger")));
    check_failed(&item, "the package has 6 bytes");
    assert_eq!(item.stage.as_str(), "estimate");
    world.web.put("/c.txt", "bigger");
    let rows = [format!("{} | | | | | c.txt", world.web.url("/c.txt"))];
    check_failed(&ended(&world, world.request(world.write("c.checkm", manifest(OBJECT, &rows)))), "6 bytes");
    assert_eq!(world.objects(), [""; 0], "nothing of them is kept");
    world.ingest(&in_collection(world.request(world.write("a.txt", "alpha"))));
}

fn a_manifest_with_too_many_rows_makes_no_items(engine: crate::fixture::Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    collection(&world, CollectionRules { most_rows: Some(2), ..CollectionRules::default() });
    let list = |rows: usize| world.write(&format!("{rows}.checkm"), files_of(&world, rows));
    check_failed(&ended(&world, world.request(list(3))), "the manifest has 3 rows");
    assert_eq!(world.deposit(&in_collection(world.request(list(2)))).len(), 3);
}

/// A manifest of so many files.
fn files_of(world: &World, rows: usize) -> String {
    world.web.put("/a.txt", "alpha");
    let row = |number| format!("{} | | | | | {number}.txt | | | | |", world.web.url("/a.txt"));
    manifest(SINGLE_FILES, &(0..rows).map(row).collect::<Vec<_>>())
}

fn the_items_of_a_large_batch_come_behind_those_of_a_small_one(engine: crate::fixture::Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    let id = collection(&world, CollectionRules::default());
    let priorities = |rows: usize| {
        let path = world.write(&format!("{rows}.checkm"), files_of(&world, rows));
        let items = world.deposit(&in_collection(world.request(path)));
        let mut found: Vec<i64> =
            items.iter().filter(|item| item.action.as_str() == "ingest").map(|item| item.priority).collect();
        found.dedup();
        found
    };
    assert_eq!((priorities(1), priorities(3)), (vec![5], vec![15]));
    let set = named(CollectionRules { priority: Some(42), ..CollectionRules::default() });
    world.home.registry.write(move |tx| tenants::set_collection(tx, id, (&set, "test"), true)).expect("sets it");
    assert_eq!(priorities(3), [42]);
}

fn the_new_arks_of_a_collection_have_its_shoulder(engine: crate::fixture::Engine) {
    let settings = "[identifiers]\nminter = \"noid\"\nnaan = \"99999\"\nshoulder = \"fk4\"\nshoulders = [\"fk5\"]\n";
    let Some(world) = World::in_database(engine, settings) else { return };
    collection(&world, CollectionRules { shoulder: Some("fk5".into()), ..CollectionRules::default() });
    let ark = |request| world.ingest(&request).ark.expect("an ARK");
    assert!(ark(in_collection(world.request(world.write("a.txt", "alpha")))).starts_with("ark:/99999/fk5"));
    assert!(ark(world.request(world.write("b.txt", "beta"))).starts_with("ark:/99999/fk4"));
}

fn a_batch_that_failed_by_the_rules_goes_on_with_new_ones_when_a_person_says_so(engine: crate::fixture::Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    let id = collection(&world, CollectionRules { most_bytes: Some(2), ..CollectionRules::default() });
    let item = ended(&world, world.request(world.write("a.txt", "alpha")));
    let set = named(CollectionRules::default());
    world.home.registry.write(move |tx| tenants::set_collection(tx, id, (&set, "test"), true)).expect("sets it");
    let batch: BatchId = item.batch.expect("a batch");
    world.ask(item.id, Request::Requeue(None));
    world.work(batch);
    check_failed(&world.item(item.id), "takes 2 at most");
    world.home.registry.write(move |tx| batches::take_new_rules(tx, batch)).expect("takes them");
    world.ask(item.id, Request::Requeue(None));
    world.work(batch);
    assert_eq!(world.item(item.id).status, ItemStatus::Succeeded);
}
