//! What becomes of a request: it is approved, denied or cancelled, by one of those who try at the same time.

use strongroom_registry::approval_tokens;
use strongroom_registry::batches::{self, BatchAct, BatchRequest, NewBatch, Step};
use strongroom_registry::deletion_requests::{self, Doer, Progress, Request};
use strongroom_registry::items::{self, Asker, NewItem, Request as ItemRequest};
use strongroom_registry::{
    BatchId, DeletionRequestId, DeletionRequestState, ItemId, JournalOutcome, RegistryError, Scope, Transaction,
    Workflows,
};

use super::noting::{forbidden, target};
use super::{Approval, BATCH_KIND, By, OF_REQUESTS, keeper, mails, obstacles, options, rules};
use crate::batch_acts::{self, Act};
use crate::event::Event;
use crate::{EngineError, Home, crash_point};

/// What a transaction made of a request.
enum Decided {
    /// What was asked.
    Done(Box<Request>, Vec<String>),
    /// Its time had run out, which is recorded.
    Expired,
}

/// Approves a request, which makes its batch with the work item that makes the others.
///
/// # Errors
/// There is no such request within the scope; it does not wait for approval; the user may not approve it; something stands against it; the token
/// was used.
pub(crate) fn approve(home: &Home, by: &By, approval: &Approval) -> Result<Request, EngineError> {
    let user = by.user()?;
    let id = approval.request;
    // Decided again below: the objects of a request that cannot be approved need not be looked up.
    let is_late = home.registry.read(|tx| {
        let before = deletion_requests::find(tx, by.scope, id)?;
        if before.state_at(tx.now()?) == DeletionRequestState::Expired {
            return Ok(true);
        }
        check_waits(&before, tx.now()?, "approve")?;
        rules::approver(tx, user, (&before).into())?;
        Ok::<_, EngineError>(false)
    })?;
    let found = if is_late { Vec::new() } else { obstacles::of_request(home, id)? };
    if !found.is_empty() {
        return Err(forbidden("approved", &found));
    }
    crash_point("deletion.approve.checked");
    let (batch, item) = (BatchId::new(), ItemId::new());
    let (by, approval, workflows, mail) =
        (by.clone(), approval.clone(), home.registry.workflows(), home.settings.mail.clone());
    let decided = home.registry.write(move |tx| {
        let before = deletion_requests::find(tx, by.scope, id)?;
        if keeper::expire_if_late(tx, &mail, id)? {
            return Ok(Decided::Expired);
        }
        check_waits(&before, tx.now()?, "approve")?;
        rules::approver(tx, user, (&before).into())?;
        let found = obstacles::of_first(tx, id)?;
        if !found.is_empty() {
            return Err(forbidden("approved", &found));
        }
        if let Some(token) = &approval.token
            && !approval_tokens::end(tx, token)?
        {
            return Err(EngineError::Refused("the token was used or has expired".to_owned())
                .next("sign in and check whether the request waits for approval"));
        }
        if !deletion_requests::approve(tx, id, (&by.doer, approval.note.as_deref()), approval.token.as_ref(), batch)? {
            return Err(state_error(&deletion_requests::find(tx, Scope::System, id)?, "approve"));
        }
        let request = deletion_requests::find(tx, Scope::System, id)?;
        let topic = make_batch(tx, workflows.as_ref(), &request, &by.doer, (batch, item))?;
        let of = target(tx, &request)?;
        by.entry.append(tx, &of, JournalOutcome::Done, approval.note.as_deref())?;
        mails::tell(tx, &mail, &request, mails::Act::Approved)?;
        Ok(Decided::Done(Box::new(request), vec![topic]))
    })?;
    finish(home, id, decided)
}

/// Adds to the journal that an approval was refused: who tried to approve a deletion alone has to be known. Where that fails, it is
/// refused all the same.
pub(crate) fn tell_of_refusal(home: &Home, by: &By, id: DeletionRequestId, error: &EngineError) {
    let cause = if let EngineError::Advised(advised) = error { &advised.error } else { error };
    if !matches!(cause, EngineError::NotAllowed { .. } | EngineError::Refused(_)) {
        return;
    }
    let (by, reason) = (by.clone(), cause.to_string());
    let told = home.registry.write(move |tx| {
        let Some(request) = deletion_requests::get(tx, by.scope, id)? else { return Ok(()) };
        let of = target(tx, &request)?;
        by.entry.append(tx, &of, JournalOutcome::Refused, Some(&reason))
    });
    if let Err(error) = told {
        Event::RegistryUnavailable { act: "record a refused approval in the journal", error: &error }.emit();
    }
}

fn make_batch(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    request: &Request,
    by: &Doer,
    (batch, item): (BatchId, ItemId),
) -> Result<String, RegistryError> {
    let new = NewBatch {
        id: batch,
        institution: request.institution,
        collection: None,
        kind: BATCH_KIND,
        submitted_by: &by.actor.name,
        note: None,
        row_count: None,
        notify_to: &[],
    };
    batches::create(tx, &new)?;
    let item = NewItem {
        id: item,
        batch: Some(batch),
        is_list: true,
        name: request.name.clone(),
        options: options(request.id)?,
        note: format!("requested by {}, approved by {}", request.requested.name, by.actor.name),
        actor: Some(by.actor.id),
        ..NewItem::new(OF_REQUESTS.action, request.institution, format!("{}/{batch}", request.institution_identifier))
    };
    items::create(tx, workflows, &item)
}

/// Denies a request that waits for approval.
pub(crate) fn deny(home: &Home, by: &By, id: DeletionRequestId, reason: &str) -> Result<Request, EngineError> {
    let (by, reason, mail) = (by.clone(), reason.to_owned(), home.settings.mail.clone());
    let decided = home.registry.write(move |tx| {
        let before = deletion_requests::find(tx, by.scope, id)?;
        if keeper::expire_if_late(tx, &mail, id)? {
            return Ok(Decided::Expired);
        }
        if !deletion_requests::deny(tx, id, &by.doer, &reason)? {
            return Err(state_error(&before, "deny"));
        }
        let request = deletion_requests::find(tx, Scope::System, id)?;
        let of = target(tx, &request)?;
        by.entry.append(tx, &of, JournalOutcome::Done, Some(&reason))?;
        mails::tell(tx, &mail, &request, mails::Act::Denied)?;
        Ok(Decided::Done(Box::new(request), Vec::new()))
    })?;
    finish(home, id, decided)
}

/// A request that was cancelled.
pub(crate) struct Cancelled {
    /// The request.
    pub(crate) request: Request,
    /// Where its work items are, where there are any: those that had begun go on.
    pub(crate) progress: Option<Progress>,
}

/// Cancels a request: its work items that have not begun to delete are cancelled.
///
/// # Errors
/// It is neither requested nor approved, or all its work items have begun.
pub(crate) fn cancel(home: &Home, by: &By, id: DeletionRequestId, reason: &str) -> Result<Cancelled, EngineError> {
    let act = Act {
        request: ItemRequest::Cancel,
        who: by.doer.actor.name.clone(),
        reason: Some(reason.to_owned()),
        takes_new_rules: false,
    };
    let (by, reason, mail, workflows) =
        (by.clone(), reason.to_owned(), home.settings.mail.clone(), home.registry.workflows());
    let asked = act.clone();
    let (decided, begun) = home.registry.write(move |tx| {
        let before = deletion_requests::find(tx, by.scope, id)?;
        if keeper::expire_if_late(tx, &mail, id)? {
            return Ok((Decided::Expired, None));
        }
        let mut begun = None;
        if let (DeletionRequestState::Approved, Some(batch)) = (before.state, before.batch) {
            // The batch before the request, as where its last item ends.
            let by = Asker { who: &asked.who, reason: asked.reason.as_deref() };
            let act = BatchAct { request: asked.request, by, step: Step::Begin, takes_new_rules: false };
            let done = batches::request(tx, workflows.as_ref(), Scope::System, batch, act)?;
            if !done.has_changed {
                return Err(EngineError::Refused(format!(
                    "request for deletion {id} cannot be cancelled: each of its work items has begun to delete, or has ended"
                ))
                .next(format!("\"strongroom delete show {id}\" shows where each is")));
            }
            begun = Some((batch, done));
        }
        if !deletion_requests::cancel(tx, id, &by.doer, &reason)? {
            return Err(state_error(&before, "cancel"));
        }
        let request = deletion_requests::find(tx, Scope::System, id)?;
        let of = target(tx, &request)?;
        by.entry.append(tx, &of, JournalOutcome::Done, Some(&reason))?;
        mails::tell(tx, &mail, &request, mails::Act::Cancelled)?;
        Ok((Decided::Done(Box::new(request), Vec::new()), begun))
    })?;
    let request = finish(home, id, decided)?;
    crash_point("deletion.cancel.begun");
    let Some((batch, BatchRequest { next, .. })) = begun else { return Ok(Cancelled { request, progress: None }) };
    // What is cut short here, the background task `holds` completes.
    if let Some(step) = next {
        batch_acts::go_on(home, batch, &act, step)?;
    }
    let progress = home.registry.read(|tx| deletion_requests::progress(tx, batch))?;
    Ok(Cancelled { request, progress: Some(progress) })
}

fn finish(home: &Home, id: DeletionRequestId, decided: Decided) -> Result<Request, EngineError> {
    match decided {
        Decided::Done(request, topics) => {
            home.registry.wakeups().notify(topics.iter().map(String::as_str));
            Ok(*request)
        }
        Decided::Expired => Err(expired(id)),
    }
}

fn expired(id: DeletionRequestId) -> EngineError {
    EngineError::Refused(format!("request for deletion {id} has expired: it was not approved in time"))
        .next("request the deletion again")
}

/// Refuses what does not wait for a decision.
fn check_waits(request: &Request, now: strongroom_registry::Time, act: &str) -> Result<(), EngineError> {
    match request.state_at(now) {
        DeletionRequestState::Requested => Ok(()),
        _ => Err(state_error(request, act)),
    }
}

/// The error where a request is not in a state for an act: who brought it there.
fn state_error(request: &Request, act: &str) -> EngineError {
    let Request { id, state, .. } = request;
    let by = match state {
        DeletionRequestState::Approved | DeletionRequestState::Completed | DeletionRequestState::Failed => {
            request.approved.as_ref()
        }
        DeletionRequestState::Denied | DeletionRequestState::Cancelled => request.closed.as_ref(),
        DeletionRequestState::Requested | DeletionRequestState::Expired => None,
    };
    let how = match (state, by) {
        (DeletionRequestState::Requested | DeletionRequestState::Expired, _) => return expired(*id),
        (DeletionRequestState::Denied, Some(by)) => format!("was denied by {} at {}", by.name, by.at),
        (DeletionRequestState::Cancelled, Some(by)) => format!("was cancelled by {} at {}", by.name, by.at),
        (DeletionRequestState::Cancelled, None) => "was cancelled with its work items".to_owned(),
        (DeletionRequestState::Completed | DeletionRequestState::Failed, Some(by)) => {
            format!("was approved by {}, and its work items have ended: it is {state}", by.name)
        }
        (_, Some(by)) => format!("was approved by {} at {}", by.name, by.at),
        (state, None) => format!("is {state}"),
    };
    EngineError::Refused(format!("could not {act} request for deletion {id}: it {how}"))
        .next(format!("\"strongroom delete show {id}\" shows it"))
}
