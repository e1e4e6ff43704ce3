//! Names that a profile may forbid: control characters, as themselves or as escaped text.

/// Whether a name holds what APTrust refuses: U+0000 to U+001F, U+007F to U+009F, the no-break space U+00A0, or the text
/// `\u00XX` of one of them (APTrust preservation-services, `util` test vectors).
pub(crate) fn has_control_character(name: &str) -> bool {
    name.chars().any(|character| is_forbidden(u32::from(character)))
        || name.match_indices('\\').any(|(at, _)| is_escape(&name[at..]))
}

fn is_forbidden(code_point: u32) -> bool {
    matches!(code_point, 0..=0x1f | 0x7f..=0xa0)
}

fn is_escape(text: &str) -> bool {
    let Some(digits) = text.strip_prefix("\\u").or_else(|| text.strip_prefix("\\U")).and_then(|rest| rest.get(..4))
    else {
        return false;
    };
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()) && u32::from_str_radix(digits, 16).is_ok_and(is_forbidden)
}

#[cfg(test)]
mod tests {
    use super::has_control_character;

    #[test]
    fn control_characters_and_their_escaped_text_are_found() {
        for code_point in (0..=0x1f).chain(0x7f..=0xa0) {
            let character = char::from_u32(code_point).unwrap();
            assert!(has_control_character(&format!("data/{character}x")), "{code_point:x}");
            assert!(has_control_character(&format!("data/\\u{code_point:04x}.txt")), "{code_point:x}");
            assert!(has_control_character(&format!("data/\\U{code_point:04X}.txt")), "{code_point:x}");
        }
    }

    #[test]
    fn ordinary_names_and_other_escapes_are_not() {
        for name in [
            "./this/is/a/valid/name.txt",
            "data/\u{202f}\u{2028}",
            "data/\\u0041",
            "data/\\u00",
            "\\",
            "u0000",
            "é",
            "\\ué000",
        ] {
            assert!(!has_control_character(name), "{name}");
        }
    }
}
