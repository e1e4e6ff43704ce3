//! The tasks of topic `activity.run`: each populates the list of its activity where no other worker does, processes records until there is none
//! to claim, and ends the activity where nothing is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use strongroom_queue::{Lease, Outcome};
use strongroom_records::{ListId, RecordsError, lists};
use strongroom_registry::activities::{self, Activity, Input};
use strongroom_registry::work::Assignment;
use strongroom_registry::{ActivityId, ActivityState, RegistryError, Scope, Transaction};

use super::agent::{OpenAgent, Work};
use super::error::{AgentError, Stop};
use super::keeper::Keeper;
use super::populating::{self, Progress};
use super::{TOPIC, cancel_rest, chunks, enqueue_helpers, of_key, return_expired};
use crate::event::Event;
use crate::runtime::{Handler, TaskContext, TaskEnd, retry_delay};
use crate::{EngineError, Home, crash_point};

/// How soon a task looks again that waits for records of others, or for the time of a record.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The longest wait that a source can ask for.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// The longest such wait behind an attempt that is not counted.
const LONGEST_UNCOUNTED_WAIT: Duration = Duration::from_mins(5);

/// Carries activities on.
pub(super) struct ActivityHandler {
    pub(super) home: Arc<Home>,
}

/// The work of one task on an activity.
pub(super) struct Run<'r> {
    pub(super) home: &'r Home,
    pub(super) activity: &'r Activity,
    /// Who has what is claimed: this attempt of the task, and no other.
    pub(super) worker: String,
    /// The lease of the task where it has spent attempts before this one, which are counted anew when the work comes further.
    pub(super) spent: Option<Lease>,
    /// Tasks that may work on the activity at once.
    pub(super) workers: usize,
    pub(super) keeper: &'r Keeper,
    /// Which attempt of the task this is, from 1.
    pub(super) attempt: u32,
    context: &'r TaskContext,
    /// Whether records were added or have ended.
    has_progressed: AtomicBool,
    /// Whether the activity has the error of an attempt that nothing has succeeded since.
    has_error: AtomicBool,
}

impl Run<'_> {
    /// Notes that something has succeeded: the error of an attempt before is over. In a transaction of its own, because those that work on
    /// records lock no activity.
    pub(super) fn note_success(&self) -> Result<(), RegistryError> {
        let id = self.activity.id;
        if self.has_error.swap(false, Ordering::SeqCst) {
            self.home.registry.write(move |tx| activities::clear_attempt_error(tx, id))?;
        }
        Ok(())
    }

    /// Whether to go on.
    pub(super) fn check(&self) -> Result<(), Stop> {
        self.context.check()?;
        self.keeper.check()
    }

    /// Has others help where a complete list has more records than one chunk, as when a person has it go on.
    fn ask_for_help(&self, chunk: usize) -> Result<(), RegistryError> {
        let (list, workers) = (self.activity.list, self.workers);
        let todo = self.home.registry.read(|tx| Ok::<_, RegistryError>(lists::status(tx, list)?.counts.todo))?;
        if todo > chunk as u64 {
            let activity = self.activity.clone();
            self.home.registry.write(move |tx| enqueue_helpers(tx, &activity, workers))?;
            self.home.registry.wakeups().notify([TOPIC]);
        }
        Ok(())
    }

    /// The tasks of activities that this process works on at once.
    pub(super) fn workers_here(&self) -> usize {
        self.context.settings().workers
    }

    /// Notes that records were added or have ended.
    pub(super) fn note_progress(&self) {
        self.has_progressed.store(true, Ordering::SeqCst);
    }

    /// What an agent is given for records.
    pub(super) fn work<'w>(&'w self, check: &'w (dyn Fn() -> Result<(), Stop> + Sync)) -> Work<'w> {
        Work { home: self.home, activity: self.activity, attempt: self.attempt, workers: self.workers_here(), check }
    }

    /// Whether no person has stopped the activity, as it is now.
    pub(super) fn is_at_work(&self) -> Result<bool, RegistryError> {
        let id = self.activity.id;
        let now = self.home.registry.read(|tx| activities::find(tx, Scope::System, id))?;
        Ok(now.state.is_at_work() && now.list == self.activity.list)
    }
}

impl Handler for ActivityHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let Some((id, number)) = of_key(&assignment.task.key) else {
            return Outcome::Dead { reason: "the task's key names no activity".into() }.into();
        };
        crash_point("activity.begin");
        let activity = match self.home.registry.read(|tx| activities::get(tx, Scope::System, id)) {
            Ok(Some(activity)) => activity,
            Ok(None) => return Outcome::Done.into(),
            Err(error) => return context.transient(assignment, crate::chain(&error)),
        };
        let ended = self.work(&activity, number, assignment, context);
        if let Err(reason) = &ended
            && reason.is_tried_again()
            && assignment.task.spent < assignment.task.max_attempts
        {
            self.note_error(id, &reason.to_string(), assignment);
        }
        match ended {
            Ok(end) => end,
            Err(AgentError::Stop(Stop::Interrupted(reason))) => reason.into(),
            Err(AgentError::Stop(Stop::NotAtWork)) => self.end_stopped(id, number, assignment, context),
            Err(AgentError::Stop(Stop::Lost)) => Outcome::Defer(context.time_after(LOOK_AGAIN)).into(),
            Err(AgentError::ListLost) => self.rebuild(id, assignment, context),
            Err(AgentError::Transient(reason)) => {
                self.end_later((&activity, number), reason, None, (assignment, context))
            }
            Err(AgentError::Away { reason, after }) => {
                self.end_later((&activity, number), reason, after, (assignment, context))
            }
            Err(AgentError::Fatal(reason)) => self.fail(&activity, &reason, assignment, context),
        }
    }
}

impl ActivityHandler {
    /// Keeps why an attempt could not go on, for those who look while it is tried again. Where that fails, the log has it.
    fn note_error(&self, id: ActivityId, reason: &str, assignment: &Assignment) {
        let text = reason.to_owned();
        let _ = self.home.registry.write(move |tx| activities::note_attempt_error(tx, id, &text));
        let (attempt, attempts) = (assignment.task.spent, assignment.task.max_attempts);
        Event::ActivityTriedAgain { activity: id, attempt, attempts, reason }.emit();
    }

    fn work(
        &self,
        activity: &Activity,
        number: usize,
        assignment: &Assignment,
        context: &TaskContext,
    ) -> Result<TaskEnd, AgentError> {
        if !activity.state.is_at_work() {
            return Err(Stop::NotAtWork.into());
        }
        // A worker of an older program does not know it, and one of a newer program may.
        let unknown =
            |error: EngineError| AgentError::Transient(format!("this worker cannot go on: {}", error.chain()));
        let agent = self.home.agents().find(&activity.agent).map_err(unknown)?.open(&self.home, activity)?;
        let keeper = Keeper::new(context.settings().lease);
        let lease = assignment.task.lease;
        let run = Run {
            home: &self.home,
            activity,
            worker: format!("{} task {} attempt {}", context.holder(), lease.task, lease.attempt),
            spent: (assignment.task.spent > 1).then_some(lease),
            workers: self.home.settings.activities.workers,
            keeper: &keeper,
            attempt: assignment.task.spent,
            context,
            has_progressed: AtomicBool::new(false),
            has_error: AtomicBool::new(activity.attempt_error.is_some()),
        };
        let outcome = thread::scope(|scope| {
            scope.spawn(|| keeper.keep(&self.home.registry));
            let outcome =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| carry_on(&run, agent.as_ref(), number)));
            keeper.end();
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        match outcome {
            // A source that asks to wait now and then is read to its end, however often it does.
            Err(AgentError::Away { reason, after }) if run.has_progressed.load(Ordering::SeqCst) => {
                self.note_error(activity.id, &reason, assignment);
                let wait = retry_delay(1).max(after.unwrap_or_default().min(LONGEST_UNCOUNTED_WAIT));
                Ok(Outcome::Defer(context.time_after(wait)).into())
            }
            outcome => outcome,
        }
    }

    /// The end of the task of an activity that is not at work any more. Where it is cancelled, and workers still have records of it, the task
    /// that carries it on looks again: a worker that was killed ends none of them, and those that follow wait for that.
    fn end_stopped(&self, id: ActivityId, number: usize, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let registry = &self.home.registry;
        let ended = || {
            let activity = registry.read(|tx| activities::get(tx, Scope::System, id))?;
            let Some(activity) = activity.filter(|activity| activity.state == ActivityState::Cancelled) else {
                return Ok(TaskEnd::from(Outcome::Done));
            };
            return_expired(&self.home)?;
            cancel_rest(&self.home, &activity)?;
            let list = activity.list;
            let (at_workers, followers) = registry.write(move |tx| {
                let at_workers = match lists::status(tx, list) {
                    Ok(status) => status.counts.processing,
                    Err(RecordsError::NoList(_)) => 0,
                    Err(error) => return Err(error.into()),
                };
                let followers = if at_workers == 0 { activities::wake_followers(tx, id)? } else { 0 };
                Ok::<_, RegistryError>((at_workers, followers))
            })?;
            if followers > 0 {
                registry.wakeups().notify([TOPIC]);
            }
            let looks_again = at_workers > 0 && number == 1;
            let end = if looks_again { Outcome::Defer(context.time_after(LOOK_AGAIN)) } else { Outcome::Done };
            Ok::<_, RegistryError>(end.into())
        };
        ended().unwrap_or_else(|error| context.transient(assignment, crate::chain(&error)))
    }

    /// Gives an activity whose list was lost another one, and has it populated from what is known.
    fn rebuild(&self, id: ActivityId, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        match self.home.registry.write(move |tx| activities::rebuild_list(tx, id)) {
            // The task that is enqueued with it is this one, again.
            Ok(_) => Outcome::Done.into(),
            Err(error) => context.transient(assignment, crate::chain(&error)),
        }
    }

    /// The end of an attempt that a later one may follow, until they are spent.
    fn end_later(
        &self,
        (activity, number): (&Activity, usize),
        reason: String,
        after: Option<Duration>,
        (assignment, context): (&Assignment, &TaskContext),
    ) -> TaskEnd {
        if assignment.task.spent < assignment.task.max_attempts {
            let wait = retry_delay(assignment.task.spent.into()).max(after.unwrap_or_default().min(LONGEST_WAIT));
            Outcome::RetryAt { at: context.time_after(wait), reason }.into()
        } else if number > 1 {
            // The task that carries the activity on has more attempts, and decides.
            Outcome::Done.into()
        } else {
            self.fail(activity, &reason, assignment, context)
        }
    }

    /// Fails the run that this task worked on. Another run that a person has begun since goes on: it was not tried.
    fn fail(&self, of: &Activity, reason: &str, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let (id, run, text) = (of.id, of.run, reason.to_owned());
        let failed = self.home.registry.write(move |tx| {
            let activity = activities::lock(tx, Scope::System, id)?;
            let is_ours = activity.state.is_at_work() && activity.run == run;
            if is_ours {
                activities::fail(tx, id, &text)?;
            }
            Ok::<_, RegistryError>(is_ours)
        });
        match failed {
            Ok(is_ours) => {
                if is_ours {
                    Event::ActivityFailed { activity: id, agent: &of.agent, reason }.emit();
                }
                Outcome::Done.into()
            }
            Err(error) => context.transient(assignment, crate::chain(&error)),
        }
    }
}

/// Populates and processes until there is nothing to do now.
fn carry_on(run: &Run<'_>, agent: &dyn OpenAgent, number: usize) -> Result<TaskEnd, AgentError> {
    let progress = loop {
        let progress = populating::populate(run, agent)?;
        if number == 1 && progress == Progress::Complete {
            run.ask_for_help(agent.chunk())?;
        }
        let ended = chunks::process(run, agent, progress == Progress::Complete)?;
        if ended > 0 && progress != Progress::Complete {
            continue;
        }
        // Records of a worker that ended come back here as well, so that nothing waits for the background task.
        if number > 1 || !return_expired(run.home)?.iter().any(|chunk| chunk.list == run.activity.list) {
            break progress;
        }
    };
    run.note_success()?;
    if number > 1 {
        return help_ends(run);
    }
    let (id, list) = (run.activity.id, run.activity.list);
    // Other workers end the last records at any moment. So the end is written only where the agent was asked to finish what has ended by then.
    let seen = run.home.registry.read(|tx| Ok::<_, RegistryError>(lists::status(tx, list)?))?;
    let finished = (progress == Progress::Complete && seen.is_finished()).then_some(seen.counts);
    if finished.is_some() {
        let check = || run.check();
        agent.finish(&run.work(&check))?;
        crash_point("activity.finished");
    }
    let (ended, status) = run.home.registry.write(move |tx| {
        // Another run that has begun since is ended by its own task.
        let is_ours = activities::lock(tx, Scope::System, id)?.list == list;
        let status = lists::status(tx, list)?;
        let is_finished = is_ours && finished == Some(status.counts);
        let ended = if is_finished { activities::finish_if_done(tx, id)? } else { None };
        Ok::<_, RegistryError>((ended, status))
    })?;
    if let Some(state) = ended {
        run.home.registry.wakeups().notify([TOPIC]);
        Event::ActivityEnded {
            activity: id,
            agent: &run.activity.agent,
            state: state.as_str(),
            counts: &status.counts,
        }
        .emit();
        return Ok(Outcome::Done.into());
    }
    // One that follows is woken when there is more.
    let is_followed_up = progress == Progress::CaughtUp && status.counts.open() == 0;
    if is_followed_up && matches!(run.activity.input, Input::Follow(..)) {
        return Ok(Outcome::Done.into());
    }
    let wait = if status.is_finished() { Duration::ZERO } else { LOOK_AGAIN.min(run.keeper.lease() / 2) };
    Ok(Outcome::Defer(run.context.time_after(wait)).into())
}

fn is_finished(tx: &mut dyn Transaction, list: ListId) -> Result<bool, RegistryError> {
    Ok(lists::status(tx, list)?.is_finished())
}

/// The end of a task that has helped. The one that carries the activity on is woken where it has only to end it.
fn help_ends(run: &Run<'_>) -> Result<TaskEnd, AgentError> {
    let (id, list) = (run.activity.id, run.activity.list);
    let is_over = run.home.registry.write(move |tx| {
        let activity = activities::find(tx, Scope::System, id)?;
        let is_over = activity.state.is_at_work() && activity.list == list && is_finished(tx, list)?;
        if is_over {
            activities::enqueue(tx, id, activity.institution)?;
        }
        Ok::<_, RegistryError>(is_over)
    })?;
    if is_over {
        run.home.registry.wakeups().notify([TOPIC]);
    }
    Ok(Outcome::Done.into())
}
