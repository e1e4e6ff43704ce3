//! What goes of an activity after its time, and what stays of it.

use std::time::Duration;

use strongroom_engine::app::activities::{self, ActivityState};
use strongroom_engine::app::views::ActivityId;
use strongroom_engine::background::{self, ManualRun};
use strongroom_engine::runtime::Shutdown;
use strongroom_queue::tasks;
use strongroom_records::{RecordState, lists};
use strongroom_registry::provenance::{self, By};
use strongroom_registry::{RegistryError, Scope, activities as rows, documents};

use super::{begin, begin_behind, call, check_counts, ids, records, show, task, work};
use crate::fixture::{Engine, TestHome, home_on, on_both_databases};

on_both_databases! {
    records_go_after_their_time_and_counts_and_provenance_stay
    what_needs_records_that_are_gone_is_refused_and_says_what_to_do
    an_activity_takes_from_provenance_what_one_has_made_whose_records_are_gone
    records_that_another_activity_still_takes_are_kept
    records_of_one_that_follows_are_kept_as_long_as_what_it_follows_may_be_tried_again
    the_list_of_a_run_that_was_not_taken_over_goes_with_the_records
    documents_go_after_their_time
    a_document_that_is_harvested_again_is_kept_for_its_time_from_then_on
}

const DAY: Duration = Duration::from_hours(24);

/// A home where records of activities are kept for a day and documents for two, and a harvest of two files that can be read and one that
/// cannot.
fn world(engine: Engine) -> Option<(TestHome, ActivityId)> {
    let home = home_on(engine, "[retention]\nrecord_lists = \"1d\"\ndocuments = \"2d\"\n")?;
    let folder = home.path().join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [("a", "<record>a</record>"), ("b", "<record>b</record>"), ("c", "<record>")] {
        std::fs::write(folder.join(format!("{name}.xml")), text).expect("a file");
    }
    let id = begin(&home, "harvest", &[("kind", "folder"), ("path", folder.to_str().expect("UTF-8"))]);
    work(&home);
    Some((home, id))
}

fn sweep(home: &TestHome) {
    for name in ["retention", "activities"] {
        let done = background::run_now(home, task(name), &Shutdown::new()).expect("runs");
        assert!(matches!(done, ManualRun::Done { .. }), "{name}");
    }
}

fn sweep_after_a_day(home: &TestHome) {
    home.clock.advance(DAY + Duration::from_hours(1));
    sweep(home);
}

fn records_go_after_their_time_and_counts_and_provenance_stay(engine: Engine) {
    let Some((home, id)) = world(engine) else { return };
    sweep(&home);
    let before = show(&home, id);
    assert_eq!((before.populated, before.failed, before.records_removed), (Some(3), Some(1), false));
    let results = |home: &TestHome| {
        let activity = home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity");
        home.registry.read(|tx| provenance::results(tx, By::from(&activity), true, None, 10)).expect("reads")
    };
    let made = results(&home);
    assert_eq!(made.len(), 2);
    sweep_after_a_day(&home);
    let after = show(&home, id);
    check_counts(&after);
    assert!(after.records_removed);
    assert_eq!((after.state, after.run, after.ended_at), (before.state, before.run, before.ended_at));
    assert_eq!(
        (after.populated, after.processed, after.failed, after.deleted),
        (before.populated, before.processed, before.failed, before.deleted)
    );
    assert_eq!(results(&home), made);
    let of_activity = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &id.to_string())?));
    assert_eq!(of_activity.expect("reads").len(), 0);
    // Nothing more is to be done about it.
    sweep_after_a_day(&home);
    assert_eq!(show(&home, id).populated, Some(3));
}

fn what_needs_records_that_are_gone_is_refused_and_says_what_to_do(engine: Engine) {
    let Some((home, id)) = world(engine) else { return };
    sweep_after_a_day(&home);
    let context = call(&home);
    for refused in [
        activities::records(&context, id, None, None).map(drop),
        activities::retry_failed(&context, id).map(drop),
        activities::rerun(&context, id, false).map(drop),
        activities::restart(&context, id).map(drop),
    ] {
        let error = refused.expect_err("is refused");
        assert!(matches!(error.to_string().as_str(), text if text.contains(&id.to_string())), "{error}");
    }
    let error = activities::records(&context, id, None, None).expect_err("is refused");
    assert!(error.to_string().contains("removed after their time"), "{error}");
    assert!(format!("{error:?}").contains("--anew"), "{error:?}");
    assert_eq!(show(&home, id).state, ActivityState::FinishedWithErrors);
    // Found anew, it is another run, whose counts are its own.
    std::fs::write(home.path().join("records/c.xml"), "<record>c</record>").expect("a file");
    activities::rerun(&context, id, true).expect("runs again");
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.run, view.processed), (ActivityState::Finished, 2, Some(3)), "{view:?}");
    assert!(!view.records_removed);
    assert_eq!(ids(&home, id, RecordState::Processed), ["a.xml", "b.xml", "c.xml"]);
}

fn an_activity_takes_from_provenance_what_one_has_made_whose_records_are_gone(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let mut made: Vec<String> =
        records(&home, harvest, RecordState::Processed).into_iter().filter_map(|record| record.result).collect();
    made.sort();
    sweep_after_a_day(&home);
    for follow in [false, true] {
        let id = begin_behind(&home, "copy", harvest, follow);
        work(&home);
        let view = show(&home, id);
        check_counts(&view);
        assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(2)), "{view:?}");
        assert_eq!(ids(&home, id, RecordState::Processed), made);
    }
}

fn records_that_another_activity_still_takes_are_kept(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let id = begin_behind(&home, "copy", harvest, false);
    activities::pause(&call(&home), id).expect("pauses");
    sweep_after_a_day(&home);
    assert!(!show(&home, harvest).records_removed);
    activities::resume(&call(&home), id).expect("resumes");
    work(&home);
    assert_eq!(show(&home, id).processed, Some(2));
    sweep_after_a_day(&home);
    assert!(show(&home, harvest).records_removed);
    assert!(show(&home, id).records_removed);
}

fn records_of_one_that_follows_are_kept_as_long_as_what_it_follows_may_be_tried_again(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let first = begin_behind(&home, "copy", harvest, true);
    let second = begin_behind(&home, "copy", first, true);
    work(&home);
    let paused = begin_behind(&home, "copy", harvest, true);
    activities::pause(&call(&home), paused).expect("pauses");
    sweep_after_a_day(&home);
    for id in [harvest, first, second] {
        assert!(!show(&home, id).records_removed, "a record of the harvest has failed, and may be tried again");
    }
    activities::cancel(&call(&home), paused).expect("cancels");
    sweep_after_a_day(&home);
    for id in [harvest, first, second] {
        assert!(show(&home, id).records_removed);
    }
}

fn the_list_of_a_run_that_was_not_taken_over_goes_with_the_records(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let id = begin_behind(&home, "copy", harvest, false);
    work(&home);
    let list = || home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity").list;
    let first = list();
    activities::rerun(&call(&home), id, false).expect("runs again");
    activities::cancel(&call(&home), id).expect("cancels");
    sweep_after_a_day(&home);
    assert!(show(&home, id).records_removed);
    for list in [first, list()] {
        assert!(home.registry.read(|tx| Ok::<_, RegistryError>(lists::status(tx, list).is_err())).expect("reads"));
    }
    let left = home.registry.read(|tx| Ok::<_, RegistryError>(lists::being_removed(tx, 10)?)).expect("reads");
    assert!(left.is_empty(), "{left:?}");
}

fn documents_go_after_their_time(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let document = records(&home, harvest, RecordState::Processed)[0].result.clone().expect("a document");
    let document = documents::of_entity(&document).expect("a document");
    let is_kept = || home.registry.read(|tx| documents::get(tx, document)).expect("reads").is_some();
    sweep_after_a_day(&home);
    assert!(is_kept());
    sweep_after_a_day(&home);
    assert!(!is_kept());
    // What is to be made of one that is gone fails, and says why.
    let deposit = begin_behind(&home, "deposit", harvest, false);
    work(&home);
    let failed = records(&home, deposit, RecordState::Failed);
    assert_eq!((show(&home, deposit).state, failed.len()), (ActivityState::FinishedWithErrors, 2));
    assert!(failed.iter().all(|record| {
        record.error.as_deref().is_some_and(|error| error.contains("run the activity again that made it"))
    }));
}

fn a_document_that_is_harvested_again_is_kept_for_its_time_from_then_on(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let document = records(&home, harvest, RecordState::Processed)[0].result.clone().expect("a document");
    let document = documents::of_entity(&document).expect("a document");
    let is_kept = || home.registry.read(|tx| documents::get(tx, document)).expect("reads").is_some();
    sweep_after_a_day(&home);
    activities::rerun(&call(&home), harvest, true).expect("runs again");
    work(&home);
    sweep_after_a_day(&home);
    assert!(is_kept());
    sweep_after_a_day(&home);
    assert!(!is_kept());
}
