//! What the commands answer, whole, as text and as JSON: a change of either shows as a change of a snapshot. Whatever differs
//! from run to run is replaced by its kind, and runs of blanks by two, since the widths of columns follow such values.

use std::fmt::Write as _;

use insta::{Settings, assert_snapshot};

use crate::program::Place;

/// What differs from run to run, and the word for it.
pub(crate) const VARYING: [(&str, &str); 19] = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\d{8}T\d{6}\.\d+Z", "<time>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d[+-]\d\d:\d\d)?", "<local time>"),
    (r"\d{4}-\d\d-\d\d\b", "<date>"),
    (r"[\w.-]+:\d+:[0-9a-f]{8}-\d+-\d+", "<holder>"),
    (r"(elapsed_seconds\W+)[\d.e-]+", "${1}<seconds>"),
    (r"(records_per_second\W+)[\d.e-]+", "${1}<rate>"),
    // How often an item was claimed depends on where it went by the queue.
    // The account of the process differs from machine to machine.
    (r#""account":"[^"]+""#, "\"account\":\"<account>\""),
    (r#""fence":\d+"#, "\"fence\":<fence>"),
    (r"\b[0-9a-f]{32,128}\b", "<digest>"),
    (r"[0-9a-f]{3}/[0-9a-f]{3}/[0-9a-f]{3}/<digest>", "<object root>"),
    (r"content/<id>/[0-9a-f]{2}/<digest>", "content/<id>/<content>"),
    (r"\d+(\.\d+)? [KMGT]iB", "<size>"),
    (r"\b\d{5,}\b", "<number>"),
    (r"strongroom_key_[a-z2-7]+_[a-z2-7]+", "<token>"),
    (r#"(\bkey"?:?"? *)[a-z2-7]{16}\b"#, "${1}<key>"),
    (r"(?m)^[a-z2-7]{16}( +ann@example\.edu )", "<key>${1}"),
    (r" {2,}", "  "),
];

/// Characters of a local date and minute.
const LOCAL_MINUTE: usize = 16;

/// Who acts: the account of the process differs from machine to machine.
const ACTOR: &str = "tester@example.edu";

/// A home with two objects, one of them in two versions, a deposit that failed, and a restoration; and a bag beside it.
fn place() -> Place {
    let place = Place::with_home_of(ACTOR);
    for (name, text) in [("greeting", "hello\n"), ("farewell", "goodbye\n"), ("greeting", "hello again\n")] {
        place.bag(name, text);
        place.run(["deposit", &format!("{name}.tar"), "--wait"]).succeeds();
        std::fs::remove_file(place.path(&format!("{name}.tar"))).unwrap();
    }
    place.write("broken/data/a.txt", "no bag\n");
    assert_eq!(place.run(["deposit", "broken", "--type", "bag", "--wait"]).code, Some(1));
    place.run(["restore", "object", "example.edu/farewell", "--to", "given-back", "--wait"]).succeeds();
    place.run(["collection", "add", "theses", "--institution", "example.edu", "--placement", "Standard"]).succeeds();
    place.bag("later", "later\n");
    place
}

/// Runs of hexadecimal digits and hyphens that are no longer than this, with the letter behind them, are words and numbers.
const SHORTEST: usize = 8;

/// One command's answer: what it was, its exit code, and both outputs.
fn told(place: &Place, arguments: &[&str], is_sorted: bool) -> String {
    // So wide that nothing is cut.
    let answer = place.run_with(&[("COLUMNS", "1000"), ("TZ", "UTC")], arguments);
    let mut lines: Vec<&str> = answer.stdout.lines().collect();
    if is_sorted {
        // What happened at one moment comes in the order of random identifiers, and digests are those of bags of today.
        let behind_time = |line: &str| match line.split_once('Z').filter(|_| line.starts_with('{')) {
            Some((_, rest)) => without_digests(rest),
            None => without_digests(line.get(LOCAL_MINUTE..).unwrap_or_default()),
        };
        lines.sort_by_cached_key(|line| behind_time(line));
    }
    let mut text = format!("$ strongroom {}\n", arguments.join(" "));
    for line in lines {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for line in answer.stderr.lines() {
        let _ = writeln!(text, "! {line}");
    }
    let _ = writeln!(text, "exit code {}\n", answer.code.unwrap());
    text
}

/// A text without runs of hexadecimal digits and hyphens that are as long as the shortest digest or an identifier.
fn without_digests(text: &str) -> String {
    let runs = text.split_inclusive(|letter: char| !(letter.is_ascii_hexdigit() || letter == '-'));
    runs.filter(|run| run.len() <= SHORTEST).collect()
}

fn snapshot(place: &Place, name: &str, commands: &[&[&str]]) {
    let mut settings = Settings::clone_current();
    settings.set_omit_expression(true);
    settings.add_filter(&regex_of(&place.path("").display().to_string()), "<place>/");
    for (pattern, word) in VARYING {
        settings.add_filter(pattern, word);
    }
    let mut text = String::new();
    for command in commands {
        let is_sorted = command.contains(&"events");
        text += &told(place, command, is_sorted);
        text += &told(place, &[command, &["--json"][..]].concat(), is_sorted);
    }
    settings.bind(|| assert_snapshot!(name, text));
}

/// A pattern that matches this text.
fn regex_of(text: &str) -> String {
    text.replace('.', r"\.")
}

#[test]
fn the_answers_of_the_commands_that_tell_are_as_they_were() {
    let place = place();
    let items = place.run(["items", "list", "--json"]).succeeds().json();
    let of = |status: &str| {
        let item = items.iter().find(|item| item["status"] == status).unwrap();
        (item["item"].as_str().unwrap(), item["batch"].as_str().unwrap())
    };
    let ((failed, failed_batch), (succeeded, batch)) = (of("failed"), of("succeeded"));
    snapshot(
        &place,
        "objects",
        &[
            &["objects", "list"],
            &["objects", "show", "example.edu/greeting"],
            &["objects", "versions", "example.edu/greeting"],
            &["objects", "files", "example.edu/farewell"],
            &["objects", "events", "example.edu/greeting"],
            &["objects", "show", "example.edu/nothing"],
        ],
    );
    snapshot(
        &place,
        "work",
        &[
            &["items", "list"],
            &["items", "list", "--needs-review"],
            &["items", "count"],
            &["items", "show", failed],
            &["items", "history", succeeded],
            &["batches", "list"],
            &["batches", "show", batch],
            &["batches", "report", failed_batch],
            &["batches", "report", failed_batch, "--format", "csv"],
            &["batches", "report", failed_batch, "--format", "html"],
            &["batches", "report", batch, "--update"],
            &["batches", "reports", failed_batch],
            &["queue", "list"],
            &["queue", "show", "ingest.receive"],
        ],
    );
    snapshot(
        &place,
        "home",
        &[
            &["status"],
            &["config", "check"],
            &["store", "list"],
            &["store", "check"],
            &["store", "reconcile"],
            &["institution", "list"],
            &["collection", "list"],
            &["receiving", "list"],
            &["signatures", "show"],
        ],
    );
    snapshot(
        &place,
        "fixity",
        &[&["fixity", "report"], &["fixity", "problems"], &["fixity", "run", "--all"], &["fixity", "problems"]],
    );
    snapshot(
        &place,
        "background",
        &[
            &["background", "list"],
            &["background", "run", "staging"],
            &["background", "run", "fixty"],
            &["background", "list"],
            &["outbox", "list"],
            &["outbox", "send", "00000000-0000-7000-8000-000000000000"],
            &["outbox", "remove", "00000000-0000-7000-8000-000000000000"],
            &["notify", "test", "--mail", "ann@example.edu"],
            &["notify", "test", "--mail", "ann"],
            &["notify", "test", "--callback", "https://hooks.example.edu/strongroom"],
            &["outbox", "list"],
        ],
    );
    place.write("catalogue/map.xml", "<record>map</record>");
    place.write("catalogue/torn.xml", "<record>torn");
    snapshot(
        &place,
        "activities",
        &[
            &["activity", "agents"],
            &["activity", "list"],
            &["activity", "run", "harvest", "--option", "kind=folder", "--option", "path=catalogue", "--wait"],
            &["activity", "list", "--agent", "harvest"],
            &["activity", "run", "harvest", "--option", "sets=maps"],
            &["activity", "run", "harvest", "--option", "url=https://repository.example.edu/oai"],
            &["activity", "run", "deposit"],
            &["activity", "run", "index"],
            &["activity", "show", "00000000-0000-7000-8000-000000000000"],
            &["activity", "list", "--state", "done"],
        ],
    );
    place.write(
        "catalogue.toml",
        "[[steps]]\nname = \"harvest\"\nagent = \"harvest\"\noptions = { kind = \"folder\", path = \"catalogue\" }\n\
         [[steps]]\nname = \"pass-on\"\nagent = \"copy\"\n",
    );
    place.write("wrong.toml", "[[steps]]\nname = \"pass-on\"\nagent = \"copy\"\noptions = { chunks = 10 }\n");
    snapshot(
        &place,
        "pipelines",
        &[
            &["pipeline", "list"],
            &["pipeline", "set", "catalogue", "wrong.toml"],
            &["pipeline", "set", "catalogue", "catalogue.toml"],
            &["pipeline", "show", "catalogue"],
            &["pipeline", "run", "catalogue", "--wait"],
            &["pipeline", "list"],
            &["pipeline", "show", "catalogue"],
            &["pipeline", "run", "catalogue", "--only-changed"],
            &["pipeline", "remove", "catalogue"],
            &["pipeline", "show", "catalogue"],
        ],
    );
    let columns =
        "nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName";
    place.write(
        "rows.checkm",
        format!(
            "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n#%fields | {columns}\n\
             https://files/a.jpg | md5 | | 12\nhttps://files.example.edu/b.jpg | | | | yesterday\n#%eof\n"
        ),
    );
    snapshot(
        &place,
        "packages",
        &[
            &["bag", "validate", "later.tar"],
            &["bag", "validate", "broken"],
            &["bag", "show", "later.tar"],
            &["checkm", "validate", "rows.checkm"],
            &["checkm", "validate", "--lenient", "rows.checkm"],
            &["checkm", "validate", "nothing.checkm"],
        ],
    );
}

#[test]
fn the_answers_of_the_commands_that_act_are_as_they_were() {
    let place = place();
    place.bag("wanted", "wanted\n");
    snapshot(
        &place,
        "acts",
        &[
            &["deposit", "wanted.tar", "--wait"],
            &["restore", "object", "example.edu/greeting", "--wait"],
            &["institution", "set", "example.edu", "--name", "Example"],
            &["collection", "hold", "theses", "--institution", "example.edu", "--reason", "rights"],
            &["collection", "hold", "theses", "--institution", "example.edu"],
            &["collection", "release", "theses", "--institution", "example.edu"],
            &["collection", "release", "theses", "--institution", "example.edu"],
            &["collection", "set", "theses", "--institution", "example.edu", "--held", "true"],
            &["queue", "pause", "ingest.write"],
            &["queue", "resume", "ingest.write"],
            &["store", "backfill", "secondary", "--wait"],
            &["store", "retire", "secondary"],
            &["backup", "copy"],
        ],
    );
}

#[test]
fn the_answers_about_levels_of_preservation_are_as_they_were() {
    snapshot(
        &place(),
        "levels",
        &[
            &["report", "ndsa", "--level", "2"],
            &["report", "ndsa", "--areas"],
            &["report", "core-trust-seal", "--limit", "3"],
            &["report", "ndsa", "--level", "5"],
        ],
    );
}

#[test]
fn the_answers_about_manifests_are_as_they_were() {
    let place = place();
    let manifest = |more: &[&'static str]| -> Vec<&'static str> { [&["report", "manifest"], more].concat() };
    snapshot(
        &place,
        "manifests",
        &[
            &manifest(&["--institution", "example.edu"]),
            &manifest(&["--collection", "default", "--format", "bagit", "--digest", "sha256"]),
            &manifest(&["--institution", "example.edu", "--format", "csv"]),
            &manifest(&["--institution", "example.edu", "--output", "manifest.tsv"]),
            &manifest(&["--institution", "nowhere.edu"]),
            &manifest(&["--collection", "nothing"]),
            &manifest(&["--store", "staging"]),
            &manifest(&["--store", "primary", "--format", "csv", "--digest", "md5"]),
            &manifest(&["--store", "primary", "--digest", "sha384"]),
            &manifest(&[]),
        ],
    );
}

#[test]
fn the_answers_about_statistics_are_as_they_were() {
    let place = place();
    snapshot(
        &place,
        "statistics",
        &[
            &["report", "storage", "--institution", "example.org"],
            &["background", "run", "statistics"],
            &["report", "deposits", "--by", "collection"],
            &["report", "deposits", "--by", "week", "--until", "2020-01-01"],
            &["report", "storage", "--by", "class"],
            &["report", "formats", "--by", "mime"],
            &["report", "fixity", "--since", "2020-01-01"],
            &["report", "cost", "--by", "store", "--until", "2020-01-01"],
            &["report", "recompute"],
            &["report", "deposits", "--since", "yesterday"],
            &["institution", "set", "example.edu", "--storage-quota", "10 GiB"],
        ],
    );
}

#[test]
fn the_answers_about_legal_holds_and_disposal_are_as_they_were() {
    let place = place();
    let due = ["collection", "due", "default", "--institution", "example.edu"];
    let set = ["collection", "set", "default", "--institution", "example.edu"];
    let with = |command: &[&'static str], more: &[&'static str]| -> Vec<&'static str> {
        command.iter().chain(more).copied().collect()
    };
    snapshot(
        &place,
        "legal holds",
        &[
            &["hold", "legal", "list"],
            &["hold", "legal", "add", "example.edu/greeting", "--reason", "Smith v. Jones"],
            &["hold", "legal", "add", "example.edu/greeting", "data/greeting.txt", "--reason", "audit"],
            &["hold", "legal", "add", "example.edu/greeting", "nowhere.txt", "--reason", "audit"],
            &["hold", "legal", "add", "example.edu/nothing", "--reason", "audit"],
            &["hold", "legal", "add", "example.edu/greeting", "--reason", " "],
            &["hold", "legal", "add", "example.edu/greeting"],
            &["hold", "legal", "add", "--reason", "audit"],
            &["hold", "legal", "add", "--collection", "default", "--institution", "example.edu", "--reason", "audit"],
            &["hold", "legal", "list"],
            &["hold", "legal", "list", "--object", "example.edu/greeting"],
            &["hold", "legal", "list", "--collection", "default"],
            &["hold", "legal", "list", "--csv"],
            &["hold", "legal", "release", "none", "--reason", "settled"],
            &due,
            &with(&set, &["--retention", "10"]),
            &with(&set, &["--retention", "10y", "--disposal", "5y"]),
            &with(&set, &["--retention", "10y", "--disposal", "15y"]),
            &due,
            &with(&due, &["--until", "1000000d"]),
            &with(&due, &["--until", "1000000d", "--plain"]),
            &with(&due, &["--until", "soon"]),
        ],
    );
}

#[test]
fn the_answers_about_people_are_as_they_were() {
    let place = Place::with_home_of(ACTOR);
    snapshot(
        &place,
        "people",
        &[
            &["user", "list"],
            &["user", "add", "Ann@example.edu", "--role", "institution_admin", "--institution", "example.edu"],
            &["user", "add", "ann@example.edu", "--role", "auditor"],
            &["user", "add", "bob", "--role", "auditor"],
            &["user", "add", "bob@example.edu", "--role", "institution_user"],
            &["user", "add", "bob@example.edu", "--role", "system_admin", "--institution", "example.edu"],
            &["user", "add", "bob@example.edu", "--role", "admin"],
            &["user", "set", "ann@example.edu"],
            &["user", "set", "ann@example.edu", "--role", "institution_user"],
            &["user", "set", "ann@example.edu", "--reset-second-factor"],
            &["user", "show", "eve@example.edu"],
            &["key", "add", "--user", "ann@example.edu", "--scope", "read,deposit", "--expires", "never"],
            &["key", "add", "--user", "ann@example.edu", "--scope", "write", "--expires", "never"],
            &["key", "add", "--user", "ann@example.edu", "--scope", "read", "--expires", "soon"],
            &["key", "list"],
            &["institution", "set", "example.edu", "--second-factor-required", "true"],
            &["user", "show", "ann@example.edu"],
            &["user", "deactivate", "ann@example.edu"],
            &["user", "deactivate", "ann@example.edu"],
            &["key", "list"],
            &["key", "list", "--all"],
            &["key", "revoke", "none"],
            &["key", "add", "--user", "ann@example.edu", "--scope", "read", "--expires", "never"],
            &["user", "list"],
            &["user", "list", "--all"],
            &["user", "deactivate", "ann@example.edu", "--undo"],
        ],
    );
}

#[test]
fn the_answers_about_duplication_policies_are_as_they_were() {
    let place = Place::with_home_of(ACTOR);
    let mut settings = std::fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    settings.push_str("\n[plain_stores.disk]\npath = \"plain/disk\"\n");
    settings.push_str("\n[plain_stores.cloud]\npath = \"plain/cloud\"\n");
    place.write("home/strongroom.toml", settings);
    place.write("bad.toml", "defaults = 1\ndefault = []\nspaces = [{ space = \"a/b\", rules = \"none\" }]\n");
    place.write(
        "policy.toml",
        "ignore = ['x-*']\ndefault = [{ source = \"disk\", destination = \"cloud\", delete = true }]\n",
    );
    place.write("duplication-accounts.json", "[\"acme\", \"gone\"]");
    place.write("acme-duplication-policy.json", "{\"defaultPolicies\": [{\"srcStoreId\": 0, \"destStoreId\": 1}]}");
    snapshot(
        &place,
        "duplication_policies",
        &[
            &["duplicate", "policy", "show"],
            &["duplicate", "policy", "check", "bad.toml"],
            &["duplicate", "policy", "set", "policy.toml", "--reason", "a copy"],
            &["duplicate", "policy", "show"],
            &["duplicate", "policy", "show", "--space", "x-admin"],
            &["duplicate", "policy", "show", "--document"],
            &["duplicate", "policy", "history"],
            &["duplicate", "policy", "approve", "1"],
            &["duplicate", "policy", "show", "--version", "9"],
            &["duplicate", "policy", "import", ".", "--store", "0=disk", "--store", "1=nowhere"],
            &["duplicate", "policy", "import", ".", "--store", "0"],
        ],
    );
}

#[test]
fn the_answers_about_profiles_are_as_they_were() {
    let place = Place::with_home_of(ACTOR);
    let document = |version: &str, more: &str| {
        format!(
            r#"{{"BagIt-Profile-Info":{{"Source-Organization":"Example University","External-Description":"maps",
"Version":"{version}","BagIt-Profile-Identifier":"https://example.edu/maps.json","BagIt-Profile-Version":"1.4.0"}},
"Accept-BagIt-Version":["1.0"]{more}}}
"#
        )
    };
    place.write("maps.json", document("1", ""));
    place.write("newer.json", document("2", r#","Manifests-Required":["sha512"],"Manifest-Required":[]"#));
    place.write(
        "bad.json",
        document("x", r#","Serialization":"always","Manifests-Required":["SHA-512"],"Data-Empty":1"#),
    );
    snapshot(
        &place,
        "profiles",
        &[
            &["profile", "list"],
            &["profile", "show", "aptrust"],
            &["profile", "add", "bad.json"],
            &["profile", "add", "maps.json"],
            &["profile", "add", "newer.json", "--name", "maps"],
            &["profile", "show", "maps", "--version", "1", "--document"],
            &["collection", "add", "sheets", "--institution", "example.edu", "--profile", "maps"],
            &["collection", "set", "sheets", "--institution", "example.edu", "--profile-version", "1"],
            &["collection", "list"],
            &["profile", "remove", "maps"],
            &["profile", "remove", "maps", "--version", "2"],
            &["profile", "show", "mops"],
            &["profile", "list"],
        ],
    );
}

#[test]
fn the_answers_about_spaces_are_as_they_were() {
    let place = Place::with_home_of(ACTOR);
    for name in ["partner/maps/1.tif", "partner/maps/atlas/2.tif", "partner/maps-old/3.tif", "partner/notes.txt"] {
        place.write(name, "bytes");
    }
    place.write("partner/maps/line\nbreak", "bytes");
    let settings = place.path("home/strongroom.toml");
    let mut text = std::fs::read_to_string(&settings).unwrap();
    text += "\n[plain_stores.partner]\npath = \"../partner\"\n[plain_stores.tape]\npath = \"../tape\"\n";
    std::fs::write(settings, text).unwrap();
    snapshot(
        &place,
        "spaces",
        &[
            &["space", "list"],
            &["space", "list", "--store", "partner", "--limit", "1"],
            &["space", "list", "--store", "partnr"],
            &["space", "show", "partner/maps"],
            &["space", "show", "partner/map"],
            &["space", "show", "tape/maps"],
            &["space", "items", "partner/maps", "--after", "atlas/2.tif"],
            &["space", "items", "partner/maps-old", "--after", "3.tif"],
            &["space", "items", "partner"],
            &["space", "items", "partner/maps", "--after", "%"],
        ],
    );
    let names = place.run(["space", "items", "partner/maps", "--json"]).succeeds().json();
    let names: Vec<&str> = names.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["1.tif", "atlas/2.tif", "line%0Abreak"]);
}
