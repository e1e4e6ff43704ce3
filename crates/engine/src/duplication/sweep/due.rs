//! When a sweep begins: after a change or an approval of the policy at once, else when its time has come.

use std::time::Duration;

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use strongroom_registry::sweeps::{self, NewSweep, Sweep};
use strongroom_registry::{InstitutionId, RegistryError, Time};

use crate::duplication::{CurrentPolicy, current};
use crate::event::Event;
use crate::settings::{DuplicationSettings, Settings};
use crate::{EngineError, Home};

/// Begins the sweep of an institution where it is due; whether it was.
pub(super) fn begin_if_due(home: &Home, institution: InstitutionId) -> Result<bool, EngineError> {
    let settings = &home.settings.duplication;
    if settings.every.is_zero() {
        return Ok(false);
    }
    let Some(policy) = current(home, institution)? else { return Ok(false) };
    let (newest, now) =
        home.registry.read(|tx| Ok::<_, RegistryError>((sweeps::newest(tx, institution)?, tx.now()?)))?;
    let is_due = match newest {
        None => true,
        Some(newest) if newest.policy_version != policy.version || policy.changed_at > newest.started_at => true,
        Some(newest) => {
            let next = next_start(settings, newest.started_at)?;
            // A beginning that lies ahead was noted by a clock that was ahead.
            next <= now || newest.started_at > now
        }
    };
    Ok(is_due && begin(home, institution, &policy, false, None)?.is_some())
}

/// Begins a sweep of an institution; none where one is at work.
pub(crate) fn begin(
    home: &Home,
    institution: InstitutionId,
    policy: &CurrentPolicy,
    is_whole: bool,
    started_by: Option<String>,
) -> Result<Option<Sweep>, EngineError> {
    let rules = policy.lookup().policy().rules();
    let mut pairs: Vec<(String, String)> = rules.map(|rule| (rule.source.clone(), rule.destination.clone())).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let new = NewSweep { institution, policy_version: policy.version, is_whole, started_by, pairs };
    // One of which only deletions wait for a person ends where a new one begins.
    let (begun, ended) = home.registry.write(move |tx| {
        let open = sweeps::open_of(tx, institution)?;
        let open = open.map(|open| Ok::<_, RegistryError>((sweeps::totals(tx, open.id)?, open))).transpose()?;
        let begun = sweeps::begin(tx, &new)?;
        let ended = open.filter(|_| begun.is_some());
        Ok::<_, RegistryError>((begun, ended))
    })?;
    if let Some((totals, sweep)) = &ended {
        Event::SweepEnded { sweep, totals }.emit();
    }
    Ok(begun)
}

/// When the sweep after one begins.
fn next_start(settings: &DuplicationSettings, started_at: Time) -> Result<Time, EngineError> {
    let earliest = started_at.plus(i64::try_from(settings.every.as_micros()).unwrap_or(i64::MAX));
    let Some((start, zone)) = start_of(settings).map_err(EngineError::Usage)? else { return Ok(earliest) };
    Ok(first_at(earliest.timestamp(), start, &zone).map_or(earliest, Time::from))
}

/// The first time of day that is not before a time. Where the day of a change of clocks has none, the next one that it has.
fn first_at(earliest: Timestamp, start: civil::Time, zone: &TimeZone) -> Option<Timestamp> {
    let mut day = earliest.to_zoned(zone.clone()).date();
    // A day, and one more where the clocks change.
    for _ in 0..3 {
        let at = day.to_datetime(start).to_zoned(zone.clone()).ok()?.timestamp();
        if at >= earliest {
            return Some(at);
        }
        day = day.checked_add(1.day()).ok()?;
    }
    None
}

/// The time of day at which sweeps begin, with its zone; none where they begin at once.
fn start_of(settings: &DuplicationSettings) -> Result<Option<(civil::Time, TimeZone)>, String> {
    let zone = TimeZone::get(&settings.time_zone)
        .map_err(|error| format!("there is no time zone {:?}: {error}; try \"Europe/Vienna\"", settings.time_zone))?;
    if settings.start.is_empty() {
        return Ok(None);
    }
    let parsed = civil::Time::strptime("%H:%M", &settings.start);
    let time = parsed
        .map_err(|_| format!("{:?} is no time of day; write hours and minutes, such as \"02:00\"", settings.start))?;
    Ok(Some((time, zone)))
}

/// Checks when sweeps begin.
pub(crate) fn check_start(settings: &Settings) -> Result<(), (&'static str, String)> {
    let settings = &settings.duplication;
    if !settings.every.is_zero() && settings.every < Duration::from_mins(1) {
        return Err(("duplication.every", "it is less than a minute; try \"7d\", or \"0s\" for none".to_owned()));
    }
    let key = if settings.start.is_empty() { "duplication.time_zone" } else { "duplication.start" };
    start_of(settings).map(|_| ()).map_err(|reason| (key, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(earliest: &str, start: &str, zone: &str) -> String {
        let start = civil::Time::strptime("%H:%M", start).unwrap();
        first_at(earliest.parse().unwrap(), start, &TimeZone::get(zone).unwrap()).unwrap().to_string()
    }

    #[test]
    fn the_first_time_of_day_behind_a_time_is_by_its_zone() {
        assert_eq!(first("2026-11-28T00:30:00Z", "02:00", "UTC"), "2026-11-28T02:00:00Z");
        assert_eq!(first("2026-11-28T02:00:00Z", "02:00", "UTC"), "2026-11-28T02:00:00Z");
        assert_eq!(first("2026-11-28T02:00:01Z", "02:00", "UTC"), "2026-11-29T02:00:00Z");
        assert_eq!(first("2026-11-28T00:30:00Z", "02:00", "Europe/Vienna"), "2026-11-28T01:00:00Z");
        assert_eq!(first("2026-11-28T02:59:00Z", "23:59", "Pacific/Auckland"), "2026-11-28T10:59:00Z");
        // The night in which clocks are set forward has no 02:30, and the one in which they are set back has two.
        assert_eq!(first("2026-03-29T00:00:00Z", "02:30", "Europe/Vienna"), "2026-03-29T01:30:00Z");
        assert_eq!(first("2026-10-25T00:00:00Z", "02:30", "Europe/Vienna"), "2026-10-25T00:30:00Z");
    }

    #[test]
    fn what_is_no_time_of_day_or_zone_is_refused() {
        let of = |start: &str, zone: &str| {
            let mut settings = Settings::from_toml(&crate::settings::starting_file()).unwrap();
            (settings.duplication.start, settings.duplication.time_zone) = (start.to_owned(), zone.to_owned());
            check_start(&settings).map_err(|(key, _)| key)
        };
        assert_eq!(of("", "UTC"), Ok(()));
        assert_eq!(of("23:50", "Europe/Vienna"), Ok(()));
        for start in ["24:00", "2", "02:60", "noon", "-1:00"] {
            assert_eq!(of(start, "UTC"), Err("duplication.start"), "{start}");
        }
        assert_eq!(of("", "Europe/Nowhere"), Err("duplication.time_zone"));
    }
}
