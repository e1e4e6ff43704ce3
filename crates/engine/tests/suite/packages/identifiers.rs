//! Which object a deposit is of.

use std::sync::{Arc, Barrier};

use strongroom_database::testing::Scratch;
use strongroom_engine::ingest::{DepositMode, DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::{Home, build_runtime};
use strongroom_registry::items::{self, Request};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{ItemStatus, Scope, Stage, versions};
use tempfile::TempDir;

use super::world::{SINGLE_FILES, World, contents, manifest, zip};
use crate::fixture::{self, INSTITUTION, KEPT_IN};
use crate::installation;
use crate::rebuild::{copy_stores, rebuilt};

const ARK: &str = "ark:/99999/fk4dummy";

fn local(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

fn with_ids(world: &World, name: &str, bytes: &str, ids: &[&str]) -> DepositRequest {
    DepositRequest { local_ids: local(ids), ..world.request(world.write(name, bytes)) }
}

/// Two deposits of one local identifier, submitted at the same time from two threads; then both are worked on.
fn race(home: &Arc<Home>, packages: &TempDir) -> (Vec<Object>, Vec<u64>) {
    let barrier = Barrier::new(2);
    let made: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = ["one", "two"]
            .map(|text| {
                let path = packages.path().join(format!("{text}.txt"));
                std::fs::write(&path, text).expect("writes");
                let request = DepositRequest {
                    local_ids: local(&["letter 7"]),
                    sources: vec![PackageSource::LocalPath(path)],
                    mode: Some(DepositMode::Merge),
                    ..DepositRequest::of_system(INSTITUTION)
                };
                let (home, barrier) = (home.clone(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    deposit(&home, &request).expect("is submitted").items
                })
            })
            .into();
        threads.into_iter().flat_map(|thread| thread.join().expect("ends")).collect()
    });
    // Each is worked on by a thread of its own, as in two processes.
    std::thread::scope(|scope| {
        for item in &made {
            scope.spawn(move || strongroom_engine::work_on(home, &[*item], &Shutdown::new()).expect("works"));
        }
    });
    let mut by_version = Vec::new();
    for id in made {
        let item = home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        by_version.push(item.version.expect("a version"));
    }
    by_version.sort_unstable();
    (crate::rebuild::all_objects(home), by_version)
}

#[test]
fn i07_two_deposits_of_one_local_identifier_at_the_same_time_make_one_object_with_two_versions() {
    for _ in 0..5 {
        let home = fixture::home();
        let packages = TempDir::new().expect("a folder");
        let (objects, made) = race(&home.home, &packages);
        assert_eq!((objects.len(), objects[0].head, made), (1, 2, vec![1, 2]));
        assert_eq!(objects[0].description.local_ids, ["letter 7"]);
    }
}

#[test]
fn i07_two_deposits_of_one_local_identifier_at_the_same_time_make_one_object_on_postgresql() {
    for _ in 0..3 {
        let Some(scratch) = Scratch::new() else { return };
        let folder = TempDir::new().expect("a folder");
        installation::make_stores(folder.path());
        let text = format!("[registry]\nurl = \"{}\"\n", scratch.url()) + &installation::settings();
        let home = Home::open(folder.path(), Settings::from_toml(&text).expect("settings")).expect("opens");
        installation::add_institution(&home.registry);
        let packages = TempDir::new().expect("a folder");
        let home = Arc::new(home);
        let (objects, made) = race(&home, &packages);
        assert_eq!((objects.len(), objects[0].head, made), (1, 2, vec![1, 2]));
        let published = home.registry.read(|tx| versions::list(tx, objects[0].id, objects[0].generation, false));
        let numbers: Vec<u64> = published.expect("versions").iter().map(|version| version.number).collect();
        assert_eq!(numbers, [1, 2]);
    }
}

#[test]
fn a_local_identifier_finds_its_object_whatever_the_package_is_called() {
    let world = World::new();
    let first = world.ingest(&with_ids(&world, "scan-1.tif", "one", &["letter 7"]));
    let second = world.ingest(&with_ids(&world, "scan-2.tif", "two", &["letter 7"]));
    assert_eq!((second.id, second.head), (first.id, 2));
    assert_eq!(world.deposited(&second, 2), contents(&[("scan-2.tif", b"two")]));
}

#[test]
fn local_identifiers_are_trimmed_and_count_once_in_the_order_in_which_they_are_given() {
    let world = World::new();
    let object = world.ingest(&with_ids(&world, "a.txt", "one", &["a; a ;;b", "a"]));
    assert_eq!(object.description.local_ids, ["a", "b"]);
}

#[test]
fn an_identifier_that_is_given_empty_is_refused() {
    let world = World::new();
    for id in ["", " ", ";"] {
        let refused = world.submit(&with_ids(&world, "a.txt", "one", &[id])).expect_err("it is empty").to_string();
        assert!(refused.contains("the local id is empty"), "{refused}");
    }
    let named = DepositRequest { primary_id: Some(String::new()), ..world.request(world.write("a.txt", "one")) };
    let refused = world.submit(&named).expect_err("it is empty").to_string();
    assert!(refused.contains("the primary id is empty"), "{refused}");
    assert_eq!(world.objects(), Vec::<String>::new());
}

#[test]
fn a_version_of_an_object_that_is_only_called_alike_is_told_as_one() {
    let world = World::new();
    let note = |path: std::path::PathBuf| world.deposit(&world.request(path)).pop().and_then(|item| item.note);
    assert_eq!(note(world.write("A/scan.tif", "one")).as_deref(), Some("version 1 is published"));
    assert_eq!(note(world.write("A/scan.tif", "new")).as_deref(), Some("version 2 is published"), "the same again");
    let other = note(world.write("B/scan.tif", "two")).unwrap_or_default();
    assert!(other.starts_with(&format!("version 3 is published of {INSTITUTION}/scan.tif, which existed")), "{other}");
    assert!(other.contains("--local-id"), "{other}");
    let named = with_ids(&world, "C/photo.tif", "one", &["photo"]);
    world.ingest(&named);
    let again = world.deposit(&with_ids(&world, "D/photo.tif", "two", &["photo"])).pop().and_then(|item| item.note);
    assert_eq!(again.as_deref(), Some("version 2 is published"));
}

#[test]
fn a_primary_identifier_that_contradicts_a_local_one_is_refused_and_nothing_is_made() {
    let world = World::new();
    world.ingest(&with_ids(&world, "a.txt", "one", &["letter 7"]));
    world.ingest(&DepositRequest { primary_id: Some(ARK.into()), ..world.request(world.write("b.txt", "two")) });
    world
        .ingest(&DepositRequest { primary_id: Some("diaries".into()), ..world.request(world.write("c.txt", "three")) });
    let before = world.objects();
    for primary in [ARK, "diaries"] {
        let request = with_ids(&world, "d.txt", "four", &["letter 7", "a new one"]);
        let refused = world.submit(&DepositRequest { primary_id: Some(primary.into()), ..request });
        let text = refused.expect_err("they contradict each other").to_string();
        assert!(text.contains("letter 7") && text.contains("different objects"), "{text}");
    }
    assert_eq!(world.objects(), before);
    // The refusal says nothing of the other identifier.
    let object = world.ingest(&with_ids(&world, "e.txt", "five", &["a new one"]));
    assert_eq!(object.head, 1);
}

const ERC: &str = "erc:\nwho: Ada\nwhat: Notes\nwhen: 1843\nwhere: ark:/99999/fk4dummy\nwhere: localid;localidtwo\nwhere: localidthree\n";

#[test]
fn an_erc_in_a_container_gives_the_ark_and_its_local_identifiers_come_after_those_of_the_form() {
    let world = World::new();
    let path = world.write("notes.zip", zip(&[("mrt-erc.txt", ERC.as_bytes()), ("a.txt", b"one")]));
    let request = DepositRequest { local_ids: local(&["localidfour;localidfive"]), ..world.request(path) };
    let object = world.ingest(&request);
    assert_eq!(object.ark.as_deref(), Some(ARK));
    let mut ids = object.description.local_ids.clone();
    ids.sort();
    assert_eq!(ids, ["localid", "localidfive", "localidfour", "localidthree", "localidtwo"]);
    let erc = String::from_utf8(world.below(&object, 1, "metadata/v1/")["erc.txt"].clone()).expect("UTF-8");
    let wheres: Vec<&str> = erc.lines().filter_map(|line| line.strip_prefix("where: ")).collect();
    assert_eq!(wheres, [ARK, "localidfour", "localidfive", "localid", "localidtwo", "localidthree"]);
    assert_eq!(object.description.title.as_deref(), Some("Notes"));
    // Each of them finds the object from now on, and so does the ARK.
    for id in ["localidtwo", "localidfive"] {
        assert_eq!(world.ingest(&with_ids(&world, "b.txt", id, &[id])).id, object.id, "{id}");
    }
    let by_ark = DepositRequest { primary_id: Some(ARK.into()), ..world.request(world.write("c.txt", "by ark")) };
    assert_eq!(world.ingest(&by_ark).id, object.id);
}

#[test]
fn an_erc_that_names_the_identifiers_of_a_known_object_makes_a_version_of_it() {
    let world = World::new();
    let first = world.ingest(&with_ids(&world, "a.txt", "one", &["localidtwo"]));
    let path = world.write("notes.zip", zip(&[("mrt-erc.txt", ERC.as_bytes()), ("b.txt", b"two")]));
    let second = world.ingest(&world.request(path));
    assert_eq!((second.id, second.head, second.ark.as_deref()), (first.id, 2, Some(ARK)));
    assert_eq!(world.objects().len(), 1, "{:?}", world.objects());
}

#[test]
fn an_erc_that_contradicts_what_the_depositor_says_fails_the_item_and_nothing_is_made() {
    let world = World::new();
    let path = world.write("notes.zip", zip(&[("mrt-erc.txt", ERC.as_bytes()), ("b.txt", b"two")]));
    let request = DepositRequest { primary_id: Some("ark:/99999/fk4other".into()), ..world.request(path.clone()) };
    let item = world.deposit(&request).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    assert_eq!(world.codes(item.id), ["deposit.identifiers_contradict"]);
    assert_eq!(world.objects(), Vec::<String>::new());
    // Two objects of which it names an identifier each.
    world.ingest(&with_ids(&world, "c.txt", "three", &["localid"]));
    world.ingest(&with_ids(&world, "d.txt", "four", &["localidtwo"]));
    let item = world.deposit(&world.request(path)).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    assert_eq!(world.codes(item.id), ["deposit.identifiers_contradict"]);
    assert_eq!(world.objects().len(), 2);
    // What else it named is free: the deposit failed.
    assert_eq!(world.ingest(&with_ids(&world, "e.txt", "five", &["localidthree"])).head, 1);
    assert_eq!(world.objects().len(), 3);
}

#[test]
fn the_claim_of_a_deposit_that_failed_does_not_bind() {
    let world = World::new();
    let broken = |name: &str| world.write(name, "no archive");
    // Of an object that there is not.
    let failing = DepositRequest { local_ids: local(&["a"]), ..world.request(broken("broken.zip")) };
    assert_eq!(world.deposit(&failing)[0].status, ItemStatus::Failed);
    let named = DepositRequest { primary_id: Some("first".into()), ..with_ids(&world, "a.txt", "one", &["a"]) };
    assert_eq!(world.ingest(&named).identifier, "test.edu/first");
    // Of an object that there is: it does not get the identifier of a deposit that failed.
    let failing = DepositRequest {
        primary_id: Some("first".into()),
        local_ids: local(&["b"]),
        ..world.request(broken("broken again.zip"))
    };
    assert_eq!(world.deposit(&failing)[0].status, ItemStatus::Failed);
    let named = DepositRequest { primary_id: Some("second".into()), ..with_ids(&world, "b.txt", "two", &["b"]) };
    assert_eq!(world.ingest(&named).identifier, "test.edu/second");
    assert_eq!(world.object("first").head, 1);
}

#[test]
fn a_deposit_that_is_requeued_takes_no_identifier_back_that_is_another_objects_by_now() {
    for id in [("box 7", None), ("", Some(ARK))] {
        let world = World::new();
        let named = |name: &str| {
            let request = with_ids(&world, &format!("{name}.txt"), name, &[id.0]);
            match id.1 {
                // An ARK is the primary identifier, so that the name is that of a local one.
                Some(ark) => DepositRequest { primary_id: Some(ark.into()), local_ids: local(&[name]), ..request },
                None => DepositRequest { primary_id: Some(name.into()), ..request },
            }
        };
        let first = world.submit(&named("foo")).expect("is submitted");
        let compare = Stage::named("compare");
        let runtime =
            build_runtime(&world.home.home, Some(&fixture::topics_before(compare))).expect("a runtime").build();
        runtime.run_until(&Shutdown::new(), &|| fixture::has_reached(&world.item(first.items[0]), compare));
        world.ask(first.items[0], Request::Cancel);
        let kept = world.ingest(&named("bar"));
        world.ask(first.items[0], Request::Requeue(None));
        let items = world.work(first.batch);
        let item = items.last().expect("the item");
        if item.status == ItemStatus::Succeeded {
            // It is a version of the object that has the identifier.
            assert_eq!((item.object, world.objects().len()), (Some(kept.id), 1), "{:?}", item.note);
        } else {
            assert_eq!((item.status, world.objects().len()), (ItemStatus::Failed, 1), "{:?}", item.note);
            assert_eq!(world.codes(item.id), ["deposit.identifiers_contradict"], "{:?}", item.note);
        }
    }
}

#[test]
fn a_bag_that_changes_nothing_but_names_a_new_identifier_makes_a_version_that_has_it() {
    let world = World::new();
    let bag = world.home.bag("letters", &[("a.txt", b"one")]);
    let request = |ids: &[&str]| DepositRequest {
        local_ids: local(ids),
        sources: vec![PackageSource::LocalPath(bag.clone())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let first = world.ingest(&request(&[]));
    let second = world.ingest(&request(&["box 9"]));
    assert_eq!((second.id, second.head), (first.id, 2));
    let third = world.ingest(&DepositRequest { mode: Some(DepositMode::Merge), ..request(&["box 9"]) });
    assert_eq!((third.id, third.head), (first.id, 2), "it is known by now");
}

#[test]
fn a_deposit_that_waits_for_a_person_keeps_its_claim() {
    let world = World::new();
    let held = world.submit(&with_ids(&world, "a.txt", "one", &["a"])).expect("is submitted");
    world.ask(held.items[0], Request::Hold);
    let named = DepositRequest { primary_id: Some("other".into()), ..with_ids(&world, "b.txt", "two", &["a"]) };
    assert!(world.submit(&named).is_err());
    let second = world.submit(&with_ids(&world, "c.txt", "three", &["a"])).expect("is submitted");
    world.ask(held.items[0], Request::Release);
    world.work(held.batch);
    world.work(second.batch);
    assert_eq!(world.object("a").head, 2);
}

#[test]
fn the_local_identifiers_of_rows_are_theirs_alone() {
    let world = World::new();
    world.serve(&[("1.tif", b"one"), ("2.tif", b"two"), ("3.tif", b"three")]);
    let row = |file: &str, primary: &str, ids: &str| {
        format!("{} | | | | | {file} | {primary} | {ids} | | Title of {file} |", world.web.url(&format!("/{file}")))
    };
    let rows = [row("1.tif", "", "x;y"), row("2.tif", ARK, ""), row("3.tif", "", "z")];
    let items = world.deposit(&world.request(world.write("list.checkm", manifest(SINGLE_FILES, &rows))));
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    let objects = crate::rebuild::all_objects(&world.home);
    assert_eq!(objects.len(), 3);
    for (title, ids, ark) in [
        ("Title of 1.tif", vec!["x", "y"], None),
        ("Title of 2.tif", vec![], Some(ARK)),
        ("Title of 3.tif", vec!["z"], None),
    ] {
        let object =
            objects.iter().find(|object| object.description.title.as_deref() == Some(title)).expect("an object");
        assert_eq!((&object.description.local_ids, object.ark.as_deref()), (&local(&ids), ark), "{title}");
    }
    // The same list again makes further versions of the same objects, or none where nothing changed.
    world.web.put("/3.tif", "three, changed");
    let items = world.deposit(&world.request(world.path("list.checkm")));
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    let heads: Vec<u64> = crate::rebuild::all_objects(&world.home).iter().map(|object| object.head).collect();
    assert_eq!((heads.len(), heads.iter().sum::<u64>()), (3, 4));
}

#[test]
fn rows_without_identifiers_never_become_versions_of_other_objects() {
    let world = World::new();
    let known = world.ingest(&world.request(world.write("1.tif", "known")));
    world.web.put("/a/1.tif", "one");
    world.web.put("/b/1.tif", "two");
    let rows = ["/a/1.tif", "/b/1.tif"].map(|path| format!("{} | | | | | 1.tif | | | | |", world.web.url(path)));
    for deposits in 1..=2 {
        let items = world.deposit(&world.request(world.write("list.checkm", manifest(SINGLE_FILES, &rows))));
        assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
        let objects = crate::rebuild::all_objects(&world.home);
        assert_eq!(objects.len(), 1 + 2 * deposits);
        assert!(objects.iter().all(|object| object.head == 1));
    }
    assert_eq!(world.deposited(&known, 1), contents(&[("1.tif", b"known")]));
}

#[test]
fn a_new_local_identifier_never_makes_a_version_of_an_object_that_is_only_called_so() {
    let world = World::new();
    let known = world.ingest(&world.request(world.write("letters", "known")));
    let other = world.ingest(&with_ids(&world, "a.txt", "one", &["letters"]));
    assert_ne!(other.id, known.id, "{} is not the object with the local id", known.identifier);
    assert_eq!(world.object("letters").head, 1);
}

#[test]
fn a_container_at_a_url_is_of_the_object_of_its_local_identifier_and_of_no_other() {
    let world = World::new();
    let of = |name: &str, ids: &[&str]| DepositRequest { local_ids: local(ids), ..world.request(name) };
    world.serve(&[
        ("notes.zip", &zip(&[("a.txt", b"one")])),
        ("more.zip", &zip(&[("b.txt", b"two")])),
        ("letters.zip", &zip(&[("c.txt", b"three")])),
        ("bag.tar", &std::fs::read(world.home.bag("bag", &[("d.txt", b"four")])).expect("reads")),
    ]);
    let letters = world.ingest(&world.request(world.write("letters", "only called so")));
    let first = world.ingest(&of("/notes.zip", &["box 7"]));
    assert_eq!(first.identifier, "test.edu/box 7", "as from a path");
    let second = world.ingest(&of("/more.zip", &["box 7"]));
    assert_eq!((second.id, second.head), (first.id, 2));
    let third = world.ingest(&with_ids(&world, "c.txt", "three", &["box 7"]));
    assert_eq!((third.id, third.head), (first.id, 3));
    let other = world.ingest(&of("/letters.zip", &["box 8"]));
    assert_ne!(other.id, letters.id);
    assert_eq!(
        (world.object("letters").head, other.description.local_ids.as_slice()),
        (1, local(&["box 8"]).as_slice())
    );
    // A bag names its object itself.
    let bag = world.ingest(&of("/bag.tar", &["box 9"]));
    assert_eq!(
        (bag.identifier.as_str(), bag.description.local_ids.as_slice()),
        ("test.edu/bag", local(&["box 9"]).as_slice())
    );
    assert_eq!(world.ingest(&of("/notes.zip", &["box 8"])).id, other.id);
    assert_eq!(world.objects().len(), 4);
}

#[test]
fn a_deposit_that_came_before_a_container_at_a_url_was_recognized_is_of_the_same_object() {
    let world = World::new();
    world.serve(&[("letters.zip", &zip(&[("a.txt", b"one")]))]);
    let called_so = world.ingest(&world.request(world.write("letters", "only called so")));
    let container = DepositRequest { local_ids: local(&["box 8"]), ..world.request("/letters.zip") };
    let first = world.submit(&container).expect("is submitted");
    let second = world.submit(&with_ids(&world, "b.txt", "two", &["box 8"])).expect("is submitted");
    let ended: Vec<_> = [first, second].into_iter().flat_map(|made| world.work(made.batch)).collect();
    assert!(ended.iter().all(|item| item.status == ItemStatus::Succeeded), "{ended:#?}");
    let of: Vec<_> = ended.iter().map(|item| item.object).collect();
    assert!(of[0].is_some() && of[0] == of[1] && of[0] != Some(called_so.id), "{ended:#?}");
    assert_eq!((world.object("letters").head, world.objects().len()), (1, 2));
}

#[test]
fn a_rebuilt_registry_knows_the_identifiers() {
    let world = World::new();
    let path = world.write("notes.zip", zip(&[("mrt-erc.txt", ERC.as_bytes()), ("a.txt", b"one")]));
    let notes = world.ingest(&world.request(path));
    let letter = world.ingest(&with_ids(&world, "scan.tif", "two", &["letter 7"]));
    let fresh = fixture::home();
    copy_stores(&world.home, &fresh);
    assert!(rebuilt(&fresh, KEPT_IN[0]).is_complete());
    strongroom_engine::rebuild::adopt(&fresh, &strongroom_engine::rebuild::AdoptRequest::default(), &mut |_| {})
        .expect("adopts");
    let fresh = World::of(fresh, strongroom_web_double::WebDouble::start());
    let again = fresh.object("letter 7");
    assert_eq!((again.id, &again.description.local_ids), (letter.id, &letter.description.local_ids));
    let again = fresh.home.registry.read(|tx| objects::find(tx, Scope::System, &notes.identifier)).expect("the object");
    assert_eq!((again.ark.as_deref(), &again.description), (Some(ARK), &notes.description));
    assert_eq!(fresh.ingest(&with_ids(&fresh, "b.txt", "new", &["letter 7"])).id, letter.id);
    assert_eq!(fresh.ingest(&with_ids(&fresh, "c.txt", "new", &["localidthree"])).id, notes.id);
    let by_ark = DepositRequest { primary_id: Some(ARK.into()), ..fresh.request(fresh.write("d.txt", "by ark")) };
    assert_eq!(fresh.ingest(&by_ark).id, notes.id);
}
