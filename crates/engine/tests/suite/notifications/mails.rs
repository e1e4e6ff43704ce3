//! Mails to a real mail server (aiosmtpd) that takes them, refuses, delays and cuts.

use serde_json::{Value, json};
use strongroom_engine::notifications::Attachment;
use strongroom_web_double::Certificate;

use super::mail_server::MailServer;
use super::*;

fn mail(to: &[&str]) -> Mail {
    Mail {
        to: to.iter().map(|&address| address.to_owned()).collect(),
        subject: "Batch 7 is done".into(),
        text: "All 3 rows succeeded.\n.\n".into(),
        html: "<p>All 3 rows succeeded.</p>\n".into(),
        ..Mail::default()
    }
}

/// A server and a home whose mails it gets.
fn serving(plan: &Value, settings: &str) -> Option<(MailServer, TestHome)> {
    let server = MailServer::start(plan)?;
    let home = home_with(&server.settings(settings));
    Some((server, home))
}

fn put_mail(home: &TestHome, key: &str, mail: Mail) {
    put(home, mail.prepare(&home.settings.mail, key).expect("a mail"));
}

/// The value of a header, unfolded.
fn header(taken: &Value, name: &str) -> Option<String> {
    let data =
        taken["data"].as_str().expect("a text").split("\r\n\r\n").next().unwrap_or_default().replace("\r\n ", " ");
    data.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")).map(str::to_owned))
}

fn recipients(taken: &Value) -> Vec<&str> {
    taken["to"].as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_mail_reaches_named_and_hidden_recipients_with_texts_and_table() {
    let Some((mut server, home)) = serving(&json!({}), "") else { return };
    let mail = Mail {
        to: vec!["Jürgen Müller <jm@example.edu>".into(), "b@example.edu".into(), "b@example.edu".into()],
        bcc: vec!["hidden@example.edu".into()],
        subject: "Bestände: 3 Objekte\r\nBcc: evil@example.org".into(),
        attachment: Some(Attachment { name: "rows.csv".into(), text: format!("a,{}\n", "b".repeat(3000)) }),
        ..mail(&[])
    };
    put_mail(&home, "first", mail);
    assert_eq!(run(&home), delivered(1));
    let taken = server.next();
    assert_eq!(taken["from"], "strongroom@example.edu");
    assert_eq!(recipients(&taken), ["jm@example.edu", "b@example.edu", "hidden@example.edu"]);
    let data = taken["data"].as_str().expect("a text");
    assert!(!data.contains("hidden@example.edu") && !data.contains("\nBcc"), "{data}");
    assert!(data.split("\r\n").all(|line| line.len() <= 998), "{data}");
    for wanted in
        ["All 3 rows succeeded.\r\n.\r\n", "<p>All 3 rows succeeded.</p>", "filename=\"rows.csv\"", "text/csv"]
    {
        assert!(data.contains(wanted), "{wanted}: {data}");
    }
    assert_eq!(header(&taken, "Auto-Submitted").as_deref(), Some("auto-generated"));
    assert!(
        header(&taken, "Date").is_some()
            && header(&taken, "Subject").is_some_and(|subject| subject.contains("=?utf-8?"))
    );
    assert!(header(&taken, "Message-ID").is_some_and(|id| id.starts_with('<') && id.ends_with("@example.edu>")));
    assert_eq!(run_later(&home), Delivered::default(), "once is enough");
}

#[test]
fn a_table_that_is_too_large_is_left_out_and_the_mail_says_so() {
    let Some((mut server, home)) = serving(&json!({}), "max_attachment = \"100 B\"") else { return };
    let attachment = Some(Attachment { name: "rows.csv".into(), text: "b".repeat(101) });
    put_mail(&home, "first", Mail { attachment, ..mail(&["a@example.edu"]) });
    assert_eq!(run(&home), delivered(1));
    let data = server.next()["data"].as_str().expect("a text").replace("=\r\n", "");
    assert!(data.contains("rows.csv is not attached: it has 101 bytes") && !data.contains("text/csv"), "{data}");
}

#[test]
fn a_recipient_who_is_refused_keeps_no_other_from_the_mail_and_is_recorded() {
    let plan = json!({ "rcpt": { "gone@example.edu": ["550 5.1.1 no such user"] } });
    let Some((mut server, home)) = serving(&plan, "") else { return };
    put_mail(&home, "first", mail(&["a@example.edu", "gone@example.edu", "no address", "b@example.edu"]));
    assert_eq!(run(&home), delivered(1));
    assert_eq!(recipients(&server.next()), ["a@example.edu", "b@example.edu"]);
    let progress: Value = serde_json::from_str(&message(&home, "first").progress.expect("is recorded")).expect("JSON");
    assert_eq!(progress["accepted"], json!(["a@example.edu", "b@example.edu"]));
    let refused = progress["refused"].to_string();
    assert!(refused.contains("no such user") && refused.contains("no address"), "{refused}");
    assert!(server.rest().is_empty());
}

#[test]
fn a_recipient_who_is_delayed_gets_the_mail_later_and_the_others_get_it_once() {
    let plan =
        json!({ "rcpt": { "busy@example.edu": ["451 4.7.1 greylisted", "250 OK"], "gone@example.edu": ["550 no"] } });
    let Some((mut server, home)) = serving(&plan, "") else { return };
    put_mail(&home, "first", mail(&["a@example.edu", "busy@example.edu", "gone@example.edu"]));
    put_mail(&home, "other", mail(&["b@example.edu"]));
    assert_eq!(run(&home), Delivered { failed: 1, delivered: 1, ..Delivered::default() });
    let (first, other) = (server.next(), server.next());
    assert_eq!((recipients(&first), recipients(&other)), (vec!["a@example.edu"], vec!["b@example.edu"]));
    let waiting = message(&home, "first");
    assert!(waiting.last_error.is_some_and(|error| error.contains("busy@example.edu") && error.contains("greylisted")));
    assert_eq!(run_later(&home), delivered(1));
    let second = server.next();
    assert_eq!(recipients(&second), ["busy@example.edu"]);
    assert_eq!(header(&first, "Message-ID"), header(&second, "Message-ID"));
    assert_ne!(header(&first, "Message-ID"), header(&other, "Message-ID"));
    assert_eq!(run_later(&home), Delivered::default());
    assert!(server.rest().is_empty());
}

#[test]
fn a_mail_that_every_recipient_is_refused_needs_review_and_is_sent_again_when_a_person_asks() {
    let plan = json!({ "rcpt": { "a@example.edu": ["550 no such user", "250 OK"] }, "data": ["554 spam", "250 OK"] });
    let Some((mut server, home)) = serving(&plan, "") else { return };
    put_mail(&home, "first", mail(&["a@example.edu"]));
    put_mail(&home, "second", mail(&["b@example.edu"]));
    assert_eq!(run(&home), undeliverable(2));
    for (key, answer) in [("first", "no such user"), ("second", "spam")] {
        let found = message(&home, key);
        let reason = found.last_error.expect("is recorded");
        let next = format!("strongroom outbox send {}", found.id);
        assert!(reason.contains(answer) && reason.contains("next: ") && reason.contains(&next), "{reason}");
        strongroom_engine::app::outbox::send(&console(&home), found.id).expect("is sent again");
    }
    assert_eq!(run(&home), delivered(2));
    assert_eq!(recipients(&server.next()), ["a@example.edu"]);
    assert_eq!(recipients(&server.next()), ["b@example.edu"]);
}

#[test]
fn a_connection_that_is_cut_after_the_mail_has_it_sent_again_under_the_same_identifier() {
    let Some((mut server, home)) = serving(&json!({ "data": ["cut", "421 closing", "451 later"] }), "") else { return };
    put_mail(&home, "first", mail(&["a@example.edu"]));
    for _ in 0..3 {
        assert_eq!(run_later(&home), failed(1));
    }
    assert_eq!(run_later(&home), delivered(1));
    let (first, second) = (server.next(), server.next());
    assert_eq!(header(&first, "Message-ID"), header(&second, "Message-ID"));
    assert_eq!(header(&first, "Date"), header(&second, "Date"));
    assert!(server.rest().is_empty());
}

#[test]
fn a_server_that_never_ends_its_answer_is_left_and_no_other_mail_is_tried_in_the_run() {
    for greeting in ["dribble", "silent"] {
        let Some((_server, home)) = serving(&json!({ "greeting": greeting }), "timeout = \"1s\"") else { return };
        put_mail(&home, "first", mail(&["a@example.edu"]));
        put_mail(&home, "other", mail(&["b@example.edu"]));
        assert_eq!(run(&home), failed(1), "{greeting}");
        assert!(message(&home, "first").last_error.is_some_and(|error| error.contains("mail server localhost")));
        assert_eq!(message(&home, "other").attempts, 0, "it would wait as long");
    }
}

#[test]
fn a_mail_is_sent_over_encrypted_connections_with_a_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let issued = Certificate::Good.issue();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("certificate"), &issued.certificate).expect("writes");
    std::fs::write(path("key"), &issued.key).expect("writes");
    std::fs::write(path("root"), &issued.root).expect("writes");
    for tls in ["starttls", "tls"] {
        let plan = json!({
            "certificate": path("certificate"), "key": path("key"), "tls": tls == "tls", "user": "u", "password": "p",
        });
        let common = format!("tls = \"{tls}\"\nca_file = \"{}\"\nusername = \"u\"\n", path("root"));
        let Some(mut server) = MailServer::start(&plan) else { return };
        let right = home_with(&server.settings(&format!("{common}password = \"p\"")));
        put_mail(&right, "first", mail(&["a@example.edu"]));
        assert_eq!(run(&right), delivered(1), "{tls}: {:?}", message(&right, "first").last_error);
        let taken = server.next();
        assert_eq!((&taken["encrypted"], &taken["user"]), (&json!(true), &json!("u")), "{tls}");
        let wrong = home_with(&server.settings(&format!("{common}password = \"wrong\"")));
        put_mail(&wrong, "first", mail(&["a@example.edu"]));
        assert_eq!(run(&wrong), failed(1));
        let error = message(&wrong, "first").last_error.expect("is recorded");
        assert!(error.contains("mail.username and mail.password") && !error.contains("wrong"), "{error}");
        let unknown = home_with(&server.settings(&format!("tls = \"{tls}\"")));
        put_mail(&unknown, "first", mail(&["a@example.edu"]));
        assert_eq!(run(&unknown), failed(1), "an authority that is not trusted");
        assert!(server.rest().is_empty());
    }
}

#[test]
fn no_mail_goes_unencrypted_where_encryption_is_set() {
    let Some((server, home)) = serving(&json!({}), "tls = \"starttls\"") else { return };
    put_mail(&home, "first", mail(&["a@example.edu"]));
    assert_eq!(run(&home), failed(1));
    assert!(message(&home, "first").last_error.is_some_and(|error| error.contains("STARTTLS")));
    assert!(server.rest().is_empty());
}

#[test]
fn an_address_beyond_ascii_is_refused_where_the_server_takes_none() {
    for (plan, wanted) in [(json!({ "no_unicode": true }), undeliverable(1)), (json!({}), delivered(1))] {
        let Some((_server, home)) = serving(&plan, "") else { return };
        put_mail(&home, "first", mail(&["jürgen@example.edu"]));
        assert_eq!(run(&home), wanted);
    }
}

#[test]
fn a_mail_that_fails_for_days_needs_review_after_at_least_five_attempts() {
    let Some((server, home)) = serving(&json!({}), "") else { return };
    drop(server);
    put_mail(&home, "first", mail(&["a@example.edu"]));
    home.clock.advance(Duration::from_hours(24 * 5));
    for _ in 0..4 {
        assert_eq!(run_later(&home), failed(1));
    }
    assert_eq!(run_later(&home), undeliverable(1));
    let reason = message(&home, "first").last_error.expect("is recorded");
    assert!(
        reason.starts_with("5 attempts failed") && reason.contains("next: ") && reason.contains("outbox send"),
        "{reason}"
    );
}

#[test]
fn a_test_mail_is_delivered_when_the_command_returns() {
    let plan = json!({ "rcpt": { "gone@example.edu": ["550 no such user"] } });
    let Some((mut server, home)) = serving(&plan, "") else { return };
    let mail = |address: &str| app::test(&console(&home), &app::Receiver::Mail(address.into()), None);
    assert_eq!(mail("a@example.edu").expect("is delivered").state, "delivered");
    assert_eq!(recipients(&server.next()), ["a@example.edu"]);
    let error = mail("gone@example.edu").unwrap_err();
    let EngineError::Advised(advised) = &error else { panic!("{error}") };
    assert!(error.to_string().contains("no such user") && advised.next.contains("then test again"), "{}", advised.next);
    assert!(mail("no address").unwrap_err().to_string().contains("is no address"));
    drop(server);
    let error = mail("a@example.edu").unwrap_err().to_string();
    assert!(error.contains("could not connect"), "{error}");
    assert_eq!(run_later(&home), failed(1), "the background task attempts it again");
}
