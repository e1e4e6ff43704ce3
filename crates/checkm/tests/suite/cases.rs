//! The cases that Merritt published: every one has its verdict, and for the reason it is meant to show.

use std::fs;
use std::path::{Path, PathBuf};

use strongroom_checkm::{Mode, Report, Severity};

use crate::manifests::{judge, word};

/// The folder of published manifests, if it is at hand.
fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/checkm");
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: checkm is not at hand in the folder of fixtures beside the project");
    None
}

/// The code that each case with a problem is meant to show.
const REASONS: [(&str, &str); 10] = [
    ("4blocks_extra_pipe", "row.extra_column"),
    ("4blocks_dup_filename_upcase", "name.case"),
    ("4blocks_noeof", "eof.missing"),
    ("4blocks_incorrect_algorithm", "digest.algorithm"),
    ("4blocks_incorrect_md5_format", "digest.malformed"),
    ("4blocks_incorrect_url_hostname", "url.host"),
    ("4blocks_dup_filename", "name.duplicate"),
    ("4blocks_with_bad_moddate", "modified.malformed"),
    ("sampleBatchOfContainers_incorrect_filename", "name.not_a_container"),
    ("sampleBatchOfManifests_incorrect_filename", "name.not_a_manifest"),
];

fn codes(report: &Report) -> Vec<&'static str> {
    let mut codes: Vec<&str> = report.problems.iter().map(|problem| problem.code).collect();
    codes.dedup();
    codes
}

#[test]
fn every_case_has_its_verdict_and_its_reason() {
    let Some(folder) = fixtures() else { return };
    let expected = fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let mut cases = 0;
    for line in expected.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut parts = line.split('\t');
        let (case, verdict) = (parts.next().unwrap(), parts.next().unwrap());
        let manifest = fs::read(folder.join("cases").join(format!("{case}.checkm"))).unwrap();
        let report = judge(&manifest, Mode::Strict);
        assert_eq!(word(&report), verdict, "{case}: {:#?}", report.problems);
        let reason: Vec<&str> = REASONS.iter().filter(|(name, _)| *name == case).map(|(_, code)| *code).collect();
        assert_eq!(codes(&report), reason, "{case}: {:#?}", report.problems);
        for problem in report.problems.iter().filter(|problem| problem.code != "eof.missing") {
            assert!(problem.row.is_some() && problem.line.is_some(), "{case}: {problem:?}");
        }
        cases += 1;
    }
    assert_eq!(cases, 19);
}

#[test]
fn every_manifest_of_the_sample_deposit_is_valid_in_both_modes() {
    let Some(folder) = fixtures() else { return };
    let mut manifests = 0;
    for entry in fs::read_dir(folder.join("sample-files")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "checkm") {
            let manifest = fs::read(&path).unwrap();
            for mode in [Mode::Strict, Mode::Lenient] {
                let report = judge(&manifest, mode);
                assert_eq!((report.problems, report.rows > 0), (Vec::new(), true), "{}", path.display());
            }
            // With the line ends of other systems, and without the last one.
            let text = String::from_utf8(manifest).unwrap();
            assert_eq!(judge(text.replace('\n', "\r\n"), Mode::Strict).problems, [], "{}", path.display());
            assert_eq!(judge(text.trim_end(), Mode::Strict).problems, [], "{}", path.display());
            manifests += 1;
        }
    }
    assert_eq!(manifests, 6);
}

#[test]
fn read_leniently_a_case_is_refused_only_where_files_would_be_lost_or_mixed_up() {
    let Some(folder) = fixtures() else { return };
    let mut refused = Vec::new();
    for entry in fs::read_dir(folder.join("cases")).unwrap() {
        let path = entry.unwrap().path();
        let report = judge(fs::read(&path).unwrap(), Mode::Lenient);
        if report.problems.iter().any(|problem| problem.severity == Severity::Error) {
            refused.push(path.file_stem().unwrap().to_string_lossy().into_owned());
        }
    }
    refused.sort();
    assert_eq!(
        refused,
        ["4blocks_dup_filename", "4blocks_incorrect_algorithm", "4blocks_incorrect_md5_format", "4blocks_noeof"]
    );
}
