//! Drops what puts and removals that were never completed left in the stores.

use std::time::Duration;

use super::BackgroundTask;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, duplication};

const EVERY: Duration = Duration::from_hours(24);

/// A put that was begun so long ago is over: no put takes longer.
pub(super) const LONGEST_PUT: Duration = Duration::from_hours(7 * 24);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "uploads", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let (mut swept, mut failure) = (0, None::<EngineError>);
    for store in home.stores.values() {
        if stop.is_requested() {
            break;
        }
        match store.sweep_unfinished(LONGEST_PUT) {
            Ok(leftovers) => swept += leftovers,
            // It is swept another day.
            Err(error) if error.is_away() => {}
            Err(error) => failure = failure.or_else(|| Some(error.into())),
        }
    }
    // Duplication writes into those only that a rule of a newest policy has as its destination.
    for name in duplication::destinations(home)? {
        if stop.is_requested() {
            break;
        }
        match home.plain_stores.get(&name).and_then(|store| Ok(store.sweep_unfinished(LONGEST_PUT)?)) {
            Ok(leftovers) => swept += leftovers,
            Err(error) if error.away().is_some() => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    Ok(format!("{swept} leftovers of puts and removals removed from the stores"))
}
