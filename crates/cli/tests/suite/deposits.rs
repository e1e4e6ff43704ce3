//! A deposit from the bag to the object, through the program.

use crate::program::{Place, assert_keys};

#[test]
fn a_bag_goes_in_and_is_shown_with_everything_it_has() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let item =
        place.run(["deposit", "greeting.tar", "--local-id", "doi:10.0/x", "--wait", "--json"]).succeeds().object();
    assert_keys(
        &item,
        &[
            "batch",
            "item",
            "object",
            "status",
            "stage",
            "note",
            "version",
            "part",
            "parts",
            "missing_parts",
            "problems",
        ],
    );
    assert_eq!(item["status"], "succeeded", "{item}");
    assert_eq!(item["version"], 1);
    assert_eq!(item["object"], "example.edu/greeting");

    let object = place.run(["objects", "show", "example.edu/greeting", "--json"]).succeeds().object();
    assert_keys(
        &object,
        &[
            "object",
            "identifier",
            "ark",
            "local_ids",
            "title",
            "description",
            "creator",
            "date",
            "metadata",
            "access",
            "state",
            "completeness",
            "health",
            "parts",
            "missing_parts",
            "institution",
            "collection",
            "placement",
            "profile",
            "profile_version",
            "source_organization",
            "deletion_request",
            "versions",
            "head",
            "files",
            "bytes",
            "created_at",
            "updated_at",
            "legal_holds",
        ],
    );
    assert_eq!(object["title"], "A greeting");
    assert_eq!(object["source_organization"], "Example University");
    assert_eq!(object["placement"], "Standard");
    let id = object["object"].as_str().unwrap();

    let files = place.run(["objects", "files", id, "--json"]).succeeds().json();
    let payload = files.iter().find(|file| file["path"] == "data/greeting.txt").unwrap();
    for key in ["path", "size", "digests", "puid", "mime", "format_method", "state", "copies"] {
        assert!(payload.get(key).is_some(), "{key} is missing in {payload}");
    }
    for key in ["name", "version", "basis", "signatures", "warning", "others"] {
        assert!(payload.get(format!("format_{key}")).is_some(), "format_{key} is missing in {payload}");
    }
    assert_eq!((&payload["puid"], &payload["format_method"]), (&"x-fmt/111".into(), &"text".into()));
    assert_keys(&payload["digests"], &["md5", "sha1", "sha256", "sha512"]);
    assert_eq!(payload["digests"]["md5"], "b1946ac92492d2347c6235b4d2611184", "md5 of \"hello\\n\"");
    let copies = payload["copies"].as_array().unwrap();
    assert_eq!(copies.len(), 2);
    assert_keys(&copies[0], &["store", "key", "state", "stored_at", "verified_at", "last_fixity_at"]);
    for copy in copies {
        let path = format!("home/stores/{}/{}", copy["store"].as_str().unwrap(), copy["key"].as_str().unwrap());
        assert_eq!(std::fs::read_to_string(place.path(&path)).unwrap(), "hello\n");
    }

    let events = place.run(["objects", "events", id, "--json"]).succeeds().json();
    assert_keys(
        &events[0],
        &[
            "event",
            "actor",
            "type",
            "time",
            "outcome",
            "detail",
            "outcome_detail",
            "object",
            "file",
            "path",
            "content_path",
            "stores",
            "agent",
        ],
    );
    assert!(events.iter().any(|event| event["type"] == "ingestion"));
    let versions = place.run(["objects", "versions", id, "--json"]).succeeds().object();
    assert_eq!(versions["version"], 1);
    for store in ["primary", "secondary"] {
        place.run(["ocfl", "validate", &format!("home/stores/{store}/example.edu")]).succeeds();
    }
    assert!(place.path("greeting.tar").exists(), "what was deposited is never touched");
}

#[test]
fn every_storage_option_of_aptrust_goes_through() {
    let place = Place::with_home();
    for option in ["Glacier-OH", "Glacier-Deep-VA", "Wasabi-TX"] {
        let name = option.to_lowercase();
        place.write(&format!("{name}/a.txt"), option);
        place.write("info.txt", format!("Title: T\nAccess: Consortia\nStorage-Option: {option}\n"));
        let target = format!("{name}.tar");
        place
            .run(["bag", "create", &name, &target, "--algorithm", "md5", "--tag-file", "aptrust-info.txt=info.txt"])
            .succeeds();
        place.run(["deposit", &target, "--wait"]).succeeds();
        let object = place.run(["objects", "show", &format!("example.edu/{name}"), "--json"]).succeeds().object();
        assert_eq!(object["placement"], option);
    }
}

#[test]
fn a_worker_in_another_process_takes_a_deposit_to_its_end() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar"]).succeeds();
    let mut worker =
        place.command().args(["work", "--workers", "1"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let ended = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        place.run(["items", "list", "--status", "succeeded", "--json"]).json().len() == 1
    });
    let pid = worker.id().to_string();
    let told = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    let status = worker.wait().unwrap();
    assert!(told.success() && ended, "the deposit did not end");
    assert_eq!(status.code(), Some(0), "a drained worker ends well");
}

#[test]
fn waiting_for_a_deposit_works_on_the_older_one_of_its_object_too() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar"]).succeeds();
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    assert_eq!(place.run(["items", "list", "--status", "succeeded", "--json"]).json().len(), 2);
}

#[test]
fn what_went_in_comes_back() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    std::fs::create_dir(place.path("out")).unwrap();
    let object = "example.edu/greeting";
    let item = place.run(["restore", "object", object, "--to", "out", "--wait", "--json"]).succeeds().object();
    assert_eq!(item["action"], "restore_object");
    assert_eq!(item["status"], "succeeded");
    place.run(["bag", "validate", "out/greeting.tar", "--profile", "aptrust-2.3"]).succeeds();
    place.run(["restore", "object", object, "--to", "out", "--wait"]).fails(2, &["out/greeting.tar", "exists"]);
    place.run(["restore", "object", object, "--version", "7"]).fails(3, &["version", "7"]);
    let files = place.run(["objects", "files", object, "--json"]).succeeds().json();
    let file = files.iter().find(|file| file["path"] == "data/greeting.txt").unwrap()["file"].as_str().unwrap();
    place.run(["restore", "file", file, "--to", "out", "--wait"]).succeeds();
    assert_eq!(std::fs::read_to_string(place.path("out/greeting.txt")).unwrap(), "hello\n");
    let asked = place.run(["restore", "object", object, "--json"]).succeeds().object();
    assert_eq!(asked["status"], "pending", "without --wait the workers see to it");
}

#[test]
fn damage_is_found_repaired_and_told() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    place.run(["fixity", "run", "--all"]).succeeds();
    let files = place.run(["objects", "files", "example.edu/greeting", "--json"]).succeeds().json();
    let payload = files.iter().find(|file| file["path"] == "data/greeting.txt").unwrap();
    let copy = &payload["copies"][0];
    let path =
        place.path(&format!("home/stores/{}/{}", copy["store"].as_str().unwrap(), copy["key"].as_str().unwrap()));
    std::fs::write(&path, "hullo\n").unwrap();
    let answer = place.run(["fixity", "run", "--all", "--json"]);
    assert_eq!(answer.code, Some(1), "damage was found: {answer:?}");
    let summary = answer.object();
    assert_eq!((&summary["damaged"], &summary["repaired"]), (&1.into(), &1.into()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\n");
    place.run(["fixity", "problems"]).succeeds();
    let finding = place.run(["fixity", "problems", "--all", "--json"]).succeeds().object();
    assert_eq!(finding["state"], "repaired");
    for store in place.run(["fixity", "report", "--json"]).succeeds().json() {
        assert_keys(
            &store,
            &["store", "copies", "bytes", "checked", "never", "attested", "damaged", "due", "oldest", "due_now"],
        );
        assert_eq!(store["damaged"], 0);
    }
    for copy in payload["copies"].as_array().unwrap() {
        let (store, key) = (copy["store"].as_str().unwrap(), copy["key"].as_str().unwrap());
        std::fs::remove_file(place.path(&format!("home/stores/{store}/{key}"))).unwrap();
    }
    assert_eq!(place.run(["fixity", "run", "--all"]).code, Some(1));
    assert_eq!(place.run(["fixity", "problems"]).code, Some(1), "nothing is left to repair it from");
    assert_eq!(place.run(["fixity", "repair"]).code, Some(1));
}

#[test]
fn an_object_is_told_as_a_premis_document() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let document = place.run(["objects", "premis", "example.edu/greeting"]).succeeds().stdout;
    assert!(document.starts_with("<?xml") && document.trim_end().ends_with("</premis>"), "{document}");
    assert!(document.contains("data/greeting.txt"));
}

#[test]
fn the_demonstration_does_the_whole_job_and_can_be_repeated() {
    let place = Place::empty();
    for _ in 0..2 {
        let steps = place.run(["demo", "show", "--json"]).succeeds().json();
        assert!(steps.len() >= 5);
        assert!(steps.iter().all(|step| step["ok"] == true), "{steps:?}");
        assert_keys(&steps[0], &["step", "ok", "result", "seconds"]);
    }
    place.write("mine/notes.txt", "mine");
    place.run(["demo", "mine"]).fails(2, &["mine", "not made by a demonstration"]);
    assert!(place.path("mine/notes.txt").exists());
    let told = place.run(["demo", "show"]).succeeds().stdout;
    assert!(told.trim_end().ends_with("strongroom --home show/home objects list"), "{told}");
}

#[test]
fn schedules_take_their_turns_once() {
    let place = Place::with_home();
    let schedules = place.run(["schedule", "--once", "--json"]).succeeds().json();
    assert!(schedules.iter().any(|one| one["schedule"] == "fixity"));
    let again = place.run(["schedule", "--once", "--json"]).succeeds().json();
    assert_eq!(schedules, again, "nothing was due");
}

#[test]
fn several_deposits_end_one_by_one_and_one_that_fails_decides_the_answer() {
    let place = Place::with_home();
    place.bag("one", "1\n");
    place.write("two.tar", "no bag");
    let answer = place.run(["deposit", "one.tar", "two.tar", "--wait", "--json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let mut ends: Vec<(String, String)> = answer
        .json()
        .iter()
        .map(|item| (item["object"].as_str().unwrap().to_owned(), item["status"].as_str().unwrap().to_owned()))
        .collect();
    ends.sort();
    assert_eq!(ends[0], ("example.edu/one".to_owned(), "succeeded".to_owned()));
    assert_eq!(ends[1].1, "failed");
}

#[test]
fn a_deposit_behind_a_held_one_says_which_and_how_to_release_it_and_waits_no_longer_than_it_is_told() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let older = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let older = older["item"].as_str().unwrap();
    place.run(["items", "hold", older]).succeeds();
    let release = format!("strongroom items release {older}");
    let words = [older, "which is held", release.as_str(), "1 of 1 work items had not ended after 5s"];
    place.run(["deposit", "greeting.tar", "--wait", "--timeout", "5s"]).fails(1, &words);
    place.run(["deposit", "greeting.tar", "--timeout", "5s"]).fails(2, &["--wait"]);
    place.run(["deposit", "greeting.tar", "--wait", "--timeout", "5"]).fails(2, &["not a duration with units"]);
}

#[test]
fn all_topics_are_paused_and_resumed_at_once_also_those_that_come_to_be_later() {
    let place = Place::with_home();
    place.run(["queue", "pause", "ingest.fetsh"]).fails(3, &["ingest.fetsh", "ingest.fetch"]);
    let paused = place.run(["queue", "pause", "--all", "--json"]).succeeds().json();
    assert!(paused.len() > 5 && paused.iter().all(|topic| topic["paused"] == true), "{paused:?}");
    place.bag("greeting", "hello\n");
    let words = ["the topic ingest.receive, which is paused", "strongroom queue resume --all", "had not ended"];
    place.run(["deposit", "greeting.tar", "--wait", "--timeout", "5s"]).fails(1, &words);
    let listed = place.run(["queue", "list", "--json"]).succeeds().json();
    assert!(!listed.is_empty() && listed.iter().all(|topic| topic["paused"] == true && topic["topic"] != "*"));
    place.run(["queue", "resume", "ingest.fetch"]).fails(4, &["all topics are paused", "queue resume --all"]);
    let resumed = place.run(["queue", "resume", "--all", "--json"]).succeeds().json();
    assert!(resumed.iter().all(|topic| topic["paused"] == false), "{resumed:?}");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
}

#[test]
fn archive_storage_that_is_none_is_told_with_the_deposit() {
    let place = Place::with_home();
    place.bag("letters", "hello\n");
    let (folder, option) = (place.path("letters-payload"), "Storage-Option: Glacier-Deep-OH\n");
    place.write("aptrust-info.txt", format!("Title: Letters\nAccess: Institution\n{option}"));
    let folder = folder.display().to_string();
    let tags = ["--tag-file", "aptrust-info.txt=aptrust-info.txt", "--tag", "Source-Organization=Example University"];
    let make = ["bag", "create", folder.as_str(), "cold.tar", "--algorithm", "md5"];
    place.run(make.iter().chain(&tags)).succeeds();
    let item = place.run(["deposit", "cold.tar", "--wait", "--json"]).succeeds().object();
    let problems = item["problems"].as_array().unwrap();
    let told = problems.iter().find(|problem| problem["code"] == "deposit.storage_not_archived").expect("a warning");
    assert_eq!(told["severity"], "warning");
    let message = told["message"].as_str().unwrap();
    for word in ["Glacier-Deep-OH", "archive storage", "primary (folder), secondary (folder)"] {
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn a_deposit_that_fails_tells_each_problem_once() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    std::fs::rename(place.path("greeting-payload"), place.path("payload")).unwrap();
    place.run(["bag", "create", "payload", "letters", "--md5", "--tag", "Source-Organization: Example"]).succeeds();
    place.write("letters/data/more.txt", "more\n");
    std::fs::remove_file(place.path("letters/data/greeting.txt")).unwrap();
    let told = place.run(["deposit", "letters", "--wait"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    for code in ["manifest.file_missing", "manifest.file_unlisted"] {
        assert_eq!(told.stdout.matches(code).count(), 1, "{told:?}");
    }
    let first = told.stdout.lines().next().unwrap();
    assert!(first.starts_with("failed ") && first.ends_with("errors: 3, warnings: 0)"), "{first}");
    // In lists the note still names the first problem.
    let items = place.run(["items", "list", "--json"]).succeeds().json();
    assert!(items[0]["note"].as_str().unwrap().contains("; first: "), "{items:?}");
}
