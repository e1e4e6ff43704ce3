//! Deposits that cannot go in: bags that are wrong, disks that are full, files that may not be read.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixtures::{Made, make_bag};
use crate::homes::{end_state, nothing_is_left, stored_contents, work_to_the_end};
use crate::program::{Answer, Place};

/// Nothing of a deposit that failed is to be seen. One that may be requeued keeps what it has, out of sight.
#[track_caller]
fn nothing_is_published(place: &Place) {
    let objects = place.run(["objects", "list", "--json"]).succeeds().json();
    let published = objects.iter().filter(|object| object["head"].as_u64().unwrap_or_default() > 0);
    assert_eq!(published.collect::<Vec<_>>(), Vec::<&Value>::new());
    assert_eq!(stored_contents(place).len(), 0);
}

#[test]
fn an_invalid_bag_is_refused_with_every_problem_and_stays_where_it_is() {
    let place = Place::with_home();
    for name in ["a.txt", "b.txt", "c.txt"] {
        place.write(&format!("payload/{name}"), format!("text of {name}"));
    }
    place.write("info.txt", "Title: Letters\nAccess: Nobody\nStorage-Option: Standard\n");
    let tag_file = "aptrust-info.txt=info.txt";
    place.run(["bag", "create", "payload", "letters", "--algorithm", "md5", "--tag-file", tag_file]).succeeds();
    place.write("letters/data/a.txt", "TEXT of a.txt");
    fs::remove_file(place.path("letters/data/b.txt")).unwrap();
    place.write("letters/data/d.txt", "nobody listed me");
    place.write("letters/aptrust-info.txt", "Title: Letters\nAccess: Nobody\nStorage-Option: Standard \n\n");
    let before = place.files("letters");

    let answer = place.run(["deposit", "letters", "--wait", "--json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let item = answer.object();
    assert_eq!((&item["status"], &item["stage"]), (&"failed".into(), &"validate".into()), "{item}");
    let problem = |code: &str, path: &str| {
        let problems = item["problems"].as_array().unwrap();
        problems.iter().any(|problem| problem["code"] == code && problem["path"] == path)
    };
    assert!(problem("manifest.digest_mismatch", "data/a.txt"), "{item}");
    assert!(problem("manifest.file_missing", "data/b.txt"), "{item}");
    assert!(problem("manifest.file_unlisted", "data/d.txt"), "{item}");
    assert!(problem("manifest.digest_mismatch", "aptrust-info.txt"), "{item}");

    // The item keeps what the deposit was told, and that is what the validator says of the bag.
    let shown = place.run(["items", "show", item["item"].as_str().unwrap(), "--json"]).succeeds().object();
    assert_eq!(shown["problems"], item["problems"]);
    assert_eq!(shown["needs_review"], true);
    let judged = place.run(["bag", "validate", "letters", "--profile", "aptrust-2.3", "--json"]).object();
    let told = |report: &Value| -> BTreeSet<String> {
        report["problems"].as_array().unwrap().iter().map(Value::to_string).collect()
    };
    assert_eq!(told(&item), told(&judged));
    let codes: BTreeSet<&str> =
        item["problems"].as_array().unwrap().iter().map(|problem| problem["code"].as_str().unwrap()).collect();
    assert!(codes.contains("profile.tag_value") && codes.contains("oxum.mismatch"), "{codes:?}");

    assert_eq!(place.files("letters"), before, "the bag is as it was");
    nothing_is_published(&place);
    nothing_is_left(&place);
}

#[test]
fn a_bag_that_was_cut_off_is_refused_at_once_wherever_the_cut_is() {
    let place = Place::with_home();
    for number in 0..3_u8 {
        place.write(&format!("payload/{number}.bin"), vec![number; 400_000]);
        place.write(&format!("payload/{number}.txt"), format!("text {number}"));
    }
    for form in ["tar", "tar.gz", "zip"] {
        place.run(["bag", "create", "payload", &format!("whole.{form}"), "--algorithm", "md5"]).succeeds();
        let whole = fs::read(place.path(&format!("whole.{form}"))).unwrap();
        for eighth in 1..8 {
            let name = format!("cut-{eighth}.{form}");
            place.write(&name, &whole[..whole.len() / 8 * eighth]);
            let answer = place.run(["deposit", &name, "--wait", "--json"]);
            assert_eq!(answer.code, Some(1), "{name}: {answer:?}");
            let item = answer.object();
            assert_eq!(item["stage"], "validate", "{name}: {item}");
            let problems = item["problems"].as_array().unwrap();
            let is_told = problems.iter().any(|problem| problem["code"].as_str().unwrap().starts_with("archive."));
            assert!(is_told, "{name}: {item}");
        }
    }
    nothing_is_published(&place);
    nothing_is_left(&place);
}

/// Another program, in the place and with the environment of ours.
fn beside(place: &Place, program: &str, arguments: &[&str]) -> Command {
    let model = place.command();
    let mut command = Command::new(program);
    for (name, value) in model.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(arguments).current_dir(place.path("")).stdin(Stdio::null());
    command
}

/// How a store is given little room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// A disk of its own in a name space of our own, as root or as a user who may have one.
    Disk(&'static [&'static str]),
    /// A limit of the size of files, where no disk can be mounted: it holds for every store.
    Limit,
}

const NO_DISK: i32 = 97;

/// Runs the program while `store` has room for 4 MiB only; files then left in the store, without its bookkeeping, are
/// listed in the file `left`. What was on the small disk is gone with the program.
fn with_little_room(place: &Place, store: &str, arguments: &[&str]) -> (Room, Answer) {
    const ON_A_DISK: &str = r#"
        cp -a "$1" saved && mount -t tmpfs -o size=4m tmpfs "$1" && cp -a saved/. "$1" || exit 97
        folder="$1"; shift; "$@"; code=$?
        find "$folder" -type f -not -path '*/.strongroom/*' > left; exit $code"#;
    // Blocks of 1,024 bytes; the signal would end the program where an error tells it.
    const LIMITED: &str = r#"
        folder="$1"; shift; (trap '' XFSZ; ulimit -f 6000; exec "$@"); code=$?
        find "$folder" -type f -not -path '*/.strongroom/*' > left; exit $code"#;
    let folder = format!("home/stores/{store}");
    let rooms = [Room::Disk(&["--mount"]), Room::Disk(&["--mount", "--map-root-user"]), Room::Limit];
    for room in rooms {
        let mut command = match room {
            Room::Disk(arguments) => beside(place, "unshare", arguments),
            Room::Limit => beside(place, "env", &[]),
        };
        let script = if room == Room::Limit { LIMITED } else { ON_A_DISK };
        command.args(["bash", "-c", script, "bash", &folder, env!("CARGO_BIN_EXE_strongroom")]).args(arguments);
        let answer = Answer::of(&mut command);
        let _ = fs::remove_dir_all(place.path("saved"));
        let has_run = answer.code != Some(NO_DISK) && !answer.stderr.contains("unshare");
        if has_run {
            return (room, answer);
        }
    }
    unreachable!("a limit of the size of files can always be set");
}

#[test]
fn a_full_disk_fails_a_deposit_clearly_and_room_lets_it_go_on() {
    for store in ["staging", "secondary"] {
        let place = Place::with_home();
        make_bag(&place.path(""), "letters", Made { small: 10, large: (1, 8 << 20), says: "large" });
        let (room, answer) = with_little_room(&place, store, &["deposit", "letters.tar", "--wait", "--json"]);
        assert_eq!(answer.code, Some(1), "{room:?}: {answer:?}");
        let item = answer.object();
        assert_eq!(item["status"], "failed", "{item}");
        let note = item["note"].as_str().unwrap();
        let (full, cause) = match room {
            Room::Disk(_) => (store, "No space left on device"),
            Room::Limit => ("staging", "File too large"),
        };
        // Staging knows how large its disk is, and reads nothing that can never fit.
        let is_refused = store == "staging" && matches!(room, Room::Disk(_));
        let (words, retries) = if is_refused {
            (vec!["bytes are more than all of staging".to_owned(), "next: ".to_owned()], 0)
        } else {
            (vec!["failed after 3 attempts".to_owned(), format!("store {full}: could not write"), cause.to_owned()], 2)
        };
        for words in words {
            assert!(note.contains(&words), "{words:?} is not in {note:?}");
        }
        let id = item["item"].as_str().unwrap();
        let history = place.run(["items", "history", id, "--json"]).succeeds().json();
        let is_retry = |line: &&Value| {
            line["status"] == "pending" && line["note"].as_str().is_some_and(|note| note.contains(cause))
        };
        assert_eq!(history.iter().filter(is_retry).count(), retries, "it is tried again before it fails: {history:#?}");
        if store == "staging" {
            assert_eq!(fs::read_to_string(place.path("left")).unwrap(), "", "staging is cleaned");
        }
        nothing_is_published(&place);

        place.run(["items", "requeue", id]).succeeds();
        work_to_the_end(&place, &[]);
        let shown = place.run(["items", "show", id, "--json"]).succeeds().object();
        assert_eq!(shown["status"], "succeeded", "{shown}");
        end_state(&place, "example.edu/letters");
    }
}

fn forbid(path: &Path, is_forbidden: bool) {
    let mode = match (is_forbidden, path.is_dir()) {
        (true, _) => 0o000,
        (false, true) => 0o755,
        (false, false) => 0o644,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_may_not_be_read_is_named_and_goes_in_once_it_may() {
    let place = Place::with_home();
    place.write("payload/inner/a.txt", "text");
    place.run(["bag", "create", "payload", "letters", "--algorithm", "md5"]).succeeds();
    let mut items = Vec::new();
    for forbidden in ["letters", "letters/data", "letters/data/inner", "letters/data/inner/a.txt", "letters/bagit.txt"]
    {
        let path = place.path(forbidden);
        forbid(&path, true);
        let answer = place.run_bound_by_permissions(&["deposit", "letters", "--wait", "--json"]);
        forbid(&path, false);
        assert_eq!(answer.code, Some(1), "{forbidden}: {answer:?}");
        let item = answer.object();
        assert_eq!(item["status"], "failed", "{item}");
        let note = item["note"].as_str().unwrap();
        let name = forbidden.strip_prefix("letters/").unwrap_or(forbidden);
        for words in [name, "Permission denied", "give the user that runs the workers permission to read it"] {
            assert!(note.contains(words), "{words:?} is not in {note:?}");
        }
        assert!(!note.contains("failed after"), "nothing is gained by trying again: {note:?}");
        nothing_is_published(&place);
        nothing_is_left(&place);
        items.push(item["item"].as_str().unwrap().to_owned());
    }
    place.run(["items", "requeue", &items[0]]).succeeds();
    work_to_the_end(&place, &[]);
    let shown = place.run(["items", "show", &items[0], "--json"]).succeeds().object();
    assert_eq!(shown["status"], "succeeded", "{shown}");
}

#[test]
fn a_store_that_may_not_be_written_fails_a_deposit_and_names_itself() {
    let place = Place::with_home();
    place.bag("letters", "text");
    let store = place.path("home/stores/secondary");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o555)).unwrap();
    let answer = place.run_bound_by_permissions(&["deposit", "letters.tar", "--wait", "--json"]);
    forbid(&store, false);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let item = answer.object();
    let note = item["note"].as_str().unwrap();
    assert!(note.contains("store secondary") && note.contains("Permission denied"), "{note}");
    nothing_is_published(&place);
    place.run(["items", "requeue", item["item"].as_str().unwrap()]).succeeds();
    work_to_the_end(&place, &[]);
    end_state(&place, "example.edu/letters");
}
