//! What can be done to a chain is found, and named, by the program and by the script of the book.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use strongroom_database::testing::Scratch;

use crate::program::Place;

/// The script in the page of the book.
fn script() -> String {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md")).unwrap();
    let (_, after) = page.split_once("```python\n").unwrap();
    let script = after.split_once("```").unwrap().0.to_owned();
    assert!(script.lines().count() <= 50, "{} lines", script.lines().count());
    script
}

/// An export of a chain with three ranges, and the heads as they were published.
fn exported() -> Place {
    let place = Place::with_home();
    fs::write(place.path("verify.py"), script()).unwrap();
    place.run(["institution", "add", "test.edu"]).succeeds();
    for number in 1..=3 {
        place.bag(&format!("letters-{number}"), "dear reader\n");
        place.run(["deposit", &format!("letters-{number}.tar"), "--institution", "example.edu", "--wait"]).succeeds();
        place.run(["collection", "add", &format!("maps-{number}"), "--institution", "test.edu"]).succeeds();
        place.run(["audit", "export", "export"]).succeeds();
    }
    let copied = Command::new("cp").args(["-a", "export", "published"]).current_dir(place.path(".")).status();
    assert!(copied.unwrap().success());
    for chain in ["example.edu", "test.edu", "_system"] {
        fs::remove_dir_all(place.path(&format!("published/{chain}/entries"))).unwrap();
    }
    place
}

fn entries(place: &Place, chain: &str) -> Vec<PathBuf> {
    let folder = fs::read_dir(place.path(&format!("export/{chain}/entries"))).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn heads(place: &Place) -> Vec<PathBuf> {
    let folder = fs::read_dir(place.path("export/example.edu/heads")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn first_number(file: &Path) -> u64 {
    file.file_name().unwrap().to_str().unwrap().split_once('-').unwrap().0.parse().unwrap()
}

fn change(file: &Path, change: impl FnOnce(Vec<String>) -> Vec<String>) {
    let text = fs::read_to_string(file).unwrap();
    let lines = change(text.lines().map(|line| format!("{line}\n")).collect());
    fs::write(file, lines.concat()).unwrap();
}

/// What both verifiers say: the number of the first entry that does not hold; none where all do.
fn verdicts(place: &Place, paths: &[&str]) -> (Option<u64>, Option<u64>) {
    let answer = place.run(["audit", "verify", "--json"].iter().chain(paths));
    let chains = answer.json();
    let chain = chains.iter().find(|chain| chain["path"] == "export/example.edu").unwrap();
    let broken = chain["broken_at"].as_u64();
    assert_eq!(answer.code, Some(i32::from(broken.is_some())), "{answer:?}");
    let python = Command::new("python3").arg("verify.py").args(paths).current_dir(place.path(".")).output().unwrap();
    let said = String::from_utf8(python.stdout).unwrap();
    let line = said.lines().find(|line| line.starts_with("export/example.edu: ")).unwrap();
    let named = line.split_once(": entry ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    assert_eq!(python.status.success(), line.contains(": valid "), "{said}");
    assert_eq!(named.is_none(), line.contains(": valid "), "{line}");
    (broken, named)
}

#[test]
fn both_verifiers_find_and_name_what_was_done_to_a_chain() {
    type Attack = fn(&Place) -> u64;
    let attacks: [(&str, Attack); 8] = [
        ("the counts of a head changed", |place| {
            let head = heads(place).pop().unwrap();
            let text = fs::read_to_string(&head).unwrap().replace("\"version\":3", "\"version\":4");
            assert!(text.contains("\"version\":4"), "{text}");
            fs::write(&head, text).unwrap();
            head.file_stem().unwrap().to_str().unwrap().parse().unwrap()
        }),
        ("one byte changed", |place| {
            let file = &entries(place, "example.edu")[1];
            change(file, |mut lines| {
                lines[0] = lines[0].replacen("\"outcome\":\"", "\"outcome\":\"x", 1);
                lines
            });
            first_number(file) + 1
        }),
        ("one entry dropped", |place| {
            let file = &entries(place, "example.edu")[1];
            change(file, |lines| lines[1..].to_vec());
            first_number(file)
        }),
        ("two swapped", |place| {
            let file = &entries(place, "example.edu")[1];
            change(file, |mut lines| {
                lines.swap(0, 1);
                lines
            });
            first_number(file)
        }),
        ("the tail cut, with its head", |place| {
            let (file, head) = (entries(place, "example.edu").pop().unwrap(), heads(place).pop().unwrap());
            let first = first_number(&file);
            fs::remove_file(file).unwrap();
            fs::remove_file(head).unwrap();
            first
        }),
        ("a head replaced", |place| {
            let heads = heads(place);
            fs::copy(&heads[0], &heads[1]).unwrap();
            first_number(&entries(place, "example.edu")[2]) - 1
        }),
        ("a range of another institution", |place| {
            let (file, other) = (&entries(place, "example.edu")[1], &entries(place, "test.edu")[1]);
            fs::copy(other, file).unwrap();
            first_number(file)
        }),
        ("hashed anew from the middle on", |place| {
            let files = entries(place, "example.edu");
            let again = "import hashlib, json, pathlib, sys
previous = None
for file in sys.argv[1:]:
    lines = []
    for line in pathlib.Path(file).read_bytes().splitlines():
        entry = json.loads(line)
        entry['outcome'] = 'another'
        if previous: entry['previous'] = previous
        line = json.dumps(entry, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode()
        previous = hashlib.sha256(line).hexdigest()
        lines.append(line + b'\\n')
    data = b''.join(lines)
    pathlib.Path(file).write_bytes(data)
    head = pathlib.Path(file).parent.parent / 'heads' / (pathlib.Path(file).stem.split('-')[1] + '.json')
    said = json.loads(head.read_bytes())
    said['sha256'], said['range']['sha256'], said['range']['bytes'] = previous, hashlib.sha256(data).hexdigest(), len(data)
    if file != sys.argv[1]: said['range']['previous'] = json.loads(lines[0])['previous']
    head.write_text(json.dumps(said, sort_keys=True, separators=(',', ':')))
";
            let status = Command::new("python3").arg("-c").arg(again).args(&files[1..]).status().unwrap();
            assert!(status.success());
            first_number(&files[2]) - 1
        }),
    ];
    let place = exported();
    assert_eq!(verdicts(&place, &["export"]), (None, None));
    assert_eq!(verdicts(&place, &["export", "published"]), (None, None));
    let copy = |from: &str, to: &str| {
        let _ = fs::remove_dir_all(place.path(to));
        let copied = Command::new("cp").args(["-a", from, to]).current_dir(place.path(".")).status();
        assert!(copied.unwrap().success());
    };
    copy("export", "kept");
    for (name, attack) in attacks {
        copy("kept", "export");
        let named = attack(&place);
        let (program, script) = verdicts(&place, &["export", "published"]);
        assert_eq!((program, script), (Some(named), Some(named)), "{name}");
    }
}

#[test]
fn both_verifiers_name_a_store_from_which_a_chain_was_removed() {
    let place = exported();
    place.run(["background", "run", "audit"]).succeeds();
    let stores = ["home/stores/primary", "home/stores/secondary"];
    let both = |paths: &[&str]| {
        let program = place.run(["audit", "verify"].iter().chain(paths));
        let script =
            Command::new("python3").arg("verify.py").args(paths).current_dir(place.path(".")).output().unwrap();
        [(program.code, program.stdout), (script.status.code(), String::from_utf8(script.stdout).unwrap())]
    };
    for (code, said) in both(&stores) {
        assert_eq!(code, Some(0), "{said}");
    }
    fs::remove_dir_all(place.path("home/stores/secondary/_strongroom/audit/example.edu")).unwrap();
    for (code, said) in both(&stores) {
        let line = said.lines().find(|line| line.contains("secondary/_strongroom/audit/example.edu")).unwrap();
        assert!(code == Some(1) && !line.contains(": valid"), "{said}");
    }
    // Keys alone tell that there was a chain.
    fs::create_dir_all(place.path("emptied/example.edu/keys")).unwrap();
    for (code, said) in both(&["emptied"]) {
        assert!(code == Some(1) && said.contains("emptied/example.edu"), "{said}");
    }
    fs::create_dir(place.path("nothing")).unwrap();
    for (code, said) in both(&["export", "nothing"]) {
        assert!(code == Some(1) && said.lines().any(|line| line.starts_with("nothing: ")), "{said}");
    }
}

/// Chains, what is to be appended to them, statistics, problems and catalogues go with everything else, once each.
#[test]
fn chains_and_statistics_move_to_postgresql() {
    let Some(database) = Scratch::new() else { return };
    let place = exported();
    for task in ["audit", "statistics", "catalogue", "problems"] {
        place.run(["background", "run", task]).succeeds();
    }
    // Done and not appended yet, or not counted.
    place.bag("letters-4", "dear reader, again\n");
    place.run(["deposit", "letters-4.tar", "--institution", "example.edu", "--wait"]).succeeds();
    let told = || {
        [
            vec!["audit", "list", "--json"],
            vec!["report", "deposits", "--json"],
            vec!["report", "storage", "--json"],
            vec!["report", "manifest", "--institution", "example.edu", "--format", "csv"],
        ]
        .map(|command| place.run(command).succeeds().stdout)
    };
    let before = told();
    // How many entries the chain gets where nothing is moved.
    let appended = |home: &str| {
        place.run(["--home", home, "background", "run", "audit"]).succeeds();
        let chains = place.run(["--home", home, "audit", "list", "--json"]).succeeds().json();
        chains.iter().find(|chain| chain["chain"] == "example.edu").unwrap()["entries"].as_u64().unwrap()
    };
    let copied = Command::new("cp").args(["-a", "home", "unmoved"]).current_dir(place.path(".")).status();
    assert!(copied.unwrap().success());
    let expected = appended("unmoved");
    place.run(["migrate", "--to", &database.url()]).succeeds();
    assert_eq!(told()[1..], before[1..]);
    place.run(["background", "run", "statistics"]).succeeds();
    let counted = told();
    assert_ne!(counted[1..3], before[1..3], "what was not counted is counted");
    let made = place.run(["report", "recompute", "--json"]).succeeds().object();
    assert_eq!(made["corrected"], 0, "{made}");
    assert_eq!(told()[1..], counted[1..]);
    // The chains go on behind what was published.
    place.run(["audit", "export", "export"]).succeeds();
    place.run(["background", "run", "audit"]).succeeds();
    let paths = ["export", "published", "home/stores/primary", "home/stores/secondary"];
    assert_eq!(verdicts(&place, &paths), (None, None));
    assert_eq!(appended("home"), expected);
}

#[test]
fn what_cannot_be_verified_is_said() {
    let place = Place::with_home();
    let nothing = place.run(["audit", "verify", "home"]);
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    let missing = place.run(["audit", "verify", "missing"]);
    assert_eq!(missing.code, Some(3), "{missing:?}");
    place.run(["audit", "export", "export"]).succeeds();
    fs::write(place.path("key.pem"), "no key").unwrap();
    let key = place.run(["audit", "verify", "export", "--key", "key.pem"]);
    assert!(key.code == Some(2) && key.stderr.contains("openssl genpkey"), "{key:?}");
    // A file that was exported before and was changed since is not replaced.
    let file = entries(&place, "_system").pop().unwrap();
    fs::write(&file, "changed\n").unwrap();
    let refused = place.run(["audit", "export", "export"]);
    assert!(refused.code == Some(4) && refused.stderr.contains("is not replaced"), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "changed\n");
}
