//! Whether what names the next page leads to one that was read before, so that a list has no end.

use serde::{Deserialize, Serialize};

/// Finds every repetition while it remembers one name (the algorithm of Brent): a list of n pages that then repeats m of them is found
/// within a small multiple of n + m pages. It is stored with the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repetition {
    /// A name that came before.
    mark: Option<String>,
    /// After how many names it is replaced by the newest, and how many came since.
    stride: u64,
    strides: u64,
}

impl Repetition {
    /// Notes a name; says whether it came before.
    pub(crate) fn is_found(&mut self, name: &str) -> bool {
        if self.mark.as_deref() == Some(name) {
            return true;
        }
        self.strides = self.strides.saturating_add(1);
        if self.strides >= self.stride {
            self.mark = Some(name.to_owned());
            self.stride = self.stride.saturating_mul(2).max(1);
            self.strides = 0;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_found_however_long_it_is_and_wherever_it_begins() {
        for (before, length) in [(0, 1), (0, 2), (1, 1), (3, 7), (100, 13), (5, 1000)] {
            let mut repetition = Repetition::default();
            let mut names = (0..before).chain((before..before + length).cycle()).take(10 * (before + length));
            let found = names.position(|name| repetition.is_found(&name.to_string()));
            assert!(found.is_some_and(|found| found >= length), "{before} {length} {found:?}");
        }
        let mut repetition = Repetition::default();
        assert!((0..100_000).all(|name| !repetition.is_found(&name.to_string())));
    }
}
