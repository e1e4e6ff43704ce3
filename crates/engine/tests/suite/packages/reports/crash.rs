//! A long report whose process is killed while it is written, and before its messages are in the outbox: the next process ends it as if
//! nobody had interrupted it. The process that is killed is this test binary once more, running [`killed`] on the home of the test.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use strongroom_engine::settings::Settings;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{Home, build_runtime};
use strongroom_registry::batches::{BatchAct, NewBatch};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::{Action, batches};

use super::*;

const HOME: &str = "STRONGROOM_CRASH_HOME";
const SIGKILL: i32 = 9;
/// More rows than one page has.
const ROWS: usize = 2_100;

#[test]
#[ignore = "is run by the other test of this module, in a process of its own"]
fn killed() {
    let Ok(folder) = std::env::var(HOME) else { return };
    let folder = Path::new(&folder);
    let settings = std::fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
    let home = Arc::new(Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens"));
    strongroom_engine::arm_crash_points();
    let topics = [reports::TOPIC.to_owned()];
    build_runtime(&home, Some(&topics)).expect("a runtime").build().run_until(&Shutdown::new(), &|| false);
}

/// A batch of so many items that were cancelled, with a report that no worker has written.
fn ended(world: &World) -> BatchId {
    let (batch, institution) = (BatchId::new(), institution(world));
    let new: Vec<NewItem> = (0..ROWS)
        .map(|number| NewItem {
            batch: Some(batch),
            name: format!("{number}.txt"),
            note: "submitted".into(),
            ..NewItem::new(Action::named("ingest"), institution, format!("{INSTITUTION}/{number}"))
        })
        .collect();
    let workflows = Workflows::standard();
    add_collection(world, None);
    world
        .home
        .registry
        .write(move |tx| {
            let collection =
                tenants::collection(tx, Scope::System, institution, COLLECTION)?.expect("the collection").id;
            let row_count = Some(new.len() as u64);
            let (collection, kind, submitted_by) = (Some(collection), "file", "someone");
            let new_batch = NewBatch { id: batch, institution, collection, kind, submitted_by, note: None, row_count };
            batches::create(tx, &new_batch)?;
            items::create_all(tx, &workflows, &mut new.iter().cloned())?;
            let mut act = BatchAct { request: Request::Cancel, by: "a person".into(), after: None };
            loop {
                act.after = batches::request(tx, &workflows, Scope::System, batch, act)?.last;
                if act.after.is_none() {
                    break;
                }
            }
            Ok::<_, RegistryError>(())
        })
        .expect("is made");
    batch
}

#[test]
fn a_report_whose_process_is_killed_is_whole_and_told_once() {
    for point in ["report.page", "report.filled", "report.composed"] {
        let world = World::with(&format!("{ONE_ATTEMPT}{MAIL}"));
        let batch = ended(&world);
        let report = all(&world, batch).pop().expect("a report");
        assert!(!report.is_filled);
        let status = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "packages::reports::crash::killed", "--ignored"])
            .env(HOME, world.home.path())
            .env("FAILPOINTS", format!("{point}=1*return"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("runs");
        assert_eq!(status.signal(), Some(SIGKILL), "{point}: {status:?}");
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
