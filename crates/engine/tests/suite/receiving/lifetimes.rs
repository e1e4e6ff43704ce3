//! How long what is not valid stays, and who is told.

use strongroom_engine::app::{self, Caller, OpContext};
use strongroom_engine::findings::Counting;
use strongroom_engine::outbox::{self, Delivered};
use strongroom_engine::survey::Survey;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{Home, status};
use strongroom_registry::receiving as uploads_record;
use strongroom_registry::tenants::CollectionRules;

use super::collections::set_collection;
use super::*;

const DAY: Duration = Duration::from_hours(24);

fn invalid(home: &TestHome) {
    fs::write(place(home, "broken.tar"), vec![0; 4096]).expect("writes");
    settle(home);
    work(home);
    look(home);
}

/// A turn of the schedule: a look, and what is in the outbox is delivered.
fn turn(home: &TestHome) -> Delivered {
    look(home);
    outbox::deliver(home, &Shutdown::new()).expect("delivers")
}

/// The notices that lie in the institution's place.
fn notices(home: &TestHome) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place(home, "notices")) else { return Vec::new() };
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn an_invalid_bag_is_removed_after_its_time_and_a_warning() {
    let home = home();
    invalid(&home);
    assert_eq!(state(&home, &key("broken.tar")), UploadState::Invalid, "{:?}", all_items(&home));
    let date = uploads(&home)[0].remove_after.expect("a date");
    home.clock.advance(DAY * 10);
    turn(&home);
    assert!(warnings(&home).is_empty(), "too early");
    home.clock.advance(DAY);
    turn(&home);
    assert_eq!(warnings(&home).len(), 1);
    assert!(uploads(&home)[0].remove_after.is_some_and(|now| now >= date && now.0 < date.0 + 60_000_000));
    home.clock.advance(DAY * 2);
    turn(&home);
    assert!(place(&home, "broken.tar").exists());
    assert!(removals(&home).is_empty());
    home.clock.advance(DAY);
    turn(&home);
    assert!(!place(&home, "broken.tar").exists());
    assert_eq!(removals(&home), ["strongroom: receiving: test.edu/broken.tar done"]);
    assert_eq!(state(&home, &key("broken.tar")), UploadState::Removed);
}

#[test]
fn nothing_is_removed_without_a_warning_even_where_nothing_ran_for_long() {
    let home = home();
    invalid(&home);
    home.clock.advance(DAY * 60);
    turn(&home);
    assert!(place(&home, "broken.tar").exists());
    assert_eq!(warnings(&home).len(), 1);
    home.clock.advance(DAY * 2);
    turn(&home);
    assert!(place(&home, "broken.tar").exists());
    home.clock.advance(DAY * 2);
    turn(&home);
    assert!(!place(&home, "broken.tar").exists());
}

#[test]
fn an_invalid_upload_is_not_removed_before_its_notice_was_delivered() {
    let home = home();
    invalid(&home);
    // A file where the folder of the notices has to be.
    fs::write(place(&home, "notices"), b"in the way").expect("writes");
    for _ in 0..3 {
        home.clock.advance(DAY * 30);
        look(&home);
        assert_eq!(outbox::deliver(&home, &Shutdown::new()).expect("runs").failed, 1, "there is no place for notices");
        assert!(place(&home, "broken.tar").exists());
        assert!(warnings(&home).is_empty(), "nothing was delivered");
    }
    fs::remove_file(place(&home, "notices")).expect("clears the way");
    home.clock.advance(Duration::from_mins(10));
    assert_eq!(turn(&home).delivered, 1);
    let [notice] = notices(&home).try_into().expect("one notice");
    let text = fs::read_to_string(&notice).expect("reads");
    let remove_after = uploads(&home)[0].remove_after.expect("a date").to_string();
    for wanted in ["broken.tar", "not valid", remove_after.as_str(), "What to do"] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert!(notice.file_name().is_some_and(|name| name.to_string_lossy().contains("broken.tar")), "{notice:?}");
    home.clock.advance(DAY * 2);
    assert_eq!(turn(&home), Delivered::default(), "once is enough");
    assert!(place(&home, "broken.tar").exists(), "the time counts from the delivery");
    home.clock.advance(DAY * 2);
    turn(&home);
    assert!(!place(&home, "broken.tar").exists());
    assert!(notice.exists());
}

#[test]
fn notices_are_no_uploads() {
    let home = home();
    fs::create_dir_all(place(&home, "notices")).expect("makes the folder");
    plain_bag(&place(&home, "notices/letters.tar"), Serialization::Tar, &[("a.txt", b"one")]);
    settle(&home);
    assert!(uploads(&home).is_empty());
}

#[test]
fn a_notice_of_what_was_replaced_is_not_delivered() {
    let home = home();
    invalid(&home);
    home.clock.advance(DAY * 12);
    look(&home);
    fs::write(place(&home, "broken.tar"), vec![1; 4096]).expect("replaces it");
    assert_eq!(turn(&home), Delivered { obsolete: 1, ..Delivered::default() });
    assert!(notices(&home).is_empty());
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
        .write(move |tx| strongroom_registry::tenants::set_institution(tx, institution.id, "Test", (false, None, None)))
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
    home.registry.write(move |tx| uploads_record::forget(tx, Scope::System, id)).expect("forgets");
    assert!(uploads(&home).is_empty());
    assert_eq!(settle(&home).submitted, 1);
    let id = uploads(&home)[0].upload;
    assert!(home.registry.write(move |tx| uploads_record::forget(tx, Scope::System, id)).is_err(), "it is worked on");
}

#[test]
fn what_was_requeued_and_failed_for_other_reasons_is_not_removed_as_invalid() {
    let home = home();
    // A package that would fail again cannot be requeued; one that only breaks the rules of a profile can.
    let rules =
        CollectionRules { name: "Papers".into(), profile: Some("aptrust-2.3".into()), ..CollectionRules::default() };
    set_collection(&home, "papers", rules, true);
    fs::create_dir_all(place(&home, "papers")).expect("makes the folder");
    plain_bag(&place(&home, "papers/broken.tar"), Serialization::Tar, &[("a.txt", b"one")]);
    settle(&home);
    work(&home);
    look(&home);
    home.clock.advance(DAY * 12);
    turn(&home);
    let [upload] = uploads(&home).try_into().expect("one upload");
    assert!(upload.warned_at.is_some());
    // The process stopped behind the beginning of the removal; then a person takes the item up again, and it fails for a
    // reason that says nothing of the bag.
    let id = upload.upload;
    home.registry
        .write(move |tx| uploads_record::decide(tx, id, &uploads_record::Fate::new(UploadState::Removing, "begun")))
        .expect("begins");
    let institution = home
        .registry
        .read(|tx| strongroom_registry::tenants::institution(tx, Scope::System, INSTITUTION))
        .expect("reads")
        .expect("the institution");
    home.registry
        .write(move |tx| strongroom_registry::tenants::set_institution(tx, institution.id, "Test", (false, None, None)))
        .expect("deactivates");
    let [item] = all_items(&home).try_into().expect("one item");
    assert!(item.is_verdict);
    home.registry
        .write(move |tx| {
            items::request(
                tx,
                &Workflows::standard(),
                Scope::System,
                item.id,
                items::Request::Requeue(None),
                "a person",
            )
        })
        .expect("is requeued");
    work(&home);
    assert_eq!((all_items(&home)[0].status, all_items(&home)[0].is_verdict), (ItemStatus::Failed, false));
    for _ in 0..3 {
        home.clock.advance(DAY * 20);
        turn(&home);
        assert!(place(&home, "papers/broken.tar").exists(), "nobody has judged it");
    }
    assert_eq!(state(&home, &key("papers/broken.tar")), UploadState::Failed);
}

/// Keys of the warnings that were put out.
fn warnings(home: &TestHome) -> Vec<String> {
    uploads(home).iter().filter_map(|upload| upload.warned_at).map(|time| time.to_string()).collect()
}

/// The same home with settings in which the receiving store has another name.
fn without_its_store(home: &TestHome) -> Home {
    let mut settings = home.settings.clone();
    let store = settings.stores.remove("receiving").expect("the store");
    settings.stores.insert("inbox".to_owned(), store);
    "inbox".clone_into(&mut settings.roles.receiving);
    Home::with_registry(home.path(), settings, home.registry.clone()).expect("opens")
}

/// How many messages the status says are undeliverable.
fn undeliverable(home: &TestHome) -> u64 {
    let survey = Survey::of(home.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
    let status = status::collect(home.path(), &home.settings, &home.registry, &survey).expect("collects");
    status.review.undeliverable_messages
}

#[test]
fn a_notice_for_a_store_that_has_left_the_settings_is_undeliverable_until_a_person_sends_it_again() {
    let home = home();
    invalid(&home);
    home.clock.advance(DAY * 60);
    look(&home);
    let without = without_its_store(&home);
    let done = outbox::deliver(&without, &Shutdown::new()).expect("runs");
    assert_eq!((done.undeliverable, done.failed), (1, 0));
    home.clock.advance(DAY);
    assert_eq!(outbox::deliver(&without, &Shutdown::new()).expect("runs"), Delivered::default(), "once is enough");
    assert_eq!(undeliverable(&home), 1);
    assert_eq!(turn(&home), Delivered::default(), "nor by itself when the store is back");

    let call = OpContext::new(home.home.clone(), Caller::at_console("tester"));
    let listed = || app::outbox::list(&call, None).expect("lists").items;
    let [message] = listed().try_into().expect("one message");
    let reason = message.reason.expect("a reason");
    assert!(reason.contains("the settings have no store receiving"), "{reason}");
    app::outbox::send(&call, message.message).expect("is sent again");
    assert!(app::outbox::send(&call, message.message).is_err(), "it is to be attempted");
    assert_eq!((undeliverable(&home), listed().len()), (0, 0));
    assert_eq!(turn(&home).delivered, 1);
    assert_eq!(notices(&home).len(), 1);
}

#[test]
fn an_undeliverable_notice_that_a_person_removes_is_followed_by_another_when_its_store_is_scanned_again() {
    let home = home();
    invalid(&home);
    home.clock.advance(DAY * 60);
    look(&home);
    outbox::deliver(&without_its_store(&home), &Shutdown::new()).expect("runs");
    let call = OpContext::new(home.home.clone(), Caller::at_console("tester"));
    let [message] = app::outbox::list(&call, None).expect("lists").items.try_into().expect("one message");
    app::outbox::remove(&call, message.message, None).expect("removes");
    assert!(app::outbox::remove(&call, message.message, None).is_err(), "it is removed already");
    let delivered = outbox::deliver(&home, &Shutdown::new()).expect("runs");
    assert_eq!((undeliverable(&home), delivered), (0, Delivered::default()));
    assert!(notices(&home).is_empty());
    assert_eq!(turn(&home).delivered, 1, "the upload waits for its notice");
    assert_eq!(notices(&home).len(), 1);
}
