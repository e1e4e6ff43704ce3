//! The agent harvest over sources that are no providers of OAI-PMH: whole activities, with what is kept and what fails.

use std::fs;
use std::path::Path;

use strongroom_engine::app::activities::{self, ActivityState};
use strongroom_records::RecordState;
use strongroom_registry::documents::{self, Document};
use strongroom_registry::{Scope, journal};
use strongroom_web_double::{Behaviour, Reply, Request, WebDouble};

use super::{begin, call, check_counts, home_for, ids, records, show, work};
use crate::fixture::{Engine, TestHome, on_both_databases};

on_both_databases! {
    json_is_harvested_by_every_way_of_paging
    json_that_breaks_off_is_asked_for_again_and_goes_on_at_its_page
    case_7_a_record_without_an_identifier_at_its_path_fails_and_the_others_are_kept
    json_lines_are_harvested_and_a_wrong_line_fails
    marc_xml_is_harvested_record_by_record
    a_folder_of_xml_is_harvested_file_by_file_or_element_by_element
    records_of_files_that_failed_are_read_by_another_run
    a_key_in_the_url_of_a_source_is_used_and_not_shown
}

const PAGE: usize = 10;

fn parameter(request: &Request, name: &str) -> Option<usize> {
    let mut pairs = request.query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok())
}

fn record(number: usize) -> String {
    format!("{{\"key\": {{\"name\": \"r{number:02}\"}}, \"size\": 1.50, \"changed\": \"2024-01-01\"}}")
}

/// An API with so many records in pages of ten, by every way of paging.
fn api(count: usize) -> WebDouble {
    let web = WebDouble::start();
    web.answer("/api", move |request| {
        let page = parameter(request, "page").map(|page| page.saturating_sub(1) * PAGE);
        let start = page.or(parameter(request, "start")).unwrap_or(0).min(count);
        let end = (start + PAGE).min(count);
        let records: Vec<String> = (start..end).map(record).collect();
        let next = if end < count { format!("/api?start={end}&q=a") } else { String::new() };
        let body = format!("{{\"next\": \"{next}\", \"response\": {{\"docs\": [{}]}}}}", records.join(" , "));
        let link = if next.is_empty() { String::new() } else { format!("<{next}>; rel=\"next\"") };
        Reply { content_type: "application/json", link, ..Reply::ok(body.into_bytes()) }
    });
    web
}

fn expected(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("r{number:02}")).collect()
}

/// The document that was kept of a processed record.
fn document(home: &TestHome, result: Option<&str>) -> Document {
    let id = documents::of_entity(result.expect("a result")).expect("the name of a document");
    home.registry.read(|tx| documents::get(tx, id)).expect("reads").expect("it is kept")
}

fn failures(home: &TestHome, id: strongroom_engine::app::views::ActivityId) -> Vec<(String, String)> {
    let failed = records(home, id, RecordState::Failed).into_iter();
    let mut failed: Vec<_> = failed.map(|record| (record.record, record.error.expect("why"))).collect();
    failed.sort();
    failed
}

fn json_is_harvested_by_every_way_of_paging(engine: Engine) {
    let web = api(25);
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let url = web.url("/api?q=a%20b");
    for (paging, parameter) in
        [("one", None), ("number", Some("page")), ("offset", Some("start")), ("next", Some("/next")), ("link", None)]
    {
        let mut options = vec![
            ("kind", "json"),
            ("url", &*url),
            ("records", "/response/docs"),
            ("id", "/key/name"),
            ("datestamp", "/changed"),
            ("paging", paging),
        ];
        options.extend(parameter.map(|parameter| ("parameter", parameter)));
        let id = begin(&home, "harvest", &options);
        work(&home);
        let view = show(&home, id);
        check_counts(&view);
        assert_eq!((view.state, view.failed), (ActivityState::Finished, Some(0)), "{paging}: {view:?}");
        let count = if paging == "one" { PAGE } else { 25 };
        assert_eq!(ids(&home, id, RecordState::Processed), expected(count), "{paging}");
        for record in records(&home, id, RecordState::Processed) {
            let kept = document(&home, record.result.as_deref());
            assert_eq!((&kept.record, kept.media_type.as_str()), (&record.record, "application/json"));
            assert_eq!((kept.origin.location, kept.datestamp.as_deref()), (web.url("/api"), Some("2024-01-01")));
            let number: usize = record.record.trim_start_matches('r').parse().expect("a number");
            assert_eq!(kept.bytes, self::record(number).into_bytes(), "its exact bytes");
        }
    }
}

fn json_that_breaks_off_is_asked_for_again_and_goes_on_at_its_page(engine: Engine) {
    let web = api(25);
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let options = [
        ("kind", "json"),
        ("url", &*web.url("/api")),
        ("records", "/response/docs"),
        ("id", "/key/name"),
        ("paging", "link"),
    ];
    web.on("/api", Behaviour::RetryAfter { times: 1, value: "1".to_owned() });
    web.on("/api", Behaviour::CutAfter { bytes: 60, times: 1 });
    let id = begin(&home, "harvest", &options);
    work(&home);
    assert_eq!(ids(&home, id, RecordState::Processed), expected(25));
    assert_eq!(web.requests_of("/api").len(), 5, "three pages, and two that were asked for again");
}

fn case_7_a_record_without_an_identifier_at_its_path_fails_and_the_others_are_kept(engine: Engine) {
    let web = WebDouble::start();
    web.put("/api", "[{\"id\": \"a\"}, {\"name\": \"no id\"}, {\"id\": \"b\", \"gone\": true}, {\"id\": 7}]");
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let options = [("kind", "json"), ("url", &*web.url("/api")), ("deleted", "/gone")];
    let id = begin(&home, "harvest", &options);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.deleted), (ActivityState::FinishedWithErrors, Some(1)), "{view:?}");
    assert_eq!(ids(&home, id, RecordState::Processed), ["7", "a"]);
    let failed = failures(&home, id);
    assert_eq!(failed.len(), 1);
    assert!(failed[0].0.contains("byte 14") && failed[0].1.contains("\"/id\""), "{failed:?}");
    // A single record of such a source cannot be asked for.
    activities::retry_failed(&call(&home), id).expect("retries");
    work(&home);
    assert!(failures(&home, id)[0].1.contains("run the harvest again"));
}

fn json_lines_are_harvested_and_a_wrong_line_fails(engine: Engine) {
    let web = WebDouble::start();
    let mut lines: Vec<String> = (0..1_200).map(|number| format!("{{\"id\":\"r{number:04}\"}}")).collect();
    lines[600] = String::from("{\"id\":");
    lines[601] = String::from("{\"id\":\"r0003\"}");
    web.put("/lines", lines.join("\n"));
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let id = begin(&home, "harvest", &[("kind", "jsonl"), ("url", &web.url("/lines"))]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.failed),
        (ActivityState::FinishedWithErrors, Some(1_198), Some(1)),
        "one line is wrong, and one has an identifier that was there already"
    );
    let failed = failures(&home, id);
    assert!(failed[0].0.contains("line 601") && failed[0].1.contains("malformed"), "{failed:?}");
}

fn marc(id: &str, status: char) -> String {
    format!(
        "<marc:record><marc:leader>00000{status}am a2200000 a 4500</marc:leader>\
         <marc:controlfield tag=\"001\">{id}</marc:controlfield></marc:record>"
    )
}

fn collection(records: &[String]) -> String {
    format!("<marc:collection xmlns:marc=\"http://www.loc.gov/MARC21/slim\">\n{}</marc:collection>", records.join("\n"))
}

fn marc_xml_is_harvested_record_by_record(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let folder = home.path().join("marc");
    fs::create_dir_all(&folder).expect("a folder");
    let all: Vec<String> = (0..30).map(|number| marc(&format!("m{number:02}"), 'c')).collect();
    fs::write(folder.join("a.xml"), collection(&all)).expect("writes");
    fs::write(folder.join("b.xml"), collection(&[marc("m30", 'd'), marc("", 'c'), marc("m31", 'n')])).expect("writes");
    fs::write(folder.join("c.xml"), "<not closed>").expect("writes");
    let id = begin(&home, "harvest", &[("kind", "marcxml"), ("path", text(&folder))]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.failed, view.deleted),
        (ActivityState::FinishedWithErrors, Some(31), Some(2), Some(1)),
        "{view:?}"
    );
    for record in records(&home, id, RecordState::Processed) {
        let kept = document(&home, record.result.as_deref());
        assert_eq!((&kept.record, kept.media_type.as_str()), (&record.record, "application/marcxml+xml"));
        assert!(String::from_utf8(kept.bytes).expect("UTF-8").contains(&format!("\"001\">{}<", record.record)));
    }
    let failed = failures(&home, id);
    assert!(failed[0].0.contains("b.xml"), "the record without an identifier: {failed:?}");
    assert_eq!(failed[1].0, "file c.xml", "{failed:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn a_folder_of_xml_is_harvested_file_by_file_or_element_by_element(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let folder = home.path().join("xml");
    fs::create_dir_all(folder.join("below")).expect("a folder");
    fs::write(folder.join("below/1.xml"), "<dump><ead id='a'>1</ead><ead id='b'>2</ead></dump>").expect("writes");
    fs::write(folder.join("2.xml"), "<dump><ead id='c'>3</ead><ead>none</ead></dump>").expect("writes");
    fs::write(folder.join("notes.txt"), "no XML").expect("writes");
    let of_files = begin(&home, "harvest", &[("kind", "folder"), ("path", text(&folder))]);
    let of_elements = [("kind", "folder"), ("path", text(&folder)), ("element", "ead"), ("id", "@id")];
    let of_elements = begin(&home, "harvest", &of_elements);
    work(&home);
    assert_eq!(ids(&home, of_files, RecordState::Processed), ["2.xml", "below/1.xml"]);
    assert_eq!(show(&home, of_files).state, ActivityState::Finished);
    let view = show(&home, of_elements);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(3), Some(1)));
    assert_eq!(ids(&home, of_elements, RecordState::Processed), ["a", "b", "c"]);
    let first = records(&home, of_elements, RecordState::Processed).remove(0);
    let kept = document(&home, first.result.as_deref());
    assert!(String::from_utf8(kept.bytes).expect("UTF-8").starts_with("<ead id="), "the element alone");
    assert_eq!(kept.origin.location, text(&folder));
}

fn records_of_files_that_failed_are_read_by_another_run(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let folder = home.path().join("xml");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("a.xml"), "<a/>").expect("writes");
    fs::write(folder.join("b.xml"), "<b>").expect("writes");
    let id = begin(&home, "harvest", &[("kind", "folder"), ("path", text(&folder))]);
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(1), Some(1)));
    fs::write(folder.join("b.xml"), "<b/>").expect("writes");
    activities::rerun(&call(&home), id, true).expect("runs again");
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.run), (ActivityState::Finished, Some(2), 2), "{view:?}");
}

fn a_key_in_the_url_of_a_source_is_used_and_not_shown(engine: Engine) {
    let web = api(5);
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let url = web.url("/api?q=maps&key=letmein");
    let options = [("kind", "json"), ("url", &*url), ("records", "/response/docs"), ("id", "/key/name")];
    let id = begin(&home, "harvest", &options);
    work(&home);
    assert_eq!(web.requests_of("/api")[0].query, "q=maps&key=letmein");
    let view = serde_json::to_string(&show(&home, id)).expect("JSON");
    assert!(view.contains("/api?q=...&key=...") && !view.contains("letmein"), "{view}");
    // Nor where it fails, nor in what comes of it.
    web.on("/api", Behaviour::NotFound);
    let failing = begin(&home, "harvest", &options);
    work(&home);
    let view = show(&home, failing);
    assert_eq!(view.state, ActivityState::Failed);
    assert!(view.error.as_deref().is_some_and(|error| error.contains("404") && !error.contains("letmein")), "{view:?}");
    let kept = document(&home, records(&home, id, RecordState::Processed)[0].result.as_deref());
    assert_eq!(kept.origin.location, web.url("/api"));
    assert!(kept.origin.part.is_some_and(|part| !part.contains("letmein")));
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &journal::LineFilter::default(), None, 100));
    let lines = format!("{:?}", lines.expect("the journal"));
    assert!(lines.contains("activity") && !lines.contains("letmein"), "{lines}");
}
