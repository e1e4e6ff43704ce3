//! Sources that repeat identifiers, have lists without end, or say what is not true: nothing is lost in silence, and every harvest ends.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::views::{ActivityId, ActivityView};
use strongroom_oai_double::{OaiDouble, OaiFault};
use strongroom_records::RecordState;
use strongroom_registry::provenance::{self, By};
use strongroom_registry::{Scope, activities as rows, documents};
use strongroom_web_double::{Reply, WebDouble};

use super::harvesting::some_records;
use super::{begin, begin_behind, call, check_counts, home_for, ids, options, records, show, work};
use crate::fixture::{Engine, TestHome, on_both_databases};

on_both_databases! {
    a_harvest_of_a_part_does_not_say_that_the_rest_was_taken
    sources_that_differ_in_the_query_of_their_url_are_several
    numbers_beyond_those_of_a_computer_are_identifiers_of_their_own
    records_of_one_identifier_that_differ_fail_beside_the_first
    the_later_state_of_a_record_of_a_provider_is_the_one_that_is_kept
    a_list_that_ends_at_a_token_without_records_is_read_again
    a_list_without_end_ends_with_an_error
    a_list_that_begins_again_counts_deleted_records_once_and_may_repeat_its_pages
    what_may_pass_fails_no_set
    a_set_that_failed_keeps_its_reason_and_says_what_to_do
    records_that_cannot_be_asked_for_alone_are_not_run_again
    times_of_a_provider_that_cannot_be_true_move_no_watermark_too_far
}

fn only_changed(home: &TestHome, pairs: &[(&str, &str)]) -> ActivityView {
    let request =
        Request { agent: "harvest".to_owned(), options: options(pairs), only_changed: true, ..Request::default() };
    let view = activities::run(&call(home), &request).expect("an activity");
    work(home);
    ActivityView { changed_since: view.changed_since, ..show(home, view.activity) }
}

fn failures(home: &TestHome, id: ActivityId) -> Vec<(String, String)> {
    let failed = records(home, id, RecordState::Failed).into_iter();
    let mut failed: Vec<_> = failed.map(|record| (record.record, record.error.expect("why"))).collect();
    failed.sort();
    failed
}

/// The bytes of the document that was kept of a processed record.
fn kept(home: &TestHome, id: ActivityId, record: &str) -> String {
    let all = records(home, id, RecordState::Processed);
    let found = all.into_iter().find(|found| found.record == record).expect("it is processed");
    let id = documents::of_entity(&found.result.expect("a result")).expect("the name of a document");
    let document = home.registry.read(|tx| documents::get(tx, id)).expect("reads").expect("it is kept");
    String::from_utf8(document.bytes).expect("UTF-8")
}

fn xml(body: &str, date: &str) -> Reply {
    let text = format!(
        "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\"><responseDate>{date}</responseDate><request>x</request>{body}</OAI-PMH>"
    );
    Reply { content_type: "text/xml", ..Reply::ok(text.into_bytes()) }
}

fn list(records: &str, token: &str) -> String {
    format!("<ListRecords>{records}<resumptionToken>{token}</resumptionToken></ListRecords>")
}

fn record(id: &str, title: &str) -> String {
    format!(
        "<record><header><identifier>{id}</identifier><datestamp>2020-01-01T00:00:00Z</datestamp></header><metadata><x>{title}</x></metadata></record>"
    )
}

fn deleted(id: &str) -> String {
    format!(
        "<record><header status=\"deleted\"><identifier>{id}</identifier><datestamp>2020-01-01T00:00:00Z</datestamp></header></record>"
    )
}

const IDENTIFY: &str = "<Identify><repositoryName>r</repositoryName><baseURL>b</baseURL><protocolVersion>2.0</protocolVersion>\
     <adminEmail>a@example.edu</adminEmail><earliestDatestamp>2000-01-01T00:00:00Z</earliestDatestamp>\
     <deletedRecord>persistent</deletedRecord><granularity>YYYY-MM-DDThh:mm:ssZ</granularity></Identify>";
const DATE: &str = "2020-02-01T00:00:00Z";

fn a_harvest_of_a_part_does_not_say_that_the_rest_was_taken(engine: Engine) {
    let provider = OaiDouble::start(some_records(20));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let url = provider.base_url();
    for part in [("until", "2024-01-05"), ("from", "2024-01-10")] {
        let id = begin(&home, "harvest", &[("url", &url), part]);
        work(&home);
        assert_eq!(show(&home, id).state, ActivityState::Finished);
    }
    let first = only_changed(&home, &[("url", &url)]);
    assert_eq!((first.changed_since, first.processed), (None, Some(20)));
    // One that begins before all was taken until there moves it.
    begin(&home, "harvest", &[("url", &url), ("from", "2024-01-10")]);
    work(&home);
    begin(&home, "harvest", &[("url", &url), ("from", "2999-01-01")]);
    work(&home);
    let second = only_changed(&home, &[("url", &url)]);
    assert!(second.changed_since.as_deref().is_some_and(|since| since < "2999"), "{second:?}");
}

fn sources_that_differ_in_the_query_of_their_url_are_several(engine: Engine) {
    let web = WebDouble::start();
    web.answer("/oai", |request| {
        if request.query.contains("verb=Identify") {
            return xml(IDENTIFY, DATE);
        }
        let records = if request.query.contains("repo=a") {
            record("x", "of a") + &record("y", "of a")
        } else {
            deleted("x") + &record("z", "of b")
        };
        xml(&list(&records, ""), DATE)
    });
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let (a, b) = (web.url("/oai?repo=a"), web.url("/oai?repo=b"));
    let first = only_changed(&home, &[("url", &a)]);
    assert_eq!(first.processed, Some(2));
    let other = only_changed(&home, &[("url", &b)]);
    assert_eq!((other.changed_since, other.processed), (None, Some(1)));
    assert_eq!((other.deleted, other.invalidated), (Some(1), Some(0)));
    assert_eq!(only_changed(&home, &[("url", &a)]).changed_since.as_deref(), Some(DATE));
}

fn numbers_beyond_those_of_a_computer_are_identifiers_of_their_own(engine: Engine) {
    let web = WebDouble::start();
    web.put("/api", "[{\"id\":100000000000000000001},{\"id\": 100000000000000000002 },{\"id\":7},{\"id\":1,\"id\":2}]");
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let id = begin(&home, "harvest", &[("kind", "json"), ("url", &web.url("/api"))]);
    work(&home);
    assert_eq!(ids(&home, id, RecordState::Processed), ["100000000000000000001", "100000000000000000002", "7"]);
    let failed = failures(&home, id);
    assert!(failed.len() == 1 && failed[0].1.contains("more than once"), "{failed:?}");
}

fn records_of_one_identifier_that_differ_fail_beside_the_first(engine: Engine) {
    let web = WebDouble::start();
    web.put(
        "/api",
        r#"[{"id":"a","v":1},{"id":"a","v":2},{"id":"a","v":1},{"id":"b"},
            {"id":"f","d":[]},{"id":"f","d":"x"},{"id":"g","d":"x"},{"id":"g","d":[]}]"#,
    );
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let given = [("kind", "json"), ("url", &*web.url("/api")), ("datestamp", "/d")];
    let id = begin(&home, "harvest", &given);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.failed),
        (ActivityState::FinishedWithErrors, Some(4), Some(3)),
        "{:?}",
        failures(&home, id)
    );
    assert_eq!(ids(&home, id, RecordState::Processed), ["a", "b", "f", "g"]);
    assert_eq!(kept(&home, id, "a"), r#"{"id":"a","v":1}"#);
    assert_eq!(kept(&home, id, "f"), r#"{"id":"f","d":"x"}"#);
    let failed = failures(&home, id);
    for ((record, error), name) in failed.iter().zip(["a", "f", "g"]) {
        assert!(record.starts_with(&format!("{name} (again, ")), "{failed:?}");
        assert!(error.contains(&format!("{name:?}")), "{failed:?}");
    }
    assert!(failed[0].1.contains("was kept, and this one, "), "{failed:?}");
    // Nothing was written of what was not kept.
    let not_kept = failed[0].1.split("this one, ").nth(1).and_then(|rest| rest.split(' ').next()).expect("its name");
    let not_kept = documents::of_entity(not_kept).expect("the name of a document");
    assert_eq!(home.registry.read(|tx| documents::get(tx, not_kept)).expect("reads"), None);
    // Two files of MARC are no different, and another run says the same.
    let folder = home.path().join("marc");
    fs::create_dir_all(&folder).expect("a folder");
    for name in ["a", "b"] {
        let text = format!(
            "<collection><record><controlfield tag=\"001\">1</controlfield><leader>{name}</leader></record></collection>"
        );
        fs::write(folder.join(format!("{name}.xml")), text).expect("writes");
    }
    let id = begin(&home, "harvest", &[("kind", "marcxml"), ("path", folder.to_str().expect("UTF-8"))]);
    for _ in 0..2 {
        work(&home);
        let view = show(&home, id);
        assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(1), Some(1)));
        activities::rerun(&call(&home), id, true).expect("runs again");
    }
}

fn the_later_state_of_a_record_of_a_provider_is_the_one_that_is_kept(engine: Engine) {
    let web = WebDouble::start();
    web.answer("/oai", |request| {
        let earlier = record("r3", "earlier").replace("2020-01-01", "2019-01-01");
        let records = if request.query.contains("resumptionToken") {
            record("r1", "new") + &record("r2", "same") + &record("f", "good") + &record("g", "&bogus;") + &earlier
        } else {
            record("r1", "old")
                + &record("r2", "same")
                + &record("f", "&bogus;")
                + &record("g", "g")
                + &record("r3", "later")
        };
        let token = if request.query.contains("resumptionToken") { "" } else { "t" };
        xml(&list(&records, token), DATE)
    });
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &web.url("/oai"))]);
    let copy = begin_behind(&home, "copy", id, true);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(ids(&home, id, RecordState::Processed), ["f", "r1", "r2", "r3"]);
    let failed = failures(&home, id);
    assert!(failed.len() == 1 && failed[0].0 == "g" && failed[0].1.contains("bogus"), "{failed:?}");
    for (record, title) in [("r1", "new"), ("f", "good"), ("r3", "later")] {
        assert!(kept(&home, id, record).contains(title), "{record}");
    }
    // Provenance names the later states alone: a deletion ends the validity of what it names.
    let activity = home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity");
    let made = home.registry.read(|tx| provenance::results(tx, By::from(&activity), false, None, 100)).expect("reads");
    let of_list = |record: &strongroom_engine::app::views::RecordView| (record.record.clone(), record.result.clone());
    let mut listed: Vec<_> = records(&home, id, RecordState::Processed).iter().map(of_list).collect();
    let mut named: Vec<_> = made.into_iter().map(|one| (one.record, Some(one.entity))).collect();
    listed.sort();
    named.sort();
    assert_eq!(named, listed);
    // The activity that follows has the later state.
    let results: Vec<String> =
        records(&home, id, RecordState::Processed).into_iter().filter_map(|r| r.result).collect();
    let taken = ids(&home, copy, RecordState::Processed);
    assert!(results.iter().all(|result| taken.contains(result)), "{results:?} {taken:?}");
}

fn a_list_that_ends_at_a_token_without_records_is_read_again(engine: Engine) {
    let (web, asked) = (WebDouble::start(), AtomicUsize::new(0));
    web.answer("/oai", move |request| {
        let body = if request.query.contains("verb=Identify") {
            IDENTIFY.to_owned()
        } else if !request.query.contains("resumptionToken") {
            list(&(record("r1", "1") + &record("r2", "2")), "t")
        } else if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            "<error code=\"noRecordsMatch\">x</error>".to_owned()
        } else {
            list(&(record("r3", "3") + &record("r4", "4")), "")
        };
        xml(&body, DATE)
    });
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let found = only_changed(&home, &[("url", &web.url("/oai"))]);
    assert_eq!((found.state, found.processed), (ActivityState::Finished, Some(4)), "{found:?}");
    // Where that does not pass, the harvest fails, and the next one does not begin behind what was not read.
    web.answer("/oai", |request| {
        let body = if request.query.contains("verb=Identify") {
            IDENTIFY.to_owned()
        } else if request.query.contains("resumptionToken") {
            "<error code=\"noRecordsMatch\">x</error>".to_owned()
        } else {
            list(&record("r1", "1"), "t")
        };
        xml(&body, "2020-03-01T00:00:00Z")
    });
    let failed = only_changed(&home, &[("url", &web.url("/oai"))]);
    assert_eq!(failed.state, ActivityState::Failed, "{failed:?}");
    assert_eq!(only_changed(&home, &[("url", &web.url("/oai"))]).changed_since.as_deref(), Some(DATE));
}

fn a_list_without_end_ends_with_an_error(engine: Engine) {
    let web = WebDouble::start();
    let (asked, times) = (AtomicUsize::new(0), AtomicUsize::new(0));
    web.answer("/oai", move |_| {
        let token = asked.fetch_add(1, Ordering::SeqCst);
        xml(&list(&(record("u1", "x") + &record("u2", "x")), &format!("t{token}")), DATE)
    });
    web.answer("/api", move |_| {
        let time = times.fetch_add(1, Ordering::SeqCst);
        Reply::ok(format!("[{{\"id\":\"i1\",\"took\":{time}}},{{\"id\":\"i2\",\"took\":{time}}}]").into_bytes())
    });
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let (oai, api) = (web.url("/oai"), web.url("/api"));
    let of_provider = begin(&home, "harvest", &[("url", &oai)]);
    let of_api =
        begin(&home, "harvest", &[("kind", "json"), ("url", &api), ("paging", "number"), ("parameter", "page")]);
    work(&home);
    for (id, path) in [(of_provider, "/oai"), (of_api, "/api")] {
        let view = show(&home, id);
        check_counts(&view);
        assert_eq!((view.state, view.processed), (ActivityState::Failed, Some(2)), "{view:?}");
        assert!(view.error.is_some_and(|error| error.contains("has no end")));
        // Each other task of the activity may ask for one more before it sees that it has failed.
        assert!((101..110).contains(&web.requests_of(path).len()), "{}", web.requests_of(path).len());
    }
    assert_eq!(show(&home, of_provider).failed, Some(0));
}

fn a_list_that_begins_again_counts_deleted_records_once_and_may_repeat_its_pages(engine: Engine) {
    const PAGES: usize = 120;
    let web = WebDouble::start();
    let expired = AtomicUsize::new(0);
    web.answer("/oai", move |request| {
        let token = request.query.split("resumptionToken=t").nth(1).and_then(|rest| rest.parse().ok());
        let page: usize = token.unwrap_or(0);
        if page + 1 == PAGES && expired.fetch_add(1, Ordering::SeqCst) == 0 {
            return xml("<error code=\"badResumptionToken\"/>", DATE);
        }
        let records =
            record(&format!("r{page}"), "x") + &if page == 0 { deleted("d0") + &deleted("d1") } else { String::new() };
        let next = if page + 1 == PAGES { String::new() } else { format!("t{}", page + 1) };
        xml(&list(&records, &next), DATE)
    });
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &web.url("/oai"))]);
    work(&home);
    let view = show(&home, id);
    assert_eq!(
        (view.state, view.processed, view.deleted),
        (ActivityState::Finished, Some(PAGES as u64), Some(2)),
        "{view:?}"
    );
}

fn what_may_pass_fails_no_set(engine: Engine) {
    let provider = OaiDouble::start(some_records(30));
    // More often than a page is asked for at once.
    provider.on(OaiFault::CutXml { offset: 10, times: 5 });
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url()), ("set", "even"), ("set", "odd")]);
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(30), Some(0)), "{view:?}");
}

fn a_set_that_failed_keeps_its_reason_and_says_what_to_do(engine: Engine) {
    let provider = OaiDouble::start(some_records(30));
    provider.on(OaiFault::SetFails("even".to_owned()));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url()), ("set", "even"), ("set", "odd")]);
    work(&home);
    for _ in 0..2 {
        activities::retry_failed(&call(&home), id).expect("retries");
        work(&home);
        let failed = failures(&home, id);
        let (record, error) = &failed[0];
        assert_eq!(record, "set even");
        assert!(error.contains("the set is broken") && error.matches("--anew").count() == 1, "{error}");
    }
    provider.mend();
    activities::rerun(&call(&home), id, true).expect("runs again");
    work(&home);
    assert_eq!(show(&home, id).processed, Some(30));
}

fn records_that_cannot_be_asked_for_alone_are_not_run_again(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let folder = home.path().join("xml");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("a.xml"), "<a/>").expect("writes");
    let id = begin(&home, "harvest", &[("kind", "folder"), ("path", folder.to_str().expect("UTF-8"))]);
    work(&home);
    let error = activities::rerun(&call(&home), id, false).expect_err("is refused");
    assert!(format!("{error:?}").contains("--anew"), "{error:?}");
    assert_eq!((show(&home, id).run, show(&home, id).processed), (1, Some(1)));
    activities::rerun(&call(&home), id, true).expect("runs again");
    work(&home);
    assert_eq!((show(&home, id).run, show(&home, id).processed), (2, Some(1)));
}

fn times_of_a_provider_that_cannot_be_true_move_no_watermark_too_far(engine: Engine) {
    let web = WebDouble::start();
    for (path, date) in [("/ahead", "2936-01-01T00:00:00Z"), ("/local", "2020-02-01T00:00:00"), ("/none", "today")] {
        web.answer(path, move |request| {
            let body =
                if request.query.contains("verb=Identify") { IDENTIFY.to_owned() } else { list(&record("r", "x"), "") };
            xml(&body, date)
        });
    }
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let since = |path: &str| {
        let url = web.url(path);
        let views = [only_changed(&home, &[("url", &url)]), only_changed(&home, &[("url", &url)])];
        assert!(views.iter().all(|view| view.state == ActivityState::Finished), "{views:?}");
        views[1].changed_since.clone()
    };
    assert!(since("/ahead").is_some_and(|since| since.as_str() < "2900"));
    assert_eq!(since("/local").as_deref(), Some("2020-02-01T00:00:00Z"));
    assert_eq!(since("/none"), None);
}
