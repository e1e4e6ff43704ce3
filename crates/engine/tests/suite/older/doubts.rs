//! Right stores that are refused, a wrong one that is taken, and work that does not go on.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use strongroom_engine::backfill::Retirement;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::watermark::{self, StoredWatermark};
use strongroom_engine::{Availability, EngineError, Home, backfill, build_runtime, work_on};
use strongroom_registry::{ItemId, ItemStatus, VersionState, stores, versions};
use strongroom_storage::{Capabilities, FolderStore, Key, StorageError};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use super::inventories::{assert_succeeds_in_a_while, try_for_a_while};
use super::{MARK, check, is_commit, item, mark_behind_a_commit, state, submit, work_until_it_waits};
use crate::fixture::{TestHome, home};
use crate::ingest::committing::layered;
use crate::meanwhile::{Meanwhile, When};
use crate::saying::{Says, saying};

/// Another disk is mounted where a retired store was. Taking the retired store into use again is no answer to what lies there:
/// that is another store, which no registry knows.
#[test]
fn a_retired_store_is_not_exchanged_for_another_one_by_taking_it_into_use_again() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    check(&made);
    let retirement =
        backfill::retire(&made, &crate::fixture::retire_request("secondary", true), &mut |_| Ok::<_, EngineError>(()))
            .expect("asks");
    assert!(matches!(retirement, Retirement::Retired(_)), "{retirement:?}");
    let known = |home: &Home| {
        let known = home.registry.read(stores::list).expect("lists");
        known.into_iter().find(|known| known.name == "secondary").expect("is known").id
    };
    let before = known(&made);
    let folder = made.path().join("stores/secondary");
    fs::rename(&folder, made.path().join("elsewhere")).expect("takes it away");
    FolderStore::create("other", &folder).expect("another store lies there");
    let again = made.opened_again();
    assert_eq!(state(&again, "secondary").availability, Availability::Refused);
    let undone = backfill::use_again(&again, "secondary").map_err(|error| error.chain());
    assert!(undone.is_err(), "another store took the place without being asked for");
    assert_eq!(known(&again), before, "the registry has forgotten the retired store");
}

/// A store gets another name in the settings before anything is kept in it: no store of the settings has its id, so it is taken.
#[test]
fn a_store_that_got_another_name_in_the_settings_is_not_taken_for_two() {
    let made = home();
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text
        .replace("[\"primary\", \"secondary\"]", "[\"primary\", \"tertiary\"]")
        .replace("[stores.secondary]", "[stores.tertiary]");
    let settings = Settings::from_toml(&text).expect("settings");
    let renamed =
        || Arc::new(Home::with_registry(made.path(), settings.clone(), made.registry.clone()).expect("opens the home"));
    let first = renamed();
    let id = submit(&first, &made, "letters", &[("a.txt", b"dear reader")]);
    let ended = work_until_it_waits(&first, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    drop(first);
    let later = renamed();
    assert_eq!(state(&later, "tertiary").availability, Availability::Available);
    let id = submit(&later, &made, "diaries", &[("d.txt", b"dear diary")]);
    let ended = work_until_it_waits(&later, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
}

/// The mark of a store is damaged, and a person adopts, as the refusal says. What lies in the store is right.
#[test]
fn a_store_whose_damaged_mark_was_claimed_by_an_adoption_is_used() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    fs::write(made.file("secondary", MARK), b"{\"form\":1,").expect("damages the mark");
    assert!(made.opened_again().registry.refusal().is_some_and(|reason| reason.contains("cannot be read")));
    let adopting = made.opened_to_adopt();
    let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    assert!(summary.is_complete() && summary.pending.is_empty(), "{summary:?}");
    let again = made.opened_again();
    assert_eq!(again.registry.refusal(), None);
    let state = state(&again, "secondary");
    assert_eq!(state.availability, Availability::Available, "{state:?}");
}

/// A store that honours no conditions on puts.
struct NoConditions;

impl Says for NoConditions {
    fn capabilities(&self, of: Capabilities) -> Capabilities {
        Capabilities { conditional_put: false, ..of }
    }
}

/// A process that works with an older state of the registry is stopped by the marks, whether or not it has written them before
/// and whatever the stores honour.
#[test]
fn a_process_of_before_an_adoption_publishes_nothing_into_stores_without_conditions() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let backup = made.backup("early");
    let says = Arc::new(NoConditions);
    let before = Arc::new(saying(&made, [("primary", says.clone()), ("secondary", says)]));
    let id = submit(&before, &made, "letters", &[("a.txt", b"one, changed")]);
    work_on(&before, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
    let (_folder, elsewhere) = made.with_registry_elsewhere(&backup);
    rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    let marks = || fs::read_to_string(made.file("primary", MARK)).expect("reads the mark");
    let adopted = marks();
    let id = submit(&before, &made, "diaries", &[("d.txt", b"dear diary")]);
    let workers = build_runtime(&before, None).expect("a runtime").build();
    let begun = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", item(&made, id));
        let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads");
        let is_tried = version.is_some_and(|version| version.state == VersionState::Committing)
            && item(&made, id).status == ItemStatus::Pending;
        item(&made, id).status.is_ended() || is_tried
    });
    let ended = item(&made, id);
    assert_ne!(ended.status, ItemStatus::Succeeded, "the registry of before publishes nothing; {adopted} {}", marks());
}

/// Works with a registry of before until an item tells why it is not published.
fn work_until_refused(before: &Arc<Home>, id: ItemId, why: &str) {
    let workers = build_runtime(before, None).expect("a runtime").build();
    let begun = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        let item = item(before, id);
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", item.note);
        item.status.is_ended() || item.note.is_some_and(|note| note.contains(why))
    });
    assert!(!item(before, id).status.is_ended(), "{:?}", item(before, id).note);
}

/// The act is under way when the stores are adopted.
#[test]
fn a_late_act_does_not_put_its_mark_in_the_place_of_an_adopted_one_where_no_conditions_are_honoured() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&made.backup("early"));
    let settings = elsewhere.settings.clone();
    let says = Arc::new(NoConditions);
    let mut before = saying(&made, [("primary", says.clone()), ("secondary", says)]);
    let adopting = Meanwhile::new(When::Before, is_commit, move |_| {
        rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    });
    let inner = before.stores["secondary"].clone();
    before.stores.insert("secondary".into(), Arc::new(Layered::new(inner, adopting)));
    let id = submit(&before, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_until_refused(&Arc::new(before), id, "adopted by another state");
    let again = Home::open(folder.path(), settings).expect("opens the home");
    assert!(again.registry.refusal().is_some_and(|reason| reason.contains("older state")), "it learns of the act");
}

/// The mark tells of more acts than the process of before has announced.
#[test]
fn a_process_of_before_an_adoption_does_nothing_where_later_acts_are_marked() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let backup = made.backup("early");
    made.ingest("letters", &[("a.txt", b"one, changed")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    drop(elsewhere);
    let server = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
    for name in ["maps", "plans"] {
        let id = submit(&server, &made, name, &[("m.txt", name.as_bytes())]);
        work_on(&server, &[id], &Shutdown::new()).expect("works");
        assert_eq!(item(&server, id).status, ItemStatus::Succeeded, "{:?}", item(&server, id).note);
    }
    let mark = || fs::read_to_string(made.file("primary", MARK)).expect("reads the mark");
    let marked = mark();
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_until_refused(&made.home, id, "older state of itself");
    assert_eq!(mark(), marked);
}

/// What lies in a folder is exchanged for another store, as `rsync --delete` does it: the folder itself stays the same one.
#[test]
fn nothing_is_published_into_an_exchanged_folder_of_which_no_act_was_noted() {
    let made = home();
    let folder = made.path().join("stores/secondary");
    for entry in fs::read_dir(&folder).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("removes");
    }
    let other = FolderStore::create("other", &folder).expect("another store lies there").id();
    let known = made.registry.read(stores::list).expect("lists");
    assert!(known.iter().all(|known| known.id != other));
    let id = submit(&made, &made, "letters", &[("a.txt", b"dear reader")]);
    let waiting = work_until_it_waits(&made.home, id);
    assert_ne!(waiting.status, ItemStatus::Succeeded, "published into the store {other}, which no registry knows");
}

/// A process sleeps between the last write of a mark and its note, and the store is taken anew meanwhile.
#[test]
fn a_mark_that_is_noted_late_does_not_refuse_a_store_that_was_taken_anew_meanwhile() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    let other = Arc::new(made.opened_again());
    let taken_anew = Meanwhile::new(When::After, mark_behind_a_commit(), move |_| {
        fs::write(&mark, &older).expect("puts the older mark back");
        backfill::replace(&other, "secondary").expect("replaces");
    });
    let layered = layered(&made, "secondary", taken_anew);
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    let runtime = build_runtime(&layered, None).expect("a runtime").build();
    let begun = Instant::now();
    let replaced = || {
        let known = made.registry.read(stores::list).expect("lists");
        known.into_iter().find(|known| known.name == "secondary").expect("is known")
    };
    let before = replaced().recorded_at;
    runtime.run_until(&Shutdown::new(), &|| {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", item(&made, id));
        replaced().recorded_at != before && item(&made, id).status != ItemStatus::Started
    });
    let state = state(&made.opened_again(), "secondary");
    assert_eq!(state.availability, Availability::Available, "{state:?}, {:?}", replaced());
}

/// What was put before a store was taken anew tells nothing of what lies there now.
#[test]
fn a_repair_is_not_recorded_in_a_store_that_was_taken_anew_meanwhile() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    let content = made.keys("secondary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    fs::write(made.file("secondary", &content), b"other bytes").expect("damages it");
    let other = Arc::new(made.opened_again());
    let is_repair = move |call: Call<'_>| call.operation == Operation::Put && call.key.as_str() == content;
    let taken_anew = Meanwhile::new(When::After, is_repair, move |_| {
        fs::write(&mark, &older).expect("puts the older mark back");
        backfill::replace(&other, "secondary").expect("replaces");
    });
    let request = FixityRequest { all: true, store: Some("secondary".into()), ..FixityRequest::default() };
    let summary = fixity::run(&layered(&made, "secondary", taken_anew), &request, &mut |_| ()).expect("checks");
    assert_eq!((summary.damaged, summary.repaired), (0, 0), "{summary:?}");
    assert!(summary.failed > 0, "{summary:?}");
}

const FOREIGN: &[u8] = br#"{"form":1,"registry":"0198f000-0000-7000-8000-000000000001","term":0,"acts":1}"#;

/// Two registries begin with a store at the same moment.
#[test]
fn the_mark_of_a_registry_that_was_first_is_not_overwritten() {
    let made = home();
    let mark = made.file("secondary", MARK);
    let is_mark = |call: Call<'_>| call.operation == Operation::Put && call.key.as_str() == MARK;
    let first = Meanwhile::new(When::Before, is_mark, {
        let mark = mark.clone();
        move |_| {
            fs::create_dir_all(mark.parent().expect("a folder")).expect("makes a folder");
            fs::write(mark, FOREIGN).expect("writes");
        }
    });
    let layered = layered(&made, "secondary", first);
    let id = submit(&layered, &made, "letters", &[("a.txt", b"dear reader")]);
    let workers = build_runtime(&layered, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| item(&made, id).status.is_ended() || item(&made, id).retry_count > 0);
    assert_ne!(item(&made, id).status, ItemStatus::Succeeded);
    assert_eq!(fs::read_to_string(mark).expect("reads"), String::from_utf8_lossy(FOREIGN));
}

/// The mark of a store is damaged while a version is published, and a person adopts, as the refusal says, beside the process
/// that works with the very same registry. That registry knows of the act: it announced it.
#[test]
fn an_adoption_beside_a_worker_of_the_same_registry_does_not_stop_it_for_good() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let path = made.path().to_owned();
    let settings = made.settings.clone();
    let adopt = move |_: &Key| {
        fs::write(&mark, b"{\"form\":1,").expect("damages the mark");
        let adopting = Home::open_to_adopt(&path, settings).expect("opens");
        let only = AdoptRequest { stores: vec!["secondary".into()], ..AdoptRequest::default() };
        let summary = rebuild::adopt(&adopting, &only, &mut |_| ()).expect("adopts");
        assert!(summary.is_complete() && summary.pending.is_empty(), "{summary:?}");
    };
    let layered = layered(&made, "secondary", Meanwhile::new(When::Before, is_commit, adopt));
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&layered, &made, id);
    assert_eq!(made.opened_again().registry.refusal(), None);
}

/// The home, where the secondary store honours no conditions, and a late put of a mark lands there behind the first commit.
fn with_a_late_mark(made: &TestHome, mark: std::path::PathBuf, bytes: Vec<u8>) -> Arc<Home> {
    let late = Meanwhile::new(When::After, is_commit, move |_| fs::write(&mark, &bytes).expect("a late put"));
    let mut home = saying(made, [("secondary", Arc::new(NoConditions))]);
    let store: Arc<dyn strongroom_storage::Store> = Arc::new(Layered::new(home.stores["secondary"].clone(), late));
    home.stores.insert("secondary".into(), store);
    Arc::new(home)
}

/// In a store without conditions a late put of a mark of an earlier term lands between an act and the mark behind it.
#[test]
fn a_late_mark_of_an_earlier_term_does_not_stop_the_registry_that_adopted() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let earlier = fs::read(&mark).expect("the mark of the first term");
    // A new term, in both stores.
    for store in ["primary", "secondary"] {
        fs::write(made.file(store, MARK), b"{\"form\":1,").expect("damages the mark");
    }
    let adopting = made.opened_to_adopt();
    rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    drop(adopting);
    let again = made.opened_again();
    assert_eq!(again.registry.refusal(), None);
    drop(again);
    let home = with_a_late_mark(&made, mark, earlier);
    let id = submit(&home, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&home, &made, id);
}

/// As `a_late_act_is_learned_of_also_where_the_registry_that_adopted_works_on`; but the late act ends in one store alone, since
/// the other is away by then. No mark tells of it.
#[test]
fn a_late_act_that_ends_in_one_store_alone_is_learned_of() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let backup = made.backup("early");
    // The registry elsewhere is behind, so that it adopts.
    made.ingest("letters", &[("a.txt", b"one, changed")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let (secondary, gone) = (made.path().join("stores/secondary"), made.path().join("gone"));
    let (from, to) = (secondary.clone(), gone.clone());
    let adopt = move |_: &Key| {
        let summary = rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
        assert!(summary.is_complete() && summary.pending.is_empty(), "{summary:?}");
        fs::rename(from, to).expect("takes it away");
    };
    let layered = layered(&made, "primary", Meanwhile::new(When::Before, is_commit, adopt));
    let id = submit(&layered, &made, "maps", &[("m.txt", b"a map")]);
    let before = made.keys("primary").len();
    work_until_it_waits(&layered, id);
    fs::rename(&gone, &secondary).expect("brings it back");
    assert!(made.keys("primary").len() > before, "the late act ended in one store");
    layered.try_stores();
    try_for_a_while(&layered, &made, id);
    let ended = item(&made, id);
    assert!(ended.note.as_ref().is_some_and(|note| note.contains("older state")), "{:?}", ended.note);
    let again = Home::open(folder.path(), settings).expect("opens the home");
    assert!(
        again.registry.refusal().is_some(),
        "primary holds a version that the registry which adopted it does not know"
    );
}

/// A medium that fails at an operation on the mark.
struct MarkFails(Operation);

impl Layer for MarkFails {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if call.key.as_str() != MARK || call.operation != self.0 {
            return act();
        }
        let source = std::io::Error::from_raw_os_error(5);
        Err(StorageError::Io { store: "secondary".into(), act: "use", key: call.key.clone(), source })
    }
}

#[test]
fn a_mark_that_cannot_be_read_is_not_taken_for_none_and_one_of_another_form_is_told() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    for operation in [Operation::Head, Operation::Open] {
        let failing = layered(&made, "secondary", MarkFails(operation));
        let found = watermark::read(failing.store("secondary").expect("a store").as_ref());
        assert!(matches!(found, Err(StorageError::Io { .. })), "{operation:?}: {found:?}");
    }
    let file = made.file("secondary", MARK);
    let later = fs::read_to_string(&file).expect("reads").replace("\"form\":1", "\"form\":2");
    fs::write(&file, later).expect("writes");
    let found = watermark::read(made.store("secondary").expect("a store").as_ref()).expect("reads");
    assert!(matches!(&found, StoredWatermark::Unreadable(why) if why.contains("form 2")), "{found:?}");
}

#[test]
fn a_mark_that_cannot_be_written_is_told_as_what_it_is() {
    let made = home();
    let failing = layered(&made, "secondary", MarkFails(Operation::Put));
    let id = submit(&failing, &made, "letters", &[("a.txt", b"dear reader")]);
    let workers = build_runtime(&failing, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| item(&made, id).status.is_ended() || item(&made, id).retry_count > 0);
    let note = item(&made, id).note.expect("a note");
    assert!(note.contains("Input/output error"), "{note}");
}

/// A snapshot of before an act takes the place of a store between the act and the mark behind it.
#[test]
fn a_store_that_was_put_back_between_an_act_and_its_mark_is_written_to_again() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let earlier = fs::read(&mark).expect("reads");
    let folder = made.path().join("stores/secondary");
    let put_back = Meanwhile::new(When::After, is_commit, move |key| {
        fs::remove_dir_all(folder.join(key.as_str())).expect("takes the object out");
        fs::write(&mark, &earlier).expect("puts the mark back");
    });
    let layered = layered(&made, "secondary", put_back);
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&layered, &made, id);
    let summary = check(&made);
    assert_eq!((summary.damaged, summary.failed), (0, 0), "{summary:?}");
    assert_eq!(made.opened_again().registry.refusal(), None);
}

/// In a store without conditions a late put of an earlier mark lands between an act and the mark behind it. The mark tells of
/// the act all the same, so that a registry which does not know it is refused.
#[test]
fn a_late_mark_of_before_an_act_does_not_hide_it() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let earlier = fs::read(&mark).expect("the mark of before");
    let home = with_a_late_mark(&made, mark, earlier);
    let id = submit(&home, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&home, &made, id);
    let acts = |name: &str| match watermark::read(made.store(name).expect("a store").as_ref()).expect("reads") {
        StoredWatermark::Watermark(mark) => mark.acts,
        other => panic!("{other:?}"),
    };
    assert_eq!(acts("secondary"), acts("primary"));
}
