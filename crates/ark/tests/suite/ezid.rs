//! The client of EZID, against a server that behaves and misbehaves as planned.

use std::error::Error as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use strongroom_ark::{Action, Ark, Elements, EzidClient, EzidError, EzidOptions, Password, Status};
use strongroom_ezid_double::{EzidDouble, Fault, PASSWORD, USER};

/// A server and a client of it.
pub(crate) struct Bench {
    pub(crate) server: EzidDouble,
    pub(crate) client: EzidClient,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let server = EzidDouble::start().unwrap();
        let client = EzidClient::new(&options(&server)).unwrap();
        Self { server, client }
    }

    /// The error of a registration with a fault.
    fn failed(&self, fault: &Fault) -> EzidError {
        self.server.plan(fault, 1);
        self.client.create_or_update(&ark(NAME), &Elements::new().with("x", "y")).unwrap_err()
    }

    fn element(&self, name: &str) -> Option<String> {
        self.server.identifiers().get(NAME)?.elements.get(name).cloned()
    }
}

fn options(server: &EzidDouble) -> EzidOptions {
    EzidOptions::new(server.url(), USER, Password::new(PASSWORD))
}

pub(crate) fn ark(text: &str) -> Ark {
    text.parse().unwrap()
}

const NAME: &str = "ark:/99999/fk4x";

#[test]
fn an_identifier_is_created_updated_and_read() {
    let bench = Bench::new();
    assert_eq!(bench.client.get(&ark(NAME)).unwrap(), None);
    let elements = Elements::new()
        .target("https://example.org/m/ark%3A%2F99999%2Ffk4x")
        .status(&Status::Public)
        .export(false)
        .erc([("who", "Lovelace, Ada"), ("what", "100% of it:\nall"), ("when", "1843"), ("where", NAME)])
        .with("mrt.creator", "Collection: ü");
    // Registered under the normal form, however it is written.
    bench.client.create_or_update(&ark("ark:99999/fk4-x"), &elements).unwrap();
    let registered = bench.client.get(&ark(NAME)).unwrap().unwrap();
    assert_eq!(registered.ark.as_str(), NAME);
    assert_eq!(registered.target(), Some("https://example.org/m/ark%3A%2F99999%2Ffk4x"));
    assert_eq!(registered.status(), Some(Status::Public));
    assert_eq!(registered.elements.get("_owner"), Some(USER));
    assert_eq!(registered.elements.get("_export"), Some("no"));
    assert_eq!(registered.elements.get("_profile"), Some("erc"));
    let erc = "who: Lovelace, Ada\nwhat: 100%25 of it:%0Aall\nwhen: 1843\nwhere: ark:/99999/fk4x";
    assert_eq!(registered.elements.get("erc"), Some(erc));

    bench.client.update(&ark(NAME), &Elements::new().with("mrt.creator", "").with("note", "n")).unwrap();
    assert_eq!((bench.element("mrt.creator"), bench.element("note")), (None, Some("n".into())));
    assert_eq!(bench.element("erc").as_deref(), Some(erc));
    let seen: Vec<_> =
        bench.server.requests().into_iter().map(|request| (request.method, request.path, request.query)).collect();
    let path = || format!("/id/{NAME}");
    assert_eq!(
        seen,
        [
            ("GET".into(), path(), String::new()),
            ("PUT".into(), path(), "update_if_exists=yes".into()),
            ("GET".into(), path(), String::new()),
            ("POST".into(), path(), String::new()),
        ]
    );
}

#[test]
fn a_request_whose_answer_was_lost_is_repeated_for_the_same_identifier() {
    let bench = Bench::new();
    for fault in [Fault::LoseReply, Fault::CutReply, Fault::LoseRequest] {
        let error = bench.failed(&fault);
        assert!(error.is_transient(), "{fault:?}: {error:?}");
        assert_eq!(error.to_string(), "could not register ark:/99999/fk4x with EZID: there was no complete answer");
        assert!(error.source().is_some());
    }
    assert_eq!(bench.server.identifiers()[NAME].writes, 2);
    bench.client.create_or_update(&ark(NAME), &Elements::new().with("x", "z")).unwrap();
    assert_eq!((bench.server.identifiers().len(), bench.element("x").as_deref()), (1, Some("z")));
}

#[test]
fn an_update_whose_answer_was_lost_is_repeated_too() {
    let bench = Bench::new();
    bench.client.create_or_update(&ark(NAME), &Elements::new()).unwrap();
    bench.server.plan(&Fault::LoseReply, 1);
    let elements = Elements::new().with("x", "y");
    assert!(bench.client.update(&ark(NAME), &elements).unwrap_err().is_transient());
    bench.client.update(&ark(NAME), &elements).unwrap();
    assert_eq!(bench.element("x").as_deref(), Some("y"));
}

#[test]
fn failures_of_the_server_are_transient() {
    let bench = Bench::new();
    for status in [408, 429, 500, 502, 503, 504] {
        let error = bench.failed(&Fault::Answer(status, "error: concurrency limit exceeded".into()));
        assert!(error.is_transient() && matches!(error, EzidError::Unavailable { .. }), "{error}");
        let expected = format!(
            "could not register ark:/99999/fk4x with EZID: it failed with status {status}: concurrency limit exceeded"
        );
        assert_eq!(error.to_string(), expected);
    }
    bench.server.plan(&Fault::Answer(503, String::new()), 2);
    for _ in 0..2 {
        assert!(bench.client.get(&ark(NAME)).unwrap_err().to_string().ends_with("with status 503: nothing"));
    }
    assert_eq!(bench.client.get(&ark(NAME)).unwrap(), None);
}

#[test]
fn a_slow_server_is_not_waited_for_longer_than_allowed() {
    let server = EzidDouble::start().unwrap();
    let client = EzidClient::new(&EzidOptions { timeout: Duration::from_millis(200), ..options(&server) }).unwrap();
    server.plan(&Fault::Slow(Duration::from_hours(1)), 1);
    let error = client.create_or_update(&ark(NAME), &Elements::new()).unwrap_err();
    assert!(error.is_transient() && matches!(error, EzidError::NoAnswer { .. }), "{error:?}");
    // The request was carried out all the same.
    assert_eq!(server.identifiers().len(), 1);
}

#[test]
fn a_server_that_is_gone_is_transient() {
    let server = EzidDouble::start().unwrap();
    let client = EzidClient::new(&options(&server)).unwrap();
    drop(server);
    assert!(client.get(&ark(NAME)).unwrap_err().is_transient());
}

#[test]
fn refused_credentials_are_not_transient_and_never_shown() {
    let server = EzidDouble::start().unwrap();
    let password = Password::new("not the password");
    let options = EzidOptions { password, ..options(&server) };
    let client = EzidClient::new(&options).unwrap();
    for (action, error) in [
        (Action::Register, client.create_or_update(&ark(NAME), &Elements::new()).unwrap_err()),
        (Action::Update, client.update(&ark(NAME), &Elements::new()).unwrap_err()),
        (Action::Read, client.get(&ark(NAME)).unwrap_err()),
    ] {
        assert_eq!(
            error.to_string(),
            format!(
                "could not {action} ark:/99999/fk4x with EZID: it refused the user name or the password: unauthorized"
            )
        );
        assert!(matches!(error, EzidError::Credentials { .. }) && !error.is_transient());
        assert!(!format!("{error:?} {client:?} {options:?}").contains("not the password"));
        assert!(!format!("{error:?} {client:?}").contains("bm90IHRoZSBwYXNzd29yZA"));
    }
    assert_eq!(server.identifiers().len(), 0);
}

#[test]
fn a_shoulder_of_others_is_forbidden() {
    let bench = Bench::new();
    let error = bench.client.create_or_update(&ark("ark:/13030/m5x"), &Elements::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not register ark:/13030/m5x with EZID: the account is not allowed to: forbidden"
    );
    assert!(!error.is_transient());
    bench.server.add_account(USER, PASSWORD, &["ark:/13030/m5"]);
    bench.client.create_or_update(&ark("ark:/13030/m5x"), &Elements::new()).unwrap();

    bench.server.add_account("other", "pass:word", &[]);
    let other = EzidOptions { user: "other".into(), password: Password::new("pass:word"), ..options(&bench.server) };
    let error = EzidClient::new(&other).unwrap().update(&ark("ark:/13030/m5x"), &Elements::new()).unwrap_err();
    assert!(matches!(error, EzidError::Forbidden { action: Action::Update, .. }), "{error}");
}

#[test]
fn an_identifier_that_is_not_there_is_not_updated() {
    let bench = Bench::new();
    let error = bench.client.update(&ark(NAME), &Elements::new().with("x", "y")).unwrap_err();
    assert_eq!(error.to_string(), "could not update ark:/99999/fk4x with EZID: it has no such identifier");
    assert!(!error.is_transient());
}

#[test]
fn what_the_server_says_of_a_bad_request_is_shown_bounded_and_escaped() {
    let bench = Bench::new();
    bench.client.create_or_update(&ark(NAME), &Elements::new()).unwrap();
    let error = bench.client.update(&ark(NAME), &Elements::new().status(&Status::Reserved)).unwrap_err();
    let text = "could not update ark:/99999/fk4x with EZID: it refused the request with status 400: bad request - invalid identifier status change";
    assert_eq!(error.to_string(), text);
    let error = bench.failed(&Fault::Answer(400, format!("error: \u{1b}[2J\n{}", "x".repeat(5_000)))).to_string();
    assert!(error.contains("\\u{1b}[2J\\u{a}xxx") && error.ends_with("x…") && error.len() < 700, "{error}");
}

#[test]
fn the_status_goes_from_reserved_to_public_to_unavailable_and_back() {
    let bench = Bench::new();
    let gone = Status::Unavailable { reason: Some("withdrawn by the author".into()) };
    for status in
        [Status::Reserved, Status::Public, gone.clone(), Status::Unavailable { reason: None }, gone, Status::Public]
    {
        bench.client.create_or_update(&ark(NAME), &Elements::new().status(&status)).unwrap();
        assert_eq!(bench.client.get(&ark(NAME)).unwrap().unwrap().status(), Some(status));
    }
}

#[test]
fn an_answer_that_is_not_one_of_ezid_is_not_understood() {
    let bench = Bench::new();
    for answer in [
        &b"<html><title>Welcome</title></html>"[..],
        b"",
        b"\xff\xfe\x00",
        b"success",
        b"success: ",
        b"success: ark:/99999/fk4y",
        b"success: ark:/99999/fk4x\nno colon",
        b"error: bad request - what",
        b"\nsuccess: ark:/99999/fk4x",
    ] {
        let error = bench.failed(&Fault::Garbage(answer.to_vec()));
        assert!(matches!(error, EzidError::Answer { status: 200, .. }) && !error.is_transient(), "{error:?}");
    }
    let error = bench.failed(&Fault::Garbage(vec![b'x'; (1 << 20) + 1])).to_string();
    assert!(error.ends_with("is not understood: it has more than 1048576 bytes"), "{error}");
    let error = bench.failed(&Fault::Answer(302, "error: moved".into()));
    assert!(matches!(error, EzidError::Answer { status: 302, .. }), "{error}");
}

#[test]
fn a_server_without_tls_at_an_https_url_is_not_transient() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // The client ends the connection, with or without a reset.
        let mut sent = Vec::new();
        let _ = connection.read_to_end(&mut sent);
        sent
    });
    let options = EzidOptions::new(base, USER, Password::new(PASSWORD));
    let error = EzidClient::new(&options).unwrap().get(&ark(NAME)).unwrap_err();
    assert!(matches!(error, EzidError::NoAnswer { .. }) && !error.is_transient(), "{error:?}");
    let sent = server.join().unwrap();
    assert!(!sent.windows(5).any(|window| window == b"Basic"), "the credentials were sent without encryption");
}

#[test]
fn a_password_is_sent_to_https_and_to_the_loopback_interface_only() {
    let new = |base: &str| {
        EzidClient::new(&EzidOptions::new(base, USER, Password::new("secret"))).map(|client| format!("{client:?}"))
    };
    for base in
        [EzidOptions::CDL, "https://ezid.example/", "http://127.0.0.1:1/ezid/", "http://[::1]:1", "http://localhost:1"]
    {
        assert!(new(base).is_ok(), "{base}");
    }
    for (base, reason) in [
        ("http://ezid.cdlib.org", "the password would be sent without encryption; the URL must begin with https"),
        ("http://127.0.0.1.example", "the password would be sent without encryption; the URL must begin with https"),
        ("ftp://ezid.cdlib.org", "the URL must begin with https"),
        ("ezid.cdlib.org", "it is not an absolute URL"),
        ("https://ezid.cdlib.org/?x=y", "the URL has a query or a fragment"),
    ] {
        assert_eq!(new(base).unwrap_err().to_string(), format!("cannot use EZID at {base}: {reason}"));
    }
    let error = new("https://me:secret@ezid.cdlib.org").unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("secret") && error.to_string().contains("ezid.cdlib.org"),
        "{error}"
    );
    for (user, password) in [("", "x"), ("a:b", "x"), ("a\n", "x"), ("a", ""), ("a", "x\r\n")] {
        let options = EzidOptions::new(EzidOptions::CDL, user, Password::new(password));
        assert!(matches!(EzidClient::new(&options), Err(EzidError::Options { .. })), "{user:?}");
    }
}

#[test]
fn an_element_that_would_be_lost_is_not_sent() {
    let bench = Bench::new();
    for name in ["", "  ", "#note"] {
        let error = bench.client.create_or_update(&ark(NAME), &Elements::new().with(name, "x")).unwrap_err();
        assert!(matches!(error, EzidError::Name { .. }) && !error.is_transient(), "{error}");
    }
    assert_eq!(bench.server.requests(), []);
}

#[test]
fn a_percent_form_of_a_name_reaches_the_server_as_it_is() {
    let bench = Bench::new();
    let name = "ark:/99999/fk4a%C3%A9~=*+@_$/b.c";
    bench.client.create_or_update(&ark(name), &Elements::new()).unwrap();
    assert_eq!(bench.server.identifiers().into_keys().collect::<Vec<_>>(), [name]);
    assert_eq!(bench.client.get(&ark(name)).unwrap().unwrap().ark.as_str(), name);
}
