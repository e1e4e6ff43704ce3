//! What a check says in the end: the report, and the collector that bounds its list of problems.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strongroom_digest::Algorithm;

use crate::codes;
use crate::problem::{Problem, Severity, Verdict};
use crate::tag_file::Tag;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What it comes to.
    pub verdict: Verdict,
    /// The version that the bag declares, as written.
    pub version: Option<String>,
    /// The tag file encoding that the bag declares, as written.
    pub encoding: Option<String>,
    /// Name of the profile checked against.
    pub profile: Option<String>,
    /// Regular files of the bag.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files of the payload.
    pub payload_files: u64,
    /// Their bytes.
    pub payload_bytes: u64,
    /// What is wrong, in the order it was found; at most so many of each severity as the options say.
    pub problems: Vec<Problem>,
    /// Algorithms of the payload manifests.
    pub manifests: Vec<Algorithm>,
    /// Algorithms of the tag manifests.
    pub tag_manifests: Vec<Algorithm>,
    /// Tags of `bagit.txt`, `bag-info.txt` and other files named `*-info.txt`, and of those the profile has rules for.
    pub tags: Vec<Tag>,
    /// Whether there is a `fetch.txt`.
    pub has_fetch: bool,
}

impl Report {
    /// Values of a tag, in order; the label is compared in any letter case.
    pub fn tag<'r>(&'r self, file: &'r str, label: &'r str) -> impl Iterator<Item = &'r str> {
        self.tags
            .iter()
            .filter(move |tag| tag.file == file && tag.label.eq_ignore_ascii_case(label))
            .map(|tag| tag.value.as_str())
    }
}

/// Takes problems and keeps the first of each severity.
#[derive(Debug)]
pub(crate) struct Collector {
    most: usize,
    kept: Vec<Problem>,
    errors: u64,
    warnings: u64,
    codes: BTreeMap<String, u64>,
}

/// What a collector has kept.
pub(crate) struct Collected {
    pub(crate) problems: Vec<Problem>,
    pub(crate) verdict: Verdict,
}

/// Codes of errors that mean no more than that files are still missing.
const MISSING: [&str; 2] = [codes::MANIFEST_FILE_MISSING.code, codes::FETCH_PENDING.code];
/// Codes of errors that mean that we cannot tell.
const UNSUPPORTED: [&str; 4] = [
    codes::BAGIT_VERSION_UNSUPPORTED.code,
    codes::BAGIT_ENCODING_UNSUPPORTED.code,
    codes::MANIFEST_ALGORITHM_UNSUPPORTED.code,
    codes::ARCHIVE_UNSUPPORTED_ENTRY.code,
];

impl Collector {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), errors: 0, warnings: 0, codes: BTreeMap::new() }
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        // A summary of an earlier collector speaks of its own list and stays as it is.
        let count = match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if problem.severity == Severity::Error {
            *self.codes.entry(problem.code.clone()).or_default() += 1;
        }
        if *count <= self.most as u64 {
            self.kept.push(problem);
        }
    }

    /// The verdict so far, of something that is a bag.
    fn verdict(&self) -> Verdict {
        let mut others = self.codes.keys().filter(|code| !MISSING.contains(&code.as_str())).peekable();
        if self.errors == 0 {
            if self.warnings == 0 { Verdict::Valid } else { Verdict::ValidWithWarnings }
        } else if others.peek().is_none() {
            Verdict::Incomplete
        } else if others.all(|code| UNSUPPORTED.contains(&code.as_str())) {
            Verdict::Unsupported
        } else {
            Verdict::Invalid
        }
    }

    pub(crate) fn finish(mut self) -> Collected {
        let verdict = self.verdict();
        let most = self.most as u64;
        for (count, what) in [(self.errors, "errors"), (self.warnings, "warnings")] {
            if count > most {
                self.kept.push(
                    codes::PROBLEMS_TRUNCATED
                        .problem(format!("{} {what} are not listed, {count} in all", count - most)),
                );
            }
        }
        Collected { problems: self.kept, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_warnings_hides_no_error_and_is_counted() {
        let mut collector = Collector::new(3);
        for _ in 0..10 {
            collector.push(codes::PATH_LONG.problem("long"));
        }
        collector.push(codes::OXUM_MISMATCH.problem("other"));
        let collected = collector.finish();
        assert_eq!(collected.verdict, Verdict::Invalid);
        let found: Vec<&str> = collected.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(found, ["path.long", "path.long", "path.long", "oxum.mismatch", "problems.truncated"]);
        assert!(collected.problems[4].message.starts_with("7 warnings"));
    }

    #[test]
    fn missing_files_alone_make_a_bag_incomplete() {
        let verdict = |rules: &[codes::Rule]| {
            let mut collector = Collector::new(9);
            for rule in rules {
                collector.push(rule.problem("x"));
            }
            collector.finish().verdict
        };
        assert_eq!(
            verdict(&[codes::FETCH_PENDING, codes::MANIFEST_FILE_MISSING, codes::PATH_LONG]),
            Verdict::Incomplete
        );
        assert_eq!(verdict(&[codes::FETCH_PENDING, codes::OXUM_MISMATCH]), Verdict::Invalid);
        assert_eq!(verdict(&[codes::MANIFEST_ALGORITHM_UNSUPPORTED]), Verdict::Unsupported);
        assert_eq!(verdict(&[codes::MANIFEST_ALGORITHM_UNSUPPORTED, codes::OXUM_MISMATCH]), Verdict::Invalid);
        assert_eq!(verdict(&[codes::PATH_LONG]), Verdict::ValidWithWarnings);
        assert_eq!(verdict(&[]), Verdict::Valid);
    }
}
