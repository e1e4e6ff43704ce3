//! The deliverer of the outbox: messages of each kind in the order in which they were put, at least once. A message is marked
//! as delivered after its delivery, in the transaction that records what follows from it; an attempt that was interrupted
//! is made again under the same name. Messages of kinds that have no deliverer yet (`ingested`) stay in the outbox.

use std::collections::HashSet;

use strongroom_registry::outbox as record;
use uuid::Uuid;

use crate::event::Event;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, receiving};

/// Messages read at once.
const PAGE: usize = 200;

/// What a turn delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that no longer had to be: what they tell of has changed since.
    pub obsolete: u64,
}

/// Delivers what waits. A message that cannot be delivered stays, with the later ones of its institution, and does not hold
/// up those of others; the first failure is the error of the turn.
pub fn deliver(home: &Home, stop: &Shutdown) -> Result<Delivered, EngineError> {
    let mut done = Delivered::default();
    let mut failure = None;
    let mut stuck = HashSet::new();
    let mut after = Uuid::nil();
    loop {
        let page = home.registry.read(|tx| record::undelivered(tx, record::UPLOAD_EXPIRES, after, PAGE))?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for message in &page {
            if stop.is_requested() {
                return Ok(done);
            }
            if stuck.contains(&message.institution) {
                continue;
            }
            match receiving::deliver_notice(home, message) {
                Ok(true) => done.delivered += 1,
                Ok(false) => done.obsolete += 1,
                Err(error) => {
                    Event::MessageNotDelivered { key: &message.key, error: &error.chain() }.emit();
                    stuck.insert(message.institution);
                    failure.get_or_insert(error);
                }
            }
        }
    }
    failure.map_or(Ok(done), Err)
}
