//! A home looked at from beside the program: what is in it in the end, what is left over, and workers that can be stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use strongroom_engine::Home;
use strongroom_engine::settings::Settings;
use strongroom_queue::tasks;
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::{Scope, Transaction, leases};
use strongroom_storage::Key;

use crate::program::Place;

/// How long a condition may take to come true before the test fails. Nothing is measured by it.
const PATIENCE: Duration = Duration::from_mins(2);

/// Rows asked for at once.
const PAGE: usize = 1_000;

/// SIGTERM (15) in the mask of signals that a process catches.
const SIGTERM_BIT: u64 = 1 << 14;

/// The two stores that keep bytes.
pub(crate) const PRESERVATION: [&str; 2] = ["primary", "secondary"];

/// Opens the home beside the program.
pub(crate) fn open(place: &Place) -> Home {
    let folder = place.path("home");
    let text = fs::read_to_string(folder.join("strongroom.toml")).unwrap();
    Home::open(&folder, Settings::from_toml(&text).unwrap()).unwrap()
}

/// Every work item, oldest first.
pub(crate) fn all_items(home: &Home) -> Vec<Item> {
    let mut all: Vec<Item> = Vec::new();
    loop {
        let after = all.last().map(|item| item.id);
        let page = |tx: &mut dyn Transaction| items::list(tx, Scope::System, &ItemFilter::default(), after, PAGE);
        let page = home.registry.read(page).unwrap();
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return all;
        }
    }
}

/// Looks again and again until `probe` has an answer.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = probe() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A run of the program that can be stopped; killed when the test ends without having done so.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::of(place.command().args(arguments))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        Self { child: command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap() }
    }

    /// The same, with what it says on standard error behind what a file of the place says already.
    pub(crate) fn logged(place: &Place, arguments: &[&str], file: &str) -> Self {
        let log = fs::OpenOptions::new().create(true).append(true).open(place.path(file)).unwrap();
        let child = place.command().args(arguments).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self { child }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// SIGTERM, as soon as it listens to that; how it ended.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        let status = format!("/proc/{}/status", self.child.id());
        until("the program listens to SIGTERM", || {
            assert!(self.child.try_wait().unwrap().is_none(), "it had ended before it was asked to");
            let text = fs::read_to_string(&status).unwrap_or_default();
            let Some(caught) = text.lines().find_map(|line| line.strip_prefix("SigCgt:")) else { return Some(()) };
            (u64::from_str_radix(caught.trim(), 16).unwrap() & SIGTERM_BIT != 0).then_some(())
        });
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
        until("a program that was asked to stop has ended", || self.child.try_wait().unwrap())
    }

    /// SIGKILL, which must find it alive.
    #[track_caller]
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it had ended before it was killed");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is left in peace.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Workers until no item is open and no task waits, then SIGTERM; they must end well.
pub(crate) fn work_to_the_end(place: &Place, environment: &[(&str, &str)]) {
    let home = open(place);
    let mut workers = Running::of(place.command().args(["-q", "work"]).envs(environment.iter().copied()));
    until("every item and task has ended", || {
        assert!(!workers.has_ended(), "the workers ended before their work");
        let tasks = home.registry.read(|tx| tasks::counts(tx)).unwrap();
        let waiting: u64 = tasks.iter().map(|topic| topic.ready + topic.delayed + topic.leased).sum();
        (waiting == 0 && all_items(&home).iter().all(|item| item.status.is_ended())).then_some(())
    });
    assert_eq!(workers.terminate().code(), Some(0), "asked to stop, workers end well");
}

/// What two runs must have in common: whatever is no identifier and no time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EndState {
    /// Path to size, digests, format and the stores of the copies.
    files: BTreeMap<String, (u64, String, String, Vec<String>)>,
    /// Kind of event, outcome and path to how often.
    events: BTreeMap<(String, String, String), usize>,
    /// Number, files and bytes.
    versions: Vec<(u64, u64, u64)>,
    /// Content files of each preservation store: how often there is one of this name.
    contents: BTreeMap<(String, String), usize>,
}

/// The end state of a home with this one object, in which nothing may be left over.
#[track_caller]
pub(crate) fn end_state(place: &Place, object: &str) -> EndState {
    nothing_is_left(place);
    let has_dead = |topic: &Value| topic["dead"] != 0;
    assert!(!place.run(["queue", "list", "--json"]).succeeds().json().iter().any(has_dead), "tasks are dead");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut files = BTreeMap::new();
    let mut paths = BTreeMap::new();
    for file in place.run(["objects", "files", object, "--json"]).succeeds().json() {
        let mut stores = Vec::new();
        for copy in file["copies"].as_array().unwrap() {
            assert!(copy["verified_at"].is_string(), "an unproved copy: {file}");
            stores.push(text(&copy["store"]));
        }
        paths.insert(text(&file["file"]), text(&file["path"]));
        let format = format!("{} {} {}", file["puid"], file["mime"], file["format_method"]);
        let known = (file["size"].as_u64().unwrap(), file["digests"].to_string(), format, stores);
        assert!(files.insert(text(&file["path"]), known).is_none(), "a path twice: {file}");
    }
    let mut events = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for event in place.run(["objects", "events", object, "--json"]).succeeds().json() {
        assert!(seen.insert(text(&event["event"])), "an event twice: {event}");
        let path = event["file"].as_str().and_then(|file| paths.get(file).cloned()).unwrap_or_default();
        *events.entry((text(&event["type"]), text(&event["outcome"]), path)).or_default() += 1;
    }
    let versions = place
        .run(["objects", "versions", object, "--json"])
        .succeeds()
        .json()
        .iter()
        .map(|version| {
            assert_eq!(version["state"], "published", "{version}");
            let number = |key: &str| version[key].as_u64().unwrap();
            // The bytes of a version count its record, in which identifiers differ from run to run but not in length.
            (number("version"), number("files"), number("bytes"))
        })
        .collect();
    for store in PRESERVATION {
        place.run(["ocfl", "validate", &format!("home/stores/{store}/example.edu")]).succeeds();
    }
    let shown: BTreeSet<&str> =
        files.values().flat_map(|(_, digests, ..)| digests.split('"')).filter(|text| text.len() == 128).collect();
    let mut contents = BTreeMap::new();
    for (path, _) in stored_contents(place) {
        let store = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let sha512 = path.file_name().unwrap().to_string_lossy().into_owned();
        // Manifests and the version's record are not shown; the record differs from run to run.
        let name = if shown.contains(sha512.as_str()) { sha512 } else { "of no shown file".to_owned() };
        *contents.entry((store, name)).or_default() += 1;
    }
    EndState { files, events, versions, contents }
}

/// Every content file of the storage roots in the preservation stores, below `stores`, with its size.
pub(crate) fn stored_contents(place: &Place) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for store in PRESERVATION {
        let folder = place.path("home/stores").join(store);
        walk(&folder, &mut |path| {
            let below = path.strip_prefix(place.path("home/stores")).unwrap();
            let has_part = |name: &str| below.components().any(|part| part.as_os_str() == name);
            if has_part("content") && !has_part(".strongroom") {
                found.insert(below.to_owned(), fs::metadata(path).unwrap().len());
            }
        });
    }
    found
}

/// Shows every file below a folder.
pub(crate) fn walk(folder: &Path, show: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), show);
        } else {
            show(&entry.path());
        }
    }
}

/// No item is open, no task waits, no lease is held, nothing is staged or half assembled. Dead tasks are kept for people.
#[track_caller]
pub(crate) fn nothing_is_left(place: &Place) {
    let home = open(place);
    for item in all_items(&home) {
        assert!(item.status.is_ended(), "{} is {}", item.object_identifier, item.status);
        assert!(item.holder.is_none(), "{} is held by {:?}", item.object_identifier, item.holder);
    }
    for topic in place.run(["queue", "list", "--json"]).succeeds().json() {
        for state in ["ready", "delayed", "leased"] {
            assert_eq!(topic[state], 0, "{topic}");
        }
    }
    let live = home.registry.read(|tx| leases::live(tx)).unwrap();
    assert_eq!(live, 0, "leases of objects are held");
    let staged: Vec<String> =
        home.roles.staging.list(&Key::ROOT).unwrap().map(|listed| listed.unwrap().key.to_string()).collect();
    assert!(staged.is_empty(), "staging holds {staged:?}");
    for (name, store) in &home.stores {
        assert_eq!(store.assemblies().unwrap(), Vec::<String>::new(), "assemblies in {name}");
    }
}
