//! The verdict on every object that the OCFL community published as a fixture.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use strongroom_ocfl::{Report, ValidateOptions, Validated, validate_directory, validate_object};
use strongroom_storage::Key;

use crate::memory::MemoryStore;

fn fixtures() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/ocfl");
    if !folder.is_dir() {
        println!("SKIPPED: {} is absent", folder.display());
        return None;
    }
    Some(folder)
}

fn reports(kind: &str, quick: bool) -> Option<Vec<(String, Report)>> {
    let folder = fixtures()?;
    let mut reports = Vec::new();
    for version in ["1.0", "1.1"] {
        for entry in std::fs::read_dir(folder.join(version).join(kind)).unwrap() {
            let entry = entry.unwrap();
            let store = MemoryStore::load(&entry.path());
            let options = ValidateOptions { quick, ..ValidateOptions::default() };
            let report = validate_object(&store, &Key::ROOT, &options).unwrap();
            // A directory without a declaration is still taken for an object, unless it has a layout file.
            let on_disk = validate_directory(&entry.path(), &options, &mut |_, _| {}).unwrap();
            assert_eq!(on_disk, Validated::Object(report.clone()));
            reports.push((format!("{version}/{kind}/{}", entry.file_name().display()), report));
        }
    }
    reports.sort_by(|left, right| left.0.cmp(&right.0));
    Some(reports)
}

/// The codes that begin the name of a fixture.
fn codes_of(name: &str) -> Vec<&str> {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.split('_').take_while(|part| part.len() == 4 && part[1..].parse::<u16>().is_ok()).collect()
}

#[test]
fn good_objects_have_no_problem() {
    let Some(reports) = reports("good-objects", false) else { return };
    assert_eq!(reports.len(), 22);
    for (name, report) in reports {
        assert_eq!(report.codes().next(), None, "{name}: {report:#?}");
    }
}

#[test]
fn warn_objects_have_the_warnings_of_their_names_and_no_error() {
    let Some(reports) = reports("warn-objects", false) else { return };
    assert_eq!(reports.len(), 27);
    for (name, report) in reports {
        assert!(report.is_valid(), "{name}: {report:#?}");
        let found: BTreeSet<&str> = report.codes().collect();
        for code in codes_of(&name) {
            assert!(found.contains(code), "{name}: {found:?}");
        }
    }
}

#[test]
fn bad_objects_have_every_error_of_their_names() {
    let Some(reports) = reports("bad-objects", false) else { return };
    assert_eq!(reports.len(), 107);
    let mut wrong = Vec::new();
    for (name, report) in reports {
        let found: BTreeSet<&str> = report.errors.iter().map(|problem| problem.code).collect();
        if found.is_empty() || codes_of(&name).iter().any(|code| !found.contains(code)) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_quick_look_finds_everything_but_changed_contents() {
    let Some(reports) = reports("bad-objects", true) else { return };
    let needs_reading =
        ["E092_algorithm_change_incorrect_digest", "E092_content_file_digest_mismatch", "E093_fixity_digest_mismatch"];
    for (name, report) in reports {
        let expected = needs_reading.iter().any(|fixture| name.ends_with(fixture));
        assert_eq!(report.is_valid(), expected, "{name}: {report:#?}");
    }
}
