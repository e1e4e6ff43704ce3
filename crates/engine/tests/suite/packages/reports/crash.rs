//! A long report whose process is killed while it is written, and before its messages are in the outbox: the next process ends it
//! as an undisturbed one does.

use std::sync::Arc;
use std::time::Duration;

use strongroom_engine::build_runtime;

use super::*;
use crate::killing::{self, home_of_this_process};

/// The topics that the process works on; an empty text has it deliver messages.
const TOPICS: &str = "STRONGROOM_CRASH_TOPICS";

#[test]
#[ignore = "is run by the other test of this module, in a process of its own"]
fn killed() {
    let Some(home) = home_of_this_process().map(Arc::new) else { return };
    let topics = std::env::var(TOPICS).unwrap_or_else(|_| reports::TOPIC.to_owned());
    if topics.is_empty() {
        deliver(&home, &Shutdown::new()).expect("runs");
        return;
    }
    let topics: Vec<String> = topics.split(' ').map(str::to_owned).collect();
    build_runtime(&home, Some(&topics)).expect("a runtime").build().run_until(&Shutdown::new(), &|| false);
}

fn kill_at(world: &World, point: &str, topics: &str) {
    killing::kill_at(world.home.path(), "packages::reports::crash::killed", point, &[(TOPICS, topics)]);
}

#[test]
fn an_item_whose_worker_or_deliverer_is_killed_is_confirmed_once() {
    for point in ["ingest.confirm.begin", "ingest.confirm.asked", "ingest.confirm.end", "outbox.callback.sent"] {
        let hook = WebDouble::start();
        hook.put("/hook", b"thanks");
        // A worker that was killed spent an attempt.
        let world = World::with(&callbacks(&hook.authority()));
        let rules = collections::Rules {
            callback_url: Some(hook.url("/hook")),
            callback_required: Some(true),
            ..collections::Rules::default()
        };
        collections::add(&console(&world), INSTITUTION, COLLECTION, rules).expect("is added");
        let path = world.write("a.txt", "alpha");
        let request = DepositRequest { collection: Some(COLLECTION.into()), ..world.request(path) };
        let id = world.submit(&request).expect("is submitted").items[0];
        if point.starts_with("ingest") {
            kill_at(&world, point, &Workflows::standard().topics().join(" "));
        }
        world.home.clock.advance(Duration::from_mins(10));
        let waits = || world.item(id).wait_reason == Some(strongroom_registry::WaitReason::Confirmation);
        world.work_until(&waits);
        if point.starts_with("outbox") {
            kill_at(&world, point, "");
        }
        assert_ne!(world.item(id).status, ItemStatus::Succeeded, "{point}");
        assert_eq!(deliver(&world.home, &Shutdown::new()).expect("runs").delivered, 1, "{point}");
        world.work_until(&|| world.item(id).status == ItemStatus::Succeeded);
        assert_eq!(world.item(id).note.as_deref(), Some("version 1 is published"), "{point}");
        let requests = hook.requests();
        let of_item: std::collections::BTreeSet<&str> = requests
            .iter()
            .filter(|request| request.header("strongroom-event") == Some("item.ingested"))
            .filter_map(|request| request.header("idempotency-key"))
            .collect();
        assert_eq!(of_item.len(), 1, "{point}");
    }
}

#[test]
fn a_report_whose_process_is_killed_is_whole_and_told_once() {
    for point in ["report.page", "report.filled", "report.composed"] {
        let world = World::with(&format!("{ONE_ATTEMPT}{MAIL}"));
        let batch = ended(&world);
        let report = all(&world, batch).pop().expect("a report");
        assert!(!report.is_filled);
        kill_at(&world, point, reports::TOPIC);
        let killed = all(&world, batch).pop().expect("a report");
        assert_eq!((killed.is_filled, killed.completed_at), (point != "report.page", None), "{point}");
        let told = |world: &World| {
            let mails = messages(world, outbox::MAIL);
            keys(&mails).into_iter().filter(|key| key.contains("report")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(told(&world), [""; 0], "{point}");
        // Its lease runs out.
        world.home.clock.advance(Duration::from_mins(10));
        work_until_told(&world, batch, 1);
        let rows = world.home.registry.read(|tx| reports::rows(tx, report.id, RowFilter::default(), None, 9_999));
        let rows = rows.expect("rows");
        assert_eq!(rows.len(), ROWS, "{point}");
        assert!(rows.iter().zip(1..).all(|(row, number)| row.row == Some(number)), "{point}");
        assert_eq!(all(&world, batch).len(), 1, "{point}");
        assert_eq!(told(&world), [format!("batch {batch} report 1 failed")], "{point}");
    }
}
