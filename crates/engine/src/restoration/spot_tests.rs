//! Spot tests: every so often an object of each institution is restored as any other, and people look at what came out. That shows what no
//! fixity check does: that a person gets an object back, in a form that the person can use.
//!
//! A test begins in one transaction with its work item and with the turn of its institution, so that no process that comes later begins it
//! again. What became of it is read from the work item, in a transaction that also inserts the event and the mail.

use std::time::Duration;

use strongroom_registry::events::{self, EventRow};
use strongroom_registry::items::{self, Item, NewItem};
use strongroom_registry::restorations::{self, RestorationResult};
use strongroom_registry::spot_tests::{self, Candidate, Ended, NewSpotTest, SpotTest, Turn};
use strongroom_registry::users::{self, User, UserFilter};
use strongroom_registry::{
    ItemId, ItemStatus, ObjectId, ObjectState, RegistryError, Scope, SpotTestId, SpotTestState, Time, Transaction,
    UserRole, objects, restored,
};

use super::request::{RestoreOptions, create, of_object};
use crate::journal::JournalEntry;
use crate::notifications::{Mail, Prepared};
use crate::reports::html_of;
use crate::runtime::Shutdown;
use crate::{AGENT, EngineError, Home, crash_point};

/// Rows that are read at once.
const PAGE: usize = 200;
/// Admins who get a mail; an institution has few.
const MOST_ADMINS: usize = 100;
/// Who asks for these restorations.
const ASKED_BY: &str = "the background task spot-tests";

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpotTested {
    /// Tests that began.
    pub(crate) begun: u64,
    /// Institutions whose turn it was, and that have no object which may be tested.
    pub(crate) without: u64,
    /// Tests whose object was restored.
    pub(crate) restored: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
    /// Tests of which people were reminded.
    pub(crate) reminded: u64,
}

/// Begins the tests that are due, and records what became of those that were begun, until asked to stop. Repeating it does no harm.
pub(crate) fn spot_test(home: &Home, stop: &Shutdown) -> Result<SpotTested, EngineError> {
    let mut done = SpotTested::default();
    let mut first_failure = follow(home, stop, &mut done)?;
    for turn in due(home)? {
        if stop.is_requested() {
            break;
        }
        match begin(home, &turn, stop) {
            Ok(Begun::Test) => done.begun += 1,
            Ok(Begun::NoObject) => done.without += 1,
            Ok(Begun::Nothing) => {}
            // One institution keeps no other from its test.
            Err(error) => first_failure = first_failure.or(Some(error)),
        }
    }
    first_failure.map_or(Ok(done), Err)
}

/// The institutions whose turn it is.
fn due(home: &Home) -> Result<Vec<Turn>, EngineError> {
    let interval = home.settings.restoration.spot_test_interval;
    if interval == Duration::ZERO {
        return Ok(Vec::new());
    }
    home.registry.write(spot_tests::add_turns)?;
    Ok(home.registry.read(|tx| spot_tests::due(tx, microseconds(interval)))?)
}

/// What came of a turn.
enum Begun {
    Test,
    NoObject,
    /// Another process has it, what was found has changed meanwhile, or it was asked to stop.
    Nothing,
}

fn begin(home: &Home, turn: &Turn, stop: &Shutdown) -> Result<Begun, EngineError> {
    let found = match next_object(home, turn, stop)? {
        Search::Stopped => return Ok(Begun::Nothing),
        Search::None => None,
        Search::Found(candidate) => Some(candidate),
    };
    crash_point("spot_tests.found");
    let (turn, registry) = (turn.clone(), &home.registry);
    let Some(candidate) = found else {
        let is_ours = registry.write(move |tx| spot_tests::take_turn(tx, &turn, turn.after))?;
        return Ok(if is_ours { Begun::NoObject } else { Begun::Nothing });
    };
    let (workflows, by) = (registry.workflows(), JournalEntry::of_system("restorations.spot_test"));
    let (item, test) = (ItemId::new(), SpotTestId::new());
    let (is_begun, topics) = registry.write(move |tx| {
        let scope = Scope::Institution(turn.institution);
        let object = objects::get(tx, scope, candidate.object)?.filter(|object| object.state == ObjectState::Active);
        let Some(object) = object else { return Ok((false, Vec::new())) };
        if !spot_tests::take_turn(tx, &turn, Some(object.id))? {
            return Ok((false, Vec::new()));
        }
        let options = RestoreOptions {
            version: Some(object.head),
            requested_by: ASKED_BY.to_owned(),
            ..RestoreOptions::default()
        };
        let new = NewItem { id: item, actor: Some(by.actor.id), ..of_object(&object, &options)? };
        let topics = create(tx, workflows.as_ref(), &object, &new, &by)?;
        let candidate = Candidate { head: object.head, ..candidate.clone() };
        spot_tests::insert(tx, &NewSpotTest { id: test, institution: turn.institution, candidate, item })?;
        Ok::<_, EngineError>((true, topics))
    })?;
    registry.wakeups().notify(topics.iter().map(String::as_str));
    crash_point("spot_tests.begun");
    Ok(if is_begun { Begun::Test } else { Begun::Nothing })
}

/// What came of looking for an object.
enum Search {
    Found(Candidate),
    None,
    Stopped,
}

/// The next object of an institution that is small enough: behind the one that was tested last, or from the beginning.
fn next_object(home: &Home, turn: &Turn, stop: &Shutdown) -> Result<Search, EngineError> {
    let most = home.settings.restoration.spot_test_max_size;
    let may_be_tested = |found: &Candidate| found.state == ObjectState::Active && (most == 0 || found.bytes <= most);
    let (mut after, mut has_begun_again) = (turn.after, turn.after.is_none());
    loop {
        if stop.is_requested() {
            return Ok(Search::Stopped);
        }
        let page = home.registry.read(|tx| spot_tests::candidates(tx, turn.institution, after, PAGE))?;
        let last: Option<ObjectId> = page.last().map(|last| last.object);
        if let Some(found) = page.into_iter().find(may_be_tested) {
            return Ok(Search::Found(found));
        }
        match last {
            Some(last) => after = Some(last),
            None if has_begun_again => return Ok(Search::None),
            None => (after, has_begun_again) = (None, true),
        }
    }
}

/// Finds out what became of the tests that are not over. The first failure is given back: it keeps nothing else from being done.
fn follow(home: &Home, stop: &Shutdown, done: &mut SpotTested) -> Result<Option<EngineError>, EngineError> {
    let (mut after, mut first_failure) = (None, None);
    loop {
        let page = home.registry.read(|tx| spot_tests::open(tx, after, PAGE))?;
        let Some(last) = page.last() else { return Ok(first_failure) };
        after = Some(last.id);
        for test in &page {
            if stop.is_requested() {
                return Ok(first_failure);
            }
            if let Err(error) = follow_one(home, test, done) {
                first_failure = first_failure.or(Some(error));
            }
        }
    }
}

fn follow_one(home: &Home, test: &SpotTest, done: &mut SpotTested) -> Result<(), EngineError> {
    if test.state == SpotTestState::Restored {
        done.reminded += u64::from(remind(home, test)?);
        return Ok(());
    }
    let Some(ended) = home.registry.read(|tx| ended(tx, test))? else { return Ok(()) };
    let (message, event) = match &ended {
        Ended::Restored(result) => (mail_of_result(home, test, result)?, Some(event_of(test, None))),
        Ended::Failed(reason) => (mail_of_failure(home, test, reason)?, Some(event_of(test, Some(reason)))),
        Ended::Dropped(_) => (None, None),
    };
    let (known, outcome) = (test.clone(), ended.clone());
    let is_noted = home.registry.write(move |tx| {
        if !spot_tests::end(tx, &known, &outcome)? {
            return Ok(false);
        }
        if let Some(event) = &event {
            let event = EventRow { time: tx.now()?.0, ..event.clone() };
            events::append(tx, &[event])?;
        }
        tell(tx, &known, message.as_ref())?;
        Ok::<_, RegistryError>(true)
    })?;
    crash_point("spot_tests.ended");
    match ended {
        Ended::Restored(_) => done.restored += u64::from(is_noted),
        Ended::Failed(_) => done.failed += u64::from(is_noted),
        Ended::Dropped(_) => {}
    }
    Ok(())
}

/// How the restoration of a test ended, if it has; of one that failed, only whether it succeeded after all.
fn ended(tx: &mut dyn Transaction, test: &SpotTest) -> Result<Option<Ended>, RegistryError> {
    let item = items::get(tx, Scope::System, test.item)?;
    let is_restoring = test.state == SpotTestState::Restoring;
    if test.decided_at.is_some() {
        return Ok(None);
    }
    let dropped = |reason: String| Ok(is_restoring.then_some(Ended::Dropped(reason)));
    let Some(item) = item else { return dropped(format!("work item {} is no longer there", test.item)) };
    match item.status {
        ItemStatus::Succeeded => match restorations::result(tx, item.id)? {
            Some(result) => Ok(Some(Ended::Restored(result))),
            None => dropped(format!("work item {} succeeded and has no result", item.id)),
        },
        ItemStatus::Cancelled | ItemStatus::Deleted => dropped(format!("work item {} was {}", item.id, item.status)),
        ItemStatus::Failed if is_restoring => {
            let object = objects::get(tx, Scope::System, test.object)?;
            if object.is_none_or(|object| object.state != ObjectState::Active) {
                return dropped("its object was deleted".to_owned());
            }
            Ok(Some(Ended::Failed(why(&item))))
        }
        _ => Ok(None),
    }
}

fn why(item: &Item) -> String {
    item.note.clone().unwrap_or_else(|| format!("work item {} failed", item.id))
}

/// Reminds people of a result that they have not looked at, once. Whether it did.
fn remind(home: &Home, test: &SpotTest) -> Result<bool, EngineError> {
    let (after, Some(ended_at)) = (home.settings.restoration.spot_test_reminder, test.ended_at) else {
        return Ok(false);
    };
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    if test.reminded_at.is_some() || after == Duration::ZERO || now < ended_at.plus(microseconds(after)) {
        return Ok(false);
    }
    let Some(result) = &test.result else { return Ok(false) };
    let message = mail_of_reminder(home, test, result)?;
    let known = test.clone();
    Ok(home.registry.write(move |tx| {
        if !spot_tests::remind(tx, known.id)? {
            return Ok(false);
        }
        tell(tx, &known, message.as_ref())?;
        Ok::<_, RegistryError>(true)
    })?)
}

fn tell(tx: &mut dyn Transaction, test: &SpotTest, message: Option<&Prepared>) -> Result<(), RegistryError> {
    message.map_or(Ok(()), |message| message.insert(tx, test.institution, Some(test.item)))
}

/// The event of a test: what came out has passed the validator of bags, or not.
fn event_of(test: &SpotTest, failure: Option<&str>) -> EventRow {
    let (label, outcome) = match failure {
        None => ("spot test", "success"),
        Some(_) => ("failed spot test", "failure"),
    };
    EventRow {
        id: events::derived_id(test.id.0, label),
        institution: test.institution,
        object: Some(test.object),
        file: None,
        content: None,
        item: Some(test.item),
        version: None,
        kind: "validation".into(),
        components: None,
        time: 0,
        outcome: outcome.into(),
        detail: Some(format!("spot test of restoration, of version {}", test.version)),
        outcome_detail: Some(failure.unwrap_or("restored, and valid as a bag").to_owned()),
        store: None,
        agent: AGENT.into(),
        actor: None,
    }
}

/// The event of what a person has decided of a test.
pub(crate) fn event_of_decision(test: &SpotTest, time: Time) -> EventRow {
    let is_right = test.state == SpotTestState::Confirmed;
    let reason = test.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let said = if is_right { "the result is right" } else { "the result is not right" };
    EventRow {
        id: events::derived_id(test.id.0, "decision on a spot test"),
        time: time.0,
        outcome: if is_right { "success" } else { "failure" }.into(),
        detail: Some(format!("a person looked at what a spot test restored, of version {}", test.version)),
        outcome_detail: Some(format!("{said}{reason}")),
        ..event_of(test, None)
    }
}

fn mail_of_result(home: &Home, test: &SpotTest, result: &RestorationResult) -> Result<Option<Prepared>, EngineError> {
    let subject = format!("Strongroom: {}: please look at a restored object", test.institution_identifier);
    let end = "As a test, this object was restored. The bag is valid. Please look whether you can use what is in it.";
    mail(home, test, &subject, &of_result(home, test, result)?, &format!("{end} {}", commands(test)), "restored")
}

fn mail_of_reminder(home: &Home, test: &SpotTest, result: &RestorationResult) -> Result<Option<Prepared>, EngineError> {
    let subject = format!("Strongroom: {}: a restored object waits to be looked at", test.institution_identifier);
    let end = "As a test, this object was restored, and no person has said yet whether what is in the bag can be used.";
    mail(home, test, &subject, &of_result(home, test, result)?, &format!("{end} {}", commands(test)), "reminder")
}

fn mail_of_failure(home: &Home, test: &SpotTest, reason: &str) -> Result<Option<Prepared>, EngineError> {
    let subject = format!("Strongroom: warning: {}: an object could not be restored", test.institution_identifier);
    let mut lines = about(test);
    lines.push(("Reason", reason.to_owned()));
    let end = format!(
        "As a test, this object was to be restored, and that failed. \"strongroom items show {}\" shows why. When the work item is \
         requeued and succeeds, the test goes on. \"strongroom restore tests close {} --reason TEXT\" closes it.",
        test.item, test.id
    );
    mail(home, test, &subject, &lines, &end, "failed")
}

fn commands(test: &SpotTest) -> String {
    let id = test.id;
    format!(
        "Where it is right: \"strongroom restore tests confirm {id}\". Where it is not: \"strongroom restore tests reject {id} \
         --reason TEXT\"."
    )
}

fn about(test: &SpotTest) -> Vec<(&'static str, String)> {
    vec![
        ("Object", test.object_identifier.clone()),
        ("Version", test.version.to_string()),
        ("Spot test", test.id.to_string()),
    ]
}

fn of_result(
    home: &Home,
    test: &SpotTest,
    result: &RestorationResult,
) -> Result<Vec<(&'static str, String)>, EngineError> {
    let kept = home.registry.read(|tx| restored::of_item(tx, test.item))?;
    let mut lines = about(test);
    lines.push(("Place", result.place.clone()));
    lines.push(("Bytes", result.size.to_string()));
    lines.push(("SHA-256", result.sha256.clone()));
    lines.extend(kept.iter().find_map(|kept| kept.expires_at).map(|until| ("Stays until", until.to_string())));
    Ok(lines)
}

/// A mail to the admins of the institution; where it has none, to those of the installation.
fn mail(
    home: &Home,
    test: &SpotTest,
    subject: &str,
    lines: &[(&'static str, String)],
    end: &str,
    what: &str,
) -> Result<Option<Prepared>, EngineError> {
    if !home.settings.mail.is_set() {
        return Ok(None);
    }
    let admins = |scope: Scope, role: UserRole| {
        let wanted = UserFilter { role: Some(role), deactivated_too: false };
        home.registry.read(|tx| users::list(tx, scope, wanted, "", MOST_ADMINS))
    };
    let addresses = |users: Vec<User>| users.into_iter().map(|user| user.email).collect::<Vec<_>>();
    let mut to = addresses(admins(Scope::Institution(test.institution), UserRole::InstitutionAdmin)?);
    if to.is_empty() {
        to = addresses(admins(Scope::System, UserRole::SystemAdmin)?);
    }
    if to.is_empty() {
        to.clone_from(&home.settings.mail.admins);
    }
    let rows: Vec<String> = lines.iter().map(|(name, value)| format!("{:13} {value}", format!("{name}:"))).collect();
    let text = format!("{}\n\n{end}\n", rows.join("\n"));
    let mail = Mail { to, subject: subject.to_owned(), text, html: html_of(lines, end), ..Mail::default() };
    Ok(mail.prepare(&home.settings.mail, format!("spot test {} {what}", test.id)))
}

fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
