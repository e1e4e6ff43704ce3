//! How long what is not valid stays, and who is told.

use super::*;

const DAY: Duration = Duration::from_hours(24);

fn invalid(home: &TestHome) {
    fs::write(place(home, "broken.tar"), vec![0; 4096]).expect("writes");
    settle(home);
    work(home);
    look(home);
}

#[test]
fn an_invalid_bag_is_removed_after_its_time_and_a_warning() {
    let home = home();
    invalid(&home);
    assert_eq!(state(&home, &key("broken.tar")), UploadState::Invalid, "{:?}", all_items(&home));
    let date = uploads(&home)[0].remove_after.expect("a date");
    home.clock.advance(DAY * 10);
    look(&home);
    assert!(warnings(&home).is_empty(), "too early");
    home.clock.advance(DAY);
    look(&home);
    assert_eq!(warnings(&home).len(), 1);
    assert!(uploads(&home)[0].remove_after.is_some_and(|now| now >= date && now.0 < date.0 + 60_000_000));
    home.clock.advance(DAY * 2);
    look(&home);
    assert!(place(&home, "broken.tar").exists());
    home.clock.advance(DAY);
    look(&home);
    assert!(!place(&home, "broken.tar").exists());
    assert_eq!(state(&home, &key("broken.tar")), UploadState::Removed);
}

#[test]
fn nothing_is_removed_without_a_warning_even_where_nothing_ran_for_long() {
    let home = home();
    invalid(&home);
    home.clock.advance(DAY * 60);
    look(&home);
    assert!(place(&home, "broken.tar").exists());
    assert_eq!(warnings(&home).len(), 1);
    home.clock.advance(DAY * 2);
    look(&home);
    assert!(place(&home, "broken.tar").exists());
    home.clock.advance(DAY * 2);
    look(&home);
    assert!(!place(&home, "broken.tar").exists());
}

#[test]
fn what_took_the_place_of_an_invalid_bag_is_not_removed_for_it() {
    let home = home();
    invalid(&home);
    home.clock.advance(DAY * 12);
    look(&home);
    fs::write(place(&home, "broken.tar"), vec![1; 4096]).expect("replaces it");
    home.clock.advance(DAY * 5);
    look(&home);
    assert!(place(&home, "broken.tar").exists());
    assert_eq!(state(&home, &key("broken.tar")), UploadState::Settling);
}

#[test]
fn an_upload_that_failed_for_other_reasons_stays() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    let institution = home
        .registry
        .read(|tx| strongroom_registry::tenants::institution(tx, Scope::System, INSTITUTION))
        .expect("reads")
        .expect("the institution");
    settle(&home);
    home.registry
        .write(move |tx| strongroom_registry::tenants::set_institution(tx, institution.id, "Test", false))
        .expect("deactivates");
    work(&home);
    for _ in 0..4 {
        home.clock.advance(DAY * 20);
        look(&home);
    }
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Failed);
    assert!(place(&home, "letters.tar").exists());
}

#[test]
fn a_forgotten_upload_is_taken_up_anew() {
    let home = home();
    invalid(&home);
    let id = uploads(&home)[0].upload;
    receiving::forget(&home, Scope::System, id).expect("forgets");
    assert!(uploads(&home).is_empty());
    assert_eq!(settle(&home).submitted, 1);
    let id = uploads(&home)[0].upload;
    assert!(receiving::forget(&home, Scope::System, id).is_err(), "it is worked on");
}

/// Keys of the warnings that were put out.
fn warnings(home: &TestHome) -> Vec<String> {
    uploads(home).iter().filter_map(|upload| upload.warned_at).map(|time| time.to_string()).collect()
}
