//! The clock of the registry jumps forward while a worker is in the middle of a call to a store: its lease seems to have run
//! out, another process takes the item over and ends it, and the first goes on. Two hold the object, and nothing wrong is
//! kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::{Home, reconcile};
use strongroom_s3::S3Store;
use strongroom_s3_double::Double;
use strongroom_storage::{FolderStore, Store};
use strongroom_storage_test::{Call, Layered};

use super::*;
use crate::installation;
use crate::meanwhile::{Meanwhile, When};

/// How many moments of an ingest are tried, evenly over its calls to the store.
const MOMENTS: usize = 8;

/// A first store in a bucket.
pub(super) fn bucket(double: &Double) -> Arc<dyn Store> {
    Arc::new(S3Store::create("primary", installation::bucket(double, "")).expect("a store in a bucket"))
}

/// The home with another first store.
pub(super) fn with_primary(home: &TestHome, store: Arc<dyn Store>) -> Arc<Home> {
    let mut changed = home.opened_again();
    changed.stores.insert("primary".to_owned(), store);
    Arc::new(changed)
}

fn status(home: &Home, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

/// Ingests a bag, with a jump of the clock at one call to the first store, and proves what is kept; how many calls there were.
fn jump_at(before: usize, primary: &mut dyn FnMut(&TestHome) -> Arc<dyn Store>) -> usize {
    let home = home();
    let store = primary(&home);
    let other = with_primary(&home, store.clone());
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one"), ("b.txt", b"two")]));
    let (clock, taken_over) = (home.clock.clone(), other.clone());
    let seen = Arc::new(AtomicUsize::new(0));
    let calls = seen.clone();
    let is_chosen = move |_: Call<'_>| calls.fetch_add(1, Ordering::SeqCst) == before;
    let layer = Meanwhile::new(When::AllRead, is_chosen, move |_| {
        clock.advance(Duration::from_hours(1));
        work_on(&taken_over, &[id], &Shutdown::new()).expect("works");
    });
    let first = with_primary(&home, Arc::new(Layered::new(store, layer)));
    work_on(&first, &[id], &Shutdown::new()).expect("works");
    let item = status(&other, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "at call {before}: {:?} at {}", item.note, item.stage);
    assert_eq!(home.object("letters").head, 1, "at call {before}");
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(&other, &all, &mut |_| ()).expect("checks");
    assert!(summary.passed > 0, "at call {before}: {summary:?}");
    assert_eq!((summary.damaged, summary.failed, summary.postponed), (0, 0, 0), "at call {before}: {summary:?}");
    for store in KEPT_IN {
        let found = reconcile::run(&other, store, &mut |found| {
            let is_left = matches!(found.code, reconcile::Code::AssemblyAbandoned | reconcile::Code::VersionDiscarded);
            assert!(is_left, "at call {before}: {found:?}");
            Ok(())
        });
        found.expect("compares");
    }
    seen.load(Ordering::SeqCst)
}

/// The same at moments that are spread over the whole ingest.
fn jump_at_many(primary: &mut dyn FnMut(&TestHome) -> Arc<dyn Store>) {
    let calls = jump_at(usize::MAX, primary);
    assert!(calls > MOMENTS, "{calls} calls");
    for moment in 0..MOMENTS {
        jump_at(calls * moment / MOMENTS, primary);
    }
}

#[test]
fn a_forward_jump_of_the_clock_makes_two_holders_who_keep_nothing_wrong_in_a_folder() {
    let mut folder = |home: &TestHome| -> Arc<dyn Store> {
        Arc::new(FolderStore::open("primary", home.path().join("stores/primary")).expect("opens"))
    };
    jump_at_many(&mut folder);
}

#[test]
fn a_forward_jump_of_the_clock_makes_two_holders_who_keep_nothing_wrong_in_a_bucket() {
    let mut servers = Vec::new();
    let mut primary = |_: &TestHome| -> Arc<dyn Store> {
        let double = Double::start().expect("a server");
        let store = bucket(&double);
        servers.clear();
        servers.push(double);
        store
    };
    jump_at_many(&mut primary);
}
