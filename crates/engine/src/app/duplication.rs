//! Duplication as people start and follow it: sweeps, what they found, and events of content items that others report.

use strongroom_queue::{Cursor, TaskState, TopicCounts, tasks};
use strongroom_registry::content_acts;
use strongroom_registry::sweeps::{self, Sweep};
use strongroom_registry::{
    ContentEventKind, RegistryError, RouteId, Scope, SweepId, Time, Transaction, content_events, duplicated_items,
    duplication_routes, schedules, tenants,
};
use strongroom_spaces::{SpaceName, why_not_carried};
use strongroom_storage::Key;
use uuid::Uuid;

use super::authorization::{
    DUPLICATION_ALLOW_DELETIONS, DUPLICATION_HISTORY, DUPLICATION_PROBLEMS, DUPLICATION_RECORD_EVENTS,
    DUPLICATION_RUNS, DUPLICATION_START,
};
use super::duplication_policies::begin;
use super::views::{
    ContentActView, EventProblemView, HeldDeletionView, RecordedEventsView, SweepPartView, SweepView, TroubledItemView,
    TroubledRules, WaitedSweepView,
};
use super::{Authorized, OpContext, Page, Shutdown, find_institution};
use crate::EngineError;
use crate::background::duplication::NAME;
use crate::duplication::{self as engine, NewEvent, sweep};
use crate::journal::Target;

/// Rows on a page.
const PAGE: usize = 200;
/// Institutions that a hint names.
const NAMED: usize = 5;
/// Events that are recorded in one transaction.
const EVENTS_AT_ONCE: usize = 500;
/// The most characters of a reason.
pub const LONGEST_REASON: usize = 1_000;

/// Starts a sweep of an institution; without a name, of the only one. Where one is at work, its parts that were set aside are tried now; whether
/// it is a new one.
///
/// # Errors
/// It has no policy, or a sweep of it is at work.
pub fn start(context: &OpContext, institution: Option<&str>, is_whole: bool) -> Result<(SweepView, bool), EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_START, institution)?;
    let home = authorized.home();
    let policy = engine::current(home, of.id)?.ok_or_else(|| {
        EngineError::Absent(format!("{} has no duplication policy", of.identifier)).next(format!(
            "\"strongroom duplicate policy set FILE --reason TEXT --institution {}\" sets one",
            of.identifier
        ))
    })?;
    let open = authorized.read(|tx| sweeps::open_of(tx, of.id))?.map(|open| view(&authorized, open)).transpose()?;
    if let Some(open) = open.filter(|open| open.open_parts > 0 && !is_whole) {
        let id = open.run.parse::<SweepId>().map_err(|error| EngineError::CheckFailed(error.to_string()))?;
        let target = Target::of(of.id, format!("sweep {id}"));
        authorized.write(move |tx| {
            sweeps::hasten(tx, id)?;
            Ok((target.clone(), ()))
        })?;
        hasten(&authorized)?;
        return Ok((open, false));
    }
    let actor = Some(authorized.actor().to_string());
    let target = Target::of(of.id, format!("{} {}", of.identifier, "sweep"));
    let begun = authorized.around(&target, |home| {
        sweep::begin(home, of.id, &policy, is_whole, actor)?.ok_or_else(|| {
            EngineError::Refused(format!("a sweep of {} is at work", of.identifier))
                .next(format!("\"strongroom duplicate run list --institution {}\" shows how far it is", of.identifier))
        })
    })?;
    hasten(&authorized)?;
    Ok((view(&authorized, begun)?, true))
}

/// Allows the deletions that wait for a person in a sweep: those that were recorded until now.
///
/// # Errors
/// There is no such sweep, or no deletion waits in it.
pub fn allow_deletions(context: &OpContext, run: &str) -> Result<SweepView, EngineError> {
    let authorized = context.authorize(&DUPLICATION_ALLOW_DELETIONS)?;
    let found = find(&authorized, run)?;
    let (id, target) = (found.id, Target::of(found.institution, format!("sweep {}", found.id)));
    let parts = authorized.write(move |tx| Ok((target.clone(), sweeps::allow_deletions(tx, id)?)))?;
    if parts == 0 {
        return Err(EngineError::Refused(format!("no deletion of sweep {run} waits for a person"))
            .next(format!("\"strongroom duplicate run show {run}\" shows its parts")));
    }
    hasten(&authorized)?;
    view(&authorized, found)
}

/// The sweeps of an institution, the newest first.
pub fn list(
    context: &OpContext,
    institution: Option<&str>,
    before: Option<u64>,
) -> Result<Page<SweepView, u64>, EngineError> {
    let (authorized, of) = begin(context, &DUPLICATION_RUNS, institution)?;
    let found = authorized.read(|tx| sweeps::list(tx, of.id, before, PAGE))?;
    let next = found.last().filter(|_| found.len() == PAGE).map(|last| last.number);
    let items = found.into_iter().map(|sweep| view(&authorized, sweep)).collect::<Result<_, _>>()?;
    Ok(Page { items, next })
}

/// A sweep.
///
/// # Errors
/// There is no such sweep.
pub fn show(context: &OpContext, run: &str) -> Result<SweepView, EngineError> {
    let authorized = context.authorize(&DUPLICATION_RUNS)?;
    let found = find(&authorized, run)?;
    view(&authorized, found)
}

/// The parts of a sweep.
///
/// # Errors
/// As [`show`].
pub fn parts(
    context: &OpContext,
    run: &str,
    after: Option<RouteId>,
) -> Result<Page<SweepPartView, RouteId>, EngineError> {
    let authorized = context.authorize(&DUPLICATION_RUNS)?;
    let found = find(&authorized, run)?;
    let after = after.unwrap_or(RouteId(Uuid::nil()));
    let parts = authorized.read(|tx| sweeps::parts(tx, found.id, after, PAGE))?;
    let next = parts.last().filter(|_| parts.len() == PAGE).map(|last| last.route.id);
    Ok(Page { items: parts.into_iter().map(SweepPartView::from).collect(), next })
}

/// Behind which deletion a page begins: its route, and its key.
pub type HeldCursor = (RouteId, String);

/// The deletions of a sweep that wait for a person: those that were recorded until it began, and not carried out.
///
/// # Errors
/// There is no such sweep.
pub fn held(
    context: &OpContext,
    run: &str,
    after: Option<HeldCursor>,
) -> Result<Page<HeldDeletionView, HeldCursor>, EngineError> {
    let authorized = context.authorize(&DUPLICATION_RUNS)?;
    let found = find(&authorized, run)?;
    let begin = after.unwrap_or((RouteId(Uuid::nil()), String::new()));
    let (items, next) = authorized.read(|tx| {
        let (mut route, mut key) = begin.clone();
        let mut items = Vec::new();
        let mut parts: Vec<_> = sweeps::part(tx, found.id, route)?.into_iter().collect();
        loop {
            for part in &parts {
                if part.route.id != route {
                    (route, key) = (part.route.id, String::new());
                }
                if part.held > 0 {
                    items.extend(held_of(tx, &part.route, (&key, found.started_at), PAGE - items.len())?);
                }
                if items.len() == PAGE {
                    let last = items.last().map(|last: &HeldDeletionView| (route, last.key.clone()));
                    return Ok::<_, RegistryError>((items, last));
                }
            }
            parts = sweeps::parts(tx, found.id, route, PAGE)?;
            if parts.is_empty() {
                return Ok((items, None));
            }
        }
    })?;
    Ok(Page { items, next })
}

/// Deletions in the source of a route, behind a key and up to a time, that were not carried out.
fn held_of(
    tx: &mut dyn Transaction,
    route: &duplication_routes::Route,
    reached: (&str, Time),
    limit: usize,
) -> Result<Vec<HeldDeletionView>, RegistryError> {
    let place = (route.source.as_str(), route.space.as_str());
    let mut found = Vec::new();
    for key in content_events::pending(tx, place, route.id, reached, limit)? {
        let Some(event) = content_events::get(tx, (place.0, place.1, &key))? else { continue };
        found.push(HeldDeletionView {
            space: route.space.clone(),
            key,
            source: route.source.clone(),
            destination: route.destination.clone(),
            happened_at: event.happened_at.to_string(),
            actor: event.actor,
            reason: event.reason,
        });
    }
    Ok(found)
}

/// Behind which problem a page begins.
#[derive(Debug, Clone)]
pub struct ProblemCursor(Place);

#[derive(Debug, Clone)]
enum Place {
    /// Behind a content item of a route.
    Item(RouteId, String),
    /// In the dead tasks of a topic, by its place in [`TOPICS`].
    Tasks(usize, Option<Cursor>),
}

/// The topics of duplication.
const TOPICS: [&str; 2] = [engine::HIGH, engine::LOW];

/// Content items that are lost, damaged or in conflict, and then those of which a task was given up, of the institutions that the caller sees.
pub fn problems(
    context: &OpContext,
    institution: Option<&str>,
    after: Option<ProblemCursor>,
) -> Result<Page<TroubledItemView, ProblemCursor>, EngineError> {
    let authorized = context.authorize(&DUPLICATION_PROBLEMS)?;
    let scope = authorized.scope_of(institution)?;
    let place = after.map_or_else(|| Place::Item(RouteId(Uuid::nil()), String::new()), |after| after.0);
    let (found, next) = match place {
        Place::Item(route, key) => {
            let found = authorized.read(|tx| duplicated_items::in_trouble(tx, scope, (route, &key), PAGE))?;
            let last = found.last().filter(|_| found.len() == PAGE);
            let next = last.map_or(Place::Tasks(0, None), |last| Place::Item(last.route.id, last.key.clone()));
            (found.into_iter().map(TroubledItemView::from).collect(), Some(next))
        }
        Place::Tasks(number, after) => given_up(&authorized, scope, number, after)?,
    };
    let rules = rules_of(&authorized, &found)?;
    let items = found.into_iter().map(|item: TroubledItemView| item.with_rule(&rules)).collect();
    Ok(Page { items, next: next.map(ProblemCursor) })
}

/// A page of the content items and spaces of which a task of a topic was given up.
fn given_up(
    authorized: &Authorized<'_>,
    scope: Scope,
    number: usize,
    after: Option<Cursor>,
) -> Result<(Vec<TroubledItemView>, Option<Place>), EngineError> {
    let Some(topic) = TOPICS.get(number) else { return Ok((Vec::new(), None)) };
    let page = authorized.read(|tx| {
        let page = tasks::list(tx, topic, TaskState::Dead, after, PAGE)?;
        let mut found = Vec::new();
        for task in &page.tasks {
            let Some((route, key)) = engine::subject_of(task) else { continue };
            let Some(route) = duplication_routes::get(tx, route)? else { continue };
            if matches!(scope, Scope::Institution(own) if own != route.institution) {
                continue;
            }
            let known = duplicated_items::get(tx, route.id, &key)?;
            found.push(TroubledItemView::given_up(route, key, task, known.as_ref()));
        }
        let next = page.next.map_or(Place::Tasks(number + 1, None), |next| Place::Tasks(number, Some(next)));
        Ok((found, Some(next)))
    })?;
    Ok(page)
}

/// By which rule of the newest policy each content item is copied, in words: by institution, source, destination and space.
fn rules_of(authorized: &Authorized<'_>, found: &[TroubledItemView]) -> Result<TroubledRules, EngineError> {
    let mut rules = TroubledRules::new();
    for item in found {
        let of = item.rule_of();
        if rules.contains_key(&of) {
            continue;
        }
        let institution = authorized.read(|tx| find_institution(tx, Scope::System, &item.institution))?;
        let words = match engine::current(authorized.home(), institution.id) {
            Ok(Some(policy)) => {
                let applied = policy.lookup().rules_for(&item.space);
                let is_copied = applied
                    .rules()
                    .iter()
                    .any(|rule| rule.source == item.source && rule.destination == item.destination);
                let but = if is_copied { "" } else { "no rule any more: " };
                format!("{but}{applied}, in version {}", policy.version)
            }
            Ok(None) => "no rule any more: there is no policy".to_owned(),
            Err(error @ EngineError::Registry(_)) => return Err(error),
            Err(error) => format!("not known: {}", error.chain()),
        };
        rules.insert(of, words);
    }
    Ok(rules)
}

/// An event that is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedEvent {
    /// `STORE/SPACE/KEY`, or `STORE/SPACE` for the space itself.
    pub item: String,
    /// Whether it was deleted; else it was put, replaced, or described anew.
    pub is_deletion: bool,
    /// When, by the clock of who reports it (RFC 3339); none: now.
    pub happened_at: Option<String>,
    /// What is to be said of it.
    pub reason: String,
}

/// Records events of content items, with the tasks that follow from them. An event that is known, or older than what is known, changes nothing.
///
/// # Errors
/// One of them names no plain store or no content item, or has no time; nothing of its page is recorded, and of those before it everything.
pub fn record_events(context: &OpContext, events: &[ReportedEvent]) -> Result<RecordedEventsView, EngineError> {
    let authorized = context.authorize(&DUPLICATION_RECORD_EVENTS)?;
    let actor = authorized.actor().to_string();
    let mut view = RecordedEventsView::default();
    for page in events.chunks(EVENTS_AT_ONCE) {
        let new = page.iter().map(|event| new_event(event, &actor)).collect::<Result<Vec<_>, _>>()?;
        let name = match page {
            [one] => one.item.clone(),
            several => format!("{} events of content items", several.len()),
        };
        let recorded = authorized.around(&Target::of_system(name), |home| engine::record(home, &new))?;
        view.recorded += recorded.recorded;
        view.known += recorded.known;
        view.tasks += recorded.tasks;
        view.without_rule += recorded.without_rule;
        view.unknown += recorded.unknown;
    }
    Ok(view)
}

/// Whether each of these events can be recorded: none where it can, else why not. Nothing is recorded.
pub fn check_events(
    context: &OpContext,
    events: &[ReportedEvent],
) -> Result<Vec<Option<EventProblemView>>, EngineError> {
    let authorized = context.authorize(&DUPLICATION_RECORD_EVENTS)?;
    let (home, actor) = (authorized.home(), authorized.actor().to_string());
    let now = authorized.read(|tx| Ok(tx.now()?))?;
    let check = |event: &ReportedEvent| new_event(event, &actor).and_then(|new| engine::check_event(home, &new, now));
    Ok(events.iter().map(|event| check(event).err().map(EventProblemView::from)).collect())
}

/// The acts on a content item in a store, or with `STORE/SPACE` on a space, the oldest first: those within the caller's scope.
///
/// # Errors
/// The text names no content item.
pub fn history(
    context: &OpContext,
    item: &str,
    institution: Option<&str>,
    after: Option<u64>,
) -> Result<Page<ContentActView, u64>, EngineError> {
    let authorized = context.authorize(&DUPLICATION_HISTORY)?;
    let scope = authorized.scope_of(institution)?;
    let (store, space, key) = place_of(item)?;
    let key = key.map(|key| key.to_string()).unwrap_or_default();
    let place = (store.as_str(), space.as_str(), key.as_str());
    let found = authorized.read(|tx| content_acts::of_item(tx, scope, place, after.unwrap_or_default(), PAGE))?;
    let next = found.last().filter(|_| found.len() == PAGE).map(|last| last.id);
    Ok(Page { items: found.into_iter().map(ContentActView::from).collect(), next })
}

/// What `STORE/SPACE/KEY`, or `STORE/SPACE` names.
fn place_of(item: &str) -> Result<(String, SpaceName, Option<Key>), EngineError> {
    let refused = |reason: String| {
        EngineError::Usage(format!("{item:?} names no content item: {reason}"))
            .next("give STORE/SPACE/KEY, with the key as it is (\"strongroom space items\" shows % as %25)")
    };
    let mut segments = item.splitn(3, '/');
    let (Some(store), Some(space)) = (segments.next(), segments.next()) else {
        return Err(refused("it has no space".to_owned()));
    };
    let space = SpaceName::new(space).map_err(|error| refused(error.to_string()))?;
    let key = segments.next().map(|key| Key::new(key).map_err(|error| refused(error.to_string()))).transpose()?;
    if let Some(reason) = key.as_ref().and_then(why_not_carried) {
        return Err(refused(format!("the key {reason}")));
    }
    Ok((store.to_owned(), space, key))
}

fn new_event(event: &ReportedEvent, actor: &str) -> Result<NewEvent, EngineError> {
    let (store, space, key) = place_of(&event.item)?;
    if event.reason.chars().count() > LONGEST_REASON {
        return Err(
            EngineError::Usage(format!("the reason has more than {LONGEST_REASON} characters")).next("shorten it")
        );
    }
    let time = |text: &String| {
        text.parse::<jiff::Timestamp>().map(Time::from).map_err(|error| {
            EngineError::Usage(format!("{text:?} is no time: {error}"))
                .next("write it as RFC 3339 has it, such as 2026-11-28T12:00:00Z")
        })
    };
    Ok(NewEvent {
        store,
        space,
        key,
        kind: if event.is_deletion { ContentEventKind::Delete } else { ContentEventKind::Put },
        happened_at: event.happened_at.as_ref().map(time).transpose()?,
        actor: actor.to_owned(),
        reason: event.reason.clone(),
    })
}

/// Works on a sweep and its tasks in this process until nothing of it is left to do, or what is left waits for a person or for later.
///
/// # Errors
/// There is no such sweep; the registry failed.
pub fn wait(context: &OpContext, run: &str, stop: &Shutdown) -> Result<WaitedSweepView, EngineError> {
    let authorized = context.authorize(&DUPLICATION_START)?;
    let found = find(&authorized, run)?;
    let target = Target::of(found.institution, format!("sweep {}", found.id));
    let home = authorized.home();
    authorized.around(&target, |_| sweep::work_on(home, &found, stop))?;
    let counts = authorized.read(|tx| tasks::counts(tx).map_err(RegistryError::from))?;
    let of = counts.iter().filter(|topic| [engine::HIGH, engine::LOW].contains(&topic.topic.as_str()));
    // Those of a topic that is paused wait until it is resumed.
    let waiting = |topic: &TopicCounts| topic.delayed + if topic.paused { topic.ready } else { 0 };
    let (later, dead) = of.fold((0, 0), |(later, dead), topic| (later + waiting(topic), dead + topic.dead));
    let place = (RouteId(Uuid::nil()), String::new());
    let scope = Scope::Institution(found.institution);
    let troubled = authorized.read(|tx| duplicated_items::in_trouble(tx, scope, (place.0, &place.1), 1))?;
    Ok(WaitedSweepView { sweep: view(&authorized, found)?, later, dead, has_problems: !troubled.is_empty() })
}

fn hasten(authorized: &Authorized<'_>) -> Result<(), EngineError> {
    Ok(authorized.home().registry.write(|tx| schedules::hasten(tx, NAME))?)
}

fn find(authorized: &Authorized<'_>, run: &str) -> Result<Sweep, EngineError> {
    let scope = authorized.scope();
    match authorized.named::<SweepId>(run) {
        Ok(id) => {
            if let Some(found) = authorized.read(|tx| sweeps::get(tx, id))? {
                return Ok(found);
            }
        }
        Err(EngineError::Registry(RegistryError::NotFound { .. })) => {}
        Err(error) => return Err(error),
    }
    let institutions = authorized.read(|tx| {
        let ids = match scope {
            Scope::System => sweeps::institutions(tx)?,
            Scope::Institution(own) => vec![own],
        };
        ids.into_iter()
            .take(NAMED)
            .map(|id| tenants::institution_by_id(tx, Scope::System, id))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let commands: Vec<String> = institutions
        .into_iter()
        .flatten()
        .map(|of| format!("\"strongroom duplicate run list --institution {}\"", of.identifier))
        .collect();
    let next = match commands.as_slice() {
        [] => "no institution has a duplication policy, so there was no sweep".to_owned(),
        commands => format!("the sweeps are listed by {}", commands.join(", ")),
    };
    Err(EngineError::from(RegistryError::NotFound { what: "sweep", id: run.to_owned() }).next(next))
}

fn view(authorized: &Authorized<'_>, sweep: Sweep) -> Result<SweepView, EngineError> {
    let (newest, totals) = authorized.read(|tx| Ok((sweeps::get(tx, sweep.id)?, sweeps::totals(tx, sweep.id)?)))?;
    Ok(SweepView::new(newest.unwrap_or(sweep), totals))
}
