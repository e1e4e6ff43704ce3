//! Which passwords may be chosen, and how hashes are made, verified and renewed.

use proptest::prelude::*;
use strongroom_credentials::{
    AcceptedPassword, CredentialError, HashParameters, Password, PasswordContext, PasswordHasher, PasswordUse,
    StoredPassword, Verification,
};

const GOOD: &str = "seven teapots beside the harbour";

/// The cheapest parameters that there are.
fn cheap() -> HashParameters {
    HashParameters::new(8, 1, 1).expect("allowed parameters")
}

fn context() -> PasswordContext {
    PasswordContext::new(["ada.lovelace@library.example.edu", "Example University Library", "example.edu"])
}

fn accept(text: &str) -> Result<AcceptedPassword, CredentialError> {
    Password::new(text).and_then(|password| password.accept(PasswordUse::WithSecondFactor, &context()))
}

fn good() -> AcceptedPassword {
    accept(GOOD).expect("a good password")
}

#[test]
fn passwords_that_are_not_in_lists_are_accepted_whatever_their_characters() {
    for text in [
        GOOD,
        "correct horse battery staple",
        "tr4verse-quill-omega",
        "mfyqzkvbwxhd",
        "k7#pQ2vL9xZm",
        "ключ от старого сарая",
        "古い倉庫の鍵は机の下にある",
        "clé du grenier à Besançon",
        "592 118 740 663 207",
    ] {
        assert!(accept(text).is_ok(), "{text}: {:?}", accept(text).err());
    }
}

#[test]
fn common_passwords_and_their_variants_are_refused() {
    for text in [
        "password1234",
        "P@ssw0rd1234!",
        "passwordpassword",
        "qwertyuiop12",
        "qwertyuiop[]",
        "123456789012",
        "aaaaaaaaaaaaaaaa",
        "abcabcabcabcabc",
        "abcdefghijklmnop",
        "iloveyou2024!",
        "letmeinletmein",
        "unbelievable",
        "administrator1",
        "Welcome2024!!",
        "1qaz2wsx3edc",
        "drowssap4321",
    ] {
        assert!(matches!(accept(text), Err(CredentialError::Common { .. })), "{text}: {:?}", accept(text));
    }
}

#[test]
fn words_of_the_address_the_institution_and_the_program_are_as_good_as_known() {
    for text in ["ada.lovelace2026", "strongroom2026", "example.edu123", "Lovelace-Library1", "university1234"] {
        assert!(matches!(accept(text), Err(CredentialError::Common { .. })), "{text}: {:?}", accept(text));
    }
    for text in ["Lovelace's library at example", "STRONGROOM-STRONGROOM-1", "edu.example.library.lovelace.ada"] {
        match accept(text) {
            Err(CredentialError::Common { reason }) => assert!(reason.contains("this program"), "{text}: {reason}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    // Words of the context are no fault where there is enough beside them.
    assert!(accept("lovelace trades teapots").is_ok());
    // The same word is accepted in the password of another person.
    let other = PasswordContext::new(["bob@archive.example.org"]);
    let refused = |context| {
        Password::new("quetzalcoatlus99").and_then(|password| password.accept(PasswordUse::Alone, &context)).is_err()
    };
    assert!(!refused(other));
    assert!(refused(PasswordContext::new(["quetzalcoatlus@archive.example.org"])));
    // What is beside them is judged with them: the word is known, and the digits are common.
    let beside = |words: &str| {
        let context = PasswordContext::new([words]);
        Password::new("quetzalcoatlus123456").and_then(|password| password.accept(PasswordUse::Alone, &context)).is_ok()
    };
    assert!(beside("bob@archive.example.org"));
    assert!(!beside("quetzalcoatlus@archive.example.org"));
}

#[test]
fn a_word_of_the_context_is_found_although_another_is_its_beginning() {
    let context = PasswordContext::new(["lib@lib.example.org", "Library"]);
    let refused = Password::new("Library, Library!").and_then(|password| password.accept(PasswordUse::Alone, &context));
    match refused {
        Err(CredentialError::Common { reason }) => assert!(reason.contains("this program"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_password_alone_has_to_be_longer_than_one_beside_a_second_factor() {
    let accept = |text: &str, usage| Password::new(text).and_then(|password| password.accept(usage, &context()));
    let (eleven, twelve, fourteen, fifteen) = ("mfyqzkvbwxh", "mfyqzkvbwxhd", "mfyqzkvbwxhdja", "mfyqzkvbwxhdjau");

    assert!(matches!(
        accept(eleven, PasswordUse::WithSecondFactor),
        Err(CredentialError::TooShort { characters: 11, least: 12 })
    ));
    assert!(accept(twelve, PasswordUse::WithSecondFactor).is_ok());
    assert!(matches!(
        accept(fourteen, PasswordUse::Alone),
        Err(CredentialError::TooShort { characters: 14, least: 15 })
    ));
    assert!(accept(fifteen, PasswordUse::Alone).is_ok());
}

#[test]
fn code_points_are_counted_and_not_bytes() {
    let long = "\u{e9}".repeat(Password::LONGEST);
    assert!(Password::new(&long).is_ok());
    assert!(matches!(Password::new(&format!("{long}a")), Err(CredentialError::TooLong)));
    // Decomposed, it has twice as many code points, and is the same password.
    assert!(Password::new(&"e\u{301}".repeat(Password::LONGEST)).is_ok());
    // One code point that becomes eighteen.
    assert!(matches!(Password::new(&"\u{fdfa}".repeat(100)), Err(CredentialError::TooLong)));
    assert!(matches!(Password::new(&"a".repeat(50_000_000)), Err(CredentialError::TooLong)));
    assert!(matches!(accept("\u{1f5dd}\u{1f4da}"), Err(CredentialError::TooShort { characters: 2, .. })));
}

#[test]
fn what_cannot_be_typed_again_is_refused_with_its_position() {
    for (text, position) in
        [("teapots\nand more", 8), ("\u{0}teapots", 1), ("teapots\u{7f}", 8), ("a\u{378}b", 2), ("\u{e000}", 1)]
    {
        match Password::new(text) {
            Err(CredentialError::Character { position: found, .. }) => assert_eq!(found, position, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn the_same_characters_are_the_same_password_however_they_are_encoded() {
    let hasher = PasswordHasher::new(cheap());
    let composed = accept("cl\u{e9} du grenier \u{212b}ngstr\u{f6}m").expect("a good password");
    let stored = hasher.hash(&composed).expect("a hash");
    let verify =
        |text: &str| hasher.verify(Some(&stored), &Password::new(text).expect("a password")).expect("an answer");

    assert_eq!(verify("cle\u{301} du grenier A\u{30a}ngstro\u{308}m"), Verification::Match);
    assert_eq!(verify("cle du grenier Angstrom"), Verification::Mismatch);
    // Spaces belong to it, and nothing is cut off.
    assert_eq!(verify("cl\u{e9} du grenier \u{212b}ngstr\u{f6}m "), Verification::Mismatch);
}

#[test]
fn the_end_of_a_long_password_counts() {
    let hasher = PasswordHasher::new(cheap());
    let long = format!("{GOOD}, {}", "and a long story ".repeat(50));
    let stored = hasher.hash(&accept(&long).expect("a good password")).expect("a hash");
    let other = Password::new(&format!("{long}.")).expect("a password");
    assert_eq!(hasher.verify(Some(&stored), &other).expect("an answer"), Verification::Mismatch);
}

#[test]
fn the_default_parameters_are_those_that_owasp_recommends_and_stand_in_the_hash() {
    let hasher = PasswordHasher::new(HashParameters::default());
    let first = hasher.hash(&good()).expect("a hash");
    assert!(first.reveal().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", first.reveal());
    assert_eq!(first.parameters(), HashParameters::default());

    let second = hasher.hash(&good()).expect("a hash");
    assert_ne!(first.reveal(), second.reveal(), "each hash has its own salt");
}

#[test]
fn a_hash_of_another_implementation_is_verified() {
    // RFC 9106 has no text form; this hash was made by the reference implementation through argon2-cffi.
    let text = "$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$ZUbr5eKTz8nTNak7MPziWpDm6q790GpYZ71xAacLeAk";
    let stored = StoredPassword::parse(text).expect("a PHC string");
    let hasher = PasswordHasher::new(HashParameters::new(64, 2, 1).expect("allowed parameters"));
    let tried = Password::new(GOOD).expect("a password");
    assert_eq!(hasher.verify(Some(&stored), &tried).expect("an answer"), Verification::Match);
}

#[test]
fn a_hash_with_other_parameters_is_renewed_by_the_right_password_alone() {
    let old = PasswordHasher::new(cheap()).hash(&good()).expect("a hash");
    let today = PasswordHasher::new(HashParameters::new(16, 2, 1).expect("allowed parameters"));
    let (right, wrong) =
        (Password::new(GOOD).expect("a password"), Password::new("something else").expect("a password"));

    assert_eq!(today.verify(Some(&old), &wrong).expect("an answer"), Verification::Mismatch);
    let Verification::Renewed(new) = today.verify(Some(&old), &right).expect("an answer") else {
        panic!("the hash was not renewed");
    };
    assert_eq!(new.parameters(), HashParameters::new(16, 2, 1).expect("allowed parameters"));
    assert_eq!(today.verify(Some(&new), &right).expect("an answer"), Verification::Match);
    assert_eq!(today.verify(Some(&new), &wrong).expect("an answer"), Verification::Mismatch);
}

#[test]
fn no_password_opens_an_account_without_a_hash() {
    let hasher = PasswordHasher::new(cheap());
    for text in ["", GOOD, "password"] {
        let tried = Password::new(text).expect("a password");
        assert_eq!(hasher.verify(None, &tried).expect("an answer"), Verification::Mismatch);
    }
}

#[test]
fn a_stored_hash_survives_being_stored_and_what_is_none_is_an_error() {
    let hasher = PasswordHasher::new(cheap());
    let text = hasher.hash(&good()).expect("a hash").reveal();
    let read = StoredPassword::parse(&text).expect("a PHC string");
    assert_eq!(
        hasher.verify(Some(&read), &Password::new(GOOD).expect("a password")).expect("an answer"),
        Verification::Match
    );

    let hash = "bm9uc2Vuc2Vub25zZW5zZW5vbnNlbnNlbm9uc2Vuc2U";
    for broken in [
        String::new(),
        "plain text".to_owned(),
        "$2b$12$abcdefghijklmnopqrstuu5W3dCbVZzJ4r0Z3Q1dT8rj5nF3m0e6K".to_owned(),
        format!("$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA${hash}"),
        format!("$argon2id$v=16$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA${hash}"),
        format!("$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHRzb21lc2FsdA${hash}"),
        format!("$argon2id$v=19$m=8,t=4294967295,p=1$c29tZXNhbHRzb21lc2FsdA${hash}"),
        format!("$argon2id$v=19$m=8,t=1,p=0$c29tZXNhbHRzb21lc2FsdA${hash}"),
        "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA".to_owned(),
        "$argon2id$v=19$m=8,t=1,p=1".to_owned(),
        format!("{text}{}", "A".repeat(1000)),
    ] {
        let error = StoredPassword::parse(&broken).expect_err(&broken);
        assert!(matches!(error, CredentialError::StoredPassword { .. }), "{broken}: {error}");
    }
}

#[test]
fn parameters_are_bounded() {
    assert!(HashParameters::new(HashParameters::MOST_MEMORY_KIB, 64, 16).is_ok());
    for (memory, passes, lanes) in [
        (7, 1, 1),
        (15, 1, 2),
        (HashParameters::MOST_MEMORY_KIB + 1, 1, 1),
        (8, 0, 1),
        (8, 65, 1),
        (8, 1, 0),
        (256, 1, 17),
    ] {
        let error = HashParameters::new(memory, passes, lanes).expect_err("outside of the bounds");
        assert!(matches!(error, CredentialError::Parameters { .. }), "{error}");
    }
}

proptest! {
    // Few and short: each is compared with 100,000 words.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_gets_an_answer(text in "\\PC{0,40}|[4@8({\\[<369&#!1/|0$5+7%2a-e]{0,40}|[ab12]{0,80}|.*") {
        if let Ok(password) = Password::new(&text) {
            let _ = password.accept(PasswordUse::Alone, &context());
        }
    }

    #[test]
    fn whatever_is_stored_gets_an_answer(text in "(\\$[a-z0-9=,+/.-]{0,40}){0,6}|.*") {
        let _ = StoredPassword::parse(&text);
    }

    #[test]
    fn only_the_same_password_matches(one in "[a-c]{1,3}", two in "[a-c]{1,3}") {
        // Short ones cannot be accepted, so both get the same long beginning.
        let (one, two) = (format!("{GOOD} {one}"), format!("{GOOD} {two}"));
        let hasher = PasswordHasher::new(cheap());
        let stored = hasher.hash(&accept(&one).expect("a good password")).expect("a hash");
        let verification = hasher.verify(Some(&stored), &Password::new(&two).expect("a password")).expect("an answer");
        prop_assert_eq!(verification == Verification::Match, one == two);
    }
}
