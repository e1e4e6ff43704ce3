//! How long what was given back stays in the restoration store.

use std::fs;
use std::time::Duration;

use strongroom_engine::restoration::{Expired, expire};
use strongroom_registry::RestoredState;
use strongroom_registry::restored::{self, Restored};

use super::*;

const DAY: Duration = Duration::from_hours(24);
const REMOVED: Expired = Expired { removed: 1, changed: 0 };
const NOTHING: Expired = Expired { removed: 0, changed: 0 };

fn into_the_store() -> RestoreRequest {
    RestoreRequest::of_system(format!("{INSTITUTION}/letters"))
}

fn result(home: &TestHome, item: &Item) -> Restored {
    let mut all = home.registry.read(|tx| restored::of_item(tx, item.id)).expect("results");
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_result_goes_from_the_store_after_its_time_and_from_a_folder_never() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let folder = TempDir::new().expect("a folder");
    let in_folder = restored(&home, &to(&folder, "letters"));
    assert!(home.registry.read(|tx| restored::of_item(tx, in_folder.id)).expect("results").is_empty());
    let item = restored(&home, &into_the_store());
    let until = result(&home, &item).expires_at.expect("a time");
    assert!(item.note.as_ref().is_some_and(|note| note.contains(&format!("stays until {until}"))), "{:?}", item.note);
    home.clock.advance(DAY * 29);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), NOTHING);
    assert_eq!(home.keys("restoration"), ["test.edu/letters.tar"]);
    home.clock.advance(DAY + Duration::from_mins(1));
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), REMOVED);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), NOTHING);
    assert!(home.keys("restoration").is_empty());
    assert!(home.path().join("stores/restoration/test.edu").is_dir(), "with the rights that it may have of its own");
    assert_eq!(names(folder.path()), ["letters.tar"]);
    assert_eq!(result(&home, &item).state, RestoredState::Removed);
    let history = home.registry.read(|tx| items::history(tx, Scope::System, item.id)).expect("a history");
    assert!(history.last().and_then(|line| line.note.as_ref()).is_some_and(|note| note.contains("removed from store")));
}

#[test]
fn a_later_result_has_a_name_and_a_time_of_its_own() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let first = restored(&home, &into_the_store());
    home.clock.advance(DAY * 20);
    let second = restored(&home, &into_the_store());
    assert_eq!(home.keys("restoration"), ["test.edu/letters-2.tar", "test.edu/letters.tar"]);
    home.clock.advance(DAY * 11);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), REMOVED);
    assert_eq!(result(&home, &first).state, RestoredState::Removed);
    assert_eq!(home.keys("restoration"), ["test.edu/letters-2.tar"]);
    home.clock.advance(DAY * 20);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), REMOVED);
    assert_eq!(result(&home, &second).state, RestoredState::Removed);
}

#[test]
fn what_somebody_put_in_its_place_stays() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let item = restored(&home, &into_the_store());
    let lies = home.file("restoration", "test.edu/letters.tar");
    fs::remove_file(&lies).expect("removes");
    fs::write(&lies, "of somebody else").expect("writes");
    home.clock.advance(DAY * 31);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), Expired { removed: 0, changed: 1 });
    assert_eq!(result(&home, &item).state, RestoredState::Changed);
    assert_eq!(fs::read(&lies).expect("reads"), b"of somebody else");
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), NOTHING);
}

#[test]
fn without_a_retention_results_stay() {
    let home = fixture::home_with("[restoration]\nretention = \"0s\"\n");
    home.ingest("letters", &[("a.txt", b"one")]);
    let item = restored(&home, &into_the_store());
    assert_eq!(result(&home, &item).expires_at, None);
    home.clock.advance(DAY * 10_000);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), NOTHING);
    assert_eq!(home.keys("restoration"), ["test.edu/letters.tar"]);
}

#[test]
fn the_schedule_removes_what_has_had_its_time() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    restored(&home, &into_the_store());
    home.clock.advance(DAY * 31);
    strongroom_engine::background::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(home.keys("restoration").is_empty());
}

/// The folders made for a result are removed with it: else each object, and each folder of it from which a file was
/// restored, leaves an empty one for good.
#[test]
fn a_restored_file_leaves_no_folders_but_the_institutions() {
    let home = fixture::home();
    for name in ["letters", "maps"] {
        let object = home.ingest(name, &[("a/b.txt", b"one")]);
        let wanted = file(&home, &object, "data/a/b.txt").id.to_string();
        let request = RestoreFileRequest::of_system(wanted);
        worked(&home, request_file(&home, &request).expect("asks"));
    }
    let given = home.keys("restoration");
    assert_eq!(given.len(), 2, "{given:?}");
    home.clock.advance(DAY * 31);
    assert_eq!(expire(&home, &Shutdown::new()).expect("looks"), Expired { removed: 2, changed: 0 });
    assert!(home.keys("restoration").is_empty());
    assert_eq!(names(&home.path().join("stores/restoration/test.edu")), [""; 0], "left of {given:?}");
}
