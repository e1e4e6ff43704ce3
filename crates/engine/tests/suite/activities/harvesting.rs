//! The agent harvest over a provider of OAI-PMH, and the chain to deposits.

use std::collections::BTreeSet;

use strongroom_engine::app;
use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::views::{ActivityId, RecordView};
use strongroom_engine::ingest::{DepositKind, DepositMode, DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::work_on;
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord};
use strongroom_records::RecordState;
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::{ItemStatus, Scope, documents, objects};

use super::{begin, begin_behind, call, check_counts, home_for, ids, options, records, show, work};
use crate::fixture::{Engine, INSTITUTION, TestHome, on_both_databases};

on_both_databases! {
    case_6_a_harvest_keeps_each_record_and_passes_deleted_ones_by
    case_6_a_record_that_is_harvested_again_is_the_same_and_a_changed_one_is_another
    case_7_an_expired_token_loses_no_record
    case_7_a_set_that_fails_keeps_no_other_from_being_read
    a_record_that_cannot_be_read_fails_and_is_asked_for_again
    only_what_has_changed_is_harvested
    a_provider_that_refuses_fails_the_activity_which_is_restarted
    a_chain_makes_objects_with_descriptions
    a_record_of_another_source_is_no_version_of_an_object_that_was_made_from_one
    an_earlier_state_of_a_record_is_not_deposited_behind_a_later_one
    identifiers_of_any_characters_are_those_of_their_objects
    files_that_people_add_to_the_object_of_a_record_stay
    an_unknown_option_or_host_is_an_error_before_anything_is_made
}

/// So many records, from `oai:x:00` on; every second one is in the set `even`.
pub(super) fn some_records(count: usize) -> Vec<OaiRecord> {
    let record = |number: usize| {
        let record =
            OaiRecord::new(&format!("oai:x:{number:02}"), &format!("2024-01-{:02}T00:00:00Z", number % 27 + 1));
        if number.is_multiple_of(2) { record.within("even") } else { record.within("odd") }
    };
    (0..count).map(record).collect()
}

fn case_6_a_harvest_keeps_each_record_and_passes_deleted_ones_by(engine: Engine) {
    let mut given = some_records(25);
    given[3] = given[3].clone().deleted();
    let provider = OaiDouble::start(given);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    assert_eq!(show(&home, id).state, ActivityState::Queued);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.failed, view.deleted),
        (ActivityState::Finished, Some(24), Some(0), Some(1))
    );
    for record in records(&home, id, RecordState::Processed) {
        let entity = record.result.expect("a document");
        let document = documents::of_entity(&entity).expect("the name of a document");
        let document = home.registry.read(|tx| documents::get(tx, document)).expect("reads").expect("it is kept");
        assert_eq!((document.record.as_str(), document.origin.location), (record.record.as_str(), provider.base_url()));
        let text = String::from_utf8(document.bytes).expect("UTF-8");
        assert!(text.contains(&format!("<dc:title>{}</dc:title>", record.record)), "{text}");
    }
}

fn case_6_a_record_that_is_harvested_again_is_the_same_and_a_changed_one_is_another(engine: Engine) {
    let provider = OaiDouble::start(some_records(12));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let results = || {
        let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
        work(&home);
        let all = records(&home, id, RecordState::Processed).into_iter();
        all.map(|record| (record.record, record.result)).collect::<BTreeSet<_>>()
    };
    let first = results();
    assert_eq!(first, results());
    provider.change(|records| records[4] = records[4].clone().titled(b"Another"));
    let changed = results();
    let different: Vec<_> = changed.difference(&first).map(|(record, _)| record.as_str()).collect();
    assert_eq!(different, ["oai:x:04"]);
}

fn case_7_an_expired_token_loses_no_record(engine: Engine) {
    let provider = OaiDouble::start(some_records(35));
    provider.on(OaiFault::ExpiredToken { offset: 20, times: 1 });
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.populated), (ActivityState::Finished, Some(35), Some(35)));
}

fn case_7_a_set_that_fails_keeps_no_other_from_being_read(engine: Engine) {
    let provider = OaiDouble::start(some_records(30));
    provider.on(OaiFault::SetFails("even".to_owned()));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let sets = [("url", &*provider.base_url()), ("set", "even"), ("set", "odd")];
    let id = begin(&home, "harvest", &sets);
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(15), Some(1)));
    assert_eq!(ids(&home, id, RecordState::Failed), ["set even"]);
    // The next harvest of what has changed begins where this one did: the set is not passed by.
    provider.mend();
    let request =
        Request { agent: "harvest".to_owned(), options: options(&sets), only_changed: true, ..Request::default() };
    let again = activities::run(&call(&home), &request).expect("an activity");
    assert_eq!(again.changed_since, None);
    work(&home);
    assert_eq!(show(&home, again.activity).processed, Some(30));
}

fn a_record_that_cannot_be_read_fails_and_is_asked_for_again(engine: Engine) {
    let mut given = some_records(12);
    given[5] = given[5].clone().titled(b"\xff\xfe");
    let provider = OaiDouble::start(given);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(11), Some(1)));
    let failed = records(&home, id, RecordState::Failed);
    assert_eq!(failed[0].record, "oai:x:05");
    assert!(failed[0].error.as_deref().is_some_and(|error| error.contains("oai:x:05")), "{failed:?}");
    provider.change(|records| records[5] = records[5].clone().titled(b"Mended"));
    // Another one is not taken for it.
    provider.on(OaiFault::AnotherRecord);
    activities::retry_failed(&call(&home), id).expect("retries");
    work(&home);
    let failed = records(&home, id, RecordState::Failed);
    assert!(failed[0].error.as_deref().is_some_and(|error| error.contains("in the place of")), "{failed:?}");
    provider.mend();
    let retried = activities::retry_failed(&call(&home), id).expect("retries");
    assert_eq!(retried.records, 1);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(12), Some(0)));
}

fn only_what_has_changed_is_harvested(engine: Engine) {
    let provider = OaiDouble::start(some_records(20));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let url = provider.base_url();
    let request = Request {
        agent: "harvest".to_owned(),
        options: options(&[("url", &url)]),
        only_changed: true,
        ..Request::default()
    };
    let first = activities::run(&call(&home), &request).expect("an activity").activity;
    work(&home);
    assert_eq!(show(&home, first).processed, Some(20));
    provider.change(|records| records.push(OaiRecord::new("oai:x:new", "2999-01-01T00:00:00Z")));
    let second = activities::run(&call(&home), &request).expect("an activity");
    assert!(second.changed_since.is_some(), "{second:?}");
    work(&home);
    assert_eq!(ids(&home, second.activity, RecordState::Processed), ["oai:x:new"]);
}

fn a_provider_that_refuses_fails_the_activity_which_is_restarted(engine: Engine) {
    let provider = OaiDouble::start(some_records(15));
    provider.on(OaiFault::Html);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    assert_eq!(view.state, ActivityState::Failed, "{view:?}");
    assert!(view.error.is_some_and(|error| error.contains("could not read")));
    provider.mend();
    activities::restart(&call(&home), id).expect("restarts");
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.error), (ActivityState::Finished, Some(15), None));
}

fn a_chain_makes_objects_with_descriptions(engine: Engine) {
    let provider = OaiDouble::start(some_records(12));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let harvest = begin(&home, "harvest", &[("url", &provider.base_url())]);
    let deposit = begin_behind(&home, "deposit", harvest, true);
    work(&home);
    let view = show(&home, deposit);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(12), Some(0)), "{view:?}");
    let made = home
        .registry
        .read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 100))
        .expect("the work items");
    assert_eq!(made.len(), 12);
    let ids: Vec<_> = made.iter().map(|item| item.id).collect();
    let of = |activity, institution: Option<&str>| {
        let institution = institution.map(str::to_owned);
        let filter = app::items::Filter { activity: Some(activity), institution, ..app::items::Filter::default() };
        let page = app::items::list(&call(&home), &filter, None).expect("lists");
        page.items.into_iter().map(|item| item.item).collect::<BTreeSet<_>>()
    };
    assert_eq!(of(deposit, None), ids.iter().copied().collect());
    assert_eq!(of(deposit, Some(INSTITUTION)), ids.iter().copied().collect());
    assert!(of(harvest, None).is_empty());
    let mut results: Vec<_> =
        records(&home, deposit, RecordState::Processed).into_iter().filter_map(|record| record.result).collect();
    results.sort();
    assert_eq!(results, ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    work_on(&home, &ids, &Shutdown::new()).expect("works");
    let name = format!("{INSTITUTION}/oai:x:07");
    let object =
        home.registry.read(|tx| objects::by_identifier(tx, Scope::System, &name)).expect("reads").expect("the object");
    assert_eq!(object.description.title.as_deref(), Some("oai:x:07"));
    assert_eq!(object.description.local_ids, ["oai:x:07"]);
    for id in &ids {
        let item = home.registry.read(|tx| items::find(tx, Scope::System, *id)).expect("the item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    }
    // Another run makes versions of the same objects, or finds that nothing has changed.
    activities::rerun(&call(&home), deposit, false).expect("runs again");
    work(&home);
    let all =
        home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 100)).expect("lists");
    assert_eq!(all.len(), 24);
    assert!(all.iter().all(|item| item.object_identifier.starts_with(&format!("{INSTITUTION}/oai:x:"))));
}

fn files_that_people_add_to_the_object_of_a_record_stay(engine: Engine) {
    let provider = OaiDouble::start(some_records(1));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let record = "oai:x:00".to_owned();
    let harvested = || {
        let harvest = begin(&home, "harvest", &[("url", &provider.base_url())]);
        begin_behind(&home, "deposit", harvest, true);
        work(&home);
        work_on_all(&home);
        let name = format!("{INSTITUTION}/{record}");
        home.registry
            .read(|tx| {
                let object = objects::by_identifier(tx, Scope::System, &name)?.expect("the object");
                let files = objects::files(tx, object.id, object.head, "deposit/", "", 10)?;
                let paths: Vec<String> = files.into_iter().map(|file| file.path).collect();
                Ok::<_, strongroom_registry::RegistryError>((object.head, paths))
            })
            .expect("the files")
    };
    assert_eq!(harvested(), (1, vec!["deposit/record.xml".to_owned()]));
    let apart = tempfile::tempdir().expect("a folder");
    let folder = apart.path().join("scan");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("scan.txt"), "an image").expect("writes");
    let request = DepositRequest {
        kind: DepositKind::Folder,
        sources: vec![PackageSource::LocalPath(folder)],
        local_ids: vec![record.clone()],
        mode: Some(DepositMode::Merge),
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(&home, &request).expect("deposits");
    work_on(&home, &made.items, &Shutdown::new()).expect("works");
    let both = vec!["deposit/record.xml".to_owned(), "deposit/scan.txt".to_owned()];
    assert_eq!(harvested(), (3, both.clone()), "another version, with the files of both");
    provider.change(|records| {
        for record in records {
            *record = record.clone().titled(b"another title");
        }
    });
    assert_eq!(harvested(), (4, both));
}

fn an_unknown_option_or_host_is_an_error_before_anything_is_made(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    for (pairs, expected) in [
        (&[("url", "https://provider.example.edu/oai"), ("sets", "maps")][..], "unknown field `sets`"),
        (&[("url", "https://elsewhere.example.edu/oai")][..], "elsewhere.example.edu"),
        (&[("prefix", "marcxml")][..], "needs the option url"),
        (&[("kind", "gopher"), ("url", "https://provider.example.edu")][..], "unknown variant `gopher`"),
    ] {
        let request = Request { agent: "harvest".to_owned(), options: options(pairs), ..Request::default() };
        let error = activities::run(&call(&home), &request).expect_err("it is refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let page = activities::list(&call(&home), &activities::Filter::default(), None).expect("lists");
    assert!(page.items.is_empty());
}

/// Harvests a folder that has one record, and deposits it; what came of the deposit of it.
pub(super) fn deposit_of(home: &TestHome, record: (&str, &str), more: &[(&str, &str)]) -> RecordView {
    let harvest = harvest_of(home, record);
    deposit_behind(home, harvest, more).1
}

/// Harvests a folder that has one record.
fn harvest_of(home: &TestHome, (folder, text): (&str, &str)) -> ActivityId {
    let path = home.path().join(folder);
    std::fs::create_dir_all(&path).expect("a folder");
    std::fs::write(path.join("m1.xml"), text).expect("a file");
    let harvest = begin(home, "harvest", &[("kind", "folder"), ("path", path.to_str().expect("UTF-8"))]);
    work(home);
    harvest
}

/// Deposits the one record of a harvest: the activity, and what came of the record.
fn deposit_behind(home: &TestHome, harvest: ActivityId, more: &[(&str, &str)]) -> (ActivityId, RecordView) {
    let request =
        Request { agent: "deposit".to_owned(), options: options(more), input: Some(harvest), ..Request::default() };
    let deposit = activities::run(&call(home), &request).expect("an activity").activity;
    work(home);
    (deposit, the_record(home, deposit))
}

fn the_record(home: &TestHome, deposit: ActivityId) -> RecordView {
    let page = activities::records(&call(home), deposit, None, None).expect("the records");
    page.items.into_iter().next().expect("a record")
}

pub(super) fn work_on_all(home: &TestHome) {
    let all = home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 100));
    let ids: Vec<_> = all.expect("lists").into_iter().map(|item| item.id).collect();
    work_on(&home.home, &ids, &Shutdown::new()).expect("works");
}

fn a_record_of_another_source_is_no_version_of_an_object_that_was_made_from_one(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let head = |name: &str| {
        let name = format!("{INSTITUTION}/{name}");
        let found = home.registry.read(|tx| objects::by_identifier(tx, Scope::System, &name)).expect("reads");
        found.map_or(0, |object| object.head)
    };
    let refused = |record: &RecordView| {
        let error = record.error.clone().unwrap_or_default();
        assert_eq!(record.state, RecordState::Failed, "{record:?}");
        assert!(error.contains("made from another source, ") && error.contains("cat1"), "{error}");
        assert!(error.contains("next: ") && error.contains("prefix"), "{error}");
    };
    assert_eq!(deposit_of(&home, ("cat1", "<r>one</r>"), &[]).state, RecordState::Processed);
    // Also while the first is still being deposited.
    refused(&deposit_of(&home, ("cat2", "<r>other</r>"), &[]));
    work_on_all(&home);
    refused(&deposit_of(&home, ("cat2", "<r>other</r>"), &[]));
    // The same source makes versions, and a prefix other objects.
    assert_eq!(deposit_of(&home, ("cat1", "<r>two</r>"), &[]).state, RecordState::Processed);
    assert_eq!(deposit_of(&home, ("cat2", "<r>other</r>"), &[("prefix", "cat2:")]).state, RecordState::Processed);
    work_on_all(&home);
    assert_eq!((head("m1.xml"), head("cat2:m1.xml")), (2, 1));
    // A registry that was made from a store knows it as well.
    let fresh = crate::fixture::home();
    crate::rebuild::copy_stores(&home, &fresh);
    crate::rebuild::rebuilt(&fresh, crate::fixture::KEPT_IN[0]);
    refused(&deposit_of(&fresh, ("cat2", "<r>other</r>"), &[]));
    // A source that has moved goes on with its objects.
    let earlier = home.path().join("cat1").to_str().expect("UTF-8").to_owned();
    let moved = deposit_of(&home, ("cat3", "<r>three</r>"), &[("earlier_source", &earlier)]);
    assert_eq!(moved.state, RecordState::Processed, "{moved:?}");
    work_on_all(&home);
    assert_eq!(head("m1.xml"), 3);
    for prefix in [" a", "a ", "a\nb"] {
        let input = begin(&home, "harvest", &[("kind", "folder"), ("path", &earlier)]);
        let options = options(&[("prefix", prefix)]);
        let request = Request { agent: "deposit".to_owned(), options, input: Some(input), ..Request::default() };
        assert!(activities::run(&call(&home), &request).is_err(), "{prefix:?}");
    }
}

fn an_earlier_state_of_a_record_is_not_deposited_behind_a_later_one(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let (earlier, later) = (harvest_of(&home, ("cat1", "<r>one</r>")), harvest_of(&home, ("cat1", "<r>two</r>")));
    assert_eq!(deposit_behind(&home, later, &[]).1.state, RecordState::Processed);
    for is_published in [false, true] {
        if is_published {
            work_on_all(&home);
        }
        let record = deposit_behind(&home, earlier, &[]).1;
        let error = record.error.clone().unwrap_or_default();
        assert_eq!(record.state, RecordState::Failed, "{record:?}");
        assert!(error.contains("harvested later") && error.contains("next: "), "{error}");
    }
    // The source goes back to what it was.
    let (deposit, _) = deposit_behind(&home, earlier, &[]);
    harvest_of(&home, ("cat1", "<r>one</r>"));
    activities::retry_failed(&call(&home), deposit).expect("retries");
    work(&home);
    let record = the_record(&home, deposit);
    assert_eq!(record.state, RecordState::Processed, "{record:?}");
    work_on_all(&home);
    let object = home.object("m1.xml").identifier;
    let found = home.registry.read(|tx| objects::by_identifier(tx, Scope::System, &object)).expect("reads");
    assert_eq!(found.map(|object| object.head), Some(2));
}

fn identifiers_of_any_characters_are_those_of_their_objects(engine: Engine) {
    let ids = [
        "a;b".to_owned(),
        "a".to_owned(),
        "b".to_owned(),
        "one; two ;three".to_owned(),
        "with space".to_owned(),
        " around ".to_owned(),
        "100%3Bx".to_owned(),
        "x/y\\z?q=1&r=2#f".to_owned(),
        "gr\u{fc}\u{df}e \u{65e5}\u{672c}".to_owned(),
        "n".repeat(1_000),
        "none".to_owned(),
    ];
    let list: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
    let web = strongroom_web_double::WebDouble::start();
    web.put("/api", serde_json::to_vec(&list).expect("JSON"));
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let url = web.url("/api");
    for version in 1..=2 {
        let harvest = begin(&home, "harvest", &[("kind", "json"), ("url", &url)]);
        let deposit = begin_behind(&home, "deposit", harvest, true);
        work(&home);
        assert_eq!(show(&home, deposit).processed, Some(ids.len() as u64));
        work_on_all(&home);
        let objects = home
            .registry
            .read(|tx| objects::list(tx, Scope::System, &objects::ObjectFilter::default(), None, 100))
            .expect("lists");
        assert_eq!(objects.len(), ids.len());
        for object in objects {
            assert_eq!(object.head, version, "{object:?}");
            assert_eq!(object.description.local_ids.len(), 1, "{object:?}");
            assert!(ids.contains(&object.description.local_ids[0]), "{object:?}");
        }
        // Another state of each is a version of the same object.
        let list: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id, "state": "later" })).collect();
        web.put("/api", serde_json::to_vec(&list).expect("JSON"));
    }
}
