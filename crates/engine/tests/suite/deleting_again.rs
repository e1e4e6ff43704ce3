//! What was deleted comes back with an older copy of a store, in whole or in part: it is found, and deleted again.

use std::path::Path;
use std::sync::Arc;

use strongroom_engine::app::{journal, legal_holds};
use strongroom_engine::backfill::{self, BackfillRequest};
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary};
use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::reconcile::{self, Code};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, background};
use strongroom_registry::{ObjectState, deletions as rows};
use strongroom_storage::StorageError;
use strongroom_storage_test::{Call, Layer, Operation};

use crate::deleting::{
    SECRET, agreed, check, check_fixity, copy_over, delete, has, home_on, is_nowhere, rebuilt, work,
};
use crate::deletions::{console, world};
use crate::fixture::{Engine, INSTITUTION, KEPT_IN, TestHome};
use crate::ingest::committing::layered;

const STORE: &str = "secondary";

fn run_deletions(home: &Home) {
    let task = background::TASKS.iter().find(|task| task.name == "deletions").expect("it");
    background::run_now(home, task, &Shutdown::new()).expect("runs");
}

fn check_all(home: &Home) -> FixitySummary {
    fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| {}).expect("checks")
}

fn codes(home: &Home) -> Vec<Code> {
    let mut codes = Vec::new();
    let note = &mut |difference: reconcile::Difference| {
        codes.push(difference.code);
        Ok(())
    };
    reconcile::run(home, STORE, note).expect("reconciles");
    codes
}

/// Puts the objects of a store back as they were.
fn put_back(home: &TestHome, old: &Path) {
    let objects = home.file(STORE, INSTITUTION);
    std::fs::remove_dir_all(&objects).expect("removes");
    copy_over(old, &objects);
}

/// The keys that a store has now and had not.
fn new_keys(home: &TestHome, old: &[String]) -> Vec<String> {
    home.keys(STORE).iter().filter(|key| !old.contains(key)).cloned().collect()
}

fn all_is_well(home: &TestHome) {
    is_nowhere(home, SECRET);
    check(home, &KEPT_IN);
    check_fixity(home);
}

/// A home of which a file or an object is deleted, with an older copy of a store.
fn with_old_copy(paths: &[&str]) -> Option<(TestHome, tempfile::TempDir)> {
    let home = home_on(Engine::Sqlite)?;
    let old = tempfile::TempDir::new().expect("a folder");
    copy_over(&home.file(STORE, INSTITUTION), old.path());
    delete(&home, paths);
    Some((home, old))
}

#[test]
fn a_check_deletes_again_what_a_store_that_was_put_back_has() {
    for (paths, stores) in [(&["data/secret.txt"][..], 1), (&[], 1), (&["data/secret.txt"], 2), (&[], 2)] {
        let Some((home, old)) = with_old_copy(paths) else { return };
        put_back(&home, old.path());
        if stores == 2 {
            // No store has the later inventory any more.
            let primary = home.file("primary", INSTITUTION);
            std::fs::remove_dir_all(&primary).expect("removes");
            copy_over(old.path(), &primary);
        }
        assert!(check_all(&home).repaired > 0);
        all_is_well(&home);
    }
}

#[test]
fn a_comparison_names_what_was_deleted_and_has_it_deleted_again() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some((home, old)) = with_old_copy(paths) else { return };
        put_back(&home, old.path());
        assert!(codes(&home).contains(&Code::CopyDeleted));
        run_deletions(&home);
        all_is_well(&home);
        // Only a content, as what an administrator of a service has undeleted.
        let (home, old) = with_old_copy(paths).expect("a home");
        let lost = home.keys(STORE);
        put_back(&home, old.path());
        let contents: Vec<String> =
            new_keys(&home, &lost).into_iter().filter(|key| key.contains("/content/")).collect();
        let texts: Vec<Vec<u8>> =
            contents.iter().map(|key| std::fs::read(home.file(STORE, key)).expect("reads")).collect();
        run_deletions(&home);
        check_all(&home);
        for (key, text) in contents.iter().zip(&texts) {
            let file = home.file(STORE, key);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("makes it");
            std::fs::write(file, text).expect("writes");
        }
        assert!(!contents.is_empty());
        assert_eq!(codes(&home), vec![Code::CopyDeleted; contents.len()]);
        run_deletions(&home);
        all_is_well(&home);
    }
}

#[test]
fn an_adoption_deletes_again_what_a_store_that_was_put_back_has() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some((home, old)) = with_old_copy(paths) else { return };
        put_back(&home, old.path());
        let adopting = home.opened_to_adopt();
        let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        assert!(summary.is_complete(), "{:?}", summary.problems);
        drop(adopting);
        run_deletions(&home.opened_again());
        is_nowhere(&home, SECRET);
        check(&home.opened_again(), &KEPT_IN);
        check_fixity(&home.opened_again());
    }
}

#[test]
fn what_was_deleted_before_a_new_deposit_is_deleted_again() {
    let Some((home, old)) = with_old_copy(&[]) else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"again")]);
    // Beside the new generation, and in the place of what the deletion left.
    copy_over(old.path(), &home.file(STORE, INSTITUTION));
    assert!(has(&std::fs::read(secret_file(&home)).expect("reads"), SECRET));
    assert!(codes(&home).contains(&Code::CopyDeleted));
    run_deletions(&home);
    all_is_well(&home);
    copy_over(old.path(), &home.file(STORE, INSTITUTION));
    check_all(&home);
    all_is_well(&home);
}

/// The content with the secret in the store.
fn secret_file(home: &TestHome) -> std::path::PathBuf {
    let found = home.keys(STORE).into_iter().map(|key| home.file(STORE, &key));
    let mut found = found.filter(|file| has(&std::fs::read(file).expect("reads"), SECRET));
    found.next().expect("it is back")
}

#[test]
fn what_a_deletion_left_is_watched_after_a_new_deposit() {
    let Some(home) = home_on(Engine::Sqlite) else { return };
    let before = home.keys(STORE);
    delete(&home, &[]);
    let left: Vec<String> = home.keys(STORE).into_iter().filter(|key| !key.contains(".strongroom")).collect();
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"again")]);
    assert_eq!(codes(&home), []);
    assert!(left.iter().any(|key| !before.contains(key)));
    let of_object =
        |key: &&String| key.starts_with(INSTITUTION) && !key.contains("extensions") && key.matches('/').count() > 3;
    let mut seen = 0;
    for key in left.iter().filter(of_object) {
        let file = home.file(STORE, key);
        let text = std::fs::read(&file).expect("reads");
        let is_log = key.contains("/logs/") && !key.contains("-deletion-");
        if is_log {
            continue;
        }
        for change in [None, Some(&b"{}"[..])] {
            match change {
                None => std::fs::remove_file(&file).expect("removes"),
                Some(bytes) => std::fs::write(&file, bytes).expect("writes"),
            }
            assert_eq!(check_all(&home).repaired, 1, "{key}");
            assert_eq!(std::fs::read(&file).expect("is back"), text, "{key}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}: {left:?}");
    all_is_well(&home);
}

fn subject() -> legal_holds::Subject {
    legal_holds::Subject::Object { object: format!("{INSTITUTION}/letters"), paths: Vec::new() }
}

#[test]
fn a_deletion_after_a_legal_hold_was_released_is_learned_of_with_the_release() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        let placed = legal_holds::add(&console(&home), &subject(), "court").expect("is placed");
        let backup = home.backup("before");
        legal_holds::release(&console(&home), &placed[0].legal_hold.to_string(), "settled").expect("is released");
        delete(&home, paths);
        let home = home.restored(&backup);
        let adopting = home.opened_to_adopt();
        let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        assert!(summary.is_complete(), "{:?}", summary.problems);
        drop(adopting);
        is_nowhere(&home, SECRET);
        let object = format!("{INSTITUTION}/letters");
        let filter = journal::Filter { object: Some(object), ..journal::Filter::default() };
        let lines = journal::list(&console(&home), &filter, None).expect("lists").items;
        let told = lines.iter().filter(|line| line.act == "deletions.import").count();
        assert_eq!(told, 1, "{lines:?}");
    }
}

#[test]
fn a_store_that_tells_of_a_deletion_is_not_believed_against_a_legal_hold() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        let (before, deleted) = (home.path().join("before"), home.path().join("deleted"));
        for store in KEPT_IN {
            copy_over(&home.file(store, ""), &before.join(store));
        }
        let backup = home.backup("before");
        delete(&home, paths);
        copy_over(&home.file(STORE, INSTITUTION), &deleted);
        for store in KEPT_IN {
            std::fs::remove_dir_all(home.file(store, "")).expect("removes");
            copy_over(&before.join(store), &home.file(store, ""));
        }
        let home = home.restored(&backup);
        legal_holds::add(&console(&home), &subject(), "court").expect("is placed");
        let backup = home.backup("held");
        home.ingest("maps", &[("a.txt", b"map")]);
        let home = home.restored(&backup);
        assert!(home.registry.refusal().is_some(), "it is behind its stores");
        copy_over(&deleted, &home.file(STORE, INSTITUTION));
        let adopting = home.opened_to_adopt();
        let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        let is_said =
            summary.problems.iter().any(|problem| problem.reason.contains("a legal hold of the registry forbids"));
        assert!(is_said, "{:?}", summary.problems);
        drop(adopting);
        run_deletions(&home.opened_again());
        let object = home.object("letters");
        assert_eq!(object.state, ObjectState::Active);
        assert!(
            home.keys("primary")
                .into_iter()
                .any(|key| has(&std::fs::read(home.file("primary", &key)).expect("reads"), SECRET))
        );
    }
}

/// The objects of a store as a copy.
fn copied(home: &TestHome) -> tempfile::TempDir {
    let old = tempfile::TempDir::new().expect("a folder");
    copy_over(&home.file(STORE, INSTITUTION), old.path());
    old
}

#[test]
fn what_was_deleted_is_deleted_again_whatever_the_store_was_put_back_to_and_what_came_since() {
    // Whether a file goes before the second version, whether there is a new deposit, and who looks first.
    for number in 0..8 {
        let Some(home) = world(Engine::Sqlite, "") else { return };
        home.ingest("letters", &[("a.txt", b"one"), ("secret.txt", SECRET), ("b.txt", b"two")]);
        let old = copied(&home);
        if number % 2 == 1 {
            delete(&home, &["data/b.txt"]);
        }
        home.ingest("letters", &[("a.txt", b"one"), ("secret.txt", SECRET), ("c.txt", b"three")]);
        delete(&home, &[]);
        if number % 4 > 1 {
            home.ingest("letters", &[("a.txt", b"one"), ("d.txt", b"four")]);
        }
        put_back_over(&home, old.path());
        if number > 3 {
            codes(&home);
        }
        let first = check_all(&home);
        assert!(number > 3 || first.damaged > 0, "{number}: {first:?}");
        is_nowhere(&home, SECRET);
        check_fixity(&home);
        all_is_well(&home);
    }
}

/// Puts the objects of a store back as they were, beside those that came since.
fn put_back_over(home: &TestHome, old: &Path) {
    let mut folders = vec![old.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let below = path.strip_prefix(old).expect("below");
            if path.is_dir() && path.join("0=ocfl_object_1.1").exists() {
                let place = home.file(STORE, INSTITUTION).join(below);
                std::fs::remove_dir_all(&place).expect("removes");
                copy_over(&path, &place);
            } else if path.is_dir() {
                folders.push(path);
            }
        }
    }
}

#[test]
fn a_damaged_inventory_is_put_right_by_the_deletion_that_it_stands_in_the_way_of() {
    for is_deposited_again in [false, true] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        damage_root(&home);
        let request = agreed(&home, &[]);
        work(&home.home, &request);
        is_nowhere(&home, SECRET);
        if is_deposited_again {
            home.ingest("letters", &[("a.txt", b"one"), ("d.txt", b"four")]);
        }
        check_all(&home);
        all_is_well(&home);
    }
}

#[test]
fn an_object_of_which_a_version_lost_its_inventory_is_valid_when_it_is_deleted() {
    let Some(home) = world(Engine::Sqlite, "") else { return };
    home.ingest("letters", &[("a.txt", b"shared"), ("b.txt", b"one")]);
    home.ingest("letters", &[("b.txt", b"two"), ("c.txt", b"shared")]);
    delete(&home, &["data/a.txt"]);
    check(&home, &KEPT_IN);
    delete(&home, &[]);
    is_nowhere(&home, b"shared");
    check(&home, &KEPT_IN);
    check_fixity(&home);
}

#[test]
fn a_registry_that_was_made_from_the_stores_deletes_again_as_well() {
    let Some(home) = home_on(Engine::Sqlite) else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("d.txt", b"four")]);
    let old = copied(&home);
    home.ingest("letters", &[("a.txt", b"one"), ("e.txt", b"five")]);
    delete(&home, &[]);
    let (_folder, made) = rebuilt(&home, "primary");
    put_back_over(&home, old.path());
    check_all(&made);
    is_nowhere(&home, SECRET);
    check(&made, &KEPT_IN);
    check_fixity(&made);
}

/// Changes a byte of the root inventory of the object in the store.
fn damage_root(home: &TestHome) {
    let is_root =
        |key: &&String| key.ends_with("/inventory.json") && !key.contains("/v") && key.matches('/').count() == 5;
    let key = home.keys(STORE).iter().find(is_root).expect("a root inventory").clone();
    let file = home.file(STORE, &key);
    let mut text = std::fs::read(&file).expect("reads");
    text[20] ^= 1;
    std::fs::write(&file, text).expect("writes");
}

#[test]
fn what_a_deletion_left_is_missed_where_all_of_it_is_gone() {
    let Some(home) = home_on(Engine::Sqlite) else { return };
    let before = home.object("letters");
    delete(&home, &[]);
    home.ingest("letters", &[("a.txt", b"one"), ("d.txt", b"four")]);
    let is_of = |key: &String| key.contains("/logs/") && key.contains("-deletion-");
    let tombstone = home.keys(STORE).into_iter().find(is_of).expect("a tombstone");
    let root = tombstone.split_once("/logs/").expect("in logs").0.to_owned();
    assert_ne!(home.object("letters").generation, before.generation);
    std::fs::remove_dir_all(home.file(STORE, &root)).expect("removes");
    assert_eq!(codes(&home), [Code::ObjectMissing]);
    assert_eq!(check_all(&home).repaired, 1);
    assert!(home.keys(STORE).contains(&tombstone));
    all_is_well(&home);
}

#[test]
fn an_altered_tombstone_is_kept_as_evidence() {
    let Some(home) = home_on(Engine::Sqlite) else { return };
    delete(&home, &[]);
    let is_of = |key: &String| key.contains("/logs/") && key.contains("-deletion-");
    let tombstone = home.keys(STORE).into_iter().find(is_of).expect("a tombstone");
    std::fs::write(home.file(STORE, &tombstone), b"another text").expect("writes");
    assert_eq!(check_all(&home).repaired, 1);
    let quarantine = home.home.roles.quarantine.clone();
    let kept = quarantine.list(&strongroom_storage::Key::ROOT).expect("lists").map(|listed| listed.expect("a key").key);
    let evidence = kept.filter(|key| key.as_str().strip_suffix(".json").is_none()).count();
    assert!(evidence > 0, "what was found is there");
    all_is_well(&home);
}

/// Refuses every change below a key.
#[derive(Clone)]
struct Refuses {
    below: String,
}

impl Layer for Refuses {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let changes =
            !matches!(call.operation, Operation::Head | Operation::Open | Operation::List | Operation::Assembly);
        if changes && call.key.as_str().starts_with(&self.below) {
            let source = std::io::Error::other("it is locked");
            return Err(StorageError::Io { store: STORE.to_owned(), act: "change", key: call.key.clone(), source });
        }
        act()
    }
}

#[test]
fn what_is_kept_is_repaired_while_a_store_refuses_an_earlier_deletion() {
    let Some((home, old)) = with_old_copy(&[]) else { return };
    let lost = home.keys(STORE).into_iter().find(|key| key.contains("-deletion-")).expect("a tombstone");
    let earlier = lost.split_once("/logs/").expect("in logs").0.to_owned();
    home.ingest("letters", &[("a.txt", b"one"), ("d.txt", b"four")]);
    put_back_over(&home, old.path());
    let object = home.object("letters").id;
    home.registry.write(move |tx| rows::reopen_of_object_in(tx, object, STORE)).expect("is reopened");
    let is_declaration = |key: &String| key.ends_with("/0=ocfl_object_1.1") && !key.starts_with(&earlier);
    let root = home.keys(STORE).into_iter().filter(is_declaration).filter_map(|key| {
        let root = key.strip_suffix("/0=ocfl_object_1.1")?.to_owned();
        home.keys("primary").contains(&format!("{root}/v1/inventory.json")).then_some(root)
    });
    let files: Vec<_> = root.map(|root| home.file(STORE, &format!("{root}/inventory.json"))).collect();
    let texts: Vec<_> = files.iter().map(|file| std::fs::read(file).expect("reads")).collect();
    for file in &files {
        std::fs::write(file, b"{}").expect("writes");
    }
    let refusing = layered(&home, STORE, Refuses { below: earlier });
    let first = check_all(&refusing);
    assert_eq!((first.repaired, first.unrepairable), (files.len() as u64, 0), "{first:?}");
    let now: Vec<_> = files.iter().map(|file| std::fs::read(file).expect("reads")).collect();
    assert_eq!(now, texts, "what is kept is right");
    let unfinished = refusing.registry.read(|tx| rows::pending_of_object(tx, object)).expect("reads");
    assert_eq!(unfinished.len(), 1, "and what was deleted is still to be removed");
    drop(refusing);
    check_all(&home);
    all_is_well(&home);
}

/// A home with a store as it was before the second version, which is older than the deletion that came behind that.
fn with_copy_of_the_first_version(back: fn(&TestHome, &Path)) -> Option<(TestHome, tempfile::TempDir)> {
    let home = world(Engine::Sqlite, "")?;
    home.ingest("letters", &[("a.txt", b"one"), ("secret.txt", SECRET)]);
    let old = tempfile::TempDir::new().expect("a folder");
    copy_over(&home.file(STORE, INSTITUTION), old.path());
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two"), ("secret.txt", SECRET)]);
    delete(&home, &["data/secret.txt"]);
    back(&home, old.path());
    Some((home, old))
}

/// Refuses to put files whose name ends so.
#[derive(Clone)]
struct RefusesNamed(&'static str);

impl Layer for RefusesNamed {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if matches!(call.operation, Operation::Put) && call.key.as_str().ends_with(self.0) {
            let source = std::io::Error::other("it is locked");
            return Err(StorageError::Io { store: STORE.to_owned(), act: "put", key: call.key.clone(), source });
        }
        act()
    }
}

#[test]
fn a_check_that_fails_behind_the_first_inventory_it_puts_back_forgets_nothing() {
    let Some((home, _old)) = with_copy_of_the_first_version(|home, old| {
        // What it had got since stays.
        copy_over(old, &home.file(STORE, INSTITUTION));
    }) else {
        return;
    };
    let failing = layered(&home, STORE, RefusesNamed("/v2/inventory.json.sha512"));
    assert!(check_all(&failing).failed > 0);
    drop(failing);
    assert!(check_all(&home).failed == 0);
    run_deletions(&home);
    all_is_well(&home);
}

#[test]
fn what_was_deleted_goes_also_where_something_of_the_object_cannot_be_repaired() {
    let Some((home, _old)) = with_copy_of_the_first_version(put_back) else { return };
    let lost = home.keys("primary").into_iter().find(|key| key.ends_with("/v2/inventory.json")).expect("an inventory");
    let text = std::fs::read(home.file("primary", &lost)).expect("reads");
    std::fs::write(home.file("primary", &lost), b"{}").expect("writes");
    assert!(check_all(&home).unrepairable > 0);
    is_nowhere(&home, SECRET);
    for store in KEPT_IN {
        std::fs::write(home.file(store, &lost), &text).expect("writes");
    }
    check_all(&home);
    all_is_well(&home);
}

#[test]
fn a_store_that_is_filled_loses_what_was_deleted_and_came_back_with_an_older_copy() {
    let Some((mut home, _old)) = with_copy_of_the_first_version(put_back) else { return };
    home.home = Arc::new(home.opened_with(&["primary"], &[]));
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"three")]);
    home.home = Arc::new(home.opened_with(&KEPT_IN, &[]));
    let filled = backfill::run(&home, &BackfillRequest::new(STORE), &mut |_| ()).expect("fills");
    assert_eq!((filled.objects, filled.failed), (1, 0), "{filled:?}");
    is_nowhere(&home, SECRET);
    // What the store has lost besides is found as ever.
    check_all(&home);
    all_is_well(&home);
}

#[test]
fn a_stray_file_with_the_digest_of_deleted_bytes_is_for_a_person_to_remove() {
    let Some((home, old)) = with_old_copy(&["data/secret.txt"]) else { return };
    let lost = home.keys(STORE);
    put_back(&home, old.path());
    let new = new_keys(&home, &lost).into_iter().find(|key| {
        key.contains("/content/") && std::fs::read(home.file(STORE, key)).is_ok_and(|text| has(&text, SECRET))
    });
    let content = new.expect("a content");
    run_deletions(&home);
    check_all(&home);
    let (root, name) =
        (content.split_once("/v2/").expect("of version 2").0, content.rsplit('/').next().expect("a name"));
    let stray = home.file(STORE, &format!("{root}/v2/content/stray/{name}"));
    std::fs::create_dir_all(stray.parent().expect("a folder")).expect("makes it");
    std::fs::write(&stray, SECRET).expect("writes");
    assert_eq!(codes(&home), [Code::FileForeign]);
    std::fs::remove_file(stray).expect("removes");
    all_is_well(&home);
}
