//! What is known of digests, their checks, and repairs.

use std::time::Duration;

use strongroom_registry::{Time, counted};

use super::Answer;
use super::facts::{Examined, Facts, Holds};
use super::storage;

/// Answers by how many of the files are without something.
pub(super) fn files(facts: &Facts, lacking: u64, without: &str) -> Answer {
    examined(facts.files, lacking, (counted(facts.files.kept, "file", "files"), without))
}

/// Answers by how many of what was examined lack something.
pub(super) fn examined(examined: Examined, lacking: u64, (what, without): (String, &str)) -> Answer {
    let evidence = format!("{what} examined, {lacking} {without}");
    match (lacking, examined.is_all) {
        (0, true) if examined.kept == 0 => Answer::unknown("nothing is kept yet"),
        (0, true) => Answer::met(evidence),
        (0, false) => Answer::unknown(format!("{evidence}; there are more, which --whole examines")),
        _ => Answer::not_met(evidence),
    }
}

const UNRECORDED: &str = "without a record of the ingest with digests";

/// Digests that came with files were compared.
pub(super) fn compared(facts: &Facts) -> Answer {
    files(facts, facts.unrecorded, UNRECORDED)
}

/// Digests were computed.
pub(super) fn computed(facts: &Facts) -> Answer {
    files(facts, facts.unrecorded, UNRECORDED)
}

/// Everything is checked for viruses.
pub(super) fn virus_checked(facts: &Facts) -> Answer {
    if facts.open_virus_findings > 0 {
        let files = counted(facts.open_virus_findings, "file with a virus is kept", "files with a virus are kept");
        return Answer::not_met(files);
    }
    let Some(tool) = &facts.virus_tool else {
        return Answer::not_met("ingest.tools names no tool that checks for viruses");
    };
    files(facts, facts.unchecked_for_viruses, "without a virus check that passed")
        .and(|| Answer::met(format!("new files are checked by {tool}")))
}

/// Each copy was compared with its digest after it was written.
pub(super) fn verified_after_copying(facts: &Facts) -> Answer {
    let (unverified, is_all) = facts.unverified_copies;
    if facts.is_empty() {
        Answer::unknown("nothing is kept yet")
    } else if unverified > 0 {
        let copies = counted(unverified, "copy was", "copies were");
        Answer::not_met(format!("{copies} not compared with the digest since written"))
    } else if is_all {
        Answer::met("every copy was compared with its digest since it was written")
    } else {
        Answer::unknown("too many copies of deposits on their way")
    }
}

/// Digests lie away from what they are of: the inventories of one store tell what another one should have.
pub(super) fn digests_apart(facts: &Facts) -> Answer {
    storage::two_copies(facts)
}

/// Each copy is checked at fixed intervals.
pub(super) fn checked_at_intervals(facts: &Facts) -> Answer {
    if let Some(error) = facts.fixity_task.as_ref().and_then(|task| task.error.as_ref()) {
        return Answer::not_met(format!("the background task fixity fails: {error}"));
    }
    if facts.is_empty() {
        return Answer::unknown("nothing is kept yet");
    }
    let Some(last_round) = facts.last_round else {
        return Answer::not_met("no check for copies that are due was made yet");
    };
    let due = facts.stores.iter().filter(|store| store.oldest_check.is_some_and(|time| time.0 == 0));
    let due: Vec<&str> = due.map(|store| store.name.as_str()).collect();
    if !due.is_empty() {
        return Answer::not_met(format!(
            "the check of copies in {} is due now: it was asked for, never made, or the last one failed",
            due.join(", ")
        ));
    }
    // What is due is found by the next search.
    let allowed = micros(facts.max_age) + micros(facts.poll_interval);
    let is_late = |store: &&super::facts::StoreFact| {
        store.oldest_check.is_some_and(|time| time.0.saturating_add(allowed) < facts.now.0)
    };
    let late: Vec<&str> = facts.stores.iter().filter(is_late).map(|store| store.name.as_str()).collect();
    let days = facts.max_age.as_secs() / 86_400;
    if !late.is_empty() {
        return Answer::not_met(format!("copies in {} were not checked for {days} days", late.join(", ")));
    }
    let oldest = facts.stores.iter().filter_map(|store| store.oldest_check).min();
    match oldest {
        Some(oldest) => Answer::met(format!(
            "every copy was checked within {days} days, the oldest check is of {}; the last round was {}",
            minute(oldest),
            minute(last_round)
        )),
        None => Answer::unknown("no store has a copy"),
    }
}

/// A time in UTC to the minute.
fn minute(time: Time) -> String {
    time.timestamp().strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 4)
}

/// Checks and their outcomes are recorded.
pub(super) fn checks_recorded(facts: &Facts) -> Answer {
    if facts.is_empty() {
        return Answer::unknown("nothing is kept yet");
    }
    match facts.last_round {
        Some(round) => {
            Answer::met(format!("the last round was {}; each copy has the time of its last check", minute(round)))
        }
        None => Answer::not_met("no round of checks is on record"),
    }
}

/// Every copy can be checked at once.
pub(super) fn checked_on_demand(facts: &Facts) -> Answer {
    if facts.stores.is_empty() {
        return Answer::not_met("no store is in use");
    }
    if facts.is_empty() {
        return Answer::unknown("nothing is kept yet");
    }
    storage::available(&facts.stores)
}

/// Copies for which something happened were checked.
pub(super) fn checked_after_events(facts: &Facts) -> Answer {
    checks_recorded(facts).and(|| {
        let waiting = facts.stores.iter().filter(|store| store.oldest_check.is_some_and(|time| time.0 == 0));
        let waiting: Vec<&str> = waiting.map(|store| store.name.as_str()).collect();
        if waiting.is_empty() {
            Answer::met("no check that an event made due is open")
        } else {
            Answer::not_met(format!("copies in {} wait for a check that an event made due", waiting.join(", ")))
        }
    })
}

/// What was found corrupt is repaired. What is not checked is not found.
pub(super) fn repaired(facts: &Facts) -> Answer {
    no_finding_open(facts).and(|| checked_at_intervals(facts))
}

fn no_finding_open(facts: &Facts) -> Answer {
    let mut unknown = None;
    for store in &facts.stores {
        match &store.holds {
            Holds::NotWhole(reason) => return Answer::not_met(reason.clone()),
            Holds::Unknown(reason) => unknown = Some(reason.clone()),
            Holds::Whole => {}
        }
    }
    match unknown {
        Some(reason) => Answer::unknown(reason),
        None => Answer::met("no finding is open"),
    }
}

/// What people answer about deposits from media.
pub(super) fn write_blockers(_: &Facts) -> Answer {
    Answer::for_people("original media are read before a deposit")
}
