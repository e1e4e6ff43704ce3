//! The store passes the conformance suite, over servers of several makers' habits.

use std::sync::Arc;

use strongroom_s3::{S3Settings, S3Store};
use strongroom_s3_double::{Double, Rules, VersionListing};
use strongroom_storage::{Store, conformance};

use crate::served::{served_by, settings};

fn over(rules: Rules) {
    conformance::run(|| {
        let (double, store) = served_by(rules);
        let store: Arc<dyn Store> = Arc::new(store);
        (double, store)
    });
}

#[test]
fn a_bucket_is_a_store() {
    over(Rules::AWS);
}

#[test]
fn a_bucket_without_conditions_or_classes_is_a_store() {
    over(Rules::GARAGE);
}

#[test]
fn a_bucket_that_knows_only_the_beginnings_of_s3_is_a_store() {
    over(Rules::PLAIN);
}

#[test]
fn a_bucket_that_keeps_versions_is_a_store() {
    over(Rules::VERSIONED);
    over(Rules { lists_versions: VersionListing::Pages(3), ..Rules::VERSIONED });
}

#[test]
fn a_bucket_with_object_lock_is_a_store() {
    over(Rules::LOCKED);
}

#[test]
fn a_part_of_a_bucket_is_a_store() {
    conformance::run(|| {
        let double = Double::start().unwrap();
        double.lay("other/a", b"not of this store");
        double.lay("a", b"not of this store either");
        let settings = S3Settings { prefix: "p".into(), ..settings(&double) };
        let store: Arc<dyn Store> = Arc::new(S3Store::create("primary", settings).unwrap());
        (double, store)
    });
}
