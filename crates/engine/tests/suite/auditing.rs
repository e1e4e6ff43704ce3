//! Audit chains: every act is in one, once, and outsiders verify it by its files, wherever they lie.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use strongroom_audit::{PublicKey, SigningKey, Verified};
use strongroom_engine::app::audit::{self, Export, Form};
use strongroom_engine::app::{Caller, OpContext, institutions, journal, legal_holds};
use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, background};
use tempfile::TempDir;

use crate::deleting::{delete, rebuilt};
use crate::deletions::world;
use crate::fixture::{self, Engine, INSTITUTION, KEPT_IN, TestHome, home_on};

/// A key that openssl has made.
pub(crate) const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
pub(crate) const DAY: Duration = Duration::from_hours(24);

pub(crate) fn try_run(home: &Home) -> Result<String, String> {
    let task = background::TASKS.iter().find(|task| task.name == "audit").expect("the task");
    (task.run)(home, &Shutdown::new()).map_err(|error| error.chain())
}

pub(crate) fn run(home: &Home) {
    try_run(home).expect("runs");
}

/// Has everything that was done until now published in the stores.
pub(crate) fn publish(home: &TestHome) {
    run(home);
    home.clock.advance(DAY);
    run(home);
}

pub(crate) fn console(home: &Arc<Home>) -> OpContext {
    OpContext::new(home.clone(), Caller::at_console("tester"))
}

pub(crate) fn verify(paths: &[&Path], keys: &[PublicKey]) -> Vec<Verified> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).to_owned()).collect();
    let found = strongroom_audit::verify(&paths, keys).expect("verifies");
    for chain in &found {
        assert_eq!((&chain.fault, chain.first), (&None, 1), "{chain:?}");
    }
    found
}

pub(crate) fn exported(home: &Arc<Home>) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    audit::export(&console(home), folder.path(), &Export::default(), &Shutdown::new()).expect("exports");
    verify(&[folder.path()], &[]);
    folder
}

/// The entries of a chain in a folder, in order.
pub(crate) fn entries(folder: &Path) -> Vec<serde_json::Value> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder.join("entries")).expect("a folder").map(|entry| entry.expect("one").path()).collect();
    files.sort();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).expect("reads"));
    texts
        .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<_>>())
        .collect()
}

/// How often each act is in a chain.
pub(crate) fn acts(folder: &Path) -> BTreeMap<String, usize> {
    let mut acts = BTreeMap::new();
    for entry in entries(folder) {
        *acts.entry(entry["id"].as_str().expect("an id").to_owned()).or_default() += 1;
    }
    acts
}

pub(crate) fn assert_once(folder: &Path) {
    let more: Vec<_> = acts(folder).into_iter().filter(|(_, times)| *times > 1).collect();
    assert_eq!(more, []);
}

pub(crate) fn folder_in(home: &TestHome, store: &str) -> PathBuf {
    home.file(store, "_strongroom/audit").join(INSTITUTION)
}

#[test]
fn every_act_is_in_a_chain_once() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(home) = home_on(engine, "") else { continue };
        home.ingest("letters", &[("a.txt", b"one")]);
        run(&home);
        home.ingest("letters", &[("a.txt", b"two")]);
        let context = console(&home.home);
        let subject = legal_holds::Subject::Object { object: format!("{INSTITUTION}/letters"), paths: Vec::new() };
        legal_holds::add(&context, &subject, "court").expect("holds");
        let folder = exported(&home.home);
        let chain = folder.path().join(INSTITUTION);
        assert_once(&chain);
        let found = entries(&chain);
        let of = |source: &str| found.iter().filter(|entry| entry["source"] == source).count();
        assert_eq!(of("version"), 2);
        let lines = journal::list(&context, &journal::Filter::default(), None).expect("lists").items;
        let mut told = acts(&chain);
        told.extend(acts(&folder.path().join("_system")));
        // What the export itself has appended comes behind it.
        let missing = lines.iter().filter(|line| !told.contains_key(&line.line.to_string()));
        assert_eq!(
            missing.map(|line| (line.act.as_str(), line.outcome.as_str())).collect::<Vec<_>>(),
            [("audit.export", "done")]
        );
        let version = found.iter().rfind(|entry| entry["act"] == "ingestion").expect("an entry");
        assert_eq!((&version["object"], &version["version"]), (&"test.edu/letters".into(), &2.into()));
        assert!(version["inventory_sha512"].as_str().is_some_and(|digest| digest.len() == 128));
        let (chains, pending) = audit::list(&context, None).expect("lists");
        assert_eq!((chains.len(), pending), (2, 1));
        // Passed checks are none.
        assert!(!found.iter().any(|entry| entry["act"] == "fixity check"));
    }
}

#[test]
fn processes_that_append_at_once_append_each_act_once() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(home) = home_on(engine, "") else { continue };
        for number in 0..40_u8 {
            home.ingest(&format!("object-{}", number % 4), &[("a.txt", &[number])]);
            if number % 10 == 9 {
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| run(&home));
                    }
                });
            }
        }
        let folder = exported(&home.home);
        assert_once(&folder.path().join(INSTITUTION));
        let versions =
            entries(&folder.path().join(INSTITUTION)).iter().filter(|one| one["source"] == "version").count();
        assert_eq!(versions, 40);
    }
}

#[test]
fn what_was_done_is_published_in_every_store_and_read_there_again() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    run(&home);
    assert!(!folder_in(&home, "primary").exists(), "not before it is due");
    publish(&home);
    home.ingest("letters", &[("a.txt", b"two")]);
    let folder = exported(&home.home);
    run(&home);
    for store in KEPT_IN {
        let found = verify(&[folder.path(), &home.file(store, "")], &[]);
        assert!(found.iter().any(|chain| chain.chain.as_deref() == Some(INSTITUTION) && chain.heads >= 2));
    }
    // Lost and damaged, they come back, and the journal says so.
    let lost = std::fs::read_dir(folder_in(&home, "primary").join("heads")).expect("a folder").next().expect("a head");
    std::fs::remove_file(lost.expect("a head").path()).expect("removes");
    let damaged = std::fs::read_dir(folder_in(&home, "secondary").join("entries")).expect("a folder").next();
    let damaged = damaged.expect("a file").expect("a file").path();
    let text = std::fs::read(&damaged).expect("reads");
    std::fs::write(&damaged, b"{}").expect("writes");
    run(&home);
    assert_ne!(std::fs::read(&damaged).expect("reads"), text, "it was read lately");
    home.clock.advance(DAY * 31);
    run(&home);
    assert_eq!(std::fs::read(&damaged).expect("reads"), text);
    for store in KEPT_IN {
        verify(&[&home.file(store, "")], &[]);
    }
    let filter = journal::Filter { act: Some("audit.repair".to_owned()), ..journal::Filter::default() };
    assert_eq!(journal::list(&console(&home.home), &filter, None).expect("lists").items.len(), 2);
}

#[test]
fn other_bytes_in_the_place_of_a_range_are_not_replaced() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    run(&home);
    home.clock.advance(DAY);
    let (chains, _) = audit::list(&console(&home.home), Some(INSTITUTION)).expect("lists");
    let name = format!("{:012}-{:012}.jsonl", 1, chains[0].entries);
    let place = folder_in(&home, "primary").join("entries").join(name);
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("makes it");
    std::fs::write(&place, b"forged\n").expect("writes");
    let error = try_run(&home).expect_err("refuses");
    assert!(error.contains("has other bytes"), "{error}");
    assert_eq!(std::fs::read(&place).expect("reads"), b"forged\n");
    verify(&[&home.file("secondary", "")], &[]);
    std::fs::remove_file(&place).expect("removes");
    run(&home);
    verify(&[&home.file("primary", "")], &[]);
}

#[test]
fn a_registry_that_is_made_from_the_stores_imports_the_chains() {
    let Some(home) = world(Engine::Sqlite, "") else { return };
    home.ingest("photographs", &[("1.tif", b"II*\0")]);
    delete(&home, &["data/b.txt"]);
    publish(&home);
    home.ingest("letters", &[("a.txt", b"not published yet")]);
    let before = entries(&folder_in(&home, "primary"));
    // A store that has lost a file of it; another one has it.
    for entry in std::fs::read_dir(folder_in(&home, "secondary").join("entries")).expect("a folder") {
        std::fs::remove_file(entry.expect("a file").path()).expect("removes");
    }
    let (_folder, made) = rebuilt(&home, "primary");
    let made = Arc::new(made);
    let folder = exported(&made);
    let after = entries(&folder.path().join(INSTITUTION));
    assert_eq!(&after[..before.len()], before);
    assert_once(&folder.path().join(INSTITUTION));
    // What the stores tell of besides is behind it: the version, and no journal.
    let versions = after[before.len()..].iter().filter(|entry| entry["source"] == "version").count();
    assert_eq!(versions, 1);
    run(&made);
    verify(&[&home.file("primary", ""), &home.file("secondary", ""), folder.path()], &[]);
}

#[test]
fn a_registry_that_was_restored_imports_what_it_has_lost_and_appends_its_own_behind() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    home.ingest("letters", &[("a.txt", b"two")]);
    run(&home);
    let backup = home.backup("early");
    let (chains, _) = audit::list(&console(&home.home), Some(INSTITUTION)).expect("lists");
    assert!(chains[0].published < chains[0].entries, "the backup has entries that are not published");
    home.ingest("letters", &[("a.txt", b"three")]);
    publish(&home);
    let published = entries(&folder_in(&home, "primary"));
    let home = home.restored(&backup);
    assert!(home.registry.refusal().is_some());
    let adopting = home.opened_to_adopt();
    let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert!(summary.is_complete(), "{:?}", summary.problems);
    drop(adopting);
    let after = Arc::new(home.opened_again());
    run(&after);
    home.clock.advance(DAY);
    run(&after);
    let folder = exported(&after);
    let found = entries(&folder.path().join(INSTITUTION));
    assert_eq!(&found[..published.len()], published);
    assert_once(&folder.path().join(INSTITUTION));
    assert_eq!(found.iter().filter(|entry| entry["source"] == "version").count(), 3);
    run(&after);
    verify(&[&home.file("primary", ""), folder.path()], &[]);
}

#[test]
fn entries_go_from_the_registry_when_every_store_has_them() {
    let home = fixture::home_with("[retention]\naudit_entries = \"10d\"\n");
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    let before = exported(&home.home);
    let damaged = std::fs::read_dir(folder_in(&home, "secondary").join("entries")).expect("a folder").next();
    let damaged = damaged.expect("a file").expect("a file").path();
    let text = std::fs::read(&damaged).expect("reads");
    std::fs::write(&damaged, b"{}").expect("writes");
    home.clock.advance(DAY * 11);
    run(&home);
    let moved = |home: &TestHome| {
        home.registry.read(|tx| strongroom_registry::audit::ranges(tx, INSTITUTION, 0, 10)).expect("reads")[0].moved_at
    };
    assert_eq!(moved(&home), None, "a store does not have it");
    std::fs::write(&damaged, text).expect("writes");
    run(&home);
    assert!(moved(&home).is_some());
    let left = home.registry.read(|tx| strongroom_registry::audit::entries(tx, INSTITUTION, (1, 1), 1)).expect("reads");
    assert_eq!(left, []);
    // The chain is whole, with what comes behind.
    home.ingest("letters", &[("a.txt", b"two")]);
    publish(&home);
    let after = exported(&home.home);
    let (before, after) = (entries(&before.path().join(INSTITUTION)), entries(&after.path().join(INSTITUTION)));
    assert_eq!(&after[..before.len()], before);
    assert!(after.len() > before.len());
    verify(&[&home.file("primary", "")], &[]);
}

#[test]
fn heads_are_signed_and_the_chain_announces_each_key() {
    let mut home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    let settings = |home: &TestHome, key: Option<&str>| {
        let mut settings = home.settings.clone();
        settings.audit.signing_key = key.map(str::to_owned);
        let opened = Home::with_registry(home.path(), settings, home.registry.clone()).expect("opens");
        Arc::new(opened)
    };
    home.home = settings(&home, Some("audit.pem"));
    home.ingest("letters", &[("a.txt", b"two")]);
    home.clock.advance(DAY);
    let error = try_run(&home).expect_err("there is no key");
    assert!(error.contains("audit.signing_key"), "{error}");
    std::fs::write(home.path().join("audit.pem"), KEY).expect("writes");
    run(&home);
    let key = SigningKey::from_pem(KEY).expect("a key").public();
    let store = home.file("primary", "");
    assert!(verify(&[&store], &[]).iter().all(|chain| chain.signed == 1));
    let told: Vec<_> =
        entries(&folder_in(&home, "primary")).into_iter().filter(|entry| entry["act"] == "audit.key").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["target"], key.fingerprint().expect("a fingerprint"));
    // Without the setting the chain is left to processes that have the key.
    home.home = settings(&home, None);
    home.ingest("letters", &[("a.txt", b"three")]);
    run(&home);
    home.clock.advance(DAY);
    let error = try_run(&home).expect_err("it has no key");
    assert!(error.contains("does not publish"), "{error}");
    home.home = settings(&home, Some("none"));
    publish(&home);
    assert!(verify(&[&store], &[]).iter().all(|chain| chain.heads >= 3 || chain.chain.as_deref() != Some(INSTITUTION)));
    let told = entries(&folder_in(&home, "primary")).into_iter().filter(|entry| entry["act"] == "audit.key").count();
    assert_eq!(told, 2);
}

/// What is not there by its name is found within a day, and anything else when it is asked for.
#[test]
fn what_a_store_has_of_the_chains_is_checked_when_it_is_asked_for() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    let stop = Shutdown::new();
    let check = |stores: &[String]| audit::check(&console(&home.home), stores, &stop).expect("checks");
    let found = check(&[]);
    assert!(found.iter().all(|store| store.ok && store.ranges > 0 && store.put_back == 0), "{found:?}");
    std::fs::remove_dir_all(folder_in(&home, "primary")).expect("removes");
    run(&home);
    assert!(!folder_in(&home, "primary").exists(), "it was compared less than a day ago");
    home.clock.advance(DAY);
    run(&home);
    verify(&[&home.file("primary", "")], &[]);
    let entries = std::fs::read_dir(folder_in(&home, "secondary").join("entries")).expect("a folder").next();
    let changed = entries.expect("a file").expect("a file").path();
    let text = std::fs::read(&changed).expect("reads");
    std::fs::write(&changed, b"{}").expect("writes");
    let [found] = check(&["secondary".to_owned()]).try_into().expect("one store");
    assert_eq!((found.ok, found.put_back, &found.message), (false, 1, &None), "{found:?}");
    assert_eq!(std::fs::read(&changed).expect("reads"), text);
    let stray = changed.with_file_name(strongroom_audit::names::entries_name(900, 901));
    std::fs::write(&stray, b"{}\n").expect("writes");
    let [found] = check(&["secondary".to_owned()]).try_into().expect("one store");
    assert!(found.message.as_ref().is_some_and(|said| said.contains("entries 900 to 901")), "{found:?}");
    try_run(&home).expect_err("it is there");
    assert!(check(&["primary".to_owned()])[0].ok, "it is not in this one");
    std::fs::remove_file(&stray).expect("removes");
    run(&home);
    assert!(check(&[]).iter().all(|store| store.ok));
    let unknown = home.file("secondary", "_strongroom/audit/nobody.example/entries");
    std::fs::create_dir_all(&unknown).expect("makes a folder");
    std::fs::write(unknown.join(strongroom_audit::names::entries_name(1, 1)), b"{}\n").expect("writes");
    let [found] = check(&["secondary".to_owned()]).try_into().expect("one store");
    assert!(found.message.as_ref().is_some_and(|said| said.contains("nobody.example")), "{found:?}");
}

#[test]
fn the_deletion_of_an_object_is_an_act_of_its_chain() {
    let Some(home) = world(Engine::Sqlite, "") else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    delete(&home, &["data/b.txt"]);
    delete(&home, &[]);
    let folder = exported(&home.home);
    let found = entries(&folder.path().join(INSTITUTION));
    let of = |act: &str| found.iter().filter(|entry| entry["act"] == act).collect::<Vec<_>>();
    let [file, object] = of("deletion").try_into().expect("two deletions");
    assert!(file["detail"].as_str().is_some_and(|said| said.contains("the file deposit/data/b.txt")), "{file}");
    assert!(object["detail"].as_str().is_some_and(|said| said.contains("the object test.edu/letters")), "{object}");
    assert!(object["outcome_detail"].as_str().is_some_and(|said| said.contains("approved by")), "{object}");
    assert_eq!((of("ingestion").len(), of("last version").len()), (1, 1));
    let tables = TempDir::new().expect("a folder");
    let wanted = Export { form: Form::Tsv, ..Export::default() };
    audit::export(&console(&home.home), tables.path(), &wanted, &Shutdown::new()).expect("exports");
    let table = std::fs::read_to_string(tables.path().join(format!("{INSTITUTION}.tsv"))).expect("reads");
    let acts: Vec<&str> = table.lines().filter_map(|line| line.split('\t').nth(12)).collect();
    assert_eq!(acts.iter().filter(|act| **act == "DELETE_CONTENT").count(), 2, "{table}");
}

#[test]
fn a_table_has_a_row_for_each_file_that_a_version_brought() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two")]);
    let folder = TempDir::new().expect("a folder");
    let wanted = Export { form: Form::Tsv, ..Export::default() };
    audit::export(&console(&home.home), folder.path(), &wanted, &Shutdown::new()).expect("exports");
    let table = std::fs::read_to_string(folder.path().join(format!("{INSTITUTION}.tsv"))).expect("reads");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 14), "{table}");
    let added: Vec<&str> = rows.iter().filter(|row| row[12] == "ADD_CONTENT").map(|row| row[3]).collect();
    assert!(added.contains(&"deposit/data/a.txt") && added.contains(&"deposit/data/b/c.txt"), "{added:?}");
}

#[test]
fn the_chain_of_an_institution_without_objects_goes_on_after_a_rebuild() {
    const EMPTY: &str = "empty.edu";
    let add = |home: &Arc<Home>| institutions::add(&console(home), EMPTY, Some("Empty")).expect("is added");
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    add(&home.home);
    publish(&home);
    let (_folder, made) = rebuilt(&home, "primary");
    let made = Arc::new(made);
    // The registry does not know the institution: what belongs to none is in its own chain all the same.
    run(&made);
    let before = exported(&made);
    let in_chain = |folder: &TempDir, chain: &str| entries(&folder.path().join(chain)).len();
    let (empty, system) = (in_chain(&before, EMPTY), in_chain(&before, "_system"));
    assert_eq!(
        entries(&before.path().join(EMPTY)).iter().filter(|entry| entry["act"] == "registry.rebuild").count(),
        0
    );
    add(&made);
    let after = exported(&made);
    assert!(in_chain(&after, EMPTY) > empty && in_chain(&after, "_system") > system);
    assert_once(&after.path().join(EMPTY));
}
