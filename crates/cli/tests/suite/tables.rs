//! What tables show to people: what damage is called, how wide they are, and what they say in full.

use std::fmt::Write as _;
use std::fs;

use unicode_width::UnicodeWidthStr as _;

use crate::program::Place;

/// What is kept.
const OBJECT: &str = "example.edu/greeting";
/// The first of their paths.
const PATH: &str = "data/a folder for photographs of 1873/another greeting.txt";

/// A home that keeps one bag, in which two files have equal bytes.
fn with_object() -> Place {
    let place = Place::with_home();
    place.write("greeting-payload/a folder for photographs of 1873/another greeting.txt", "hello\n");
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    place
}

/// Changes the copies of the bag's payload in these stores.
fn damage(place: &Place, stores: &[&str]) {
    for store in stores {
        let copies = place.files(&format!("home/stores/{store}")).into_iter().filter(|(_, bytes)| bytes == b"hello\n");
        let copies: Vec<_> = copies.map(|(path, _)| path).collect();
        assert_eq!(copies.len(), 1);
        fs::write(&copies[0], "hullo\n").unwrap();
    }
}

#[test]
fn what_is_damaged_is_named_by_its_paths_in_the_package() {
    let place = with_object();
    damage(&place, &["primary", "secondary"]);
    let inventory = place.files("home/stores/primary").into_keys().find(|path| path.ends_with("inventory.json"));
    fs::write(inventory.unwrap(), "nothing").unwrap();
    place.run(["fixity", "run", "--all"]);
    let found = place.run(["fixity", "problems", "--all", "--json"]).json();
    let damaged: Vec<_> = found.iter().filter(|finding| finding["kind"] == "damaged").collect();
    assert_eq!(damaged.len(), 2, "{found:?}");
    for finding in damaged {
        assert_eq!((&finding["path"], &finding["more_paths"]), (&PATH.into(), &1.into()), "{finding}");
        assert!(finding["key"].as_str().unwrap().contains("/content/"), "{finding}");
    }
    let inventory = found.iter().find(|finding| finding["kind"] == "inventory").expect("a finding");
    assert_eq!((&inventory["path"], &inventory["more_paths"]), (&serde_json::Value::Null, &0.into()), "{inventory}");
    let said = place.run(["fixity", "problems", "-l"]).stdout;
    assert!(said.contains(&format!("  {OBJECT}: {PATH} and 1 more  primary  ")), "{said}");
    let name = format!("{OBJECT}: {PATH} and 1 more");
    let status = place.run(["status"]).succeeds().stdout;
    for store in ["primary", "secondary"] {
        assert!(status.contains(&format!("  {name} is damaged in store {store}\n")), "{status}");
    }
    let first = &place.run(["status", "--json"]).succeeds().object()["review"]["findings"][0];
    assert_eq!((&first["object"], &first["path"], &first["more_paths"]), (&OBJECT.into(), &PATH.into(), &1.into()));
    let stores = place.run(["store", "check", "secondary", "--json"]).object();
    let message = stores["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("1 finding is open: {name} is damaged in store secondary; ")), "{message}");
    let repair = place.run_with(&[("COLUMNS", "200")], ["fixity", "repair"]);
    assert!(repair.stdout.contains(&format!("  {name}  secondary  unrepairable")), "{repair:?}");
    let told = place.run(["fixity", "repair", "--json"]);
    assert_eq!((&told.json()[0]["object"], &told.json()[0]["path"]), (&OBJECT.into(), &PATH.into()), "{told:?}");
    let events = place.run(["objects", "events", OBJECT, "--json"]).succeeds().json();
    let damage = |event: &&serde_json::Value| event["outcome"] == "failure";
    for event in events.iter().filter(damage) {
        let detail = event["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("{OBJECT} in store ")) || detail.contains(&name), "{event}");
    }
}

#[test]
fn two_copies_of_one_file_are_two_problems_that_can_be_told_apart() {
    let place = with_object();
    damage(&place, &["primary", "secondary"]);
    place.run(["fixity", "run", "--all"]);
    let narrow = |arguments: &[&str]| place.run_with(&[("COLUMNS", "80")], arguments).stdout;
    let said = narrow(&["problems", "list"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for store in ["primary", "secondary"] {
        assert!(said.contains(&format!(", in {store}")), "{said}");
    }
    let wide = place.run_with(&[("COLUMNS", "200")], ["problems", "list"]).stdout;
    let titles: Vec<&str> = wide.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(titles, ["PROBLEM", "KIND", "STATE", "SUBJECT", "OPEN", "SINCE", "STORE", "ASSIGNED", "TO"]);
    let next = place.run(["problems", "list", "--json"]).json()[0]["next"].clone();
    assert_eq!(next, "strongroom deposit PACKAGE --institution example.edu --primary-id greeting --wait");
}

#[test]
fn what_a_report_needs_is_never_cut_and_long_tables_have_every_column() {
    let place = with_object();
    let narrow = |arguments: &[&str]| place.run_with(&[("COLUMNS", "80")], arguments).succeeds().stdout;
    place.run(["background", "run", "statistics"]).succeeds();
    let by_day = narrow(&["report", "deposits", "--by", "day"]);
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let days = [today.to_string(), today.yesterday().unwrap().to_string()];
    assert!(!by_day.contains('…') && days.iter().any(|day| by_day.contains(day)), "{by_day}");
    let by_institution = narrow(&["report", "deposits"]);
    assert!(by_institution.contains("\nexample.edu  ") && !by_institution.contains('…'), "{by_institution}");
    let all = narrow(&["report", "deposits", "-l"]);
    assert!(all.contains("RESTORATIONS") && all.contains("DELETED OBJECTS"), "{all}");
    let exported = narrow(&["audit", "export", "exported", "-l"]);
    let chains = narrow(&["audit", "list", "-l"]);
    for (table, name) in [(&exported, "PATH"), (&chains, "SIGNING KEY")] {
        let titles = table.lines().next().unwrap();
        assert!(titles.contains("SHA256") && titles.contains(name) && !table.contains('…'), "{table}");
        let has_digest = |row: &str| row.split_whitespace().any(|cell| cell.len() == 64);
        assert!(table.lines().skip(1).all(has_digest), "{table}");
    }
}

#[test]
fn bytes_without_a_price_are_named_with_the_setting() {
    let place = with_object();
    let next = "have no price and are in no cost; next: set statistics.prices in strongroom.toml";
    place.run(["background", "run", "statistics"]).succeeds();
    let cost = place.run(["report", "cost"]).succeeds();
    assert!(cost.stderr.contains(next), "{cost:?}");
    assert!(!place.run(["report", "cost", "--json"]).succeeds().stderr.contains(next));
    let priced = [("STRONGROOM_STATISTICS__PRICES", "primary=5,secondary=5,third=9")];
    let cost = place.run_with(&priced, ["report", "cost"]).succeeds();
    assert!(!cost.stderr.contains(next), "{cost:?}");
    let checked = place.run_with(&priced, ["config", "check"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(checked.contains("if the name is misspelt, correct it in statistics.prices"), "{checked}");
}

#[test]
fn what_is_not_appended_yet_is_not_said_to_be_nothing() {
    let place = Place::with_home();
    let listed = place.run(["audit", "list"]).succeeds();
    assert_eq!(listed.stdout, "nothing is appended yet\n", "{listed:?}");
}

#[test]
fn a_collection_with_its_institution_and_a_name_in_other_letters_are_answered_with_what_to_write() {
    let place = with_object();
    place.run(["institution", "add", "example.org"]).succeeds();
    let both = ["deposit", "greeting.tar", "--collection", "example.edu/letters"];
    place.run(both).fails(2, &["next: give --institution example.edu --collection letters"]);
    place.run(["institution", "add", "\u{43c}\u{443}\u{437}\u{435}\u{439}.example"]).fails(2, &["begins with xn--"]);
    let away = place.path("home/stores/secondary");
    fs::rename(&away, place.path("unplugged")).unwrap();
    let checked = place.run(["store", "check", "secondary"]);
    assert!(checked.code == Some(5) && checked.stderr.contains("next: make the store reachable again"), "{checked:?}");
}

#[test]
fn events_are_listed_with_their_stores_and_by_type_outcome_and_time() {
    let place = with_object();
    damage(&place, &["secondary"]);
    place.run(["fixity", "run", "--all"]);
    let listed = |arguments: &[&str]| {
        let arguments = ["objects", "events", OBJECT].iter().chain(arguments);
        place.run_with(&[("COLUMNS", "80")], arguments).succeeds().stdout
    };
    let failed = listed(&["--outcome", "failure"]);
    let rows: Vec<&str> = failed.lines().skip(1).collect();
    assert!(matches!(rows[..], [row] if row.contains("  fixity check  failure  secondary")), "{failed}");
    let json = |arguments: &[&str]| {
        let arguments = ["objects", "events", OBJECT, "--json"].iter().chain(arguments);
        place.run(arguments).succeeds().json()
    };
    let all = json(&[]);
    let stores_of = |kind: &str| all.iter().find(|event| event["type"] == kind).expect("an event")["stores"].clone();
    assert_eq!(stores_of("replication"), serde_json::json!(["primary", "secondary"]));
    assert_eq!(stores_of("recovery"), serde_json::json!(["secondary"]));
    assert_eq!(stores_of("message digest calculation"), serde_json::json!([]));
    assert!(listed(&["--type", "replication"]).contains("  2 stores  "), "{}", listed(&["--type", "replication"]));
    assert!(listed(&["--type", "replication", "-l"]).contains("  primary, secondary  "));
    let recoveries = json(&["--type", "recovery"]);
    assert_eq!(recoveries.len(), 1);
    // The repair follows the damage that was found.
    let since = recoveries[0]["time"].as_str().unwrap();
    let late = json(&["--since", since]);
    let time = |event: &serde_json::Value| event["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(!late.is_empty() && late.len() < all.len());
    assert!(late.iter().all(|event| time(event) >= since.parse().unwrap()), "{late:?}");
    let mut turned = json(&["--reverse"]);
    turned.reverse();
    assert_eq!(turned, all);
    assert_eq!(json(&["--reverse", "--limit", "1"])[..], all[all.len() - 1..]);
    assert_eq!(listed(&["--type", "virus check"]), "it has no such events\n");
    place.run(["objects", "events", OBJECT, "--type", "fixity"]).fails(2, &["type of event", "fixity check"]);
    place.run(["objects", "events", OBJECT, "--outcome", "failed"]).fails(2, &["success, failure, warning"]);
}

#[test]
fn the_log_names_what_is_damaged_before_its_key() {
    let place = with_object();
    damage(&place, &["primary"]);
    let name = format!("{OBJECT}: {PATH} and 1 more");
    let told = place.run(["fixity", "run", "--all"]);
    for words in ["damage found", "damage repaired"] {
        let line = told.stderr.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{told:?}"));
        let (before, _) = line.split_once("/content/").unwrap_or_else(|| panic!("{line}"));
        assert!(before.contains(&name), "{line}");
    }
}

#[test]
fn files_are_listed_with_what_is_wrong_with_their_copies() {
    let place = with_object();
    let listed = || place.run_with(&[("COLUMNS", "100")], ["objects", "files", OBJECT]).succeeds().stdout;
    let row = |said: &str| said.lines().find(|line| line.contains("/another greeting.txt")).expect("a row").to_owned();
    assert!(row(&listed()).contains("  2/2 ok"), "{}", listed());
    damage(&place, &["secondary"]);
    fs::remove_dir_all(place.path("home/stores/primary")).unwrap();
    place.run(["fixity", "run", "--all"]);
    assert!(row(&listed()).contains("  1/2 ok, damaged in secondary"), "{}", listed());
}

/// What differs from run to run, and a text of the same width.
const VARYING: [(&str, &str); 6] = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "01234567-89ab-7def-0123-456789abcdef"),
    (r"[0-9a-f]{8}…[0-9a-f]{4}\b", "01234567…cdef"),
    (r"batch 01…[0-9a-f]{7}\b", "batch 01…9abcdef"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-07-01 12:34:56"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d\b", "2026-07-01 12:34"),
    (r"\b\d{5} bytes w…", "12345 bytes w…"),
];

/// Who acts.
const LIBRARIAN: &str = "ann.librarian@a-rather-long-domain-name.example.org";

/// A home of several institutions, with names that are long, wide, or written from right to left, a damaged copy, and a deposit
/// that failed.
fn hostile() -> Place {
    let place = Place::with_home_of(LIBRARIAN);
    for (institution, name) in
        [("library.a-rather-long-domain-name.example.org", "The Library"), ("jp.example.org", "図書館")]
    {
        place.run(["institution", "add", institution, "--name", name]).succeeds();
    }
    let long = "photographs-of-the-expedition-of-1873-with-a-name-that-goes-on-and-on-box-17";
    let names = [
        ("short", "example.edu", "a.txt"),
        (
            long,
            "library.a-rather-long-domain-name.example.org",
            "box 17/another photograph of the expedition (copy).txt",
        ),
        ("cjk", "jp.example.org", "図書館の資料保存/保存計画に関する報告書（平成二十八年度版）の付録一覧.txt"),
        ("rtl", "example.edu", "קובץ ארוך מאוד עם שם/تقرير\u{202e}.txt"),
    ];
    for (name, institution, path) in names {
        place.write(&format!("{name}-payload/{path}"), format!("{name}\n"));
        place.bag(name, "hello\n");
        place.run(["deposit", &format!("{name}.tar"), "--institution", institution, "--wait"]).succeeds();
    }
    place.write("broken/data/a.txt", "no bag\n");
    assert_eq!(
        place.run(["deposit", "broken", "--type", "bag", "--institution", "example.edu", "--wait"]).code,
        Some(1)
    );
    for store in ["primary", "secondary"] {
        let copies = place.files(&format!("home/stores/{store}"));
        let (copy, _) = copies.into_iter().find(|(_, bytes)| bytes == b"rtl\n").expect("a copy");
        fs::write(copy, "lost\n").unwrap();
    }
    place.run(["fixity", "run", "--all"]);
    place
}

/// Commands with tables.
const TABLES: [&[&str]; 19] = [
    &["items", "list"],
    &["items", "list", "--long"],
    &["items", "list", "--status", "succeeded", "--limit", "2", "--reverse"],
    &["batches", "list"],
    &["objects", "list"],
    &["objects", "files", "jp.example.org/cjk"],
    &["objects", "files", "example.edu/rtl"],
    &["objects", "events", "example.edu/short"],
    &["objects", "versions", "example.edu/short"],
    &["fixity", "report"],
    &["fixity", "problems"],
    // What the account of the process has done differs in width from machine to machine.
    &["journal", "list", "--actor", LIBRARIAN],
    &["queue", "list"],
    &["receiving", "list"],
    &["institution", "list"],
    &["collection", "list"],
    &["profile", "list"],
    &["store", "check"],
    &["config", "check"],
];

#[test]
fn tables_fit_the_width_of_the_terminal() {
    let place = hostile();
    for width in [80, 200] {
        // The details of events name keys, which differ from run to run.
        let is_shown = |command: &&&[&str]| width == 80 || !command.contains(&"events");
        let commands: Vec<&[&str]> = TABLES.iter().filter(is_shown).copied().collect();
        snapshot(&place, &format!("{width}_columns"), width, &commands);
    }
    let items = place.run(["items", "list", "--status", "succeeded", "--json"]).succeeds().json();
    let (item, batch) = (items[0]["item"].as_str().unwrap(), items[0]["batch"].as_str().unwrap());
    // A task that waits for a worker.
    place.bag("later", "later\n");
    place.run(["deposit", "later.tar", "--institution", "example.edu", "--detach"]).succeeds();
    let history = ["items", "history", item];
    for width in [80, 200] {
        let others: [&[&str]; 6] = [
            &["store", "list"],
            &["config", "show"],
            &["bag", "codes"],
            &["batches", "report", batch],
            &["queue", "show", "ingest.receive"],
            &history,
        ];
        // Where there is room, the history names workers, which differ from run to run.
        let shown = if width == 80 { &others[..] } else { &others[..5] };
        snapshot(&place, &format!("others_{width}_columns"), width, shown);
    }
    table_of(&place, 200, &history);
    let root = "home/stores/primary/example.edu";
    let long: [&[&str]; 6] = [
        &["status"],
        &["signatures", "show"],
        &["ocfl", "info", root],
        &["ocfl", "info", root, "example.edu/short"],
        &["objects", "show", "example.edu/short"],
        &["items", "show", item],
    ];
    for command in long {
        let lines = table_of(&place, 80, command);
        assert!(lines.iter().all(|line| !line.ends_with(' ')), "{lines:?}");
    }
    let status = table_of(&place, 80, &["status"]).join("\n");
    assert!(status.contains("to review"), "{status}");
}

/// The lines of a table of a terminal of this width, none of which is wider.
fn table_of(place: &Place, width: usize, command: &[&str]) -> Vec<String> {
    let columns = width.to_string();
    let said = place.run_with(&[("COLUMNS", columns.as_str()), ("TZ", "UTC")], command).stdout;
    if !command.contains(&"--long") {
        assert!(said.lines().all(|line| line.width() <= width), "{said}");
    }
    said.lines().map(str::to_owned).collect()
}

fn snapshot(place: &Place, name: &str, width: usize, commands: &[&[&str]]) {
    let mut text = String::new();
    for command in commands {
        let mut lines = table_of(place, width, command);
        if command.contains(&"events") {
            // What happened at one moment comes in the order of random identifiers.
            lines.sort_unstable_by(|one, other| (one.get(16..), one).cmp(&(other.get(16..), other)));
        }
        let _ = writeln!(text, "$ strongroom {}\n{}\n", command.join(" "), lines.join("\n"));
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    for (pattern, same) in VARYING {
        settings.add_filter(pattern, same);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_spreadsheet_has_every_field_and_computes_nothing() {
    let place = Place::with_home();
    place.run(["institution", "add", "other.edu", "--name", "=1+1, \"x\""]).succeeds();
    let said = place.run(["institution", "list", "--csv"]).succeeds().stdout;
    let lines: Vec<&str> = said.split("\r\n").collect();
    assert_eq!(lines[0], "institution,name,active,staging_quota,storage_quota,second_factor_required,created_at");
    assert!(lines[1].starts_with("example.edu,Example University,true,") && lines[1].ends_with('Z'), "{said}");
    assert!(lines[2].starts_with("other.edu,\"'=1+1, \"\"x\"\"\",true,"), "{said}");
    let json = place.run(["institution", "list", "--json"]).succeeds().json();
    let keys: Vec<&String> = json[0].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), lines[0].split(',').count());
    assert_eq!(place.run(["items", "list", "--csv"]).succeeds().stdout.lines().count(), 1, "the names of the fields");
    place.run(["items", "list", "--csv", "--json"]).fails(2, &["--csv"]);
}

#[test]
fn a_spreadsheet_without_rows_has_the_same_header() {
    // What a home has of its own is in the first list, what a deposit and a damaged copy add in the second.
    let kept = ["institution list", "collection list", "profile list", "store list", "background list", "config show"];
    let empty = [
        "items list",
        "batches list",
        "objects list",
        "objects search greeting",
        "fixity problems --all",
        "journal list --actor nobody@example.org",
        "receiving list",
        "queue show ingest.receive",
    ];
    let place = Place::with_home();
    let csv = |place: &Place, command: &str| place.run(command.split(' ').chain(["--csv"])).stdout;
    let header = |text: &str| text.lines().next().map(str::to_owned).unwrap_or_default();
    let before: Vec<String> = empty.iter().map(|command| csv(&place, command)).collect();
    assert!(before.iter().all(|text| text.lines().count() == 1), "{before:?}");
    place.bag("greeting", "hello\n");
    place.bag("later", "later\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    damage(&place, &["secondary"]);
    place.run(["fixity", "run", "--all"]);
    place.run(["deposit", "later.tar", "--detach"]).succeeds();
    place.write("home/stores/receiving/example.edu/upload.tar", "no package");
    place.run(["background", "run", "receiving"]).succeeds();
    for (command, before) in empty.iter().zip(&before) {
        let after = csv(&place, command.strip_suffix(" --actor nobody@example.org").unwrap_or(command));
        assert_eq!((header(&after), *command), (header(before), *command));
        assert!(after.lines().count() > 1, "{command}: {after}");
    }
    for command in kept {
        assert!(csv(&place, command).lines().count() > 1, "{command}");
    }
    let file = place.run(["objects", "files", OBJECT, "--json"]).json()[0]["file"].as_str().unwrap().to_owned();
    for (some, none) in [
        (format!("objects events {OBJECT}"), format!("objects events {OBJECT} --since 2999-01-01")),
        (format!("objects files {OBJECT}"), format!("objects files {OBJECT} --below nothing")),
        (format!("objects events {OBJECT} --file {file}"), format!("objects events {OBJECT} --since 2999-01-01")),
        ("objects search --path txt".to_owned(), "objects search --path nothing-like-it".to_owned()),
    ] {
        assert_eq!(header(&csv(&place, &some)), header(&csv(&place, &none)), "{some}");
    }
}

#[test]
fn the_newest_come_first_and_a_list_can_be_turned_and_cut() {
    let place = Place::with_home();
    for name in ["one", "two", "three"] {
        place.bag(name, name);
        place.run(["deposit", &format!("{name}.tar")]).succeeds();
    }
    let objects = |arguments: &[&str]| -> Vec<String> {
        let said = place.run(["items", "list"].iter().chain(arguments)).succeeds().stdout;
        said.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
    };
    assert_eq!(objects(&[]), ["example.edu/three", "example.edu/two", "example.edu/one"]);
    assert_eq!(objects(&["--limit", "1"]), ["example.edu/three"]);
    assert_eq!(objects(&["--reverse", "--limit", "2"]), ["example.edu/one", "example.edu/two"]);
    assert_eq!(objects(&["--status", "pending", "--limit", "2"]), ["example.edu/three", "example.edu/two"]);
    assert_eq!(objects(&["--object", "example.edu/two"]), ["example.edu/two"]);
    let json = place.run(["items", "list", "--json"]).succeeds().json();
    assert_eq!(json[0]["object"], "example.edu/one", "scripts read on where they were");
    place.run(["items", "list", "--limit", "0"]).fails(2, &["--limit"]);
}

#[test]
fn a_record_is_named_by_a_part_of_its_identifier_that_no_other_has() {
    let place = Place::with_home();
    for name in ["one", "two"] {
        place.bag(name, name);
        place.run(["deposit", &format!("{name}.tar"), "--wait"]).succeeds();
    }
    let items = place.run(["items", "list", "--json"]).succeeds().json();
    let ids: Vec<&str> = items.iter().filter_map(|item| item["item"].as_str()).collect();
    let shown = place.run(["items", "list"]).succeeds().stdout;
    let short = shown.lines().nth(1).and_then(|line| line.split_whitespace().next()).expect("an identifier");
    let named = |text: &str| place.run(["items", "show", text, "--json"]).succeeds().object()["item"].clone();
    assert_eq!(named(short), ids[1], "as the table shows it");
    assert_eq!(named(&short.replace('…', "...").to_uppercase()), ids[1]);
    let common = ids[0].bytes().zip(ids[1].bytes()).take_while(|(one, other)| one == other).count();
    assert_eq!(named(&ids[0][..=common]), ids[0]);
    place.run(["items", "show", &ids[0][..common]]).fails(2, &["ambiguous", ids[0], ids[1]]);
    place.run(["items", "show", "ffff"]).fails(3, &["ffff", "items list"]);
    let object = place.run(["objects", "show", "example.edu/one", "--json"]).succeeds().object();
    let id = object["object"].as_str().unwrap();
    let part = format!("{}…{}", &id[..8], &id[32..]);
    assert_eq!(place.run(["objects", "show", &part, "--json"]).succeeds().object()["object"], id);
    let batch = items[0]["batch"].as_str().unwrap();
    place.run(["batches", "show", &format!("{}…{}", &batch[..8], &batch[32..])]).succeeds();
}

#[test]
fn an_object_is_named_as_a_table_shows_it() {
    let place = Place::with_home();
    place.run(["institution", "add", "library.a-long-name.example.org", "--name", "Library"]).succeeds();
    for (name, institution) in
        [("big", "library.a-long-name.example.org"), ("one-big", "example.edu"), ("two-big", "example.edu")]
    {
        place.bag(name, name);
        place.run(["deposit", &format!("{name}.tar"), "--institution", institution, "--wait"]).succeeds();
    }
    let named = |text: &str| place.run(["objects", "show", text, "--json"]).succeeds().object()["identifier"].clone();
    for text in ["library…/big", "library.a…g/big", "lib...big", "example.edu/o…big"] {
        assert!(named(text).as_str().is_some_and(|name| name.ends_with("big")), "{text}");
    }
    let object = named("library…/big");
    place.run(["objects", "show", "example…big"]).fails(2, &["ambiguous", "example.edu/one-big, example.edu/two-big"]);
    place.run(["objects", "show", "example…/big"]).fails(3, &["objects list"]);
    place.run(["objects", "show", "…"]).fails(3, &["objects list"]);
    let items = place.run(["items", "list", "--object", "library…/big", "--json"]).succeeds().json();
    assert!(matches!(&items[..], [item] if item["object"] == object), "{items:?}");
    let shown = place.run_with(&[("COLUMNS", "60")], ["items", "list"]).succeeds().stdout;
    assert!(shown.contains("…/big ") || shown.contains("example.org/big "), "{shown}");
    let root = "home/stores/primary/example.edu";
    let listed = place.run(["ocfl", "ls", root, "--json"]).succeeds().json();
    for object in &listed {
        let (id, name) = (object["object"].as_str().unwrap(), object["name"].as_str().unwrap());
        for text in [format!("{}…{}", &id[..13], &id[id.len() - 12..]), format!("ex…{}", &name[5..])] {
            let found = place.run(["ocfl", "info", root, &text, "--json"]).succeeds().object();
            assert_eq!(found["object"], id, "{text}");
        }
    }
    place.run(["ocfl", "info", root, "ex…big"]).fails(2, &["2 objects", "example.edu/one-big"]);
}

#[test]
fn why_a_store_cannot_be_used_is_said_in_full() {
    let place = with_object();
    fs::rename(place.path("home/stores/secondary"), place.path("away")).unwrap();
    let stores = place.run(["store", "list", "--json"]).succeeds().json();
    let reason = stores.iter().find_map(|store| store["reason"].as_str()).expect("a reason").to_owned();
    let said = place.run(["store", "list"]).succeeds().stdout;
    let line = said.lines().find(|line| line.contains(&reason)).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(line, format!("store secondary is away: {reason}"));
}

#[test]
fn a_store_that_cannot_be_used_is_told_of_once() {
    let place = with_object();
    fs::rename(place.path("home/stores/secondary"), place.path("away")).unwrap();
    for command in [&["items", "list"][..], &["objects", "list"], &["fixity", "report"], &["-v", "items", "list"]] {
        let told = place.run(command).succeeds().stderr;
        let lines: Vec<_> = told.lines().filter(|line| line.contains("secondary")).collect();
        assert_eq!(lines.len(), 1, "{command:?}: {told}");
        assert!(lines[0].starts_with("store secondary is away: "), "{told}");
    }
    let told = place.run(["store", "list"]).succeeds();
    assert_eq!(told.stderr, "", "the answer says it");
    let reason = "is the disk mounted?";
    assert_eq!(told.stdout.matches(reason).count(), 1, "{told:?}");
    place.bag("later", "later\n");
    for command in [&["fixity", "run", "--all"][..], &["deposit", "later.tar", "--wait", "--timeout", "1s"]] {
        let told = place.run(command);
        let all = format!("{}{}", told.stdout, told.stderr);
        // A table goes on on further lines.
        let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(all.matches(reason).count(), 1, "{command:?}: {told:?}");
        assert!(!all.contains("os error") && all.matches("store secondary").count() > 1, "{told:?}");
    }
    assert_eq!(place.run(["-q", "items", "list"]).succeeds().stderr, "");
    // A program that goes on logs it, with its time.
    let told = place.run(["schedule", "--once"]).stderr;
    let count = |words: &str| told.lines().filter(|line| line.contains(words)).count();
    assert_eq!(count("WARN store lost"), 1, "{told}");
    assert!(!told.lines().any(|line| line.starts_with("store secondary")), "{told}");
}
