//! Objects in OCFL are written to the store and read from it, whatever interrupts the writing.

use std::io::ErrorKind;
use std::sync::Arc;

use strongroom_digest::Algorithm;
use strongroom_ocfl::{
    Commit, InventoryHeader, InventorySeal, InventoryWriter, Object, OcflError, StorageRoot, User, ValidateOptions,
    VersionAssembly, VersionDetails, VersionNumber, object_id, owned_content_path, validate_object,
};
use strongroom_s3_double::{Double, Rules};
use strongroom_storage::{Key, Store};
use strongroom_storage_test::{Fault, Faults, Layered, Operation};

use crate::served::{digest, key, list, served_by};

/// Contents of each version; a version has those of the versions before as well.
const CONTENTS: [&[&[u8]]; 2] = [&[b"alpha", b"beta"], &[b"gamma"]];

fn number(version: usize) -> VersionNumber {
    VersionNumber::new(u32::try_from(version).unwrap()).unwrap()
}

fn inventory(head: usize) -> (Vec<u8>, InventorySeal) {
    let header = InventoryHeader::new(object_id("0192f5e1-7c2b-7000-8000-0123456789ab").unwrap(), number(head));
    let mut writer = InventoryWriter::new(Vec::new(), &header).unwrap();
    let mut kept = Vec::new();
    for (index, contents) in CONTENTS.iter().take(head).enumerate() {
        for bytes in *contents {
            let sha512 = digest(Algorithm::Sha512, bytes);
            let path = owned_content_path(number(index + 1), &format!("item-v{}", index + 1), &sha512);
            kept.push((sha512, path, index + 1, String::from_utf8_lossy(bytes)));
        }
    }
    kept.sort();
    for (sha512, path, ..) in &kept {
        writer.manifest(sha512, path).unwrap();
    }
    for version in 1..=head {
        let details = VersionDetails {
            created: format!("2026-01-{version:02}T12:00:00Z"),
            message: Some("deposit".into()),
            user: Some(User { name: "Archivist".into(), address: Some("mailto:archivist@example.edu".into()) }),
        };
        writer.version(number(version), &details).unwrap();
        for (sha512, _, since, name) in &kept {
            if *since <= version {
                writer.state(sha512, &format!("deposit/{name}")).unwrap();
            }
        }
    }
    writer.finish().unwrap()
}

fn write(store: &dyn Store, root: &Key, version: usize) -> Result<(), OcflError> {
    let assembly = VersionAssembly::open(store, &format!("item-v{version}"), root, number(version))?;
    for bytes in CONTENTS[version - 1] {
        let sha512 = digest(Algorithm::Sha512, bytes);
        if assembly.head_content(&sha512)?.is_none() {
            assembly.put_content(&sha512, bytes.len() as u64, None, &mut &**bytes)?;
        }
    }
    let (bytes, seal) = inventory(version);
    assembly.sync()?;
    let before = (version > 1).then(|| inventory(version - 1).1.digest);
    assembly.commit(&mut Commit {
        seal: &seal,
        replaces: before.as_ref(),
        inventory: &mut || Ok(Box::new(std::io::Cursor::new(bytes.clone()))),
        may_go_on: &mut || Ok(()),
    })
}

fn is_valid(store: &dyn Store, root: &Key) -> bool {
    let report = validate_object(store, root, &ValidateOptions::default()).unwrap();
    let codes: Vec<_> = report.codes().collect();
    assert!(codes.is_empty() || !Object::new(store, root.clone()).is_at(&inventory(1).1).unwrap(), "{codes:?}");
    codes.is_empty()
}

#[test]
fn an_object_with_two_versions_is_written_and_valid() {
    for rules in [Rules::AWS, Rules::GARAGE, Rules::PLAIN] {
        let (_double, store) = served_by(rules);
        let storage_root = StorageRoot::init(&store, &key("example.edu")).unwrap();
        let root = storage_root.object_root(&object_id("0192f5e1-7c2b-7000-8000-0123456789ab").unwrap()).unwrap();
        write(&store, &root, 1).unwrap();
        write(&store, &root, 2).unwrap();
        assert!(is_valid(&store, &root));
        assert_eq!(storage_root.objects().unwrap().count(), 1);
        assert!(store.assemblies().unwrap().is_empty());
        // Repeating all of it changes nothing.
        let before = list(&store, "");
        write(&store, &root, 2).unwrap();
        assert_eq!(list(&store, ""), before);
    }
}

/// A store in a new bucket whose `nth` put will do nothing, or will take effect and report failure.
fn interrupted(nth: u64, fault: Fault) -> (Double, Arc<Layered<Faults>>) {
    let (double, store) = served_by(Rules::AWS);
    let faulty = Layered::new(Arc::new(store), Faults::new());
    faulty.layer().plan(Operation::Put, nth, fault);
    (double, Arc::new(faulty))
}

#[test]
fn an_object_whose_writing_is_interrupted_at_any_put_is_valid_or_absent_and_completed_by_repeating() {
    let root = key("object");
    for fault in [Fault::Fail(ErrorKind::TimedOut), Fault::FailAfter(ErrorKind::TimedOut)] {
        let mut nth = 1;
        loop {
            let (_double, store) = interrupted(nth, fault);
            let outcome = write(&*store, &root, 1).and_then(|()| write(&*store, &root, 2));
            let object = Object::new(&*store, root.clone());
            let head = object.root_inventory().unwrap();
            match &outcome {
                Ok(()) => assert_eq!(store.layer().happened(), 0, "no put failed unseen"),
                Err(_) => assert!(
                    head.is_none() || object.is_at(&inventory(1).1).unwrap() || object.is_at(&inventory(2).1).unwrap(),
                    "put {nth} left neither version"
                ),
            }
            if outcome.is_ok() {
                break;
            }
            for version in 1..=2 {
                if !object.is_at(&inventory(2).1).unwrap() {
                    let is_done = version == 1 && object.is_at(&inventory(1).1).unwrap();
                    if !is_done {
                        write(&*store, &root, version).unwrap();
                    }
                }
            }
            write(&*store, &root, 2).unwrap();
            assert!(is_valid(&*store, &root), "after put {nth} was interrupted");
            assert!(store.assemblies().unwrap().is_empty());
            nth += 1;
        }
        assert!(nth > 10, "every put was interrupted");
    }
}
