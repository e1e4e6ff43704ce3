//! Compares the copies that there are with those that the placements name, reports which stores lack some, and enqueues what they lack for the
//! workers, at the rate of the settings. `status` shows what is found here.

use std::fmt::Write as _;
use std::time::Duration;

use strongroom_registry::{RegistryError, Time, tenants};

use super::BackgroundTask;
use crate::backfill::{self, Finding, StoreProgress};
use crate::event::Event;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_mins(1);
/// How often it is logged what stores lack, in microseconds.
const REPORTED_EVERY: i64 = 24 * 3_600_000_000;
/// The fact that says when that was last logged.
const REPORTED_AT: &str = "placements.reported_at";
/// What a run returns that ended before everything was compared.
const STOPPED: &str = "stopped before every placement was compared";

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "placements", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let mut finding = Finding::begin(home)?;
    // What was counted until it was stopped is less than there is.
    let Some(followed) = backfill::each_marked(home, stop, &mut |page| finding.add(page))? else {
        return Ok(STOPPED.to_owned());
    };
    let (found, enqueued) = finding.end(stop)?;
    if !found.is_empty() && is_to_be_reported(home)? {
        for (store, found) in &found {
            Event::CopiesLacking { store, objects: found.lacking }.emit();
        }
    }
    let sum = |count: fn(&StoreProgress) -> u64| found.values().map(count).sum::<u64>();
    let lacking = sum(|found| found.lacking);
    let mut done = format!("{lacking} times a store lacks an object of its placement");
    for (count, what) in [
        (followed, "given the placement of their collection"),
        (enqueued, "enqueued"),
        (sum(|found| found.given_up), "given up"),
    ] {
        if count > 0 {
            let _ = write!(done, ", {count} {what}");
        }
    }
    Ok(done)
}

/// Whether it was not logged for a day what stores lack. Where it was not, it is from now on.
fn is_to_be_reported(home: &Home) -> Result<bool, EngineError> {
    Ok(home.registry.write(|tx| {
        let now = tx.now()?;
        let reported = tenants::fact(tx, REPORTED_AT)?.and_then(|text| text.parse::<i64>().ok()).map(Time);
        // A time that lies ahead was noted by a clock that was ahead.
        let is_recent = reported.is_some_and(|at| at <= now && now < at.plus(REPORTED_EVERY));
        if !is_recent {
            tenants::set_fact(tx, REPORTED_AT, &now.0.to_string())?;
        }
        Ok::<_, RegistryError>(!is_recent)
    })?)
}
