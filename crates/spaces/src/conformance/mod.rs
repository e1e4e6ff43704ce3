//! What every plain store must do, as cases to run against an engine. For tests: a case that fails panics.
//!
//! ```
//! use std::sync::Arc;
//!
//! use strongroom_spaces::{FolderSpaces, PlainStore};
//! use strongroom_storage::{FolderMode, Key};
//!
//! strongroom_spaces::conformance::run(|| {
//!     let folder = tempfile::tempdir().expect("a folder");
//!     std::fs::write(folder.path().join("marker"), "").expect("a marker");
//!     let marker = Key::new("marker").expect("a key");
//!     let store = FolderSpaces::open("folder", folder.path(), FolderMode::ANY, Some(&marker)).expect("a store");
//!     (folder, Arc::new(store) as Arc<dyn PlainStore>)
//! });
//! ```

mod items;
mod listing;
mod properties;
mod spaces;

use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Key, StorageError};

use crate::{ItemHead, ItemPut, ListedItem, ListedName, PlainStore, SpaceName};

/// A case: its name says what it proves.
#[derive(Clone, Copy)]
pub struct Case {
    /// What is proved.
    pub name: &'static str,
    /// Proves it on a store without spaces.
    pub run: fn(&dyn PlainStore),
}

macro_rules! cases {
    ($($module:ident: $($name:ident)*;)*) => {
        /// Every case.
        pub const CASES: &[Case] = &[$($(Case { name: stringify!($name), run: $module::$name },)*)*];
    };
}

cases! {
    spaces: a_space_is_made_once
        a_space_is_deleted_only_where_nothing_lies_in_it
        spaces_are_listed_in_the_order_of_their_keys
        what_is_in_no_space_is_not_found;
    listing: a_listing_is_in_byte_order_of_the_key
        a_listing_goes_on_after_any_name
        a_large_listing_is_complete
        odd_and_long_keys_come_back_as_they_were
        items_of_one_space_are_not_in_another;
    items: what_is_put_is_read
        nothing_is_found_where_nothing_was_put
        an_empty_body_is_kept
        a_large_body_is_kept
        a_put_replaces
        a_wrong_digest_leaves_nothing
        a_wrong_size_leaves_nothing
        a_large_body_that_is_wrong_leaves_nothing
        a_failing_source_leaves_what_was_there
        an_absent_key_is_made_once
        a_matching_etag_permits_one_put
        an_item_is_opened_only_while_it_has_the_etag
        an_item_is_deleted_only_while_it_has_the_etag
        keys_of_strongroom_are_refused
        readers_see_whole_bodies_while_many_threads_put
        what_can_be_read_is_not_retrieved;
    properties: properties_come_back_as_they_were
        a_put_replaces_properties
        properties_are_set_and_the_bytes_stay
        properties_are_taken_away
        properties_are_set_only_while_the_item_has_the_etag
        properties_of_large_items_are_set;
}

/// Runs every case, each on a store of its own that `make` gives, without spaces; the guard it gives beside lives until the case
/// is over. Panics at the end with the names of the cases that failed.
pub fn run<G>(make: impl Fn() -> (G, Arc<dyn PlainStore>)) {
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|case| {
            let (_guard, store) = make();
            panic::catch_unwind(AssertUnwindSafe(|| (case.run)(&*store))).is_err()
        })
        .map(|case| case.name)
        .collect();
    assert!(failed.is_empty(), "a plain store must pass every case; it failed: {}", failed.join(", "));
}

fn key(text: &str) -> Key {
    Key::new(text).expect("a key")
}

/// The space of this name, made.
fn space(store: &dyn PlainStore, name: &str) -> SpaceName {
    let space = SpaceName::new(name).expect("a name");
    store.create_space(&space).expect("a space");
    space
}

fn put(store: &dyn PlainStore, space: &SpaceName, name: &str, bytes: &[u8]) -> ItemHead {
    store.put(space, &key(name), &mut &*bytes, &ItemPut::default()).expect("a put")
}

fn read(store: &dyn PlainStore, space: &SpaceName, name: &str) -> Vec<u8> {
    let head = store.head(space, &key(name)).expect("a head");
    let mut bytes = Vec::new();
    store.open(space, &key(name), &head.etag).expect("a body").read_to_end(&mut bytes).expect("its bytes");
    bytes
}

/// Names of content items after a name; anything else fails.
fn list(store: &dyn PlainStore, space: &SpaceName, after: &ListedName) -> Vec<String> {
    let lines = store.list(space, after).expect("a listing");
    lines
        .map(|line| match line.expect("a line") {
            ListedItem::Item(listed) => listed.key.to_string(),
            ListedItem::NotCarried { name, reason } => panic!("{name}: {reason}"),
        })
        .collect()
}

fn is_absent<T>(outcome: &Result<T, StorageError>) -> bool {
    matches!(outcome, Err(StorageError::NotFound { .. }))
}

fn digest(algorithm: Algorithm, bytes: &[u8]) -> (Algorithm, Digest) {
    let (_, digests) = hash_reader(bytes, &[algorithm]).expect("a digest");
    (algorithm, digests.get(algorithm).expect("a digest"))
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
