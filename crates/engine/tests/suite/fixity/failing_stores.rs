//! Stores that fail, lie, or keep what they have in the cold: what is no damage is not taken for it, what is cut short is
//! completed, and nothing is given up or replaced without reason.

use std::path::Path;
use std::sync::Arc;

use strongroom_storage::{
    Assembly, Body, Capabilities, FolderStore, Head, Key, Listing, PutOptions, RemovalHold, StorageError, Store,
};
use strongroom_storage_test::{Call, Fault, Faults, Layer, Layered, Operation};

use super::*;

#[test]
fn what_was_cut_short_is_completed_and_told_once() {
    for (operation, nth) in [(Operation::Put, 1), (Operation::Put, 2), (Operation::Open, 1), (Operation::Open, 2)] {
        let made = home();
        let object = letters(&made);
        let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
        damage(&made, "primary", &key);
        // The quarantine fails in the middle: the finding is open, nothing is replaced.
        let quarantine = FolderStore::open("quarantine", made.path().join("stores/quarantine")).expect("opens");
        let faulty = Arc::new(Layered::new(Arc::new(quarantine), Faults::new()));
        faulty.layer().plan(operation, nth, Fault::Fail(std::io::ErrorKind::Other));
        let mut cut = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
        cut.roles.quarantine = faulty.clone();
        let summary = run(&cut, &all());
        assert_eq!((faulty.layer().happened(), summary.failed, summary.repaired), (1, 1, 0), "{summary:?}");
        assert!(summary.errors[0].contains("a planned fault"), "{summary:?}");
        assert_ne!(fs::read(made.file("primary", &key)).expect("reads"), b"dear reader", "the witness is still there");
        assert_eq!(findings(&made)[0].state, FindingState::Open);

        // It stays due, so that an ordinary round completes it.
        let summary = run(&made, &all());
        assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
        let found = findings(&made);
        assert_eq!((found.len(), found[0].state), (1, FindingState::Repaired));
        assert_eq!(outcomes(&made, &object, "recovery", "success"), 1);
        assert_eq!(outcomes(&made, &object, "quarantine", "success"), 1);
    }
}

#[test]
fn a_repair_cut_short_after_the_copy_was_replaced_is_told_all_the_same() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    damage(&made, "primary", &key);
    // In each store the log of the damage is put, between two marks; then the copy; then, behind a mark, the log of the
    // repair, which fails in both.
    let mut cut = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    for (store, nth) in [("primary", 6), ("secondary", 5)] {
        let folder = FolderStore::open(store, made.path().join("stores").join(store)).expect("opens");
        let faulty = Layered::new(Arc::new(folder), Faults::new());
        faulty.layer().plan(Operation::Put, nth, Fault::Fail(std::io::ErrorKind::Other));
        cut.stores.insert(store.into(), Arc::new(faulty));
    }
    let summary = run(&cut, &all());
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    assert_eq!(fs::read(made.file("primary", &key)).expect("reads"), b"dear reader");
    assert_eq!(findings(&made)[0].state, FindingState::Open);
    assert_eq!(outcomes(&made, &object, "recovery", "success"), 0);
    assert!(made.registry.read(stores::missed_log_counts).expect("counts").is_empty(), "a later one tells of it");

    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.checked), (0, summary.passed), "{summary:?}");
    let found = findings(&made);
    assert_eq!((found.len(), found[0].state), (1, FindingState::Repaired));
    assert_eq!(outcomes(&made, &object, "recovery", "success"), 1);
    for store in KEPT_IN {
        assert!(logs(&made, store).last().is_some_and(|log| log.contains("-repair-")));
    }
}

#[test]
fn a_read_that_went_wrong_once_is_no_damage() {
    let made = home();
    let object = letters(&made);
    let primary = FolderStore::open("primary", made.path().join("stores/primary")).expect("opens");
    let faulty = Arc::new(Layered::new(Arc::new(primary), Faults::new()));
    // Three files that declare the storage root, then the declaration, two inventories and two sidecars are opened before
    // the first content.
    faulty.layer().plan(Operation::Open, 9, Fault::CorruptByte { at: 0 });
    let mut flaky = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    flaky.stores.insert("primary".into(), faulty.clone());
    let only = FixityRequest { store: Some("primary".into()), ..all() };
    let summary = run(&flaky, &only);
    assert_eq!(faulty.layer().happened(), 1);
    assert_eq!((summary.damaged, summary.failed, summary.passed), (0, 0, summary.checked), "{summary:?}");
    assert!(findings(&made).is_empty());
    assert_eq!(outcomes(&made, &object, "fixity check", "failure"), 0);
}

/// A disk with a sector that cannot be read.
struct BadSector(String);

impl Layer for BadSector {
    fn call<T>(&self, _: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        act()
    }

    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        if call.key.as_str() == self.0 { Ok(Box::new(Unreadable)) } else { act() }
    }
}

struct Unreadable;

impl std::io::Read for Unreadable {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(rustix::io::Errno::IO.into())
    }
}

/// The same home, with a store of which one key cannot be read.
fn with_bad_sector(made: &TestHome, store: &str, key: &str) -> Home {
    let folder = FolderStore::open(store, made.path().join("stores").join(store)).expect("opens");
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    home.stores.insert(store.into(), Arc::new(Layered::new(Arc::new(folder), BadSector(key.into()))));
    home
}

/// The same home, with a store of which these keys cannot be read until something is put there.
fn with_bad_sectors(made: &TestHome, store: &str, keys: &[String]) -> Home {
    let folder = FolderStore::open(store, made.path().join("stores").join(store)).expect("opens");
    let faulty = Layered::new(Arc::new(folder), Faults::new());
    for key in keys {
        faulty.layer().make_unreadable(&Key::new(key.as_str()).expect("a key"));
    }
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    home.stores.insert(store.into(), Arc::new(faulty));
    home
}

/// The text of every note in quarantine.
fn notes(made: &TestHome) -> Vec<String> {
    let keys =
        made.keys("quarantine").into_iter().filter(|key| Path::new(key).extension().is_some_and(|kind| kind == "json"));
    keys.map(|key| fs::read_to_string(made.file("quarantine", &key)).expect("reads")).collect()
}

#[test]
fn a_copy_that_its_medium_cannot_read_is_replaced_and_the_evidence_says_so() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    let bad = with_bad_sectors(&made, "primary", std::slice::from_ref(&key));
    let summary = run(&bad, &all());
    assert_eq!((summary.damaged, summary.repaired, summary.failed), (1, 1, 0), "{summary:?}");
    assert_eq!(fs::read(made.file("primary", &key)).expect("reads"), b"dear reader");
    let found = &findings(&made)[0];
    assert_eq!(found.state, FindingState::Repaired);
    assert!(found.detail.contains("could not be read") && found.quarantine_key.is_some(), "{found:?}");
    assert!(notes(&made).iter().any(|note| note.contains("\"unreadable\": \"")), "{:?}", notes(&made));
    assert_eq!(outcomes(&made, &object, "quarantine", "failure"), 1, "there were no bytes to keep");
    let log = logs(&made, "secondary").into_iter().find(|log| log.contains("-damage-")).expect("a log");
    let log = fs::read_to_string(made.file("secondary", &log)).expect("reads");
    assert!(log.contains("\"unreadable\": \""), "{log}");
}

#[test]
fn inventories_that_their_medium_cannot_read_are_put_back() {
    let made = home();
    let object = letters(&made);
    let root = object_root(&made, &object, "primary");
    let files = [
        "0=ocfl_object_1.1",
        "inventory.json",
        "inventory.json.sha512",
        "v1/inventory.json",
        "v1/inventory.json.sha512",
    ];
    let keys = files.map(|file| format!("{root}/{file}"));
    let right = keys.clone().map(|key| fs::read(made.file("primary", &key)).expect("reads"));
    let bad = with_bad_sectors(&made, "primary", &keys);
    let summary = run(&bad, &all());
    assert_eq!((summary.damaged, summary.repaired, summary.failed), (1, 1, 0), "{summary:?}");
    assert_eq!(keys.map(|key| fs::read(made.file("primary", &key)).expect("reads")), right);
    let found = &findings(&made)[0];
    assert_eq!((found.kind, found.state), (FindingKind::Inventory, FindingState::Repaired));
    assert!(found.detail.contains("cannot be read by its medium"), "{found:?}");
    assert_eq!(notes(&made).len(), files.len(), "each has its note");
    assert_eq!(run(&bad, &all()).damaged, 0);
}

#[test]
fn a_source_that_the_disk_cannot_read_repairs_nothing() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    fs::remove_file(made.file("primary", &key)).expect("removes");
    let source = copy(&made, &object, "deposit/data/a.txt", "secondary").key;
    let summary = run(&with_bad_sector(&made, "secondary", &source), &all());
    assert_eq!((summary.damaged, summary.unrepairable), (2, 2), "{summary:?}");
    assert!(!made.file("primary", &key).exists(), "nothing half-written is left");
    let summary = run(&made, &all());
    assert_eq!((summary.repaired, summary.unrepairable), (1, 0), "the disk is read again: {summary:?}");
}

#[test]
fn a_store_that_does_not_answer_is_no_reason_to_give_a_copy_up() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    damage(&made, "primary", &key);
    let secondary = FolderStore::open("secondary", made.path().join("stores/secondary")).expect("opens");
    let faulty = Arc::new(Layered::new(Arc::new(secondary), Faults::new()));
    // The first look is at the store's mark, before the log of the damage.
    faulty.layer().plan(Operation::Head, 2, Fault::Fail(std::io::ErrorKind::TimedOut));
    let mut cut = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    cut.stores.insert("secondary".into(), faulty);
    let only = FixityRequest { store: Some("primary".into()), ..all() };
    let summary = run(&cut, &only);
    assert_eq!((summary.failed, summary.unrepairable), (1, 0), "{summary:?}");
    let summary = run(&cut, &only);
    assert_eq!((summary.repaired, summary.unrepairable), (1, 0), "{summary:?}");
}

/// A store whose contents cannot be read before they are retrieved.
struct Cold(FolderStore);

impl Cold {
    fn is_cold(key: &Key) -> bool {
        key.as_str().contains("/content/")
    }
}

impl Store for Cold {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        let head = self.0.head(key)?;
        Ok(if Self::is_cold(key) { Head { readable: false, class: Some("GLACIER".into()), ..head } } else { head })
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        assert!(!Self::is_cold(key), "a cold content was opened");
        self.0.open(key, offset, length)
    }

    fn put(&self, key: &Key, body: &mut dyn std::io::Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.0.put(key, body, options)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.0.sync()
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.0.list(prefix)
    }

    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        self.0.delete_match(key, etag, keep)
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        self.0.delete(key)
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.0.delete_all(prefix)
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.0.purge(key)
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.0.purge_all(prefix)
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        self.0.purge_replaced(key)
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.0.removal_hold(key)
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.0.removal_hold_below(prefix)
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        self.0.assembly(id, target)
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        self.0.assemblies()
    }
}

#[test]
fn a_cold_copy_is_attested_and_never_called_passed() {
    let made = home();
    let object = letters(&made);
    let mut cold = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let folder = FolderStore::open("secondary", made.path().join("stores/secondary")).expect("opens");
    cold.stores.insert("secondary".into(), Arc::new(Cold(folder)));
    let only = FixityRequest { store: Some("secondary".into()), ..all() };
    let before = copy(&made, &object, "deposit/data/a.txt", "secondary");
    let checks = outcomes(&made, &object, "fixity check", "success");
    let summary = run(&cold, &only);
    assert_eq!((summary.passed, summary.attested), (1, summary.checked - 1), "inventories are readable: {summary:?}");
    assert_eq!(outcomes(&made, &object, "fixity check", "success"), checks + 1);
    let after = copy(&made, &object, "deposit/data/a.txt", "secondary");
    assert_eq!(after.last_fixity_at, before.last_fixity_at);
    let report = fixity::report(&cold, Scope::System).expect("reports");
    assert_eq!((report[0].attested, report[1].attested), (0, summary.attested));
    assert_eq!(run(&cold, &FixityRequest::default()), FixitySummary::default(), "fresh by its own date");

    // It is no source either, and where its size is wrong that is said.
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    damage(&made, "primary", &key);
    fs::write(made.file("secondary", &after.key), b"short").expect("writes");
    let summary = run(&cold, &all());
    assert_eq!((summary.damaged, summary.unrepairable), (2, 2), "{summary:?}");
    let open = fixity::problems(&made, None, None, 10).expect("problems");
    assert!(open.iter().all(|finding| finding.detail.contains("retrieve")), "{open:?}");
}

/// A medium that changes a byte of what is put under contents.
pub(crate) struct Spoiling(pub(crate) std::path::PathBuf);

impl Layer for Spoiling {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let outcome = act()?;
        if call.operation == Operation::Put && call.key.as_str().contains("/content/") {
            let file = self.0.join(call.key.as_str());
            let mut bytes = fs::read(&file).expect("was put");
            bytes[0] ^= 1;
            fs::write(&file, bytes).expect("changes a byte");
        }
        Ok(outcome)
    }
}

/// The same home, with such a medium in a store.
pub(crate) fn with_spoiling(made: &TestHome, store: &str) -> Home {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let layer = Spoiling(made.path().join("stores").join(store));
    home.stores.insert(store.into(), Arc::new(Layered::new(home.stores[store].clone(), layer)));
    home
}

#[test]
fn a_copy_that_does_not_read_back_after_its_repair_is_not_called_repaired() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    fs::remove_file(made.file("primary", &key)).expect("removes");
    let summary = run(&with_spoiling(&made, "primary"), &all());
    assert_eq!((summary.repaired, summary.failed), (0, 1), "{summary:?}");
    assert!(summary.errors[0].contains("does not read back as recorded"), "{summary:?}");
    assert_eq!(findings(&made)[0].state, FindingState::Open);
    assert_ne!(copy(&made, &object, "deposit/data/a.txt", "primary").state, CopyState::Kept);
    assert_eq!(run(&made, &all()).repaired, 1);
}
