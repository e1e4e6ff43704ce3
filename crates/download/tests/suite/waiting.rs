//! Servers that are slow, and callers that want to stop while they are waited for.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use strongroom_download::{
    Client, DownloadError, Expected, PageRequest, Patience, Policy, Retries, Supervision, Timeouts,
};
use strongroom_web_double::{Behaviour, Certificate, WebDouble};

use crate::{bytes, client, policy, read, serving, word};

/// Stops at the question of this number.
fn stopping_at(question: u32) -> Supervision<'static> {
    let asked = AtomicU32::new(0);
    Supervision::new(move || match asked.fetch_add(1, Ordering::Relaxed) {
        number if number >= question => Err(io::Error::other("stop")),
        _ => Ok(()),
    })
}

#[test]
fn a_server_that_sends_too_slowly_is_an_error_that_says_so() {
    for web in [WebDouble::start(), WebDouble::start_tls(Certificate::Good)] {
        web.put("/f", bytes(1000));
        web.on("/f", Behaviour::Slow);
        web.release("/f", 3);
        let timeouts =
            Timeouts { stall_window: Duration::from_millis(100), stall_bytes: 1 << 20, ..Timeouts::default() };
        let retries = Retries { attempts: 1, ..Retries::default() };
        let client = Client::new(Policy { timeouts, retries, ..policy(&web) }).unwrap();
        let error = read(&client, &web.url("/f"), &Expected::default()).unwrap_err();
        // A busy machine may not send all three within the window.
        assert!(matches!(error, DownloadError::Stalled { position: 0..=3, .. }), "{error:?}");
        assert!(error.to_string().contains(" stalled after "), "{error}");
        assert!(error.is_transient());
    }
}

#[test]
fn a_stalled_connection_is_left_and_the_rest_asked_for() {
    let web = serving(&bytes(10), &[Behaviour::Slow]);
    web.release("/f", 4);
    let timeouts = Timeouts { stall_window: Duration::from_millis(50), ..Timeouts::default() };
    let retries = Retries { attempts: 100, ..policy(&web).retries };
    let client = Client::new(Policy { timeouts, retries, ..policy(&web) }).unwrap();
    let supervision = Supervision::new(|| {
        if web.requests().len() >= 2 {
            web.mend("/f");
        }
        Ok::<(), io::Error>(())
    });
    let mut body = client.open(&web.url("/f"), Expected::default(), supervision).unwrap();
    let mut found = Vec::new();
    io::Read::read_to_end(&mut body, &mut found).unwrap();
    assert_eq!(found, bytes(10));
    assert!(web.requests().len() >= 2);
}

#[test]
fn a_server_that_does_not_answer_is_left_after_its_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = silent.local_addr().unwrap().to_string();
    let web = WebDouble::start();
    let timeouts = Timeouts { response: Duration::from_millis(50), ..Timeouts::default() };
    let client = Client::new(Policy { hosts: vec![authority.clone()], timeouts, ..policy(&web) }).unwrap();
    let outcome = read(&client, &format!("http://{authority}/"), &Expected::default());
    assert_eq!(word(&outcome), "transport, transient");
}

#[test]
fn one_who_has_less_patience_waits_for_less() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = silent.local_addr().unwrap().to_string();
    let web = WebDouble::start();
    web.put("/f", bytes(10));
    web.on("/f", Behaviour::RetryAfter { times: usize::MAX, value: "60".to_owned() });
    let policy = Policy { hosts: vec![authority.clone(), web.authority()], ..policy(&web) };
    let client = Client::new(Policy { retries: Retries::default(), ..policy }).unwrap();
    let (connect, response) = (Duration::from_secs(1), Duration::from_millis(50));
    let retries = Retries { within: Duration::from_millis(10), ..Retries::default() };
    let client = client.with_patience(Patience { connect, response, retries });
    let supervision = Supervision::default();
    let error = client.page(&PageRequest::new(&format!("http://{authority}/")), &supervision).unwrap_err();
    assert!(matches!(error, DownloadError::Transport { .. }), "{error:?}");
    let error = client.page(&PageRequest::new(&web.url("/f")), &supervision).unwrap_err();
    assert!(
        matches!(error, DownloadError::Status { status: 503, retry_after: Some(wait), .. } if wait.as_secs() == 60)
    );
    assert_eq!(web.requests().len(), 1);
}

#[test]
fn a_caller_can_stop_while_bytes_are_waited_for() {
    for web in [WebDouble::start(), WebDouble::start_tls(Certificate::Good)] {
        web.put("/f", bytes(10));
        web.on("/f", Behaviour::Slow);
        let mut body = client(&web).open(&web.url("/f"), Expected::default(), stopping_at(3)).unwrap();
        let error = io::Read::read_to_end(&mut body, &mut Vec::new()).unwrap_err();
        let Some(DownloadError::Interrupted { source, .. }) = DownloadError::of(&error) else { panic!("{error:?}") };
        assert_eq!(source.to_string(), "stop");
    }
}

#[test]
fn a_connection_that_is_quiet_for_a_while_is_read_on() {
    for web in [WebDouble::start(), WebDouble::start_tls(Certificate::Good)] {
        web.put("/f", bytes(1000));
        web.on("/f", Behaviour::Slow);
        web.release("/f", 1);
        let asked = AtomicU32::new(0);
        let supervision = Supervision::new(|| {
            if asked.fetch_add(1, Ordering::Relaxed) == 3 {
                web.release("/f", 999);
            }
            Ok::<(), io::Error>(())
        });
        let mut body = client(&web).open(&web.url("/f"), Expected::default(), supervision).unwrap();
        let mut found = Vec::new();
        io::Read::read_to_end(&mut body, &mut found).unwrap();
        assert_eq!(found, bytes(1000));
        assert_eq!(web.requests().len(), 1);
    }
}

#[test]
fn a_caller_can_stop_while_the_next_attempt_is_waited_for() {
    let web = serving(&bytes(10), &[Behaviour::Status(503)]);
    let hour = Duration::from_hours(1);
    let retries = Retries { first_delay: hour, max_delay: hour, ..Retries::default() };
    let client = Client::new(Policy { retries, ..policy(&web) }).unwrap();
    let outcome = client.open(&web.url("/f"), Expected::default(), stopping_at(2));
    assert!(matches!(outcome, Err(DownloadError::Interrupted { .. })), "{outcome:?}");
    assert_eq!(web.requests().len(), 1);
}

#[test]
fn a_caller_can_stop_while_a_connection_is_waited_for() {
    let web = serving(&bytes(10), &[Behaviour::Slow]);
    let client = Client::new(Policy { connections_per_host: 1, ..policy(&web) }).unwrap();
    let held = client.open(&web.url("/f"), Expected::default(), Supervision::default()).unwrap();
    let outcome = client.clone().open(&web.url("/f"), Expected::default(), stopping_at(0));
    assert!(matches!(outcome, Err(DownloadError::Interrupted { .. })), "{outcome:?}");
    drop(held);
    web.mend("/f");
    assert_eq!(word(&read(&client, &web.url("/f"), &Expected::default())), "read 10");
}
