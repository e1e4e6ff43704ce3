//! Kills the real program at every stage boundary, once each, starts it again, and compares what is there in the end with
//! what an undisturbed run leaves.

mod activities;
mod auditing;
mod batches;
mod cataloguing;
mod counting;
mod deletions;
mod duplicating;
mod packages;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::OnceLock;

use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::Algorithm;
use strongroom_engine::Home;
use strongroom_engine::settings::Settings;
use strongroom_engine::workflow::Workflows;
use strongroom_ocfl::{StorageRoot, ValidateOptions, validate_root};
use strongroom_queue::tasks;
use strongroom_registry::events::{self, EventCursor};
use strongroom_registry::items::Item;
use strongroom_registry::{Action, RegistryError, Scope, items, leases, objects, versions};
use strongroom_storage::Key;
use tempfile::TempDir;

const SIGKILL: i32 = 9;
const NAME: &str = "example.edu.letters";
const OBJECT: &str = "example.edu/example.edu.letters";

/// A home that holds version 1 of the object, and the bag that will make version 2. Copied for each run.
struct Template {
    directory: TempDir,
}

impl Template {
    fn get() -> &'static Self {
        static TEMPLATE: OnceLock<Template> = OnceLock::new();
        TEMPLATE.get_or_init(|| {
            let directory = TempDir::new().expect("a temporary folder");
            let first = directory.path().join("first");
            let second = directory.path().join("second");
            fs::create_dir_all(&first).expect("a folder");
            fs::create_dir_all(&second).expect("a folder");
            bag(&first.join(format!("{NAME}.tar")), 40, "as it was");
            bag(&second.join(format!("{NAME}.tar")), 60, "as it is");
            let home = directory.path().join("home");
            succeed(program(&home).arg("init").arg(&home));
            let bag = first.join(format!("{NAME}.tar"));
            succeed(program(&home).arg("deposit").arg(bag).args(["--institution", "example.edu", "--wait"]));
            Template { directory }
        })
    }

    fn copy(&self) -> (TempDir, PathBuf, PathBuf) {
        let copy = TempDir::new().expect("a temporary folder");
        let status =
            Command::new("cp").arg("-a").arg(self.directory.path()).arg(copy.path()).status().expect("cp runs");
        assert!(status.success());
        let root = copy.path().join(self.directory.path().file_name().expect("a name"));
        let bag = root.join("second").join(format!("{NAME}.tar"));
        (copy, root.join("home"), bag)
    }
}

/// A bag of `files` payload files; every third one says `what`, the others never change.
fn bag(path: &Path, files: usize, what: &str) {
    let options = WriterOptions {
        algorithms: vec![Algorithm::Md5, Algorithm::Sha256],
        base_directory: Some(NAME.to_owned()),
        ..WriterOptions::default()
    };
    let mut writer = BagWriter::create(path, Serialization::Tar, options).expect("a bag is begun");
    for number in 0..files {
        let text = if number % 3 == 0 { format!("letter {number}, {what}") } else { format!("letter {number}") };
        let path = format!("data/box {}/letter {number}.txt", number % 4);
        let file = NewFile::new(&path, text.len() as u64);
        writer.add_payload(&file, text.as_bytes()).expect("a file is added");
    }
    // Larger than what staging packs together.
    let scan = vec![u8::try_from(what.len()).unwrap_or_default(); 400_000];
    writer.add_payload(&NewFile::new("data/scan.tif", scan.len() as u64), scan.as_slice()).expect("a file is added");
    let info = "Title: Letters\nAccess: Institution\nStorage-Option: Standard\n";
    writer
        .add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_bytes())
        .expect("a tag file is added");
    writer.finish(&[("Source-Organization".to_owned(), "Example".to_owned())]).expect("the bag is finished");
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STRONGROOM_")) {
        command.env_remove(name);
    }
    command.env("STRONGROOM_HOME", home).env_remove("FAILPOINTS");
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn open(home: &Path) -> Home {
    let text = fs::read_to_string(home.join("strongroom.toml")).expect("settings");
    Home::open(home, Settings::from_toml(&text).expect("settings")).expect("a home")
}

/// What an end state must have in common with every other: whatever is not an identifier of the second deposit.
#[derive(Debug, PartialEq, Eq)]
struct EndState {
    /// Path to size, SHA-512, media type and copies.
    files: BTreeMap<String, (u64, String, Option<String>, Vec<String>)>,
    /// Path to the file's identifier, of files that version 1 had.
    identifiers: BTreeMap<String, String>,
    /// Kind of event and path to how often.
    events: BTreeMap<(String, String), usize>,
    versions: Vec<(u64, u64, u64)>,
}

fn end_state(home: &Path) -> EndState {
    let home = open(home);
    let object = home.registry.read(|tx| objects::find(tx, Scope::System, OBJECT)).expect("the object");
    let all = home.registry.read(|tx| objects::files(tx, object.id, object.head, "", "", 10_000)).expect("its files");
    let before = home
        .registry
        .read(|tx| objects::files(tx, object.id, 1, "deposit/", "", 10_000))
        .expect("the files of version 1");
    let mut files = BTreeMap::new();
    let mut paths = BTreeMap::new();
    for file in &all {
        let copies = home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
        assert!(copies.iter().all(|copy| copy.verified_at.is_some()), "{} has unproved copies", file.path);
        for copy in &copies {
            let store = home.store(&copy.store).expect("its store");
            let head = store.head(&Key::new(copy.key.as_str()).expect("a key")).expect("the copy is there");
            assert_eq!(head.size, file.size, "{}", copy.key);
        }
        let stores = copies.into_iter().map(|copy| copy.store).collect();
        // The version's record holds the identifiers of the run.
        let sha512 = if file.path.starts_with("metadata/") { String::new() } else { file.digests.sha512.to_hex() };
        let size = if file.path.starts_with("metadata/") { 0 } else { file.size };
        files.insert(file.path.clone(), (size, sha512, file.format.mime.clone(), stores));
        paths.insert(file.id, file.path.clone());
    }
    let identifiers = before.iter().map(|file| (file.path.clone(), file.id.to_string())).collect();
    for file in &before {
        let now = all.iter().find(|now| now.path == file.path).expect("a file stays");
        assert_eq!(now.id, file.id, "{} keeps its identifier", file.path);
    }
    let mut counted = BTreeMap::new();
    let mut seen = std::collections::HashSet::new();
    let mut cursor = Some(EventCursor::START);
    while let Some(after) = cursor {
        let (page, next) = home
            .registry
            .read(|tx| events::of_object(tx, Scope::System, object.id, None, after, 100))
            .expect("its events");
        for event in page {
            assert!(seen.insert(event.id), "event {} stands twice", event.id);
            let path = event.file.and_then(|file| paths.get(&file).cloned()).unwrap_or_default();
            *counted.entry((event.kind, path)).or_default() += 1;
        }
        cursor = next;
    }
    let versions = home
        .registry
        .read(|tx| versions::list(tx, object.id, object.generation, true))
        .expect("its versions")
        .into_iter()
        .map(|version| (version.number, version.files, version.bytes))
        .collect();
    nothing_is_left(&home);
    stores_are_valid(&home, 1);
    EndState { files, identifiers, events: counted, versions }
}

fn nothing_is_left(home: &Home) {
    let staged: Vec<_> = home.roles.staging.list(&Key::ROOT).expect("a listing").collect();
    assert!(staged.is_empty(), "staging holds {staged:?}");
    for (name, store) in &home.stores {
        assert_eq!(store.assemblies().expect("assemblies"), Vec::<String>::new(), "{name} holds assemblies");
    }
    home.registry
        .read(|tx| {
            for counts in tasks::counts(tx)? {
                let tasks = counts.ready + counts.delayed + counts.leased + counts.dead;
                assert_eq!(tasks, 0, "{} has tasks", counts.topic);
            }
            assert_eq!(leases::live(tx)?, 0, "object leases are held");
            for item in items::list(tx, Scope::System, &items::ItemFilter::default(), None, 100)? {
                assert!(item.status.is_ended(), "{} is {}", item.id, item.status);
                assert!(item.holder.is_none());
            }
            Ok::<_, RegistryError>(())
        })
        .expect("the registry is read");
}

fn stores_are_valid(home: &Home, wanted: usize) {
    for name in ["primary", "secondary"] {
        let store = home.store(name).expect("a preservation store");
        let prefix = Key::new("example.edu").expect("a key");
        StorageRoot::open(store.as_ref(), &prefix).expect("a storage root");
        let mut objects = 0;
        let report = validate_root(store.as_ref(), &prefix, &ValidateOptions::default(), &mut |key, report| {
            objects += 1;
            assert!(report.errors.is_empty(), "{key} in {name}: {:?}", report.errors);
        })
        .expect("a report");
        assert!(report.errors.is_empty(), "{name}: {:?}", report.errors);
        assert_eq!(objects, wanted, "objects in {name}");
    }
}

fn undisturbed() -> &'static EndState {
    static STATE: OnceLock<EndState> = OnceLock::new();
    STATE.get_or_init(|| {
        let (_copy, home, bag) = Template::get().copy();
        succeed(program(&home).arg("deposit").arg(bag).args(["--institution", "example.edu", "--wait"]));
        end_state(&home)
    })
}

/// Dies at `point`, is started again, and must end as if nothing had happened.
fn survive(point: &str) {
    let (_copy, home, bag) = Template::get().copy();
    let output = program(&home)
        .env("FAILPOINTS", format!("{point}=1*return"))
        .arg("deposit")
        .arg(bag)
        .args(["--institution", "example.edu", "--wait"])
        .output()
        .expect("the program starts");
    assert_eq!(
        output.status.signal(),
        Some(SIGKILL),
        "{point} was not reached: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    finish(&home);
    let state = end_state(&home);
    assert_eq!(&state, undisturbed(), "after a kill at {point}");
}

/// Runs workers until no item is open, then asks them to stop.
fn finish(home: &Path) {
    work_until(home, &|items, tasks| tasks == 0 && items.iter().all(|item| item.status.is_ended()));
}

/// Runs workers until the items and the number of tasks are as wanted, then asks them to stop.
fn work_until(home: &Path, is_over: &dyn Fn(&[Item], u64) -> bool) {
    let mut workers = program(home).args(["-q", "work"]).spawn().expect("the program starts");
    let watched = open(home);
    loop {
        let (items, tasks) = watched
            .registry
            .read(|tx| {
                let items = items::list(tx, Scope::System, &items::ItemFilter::default(), None, 100)?;
                let tasks: u64 =
                    tasks::counts(tx)?.iter().map(|counts| counts.ready + counts.delayed + counts.leased).sum();
                Ok::<_, RegistryError>((items, tasks))
            })
            .expect("the registry is read");
        if is_over(&items, tasks) {
            break;
        }
        assert!(workers.try_wait().expect("a state").is_none(), "the workers ended before their work");
        std::thread::yield_now();
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let pid = workers.id().to_string();
    let status = Command::new("kill").arg("-TERM").arg(pid).status().expect("kill runs");
    assert!(status.success());
    let ended = workers.wait().expect("an end");
    assert_eq!(ended.code(), Some(0), "asked to stop, workers exit with 0");
}

#[test]
fn i05_an_ingest_ends_as_undisturbed_when_killed_at_any_stage_boundary() {
    let workflows = Workflows::standard();
    // A deposit comes to `confirm` only where its collection has a program confirm it, which the suite of the engine kills.
    let stages = workflows.of(Action::named("ingest")).expect("deposits").stages;
    for stage in stages.iter().filter(|stage| stage.name.as_str() != "confirm") {
        for side in ["begin", "end"] {
            survive(&format!("ingest.{}.{side}", stage.name));
        }
    }
}

/// As [`survive`], with the bag put into the receiving store, as a tar or as a folder.
fn survive_receiving(point: &str, as_folder: bool) {
    let (_copy, home, bag) = Template::get().copy();
    put_into_receiving(&home, &bag, as_folder);
    let status = serve_until_received(&home, &format!("{point}=1*return"));
    assert_eq!(status.signal(), Some(SIGKILL), "{point} was not reached");
    finish_receiving(&home);
    let expected = undisturbed_receiving(as_folder);
    assert_eq!(&end_state(&home), expected, "after a kill at {point}");
}

fn put_into_receiving(home: &Path, bag: &Path, as_folder: bool) {
    let place = home.join("stores/receiving/example.edu");
    fs::create_dir_all(&place).expect("a folder");
    if as_folder {
        let unpacked = Command::new("tar").arg("-xf").arg(bag).arg("-C").arg(&place).status().expect("tar runs");
        assert!(unpacked.success());
        // What APTrust's profile wants is an archive.
        for file in ["aptrust-info.txt", "tagmanifest-md5.txt", "tagmanifest-sha256.txt"] {
            fs::remove_file(place.join(NAME).join(file)).expect("a tag file");
        }
    } else {
        fs::rename(bag, place.join(format!("{NAME}.tar"))).expect("puts it there");
    }
}

fn undisturbed_receiving(as_folder: bool) -> &'static EndState {
    static STATES: [OnceLock<EndState>; 2] = [OnceLock::new(), OnceLock::new()];
    STATES[usize::from(as_folder)].get_or_init(|| {
        let (_copy, home, bag) = Template::get().copy();
        put_into_receiving(&home, &bag, as_folder);
        finish_receiving(&home);
        end_state(&home)
    })
}

fn finish_receiving(home: &Path) {
    let status = serve_until_received(home, "");
    assert_eq!(status.code(), Some(0), "asked to stop, it exits with 0");
}

/// Runs everything until the receiving store is empty and no item is open, then asks it to stop; or until it dies.
fn serve_until_received(home: &Path, fail_points: &str) -> ExitStatus {
    let mut served = program(home)
        // Looks again and again: an upload is taken in once it was seen unchanged.
        .env("STRONGROOM_RECEIVING__SCAN_INTERVAL", "1s")
        .env("STRONGROOM_RECEIVING__QUIET_PERIOD", "1s")
        .env("FAILPOINTS", fail_points)
        .args(["-q", "serve"])
        .spawn()
        .expect("the program starts");
    let watched = open(home);
    loop {
        if let Some(status) = served.try_wait().expect("a state") {
            return status;
        }
        let is_empty = watched.roles.receiving.list(&Key::ROOT).expect("a listing").next().is_none();
        let is_over = watched
            .registry
            .read(|tx| {
                let items = items::list(tx, Scope::System, &items::ItemFilter::default(), None, 100)?;
                let tasks: u64 =
                    tasks::counts(tx)?.iter().map(|counts| counts.ready + counts.delayed + counts.leased).sum();
                // The first item made version 1.
                let has_ended = items.len() >= 2 && items.iter().all(|item| item.status.is_ended());
                Ok::<_, RegistryError>(has_ended && tasks == 0)
            })
            .expect("the registry is read");
        if is_over {
            let statuses: Vec<_> = watched
                .registry
                .read(|tx| items::list(tx, Scope::System, &items::ItemFilter::default(), None, 100))
                .expect("the items")
                .into_iter()
                .map(|item| (item.status, item.note))
                .collect();
            let has_failed = statuses.iter().any(|(status, _)| *status != strongroom_registry::ItemStatus::Succeeded);
            assert!(!has_failed && statuses.len() == 2, "{statuses:?}");
        }
        if is_empty && is_over {
            break;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let pid = served.id().to_string();
    let status = Command::new("kill").arg("-TERM").arg(pid).status().expect("kill runs");
    assert!(status.success());
    served.wait().expect("an end")
}

#[test]
fn an_upload_ends_as_undisturbed_when_killed_while_it_is_watched_and_removed() {
    for point in [
        "receiving.watch.middle",
        "receiving.decide.end",
        "ingest.receive.end",
        "ingest.fetch.read",
        "receiving.remove.begun",
        "receiving.remove.end",
        "ingest.cleanup.end",
    ] {
        survive_receiving(point, false);
    }
}

#[test]
fn an_uploaded_folder_ends_as_undisturbed_when_killed_while_it_is_removed() {
    for point in ["ingest.fetch.read", "receiving.remove.begun", "receiving.remove.listed", "receiving.remove.middle"] {
        survive_receiving(point, true);
    }
}

#[test]
fn i05_an_ingest_ends_as_undisturbed_when_killed_within_a_stage() {
    for point in [
        "ingest.fetch.read",
        "ingest.write.middle",
        "ingest.record.committing",
        "ingest.record.listed",
        "ingest.record.marked",
        "ingest.record.middle",
    ] {
        survive(point);
    }
}

/// The message is delivered again, under the name that it had.
#[test]
fn a_notice_is_delivered_once_more_when_the_process_is_killed_behind_its_delivery() {
    let (_copy, home, _bag) = Template::get().copy();
    let place = home.join("stores/receiving/example.edu");
    fs::create_dir_all(&place).expect("a folder");
    fs::write(place.join("broken.tar"), vec![0; 4096]).expect("puts it there");
    let point = "outbox.notice.put";
    let killed = program(&home)
        .env("STRONGROOM_RECEIVING__SCAN_INTERVAL", "1s")
        .env("STRONGROOM_RECEIVING__QUIET_PERIOD", "1s")
        // The notice is due as soon as the upload was judged.
        .env("STRONGROOM_RECEIVING__INVALID_RETENTION", "1h")
        .env("STRONGROOM_RECEIVING__WARN_BEFORE", "1h")
        .env("FAILPOINTS", format!("{point}=1*return"))
        .args(["-q", "serve"])
        .status()
        .expect("the program starts");
    assert_eq!(killed.signal(), Some(SIGKILL), "{point} was not reached");
    let notices = || {
        let listed = fs::read_dir(place.join("notices")).expect("the folder");
        listed.map(|entry| entry.expect("an entry").file_name()).collect::<Vec<_>>()
    };
    let before = notices();
    assert_eq!(before.len(), 1);
    for delivered in ["1 message", "0 messages"] {
        let run = succeed(program(&home).args(["--json", "background", "run", "outbox"]));
        let run: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let result = run["result"].as_str().expect("a result");
        assert!(result.starts_with(&format!("{delivered} delivered, 0 no longer needed, 0 failed")), "{result}");
    }
    assert_eq!(notices(), before);
}

/// Everything of the stores' objects that a registry tells, as the program prints it.
fn told(home: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for command in [["objects", "show"], ["objects", "versions"], ["objects", "files"], ["objects", "events"]] {
        let output = succeed(program(home).args(["--json"]).args(command).arg(OBJECT));
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            // Times that belong to the registry that was lost.
            if let Some(fields) = value.as_object_mut() {
                fields.remove("published_at");
                fields.remove("updated_at");
                // Adopted copies are unverified until they are read.
                fields.remove("health");
                for copy in fields.get_mut("copies").and_then(|copies| copies.as_array_mut()).into_iter().flatten() {
                    for time in ["stored_at", "verified_at", "last_fixity_at"] {
                        copy.as_object_mut().expect("a copy").remove(time);
                    }
                }
            }
            lines.push(value.to_string());
        }
    }
    lines
}

#[test]
fn an_adoption_killed_at_any_point_goes_on_and_ends_as_undisturbed() {
    let (_copy, home, bag) = Template::get().copy();
    let registry = home.join("registry.db");
    let backups = home.join("backups");
    let backup = succeed(program(&home).args(["--json", "backup"]).arg(&backups));
    let backup: serde_json::Value = serde_json::from_slice(&backup.stdout).expect("JSON");
    let backup = PathBuf::from(backup["registry"].as_str().expect("a path"));
    succeed(program(&home).arg("deposit").arg(bag).args(["--institution", "example.edu", "--wait"]));
    let before = told(&home);
    for point in [
        "rebuild.adoption.begun",
        "rebuild.adoption.claimed",
        "rebuild.object.rows",
        "rebuild.object.copies",
        "rebuild.object.published",
        "rebuild.adoption.walked",
        "rebuild.adoption.settled",
    ] {
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", registry.display()));
        }
        fs::copy(&backup, &registry).expect("restores the backup");
        let refused = program(&home).args(["-q", "work"]).output().expect("the program starts");
        assert_eq!(refused.status.code(), Some(4), "{}", String::from_utf8_lossy(&refused.stderr));
        let killed = program(&home)
            .env("FAILPOINTS", format!("{point}=1*return"))
            .args(["rebuild", "--adopt"])
            .output()
            .expect("the program starts");
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {}", String::from_utf8_lossy(&killed.stderr));
        let refused = program(&home).args(["-q", "work"]).output().expect("the program starts");
        assert_eq!(refused.status.code(), Some(4), "it stays read-only after a kill at {point}");
        succeed(program(&home).args(["rebuild", "--adopt"]));
        assert_eq!(told(&home), before, "after a kill at {point}");
        succeed(program(&home).args(["store", "reconcile"]));
    }
}

#[test]
fn a_batch_of_restorations_that_is_killed_while_it_is_made_is_made_whole_and_nothing_of_it_twice() {
    let (copy, home, bag) = Template::get().copy();
    let names = ["letters", "diaries", "maps"];
    for name in names {
        let deposit = ["--institution", "example.edu", "--primary-id", name, "--wait"];
        succeed(program(&home).arg("deposit").arg(&bag).args(deposit));
    }
    let list = copy.path().join("wanted.txt");
    fs::write(&list, names.map(|name| format!("example.edu/{name}\n")).concat()).expect("a list");
    let restored = home.join("stores/restoration/example.edu");
    for (nth, point) in ["restoration.expand.page", "restoration.put.done"].into_iter().enumerate() {
        let killed = program(&home)
            .env("FAILPOINTS", format!("{point}=1*return"))
            .args(["restore", "--wait", "--list"])
            .arg(&list)
            .output()
            .expect("the program starts");
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {}", String::from_utf8_lossy(&killed.stderr));
        finish(&home);
        let files: Vec<String> = fs::read_dir(&restored)
            .expect("results")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        let receipts: Vec<&String> = files.iter().filter(|name| name.strip_suffix(".json").is_some()).collect();
        assert_eq!(receipts.len(), nth + 1, "one for each batch after a kill at {point}: {files:?}");
        assert_eq!(files.len(), (nth + 1) * (names.len() + 1), "after a kill at {point}: {files:?}");
        for receipt in receipts {
            let text = fs::read_to_string(restored.join(receipt)).expect("a receipt");
            let receipt: serde_json::Value = serde_json::from_str(&text).expect("one JSON document");
            assert_eq!((&receipt["total"], &receipt["succeeded"]), (&3.into(), &3.into()), "{point}: {text}");
        }
    }
}

#[test]
fn a_restoration_into_a_folder_that_is_killed_about_its_naming_is_there_once() {
    let (copy, home, bag) = Template::get().copy();
    let deposit = ["--institution", "example.edu", "--primary-id", "letters", "--wait"];
    succeed(program(&home).arg("deposit").arg(&bag).args(deposit));
    for (point, form) in [
        ("restoration.rename.begun", &["--folder"] as &[&str]),
        ("restoration.rename.end", &["--folder"]),
        ("restoration.rename.begun", &[]),
        ("restoration.rename.end", &[]),
    ] {
        let back = copy.path().join(format!("{point}-{}", form.len()));
        let killed = program(&home)
            .env("FAILPOINTS", format!("{point}=1*return"))
            .args(["restore", "object", "example.edu/letters", "--wait", "--to"])
            .arg(&back)
            .args(form)
            .output()
            .expect("the program starts");
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {}", String::from_utf8_lossy(&killed.stderr));
        finish(&home);
        let name = if form.is_empty() { "letters.tar" } else { "letters" };
        let there: Vec<_> =
            fs::read_dir(&back).expect("results").map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(there, [name], "after a kill at {point} {form:?}");
    }
}
