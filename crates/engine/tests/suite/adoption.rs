//! A registry that was restored from a backup learns from its stores what it does not know, and changes nothing before.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use strongroom_database::Time;
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary};
use strongroom_engine::ingest::PackageSource;
use strongroom_engine::rebuild::{self, AdoptRequest, Summary};
use strongroom_engine::runtime::{Runtime, Shutdown};
use strongroom_engine::watermark::{self, StoredWatermark, Watermark};
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{EngineError, Home};
use strongroom_registry::items::{self, Request};
use strongroom_registry::{
    InstitutionId, ItemId, ItemStatus, RegistryError, Scope, Stage, VersionId, VersionState, discarding,
    fixity as fixity_record, objects, rebuild as record, stores, tenants,
};
use strongroom_storage_test::{Call, Operation};

use crate::fixture::{self, KEPT_IN, TestHome};
use crate::ingest::committing::layered;
use crate::ingest::hand_in;
use crate::ingest::identity::{ask, finish, version, work_until};
use crate::meanwhile::{Meanwhile, When};
use crate::rebuild::{all_events, dump};

fn adopted(home: &Home) -> Summary {
    let summary = rebuild::adopt(home, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert!(summary.is_complete(), "{:?}", summary.problems);
    assert_eq!(summary.pending, Vec::<String>::new());
    summary
}

fn checked(home: &Home) -> FixitySummary {
    fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| {}).expect("checks")
}

fn mark_of(home: &Home, store: &str) -> Watermark {
    match watermark::read(home.store(store).expect("a store").as_ref()).expect("reads") {
        StoredWatermark::Watermark(mark) => mark,
        other => panic!("{store} has {other:?}"),
    }
}

/// Everything that readers see, with every event that the stores can tell of.
fn whole_dump(home: &Home) -> Vec<String> {
    let mut lines = dump(home, &KEPT_IN);
    for object in crate::rebuild::all_objects(home) {
        let events = all_events(home, &object);
        // A check that passed is known to the registry alone.
        let kept = events.into_iter().filter(|event| event.kind != "fixity check" || event.outcome != "success");
        lines.extend(kept.map(|event| format!("{event:?}")));
    }
    lines
}

#[test]
fn a_registry_that_knows_all_acts_can_be_written_to() {
    let home = fixture::home();
    assert!(home.opened_again().registry.refusal().is_none(), "before its first act");
    home.ingest("letters", &[("a.txt", b"one")]);
    let (mark, other) = (mark_of(&home, "primary"), mark_of(&home, "secondary"));
    assert_eq!((mark.registry, mark.acts, mark.revision), (other.registry, other.acts, other.revision));
    assert_ne!(mark.store, other.store);
    assert!(home.opened_again().registry.refusal().is_none());
    let backup = home.backup("after");
    assert!(home.restored(&backup).registry.refusal().is_none(), "nothing happened since");
}

#[test]
fn a_restored_registry_is_read_only_until_it_has_adopted_and_then_says_the_same() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two")]);
    home.ingest("kept", &[("same.txt", b"the same")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed"), ("b/c.txt", b"two")]);
    home.ingest("letters", &[("d.txt", b"new")]);
    let photographs = home.ingest("photographs", &[("1.tif", b"II*\0 and so on"), ("empty.txt", b"")]);
    let lost = home.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    std::fs::write(home.file("primary", &lost), b"other bytes").expect("damages");
    assert_eq!(checked(&home).repaired, 1);
    let before = whole_dump(&home);

    let restored = home.restored(&backup);
    let refusal = restored.registry.refusal().expect("it is behind").to_owned();
    assert!(refusal.contains("primary") && refusal.contains("older state"), "{refusal}");
    let refused = restored
        .registry
        .write(|tx| tenants::add_institution(tx, InstitutionId::new(), "other.edu", "Other"))
        .expect_err("nothing can be changed");
    assert!(matches!(refused, RegistryError::Database(_)), "{refused}");
    assert!(
        restored.registry.read(|tx| tenants::institution(tx, Scope::System, "other.edu")).expect("reads").is_none()
    );
    assert_eq!(restored.object("letters").head, 1, "what it knows can be read");

    let summary = adopted(&restored.opened_to_adopt());
    assert_eq!((summary.versions, summary.failed), (3, 0));
    let again = restored.opened_again();
    assert_eq!(again.registry.refusal(), None);
    assert_eq!(whole_dump(&again), before);
    assert_eq!(
        again
            .registry
            .read(|tx| strongroom_registry::objects::get(tx, Scope::System, photographs.id))
            .expect("reads")
            .expect("there")
            .head,
        1
    );
    let nothing_new = adopted(&restored.opened_to_adopt());
    assert_eq!((nothing_new.taken, nothing_new.versions, nothing_new.events), (0, 0, 0));
    assert_eq!(whole_dump(&again), before);
}

#[test]
fn a_registry_that_missed_a_repair_alone_is_behind() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    let content = home.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    std::fs::write(home.file("primary", &content), b"other bytes").expect("damages");
    assert_eq!(checked(&home).repaired, 1);
    let before = all_events(&home, &home.object("letters"));
    let restored = home.restored(&backup);
    assert!(restored.registry.refusal().is_some());
    let summary = adopted(&restored.opened_to_adopt());
    assert!(summary.events > 0 && summary.versions == 0, "{summary:?}");
    let again = restored.opened_again();
    let after = all_events(&again, &restored.object("letters"));
    let told = |events: &[strongroom_registry::events::Event], kind: &str| {
        events.iter().filter(|event| event.kind == kind).cloned().collect::<Vec<_>>()
    };
    for kind in ["quarantine", "recovery"] {
        assert!(!told(&before, kind).is_empty());
        assert_eq!(told(&after, kind), told(&before, kind));
    }
}

#[test]
fn a_copy_whose_repair_was_adopted_counts_as_unread() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    let key = home.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    std::fs::write(home.file("primary", &key), b"other bytes").expect("damages");
    assert_eq!(checked(&home).repaired, 1);
    let restored = home.restored(&backup);
    adopted(&restored.opened_to_adopt());
    let again = restored.opened_again();
    let copies = |tx: &mut dyn strongroom_registry::Transaction| {
        let mut found = Vec::new();
        for file in objects::files(tx, object.id, 1, "", "", 100)? {
            for copy in objects::copies(tx, file.content)?.into_iter().filter(|copy| copy.key == key) {
                let watched = fixity_record::copies_of_content(tx, file.content)?;
                let watched = watched.into_iter().find(|watched| watched.store == copy.store);
                found.push((copy.store, copy.verified_at.is_some(), watched.map(|watched| watched.checked_at)));
            }
        }
        Ok::<_, RegistryError>(found)
    };
    let copies = again.registry.read(copies).expect("copies");
    assert_eq!(copies[0], ("primary".to_owned(), false, Some(Time(0))), "nobody has read it since: {copies:?}");
    assert!(copies[1].1, "the other was not touched: {copies:?}");
    let summary = fixity::run(&again, &FixityRequest::default(), &mut |_| ()).expect("checks");
    assert_eq!((summary.checked, summary.passed), (1, 1), "it is due at once: {summary:?}");
}

#[test]
fn a_dry_run_tells_what_there_is_and_changes_nothing() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    home.ingest("photographs", &[("1.tif", b"II*")]);
    let restored = home.restored(&backup);
    let before = dump(&restored, &KEPT_IN);
    let request = AdoptRequest { dry_run: true, ..AdoptRequest::default() };
    let summary = rebuild::adopt(&restored, &request, &mut |_| {}).expect("looks");
    assert_eq!((summary.objects, summary.taken, summary.versions), (4, 2, 2), "two objects, in each of two stores");
    assert_eq!(dump(&restored, &KEPT_IN), before);
    assert!(restored.opened_again().registry.refusal().is_some());
    let done = adopted(&restored.opened_to_adopt());
    assert_eq!((done.objects, done.taken, done.versions), (summary.objects, summary.taken, summary.versions));
}

#[test]
fn one_store_alone_does_not_lift_the_refusal() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    let restored = home.restored(&backup);
    let only = AdoptRequest { stores: vec!["primary".into()], ..AdoptRequest::default() };
    let summary = rebuild::adopt(&restored.opened_to_adopt(), &only, &mut |_| {}).expect("adopts");
    assert_eq!(summary.pending, ["secondary"]);
    assert!(restored.opened_again().registry.refusal().expect("still behind").contains("secondary"));
    adopted(&restored.opened_to_adopt());
    assert_eq!(restored.opened_again().registry.refusal(), None);
}

#[test]
fn the_mark_of_another_registry_is_refused_and_tells_whose_it_is() {
    let used = fixture::home();
    used.ingest("letters", &[("a.txt", b"one")]);
    let other = fixture::home();
    crate::rebuild::copy_stores(&used, &other);
    let refusal = other.opened_again().registry.refusal().expect("the stores are not its own").to_owned();
    let owner = mark_of(&used, "primary").registry.to_string();
    assert!(refusal.contains("another registry") && refusal.contains(&owner), "{refusal}");
    adopted(&other.opened_to_adopt());
    assert_eq!(other.opened_again().registry.refusal(), None);
    assert_eq!(dump(&other.opened_again(), &KEPT_IN), dump(&used, &KEPT_IN));
    assert_ne!(mark_of(&other, "primary").registry.to_string(), owner);
}

#[test]
fn a_contradiction_is_told_and_nothing_is_written_over() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    let restored = home.restored(&backup);
    let inventory = restored
        .keys("primary")
        .into_iter()
        .find(|key| key.ends_with("/v1/inventory.json"))
        .expect("the inventory of version 1");
    let text = std::fs::read_to_string(restored.file("primary", &inventory)).expect("reads");
    let changed = text.replace("deposit of letters", "deposit of letterz");
    std::fs::write(restored.file("primary", &inventory), changed).expect("changes it");
    let request = AdoptRequest { stores: vec!["primary".into()], ..AdoptRequest::default() };
    let summary = rebuild::adopt(&restored.opened_to_adopt(), &request, &mut |_| {}).expect("adopts");
    assert_eq!((summary.failed, summary.taken), (1, 0), "{summary:?}");
    assert_eq!(restored.object("letters").head, 1);
    let summary = rebuild::adopt(&restored.opened_to_adopt(), &AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert_eq!(restored.object("letters").head, 2, "the other store tells the same without contradiction: {summary:?}");
}

#[test]
fn a_process_that_works_with_the_registry_of_before_is_stopped() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    // Another home has the backup over the same stores, as if it had been restored elsewhere.
    let (_folder, elsewhere) = home.with_registry_elsewhere(&backup);
    adopted(&elsewhere);
    let adopted_mark = mark_of(&home, "primary");
    let bag = home.bag("late", &[("a.txt", b"late")]);
    let request = strongroom_engine::ingest::DepositRequest {
        sources: vec![PackageSource::LocalPath(bag.clone())],
        ..strongroom_engine::ingest::DepositRequest::of_system(fixture::INSTITUTION)
    };
    let made = strongroom_engine::ingest::deposit(&home, &request).expect("the process of before still takes it");
    let shutdown = strongroom_engine::runtime::Shutdown::new();
    let published = |home: &Home| {
        home.registry.read(|tx| strongroom_registry::versions::of_item(tx, made.items[0])).expect("reads")
    };
    std::thread::scope(|scope| {
        scope.spawn(|| strongroom_engine::work_on(&home, &made.items, &shutdown).expect("works"));
        let begun = std::time::Instant::now();
        while published(&home).is_none_or(|version| version.state != strongroom_registry::VersionState::Committing) {
            assert!(begun.elapsed() < std::time::Duration::from_mins(1), "it never came to commit");
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        shutdown.request();
    });
    assert_ne!(
        published(&home).expect("a version").state,
        strongroom_registry::VersionState::Published,
        "it is not published by the registry of before"
    );
    assert_eq!(mark_of(&home, "primary"), adopted_mark, "and nothing was done in the stores");
    assert!(home.opened_again().registry.refusal().is_some(), "the registry of before is the older one now");
}

/// Deposits a bag with the registry of before, and adopts its stores elsewhere when it is about to be published in the second
/// of them: the act ends late.
fn act_late(home: &TestHome, bag: &Path, adopt: impl FnOnce() + Send + 'static) {
    let is_commit = |call: Call<'_>| call.operation == Operation::Commit;
    let late = layered(home, "secondary", Meanwhile::new(When::Before, is_commit, move |_| adopt()));
    let id = hand_in(home, bag);
    let workers = strongroom_engine::build_runtime(&late, None).expect("a runtime").build();
    work_until_refused(home, &workers, id, "adopted by another state");
}

/// Works until an item tells why it is not published.
fn work_until_refused(home: &Home, workers: &Runtime, id: ItemId, why: &str) {
    let begun = std::time::Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        let item = home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
        let state = (item.status, item.stage, &item.note);
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{state:?}");
        assert!(!item.status.is_ended(), "{state:?}");
        item.note.is_some_and(|note| note.contains(why))
    });
}

/// The registry that adopted goes on to work before it is opened anew, as a server does that is started at once.
#[test]
fn a_late_act_is_learned_of_also_where_the_registry_that_adopted_works_on() {
    let home = fixture::home();
    late_where_the_registry_works_on(&home, &[]);
}

/// It has announced further acts by the time the late one ends.
#[test]
fn a_late_act_is_learned_of_also_where_the_registry_that_adopted_has_worked_on() {
    let home = fixture::home();
    let bags = ["atlases", "charts"].map(|name| home.bag(name, &[("c.txt", b"a chart")]));
    late_where_the_registry_works_on(&home, &bags);
}

/// The registry that adopted takes `bags` in before the late act ends, and another one behind it.
fn late_where_the_registry_works_on(home: &TestHome, bags: &[PathBuf]) {
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    let (folder, elsewhere) = home.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let adopted = Arc::new(Mutex::new(None));
    let at_once = {
        let (adopted, folder, bags) = (adopted.clone(), folder.path().to_owned(), bags.to_owned());
        move || {
            rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
            drop(elsewhere);
            let server = Arc::new(Home::open(&folder, settings).expect("opens the home"));
            let items: Vec<_> = bags.iter().map(|bag| hand_in(&server, bag)).collect();
            strongroom_engine::work_on(&server, &items, &Shutdown::new()).expect("works");
            *adopted.lock().expect("locks") = Some(server);
        }
    };
    act_late(home, &home.bag("maps", &[("m.txt", b"a map")]), at_once);
    let server = adopted.lock().expect("locks").take().expect("it was adopted");
    assert!(server.registry.refusal().is_none());
    let id = hand_in(&server, &home.bag("diaries", &[("d.txt", b"dear diary")]));
    let workers = strongroom_engine::build_runtime(&server, None).expect("a runtime").build();
    work_until_refused(&server, &workers, id, "older state of itself");
    drop(workers);
    let settings = server.settings.clone();
    drop(server);
    // It adopts once more, and learns of the map; then its own work goes on.
    let again = Home::open(folder.path(), settings.clone()).expect("opens the home");
    assert!(again.registry.refusal().is_some_and(|reason| reason.contains("older state")));
    drop(again);
    let adopting = Home::open_to_adopt(folder.path(), settings.clone()).expect("opens the home");
    rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
    drop(adopting);
    let again = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
    assert_eq!(again.registry.refusal(), None);
    let map = format!("{}/maps", fixture::INSTITUTION);
    let map = again.registry.read(|tx| objects::find(tx, Scope::System, &map)).expect("the late object");
    assert_eq!(map.head, 1);
    strongroom_engine::work_on(&again, &[id], &Shutdown::new()).expect("works");
    let item = again.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
}

#[test]
fn an_adoption_in_the_middle_of_a_commit_learns_that_it_missed_an_act() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    let (folder, elsewhere) = home.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let seen = Arc::new(Mutex::new(None));
    let adopt = {
        let seen = seen.clone();
        move || {
            // One store shows the version by now, and the other does not.
            rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
            *seen.lock().expect("locks") = Some(mark_of(&elsewhere, "primary"));
        }
    };
    act_late(&home, &home.bag("letters", &[("a.txt", b"one, changed")]), adopt);
    let adopted_mark = seen.lock().expect("locks").expect("it was adopted");
    let mark = mark_of(&home, "primary");
    assert_eq!((mark.registry, mark.term), (adopted_mark.registry, adopted_mark.term));
    assert!(mark.acts > adopted_mark.acts, "the late act counts");
    let again = Home::open(folder.path(), settings).expect("opens the home");
    assert!(again.registry.refusal().is_some_and(|reason| reason.contains("older state")), "it adopts once more");
}

#[test]
fn a_process_that_works_with_the_registry_of_before_repairs_nothing() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    let (_folder, elsewhere) = home.with_registry_elsewhere(&backup);
    adopted(&elsewhere);
    let content = home.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    std::fs::write(home.file("primary", &content), b"other bytes").expect("damages");
    let only = FixityRequest { all: true, store: Some("primary".into()), ..FixityRequest::default() };
    let summary = fixity::run(&home, &only, &mut |_| {}).expect("checks");
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    assert_eq!(std::fs::read(home.file("primary", &content)).expect("reads"), b"other bytes");
    assert!(home.registry.read(stores::missed_log_counts).expect("counts").is_empty(), "its logs are not put later");
}

/// The copy knows that the log of the repair was announced, and nothing of what came of it.
#[test]
fn a_registry_that_was_copied_while_a_log_was_put_is_behind() {
    let home = Arc::new(fixture::home());
    home.ingest("letters", &[("a.txt", b"one")]);
    let content = home.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    std::fs::write(home.file("primary", &content), b"other bytes").expect("damages");
    let (backup, copied) = (home.path().join("meanwhile.backup"), home.clone());
    let is_log = |call: Call<'_>| call.operation == Operation::Put && call.key.as_str().contains("-repair-");
    let copying = Meanwhile::new(When::After, is_log, move |_| drop(copied.backup("meanwhile")));
    assert_eq!(checked(&layered(&home, "secondary", copying)).repaired, 1);
    let restored = Arc::into_inner(home).expect("the only reference").restored(&backup);
    assert!(restored.registry.refusal().is_some_and(|reason| reason.contains("older state")));
}

#[test]
fn a_second_adoption_is_refused_while_one_is_under_way() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    let restored = home.restored(&backup);
    let held = strongroom_registry::epoch::Adoption {
        holder: strongroom_queue::WorkerId::new("elsewhere", 1, "boot-1-2").to_string(),
        until: i64::MAX,
        pending: vec!["primary".into()],
    };
    restored
        .opened_to_adopt()
        .registry
        .write(move |tx| strongroom_registry::epoch::set_adoption(tx, Some(&held)))
        .expect("notes it");
    let refused = rebuild::adopt(&restored.opened_to_adopt(), &AdoptRequest::default(), &mut |_| {});
    assert!(matches!(refused, Err(EngineError::Registry(RegistryError::State { .. }))), "{refused:?}");
}

#[test]
fn a_backup_taken_under_load_adopts_and_its_open_work_ends_as_it_did() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let sources = (0..6)
        .map(|number| {
            let text = format!("number {number}");
            let name = if number == 0 { "letters".to_owned() } else { format!("bag-{number}") };
            PackageSource::LocalPath(home.bag(&name, &[("a.txt", text.as_bytes()), ("same.txt", b"the same")]))
        })
        .collect();
    let request = strongroom_engine::ingest::DepositRequest {
        sources,
        ..strongroom_engine::ingest::DepositRequest::of_system(fixture::INSTITUTION)
    };
    let made = strongroom_engine::ingest::deposit(&home, &request).expect("deposits");
    let shutdown = strongroom_engine::runtime::Shutdown::new();
    let backups = std::thread::scope(|scope| {
        let worker = scope.spawn(|| strongroom_engine::work_on(&home, &made.items, &shutdown).expect("works"));
        let mut backups = Vec::new();
        while !worker.is_finished() {
            backups.push(home.backup(&format!("under-load-{}", backups.len())));
        }
        backups
    });
    let before = whole_dump(&home);
    let mut home = home;
    let chosen = [0, backups.len() / 3, backups.len() * 2 / 3, backups.len() - 1];
    for backup in chosen.map(|number| &backups[number]) {
        home = home.restored(backup);
        adopted(&home.opened_to_adopt());
        // Whoever held tasks then is silent by now.
        home.clock.advance(std::time::Duration::from_mins(5));
        let again = std::sync::Arc::new(home.opened_again());
        assert_eq!(again.registry.refusal(), None);
        strongroom_engine::work_on(&again, &made.items, &shutdown).expect("works");
        for id in &made.items {
            let item = again.registry.read(|tx| strongroom_registry::items::find(tx, Scope::System, *id)).expect("it");
            assert_eq!(item.status, strongroom_registry::ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
        }
        assert_eq!(whole_dump(&again), before);
        for store in KEPT_IN {
            let found = strongroom_engine::reconcile::run(&again, store, &mut |difference| panic!("{difference:?}"));
            assert_eq!(found.expect("compares").differences, 0);
        }
    }
}

/// A home whose object has version 2 by another deposit than the one that began it and was cancelled, with a backup of the
/// time when the first was `given_up` and not swept.
fn with_a_number_used_twice(is_dropped: bool) -> (fixture::TestHome, std::path::PathBuf, ItemId) {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"given up"), ("g.txt", b"only there")]));
    work_until(&home, id, Stage::named("record"));
    ask(&home, id, Request::Cancel);
    if is_dropped {
        let given_up = home.registry.read(|tx| discarding::unswept_of_item(tx, id)).expect("reads").remove(0);
        while !home
            .registry
            .write({
                let given_up = given_up.clone();
                move |tx| discarding::drop_rows(tx, &given_up)
            })
            .expect("drops")
        {}
    }
    let backup = home.backup("unswept");
    strongroom_engine::work_on(&home.home, &[id], &Shutdown::new()).expect("sweeps");
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    (home, backup, id)
}

#[test]
fn a_backup_with_a_version_that_is_being_given_up_adopts_the_one_that_was_published_with_its_number() {
    for is_dropped in [false, true] {
        let (home, backup, id) = with_a_number_used_twice(is_dropped);
        let before = whole_dump(&home);
        let restored = home.restored(&backup);
        adopted(&restored.opened_to_adopt());
        let again = std::sync::Arc::new(restored.opened_again());
        assert_eq!(again.registry.refusal(), None);
        assert_eq!(whole_dump(&again), before);
        let unswept = again.registry.read(|tx| discarding::unswept_of_item(tx, id)).expect("reads");
        assert!(unswept.is_empty(), "it was finished first: {unswept:?}");
        // The sweep that the backup knows of, and a deposit behind it.
        strongroom_engine::work_on(&again, &[id], &Shutdown::new()).expect("sweeps");
        assert_eq!(whole_dump(&again), before, "nothing of the published version goes with the one that was given up");
        for store in KEPT_IN {
            let found = strongroom_engine::reconcile::run(&again, store, &mut |difference| panic!("{difference:?}"));
            assert_eq!(found.expect("compares").differences, 0);
        }
        let checks = checked(&again);
        assert_eq!((checks.damaged, checks.failed), (0, 0), "{checks:?}");
    }
}

#[test]
fn a_version_that_was_published_after_the_backup_is_adopted_though_the_registry_gave_it_up_meanwhile() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"two")]));
    work_until(&home, id, Stage::named("record"));
    let version = version(&home, id);
    let backup = home.backup("early");
    finish(&home, id);
    let before = whole_dump(&home);
    let restored = home.restored(&backup);
    // An adoption that was stopped while it dropped the rows, and a person who cancels the item.
    let adopting = restored.opened_to_adopt();
    adopting
        .registry
        .write(move |tx| {
            strongroom_registry::items::request(
                tx,
                &Workflows::standard(),
                Scope::System,
                id,
                Request::Cancel,
                "a person",
            )
        })
        .expect("is cancelled");
    adopted(&adopting);
    let again = std::sync::Arc::new(restored.opened_again());
    assert_eq!(whole_dump(&again), before);
    let found = again.registry.read(|tx| strongroom_registry::versions::get(tx, version)).expect("reads").expect("it");
    assert_eq!(found.state, VersionState::Published);
    strongroom_engine::work_on(&again, &[id], &Shutdown::new()).expect("sweeps");
    assert_eq!(whole_dump(&again), before);
    let checks = checked(&again);
    assert_eq!((checks.damaged, checks.failed), (0, 0), "{checks:?}");
}

#[test]
fn a_version_whose_number_belongs_to_another_is_refused_and_nothing_is_published() {
    let (home, backup, id) = with_a_number_used_twice(false);
    let restored = home.restored(&backup);
    let adopting = restored.opened_to_adopt();
    let given_up = adopting.registry.read(|tx| discarding::unswept_of_item(tx, id)).expect("reads").remove(0);
    let object = restored.object("letters");
    let recorded = record::RecordedVersion {
        id: VersionId::new(),
        number: given_up.number,
        item: ItemId::new(),
        message: "another".into(),
        user: "tester".into(),
        harvested_from: None,
        description: strongroom_registry::Description::default(),
        created_at: Time(1),
        owns_contents: true,
    };
    let of = record::RecordedObject {
        id: object.id,
        institution: object.institution,
        collection: None,
        identifier: object.identifier.clone(),
        generation: object.generation,
        ark: object.ark.clone(),
        created_at: object.created_at,
    };
    let (put, version) = (of.clone(), recorded.clone());
    let refused = adopting.registry.write(move |tx| record::put_version(tx, &put, &version)).expect_err("is taken");
    let text = refused.to_string();
    assert!(text.contains(&given_up.id.to_string()) && text.contains("dropping"), "{text}");
    let refused = adopting
        .registry
        .write(move |tx| {
            let versions = [(recorded.clone(), None)];
            record::publish(tx, &of, &versions, &[], strongroom_registry::ObjectState::Active)
        })
        .expect_err("it is not there");
    assert!(refused.to_string().contains("not in the registry"), "{refused}");
    assert_eq!(restored.object("letters").head, 1);
}
