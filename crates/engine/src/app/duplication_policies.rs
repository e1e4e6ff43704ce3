//! Duplication policies: which spaces of plain stores are copied where, as versions of a document for each institution.

use std::collections::BTreeMap;

use strongroom_duplication::{Applied, Draft, LONGEST_POLICY, Lookup, Policy, Problem, Severity, shared_cycles};
use strongroom_registry::duplication_policies::{self as policies, NewPolicy, PolicyVersion, Setting};
use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::{RegistryError, Scope, UserId};

pub use strongroom_duplication::{ImportOptions, SourceFile};

use super::authorization::{
    DUPLICATION_POLICIES_APPROVE, DUPLICATION_POLICIES_CHECK, DUPLICATION_POLICIES_HISTORY,
    DUPLICATION_POLICIES_IMPORT, DUPLICATION_POLICIES_PREVIEW, DUPLICATION_POLICIES_SET, DUPLICATION_POLICIES_SHOW,
    Permission,
};
use super::deposits::only_institution;
use super::views::{
    ImportedPoliciesView, ImportedPolicyView, PlacementView, PolicyDocumentView, PolicyOutcome, PolicyPreviewView,
    PolicyVersionView, PolicyView, SetPolicyView, SpacePolicyView, SpaceRulesView,
};
use super::{Authorized, OpContext, Page, Shutdown, find_institution};
use crate::deletion::requests::check_words;
use crate::deletion::requests::rules::{self, Asked};
use crate::duplication::{
    changes_of, current, plain_stores, policies as every_policy, preview as compare, problems_of, read,
};
use crate::journal::Target;
use crate::{EngineError, Home};

/// Versions on a page: what each has changed is compared.
const PAGE: usize = 20;
/// The notice that rules delete only when the version is approved.
const NEEDS_APPROVAL: &str = "needs_approval";
/// Bytes of a file that are read: one more than it may have.
pub const READ: u64 = LONGEST_POLICY as u64 + 1;

/// A policy that is to be set.
#[derive(Debug, Clone, Default)]
pub struct NewVersion {
    /// The domain name of the institution; the only one where it is not given.
    pub institution: Option<String>,
    /// The policy, as TOML.
    pub file: Vec<u8>,
    /// Why it is set.
    pub reason: String,
    /// The version that it replaces; where it is not given, what the file says that it is based on.
    pub if_version: Option<u64>,
}

/// A version with its rules; without a number the newest one.
///
/// # Errors
/// There is no such version, or its document cannot be read.
pub fn show(context: &OpContext, institution: Option<&str>, version: Option<u64>) -> Result<PolicyView, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_SHOW, institution)?;
    let (found, newest) = found(&authorized, &of, version)?;
    let policy = read(&authorized.home().registry, of.id, found.version)?;
    let (changes, collections) = authorized.read(|tx| {
        let changes = changes_of(tx, of.id, &found)?;
        Ok((changes, tenants::collections(tx, Scope::Institution(of.id), false)?))
    })?;
    let settings = &authorized.home().settings;
    let mut problems = problems_of(&policy, settings);
    advise_approval(&mut problems, &of.identifier, found.version, found.may_delete());
    let placement = |collection: tenants::Collection| {
        let placement = collection.rules.placement.unwrap_or_else(|| settings.ingest.default_placement.clone());
        let stores = settings.placement(&placement).unwrap_or_default().to_vec();
        PlacementView { collection: collection.identifier, placement, stores }
    };
    Ok(PolicyView {
        version: PolicyVersionView::new(&of.identifier, found, newest, changes),
        problems,
        ignore: policy.ignore.iter().map(ToString::to_string).collect(),
        default: policy.default,
        spaces: policy
            .spaces
            .into_iter()
            .map(|entry| SpaceRulesView { space: entry.space.to_string(), rules: entry.rules })
            .collect(),
        placements: collections.into_iter().map(placement).collect(),
    })
}

/// The rules of a space, and why it has these; by the newest version where no number is given, as workers do it.
///
/// # Errors
/// As [`show`].
pub fn show_space(
    context: &OpContext,
    institution: Option<&str>,
    version: Option<u64>,
    space: &str,
) -> Result<SpacePolicyView, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_SHOW, institution)?;
    let view = |lookup: &Lookup, version, may_delete| {
        let applied = lookup.rules_for(space);
        let is_ignored = matches!(applied, Applied::Ignored(_));
        let entries = lookup.entries_for(space).skip(usize::from(!is_ignored));
        SpacePolicyView {
            institution: of.identifier.clone(),
            version,
            space: space.to_owned(),
            why: applied.to_string(),
            rules: applied.rules().to_vec(),
            may_delete,
            less_specific: entries.map(|entry| entry.space.to_string()).collect(),
        }
    };
    if version.is_none() {
        let current = current(authorized.home(), of.id)?.ok_or_else(|| none(&of.identifier))?;
        return Ok(view(current.lookup(), current.version, current.may_delete));
    }
    let (found, _) = found(&authorized, &of, version)?;
    let lookup = Lookup::new(read(&authorized.home().registry, of.id, found.version)?);
    Ok(view(&lookup, found.version, found.may_delete()))
}

/// The document of a version, as it is changed and set again; without a number of the newest one.
///
/// # Errors
/// As [`show`].
pub fn document(
    context: &OpContext,
    institution: Option<&str>,
    version: Option<u64>,
) -> Result<PolicyDocumentView, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_SHOW, institution)?;
    let (found, newest) = found(&authorized, &of, version)?;
    let policy = read(&authorized.home().registry, of.id, found.version)?;
    // An older version that is set again replaces the newest one.
    let document = policy.to_toml(Some(newest));
    Ok(PolicyDocumentView { institution: of.identifier, version: found.version, document })
}

/// What a version would copy of each space that the stores have, by their listings alone; without a number the newest one. `take` gets one line
/// after the other. A store that does not answer is a line, too.
///
/// # Errors
/// As [`show`], or `take` fails.
pub fn preview(
    context: &OpContext,
    institution: Option<&str>,
    version: Option<u64>,
    stop: &Shutdown,
    take: &mut dyn FnMut(PolicyPreviewView) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_PREVIEW, institution)?;
    let (found, _) = found(&authorized, &of, version)?;
    let home = authorized.home();
    let lookup = Lookup::new(read(&home.registry, of.id, found.version)?);
    compare(home, &lookup, stop, &mut |line| take(PolicyPreviewView::from(line)))
}

/// The versions of the policy of an institution, the oldest first, behind `after`.
pub fn history(
    context: &OpContext,
    institution: Option<&str>,
    after: Option<u64>,
) -> Result<Page<PolicyVersionView, u64>, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_HISTORY, institution)?;
    let items = authorized.read(|tx| {
        let newest = policies::newest(tx, of.id)?.map_or(0, |newest| newest.version);
        let versions = policies::list(tx, of.id, after.unwrap_or(0), PAGE)?;
        let view = |version: PolicyVersion| {
            let changes = changes_of(tx, of.id, &version)?;
            Ok(PolicyVersionView::new(&of.identifier, version, newest, changes))
        };
        versions.into_iter().map(view).collect::<Result<Vec<_>, RegistryError>>()
    })?;
    let next = items.last().map(|last| last.version).filter(|_| items.len() == PAGE);
    Ok(Page { items, next })
}

/// Checks a policy without setting it: every problem, and what it would change.
pub fn check(context: &OpContext, institution: Option<&str>, file: &[u8]) -> Result<SetPolicyView, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_CHECK, institution)?;
    let newest = authorized.read(|tx| policies::newest(tx, of.id))?;
    let (draft, problems) = checked(authorized.home(), file);
    let mut view = view_of(&authorized, &of, newest.as_ref(), draft, problems)?;
    if view.outcome == PolicyOutcome::Valid && newest.is_some() && view.changes.is_empty() {
        view.outcome = PolicyOutcome::Unchanged;
    }
    // The version that it would be.
    let version = view.version.unwrap_or_default() + u64::from(view.outcome != PolicyOutcome::Unchanged);
    finish(&mut view, version, newest.as_ref());
    Ok(view)
}

/// Sets a policy as the next version. Where anything is wrong with it, nothing is changed, and the answer has all that is wrong.
///
/// # Errors
/// The reason is empty or too long; there is a newer version than the one that the policy replaces; a rule deletes, and the actor is no user.
pub fn set(context: &OpContext, new: &NewVersion) -> Result<SetPolicyView, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_SET, new.institution.as_deref())?;
    let reason = check_words("reason", &new.reason)?;
    let (draft, problems) = checked(authorized.home(), &new.file);
    let based_on = new.if_version.or(draft.based_on()).filter(|version| *version > 0);
    let newest = authorized.read(|tx| policies::newest(tx, of.id))?;
    let mut view = view_of(&authorized, &of, newest.as_ref(), draft.clone(), problems)?;
    if view.outcome == PolicyOutcome::Refused {
        let version = view.version.unwrap_or_default() + 1;
        finish(&mut view, version, None);
        return Ok(view);
    }
    let policy = draft.into_policy();
    let (outcome, version) = put(&authorized, &of, &policy, based_on, &reason)?;
    (view.outcome, view.version) = (outcome, Some(version));
    finish(&mut view, version, newest.as_ref());
    Ok(view)
}

/// Says how the version is approved; `newest` is the newest one before.
fn finish(view: &mut SetPolicyView, version: u64, newest: Option<&PolicyVersion>) {
    let is_approved = newest.is_some_and(|newest| {
        view.outcome == PolicyOutcome::Unchanged && newest.version == version && newest.may_delete()
    });
    advise_approval(&mut view.problems, &view.institution, version, is_approved);
}

/// Names the command that approves a version; where it is approved, nothing is to be done.
fn advise_approval(problems: &mut Vec<Problem>, institution: &str, version: u64, is_approved: bool) {
    if is_approved {
        problems.retain(|problem| problem.code != NEEDS_APPROVAL);
    }
    for problem in problems.iter_mut().filter(|problem| problem.code == NEEDS_APPROVAL) {
        problem.next = format!(
            "another user approves it: \"strongroom --as EMAIL duplicate policy approve {version} --institution {institution}\""
        );
    }
}

/// Cycles that the rules form with those of other institutions, as notices. Only who sees the policies of every institution learns of them.
fn shared(authorized: &Authorized<'_>, of: &Institution, policy: &Policy) -> Result<Vec<Problem>, EngineError> {
    if authorized.whole_scope() != Scope::System {
        return Ok(Vec::new());
    }
    let home = authorized.home();
    let mut others = Vec::new();
    for (id, policy) in every_policy(home)?.into_iter().filter(|(id, _)| *id != of.id) {
        let other = authorized.read(|tx| tenants::institution_by_id(tx, Scope::System, id))?;
        others.extend(other.map(|other| (other.identifier, policy)));
    }
    let lookups: Vec<(&str, &Lookup)> =
        others.iter().map(|(identifier, policy)| (identifier.as_str(), policy.lookup())).collect();
    let notice = |cycle: strongroom_duplication::SharedCycle| {
        let (stores, names) = (cycle.stores.join(" -> "), cycle.others.join(", "));
        let show =
            cycle.others.iter().map(|other| format!("\"strongroom duplicate policy show --institution {other}\""));
        Problem {
            severity: Severity::Notice,
            code: "shared_cycle",
            line: None,
            place: None,
            problem: format!(
                "for spaces such as {}, the rules form a cycle with those of {names}: {stores}. Conflicts between rules of different \
                 institutions are not found: an older version can replace a newer one",
                cycle.space
            ),
            next: format!(
                "let one institution copy these spaces in both directions, or none: {} shows the rules",
                show.collect::<Vec<_>>().join(", ")
            ),
        }
    };
    Ok(shared_cycles(&Lookup::new(policy.clone()), &lookups).into_iter().map(notice).collect())
}

/// Imports the policies of DuraCloud, each as the next version of its institution: `institutions` says which one an account is; it is the one of
/// the same name otherwise. An account that cannot be imported stops no other one. With `is_trial` nothing is changed.
///
/// # Errors
/// The reason is empty or too long; rules are to delete, and the actor is no user.
pub fn import(
    context: &OpContext,
    files: &[SourceFile],
    options: &ImportOptions,
    institutions: &BTreeMap<String, String>,
    (reason, is_trial): (&str, bool),
) -> Result<ImportedPoliciesView, EngineError> {
    let authorized = context.authorize(&DUPLICATION_POLICIES_IMPORT)?;
    let reason = check_words("reason", reason)?;
    if options.delete && !is_trial {
        require_user(&authorized)?;
    }
    let imported = strongroom_duplication::import(files, options);
    let mut view = ImportedPoliciesView { accounts: Vec::new(), problems: imported.problems, notes: imported.notes };
    for account in imported.accounts {
        let name = institutions.get(&account.account).unwrap_or(&account.account).clone();
        let mut one = ImportedPolicyView {
            account: account.account,
            institution: None,
            outcome: PolicyOutcome::Refused,
            version: None,
            changes: account.changes,
            problems: account.problems,
        };
        if let Some(policy) = account.policy {
            match import_one(&authorized, &name, &policy, &reason, is_trial) {
                Ok((outcome, version)) => {
                    (one.outcome, one.version, one.institution) = (outcome, version, Some(name));
                }
                Err(error) if error.is_transient() => return Err(error),
                // What an import that does not happen would change is not of interest.
                Err(error) => (one.changes, one.problems) = (Vec::new(), lines_of(error)),
            }
        }
        view.accounts.push(one);
    }
    for account in institutions.keys().filter(|account| !view.accounts.iter().any(|one| one.account == **account)) {
        view.notes.push(format!("there is no account {account}, for which an institution was given"));
    }
    Ok(view)
}

/// Approves the newest version, so that its rules delete where they say so.
///
/// # Errors
/// There is no such version, it is not the newest one, nothing of it needs approval, or it is approved; the actor is no user, is the one who set
/// it, or may not approve what that one set; at the console the settings do not allow approvals.
pub fn approve(context: &OpContext, institution: Option<&str>, version: u64) -> Result<PolicyVersionView, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_POLICIES_APPROVE, institution)?;
    if context.console_account().is_some() && !authorized.home().settings.deletion.console_approval {
        return Err(EngineError::Refused(
            "what deletes is not approved on the command line: deletion.console_approval is false in the settings"
                .to_owned(),
        )
        .next("approve it as a user who has signed in"));
    }
    let user = require_user(&authorized)?;
    let (actor, entry, id) = (authorized.actor().clone(), authorized.entry(), of.id);
    let (target, identifier) = (target(&of, version), of.identifier.clone());
    let approved = authorized.home().registry.write(move |tx| {
        if policies::newest(tx, id)?.is_none() {
            return Err(none(&identifier));
        }
        let found = policies::get(tx, id, version)?;
        if let (true, Some(requester)) = (found.deletes, found.user) {
            let asked = Asked {
                requester,
                institution: id,
                at: found.set_at,
                approving: DUPLICATION_POLICIES_APPROVE.name,
                otherwise: "another user can set the policy again",
            };
            rules::approver(tx, user, asked)?;
        }
        let approved = policies::approve(tx, id, version, &actor)?;
        entry.done(tx, &target)?;
        let changes = changes_of(tx, id, &approved)?;
        Ok::<_, EngineError>((approved, changes))
    });
    let (approved, changes) = approved.map_err(|error| advised(error, &of.identifier))?;
    Ok(PolicyVersionView::new(&of.identifier, approved, version, changes))
}

/// The institution that an act is about; the only one where it is not given.
pub(super) fn begin<'c>(
    context: &'c OpContext,
    permission: &'static Permission,
    institution: Option<&str>,
) -> Result<(Authorized<'c>, Institution), EngineError> {
    // Who may not do it learns nothing of which institutions there are.
    context.authorize(permission)?;
    let institution = institution.map_or_else(|| only_institution(context), |name| Ok(name.to_owned()))?;
    context.authorize_in(permission, &institution)
}

fn target(of: &Institution, version: u64) -> Target {
    Target::of(of.id, format!("duplication policy version {version}"))
}

fn none(institution: &str) -> EngineError {
    EngineError::Absent(format!("{institution} has no duplication policy"))
        .next(format!("\"strongroom duplicate policy set FILE --reason TEXT --institution {institution}\" sets one"))
}

/// A version, and the number of the newest one.
fn found(
    authorized: &Authorized<'_>,
    of: &Institution,
    version: Option<u64>,
) -> Result<(PolicyVersion, u64), EngineError> {
    let (newest, found) = authorized
        .read(|tx| {
            let Some(newest) = policies::newest(tx, of.id)? else { return Ok(None) };
            let found = version.map_or_else(|| Ok(newest.clone()), |version| policies::get(tx, of.id, version))?;
            Ok(Some((newest.version, found)))
        })
        .map_err(|error| advised(error.into(), &of.identifier))?
        .ok_or_else(|| none(&of.identifier))?;
    Ok((found, newest))
}

fn advised(error: EngineError, institution: &str) -> EngineError {
    let history = format!("\"strongroom duplicate policy history --institution {institution}\" lists the versions");
    match error {
        error @ EngineError::Registry(RegistryError::NotFound { .. } | RegistryError::State { .. }) => {
            error.next(history)
        }
        error => error,
    }
}

/// What could be read of a file, and everything that is wrong with it.
fn checked(home: &Home, file: &[u8]) -> (Draft, Vec<Problem>) {
    let (draft, mut problems) = Draft::read(file);
    // What could be read is checked as well, so that all is corrected at once.
    let meant = draft.check(&plain_stores(&home.settings));
    let is_whole = problems.is_empty();
    problems.extend(meant.into_iter().filter(|problem| is_whole || problem.is_error()));
    problems.sort_by_key(|problem| problem.line);
    (draft, problems)
}

fn view_of(
    authorized: &Authorized<'_>,
    of: &Institution,
    newest: Option<&PolicyVersion>,
    draft: Draft,
    mut problems: Vec<Problem>,
) -> Result<SetPolicyView, EngineError> {
    let is_refused = problems.iter().any(Problem::is_error);
    let policy = draft.into_policy();
    if !is_refused {
        problems.extend(shared(authorized, of, &policy)?);
    }
    let before = newest.map(|newest| read(&authorized.home().registry, of.id, newest.version));
    let changes = match before {
        _ if is_refused => Vec::new(),
        // One that cannot be read is replaced as a whole.
        None | Some(Err(_)) => strongroom_duplication::changes(&Policy::default(), &policy),
        Some(Ok(before)) => strongroom_duplication::changes(&before, &policy),
    };
    Ok(SetPolicyView {
        institution: of.identifier.clone(),
        outcome: if is_refused { PolicyOutcome::Refused } else { PolicyOutcome::Valid },
        version: newest.map(|newest| newest.version),
        deletes: policy.deletes(),
        changes,
        problems,
    })
}

/// Sets a policy that has no problems.
fn put(
    authorized: &Authorized<'_>,
    of: &Institution,
    policy: &Policy,
    based_on: Option<u64>,
    reason: &str,
) -> Result<(PolicyOutcome, u64), EngineError> {
    let user = if policy.deletes() { Some(require_user(authorized)?) } else { authorized.user() };
    let new = NewPolicy {
        institution: of.id,
        based_on,
        document: policy.to_json(),
        deletes: policy.deletes(),
        reason: reason.to_owned(),
        actor: authorized.actor().clone(),
        user,
    };
    let (entry, owner) = (authorized.entry(), of.clone());
    let setting = authorized.home().registry.write(move |tx| {
        let setting = policies::set(tx, &new)?;
        if let Setting::Set(version) = &setting {
            entry.done(tx, &target(&owner, version.version))?;
        }
        Ok::<_, RegistryError>(setting)
    })?;
    match setting {
        Setting::Set(version) => Ok((PolicyOutcome::Set, version.version)),
        Setting::Unchanged(version) => Ok((PolicyOutcome::Unchanged, version.version)),
        Setting::Newer(newest) => Err(newer(&of.identifier, based_on, newest)),
    }
}

/// Why a policy that was made from another version is not set.
fn newer(institution: &str, based_on: Option<u64>, newest: Option<PolicyVersion>) -> EngineError {
    let made = based_on.map_or_else(
        || "this one does not say from which version it was made".to_owned(),
        |version| format!("this one was made from version {version}"),
    );
    match newest {
        Some(newest) => EngineError::Refused(format!(
            "{institution} has version {} of its duplication policy, set by {} at {}, and {made}",
            newest.version, newest.set_by, newest.set_at
        ))
        .next(format!(
            "compare it with \"strongroom duplicate policy show --institution {institution} --document\", and set yours with --if-version {}",
            newest.version
        )),
        None => EngineError::Refused(format!("{institution} has no duplication policy, and {made}"))
            .next("leave --if-version and based_on out"),
    }
}

/// The user who acts: what deletes is set by one user and approved by another one.
fn require_user(authorized: &Authorized<'_>) -> Result<UserId, EngineError> {
    authorized.user().ok_or_else(|| {
        EngineError::Refused(
            "rules that delete are set by one user and approved by another one, and the actor is no user".to_owned(),
        )
        .next("name the user with --as EMAIL; \"strongroom user list\" shows the users")
    })
}

fn import_one(
    authorized: &Authorized<'_>,
    institution: &str,
    policy: &Policy,
    reason: &str,
    is_trial: bool,
) -> Result<(PolicyOutcome, Option<u64>), EngineError> {
    let of = authorized.read(|tx| find_institution(tx, authorized.scope(), institution)).map_err(|error| {
        EngineError::from(error).next("say which institution the account is: --account ACCOUNT=DOMAIN")
    })?;
    let problems: Vec<String> = problems_of(policy, &authorized.home().settings)
        .into_iter()
        .filter(Problem::is_error)
        .map(|one| format!("{}: {}", one.place.unwrap_or_default(), one.problem))
        .collect();
    if !problems.is_empty() {
        return Err(EngineError::CheckFailed(problems.join("; ")));
    }
    let newest = authorized.read(|tx| policies::newest(tx, of.id))?.map(|newest| newest.version);
    if is_trial {
        return Ok((PolicyOutcome::Valid, newest));
    }
    if let Some(newest) = newest
        && read(&authorized.home().registry, of.id, newest).is_ok_and(|known| known != *policy)
    {
        return Err(EngineError::Refused(format!("{institution} has version {newest} of a duplication policy already")).next(
            format!(
                "an import replaces none: write the rules of the files into what \"strongroom duplicate policy show --document --institution \
                 {institution}\" prints, and set that"
            ),
        ));
    }
    let (outcome, version) = put(authorized, &of, policy, newest, reason)?;
    Ok((outcome, Some(version)))
}

fn lines_of(error: EngineError) -> Vec<String> {
    match error {
        EngineError::Advised(advised) => vec![advised.error.chain(), format!("next: {}", advised.next)],
        error => vec![error.chain()],
    }
}
