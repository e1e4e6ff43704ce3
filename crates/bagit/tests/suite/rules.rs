//! The rules of RFC 8493, one case each: what has to be refused is refused for its reason, and what has to be taken is taken.

use strongroom_bagit::{CODES, CheckLevel, CheckOptions, Limits, Verdict};
use strongroom_digest::Algorithm;

use crate::bags::{Bag, digest, errors, warnings};

#[track_caller]
fn assert_errors(bag: &Bag, expected: &[&str]) {
    let report = bag.judge();
    assert_eq!(errors(&report), expected, "{:#?}", report.problems);
    for problem in &report.problems {
        assert!(
            CODES.iter().any(|(code, severity, _)| *code == problem.code && *severity == problem.severity),
            "{problem:?}"
        );
    }
}

#[track_caller]
fn assert_valid(bag: &Bag) {
    let report = bag.judge();
    assert_eq!(report.verdict, Verdict::Valid, "{:#?}", report.problems);
}

#[track_caller]
fn assert_warnings(bag: &Bag, expected: &[&str]) {
    let report = bag.judge();
    assert_eq!(report.verdict, Verdict::ValidWithWarnings, "{:#?}", report.problems);
    assert_eq!(warnings(&report), expected, "{:#?}", report.problems);
}

fn two_manifests(version: &str) -> Bag {
    Bag::new(version, &[Algorithm::Md5, Algorithm::Sha512], &[("a.txt", "alpha"), ("b.txt", "beta")])
}

fn line_of(bag: &Bag, manifest: &str, path: &str) -> String {
    let text = String::from_utf8(bag.files[manifest].clone()).unwrap();
    text.lines().find(|line| line.ends_with(path)).unwrap().to_owned() + "\n"
}

#[test]
fn a_bag_made_by_the_rules_is_valid_in_every_version() {
    for version in ["0.96", "0.97", "1.0"] {
        assert_valid(&two_manifests(version));
    }
    let report = two_manifests("1.0").judge();
    assert_eq!((report.payload_files, report.payload_bytes), (2, 9));
    assert_eq!(report.manifests, [Algorithm::Md5, Algorithm::Sha512]);
    assert_eq!(report.tag("bag-info.txt", "payload-oxum").collect::<Vec<_>>(), ["9.2"]);
}

#[test]
fn every_algorithm_is_checked() {
    for algorithm in Algorithm::ALL {
        let bag = Bag::new("1.0", &[algorithm], &[("a", "alpha")]);
        assert_valid(&bag);
        assert_errors(&bag.with("data/a", "ALPHA"), &["manifest.digest_mismatch"]);
    }
}

#[test]
fn in_1_0_every_manifest_lists_every_payload_file() {
    let bag = two_manifests("1.0");
    let line = line_of(&bag, "manifest-md5.txt", "data/b.txt");
    assert_errors(&bag.replacing("manifest-md5.txt", &line, "").sealed(), &["manifest.file_unlisted"]);
    let bag = two_manifests("0.97");
    let line = line_of(&bag, "manifest-md5.txt", "data/b.txt");
    let bag = bag.replacing("manifest-md5.txt", &line, "").sealed();
    assert_valid(&bag);
    let line = line_of(&bag, "manifest-sha512.txt", "data/b.txt");
    assert_errors(&bag.replacing("manifest-sha512.txt", &line, "").sealed(), &["manifest.file_unlisted"]);
}

#[test]
fn a_missing_file_makes_a_bag_incomplete_and_a_changed_one_invalid() {
    let report = Bag::plain().without("data/a.txt").judge();
    assert_eq!((report.verdict, errors(&report)), (Verdict::Incomplete, vec!["manifest.file_missing"]));
    let report = Bag::plain().with("data/a.txt", "alphb").judge();
    assert_eq!((report.verdict, errors(&report)), (Verdict::Invalid, vec!["manifest.digest_mismatch"]));
    let problem = &report.problems[0];
    assert_eq!(
        (problem.file.as_deref(), problem.path.as_deref(), problem.line),
        (Some("manifest-sha256.txt"), Some("data/a.txt"), Some(1))
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let bag = Bag::plain()
        .with("data/a.txt", "other")
        .without("data/sub/b.txt")
        .with("data/extra", "x")
        .adding("bag-info.txt", "nonsense\n");
    assert_errors(
        &bag,
        &[
            "bag_info.malformed",
            "manifest.digest_mismatch",
            "manifest.file_missing",
            "manifest.file_unlisted",
            "oxum.mismatch",
        ],
    );
}

#[test]
fn a_directory_without_the_parts_of_a_bag_is_told_what_it_lacks() {
    let report =
        Bag::plain().without("bagit.txt").without("manifest-sha256.txt").without("tagmanifest-sha256.txt").judge();
    assert_eq!(report.verdict, Verdict::NotABag);
    assert_errors(&Bag::plain().without("bagit.txt").without("tagmanifest-sha256.txt"), &["bagit.declaration"]);
    assert_errors(&Bag::plain().without("manifest-sha256.txt").sealed(), &["manifest.missing"]);
}

#[test]
fn a_folder_that_is_no_bag_is_not_read_and_one_line_says_so() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path().join("folder/link")).unwrap();
    let report = strongroom_bagit::validate(place.path(), &CheckOptions::default()).unwrap();
    let problems: Vec<_> = report.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!((report.verdict, problems, report.files), (Verdict::NotABag, vec!["bagit.declaration"], 0));
}

#[test]
fn problems_of_a_folder_are_in_order_of_path() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("manifest-md5.txt"), "").unwrap();
    let names: Vec<String> = (10..60).map(|number| format!("link-{number}")).collect();
    for name in names.iter().rev() {
        std::os::unix::fs::symlink("nowhere", place.path().join(name)).unwrap();
    }
    let report = strongroom_bagit::validate(place.path(), &CheckOptions::default()).unwrap();
    let links = report.problems.iter().filter(|problem| problem.code == "entry.not_a_file");
    assert_eq!(links.map(|problem| problem.path.clone().unwrap()).collect::<Vec<_>>(), names);
}

#[test]
fn versions_encodings_and_algorithms_that_are_not_known_are_unsupported_and_not_invalid() {
    let unknown_version = Bag::plain().replacing("bagit.txt", "1.0", "2.0").sealed().judge();
    assert_eq!(
        (unknown_version.verdict, errors(&unknown_version)),
        (Verdict::Unsupported, vec!["bagit.version_unsupported"])
    );
    let unknown_encoding = Bag::plain().replacing("bagit.txt", "UTF-8", "UTF-9").sealed().judge();
    assert_eq!(
        (unknown_encoding.verdict, errors(&unknown_encoding)),
        (Verdict::Unsupported, vec!["bagit.encoding_unsupported"])
    );
    let bag = Bag::plain();
    let lines = String::from_utf8(bag.files["manifest-sha256.txt"].clone()).unwrap();
    let unknown_algorithm = bag.with("manifest-tiger.txt", lines).sealed().judge();
    assert_eq!(
        (unknown_algorithm.verdict, errors(&unknown_algorithm)),
        (Verdict::Unsupported, vec!["manifest.algorithm_unsupported"])
    );
}

#[test]
fn digests_may_be_in_upper_case_and_blanks_may_be_tabs() {
    let bag = Bag::plain();
    let line = line_of(&bag, "manifest-sha256.txt", "data/a.txt");
    let changed = line.to_uppercase().replace("DATA/A.TXT", "data/a.txt").replace("  ", " \t ");
    assert_valid(&bag.replacing("manifest-sha256.txt", &line, &changed).sealed());
}

#[test]
fn manifests_may_end_lines_with_cr_or_crlf_and_leave_the_last_open() {
    for end in ["\r", "\r\n"] {
        let bag = Bag::plain().replacing("manifest-sha256.txt", "\n", end);
        assert_valid(&bag.sealed());
    }
    let bag = Bag::plain();
    let text = String::from_utf8(bag.files["manifest-sha256.txt"].clone()).unwrap();
    assert_valid(&bag.with("manifest-sha256.txt", text.trim_end()).sealed());
}

#[test]
fn a_path_listed_twice_is_invalid_in_1_0_and_a_warning_before_if_the_digests_are_equal() {
    for (version, is_valid) in [("1.0", false), ("0.97", true)] {
        let bag = Bag::new(version, &[Algorithm::Md5], &[("a", "alpha")]);
        let line = line_of(&bag, "manifest-md5.txt", "data/a");
        let twice = bag.clone().adding("manifest-md5.txt", &line).sealed();
        if is_valid {
            assert_warnings(&twice, &["manifest.duplicate_entry_equal"]);
        } else {
            assert_errors(&twice, &["manifest.duplicate_entry"]);
        }
        let other = format!("{}  data/a\n", digest(Algorithm::Md5, b"other"));
        assert_errors(&bag.adding("manifest-md5.txt", &other).sealed(), &["manifest.duplicate_entry"]);
    }
}

#[test]
fn malformed_lines_of_manifests_are_errors() {
    let hex = digest(Algorithm::Sha256, b"alpha");
    for (line, code) in [
        (format!("{hex}\n"), "manifest.line_malformed"),
        (format!("{hex}  \n"), "manifest.line_malformed"),
        (format!("{hex}  data/sub/\n"), "manifest.line_malformed"),
        (format!("{}  data/c\n", &hex[..40]), "manifest.digest_malformed"),
        (format!("{}zz  data/c\n", &hex[..62]), "manifest.digest_malformed"),
        (format!("{hex}  bag-info.txt\n"), "manifest.outside_payload"),
        (format!("{hex}  data/../bagit.txt\n"), "path.unsafe"),
        (format!("{hex}  /etc/passwd\n"), "path.unsafe"),
        (format!("{hex}  ~/x\n"), "path.unsafe"),
        (format!("{hex}  C:\\x\n"), "path.unsafe"),
        (format!("{hex}  data\\..\\..\\x\n"), "path.unsafe"),
    ] {
        let report = Bag::plain().adding("manifest-sha256.txt", &line).sealed().judge();
        assert!(errors(&report).contains(&code), "{line:?}: {:?}", report.problems);
        let problem = report.problems.iter().find(|problem| problem.code == code).unwrap();
        assert_eq!((problem.file.as_deref(), problem.line), (Some("manifest-sha256.txt"), Some(3)));
    }
}

#[test]
fn a_byte_order_mark_in_utf8_is_an_error_wherever_it_stands() {
    for file in ["manifest-sha256.txt", "bag-info.txt"] {
        let bag = Bag::plain();
        let text = [b"\xEF\xBB\xBF".as_slice(), &bag.files[file]].concat();
        assert_errors(&bag.with(file, text).sealed(), &["encoding.bom"]);
    }
    let bag = Bag::plain();
    let text = [b"\xEF\xBB\xBF".as_slice(), &bag.files["bagit.txt"]].concat();
    assert_errors(&bag.with("bagit.txt", text).sealed(), &["bagit.declaration"]);
}

#[test]
fn a_manifest_that_is_not_in_the_declared_encoding_is_reported_by_line() {
    let bag = Bag::plain().with("manifest-sha256.txt", b"00\n\xFF\xFE  data/a.txt\n").sealed();
    let report = bag.judge();
    let problem = report.problems.iter().find(|problem| problem.code == "encoding.malformed").unwrap();
    assert_eq!((problem.file.as_deref(), problem.line), (Some("manifest-sha256.txt"), Some(2)));
}

#[test]
fn tag_files_are_read_in_the_declared_encoding() {
    let payload = [("café.txt", "x")];
    let latin: Vec<u8> =
        format!("{}  data/café.txt\n", digest(Algorithm::Md5, b"x")).chars().map(|c| c as u8).collect();
    let bag = Bag::new("1.0", &[Algorithm::Md5], &payload).replacing("bagit.txt", "UTF-8", "ISO-8859-1");
    assert_valid(&bag.with("manifest-md5.txt", latin).sealed());

    for has_mark in [true, false] {
        let mut bag = Bag::new("1.0", &[Algorithm::Md5], &payload)
            .replacing("bagit.txt", "UTF-8", "UTF-16")
            .without("tagmanifest-md5.txt");
        for file in ["manifest-md5.txt", "bag-info.txt"] {
            let text = String::from_utf8(bag.files[file].clone()).unwrap();
            let mark = if has_mark { "\u{feff}" } else { "" };
            let wide: Vec<u8> = format!("{mark}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect();
            bag = bag.with(file, wide);
        }
        if has_mark {
            assert_valid(&bag);
        } else {
            assert_errors(&bag, &["encoding.bom_missing"]);
            let earlier = bag.replacing("bagit.txt", "1.0", "0.97");
            assert_warnings(&earlier, &["encoding.bom_assumed"]);
        }
    }
}

#[test]
fn tag_manifests_list_payload_manifests_and_neither_payload_nor_tag_manifests() {
    let bag = two_manifests("1.0");
    let line = line_of(&bag, "tagmanifest-md5.txt", "manifest-sha512.txt");
    assert_errors(&bag.clone().replacing("tagmanifest-md5.txt", &line, ""), &["tag_manifest.manifest_unlisted"]);
    let tag_manifest =
        format!("{}  tagmanifest-sha512.txt\n", digest(Algorithm::Md5, &bag.files["tagmanifest-sha512.txt"]));
    assert_errors(&bag.clone().adding("tagmanifest-md5.txt", &tag_manifest), &["tag_manifest.lists_tag_manifest"]);
    let payload = format!("{}  data/a.txt\n", digest(Algorithm::Md5, b"alpha"));
    assert_errors(&bag.clone().adding("tagmanifest-md5.txt", &payload), &["tag_manifest.lists_payload"]);
    assert_errors(&bag.clone().without("bag-info.txt"), &["manifest.file_missing"]);
    assert_errors(&bag.clone().adding("bag-info.txt", "Contact-Name: x\n"), &["manifest.digest_mismatch"]);
    assert_warnings(&bag.clone().with("notes/extra.txt", "x"), &["tag_manifest.file_unlisted"]);
    let line = line_of(&bag, "tagmanifest-md5.txt", "bag-info.txt");
    assert_warnings(&bag.replacing("tagmanifest-md5.txt", &line, ""), &["tag_manifest.different_sets"]);
}

#[test]
fn payload_oxum_counts_in_any_letter_case_and_occurs_once() {
    assert_errors(&Bag::plain().replacing("bag-info.txt", "9.2", "9.3").sealed(), &["oxum.mismatch"]);
    assert_errors(
        &Bag::plain().replacing("bag-info.txt", "Payload-Oxum: 9.2", "payload-oxum: 8.2").sealed(),
        &["oxum.mismatch"],
    );
    assert_errors(&Bag::plain().replacing("bag-info.txt", "9.2", "9,2").sealed(), &["oxum.malformed"]);
    assert_errors(&Bag::plain().adding("bag-info.txt", "Payload-Oxum: 9.2\n").sealed(), &["oxum.repeated"]);
}

#[test]
fn an_oxum_that_fits_what_is_missing_leaves_the_bag_incomplete() {
    assert_eq!(Bag::plain().without("data/a.txt").judge().verdict, Verdict::Incomplete);
    let report = Bag::plain().without("data/a.txt").replacing("bag-info.txt", "9.2", "9.7").sealed().judge();
    assert_eq!(errors(&report), ["manifest.file_missing", "oxum.mismatch"]);
}

#[test]
fn bag_info_is_strict_in_1_0_only() {
    for line in ["Label :x\n", "Label:x\n", "Label : x\n"] {
        let bag = Bag::plain().adding("bag-info.txt", line).sealed();
        assert_errors(&bag, &["bag_info.malformed"]);
        assert_valid(&bag.replacing("bagit.txt", "1.0", "0.97").sealed());
    }
    assert_valid(&Bag::plain().adding("bag-info.txt", "Contact Name: x\n\tand y\nContact Name:\tz\n").sealed());
    assert_warnings(
        &Bag::plain().adding("bag-info.txt", "Bag-Count: 1 of 2\nbag-count: 1 of ?\n").sealed(),
        &["bag_info.repeated"],
    );
    assert_warnings(&Bag::plain().adding("bag-info.txt", "Bagging-Date: yesterday\n").sealed(), &["bag_info.value"]);
}

#[test]
fn fetch_lines_follow_the_rules() {
    let url = "https://example.org/x";
    for (line, code) in [
        (format!("{url} - data/none\n"), "fetch.unlisted"),
        (format!("{url} - bag-info.txt\n"), "fetch.tag_file"),
        (format!("{url} many data/a.txt\n"), "fetch.length"),
        (format!("{url} data/a.txt\n"), "fetch.malformed"),
        (format!("{url}\n"), "fetch.malformed"),
        ("no-url - data/a.txt\n".to_owned(), "fetch.url"),
        (format!("{url} - ../x\n"), "path.unsafe"),
    ] {
        let report = Bag::plain().with("fetch.txt", &line).sealed().judge();
        assert!(errors(&report).contains(&code), "{line:?}: {:?}", report.problems);
    }
    let fetched = Bag::plain().with("fetch.txt", format!("{url} 5 data/a.txt\n")).sealed();
    assert_valid(&fetched);
    let report = fetched.clone().without("data/a.txt").judge();
    assert_eq!((report.verdict, errors(&report)), (Verdict::Incomplete, vec!["fetch.pending"]));
    assert_warnings(&fetched.replacing("fetch.txt", " 5 ", " 6 ").sealed(), &["fetch.length_mismatch"]);
}

#[test]
fn in_1_0_a_file_to_fetch_is_in_every_manifest() {
    for (version, codes) in [("1.0", vec!["fetch.unlisted", "manifest.file_unlisted"]), ("0.97", vec![])] {
        let bag = two_manifests(version).with("fetch.txt", "https://example.org/b - data/b.txt\n");
        let line = line_of(&bag, "manifest-md5.txt", "data/b.txt");
        assert_errors(&bag.replacing("manifest-md5.txt", &line, "").sealed(), &codes);
    }
}

#[test]
fn paths_are_percent_encoded_as_1_0_asks() {
    let payload =
        [("a\nb", "1"), ("c\rd", "2"), ("50%", "3"), ("%0A", "4"), ("%7E", "5"), ("end ", "6"), (" start", "7")];
    let report = Bag::new("1.0", &[Algorithm::Sha256], &payload).judge();
    assert_eq!(errors(&report), [""; 0], "{:#?}", report.problems);
    assert_eq!(warnings(&report), ["path.control_character", "path.reserved_name"]);
    let lower =
        Bag::new("1.0", &[Algorithm::Sha256], &[("a\nb", "1")]).replacing("manifest-sha256.txt", "%0A", "%0a").sealed();
    assert_warnings(&lower, &["path.control_character"]);
}

#[test]
fn a_path_encoded_as_common_baggers_do_is_taken_with_a_warning_if_only_one_file_can_be_meant() {
    let bare = Bag::new("1.0", &[Algorithm::Sha256], &[("a%25b", "1")])
        .replacing("manifest-sha256.txt", "a%2525b", "a%25b")
        .sealed();
    assert_warnings(&bare, &["path.percent_encoding"]);
    let line_ends = Bag::new("1.0", &[Algorithm::Sha256], &[("a\n%25", "1")])
        .replacing("manifest-sha256.txt", "%0A%2525", "%0A%25")
        .sealed();
    assert_warnings(&line_ends, &["path.control_character", "path.percent_encoding"]);
    let early = Bag::new("0.97", &[Algorithm::Sha256], &[("a\nb", "1")])
        .with("manifest-sha256.txt", format!("{}  data/a%0Ab\n", digest(Algorithm::Sha256, b"1")))
        .sealed();
    assert_warnings(&early, &["path.control_character", "path.percent_encoding"]);
}

#[test]
fn files_whose_names_look_like_encodings_of_one_another_are_kept_apart() {
    let both = Bag::new("1.0", &[Algorithm::Sha256], &[("a%b", "1"), ("a%25b", "2")]);
    assert_valid(&both);
    let line = line_of(&both, "manifest-sha256.txt", "a%2525b");
    let ambiguous = both.replacing("manifest-sha256.txt", &line, "").sealed();
    assert_errors(&ambiguous, &["manifest.file_unlisted", "path.ambiguous"]);
}

#[test]
fn names_that_differ_in_normal_form_are_matched_with_a_warning() {
    let bag = Bag::new("1.0", &[Algorithm::Sha256], &[("cafe\u{301}.txt", "x")])
        .replacing("manifest-sha256.txt", "e\u{301}", "é")
        .sealed();
    assert_warnings(&bag, &["path.normalization"]);
    let both = Bag::new("1.0", &[Algorithm::Sha256], &[("cafe\u{301}.txt", "x"), ("café.txt", "y")]);
    assert_warnings(&both, &["path.case"]);
}

#[test]
fn names_that_travel_badly_are_warned_of() {
    for (name, code) in [
        ("Thumbs.db", "path.system_file"),
        (".DS_Store", "path.system_file"),
        ("con.txt", "path.reserved_name"),
        ("what?", "path.reserved_name"),
        ("tab\there", "path.control_character"),
        ("back\\slash", "path.backslash"),
    ] {
        assert_warnings(&Bag::new("1.0", &[Algorithm::Sha256], &[(name, "x")]), &[code]);
    }
    assert_warnings(&Bag::new("1.0", &[Algorithm::Sha256], &[("README", "x"), ("ReadMe", "y")]), &["path.case"]);
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(100));
    assert_warnings(&Bag::new("1.0", &[Algorithm::Sha256], &[(&long, "x")]), &["path.long"]);
    assert_valid(&Bag::new("1.0", &[Algorithm::Sha256], &[(".hidden", "x")]));
}

#[test]
fn an_empty_payload_is_valid_but_needs_its_directory() {
    let bag = Bag::new("1.0", &[Algorithm::Sha256], &[]);
    assert_valid(&bag);
    let directory = tempfile::TempDir::new().unwrap();
    bag.write(directory.path());
    std::fs::remove_dir(directory.path().join("data")).unwrap();
    let report = strongroom_bagit::validate(directory.path(), &CheckOptions::default()).unwrap();
    assert_eq!(errors(&report), ["payload.directory_missing"]);
}

#[test]
fn versions_up_to_0_95_have_a_package_info() {
    let bag = Bag::new("0.95", &[Algorithm::Md5], &[("a", "x")])
        .without("bag-info.txt")
        .with("package-info.txt", "Payload-Oxum: 2.1\n")
        .sealed();
    assert_errors(&bag, &["oxum.mismatch"]);
}

#[test]
fn the_list_of_problems_is_bounded_and_says_so() {
    let mut bag = Bag::plain();
    for number in 0..50 {
        bag.set(&format!("data/extra{number}"), "x");
    }
    let options = CheckOptions { limits: Limits { problems: 10, ..Limits::default() }, ..CheckOptions::default() };
    let report = bag.judge_with(&options);
    assert_eq!(report.problems.len(), 11);
    assert_eq!(report.problems[10].code, "problems.truncated");
    assert!(report.problems[10].message.contains("51 in all"), "{}", report.problems[10].message);
}

#[test]
fn what_is_spilled_to_disk_is_judged_as_what_stays_in_memory() {
    let names: Vec<(String, String)> =
        (0..3000).map(|number| (format!("d{}/é%{number}.txt", number % 7), format!("{number}"))).collect();
    let payload: Vec<(&str, &str)> = names.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
    let bag = Bag::new("1.0", &[Algorithm::Md5, Algorithm::Sha512], &payload);
    let options = CheckOptions { limits: Limits { memory: 0, ..Limits::default() }, ..CheckOptions::default() };
    let report = bag.judge_with(&options);
    assert_eq!(report.verdict, Verdict::Valid, "{:#?}", &report.problems[..report.problems.len().min(5)]);
    let spoilt = bag.with("data/d3/é%3.txt", "other").without("data/d4/é%4.txt").with("data/new", "n");
    let small = spoilt.judge_with(&options);
    assert_eq!(small.problems, spoilt.judge().problems);
    assert_eq!(
        errors(&small),
        ["manifest.digest_mismatch", "manifest.file_missing", "manifest.file_unlisted", "oxum.mismatch"]
    );
}

#[test]
fn a_check_without_digests_finds_what_is_missing_or_unlisted_and_no_changed_bytes() {
    let completeness = CheckOptions { level: CheckLevel::Completeness, ..CheckOptions::default() };
    let bag = two_manifests("1.0");
    let report = bag.judge_with(&completeness);
    assert_eq!((report.verdict, report.level), (Verdict::Valid, CheckLevel::Completeness));
    let changed = bag.clone().with("data/a.txt", "ALPHA");
    assert_eq!(changed.judge_with(&completeness).verdict, Verdict::Valid);
    assert_eq!(errors(&changed.judge()), ["manifest.digest_mismatch"]);
    let longer = bag.clone().with("data/c.txt", "gamma");
    assert_eq!(errors(&longer.judge_with(&completeness)), ["manifest.file_unlisted", "oxum.mismatch"]);
    let mut shorter = bag;
    shorter.files.remove("data/a.txt");
    assert_eq!(shorter.judge_with(&completeness).verdict, Verdict::Incomplete);
}

#[test]
fn a_fast_check_compares_the_payload_with_its_oxum_alone() {
    let fast = CheckOptions { level: CheckLevel::Fast, ..CheckOptions::default() };
    let bag = two_manifests("1.0");
    assert_eq!(bag.judge_with(&fast).verdict, Verdict::Valid);
    assert_eq!(bag.clone().with("data/a.txt", "ALPHA").judge_with(&fast).verdict, Verdict::Valid);
    assert_eq!(errors(&bag.clone().with("data/c.txt", "gamma").judge_with(&fast)), ["oxum.mismatch"]);
    let report = bag.with("bag-info.txt", "Contact-Name: A\n").judge_with(&fast);
    assert_eq!((report.verdict, errors(&report)), (Verdict::Unsupported, vec!["oxum.missing"]));
}

#[test]
fn archives_are_checked_without_digests_as_folders_are() {
    let bag = two_manifests("1.0").with("data/a.txt", "ALPHA");
    let directory = tempfile::TempDir::new().unwrap();
    for (name, archive) in
        [("bag.tar", bag.tar()), ("bag.zip", bag.zip()), ("bag.tar.gz", crate::bags::gzip(&bag.tar()))]
    {
        let path = directory.path().join(name);
        std::fs::write(&path, archive).unwrap();
        for (level, verdict) in [
            (CheckLevel::Full, Verdict::Invalid),
            (CheckLevel::Completeness, Verdict::Valid),
            (CheckLevel::Fast, Verdict::Valid),
        ] {
            let options = CheckOptions { level, ..CheckOptions::default() };
            assert_eq!(strongroom_bagit::validate(&path, &options).unwrap().verdict, verdict, "{name} {level:?}");
        }
    }
}
