//! Paths of members that are given as globs: `*` for any characters but `/`, `?` for one, `[...]` for one of several.

/// A glob.
#[derive(Debug)]
pub(crate) struct Glob {
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq)]
enum Part {
    Is(char),
    One,
    Any,
    In { set: Vec<(char, char)>, inverted: bool },
}

impl Glob {
    /// Parses a path; `None` where it is a plain path. Brackets alone make no glob: `[Content_Types].xml` is a name.
    pub(crate) fn new(path: &str) -> Option<Self> {
        if !path.contains(['*', '?']) {
            return None;
        }
        let mut parts = Vec::new();
        let mut rest = path.chars();
        while let Some(character) = rest.next() {
            parts.push(match character {
                '*' => Part::Any,
                '?' => Part::One,
                '[' => match class(rest.as_str()) {
                    Some((part, length)) => {
                        rest = rest.as_str().get(length..).unwrap_or_default().chars();
                        part
                    }
                    None => Part::Is('['),
                },
                other => Part::Is(other),
            });
        }
        Some(Self { parts })
    }

    /// Whether a path fits. Takes time that grows with the product of the lengths at most.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        let (mut part, mut at) = (0, 0);
        // Where to go on when a `*` has to take one character more.
        let mut retry: Option<(usize, usize)> = None;
        while at < path.len() || part < self.parts.len() {
            let character = path.get(at).copied();
            let fits = match (self.parts.get(part), character) {
                (Some(Part::Any), _) => {
                    retry = Some((part, at));
                    part += 1;
                    continue;
                }
                (Some(Part::Is(wanted)), Some(character)) => *wanted == character,
                (Some(Part::One), Some(character)) => character != '/',
                (Some(Part::In { set, inverted }), Some(character)) => {
                    let is_in = set.iter().any(|(from, to)| (*from..=*to).contains(&character));
                    character != '/' && is_in != *inverted
                }
                _ => false,
            };
            if fits {
                part += 1;
                at += 1;
                continue;
            }
            match retry {
                Some((star, from)) if path.get(from).is_some_and(|skipped| *skipped != '/') => {
                    retry = Some((star, from + 1));
                    part = star + 1;
                    at = from + 1;
                }
                _ => return false,
            }
        }
        true
    }
}

/// A bracket expression and how many bytes of text it takes, without the opening bracket.
fn class(text: &str) -> Option<(Part, usize)> {
    let length = text.find(']')?;
    let body = text.get(..length)?;
    let (inverted, body) = match body.strip_prefix(['^', '!']) {
        Some(rest) => (true, rest),
        None => (false, body),
    };
    let characters: Vec<char> = body.chars().collect();
    let mut set = Vec::new();
    let mut rest = characters.as_slice();
    while let [from, tail @ ..] = rest {
        let (to, after) = if let ['-', to, after @ ..] = tail { (to, after) } else { (from, tail) };
        set.push((*from, *to));
        rest = after;
    }
    (!set.is_empty()).then_some((Part::In { set, inverted }, length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(glob: &str, path: &str) -> bool {
        Glob::new(glob).is_some_and(|glob| glob.matches(path))
    }

    #[test]
    fn a_star_takes_what_lies_within_one_folder() {
        assert!(fits("word/*.xml", "word/document.xml"));
        assert!(fits("*/a*b", "x/aab"));
        assert!(!fits("word/*.xml", "word/media/a.xml"));
        assert!(!fits("*.xml", "document.xm"));
    }

    #[test]
    fn a_question_mark_and_a_class_take_one_character_each() {
        assert!(fits("page?.[0-9a]*", "page1.7x"));
        assert!(!fits("page?.[!0-9]", "page1.7"));
        assert!(!fits("page?", "page/"));
    }

    #[test]
    fn brackets_alone_are_part_of_a_name() {
        assert!(Glob::new("[Content_Types].xml").is_none());
    }

    #[test]
    fn a_glob_made_to_run_back_and_forth_ends() {
        let glob = "*a".repeat(40) + "b";
        assert!(!fits(&glob, &"a".repeat(5_000)));
    }
}
