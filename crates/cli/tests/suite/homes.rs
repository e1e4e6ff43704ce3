//! Making a home, and looking after it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use strongroom_database::{Migration, Sqlite, SystemClock};
use strongroom_registry::{migrations, statements};

use crate::program::{Place, assert_keys};

#[test]
fn a_new_home_passes_its_own_checks() {
    let place = Place::with_home();
    place.run(["config", "check"]).succeeds();
    place.run(["store", "check"]).succeeds();
    let stores = place.run(["store", "list", "--json"]).succeeds().json();
    assert_eq!(stores.len(), 6);
    let institutions = place.run(["institution", "list", "--json"]).succeeds().object();
    assert_eq!(institutions["institution"], "example.edu");
    let collection = place.run(["collection", "list", "--json"]).succeeds().object();
    assert_eq!(collection["institution"], "example.edu");
    assert!(place.path("home/stores/receiving/example.edu").is_dir());
}

#[test]
fn init_answers_in_json() {
    let place = Place::empty();
    let made = place.run(["init", "here", "--json"]).succeeds().object();
    assert_keys(&made, &["home", "settings", "institution", "collection"]);
    assert_eq!(made["home"], "here");
}

#[test]
fn without_a_folder_init_makes_the_home_of_the_environment() {
    let place = Place::empty();
    place.run(["init"]).succeeds();
    assert!(place.path("home/strongroom.toml").is_file());
}

#[test]
fn a_second_init_is_refused_and_changes_nothing() {
    let place = Place::with_home();
    let before = place.files(".");
    place.run(["init", "home"]).fails(2, &["a data directory already", "nothing was changed"]);
    assert_eq!(place.files("."), before);
}

#[test]
fn init_refuses_a_folder_with_something_in_it() {
    let place = Place::empty();
    place.write("full/notes.txt", "mine");
    place.run(["init", "full"]).fails(2, &["not an empty folder"]);
    place.write("file", "mine");
    place.run(["init", "file"]).fails(2, &["file"]);
    place.run(["init", "absent/home"]).fails(3, &["absent"]);
    assert_eq!(place.files(".").len(), 2, "nothing is left behind");
}

#[test]
fn init_takes_an_empty_folder() {
    let place = Place::empty();
    fs::create_dir(place.path("home")).unwrap();
    place.run(["init", "home"]).succeeds();
    place.run(["config", "check"]).succeeds();
}

#[test]
fn a_home_may_be_moved() {
    let place = Place::with_home();
    fs::rename(place.path("home"), place.path("moved")).unwrap();
    place.run(["--home", "moved", "config", "check"]).succeeds();
    place.run(["--config", "moved/strongroom.toml", "store", "check"]).succeeds();
}

#[test]
fn without_a_home_the_way_to_one_is_told() {
    let place = Place::empty();
    place.run(["items", "list"]).fails(3, &["home/strongroom.toml", "strongroom init"]);
}

#[test]
fn a_backup_can_be_opened_as_a_home() {
    let place = Place::with_home();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    assert_keys(&backup, &["backup", "registry", "bytes"]);
    assert!(backup["bytes"].as_u64().unwrap() > 0);
    let folder = backup["backup"].as_str().unwrap();
    let listed = place.run(["--home", folder, "institution", "list", "--json"]).succeeds().object();
    assert_eq!(listed["institution"], "example.edu");
    place.run(["backup", "backups"]).succeeds();
    assert_eq!(fs::read_dir(place.path("backups")).unwrap().count(), 2, "each backup is kept");
}

#[test]
fn a_lost_registry_is_made_again_from_a_store() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let object = |place: &Place| place.run(["objects", "show", "example.edu/greeting", "--json"]).succeeds().object();
    let files = |place: &Place| place.run(["objects", "files", "example.edu/greeting", "--json"]).succeeds().json();
    let paths = |files: Vec<serde_json::Value>| -> Vec<_> {
        files.into_iter().map(|file| (file["file"].clone(), file["path"].clone(), file["digests"].clone())).collect()
    };
    let (before, files_before) = (object(&place), paths(files(&place)));
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = fs::remove_file(place.path("home").join(name));
    }
    let summary = place.run(["rebuild", "--json"]).succeeds().object();
    assert_eq!(summary["objects"], 1, "{summary}");
    assert_eq!(summary["problems"].as_array().unwrap().len(), 0);
    let after = object(&place);
    for key in ["object", "identifier", "title", "placement", "head", "files", "bytes", "created_at"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(paths(files(&place)), files_before);
    place.run(["fixity", "run", "--all"]).succeeds();
}

#[test]
fn a_rebuild_of_a_home_in_use_is_refused_and_changes_nothing() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let before = place.files("home");
    let objects = place.run(["objects", "list", "--json"]).succeeds().stdout;
    place.run(["rebuild"]).fails(4, &["in use"]);
    place.run(["rebuild", "--store", "tertiary"]).fails(3, &["tertiary"]);
    let adopted = place.run(["rebuild", "--adopt", "--json"]).succeeds().object();
    assert_eq!((&adopted["known"], &adopted["taken"]), (&2.into(), &0.into()), "the object in each of two stores");
    assert_eq!(place.files("home"), before);
    assert_eq!(place.run(["objects", "list", "--json"]).succeeds().stdout, objects);
}

#[test]
fn a_restored_backup_can_only_be_read_until_the_stores_are_adopted() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(place.path(&format!("home/registry.db{suffix}")));
    }
    let backup = place.path(backup["registry"].as_str().unwrap());
    fs::copy(backup, place.path("home/registry.db")).unwrap();

    let listed = place.run(["objects", "list", "--json"]).succeeds();
    assert_eq!(listed.json().len(), 1, "what it knows can be read");
    assert!(listed.stderr.contains("read-only"), "{listed:?}");
    let words = ["read-only", "older state of itself", "strongroom rebuild --adopt"];
    for command in [
        vec!["deposit", "greeting.tar"],
        vec!["work"],
        vec!["serve"],
        vec!["schedule", "--once"],
        vec!["fixity", "run", "--all"],
        vec!["institution", "add", "other.edu", "--name", "Other"],
        vec!["queue", "pause", "ingest.fetch"],
        vec!["restore", "object", "example.edu/greeting"],
    ] {
        place.run(command).fails(4, &words);
    }
    let found = place.run(["store", "reconcile", "--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let found = found.json();
    assert_eq!(found.len(), 2, "in each of two stores");
    assert!(found.iter().all(|one| one["code"] == "object.unknown"), "{found:?}");
    assert_eq!(found[0]["next"], "strongroom rebuild --adopt --store primary");

    let would = place.run(["rebuild", "--adopt", "--dry-run", "--json"]).succeeds().object();
    assert_eq!(
        (&would["taken"], &would["versions"], &would["files"]),
        (&1.into(), &1.into(), &serde_json::Value::Null)
    );
    let adopted = place.run(["rebuild", "--adopt", "--json"]).succeeds().object();
    assert_eq!((&adopted["versions"], &adopted["pending"]), (&1.into(), &serde_json::json!([])));
    assert_eq!((&adopted["taken"], &adopted["known"]), (&would["taken"], &would["known"]));
    let listed = place.run(["objects", "list", "--json"]).succeeds();
    assert_eq!((listed.json().len(), listed.stderr.contains("read-only")), (2, false));
    place.run(["store", "reconcile"]).succeeds();
    place.bag("again", "hello again\n");
    place.run(["deposit", "again.tar", "--wait"]).succeeds();
    let checked = place.run(["store", "check", "primary", "--json"]).succeeds().object();
    assert_eq!((&checked["atomic_assembly"], &checked["term"]), (&true.into(), &1.into()));
    assert!(checked["acts"].as_u64().unwrap() >= 3, "{checked}");
}

/// The registry of a home made anew with these migrations.
fn remake_registry(place: &Place, migrations: &[Migration]) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(place.path(&format!("home/registry.db{suffix}")));
    }
    let path = place.path("home/registry.db");
    Sqlite::open(&path, statements(), migrations, Arc::new(SystemClock)).expect("makes a registry");
}

#[test]
fn only_workers_and_migrate_bring_an_older_registry_up_to_date_and_a_backup_takes_it_as_it_is() {
    let place = Place::with_home();
    let all = migrations();
    let (older, next) = (&all[..all.len() - 1], all.len());
    for command in [vec!["migrate", "--schema"], vec!["schedule", "--once"]] {
        remake_registry(&place, older);
        let copy = place.path(&format!("home/registry.db.before-{next:04}"));
        let _ = fs::remove_file(&copy);
        let words = ["registry.db", "needs version", "strongroom migrate --schema"];
        for refused in [vec!["items", "list"], vec!["objects", "list"], vec!["queue", "pause", "ingest.fetch"]] {
            place.run(refused).fails(2, &words);
        }
        let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
        assert!(backup["bytes"].as_u64().unwrap() > 0);
        assert!(!copy.exists());
        place.run(command).succeeds();
        assert!(copy.is_file(), "the registry as it was");
        place.run(["items", "list"]).succeeds();
    }
    let done = place.run(["migrate", "--schema", "--json"]).succeeds().object();
    assert_keys(&done, &["registry", "from", "to", "copy"]);
    assert_eq!((&done["from"], &done["copy"]), (&done["to"], &serde_json::Value::Null));
}

#[test]
fn a_registry_of_a_newer_program_is_refused_by_every_command() {
    let place = Place::with_home();
    let mut newer = migrations();
    let version = u32::try_from(newer.len() + 1).unwrap();
    newer.push(Migration { version, name: "of a newer program", sql: "CREATE TABLE of_a_newer_program (x INTEGER)" });
    remake_registry(&place, &newer);
    for refused in [
        vec!["items", "list"],
        vec!["backup", "backups"],
        vec!["migrate", "--schema"],
        vec!["work"],
        vec!["schedule", "--once"],
        vec!["deposit", "greeting.tar"],
    ] {
        place.run(refused).fails(2, &["made by a newer program", "use the newer program"]);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Everything in a folder that others than its owner can reach by its mode.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if mode(&path) & 0o077 != 0 {
                found.push(path.display().to_string());
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

#[test]
fn what_a_home_keeps_is_for_its_owner_only_and_what_is_given_back_follows_the_umask() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    place.run(["restore", "object", "example.edu/greeting", "--to", "back", "--wait"]).succeeds();
    place.run(["restore", "object", "example.edu/greeting", "--wait"]).succeeds();
    place.run(["backup", "backups"]).succeeds();
    fs::create_dir(place.path("folder")).unwrap();
    let (folder, file) = (mode(&place.path("folder")), mode(&place.write("file", "as the umask says")));
    assert_eq!(mode(&place.path("home")), 0o700);
    for name in ["strongroom.toml", "registry.db"] {
        assert_eq!(mode(&place.path(&format!("home/{name}"))), 0o600, "{name}");
    }
    for store in ["staging", "primary", "secondary", "quarantine"] {
        let path = place.path(&format!("home/stores/{store}"));
        assert_eq!(mode(&path), 0o700, "{store}");
        assert_eq!(open_to_others(&path), Vec::<String>::new(), "{store}");
    }
    assert_eq!(mode(&place.path("backups")), 0o700);
    assert_eq!(open_to_others(&place.path("backups")), Vec::<String>::new());
    assert_eq!(mode(&place.path("home/stores/receiving/example.edu")), folder);
    assert_eq!(mode(&place.path("home/stores/restoration/example.edu/greeting.tar")), file);
    assert_eq!(mode(&place.path("back/greeting.tar")), file);
    assert!(!place.run(["config", "check"]).succeeds().stdout.contains("warning"));
}

#[test]
fn config_check_warns_of_what_others_can_read() {
    let place = Place::with_home();
    for (name, mode) in [("home", 0o755), ("home/registry.db", 0o644), ("home/stores/primary", 0o750)] {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let lines = place.run(["config", "check", "--json"]).succeeds().json();
    let told: Vec<&str> = lines.iter().filter_map(|line| line["message"].as_str()).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for words in ["0755", "chmod 0600 home/registry.db", "chmod 0700 home/stores/primary"] {
        assert!(told.iter().any(|message| message.contains(words)), "{words}: {told:?}");
    }
}

#[test]
fn config_check_says_which_tools_cannot_be_run() {
    let place = Place::with_home();
    let program = |name: &str, text: &str, mode: u32| {
        let path = place.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let settings = place.path("home/strongroom.toml");
    let before = fs::read_to_string(&settings).unwrap();
    let set = |program: &str, version: &str| {
        let tool = format!("name = \"words\"\nprogram = \"{program}\"\narguments = [\"{{file}}\"]\n{version}");
        place.write("home/words.toml", tool);
        fs::write(&settings, format!("{before}\n[tools.words]\nconfiguration = \"words.toml\"\n")).unwrap();
    };
    let refuses = |words: &[&str]| {
        let answer = place.run(["config", "check", "--json"]);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert_eq!(answer.code, Some(1), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    };
    let version = "version = { arguments = [\"--version\"] }\n";
    let says = program("says", "#!/bin/sh\necho 'words 1.2'\n", 0o755);
    for version in [version, ""] {
        set(&says, version);
        let lines = place.run(["config", "check", "--json"]).succeeds().json();
        let line = lines.iter().find(|line| line["check"] == "tool words").expect("the tool is looked at");
        assert_eq!(line["ok"], true, "{line}");
    }
    for version in [version, ""] {
        set(&format!("{says}.not"), version);
        refuses(&["the tool words cannot be started", "says.not", "\"next\":\"install it", "tools.words.program"]);
    }
    set(&program("mere", "words", 0o644), "");
    refuses(&["the tool words cannot be started", "mere", "ermission denied"]);
    set(&program("fails", "#!/bin/sh\nexit 3\n", 0o755), version);
    refuses(&["the tool words does not say its version", "fails", "\"next\":\"run it", "fails --version"]);
    // A known one that deposits need, and that nobody has installed.
    fs::write(&settings, before.replace("[ingest]\n", "") + "\n[ingest]\ntools = [\"jhove\"]\n").unwrap();
    refuses(&["the tool jhove cannot be started: jhove", "install it"]);
}

#[test]
fn the_access_rights_of_a_store_are_a_setting() {
    let place = Place::with_home();
    let settings = place.path("home/strongroom.toml");
    let text = fs::read_to_string(&settings).unwrap();
    let set = |mode: &str| {
        let table = "[stores.primary]\n";
        assert!(text.contains(table));
        fs::write(&settings, text.replace(table, &format!("{table}mode = \"{mode}\"\n"))).unwrap();
    };
    set("0660");
    place.run(["config", "check"]).fails(2, &["stores.primary.mode", "octal"]);
    set("0750");
    fs::create_dir(place.path("folder")).unwrap();
    let umask = 0o777 & !mode(&place.path("folder"));
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    assert_eq!(mode(&place.path("home/stores/primary/example.edu")), 0o750 & !umask);
    assert_eq!(mode(&place.path("home/stores/primary/example.edu/0=ocfl_1.1")), 0o640 & !umask);
    assert_eq!(mode(&place.path("home/stores/secondary/example.edu")), 0o700);
}

/// Moves a registry away with its side files, as the error says.
fn move_away(place: &Place, suffixes: &[&str]) {
    for suffix in suffixes {
        let name = format!("home/registry.db{suffix}");
        let _ = fs::rename(place.path(&name), place.path(&format!("aside{suffix}")));
    }
}

#[test]
fn a_backup_is_restored_where_a_process_was_killed() {
    let place = Place::with_home();
    place.bag("early", "hello\n");
    place.run(["deposit", "early.tar", "--wait"]).succeeds();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    let backup = place.path(backup["registry"].as_str().unwrap());
    place.bag("later", "goodbye\n");
    place.run(["deposit", "later.tar"]).succeeds();
    let mut worker = place.command().args(["-q", "work"]).spawn().unwrap();
    let has_succeeded = || {
        let items = place.run(["items", "list", "--status", "succeeded", "--json"]).succeeds().json();
        items.len() == 2
    };
    while !has_succeeded() {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(fs::metadata(place.path("home/registry.db-wal")).unwrap().len() > 0, "its log was not written back");

    fs::copy(&backup, place.path("home/registry.db")).unwrap();
    let advice = ["home/registry.db-wal", "home/registry.db-shm", "strongroom rebuild --adopt"];
    place.run(["items", "list"]).fails(2, &advice);
    place.run(["rebuild", "--adopt"]).fails(2, &advice);
    assert_eq!(fs::read(place.path("home/registry.db")).unwrap(), fs::read(&backup).unwrap(), "nothing was changed");

    // As the book says.
    move_away(&place, &["", "-wal", "-shm"]);
    fs::copy(&backup, place.path("home/registry.db")).unwrap();
    place.run(["rebuild", "--adopt"]).succeeds();
    for object in ["example.edu/early", "example.edu/later"] {
        place.run(["objects", "show", object]).succeeds();
    }
    place.run(["fixity", "run", "--all"]).succeeds();
}

#[test]
fn the_advice_for_a_damaged_registry_names_its_side_files() {
    let place = Place::with_home();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    let mut bytes = fs::read(place.path(backup["registry"].as_str().unwrap())).unwrap();
    bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0x55);
    move_away(&place, &["", "-wal", "-shm"]);
    fs::write(place.path("home/registry.db"), bytes).unwrap();
    let advice = ["is damaged", "home/registry.db-wal", "home/registry.db-shm", "strongroom rebuild --adopt"];
    place.run(["items", "list"]).fails(5, &advice);
}

#[test]
fn a_home_begins_with_the_institution_that_is_named() {
    let place = Place::empty();
    place.write("a-file", "text\n");
    place.run(["init", "a-file"]).fails(2, &["a-file is a file", "nothing was changed"]);
    place.run(["init", "home", "--institution", "Not A Domain"]).fails(2, &["Not A Domain"]);
    place.run(["init", "home", "--institution", "library.example.org", "--name", "The Library"]).succeeds();
    let shown = || place.run(["institution", "show", "library.example.org", "--json"]).succeeds().object();
    assert_eq!(shown()["name"], "The Library");
    assert!(place.path("home/stores/receiving/library.example.org").is_dir());
    place.run(["institution", "rename", "library.example.org", "The Old Library"]).succeeds();
    assert_eq!(shown()["name"], "The Old Library");
    place.run(["institution", "remove", "library.example.org"]).succeeds();
    assert_eq!(shown()["active"], false);
    place.run(["institution", "remove", "library.example.org", "--undo"]).succeeds();
    assert_eq!(shown()["active"], true);
    let named = ["default", "--institution", "library.example.org"];
    let removed = place.run(["collection", "remove"].iter().chain(&named)).succeeds();
    assert!(removed.stdout.lines().any(|line| line.split_whitespace().eq(["active", "no"])), "{removed:?}");
    assert!(place.run(["collection", "list", "--json"]).succeeds().json().is_empty());
    let all = place.run(["collection", "list", "--all", "--json"]).succeeds().json();
    assert_eq!((&all[0]["collection"], &all[0]["active"]), (&"default".into(), &false.into()), "{all:?}");
    place.run(["collection", "remove", "--undo"].iter().chain(&named)).succeeds();
    let listed = place.run(["collection", "list", "--json"]).succeeds().json();
    assert!(matches!(&listed[..], [one] if one["active"] == true), "{listed:?}");
}

#[test]
fn an_error_is_one_json_object_for_scripts() {
    let place = Place::with_home();
    for (command, code, word) in [
        (&["items", "show", "ffff", "--json"][..], 3, "not_found"),
        (&["items", "lost", "--json"], 2, "usage"),
        (&["institution", "add", "example.edu", "--json"], 2, "exists"),
        (&["items", "list", "--status", "lost", "--json"], 2, "usage"),
    ] {
        let answer = place.run(command);
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(code), ""), "{answer:?}");
        let told: serde_json::Value = serde_json::from_str(&answer.stderr).unwrap_or_else(|_| panic!("{answer:?}"));
        let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "error", "next"], "{answer:?}");
        assert_eq!(told["code"], word, "{answer:?}");
    }
}
