//! Packages that are no bags: manifests whose files are downloaded, lists of objects, merged and replaced files, and ARKs. The web
//! server is the same for all runs, so that undisturbed ones can be compared with those that were killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use strongroom_ezid_double::{EzidDouble, PASSWORD, USER};
use strongroom_queue::{TopicCounts, tasks};
use strongroom_registry::events::{self, EventCursor};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::objects::ObjectFilter;
use strongroom_registry::{ItemStatus, RegistryError, Scope, objects};
use strongroom_web_double::{Behaviour, WebDouble};
use tempfile::TempDir;

use crate::{SIGKILL, finish, nothing_is_left, open, program, stores_are_valid, succeed, work_until};

/// More rows than become work items in one transaction, twice.
const ROWS: usize = 1_100;

/// The server and the lists that are deposited.
struct Served {
    web: WebDouble,
    folder: TempDir,
}

impl Served {
    fn get() -> &'static Self {
        static SERVED: OnceLock<Served> = OnceLock::new();
        SERVED.get_or_init(|| {
            let served = Self { web: WebDouble::start(), folder: TempDir::new().expect("a folder") };
            for number in 0..9 {
                served.web.put(&format!("/{number}.bin"), vec![number; 90_000 * usize::from(number) + 40]);
            }
            served.web.put("/packed.bin", vec![9; 250_000]);
            let file = |number: usize| (format!("/{number}.bin"), format!("box {}/{number}.bin", number % 3));
            // More than is staged in one pack.
            let packed = (0..36).map(|number| ("/packed.bin".to_owned(), format!("packed/{number}.bin")));
            let set: Vec<_> = (0..9).map(file).chain(packed).collect();
            served.list("set.checkm", OBJECT, &rows(&served.web, OBJECT, &set, |_| String::new()));
            for (name, numbers) in [("first", 0..3), ("second", 3..5)] {
                let text = manifest(
                    OBJECT,
                    &rows(&served.web, OBJECT, &numbers.map(file).collect::<Vec<_>>(), |_| String::new()),
                );
                served.web.put(&format!("/{name}.checkm"), text);
            }
            let manifests = ["first", "second"].map(|name| (format!("/{name}.checkm"), format!("{name}.checkm")));
            served.list("manifests.checkm", BATCH, &rows(&served.web, BATCH, &manifests, |_| String::new()));
            // The second row has no identifier; the others are versions of one object.
            let files: Vec<_> = (0..4).map(|number| (format!("/{number}.bin"), format!("{number}.bin"))).collect();
            let ids = |row| if row == 1 { String::new() } else { "shared id".to_owned() };
            served.list("files.checkm", SINGLE_FILES, &rows(&served.web, SINGLE_FILES, &files, ids));
            let long: Vec<_> = (0..ROWS).map(|row| ("/0.bin".to_owned(), format!("{row}.bin"))).collect();
            served.list(
                "long.checkm",
                SINGLE_FILES,
                &rows(&served.web, SINGLE_FILES, &long, |row| format!("id {row}")),
            );
            let lost = [("/0.bin".to_owned(), "0.bin".to_owned()), ("/lost.bin".to_owned(), "lost.bin".to_owned())];
            served.web.on("/lost.bin", Behaviour::NotFound);
            served.list("lost.checkm", OBJECT, &rows(&served.web, OBJECT, &lost, |_| String::new()));
            for (folder, names) in [("one/box", ["a.txt", "b.txt", "c.txt"]), ("two/box", ["b.txt", "d.txt", "e.txt"])]
            {
                fs::create_dir_all(served.path(folder)).expect("makes it");
                for name in names {
                    fs::write(served.path(folder).join(name), format!("{folder} {name}")).expect("writes");
                }
            }
            fs::write(served.path("delete.txt"), "c.txt\n").expect("writes");
            served
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn list(&self, name: &str, profile: &str, rows: &[String]) {
        fs::write(self.path(name), manifest(profile, rows)).expect("writes");
    }
}

const OBJECT: &str = "mrt-ingest-manifest";
const BATCH: &str = "mrt-batch-manifest";
const SINGLE_FILES: &str = "mrt-single-file-batch-manifest";

/// The rows of a manifest, from the path at the server and the name of each file.
fn rows(web: &WebDouble, profile: &str, files: &[(String, String)], local_id: impl Fn(usize) -> String) -> Vec<String> {
    let row = |(number, (path, name)): (usize, &(String, String))| {
        let more = if profile == OBJECT { String::new() } else { format!("| {} | | | ", local_id(number)) };
        format!("{} | | | | | {name} | {more}", web.url(path))
    };
    files.iter().enumerate().map(row).collect()
}

fn manifest(profile: &str, rows: &[String]) -> String {
    let more = match profile {
        OBJECT => "mrt:mimeType",
        _ => "mrt:primaryIdentifier | mrt:localIdentifier | mrt:creator | mrt:title | mrt:date",
    };
    let mut text = format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/{profile}\n\
         #%prefix | mrt: | http://merritt.cdlib.org/terms#\n\
         #%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n\
         #%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | {more}\n"
    );
    for row in rows {
        writeln!(text, "{row}").expect("writes");
    }
    text + "#%eof\n"
}

/// A data directory that may download from the server.
struct Place {
    _directory: TempDir,
    home: PathBuf,
    ezid: Option<EzidDouble>,
}

impl Place {
    fn new(has_arks: bool) -> Self {
        let directory = TempDir::new().expect("a folder");
        let home = directory.path().join("home");
        succeed(program(&home).arg("init").arg(&home));
        let ezid = has_arks.then(|| EzidDouble::start().expect("a server"));
        let file = home.join("strongroom.toml");
        let hosts = Served::get().web.authority();
        let allowed = format!("[ingest]\nurl_hosts = [\"{hosts}\"]\nallow_private_addresses = true\n");
        let mut text = fs::read_to_string(&file).expect("settings").replace("[ingest]\n", &allowed);
        if let Some(ezid) = &ezid {
            let of_arks = format!(
                "[identifiers]\nminter = \"ezid\"\nnaan = \"99999\"\nshoulder = \"fk4\"\nezid_url = \"{}\"\n\
                 ezid_user = \"{USER}\"\nezid_password = \"{PASSWORD}\"\n",
                ezid.url()
            );
            text = text.replace("[identifiers]\n", &of_arks);
        }
        fs::write(&file, text).expect("writes");
        Self { _directory: directory, home, ezid }
    }

    /// Deposits packages one after the other and waits for each; the last one with this fail point.
    fn deposit(&self, deposits: &[&[&str]], point: Option<&str>) {
        for (number, arguments) in deposits.iter().enumerate() {
            let mut command = program(&self.home);
            command.args(["-q", "deposit", "--wait"]).args(*arguments).current_dir(Served::get().folder.path());
            match point.filter(|_| number + 1 == deposits.len()) {
                None => drop(succeed(&mut command)),
                Some(point) => {
                    let output = command.env("FAILPOINTS", format!("{point}=1*return")).output().expect("starts");
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert_eq!(output.status.signal(), Some(SIGKILL), "{point} was not reached: {said}");
                }
            }
        }
    }

    /// Runs workers that die at these fail points.
    fn work_until_killed(&self, points: &str) {
        let mut work = program(&self.home).args(["-q", "work"]).env("FAILPOINTS", points).spawn().expect("starts");
        let home = open(&self.home);
        let status = loop {
            if let Some(status) = work.try_wait().expect("a state") {
                break status;
            }
            let counts = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
            let tasks = |counts: &TopicCounts| counts.ready + counts.delayed + counts.leased;
            if counts.iter().all(|counts| counts.paused || tasks(counts) == 0) {
                work.kill().expect("ends it");
                work.wait().expect("its end");
                panic!("{points} was not reached");
            }
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        };
        assert_eq!(status.signal(), Some(SIGKILL), "{points} was not reached");
    }

    fn items(&self) -> Vec<Item> {
        let home = open(&self.home);
        home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 2 * ROWS)).expect("items")
    }

    /// Whether everything is as it should be, and what there is.
    fn end(&self) -> End {
        let mut end = End::default();
        let mut rows: Vec<Item> = self.items();
        rows.sort_by_key(|item| item.id);
        for item in rows {
            end.items.push((item.action.as_str().to_owned(), item.name, item.object_identifier, item.status));
        }
        let home = open(&self.home);
        let all = home
            .registry
            .read(|tx| objects::list(tx, Scope::System, &ObjectFilter::default(), None, 1_000))
            .expect("objects");
        for object in all {
            let mut versions = Vec::new();
            for version in 1..=object.head {
                let files = home.registry.read(|tx| objects::files(tx, object.id, version, "", "", 10_000));
                let of = |file: objects::File| {
                    // What the version's record and description say of identifiers and times differs.
                    let is_same = !file.path.starts_with("metadata/");
                    (file.path, if is_same { file.digests.sha512.to_hex() } else { String::new() })
                };
                versions.push(files.expect("files").into_iter().map(of).collect());
            }
            let mut cursor = Some(EventCursor::START);
            while let Some(after) = cursor {
                let page = home
                    .registry
                    .read(|tx| events::of_object(tx, Scope::System, object.id, None, after, 100))
                    .expect("events");
                for event in page.0 {
                    *end.events.entry((object.identifier.clone(), event.kind)).or_default() += 1;
                }
                cursor = page.1;
            }
            end.arks.extend(object.ark);
            end.objects.insert(object.identifier, versions);
        }
        nothing_is_left(&home);
        stores_are_valid(&home, end.objects.len());
        if let Some(ezid) = &self.ezid {
            assert_eq!(end.arks.len(), end.objects.len());
            assert_eq!(ezid.identifiers().into_keys().collect::<BTreeSet<_>>(), end.arks);
            let asked: BTreeSet<String> = ezid.requests().into_iter().map(|request| request.path).collect();
            assert_eq!(asked.len(), end.arks.len(), "no other name was asked for: {asked:?}");
        }
        // They are random.
        end.arks.clear();
        end
    }
}

/// What a run leaves.
#[derive(Debug, Default, PartialEq, Eq)]
struct End {
    /// What each item does, its name, its object and how it ended, in their order.
    items: Vec<(String, String, String, ItemStatus)>,
    /// Path to SHA-512, for each version of each object.
    objects: BTreeMap<String, Vec<BTreeMap<String, String>>>,
    /// Object and kind of event to how often.
    events: BTreeMap<(String, String), usize>,
    arks: BTreeSet<String>,
}

/// Each point kills the last of these deposits once; it must end as if nothing had happened.
fn survive(deposits: &[&[&str]], has_arks: bool, points: &[&str]) {
    let undisturbed = Place::new(has_arks);
    undisturbed.deposit(deposits, None);
    finish(&undisturbed.home);
    let undisturbed = undisturbed.end();
    assert!(undisturbed.items.iter().all(|(.., status)| *status == ItemStatus::Succeeded), "{undisturbed:?}");
    for point in points {
        let place = Place::new(has_arks);
        place.deposit(deposits, Some(point));
        finish(&place.home);
        assert_eq!(place.end(), undisturbed, "{deposits:?} after a kill at {point}");
    }
}

#[test]
fn a_list_of_objects_ends_as_undisturbed_when_killed_while_its_items_are_made() {
    for list in ["files.checkm", "manifests.checkm"] {
        survive(&[&[list]], false, &["batch.expand.begin", "batch.expand.page", "batch.expand.end"]);
    }
}

#[test]
fn a_long_list_makes_one_item_of_each_row_when_killed_behind_any_page() {
    // Nothing becomes of the rows' items here.
    let submitted = || {
        let place = Place::new(false);
        succeed(program(&place.home).args(["queue", "pause", "ingest.receive.remote"]));
        let list = Served::get().path("long.checkm");
        succeed(program(&place.home).args(["-q", "deposit"]).arg(list));
        place
    };
    for points in
        ["batch.expand.page=1*return", "batch.expand.page=1*off->1*return", "batch.expand.page=2*off->1*return"]
    {
        let place = submitted();
        place.work_until_killed(points);
        work_until(&place.home, &|items, _| {
            items.iter().any(|item| item.action.as_str() == "expand_batch" && item.status.is_ended())
        });
        let items = place.items();
        let made: BTreeSet<(&str, &str)> = items
            .iter()
            .filter(|item| item.action.as_str() == "ingest")
            .map(|item| (item.name.as_str(), item.object_identifier.as_str()))
            .collect();
        let wanted: Vec<_> = (0..ROWS).map(|row| (format!("{row}.bin"), format!("example.edu/id {row}"))).collect();
        let wanted: BTreeSet<(&str, &str)> =
            wanted.iter().map(|(name, object)| (name.as_str(), object.as_str())).collect();
        assert_eq!(made, wanted, "after {points}");
        assert_eq!(items.len(), ROWS + 1, "after {points}");
    }
}

#[test]
fn a_manifest_of_files_ends_as_undisturbed_when_killed_while_they_are_downloaded() {
    let url = Served::get().web.url("/first.checkm");
    survive(
        &[&["set.checkm"]],
        false,
        &[
            "ingest.receive.end",
            "ingest.estimate.end",
            "ingest.provision.end",
            "ingest.fetch.begin",
            "ingest.fetch.middle",
            "ingest.fetch.read",
            "ingest.fetch.end",
            "ingest.validate.end",
            "ingest.write.middle",
        ],
    );
    survive(&[&[&url]], false, &["batch.expand.page", "ingest.fetch.read"]);
}

#[test]
fn a_merge_with_a_delete_list_and_a_replacement_end_as_undisturbed_when_killed() {
    let points = [
        "ingest.validate.end",
        "ingest.resolve.end",
        "ingest.compare.end",
        "ingest.write.middle",
        "ingest.record.committing",
        "ingest.record.middle",
        "ingest.record.end",
    ];
    survive(&[&["one/box"], &["two/box", "--mode", "merge", "--delete-list", "delete.txt"]], false, &points);
    survive(&[&["one/box"], &["two/box", "--mode", "replace"]], false, &["ingest.compare.end", "ingest.record.middle"]);
}

#[test]
fn a_deposit_ends_with_one_ark_when_killed_between_its_choice_and_its_publication() {
    survive(
        &[&["one/box"]],
        true,
        &[
            "ingest.resolve.begin",
            "ingest.resolve.chosen",
            "ingest.resolve.registered",
            "ingest.resolve.end",
            "ingest.compare.end",
            "ingest.record.end",
        ],
    );
    survive(&[&["files.checkm"]], true, &["ingest.resolve.chosen", "ingest.resolve.registered"]);
}

#[test]
fn an_update_of_an_ark_is_sent_once_more_when_the_process_is_killed_behind_its_sending() {
    let place = Place::new(true);
    place.deposit(&[&["one/box"]], None);
    let point = "outbox.ezid.sent";
    let run = ["--json", "background", "run", "outbox"];
    let killed =
        program(&place.home).args(run).env("FAILPOINTS", format!("{point}=1*return")).status().expect("starts");
    assert_eq!(killed.signal(), Some(SIGKILL), "{point} was not reached");
    for delivered in ["1 message", "0 messages"] {
        let run = succeed(program(&place.home).args(run));
        let run: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let result = run["result"].as_str().expect("a result");
        assert!(result.starts_with(&format!("{delivered} delivered")), "{result}");
    }
    place.end();
}

/// The item failed with a file in staging, and is deleted: its sweep is killed.
#[test]
fn a_failed_deposit_that_is_deleted_leaves_nothing_in_staging_when_its_sweep_is_killed() {
    let place = Place::new(false);
    let list = Served::get().path("lost.checkm");
    let failed = program(&place.home).args(["-q", "deposit", "--wait"]).arg(list).output().expect("starts");
    assert_eq!(failed.status.code(), Some(1));
    let item = place.items().pop().expect("an item").id.to_string();
    succeed(program(&place.home).args(["items", "delete", "--yes", &item]));
    place.work_until_killed("ingest.sweep.unstaged=1*return");
    finish(&place.home);
    let home = open(&place.home);
    let count = home
        .registry
        .read(|tx| Ok::<_, RegistryError>(objects::list(tx, Scope::System, &ObjectFilter::default(), None, 10)?.len()));
    assert_eq!(count.expect("objects"), 0);
    nothing_is_left(&home);
}
