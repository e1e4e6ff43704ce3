//! Profiles: the documents, the three that come with the crate, and what each rule finds in a bag.

use std::path::PathBuf;

use proptest::prelude::*;
use strongroom_bagit::{
    BagFacts, CheckOptions, Paths, Problem, Profile, ProfileChoice, ProfileError, Severity, TagFact, validate,
};
use strongroom_digest::{Algorithm, MultiHasher};

fn tag<'a>(file: &'a str, label: &'a str, value: &'a str) -> TagFact<'a> {
    TagFact { file, label, value, line: Some(1) }
}

fn algorithms(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn nothing(_: &mut dyn FnMut(&str)) {}

fn two_files(visit: &mut dyn FnMut(&str)) {
    visit("data/a.txt");
    visit("data/meta/b.xml");
}

const NO_ALGORITHMS: &[String] = &[];

fn facts<'a>(tags: &'a [TagFact<'a>], payload_manifests: &'a [String]) -> BagFacts<'a> {
    BagFacts {
        version: Some("1.0"),
        encoding: Some("UTF-8"),
        serialization: Some("application/tar"),
        has_fetch: false,
        payload_manifests,
        tag_manifests: NO_ALGORITHMS,
        tag_files: &nothing,
        tags,
        payload_paths: &two_files,
        payload_files: 2,
        payload_bytes: 10,
        base_directory: Some("example.edu.bag"),
        archive_name: Some("example.edu.bag.tar"),
        institution: None,
    }
}

fn problems(profile: &Profile, facts: &BagFacts<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    profile.check(facts, &mut |problem| found.push(problem));
    found
}

fn codes(profile: &Profile, facts: &BagFacts<'_>) -> Vec<String> {
    problems(profile, facts).into_iter().map(|problem| problem.code).collect()
}

fn profile(fields: &str) -> Profile {
    let (profile, problems) = Profile::parse(document(fields).as_bytes()).unwrap();
    assert_eq!(problems, [], "{fields}");
    profile
}

fn document(fields: &str) -> String {
    let comma = if fields.is_empty() { "" } else { "," };
    format!(
        r#"{{"BagIt-Profile-Info":{{"Source-Organization":"o","External-Description":"d","Version":"1",
        "BagIt-Profile-Identifier":"http://example.org/p.json","BagIt-Profile-Version":"1.4.0"}},
        "Accept-BagIt-Version":["1.0"]{comma}{fields}}}"#
    )
}

fn document_codes(text: &str) -> Vec<String> {
    let (_, problems) = Profile::parse(text.as_bytes()).unwrap();
    problems.into_iter().map(|problem| problem.code.trim_start_matches("profile.document.").to_owned()).collect()
}

const NAMED: TagFact<'static> = TagFact {
    file: "bag-info.txt",
    label: "BagIt-Profile-Identifier",
    value: "http://example.org/p.json",
    line: Some(1),
};

#[test]
fn the_profiles_of_the_crate_are_without_fault() {
    for name in Profile::builtin_names() {
        let profile = Profile::builtin(name).unwrap_or_else(|| panic!("{name} cannot be read"));
        assert_eq!(profile.name(), name);
        assert!(Profile::for_identifier(profile.identifier()).is_some_and(|found| found.name() == name));
    }
    assert_eq!(Profile::builtin("APTrust").map(|profile| profile.name().to_owned()).as_deref(), Some("aptrust-2.3"));
    assert!(Profile::builtin("unknown").is_none());
}

#[test]
fn the_documents_of_the_crate_have_no_problems() {
    for document in ["aptrust-2.3", "aptrust-2.2", "btr-1.0"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("src/profile/{document}.json"));
        let (_, problems) = Profile::parse(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(problems, []);
    }
}

#[test]
fn every_known_spelling_of_an_identifier_finds_its_profile() {
    for (identifier, name) in [
        (
            "https://raw.githubusercontent.com/APTrust/preservation-services/master/profiles/aptrust-v2.3.json",
            "aptrust-2.3",
        ),
        ("https://wiki.aptrust.org/APTrust_BagIt_Profile-2.2", "aptrust-2.2"),
        ("https://raw.githubusercontent.com/APTrust/dart/master/profiles/btr-v0.1.json", "btr-1.0"),
        (
            " https://raw.githubusercontent.com/dpscollaborative/btr_bagit_profile/master/btr-bagit-profile.json",
            "btr-1.0",
        ),
        (
            "https://github.com/dpscollaborative/btr_bagit_profile/releases/download/1.0/btr-bagit-profile.json",
            "btr-1.0",
        ),
        ("https://example.org/btr-bagit-profile-of-mine", "btr-1.0"),
    ] {
        let found = Profile::for_identifier(identifier).unwrap_or_else(|| panic!("{identifier}"));
        assert_eq!(found.name(), name);
        assert!(found.is_named_by(identifier));
    }
    assert!(Profile::for_identifier("https://example.org/other.json").is_none());
    assert!(Profile::for_identifier("").is_none());
}

#[test]
fn a_good_aptrust_bag_passes_and_its_storage_option_has_a_default() {
    let aptrust = Profile::builtin("aptrust-2.3").unwrap();
    let tags = [tag("aptrust-info.txt", "title", "A"), tag("aptrust-info.txt", "Access", "INSTITUTION")];
    let md5 = algorithms(&["md5"]);
    assert_eq!(problems(&aptrust, &facts(&tags, &md5)), []);
    assert_eq!(aptrust.defaults().collect::<Vec<_>>(), [("aptrust-info.txt", "Storage-Option", "Standard")]);
    assert_eq!(aptrust.canonical_value("aptrust-info.txt", "storage-option", "wasabi-tx"), Some("Wasabi-TX"));
    assert_eq!(aptrust.canonical_value("aptrust-info.txt", "Storage-Option", "Cardboard-Box"), None);
    assert_eq!(aptrust.tag_files_with_rules(), ["bag-info.txt", "aptrust-info.txt"]);
}

#[test]
fn every_fault_of_an_aptrust_bag_is_reported_at_once() {
    let aptrust = Profile::builtin("aptrust-2.3").unwrap();
    let tags = [
        tag("aptrust-info.txt", "Title", " "),
        tag("aptrust-info.txt", "Access", "acksess"),
        tag("aptrust-info.txt", "Storage-Option", "Cardboard-Box"),
        // The same label in another file is another tag.
        tag("bag-info.txt", "Title", "A"),
    ];
    let manifests = algorithms(&["sha384"]);
    let payload: Paths<'_> = &|visit| visit("data/\\u007f.txt");
    let tag_files: Paths<'_> = &|visit| visit("tags/\u{1}.txt");
    let bad = BagFacts {
        version: Some("0.96"),
        encoding: Some("UTF-16"),
        serialization: Some("application/zip"),
        has_fetch: true,
        payload_paths: payload,
        tag_files,
        base_directory: Some("wrong_folder_name"),
        ..facts(&tags, &manifests)
    };
    assert_eq!(
        codes(&aptrust, &bad),
        [
            "profile.serialization",
            "profile.version",
            "profile.encoding",
            "profile.fetch_not_allowed",
            "profile.manifest_required",
            "profile.manifest_not_allowed",
            "profile.tag_value",
            "profile.tag_value",
            "profile.tag_empty",
            "profile.name_control_character",
            "profile.name_control_character",
            "profile.base_directory_name",
        ]
    );
    assert!(problems(&aptrust, &bad).iter().all(|problem| problem.severity == Severity::Error));
}

#[test]
fn aptrust_2_2_knows_fewer_algorithms_and_stores() {
    let old = Profile::builtin("aptrust-2.2").unwrap();
    let tags = [
        tag("aptrust-info.txt", "Title", "A"),
        tag("aptrust-info.txt", "Access", "consortia"),
        tag("aptrust-info.txt", "Storage-Option", "Wasabi-TX"),
        tag("bag-info.txt", "Source-Organization", "example.edu"),
    ];
    let manifests = algorithms(&["md5", "sha512"]);
    assert_eq!(codes(&old, &facts(&tags, &manifests)), ["profile.manifest_not_allowed", "profile.tag_value"]);
}

#[test]
fn a_btr_bag_needs_its_four_tags_and_may_be_a_directory() {
    let btr = Profile::builtin("btr-1.0").unwrap();
    let identifier =
        "https://raw.githubusercontent.com/dpscollaborative/btr_bagit_profile/master/btr-bagit-profile.json";
    let tags = [
        tag("bag-info.txt", "Source-Organization", "o"),
        tag("bag-info.txt", "Bagging-Date", "2020-01-01"),
        tag("bag-info.txt", "Payload-Oxum", "10.2"),
        tag("bag-info.txt", "Bag-Size", ""),
        tag("bag-info.txt", "BagIt-Profile-Identifier", identifier),
    ];
    let manifests = algorithms(&["sha512"]);
    let directory = BagFacts {
        serialization: None,
        archive_name: None,
        base_directory: Some("anything"),
        ..facts(&tags, &manifests)
    };
    assert_eq!(problems(&btr, &directory), []);
    assert_eq!(
        codes(&btr, &BagFacts { tags: &[], ..directory }),
        ["profile.identifier_missing", "profile.tag_required", "profile.tag_required", "profile.tag_required"]
    );
}

#[test]
fn documents_are_checked_too() {
    for (fields, expected) in [
        ("", vec![]),
        (r#""Manifests-Required":["md5"],"Manifests-Allowed":["sha512"]"#, vec!["not_allowed"]),
        (r#""Tag-Manifests-Required":["md5"],"Tag-Manifests-Allowed":[]"#, vec!["not_allowed"]),
        (r#""Tag-Files-Required":["a/b.txt"],"Tag-Files-Allowed":["a/*"]"#, vec![]),
        (r#""Tag-Files-Required":["a/b.txt"],"Tag-Files-Allowed":["c/*"]"#, vec!["not_allowed"]),
        (r#""Tag-Files-Required":["bag-info.txt"]"#, vec!["needless"]),
        (r#""Payload-Files-Required":["data/a/"],"Payload-Files-Allowed":["data/a/*"]"#, vec![]),
        (r#""Payload-Files-Required":["a"]"#, vec!["field_value"]),
        (r#""Fetch.txt-Required":true,"Allow-Fetch.txt":false"#, vec!["contradiction"]),
        (r#""Allow-Fetch.txt":"true""#, vec!["field_type"]),
        (r#""Data-Empty":1"#, vec!["field_type"]),
        (r#""Serialization":"forbidden""#, vec![]),
        (r#""Serialization":"required""#, vec!["field_missing"]),
        (r#""Serialization":"always","Accept-Serialization":["application/zip"]"#, vec!["field_value"]),
        (r#""Accept-Serialization":["zip"]"#, vec!["field_value"]),
        (r#""Manifests-Required":["SHA-256"]"#, vec!["field_value"]),
        (r#""Manifests-Required":"md5""#, vec!["field_type"]),
        (r#""Manifests-Required":[1]"#, vec!["field_type"]),
        (r#""Bag-Info":{"A":{"required":"yes","unknown":1}}"#, vec!["field_unknown", "field_type"]),
        (r#""Bag-Info":{"A":true}"#, vec!["field_type"]),
        (r#""Bag-Info":{"A":{},"a":{}}"#, vec!["contradiction"]),
        (r#""Bag-Info":{"BagIt-Profile-Identifier":{"required":true}}"#, vec!["needless"]),
        (r#""Tag-Files":{"x.txt":{"A":{"values":["b"],"default":"c"}}}"#, vec!["contradiction"]),
        (r#""Manifest-Required":[]"#, vec!["field_unknown"]),
    ] {
        assert_eq!(document_codes(&document(fields)), expected, "{fields}");
    }
    assert_eq!(document_codes("{}"), ["field_missing", "field_missing"]);
    let info = r#"{"BagIt-Profile-Info":{"Version":"","BagIt-Profile-Identifier":"not a uri","BagIt-Profile-Version":"new"},
        "Accept-BagIt-Version":["one"]}"#;
    assert_eq!(
        document_codes(info),
        ["field_missing", "field_missing", "field_value", "field_value", "field_value", "field_value"]
    );
}

#[test]
fn what_is_no_json_object_is_no_profile() {
    assert!(matches!(Profile::parse(b"{"), Err(ProfileError::NotJson(_))));
    assert!(matches!(Profile::parse(b"[]"), Err(ProfileError::NotAnObject { found: "a list" })));
    assert!(matches!(Profile::parse(&vec![b' '; 5 << 20]), Err(ProfileError::TooLong { .. })));
    let deep = "[".repeat(100_000);
    assert!(matches!(Profile::parse(deep.as_bytes()), Err(ProfileError::NotJson(_))));
}

#[test]
fn a_bag_must_name_the_profile_and_may_name_several() {
    let plain = profile("");
    assert_eq!(codes(&plain, &facts(&[], &[])), ["profile.identifier_missing"]);
    let other = TagFact { value: "http://example.org/other.json", ..NAMED };
    assert_eq!(codes(&plain, &facts(&[other], &[])), ["profile.identifier_other"]);
    assert_eq!(codes(&plain, &facts(&[other, NAMED], &[])), [""; 0]);
}

#[test]
fn each_rule_finds_its_fault() {
    let tags = [NAMED, tag("bag-info.txt", "A", "x"), tag("bag-info.txt", "a", "y"), tag("bag-info.txt", "E", "")];
    for (fields, expected) in [
        (r#""Fetch.txt-Required":true"#, vec!["profile.fetch_required"]),
        (r#""Tag-Manifests-Required":["md5"]"#, vec!["profile.tag_manifest_required"]),
        (r#""Data-Empty":true"#, vec!["profile.data_not_empty"]),
        (r#""Serialization":"forbidden""#, vec!["profile.serialization"]),
        (r#""Serialization":"required","Accept-Serialization":["application/x-tar"]"#, vec![]),
        (r#""Tag-Files-Required":["t.txt"]"#, vec!["profile.tag_file_required"]),
        (r#""Payload-Files-Required":["data/meta/","data/a.txt"]"#, vec![]),
        (r#""Payload-Files-Required":["data/none/"]"#, vec!["profile.payload_file_required"]),
        (r#""Payload-Files-Allowed":["data/meta/*"]"#, vec!["profile.payload_file_not_allowed"]),
        (r#""Bag-Info":{"A":{"values":["x","y"]}}"#, vec![]),
        (r#""Bag-Info":{"A":{"values":["X","y"]}}"#, vec!["profile.tag_value"]),
        (r#""Bag-Info":{"A":{"values":["X","y"]}},"Ignore-Case-Of-Values":true"#, vec![]),
        (r#""Bag-Info":{"A":{"repeatable":false}}"#, vec!["profile.tag_repeated"]),
        (r#""Bag-Info":{"B":{"required":true}}"#, vec!["profile.tag_required"]),
        (r#""Bag-Info":{"B":{"required":true,"default":"b"}}"#, vec![]),
        (r#""Bag-Info":{"E":{"required":true}}"#, vec![]),
        (r#""Bag-Info":{"E":{"empty":false}}"#, vec!["profile.tag_empty"]),
        (r#""Bag-Info":{"E":{"values":["x"]}}"#, vec!["profile.tag_value"]),
        (r#""Bag-Info":{"E":{"values":["x"],"empty":true}}"#, vec![]),
    ] {
        assert_eq!(codes(&profile(fields), &facts(&tags, &[])), expected, "{fields}");
    }
}

#[test]
fn manifests_and_the_declaration_are_not_judged_as_tag_files() {
    let strict = profile(r#""Tag-Files-Allowed":["ok.txt"]"#);
    let tag_files: Paths<'_> = &|visit| {
        for path in
            ["bagit.txt", "bag-info.txt", "fetch.txt", "manifest-md5.txt", "tagmanifest-md5.txt", "ok.txt", "no.txt"]
        {
            visit(path);
        }
    };
    let found = problems(&strict, &BagFacts { tag_files, ..facts(&[NAMED], &[]) });
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code.as_str(), found[0].path.as_deref()), ("profile.tag_file_not_allowed", Some("no.txt")));
}

#[test]
fn a_payload_without_a_byte_counts_as_empty() {
    let empty = profile(r#""Data-Empty":true"#);
    let one: Paths<'_> = &|visit| visit("data/.keep");
    for (files, bytes, expected) in [(0, 0, 0), (1, 0, 0), (1, 1, 1), (2, 0, 1)] {
        let facts = BagFacts { payload_paths: one, payload_files: files, payload_bytes: bytes, ..facts(&[NAMED], &[]) };
        assert_eq!(problems(&empty, &facts).len(), expected, "{files} {bytes}");
    }
}

fn fixture(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/bags/profiles").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        println!("SKIPPED: no fixture {name}");
    }
    bytes
}

#[test]
fn profiles_in_the_form_of_dart_say_the_same_as_ours() {
    for (file, name) in
        [("aptrust-v2.3.json", "aptrust-2.3"), ("aptrust-v2.2.json", "aptrust-2.2"), ("btr-v1.0-1.3.0.json", "btr-1.0")]
    {
        let Some(bytes) = fixture(file) else { return };
        let (theirs, problems) = Profile::parse(&bytes).unwrap();
        assert_eq!(problems, [], "{file}");
        let ours = Profile::builtin(name).unwrap();
        assert_eq!(theirs.identifier(), ours.identifier());
        assert_eq!(theirs.serialization(), ours.serialization());
        assert_eq!(theirs.manifests_required(), ours.manifests_required());
        assert_eq!(theirs.manifests_allowed(), ours.manifests_allowed());
        for rule in theirs.tag_rules() {
            let own = ours.tag_rules().iter().find(|own| own.file == rule.file && own.label == rule.label);
            let own = own.unwrap_or_else(|| panic!("{name} lacks {}/{}", rule.file, rule.label));
            assert_eq!((own.required, &own.values), (rule.required, &rule.values), "{name} {}", rule.label);
            assert!(!rule.required || own.empty == Some(false), "{name} {}", rule.label);
        }
        let required = |profile: &Profile| profile.tag_rules().iter().filter(|rule| rule.required).count();
        assert_eq!(required(&theirs), required(&ours), "{name}");
    }
}

#[test]
fn published_bags_keep_or_break_their_profile_as_their_names_say() {
    let bags = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/bags");
    if !bags.is_dir() {
        println!("SKIPPED: no fixture bags");
        return;
    }
    let (aptrust, btr) = ("aptrust-2.3", "btr-1.0");
    let cases: [(&str, &str, &[&str]); 9] = [
        ("example.edu.sample_good.tar", aptrust, &[]),
        ("example.edu.tagsample_good.tar", aptrust, &[]),
        ("example.edu.tagsample_good.tgz", aptrust, &["profile.serialization"]),
        ("example.edu.sample_no_md5_manifest.tar", aptrust, &["profile.manifest_required"]),
        ("example.edu.sample_wrong_folder_name.tar", aptrust, &["profile.base_directory_name"]),
        ("example.edu.tagsample_bad.tar", aptrust, &["profile.tag_empty", "profile.tag_value", "profile.tag_value"]),
        ("test.edu.sample_illegal_control.tar", aptrust, &["profile.name_control_character"]),
        ("test.edu.btr_good_sha512.tar", btr, &[]),
        ("test.edu.btr_bad_missing_required_tags.tar", btr, &["profile.tag_required"; 3]),
    ];
    for (bag, name, expected) in cases {
        let choice = ProfileChoice::Given(Box::new(Profile::builtin(name).unwrap()));
        let report = validate(&bags.join(bag), &CheckOptions { profile: choice, ..CheckOptions::default() }).unwrap();
        let mut found: Vec<_> = report.problems.iter().map(|problem| problem.code.as_str()).collect();
        found.retain(|code| code.starts_with("profile."));
        found.sort_unstable();
        assert_eq!(found, expected, "{bag}");
    }
}

proptest! {
    #[test]
    fn no_document_makes_the_reader_panic(text in "[\\[\\]{}\",:a-zA-Z0-9 .-]{0,200}") {
        let _ = Profile::parse(text.as_bytes());
        let _ = Profile::parse(document(&format!("\"Bag-Info\":{text}")).as_bytes());
    }

    #[test]
    fn no_bag_makes_the_check_panic(name in "\\PC{0,30}", archive in "\\PC{0,30}", path in "(?s).{0,30}") {
        let tags = [tag("aptrust-info.txt", &name, &path)];
        let paths: Paths<'_> = &|visit| visit(&path);
        let facts = BagFacts {
            base_directory: Some(&name), archive_name: Some(&archive), payload_paths: paths, tag_files: paths, version: Some(&path),
            ..facts(&tags, &[])
        };
        for builtin in Profile::builtin_names() {
            let found = problems(&Profile::builtin(builtin).unwrap(), &facts);
            prop_assert!(found.iter().all(|problem| problem.code.starts_with("profile.")));
        }
    }
}

/// A document that changes gets the next number: registries name what a bag was checked against by name and number.
#[test]
fn the_documents_of_the_crate_are_those_of_their_numbers() {
    let found: Vec<_> = Profile::builtins()
        .map(|builtin| (builtin.name, builtin.number, sha256(builtin.document.as_bytes())))
        .collect();
    let expected = [
        ("aptrust-2.3", 1, "45f8e58e9f5430c12d2653e4f209380e81c818d2ef3823a71a1dd4f3b1b78e75"),
        ("aptrust-2.2", 1, "aec7bf18f0b1f0e1cc0c7c1d9bc4b9811bba9cdd2b7acf3ba6e83d1bdc5e17a1"),
        ("btr-1.0", 1, "d58bdb15936ca4f1aa5f7963cf23555992010f2abc0150980daba2ab2474e638"),
    ];
    assert_eq!(found, expected.map(|(name, number, digest)| (name, number, digest.to_owned())));
}

fn sha256(bytes: &[u8]) -> String {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(bytes);
    hasher.finish().get(Algorithm::Sha256).unwrap().to_hex()
}

#[test]
fn a_recorded_profile_has_name_and_number_and_answers_to_more_identifiers() {
    let recorded = profile("").recorded_as("maps", 3);
    assert_eq!((recorded.name(), recorded.number()), ("maps", Some(3)));
    assert!(recorded.is_named_by("http://example.org/p.json"));
    assert!(!recorded.is_named_by("http://example.org/q.json"));
    assert!(recorded.answering_to(" http://example.org/q.json").is_named_by("http://example.org/q.json"));
    let newer = profile("").recorded_as("aptrust-2.2", 2);
    assert!(newer.is_named_by("https://wiki.aptrust.org/APTrust_BagIt_Profile-2.2"));
    assert_eq!(Profile::builtin("btr").and_then(|builtin| builtin.number()), Some(1));
}
