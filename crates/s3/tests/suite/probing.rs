//! What a server honours is found out, recorded, and relied on.

use std::time::Duration;

use strongroom_s3::{Probe, S3Settings, S3Store};
use strongroom_s3_double::{Fault, Operation, Rules};
use strongroom_storage::{Capabilities, PutOptions, Store};

use crate::served::{key, list, put, read, served, served_by, settings};

const EVERYTHING: Probe = Probe {
    is_writable: true,
    if_none_match: true,
    if_match: true,
    delete_if_match: true,
    checks_sha256: true,
    returns_sha256: true,
    checks_parts: true,
    composite_sha256: true,
    keeps_class: true,
};

#[test]
fn each_habit_of_a_server_is_found_out() {
    let aws = Rules::AWS;
    let table = [
        (aws, EVERYTHING),
        (Rules { if_none_match: false, ..aws }, Probe { if_none_match: false, ..EVERYTHING }),
        (Rules { if_match: false, ..aws }, Probe { if_match: false, ..EVERYTHING }),
        (Rules { delete_if_match: false, ..aws }, Probe { delete_if_match: false, ..EVERYTHING }),
        (Rules { checks_digests: false, ..aws }, Probe { checks_sha256: false, checks_parts: false, ..EVERYTHING }),
        (
            Rules { returns_checksums: false, ..aws },
            Probe { returns_sha256: false, composite_sha256: false, ..EVERYTHING },
        ),
        (Rules { composite_checksums: false, ..aws }, Probe { composite_sha256: false, ..EVERYTHING }),
        (Rules { keeps_classes: false, ..aws }, Probe { keeps_class: false, ..EVERYTHING }),
        (Rules::PLAIN, Probe { is_writable: true, ..Probe::default() }),
    ];
    for (rules, probe) in table {
        let (double, store) = served_by(rules);
        assert_eq!(store.probed(), probe, "{rules:?}");
        assert_eq!(double.keys(), [".strongroom/probe.json", ".strongroom/store.json"], "nothing is left of a probe");
        assert!(double.uploads().is_empty());
    }
}

#[test]
fn findings_are_recorded_and_not_made_at_every_opening() {
    let (double, store) = served();
    let before = double.counts().all();
    let opened = S3Store::open("again", settings(&double)).unwrap();
    assert_eq!(double.counts().all() - before, 2, "the description and the record of the probe");
    assert_eq!((opened.id(), opened.probed()), (store.id(), store.probed()));

    double.set_rules(Rules::GARAGE);
    assert_eq!(S3Store::open("again", settings(&double)).unwrap().probed(), EVERYTHING);
    let renewed = store.probe().unwrap();
    assert!(!renewed.if_match);
    assert_eq!(store.probed(), renewed);
    assert_eq!(S3Store::open("again", settings(&double)).unwrap().probed(), renewed);
    let expected = Capabilities { conditional_put: false, strong_checksum: true, atomic_assembly: false };
    assert_eq!(store.capabilities(), expected);
}

#[test]
fn old_and_strange_records_are_replaced() {
    let (double, _store) = served();
    double.lay(".strongroom/probe.json", b"{\"format\": 99}");
    assert_eq!(S3Store::open("again", settings(&double)).unwrap().probed(), EVERYTHING);
    let impatient = S3Settings { probe_interval: Duration::ZERO, ..settings(&double) };
    double.set_rules(Rules::PLAIN);
    assert!(!S3Store::open("again", impatient).unwrap().probed().if_match);
}

#[test]
fn a_store_that_may_only_be_read_is_read() {
    let (double, store) = served();
    put(&store, "k", b"bytes");
    double.take(".strongroom/probe.json");
    double.always(Operation::PutObject, Some(Fault::Refuse(403)));
    let store = S3Store::open("readable", settings(&double)).unwrap();
    assert_eq!(store.probed(), Probe::default());
    assert_eq!(read(&store, "k"), b"bytes");
    assert_eq!(list(&store, ""), ["k"]);
    let refused = store.put(&key("a"), &mut &b"x"[..], &PutOptions::default()).unwrap_err();
    assert!(!refused.is_transient());
    double.always(Operation::PutObject, None);
    assert_eq!(S3Store::open("writable", settings(&double)).unwrap().probed(), EVERYTHING);
}

#[test]
fn findings_are_shown_a_line_each() {
    let shown = Probe { keeps_class: false, ..EVERYTHING }.to_string();
    assert_eq!(shown.lines().count(), EVERYTHING.findings().len());
    assert!(shown.contains("yes: supports if-match\n"), "{shown}");
    assert!(shown.ends_with(" no: keeps the storage class"), "{shown}");
}

#[test]
fn the_id_in_the_bucket_is_read_again_when_the_last_look_is_long_ago() {
    let (double, store) = served();
    let description = double.take(".strongroom/store.json").expect("lies there");
    let before = double.counts().all();
    store.check_presence().unwrap();
    assert_eq!(double.counts().all(), before, "it was read a moment ago");

    double.lay_stored(".strongroom/store.json", description);
    let suspicious = S3Store::open("again", S3Settings { id_interval: Duration::ZERO, ..settings(&double) }).unwrap();
    suspicious.check_presence().unwrap();
    double.take(".strongroom/store.json");
    let error = suspicious.check_presence().unwrap_err();
    assert!(error.to_string().contains("check bucket and prefix"), "{error}");
    let other = S3Store::create("other", settings(&double)).unwrap();
    let error = suspicious.check_presence().unwrap_err();
    assert!(error.is_away() && error.to_string().contains(&other.id().to_string()), "{error}");
}
