//! How many stages a second eight workers end on this machine, each end durable and followed by the next stage at once. Run it with
//! `cargo run --release -p strongroom-registry --example transitions -- [--database URL] [ITEMS]`. With a URL of a PostgreSQL server
//! the record lies there, in a schema that is dropped at the end; else in a file. Beside it is what the same eight threads reach with
//! transactions that change one row.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use strongroom_database::testing::Scratch;
use strongroom_database::{Location, PostgresSettings};
use strongroom_queue::{LeaseRequest, WorkerId};
use strongroom_registry::batches::NewBatch;
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::work::{self, Assignment, BareEnd, Ended, Next, Room, StageEnd};
use strongroom_registry::{
    Action, BatchId, InstitutionId, Position, Registry, RegistryError, Stage, Subject, Together, Transaction,
    Workflows, batches, tenants,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const WORKERS: u32 = 8;
/// As many as a deposit has.
const STAGES: [&str; 15] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen",
];
const LEASE: Duration = Duration::from_mins(10);

/// The ends of stages that workers write together.
type Ends = Together<BareEnd, Ended>;

/// Stages that do nothing and follow each other at once.
struct Stages;

impl Workflows for Stages {
    fn stages(&self, _: Action) -> Vec<Stage> {
        STAGES.into_iter().map(Stage::named).collect()
    }

    fn position(&self, _: Subject<'_>, stage: Stage) -> Position {
        Position { stage, topic: format!("measured.{stage}"), wait_key: None, is_inline: true }
    }

    fn restart(&self, _: &mut dyn Transaction, _: &items::Item, wanted: Stage) -> Result<Stage, RegistryError> {
        Ok(wanted)
    }
}

fn main() -> Result<(), Failure> {
    let (mut count, mut server) = (2_000, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--database" {
            server = Some(arguments.next().ok_or("--database takes a URL")?);
        } else {
            count = argument.parse()?;
        }
    }
    let folder = tempfile::tempdir()?;
    let scratch = server.as_deref().map(Scratch::on);
    let location = match &scratch {
        Some(scratch) => Location::Postgres {
            url: scratch.url(),
            settings: PostgresSettings { connections: 16, ..PostgresSettings::default() },
        },
        None => Location::Sqlite(folder.path().join("registry.db")),
    };
    let registry = Registry::within(strongroom_database::open(&location, strongroom_registry::schema)?);
    let institution = InstitutionId::new();
    registry.write(move |tx| tenants::add_institution(tx, institution, "example.edu", "An institution"))?;
    let bare = bare(&registry)?;
    make(&registry, institution, count)?;
    let (ends, ended, began) = (Ends::default(), AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| work_off(&registry, &ends, &ended))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)
    })?;
    let (ended, seconds) = (ended.into_inner(), began.elapsed().as_secs_f64());
    println!(
        "{ended} stages of {count} items in {seconds:.1} s: {:.0} a second; bare transactions: {bare:.0} a second",
        ended as f64 / seconds
    );
    Ok(())
}

/// Transactions a second of the same threads, each of which changes one row: each thread its own, so that none waits for another.
fn bare(registry: &Registry) -> Result<f64, Failure> {
    const EACH: u32 = 1_000;
    let rows: Vec<InstitutionId> = (0..WORKERS).map(|_| InstitutionId::new()).collect();
    for (number, &row) in rows.iter().enumerate() {
        let identifier = format!("bare-{number}.example.edu");
        registry.write(move |tx| tenants::add_institution(tx, row, &identifier, "Changed again and again"))?;
    }
    let began = Instant::now();
    let change = |row: InstitutionId| -> Result<(), Failure> {
        for number in 0..EACH {
            let name = number.to_string();
            registry.write_by_rows(move |tx| tenants::set_institution(tx, row, &name, (true, None, None)))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = rows.iter().map(|&row| scope.spawn(move || change(row))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    Ok(f64::from(EACH * WORKERS) / began.elapsed().as_secs_f64())
}

/// Makes the items, all of one batch.
fn make(registry: &Registry, institution: InstitutionId, count: u64) -> Result<(), Failure> {
    let batch = BatchId::new();
    registry.write(move |tx| {
        let new = NewBatch {
            id: batch,
            institution,
            collection: None,
            kind: "bag",
            submitted_by: "somebody",
            note: None,
            row_count: Some(count),
            notify_to: &[],
        };
        batches::create(tx, &new)
    })?;
    registry.write(move |tx| {
        let mut new = (0..count).map(|number| NewItem {
            batch: Some(batch),
            name: number.to_string(),
            ..NewItem::new(Action::named("measured"), institution, format!("example.edu/{number}"))
        });
        items::create_all(tx, &Stages, &mut new)
    })?;
    Ok(())
}

/// Takes items from their first stage to their last until none is left.
fn work_off(registry: &Registry, ends: &Ends, ended: &AtomicU64) -> Result<(), Failure> {
    let holder = WorkerId::this_process();
    loop {
        let request = first_stage(&holder, 1);
        let leased = registry.write_by_rows(move |tx| work::lease(tx, &Stages, &request, &|_| 3))?;
        let mut held = leased.assignments.into_iter().next();
        if held.is_none() {
            return Ok(());
        }
        let mut following = (1..=STAGES.len()).cycle();
        while let (Some(assignment), Some(next)) = (held, following.next()) {
            let next = STAGES.get(next).copied().map(Stage::named);
            held = end(registry, ends, &assignment, (&holder, next))?;
            ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// For so many items.
fn first_stage(holder: &WorkerId, limit: usize) -> LeaseRequest {
    LeaseRequest { topics: vec!["measured.one".into()], keys: None, limit, holder: holder.clone(), duration: LEASE }
}

/// Ends a stage as workers do, with those of others where they end at the same time; what the worker has then: the item at its next stage, or
/// another one.
fn end(
    registry: &Registry,
    ends: &Ends,
    assignment: &Assignment,
    (holder, next): (&WorkerId, Option<Stage>),
) -> Result<Option<Assignment>, Failure> {
    let claim = assignment.claimed.as_ref().ok_or("no item was claimed")?.0.clone();
    let note = "nothing was done".to_owned();
    let end = match next {
        Some(next) => StageEnd::Next { next, note },
        None => StageEnd::Succeeded { note },
    };
    let room =
        next.map(|next| Room { topic: format!("measured.{next}"), max_total: None, duration: LEASE, passes: false });
    let bare = BareEnd { claim, end, room, known_schema: None };
    let together = |group: Vec<BareEnd>| {
        let (holder, count) = (holder.clone(), group.len());
        registry.write_by_rows(move |tx| write(tx, &holder, &group)).unwrap_or_else(|_| vec![None; count])
    };
    let ended = if registry.database().writes_alone() { None } else { ends.ask(bare.clone(), together) };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        let holder = holder.to_string();
        registry.write_by_rows(move |tx| {
            let next = Next { writes: None, room: bare.room.as_ref(), known_schema: None };
            work::end_stage(tx, &Stages, (&bare.claim, &holder), &bare.end, next)
        })?
    };
    match (next, ended.goes_on) {
        (Some(_), None) => Err("the item went by the queue".into()),
        (_, following) => Ok(following),
    }
}

/// Writes the ends of a group, and leases an item for each worker whose own has ended.
fn write(tx: &mut dyn Transaction, holder: &WorkerId, group: &[BareEnd]) -> Result<Vec<Option<Ended>>, RegistryError> {
    let mut ended = work::end_stages(tx, &Stages, &holder.to_string(), group)?;
    let free: Vec<_> = ended.iter_mut().flatten().filter(|one| one.goes_on.is_none()).collect();
    if !free.is_empty() {
        let leased = work::lease(tx, &Stages, &first_stage(holder, free.len()), &|_| 3)?;
        for (one, assignment) in free.into_iter().zip(leased.assignments) {
            one.goes_on = Some(assignment);
        }
    }
    Ok(ended)
}
