//! What every store must do, as cases to run against an engine or a layer. For tests: a case that fails panics.
//!
//! ```no_run
//! # fn empty_store() -> ((), std::sync::Arc<dyn strongroom_storage::Store>) { unimplemented!() }
//! strongroom_storage::conformance::run(empty_store);
//! ```

mod assembly;
mod keys;
mod purge;
mod put;

use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use strongroom_digest::{Algorithm, Digest, hash_reader};

use crate::{Key, PutOptions, StorageError, Store};

/// A case: its name says what it proves.
#[derive(Clone, Copy)]
pub struct Case {
    /// What is proved.
    pub name: &'static str,
    /// Proves it on a store that is empty.
    pub run: fn(&dyn Store),
}

macro_rules! cases {
    ($($module:ident: $($name:ident)*;)*) => {
        /// Every case.
        pub const CASES: &[Case] = &[$($(Case { name: stringify!($name), run: $module::$name },)*)*];
    };
}

cases! {
    keys: listing_is_in_byte_order_of_the_key
        a_prefix_is_whole_segments
        a_listing_goes_on_after_any_key
        a_key_is_removed_only_while_it_has_the_etag
        a_large_listing_is_complete
        odd_and_long_keys_come_back_as_they_were
        keys_that_are_none_are_refused
        deleting_takes_the_key_and_nothing_else
        deleting_a_prefix_takes_all_below_it
        keys_come_and_go_under_many_threads;
    put: what_is_put_is_read
        nothing_is_found_where_nothing_was_put
        an_empty_body_is_kept
        a_large_body_is_kept
        ranges_are_read
        a_put_replaces
        an_etag_changes_with_every_put
        a_wrong_digest_leaves_nothing
        a_wrong_size_leaves_nothing
        a_failing_source_leaves_what_was_there
        an_absent_key_is_made_once
        an_absent_key_is_made_by_one_of_many_threads
        a_matching_etag_permits_one_put
        of_many_threads_with_one_etag_one_puts
        readers_see_whole_bodies_while_many_threads_put
        puts_are_there_after_sync;
    purge: purging_takes_the_key_and_nothing_else
        purging_takes_what_was_deleted_before
        purging_a_prefix_takes_all_below_it
        a_large_prefix_is_purged
        purging_what_was_replaced_leaves_what_is_there
        nothing_forbids_the_removal_of_what_was_put;
    assembly: an_assembly_becomes_visible_by_commit
        an_assembly_lists_what_was_put
        an_assembly_reaches_only_its_own_keys
        an_assembly_is_found_again
        committing_again_succeeds
        the_same_assembly_again_is_committed
        an_assembly_does_not_replace_others
        a_discarded_assembly_is_gone
        an_assembly_refuses_wrong_bytes
        a_version_is_committed_beside_another
        names_of_assemblies_are_one_segment
        many_assemblies_at_once;
}

/// Runs every case, each on a store of its own that `make` gives, empty; the guard it gives beside lives until the case
/// is over. Panics at the end with the names of the cases that failed.
pub fn run<G>(make: impl Fn() -> (G, Arc<dyn Store>)) {
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|case| {
            let (_guard, store) = make();
            panic::catch_unwind(AssertUnwindSafe(|| (case.run)(&*store))).is_err()
        })
        .map(|case| case.name)
        .collect();
    assert!(failed.is_empty(), "a store must pass every case; it failed: {}", failed.join(", "));
}

fn key(text: &str) -> Key {
    Key::new(text).expect("a key")
}

fn put(store: &dyn Store, name: &str, bytes: &[u8]) -> crate::Head {
    store.put(&key(name), &mut &*bytes, &PutOptions::default()).expect("a put")
}

fn read(store: &dyn Store, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open(&key(name), 0, None).expect("a body").read_to_end(&mut bytes).expect("its bytes");
    bytes
}

fn list(store: &dyn Store, prefix: &str) -> Vec<String> {
    let listed = store.list(&key(prefix)).expect("a listing");
    listed.map(|line| line.expect("a line").key.as_str().to_owned()).collect()
}

fn is_absent<T>(outcome: &Result<T, StorageError>) -> bool {
    matches!(outcome, Err(StorageError::NotFound { .. }))
}

fn sha512(bytes: &[u8]) -> (Algorithm, Digest) {
    let (_, digests) = hash_reader(bytes, &[Algorithm::Sha512]).expect("a digest");
    (Algorithm::Sha512, digests.get(Algorithm::Sha512).expect("a digest"))
}

/// Bytes that differ from place to place.
fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8 ^ (n >> 12) as u8 ^ seed).collect()
}

/// Yields some bytes, then fails.
struct Breaking<'a>(&'a [u8]);

impl Read for Breaking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::Error::other("the source broke")) } else { self.0.read(buffer) }
    }
}
