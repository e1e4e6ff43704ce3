//! Profiles in the registry: what a deposit is checked against, and what is known of it afterwards.

use std::path::PathBuf;

use strongroom_bagit::{
    BagWriter, CheckOptions, NewFile, Profile, ProfileChoice, Serialization, Verdict, WriterOptions, validate,
};
use strongroom_database::{Database, Statement};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_engine::app::collections::Rules;
use strongroom_engine::app::profiles::{self, Document};
use strongroom_engine::app::views::{ProfileOutcome, ProfileState, ProfileView};
use strongroom_engine::app::{Caller, OpContext, collections, journal};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{EngineError, work_on};
use strongroom_registry::items::Item;
use strongroom_registry::profiles::NewProfile;
use strongroom_registry::{ItemStatus, ProfileOrigin, RegistryError, Scope, items, profiles as rows};

use crate::fixture::{INSTITUTION, TestHome, home};
use crate::rebuild::{all_events, copy_stores, rebuilt};
use crate::restoration::{restored, to};

const COLLECTION: &str = "sheets";
const IDENTIFIER: &str = "https://example.org/profiles/maps.json";

/// In what a restored bag differs from the one that was sent.
const MADE_ANEW: &str =
    "its manifests and bag-info.txt are new, --format submitted restores the files byte for byte as deposited";

/// A profile that asks for these tags of `bag-info.txt`, and by which bags need not name it.
fn maps(version: &str, tags: &[&str]) -> Vec<u8> {
    let rules: Vec<String> = tags.iter().map(|tag| format!(r#""{tag}":{{"required":true}}"#)).collect();
    format!(
        r#"{{"BagIt-Profile-Info":{{"Source-Organization":"Test University","External-Description":"sheets of maps",
        "Version":"{version}","BagIt-Profile-Identifier":"{IDENTIFIER}","BagIt-Profile-Version":"1.4.0"}},
        "Identifier-Required":false,"Accept-BagIt-Version":["1.0"],"Bag-Info":{{{}}}}}"#,
        rules.join(",")
    )
    .into_bytes()
}

fn call(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

fn add(home: &TestHome, bytes: Vec<u8>) -> (u64, ProfileOutcome) {
    let document = Document { name: None, file: Some("maps.json".to_owned()), bytes };
    let added = profiles::add(&call(home), document).expect("adds");
    assert_eq!((added.profile.as_str(), added.problems.len()), ("maps", 0));
    (added.version.expect("a version"), added.outcome)
}

fn rules(profile: &str, version: Option<u64>) -> Rules {
    Rules { profile: Some(profile.to_owned()), profile_version: version, ..Rules::default() }
}

fn set_profile(home: &TestHome, profile: &str, version: Option<u64>) -> Result<(), EngineError> {
    collections::set(&call(home), INSTITUTION, COLLECTION, rules(profile, version)).map(drop)
}

/// A home with a collection, whose bags have to keep a profile that asks for a tag.
fn home_with_maps() -> TestHome {
    let home = home();
    assert_eq!(add(&home, maps("1", &["Map-Sheet"])), (1, ProfileOutcome::Added));
    collections::add(&call(&home), INSTITUTION, COLLECTION, rules("maps", None)).expect("adds a collection");
    home
}

/// Makes a bag with these tags.
fn bag(home: &TestHome, name: &str, tags: &[(&str, &str)]) -> PathBuf {
    let folder = home.path().join("bags");
    std::fs::create_dir_all(&folder).expect("makes a folder");
    let path = folder.join(format!("{name}.tar"));
    let _ = std::fs::remove_file(&path);
    let options = WriterOptions {
        algorithms: vec![Algorithm::Sha256, Algorithm::Sha512],
        base_directory: Some(name.to_owned()),
        ..WriterOptions::default()
    };
    let mut writer = BagWriter::create(&path, Serialization::Tar, options).expect("begins a bag");
    writer.add_payload(&NewFile::new("data/a.txt", 3), &b"one"[..]).expect("adds a file");
    let tags: Vec<_> = tags.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
    writer.finish(&tags).expect("finishes the bag");
    path
}

/// Deposits a bag and works on it.
fn deposited(home: &TestHome, bag: &std::path::Path, collection: Option<&str>) -> Item {
    let request = DepositRequest {
        collection: collection.map(str::to_owned),
        sources: vec![PackageSource::LocalPath(bag.to_owned())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(home, &request).expect("deposits");
    work_on(home, &made.items, &Shutdown::new()).expect("works");
    item(home, made.items[0])
}

fn item(home: &TestHome, id: strongroom_registry::ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

fn codes(home: &TestHome, item: &Item) -> Vec<String> {
    let found = home.registry.read(|tx| items::problems(tx, Scope::System, item.id, 100)).expect("problems");
    found.into_iter().map(|problem| problem.code).collect()
}

/// The detail of the newest validation of an object.
fn validation(home: &TestHome, name: &str) -> String {
    let events = all_events(home, &home.object(name));
    let validation = events.iter().rfind(|event| event.kind == "validation" && event.file.is_none());
    validation.and_then(|event| event.detail.clone()).expect("a detail")
}

fn sha512(bytes: &[u8]) -> String {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha512]);
    hasher.update(bytes);
    hasher.finish().get(Algorithm::Sha512).expect("a digest").to_hex()
}

fn shown(home: &TestHome) -> Vec<(String, u64, ProfileState, ProfileOrigin)> {
    let list: Vec<ProfileView> = profiles::list(&call(home)).expect("lists");
    list.into_iter().map(|one| (one.profile, one.version, one.state, one.origin)).collect()
}

#[test]
fn built_in_profiles_are_in_a_new_registry_as_they_came_with_the_program() {
    let home = home();
    let current = |name: &str| (name.to_owned(), 1, ProfileState::Current, ProfileOrigin::BuiltIn);
    assert_eq!(shown(&home), ["aptrust-2.2", "aptrust-2.3", "btr-1.0"].map(current));
    for builtin in Profile::builtins() {
        let found = profiles::document(&call(&home), builtin.name, None).expect("a document");
        assert_eq!(found.document, builtin.document, "{}", builtin.name);
    }
    drop(home.opened_again());
    assert_eq!(shown(&home).len(), 3, "once");
}

#[test]
fn a_deposit_is_checked_against_the_profile_of_its_collection_and_says_which_version() {
    let home = home_with_maps();
    let plain = bag(&home, "plain", &[]);
    let refused = deposited(&home, &plain, Some(COLLECTION));
    assert_eq!(refused.status, ItemStatus::Failed, "{:?}", refused.note);
    assert_eq!(codes(&home, &refused), ["profile.tag_required"]);
    let note = refused.note.unwrap_or_default();
    assert!(note.contains("profile maps version 1, chosen by the collection"), "{note}");

    let kept = deposited(&home, &bag(&home, "sheet", &[("Map-Sheet", "12")]), Some(COLLECTION));
    assert_eq!(kept.status, ItemStatus::Succeeded, "{:?}", kept.note);
    let object = home.object("sheet");
    assert_eq!((object.description.profile.as_deref(), object.description.profile_version), (Some("maps"), Some(1)));
    let digest = sha512(&maps("1", &["Map-Sheet"]));
    assert_eq!(
        validation(&home, "sheet"),
        format!("the bag was checked against BagIt and the profile maps version 1, sha512:{digest}")
    );

    // The newest version counts where none is named.
    assert_eq!(add(&home, maps("2", &[])), (2, ProfileOutcome::Added));
    assert_eq!(deposited(&home, &plain, Some(COLLECTION)).status, ItemStatus::Succeeded);
    assert_eq!(home.object("plain").description.profile_version, Some(2));
    assert_eq!(home.object("sheet").description.profile_version, Some(1), "what was, stays");
    set_profile(&home, "maps", Some(1)).expect("names a version");
    assert_eq!(deposited(&home, &plain, Some(COLLECTION)).status, ItemStatus::Failed);
    set_profile(&home, "maps", None).expect("names the newest");
    assert_eq!(deposited(&home, &bag(&home, "other", &[]), Some(COLLECTION)).status, ItemStatus::Succeeded);
}

#[test]
fn a_restored_object_keeps_the_profile_it_was_checked_against() {
    let home = home_with_maps();
    let text = String::from_utf8(maps("2", &["Map-Sheet"])).expect("text");
    let text = text.replace(r#""Bag-Info""#, r#""Manifests-Required":["sha512"],"Bag-Info""#);
    assert_eq!(add(&home, text.into_bytes()), (2, ProfileOutcome::Added));
    let sheet = bag(&home, "sheet", &[("Map-Sheet", "12")]);
    assert_eq!(deposited(&home, &sheet, Some(COLLECTION)).status, ItemStatus::Succeeded);
    add(&home, maps("3", &[]));
    let folder = tempfile::TempDir::new().expect("a folder");
    restored(&home, &to(&folder, "sheet"));
    let (profile, _) =
        Profile::parse(profiles::document(&call(&home), "maps", Some(2)).expect("a document").document.as_bytes())
            .expect("a profile");
    let options = CheckOptions { profile: ProfileChoice::Given(Box::new(profile)), ..CheckOptions::default() };
    let report = validate(&folder.path().join("sheet.tar"), &options).expect("validates");
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.problems);
    assert_eq!(report.manifests, [Algorithm::Sha512]);
}

/// The manifests of a bag that is restored, and what its event says.
fn given_back(home: &TestHome, name: &str) -> (Vec<Algorithm>, String) {
    let folder = tempfile::TempDir::new().expect("a folder");
    restored(home, &to(&folder, name));
    let report = validate(&folder.path().join(format!("{name}.tar")), &CheckOptions::default()).expect("validates");
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.problems);
    let events = all_events(home, &home.object(name));
    let given = events.into_iter().rfind(|event| event.kind == "dissemination").expect("an event");
    (report.manifests, given.detail.expect("a detail"))
}

#[test]
fn a_restored_object_is_made_by_the_document_it_was_checked_against_whatever_has_its_name_now() {
    let home = home_with_maps();
    let text = String::from_utf8(maps("2", &["Map-Sheet"])).expect("text");
    let text = text.replace(r#""Bag-Info""#, r#""Manifests-Required":["sha512"],"Bag-Info""#);
    assert_eq!(add(&home, text.into_bytes()), (2, ProfileOutcome::Added));
    let sheet = bag(&home, "sheet", &[("Map-Sheet", "12")]);
    assert_eq!(deposited(&home, &sheet, Some(COLLECTION)).status, ItemStatus::Succeeded);
    // As where the registry was made anew, and its numbers are those of other documents.
    home.change_rows(
        r#"-- name: change
UPDATE versions SET description = replace(description, '"profile_version":2', '"profile_version":1')"#,
    );
    let (manifests, detail) = given_back(&home, "sheet");
    assert_eq!(manifests, [Algorithm::Sha512]);
    assert_eq!(detail, format!("version 1 restored as a bag; {MADE_ANEW}"));
}

#[test]
fn a_restoration_says_where_the_profile_that_the_deposit_was_checked_against_is_gone() {
    let home = home_with_maps();
    let sheet = bag(&home, "sheet", &[("Map-Sheet", "12")]);
    assert_eq!(deposited(&home, &sheet, Some(COLLECTION)).status, ItemStatus::Succeeded);
    let (known, other) = (sha512(&maps("1", &["Map-Sheet"])), sha512(b"a document that nobody kept"));
    let change =
        format!("-- name: change\nUPDATE versions SET description = replace(description, '{known}', '{other}')");
    home.change_rows(Box::leak(change.into_boxed_str()));
    let (manifests, detail) = given_back(&home, "sheet");
    assert_eq!(manifests, [Algorithm::Md5, Algorithm::Sha256]);
    let expected = format!(
        "version 1 restored as a bag, not by the profile that it was checked against (maps version 1, sha512:{other}): the \
         registry does not have its document; {MADE_ANEW}"
    );
    assert_eq!(detail, expected);
}

#[test]
fn a_profile_that_is_removed_is_for_no_new_deposit() {
    let home = home_with_maps();
    let sheet = bag(&home, "sheet", &[("Map-Sheet", "12")]);
    assert_eq!(deposited(&home, &sheet, Some(COLLECTION)).status, ItemStatus::Succeeded);
    let refused = profiles::remove(&call(&home), "maps", None).expect_err("the collection names it");
    assert!(refused.to_string().contains(&format!("{INSTITUTION}/{COLLECTION}")), "{refused}");

    set_profile(&home, "", None).expect("names none");
    let removed = profiles::remove(&call(&home), "maps", None).expect("removes");
    assert_eq!(removed.iter().map(|one| (one.version, one.state)).collect::<Vec<_>>(), [(1, ProfileState::Removed)]);
    // As where the collection is put away between the stages of a deposit, and its profile removed.
    home.change_rows("-- name: change\nUPDATE collection_rules SET profile = 'maps' WHERE collection_id = (SELECT id FROM collections WHERE identifier = 'sheets')");
    let another = bag(&home, "another", &[("Map-Sheet", "13")]);
    let failed = deposited(&home, &another, Some(COLLECTION));
    assert_eq!(failed.status, ItemStatus::Failed, "{:?}", failed.note);
    let note = failed.note.unwrap_or_default();
    assert!(note.contains("profile maps is removed") && note.contains("strongroom collection set"), "{note}");
    home.change_rows("-- name: change\nUPDATE collection_rules SET profile = NULL WHERE collection_id = (SELECT id FROM collections WHERE identifier = 'sheets')");

    assert!(set_profile(&home, "maps", None).is_err(), "no collection may name it");
    assert!(set_profile(&home, "maps", Some(1)).is_err());
    assert_eq!(home.object("sheet").description.profile_version, Some(1));
    let document = profiles::document(&call(&home), "maps", Some(1)).expect("the document stays");
    assert_eq!(document.document.as_bytes(), maps("1", &["Map-Sheet"]));

    assert_eq!(add(&home, maps("1", &["Map-Sheet"])), (1, ProfileOutcome::Restored));
    set_profile(&home, "maps", None).expect("names it again");
}

#[test]
fn a_bag_that_names_a_profile_is_checked_against_the_one_in_the_registry() {
    let home = home();
    let named = |name: &str| bag(&home, name, &[("BagIt-Profile-Identifier", IDENTIFIER)]);
    let unknown = deposited(&home, &named("sheet"), None);
    assert_eq!(codes(&home, &unknown), ["profile.unknown"]);
    add(&home, maps("1", &["Map-Sheet"]));
    let refused = deposited(&home, &named("sheet"), None);
    assert_eq!(codes(&home, &refused), ["profile.tag_required"]);
    add(&home, maps("2", &[]));
    assert_eq!(deposited(&home, &named("sheet"), None).status, ItemStatus::Succeeded);
    let said = home.object("sheet").description;
    assert_eq!((said.profile.as_deref(), said.profile_version), (Some("maps"), Some(2)));
    profiles::remove(&call(&home), "maps", None).expect("removes");
    let unknown = deposited(&home, &named("sheet"), None);
    assert_eq!(codes(&home, &unknown), ["profile.unknown"]);
}

#[test]
fn a_newer_program_changes_nothing_about_what_was_deposited_before() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let before = validation(&home, "letters");
    assert!(before.contains("the profile aptrust-2.3 version 1, sha512:"), "{before}");
    // What a newer program brings: the same profile, which asks for a tag more.
    let builtin = Profile::builtins().find(|builtin| builtin.name == "aptrust-2.3").expect("is built in");
    let document =
        builtin.document.replace(r#""Bag-Info": {"#, r#""Bag-Info": { "Letter-Book": { "required": true },"#);
    let (sha256, sha512) = {
        let mut hasher = MultiHasher::new(&[Algorithm::Sha256, Algorithm::Sha512]);
        hasher.update(document.as_bytes());
        let digests = hasher.finish();
        (digests.get(Algorithm::Sha256).expect("SHA-256"), digests.get(Algorithm::Sha512).expect("SHA-512"))
    };
    let new = NewProfile {
        name: "aptrust-2.3".to_owned(),
        origin: ProfileOrigin::BuiltIn,
        source: "a newer program".to_owned(),
        identifier: Profile::builtin("aptrust-2.3").expect("a profile").identifier().to_owned(),
        stated_version: "2.3".to_owned(),
        description: String::new(),
        document: document.into_bytes(),
        sha256,
        sha512,
        actor: None,
    };
    home.registry.write(move |tx| rows::put_numbered(tx, &new, 2)).expect("puts it");

    let refused = deposited(&home, &home.bag("diaries", &[("a.txt", b"one")]), None);
    assert_eq!(codes(&home, &refused), ["profile.tag_required"], "{:?}", refused.note);
    assert_eq!(validation(&home, "letters"), before);
    assert_eq!(home.object("letters").description.profile_version, Some(1));
    profiles::remove(&call(&home), "aptrust-2.3", Some(2)).expect("removes it");
    assert_eq!(deposited(&home, &home.bag("diaries", &[("a.txt", b"one")]), None).status, ItemStatus::Succeeded);
}

#[test]
fn a_document_is_refused_with_everything_that_is_wrong_with_it() {
    let home = home();
    let document = |name: &str, bytes: &[u8]| Document {
        name: Some(name.to_owned()),
        file: Some("maps.json".to_owned()),
        bytes: bytes.to_vec(),
    };
    let refused = profiles::add(&call(&home), document("maps", br#"{"Serialization":"always","Data-Empty":1}"#));
    let refused = refused.expect("an answer");
    assert_eq!((refused.outcome, refused.version), (ProfileOutcome::Refused, None));
    assert!(refused.problems.len() > 3, "{:?}", refused.problems);
    let error = profiles::add(&call(&home), document("maps", b"no JSON")).expect_err("no profile");
    let is_no_profile = |error: &EngineError| matches!(error, EngineError::Advised(advised) if matches!(advised.error, EngineError::CheckFailed(_)));
    assert!(is_no_profile(&error), "{error:?}");
    let long = vec![b' '; Profile::LONGEST_DOCUMENT + 1];
    assert!(is_no_profile(&profiles::add(&call(&home), document("maps", &long)).expect_err("too long")));
    for name in ["", "none", "BTR", "a/b", "-maps", "maps of Europe"] {
        let error = profiles::add(&call(&home), document(name, &maps("1", &[]))).expect_err("no name");
        assert!(matches!(error, EngineError::Advised(_)), "{name}: {error:?}");
    }
    let error = profiles::add(&call(&home), document("btr-1.0", &maps("1", &[]))).expect_err("a name that is taken");
    assert!(matches!(error, EngineError::Registry(RegistryError::Exists { .. })), "{error:?}");
    assert_eq!(shown(&home).len(), 3);
}

#[test]
fn a_built_in_profile_comes_back_with_its_own_document_alone() {
    let home = home();
    profiles::remove(&call(&home), "BTR", None).expect("removes");
    drop(home.opened_again());
    let state = || profiles::show(&call(&home), "btr-1.0", None).expect("shows").state;
    assert_eq!(state(), ProfileState::Removed, "it stays removed");
    let bytes = profiles::document(&call(&home), "btr-1.0", Some(1)).expect("a document").document.into_bytes();
    let document = Document { name: Some("btr-1.0".to_owned()), file: None, bytes };
    let added = profiles::add(&call(&home), document).expect("adds");
    assert_eq!((added.version, added.outcome), (Some(1), ProfileOutcome::Restored));
    assert_eq!(state(), ProfileState::Current);
}

#[test]
fn the_profile_of_the_settings_is_not_removed() {
    let home = crate::fixture::home_with("[ingest]\ndefault_profile = \"maps\"\n");
    add(&home, maps("1", &["Map-Sheet"]));
    let refused = deposited(&home, &bag(&home, "plain", &[]), None);
    assert_eq!(codes(&home, &refused), ["profile.tag_required"], "{:?}", refused.note);
    let error = profiles::remove(&call(&home), "maps", None).expect_err("the setting names it");
    assert!(error.to_string().contains("ingest.default_profile"), "{error}");
    assert_eq!(shown(&home).len(), 4);
    add(&home, maps("2", &[]));
    profiles::remove(&call(&home), "maps", Some(2)).expect("another version is left");
    assert!(profiles::remove(&call(&home), "maps", Some(1)).is_err());
}

#[test]
fn a_rebuilt_registry_knows_which_profile_is_missing_and_takes_its_document_under_its_number() {
    let before = home_with_maps();
    add(&before, maps("2", &["Map-Sheet"]));
    assert_eq!(
        deposited(&before, &bag(&before, "sheet", &[("Map-Sheet", "12")]), Some(COLLECTION)).status,
        ItemStatus::Succeeded
    );
    let after = home();
    copy_stores(&before, &after);
    assert!(rebuilt(&after, "primary").is_complete());
    let maps_of = |home: &TestHome| shown(home).into_iter().filter(|one| one.0 == "maps").collect::<Vec<_>>();
    assert_eq!(maps_of(&after), [("maps".to_owned(), 2, ProfileState::Missing, ProfileOrigin::Stores)]);
    assert_eq!(after.object("sheet").description.profile_version, Some(2));
    assert!(profiles::document(&call(&after), "maps", None).is_err());
    assert_eq!(add(&after, maps("3", &[])), (3, ProfileOutcome::Added));
    assert_eq!(add(&after, maps("2", &["Map-Sheet"])), (2, ProfileOutcome::Restored));
    assert_eq!(
        maps_of(&after).into_iter().map(|one| (one.1, one.2)).collect::<Vec<_>>(),
        [(2, ProfileState::Earlier), (3, ProfileState::Current)]
    );
}

#[test]
fn a_version_of_a_profile_is_neither_changed_nor_deleted_in_the_tables() {
    let home = home();
    for change in [
        "-- name: change\nUPDATE profiles SET document = x'7b7d' WHERE version = 1",
        "-- name: change\nUPDATE profiles SET sha512 = sha256 WHERE version = 1",
        "-- name: change\nUPDATE profiles SET version = 7 WHERE name = 'btr-1.0'",
        "-- name: change\nDELETE FROM profiles",
    ] {
        let statements = strongroom_registry::statements().with(change);
        let database: Box<dyn Database> = Box::new(home.database(statements));
        assert!(database.write(|tx| tx.execute(Statement("change"), &[])).is_err(), "{change}");
    }
}

#[test]
fn who_added_and_removed_a_profile_is_in_the_journal() {
    let home = home();
    add(&home, maps("1", &[]));
    add(&home, maps("1", &[]));
    profiles::remove(&call(&home), "maps", Some(1)).expect("removes");
    let lines = journal::list(&call(&home), &journal::Filter::default(), None).expect("lists").items;
    let told: Vec<String> = lines.iter().map(|line| format!("{} {} {}", line.actor, line.act, line.target)).collect();
    assert_eq!(told, ["tester profiles.add maps version 1", "tester profiles.remove maps version 1"]);
}
