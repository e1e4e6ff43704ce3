//! Globs: the one grammar of patterns for names of spaces and for paths.
//!
//! A pattern consists of segments between slashes, and matches a whole text. Within a segment `*` stands for any characters, also none,
//! but for no slash. A segment `**` stands for any number of segments, also none; a pattern has one at most. `\*` is an asterisk and `\\` a
//! backslash. Every other character stands for itself: case matters, and nothing is normalized.
//!
//! With one `**` at most, each segment of a text is compared with one segment of the pattern, and the pieces of a segment are searched in
//! their order: a match costs time in proportion to the lengths of pattern and text, whatever these are.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::LONGEST_SPACE;

/// The longest pattern in bytes.
pub const LONGEST_GLOB: usize = 1_024;

/// A pattern for names of spaces or for paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glob {
    text: String,
    /// The segments before `**`, or all of them.
    front: Vec<Segment>,
    /// The segments behind `**`, where there is one.
    back: Option<Vec<Segment>>,
}

/// A segment: what stands before, between and behind its asterisks, so one piece more than it has asterisks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Segment {
    pieces: Vec<String>,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// It is longer than [`LONGEST_GLOB`].
    #[error("it has more than {LONGEST_GLOB} bytes")]
    TooLong,
    /// It is empty, begins or ends with a slash, or has two in a row.
    #[error("it has an empty segment")]
    EmptySegment,
    /// A segment is `.` or `..`, which no name is.
    #[error("it has a segment {0:?}, which is no name")]
    Dots(String),
    /// It has a control character.
    #[error("it has a control character")]
    Control,
    /// Two asterisks in a row are not a segment of their own.
    #[error("it has ** beside other characters")]
    DoubleAsterisk,
    /// It has more than one segment `**`.
    #[error("it has ** more than once")]
    SecondDoubleAsterisk,
    /// A backslash stands before something else than an asterisk or a backslash.
    #[error("it has a backslash before something else than * or \\")]
    Backslash,
}

impl GlobError {
    /// What to do about it.
    pub fn next(&self) -> &'static str {
        match self {
            Self::TooLong => "shorten it",
            Self::EmptySegment => "write one slash between segments, and none at the ends",
            Self::Dots(_) => "write names without . and ..",
            Self::Control => "remove it",
            Self::DoubleAsterisk => "write * for characters within a segment, or ** alone between slashes",
            Self::SecondDoubleAsterisk => "write several patterns with one ** each",
            Self::Backslash => "write \\\\ for a backslash and \\* for an asterisk",
        }
    }
}

impl Glob {
    /// The pattern that matches this text and no other.
    ///
    /// # Errors
    /// The text is longer than a pattern may be, or no path.
    pub fn literal(text: &str) -> Result<Self, GlobError> {
        text.replace('\\', "\\\\").replace('*', "\\*").parse()
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let mut segments = text.split('/');
        let mut is_next = |segment: &Segment| segments.next().is_some_and(|text| segment.matches(text));
        if !self.front.iter().all(&mut is_next) {
            return false;
        }
        match &self.back {
            None => segments.next().is_none(),
            Some(back) => {
                back.iter().rev().all(|segment| segments.next_back().is_some_and(|text| segment.matches(text)))
            }
        }
    }

    /// Whether it has one segment and no `**`, as a pattern for names of spaces.
    pub fn is_name(&self) -> bool {
        self.front.len() == 1 && self.back.is_none()
    }

    /// The only text that it matches, where it has no asterisk.
    pub fn as_literal(&self) -> Option<String> {
        if self.back.is_some() {
            return None;
        }
        let segments: Option<Vec<&str>> = self
            .front
            .iter()
            .map(|segment| match segment.pieces.as_slice() {
                [only] => Some(only.as_str()),
                _ => None,
            })
            .collect();
        segments.map(|segments| segments.join("/"))
    }

    /// The least number of bytes of a text that it matches.
    pub fn shortest(&self) -> usize {
        let segments = self.segments().count();
        let pieces: usize = self.segments().flat_map(|segment| &segment.pieces).map(String::len).sum();
        pieces + segments.saturating_sub(1)
    }

    /// Whether it matches everything that another pattern matches. Both are patterns for names of spaces; for other patterns the answer is no.
    pub fn covers(&self, other: &Self) -> bool {
        let ([_], [theirs]) = (self.front.as_slice(), other.front.as_slice()) else { return false };
        if !self.is_name() || !other.is_name() {
            return false;
        }
        // A character that this pattern does not name is matched by its asterisks only: what matches where it stands for an
        // asterisk of the other pattern matches whatever that one stands for.
        let unnamed = ('\u{e000}'..='\u{f8ff}').find(|unnamed| !self.text.contains(*unnamed));
        unnamed.is_some_and(|unnamed| self.matches(&theirs.pieces.join(unnamed.encode_utf8(&mut [0; 4]))))
    }

    /// A name that it matches, and another one as well where that is given; none where it was not found. Both are patterns for names.
    pub(crate) fn example(&self, other: Option<&Self>) -> Option<String> {
        let pieces = &self.front.first()?.pieces;
        let candidates = match other {
            None => vec![pieces.join("1")],
            Some(other) => {
                let theirs = &other.front.first()?.pieces;
                // Where one covers the other, or the beginning of one and the end of the other fit.
                let (first, last) = (pieces.first()?, pieces.last()?);
                let (their_first, their_last) = (theirs.first()?, theirs.last()?);
                let longer =
                    |one: &String, other: &String| if one.len() > other.len() { one.clone() } else { other.clone() };
                let between = pieces.iter().chain(theirs).skip(1).cloned().collect::<Vec<_>>().join("1");
                vec![
                    pieces.join("1"),
                    theirs.join("1"),
                    format!("{}1{}", longer(first, their_first), longer(last, their_last)),
                    format!("{}1{between}1{}", longer(first, their_first), longer(last, their_last)),
                ]
            }
        };
        let fits = |name: &String| self.matches(name) && other.is_none_or(|other| other.matches(name));
        candidates.into_iter().find(|name| name.len() <= LONGEST_SPACE && fits(name))
    }

    /// The order from the most specific pattern to the least: those without asterisks, then by the number of characters that stand for
    /// themselves, most first, then by the number of asterisks, fewest first, then by the bytes of the text. A pattern that matches a part
    /// of what another one matches comes before it.
    pub fn specificity(&self) -> impl Ord + '_ {
        let pieces = || self.segments().flat_map(|segment| &segment.pieces);
        let characters: usize = pieces().map(|piece| piece.chars().count()).sum();
        let asterisks = pieces().count() - self.segments().count() + 2 * usize::from(self.back.is_some());
        (asterisks > 0, Reverse(characters), asterisks, self.text.as_bytes())
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.front.iter().chain(self.back.iter().flatten())
    }
}

impl Segment {
    fn matches(&self, text: &str) -> bool {
        let [first, between @ .., last] = self.pieces.as_slice() else {
            return self.pieces.first().is_some_and(|only| only == text);
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str())) else {
            return false;
        };
        for piece in between {
            // The first place leaves the most room for the pieces behind it.
            let Some((_, behind)) = rest.split_once(piece.as_str()) else { return false };
            rest = behind;
        }
        true
    }

    /// Reads a segment that is not `**`.
    fn read(text: &str) -> Result<Self, GlobError> {
        if text.is_empty() {
            return Err(GlobError::EmptySegment);
        }
        if text == "." || text == ".." {
            return Err(GlobError::Dots(text.to_owned()));
        }
        let (mut pieces, mut piece) = (Vec::new(), String::new());
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some(escaped @ ('*' | '\\')) => piece.push(escaped),
                    _ => return Err(GlobError::Backslash),
                },
                '*' if characters.peek() == Some(&'*') => return Err(GlobError::DoubleAsterisk),
                '*' => pieces.push(std::mem::take(&mut piece)),
                other if other.is_control() => return Err(GlobError::Control),
                other => piece.push(other),
            }
        }
        pieces.push(piece);
        Ok(Self { pieces })
    }
}

impl FromStr for Glob {
    type Err = GlobError;

    fn from_str(text: &str) -> Result<Self, GlobError> {
        if text.len() > LONGEST_GLOB {
            return Err(GlobError::TooLong);
        }
        let (mut front, mut back) = (Vec::new(), None);
        for segment in text.split('/') {
            match (segment, &mut back) {
                ("**", None) => back = Some(Vec::new()),
                ("**", Some(_)) => return Err(GlobError::SecondDoubleAsterisk),
                (segment, None) => front.push(Segment::read(segment)?),
                (segment, Some(back)) => back.push(Segment::read(segment)?),
            }
        }
        Ok(Self { text: text.to_owned(), front, back })
    }
}

impl TryFrom<String> for Glob {
    type Error = GlobError;

    fn try_from(text: String) -> Result<Self, GlobError> {
        text.parse()
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> Self {
        glob.text
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        text.parse().expect(text)
    }

    #[test]
    fn a_pattern_matches_whole_texts_segment_by_segment() {
        for (pattern, yes, no) in [
            ("maps", &["maps"][..], &["map", "maps2", "Maps", "maps/a", ""][..]),
            ("maps-*", &["maps-", "maps-1"], &["maps", "my-maps-1", "maps-/a"]),
            ("*", &["a", ""], &["a/b"]),
            ("*a*a", &["aa", "bacca"], &["a", "ab"]),
            ("a*a", &["aa", "aba"], &["a"]),
            ("a/*/c", &["a/b/c", "a//c"], &["a/c", "a/b/b/c"]),
            ("a/**", &["a", "a/b", "a/b/c"], &["ab", "b/a"]),
            ("**/c", &["c", "a/c", "a/b/c"], &["a/b", "ac"]),
            ("a/**/c", &["a/c", "a/b/c", "a/b/b/c"], &["a", "c", "a/b", "b/c"]),
            ("**", &["", "a", "a/b"], &[]),
            ("a\\*\\\\", &["a*\\"], &["ab\\", "a*"]),
            ("a?[b]{c}", &["a?[b]{c}"], &["ab[b]{c}"]),
        ] {
            for text in yes {
                assert!(glob(pattern).matches(text), "{pattern} {text}");
            }
            for text in no {
                assert!(!glob(pattern).matches(text), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, error) in [
            ("", GlobError::EmptySegment),
            ("/a", GlobError::EmptySegment),
            ("a/", GlobError::EmptySegment),
            ("a//b", GlobError::EmptySegment),
            ("a/..", GlobError::Dots("..".to_owned())),
            ("a\nb", GlobError::Control),
            ("a**", GlobError::DoubleAsterisk),
            ("***", GlobError::DoubleAsterisk),
            ("**/a/**", GlobError::SecondDoubleAsterisk),
            ("a\\", GlobError::Backslash),
            ("\\a", GlobError::Backslash),
            (&"a".repeat(LONGEST_GLOB + 1), GlobError::TooLong),
        ] {
            assert_eq!(text.parse::<Glob>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_told_to_cover_another_one_exactly_where_it_does() {
        for (covering, covered) in
            [("*", "a"), ("x-*", "x-*"), ("x-*", "x-a*b"), ("*a*", "a*"), ("*a*", "*aa"), ("a\\**", "a\\*b*")]
        {
            assert!(glob(covering).covers(&glob(covered)), "{covering} {covered}");
        }
        for (covering, covered) in
            [("a", "*"), ("x-*", "x*"), ("a*b", "a*"), ("a*", "*a"), ("*", "a/b"), ("a\\**", "a*")]
        {
            assert!(!glob(covering).covers(&glob(covered)), "{covering} {covered}");
        }
    }

    #[test]
    fn the_most_specific_pattern_comes_first() {
        let mut globs = ["*", "maps-*", "maps-2024", "m*", "*-2024*", "maps-*4", "*-2024"].map(glob);
        globs.sort_by(|one, other| one.specificity().cmp(&other.specificity()));
        assert_eq!(
            globs.each_ref().map(Glob::as_str),
            ["maps-2024", "maps-*4", "*-2024", "maps-*", "*-2024*", "m*", "*"]
        );
    }

    #[test]
    fn a_literal_pattern_matches_its_text_only() {
        let literal = Glob::literal("a*\\b").expect("a pattern");
        assert_eq!((literal.as_str(), literal.as_literal().as_deref()), ("a\\*\\\\b", Some("a*\\b")));
        assert!(literal.matches("a*\\b") && !literal.matches("ab\\b"));
        assert_eq!(glob("a*").as_literal(), None);
        assert_eq!((glob("ab*c").shortest(), glob("a/**/b").shortest()), (3, 3));
    }
}
