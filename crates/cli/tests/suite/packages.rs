//! What a person does with packages that are no bags, through the program.

use strongroom_web_double::{Behaviour, WebDouble};

use crate::program::{Answer, Place};

/// The settings by which the program may download from a server.
fn allowing(web: &WebDouble) -> [(&'static str, String); 2] {
    [
        ("STRONGROOM_INGEST__URL_HOSTS", web.authority()),
        ("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
    ]
}

/// Runs the program so that it may download from a server.
fn run_with(place: &Place, web: &WebDouble, arguments: &[&str]) -> Answer {
    let environment = allowing(web);
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    place.run_with(&environment, arguments)
}

fn manifest(profile: &str, rows: &[String]) -> String {
    format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/{profile}\n{}\n#%eof\n",
        rows.join("\n")
    )
}

/// Paths of the files of an object.
fn paths(place: &Place, object: &str) -> Vec<String> {
    let files = place.run(["objects", "files", object, "--json"]).succeeds().json();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_file_and_a_folder_are_deposited_at_once_and_come_back() {
    let place = Place::with_home();
    place.write("photo.tif", b"II*\0");
    place.write("letters/a.txt", "one");
    place.write("letters/b/c.txt", "two");
    for source in ["photo.tif", "letters"] {
        let item = place.run(["deposit", source, "--wait", "--json"]).succeeds().object();
        assert_eq!((&item["status"], &item["version"]), (&"succeeded".into(), &1.into()), "{item}");
    }
    assert_eq!(paths(&place, "example.edu/photo.tif"), ["photo.tif"]);
    assert_eq!(paths(&place, "example.edu/letters"), ["a.txt", "b/c.txt"]);
    std::fs::create_dir(place.path("back")).unwrap();
    let restore = ["restore", "object", "example.edu/letters", "--to", "back", "--format", "submitted", "--wait"];
    place.run(restore).succeeds();
    let tar = std::fs::read(place.path("back/letters.tar")).unwrap();
    let mut archive = tar::Archive::new(tar.as_slice());
    let names: Vec<String> =
        archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    assert_eq!(names, ["letters/a.txt", "letters/b/c.txt"]);
}

#[test]
fn a_restored_submission_says_that_a_name_is_escaped() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::with_home();
    place.write("letters/a.txt", "one");
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(place.path("letters").join(odd), "odd").unwrap();
    place.run(["deposit", "letters", "--wait"]).succeeds();
    std::fs::create_dir(place.path("back")).unwrap();
    let restore = ["restore", "object", "example.edu/letters", "--to", "back", "--format", "submitted", "--wait"];
    let answer = place.run(restore).succeeds();
    assert!(answer.stdout.contains("1 name is escaped"), "{answer:?}");
    assert!(!answer.stdout.contains("byte for byte"), "{answer:?}");
}

#[test]
fn what_is_said_on_the_command_line_describes_the_object() {
    let place = Place::with_home();
    place.write("photo.tif", b"II*\0");
    place.write("erc.txt", "erc:\nwho: Ada\nwhat: A photograph\nwhen: 1843\n");
    let arguments = ["--local-id", "letter 7", "--date", "1844", "--access", "restricted", "--metadata", "erc.txt"];
    place.run(["deposit", "photo.tif", "--wait"].iter().chain(&arguments)).succeeds();
    let object = place.run(["objects", "show", "example.edu/letter 7", "--json"]).succeeds().object();
    assert_eq!((&object["title"], &object["access"]), (&"A photograph".into(), &"restricted".into()));
    assert_eq!(object["local_ids"], serde_json::json!(["letter 7"]));
}

#[test]
fn what_a_file_says_that_a_description_has_no_field_for_is_told() {
    let place = Place::with_home();
    place.write("photo.tif", b"II*\0");
    let text = "<metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>Maps</dc:title>\n<dc:foo>bar</dc:foo></metadata>";
    place.write("dc.xml", text);
    let answer = place.run(["deposit", "photo.tif", "--metadata", "dc.xml", "--wait"]).succeeds();
    assert!(answer.stderr.contains("warning: dc.xml:2: metadata.not_kept"), "{answer:?}");
    let answer = place.run(["objects", "describe", "example.edu/photo.tif", "--metadata", "dc.xml"]).succeeds();
    assert!(answer.stderr.contains("warning: dc.xml:2: metadata.not_kept"), "{answer:?}");
}

#[test]
fn a_package_that_is_a_fifo_is_refused_and_not_waited_for() {
    let place = Place::with_home();
    place.write("photo.tif", b"II*\0");
    let made = std::process::Command::new("mkfifo").arg(place.path("fifo")).status().unwrap();
    assert!(made.success());
    place.run(["deposit", "fifo", "--wait"]).fails(2, &["a FIFO", "entry.not_a_file"]);
    for option in ["--metadata", "--delete-list"] {
        place.run(["deposit", "photo.tif", option, "fifo"]).fails(2, &["entry.not_a_file"]);
    }
}

#[test]
fn a_delete_list_takes_files_out_of_a_merge() {
    let place = Place::with_home();
    for (file, text) in [("letters/a.txt", "one"), ("letters/b.txt", "two")] {
        place.write(file, text);
    }
    place.run(["deposit", "letters", "--wait"]).succeeds();
    std::fs::remove_dir_all(place.path("letters")).unwrap();
    place.write("letters/c.txt", "three");
    // As an editor of another system saves it.
    place.write("gone.txt", "\u{feff}a.txt\r\n");
    place.run(["deposit", "letters", "--delete-list", "gone.txt"]).fails(2, &["--mode merge"]);
    place.run(["deposit", "letters", "--mode", "merge", "--delete-list", "gone.txt", "--wait"]).succeeds();
    assert_eq!(paths(&place, "example.edu/letters"), ["b.txt", "c.txt"]);
}

#[test]
fn a_list_at_a_url_makes_its_objects_and_the_command_waits_for_all_of_them() {
    let (place, web) = (Place::with_home(), WebDouble::start());
    let rows: Vec<String> = (1..=3)
        .map(|number| {
            web.put(&format!("/{number}.txt"), format!("text {number}"));
            format!(
                "{} | | | | | {number}.txt | | id-{number} | | Title {number} |",
                web.url(&format!("/{number}.txt"))
            )
        })
        .collect();
    web.put("/list.checkm", manifest("mrt-single-file-batch-manifest", &rows));
    let ended = run_with(&place, &web, &["deposit", &web.url("/list.checkm"), "--wait", "--json"]).succeeds().json();
    let mut objects: Vec<&str> = ended.iter().filter_map(|item| item["object"].as_str()).collect();
    objects.sort_unstable();
    assert_eq!(objects, ["example.edu/id-1", "example.edu/id-2", "example.edu/id-3"]);
    // The batch before and after its items, as "batches show" has it.
    let (first, last) = (&ended[0], &ended[4]);
    assert_eq!((ended.len(), &first["state"], &last["state"]), (5, &"pending".into(), &"completed".into()));
    assert_eq!((&first["batch"], &last["batch"]), (&ended[1]["batch"], &ended[1]["batch"]));
    assert_eq!((&last["items"], &last["rows"], &last["succeeded"]), (&3.into(), &3.into(), &3.into()), "{last}");
    // One that fails is told of, and the others are kept.
    web.on("/2.txt", Behaviour::NotFound);
    let answer = run_with(&place, &web, &["deposit", &web.url("/list.checkm"), "--wait"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("404") && answer.stdout.contains("items history"), "{answer:?}");
    let lines: Vec<&str> = answer.stdout.lines().collect();
    let batch = lines[0].strip_prefix("batch ").unwrap();
    let summary =
        lines.iter().position(|line| *line == format!("batch {batch} is failed: 3 items: 2 succeeded, 1 failed"));
    let summary = &lines[summary.unwrap() + 1..];
    assert!(summary[0].contains("  example.edu/id-2  ") && summary[0].contains("404"), "{answer:?}");
    assert_eq!(summary[1..], [format!("  next: strongroom batches report {batch}")], "{answer:?}");
}

#[test]
fn a_summary_names_the_first_failed_items_and_the_command_for_the_rest() {
    let place = Place::with_home();
    let names: Vec<String> = (1..=22).map(|number| format!("{number}.tar")).collect();
    for name in &names {
        place.write(name, "no bag");
    }
    let mut deposit = vec!["deposit", "--type", "bag", "--wait"];
    deposit.extend(names.iter().map(String::as_str));
    let answer = place.run(&deposit);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let (_, summary) = answer.stdout.split_once(" is failed: 22 items: 22 failed\n").unwrap();
    let lines: Vec<&str> = summary.lines().collect();
    assert_eq!(lines.len(), 22, "{summary}");
    assert!(lines[20].starts_with("  2 more: strongroom items list --batch "), "{summary}");
    // Scripts get an object for each item, as before.
    deposit.push("--json");
    assert_eq!(place.run(&deposit).json().len(), 22);
}

#[test]
fn work_that_is_attempted_again_after_an_error_is_named_by_status() {
    let (place, web) = (Place::with_home(), WebDouble::start());
    web.on("/photo.tif", Behaviour::Status(503));
    let item = run_with(&place, &web, &["deposit", &web.url("/photo.tif"), "--json"]).succeeds().object();
    let mut worker = place.command().envs(allowing(&web)).args(["-q", "work", "--workers", "1"]).spawn().unwrap();
    let review = loop {
        let review = place.run(["status", "--json"]).succeeds().object()["review"].clone();
        if review["retried"] == 1 || review["items"] == 1 {
            break review;
        }
    };
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!((&review["retried"], &review["first_retried"][0]["item"]), (&1.into(), &item["item"]), "{review}");
    let entry = &review["entries"][0];
    assert_eq!(entry["text"], "1 work item attempted again after an error");
    assert_eq!(entry["next"], "strongroom items list --status pending");
}

#[test]
fn items_and_batches_are_listed_by_collection() {
    let place = Place::with_home();
    place.run(["collection", "add", "maps", "--institution", "example.edu"]).succeeds();
    for (name, collection) in [("a.txt", "default"), ("b.txt", "maps"), ("c.txt", "maps")] {
        place.write(name, name);
        place.run(["deposit", name, "--collection", collection, "--wait"]).succeeds();
    }
    for list in ["items", "batches"] {
        let listed = |arguments: &[&str]| {
            let found = place.run([&[list, "list", "--json"], arguments].concat()).succeeds().json();
            found.iter().map(|one| one["collection"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(listed(&["--collection", "maps"]), ["maps", "maps"]);
        assert_eq!(listed(&["--collection", "example.edu/maps", "--limit", "1", "--reverse"]), ["maps"]);
        assert_eq!(listed(&["--collection", "default", "--institution", "example.edu"]), ["default"]);
        place.run([list, "list", "--collection", "letters"]).fails(3, &["collection", "letters", "collection list"]);
    }
    place.run(["institution", "add", "example.org"]).succeeds();
    place.run(["collection", "add", "maps", "--institution", "example.org"]).succeeds();
    let words = ["several institutions have a collection maps", "example.org", "--institution"];
    place.run(["items", "list", "--collection", "maps"]).fails(2, &words);
}

#[test]
fn a_failed_download_is_completed_when_it_is_requeued() {
    let (place, web) = (Place::with_home(), WebDouble::start());
    web.put("/photo.tif", b"II*\0");
    web.on("/photo.tif", Behaviour::NotFound);
    let deposit = ["deposit", &web.url("/photo.tif"), "--wait", "--json"];
    let item = run_with(&place, &web, &deposit).object();
    assert_eq!(item["status"], "failed", "{item}");
    assert!(item["note"].as_str().unwrap().contains("404"), "{item}");
    web.mend("/photo.tif");
    let id = item["item"].as_str().unwrap();
    place.run(["items", "requeue", id]).succeeds();
    // A further deposit works on the older one first, and has nothing new then.
    let second = run_with(&place, &web, &deposit).succeeds().object();
    assert!(second["version"].is_null(), "{second}");
    let item = place.run(["items", "show", id, "--json"]).succeeds().object();
    assert_eq!(item["status"], "succeeded", "{item}");
    assert_eq!(paths(&place, "example.edu/photo.tif"), ["photo.tif"]);
}

#[test]
fn identifiers_that_contradict_each_other_are_refused_with_what_has_which() {
    let place = Place::with_home();
    place.write("a.txt", "one");
    place.run(["deposit", "a.txt", "--local-id", "letter 7", "--wait"]).succeeds();
    place
        .run(["deposit", "a.txt", "--local-id", "letter 7", "--primary-id", "diaries"])
        .fails(4, &["letter 7", "example.edu/letter 7", "different objects"]);
}

#[test]
fn a_host_that_is_not_allowed_is_told_with_the_setting_that_allows_it() {
    let (place, web) = (Place::with_home(), WebDouble::start());
    web.put("/photo.tif", b"II*\0");
    let item = place.run(["deposit", &web.url("/photo.tif"), "--wait", "--json"]).object();
    assert_eq!(item["status"], "failed", "{item}");
    assert!(item["note"].as_str().unwrap().contains("ingest.url_hosts"), "{item}");
    assert!(web.requests().is_empty());
}

#[test]
fn the_description_of_an_object_is_shown_and_changed_by_its_ark() {
    let place = Place::with_home();
    place.write("photo.tif", b"II*\0");
    place.write("more.json", r#"{"subject": ["bridges", "rivers"], "publisher": "A press"}"#);
    let ark = "ark:/99999/fk4dummy";
    let said = ["--primary-id", ark, "--creator", "Ada", "--date", "1843", "--metadata", "more.json", "--wait"];
    place.run(["deposit", "photo.tif"].iter().chain(&said)).succeeds();
    place.write("new.csv", "subject\nengines\n");
    place.run(["objects", "describe", ark, "--metadata", "new.csv", "--wait"]).succeeds();
    place.write("table.csv", "object,title\nark:99999/fk4-dummy,A photograph\n");
    place.run(["objects", "describe", "--csv", "table.csv", "--wait"]).succeeds();
    let object = place.run(["objects", "show", ark, "--json"]).succeeds().object();
    assert_eq!((&object["creator"], &object["date"]), (&"Ada".into(), &"1843".into()), "{object}");
    assert_eq!((&object["title"], &object["versions"]), (&"A photograph".into(), &3.into()), "{object}");
    assert_eq!(object["metadata"]["subject"], "engines", "{object}");
    let shown = place.run(["objects", "show", ark]).succeeds().stdout;
    for (name, value) in [("creator", "Ada"), ("date", "1843"), ("  subject", "engines"), ("  publisher", "A press")] {
        let is_shown = |line: &str| line.starts_with(name) && line.ends_with(value);
        assert!(shown.lines().any(is_shown), "{name} {value}: {shown}");
    }
    place.write("empty.csv", format!("object,title\n{ark},\n"));
    place.run(["objects", "describe", "--csv", "empty.csv"]).fails(2, &["an empty cell leaves a field as it is"]);
}

#[test]
fn an_empty_identifier_is_refused() {
    let place = Place::with_home();
    place.write("photo.tif", b"II*\0");
    place.run(["deposit", "photo.tif", "--local-id", ""]).fails(2, &["the local id is empty", "--local-id"]);
}

#[test]
fn the_failed_items_of_a_batch_are_listed_and_requeued_at_once() {
    let (place, web) = (Place::with_home(), WebDouble::start());
    let rows: Vec<String> = (1..=3)
        .map(|number| {
            web.put(&format!("/{number}.txt"), number.to_string());
            web.url(&format!("/{number}.txt"))
        })
        .collect();
    web.on("/1.txt", Behaviour::NotFound);
    web.on("/2.txt", Behaviour::NotFound);
    let list = format!("#%fields | nfo:fileUrl\n{}", rows.join("\n"));
    place.write("list.checkm", manifest("mrt-single-file-batch-manifest", &[list]));
    let answer = run_with(&place, &web, &["deposit", "list.checkm", "--wait"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("when that is put right: strongroom items requeue"), "{answer:?}");
    let batch = place.run(["batches", "list", "--json"]).succeeds().object()["batch"].as_str().unwrap().to_owned();
    let failed = || place.run(["items", "list", "--batch", &batch, "--status", "failed", "--json"]).succeeds().json();
    assert_eq!(failed().len(), 2);
    assert_eq!(place.run(["items", "list", "--batch", &batch, "--json"]).succeeds().json().len(), 4);
    web.mend("/1.txt");
    web.mend("/2.txt");
    place.run(["batches", "requeue", &batch, "--stage", "nothing"]).fails(2, &["nothing"]);
    let shown = place.run(["batches", "requeue", &batch, "--json"]).succeeds().object();
    assert_eq!((&shown["open"], &shown["failed"]), (&2.into(), &0.into()), "{shown}");
    place.run(["batches", "requeue", &batch]).fails(4, &["no item of it has failed"]);
}

#[test]
fn a_port_that_is_missing_in_the_settings_is_told() {
    let (place, web) = (Place::with_home(), WebDouble::start());
    web.put("/photo.tif", b"II*\0");
    let url = web.url("/photo.tif");
    let environment = [("STRONGROOM_INGEST__URL_HOSTS", "127.0.0.1")];
    let item = place.run_with(&environment, ["deposit", &url, "--wait", "--json"]).object();
    let note = item["note"].as_str().unwrap();
    assert!(note.contains(&format!("allow \"{}\"", web.authority())), "{item}");
    for (entry, right) in [
        ("*", "a host cannot be left open"),
        ("*:8971", "\"files.example.edu:8443\""),
        ("http://a.org:8971", "write \"a.org:8971\""),
    ] {
        place
            .run_with(&[("STRONGROOM_INGEST__URL_HOSTS", entry)], ["config", "check"])
            .fails(2, &["ingest.url_hosts", right]);
    }
}
