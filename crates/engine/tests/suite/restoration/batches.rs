//! Many objects restored by one request: one batch, a bag for each object, and one receipt that tells of all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use strongroom_engine::EngineError;
use strongroom_engine::app::items::Ask;
use strongroom_engine::app::{self, Caller, OpContext};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::journal::JournalEntry;
use strongroom_engine::restoration::{
    BatchRequested, CollectionRequest, ListRequest, forget_unused_lists, request_collection, request_list,
};
use strongroom_engine::work_on_batch;
use strongroom_registry::items::Request;
use strongroom_registry::restorations::{self, ObjectVersion};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{BatchId, BatchState, CollectionId, InstitutionId, RegistryError, batches};

use super::*;

const COLLECTION: &str = "papers";

/// A home with objects of these names in a collection, and the object `maps` outside of it.
fn home_with_collection(names: &[&str]) -> TestHome {
    let home = fixture::home();
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            let rules = CollectionRules { name: COLLECTION.to_owned(), ..CollectionRules::default() };
            tenants::add_collection(tx, CollectionId::new(), institution, COLLECTION, (&rules, "test"))
        })
        .expect("adds");
    for name in names {
        ingest_into_collection(&home, name);
    }
    home.ingest("maps", &[("m.txt", b"of no collection")]);
    home
}

fn ingest_into_collection(home: &TestHome, name: &str) {
    let bag = home.bag(name, &[("a.txt", format!("of {name}").as_bytes())]);
    let request = DepositRequest {
        collection: Some(COLLECTION.to_owned()),
        sources: vec![PackageSource::LocalPath(bag)],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(home, &request).expect("deposits");
    work_on(&home.home, &made.items, &Shutdown::new()).expect("works");
}

fn of_collection(target: RestorationTarget) -> CollectionRequest {
    CollectionRequest {
        scope: Scope::System,
        institution: INSTITUTION.to_owned(),
        collection: COLLECTION.to_owned(),
        target,
        by: JournalEntry::of_system("restorations.collection"),
    }
}

fn of_list(home: &TestHome, target: RestorationTarget, names: &[&str]) -> Result<BatchRequested, EngineError> {
    let request = ListRequest { scope: Scope::System, target, by: JournalEntry::of_system("restorations.list") };
    request_list(home, &request, &mut names.iter().map(|name| Ok((*name).to_owned())))
}

fn state(home: &Home, batch: BatchId) -> BatchState {
    let batch = home.registry.read(|tx| batches::get(tx, Scope::System, batch)).expect("reads");
    batch.expect("the batch").state
}

fn receipt(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a receipt")).expect("one JSON document")
}

/// What a receipt says of each object: its name and its outcome.
fn outcomes(receipt: &Value) -> BTreeSet<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let objects = receipt["objects"].as_array().expect("objects");
    objects.iter().map(|one| (text(&one["object"]), text(&one["outcome"]))).collect()
}

fn pairs(wanted: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    wanted.iter().map(|(name, outcome)| (format!("{INSTITUTION}/{name}"), (*outcome).to_owned())).collect()
}

fn items_of(home: &Home, batch: BatchId) -> Vec<Item> {
    let filter = items::ItemFilter { batch: Some(batch), ..items::ItemFilter::default() };
    home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 1_000)).expect("lists")
}

#[test]
fn every_object_of_a_collection_is_restored_as_one_batch_with_one_receipt() {
    let home = home_with_collection(&["letters", "diaries", "photographs"]);
    let folder = TempDir::new().expect("a folder");
    let into_folder = of_collection(RestorationTarget::Folder(folder.path().to_owned()));
    let made = request_collection(&home, &into_folder).expect("asks");
    assert_eq!(state(&home, made.batch), BatchState::Pending);
    let summary = work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert!(summary.failure.is_none());
    assert_eq!(state(&home, made.batch), BatchState::Completed);

    let name = format!("restoration-{}.json", made.batch);
    let mut found = names(folder.path());
    found.sort();
    assert_eq!(found, ["diaries.tar", "letters.tar", "photographs.tar", &name]);
    let receipt = receipt(&folder.path().join(&name));
    let all = [("letters", "succeeded"), ("diaries", "succeeded"), ("photographs", "succeeded")];
    assert_eq!(outcomes(&receipt), pairs(&all));
    assert_eq!((&receipt["total"], &receipt["succeeded"]), (&Value::from(3), &Value::from(3)));
    assert_eq!(receipt["collection"], COLLECTION);
    for one in receipt["objects"].as_array().expect("objects") {
        let bytes = std::fs::read(one["name"].as_str().expect("a name")).expect("the bag");
        let (_, digests) =
            strongroom_digest::hash_reader(bytes.as_slice(), &[strongroom_digest::Algorithm::Sha256]).expect("hashes");
        let sha256 = digests.get(strongroom_digest::Algorithm::Sha256).expect("a digest").to_hex();
        assert_eq!(one["sha256"], sha256.as_str());
        assert_eq!(one["size"], bytes.len());
        assert_eq!(one["version"], 1);
    }
}

#[test]
fn the_receipt_tells_of_what_failed_and_goes_from_the_store_when_its_time_has_run_out() {
    let home = home_with_collection(&["letters", "diaries"]);
    let diaries = home.object("diaries");
    for store in KEPT_IN {
        damage(&home, &file(&home, &diaries, "data/a.txt"), store);
    }
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Failed);
    let key = format!("{INSTITUTION}/restoration-{}.json", made.batch);
    assert_eq!(home.keys("restoration"), [format!("{INSTITUTION}/letters.tar"), key.clone()]);
    let receipt = receipt(&home.file("restoration", &key));
    assert_eq!(outcomes(&receipt), pairs(&[("letters", "succeeded"), ("diaries", "failed")]));
    assert_eq!((&receipt["total"], &receipt["succeeded"]), (&Value::from(2), &Value::from(1)));
    let failed = receipt["objects"].as_array().expect("objects").iter().find(|one| one["outcome"] == "failed");
    let failed = failed.expect("it failed");
    assert!(failed["name"].is_null() && failed["sha256"].is_null(), "{failed}");
    assert!(failed["note"].as_str().is_some_and(|note| note.contains("a.txt")), "{failed}");

    home.clock.advance(Duration::from_hours(24 * 31));
    let expired = strongroom_engine::restoration::expire(&home, &Shutdown::new()).expect("expires");
    assert_eq!(expired.removed, 2);
    assert!(home.keys("restoration").is_empty());
}

#[test]
fn a_list_is_restored_once_for_each_object_by_any_of_its_names() {
    let home = home_with_collection(&["letters"]);
    let letters = home.object("letters");
    let folder = TempDir::new().expect("a folder");
    let (name, id) = (letters.identifier.clone(), letters.id.to_string());
    let target = RestorationTarget::Folder(folder.path().to_owned());
    let made = of_list(&home, target, &[&name, "test.edu/maps", &id]).expect("asks");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Completed);
    assert_eq!(items_of(&home, made.batch).len(), 3, "two objects, and what makes and tells of them");
    let receipt = receipt(&folder.path().join(format!("restoration-{}.json", made.batch)));
    assert_eq!(outcomes(&receipt), pairs(&[("letters", "succeeded"), ("maps", "succeeded")]));
    assert!(receipt["collection"].is_null());
    let left = home.registry.read(|tx| restorations::entries(tx, made.batch, 10)).expect("reads");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_a_list_names_that_does_not_exist_is_told_at_once_and_nothing_is_made() {
    let home = home_with_collection(&[]);
    let store = || RestorationTarget::RestorationStore;
    let error = of_list(&home, store(), &["test.edu/maps", "test.edu/none", "nothing"]).expect_err("is refused");
    let text = error.to_string();
    assert!(text.contains("test.edu/none") && text.contains("nothing") && !text.contains("maps"), "{text}");
    let error = of_list(&home, store(), &[]).expect_err("is refused");
    assert!(error.to_string().contains("names no object"), "{error}");
    let error = request_collection(&home, &of_collection(store())).expect_err("is refused");
    assert!(error.to_string().contains("has no objects"), "{error}");
    let all = home
        .registry
        .read(|tx| batches::list(tx, Scope::System, &batches::BatchFilter::default(), None, 10))
        .expect("lists");
    assert!(all.iter().all(|batch| batch.kind != "restoration"), "{all:?}");
    let mut names = ["test.edu/maps"]
        .iter()
        .map(|name| Ok((*name).to_owned()))
        .chain([Err(EngineError::Usage("the rest cannot be read".to_owned()))]);
    let by = JournalEntry::of_system("restorations.list");
    let request = ListRequest { scope: Scope::System, target: store(), by };
    request_list(&home, &request, &mut names).expect_err("cannot be read");
    assert_eq!(entries(&home), 0, "nothing is left of any of them");
}

#[test]
fn no_batch_is_made_of_a_list_that_lost_its_beginning_while_it_was_read() {
    let home = home_with_collection(&["one"]);
    let by = JournalEntry::of_system("restorations.list");
    let request = ListRequest { scope: Scope::System, target: RestorationTarget::RestorationStore, by };
    // A page of names is noted before the next is read.
    let first = std::iter::repeat_n("test.edu/one", 200);
    let mut names = first.chain(["test.edu/maps"]).map(|name| {
        if name == "test.edu/maps" {
            let ahead = strongroom_registry::Time(i64::MAX);
            home.registry.write(move |tx| restorations::drop_unused(tx, ahead, 100)).expect("drops");
        }
        Ok(name.to_owned())
    });
    let error = request_list(&home, &request, &mut names).expect_err("is refused");
    assert!(error.to_string().contains("nothing is made"), "{error}");
    assert_eq!(entries(&home), 0);
}

#[test]
fn a_list_of_objects_of_another_institution_names_nothing_that_exists() {
    let home = home_with_collection(&[]);
    let other = InstitutionId::new();
    home.registry.write(move |tx| tenants::add_institution(tx, other, "other.edu", "other.edu")).expect("adds");
    let by = JournalEntry::of_system("restorations.list");
    let request =
        ListRequest { scope: Scope::Institution(other), target: RestorationTarget::RestorationStore, by: by.clone() };
    let mut names = [Ok("test.edu/maps".to_owned())].into_iter();
    let error = request_list(&home, &request, &mut names).expect_err("is refused");
    assert!(error.to_string().contains("there is no such object"), "{error}");
    let scope = Scope::Institution(other);
    let request = CollectionRequest { scope, ..of_collection(RestorationTarget::RestorationStore) };
    let error = request_collection(&home, &request).expect_err("is refused");
    assert!(matches!(error, EngineError::Registry(RegistryError::NotFound { .. })), "{error}");
}

#[test]
fn a_batch_that_was_cut_short_goes_on_where_it_stopped_and_makes_nothing_twice() {
    let home = home_with_collection(&["letters", "diaries", "photographs"]);
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    // As a process that was killed behind the first page of one object.
    let first = home.registry.read(|tx| {
        let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
        let collection = tenants::collection(tx, Scope::System, institution, COLLECTION)?.expect("the collection").id;
        restorations::objects_of_collection(tx, collection, None, 1)
    });
    let first = first.expect("reads")[0];
    let workflows = home.registry.workflows();
    home.registry
        .write(move |tx| {
            let object = objects::get(tx, Scope::System, first.object)?.expect("the object");
            let new = items::NewItem {
                batch: Some(made.batch),
                object: Some(object.id),
                name: "first.tar".to_owned(),
                ..items::NewItem::new("restore_object".parse()?, object.institution, object.identifier)
            };
            items::create(tx, workflows.as_ref(), &new)
        })
        .expect("makes");
    assert_eq!(state(&home, made.batch), BatchState::Pending, "it does not seem whole");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Completed);
    let objects: Vec<String> = items_of(&home, made.batch)
        .into_iter()
        .filter(|item| item.id != made.item)
        .map(|item| item.object_identifier)
        .collect();
    assert_eq!(objects.len(), 3);
    assert_eq!(objects.iter().collect::<BTreeSet<_>>().len(), 3, "{objects:?}");
}

#[test]
fn a_list_that_was_cut_short_before_its_batch_was_made_is_forgotten() {
    let home = home_with_collection(&[]);
    let maps = home.object("maps").id;
    let (cut_short, made) = (BatchId::new(), of_list(&home, RestorationTarget::RestorationStore, &["test.edu/maps"]));
    let made = made.expect("asks");
    home.registry
        .write(move |tx| restorations::put_entries(tx, cut_short, &[ObjectVersion { object: maps, version: 1 }]))
        .expect("notes");
    assert_eq!(entries(&home), 2);
    forget_unused_lists(&home, &Shutdown::new()).expect("looks");
    assert_eq!(entries(&home), 2, "it may still be in the making");
    home.clock.advance(Duration::from_hours(25));
    forget_unused_lists(&home, &Shutdown::new()).expect("looks");
    assert_eq!(entries(&home), 1);
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Completed);
}

#[test]
fn work_on_a_batch_ends_where_a_person_has_to_release_what_is_left() {
    let home = home_with_collection(&["letters"]);
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    // The first of its stages alone.
    let only_first = || items_of(&home, made.batch).len() > 1;
    let runtime = strongroom_engine::build_runtime(&home, Some(&["restoration.expand".to_owned()])).expect("a runtime");
    runtime.build().run_until(&Shutdown::new(), &only_first);
    let workflows = home.registry.workflows();
    let item = items_of(&home, made.batch).into_iter().find(|item| item.id != made.item).expect("one").id;
    home.registry
        .write(move |tx| items::request(tx, workflows.as_ref(), Scope::System, item, Request::Hold, "ann"))
        .expect("holds");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Processing);
    let workflows = home.registry.workflows();
    home.registry
        .write(move |tx| items::request(tx, workflows.as_ref(), Scope::System, item, Request::Release, "ann"))
        .expect("releases");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Completed);
}

/// The names of the receipts of a batch in the restoration store, the first one first.
fn receipts(home: &TestHome, batch: BatchId) -> Vec<String> {
    let mut keys = home.keys("restoration");
    keys.retain(|key| key.contains(&format!("restoration-{batch}")));
    keys.sort_by_key(|key| (key.len(), key.clone()));
    keys
}

/// The items of the objects of a batch, by the names of these; the first stage of the batch alone is worked on.
fn expanded(home: &TestHome, made: BatchRequested, objects: usize) -> Vec<Item> {
    let only_first = || items_of(home, made.batch).len() > objects;
    let runtime = strongroom_engine::build_runtime(home, Some(&["restoration.expand".to_owned()])).expect("a runtime");
    runtime.build().run_until(&Shutdown::new(), &only_first);
    let mut items = items_of(home, made.batch);
    items.retain(|item| item.id != made.item);
    items.sort_by(|one, other| one.object_identifier.cmp(&other.object_identifier));
    items
}

fn at_console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

#[test]
fn a_batch_whose_failed_items_are_requeued_has_a_receipt_of_how_they_ended_then() {
    let home = home_with_collection(&["letters", "diaries"]);
    let diaries = home.object("diaries");
    let damaged = file(&home, &diaries, "data/a.txt");
    let change = || KEPT_IN.into_iter().for_each(|store| damage(&home, &damaged, store));
    change();
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    let [first] = receipts(&home, made.batch).try_into().expect("one receipt");
    let failed = pairs(&[("letters", "succeeded"), ("diaries", "failed")]);
    assert_eq!(outcomes(&receipt(&home.file("restoration", &first))), failed);

    // An object that came later is not of the batch.
    ingest_into_collection(&home, "photographs");
    // The same change undoes it.
    change();
    app::batches::steer(&at_console(&home), made.batch, Ask::Requeue(None), None).expect("requeues");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert_eq!(state(&home, made.batch), BatchState::Completed);
    let [earlier, later] = receipts(&home, made.batch).try_into().expect("two receipts");
    assert_eq!(outcomes(&receipt(&home.file("restoration", &earlier))), failed, "it was true");
    let later = receipt(&home.file("restoration", &later));
    assert_eq!(outcomes(&later), pairs(&[("letters", "succeeded"), ("diaries", "succeeded")]));
    assert_eq!((&later["total"], &later["succeeded"]), (&Value::from(2), &Value::from(2)));
}

#[test]
fn an_item_of_a_batch_that_is_requeued_before_the_receipt_is_written_makes_no_second_one() {
    let home = home_with_collection(&["letters", "diaries"]);
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    let items = expanded(&home, made, 2);
    let call = at_console(&home);
    app::items::steer(&call, &[items[0].id], Ask::Cancel, None).expect("cancels");
    app::items::steer(&call, &[items[0].id], Ask::Requeue(None), None).expect("requeues");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    let [only] = receipts(&home, made.batch).try_into().expect("one receipt");
    let all = pairs(&[("letters", "succeeded"), ("diaries", "succeeded")]);
    assert_eq!(outcomes(&receipt(&home.file("restoration", &only))), all);
}

#[test]
fn a_receipt_names_no_result_that_was_removed_before_it_was_written() {
    let home = home_with_collection(&["letters", "diaries"]);
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    let [diaries, letters]: [Item; 2] = expanded(&home, made, 2).try_into().expect("two items");
    let call = at_console(&home);
    app::items::steer(&call, &[diaries.id], Ask::Hold, None).expect("holds");
    work_on(&home.home, &[letters.id], &Shutdown::new()).expect("works");
    home.clock.advance(Duration::from_hours(24 * 31));
    assert_eq!(strongroom_engine::restoration::expire(&home, &Shutdown::new()).expect("expires").removed, 1);
    app::items::steer(&call, &[diaries.id], Ask::Release, None).expect("releases");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    let [key] = receipts(&home, made.batch).try_into().expect("one receipt");
    let receipt = receipt(&home.file("restoration", &key));
    assert_eq!(outcomes(&receipt), pairs(&[("letters", "succeeded"), ("diaries", "succeeded")]));
    let objects = receipt["objects"].as_array().expect("objects");
    let of =
        |name: &str| objects.iter().find(|one| one["object"] == format!("{INSTITUTION}/{name}")).expect("the object");
    assert!(of("letters")["name"].is_null() && of("letters")["sha256"].is_null(), "{receipt}");
    assert_eq!(of("letters")["note"], "the result was removed when its time had ended");
    assert!(of("diaries")["name"].is_string(), "{receipt}");
    assert_eq!(receipt["bytes"], of("diaries")["size"], "of what is there");
}

#[test]
fn a_receipt_counts_no_item_that_was_cancelled_behind_its_last_byte() {
    let home = home_with_collection(&["letters", "diaries"]);
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    let [diaries, letters]: [Item; 2] = expanded(&home, made, 2).try_into().expect("two items");
    let call = at_console(&home);
    app::items::steer(&call, &[diaries.id], Ask::Hold, None).expect("holds");
    work_on(&home.home, &[letters.id], &Shutdown::new()).expect("works");
    // As where its worker met the cancellation at the end of the stage, when the result was recorded.
    home.change_rows(
        "-- name: change\nUPDATE work_items SET status = 'cancelled' WHERE object_identifier LIKE '%/letters' \
         AND action = 'restore_object'",
    );
    app::items::steer(&call, &[diaries.id], Ask::Release, None).expect("releases");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    let [key] = receipts(&home, made.batch).try_into().expect("one receipt");
    let receipt = receipt(&home.file("restoration", &key));
    assert_eq!(outcomes(&receipt), pairs(&[("letters", "cancelled"), ("diaries", "succeeded")]));
    assert_eq!((&receipt["total"], &receipt["succeeded"]), (&Value::from(2), &Value::from(1)));
    let objects = receipt["objects"].as_array().expect("objects");
    let cancelled = objects.iter().find(|one| one["outcome"] == "cancelled").expect("the object");
    assert!(cancelled["name"].is_null() && cancelled["size"].is_null(), "{cancelled}");
}

#[test]
fn a_receipt_that_is_put_again_after_a_kill_counts_what_it_names() {
    let home = home_with_collection(&["letters", "diaries"]);
    let made = request_collection(&home, &of_collection(RestorationTarget::RestorationStore)).expect("asks");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    // What came of it, but for the time until which the receipt stays.
    let told = || {
        let item = home.registry.read(|tx| items::find(tx, Scope::System, made.item)).expect("the item");
        let note = item.note.expect("a note");
        note.split_once(", stays").map(|(told, _)| told.to_owned()).expect("it is in the restoration store")
    };
    let before = told();
    // As where the process was killed between the put and its record.
    home.change_rows("-- name: change\nUPDATE restored SET state = 'putting' WHERE key LIKE '%/restoration-%'");
    home.change_rows(
        "-- name: change\nUPDATE work_items SET status = 'failed', stage = 'receipt' WHERE action = 'restore_batch'",
    );
    app::items::steer(&at_console(&home), &[made.item], Ask::Requeue(None), None).expect("requeues");
    work_on_batch(&home.home, made.batch, &Shutdown::new()).expect("works");
    assert!(before.starts_with("2 of 2 objects restored"), "{before}");
    assert_eq!(told(), before, "the same receipt");
    let [_] = receipts(&home, made.batch).try_into().expect("one receipt");
}

/// How many objects are noted of which no work items are made yet.
fn entries(home: &TestHome) -> u64 {
    let statements =
        strongroom_registry::statements().with("-- name: entries\nSELECT count(*) AS rows FROM restoration_entries");
    let database: Box<dyn strongroom_database::Database> = Box::new(home.database(statements));
    let row = database.read(|tx| tx.query_one(strongroom_database::Statement("entries"), &[])).expect("counts");
    row.expect("a row").count("rows").expect("a count")
}
