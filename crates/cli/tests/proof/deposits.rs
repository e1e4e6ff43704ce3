//! Deposits of other people, taken in and deposited again: every digest as other programs compute it, identifiers for ever,
//! and nothing stored twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::fixtures::{fixture, listed};
use crate::homes::{PRESERVATION, nothing_is_left, stored_contents};
use crate::program::Place;

/// The deposits, first and updated, as they are called and by the object that is made of them.
pub(crate) const DEPOSITS: [&str; 5] =
    ["test.edu.apt-001", "test.edu.btr-001", "test.edu.glacier-oh", "test.edu.standard-storage", "test.edu.wasabi-or"];
pub(crate) const UPDATED: [&str; 2] = ["test.edu.apt-001", "test.edu.btr-001"];

/// A home that has taken in the first deposits; nothing where they are absent.
pub(crate) fn home_with_deposits() -> Option<Place> {
    fixture("bags/deposits")?;
    let place = Place::with_home();
    place.run(["institution", "add", "test.edu"]).succeeds();
    let items = take_in(&place, "bags/deposits")?;
    assert_eq!(items.keys().map(String::as_str).collect::<Vec<_>>(), DEPOSITS);
    for item in items.values() {
        assert_eq!((&item["status"], &item["version"]), (&"succeeded".into(), &1.into()), "{item}");
        let worst = item["problems"].as_array().unwrap().iter().find(|problem| problem["severity"] == "error");
        assert_eq!(worst, None, "{item}");
    }
    Some(place)
}

/// Deposits a folder of the fixtures; the work items by the bag's name.
pub(crate) fn take_in(place: &Place, folder: &str) -> Option<BTreeMap<String, Value>> {
    let mut arguments = vec!["deposit".into(), "--institution".into(), "test.edu".into(), "--wait".into()];
    arguments.push("--json".into());
    arguments.extend(listed(&fixture(folder)?, ".tar").into_iter().map(std::path::PathBuf::into_os_string));
    let items = place.run(arguments).succeeds().json();
    let name = |item: &Value| item["object"].as_str().unwrap().strip_prefix("test.edu/").unwrap().to_owned();
    Some(items.into_iter().map(|item| (name(&item), item)).collect())
}

/// The files of an object by their path.
pub(crate) fn files(place: &Place, name: &str) -> BTreeMap<String, Value> {
    let listed = place.run(["objects", "files", &format!("test.edu/{name}"), "--json"]).succeeds().json();
    listed.into_iter().map(|file| (file["path"].as_str().unwrap().to_owned(), file)).collect()
}

/// What the system's own programs say of a bag: its files, without those that describe the bag, and their digests.
pub(crate) fn witnessed(place: &Place, bag: &Path) -> BTreeMap<String, BTreeMap<&'static str, String>> {
    let folder = place.path("unpacked");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    // Without owners, whoever runs this.
    let mut tar = Command::new("tar");
    tar.args(["--no-same-owner", "--strip-components=1", "-xf"]).arg(bag).arg("-C").arg(&folder);
    assert!(tar.status().unwrap().success());
    let mut found: BTreeMap<String, BTreeMap<&'static str, String>> = BTreeMap::new();
    for algorithm in ["md5", "sha1", "sha256", "sha512"] {
        let output = Command::new("find")
            .args([".", "-type", "f", "-exec", &format!("{algorithm}sum"), "-z", "{}", "+"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.split_terminator('\0') {
            let (hex, path) = line.split_once("  ./").unwrap();
            found.entry(path.to_owned()).or_default().insert(algorithm, hex.to_owned());
        }
    }
    let describes_the_bag =
        |path: &str| path == "bagit.txt" || path.starts_with("manifest-") || path.starts_with("tagmanifest-");
    found.retain(|path, _| !describes_the_bag(path));
    found
}

#[test]
fn every_file_of_a_deposit_has_the_digests_that_other_programs_compute() {
    let Some(place) = home_with_deposits() else { return };
    let Some(bags) = fixture("bags/deposits") else { return };
    for name in DEPOSITS {
        let expected = witnessed(&place, &bags.join(format!("{name}.tar")));
        let found = files(&place, name);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
        for (path, digests) in &expected {
            for (algorithm, hex) in digests {
                assert_eq!(found[path]["digests"][*algorithm], hex.as_str(), "{name} {path}");
            }
            let copies = found[path]["copies"].as_array().unwrap();
            let stores: Vec<&str> = copies.iter().map(|copy| copy["store"].as_str().unwrap()).collect();
            assert_eq!(stores, PRESERVATION, "{name} {path}");
            for copy in copies {
                let folder = place.path("home/stores").join(copy["store"].as_str().unwrap());
                let bytes = fs::read(folder.join(copy["key"].as_str().unwrap())).unwrap();
                let sent = fs::read(place.path("unpacked").join(path)).unwrap();
                assert!(bytes == sent, "{name} {path} in {copy}");
            }
        }
    }
    nothing_is_left(&place);
}

#[test]
fn a_deposit_made_again_keeps_identifiers_and_stores_only_what_changed() {
    let Some(place) = home_with_deposits() else { return };
    let Some(updated) = fixture("bags/deposits-updated") else { return };
    let before: BTreeMap<&str, _> = UPDATED.iter().map(|name| (*name, files(&place, name))).collect();
    let contents_before = stored_contents(&place);

    let Some(items) = take_in(&place, "bags/deposits-updated") else { return };
    assert_eq!(items.keys().map(String::as_str).collect::<Vec<_>>(), UPDATED);
    for (name, item) in &items {
        assert_eq!((&item["status"], &item["version"]), (&"succeeded".into(), &2.into()), "{item}");
        let sent = witnessed(&place, &updated.join(format!("{name}.tar")));
        let (old, new) = (&before[name.as_str()], files(&place, name));
        for (path, file) in old {
            // What a deposit leaves out is kept.
            assert_eq!(new[path]["file"], file["file"], "{name} {path} has another identifier");
            if !sent.contains_key(path) {
                assert_eq!(new[path]["digests"], file["digests"], "{name} {path}");
            }
        }
        for (path, digests) in &sent {
            assert_eq!(new[path]["digests"]["sha256"], digests["sha256"].as_str(), "{name} {path}");
        }
        let identifiers: BTreeSet<String> = new.values().map(|file| file["file"].to_string()).collect();
        assert_eq!(identifiers.len(), new.len(), "{name}: identifiers are each of one file");
    }

    // Nothing that was there is gone or touched, and what came is only what no version of the object had.
    let contents = stored_contents(&place);
    for (path, size) in &contents_before {
        assert_eq!(contents.get(path), Some(size), "{}", path.display());
    }
    let mut kept = BTreeSet::new();
    for path in contents.keys() {
        let object = path.iter().take_while(|part| !part.to_string_lossy().starts_with('v')).collect::<Vec<_>>();
        assert!(kept.insert((object, path.file_name())), "{} is stored twice", path.display());
    }
    let changed: usize = UPDATED
        .iter()
        .map(|name| {
            let old: BTreeSet<String> =
                before[name].values().map(|file| file["digests"]["sha512"].to_string()).collect();
            let now = files(&place, name);
            let new: BTreeSet<String> = now.values().map(|file| file["digests"]["sha512"].to_string()).collect();
            new.difference(&old).count()
        })
        .sum();
    let came = (contents.len() - contents_before.len()) / PRESERVATION.len();
    // With each version come its record and the manifests that differ from those before: one of payload and one of tag
    // files for each algorithm of the bag.
    let describing = came - changed;
    assert!(changed > 0 && (4..=8).contains(&describing), "{came} contents for {changed} changed files");

    // The same once more changes nothing at all.
    let Some(items) = take_in(&place, "bags/deposits-updated") else { return };
    for item in items.values() {
        assert_eq!((&item["status"], &item["version"]), (&"succeeded".into(), &Value::Null), "{item}");
    }
    assert_eq!(stored_contents(&place), contents);
    nothing_is_left(&place);
}
