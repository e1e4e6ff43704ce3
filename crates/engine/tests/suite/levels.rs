//! Levels of preservation: each verdict follows from the installation as it is, and changes with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use strongroom_engine::app::installation::SETTINGS_FILE;
use strongroom_engine::app::levels::{self, Verdict};
use strongroom_engine::app::views::{AreaView, LevelRowView};
use strongroom_engine::app::{Caller, Installation};
use strongroom_engine::background;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::{Loaded, Settings};
use strongroom_storage::FolderStore;

use crate::fixture::{Engine, KEPT_IN, TestHome, home, home_on, on_both_databases};

/// What the settings say of two stores and of a third one.
const SAID: [(&str, &str, &str); 3] =
    [("Ithaca", "flood", "disk"), ("Oregon", "earthquake", "tape"), ("Virginia", "storm", "cloud")];

fn said(stores: &[&str]) -> String {
    stores.iter().zip(SAID).fold(String::new(), |mut text, (store, (location, threat, media))| {
        let line = format!("location = \"{location}\"\ndisaster_threat = \"{threat}\"\nmedia = \"{media}\"\n");
        write!(text, "[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n{line}").expect("writes");
        text
    })
}

/// The settings file of a home, changed; a home reads it anew for each report.
fn change_settings(home: &TestHome, change: impl FnOnce(String) -> String) {
    let path = home.path().join("strongroom.toml");
    let text = std::fs::read_to_string(&path).expect("settings");
    std::fs::write(&path, change(text)).expect("writes");
}

/// States location, threat and media of these stores.
fn say(home: &TestHome, stores: &[&str]) {
    change_settings(home, |mut text| {
        for store in stores {
            let table = format!("[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n");
            assert!(text.contains(&table), "{store}");
            text = text.replace(&table, "");
        }
        text + &said(stores)
    });
}

pub(crate) fn installation(home: &TestHome) -> Installation {
    let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
    let settings = Settings::from_toml(&text).expect("settings");
    let loaded = Loaded { settings, entries: Vec::new(), old_names: Vec::new() };
    Installation::new(home.path(), &home.path().join(SETTINGS_FILE), loaded, Caller::at_console("tester"))
}

fn rows(home: &TestHome) -> Vec<LevelRowView> {
    levels::ndsa(&installation(home), true).expect("answers")
}

fn verdicts(home: &TestHome) -> BTreeMap<String, (Verdict, String)> {
    rows(home).into_iter().map(|row| (row.row, (row.verdict, row.evidence))).collect()
}

#[track_caller]
fn assert_verdict(home: &TestHome, names: &[&str], wanted: Verdict) {
    let found = verdicts(home);
    for name in names {
        let (verdict, evidence) = &found[*name];
        assert_eq!(*verdict, wanted, "{name}: {evidence}");
    }
}

fn run_task(home: &TestHome, name: &str) {
    let task = background::TASKS.iter().find(|task| task.name == name).expect("the task");
    (task.run)(&home.home, &Shutdown::new()).expect("runs");
}

fn narrow(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let is_folder = path.is_dir();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(if is_folder { 0o700 } else { 0o600 }))
            .expect("narrows");
        if is_folder {
            waiting.extend(std::fs::read_dir(&path).expect("reads").map(|entry| entry.expect("one").path()));
        }
    }
}

/// Two admins of the whole installation.
const TWO_ADMINS: &str = "-- name: change
INSERT INTO users (id, account, email, role, state, created_at, updated_at) VALUES
    (randomblob(16), 'ann@test.edu', 'ann@test.edu', 'system_admin', 'active', 1, 1),
    (randomblob(16), 'bob@test.edu', 'bob@test.edu', 'system_admin', 'active', 1, 1)";

/// Virus checks without findings of every file that is kept.
const VIRUS_CHECKS: &str = "-- name: change
INSERT INTO events (id, institution_id, object_id, file_id, content_id, version, type, time, outcome, agent)
SELECT randomblob(16), o.institution_id, o.id, e.file_id, e.content_id, e.version, 'virus check', 1, 'success', 'test'
FROM entries e JOIN objects o ON o.id = e.object_id WHERE e.content_id IS NOT NULL";

/// Formats that were found in the bytes.
const FORMATS: &str = "-- name: change
UPDATE entries SET puid = 'fmt/1', format_method = 'signature', format_warning = NULL WHERE content_id IS NOT NULL";

/// An installation with three stores, two admins, and everything as it should be.
fn whole() -> TestHome {
    let folder = "[stores.third]\nkind = \"folder\"\npath = \"stores/third\"\n";
    let home = crate::fixture::home_prepared(|path, text| {
        FolderStore::create("third", path.join("stores/third")).expect("makes a store");
        text.replace(&format!("{KEPT_IN:?}"), "[\"primary\", \"secondary\", \"third\"]") + folder
    });
    say(&home, &["primary", "secondary", "third"]);
    change_settings(&home, |text| text + "[ingest]\ntools = [\"clamdscan\"]\n");
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    home.change_rows(TWO_ADMINS);
    home.change_rows(VIRUS_CHECKS);
    home.change_rows(FORMATS);
    fixity::run(&home.home, &FixityRequest::default(), &mut |_| {}).expect("checks");
    run_task(&home, "audit");
    home.clock.advance(std::time::Duration::from_hours(25));
    run_task(&home, "audit");
    run_task(&home, "audit");
    narrow(home.path());
    home
}

/// Rows that are not for people.
const ANSWERED: [&str; 27] = [
    "two-copies",
    "media-known",
    "stable-storage",
    "three-copies",
    "another-threat",
    "another-medium",
    "three-threats",
    "diversity",
    "digests-compared",
    "digests-computed",
    "viruses",
    "copies-verified",
    "digests-apart",
    "checks-at-intervals",
    "checks-recorded",
    "checks-on-demand",
    "checks-after-events",
    "repair",
    "agents-determined",
    "agents-applied",
    "acts-logged",
    "inventory",
    "inventory-apart",
    "content-described",
    "acts-recorded",
    "formats-known",
    "formats-verified",
];

#[test]
fn everything_that_software_can_answer_is_met_where_it_is_so() {
    let home = whole();
    let found = rows(&home);
    let unmet: Vec<_> = found
        .iter()
        .filter(|row| row.verdict != Verdict::Met && row.verdict != Verdict::ForPeople)
        .map(|row| (&row.row, row.verdict, &row.evidence))
        .collect();
    assert_eq!(unmet, []);
    let met: Vec<&str> = found.iter().filter(|row| row.verdict == Verdict::Met).map(|row| row.row.as_str()).collect();
    assert_eq!(met, ANSWERED);
    for area in AreaView::of_rows(&found) {
        assert_eq!((area.with_people, area.not_met, area.unknown), (4, 0, 0), "{area:?}");
    }
    let seal = levels::core_trust_seal(&installation(&home), false).expect("answers");
    assert!(seal.iter().all(|requirement| requirement.verdict == Verdict::Met), "{seal:?}");
}

#[test]
fn nothing_is_met_of_what_is_kept_where_nothing_is_kept() {
    let home = home();
    let found = verdicts(&home);
    for name in ANSWERED {
        let may_be_met = ["checks-on-demand"];
        let (verdict, evidence) = &found[name];
        assert!(may_be_met.contains(&name) || *verdict != Verdict::Met, "{name}: {evidence}");
    }
    for area in AreaView::of_rows(&rows(&home)) {
        assert_eq!(area.level, 0, "{area:?}");
    }
}

#[test]
fn places_that_the_settings_do_not_state_are_unknown_and_one_place_is_not_two() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"one")]);
    assert_verdict(
        &home,
        &["two-copies", "digests-apart", "another-threat", "another-medium", "media-known", "diversity"],
        Verdict::Unknown,
    );
    assert_verdict(&home, &["three-copies", "three-threats"], Verdict::NotMet);
    say(&home, &["primary", "secondary"]);
    assert_verdict(
        &home,
        &["two-copies", "digests-apart", "another-threat", "another-medium", "media-known", "diversity"],
        Verdict::Met,
    );
    change_settings(&home, |text| {
        text.replace("Oregon", "ithaca").replace("earthquake", "Flood").replace("tape", "disk")
    });
    assert_verdict(
        &home,
        &["two-copies", "digests-apart", "another-threat", "another-medium", "diversity"],
        Verdict::NotMet,
    );
}

#[test]
fn a_placement_that_the_settings_do_not_have_is_not_met() {
    let home = whole();
    home.change_rows("-- name: change\nUPDATE objects SET placement = 'gone'");
    assert_verdict(&home, &["media-known", "stable-storage", "two-copies"], Verdict::NotMet);
}

#[test]
fn a_store_that_is_away_makes_unknown_and_one_that_is_another_does_not_meet() {
    let home = whole();
    let (there, away) = (home.path().join("stores/third"), home.path().join("stores/moved"));
    std::fs::rename(&there, &away).expect("moves");
    assert_verdict(
        &home,
        &["three-copies", "stable-storage", "checks-on-demand", "repair", "inventory"],
        Verdict::Unknown,
    );
    assert_verdict(&home, &["two-copies", "inventory-apart"], Verdict::Met);
    FolderStore::create("third", &there).expect("makes another store");
    assert_verdict(&home, &["three-copies", "stable-storage", "checks-on-demand", "repair"], Verdict::NotMet);
}

#[test]
fn one_store_alone_has_no_inventory_elsewhere() {
    let home = whole();
    change_settings(&home, |text| text.replace("[\"primary\", \"secondary\", \"third\"]", "[\"primary\"]"));
    assert_verdict(&home, &["inventory-apart", "two-copies", "digests-apart"], Verdict::NotMet);
}

#[test]
fn damage_that_is_found_and_checks_that_are_due_are_not_met() {
    let home = whole();
    home.change_rows(
        "-- name: change
        INSERT INTO findings (id, institution_id, object_id, content_id, store, key, kind, state, detail, found_at)
        SELECT randomblob(16), institution_id, object_id, content_id, store, key, 'damaged', 'open', 'x', 1 FROM copies
        WHERE store = 'secondary' LIMIT 1",
    );
    assert_verdict(&home, &["repair", "three-copies"], Verdict::NotMet);
    home.change_rows("-- name: change\nUPDATE copies SET checked_at = 1 WHERE store = 'secondary'");
    assert_verdict(&home, &["checks-at-intervals"], Verdict::NotMet);
    assert_verdict(&home, &["checks-after-events"], Verdict::Met);
    home.change_rows("-- name: change\nUPDATE copies SET checked_at = 0 WHERE store = 'secondary'");
    assert_verdict(&home, &["checks-after-events"], Verdict::NotMet);
}

#[test]
fn checks_of_which_nothing_is_on_record_are_not_met() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"one")]);
    assert_verdict(
        &home,
        &["checks-recorded", "checks-at-intervals", "checks-after-events", "repair"],
        Verdict::NotMet,
    );
    home.change_rows(
        "-- name: change\nUPDATE copies SET verified_at = NULL, last_fixity_at = NULL WHERE store = 'primary'",
    );
    assert_verdict(&home, &["copies-verified"], Verdict::NotMet);
}

#[test]
fn files_without_events_without_formats_and_unchecked_ones_are_not_met() {
    let home = whole();
    change_settings(&home, |text| text.replace("tools = [\"clamdscan\"]", "tools = [\"mediainfo\"]"));
    assert_verdict(&home, &["viruses"], Verdict::NotMet);
    change_settings(&home, |text| text.replace("tools = [\"mediainfo\"]", "tools = [\"clamdscan\"]"));
    assert_verdict(&home, &["viruses"], Verdict::Met);
    home.ingest("later", &[("c.txt", b"three")]);
    assert_verdict(&home, &["viruses"], Verdict::NotMet);
    home.change_rows("-- name: change\nUPDATE entries SET puid = 'fmt/1', format_method = 'extension'");
    assert_verdict(&home, &["formats-known"], Verdict::Met);
    assert_verdict(&home, &["formats-verified"], Verdict::NotMet);
    home.change_rows("-- name: change\nUPDATE entries SET puid = NULL");
    assert_verdict(&home, &["formats-known"], Verdict::NotMet);
    home.change_rows("-- name: change\nUPDATE objects SET title = NULL, description = NULL");
    assert_verdict(&home, &["content-described"], Verdict::NotMet);
    // A file with other bytes than those whose ingest is on record.
    home.change_rows(
        "-- name: change
        UPDATE entries SET content_id = (SELECT max(id) FROM contents) WHERE content_id <> (SELECT max(id) FROM contents)",
    );
    assert_verdict(&home, &["digests-compared", "digests-computed", "acts-recorded"], Verdict::NotMet);
}

#[test]
fn users_rights_and_the_record_of_acts_are_as_they_are() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"one")]);
    assert_verdict(&home, &["agents-determined", "agents-applied", "acts-logged"], Verdict::NotMet);
    home.change_rows(TWO_ADMINS);
    narrow(home.path());
    assert_verdict(&home, &["agents-determined", "agents-applied"], Verdict::Met);
    home.change_rows("-- name: change\nUPDATE users SET state = 'deactivated' WHERE account = 'bob@test.edu'");
    assert_verdict(&home, &["agents-determined"], Verdict::Met);
    assert_verdict(&home, &["agents-applied"], Verdict::NotMet);
    run_task(&home, "audit");
    home.clock.advance(std::time::Duration::from_hours(25));
    run_task(&home, "audit");
    assert_verdict(&home, &["acts-logged"], Verdict::Met);
    home.change_rows("-- name: change\nDELETE FROM audit_copies WHERE store = 'primary'");
    assert_verdict(&home, &["acts-logged"], Verdict::NotMet);
}

#[test]
fn a_registry_that_is_behind_its_stores_is_no_inventory() {
    let home = whole();
    let backup = home.backup("before");
    home.ingest("later", &[("c.txt", b"three")]);
    let home = home.restored(&backup);
    assert_verdict(&home, &["inventory"], Verdict::NotMet);
}

fn what_is_kept_is_examined(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one")]);
    let met =
        ["digests-compared", "digests-computed", "copies-verified", "inventory", "content-described", "acts-recorded"];
    assert_verdict(&home, &met, Verdict::Met);
    assert_verdict(&home, &["agents-determined", "viruses"], Verdict::NotMet);
    let files = &verdicts(&home)["digests-compared"].1;
    assert!(files.ends_with(" files examined, 0 without a record of the ingest with digests"), "{files}");
}

on_both_databases! { what_is_kept_is_examined }

/// The rows of the first table of a page whose cells begin so, without their marks.
fn rows_of_page(page: &str, columns: usize) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).expect("the page");
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let lines = text.lines().filter(|line| line.starts_with("| ")).map(cells);
    lines.filter(|cells| cells.len() == columns && cells[0] != "level" && cells[0] != "requirement").collect()
}

#[test]
fn the_book_has_the_same_rows_as_the_program() {
    let home = home();
    let of_program: Vec<Vec<String>> =
        rows(&home).into_iter().map(|row| vec![row.level.to_string(), row.row, row.asks, row.command]).collect();
    let of_page: Vec<Vec<String>> = rows_of_page("ndsa-levels.md", 5)
        .into_iter()
        .map(|cells| [0, 1, 2, 4].iter().map(|at| cells[*at].clone()).collect())
        .collect();
    assert_eq!(of_page, of_program);
    let of_program: Vec<Vec<String>> = levels::core_trust_seal(&installation(&home), false)
        .expect("answers")
        .into_iter()
        .map(|row| vec![row.requirement, row.name, row.asks])
        .collect();
    let of_page: Vec<Vec<String>> =
        rows_of_page("core-trust-seal.md", 4).into_iter().map(|cells| cells[..3].to_vec()).collect();
    assert_eq!(of_page, of_program);
}
