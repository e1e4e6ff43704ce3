//! A bucket that became another store while it was open is noticed before anything is published or declared in it.

use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, Mutex};

use strongroom_engine::fixity::FixityRequest;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::{Home, fixity, work_on};
use strongroom_registry::{ItemStatus, objects};
use strongroom_s3::{S3Settings, S3Store};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};
use strongroom_storage::StorageError;
use strongroom_storage_test::{Call, Layer, Operation};

use super::{MARK, assert_is_refused, bucket_settings, exchange, item, submit, with_bucket, work_until_it_waits};
use crate::fixture::{INSTITUTION, KEPT_IN, TestHome, home};
use crate::ingest::committing::layered;

/// A home in which the placement `Standard` is `primary` and `one`, and every other one `primary` and `two`: both are
/// buckets, here parts of one.
fn with_two_buckets(double: &Double) -> TestHome {
    let mut made = home();
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text.replace(&format!("{KEPT_IN:?}"), "[\"primary\", \"two\"]");
    let mut text = text.replace("Standard = [\"primary\", \"two\"]", "Standard = [\"primary\", \"one\"]");
    for name in ["one", "two"] {
        S3Store::create(name, S3Settings { prefix: name.into(), ..bucket_settings(double) }).expect("a store");
        write!(
            text,
            "\n[stores.{name}]\nkind = \"s3\"\nbucket = {BUCKET:?}\nprefix = {name:?}\nendpoint = {:?}\naccess_key = \
             {ACCESS_KEY:?}\nsecret_key = {SECRET_KEY:?}\n",
            double.endpoint()
        )
        .expect("writes");
    }
    let settings = Settings::from_toml(&text).expect("settings");
    made.home = Arc::new(Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens"));
    made
}

fn ingest_for(made: &TestHome, option: &str, name: &str) {
    let bag = made.bag_for(option, name, &[("a.txt", name.as_bytes())]);
    let request = DepositRequest {
        sources: vec![PackageSource::LocalPath(bag.clone())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let id = deposit(made, &request).expect("deposits").items.remove(0);
    work_on(made, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(made, id).status, ItemStatus::Succeeded, "{:?}", item(made, id).note);
}

/// A name leads to another store of the same registry, whose mark tells of later acts and names that other store.
#[test]
fn the_mark_of_another_store_of_the_registry_is_not_overwritten() {
    let double = Double::start().expect("a server");
    let made = with_two_buckets(&double);
    ingest_for(&made, "Standard", "letters");
    ingest_for(&made, "Wasabi-OR", "maps");
    // The first name leads to the second store now.
    for key in double.keys().into_iter().filter(|key| key.starts_with("one/")) {
        double.take(&key);
    }
    for key in double.keys().into_iter().filter(|key| key.starts_with("two/")) {
        let stored = double.stored(&key).expect("lies there");
        double.lay_stored(&key.replacen("two/", "one/", 1), stored);
    }
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    let waiting = work_until_it_waits(&made.home, id);
    assert_eq!(waiting.status, ItemStatus::Pending, "{:?}", waiting.note);
    assert_is_refused(&made, "one");
}

/// So it is with each store before its first act: no mark tells of it.
#[test]
fn nothing_is_published_into_an_exchanged_bucket_of_which_no_act_was_noted() {
    let double = Double::start().expect("a server");
    let made = with_bucket(&double);
    exchange(&double);
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    let waiting = work_until_it_waits(&made.home, id);
    assert_eq!(waiting.status, ItemStatus::Pending, "{:?}", waiting.note);
}

/// A home with a bucket of which one copy is corrupt; its key.
fn with_corrupt_copy(double: &Double) -> (TestHome, String) {
    let made = with_bucket(double);
    let object = made.ingest("letters", &[("a.txt", b"dear reader")]);
    let files = made.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    let copies = made.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    let key = copies.into_iter().find(|copy| copy.store == "bucket").expect("a copy").key;
    double.lay(&key, b"other bytes");
    (made, key)
}

#[test]
fn no_storage_root_is_declared_in_a_bucket_that_became_another_store() {
    let double = Double::start().expect("a server");
    let (made, _) = with_corrupt_copy(&double);
    exchange(&double);
    let request = FixityRequest { all: true, ..FixityRequest::default() };
    let _ = fixity::run(&made, &request, &mut |_| ());
    let written: Vec<String> = double.keys().into_iter().filter(|key| key.starts_with(INSTITUTION)).collect();
    assert!(written.is_empty(), "written into another store: {written:?}");
}

/// Exchanges the bucket for the store of another registry when a version was committed in it.
struct ForeignAtCommit {
    double: Arc<Double>,
    is_done: Mutex<bool>,
}

const FOREIGN: &[u8] = br#"{"form":1,"registry":"0198f000-0000-7000-8000-000000000001","term":1,"acts":7}"#;

impl Layer for ForeignAtCommit {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let outcome = act();
        let mut is_done = self.is_done.lock().expect("not poisoned");
        if call.operation == Operation::Commit && !*is_done {
            *is_done = true;
            exchange(&self.double);
            self.double.lay(MARK, FOREIGN);
        }
        outcome
    }
}

/// A registry that finds a later act in its mark than it knows can only be read until a person adopts.
#[test]
fn the_mark_of_a_registry_whose_bucket_took_the_place_is_not_raised() {
    let double = Arc::new(Double::start().expect("a server"));
    let made = with_bucket(&double);
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let layered = layered(&made, "bucket", ForeignAtCommit { double: double.clone(), is_done: Mutex::new(false) });
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_until_it_waits(&layered, id);
    assert_eq!(
        String::from_utf8_lossy(&double.stored(MARK).expect("a mark").bytes()),
        String::from_utf8_lossy(FOREIGN)
    );
}
