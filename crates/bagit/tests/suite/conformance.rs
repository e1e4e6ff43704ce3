//! The BagIt conformance suite of the Library of Congress: every case has its verdict, and for the reason it is meant to show.

use std::path::{Path, PathBuf};

use strongroom_bagit::{CheckOptions, Report, Severity, Verdict, validate};

use crate::bags::fixtures;

fn suite() -> Option<PathBuf> {
    fixtures("bagit/conformance-suite")
}

fn judge(case: &Path) -> Report {
    validate(case, &CheckOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", case.display()))
}

fn codes(report: &Report) -> Vec<&str> {
    report.problems.iter().map(|problem| problem.code.as_str()).collect()
}

fn cases(category: &str) -> Vec<PathBuf> {
    let Some(suite) = suite() else { return Vec::new() };
    let mut cases = Vec::new();
    for version in ["v0.93", "v0.94", "v0.95", "v0.96", "v0.97", "v1.0"] {
        let Ok(listing) = std::fs::read_dir(suite.join(version).join(category)) else { continue };
        cases.extend(listing.map(|item| item.unwrap().path()).filter(|path| path.is_dir()));
    }
    cases.sort();
    cases
}

#[test]
fn every_valid_bag_is_valid() {
    if suite().is_none() {
        return;
    }
    let cases = cases("valid");
    assert_eq!(cases.len(), 27);
    for case in cases {
        let report = judge(&case);
        assert!(
            matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings),
            "{}: {:#?}",
            case.display(),
            report.problems
        );
    }
}

#[test]
fn every_invalid_bag_is_refused_for_its_own_reason() {
    let Some(suite) = suite() else { return };
    let expected: [(&str, &[&str]); 27] = [
        ("v0.97/invalid/baginfo-missing-encoding", &["bagit.declaration"]),
        ("v0.97/invalid/bom-in-bagit.txt", &["bagit.declaration"]),
        ("v0.97/invalid/corrupt-data-file", &["manifest.digest_mismatch"]),
        ("v0.97/invalid/corrupt-tag-file", &["manifest.digest_mismatch"]),
        ("v0.97/invalid/extra-file-in-bag", &["manifest.file_unlisted"]),
        ("v0.97/invalid/invalid-version-number", &["bagit.declaration"]),
        ("v0.97/invalid/missing-baginfo", &["manifest.file_missing"]),
        ("v0.97/invalid/missing-bagit.txt", &["bagit.declaration"]),
        ("v0.97/invalid/out-of-scope-file-paths-using-dot-notation", &["path.unsafe"]),
        ("v0.97/invalid/out-of-scope-file-paths-using-dot-notation-for-fetch", &["path.unsafe"]),
        ("v0.97/invalid/same-filename-listed-twice-with-different-hashes", &["manifest.duplicate_entry"]),
        ("v0.97/linux-only/out-of-scope-file-paths-using-absolute-path", &["path.unsafe"]),
        ("v0.97/linux-only/out-of-scope-file-paths-using-absolute-path-for-fetch", &["path.unsafe"]),
        ("v0.97/linux-only/out-of-scope-file-paths-using-shortcut", &["path.unsafe"]),
        ("v0.97/linux-only/out-of-scope-file-paths-using-shortcut-for-fetch", &["path.unsafe"]),
        ("v0.97/linux-only/out-of-scope-file-paths-using-shortcut-username", &["path.unsafe"]),
        ("v0.97/linux-only/out-of-scope-file-paths-using-shortcut-username-for-fetch", &["path.unsafe"]),
        ("v0.97/windows-only/out-of-scope-file-paths-using-absolute-path", &["path.unsafe"]),
        ("v0.97/windows-only/out-of-scope-file-paths-using-absolute-path-for-fetch", &["path.unsafe"]),
        ("v0.97/windows-only/out-of-scope-file-paths-using-shortcut", &["path.unsafe"]),
        ("v0.97/windows-only/out-of-scope-file-paths-using-shortcut-for-fetch", &["path.unsafe"]),
        ("v0.97/windows-only/out-of-scope-file-paths-using-unc", &["path.unsafe"]),
        ("v0.97/windows-only/out-of-scope-file-paths-using-unc-for-fetch", &["path.unsafe"]),
        ("v1.0/invalid/bagit-with-invalid-whitespace", &["bagit.declaration"]),
        ("v1.0/invalid/notAllManifestsListAllFiles", &["manifest.file_unlisted"]),
        (
            "v1.0/invalid/same-filename-listed-twice-with-different-hashes",
            &["manifest.duplicate_entry", "bagit.declaration"],
        ),
        ("v1.0/invalid/same-filename-listed-twice-with-the-same-hash", &["manifest.duplicate_entry"]),
    ];
    let mut listed: Vec<PathBuf> = expected.iter().map(|(case, _)| suite.join(case)).collect();
    listed.sort();
    let mut found: Vec<PathBuf> = ["invalid", "linux-only", "windows-only"].into_iter().flat_map(cases).collect();
    found.sort();
    assert_eq!(listed, found);
    for (case, reasons) in expected {
        let report = judge(&suite.join(case));
        assert!(
            matches!(report.verdict, Verdict::Invalid | Verdict::Incomplete),
            "{case}: {:?} {:#?}",
            report.verdict,
            report.problems
        );
        for reason in reasons {
            let is_error = |code: &str| {
                report.problems.iter().any(|problem| problem.severity == Severity::Error && problem.code == code)
            };
            assert!(is_error(reason), "{case} lacks {reason}: {:?}", codes(&report));
        }
    }
}

#[test]
fn bags_that_deserve_a_warning_get_it() {
    let Some(suite) = suite() else { return };
    for (case, warning) in [
        ("made-with-md5sum-tools", "manifest.md5sum_style"),
        ("relative-path", "manifest.relative_path"),
        ("same-filename-listed-twice-with-different-normalization", "path.normalization"),
        ("same-filename-listed-twice-with-the-same-hash", "manifest.duplicate_entry_equal"),
    ] {
        let report = judge(&suite.join("v0.97/warning").join(case));
        assert_eq!(report.verdict, Verdict::ValidWithWarnings, "{case}: {:#?}", report.problems);
        assert!(codes(&report).contains(&warning), "{case} lacks {warning}: {:?}", codes(&report));
    }
}

/// As distributed these two lack a file that they list, so on a case-sensitive disk they are not valid, whatever their label.
#[test]
fn two_warning_cases_that_lack_a_file_say_so() {
    let Some(suite) = suite() else { return };
    for (case, path) in
        [("special-system-files", "data/.DS_Store"), ("duplicate-file-with-different-case", "data/HELLO.txt")]
    {
        let report = judge(&suite.join("v0.97/warning").join(case));
        assert!(matches!(report.verdict, Verdict::Invalid | Verdict::Incomplete), "{case}");
        let missing = report.problems.iter().find(|problem| problem.code == "manifest.file_missing");
        assert_eq!(missing.and_then(|problem| problem.path.as_deref()), Some(path), "{case}: {:#?}", report.problems);
    }
}
