//! What the commands of activities say about what was found, what has stopped, and what a person can do next.

use strongroom_web_double::{Behaviour, WebDouble};

use crate::program::{Answer, Place};

/// A home with a deposit of these files of a folder.
fn kept(files: &[(&str, &str)]) -> Place {
    let place = Place::with_home();
    for (name, text) in files {
        place.write(&format!("letters/{name}"), text);
    }
    place.run(["deposit", "letters", "--institution", "example.edu", "--type", "folder", "--wait"]).succeeds();
    place
}

/// Adds a tool that says of files with the word `virus` that they have one; its events are of this kind.
fn add_tool(place: &Place, name: &str, event: &str) {
    place.write(
        &format!("home/{name}.toml"),
        format!(
            "name = \"{name}\"\nprogram = \"/bin/sh\"\n\
             arguments = [\"-c\", 'if grep -q virus \"$1\"; then echo \"a virus of the test\"; exit 1; fi', \"sh\", \"{{file}}\"]\n\
             rules = [{{ exit = [0], outcome = \"pass\" }}, {{ exit = [1], outcome = \"fail\" }}]\n"
        ),
    );
    let settings = std::fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    let tool = format!("\n[tools.{name}]\nconfiguration = \"{name}.toml\"\nevent = \"{event}\"\n");
    place.write("home/strongroom.toml", settings + &tool);
}

fn scan(place: &Place, tool: &str) -> (String, Answer) {
    let answer = place.run(["activity", "run", "tool", "--option", &format!("tool={tool}"), "--wait", "--json"]);
    (answer.json()[0]["activity"].as_str().unwrap().to_owned(), answer)
}

/// The arguments of the first command of the program that a text names in quotation marks behind `next:`.
fn next_of(text: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.contains("next:")).unwrap_or_else(|| panic!("no next: {text}"));
    let command = line.split('"').nth(1).unwrap_or_else(|| panic!("no command: {line}"));
    command.split(' ').skip(1).map(str::to_owned).collect()
}

#[test]
fn what_an_activity_has_found_stays_with_it_when_a_later_one_finds_it_again() {
    let place = kept(&[("a.txt", "clean"), ("b.txt", "a virus")]);
    add_tool(&place, "scanner", "virus check");
    let (first, _) = scan(&place, "scanner");
    let (second, _) = scan(&place, "scanner");
    let found = |id: &str| place.run(["activity", "findings", "--activity", id, "--json"]);
    for id in [&first, &second] {
        assert_eq!((found(id).code, found(id).json().len()), (Some(1), 1), "{:?}", found(id));
    }
    // What is settled is what it has found as well.
    let finding = found(&first).object()["finding"].as_str().unwrap().to_owned();
    place.run(["activity", "dismiss", &finding, "--note", "a test"]).succeeds();
    assert_eq!((found(&first).code, found(&first).object()["state"].as_str()), (Some(0), Some("dismissed")));
    let open = place.run(["activity", "findings"]).succeeds().stdout;
    assert!(open.contains("no finding is open") && open.contains("strongroom activity findings --settled"), "{open}");
    // What was dismissed and is found again is shown by the command that the scan names.
    let (third, answer) = scan(&place, "scanner");
    assert_eq!(answer.code, Some(1));
    assert_eq!(next_of(&answer.stderr), ["activity", "findings", "--activity", &third]);
    assert_eq!(found(&third).json().len(), 1);
}

#[test]
fn what_a_tool_has_failed_is_listed_with_what_it_said() {
    let place = kept(&[("a.txt", "clean"), ("b.txt", "a virus")]);
    // A validation makes no findings.
    add_tool(&place, "checker", "validation");
    let (id, answer) = scan(&place, "checker");
    let records = ["activity", "records", &id, "--outcome", "fail"];
    assert_eq!(next_of(&answer.stderr), records);
    let empty = place.run(["activity", "findings", "--activity", &id]).succeeds().stdout;
    assert!(empty.contains(&format!("strongroom activity records {id} --outcome fail")), "{empty}");
    let listed = place.run(records.iter().chain(&["--json"])).succeeds().json();
    let [failed] = listed.as_slice() else { panic!("one record: {listed:?}") };
    assert_eq!((failed["path"].as_str(), failed["outcome"].as_str()), (Some("b.txt"), Some("fail")));
    assert_eq!((failed["message"].as_str(), failed["version"].as_u64()), (Some("a virus of the test"), Some(1)));
    let passed = place.run(["activity", "records", &id, "--outcome", "pass", "--json"]).succeeds().json();
    assert!(!passed.is_empty() && passed.iter().all(|one| one["outcome"] == "pass"), "{passed:?}");
    let table = place.run(records).succeeds().stdout;
    assert!(table.contains("VERSION") && table.contains("a virus of the test"), "{table}");
    let csv = place.run(records.iter().chain(&["--csv"])).succeeds().stdout;
    assert!(csv.lines().next().is_some_and(|keys| keys.ends_with(",object,path,outcome,version,message")), "{csv}");
    place.run(["activity", "records", &id, "--outcome", "failed"]).fails(2, &["outcome", "pass, fail"]);
    place
        .run(["activity", "records", &id, "--outcome", "fail", "--state", "failed"])
        .fails(2, &["--state", "processed"]);
    // What is no file has no outcome.
    place.write("catalogue/one.xml", "<record>one</record>");
    let harvest = harvested(&place);
    place.run(["activity", "records", &harvest, "--outcome", "fail"]).fails(2, &["harvest", "tool"]);
}

const HARVEST: [&str; 7] = ["activity", "run", "harvest", "--option", "kind=folder", "--option", "path=catalogue"];

fn harvested(place: &Place) -> String {
    let made = place.run(HARVEST.iter().chain(&["--wait", "--json"])).json();
    made[0]["activity"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_paused_and_what_waits_for_it_is_named_with_what_has_it_go_on() {
    let place = Place::with_home();
    place.write("catalogue/one.xml", "<record>one</record>");
    let made = place.run(HARVEST.iter().chain(&["--json"])).succeeds().object();
    let harvest = made["activity"].as_str().unwrap();
    place.run(["activity", "pause", harvest]).succeeds();
    let ended = place.run(["activity", "run", "copy", "--input", harvest, "--follow", "--wait", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains(&format!("{harvest}, which is paused")), "{ended:?}");
    assert!(!ended.stderr.contains("workers continue"), "{ended:?}");
    assert_eq!(next_of(&ended.stderr), ["activity", "resume", harvest]);
    let review = place.run(["status", "--json"]).succeeds().object()["review"].clone();
    let entry = |of: &str| {
        let entries = review["entries"].as_array().unwrap();
        let found = entries.iter().find(|entry| entry["of"] == of).unwrap_or_else(|| panic!("{of}: {review}"));
        (found["text"].as_str().unwrap().to_owned(), found["next"].as_str().unwrap().to_owned())
    };
    let paused = "strongroom activity list --state paused".to_owned();
    assert_eq!(entry("paused_activities"), ("1 activity paused".to_owned(), paused.clone()));
    assert_eq!(entry("behind_paused_activities"), ("1 activity waiting for one that is paused".to_owned(), paused));
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains(&format!("waits for {harvest}")), "{said}");
    place.run(["activity", "resume", harvest]).succeeds();
    let said = place.run(["status"]).succeeds().stdout;
    assert!(!said.contains("paused"), "{said}");
}

#[test]
fn what_has_failed_says_what_has_it_go_on() {
    let place = Place::with_home();
    place.write("catalogue/one.xml", "<record>one</record>");
    place.write("catalogue/torn.xml", "<record>torn");
    let answer = place.run(HARVEST.iter().chain(&["--wait", "--json"]));
    let id = answer.object()["activity"].as_str().unwrap().to_owned();
    assert_eq!(answer.code, Some(1));
    assert!(answer.stderr.contains("1 record failed"), "{answer:?}");
    assert_eq!(next_of(&answer.stderr), ["activity", "records", &id, "--state", "failed"]);
    let shown = place.run(["activity", "show", &id, "--json"]).succeeds().object();
    let next = shown["next"].as_str().unwrap();
    assert!(next.contains(&format!("strongroom activity retry-failed {id}")), "{next}");
    // A folder does not tell what has changed.
    place.run(["activity", "retry-failed", &id]).succeeds();
    place.run(["activity", "run", "copy", "--input", &id, "--follow", "--wait"]);
    let failed = place.run(["activity", "records", &id, "--state", "failed", "--json"]).succeeds().object();
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("--anew") && !error.contains("--only-changed"), "{error}");
    place.run(["activity", "cancel", &id]).succeeds();
    place.run(["activity", "retry-failed", &id]).fails(4, &["cancelled", "activity rerun"]);
    place.write("catalogue.toml", PIPELINE);
    place.run(["pipeline", "set", "catalogue", "catalogue.toml"]).succeeds();
    let answer = place.run(["pipeline", "run", "catalogue", "--wait", "--json"]);
    assert_eq!(answer.code, Some(1));
    assert!(answer.stderr.contains("1 record failed") && answer.stderr.contains("next: "), "{answer:?}");

    // One that fails as a whole, because its source is not there.
    let web = WebDouble::start();
    web.on("/api", Behaviour::Status(404));
    let hosts = web.authority();
    let allowing =
        [("STRONGROOM_INGEST__URL_HOSTS", hosts.as_str()), ("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "true")];
    let url = format!("url={}", web.url("/api"));
    let harvest = ["activity", "run", "harvest", "--option", "kind=json", "--option", &url, "--json"];
    let made = place.run_with(&allowing, harvest).succeeds().object();
    let id = made["activity"].as_str().unwrap().to_owned();
    let follow = ["activity", "run", "copy", "--input", &id, "--follow", "--wait", "--json"];
    let answer = place.run_with(&allowing, follow);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let shown = place.run(["activity", "show", &id, "--json"]).succeeds().object();
    assert_eq!(shown["state"], "failed", "{shown}");
    assert!(shown["next"].as_str().unwrap().contains(&format!("strongroom activity restart {id}")), "{shown}");
    assert!(answer.stderr.contains(&format!("{id}, which has failed")), "{answer:?}");
    assert_eq!(next_of(&answer.stderr), ["activity", "restart", &id]);
}

const PIPELINE: &str = "[[steps]]
name = \"harvest\"
agent = \"harvest\"
options = { kind = \"folder\", path = \"catalogue\" }

[[steps]]
name = \"pass-on\"
agent = \"copy\"
";

#[test]
fn a_check_of_the_state_fails_where_anything_needs_a_person() {
    let place = Place::with_home();
    place.run(["status", "--check"]).succeeds();
    place.write("catalogue/torn.xml", "<record>torn");
    let id = harvested(&place);
    place.run(["config", "check"]).succeeds();
    place.run(["status"]).succeeds();
    let answer = place.run(["status", "--check"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("records that failed"), "{answer:?}");
    assert_eq!(place.run(["status", "--check", "--json"]).code, Some(1));
    place.run(["activity", "cancel", &id]).succeeds();
    place.run(["status", "--check"]).succeeds();
}

#[test]
fn shortened_names_can_be_given_as_they_are_shown() {
    let place = Place::with_home();
    place.write("catalogue/a-long-name-of-a-record.xml", "<record>one</record>");
    place.write("catalogue/another-name-of-a-record.xml", "<record>two</record>");
    let harvest = harvested(&place);
    let records = place.run(["activity", "records", &harvest, "--json"]).succeeds().json();
    let document = records[0]["result"].as_str().unwrap();
    let end = document.get(document.len() - 12..).unwrap();
    let uuid = document.strip_prefix("urn:uuid:").unwrap();
    let whole = place.run(["activity", "document", document]).succeeds().stdout;
    for part in [
        format!("urn:uuid:{}…{end}", uuid.get(..3).unwrap()),
        format!("urn:uuid:{}...{end}", uuid.get(..3).unwrap()),
        uuid.get(..30).unwrap().to_owned(),
    ] {
        assert_eq!(place.run(["activity", "document", &part]).succeeds().stdout, whole, "{part}");
    }
    place.run(["activity", "document", "urn:uuid:…"]).fails(3, &["no document"]);
    let history = |name: &str| place.run(["activity", "provenance", "--entity", name]);
    history("a-long-name-of-a-record.xml").succeeds();
    assert_eq!(
        history(&format!("urn:uuid:{}…{end}", uuid.get(..3).unwrap())).succeeds().stdout,
        history(document).stdout
    );
    // Records have no index of their names.
    history("a-long…record.xml").fails(3, &["a-long…record.xml", "activity records ACTIVITY --long"]);
}
