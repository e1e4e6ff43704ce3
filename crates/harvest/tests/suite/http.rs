//! How servers are asked: politely, again where that helps, within the policy.

use std::io;
use std::thread;

use strongroom_download::{DownloadError, Policy, Supervision};
use strongroom_harvest::{Connection, HarvestError, OaiClient, OaiOptions, OaiSource, RecordSource};
use strongroom_oai_double::{OaiDouble, PATH};
use strongroom_web_double::Behaviour;

use crate::{client, connection, given, ids, policy, records, sound, whole};

#[test]
fn overload_and_broken_connections_are_waited_for() {
    for behaviour in [
        Behaviour::RetryAfter { times: 3, value: "120".into() },
        Behaviour::RetryAfter { times: 3, value: "Fri, 31 Dec 2999 23:59:59 GMT".into() },
        Behaviour::FailTimes { times: 3, status: 429 },
        Behaviour::FailTimes { times: 3, status: 500 },
        Behaviour::Unanswered(3),
        Behaviour::CutAfter { bytes: 700, times: 3 },
    ] {
        let provider = OaiDouble::start(records(0..15));
        provider.web().on(PATH, behaviour.clone());
        assert_eq!(sound(&whole(&provider)).ids(), ids(0..15), "{behaviour:?}");
    }
}

#[test]
fn attempts_are_bounded() {
    let provider = OaiDouble::start(records(0..15));
    provider.web().on(PATH, Behaviour::Status(503));
    let given = given(&whole(&provider));
    let Some(HarvestError::Download(DownloadError::Status { status: 503, .. })) = given.error else { panic!() };
    assert_eq!(provider.queries().len(), 5);
}

#[test]
fn headers_say_who_asks() {
    let provider = OaiDouble::start(records(0..3));
    let connection = connection(provider.web()).user_agent("archive/2 (test)").from_address("archive@example.org");
    let client = OaiClient::new(connection, &provider.base_url()).unwrap();
    client.identify(&Supervision::default()).unwrap();
    let request = provider.web().requests().pop().unwrap();
    assert_eq!(request.header("user-agent"), Some("archive/2 (test)"));
    assert_eq!(request.header("from"), Some("archive@example.org"));
    assert!(request.header("accept").unwrap().starts_with("text/xml"));
    let with = |value: &str| OaiClient::new(crate::connection(provider.web()).user_agent(value), &provider.base_url());
    assert!(matches!(with("a\r\nb: c").unwrap_err(), HarvestError::Setting { .. }));
}

#[test]
fn hosts_and_addresses_are_those_of_the_policy() {
    let provider = OaiDouble::start(records(0..3));
    let refused = OaiClient::new(Connection::new(Policy::default()).unwrap(), &provider.base_url());
    assert!(matches!(refused.unwrap_err(), HarvestError::Download(DownloadError::Refused { .. })));
    let policy = Policy { allow_private_networks: false, ..policy(provider.web()) };
    let client = OaiClient::new(Connection::new(policy).unwrap(), &provider.base_url()).unwrap();
    let refused = client.identify(&Supervision::default()).unwrap_err();
    assert!(matches!(refused, HarvestError::Download(DownloadError::Refused { .. })), "{refused:?}");
    // A policy concerns every set, so none is passed over.
    let sets = vec!["a".to_owned(), "b".to_owned()];
    let source = OaiSource::new(client, OaiOptions { sets, ..OaiOptions::default() }).unwrap();
    let given = given(&source);
    assert!(given.error.is_some() && given.notices.is_empty());
    assert!(provider.queries().is_empty());
}

#[test]
fn a_redirect_is_followed_within_the_policy() {
    let provider = OaiDouble::start(records(0..3));
    provider.web().on("/old", Behaviour::RedirectTo(format!("{PATH}?verb=Identify")));
    let client = OaiClient::new(connection(provider.web()), &provider.web().url("/old")).unwrap();
    assert_eq!(client.identify(&Supervision::default()).unwrap().repository_name, "Test provider");
}

#[test]
fn a_base_url_keeps_its_own_query() {
    let provider = OaiDouble::start(records(0..3));
    let url = format!("{}?custom=1#part", provider.base_url());
    let client = OaiClient::new(connection(provider.web()), &url).unwrap();
    let _ = client.identify(&Supervision::default());
    assert_eq!(provider.queries(), ["custom=1&verb=Identify"]);
}

#[test]
fn a_caller_can_stop_a_harvest() {
    let provider = OaiDouble::start(records(0..35));
    let stopping =
        Supervision::new(|| if provider.queries().len() >= 2 { Err(io::Error::other("stop")) } else { Ok(()) });
    let source = OaiSource::new(client(&provider), OaiOptions::default()).unwrap();
    let events: Vec<_> = source.records(None, stopping).unwrap().collect();
    let Some(Err(HarvestError::Download(DownloadError::Interrupted { .. }))) = events.last() else { panic!() };
    assert!(events.len() > 10);
}

#[test]
fn a_host_has_one_request_at_a_time_over_all_sources() {
    let provider = OaiDouble::start(records(0..100));
    let connection = connection(provider.web());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let client = OaiClient::new(connection.clone(), &provider.base_url()).unwrap();
                assert_eq!(sound(&OaiSource::new(client, OaiOptions::default()).unwrap()).ids(), ids(0..100));
            });
        }
    });
    assert_eq!((provider.queries().len(), provider.web().most_open_bodies()), (40, 1));
}
