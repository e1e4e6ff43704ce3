//! The agent `tool`: programs of other people that are run for files that are kept. ClamAV and MediaInfo are those of Debian, where they
//! are unpacked; others are scripts.

#[cfg(feature = "failpoints")]
mod crash;
mod ingest;
mod programs;

use std::collections::BTreeMap;

use strongroom_engine::activities::RecordOutcome;
use strongroom_engine::app::activities::{self, ActivityState, FindingFilter, Request};
use strongroom_engine::app::views::{ActivityId, ToolFindingState, ToolFindingView};
use strongroom_engine::ingest::{DepositKind, DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, ToolLauncher, background, work_on};
use strongroom_records::RecordState;
use strongroom_registry::documents;
use strongroom_registry::events::Event;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{CollectionId, ItemId, ItemStatus, RegistryError, Scope, items};

use super::scripted::{Script, Scripted};
use super::{begin, begin_behind, call, check_counts, options, records, show, task, work, work_rounds};
use crate::fixture::{self, Engine, INSTITUTION, KEPT_IN, TestHome, home_on, on_both_databases};
use crate::rebuild::{all_events, copy_stores, rebuilt};
use programs::{Clamd, debian, eicar, libraries, script, wave};

on_both_databases! {
    a_virus_is_an_outcome_and_a_finding_until_the_tool_passes_the_file_or_a_person_dismisses_it
    what_mediainfo_says_is_kept_with_the_object
    what_a_tool_does_to_the_machine_fails_the_record_and_says_which_limit
    a_tool_cannot_change_what_is_kept_and_leaves_nothing_behind
    a_copy_that_is_damaged_is_found_and_another_one_is_read
    a_file_that_is_too_large_to_be_copied_is_read_where_it_lies
    files_of_a_collection_or_an_object_alone_and_of_all_versions
    what_another_activity_has_processed_is_the_input
    work_items_that_are_open_are_waited_for_however_long_that_takes
    what_is_waited_for_carries_work_items_out_that_a_tool_waits_for
    every_file_of_a_version_is_looked_at_also_where_none_is_new_in_it
    a_version_is_looked_at_whose_work_item_was_removed
    a_document_that_is_called_as_a_file_is_looked_at_itself
    a_virus_in_a_harvested_document_is_a_finding_and_is_counted
    tools_are_run_before_a_version_is_published_and_a_virus_ends_the_deposit
}

/// A home whose tools are started by the launcher of the tests.
fn home_for(engine: Engine, settings: &str) -> Option<TestHome> {
    let made = home_on(engine, settings)?;
    set_launcher(&made);
    Some(made)
}

fn set_launcher(home: &Home) {
    let program = env!("CARGO_BIN_EXE_strongroom-engine-launcher").into();
    home.set_tool_launcher(ToolLauncher { program, arguments: Vec::new() });
}

fn run_tool(home: &TestHome, tool: &str, more: &[(&str, &str)]) -> ActivityId {
    let mut all = vec![("tool", tool), ("institution", INSTITUTION)];
    all.extend(more);
    let id = begin(home, "tool", &all);
    work(home);
    check_counts(&show(home, id));
    id
}

/// The events of a kind of an object, by the paths of their files.
fn events_of(home: &TestHome, object: &Object, kind: &str) -> BTreeMap<String, Vec<Event>> {
    let mut found: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in
        all_events(home, object).into_iter().filter(|event| event.kind == kind && event.agent.starts_with("tool:"))
    {
        found.entry(event.path.clone().expect("the path of a file")).or_default().push(event);
    }
    found
}

fn findings(home: &TestHome, settled_too: bool) -> Vec<ToolFindingView> {
    let filter = FindingFilter { settled_too, ..FindingFilter::default() };
    activities::findings(&call(home), &filter, None).expect("the findings").items
}

/// What a tool said of a file, of the document that is the result of its record.
fn said(home: &TestHome, id: ActivityId, path: &str) -> serde_json::Value {
    for record in records(home, id, RecordState::Processed) {
        let document = documents::of_entity(&record.result.expect("a result")).expect("a document");
        let found = home.registry.read(|tx| documents::get(tx, document)).expect("reads").expect("the document");
        let said: serde_json::Value = serde_json::from_slice(&found.bytes).expect("JSON");
        if said["path"] == path {
            return said;
        }
    }
    panic!("no record of {path}")
}

fn a_virus_is_an_outcome_and_a_finding_until_the_tool_passes_the_file_or_a_person_dismisses_it(engine: Engine) {
    let Some(mut clamd) = Clamd::start() else { return };
    let Some(home) = home_for(engine, &clamd.settings()) else { return };
    let object = home.ingest("letters", &[("a.txt", b"clean"), ("virus.txt", eicar().as_bytes())]);
    let before = home.keys("primary").len();
    let id = run_tool(&home, "clamdscan", &[]);
    let view = show(&home, id);
    assert_eq!(
        (view.state, view.failed),
        (ActivityState::Finished, Some(0)),
        "{:?}",
        records(&home, id, RecordState::Failed)
    );
    let events = events_of(&home, &object, "virus check");
    assert_eq!(view.processed, Some(events.len() as u64), "an event for each file: {events:?}");
    let (clean, virus) = (&events["data/a.txt"], &events["data/virus.txt"]);
    assert_eq!((clean.len(), clean[0].outcome.as_str()), (1, "success"));
    assert_eq!((virus.len(), virus[0].outcome.as_str()), (1, "failure"));
    assert_eq!(virus[0].outcome_detail.as_deref(), Some("Eicar-Test-Signature.UNOFFICIAL"));
    assert!(virus[0].agent.starts_with("tool:clamdscan/1."), "{}", virus[0].agent);
    assert_eq!(virus[0].actor.as_ref().map(|actor| actor.name.as_str()), Some("operator"));
    assert_eq!(said(&home, id, "data/virus.txt")["fields"]["signature"][0], "Eicar-Test-Signature.UNOFFICIAL");
    let found = findings(&home, false);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_deref(), found[0].state), (Some("data/virus.txt"), ToolFindingState::Open));
    assert_eq!((found[0].activity, view.tool_failed), (Some(id), Some(1)));
    assert_eq!(view.tool_passed, view.processed.map(|all| all - 1));
    // Nothing is removed: each store has a log more, and all that it had.
    assert_eq!(home.keys("primary").iter().filter(|key| key.contains("-tool-")).count(), 1);
    assert!(home.keys("primary").len() > before);

    // A registry that is made from a store knows it as well.
    let fresh = fixture::home();
    copy_stores(&home, &fresh);
    rebuilt(&fresh, KEPT_IN[0]);
    let again = findings(&fresh, false);
    assert_eq!((again[0].finding, &again[0].detail), (found[0].finding, &found[0].detail));
    assert_eq!(events_of(&fresh, &object, "virus check")["data/virus.txt"][0].id, virus[0].id);

    // Found again, it is one finding. What a person has dismissed stays so.
    run_tool(&home, "clamdscan", &[]);
    assert_eq!(findings(&home, true).len(), 1);
    let dismissed = activities::dismiss(&call(&home), found[0].finding, "a test file").expect("dismisses");
    assert_eq!((dismissed.state, dismissed.note.as_deref()), (ToolFindingState::Dismissed, Some("a test file")));
    assert!(activities::dismiss(&call(&home), found[0].finding, "again").is_err());
    run_tool(&home, "clamdscan", &[]);
    assert_eq!((findings(&home, false).len(), findings(&home, true).len()), (0, 1));

    // A server that is away is no verdict: no event, and the records can be tried again.
    clamd.stop();
    let count = |home: &TestHome| events_of(home, &object, "virus check").values().map(Vec::len).sum::<usize>();
    let events = count(&home);
    let id = run_tool(&home, "clamdscan", &[]);
    let failed = records(&home, id, RecordState::Failed);
    assert_eq!(Some(failed.len() as u64), view.processed, "{failed:?}");
    let error = failed[0].error.as_deref().expect("a reason");
    assert!(error.contains("cannot tell now") && error.contains("clamd"), "{error}");
    assert_eq!((failed[0].attempts, count(&home)), (3, events));
    clamd.restart();
    activities::retry_failed(&call(&home), id).expect("retries");
    work(&home);
    assert_eq!(show(&home, id).state, ActivityState::Finished);
}

fn what_mediainfo_says_is_kept_with_the_object(engine: Engine) {
    let Some(root) = debian("MediaInfo") else { return };
    let program = root.join("usr/bin/mediainfo");
    let settings = format!(
        "[tools.mediainfo]\nprogram = {:?}\nenvironment = [\"LD_LIBRARY_PATH={}\"]\n",
        program.display().to_string(),
        libraries(&root)
    );
    let Some(home) = home_for(engine, &settings) else { return };
    let object = home.ingest("sounds", &[("silence.wav", &wave()), ("note.txt", b"a text")]);
    let id = run_tool(&home, "mediainfo", &[]);
    assert_eq!(show(&home, id).state, ActivityState::Finished, "{:?}", records(&home, id, RecordState::Failed));
    let fields = said(&home, id, "data/silence.wav")["fields"].clone();
    for (name, value) in [("format", "Wave"), ("sampling_rate", "8000"), ("bit_depth", "16")] {
        assert_eq!(fields[name][0], value, "{name}: {fields}");
    }
    let check = |home: &TestHome| {
        let events = events_of(home, &object, "metadata extraction");
        let event = &events["data/silence.wav"][0];
        assert!(event.outcome_detail.as_deref().is_some_and(|text| text.contains("format: Wave")), "{event:?}");
        assert!(event.agent.starts_with("tool:mediainfo/") && event.outcome == "success", "{event:?}");
    };
    check(&home);
    assert!(findings(&home, true).is_empty());
    let fresh = fixture::home();
    copy_stores(&home, &fresh);
    rebuilt(&fresh, KEPT_IN[1]);
    check(&fresh);
}

fn what_a_tool_does_to_the_machine_fails_the_record_and_says_which_limit(engine: Engine) {
    let hangs = script("hangs", "sleep 1000 & wait", "[limits]\nwall_seconds = 1\n");
    let eats = script(
        "eats",
        "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo $x | wc -c",
        "[limits]\nmemory_bytes = 67108864\n",
    );
    let talks = script("talks", "yes", "[limits]\noutput_bytes = 65536\n");
    let crashes = script("crashes", "kill -SEGV $$", "");
    let unclear = script("unclear", "echo what now >&2; exit 3", "");
    let missing = (
        "missing".to_owned(),
        "name = \"missing\"\nprogram = \"/nowhere/scanner\"\narguments = [\"{file}\"]\n".to_owned(),
    );
    let tools = [hangs, eats, talks, crashes, unclear, missing];
    let Some(home) = programs::home_with_tools(engine, &tools) else { return };
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    for (tool, words) in [
        ("hangs", "the limit on time is reached"),
        ("eats", "memory"),
        ("talks", "the limit on output is reached"),
        ("crashes", "signal 11"),
        ("unclear", "exit code 3, for which no rule applies: what now"),
        ("missing", "cannot be started"),
    ] {
        let id = run_tool(&home, tool, &[]);
        let view = show(&home, id);
        assert_eq!((view.state, view.processed), (ActivityState::FinishedWithErrors, Some(0)), "{tool}");
        for failed in records(&home, id, RecordState::Failed) {
            let is_named = failed.object.as_deref() == Some(&object.identifier) && failed.path.is_some();
            assert!(is_named, "{failed:?}");
            let error = failed.error.expect("a reason");
            assert!(error.contains(words), "{tool}: {error}");
        }
    }
    assert!(events_of(&home, &object, "validation").is_empty(), "what could not be told is no event");
    // An activity can set the limits.
    let id = run_tool(&home, "talks", &[("time_limit", "5m"), ("memory_limit", "64 MiB")]);
    assert_eq!(show(&home, id).failed.unwrap_or_default(), show(&home, id).populated.unwrap_or_default());
    programs::assert_no_scratch(&home);
}

fn a_tool_cannot_change_what_is_kept_and_leaves_nothing_behind(engine: Engine) {
    let writes =
        script("writes", "echo changed > \"$1\" 2>/dev/null; rm -f \"$1\"; echo left > \"$TMPDIR/left\"; exit 0", "");
    let Some(home) = programs::home_with_tools(engine, &[writes]) else { return };
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let id = run_tool(&home, "writes", &[]);
    assert_eq!(show(&home, id).state, ActivityState::Finished);
    let file = programs::file_of(&home, &object, "deposit/data/a.txt");
    let copies = home.registry.read(|tx| objects::copies(tx, file.content)).expect("the copies");
    for copy in copies {
        assert_eq!(std::fs::read(home.file(&copy.store, &copy.key)).expect("reads"), b"one");
    }
    programs::assert_no_scratch(&home);
}

fn a_copy_that_is_damaged_is_found_and_another_one_is_read(engine: Engine) {
    let reads = script(
        "reads",
        "printf 'bytes=%s\\n' \"$(cat \"$1\")\"",
        "[output]\nformat = \"pattern\"\npattern = 'bytes=(?P<bytes>.*)'\n",
    );
    let Some(home) = programs::home_with_tools(engine, &[reads]) else { return };
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let file = programs::file_of(&home, &object, "deposit/data/a.txt");
    let copies = home.registry.read(|tx| objects::copies(tx, file.content)).expect("the copies");
    let primary = copies.iter().find(|copy| copy.store == "primary").expect("a copy");
    std::fs::write(home.file("primary", &primary.key), b"two").expect("damages it");
    let id = run_tool(&home, "reads", &[]);
    assert_eq!(said(&home, id, "data/a.txt")["fields"]["bytes"][0], "one");
    let found = strongroom_engine::fixity::problems(&home, None, None, 10).map(|found| found.len());
    assert_eq!(found.ok(), Some(1));
}

fn a_file_that_is_too_large_to_be_copied_is_read_where_it_lies(engine: Engine) {
    let (name, text) = script(
        "where",
        "printf 'path=%s\\n' \"$1\"",
        "[output]\nformat = \"pattern\"\npattern = 'path=(?P<path>.*)'\n",
    );
    let Some(home) = programs::home_with_tools_and(engine, &[(name, text)], "max_copied = \"0\"\n") else { return };
    home.ingest("letters", &[("a.txt", b"one")]);
    let id = run_tool(&home, "where", &[]);
    let said = said(&home, id, "data/a.txt");
    let path = said["fields"]["path"][0].as_str().expect("a path");
    assert!(path.starts_with(&home.path().join("stores").display().to_string()), "{path}");
}

fn files_of_a_collection_or_an_object_alone_and_of_all_versions(engine: Engine) {
    let Some(home) = programs::home_with_tools(engine, &[script("passes", "exit 0", "")]) else { return };
    home.registry
        .write(|tx| {
            let own = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            let rules = CollectionRules { name: "empty".to_owned(), ..CollectionRules::default() };
            tenants::add_collection(tx, CollectionId::new(), own, "empty", (&rules, "test"))
        })
        .expect("adds");
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"another")]);
    home.ingest("diaries", &[("c.txt", b"three")]);
    let populated = |more: &[(&str, &str)]| show(&home, run_tool(&home, "passes", more)).populated.expect("a list");
    let (all, letters) = (populated(&[]), populated(&[("object", &format!("{INSTITUTION}/letters"))]));
    let diaries = populated(&[("object", &format!("{INSTITUTION}/diaries"))]);
    assert_eq!(all, letters + diaries);
    assert_eq!(populated(&[("collection", "empty")]), 0);
    let object = home.object("letters");
    let events = events_of(&home, &object, "validation");
    // Twice each: by the run over all, and by the one over the object.
    assert_eq!((events["data/a.txt"].len(), events["data/b.txt"].len()), (2, 4), "what was replaced is kept, too");

    let refused = |more: &[(&str, &str)]| {
        let request = Request { agent: "tool".to_owned(), options: options(more), ..Request::default() };
        activities::run(&call(&home), &request).expect_err("refuses").to_string()
    };
    assert!(refused(&[]).contains("no tool is named"));
    assert!(refused(&[("tool", "nothing")]).contains("there is no tool"));
    assert!(refused(&[("tool", "passes"), ("collection", "nothing")]).contains("there is no collection"));
    assert!(refused(&[("tool", "passes"), ("object", "nothing")]).contains("object"));
    assert!(refused(&[("tool", "passes"), ("time_limit", "soon")]).contains("no duration"));
}

fn what_another_activity_has_processed_is_the_input(engine: Engine) {
    let counts = script(
        "counts",
        "printf 'bytes=%s\\n' \"$(wc -c < \"$1\")\"",
        "[output]\nformat = \"pattern\"\npattern = 'bytes=(?P<bytes>.*)'\n",
    );
    let Some(home) = programs::home_with_tools(engine, &[counts]) else { return };
    let folder = home.path().join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [("one", "<record>one</record>"), ("three", "<record>three</record>")] {
        std::fs::write(folder.join(format!("{name}.xml")), text).expect("a file");
    }
    let harvest = begin(&home, "harvest", &[("kind", "folder"), ("path", folder.to_str().expect("UTF-8"))]);
    work(&home);
    // Of what was harvested, the bytes of each document.
    let of_documents = begin_tool_behind(&home, "counts", harvest);
    work(&home);
    let view = show(&home, of_documents);
    assert_eq!(
        (view.state, view.processed),
        (ActivityState::Finished, Some(2)),
        "{:?}",
        records(&home, of_documents, RecordState::Failed)
    );

    // Of what was deposited, the files of each work item, once it has succeeded.
    let deposit = begin_behind(&home, "deposit", harvest, false);
    work(&home);
    let items = records(&home, deposit, RecordState::Processed);
    let items: Vec<_> =
        items.iter().map(|record| record.result.as_ref().expect("an item").parse().expect("an id")).collect();
    work_on(&home, &items, &Shutdown::new()).expect("works");
    let of_items = begin_tool_behind(&home, "counts", deposit);
    work(&home);
    let view = show(&home, of_items);
    assert_eq!(
        (view.state, view.processed),
        (ActivityState::Finished, Some(2)),
        "{:?}",
        records(&home, of_items, RecordState::Failed)
    );
    for object in crate::rebuild::all_objects(&home) {
        let events = events_of(&home, &object, "validation");
        assert!(events.values().all(|of_file| of_file.len() == 1) && !events.is_empty(), "{events:?}");
    }
    // What a tool said, and what was deposited, is not deposited.
    let passed_on = begin_behind(&home, "copy", of_documents, false);
    for (input, made) in
        [(of_documents, "what a program said"), (passed_on, "what a program said"), (deposit, "work items")]
    {
        let request = Request { agent: "deposit".to_owned(), input: Some(input), ..Request::default() };
        let error = activities::run(&call(&home), &request).expect_err("refuses").to_string();
        assert!(error.contains("cannot take") && error.contains(made), "{error}");
    }
    let harvested = begin_behind(&home, "copy", harvest, false);
    begin_behind(&home, "deposit", harvested, false);
    work(&home);
    // A work item that made no version has nothing for a tool.
    home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?)).expect("the time");
    let request = Request {
        agent: "tool".to_owned(),
        options: options(&[("tool", "counts"), ("object", "x")]),
        input: Some(deposit),
        ..Request::default()
    };
    assert!(activities::run(&call(&home), &request).is_err(), "an object beside an input");
}

fn a_virus_in_a_harvested_document_is_a_finding_and_is_counted(engine: Engine) {
    let rules = "rules = [{ exit = [0], outcome = \"pass\" }, { exit = [1], outcome = \"fail\" }]\n";
    let (_, text) = script("scanner", "if grep -q virus \"$1\"; then echo a virus >&2; exit 1; fi", rules);
    let settings = "[tools.scanner]\nconfiguration = \"scanner.toml\"\nevent = \"virus check\"\n";
    let Some(home) = home_for(engine, settings) else { return };
    std::fs::write(home.path().join("scanner.toml"), text).expect("writes");
    let folder = home.path().join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [("one", "<record>one</record>"), ("two", "<record>a virus</record>")] {
        std::fs::write(folder.join(format!("{name}.xml")), text).expect("a file");
    }
    let harvest = begin(&home, "harvest", &[("kind", "folder"), ("path", folder.to_str().expect("UTF-8"))]);
    work(&home);
    assert_eq!((show(&home, harvest).tool_passed, show(&home, harvest).tool_failed), (None, None));
    let scan = begin_tool_behind(&home, "scanner", harvest);
    work(&home);
    let view = show(&home, scan);
    let counts = (view.state, view.processed, view.tool_passed, view.tool_failed);
    assert_eq!(counts, (ActivityState::Finished, Some(2), Some(1), Some(1)));
    let found = findings(&home, false);
    let [infected] = found.as_slice() else { panic!("one finding: {found:?}") };
    assert_eq!((infected.record.as_deref(), infected.state), (Some("two.xml"), ToolFindingState::Open));
    assert_eq!((infected.object.as_deref(), infected.file, infected.activity), (None, None, Some(scan)));
    let name = infected.document.clone().expect("a document");
    let (document, bytes) = documents_of(&home, &name);
    assert_eq!((bytes.as_slice(), document.record.as_str()), (b"<record>a virus</record>".as_slice(), "two.xml"));
    let of_scan = records(&home, scan, RecordState::Processed);
    let outcome = |record: &str| of_scan.iter().find(|one| one.record == record).and_then(|one| one.outcome.as_deref());
    assert_eq!(outcome(&name), Some("fail"));
    assert!(of_scan.iter().any(|one| one.outcome.as_deref() == Some("pass")));

    // Each run counts what it found; the finding is one, and stays settled when a person has settled it.
    activities::dismiss(&call(&home), infected.finding, "a test").expect("dismisses");
    activities::rerun(&call(&home), scan, false).expect("runs again");
    work(&home);
    let again = show(&home, scan);
    assert_eq!((again.run, again.tool_passed, again.tool_failed), (2, Some(1), Some(1)));
    assert_eq!((findings(&home, false).len(), findings(&home, true).len()), (0, 1));
    // Of an activity alone.
    let other = begin_tool_behind(&home, "scanner", harvest);
    let of = |id| {
        let filter = FindingFilter { activity: Some(id), ..FindingFilter::default() };
        activities::findings(&call(&home), &filter, None).expect("the findings").items.len()
    };
    assert_eq!((of(scan), of(other)), (1, 0));
    work(&home);
    assert_eq!((of(scan), of(other)), (1, 1), "each has found it");
}

fn documents_of(home: &TestHome, name: &str) -> (strongroom_engine::app::views::DocumentView, Vec<u8>) {
    let (view, bytes) =
        strongroom_engine::app::documents::show(&call(home), name, Some(INSTITUTION)).expect("the document");
    assert_eq!((view.document.as_str(), view.size), (name, bytes.len() as u64));
    (view, bytes)
}

fn begin_tool_behind(home: &TestHome, tool: &str, input: ActivityId) -> ActivityId {
    let request = Request {
        agent: "tool".to_owned(),
        options: options(&[("tool", tool)]),
        input: Some(input),
        ..Request::default()
    };
    activities::run(&call(home), &request).expect("an activity").activity
}

fn tools_are_run_before_a_version_is_published_and_a_virus_ends_the_deposit(engine: Engine) {
    let rules = "rules = [{ exit = [0], outcome = \"pass\" }, { exit = [1], outcome = \"fail\" }]\n";
    let scanner = script("scanner", "if grep -q virus \"$1\"; then echo a virus >&2; exit 1; fi", rules);
    let format = script("format", "! grep -q broken \"$1\"", rules);
    let settings = "[tools.scanner]\nconfiguration = \"scanner.toml\"\nevent = \"virus check\"\n\
                    [tools.format]\nconfiguration = \"format.toml\"\n[ingest]\ntools = [\"scanner\", \"format\"]\n";
    let Some(home) = home_for(engine, settings) else { return };
    for (name, text) in [scanner, format] {
        std::fs::write(home.path().join(format!("{name}.toml")), text).expect("writes");
    }
    let object = home.ingest("letters", &[("a.txt", b"clean"), ("b.txt", b"broken")]);
    let check = |home: &TestHome| {
        let (viruses, formats) = (events_of(home, &object, "virus check"), events_of(home, &object, "validation"));
        assert!(viruses.values().all(|of_file| of_file.len() == 1 && of_file[0].outcome == "success"), "{viruses:?}");
        let outcome = |path: &str| formats[path][0].outcome.clone();
        assert_eq!((outcome("data/a.txt"), outcome("data/b.txt")), ("success".to_owned(), "failure".to_owned()));
        viruses.len()
    };
    let files = check(&home);
    // They are in the record of the version.
    let fresh = fixture::home();
    copy_stores(&home, &fresh);
    rebuilt(&fresh, KEPT_IN[0]);
    assert_eq!(check(&fresh), files);

    // A virus ends a deposit for good, and nothing of it is published.
    let bag = home.bag("letters", &[("a.txt", b"clean"), ("c.txt", b"a virus")]);
    let request =
        DepositRequest { sources: vec![PackageSource::LocalPath(bag)], ..DepositRequest::of_system(INSTITUTION) };
    let made = deposit(&home, &request).expect("deposits");
    work_on(&home, &made.items, &Shutdown::new()).expect("works");
    let (item, problems) = home
        .registry
        .read(|tx| {
            let item = items::find(tx, Scope::System, made.items[0])?;
            Ok::<_, RegistryError>((item, items::problems(tx, Scope::System, made.items[0], 100)?))
        })
        .expect("the item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    let found = problems.iter().find(|problem| problem.code == "package.infected").expect("the problem");
    assert_eq!((found.path.as_deref(), found.is_permanent()), (Some("data/c.txt"), true));
    assert!(found.message.contains("a virus"), "{found:?}");
    assert_eq!(home.object("letters").head, 1);
    assert!(!events_of(&home, &object, "virus check").contains_key("data/c.txt"));
    programs::assert_no_scratch(&home);
}

/// A finished harvest of so many documents from a folder.
fn harvest_of(home: &TestHome, count: usize) -> ActivityId {
    let folder = home.path().join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    for number in 0..count {
        std::fs::write(folder.join(format!("{number:02}.xml")), format!("<record>{number}</record>")).expect("a file");
    }
    let harvest = begin(home, "harvest", &[("kind", "folder"), ("path", folder.to_str().expect("UTF-8"))]);
    work(home);
    harvest
}

fn items_of(home: &TestHome, deposit: ActivityId) -> Vec<ItemId> {
    let results = records(home, deposit, RecordState::Processed).into_iter().filter_map(|record| record.result);
    results.map(|result| result.parse().expect("an id")).collect()
}

fn ask(home: &TestHome, item: ItemId, request: items::Request) {
    let workflows = home.registry.workflows();
    let asked =
        home.registry.write(move |tx| items::request(tx, workflows.as_ref(), Scope::System, item, request, "a person"));
    asked.expect("does it");
}

fn work_items_that_are_open_are_waited_for_however_long_that_takes(engine: Engine) {
    let Some(home) = programs::home_with_tools(engine, &[script("passes", "exit 0", "")]) else { return };
    let harvest = harvest_of(&home, 3);
    let deposit = begin_behind(&home, "deposit", harvest, false);
    work(&home);
    let items = items_of(&home, deposit);
    let tool = begin_tool_behind(&home, "passes", deposit);
    ask(&home, items[0], items::Request::Hold);
    work_rounds(&home, 60);
    let waiting = records(&home, tool, RecordState::Todo);
    assert_eq!(waiting.len(), 3, "{:?}", records(&home, tool, RecordState::Failed));
    for record in &waiting {
        assert_eq!(record.attempts, 0, "{record:?}");
        assert!(record.error.as_deref().is_some_and(|error| error.contains("its work item")), "{record:?}");
    }
    // One ends without a version, one with, and one stays on hold.
    ask(&home, items[1], items::Request::Cancel);
    work_on(&home.home, &items[2..], &Shutdown::new()).expect("works");
    work_rounds(&home, 30);
    let failed = records(&home, tool, RecordState::Failed);
    let held = records(&home, tool, RecordState::Todo);
    assert_eq!((failed.len(), held.len(), show(&home, tool).processed), (1, 1, Some(1)), "{failed:?} {held:?}");
    let error = failed[0].error.as_deref().expect("a reason");
    assert!(failed[0].attempts == 1 && error.contains("is cancelled") && error.contains("next: "), "{failed:?}");
    assert!(held[0].error.as_deref().is_some_and(|error| error.contains("hold") || error.contains("held")), "{held:?}");
    ask(&home, items[0], items::Request::Release);
    work_on(&home.home, &items[..1], &Shutdown::new()).expect("works");
    work(&home);
    let view = show(&home, tool);
    assert_eq!((view.state, view.processed), (ActivityState::FinishedWithErrors, Some(2)), "{view:?}");
    // What a deposit brought that was there already is looked at as well.
    let again = begin_behind(&home, "deposit", harvest, false);
    work(&home);
    work_on(&home.home, &items_of(&home, again), &Shutdown::new()).expect("works");
    let tool = begin_tool_behind(&home, "passes", again);
    work(&home);
    assert_eq!(show(&home, tool).processed, Some(3), "{:?}", records(&home, tool, RecordState::Failed));
    let mut events: Vec<usize> = crate::rebuild::all_objects(&home)
        .iter()
        .map(|object| events_of(&home, object, "validation").values().map(Vec::len).sum())
        .collect();
    events.sort_unstable();
    assert_eq!(events, [1, 2, 2]);
}

/// Deposits a folder of exactly these files as one object; the work item of it.
fn deposit_folder(home: &TestHome, name: &str, files: &[(&str, &str)]) -> ItemId {
    let apart = tempfile::tempdir().expect("a folder");
    let folder = apart.path().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let request = DepositRequest {
        kind: DepositKind::Folder,
        sources: vec![PackageSource::LocalPath(folder)],
        local_ids: vec!["letters".to_owned()],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(home, &request).expect("deposits");
    work_on(home, &made.items, &Shutdown::new()).expect("works");
    let item = home.registry.read(|tx| items::find(tx, Scope::System, made.items[0])).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    made.items[0]
}

fn every_file_of_a_version_is_looked_at_also_where_none_is_new_in_it(engine: Engine) {
    let rules = "rules = [{ exit = [0], outcome = \"pass\" }, { exit = [1], outcome = \"fail\" }]\n";
    let scanner = script("scanner", "if grep -q virus \"$1\"; then exit 1; fi", rules);
    let Some(mut home) = programs::home_with_tools(engine, &[scanner]) else { return };
    let script = Script::new(1, true, |_, _| RecordOutcome::processed(None));
    std::sync::Arc::get_mut(&mut home.home)
        .expect("the only one")
        .register_agent(std::sync::Arc::new(Scripted(script.clone())));
    let harvest = harvest_of(&home, 1);
    let looked_at = |item: ItemId| {
        script.change(move |_, _| RecordOutcome::processed(Some(item.to_string())));
        let behind = begin_behind(&home, "scripted", harvest, false);
        work(&home);
        let tool = begin_tool_behind(&home, "scanner", behind);
        work(&home);
        let view = show(&home, tool);
        assert_eq!(view.processed, Some(1), "{:?}", records(&home, tool, RecordState::Failed));
        (view.tool_passed, view.tool_failed)
    };
    let (infected, clean) = (("a.txt", "a virus"), ("b.txt", "clean"));
    let first = deposit_folder(&home, "one", &[infected]);
    assert_eq!(looked_at(first), (Some(0), Some(1)));
    deposit_folder(&home, "two", &[infected, clean]);
    // It leaves a file out, which is a version; what it has was there before.
    let third = deposit_folder(&home, "three", &[infected]);
    assert_eq!(home.object("letters").head, 3);
    assert_eq!(looked_at(third), (Some(0), Some(1)));
    // What ended without a version brought what its object had then, and not what it has since.
    let fourth = deposit_folder(&home, "four", &[infected]);
    deposit_folder(&home, "five", &[clean]);
    assert_eq!(home.object("letters").head, 4);
    assert_eq!(looked_at(fourth), (Some(0), Some(1)));
}

fn a_version_is_looked_at_whose_work_item_was_removed(engine: Engine) {
    let more = "[retention]\nended_items = \"1d\"\n";
    let Some(home) = programs::home_with_tools_and(engine, &[script("passes", "exit 0", "")], more) else { return };
    let harvest = harvest_of(&home, 1);
    let deposit = begin_behind(&home, "deposit", harvest, false);
    work(&home);
    work_on(&home.home, &items_of(&home, deposit), &Shutdown::new()).expect("works");
    // A deposit that found everything there, and has made no version.
    let again = begin_behind(&home, "deposit", harvest, false);
    work(&home);
    work_on(&home.home, &items_of(&home, again), &Shutdown::new()).expect("works");
    home.clock.advance(std::time::Duration::from_hours(25));
    background::run_now(&home, task("retention"), &Shutdown::new()).expect("runs");
    let tool = begin_tool_behind(&home, "passes", deposit);
    work(&home);
    assert_eq!(show(&home, tool).processed, Some(1), "{:?}", records(&home, tool, RecordState::Failed));
    let tool = begin_tool_behind(&home, "passes", again);
    work(&home);
    let failed = records(&home, tool, RecordState::Failed);
    let error = failed[0].error.as_deref().expect("why");
    assert!(error.contains("was removed after its time") && error.contains("next: "), "{error}");
}

fn what_is_waited_for_carries_work_items_out_that_a_tool_waits_for(engine: Engine) {
    let Some(home) = programs::home_with_tools(engine, &[script("passes", "exit 0", "")]) else { return };
    let harvest = harvest_of(&home, 2);
    let deposit = begin_behind(&home, "deposit", harvest, true);
    let request = Request {
        agent: "tool".to_owned(),
        options: options(&[("tool", "passes")]),
        input: Some(deposit),
        follow: true,
        ..Request::default()
    };
    let tool = activities::run(&call(&home), &request).expect("an activity").activity;
    let (done, clock) = (std::sync::atomic::AtomicBool::new(false), &home.clock);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                clock.advance(std::time::Duration::from_secs(1));
                std::thread::park_timeout(std::time::Duration::from_millis(20));
            }
        });
        activities::work(&call(&home), &[deposit, tool], &Shutdown::new()).expect("works until it is over");
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let view = show(&home, tool);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(2)), "{view:?}");
}

fn a_document_that_is_called_as_a_file_is_looked_at_itself(engine: Engine) {
    let web = strongroom_web_double::WebDouble::start();
    let rules = "rules = [{ exit = [0], outcome = \"pass\" }, { exit = [1], outcome = \"fail\" }]\n";
    let scanner = script("scanner", "if grep -q virus \"$1\"; then exit 1; fi", rules);
    let more = format!("[ingest]\nallow_private_addresses = true\nurl_hosts = [\"{}\"]\n", web.authority());
    let Some(home) = programs::home_with_tools_and(engine, &[scanner], &more) else { return };
    let object = home.ingest("letters", &[("a.txt", b"clean")]);
    let file = programs::file_of(&home, &object, "deposit/data/a.txt");
    web.put("/api", format!("[{{\"id\": \"{}@1\", \"text\": \"a virus\"}}]", file.id));
    let harvest = begin(&home, "harvest", &[("kind", "json"), ("url", &web.url("/api"))]);
    work(&home);
    let outcome = |id: ActivityId| {
        let record = records(&home, id, RecordState::Processed).pop().expect("a record");
        // A tool that says the same again makes the same document.
        let document = documents::of_entity(&record.result.unwrap_or(record.record)).expect("a document");
        let found = home.registry.read(|tx| documents::get(tx, document)).expect("reads").expect("the document");
        let said: serde_json::Value = serde_json::from_slice(&found.bytes).expect("JSON");
        (said["outcome"].as_str().expect("an outcome").to_owned(), said["path"].is_string())
    };
    let of_document = begin_tool_behind(&home, "scanner", harvest);
    work(&home);
    assert_eq!(outcome(of_document), ("fail".to_owned(), false));
    // What the tool said of it has the same name, and is no file either.
    let of_outcome = begin_tool_behind(&home, "scanner", of_document);
    work(&home);
    assert!(!outcome(of_outcome).1);
    assert!(events_of(&home, &object, "validation").is_empty());
    // What it said of a file stands for that file.
    let of_files = run_tool(&home, "scanner", &[]);
    let again = begin_tool_behind(&home, "scanner", of_files);
    work(&home);
    assert_eq!(outcome(again), ("pass".to_owned(), true));
    assert!(events_of(&home, &object, "validation").values().all(|of_file| of_file.len() == 2));
}
