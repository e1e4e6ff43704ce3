//! Tokens: their text, their checksum, what is stored of them, and until when they are valid.

use std::collections::HashSet;

use data_encoding::BASE32_NOPAD;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use strongroom_credentials::{
    CLOCK_TOLERANCE, CredentialError, Refusal, Token, TokenDigest, TokenId, TokenKind, Validity,
};

fn generate(kind: TokenKind) -> Token {
    Token::generate(kind).expect("a token")
}

#[test]
fn a_token_names_its_kind_and_has_an_identifier_and_256_bits() {
    for kind in TokenKind::ALL {
        let token = generate(kind);
        let text = token.reveal();
        assert!(text.starts_with(kind.prefix()), "{text}");
        assert_eq!(text.len(), kind.length());
        assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'), "{text}");

        let rest = text.strip_prefix(kind.prefix()).expect("the prefix");
        let (id, secret) = rest.split_once('_').expect("two parts");
        assert_eq!(token.id().as_str(), id);
        assert_eq!(secret.len(), 52 + 7, "32 bytes and a checksum of 4 bytes in base32");
    }
    let prefixes: HashSet<&str> = TokenKind::ALL.into_iter().map(TokenKind::prefix).collect();
    assert_eq!(prefixes.len(), TokenKind::ALL.len());
}

#[test]
fn a_token_that_was_shown_is_read_again_and_matches_what_was_stored() {
    for kind in TokenKind::ALL {
        let token = generate(kind);
        let stored = TokenDigest::try_from(token.digest().as_bytes().as_slice()).expect("a digest");
        let presented = Token::parse(token.reveal(), kind).expect("a token");
        assert_eq!((presented.kind(), presented.id()), (kind, token.id()));
        assert!(stored.is_of(&presented));
        assert!(!stored.is_of(&generate(kind)));
    }
}

#[test]
fn a_digest_is_the_sha_256_of_the_whole_text() {
    // A token whose random bytes are zero, and its digest by `printf %s ... | sha256sum`.
    let text = "strongroom_key_aaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaqwzukvy";
    let token = Token::parse(text, TokenKind::ApiKey).expect("a token");
    let halves = [0x2a2e_c91e_478f_b470_a34a_02ea_48ad_4ee3_u128, 0x4a99_f51c_66e3_f286_a3be_5473_78cb_87fc];
    assert_eq!(token.digest().as_bytes().as_slice(), halves.map(u128::to_be_bytes).as_flattened());
}

#[test]
fn no_two_tokens_are_alike() {
    let tokens: Vec<Token> = (0..100).map(|_| generate(TokenKind::Session)).collect();
    let ids: HashSet<TokenId> = tokens.iter().map(Token::id).collect();
    let secrets: HashSet<&str> = tokens.iter().filter_map(|token| token.reveal().rsplit('_').next()).collect();
    assert_eq!((ids.len(), secrets.len()), (100, 100));
}

#[test]
fn a_token_of_one_kind_is_not_accepted_as_another() {
    for kind in TokenKind::ALL {
        for expected in TokenKind::ALL.into_iter().filter(|other| *other != kind) {
            match Token::parse(generate(kind).reveal(), expected) {
                Err(CredentialError::OtherKind { expected: wanted, found }) => {
                    assert_eq!((wanted, found), (expected, kind));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_token_with_a_changed_missing_or_added_character_is_recognized_without_a_look_up() {
    let token = generate(TokenKind::ApiKey);
    let text = token.reveal();
    for at in 0..text.len() {
        let mut changed = text.as_bytes().to_vec();
        changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
        let changed = String::from_utf8(changed).expect("ASCII");
        assert!(Token::parse(&changed, TokenKind::ApiKey).is_err(), "{changed} instead of {text}");
        assert!(Token::parse(&text[..at], TokenKind::ApiKey).is_err());
    }
    for other in [format!("{text}a"), format!(" {text}"), text.to_uppercase(), format!("{text}\n")] {
        assert!(Token::parse(&other, TokenKind::ApiKey).is_err(), "{other:?}");
    }
    // Two neighbours that changed places.
    let mut swapped = text.as_bytes().to_vec();
    if let Some(at) = (20..text.len() - 1)
        .find(|at| swapped[*at] != swapped[at + 1] && swapped[*at] != b'_' && swapped[at + 1] != b'_')
    {
        swapped.swap(at, at + 1);
        let swapped = String::from_utf8(swapped).expect("ASCII");
        assert!(matches!(Token::parse(&swapped, TokenKind::ApiKey), Err(CredentialError::Checksum { .. })));
    }
}

#[test]
fn a_text_with_a_right_checksum_and_another_form_is_no_token() {
    let (id, secret) = ("a".repeat(16), "a".repeat(52));
    let with_checksum = |text: &str| {
        let checksum = BASE32_NOPAD.encode(&crc32fast::hash(text.as_bytes()).to_be_bytes()).to_lowercase();
        Token::parse(&format!("{text}{checksum}"), TokenKind::ApiKey)
    };
    assert!(with_checksum(&format!("strongroom_key_{id}_{secret}")).is_ok());
    for text in [
        format!("strongroom_key_{id}_{secret}a"),
        format!("strongroom_key_{id}_{}", "a".repeat(51)),
        format!("strongroom_key_{id}a_{}", "a".repeat(51)),
        format!("strongroom_key_{}_{secret}", "A".repeat(16)),
        format!("strongroom_key_{id}_{}", "1".repeat(52)),
        format!("strongroom_key_{id}a{secret}"),
    ] {
        assert!(with_checksum(&text).is_err(), "{text}");
    }
}

#[test]
fn identifiers_and_digests_are_read_as_they_were_stored_and_nothing_else_is() {
    let id = generate(TokenKind::ApiKey).id();
    assert_eq!(TokenId::parse(id.as_str()).expect("an identifier"), id);
    for text in ["", "abc", &format!("{id}a"), "ABCDEFGHIJKLMNOP", "abcdefghijklmno1", "abcdefghijklmn%_"] {
        assert!(matches!(TokenId::parse(text), Err(CredentialError::TokenId { .. })), "{text:?}");
    }
    for length in [0, 31, 33] {
        assert!(matches!(TokenDigest::try_from(vec![0; length].as_slice()), Err(CredentialError::Stored { .. })));
    }
}

#[test]
fn a_token_is_valid_from_when_it_was_made_until_it_expires_or_has_ended() {
    let issued_at: Timestamp = "2026-01-01T12:00:00Z".parse().expect("a time");
    let expires_at: Timestamp = "2026-01-02T12:00:00Z".parse().expect("a time");
    let before = |time: Timestamp, seconds| time - SignedDuration::from_secs(seconds);
    let token = Validity { issued_at, expires_at: Some(expires_at), ended_at: None };

    assert_eq!(token.check(issued_at), Ok(()));
    assert_eq!(token.check(before(expires_at, 1)), Ok(()));
    assert_eq!(token.check(expires_at), Err(Refusal::Expired));
    assert_eq!(token.check(Timestamp::MAX), Err(Refusal::Expired));

    let ended = Validity { ended_at: Some(before(expires_at, 7200)), ..token };
    assert_eq!(ended.check(before(expires_at, 1)), Err(Refusal::Ended));
    assert_eq!(ended.check(issued_at), Err(Refusal::Ended), "also where the clock was turned back since");

    let endless = Validity { expires_at: None, ..token };
    assert_eq!(endless.check(Timestamp::MAX), Ok(()));
}

#[test]
fn a_clock_that_is_turned_back_does_not_make_a_token_last_longer() {
    let issued_at: Timestamp = "2026-01-01T12:00:00Z".parse().expect("a time");
    let token = Validity { issued_at, expires_at: None, ended_at: None };
    assert_eq!(token.check(issued_at - CLOCK_TOLERANCE), Ok(()), "clocks of two machines differ a little");
    assert_eq!(token.check(issued_at - CLOCK_TOLERANCE - SignedDuration::from_secs(1)), Err(Refusal::NotYet));
    assert_eq!(token.check(Timestamp::MIN), Err(Refusal::NotYet));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_presented_gets_an_answer(
        text in ".*|strongroom_[a-z]{1,14}_[a-z2-7]{16}_[a-z2-7]{59}|strongroom_key_.{0,90}",
    ) {
        for kind in TokenKind::ALL {
            prop_assert!(Token::parse(&text, kind).is_err());
        }
    }
}
