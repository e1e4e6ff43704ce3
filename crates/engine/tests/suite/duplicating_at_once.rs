//! Two ordinary things at once in duplication, of which neither alone loses a copy.

use std::fs;

use strongroom_engine::app::duplication_policies::{self as policies, NewVersion};
use strongroom_engine::app::{duplication, institutions, queues};
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::CopyOutcome;

use crate::duplication_world::{Kind, SPACE, World, rot, world};
use crate::fixture::{Engine, on_both_databases};

on_both_databases! {
    deletions_of_one_day_are_counted_together
    what_is_no_content_item_any_more_is_a_difference
    what_a_rule_of_before_has_brought_is_deleted
    what_was_changed_there_is_copied_where_it_was_deleted
    a_deletion_from_before_a_content_item_was_seen_is_none
    damage_is_not_copied_back
    what_is_new_is_not_lost_where_rules_copy_back
    what_is_right_again_is_found_so_when_everything_is_read
    tasks_of_topics_that_are_paused_are_left
    a_deletion_does_not_join_a_task_that_keeps_the_copy
    a_copy_that_another_institution_keeps_is_not_deleted
}

const BOTH: [(&str, Kind); 2] = [("one", Kind::Folder), ("two", Kind::Folder)];
const THREE: [(&str, Kind); 3] = [("one", Kind::Folder), ("two", Kind::Folder), ("three", Kind::Folder)];
/// Nothing that is equal is read.
const NO_SAMPLE: &str = "[duplication]\nverify_one_in = 0\n";
const TWO_WAYS: [(&str, &str, bool); 2] = [("one", "two", true), ("two", "one", true)];

fn text(world: &World, store: &str, key: &str) -> Option<String> {
    world.found(store, key).map(|(text, _)| text)
}

/// Deletions are reported while the rule keeps the copies, and found by a sweep when it does not.
fn deleted_by_a_sweep(world: &World, numbers: std::ops::Range<u32>) -> (u64, u64) {
    world.policy(&[("one", "two", false)]);
    for number in numbers {
        world.remove("one", &format!("{number}.txt"));
        world.report(&format!("one/maps/{number}.txt"), true, None);
    }
    world.drain();
    world.policy(&[("one", "two", true)]);
    let ended = world.sweep(false);
    world.drain();
    (ended.deletions, ended.held)
}

fn deletions_of_one_day_are_counted_together(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&[("one", "two", true)]);
    for number in 0..300 {
        world.put("one", &format!("{number}.txt"), "bytes", "ann");
    }
    world.sweep(false);
    world.drain();
    assert_eq!(deleted_by_a_sweep(&world, 0..2), (2, 0), "two of 300");
    assert_eq!(deleted_by_a_sweep(&world, 2..4), (0, 2), "with the two of before, four of 298");
    assert!(text(&world, "two", "2.txt").is_some() && text(&world, "two", "3.txt").is_some());
}

fn what_is_no_content_item_any_more_is_a_difference(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&[("one", "two", false)]);
    for name in ["copy", "source", "stays"] {
        world.put("one", name, "bytes", "ann");
    }
    world.sweep(false);
    let link = |store: &str, name: &str| {
        let path = world.home.path().join("plain").join(store).join(SPACE).join(name);
        fs::remove_file(&path).expect("removes");
        std::os::unix::fs::symlink("stays", path).expect("links");
    };
    link("two", "copy");
    link("one", "source");
    let ended = world.sweep(false);
    assert_eq!((ended.queued, ended.ignored), (2, 0), "{ended:?}");
    let waited = duplication::wait(&world.call(), &ended.run, &Shutdown::new());
    let waited = waited.expect("waits");
    assert_eq!(waited.later + waited.dead, 2, "no link is followed or overwritten: {waited:?}");
    assert!(text(&world, "two", "source").is_some());
}

fn what_a_rule_of_before_has_brought_is_deleted(engine: Engine) {
    let Some(world) = world(engine, &THREE, NO_SAMPLE) else { return };
    world.policy(&[("one", "three", true)]);
    world.put("one", "a.txt", "bytes", "ann");
    world.sweep(false);
    // The source moves to another disk.
    world.policy(&[("two", "three", true)]);
    world.put("two", "a.txt", "bytes", "ann");
    world.sweep(false);
    world.remove("two", "a.txt");
    world.report("two/maps/a.txt", true, None);
    world.drain();
    assert_eq!(text(&world, "three", "a.txt"), None);
}

fn what_was_changed_there_is_copied_where_it_was_deleted(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&TWO_WAYS);
    for number in 0..3 {
        world.put("one", &format!("{number}.txt"), "bytes", "ann");
    }
    world.sweep(false);
    world.drain();
    world.sweep(false);
    world.remove("one", "1.txt");
    world.put("two", "1.txt", "changed there", "bob");
    world.report("one/maps/1.txt", true, None);
    world.drain();
    world.sweep(false);
    world.drain();
    for store in ["one", "two"] {
        assert_eq!(text(&world, store, "1.txt").as_deref(), Some("changed there"), "{store}");
    }
    let ended = world.sweep(false);
    assert_eq!((ended.state.as_str(), ended.queued, ended.held), ("done", 0, 0), "{ended:?}");
}

fn a_deletion_from_before_a_content_item_was_seen_is_none(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&[("one", "two", true)]);
    world.put("one", "a.txt", "bytes", "ann");
    world.sweep(false);
    world.remove("one", "a.txt");
    world.sweep(false);
    assert_eq!(world.outcome(("one", "two"), "a.txt").map(|(outcome, _)| outcome), Some(CopyOutcome::Lost));
    assert_eq!(world.report("one/maps/a.txt", true, Some("2020-01-01T00:00:00Z")), 0);
    world.drain();
    assert!(text(&world, "two", "a.txt").is_some(), "the last copy stays");
    // One that is reported now is.
    assert_eq!(world.report("one/maps/a.txt", true, None), 1);
    world.drain();
    assert_eq!(text(&world, "two", "a.txt"), None);
}

fn damage_is_not_copied_back(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&TWO_WAYS);
    for name in ["a.txt", "b.txt"] {
        world.put("one", name, "the bytes", "ann");
    }
    world.sweep(false);
    world.drain();
    world.sweep(false);
    // The damaged side goes first.
    for (store, name) in [("two", "a.txt"), ("one", "b.txt")] {
        rot(&world, store, name, "the mites");
        assert_eq!(world.report(&format!("{store}/maps/{name}"), false, None), 1);
    }
    world.drain();
    assert_eq!(text(&world, "one", "a.txt").as_deref(), Some("the bytes"));
    assert_eq!(text(&world, "two", "b.txt").as_deref(), Some("the bytes"));
    for _ in 0..2 {
        world.sweep(true);
        world.drain();
    }
    assert_eq!(text(&world, "one", "a.txt").as_deref(), Some("the bytes"));
    assert_eq!(text(&world, "two", "b.txt").as_deref(), Some("the bytes"));
}

fn what_is_new_is_not_lost_where_rules_copy_back(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&TWO_WAYS);
    world.put("one", "first.txt", "bytes", "ann");
    world.put("two", "second.txt", "bytes", "ann");
    world.sweep(false);
    world.drain();
    for (store, name) in [("one", "second.txt"), ("two", "first.txt")] {
        assert!(text(&world, store, name).is_some(), "{name} in {store}");
        let history = duplication::history(&world.call(), &format!("{store}/maps/{name}"), None, None);
        let history = history.expect("lists").items;
        assert!(history.iter().all(|act| act.act != "lost"), "{history:?}");
    }
}

fn what_is_right_again_is_found_so_when_everything_is_read(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    rot(&world, "one", "a.txt", "the mites");
    world.sweep(true);
    let outcome = || world.outcome(("one", "two"), "a.txt").map(|(outcome, _)| outcome);
    assert_eq!(outcome(), Some(CopyOutcome::Damaged));
    world.sweep(true);
    assert_eq!(outcome(), Some(CopyOutcome::Damaged));
    rot(&world, "one", "a.txt", "the bytes");
    world.sweep(true);
    assert_eq!(outcome(), Some(CopyOutcome::Equal));
}

fn tasks_of_topics_that_are_paused_are_left(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "bytes", "ann");
    queues::pause(&world.call(), "duplicate.low").expect("is paused");
    let ended = world.sweep(false);
    let waited = duplication::wait(&world.call(), &ended.run, &Shutdown::new());
    assert!(waited.expect("waits").later > 0, "they wait for the topic");
    assert_eq!(text(&world, "two", "a.txt"), None);
}

fn a_deletion_does_not_join_a_task_that_keeps_the_copy(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    world.policy(&[("one", "two", false)]);
    for number in 0..120 {
        world.put("one", &format!("{number}.txt"), "bytes", "ann");
    }
    world.sweep(false);
    for topic in ["duplicate.high", "duplicate.low"] {
        queues::pause(&world.call(), topic).expect("is paused");
    }
    world.remove("one", "7.txt");
    world.report("one/maps/7.txt", true, None);
    assert_eq!(world.sweep(false).deletions, 1, "a task that keeps the copy waits");
    world.policy(&[("one", "two", true)]);
    let ended = world.sweep(false);
    assert_eq!((ended.deletions, ended.held), (1, 0), "{ended:?}");
    queues::resume(&world.call(), "duplicate.low").expect("is resumed");
    duplication::wait(&world.call(), &ended.run, &Shutdown::new()).expect("waits");
    assert_eq!(text(&world, "two", "7.txt"), None);
}

fn a_copy_that_another_institution_keeps_is_not_deleted(engine: Engine) {
    let Some(world) = world(engine, &BOTH, NO_SAMPLE) else { return };
    institutions::add(&world.call(), "other.org", None).expect("is added");
    let new = NewVersion {
        institution: Some("other.org".to_owned()),
        file: b"default = [{ source = \"one\", destination = \"two\" }]\n".to_vec(),
        reason: "a copy for ever".to_owned(),
        if_version: Some(0),
    };
    policies::set(&world.call(), &new).expect("is set");
    world.policy(&[("one", "two", true)]);
    world.put("one", "a.txt", "bytes", "ann");
    world.sweep(false);
    world.remove("one", "a.txt");
    world.report("one/maps/a.txt", true, None);
    world.drain();
    assert!(text(&world, "two", "a.txt").is_some());
    assert_eq!(world.outcome(("one", "two"), "a.txt").map(|(outcome, _)| outcome), Some(CopyOutcome::Kept));
}
