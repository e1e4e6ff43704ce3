//! Acting on an object beside work items: holding it while what lies in the stores or is known of it is changed, and why such
//! an act stops. Each hold has an owner of its own, so that two processes, or two attempts of one task, are never taken for
//! the same.

use std::cell::Cell;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use strongroom_database::{DatabaseError, Isolation};
use strongroom_ocfl::OcflError;
use strongroom_queue::Outcome;
use strongroom_registry::deletions;
use strongroom_registry::journal::Actor;
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::work::{self, Assignment, Claim};
use strongroom_registry::{ObjectId, RegistryError, Time, Transaction, stores};
use strongroom_storage::StorageError;
use uuid::Uuid;

use crate::deletion::finish_pending;
use crate::interruptible::Supervisor;
use crate::runtime::{Interrupted, TaskContext, TaskEnd};
use crate::{EngineError, Home};

/// How long a hold lasts without being kept, in microseconds.
const LEASE: i64 = 60_000_000;
/// How often it is kept while bytes flow.
const KEEP_EVERY: Duration = Duration::from_secs(10);

/// Whether to go on, asked while bytes flow.
pub(crate) type GoOn<'a> = dyn Supervisor + Sync + 'a;

/// Why an act on an object stops before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperationError {
    /// Another process holds the object, until then.
    #[error("another worker holds the object until {0}")]
    Busy(Time),
    /// The process stops, or the task is no longer ours.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Something failed or refused.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<RegistryError> for OperationError {
    fn from(error: RegistryError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<DatabaseError> for OperationError {
    fn from(error: DatabaseError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<StorageError> for OperationError {
    fn from(error: StorageError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<OcflError> for OperationError {
    fn from(error: OcflError) -> Self {
        Self::Engine(error.into())
    }
}

impl OperationError {
    /// How a task ends that stops for this reason. No attempt is spent on an object that another worker holds, or on a store that
    /// is away.
    pub(crate) fn task_end(self, home: &Home, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        match self {
            Self::Busy(until) => Outcome::Defer(ask_again(context.time_after(Duration::ZERO), until)).into(),
            Self::Interrupted(reason) => reason.into(),
            Self::Engine(error) => match error.away() {
                Some((store, _)) => Outcome::Defer(context.time_after(home.ask_again_for(store))).into(),
                None => context.transient(assignment, error.chain()),
            },
        }
    }
}

/// The registry's time.
pub(crate) fn now(home: &Home) -> Result<Time, RegistryError> {
    home.registry.read(|tx| Ok(tx.now()?))
}

/// The lease of an object. Let go when dropped, unless it is a work item's. Where it was lost, what was deleted of the object is looked for
/// again in every store.
pub(crate) struct ObjectHold<'h> {
    home: &'h Home,
    object: ObjectId,
    owner: Uuid,
    fence: i64,
    /// How often stores had been replaced when it was taken.
    replacements: u64,
    kept_at: Cell<Instant>,
    /// Whether a proof of it was refused.
    is_lost: Cell<bool>,
    /// The claim of the work item that has it and goes on with it afterwards.
    claim: Option<Claim>,
    /// On whose behalf; none for the program itself.
    actor: Option<Actor>,
}

impl<'h> ObjectHold<'h> {
    /// Takes the lease, or says when to ask again. What was deleted of the object is removed first from stores that still have it and are
    /// there.
    pub(crate) fn take(home: &'h Home, object: ObjectId) -> Result<Self, OperationError> {
        let hold = Self::take_alone(home, object)?;
        if home.registry.read(|tx| deletions::is_any_pending(tx, object))? {
            finish_pending(home, &hold, &|| Ok(()))?;
        }
        Ok(hold)
    }

    /// As [`Self::take`], and leaves the stores as they are.
    pub(crate) fn take_alone(home: &'h Home, object: ObjectId) -> Result<Self, OperationError> {
        Self::take_as(home, object, Uuid::now_v7())
    }

    /// As [`Self::take_alone`], in the name of an owner that is known not to work: the item of a version that was being
    /// committed.
    pub(crate) fn take_as(home: &'h Home, object: ObjectId, owner: Uuid) -> Result<Self, OperationError> {
        let hold = Self::take_lease(home, object, owner, None)?;
        // A store that is replaced after this is noticed by the next write.
        home.compare_stores()?;
        Ok(hold)
    }

    fn take_lease(home: &'h Home, object: ObjectId, owner: Uuid, claim: Option<Claim>) -> Result<Self, OperationError> {
        let claimed = claim.clone();
        let (hold, replacements) = home.registry.write_lease(Isolation::Serial, move |tx| {
            check_claim(tx, claimed.as_ref())?;
            let until = tx.now()?.plus(LEASE);
            Ok::<_, RegistryError>((leases::hold(tx, object, owner, until)?, stores::replacements(tx)?))
        })?;
        match hold {
            Hold::Held { fence, .. } => {
                let kept_at = Cell::new(Instant::now());
                let is_lost = Cell::new(false);
                Ok(Self { home, object, owner, fence, replacements, kept_at, is_lost, claim, actor: None })
            }
            Hold::Busy { until } => Err(OperationError::Busy(until)),
        }
    }

    /// The lease that a work item has already; it is not let go. It is refused, then and at each write, to a worker whose item
    /// another one has by now: that one holds the object in the name of the same item, or the item has ended.
    pub(crate) fn of_item(home: &'h Home, object: ObjectId, claim: &Claim) -> Result<Self, OperationError> {
        let hold = Self::take_lease(home, object, claim.item.0, Some(claim.clone()))?;
        home.compare_stores()?;
        Ok(hold)
    }

    /// The same, on behalf of an actor: what is written of the object names it.
    pub(crate) fn on_behalf_of(mut self, actor: Option<&Actor>) -> Self {
        self.actor = actor.cloned();
        self
    }

    /// The object that is held.
    pub(crate) fn object(&self) -> ObjectId {
        self.object
    }

    /// On whose behalf; none for the program itself.
    pub(crate) fn actor(&self) -> Option<&Actor> {
        self.actor.as_ref()
    }

    /// Keeps it where that was not done for a while.
    pub(crate) fn keep_in_time(&self) -> Result<(), OperationError> {
        if self.kept_at.get().elapsed() >= KEEP_EVERY { self.keep() } else { Ok(()) }
    }

    /// Keeps it; refused when another owner had it in between, or a store was replaced.
    pub(crate) fn keep(&self) -> Result<(), OperationError> {
        self.noting_loss(self.home.registry.write_lease(Isolation::Serial, self.proof()))?;
        self.kept_at.set(Instant::now());
        Ok(())
    }

    /// Runs a write transaction that also proves the hold: nothing is recorded by one who lost it, or who may have seen a
    /// store that was replaced since.
    pub(crate) fn write<T, F>(&self, mut job: F) -> Result<T, OperationError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, RegistryError> + Send + 'static,
    {
        let mut prove = self.proof();
        Ok(self.noting_loss(self.home.registry.write(move |tx| {
            prove(tx)?;
            job(tx)
        }))?)
    }

    fn noting_loss<T>(&self, outcome: Result<T, RegistryError>) -> Result<T, RegistryError> {
        if let Err(RegistryError::FenceLost { .. }) = &outcome {
            self.is_lost.set(true);
        }
        outcome
    }

    /// Whether another worker has the work item by now.
    fn is_of_another(&self, claim: &Claim) -> bool {
        let checked = self.home.registry.read(|tx| work::check_fence(tx, claim));
        matches!(checked, Err(RegistryError::FenceLost { .. }))
    }

    /// What proves the hold in a write transaction, and extends its lease.
    fn proof(&self) -> impl FnMut(&mut dyn Transaction) -> Result<(), RegistryError> + Send + 'static {
        let (object, owner, fence, replacements) = (self.object, self.owner, self.fence, self.replacements);
        let claim = self.claim.clone();
        move |tx| {
            check_claim(tx, claim.as_ref())?;
            keep(tx, object, owner, fence)?;
            if stores::replacements(tx)? != replacements {
                return Err(RegistryError::FenceLost { what: "object", id: object.to_string() });
            }
            Ok(())
        }
    }

    /// The bytes of `body`, with the hold kept while they flow.
    pub(crate) fn keeping<R: Read>(&self, body: R) -> Keeping<'_, 'h, R> {
        Keeping { hold: self, body }
    }
}

fn check_claim(tx: &mut dyn Transaction, claim: Option<&Claim>) -> Result<(), RegistryError> {
    claim.map_or(Ok(()), |claim| work::check_fence(tx, claim))
}

fn keep(tx: &mut dyn Transaction, object: ObjectId, owner: Uuid, fence: i64) -> Result<(), RegistryError> {
    let until = tx.now()?.plus(LEASE);
    match leases::hold(tx, object, owner, until)? {
        Hold::Held { fence: now, kept: true } if now == fence => Ok(()),
        _ => Err(RegistryError::FenceLost { what: "object", id: object.to_string() }),
    }
}

impl Drop for ObjectHold<'_> {
    fn drop(&mut self) {
        let (object, owner, fence) = (self.object, self.owner, self.fence);
        let is_item = self.claim.is_some();
        // An item that another worker has by now has lost it too, also where an error came before a proof was asked for.
        let is_lost = self.is_lost.get() || self.claim.as_ref().is_some_and(|claim| self.is_of_another(claim));
        if is_item && !is_lost {
            return;
        }
        let let_go = self.home.registry.write(move |tx| {
            // What was put after the hold was lost may be what a deletion had removed by then.
            if is_lost || !leases::is_last(tx, object, owner, fence)? {
                deletions::reopen_of_object(tx, object, owner)?;
            }
            if is_item { Ok(Vec::new()) } else { leases::release_owner(tx, owner) }
        });
        // Where this fails the lease runs out by itself.
        if let Ok(topics) = let_go {
            self.home.registry.wakeups().notify(topics.iter().map(String::as_str));
        }
    }
}

/// See [`ObjectHold::keeping`].
pub(crate) struct Keeping<'a, 'h, R> {
    hold: &'a ObjectHold<'h>,
    body: R,
}

impl<R: Read> Read for Keeping<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.hold.kept_at.get().elapsed() >= KEEP_EVERY {
            self.hold.keep().map_err(|halt| io::Error::other(halt.to_string()))?;
        }
        self.body.read(buffer)
    }
}

/// When to look again for an object that another process holds: not before its lease can be free, and soon.
fn ask_again(now: Time, until: Time) -> Time {
    until.min(now.plus(30_000_000)).max(now.plus(1_000_000))
}
