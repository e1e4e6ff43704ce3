//! Problems: what is wrong, who works on it, and what became of it.

use strongroom_credentials::AccountName;
use strongroom_registry::fixity as findings;
use strongroom_registry::problems::{self as record, Change, Problem, ProblemFilter};
use strongroom_registry::{FindingState, ProblemId, ProblemState, RegistryError, Scope, Time, Transaction, users};

use super::authorization::{PROBLEMS_ASSIGN, PROBLEMS_COMPARE, PROBLEMS_LIST, PROBLEMS_RESOLVE, PROBLEMS_WAIVE};
use super::views::{ProblemLineView, ProblemView};
use super::{Authorized, OpContext, PAGE, Page};
use crate::content_name::ContentName;
use crate::deletion::requests::check_words;
use crate::journal::Target;
use crate::problems::{self, Kind};
use crate::{EngineError, fixity};

/// Which problems are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those in this state.
    pub state: Option<ProblemState>,
    /// Only those of this kind, such as `store.away`, or of these kinds, such as `store`.
    pub kind: Option<String>,
    /// Only those about this store.
    pub store: Option<String>,
    /// Also those that are resolved.
    pub resolved_too: bool,
}

/// Who works on a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignee {
    /// A user, by the address.
    User(String),
    /// Another organization, by its reference, such as the ticket of a storage provider.
    Ticket(String),
    /// None: it is open again.
    None,
}

/// How the records compare with what is wrong now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// When they were compared last.
    pub at: Option<String>,
    /// Why the registry can only be read, where it can: nothing is compared with it then.
    pub read_only: Option<String>,
}

/// Compares the records with what is wrong now, for a caller who sees the whole installation. The problems of findings are always as the
/// findings are.
pub fn compare(context: &OpContext) -> Result<Compared, EngineError> {
    let authorized = context.authorize(&PROBLEMS_COMPARE)?;
    let home = authorized.home();
    if authorized.scope() == Scope::System && home.require_writable().is_ok() {
        problems::compare(home)?;
    }
    let at = authorized.read(problems::compared_at)?;
    Ok(Compared { at, read_only: home.registry.refusal().map(str::to_owned) })
}

/// Problems in the order in which they were first opened, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<ProblemId>,
) -> Result<Page<ProblemView, ProblemId>, EngineError> {
    let authorized = context.authorize(&PROBLEMS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    if let Some(kind) = &filter.kind {
        require_kind(kind)?;
    }
    let wanted = ProblemFilter {
        state: filter.state,
        kind: filter.kind.as_deref(),
        store: filter.store.as_deref(),
        resolved_too: filter.resolved_too,
    };
    let (items, next) = authorized.read(|tx| {
        let found = record::list(tx, scope, wanted, after, PAGE)?;
        let next = found.last().map(|problem| problem.id);
        let views = found.into_iter().map(|problem| view(tx, problem)).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, RegistryError>((views, next))
    })?;
    Ok(Page { items, next })
}

/// The problem that a text names: its identifier, or a part of it that no other problem has.
pub fn named(context: &OpContext, text: &str) -> Result<ProblemId, EngineError> {
    context.authorize(&PROBLEMS_LIST)?.named(text)
}

/// A problem with its history, oldest first.
pub fn show(context: &OpContext, id: ProblemId) -> Result<(ProblemView, Vec<ProblemLineView>), EngineError> {
    let authorized = context.authorize(&PROBLEMS_LIST)?;
    let scope = authorized.scope();
    Ok(authorized.read(|tx| {
        let known = record::find(tx, scope, id)?;
        let history = record::history(tx, id)?.into_iter().map(ProblemLineView::from).collect();
        Ok::<_, RegistryError>((view(tx, known)?, history))
    })?)
}

/// Notes who works on a problem.
///
/// # Errors
/// There is no such problem or user, or the problem is resolved.
pub fn assign(
    context: &OpContext,
    id: ProblemId,
    assignee: &Assignee,
    note: Option<&str>,
) -> Result<ProblemView, EngineError> {
    let authorized = context.authorize(&PROBLEMS_ASSIGN)?;
    let note = note.map(|note| check_words("note", note)).transpose()?;
    let (change, said) = match assignee {
        Assignee::User(email) => {
            let account = AccountName::new(email);
            let said = format!("assigned to {}", account.as_str());
            (Change::Assigned(account.as_str().to_owned()), said)
        }
        Assignee::Ticket(ticket) => {
            let ticket = check_words("ticket", ticket)?;
            let said = format!("ticket {ticket}");
            (Change::External(ticket), said)
        }
        Assignee::None => (Change::Opened, "assigned to no user".to_owned()),
    };
    let remark = note.map_or_else(|| said.clone(), |note| format!("{said}: {note}"));
    decide(&authorized, id, change, remark)
}

/// Notes that a problem may be there, for a reason, until a time or until another fault of the same is found. It is counted and shown as waived, not as
/// resolved.
///
/// # Errors
/// There is no such problem, it is resolved, the reason is empty, or the time has passed.
pub fn waive(
    context: &OpContext,
    id: ProblemId,
    reason: &str,
    until: Option<Time>,
) -> Result<ProblemView, EngineError> {
    let authorized = context.authorize(&PROBLEMS_WAIVE)?;
    let reason = check_words("reason", reason)?;
    if let Some(until) = until
        && until <= authorized.read(|tx| Ok::<_, RegistryError>(tx.now()?))?
    {
        return Err(EngineError::Usage(format!("{until} has passed")).next("give a time to come, or none"));
    }
    decide(&authorized, id, Change::Waived(reason.clone(), until), reason)
}

/// Finds out whether a problem is there still, and resolves it if it is not. What a finding of a fixity check is about is repaired first.
/// The answer is how the problem is then.
pub fn resolve(context: &OpContext, id: ProblemId) -> Result<ProblemView, EngineError> {
    let authorized = context.authorize(&PROBLEMS_RESOLVE)?;
    let (scope, actor) = (authorized.scope(), authorized.actor().clone());
    let known = authorized.read(|tx| record::find(tx, scope, id))?;
    let unresolved = |known: &Problem| (known.state != ProblemState::Resolved).then(|| known.detail.clone());
    let found = authorized.around_unless(
        &target(&known),
        |home| {
            let finding = known.finding.map(|finding| home.registry.read(|tx| findings::finding(tx, scope, finding)));
            if let Some(finding) = finding.transpose()?.flatten()
                && known.state != ProblemState::Resolved
                && finding.repaired_at.is_none()
            {
                fixity::repair(home, finding.id, Some(&actor))?;
            }
            problems::compare(home)?;
            Ok(home.registry.read(|tx| record::find(tx, scope, id))?)
        },
        unresolved,
    )?;
    Ok(authorized.read(|tx| view(tx, found.clone()))?)
}

/// Changes a problem that is not resolved, with a line of the journal.
fn decide(
    authorized: &Authorized<'_>,
    id: ProblemId,
    change: Change,
    remark: String,
) -> Result<ProblemView, EngineError> {
    let (scope, actor) = (authorized.scope(), authorized.actor().name.clone());
    let changed = authorized.write(move |tx| {
        let known = record::find(tx, scope, id)?;
        if let Change::Assigned(account) = &change {
            require_user(tx, &known, account)?;
        }
        let is_resolved = known.state == ProblemState::Resolved;
        if is_resolved || !record::change(tx, &known, &change, &actor, &remark)? {
            let state = record::find(tx, scope, id)?.state.to_string();
            let act = "change what is resolved".to_owned();
            return Err(RegistryError::State { what: "problem", id: id.to_string(), state, act });
        }
        Ok((target(&known), record::find(tx, scope, id)?))
    })?;
    Ok(authorized.read(|tx| view(tx, changed.clone()))?)
}

/// The user must exist, be active, and see the problem.
fn require_user(tx: &mut dyn Transaction, known: &Problem, account: &str) -> Result<(), RegistryError> {
    let user = users::find(tx, Scope::System, &AccountName::new(account))?;
    let sees = match user.scope() {
        Scope::System => true,
        Scope::Institution(id) => known.institution == Some(id),
    };
    if user.deactivated_at.is_some() || !sees {
        return Err(RegistryError::NotFound { what: "user who sees this problem", id: account.to_owned() });
    }
    Ok(())
}

fn target(known: &Problem) -> Target {
    let name = format!("problem {}, {} {}", known.id, known.kind, known.subject);
    match known.institution {
        Some(institution) => Target::of(institution, name),
        None => Target::of_system(name),
    }
}

/// The problem, with the names and newest details of what it is about.
fn view(tx: &mut dyn Transaction, problem: Problem) -> Result<ProblemView, RegistryError> {
    let finding = problem.finding.map(|id| findings::finding(tx, Scope::System, id)).transpose()?.flatten();
    let is_resolved = problem.state == ProblemState::Resolved;
    let mut view = ProblemView::from(problem);
    if let Some(finding) = finding {
        view.subject = ContentName::read(tx, &finding.object_identifier, finding.content)?.to_string();
        if is_resolved {
            // What the finding says now is what resolved it.
            return Ok(view);
        }
        view.detail = finding.detail;
        if finding.state == FindingState::Unrepairable {
            view.resolver = Some(
                "a person with a package that has the correct bytes, which repairs the copies; or an operator, by a store that is away",
            );
            let institution = &finding.institution_identifier;
            let name = finding.object_identifier.split_once('/').map_or("", |(_, name)| name);
            let name = for_shell(name);
            view.next =
                Some(format!("strongroom deposit PACKAGE --institution {institution} --primary-id {name} --wait"));
        }
    }
    Ok(view)
}

/// A text as a shell reads it as one argument.
fn for_shell(text: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_.,:@+".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn require_kind(kind: &str) -> Result<(), EngineError> {
    let fits = |known: &Kind| known.name == kind || known.name.split('.').next() == Some(kind);
    if Kind::ALL.iter().any(fits) {
        return Ok(());
    }
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name).collect();
    Err(EngineError::Usage(format!("there is no kind of problem {kind:?}"))
        .next(format!("use one of {}", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_argument_of_a_shell() {
        for (name, argument) in [
            ("letters-1923", "letters-1923"),
            ("\u{624b}\u{7d19}", "\u{624b}\u{7d19}"),
            ("box 7", "'box 7'"),
            ("Ann's; rm $HOME", r"'Ann'\''s; rm $HOME'"),
            ("", "''"),
        ] {
            assert_eq!(for_shell(name), argument);
        }
    }
}
