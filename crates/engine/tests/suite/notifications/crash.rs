//! A process that is killed after the receiver has the message and before the outbox knows: the next one sends it again under the same
//! identifier.

use serde_json::json;
use strongroom_web_double::WebDouble;

use super::mail_server::MailServer;
use super::*;
use crate::killing::home_of_this_process;

#[test]
#[ignore = "is run by the other tests of this module, in a process of its own"]
fn killed() {
    let Some(home) = home_of_this_process() else { return };
    run(&home);
}

fn kill_at(home: &TestHome, point: &str) {
    crate::killing::kill_at(home.path(), "notifications::crash::killed", point, &[]);
}

#[test]
fn a_mail_whose_process_is_killed_is_sent_again_under_the_same_identifier() {
    let Some(mut server) = MailServer::start(&json!({})) else { return };
    let home = home_with(&server.settings(""));
    let mail = Mail { to: vec!["a@example.edu".into()], subject: "Once".into(), ..Mail::default() };
    put(&home, mail.prepare(&home.settings.mail, "first").expect("a mail"));
    kill_at(&home, "outbox.mail.sent");
    assert_eq!(run(&home), delivered(1));
    let identifier = |taken: serde_json::Value| {
        let data = taken["data"].as_str().expect("a text").to_owned();
        data.lines().find(|line| line.starts_with("Message-ID: ")).expect("an identifier").to_owned()
    };
    assert_eq!(identifier(server.next()), identifier(server.next()));
    assert!(server.rest().is_empty());
}

#[test]
fn a_callback_whose_process_is_killed_is_posted_again_under_the_same_key() {
    let web = WebDouble::start();
    web.put("/hook", b"thanks");
    let home = home_with(&format!(
        "[callbacks]\nhosts = [\"{}\"]\nsecret = \"{SECRET}\"\nschemes = [\"http\"]\nallow_private_addresses = true\n",
        web.authority()
    ));
    let callback = Callback { url: web.url("/hook"), collection: None, event: "test".into(), body: json!({}) };
    put(&home, callback.prepare("first"));
    kill_at(&home, "outbox.callback.sent");
    assert_eq!(run(&home), delivered(1));
    let keys: Vec<Option<String>> =
        web.requests().iter().map(|request| request.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
}
