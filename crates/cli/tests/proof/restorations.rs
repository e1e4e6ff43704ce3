//! What is given back: bags that our validator and another's accept, with every byte that is kept; deposits as they were
//! sent; and objects told as PREMIS.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::deposits::{DEPOSITS, UPDATED, files, home_with_deposits, take_in, witnessed};
use crate::fixtures::fixture;
use crate::homes::nothing_is_left;
use crate::peers::{accepts, bagit_python_accepts, peer};
use crate::program::Place;

/// A home with first and updated deposits.
fn home_with_versions() -> Option<Place> {
    let place = home_with_deposits()?;
    take_in(&place, "bags/deposits-updated")?;
    Some(place)
}

pub(crate) fn profile_of(name: &str) -> &'static str {
    if name.contains("btr") { "btr-1.0" } else { "aptrust-2.3" }
}

/// Gives an object back into a folder of the place; the name of the bag is the object's.
#[track_caller]
fn restore(place: &Place, name: &str, folder: &str, arguments: &[&str]) {
    fs::create_dir_all(place.path(folder)).unwrap();
    let object = format!("test.edu/{name}");
    let all = [&["restore", "object", &object, "--to", folder, "--wait", "--json"], arguments].concat();
    let item = place.run(all).succeeds().object();
    assert_eq!(item["status"], "succeeded", "{item}");
}

/// Unpacks a bag's files with the system's own program. The one folder at the top is named as the object when it is given
/// back, whatever it was.
pub(crate) fn unpack(bag: &Path, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let status = Command::new("tar")
        .args(["--no-same-owner", "--strip-components=1", "-xf"])
        .arg(bag)
        .arg("-C")
        .arg(folder)
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn every_restored_bag_is_valid_by_its_profile_and_has_every_byte_that_is_kept() {
    let Some(place) = home_with_versions() else { return };
    for name in DEPOSITS {
        restore(&place, name, "back", &[]);
        let bag = place.path(&format!("back/{name}.tar"));
        let report = place
            .run(["bag", "validate", &bag.to_string_lossy(), "--profile", profile_of(name), "--json"])
            .succeeds()
            .object();
        assert!(report["verdict"].as_str().unwrap().starts_with("valid"), "{report}");

        // Tag files are made anew where they tell of the bag; the payload is what is kept, no more and no less.
        let payload = |mut all: BTreeMap<String, String>| {
            all.retain(|path, _| path.starts_with("data/"));
            all
        };
        let kept = files(&place, name).into_iter();
        let kept = kept.map(|(path, file)| (path, file["digests"]["sha512"].as_str().unwrap().to_owned())).collect();
        let back = witnessed(&place, &bag).into_iter();
        let back = back.map(|(path, mut digests)| (path, digests.remove("sha512").unwrap())).collect();
        assert_eq!(payload(back), payload(kept), "{name}");
    }
    nothing_is_left(&place);
}

#[test]
fn every_restored_bag_is_accepted_by_bagit_python() {
    let Some(place) = home_with_versions() else { return };
    let mut bags = Vec::new();
    for name in DEPOSITS {
        restore(&place, name, "back", &[]);
        bags.push(place.path(&format!("bags/{name}")));
        unpack(&place.path(&format!("back/{name}.tar")), &place.path(&format!("bags/{name}")));
    }
    bagit_python_accepts(&bags);
}

#[test]
fn every_deposit_is_given_back_byte_for_byte_as_it_was_sent() {
    let Some(place) = home_with_versions() else { return };
    for (names, version, fixtures) in
        [(&DEPOSITS[..], "1", "bags/deposits"), (&UPDATED[..], "2", "bags/deposits-updated")]
    {
        let Some(sent) = fixture(fixtures) else { return };
        for name in names {
            let folder = format!("back-{version}");
            restore(&place, name, &folder, &["--version", version, "--submission"]);
            let unpacked = ["sent", "given"].map(|what| place.path(&format!("{what}-{version}/{name}")));
            unpack(&sent.join(format!("{name}.tar")), &unpacked[0]);
            unpack(&place.path(&folder).join(format!("{name}.tar")), &unpacked[1]);
            accepts(Command::new("diff").arg("--recursive").args(unpacked));
        }
    }
}

#[test]
fn every_object_is_told_as_premis_that_its_schema_accepts() {
    const VALIDATE: &str = "
import sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[1]))
for path in sys.argv[2:]:
    schema.assertValid(etree.parse(path))
";
    let Some(python) = peer("STRONGROOM_PEERS_PYTHON", "objects as PREMIS before lxml") else { return };
    let Some(schema) = fixture("premis/premis-v3.xsd") else { return };
    let Some(place) = home_with_versions() else { return };
    let mut documents = Vec::new();
    for name in DEPOSITS {
        let document = place.run(["objects", "premis", &format!("test.edu/{name}")]).succeeds().stdout;
        for (path, file) in files(&place, name) {
            for told in [path.as_str(), file["file"].as_str().unwrap(), file["digests"]["sha512"].as_str().unwrap()] {
                assert!(document.contains(told), "{name} lacks {told}");
            }
        }
        documents.push(place.write(&format!("{name}.xml"), document));
    }
    accepts(Command::new(python).args(["-c", VALIDATE]).arg(schema).args(documents));
}
