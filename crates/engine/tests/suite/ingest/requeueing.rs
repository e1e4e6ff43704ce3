//! The stage at which a requeued deposit begins.

use std::time::Duration;

use strongroom_queue::{LeaseRequest, WorkerId};
use strongroom_registry::interim;
use strongroom_registry::items::Request;
use strongroom_registry::work::{self, Claim, StageEnd};

use super::identity::{ask, work_until};
use super::*;

fn claim(home: &TestHome, stage: Stage) -> Claim {
    let request = LeaseRequest {
        topics: vec![format!("ingest.{stage}")],
        keys: None,
        limit: 1,
        holder: WorkerId::new("test.invalid", 1, "0-0-1"),
        duration: Duration::from_mins(1),
    };
    let leasing = home.registry.write(move |tx| work::lease(tx, &Workflows::standard(), &request, &|_| 3));
    let claimed = leasing.expect("leases").assignments.pop().and_then(|one| one.claimed);
    claimed.expect("something waits at the stage").0
}

fn end(home: &TestHome, claim: &Claim, end: StageEnd) {
    let claim = claim.clone();
    home.registry
        .write(move |tx| work::finish(tx, &Workflows::standard(), &claim, "test", &end))
        .expect("the stage ends");
}

fn fail(home: &TestHome, claim: &Claim) {
    end(home, claim, StageEnd::Fatal { note: "a fatal error".into(), problems: Vec::new() });
}

fn requeued_at(home: &TestHome, id: ItemId, wanted: Option<Stage>) -> Stage {
    ask(home, id, Request::Requeue(wanted));
    find(home, id).stage
}

#[test]
fn a_deposit_begins_where_what_it_needs_is_still_there() {
    let home = home();
    let bag = home.bag("letters", &[("a.txt", b"one")]);
    let failed_at = |stage: &'static str, is_staged: bool| {
        let id = hand_in(&home, &bag);
        let receive = claim(&home, Stage::named("receive"));
        end(&home, &receive, StageEnd::Next { next: Stage::named(stage), note: "on".into() });
        let reached = claim(&home, Stage::named(stage));
        if is_staged {
            let held = reached.clone();
            home.registry
                .write(move |tx| {
                    interim::set_fact(tx, &held, "fetched", "true")?;
                    interim::reserve(tx, &held, 1, 1_000)
                })
                .expect("is staged");
        }
        fail(&home, &reached);
        id
    };
    let cases = [
        // What it was writing was discarded when it failed, and its identifiers may have become those of another object since.
        ("write", true, None, "resolve"),
        ("write", true, Some("validate"), "validate"),
        ("write", false, None, "receive"),
        ("write", false, Some("validate"), "receive"),
        ("write", false, Some("estimate"), "estimate"),
        // The unused part of its space was freed when it failed.
        ("write", true, Some("fetch"), "provision"),
        ("fetch", false, None, "provision"),
        ("validate", true, None, "validate"),
    ];
    for (stage, is_staged, wanted, expected) in cases {
        let id = failed_at(stage, is_staged);
        let reached = requeued_at(&home, id, wanted.map(Stage::named));
        assert_eq!(reached, Stage::named(expected), "{stage}, staged {is_staged}, asked for {wanted:?}");
        ask(&home, id, Request::Delete);
    }
}

#[test]
fn from_its_commit_on_a_deposit_begins_no_earlier() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("notify"));
    let item = find(&home, id);
    assert!(item.is_committed, "{:?} at {}", item.note, item.stage);
    fail(&home, &claim(&home, Stage::named("notify")));
    assert_eq!(requeued_at(&home, id, Some(Stage::named("receive"))), Stage::named("notify"));
    let notify = claim(&home, Stage::named("notify"));
    end(&home, &notify, StageEnd::Next { next: Stage::named("cleanup"), note: "on".into() });
    fail(&home, &claim(&home, Stage::named("cleanup")));
    assert_eq!(requeued_at(&home, id, None), Stage::named("cleanup"));
}
