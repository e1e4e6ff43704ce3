//! confirm: where the rules of the collection say so, the program that it names has to answer the event `item.ingested` before the item
//! succeeds. The event is a message of the outbox, which is delivered like every other; the item waits without a worker, and is woken by
//! what becomes of the message, by new rules, or where a person gives the confirmation up. Everything else that the item had to do is done: the object is kept whatever is answered.

use serde::{Deserialize, Serialize};
use strongroom_registry::outbox::{self, About, Message};
use strongroom_registry::{ItemId, RegistryError, WaitReason, advice, confirmations, notifications, schedules, work};

use super::package::problem;
use crate::background;
use crate::crash_point;
use crate::notifications::sent;
use crate::reports::ingested;
use crate::workflow::{Outcome, StageContext, StageError};

/// How long an item sleeps unless it is woken, in microseconds.
const LOOK_AGAIN: i64 = 3_600_000_000;

/// The code of the problem that no program confirmed the event.
const NOT_CONFIRMED: &str = "callback.not_confirmed";

/// What is kept with the message, in its `progress`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Asked {
    /// How often the item had been requeued when the message was last put into the outbox to be attempted.
    requeues: u64,
}

/// The key of the message of an item.
pub(crate) fn key(item: ItemId) -> String {
    format!("item {item} ingested callback")
}

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let item = context.item;
    let (told, found, given_up) = context.registry().read(|tx| {
        let told = match item.batch {
            Some(batch) => notifications::of_batch(tx, batch)?,
            None => notifications::Notifications::default(),
        };
        let given_up = confirmations::given_up(tx, item.id)?;
        Ok::<_, RegistryError>((told, outbox::by_key(tx, &key(item.id))?, given_up))
    })?;
    let asked = found.as_ref().and_then(|message| message.progress.as_deref());
    let asked: Option<Asked> = asked.and_then(|text| serde_json::from_str(text).ok());
    let note = context.said_before()?;
    if let Some(given_up) = given_up {
        let confirmations::GivenUp { by, reason } = given_up;
        return Ok(Outcome::done(format!("{note}; that a program confirms it was given up by {by}: {reason}")));
    }
    // New rules may name no program, or another one.
    let Some(url) = told.required_url() else { return Ok(Outcome::done(note)) };
    match found {
        None => ask(context, url, &note, None)?,
        Some(message) if message.delivered_at.is_some() => return Ok(Outcome::done(note)),
        Some(message) => {
            let is_same_url = sent(&message).is_some_and(|(before, _)| before == url);
            let is_new_request = asked.is_none_or(|asked| asked.requeues < item.requeues);
            let has_failed = message.undeliverable_at.is_some();
            if !is_same_url || has_failed && is_new_request {
                ask(context, url, &note, Some(message))?;
            } else if has_failed {
                return Err(not_confirmed(item.id, &note, &message));
            }
        }
    }
    Err(StageError::Waits {
        until: context.now()?.plus(LOOK_AGAIN),
        reason: WaitReason::Confirmation,
        note: format!("waits until {} has confirmed it", strongroom_download::shown_url(url)),
    })
}

/// Puts the message into the outbox, or has it attempted again. What waits for its turn behind the item waits for nothing now.
fn ask(context: &StageContext<'_>, url: &str, note: &str, before: Option<Message>) -> Result<(), StageError> {
    let item = context.item.clone();
    let callback = ingested(context.home, &item, url, note)?;
    let known = before.as_ref().and_then(sent);
    let prepared = match known {
        Some((_, idempotency_key)) => callback.prepare_as(key(item.id), idempotency_key),
        None => callback.prepare(key(item.id)),
    };
    let progress = serde_json::to_string(&Asked { requeues: item.requeues })?;
    let topics = context.write(move |tx, claim| {
        work::check_fence(tx, claim)?;
        let about = About { institution: item.institution, item: Some(item.id), batch: item.batch };
        if before.is_none() {
            prepared.insert_about(tx, about)?;
        }
        // Its deliverer may have been quicker than this transaction: what was delivered stays so.
        if let Some(message) = outbox::by_key(tx, prepared.key())? {
            outbox::replace(tx, message.id, prepared.payload(), &progress)?;
        }
        schedules::hasten(tx, background::outbox::NAME)?;
        work::wake_younger(tx, &item)
    })?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    crash_point("ingest.confirm.asked");
    Ok(())
}

fn not_confirmed(item: ItemId, note: &str, message: &Message) -> StageError {
    let reason = message.last_error.as_deref().unwrap_or("it could not be delivered");
    // What to do about the message itself is said with it; here it is the item that goes on.
    let (reason, _) = advice::split(reason);
    let text = format!(
        "{note}, and the program that the collection names did not confirm that: {reason}; next: correct the cause, then: strongroom \
         items requeue {item}"
    );
    let found = problem("error", NOT_CONFIRMED, None, format!("item {item}: {reason}"));
    StageError::Fatal { note: text, problems: vec![found] }
}
