//! Bags in parts: each is taken in by itself, and the object tells what is missing until all are in.

use strongroom_engine::rebuild;
use strongroom_engine::restoration::{self, RestorationTarget, RestoreRequest};
use strongroom_engine::workflow::Workflows;
use strongroom_registry::items::Request;
use strongroom_registry::objects::Object;
use strongroom_registry::{Parts, parts, versions};

use super::*;
use crate::fixture;
use crate::rebuild::{all_events, copy_stores, dump, rebuilt};

/// Puts a part into the receiving store, with one file of its own.
fn upload_part(home: &TestHome, name: &str, text: &str) {
    let file = format!("{name}.txt");
    upload(home, name, &[(&file, text.as_bytes())]);
}

fn parts_of(home: &strongroom_engine::Home, object: &Object) -> Option<Parts> {
    home.registry.read(|tx| parts::at(tx, object.id, object.generation, object.head)).expect("parts")
}

fn told(home: &TestHome, name: &str) -> String {
    parts_of(home, &home.object(name)).map_or_else(String::new, |all| all.to_string())
}

fn payload(home: &TestHome, name: &str) -> Vec<String> {
    let object = home.object(name);
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/data/", "", 100));
    files.expect("files").into_iter().map(|file| file.path["deposit/data/".len()..].to_owned()).collect()
}

fn note_of(home: &TestHome, name: &str) -> String {
    let item = all_items(home).into_iter().rfind(|item| item.name == name).expect("its item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    item.note.unwrap_or_default()
}

#[test]
fn parts_become_one_object_in_whatever_order_they_come() {
    let home = home();
    upload_part(&home, "letters.b02.of03", "two");
    settle(&home);
    work(&home);
    assert_eq!(
        note_of(&home, "letters.b02.of03.tar"),
        "version 1 is published: part 2 of 3, incomplete: parts 1, 3 missing"
    );
    assert_eq!(told(&home, "letters"), "incomplete: parts 1, 3 missing");
    let [listed] = uploads(&home).try_into().expect("one upload");
    assert_eq!(
        (listed.state, listed.part.map(|part| part.to_string())),
        (UploadState::Removed, Some("part 2 of 3".into()))
    );

    // Two at once, spelled in other ways.
    upload_part(&home, "letters.B3.OF3", "three");
    upload_part(&home, "letters.b001.of003", "one");
    assert_eq!(settle(&home).submitted, 2);
    work(&home);
    assert_eq!(told(&home, "letters"), "complete");
    assert_eq!(payload(&home, "letters"), ["letters.B3.OF3.txt", "letters.b001.of003.txt", "letters.b02.of03.txt"]);
    assert_eq!(home.object("letters").head, 3);
    assert_eq!(all_items(&home).len(), 3);
    assert!(home.keys("receiving").is_empty());
    assert!(home.keys("staging").is_empty());
    let found = all_events(&home, &home.object("letters"));
    let details: Vec<_> = found
        .iter()
        .filter(|event| event.kind == "ingestion" && event.file.is_none())
        .filter_map(|event| event.detail.clone())
        .collect();
    assert!(details.contains(&"a version was made from part 2 of 3 of the object".to_owned()), "{details:?}");
}

#[test]
fn parts_are_at_work_together_and_neither_cancels_another() {
    let home = home();
    for number in 1..=3 {
        upload_part(&home, &format!("letters.b{number}.of3"), "text");
    }
    assert_eq!(settle(&home).submitted, 3);
    work_until_read(&home);
    let stages: Vec<_> = all_items(&home).into_iter().map(|item| (item.status, item.stage)).collect();
    assert_eq!(stages, [(ItemStatus::Pending, Stage::named("validate")); 3], "none waited for another");
    // A newer upload of one of them takes nothing from the others.
    upload_part(&home, "letters.b2.of3", "another text");
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    let statuses: Vec<_> = all_items(&home).into_iter().map(|item| item.status).collect();
    assert_eq!(statuses, [ItemStatus::Succeeded; 4]);
    assert_eq!((home.object("letters").head, told(&home, "letters").as_str()), (4, "complete"));
}

#[test]
fn a_newer_upload_takes_the_place_of_the_same_part_only() {
    let home = home();
    for number in 1..=2 {
        upload_part(&home, &format!("letters.b{number}.of2"), "text");
    }
    settle(&home);
    upload_part(&home, "letters.b2.of2", "another text");
    assert_eq!(settle(&home).submitted, 1);
    let statuses: Vec<_> = all_items(&home).into_iter().map(|item| (item.name, item.status)).collect();
    assert_eq!(
        statuses,
        [
            ("letters.b1.of2.tar".to_owned(), ItemStatus::Pending),
            ("letters.b2.of2.tar".to_owned(), ItemStatus::Cancelled),
            ("letters.b2.of2.tar".to_owned(), ItemStatus::Pending),
        ]
    );
    work(&home);
    assert_eq!((home.object("letters").head, told(&home, "letters").as_str()), (2, "complete"));
}

#[test]
fn a_part_that_is_not_valid_is_invalid_alone() {
    let home = home();
    upload_part(&home, "letters.b1.of2", "one");
    upload_part(&home, "letters.b2.of2", "two!");
    let path = place(&home, "letters.b2.of2.tar");
    let good = fs::read(&path).expect("a bag");
    let mut damaged = good.clone();
    let at = damaged.windows(4).position(|four| four == b"two!").expect("the payload");
    damaged[at] ^= 1;
    fs::write(&path, damaged).expect("damages it");
    settle(&home);
    work(&home);
    look(&home);
    assert_eq!(state(&home, &key("letters.b1.of2.tar")), UploadState::Removed);
    assert_eq!(state(&home, &key("letters.b2.of2.tar")), UploadState::Invalid);
    assert_eq!(told(&home, "letters"), "incomplete: part 2 missing");
    fs::write(&path, good).expect("corrects it");
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    assert_eq!(told(&home, "letters"), "complete");
    assert_eq!(payload(&home, "letters").len(), 2);
}

#[test]
fn a_part_that_brings_nothing_new_completes_the_object_all_the_same() {
    let home = home();
    let files: [(&str, &[u8]); 1] = [("same.txt", b"the same")];
    // Equal but for the name.
    for (name, head, epoch) in [
        ("letters.b1.of2", 1, "incomplete: part 2 missing"),
        ("letters.b1.of2", 1, "incomplete: part 2 missing"),
        ("letters.b2.of2", 2, "complete"),
    ] {
        let bag = place(&home, &format!("{name}.tar"));
        plain_bag(&bag, Serialization::Tar, &files);
        settle(&home);
        work(&home);
        assert!(note_of(&home, &format!("{name}.tar")).ends_with(epoch));
        assert_eq!((home.object("letters").head, told(&home, "letters").as_str()), (head, epoch), "{name}");
    }
}

#[test]
fn another_total_begins_another_set_and_a_whole_says_nothing_of_parts() {
    let home = home();
    for (name, epoch) in [
        ("letters.b1.of2", "incomplete: part 2 missing"),
        ("letters", "incomplete: part 2 missing"),
        ("letters.b3.of3", "incomplete: parts 1, 2 missing"),
        ("letters.b2.of2", "complete"),
        ("letters.b1.of1", "complete"),
    ] {
        upload_part(&home, name, name);
        settle(&home);
        work(&home);
        assert_eq!(told(&home, "letters"), epoch, "{name}");
    }
    assert_eq!(home.object("letters").head, 5);
}

#[test]
fn a_name_with_numbers_that_cannot_be_is_left_alone_and_says_why() {
    let home = home();
    for name in ["letters.b0.of2", "letters.b3.of2", "letters.b1.of10001"] {
        upload_part(&home, name, name);
    }
    assert_eq!(settle(&home).submitted, 0);
    for upload in uploads(&home) {
        assert_eq!(upload.state, UploadState::NotABag);
        let note = upload.note.unwrap_or_default();
        assert!(note.starts_with("its name cannot be that of a part: it says that it is part "), "{note}");
        assert_eq!(upload.part, None);
    }
    let request = strongroom_engine::ingest::DepositRequest {
        sources: vec![strongroom_engine::ingest::PackageSource::LocalPath(place(&home, "letters.b3.of2.tar"))],
        ..strongroom_engine::ingest::DepositRequest::of_system(INSTITUTION)
    };
    let refused = strongroom_engine::ingest::deposit(&home, &request).expect_err("cannot be");
    assert!(refused.to_string().contains("above the number of parts"), "{refused}");
    assert!(all_items(&home).is_empty());
}

#[test]
fn parts_of_a_new_object_that_ask_for_different_placements_go_where_the_first_went() {
    let home = home();
    for (number, option) in [(1, "Standard"), (2, "Wasabi-OR")] {
        let name = format!("letters.b{number}.of2");
        let bag = home.bag_for(option, &name, &[(&format!("{number}.txt"), b"text")]);
        fs::rename(bag, place(&home, &format!("{name}.tar"))).expect("puts it there");
    }
    settle(&home);
    // Neither knows of the other when it is decided where they belong.
    work_until(&home, Stage::named("compare"));
    work(&home);
    assert_eq!(told(&home, "letters"), "complete");
    let object = home.object("letters");
    let placement = object.description.placement.expect("a placement");
    let found = home.registry.read(|tx| versions::list(tx, object.id, object.generation, false)).expect("versions");
    assert!(found.iter().all(|version| version.description.placement.as_ref() == Some(&placement)), "{found:?}");
    let warned = all_items(&home).into_iter().filter(|item| {
        let problems = home.registry.read(|tx| items::problems(tx, Scope::System, item.id, 10)).expect("problems");
        problems.iter().any(|problem| problem.code == "deposit.placement_kept")
    });
    assert_eq!(warned.count(), 1);
}

#[test]
fn a_part_that_stops_while_it_is_written_keeps_no_other_waiting_and_goes_on_behind_it() {
    let home = home();
    upload_part(&home, "letters.b1.of2", "one");
    settle(&home);
    work_until(&home, Stage::named("verify"));
    let [first] = all_items(&home).try_into().expect("one item");
    let ask = |request: Request| {
        let topics = home
            .registry
            .write(move |tx| items::request(tx, &Workflows::standard(), Scope::System, first.id, request, "a person"));
        topics.expect("is done");
    };
    ask(Request::Hold);
    upload_part(&home, "letters.b2.of2", "two");
    settle(&home);
    let second = all_items(&home)[1].id;
    work_on(&home, &[second], &Shutdown::new()).expect("works");
    assert_eq!(told(&home, "letters"), "incomplete: part 1 missing");
    ask(Request::Release);
    work(&home);
    assert_eq!(told(&home, "letters"), "complete");
    assert_eq!(payload(&home, "letters"), ["letters.b1.of2.txt", "letters.b2.of2.txt"]);
    assert_eq!(home.object("letters").head, 2);
    assert!(home.keys("staging").is_empty());
    for store in fixture::KEPT_IN {
        let fresh = fixture::home();
        copy_stores(&home, &fresh);
        let summary = rebuilt(&fresh, store);
        assert!(summary.is_complete(), "{:?}", summary.problems);
        assert_eq!(dump(&fresh, &fixture::KEPT_IN), dump(&home, &fixture::KEPT_IN));
    }
}

#[test]
fn a_registry_made_from_a_store_knows_the_parts_and_takes_the_missing_one() {
    let used = home();
    for number in [3, 1] {
        used.ingest("whole", &[("a.txt", number.to_string().as_bytes())]);
        upload_part(&used, &format!("letters.b{number}.of3"), &number.to_string());
        settle(&used);
        work(&used);
    }
    for store in fixture::KEPT_IN {
        let fresh = fixture::home();
        copy_stores(&used, &fresh);
        let summary = rebuilt(&fresh, store);
        assert!(summary.is_complete(), "{:?}", summary.problems);
        assert_eq!(dump(&fresh, &fixture::KEPT_IN), dump(&used, &fixture::KEPT_IN));
        let object = fresh.object("letters");
        assert_eq!(all_events(&fresh, &object), all_events(&used, &object));
        for version in 1..=object.head {
            let at = |home: &TestHome| {
                let found = home.registry.read(|tx| parts::at(tx, object.id, object.generation, version));
                found.expect("parts")
            };
            assert_eq!(at(&fresh), at(&used), "version {version}");
            assert!(at(&fresh).is_some());
        }
        assert_eq!(told(&fresh, "letters"), "incomplete: part 2 missing");
        assert_eq!(told(&fresh, "whole"), "");
        // Until what the other store knows has been looked at, nothing can be written.
        rebuild::adopt(&fresh, &rebuild::AdoptRequest::default(), &mut |_| {}).expect("adopts");
        upload_part(&fresh, "letters.b2.of3", "2");
        settle(&fresh);
        work(&fresh);
        assert_eq!(told(&fresh, "letters"), "complete");
    }
}

#[test]
fn a_registry_from_a_backup_takes_up_the_parts_that_came_in_since() {
    let used = home();
    upload_part(&used, "letters.b1.of3", "1");
    settle(&used);
    work(&used);
    let backup = used.backup("before");
    upload_part(&used, "letters.b3.of3", "3");
    settle(&used);
    work(&used);
    let now = (parts_of(&used, &used.object("letters")), dump(&used, &fixture::KEPT_IN));
    let restored = used.restored(&backup);
    assert_eq!(told(&restored, "letters"), "incomplete: parts 2, 3 missing");
    let opened = restored.opened_to_adopt();
    let summary = rebuild::adopt(&opened, &rebuild::AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert!(summary.is_complete(), "{:?}", summary.problems);
    assert_eq!((parts_of(&opened, &restored.object("letters")), dump(&opened, &fixture::KEPT_IN)), now);
}

#[test]
fn an_object_that_is_incomplete_is_given_back_and_says_so() {
    let home = home();
    for (number, said) in [(1, ", incomplete: part 2 missing; its manifests"), (2, "; its manifests")] {
        upload_part(&home, &format!("letters.b{number}.of2"), "text");
        settle(&home);
        work(&home);
        let to = home.path().join(format!("back {number}"));
        fs::create_dir_all(&to).expect("a folder");
        let request = RestoreRequest {
            target: RestorationTarget::Folder(to.clone()),
            ..RestoreRequest::of_system("test.edu/letters")
        };
        let id = restoration::request_object(&home, &request).expect("asks");
        work_on(&home, &[id], &Shutdown::new()).expect("works");
        let item = home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        let note = item.note.unwrap_or_default();
        assert!(note.starts_with(&format!("version {number} restored as a bag{said}")), "{note}");
        let report = strongroom_bagit::validate(&to.join("letters.tar"), &strongroom_bagit::CheckOptions::default());
        let report = report.expect("reads the bag");
        assert_eq!(report.verdict, strongroom_bagit::Verdict::Valid, "{:?}", report.problems);
    }
}
