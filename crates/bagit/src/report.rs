//! What a check says in the end: the report, and the collector that bounds its list of problems.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use strongroom_digest::Algorithm;

use crate::check::CheckLevel;
use crate::codes;
use crate::problem::{Problem, Severity, Unlisted, Verdict};
use crate::source::Limits;
use crate::tag_file::Tag;

/// Why a bag was checked against a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileReason {
    /// The caller gave it ([`crate::ProfileChoice::Given`]).
    Given,
    /// The bag names it in `bag-info.txt`.
    Declared,
    /// The bag names none, and the caller has a default ([`crate::CheckOptions::default_profile`]).
    Default,
    /// The bag names none and has an `aptrust-info.txt`, which only bags for APTrust have.
    AptrustInfo,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What it comes to.
    pub verdict: Verdict,
    /// How much of the bag the check covered.
    #[serde(default)]
    pub level: CheckLevel,
    /// The version that the bag declares, as written.
    pub version: Option<String>,
    /// The tag file encoding that the bag declares, as written.
    pub encoding: Option<String>,
    /// Name of the profile checked against.
    pub profile: Option<String>,
    /// Which version of it, where it has a number ([`crate::Profile::number`]).
    pub profile_version: Option<u64>,
    /// Why this profile and no other.
    pub profile_reason: Option<ProfileReason>,
    /// Regular files of the bag.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files of the payload.
    pub payload_files: u64,
    /// Their bytes.
    pub payload_bytes: u64,
    /// What is wrong, in the order it was found; at most so many of each severity, and so many bytes, as the options say.
    pub problems: Vec<Problem>,
    /// What was found and is not listed, by code.
    pub unlisted: Vec<Unlisted>,
    /// Errors in all, listed or not.
    pub errors: u64,
    /// Warnings in all, listed or not.
    pub warnings: u64,
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

    /// Whether nothing is wrong but that files are missing which `fetch.txt` names, and what may follow from that.
    pub fn lacks_only_fetched_files(&self) -> bool {
        self.has_fetch && self.errors > 0 && self.errors_of(&UNFETCHED) == self.errors && self.lacks_fetched_files()
    }

    /// Whether files are missing which `fetch.txt` names.
    pub fn lacks_fetched_files(&self) -> bool {
        self.errors_of(&[codes::FETCH_PENDING.code]) > 0
    }

    /// Errors of these codes, listed or not.
    fn errors_of(&self, codes: &[&str]) -> u64 {
        let is_one = |severity: Severity, code: &str| severity == Severity::Error && codes.contains(&code);
        let listed = self.problems.iter().filter(|problem| is_one(problem.severity, &problem.code)).count() as u64;
        let unlisted = self.unlisted.iter().filter(|unlisted| is_one(unlisted.severity, &unlisted.code));
        unlisted.fold(listed, |sum, unlisted| sum.saturating_add(unlisted.count))
    }
}

/// Takes problems and keeps the first of each severity, up to a number and a number of bytes; the rest is counted.
#[derive(Debug)]
pub(crate) struct Collector {
    most: usize,
    most_bytes: usize,
    kept: Vec<Problem>,
    errors: Tally,
    warnings: Tally,
    /// Found and not kept, by severity and code.
    unlisted: BTreeMap<(Severity, String), u64>,
    /// The codes of all errors.
    codes: BTreeSet<String>,
}

/// What was found of one severity.
#[derive(Debug, Default)]
struct Tally {
    found: u64,
    kept: usize,
    kept_bytes: usize,
    is_full: bool,
}

/// What a collector has kept.
pub(crate) struct Collected {
    pub(crate) problems: Vec<Problem>,
    pub(crate) unlisted: Vec<Unlisted>,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) verdict: Verdict,
}

/// Codes of errors that mean no more than that files are still missing.
const MISSING: [&str; 2] = [codes::MANIFEST_FILE_MISSING.code, codes::FETCH_PENDING.code];
/// Codes of errors that a bag may have until its files are fetched.
const UNFETCHED: [&str; 2] = [codes::FETCH_PENDING.code, "profile.payload_file_required"];
/// Codes of errors that mean that we cannot tell.
const UNSUPPORTED: [&str; 5] = [
    codes::BAGIT_VERSION_UNSUPPORTED.code,
    codes::BAGIT_ENCODING_UNSUPPORTED.code,
    codes::MANIFEST_ALGORITHM_UNSUPPORTED.code,
    codes::ARCHIVE_UNSUPPORTED_ENTRY.code,
    codes::OXUM_MISSING.code,
];

impl Collector {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            most: limits.problems,
            most_bytes: limits.problem_bytes,
            kept: Vec::new(),
            errors: Tally::default(),
            warnings: Tally::default(),
            unlisted: BTreeMap::new(),
            codes: BTreeSet::new(),
        }
    }

    fn tally(&mut self, severity: Severity) -> &mut Tally {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }

    fn note(&mut self, severity: Severity, code: &str, count: u64) {
        let tally = self.tally(severity);
        tally.found = tally.found.saturating_add(count);
        if severity == Severity::Error && !self.codes.contains(code) {
            self.codes.insert(code.to_owned());
        }
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        let problem = problem.clipped();
        self.note(problem.severity, &problem.code, 1);
        let (most, most_bytes, cost) = (self.most, self.most_bytes, problem.cost());
        let tally = self.tally(problem.severity);
        tally.is_full |= tally.kept >= most || tally.kept_bytes.saturating_add(cost) > most_bytes;
        if tally.is_full {
            *self.unlisted.entry((problem.severity, problem.code)).or_default() += 1;
            return;
        }
        tally.kept += 1;
        tally.kept_bytes += cost;
        self.kept.push(problem);
    }

    /// Counts what an earlier collector found and did not keep.
    pub(crate) fn push_unlisted(&mut self, unlisted: &[Unlisted]) {
        for Unlisted { severity, code, count } in unlisted {
            self.note(*severity, code, *count);
            let all = self.unlisted.entry((*severity, code.clone())).or_default();
            *all = all.saturating_add(*count);
            self.tally(*severity).is_full = true;
        }
    }

    /// The verdict so far, of something that is a bag.
    fn verdict(&self) -> Verdict {
        let mut others = self.codes.iter().filter(|code| !MISSING.contains(&code.as_str())).peekable();
        if self.errors.found == 0 {
            if self.warnings.found == 0 { Verdict::Valid } else { Verdict::ValidWithWarnings }
        } else if others.peek().is_none() {
            Verdict::Incomplete
        } else if others.all(|code| UNSUPPORTED.contains(&code.as_str())) {
            Verdict::Unsupported
        } else {
            Verdict::Invalid
        }
    }

    /// What was kept, and the count of the rest.
    pub(crate) fn finish(self) -> Collected {
        let verdict = self.verdict();
        let unlisted = self.unlisted.into_iter();
        let unlisted = unlisted.map(|((severity, code), count)| Unlisted { severity, code, count }).collect();
        let (errors, warnings) = (self.errors.found, self.warnings.found);
        Collected { problems: self.kept, unlisted, errors, warnings, verdict }
    }

    /// The same, with a problem for each severity of which not all are listed.
    pub(crate) fn finish_with_summary(self) -> Collected {
        let mut collected = self.finish();
        for (severity, found, what) in
            [(Severity::Error, collected.errors, "errors"), (Severity::Warning, collected.warnings, "warnings")]
        {
            let of_severity = collected.unlisted.iter().filter(|unlisted| unlisted.severity == severity);
            let counts: Vec<String> =
                of_severity.clone().map(|unlisted| format!("{} {}", unlisted.count, unlisted.code)).collect();
            let hidden = of_severity.fold(0_u64, |sum, unlisted| sum.saturating_add(unlisted.count));
            if hidden > 0 {
                let message =
                    format!("{hidden} {what} are not listed, {found} in all; not listed: {}", counts.join(", "));
                collected.problems.push(codes::PROBLEMS_TRUNCATED.problem(message));
            }
        }
        collected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_warnings_hides_no_error_and_is_counted() {
        let mut collector = Collector::new(&Limits { problems: 3, ..Limits::default() });
        for _ in 0..10 {
            collector.push(codes::PATH_LONG.problem("long"));
        }
        collector.push(codes::OXUM_MISMATCH.problem("other"));
        let collected = collector.finish_with_summary();
        assert_eq!((collected.verdict, collected.errors, collected.warnings), (Verdict::Invalid, 1, 10));
        let found: Vec<&str> = collected.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(found, ["path.long", "path.long", "path.long", "oxum.mismatch", "problems.truncated"]);
        assert!(collected.problems[4].message.starts_with("7 warnings"));
    }

    #[test]
    fn long_texts_are_cut_and_the_bytes_of_all_are_bounded() {
        let limits = Limits { problem_bytes: 100_000, ..Limits::default() };
        let mut collector = Collector::new(&limits);
        for _ in 0..1_000 {
            collector.push(codes::PATH_UNSAFE.problem("\u{1}é".repeat(1 << 16)).about("x".repeat(1 << 20)));
        }
        collector.push(codes::ARCHIVE_CORRUPT.problem("damaged"));
        let collected = collector.finish_with_summary();
        assert!(collected.problems.len() < 20, "{}", collected.problems.len());
        assert!(serde_json::to_string(&collected.problems).unwrap().len() <= limits.problem_bytes + 1_000);
        assert_eq!((collected.errors, collected.verdict), (1_001, Verdict::Invalid));
        let last = collected.problems.last().unwrap();
        assert!(last.message.contains("1001 in all") && last.message.contains("1 archive.corrupt"), "{}", last.message);
    }

    #[test]
    fn a_further_collector_counts_what_an_earlier_one_left_out() {
        let limits = Limits { problems: 2, ..Limits::default() };
        let mut earlier = Collector::new(&limits);
        for _ in 0..5 {
            earlier.push(codes::FETCH_PENDING.problem("x"));
        }
        earlier.push(codes::OXUM_MISMATCH.problem("x"));
        let earlier = earlier.finish();
        let mut later = Collector::new(&limits);
        earlier.problems.into_iter().for_each(|problem| later.push(problem));
        later.push_unlisted(&earlier.unlisted);
        later.push(codes::PATH_UNSAFE.problem("x"));
        let collected = later.finish_with_summary();
        assert_eq!((collected.errors, collected.problems.len(), collected.verdict), (7, 3, Verdict::Invalid));
    }

    #[test]
    fn missing_files_alone_make_a_bag_incomplete() {
        let verdict = |rules: &[codes::Rule]| {
            let mut collector = Collector::new(&Limits::default());
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
