//! Several processes on one database, and processes that end without a word. The children are this test program itself, started
//! with a role.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use strongroom_database::SystemClock;
use strongroom_database::testing::Scratch;
use strongroom_queue::{DatabaseQueue, LeaseRequest, NewTask, Outcome, Queue, Settled, Settlement, WorkerId};

const ROLE: &str = "STRONGROOM_QUEUE_TEST_ROLE";
const PLACE: &str = "STRONGROOM_QUEUE_TEST_PLACE";
const TOPIC: &str = "ingest.fetch";
const BATCH: usize = 7;

/// A queue in the file at this place, or in the database at this URL.
fn open(place: &str) -> Arc<DatabaseQueue> {
    if place.starts_with("postgres") {
        super::postgres::queue_at(place, None)
    } else {
        super::queue_at(Path::new(place), Arc::new(SystemClock))
    }
}

/// Runs a case on a file of its own.
fn in_a_file(case: impl FnOnce(&str)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    case(folder.path().join("registry.db").to_str().expect("is text"));
}

/// Runs a case in a schema of its own, where there is a server.
fn in_postgres(case: impl FnOnce(&str)) {
    let Some(scratch) = Scratch::new() else { return };
    case(&scratch.url());
}

fn tasks(first: usize, count: usize) -> Vec<NewTask> {
    (first..first + count).map(|number| NewTask::new(TOPIC, format!("{number}"), "")).collect()
}

fn request(limit: usize) -> LeaseRequest {
    LeaseRequest {
        topics: vec![TOPIC.into()],
        keys: None,
        limit,
        holder: WorkerId::this_process(),
        duration: Duration::from_hours(1),
    }
}

fn start(role: &str, place: &str) -> Child {
    Command::new(std::env::current_exe().expect("has a path"))
        .args(["--exact", "processes::child", "--ignored", "--nocapture"])
        .env(ROLE, role)
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts")
}

/// What the child says, without what the test harness says.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output: ChildStdout = child.stdout.take().expect("is piped");
    // The harness prints the test's name before the first line, without a line break.
    BufReader::new(output).lines().filter_map(|line| {
        let line = line.expect("is text");
        line.find("child: ").map(|at| line[at + "child: ".len()..].to_owned())
    })
}

/// Not a test of its own: what a child process does.
#[test]
#[ignore = "run by the other tests as a process of its own"]
fn child() {
    let (Ok(role), Ok(place)) = (std::env::var(ROLE), std::env::var(PLACE)) else { return };
    let queue = open(&place);
    match role.as_str() {
        "work" => loop {
            let leased = queue.lease(&request(3)).expect("leases");
            if leased.is_empty() {
                break;
            }
            for task in leased {
                let done = Settlement { lease: task.lease, outcome: Outcome::Done };
                if queue.settle(&[done]).expect("settles") == [Settled::Ok] {
                    println!("child: {}", task.key);
                }
            }
        },
        "hold" => {
            println!("child: {}", queue.lease(&request(5)).expect("leases").len());
            // Until it is killed, or whoever started it has ended.
            let _ = std::io::stdin().read(&mut [0]);
        }
        "enqueue" => {
            for round in 0.. {
                queue.enqueue(&tasks(round * BATCH, BATCH)).expect("enqueues");
                println!("child: {round}");
            }
        }
        other => panic!("no role {other}"),
    }
}

#[test]
fn processes_share_the_work_and_no_task() {
    in_a_file(processes_share_the_work_and_no_task_at);
}

#[test]
fn processes_share_the_work_and_no_task_in_postgres() {
    in_postgres(processes_share_the_work_and_no_task_at);
}

fn processes_share_the_work_and_no_task_at(place: &str) {
    let queue = open(place);
    queue.enqueue(&tasks(0, 300)).expect("enqueues");
    let mut children: Vec<Child> = (0..3).map(|_| start("work", place)).collect();
    let mut done = BTreeSet::new();
    for child in &mut children {
        for key in lines(child) {
            assert!(done.insert(key.clone()), "{key} was done twice");
        }
        assert!(child.wait().expect("ends").success());
    }
    assert_eq!(done.len(), 300);
    assert!(queue.counts().expect("counts").iter().all(|topic| topic.ready + topic.leased + topic.dead == 0));
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_process_held_is_ready_at_once() {
    in_a_file(what_a_killed_process_held_is_ready_at_once_at);
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_process_held_is_ready_at_once_in_postgres() {
    in_postgres(what_a_killed_process_held_is_ready_at_once_at);
}

#[cfg(target_os = "linux")]
fn what_a_killed_process_held_is_ready_at_once_at(place: &str) {
    let queue = open(place);
    queue.enqueue(&tasks(0, 8)).expect("enqueues");
    let mut child = start("hold", place);
    assert_eq!(lines(&mut child).next().as_deref(), Some("5"));
    assert!(queue.take_over_gone(100).expect("looks").is_empty(), "it is alive");
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let taken = queue.take_over_gone(100).expect("takes over");
    assert_eq!(taken.len(), 5);
    assert!(taken.iter().all(|task| task.buried.is_none()));
    let leased = queue.lease(&request(100)).expect("leases");
    assert_eq!(leased.len(), 8);
    assert_eq!(leased.iter().filter(|task| task.spent == 2).count(), 5, "the lost attempts count");
}

#[test]
fn a_process_killed_in_the_middle_leaves_whole_batches_and_no_lock() {
    in_a_file(a_process_killed_in_the_middle_leaves_whole_batches_and_no_lock_at);
}

#[test]
fn a_process_killed_in_the_middle_leaves_whole_batches_and_no_lock_in_postgres() {
    in_postgres(a_process_killed_in_the_middle_leaves_whole_batches_and_no_lock_at);
}

fn a_process_killed_in_the_middle_leaves_whole_batches_and_no_lock_at(place: &str) {
    let mut child = start("enqueue", place);
    let acknowledged = lines(&mut child).take(20).count();
    assert_eq!(acknowledged, 20);
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let queue = open(place);
    let ready = queue.counts().expect("counts")[0].ready as usize;
    assert!(ready >= acknowledged * BATCH, "{ready} tasks: what was acknowledged is there");
    assert_eq!(ready % BATCH, 0, "{ready} tasks: batches are whole");
    queue.enqueue(&tasks(1_000_000, 1)).expect("goes on");
}
