//! What may be asked for: hosts, addresses, redirects and certificates.

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

#[test]
fn a_redirect_to_a_private_address_is_refused_like_the_address_itself() {
    let web = WebDouble::start();
    web.on("/f", Behaviour::RedirectTo("http://169.254.169.254/latest/meta-data".into()));
    assert_eq!(outcome(policy(&web), &web.url("/f")), "refused");
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
