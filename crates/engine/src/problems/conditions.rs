//! What is wrong now besides the findings of fixity checks: stores, background tasks, the queue, messages, deletions and spot tests.

mod duplication;

use std::collections::{BTreeMap, BTreeSet};

use strongroom_database::CLOCK_TOLERANCE;
use strongroom_registry::problems::{NewProblem, Problem};
use strongroom_registry::{
    DeletionId, RegistryError, Scope, SpotTestState, Time, Transaction, counted, deletions, outbox, spot_tests,
};

use super::PAGE;
use super::kinds::{
    BACKGROUND_FAILED, BACKGROUND_OVERDUE, CLOCK_AHEAD, COPIES_LACKING, DELETION_REFUSED, DUPLICATION_FAILED,
    MESSAGES_FAILING, MESSAGES_UNDELIVERABLE, QUEUE_DEAD, QUEUE_UNATTENDED, SPOT_TEST_FAILED, STORE_AWAY,
    STORE_READ_ONLY, STORE_REFUSED, STORE_WATERMARK,
};
use crate::backfill::{BackfillProgress, TOPIC};
use crate::background::{self, TaskStatus};
use crate::duplication::{HIGH, LOW};
use crate::findings::LACKING;
use crate::review;
use crate::survey::{Condition, Survey, SurveyedStore};
use crate::{EngineError, Home};

/// Longer details are cut, in characters.
const LONGEST_DETAIL: usize = 2_000;

/// What is wrong, and what could not be seen.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// What is wrong.
    pub(super) standing: Vec<NewProblem>,
    /// When it began to be seen. What another process has opened since may be wrong now.
    begun_at: Option<Time>,
    /// The keys of what may be wrong or not: what would tell did not answer, or not all was counted.
    unknown: BTreeSet<String>,
}

impl Conditions {
    /// Whether a recorded problem was seen not to be there any more.
    pub(super) fn is_gone(&self, known: &Problem) -> bool {
        // Problems of a kind that this program does not know are those of a newer one.
        super::Kind::named(&known.kind).is_some()
            && !self.unknown.contains(&known.key)
            && self.standing.iter().all(|new| new.key != known.key)
            && !self.begun_at.is_some_and(|begun| (begun..begun.plus(CLOCK_TOLERANCE)).contains(&known.reopened_at))
    }

    fn add(&mut self, kind: &str, subject: &str, detail: String) -> &mut NewProblem {
        let detail = if detail.chars().count() > LONGEST_DETAIL {
            detail.chars().take(LONGEST_DETAIL).chain("...".chars()).collect()
        } else {
            detail
        };
        self.standing.push(NewProblem {
            key: key(kind, subject),
            kind: kind.to_owned(),
            fault: String::new(),
            institution: None,
            subject: subject.to_owned(),
            store: None,
            object: None,
            finding: None,
            detail,
        });
        let last = self.standing.len() - 1;
        &mut self.standing[last]
    }

    /// What is counted: a waiver of some is none of ten times as many.
    fn add_counted(&mut self, kind: &str, subject: &str, count: u64, detail: String) -> &mut NewProblem {
        let new = self.add(kind, subject, detail);
        new.fault = count.checked_ilog10().unwrap_or_default().to_string();
        new
    }

    fn add_of_store(&mut self, kind: &str, store: &str, detail: String) -> &mut NewProblem {
        let new = self.add(kind, store, detail);
        new.store = Some(store.to_owned());
        new
    }

    /// What may be wrong in several ways: a waiver of one is none of another.
    fn add_of_reason(&mut self, kind: &str, store: &str, reason: String) {
        // Times and counts change while the reason stays.
        let fault = reason.chars().filter(|character| !character.is_ascii_digit()).collect();
        self.add_of_store(kind, store, reason).fault = fault;
    }
}

fn key(kind: &str, subject: &str) -> String {
    format!("{kind}:{subject}")
}

/// Everything that is wrong now.
pub(super) fn collect(home: &Home) -> Result<Conditions, EngineError> {
    let begun_at = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let survey = Survey::of_open(home)?;
    let tasks = background::list(&home.settings, &home.registry)?;
    let progress = BackfillProgress::read(&home.registry)?;
    let mut found = Conditions { begun_at: Some(begun_at), ..Conditions::default() };
    for store in &survey.stores {
        of_store(&mut found, &survey, &progress, store);
    }
    for task in &tasks {
        of_task(&mut found, task);
    }
    duplication::of_plain_stores(home, &mut found)?;
    let overdue: Vec<&str> = tasks.iter().filter(|task| task.is_overdue).map(|task| task.name).collect();
    if !overdue.is_empty() {
        let names = overdue.join(", ");
        let detail = format!("due for an hour, and no process runs them: {names}");
        found.add(BACKGROUND_OVERDUE, "background tasks", detail).fault = names;
    }
    home.registry
        .read(|tx| {
            // A transaction that is attempted again begins anew.
            let mut within = Conditions::default();
            of_queue(tx, &mut within)?;
            of_messages(tx, &mut within)?;
            of_deletions(tx, &mut within)?;
            of_spot_tests(tx, &mut within)?;
            duplication::of_items(tx, &mut within)?;
            duplication::of_sweeps(tx, &mut within)?;
            Ok::<_, RegistryError>(within)
        })
        .map(|within| {
            found.standing.extend(within.standing);
            found.unknown.extend(within.unknown);
            found
        })
        .map_err(EngineError::from)
}

fn of_store(found: &mut Conditions, survey: &Survey, progress: &BackfillProgress, store: &SurveyedStore) {
    let name = &store.name;
    let why = || store.problem.clone().unwrap_or_else(|| "it cannot be used".to_owned());
    match store.condition {
        Condition::Away => {
            found.add_of_store(STORE_AWAY, name, why());
            // Which store it is, and its watermark, are seen when it answers.
            found.unknown.extend([STORE_REFUSED, STORE_WATERMARK, STORE_READ_ONLY].map(|kind| key(kind, name)));
        }
        Condition::Refused => {
            found.add_of_reason(STORE_REFUSED, name, why());
            found.unknown.extend([STORE_WATERMARK, STORE_READ_ONLY].map(|kind| key(kind, name)));
        }
        Condition::Available => {
            if let Some(problem) = store.problem.as_ref().filter(|_| store.is_read_only) {
                found.add_of_store(STORE_READ_ONLY, name, problem.clone());
            } else if let Some(problem) = &store.problem {
                found.add_of_reason(STORE_WATERMARK, name, problem.clone());
            }
        }
        Condition::Retired => return,
    }
    let lacking = survey.findings.iter().flatten().filter(|one| one.store == *name && one.kind == LACKING);
    let (objects, is_all) = lacking.fold((0, true), |(sum, all), one| (sum + one.findings, all && one.is_all));
    if objects > 0 {
        let at_least = if is_all { "" } else { "at least " };
        let (count, objects) = (objects, counted(objects, "object is", "objects are"));
        let given_up = match progress.stores.get(name).map_or(0, |found| found.given_up) {
            0 => String::new(),
            given_up => format!(
                "; of {given_up} the task was given up: strongroom queue dead {TOPIC} shows why, strongroom queue retry {TOPIC} attempts them again"
            ),
        };
        let detail = format!("{at_least}{objects} not whole in it{given_up}");
        found.add_counted(COPIES_LACKING, name, count, detail).store = Some(name.clone());
    } else if !is_all {
        found.unknown.insert(key(COPIES_LACKING, name));
    }
}

fn of_task(found: &mut Conditions, task: &TaskStatus) {
    if let Some(error) = &task.error {
        let since = task.error_since.map(|since| format!("since {since}: ")).unwrap_or_default();
        found.add(BACKGROUND_FAILED, task.name, format!("{since}{error}")).fault.clone_from(error);
    }
    if let Some(time) = task.started_ahead {
        found.add(CLOCK_AHEAD, task.name, format!("the clock of the registry was ahead: its last run began at {time}"));
    }
}

fn of_queue(tx: &mut dyn Transaction, found: &mut Conditions) -> Result<(), RegistryError> {
    let topics = strongroom_queue::tasks::counts(tx)?;
    for topic in topics.iter().filter(|topic| topic.dead > 0) {
        let dead = counted(topic.dead, "task was", "tasks were");
        let kind = if [HIGH, LOW].contains(&topic.topic.as_str()) { DUPLICATION_FAILED } else { QUEUE_DEAD };
        found.add_counted(kind, &topic.topic, topic.dead, format!("{dead} given up after the last attempt"));
    }
    for topic in review::unattended(tx, &topics)? {
        let count = topic.ready + topic.leased;
        let tasks = counted(count, "task", "tasks");
        found.add_counted(QUEUE_UNATTENDED, &topic.topic, count, format!("{tasks} that no worker processes"));
    }
    Ok(())
}

fn of_messages(tx: &mut dyn Transaction, found: &mut Conditions) -> Result<(), RegistryError> {
    let undeliverable = outbox::count_undeliverable(tx)?;
    if undeliverable > 0 {
        let messages = counted(undeliverable, "message", "messages");
        found.add_counted(
            MESSAGES_UNDELIVERABLE,
            "outbox",
            undeliverable,
            format!("{messages} cannot be delivered as things are"),
        );
    }
    let (failing, error) = review::failing_messages(tx)?;
    if failing > 0 {
        let messages = counted(failing, "message is", "messages are");
        let error = error.map(|error| format!(": {error}")).unwrap_or_default();
        found.add_counted(
            MESSAGES_FAILING,
            "outbox",
            failing,
            format!("{messages} attempted again after an error{error}"),
        );
    }
    Ok(())
}

/// Stores that refuse to remove what was deleted, with the first reason of each.
fn of_deletions(tx: &mut dyn Transaction, found: &mut Conditions) -> Result<(), RegistryError> {
    // The first one in each store, and the deletion that was begun last: with each further one, something else is refused.
    let mut refused: BTreeMap<String, (DeletionId, String)> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = deletions::list_unfinished(tx, Scope::System, after.as_ref(), PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.cursor());
        for one in &page {
            let Some(reason) = &one.reason else { continue };
            let first = || format!("{}: {reason}", one.object_identifier);
            let (last, _) = refused.entry(one.store.clone()).or_insert_with(|| (one.deletion, first()));
            *last = one.deletion.max(*last);
        }
    }
    for (store, (last, first)) in refused {
        let detail = format!("it refuses to remove what was deleted, such as {first}");
        found.add_of_store(DELETION_REFUSED, &store, detail).fault = last.to_string();
    }
    Ok(())
}

fn of_spot_tests(tx: &mut dyn Transaction, found: &mut Conditions) -> Result<(), RegistryError> {
    let mut after = None;
    loop {
        let page = spot_tests::list(tx, Scope::System, Some(SpotTestState::Failed), after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for test in page {
            let reason = test.reason.unwrap_or_default();
            let new =
                found.add(SPOT_TEST_FAILED, &test.id.to_string(), format!("{}: {reason}", test.object_identifier));
            new.institution = Some(test.institution);
            new.object = Some(test.object);
        }
    }
}
