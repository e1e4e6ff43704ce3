//! Deletions: requests of one user that another one approves. Who may ask and approve is in `deletion/requests/rules.rs`; the table of
//! authorization lets admins come so far.

use strongroom_credentials::{Token, TokenKind};
use strongroom_registry::approval_tokens;
use strongroom_registry::deletion_requests::{self, Doer, Request};
use strongroom_registry::deletion_targets::{self, TargetCursor};
use strongroom_registry::deletions::{self, UnfinishedCursor};
use strongroom_registry::{DeletionRequestId, DeletionRequestState, RegistryError};

use super::authorization::{
    DELETIONS_APPROVE, DELETIONS_CANCEL, DELETIONS_DENY, DELETIONS_LIST, DELETIONS_REQUEST, DELETIONS_SHOW, Permission,
};
use super::views::{DeletionTargetView, DeletionView, UnfinishedDeletionView};
use super::{Authorized, OpContext, PAGE, Page};
use crate::EngineError;
use crate::arks::find_object;
use crate::deletion::requests::{self, Approval, By, Cancelled, NameOfTarget, check_words};

/// Requests the deletion of an object, or of files of it by their paths as in the package.
///
/// # Errors
/// As [`of_list`].
pub fn of_object(
    context: &OpContext,
    object: &str,
    paths: &[String],
    reason: &str,
) -> Result<DeletionView, EngineError> {
    let name = |path: Option<&String>| NameOfTarget { object: object.to_owned(), path: path.cloned() };
    if paths.is_empty() {
        return request(context, &mut std::iter::once(Ok(name(None))), reason);
    }
    request(context, &mut paths.iter().map(|path| Ok(name(Some(path)))), reason)
}

/// Requests the deletion of what lines name: an object, or an object, a tab and the path of a file of it. What follows `#` at the beginning of a
/// line is a comment. The lines are taken as they come, and need not fit into memory.
///
/// # Errors
/// The actor is no user who may ask; no object is named, or more than may be; something does not exist, was deleted, is named by another open
/// request, or may not be deleted now; or the objects belong to several institutions. Nothing is made then.
pub fn of_list(
    context: &OpContext,
    lines: &mut dyn Iterator<Item = Result<String, EngineError>>,
    reason: &str,
) -> Result<DeletionView, EngineError> {
    let mut names = lines.filter_map(|line| line.map(|line| name_in(&line)).transpose());
    request(context, &mut names, reason)
}

/// What a line of a list names.
fn name_in(line: &str) -> Option<NameOfTarget> {
    if line.starts_with('#') || line.trim().is_empty() {
        return None;
    }
    Some(match line.split_once('\t') {
        Some((object, path)) => NameOfTarget { object: object.trim().to_owned(), path: Some(path.to_owned()) },
        None => NameOfTarget { object: line.trim().to_owned(), path: None },
    })
}

fn request(
    context: &OpContext,
    names: &mut dyn Iterator<Item = Result<NameOfTarget, EngineError>>,
    reason: &str,
) -> Result<DeletionView, EngineError> {
    let (authorized, by) = authorized(context, &DELETIONS_REQUEST)?;
    let reason = check_words("reason", reason)?;
    let id = requests::request(authorized.home(), (&by, &reason), names)?;
    view(&authorized, id)
}

/// Approves a request at the console, where the user is named and not proved.
///
/// # Errors
/// The settings do not allow that, or the actor is not at the console; the actor is no user, the same as the requester, or may not approve it;
/// the request does not wait for approval; or something stands against the deletion.
pub fn approve(context: &OpContext, id: DeletionRequestId, note: Option<&str>) -> Result<DeletionView, EngineError> {
    let (authorized, by) = authorized(context, &DELETIONS_APPROVE)?;
    let note = note.map(|note| check_words("note", note)).transpose()?;
    let approval = Approval { request: id, note, token: None };
    let approved = if context.console_account().is_none() {
        Err(EngineError::Refused("a request for deletion is approved with the token of a mail".to_owned())
            .next("use the token of the newest mail about the request"))
    } else if authorized.home().settings.deletion.console_approval {
        requests::approve(authorized.home(), &by, &approval).map(drop)
    } else {
        Err(EngineError::Refused(
            "deletions are not approved on the command line: deletion.console_approval is false in the settings"
                .to_owned(),
        )
        .next("\"strongroom --as EMAIL delete approve --token-stdin\" takes the token of the mail"))
    };
    approved.inspect_err(|error| requests::tell_of_refusal(authorized.home(), &by, id, error))?;
    view(&authorized, id)
}

/// Approves the request to which a token belongs, which was sent to the user who acts.
///
/// # Errors
/// As [`approve`]; or the token is none of this user, was used, or has expired: the answer does not say which.
pub fn approve_by_token(context: &OpContext, token: &str, note: Option<&str>) -> Result<DeletionView, EngineError> {
    let (authorized, by) = authorized(context, &DELETIONS_APPROVE)?;
    let wrong = || {
        EngineError::Refused("the token approves nothing: it is not valid, or not for this user".to_owned())
            .next("use the token of the newest mail about the request, as the user to whom it was sent")
    };
    let token = Token::parse(token, TokenKind::DeletionApproval).map_err(|_| wrong())?;
    let found = authorized.read(|tx| {
        let Some(stored) = approval_tokens::get(tx, &token.id())? else { return Ok(None) };
        let is_valid = stored.digest.is_of(&token)
            && stored.validity.check(tx.now()?.timestamp()).is_ok()
            && by.doer.user == Some(stored.user);
        Ok(is_valid.then_some(stored.request))
    })?;
    let id = found.ok_or_else(wrong)?;
    let note = note.map(|note| check_words("note", note)).transpose()?;
    let approval = Approval { request: id, note, token: Some(token.id()) };
    requests::approve(authorized.home(), &by, &approval)
        .inspect_err(|error| requests::tell_of_refusal(authorized.home(), &by, id, error))?;
    view(&authorized, id)
}

/// Denies a request that waits for approval.
pub fn deny(context: &OpContext, id: DeletionRequestId, reason: &str) -> Result<DeletionView, EngineError> {
    let (authorized, by) = authorized(context, &DELETIONS_DENY)?;
    requests::deny(authorized.home(), &by, id, &check_words("reason", reason)?)?;
    view(&authorized, id)
}

/// Cancels a request that waits for approval, or is approved: its work items that have not begun to delete are cancelled, and those that have
/// go on. The request as it is then says how many these are.
pub fn cancel(context: &OpContext, id: DeletionRequestId, reason: &str) -> Result<DeletionView, EngineError> {
    let (authorized, by) = authorized(context, &DELETIONS_CANCEL)?;
    let Cancelled { request, progress } =
        requests::cancel(authorized.home(), &by, id, &check_words("reason", reason)?)?;
    let now = authorized.read(|tx| Ok(tx.now()?))?;
    Ok(DeletionView::new(&request, now, progress))
}

/// Which requests are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those about objects of this institution.
    pub institution: Option<String>,
    /// Only this state.
    pub state: Option<DeletionRequestState>,
    /// Only those that name this object, or files of it.
    pub object: Option<String>,
}

/// Requests in the order in which they were made, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<DeletionRequestId>,
) -> Result<Page<DeletionView, DeletionRequestId>, EngineError> {
    let authorized = context.authorize(&DELETIONS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let (found, now) = authorized.read(|tx| {
        let object = filter.object.as_deref().map(|name| find_object(tx, scope, name)).transpose()?;
        let wanted = deletion_requests::Filter { state: filter.state, object: object.map(|object| object.id) };
        Ok((deletion_requests::list(tx, scope, &wanted, after, PAGE)?, tx.now()?))
    })?;
    let next = found.last().map(|last| last.id);
    Ok(Page { items: found.iter().map(|request| DeletionView::new(request, now, None)).collect(), next })
}

/// What was deleted and is still to be removed from stores, in the order of the objects, after `after`.
pub fn unfinished(
    context: &OpContext,
    after: Option<UnfinishedCursor>,
) -> Result<Page<UnfinishedDeletionView, UnfinishedCursor>, EngineError> {
    let authorized = context.authorize(&DELETIONS_LIST)?;
    let scope = authorized.scope();
    let found = authorized.read(move |tx| deletions::list_unfinished(tx, scope, after.as_ref(), PAGE))?;
    let next = found.last().map(deletions::Unfinished::cursor);
    Ok(Page { items: found.into_iter().map(UnfinishedDeletionView::from).collect(), next })
}

/// The request that a text names, by its identifier or a part of it.
pub fn named(context: &OpContext, text: &str) -> Result<DeletionRequestId, EngineError> {
    context.authorize(&DELETIONS_SHOW)?.named(text)
}

/// One of them, with how far its work items are.
pub fn show(context: &OpContext, id: DeletionRequestId) -> Result<DeletionView, EngineError> {
    view(&context.authorize(&DELETIONS_SHOW)?, id)
}

/// What a request names, with how far each is, after `after`.
pub fn targets(
    context: &OpContext,
    id: DeletionRequestId,
    after: Option<TargetCursor>,
) -> Result<Page<DeletionTargetView, TargetCursor>, EngineError> {
    let authorized = context.authorize(&DELETIONS_SHOW)?;
    let found = authorized.read(|tx| {
        deletion_requests::find(tx, authorized.scope(), id)?;
        deletion_targets::list(tx, id, after, PAGE)
    })?;
    let next = found.last().map(deletion_targets::Target::cursor);
    Ok(Page { items: found.into_iter().map(DeletionTargetView::from).collect(), next })
}

fn view(authorized: &Authorized<'_>, id: DeletionRequestId) -> Result<DeletionView, EngineError> {
    Ok(authorized.read(|tx| {
        let request: Request = deletion_requests::find(tx, authorized.scope(), id)?;
        let progress = request.batch.map(|batch| deletion_requests::progress(tx, batch)).transpose()?;
        Ok::<_, RegistryError>(DeletionView::new(&request, tx.now()?, progress))
    })?)
}

/// An act of the user who acts, where the table allows it.
fn authorized<'c>(
    context: &'c OpContext,
    permission: &'static Permission,
) -> Result<(Authorized<'c>, By), EngineError> {
    let authorized = context.authorize(permission)?;
    let doer = Doer {
        actor: authorized.actor().clone(),
        user: context.user(),
        account: context.console_account().map(str::to_owned),
    };
    let by = By { scope: authorized.scope(), doer, entry: authorized.entry() };
    Ok((authorized, by))
}
