//! The same promises over a real server, where `STRONGROOM_TEST_S3` says how to reach one: the settings of a store, as
//! JSON, below whose prefix the tests make stores of their own.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_s3::types::{ObjectLockLegalHold, ObjectLockLegalHoldStatus, ObjectLockRetention, ObjectLockRetentionMode};
use strongroom_digest::Algorithm;
use strongroom_s3::{S3Settings, S3Store, Secret, Swept};
use strongroom_storage::{Key, PutCondition, PutOptions, RetentionMode, StorageError, Store, conformance};

use crate::served::{declared, digest, key, list, pattern, put, read};

const VARIABLE: &str = "STRONGROOM_TEST_S3";

/// Settings of a store of its own for each caller, where there is a real server.
pub(crate) fn settings() -> Option<S3Settings> {
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

/// A bucket of the real server that has Object Lock, for one test, and a client that people would use beside the store.
struct LockedBucket {
    settings: S3Settings,
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl LockedBucket {
    fn make() -> Option<Self> {
        let given = settings()?;
        let raw: serde_json::Value = serde_json::from_str(&std::env::var(VARIABLE).ok()?).unwrap();
        let text = |name: &str| raw[name].as_str().unwrap().to_owned();
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url(text("endpoint"))
            .force_path_style(true)
            .credentials_provider(Credentials::new(text("access_key"), text("secret_key"), None, None, "test"))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        let client = Client::from_conf(config);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bucket = format!("locked-{}", given.prefix.replace('/', "-"));
        let request = client.create_bucket().bucket(&bucket).object_lock_enabled_for_bucket(true);
        runtime.block_on(request.send()).unwrap();
        Some(Self { settings: S3Settings { bucket, ..given }, client, runtime })
    }

    fn store(&self) -> S3Store {
        S3Store::create("real", self.settings.clone()).unwrap()
    }

    fn name(&self, key: &str) -> String {
        format!("{}/{key}", self.settings.prefix)
    }

    /// Versions and markers of the keys that begin so.
    fn versions(&self, key: &str) -> usize {
        let request = self.client.list_object_versions().bucket(&self.settings.bucket).prefix(self.name(key));
        let output = self.runtime.block_on(request.send()).unwrap();
        output.versions().len() + output.delete_markers().len()
    }

    fn retain(&self, key: &str, time: Duration) {
        let retention = ObjectLockRetention::builder()
            .mode(ObjectLockRetentionMode::Governance)
            .retain_until_date((SystemTime::now() + time).into())
            .build();
        let request = self.client.put_object_retention().bucket(&self.settings.bucket).key(self.name(key));
        self.runtime.block_on(request.retention(retention).send()).unwrap();
    }

    /// Ends the retention of the version that is seen, by the right to do so.
    fn end_retention(&self, key: &str) {
        let request = self.client.put_object_retention().bucket(&self.settings.bucket).key(self.name(key));
        let request = request.bypass_governance_retention(true).retention(ObjectLockRetention::builder().build());
        self.runtime.block_on(request.send()).unwrap();
    }

    fn hold(&self, key: &str, is_held: bool) {
        let status = if is_held { ObjectLockLegalHoldStatus::On } else { ObjectLockLegalHoldStatus::Off };
        let hold = ObjectLockLegalHold::builder().status(status).build();
        let request = self.client.put_object_legal_hold().bucket(&self.settings.bucket).key(self.name(key));
        self.runtime.block_on(request.legal_hold(hold).send()).unwrap();
    }
}

#[test]
fn every_version_of_a_real_key_is_purged() {
    let Some(bucket) = LockedBucket::make() else { return };
    let store = bucket.store();
    let bytes = pattern((12 << 20) + 5, 1);
    for _ in 0..2 {
        put(&store, "a/k", b"one");
        put(&store, "a/k", b"two");
        store.delete(&key("a/k")).unwrap();
        store.put(&key("a/k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
        put(&store, "a/k-2", b"other");
    }
    assert_eq!(bucket.versions("a"), 10);
    store.purge_replaced(&key("a/k")).unwrap();
    assert_eq!(bucket.versions("a"), 3);
    assert!(read(&store, "a/k") == bytes);
    store.purge(&key("a/k")).unwrap();
    assert_eq!(bucket.versions("a"), 2);
    store.purge_all(&key("a")).unwrap();
    store.purge_all(&key("a")).unwrap();
    assert_eq!(bucket.versions("a"), 0);
}

#[test]
fn thousands_of_real_versions_are_purged() {
    let Some(bucket) = LockedBucket::make() else { return };
    let store = bucket.store();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || (0..300).for_each(|nth| drop(put(store, &format!("many/{thread}/{}", nth / 2), b"x"))));
        }
    });
    assert_eq!(bucket.versions("many"), 1_000, "one page of 2400");
    store.purge_all(&key("many")).unwrap();
    assert_eq!(bucket.versions("many"), 0);
}

#[test]
fn real_locks_are_told_and_refuse_the_removal() {
    let Some(bucket) = LockedBucket::make() else { return };
    let store = bucket.store();
    put(&store, "a/k", b"one");
    put(&store, "a/l", b"x");
    assert_eq!(store.removal_hold_below(&key("a")).unwrap(), None);
    bucket.retain("a/k", Duration::from_hours(24));
    let now = SystemTime::now();
    let hold = store.removal_hold_below(&key("a")).unwrap().expect("a hold");
    assert_eq!((hold.key.as_str(), hold.has_legal_hold), ("a/k", false));
    let retention = hold.retention.expect("a retention");
    assert_eq!(retention.mode, RetentionMode::Governance);
    assert!(now + Duration::from_hours(23) < retention.until && retention.until < now + Duration::from_hours(25));
    for refused in [store.purge(&key("a/k")), store.purge_all(&key("a"))] {
        let error = refused.unwrap_err();
        assert!(error.is_held() && error.to_string().contains("retains it until"), "{error}");
    }
    put(&store, "a/l", b"y");
    bucket.end_retention("a/k");
    bucket.hold("a/k", true);
    put(&store, "a/k", b"two");
    let hold = store.removal_hold(&key("a/k")).unwrap().expect("a hold of the version before");
    assert!(hold.has_legal_hold);
    let error = store.purge(&key("a/k")).unwrap_err();
    assert!(error.is_held() && error.to_string().contains("legal hold"), "{error}");
    assert_eq!(read(&store, "a/k"), b"two");
}

#[test]
fn nothing_forbids_removal_in_a_real_bucket_without_locks() {
    let Some(store) = store() else { return };
    put(&store, "a/k", b"x");
    assert_eq!(store.removal_hold(&key("a/k")).unwrap(), None);
    assert_eq!(store.removal_hold_below(&key("a")).unwrap(), None);
}
