//! Plain stores in object storage: they pass the conformance suite over servers of several makers' habits and over a real one, and
//! leave alone what others have there.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use strongroom_digest::Algorithm;
use strongroom_s3::{S3Settings, S3Spaces, S3Store};
use strongroom_s3_double::{BUCKET, Double, Fault, Operation, Rules};
use strongroom_spaces::{
    Description, ItemPut, ListedItem, ListedName, ListedSpace, PlainStore, Properties, SpaceName, conformance,
};
use strongroom_storage::{Key, PutCondition, Removal, Retrieval, RetrievalRequest, StorageError};

use crate::real;
use crate::served::{digest, key, pattern, settings};

const PATTERN: &str = "double-*";

fn space(name: &str) -> SpaceName {
    SpaceName::new(name).unwrap()
}

fn prefixes(double: &Double) -> S3Settings {
    S3Settings { prefix: "p/q".into(), ..settings(double) }
}

fn buckets(double: &Double) -> S3Settings {
    S3Settings { bucket: PATTERN.into(), ..settings(double) }
}

fn served(of: impl Fn(&Double) -> S3Settings) -> (Double, S3Spaces) {
    let double = Double::start().unwrap();
    let store = S3Spaces::open("far", of(&double)).unwrap();
    (double, store)
}

fn put(store: &S3Spaces, name: &str, bytes: &[u8]) -> String {
    store.put(&space("alpha"), &key(name), &mut &*bytes, &ItemPut::default()).unwrap().etag
}

fn lines(store: &S3Spaces, name: &str) -> Vec<String> {
    let lines = store.list(&space(name), &ListedName::START).unwrap();
    lines
        .map(|line| match line.unwrap() {
            ListedItem::Item(listed) => listed.key.to_string(),
            ListedItem::NotCarried { name, reason } => format!("{name}: {reason}"),
        })
        .collect()
}

fn spaces(store: &S3Spaces) -> Vec<String> {
    let lines = store.spaces(None).unwrap();
    lines
        .map(|line| match line.unwrap() {
            ListedSpace::Space(space) => space.to_string(),
            ListedSpace::NotCarried { name, reason } => format!("{name}: {reason}"),
        })
        .collect()
}

fn over(rules: Rules, of: impl Fn(&Double) -> S3Settings) {
    conformance::run(|| {
        let double = Double::start_with(rules).unwrap();
        double.lay("other", b"not of this store");
        double.lay("p/qq/a", b"not of this store either");
        double.create_bucket("another-bucket");
        let store: Arc<dyn PlainStore> = Arc::new(S3Spaces::open("far", of(&double)).unwrap());
        (double, store)
    });
}

#[test]
fn prefixes_of_a_bucket_are_spaces() {
    over(Rules::AWS, prefixes);
}

#[test]
fn prefixes_are_spaces_for_servers_without_conditions() {
    over(Rules::GARAGE, prefixes);
    over(Rules::PLAIN, prefixes);
}

#[test]
fn buckets_by_a_pattern_are_spaces() {
    over(Rules::AWS, buckets);
}

#[test]
fn buckets_are_spaces_for_servers_without_conditions() {
    over(Rules::GARAGE, buckets);
}

#[test]
fn prefixes_of_a_real_bucket_are_spaces() {
    if real::settings().is_none() {
        return;
    }
    conformance::run(|| {
        let store: Arc<dyn PlainStore> = Arc::new(S3Spaces::open("real", real::settings().unwrap()).unwrap());
        ((), store)
    });
}

#[test]
fn real_buckets_are_spaces() {
    if real::settings().is_none() {
        return;
    }
    conformance::run(|| {
        let given = real::settings().unwrap();
        let bucket = format!("s-{}-*", given.prefix.replace('/', "-"));
        let settings = S3Settings { bucket, prefix: String::new(), ..given };
        let store: Arc<dyn PlainStore> = Arc::new(S3Spaces::open("real", settings).unwrap());
        ((), store)
    });
}

#[test]
fn reading_puts_nothing_into_the_bucket() {
    for of in [prefixes, buckets] {
        let double = Double::start().unwrap();
        double.create_bucket("double-alpha");
        double.lay("p/q/alpha/a", b"x");
        double.lay_in("double-alpha", "a", b"x");
        let store = S3Spaces::open("far", of(&double)).unwrap();
        assert_eq!((spaces(&store), lines(&store, "alpha")), (vec!["alpha".to_owned()], vec!["a".to_owned()]));
        let etag = store.head(&space("alpha"), &key("a")).unwrap().etag;
        store.open(&space("alpha"), &key("a"), &etag).unwrap().read_to_end(&mut Vec::new()).unwrap();
        assert!(store.has_space(&space("alpha")).unwrap() && !store.has_space(&space("beta")).unwrap());
        let counts = double.counts();
        for operation in [Operation::PutObject, Operation::DeleteObject, Operation::CreateMultipartUpload] {
            assert_eq!(counts.of(operation), 0, "{operation:?}");
        }
    }
}

#[test]
fn only_what_is_truly_an_md5_is_stated_as_one() {
    let (_double, store) = served(prefixes);
    put(&store, "small", b"bytes");
    let head = store.head(&space("alpha"), &key("small")).unwrap();
    assert_eq!(head.checksum(Algorithm::Md5), Some(digest(Algorithm::Md5, b"bytes")));
    assert_eq!(head.checksum(Algorithm::Sha256), Some(digest(Algorithm::Sha256, b"bytes")));
    assert_eq!(store.capabilities().vouched, [Algorithm::Sha256]);
    put(&store, "large", &pattern((11 << 20) + 7, 1));
    assert_eq!(store.head(&space("alpha"), &key("large")).unwrap().checksums, []);
    let encrypted = S3Settings { encryption: Some("aws:kms".into()), ..store_settings(&store) };
    let store = S3Spaces::open("far", encrypted).unwrap();
    put(&store, "encrypted", b"bytes");
    let head = store.head(&space("alpha"), &key("encrypted")).unwrap();
    assert_eq!((head.etag.len(), head.checksum(Algorithm::Md5)), (32, None));
}

fn store_settings(store: &S3Spaces) -> S3Settings {
    store.settings().clone()
}

#[test]
fn a_change_of_properties_keeps_class_and_other_headers() {
    let (double, store) = served(prefixes);
    let how = ItemPut { class: Some("STANDARD_IA".into()), ..ItemPut::default() };
    store.put(&space("alpha"), &key("a"), &mut &b"bytes"[..], &how).unwrap();
    let mut stored = double.take("p/q/alpha/a").unwrap();
    stored.content_encoding = Some("gzip".into());
    stored.metadata.insert("old".into(), "1".into());
    let etag = stored.etag.clone();
    double.lay_stored("p/q/alpha/a", stored);
    let properties = Properties::new([("creator".to_owned(), "Zoë".to_owned())]).unwrap();
    let description = Description::new(Some("text/plain"), properties).unwrap();
    store.set_properties(&space("alpha"), &key("a"), &etag, &description).unwrap();
    let stored = double.stored("p/q/alpha/a").unwrap();
    assert_eq!(stored.bytes(), b"bytes");
    assert_eq!((stored.class.as_deref(), stored.content_encoding.as_deref()), (Some("STANDARD_IA"), Some("gzip")));
    assert_eq!(stored.content_type.as_deref(), Some("text/plain"));
    assert_eq!(
        stored.metadata.into_iter().collect::<Vec<_>>(),
        [("creator".into(), "Zoë".into())],
        "decoded, as S3 does"
    );
}

#[test]
fn properties_of_what_is_archived_are_refused_with_an_error_of_their_own() {
    let (double, store) = served(prefixes);
    let how = ItemPut { class: Some("GLACIER".into()), ..ItemPut::default() };
    let etag = store.put(&space("alpha"), &key("a"), &mut &b"bytes"[..], &how).unwrap().etag;
    let head = store.head(&space("alpha"), &key("a")).unwrap();
    assert_eq!((head.class.as_deref(), head.is_archived, head.is_readable), (Some("GLACIER"), true, false));
    let refused = store.set_properties(&space("alpha"), &key("a"), &etag, &Description::default()).unwrap_err();
    assert!(matches!(refused, StorageError::Archived { .. }), "{refused:?}");
    assert!(refused.to_string().contains("alpha/a") && refused.to_string().contains("GLACIER"), "{refused}");
    let refused = store.open(&space("alpha"), &key("a"), &etag).map(|_| ()).unwrap_err();
    assert!(matches!(refused, StorageError::NotReadable { .. }), "{refused:?}");
    let how = RetrievalRequest { days: 1, tier: "Standard".into() };
    let ask = || store.request_retrieval(&space("alpha"), &key("a"), &how).unwrap();
    assert_eq!((ask(), ask()), (Retrieval::UnderWay, Retrieval::UnderWay));
    double.turn_clock(Duration::from_hours(5));
    assert_eq!(ask(), Retrieval::Readable);
    store.open(&space("alpha"), &key("a"), &etag).unwrap();
}

#[test]
fn what_no_store_can_keep_is_listed_with_its_reason() {
    let (double, store) = served(prefixes);
    let long = format!("{}/x", "s".repeat(300));
    for name in ["alpha/", "alpha/dir/", "alpha/a", "alpha/b\nc", "alpha/../x", "alpha//y", "alpha/.strongroom/z"] {
        double.lay(&format!("p/q/{name}"), b"x");
    }
    double.lay(&format!("p/q/alpha/{long}"), b"x");
    double.lay("p/q/outside", b"x");
    double.lay("p/q/.strongroom/probe/x", b"x");
    double.lay("p/q//x", b"x");
    assert_eq!(
        lines(&store, "alpha"),
        [
            "../x: its name has a segment of dots",
            ".strongroom/z: its name begins with .strongroom, which belongs to Strongroom itself",
            "/y: its name has an empty segment",
            "a",
            "b%0Ac: its name has a control character",
            "dir/: its name has an empty segment",
            &format!("{long}: its name has a segment longer than 255 bytes"),
        ]
    );
    assert_eq!(spaces(&store), ["/: its name is empty", "alpha", "outside: it is an object outside of every space"]);
}

#[test]
fn a_listing_that_fails_in_the_middle_is_an_error_and_not_its_end() {
    let (double, store) = served(|double| S3Settings { attempts: 1, ..prefixes(double) });
    for n in 0..1_200 {
        double.lay(&format!("p/q/alpha/{n:04}"), b"x");
        double.lay(&format!("p/q/s{n:04}/x"), b"x");
    }
    double.plan(Operation::ListObjects, 2, Fault::Refuse(500));
    let listed: Vec<_> = store.list(&space("alpha"), &ListedName::START).unwrap().collect();
    assert_eq!((listed.len(), listed.iter().filter(|line| line.is_err()).count()), (1_001, 1));
    assert!(listed.last().unwrap().as_ref().is_err_and(|error| error.to_string().contains("alpha")));
    double.plan(Operation::ListObjects, 2, Fault::Refuse(500));
    let listed: Vec<_> = store.spaces(None).unwrap().collect();
    assert_eq!((listed.len(), listed.iter().filter(|line| line.is_err()).count()), (1_001, 1));
    let all: Vec<_> = store.spaces(None).unwrap().map(|line| line.unwrap()).collect();
    assert_eq!(all.len(), 1_201);
}

#[test]
fn a_bucket_that_is_not_there_is_a_store_that_is_away_or_a_space_that_is_not_there() {
    let (double, store) = served(prefixes);
    double.drop_bucket();
    for error in [
        store.check_presence().unwrap_err(),
        store.head(&space("alpha"), &key("a")).unwrap_err(),
        store.list(&space("alpha"), &ListedName::START).unwrap().next().unwrap().unwrap_err(),
        store.has_space(&space("alpha")).unwrap_err(),
    ] {
        assert!(error.is_away(), "{error:?}");
    }
    let (_double, store) = served(buckets);
    let error = store.head(&space("alpha"), &key("a")).unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
    assert_eq!(store.delete(&space("alpha"), &key("a"), "x").unwrap(), Removal::Absent);
}

#[test]
fn a_bucket_in_which_something_lies_is_never_deleted() {
    let (double, store) = served(buckets);
    store.create_space(&space("alpha")).unwrap();
    // What others put there that is no content item counts as well.
    double.lay_in("double-alpha", "b\nc", b"x");
    assert_eq!(store.delete_space_if_empty(&space("alpha")).unwrap(), Removal::Changed);
    assert!(double.stored_in("double-alpha", "b\nc").is_some());
    double.set_rules(Rules::VERSIONED);
    store.create_space(&space("beta")).unwrap();
    let etag = store.put(&space("beta"), &key("a"), &mut &b"x"[..], &ItemPut::default()).unwrap().etag;
    store.delete(&space("beta"), &key("a"), &etag).unwrap();
    assert_eq!(store.delete_space_if_empty(&space("beta")).unwrap(), Removal::Changed, "older versions lie in it");
}

#[test]
fn a_put_that_fails_leaves_neither_object_nor_upload() {
    let (double, store) = served(|double| S3Settings { attempts: 1, ..prefixes(double) });
    put(&store, "a", b"x");
    let bytes = pattern((12 << 20) + 5, 1);
    double.plan(Operation::UploadPart, 2, Fault::Refuse(500));
    let refused = store.put(&space("alpha"), &key("k"), &mut bytes.as_slice(), &ItemPut::default());
    assert!(matches!(refused, Err(StorageError::Io { .. })), "{refused:?}");
    let mut broken = (&bytes[..11 << 20]).chain(Broken);
    let refused = store.put(&space("alpha"), &key("k"), &mut broken, &ItemPut::default());
    assert!(matches!(refused, Err(StorageError::Source { .. })), "{refused:?}");
    assert_eq!((double.keys(), double.uploads()), (vec!["p/q/alpha/a".to_owned()], vec![]));
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the source broke"))
    }
}

#[test]
fn a_put_whose_answer_is_lost_is_known_again() {
    let (double, store) = served(prefixes);
    put(&store, "other", b"x");
    double.plan(Operation::PutObject, 1, Fault::RefuseAfter);
    let how = ItemPut { condition: PutCondition::IfAbsent, ..ItemPut::default() };
    store.put(&space("alpha"), &key("a"), &mut &b"x"[..], &how).unwrap();
    let head = store.head(&space("alpha"), &key("a")).unwrap();
    assert!(head.description.properties().is_empty(), "the token of the put is no property");
}

#[test]
fn an_item_that_is_replaced_while_it_is_read_is_an_error_and_no_mixture() {
    let (double, store) = served(prefixes);
    let etag = put(&store, "a", &pattern(3 << 20, 1));
    double.plan(Operation::GetObject, 1, Fault::Torn { after: 1 << 20 });
    let mut body = store.open(&space("alpha"), &key("a"), &etag).unwrap();
    let mut read = vec![0; 1000];
    body.read_exact(&mut read).unwrap();
    put(&store, "a", &pattern(3 << 20, 2));
    let error = body.read_to_end(&mut read).unwrap_err();
    assert!(error.to_string().contains("replaced or removed"), "{error}");
}

#[test]
fn a_preservation_store_is_no_plain_store() {
    let double = Double::start().unwrap();
    S3Store::create("primary", settings(&double)).unwrap();
    let error = S3Spaces::open("far", settings(&double)).map(|_| ()).unwrap_err();
    assert!(matches!(error, StorageError::Unusable { .. }), "{error:?}");
    let inside = S3Settings { prefix: ".strongroom/x".into(), ..settings(&double) };
    assert!(S3Spaces::open("far", inside).is_err());
}

#[test]
fn names_that_no_bucket_can_have_are_refused_before_any_request() {
    let (_double, store) = served(buckets);
    let error = store.create_space(&space("With_Capitals")).unwrap_err();
    assert!(error.to_string().contains("double-With_Capitals"), "{error}");
    assert_eq!(BUCKET, "bucket");
}

#[test]
fn more_buckets_than_a_page_has_are_listed_in_order() {
    let (double, store) = served(buckets);
    for name in ["b", "a", "a-1", "c", "d.e", "d", "f"] {
        double.create_bucket(&format!("double-{name}"));
    }
    double.create_bucket("double-");
    assert_eq!(spaces(&store), ["a-1", "a", "b", "c", "d.e", "d", "f"]);
    let after: Vec<_> = store.spaces(Some(&space("c"))).unwrap().map(|line| line.unwrap()).collect();
    assert_eq!(after.len(), 3);
}

#[test]
fn a_key_that_is_too_long_with_its_prefix_is_refused_with_the_reason() {
    let (_double, store) = served(prefixes);
    let segments = ["s".repeat(250), "s".repeat(250), "s".repeat(250), "s".repeat(250), "s".repeat(15)];
    let long = Key::new(segments.join("/")).unwrap();
    let error = store.put(&space("alpha"), &long, &mut &b"x"[..], &ItemPut::default()).unwrap_err();
    assert!(error.to_string().contains("longer than 1024 bytes"), "{error}");
}
