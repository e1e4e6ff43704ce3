//! Reports of batches: one for each time a batch ends, true of that moment, whoever writes it and whenever.

use std::collections::HashSet;
use std::sync::Arc;

use strongroom_queue::{LeaseRequest, Outcome, Settlement, TaskState, tasks};
use strongroom_registry::batches::NewBatch;
use strongroom_registry::items::{ItemProblem, NewItem, Request};
use strongroom_registry::notifications::{self, Notifications};
use strongroom_registry::reports::{self, EndedItem, Report, ReportRow, RowFilter, Subject as About};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{
    BatchId, BatchState, ItemId, ItemStatus, MailKind, RegistryError, ReportId, ReportKind, Scope, Stage, Time,
    batches, provisional_reports, retention,
    tenants::{self, CollectionRules},
};

use super::world::*;

/// More items than one statement lists.
const LONG: usize = 1_005;

fn receive() -> Stage {
    Stage::named("receive")
}

fn all(world: &World<'_>, batch: BatchId) -> Vec<Report> {
    world.read(|tx| reports::list(tx, Scope::System, batch, 0, 99))
}

fn rows(world: &World<'_>, report: ReportId, filter: RowFilter) -> Vec<ReportRow> {
    world.read(|tx| reports::rows(tx, report, filter, None, 9_999))
}

fn every(world: &World<'_>, report: ReportId) -> Vec<ReportRow> {
    rows(world, report, RowFilter::default())
}

fn ask(world: &World<'_>, batch: BatchId, request: Request) -> Vec<String> {
    world.ask_batch(batch, request).expect("is asked").topics
}

fn make(world: &World<'_>, batch: BatchId) -> Result<ReportId, RegistryError> {
    world.registry.write(move |tx| {
        let batch = batches::get(tx, Scope::System, batch)?.expect("is there");
        Ok(reports::make(tx, &batch, "a person")?.report)
    })
}

/// The tasks that wait to finish and tell something.
fn waiting(world: &World<'_>) -> Vec<About> {
    let list = world.read(|tx| Ok(tasks::list(tx, reports::TOPIC, TaskState::Ready, None, 100)?));
    list.tasks.iter().map(|task| task.key.parse().expect("names a subject")).collect()
}

fn end_next(world: &World<'_>, end: &StageEnd) -> ItemId {
    let (claim, item) = world.claim(receive());
    world.finish(&claim, end);
    item.id
}

fn invalid() -> StageEnd {
    let problem = |code: &str, severity: &str| ItemProblem {
        severity: severity.to_owned(),
        code: code.to_owned(),
        file: None,
        path: None,
        line: None,
        message: "it is not as it should be".to_owned(),
    };
    StageEnd::Invalid {
        note: "the bag is not valid".to_owned(),
        problems: vec![problem("tag.unknown", "warning"), problem("manifest.digest_mismatch", "error")],
    }
}

pub(crate) fn a_batch_that_ends_has_one_report_that_says_what_came_of_each_item(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    let done = end_next(&world, &succeeded());
    assert_eq!(all(&world, batch), []);
    let failed = end_next(&world, &invalid());
    let cancelled = *ids.iter().find(|id| **id != done && **id != failed).expect("a third");
    let at = world.now();
    world.ask(cancelled, Request::Cancel).expect("is cancelled");
    let reports = all(&world, batch);
    let [report] = reports.as_slice() else { panic!("one report: {reports:#?}") };
    assert_eq!((report.number, report.kind, report.batch_state), (1, ReportKind::Final, BatchState::Failed));
    assert_eq!((report.items, report.succeeded, report.failed, report.cancelled), (3, 1, 1, 1));
    assert_eq!((report.held, report.at_work, report.deleted, report.unresolved(), report.changed), (0, 0, 0, 2, 3));
    assert!(report.made_at >= at && report.made_by.is_none() && report.is_filled);
    let rows = every(&world, report.id);
    assert_eq!(rows.iter().map(|row| row.row).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    assert_eq!(rows.iter().map(|row| row.item).collect::<Vec<_>>(), ids);
    let of = |id: ItemId| rows.iter().find(|row| row.item == id).expect("a row");
    assert_eq!((of(done).state, of(done).is_unresolved()), (ItemStatus::Succeeded, false));
    assert_eq!(
        (of(cancelled).state, of(cancelled).message.as_deref()),
        (ItemStatus::Cancelled, Some("cancelled by a person"))
    );
    let row = of(failed);
    assert_eq!((row.state, row.code.as_deref()), (ItemStatus::Failed, Some("manifest.digest_mismatch")));
    assert_eq!((row.message.as_deref(), row.stage), (Some("the bag is not valid"), receive()));
    assert!(row.object_identifier.starts_with("example.edu/bag-") && row.name.starts_with("bag-") && row.is_changed);
    assert_eq!(waiting(&world), []);
    let untold = world.read(|tx| reports::untold(tx, None, 9));
    let untold: Vec<_> = untold.into_iter().map(|untold| untold.report).collect();
    assert_eq!(untold, [report.id], "those who run the installation may hear of what failed");
}

pub(crate) fn an_update_says_what_changed_and_what_is_unresolved(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(4);
    end_next(&world, &succeeded());
    let failed = [end_next(&world, &fatal()), end_next(&world, &fatal()), end_next(&world, &fatal())];
    world.ask(failed[0], Request::Requeue(None)).expect("begins again");
    assert_eq!(all(&world, batch).len(), 1);
    // A provisional report is no report: what it says is still news.
    make(&world, batch).expect("is made");
    end_next(&world, &succeeded());
    world.ask(failed[1], Request::Delete).expect("is put away");
    let reports = all(&world, batch);
    assert_eq!(
        reports.iter().map(|report| report.kind).collect::<Vec<_>>(),
        [ReportKind::Final, ReportKind::Provisional, ReportKind::Update]
    );
    let update = &reports[2];
    assert_eq!((update.succeeded, update.failed, update.changed, update.unresolved()), (2, 2, 1, 2));
    let changed = rows(&world, update.id, RowFilter { changed: true, unresolved: false });
    assert_eq!(
        changed.iter().map(|row| (row.item, row.state)).collect::<Vec<_>>(),
        [(failed[0], ItemStatus::Succeeded)]
    );
    let unresolved = rows(&world, update.id, RowFilter { changed: false, unresolved: true });
    assert_eq!(unresolved.iter().map(|row| row.item).collect::<Vec<_>>(), failed[1..]);
    assert_eq!(every(&world, update.id).len(), 3, "what succeeded before is not repeated");
    for row in every(&world, update.id) {
        let place = ids.iter().position(|id| *id == row.item).expect("is of the batch") as u64 + 1;
        assert_eq!(row.row, Some(place), "a row keeps its number");
    }
    // What a person did since then is in the next one.
    let asked = make(&world, batch).expect("is made");
    let rows = every(&world, asked);
    let told: Vec<_> = rows.iter().map(|row| (row.item, row.state, row.is_changed)).collect();
    assert_eq!(told, [(failed[1], ItemStatus::Deleted, true), (failed[2], ItemStatus::Failed, false)]);
    let report = world.read(|tx| reports::get(tx, asked));
    assert_eq!((report.number, report.kind, report.made_by.as_deref()), (4, ReportKind::Update, Some("a person")));
    assert_eq!((report.deleted, report.unresolved()), (1, 1));
}

pub(crate) fn an_update_in_which_nothing_changed_says_so(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(1);
    end_next(&world, &fatal());
    let refused = make(&world, batch).expect_err("nothing changed");
    assert!(matches!(&refused, RegistryError::State { .. }) && refused.to_string().contains("nothing"), "{refused}");
    assert_eq!(all(&world, batch).len(), 1);
    world.ask(ids[0], Request::Requeue(None)).expect("begins again");
    end_next(&world, &fatal());
    let reports = all(&world, batch);
    let update = reports.last().expect("an update");
    assert_eq!((reports.len(), update.kind, update.changed, update.unresolved()), (2, ReportKind::Update, 0, 1));
    assert_eq!(every(&world, update.id).len(), 1, "what is unresolved is in each");
}

pub(crate) fn a_report_of_an_open_batch_is_provisional_and_takes_the_place_of_the_one_before(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    end_next(&world, &succeeded());
    let first = make(&world, batch).expect("is made");
    assert_eq!(every(&world, first).len(), 3);
    let (claim, item) = world.claim(receive());
    world.finish(&claim, &StageEnd::Held { note: "look".into() });
    let second = make(&world, batch).expect("is made");
    let reports = all(&world, batch);
    let [report] = reports.as_slice() else { panic!("one report: {reports:#?}") };
    assert_eq!((report.id, report.number, report.kind), (second, 2, ReportKind::Provisional));
    assert_eq!((report.succeeded, report.held, report.at_work, report.unresolved()), (1, 1, 1, 2));
    let held = every(&world, second).into_iter().find(|row| row.item == item.id).expect("a row");
    assert_eq!((held.state, held.is_unresolved()), (ItemStatus::Held, true));
    assert_eq!(every(&world, first), []);
    assert!(world.read(|tx| reports::last(tx, batch)).is_none());
    for id in ids {
        if !world.find(id).status.is_ended() {
            world.ask(id, Request::Cancel).expect("is cancelled");
        }
    }
    let last = world.read(|tx| reports::last(tx, batch)).expect("the batch has ended");
    assert_eq!((last.number, last.kind), (3, ReportKind::Final));
}

pub(crate) fn a_long_report_says_what_was_true_when_the_batch_ended_whatever_happens_before_it_is_written(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(150);
    assert_eq!(ask(&world, batch, Request::Cancel), [reports::TOPIC, "ingest.sweep"]);
    let report = all(&world, batch).pop().expect("a report");
    assert_eq!((report.is_filled, report.completed_at, report.cancelled), (false, None, 150));
    assert_eq!(every(&world, report.id).len(), 0);
    world.ask(ids[7], Request::Requeue(None)).expect("begins again");
    world.ask(ids[9], Request::Delete).expect("is put away");
    let told = every(&world, report.id);
    assert_eq!(told.len(), 150);
    assert!(told.iter().all(|row| row.state == ItemStatus::Cancelled));
    let id = report.id;
    assert!(world.write(move |tx| reports::fill(tx, id, 1)));
    assert_eq!(every(&world, report.id), told, "a report does not change");
    end_next(&world, &succeeded());
    let update = all(&world, batch).pop().expect("an update");
    let id = update.id;
    assert!(world.write(move |tx| reports::fill(tx, id, 99)));
    let changed = rows(&world, update.id, RowFilter { changed: true, unresolved: false });
    let expected = [(ids[7], ItemStatus::Succeeded, Some(8)), (ids[9], ItemStatus::Deleted, Some(10))];
    assert_eq!(changed.iter().map(|row| (row.item, row.state, row.row)).collect::<Vec<_>>(), expected);
    assert_eq!(every(&world, update.id).len(), 150);
}

/// A batch of more items than one statement lists.
fn long_batch(world: &World<'_>) -> (BatchId, Vec<ItemId>) {
    let (id, institution, count) = (BatchId::new(), world.ours, LONG);
    let items: Vec<NewItem> =
        (0..count).map(|number| NewItem { batch: Some(id), ..world.new_item(&format!("bag-{number}")) }).collect();
    let ids: Vec<ItemId> = items.iter().map(|item| item.id).collect();
    world.write(move |tx| {
        batches::create(tx, &new_batch(id, institution, Some(count as u64)))?;
        strongroom_registry::items::create_all(tx, &Table, &mut items.iter().cloned())
    });
    (id, ids)
}

pub(crate) fn a_long_report_is_written_in_pages_by_any_number_of_workers(subject: &dyn Subject) {
    let world = World::new(subject);
    let (id, ids) = long_batch(&world);
    ask(&world, id, Request::Cancel);
    let report = all(&world, id).pop().expect("a report").id;
    assert!(!world.write(move |tx| reports::fill(tx, report, 1)), "there is a second page");
    assert!(world.write(move |tx| reports::fill(tx, report, 1)));
    assert!(world.write(move |tx| reports::fill(tx, report, 1)), "another worker finds nothing to do");
    let rows = every(&world, report);
    assert_eq!(rows.iter().map(|row| row.item).collect::<Vec<_>>(), ids);
    assert!(rows.iter().zip(1..).all(|(row, number)| row.row == Some(number)));
}

pub(crate) fn a_request_waits_for_a_report_that_lacks_more_than_a_page(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = long_batch(&world);
    ask(&world, batch, Request::Cancel);
    let report = all(&world, batch).pop().expect("a report").id;
    for request in [Request::Requeue(None), Request::Delete] {
        let refused = world.ask(ids[3], request).expect_err("its transaction would be as long as the report");
        assert!(matches!(refused, RegistryError::ReportUnwritten { report: named } if named == report), "{refused}");
    }
    assert!(matches!(make(&world, batch), Err(RegistryError::ReportUnwritten { .. })));
    assert_eq!((every(&world, report), world.find(ids[3]).status), (vec![], ItemStatus::Cancelled));
    assert!(!world.write(move |tx| reports::fill(tx, report, 1)));
    world.ask(ids[3], Request::Requeue(None)).expect("a page is left");
    let rows = every(&world, report);
    assert!(rows.len() == LONG && rows.iter().all(|row| row.state == ItemStatus::Cancelled));
}

pub(crate) fn a_long_update_that_a_person_asks_for_is_written_in_pages(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = long_batch(&world);
    ask(&world, batch, Request::Cancel);
    let first = all(&world, batch).pop().expect("a report").id;
    assert!(world.write(move |tx| reports::fill(tx, first, 9)));
    let has_news = || {
        let mut after = None;
        loop {
            let (is_changed, last) = world.read(|tx| reports::is_changed_in_page(tx, batch, after));
            if is_changed || last.is_none() {
                return is_changed;
            }
            after = last;
        }
    };
    assert!(!has_news());
    world.ask(ids[LONG - 2], Request::Delete).expect("is put away");
    assert!(has_news());
    let made = world.write(move |tx| {
        let batch = batches::get(tx, Scope::System, batch)?.expect("is there");
        reports::make(tx, &batch, "a person")
    });
    assert!(!made.is_filled && made.topics == [reports::TOPIC], "{made:?}");
    // What a person does meanwhile is behind it.
    assert!(world.ask(ids[0], Request::Delete).is_ok(), "a page is left");
    let id = made.report;
    assert!(world.write(move |tx| reports::fill(tx, id, 1)));
    let report = world.read(|tx| reports::get(tx, id));
    assert_eq!((report.kind, report.changed, report.deleted), (ReportKind::Update, 1, 1));
    let changed = rows(&world, id, RowFilter { changed: true, unresolved: false });
    let changed: Vec<_> = changed.iter().map(|row| (row.item, row.row)).collect();
    assert_eq!(changed, [(ids[LONG - 2], Some(LONG as u64 - 1))]);
    assert_eq!(every(&world, id).len(), LONG);
}

/// The provisional report of a long batch as it is now, and what it says.
fn provisional(world: &World<'_>, batch: BatchId) -> (provisional_reports::Snapshot, Vec<ReportRow>) {
    let mut rows = Vec::new();
    let taken = world.read(|tx| {
        rows.clear();
        provisional_reports::read(tx, batch, |row| {
            rows.push(row.clone());
            Ok::<_, RegistryError>(())
        })
    });
    (taken.expect("it is open"), rows)
}

fn begin(world: &World<'_>, batch: BatchId, snapshot: &provisional_reports::Snapshot) -> Option<ReportId> {
    let snapshot = snapshot.clone();
    world.write(move |tx| {
        let batch = batches::get(tx, Scope::System, batch)?.expect("is there");
        provisional_reports::begin(tx, &batch, "a person", &snapshot)
    })
}

fn put(world: &World<'_>, report: ReportId, rows: &[ReportRow]) {
    let rows = rows.to_vec();
    world.write(move |tx| provisional_reports::put(tx, report, &rows));
}

fn abandoned(world: &World<'_>) -> Option<ReportId> {
    world.read(|tx| {
        let before = tx.now()?.plus(-3_600_000_000);
        provisional_reports::next_abandoned(tx, before)
    })
}

pub(crate) fn a_long_provisional_report_says_what_was_true_at_one_moment_and_is_shown_when_it_is_whole(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let (batch, ids) = long_batch(&world);
    assert!(matches!(make(&world, batch), Err(RegistryError::ReportTooLong { .. })));
    end_next(&world, &invalid());
    let (snapshot, told) = provisional(&world, batch);
    assert_eq!(told.iter().map(|row| row.item).collect::<Vec<_>>(), ids);
    assert!(told.iter().zip(1..).all(|(row, number)| row.row == Some(number) && row.is_changed));
    let first = begin(&world, batch, &snapshot).expect("it is open");
    // Half of it is written when more happens, and what it says stays the same.
    put(&world, first, &told[..1_000]);
    end_next(&world, &succeeded());
    assert_eq!((all(&world, batch), world.read(|tx| reports::untold(tx, None, 9))), (vec![], vec![]));
    put(&world, first, &told);
    world.write(move |tx| provisional_reports::end(tx, first));
    let report = all(&world, batch).pop().expect("a report");
    assert_eq!((report.id, report.number, report.kind), (first, 1, ReportKind::Provisional));
    assert_eq!((report.failed, report.succeeded, report.at_work, report.items), (1, 0, LONG as u64 - 1, LONG as u64));
    assert_eq!((report.made_by.as_deref(), report.is_filled), (Some("a person"), true));
    assert_eq!(every(&world, first), told);
    // The next one takes its place; its rows go page by page.
    let (snapshot, told) = provisional(&world, batch);
    let second = begin(&world, batch, &snapshot).expect("it is open");
    put(&world, second, &told);
    assert_eq!((all(&world, batch).len(), abandoned(&world)), (1, None));
    world.write(move |tx| provisional_reports::end(tx, second));
    assert_eq!(all(&world, batch).iter().map(|report| report.id).collect::<Vec<_>>(), [second]);
    assert_eq!(abandoned(&world), Some(first));
    assert!(!world.write(move |tx| provisional_reports::drop_page(tx, first)));
    assert!(world.write(move |tx| provisional_reports::drop_page(tx, first)));
    assert_eq!((abandoned(&world), every(&world, first)), (None, vec![]));
    // One that nobody goes on writing is abandoned some time later, and none is begun when the batch has ended.
    let left = begin(&world, batch, &snapshot).expect("it is open");
    assert_eq!(abandoned(&world), None);
    subject.advance(LEASE * 120);
    assert_eq!(abandoned(&world), Some(left));
    ask(&world, batch, Request::Cancel);
    assert_eq!(begin(&world, batch, &snapshot), None);
    let last = world.read(|tx| reports::last(tx, batch)).expect("it has ended");
    assert_eq!(last.kind, ReportKind::Final);
}

pub(crate) fn a_batch_that_is_held_or_deleted_has_no_report(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(2);
    end_next(&world, &succeeded());
    ask(&world, batch, Request::Hold);
    let batch_now = world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there");
    assert_eq!((batch_now.state, all(&world, batch)), (BatchState::Held, vec![]));
    ask(&world, batch, Request::Delete);
    assert!(ids.iter().all(|id| world.find(*id).status == ItemStatus::Deleted));
    assert_eq!(all(&world, batch), []);
    assert!(matches!(make(&world, batch).expect_err("it was deleted"), RegistryError::State { .. }));
}

pub(crate) fn what_is_told_is_enqueued_where_a_collection_has_it_told_and_only_there(subject: &dyn Subject) {
    let world = World::new(subject);
    let quiet = |world: &World<'_>| {
        let (id, institution, collection) = (BatchId::new(), world.ours, world.collection);
        world.write(move |tx| {
            batches::create(tx, &NewBatch { collection: Some(collection), ..new_batch(id, institution, Some(1)) })
        });
        let item = world.make(&NewItem { batch: Some(id), ..world.new_item(&format!("bag-{id}")) });
        (id, item)
    };
    let (silent, _) = quiet(&world);
    end_next(&world, &succeeded());
    assert_eq!(waiting(&world), []);
    let report = all(&world, silent).pop().expect("a report");
    assert!(report.is_filled && report.completed_at.is_some(), "nothing is left to be done");
    assert_eq!(every(&world, report.id).len(), 1);
    let collection = world.collection;
    let listeners = Notifications {
        addresses: vec!["ann@example.edu".into()],
        suppressed: vec![MailKind::Queued],
        callback_url: Some("https://hooks.example.edu/".into()),
        is_callback_required: false,
    };
    let told_by = |notifications: &Notifications| {
        let rules = CollectionRules { notifications: notifications.clone(), ..CollectionRules::default() };
        world.write(move |tx| tenants::set_collection(tx, collection, (&rules, "a person"), true));
    };
    told_by(&listeners);
    let (told, item) = quiet(&world);
    assert_eq!(world.read(|tx| notifications::of_batch(tx, told)), listeners);
    assert_eq!(listeners.recipients(MailKind::Queued), [""; 0]);
    assert_eq!(listeners.recipients(MailKind::Done), ["ann@example.edu"]);
    assert_eq!(waiting(&world), [About::Queued(told)]);
    end_next(&world, &invalid());
    let report = all(&world, told).pop().expect("a report");
    let ended_at = world.find(item).updated_at;
    let mut all_waiting = waiting(&world);
    all_waiting.sort_by_key(ToString::to_string);
    assert_eq!(all_waiting, [About::Item(item, ended_at), About::Queued(told), About::Report(report.id)]);
    let key = About::Item(item, ended_at).to_string();
    let request = LeaseRequest {
        topics: vec![reports::TOPIC.to_owned()],
        keys: Some(Arc::new(HashSet::from([key]))),
        limit: 9,
        holder: holder(1),
        duration: LEASE,
    };
    let leased = world.write(move |tx| Ok(tasks::lease(tx, &request)?));
    let [task] = leased.as_slice() else { panic!("one task: {leased:?}") };
    let ended: EndedItem = serde_json::from_slice(&task.payload).expect("how it ended");
    assert_eq!((ended.status, ended.message.as_deref()), (ItemStatus::Failed, Some("the bag is not valid")));
    told_by(&Notifications::default());
    assert_eq!(world.read(|tx| notifications::of_batch(tx, told)), listeners, "it keeps those that it began with");
    world.write(move |tx| batches::take_new_rules(tx, told).map(drop));
    assert_eq!(world.read(|tx| notifications::of_batch(tx, told)), Notifications::default());
}

pub(crate) fn i03_messages_of_a_report_are_recorded_once(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(1);
    end_next(&world, &fatal());
    let report = all(&world, batch).pop().expect("a report").id;
    assert!(world.write(move |tx| reports::complete(tx, report)));
    assert!(!world.write(move |tx| reports::complete(tx, report)), "another worker was first");
}

/// Its state and its reports follow from all of them.
pub(crate) fn the_items_of_a_batch_end_together_and_not_while_one_is_to_be_reviewed(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(2);
    let failed = end_next(&world, &fatal());
    let cancelled = *ids.iter().find(|id| **id != failed).expect("another");
    world.ask(cancelled, Request::Cancel).expect("is cancelled");
    do_sweeps(&world);
    let drop_all = || {
        let later = Time(world.now().0 + 1_000_000);
        world.write(move |tx| retention::drop_items(tx, later, None)).0
    };
    assert_eq!(drop_all(), 0, "a person has to review the one that failed");
    world.ask(failed, Request::Requeue(None)).expect("begins again");
    assert_eq!(drop_all(), 0, "its batch is open again");
    end_next(&world, &succeeded());
    let state = world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there").state;
    assert_eq!(state, BatchState::Failed, "one was cancelled");
    assert_eq!(drop_all(), 0, "its reports are not told");
    tell_all(&world);
    assert_eq!(drop_all(), 2);
    assert!(world.read(|tx| batches::get(tx, Scope::System, batch)).is_none());
}

/// Every report is told.
pub(crate) fn tell_all(world: &World<'_>) {
    for untold in world.read(|tx| reports::untold(tx, None, 99)) {
        assert!(world.write(move |tx| reports::complete(tx, untold.report)));
    }
}

/// What ended items left behind is cleared.
fn do_sweeps(world: &World<'_>) {
    let topics = vec![strongroom_registry::work::SWEEP_TOPIC.to_owned()];
    let request = LeaseRequest { topics, keys: None, limit: 99, holder: holder(2), duration: LEASE };
    world.write(move |tx| {
        let done = |lease| Settlement { lease, outcome: Outcome::Done };
        let all: Vec<Settlement> = tasks::lease(tx, &request)?.iter().map(|task| done(task.lease)).collect();
        tasks::settle(tx, &all)?;
        Ok(())
    });
}

pub(crate) fn reports_end_with_their_batch(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(2);
    end_next(&world, &succeeded());
    end_next(&world, &succeeded());
    let report = all(&world, batch).pop().expect("a report").id;
    tell_all(&world);
    let later = Time(world.now().0 + 1_000_000);
    let (dropped, _) = world.write(move |tx| retention::drop_items(tx, later, None));
    assert_eq!(dropped, 2);
    assert_eq!((all(&world, batch), every(&world, report)), (vec![], vec![]));
    assert!(world.read(|tx| batches::get(tx, Scope::System, batch)).is_none());
}
