//! Spaces of plain stores are copied by policies: the decision table through the real processor over every pair of kinds of stores, events,
//! chains and cycles, sweeps with exact totals, and what must never happen by them.

use std::time::Duration;

use strongroom_digest::{Algorithm, hash_reader};
use strongroom_engine::app;
use strongroom_engine::app::duplication::{self, ReportedEvent};
use strongroom_engine::app::views::TroubledItemView;
use strongroom_engine::background::{TASKS, run_now};
use strongroom_engine::duplication::HIGH;
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{EngineError, build_runtime};
use strongroom_registry::duplicated_items;
use strongroom_registry::duplication_routes as routes;
use strongroom_registry::{CopyOutcome, Scope, tenants};
use strongroom_spaces::{ItemPut, SpaceName};

use crate::deletions::{ANN, as_user};
use crate::duplication_world::{Kind, SPACE, World, key, rot, space, world};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

on_both_databases! {
    every_combination_of_both_stores_ends_as_the_table_says_in_folders
    every_combination_of_both_stores_ends_as_the_table_says_from_a_folder_to_s3
    every_combination_of_both_stores_ends_as_the_table_says_from_s3_to_a_folder
    every_combination_of_both_stores_ends_as_the_table_says_in_s3
    events_follow_chains_and_cycles_end
    an_event_is_recorded_once_and_in_the_order_of_its_time
    empty_spaces_are_made_and_removed
    what_vanishes_from_both_stores_is_lost
    damage_under_the_same_etag_is_not_copied
    more_deletions_than_one_in_a_hundred_wait_for_a_person
    a_policy_that_changes_while_a_sweep_runs_applies
    a_store_that_is_away_stops_its_parts_alone
    sweeps_queue_no_more_than_they_may
    what_filters_leave_out_is_not_compared
    what_is_put_again_after_a_deletion_is_not_deleted_by_it_in_a_cycle
    in_a_cycle_the_newer_version_is_copied_and_never_the_older_one
    in_a_cycle_nothing_is_overwritten_that_was_changed_on_both_sides
    changed_bytes_of_the_same_size_and_time_are_read
    a_deletion_of_one_source_keeps_what_another_one_has_brought
    a_sweep_that_is_refused_leaves_what_waits_for_a_person
    a_clock_that_was_ahead_begins_one_sweep
    what_is_lost_is_listed_with_what_was_compared_and_what_to_do
    events_say_of_how_many_nothing_is_known
    events_are_checked_without_a_record
    a_task_that_was_given_up_is_a_problem_until_it_is_done_or_dropped
    hints_about_sweeps_name_the_institution
}

/// One row of the table before anything is done.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Whether both were equal, and a sweep has recorded it.
    was_equal: bool,
    /// What the source has.
    source: Option<(&'static str, &'static str)>,
    /// What the destination has.
    destination: Option<(&'static str, &'static str)>,
    /// What is reported of the source: nothing, a put, a deletion.
    event: Option<bool>,
}

impl Row {
    fn all() -> Vec<(String, Self)> {
        let sources = [None, Some(("the bytes", "ann"))];
        let destinations = [
            None,
            Some(("the bytes", "ann")),
            Some(("the bytes", "bob")),
            Some(("other len", "ann")),
            Some(("of another length", "bob")),
        ];
        let mut rows = Vec::new();
        for was_equal in [false, true] {
            for source in sources {
                for destination in destinations {
                    for event in [None, Some(false), Some(true)] {
                        let name = format!("folder/{:03} é.txt", rows.len());
                        rows.push((name, Self { was_equal, source, destination, event }));
                    }
                }
            }
        }
        rows
    }

    /// What the destination has in the end, and what is recorded: written from the table of the issue, not from the code.
    fn expected(&self, may_delete: bool) -> (Option<(&'static str, &'static str)>, Option<CopyOutcome>) {
        let is_deleted = self.event == Some(true);
        match (self.source, self.destination) {
            (Some(source), _) => (Some(source), Some(CopyOutcome::Equal)),
            (None, None) if is_deleted => (None, Some(CopyOutcome::Deleted)),
            (None, None) if self.was_equal => (None, Some(CopyOutcome::Lost)),
            (None, None) => (None, None),
            (None, Some(_)) if is_deleted && may_delete => (None, Some(CopyOutcome::Deleted)),
            (None, Some(there)) if is_deleted => (Some(there), Some(CopyOutcome::Kept)),
            (None, Some(there)) => (Some(there), Some(CopyOutcome::Lost)),
        }
    }
}

pub(crate) fn run_table(engine: Engine, source: Kind, destination: Kind) {
    for may_delete in [false, true] {
        let settings = "[duplication]\nverify_one_in = 0\n";
        let Some(world) = world(engine, &[("one", source), ("two", destination)], settings) else { return };
        world.policy(&[("one", "two", may_delete)]);
        let rows = Row::all();
        for (key, _) in rows.iter().filter(|(_, row)| row.was_equal) {
            world.put("one", key, "the bytes", "ann");
        }
        world.put("one", "stays", "the bytes", "ann");
        assert_eq!(world.sweep(false).state, "done");
        world.pass_a_second();
        for (key, row) in &rows {
            set_up(&world, "one", key, row.was_equal, row.source);
            set_up(&world, "two", key, row.was_equal, row.destination);
        }
        for (key, row) in &rows {
            if let Some(is_deletion) = row.event {
                assert_eq!(world.report(&format!("one/{SPACE}/{key}"), is_deletion, None), 1);
            }
        }
        // The events alone, and then everything.
        world.drain();
        let ended = world.sweep(false);
        assert_eq!((ended.state.as_str(), world.dead()), ("done", 0), "{ended:?}");
        for (key, row) in &rows {
            let (there, outcome) = row.expected(may_delete);
            let found = world.found("two", key);
            let there = there.map(|(bytes, creator)| (bytes.to_owned(), creator.to_owned()));
            assert_eq!(found, there, "{key} {row:?}");
            let recorded = world.outcome(("one", "two"), key);
            assert_eq!(recorded.as_ref().map(|(outcome, _)| *outcome), outcome, "{key} {row:?} {recorded:?}");
            // The source is never written.
            let source = row.source.map(|(bytes, creator)| (bytes.to_owned(), creator.to_owned()));
            assert_eq!(world.found("one", key), source, "{key} {row:?}");
        }
        let again = world.sweep(false);
        assert_eq!((again.queued, again.deletions), (0, 0), "nothing is left to do: {again:?}");
        let lost = rows.iter().filter(|(_, row)| row.expected(may_delete).1 == Some(CopyOutcome::Lost)).count();
        assert_eq!(again.failed, lost as u64);
    }
}

fn set_up(world: &World, store: &str, key: &str, is_there: bool, wanted: Option<(&str, &str)>) {
    // What was equal is there with the right bytes, in both stores.
    match wanted {
        Some(("the bytes", "ann")) if is_there => {}
        Some((bytes, creator)) => world.put(store, key, bytes, creator),
        None if is_there => world.remove(store, key),
        None => {}
    }
}

fn every_combination_of_both_stores_ends_as_the_table_says_in_folders(engine: Engine) {
    run_table(engine, Kind::Folder, Kind::Folder);
}

fn every_combination_of_both_stores_ends_as_the_table_says_from_a_folder_to_s3(engine: Engine) {
    run_table(engine, Kind::Folder, Kind::S3);
}

fn every_combination_of_both_stores_ends_as_the_table_says_from_s3_to_a_folder(engine: Engine) {
    run_table(engine, Kind::S3, Kind::Folder);
}

fn every_combination_of_both_stores_ends_as_the_table_says_in_s3(engine: Engine) {
    run_table(engine, Kind::S3, Kind::S3);
}

const THREE: [(&str, Kind); 3] = [("one", Kind::Folder), ("two", Kind::S3), ("three", Kind::Folder)];

fn events_follow_chains_and_cycles_end(engine: Engine) {
    let Some(world) = world(engine, &THREE, "") else { return };
    world.policy(&[("one", "two", true), ("two", "three", true), ("three", "one", true)]);
    world.put("one", "a.txt", "first", "ann");
    world.report("one/maps/a.txt", false, None);
    world.drain();
    for store in ["one", "two", "three"] {
        assert_eq!(world.found(store, "a.txt"), Some(("first".to_owned(), "ann".to_owned())), "{store}");
    }
    // A change anywhere in the cycle comes to all.
    world.put("three", "a.txt", "the second", "bob");
    world.report("three/maps/a.txt", false, None);
    world.drain();
    for store in ["one", "two", "three"] {
        assert_eq!(world.found(store, "a.txt"), Some(("the second".to_owned(), "bob".to_owned())), "{store}");
    }
    world.remove("two", "a.txt");
    world.report("two/maps/a.txt", true, None);
    world.drain();
    for store in ["one", "two", "three"] {
        assert_eq!(world.found(store, "a.txt"), None, "{store}");
    }
    assert_eq!(world.sweep(false).queued, 0);
    assert_eq!(world.dead(), 0);
}

fn an_event_is_recorded_once_and_in_the_order_of_its_time(engine: Engine) {
    let Some(world) = world(engine, &THREE[..2], "") else { return };
    world.policy(&[("one", "two", true)]);
    world.put("one", "a.txt", "first", "ann");
    let item = "one/maps/a.txt";
    assert_eq!(world.report(item, false, Some("2026-01-02T00:00:00Z")), 1);
    assert_eq!(world.report(item, false, Some("2026-01-02T00:00:00Z")), 0, "it is known");
    assert_eq!(world.report(item, true, Some("2026-01-01T00:00:00Z")), 0, "it is older");
    assert_eq!(world.report(item, true, Some("2026-01-02T00:00:00Z")), 0, "a put of the same time counts");
    world.drain();
    // The deletion of before does not delete the copy of what was put after it.
    world.remove("one", "a.txt");
    world.sweep(false);
    assert_eq!(world.outcome(("one", "two"), "a.txt").expect("recorded").0, CopyOutcome::Lost);
    assert_eq!(world.report(item, true, None), 1);
    world.drain();
    assert_eq!(world.found("two", "a.txt"), None);
    // It comes again, is seen, and vanishes without an event: the deletion of before was not about it.
    world.put("one", "a.txt", "again", "ann");
    world.sweep(false);
    assert!(world.found("two", "a.txt").is_some());
    world.remove("one", "a.txt");
    world.sweep(false);
    assert!(world.found("two", "a.txt").is_some());
    assert_eq!(world.outcome(("one", "two"), "a.txt").expect("recorded").0, CopyOutcome::Lost);
    // What lies far ahead would hide what follows.
    let ahead = ReportedEvent {
        item: item.to_owned(),
        is_deletion: true,
        happened_at: Some("2999-01-01T00:00:00Z".to_owned()),
        reason: String::new(),
    };
    let refused = duplication::record_events(&world.call(), &[ahead]).expect_err("is refused");
    assert!(refused.to_string().contains("more than a day ahead"), "{refused}");
}

fn empty_spaces_are_made_and_removed(engine: Engine) {
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], "") else { return };
    world.policy(&[("one", "two", true)]);
    let empty = SpaceName::new("empty").expect("a name");
    world.store("one").create_space(&empty).expect("is made");
    world.put("one", "a.txt", "first", "ann");
    world.sweep(false);
    assert!(world.store("two").has_space(&empty).expect("is seen"));
    world.store("one").delete_space_if_empty(&empty).expect("is removed");
    world.sweep(false);
    assert!(!world.store("two").has_space(&empty).expect("is seen"));
    // A space in which something lies stays until that is deleted, and then goes.
    world.remove("one", "a.txt");
    world.store("one").delete_space_if_empty(&space()).expect("is removed");
    assert_eq!(world.sweep(false).state, "done");
    assert!(world.found("two", "a.txt").is_some());
    world.report("one/maps/a.txt", true, None);
    world.drain();
    world.sweep(false);
    assert!(!world.store("two").has_space(&space()).expect("is seen"));
    assert_eq!(world.dead(), 0);
}

fn what_vanishes_from_both_stores_is_lost(engine: Engine) {
    let Some(world) = world(engine, &THREE[..2], "") else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "first", "ann");
    world.put("one", "b.txt", "first", "ann");
    world.sweep(false);
    for store in ["one", "two"] {
        world.remove(store, "a.txt");
    }
    let ended = world.sweep(false);
    assert_eq!((ended.queued, ended.equal), (1, 1), "{ended:?}");
    let (outcome, detail) = world.outcome(("one", "two"), "a.txt").expect("recorded");
    assert_eq!(outcome, CopyOutcome::Lost);
    assert!(detail.contains("neither has it now"), "{detail}");
    let problems = duplication::problems(&world.call(), None, None).expect("lists").items;
    assert_eq!(problems.len(), 1);
    assert!(!problems[0].in_destination);
    // It is found again.
    world.put("one", "a.txt", "first", "ann");
    world.sweep(false);
    assert!(duplication::problems(&world.call(), None, None).expect("lists").items.is_empty());
}

fn damage_under_the_same_etag_is_not_copied(engine: Engine) {
    let settings = "[duplication]\nverify_one_in = 1\n";
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], settings) else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "right", "ann");
    world.put("one", "b.txt", "right", "ann");
    world.sweep(false);
    rot(&world, "one", "a.txt", "wrong");
    let ended = world.sweep(false);
    assert_eq!(ended.queued, 2, "each is read whole");
    let (outcome, detail) = world.outcome(("one", "two"), "a.txt").expect("recorded");
    assert_eq!(outcome, CopyOutcome::Damaged);
    assert!(detail.contains("one has other bytes than it had"), "{detail}");
    assert_eq!(world.found("two", "a.txt").expect("stays").0, "right");
    // An event of what is damaged does not copy it, and neither does a copy that is lost.
    world.report("one/maps/a.txt", false, None);
    world.drain();
    assert_eq!(world.found("two", "a.txt").expect("stays").0, "right");
    assert_eq!(world.sweep(false).failed, 1);
    // Bytes that were put are a new content item.
    world.put("one", "a.txt", "right", "ann");
    world.sweep(false);
    assert_eq!(world.outcome(("one", "two"), "a.txt").expect("recorded").0, CopyOutcome::Equal);
    rot(&world, "one", "b.txt", "wrong");
    world.remove("two", "b.txt");
    world.sweep(false);
    assert_eq!(world.outcome(("one", "two"), "b.txt").expect("recorded").0, CopyOutcome::Damaged);
    assert_eq!(world.found("two", "b.txt"), None);
}

fn more_deletions_than_one_in_a_hundred_wait_for_a_person(engine: Engine) {
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], "") else { return };
    // Deletions are recorded while the rule does not delete.
    world.policy(&[("one", "two", false)]);
    for number in 0..50 {
        world.put("one", &format!("{number}.txt"), "bytes", "ann");
    }
    world.sweep(false);
    for number in 0..2 {
        world.remove("one", &format!("{number}.txt"));
        world.report(&format!("one/maps/{number}.txt"), true, None);
    }
    world.drain();
    assert!(world.found("two", "0.txt").is_some());
    world.policy(&[("one", "two", true)]);
    let waits = world.sweep(false);
    assert_eq!((waits.state.as_str(), waits.held, waits.deletions), ("waiting", 2, 0), "{waits:?}");
    assert!(world.found("two", "0.txt").is_some());
    let held = duplication::held(&world.call(), &waits.run, None).expect("lists").items;
    let held: Vec<(&str, &str)> = held.iter().map(|one| (one.key.as_str(), one.reason.as_str())).collect();
    assert_eq!(held, [("0.txt", "as the depositor says"), ("1.txt", "as the depositor says")]);
    // As tables show it.
    let shown = format!("{}…{}", &waits.run[..13], &waits.run[32..]);
    assert_eq!(duplication::show(&world.call(), &shown).expect("is found").run, waits.run);
    // What is recorded after the person has decided is not allowed by it.
    duplication::allow_deletions(&as_user(&world.home, ANN), &waits.run).expect("is allowed");
    let ended = duplication::wait(&world.call(), &waits.run, &Shutdown::new()).expect("ends").sweep;
    assert_eq!((ended.state.as_str(), ended.held, ended.deletions), ("done", 0, 2), "{ended:?}");
    assert_eq!((world.found("two", "0.txt"), world.found("two", "1.txt")), (None, None));
    let refused = duplication::allow_deletions(&world.call(), &waits.run).expect_err("is refused");
    assert!(refused.to_string().contains("no deletion"), "{refused}");
}

fn a_policy_that_changes_while_a_sweep_runs_applies(engine: Engine) {
    let Some(world) = world(engine, &THREE, "") else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "first", "ann");
    let (begun, _) = duplication::start(&world.call(), Some(INSTITUTION), false).expect("begins");
    world.policy(&[("one", "three", false)]);
    let ended = duplication::wait(&world.call(), &begun.run, &Shutdown::new()).expect("ends").sweep;
    assert_eq!(ended.state, "done");
    assert_eq!(world.found("two", "a.txt"), None);
    // The background task begins another sweep by itself.
    let task = TASKS.iter().find(|task| task.name == "duplication").expect("is there");
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    world.drain();
    assert!(world.found("three", "a.txt").is_some());
    let runs = duplication::list(&world.call(), None, None).expect("lists").items;
    assert_eq!(runs.len(), 2);
    // Its time has not come again until a week is over.
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    assert_eq!(duplication::list(&world.call(), None, None).expect("lists").items.len(), 2);
    world.home.clock.advance(Duration::from_hours(7 * 24));
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    assert_eq!(duplication::list(&world.call(), None, None).expect("lists").items.len(), 3);
}

fn a_store_that_is_away_stops_its_parts_alone(engine: Engine) {
    let Some(world) = world(engine, &THREE, "") else { return };
    world.policy(&[("one", "two", false), ("one", "three", false)]);
    world.put("one", "a.txt", "first", "ann");
    let away = world.home.path().join("plain/three/.here");
    std::fs::remove_file(&away).expect("is unmounted");
    let (begun, _) = duplication::start(&world.call(), Some(INSTITUTION), false).expect("begins");
    let task = TASKS.iter().find(|task| task.name == "duplication").expect("is there");
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    world.drain();
    assert!(world.found("two", "a.txt").is_some());
    let parts = duplication::parts(&world.call(), &begun.run, None).expect("lists").items;
    let failing: Vec<_> = parts.iter().filter(|part| part.error.is_some()).collect();
    assert_eq!(failing.len(), 1, "{parts:?}");
    assert_eq!(failing[0].destination, "three");
    std::fs::write(&away, "").expect("is mounted");
    world.home.clock.advance(Duration::from_mins(20));
    let ended = duplication::wait(&world.call(), &begun.run, &Shutdown::new()).expect("ends").sweep;
    assert_eq!(ended.state, "done");
    assert!(world.found("three", "a.txt").is_some());
}

fn sweeps_queue_no_more_than_they_may(engine: Engine) {
    let settings = "[duplication]\nmost_queued = 5\n";
    let Some(world) = world(engine, &THREE[..2], settings) else { return };
    world.policy(&[("one", "two", false)]);
    for number in 0..40 {
        world.put("one", &format!("{number:02}.txt"), &format!("bytes of {number}"), "ann");
    }
    let ended = world.sweep(false);
    assert_eq!((ended.state.as_str(), ended.queued, ended.listed), ("done", 40, 40), "{ended:?}");
    for number in 0..40 {
        assert!(world.found("two", &format!("{number:02}.txt")).is_some());
    }
    let again = world.sweep(true);
    assert_eq!((again.queued, again.equal), (40, 0), "all are queued: {again:?}");
    let digests = hash_reader("bytes of 7".as_bytes(), &[Algorithm::Sha512]).expect("hashes").1;
    let recorded = world.home.registry.read(|tx| {
        let of = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("is there");
        let route = routes::find(tx, of.id, ("one", "two", SPACE))?.expect("is there");
        duplicated_items::get(tx, route.id, "07.txt")
    });
    let recorded = recorded.expect("reads").expect("is recorded");
    let sha512 = digests.get(Algorithm::Sha512).expect("a digest");
    assert_eq!(recorded.sha512.as_deref(), Some(sha512.as_bytes()));
}

fn what_filters_leave_out_is_not_compared(engine: Engine) {
    let settings = format!("[duplication]\ninclude = [\"/{INSTITUTION}/one/*\"]\nexclude = [\"/*/one/map*\"]\n");
    let Some(world) = world(engine, &THREE[..2], &settings) else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "first", "ann");
    let other = SpaceName::new("letters").expect("a name");
    world.store("one").create_space(&other).expect("is made");
    let how = ItemPut::default();
    world.store("one").put(&other, &key("b.txt"), &mut "second".as_bytes(), &how).expect("is put");
    let ended = world.sweep(false);
    assert_eq!((ended.state.as_str(), ended.listed), ("done", 1), "{ended:?}");
    assert_eq!(world.found("two", "a.txt"), None);
    assert!(world.store("two").head(&other, &key("b.txt")).is_ok());
    // Events are not about sweeps.
    world.report("one/maps/a.txt", false, None);
    world.drain();
    assert!(world.found("two", "a.txt").is_some());
    let matched =
        strongroom_engine::app::settings::check(&crate::levels::installation(&world.home)).expect("checks").checks;
    let of = |name: &str| matched.iter().find(|line| line.check == name).and_then(|line| line.message.clone());
    let excluded = of("pattern /*/one/map*").expect("is shown");
    assert!(excluded.contains("it matches 1, such as /test.edu/one/maps"), "{excluded}");
}

fn what_is_put_again_after_a_deletion_is_not_deleted_by_it_in_a_cycle(engine: Engine) {
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], "") else { return };
    world.policy(&[("one", "two", true), ("two", "one", true)]);
    world.put("one", "a.txt", "first", "ann");
    world.put("one", "b.txt", "first", "ann");
    world.sweep(false);
    world.remove("one", "a.txt");
    world.report("one/maps/a.txt", true, None);
    // It is put again when the copy has gone, and before the deletion of the copy comes back.
    let store = world.store("two");
    let runtime = build_runtime(&world.home, Some(&[HIGH.to_owned()])).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| store.head(&space(), &key("a.txt")).is_err());
    world.put("one", "a.txt", "put again", "ann");
    world.drain();
    assert_eq!(world.found("one", "a.txt").expect("stays").0, "put again");
    world.sweep(false);
    assert_eq!(world.found("two", "a.txt").expect("is copied").0, "put again");
    // What a feed of the second store reports of the deletion of before is older than the copy.
    world.report("two/maps/a.txt", true, Some("2026-01-01T00:00:00Z"));
    world.drain();
    world.sweep(false);
    assert_eq!(world.found("one", "a.txt").expect("stays").0, "put again");
    assert_eq!(world.found("two", "a.txt").expect("stays").0, "put again");
}

fn in_a_cycle_the_newer_version_is_copied_and_never_the_older_one(engine: Engine) {
    for rules in [
        &[("one", "two", false), ("two", "one", false)][..],
        &[("one", "two", false), ("two", "three", false), ("three", "one", false)][..],
    ] {
        let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder), ("three", Kind::Folder)], "")
        else {
            return;
        };
        world.policy(rules);
        let stores: Vec<&str> = rules.iter().map(|(from, ..)| *from).collect();
        world.put("one", "a.txt", "the first", "ann");
        // A cycle of three copies on with each event.
        world.sweep(false);
        world.drain();
        for changed in &stores {
            let text = format!("changed in {changed}");
            world.put(changed, "a.txt", &text, "ann");
            world.sweep(false);
            world.drain();
            for store in &stores {
                assert_eq!(world.found(store, "a.txt").expect("is there").0, text, "{store}");
            }
        }
        // A second change while the first one is copied.
        world.put("two", "a.txt", "the second", "ann");
        world.report("two/maps/a.txt", false, None);
        let first = world.store("one");
        let runtime = build_runtime(&world.home, Some(&[HIGH.to_owned()])).expect("a runtime").build();
        let before = first.head(&space(), &key("a.txt")).expect("is there").etag;
        let is_copied = || first.head(&space(), &key("a.txt")).is_ok_and(|head| head.etag != before);
        runtime.run_until(&Shutdown::new(), &is_copied);
        world.put("two", "a.txt", "and the third", "ann");
        world.report("two/maps/a.txt", false, None);
        world.drain();
        world.sweep(false);
        world.drain();
        for store in &stores {
            assert_eq!(world.found(store, "a.txt").expect("is there").0, "and the third", "{store}");
        }
        assert!(duplication::problems(&world.call(), None, None).expect("lists").items.is_empty());
    }
}

fn in_a_cycle_nothing_is_overwritten_that_was_changed_on_both_sides(engine: Engine) {
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], "") else { return };
    world.policy(&[("one", "two", false), ("two", "one", false)]);
    world.put("one", "a.txt", "first", "ann");
    world.sweep(false);
    world.put("one", "a.txt", "changed here", "ann");
    world.put("two", "a.txt", "changed there", "ann");
    world.sweep(false);
    assert_eq!(world.found("one", "a.txt").expect("stays").0, "changed here");
    assert_eq!(world.found("two", "a.txt").expect("stays").0, "changed there");
    let problems = duplication::problems(&world.call(), None, None).expect("lists").items;
    assert_eq!(problems.iter().map(|item| item.outcome.as_str()).collect::<Vec<_>>(), ["conflict", "conflict"]);
    assert_eq!(world.sweep(false).failed, 2);
    // One of both is removed, and is copied from the other.
    world.remove("one", "a.txt");
    world.sweep(false);
    world.sweep(false);
    assert_eq!(world.found("one", "a.txt").expect("is copied").0, "changed there");
    assert!(duplication::problems(&world.call(), None, None).expect("lists").items.is_empty());
}

fn changed_bytes_of_the_same_size_and_time_are_read(engine: Engine) {
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], "") else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "AAAA", "ann");
    world.put("one", "b.txt", "AAAA", "ann");
    world.sweep(false);
    rot(&world, "one", "a.txt", "BBBB");
    rot(&world, "two", "b.txt", "BBBB");
    world.sweep(false);
    assert_eq!(world.outcome(("one", "two"), "a.txt").expect("recorded").0, CopyOutcome::Damaged);
    assert_eq!(world.found("two", "a.txt").expect("stays").0, "AAAA");
    // A copy whose source has what was copied is put again.
    assert_eq!(world.outcome(("one", "two"), "b.txt").expect("recorded").0, CopyOutcome::Equal);
    assert_eq!(world.found("two", "b.txt").expect("is repaired").0, "AAAA");
}

fn a_deletion_of_one_source_keeps_what_another_one_has_brought(engine: Engine) {
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder), ("three", Kind::Folder)], "")
    else {
        return;
    };
    world.policy(&[("one", "three", true), ("two", "three", false)]);
    world.put("two", "a.txt", "of two", "ann");
    world.sweep(false);
    world.report("one/maps/a.txt", true, None);
    world.drain();
    assert_eq!(world.found("three", "a.txt").expect("stays").0, "of two");
}

fn a_sweep_that_is_refused_leaves_what_waits_for_a_person(engine: Engine) {
    let Some(world) = world(engine, &THREE, "") else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "first", "ann");
    world.sweep(false);
    world.remove("one", "a.txt");
    world.report("one/maps/a.txt", true, None);
    world.drain();
    world.policy(&[("one", "two", true), ("one", "three", false)]);
    // A part stays open, as its store is away.
    std::fs::remove_file(world.home.path().join("plain/three/.here")).expect("is unmounted");
    let (begun, _) = duplication::start(&world.call(), Some(INSTITUTION), false).expect("begins");
    let task = TASKS.iter().find(|task| task.name == "duplication").expect("is there");
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    assert_eq!(duplication::show(&world.call(), &begun.run).expect("shows").held, 1);
    let (again, is_new) = duplication::start(&world.call(), Some(INSTITUTION), false).expect("goes on");
    assert_eq!((again.run, is_new), (begun.run.clone(), false));
    let refused = duplication::start(&world.call(), Some(INSTITUTION), true).expect_err("is refused");
    assert!(refused.to_string().contains("is at work"), "{refused}");
    assert_eq!(duplication::show(&world.call(), &begun.run).expect("shows").held, 1);
    duplication::allow_deletions(&world.call(), &begun.run).expect("is allowed");
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    world.drain();
    assert_eq!(world.found("two", "a.txt"), None);
}

fn a_clock_that_was_ahead_begins_one_sweep(engine: Engine) {
    let Some(world) = world(engine, &THREE[..2], "") else { return };
    world.policy(&[("one", "two", false)]);
    let task = TASKS.iter().find(|task| task.name == "duplication").expect("is there");
    let runs = || duplication::list(&world.call(), None, None).expect("lists").items.len();
    world.home.clock.advance(Duration::from_hours(30 * 24));
    run_now(&world.home, task, &Shutdown::new()).expect("runs");
    assert_eq!(runs(), 1);
    world.home.clock.set_back(Duration::from_hours(30 * 24));
    for _ in 0..3 {
        run_now(&world.home, task, &Shutdown::new()).expect("runs");
    }
    // PostgreSQL has the clock of its server.
    assert!(runs() <= 2, "{}", runs());
}

fn problems(world: &World) -> Vec<TroubledItemView> {
    let mut found = Vec::new();
    app::each(
        |after| duplication::problems(&world.call(), None, after),
        |item| {
            found.push(item);
            Ok::<_, EngineError>(())
        },
    )
    .expect("lists");
    found
}

fn what_is_lost_is_listed_with_what_was_compared_and_what_to_do(engine: Engine) {
    let Some(world) = world(engine, &THREE[..2], "") else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "it's 1.txt", "first", "ann");
    world.sweep(false);
    world.remove("one", "it's 1.txt");
    world.sweep(false);
    let found = problems(&world);
    let [lost] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((lost.outcome.as_str(), lost.size), ("lost", Some(5)));
    assert_eq!(lost.rule, "by default, in version 1");
    assert!(lost.source_etag.is_some() && lost.destination_etag.is_some() && lost.in_destination, "{lost:?}");
    assert_eq!(lost.sha512.as_ref().map(String::len), Some(128));
    assert!(lost.verified_at.as_ref().is_some_and(|at| *at < lost.since), "{lost:?}");
    assert!(lost.next.contains("duplicate event delete 'one/maps/it'\\''s 1.txt'"), "{}", lost.next);
    assert!(lost.next.contains(&format!("duplicate run --institution {INSTITUTION}")), "{}", lost.next);
    // The rule is that of the newest policy.
    world.policy(&[("two", "one", false)]);
    assert_eq!(problems(&world)[0].rule, "no rule any more: by default, in version 2");
}

fn events_say_of_how_many_nothing_is_known(engine: Engine) {
    let Some(world) = world(engine, &THREE, "") else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "first", "ann");
    world.sweep(false);
    let event = |item: &str, is_deletion| ReportedEvent {
        item: item.to_owned(),
        is_deletion,
        happened_at: None,
        reason: String::new(),
    };
    let events = [
        event("one/maps/a.txt", true),
        event("one/maps/A.txt", true),
        event("one/maps/b.txt", false),
        event("three/maps/a.txt", true),
        event("three/maps/b.txt", false),
    ];
    let recorded = duplication::record_events(&world.call(), &events).expect("are recorded");
    assert_eq!((recorded.recorded, recorded.without_rule, recorded.unknown), (5, 2, 1), "{recorded:?}");
    // Now there is an event of it.
    let again = duplication::record_events(&world.call(), &events[1..2]).expect("is recorded");
    assert_eq!((again.without_rule, again.unknown), (0, 0), "{again:?}");
}

fn events_are_checked_without_a_record(engine: Engine) {
    let Some(world) = world(engine, &THREE[..2], "") else { return };
    let event = |item: &str, at: Option<&str>| ReportedEvent {
        item: item.to_owned(),
        is_deletion: false,
        happened_at: at.map(str::to_owned),
        reason: String::new(),
    };
    let events = [
        event("one/maps/a.txt", None),
        event("nowhere/maps/a.txt", None),
        event("one", None),
        event("one/maps/../a.txt", None),
        event("one/maps/a.txt", Some("noon")),
        event("one/maps/a.txt", Some("2999-01-01T00:00:00Z")),
    ];
    let checked = duplication::check_events(&world.call(), &events).expect("are checked");
    assert_eq!(checked.iter().filter(|problem| problem.is_none()).count(), 1, "{checked:?}");
    assert!(checked[0].is_none() && checked.iter().flatten().all(|problem| !problem.next.is_empty()), "{checked:?}");
    assert_eq!(duplication::record_events(&world.call(), &events[..1]).expect("is recorded").recorded, 1);
}

fn a_task_that_was_given_up_is_a_problem_until_it_is_done_or_dropped(engine: Engine) {
    let settings = "[workers.\"duplicate.high\"]\nmax_attempts = 1\n";
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], settings) else { return };
    world.policy(&[("one", "two", false)]);
    let opened = || {
        app::problems::compare(&world.call()).expect("compares");
        let filter = app::problems::Filter { kind: Some("duplication.failed".to_owned()), ..Default::default() };
        app::problems::list(&world.call(), &filter, None).expect("lists").items
    };
    // A folder is in the way of the copy.
    let in_the_way = |key: &str| world.home.path().join("plain/two/maps").join(key).join("x");
    let fail = |key: &str| {
        std::fs::create_dir_all(in_the_way(key)).expect("makes a folder");
        world.put("one", key, "first", "ann");
        world.report(&format!("one/maps/{key}"), false, None);
        world.drain();
        assert_eq!(world.dead(), 1);
        let found = problems(&world);
        let [failed] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((failed.outcome.as_str(), failed.key.as_str()), ("failed", key), "{failed:?}");
        assert!(failed.next.contains("strongroom queue retry duplicate.high"), "{failed:?}");
        let opened = opened();
        assert_eq!(opened.len(), 1);
        assert!(
            opened[0].next.as_ref().is_some_and(|next| next.contains("strongroom queue retry duplicate.high")),
            "{opened:?}"
        );
        let status = app::status::show(&crate::levels::installation(&world.home)).expect("shows");
        assert!(status.review.dead_tasks == 1 && !status.review.entries.is_empty(), "status --check fails by it");
    };
    let is_over = || {
        assert_eq!((problems(&world).len(), opened().len(), world.dead()), (0, 0, 0));
    };
    fail("a.txt");
    std::fs::remove_dir_all(in_the_way("a.txt").parent().expect("a folder")).expect("is removed");
    app::queues::retry(&world.call(), HIGH, None).expect("is put back");
    world.drain();
    assert_eq!(world.found("two", "a.txt").expect("is copied").0, "first");
    is_over();
    fail("b.txt");
    let task = app::queues::tasks(&world.call(), Some(HIGH), None, None).expect("lists").items[0].task;
    app::queues::delete(&world.call(), task).expect("is dropped");
    is_over();
}

fn hints_about_sweeps_name_the_institution(engine: Engine) {
    let Some(world) = world(engine, &THREE[..2], "") else { return };
    let next = |error: EngineError| match error {
        EngineError::Advised(advised) => advised.next,
        error => panic!("{error}"),
    };
    let of = |run: &str| next(duplication::show(&world.call(), run).expect_err("there is none"));
    assert!(of("none").contains("no institution has a duplication policy"));
    world.policy(&[("one", "two", false)]);
    assert!(of("none").contains(&format!("run list --institution {INSTITUTION}\"")), "{}", of("none"));
}
