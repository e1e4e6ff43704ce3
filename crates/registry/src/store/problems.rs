//! Problems: what is or was wrong in the installation, where each is, and what became of it. One row for each thing that can be wrong: a
//! problem that returns is opened again.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::findings::NewFinding;
use crate::{
    ContentId, FindingId, FindingKind, InstitutionId, ObjectId, ProblemId, ProblemState, RegistryError, Scope,
};

/// Lines of the history of a problem that are kept; the oldest are removed first.
pub const LONGEST_HISTORY: u64 = 200;

/// A copy whose bytes differ from its digest.
pub const COPY_DAMAGED: &str = "copy.damaged";
/// A copy that is not there.
pub const COPY_MISSING: &str = "copy.missing";
/// A declaration or inventories of an object that differ from what they should be.
pub const COPY_INVENTORY: &str = "copy.inventory";

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its identifier.
    pub id: ProblemId,
    /// What identifies it among those of all sources.
    pub key: String,
    /// What is wrong, such as `store.away`.
    pub kind: String,
    /// Where it is.
    pub state: ProblemState,
    /// Whose it is; none for what belongs to the installation.
    pub institution: Option<InstitutionId>,
    /// The domain name of that institution.
    pub institution_identifier: Option<String>,
    /// What it is about, in words.
    pub subject: String,
    /// The store that it is about.
    pub store: Option<String>,
    /// The object that it is about.
    pub object: Option<ObjectId>,
    /// The finding of a check that it is about.
    pub finding: Option<FindingId>,
    /// In words, as of when it was opened or last compared.
    pub detail: String,
    /// The address of the user who works on it.
    pub assigned_to: Option<String>,
    /// The reference of another organization's record of it.
    pub ticket: Option<String>,
    /// Why it was waived, or what has shown that it is resolved.
    pub reason: Option<String>,
    /// When a waived one is opened again.
    pub waived_until: Option<Time>,
    /// When it was opened for the first time.
    pub opened_at: Time,
    /// When it was opened last.
    pub reopened_at: Time,
    /// How many times it was opened.
    pub times_opened: u64,
    /// When its state changed last.
    pub changed_at: Time,
    /// When it was seen not to be there any more.
    pub resolved_at: Option<Time>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProblem {
    /// What identifies it among those of all sources.
    pub key: String,
    /// What is wrong.
    pub kind: String,
    /// What tells this fault from others of the same problem: a waiver is about one of them.
    pub fault: String,
    /// Whose it is; none for what belongs to the installation.
    pub institution: Option<InstitutionId>,
    /// What it is about, in words.
    pub subject: String,
    /// The store that it is about.
    pub store: Option<String>,
    /// The object that it is about.
    pub object: Option<ObjectId>,
    /// The finding of a check that it is about.
    pub finding: Option<FindingId>,
    /// In words.
    pub detail: String,
}

/// What becomes of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is open again.
    Opened,
    /// A user works on it, by the address.
    Assigned(String),
    /// Others work on it, with their reference.
    External(String),
    /// It may be, for this reason, until then.
    Waived(String, Option<Time>),
    /// It is not there any more, which this has shown.
    Resolved(String),
}

impl Change {
    fn state(&self) -> ProblemState {
        match self {
            Self::Opened => ProblemState::Open,
            Self::Assigned(_) => ProblemState::Assigned,
            Self::External(_) => ProblemState::External,
            Self::Waived(..) => ProblemState::Waived,
            Self::Resolved(_) => ProblemState::Resolved,
        }
    }
}

/// A line of the history of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryLine {
    /// Its number.
    pub number: u64,
    /// When.
    pub time: Time,
    /// Where the problem was then.
    pub state: ProblemState,
    /// Who did it.
    pub actor: String,
    /// What is to be said of it.
    pub note: String,
}

/// Which problems are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProblemFilter<'a> {
    /// Only those in this state.
    pub state: Option<ProblemState>,
    /// Only those of this kind, or of the kinds that begin with this word and a dot.
    pub kind: Option<&'a str>,
    /// Only those about this store.
    pub store: Option<&'a str>,
    /// Also those that are resolved.
    pub resolved_too: bool,
}

/// Who is named in the history for what the system does.
pub const SYSTEM: &str = "system";

/// Records that something is wrong: a new problem, or one that is opened again because it was resolved, or waived for another kind of fault.
/// What is unresolved gets the newest details and stays as it is otherwise. Whether it was opened.
pub fn open(tx: &mut dyn Transaction, new: &NewProblem) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let id = ProblemId::new();
    let values = [
        id.into(),
        (&new.key).into(),
        (&new.kind).into(),
        (&new.fault).into(),
        new.institution.into(),
        (&new.subject).into(),
        new.store.as_deref().into(),
        new.object.into(),
        new.finding.into(),
        (&new.detail).into(),
        now.into(),
    ];
    if tx.query_one(Statement("problems.insert"), &values)?.is_some() {
        note(tx, id, ProblemState::Open, SYSTEM, &new.detail)?;
        return Ok(true);
    }
    let [key, kind, subject] = [(&new.key).into(), (&new.kind).into(), (&new.subject).into()];
    let (finding, detail) = (new.finding.into(), (&new.detail).into());
    let values = [key, kind, subject, finding, detail, (&new.fault).into(), now.into()];
    if let Some(row) = tx.query_one(Statement("problems.reopen"), &values)? {
        note(tx, ProblemId(row.uuid("id")?), ProblemState::Open, SYSTEM, &new.detail)?;
        return Ok(true);
    }
    tx.execute(Statement("problems.refresh"), &values[..6])?;
    Ok(false)
}

/// Changes the state of a problem that is as it is known; false where it is in another state by now.
pub fn change(
    tx: &mut dyn Transaction,
    known: &Problem,
    change: &Change,
    actor: &str,
    remark: &str,
) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let state = change.state();
    let (mut assigned_to, mut ticket, mut reason, mut until, mut resolved_at) =
        (known.assigned_to.clone(), known.ticket.clone(), None, None, None);
    match change {
        Change::Opened => (assigned_to, ticket) = (None, None),
        Change::Assigned(account) => (assigned_to, ticket) = (Some(account.clone()), None),
        Change::External(reference) => ticket = Some(reference.clone()),
        Change::Waived(why, end) => (reason, until) = (Some(why.clone()), *end),
        Change::Resolved(evidence) => (reason, resolved_at) = (Some(evidence.clone()), Some(now)),
    }
    let values = [
        known.id.into(),
        known.state.as_str().into(),
        state.as_str().into(),
        assigned_to.into(),
        ticket.into(),
        reason.into(),
        until.into(),
        now.into(),
        resolved_at.into(),
    ];
    if tx.query_one(Statement("problems.change"), &values)?.is_none() {
        return Ok(false);
    }
    note(tx, known.id, state, actor, remark)?;
    Ok(true)
}

fn note(
    tx: &mut dyn Transaction,
    id: ProblemId,
    state: ProblemState,
    actor: &str,
    note: &str,
) -> Result<(), RegistryError> {
    let last = tx.query_one(Statement("problems.last_number"), &[id.into()])?;
    let number = last.map_or(Ok(0), |row| row.count("number"))? + 1;
    let now = tx.now()?;
    let values = [id.into(), number.into(), now.into(), state.as_str().into(), actor.into(), note.into()];
    tx.execute(Statement("problems.note"), &values)?;
    if number > LONGEST_HISTORY {
        tx.execute(Statement("problems.forget"), &[id.into(), (number - LONGEST_HISTORY).into()])?;
    }
    Ok(())
}

/// What identifies the problem of a copy: one for a content in a store, and one for what an object has there besides contents.
fn key_of_copy(object: ObjectId, content: Option<ContentId>, store: &str) -> String {
    match content {
        Some(content) => format!("copy:{store}:{}:{}", object.0, content.0),
        None => format!("copy:{store}:{}", object.0),
    }
}

/// Records the problem that a finding is about.
pub(super) fn open_for_finding(tx: &mut dyn Transaction, finding: &NewFinding) -> Result<(), RegistryError> {
    let kind = match finding.kind {
        FindingKind::Damaged => COPY_DAMAGED,
        FindingKind::Missing => COPY_MISSING,
        FindingKind::Inventory => COPY_INVENTORY,
    };
    let new = NewProblem {
        key: key_of_copy(finding.object, finding.content, &finding.store),
        kind: kind.to_owned(),
        fault: kind.to_owned(),
        institution: Some(finding.institution),
        subject: finding.key.clone(),
        store: Some(finding.store.clone()),
        object: Some(finding.object),
        finding: Some(finding.id),
        detail: finding.detail.clone(),
    };
    open(tx, &new)?;
    Ok(())
}

/// Records that the copies of a finding were repaired and verified.
pub(super) fn resolve_for_finding(
    tx: &mut dyn Transaction,
    finding: FindingId,
    evidence: &str,
) -> Result<(), RegistryError> {
    for known in of_finding(tx, finding)? {
        change(tx, &known, &Change::Resolved(evidence.to_owned()), SYSTEM, evidence)?;
    }
    Ok(())
}

fn of_finding(tx: &mut dyn Transaction, finding: FindingId) -> Result<Vec<Problem>, RegistryError> {
    problems(&tx.query(Statement("problems.of_finding"), &[finding.into()])?)
}

/// Findings that are unsolved and have no problem that is unresolved: those of registries that had no problems yet, and of stores that are
/// in use again. At most `limit`, after `after`.
pub fn findings_without(
    tx: &mut dyn Transaction,
    after: Option<FindingId>,
    limit: usize,
) -> Result<Vec<NewFinding>, RegistryError> {
    let after = after.unwrap_or(FindingId(Uuid::nil()));
    let rows = tx.query(Statement("problems.of_findings"), &[after.into(), limit.into()])?;
    let finding = |row: &Row| {
        Ok(NewFinding {
            id: FindingId(row.uuid("id")?),
            institution: InstitutionId(row.uuid("institution_id")?),
            object: ObjectId(row.uuid("object_id")?),
            content: row.optional_uuid("content_id")?.map(ContentId),
            store: row.text("store")?.to_owned(),
            key: row.text("key")?.to_owned(),
            kind: row.text("kind")?.parse()?,
            detail: row.text("detail")?.to_owned(),
        })
    };
    rows.iter().map(finding).collect()
}

/// Opens the problems of these findings.
pub fn open_for_findings(tx: &mut dyn Transaction, findings: &[NewFinding]) -> Result<(), RegistryError> {
    findings.iter().try_for_each(|finding| open_for_finding(tx, finding))
}

/// Unresolved problems whose finding is not unsolved any more, or was made in a store that is out of use. At most `limit`, after `after`.
pub fn without_finding(
    tx: &mut dyn Transaction,
    after: Option<ProblemId>,
    limit: usize,
) -> Result<Vec<Problem>, RegistryError> {
    page(tx, Statement("problems.without_finding"), after, limit)
}

/// Unresolved problems that are about no finding of a check. At most `limit`, after `after`.
pub fn conditions(
    tx: &mut dyn Transaction,
    after: Option<ProblemId>,
    limit: usize,
) -> Result<Vec<Problem>, RegistryError> {
    page(tx, Statement("problems.conditions"), after, limit)
}

fn page(
    tx: &mut dyn Transaction,
    statement: Statement,
    after: Option<ProblemId>,
    limit: usize,
) -> Result<Vec<Problem>, RegistryError> {
    let after = after.unwrap_or(ProblemId(Uuid::nil()));
    problems(&tx.query(statement, &[after.into(), limit.into()])?)
}

/// Waived problems whose time has ended; at most `limit`.
pub fn ended_waivers(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<Problem>, RegistryError> {
    let now = tx.now()?;
    problems(&tx.query(Statement("problems.waivers_ended"), &[now.into(), limit.into()])?)
}

/// The problem of this identifier, which must be within the scope.
pub fn find(tx: &mut dyn Transaction, scope: Scope, id: ProblemId) -> Result<Problem, RegistryError> {
    let row = tx.query_one(Statement("problems.get"), &[id.into(), scope.value()])?;
    row.as_ref()
        .map(problem)
        .transpose()?
        .ok_or_else(|| RegistryError::NotFound { what: "problem", id: id.to_string() })
}

/// Problems in order of their making, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: ProblemFilter<'_>,
    after: Option<ProblemId>,
    limit: usize,
) -> Result<Vec<Problem>, RegistryError> {
    let after = after.unwrap_or(ProblemId(Uuid::nil()));
    let values = [
        after.into(),
        scope.value(),
        filter.state.map(ProblemState::as_str).into(),
        filter.kind.into(),
        filter.store.into(),
        limit.into(),
    ];
    let all = filter.resolved_too || filter.state == Some(ProblemState::Resolved);
    problems(&tx.query(if all { Statement("problems.list_all") } else { Statement("problems.list") }, &values)?)
}

/// What became of a problem, oldest first.
pub fn history(tx: &mut dyn Transaction, id: ProblemId) -> Result<Vec<HistoryLine>, RegistryError> {
    let line = |row: &Row| {
        Ok(HistoryLine {
            number: row.count("number")?,
            time: row.time("time")?,
            state: row.text("state")?.parse()?,
            actor: row.text("actor")?.to_owned(),
            note: row.text("note")?.to_owned(),
        })
    };
    tx.query(Statement("problems.history"), &[id.into()])?.iter().map(line).collect()
}

fn problems(rows: &[Row]) -> Result<Vec<Problem>, RegistryError> {
    rows.iter().map(problem).collect()
}

fn problem(row: &Row) -> Result<Problem, RegistryError> {
    let text = |name| Ok::<_, RegistryError>(row.optional_text(name)?.map(str::to_owned));
    Ok(Problem {
        id: ProblemId(row.uuid("id")?),
        key: row.text("key")?.to_owned(),
        kind: row.text("kind")?.to_owned(),
        state: row.text("state")?.parse()?,
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        institution_identifier: text("institution_identifier")?,
        subject: row.text("subject")?.to_owned(),
        store: text("store")?,
        object: row.optional_uuid("object_id")?.map(ObjectId),
        finding: row.optional_uuid("finding_id")?.map(FindingId),
        detail: row.text("detail")?.to_owned(),
        assigned_to: text("assigned_to")?,
        ticket: text("ticket")?,
        reason: text("reason")?,
        waived_until: row.optional_time("waived_until")?,
        opened_at: row.time("opened_at")?,
        reopened_at: row.time("reopened_at")?,
        times_opened: row.count("times_opened")?,
        changed_at: row.time("changed_at")?,
        resolved_at: row.optional_time("resolved_at")?,
    })
}
