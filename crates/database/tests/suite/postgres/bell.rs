//! Waking others: heard in every process, and not once for each who rings.

use std::time::{Duration, Instant};

use super::home;
use postgres::fallible_iterator::FallibleIterator;

/// Listens where the handles of this schema do.
const LISTEN: &str = "DO $$ BEGIN EXECUTE 'LISTEN strongroom_' || current_schema()::regnamespace::oid; END $$";

#[test]
fn a_ring_goes_out_at_once_and_the_revision_moves_by_itself_too() {
    let Some((database, scratch)) = home() else { return };
    let mut witness = scratch.client();
    witness.batch_execute(LISTEN).expect("listens");
    database.notify();
    let heard = witness.notifications().timeout_iter(Duration::from_mins(1)).next().expect("is connected");
    assert!(heard.is_some());
    let before = database.revision().expect("a number");
    let deadline = Instant::now() + Duration::from_mins(1);
    while database.revision().expect("a number") == before {
        assert!(Instant::now() < deadline, "nobody would look again");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_rings_are_few_notifications() {
    let Some((database, scratch)) = home() else { return };
    let mut witness = scratch.client();
    witness.batch_execute(LISTEN).expect("listens");
    let began = Instant::now();
    for _ in 0..2_000 {
        database.notify();
    }
    drop(database);
    let most = 3 + began.elapsed().as_millis() / 25;
    let mut heard = 0;
    let mut notifications = witness.notifications();
    let mut coming = notifications.timeout_iter(Duration::from_millis(500));
    while coming.next().expect("is connected").is_some() {
        heard += 1;
    }
    assert!(heard >= 1, "somebody rang");
    assert!(u128::from(heard as u64) <= most, "{heard} for 2,000 rings");
}
