//! Everything this crate reports, as typed events: emitted by name, with values as fields. To get a log line for
//! something new adds a variant here.

use std::fmt::{self, Display};
use std::time::Duration;

use strongroom_records::Counts;
use strongroom_registry::sweeps::{Sweep, Totals};
use strongroom_registry::work::ItemOutcome;
use strongroom_registry::{ActivityId, CopyOutcome, ItemStatus};
use tracing::{debug, error, info, warn};

use crate::error::without_system_codes;
use crate::reports::ReportView;

/// The name of [`Event::StoreLost`] in its log line's metadata, for a program that says it in other words.
pub const STORE_LOST: &str = "store_lost";

/// The name of the log line of a work item that ended, so that a command that shows its items can leave it out.
pub const ITEM_ENDED: &str = "item_ended";

/// The name of the log line of a content item that needs a person, or does not any more, and of a sweep that ended, so that a command that shows
/// them can leave it out.
pub const DUPLICATION: &str = "duplication";

/// Something worth reporting.
pub enum Event<'a> {
    /// A topic is worked on by more or fewer from now on.
    CapacityTakenUp {
        /// The topic.
        topic: &'a str,
        /// Tasks worked on at once.
        workers: usize,
        /// Tasks held beyond those.
        prefetch: usize,
        /// Tasks of all processes together; 0: no limit.
        max_total: usize,
        /// After how long a task passes the order of topics; zero: never.
        aged_after: Duration,
    },
    /// The lease of one task could not be extended; others may have been.
    LeaseNotExtended {
        /// Its topic.
        topic: &'a str,
        /// Its key.
        key: &'a str,
        /// Why not.
        error: &'a dyn Display,
    },
    /// The settings changed and cannot be read.
    SettingsNotTakenUp {
        /// Why.
        error: &'a dyn std::fmt::Display,
    },
    /// Workers began to look for tasks.
    RuntimeStarted {
        /// Who they are, as records name them.
        holder: &'a str,
        /// How many topics they serve.
        topics: usize,
    },
    /// Workers were asked to stop.
    RuntimeDraining {
        /// Tasks that run.
        running: usize,
        /// Tasks held but not begun, returned.
        given_back: usize,
    },
    /// Workers stopped.
    RuntimeStopped {
        /// Tasks that still run and are left to the expiry of their leases.
        abandoned: usize,
    },
    /// A task began.
    TaskStarted {
        /// Its topic.
        topic: &'a str,
        /// Its key: for a stage, the work item.
        key: &'a str,
        /// Which attempt.
        attempt: u32,
    },
    /// A task ended and its end is on record.
    TaskEnded {
        /// Its topic.
        topic: &'a str,
        /// Its key.
        key: &'a str,
        /// How it ended, in one word.
        end: &'a str,
        /// The words for people, if any.
        note: &'a str,
        /// How long it ran.
        elapsed: Duration,
    },
    /// A work item ended, or is held.
    ItemEnded {
        /// What came of it.
        outcome: &'a ItemOutcome,
    },
    /// A handler panicked; the attempt is spent.
    TaskPanicked {
        /// Its topic.
        topic: &'a str,
        /// Its key.
        key: &'a str,
        /// What the panic said.
        message: &'a str,
    },
    /// A task is no longer ours; what it still does is dropped.
    TaskLost {
        /// Its topic.
        topic: &'a str,
        /// Its key.
        key: &'a str,
        /// How that was learned.
        cause: &'a str,
    },
    /// The end of a task could not be recorded; its lease runs out and it is done again.
    EndNotRecorded {
        /// Its topic.
        topic: &'a str,
        /// Its key.
        key: &'a str,
        /// Why.
        error: &'a dyn Display,
    },
    /// The registry did not answer; it is tried again.
    RegistryUnavailable {
        /// What was tried.
        act: &'a str,
        /// Why it failed.
        error: &'a dyn Display,
    },
    /// A thread could not be started; work waits for one that runs.
    ThreadNotStarted {
        /// What it was for.
        name: &'a str,
        /// Why.
        error: &'a dyn Display,
    },
    /// Tasks of dead or silent workers were taken over.
    TasksReclaimed {
        /// Their topics.
        topics: &'a [String],
    },
    /// A copy was found wrong.
    DamageFound {
        /// The store.
        store: &'a str,
        /// The key within it; for inventories the object root.
        key: &'a str,
        /// What was found.
        detail: &'a str,
    },
    /// A copy that was found wrong was repaired, or cannot be.
    DamageTreated {
        /// Whether it is right again.
        repaired: bool,
        /// What was done, or why nothing could be.
        detail: &'a str,
    },
    /// What was deleted could not be removed from a store.
    DeletionRefused {
        /// The store.
        store: &'a str,
        /// The deletion.
        deletion: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A store does not hold objects whole whose placement names it.
    CopiesLacking {
        /// The store.
        store: &'a str,
        /// How many objects.
        objects: u64,
    },
    /// A store cannot be used any more; what needs it waits.
    StoreLost {
        /// The store.
        store: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A store can be used again.
    StoreBack {
        /// The store.
        store: &'a str,
        /// How long it could not.
        away_for: Duration,
    },
    /// Files of objects' logs that a store had missed lie in it now.
    MissedLogsPut {
        /// The store.
        store: &'a str,
        /// How many.
        logs: u64,
    },
    /// Logs of objects in a store could not be read when another store was filled; they are tried again.
    LogsUnread {
        /// The store that has them.
        store: &'a str,
        /// How many objects.
        objects: u64,
        /// Why, for the first of them.
        reason: &'a str,
    },
    /// Another store took the place of a lost one.
    StoreReplaced {
        /// The store.
        store: &'a str,
        /// Contents of which no other store in use has a good copy.
        only_copies: u64,
    },
    /// A place in a receiving store could not be inspected; the next turn tries again.
    PlaceNotWatched {
        /// The store, and whose place.
        place: &'a str,
        /// Why.
        error: &'a dyn Display,
    },
    /// What is due for an upload could not be done; the next turn tries again.
    UploadNotFollowed {
        /// The store.
        store: &'a str,
        /// The key within it.
        key: &'a str,
        /// Why.
        error: &'a dyn Display,
    },
    /// An upload that is not valid will be removed from its receiving store.
    UploadExpires {
        /// The store.
        store: &'a str,
        /// The key within it.
        key: &'a str,
        /// When.
        remove_after: &'a str,
    },
    /// An upload was taken in and is not removed, because its object is not whole.
    UploadStays {
        /// The store.
        store: &'a str,
        /// The key within it.
        key: &'a str,
        /// What is missing.
        reason: &'a str,
    },
    /// A tool has found a virus in a file that is kept.
    VirusFound {
        /// The object.
        object: &'a str,
        /// The file.
        path: &'a str,
        /// The tool.
        tool: &'a str,
        /// What it has found.
        detail: &'a str,
    },
    /// An activity has ended.
    ActivityEnded {
        /// The activity.
        activity: ActivityId,
        /// Its agent.
        agent: &'a str,
        /// The state in which it ended.
        state: &'a str,
        /// Its records.
        counts: &'a Counts,
    },
    /// An activity could not go on, and is tried again.
    ActivityTriedAgain {
        /// The activity.
        activity: ActivityId,
        /// Which attempt this was.
        attempt: u32,
        /// How many it has.
        attempts: u32,
        /// Why.
        reason: &'a str,
    },
    /// An activity cannot go on as a whole.
    ActivityFailed {
        /// The activity.
        activity: ActivityId,
        /// Its agent.
        agent: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A report of a batch that has ended is whole.
    ReportMade {
        /// The report.
        report: &'a ReportView,
    },
    /// A message of the outbox could not be delivered; it is attempted again later.
    MessageNotDelivered {
        /// The channel.
        channel: &'a str,
        /// What it is about.
        key: &'a str,
        /// Which attempt it was.
        attempt: u64,
        /// Why.
        error: &'a dyn Display,
    },
    /// A message cannot be delivered as things are, and is not attempted again until a person asks.
    MessageUndeliverable {
        /// The channel.
        channel: &'a str,
        /// What it is about.
        key: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// The mail server will not have a mail for a recipient; the other recipients are not concerned.
    MailRefused {
        /// What the mail is about.
        key: &'a str,
        /// The recipient.
        recipient: &'a str,
        /// What the server answered.
        answer: &'a str,
    },
    /// A background task ran to its end.
    BackgroundTaskRan {
        /// Its name.
        name: &'a str,
        /// What it did.
        outcome: &'a str,
        /// How long it took.
        elapsed: Duration,
        /// Whether the run before it came to something else.
        is_news: bool,
    },
    /// A run of a background task was stopped with the process, before its end.
    BackgroundTaskStopped {
        /// Its name.
        name: &'a str,
    },
    /// A background task failed; it is repeated soon.
    BackgroundTaskFailed {
        /// Its name.
        name: &'a str,
        /// Why.
        error: &'a dyn Display,
    },
    /// Another process took a background task over while it ran here; it stopped here.
    BackgroundTaskLost {
        /// Its name.
        name: &'a str,
    },
    /// The lease of a background task could not be extended, since the registry could not be reached; it stopped here.
    BackgroundTaskNotExtended {
        /// Its name.
        name: &'a str,
    },
    /// A background task was still running when the process ended.
    BackgroundTaskLeft {
        /// Its name.
        name: &'a str,
    },
    /// A plain store does not answer any more; what needs it waits.
    PlainStoreLost {
        /// The store.
        store: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A plain store answers again.
    PlainStoreBack {
        /// The store.
        store: &'a str,
        /// How long it did not.
        away_for: Duration,
    },
    /// A content item of a plain store was found lost, damaged or in conflict, and was not known to be so.
    ContentItemInTrouble {
        /// The institution whose rule copies it.
        institution: &'a str,
        /// The store that is read, and the one that is written.
        stores: (&'a str, &'a str),
        /// Its space and its key.
        item: (&'a str, &'a str),
        /// Which of these it is.
        outcome: CopyOutcome,
        /// In words.
        detail: &'a str,
    },
    /// A content item that was lost, damaged or in conflict is not so any more.
    ContentItemRecovered {
        /// The institution whose rule copies it.
        institution: &'a str,
        /// The store that is read, and the one that is written.
        stores: (&'a str, &'a str),
        /// Its space and its key.
        item: (&'a str, &'a str),
        /// What it was.
        before: CopyOutcome,
        /// What it is.
        outcome: CopyOutcome,
    },
    /// A sweep has ended.
    SweepEnded {
        /// The sweep.
        sweep: &'a Sweep,
        /// What was counted in it.
        totals: &'a Totals,
    },
    /// A plain store is watched from now on.
    PlainStoreWatched {
        /// The store.
        store: &'a str,
        /// Folders that are watched.
        folders: usize,
    },
    /// A plain store is not watched, and it is tried again.
    PlainStoreNotWatched {
        /// The store.
        store: &'a str,
        /// Why.
        error: &'a dyn Display,
    },
    /// A plain store is not watched any more: a stop was asked for, or no rule copies from it.
    PlainStoreWatchEnded {
        /// The store.
        store: &'a str,
    },
    /// Changes in a watched plain store were lost, or are too many.
    ChangesMissed {
        /// The store.
        store: &'a str,
    },
    /// Changes in a watched plain store were recorded as events.
    ChangesRecorded {
        /// The store.
        store: &'a str,
        /// Content items and spaces that were put, replaced or described anew.
        puts: u64,
        /// Those that were deleted.
        deletions: u64,
    },
    /// So many content items of a watched plain store were deleted that their copies are not deleted with them.
    DeletionsLeftToSweep {
        /// The store.
        store: &'a str,
        /// Deletions of one page.
        deletions: u64,
    },
    /// A time that was recorded for a background task lies ahead: the clock of the registry was ahead.
    ClockWasAhead {
        /// The task; it runs again now.
        name: &'a str,
        /// The time that was recorded.
        time: &'a dyn Display,
    },
    /// Work items wait by times that a clock which was ahead has given; they are due now.
    WaitsWrittenAhead {
        /// How many.
        items: usize,
    },
    /// A stage says how far it is.
    StageProgress {
        /// The work item.
        item: &'a dyn Display,
        /// The stage.
        stage: &'a dyn Display,
        /// How far, in words.
        note: &'a str,
    },
}

/// An error without the numbers of the system.
struct Plain<'e>(&'e dyn Display);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_system_codes(&self.0.to_string()))
    }
}

impl Event<'_> {
    /// Reports it.
    pub fn emit(&self) {
        match self {
            Self::RuntimeStarted { holder, topics } => info!(holder, topics, "workers started"),
            Self::CapacityTakenUp { topic, workers, prefetch, max_total, aged_after } => {
                info!(topic, workers, prefetch, max_total, ?aged_after, "capacity changed");
            }
            Self::SettingsNotTakenUp { error } => {
                warn!(error = %Plain(*error), "the settings changed and cannot be read; the earlier settings stay in use");
            }
            Self::RuntimeDraining { running, given_back } => info!(running, given_back, "workers are draining"),
            Self::RuntimeStopped { abandoned: 0 } => info!("workers stopped"),
            Self::RuntimeStopped { abandoned } => warn!(abandoned, "workers stopped with tasks still running"),
            Self::TaskStarted { topic, key, attempt } => debug!(topic, key, attempt, "task started"),
            Self::TaskEnded { topic, key, end, note, elapsed } => {
                debug!(topic, key, end, note, ?elapsed, "task ended");
            }
            Self::ItemEnded { outcome } => {
                let ItemOutcome { item, action, object_identifier: object, stage, status, note, age } = outcome;
                let (action, stage, status, elapsed) = (action.as_str(), stage.as_str(), status.as_str(), age);
                if outcome.status == ItemStatus::Failed {
                    warn!(name: ITEM_ENDED, %item, object, action, stage, status, error = note, ?elapsed, "work item failed");
                } else {
                    info!(name: ITEM_ENDED, %item, object, action, stage, status, note, ?elapsed, "work item {status}");
                }
            }
            Self::TaskPanicked { topic, key, message } => error!(topic, key, message, "task panicked"),
            Self::TaskLost { topic, key, cause } => warn!(topic, key, cause, "task is no longer held"),
            Self::EndNotRecorded { topic, key, error } => {
                error!(topic, key, error = %Plain(*error), "end of task could not be recorded");
            }
            Self::LeaseNotExtended { topic, key, error } => {
                warn!(topic, key, error = %Plain(*error), "lease not extended");
            }
            Self::RegistryUnavailable { act, error } => warn!(act, error = %Plain(*error), "registry unavailable"),
            Self::ThreadNotStarted { name, error } => {
                error!(name, error = %Plain(*error), "thread could not be started");
            }
            Self::TasksReclaimed { topics } => info!(?topics, "tasks of workers that stopped were taken over"),
            Self::DamageFound { store, key, detail } => error!(detail, store, key, "damage found"),
            Self::DamageTreated { repaired: true, detail } => warn!(detail, "damage repaired"),
            Self::DamageTreated { repaired: false, detail } => error!(detail, "damage cannot be repaired"),
            Self::DeletionRefused { store, deletion, reason } => {
                warn!(store, deletion, reason, "what was deleted could not be removed from the store yet");
            }
            Self::CopiesLacking { store, objects } => {
                warn!(store, objects, "the store lacks copies of objects whose placement names it");
            }
            Self::StoreLost { store, reason } => {
                warn!(name: STORE_LOST, store, reason, "store lost; what needs it waits");
            }
            Self::StoreBack { store, away_for } => info!(store, ?away_for, "store is back"),
            Self::MissedLogsPut { store, logs } => info!(store, logs, "logs that the store had missed were put"),
            Self::LogsUnread { store, objects, reason } => {
                warn!(store, objects, reason, "logs could not be read and are not in every store yet");
            }
            Self::StoreReplaced { store, only_copies } => {
                warn!(store, only_copies, "store replaced; what it lacks is copied from the other stores");
            }
            Self::PlaceNotWatched { place, error } => {
                warn!(place, error = %Plain(*error), "receiving place could not be scanned");
            }
            Self::UploadNotFollowed { store, key, error } => {
                warn!(store, key, error = %Plain(*error), "what is due for an upload could not be done");
            }
            Self::UploadExpires { store, key, remove_after } => {
                warn!(store, key, remove_after, "invalid upload will be removed");
            }
            Self::UploadStays { store, key, reason } => {
                error!(store, key, reason, "upload is not removed: its object is not whole");
            }
            Self::VirusFound { object, path, tool, detail } => {
                error!(object, path, tool, detail, "a virus was found in a file that is kept");
            }
            Self::ActivityEnded { activity, agent, state, counts } => {
                let Counts { processed, failed, .. } = counts;
                info!(%activity, agent, state, processed, failed, "activity ended");
            }
            Self::ActivityTriedAgain { activity, attempt, attempts, reason } => {
                warn!(%activity, attempt, attempts, reason, "activity could not go on and is tried again");
            }
            Self::ActivityFailed { activity, agent, reason } => {
                error!(%activity, agent, reason, "activity failed");
            }
            Self::ReportMade { report } => {
                let ReportView { batch, number, kind, items, succeeded, failed, .. } = report;
                info!(%batch, number, %kind, items, succeeded, failed, "report of a batch was made");
            }
            Self::MessageNotDelivered { channel, key, attempt, error } => {
                warn!(channel, key, attempt, error = %Plain(*error), "message could not be delivered");
            }
            Self::MessageUndeliverable { channel, key, reason } => {
                warn!(channel, key, reason, "message is undeliverable");
            }
            Self::MailRefused { key, recipient, answer } => {
                warn!(key, recipient, answer, "mail was refused for a recipient");
            }
            Self::BackgroundTaskRan { name, outcome, elapsed, is_news: true } => {
                info!(name, outcome, ?elapsed, "background task ran");
            }
            Self::BackgroundTaskRan { name, outcome, elapsed, is_news: false } => {
                debug!(name, outcome, ?elapsed, "background task ran, as before");
            }
            Self::BackgroundTaskStopped { name } => {
                info!(name, "background task was stopped; the next run does the rest");
            }
            Self::BackgroundTaskFailed { name, error } => warn!(name, error = %Plain(*error), "background task failed"),
            Self::BackgroundTaskLost { name } => {
                warn!(name, "background task was taken over by another process while it ran");
            }
            Self::BackgroundTaskNotExtended { name } => {
                warn!(name, "the lease of a background task could not be extended while the registry was away");
            }
            Self::BackgroundTaskLeft { name } => {
                warn!(name, "background task was still running when the process ended; the next run does the rest");
            }
            Self::PlainStoreLost { store, reason } => {
                let next = format!("strongroom space list --store {store}");
                warn!(store, reason, next, "plain store is away; what needs it waits");
            }
            Self::PlainStoreBack { store, away_for } => info!(store, ?away_for, "plain store is back"),
            Self::ContentItemInTrouble { institution, stores: (source, destination), item, outcome, detail } => {
                let ((space, key), outcome) = (item, outcome.as_str());
                let next = format!("strongroom duplicate problems --institution {institution}");
                warn!(
                    name: DUPLICATION,
                    institution,
                    store = source,
                    destination,
                    space,
                    key,
                    outcome,
                    detail,
                    next,
                    "content item needs a person"
                );
            }
            Self::ContentItemRecovered { institution, stores: (source, destination), item, before, outcome } => {
                let ((space, key), before, outcome) = (item, before.as_str(), outcome.as_str());
                info!(
                    name: DUPLICATION,
                    institution,
                    store = source,
                    destination,
                    space,
                    key,
                    before,
                    outcome,
                    "content item needs no person any more"
                );
            }
            Self::SweepEnded { sweep, totals } => {
                let Totals { counts, parts, failed_parts, held, .. } = totals;
                let (run, institution, failed_parts) = (&sweep.id, &*sweep.institution_identifier, *failed_parts);
                let (listed, queued, equal, ignored) = (counts.listed, counts.queued, counts.equal, counts.ignored);
                let (failed, deletions) = (counts.failed, counts.deletions);
                let next = format!("strongroom duplicate run show {run}");
                if failed_parts > 0 {
                    warn!(
                        name: DUPLICATION, %run, institution, parts, failed_parts, listed, queued, equal, ignored, failed, deletions, held,
                        next, "sweep ended, and parts of it failed"
                    );
                } else {
                    info!(
                        name: DUPLICATION, %run, institution, parts, failed_parts, listed, queued, equal, ignored, failed, deletions, held,
                        "sweep ended"
                    );
                }
            }
            Self::PlainStoreWatched { store, folders } => info!(store, folders, "plain store is watched"),
            Self::PlainStoreNotWatched { store, error } => {
                warn!(store, %error, "plain store is not watched; sweeps find what changes in it, and it is tried again");
            }
            Self::PlainStoreWatchEnded { store } => info!(store, "plain store is not watched any more"),
            Self::ChangesMissed { store } => {
                warn!(store, "changes in a plain store were missed; a sweep compares what is copied from it");
            }
            Self::ChangesRecorded { store, puts, deletions } => {
                debug!(store, puts, deletions, "changes in a plain store were recorded as events");
            }
            Self::DeletionsLeftToSweep { store, deletions } => {
                warn!(
                    store,
                    deletions, "many content items were deleted; their copies are kept until a sweep has counted them"
                );
            }
            Self::ClockWasAhead { name, time } => {
                warn!(name, %time, "the clock of the registry was ahead: the background task is due now");
            }
            Self::WaitsWrittenAhead { items } => {
                warn!(items, "work items waited by a clock that was ahead: they are due now");
            }
            Self::StageProgress { item, stage, note } => debug!(%item, %stage, note, "stage progress"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::Plain;

    #[test]
    fn an_error_is_logged_without_the_number_of_the_system() {
        let error = io::Error::from_raw_os_error(2);
        assert!(error.to_string().ends_with(" (os error 2)"));
        assert_eq!(Plain(&error).to_string(), "No such file or directory");
    }
}
