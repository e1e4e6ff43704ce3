//! How wide texts are on a terminal, and how they are cut to a width. Widths are columns of the terminal (Unicode Standard
//! Annex 11): an ideograph takes two, a combining mark none.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Stands for what was cut.
const ELLIPSIS: char = '…';

/// What is kept of a text that is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Its beginning: sentences.
    Beginning,
    /// Its end: paths, whose last part is the name of the file.
    End,
    /// Both: identifiers.
    Ends,
}

/// Columns that a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// A text of at most `width` columns.
pub(super) fn cut(text: &str, width: usize, keep: Keep) -> String {
    match keep {
        Keep::Beginning => beginning_of(text, width),
        Keep::End => end_of(text, width),
        Keep::Ends => ends_of(text, width),
    }
}

/// The beginning of a text that is wider than `width`.
pub(crate) fn beginning_of(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let Some(rest) = width.checked_sub(1) else { return String::new() };
    let mut short = head(text, rest);
    short.push(ELLIPSIS);
    short
}

/// The end of a text that is wider than `width`: of a path, the name of the file.
fn end_of(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let Some(rest) = width.checked_sub(1) else { return String::new() };
    format!("{ELLIPSIS}{}", tail(text, rest))
}

/// Beginning and end of a text that is wider than `width`.
fn ends_of(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let Some(rest) = width.checked_sub(1) else { return String::new() };
    let end = tail(text, rest / 2);
    let beginning = head(text, rest - width_of(&end));
    format!("{beginning}{ELLIPSIS}{end}")
}

/// As many characters from the beginning as fit.
fn head(text: &str, width: usize) -> String {
    let (mut taken, mut used) = (String::new(), 0);
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        taken.push(character);
    }
    // Some sequences are wider than their characters one by one.
    while width_of(&taken) > width {
        taken.pop();
    }
    taken
}

/// As many characters from the end as fit. It does not begin with a mark that belongs to a character before it.
fn tail(text: &str, width: usize) -> String {
    let mut used = 0;
    let mut begin = text.len();
    for (index, character) in text.char_indices().rev() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        begin = index;
    }
    let mut taken = text.get(begin..).unwrap_or_default();
    loop {
        let mut characters = taken.chars();
        let Some(first) = characters.next() else { return String::new() };
        if first.width().unwrap_or(0) > 0 && width_of(taken) <= width {
            return taken.to_owned();
        }
        taken = characters.as_str();
    }
}

/// A text in lines of at most `width` columns, broken between words where they fit; one empty line of an empty text.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        let mut word = word.to_owned();
        if !line.is_empty() && width_of(&line) + 1 + width_of(&word) <= width {
            line.push(' ');
            line.push_str(&word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while width_of(&word) > width {
            let part = head(&word, width);
            if part.is_empty() {
                // Not one character fits.
                word = beginning_of(&word, width);
                break;
            }
            word = word.split_off(part.len());
            lines.push(part);
        }
        line = word;
    }
    lines.push(line);
    lines
}

/// A text with blanks up to a width: before it where it is a number.
pub(super) fn padded(text: &str, width: usize, is_number: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(width_of(text)));
    if is_number { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_it_says_least() {
        assert_eq!(cut("data/a.txt", 10, Keep::End), "data/a.txt");
        assert_eq!(cut("data/é/a.txt", 10, Keep::End), "…a/é/a.txt");
        assert_eq!(cut("a sentence", 6, Keep::Beginning), "a sen…");
        assert_eq!(cut("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", 13, Keep::Ends), "0190a1…3f4a5b");
        for keep in [Keep::Beginning, Keep::End, Keep::Ends] {
            assert_eq!((cut("ab", 1, keep).as_str(), cut("ab", 0, keep).as_str()), ("…", ""));
        }
    }

    #[test]
    fn what_is_cut_is_never_wider_than_asked() {
        let texts = [
            "図書館の資料保存に関する報告書.pdf",
            "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
            "👩‍👩‍👧‍👦 family 👩‍👩‍👧‍👦.jpg",
            "☁️☁️☁️☁️",
            "תיקייה/קובץ ארוך מאוד.txt",
            "لا إله لا إله",
            "\u{301}\u{301}abc",
        ];
        for text in texts {
            for width in 0..=width_of(text) + 1 {
                for keep in [Keep::Beginning, Keep::End, Keep::Ends] {
                    let short = cut(text, width, keep);
                    assert!(width_of(&short) <= width, "{text:?} {width} {keep:?} {short:?}");
                }
            }
        }
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a longestword b", 4), ["a", "long", "estw", "ord", "b"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("図書館", 1), ["…"]);
        assert_eq!(wrapped("図書館", 5), ["図書", "館"]);
    }

    #[test]
    fn a_number_stands_on_the_right() {
        assert_eq!((padded("7", 3, true).as_str(), padded("資", 3, false).as_str()), ("  7", "資 "));
    }
}
