//! What can happen next, and what becomes of it. Each step is one transaction or one operation of a store.
//!
//! Transactions check the fence and the state of the version's row. Operations of a store check nothing: a worker that fell
//! asleep before one does it when it wakes.

use stateright::{Model, Property};

use crate::rules;
use crate::state::{Directory, Discard, Item, MOST_VERSIONS, Next, Standing, State, Status, Version, Worker};

/// The protocol, with faults of earlier protocols put back where wished.
#[derive(Debug, Clone, Default)]
pub(crate) struct Protocol {
    /// How many disturbances one run may have.
    pub(crate) disturbances: usize,
    /// Assemblies and keys are named by the deposit and the number; bytes go before rows are marked; a requeued deposit goes
    /// on with a version whose bytes a sweep removes; nothing is listed before the commit.
    pub(crate) has_fault_1: bool,
    /// The root inventory is looked at, then replaced without a condition.
    pub(crate) has_fault_4: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// A worker takes a deposit.
    Lease { worker: usize, item: usize },
    /// A worker clears up behind a version.
    Sweep { worker: usize, version: usize },
    /// A worker does what is next.
    Step { worker: usize },
    /// The store fails and does nothing.
    Fail { worker: usize },
    /// The store does what is asked and reports failure.
    FailAfter { worker: usize },
    /// The process ends.
    Crash { worker: usize },
    /// The lease of a deposit runs out.
    Expire { item: usize },
    /// A person cancels.
    Cancel { item: usize },
    /// A person requeues.
    Requeue { item: usize },
    /// The folder store loses an assembly.
    Lose { name: usize },
}

impl Model for Protocol {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.disturbances)]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        for (worker, job) in state.workers.iter().enumerate() {
            if *job == Worker::Idle {
                acts.extend((0..2).filter(|item| is_free(&state.items[*item])).map(|item| Act::Lease { worker, item }));
                let versions = (0..state.versions.len()).filter(|version| self.sweep_of(state, *version).is_some());
                acts.extend(versions.map(|version| Act::Sweep { worker, version }));
            } else {
                acts.push(Act::Step { worker });
                if state.disturbances > 0 {
                    acts.push(Act::Crash { worker });
                }
                if state.disturbances > 0 && is_of_store(job) {
                    acts.extend([Act::Fail { worker }, Act::FailAfter { worker }]);
                }
            }
        }
        if state.disturbances == 0 {
            return;
        }
        for (item, row) in state.items.iter().enumerate() {
            match row.status {
                Status::Started if !row.is_expired => acts.push(Act::Expire { item }),
                Status::Cancelled => acts.push(Act::Requeue { item }),
                _ => {}
            }
            let is_forward = state.of_item(item).is_some_and(|id| state.versions[id].standing != Standing::Preparing);
            if !state.has_ended(item) && !is_forward {
                acts.push(Act::Cancel { item });
            }
        }
        if !self.has_fault_1 {
            // Alone it would break the earlier protocol: what is asked there is whether the sweep is found.
            acts.extend((0..8).filter(|name| has(state.stores[0].assemblies, *name)).map(|name| Act::Lose { name }));
        }
    }

    fn next_state(&self, last: &State, act: Act) -> Option<State> {
        let mut state = last.clone();
        if !matches!(act, Act::Lease { .. } | Act::Sweep { .. } | Act::Step { .. }) {
            state.disturbances -= 1;
        }
        match act {
            Act::Lease { worker, item } => {
                state.items[item] = Item { status: Status::Started, holder: Some(worker), is_expired: false };
                state.workers[worker] = Worker::Ingest { item, version: 0, next: Next::Prepare };
            }
            Act::Sweep { worker, version } => {
                let next = self.sweep_of(&state, version)?;
                state.workers[worker] = Worker::Drop { claim: None, version, next };
            }
            Act::Step { worker } => self.step(&mut state, worker),
            Act::Fail { worker } => stop(&mut state, worker),
            Act::FailAfter { worker } => {
                self.step(&mut state, worker);
                stop(&mut state, worker);
            }
            Act::Crash { worker } => state.workers[worker] = Worker::Idle,
            Act::Expire { item } => state.items[item].is_expired = true,
            Act::Cancel { item } => {
                state.items[item] = Item { status: Status::Cancelled, holder: None, is_expired: false };
                release(&mut state, item);
            }
            Act::Requeue { item } => state.items[item].status = Status::Pending,
            Act::Lose { name } => state.stores[0].assemblies &= !bit(name),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        rules::all()
    }
}

fn bit(name: usize) -> u8 {
    1 << name
}

fn has(names: u8, name: usize) -> bool {
    names & bit(name) != 0
}

fn is_free(item: &Item) -> bool {
    item.status == Status::Pending || (item.status == Status::Started && item.is_expired)
}

fn is_of_store(job: &Worker) -> bool {
    match job {
        Worker::Idle => false,
        Worker::Ingest { next, .. } => {
            !matches!(next, Next::Prepare | Next::Record(_) | Next::Forget(_) | Next::Commit | Next::Publish)
        }
        Worker::Drop { next, .. } => matches!(next, Discard::Remove(_)),
    }
}

/// A worker gives up what it does; its deposit is tried again, unless somebody else has it by now.
fn stop(state: &mut State, worker: usize) {
    let item = match state.workers[worker] {
        Worker::Ingest { item, .. } => Some(item),
        Worker::Drop { claim, .. } => claim,
        Worker::Idle => None,
    };
    state.workers[worker] = Worker::Idle;
    if let Some(item) = item.filter(|item| state.holds(worker, *item)) {
        state.items[item] = Item { status: Status::Pending, holder: None, is_expired: false };
    }
}

fn release(state: &mut State, item: usize) {
    if state.lease == Some(item) {
        state.lease = None;
    }
}

/// Takes the object's lease for a deposit; whether it could.
fn take_lease(state: &mut State, item: usize) -> bool {
    let other = 1 - item;
    let is_live = state.items[other].status == Status::Started && !state.items[other].is_expired;
    let is_committed_by_other =
        state.versions.iter().any(|version| version.standing == Standing::Committing && version.item == other);
    if (state.lease == Some(other) && is_live) || is_committed_by_other {
        return false;
    }
    state.lease = Some(item);
    true
}

impl Protocol {
    /// What an assembly of a version is named by.
    fn name(&self, state: &State, version: usize) -> usize {
        if self.has_fault_1 { state.versions[version].item } else { version }
    }

    /// What the content keys of a version contain, in object storage.
    fn key(&self, state: &State, version: usize) -> usize {
        if self.has_fault_1 { state.versions[version].number } else { version }
    }

    /// Whether the content of a version lies where its inventory says.
    pub(crate) fn has_content(&self, state: &State, store: usize, version: usize) -> bool {
        if store == 1 {
            return has(state.stores[1].keys, self.key(state, version));
        }
        let directory = state.stores[0].directories[state.versions[version].number];
        directory.is_some_and(|directory| directory.has_content && directory.version == version)
    }

    /// Where the clearing up behind a version begins, when there is something to clear up.
    fn sweep_of(&self, state: &State, version: usize) -> Option<Discard> {
        let row = &state.versions[version];
        let has_ended = state.items[row.item].status == Status::Cancelled;
        match row.standing {
            Standing::Preparing if has_ended => Some(if self.has_fault_1 { Discard::Remove(0) } else { Discard::Mark }),
            Standing::Dropping => Some(Discard::Rows),
            Standing::Dropped if !row.is_swept => Some(Discard::Remove(0)),
            _ => None,
        }
    }

    fn step(&self, state: &mut State, worker: usize) {
        match state.workers[worker] {
            Worker::Idle => {}
            Worker::Ingest { item, next: Next::Prepare, .. } => self.prepare(state, worker, item),
            Worker::Ingest { item, version, next } => match self.ingest(state, worker, item, version, next) {
                Some(next) => state.workers[worker] = Worker::Ingest { item, version, next },
                None => stop(state, worker),
            },
            Worker::Drop { claim, version, next } => match self.discard(state, worker, claim, version, next) {
                Some(next) => state.workers[worker] = Worker::Drop { claim, version, next },
                None => {
                    state.workers[worker] =
                        claim.map_or(Worker::Idle, |item| Worker::Ingest { item, version: 0, next: Next::Prepare });
                }
            },
        }
    }

    /// Finds the version of a deposit, or begins one, under the object's lease.
    fn prepare(&self, state: &mut State, worker: usize, item: usize) {
        if !state.holds(worker, item) || !take_lease(state, item) {
            return stop(state, worker);
        }
        let go = |state: &mut State, version, next| state.workers[worker] = Worker::Ingest { item, version, next };
        let discard = |state: &mut State, version, next| {
            state.workers[worker] = Worker::Drop { claim: Some(item), version, next };
        };
        if let Some(own) = state.of_item(item) {
            let is_committing = state.versions[own].standing == Standing::Committing;
            return go(state, own, if is_committing { Next::Rename(0) } else { Next::Put(0) });
        }
        let number = state.head() + 1;
        for (id, row) in state.versions.iter().enumerate().filter(|(_, row)| row.number == number) {
            let next = match row.standing {
                Standing::Preparing if self.has_fault_1 => Discard::Remove(0),
                Standing::Preparing => Discard::Mark,
                Standing::Dropping => Discard::Rows,
                Standing::Dropped if !row.is_swept => Discard::Remove(0),
                _ => continue,
            };
            return discard(state, id, next);
        }
        if state.versions.len() == MOST_VERSIONS || number > MOST_VERSIONS {
            return stop(state, worker);
        }
        state.versions.push(Version {
            item,
            number,
            standing: Standing::Preparing,
            is_swept: false,
            has_rows: true,
            copies: [false; 2],
            was_dropped: false,
        });
        let version = state.versions.len() - 1;
        go(state, version, Next::Put(0));
    }

    /// One step for a version that is written; what is next, or nothing when the worker gives up or is done.
    fn ingest(&self, state: &mut State, worker: usize, item: usize, version: usize, next: Next) -> Option<Next> {
        let (name, key) = (self.name(state, version), self.key(state, version));
        let number = state.versions[version].number;
        let may_prepare = state.holds(worker, item) && state.versions[version].standing == Standing::Preparing;
        match next {
            Next::Prepare => None,
            Next::Put(store) => {
                if !state.versions[version].copies[store] {
                    self.put(state, store, version);
                    return Some(Next::Record(store));
                }
                Some(self.after_copy(store))
            }
            Next::Record(store) => {
                state.versions[version].copies[store] |= may_prepare;
                may_prepare.then(|| self.after_copy(store))
            }
            Next::List(store) => {
                let lies_there =
                    if store == 0 { has(state.stores[0].assemblies, name) } else { has(state.stores[1].keys, key) };
                Some(match (lies_there, store) {
                    (false, store) => Next::Forget(store),
                    (true, 0) => Next::List(1),
                    (true, _) => Next::Commit,
                })
            }
            Next::Forget(store) => {
                state.versions[version].copies[store] &= !may_prepare;
                may_prepare.then_some(Next::Put(store))
            }
            Next::Commit => {
                let is_allowed = may_prepare && state.lease == Some(item);
                if is_allowed {
                    state.versions[version].standing = Standing::Committing;
                }
                is_allowed.then_some(Next::Rename(0))
            }
            Next::Remake(store) => {
                self.put(state, store, version);
                Some(Next::Rename(store))
            }
            Next::Rename(0) => {
                let has_content = has(state.stores[0].assemblies, name);
                match state.stores[0].directories[number] {
                    Some(directory) if directory.version != version => return None,
                    Some(_) => {}
                    None if has_content || self.has_fault_1 => {
                        state.stores[0].directories[number] = Some(Directory { version, has_content });
                        state.stores[0].assemblies &= !bit(name);
                    }
                    None => return Some(Next::Remake(0)),
                }
                Some(Next::Rename(1))
            }
            Next::Rename(_) => {
                if !self.has_fault_1 && !has(state.stores[1].keys, key) {
                    return Some(Next::Remake(1));
                }
                state.stores[1].assemblies &= !bit(name);
                Some(self.root(0))
            }
            Next::Look(store) => {
                let root = state.stores[store].root;
                let is_expected = [state.before(version), Some(version)].contains(&root);
                is_expected.then_some(Next::Root(store))
            }
            Next::Root(store) => {
                let is_expected = [state.before(version), Some(version)].contains(&state.stores[store].root);
                if is_expected || self.has_fault_4 {
                    state.stores[store].root = Some(version);
                    return Some(if store == 0 { self.root(1) } else { Next::Publish });
                }
                None
            }
            Next::Publish => {
                if state.holds(worker, item) && state.versions[version].standing == Standing::Committing {
                    state.versions[version].standing = Standing::Published;
                    state.items[item] = Item { status: Status::Succeeded, holder: None, is_expired: false };
                    release(state, item);
                }
                None
            }
        }
    }

    fn put(&self, state: &mut State, store: usize, version: usize) {
        let (name, key) = (self.name(state, version), self.key(state, version));
        if store == 0 || self.has_fault_1 {
            state.stores[store].assemblies |= bit(name);
        }
        if store == 1 {
            state.stores[1].keys |= bit(key);
        }
    }

    fn after_copy(&self, store: usize) -> Next {
        match store {
            0 => Next::Put(1),
            _ if self.has_fault_1 => Next::Commit,
            _ => Next::List(0),
        }
    }

    fn root(&self, store: usize) -> Next {
        if self.has_fault_4 { Next::Look(store) } else { Next::Root(store) }
    }

    /// One step for a version that is discarded; what is next, or nothing when that is all.
    fn discard(
        &self,
        state: &mut State,
        worker: usize,
        claim: Option<usize>,
        version: usize,
        next: Discard,
    ) -> Option<Discard> {
        let (name, key) = (self.name(state, version), self.key(state, version));
        let (standing, owner) = (state.versions[version].standing, state.versions[version].item);
        let is_allowed = match claim {
            Some(item) => state.holds(worker, item) && state.lease == Some(item),
            None => state.items[owner].status == Status::Cancelled,
        };
        let drop_rows = |row: &mut Version, is_swept| {
            *row = Version {
                standing: Standing::Dropped,
                has_rows: false,
                copies: [false; 2],
                was_dropped: true,
                is_swept,
                ..row.clone()
            };
        };
        match next {
            Discard::Mark => match standing {
                Standing::Preparing if is_allowed => {
                    let row = &mut state.versions[version];
                    (row.standing, row.was_dropped) = (Standing::Dropping, true);
                    Some(Discard::Rows)
                }
                _ => None,
            },
            Discard::Rows if self.has_fault_1 => {
                if standing == Standing::Preparing && (claim.is_none() || is_allowed) {
                    drop_rows(&mut state.versions[version], true);
                }
                None
            }
            Discard::Rows => {
                if standing == Standing::Dropping {
                    drop_rows(&mut state.versions[version], false);
                }
                Some(Discard::Remove(0))
            }
            Discard::Remove(store) => {
                let was_open = has(state.stores[store].assemblies, name);
                state.stores[store].assemblies &= !bit(name);
                if store == 1 && (was_open || !self.has_fault_1) {
                    state.stores[1].keys &= !bit(key);
                }
                Some(match store {
                    0 => Discard::Remove(1),
                    _ if self.has_fault_1 => Discard::Rows,
                    _ => Discard::Swept,
                })
            }
            Discard::Swept => {
                if standing == Standing::Dropped {
                    state.versions[version].is_swept = true;
                }
                None
            }
        }
    }
}
