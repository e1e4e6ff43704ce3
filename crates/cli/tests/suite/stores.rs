//! The stores of a home: that each has a place of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use crate::program::Place;

fn edit(place: &Place, change: impl Fn(String) -> String) {
    let file = place.path("home/strongroom.toml");
    let text = change(fs::read_to_string(&file).unwrap());
    fs::write(file, text).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn two_stores_in_one_place_are_refused_however_the_place_is_spelled() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let stores = place.path("home/stores");
    symlink(stores.join("primary"), place.path("link")).unwrap();
    fs::create_dir(stores.join("primary/inner")).unwrap();
    let settings = place.path("home/strongroom.toml");
    let original = fs::read_to_string(&settings).unwrap();
    let absolute = stores.join("primary");
    let spellings = [
        (absolute.to_str().unwrap().to_owned(), "are in one place"),
        (place.path("link").to_str().unwrap().to_owned(), "are in one place"),
        ("stores/receiving/../primary".to_owned(), "are in one place"),
        ("../link/inner".to_owned(), "store secondary is within store primary"),
    ];
    for store in ["secondary", "staging"] {
        for (spelling, words) in &spellings {
            let words = words.replace("secondary", store);
            fs::write(
                &settings,
                original.replace(&format!("path = \"stores/{store}\""), &format!("path = {spelling:?}")),
            )
            .unwrap();
            let told = ["primary", store, &words, "stores.", "store create"];
            for command in [&["deposit", "greeting.tar", "--wait"][..], &["work"], &["fixity", "run"]] {
                let answer = place.run(command).fails(2, &told);
                assert!(
                    answer.stderr.contains(&*stores.join("primary").to_string_lossy())
                        || answer.stderr.contains("home/stores/primary")
                );
            }
            let checked = place.run(["config", "check", "--json"]);
            assert_ne!(checked.code, Some(0), "{checked:?}");
            let wrong: Vec<_> = checked.json().into_iter().filter(|line| line["ok"] == false).collect();
            let message = |line: &serde_json::Value| line["message"].as_str().unwrap().to_owned();
            assert!(wrong.iter().any(|line| message(line).contains(&words)), "{wrong:?}");
            let checked = place.run(["store", "check", "--json"]);
            assert_eq!(checked.code, Some(1), "{checked:?}");
            place.run(["store", "create", store]).fails(2, &[&words]);
        }
    }
    fs::write(&settings, original).unwrap();
    place.run(["config", "check"]).succeeds();
}

#[test]
fn a_copy_of_a_store_is_refused_by_the_id_that_lies_in_it() {
    let place = Place::with_home();
    copy_folder(&place.path("home/stores/primary"), &place.path("copied"));
    edit(&place, |text| text.replace("path = \"stores/secondary\"", "path = \"../copied\""));
    let words = ["primary", "secondary", "both hold the store id"];
    place.run(["fixity", "run"]).fails(2, &words);
    let checked = place.run(["config", "check", "--json"]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(checked.stdout.contains("both hold the store id"), "{checked:?}");
}

/// Puts a store of another installation in the place of one of the home's, as an empty disk is that was made a store.
fn put_another_store(place: &Place, store: &str) {
    let _ = fs::remove_dir_all(place.path(&format!("home/stores/{store}")));
    place.run(["init", "other"]).succeeds();
    fs::rename(place.path(&format!("other/stores/{store}")), place.path(&format!("home/stores/{store}"))).unwrap();
    fs::remove_dir_all(place.path("other")).unwrap();
}

#[test]
fn a_lost_store_is_no_longer_needed_when_a_new_one_was_filled_in_its_stead() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    fs::remove_dir_all(place.path("home/stores/secondary")).unwrap();
    let listed = place.run(["store", "list", "--json"]).succeeds().json();
    let state = |name: &str| listed.iter().find(|store| store["store"] == name).unwrap()["state"].clone();
    assert_eq!((state("secondary"), state("primary")), ("away".into(), "available".into()));
    place.run(["store", "create", "secondary"]).fails(2, &["secondary", "store replace secondary"]);
    put_another_store(&place, "secondary");
    place.run(["store", "create", "secondary"]).fails(2, &["secondary", "store replace secondary"]);
    let listed = place.run(["store", "list", "--json"]).succeeds().json();
    let secondary = listed.iter().find(|store| store["store"] == "secondary").unwrap();
    assert_eq!(secondary["state"], "refused");
    assert!(secondary["reason"].as_str().unwrap().contains("store replace secondary"), "{secondary}");

    edit(&place, |text| {
        let text = text.replace("\"secondary\"]", "\"third\"]");
        format!("{text}\n[stores.third]\nkind = \"folder\"\npath = \"stores/third\"\n")
    });
    place.run(["store", "create", "third"]).succeeds();
    assert_eq!(place.run(["store", "retire", "secondary"]).code, Some(1));
    let filled = place.run(["store", "backfill", "third", "--wait", "--json"]).succeeds().object();
    assert_eq!((&filled["objects"], &filled["failed"]), (&1.into(), &0.into()), "{filled}");
    let checked = place.run(["fixity", "run", "--all"]);
    assert_ne!(checked.code, Some(0), "a store that was not checked is told: {checked:?}");
    place.run(["store", "retire", "secondary"]).succeeds();
    place.run(["fixity", "run", "--all"]).succeeds();
    place.run(["store", "reconcile"]).succeeds();
    place.run(["ocfl", "validate", "home/stores/third/example.edu"]).succeeds();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
}

#[test]
fn a_store_whose_folder_is_gone_is_replaced_and_a_registry_is_rebuilt_from_it() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    fs::remove_dir_all(place.path("home/stores/secondary")).unwrap();
    let replaced = place.run(["store", "replace", "secondary", "--json"]).succeeds().object();
    assert_eq!(
        (&replaced["objects"], &replaced["failed"], &replaced["only_copies"]),
        (&1.into(), &0.into(), &0.into())
    );
    place.run(["ocfl", "validate", "home/stores/secondary/example.edu"]).succeeds();
    place.run(["store", "check"]).succeeds();
    place.run(["store", "reconcile"]).succeeds();
    place.run(["fixity", "run", "--all"]).succeeds();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
    place.run(["store", "replace", "secondary"]).fails(2, &["nothing is replaced", "store backfill secondary"]);

    fs::remove_file(place.path("home/registry.db")).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(place.path(&format!("home/registry.db{suffix}")));
    }
    let rebuilt = place.run(["rebuild", "--store", "secondary", "--json"]).succeeds().object();
    assert_eq!((&rebuilt["objects"], &rebuilt["failed"]), (&2.into(), &0.into()), "{rebuilt}");
}

#[test]
fn a_replacement_leaves_the_copying_to_the_workers_where_that_is_asked_for() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    fs::remove_dir_all(place.path("home/stores/primary")).unwrap();
    let replaced = place.run(["store", "replace", "primary", "--no-wait", "--json"]).succeeds().object();
    assert_eq!((&replaced["tasks"], &replaced["objects"]), (&1.into(), &0.into()), "{replaced}");
    place.run(["store", "backfill", "primary", "--wait"]).succeeds();
    place.run(["ocfl", "validate", "home/stores/primary/example.edu"]).succeeds();
    // A store with another role has no copies to be brought.
    fs::remove_dir_all(place.path("home/stores/staging")).unwrap();
    place.run(["store", "replace", "staging"]).succeeds();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
}

#[test]
fn a_store_that_is_refused_is_shown_everywhere_and_nothing_is_written_to_it() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    put_another_store(&place, "secondary");
    let before = place.files("home/stores/secondary");
    let status = place.run(["status", "--json"]).succeeds().object();
    let secondary = status["stores"].as_array().unwrap().iter().find(|store| store["store"] == "secondary").unwrap();
    assert_eq!((&secondary["reachable"], &secondary["state"]), (&false.into(), &"refused".into()), "{secondary}");
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("REFUSED: ") && said.contains("store replace secondary"), "{said}");
    for command in [["store", "check"], ["config", "check"]] {
        let checked = place.run(command);
        assert_ne!(checked.code, Some(0), "{checked:?}");
        // A message goes on on further lines of its column.
        let said: Vec<&str> = checked.stdout.split_whitespace().collect();
        assert!(said.join(" ").contains("store replace secondary"), "{checked:?}");
    }
    assert_eq!(
        (&status["review"]["stores_refused"], &status["review"]["stores_away"], &status["review"]["problems"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert!(said.contains("1 store refused"), "{said}");
    let problems = place.run(["fixity", "problems", "--json"]);
    assert_eq!((problems.code, &problems.object()["kind"]), (Some(1), &"refused".into()), "{problems:?}");
    let object = place.run(["objects", "list", "--json"]).succeeds().object();
    assert_eq!(object["health"], "missing copies");
    assert_eq!(place.files("home/stores/secondary"), before);
}

#[test]
fn a_deposit_that_waits_for_a_refused_store_says_what_a_person_has_to_do() {
    let place = Place::with_home();
    place.run(["store", "check"]).succeeds();
    place.bag("greeting", "hello\n");
    put_another_store(&place, "secondary");
    let mut command = place.command();
    command.args(["deposit", "greeting.tar", "--wait"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut deposit = command.spawn().unwrap();
    let lines = BufReader::new(deposit.stderr.take().unwrap()).lines();
    let next = lines.map_while(Result::ok).find(|line| line.trim_start().starts_with("next:") && line.contains("item"));
    deposit.kill().unwrap();
    deposit.wait().unwrap();
    let next = next.unwrap();
    assert!(next.contains("do what the reason says") && next.contains("store list"), "{next}");
    let item = place.run(["items", "list", "--needs-review", "--json"]).succeeds().object();
    assert_eq!(item["needs_review"], true, "{item}");
    assert!(item["note"].as_str().unwrap().contains("store replace secondary"), "{item}");
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!(status["review"]["items"], 1);
}

#[test]
fn a_copy_of_a_store_is_refused_by_every_command_that_judges_stores() {
    let place = Place::with_home();
    place.run(["store", "check"]).succeeds();
    copy_folder(&place.path("home/stores/secondary"), &place.path("home/stores/copy"));
    symlink(place.path("home/stores/secondary"), place.path("home/stores/link")).unwrap();
    let settings = place.path("home/strongroom.toml");
    let original = fs::read_to_string(&settings).unwrap();
    for path in ["stores/copy", "stores/link", "stores/link/inner"] {
        if path.ends_with("inner") {
            fs::create_dir(place.path("home/stores/secondary/inner")).unwrap();
        }
        fs::write(&settings, format!("{original}\n[stores.third]\nkind = \"folder\"\npath = \"{path}\"\n")).unwrap();
        let listed = place.run(["store", "list", "--json"]).succeeds().json();
        let third = listed.iter().find(|store| store["store"] == "third").unwrap();
        assert_eq!(third["state"], "refused", "{path}: {third}");
        let reason = third["reason"].as_str().unwrap();
        assert!(reason.contains("secondary") && reason.contains("third"), "{path}: {reason}");
        assert!(reason.contains("path of stores.third") || reason.contains("a place of its own"), "{path}: {reason}");
        let checked = place.run(["store", "check", "--json"]);
        let third = checked.json().into_iter().find(|store| store["store"] == "third").unwrap();
        assert_eq!((checked.code, &third["ok"]), (Some(1), &false.into()), "{path}: {third}");
        assert_ne!(place.run(["config", "check"]).code, Some(0), "{path}");
        let status = place.run(["status", "--json"]).succeeds().object();
        let third = status["stores"].as_array().unwrap().iter().find(|store| store["store"] == "third").unwrap();
        assert_eq!((&third["state"], &third["reachable"]), (&"refused".into(), &false.into()), "{path}: {third}");
    }
}

#[test]
fn a_nested_path_in_the_settings_names_both_places_and_what_to_change() {
    let place = Place::with_home();
    edit(&place, |text| format!("{text}\n[stores.third]\nkind = \"folder\"\npath = \"stores/secondary/inner\"\n"));
    for command in [["store", "list"], ["store", "check"], ["config", "check"]] {
        let words = ["third", "stores/secondary/inner", "secondary: stores/secondary)", "change path of stores.third"];
        place.run(command).fails(2, &words);
    }
}

#[test]
fn a_store_that_was_emptied_or_is_older_is_refused_until_it_is_taken_anew() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let told = |place: &Place| {
        let command = "store replace secondary";
        for check in [["store", "check"], ["config", "check"]] {
            let checked = place.run(check);
            assert_ne!(checked.code, Some(0), "{checked:?}");
            // A table breaks the message between words.
            let shown = checked.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(command) || checked.stderr.contains(command), "{checked:?}");
        }
        let status = place.run(["status"]).succeeds().stdout;
        assert!(status.contains("REFUSED: ") && status.contains(command), "{status}");
        let listed = place.run(["store", "list", "--json"]).succeeds().json();
        let secondary = listed.iter().find(|store| store["store"] == "secondary").unwrap();
        assert_eq!(secondary["state"], "refused", "{secondary}");
        let objects = place.run(["objects", "list", "--json"]).succeeds().json();
        assert_eq!(objects[0]["health"], "missing copies", "{objects:?}");
    };
    for folder in ["_strongroom", "example.edu"] {
        fs::remove_dir_all(place.path(&format!("home/stores/secondary/{folder}"))).unwrap();
    }
    told(&place);
    place.run(["store", "replace", "secondary"]).succeeds();
    place.run(["store", "check"]).succeeds();
    place.run(["config", "check"]).succeeds();
    place.run(["fixity", "run", "--all"]).succeeds();
    place.run(["ocfl", "validate", "home/stores/secondary/example.edu"]).succeeds();

    // A snapshot is put back.
    let mark = place.path("home/stores/secondary/_strongroom/registry.json");
    let older = fs::read(&mark).unwrap();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
    fs::write(&mark, older).unwrap();
    told(&place);
    let replaced = place.run(["store", "replace", "secondary", "--json"]).succeeds().object();
    assert_eq!(replaced["contents"], 0, "what lies there is proved, not copied: {replaced}");
    place.run(["store", "check"]).succeeds();
    place.run(["fixity", "run", "--all"]).succeeds();
    place.run(["store", "reconcile"]).succeeds();
}

#[test]
fn a_storage_root_without_its_declarations_is_a_difference() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let root = place.path("home/stores/secondary/example.edu");
    fs::remove_file(root.join("0=ocfl_1.1")).unwrap();
    fs::remove_file(root.join("ocfl_layout.json")).unwrap();
    fs::remove_dir_all(root.join("extensions")).unwrap();
    let compared = place.run(["store", "reconcile", "--json"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    let found = compared.json();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|line| line["code"] == "root.declaration" && line["store"] == "secondary"), "{found:?}");
    let validated = place.run(["ocfl", "validate", "home/stores/secondary/example.edu"]);
    assert_eq!(validated.code, Some(1), "{validated:?}");
    assert!(validated.stdout.contains("E069") && !validated.stdout.contains("E063"), "{validated:?}");
    place.run(["fixity", "run", "--all", "--store", "secondary"]);
    place.run(["store", "reconcile"]).succeeds();
    place.run(["ocfl", "validate", "home/stores/secondary/example.edu"]).succeeds();
}
