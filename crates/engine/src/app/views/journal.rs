//! Lines of the journal.

use serde::Serialize;
use strongroom_registry::journal::Line;
use strongroom_registry::{ActorKind, JournalId, JournalOutcome};
use uuid::Uuid;

/// A line of the journal.
#[derive(Debug, Clone, Serialize)]
pub struct JournalView {
    /// Its identifier.
    pub line: JournalId,
    /// Its place in the order of the journal.
    pub number: u64,
    /// When it was written.
    pub time: String,
    /// Who acted.
    pub actor: String,
    /// What kind of actor that is.
    pub kind: ActorKind,
    /// The account of the operating system under which a user acted at the console.
    pub account: Option<String>,
    /// The identifier of the API key with which a program acted for a user.
    pub key: Option<String>,
    /// The act, such as `items.hold`.
    pub act: String,
    /// What it was done to.
    pub target: String,
    /// The object that this is, or belongs to, as it was named then.
    pub object: Option<String>,
    /// The domain name of the institution that this belongs to.
    pub institution: Option<String>,
    /// How it went.
    pub outcome: JournalOutcome,
    /// What else there is to say, such as why it was refused.
    pub detail: Option<String>,
    /// One for all lines of one call.
    pub request: Uuid,
}

impl From<Line> for JournalView {
    fn from(line: Line) -> Self {
        Self {
            line: line.id,
            number: line.number,
            time: line.time.to_string(),
            actor: line.actor.name,
            kind: line.actor.kind,
            account: line.actor.account,
            key: line.actor.key,
            act: line.act,
            target: line.target,
            object: line.object,
            institution: line.institution_identifier,
            outcome: line.outcome,
            detail: line.detail,
            request: line.request,
        }
    }
}
