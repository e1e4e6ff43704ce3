//! The dispatcher of the outbox: hands each message to the channel that takes its kind, at least once. The messages of an
//! institution go through a channel in the order in which they were put there: one that fails holds up the later ones of its institution
//! for the same place in that channel, and nothing else. Each message has attempts of its own, with growing waits between them;
//! an attempt that panics has failed. One that cannot be delivered as things are is not attempted again until a person asks.
//! Messages of kinds that no channel takes (`ingested`) stay in the outbox.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use strongroom_database::CLOCK_TOLERANCE;
use strongroom_registry::outbox::{self as rows, Message};
use strongroom_registry::{InstitutionId, RegistryError, Time, Transaction, schedules};
use uuid::Uuid;

use crate::arks::EzidUpdates;
use crate::background;
use crate::event::Event;
use crate::receiving::Notices;
use crate::runtime::{LONGEST_DELAY, Shutdown, panic_message, retry_delay};
use crate::{EngineError, Home};

/// Messages read at once.
const PAGE: usize = 200;

/// The longest wait between two attempts, in microseconds, with what a clock may be behind.
const LONGEST_WAIT: i64 = LONGEST_DELAY.as_micros() as i64 + CLOCK_TOLERANCE;

/// A way by which messages reach people.
pub trait Channel: Sync {
    /// Its name, for logs.
    fn name(&self) -> &'static str;

    /// The kinds of messages that it takes. No other channel takes them, and `retention.drop_outbox` leaves them alone until
    /// they are delivered.
    fn kinds(&self) -> &'static [&'static str];

    /// Where a message is delivered to: one that fails holds up the later ones for the same place.
    fn place(&self, _message: &Message) -> String {
        String::new()
    }

    /// Makes one attempt. In the transaction that records what follows from the delivery, the channel marks the message as
    /// delivered ([`rows::set_delivered`]), also one that is obsolete. The process may be killed between delivery and
    /// transaction: the message is then delivered again, under the same [`Message::key`], by which the receiver recognises it.
    ///
    /// # Errors
    /// Whatever kept it from being delivered; it is attempted again later.
    fn deliver(&self, home: &Home, message: &Message) -> Result<Delivery, EngineError>;
}

/// What came of an attempt that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The message was delivered.
    Made,
    /// It did not have to be delivered any more: what it is about has changed since.
    Obsolete,
    /// It cannot be delivered as things are, and another attempt would change nothing: why.
    Undeliverable(String),
}

/// Every channel.
pub const CHANNELS: &[&dyn Channel] = &[&Notices, &EzidUpdates];

/// What a run delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that did not have to be delivered any more.
    pub obsolete: u64,
    /// Messages whose attempt failed.
    pub failed: u64,
    /// Messages that cannot be delivered as things are; they are not attempted again.
    pub undeliverable: u64,
    /// Places of institutions whose messages in a channel wait, since it is too early for the next attempt at the first of them.
    pub waiting: u64,
}

/// Delivers what waits, through every channel; see [`deliver_through`].
pub fn deliver(home: &Home, stop: &Shutdown) -> Result<Delivered, EngineError> {
    deliver_through(CHANNELS, home, stop)
}

/// Delivers what waits for these channels and is not to be attempted later. A message that fails is recorded with its error and
/// the time of its next attempt, and the background task `outbox` is due then.
///
/// # Errors
/// Only those of the registry: a message that fails is counted.
pub fn deliver_through(channels: &[&dyn Channel], home: &Home, stop: &Shutdown) -> Result<Delivered, EngineError> {
    let mut run = Run { home, stop, done: Delivered::default(), next_attempt_at: None };
    for channel in channels {
        let mut after = InstitutionId(Uuid::nil());
        while let Some(institution) = next_institution(home, *channel, after)? {
            if stop.is_requested() {
                break;
            }
            run.deliver_to(*channel, institution)?;
            after = institution;
        }
    }
    if let Some(at) = run.next_attempt_at {
        home.registry.write(move |tx| schedules::due_by(tx, background::outbox::NAME, at))?;
    }
    Ok(run.done)
}

/// How many messages that channels take were put into the outbox before `before` and are undelivered, and the error of one.
pub(crate) fn overdue(tx: &mut dyn Transaction, before: Time) -> Result<(u64, Option<String>), RegistryError> {
    let (mut messages, mut error) = (0, None);
    for kind in CHANNELS.iter().flat_map(|channel| channel.kinds()) {
        let (found, why) = rows::overdue(tx, kind, before)?;
        messages += found;
        error = error.or(why);
    }
    Ok((messages, error))
}

fn next_institution(
    home: &Home,
    channel: &dyn Channel,
    after: InstitutionId,
) -> Result<Option<InstitutionId>, RegistryError> {
    home.registry.read(|tx| {
        let mut first: Option<InstitutionId> = None;
        for kind in channel.kinds() {
            let found = rows::next_institution(tx, kind, after)?;
            first = first.into_iter().chain(found).min_by_key(|institution| institution.0);
        }
        Ok(first)
    })
}

/// One attempt. A panic is a failure of this message alone: it holds up no other institution, and is not repeated at once.
fn attempt(channel: &dyn Channel, home: &Home, message: &Message) -> Result<Delivery, EngineError> {
    catch_unwind(AssertUnwindSafe(|| channel.deliver(home, message))).unwrap_or_else(|panic| {
        let source = std::io::Error::other(format!("it panicked: {}", panic_message(panic.as_ref())));
        Err(EngineError::Io { act: "deliver message", path: message.key.clone(), source })
    })
}

/// One run of the dispatcher.
struct Run<'a> {
    home: &'a Home,
    stop: &'a Shutdown,
    done: Delivered,
    /// The earliest time at which a message is to be attempted again.
    next_attempt_at: Option<Time>,
}

impl Run<'_> {
    /// Delivers the messages of an institution in order, for each place up to the first that fails or waits.
    fn deliver_to(&mut self, channel: &dyn Channel, institution: InstitutionId) -> Result<(), EngineError> {
        let mut after = 0;
        let mut held_up = BTreeSet::new();
        loop {
            let (now, page) = self.page(channel, institution, after)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.number;
            for message in &page {
                if self.stop.is_requested() {
                    return Ok(());
                }
                let place = channel.place(message);
                if held_up.contains(&place) {
                    continue;
                }
                // A time that lies further ahead than any wait was given by a clock that was ahead.
                let may_wait = |at: &Time| *at > now && *at <= now.plus(LONGEST_WAIT);
                if let Some(at) = message.next_attempt_at.filter(may_wait) {
                    self.done.waiting += 1;
                    self.attempt_at(at);
                    held_up.insert(place);
                    continue;
                }
                match attempt(channel, self.home, message) {
                    Ok(Delivery::Made) => self.done.delivered += 1,
                    Ok(Delivery::Obsolete) => self.done.obsolete += 1,
                    Ok(Delivery::Undeliverable(reason)) => self.record_undeliverable(channel, message, reason)?,
                    Err(error) => {
                        self.record_failure(channel, message, &error)?;
                        held_up.insert(place);
                    }
                }
            }
        }
    }

    /// The next messages of all kinds that a channel takes, in order.
    fn page(
        &self,
        channel: &dyn Channel,
        institution: InstitutionId,
        after: u64,
    ) -> Result<(Time, Vec<Message>), RegistryError> {
        self.home.registry.read(|tx| {
            let mut page = Vec::new();
            for kind in channel.kinds() {
                page.extend(rows::undelivered(tx, kind, institution, after, PAGE)?);
            }
            page.sort_by_key(|message: &Message| message.number);
            // Behind the first of them, those of a kind of which there are more may be missing.
            page.truncate(PAGE);
            Ok((tx.now()?, page))
        })
    }

    fn record_failure(
        &mut self,
        channel: &dyn Channel,
        message: &Message,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let (id, text, attempt) = (message.id, error.chain(), message.attempts.saturating_add(1));
        Event::MessageNotDelivered { channel: channel.name(), key: &message.key, attempt, error: &text }.emit();
        let delay = i64::try_from(retry_delay(attempt).as_micros()).unwrap_or(i64::MAX);
        let at = self.home.registry.write(move |tx| {
            let at = tx.now()?.plus(delay);
            rows::set_failed(tx, id, &text, at)?;
            Ok::<_, RegistryError>(at)
        })?;
        self.done.failed += 1;
        self.attempt_at(at);
        Ok(())
    }

    fn record_undeliverable(
        &mut self,
        channel: &dyn Channel,
        message: &Message,
        reason: String,
    ) -> Result<(), EngineError> {
        Event::MessageUndeliverable { channel: channel.name(), key: &message.key, reason: &reason }.emit();
        let id = message.id;
        self.home.registry.write(move |tx| rows::set_undeliverable(tx, id, &reason))?;
        self.done.undeliverable += 1;
        Ok(())
    }

    fn attempt_at(&mut self, at: Time) {
        self.next_attempt_at = self.next_attempt_at.into_iter().chain([at]).min();
    }
}

#[cfg(test)]
mod tests {
    use strongroom_database::Statement;

    use super::*;

    #[test]
    fn what_channels_take_is_kept_until_it_is_delivered() {
        let statements = strongroom_registry::statements();
        let sql = statements.sql(Statement("retention.drop_outbox")).expect("is there");
        for kind in CHANNELS.iter().flat_map(|channel| channel.kinds()) {
            assert!(sql.contains(&format!("kind <> '{kind}'")), "{kind}: {sql}");
        }
    }
}
