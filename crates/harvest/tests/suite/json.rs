//! JSON and JSON Lines over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_download::Supervision;
use strongroom_harvest::{HarvestError, JsonForm, JsonOptions, JsonSource, Limits, Notice, Paging, RecordSource};
use strongroom_web_double::{Behaviour, Reply, Request, WebDouble};

use crate::cursors::every_cursor_goes_on;
use crate::{connection, given, given_from, sound, text};

const PAGE: usize = 10;

fn options(web: &WebDouble, paging: Paging) -> JsonOptions {
    JsonOptions {
        url: web.url("/api?q=a%20b"),
        form: JsonForm::Document { records: "/response/docs".to_owned() },
        id: "/id".to_owned(),
        datestamp: Some("/changed".to_owned()),
        deleted: Some("/gone".to_owned()),
        paging,
    }
}

fn source(web: &WebDouble, options: JsonOptions) -> JsonSource {
    JsonSource::new(connection(web), options).unwrap()
}

fn parameter(request: &Request, name: &str) -> Option<usize> {
    let mut pairs = request.query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok())
}

fn record(number: usize) -> String {
    format!("{{\"id\": \"r{number}\",\n \"size\": 1.50, \"changed\": \"2024-01-01\"}}")
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
        let body = match parameter(request, "lines") {
            Some(_) => records.iter().map(|record| record.replace('\n', "") + "\n\n").collect(),
            None => format!("{{\"next\": \"{next}\", \"response\": {{\"docs\": [{}]}}}}", records.join(" , ")),
        };
        let link = if next.is_empty() { "</x>; rel=prev".to_owned() } else { format!("<{next}>; rel=\"next\"") };
        Reply { content_type: "application/json", link, ..Reply::ok(body.into_bytes()) }
    });
    web
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("r{number}")).collect()
}

fn pagings() -> Vec<Paging> {
    vec![
        Paging::Number { parameter: "page".to_owned(), first: 1 },
        Paging::Offset { parameter: "start".to_owned() },
        Paging::Pointer("/next".to_owned()),
        Paging::Link,
    ]
}

#[test]
fn pages_follow_each_other_in_every_way() {
    for count in [0, 7, 10, 25] {
        for paging in pagings() {
            let web = api(count);
            let source = source(&web, options(&web, paging.clone()));
            assert_eq!(sound(&source).ids(), ids(count), "{paging:?}");
            every_cursor_goes_on(&source);
        }
    }
    let web = api(25);
    assert_eq!(sound(&source(&web, options(&web, Paging::One))).ids(), ids(10));
    assert_eq!(web.requests()[0].query, "q=a%20b");
}

#[test]
fn a_record_has_its_exact_bytes() {
    let web = api(2);
    let given = sound(&source(&web, options(&web, Paging::One)));
    assert_eq!(given.document(1), record(1));
    assert_eq!(given.records[1].document.as_ref().unwrap().media_type, "application/json");
    assert_eq!(given.records[1].datestamp.as_deref(), Some("2024-01-01"));
}

#[test]
fn pages_are_asked_for_as_they_are_consumed() {
    let web = api(25);
    let source = source(&web, options(&web, Paging::Link));
    let mut events = source.records(None, Supervision::default()).unwrap();
    assert!(web.requests().is_empty());
    assert_eq!(events.by_ref().take(11).flatten().count(), 11);
    assert_eq!(web.requests().len(), 1);
    let description = source.describe(&Supervision::default()).unwrap();
    assert_eq!((description.kind.as_str(), description.name.as_str()), ("JSON", "127.0.0.1"));
}

#[test]
fn json_lines_are_read_line_by_line_in_one_page_or_several() {
    for paging in pagings().into_iter().filter(|paging| !matches!(paging, Paging::Pointer(_))) {
        let web = api(25);
        let lines = web.url("/api?lines=1");
        let options = JsonOptions { url: lines, form: JsonForm::Lines, ..options(&web, paging.clone()) };
        // The API loses the parameter in its links, and sends a document then.
        if paging == Paging::Link {
            continue;
        }
        let source = source(&web, options);
        assert_eq!(sound(&source).ids(), ids(25), "{paging:?}");
        every_cursor_goes_on(&source);
    }
    let web = WebDouble::start();
    let lines: String = (0..3500).map(|number| record(number).replace('\n', "") + "\r\n").collect();
    web.put("/api", lines.trim_end());
    let source = source(&web, JsonOptions { form: JsonForm::Lines, ..options(&web, Paging::One) });
    let given = sound(&source);
    assert_eq!((given.ids().len(), given.cursors.len()), (3500, 4));
    every_cursor_goes_on(&source);
}

#[test]
fn lines_that_are_others_when_they_are_read_on_are_read_from_the_first() {
    let web = WebDouble::start();
    let put = |numbers: &mut dyn Iterator<Item = usize>| {
        web.put("/api", &*numbers.map(|number| record(number).replace('\n', "") + "\n").collect::<String>());
    };
    put(&mut (0..2500));
    let source = source(&web, JsonOptions { form: JsonForm::Lines, ..options(&web, Paging::One) });
    let cursor = sound(&source).cursors.remove(1);
    // The newest come first now.
    put(&mut (0..2600).rev());
    let given = given_from(&source, Some(cursor.clone()));
    assert!(given.error.is_none(), "{:?}", given.error);
    assert_eq!((given.records.len(), given.ids()[0]), (2600, "r2599"));
    assert!(matches!(given.notices.as_slice(), [Notice::Changed { .. }]), "{:?}", given.notices);
    every_cursor_goes_on(&source);
    put(&mut (0..10));
    let given = given_from(&source, Some(cursor.clone()));
    assert_eq!((given.records.len(), given.notices.len()), (10, 1));
    put(&mut (0..2000).chain(3000..3001));
    assert_eq!(given_from(&source, Some(cursor)).ids(), ["r3000"]);
}

#[test]
fn a_line_that_cannot_be_read_is_told_and_the_others_are_given() {
    let web = WebDouble::start();
    let long = format!("{{\"id\":\"x\",\"t\":\"{}\"}}", "y".repeat(3000));
    let deep = format!("{{\"id\":\"d\",\"t\":{}{}}}", "[".repeat(300), "]".repeat(300));
    let lines = [
        "{\"id\":1,\"gone\":true}",
        "{\"id\":",
        &long,
        "{}",
        &deep,
        "",
        "{\"id\":\"\"}",
        "{\"id\":\"a\\u0000\"}",
        "{\"id\":\"z\"}",
    ];
    web.put("/api", [lines.join("\n").as_bytes(), b"\n{\"id\":\"\xff\"}\n"].concat());
    let limits = Limits { record_bytes: 1000, ..Limits::default() };
    let options = JsonOptions { form: JsonForm::Lines, ..options(&web, Paging::One) };
    let given = sound(&JsonSource::new(connection(&web).limits(limits), options).unwrap());
    assert_eq!(given.ids(), ["1", "z"]);
    assert!(given.records[0].is_deleted && !given.records[1].is_deleted);
    let reasons: Vec<_> = given.unreadable().into_iter().map(|(_, reason)| reason).collect();
    let expected = [
        "the JSON is malformed: EOF while parsing a value",
        "it has more than 1000 bytes",
        "it has no text or number at \"/id\"",
        "the JSON is malformed: recursion limit exceeded",
        "its identifier is empty",
        "its identifier is empty",
        "the JSON is malformed: invalid unicode code point",
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:?}");
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.starts_with(expected), "{reason} {expected}");
    }
    assert!(
        given.notices[0].place().unwrap().to_string().ends_with("/api?... (page 1), line 2"),
        "{:?}",
        given.notices[0]
    );
}

#[test]
fn pages_that_are_wrong_are_told_with_their_byte() {
    for (body, records, reason) in [
        ("{\"response\": {\"docs\": [{\"id\": \"a\"}, {]}}", 1, "byte 37: the JSON is malformed"),
        ("{\"response\": {\"docs\": [{\"id\": \"a\"} {}]}}", 1, "there is no \",\""),
        ("{\"response\": {\"docs\": [{\"id\": \"a\"}", 1, "there is no \",\" or"),
        ("{\"response\": {}}", 0, "there is no array of records at \"/response/docs\""),
        ("{\"response\": {\"docs\": {}}}", 0, "there is no array of records"),
        ("<html>", 0, "there is no array of records"),
        ("", 0, "there is no array of records"),
    ] {
        let web = WebDouble::start();
        web.put("/api", body);
        let given = given(&source(&web, options(&web, Paging::One)));
        let error = text(&given.error.expect("an error"));
        assert!(error.contains(reason), "{body} {error}");
        assert!(error.contains(&web.url("/api?... (page 1)")), "{error}");
        assert_eq!(given.records.len(), records, "{body}");
    }
    let web = WebDouble::start();
    web.put("/api", "\u{feff}{\"response\": {\"docs\": [{\"id\": \"a\"}]}}");
    assert_eq!(sound(&source(&web, options(&web, Paging::One))).ids(), ["a"]);
}

#[test]
fn a_list_without_end_is_found() {
    let web = WebDouble::start();
    let number = Arc::new(AtomicUsize::new(0));
    web.answer("/api", move |_| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let body = format!("{{\"next\": \"/api?c={}\", \"response\": {{\"docs\": [{{\"id\": \"a\"}}]}}}}", number % 3);
        Reply { link: format!("</api?c={}>; rel=next", number % 3), ..Reply::ok(body.into_bytes()) }
    });
    for paging in [Paging::Pointer("/next".to_owned()), Paging::Link] {
        let given = given(&source(&web, options(&web, paging)));
        assert!(matches!(given.error, Some(HarvestError::Loop { .. })), "{:?}", given.error);
    }
    // A server that does not know the parameter.
    web.answer("/api", |_| Reply::ok(b"{\"response\": {\"docs\": [{\"id\": \"a\"}]}}".to_vec()));
    for paging in
        [Paging::Number { parameter: "page".to_owned(), first: 0 }, Paging::Offset { parameter: "start".to_owned() }]
    {
        let given = given(&source(&web, options(&web, paging)));
        assert!(matches!(given.error, Some(HarvestError::Loop { .. })), "{:?}", given.error);
    }
}

#[test]
fn bounds_and_the_policy_hold_for_every_page() {
    let web = api(25);
    let small = Limits { json_page_bytes: 100, ..Limits::default() };
    let source = JsonSource::new(connection(&web).limits(small), options(&web, Paging::One)).unwrap();
    assert!(text(&given(&source).error.unwrap()).contains("has more than 100 bytes"));
    web.answer("/api", |_| {
        Reply::ok(b"{\"next\": \"http://elsewhere.example/\", \"response\": {\"docs\": []}}".to_vec())
    });
    let source = self::source(&web, options(&web, Paging::Pointer("/next".to_owned())));
    assert!(text(&given(&source).error.unwrap()).contains("elsewhere.example/ is not fetched"));
    web.answer("/api", |_| Reply { status: 404, ..Reply::ok(Vec::new()) });
    assert!(matches!(given(&source).error, Some(HarvestError::Status { status: 404, .. })));
}

#[test]
fn overload_and_broken_connections_are_waited_for() {
    for behaviour in [
        Behaviour::RetryAfter { times: 3, value: "60".into() },
        Behaviour::CutAfter { bytes: 100, times: 3 },
        Behaviour::Unanswered(3),
    ] {
        let web = api(25);
        web.on("/api", behaviour);
        assert_eq!(sound(&source(&web, options(&web, Paging::Link))).ids(), ids(25));
    }
}

#[test]
fn options_that_cannot_be_are_refused() {
    let web = api(1);
    let options = |paging| options(&web, paging);
    for options in [
        JsonOptions { id: "id".to_owned(), ..options(Paging::One) },
        JsonOptions { form: JsonForm::Document { records: "docs".to_owned() }, ..options(Paging::One) },
        JsonOptions { form: JsonForm::Lines, ..options(Paging::Pointer("/next".to_owned())) },
        options(Paging::Pointer("next".to_owned())),
    ] {
        let refused = JsonSource::new(connection(&web), options).unwrap_err();
        assert!(matches!(refused, HarvestError::Setting { .. }));
    }
}

#[test]
fn an_answer_without_records_that_says_that_there_are_some_is_an_error() {
    let web = WebDouble::start();
    let number = Paging::Number { parameter: "page".to_owned(), first: 1 };
    for (body, told) in [
        (r#"{"response": {"numFound": 25, "docs": []}}"#, Some("numFound 25")),
        (r#"{"total": 25, "count": 0, "response": {"docs": []}}"#, Some("total 25")),
        (r#"{"count": 25, "response": {"docs": []}}"#, Some("count 25")),
        (r#"{"total": 0, "count": 10, "response": {"docs": []}}"#, None),
        (r#"{"response": {"numFound": 0, "docs": []}}"#, None),
        (r#"{"took": 12, "response": {"docs": []}}"#, None),
    ] {
        web.put("/api", body);
        for paging in [Paging::One, number.clone()] {
            let given = given(&source(&web, options(&web, paging)));
            assert!(given.records.is_empty());
            let error = given.error.map(|error| text(&error));
            match told {
                Some(told) => {
                    assert!(error.is_some_and(|error| error.contains(&format!("which has {told:?}"))), "{body}");
                }
                None => assert_eq!(error, None, "{body}"),
            }
        }
    }
    for (body, instead) in [
        (r#"{"response": {"items": [], "total": 1}}"#, "at \"/response/docs\"; what is there has \"items\", \"total\""),
        (r#"{"answer": 1}"#, "what is there has \"answer\""),
        (r#"{"response": {"docs": {"a": 1}}}"#, "what is there has \"a\""),
    ] {
        web.put("/api", body);
        let given = given(&source(&web, options(&web, Paging::One)));
        let error = text(&given.error.unwrap());
        assert!(error.contains(instead), "{error}");
    }
}
