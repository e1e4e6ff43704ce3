//! Names that some systems take for one: those that differ only in letter case or Unicode normal form.

use std::io;
use std::path::Path;

use strongroom_listing::Sorter;

use super::codes::{self, CODES};
use crate::path::{collision_key, normal_form};
use crate::{Problem, Severity};

/// What to do about paths that some systems take for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Write them and say nothing.
    Accept,
    /// Write them and say so.
    Warn,
    /// Do not write the bag.
    Refuse,
}

/// How colliding names are met. By default letter case is warned of and normal form refused: RFC 8493 section 6
/// discourages the one and asks to prevent the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamePolicy {
    /// For paths that differ only in letter case.
    pub case: Reaction,
    /// For paths that differ only in normal form.
    pub normal_form: Reaction,
}

impl Default for NamePolicy {
    fn default() -> Self {
        Self { case: Reaction::Warn, normal_form: Reaction::Refuse }
    }
}

impl NamePolicy {
    /// Inspects no names: for names that were judged before.
    pub const ACCEPT: Self = Self { case: Reaction::Accept, normal_form: Reaction::Accept };

    /// Takes any names, and reports collisions: for restoring what was once ingested.
    pub const WARN: Self = Self { case: Reaction::Warn, normal_form: Reaction::Warn };
}

/// Gathers names and finds those that collide.
pub(super) struct Names {
    policy: NamePolicy,
    sorter: Option<Sorter>,
}

impl Names {
    pub(super) fn new(policy: NamePolicy, memory: usize, directory: Option<&Path>) -> Self {
        let sorter = (policy != NamePolicy::ACCEPT).then(|| Sorter::new(memory, directory));
        Self { policy, sorter }
    }

    pub(super) fn add(&mut self, path: &str) -> io::Result<()> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(collision_key(path).as_bytes(), path.as_bytes()),
            None => Ok(()),
        }
    }

    /// Reports each name that collides with the one sorted before it.
    pub(super) fn finish(self, report: &mut dyn FnMut(Problem)) -> io::Result<()> {
        let Some(sorter) = self.sorter else { return Ok(()) };
        let in_order = sorter.finish()?;
        let mut before: Option<(Vec<u8>, Vec<u8>)> = None;
        for record in in_order.iter()? {
            let (key, path) = record?;
            if let Some((key_before, path_before)) = &before
                && *key_before == key
                && *path_before != path
            {
                let (one, other) = (String::from_utf8_lossy(path_before), String::from_utf8_lossy(&path));
                self.policy.judge(&one, &other, report);
            }
            before = Some((key, path));
        }
        Ok(())
    }
}

impl NamePolicy {
    fn judge(self, one: &str, other: &str, report: &mut dyn FnMut(Problem)) {
        let (reaction, code, what) = if normal_form(one) == normal_form(other) {
            (self.normal_form, codes::NAME_NORMAL_FORM, "Unicode normal form")
        } else {
            (self.case, codes::NAME_CASE, "letter case")
        };
        let severity = match reaction {
            Reaction::Accept => return,
            Reaction::Warn => Severity::Warning,
            Reaction::Refuse => Severity::Error,
        };
        let message = format!("{other:?} differs from {one:?} only in {what}");
        report(Problem { severity, ..problem(code, Some(other), message) });
    }
}

/// A problem of this module's table, with its usual severity.
pub(super) fn problem(code: &'static str, path: Option<&str>, message: String) -> Problem {
    let severity =
        CODES.iter().find(|(known, ..)| *known == code).map_or(Severity::Error, |(_, severity, _)| *severity);
    Problem { severity, code: code.to_owned(), file: None, path: path.map(str::to_owned), line: None, message }
}
