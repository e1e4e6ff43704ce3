//! Cases of duplication that the tests of the Mill of DuraCloud have, and that no other test here shows. `docs/coming-from-duracloud-mill.md` lists
//! all of them.

use std::time::Duration;

use strongroom_engine::duplication::{HIGH, LOW};
use strongroom_queue::{NewTask, TaskState, tasks};
use strongroom_registry::duplication_routes as routes;
use strongroom_registry::{CopyOutcome, RegistryError, Scope, tenants};
use strongroom_s3_double::{Fault, Operation};
use strongroom_spaces::{ItemPut, SpaceName};

use crate::duplication_world::{Kind, SPACE, World, key, world};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

const TO_S3: [(&str, Kind); 2] = [("one", Kind::Folder), ("two", Kind::S3With("attempts = 1\n"))];
const FROM_S3: [(&str, Kind); 2] = [("one", Kind::S3With("attempts = 1\n")), ("two", Kind::Folder)];
const ONE_ATTEMPT: &str = "[duplication]\nverify_one_in = 0\n[workers.\"duplicate.low\"]\nmax_attempts = 1\n";

on_both_databases! {
    case_4_a_task_that_is_about_nothing_is_given_up_at_once
    case_4_a_task_that_is_given_up_names_store_space_and_content_item
    case_7_a_copy_has_content_type_and_properties_and_a_failed_one_leaves_no_file
    case_15_each_name_of_each_space_is_queued_once_however_little_the_queue_takes
    case_20_a_deletion_of_what_is_not_known_is_recorded_and_an_older_put_is_not
}

/// Why tasks of a topic were given up.
fn reasons(world: &World, topic: &str) -> Vec<String> {
    let page = |tx: &mut dyn strongroom_registry::Transaction| {
        tasks::list(tx, topic, TaskState::Dead, None, 100).map_err(RegistryError::from)
    };
    let page = world.home.registry.read(page).expect("lists");
    page.tasks.into_iter().filter_map(|task| task.reason).collect()
}

fn case_4_a_task_that_is_about_nothing_is_given_up_at_once(engine: Engine) {
    let Some(world) = world(engine, &TO_S3, "") else { return };
    world.policy(&[("one", "two", true)]);
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    let route = world.home.registry.read(|tx| {
        let of = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("is there");
        Ok::<_, RegistryError>(routes::find(tx, of.id, ("one", "two", SPACE))?.expect("is there").id)
    });
    let route = route.expect("reads");
    let new = [
        NewTask::new(HIGH, "of no route", "{\"key\": \"a.txt\"}"),
        NewTask::new(HIGH, "00000000-0000-0000-0000-000000000001/a.txt", "{\"key\": \"a.txt\"}"),
        NewTask::new(HIGH, format!("{route}/1"), "no JSON"),
        NewTask::new(HIGH, format!("{route}/2"), "{\"space\": \"maps\"}"),
        NewTask::new(HIGH, format!("{route}/3"), "{\"key\": \"a/../../b\"}"),
    ];
    let enqueue = move |tx: &mut dyn strongroom_registry::Transaction| {
        tasks::enqueue(tx, &new).map(|_| ()).map_err(RegistryError::from)
    };
    world.home.registry.write(enqueue).expect("enqueues");
    world.drain();
    let mut reasons = reasons(&world, HIGH);
    reasons.sort();
    let unknown = "the task does not say which route and content item it is about";
    let expected =
        ["the registry has no such route", unknown, unknown, unknown, "the task has no key of a content item"];
    assert_eq!(reasons, expected);
    assert_eq!(world.found("two", "a.txt").expect("stays").0, "the bytes");
}

fn case_4_a_task_that_is_given_up_names_store_space_and_content_item(engine: Engine) {
    let Some(world) = world(engine, &TO_S3, ONE_ATTEMPT) else { return };
    world.policy(&[("one", "two", false)]);
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    world.put("one", "box/b.txt", "the bytes", "ann");
    world.double.always(Operation::PutObject, Some(Fault::Refuse(403)));
    world.sweep(false);
    let reasons = reasons(&world, LOW);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains("store two: could not put maps/box/b.txt"), "{reasons:?}");
    // It is no hindrance to the next sweep.
    world.double.end_faults();
    world.sweep(false);
    assert!(world.found("two", "box/b.txt").is_some());
}

fn case_7_a_copy_has_content_type_and_properties_and_a_failed_one_leaves_no_file(engine: Engine) {
    let Some(to) = world(engine, &TO_S3, ONE_ATTEMPT) else { return };
    to.policy(&[("one", "two", false)]);
    to.put("one", "a.txt", "the bytes", "ann");
    to.sweep(false);
    let stored = to.double.stored("two/maps/a.txt").expect("is there");
    assert_eq!((stored.bytes(), stored.content_type.as_deref()), (b"the bytes".to_vec(), Some("text/plain")));
    assert_eq!(stored.metadata.get("creator").map(String::as_str), Some("ann"));
    // Behind what was tried out before the first put.
    let undeclared = to.double.counts().undeclared;
    to.put("one", "b.txt", "the bytes", "ann");
    to.sweep(false);
    assert_eq!(to.double.counts().undeclared, undeclared, "a put declares a digest");

    let Some(from) = world(engine, &FROM_S3, ONE_ATTEMPT) else { return };
    from.policy(&[("one", "two", false)]);
    for key in ["a.txt", "box/b.txt"] {
        from.put("one", key, "the bytes", "ann");
    }
    let files = || {
        let (mut found, mut next) = (Vec::new(), vec![from.home.path().join("plain/two")]);
        while let Some(folder) = next.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() { next.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    };
    let before = files();
    for fault in [Fault::Corrupt { at: 0 }, Fault::Short { to: 3 }, Fault::Torn { after: 3 }] {
        from.double.always(Operation::GetObject, Some(fault));
        from.sweep(false);
        assert!(from.dead() > 0, "{fault:?}");
        assert_eq!(files(), before, "{fault:?}");
    }
    from.double.end_faults();
    from.home.clock.advance(Duration::from_hours(1));
    from.sweep(false);
    assert_eq!(from.found("two", "box/b.txt"), Some(("the bytes".to_owned(), "ann".to_owned())));
}

fn case_15_each_name_of_each_space_is_queued_once_however_little_the_queue_takes(engine: Engine) {
    let settings = "[duplication]\nmost_queued = 7\nverify_one_in = 0\n";
    let Some(world) = world(engine, &[("one", Kind::Folder), ("two", Kind::Folder)], settings) else { return };
    world.policy(&[("one", "two", true)]);
    let spaces = ["letters", "maps"].map(|name| SpaceName::new(name).expect("a name"));
    let put = |store: &str, space: &SpaceName, name: &str| {
        let store = world.store(store);
        store.create_space(space).expect("is made");
        store.put(space, &key(name), &mut name.as_bytes(), &ItemPut::default()).expect("is put");
    };
    for space in &spaces {
        (0..30).for_each(|number| put("one", space, &format!("{number}.txt")));
        // What only the destination has is queued, too: of each one a person has to know.
        (0..5).for_each(|number| put("two", space, &format!("stale {number}.txt")));
    }
    let ended = world.sweep(false);
    assert_eq!((ended.listed, ended.queued, ended.deletions, world.dead()), (70, 70, 0, 0), "{ended:?}");
    for space in &spaces {
        assert!(world.store("two").head(space, &key("stale 4.txt")).is_ok(), "nothing is deleted without an event");
        assert!(world.store("two").head(space, &key("29.txt")).is_ok());
    }
    let again = world.sweep(false);
    assert_eq!((again.queued, again.equal, again.failed), (0, 60, 10), "{again:?}");
    // A space that the source has not any more is one task, besides those of its content items.
    for number in 0..30 {
        let head = world.store("one").head(&spaces[0], &key(&format!("{number}.txt"))).expect("is there");
        world.store("one").delete(&spaces[0], &key(&format!("{number}.txt")), &head.etag).expect("is deleted");
    }
    world.store("one").delete_space_if_empty(&spaces[0]).expect("is removed");
    let gone = world.sweep(false);
    assert_eq!((gone.queued, gone.equal, gone.failed), (31, 30, 10), "{gone:?}");
    assert!(world.store("two").head(&spaces[0], &key("29.txt")).is_ok(), "what lies in it stays");
}

fn case_20_a_deletion_of_what_is_not_known_is_recorded_and_an_older_put_is_not(engine: Engine) {
    let Some(world) = world(engine, &TO_S3, ONE_ATTEMPT) else { return };
    world.policy(&[("one", "two", true)]);
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    let never = "one/maps/never.txt";
    assert_eq!(world.report(never, true, Some("2026-01-02T00:00:00Z")), 1);
    assert_eq!(world.report(never, true, Some("2026-01-02T00:00:00Z")), 0, "the same again");
    assert_eq!(world.report(never, false, Some("2026-01-01T00:00:00Z")), 0, "an older put");
    world.drain();
    assert_eq!(world.recorded(("one", "two"), "never.txt").map(|item| item.outcome), Some(CopyOutcome::Deleted));
    // A newer put ends it.
    world.put("one", "never.txt", "the bytes", "ann");
    assert_eq!(world.report(never, false, Some("2026-01-03T00:00:00Z")), 1);
    world.drain();
    assert!(world.found("two", "never.txt").is_some());
    assert_eq!(world.dead(), 0);
}
