//! ARKs that are read, compared and refused.

use std::collections::HashSet;

use proptest::prelude::*;
use strongroom_ark::{Ark, ArkError, Naan, is_check_valid};

fn ark(text: &str) -> Ark {
    text.parse().unwrap()
}

#[test]
fn both_labels_in_any_case_are_read_and_shown_with_a_slash() {
    for text in ["ark:/13030/m5abc", "ark:13030/m5abc", "ARK:/13030/m5abc", "Ark:13030/m5abc"] {
        let ark = ark(text);
        assert_eq!((ark.to_string().as_str(), ark.naan().as_str(), ark.name()), ("ark:/13030/m5abc", "13030", "m5abc"));
        assert_eq!(ark.normal(), "ark:/13030/m5abc");
    }
}

#[test]
fn what_was_given_is_kept_and_the_normal_form_is_compared() {
    for (given, normal) in [
        ("ark:/13030/m5-ab-c", "ark:/13030/m5abc"),
        ("ark:/13030/m5\u{2010}ab\u{2014}c", "ark:/13030/m5abc"),
        ("ark:/B5060/M5aBc", "ark:/b5060/M5aBc"),
        ("ark:/13030/a%c3%A9b", "ark:/13030/a%C3%A9b"),
        ("ark:/13030/m5abc/", "ark:/13030/m5abc"),
        ("ark:/13030/m5abc//p./x..tif", "ark:/13030/m5abc/p.x.tif"),
        ("ark:/13030//m5abc", "ark:/13030/m5abc"),
        ("ark:/13030/m5abc/-/", "ark:/13030/m5abc"),
        ("ark:/13030/a/../../b", "ark:/13030/a/b"),
        ("ark:/13030/a~b=c*d+e@f_g$h", "ark:/13030/a~b=c*d+e@f_g$h"),
    ] {
        assert_eq!(ark(given).normal(), normal, "{given}");
        assert_eq!(ark(given), ark(normal), "{given}");
        assert_eq!(HashSet::from([ark(given), ark(normal)]).len(), 1, "{given}");
    }
    assert_eq!(ark("ark:/13030/m5\u{2010}ab-c").as_str(), "ark:/13030/m5-ab-c");
    assert_eq!(ark("ark:/B5060/x").as_str(), "ark:/b5060/x");
    assert_ne!(ark("ark:/13030/m5ABC"), ark("ark:/13030/m5abc"));
}

#[test]
fn what_is_no_ark_is_refused_with_the_reason() {
    for (given, reason) in [
        ("", "\"\" is not an ARK: it does not begin with \"ark:\""),
        ("doi:10.5072/FK2", "\"doi:10.5072/FK2\" is not an ARK: it does not begin with \"ark:\""),
        ("https://n2t.net/ark:/1/a", "\"https://n2t.net/ark:/1/a\" is not an ARK: it does not begin with \"ark:\""),
        ("\u{e9}\u{e9}", "\"éé\" is not an ARK: it does not begin with \"ark:\""),
        ("ark:/13030", "\"ark:/13030\" is not an ARK: there is no name after the NAAN"),
        ("ark:/13030/", "\"ark:/13030/\" is not an ARK: there is no name after the NAAN"),
        ("ark:/13030/-./-", "\"ark:/13030/-./-\" is not an ARK: there is no name after the NAAN"),
        ("ark:/13030/a b", "\"ark:/13030/a b\" is not an ARK: \" \" is not allowed in its name"),
        ("ark:/13030/a\nb", "\"ark:/13030/a\\u{a}b\" is not an ARK: \"\\u{a}\" is not allowed in its name"),
        ("ark:/13030/a?info", "\"ark:/13030/a?info\" is not an ARK: \"?\" is not allowed in its name"),
        ("ark:/13030/é", "\"ark:/13030/é\" is not an ARK: \"é\" is not allowed in its name"),
        (
            "ark:/13030/a%2",
            "\"ark:/13030/a%2\" is not an ARK: a \"%\" in its name is not followed by two hexadecimal digits",
        ),
        ("ark:/130a0/x", "\"130a0\" is not a NAAN: a NAAN is 1 to 16 digits or consonants other than \"l\" and \"y\""),
    ] {
        let error = given.parse::<Ark>().expect_err(given);
        assert_eq!(error.to_string(), reason, "{given}");
    }
    assert!(matches!("ark://x".parse::<Ark>(), Err(ArkError::Naan { .. })));
    assert!(matches!("ark:/12345678901234567/x".parse::<Ark>(), Err(ArkError::Naan { .. })));
}

#[test]
fn the_length_of_an_ark_is_bounded_and_so_is_what_an_error_shows() {
    let longest = format!("ark:/13030/{}", "x".repeat(Ark::LONGEST - 11));
    assert_eq!(ark(&longest).as_str(), longest);
    let error = format!("{longest}x").parse::<Ark>().unwrap_err();
    assert!(matches!(error, ArkError::TooLong { length: 256, .. }));
    // What is shown has a slash more, and is read again.
    let short = longest.replace("ark:/", "ark:");
    assert_eq!(ark(&short).as_str(), longest);
    assert!(matches!(format!("{short}x").parse::<Ark>(), Err(ArkError::TooLong { length: 256, .. })));
    assert!(error.to_string().len() < 220, "{error}");
    assert!(matches!(Ark::new(&Naan::new("13030").unwrap(), &"x".repeat(300)), Err(ArkError::TooLong { .. })));
}

#[test]
fn the_check_character_covers_the_name_without_hyphens_and_qualifiers() {
    for valid in
        ["ark:/13030/xf93gt2q", "ark:/13030/xf-93-gt2q", "ark:13030/xf93gt2q/page.1", "ark:/13030/xf93gt2q.pdf"]
    {
        assert!(is_check_valid(&ark(valid)), "{valid}");
    }
    for wrong in ["ark:/13030/xf93gt2r", "ark:/13030/fx93gt2q", "ark:/13031/xf93gt2q", "ark:/13030/XF93GT2Q"] {
        assert!(!is_check_valid(&ark(wrong)), "{wrong}");
    }
}

#[test]
fn an_ark_is_a_string_in_json() {
    let ark = ark("ark:13030/m5-abc");
    assert_eq!(serde_json::to_string(&ark).unwrap(), "\"ark:/13030/m5-abc\"");
    assert_eq!(serde_json::from_str::<Ark>("\"ark:13030/m5abc\"").unwrap(), ark);
    let error = serde_json::from_str::<Ark>("\"m5abc\"").unwrap_err();
    assert!(error.to_string().starts_with("\"m5abc\" is not an ARK"), "{error}");
}

proptest! {
    #[test]
    fn the_normal_form_is_its_own_normal_form_and_equal(text in "(ark|ARK):/?[0-9b-d]{1,6}/[-a-zA-Z0-9/.~=*+@_$]{1,30}") {
        if let Ok(ark) = text.parse::<Ark>() {
            let again: Ark = ark.normal().parse().unwrap();
            prop_assert_eq!(again.normal(), ark.normal());
            prop_assert_eq!(again.as_str(), ark.normal());
            prop_assert_eq!(&again, &ark);
            let shown: Ark = ark.as_str().parse().unwrap();
            prop_assert_eq!(shown.as_str(), ark.as_str());
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), name in any::<String>()) {
        let _ = text.parse::<Ark>();
        let _ = format!("ark:/13030/{name}").parse::<Ark>();
        let _ = format!("ark:{text}/{name}").parse::<Ark>();
    }
}
