//! Text that XML can carry: a reversible escape for the characters that XML 1.0 forbids, and the markup escape.
//!
//! XML 1.0 (section 2.2, `Char`) has no way to write most control characters, U+FFFE and U+FFFF, not even as character
//! references. File names hold them all the same. Such a character is written `\u{HEX}`, with its code point in lower-case
//! hexadecimal; so that nothing is ambiguous, a backslash that stands before `u{` in the text itself is written `\u{5c}`.
//! Every other text stays as it is. [`decode`] undoes it.

use std::borrow::Cow;

/// Whether XML 1.0 allows the character in a document (section 2.2, production `Char`).
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

/// Writes characters that XML 1.0 forbids as `\u{HEX}`; a text without them, and without `\u{`, comes back unchanged.
pub fn encode(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_allowed) && !text.contains("\\u{") {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 16);
    for (position, character) in text.char_indices() {
        let opens_escape = character == '\\' && text.get(position..).is_some_and(|rest| rest.starts_with("\\u{"));
        if is_allowed(character) && !opens_escape {
            encoded.push(character);
        } else {
            encoded.extend(character.escape_unicode());
        }
    }
    Cow::Owned(encoded)
}

/// Undoes [`encode`]. What is no escape stays as it is.
pub fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u{") {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u{") {
        decoded.push_str(before);
        let escaped = after.split_once('}').and_then(|(digits, tail)| {
            let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
            Some((char::from_u32(code)?, tail))
        });
        if let Some((character, tail)) = escaped {
            decoded.push(character);
            rest = tail;
        } else {
            decoded.push_str("\\u{");
            rest = after;
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// [`encode`]d text with markup escaped. A carriage return becomes a reference: parsers turn a bare one into a line feed
/// (XML 1.0 section 2.11).
pub(crate) fn markup(text: &str) -> Cow<'_, str> {
    let encoded = encode(text);
    if !encoded.contains(['&', '<', '>', '\r']) {
        return encoded;
    }
    let mut escaped = String::with_capacity(encoded.len() + 16);
    for character in encoded.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#13;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["data/Übersicht 2.pdf", "C:\\users\\new", "a\tb\nc", "50%20.txt", "\u{1f5c4}"] {
            assert!(matches!(encode(name), Cow::Borrowed(same) if same == name));
        }
    }

    #[test]
    fn forbidden_characters_become_code_points() {
        assert_eq!(encode("bell\u{7}.txt"), "bell\\u{7}.txt");
        assert_eq!(encode("\u{0}\u{fffe}\u{ffff}"), "\\u{0}\\u{fffe}\\u{ffff}");
    }

    #[test]
    fn a_name_that_looks_escaped_is_told_from_one_that_is() {
        let looks = encode("bell\\u{7}.txt").into_owned();
        assert_eq!(looks, "bell\\u{5c}u{7}.txt");
        assert_eq!(decode(&looks), "bell\\u{7}.txt");
    }

    #[test]
    fn text_that_is_no_escape_is_left_alone() {
        for text in ["\\u{", "\\u{}", "\\u{zz}", "\\u{+7}", "\\u{110000}", "\\u{d800}"] {
            assert_eq!(decode(text), text);
        }
    }

    #[test]
    fn a_carriage_return_survives_as_a_reference() {
        assert_eq!(markup("a\r\n<&>"), "a&#13;\n&lt;&amp;&gt;");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in any::<String>()) {
            let encoded = encode(&text);
            prop_assert!(encoded.chars().all(is_allowed));
            prop_assert_eq!(decode(&encoded), text.as_str());
        }

        #[test]
        fn texts_made_of_escape_parts_come_back(parts in proptest::collection::vec(
            prop_oneof![Just("\\"), Just("u{"), Just("5c}"), Just("\u{1}"), Just("}"), Just("\\u{5c}")], 0..12,
        )) {
            let text = parts.concat();
            let encoded = encode(&text);
            prop_assert_eq!(decode(&encoded), text.as_str());
        }
    }
}
