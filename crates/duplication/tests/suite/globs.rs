//! Globs beside a slow matcher that follows the grammar character by character.

use proptest::prelude::*;
use strongroom_duplication::Glob;

/// Whether a text matches a pattern, by trying every length of what an asterisk stands for.
pub(crate) fn matches_slowly(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['\\', escaped, rest @ ..] => text.first() == Some(escaped) && matches_slowly(rest, &text[1..]),
        ['*', rest @ ..] => {
            let most = text.iter().position(|c| *c == '/').unwrap_or(text.len());
            (0..=most).any(|length| matches_slowly(rest, &text[length..]))
        }
        [literal, rest @ ..] => text.first() == Some(literal) && matches_slowly(rest, &text[1..]),
    }
}

/// The same for whole paths: every number of segments is tried for `**`.
fn path_matches_slowly(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), text.split('/').collect());
    segments_match_slowly(&pattern, &text)
}

fn segments_match_slowly(pattern: &[&str], text: &[&str]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=text.len()).any(|count| segments_match_slowly(rest, &text[count..])),
        ([segment, rest @ ..], [first, behind @ ..]) => {
            let (segment, first): (Vec<char>, Vec<char>) = (segment.chars().collect(), first.chars().collect());
            matches_slowly(&segment, &first) && segments_match_slowly(rest, behind)
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_pattern_matches_what_the_slow_matcher_matches(
        pattern in r"([ab*]|\\\*){1,6}(/([ab*]|\\\*){1,4}){0,2}(/\*\*)?(/[ab*]{1,3}){0,2}",
        text in r"[ab*]{0,8}(/[ab*]{0,4}){0,4}",
    ) {
        if let Ok(glob) = pattern.parse::<Glob>() {
            prop_assert_eq!(glob.matches(&text), path_matches_slowly(&pattern, &text), "{} {}", pattern, text);
        }
    }

    #[test]
    fn a_pattern_covers_another_one_only_where_it_matches_all_that_it_matches(
        one in "[ab*]{1,4}", other in "[ab*]{1,4}", texts in proptest::collection::vec("[abc]{0,6}", 40),
    ) {
        if let (Ok(one), Ok(other)) = (one.parse::<Glob>(), other.parse::<Glob>()) && one.covers(&other) {
                for text in texts {
                    prop_assert!(!other.matches(&text) || one.matches(&text), "{} {} {}", one, other, text);
                }
                // What matches less comes first.
                prop_assert!(other.specificity().cmp(&one.specificity()).is_le() || other.covers(&one));
        }
    }

    #[test]
    fn no_text_makes_a_pattern_fail(text in ".{0,60}", name in ".{0,60}") {
        if let Ok(glob) = text.parse::<Glob>() {
            glob.matches(&name);
            prop_assert!(glob.covers(&glob) || !glob.is_name());
        }
        if let Ok(literal) = Glob::literal(&name) {
            prop_assert!(literal.matches(&name));
            prop_assert_eq!(literal.as_literal(), Some(name));
        }
    }
}

#[test]
fn a_hostile_pattern_ends_soon() {
    // A matcher that tries again from each place would not end for these.
    let pattern = format!("{}b", "*a".repeat(500));
    let glob: Glob = pattern.parse().expect("a pattern");
    assert!(!glob.matches(&"a".repeat(1 << 20)));
    let glob: Glob = format!("{}**", "*a/".repeat(300)).parse().expect("a pattern");
    assert!(glob.matches(&"aaa/".repeat(1 << 18)));
}
