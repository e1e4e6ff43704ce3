//! Bags of which a part is at web servers: what their `fetch.txt` names is downloaded where the settings want that, compared with the
//! manifests, and kept like what came in the bag.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use strongroom_bagit::{CheckOptions, Verdict, validate};
use strongroom_digest::Algorithm;
use strongroom_download::Policy;
use strongroom_engine::Home;
use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_engine::restoration::RestoreRequest;
use strongroom_registry::items::{Item, Request};
use strongroom_registry::{ItemStatus, Stage};
use strongroom_web_double::{Behaviour, WebDouble};
use tempfile::TempDir;

use super::world::{Files, World, contents, digest, gzip, tar, zip};
use crate::restoration::{restored, to};

const FETCHING: &str = "[workers.default]\nmax_attempts = 1\n[ingest]\nfetch_txt = true\n";
/// What is in the bag, and what is at the server.
const INSIDE: Files<'static> = &[("data/a.txt", b"alpha")];
const AWAY: Files<'static> = &[("data/b.txt", b"beta"), ("data/c/d e.txt", b"delta")];

fn world() -> World {
    World::with(FETCHING)
}

/// A bag as a test wants it: tag files are made anew whenever it is written.
#[derive(Clone)]
struct Holey {
    inside: Vec<(String, Vec<u8>)>,
    /// Paths and bytes that the payload manifests list.
    listed: Vec<(String, Vec<u8>)>,
    fetch: String,
}

impl Holey {
    /// With everything at the server, and listed as it should be.
    fn new(world: &World) -> Self {
        let mut holey = Self { inside: Vec::new(), listed: Vec::new(), fetch: String::new() };
        for (path, bytes) in INSIDE {
            holey.inside.push(((*path).to_owned(), bytes.to_vec()));
            holey.listed.push(((*path).to_owned(), bytes.to_vec()));
        }
        for (number, (path, bytes)) in AWAY.iter().enumerate() {
            let url = format!("/{number}.bin");
            world.web.put(&url, bytes);
            holey.listed.push(((*path).to_owned(), bytes.to_vec()));
            holey.line(&world.web.url(&url), &bytes.len().to_string(), path);
        }
        holey
    }

    fn line(&mut self, url: &str, length: &str, path: &str) {
        writeln!(self.fetch, "{url} {length} {path}").expect("writes");
    }

    /// Every file of the bag, below its base directory.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let bytes: usize = self.listed.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut tags = vec![
            ("bagit.txt".to_owned(), b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n".to_vec()),
            ("bag-info.txt".to_owned(), format!("Payload-Oxum: {bytes}.{}\n", self.listed.len()).into_bytes()),
            ("fetch.txt".to_owned(), self.fetch.clone().into_bytes()),
        ];
        // One of the algorithms is not recorded: the files are read once more for it.
        for algorithm in [Algorithm::Md5, Algorithm::Sha384] {
            tags.push((format!("manifest-{algorithm}.txt"), manifest(&self.listed, algorithm)));
        }
        let tag_manifest = manifest(&tags, Algorithm::Sha256);
        tags.push(("tagmanifest-sha256.txt".to_owned(), tag_manifest));
        tags.extend(self.inside.clone());
        tags
    }

    /// A folder of the folder of packages.
    fn folder(&self, world: &World, name: &str) -> DepositRequest {
        for (path, bytes) in self.files() {
            world.write(&format!("{name}/{path}"), bytes);
        }
        let _ = std::fs::create_dir_all(world.path(name).join("data"));
        world.request(world.path(name))
    }

    fn packed(&self, name: &str, pack: fn(Files<'_>) -> Vec<u8>) -> Vec<u8> {
        let files: Vec<(String, Vec<u8>)> =
            self.files().into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)).collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        pack(&files)
    }
}

/// A bag of which one file is at this path of the server.
pub(super) fn bag_of(world: &World, name: &str, path: &str, bytes: &[u8]) -> DepositRequest {
    let mut holey = Holey { inside: Vec::new(), listed: Vec::new(), fetch: String::new() };
    holey.listed.push(("data/b.bin".to_owned(), bytes.to_vec()));
    holey.line(&world.web.url(path), &bytes.len().to_string(), "data/b.bin");
    holey.folder(world, name)
}

fn manifest(files: &[(String, Vec<u8>)], algorithm: Algorithm) -> Vec<u8> {
    let lines = files.iter().map(|(path, bytes)| format!("{}  {path}\n", digest(bytes, algorithm)));
    lines.collect::<String>().into_bytes()
}

/// The payload of the bag.
fn payload() -> BTreeMap<String, Vec<u8>> {
    contents(&[INSIDE, AWAY].concat())
}

/// The payload that an object has.
fn kept(world: &World, name: &str) -> BTreeMap<String, Vec<u8>> {
    world.below(&world.object(name), 1, "deposit/").into_iter().filter(|(path, _)| path.starts_with("data/")).collect()
}

/// How often a file of the server was sent.
fn sent(world: &World, path: &str) -> usize {
    world.web.requests_of(path).into_iter().filter(|request| request.method == "GET").count()
}

fn only(mut items: Vec<Item>) -> Item {
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0)
}

fn requeue(world: &World, item: &Item, stage: Option<Stage>) -> Item {
    world.ask(item.id, Request::Requeue(stage));
    only(world.work(item.batch.expect("a batch")))
}

#[test]
fn a_bag_in_every_form_and_from_everywhere_is_completed() {
    type Pack = fn(Files<'_>) -> Vec<u8>;
    let forms: [(&str, Pack); 3] = [("bag.tar", tar), ("bag.zip", zip), ("bag.tar.gz", |files| gzip(&tar(files)))];
    for is_at_url in [false, true] {
        for (file, pack) in forms {
            let world = world();
            let bytes = Holey::new(&world).packed("bag", pack);
            let request = if is_at_url {
                let url = format!("/{file}");
                world.web.put(&url, &bytes);
                world.request(url.as_str())
            } else {
                world.request(world.write(file, &bytes))
            };
            world.ingest(&request);
            assert_eq!(kept(&world, "bag"), payload(), "{file}");
            assert!(world.is_nothing_staged(), "{file}");
        }
    }
    let world = world();
    world.ingest(&Holey::new(&world).folder(&world, "bag"));
    assert_eq!(kept(&world, "bag"), payload());
    assert_eq!((sent(&world, "/0.bin"), sent(&world, "/1.bin")), (1, 1));
    let submission = world.below(&world.object("bag"), 1, "submission/v1/");
    assert!(submission.contains_key("fetch.txt"), "{submission:?}");
    assert!(world.is_nothing_staged());
}

#[test]
fn without_the_setting_the_bag_is_incomplete_and_with_it_the_same_work_item_completes() {
    for stage in [None, Some(Stage::named("receive")), Some(Stage::named("fetch"))] {
        let mut world = World::new();
        let request = Holey::new(&world).folder(&world, "bag");
        let item = only(world.deposit(&request));
        assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
        let note = item.note.clone().unwrap_or_default();
        assert!(note.contains("incomplete") && note.contains("ingest.fetch_txt"), "{note}");
        assert_eq!(world.codes(item.id), ["fetch.pending", "fetch.pending"]);
        assert!(world.web.requests().is_empty(), "nothing was asked for");
        let mut settings = world.home.settings.clone();
        settings.ingest.fetch_txt = true;
        let opened = Home::with_registry(world.home.path(), settings, world.home.registry.clone());
        world.home.home = Arc::new(opened.expect("opens the home"));
        world.download_within(world.policy());
        let item = requeue(&world, &item, stage);
        assert_eq!(item.status, ItemStatus::Succeeded, "{stage:?}: {:?}", item.note);
        assert_eq!(kept(&world, "bag"), payload());
    }
}

#[test]
fn what_could_not_be_downloaded_for_now_of_a_bag_that_was_read_before_is_asked_for_again() {
    let mut world = World::with("[workers.default]\nmax_attempts = 3\n");
    let request = Holey::new(&world).folder(&world, "bag");
    let item = only(world.deposit(&request));
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    let mut settings = world.home.settings.clone();
    settings.ingest.fetch_txt = true;
    let opened = Home::with_registry(world.home.path(), settings, world.home.registry.clone());
    world.home.home = Arc::new(opened.expect("opens the home"));
    world.download_within(world.policy());
    // The first attempt fails after one of both was downloaded.
    world.web.on("/1.bin", Behaviour::FailTimes { times: 3, status: 503 });
    let item = requeue(&world, &item, Some(Stage::named("fetch")));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(kept(&world, "bag"), payload());
}

#[test]
fn nothing_is_asked_for_while_anything_else_is_wrong_with_the_bag() {
    type Change<'c> = &'c dyn Fn(&mut Holey, &World);
    let cases: [(&str, &str, Change<'_>); 8] = [
        ("not in a manifest", "fetch.unlisted", &|bag, world| bag.line(&world.web.url("/0.bin"), "-", "data/none.txt")),
        ("a tag file", "fetch.tag_file", &|bag, world| bag.line(&world.web.url("/0.bin"), "-", "bag-info.txt")),
        ("leaves the bag", "path.unsafe", &|bag, world| bag.line(&world.web.url("/0.bin"), "-", "data/../../x")),
        ("is absolute", "path.unsafe", &|bag, world| bag.line(&world.web.url("/0.bin"), "-", "/etc/passwd")),
        ("no URL", "fetch.url", &|bag, _| bag.line("0.bin", "-", "data/b.txt")),
        ("no length", "fetch.length", &|bag, world| bag.line(&world.web.url("/0.bin"), "long", "data/b.txt")),
        ("missing", "manifest.file_missing", &|bag, _| bag.listed.push(("data/gone".to_owned(), b"gone".to_vec()))),
        ("damaged", "manifest.digest_mismatch", &|bag, _| bag.inside[0].1 = b"omega".to_vec()),
    ];
    for (what, code, change) in cases {
        let world = world();
        let mut bag = Holey::new(&world);
        change(&mut bag, &world);
        let item = only(world.deposit(&bag.folder(&world, "bag")));
        assert_eq!(item.status, ItemStatus::Failed, "{what}");
        let codes = world.codes(item.id);
        assert!(codes.iter().any(|found| found == code), "{what}: {codes:?}");
        assert!(world.web.requests().is_empty(), "{what}: nothing was asked for");
        let note = item.note.unwrap_or_default();
        assert!(note.contains("until nothing else is wrong"), "{what}: {note}");
    }
}

#[test]
fn a_path_that_is_listed_twice_or_is_in_the_bag_is_told_of_and_fetched_once_or_not() {
    let world = world();
    let mut bag = Holey::new(&world);
    world.web.put("/other", b"other");
    bag.line(&world.web.url("/other"), "-", "data/b.txt");
    bag.line(&world.web.url("/other"), "-", "data/a.txt");
    let item = only(world.deposit(&bag.folder(&world, "bag")));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let mut codes = world.codes(item.id);
    codes.sort();
    assert_eq!(codes, ["fetch.duplicate", "fetch.present"]);
    assert!(world.problems(item.id).iter().all(|problem| problem.severity == "warning"));
    assert_eq!(sent(&world, "/other"), 0);
    assert_eq!(kept(&world, "bag"), payload());
}

#[test]
fn a_file_that_is_another_one_or_is_not_there_is_named_and_a_requeue_fetches_it_alone() {
    for (what, behaviours, content, word) in [
        ("other bytes", vec![], b"DELTA".as_slice(), "expected was"),
        ("too long", vec![], b"delta and more".as_slice(), "14 bytes, and 5 were expected"),
        ("too short", vec![], b"del".as_slice(), "3 bytes, and 5 were expected"),
        ("not there", vec![Behaviour::NotFound], b"delta".as_slice(), "404"),
        ("without an end", vec![Behaviour::Endless], b"delta".as_slice(), "more than 5 bytes"),
    ] {
        let world = world();
        let bag = Holey::new(&world);
        world.web.put("/1.bin", content);
        for behaviour in behaviours {
            world.web.on("/1.bin", behaviour);
        }
        let item = only(world.deposit(&bag.folder(&world, "bag")));
        assert_eq!(item.status, ItemStatus::Failed, "{what}");
        let problems = world.problems(item.id);
        let [problem] = problems.as_slice() else { panic!("{what}: {problems:?}") };
        assert_eq!(problem.code, "fetch.failed", "{what}");
        assert_eq!((problem.path.as_deref(), problem.line), (Some("data/c/d e.txt"), Some(2)), "{what}");
        assert!(problem.message.contains(word), "{what}: {}", problem.message);
        assert_eq!(world.objects(), Vec::<String>::new(), "{what}");
        world.web.mend("/1.bin");
        world.web.put("/1.bin", b"delta");
        let item = requeue(&world, &item, None);
        assert_eq!(item.status, ItemStatus::Succeeded, "{what}: {:?}", item.note);
        assert_eq!(kept(&world, "bag"), payload(), "{what}");
        assert!(world.is_nothing_staged(), "{what}");
    }
}

#[test]
fn a_connection_that_is_cut_is_resumed_and_a_file_without_a_length_is_taken_as_it_comes() {
    let large: Vec<u8> = (0_u32..200_000).flat_map(u32::to_le_bytes).collect();
    let world = world();
    let mut bag = Holey::new(&world);
    world.web.put("/large", &large);
    world.web.put("/open", &large[..300_000]);
    world.web.on("/large", Behaviour::CutAfter { bytes: 300_000, times: 1 });
    world.web.on("/open", Behaviour::UntilClose);
    bag.line(&world.web.url("/large"), "800000", "data/large");
    bag.line(&world.web.url("/open"), "-", "data/open");
    bag.listed.push(("data/large".to_owned(), large.clone()));
    bag.listed.push(("data/open".to_owned(), large[..300_000].to_vec()));
    world.ingest(&bag.folder(&world, "bag"));
    let resumed = world.web.requests_of("/large").into_iter().any(|request| request.header("if-range").is_some());
    assert!(resumed);
    let mut expected = payload();
    expected.insert("data/open".to_owned(), large[..300_000].to_vec());
    expected.insert("data/large".to_owned(), large);
    assert!(kept(&world, "bag") == expected);
}

#[test]
fn hosts_and_addresses_that_are_not_allowed_are_all_told_of_and_none_is_asked() {
    let other = WebDouble::start();
    other.put("/x", b"beta");
    let mut world = World::of(crate::fixture::home_with(FETCHING), WebDouble::start());
    // Its host is allowed, and its address is not.
    let policy = Policy {
        hosts: vec![world.web.authority(), "10.1.2.3".to_owned(), other.authority()],
        allow_private_networks: false,
        private_hosts: vec![world.web.authority()],
        ..world.policy()
    };
    world.download_within(policy);
    let mut bag = Holey::new(&world);
    bag.fetch.clear();
    bag.line("http://example.org/b.txt", "-", "data/b.txt");
    bag.line("ftp://example.org/b.txt", "-", "data/c/d e.txt");
    let item = only(world.deposit(&bag.folder(&world, "bag")));
    assert_eq!(world.codes(item.id), ["fetch.failed", "fetch.failed"], "{:?}", item.note);
    assert!(item.note.as_deref().is_some_and(|note| note.contains("ingest.url_hosts")), "{:?}", item.note);
    assert!(world.web.requests().is_empty());
    for (number, target) in [other.url("/x"), "http://10.1.2.3/x".to_owned()].into_iter().enumerate() {
        let mut bag = Holey::new(&world);
        bag.fetch.clear();
        world.web.on("/0.bin", Behaviour::RedirectTo(target.clone()));
        bag.line(&world.web.url("/0.bin"), "4", "data/b.txt");
        bag.line(&target, "5", "data/c/d e.txt");
        let item = only(world.deposit(&bag.folder(&world, &format!("private-{number}"))));
        assert_eq!(world.codes(item.id), ["fetch.failed", "fetch.failed"], "{:?}", item.note);
        for problem in world.problems(item.id) {
            assert!(problem.message.contains("no address in a public network"), "{}", problem.message);
        }
        world.web.mend("/0.bin");
    }
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[test]
fn what_is_fetched_is_counted_in_staging() {
    let world = World::with(&format!("{FETCHING}[staging]\ncapacity = \"24 KiB\"\n"));
    let mut bag = Holey::new(&world);
    let large = vec![7; 30_000];
    world.web.put("/large", &large);
    bag.line(&world.web.url("/large"), "30000", "data/large");
    bag.listed.push(("data/large".to_owned(), large));
    let item = only(world.deposit(&bag.folder(&world, "bag")));
    assert_eq!(item.status, ItemStatus::Failed);
    assert!(item.note.as_deref().is_some_and(|note| note.contains("staging.capacity")), "{:?}", item.note);
    assert_eq!(sent(&world, "/large"), 0, "it is known before that there is no room");
    // Where the length is not stated it is seen on the way.
    let stated = bag.fetch.clone();
    bag.fetch = stated.replace(" 30000 ", " - ");
    let item = only(world.deposit(&bag.folder(&world, "other")));
    assert_eq!(item.status, ItemStatus::Failed);
    assert!(item.note.as_deref().is_some_and(|note| note.contains("staging.capacity")), "{:?}", item.note);
}

#[test]
fn a_bag_that_was_completed_is_restored_as_it_was_sent_with_what_was_fetched() {
    let world = world();
    let bag = Holey::new(&world);
    world.ingest(&DepositRequest { kind: DepositKind::Bag, ..bag.folder(&world, "bag") });
    let folder = TempDir::new().expect("a folder");
    restored(&world.home, &RestoreRequest { submission: true, ..to(&folder, "bag") });
    let path = folder.path().join("bag.tar");
    let report = validate(&path, &CheckOptions::default()).expect("a report");
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.problems);
    assert!(report.has_fetch);
    assert_eq!(report.payload_files, 3);
    // As a new bag it names nothing to be fetched.
    let folder = TempDir::new().expect("a folder");
    restored(&world.home, &to(&folder, "bag"));
    let report = validate(&folder.path().join("bag.tar"), &CheckOptions::default()).expect("a report");
    assert!(matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings), "{:?}", report.problems);
    assert!(!report.has_fetch);
}

#[test]
fn an_archive_that_was_read_from_a_temporary_file_takes_no_space_from_the_files_that_are_fetched() {
    let world = World::with(&format!("{FETCHING}[staging]\ncapacity = \"1000 kB\"\n"));
    let mut holey = Holey::new(&world);
    let mut state = 1_u32;
    // It cannot be compressed.
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let inside: Vec<u8> = noise.take(300_000).collect();
    let away = vec![7; 500_000];
    world.web.put("/away.bin", &away);
    holey.line(&world.web.url("/away.bin"), "500000", "data/away.bin");
    holey.inside.push(("data/inside.bin".to_owned(), inside.clone()));
    holey.listed.extend([("data/inside.bin".to_owned(), inside), ("data/away.bin".to_owned(), away)]);
    world.web.put("/large.zip", holey.packed("large", zip));
    let item = world.deposit(&world.request("/large.zip")).remove(0);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
}
