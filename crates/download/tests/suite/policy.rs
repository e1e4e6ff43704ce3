//! What may be asked for: hosts, addresses, redirects and certificates.

use std::io::ErrorKind;
use std::net::TcpListener;

use strongroom_download::{Client, DownloadError, Expected, Policy, Supervision};
use strongroom_web_double::{Behaviour, Certificate, WebDouble};

use crate::{bytes, client, policy, read, serving, word};

fn outcome(policy: Policy, url: &str) -> String {
    word(&read(&Client::new(policy).unwrap(), url, &Expected::default()))
}

#[test]
fn nothing_is_asked_for_by_default() {
    let web = serving(&bytes(5), &[]);
    assert_eq!(outcome(Policy::default(), &web.url("/f")), "refused");
    assert_eq!(outcome(Policy { hosts: vec![], ..policy(&web) }, &web.url("/f")), "refused");
    assert!(Client::new(Policy::default()).unwrap().probe(&web.url("/f"), &Supervision::default()).is_err());
    assert!(web.requests().is_empty());
}

#[test]
fn private_addresses_are_refused_when_they_are_connected_to() {
    let web = serving(&bytes(5), &[]);
    let port = web.authority().rsplit_once(':').unwrap().1.to_owned();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"] {
        let authority = format!("{host}:{port}");
        let url = format!("http://{authority}/f");
        // The way in which the URL writes an address.
        let hosts = vec![authority, format!("[::ffff:7f00:1]:{port}")];
        let policy = Policy { hosts, allow_private_networks: false, ..policy(&web) };
        let error = read(&Client::new(policy).unwrap(), &url, &Expected::default()).unwrap_err();
        let DownloadError::Refused { reason, .. } = &error else { panic!("{host}: {error:?}") };
        assert_eq!(reason, "its host has no address in a public network", "{host}");
        assert!(!error.is_transient());
    }
    assert!(web.requests().is_empty());
}

#[test]
fn redirects_are_followed_up_to_five_and_judged() {
    let web = WebDouble::start();
    web.put("/5", b"five");
    for (from, to) in [("/0", "/1"), ("/1", "2"), ("/2", &web.url("/3")), ("/3", "./4"), ("/4", "/a/../5")] {
        web.on(from, Behaviour::RedirectTo(to.to_owned()));
    }
    web.on("/loop", Behaviour::RedirectTo("/loop".into()));
    web.on("/start", Behaviour::RedirectTo("/0".into()));
    web.on("/away", Behaviour::RedirectTo("http://example.org/f".into()));
    web.on("/file", Behaviour::RedirectTo("file:///etc/passwd".into()));
    web.on("/secret", Behaviour::RedirectTo(format!("http://user:secret@{}/5", web.authority())));
    web.on("/nowhere", Behaviour::RedirectNowhere);
    for (path, expected) in [
        ("/0", "read 4"),
        ("/start", "refused"),
        ("/loop", "refused"),
        ("/away", "refused"),
        ("/file", "refused"),
        ("/secret", "refused"),
        ("/nowhere", "status 302"),
    ] {
        assert_eq!(outcome(policy(&web), &web.url(path)), expected, "{path}");
    }
    assert_eq!(web.requests_of("/loop").len(), 6);
    let error = read(&client(&web), &web.url("/secret"), &Expected::default()).unwrap_err();
    assert!(!error.to_string().contains("user:secret"), "{error}");
}

/// A listener of a private address, which is never connected to.
fn unused(address: &str) -> TcpListener {
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

#[test]
fn a_redirect_from_an_allowed_private_host_to_another_private_address_is_refused_without_a_connection() {
    let web = WebDouble::start();
    let others = [unused("127.0.0.2:0"), unused("[::1]:0")];
    let [other, other_v6] = [&others[0], &others[1]].map(|listener| listener.local_addr().unwrap());
    let targets = [
        // Addresses, as they are and as URLs can write them.
        other.to_string(),
        other_v6.to_string(),
        "10.1.2.3".to_owned(),
        "169.254.169.254".to_owned(),
        "[fd00:ec2::254]".to_owned(),
        "[::ffff:10.1.2.3]".to_owned(),
        format!("[::ffff:127.0.0.2]:{}", other.port()),
        format!("[::ffff:7f00:2]:{}", other.port()),
        format!("0x7f000002:{}", other.port()),
        format!("127.2:{}", other.port()),
        // A name that resolves to private addresses, those of the server that redirects among them.
        format!("localhost:{}", other_v6.port()),
        format!("localhost:{}", web.authority().rsplit_once(':').unwrap().1),
    ];
    for target in targets {
        let url = format!("http://{target}/secret");
        let named = url::Url::parse(&url).unwrap();
        let port = named.port().map(|port| format!(":{port}")).unwrap_or_default();
        let authority = format!("{}{port}", named.host_str().unwrap());
        web.mend("/f");
        web.on("/f", Behaviour::RedirectTo(url));
        // Its host is allowed; its address is not.
        let policy = Policy {
            hosts: vec![web.authority(), authority],
            allow_private_networks: false,
            private_hosts: vec![web.authority()],
            ..policy(&web)
        };
        let client = Client::new(policy).unwrap();
        let opened = read(&client, &web.url("/f"), &Expected::default()).unwrap_err();
        let probed = client.probe(&web.url("/f"), &Supervision::default()).unwrap_err();
        for error in [opened, probed] {
            let DownloadError::Refused { reason, .. } = &error else { panic!("{target}: {error:?}") };
            assert_eq!(reason, "its host has no address in a public network", "{target}");
            assert!(!error.is_transient());
        }
    }
    for listener in others {
        let connection = listener.accept();
        assert!(connection.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{connection:?}");
    }
    assert!(web.requests().iter().all(|request| request.path == "/f"), "{:?}", web.requests());
}

#[test]
fn a_private_host_is_allowed_by_name_and_port_and_only_where_it_is_among_the_hosts() {
    let web = serving(b"alpha", &[]);
    let port = web.authority().rsplit_once(':').unwrap().1.to_owned();
    let with = |private: &str| Policy {
        allow_private_networks: false,
        private_hosts: vec![private.to_owned()],
        ..policy(&web)
    };
    for (private, expected) in [
        (web.authority(), "read 5"),
        ("127.0.0.1".to_owned(), "refused"),
        ("127.0.0.1:1".to_owned(), "refused"),
        (format!("localhost:{port}"), "refused"),
        (String::new(), "refused"),
    ] {
        assert_eq!(outcome(with(&private), &web.url("/f")), expected, "{private}");
    }
    assert_eq!(outcome(Policy { hosts: Vec::new(), ..with(&web.authority()) }, &web.url("/f")), "refused");
}

#[test]
fn a_redirect_from_https_to_http_is_refused() {
    let plain = serving(b"plain", &[]);
    let web = WebDouble::start_tls(Certificate::Good);
    web.on("/f", Behaviour::RedirectTo(plain.url("/f")));
    let hosts = vec![web.authority(), plain.authority()];
    assert_eq!(outcome(Policy { hosts, ..policy(&web) }, &web.url("/f")), "refused");
    assert!(plain.requests().is_empty());
}

#[test]
fn certificates_are_verified() {
    for (certificate, expected) in [
        (Certificate::Good, "read 5"),
        (Certificate::OtherHost, "tls"),
        (Certificate::Expired, "tls"),
        (Certificate::SelfSigned, "tls"),
    ] {
        let web = WebDouble::start_tls(certificate);
        web.put("/f", b"alpha");
        assert_eq!(outcome(policy(&web), &web.url("/f")), expected, "{certificate:?}");
        let without_root = Policy { root_certificates: vec![], ..policy(&web) };
        assert_eq!(outcome(without_root, &web.url("/f")), "tls", "{certificate:?}");
    }
}

#[test]
fn a_root_certificate_that_is_none_is_an_error() {
    for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        let made = Client::new(Policy { root_certificates: vec![text.to_owned()], ..Policy::default() });
        assert!(matches!(made, Err(DownloadError::RootCertificate { number: 1, .. })), "{text}");
    }
}
