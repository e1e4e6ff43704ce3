//! The cases against PostgreSQL, and what concerns this engine alone: its statements, their plans, that it keeps step with the
//! other dialect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{Isolation, ManualClock, Postgres, PostgresSettings, Statement, Time, Transaction};
use strongroom_queue::LeaseRequest;
use strongroom_registry::items::{self, ItemFilter, NewItem};
use strongroom_registry::work::{self, Claim, HeartbeatOutcome, StageEnd};
use strongroom_registry::{
    Action, BatchId, BatchState, InstitutionId, ItemStatus, Registry, RegistryError, Scope, Stage, batches, placements,
    schema, tenants,
};

use super::conformance_suite;
use super::placements::{compare, kept, marked};
use super::sqlite::{self, may_scan};
use super::together;
use super::world::{INGEST, Subject, Table, World, holder, new_batch, next, topic};

struct PostgresSubject {
    registry: Registry,
    clock: Arc<ManualClock>,
    scratch: Scratch,
}

fn fresh() -> Option<PostgresSubject> {
    let scratch = Scratch::new()?;
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let settings = PostgresSettings { clock: Some(clock.clone()), ..PostgresSettings::default() };
    let registry = Registry::within(Arc::new(open(&scratch, settings)));
    Some(PostgresSubject { registry, clock, scratch })
}

fn open(scratch: &Scratch, settings: PostgresSettings) -> Postgres {
    let strongroom_database::Schema { statements, migrations } = schema("postgres");
    Postgres::open(&scratch.url(), settings, statements, &migrations).expect("opens")
}

impl Subject for PostgresSubject {
    fn registry(&self) -> Registry {
        self.registry.clone()
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by.as_micros() as i64);
    }

    fn set_back(&self, by: Duration) {
        self.clock.advance(-(by.as_micros() as i64));
    }
}

conformance_suite!(fresh);

#[test]
fn every_statement_fits_the_schema() {
    let Some(scratch) = Scratch::new() else { return };
    open(&scratch, PostgresSettings::default()).check_statements().expect("all fit");
}

/// A name that two columns have finds neither.
#[test]
fn every_statement_answers_the_same_columns_in_both_dialects_each_with_a_name_of_its_own() {
    let Some(scratch) = Scratch::new() else { return };
    let columns = open(&scratch, PostgresSettings::default()).check_statements().expect("all fit");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let in_file = sqlite::open(folder.path()).check_statements().expect("all fit");
    for (statement, names) in &in_file {
        match columns[statement].split_first() {
            // Which value list a row answers stands before what is read. SQLite runs such a statement once for each list,
            // and it may be one that answers nothing there.
            Some((place, rest)) if place == "place" => assert!(names.is_empty() || names == rest, "{statement}"),
            _ => assert_eq!(&columns[statement], names, "{statement}"),
        }
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{statement}: {names:?}");
    }
}

#[test]
fn both_dialects_hold_the_same_statements_and_versions() {
    let names = |dialect| schema(dialect).statements.names().collect::<BTreeSet<_>>();
    assert_eq!(names("postgres"), names("sqlite"));
    let versions = |dialect| schema(dialect).migrations.iter().map(|one| (one.version, one.name)).collect::<Vec<_>>();
    assert_eq!(versions("postgres"), versions("sqlite"));
}

#[test]
fn no_statement_reads_a_table_that_grows_from_end_to_end() {
    let Some(scratch) = Scratch::new() else { return };
    drop(open(&scratch, PostgresSettings::default()));
    let mut client = scratch.client();
    client.batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan").expect("sets");
    let statements = schema("postgres").statements;
    let mut scans = Vec::new();
    for name in statements.names().filter(|name| !name.starts_with("rebuild.") && !may_scan(name)) {
        let sql = statements.sql(Statement(name)).expect("is there");
        let count = (1..40).rev().find(|number| sql.contains(&format!("${number}"))).unwrap_or(0);
        let arguments = match count {
            0 => String::new(),
            count => format!("({})", vec!["NULL"; count].join(", ")),
        };
        let explain = format!("PREPARE plan AS {sql}\n; EXPLAIN EXECUTE plan{arguments}; DEALLOCATE plan");
        let plan = client.simple_query(&explain).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        for message in plan {
            if let postgres::SimpleQueryMessage::Row(row) = message
                && row.get(0).is_some_and(|step| step.contains("Seq Scan"))
            {
                scans.push(format!("{name}: {}", row.get(0).unwrap_or_default().trim()));
            }
        }
    }
    assert!(scans.is_empty(), "{scans:#?}");
}

/// Workers of several processes take items of one institution through all their stages, while heartbeats go and a person
/// holds and releases: every item ends, once, and every stage was worked on once.
#[test]
fn many_workers_take_many_items_to_their_ends() {
    const ITEMS: usize = 30;
    const WORKERS: u32 = 6;
    let Some(scratch) = Scratch::new() else { return };
    let registry = || Registry::within(Arc::new(open(&scratch, PostgresSettings::default())));
    let first = registry();
    let (ours, batch) = (InstitutionId::new(), BatchId::new());
    first
        .write::<_, RegistryError, _>(move |tx| {
            tenants::add_institution(tx, ours, "example.edu", "Ours")?;
            batches::create(tx, &new_batch(batch, ours, Some(ITEMS as u64)))?;
            for number in 0..ITEMS {
                items::create(tx, &Table, &new_item(ours, batch, number))?;
            }
            Ok(())
        })
        .expect("items");
    std::thread::scope(|scope| {
        for number in 0..WORKERS {
            let registry = registry();
            scope.spawn(move || work_until_nothing_is_left(&registry, number, batch));
        }
    });
    let counts = first.read(|tx| items::counts(tx, Scope::System, Some(batch))).expect("reads");
    assert_eq!(counts, [(ItemStatus::Succeeded, ITEMS as u64)]);
    let state = first.read(|tx| batches::get(tx, Scope::System, batch)).expect("reads").expect("is there").state;
    assert_eq!(state, BatchState::Completed);
    for item in first.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 1_000)).expect("reads") {
        let history = first.read(|tx| items::history(tx, Scope::System, item.id)).expect("reads");
        let started = history.iter().filter(|line| line.status == ItemStatus::Started).count();
        assert_eq!(started, INGEST.len(), "{history:#?}");
    }
}

/// A transaction that hangs, such as that of a person's command on a machine that was suspended.
#[test]
fn a_row_that_somebody_keeps_locked_keeps_no_other_lease_from_being_extended_or_taken_over() {
    let Some(subject) = fresh() else { return };
    let world = World::new(&subject);
    let claims = ["one", "two"].map(|name| {
        world.item_named(name);
        world.claim(Stage::named("receive")).0
    });
    let [locked, free] = &claims;
    let mut person = subject.scratch.client();
    let mut transaction = person.transaction().expect("begins");
    let touch = format!("UPDATE work_items SET note = note WHERE id = '{}'", locked.item);
    transaction.batch_execute(&touch).expect("keeps the row");
    let beat = |claims: &[Claim]| {
        let held: Vec<_> = claims.iter().map(|claim| (claim.lease, Some(claim.clone()))).collect();
        let beat = move |tx: &mut dyn Transaction| work::heartbeat(tx, &held, Duration::from_mins(1));
        subject.registry.write_lease(Isolation::ReadCommitted, beat)
    };
    let error = beat(&claims).expect_err("it does not wait for the row");
    assert!(error.is_transient(), "{error}");
    assert!(matches!(beat(std::slice::from_ref(free)).expect("beats")[..], [HeartbeatOutcome::Held(_)]));
    subject.advance(Duration::from_hours(1));
    world.reclaim();
    assert_eq!(world.status(free.item).1, ItemStatus::Pending);
    assert_eq!(world.status(locked.item).1, ItemStatus::Started);
    transaction.rollback().expect("lets go");
    world.reclaim();
    assert_eq!(world.status(locked.item).1, ItemStatus::Pending);
}

/// It is ended by itself behind that transaction, and holds up no other.
#[test]
fn an_end_whose_rows_another_transaction_has_is_not_written_with_others() {
    let Some(subject) = fresh() else { return };
    let world = World::new(&subject);
    for name in ["one", "two", "three"] {
        world.item_named(name);
    }
    let claims = together::fetched(&world, 3);
    let mut person = subject.scratch.client();
    let mut transaction = person.transaction().expect("begins");
    let item = format!("UPDATE work_items SET note = note WHERE id = '{}'", claims[0].item);
    let task = format!("UPDATE task SET reason = reason WHERE id = {}", claims[1].lease.task.0);
    transaction.batch_execute(&format!("{item}; {task}")).expect("keeps the rows");
    let ends: Vec<_> = claims.iter().map(|claim| together::bare(claim, &next(Stage::named("validate")))).collect();
    let ended = together::end_all(&world, &ends);
    assert_eq!(ended.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
    transaction.rollback().expect("lets go");
    let ended = together::end_all(&world, &ends[..2]);
    assert!(ended.iter().all(Option::is_some), "{ended:?}");
}

/// The one that removes it has seen the object whole.
#[test]
fn a_mark_that_is_set_while_another_transaction_removes_it_stays() {
    let Some(subject) = fresh() else { return };
    let world = World::new(&subject);
    let (object, _) = kept(&world, "bag", &["primary"]);
    compare(&world, &["primary"]);
    let mut other = subject.scratch.client();
    other.batch_execute("UPDATE objects SET head = head").expect("marks the object");
    assert_eq!(marked(&world), [(object, Vec::new())]);
    let (other, attempts) = (Mutex::new(other), Arc::new(AtomicU32::new(0)));
    let counted = attempts.clone();
    let removed = world.write(move |tx| {
        // It sees the object as it is when it asks for the first time.
        placements::list(tx)?;
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            let mut other = other.lock().unwrap_or_else(PoisonError::into_inner);
            other.batch_execute("DELETE FROM object_copies").expect("takes something away");
        }
        placements::unmark(tx, &[object])
    });
    assert_eq!((removed, attempts.load(Ordering::SeqCst)), (0, 2), "it was undone, and decided anew");
    assert_eq!(marked(&world), [(object, vec!["primary".to_owned()])]);
}

fn new_item(institution: InstitutionId, batch: BatchId, number: usize) -> NewItem {
    NewItem {
        batch: Some(batch),
        name: number.to_string(),
        note: "submitted".into(),
        ..NewItem::new(Action::named("ingest"), institution, format!("example.edu/{number}"))
    }
}

fn work_until_nothing_is_left(registry: &Registry, number: u32, batch: BatchId) {
    let who = holder(number);
    let request = LeaseRequest {
        topics: INGEST.iter().map(|stage| topic(*stage)).collect(),
        keys: None,
        limit: 2,
        holder: who.clone(),
        duration: Duration::from_mins(1),
    };
    loop {
        let request = request.clone();
        let leasing = registry.write_by_rows(move |tx| work::lease(tx, &Table, &request, &|_| 3)).expect("leases");
        let held: Vec<_> = leasing
            .assignments
            .iter()
            .map(|one| (one.task.lease, one.claimed.as_ref().map(|(claim, _)| claim.clone())))
            .collect();
        registry.write_by_rows(move |tx| work::heartbeat(tx, &held, Duration::from_mins(1))).expect("the heart beats");
        for assignment in &leasing.assignments {
            let Some((claim, item)) = assignment.claimed.clone() else { panic!("a sweep of what succeeded") };
            let after = INGEST.iter().position(|stage| *stage == item.stage).expect("is one of them") + 1;
            let end = match INGEST.get(after) {
                Some(next) => StageEnd::Next { next: *next, note: "on".into() },
                None => StageEnd::Succeeded { note: "done".into() },
            };
            let who = who.to_string();
            registry.write(move |tx| work::finish(tx, &Table, &claim, &who, &end)).expect("the stage ends");
        }
        let counts = registry.read(|tx| items::counts(tx, Scope::System, Some(batch))).expect("reads");
        if counts.iter().all(|(status, _)| status.is_ended()) {
            return;
        }
    }
}
