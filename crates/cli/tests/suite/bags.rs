//! Bags, without a home.

use crate::program::{Place, assert_keys};

const REPORT: &[&str] = &[
    "path",
    "verdict",
    "checked",
    "version",
    "profile",
    "profile_source",
    "files",
    "bytes",
    "errors",
    "warnings",
    "problems",
];
const PROBLEM: &[&str] = &["severity", "code", "file", "path", "line", "message"];

#[test]
fn a_bag_that_was_made_is_valid() {
    let place = Place::empty();
    place.bag("greeting", "hello\n");
    let report =
        place.run(["bag", "validate", "greeting.tar", "--profile", "aptrust-2.3", "--json"]).succeeds().object();
    assert_keys(&report, REPORT);
    assert_eq!(report["verdict"], "valid");
    assert_eq!(report["version"], "1.0");
    assert_eq!((&report["profile"], &report["profile_source"]), (&"aptrust-2.3".into(), &"option".into()));
    assert_eq!(report["problems"].as_array().unwrap().len(), 0);
}

#[test]
fn every_form_of_a_bag_can_be_made_and_checked() {
    let place = Place::empty();
    place.write("payload/a/b.txt", "text");
    for target in ["folder-bag", "bag.tar", "bag.tar.gz", "bag.zip"] {
        place.run(["bag", "create", "payload", target, "--algorithm", "sha256"]).succeeds();
        let report = place.run(["bag", "validate", target, "--json"]).succeeds().object();
        assert_eq!(report["verdict"], "valid", "{target}: {report}");
    }
    place.run(["bag", "create", "payload", "bag.tar"]).fails(2, &["bag.tar exists already"]);
}

#[test]
fn damage_is_told_with_its_code() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "bag"]).succeeds();
    place.write("bag/data/a.txt", "TEXT");
    place.write("bag/data/b.txt", "more");
    let answer = place.run(["bag", "validate", "bag", "--json"]);
    assert_eq!(answer.code, Some(1));
    let report = answer.object();
    assert_eq!(report["verdict"], "invalid");
    let problems = report["problems"].as_array().unwrap();
    assert_keys(&problems[0], PROBLEM);
    let has = |code: &str| problems.iter().any(|problem| problem["code"] == code);
    assert!(has("manifest.digest_mismatch") && has("manifest.file_unlisted"), "{report}");
    let told = place.run(["bag", "validate", "bag"]);
    assert!(told.stdout.contains("manifest.digest_mismatch") && told.stdout.contains("data/a.txt"), "{told:?}");
}

#[test]
fn names_of_strangers_do_nothing_to_a_terminal() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "bag"]).succeeds();
    place.write("bag/data/\u{1b}[2Jb.txt", "more");
    let told = place.run(["bag", "validate", "bag"]);
    assert_eq!(told.code, Some(1));
    assert!(!told.stdout.contains('\u{1b}'), "{told:?}");
}

#[test]
fn a_bag_tells_of_itself() {
    let place = Place::empty();
    place.bag("greeting", "hello\n");
    let shown = place.run(["bag", "show", "greeting.tar", "--json"]).succeeds().object();
    assert_eq!(shown["payload_files"], 1);
    let tags = shown["tags"].as_array().unwrap();
    assert!(tags.iter().any(|tag| tag["label"] == "Title" && tag["value"] == "A greeting"), "{shown}");
}

#[test]
fn every_code_is_listed_with_its_meaning() {
    let place = Place::empty();
    let codes = place.run(["bag", "codes", "--json"]).succeeds().json();
    for code in [
        "manifest.digest_mismatch",
        "manifest.file_missing",
        "manifest.file_unlisted",
        "profile.tag_required",
        "profile.tag_value",
        "bagit.declaration",
        "oxum.mismatch",
        "path.unsafe",
        "entry.not_a_file",
    ] {
        assert!(codes.iter().any(|line| line["code"] == code), "{code}");
    }
    assert_keys(&codes[0], &["code", "severity", "meaning"]);
}

#[test]
fn an_unknown_profile_is_refused_with_the_nearest() {
    let place = Place::empty();
    place.bag("greeting", "hello\n");
    place
        .run(["bag", "validate", "greeting.tar", "--profile", "aptrust-2.4"])
        .fails(3, &["aptrust-2.4", "aptrust-2.3"]);
    place.write("profile.json", "{");
    place.run(["bag", "validate", "greeting.tar", "--profile", "profile.json"]).fails(2, &["profile.json"]);
}

#[test]
fn a_bag_that_names_a_profile_that_is_not_known_is_invalid_in_both_commands_unless_warned_of_by_choice() {
    let place = Place::with_home();
    place.write("payload/a.txt", "text");
    let tag = "BagIt-Profile-Identifier=https://example.edu/our-own.json";
    place.run(["bag", "create", "payload", "own.tar", "--tag", tag]).succeeds();
    let checked = place.run(["bag", "validate", "own.tar", "--json"]);
    assert_eq!(checked.code, Some(1));
    let report = checked.object();
    assert_eq!((&report["verdict"], &report["problems"][0]["code"]), (&"invalid".into(), &"profile.unknown".into()));
    let deposited = place.run(["deposit", "own.tar", "--wait", "--json"]);
    assert_eq!(deposited.code, Some(1));
    let item = deposited.object();
    assert_eq!((&item["status"], &item["problems"][0]["code"]), (&"failed".into(), &"profile.unknown".into()));

    let report = place.run(["bag", "validate", "own.tar", "--unknown-profile", "warn", "--json"]).succeeds().object();
    assert_eq!((&report["verdict"], &report["warnings"]), (&"valid_with_warnings".into(), &1.into()));
    let warn = [("STRONGROOM_INGEST__UNKNOWN_PROFILE", "warn")];
    let deposited = place.run_with(&warn, ["deposit", "own.tar", "--wait", "--json"]);
    let item = deposited.succeeds().object();
    assert_eq!((&item["status"], &item["problems"][0]["severity"]), (&"succeeded".into(), &"warning".into()));
}

#[test]
fn a_check_and_a_deposit_of_one_bag_find_the_same_and_say_which_profile_applied() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.write("payload/a.txt", "text");
    place.write("aptrust-info.txt", "Access: Institution\n");
    let tag_file = "aptrust-info.txt=aptrust-info.txt";
    place.run(["bag", "create", "payload", "untitled.tar", "--tag-file", tag_file]).succeeds();
    place.run(["bag", "create", "payload", "plain.zip"]).succeeds();
    std::fs::rename(place.path("plain.zip"), place.path("renamed.zip")).unwrap();
    for bag in ["greeting.tar", "untitled.tar", "renamed.zip"] {
        let report = place.run(["bag", "validate", bag, "--json"]).object();
        let item = place.run(["deposit", bag, "--wait", "--json"]).object();
        assert_eq!(item["problems"], report["problems"], "{bag}");
        let is_valid = report["verdict"].as_str().unwrap().starts_with("valid");
        assert_eq!(item["status"] == "succeeded", is_valid, "{bag}: {report}");
        let applied = match report["profile"].as_str() {
            Some(profile) => format!("profile {profile} version 1, the default of bags with an aptrust-info.txt"),
            None => "no profile applies".to_owned(),
        };
        let history = place.run(["items", "history", item["item"].as_str().unwrap(), "--json"]).succeeds().stdout;
        assert!(history.contains(&applied), "{bag}: {history}");
    }
    let told = place.run(["bag", "validate", "greeting.tar"]).succeeds().stdout;
    assert!(told.contains("profile aptrust-2.3: the default of bags with an aptrust-info.txt"), "{told}");
}

#[test]
fn several_bags_have_a_result_each_and_one_that_is_bad_decides_the_exit_code() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    for bag in ["one", "two.tar", "three.zip"] {
        place.run(["bag", "create", "payload", bag]).succeeds();
    }
    let paths = ["one", "two.tar", "three.zip"];
    let reports = place.run(["bag", "validate", "--json"].iter().chain(&paths)).succeeds().json();
    let found: Vec<&str> = reports.iter().map(|report| report["path"].as_str().unwrap()).collect();
    assert_eq!(found, paths);
    place.write("one/data/a.txt", "TEXT");
    let answer = place.run(["bag", "validate", "--json"].iter().chain(&paths));
    assert_eq!((answer.code, answer.json().len()), (Some(1), 3), "{answer:?}");
    let told = place.run(["bag", "validate"].iter().chain(&paths));
    assert!(told.stdout.ends_with("3 bags: 1 not valid\n"), "{told:?}");
}

#[test]
fn a_path_that_cannot_be_checked_does_not_stop_the_others() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "good"]).succeeds();
    place.write("empty", "");
    let answer = place.run(["bag", "validate", "no-such-bag", "empty", "good", "--json"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    assert!(answer.stderr.contains("no-such-bag"), "{answer:?}");
    let verdicts: Vec<String> = answer.json().iter().map(|report| report["verdict"].to_string()).collect();
    assert_eq!(verdicts, ["\"not_a_bag\"", "\"valid\""]);
}

#[test]
fn checks_without_digests_say_so() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "bag"]).succeeds();
    place.write("bag/data/a.txt", "TEXT");
    for (option, checked) in [("--fast", "fast"), ("--completeness-only", "completeness")] {
        let report = place.run(["bag", "validate", "bag", option, "--json"]).succeeds().object();
        assert_eq!((&report["verdict"], &report["checked"]), (&"valid".into(), &checked.into()));
        assert!(place.run(["bag", "validate", "bag", option]).succeeds().stdout.contains("not checked"));
    }
    assert_eq!(place.run(["bag", "validate", "bag"]).code, Some(1));
    place.run(["bag", "validate", "bag", "--fast", "--completeness-only"]).fails(2, &["--completeness-only"]);
}

#[test]
fn profiles_of_the_data_directory_and_exported_ones_are_known_by_name_and_file() {
    let place = Place::with_home();
    let profile = |required: bool| {
        format!(
            r#"{{"BagIt-Profile-Info":{{"BagIt-Profile-Identifier":"https://example.edu/maps.json","Source-Organization":"E",
            "External-Description":"M","Version":"1.0","BagIt-Profile-Version":"1.4.0"}},
            "Bag-Info":{{"Map-Sheet":{{"required":{required}}}}},"Identifier-Required":false,"Manifests-Required":["sha512"],
            "Accept-BagIt-Version":["1.0"],"Serialization":"optional","Accept-Serialization":["application/tar"]}}"#
        )
    };
    place.write("maps.json", profile(false));
    place.run(["profile", "add", "maps.json", "--name", "maps"]).succeeds();
    place.write("maps.json", profile(true));
    place.run(["profile", "add", "maps.json", "--name", "maps"]).succeeds();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "bag"]).succeeds();
    let verdict = |profile: &str| {
        place.run(["bag", "validate", "bag", "--json", "--profile", profile]).object()["verdict"].clone()
    };
    assert_eq!(
        (verdict("maps@1"), verdict("maps@2"), verdict("maps")),
        ("valid".into(), "invalid".into(), "invalid".into())
    );
    let exported = place.run(["profile", "show", "maps", "--version", "1", "--document"]).succeeds().stdout;
    place.write("exported.json", exported);
    assert_eq!(verdict("exported.json"), "valid");
    place.run(["bag", "validate", "bag", "--profile", "charts"]).fails(3, &["charts", "profile list"]);
    place.run(["bag", "validate", "bag", "--profile", "maps@new"]).fails(2, &["NAME@VERSION"]);
}

/// The text of a file of a bag that is a folder.
fn text(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.path(path)).unwrap()
}

#[test]
fn tags_come_from_options_and_a_file_of_which_options_go_first() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place
        .write("defaults.txt", "Source-Organization: Example University\nContact-Name: A\n  B\nNote: one\nNote: two\n");
    place
        .run([
            "bag",
            "create",
            "payload",
            "bag",
            "--bag-info",
            "defaults.txt",
            "--tag",
            "contact-name: C = D",
            "--external-identifier",
            "E-1",
            "--tag",
            "aptrust-info.txt/Title: Letters",
            "--md5",
            "--sha256",
        ])
        .succeeds();
    let info = text(&place, "bag/bag-info.txt");
    let beginning = "Source-Organization: Example University\nNote: one\nNote: two\nExternal-Identifier: E-1\ncontact-name: C = D\n";
    assert!(info.starts_with(beginning), "{info}");
    assert_eq!(text(&place, "bag/aptrust-info.txt"), "Title: Letters\n");
    assert!(place.path("bag/manifest-md5.txt").exists() && place.path("bag/tagmanifest-sha256.txt").exists());
    assert!(!place.path("bag/manifest-sha512.txt").exists());
    place.run(["bag", "validate", "bag", "--profile", "none"]).succeeds();
    place.run(["bag", "create", "payload", "other", "--tag", "no separator"]).fails(2, &["LABEL: VALUE"]);
    place.write("broken.txt", "no colon\n");
    place
        .run(["bag", "create", "payload", "other", "--bag-info", "broken.txt"])
        .fails(2, &["broken.txt", "line 1", "correct the file"]);
}

#[test]
fn without_a_terminal_all_tags_that_a_profile_misses_are_named_and_nothing_is_made() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    let base = ["bag", "create", "payload", "letters.tar", "--profile", "aptrust-2.3"];
    place.run(base).fails(2, &["aptrust-info.txt: required tag Title", "required tag Access"]);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 1);
    let tags = [
        "--tag",
        "Source-Organization: Example University",
        "--tag",
        "aptrust-info.txt/Title: Letters",
        "--tag",
        "aptrust-info.txt/Access: Institution",
        "--tag",
        "aptrust-info.txt/Storage-Option: Standard",
    ];
    place.run(base.iter().chain(&tags)).succeeds();
    let report = place.run(["bag", "validate", "letters.tar", "--json"]).succeeds().object();
    assert_eq!((&report["verdict"], &report["profile_source"]), (&"valid".into(), &"declared".into()), "{report}");
    let wrong = ["--tag", "aptrust-info.txt/Access: Anyone"];
    let wrong =
        base.iter().map(|word| if *word == "letters.tar" { &"b.tar" } else { word }).chain(&tags[..4]).chain(&wrong);
    place.run(wrong).fails(2, &["Access is \"Anyone\""]);
}

#[test]
fn a_folder_becomes_a_bag_in_its_place() {
    let place = Place::empty();
    for folder in ["one", "two"] {
        place.write(&format!("{folder}/a.txt"), "text");
        place.write(&format!("{folder}/data/b.txt"), "more");
        place.write(&format!("{folder}/manifest-sha512.txt"), "mine");
        std::fs::create_dir(place.path(&format!("{folder}/empty"))).unwrap();
    }
    let reports = place.run(["bag", "create", "--in-place", "one", "two", "--keep-empty", "--json"]).succeeds().json();
    assert_eq!(reports.len(), 2);
    for folder in ["one", "two"] {
        place.run(["bag", "validate", folder]).succeeds();
        assert_eq!(text(&place, &format!("{folder}/data/data/b.txt")), "more");
        assert_eq!(text(&place, &format!("{folder}/data/manifest-sha512.txt")), "mine");
        assert!(place.path(&format!("{folder}/data/empty/.keep")).exists());
        let mut names: Vec<_> =
            std::fs::read_dir(place.path(folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["bag-info.txt", "bagit.txt", "data", "manifest-sha512.txt", "tagmanifest-sha512.txt"]);
    }
    place.run(["bag", "create", "--in-place", "one"]).fails(2, &["is a bag already", "bag validate"]);
}

#[test]
fn a_folder_that_cannot_be_bagged_in_its_place_stays_as_it_was() {
    let place = Place::empty();
    place.write("folder/a.txt", "text");
    std::os::unix::fs::symlink("a.txt", place.path("folder/link")).unwrap();
    let before = place.files("folder");
    let answer = place.run(["bag", "create", "--in-place", "folder"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stdout.contains("write.not_a_file"), "{answer:?}");
    assert_eq!(place.files("folder"), before);
    std::fs::remove_file(place.path("folder/link")).unwrap();
    std::fs::create_dir(place.path("folder/.bag-in-place.partial")).unwrap();
    place
        .run(["bag", "create", "--in-place", "folder"])
        .fails(2, &["earlier run", "rmdir folder/.bag-in-place.partial"]);
    place.write("folder/.bag-in-place.partial/data/b.txt", "moved");
    let advice =
        "move all that is in folder/.bag-in-place.partial/data to folder, then remove folder/.bag-in-place.partial";
    place.run(["bag", "create", "--in-place", "folder"]).fails(2, &[advice]);
    std::fs::rename(place.path("folder/.bag-in-place.partial/data"), place.path("folder/data")).unwrap();
    place.write("folder/.bag-in-place.partial/bagit.txt", "");
    place
        .run(["bag", "create", "--in-place", "folder"])
        .fails(2, &["bagit.txt last", "strongroom bag validate folder"]);
}

#[test]
fn a_folder_without_files_becomes_a_bag_with_a_warning() {
    let place = Place::empty();
    std::fs::create_dir(place.path("payload")).unwrap();
    let made = place.run(["bag", "create", "payload", "bag.tar"]).succeeds();
    assert!(made.stdout.contains("write.empty_payload"), "{made:?}");
    let made = place.run(["bag", "create", "payload", "other.tar", "--json"]).succeeds().object();
    assert_eq!(made["problems"][0]["code"], "write.empty_payload");
}

#[test]
fn several_folders_become_bags_in_another_folder() {
    let place = Place::empty();
    for folder in ["one", "two"] {
        place.write(&format!("{folder}/a.txt"), "text");
    }
    place
        .run(["bag", "create", "--into", "no/bags", "--form", "tar", "one"])
        .fails(3, &["no/bags", "mkdir -p no/bags"]);
    place.run(["bag", "create", "one", "no/one.tar"]).fails(3, &["no directory no", "mkdir -p no"]);
    place.run(["bag", "create", "--into", "bags", "--profile", "aptrust-2.3", "one"]).fails(2, &["Title"]);
    assert!(!place.path("bags").exists(), "a folder that was made for bags is removed where no bag was made");
    place.run(["bag", "create", "--into", "bags", "--form", "tar", "one", "two/."]).succeeds();
    place.run(["bag", "validate", "bags/one.tar", "bags/two.tar"]).succeeds();
    let again = place.run(["bag", "create", "--into", "bags", "--form", "tar", "one", "two"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("bags/one.tar exists") && again.stderr.contains("bags/two.tar exists"), "{again:?}");
    place.run(["bag", "create", "one", "two", "three"]).fails(2, &["--into DIR"]);
}

#[test]
fn what_cannot_be_bagged_or_shown_says_what_to_do_and_what_exists_has_a_code() {
    let place = Place::empty();
    place.write("b/a.txt", "text");
    place.write("plain", "text");
    place.run(["bag", "create", "b", "b/inner.tar"]).fails(2, &["is inside the source", "next: name a target outside"]);
    let wrong = place.run(["bag", "create", "b", "b.tar", "--bag-info", "/dev/null"]);
    wrong.fails(2, &["no regular file", "next: name a file with lines"]);
    place.run(["bag", "show", "plain"]).fails(1, &["next: name the folder or the archive of a bag"]);
    place.run(["bag", "create", "b", "b.tar"]).succeeds();
    place.run(["bag", "create", "b", "b.tar", "--json"]).fails(2, &["\"code\":\"exists\""]);
    place.run(["init", "b", "--json"]).fails(2, &["\"code\":\"exists\""]);
    place.run(["init", "home"]).succeeds();
    place.run(["deposit", "b.tar", "--wait"]).succeeds();
    let restore = ["restore", "object", "example.edu/b", "--to", ".", "--detach", "--json"];
    place.run(restore).fails(2, &["\"code\":\"exists\"", "next"]);
}

#[test]
fn a_folder_that_is_no_bag_is_said_to_be_none_in_two_lines() {
    let place = Place::empty();
    place.write("folder/below/a.txt", "text");
    for number in 0..20 {
        std::os::unix::fs::symlink("nowhere", place.path(&format!("folder/link-{number}"))).unwrap();
    }
    let checked = place.run(["bag", "validate", "folder"]);
    let lines = "  error   bagit.declaration bagit.txt: there is no bagit.txt\nfolder: not a bag\n";
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(1), lines), "{checked:?}");
}

#[test]
fn an_ending_that_is_no_form_of_a_bag_is_refused() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    for target in ["bag.rar", "bag.7z", "bag.tar.bz2", "bag.v1"] {
        place.run(["bag", "create", "payload", target]).fails(2, &["no form of a bag", "--form folder"]);
    }
    place.run(["bag", "create", "payload", "bag.v1", "--form", "folder"]).succeeds();
    for (target, form) in [("a.tar", "zip"), ("a.tar", "folder"), ("a.zip", "tar"), ("a.tar.bz2", "tar")] {
        let refused = place.run(["bag", "create", "payload", target, "--form", form]);
        refused.fails(2, &["the ending of another form", &format!("--form {form}"), "next: leave --form out"]);
        assert!(!place.path(target).exists());
    }
    place.run(["bag", "validate", "bag.v1"]).succeeds();
    place.run(["bag", "create", "payload", "BAG.TGZ"]).succeeds();
    place.run(["bag", "create", "payload", ".hidden"]).succeeds();
}

#[test]
fn a_signal_leaves_nothing_partial_behind() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::Stdio;

    for (arguments, signal) in [
        (["bag", "create", "payload", "bag.tar"], Signal::INT),
        (["bag", "create", "payload", "bag"], Signal::TERM),
        (["bag", "create", "--in-place", "payload"], Signal::INT),
    ] {
        let place = Place::empty();
        // All zeros, and longer than can be read before the signal comes.
        let file = place.write("payload/zeros", "");
        std::fs::File::options().write(true).open(file).unwrap().set_len(1 << 40).unwrap();
        let mut child = place.command().args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let partial = |folder: &str| {
            let names = std::fs::read_dir(place.path(folder)).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().ends_with(".partial")).count()
        };
        while partial("") + partial("payload") == 0 {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let answer = child.wait_with_output().unwrap();
        assert_eq!(answer.status.code(), Some(130), "{answer:?}");
        assert_eq!(partial("") + partial("payload"), 0, "{arguments:?}");
        assert!(place.path("payload/zeros").exists() && !place.path("bag").exists());
    }
}
