//! The gate of one engine: every operation that changes a store, every put before its bytes get their name, and every write
//! transaction of the registry passes it under a name that is the same in each run. At the chosen one the engine falls
//! asleep, fails, or dies.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use strongroom_storage::{Body, Head, StorageError};
use strongroom_storage_test::{Call, Layer, Operation};

/// Nothing here takes this long; what does is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The engine sleeps before it, until it is woken.
    Sleep,
    /// The operation fails and does nothing.
    Fail,
    /// The operation does what it should, and its answer is lost.
    LoseAnswer,
    /// The engine stops before it: neither stores nor registry hear of it again.
    Die,
}

/// How an operation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    /// As it should.
    Go,
    /// See [`Event::Fail`].
    Fail,
    /// See [`Event::LoseAnswer`].
    LoseAnswer,
    /// The engine is dead.
    Dead,
}

/// What the gate is for.
#[derive(Debug, Default)]
struct Plan {
    /// The name of the chosen operation, and what happens there.
    at: Option<(String, Event)>,
    /// Removals in the store of this name fail.
    refuses_removals: Option<&'static str>,
}

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<String, usize>,
    passed: Vec<String>,
    is_reached: bool,
    is_asleep: bool,
    is_dead: bool,
    refused: usize,
}

/// The gate of one engine, shared by its stores and its registry.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    plan: Plan,
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    /// A gate that only takes note of what passes.
    pub(crate) fn open() -> Arc<Self> {
        Arc::default()
    }

    /// A gate at which something happens once, at the operation of this name.
    pub(crate) fn at(operation: &str, event: Event) -> Arc<Self> {
        Arc::new(Self {
            plan: Plan { at: Some((operation.to_owned(), event)), refuses_removals: None },
            ..Self::default()
        })
    }

    /// A gate at which every removal in a store fails.
    pub(crate) fn refusing_removals(store: &'static str) -> Arc<Self> {
        Arc::new(Self { plan: Plan { at: None, refuses_removals: Some(store) }, ..Self::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of what has passed, in order.
    pub(crate) fn passed(&self) -> Vec<String> {
        self.lock().passed.clone()
    }

    /// How many removals it has refused.
    pub(crate) fn refused(&self) -> usize {
        self.lock().refused
    }

    /// Whether the chosen operation was reached.
    pub(crate) fn is_reached(&self) -> bool {
        self.lock().is_reached
    }

    /// Waits until the chosen operation is reached, or until `is_over`; whether it is reached.
    pub(crate) fn wait(&self, is_over: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        while !state.is_reached && !is_over() {
            state =
                self.changed.wait_timeout(state, Duration::from_millis(1)).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_reached
    }

    /// Lets the engine go on.
    pub(crate) fn wake(&self) {
        self.lock().is_asleep = false;
        self.changed.notify_all();
    }

    /// Waits while the engine sleeps; whether it lives.
    pub(crate) fn stand_by(&self) -> bool {
        let mut state = self.lock();
        while state.is_asleep {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_dead
    }

    /// Passes an operation of this name, the first or a later one.
    pub(crate) fn pass(&self, name: &str) -> Passage {
        if !self.stand_by() {
            return Passage::Dead;
        }
        let mut state = self.lock();
        let count = state.counts.entry(name.to_owned()).or_default();
        *count += 1;
        let name = format!("{name}, {count}");
        state.passed.push(name.clone());
        let Some((_, event)) = self.plan.at.as_ref().filter(|(chosen, _)| *chosen == name) else { return Passage::Go };
        state.is_reached = true;
        state.is_asleep = *event == Event::Sleep;
        state.is_dead = *event == Event::Die;
        drop(state);
        self.changed.notify_all();
        match event {
            Event::Sleep => {
                self.stand_by();
                Passage::Go
            }
            Event::Fail => Passage::Fail,
            Event::LoseAnswer => Passage::LoseAnswer,
            Event::Die => Passage::Dead,
        }
    }

    fn refuses(&self, call: Call<'_>) -> bool {
        let removes = matches!(call.operation, Operation::Delete | Operation::DeleteAll | Operation::Discard);
        let refuses = removes && self.plan.refuses_removals == Some(call.store);
        if refuses {
            self.lock().refused += 1;
        }
        refuses
    }
}

/// Whether the search stops before this operation of a store: before all that change something, and before those that only
/// read where everything is to be searched.
fn is_stop(operation: Operation) -> bool {
    use Operation::{Commit, Delete, DeleteAll, Discard, Put, Sync};
    matches!(operation, Put | Sync | Delete | DeleteAll | Commit | Discard) || crate::stops_at_reads()
}

/// The same name for the same operation in each run: identifiers, digests and times are left out.
fn name_of(call: Call<'_>) -> String {
    let key = call.key.as_str();
    let steady: Vec<String> = key.split('/').map(steady).collect();
    format!("{} {} in {}", call.operation.name(), steady.join("/"), call.store)
}

fn steady(segment: &str) -> String {
    let is_hex = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    // The short folders of layouts, which come of a digest.
    if matches!(segment.len(), 2 | 3) && segment.chars().all(is_hex) {
        return "*".to_owned();
    }
    let mut name = String::new();
    for part in segment.split_inclusive(|letter| !is_hex(letter)) {
        let hex = part.trim_end_matches(|letter| !is_hex(letter));
        let is_time = hex.len() >= 6 && hex.bytes().all(|byte| byte.is_ascii_digit());
        name.push_str(if hex.len() >= 16 || is_time { "*" } else { hex });
        name.push_str(part.get(hex.len()..).unwrap_or_default());
    }
    name
}

/// The gate as a layer around a store.
pub(crate) struct Gated(pub(crate) Arc<Gate>);

impl Gated {
    fn passage(&self, call: Call<'_>) -> Passage {
        if self.0.refuses(call) {
            return Passage::Fail;
        }
        match is_stop(call.operation) {
            true => self.0.pass(&name_of(call)),
            false if self.0.stand_by() => Passage::Go,
            false => Passage::Dead,
        }
    }
}

fn failure(call: Call<'_>) -> StorageError {
    StorageError::Io {
        store: call.store.to_owned(),
        act: call.operation.name(),
        key: call.key.clone(),
        source: io::Error::new(ErrorKind::TimedOut, "a planned disturbance"),
    }
}

impl Layer for Gated {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        match self.passage(call) {
            Passage::Go => act(),
            Passage::LoseAnswer => act().and(Err(failure(call))),
            Passage::Fail | Passage::Dead => Err(failure(call)),
        }
    }

    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        let mut body = Ending { gate: &self.0, name: format!("the end of {}", name_of(call)), body, is_over: false };
        self.call(call, &mut || act(&mut body))
    }

    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        self.call(call, act)
    }
}

/// The body of a put, which passes the gate when all of it was read: before the bytes get their name.
struct Ending<'g, 'b> {
    gate: &'g Gate,
    name: String,
    body: &'b mut dyn Read,
    is_over: bool,
}

impl Read for Ending<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        if length > 0 || buffer.is_empty() || self.is_over {
            return Ok(length);
        }
        self.is_over = true;
        if !crate::stops_at_reads() {
            return Ok(0);
        }
        match self.gate.pass(&self.name) {
            Passage::Go => Ok(0),
            _ => Err(io::Error::new(ErrorKind::ConnectionAborted, "a planned disturbance")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_leave_out_what_differs_from_run_to_run() {
        assert_eq!(steady("inventory.json.sha512"), "inventory.json.sha512");
        assert_eq!(steady("0190a5b2-7c3d-7e4f-8a9b-0c1d2e3f4a5b"), "*");
        assert_eq!(steady("ab"), "*");
        assert_eq!(steady("record-01a201c7-53f0-7013-ad7a-a9945c7d6ab7.jsonl"), "recor*.jsonl");
        assert_eq!(steady("v1"), "v1");
    }
}
