//! A bag that is not valid as it was written never appears under its name, wherever the fault lies: the fail point changes the
//! bytes on their way from the writer of the bag to the target. The texts that it changes occur in no bag of another test.

use std::sync::Arc;

use strongroom_registry::items::ItemProblem;
use strongroom_registry::restored;
use strongroom_s3_double::Double;
use strongroom_storage::Store;

use super::replacing::{bucket, keys, with_store};
use super::*;

/// Changes what is written of bags in this process for as long as it lives. One at a time.
struct Altered(#[expect(dead_code, reason = "kept until the end")] std::sync::MutexGuard<'static, ()>);

static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
const POINT: &str = "restoration.bag.written";

impl Altered {
    fn from_to(change: &str) -> Self {
        let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        fail::cfg(POINT, &format!("return({change})")).expect("a fail point");
        Self(guard)
    }
}

impl Drop for Altered {
    fn drop(&mut self) {
        fail::remove(POINT);
    }
}

fn problems(home: &Home, item: &Item) -> Vec<ItemProblem> {
    home.registry.read(|tx| items::problems(tx, Scope::System, item.id, 10)).expect("problems")
}

/// Works on an item until it ended, however that is.
fn ended(home: &Arc<Home>, id: ItemId) -> Item {
    work_on(home, &[id], &Shutdown::new()).expect("works");
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

/// The item failed because of a bag that is not valid, with a problem of this code.
fn assert_invalid(home: &Home, item: &Item, code: &str) {
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    let note = item.note.as_deref().unwrap_or_default();
    assert!(note.contains("as it was written is invalid"), "{note}");
    let problems = problems(home, item);
    assert!(problems.iter().any(|problem| problem.code == code), "{problems:?}");
}

#[test]
fn a_bag_whose_manifest_or_payload_was_altered_on_its_way_does_not_appear() {
    let home = fixture::home();
    home.ingest("kites", &[("validity-a.txt", b"red kite over the validity hill"), ("b.txt", b"two")]);
    for (change, code) in [
        // With both blanks it is the line of a manifest, not the name in the archive.
        ("  data/validity-a.txt>  data/validity-x.txt", "manifest.file_unlisted"),
        ("red kite over the validity hill>red kite over the validity hall", "manifest.digest_mismatch"),
    ] {
        let altered = Altered::from_to(change);
        let folder = TempDir::new().expect("a folder");
        let item = worked(&home, request_object(&home, &to(&folder, "kites")).expect("asks"));
        assert_invalid(&home, &item, code);
        assert_eq!(names(folder.path()), [""; 0]);

        let into_store = RestoreRequest::of_system(format!("{INSTITUTION}/kites"));
        let item = worked(&home, request_object(&home, &into_store).expect("asks"));
        assert_invalid(&home, &item, code);
        assert!(home.keys("restoration").is_empty());

        let submission = RestoreRequest { submission: true, ..to(&folder, "kites") };
        let item = worked(&home, request_object(&home, &submission).expect("asks"));
        assert_invalid(&home, &item, code);
        assert_eq!(names(folder.path()), [""; 0]);
        drop(altered);
    }
    let folder = TempDir::new().expect("a folder");
    restored(&home, &to(&folder, "kites"));
}

#[test]
fn an_altered_bag_does_not_appear_in_object_storage_either() {
    let home = fixture::home();
    home.ingest("herons", &[("a.txt", b"grey heron by the validity pond"), ("big.bin", &large())]);
    let double = Double::start().expect("a server");
    let store: Arc<dyn Store> = bucket(&double);
    let changed = with_store(&home, "restoration", store.clone());
    let request = RestoreRequest::of_system(format!("{INSTITUTION}/herons"));
    let altered = Altered::from_to("grey heron by the validity pond>grey heron by the validity pool");
    let item = ended(&changed, request_object(&changed, &request).expect("asks"));
    assert_invalid(&changed, &item, "manifest.digest_mismatch");
    assert!(keys(store.as_ref()).is_empty());
    let noted = changed.registry.read(|tx| restored::of_item(tx, item.id)).expect("results");
    assert!(noted.iter().all(|one| one.sha256.is_none()), "nothing was announced: {noted:?}");
    drop(altered);
    let item = ended(&changed, request_object(&changed, &request).expect("asks"));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(keys(store.as_ref()).len(), 1);
}
