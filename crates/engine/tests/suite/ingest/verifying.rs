//! What a store does not give back as it was put is put again, a limited number of times; where a store vouches for a
//! digest, it has to be the right one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use strongroom_digest::{Algorithm, hash_reader};
use strongroom_engine::Home;
use strongroom_registry::objects;
use strongroom_storage::{Body, Capabilities, Head, Key, PutOptions, StorageError, Store};
use strongroom_storage_test::{Call, Layer, Layered};

use super::identity::{assembly, assert_whole, finish, version, work_until};
use super::*;
use crate::saying::{Says, saying};

/// A medium that changes one byte of each of the first contents that are put.
struct Spoiling {
    /// Where the store lies.
    folder: PathBuf,
    /// How many are changed.
    times: usize,
    seen: Arc<AtomicUsize>,
}

impl Layer for Spoiling {
    fn call<T>(&self, _: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        act()
    }

    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn std::io::Read,
        act: &mut dyn FnMut(&mut dyn std::io::Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        let head = act(body)?;
        if call.key.as_str().contains("content/") && self.seen.fetch_add(1, Ordering::SeqCst) < self.times {
            let assemblies = std::fs::read_dir(self.folder.join(".strongroom/assembly")).expect("assemblies");
            let files = assemblies.map(|entry| entry.expect("an entry").path().join(call.key.as_str()));
            let file = files.into_iter().find(|file| file.exists()).expect("was put");
            let mut bytes = std::fs::read(&file).expect("reads");
            bytes[0] ^= 1;
            std::fs::write(&file, bytes).expect("changes a byte");
        }
        Ok(head)
    }
}

/// The home with a medium in the second store that changes so many contents; and how many were put there.
fn spoiled(made: &TestHome, times: usize) -> (Arc<Home>, Arc<AtomicUsize>) {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let (folder, seen) = (made.path().join("stores/secondary"), Arc::new(AtomicUsize::new(0)));
    let layer = Spoiling { folder, times, seen: seen.clone() };
    let store: Arc<dyn Store> = Arc::new(Layered::new(home.stores["secondary"].clone(), layer));
    home.stores.insert("secondary".into(), store);
    (Arc::new(home), seen)
}

/// Works until the item has ended or `is_enough`.
fn work_while(home: &Arc<Home>, made: &TestHome, id: ItemId, is_enough: &dyn Fn(&Item) -> bool) -> Item {
    let workers = strongroom_engine::build_runtime(home, None).expect("a runtime").build();
    let begun = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        let item = find(made, id);
        assert!(begun.elapsed() < Duration::from_mins(1), "{} at {}: {:?}", item.status, item.stage, item.note);
        item.status.is_ended() || is_enough(&item)
    });
    find(made, id)
}

#[test]
fn what_does_not_read_back_is_written_again() {
    let made = home();
    let (spoiling, put) = spoiled(&made, 1);
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one"), ("b.txt", b"two")]));
    let item = work_while(&spoiling, &made, id, &|_| false);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let told = notes(&made, id);
    assert_eq!(told.iter().filter(|note| note.contains("did not read back as written")).count(), 1, "{told:?}");
    let contents = made.keys("secondary").into_iter().filter(|key| key.contains("/content/")).count();
    assert_eq!(put.load(Ordering::SeqCst), contents + 1, "only what was wrong is put again");
    assert_whole(&made);
}

#[test]
fn an_item_ends_when_a_store_never_gives_back_what_is_put() {
    let made = home();
    let (spoiling, put) = spoiled(&made, usize::MAX);
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one")]));
    let contents = 20;
    let item = work_while(&spoiling, &made, id, &|_| put.load(Ordering::SeqCst) > 10 * contents);
    assert_eq!(item.status, ItemStatus::Failed, "after {} puts: {:?}", put.load(Ordering::SeqCst), item.note);
    assert!(item.note.as_deref().is_some_and(|note| note.contains("did not read back")), "{:?}", item.note);
    assert!(item.needs_review);
}

/// Records of each put of a content whether the caller reads it back.
#[derive(Default)]
struct Hearing(Mutex<Vec<bool>>);

impl Says for Hearing {
    fn is_put(&self, key: &Key, options: &PutOptions) {
        if key.as_str().contains("content/") {
            assert!(options.digest.is_some() && options.size.is_some(), "{key}: {options:?}");
            self.0.lock().expect("no panic").push(options.is_read_back);
        }
    }
}

/// Works up to `stage` or to the end; what was recorded of the puts into the second store.
fn heard(made: &TestHome, id: ItemId, stage: Option<Stage>) -> Vec<bool> {
    let hearing = Arc::new(Hearing::default());
    let home = Arc::new(saying(made, [("secondary", hearing.clone())]));
    let topics = stage.map(topics_before);
    let workers = strongroom_engine::build_runtime(&home, topics.as_deref()).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let item = find(made, id);
        item.status.is_ended() || stage.is_some_and(|stage| has_reached(&item, stage))
    });
    hearing.0.lock().expect("no panic").clone()
}

#[test]
fn a_content_is_put_without_a_digest_of_its_own_until_a_copy_does_not_read_back() {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one"), ("b.txt", b"two")]));
    let first = heard(&made, id, Some(Stage::named("verify")));
    assert!(first.len() > 1 && first.iter().all(|is_read_back| *is_read_back), "{first:?}");
    std::fs::remove_dir_all(assembly(&made, "secondary", version(&made, id))).expect("is lost");
    let again = heard(&made, id, None);
    assert_eq!(again, vec![false; first.len()], "staging or the store has other bytes, which the digest tells");
    assert_whole(&made);
}

/// Both copies are wrong alike, and the bytes that they were made from.
#[test]
fn copies_of_staged_bytes_that_were_lost_are_noticed_before_they_count() {
    let made = home();
    let large = vec![7; 400_000];
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one"), ("b.bin", &large)]));
    work_until(&made, id, Stage::named("write"));
    lose_staged_bytes(&made);
    let item = finish(&made, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let told = notes(&made, id);
    let at = |what: &str| told.iter().position(|note| note.contains(what)).expect(what);
    assert!(at("did not read back as written") < at("fetching again"), "{told:?}");
    assert_whole(&made);
}

/// A store that vouches for checksums, and may not let contents be read.
#[derive(Clone, Copy)]
struct Vouching {
    /// Whether contents can be read.
    is_readable: bool,
    /// Whether its checksums are as strong as reading.
    is_strong: bool,
    /// The algorithm of its checksums; none where it has none.
    algorithm: Option<Algorithm>,
    /// Whether it vouches for the digest of what lies there, or for another.
    is_right: bool,
    /// What it adds to the size.
    longer: u64,
}

const STRONG: Vouching =
    Vouching { is_readable: false, is_strong: true, algorithm: Some(Algorithm::Sha512), is_right: true, longer: 0 };

impl Says for Vouching {
    fn capabilities(&self, of: Capabilities) -> Capabilities {
        Capabilities { strong_checksum: self.is_strong, ..of }
    }

    fn head(
        &self,
        key: &Key,
        head: Result<Head, StorageError>,
        open: &dyn Fn() -> Result<Body, StorageError>,
    ) -> Result<Head, StorageError> {
        let head = head?;
        if !key.as_str().contains("content/") {
            return Ok(head);
        }
        let checksum = self.algorithm.map(|algorithm| {
            let bytes: Body = if self.is_right { open().expect("opens") } else { Box::new(&b"other bytes"[..]) };
            let digests = hash_reader(bytes, &[algorithm]).expect("reads").1;
            (algorithm, digests.get(algorithm).expect("computed"))
        });
        let class = Some("GLACIER".to_owned()).filter(|_| !self.is_readable);
        Ok(Head { checksum, class, readable: self.is_readable, size: head.size + self.longer, ..head })
    }

    fn open(&self, key: &Key, body: Result<Body, StorageError>) -> Result<Body, StorageError> {
        let body = body?;
        if self.is_readable || !key.as_str().contains("content/") {
            return Ok(body);
        }
        Err(StorageError::NotReadable { store: "secondary".into(), key: key.clone(), class: Some("GLACIER".into()) })
    }
}

/// Whether the item was ever sent back to write.
fn was_sent_back(made: &TestHome, id: ItemId) -> bool {
    notes(made, id).iter().any(|note| note.contains("in secondary did not read back as written"))
}

/// Deposits with such a second store, until the item has ended or was sent back to write.
fn deposited(vouching: Vouching) -> (TestHome, Item) {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one"), ("b.txt", b"two")]));
    let store = Arc::new(saying(&made, [("secondary", Arc::new(vouching))]));
    let item = work_while(&store, &made, id, &|_| was_sent_back(&made, id));
    (made, item)
}

#[test]
fn what_cannot_be_read_back_counts_where_its_store_vouches_for_the_right_digest() {
    for algorithm in [Algorithm::Sha512, Algorithm::Sha256] {
        for is_strong in [true, false] {
            let (made, item) = deposited(Vouching { algorithm: Some(algorithm), is_strong, ..STRONG });
            assert_eq!(item.status, ItemStatus::Succeeded, "{algorithm}: {:?}", item.note);
            let object = made.object("letters");
            let files = made.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10));
            for file in files.expect("files") {
                let copies = made.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
                let cold = copies.iter().find(|copy| copy.store == "secondary").expect("a copy");
                assert!(cold.verified_at.is_some() && cold.last_fixity_at.is_none(), "it was not read: {cold:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_back_does_not_count_where_its_store_vouches_for_another_digest_or_size() {
    for algorithm in [Algorithm::Sha512, Algorithm::Sha256] {
        for (is_right, longer) in [(false, 0), (true, 1)] {
            for is_strong in [true, false] {
                let vouching = Vouching { algorithm: Some(algorithm), is_right, longer, is_strong, ..STRONG };
                let (made, item) = deposited(vouching);
                assert!(was_sent_back(&made, item.id), "{algorithm}: {} {:?}", item.status, item.note);
                assert_ne!(item.status, ItemStatus::Succeeded, "{algorithm}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_back_and_has_no_checksum_is_refused() {
    for is_strong in [true, false] {
        let (_made, item) = deposited(Vouching { algorithm: None, is_strong, ..STRONG });
        assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
        assert!(item.note.as_deref().is_some_and(|note| note.contains("keeps no checksum")), "{:?}", item.note);
    }
}

#[test]
fn what_a_store_vouches_for_wrongly_counts_where_it_reads_back_right() {
    let (made, item) = deposited(Vouching { is_readable: true, is_right: false, ..STRONG });
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_whole(&made);
}

#[test]
fn what_is_gone_before_it_is_verified_is_written_again_where_a_store_vouches_for_checksums() {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one"), ("b.txt", b"two")]));
    work_until(&made, id, Stage::named("verify"));
    std::fs::remove_dir_all(assembly(&made, "secondary", version(&made, id))).expect("is lost");
    let store = Arc::new(saying(&made, [("secondary", Arc::new(STRONG))]));
    let item = work_while(&store, &made, id, &|_| false);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert!(was_sent_back(&made, id), "verify notices it: {:?}", notes(&made, id));
    assert_whole(&made);
}
