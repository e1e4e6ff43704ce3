//! Sources that are away: their activities are tried again later, keep no worker from others meanwhile, and do what people ask at once.

use std::collections::BTreeSet;
use std::sync::Mutex;

use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::views::ActivityId;
use strongroom_oai_double::{OaiDouble, PATH};
use strongroom_records::RecordState;
use strongroom_web_double::{Behaviour, Reply, WebDouble};

use super::harvesting::some_records;
use super::{begin, call, check_counts, options, records, show, work, work_rounds};
use crate::fixture::{Engine, TestHome, home_on, on_both_databases};

on_both_databases! {
    a_source_that_asks_to_wait_keeps_no_worker_from_another
    a_source_that_stays_away_fails_its_activity_after_ten_attempts
    a_source_that_asks_to_wait_before_each_page_is_read_to_its_end
    people_stop_an_activity_whose_source_is_away_at_once
    records_of_a_provider_that_is_away_are_not_asked_for_one_after_the_other
    a_large_page_is_kept_in_the_data_directory_and_leaves_nothing_there
}

/// A home whose processes have one worker.
fn home_with_one_worker(engine: Engine, host: &str) -> Option<TestHome> {
    let ingest = format!("[ingest]\nallow_private_addresses = true\nurl_hosts = [\"{host}\"]\n");
    home_on(engine, &format!("{ingest}[workers.default]\nworkers = 1\n"))
}

/// A server that asks to wait for five minutes at `/away`.
fn server() -> WebDouble {
    let web = WebDouble::start();
    web.on("/away", Behaviour::RetryAfter { times: usize::MAX, value: "300".to_owned() });
    web.put("/there", "[{\"id\": 1}]");
    web
}

fn harvest(home: &TestHome, url: &str) -> ActivityId {
    begin(home, "harvest", &[("kind", "json"), ("url", url)])
}

fn a_source_that_asks_to_wait_keeps_no_worker_from_another(engine: Engine) {
    let web = server();
    let Some(home) = home_with_one_worker(engine, &web.authority()) else { return };
    let away: Vec<_> = (0..4).map(|_| harvest(&home, &web.url("/away"))).collect();
    let there = harvest(&home, &web.url("/there"));
    // Until everything waits for a time.
    work_rounds(&home, 0);
    assert_eq!(show(&home, there).state, ActivityState::Finished);
    for id in &away {
        let view = show(&home, *id);
        assert!(view.state.is_at_work() && view.error.is_none(), "{view:?}");
        assert!(view.attempt_error.as_deref().is_some_and(|error| error.contains("status 503")), "{view:?}");
        assert!(view.tried_again_at.is_some(), "{view:?}");
    }
    assert_eq!(web.requests_of("/away").len(), away.len(), "each was asked once");
    // When the time has come, it is asked again, and not before.
    web.mend("/away");
    web.put("/away", "[{\"id\": 1}]");
    home.clock.advance(std::time::Duration::from_secs(290));
    work_rounds(&home, 0);
    assert_eq!(web.requests_of("/away").len(), away.len());
    home.clock.advance(std::time::Duration::from_secs(10));
    work(&home);
    assert!(away.iter().all(|id| show(&home, *id).state == ActivityState::Finished));
}

fn a_source_that_stays_away_fails_its_activity_after_ten_attempts(engine: Engine) {
    let web = server();
    let Some(home) = home_with_one_worker(engine, &web.authority()) else { return };
    let id = harvest(&home, &web.url("/away"));
    work(&home);
    let view = show(&home, id);
    assert_eq!(view.state, ActivityState::Failed, "{view:?}");
    assert!(view.error.as_deref().is_some_and(|error| error.contains("status 503")), "{view:?}");
    assert_eq!(web.requests_of("/away").len(), 10);
    web.mend("/away");
    web.put("/away", "[{\"id\": 1}]");
    activities::restart(&call(&home), id).expect("restarts");
    work(&home);
    assert_eq!(show(&home, id).state, ActivityState::Finished);
}

fn a_source_that_asks_to_wait_before_each_page_is_read_to_its_end(engine: Engine) {
    const PAGES: usize = 15;
    let web = WebDouble::start();
    let refused: Mutex<BTreeSet<String>> = Mutex::default();
    web.answer("/api", move |request| {
        if refused.lock().expect("no poison").insert(request.query.clone()) {
            return Reply { status: 503, retry_after: "60", ..Reply::ok(Vec::new()) };
        }
        let page: usize = request.query.trim_start_matches("page=").parse().expect("a number");
        Reply::ok(if page > PAGES { b"[]".to_vec() } else { format!("[{{\"id\": {page}}}]").into_bytes() })
    });
    let Some(home) = home_with_one_worker(engine, &web.authority()) else { return };
    let options = [("kind", "json"), ("url", &*web.url("/api")), ("paging", "number"), ("parameter", "page")];
    let id = begin(&home, "harvest", &options);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(PAGES as u64)), "{view:?}");
    assert_eq!(web.requests_of("/api").len(), 2 * (PAGES + 1), "each page was asked for twice");
}

fn people_stop_an_activity_whose_source_is_away_at_once(engine: Engine) {
    let web = server();
    let Some(home) = home_with_one_worker(engine, &web.authority()) else { return };
    let (paused, cancelled) = (harvest(&home, &web.url("/away")), harvest(&home, &web.url("/away")));
    work_rounds(&home, 0);
    assert_eq!(web.requests_of("/away").len(), 2);
    activities::pause(&call(&home), paused).expect("pauses");
    activities::cancel(&call(&home), cancelled).expect("cancels");
    work(&home);
    let views = [paused, cancelled].map(|id| show(&home, id));
    assert_eq!(views.each_ref().map(|view| view.state), [ActivityState::Paused, ActivityState::Cancelled]);
    assert!(views.iter().all(|view| view.attempt_error.is_none() && view.tried_again_at.is_none()), "{views:?}");
    assert_eq!(web.requests_of("/away").len(), 2, "it is not asked again");
    // Resumed, it is asked at once, whatever it was asked to wait before.
    web.mend("/away");
    web.put("/away", "[{\"id\": 1}]");
    activities::resume(&call(&home), paused).expect("resumes");
    work_rounds(&home, 0);
    assert_eq!(show(&home, paused).state, ActivityState::Finished);
}

fn records_of_a_provider_that_is_away_are_not_asked_for_one_after_the_other(engine: Engine) {
    let mut given = some_records(12);
    for record in given.iter_mut().take(9) {
        *record = record.clone().titled(b"Caf\xe9");
    }
    let provider = OaiDouble::start(given);
    let Some(home) = home_with_one_worker(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    assert_eq!(show(&home, id).failed, Some(9));
    provider.change(|records| {
        for record in records.iter_mut() {
            *record = record.clone().titled(b"Mended");
        }
    });
    provider.web().on(PATH, Behaviour::RetryAfter { times: usize::MAX, value: "300".to_owned() });
    let before = provider.web().requests_of(PATH).len();
    activities::retry_failed(&call(&home), id).expect("retries");
    work_rounds(&home, 0);
    let asked = provider.web().requests_of(PATH).len() - before;
    // Each task that works on the activity asks once.
    assert!((1..=home.settings.activities.workers).contains(&asked), "{asked}");
    let view = show(&home, id);
    assert!(view.state.is_at_work() && view.attempt_error.is_some(), "{view:?}");
    provider.web().mend(PATH);
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(12)), "{view:?}");
    assert!(records(&home, id, RecordState::Failed).is_empty());
}

fn a_large_page_is_kept_in_the_data_directory_and_leaves_nothing_there(engine: Engine) {
    let web = WebDouble::start();
    let padding = "x".repeat(1_000);
    // More than is kept in memory.
    let lines: Vec<String> = (0..2_000).map(|id| format!("{{\"id\": {id}, \"text\": \"{padding}\"}}")).collect();
    web.put("/lines", lines.join("\n"));
    let Some(home) = home_with_one_worker(engine, &web.authority()) else { return };
    let folder = home.path().join("harvest");
    let options = options(&[("kind", "jsonl"), ("url", &web.url("/lines"))]);
    let request = Request { agent: "harvest".to_owned(), options, ..Request::default() };
    std::fs::write(&folder, "no folder").expect("writes");
    let error = activities::run(&call(&home), &request).expect_err("there is no place for pages");
    assert!(error.chain().contains("make the folder of pages"), "{}", error.chain());
    std::fs::remove_file(&folder).expect("removes");
    let id = activities::run(&call(&home), &request).expect("an activity").activity;
    work(&home);
    assert_eq!(show(&home, id).processed, Some(2_000));
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 0);
}
