//! Requests for deletion: one user asks, another one approves, and only then there are work items. `noting` checks and notes what is named,
//! `rules` says who may ask and approve, `decisions` approves, denies and cancels, `expand` makes the work items, `obstacles` says what stands
//! against a deletion, `mails` tells the admins, and `keeper` does what follows from time and from the ends of work items.

mod decisions;
mod expand;
mod keeper;
mod mails;
mod noting;
pub(super) mod obstacles;
pub(crate) mod rules;

use strongroom_credentials::TokenId;
use strongroom_registry::deletion_requests::{self, Doer, Options};
use strongroom_registry::deletion_targets;
use strongroom_registry::deletions;
use strongroom_registry::items::Item;
use strongroom_registry::{
    Action, DeletionRequestId, DeletionRequestState, RegistryError, Scope, Stage as Name, Transaction, UserId,
};

use crate::EngineError;
use crate::journal::JournalEntry;
use crate::workflow::{Passes, Stage, WaitsFor, Workflow};

pub(crate) use decisions::{Cancelled, approve, cancel, deny, tell_of_refusal};
pub(crate) use keeper::keep;
pub(crate) use noting::{NameOfTarget, request};
pub(crate) use strongroom_registry::deletion_requests::BATCH_KIND;

/// The longest reason and the longest note, in characters.
pub(crate) const LONGEST_WORDS: usize = 2_000;

/// What makes the work items of a request. The registry's statements name the action, too.
pub(crate) const OF_REQUESTS: Workflow = Workflow {
    action: Action::named("delete_batch"),
    group: "deletion",
    stages: &[Stage {
        name: Name::named("expand"),
        run: expand::run,
        waits_for: WaitsFor::Time,
        inline: false,
        passes: Passes::None,
        is_remote: None,
    }],
    restart: Some(restart),
    restage: None,
};

/// A user who does something with requests.
#[derive(Debug, Clone)]
pub(crate) struct By {
    /// What the actor sees.
    pub(crate) scope: Scope,
    /// Who acts.
    pub(crate) doer: Doer,
    /// The line of the journal.
    pub(crate) entry: JournalEntry,
}

impl By {
    /// The user, who is needed for what two users have to want.
    pub(super) fn user(&self) -> Result<UserId, EngineError> {
        self.doer.user.ok_or_else(|| {
            EngineError::Refused(format!(
                "{} is no user of the registry, and a deletion is requested and approved by two users",
                self.doer.actor.name
            ))
            .next("name the user who acts with --as EMAIL; \"strongroom user list\" shows the users")
        })
    }
}

/// How a request is approved.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    /// The request.
    pub(crate) request: DeletionRequestId,
    /// What the approver says of it.
    pub(crate) note: Option<String>,
    /// The token that was presented; none at the console.
    pub(crate) token: Option<TokenId>,
}

/// Checks what a person gives as a reason, a note or a reference.
pub(crate) fn check_words(what: &str, words: &str) -> Result<String, EngineError> {
    let words = words.trim();
    let is_plain = !words.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
    if words.is_empty() || words.chars().count() > LONGEST_WORDS || !is_plain {
        return Err(EngineError::Usage(format!(
            "the {what} is empty, has more than {LONGEST_WORDS} characters, or has control characters"
        ))
        .next(format!("give a {what} of 1 to {LONGEST_WORDS} characters")));
    }
    Ok(words.to_owned())
}

/// Where a work item of a request begins again: where it stopped, unless the request is not approved any more. What it checks before it begins
/// to delete, it checks anew.
pub(super) fn restart(tx: &mut dyn Transaction, item: &Item, wanted: Name) -> Result<Name, RegistryError> {
    if deletions::of_item(tx, item.id)?.is_some() {
        // What has begun is completed, whatever became of the request, which ends with it.
        if let Some(request) = deletion_requests::of_item(tx, item)?
            && request.state == DeletionRequestState::Failed
        {
            deletion_requests::resume(tx, request.id)?;
        }
        return Ok(wanted);
    }
    let Some(request) = deletion_requests::of_item(tx, item)? else { return Ok(wanted) };
    let refused = |state: String| RegistryError::State {
        what: "request for deletion",
        id: request.id.to_string(),
        state,
        act: format!("requeue work item {} of it; request the deletion again", item.id),
    };
    if let Some(reason) = rules::why_not_any_more(tx, &request)? {
        return Err(refused(reason));
    }
    match request.state {
        DeletionRequestState::Approved => {}
        DeletionRequestState::Failed => {
            // While it had failed, others may have asked for the same.
            if let Some(other) = deletion_targets::conflicts(tx, request.id, 1)?.pop() {
                return Err(RegistryError::Named {
                    what: "object",
                    id: other.object_identifier,
                    by: format!("request for deletion {}", other.request),
                    act: format!("requeue work item {} of request {}", item.id, request.id),
                });
            }
            deletion_requests::resume(tx, request.id)?;
        }
        state => return Err(refused(state.to_string())),
    }
    Ok(wanted)
}

/// What the work items of a request keep of it.
pub(super) fn options(request: DeletionRequestId) -> Result<String, RegistryError> {
    serde_json::to_string(&Options { request })
        .map_err(|error| RegistryError::Corrupt { wanted: "options of a deletion", found: error.to_string() })
}
