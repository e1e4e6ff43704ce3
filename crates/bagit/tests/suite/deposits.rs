//! Bags as depositors send them, judged with the profiles they are meant for.

use std::path::Path;

use strongroom_bagit::{CheckOptions, Profile, ProfileChoice, Report, Verdict, validate};

use crate::bags::{errors, fixtures};

fn judge(path: &Path, profile: &str) -> Report {
    let profile = Profile::builtin(profile).unwrap();
    let options = CheckOptions { profile: ProfileChoice::Given(Box::new(profile)), ..CheckOptions::default() };
    validate(path, &options).unwrap()
}

#[test]
fn sample_bags_are_judged_as_their_names_say() {
    let Some(bags) = fixtures("bags") else { return };
    let (aptrust, btr) = ("aptrust-2.2", "btr-1.0");
    let expected: [(&str, &str, &[&str]); 18] = [
        ("example.edu.sample_good.tar", aptrust, &[]),
        ("example.edu.sample_good.zip", aptrust, &["profile.serialization"]),
        ("example.edu.sample_bad_oxum.tar", aptrust, &["oxum.mismatch"]),
        ("example.edu.sample_missing_data_file.tar", aptrust, &["manifest.file_missing"]),
        ("example.edu.sample_no_data_dir.tar", aptrust, &["payload.directory_missing", "manifest.file_missing"]),
        ("example.edu.sample_no_md5_manifest.tar", aptrust, &["profile.manifest_required", "manifest.missing"]),
        ("example.edu.sample_wrong_folder_name.tar", aptrust, &["profile.base_directory_name"]),
        ("example.edu.tagsample_good.tar", aptrust, &[]),
        ("example.edu.tagsample_good.tgz", aptrust, &["profile.serialization"]),
        (
            "example.edu.tagsample_bad.tar",
            aptrust,
            &[
                "manifest.digest_malformed",
                "manifest.digest_mismatch",
                "manifest.file_missing",
                "profile.tag_value",
                "profile.tag_empty",
            ],
        ),
        ("test.edu.sample_illegal_control.tar", aptrust, &["profile.name_control_character"]),
        ("test.edu.btr-glacier-deep-oh.tar", btr, &[]),
        ("test.edu.btr_good_sha256.tar", btr, &[]),
        ("test.edu.btr_good_sha512.tar", btr, &[]),
        ("test.edu.btr_bad_checksums.tar", btr, &["manifest.digest_mismatch"]),
        ("test.edu.btr_bad_extraneous_file.tar", btr, &["manifest.file_unlisted", "oxum.mismatch"]),
        ("test.edu.btr_bad_missing_payload_file.tar", btr, &["manifest.file_missing"]),
        ("test.edu.btr_bad_missing_required_tags.tar", btr, &["profile.tag_required"]),
    ];
    for (name, profile, codes) in expected {
        let report = judge(&bags.join(name), profile);
        let is_valid = matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings);
        assert_eq!(is_valid, codes.is_empty(), "{name}: {:#?}", report.problems);
        for code in codes {
            assert!(errors(&report).contains(code), "{name} lacks {code}: {:?}", errors(&report));
        }
    }
}

#[test]
fn real_deposits_are_valid_and_their_tags_are_read() {
    let Some(bags) = fixtures("bags/deposits") else { return };
    for (name, profile) in [
        ("test.edu.apt-001.tar", "aptrust-2.2"),
        ("test.edu.standard-storage.tar", "aptrust-2.2"),
        ("test.edu.glacier-oh.tar", "aptrust-2.2"),
        ("test.edu.btr-001.tar", "btr-1.0"),
    ] {
        let report = judge(&bags.join(name), profile);
        assert_eq!(errors(&report), [""; 0], "{name}: {:#?}", report.problems);
        assert_eq!(report.profile.as_deref(), Some(profile));
        assert!(report.tag("bag-info.txt", "source-organization").next().is_some(), "{name}");
    }
    let report = judge(&bags.join("test.edu.glacier-oh.tar"), "aptrust-2.2");
    assert_eq!(report.tag("aptrust-info.txt", "storage-option").collect::<Vec<_>>(), ["Glacier-OH"]);
}
