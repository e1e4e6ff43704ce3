//! No secret is in what is logged or shown by accident: `Debug`, and the texts of errors and their sources.

use std::error::Error;
use std::fmt::Debug;

use strongroom_credentials::{
    BackupCode, CredentialError, HashParameters, Password, PasswordContext, PasswordHasher, PasswordUse,
    StoredBackupCode, StoredPassword, Token, TokenKind, TotpCode, TotpSecret, Verification,
};

fn assert_hidden(value: &dyn Debug, secrets: &[&str]) {
    for text in [format!("{value:?}"), format!("{value:#?}")] {
        for secret in secrets {
            assert!(!text.to_lowercase().contains(&secret.to_lowercase()), "{text} contains {secret}");
        }
    }
}

/// The text of an error and of everything behind it, as logs have it.
fn told(error: &CredentialError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text} {error} {error:?}");
        source = error.source();
    }
    text
}

#[test]
fn debug_shows_no_secret() {
    let password = "seven teapots beside the harbour";
    assert_hidden(&Password::new(password).expect("a password"), &["teapots"]);
    let accepted = Password::new(password)
        .and_then(|password| password.accept(PasswordUse::Alone, &PasswordContext::default()))
        .expect("a good password");
    assert_hidden(&accepted, &["teapots"]);

    let hasher = PasswordHasher::new(HashParameters::new(8, 1, 1).expect("allowed parameters"));
    let stored = hasher.hash(&accepted).expect("a hash");
    let text = stored.reveal();
    let parts: Vec<&str> = text.rsplit('$').take(2).collect();
    assert_hidden(&stored, &parts);
    assert_hidden(&Verification::Renewed(stored), &parts);

    let token = Token::generate(TokenKind::ApiKey).expect("a token");
    let secret = token.reveal().rsplit('_').next().expect("a part").to_owned();
    assert_hidden(&token, &[&secret, &secret[..20], &secret[40..]]);
    assert!(format!("{token:?}").contains(token.id().as_str()), "what is no secret says which one it is");
    let digest: Vec<String> = token.digest().as_bytes().iter().map(u8::to_string).collect();
    assert_hidden(&token.digest(), &[&digest.join(", ")]);

    let secret = TotpSecret::generate().expect("a secret");
    assert_hidden(&secret, &[&secret.reveal()]);
    assert_hidden(&TotpCode::parse("287082").expect("a code"), &["287082"]);

    let code = BackupCode::parse("abcdef-ghijkl-mnopqr-stuvwx").expect("a code");
    assert_hidden(&code, &["abcdef", "stuvwx"]);
    let digest: Vec<String> = code.digest().as_bytes().iter().map(u8::to_string).collect();
    assert_hidden(&StoredBackupCode { digest: code.digest(), used_at: None }, &[&digest.join(", ")]);
}

#[test]
fn errors_repeat_nothing_of_what_was_given() {
    let context = PasswordContext::new(["ada@example.org"]);
    let secret = "zyxwvu";
    let hash = format!("$argon2id$v=19$m=8,t=1,p=1${secret}");
    let token = format!("strongroom_key_{secret}");
    let errors = [
        Password::new(&format!("{secret}\n")).map(|_| ()),
        Password::new(&secret.repeat(1000)).map(|_| ()),
        Password::new(secret).and_then(|password| password.accept(PasswordUse::Alone, &context)).map(|_| ()),
        Password::new(&secret.repeat(4)).and_then(|password| password.accept(PasswordUse::Alone, &context)).map(|_| ()),
        StoredPassword::parse(&hash).map(|_| ()),
        Token::parse(secret, TokenKind::ApiKey).map(|_| ()),
        Token::parse(&token, TokenKind::ApiKey).map(|_| ()),
        Token::parse(&token, TokenKind::Session).map(|_| ()),
        TotpSecret::parse(secret).map(|_| ()),
        TotpCode::parse(secret).map(|_| ()),
        BackupCode::parse(secret).map(|_| ()),
    ];
    for (number, error) in errors.into_iter().enumerate() {
        let told = told(&error.expect_err(&format!("case {number}")));
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn errors_say_what_to_do() {
    let short =
        Password::new("teapots").and_then(|password| password.accept(PasswordUse::Alone, &PasswordContext::default()));
    assert_eq!(
        short.expect_err("too short").to_string(),
        "the password has 7 characters, and at least 15 are required; next: choose a longer one"
    );
    let common = Password::new("passwordpassword")
        .and_then(|password| password.accept(PasswordUse::Alone, &PasswordContext::default()));
    assert_eq!(
        common.expect_err("common").to_string(),
        "the password is easily guessed: it repeats the same characters; next: choose a longer one, such as four or more unrelated words"
    );
    let key = Token::generate(TokenKind::ApiKey).expect("a token");
    assert_eq!(
        Token::parse(key.reveal(), TokenKind::Session).expect_err("another kind").to_string(),
        "the text is an API key, and a session is needed here"
    );
    assert_eq!(
        Token::parse("Bearer", TokenKind::ApiKey).expect_err("no token").to_string(),
        "the text is not an API key: it has to begin with \"strongroom_key_\" and have 91 characters"
    );
}
