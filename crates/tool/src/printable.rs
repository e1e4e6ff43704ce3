//! Text of programs made safe to log, to store and to show.

/// Most characters of a message.
pub(crate) const MESSAGE_CHARACTERS: usize = 500;

/// One line of printable characters, cut at a length. Characters that move the cursor, change the direction of text or are invisible
/// are replaced.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut characters = text.trim().chars().map(|character| match character {
        '\t' | '\n' | '\r' => ' ',
        _ if is_hidden(character) => char::REPLACEMENT_CHARACTER,
        _ => character,
    });
    let mut line: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// The first line of bytes that has more than white space.
pub(crate) fn first_line(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    // Four bytes to a character at most, so no character that is shown is lost.
    let line = line.get(..4 * MESSAGE_CHARACTERS + 4).unwrap_or(line);
    Some(self::line(&String::from_utf8_lossy(line), MESSAGE_CHARACTERS))
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_a_terminal_is_replaced() {
        assert_eq!(line("a\u{1b}[31mb\u{202e}c\nd ", 100), "a\u{fffd}[31mb\u{fffd}c d");
    }

    #[test]
    fn a_long_text_is_cut_with_a_mark() {
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(line("abcd", 4), "abcd");
    }

    #[test]
    fn the_first_line_is_the_first_that_says_something() {
        assert_eq!(first_line(b"\n  \n one \ntwo"), Some("one".to_owned()));
        assert_eq!(first_line(b" \n\n"), None);
        assert_eq!(first_line(b"\xff\xfea"), Some("\u{fffd}\u{fffd}a".to_owned()));
    }
}
