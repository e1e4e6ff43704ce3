//! What becomes of the files that an object has already.

use std::collections::BTreeMap;

use strongroom_engine::ingest::{DepositKind, DepositMode, DepositRequest};
use strongroom_ocfl::{ValidateOptions, validate_root};
use strongroom_registry::items::Item;
use strongroom_registry::objects::Object;
use strongroom_registry::{ItemStatus, Layout};
use strongroom_storage::Key;

use super::world::{Files, World, contents};
use crate::fixture::{self, INSTITUTION, KEPT_IN};
use crate::rebuild::{copy_stores, dump, rebuilt};

/// The stores are valid, and a registry that is made from each says the same.
fn check_stores(world: &World) {
    for store in KEPT_IN {
        let root = Key::new(INSTITUTION).expect("a key");
        let opened = world.home.store(store).expect("a store");
        let report = validate_root(opened.as_ref(), &root, &ValidateOptions::default(), &mut |key, report| {
            assert!(report.errors.is_empty(), "{key} in {store}: {:?}", report.errors);
        });
        assert!(report.expect("a report").errors.is_empty(), "{store}");
        let fresh = fixture::home();
        copy_stores(&world.home, &fresh);
        let summary = rebuilt(&fresh, store);
        assert!(summary.is_complete(), "{:?}", summary.problems);
        assert_eq!(dump(&fresh, &KEPT_IN), dump(&world.home, &KEPT_IN), "{store}");
    }
}

/// Deposits a folder of these files as `photos`.
fn request(world: &World, files: Files<'_>, mode: Option<DepositMode>) -> DepositRequest {
    DepositRequest { mode, ..world.request(world.folder("photos", files)) }
}

fn ingest(world: &World, files: Files<'_>, mode: Option<DepositMode>) -> Object {
    world.ingest(&request(world, files, mode))
}

fn refused(world: &World, request: &DepositRequest) -> Item {
    let item = world.deposit(request).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    item
}

const FIRST: Files<'static> = &[("a.txt", b"one"), ("b.txt", b"two"), ("c/d.txt", b"three")];

#[test]
fn a_replacement_has_exactly_what_was_sent_and_earlier_versions_keep_the_rest() {
    for mode in [None, Some(DepositMode::Replace)] {
        let world = World::new();
        ingest(&world, FIRST, mode);
        let second: Files<'_> = &[("b.txt", b"two, changed"), ("e.txt", b"four")];
        let object = ingest(&world, second, mode);
        assert_eq!((object.head, object.files, object.bytes), (2, 2, 16));
        assert_eq!(world.deposited(&object, 1), contents(FIRST));
        assert_eq!(world.deposited(&object, 2), contents(second));
        // What was dropped comes back without new bytes.
        let object = ingest(&world, FIRST, mode);
        assert_eq!((object.head, object.files), (3, 3));
        assert_eq!(world.deposited(&object, 3), contents(FIRST));
        let stored: Vec<u64> = world.files(&object, 3, "deposit/").iter().map(|file| file.stored_in).collect();
        assert_eq!(stored, [1, 1, 1], "bytes that are kept are not stored again");
        check_stores(&world);
    }
}

#[test]
fn a_merge_has_the_version_before_and_what_was_sent() {
    let world = World::new();
    ingest(&world, FIRST, None);
    let object = ingest(&world, &[("b.txt", b"two, changed"), ("e.txt", b"four")], Some(DepositMode::Merge));
    let expected: Files<'_> =
        &[("a.txt", b"one"), ("b.txt", b"two, changed"), ("c/d.txt", b"three"), ("e.txt", b"four")];
    assert_eq!((object.head, object.files), (2, 4));
    assert_eq!(world.deposited(&object, 2), contents(expected));
    assert_eq!(world.deposited(&object, 1), contents(FIRST));
    check_stores(&world);
}

#[test]
fn a_delete_list_takes_paths_out_of_a_merge_whether_it_is_given_or_in_the_package() {
    for is_given in [true, false] {
        let world = World::new();
        ingest(&world, FIRST, None);
        let merge = Some(DepositMode::Merge);
        let object = if is_given {
            let delete = vec!["a.txt".to_owned(), "c/d.txt".to_owned()];
            world.ingest(&DepositRequest { delete, ..request(&world, &[("e.txt", b"four")], merge) })
        } else {
            ingest(&world, &[("e.txt", b"four"), ("mrt-delete.txt", b"a.txt\r\n\nc/d.txt\n")], merge)
        };
        let mut expected = contents(&[("b.txt", b"two"), ("e.txt", b"four")]);
        if !is_given {
            expected.insert("mrt-delete.txt".to_owned(), b"a.txt\r\n\nc/d.txt\n".to_vec());
        }
        assert_eq!(world.deposited(&object, 2), expected);
        assert_eq!(world.deposited(&object, 1), contents(FIRST));
        check_stores(&world);
    }
}

#[test]
fn a_path_that_was_deleted_can_come_again() {
    let world = World::new();
    ingest(&world, FIRST, None);
    let merge = Some(DepositMode::Merge);
    world.ingest(&DepositRequest { delete: vec!["a.txt".into()], ..request(&world, &[("e.txt", b"four")], merge) });
    let object = ingest(&world, &[("a.txt", b"one, again")], merge);
    assert_eq!(world.deposited(&object, 3)["a.txt"], b"one, again");
    check_stores(&world);
}

#[test]
fn what_is_wrong_with_a_delete_list_is_told_as_a_whole_and_nothing_is_made() {
    let world = World::new();
    ingest(&world, FIRST, None);
    let delete = ["a.txt", "nowhere.txt", "e.txt"].map(str::to_owned).to_vec();
    let request = request(&world, &[("e.txt", b"four")], Some(DepositMode::Merge));
    let item = refused(&world, &DepositRequest { delete: delete.clone(), ..request.clone() });
    let problems: BTreeMap<_, _> =
        world.problems(item.id).into_iter().map(|problem| (problem.path.unwrap_or_default(), problem.code)).collect();
    let expected = [("e.txt", "delete.also_sent"), ("nowhere.txt", "delete.no_such_path")];
    assert_eq!(problems, expected.map(|(path, code)| (path.to_owned(), code.to_owned())).into());
    assert_eq!(world.object("photos").head, 1);
    // Of a replacement, and of a batch, there is nothing to delete.
    let replaces = DepositRequest { delete, mode: Some(DepositMode::Replace), ..request };
    assert!(world.submit(&replaces).is_err());
}

#[test]
fn a_delete_list_of_a_new_object_names_nothing_that_is_there() {
    let world = World::new();
    let request = request(&world, &[("e.txt", b"four")], Some(DepositMode::Merge));
    let item = refused(&world, &DepositRequest { delete: vec!["a.txt".into()], ..request });
    assert_eq!(world.codes(item.id), ["delete.no_such_path"]);
    assert_eq!(world.objects(), Vec::<String>::new());
}

#[test]
fn a_deposit_that_changes_nothing_makes_no_version() {
    for mode in [DepositMode::Replace, DepositMode::Merge] {
        let world = World::new();
        ingest(&world, FIRST, None);
        let item = world.deposit(&request(&world, FIRST, Some(mode))).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Succeeded);
        let note = world.notes(item.id).into_iter().find(|note| note.contains("nothing changed"));
        assert!(note.is_some(), "{:?}", world.notes(item.id));
        assert_eq!((item.version, world.object("photos").head), (None, 1));
        check_stores(&world);
    }
}

#[test]
fn bytes_that_are_kept_are_not_stored_again_under_another_path() {
    let world = World::new();
    let large = vec![7; 500_000];
    ingest(&world, &[("a.bin", &large)], None);
    let object = ingest(&world, &[("moved.bin", &large), ("twice.bin", &large), ("c.txt", b"new")], None);
    let files = world.files(&object, 2, "deposit/");
    let stored: Vec<(&str, u64)> = files.iter().map(|file| (file.path.as_str(), file.stored_in)).collect();
    assert_eq!(stored, [("deposit/c.txt", 2), ("deposit/moved.bin", 1), ("deposit/twice.bin", 1)]);
    check_stores(&world);
}

#[test]
fn a_replacement_may_have_a_folder_where_a_file_was_and_the_reverse() {
    let world = World::new();
    let with_file: Files<'_> = &[("a", b"one"), ("b/c", b"two")];
    let with_folder: Files<'_> = &[("a/d", b"three"), ("b", b"four")];
    ingest(&world, with_file, None);
    let object = ingest(&world, with_folder, None);
    assert_eq!(world.deposited(&object, 2), contents(with_folder));
    let object = ingest(&world, with_file, None);
    assert_eq!(world.deposited(&object, 3), contents(with_file));
    check_stores(&world);
}

#[test]
fn a_merge_may_not_have_a_folder_where_a_file_is_unless_the_file_is_deleted() {
    let world = World::new();
    ingest(&world, &[("a", b"one"), ("b/c", b"two")], None);
    let merge = Some(DepositMode::Merge);
    for files in [&[("a/d", b"three".as_slice())], &[("b", b"four".as_slice())]] {
        let item = refused(&world, &request(&world, files, merge));
        assert!(item.note.as_deref().is_some_and(|note| note.contains("cannot be kept beside")), "{:?}", item.note);
    }
    assert_eq!(world.object("photos").head, 1);
    let delete = vec!["a".to_owned(), "b/c".to_owned()];
    let files: Files<'_> = &[("a/d", b"three"), ("b", b"four")];
    let object = world.ingest(&DepositRequest { delete, ..request(&world, files, merge) });
    assert_eq!(world.deposited(&object, 2), contents(files));
    check_stores(&world);
}

#[test]
fn a_bag_and_files_are_versions_of_one_object_only_where_one_replaces_the_other() {
    let files: Files<'_> = &[("a.txt", b"one"), ("b.txt", b"two")];
    let world = World::new();
    let folder = world.folder("letters", files);
    let object = world.ingest(&world.request(folder.clone()));
    assert_eq!(object.description.layout, Layout::Files);
    let bag = world.home.bag("letters", &[("c.txt", b"three")]);
    let item = refused(&world, &world.request(bag.clone()));
    assert!(item.note.as_deref().is_some_and(|note| note.contains("--mode replace")), "{:?}", item.note);
    let replace = Some(DepositMode::Replace);
    let object = world.ingest(&DepositRequest { mode: replace, ..world.request(bag) });
    assert_eq!((object.head, object.description.layout), (2, Layout::Bag));
    let paths: Vec<String> = world.deposited(&object, 2).into_keys().collect();
    assert_eq!(paths, ["aptrust-info.txt", "bag-info.txt", "data/c.txt"]);
    let merge = Some(DepositMode::Merge);
    let item = refused(&world, &DepositRequest { mode: merge, ..world.request(folder.clone()) });
    assert!(item.note.as_deref().is_some_and(|note| note.contains("--mode replace")), "{:?}", item.note);
    let object = world.ingest(&world.request(folder));
    assert_eq!((object.head, object.description.layout), (3, Layout::Files));
    assert_eq!(world.deposited(&object, 3), contents(files));
    assert_eq!(world.deposited(&object, 1), contents(files));
    check_stores(&world);
}

#[test]
fn an_update_needs_an_object() {
    let world = World::new();
    let update = DepositRequest { update: true, ..request(&world, FIRST, None) };
    refused(&world, &update);
    assert_eq!(world.objects(), Vec::<String>::new());
    ingest(&world, FIRST, None);
    let files = world.folder("photos", &[("a.txt", b"changed")]);
    let object = world.ingest(&DepositRequest { update: true, kind: DepositKind::Folder, ..world.request(files) });
    assert_eq!(object.head, 2);
}

#[test]
fn of_many_files_only_those_that_were_sent_are_in_a_replacement() {
    let world = World::new();
    let names: Vec<String> = (0..1_300).map(|number| format!("{}/{number}.txt", number % 7)).collect();
    let all: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    ingest(&world, &all, None);
    let half: Vec<(&str, &[u8])> = all.iter().step_by(2).copied().collect();
    let object = ingest(&world, &half, None);
    assert_eq!(world.deposited(&object, 2), contents(&half));
    let delete: Vec<String> = half.iter().skip(1).map(|(name, _)| (*name).to_owned()).collect();
    let merge = request(&world, &[("new", b"new")], Some(DepositMode::Merge));
    let object = world.ingest(&DepositRequest { delete, ..merge });
    assert_eq!(object.files, 2);
    check_stores(&world);
}
