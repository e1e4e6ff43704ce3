//! The same promises over a real server, where `STRONGROOM_TEST_S3` says how to reach one: the settings of a store, as
//! JSON, below whose prefix the tests make stores of their own.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use strongroom_digest::Algorithm;
use strongroom_s3::{S3Settings, S3Store, Secret, Swept};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store, conformance};

use crate::served::{declared, digest, key, list, pattern, put, read};

const VARIABLE: &str = "STRONGROOM_TEST_S3";

/// Settings of a store of its own for each caller, where there is a real server.
fn settings() -> Option<S3Settings> {
    static STORES: AtomicU32 = AtomicU32::new(0);
    let Ok(text) = std::env::var(VARIABLE) else {
        println!("SKIPPED: no real S3 server: {VARIABLE} is not set");
        return None;
    };
    let given: S3Settings = serde_json::from_str(&text).expect("the settings of a store as JSON");
    let nth = STORES.fetch_add(1, Ordering::SeqCst);
    let prefix = format!("{}/{nth}", std::process::id());
    let prefix = if given.prefix.is_empty() { prefix } else { format!("{}/{prefix}", given.prefix) };
    Some(S3Settings { prefix, part_size: 5 << 20, first_wait: Duration::from_millis(20), ..given })
}

fn store() -> Option<S3Store> {
    settings().map(|settings| S3Store::create("real", settings).unwrap())
}

#[test]
fn a_real_bucket_is_a_store() {
    if settings().is_none() {
        return;
    }
    conformance::run(|| {
        let store: Arc<dyn Store> = Arc::new(store().unwrap());
        ((), store)
    });
}

#[test]
fn a_real_server_is_probed() {
    let Some(store) = store() else { return };
    let probe = store.probed();
    println!("{probe}");
    assert!(probe.is_writable && probe.has_strong_checksums() && probe.has_strong_composites(), "{probe}");
    assert!(list(&store, "").is_empty());
    assert_eq!(store.capabilities().conditional_put, probe.if_none_match && probe.if_match);
}

#[test]
fn real_checksums_vouch_for_what_was_put() {
    let Some(store) = store() else { return };
    let small = put(&store, "small", b"bytes");
    assert_eq!(small.checksum, Some((Algorithm::Sha256, digest(Algorithm::Sha256, b"bytes"))));
    let bytes = pattern((12 << 20) + 5, 1);
    let head = store.put(&key("large"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert_eq!(head.checksum, Some((Algorithm::Sha512, digest(Algorithm::Sha512, &bytes))));
    assert_eq!(store.head(&key("large")).unwrap(), head);
    assert!(read(&store, "large") == bytes);
    let mut range = Vec::new();
    store.open(&key("large"), 7_000_000, Some(3_000_000)).unwrap().read_to_end(&mut range).unwrap();
    assert!(range == bytes[7_000_000..10_000_000]);
}

#[test]
fn an_interrupted_put_to_a_real_server_is_gone_on_with() {
    let Some(settings) = settings() else { return };
    let store = S3Store::create("real", S3Settings { parts_at_once: 1, ..settings.clone() }).unwrap();
    let bytes = pattern((22 << 20) + 5, 1);
    let mut broken = (&bytes[..20 << 20]).chain(Broken);
    let refused = store.put(&key("k"), &mut broken, &declared(&bytes));
    assert!(matches!(refused, Err(StorageError::Source { .. })), "{refused:?}");
    assert!(store.head(&key("k")).unwrap_err().is_not_found());
    let store = S3Store::open("real", settings).unwrap();
    store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert!(read(&store, "k") == bytes);
    assert_eq!(store.sweep_uploads(Duration::ZERO).unwrap().uploads, 0, "nothing is left of the upload");
}

#[test]
fn uploads_that_nobody_finishes_are_swept_from_a_real_server() {
    let Some(store) = store() else { return };
    let bytes = pattern((12 << 20) + 5, 1);
    let refused = store.put(&key("k"), &mut (&bytes[..11 << 20]).chain(Broken), &declared(&bytes));
    assert!(matches!(refused, Err(StorageError::Source { .. })), "{refused:?}");
    assert_eq!(store.sweep_uploads(Duration::from_hours(1)).unwrap(), Swept::default());
    assert_eq!(store.sweep_uploads(Duration::ZERO).unwrap(), Swept { uploads: 1, records: 1 });
    store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert!(read(&store, "k") == bytes);
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the source broke"))
    }
}

#[test]
fn large_real_puts_honour_conditions() {
    let Some(store) = store() else { return };
    if !store.capabilities().conditional_put {
        return;
    }
    let bytes = pattern((6 << 20) + 5, 1);
    let if_absent = PutOptions { condition: PutCondition::IfAbsent, ..declared(&bytes) };
    let first = store.put(&key("k"), &mut bytes.as_slice(), &if_absent).unwrap();
    let refused = store.put(&key("k"), &mut bytes.as_slice(), &if_absent);
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    let matching = PutOptions { condition: PutCondition::IfMatch(first.etag), ..declared(&bytes) };
    store.put(&key("k"), &mut bytes.as_slice(), &matching).unwrap();
    assert!(read(&store, "k") == bytes);
}

#[test]
fn thousands_of_real_keys_are_listed_and_deleted() {
    let Some(store) = store() else { return };
    let mut names: Vec<String> = (0..2_300).map(|n| format!("many/{}/{n}", n % 7)).collect();
    std::thread::scope(|scope| {
        for names in names.chunks(300) {
            let store = &store;
            scope.spawn(move || names.iter().for_each(|name| drop(put(store, name, b"x"))));
        }
    });
    names.sort_unstable();
    assert_eq!(list(&store, "many"), names);
    let rest = store.list_after(&Key::ROOT, &key(&names[1_500])).unwrap().map(|line| line.unwrap().key.to_string());
    assert_eq!(rest.collect::<Vec<_>>(), names[1_501..]);
    store.delete_all(&key("many")).unwrap();
    assert!(list(&store, "").is_empty());
}

#[test]
fn a_real_server_refuses_wrong_credentials() {
    let Some(settings) = settings() else { return };
    let wrong = S3Settings { secret_key: Some(Secret::new("wrong")), ..settings };
    let error = S3Store::open("real", wrong).map(|_| ()).unwrap_err();
    assert!(error.is_away(), "what needs the store waits until the credentials are right: {error:?}");
    assert!(error.to_string().contains("refuses the credentials"), "{error}");
}
