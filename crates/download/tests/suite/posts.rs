//! Posts: one request to an allowed host, whose answer is a status, also where it redirects.

use std::net::TcpListener;
use std::time::Duration;

use strongroom_download::{Client, DownloadError, Policy, Post, Posted};
use strongroom_web_double::{Behaviour, WebDouble};

use crate::policy;

fn post<'p>(url: &'p str, headers: &'p [(&'p str, &'p str)]) -> Post<'p> {
    Post { url, headers, body: b"{}", timeout: Duration::from_secs(1), max_answer: 10 }
}

fn serving(behaviours: &[Behaviour]) -> (WebDouble, Client) {
    let web = WebDouble::start();
    web.put("/f", b"0123456789abcdef");
    for behaviour in behaviours {
        web.on("/f", behaviour.clone());
    }
    let client = Client::new(policy(&web)).unwrap();
    (web, client)
}

#[test]
fn a_body_is_posted_once_and_the_beginning_of_the_answer_is_read() {
    let (web, client) = serving(&[]);
    let posted = client.post(&post(&web.url("/f?token=1"), &[("content-type", "application/json")])).unwrap();
    assert_eq!(posted, Posted { status: 200, retry_after: None, text: "0123456789".into() });
    let [request] = web.requests().try_into().unwrap();
    assert_eq!(
        (request.method.as_str(), request.body.as_slice(), request.query.as_str()),
        ("POST", &b"{}"[..], "token=1")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
}

#[test]
fn every_status_is_an_answer_and_nothing_is_tried_twice_or_followed() {
    for (behaviour, status) in [
        (Behaviour::Status(503), 503),
        (Behaviour::Status(404), 404),
        (Behaviour::RedirectTo("/f".into()), 302),
        (Behaviour::RetryAfter { times: 1, value: "120".into() }, 503),
    ] {
        let (web, client) = serving(std::slice::from_ref(&behaviour));
        let posted = client.post(&post(&web.url("/f"), &[])).unwrap();
        assert_eq!(posted.status, status);
        assert_eq!(posted.retry_after.is_some(), matches!(behaviour, Behaviour::RetryAfter { .. }));
        assert_eq!(web.requests().len(), 1);
    }
    let (web, client) = serving(&[Behaviour::Unanswered(1)]);
    assert!(client.post(&post(&web.url("/f"), &[])).unwrap_err().is_transient());
    assert_eq!(web.requests().len(), 1);
}

#[test]
fn a_server_that_says_nothing_is_left() {
    // Connections are made by the system, and nothing reads them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap().to_string();
    let policy = Policy { hosts: vec![place.clone()], allow_private_networks: true, ..Policy::default() };
    let error = Client::new(policy).unwrap().post(&post(&format!("http://{place}/"), &[])).unwrap_err();
    assert!(matches!(error, DownloadError::Transport { .. }), "{error:?}");
}

#[test]
fn nothing_is_posted_where_nothing_is_fetched() {
    let (web, _) = serving(&[]);
    for policy in [Policy::default(), Policy { allow_private_networks: false, ..policy(&web) }] {
        let error = Client::new(policy).unwrap().post(&post(&web.url("/f"), &[])).unwrap_err();
        assert!(matches!(error, DownloadError::Refused { .. }), "{error:?}");
    }
    assert!(web.requests().is_empty());
}
