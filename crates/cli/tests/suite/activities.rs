//! `activity`: a harvest and its deposits by the real program.

use strongroom_database::testing::Scratch;

use crate::program::Place;

/// A home with an institution, and a folder with a record of each of these titles.
fn place(titles: &[&str]) -> Place {
    let place = Place::with_home();
    for title in titles {
        place.write(
            &format!("catalogue/{title}.xml"),
            format!(
                "<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
                 xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>{title}</dc:title></oai_dc:dc>"
            ),
        );
    }
    place
}

const HARVEST: [&str; 8] =
    ["activity", "run", "harvest", "--option", "kind=folder", "--option", "path=catalogue", "--json"];

fn harvested(place: &Place) -> String {
    let made = place.run(HARVEST.iter().chain(&["--wait"])).succeeds().json();
    assert_eq!(made[0]["state"], "finished", "{made:?}");
    made[0]["activity"].as_str().unwrap().to_owned()
}

#[test]
fn a_harvest_and_its_deposit_make_objects() {
    let place = place(&["Harbour", "Hills"]);
    let harvest = harvested(&place);
    let shown = place.run(["activity", "show", &harvest, "--json"]).succeeds().json();
    for (key, value) in
        [("populated", 2), ("todo", 0), ("processing", 0), ("processed", 2), ("failed", 0), ("cancelled", 0)]
    {
        assert_eq!(shown[0][key], value, "{key}");
    }
    let made = place.run(["activity", "run", "deposit", "--input", &harvest, "--wait", "--json"]).succeeds().json();
    let deposit = made[0]["activity"].as_str().unwrap();
    let items = place.run(["items", "list", "--json"]).succeeds().json();
    assert_eq!(items.len(), 2);
    let records = place.run(["activity", "records", deposit, "--state", "processed", "--json"]).succeeds().json();
    assert!(records.iter().all(|record| items.iter().any(|item| item["item"] == record["result"])), "{records:?}");
    let csv = place.run(["activity", "records", deposit, "--csv"]).succeeds().stdout;
    assert!(
        csv.starts_with("record,state,attempts,changed_at,result,error,object,path,outcome,version,message\r\n"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

#[test]
fn an_activity_is_named_by_a_part_of_its_identifier_and_controlled() {
    let place = place(&["Harbour"]);
    let made = place.run(HARVEST).succeeds().json();
    let id = made[0]["activity"].as_str().unwrap();
    assert_eq!(made[0]["state"], "queued");
    let end = id.get(id.len() - 6..).unwrap();
    let part = format!("{}...{end}", id.get(..4).unwrap());
    let state = |answer: &crate::program::Answer| answer.json()[0]["state"].as_str().unwrap().to_owned();
    assert_eq!(state(&place.run(["activity", "pause", &part, "--json"]).succeeds()), "paused");
    assert_eq!(state(&place.run(["activity", "resume", &part, "--json"]).succeeds()), "queued");
    assert_eq!(place.run(["activity", "restart", id]).code, Some(4));
    assert_eq!(state(&place.run(["activity", "cancel", id, "--json"]).succeeds()), "cancelled");
    let again = place.run(["activity", "rerun", id, "--anew", "--json"]).succeeds().json();
    assert_eq!((again[0]["state"].as_str(), again[0]["run"].as_u64()), (Some("queued"), Some(2)));
    assert_eq!(place.run(["activity", "retry-failed", id, "--json"]).succeeds().json()[0]["records"], 0);
    let listed = place.run(["activity", "list", "--state", "queued", "--json"]).succeeds().json();
    assert_eq!(listed.len(), 1);
}

/// A harvest of the folder, its documents passed on, and their deposit.
const CATALOGUE: &str = "[[steps]]
name = \"harvest\"
agent = \"harvest\"
options = { kind = \"folder\", path = \"catalogue\" }

[[steps]]
name = \"pass-on\"
agent = \"copy\"
options = { chunk = 10 }

[[steps]]
name = \"deposit\"
agent = \"deposit\"
";

#[test]
fn one_command_runs_all_steps_of_a_pipeline() {
    let place = place(&["Harbour", "Hills"]);
    place.write("catalogue.toml", CATALOGUE);
    let set = place.run(["pipeline", "set", "catalogue", "catalogue.toml", "--json"]).succeeds().object();
    assert_eq!(
        (set["problems"].as_array().unwrap().len(), set["set"]["steps"][2]["agent"].as_str()),
        (0, Some("deposit"))
    );
    // The folder is the same for whoever runs it, wherever.
    let path = set["set"]["steps"][0]["options"]["path"].as_str().unwrap();
    assert!(path.starts_with('/') && path.ends_with("/catalogue"), "{path}");
    let ran = place.run(["pipeline", "run", "catalogue", "--wait", "--json"]).succeeds().object();
    let states: Vec<&str> =
        ran["activities"].as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!((ran["run"].as_u64(), states), (Some(1), vec!["finished"; 3]));
    assert_eq!(place.run(["items", "list", "--json"]).succeeds().json().len(), 2);
    let last = ran["activities"][2]["activity"].as_str().unwrap();
    let shown = place.run(["activity", "show", last]).succeeds().stdout;
    assert!(shown.lines().any(|line| line.starts_with("pipeline ") && line.ends_with("catalogue")), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("step ") && line.ends_with('3')), "{shown}");
    // Without --wait the activities wait for workers.
    let ran = place.run(["pipeline", "run", "catalogue", "--json"]).succeeds().object();
    assert_eq!((ran["run"].as_u64(), ran["activities"][0]["state"].as_str()), (Some(2), Some("queued")));
    assert_eq!(place.run(["pipeline", "list", "--json"]).succeeds().object()["last_run"]["run"], 2);
    place
        .run(["pipeline", "run", "catalogue", "--only-changed"])
        .fails(2, &["does not tell what has changed", "next:"]);
    place.run(["pipeline", "remove", "catalogue"]).succeeds();
    place.run(["pipeline", "run", "catalogue"]).fails(3, &["pipeline", "strongroom pipeline list"]);
    let shown = place.run(["activity", "show", last, "--json"]).succeeds().object();
    assert_eq!((shown["pipeline"].as_str(), shown["pipeline_run"].as_u64()), (Some("catalogue"), Some(1)));
}

#[test]
fn a_pipeline_that_is_waited_for_says_whether_anything_failed() {
    let place = place(&["Harbour"]);
    place.write("catalogue/torn.xml", "<record>torn");
    place.write("catalogue.toml", CATALOGUE);
    place.run(["pipeline", "set", "catalogue", "catalogue.toml"]).succeeds();
    let answer = place.run(["pipeline", "run", "catalogue", "--wait", "--json"]);
    assert_eq!(answer.code, Some(1));
    let ran = answer.object();
    assert_eq!(ran["activities"][0]["state"], "finished_with_errors");
    assert_eq!(
        (ran["activities"][2]["state"].as_str(), ran["activities"][2]["processed"].as_u64()),
        (Some("finished"), Some(1))
    );
}

#[test]
fn a_pipeline_with_mistakes_is_refused_with_all_of_them() {
    let place = place(&["Harbour"]);
    let wrong = CATALOGUE.replace("chunk = 10", "chunk = 0").replace("agent = \"deposit\"", "agnt = \"deposit\"");
    place.write("wrong.toml", wrong);
    let answer = place.run(["pipeline", "set", "catalogue", "wrong.toml"]);
    assert_eq!(answer.code, Some(1));
    for told in [
        "wrong.toml line 6, step 2 (pass-on): the options of the agent copy cannot be used",
        "wrong.toml line 13, step 3 (deposit): the key \"agnt\" is unknown",
        "  next: did you mean agent?",
        "wrong.toml line 11, step 3 (deposit): it has no agent",
        "refused: pipeline catalogue was not set",
    ] {
        assert!(answer.stdout.contains(told), "{told}: {}", answer.stdout);
    }
    place.run(["pipeline", "show", "catalogue"]).fails(3, &["no pipeline"]);
    place.run(["pipeline", "set", "catalogue", "missing.toml"]).fails(3, &["missing.toml"]);
    place.run(["pipeline", "set", "a b", "wrong.toml"]).fails(2, &["cannot name a pipeline"]);
}

/// A home with a deposit of these files, and a tool `scanner` that says of files with the word `virus` that they have one.
fn scanned(files: &[(&str, &str)]) -> (Place, String) {
    let place = Place::with_home();
    for (name, text) in files {
        place.write(&format!("letters/{name}"), text);
    }
    place.run(["deposit", "letters", "--institution", "example.edu", "--type", "folder", "--wait"]).succeeds();
    place.write(
        "home/scanner.toml",
        "name = \"scanner\"\nprogram = \"/bin/sh\"\n\
         arguments = [\"-c\", 'if grep -q virus \"$1\"; then echo \"a virus of the test\"; exit 1; fi', \"sh\", \"{file}\"]\n\
         rules = [{ exit = [0], outcome = \"pass\" }, { exit = [1], outcome = \"fail\" }]\n",
    );
    let settings = std::fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    let tool = "\n[tools.scanner]\nconfiguration = \"scanner.toml\"\nevent = \"virus check\"\n";
    place.write("home/strongroom.toml", settings + tool);
    let answer = place.run(["activity", "run", "tool", "--option", "tool=scanner", "--wait", "--json"]);
    let made = answer.json();
    assert_eq!(made[0]["state"], "finished", "{made:?}");
    let found = files.iter().filter(|(_, text)| text.contains("virus")).count() as u64;
    assert_eq!(
        (made[0]["tool_passed"].as_u64(), made[0]["tool_failed"].as_u64()),
        (Some(files.len() as u64 - found), Some(found))
    );
    let id = made[0]["activity"].as_str().unwrap().to_owned();
    // What was found is no failure of the activity, and the answer of the command is no.
    assert_eq!(answer.code, Some(i32::from(found > 0)), "{answer:?}");
    let next = format!("next: \"strongroom activity findings --activity {id}\"");
    assert_eq!(answer.stderr.contains(&next), found > 0, "{answer:?}");
    (place, id)
}

#[test]
fn a_virus_in_a_harvested_document_is_found_and_the_document_can_be_read() {
    let (place, _) = scanned(&[("a.txt", "clean")]);
    place.write("catalogue/two.xml", "<record>a virus</record>");
    let harvest = harvested(&place);
    let answer = place.run(["activity", "run", "tool", "--option", "tool=scanner", "--input", &harvest, "--wait"]);
    let next = answer.stderr.lines().find(|line| line.contains("next:")).unwrap();
    let command: Vec<&str> = next.split('"').nth(1).unwrap().split(' ').skip(1).collect();
    let listed = place.run(command.iter().chain(&["--json"]));
    assert_eq!((answer.code, listed.code), (Some(1), Some(1)), "{answer:?}");
    let found = listed.object();
    assert_eq!((found["record"].as_str(), found["object"].as_str()), (Some("two.xml"), None));
    let document = found["document"].as_str().unwrap();
    let text = place.run(["activity", "document", document]).succeeds().stdout;
    assert_eq!(text, "<record>a virus</record>");
    let whole = place.run(["activity", "document", document, "--json"]).succeeds().object();
    assert_eq!((whole["record"].as_str(), whole["text"].as_str()), (Some("two.xml"), Some(text.as_str())));
    assert!(whole["media_type"].as_str().is_some_and(|kind| kind.contains("xml")), "{whole:?}");
    place.run(["activity", "document", "urn:uuid:00000000-0000-7000-8000-000000000000"]).fails(3, &["no document"]);
    // Of a record, what was made of it.
    let history = place.run(["activity", "provenance", "--entity", "two.xml"]).succeeds().stdout;
    assert!(history.contains(document) && history.contains(&harvest), "{history}");
    place.run(["activity", "provenance", "--entity", "three.xml"]).fails(3, &["three.xml", "activity records"]);
}

#[test]
fn an_activity_names_its_institution_where_there_are_several() {
    let place = place(&["Harbour"]);
    place.run(["institution", "add", "other.edu"]).succeeds();
    let answer = place.run(HARVEST);
    assert_eq!(answer.code, Some(2));
    assert!(answer.stderr.contains("--institution") && !answer.stderr.contains("deposit"), "{answer:?}");
    let made = place.run(HARVEST.iter().chain(&["--institution", "other.edu", "--wait"])).succeeds().json();
    assert_eq!(made[0]["institution"], "other.edu");
    let id = made[0]["activity"].as_str().unwrap();
    let both = ["--institution", "other.edu", "--option", "institution=example.edu"];
    place.run(HARVEST.iter().chain(&both)).fails(2, &["one institution"]);
    let behind = ["activity", "run", "copy", "--input", id, "--institution"];
    place.run(behind.iter().chain(&["example.edu"])).fails(2, &["does not belong to the institution example.edu"]);
    place.run(behind.iter().chain(&["other.edu"])).succeeds();
    let missing = ["activity", "run", "harvest", "--option", "kind=folder", "--option", "path=missing"];
    let answer = place.run(missing.iter().chain(&["--institution", "other.edu"]));
    answer.fails(3, &["missing", "check the path"]);
}

#[test]
fn what_cannot_be_continued_in_one_way_names_the_other() {
    let place = place(&["Harbour"]);
    place.write("catalogue/broken.xml", "<not closed>");
    let made = place.run(HARVEST.iter().chain(&["--wait"]));
    assert_eq!(made.code, Some(1));
    let id = made.json()[0]["activity"].as_str().unwrap().to_owned();
    place.run(["activity", "restart", &id]).fails(4, &["finished_with_errors", "activity retry-failed"]);
    place.run(["activity", "resume", &id]).fails(4, &["finished_with_errors", "activity retry-failed"]);
    let listed = place.run(["activity", "list"]).succeeds().stdout;
    assert!(listed.contains("finished_with_errors"), "{listed}");
}

#[test]
fn waiting_for_an_activity_ends_after_a_time_and_says_what_continues() {
    let place = place(&["Harbour"]);
    place.run(["deposit", "catalogue", "--type", "folder", "--wait"]).succeeds();
    place.write(
        "home/hangs.toml",
        "name = \"hangs\"\nprogram = \"/bin/sh\"\narguments = [\"-c\", \"sleep 1000\", \"sh\", \"{file}\"]\n",
    );
    let settings = std::fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    place.write("home/strongroom.toml", settings + "\n[tools.hangs]\nconfiguration = \"hangs.toml\"\n");
    let command = ["activity", "run", "tool", "--option", "tool=hangs", "--timeout", "1s"];
    place.run(command).fails(2, &["--wait"]);
    let answer = place.run(command.iter().chain(&["--wait", "--json"]));
    let id = answer.json()[0]["activity"].as_str().unwrap().to_owned();
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains("had not ended after 1s"), "{answer:?}");
    assert!(answer.stderr.contains(&format!("activity show {id}")), "{answer:?}");
    let shown = place.run(["activity", "show", &id, "--json"]).succeeds().object();
    assert_eq!((shown["failed"].as_u64(), shown["state"].as_str()), (Some(0), Some("running")));
}

#[test]
fn the_program_starts_tools_by_itself_and_says_what_they_found() {
    let (place, id) = scanned(&[("a.txt", "clean"), ("b.txt", "a virus")]);
    let records = place.run(["activity", "records", &id, "--json"]).succeeds().json();
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|record| record["state"] == "processed" && record["result"].is_string()), "{records:?}");
    let listed = place.run(["activity", "findings", "--json"]);
    assert_eq!(listed.code, Some(1));
    let found = listed.object();
    assert_eq!((found["path"].as_str(), found["detail"].as_str()), (Some("b.txt"), Some("a virus of the test")));
    let status = place.run(["status"]).succeeds().stdout;
    assert!(status.contains("1 file with a virus (strongroom activity findings)"), "{status}");
    assert!(status.contains("b.txt: scanner says a virus of the test"), "{status}");
    assert_eq!(place.run(["status", "--json"]).succeeds().object()["review"]["tool_findings"], 1);
    let finding = found["finding"].as_str().unwrap();
    place.run(["activity", "dismiss", finding, "--note", " "]).fails(2, &["a note has 1 to"]);
    place.run(["activity", "dismiss", finding, "--note", "a test"]).succeeds();
    place.run(["activity", "dismiss", finding, "--note", "a test"]).fails(4, &["dismissed"]);
    let settled = place.run(["activity", "findings", "--settled", "--json"]).succeeds().object();
    assert_eq!((settled["state"].as_str(), settled["note"].as_str()), (Some("dismissed"), Some("a test")));
    place.run(["activity", "findings"]).succeeds();
}

#[test]
fn the_command_that_starts_tools_is_for_the_program_alone() {
    let place = Place::empty();
    let answer = place.run(["tool-launcher"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""));
    assert!(answer.stderr.contains("is called by the program itself"), "{answer:?}");
    assert!(!place.run(["help"]).succeeds().stdout.contains("tool-launcher"));
}

/// Lists that are not finished, documents, provenance and watermarks go with everything else, and work goes on where it was.
#[test]
fn activities_move_to_postgresql_with_their_lists_documents_and_provenance() {
    let Some(database) = Scratch::new() else { return };
    let place = place(&["Harbour", "Hills", "Rivers"]);
    place.write("catalogue/broken.xml", "<not closed>");
    let made = place.run(HARVEST.iter().chain(&["--wait"])).json();
    assert_eq!(made[0]["state"], "finished_with_errors", "{made:?}");
    let harvest = made[0]["activity"].as_str().unwrap();
    let waiting = place.run(["activity", "run", "copy", "--input", harvest, "--follow", "--json"]).succeeds().json();
    let waiting = waiting[0]["activity"].as_str().unwrap();
    let told = || {
        [
            vec!["activity", "list", "--json"],
            vec!["activity", "show", harvest, "--json"],
            vec!["activity", "records", harvest, "--json"],
            vec!["activity", "show", waiting, "--json"],
        ]
        .map(|command| place.run(command).succeeds().stdout)
    };
    let before = told();
    let moved = place.run(["migrate", "--to", &database.url(), "--json"]).succeeds().json();
    let rows = |table: &str| moved.iter().find(|moved| moved["table"] == table).unwrap()["rows"].as_u64().unwrap();
    for (table, expected) in
        [("activities", 2), ("record_lists", 2), ("records", 4), ("documents", 3), ("entities", 3), ("provenance", 3)]
    {
        assert_eq!(rows(table), expected, "{table}: {moved:?}");
    }
    assert_eq!(told(), before);
    // What waited goes on, and what was harvested can be deposited.
    let made = place.run(["activity", "run", "deposit", "--input", harvest, "--wait", "--json"]).succeeds().json();
    assert_eq!((&made[0]["state"], &made[0]["processed"]), (&"finished".into(), &3.into()), "{made:?}");
    place.run(["activity", "run", "copy", "--input", waiting, "--follow", "--wait"]).succeeds();
    let copied = place.run(["activity", "show", waiting, "--json"]).succeeds().json();
    assert_eq!((&copied[0]["state"], &copied[0]["processed"]), (&"finished".into(), &3.into()), "{copied:?}");
    let again = place.run(["activity", "rerun", harvest, "--anew", "--json"]).succeeds().json();
    assert_eq!(again[0]["run"], 2);
}

#[test]
fn what_follows_an_activity_that_a_person_has_to_act_on_is_not_waited_for() {
    let place = place(&["Harbour"]);
    let made = place.run(HARVEST).succeeds().json();
    let harvest = made[0]["activity"].as_str().unwrap();
    place.run(["activity", "pause", harvest]).succeeds();
    let ended = place.run(["activity", "run", "deposit", "--input", harvest, "--follow", "--wait", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.json()[0]["waits_for"], harvest);
}

#[test]
fn status_names_activities_with_failures_until_they_are_given_up() {
    let place = place(&["Harbour"]);
    place.write("catalogue/broken.xml", "<not closed>");
    let made = place.run(HARVEST.iter().chain(&["--wait"]));
    assert_eq!(made.code, Some(1), "{made:?}");
    let said = place.run(["status"]).succeeds().stdout;
    let told = "1 activity ended with records that failed (strongroom activity list --state finished_with_errors)";
    assert!(said.contains(told) && said.contains("harvest: 1 record failed"), "{said}");
    place.run(["activity", "cancel", made.json()[0]["activity"].as_str().unwrap()]).succeeds();
    let said = place.run(["status"]).succeeds().stdout;
    assert!(!said.contains("records that failed"), "{said}");
}
