//! Chains in files: everything that can be done to them is found, and named.

use std::fs;
use std::path::{Path, PathBuf};

use strongroom_audit::{
    AuditError, Fault, Head, KEY_ACT, Link, NO_KEY, PublicKey, RangeSum, SigningKey, Verified, names,
};
use tempfile::TempDir;

use super::{CHAIN, TIME, body};

/// Keys that openssl has made.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const OTHER_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwiTyBijGj9hNigYcOdeWXIGF5v
-----END PRIVATE KEY-----
";

/// A chain as it is written into a folder.
struct Written {
    folder: TempDir,
    name: &'static str,
    link: Link,
    key: Option<SigningKey>,
    /// The numbers of the first and the last entry of each range.
    ranges: Vec<(u64, u64)>,
}

impl Written {
    /// Three ranges of three entries each.
    fn new(name: &'static str) -> Self {
        let mut made = Self {
            folder: TempDir::new().expect("a folder"),
            name,
            link: Link::start(name),
            key: None,
            ranges: Vec::new(),
        };
        for range in 0..3 {
            made.range(&[1, 2, 3].map(|number| body(range * 3 + number)));
        }
        made
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    fn file(&self, folder: &str, name: &str) -> PathBuf {
        let path = self.path().join(folder);
        fs::create_dir_all(&path).expect("makes a folder");
        path.join(name)
    }

    fn entries(&self, range: usize) -> PathBuf {
        let (first, last) = self.ranges[range];
        self.file(names::ENTRIES, &names::entries_name(first, last))
    }

    fn head(&self, range: usize) -> PathBuf {
        self.file(names::HEADS, &names::head_name(self.ranges[range].1))
    }

    fn range(&mut self, bodies: &[serde_json::Map<String, serde_json::Value>]) {
        let (mut sum, mut text) = (RangeSum::behind(self.link.clone()), String::new());
        let first = self.link.sequence() + 1;
        for body in bodies {
            let (line, link) = self.link.append(TIME, body).expect("appends");
            sum.take(line.as_bytes());
            text.push_str(&line);
            text.push('\n');
            self.link = link;
        }
        let (range, link) = sum.finish();
        assert_eq!(link, self.link);
        self.ranges.push((first, link.sequence()));
        fs::write(self.entries(self.ranges.len() - 1), text).expect("writes");
        let fingerprint = self.key.as_ref().map(|key| key.public().fingerprint().expect("a fingerprint"));
        let head = Head::of(&link, range, TIME).signed_by(fingerprint.clone()).to_text().expect("a text");
        fs::write(self.head(self.ranges.len() - 1), &head).expect("writes");
        if let (Some(key), Some(fingerprint)) = (&self.key, fingerprint) {
            let signature = self.file(names::HEADS, &names::signature_name(link.sequence()));
            fs::write(signature, key.sign(head.as_bytes())).expect("writes");
            let pem = key.public().to_pem().expect("a text");
            fs::write(self.file(names::KEYS, &names::key_name(&fingerprint)), pem).expect("writes");
        }
    }

    fn verified(&self) -> Verified {
        self.verified_with(&[], &[])
    }

    fn verified_with(&self, others: &[&Self], keys: &[PublicKey]) -> Verified {
        let mut paths = vec![self.path()];
        paths.extend(others.iter().map(|other| other.path()));
        strongroom_audit::verify(&paths, keys).expect("verifies").remove(0)
    }

    fn fault(&self) -> (u64, Fault) {
        let broken = self.verified().fault.expect("a fault");
        (broken.sequence, broken.fault)
    }

    /// The heads alone, as they were published.
    fn heads_alone(&self) -> TempDir {
        let folder = TempDir::new().expect("a folder");
        let heads = folder.path().join(self.name).join(names::HEADS);
        fs::create_dir_all(&heads).expect("makes a folder");
        for range in 0..self.ranges.len() {
            let head = self.head(range);
            fs::copy(&head, heads.join(head.file_name().expect("a name"))).expect("copies");
        }
        folder
    }
}

fn change(path: &Path, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(path).expect("reads");
    let changed = change(&text);
    assert_ne!(changed, text);
    fs::write(path, changed).expect("writes");
}

#[test]
fn whole_chains_are_valid_wherever_they_lie() {
    let made = Written::new(CHAIN);
    let found = made.verified();
    assert_eq!((found.fault, found.first, found.entries, found.heads, found.signed), (None, 1, 9, 3, 0));
    assert_eq!(found.link, Some(made.link.clone()));
    // An export, and the folder of a store.
    let store = TempDir::new().expect("a folder");
    let inside = store.path().join("_strongroom/audit");
    fs::create_dir_all(&inside).expect("makes a folder");
    fs::rename(made.path(), inside.join(CHAIN)).expect("moves");
    for path in [store.path(), &inside] {
        let found = strongroom_audit::verify(&[path.to_owned()], &[]).expect("verifies");
        assert_eq!((found.len(), found[0].entries, found[0].fault.as_ref()), (1, 9, None));
    }
    let nothing = strongroom_audit::verify(&[made.folder.path().to_owned()], &[]);
    assert!(matches!(nothing, Err(AuditError::Nothing(_))));
    let missing = strongroom_audit::verify(&[store.path().join("missing")], &[]);
    assert!(matches!(missing, Err(AuditError::Read { .. })));
}

#[test]
fn one_byte_that_is_changed_is_found_in_the_middle_and_at_the_end() {
    let made = Written::new(CHAIN);
    change(&made.entries(1), |text| text.replace("letters-5", "letters-7"));
    assert_eq!(made.fault(), (6, Fault::Previous));
    let made = Written::new(CHAIN);
    change(&made.entries(2), |text| text.replace("letters-9", "letters-7"));
    assert_eq!(made.fault(), (9, Fault::Head));
}

#[test]
fn entries_that_are_dropped_or_swapped_are_found() {
    for (line, named) in [(0, 1), (4, 5), (8, 9)] {
        let made = Written::new(CHAIN);
        let drop = |text: &str| {
            let lines = text.split_inclusive('\n').enumerate();
            lines.filter(|(number, _)| *number != line % 3).map(|(_, line)| line).collect()
        };
        change(&made.entries(line / 3), drop);
        assert_eq!(made.fault().0, named as u64);
    }
    let made = Written::new(CHAIN);
    change(&made.entries(1), |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        [lines[1], lines[0], lines[2]].concat()
    });
    assert_eq!(made.fault(), (4, Fault::Sequence(5)));
    // A whole file.
    for (range, named) in [(0, 1), (1, 4)] {
        let made = Written::new(CHAIN);
        fs::remove_file(made.entries(range)).expect("removes");
        assert_eq!(made.fault().0, named);
    }
}

#[test]
fn a_tail_that_is_cut_off_is_found_by_the_heads() {
    let made = Written::new(CHAIN);
    let published = made.heads_alone();
    fs::remove_file(made.entries(2)).expect("removes");
    assert_eq!(made.fault(), (7, Fault::Cut(9)));
    // With its head, it is found by those of other places.
    fs::remove_file(made.head(2)).expect("removes");
    assert_eq!(made.verified().fault, None);
    let found = strongroom_audit::verify(&[made.path(), published.path().to_owned()], &[]).expect("verifies");
    let broken = found[0].fault.clone().expect("a fault");
    assert_eq!((broken.sequence, broken.fault), (7, Fault::Cut(9)));
    // Within a line.
    let made = Written::new(CHAIN);
    change(&made.entries(2), |text| text[..text.len() - 5].to_owned());
    assert_eq!(made.fault(), (9, Fault::Incomplete));
}

#[test]
fn a_head_that_was_replaced_is_found() {
    let made = Written::new(CHAIN);
    change(&made.head(1), |text| text.replace("\"sequence\":6", "\"sequence\":5"));
    assert!(matches!(made.fault(), (6, Fault::Unreadable(_))));
    let made = Written::new(CHAIN);
    fs::copy(made.head(0), made.head(1)).expect("copies");
    assert!(matches!(made.fault(), (6, Fault::Unreadable(_))));
    let made = Written::new(CHAIN);
    let published = made.heads_alone();
    let of = |head: &Path| Head::read(&fs::read_to_string(head).expect("reads")).expect("a head");
    let other = Head::of(&Link::at(CHAIN, 6, of(&made.head(0)).sha256()), of(&made.head(1)).range().clone(), TIME);
    fs::write(made.head(1), other.to_text().expect("a text")).expect("writes");
    assert_eq!(made.fault(), (6, Fault::Head));
    let found = strongroom_audit::verify(&[made.path(), published.path().to_owned()], &[]).expect("verifies");
    assert_eq!(found[0].fault.as_ref().expect("a fault").sequence, 6);
    // The file is another one than it says.
    let made = Written::new(CHAIN);
    change(&made.head(1), |text| {
        let (before, after) = text.split_once("\"bytes\":").expect("bytes");
        format!("{before}\"bytes\":1{after}")
    });
    assert_eq!(made.fault(), (6, Fault::Head));
}

#[test]
fn a_range_of_another_institution_is_found() {
    let (made, other) = (Written::new(CHAIN), Written::new("test.edu"));
    fs::copy(other.entries(1), made.entries(1)).expect("copies");
    assert_eq!(made.fault(), (4, Fault::Chain("test.edu".to_owned())));
    fs::copy(other.head(1), made.head(1)).expect("copies");
    assert_eq!(made.fault(), (1, Fault::Chain("test.edu".to_owned())));
}

#[test]
fn a_chain_that_was_made_anew_from_its_middle_is_found_by_the_published_heads() {
    let (made, forged) = (Written::new(CHAIN), {
        let mut forged = Written::new(CHAIN);
        forged.ranges.truncate(1);
        let first = Head::read(&fs::read_to_string(forged.head(0)).expect("reads")).expect("a head");
        forged.link = first.link();
        for range in 1..3 {
            forged.range(&[1, 2, 3].map(|number| body(range * 3 + number + 100)));
        }
        forged
    });
    assert_eq!(forged.verified().fault, None, "it does not know itself");
    let broken = forged.verified_with(&[&made], &[]).fault.expect("a fault");
    assert_eq!(broken.sequence, 6);
    // By the heads alone.
    let published = made.heads_alone();
    let found = strongroom_audit::verify(&[forged.path(), published.path().to_owned()], &[]).expect("verifies");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fault.as_ref().expect("a fault").sequence, 6);
}

#[test]
fn a_part_of_a_chain_is_valid_and_says_where_it_begins() {
    let made = Written::new(CHAIN);
    let (entries, head) = (made.entries(0), made.head(0));
    fs::remove_file(&entries).expect("removes");
    assert_eq!(made.fault(), (1, Fault::Sequence(4)), "its head tells of it");
    fs::remove_file(&head).expect("removes");
    let found = made.verified();
    assert_eq!((found.fault, found.first, found.entries), (None, 4, 6));
    change(&made.entries(1), |text| text.replace("letters-4", "letters-7"));
    assert_eq!(made.fault(), (5, Fault::Previous));
}

fn key_entry(target: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::json!({"act": KEY_ACT, "target": target}).as_object().expect("an object").clone()
}

#[test]
fn signed_heads_are_verified_by_the_key_beside_them_and_by_keys_that_are_given() {
    let (key, other) = (SigningKey::from_pem(KEY).expect("a key"), SigningKey::from_pem(OTHER_KEY).expect("a key"));
    let (public, stranger) = (key.public(), other.public());
    let fingerprint = public.fingerprint().expect("a fingerprint");
    let mut made = Written::new(CHAIN);
    made.key = Some(key);
    made.range(&[key_entry(&fingerprint), body(11)]);
    made.key = Some(other);
    made.range(&[body(12), key_entry(&stranger.fingerprint().expect("a fingerprint"))]);
    made.key = None;
    made.range(&[key_entry(NO_KEY)]);
    let found = made.verified();
    assert_eq!((found.fault.clone(), found.signed, found.heads), (None, 2, 6), "{found:?}");
    let found = made.verified_with(&[], std::slice::from_ref(&public));
    assert!(matches!(found.fault.expect("a fault").fault, Fault::Signature(_)), "the last head is not signed by it");
    let mut until = Written::new(CHAIN);
    until.key = Some(SigningKey::from_pem(KEY).expect("a key"));
    until.range(&[key_entry(&fingerprint)]);
    let found = until.verified_with(&[], std::slice::from_ref(&public));
    assert_eq!((found.fault, found.signed), (None, 1), "the heads before it are covered by it");
    // Changed, without its signature, with that of another key.
    change(&made.head(3), |text| text.replace("\"counts\":{}", "\"counts\":{\"event\":1}"));
    assert!(matches!(made.fault(), (11, Fault::Signature(_))));
    change(&made.head(3), |text| text.replace("\"counts\":{\"event\":1}", "\"counts\":{}"));
    let signature = made.file(names::HEADS, &names::signature_name(11));
    let kept = fs::read(&signature).expect("reads");
    fs::copy(made.file(names::HEADS, &names::signature_name(13)), &signature).expect("copies");
    assert!(matches!(made.fault(), (11, Fault::Signature(_))));
    fs::remove_file(&signature).expect("removes");
    assert!(matches!(made.fault(), (11, Fault::Signature(_))));
    fs::write(&signature, kept).expect("writes");
    assert_eq!(made.verified().fault, None);
    // The head says that it is not signed, and the chain says that it is.
    change(&made.head(3), |text| text.replace(&format!("\"key\":\"{fingerprint}\","), ""));
    assert!(matches!(made.fault(), (11, Fault::Signature(_))));
}

#[test]
fn entries_that_say_the_same_are_counted_and_are_no_fault() {
    let mut made = Written::new(CHAIN);
    made.range(&[body(8), body(1)]);
    let found = made.verified();
    assert_eq!(found.fault, None);
    assert_eq!((found.near_duplicates.count, found.near_duplicates.named), (2, vec![(8, 10), (1, 11)]));
}

#[test]
fn keys_are_those_of_openssl() {
    let key = SigningKey::from_pem(KEY).expect("a key").public();
    let pem = key.to_pem().expect("a text");
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"));
    assert_eq!(PublicKey::from_pem(&pem).expect("a key"), key);
    assert!(matches!(PublicKey::from_pem("x"), Err(AuditError::Key(_))));
    assert!(matches!(SigningKey::from_pem(&pem), Err(AuditError::Key(_))));
}

#[test]
fn what_lies_in_the_wrong_folder_or_nowhere_is_found() {
    let (made, other) = (Written::new(CHAIN), Written::new("test.edu"));
    let export = TempDir::new().expect("a folder");
    fs::rename(other.path(), export.path().join(CHAIN)).expect("moves");
    let found = strongroom_audit::verify(&[export.path().to_owned()], &[]).expect("verifies");
    assert!(matches!(found[0].fault.as_ref().expect("a fault").fault, Fault::Chain(_)));
    // Heads alone tell of entries.
    fs::rename(made.path(), export.path().join("test.edu")).expect("moves");
    fs::remove_dir_all(export.path().join("test.edu").join(names::ENTRIES)).expect("removes");
    let found = strongroom_audit::verify(&[export.path().join("test.edu")], &[]).expect("verifies");
    assert_eq!(found[0].fault.as_ref().expect("a fault").fault, Fault::Cut(9));
    let found = strongroom_audit::verify(&[export.path().to_owned()], &[]).expect("verifies");
    assert!(found.len() == 2 && found.iter().all(|found| found.fault.is_some()));
    // Keys tell that there was a chain.
    let keys = export.path().join("keys.edu").join(names::KEYS);
    fs::create_dir_all(&keys).expect("makes a folder");
    let found = strongroom_audit::verify(&[export.path().join("keys.edu")], &[]).expect("verifies");
    assert!(found[0].fault.is_some(), "{found:?}");
    let found = strongroom_audit::verify(&[export.path().to_owned()], &[]).expect("verifies");
    assert!(found.iter().any(|found| found.path.ends_with("keys.edu") && found.fault.is_some()), "{found:?}");
    // A store has a chain from its beginning on.
    let made = Written::new(CHAIN);
    fs::remove_file(made.entries(0)).expect("removes");
    fs::remove_file(made.head(0)).expect("removes");
    let store = TempDir::new().expect("a folder");
    fs::create_dir_all(store.path().join("_strongroom/audit")).expect("makes a folder");
    fs::rename(made.path(), store.path().join("_strongroom/audit").join(CHAIN)).expect("moves");
    let found = strongroom_audit::verify(&[store.path().to_owned()], &[]).expect("verifies");
    assert_eq!(found[0].fault.as_ref().expect("a fault").sequence, 1);
}

#[test]
fn a_store_without_a_chain_that_another_path_has_is_named() {
    let stores = [TempDir::new().expect("a folder"), TempDir::new().expect("a folder")];
    let inside = |store: &TempDir| store.path().join("_strongroom/audit");
    for store in &stores {
        for name in [CHAIN, "test.edu"] {
            let made = Written::new(name);
            fs::create_dir_all(inside(store)).expect("makes a folder");
            fs::rename(made.path(), inside(store).join(name)).expect("moves");
        }
    }
    let paths: Vec<PathBuf> = stores.iter().map(|store| store.path().to_owned()).collect();
    let faults = || {
        let found = strongroom_audit::verify(&paths, &[]).expect("verifies");
        found.into_iter().filter_map(|found| Some((found.path, found.fault?))).collect::<Vec<_>>()
    };
    assert_eq!(faults(), []);
    // The entries alone.
    fs::remove_dir_all(inside(&stores[1]).join("test.edu").join(names::ENTRIES)).expect("removes");
    let found = faults();
    assert_eq!(
        (found.len(), &found[0].0, &found[0].1.fault),
        (1, &inside(&stores[1]).join("test.edu"), &Fault::Cut(9))
    );
    // The folder of the chain, every folder, and all that there was.
    fs::remove_dir_all(inside(&stores[1]).join("test.edu")).expect("removes");
    let found = faults();
    assert_eq!(
        (found.len(), &found[0].0, &found[0].1.fault),
        (1, &inside(&stores[1]).join("test.edu"), &Fault::Cut(9))
    );
    fs::remove_dir_all(inside(&stores[1]).join(CHAIN)).expect("removes");
    assert_eq!(faults().len(), 2);
    fs::remove_dir_all(inside(&stores[1])).expect("removes");
    let found = faults();
    assert_eq!((found.len(), &found[0].0, &found[0].1.fault), (1, &paths[1], &Fault::Nothing));
}

#[test]
fn counts_of_a_head_are_those_of_the_entries() {
    let mut made = Written::new(CHAIN);
    for (number, source) in [(10, "event"), (11, "journal")] {
        let mut body = body(number);
        body.insert("source".to_owned(), source.into());
        made.range(&[body]);
    }
    change(&made.head(4), |text| text.replace("\"counts\":{}", "\"counts\":{\"event\":1,\"journal\":1}"));
    assert_eq!(made.verified().fault, None);
    change(&made.head(4), |text| text.replace("\"journal\":1", "\"journal\":2"));
    assert_eq!(made.fault(), (11, Fault::Counts));
}
