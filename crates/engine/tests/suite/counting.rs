//! Statistics: what is counted bit by bit is what a count from nothing comes to, and what lies in the stores.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use strongroom_engine::app::statistics::{self, By, Filter, FormatsBy, StorageBy};
use strongroom_engine::app::views::{DepositsReportView, FormatsReportView, StorageReportView};
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, background, work_on};
use strongroom_registry::{CollectionId, Scope, tenants};
use strongroom_storage::Key;
use tempfile::TempDir;

use crate::deleting::{check, delete, rebuilt};
use crate::deletions::world;
use crate::fixture::{self, Engine, INSTITUTION, KEPT_IN, TestHome, on_both_databases};
use crate::restoration::{restored, to};

const DAY: Duration = Duration::from_hours(24);

fn run(home: &Home) {
    let task = background::TASKS.iter().find(|task| task.name == "statistics").expect("the task");
    (task.run)(home, &Shutdown::new()).expect("runs");
}

fn console(home: &Arc<Home>) -> OpContext {
    OpContext::new(home.clone(), Caller::at_console("tester"))
}

/// Every count.
#[derive(Debug, PartialEq, Eq)]
struct All {
    days: Vec<DepositsReportView>,
    collections: Vec<DepositsReportView>,
    storage: Vec<StorageReportView>,
    formats: Vec<FormatsReportView>,
    /// What was kept at the end of each day.
    history: Vec<Vec<StorageReportView>>,
}

fn all(home: &Arc<Home>) -> All {
    let (context, filter) = (console(home), Filter::default());
    let (days, uncounted) = statistics::deposits(&context, By::Day, &filter).expect("reports");
    assert_eq!((uncounted.changes, uncounted.is_first), (0, false));
    let history = days.iter().map(|row| {
        let day: jiff::Timestamp =
            format!("{}T12:00:00Z", row.period.as_deref().expect("a day")).parse().expect("a time");
        let until = strongroom_registry::Time::from(day).plus(86_400_000_000);
        let filter = Filter { until: Some(until), ..Filter::default() };
        statistics::storage(&context, StorageBy::Class, &filter).expect("reports").0
    });
    All {
        history: history.collect(),
        collections: statistics::deposits(&context, By::Collection, &filter).expect("reports").0,
        storage: statistics::storage(&context, StorageBy::Collection, &filter).expect("reports").0,
        formats: statistics::formats(&context, FormatsBy::Collection, &filter).expect("reports").0,
        days,
    }
}

fn recompute(home: &Arc<Home>) -> u64 {
    let made = statistics::recompute(&console(home), &Shutdown::new()).expect("recomputes");
    assert!(made.complete);
    made.corrected
}

/// Files and bytes of contents that lie in a store, as a listing of it finds them.
fn lying_in(home: &TestHome, store: &str) -> (i64, i64) {
    let listing = home.store(store).expect("a store").list(&Key::ROOT).expect("lists");
    let contents = listing
        .map(|listed| listed.expect("a key"))
        .filter(|listed| listed.key.as_str().contains("/content/") && !listed.key.as_str().starts_with("_strongroom"));
    contents.fold((0, 0), |(files, bytes), listed| {
        let file = home.file(store, listed.key.as_str());
        (files + 1, bytes + i64::try_from(std::fs::metadata(file).expect("a file").len()).expect("fits"))
    })
}

fn assert_equals_stores(home: &TestHome) {
    check(home, &KEPT_IN);
    let (found, _) = statistics::storage(&console(&home.home), StorageBy::Store, &Filter::default()).expect("reports");
    let found: BTreeMap<_, _> =
        found.iter().map(|row| (row.store.clone().expect("one"), (row.files, row.bytes))).collect();
    for store in KEPT_IN {
        assert_eq!(found.get(store), Some(&lying_in(home, store)), "{store}");
    }
}

fn restore(home: &TestHome, name: &str) {
    let folder = TempDir::new().expect("a folder");
    restored(home, &to(&folder, name));
}

/// A small generator of numbers that a seed fixes.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A history of deposits, updates, deletions and restorations over some days, counted now and then.
fn make_history(home: &TestHome, seed: u64) {
    println!("seed {seed}");
    let mut numbers = Numbers(seed);
    for step in 0..14_u64 {
        let name = ["letters", "maps", "plans"][usize::try_from(numbers.below(3)).expect("fits")];
        match numbers.below(6) {
            0..=2 => {
                let text = format!("text {}", numbers.below(4)).repeat(usize::try_from(step + 1).expect("fits"));
                home.ingest(name, &[("a.txt", text.as_bytes()), ("b.tif", b"II*\0"), ("c.txt", b"always")]);
            }
            3 => restore(home, "letters"),
            4 => {
                home.ingest("letters", &[("secret.txt", format!("secret {step}").as_bytes())]);
                delete(home, &["data/secret.txt"]);
            }
            _ => home.clock.advance(DAY),
        }
        if numbers.below(3) == 0 {
            run(home);
        }
    }
}

fn what_is_counted_bit_by_bit_is_what_a_count_from_nothing_comes_to(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one")]);
    for seed in [1, 2] {
        make_history(&home, seed);
        run(&home);
        let counted = all(&home.home);
        assert_equals_stores(&home);
        assert_eq!(recompute(&home.home), 0);
        assert_eq!(all(&home.home), counted);
    }
    // The object as a whole, and deposited anew.
    delete(&home, &[]);
    run(&home);
    home.clock.advance(DAY);
    home.ingest("letters", &[("a.txt", b"anew")]);
    run(&home);
    let counted = all(&home.home);
    let deleted: i64 = counted.days.iter().map(|day| day.deleted_objects).sum();
    assert_eq!(deleted, 1);
    assert_equals_stores(&home);
    assert_eq!(recompute(&home.home), 0);
    assert_eq!(all(&home.home), counted);
}

fn figures_are_those_of_what_was_done(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("secret.txt", b"12345678")]);
    let (files, bytes) = lying_in(&home, "primary");
    delete(&home, &["data/secret.txt"]);
    run(&home);
    restore(&home, "letters");
    run(&home);
    run(&home);
    let (rows, _) = statistics::deposits(&console(&home.home), By::Institution, &Filter::default()).expect("reports");
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let (left_files, left_bytes) = lying_in(&home, "primary");
    assert_eq!(row.institution.as_deref(), Some(INSTITUTION));
    assert_eq!((row.objects, row.restorations), (1, 1));
    assert_eq!((row.files - row.deleted_files, row.bytes - row.deleted_bytes), (left_files, left_bytes));
    assert!(row.files >= files && row.bytes >= bytes && row.deleted_bytes >= 8 && row.restored_bytes > 0, "{row:?}");
    let (formats, _) = statistics::formats(&console(&home.home), FormatsBy::Puid, &Filter::default()).expect("reports");
    assert_eq!(formats.iter().map(|row| row.bytes).sum::<i64>(), left_bytes);
}

/// An object that is in no collection comes into one with a later deposit.
fn an_object_that_comes_into_a_collection_is_counted_there(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("secret.txt", b"12345678")]);
    delete(&home, &["data/secret.txt"]);
    restore(&home, "letters");
    run(&home);
    home.clock.advance(DAY);
    let rules = tenants::CollectionRules { name: "Maps".into(), ..tenants::CollectionRules::default() };
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            tenants::add_collection(tx, CollectionId::new(), institution, "maps", (&rules, "test"))
        })
        .expect("adds it");
    let bag = home.bag("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    let request = DepositRequest {
        collection: Some("maps".to_owned()),
        sources: vec![PackageSource::LocalPath(bag)],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(&home.home, &request).expect("deposits");
    work_on(&home.home, &made.items, &Shutdown::new()).expect("works");
    run(&home);
    let counted = all(&home.home);
    let collections: Vec<_> = counted.collections.iter().map(|row| row.collection.as_deref()).collect();
    assert_eq!(collections, [Some("maps")], "{:?}", counted.collections);
    assert_eq!((counted.collections[0].objects, counted.collections[0].restorations), (1, 1));
    assert_eq!(recompute(&home.home), 0);
    assert_eq!(all(&home.home), counted);
}

fn processes_that_count_at_once_count_each_object_once(engine: Engine) {
    let Some(home) = fixture::home_on(engine, "") else { return };
    for number in 0..24_u8 {
        home.ingest(&format!("object-{}", number % 6), &[("a.txt", &[number])]);
        if number % 8 == 7 {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| run(&home));
                }
            });
        }
    }
    let counted = all(&home.home);
    assert_eq!(counted.days.iter().map(|day| day.versions).sum::<i64>(), 24);
    assert_equals_stores(&home);
    assert_eq!(recompute(&home.home), 0);
    assert_eq!(all(&home.home), counted);
}

on_both_databases! {
    what_is_counted_bit_by_bit_is_what_a_count_from_nothing_comes_to
    figures_are_those_of_what_was_done
    processes_that_count_at_once_count_each_object_once
    an_object_that_comes_into_a_collection_is_counted_there
}

#[test]
fn a_registry_that_is_made_from_the_stores_counts_what_they_have() {
    let Some(home) = world(Engine::Sqlite, "") else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("secret.txt", b"12345678")]);
    home.clock.advance(DAY);
    home.ingest("letters", &[("a.txt", b"two")]);
    home.ingest("maps", &[("1.tif", b"II*\0")]);
    delete(&home, &["data/secret.txt"]);
    run(&home);
    let counted = all(&home.home);
    let (_folder, made) = rebuilt(&home, "primary");
    let made = Arc::new(made);
    run(&made);
    let after = all(&made);
    assert_eq!((&after.storage, &after.formats), (&counted.storage, &counted.formats));
    // What was deleted is counted on the day on which it was, and restorations are not in the stores.
    assert_eq!(after.days, counted.days);
}

#[test]
fn counts_that_are_wrong_are_put_right_by_a_count_from_nothing() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    run(&home);
    let counted = all(&home.home);
    home.change_rows("-- name: change\nUPDATE statistics_storage SET bytes = bytes + 1000 WHERE store = 'primary'");
    home.change_rows("-- name: change\nUPDATE statistics_days SET bytes = 7");
    assert_ne!(all(&home.home), counted);
    assert_eq!(recompute(&home.home), 1);
    assert_eq!(all(&home.home).storage, counted.storage);
    assert_eq!(all(&home.home).days, counted.days);
}
