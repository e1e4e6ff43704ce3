//! The outbox: each message is attempted until it is delivered, under one key, and holds up no more than it must.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use strongroom_database::{Clock, Location, ManualClock};
use strongroom_engine::findings::Counting;
use strongroom_engine::outbox::{Channel, Delay, Delivered, Delivery, deliver_through};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::survey::Survey;
use strongroom_engine::{EngineError, Home, background, outbox, status};
use strongroom_queue::{LeaseRequest, NewTask, WorkerId, tasks};
use strongroom_registry::outbox::{self as rows, Message};
use strongroom_registry::{InstitutionId, ItemId, Registry, RegistryError, Scope, tenants};

use crate::fixture::{self, INSTITUTION, TestHome};

const KIND: &str = "letter";
const OTHER_KIND: &str = "card";
/// No wait between two attempts is longer.
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// A channel that fails for some keys, and notes which it was asked to deliver.
#[derive(Default)]
struct Scripted {
    failing: Mutex<BTreeSet<&'static str>>,
    panicking: BTreeSet<&'static str>,
    attempts: Mutex<Vec<String>>,
    /// How long a place has its turn; none: as every channel has it.
    slice: Option<Duration>,
    /// Whether what fails is the way that all messages take.
    fails_by_route: bool,
    /// What the messages said that it was asked to deliver.
    payloads: Mutex<Vec<String>>,
    /// How old a message is that is given up.
    gives_up_after: Option<Duration>,
}

impl Channel for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[KIND, OTHER_KIND]
    }

    fn place(&self, message: &Message) -> String {
        message.key.split_once('/').map(|(place, _)| place.to_owned()).unwrap_or_default()
    }

    fn slice(&self) -> Duration {
        self.slice.unwrap_or(Duration::MAX)
    }

    fn gives_up_after(&self, _home: &Home) -> Option<Duration> {
        self.gives_up_after
    }

    fn deliver(&self, home: &Home, message: &Message) -> Result<Delivery, EngineError> {
        self.attempts.lock().expect("no poison").push(message.key.clone());
        self.payloads.lock().expect("no poison").push(message.payload.clone());
        assert!(!self.panicking.contains(message.key.as_str()), "a message that nothing was ready for");
        if self.failing.lock().expect("no poison").contains(message.key.as_str()) {
            if self.fails_by_route {
                return Ok(Delivery::Delayed(Delay::of_route("the server is away".into())));
            }
            return Err(EngineError::Usage("no way".into()));
        }
        let id = message.id;
        home.registry.write(move |tx| rows::set_delivered(tx, id))?;
        Ok(Delivery::Made)
    }
}

/// A home whose clock stands still until it is moved.
struct Frozen {
    home: Home,
    clock: Arc<ManualClock>,
    made: TestHome,
}

impl std::ops::Deref for Frozen {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

impl Frozen {
    fn new() -> Self {
        let made = fixture::home();
        let Ok(Location::Sqlite(file)) = made.settings.registry_location(made.path()) else { panic!("a file") };
        let clock = Arc::new(ManualClock::at(made.clock.now()));
        let registry = Registry::open_sqlite(&file, clock.clone()).expect("opens");
        let home = Home::with_registry(made.path(), made.settings.clone(), registry).expect("opens");
        Self { home, clock, made }
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(i64::try_from(by.as_micros()).expect("fits"));
    }
}

impl Scripted {
    fn failing(keys: &[&'static str]) -> Self {
        Self { failing: Mutex::new(keys.iter().copied().collect()), ..Self::default() }
    }

    fn recover(&self) {
        self.failing.lock().expect("no poison").clear();
    }

    /// One run: what came of it, and which keys were attempted.
    fn run(&self, home: &Home) -> (Delivered, Vec<String>) {
        let done = deliver_through(&[self], home, &Shutdown::new()).expect("runs");
        (done, std::mem::take(&mut *self.attempts.lock().expect("no poison")))
    }
}

fn ours(home: &Home) -> InstitutionId {
    let found = home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION)).expect("reads");
    found.expect("the institution").id
}

fn put(home: &Home, institution: InstitutionId, kind: &'static str, key: &'static str) {
    home.registry.write(move |tx| rows::insert(tx, institution, ItemId::new(), key, kind, "{}")).expect("is put");
}

fn letters(home: &Home) -> Vec<Message> {
    let institution = ours(home);
    home.registry.read(|tx| rows::undelivered(tx, KIND, institution, 0, 100)).expect("reads")
}

/// However many wait, a run has the attachment of one message in memory.
#[test]
fn a_channel_gets_the_whole_of_a_message_and_lists_leave_long_attachments_out() {
    let home = Frozen::new();
    let institution = ours(&home);
    let payload = format!(r#"{{"to":["a"],"attachment":{{"text":"{}"}}}}"#, "x".repeat(100_000));
    for key in ["long/1", "long/2"] {
        let payload = payload.clone();
        home.registry
            .write(move |tx| rows::insert(tx, institution, None::<ItemId>, key, KIND, &payload))
            .expect("is put");
    }
    put(&home, institution, KIND, "short/1");
    let listed: Vec<String> = letters(&home).into_iter().map(|message| message.payload).collect();
    assert_eq!(listed, [r#"{"to":["a"]}"#, r#"{"to":["a"]}"#, "{}"]);
    let channel = Scripted::default();
    deliver_through(&[&channel], &home, &Shutdown::new()).expect("runs");
    let delivered = channel.payloads.into_inner().expect("no poison");
    assert!(delivered == [payload.clone(), payload, "{}".to_owned()], "it is asked to deliver all of it");
}

#[test]
fn one_attempt_in_a_run_is_enough_for_all_messages_that_take_a_broken_way_and_they_are_given_up_together() {
    const KEYS: [&str; 4] = ["a/1", "a/2", "b/1", "c/1"];
    let home = Frozen::new();
    let channel = Scripted {
        fails_by_route: true,
        gives_up_after: Some(Duration::from_hours(4)),
        ..Scripted::failing(&["a/1", "a/2", "b/1", "c/1", "d/1"])
    };
    for key in KEYS {
        put(&home, ours(&home), KIND, key);
    }
    for hour in 0..4 {
        let (done, attempted) = channel.run(&home);
        assert_eq!((done.failed, done.undeliverable, attempted.len()), (1, 0, 1), "{hour}");
        home.advance(Duration::from_hours(1));
    }
    put(&home, ours(&home), KIND, "d/1");
    let (done, attempted) = channel.run(&home);
    assert_eq!((done.undeliverable, attempted.len()), (4, 1), "one connection, and all that are old enough");
    let [left] = letters(&home).try_into().expect("one message");
    assert_eq!((left.key.as_str(), left.attempts), ("d/1", 0));
    let undeliverable = home.registry.read(|tx| rows::undeliverable(tx, 0, 9)).expect("reads");
    for message in undeliverable {
        let reason = message.last_error.unwrap_or_default();
        assert!(reason.contains("5 attempts failed, the last with: the server is away; next:"), "{reason}");
    }
    // What comes later is attempted by itself.
    let (done, attempted) = channel.run(&home);
    assert_eq!((done.failed, attempted), (1, vec!["d/1".to_owned()]));
}

#[test]
fn a_message_that_fails_is_attempted_again_after_growing_waits_under_the_same_key() {
    let home = Frozen::new();
    let channel = Scripted::failing(&["first"]);
    put(&home, ours(&home), KIND, "first");
    let mut waits = Vec::new();
    for attempt in 1..=12 {
        let (done, attempted) = channel.run(&home);
        assert_eq!((done.failed, attempted), (1, vec!["first".to_owned()]));
        let [message] = letters(&home).try_into().expect("one message");
        assert_eq!((message.attempts, message.last_error.as_deref()), (attempt, Some("no way")));
        waits.push(message.next_attempt_at.expect("is attempted again").0 - home.clock.now().0);
        let (done, attempted) = channel.run(&home);
        assert_eq!((done.waiting, attempted.len()), (1, 0), "it is too early");
        home.advance(LONGEST_WAIT);
    }
    // Chance takes up to half of a wait.
    let (first, last) = (waits[0], waits[11]);
    assert!(first == 1_000_000 && (300_000_000..=600_000_000).contains(&last), "{waits:?}");
    channel.recover();
    assert_eq!(channel.run(&home).0, Delivered { delivered: 1, ..Delivered::default() });
    assert_eq!(channel.run(&home), (Delivered::default(), Vec::new()), "once is enough");
}

#[test]
fn a_message_whose_attempt_panics_waits_like_one_that_failed_and_holds_up_no_other_institution() {
    let home = Frozen::new();
    let theirs = InstitutionId::new();
    home.registry.write(move |tx| tenants::add_institution(tx, theirs, "other.edu", "Other")).expect("adds");
    let channel = Scripted { panicking: BTreeSet::from(["first"]), ..Scripted::default() };
    put(&home, ours(&home), KIND, "first");
    put(&home, theirs, KIND, "theirs");
    let (done, attempted) = channel.run(&home);
    assert_eq!((done.failed, done.delivered, attempted.len()), (1, 1, 2));
    let [message] = letters(&home).try_into().expect("one message");
    let error = message.last_error.expect("is recorded");
    assert!(error.contains("panicked: a message that nothing was ready for"), "{error}");
    let mut wait = message.next_attempt_at.expect("is attempted again").0 - home.clock.now().0;
    for _ in 0..3 {
        let (done, attempted) = channel.run(&home);
        assert_eq!((done.waiting, attempted.len()), (1, 0), "it is too early");
        home.advance(LONGEST_WAIT);
        assert_eq!(channel.run(&home).0.failed, 1);
    }
    let [message] = letters(&home).try_into().expect("one message");
    wait = message.next_attempt_at.expect("is attempted again").0 - home.clock.now().0 - wait;
    assert!(wait > 1_000_000, "the waits grow");
}

#[test]
fn a_message_that_fails_holds_up_the_later_ones_of_its_institution_in_its_channel_and_nothing_else() {
    let home = Frozen::new();
    let theirs = InstitutionId::new();
    home.registry.write(move |tx| tenants::add_institution(tx, theirs, "other.edu", "Other")).expect("adds");
    let channel = Scripted::failing(&["second"]);
    put(&home, ours(&home), KIND, "first");
    put(&home, ours(&home), OTHER_KIND, "second");
    put(&home, ours(&home), KIND, "third");
    put(&home, theirs, KIND, "theirs");
    put(&home, ours(&home), "no channel takes it", "stays");
    let (done, attempted) = channel.run(&home);
    assert_eq!((done.delivered, done.failed), (2, 1), "{attempted:?}");
    let ours_attempted: Vec<&String> = attempted.iter().filter(|key| *key != "theirs").collect();
    assert_eq!(ours_attempted, ["first", "second"], "in the order in which they were put, whatever their kind");
    put(&home, theirs, KIND, "their next");
    let other = Scripted::default();
    let both: [&dyn Channel; 1] = [&channel];
    assert_eq!(deliver_through(&both, &home, &Shutdown::new()).expect("runs").delivered, 1);
    home.advance(LONGEST_WAIT);
    let (done, attempted) = other.run(&home);
    assert_eq!((done.delivered, attempted), (2, vec!["second".to_owned(), "third".to_owned()]));
    let waiting = |kind| home.registry.read(|tx| rows::waiting(tx, kind)).expect("reads").messages;
    assert_eq!((waiting(KIND), waiting("no channel takes it")), (0, 1));
}

#[test]
fn the_next_run_is_due_when_a_message_is_to_be_attempted_again() {
    let home = Frozen::new();
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let next_run = || {
        let tasks = background::list(&home.settings, &home.registry).expect("lists");
        tasks.into_iter().find(|task| task.name == "outbox").expect("the task").next_run_at
    };
    let planned = next_run();
    put(&home, ours(&home), KIND, "first");
    Scripted::failing(&["first"]).run(&home);
    let [message] = letters(&home).try_into().expect("one message");
    assert!(next_run() < planned);
    assert_eq!(Some(next_run()), message.next_attempt_at);
}

#[test]
fn a_place_whose_slice_of_a_run_is_used_up_waits_for_the_next_run_which_follows_at_once() {
    let home = Frozen::new();
    let slow = Scripted { slice: Some(Duration::ZERO), ..Scripted::default() };
    for key in ["slow/1", "slow/2", "slow/3", "quick/1"] {
        put(&home, ours(&home), KIND, key);
    }
    let is_due = || {
        let tasks = background::list(&home.settings, &home.registry).expect("lists");
        let task = tasks.into_iter().find(|task| task.name == "outbox").expect("the task");
        task.next_run_at <= home.registry.read(|tx| tx.now()).expect("the time")
    };
    for (keys, more_is_left) in [(&["slow/1", "quick/1"][..], true), (&["slow/2"], true), (&["slow/3"], false)] {
        background::run_due(&home, &Shutdown::new()).expect("runs");
        assert!(!is_due());
        assert_eq!(slow.run(&home).1, keys);
        assert_eq!(is_due(), more_is_left);
    }
    assert_eq!(slow.run(&home).0, Delivered::default());
}

#[test]
fn messages_that_are_undelivered_for_an_hour_are_told_with_an_error() {
    let home = Frozen::new();
    let overdue = || {
        let survey =
            Survey::of(home.made.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
        let status = status::collect(home.made.path(), &home.settings, &home.registry, &survey).expect("collects");
        (status.outbox.overdue, status.outbox.last_error)
    };
    put(&home, ours(&home), rows::UPLOAD_EXPIRES, "notice");
    put(&home, ours(&home), rows::INGESTED, "no channel takes it");
    assert_eq!(overdue(), (0, None));
    home.advance(Duration::from_mins(61));
    assert_eq!(overdue(), (1, None));
    let institution = ours(&home);
    let page = home.registry.read(|tx| rows::undelivered(tx, rows::UPLOAD_EXPIRES, institution, 0, 1));
    let id = page.expect("reads")[0].id;
    home.registry
        .write(move |tx| {
            let at = tx.now()?;
            rows::set_failed(tx, id, "no way", at)
        })
        .expect("fails");
    assert_eq!(overdue(), (1, Some("no way".to_owned())));
    // Its payload names no upload: it is obsolete.
    assert_eq!(outbox::deliver(&home, &Shutdown::new()).expect("runs").obsolete, 1);
    assert_eq!(overdue(), (0, None));
}

#[test]
fn messages_that_nothing_sends_are_in_status_at_once_and_those_behind_one_that_failed_are_counted() {
    let home = Frozen::new();
    let status = || {
        let survey =
            Survey::of(home.made.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
        status::collect(home.made.path(), &home.settings, &home.registry, &survey).expect("collects")
    };
    // The background tasks have run, and no process runs them any more.
    background::run_due(&home, &Shutdown::new()).expect("runs");
    put(&home, ours(&home), rows::INGESTED, "no channel takes it");
    assert_eq!((status().outbox.waiting, status().outbox.oldest_waiting), (0, None));
    let since = home.registry.read(|tx| tx.now()).expect("the time").to_string();
    put(&home, ours(&home), rows::UPLOAD_EXPIRES, "notice");
    put(&home, ours(&home), rows::UPLOAD_EXPIRES, "another");
    let now = status();
    assert_eq!((now.outbox.waiting, now.outbox.oldest_waiting), (2, Some(since)));
    assert_eq!((now.review.unsent_messages, now.review.unattempted_messages), (0, 2), "the next run is not due yet");
    home.advance(Duration::from_mins(30));
    let review = status().review;
    assert_eq!(review.unsent_messages, 2);
    let entry = review.entries.iter().find(|entry| entry.of == "unsent_messages").expect("is said");
    assert_eq!(entry.text, "2 messages to be sent, and no process sends them");
    let institution = ours(&home);
    let page = home.registry.read(|tx| rows::undelivered(tx, rows::UPLOAD_EXPIRES, institution, 0, 1));
    let id = page.expect("reads")[0].id;
    home.registry
        .write(move |tx| {
            let at = tx.now()?;
            rows::set_failed(tx, id, "no way", at)
        })
        .expect("fails");
    let review = status().review;
    assert_eq!((review.failing_messages, review.unattempted_messages), (1, 1));
    let entry = review.entries.iter().find(|entry| entry.of == "failing_messages").expect("is said");
    assert_eq!(entry.text, "1 message not delivered yet, after an error, and 1 more that no attempt was made at");
}

#[test]
fn a_topic_that_no_worker_serves_is_in_status_while_others_are_busy_and_so_is_one_whose_oldest_task_waits_for_long() {
    let home = Frozen::new();
    let review = || {
        let survey =
            Survey::of(home.made.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
        status::collect(home.made.path(), &home.settings, &home.registry, &survey).expect("collects").review
    };
    let enqueue = |topic: &'static str, key: &'static str| {
        home.registry
            .write(move |tx| Ok::<_, RegistryError>(tasks::enqueue(tx, &[NewTask::new(topic, key, "")])?))
            .expect("is enqueued");
    };
    let lease = |topic: &str| {
        let topics = vec![topic.to_owned()];
        let (holder, duration) = (WorkerId::new("one.invalid", 1, "0-0-1"), Duration::from_hours(9));
        let request = LeaseRequest { topics, keys: None, limit: 1, holder, duration };
        home.registry.write(move |tx| Ok::<_, RegistryError>(tasks::lease(tx, &request)?.len())).expect("is leased")
    };
    let text = |of: &str| review().entries.into_iter().find(|entry| entry.of == of).map(|entry| entry.text);
    for (topic, key) in [("ingest.fetch", "a"), ("ingest.fetch", "b"), ("ingest.validate", "c"), ("ingest.write", "d")]
    {
        enqueue(topic, key);
    }
    assert_eq!(lease("ingest.fetch"), 1);
    home.advance(Duration::from_secs(50));
    assert_eq!(text("unattended_tasks"), None, "a worker may come to it");
    home.registry.write(|tx| Ok::<_, RegistryError>(tasks::set_paused(tx, "ingest.write", true)?)).expect("is paused");
    home.advance(Duration::from_secs(20));
    assert_eq!(text("unattended_tasks").as_deref(), Some("1 task that no worker takes, in ingest.validate"));
    assert_eq!(lease("ingest.validate"), 1);
    assert_eq!((text("unattended_tasks"), text("late_topics")), (None, None));
    home.advance(Duration::from_hours(1));
    let said = "1 topic whose oldest task has been ready for an hour: ingest.fetch";
    assert_eq!((text("unattended_tasks"), text("late_topics").as_deref()), (None, Some(said)));
    home.advance(Duration::from_hours(9));
    let said = "3 tasks that no worker takes, in ingest.fetch, ingest.validate";
    assert_eq!((text("unattended_tasks").as_deref(), text("late_topics")), (Some(said), None), "no worker is there");
}

#[test]
fn a_message_that_failed_while_the_clock_was_ahead_is_attempted_when_it_is_right_again() {
    const YEAR: i64 = 365 * 24 * 3_600_000_000;
    let home = Frozen::new();
    home.clock.advance(YEAR);
    put(&home, ours(&home), rows::UPLOAD_EXPIRES, "of tomorrow");
    put(&home, ours(&home), KIND, "first");
    let channel = Scripted::failing(&["first"]);
    assert_eq!(channel.run(&home).0.failed, 1);
    home.clock.advance(-YEAR);
    let survey = Survey::of(home.made.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
    let status = status::collect(home.made.path(), &home.settings, &home.registry, &survey).expect("collects");
    assert_eq!(status.outbox.overdue, 1, "its age is not known");
    channel.recover();
    assert_eq!(channel.run(&home).0, Delivered { delivered: 1, ..Delivered::default() });
}

#[test]
fn a_message_that_can_not_be_delivered_holds_up_no_other_place_of_its_institution() {
    let home = Frozen::new();
    let channel = Scripted::failing(&["gone/first"]);
    for key in ["gone/first", "here/first", "gone/second", "here/second"] {
        put(&home, ours(&home), KIND, key);
    }
    let (done, attempted) = channel.run(&home);
    assert_eq!((done.delivered, done.failed), (2, 1));
    assert_eq!(attempted, ["gone/first", "here/first", "here/second"]);
    put(&home, ours(&home), KIND, "here/third");
    let (done, attempted) = channel.run(&home);
    assert_eq!((done.delivered, done.waiting, attempted), (1, 1, vec!["here/third".to_owned()]));
}
