//! What was done with content items stays known: each act once, in the order in which it was done, and beyond the reach of the program.

use strongroom_engine::app::duplication;
use strongroom_engine::app::views::ContentActView;

use crate::deletions::{ANN, as_user};
use crate::duplication_world::{Kind, World, rot, world};
use crate::fixture::{Engine, on_both_databases};

/// Who reports events in these tests, as records name it.
const REPORTER: &str = "root@example.net (account tester)";

on_both_databases! {
    each_change_of_a_copy_is_an_act_and_what_is_as_known_is_none
    a_deletion_names_the_event_that_was_its_reason
    a_deletion_that_is_taken_back_is_in_the_history
    what_is_found_is_an_act_when_it_is_found_first
    a_damaged_copy_that_is_replaced_is_known_to_have_been_damaged
    spaces_have_a_history_of_their_own
    the_history_has_pages_and_is_read_within_a_scope
}

impl World {
    /// The whole history of something, read in pages.
    fn history(&self, item: &str) -> Vec<ContentActView> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = duplication::history(&self.call(), item, None, after).expect("reads");
            all.extend(page.items);
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    }

    fn kinds(&self, item: &str) -> Vec<String> {
        self.history(item).into_iter().map(|act| act.act).collect()
    }
}

fn two(engine: Engine, delete: bool) -> Option<World> {
    let world = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], "[duplication]\nverify_one_in = 0\n")?;
    world.policy(&[("one", "two", delete)]);
    Some(world)
}

fn each_change_of_a_copy_is_an_act_and_what_is_as_known_is_none(engine: Engine) {
    let Some(world) = two(engine, false) else { return };
    world.put("one", "1.txt", "the bytes", "ann");
    world.sweep(false);
    world.put("one", "1.txt", "others", "ann");
    world.report("one/maps/1.txt", false, None);
    world.drain();
    world.put("one", "1.txt", "others", "bob");
    world.sweep(false);
    let acts = world.history("two/maps/1.txt");
    let kinds: Vec<_> = acts.iter().map(|act| (act.act.as_str(), act.event_type.as_str())).collect();
    assert_eq!(kinds[..2], [("copied", "replication"), ("replaced", "replication")], "{acts:#?}");
    assert_eq!(kinds.last(), Some(&("described", "metadata modification")), "{acts:#?}");
    assert!(acts.iter().all(|act| act.outcome == "success" && act.actor == "duplication"), "{acts:#?}");
    assert!(acts.iter().all(|act| act.policy_version == Some(1) && act.task.is_some() && act.attempt == Some(1)));
    let [copied, replaced, ..] = acts.as_slice() else { panic!("{acts:#?}") };
    assert_eq!((copied.etag_before.as_ref(), copied.topic.as_deref()), (None, Some("duplicate.low")));
    assert_eq!((copied.etag_after.as_ref(), copied.size), (replaced.etag_before.as_ref(), Some(9)));
    assert_ne!(replaced.etag_before, replaced.etag_after);
    assert!(copied.sha512.is_some() && copied.sha512 != replaced.sha512);
    assert_eq!((replaced.topic.as_deref(), replaced.event_actor.as_deref()), (Some("duplicate.high"), Some(REPORTER)));
    assert_eq!(replaced.event_reason.as_deref(), Some("as the depositor says"));
    assert_eq!(world.history("one/maps/1.txt"), acts, "the history is that of both stores");
    // Neither a sweep that queues everything, nor an event that is repeated changes anything.
    world.sweep(true);
    world.report("one/maps/1.txt", false, None);
    world.drain();
    assert_eq!(world.history("two/maps/1.txt"), acts);
}

fn a_deletion_names_the_event_that_was_its_reason(engine: Engine) {
    let Some(world) = two(engine, true) else { return };
    world.put("one", "1.txt", "the bytes", "ann");
    world.sweep(false);
    world.remove("one", "1.txt");
    world.report("one/maps/1.txt", true, None);
    world.drain();
    // The event is replaced by a newer one, and its outcome by that of the new copy.
    world.put("one", "1.txt", "anew", "ann");
    world.report("one/maps/1.txt", false, None);
    world.drain();
    let acts = world.history("two/maps/1.txt");
    let [_, deleted, copied] = acts.as_slice() else { panic!("{acts:#?}") };
    assert_eq!((deleted.act.as_str(), deleted.event_type.as_str()), ("deleted", "deletion"));
    assert_eq!(deleted.event_actor.as_deref(), Some(REPORTER));
    assert_eq!(deleted.event_reason.as_deref(), Some("as the depositor says"));
    assert!(deleted.event.is_some() && deleted.event_at.is_some());
    assert_eq!((&deleted.etag_before, deleted.etag_after.as_ref()), (&acts[0].etag_after, None));
    assert_eq!((&deleted.sha512, deleted.size), (&acts[0].sha512, Some(9)));
    assert_eq!(copied.act, "copied");
    let of_source = world.history("one/maps/1.txt");
    let kinds: Vec<_> = of_source.iter().map(|act| act.act.as_str()).collect();
    assert_eq!(kinds, ["copied", "deletion_reported", "deleted", "deletion_ended", "copied"]);
    assert_eq!((of_source[1].actor.as_str(), of_source[1].event.as_ref()), (REPORTER, deleted.event.as_ref()));
}

fn a_deletion_that_is_taken_back_is_in_the_history(engine: Engine) {
    let Some(world) = two(engine, true) else { return };
    world.put("one", "1.txt", "the bytes", "ann");
    world.sweep(false);
    // It is still there.
    world.report("one/maps/1.txt", true, None);
    world.drain();
    assert_eq!(world.kinds("one/maps/1.txt"), ["copied", "deletion_reported", "deletion_ended"]);
    // Of what no rule copies, the system alone has the history.
    world.report("two/elsewhere/1.txt", true, None);
    assert_eq!(world.kinds("two/elsewhere/1.txt"), ["deletion_reported"]);
    let ann = as_user(&world.home, ANN);
    assert!(duplication::history(&ann, "two/elsewhere/1.txt", None, None).expect("reads").items.is_empty());
}

fn what_is_found_is_an_act_when_it_is_found_first(engine: Engine) {
    let Some(world) = two(engine, false) else { return };
    for store in ["one", "two"] {
        world.put(store, "equal.txt", "the bytes", "ann");
    }
    world.put("two", "lost.txt", "the bytes", "ann");
    world.put("one", "kept.txt", "the bytes", "ann");
    for _ in 0..2 {
        world.sweep(true);
    }
    world.remove("one", "kept.txt");
    world.report("one/maps/kept.txt", true, None);
    world.drain();
    for _ in 0..2 {
        world.sweep(true);
    }
    let equal = world.history("two/maps/equal.txt");
    assert_eq!(equal.len(), 1, "{equal:#?}");
    assert_eq!((equal[0].act.as_str(), equal[0].event_type.as_str()), ("equal", "fixity check"));
    assert!(equal[0].sha512.is_some() && equal[0].etag_before.is_none() && equal[0].etag_after.is_some());
    let lost = world.history("two/maps/lost.txt");
    assert_eq!(lost.len(), 1, "{lost:#?}");
    assert_eq!((lost[0].act.as_str(), lost[0].outcome.as_str()), ("lost", "failure"));
    assert_eq!(world.kinds("two/maps/kept.txt"), ["copied", "kept"]);
}

fn a_damaged_copy_that_is_replaced_is_known_to_have_been_damaged(engine: Engine) {
    let settings = "[duplication]\nverify_one_in = 1\n";
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], settings) else { return };
    world.policy(&[("one", "two", false)]);
    for key in ["copy.txt", "original.txt"] {
        world.put("one", key, "right", "ann");
    }
    world.sweep(false);
    rot(&world, "two", "copy.txt", "wrong");
    rot(&world, "one", "original.txt", "wrong");
    for _ in 0..2 {
        world.sweep(false);
    }
    assert_eq!(world.found("two", "copy.txt").expect("is replaced").0, "right");
    let acts = world.history("two/maps/copy.txt");
    let kinds: Vec<_> = acts.iter().map(|act| (act.act.as_str(), act.outcome.as_str())).collect();
    assert_eq!(kinds, [("copied", "success"), ("damaged", "failure"), ("replaced", "success")], "{acts:#?}");
    let acts = world.history("two/maps/original.txt");
    let kinds: Vec<_> = acts.iter().map(|act| (act.act.as_str(), act.outcome.as_str())).collect();
    assert_eq!(kinds, [("copied", "success"), ("damaged", "failure")], "{acts:#?}");
    assert!(acts[1].detail.contains("one has other bytes than it had"), "{}", acts[1].detail);
}

fn spaces_have_a_history_of_their_own(engine: Engine) {
    let Some(world) = two(engine, true) else { return };
    let folder = |store: &str| world.home.path().join("plain").join(store).join("empty");
    std::fs::create_dir_all(folder("one")).expect("makes a space");
    world.sweep(false);
    std::fs::remove_dir(folder("one")).expect("removes it");
    world.sweep(false);
    world.sweep(false);
    let acts = world.history("two/empty");
    let kinds: Vec<_> = acts.iter().map(|act| (act.act.as_str(), act.event_type.as_str())).collect();
    assert_eq!(kinds, [("space_created", "creation"), ("space_removed", "deletion")], "{acts:#?}");
    // A space that is made for its first content item.
    world.put("one", "1.txt", "the bytes", "ann");
    world.report("one/maps/1.txt", false, None);
    world.drain();
    assert_eq!(world.kinds("two/maps"), ["space_created"]);
}

fn the_history_has_pages_and_is_read_within_a_scope(engine: Engine) {
    let Some(world) = two(engine, false) else { return };
    world.put("one", "1.txt", "the bytes", "ann");
    for number in 0..203 {
        world.report("one/maps/1.txt", true, Some(&format!("2026-01-01T00:00:00.{number:03}Z")));
    }
    let first = duplication::history(&world.call(), "one/maps/1.txt", None, None).expect("reads");
    assert_eq!((first.items.len(), first.next), (200, first.items.last().map(|act| act.number)));
    let all = world.history("one/maps/1.txt");
    assert_eq!(all.len(), 203);
    assert!(all.is_sorted_by_key(|act| act.number));
    let ann = as_user(&world.home, ANN);
    assert_eq!(duplication::history(&ann, "one/maps/1.txt", None, None).expect("reads").items, first.items);
    assert!(world.history("one/maps/2.txt").is_empty());
    let error = duplication::history(&world.call(), "one", None, None).expect_err("is refused");
    assert!(error.to_string().contains("names no content item"), "{error}");
}
