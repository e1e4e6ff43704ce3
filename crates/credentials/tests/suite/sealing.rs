//! Sealed secrets: read again with their key for their owner, and with nothing else.

use proptest::prelude::*;
use strongroom_credentials::{AccountName, CredentialError, SealingKey, TotpSecret};

#[test]
fn a_sealed_secret_is_read_again_with_its_key() {
    let (key, secret) = (SealingKey::generate().expect("a key"), TotpSecret::generate().expect("a secret"));
    let again = SealingKey::parse(&format!("{}\n", *key.reveal())).expect("is read");
    let sealed = key.seal(&secret, b"ann").expect("is sealed");
    assert_eq!(again.id(), key.id());
    assert_eq!(again.open(&sealed, b"ann").expect("is opened").reveal(), secret.reveal());
    assert_ne!(sealed, key.seal(&secret, b"ann").expect("is sealed"), "no nonce is used twice");
}

#[test]
fn a_sealed_secret_is_of_no_use_for_another_owner_or_with_another_key() {
    let (key, other) = (SealingKey::generate().expect("a key"), SealingKey::generate().expect("a key"));
    let sealed = key.seal(&TotpSecret::generate().expect("a secret"), b"ann").expect("is sealed");
    assert!(matches!(key.open(&sealed, b"bob"), Err(CredentialError::Sealed { .. })));
    let refused = other.open(&sealed, b"ann").expect_err("another key");
    assert!(
        matches!(&refused, CredentialError::OtherKey { sealed, given } if *sealed == key.id() && *given == other.id())
    );
    for position in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[position] ^= 1;
        assert!(key.open(&changed, b"ann").is_err(), "byte {position}");
        assert!(key.open(&sealed[..position], b"ann").is_err(), "{position} bytes");
    }
}

#[test]
fn a_key_that_was_mistyped_or_cut_off_is_no_key() {
    let text = SealingKey::generate().expect("a key").reveal();
    for position in 0..text.len() {
        let mut changed = text.as_bytes().to_vec();
        changed[position] = if changed[position] == b'a' { b'b' } else { b'a' };
        assert!(SealingKey::parse(std::str::from_utf8(&changed).expect("text")).is_err(), "character {position}");
        assert!(SealingKey::parse(&text[..position]).is_err(), "{position} characters");
    }
}

#[test]
fn neither_key_nor_secret_is_in_what_is_shown() {
    let (key, secret) = (SealingKey::generate().expect("a key"), TotpSecret::generate().expect("a secret"));
    let sealed = key.seal(&secret, b"ann").expect("is sealed");
    let error = SealingKey::generate().expect("a key").open(&sealed, b"ann").expect_err("another key");
    let shown = format!("{key:?} {error} {error:?}");
    assert!(!shown.contains(&key.reveal()[19..]) && !shown.contains(secret.reveal().as_str()), "{shown}");
}

/// U+1FCD is a space with marks in its normal form.
#[test]
fn a_name_begins_with_no_space_that_its_normal_form_has() {
    assert_eq!(AccountName::new("\u{1fcd}ann@example.edu").as_str(), "\u{313}\u{300}ann@example.edu");
}

proptest! {
    #[test]
    fn the_name_of_an_account_is_its_own_name(typed in "\\PC{0,30}") {
        let name = AccountName::new(&typed);
        prop_assert_eq!(AccountName::new(name.as_str()), name);
    }

    #[test]
    fn no_text_makes_a_key_or_a_secret_panic(text in "\\PC{0,90}", bytes in proptest::collection::vec(any::<u8>(), 0..90)) {
        let _ = SealingKey::parse(&text);
        let key = SealingKey::generate().expect("a key");
        prop_assert!(key.open(&bytes, b"ann").is_err());
    }
}
