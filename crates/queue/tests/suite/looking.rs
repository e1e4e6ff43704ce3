//! What a worker is told that looks before it leases.

use std::sync::Arc;

use strongroom_database::{Database, ManualClock, Time};
use strongroom_queue::tasks::{self, Prospect};
use strongroom_queue::{NewTask, QueueError};

const NOW: Time = Time(1_750_000_000_000_000);

fn look(database: &dyn Database, topics: &[&str]) -> Prospect {
    let topics: Vec<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
    database.read::<_, QueueError, _>(|tx| tasks::look(tx, &topics)).expect("looks")
}

#[test]
fn a_look_tells_when_the_first_task_of_the_topics_is_due() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(NOW));
    let database: Arc<dyn Database> = Arc::new(super::open(&folder.path().join("registry.db"), clock.clone()));
    let [soon, later, latest] = [1, 2, 3].map(|seconds| NOW.plus(seconds * 1_000_000));
    assert_eq!(look(&*database, &["a", "b"]), Prospect::Nothing);
    let tasks = [("a", latest), ("b", later), ("b", latest), ("c", soon)].map(|(topic, time)| NewTask {
        not_before: Some(time),
        ..NewTask::new(topic, format!("{topic} {}", time.0), "")
    });
    database
        .write::<_, QueueError, _>(move |tx| {
            tasks::enqueue(tx, &tasks)?;
            tasks::set_paused(tx, "c", true)
        })
        .expect("enqueues");
    assert_eq!(look(&*database, &["a", "b", "c"]), Prospect::At(later));
    assert_eq!(look(&*database, &["b", "a"]), Prospect::At(later));
    assert_eq!(look(&*database, &["a"]), Prospect::At(latest));
    assert_eq!(look(&*database, &["c"]), Prospect::Nothing);
    clock.advance(2_000_000);
    assert_eq!(look(&*database, &["a", "b"]), Prospect::Work);
    assert_eq!(look(&*database, &["a"]), Prospect::At(latest));
}
