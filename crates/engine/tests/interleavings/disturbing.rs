//! What others do while the first engine sleeps.

use std::sync::Arc;

use strongroom_engine::Home;
use strongroom_engine::backfill::{self, BackfillRequest};
use strongroom_engine::background::{TASKS, run_now};
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::restoration::{RestoreRequest, request_object};
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::ItemStatus;
use strongroom_registry::items::Request;
use strongroom_storage::PutOptions;

use crate::deleting::{add_users, agree, expand};
use crate::deposits::{DELETED, bytes_of_deleted};
use crate::gate::Gate;
use crate::house::{self, House, OBJECT, Subject};
use crate::installation::KEPT_IN;
use crate::process::{Disturbance, Process, key_of};
use crate::workers::{is_done, work, work_until};

/// What damaged bytes begin with, in the place of their own.
pub(crate) const DAMAGED_BEGINNING: &[u8] = b"###";

/// Acts as the disturbance says.
pub(crate) fn act(process: Process, disturbance: Disturbance, house: &House) -> Result<(), String> {
    let second = house.engine(None, house.clock());
    match disturbance {
        Disturbance::TakeOverAndDeposit => {
            work(house, &second, &house.subject)?;
            work(house, &second, &Subject::from(house.deposit(process.next_deposit())))
        }
        Disturbance::DepositAndTakeOver => {
            work(house, &second, &Subject::from(house.deposit(process.next_deposit())))?;
            work(house, &second, &house.subject)
        }
        Disturbance::Cancel => {
            house.request(&second, Request::Cancel);
            work(house, &second, &house.subject)
        }
        Disturbance::CancelAndRequeue => {
            house.request(&second, Request::Cancel);
            fail_to_clear_up(house)?;
            requeue(house, &second)
        }
        Disturbance::Requeue => requeue(house, &second),
        Disturbance::Check => {
            damage(house);
            check(&second)
        }
        Disturbance::Restore => restore(house, &second),
        Disturbance::Backfill => fill(&second),
        Disturbance::Delete => delete(house, &second, &[]),
        Disturbance::DeleteFiles => delete(house, &second, &DELETED),
        _ => work(house, &second, &house.subject),
    }
}

/// Works while a store removes nothing, until that has failed or nothing is left to be removed. An item that is being
/// committed cannot end before what a sleeping worker left in its assembly is removed.
fn fail_to_clear_up(house: &House) -> Result<(), String> {
    let gate = Gate::refusing_removals("secondary");
    let failing = house.engine(Some(&gate), house.clock());
    let item = house.subject.item.expect("an item");
    let has_ended = || house::item(&failing, item).status.is_ended();
    let is_over = || gate.refused() > 0 || has_ended() && is_done(&failing, &house.subject);
    work_until(house, &failing, |_| true, is_over)
}

/// Requeues the item, once it has ended where it cannot be requeued before, and works until it has ended.
pub(crate) fn requeue(house: &House, home: &Arc<Home>) -> Result<(), String> {
    if !house.request(home, Request::Requeue(None)) {
        work(house, home, &house.subject)?;
        house.request(home, Request::Requeue(None));
    }
    work(house, home, &house.subject)
}

/// Damages a copy of what is deleted and, in the other store, one of what may stay, where they are there.
fn damage(house: &House) {
    let first = (house.payload)(1)[0].1;
    for (name, bytes) in KEPT_IN.into_iter().zip([bytes_of_deleted(), first]) {
        let store = house.store(name);
        let Some(key) = key_of(store, bytes) else { continue };
        let damaged = [DAMAGED_BEGINNING, &bytes[DAMAGED_BEGINNING.len()..]].concat();
        store.delete(&key).expect("removes");
        store.put(&key, &mut damaged.as_slice(), &PutOptions::default()).expect("puts other bytes");
    }
}

/// Checks every copy, and repairs those that are damaged where that may be done now.
pub(crate) fn check(home: &Home) -> Result<(), String> {
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(home, &all, &mut |_| ()).map_err(|error| error.chain())?;
    if (summary.failed, summary.unrepairable) == (0, 0) { Ok(()) } else { Err(format!("the check: {summary:?}")) }
}

/// Brings what the last store lacks there, where that may be done now.
pub(crate) fn fill(home: &Home) -> Result<(), String> {
    let summary = backfill::run(home, &BackfillRequest::new(KEPT_IN[1]), &mut |_| ());
    let summary = summary.map_err(|error| error.chain())?;
    if summary.failed == 0 { Ok(()) } else { Err(format!("the store is not filled: {summary:?}")) }
}

/// Does what the background task does that removes from stores what was deleted.
pub(crate) fn finish_deletions(home: &Home) -> Result<(), String> {
    let task = TASKS.iter().find(|task| task.name == "deletions").expect("the task");
    run_now(home, task, &Shutdown::new()).map(drop).map_err(|error| error.chain())
}

/// Asks for the object, and works until that has ended or waits.
fn restore(house: &House, home: &Arc<Home>) -> Result<(), String> {
    // One that was deleted is not restored.
    let Ok(item) = request_object(home, &RestoreRequest::of_system(OBJECT)) else { return Ok(()) };
    house.others.lock().expect("a lock").push(item);
    let rests = || {
        let item = house::item(home, item);
        let waits = item.wait_reason.is_some() || item.retry_count > 0;
        item.status.is_ended() || item.status == ItemStatus::Pending && waits
    };
    work_until(house, home, |topic| topic.starts_with("restoration."), rests)
}

/// Two users agree to delete the object, or files of it, and a worker does it. Where that is refused, nothing is deleted.
fn delete(house: &House, home: &Arc<Home>, paths: &[&str]) -> Result<(), String> {
    add_users(house);
    let Ok(request) = agree(house, paths) else { return Ok(()) };
    let item = expand(house, &request);
    house.others.lock().expect("a lock").push(item);
    work(house, home, &Subject::from(item))
}
