//! Audit chains that are imported from the stores: nothing that was done is lost, nothing is in a chain twice, and what contradicts is reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use strongroom_audit::{Head, Link, RangeSum, names};
use strongroom_engine::Home;
use strongroom_engine::app::{audit, institutions};
use strongroom_engine::rebuild::{self, AdoptRequest, Summary};
use strongroom_engine::settings::Settings;
use strongroom_registry::tenants;
use tempfile::TempDir;

use crate::auditing::{DAY, KEY, assert_once, console, entries, exported, folder_in, publish, run, try_run, verify};
use crate::fixture::{self, Engine, INSTITUTION, KEPT_IN, TestHome, home_on};

fn adopt(home: &Home) -> Summary {
    rebuild::adopt(home, &AdoptRequest::default(), &mut |_| {}).expect("adopts")
}

/// A registry that is made from the stores, and what was reported.
fn rebuilt(home: &TestHome, from: &str) -> (TempDir, Arc<Home>, Summary) {
    let empty = TempDir::new().expect("a folder");
    let text = fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
    let text = text.replace("path = \"stores/", &format!("path = \"{}/", home.path().join("stores").display()));
    let settings = Settings::from_toml(&text).expect("settings");
    let made = Home::open_to_adopt(empty.path(), settings.clone()).expect("opens");
    rebuild::run(&made, from, &mut |_| {}).expect("rebuilds");
    let summary = adopt(&made);
    drop(made);
    let made = Arc::new(Home::open(empty.path(), settings).expect("opens"));
    (empty, made, summary)
}

fn is_once_and_whole(home: &TestHome, made: &Arc<Home>) -> Vec<serde_json::Value> {
    let folder = exported(made);
    run(made);
    let chain = folder.path().join(INSTITUTION);
    assert_once(&chain);
    verify(&[folder.path(), &home.file("primary", ""), &home.file("secondary", "")], &[]);
    entries(&chain)
}

fn take_away(home: &TestHome, store: &str) {
    fs::rename(home.file(store, ""), home.path().join(format!("{store}.away"))).expect("is away");
}

fn bring_back(home: &TestHome, store: &str) {
    fs::rename(home.path().join(format!("{store}.away")), home.file(store, "")).expect("is back");
}

/// An act of the institution.
fn act(home: &Arc<Home>, name: &str) {
    let changes = institutions::Changes { name: Some(name.to_owned()), ..institutions::Changes::default() };
    institutions::set(&console(home), INSTITUTION, changes).expect("sets it");
}

/// A range behind a link, as someone else would write it into a store; the files that were written.
fn forge(home: &TestHome, store: &str, mut link: Link, acts: &[serde_json::Value]) -> Vec<PathBuf> {
    let folder = folder_in(home, store);
    let (mut sum, mut text, first) = (RangeSum::behind(link.clone()), String::new(), link.sequence() + 1);
    for act in acts {
        let mut act = act.as_object().expect("an object").clone();
        act.insert("source".to_owned(), "journal".into());
        act.insert("id".to_owned(), uuid::Uuid::now_v7().to_string().into());
        let (line, next) = link.append("2026-05-04T09:30:00Z", &act).expect("appends");
        sum.take(line.as_bytes());
        text += &line;
        text.push('\n');
        link = next;
    }
    let (range, end) = sum.finish();
    let entries = folder.join(names::ENTRIES).join(names::entries_name(first, end.sequence()));
    let head = folder.join(names::HEADS).join(names::head_name(end.sequence()));
    fs::write(&entries, text).expect("writes");
    fs::write(&head, Head::of(&end, range, "2026-05-04T09:30:00Z").to_text().expect("a text")).expect("writes");
    vec![entries, head]
}

/// The heads of a chain in a store, in order.
fn heads(home: &TestHome, store: &str) -> Vec<Head> {
    let folder = fs::read_dir(folder_in(home, store).join(names::HEADS)).expect("a folder");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("one").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    files.iter().map(|file| Head::read(&fs::read_to_string(file).expect("reads")).expect("a head")).collect()
}

/// Removes the last range of a chain from a store.
fn remove_last(home: &TestHome, store: &str) {
    let head = heads(home, store).pop().expect("a head");
    let folder = folder_in(home, store);
    let name = names::entries_name(head.range().first, head.sequence());
    fs::remove_file(folder.join(names::ENTRIES).join(name)).expect("removes");
    let head = folder.join(names::HEADS).join(names::head_name(head.sequence()));
    let _ = fs::remove_file(head.with_extension("json.sig"));
    fs::remove_file(head).expect("removes");
}

/// As an adoption of a registry that is behind begins.
fn suspend(home: &TestHome) {
    home.registry.write(|tx| tenants::set_fact(tx, "audit.suspended", "yes")).expect("sets it");
}

fn of_source(entries: &[serde_json::Value], source: &str) -> usize {
    entries.iter().filter(|entry| entry["source"] == source).count()
}

#[test]
fn ranges_that_no_store_has_give_way_to_those_of_the_stores() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    let backup = home.backup("early");
    home.ingest("letters", &[("a.txt", b"two")]);
    publish(&home);
    let published = entries(&folder_in(&home, "primary"));
    for store in KEPT_IN {
        take_away(&home, store);
    }
    let home = home.restored(&backup);
    assert!(home.registry.refusal().is_none(), "the stores are away");
    for name in ["One", "Two"] {
        act(&home.home, name);
        publish(&home);
    }
    let (chains, _) = audit::list(&console(&home.home), None).expect("lists");
    let own: Vec<_> = chains.iter().map(|chain| (chain.chain.clone(), chain.published)).collect();
    for store in KEPT_IN {
        bring_back(&home, store);
    }
    let adopting = home.opened_to_adopt();
    let summary = adopt(&adopting);
    assert!(summary.is_complete(), "{:?}", summary.problems);
    drop(adopting);
    let after = Arc::new(home.opened_again());
    let found = is_once_and_whole(&home, &after);
    assert_eq!(&found[..published.len()], published, "{own:?}");
    assert_eq!(of_source(&found, "version"), 2);
}

#[test]
fn own_ranges_stay_where_the_stores_have_nothing_further() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    act(&home.home, "One");
    publish(&home);
    for store in KEPT_IN {
        remove_last(&home, store);
    }
    let before = exported(&home.home);
    let before = entries(&before.path().join(INSTITUTION));
    suspend(&home);
    home.change_rows("-- name: change\nDELETE FROM audit_copies");
    run(&home);
    let found = is_once_and_whole(&home, &home.home);
    assert_eq!(&found[..before.len()], before);
}

const SIGNED: &str = "[audit]\nsigning_key = \"audit.pem\"\n";

#[test]
fn a_signed_range_is_imported_and_not_a_longer_one_that_is_not_signed() {
    let home = fixture::home_with(SIGNED);
    fs::write(home.path().join("audit.pem"), KEY).expect("writes");
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    act(&home.home, "One");
    publish(&home);
    let published = entries(&folder_in(&home, "primary"));
    let common = heads(&home, "primary")[0].link();
    remove_last(&home, "secondary");
    let ends = json!({"act": "audit.key", "outcome": "done", "target": "none"});
    let forged =
        forge(&home, "secondary", common, &[ends, json!({"act": "forged", "outcome": "done"}), json!({"act": "x"})]);
    let bytes = fs::read(&forged[0]).expect("reads");
    for from in KEPT_IN {
        let (folder, made, summary) = rebuilt(&home, from);
        fs::write(folder.path().join("audit.pem"), KEY).expect("writes");
        let said: Vec<&str> = summary.problems.iter().map(|problem| problem.reason.as_str()).collect();
        assert!(
            said.iter().any(|said| said.contains("not of the audit chain") && said.contains("secondary")),
            "{said:?}"
        );
        let error = try_run(&made).expect_err("it is not resolved");
        assert!(error.contains("not of the audit chain"), "{error}");
        assert_eq!(fs::read(&forged[0]).expect("reads"), bytes);
        let folder = exported(&made);
        assert_eq!(&entries(&folder.path().join(INSTITUTION))[..published.len()], published);
        if from == KEPT_IN[1] {
            for file in &forged {
                fs::remove_file(file).expect("removes");
            }
            run(&made);
            is_once_and_whole(&home, &made);
            run(&made);
        } else {
            // As it was, for the other one.
            for head in heads(&home, "primary").into_iter().filter(|head| head.sequence() > published.len() as u64) {
                for store in KEPT_IN {
                    let folder = folder_in(&home, store);
                    let name = names::head_name(head.sequence());
                    let _ = fs::remove_file(folder.join(names::HEADS).join(names::signature_name(head.sequence())));
                    let _ = fs::remove_file(folder.join(names::HEADS).join(name));
                    let entries = names::entries_name(head.range().first, head.sequence());
                    let _ = fs::remove_file(folder.join(names::ENTRIES).join(entries));
                }
            }
        }
    }
}

/// A person who can write into one store, and has no key, adds a range that ends the signature.
#[test]
fn a_range_that_ends_the_signature_is_imported_only_where_the_settings_say_so() {
    let home = fixture::home_with(SIGNED);
    fs::write(home.path().join("audit.pem"), KEY).expect("writes");
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    let end = heads(&home, "primary").pop().expect("a head").link();
    let ends = json!({"act": "audit.key", "outcome": "done", "target": "none"});
    let forged = forge(&home, "secondary", end.clone(), &[ends, json!({"act": "forged", "outcome": "done"})]);
    // An earlier head that is truly signed, under a number behind the forged range.
    let folder = folder_in(&home, "secondary").join(names::HEADS);
    let replayed = [names::head_name, names::signature_name].map(|name| {
        fs::copy(folder.join(name(end.sequence())), folder.join(name(99))).expect("copies");
        folder.join(name(99))
    });
    let (folder, made, summary) = rebuilt(&home, "primary");
    let said: Vec<&str> = summary.problems.iter().map(|problem| problem.reason.as_str()).collect();
    assert!(said.iter().any(|said| said.contains("not signed by its key") && said.contains("secondary")), "{said:?}");
    let published = |made: &Arc<Home>| audit::list(&console(made), Some(INSTITUTION)).expect("lists").0[0].published;
    for is_key_there in [false, true] {
        if is_key_there {
            fs::write(folder.path().join("audit.pem"), KEY).expect("writes");
        }
        act(&made, "New");
        let error = try_run(&made).expect_err("it is not resolved");
        assert!(error.contains("not signed by its key"), "{error}");
        assert_eq!(published(&made), end.sequence());
        assert!(!folder_in(&home, "primary").join(names::HEADS).join(forged[1].file_name().expect("a name")).exists());
    }
    for file in forged.iter().chain(&replayed) {
        fs::remove_file(file).expect("removes");
    }
    run(&made);
    is_once_and_whole(&home, &made);
}

#[test]
fn where_stores_contradict_each_other_the_common_part_is_imported_until_people_resolve_it() {
    for kept in KEPT_IN {
        let home = fixture::home();
        home.ingest("letters", &[("a.txt", b"one")]);
        publish(&home);
        home.ingest("letters", &[("a.txt", b"two")]);
        publish(&home);
        let common = heads(&home, "primary")[0].link();
        remove_last(&home, "secondary");
        let forged = forge(&home, "secondary", common.clone(), &[json!({"act": "forged"})]);
        let true_ones: Vec<PathBuf> = {
            let head = heads(&home, "primary").pop().expect("a head");
            let folder = folder_in(&home, "primary");
            let entries = names::entries_name(head.range().first, head.sequence());
            vec![
                folder.join(names::ENTRIES).join(entries),
                folder.join(names::HEADS).join(names::head_name(head.sequence())),
            ]
        };
        let (_folder, made, summary) = rebuilt(&home, "primary");
        let said: Vec<&str> = summary.problems.iter().map(|problem| problem.reason.as_str()).collect();
        assert!(said.iter().any(|said| said.contains("contradict each other")), "{said:?}");
        act(&made, "New");
        for _ in 0..2 {
            let error = try_run(&made).expect_err("it is not resolved");
            assert!(error.contains("contradict each other"), "{error}");
        }
        let (chains, _) = audit::list(&console(&made), Some(INSTITUTION)).expect("lists");
        assert_eq!(chains[0].published, common.sequence());
        let (chosen, other) = if kept == "primary" { (&true_ones, &forged) } else { (&forged, &true_ones) };
        let text = fs::read_to_string(&chosen[0]).expect("reads");
        for file in other {
            fs::remove_file(file).expect("removes");
        }
        run(&made);
        let found = is_once_and_whole(&home, &made);
        let first = &found[usize::try_from(common.sequence()).expect("a number")];
        assert_eq!(Some(first.to_string().len()), text.lines().next().map(str::len));
        assert_eq!(of_source(&found, "version"), 2);
    }
}

/// The ways in which a store can have files of a chain that are of no range of it; the files.
type Foreign = fn(&TestHome, u64) -> Vec<PathBuf>;

#[test]
fn files_that_are_no_range_of_a_chain_are_named_until_they_are_gone() {
    let ways: [(&str, Foreign); 6] = [
        ("entries that end where a range of the chain ends", |home, last| {
            let foreign = folder_in(home, "secondary").join(names::ENTRIES).join(names::entries_name(last, last));
            fs::write(&foreign, "{}\n").expect("writes");
            vec![foreign]
        }),
        ("a head of nothing, which is none", |home, last| {
            let nothing = folder_in(home, "secondary").join(names::HEADS).join("000000000000.json");
            fs::write(&nothing, "{}").expect("writes");
            let foreign = folder_in(home, "secondary").join(names::ENTRIES).join(names::entries_name(last, last + 1));
            fs::write(&foreign, "{}\n").expect("writes");
            vec![foreign, nothing]
        }),
        ("entries within the chain and behind its end", |home, last| {
            let foreign = folder_in(home, "secondary").join(names::ENTRIES).join(names::entries_name(last, last + 9));
            fs::write(&foreign, "{}\n").expect("writes");
            vec![foreign]
        }),
        ("entries behind the end, whose process was killed before it put their head", |home, last| {
            act(&home.home, "Newer");
            home.clock.advance(DAY);
            run(home);
            for store in KEPT_IN {
                let head =
                    folder_in(home, store).join(names::HEADS).join(names::head_name(heads(home, store)[1].sequence()));
                fs::remove_file(head).expect("removes");
            }
            let folder = folder_in(home, "secondary").join(names::ENTRIES);
            let of_both = |store: &str| {
                let files = fs::read_dir(folder_in(home, store).join(names::ENTRIES)).expect("a folder");
                let behind = names::entries_name(last + 1, 0);
                let begin = behind.split('-').next().expect("a number").to_owned();
                let files = files.map(|entry| entry.expect("one").path());
                let is_behind =
                    |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin));
                files.filter(is_behind).collect::<Vec<_>>()
            };
            assert_eq!(of_both("secondary")[0].parent(), Some(folder.as_path()));
            KEPT_IN.iter().flat_map(|store| of_both(store)).collect()
        }),
        ("a head within the chain", |home, last| {
            let folder = folder_in(home, "secondary").join(names::HEADS);
            let foreign = folder.join(names::head_name(last - 1));
            fs::copy(folder.join(names::head_name(last)), &foreign).expect("copies");
            vec![foreign]
        }),
        ("a head behind the end", |home, last| {
            let foreign = folder_in(home, "secondary").join(names::HEADS).join(names::head_name(last + 1));
            fs::write(&foreign, "{}").expect("writes");
            vec![foreign]
        }),
    ];
    for (way, make) in ways {
        println!("{way}");
        let home = fixture::home();
        home.ingest("letters", &[("a.txt", b"one")]);
        publish(&home);
        let last = heads(&home, "primary")[0].sequence();
        let foreign = make(&home, last);
        assert!(!foreign.is_empty());
        let (_folder, made, summary) = rebuilt(&home, "primary");
        let said: Vec<&str> = summary.problems.iter().map(|problem| problem.reason.as_str()).collect();
        assert!(said.iter().any(|said| said.contains("are not of the audit chain")), "{way}: {said:?}");
        act(&made, "New");
        let error = try_run(&made).expect_err("it is not resolved");
        assert!(error.contains("secondary"), "{way}: {error}");
        for file in foreign {
            fs::remove_file(file).expect("removes");
        }
        run(&made);
        is_once_and_whole(&home, &made);
    }
}

fn object_folder(home: &TestHome, store: &str, name: &str) -> PathBuf {
    let roots = home.keys(store).into_iter().filter(|key| key.contains("0=ocfl_object"));
    let mut folders =
        roots.map(|key| home.file(store, Path::new(&key).parent().and_then(Path::to_str).expect("a folder")));
    let is_it = |folder: &PathBuf| fs::read_to_string(folder.join("inventory.json")).expect("reads").contains(name);
    folders.find(is_it).expect("the object")
}

#[test]
fn an_object_that_comes_back_after_a_rebuild_is_not_appended_again() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    home.ingest("photographs", &[("1.tif", b"II*\0")]);
    publish(&home);
    let away: Vec<(PathBuf, PathBuf)> = KEPT_IN
        .iter()
        .map(|store| (object_folder(&home, store, "photographs"), home.path().join(format!("photographs.{store}"))))
        .collect();
    for (there, elsewhere) in &away {
        fs::rename(there, elsewhere).expect("is away");
    }
    let (folder, made, _) = rebuilt(&home, "primary");
    let before = is_once_and_whole(&home, &made);
    assert_eq!(of_source(&before, "version"), 2);
    for (there, elsewhere) in &away {
        fs::rename(elsewhere, there).expect("is back");
    }
    let settings = made.settings.clone();
    drop(made);
    let adopting = Home::open_to_adopt(folder.path(), settings).expect("opens");
    assert_eq!(adopt(&adopting).versions, 1);
    drop(adopting);
    let again = Arc::new(Home::open(folder.path(), home_settings(&home)).expect("opens"));
    let after = is_once_and_whole(&home, &again);
    assert_eq!(&after[..before.len()], before);
    assert_eq!(of_source(&after, "version"), 2);
    let (_, pending) = audit::list(&console(&again), Some(INSTITUTION)).expect("lists");
    assert_eq!(pending, 0, "what is in the chain is not pending");
}

fn home_settings(home: &TestHome) -> Settings {
    let text = fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
    let text = text.replace("path = \"stores/", &format!("path = \"{}/", home.path().join("stores").display()));
    Settings::from_toml(&text).expect("settings")
}

#[test]
fn a_name_that_is_not_utf8_is_reported_and_passed_over() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    fs::write(folder_in(&home, "primary").join(OsStr::from_bytes(b"entries/\xff.jsonl")), "x").expect("writes");
    let (_folder, made, summary) = rebuilt(&home, "primary");
    assert!(summary.problems.iter().any(|problem| problem.reason.contains("is not UTF-8")), "{:?}", summary.problems);
    is_once_and_whole(&home, &made);
}

#[test]
fn a_key_that_was_replaced_does_not_sign_again() {
    const OTHER: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwiTyBijGj9hNigYcOdeWXIGF5v
-----END PRIVATE KEY-----
";
    let home = fixture::home();
    fs::write(home.path().join("one.pem"), KEY).expect("writes");
    fs::write(home.path().join("two.pem"), OTHER).expect("writes");
    let with = |key: &str| {
        let mut settings = home.settings.clone();
        settings.audit.signing_key = Some(key.to_owned());
        Arc::new(Home::with_registry(home.path(), settings, home.registry.clone()).expect("opens"))
    };
    let (one, two) = (with("one.pem"), with("two.pem"));
    home.ingest("letters", &[("a.txt", b"one")]);
    // The chain begins.
    run(&one);
    for round in 0..3 {
        act(&home.home, &format!("A{round}"));
        home.clock.advance(DAY);
        let first = try_run(&one);
        assert_eq!(first.is_ok(), round == 0, "{first:?}");
        if let Err(error) = first {
            assert!(error.contains("was replaced earlier"), "{error}");
        }
        act(&home.home, &format!("B{round}"));
        home.clock.advance(DAY);
        run(&two);
    }
    let found = entries(&folder_in(&home, "primary"));
    assert_eq!(found.iter().filter(|entry| entry["act"] == "audit.key").count(), 2);
    verify(&[&home.file("primary", "")], &[]);
}

#[test]
fn a_clock_that_was_ahead_delays_nothing() {
    let home = fixture::home();
    home.clock.advance(DAY * 400);
    home.ingest("letters", &[("a.txt", b"one")]);
    publish(&home);
    home.clock.set_back(DAY * 390);
    act(&home.home, "One");
    let head = fs::read_dir(folder_in(&home, "primary").join(names::HEADS)).expect("a folder").next();
    fs::remove_file(head.expect("a head").expect("a head").path()).expect("removes");
    run(&home);
    assert_eq!(heads(&home, "primary").len(), 2, "it is read again, and the next one is published");
    verify(&[&home.file("primary", "")], &[]);
}

#[test]
fn what_the_registry_has_appended_behind_an_imported_range_is_appended_again_in_both_databases() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(home) = home_on(engine, "") else { continue };
        home.ingest("letters", &[("a.txt", b"one")]);
        publish(&home);
        act(&home.home, "One");
        run(&home);
        let common = heads(&home, "primary")[0].link();
        let one = forge(&home, "primary", common.clone(), &[json!({"act": "one"}), json!({"act": "two"})]);
        let other = forge(&home, "secondary", common.clone(), &[json!({"act": "other"})]);
        suspend(&home);
        let error = try_run(&home).expect_err("it is not resolved");
        assert!(error.contains("contradict each other"), "{error}");
        let (_, pending) = audit::list(&console(&home.home), Some(INSTITUTION)).expect("lists");
        assert_eq!(pending, 0, "acts are appended meanwhile");
        for file in other {
            fs::remove_file(file).expect("removes");
        }
        run(&home);
        let found = is_once_and_whole(&home, &home.home);
        let acts: Vec<_> = found.iter().filter_map(|entry| entry["act"].as_str()).collect();
        let behind = &acts[usize::try_from(common.sequence()).expect("a number")..];
        assert_eq!(behind[..3], ["one", "two", "institutions.set"]);
        assert!(one.iter().all(|file| file.is_file()));
    }
}
