//! Backup codes: ten, typed in many ways, each usable once.

use std::collections::HashSet;

use jiff::Timestamp;
use proptest::prelude::*;
use strongroom_credentials::{BackupCode, BackupCodeDigest, BackupCodeRefusal, CredentialError, StoredBackupCode};

fn stored(codes: &[BackupCode]) -> Vec<StoredBackupCode> {
    codes
        .iter()
        .map(|code| {
            let digest = BackupCodeDigest::try_from(code.digest().as_bytes().as_slice()).expect("a digest");
            StoredBackupCode { digest, used_at: None }
        })
        .collect()
}

#[test]
fn ten_different_codes_are_made_and_each_is_found() {
    let codes = BackupCode::generate().expect("codes");
    let texts: HashSet<String> = codes.iter().map(|code| code.reveal().to_string()).collect();
    assert_eq!(texts.len(), 10);

    let stored = stored(&codes);
    for (position, code) in codes.iter().enumerate() {
        let typed = BackupCode::parse(&code.reveal()).expect("a code");
        assert_eq!(typed.redeem(&stored), Ok(position));
    }
}

#[test]
fn a_code_is_shown_in_groups_and_typed_in_any_way() {
    let code = BackupCode::parse("abcdef-ghijkl-mnopqr-stuvwx").expect("a code");
    assert_eq!(*code.reveal(), "abcdef-ghijkl-mnopqr-stuvwx");
    let stored = stored(&[code]);
    for text in ["ABCDEFGHIJKLMNOPQRSTUVWX", " abcdef ghijkl\tmnopqr stuvwx\n", "a8cdef-ghijk1-mn0pqr-stuvwx"] {
        assert_eq!(BackupCode::parse(text).expect(text).redeem(&stored), Ok(0), "{text:?}");
    }
}

#[test]
fn a_code_is_usable_once() {
    let codes = BackupCode::generate().expect("codes");
    let mut stored = stored(&codes);
    stored[3].used_at = Some(Timestamp::UNIX_EPOCH);
    assert_eq!(codes[3].redeem(&stored), Err(BackupCodeRefusal::Used));
    assert_eq!(codes[4].redeem(&stored), Ok(4));
}

#[test]
fn codes_of_another_set_are_unknown() {
    let (old, new) = (BackupCode::generate().expect("codes"), BackupCode::generate().expect("codes"));
    let stored = stored(&new);
    assert!(old.iter().all(|code| code.redeem(&stored) == Err(BackupCodeRefusal::Unknown)));
    assert_eq!(old[0].redeem(&[]), Err(BackupCodeRefusal::Unknown));
}

#[test]
fn what_is_no_code_or_digest_is_an_error() {
    let nines = "9".repeat(24);
    let long = " ".repeat(1000);
    for text in ["", "abcdef", "abcdef-ghijkl-mnopqr-stuvwxy", &nines, &long, "ÀBCDEFGHIJKLMNOPQRSTUVWX"] {
        assert!(matches!(BackupCode::parse(text), Err(CredentialError::BackupCode { characters: 24 })), "{text:?}");
    }
    assert!(matches!(
        BackupCodeDigest::try_from([0; 31].as_slice()),
        Err(CredentialError::Stored { given: 31, expected: 32, .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_typed_gets_an_answer(text in ".*|[a-z0-9 -]{20,40}") {
        if let Ok(code) = BackupCode::parse(&text) {
            prop_assert_eq!(&*BackupCode::parse(&code.reveal()).expect("a code").reveal(), &*code.reveal());
        }
    }
}
