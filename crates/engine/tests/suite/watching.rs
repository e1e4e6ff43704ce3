//! Folder watch: what changes in the folder of a plain store becomes events, and a deletion is recorded only where it is certain.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use strongroom_engine::app::{duplication, problems, spaces};
use strongroom_engine::background::{TASKS, run_now};
use strongroom_engine::duplication::watch::{self, Timing};
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::content_events::{self, ContentEvent};
use strongroom_registry::{ContentEventKind, CopyOutcome, Scope, sweeps, tenants};

use crate::deletions::{ANN, as_user};
use crate::duplication_world::{Kind, SPACE, World, world};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

/// Files that are removed at once.
const FILES: usize = 1_200;

on_both_databases! {
    what_changes_in_a_watched_folder_is_copied
    a_file_that_is_removed_or_moved_away_is_deleted_and_one_that_is_replaced_is_not
    a_folder_that_is_renamed_takes_its_copies_with_it
    a_folder_that_is_moved_away_is_no_deletion
    nothing_is_deleted_when_the_store_goes_away
    spaces_come_and_go
    copies_into_a_watched_store_are_copied_further_and_none_again
    a_store_is_watched_as_long_as_a_rule_copies_from_it
    many_files_are_recorded_in_pages
    what_waits_of_a_folder_that_is_emptied_deletes_nothing
    a_folder_that_is_emptied_keeps_its_copies_until_a_person_allows_the_deletions
    a_store_that_cannot_be_watched_is_a_problem
    another_process_that_watches_is_left_alone
}

const TIMING: Timing = Timing {
    quiet: Duration::from_millis(300),
    decide_every: Duration::from_millis(100),
    retry: Duration::from_millis(100),
};
/// How long a condition is waited for: far longer than it takes.
const LIMIT: Duration = Duration::from_mins(2);

/// A world with the folders `one`, which is watched, and `two`, and a rule that deletes.
fn watched(engine: Engine) -> Option<World> {
    let world = world(engine, &[("one", Kind::Watched), ("two", Kind::Folder)], "[duplication]\nverify_one_in = 0\n")?;
    world.policy(&[("one", "two", true)]);
    fs::create_dir_all(path(&world, "one", "")).expect("a space");
    Some(world)
}

fn path(world: &World, store: &str, key: &str) -> PathBuf {
    world.home.path().join("plain").join(store).join(SPACE).join(key)
}

fn write(world: &World, store: &str, key: &str, text: &str) {
    let path = path(world, store, key);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("writes");
}

/// Runs the watch while `act` does.
fn while_watched(world: &World, act: impl FnOnce()) {
    let stop = Shutdown::new();
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch::run(&world.home, &stop, TIMING));
        let _stop = stop.request_on_drop();
        wait_until("it is watched", || is_watched(world, "one"));
        act();
        stop.request_once();
        watching.join().expect("ends well");
    });
}

fn is_watched(world: &World, store: &str) -> bool {
    let shown = spaces::show(&world.call(), &format!("{store}/{SPACE}"));
    shown.is_ok_and(|shown| shown.watched && shown.unwatched.is_none())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LIMIT, "not seen in {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn event(world: &World, space: &str, key: &str) -> Option<ContentEvent> {
    world.home.registry.read(|tx| content_events::get(tx, ("one", space, key))).expect("reads")
}

fn kind(world: &World, key: &str) -> Option<ContentEventKind> {
    event(world, SPACE, key).map(|event| event.kind)
}

/// Works until the destination has this.
fn wait_for_copy(world: &World, store: &str, key: &str, text: Option<&str>) {
    wait_until(&format!("{key} in {store} is {text:?}"), || {
        world.drain();
        world.found(store, key).map(|(found, _)| found).as_deref() == text
    });
}

/// Everything that was done before is recorded: a file that is written now is the last one.
fn settle(world: &World, mark: &str) {
    write(world, "one", mark, "mark");
    wait_until("the last file is recorded", || kind(world, mark) == Some(ContentEventKind::Put));
}

fn what_changes_in_a_watched_folder_is_copied(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    while_watched(&world, || {
        write(&world, "one", "deep/er/a", "first");
        wait_for_copy(&world, "two", "deep/er/a", Some("first"));
        let first = event(&world, SPACE, "deep/er/a").expect("an event");
        assert_eq!((first.kind, first.actor.as_str()), (ContentEventKind::Put, "folder watch"));
        write(&world, "one", "deep/er/a", "second");
        wait_for_copy(&world, "two", "deep/er/a", Some("second"));
        assert!(event(&world, SPACE, "deep/er/a").expect("an event").happened_at > first.happened_at);

        // As editors do.
        write(&world, "one", "deep/er/.a.swp", "third");
        fs::rename(path(&world, "one", "deep/er/.a.swp"), path(&world, "one", "deep/er/a")).expect("renames");
        wait_for_copy(&world, "two", "deep/er/a", Some("third"));
        assert_eq!(kind(&world, "deep/er/.a.swp"), None, "it came and went");

        // What is as it is known is no event.
        let known = event(&world, SPACE, "deep/er/a");
        fs::File::options().append(true).open(path(&world, "one", "deep/er/a")).expect("opens");
        // What is no content item of every store is none either.
        std::os::unix::fs::symlink("a", path(&world, "one", "deep/er/link")).expect("links");
        write(&world, "one", ".strongroom-x", "reserved");
        settle(&world, "mark");
        assert_eq!(event(&world, SPACE, "deep/er/a"), known);
        assert_eq!((kind(&world, "deep/er/link"), kind(&world, ".strongroom-x")), (None, None));
    });
}

fn a_file_that_is_removed_or_moved_away_is_deleted_and_one_that_is_replaced_is_not(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    for key in ["removed", "moved", "renamed", "again", "stays"] {
        write(&world, "one", key, key);
    }
    world.sweep(false);
    while_watched(&world, || {
        let away = world.home.path().join("away");
        fs::remove_file(path(&world, "one", "removed")).expect("removes");
        fs::rename(path(&world, "one", "moved"), &away).expect("renames");
        fs::rename(path(&world, "one", "renamed"), path(&world, "one", "new name")).expect("renames");
        fs::remove_file(path(&world, "one", "again")).expect("removes");
        write(&world, "one", "again", "anew");
        for key in ["removed", "moved", "renamed"] {
            wait_for_copy(&world, "two", key, None);
            assert_eq!(world.outcome(("one", "two"), key).expect("known").0, CopyOutcome::Deleted);
        }
        wait_for_copy(&world, "two", "new name", Some("renamed"));
        wait_for_copy(&world, "two", "again", Some("anew"));
        assert_eq!(kind(&world, "again"), Some(ContentEventKind::Put));
        assert_eq!(kind(&world, "stays"), None);

        // What is lost was not removed by the removal of something else of its name.
        world.put("two", "lost", "a copy", "ann");
        world.sweep(false);
        assert_eq!(world.outcome(("one", "two"), "lost").expect("known").0, CopyOutcome::Lost);
        std::os::unix::fs::symlink("a", path(&world, "one", "lost")).expect("links");
        settle(&world, "mark");
        fs::remove_file(path(&world, "one", "lost")).expect("removes");
        settle(&world, "second mark");
        assert_eq!(kind(&world, "lost"), None);
    });
}

fn a_folder_that_is_renamed_takes_its_copies_with_it(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    for key in ["old/a", "old/deep/b"] {
        write(&world, "one", key, key);
    }
    world.sweep(false);
    while_watched(&world, || {
        fs::rename(path(&world, "one", "old"), path(&world, "one", "between")).expect("renames");
        fs::rename(path(&world, "one", "between"), path(&world, "one", "new")).expect("renames");
        write(&world, "one", "new/c", "c");
        wait_for_copy(&world, "two", "new/deep/b", Some("old/deep/b"));
        for (key, text) in [("old/a", None), ("old/deep/b", None), ("new/a", Some("old/a")), ("new/c", Some("c"))] {
            wait_for_copy(&world, "two", key, text);
        }
        assert_eq!((kind(&world, "old/c"), kind(&world, "between/a")), (None, None));
        // And what changes below the new name is seen.
        fs::remove_file(path(&world, "one", "new/deep/b")).expect("removes");
        wait_for_copy(&world, "two", "new/deep/b", None);
    });
}

fn a_folder_that_is_moved_away_is_no_deletion(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    write(&world, "one", "old/a", "a");
    world.sweep(false);
    while_watched(&world, || {
        fs::rename(path(&world, "one", "old"), world.home.path().join("away")).expect("renames");
        fs::remove_file(world.home.path().join("away/a")).expect("removes");
        settle(&world, "mark");
        assert_eq!(kind(&world, "old/a"), None);
    });
    world.sweep(false);
    assert_eq!(world.outcome(("one", "two"), "old/a").expect("known").0, CopyOutcome::Lost);
    assert!(world.found("two", "old/a").is_some());
}

fn nothing_is_deleted_when_the_store_goes_away(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    for key in ["a", "b"] {
        write(&world, "one", key, key);
    }
    world.sweep(false);
    let marker = world.home.path().join("plain/one/.here");
    while_watched(&world, || {
        fs::remove_file(&marker).expect("removes");
        fs::remove_file(path(&world, "one", "a")).expect("removes");
        let reason = || {
            run_now(&world.home, task("problems"), &Shutdown::new()).expect("runs");
            let found = problems::list(&world.call(), &problems::Filter::default(), None).expect("lists").items;
            found.into_iter().any(|one| one.kind == "plain_store.away")
        };
        wait_until("it is away", reason);
        // The watch has ended its attempt when it says that it cannot watch.
        wait_until("it is not watched", || {
            let fact = world.home.registry.read(|tx| tenants::fact(tx, "duplication.watch.one")).expect("reads");
            fact.is_some_and(|fact| fact.contains(".here"))
        });
        let newest = || {
            let of = |tx: &mut dyn strongroom_database::Transaction| {
                let of = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("is there");
                sweeps::newest(tx, of.id)
            };
            world.home.registry.read(of).expect("reads").expect("a sweep")
        };
        let before = newest().id;
        fs::write(&marker, "").expect("writes");
        wait_until("a sweep begins, since changes may be missed", || newest().id != before);
        assert_eq!(newest().started_by.as_deref(), Some("folder watch"));
        settle(&world, "mark");
        assert_eq!(kind(&world, "a"), None);
    });
    assert!(world.found("two", "a").is_some() && world.found("two", "b").is_some());
}

fn task(name: &str) -> &'static strongroom_engine::background::BackgroundTask {
    TASKS.iter().find(|task| task.name == name).expect("the task")
}

fn spaces_come_and_go(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    let (one, two) = (world.home.path().join("plain/one"), world.home.path().join("plain/two"));
    while_watched(&world, || {
        fs::create_dir_all(one.join("letters/1800")).expect("a space");
        fs::write(one.join("letters/1800/a"), "a").expect("writes");
        fs::create_dir(one.join("empty")).expect("a space");
        wait_until("both are copied", || {
            world.drain();
            two.join("letters/1800/a").exists() && two.join("empty").exists()
        });
        fs::remove_dir_all(one.join("letters")).expect("removes");
        fs::remove_dir(one.join("empty")).expect("removes");
        wait_until("both are deleted", || {
            world.drain();
            !two.join("letters/1800/a").exists() && !two.join("empty").exists()
        });
        let deleted = event(&world, "letters", "").expect("an event");
        assert_eq!(deleted.kind, ContentEventKind::Delete);
    });
    assert_eq!(world.dead(), 0);
}

fn copies_into_a_watched_store_are_copied_further_and_none_again(engine: Engine) {
    let stores = [("one", Kind::Watched), ("two", Kind::Watched), ("three", Kind::Folder)];
    let Some(world) = world(engine, &stores, "[duplication]\nverify_one_in = 0\n") else { return };
    world.policy(&[("one", "two", true), ("two", "three", true), ("three", "one", true)]);
    for store in ["one", "two"] {
        fs::create_dir_all(path(&world, store, "")).expect("a space");
    }
    while_watched(&world, || {
        write(&world, "one", "a", "a");
        wait_for_copy(&world, "three", "a", Some("a"));
        settle(&world, "mark");
        wait_for_copy(&world, "three", "mark", Some("mark"));
        fs::remove_file(path(&world, "one", "a")).expect("removes");
        wait_for_copy(&world, "three", "a", None);
        settle(&world, "second mark");
        wait_for_copy(&world, "three", "second mark", Some("mark"));
    });
    world.drain();
    for store in ["one", "two", "three"] {
        assert_eq!(world.found(store, "a"), None);
    }
    assert_eq!(world.sweep(false).queued, 0, "everything is equal");
}

fn a_store_is_watched_as_long_as_a_rule_copies_from_it(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    let shown = || spaces::show(&world.call(), &format!("one/{SPACE}")).expect("shows");
    assert!(shown().unwatched.expect("a reason").contains("no process watches it"));
    let two = {
        fs::create_dir_all(path(&world, "two", "")).expect("a space");
        spaces::show(&world.call(), &format!("two/{SPACE}")).expect("shows")
    };
    assert_eq!((two.watched, two.unwatched), (false, None));
    while_watched(&world, || {
        assert!(shown().watched_since.is_some());
        world.policy(&[("two", "one", false)]);
        wait_until("it is not watched any more", || !is_watched(&world, "one"));
        assert!(shown().unwatched.expect("a reason").contains("no rule"));
        world.policy(&[("one", "two", false)]);
        wait_until("it is watched again", || is_watched(&world, "one"));
        write(&world, "one", "a", "a");
        wait_for_copy(&world, "two", "a", Some("a"));
    });
    assert!(shown().unwatched.expect("a reason").contains("no process watches it"));
}

fn many_files_are_recorded_in_pages(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    while_watched(&world, || {
        for number in 0..FILES {
            write(&world, "one", &format!("{}/{number}", number % 7), "text");
        }
        let all = |kind| (0..FILES).all(|number| self::kind(&world, &format!("{}/{number}", number % 7)) == Some(kind));
        wait_until("all are put", || all(ContentEventKind::Put));
        fs::remove_dir_all(path(&world, "one", "")).expect("removes");
        wait_until("all are deleted", || all(ContentEventKind::Delete));
    });
}

/// The tasks of what was put wait until the files are gone.
fn what_waits_of_a_folder_that_is_emptied_deletes_nothing(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    while_watched(&world, || {
        let write_all = |text: &str| {
            for number in 0..40 {
                write(&world, "one", &format!("deep/{number}"), text);
            }
            settle(&world, &format!("mark of {text}"));
        };
        let are = |kind| (0..40).all(|number| self::kind(&world, &format!("deep/{number}")) == Some(kind));
        write_all("text");
        wait_until("all are copied", || {
            world.drain();
            (0..40).all(|number| world.found("two", &format!("deep/{number}")).is_some())
        });
        write_all("another");
        wait_until("all are put", || are(ContentEventKind::Put));
        fs::remove_dir_all(path(&world, "one", "deep")).expect("removes");
        wait_until("all are deleted", || are(ContentEventKind::Delete));
        world.drain();
        assert!((0..40).all(|number| world.found("two", &format!("deep/{number}")).is_some()));
    });
}

fn a_folder_that_is_emptied_keeps_its_copies_until_a_person_allows_the_deletions(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    while_watched(&world, || {
        for number in 0..40 {
            write(&world, "one", &format!("deep/{number}"), "text");
        }
        wait_for_copy(&world, "two", "deep/39", Some("text"));
        wait_until("all are copied", || {
            world.drain();
            (0..40).all(|number| world.found("two", &format!("deep/{number}")).is_some())
        });
        // A few are deleted with their copies.
        for number in 0..4 {
            fs::remove_file(path(&world, "one", &format!("deep/{number}"))).expect("removes");
        }
        wait_for_copy(&world, "two", "deep/0", None);
        wait_for_copy(&world, "two", "deep/3", None);
        fs::remove_dir_all(path(&world, "one", "deep")).expect("removes");
        let all_are = |kind| (4..40).all(|number| self::kind(&world, &format!("deep/{number}")) == Some(kind));
        wait_until("all are deleted", || all_are(ContentEventKind::Delete));
        let run = || duplication::list(&world.call(), Some(INSTITUTION), None).expect("lists").items.into_iter().next();
        wait_until("a sweep begins", || run().is_some());
        wait_until("it waits for a person", || {
            run_now(&world.home, task("duplication"), &Shutdown::new()).expect("runs");
            world.drain();
            run().is_some_and(|run| run.state == "waiting" && run.held == 36)
        });
        assert!((4..40).all(|number| world.found("two", &format!("deep/{number}")).is_some()));
        let waits = run().expect("a sweep");
        duplication::allow_deletions(&as_user(&world.home, ANN), &waits.run).expect("is allowed");
        let ended = duplication::wait(&world.call(), &waits.run, &Shutdown::new()).expect("ends").sweep;
        assert_eq!((ended.state.as_str(), ended.deletions), ("done", 36), "{ended:?}");
        assert!((4..40).all(|number| world.found("two", &format!("deep/{number}")).is_none()));
    });
}

/// Records that another process watches, or why it cannot.
fn claimed_elsewhere(world: &World, problem: Option<&str>) {
    let problem = problem.map_or_else(|| "null".to_owned(), |problem| format!("{problem:?}"));
    let set = move |tx: &mut dyn strongroom_database::Transaction| {
        let now = tx.now()?.0;
        let state = format!(
            "{{\"holder\":\"elsewhere:1:x-1\",\"since\":{now},\"renewed_at\":{now},\"folders\":1,\"problem\":{problem},\
             \"unseen\":null}}"
        );
        tenants::set_fact(tx, "duplication.watch.one", &state)
    };
    world.home.registry.write(set).expect("writes");
}

fn has_problem(world: &World) -> bool {
    run_now(&world.home, task("problems"), &Shutdown::new()).expect("runs");
    let found = problems::list(&world.call(), &problems::Filter::default(), None).expect("lists").items;
    found.iter().any(|one| one.kind == "plain_store.unwatched")
}

fn a_store_that_cannot_be_watched_is_a_problem(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    assert!(!has_problem(&world));
    claimed_elsewhere(&world, Some("it has more folders than can be watched"));
    let shown = spaces::show(&world.call(), &format!("one/{SPACE}")).expect("shows");
    assert_eq!((shown.watched, shown.unwatched.as_deref()), (false, Some("it has more folders than can be watched")));
    assert!(has_problem(&world));
    // This process can.
    while_watched(&world, || assert!(!has_problem(&world)));
}

fn another_process_that_watches_is_left_alone(engine: Engine) {
    let Some(world) = watched(engine) else { return };
    claimed_elsewhere(&world, None);
    let stop = Shutdown::new();
    std::thread::scope(|scope| {
        let _stop = stop.request_on_drop();
        scope.spawn(|| watch::run(&world.home, &stop, TIMING));
        let holder = || world.home.registry.read(|tx| tenants::fact(tx, "duplication.watch.one")).expect("reads");
        assert!(holder().expect("a fact").contains("elsewhere"));
        // It ends without a word.
        world.home.clock.advance(Duration::from_mins(5));
        wait_until("this process watches", || holder().is_some_and(|fact| !fact.contains("elsewhere")));
        wait_until("what was missed is compared", || {
            let of = |tx: &mut dyn strongroom_database::Transaction| {
                let of = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("is there");
                sweeps::newest(tx, of.id)
            };
            world.home.registry.read(of).expect("reads").is_some()
        });
        stop.request_once();
    });
}
