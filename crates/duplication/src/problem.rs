//! What is wrong with a policy or a filter: where it is, and what to do.

use serde::Serialize;

/// The most problems that are reported of one text.
const MOST_PROBLEMS: usize = 200;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy cannot be used.
    Error,
    /// It can be used, and does something that is easily overlooked.
    Notice,
}

/// Something that is wrong with a text, or easily overlooked in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of problem it is, in one word.
    pub code: &'static str,
    /// The line of the text, from 1; none where it was not read from lines, or is nowhere in it.
    pub line: Option<usize>,
    /// The part of the policy, such as `spaces 2 (maps-*), rule 1`.
    pub place: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub next: String,
}

impl Problem {
    /// Whether the policy cannot be used because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Problems as they are found, up to a bound.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<Problem>,
    more: usize,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        if self.found.len() < MOST_PROBLEMS {
            self.found.push(problem);
        } else if problem.is_error() {
            self.more += 1;
        }
    }

    /// In the order of their lines; behind the last one how many there are more.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| problem.line);
        if self.more > 0 {
            self.found.push(Problem {
                severity: Severity::Error,
                code: "more",
                line: None,
                place: None,
                problem: format!("there are {} more problems", self.more),
                next: "correct those that are named, and check again".to_owned(),
            });
        }
        self.found
    }
}
