//! Which known word a mistyped one was meant to be.

use std::collections::HashSet;

use strsim::osa_distance;

/// Longer words are not typing errors of known ones, and the work grows with the product of both lengths.
const LONGEST: usize = 128;

/// How many names are proposed in the place of one that is unknown.
const PROPOSED: usize = 3;

/// The candidate with the fewest changes of a letter from `word`; the first of equals.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| distance(word, candidate))
}

/// The names most like a word, the most similar first and each once; none where none is near it.
pub fn nearest_few<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = HashSet::new();
    let is_new = |name: &&'n str| seen.insert(*name);
    let mut names: Vec<&str> = names.into_iter().filter(|name| is_near(word, name)).filter(is_new).collect();
    names.sort_by_cached_key(|name| distance(word, name));
    names.truncate(PROPOSED);
    names
}

/// Whether a word can be a mistyped name: at most a third of its letters are other ones, two of a short one.
pub fn is_near(word: &str, name: &str) -> bool {
    distance(word, name) <= (word.chars().count() / 3).max(2)
}

/// Letters to insert, remove, replace or swap with their neighbour to make one word the other (optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    osa_distance(start(left), start(right))
}

fn start(word: &str) -> &str {
    word.char_indices().nth(LONGEST).map_or(word, |(end, _)| word.get(..end).unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest, nearest_few};

    #[test]
    fn distance_counts_changes() {
        for (left, right, wanted) in [
            ("", "", 0),
            ("a", "", 1),
            ("interval", "intervall", 1),
            ("lease", "laese", 1),
            ("path", "ptah", 1),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(distance(left, right), wanted, "{left} {right}");
            assert_eq!(distance(right, left), wanted, "{right} {left}");
        }
        assert_eq!(distance(&"ä".repeat(1_000_000), "a"), 128, "no more of a long word is compared");
    }

    #[test]
    fn nearest_finds_the_word_meant() {
        assert_eq!(nearest("fixity.max_agee", ["fixity.max_per_run", "fixity.max_age"]), Some("fixity.max_age"));
        assert_eq!(nearest("x", ["b", "a"]), Some("b"), "the first of equals");
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_few_names_are_proposed_the_most_similar_first() {
        let names = ["outbox", "fixity", "retention", "receiving", "recieving"];
        assert_eq!(nearest_few("receivin", names), ["receiving", "recieving"]);
        assert_eq!(nearest_few("nope", ["ingest.fetch", "ingest.compare"]), Vec::<&str>::new(), "none is near");
        assert_eq!(nearest_few("x", []), Vec::<&str>::new());
        assert_eq!(nearest_few("fixty", ["fixity", "outbox", "fixity"]), ["fixity"], "each once");
    }
}
