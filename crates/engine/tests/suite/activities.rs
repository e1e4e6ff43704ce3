//! Activities: agents work through records, and what stops them changes nothing of what comes of it. Cases are named for the acceptance
//! cases of the reference where there is one (`case_12`).

mod cases;
mod deleting;
mod documents;
mod expiring;
mod harvesting;
mod lists;
mod misbehaving;
mod origins;
mod pipelines;
mod provenance;
mod repeating;
mod scripted;
mod sending;
mod sources;
mod tools;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_engine::activities::Agent;
use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::views::{ActivityId, ActivityView, RecordView};
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, background, build_runtime};
use strongroom_queue::{TaskState, tasks};
use strongroom_records::RecordState;
use strongroom_registry::activities as rows;
use strongroom_registry::{RegistryError, Scope};

use crate::fixture::{Engine, TestHome, home_on};

/// The topic of activities.
const TOPIC: &str = "activity.run";

/// Settings with which tests may ask a server of this machine.
fn settings(host: &str) -> String {
    format!("[ingest]\nallow_private_addresses = true\nurl_hosts = [\"{host}\"]\n[workers.default]\nworkers = 4\n")
}

/// A home on a database, where a server of this machine may be asked.
fn home_for(engine: Engine, host: &str) -> Option<TestHome> {
    home_on(engine, &settings(host))
}

fn call(home: &Arc<Home>) -> OpContext {
    OpContext::new(home.clone(), Caller::at_console("operator"))
}

fn options(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Asks for an activity of an agent that finds its records.
fn begin(home: &Arc<Home>, agent: &str, pairs: &[(&str, &str)]) -> ActivityId {
    let request = Request { agent: agent.to_owned(), options: options(pairs), ..Request::default() };
    activities::run(&call(home), &request).expect("an activity").activity
}

/// Asks for an activity of an agent that takes what another one processed.
fn begin_behind(home: &Arc<Home>, agent: &str, input: ActivityId, follow: bool) -> ActivityId {
    let request = Request { agent: agent.to_owned(), input: Some(input), follow, ..Request::default() };
    activities::run(&call(home), &request).expect("an activity").activity
}

/// A home with these agents, and a finished harvest of so many documents: `00.xml` has `<record>0</record>`, and so on.
fn world_of(engine: Engine, agents: Vec<Arc<dyn Agent>>, documents: usize) -> Option<(TestHome, ActivityId)> {
    let mut made = home_for(engine, "example.edu")?;
    let home = Arc::get_mut(&mut made.home).expect("the only one");
    for agent in agents {
        home.register_agent(agent);
    }
    let folder = made.path().join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    for number in 0..documents {
        std::fs::write(folder.join(format!("{number:02}.xml")), format!("<record>{number}</record>")).expect("a file");
    }
    let harvest = begin(&made, "harvest", &[("kind", "folder"), ("path", folder.to_str().expect("UTF-8"))]);
    work(&made);
    let view = show(&made, harvest);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(documents as u64)), "{view:?}");
    Some((made, harvest))
}

fn show(home: &Arc<Home>, id: ActivityId) -> ActivityView {
    activities::show(&call(home), id).expect("the activity")
}

fn records(home: &Arc<Home>, id: ActivityId, state: RecordState) -> Vec<RecordView> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = activities::records(&call(home), id, Some(state), after).expect("the records");
        all.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
}

fn ids(home: &Arc<Home>, id: ActivityId, state: RecordState) -> Vec<String> {
    let mut ids: Vec<String> = records(home, id, state).into_iter().map(|record| record.record).collect();
    ids.sort();
    ids
}

/// Works on activities until nothing happens without a person's act. Where all tasks wait for a time, the clock of the registry goes on.
fn work(made: &TestHome) {
    work_rounds(made, usize::MAX);
}

/// The same, until all tasks have waited for a time so often.
fn work_rounds(made: &TestHome, most: usize) {
    let runtime = build_runtime(made, Some(&[TOPIC.to_owned()])).expect("a runtime").build();
    let rounds = AtomicUsize::new(0);
    let is_over = || {
        let (is_open, waits) = made.registry.read(state_of_work).expect("the state of work");
        if !is_open {
            return true;
        }
        if waits {
            if rounds.fetch_add(1, Ordering::SeqCst) >= most {
                return true;
            }
            made.clock.advance(std::time::Duration::from_secs(30));
            background::run_now(made, task("activities"), &Shutdown::new()).expect("runs");
        }
        false
    };
    let summary = runtime.run_until(&Shutdown::new(), &is_over);
    assert!(summary.failure.is_none(), "{:?}", summary.failure);
}

fn task(name: &str) -> &'static background::BackgroundTask {
    background::TASKS.iter().find(|task| task.name == name).expect("the task")
}

/// Whether an activity is at work or has a task, and whether all tasks wait for a time.
fn state_of_work(tx: &mut dyn strongroom_registry::Transaction) -> Result<(bool, bool), RegistryError> {
    let all = rows::list(tx, Scope::System, &rows::ActivityFilter::default(), None, 100)?;
    let (mut is_open, mut waits) = (false, true);
    for activity in &all {
        is_open |= activity.state.is_at_work();
        let mut of_activity = tasks::of_key(tx, &activity.id.to_string())?;
        for helper in 2..5 {
            of_activity.extend(tasks::of_key(tx, &format!("{}/{helper}", activity.id))?);
        }
        for task in of_activity.iter().filter(|task| task.state != TaskState::Dead) {
            is_open = true;
            waits &= task.state == TaskState::Delayed;
        }
    }
    Ok((is_open, waits))
}

/// The counts of an activity add up, whatever it is doing.
fn check_counts(view: &ActivityView) {
    let counts = [view.todo, view.processing, view.processed, view.failed, view.cancelled];
    let sum: u64 = counts.into_iter().flatten().sum();
    assert_eq!(view.populated, Some(sum), "{view:?}");
}
