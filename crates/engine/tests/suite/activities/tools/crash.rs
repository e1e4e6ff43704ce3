//! Runs of tools whose process is killed: the next one ends with the same outcomes as an undisturbed run.

use std::path::Path;
use std::time::Duration;

use strongroom_engine::build_runtime;
use strongroom_registry::versions;

use super::*;
use crate::activities::TOPIC;
use crate::killing::{home_of_this_process, kill_at};

on_both_databases! {
    a_worker_that_is_killed_loses_no_outcome_and_records_none_twice
    a_deposit_whose_worker_is_killed_beside_a_tool_has_one_event_of_it
}

#[test]
#[ignore = "is run by the other test of this module, in a process of its own"]
fn killed() {
    let Some(home) = home_of_this_process() else { return };
    set_launcher(&home);
    let runtime = build_runtime(&std::sync::Arc::new(home), Some(&[TOPIC.to_owned()])).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| false);
}

/// A virus check that fails for files with the word `virus`, and notes each file that it has seen.
fn scanner(seen: &Path) -> (String, String) {
    let line = format!("echo seen >> {}; if grep -q virus \"$1\"; then echo a virus >&2; exit 1; fi", seen.display());
    script("scanner", &line, "rules = [{ exit = [0], outcome = \"pass\" }, { exit = [1], outcome = \"fail\" }]\n")
}

fn a_worker_that_is_killed_loses_no_outcome_and_records_none_twice(engine: Engine) {
    for point in ["activity.claimed", "activity.tool.logged", "activity.processed", "activity.committed"] {
        let seen = tempfile::NamedTempFile::new().expect("a file");
        let tools = [scanner(seen.path())];
        let Some(home) = programs::home_with_tools_and(engine, &tools, "event = \"virus check\"\n") else { return };
        let object = home.ingest("letters", &[("a.txt", b"clean"), ("b.txt", b"a virus"), ("c.txt", b"clean as well")]);
        let id = begin(&home, "tool", &[("tool", "scanner"), ("institution", INSTITUTION)]);
        kill_at(home.path(), "activities::tools::crash::killed", point, &[]);
        // The leases of the one that was killed run out.
        home.clock.advance(Duration::from_mins(3));
        work(&home);
        let view = show(&home, id);
        check_counts(&view);
        assert_eq!((view.state, view.failed), (ActivityState::Finished, Some(0)), "{point}");
        let events = events_of(&home, &object, "virus check");
        assert_eq!(view.processed, Some(events.len() as u64), "{point}");
        assert!(events.values().all(|of_file| of_file.len() == 1), "{point}: {events:?}");
        assert_eq!(events["data/b.txt"][0].outcome, "failure", "{point}");
        assert_eq!(findings(&home, true).len(), 1, "{point}");
        // At most the record that was being processed is processed again.
        let looks = std::fs::read_to_string(seen.path()).expect("reads").lines().count();
        assert!((events.len()..=events.len() + 2).contains(&looks), "{point}: {looks} looks");
        let fresh = fixture::home();
        copy_stores(&home, &fresh);
        rebuilt(&fresh, KEPT_IN[0]);
        let again = &events_of(&fresh, &object, "virus check")["data/b.txt"];
        assert_eq!((again.len(), again[0].id), (1, events["data/b.txt"][0].id), "{point}");
        assert_eq!(findings(&fresh, true).len(), 1, "{point}");
        programs::assert_no_scratch(&home);
    }
}

#[test]
#[ignore = "is run by the other test of this module, in a process of its own"]
fn killed_at_ingest() {
    let Some(home) = home_of_this_process() else { return };
    set_launcher(&home);
    let runtime = build_runtime(&std::sync::Arc::new(home), None).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| false);
}

fn a_deposit_whose_worker_is_killed_beside_a_tool_has_one_event_of_it(engine: Engine) {
    for point in ["ingest.tool.asked", "ingest.tool.told"] {
        let seen = tempfile::NamedTempFile::new().expect("a file");
        let (name, text) = scanner(seen.path());
        let settings = "[tools.scanner]\nconfiguration = \"scanner.toml\"\nevent = \"virus check\"\n[ingest]\ntools = [\"scanner\"]\n";
        let Some(home) = home_for(engine, settings) else { return };
        std::fs::write(home.path().join(format!("{name}.toml")), text).expect("writes");
        let bag = home.bag("letters", &[("a.txt", b"clean"), ("b.txt", b"clean as well")]);
        let request =
            DepositRequest { sources: vec![PackageSource::LocalPath(bag)], ..DepositRequest::of_system(INSTITUTION) };
        let made = deposit(&home, &request).expect("deposits");
        kill_at(home.path(), "activities::tools::crash::killed_at_ingest", point, &[]);
        assert!(home.registry.read(|tx| versions::of_item(tx, made.items[0])).expect("reads").is_some(), "{point}");
        // The leases of the one that was killed run out.
        home.clock.advance(Duration::from_mins(10));
        work_on(&home, &made.items, &Shutdown::new()).expect("works");
        let item = home.registry.read(|tx| items::find(tx, Scope::System, made.items[0])).expect("the item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{point}: {:?}", item.note);
        let object = home.object("letters");
        let events = events_of(&home, &object, "virus check");
        assert!(events.contains_key("data/a.txt") && events.contains_key("data/b.txt"), "{point}: {events:?}");
        assert!(events.values().all(|of_file| of_file.len() == 1), "{point}: {events:?}");
        // At most the file that was inspected then is inspected again.
        let looks = std::fs::read_to_string(seen.path()).expect("reads").lines().count();
        assert!((events.len()..=events.len() + 1).contains(&looks), "{point}: {looks} looks");
        programs::assert_no_scratch(&home);
    }
}
