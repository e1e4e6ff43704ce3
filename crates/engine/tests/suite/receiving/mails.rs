//! The mail about an upload that is going to be removed: nothing is removed before it was sent or given up, and a mail server that is away
//! keeps nothing for ever.

use serde_json::{Value, json};
use strongroom_engine::outbox::{self, Delivered};
use strongroom_registry::MailKind;
use strongroom_registry::notifications::Notifications;
use strongroom_registry::tenants::CollectionRules;

use super::collections::set_collection;
use super::*;
use crate::fixture::home_with;
use crate::notifications::mail_server::MailServer;

const DAY: Duration = Duration::from_hours(24);
/// A server that never answers.
const AWAY: &str = "[mail]\nhost = \"localhost\"\nport = 1\nfrom = \"s@example.edu\"\ntls = \"none\"\n";
const NAME: &str = "papers/Bestände \u{202e}fdp.tar";

/// A collection that has it told, with an upload that is not valid.
fn invalid(home: &TestHome, suppressed: &[MailKind]) {
    let notifications = Notifications {
        addresses: vec!["日本 太郎 <taro@example.edu>".into(), "\"Müller, Jürgen\" <jm@example.edu>".into()],
        suppressed: suppressed.to_vec(),
        ..Notifications::default()
    };
    let rules = CollectionRules { name: "Papers".into(), notifications, ..CollectionRules::default() };
    set_collection(home, "papers", rules, true);
    fs::create_dir_all(place(home, "papers")).expect("makes the folder");
    fs::write(place(home, NAME), vec![0; 4096]).expect("writes");
    settle(home);
    work(home);
    look(home);
    assert_eq!(state(home, &key(NAME)), UploadState::Invalid, "{:?}", all_items(home));
}

/// A turn of the schedule some days later.
fn turn_after(home: &TestHome, days: u32) -> Delivered {
    home.clock.advance(DAY * days);
    look(home);
    outbox::deliver(home, &Shutdown::new()).expect("delivers")
}

fn note(home: &TestHome) -> String {
    uploads(home)[0].note.clone().unwrap_or_default()
}

#[test]
fn a_removal_is_told_by_a_mail_that_every_program_can_read() {
    let Some(mut server) = MailServer::start(&json!({})) else { return };
    let home = home_with(&server.settings(""));
    invalid(&home, &[]);
    assert_eq!(turn_after(&home, 12).delivered, 2, "the notice and the mail");
    let taken: Value = server.next();
    let data = taken["data"].as_str().expect("a text");
    assert!(data.is_ascii() && data.lines().all(|line| line.len() <= 998), "{data}");
    for wanted in ["multipart/alternative", "text/plain", "text/html", "To: =?utf-8?", "Auto-Submitted: auto-generated"]
    {
        assert!(data.contains(wanted), "{wanted} in {data}");
    }
    assert!(!data.contains('\u{202e}'), "{data}");
    assert!(place(&home, NAME).exists());
    turn_after(&home, 4);
    assert!(!place(&home, NAME).exists());
}

#[test]
fn a_mail_server_that_is_away_delays_a_removal_and_does_not_prevent_it() {
    let home = home_with(AWAY);
    invalid(&home, &[]);
    let done = turn_after(&home, 12);
    assert_eq!((done.delivered, done.failed), (1, 1), "the notice is there");
    for _ in 0..3 {
        assert_eq!(turn_after(&home, 1).failed, 1);
    }
    assert!(place(&home, NAME).exists(), "it would have been removed");
    assert!(note(&home).ends_with("it stays until the mail about its removal is sent or given up"), "{}", note(&home));
    assert_eq!(turn_after(&home, 1).undeliverable, 1, "given up");
    turn_after(&home, 1);
    assert!(place(&home, NAME).exists(), "the time counts from then");
    assert!(!note(&home).contains("it stays until"), "{}", note(&home));
    assert!(uploads(&home)[0].remove_after.is_some());
    turn_after(&home, 3);
    assert!(!place(&home, NAME).exists());
}

#[test]
fn a_removal_that_the_collection_has_told_by_no_mail_follows_its_notice() {
    let home = home_with(AWAY);
    invalid(&home, &[MailKind::Removal]);
    let done = turn_after(&home, 12);
    assert_eq!((done.delivered, done.failed), (1, 0));
    turn_after(&home, 4);
    assert!(!place(&home, NAME).exists());
}
