//! What people are told when a store cannot be opened or used.

use std::io::Write;

use strongroom_s3::{S3Settings, S3Store, Secret};
use strongroom_s3_double::{Double, SECRET_KEY};
use strongroom_storage::{StorageError, Store};

use crate::served::{key, put, read, served, settings};

fn refused(settings: S3Settings) -> StorageError {
    S3Store::open("primary", settings).map(|_| ()).unwrap_err()
}

fn reason(settings: S3Settings) -> String {
    match refused(settings) {
        StorageError::Unusable { reason, .. } | StorageError::Away { reason, .. } => reason,
        other => panic!("not told as unusable: {other:?}"),
    }
}

#[test]
fn wrong_credentials_are_told() {
    let (double, _store) = served();
    for (access_key, secret_key) in [("somebody", SECRET_KEY), ("double-access-key", "wrong")] {
        let settings = S3Settings {
            access_key: Some(access_key.into()),
            secret_key: Some(Secret::new(secret_key)),
            ..settings(&double)
        };
        let reason = reason(settings);
        assert!(reason.contains("refuses the credentials"), "{reason}");
        assert!(!reason.contains(SECRET_KEY));
    }
}

#[test]
fn a_bucket_that_does_not_exist_is_told() {
    let (double, _store) = served();
    let missing = S3Settings { bucket: "missing".into(), ..settings(&double) };
    assert!(reason(missing.clone()).contains("bucket missing does not exist"), "{}", reason(missing));
}

#[test]
fn a_bucket_that_vanishes_is_not_an_empty_store() {
    let (double, store) = served();
    put(&store, "k", b"bytes");
    assert!(store.head(&key("none")).unwrap_err().is_not_found());
    double.drop_bucket();
    let errors = [
        store.open(&key("k"), 0, None).map(|_| ()).unwrap_err(),
        store.list(&key("a")).unwrap().next().unwrap().map(|_| ()).unwrap_err(),
        store.delete(&key("k")).unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_away(), "{error:?}");
    }
}

#[test]
fn an_endpoint_out_of_reach_may_come_back() {
    let double = Double::start().unwrap();
    let settings = S3Settings { attempts: 2, ..settings(&double) };
    drop(double);
    let error = refused(settings);
    assert!(error.is_transient(), "{error:?}");
}

#[test]
fn a_bucket_that_is_no_store_is_refused() {
    let double = Double::start().unwrap();
    let reason = reason(settings(&double));
    assert!(reason.contains(".strongroom/store.json") && reason.contains("store create"), "{reason}");
    let created = S3Store::create("primary", settings(&double)).unwrap();
    let again = S3Store::create("primary", settings(&double)).unwrap();
    assert_eq!(created.id(), again.id());
    assert_eq!(S3Store::open("other name", settings(&double)).unwrap().id(), created.id());
}

#[test]
fn a_store_of_a_newer_program_is_refused() {
    let (double, store) = served();
    let newer = format!("{{\"format\": 2, \"store\": \"{}\"}}", store.id());
    double.lay(".strongroom/store.json", newer.as_bytes());
    assert!(reason(settings(&double)).contains("use a newer one"));
}

#[test]
fn settings_that_cannot_work_are_refused_before_anything_is_sent() {
    let (double, _store) = served();
    let before = double.counts().all();
    let good = settings(&double);
    for settings in [
        S3Settings { bucket: String::new(), ..good.clone() },
        S3Settings { prefix: "/p/".into(), ..good.clone() },
        S3Settings { prefix: "p/.strongroom".into(), ..good.clone() },
        S3Settings { part_size: 1, ..good.clone() },
        S3Settings { secret_key: None, ..good.clone() },
        S3Settings { secret_key: None, secret_key_file: Some("/nowhere/at/all".into()), ..good.clone() },
    ] {
        assert!(!reason(settings).is_empty());
    }
    assert_eq!(double.counts().all(), before);
}

#[test]
fn the_secret_may_lie_in_a_file() {
    let (double, store) = served();
    put(&store, "k", b"bytes");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{SECRET_KEY}\nnothing else is read").unwrap();
    let settings = S3Settings { secret_key: None, secret_key_file: Some(file.path().to_owned()), ..settings(&double) };
    assert_eq!(read(&S3Store::open("primary", settings).unwrap(), "k"), b"bytes");
}
