//! Path patterns of BagIt Profiles 1.4, in which only `*` is special.
//!
//! `*` stands for zero or more characters and crosses `/`: the specification's default `['*']` means every file,
//! those in folders too. Matching is linear in pattern and path, whatever the pattern.

use std::collections::HashSet;

/// Paths and path patterns, of which one has to match. Plain paths, however many, cost one look-up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patterns {
    paths: HashSet<String>,
    patterns: Vec<Pattern>,
}

impl Patterns {
    pub(crate) fn new(list: Vec<String>) -> Self {
        let (patterns, paths): (Vec<_>, _) = list.into_iter().partition(|text| text.contains('*'));
        Self { paths: paths.into_iter().collect(), patterns: patterns.iter().map(|text| Pattern::new(text)).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.patterns.is_empty()
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        self.paths.contains(path) || self.patterns.iter().any(|pattern| pattern.matches(path))
    }
}

/// A path or a path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    text: String,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// Whether the pattern stands for the whole of `path`.
    fn matches(&self, path: &str) -> bool {
        let Some((first, others)) = self.text.split_once('*') else { return self.text == path };
        let Some(mut rest) = path.strip_prefix(first) else { return false };
        let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
        // Taking the leftmost place for each piece loses nothing, because what follows it may be anything.
        for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_star_stands_for_any_characters_and_crosses_folders() {
        for (pattern, path, expected) in [
            ("*", "a/b.txt", true),
            ("*", "", true),
            ("a/*", "a/b/c", true),
            ("a/*", "ab/c", false),
            ("*.xml", "meta/mods.xml", true),
            ("*.xml", "mods.xml.txt", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
            ("a**c", "abc", true),
            ("a[b]?", "a[b]?", true),
            ("a?", "ab", false),
            ("", "a", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_do_not_backtrack() {
        let path = "a".repeat(100_000);
        assert!(!Pattern::new(&"a*".repeat(2_000).replace("a*a", "a*aa")).matches(&format!("b{path}")));
        assert!(!Pattern::new(&format!("{}b", "*a".repeat(2_000))).matches(&path));
    }
}
