//! Manifests and catalogues are what an independent walk of the stores finds, whatever names there are, and are made again after failures.

mod catalogues;
mod walked;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use strongroom_digest::Algorithm;
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::deletions;
use strongroom_engine::app::manifests::{self, ManifestForm, Wanted};
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::ingest::{DepositKind, DepositRequest, GivenDescription, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{EngineError, Home, work_on};
use strongroom_registry::objects::{self, Object, ObjectFilter};
use strongroom_registry::{CollectionId, InstitutionId, ItemStatus, Scope, items, tenants};

use crate::deleting::work;
use crate::deletions::{ANN, BOB, as_user, console, world};
use crate::fixture::{Engine, INSTITUTION, KEPT_IN, TestHome, on_both_databases};
use walked::{WalkedObject, read, walk};

on_both_databases! {
    manifests_are_what_a_walk_of_the_stores_finds
    a_manifest_is_of_the_moment_in_which_it_began
}

/// Another institution.
const OTHER: &str = "other.edu";
/// Names that are of meaning to shells, spreadsheets, manifests and tables.
const ODD: [&str; 10] = [
    "=cmd|'/c calc'!A1.txt",
    "quo\"te, comma.txt",
    "per%cent%0A.txt",
    "back\\slash.txt",
    "\u{fc}ml\u{e4}ut/\u{65e5}\u{672c}.txt",
    "tab\tbed.txt",
    "new\nline.txt",
    "carriage\rreturn.txt",
    "-rf.txt",
    " blank.txt",
];

/// Names that a system can have and the intake takes.
fn odd_names() -> Vec<(String, Vec<u8>)> {
    let names = ODD.iter().filter(|name| strongroom_listing::unsafe_reason(name).is_none());
    names.map(|name| ((*name).to_owned(), format!("bytes of {name}").into_bytes())).collect()
}

/// Deposits a folder as the object of this name.
fn ingest_folder(home: &TestHome, request: DepositRequest, name: &str, files: &[(String, Vec<u8>)]) {
    let outside = tempfile::TempDir::new().expect("makes a folder");
    let folder = outside.path().join("folder");
    for (path, bytes) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes a folder");
        std::fs::write(path, bytes).expect("writes");
    }
    let request = DepositRequest {
        kind: DepositKind::Folder,
        primary_id: Some(name.to_owned()),
        sources: vec![PackageSource::LocalPath(folder)],
        ..request
    };
    let made = deposit(home, &request).expect("deposits");
    work_on(home, &made.items, &Shutdown::new()).expect("works");
    for id in made.items {
        let item = home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    }
}

fn of(institution: &str) -> DepositRequest {
    DepositRequest::of_system(institution)
}

/// Two institutions, of which one has a collection; objects of several versions with odd names, with equal files, with deleted files, and
/// one that was deleted.
fn kept_home(engine: Engine, settings: &str) -> Option<TestHome> {
    let home = world(engine, settings)?;
    let rules = tenants::CollectionRules { name: "Maps".into(), ..tenants::CollectionRules::default() };
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            tenants::add_collection(tx, CollectionId::new(), institution, "maps", (&rules, "test"))?;
            tenants::add_institution(tx, InstitutionId::new(), OTHER, "Another University")
        })
        .expect("adds them");
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"changed"), ("secret.txt", b"secret")]);
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two"), ("c.txt", b"one")]);
    home.ingest("doomed", &[("a.txt", b"doomed")]);
    let title = GivenDescription { title: Some("=HYPERLINK(\"x\"), \u{fc}ber".into()), ..GivenDescription::default() };
    let maps = DepositRequest {
        collection: Some("maps".into()),
        local_ids: vec!["shelf 7".into(), "map;1".into()],
        description: title,
        ..of(INSTITUTION)
    };
    ingest_folder(&home, maps.clone(), "=maps, \"odd\" \u{e9}", &odd_names());
    ingest_folder(&home, maps, "=maps, \"odd\" \u{e9}", &odd_names()[1..]);
    ingest_folder(&home, of(OTHER), "letters", &[("a.txt".into(), b"of another".to_vec())]);
    delete(&home, "letters", &["data/secret.txt"]);
    delete(&home, "doomed", &[]);
    Some(home)
}

/// Two people delete an object, or files of it.
fn delete(home: &TestHome, name: &str, paths: &[&str]) {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let object = format!("{INSTITUTION}/{name}");
    let made = deletions::of_object(&as_user(home, ANN), &object, &paths, "by mistake").expect("asks");
    let request = deletions::approve(&as_user(home, BOB), made.request, None).expect("approves");
    work(&home.home, &request);
}

fn all_objects(home: &Home) -> Vec<Object> {
    let list = home.registry.read(|tx| objects::list(tx, Scope::System, &ObjectFilter::default(), None, 1_000));
    list.expect("lists")
}

/// The objects of the registry by their OCFL ids: only their names are used.
fn names(home: &Home) -> BTreeMap<String, Object> {
    all_objects(home).into_iter().map(|object| (format!("urn:uuid:{}", object.generation), object)).collect()
}

fn written(context: &OpContext, wanted: &Wanted) -> String {
    let mut out = Vec::new();
    let rows = manifests::write(context, wanted, &mut out).expect("writes");
    let text = String::from_utf8(out).expect("UTF-8");
    let heads = usize::from(!matches!(wanted.form, ManifestForm::BagIt | ManifestForm::JsonLines));
    if wanted.form != ManifestForm::Csv {
        assert_eq!(text.lines().count(), rows as usize + heads, "each row is one line");
    }
    text
}

fn sorted(text: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = text.into_iter().collect();
    lines.sort();
    lines
}

/// A cell without what ends it, as the book describes it.
fn in_tsv(cell: &str) -> String {
    let mut out = String::new();
    for character in cell.chars() {
        match character {
            '\t' => out.push_str(r"\t"),
            '\n' => out.push_str(r"\n"),
            '\r' => out.push_str(r"\r"),
            '\\' => out.push_str(r"\\"),
            other => out.push(other),
        }
    }
    out
}

/// The same for a path in `BagIt`.
fn in_bagit(path: &str) -> String {
    let mut out = String::new();
    for character in path.chars() {
        match character {
            '%' | '\n' | '\r' => write!(out, "%{:02X}", u32::from(character)).expect("writes"),
            other => out.push(other),
        }
    }
    out
}

/// What the manifest of an institution should have: for each file the name and the path, the version, and where its bytes lie.
fn expected(home: &TestHome, institution: &str, all: bool) -> Vec<(WalkedRow, String)> {
    let (names, store) = (names(home), home.file("primary", ""));
    let mut rows = Vec::new();
    for object in walk(&store).into_iter().filter(|object| object.is_kept() && object.institution == institution) {
        let changes = if all { object.changes() } else { object.newest() };
        for (path, version, content) in changes {
            let identifier = names[&object.id].identifier.clone();
            let key = format!("{}/{content}", object.root);
            rows.push((WalkedRow { identifier, path, version, id: object.id.clone() }, key));
        }
    }
    rows
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct WalkedRow {
    identifier: String,
    path: String,
    version: u64,
    id: String,
}

fn manifests_are_what_a_walk_of_the_stores_finds(engine: Engine) {
    let Some(home) = kept_home(engine, "") else { return };
    let context = console(&home);
    for institution in [INSTITUTION, OTHER] {
        let wanted = Wanted { institution: Some(institution.into()), ..Wanted::default() };
        for all_versions in [false, true] {
            let rows = expected(&home, institution, all_versions);
            assert!(rows.iter().any(|(row, _)| row.path.starts_with("deposit/")));
            let content_id = |row: &WalkedRow| {
                let name = row.identifier.strip_prefix(&format!("{institution}/")).expect("a name");
                let version = if all_versions { format!("v{}/", row.version) } else { String::new() };
                format!("{name}/{version}{}", row.path)
            };
            let wanted = Wanted { all_versions, ..wanted.clone() };
            let text = written(&context, &wanted);
            let lines = rows.iter().map(|(row, key)| {
                format!("{institution}\t{}\t{}", in_tsv(&content_id(row)), read(&home.file("primary", key)).md5)
            });
            assert_eq!(text.lines().next(), Some("space-id\tcontent-id\tMD5"));
            assert_eq!(sorted(text.lines().skip(1).map(str::to_owned)), sorted(lines));
            let wanted = Wanted { form: ManifestForm::BagIt, digest: Some(Algorithm::Sha256), ..wanted };
            let text = written(&context, &wanted);
            let lines = rows.iter().map(|(row, key)| {
                format!("{}  {institution}/{}", read(&home.file("primary", key)).sha256, in_bagit(&content_id(row)))
            });
            assert_eq!(sorted(text.lines().map(str::to_owned)), sorted(lines));
            assert_csv(&home, &Wanted { form: ManifestForm::Csv, digest: None, ..wanted }, &rows);
        }
    }
    for store in KEPT_IN {
        assert_store(&home, store);
    }
    // A collection has its objects and no others, and the same manifest is written again byte for byte.
    let maps = Wanted { collection: Some("maps".into()), ..Wanted::default() };
    let text = written(&context, &maps);
    let of_maps = expected(&home, INSTITUTION, false);
    let of_maps = of_maps.iter().filter(|(row, _)| row.identifier.contains("=maps")).count();
    assert_eq!((text.lines().count() - 1, of_maps > 5), (of_maps, true));
    assert_eq!(written(&context, &maps), text);
}

/// Every row of a CSV is a file and one copy of it, with everything that the walk finds.
fn assert_csv(home: &TestHome, wanted: &Wanted, rows: &[(WalkedRow, String)]) {
    let text = written(&console(home), wanted);
    let mut expected = BTreeSet::new();
    for ((row, key), store) in rows.iter().flat_map(|row| KEPT_IN.map(|store| (row, store))) {
        let file = read(&home.file(store, key));
        let cells = [&row.identifier, &row.id, &row.path, &file.md5, &file.sha1, &file.sha256, &file.sha512, key];
        let mut cells: Vec<String> = cells.map(String::clone).to_vec();
        cells.extend([row.version.to_string(), file.size.to_string(), store.to_owned()]);
        expected.insert(cells);
    }
    let mut found = BTreeSet::new();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for row in reader.deserialize() {
        let row: BTreeMap<String, String> = row.expect("a row");
        let names = ["object", "ocfl_id", "path", "md5", "sha1", "sha256", "sha512", "key", "version", "size", "store"];
        assert!(found.insert(names.map(|name| row[name].clone()).to_vec()), "a row is there twice: {row:?}");
        assert_eq!((row["state"].as_str(), row["verified_at"].is_empty()), ("kept", false));
        assert!(!row["deposited_at"].is_empty() && !row["stored_at"].is_empty());
    }
    assert_eq!(found, expected);
    let json = written(&console(home), &Wanted { form: ManifestForm::JsonLines, ..wanted.clone() });
    assert_eq!(json.lines().count(), expected.len());
}

/// The manifest of a store names every content of the inventories there, and md5sum finds them.
fn assert_store(home: &TestHome, store: &str) {
    let folder = home.file(store, "");
    let wanted = Wanted { store: Some(store.into()), form: ManifestForm::BagIt, ..Wanted::default() };
    let text = written(&console(home), &wanted);
    let kept: Vec<WalkedObject> = walk(&folder).into_iter().filter(WalkedObject::is_kept).collect();
    let keys = kept.iter().flat_map(|object| object.contents.iter().map(|path| format!("{}/{path}", object.root)));
    let lines = keys.map(|key| format!("{}  {key}", read(&folder.join(&key)).md5));
    assert_eq!(sorted(text.lines().map(str::to_owned)), sorted(lines));
    let list = home.path().join("manifest");
    std::fs::write(&list, &text).expect("writes");
    let checked =
        Command::new("md5sum").arg("-c").arg("--quiet").arg("--strict").arg(&list).current_dir(&folder).output();
    let checked = checked.expect("md5sum starts");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let text = written(&console(home), &Wanted { form: ManifestForm::ExtendedTsv, ..wanted });
    assert_eq!(text.lines().next(), Some("space-id\tcontent-id\tMD5\tcontent-size\tmime-type"));
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let file = read(&folder.join(cells[0]).join(cells[1]));
        assert_eq!((cells[2], cells[3], cells.len()), (file.md5.as_str(), file.size.to_string().as_str(), 5));
    }
}

/// Writes that do something else first, once.
struct Meanwhile<'h> {
    home: &'h TestHome,
    is_done: bool,
    out: Vec<u8>,
}

impl std::io::Write for Meanwhile<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.is_done, true) {
            self.home.ingest("letters", &[("a.txt", b"another"), ("later.txt", b"later")]);
            self.home.ingest("later", &[("a.txt", b"later")]);
            delete(self.home, "doomed", &[]);
        }
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn a_manifest_is_of_the_moment_in_which_it_began(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("doomed", &[("a.txt", b"doomed")]);
    let context = console(&home);
    let wanted = Wanted { institution: Some(INSTITUTION.into()), ..Wanted::default() };
    let before = written(&context, &wanted);
    let mut out = Meanwhile { home: &home, is_done: false, out: Vec::new() };
    manifests::write(&context, &wanted, &mut out).expect("writes");
    let found = String::from_utf8(out.out).expect("UTF-8");
    let left = before.lines().filter(|line| !line.contains("\tdoomed/")).collect::<Vec<_>>();
    assert_eq!(found.lines().collect::<Vec<_>>(), left, "what was deleted meanwhile is not in it, and nothing is new");
    assert!(written(&context, &wanted).contains("letters/deposit/data/later.txt"));
}

#[test]
fn who_acts_for_an_institution_sees_its_files_alone() {
    let Some(home) = kept_home(Engine::Sqlite, "") else { return };
    let found = home.registry.read(|tx| tenants::institution(tx, Scope::System, OTHER)).expect("reads").expect("one");
    let caller = Caller { scope: Scope::Institution(found.id), roles: vec![Role::InstitutionUser], ..Caller::system() };
    let context = OpContext::new(home.home.clone(), caller);
    let of_store = Wanted { store: Some("primary".into()), ..Wanted::default() };
    let text = written(&context, &of_store);
    assert!(text.lines().count() > 1 && text.lines().skip(1).all(|line| line.starts_with("other.edu\t")), "{text}");
    let refused = |wanted: Wanted| manifests::write(&context, &wanted, &mut Vec::new()).expect_err("is refused");
    let foreign = refused(Wanted { institution: Some(INSTITUTION.into()), ..Wanted::default() });
    assert!(foreign.to_string().contains("institution"), "{foreign}");
    let foreign = refused(Wanted { collection: Some("maps".into()), ..Wanted::default() });
    assert!(foreign.to_string().contains("collection"), "{foreign}");
    // Nothing was named, an unknown store, one that keeps nothing, and a digest beside all digests.
    for wanted in [
        Wanted::default(),
        Wanted { store: Some("nowhere".into()), ..Wanted::default() },
        Wanted { store: Some("staging".into()), ..Wanted::default() },
        Wanted { form: ManifestForm::Csv, digest: Some(Algorithm::Md5), ..of_store.clone() },
        Wanted { digest: Some(Algorithm::Sha384), ..of_store },
    ] {
        assert!(!matches!(refused(wanted), EngineError::Registry(_) | EngineError::Storage(_)));
    }
}

/// The folder of a store, with what lies there below a folder.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    paths
        .map(|path| {
            (path.file_name().expect("a name").to_string_lossy().into_owned(), std::fs::read(&path).expect("reads"))
        })
        .collect()
}
