//! The catalogues in the stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;

use strongroom_engine::Home;
use strongroom_engine::backfill;
use strongroom_engine::background;
use strongroom_engine::reconcile;
use strongroom_engine::runtime::Shutdown;

use super::walked::walk;
use super::{OTHER, all_objects, delete, files_in, kept_home, names};
use crate::deleting::rebuilt;
use crate::fixture::{Engine, INSTITUTION, KEPT_IN, TestHome, on_both_databases};

on_both_databases! {
    catalogues_are_what_a_walk_of_the_stores_finds
    catalogues_are_written_where_they_differ_alone
}

const FOLDER: &str = "_strongroom/catalogue";

fn try_run(home: &Home) -> Result<String, String> {
    let task = background::TASKS.iter().find(|task| task.name == "catalogue").expect("the task");
    (task.run)(home, &Shutdown::new()).map_err(|error| error.chain())
}

fn run(home: &Home) -> String {
    try_run(home).expect("runs")
}

/// Every catalogue has the objects that lie in the storage root beside it, and what is told of them.
fn assert_true(home: &TestHome) {
    let names = names(home);
    for store in KEPT_IN {
        let mut found = BTreeMap::new();
        for (file, bytes) in files_in(&home.file(store, FOLDER)) {
            let mut before = String::new();
            for row in csv::Reader::from_reader(bytes.as_slice()).deserialize() {
                let row: BTreeMap<String, String> = row.expect("a row");
                assert!(row["identifier"] > before, "in the order of identifiers");
                before.clone_from(&row["identifier"]);
                let institution = file.strip_suffix(".csv").expect("a table").to_owned();
                let cells = ["path", "ocfl_id", "versions", "files", "bytes"].map(|name| row[name].clone());
                found.insert((institution, row["identifier"].clone()), cells);
            }
        }
        let mut expected = BTreeMap::new();
        for object in walk(&home.file(store, "")).into_iter().filter(super::WalkedObject::is_kept) {
            let head = object.versions.last().expect("a version");
            let deposited = head.iter().filter(|(path, _)| path.starts_with("deposit/"));
            let sizes = deposited.map(|(_, content)| {
                let path = home.file(store, &object.root).join(content);
                fs::metadata(path).expect("a file").len()
            });
            let sizes: Vec<u64> = sizes.collect();
            let numbers =
                [object.versions.len() as u64, sizes.len() as u64, sizes.iter().sum()].map(|one| one.to_string());
            let [versions, files, bytes] = numbers;
            let name = names[&object.id].identifier.clone();
            expected.insert((object.institution, name), [object.root, object.id, versions, files, bytes]);
        }
        assert_eq!(found, expected, "in {store}");
    }
}

fn catalogues_are_what_a_walk_of_the_stores_finds(engine: Engine) {
    let Some(home) = kept_home(engine, "") else { return };
    assert_eq!(run(&home), "4 catalogues written, 0 unchanged");
    assert_true(&home);
    let text = fs::read_to_string(home.file("primary", FOLDER).join(format!("{INSTITUTION}.csv"))).expect("reads");
    assert!(text.contains("\"'=HYPERLINK(\"\"x\"\"), \u{fc}ber\""), "{text}");
    assert!(text.contains("1; map; shelf 7"), "{text}");
    // Nothing else finds anything in it.
    for store in KEPT_IN {
        let mut differences = Vec::new();
        let mut each = |difference| {
            differences.push(difference);
            Ok(())
        };
        reconcile::run(&home, store, &mut each).expect("compares");
        assert_eq!(differences, []);
    }
}

fn catalogues_are_written_where_they_differ_alone(engine: Engine) {
    let Some(home) = kept_home(engine, "") else { return };
    run(&home);
    assert_eq!(run(&home), "0 catalogues written, 4 unchanged");
    home.ingest("letters", &[("z.txt", b"another")]);
    assert_eq!(run(&home), "2 catalogues written, 2 unchanged");
    assert_true(&home);
    delete(&home, "letters", &[]);
    assert_eq!(run(&home), "2 catalogues written, 2 unchanged");
    assert_true(&home);
    // What was changed or removed is put there again.
    let place = home.file("primary", FOLDER).join(format!("{OTHER}.csv"));
    let bytes = fs::read(&place).expect("reads");
    let changed: Vec<u8> = bytes.iter().map(|byte| if *byte == b'o' { b'0' } else { *byte }).collect();
    for found in [changed, b"short".to_vec(), vec![0; 1 << 20]] {
        fs::write(&place, found).expect("writes");
        assert_eq!(run(&home), "1 catalogue written, 3 unchanged");
        assert_eq!(fs::read(&place).expect("reads"), bytes);
    }
    fs::remove_file(&place).expect("removes");
    assert_eq!(run(&home), "1 catalogue written, 3 unchanged");
    // Two processes at once.
    fs::remove_dir_all(home.file("primary", FOLDER)).expect("removes");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| run(&home));
        }
    });
    assert_true(&home);
    assert_eq!(run(&home), "0 catalogues written, 4 unchanged");
}

#[test]
fn a_store_that_fails_keeps_no_other_from_its_catalogues() {
    let Some(home) = kept_home(Engine::Sqlite, "") else { return };
    // A folder is in the place of a file.
    let place = home.file("primary", FOLDER).join(format!("{INSTITUTION}.csv"));
    fs::create_dir_all(place.join("within")).expect("makes a folder");
    let error = try_run(&home).expect_err("fails");
    assert!(error.contains("primary"), "{error}");
    assert!(home.file("secondary", FOLDER).join(format!("{INSTITUTION}.csv")).is_file());
    assert!(home.file("primary", FOLDER).join(format!("{OTHER}.csv")).is_file());
    fs::remove_dir_all(&place).expect("removes");
    // A store that is away.
    let (there, elsewhere) = (home.file("secondary", ""), home.file("secondary-elsewhere", ""));
    fs::rename(&there, &elsewhere).expect("moves");
    let opened = home.opened_again();
    let error = try_run(&opened).expect_err("fails");
    assert!(error.contains("secondary"), "{error}");
    fs::rename(&elsewhere, &there).expect("moves back");
    assert_true(&home);
    assert_eq!(run(&home.opened_again()), "0 catalogues written, 4 unchanged");
}

/// A store that takes the place of a lost one has no objects at first, and then those that it got: its catalogues follow.
#[test]
fn the_catalogues_of_a_new_store_have_what_it_has() {
    let Some(home) = kept_home(Engine::Sqlite, "") else { return };
    run(&home);
    fs::remove_dir_all(home.file("secondary", "")).expect("removes the store");
    home.try_stores();
    backfill::replace(&home, "secondary").expect("replaces");
    let written = run(&home);
    assert!(written.ends_with("2 unchanged"), "{written}");
    assert_true(&home);
    backfill::run(&home, &backfill::BackfillRequest::new("secondary"), &mut |_| ()).expect("fills");
    assert_eq!(run(&home), "2 catalogues written, 2 unchanged");
    assert_true(&home);
    assert_eq!(run(&home), "0 catalogues written, 4 unchanged");
}

#[test]
fn nothing_in_the_folder_of_catalogues_is_read_as_an_object() {
    let Some(home) = kept_home(Engine::Sqlite, "") else { return };
    run(&home);
    let folder = home.file("primary", FOLDER);
    // An object root, a link out of the store, a name that is none, and bytes that are no text.
    let object = walk(&home.file("primary", "")).into_iter().next().expect("an object");
    let fake = folder.join("0=ocfl_1.1");
    fs::write(fake, "ocfl_1.1\n").expect("writes");
    fs::create_dir_all(folder.join("fake")).expect("makes a folder");
    for name in ["0=ocfl_object_1.1", "inventory.json", "inventory.json.sha512"] {
        fs::copy(home.file("primary", &object.root).join(name), folder.join("fake").join(name)).expect("copies");
    }
    symlink("/etc", folder.join("link")).expect("links");
    fs::write(folder.join(format!("{OTHER}.csv")), [0xff; 3_000]).expect("writes");
    let mut differences = Vec::new();
    let mut each = |difference| {
        differences.push(difference);
        Ok(())
    };
    reconcile::run(&home, "primary", &mut each).expect("compares");
    assert_eq!(differences.iter().filter(|one: &&reconcile::Difference| !one.path.contains("catalogue")).count(), 0);
    let known = |home: &Home| {
        let objects = all_objects(home).into_iter().filter(|object| !object.identifier.ends_with("doomed"));
        objects.map(|object| (object.identifier, object.head)).collect::<BTreeSet<_>>()
    };
    let (_folder, made) = rebuilt(&home, "primary");
    assert_eq!(known(&made), known(&home));
    run(&made);
    assert_true(&home);
}
