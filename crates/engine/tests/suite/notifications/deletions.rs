//! The mail about a request for deletion has a token, by which its reader approves.

use serde_json::json;
use strongroom_credentials::{AccountName, TokenKind};
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::users::{self, NewUser};
use strongroom_engine::app::{UserRole, deletions};
use strongroom_registry::journal::Actor;
use strongroom_registry::{ActorKind, DeletionRequestState, Scope, users as rows};

use super::mail_server::MailServer;
use super::*;

const ANN: &str = "ann@example.edu";
const BOB: &str = "bob@example.edu";

fn signed_in(home: &TestHome, email: &str) -> OpContext {
    let user = home.registry.read(|tx| rows::find(tx, Scope::System, &AccountName::new(email))).expect("the user");
    let caller = Caller::with_role(Actor::new(ActorKind::User, email), user.scope(), Role::from(user.role));
    OpContext::new(home.home.clone(), Caller { user: Some(user.id), ..caller })
}

#[test]
fn who_may_approve_a_deletion_gets_a_token_that_the_registry_does_not_have() {
    let Some(server) = MailServer::start(&json!({})) else { return };
    let home = home_with(&server.settings(""));
    home.ingest("letters", &[("a.txt", b"one")]);
    for email in [ANN, BOB] {
        let (role, institution) = (UserRole::InstitutionAdmin, Some(INSTITUTION.to_owned()));
        users::add(&console(&home), NewUser { email: email.to_owned(), role, institution, password: None })
            .expect("is added");
    }
    let letters = format!("{INSTITUTION}/letters");
    let made = deletions::of_object(&signed_in(&home, ANN), &letters, &[], "deposited twice").expect("is requested");
    run(&home);
    let prefix = TokenKind::DeletionApproval.prefix();
    let texts = server.rest().into_iter().map(|taken| {
        let text = taken["data"].as_str().expect("a text").replace("=\r\n", "").replace("=3D", "=");
        (taken["to"].to_string(), text)
    });
    let with: Vec<(String, String)> = texts.filter(|(_, text)| text.contains(prefix)).collect();
    let [(to, text)] = with.as_slice() else { panic!("one mail has a token: {with:?}") };
    assert!(to.contains(BOB), "{to}");
    let begin = text.find(prefix).expect("a token");
    let token = text[begin..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().expect("its text");
    for file in ["registry.db", "registry.db-wal"] {
        let kept = std::fs::read(home.path().join(file)).unwrap_or_default();
        let secret = token.rsplit('_').next().expect("a secret");
        assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()), "it is in {file}");
    }
    let wrong = deletions::approve_by_token(&signed_in(&home, ANN), token, None).expect_err("is of another user");
    assert!(wrong.chain().contains("approves nothing"), "{}", wrong.chain());
    let approved = deletions::approve_by_token(&signed_in(&home, BOB), token, None).expect("is approved");
    assert_eq!((approved.request, approved.state), (made.request, DeletionRequestState::Approved));
}
