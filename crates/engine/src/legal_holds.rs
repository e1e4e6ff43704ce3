//! What a legal hold on an object or a file leaves besides its row: an event of the object, and a file in the object's `logs/` in every
//! store that holds it, so that a registry that is made from the stores knows the hold. A hold on a collection has neither: its objects come
//! and go, and the stores know nothing of collections but their names.

use std::slice;

use serde::Serialize;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::journal::Actor;
use strongroom_registry::legal_holds::{LegalHold, On, RecordedHold};
use strongroom_registry::objects;
use strongroom_registry::stores::{self, MissedLog};
use strongroom_registry::{GenerationId, ObjectId, RegistryError, Scope, Time, Transaction};

use crate::{AGENT, logs};

/// The form of log files written today.
const FORM: u32 = 1;
/// The act, in the names of log files.
pub(crate) const ACT: &str = "legal-hold";
/// The term of the Library of Congress for it.
const POLICY_ASSIGNMENT: &str = "policy assignment";

/// What is done with a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Placed,
    Released,
}

impl Act {
    /// As the event says it, whose identifier follows from it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "legal hold placed",
            Self::Released => "legal hold released",
        }
    }
}

/// One act, as a log has it.
#[derive(Debug, Serialize)]
struct Log<'a> {
    form: u32,
    act: &'a str,
    object: ObjectId,
    generation: GenerationId,
    time: String,
    legal_hold: RecordedHold,
    events: &'a [EventRow],
}

/// Records the event of an act, and notes the log in every store that holds the object: it is put there as soon as the object is free, or
/// the store is there again. The logs that are to be put. The event does not name the reason, since events are exported.
pub(crate) fn record(
    tx: &mut dyn Transaction,
    hold: &LegalHold,
    act: Act,
    actor: &Actor,
) -> Result<Vec<MissedLog>, RegistryError> {
    let (id, file) = match hold.on {
        On::Collection(_) => return Ok(Vec::new()),
        On::Object(object) => (object, None),
        On::File { object, file } => (object, Some(file)),
    };
    let time: Time = tx.now()?;
    let event = EventRow {
        id: events::derived_id(hold.id.0, act.as_str()),
        institution: hold.institution,
        object: Some(id),
        file,
        content: None,
        item: None,
        version: None,
        kind: POLICY_ASSIGNMENT.to_owned(),
        components: None,
        time: time.0,
        outcome: "success".to_owned(),
        detail: Some(act.as_str().to_owned()),
        outcome_detail: Some(format!("legal hold {}", hold.id)),
        store: None,
        agent: AGENT.to_owned(),
        actor: Some(actor.clone()),
    };
    events::append(tx, slice::from_ref(&event))?;
    let Some(object) = objects::get(tx, Scope::System, id)? else { return Ok(Vec::new()) };
    let log = Log {
        form: FORM,
        act: ACT,
        object: id,
        generation: object.generation,
        time: time.to_string(),
        legal_hold: hold.recorded(),
        events: slice::from_ref(&event),
    };
    let bytes = serde_json::to_vec(&log).map_err(|error| RegistryError::Corrupt {
        wanted: "a legal hold that can be written as JSON",
        found: error.to_string(),
    })?;
    let name = logs::name(time, ACT, event.id.0);
    let mut missed = Vec::new();
    for (store, _, _) in objects::object_copies_in_use(tx, id)? {
        let log = MissedLog {
            store,
            object: id,
            name: name.clone(),
            generation: object.generation,
            institution: object.institution_identifier.clone(),
            bytes: bytes.clone(),
            missed_at: time,
        };
        stores::note_log(tx, &log)?;
        missed.push(log);
    }
    Ok(missed)
}
