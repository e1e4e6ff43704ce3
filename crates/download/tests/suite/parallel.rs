//! Many downloads at a time.

use std::collections::BTreeMap;
use std::io::{self, Read};

use strongroom_download::{
    Body, Client, DownloadError, Expected, Finished, Job, Parallel, Policy, Supervision, Totals,
};
use strongroom_web_double::{Behaviour, WebDouble};

use crate::{bytes, client, policy};

struct Path(String);

impl Job for Path {
    fn url(&self) -> &str {
        &self.0
    }

    fn expected(&self) -> Expected {
        Expected::default()
    }
}

fn jobs(web: &WebDouble, count: u32) -> impl Iterator<Item = Path> + Send + use<> {
    let urls: Vec<_> = (0..count).map(|number| Path(web.url(&format!("/{number}")))).collect();
    urls.into_iter()
}

fn serving(count: u32) -> WebDouble {
    let web = WebDouble::start();
    for number in 0..count {
        web.put(&format!("/{number}"), bytes(1000 + number));
    }
    web
}

fn whole(_: &Path, mut body: Body<'_>) -> io::Result<usize> {
    body.read_to_end(&mut Vec::new())
}

fn threads(threads: usize) -> Parallel<'static> {
    Parallel { threads, supervision: Supervision::default() }
}

#[test]
fn every_job_is_done_once_and_reported_with_its_number() {
    let web = serving(50);
    let mut found = BTreeMap::new();
    let totals = client(&web).fetch_all(jobs(&web, 50), &threads(8), whole, |finished| {
        assert!(found.insert(finished.index, finished.outcome.unwrap()).is_none());
    });
    assert_eq!(totals, Totals { succeeded: 50, failed: 0, is_stopped: false });
    assert!(found.into_iter().all(|(index, length)| length == 1000 + index));
    assert_eq!(web.requests().len(), 50);
}

#[test]
fn connections_to_one_host_are_limited_over_all_threads() {
    let web = serving(20);
    for number in 0..20 {
        web.on(&format!("/{number}"), Behaviour::Slow);
        web.release(&format!("/{number}"), 1100);
    }
    let client = Client::new(Policy { connections_per_host: 3, ..policy(&web) }).unwrap();
    let totals = client.fetch_all(jobs(&web, 20), &threads(10), whole, |_| {});
    assert_eq!(totals.succeeded, 20);
    assert!(web.most_open_bodies() <= 3, "{}", web.most_open_bodies());
}

#[test]
fn downloads_run_at_the_same_time() {
    let web = serving(4);
    for number in 0..4 {
        web.on(&format!("/{number}"), Behaviour::Slow);
    }
    let client = client(&web);
    std::thread::scope(|scope| {
        let fetching = scope.spawn(|| client.fetch_all(jobs(&web, 4), &threads(4), whole, |_| {}));
        web.wait_for_open_bodies("/", 4);
        for number in 0..4 {
            web.release(&format!("/{number}"), 1100);
        }
        assert_eq!(fetching.join().unwrap().succeeded, 4);
    });
}

#[test]
fn a_failure_for_good_stops_the_rest_and_those_that_had_begun_are_reported() {
    let web = serving(100);
    for number in 1..4 {
        web.on(&format!("/{number}"), Behaviour::Slow);
    }
    let sink = |path: &Path, body: Body<'_>| {
        if !path.0.ends_with("/0") {
            return whole(path, body);
        }
        for number in 1..4 {
            web.wait_for_open_bodies(&format!("/{number}"), 1);
        }
        Err(DownloadError::TooLong { url: path.0.clone(), most: 0 }.into())
    };
    let mut outcomes = Vec::new();
    let totals = client(&web).fetch_all(jobs(&web, 100), &threads(4), sink, |finished: Finished<Path, usize>| {
        if finished.index == 0 {
            for number in 1..4 {
                web.release(&format!("/{number}"), 2000);
            }
        }
        outcomes.push((finished.index, finished.outcome.is_ok()));
    });
    outcomes.sort_unstable();
    assert_eq!(outcomes, [(0, false), (1, true), (2, true), (3, true)]);
    assert_eq!(totals, Totals { succeeded: 3, failed: 1, is_stopped: true });
}

#[test]
fn a_file_that_is_not_there_stops_the_rest() {
    let web = serving(10);
    web.on("/2", Behaviour::NotFound);
    let totals = client(&web).fetch_all(jobs(&web, 10), &threads(1), whole, |_| {});
    assert_eq!(totals, Totals { succeeded: 2, failed: 1, is_stopped: true });
}

#[test]
fn a_transient_failure_fails_its_job_alone() {
    let web = serving(10);
    web.on("/3", Behaviour::Status(503));
    let totals = client(&web).fetch_all(jobs(&web, 10), &threads(2), whole, |finished| {
        assert_eq!(finished.outcome.is_err(), finished.index == 3);
    });
    assert_eq!(totals, Totals { succeeded: 9, failed: 1, is_stopped: false });
}

#[test]
fn an_error_of_the_sink_fails_its_job_for_good() {
    let web = serving(10);
    let sink = |_: &Path, _: Body<'_>| Err::<(), _>(io::Error::other("the disk is full"));
    let mut errors = Vec::new();
    let totals = client(&web).fetch_all(jobs(&web, 10), &threads(1), sink, |finished| {
        errors.push(finished.outcome.unwrap_err());
    });
    assert!(matches!(errors[..], [DownloadError::Sink { .. }]), "{errors:?}");
    assert!(totals.is_stopped);
}

#[test]
fn a_caller_can_stop_all_of_them() {
    let web = serving(10);
    let supervision = Supervision::new(|| Err::<(), _>(io::Error::other("stop")));
    let totals = client(&web).fetch_all(jobs(&web, 10), &Parallel { threads: 1, supervision }, whole, |finished| {
        assert!(matches!(finished.outcome, Err(DownloadError::Interrupted { .. })));
    });
    assert_eq!(totals, Totals { succeeded: 0, failed: 1, is_stopped: true });
    assert!(web.requests().is_empty());
}
