//! What a validation found: problems with the codes of the specification, sorted into errors and warnings.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The code of the specification: `E` for a breach of a MUST, `W` for one of a SHOULD.
    pub code: &'static str,
    /// The file or directory that it concerns, relative to the object or storage root; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.path, self.message)
    }
}

/// The outcome of a validation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Breaches of a MUST, by path.
    pub errors: Vec<Problem>,
    /// Breaches of a SHOULD, by path.
    pub warnings: Vec<Problem>,
    /// Problems beyond the limit that were counted and not kept.
    pub unreported: u64,
    /// The object's id, where it could be read.
    pub id: Option<String>,
    /// Its newest version, as its inventory names it.
    pub head: Option<String>,
    /// Content files that the store holds, or objects of a storage root.
    pub count: u64,
    /// Bytes of these content files.
    pub bytes: u64,
    #[serde(skip)]
    limit: usize,
    #[serde(skip)]
    unreported_errors: u64,
}

impl Report {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether no MUST was breached.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty() && self.unreported_errors == 0
    }

    /// The codes of all problems, errors first.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.errors.iter().chain(&self.warnings).map(|problem| problem.code)
    }

    /// Sorts by path, so that the same flaws give the same report.
    pub(crate) fn sort(&mut self) {
        for list in [&mut self.errors, &mut self.warnings] {
            list.sort_by(|left, right| {
                (&left.path, left.code, &left.message).cmp(&(&right.path, right.code, &right.message))
            });
        }
    }

    pub(crate) fn add(&mut self, code: &'static str, path: impl Into<String>, message: impl Into<String>) {
        let is_warning = code.starts_with('W');
        if self.errors.len() + self.warnings.len() >= self.limit {
            self.unreported += 1;
            self.unreported_errors += u64::from(!is_warning);
            return;
        }
        let problem = Problem { code, path: path.into(), message: message.into() };
        let list = if is_warning { &mut self.warnings } else { &mut self.errors };
        // The same flaw is often met twice: in the root inventory and in the head's.
        if !list.contains(&problem) {
            list.push(problem);
        }
    }
}
