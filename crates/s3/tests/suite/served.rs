//! A server for one test, and stores in its bucket.

use std::io::Read;
use std::time::Duration;

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_s3::{S3Settings, S3Store, Secret};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, Rules, SECRET_KEY};
use strongroom_storage::{Head, Key, PutOptions, Store};

/// A server as strict as AWS, and a store in it.
pub(crate) fn served() -> (Double, S3Store) {
    served_by(Rules::AWS)
}

/// A server with these rules, and a store in it.
pub(crate) fn served_by(rules: Rules) -> (Double, S3Store) {
    let double = Double::start_with(rules).unwrap();
    let store = S3Store::create("primary", settings(&double)).unwrap();
    (double, store)
}

/// Settings for a store in the bucket of a server, quick to try again.
pub(crate) fn settings(double: &Double) -> S3Settings {
    S3Settings {
        bucket: BUCKET.into(),
        endpoint: Some(double.endpoint()),
        access_key: Some(ACCESS_KEY.into()),
        secret_key: Some(Secret::new(SECRET_KEY)),
        part_size: 5 << 20,
        first_wait: Duration::from_millis(1),
        ..S3Settings::default()
    }
}

pub(crate) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

pub(crate) fn put(store: &dyn Store, name: &str, bytes: &[u8]) -> Head {
    store.put(&key(name), &mut &*bytes, &PutOptions::default()).unwrap()
}

pub(crate) fn read(store: &dyn Store, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open(&key(name), 0, None).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

pub(crate) fn list(store: &dyn Store, prefix: &str) -> Vec<String> {
    store.list(&key(prefix)).unwrap().map(|line| line.unwrap().key.to_string()).collect()
}

pub(crate) fn digest(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    hash_reader(bytes, &[algorithm]).unwrap().1.get(algorithm).unwrap()
}

/// Options that declare what is put.
pub(crate) fn declared(bytes: &[u8]) -> PutOptions {
    PutOptions {
        digest: Some((Algorithm::Sha512, digest(Algorithm::Sha512, bytes))),
        size: Some(bytes.len() as u64),
        ..PutOptions::default()
    }
}

/// Bytes that differ from place to place.
pub(crate) fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8 ^ (n >> 12) as u8 ^ (n >> 20) as u8 ^ seed).collect()
}
