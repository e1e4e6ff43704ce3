//! Which known word a mistyped one was meant to be.

/// The candidate with the fewest changes of a letter from `word`; the first of equals.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| distance(word, candidate))
}

/// Letters to insert, remove, replace or swap with their neighbour to make one word the other (optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    // Longer words are not typing errors of ours, and the work grows with the product of both.
    let left: Vec<char> = left.chars().take(128).collect();
    let right: Vec<char> = right.chars().take(128).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, &l) in left.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, &r) in right.iter().enumerate() {
            let mut least = (above[column] + usize::from(l != r)).min(above[column + 1] + 1).min(line[column] + 1);
            if row > 0 && column > 0 && l == right[column - 1] && left[row - 1] == r {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or(0)
}

/// How many names are proposed in the place of one that is unknown.
const PROPOSED: usize = 3;

/// The names most like a word, the most similar first.
pub fn nearest_few<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    let mut near = Vec::new();
    while near.len() < PROPOSED
        && let Some(found) = nearest(word, names.iter().copied())
    {
        names.retain(|name| *name != found);
        near.push(found);
    }
    near
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distance_counts_changes() {
        for (left, right, wanted) in
            [("", "", 0), ("a", "", 1), ("interval", "intervall", 1), ("lease", "laese", 1), ("path", "ptah", 1)]
        {
            assert_eq!(distance(left, right), wanted, "{left} {right}");
            assert_eq!(distance(right, left), wanted, "{right} {left}");
        }
    }

    #[test]
    fn nearest_finds_the_word_meant() {
        assert_eq!(nearest("fixity.intervall", ["fixity.every", "fixity.interval"]), Some("fixity.interval"));
        assert_eq!(nearest("x", []), None);
    }
}
