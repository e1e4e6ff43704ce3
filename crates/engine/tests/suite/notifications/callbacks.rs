//! Callbacks to a receiver that fails first, repeats, is slow, redirects, or is where none may be.

use std::net::TcpListener;

use serde_json::{Value, json};
use strongroom_web_double::{Behaviour, Certificate, Request, WebDouble};

use super::*;

const PATH: &str = "/hook";

fn settings(host: &str, more: &str) -> String {
    let schemes = if more.contains("schemes =") { "" } else { "schemes = [\"http\"]\n" };
    let private = if more.contains("allow_private") { "" } else { "allow_private_addresses = true\n" };
    format!("[callbacks]\nhosts = [\"{host}\"]\nsecret = \"{SECRET}\"\n{schemes}{private}{more}\n")
}

/// A receiver that answers well unless `behaviours` say something else, and a home that may post to it.
fn receiving(behaviours: Vec<Behaviour>, more: &str) -> (WebDouble, TestHome) {
    let web = WebDouble::start();
    web.put(PATH, b"thanks");
    for behaviour in behaviours {
        web.on(PATH, behaviour);
    }
    let home = home_with(&settings(&web.authority(), more));
    (web, home)
}

fn put_callback(home: &TestHome, key: &str, url: &str) {
    let body = json!({ "batch": 7, "state": "completed" });
    put(home, Callback { url: url.to_owned(), collection: None, event: "batch.completed".into(), body }.prepare(key));
}

fn reason(home: &TestHome, key: &str) -> String {
    message(home, key).last_error.expect("is recorded")
}

fn idempotency_key(request: &Request) -> String {
    request.header("idempotency-key").expect("a key").to_owned()
}

/// The signature as another program computes it.
fn is_signed(request: &Request, secret: &str) -> bool {
    use hmac::{Hmac, KeyInit, Mac};
    let time = request.header("strongroom-timestamp").expect("a time");
    let given = request.header("strongroom-signature").expect("a signature").strip_prefix("v1=").expect("version 1");
    let bytes: Vec<u8> =
        (0..given.len()).step_by(2).map(|at| u8::from_str_radix(&given[at..at + 2], 16).expect("hex")).collect();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(format!("{time}.").as_bytes());
    mac.update(&request.body);
    mac.verify_slice(&bytes).is_ok()
}

#[test]
fn a_callback_is_posted_as_signed_json() {
    let (web, home) = receiving(vec![], "");
    put_callback(&home, "first", &web.url(PATH));
    assert_eq!(run(&home), delivered(1));
    let [request] = web.requests().try_into().expect("one request");
    assert_eq!((request.method.as_str(), request.header("content-type")), ("POST", Some("application/json")));
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body, json!({ "batch": 7, "state": "completed", "event": "batch.completed" }));
    assert_eq!(request.header("strongroom-event"), Some("batch.completed"));
    assert!(is_signed(&request, SECRET) && !is_signed(&request, "another"));
    assert_eq!(run_later(&home), Delivered::default(), "once is enough");
}

#[test]
fn a_collection_signs_with_its_own_secret() {
    let own = "f".repeat(32);
    let more = format!("[collections.\"{INSTITUTION}/maps\"]\ncallback_secret = \"{own}\"");
    let (web, home) = receiving(vec![], &more);
    for (key, collection) in [("first", "maps"), ("second", "letters")] {
        let collection = Some(format!("{INSTITUTION}/{collection}"));
        put(&home, Callback { url: web.url(PATH), collection, event: "test".into(), body: json!({}) }.prepare(key));
    }
    assert_eq!(run(&home), delivered(2));
    let requests = web.requests();
    assert!(is_signed(&requests[0], &own) && is_signed(&requests[1], SECRET));
    put_callback(&home, "third", "ftp://example.org/");
    assert_eq!(run(&home), undeliverable(1));
    assert!(reason(&home, "third").contains("callbacks.schemes"));
}

#[test]
fn a_receiver_that_fails_first_gets_the_callback_again_under_the_same_key() {
    for status in [408, 425, 429, 500, 501, 503, 505, 599] {
        let (web, home) = receiving(vec![Behaviour::FailTimes { times: 2, status }], "");
        put_callback(&home, "first", &web.url(PATH));
        put_callback(&home, "later", &web.url(PATH));
        assert_eq!(run(&home), failed(1), "{status}: the later one of the same URL waits");
        assert!(reason(&home, "first").contains(&format!("answered with status {status}")));
        assert_eq!(run_later(&home), failed(1));
        assert_eq!(run_later(&home), delivered(2));
        let keys: Vec<String> = web.requests().iter().map(idempotency_key).collect();
        assert!(keys[0] == keys[1] && keys[1] == keys[2] && keys[2] != keys[3], "{keys:?}");
        assert!(web.requests().iter().all(|request| is_signed(request, SECRET)));
    }
}

#[test]
fn a_receiver_is_not_asked_again_before_it_wants_to_be() {
    let (web, home) = receiving(vec![Behaviour::RetryAfter { times: 1, value: "1800".into() }], "");
    put_callback(&home, "first", &web.url(PATH));
    assert_eq!(run(&home), failed(1));
    home.clock.advance(Duration::from_mins(29));
    assert_eq!(run(&home).waiting, 1);
    home.clock.advance(Duration::from_mins(2));
    assert_eq!(run(&home), delivered(1));
}

#[test]
fn a_refusal_and_a_redirect_need_review_at_once_and_hold_up_nothing() {
    for status in [400, 401, 404, 410, 422, 304] {
        let (web, home) = receiving(vec![Behaviour::Status(status)], "");
        put_callback(&home, "first", &web.url(PATH));
        assert_eq!(run(&home), undeliverable(1), "{status}");
        let reason = reason(&home, "first");
        assert!(
            reason.contains(&status.to_string()) && reason.contains("next: ") && reason.contains("outbox send"),
            "{reason}"
        );
    }
    let (web, home) = receiving(vec![Behaviour::RedirectTo("/other".into())], "");
    web.put("/other", b"here");
    put_callback(&home, "first", &web.url(PATH));
    put_callback(&home, "other", &web.url("/other"));
    assert_eq!(run(&home), Delivered { delivered: 1, undeliverable: 1, ..Delivered::default() });
    assert!(reason(&home, "first").contains("redirects are not followed"));
    assert_eq!(web.requests_of("/other").len(), 1, "only what was meant for it");
}

#[test]
fn nothing_is_posted_to_hosts_and_addresses_that_are_not_allowed() {
    let (web, home) = receiving(vec![], "allow_private_addresses = false");
    put_callback(&home, "private", &web.url("/hook?token=secret"));
    put_callback(&home, "host", "http://example.org/hook");
    put_callback(&home, "scheme", &web.url(PATH).replace("http:", "https:"));
    put_callback(&home, "nothing", "hook");
    assert_eq!(run(&home), undeliverable(4));
    assert!(reason(&home, "private").contains("no address in a public network"));
    assert!(!reason(&home, "private").contains("token=secret"));
    assert!(reason(&home, "host").contains("not among the allowed hosts"));
    assert!(reason(&home, "scheme").contains("callbacks.schemes"));
    assert!(web.requests().is_empty());
}

#[test]
fn without_a_secret_nothing_is_posted() {
    let web = WebDouble::start();
    let host = web.authority();
    let text = settings(&host, "").replace(&format!("secret = \"{SECRET}\"\n"), "");
    let home = home_with(&text);
    put_callback(&home, "first", &web.url(PATH));
    assert_eq!(run(&home), undeliverable(1));
    assert!(reason(&home, "first").contains("callbacks.secret"));
    assert!(web.requests().is_empty());
}

#[test]
fn a_receiver_that_does_not_answer_is_left_and_attempted_again() {
    // Connections are made by the system, and nothing reads them.
    let silent = TcpListener::bind("127.0.0.1:0").expect("listens");
    let place = silent.local_addr().expect("an address").to_string();
    let home = home_with(&settings(&place, "timeout = \"1s\""));
    put_callback(&home, "first", &format!("http://{place}/a"));
    put_callback(&home, "other", &format!("http://{place}/b"));
    assert_eq!(run(&home), failed(1));
    assert!(reason(&home, "first").contains("could not be reached"));
    assert_eq!(message(&home, "other").attempts, 0, "it would wait as long");
    let (web, home) = receiving(vec![Behaviour::Unanswered(1)], "");
    put_callback(&home, "first", &web.url(PATH));
    assert_eq!(run(&home), failed(1));
    assert_eq!(run_later(&home), delivered(1));
    let keys: Vec<String> = web.requests().iter().map(idempotency_key).collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn of_an_endless_answer_only_the_beginning_is_read() {
    let (web, home) = receiving(vec![Behaviour::Endless], "max_answer = \"1 KiB\"");
    put_callback(&home, "first", &web.url(PATH));
    assert_eq!(run(&home), delivered(1));
}

#[test]
fn a_receiver_whose_certificate_is_not_valid_gets_nothing() {
    for (certificate, wanted) in
        [(Certificate::Good, delivered(1)), (Certificate::OtherHost, failed(1)), (Certificate::SelfSigned, failed(1))]
    {
        let web = WebDouble::start_tls(certificate);
        web.put(PATH, b"thanks");
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root.pem");
        std::fs::write(&root, web.root_certificate().expect("TLS")).expect("writes");
        let more = format!("schemes = [\"https\"]\nca_file = \"{}\"", root.display());
        let home = home_with(&settings(&web.authority(), &more));
        put_callback(&home, "first", &web.url(PATH));
        assert_eq!(run(&home), wanted, "{certificate:?}");
        assert_eq!(web.requests().len() as u64, wanted.delivered);
    }
}

#[test]
fn a_test_callback_is_delivered_when_the_command_returns() {
    let (web, home) = receiving(vec![], "");
    let post = |path: &str| {
        let receiver = app::Receiver::Callback { url: web.url(path), collection: Some("maps".into()) };
        app::test(&console(&home), &receiver, Some(INSTITUTION))
    };
    let view = post("/hook?token=secret").expect("is delivered");
    assert_eq!((view.state.as_str(), view.kind.as_str()), ("delivered", "callback"));
    assert!(!view.receiver.contains("secret"), "{view:?}");
    let body: Value = serde_json::from_slice(&web.requests()[0].body).expect("JSON");
    assert_eq!(body, json!({ "event": "test", "institution": INSTITUTION }));
    let error = post("/nothing").unwrap_err();
    let EngineError::Advised(advised) = &error else { panic!("{error}") };
    assert!(error.to_string().contains("status 404") && advised.next.ends_with("then test again"), "{}", advised.next);
    let listed = strongroom_engine::app::outbox::list(&console(&home), None).expect("lists").items;
    assert!(listed.is_empty(), "{listed:?}");
    let receiver = app::Receiver::Callback { url: "http://elsewhere.example.edu/".into(), collection: None };
    let error = app::test(&console(&home), &receiver, None).unwrap_err();
    assert!(error.to_string().contains("elsewhere.example.edu"), "{error}");
    web.on(PATH, Behaviour::FailTimes { times: 1, status: 503 });
    let error = post(PATH).unwrap_err();
    assert!(matches!(error, EngineError::Advised(_)), "{error}");
    assert_eq!(run_later(&home), delivered(1), "the background task attempts it again");
}
