//! A deposit whose process is killed between the choice of the name and the publication: the next process ends it with the same ARK.
//!

use std::sync::Arc;

use strongroom_engine::background;
use strongroom_registry::items::ItemFilter;

use super::*;
use crate::killing::home_of_this_process;

on_both_databases! {
    i06_a_deposit_ends_with_one_ark_when_its_process_is_killed_at_any_point
    a_lost_reply_and_a_kill_together_lose_no_name
    an_update_whose_process_is_killed_is_sent_again
}

#[test]
#[ignore = "is run by the other tests of this module, in a process of its own"]
fn killed() {
    let Some(home) = home_of_this_process().map(Arc::new) else { return };
    let open =
        home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 10)).expect("lists");
    let open: Vec<ItemId> = open.into_iter().filter(|item| !item.status.is_ended()).map(|item| item.id).collect();
    work_on(&home, &open, &Shutdown::new()).expect("works");
    background::run_due(&home, &Shutdown::new()).expect("delivers");
}

fn kill_at(home: &TestHome, point: &str) {
    crate::killing::kill_at(home.path(), "identifiers::crash::killed", point, &[]);
    // The lease of the one that was killed runs out.
    home.clock.advance(Duration::from_mins(2));
}

fn i06_a_deposit_ends_with_one_ark_when_its_process_is_killed_at_any_point(engine: Engine) {
    let points = [
        "ingest.resolve.begin",
        "ingest.resolve.chosen",
        "ingest.resolve.registered",
        "ingest.resolve.end",
        "ingest.compare.end",
        "ingest.write.end",
        "ingest.record.committing",
        "ingest.record.middle",
        "ingest.record.end",
    ];
    for point in points {
        let Some((double, home)) = with_ezid(engine) else { return };
        let id = submit(&home, "a.txt", "one", |_| ());
        kill_at(&home, point);
        succeeds(&home, id);
        assert_none_leaked(&double, &home);
        let names: BTreeSet<String> = double.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(names.len(), 1, "{point}: one name was asked for");
        let waiting = home.registry.read(|tx| strongroom_registry::outbox::waiting(tx, "ezid")).expect("reads");
        assert_eq!(waiting.messages, 1, "{point}");
    }
}

fn a_lost_reply_and_a_kill_together_lose_no_name(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let id = submit(&home, "a.txt", "one", |_| ());
    double.plan(&Fault::LoseReply, 1);
    kill_at(&home, "ingest.resolve.registered");
    double.plan(&Fault::CutReply, 1);
    succeeds(&home, id);
    assert_none_leaked(&double, &home);
}

fn an_update_whose_process_is_killed_is_sent_again(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let id = submit(&home, "a.txt", "one", |_| ());
    succeeds(&home, id);
    kill_at(&home, "outbox.ezid.sent");
    let done = strongroom_engine::outbox::deliver(&home, &Shutdown::new()).expect("delivers");
    assert_eq!((done.delivered, done.failed), (1, 0), "{done:?}");
    assert_none_leaked(&double, &home);
}
