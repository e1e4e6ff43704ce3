//! What the output of `cargo test -- --show-output` says: how many passed and failed, and what was skipped and why.

use std::collections::BTreeMap;

/// The marker with which a test says that it could not do its work.
const SKIPPED: &str = "SKIPPED:";

/// How many lines of what failed tests printed are shown again at the end.
const FAILURES: usize = 400;
/// How many letters of each.
const LETTERS: usize = 400;

/// Counts over any number of test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// What was skipped, with its reason, and how often it was said.
    pub(crate) skipped: BTreeMap<String, u64>,
    /// Tests marked `#[ignore]`, by name.
    pub(crate) ignored: Vec<String>,
    /// What the failed tests printed and their names, line by line, to be shown again at the end.
    pub(crate) failures: Vec<String>,
    in_successes: bool,
    in_failures: bool,
}

impl Tally {
    /// Takes one line of output; says whether a person wants to see it. What passing tests print is not shown: it is
    /// asked for only to find the skips.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        if let Some(what) = line.strip_prefix(SKIPPED) {
            *self.skipped.entry(what.trim().to_owned()).or_default() += 1;
        }
        if line == "successes:" {
            (self.in_successes, self.in_failures) = (true, false);
        } else if line == "failures:" {
            (self.in_successes, self.in_failures) = (false, true);
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            (self.in_successes, self.in_failures) = (false, false);
            self.passed += count_before(counts, " passed");
            self.failed += count_before(counts, " failed");
        } else if let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored")) {
            self.ignored.push(name.to_owned());
        } else if self.in_failures && !line.is_empty() && self.failures.len() < FAILURES {
            self.failures.push(line.chars().take(LETTERS).collect());
        }
        !self.in_successes
    }

    /// How many different things were skipped.
    pub(crate) fn skips(&self) -> usize {
        self.skipped.len()
    }

    /// The closing line.
    pub(crate) fn line(&self) -> String {
        let (passed, failed, skips) = (self.passed, self.failed, self.skips());
        if skips == 0 {
            format!("{passed} passed, {failed} failed")
        } else {
            format!("{passed} passed, {failed} failed, {skips} skipped")
        }
    }
}

fn count_before(text: &str, word: &str) -> u64 {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> (Tally, Vec<&str>) {
        let mut tally = Tally::default();
        let shown = output.lines().filter(|line| tally.take(line)).collect();
        (tally, shown)
    }

    #[test]
    fn counts_are_summed_over_programs() {
        let (tally, _) = tally(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
             test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        assert_eq!(tally.line(), "15 passed, 2 failed");
    }

    #[test]
    fn skips_are_collected_once_each_and_their_output_is_not_shown() {
        let (tally, shown) = tally(
            "test a ... ok\nsuccesses:\n\n---- a stdout ----\nSKIPPED: a: no fixture\nnoise\n\nsuccesses:\n    a\n\n\
             failures:\n\n---- b stdout ----\npanicked\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\
             SKIPPED: a: no fixture",
        );
        assert_eq!(tally.skipped, BTreeMap::from([("a: no fixture".to_owned(), 2)]));
        assert_eq!(tally.line(), "1 passed, 1 failed, 1 skipped");
        assert!(shown.contains(&"panicked"));
        assert!(!shown.contains(&"noise"));
        assert_eq!(tally.failures, ["---- b stdout ----", "panicked"]);
    }

    #[test]
    fn ignored_tests_are_named() {
        let (tally, _) = tally("test slow::one ... ignored, takes an hour\ntest two ... ignored\ntest three ... ok");
        assert_eq!(tally.ignored, ["slow::one", "two"]);
    }
}
