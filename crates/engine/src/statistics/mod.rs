//! Statistics by day ([decision 68](../../../../docs/decisions/0068-statistics.md)): what came in, went out and was deleted, and what is kept.
//!
//! The background task `statistics` counts each object anew that has changed, and adds the difference to what it counted of it before
//! (`count.rs`). Making the statistics anew counts every object from nothing, beside those that are read.

pub(crate) mod cost;
mod count;
pub(crate) mod days;
pub(crate) mod quotas;
pub(crate) mod weekly;

use strongroom_registry::statistics::{self as rows, Epoch, Increment, Pending};
use strongroom_registry::{ObjectId, RegistryError, Scope, Time};

use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// Changes, or objects, that are counted in one transaction.
const AT_ONCE: usize = 100;
/// How often it is tried while other processes count the same.
const TRIES: u32 = 20;

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Changes that were counted.
    pub(crate) changes: u64,
    /// Objects that were counted from nothing.
    pub(crate) objects: u64,
    /// Counts of what is kept that were not right before they were made anew.
    pub(crate) corrected: u64,
}

/// Counts what has changed, and goes on with statistics in the making.
pub(crate) fn run(home: &Home, stop: &Shutdown) -> Result<Ran, EngineError> {
    let epochs = home.registry.read(rows::epochs)?;
    if epochs.is_empty() {
        home.registry.write(rows::begin)?;
    }
    let changes = count_pending(home, stop)?;
    let (objects, corrected) = make(home, stop)?;
    drop_stale(home, stop)?;
    home.registry.write(rows::release_ended)?;
    Ok(Ran { changes, objects, corrected })
}

/// Makes the statistics anew and counts what has changed meanwhile.
pub(crate) fn recompute(home: &Home, stop: &Shutdown) -> Result<Ran, EngineError> {
    home.registry.write(rows::begin)?;
    run(home, stop)
}

/// Counts every object of which something has changed; how many changes.
pub(crate) fn count_pending(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let (mut counted, mut tries) = (0, 0);
    while !stop.is_requested() {
        let (changes, increments) = home.registry.read(|tx| {
            let changes = rows::pending(tx, AT_ONCE)?;
            let mut objects: Vec<ObjectId> = changes.iter().map(|change| change.object).collect();
            objects.dedup();
            let epochs = rows::epochs(tx)?;
            let increments = count::increments(tx, &objects, &epochs)?;
            Ok::<_, EngineError>((changes, increments))
        })?;
        if changes.is_empty() {
            break;
        }
        let count = changes.len() as u64;
        if apply(home, changes, increments, None, &mut tries)? {
            crash_point("statistics.counted");
            counted += count;
        }
    }
    Ok(counted)
}

/// Adds what was counted, in one transaction; whether no other process came before.
fn apply(
    home: &Home,
    changes: Vec<Pending>,
    increments: Vec<Increment>,
    further: Option<(Epoch, ObjectId)>,
    tries: &mut u32,
) -> Result<bool, EngineError> {
    let applied = home.registry.write(move |tx| {
        if let Some((making, to)) = &further {
            rows::advance(tx, making, *to)?;
        }
        rows::apply(tx, &changes, &increments)
    });
    match applied {
        Ok(()) => {
            *tries = 0;
            Ok(true)
        }
        Err(RegistryError::FenceLost { .. }) if *tries < TRIES => {
            *tries += 1;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Goes on with statistics in the making; how many objects were counted, and how many differences there were at the end.
fn make(home: &Home, stop: &Shutdown) -> Result<(u64, u64), EngineError> {
    let (mut counted, mut tries) = (0, 0);
    while !stop.is_requested() {
        let page = home.registry.read(|tx| {
            let Some(making) = rows::epochs(tx)?.into_iter().find(|epoch| !epoch.is_current) else { return Ok(None) };
            let objects = rows::objects(tx, making.after, AT_ONCE)?;
            let increments = count::increments(tx, &objects, &[making])?;
            Ok::<_, EngineError>(Some((making, objects, increments)))
        })?;
        let Some((making, objects, increments)) = page else { break };
        let Some(last) = objects.last().copied() else {
            match home.registry.write(move |tx| {
                let today = days::day_of(tx.now()?);
                rows::end(tx, &making, today)
            }) {
                Ok(differences) => {
                    crash_point("statistics.made");
                    return Ok((counted, differences));
                }
                Err(RegistryError::FenceLost { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        };
        if apply(home, Vec::new(), increments, Some((making, last)), &mut tries)? {
            crash_point("statistics.advanced");
            counted += objects.len() as u64;
        }
    }
    Ok((counted, 0))
}

/// Removes what earlier statistics had counted of objects.
fn drop_stale(home: &Home, stop: &Shutdown) -> Result<(), RegistryError> {
    let Some(oldest) = home.registry.read(rows::epochs)?.first().map(|epoch| epoch.number) else { return Ok(()) };
    while !stop.is_requested() {
        if home.registry.write(move |tx| rows::drop_stale(tx, oldest, 1_000))? == 0 {
            break;
        }
    }
    Ok(())
}

/// The statistics that are to be read: those in the making where there are no others.
pub(crate) fn span(home: &Home, scope: Scope) -> Result<rows::Span, RegistryError> {
    let epochs = home.registry.read(rows::epochs)?;
    Ok(rows::Span { epoch: epochs.first().map_or(0, |epoch| epoch.number), scope })
}

/// How many changes are not counted, and whether the first statistics are still in the making.
pub(crate) fn uncounted(home: &Home) -> Result<(u64, bool), RegistryError> {
    home.registry.read(|tx| {
        let is_first = !rows::epochs(tx)?.iter().any(|epoch| epoch.is_current);
        Ok((rows::count_pending(tx)?, is_first))
    })
}

/// The time by the registry.
pub(crate) fn now(home: &Home) -> Result<Time, RegistryError> {
    home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))
}
