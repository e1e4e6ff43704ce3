//! Bags of other people, judged as their makers meant them to be.

use std::path::Path;

use crate::fixtures::{fixture, listed};
use crate::program::Place;

/// Bag, profile, verdict, and every code of an error in it.
#[rustfmt::skip]
const JUDGEMENTS: [(&str, &str, &str, &[&str]); 22] = [
    ("example.edu.sample_bad_oxum.tar", "aptrust-2.3", "invalid", &["oxum.mismatch"]),
    ("example.edu.sample_good.tar", "aptrust-2.3", "valid", &[]),
    ("example.edu.sample_good.zip", "aptrust-2.3", "invalid", &["profile.serialization"]),
    ("example.edu.sample_missing_data_file.tar", "aptrust-2.3", "invalid", &["manifest.file_missing", "profile.tag_required"]),
    ("example.edu.sample_no_bag_info.tar", "aptrust-2.3", "invalid", &["profile.tag_required"]),
    ("example.edu.sample_no_data_dir.tar", "aptrust-2.3", "invalid", &["manifest.file_missing", "payload.directory_missing"]),
    ("example.edu.sample_no_md5_manifest.tar", "aptrust-2.3", "invalid", &["manifest.missing", "profile.manifest_required"]),
    // Its folder has another name than the archive, which is a warning, as for a deposit.
    ("example.edu.sample_wrong_folder_name.tar", "aptrust-2.3", "valid_with_warnings", &[]),
    ("example.edu.tagsample_bad.tar", "aptrust-2.3", "invalid", &[
        "manifest.digest_malformed", "manifest.digest_mismatch", "manifest.file_missing", "profile.tag_empty", "profile.tag_value",
    ]),
    ("example.edu.tagsample_good.tar", "aptrust-2.3", "valid", &[]),
    ("example.edu.tagsample_good.tar.gz", "aptrust-2.3", "invalid", &["profile.serialization"]),
    ("example.edu.tagsample_good.tgz", "aptrust-2.3", "invalid", &["profile.serialization"]),
    ("test.edu.btr-glacier-deep-oh.tar", "btr-1.0", "valid_with_warnings", &[]),
    ("test.edu.btr-wasabi-or.tar", "btr-1.0", "valid_with_warnings", &[]),
    ("test.edu.btr_bad_checksums.tar", "btr-1.0", "invalid", &["manifest.digest_mismatch"]),
    ("test.edu.btr_bad_extraneous_file.tar", "btr-1.0", "invalid", &["manifest.file_unlisted", "oxum.mismatch"]),
    ("test.edu.btr_bad_missing_payload_file.tar", "btr-1.0", "incomplete", &["manifest.file_missing"]),
    ("test.edu.btr_bad_missing_required_tags.tar", "btr-1.0", "invalid", &["profile.tag_required"]),
    ("test.edu.btr_good_sha256.tar", "btr-1.0", "valid", &[]),
    ("test.edu.btr_good_sha512.tar", "btr-1.0", "valid", &[]),
    ("test.edu.sample_illegal_control.tar", "aptrust-2.3", "invalid", &["profile.name_control_character"]),
    // It lacks the tag Access.
    ("virginia.edu.uva-lib_2278801.tar", "aptrust-2.3", "invalid", &["profile.tag_required"]),
];

#[test]
fn sample_bags_are_judged_right_each_by_its_profile() {
    let Some(bags) = fixture("bags") else { return };
    let place = Place::empty();
    let mut judged: Vec<_> = JUDGEMENTS.iter().map(|(name, ..)| bags.join(name)).collect();
    judged.sort();
    let mut there: Vec<_> = [".tar", ".zip", ".gz", ".tgz"].iter().flat_map(|ending| listed(&bags, ending)).collect();
    there.sort();
    assert_eq!(judged, there, "every bag has its judgement");
    for (name, profile, verdict, codes) in JUDGEMENTS {
        let path = bags.join(name);
        let answer = place.run(["bag", "validate", &path.to_string_lossy(), "--profile", profile, "--json"]);
        let report = answer.object();
        let is_good = verdict.starts_with("valid");
        assert_eq!(answer.code, Some(i32::from(!is_good)), "{name}: {report}");
        assert_eq!(report["verdict"], verdict, "{name}: {report}");
        assert_eq!(report["profile"], profile, "{name}");
        let errors = report["problems"].as_array().unwrap().iter().filter(|problem| problem["severity"] == "error");
        let mut found: Vec<&str> = errors.map(|problem| problem["code"].as_str().unwrap()).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, codes, "{name}: {report}");
    }
}

/// The suite has 60 bags. Two of its warnings lack, as distributed, a file that they list: on a disk that tells letter
/// case apart they are not complete, whatever their label.
#[test]
fn every_bag_of_the_conformance_suite_has_the_answer_of_its_label() {
    const LACK_A_FILE: [&str; 2] = ["special-system-files", "duplicate-file-with-different-case"];
    let Some(suite) = fixture("bagit/conformance-suite") else { return };
    let place = Place::empty();
    let mut counts = [0_usize; 2];
    for version in ["v0.93", "v0.94", "v0.95", "v0.96", "v0.97", "v1.0"] {
        for (label, code) in [("valid", 0), ("warning", 0), ("invalid", 1), ("linux-only", 1), ("windows-only", 1)] {
            let folder = suite.join(version).join(label);
            let cases = if folder.exists() { listed(&folder, "") } else { Vec::new() };
            for case in cases.iter().filter(|case| case.is_dir()) {
                let answer = place.run([Path::new("bag"), Path::new("validate"), case, Path::new("--json")]);
                let report = answer.object();
                let is_odd = LACK_A_FILE.iter().any(|name| label == "warning" && case.ends_with(name));
                let expected = if is_odd { 1 } else { code };
                assert_eq!(answer.code, Some(expected), "{}: {report}", case.display());
                if label == "warning" && !is_odd {
                    assert_eq!(report["verdict"], "valid_with_warnings", "{}", case.display());
                }
                counts[usize::from(is_odd)] += 1;
            }
        }
    }
    assert_eq!(counts, [58, 2]);
}
