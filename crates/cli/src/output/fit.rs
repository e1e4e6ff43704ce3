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
    /// The name behind the institution, of which as much is cut as is needed: objects, `INSTITUTION/NAME`.
    Object,
    /// The object and the end of what follows: `INSTITUTION/NAME: PATH`.
    Named,
}

/// What is kept at least of an institution, and what is shown at most of it where the name is cut as well.
const INSTITUTION: (usize, usize) = (4, 8);
/// Between an object and a path within it.
const SEPARATOR: &str = ": ";
/// What is kept of a path behind its object, before more of the object is cut.
const PATH: usize = 14;

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
        Keep::Object => object_of(text, width),
        Keep::Named => named_of(text, width),
    }
}

/// Columns down to which a text can be cut while the name of its object stays whole; none for other texts.
pub(super) fn whole_name(text: &str, keep: Keep) -> Option<usize> {
    let of_object = |object: &str| {
        let (least, _) = INSTITUTION;
        let name = object.find('/').and_then(|at| object.get(at..)).map_or(0, width_of);
        width_of(object).min(least + 1 + name)
    };
    match keep {
        Keep::Object => Some(of_object(text)),
        Keep::Named => Some(match text.split_once(SEPARATOR) {
            Some((object, path)) => of_object(object) + SEPARATOR.len() + width_of(path).min(PATH),
            None => of_object(text),
        }),
        _ => None,
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

/// An object that is wider than `width`: its institution is cut, and only where that is not enough its name.
fn object_of(text: &str, width: usize) -> String {
    let Some(name) = text.find('/').and_then(|at| text.get(at..)) else { return ends_of(text, width) };
    let Some(rest) = width.checked_sub(1).filter(|_| width_of(text) > width) else { return ends_of(text, width) };
    let (least, most) = INSTITUTION;
    let beginning = match rest.checked_sub(width_of(name)) {
        Some(room) if room >= least => return format!("{}{ELLIPSIS}{name}", head(text, room)),
        _ => head(text, most.min(rest / 3)),
    };
    let end = tail(text, rest - width_of(&beginning));
    format!("{beginning}{ELLIPSIS}{end}")
}

/// An object and a path in it that are wider than `width` together.
fn named_of(text: &str, width: usize) -> String {
    let parts = text.split_once(SEPARATOR).zip(width.checked_sub(SEPARATOR.len()));
    let Some(((object, path), room)) = parts.filter(|_| width_of(text) > width) else { return object_of(text, width) };
    let path_room = width_of(path).min(room / 2);
    let object = object_of(object, room - path_room);
    let path = end_of(path, room - width_of(&object));
    format!("{object}{SEPARATOR}{path}")
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
        for keep in [Keep::Beginning, Keep::End, Keep::Ends, Keep::Object, Keep::Named] {
            assert_eq!((cut("ab", 1, keep).as_str(), cut("ab", 0, keep).as_str()), ("…", ""));
        }
    }

    #[test]
    fn of_an_object_the_institution_is_cut_first() {
        let object = "library.example.org/big";
        assert_eq!(cut(object, 23, Keep::Object), object);
        assert_eq!(cut(object, 13, Keep::Object), "library.…/big");
        assert_eq!(cut(object, 9, Keep::Object), "libr…/big");
        assert_eq!(whole_name(object, Keep::Object), Some(9));
        assert_eq!(cut("library.example.org/photographs-box-17", 16, Keep::Object), "libra…phs-box-17");
        assert_eq!(cut("library.example.org/big: data/a long/name.txt", 24, Keep::Named), "librar…/big: …g/name.txt");
        assert_eq!(cut("example.edu/a: b", 16, Keep::Named), "example.edu/a: b");
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
            "図書館.example.org/資料保存: 計画/付録一覧.txt",
            "example.edu/a: b",
        ];
        for text in texts {
            for width in 0..=width_of(text) + 1 {
                for keep in [Keep::Beginning, Keep::End, Keep::Ends, Keep::Object, Keep::Named] {
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
