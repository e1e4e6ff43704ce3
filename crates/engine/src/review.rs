//! What needs a person, as `status` says it: in counts, by the newest names, and as a list of sentences with the command that shows or ends
//! each. It reads the registry, and takes what [`crate::survey`] found of the stores.

use std::collections::BTreeMap;

use serde::Serialize;
use strongroom_queue::{TaskState, TopicCounts, tasks};
use strongroom_records::{RecordsError, lists};
use strongroom_registry::activities::{self, Activity};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::tool_findings::{Examined, ToolFinding, ToolFindingFilter};
use strongroom_registry::{
    ActivityId, ActivityState, BatchId, BatchState, HoldKind, ItemId, ItemStatus, Order, RegistryError, Scope, Stage,
    Transaction, UploadState, batches, counted, deletions, documents, duplicated_items, health, holds, interim, outbox,
    spot_tests, sweeps, tool_findings,
};
use uuid::Uuid;

use crate::background::{self, TaskStatus};
use crate::content_name::in_package;
use crate::findings::{self, NamedFinding};
use crate::held::{HoldView, StopView};
use crate::outbox::CHANNELS;
use crate::settings::Settings;
use crate::survey::{Condition, Survey};
use crate::task_kinds::earlier_topics;

/// Work items that need a person are counted up to this many.
const REVIEWED: usize = 1_000;
/// Tasks that are looked through for those that are attempted again after an error.
const DELAYED: usize = 1_000;
/// A task that is ready for so many seconds, while no worker holds any of its topic, waits for a worker.
const UNATTENDED_SECONDS: u64 = 60;
/// A topic whose oldest task is ready for so many seconds, while workers hold others, gets more than its workers do.
const LATE_SECONDS: u64 = 60 * 60;
/// How many of a kind are named.
const NAMED: usize = 5;
/// How many holds of a kind are named.
const HOLDS: usize = 10;

/// What needs a person.
#[derive(Debug, Clone, Serialize)]
pub struct Review {
    /// What needs a person, a sentence each, with the command that shows it or ends it; in the order in which people look.
    pub entries: Vec<ReviewEntry>,
    /// Work items; at most 1,000 are counted, here, of held ones and of activities.
    pub items: u64,
    /// Which of these numbers are the least that there are, because not all was counted.
    pub at_least: Vec<&'static str>,
    /// The newest of them.
    pub first: Vec<ReviewItem>,
    /// Of the batches of several rows that these work items belong to, those of the newest ones.
    pub batches: Vec<ReviewBatch>,
    /// Work items that are attempted again after an error; those of at most 1,000 tasks are counted.
    pub retried: u64,
    /// The first of them.
    pub first_retried: Vec<ReviewItem>,
    /// Work items that wait for a tool that cannot tell now, such as one whose server is away; at most 1,000 are counted.
    pub waiting_for_tools: u64,
    /// The newest of them.
    pub first_waiting_for_tools: Vec<ReviewItem>,
    /// The first findings of damage that are open, oldest first.
    pub findings: Vec<NamedFinding>,
    /// Files that are kept in which a tool has found a virus.
    pub tool_findings: u64,
    /// The first of them.
    pub first_tool_findings: Vec<InfectedFile>,
    /// Activities that failed as a whole.
    pub failed_activities: u64,
    /// Activities that ended with records that failed, and that no person has given up.
    pub activities_with_errors: u64,
    /// Activities that wait for one that failed, because they follow it.
    pub waiting_activities: u64,
    /// Activities that are paused.
    pub paused_activities: u64,
    /// Activities that wait for one that is paused, because they follow it.
    pub behind_paused_activities: u64,
    /// Activities that could not go on at their last attempt, and are tried again.
    pub retried_activities: u64,
    /// The newest of each of these.
    pub first_activities: Vec<ReviewActivity>,
    /// Tasks that no worker tries any more.
    pub dead_tasks: u64,
    /// Work items that are held.
    pub held: u64,
    /// The holds on collections and batches, the oldest first; at most ten of each.
    pub holds: Vec<HoldView>,
    /// Batches whose cancellation or failure was asked for minutes ago and has not reached every item; at most ten.
    pub stops: Vec<StoppingBatch>,
    /// Topics that are paused.
    pub paused_topics: u64,
    /// Tasks of topics of which no worker holds any, where one has been ready for a minute; with those whose leases have ended, where no worker
    /// holds a lease.
    pub unattended_tasks: u64,
    /// Their topics.
    pub unattended_topics: Vec<String>,
    /// Topics of which workers hold tasks, and whose oldest ready task has been ready for an hour.
    pub late_topics: Vec<String>,
    /// Whether all topics are paused, those that come to be later as well.
    pub all_paused: bool,
    /// Findings that are open, by the same count as `fixity.problems`.
    pub problems: u64,
    /// Whether there may be more: not every object was compared with the stores of its placement.
    pub problems_at_least: bool,
    /// Background tasks whose last run failed.
    pub failed_background_tasks: u64,
    /// Background tasks that have been due for an hour, while no process runs them.
    pub overdue_background_tasks: u64,
    /// The latest time that a clock which was ahead has given to a background task that has not run since.
    pub clock_was_ahead: Option<String>,
    /// Stores that are away or refused.
    pub stores_away: u64,
    /// Those of them that are refused: they do not come back by themselves.
    pub stores_refused: u64,
    /// Work items that have waited for space in staging for longer than `staging.first_after`; at most 1,000 are counted.
    pub waiting_for_space: u64,
    /// The first of them, which have waited for longest.
    pub first_waiting_for_space: Vec<ReviewItem>,
    /// Spot tests of restoration that failed and were not closed.
    pub failed_spot_tests: u64,
    /// Content items of plain stores that are lost, damaged or in conflict.
    pub troubled_content_items: u64,
    /// Parts of the newest sweeps of duplication that fail.
    pub failing_sweep_parts: u64,
    /// Deletions of duplication that wait for a person.
    pub held_duplicate_deletions: u64,
    /// What was deleted and a store refuses to remove, store by store; at most 1,000 are counted.
    pub refused_deletions: u64,
    /// Uploads that were refused, or of which the work item failed.
    pub uploads: u64,
    /// Messages that are not attempted any more, because they cannot be delivered as things are.
    pub undeliverable_messages: u64,
    /// Messages whose last attempt failed, and that are attempted again.
    pub failing_messages: u64,
    /// Messages that wait to be delivered and that no attempt was made at, such as those behind one that failed.
    pub unattempted_messages: u64,
    /// Messages that wait to be delivered, where the background task that delivers them is due and no process runs it.
    pub unsent_messages: u64,
    /// The error of the first of them.
    pub message_error: Option<String>,
    /// Whether the registry can only be read.
    pub registry_read_only: bool,
}

/// A batch that is being cancelled or made to fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoppingBatch {
    /// The batch.
    pub batch: BatchId,
    /// What was asked.
    #[serde(flatten)]
    pub stop: StopView,
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewEntry {
    /// The field of [`Review`] that has the count or the names of it.
    pub of: &'static str,
    /// What it is, in words.
    pub text: String,
    /// The command that shows it, or ends it where there is nothing more to see.
    pub next: String,
}

/// A work item that needs a person.
#[derive(Debug, Clone, Serialize)]
pub struct ReviewItem {
    /// Its identifier.
    pub item: ItemId,
    /// Its object.
    pub object: String,
    /// Where it is.
    pub stage: Stage,
    /// How it ended.
    pub status: ItemStatus,
    /// Why.
    pub note: Option<String>,
}

/// An activity that needs a person.
#[derive(Debug, Clone, Serialize)]
pub struct ReviewActivity {
    /// The field of [`Review`] that counts it.
    pub of: &'static str,
    /// Its identifier.
    pub activity: ActivityId,
    /// Its agent.
    pub agent: String,
    /// Where it is.
    pub state: ActivityState,
    /// Why it failed, or why its last attempt did.
    pub error: Option<String>,
    /// Its records that failed; none where its list was lost.
    pub failed: Option<u64>,
    /// The activity that it waits for.
    pub waits_for: Option<ActivityId>,
}

/// A file in which a tool has found a virus.
#[derive(Debug, Clone, Serialize)]
pub struct InfectedFile {
    /// Its object.
    pub object: String,
    /// Its path in the package.
    pub path: String,
    /// The tool.
    pub tool: String,
    /// What it has found.
    pub detail: String,
}

/// A batch of several rows with work items that need a person.
#[derive(Debug, Clone, Serialize)]
pub struct ReviewBatch {
    /// Its identifier.
    pub batch: BatchId,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// Where it is.
    pub state: BatchState,
    /// Its work items among those that are counted in `items`.
    pub items: u64,
}

impl Review {
    /// What needs a person now.
    pub(crate) fn collect(
        tx: &mut dyn Transaction,
        settings: &Settings,
        (queue, tasks): (&[TopicCounts], &[TaskStatus]),
        survey: &Survey,
    ) -> Result<Self, RegistryError> {
        let newest = ItemFilter { order: Order::NewestFirst, ..ItemFilter::default() };
        let to_review = ItemFilter { needs_review: Some(true), ..newest.clone() };
        let found = items::list(tx, Scope::System, &to_review, None, REVIEWED)?;
        let held = ItemFilter { status: Some(ItemStatus::Held), ..newest };
        let held = items::list(tx, Scope::System, &held, None, REVIEWED)?;
        let mut first = Vec::new();
        for item in found.iter().chain(held.iter().filter(|item| !item.needs_review)).take(NAMED) {
            first.push(named(tx, item)?);
        }
        let (retried, first_retried, all_retried) = retried(tx, queue)?;
        let long_waits = interim::waiting_for(tx, settings.staging.first_after, REVIEWED)?;
        let mut first_waiting_for_space = Vec::new();
        for id in long_waits.iter().take(NAMED) {
            let item = items::find(tx, Scope::System, *id)?;
            first_waiting_for_space.push(named(tx, &item)?);
        }
        let for_tools = items::waiting_for_tools(tx, REVIEWED)?;
        let (failing_messages, message_error) = failing_messages(tx)?;
        let waiting = crate::outbox::waiting(tx)?;
        let is_unsent = |task: &TaskStatus| task.name == background::outbox::NAME && task.is_late;
        let refused = survey.count(Condition::Refused);
        let is_to_review = |state: UploadState| matches!(state, UploadState::Refused | UploadState::Failed);
        let uploads = health::uploads(tx)?.into_iter().filter(|(state, _)| is_to_review(*state));
        let unattended = unattended(tx, queue)?;
        let is_late = |topic: &&TopicCounts| {
            let is_old = topic.oldest_ready_seconds.is_some_and(|age| age >= LATE_SECONDS);
            is_old && !topic.paused && unattended.iter().all(|other| other.topic != topic.topic)
        };
        let (mut failing_sweep_parts, mut held_duplicate_deletions) = (0, 0);
        for institution in sweeps::institutions(tx)? {
            let Some(newest) = sweeps::newest(tx, institution)? else { continue };
            let totals = sweeps::totals(tx, newest.id)?;
            failing_sweep_parts += totals.failed_parts;
            held_duplicate_deletions += totals.held;
        }
        let mut review = Self {
            entries: Vec::new(),
            items: found.len() as u64,
            at_least: Vec::new(),
            first,
            batches: batches_of(tx, &found)?,
            retried,
            first_retried,
            waiting_for_tools: for_tools.len() as u64,
            first_waiting_for_tools: for_tools
                .iter()
                .take(NAMED)
                .map(|item| named(tx, item))
                .collect::<Result<_, _>>()?,
            findings: findings::first_named(tx, None, NAMED)?,
            tool_findings: tool_findings::count_open(tx)?,
            first_tool_findings: infected_files(tx)?,
            failed_activities: activities::count_in_state(tx, ActivityState::Failed, REVIEWED)?,
            activities_with_errors: activities::count_in_state(tx, ActivityState::FinishedWithErrors, REVIEWED)?,
            waiting_activities: activities::behind(tx, ActivityState::Failed, REVIEWED)?.len() as u64,
            paused_activities: activities::count_in_state(tx, ActivityState::Paused, REVIEWED)?,
            behind_paused_activities: activities::behind(tx, ActivityState::Paused, REVIEWED)?.len() as u64,
            retried_activities: activities::tried_again(tx, REVIEWED)?.len() as u64,
            first_activities: first_activities(tx)?,
            dead_tasks: queue.iter().map(|topic| topic.dead).sum(),
            held: held.len() as u64,
            holds: holds_of_many(tx)?,
            stops: stops_of_many(tx)?,
            paused_topics: queue.iter().filter(|topic| topic.paused).count() as u64,
            unattended_tasks: unattended.iter().map(|topic| topic.ready + topic.leased).sum(),
            unattended_topics: unattended.iter().map(|topic| topic.topic.clone()).collect(),
            late_topics: queue.iter().filter(is_late).map(|topic| topic.topic.clone()).collect(),
            all_paused: tasks::are_all_paused(tx)?,
            problems: survey.open_findings().unwrap_or_default(),
            problems_at_least: !survey.is_counted_whole(None),
            failed_background_tasks: tasks.iter().filter(|task| task.error.is_some()).count() as u64,
            overdue_background_tasks: tasks.iter().filter(|task| task.is_overdue).count() as u64,
            clock_was_ahead: tasks.iter().filter_map(|task| task.started_ahead).max().map(|time| time.to_string()),
            stores_away: survey.count(Condition::Away) + refused,
            stores_refused: refused,
            waiting_for_space: long_waits.len() as u64,
            first_waiting_for_space,
            failed_spot_tests: spot_tests::count_failed(tx)?,
            troubled_content_items: duplicated_items::count_in_trouble(tx)?.iter().map(|(_, _, count)| count).sum(),
            failing_sweep_parts,
            held_duplicate_deletions,
            refused_deletions: deletions::count_refused(tx, REVIEWED)?,
            uploads: uploads.map(|(_, count)| count).sum(),
            undeliverable_messages: outbox::count_undeliverable(tx)?,
            failing_messages,
            unattempted_messages: waiting.messages.saturating_sub(failing_messages),
            unsent_messages: if tasks.iter().any(is_unsent) { waiting.messages } else { 0 },
            message_error,
            registry_read_only: survey.registry.as_ref().is_some_and(|registry| registry.refusal().is_some()),
        };
        review.at_least = review.bounds(all_retried);
        review.entries = review.entries(outbox::waiting(tx, outbox::UPLOAD_EXPIRES)?.messages);
        Ok(review)
    }

    /// The numbers that are as high as is counted.
    fn bounds(&self, all_retried: bool) -> Vec<&'static str> {
        let bounded = [
            ("items", self.items),
            ("held", self.held),
            ("failed_activities", self.failed_activities),
            ("activities_with_errors", self.activities_with_errors),
            ("waiting_activities", self.waiting_activities),
            ("waiting_for_space", self.waiting_for_space),
            ("waiting_for_tools", self.waiting_for_tools),
            ("paused_activities", self.paused_activities),
            ("behind_paused_activities", self.behind_paused_activities),
            ("retried_activities", self.retried_activities),
        ];
        let is_bound = |count: u64| count >= REVIEWED as u64;
        let mut bounds: Vec<_> = bounded.iter().filter(|(_, count)| is_bound(*count)).map(|(name, _)| *name).collect();
        bounds.extend((!all_retried).then_some("retried"));
        bounds
    }

    /// The sentences, where so many notices of removals are not delivered.
    fn entries(&self, notices: u64) -> Vec<ReviewEntry> {
        let mut entries = Entries(Vec::new(), self.at_least.clone());
        entries.add_if(self.registry_read_only, "registry_read_only", "the registry is read-only", "rebuild --adopt");
        entries.add_if(self.all_paused, "all_paused", "all topics are paused", "queue resume --all");
        entries.count("items", self.items, ("work item", "work items", "to review"), "items list --needs-review");
        let batches = self.batches.len() as u64;
        entries.count("batches", batches, ("batch", "batches", "with work items to review"), "items failures");
        let retried = ("work item", "work items", "attempted again after an error");
        entries.count("retried", self.retried, retried, "items list --status pending");
        let waiting = ("work item", "work items", "waiting for a tool that cannot tell now");
        let command = match self.first_waiting_for_tools.as_slice() {
            [one] => format!("items show {}", one.item),
            _ => "items list --status pending".to_owned(),
        };
        entries.count("waiting_for_tools", self.waiting_for_tools, waiting, &command);
        entries.count("held", self.held, ("work item", "work items", "held"), "items list --status held");
        for hold in &self.holds {
            let reason = hold.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!("{} {} held since {} by {}{reason}", hold.kind, hold.on, hold.since, hold.by);
            entries.0.push(ReviewEntry { of: "holds", text, next: hold.lifted_by() });
        }
        for stop in &self.stops {
            let StoppingBatch { batch, stop: StopView { status, since, by, reason } } = stop;
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!(
                "items of batch {batch} are to be {status}, asked for by {by} since {since}, and some are not{reason}"
            );
            entries.0.push(ReviewEntry { of: "stops", text, next: format!("strongroom batches show {batch}") });
        }
        let findings = ("open finding", "open findings", "of damage or missing copies");
        let infected = ("file", "files", "with a virus");
        entries.count("tool_findings", self.tool_findings, infected, "activity findings");
        if self.problems > 0 && self.problems_at_least {
            let text = format!("at least {} {}", counted(self.problems, findings.0, findings.1), findings.2);
            entries.add_if(true, "problems", &text, "fixity problems");
        } else {
            entries.count("problems", self.problems, findings, "fixity problems");
            let text = "not every object was compared with the stores of its placement yet";
            entries.add_if(self.problems_at_least, "problems_at_least", text, "background run placements");
        }
        let failed = ("activity", "activities", "failed");
        entries.count("failed_activities", self.failed_activities, failed, "activity list --state failed");
        let waiting = ("activity", "activities", "waiting for one that failed");
        entries.count("waiting_activities", self.waiting_activities, waiting, "activity list --state failed");
        let retried = ("activity", "activities", "tried again after an error");
        let mut tried_again = self.first_activities.iter().filter(|one| one.of == "retried_activities");
        let command = match (tried_again.next(), tried_again.next()) {
            (Some(one), None) => format!("activity show {}", one.activity),
            _ => "activity list".to_owned(),
        };
        entries.count("retried_activities", self.retried_activities, retried, &command);
        let command = "activity list --state paused";
        entries.count("paused_activities", self.paused_activities, ("activity", "activities", "paused"), command);
        let waiting = ("activity", "activities", "waiting for one that is paused");
        entries.count("behind_paused_activities", self.behind_paused_activities, waiting, command);
        let with_errors = ("activity", "activities", "ended with records that failed");
        let command = "activity list --state finished_with_errors";
        entries.count("activities_with_errors", self.activities_with_errors, with_errors, command);
        let unattended = format!("that no worker takes, in {}", first_of(&self.unattended_topics));
        let unattended = ("task", "tasks", unattended.as_str());
        entries.count("unattended_tasks", self.unattended_tasks, unattended, "serve");
        let late = format!("whose oldest task has been ready for an hour: {}", first_of(&self.late_topics));
        let late = ("topic", "topics", late.as_str());
        entries.count("late_topics", self.late_topics.len() as u64, late, "queue list");
        entries.count("dead_tasks", self.dead_tasks, ("dead task", "dead tasks", ""), "queue dead");
        let background = ("background task", "background tasks", "failed");
        entries.count("failed_background_tasks", self.failed_background_tasks, background, "background list");
        let background = ("background task", "background tasks", "overdue");
        entries.count("overdue_background_tasks", self.overdue_background_tasks, background, "serve");
        entries.count("stores_refused", self.stores_refused, ("store", "stores", "refused"), "store list");
        let away = self.stores_away.saturating_sub(self.stores_refused);
        entries.count("stores_away", away, ("store", "stores", "away"), "store list");
        let waiting = ("work item", "work items", "waiting for space in staging for longer than staging.first_after");
        let command = match self.first_waiting_for_space.first() {
            Some(first) => format!("items show {}", first.item),
            None => String::new(),
        };
        entries.count("waiting_for_space", self.waiting_for_space, waiting, &command);
        let paused = if self.all_paused { 0 } else { self.paused_topics };
        entries.count("paused_topics", paused, ("topic", "topics", "paused"), "queue list");
        let tests = ("spot test", "spot tests", "of restoration failed");
        entries.count("failed_spot_tests", self.failed_spot_tests, tests, "restore tests list --state failed");
        let troubled = ("content item", "content items", "lost, damaged or in conflict");
        entries.count("troubled_content_items", self.troubled_content_items, troubled, "duplicate problems");
        let failing = ("part", "parts", "of sweeps failing");
        entries.count(
            "failing_sweep_parts",
            self.failing_sweep_parts,
            failing,
            "problems list --kind duplication.failed",
        );
        let held = ("deletion", "deletions", "of copies waiting for a person");
        let command = "problems list --kind duplication.held";
        entries.count("held_duplicate_deletions", self.held_duplicate_deletions, held, command);
        let refused = ("removal", "removals", "of what was deleted refused by a store");
        entries.count("refused_deletions", self.refused_deletions, refused, "delete unfinished");
        entries.count("uploads", self.uploads, ("upload", "uploads", "refused or failed"), "receiving list");
        let undeliverable = ("message", "messages", "undeliverable");
        entries.count("undeliverable_messages", self.undeliverable_messages, undeliverable, "outbox list");
        let after_error = match self.unattempted_messages {
            0 => "not delivered yet, after an error".to_owned(),
            more => format!("not delivered yet, after an error, and {more} more that no attempt was made at"),
        };
        let failing = ("message", "messages", after_error.as_str());
        entries.count("failing_messages", self.failing_messages, failing, "outbox list --waiting");
        let unsent = ("message", "messages", "to be sent, and no process sends them");
        entries.count("unsent_messages", self.unsent_messages, unsent, "serve");
        entries.count("notices", notices, ("notice", "notices", "not delivered yet"), "receiving list");
        if let Some(time) = &self.clock_was_ahead {
            let text = format!("the clock of the registry was ahead at {time}");
            entries.add_if(true, "clock_was_ahead", &text, "background list");
        }
        entries.0
    }
}

/// The first of these names, and how many more there are.
fn first_of(names: &[String]) -> String {
    let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The sentences in their order, and of which numbers there are at least so many.
struct Entries(Vec<ReviewEntry>, Vec<&'static str>);

impl Entries {
    fn add_if(&mut self, is_so: bool, of: &'static str, text: &str, command: &str) {
        if is_so {
            self.0.push(ReviewEntry { of, text: text.to_owned(), next: format!("strongroom {command}") });
        }
    }

    /// So many of something, of which there is one or are many, and what of it.
    fn count(&mut self, of: &'static str, count: u64, (one, many, what): (&str, &str, &str), command: &str) {
        let bound = if self.1.contains(&of) { "at least " } else { "" };
        self.add_if(count > 0, of, format!("{bound}{} {what}", counted(count, one, many)).trim_end(), command);
    }
}

fn named(tx: &mut dyn Transaction, item: &Item) -> Result<ReviewItem, RegistryError> {
    let held = holds::of_item(tx, item)?;
    Ok(ReviewItem {
        item: item.id,
        object: item.object_identifier.clone(),
        stage: item.stage,
        status: item.status,
        note: holds::note_now(item, &held).or(item.note.clone()),
    })
}

/// The newest activities that need a person, of each kind.
fn first_activities(tx: &mut dyn Transaction) -> Result<Vec<ReviewActivity>, RegistryError> {
    let mut found = Vec::new();
    let mut take = |of: &'static str, activities: Vec<Activity>| {
        found.extend(activities.into_iter().map(|activity| (of, activity)));
    };
    take("failed_activities", activities::in_state(tx, ActivityState::Failed, NAMED)?);
    take("waiting_activities", behind(tx, ActivityState::Failed)?);
    take("retried_activities", activities::tried_again(tx, NAMED)?);
    take("paused_activities", activities::in_state(tx, ActivityState::Paused, NAMED)?);
    take("behind_paused_activities", behind(tx, ActivityState::Paused)?);
    take("activities_with_errors", activities::in_state(tx, ActivityState::FinishedWithErrors, NAMED)?);
    found.into_iter().map(|(of, activity)| named_activity(tx, of, activity)).collect()
}

/// The newest activities that wait for one in this state.
fn behind(tx: &mut dyn Transaction, state: ActivityState) -> Result<Vec<Activity>, RegistryError> {
    let ids = activities::behind(tx, state, NAMED)?;
    ids.into_iter().map(|id| activities::find(tx, Scope::System, id)).collect()
}

fn named_activity(
    tx: &mut dyn Transaction,
    of: &'static str,
    activity: Activity,
) -> Result<ReviewActivity, RegistryError> {
    let status = match lists::status(tx, activity.list) {
        Ok(status) => Some(status),
        Err(RecordsError::NoList(_)) => lists::outcome(tx, activity.list)?.map(|(status, _)| status),
        Err(error) => return Err(error.into()),
    };
    let waits_for = activities::waits_for(tx, &activity)?.map(|other| other.id);
    Ok(ReviewActivity {
        of,
        activity: activity.id,
        agent: activity.agent,
        state: activity.state,
        error: activity.error.or(activity.attempt_error),
        failed: status.map(|status| status.counts.failed),
        waits_for,
    })
}

/// The first files in which a tool has found a virus.
fn infected_files(tx: &mut dyn Transaction) -> Result<Vec<InfectedFile>, RegistryError> {
    let found = tool_findings::list(tx, Scope::System, ToolFindingFilter::default(), None, NAMED)?;
    let file = |found: ToolFinding| InfectedFile {
        object: match &found.examined {
            Examined::Document { document, .. } => documents::entity(*document),
            Examined::File { .. } => found.object_identifier.unwrap_or_default(),
        },
        path: match found.examined {
            Examined::Document { record, .. } => record,
            Examined::File { .. } => in_package(&found.path.unwrap_or_default()).to_owned(),
        },
        tool: found.tool,
        detail: found.detail,
    };
    Ok(found.into_iter().map(file).collect())
}

/// The batches of several rows that items belong to, in the order of the first item of each.
fn batches_of(tx: &mut dyn Transaction, found: &[Item]) -> Result<Vec<ReviewBatch>, RegistryError> {
    let mut counts: BTreeMap<Uuid, u64> = BTreeMap::new();
    let mut order = Vec::new();
    for batch in found.iter().filter_map(|item| item.batch) {
        let count = counts.entry(batch.0).or_default();
        if *count == 0 {
            order.push(batch);
        }
        *count += 1;
    }
    let mut named = Vec::new();
    for id in order {
        // A batch of one row is named by its work item.
        let Some(batch) = batches::get(tx, Scope::System, id)?.filter(|batch| batch.row_count != Some(1)) else {
            continue;
        };
        named.push(ReviewBatch {
            batch: id,
            institution: batch.institution_identifier,
            collection: batch.collection_identifier,
            state: batch.state,
            items: counts.get(&id.0).copied().unwrap_or_default(),
        });
        if named.len() == NAMED {
            break;
        }
    }
    Ok(named)
}

/// Work items that are attempted again after an error, and the first of them.
fn retried(tx: &mut dyn Transaction, queue: &[TopicCounts]) -> Result<(u64, Vec<ReviewItem>, bool), RegistryError> {
    let (mut count, mut first, mut left) = (0, Vec::new(), DELAYED);
    for topic in queue.iter().filter(|topic| topic.delayed > 0) {
        let page = tasks::list(tx, &topic.topic, TaskState::Delayed, None, left)?;
        left -= page.tasks.len().min(left);
        for id in page.tasks.iter().filter(|task| task.spent > 0).filter_map(|task| task.item) {
            count += 1;
            if first.len() < NAMED
                && let Some(item) = items::get(tx, Scope::System, ItemId(id))?
            {
                first.push(named(tx, &item)?);
            }
        }
        if left == 0 {
            break;
        }
    }
    Ok((count, first, left > 0))
}

/// How many messages are attempted again after an error, of the kinds that a channel delivers, and the error of the first.
pub(crate) fn failing_messages(tx: &mut dyn Transaction) -> Result<(u64, Option<String>), RegistryError> {
    let (mut count, mut error) = (0, None);
    for kind in CHANNELS.iter().flat_map(|channel| channel.kinds()) {
        count += outbox::count_failing(tx, kind)?;
        if error.is_none() {
            error = outbox::failing(tx, kind, 1)?.pop().and_then(|message| message.last_error);
        }
    }
    Ok((count, error))
}

/// The first holds on collections and on batches.
fn holds_of_many(tx: &mut dyn Transaction) -> Result<Vec<HoldView>, RegistryError> {
    let mut found = holds::of_kind(tx, HoldKind::Collection, HOLDS)?;
    found.extend(holds::of_kind(tx, HoldKind::Batch, HOLDS)?);
    Ok(found.into_iter().map(HoldView::from).collect())
}

/// Microseconds after which a cancellation or failure of a batch that is not complete was interrupted: its pages take seconds, and the
/// background task `holds` completes it each minute.
const INTERRUPTED_AFTER: i64 = 120 * 1_000_000;

/// The batches whose cancellation or failure was interrupted.
fn stops_of_many(tx: &mut dyn Transaction) -> Result<Vec<StoppingBatch>, RegistryError> {
    let before = tx.now()?.plus(-INTERRUPTED_AFTER);
    let stops = batches::stops(tx, None, HOLDS)?.into_iter().filter(|stop| stop.asked_at < before);
    Ok(stops.map(|stop| StoppingBatch { batch: stop.batch, stop: stop.into() }).collect())
}

/// Topics with tasks that wait for a worker: of which no worker holds any; and, where no worker holds a lease at all, those of which one that is
/// gone held some.
pub(crate) fn unattended<'q>(
    tx: &mut dyn Transaction,
    queue: &'q [TopicCounts],
) -> Result<Vec<&'q TopicCounts>, RegistryError> {
    let now = tx.now()?;
    if tasks::are_all_paused(tx)? {
        return Ok(Vec::new());
    }
    // Leases that have ended are given back where a worker is there.
    let is_served = tasks::last_lease(tx)?.is_some_and(|until| until > now);
    // What goes after another topic waits while that has tasks, however many workers there are.
    let has_ready = |topic: &str| queue.iter().any(|one| one.topic == topic && one.ready > 0 && !one.paused);
    let waits = |topic: &&TopicCounts| {
        if topic.leased == 0 && earlier_topics(&topic.topic).iter().any(|earlier| has_ready(earlier)) {
            return false;
        }
        let is_old = topic.oldest_ready_seconds.is_some_and(|age| age >= UNATTENDED_SECONDS);
        !topic.paused && if topic.leased > 0 { !is_served } else { is_old }
    };
    Ok(queue.iter().filter(waits).collect())
}
