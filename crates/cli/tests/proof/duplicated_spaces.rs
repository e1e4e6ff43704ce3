//! Many content items in many spaces, of which half of the copies are stale and some are wrong in every way, while workers are killed: one sweep
//! heals or reports every difference, counts exactly, and touches nothing else.
//!
//! `STRONGROOM_PROOF_ITEMS` says how many content items (without it few, for the time it takes), and `STRONGROOM_PROOF_SEED` repeats the
//! choices of a run, though not its moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use strongroom_engine::Home;
use strongroom_queue::tasks;
use strongroom_registry::{SweepId, sweeps};
use strongroom_spaces::{Description, Properties, SpaceName};
use strongroom_storage::Key;

use crate::homes::{Running, open, until};
use crate::many_bags::{Chance, number_from};
use crate::program::Place;

const FEW: usize = 4_000;
const SPACES: usize = 50;
/// Spaces that were copied by an earlier sweep, so that their content items are recorded.
const RECORDED: usize = 10;
/// Of so many content items one is wrong in each way.
const ONE_IN: usize = 100;
/// How long nothing at all may be finished before the test fails. Nothing is measured by it.
const PATIENCE: Duration = Duration::from_mins(3);

/// How a content item differs in the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// It does not.
    Right,
    /// It has the bytes of before.
    Stale,
    OtherSize,
    /// Other bytes of the same length, with the same time.
    SameSizeAndTime,
    Truncated,
    Missing,
    /// The source never had it.
    Extra,
    OtherDescription,
    DeletedWithEvent,
    DeletedWithoutEvent,
    /// It is missing, and has a name that some programs cannot have.
    OddName,
    /// The source has it under a name with control characters, which no content item has: it is counted, and not copied.
    NoKey,
    /// It is missing, and has no bytes.
    Empty,
    /// The destination has it, and the source has it without bytes.
    Emptied,
}

const WAYS: [Way; 12] = [
    Way::OtherSize,
    Way::SameSizeAndTime,
    Way::Truncated,
    Way::Missing,
    Way::Extra,
    Way::OtherDescription,
    Way::DeletedWithEvent,
    Way::DeletedWithoutEvent,
    Way::OddName,
    Way::NoKey,
    Way::Empty,
    Way::Emptied,
];

const ODD: [&str; 10] = [
    "a b",
    " leading",
    "-rf",
    "per%20cent",
    "plus+and&",
    "quo\"te's",
    "e\u{301} and \u{e9}",
    "*?[x]{y}",
    "~$HOME\\",
    "\u{65e5}\u{672c}\u{1f5fa}",
];

/// A content item of the test.
struct Item {
    space: usize,
    key: String,
    way: Way,
}

impl Item {
    fn of(number: usize) -> Self {
        // Each way comes in each space.
        let (space, nth) = (number % SPACES, number / SPACES);
        let way = match WAYS.get((nth + space * 2) % ONE_IN) {
            Some(way) => *way,
            None if nth % 2 == 0 => Way::Stale,
            None => Way::Right,
        };
        let name = format!("{:02}/{nth:05}", nth % 7);
        let key = match way {
            Way::OddName => format!("{name} {}", ODD[(number % SPACES + number / SPACES) % ODD.len()]),
            Way::NoKey => format!("{name} line\nbreak"),
            _ => format!("{name}.txt"),
        };
        Self { space, key, way }
    }

    fn bytes(&self) -> Vec<u8> {
        match self.way {
            Way::Empty | Way::Emptied => Vec::new(),
            _ => format!("sheet {} of space {}, as it is now", self.key, self.space).into_bytes(),
        }
    }

    fn path(&self, place: &Place, store: &str) -> PathBuf {
        place.path("home/plain").join(store).join(space(self.space)).join(&self.key)
    }

    /// The bytes that the destination has before the sweep.
    fn bytes_before(&self) -> Option<Vec<u8>> {
        let bytes = self.bytes();
        match self.way {
            Way::Missing | Way::OddName | Way::NoKey | Way::Empty => None,
            Way::OtherSize => Some([&bytes[..], b", and more"].concat()),
            Way::SameSizeAndTime => Some(bytes.iter().map(u8::to_ascii_uppercase).collect()),
            Way::Truncated => Some(bytes[..bytes.len() / 2].to_vec()),
            Way::Stale | Way::Emptied => Some(format!("sheet {} as it was", self.key).into_bytes()),
            Way::Right | Way::Extra | Way::OtherDescription | Way::DeletedWithEvent | Way::DeletedWithoutEvent => {
                Some(bytes)
            }
        }
    }

    fn is_in_source(&self) -> bool {
        !matches!(self.way, Way::Extra | Way::DeletedWithEvent | Way::DeletedWithoutEvent)
    }

    /// Whether a person has to know.
    fn is_lost(&self) -> bool {
        matches!(self.way, Way::Extra | Way::DeletedWithoutEvent)
    }
}

fn space(number: usize) -> String {
    format!("space {number:02}")
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A home whose policy copies `disk` to `cloud`. Another store lies beside them.
fn home() -> Place {
    let place = Place::with_home();
    let file = place.path("home/strongroom.toml");
    let mut settings = fs::read_to_string(&file).unwrap();
    for store in ["disk", "cloud", "tape"] {
        writeln!(settings, "\n[plain_stores.{store}]\npath = \"plain/{store}\"\nmarker = \".here\"").unwrap();
        place.write(&format!("home/plain/{store}/.here"), "");
    }
    // Each kill costs an attempt, and what is read whole by chance is no difference.
    let settings = settings
        .replace("[workers.default]\n", "[workers.default]\nmax_attempts = 1000\n")
        .replace("[duplication]\n", "[duplication]\nverify_one_in = 0\nmost_queued = 2000\n");
    fs::write(&file, settings).unwrap();
    place.write("home/plain/tape/space 01/of others.txt", "of others");
    place.run(["user", "add", "root@example.net", "--role", "system_admin"]).succeeds();
    let ann = ["user", "add", "ann@example.edu", "--role", "institution_admin", "--institution", "example.edu"];
    place.run(ann).succeeds();
    place.write("policy.toml", "default = [{ source = \"disk\", destination = \"cloud\", delete = true }]\n");
    let set = ["--as", "root@example.net", "duplicate", "policy", "set", "policy.toml", "--reason", "a copy"];
    place.run(set).succeeds();
    place.run(["--as", "ann@example.edu", "duplicate", "policy", "approve", "1"]).succeeds();
    place
}

/// Gives a content item of a store another description than it had.
fn describe(home: &Home, store: &str, item: &Item) {
    let store = home.plain_stores.get(store).unwrap();
    let (space, key) = (SpaceName::new(space(item.space)).unwrap(), Key::new(item.key.as_str()).unwrap());
    let head = store.head(&space, &key).unwrap();
    let properties = Properties::new([("creator".to_owned(), "ann".to_owned())]).unwrap();
    let description = Description::new(Some("image/tiff"), properties).unwrap();
    store.set_properties(&space, &key, &head.etag, &description).unwrap();
}

/// The description of a content item of a store.
fn description(home: &Home, store: &str, item: &Item) -> Description {
    let (space, key) = (SpaceName::new(space(item.space)).unwrap(), Key::new(item.key.as_str()).unwrap());
    home.plain_stores.get(store).unwrap().head(&space, &key).unwrap().description
}

/// Copies some spaces, which are recorded then.
fn record_some(place: &Place, items: &[Item]) {
    for item in items.iter().filter(|item| item.space < RECORDED) {
        let is_new = matches!(item.way, Way::Missing | Way::Extra | Way::OddName | Way::NoKey | Way::Empty);
        if !is_new {
            let bytes = if item.way == Way::Stale { item.bytes_before().unwrap() } else { item.bytes() };
            write(&item.path(place, "disk"), &bytes);
        }
    }
    let ended = place.run(["duplicate", "run", "--wait", "--json"]).succeeds().object();
    assert_eq!(ended["state"], "done", "{ended}");
}

/// Makes both stores as they are before the sweep.
fn make_different(place: &Place, items: &[Item]) {
    let home = open(place);
    for item in items {
        let (source, copy) = (item.path(place, "disk"), item.path(place, "cloud"));
        let is_recorded = copy.exists();
        if item.is_in_source() {
            // What was copied and is right stays as it is.
            if !(is_recorded && fs::read(&source).unwrap_or_default() == item.bytes()) {
                write(&source, &item.bytes());
            }
        } else if source.exists() {
            fs::remove_file(&source).unwrap();
        }
        match item.bytes_before() {
            Some(bytes) if is_recorded && fs::read(&copy).unwrap() == bytes => {}
            Some(bytes) => {
                let before = fs::metadata(&copy).or_else(|_| fs::metadata(&source)).unwrap_or_else(|_| {
                    write(&copy, &bytes);
                    fs::metadata(&copy).unwrap()
                });
                write(&copy, &bytes);
                if item.way == Way::SameSizeAndTime {
                    let file = fs::File::options().write(true).open(&copy).unwrap();
                    file.set_modified(before.modified().unwrap()).unwrap();
                }
            }
            None => assert!(!copy.exists()),
        }
        if item.way == Way::OtherDescription {
            // In every second one, the source has what the destination has not.
            describe(&home, if item.space % 2 == 0 { "disk" } else { "cloud" }, item);
        }
    }
}

/// Which file lies there: the same bytes, put again, are another one.
type Files = BTreeMap<PathBuf, (Vec<u8>, u64, i64, i64)>;

/// The files of a store.
fn files(place: &Place, store: &str) -> Files {
    let mut found = Files::new();
    crate::homes::walk(&place.path("home/plain").join(store), &mut |path| {
        // What the program itself keeps there.
        if !path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(".strongroom")) {
            let metadata = fs::metadata(path).unwrap();
            let file = (fs::read(path).unwrap(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec());
            found.insert(path.to_owned(), file);
        }
    });
    found
}

/// Tasks of both topics that are not done.
fn undone(home: &Home) -> u64 {
    let counts = home.registry.read(|tx| tasks::counts(tx)).unwrap();
    let of = counts.iter().filter(|topic| topic.topic.starts_with("duplicate."));
    of.map(|topic| topic.ready + topic.delayed + topic.leased).sum()
}

/// Names of a sweep whose tasks are done; none where all parts are compared and nothing is left to do.
fn done(home: &Home, sweep: SweepId) -> Option<u64> {
    let totals = home.registry.read(|tx| sweeps::totals(tx, sweep)).unwrap();
    let left = undone(home);
    (left > 0 || totals.open_parts > 0).then(|| totals.counts.queued.saturating_sub(left))
}

/// Works on a sweep until it has ended, while two workers are killed.
fn work_among_kills(place: &Place, run: &str, count: usize, seed: u64) -> Value {
    let (home, mut chance) = (open(place), Chance(seed));
    let start = |which: usize| Running::logged(place, &["-q", "work", "--kind", "duplicate"], &format!("log {which}"));
    let mut workers: Vec<Running> = (0..2).map(start).collect();
    let _others = Running::logged(place, &["-q", "serve"], "log of serve");
    let (sweep, most) = (run.parse().unwrap(), 1 + count as u64 / 10);
    for _ in 0..2 {
        for which in 0..2 {
            until("tasks wait", || (undone(&home) > 0 || done(&home, sweep).is_none()).then_some(()));
            // At any moment of the work.
            let target = done(&home, sweep).unwrap_or_default() + chance.below(most);
            until("some more are done", || done(&home, sweep).is_none_or(|done| done >= target).then_some(()));
            workers.remove(0).kill();
            workers.push(start(which));
        }
    }
    let (mut begun, mut last) = (Instant::now(), Value::Null);
    loop {
        // Another process may run it, or may have been killed while it did.
        place.run(["background", "run", "duplication"]);
        let now = place.run(["duplicate", "run", "show", run, "--json"]).succeeds().json().remove(0);
        let left = undone(&home);
        if now["state"] == "done" && left == 0 {
            return now;
        }
        let now = serde_json::json!([now, left]);
        if now != last {
            (begun, last) = (Instant::now(), now);
        }
        assert!(begun.elapsed() < PATIENCE, "nothing moves: {last}");
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

fn number(run: &Value, name: &str) -> usize {
    usize::try_from(run[name].as_u64().unwrap()).unwrap()
}

#[test]
fn one_sweep_heals_or_reports_every_difference_while_workers_are_killed() {
    let count = number_from("STRONGROOM_PROOF_ITEMS").map_or(FEW, |count| usize::try_from(count).unwrap());
    let seed = number_from("STRONGROOM_PROOF_SEED").unwrap_or_else(|| RandomState::new().hash_one(count));
    println!("{count} content items, seed {seed}");
    let items: Vec<Item> = (0..count).map(Item::of).collect();
    let of = |way: Way| items.iter().filter(|item| item.way == way).count();
    assert!(WAYS.iter().all(|way| of(*way) > 0), "there are too few content items");
    let began = Instant::now();
    let place = home();
    record_some(&place, &items);
    make_different(&place, &items);
    println!("made: {:?}", began.elapsed());

    let mut events = String::new();
    for item in items.iter().filter(|item| item.way == Way::DeletedWithEvent) {
        let of = format!("disk/{}/{}", space(item.space), item.key);
        writeln!(events, "{}", serde_json::json!({"item": of, "kind": "delete"})).unwrap();
    }
    place.write("events.jsonl", events);
    let (source, before, others) = (files(&place, "disk"), files(&place, "cloud"), files(&place, "tape"));
    let recorded = place.run(["duplicate", "event", "import", "events.jsonl", "--json"]).succeeds().object();
    assert_eq!(number(&recorded, "recorded"), of(Way::DeletedWithEvent), "{recorded}");
    let home = open(&place);
    let mut worker = Running::logged(&place, &["-q", "work", "--kind", "duplicate"], "log of events");
    until("events are carried out", || {
        assert!(!worker.has_ended());
        (undone(&home) == 0).then_some(())
    });
    drop(worker);
    println!("events carried out: {:?}", began.elapsed());

    let run = place.run(["duplicate", "run", "--json"]).succeeds().object();
    let run = run["run"].as_str().unwrap().to_owned();
    let ended = work_among_kills(&place, &run, count, seed);
    println!("swept among kills: {:?}", began.elapsed());

    // The totals are exact.
    let (in_source, lost) = (source.len() - 1, of(Way::Extra) + of(Way::DeletedWithoutEvent));
    let sum = ["queued", "equal", "ignored", "failed"].map(|name| number(&ended, name)).iter().sum::<usize>();
    assert_eq!(number(&ended, "listed"), sum, "{ended}");
    assert_eq!(number(&ended, "listed"), in_source + lost, "{ended}");
    let known = items.iter().filter(|item| item.space < RECORDED && item.way == Way::Right).count();
    assert_eq!((number(&ended, "equal"), number(&ended, "ignored")), (known, of(Way::NoKey)), "{ended}");
    assert_eq!((number(&ended, "held"), number(&ended, "failed_parts")), (0, 0), "{ended}");

    // Every difference is healed, or among the problems.
    let after = files(&place, "cloud");
    let mut wanted = BTreeSet::from([place.path("home/plain/cloud/.here")]);
    for item in &items {
        let path = item.path(&place, "cloud");
        let said = format!("{:?} {} seed {seed}", item.way, path.display());
        if matches!(item.way, Way::DeletedWithEvent | Way::NoKey) {
            assert!(!after.contains_key(&path), "{said}");
            continue;
        }
        assert!(after.get(&path).is_some_and(|(bytes, ..)| *bytes == item.bytes()), "{said}");
        if item.way == Way::OtherDescription {
            let both = ["disk", "cloud"].map(|store| description(&home, store, item));
            assert_eq!(both[0], both[1], "{said}");
        }
        // Nothing else was touched.
        if item.way == Way::Right || item.is_lost() {
            assert_eq!(after.get(&path), before.get(&path), "{said}");
        }
        wanted.insert(path);
    }
    assert_eq!(after.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    assert_eq!(files(&place, "disk"), source, "the source is not written");
    assert_eq!(files(&place, "tape"), others);
    let problems = place.run(["duplicate", "problems", "--json"]).json();
    let is_lost = |problem: &Value| problem["outcome"] == "lost" && problem["in_destination"] == true;
    assert!(problems.iter().all(is_lost), "{problems:?}");
    let text = |problem: &Value, name: &str| problem[name].as_str().unwrap().to_owned();
    let named: BTreeSet<(String, String)> =
        problems.iter().map(|problem| (text(problem, "space"), text(problem, "key"))).collect();
    let lost_items = items.iter().filter(|item| item.is_lost());
    let expected: BTreeSet<(String, String)> = lost_items.map(|item| (space(item.space), item.key.clone())).collect();
    assert_eq!(named, expected, "seed {seed}");

    // Nothing is left to do.
    let again = place.run(["duplicate", "run", "--wait", "--json"]).object();
    assert_eq!(again["state"], "done", "{again}");
    assert_eq!((number(&again, "queued"), number(&again, "dead")), (0, 0), "{again}");
    let carried = in_source - of(Way::NoKey);
    assert_eq!((number(&again, "equal"), number(&again, "failed")), (carried, lost), "{again}");
    println!("and compared: {:?}", began.elapsed());
}
