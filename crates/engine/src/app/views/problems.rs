//! Problems.

use serde::Serialize;
use strongroom_registry::problems::{HistoryLine, Problem};
use strongroom_registry::{FindingId, ProblemId, ProblemState, Time};

use crate::problems::Kind;

/// A problem.
#[derive(Debug, Clone, Serialize)]
pub struct ProblemView {
    /// Its identifier.
    pub problem: ProblemId,
    /// What is wrong, such as `store.away`.
    pub kind: String,
    /// Where it is.
    pub state: ProblemState,
    /// What it is about: a store, a topic, a background task, or an object with a path.
    pub subject: String,
    /// The domain name of the institution that it belongs to; none for what belongs to the installation.
    pub institution: Option<String>,
    /// The store that it is about.
    pub store: Option<String>,
    /// The finding of a fixity check that it is about.
    pub finding: Option<FindingId>,
    /// The cause, in words.
    pub detail: String,
    /// Who can resolve it; none where it is resolved.
    pub resolver: Option<&'static str>,
    /// The command that shows or resolves it; none where it is resolved.
    pub next: Option<String>,
    /// The address of the user who works on it.
    pub assigned_to: Option<String>,
    /// The reference of another organization's record of it.
    pub ticket: Option<String>,
    /// Why it was waived, or what has shown that it is resolved.
    pub reason: Option<String>,
    /// When a waived one is opened again.
    pub waived_until: Option<String>,
    /// When it was opened for the first time.
    pub opened_at: String,
    /// When it was opened last.
    pub reopened_at: String,
    /// How many times it was opened.
    pub times_opened: u64,
    /// When its state changed last.
    pub changed_at: String,
    /// When it was seen not to be there any more.
    pub resolved_at: Option<String>,
}

/// A line of the history of a problem.
#[derive(Debug, Clone, Serialize)]
pub struct ProblemLineView {
    /// When.
    pub time: String,
    /// Where the problem was then.
    pub state: ProblemState,
    /// Who did it.
    pub actor: String,
    /// The cause, the reason or what was seen.
    pub note: String,
}

impl From<Problem> for ProblemView {
    fn from(problem: Problem) -> Self {
        let text = |time: Option<Time>| time.map(|time| time.to_string());
        let kind = Kind::named(&problem.kind);
        let unresolved = kind.filter(|_| problem.state != ProblemState::Resolved);
        Self {
            problem: problem.id,
            next: unresolved.map(|kind| kind.command_for(&problem)),
            resolver: unresolved.map(|kind| kind.resolver),
            kind: problem.kind,
            state: problem.state,
            subject: problem.subject,
            institution: problem.institution_identifier,
            store: problem.store,
            finding: problem.finding,
            detail: problem.detail,
            assigned_to: problem.assigned_to,
            ticket: problem.ticket,
            reason: problem.reason,
            waived_until: text(problem.waived_until),
            opened_at: problem.opened_at.to_string(),
            reopened_at: problem.reopened_at.to_string(),
            times_opened: problem.times_opened,
            changed_at: problem.changed_at.to_string(),
            resolved_at: text(problem.resolved_at),
        }
    }
}

impl From<HistoryLine> for ProblemLineView {
    fn from(line: HistoryLine) -> Self {
        Self { time: line.time.to_string(), state: line.state, actor: line.actor, note: line.note }
    }
}
