//! Mails to users: tokens to choose a password, and to admins when there is another one.

use serde_json::{Value, json};
use strongroom_engine::app::users::{self, Changes, NewUser};
use strongroom_engine::app::{self, UserRole};

use super::mail_server::MailServer;
use super::*;

const ANN: &str = "ann@example.edu";

fn serving() -> Option<(MailServer, TestHome)> {
    let server = MailServer::start(&json!({}))?;
    let home = home_with(&server.settings("admins = [\"operator@example.net\"]"));
    Some((server, home))
}

fn add(home: &TestHome, email: &str, role: UserRole) {
    let institution = (role != UserRole::SystemAdmin).then(|| INSTITUTION.to_owned());
    let new = NewUser { email: email.to_owned(), role, institution, password: None };
    users::add(&console(home), new).expect("is added");
}

fn recipients(taken: &Value) -> Vec<&str> {
    let mut all: Vec<&str> = taken["to"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    all.sort_unstable();
    all
}

/// The text of a mail without the breaks of quoted-printable lines.
fn text(taken: &Value) -> String {
    taken["data"].as_str().expect("a text").replace("=\r\n", "").replace("=3D", "=")
}

fn token_in(text: &str) -> String {
    let begin = text.find("strongroom_invitation_").or_else(|| text.find("strongroom_reset_")).expect("a token");
    text[begin..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().expect("its text").to_owned()
}

fn chosen(home: &TestHome, token: &str, password: &str) -> bool {
    let server = OpContext::new(home.home.clone(), Caller::system());
    users::choose_password(&server, token, app::password(password).expect("a password")).expect("answers")
}

#[test]
fn a_token_is_in_its_mail_alone_and_the_newest_is_valid() {
    let Some((mut server, home)) = serving() else { return };
    add(&home, ANN, UserRole::Auditor);
    users::invite(&console(&home), ANN).expect("is invited");
    users::invite(&console(&home), ANN).expect("is invited again");
    assert_eq!(run(&home), delivered(2));
    let tokens = [server.next(), server.next()].map(|taken| {
        assert_eq!(recipients(&taken), [ANN]);
        token_in(&text(&taken))
    });
    assert!(!chosen(&home, &tokens[0], "seven teapots beside the harbour"), "another one was sent after it");
    assert!(chosen(&home, &tokens[1], "seven teapots beside the harbour"));
    users::invite(&console(&home), ANN).expect("is sent a reset");
    assert_eq!(run(&home), delivered(1));
    let reset = token_in(&text(&server.next()));
    assert!(reset.starts_with("strongroom_reset_"), "{reset}");
    for file in ["registry.db", "registry.db-wal"] {
        let kept = std::fs::read(home.path().join(file)).unwrap_or_default();
        for token in tokens.iter().chain([&reset]) {
            let secret = token.rsplit('_').next().expect("a secret");
            assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()), "{token} is in {file}");
        }
    }
}

#[test]
fn a_mail_to_a_user_who_was_deactivated_is_not_sent() {
    let Some((_server, home)) = serving() else { return };
    add(&home, ANN, UserRole::Auditor);
    users::invite(&console(&home), ANN).expect("is invited");
    users::deactivate(&console(&home), ANN).expect("is deactivated");
    assert_eq!(run(&home), Delivered { obsolete: 1, ..Delivered::default() });
}

#[test]
fn all_admins_hear_of_another_one() {
    let Some((mut server, home)) = serving() else { return };
    add(&home, "root@example.net", UserRole::SystemAdmin);
    add(&home, ANN, UserRole::InstitutionAdmin);
    add(&home, "bob@example.edu", UserRole::InstitutionUser);
    assert_eq!(run(&home), delivered(2));
    server.next();
    let told = server.next();
    assert_eq!(recipients(&told), [ANN, "operator@example.net", "root@example.net"]);
    let raise = || Changes { role: Some(UserRole::InstitutionAdmin), ..Changes::default() };
    users::set(&console(&home), "bob@example.edu", raise()).expect("is raised");
    users::set(&console(&home), "bob@example.edu", raise()).expect("changes nothing");
    assert_eq!(run(&home), delivered(1));
    let told = server.next();
    assert_eq!(recipients(&told), [ANN, "bob@example.edu", "operator@example.net", "root@example.net"]);
    let text = text(&told);
    assert!(text.contains("bob@example.edu is now institution_admin of") && text.contains("by tester"), "{text}");
    users::deactivate(&console(&home), "bob@example.edu").expect("is deactivated");
    users::activate(&console(&home), "bob@example.edu").expect("is activated");
    assert_eq!(run(&home), delivered(1), "an admin is there again");
}
