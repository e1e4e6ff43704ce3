//! Tools that are run for the files of a deposit before its version is written.

use std::time::Duration;

use strongroom_engine::app::items as app_items;
use strongroom_engine::build_runtime;
use strongroom_registry::items::Item;
use strongroom_registry::{ItemId, Stage, WaitReason};

use super::*;

on_both_databases! {
    a_deposited_file_that_is_too_large_to_be_copied_is_read_where_it_lies_in_staging
    a_deposit_waits_for_a_scanner_that_is_away
    clamav_inspects_what_is_deposited_and_is_waited_for
}

fn hand_in(home: &TestHome, name: &str, files: &[(&str, &[u8])]) -> ItemId {
    let bag = home.bag(name, files);
    let request =
        DepositRequest { sources: vec![PackageSource::LocalPath(bag)], ..DepositRequest::of_system(INSTITUTION) };
    deposit(home, &request).expect("deposits").items[0]
}

fn item(home: &TestHome, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

/// Works until a deposit waits for a tool.
fn work_until_it_waits(home: &TestHome, id: ItemId) -> Item {
    let workers = build_runtime(home, None).expect("a runtime").build();
    let waits = || item(home, id).note.is_some_and(|note| note.contains("cannot tell now"));
    let summary = workers.run_until(&Shutdown::new(), &|| waits() || item(home, id).status == ItemStatus::Failed);
    assert!(summary.failure.is_none(), "{:?}", summary.failure);
    item(home, id)
}

fn is_kept(home: &TestHome, name: &str) -> bool {
    let identifier = format!("{INSTITUTION}/{name}");
    let object = home.registry.read(|tx| objects::by_identifier(tx, Scope::System, &identifier)).expect("reads");
    object.is_some_and(|object| object.head > 0)
}

/// Works until a deposit ends, with the time by then at which a tool is asked again.
fn end(home: &TestHome, id: ItemId) -> Item {
    home.clock.advance(Duration::from_mins(2));
    work_on(home, &[id], &Shutdown::new()).expect("works");
    item(home, id)
}

fn a_deposited_file_that_is_too_large_to_be_copied_is_read_where_it_lies_in_staging(engine: Engine) {
    let (name, text) = script(
        "where",
        "printf 'path=%s\\n' \"$1\"",
        "[output]\nformat = \"pattern\"\npattern = 'path=(?P<path>.*)'\n",
    );
    let settings =
        "[tools.where]\nconfiguration = \"where.toml\"\nmax_copied = \"1 KiB\"\n[ingest]\ntools = [\"where\"]\n";
    let Some(home) = home_for(engine, settings) else { return };
    std::fs::write(home.path().join(format!("{name}.toml")), text).expect("writes");
    let large = vec![b'x'; 400 << 10];
    let id = hand_in(&home, "letters", &[("large.txt", &large), ("small.txt", b"small")]);
    let ended = end(&home, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    let events = events_of(&home, &home.object("letters"), "validation");
    let path_of = |file: &str| events[file][0].outcome_detail.clone().expect("what it said");
    let staging = home.path().join("stores/staging").display().to_string();
    assert!(path_of("data/large.txt").contains(&staging), "{}", path_of("data/large.txt"));
    assert!(!path_of("data/small.txt").contains(&staging), "{}", path_of("data/small.txt"));
    programs::assert_no_scratch(&home);
}

fn a_deposit_waits_for_a_scanner_that_is_away(engine: Engine) {
    let away = tempfile::NamedTempFile::new().expect("a file");
    let line = format!("if [ -e {} ]; then echo the server is away >&2; exit 75; fi", away.path().display());
    let (name, text) = script(
        "scanner",
        &line,
        "rules = [{ exit = [75], outcome = \"transient\" }, { exit = [0], outcome = \"pass\" }]\n",
    );
    let settings =
        "[tools.scanner]\nconfiguration = \"scanner.toml\"\nevent = \"virus check\"\n[ingest]\ntools = [\"scanner\"]\n";
    let Some(home) = home_for(engine, settings) else { return };
    std::fs::write(home.path().join(format!("{name}.toml")), text).expect("writes");
    let id = hand_in(&home, "letters", &[("a.txt", b"clean")]);
    // However often it asks, it spends no attempts, and nothing is published.
    for _ in 0..12 {
        let waiting = work_until_it_waits(&home, id);
        assert_eq!((waiting.status, waiting.stage), (ItemStatus::Pending, Stage::named("characterize")));
        assert!(waiting.note.as_deref().is_some_and(|note| note.contains("the server is away")), "{:?}", waiting.note);
        assert!(!is_kept(&home, "letters"));
        assert_eq!(waiting.wait_reason.map(WaitReason::as_str), Some("tool"));
        home.clock.advance(Duration::from_mins(2));
    }
    let told =
        || super::super::pipelines::review(&home).entries.into_iter().find(|entry| entry.of == "waiting_for_tools");
    let entry = told().expect("an entry");
    assert_eq!(entry.text, "1 work item waiting for a tool that cannot tell now");
    assert_eq!(entry.next, format!("strongroom items show {id}"));
    let obstacle = app_items::obstacle(&call(&home), id).expect("asks").expect("it waits");
    assert!(obstacle.reason.contains("the server is away"), "{obstacle:?}");
    assert!(obstacle.next.contains("start what the tool needs"), "{obstacle:?}");
    away.close().expect("removes it");
    let ended = end(&home, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    let events = events_of(&home, &home.object("letters"), "virus check");
    assert!(events.values().all(|of_file| of_file.len() == 1) && events.contains_key("data/a.txt"), "{events:?}");
    assert_eq!(told(), None);
}

fn clamav_inspects_what_is_deposited_and_is_waited_for(engine: Engine) {
    let Some(mut clamd) = Clamd::start() else { return };
    let Some(home) = home_for(engine, &(clamd.settings() + "[ingest]\ntools = [\"clamdscan\"]\n")) else { return };
    let id = hand_in(&home, "letters", &[("a.txt", b"clean")]);
    assert_eq!(end(&home, id).status, ItemStatus::Succeeded, "{:?}", item(&home, id).note);
    let events = events_of(&home, &home.object("letters"), "virus check");
    assert_eq!(events["data/a.txt"][0].outcome, "success");
    assert!(events["data/a.txt"][0].agent.starts_with("tool:clamdscan/1."), "{events:?}");

    let id = hand_in(&home, "infected", &[("a.txt", b"clean"), ("virus.txt", eicar().as_bytes())]);
    assert_eq!(end(&home, id).status, ItemStatus::Failed);
    let problems = home.registry.read(|tx| items::problems(tx, Scope::System, id, 100)).expect("the problems");
    let found = problems.iter().find(|problem| problem.code == "package.infected").expect("the problem");
    assert_eq!((found.path.as_deref(), found.is_permanent()), (Some("data/virus.txt"), true));
    assert!(found.message.contains("Eicar-Test-Signature"), "{found:?}");
    assert!(!is_kept(&home, "infected"));

    clamd.stop();
    let id = hand_in(&home, "diaries", &[("b.txt", b"clean as well")]);
    let waiting = work_until_it_waits(&home, id);
    assert_eq!((waiting.status, waiting.stage), (ItemStatus::Pending, Stage::named("characterize")));
    assert!(!is_kept(&home, "diaries"));
    clamd.restart();
    assert_eq!(end(&home, id).status, ItemStatus::Succeeded, "{:?}", item(&home, id).note);
    programs::assert_no_scratch(&home);
}
