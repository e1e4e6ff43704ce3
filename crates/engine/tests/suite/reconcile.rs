//! What only a store or only the record knows is told, each kind by its code, and nothing is changed.

use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::reconcile::{self, Code, Difference};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, background, work_on};
use strongroom_registry::leases;
use uuid::Uuid;

use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};
use crate::ingest::hand_in;
use crate::ingest::identity::{ask, version, work_until};

fn differences(home: &Home, store: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    reconcile::run(home, store, &mut |difference| {
        found.push(difference);
        Ok(())
    })
    .expect("compares");
    found
}

fn codes(home: &Home, store: &str) -> Vec<(Code, String)> {
    differences(home, store).into_iter().map(|found| (found.code, found.path)).collect()
}

fn used_home() -> TestHome {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two")]);
    home.ingest("photographs", &[("1.tif", b"II*\0 and so on")]);
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    home
}

/// A key of the store, the first whose text has all of `parts`.
fn key(home: &TestHome, store: &str, parts: &[&str]) -> String {
    let found = home.keys(store).into_iter().find(|key| parts.iter().all(|part| key.contains(part)));
    found.expect("such a key")
}

#[test]
fn stores_and_record_that_agree_have_no_differences() {
    let home = used_home();
    for store in KEPT_IN {
        assert_eq!(codes(&home, store), []);
    }
    assert_eq!(codes(&home, "staging"), []);
}

#[test]
fn each_kind_of_difference_is_told_by_its_code() {
    let home = used_home();
    let content = key(&home, "primary", &["/v1/content/"]);
    std::fs::remove_file(home.file("primary", &content)).expect("removes");
    assert_eq!(codes(&home, "primary"), [(Code::CopyMissing, content.clone())]);
    std::fs::write(home.file("primary", &content), b"longer than it was, by far, whatever it was before")
        .expect("writes");
    let found = differences(&home, "primary");
    assert_eq!((found.len(), found[0].code, &found[0].path), (1, Code::CopySize, &content));
    assert!(
        found[0].next().starts_with("strongroom fixity run --all --store primary --object "),
        "{}",
        found[0].next()
    );
    std::fs::copy(home.file("secondary", &content), home.file("primary", &content)).expect("puts back");

    let sidecar = key(&home, "primary", &["/v1/inventory.json.sha512"]);
    std::fs::remove_file(home.file("primary", &sidecar)).expect("removes");
    assert_eq!(codes(&home, "primary"), [(Code::InventoryMissing, sidecar.clone())]);
    std::fs::copy(home.file("secondary", &sidecar), home.file("primary", &sidecar)).expect("puts back");

    let stray = format!("{content}0");
    let foreign = [format!("{INSTITUTION}/notes.txt"), "stray/x".to_owned(), stray.clone()];
    for path in &foreign {
        std::fs::create_dir_all(home.file("primary", path).parent().expect("a folder")).expect("makes it");
        std::fs::write(home.file("primary", path), b"who knows").expect("writes");
    }
    let mut found = codes(&home, "primary");
    found.sort_by_key(|(code, path)| (*code, path.clone()));
    assert_eq!(
        found,
        [
            (Code::CopyUnknown, stray),
            (Code::FileForeign, "stray/x".to_owned()),
            (Code::FileForeign, format!("{INSTITUTION}/notes.txt")),
        ]
    );
    for path in &foreign {
        assert!(home.file("primary", path).exists(), "nothing is removed");
    }
}

#[test]
fn an_object_that_is_gone_or_unknown_is_told_once() {
    let home = used_home();
    let declaration = key(&home, "primary", &["0=ocfl_object_1.1"]);
    let root = declaration.trim_end_matches("/0=ocfl_object_1.1").to_owned();
    let aside = home.path().join("aside");
    std::fs::rename(home.file("primary", &root), &aside).expect("moves it");
    assert_eq!(codes(&home, "primary"), [(Code::ObjectMissing, root.clone())]);
    std::fs::rename(&aside, home.file("primary", &root)).expect("moves it back");

    let other = fixture::home();
    let backup = other.backup("empty");
    let (_folder, knows_nothing) = home.with_registry_elsewhere(&backup);
    let found = codes(&knows_nothing, "primary");
    assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [Code::ObjectUnknown; 2]);
    assert!(found.iter().any(|(_, path)| *path == root));
}

#[test]
fn what_a_restored_registry_does_not_know_is_a_later_version() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"one, changed")]);
    let restored = home.restored(&backup);
    assert!(restored.registry.refusal().is_some(), "it is compared although it can only be read");
    let found = differences(&restored, "secondary");
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::VersionUnknown]);
    assert_eq!(found[0].next(), "strongroom rebuild --adopt --store secondary");
}

#[test]
fn leftovers_without_an_owner_are_told() {
    let home = used_home();
    let id = Uuid::now_v7().to_string();
    let path = home.path().join("stores/primary/.strongroom/assembly").join(&id);
    std::fs::create_dir_all(&path).expect("makes it");
    std::fs::write(path.join("x"), b"x").expect("writes");
    assert_eq!(codes(&home, "primary"), [(Code::AssemblyAbandoned, id.clone())]);
    std::fs::create_dir_all(home.file("staging", &id)).expect("makes it");
    std::fs::write(home.file("staging", &id).join("x"), b"x").expect("writes");
    assert_eq!(codes(&home, "staging"), [(Code::StagingAbandoned, id)]);
}

#[test]
fn an_object_that_somebody_holds_all_the_while_is_told_as_busy() {
    let home = used_home();
    let object = home.object("photographs");
    let content = {
        let files = home
            .registry
            .read(|tx| strongroom_registry::objects::files(tx, object.id, 1, "deposit/", "", 10))
            .expect("files");
        let copies =
            home.registry.read(|tx| strongroom_registry::objects::copies(tx, files[0].content)).expect("copies");
        copies[0].key.clone()
    };
    std::fs::remove_file(home.file("primary", &content)).expect("removes");
    let id = object.id;
    let owner = Uuid::now_v7();
    home.registry
        .write(move |tx| {
            let until = tx.now()?.plus(3_600_000_000);
            leases::hold(tx, id, owner, until)
        })
        .expect("holds it");
    let found = codes(&home, "primary");
    assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [Code::ObjectBusy]);
    home.registry.write(move |tx| leases::release_owner(tx, owner)).expect("lets go");
    assert_eq!(codes(&home, "primary"), [(Code::CopyMissing, content)]);
}

#[test]
fn deposits_that_go_on_meanwhile_are_no_differences() {
    let home = fixture::home();
    home.ingest("first", &[("a.txt", b"one")]);
    let sources = (0..12)
        .map(|number| {
            let text = format!("number {number}");
            PackageSource::LocalPath(home.bag(&format!("bag-{number}"), &[("a.txt", text.as_bytes())]))
        })
        .collect();
    let request = DepositRequest { sources, ..DepositRequest::of_system(INSTITUTION) };
    let made = deposit(&home, &request).expect("deposits");
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work_on(&home, &made.items, &Shutdown::new()).expect("works"));
        while !worker.is_finished() {
            for store in KEPT_IN {
                assert_eq!(codes(&home, store), []);
            }
        }
    });
    for store in KEPT_IN {
        assert_eq!(codes(&home, store), []);
    }
}

/// When the schedule clears staging and assemblies next.
fn next_clearing(home: &Home) -> strongroom_registry::Time {
    let tasks = background::list(&home.settings, &home.registry).expect("lists");
    tasks.into_iter().find(|task| task.name == "staging").expect("is listed").next_run_at
}

/// A worker that was stopped in the middle of a put, and woke when another had published the version.
#[test]
fn what_was_assembled_again_of_a_published_version_is_found_and_swept_at_once() {
    let home = fixture::home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    let published = version(&home, id);
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let put = |assembly: String| {
        let file = home.file("primary", &format!(".strongroom/assembly/{assembly}/v1/content/{published}/ab/abc"));
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("makes it");
        std::fs::write(&file, b"late").expect("writes");
        file
    };
    let unknown = strongroom_registry::VersionId::new();
    let foreign = put(unknown.to_string());
    let codes = || differences(&home, "primary").iter().map(|found| found.code).collect::<Vec<_>>();
    assert_eq!(codes(), [Code::AssemblyAbandoned]);
    let now = || strongroom_database::Clock::now(&*home.clock);
    assert!(next_clearing(&home) > now().plus(60_000_000), "nobody knows what it is, and nothing removes it");
    let late = put(published.to_string());
    assert_eq!(codes(), [Code::AssemblyAbandoned, Code::AssemblyAbandoned]);
    assert!(next_clearing(&home) <= now(), "the next `schedule --once` does it");
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(!late.exists() && foreign.exists());
    assert_eq!(codes(), [Code::AssemblyAbandoned]);
}

#[test]
fn what_a_worker_put_that_slept_for_long_is_found_and_swept_again() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"two")]));
    work_until(&home, id, strongroom_registry::Stage::named("record"));
    let given_up = version(&home, id);
    ask(&home, id, strongroom_registry::items::Request::Cancel);
    work_on(&home.home, &[id], &Shutdown::new()).expect("sweeps");
    home.clock.advance(std::time::Duration::from_hours(24 * 30));
    // As in a store whose keys are final from the first put.
    let place = key(&home, "primary", &["/v1/inventory.json"])
        .replace("/v1/inventory.json.sha512", "")
        .replace("/v1/inventory.json", "");
    let stray = format!("{place}/v2/content/{given_up}/ab/abc");
    // The schedule has had its turn.
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(next_clearing(&home) > strongroom_database::Clock::now(&*home.clock).plus(60_000_000));
    std::fs::create_dir_all(home.file("primary", &stray).parent().expect("a folder")).expect("makes it");
    std::fs::write(home.file("primary", &stray), b"late").expect("writes");
    // A version that is being made hides nothing of it.
    let open = hand_in(&home, &home.bag("letters", &[("a.txt", b"three")]));
    work_until(&home, open, strongroom_registry::Stage::named("record"));
    ask(&home, open, strongroom_registry::items::Request::Hold);
    let found = differences(&home, "primary");
    assert_eq!(
        found.iter().map(|found| (found.code, found.path.as_str())).collect::<Vec<_>>(),
        [(Code::VersionDiscarded, stray.as_str())]
    );
    assert_eq!(found[0].next(), "strongroom schedule --once");
    let since = strongroom_database::Clock::now(&*home.clock).plus(-60_000_000);
    let again =
        home.registry.read(|tx| strongroom_registry::discarding::swept_since(tx, since, None, 9)).expect("reads");
    assert_eq!(again.iter().map(|version| version.id).collect::<Vec<_>>(), [given_up], "it is swept again for a while");
    let now = strongroom_database::Clock::now(&*home.clock);
    assert!(next_clearing(&home) <= now, "and the next `schedule --once` does it");
}
