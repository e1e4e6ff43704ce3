//! Every construct of the syntax, every error with its place, and random patterns against their model.

use proptest::prelude::*;

use super::{Element, Parser, SyntaxFault, parse_pattern};
use crate::pattern::{ByteClass, ByteSet, Gap, Piece};

fn elements(pattern: &str) -> Result<Vec<Element>, SyntaxFault> {
    let characters: Vec<char> = pattern.chars().collect();
    Parser { characters: &characters, at: 0 }.pattern()
}

fn is(bytes: &[u8]) -> Vec<Element> {
    bytes.iter().map(|byte| Element::Byte(ByteClass::Is(*byte))).collect()
}

fn piece(bytes: &[u8]) -> Piece {
    Piece(bytes.iter().map(|byte| ByteClass::Is(*byte)).collect())
}

/// A class as the parser gives it: the simplest that says the same.
fn class(accepts: impl Fn(u8) -> bool) -> ByteClass {
    let bytes: Vec<u8> = (0..=u8::MAX).filter(|byte| accepts(*byte)).collect();
    match bytes.as_slice() {
        [only] => ByteClass::Is(*only),
        all if all.len() == 256 => ByteClass::Any,
        some => {
            let mut set = ByteSet::default();
            for byte in some {
                set.insert(*byte);
            }
            ByteClass::In(set)
        }
    }
}

#[test]
fn every_construct_is_read() {
    let vowels = |byte: u8| byte.is_ascii_uppercase() || b"aeiou".contains(&byte);
    let one = |class: ByteClass| vec![Element::Byte(class)];
    let cases: Vec<(&str, Vec<Element>)> = vec![
        ("00FF", is(&[0, 0xFF])),
        ("ff Fe\tA1\r\n00", is(&[0xFF, 0xFE, 0xA1, 0])),
        ("'version:4'", is(b"version:4")),
        ("30 '0'", is(b"00")),
        ("'\u{e9}\u{ff}'", is(&[0xE9, 0xFF])),
        ("'a b'", is(b"a b")),
        ("??", one(ByteClass::Any)),
        ("[30:39]", one(class(|byte| byte.is_ascii_digit()))),
        ("[30-39]", one(class(|byte| byte.is_ascii_digit()))),
        ("['0'-'9']", one(class(|byte| byte.is_ascii_digit()))),
        ("[ '0' : 39 ]", one(class(|byte| byte.is_ascii_digit()))),
        ("[!61:7a]", one(class(|byte| !byte.is_ascii_lowercase()))),
        ("[!'a'-'z']", one(class(|byte| !byte.is_ascii_lowercase()))),
        ("[!00]", one(class(|byte| byte != 0))),
        ("[&01]", one(class(|byte| byte & 1 == 1))),
        ("[!&01]", one(class(|byte| byte & 1 == 0))),
        ("[&88]", one(class(|byte| byte & 0x88 == 0x88))),
        ("[00 C2 DE]", one(class(|byte| [0, 0xC2, 0xDE].contains(&byte)))),
        ("[00C2DE]", one(class(|byte| [0, 0xC2, 0xDE].contains(&byte)))),
        ("[!00 C2 DE]", one(class(|byte| ![0, 0xC2, 0xDE].contains(&byte)))),
        ("['A'-'Z' 'aeiou']", one(class(vowels))),
        ("[00 'A'-'Z' 'aeiou' &81]", one(class(|byte| byte == 0 || vowels(byte) || byte & 0x81 == 0x81))),
        ("[41]", one(ByteClass::Is(0x41))),
        ("[00:FF]", one(ByteClass::Any)),
        ("[41:41]", one(ByteClass::Is(0x41))),
        ("*", vec![Element::Gap(Gap::at_least(0))]),
        ("{128}", vec![Element::Gap(Gap::exactly(128))]),
        ("{128-256}", vec![Element::Gap(Gap { min: 128, max: Some(256) })]),
        ("{ 128 - * }", vec![Element::Gap(Gap::at_least(128))]),
        ("{1099511627776}", vec![Element::Gap(Gap::exactly(1 << 40))]),
        ("(00|F0|3C)", vec![Element::Alternatives(vec![piece(&[0]), piece(&[0xF0]), piece(&[0x3C])])]),
        ("(00 01 | B0 B1 B2)", vec![Element::Alternatives(vec![piece(&[0, 1]), piece(&[0xB0, 0xB1, 0xB2])])]),
        ("('end')", vec![Element::Alternatives(vec![piece(b"end")])]),
        (
            "( 'end' | 01 ?? [30:39])",
            vec![Element::Alternatives(vec![
                piece(b"end"),
                Piece(vec![ByteClass::Is(1), ByteClass::Any, class(|byte| byte.is_ascii_digit())]),
            ])],
        ),
    ];
    for (pattern, expected) in cases {
        assert_eq!(elements(pattern), Ok(expected), "{pattern}");
    }
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let cases = [
        ("0", 1, "two hex digits"),
        ("00 1", 4, "two hex digits"),
        ("0 0", 1, "two hex digits"),
        ("00 XY", 3, "unexpected 'X'"),
        ("\u{ff11}\u{ff11}", 0, "unexpected"),
        ("?", 1, "two question marks"),
        ("00 ?41", 4, "two question marks"),
        ("00]", 2, "nothing is open"),
        ("00)", 2, "nothing is open"),
        ("00}", 2, "nothing is open"),
        ("00|01", 2, "written in parentheses"),
        ("00'abc", 2, "not closed"),
        ("00''", 2, "the string is empty"),
        ("'ab\u{20ac}'", 3, "latin-1"),
        ("00[41", 2, "not closed"),
        ("00[", 2, "not closed"),
        ("[]", 0, "the set is empty"),
        ("00[ ! ]", 2, "the set is empty"),
        ("[!00:FF]", 0, "no byte is in the set"),
        ("[41:]", 4, "nothing is open"),
        ("[41:", 4, "a byte is expected"),
        ("[39:30]", 1, "backwards, from 39 to 30"),
        ("['ab'-'c']", 1, "single bytes"),
        ("['a'-'bc']", 5, "single bytes"),
        ("[&]", 2, "nothing is open"),
        ("[(00|01)]", 1, "unexpected '('"),
        ("00(01|02", 2, "not closed"),
        ("(|00)", 1, "empty"),
        ("(00|)", 4, "empty"),
        ("()", 1, "empty"),
        ("(00|(01|02))", 4, "nested"),
        ("(00|{4})", 4, "hold a gap"),
        ("(00 * 01)", 4, "hold a gap"),
        ("00{}01", 3, "number of bytes"),
        ("00{-5}01", 3, "number of bytes"),
        ("00{5-3}01", 5, "before it begins at 5"),
        ("00{5", 2, "not closed"),
        ("00{5-", 2, "not closed"),
        ("00{5-*", 2, "not closed"),
        ("00{5 6}01", 5, "unexpected '6'"),
        ("00{*}01", 3, "number of bytes"),
        ("00{1099511627777}01", 3, "larger than 1099511627776"),
        ("00{0-99999999999999999999999}01", 5, "larger than 1099511627776"),
        ("", 0, "no byte to search for"),
        (" ?? * {4} [00:FF]", 0, "no byte to search for"),
    ];
    for (pattern, place, part) in cases {
        let error = parse_pattern("17", pattern).expect_err(pattern);
        let crate::PronomError::Pattern { signature, position, reason, .. } = error else {
            panic!("{pattern}: {error}");
        };
        assert_eq!((signature.as_str(), position), ("17", place), "{pattern}: {reason}");
        assert!(reason.contains(part), "{pattern}: {reason}");
    }
}

#[test]
fn an_error_shows_the_beginning_of_a_long_pattern() {
    let error = parse_pattern("17", &format!("{}X", "00".repeat(5_000))).expect_err("the X is wrong").to_string();
    assert!(error.len() < 300 && error.ends_with("at character 10000"), "{error}");
}

/// Some elements with a text that stands for them.
type Written = (Vec<Element>, String);

fn byte() -> impl Strategy<Value = (u8, String)> {
    (any::<u8>(), 0..3).prop_map(|(byte, style)| match style {
        0 if byte != b'\'' => (byte, format!("'{}'", char::from(byte))),
        1 => (byte, format!("{byte:02x}")),
        _ => (byte, format!("{byte:02X}")),
    })
}

fn set() -> impl Strategy<Value = (ByteClass, String)> {
    let member = prop_oneof![
        byte().prop_map(|(byte, text)| (vec![byte], text)),
        (byte(), byte(), prop_oneof![Just(":"), Just("-")]).prop_map(|(one, other, separator)| {
            let (first, last) = if one.0 <= other.0 { (one, other) } else { (other, one) };
            ((first.0..=last.0).collect(), format!("{}{separator}{}", first.1, last.1))
        }),
        any::<u8>().prop_map(|mask| {
            ((0..=u8::MAX).filter(|byte| byte & mask == mask).collect::<Vec<u8>>(), format!("&{mask:02x}"))
        }),
        "[ -&(-~]{2,5}".prop_map(|text| (text.as_bytes().to_vec(), format!("'{text}'"))),
    ];
    let members = prop::collection::vec(member, 1..4);
    (members, any::<bool>()).prop_filter_map("no byte is left", |(members, is_inverted)| {
        let is_in = |byte: u8| members.iter().any(|(bytes, _)| bytes.contains(&byte)) != is_inverted;
        let texts: Vec<&str> = members.iter().map(|(_, text)| text.as_str()).collect();
        let text = format!("[{}{}]", if is_inverted { "!" } else { "" }, texts.join(" "));
        (0..=u8::MAX).any(is_in).then(|| (class(is_in), text))
    })
}

fn run() -> impl Strategy<Value = (Vec<ByteClass>, String)> {
    prop_oneof![
        byte().prop_map(|(byte, text)| (vec![ByteClass::Is(byte)], text)),
        set().prop_map(|(class, text)| (vec![class], text)),
        Just((vec![ByteClass::Any], "??".to_owned())),
        "[ -&(-~]{1,8}".prop_map(|text| (text.bytes().map(ByteClass::Is).collect(), format!("'{text}'"))),
    ]
}

fn written() -> impl Strategy<Value = Written> {
    let gap = (0..1_000_u64, 0..1_000_u64, 0..4).prop_map(|(min, more, style)| match style {
        0 => (Gap::at_least(0), "*".to_owned()),
        1 => (Gap::exactly(min), format!("{{{min}}}")),
        2 => (Gap::at_least(min), format!("{{{min}-*}}")),
        _ => (Gap { min, max: Some(min + more) }, format!("{{{min}-{}}}", min + more)),
    });
    let choice = prop::collection::vec(run(), 1..3).prop_map(|runs| {
        let (classes, texts): (Vec<Vec<ByteClass>>, Vec<String>) = runs.into_iter().unzip();
        (Piece(classes.concat()), texts.join(" "))
    });
    prop_oneof![
        4 => run().prop_map(|(classes, text)| (classes.into_iter().map(Element::Byte).collect(), text)),
        1 => gap.prop_map(|(gap, text)| (vec![Element::Gap(gap)], text)),
        1 => prop::collection::vec(choice, 1..4).prop_map(|choices| {
            let (pieces, texts): (Vec<Piece>, Vec<String>) = choices.into_iter().unzip();
            (vec![Element::Alternatives(pieces)], format!("({})", texts.join("|")))
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(parts in prop::collection::vec((written(), "[ \t\r\n]{0,2}"), 0..12)) {
        let expected: Vec<Element> = parts.iter().flat_map(|((elements, _), _)| elements.clone()).collect();
        let text: String = parts.iter().flat_map(|((_, text), space)| [text.as_str(), space]).collect();
        prop_assert_eq!(elements(&text), Ok(expected), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in r"[0-9a-fxX\[\]\(\)\{\}\|'&!?*:\- é€]{0,40}") {
        match parse_pattern("17", &text) {
            Ok((links, _)) => prop_assert!(!links.is_empty()),
            Err(crate::PronomError::Pattern { position, .. }) => prop_assert!(position <= text.chars().count()),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
