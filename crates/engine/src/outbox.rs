//! The dispatcher of the outbox: hands each message to the channel that takes its kind, at least once. The messages of an
//! institution go through a channel in the order in which they were put there: one that fails holds up the later ones of its institution
//! for the same place in that channel, and nothing else. Each message has attempts of its own, with growing waits between them;
//! an attempt that panics has failed. A place that takes its messages slowly gets a slice of each run, and all others have theirs before
//! it goes on. One that cannot be delivered as things are is not attempted again until a person asks.
//! Messages of kinds that no channel takes (`ingested`) stay in the outbox.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use strongroom_database::CLOCK_TOLERANCE;
use strongroom_registry::outbox::{self as rows, Message, Waiting};
use strongroom_registry::{InstitutionId, RegistryError, Time, Transaction, confirmations, schedules};
use uuid::Uuid;

use crate::arks::EzidUpdates;
use crate::background;
use crate::event::Event;
use crate::notifications::{Callbacks, Mails};
use crate::receiving::Notices;
use crate::reports::undeliverable_warning;
use crate::runtime::{Shutdown, panic_message, retry_delay};
use crate::{EngineError, Home};

/// Messages read at once.
const PAGE: usize = 200;

/// The longest wait that a receiver can ask for.
const LONGEST_ASKED: Duration = Duration::from_hours(1);
/// The longest wait between two attempts, in microseconds, with what a clock may be behind.
const LONGEST_WAIT: i64 = LONGEST_ASKED.as_micros() as i64 + CLOCK_TOLERANCE;
/// The attempts that are made at least, also of a message that is old when it is first attempted, before a channel gives up.
const LEAST_ATTEMPTS: u64 = 5;

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

    /// What messages for several places have in common, such as the server that takes them: where that fails ([`Delay::of_route`]), a
    /// run attempts no other message of the same route.
    fn route(&self, _message: &Message) -> String {
        String::new()
    }

    /// How long a run hands messages of an institution to one place before all others have their turn; the run after it follows at once.
    fn slice(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// How old a message is when it is not attempted any more and needs review, after at least five attempts; none: it is attempted
    /// without end.
    fn gives_up_after(&self, _home: &Home) -> Option<Duration> {
        None
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
    /// It was not delivered, and another attempt may succeed.
    Delayed(Delay),
}

/// Why a message was not delivered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// Why.
    pub reason: String,
    /// How long the receiver asks to wait.
    pub wait: Option<Duration>,
    /// Whether other messages of the same route would fail too.
    pub is_of_route: bool,
}

impl Delay {
    /// The receiver did not take this message.
    pub fn of_message(reason: String) -> Self {
        Self { reason, wait: None, is_of_route: false }
    }

    /// The receiver could not be asked.
    pub fn of_route(reason: String) -> Self {
        Self { reason, wait: None, is_of_route: true }
    }
}

/// Every channel.
pub const CHANNELS: &[&dyn Channel] = &[&Notices, &EzidUpdates, &Mails, &Callbacks];

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
    let mut run = Run::new(home);
    for channel in channels {
        run.broken_routes.clear();
        let mut after = InstitutionId(Uuid::nil());
        while let Some(institution) = next_institution(home, *channel, after)? {
            if stop.is_requested() {
                break;
            }
            run.deliver_to(*channel, institution, stop)?;
            after = institution;
        }
    }
    run.end()
}

/// The messages that wait to be delivered, of the kinds that channels take.
pub(crate) fn waiting(tx: &mut dyn Transaction) -> Result<Waiting, RegistryError> {
    let mut kinds = CHANNELS.iter().flat_map(|channel| channel.kinds());
    kinds.try_fold(Waiting::default(), |sum, kind| Ok(sum.and(rows::waiting(tx, kind)?)))
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

/// Why a message is not attempted any more, and what to do.
fn given_up(why: &str, id: Uuid) -> String {
    format!("{why}; next: correct the cause, then: strongroom outbox send {id}; or: strongroom outbox remove {id}")
}

fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Makes one attempt at one message through the channel of its kind, whatever holds up others, and records what came of it as a run does.
///
/// # Errors
/// Those of the registry; no channel takes the kind.
pub(crate) fn deliver_one(home: &Home, message: &Message) -> Result<Delivery, EngineError> {
    let channel = CHANNELS.iter().find(|channel| channel.kinds().contains(&message.kind.as_str()));
    let Some(channel) = channel else {
        return Err(EngineError::Refused(format!("nothing delivers messages of the kind {}", message.kind)));
    };
    let mut run = Run::new(home);
    let delivery = run.attempt(*channel, message)?;
    run.end()?;
    Ok(delivery)
}

/// One run of the dispatcher.
struct Run<'a> {
    home: &'a Home,
    done: Delivered,
    /// The earliest time at which a message is to be attempted again.
    next_attempt_at: Option<Time>,
    /// The routes of the channel that failed in this run.
    broken_routes: HashMap<String, Broken>,
}

/// A route that failed.
struct Broken {
    /// Why.
    reason: String,
    /// The attempts at the message by which that was found, with this one.
    attempts: u64,
}

impl<'a> Run<'a> {
    fn new(home: &'a Home) -> Self {
        Self { home, done: Delivered::default(), next_attempt_at: None, broken_routes: HashMap::new() }
    }

    /// Has the background task run when the next attempt is due.
    fn end(self) -> Result<Delivered, EngineError> {
        if let Some(at) = self.next_attempt_at {
            self.home.registry.write(move |tx| schedules::due_by(tx, background::outbox::NAME, at))?;
        }
        Ok(self.done)
    }

    /// Delivers the messages of an institution in order, for each place up to the first that fails or waits.
    fn deliver_to(
        &mut self,
        channel: &dyn Channel,
        institution: InstitutionId,
        stop: &Shutdown,
    ) -> Result<(), EngineError> {
        let mut after = 0;
        let mut held_up = BTreeSet::new();
        let mut spent: HashMap<String, Duration> = HashMap::new();
        loop {
            let (now, page) = self.page(channel, institution, after)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.number;
            for message in &page {
                if stop.is_requested() {
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
                let route = channel.route(message);
                if self.broken_routes.contains_key(&route) {
                    if !self.give_up_with(channel, message, &route)? {
                        held_up.insert(place);
                    }
                    continue;
                }
                if spent.get(&place).is_some_and(|spent| *spent >= channel.slice()) {
                    self.attempt_at(now);
                    held_up.insert(place);
                    continue;
                }
                // What is listed lacks a long attachment.
                let id = message.id;
                let Some(message) = self.home.registry.read(|tx| rows::get(tx, id))? else { continue };
                if message.delivered_at.is_some() || message.undeliverable_at.is_some() {
                    continue;
                }
                let began = Instant::now();
                if let Delivery::Delayed(delay) = self.attempt(channel, &message)? {
                    if delay.is_of_route {
                        // It holds up those of its place as well.
                        let broken = Broken { reason: delay.reason, attempts: message.attempts.saturating_add(1) };
                        self.broken_routes.insert(route, broken);
                    } else {
                        held_up.insert(place);
                    }
                } else {
                    *spent.entry(place).or_default() += began.elapsed();
                }
            }
        }
    }

    /// One attempt, with the record of what came of it. An error of the channel is a delay of this message.
    fn attempt(&mut self, channel: &dyn Channel, message: &Message) -> Result<Delivery, EngineError> {
        let outcome = attempt(channel, self.home, message);
        let delivery = outcome.unwrap_or_else(|error| Delivery::Delayed(Delay::of_message(error.chain())));
        match &delivery {
            Delivery::Made => self.done.delivered += 1,
            Delivery::Obsolete => self.done.obsolete += 1,
            Delivery::Undeliverable(reason) => self.record_undeliverable(channel, message, reason.clone())?,
            Delivery::Delayed(delay) => self.record_failure(channel, message, delay)?,
        }
        Ok(delivery)
    }

    /// The next messages of all kinds that a channel takes, in order, without long attachments.
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

    /// Gives up a message that no attempt is made at because its route is broken, where it is old enough for that: what failed for the route
    /// would have failed for it as well. So a server that is away for days leaves no more work than one attempt in each run, however many
    /// messages wait for it. Whether it was given up.
    fn give_up_with(&mut self, channel: &dyn Channel, message: &Message, route: &str) -> Result<bool, EngineError> {
        let Some(broken) = self.broken_routes.get(route).filter(|broken| broken.attempts >= LEAST_ATTEMPTS) else {
            return Ok(false);
        };
        if !self.is_too_old(channel, message)? {
            return Ok(false);
        }
        let text = format!(
            "it was waiting for a way on which {} attempts failed, the last with: {}",
            broken.attempts, broken.reason
        );
        self.record_undeliverable(channel, message, given_up(&text, message.id))?;
        Ok(true)
    }

    /// Whether a channel gives up a message of this age.
    fn is_too_old(&self, channel: &dyn Channel, message: &Message) -> Result<bool, RegistryError> {
        let Some(limit) = channel.gives_up_after(self.home) else { return Ok(false) };
        let now = self.home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
        Ok(now >= message.created_at.plus(microseconds(limit)))
    }

    fn record_failure(&mut self, channel: &dyn Channel, message: &Message, delay: &Delay) -> Result<(), EngineError> {
        let (id, text, attempt) = (message.id, delay.reason.clone(), message.attempts.saturating_add(1));
        Event::MessageNotDelivered { channel: channel.name(), key: &message.key, attempt, error: &text }.emit();
        if attempt >= LEAST_ATTEMPTS && self.is_too_old(channel, message)? {
            let reason = given_up(&format!("{attempt} attempts failed, the last with: {text}"), id);
            return self.record_undeliverable(channel, message, reason);
        }
        let wait = retry_delay(attempt).max(delay.wait.unwrap_or_default().min(LONGEST_ASKED));
        let at = self.home.registry.write(move |tx| {
            let at = tx.now()?.plus(microseconds(wait));
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
        let (id, institution, item) = (message.id, message.institution, message.item);
        let warning = |now| undeliverable_warning(&self.home.settings.mail, channel.name(), message, (&reason, now));
        let warning = warning(self.home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?);
        self.home.registry.write_and_wake(move |tx| {
            rows::set_undeliverable(tx, id, &reason)?;
            if let Some(warning) = &warning {
                warning.insert(tx, institution, None)?;
            }
            // The item that it is about may wait for what becomes of it.
            confirmations::look_again_for(tx, item)
        })?;
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
