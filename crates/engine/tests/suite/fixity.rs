//! Watching over real stores: what is damaged is found, kept as evidence, put right and proved; what is fresh is left
//! alone; what cannot be put right is said.

mod cold_sources;
#[cfg(feature = "failpoints")]
mod crash;
pub(crate) mod failing_stores;
mod passed;
mod roots;
pub(crate) mod sleeping;

use std::fs;
use std::time::Duration;

use strongroom_database::Time;
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary, RepairOutcome};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, build_runtime};
use strongroom_queue::{TaskState, tasks};
use strongroom_registry::events::{self, Event, EventCursor};
use strongroom_registry::fixity::{self as record, Finding};
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::objects::{self, Copy, Object};
use strongroom_registry::{CopyState, FindingKind, FindingState, RegistryError, Scope, stores};
use uuid::Uuid;

use crate::fixture::{INSTITUTION, KEPT_IN, TestHome, home};

/// Longer than the interval at which copies are due.
const INTERVAL: Duration = Duration::from_hours(24 * 91);

fn run(home: &Home, request: &FixityRequest) -> FixitySummary {
    fixity::run(home, request, &mut |_| ()).expect("checks")
}

fn all() -> FixityRequest {
    FixityRequest { all: true, ..FixityRequest::default() }
}

fn copies(home: &TestHome, object: &Object, path: &str) -> Vec<Copy> {
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "", "", 100)).expect("files");
    let file = files.iter().find(|file| file.path == path).expect("the file");
    home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies")
}

fn copy(home: &TestHome, object: &Object, path: &str, store: &str) -> Copy {
    copies(home, object, path).into_iter().find(|copy| copy.store == store).expect("the copy")
}

/// Turns one bit of a stored file; what it holds then.
fn damage(home: &TestHome, store: &str, key: &str) -> Vec<u8> {
    let file = home.file(store, key);
    let mut bytes = fs::read(&file).expect("reads");
    bytes[0] ^= 1;
    // As a failing disk does: in place, not by a new file.
    fs::write(&file, &bytes).expect("writes");
    bytes
}

fn findings(home: &Home) -> Vec<Finding> {
    let all = record::FindingFilter { repaired_too: true, store: None };
    home.registry.read(|tx| record::findings(tx, Scope::System, all, None, 100)).expect("findings")
}

fn events(home: &Home, object: &Object) -> Vec<Event> {
    let read = |tx: &mut dyn strongroom_registry::Transaction| {
        events::of_object(tx, Scope::System, object.id, None, EventCursor::START, 10_000)
    };
    home.registry.read(read).expect("events").0
}

fn outcomes(home: &Home, object: &Object, kind: &str, outcome: &str) -> usize {
    events(home, object).iter().filter(|event| event.kind == kind && event.outcome == outcome).count()
}

fn object_root(home: &TestHome, object: &Object, store: &str) -> String {
    let key = copy(home, object, "deposit/data/a.txt", store).key;
    key.split("/v1/").next().expect("a root").to_owned()
}

/// Keys of an object's logs in a store.
fn logs(home: &TestHome, store: &str) -> Vec<String> {
    home.keys(store).into_iter().filter(|key| key.contains("/logs/")).collect()
}

fn letters(home: &TestHome) -> Object {
    home.ingest("letters", &[("a.txt", b"dear reader"), ("b.txt", b"yours")])
}

#[test]
fn sound_copies_pass_and_nothing_changes() {
    let home = home();
    let object = letters(&home);
    let before: Vec<Vec<String>> = KEPT_IN.iter().map(|store| home.keys(store)).collect();
    let checks = outcomes(&home, &object, "fixity check", "success");
    home.clock.advance(INTERVAL);
    let summary = run(&home, &FixityRequest::default());
    let contents = 2 * before[0].iter().filter(|key| key.contains("/content/")).count() as u64;
    assert_eq!((summary.checked, summary.passed), (contents + 2, contents + 2), "{summary:?}");
    assert_eq!((summary.damaged, summary.failed, summary.postponed), (0, 0, 0));
    assert_eq!(before, KEPT_IN.iter().map(|store| home.keys(store)).collect::<Vec<_>>());
    assert!(home.keys("quarantine").is_empty());
    let checked = usize::try_from(summary.checked).expect("fits");
    assert_eq!(outcomes(&home, &object, "fixity check", "success"), checks + checked);
    for copy in copies(&home, &object, "deposit/data/a.txt") {
        assert!(copy.last_fixity_at > copy.verified_at, "{copy:?}");
    }
}

#[test]
fn a_flipped_bit_is_found_and_repaired_in_either_store() {
    for store in KEPT_IN {
        let home = home();
        let object = letters(&home);
        let key = copy(&home, &object, "deposit/data/a.txt", store).key;
        let bad = damage(&home, store, &key);
        home.clock.advance(INTERVAL);
        let summary = run(&home, &FixityRequest::default());
        assert_eq!((summary.damaged, summary.repaired, summary.unrepairable), (1, 1, 0), "{summary:?}");
        assert_eq!(fs::read(home.file(store, &key)).expect("reads"), b"dear reader");
        assert_eq!(copy(&home, &object, "deposit/data/a.txt", store).state, CopyState::Kept);

        let found = findings(&home);
        let [finding] = found.as_slice() else { panic!("one finding: {found:?}") };
        assert_eq!((finding.kind, finding.state), (FindingKind::Damaged, FindingState::Repaired));
        assert_eq!((finding.store.as_str(), &finding.key), (store, &key));
        assert!(finding.repaired_at.is_some());
        let quarantined = finding.quarantine_key.clone().expect("the bad bytes are kept");
        assert!(quarantined.starts_with(&format!("{INSTITUTION}/{}/", finding.id)));
        assert_eq!(fs::read(home.file("quarantine", &quarantined)).expect("reads"), bad);
        let note = fs::read_to_string(home.file("quarantine", &format!("{quarantined}.json"))).expect("a note");
        let note: serde_json::Value = serde_json::from_str(&note).expect("JSON");
        assert_eq!((note["store"].as_str(), note["key"].as_str()), (Some(store), Some(key.as_str())));
        assert!(quarantined.ends_with(note["found_sha512"].as_str().expect("a digest")));

        for (kind, outcome) in [("fixity check", "failure"), ("quarantine", "success"), ("recovery", "success")] {
            assert_eq!(outcomes(&home, &object, kind, outcome), 1, "{kind} {outcome}");
        }
        for store in KEPT_IN {
            let logs = logs(&home, store);
            let acts: Vec<_> = logs
                .iter()
                .map(|log| {
                    let text = fs::read_to_string(home.file(store, log)).expect("reads");
                    let log: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                    (log["act"].as_str().expect("an act").to_owned(), log["events"].as_array().map(Vec::len))
                })
                .collect();
            assert_eq!(acts, [("damage".to_owned(), Some(2)), ("repair".to_owned(), Some(2))], "in {store}");
        }
        let again = run(&home, &all());
        assert_eq!((again.damaged, again.checked), (0, again.passed), "{again:?}");
    }
}

#[test]
fn a_missing_copy_is_put_back() {
    let home = home();
    let object = letters(&home);
    let key = copy(&home, &object, "deposit/data/b.txt", "primary").key;
    fs::remove_file(home.file("primary", &key)).expect("removes");
    let summary = run(&home, &all());
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
    assert_eq!(fs::read(home.file("primary", &key)).expect("reads"), b"yours");
    assert_eq!(findings(&home)[0].kind, FindingKind::Missing);
    assert!(home.keys("quarantine").is_empty(), "there were no bytes to keep");
}

#[test]
fn with_no_sound_copy_left_nothing_is_touched_and_every_copy_is_reported() {
    let home = home();
    let object = letters(&home);
    let mut bad = Vec::new();
    for store in KEPT_IN {
        let key = copy(&home, &object, "deposit/data/a.txt", store).key;
        bad.push((store, key.clone(), damage(&home, store, &key)));
    }
    let summary = run(&home, &all());
    assert_eq!((summary.damaged, summary.repaired, summary.unrepairable), (2, 0, 2), "{summary:?}");
    for (store, key, bytes) in &bad {
        assert_eq!(&fs::read(home.file(store, key)).expect("reads"), bytes);
        assert_eq!(copy(&home, &object, "deposit/data/a.txt", store).state, CopyState::Damaged);
    }
    let open = fixity::problems(&home, Some(INSTITUTION), None, 10).expect("problems");
    assert_eq!(open.len(), 2);
    for finding in &open {
        assert_eq!(finding.state, FindingState::Unrepairable);
        assert!(finding.detail.contains("cannot be repaired"), "{}", finding.detail);
        assert!(finding.quarantine_key.is_some());
    }
    assert_eq!(outcomes(&home, &object, "recovery", "failure"), 2);
    assert_eq!(fixity::repair(&home, open[0].id, None).expect("tries"), RepairOutcome::Unrepairable);

    // Somebody finds the bytes and puts them where they belong: then both can be repaired.
    let (store, key, _) = &bad[0];
    fs::write(home.file(store, key), b"dear reader").expect("writes");
    let of = |store: &str| open.iter().find(|finding| finding.store == store).expect("a finding").id;
    assert_eq!(fixity::repair(&home, of(store), None).expect("looks"), RepairOutcome::Right);
    assert_eq!(fixity::repair(&home, of(bad[1].0), None).expect("repairs"), RepairOutcome::Repaired);
    assert!(fixity::problems(&home, None, None, 10).expect("problems").is_empty());
    assert_eq!(findings(&home).len(), 2, "a finding that is known is not found twice");
}

#[test]
fn declarations_inventories_and_sidecars_are_put_back_as_recorded() {
    let files = [
        "0=ocfl_object_1.1",
        "inventory.json",
        "inventory.json.sha512",
        "v1/inventory.json",
        "v1/inventory.json.sha512",
        "v2/inventory.json",
        "v2/inventory.json.sha512",
    ];
    let home = home();
    letters(&home);
    let object = home.ingest("letters", &[("a.txt", b"dear reader"), ("c.txt", b"more")]);
    assert_eq!(object.head, 2);
    for (round, file) in files.iter().enumerate() {
        for store in KEPT_IN {
            let key = format!("{}/{file}", object_root(&home, &object, store));
            let path = home.file(store, &key);
            let right = fs::read(&path).expect("reads");
            if round % 2 == 0 {
                damage(&home, store, &key);
            } else {
                fs::remove_file(&path).expect("removes");
            }
            let summary = run(&home, &all());
            assert_eq!((summary.damaged, summary.repaired), (1, 1), "{file} in {store}: {summary:?}");
            assert_eq!(fs::read(&path).expect("reads"), right, "{file} in {store}");
            let found = findings(&home);
            let finding = found.last().expect("a finding");
            assert_eq!((finding.kind, finding.state), (FindingKind::Inventory, FindingState::Repaired));
            assert_eq!(finding.quarantine_key.is_some(), round % 2 == 0);
        }
    }
    assert_eq!(run(&home, &all()).damaged, 0);
}

#[test]
fn a_store_that_lost_all_inventories_gets_them_from_another() {
    let home = home();
    let object = letters(&home);
    let root = object_root(&home, &object, "secondary");
    for file in ["inventory.json", "inventory.json.sha512", "v1/inventory.json", "v1/inventory.json.sha512"] {
        fs::remove_file(home.file("secondary", &format!("{root}/{file}"))).expect("removes");
    }
    let summary = run(&home, &all());
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
    for file in ["inventory.json", "v1/inventory.json"] {
        let read = |store: &str| fs::read(home.file(store, &format!("{root}/{file}"))).expect("reads");
        assert_eq!(read("primary"), read("secondary"));
    }
}

#[test]
fn inventories_lost_in_every_store_are_reported() {
    let home = home();
    let object = letters(&home);
    for store in KEPT_IN {
        let root = object_root(&home, &object, store);
        for file in ["inventory.json", "v1/inventory.json"] {
            damage(&home, store, &format!("{root}/{file}"));
        }
    }
    let summary = run(&home, &all());
    assert_eq!((summary.damaged, summary.unrepairable), (2, 2), "{summary:?}");
    let open = fixity::problems(&home, None, None, 10).expect("problems");
    assert!(open.iter().all(|finding| finding.detail.contains("no store has the recorded")), "{open:?}");
}

#[test]
fn a_fresh_check_is_skipped() {
    let home = home();
    let object = letters(&home);
    let key = copy(&home, &object, "deposit/data/a.txt", "primary").key;
    damage(&home, "primary", &key);
    assert_eq!(run(&home, &FixityRequest::default()), FixitySummary::default(), "all was read back at ingest");
    assert_eq!(fixity::enqueue_due(&home, &FixityRequest::default()).expect("enqueues"), 0);
    home.clock.advance(INTERVAL);
    assert_eq!(run(&home, &FixityRequest::default()).damaged, 1);
    assert_eq!(run(&home, &FixityRequest::default()), FixitySummary::default());
}

#[test]
fn the_oldest_come_first_and_the_others_keep_their_turn() {
    let home = home();
    let first = home.ingest("first", &[("a.txt", b"one")]);
    home.clock.advance(Duration::from_hours(1));
    let second = home.ingest("second", &[("a.txt", b"two")]);
    home.clock.advance(INTERVAL);
    let some = FixityRequest { max: Some(4), ..FixityRequest::default() };
    let checks = |object: &Object| outcomes(&home, object, "fixity check", "success") as u64;
    let at_ingest = (checks(&first), checks(&second));
    let checked = || (checks(&first) - at_ingest.0, checks(&second) - at_ingest.1);
    let mut rounds = Vec::new();
    loop {
        let summary = run(&home, &some);
        assert!(summary.checked <= 4, "{summary:?}");
        if summary.checked == 0 {
            break;
        }
        rounds.push(checked());
    }
    let all_of_one = run(&home, &FixityRequest { object: Some(first.identifier.clone()), ..all() }).checked;
    assert_eq!(rounds.last(), Some(&(all_of_one, all_of_one)), "nothing is left out");
    for (of_first, of_second) in rounds {
        assert!(of_second == 0 || of_first == all_of_one, "the second was looked at while the first waited");
    }
}

#[test]
fn filters_narrow_what_is_looked_at() {
    let home = home();
    home.ingest("first", &[("a.txt", b"one")]);
    let second = home.ingest("second", &[("a.txt", b"two")]);
    let whole = run(&home, &all()).checked;
    let one_store = run(&home, &FixityRequest { store: Some("primary".into()), ..all() }).checked;
    assert_eq!(one_store * 2, whole);
    let one_object = run(&home, &FixityRequest { object: Some(second.identifier.clone()), ..all() }).checked;
    assert_eq!(one_object * 2, whole);
    assert_eq!(run(&home, &FixityRequest { institution: Some(INSTITUTION.into()), ..all() }).checked, whole);
    let unknown = FixityRequest { institution: Some("nobody.edu".into()), ..all() };
    assert!(fixity::run(&home, &unknown, &mut |_| ()).is_err());
}

#[test]
fn a_repair_waits_while_somebody_else_works_on_the_object() {
    let home = home();
    let object = letters(&home);
    let key = copy(&home, &object, "deposit/data/a.txt", "primary").key;
    let bad = damage(&home, "primary", &key);
    let owner = Uuid::now_v7();
    let held = home.registry.write(move |tx| {
        let until = tx.now()?.plus(3_600_000_000);
        leases::hold(tx, object.id, owner, until)
    });
    assert!(matches!(held, Ok(Hold::Held { .. })));
    let summary = run(&home, &all());
    assert_eq!((summary.damaged, summary.postponed), (0, 1), "{summary:?}");
    assert_eq!(fs::read(home.file("primary", &key)).expect("reads"), bad, "nothing is touched");
    assert!(findings(&home).is_empty() && home.keys("quarantine").is_empty());
    let waiting =
        home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &format!("{}/primary", object.id))?));
    assert_eq!(waiting.expect("tasks").len(), 1, "the workers will look again");

    home.registry.write(move |tx| leases::release_owner(tx, owner)).expect("lets go");
    let summary = run(&home, &all());
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
}

#[test]
fn a_source_that_turns_out_damaged_is_looked_at_next() {
    let home = home();
    let object = letters(&home);
    for store in KEPT_IN {
        let key = copy(&home, &object, "deposit/data/a.txt", store).key;
        damage(&home, store, &key);
    }
    home.clock.advance(INTERVAL);
    // Only one store is asked about; the other is due at once because it did not prove right.
    let first = run(&home, &FixityRequest { store: Some("primary".into()), ..FixityRequest::default() });
    assert_eq!((first.damaged, first.unrepairable), (1, 1), "{first:?}");
    let content = findings(&home)[0].content.expect("a content");
    let copies = home.registry.read(|tx| record::copies_of_content(tx, content)).expect("copies");
    let other = copies.iter().find(|copy| copy.store == "secondary").expect("the other");
    assert_eq!(other.checked_at, Time(0));
}

#[test]
fn workers_check_what_was_enqueued_and_only_once() {
    let home = home();
    let object = letters(&home);
    let key = copy(&home, &object, "deposit/data/a.txt", "secondary").key;
    damage(&home, "secondary", &key);
    home.clock.advance(INTERVAL);
    assert_eq!(fixity::enqueue_due(&home, &FixityRequest::default()).expect("enqueues"), 2, "one task for each store");
    assert_eq!(fixity::enqueue_due(&home, &FixityRequest::default()).expect("enqueues"), 2);
    let waiting = || {
        KEPT_IN
            .iter()
            .flat_map(|store| {
                let key = format!("{}/{store}", object.id);
                home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &key)?)).expect("tasks")
            })
            .collect::<Vec<_>>()
    };
    let tasks = waiting();
    assert_eq!(tasks.iter().filter(|task| task.state == TaskState::Ready).count(), 2, "{tasks:?}");
    let runtime = build_runtime(&home, Some(&[fixity::TOPIC.to_owned()])).expect("a runtime").build();
    let summary = runtime.run_until(&Shutdown::new(), &|| waiting().is_empty());
    assert_eq!((summary.ended, summary.panicked), (2, 0));
    assert_eq!(fs::read(home.file("secondary", &key)).expect("reads"), b"dear reader");
    assert_eq!(findings(&home)[0].state, FindingState::Repaired);
    assert_eq!(run(&home, &FixityRequest::default()), FixitySummary::default(), "nothing is due any more");
}

#[test]
fn a_store_whose_copies_stay_due_holds_up_no_other() {
    let home = home();
    let first = home.ingest("first", &[("a.txt", b"one")]);
    home.ingest("second", &[("a.txt", b"two")]);
    // Everything in one store is older than anything in the other.
    home.clock.advance(Duration::from_hours(1));
    run(&home, &FixityRequest { store: Some("secondary".into()), ..all() });
    home.clock.advance(INTERVAL);
    assert_eq!(
        fixity::enqueue_due(&home, &FixityRequest { max: Some(2), ..FixityRequest::default() }).expect("enqueues"),
        2
    );
    for store in KEPT_IN {
        let key = format!("{}/{store}", first.id);
        let waiting = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &key)?)).expect("tasks");
        assert_eq!(waiting.len(), 1, "{store} has its share");
    }
}

#[test]
fn a_deposit_while_everything_is_checked_is_no_damage() {
    let home = home();
    let object = letters(&home);
    std::thread::scope(|scope| {
        let stop = Shutdown::new();
        let checks = scope.spawn({
            let (home, stop) = (home.home.clone(), stop.clone());
            move || {
                let mut rounds = 0;
                while !stop.is_requested() {
                    let summary = run(&home, &all());
                    assert_eq!((summary.damaged, summary.failed), (0, 0), "{summary:?}");
                    rounds += 1;
                }
                rounds
            }
        });
        for version in 2..5_u64 {
            let text = format!("version {version}");
            let object = home.ingest("letters", &[("a.txt", text.as_bytes())]);
            assert_eq!(object.head, version);
        }
        stop.request();
        assert!(checks.join().expect("checks") > 0);
    });
    assert!(findings(&home).is_empty());
    assert_eq!(outcomes(&home, &object, "fixity check", "failure"), 0);
}

#[test]
fn the_report_tells_how_well_each_store_is_watched() {
    let home = home();
    letters(&home);
    home.clock.advance(INTERVAL);
    let before = fixity::report(&home, Scope::System).expect("reports");
    assert_eq!(before.iter().map(|store| store.store.as_str()).collect::<Vec<_>>(), KEPT_IN);
    for store in &before {
        assert_eq!((store.checked, store.due, store.damaged), (0, store.copies, 0), "{store:?}");
        assert!(store.copies > 0 && store.bytes > 0);
    }
    run(&home, &FixityRequest { store: Some("primary".into()), ..FixityRequest::default() });
    let after = fixity::report(&home, Scope::System).expect("reports");
    assert_eq!((after[0].checked, after[0].due), (after[0].copies, 0));
    assert_eq!((after[1].checked, after[1].due), (0, after[1].copies));
    assert!(after[0].oldest > before[0].oldest);
}

#[test]
fn publishing_does_not_hide_known_damage() {
    let home = home();
    let object = letters(&home);
    // The recorded inventory of version 1 lies nowhere any more: it cannot be put back.
    for store in KEPT_IN {
        damage(&home, store, &format!("{}/v1/inventory.json", object_root(&home, &object, store)));
        damage(&home, store, &format!("{}/inventory.json", object_root(&home, &object, store)));
    }
    assert_eq!(run(&home, &all()).unrepairable, 2);
    // The root inventory is put back by hand, the other is not.
    for store in KEPT_IN {
        damage(&home, store, &format!("{}/inventory.json", object_root(&home, &object, store)));
    }
    let later = home.ingest("letters", &[("a.txt", b"dear reader"), ("c.txt", b"more")]);
    assert_eq!(later.head, 2);
    let known = home.registry.read(|tx| objects::object_copies(tx, object.id)).expect("copies");
    for (store, state, checked_at) in known {
        assert_eq!((state, checked_at), (CopyState::Damaged, Time(0)), "{store} is due at once");
    }
    let open = fixity::problems(&home, None, None, 10).expect("problems");
    assert_eq!(open.len(), 2, "{open:?}");
}
