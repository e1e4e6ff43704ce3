//! ANVL as EZID reads and writes it: lines `NAME: VALUE` in UTF-8, in which some characters are escaped.

use std::collections::BTreeMap;

/// Writes one line. In the name `%`, LF, CR and `:` are escaped, in the value `%`, LF and CR.
pub(super) fn write_line(text: &mut String, name: &str, value: &str) {
    escape(text, name, true);
    text.push_str(": ");
    escape(text, value, false);
    text.push('\n');
}

fn escape(text: &mut String, raw: &str, is_name: bool) {
    for character in raw.chars() {
        match character {
            '%' => text.push_str("%25"),
            '\n' => text.push_str("%0A"),
            '\r' => text.push_str("%0D"),
            ':' if is_name => text.push_str("%3A"),
            _ => text.push(character),
        }
    }
}

/// Reads lines; nothing where one of them is malformed, or a name occurs twice. A line that begins with white space continues the value
/// before it; lines that begin with `#` are comments. Names and values have no white space at their ends.
pub(super) fn read(text: &str) -> Option<BTreeMap<String, String>> {
    let mut elements: BTreeMap<String, String> = BTreeMap::new();
    let mut last = None;
    for line in text.split(['\n', '\r']) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let value = elements.get_mut(last.as_ref()?)?;
            let more = unescaped(line)?;
            if !value.is_empty() && !more.trim().is_empty() {
                value.push(' ');
            }
            value.push_str(more.trim());
            continue;
        }
        let (name, value) = line.split_once(':')?;
        let (name, value) = (unescaped(name)?.trim().to_owned(), unescaped(value)?.trim().to_owned());
        if name.is_empty() || elements.insert(name.clone(), value).is_some() {
            return None;
        }
        last = Some(name);
    }
    Some(elements)
}

/// A text without escapes: two hexadecimal digits are the number of a character, as in EZID.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut unescaped = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        unescaped.push(char::from(u8::from_str_radix(digits, 16).ok()?));
        unescaped.push_str(rest);
    }
    Some(unescaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_these_characters_are_escaped() {
        let mut line = String::new();
        write_line(&mut line, "a:b%c\nd\re é", "f:g%h\ni\rj — 文");
        assert_eq!(line, "a%3Ab%25c%0Ad%0De é: f:g%25h%0Ai%0Dj — 文\n");
    }

    #[test]
    fn lines_that_continue_comments_and_every_line_end_are_read() {
        let elements = read("# x\r\na: b\r\n  c\n\nd:\n\te%0a%C3\rf%3Ag :h%3ai\n").unwrap();
        let expected = [("a", "b c"), ("d", "e\n\u{c3}"), ("f:g", "h:i")];
        assert_eq!(elements, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        for malformed in ["a", ": b", "a: b\na: c", "  a: b", "a: %", "a: %4", "a: %+1", "a: %é1", "a: %1é"] {
            assert_eq!(read(malformed), None, "{malformed}");
        }
    }
}
