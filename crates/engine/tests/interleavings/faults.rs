//! Faults that the program once had, put back: the search finds each of them.

use std::sync::PoisonError;

use strongroom_registry::faults::{DELETION_OF_HOLDERS, DISCARD_BY_NUMBER, RESUMED_DISCARD};
use strongroom_s3_double::Rules;

use super::{FAULTS, Run, operations};
use crate::house::{Kind, Template};
use crate::process::{Disturbance, Process};

/// A fault that is put back until this is dropped.
struct PutBack(&'static str);

impl PutBack {
    fn new(fault: &'static str) -> Self {
        fail::cfg(fault, "return").expect("a fail point");
        Self(fault)
    }
}

impl Drop for PutBack {
    fn drop(&mut self) {
        fail::remove(self.0);
    }
}

/// The first problem that a search finds, and where. It begins at the last operation with `word` in its name and goes back.
fn find(process: Process, template: &Template, disturbance: Disturbance, word: &str) -> Option<String> {
    let operations = operations(process, template);
    operations.iter().rev().skip_while(|operation| !operation.contains(word)).find_map(|operation| {
        let problems = Run { process, template, disturbance, operation }.problems();
        (!problems.is_empty()).then(|| format!("{operation}: {}", problems.join("; ")))
    })
}

/// Asserts that the end is not as it should be after some interleaving.
fn assert_finds(process: Process, template: &Template, disturbance: Disturbance, word: &str) {
    let found = find(process, template, disturbance, word);
    println!("{found:?}");
    assert!(found.is_some(), "{process:?} with {disturbance:?} ends well at every operation");
}

#[test]
fn a_version_that_is_resumed_after_half_a_sweep_is_found() {
    let _alone = FAULTS.write().unwrap_or_else(PoisonError::into_inner);
    let _fault = PutBack::new(RESUMED_DISCARD);
    let template = Process::FirstVersion.prepare(Kind::Folders);
    assert_finds(Process::FirstVersion, &template, Disturbance::CancelAndRequeue, "versions.commit");
}

#[test]
fn a_sleeping_worker_that_discards_what_others_wrote_is_found() {
    let _alone = FAULTS.write().unwrap_or_else(PoisonError::into_inner);
    let _fault = PutBack::new(DISCARD_BY_NUMBER);
    let template = Process::Discarding.prepare(Kind::Folders);
    assert_finds(Process::Discarding, &template, Disturbance::Requeue, "");
}

#[test]
fn a_deletion_that_does_not_know_of_a_store_is_found() {
    let _alone = FAULTS.write().unwrap_or_else(PoisonError::into_inner);
    let _fault = PutBack::new(DELETION_OF_HOLDERS);
    let template = Process::LackingObjectDeletion.prepare(Kind::Folders);
    assert_finds(Process::LackingObjectDeletion, &template, Disturbance::Backfill, "deletions.insert");
}

#[test]
fn a_sleeping_worker_that_commits_over_a_later_version_is_found() {
    let _whole = FAULTS.read().unwrap_or_else(PoisonError::into_inner);
    let mut template = Process::FirstVersion.prepare(Kind::Buckets);
    // The stores believe that their server honours conditions.
    template.rules = Rules { if_none_match: false, if_match: false, ..Rules::AWS };
    assert_finds(Process::FirstVersion, &template, Disturbance::TakeOverAndDeposit, "inventory.json");
}
