//! What the server answers, asked without a client of EZID.

use std::io::{Read, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use strongroom_ezid_double::{EzidDouble, Fault, PASSWORD, USER};

/// The status and the body of an answer; nothing where there is none.
fn ask(
    server: &EzidDouble,
    method: &str,
    target: &str,
    user: Option<(&str, &str)>,
    body: &str,
) -> Option<(u16, String)> {
    let mut connection = TcpStream::connect(server.address()).unwrap();
    let authorization = user.map_or_else(String::new, |(user, password)| {
        format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{user}:{password}")))
    });
    let length = body.len();
    let request =
        format!("{method} {target} HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: {length}\r\n\r\n{body}");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

const ACCOUNT: Option<(&str, &str)> = Some((USER, PASSWORD));
const ID: &str = "/id/ark:/99999/fk4x";

fn answered(server: &EzidDouble, method: &str, target: &str, body: &str) -> (u16, String) {
    ask(server, method, target, ACCOUNT, body).unwrap()
}

#[test]
fn what_exists_is_created_again_only_where_that_is_allowed() {
    let server = EzidDouble::start().unwrap();
    let success = "success: ark:/99999/fk4x".to_owned();
    assert_eq!(answered(&server, "PUT", ID, "a: b\nc: d"), (201, success.clone()));
    let refused = (400, "error: bad request - identifier already exists".to_owned());
    assert_eq!(answered(&server, "PUT", ID, "a: z"), refused);
    assert_eq!(answered(&server, "PUT", "/id/ark:99999/fk4-x?update_if_exists=no", "a: z"), refused);
    assert_eq!(
        answered(&server, "PUT", "/id/ark%3A/99999/fk4x?update_if_exists=yes", "a: e\nc:"),
        (201, success.clone())
    );
    let identifier = &server.identifiers()["ark:/99999/fk4x"];
    assert_eq!((identifier.elements.get("a").map(String::as_str), identifier.elements.get("c")), (Some("e"), None));
    assert_eq!(answered(&server, "POST", ID, "a: f"), (200, success));
    let (status, body) = answered(&server, "GET", ID, "");
    assert_eq!(status, 200);
    assert_eq!(
        body,
        "success: ark:/99999/fk4x\n_created: 1700000000\n_export: yes\n_owner: apitest\n_ownergroup: apitest\n_profile: erc\n\
         _status: public\n_target: https://ezid.example/id/ark:/99999/fk4x\n_updated: 1700000003\na: f\n"
    );
}

#[test]
fn only_reserved_identifiers_are_deleted() {
    let server = EzidDouble::start().unwrap();
    assert_eq!(answered(&server, "PUT", ID, "_status: reserved").0, 201);
    assert_eq!(ask(&server, "GET", ID, None, ""), Some((401, "error: unauthorized".into())));
    server.add_account("other", "x", &["ark:/99999/fk4"]);
    for method in ["GET", "POST", "DELETE"] {
        assert_eq!(
            ask(&server, method, ID, Some(("other", "x")), ""),
            Some((403, "error: forbidden".into())),
            "{method}"
        );
    }
    assert_eq!(answered(&server, "DELETE", ID, ""), (200, "success: ark:/99999/fk4x".into()));
    assert_eq!(server.identifiers().len(), 0);
    assert_eq!(answered(&server, "DELETE", ID, ""), (400, "error: bad request - no such identifier".into()));
    assert_eq!(answered(&server, "PUT", ID, "").0, 201);
    let refused = "error: bad request - identifier status does not support deletion";
    assert_eq!(answered(&server, "DELETE", ID, ""), (400, refused.into()));
}

#[test]
fn an_update_that_is_refused_changes_nothing() {
    let server = EzidDouble::start().unwrap();
    assert_eq!(answered(&server, "PUT", ID, "a: b").0, 201);
    let before = server.identifiers();
    for (body, reason) in [
        ("a: c\n_status: reserved", "invalid identifier status change"),
        ("a: c\n_status: gone", "invalid identifier status change"),
        ("a: c\n_export: maybe", "element '_export': invalid value"),
        ("a: c\n_created: 1", "element '_created' cannot be set"),
        ("a: c\n_owner: other", "ownership change prohibited"),
        ("a: c\na: d", "ANVL parse error (repeated label)"),
        ("a: c\nb", "ANVL parse error (no colon in line)"),
        ("a: %", "ANVL parse error (percent-decode error)"),
        (" a", "ANVL parse error (no previous label for continuation line)"),
    ] {
        assert_eq!(answered(&server, "POST", ID, body), (400, format!("error: bad request - {reason}")), "{body}");
    }
    assert_eq!(server.identifiers(), before);
    let other = "/id/ark:/99999/fk4y";
    let reason = "error: bad request - invalid identifier status at creation time";
    assert_eq!(answered(&server, "PUT", other, "_status: unavailable | x"), (400, reason.into()));
}

#[test]
fn other_requests_are_refused_as_the_api_says() {
    let server = EzidDouble::start().unwrap();
    for (method, target, status, text) in [
        ("PUT", "/id/ark:/13030/m5x", 403, "error: forbidden"),
        ("PUT", "/id/doi:10.5072/FK2", 400, "error: bad request - invalid identifier"),
        ("PUT", "/id/ark:/99999/fk4x?x=y", 400, "error: bad request - unrecognized URL query parameter"),
        ("POST", "/shoulder/ark:/99999/fk4", 400, "error: bad request - shoulder does not support minting"),
        ("PATCH", ID, 405, "error: method not allowed"),
        ("GET", "/status", 404, "error: not found"),
    ] {
        assert_eq!(answered(&server, method, target, ""), (status, text.into()), "{method} {target}");
    }
    for user in [None, Some((USER, "wrong")), Some(("nobody", PASSWORD))] {
        assert_eq!(ask(&server, "PUT", ID, user, ""), Some((401, "error: unauthorized".into())), "{user:?}");
    }
    assert_eq!(server.identifiers().len(), 0);
    assert_eq!(server.requests().last().and_then(|request| request.user.clone()).as_deref(), Some("nobody"));
}

#[test]
fn faults_happen_in_the_order_in_which_they_were_planned() {
    let server = EzidDouble::start().unwrap();
    server.plan(&Fault::Answer(503, "error: concurrency limit exceeded".into()), 2);
    server.plan(&Fault::LoseRequest, 1);
    server.plan(&Fault::LoseReply, 1);
    server.plan(&Fault::Garbage(b"<html>".to_vec()), 1);
    for _ in 0..2 {
        assert_eq!(answered(&server, "PUT", ID, "").0, 503);
    }
    assert_eq!(ask(&server, "PUT", ID, ACCOUNT, ""), None);
    assert_eq!(server.identifiers().len(), 0);
    assert_eq!(ask(&server, "PUT", ID, ACCOUNT, ""), None);
    assert_eq!(server.identifiers().len(), 1);
    assert_eq!(answered(&server, "DELETE", ID, ""), (200, "<html>".into()));
    assert_eq!(answered(&server, "GET", ID, "").0, 200);
    let faults: Vec<_> = server.requests().into_iter().map(|request| request.fault.is_some()).collect();
    assert_eq!(faults, [true, true, true, true, true, false]);

    server.plan(&Fault::LoseRequest, 9);
    server.clear_faults();
    assert_eq!(answered(&server, "GET", ID, "").0, 200);
}
