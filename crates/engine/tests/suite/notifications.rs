//! Mails and callbacks: each reaches its receiver at least once, under one identifier, and one that does not needs review.

mod callbacks;
#[cfg(feature = "failpoints")]
mod crash;
mod deletions;
pub(crate) mod mail_server;
mod mails;
mod people;

use std::time::Duration;

use strongroom_engine::app::{Caller, OpContext, notifications as app};
use strongroom_engine::notifications::{Callback, Mail, Prepared};
use strongroom_engine::outbox::{Delivered, deliver};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{EngineError, Home};
use strongroom_registry::outbox::{self, Message};
use strongroom_registry::{Scope, tenants};

use crate::fixture::{INSTITUTION, TestHome, home_with};

/// No wait between two attempts is longer than this, which a receiver can ask for.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn put(home: &Home, prepared: Prepared) {
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution");
            prepared.insert(tx, institution.id, None)
        })
        .expect("is put");
}

fn message(home: &Home, key: &str) -> Message {
    home.registry.read(|tx| outbox::by_key(tx, key)).expect("reads").expect("the message")
}

/// One run of the dispatcher.
fn run(home: &Home) -> Delivered {
    deliver(home, &Shutdown::new()).expect("runs")
}

/// One run after every wait has passed.
fn run_later(home: &TestHome) -> Delivered {
    home.clock.advance(LONGEST_WAIT);
    run(home)
}

fn console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

fn delivered(count: u64) -> Delivered {
    Delivered { delivered: count, ..Delivered::default() }
}

fn failed(count: u64) -> Delivered {
    Delivered { failed: count, ..Delivered::default() }
}

fn undeliverable(count: u64) -> Delivered {
    Delivered { undeliverable: count, ..Delivered::default() }
}

#[test]
fn without_a_mail_server_no_mail_is_inserted_and_those_that_are_there_wait_for_people() {
    let home = home_with("");
    let mail = Mail { to: vec!["a@example.edu".into()], ..Mail::default() };
    assert_eq!(mail.clone().prepare(&home.settings.mail, "first"), None);
    let mut settings = home.settings.mail.clone();
    (settings.host, settings.from) = ("mail.example.edu".into(), "s@example.edu".into());
    assert_eq!(Mail { to: Vec::new(), ..mail.clone() }.prepare(&settings, "first"), None, "it has no recipient");
    put(&home, mail.prepare(&settings, "first").expect("a mail"));
    assert_eq!(run(&home), undeliverable(1));
    let reason = message(&home, "first").last_error.expect("is recorded");
    assert!(reason.contains("no mail server") && reason.contains("next: set mail.host"), "{reason}");
    let error = app::test(&console(&home), &app::Receiver::Mail("a@example.edu".into()), None).unwrap_err();
    assert!(matches!(&error, EngineError::Advised(_)) && error.to_string().contains("mail.host"), "{error}");
}
