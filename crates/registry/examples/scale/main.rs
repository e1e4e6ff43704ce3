//! How long a claim and the usual listings take as the record grows: rows of one table after another are made until it has as
//! many as asked, and then the same questions are put to it. Run it with
//! `cargo run --release -p strongroom-registry --example scale -- [--database URL] ROWS...`, numbers ascending. With a URL of
//! a PostgreSQL server the record lies there, in a schema that is dropped at the end; else in a file. With `--into FILE` the rows are made
//! in the registry of a data directory that has none, and stay: for measurements of the program.

use std::time::{Duration, Instant};

use strongroom_database::testing::Scratch;
use strongroom_database::{Location, PostgresSettings, Schema, Statement};
use strongroom_queue::{LeaseRequest, WorkerId, tasks};
use strongroom_registry::events::EventCursor;
use strongroom_registry::fixity::DueCursor;
use strongroom_registry::items::ItemFilter;
use strongroom_registry::work::StageEnd;
use strongroom_registry::{
    Action, BatchId, InstitutionId, ItemId, ItemStatus, ObjectId, Position, Registry, RegistryError, Scope, Stage,
    Subject, Time, Transaction, Workflows, events, fixity, items, objects, tenants, work,
};
use uuid::Uuid;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Rows that one transaction makes.
const AT_ONCE: u64 = 500_000;
/// How often each question is put, where it does not take too long; the median counts.
const TIMES: usize = 51;
const TOO_LONG: Duration = Duration::from_secs(10);
/// Objects and batches have this many files and items.
const FILES: u64 = 100;
const ITEMS: u64 = 1_000;

fn main() -> Result<(), Failure> {
    let (mut sizes, mut server, mut into) = (Vec::new(), None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--database" {
            server = Some(arguments.next().ok_or("--database takes a URL")?);
        } else if argument == "--into" {
            into = Some(std::path::PathBuf::from(arguments.next().ok_or("--into takes a file")?));
        } else {
            sizes.push(argument.parse::<u64>()?);
        }
    }
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000];
    }
    let folder = tempfile::tempdir()?;
    let scratch = server.as_deref().map(Scratch::on);
    let location = match &scratch {
        Some(scratch) => Location::Postgres { url: scratch.url(), settings: PostgresSettings::default() },
        None => Location::Sqlite(into.clone().unwrap_or_else(|| folder.path().join("registry.db"))),
    };
    let registry = Registry::within(strongroom_database::open(&location, with_rows)?);
    registry.write(|tx| {
        (1..=5).try_for_each(|number| {
            let id = InstitutionId(Uuid::from_u128(number));
            tenants::add_institution(tx, id, &format!("{number}.example.edu"), "An institution")
        })
    })?;
    let mut rows = 0;
    for size in sizes {
        let began = Instant::now();
        grow(&registry, rows, size)?;
        println!("\n{size} rows in each table, made in {:.0} s", began.elapsed().as_secs_f64());
        if let Some(scratch) = &scratch {
            // What the server does by itself within minutes of quiet.
            scratch.run("VACUUM ANALYZE");
        }
        rows = size;
        if into.is_some() {
            continue;
        }
        ask(&registry, rows)?;
    }
    Ok(())
}

/// The registry's own schema, and the statements that make rows.
fn with_rows(dialect: &str) -> Schema {
    let schema = strongroom_registry::schema(dialect);
    let rows = match dialect {
        "postgres" => include_str!("postgres.sql"),
        _ => include_str!("sqlite.sql"),
    };
    Schema { statements: schema.statements.with(rows), ..schema }
}

/// Makes the rows behind `from` up to `to`.
fn grow(registry: &Registry, from: u64, to: u64) -> Result<(), Failure> {
    let mut first = from + 1;
    while first <= to {
        let last = to.min(first + AT_ONCE - 1);
        for (statement, share) in [
            (Statement("scale.batches"), ITEMS),
            (Statement("scale.objects"), FILES),
            (Statement("scale.object_copies"), FILES),
            (Statement("scale.files"), 1),
            (Statement("scale.contents"), 1),
            (Statement("scale.entries"), 1),
            (Statement("scale.copies"), 1),
            (Statement("scale.events"), 1),
            (Statement("scale.items"), 1),
            (Statement("scale.tasks"), 1),
        ] {
            let range = [((first - 1) / share + 1).into(), (last / share).into()];
            registry.write(move |tx| Ok::<_, RegistryError>(tx.execute(statement, &range)?))?;
        }
        first = last + 1;
    }
    Ok(())
}

/// The stages that are moved between.
struct TwoStages;

impl Workflows for TwoStages {
    fn stages(&self, _: Action) -> Vec<Stage> {
        vec![Stage::named("receive"), Stage::named("estimate")]
    }

    fn position(&self, _: Subject<'_>, stage: Stage) -> Position {
        Position { stage, topic: format!("ingest.{stage}"), wait_key: None, is_inline: false }
    }

    fn restart(&self, _: &mut dyn Transaction, _: &items::Item, wanted: Stage) -> Result<Stage, RegistryError> {
        Ok(wanted)
    }
}

/// Puts every question, and tells how long the answers took.
fn ask(registry: &Registry, rows: u64) -> Result<(), Failure> {
    let request = LeaseRequest {
        topics: vec!["ingest.receive".into()],
        keys: None,
        limit: 1,
        holder: WorkerId::this_process(),
        duration: Duration::from_mins(1),
    };
    let holder = request.holder.to_string();
    told("claim an item", || {
        let request = request.clone();
        let leased = registry.write_by_rows(move |tx| work::lease(tx, &TwoStages, &request, &|_| 3))?;
        let claim = leased.assignments.into_iter().find_map(|one| one.claimed).ok_or("nothing was leased")?.0;
        let holder = holder.clone();
        Ok(move || {
            let end = StageEnd::Next { next: Stage::named("estimate"), note: "measured".into() };
            registry.write_by_rows(move |tx| work::finish(tx, &TwoStages, &claim, &holder, &end))?;
            Ok(())
        })
    })?;
    let middle = ItemId(id(6, rows / 2));
    let listed = |name: &str, filter: &ItemFilter, after| {
        told_alone(name, || {
            registry.read(|tx| items::list(tx, Scope::System, filter, after, 100)).map(|page| page.len())
        })
    };
    listed("items: 100 from the middle", &ItemFilter::default(), Some(middle))?;
    let failed = ItemFilter { status: Some(ItemStatus::Failed), ..ItemFilter::default() };
    listed("items: 100 failed", &failed, None)?;
    let one = InstitutionId(Uuid::from_u128(1));
    told_alone("items: 100 of an institution", || {
        registry
            .read(|tx| items::list(tx, Scope::Institution(one), &ItemFilter::default(), None, 100))
            .map(|page| page.len())
    })?;
    let batch = BatchId(id(1, rows / ITEMS));
    let of_batch = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
    listed("items: 100 of a batch", &of_batch, None)?;
    told_alone("items: counted by status", || {
        registry.read(|tx| items::counts(tx, Scope::System, None)).map(|counts| counts.len())
    })?;
    told_alone("queue: counted by topic and state", || {
        registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).map(|counts| counts.len())
    })?;
    told_alone("objects: 100 from the middle", || {
        let after = Some(ObjectId(id(2, rows / FILES / 2)));
        registry
            .read(|tx| objects::list(tx, Scope::System, &objects::ObjectFilter::default(), after, 100))
            .map(|page| page.len())
    })?;
    let object = ObjectId(id(2, rows / FILES));
    told_alone("files: the 100 of an object", || {
        registry.read(|tx| objects::files(tx, object, 1, "", "", 100)).map(|page| page.len())
    })?;
    told_alone("events: 100 rows of an object", || {
        registry
            .read(|tx| events::of_object(tx, Scope::System, object, None, EventCursor::START, 100))
            .map(|(page, _)| page.len())
    })?;
    told_alone("copies: the 500 that are due first", || {
        let before = Time(i64::MAX >> 1);
        registry
            .read(|tx| fixity::due_contents(tx, Scope::System, "primary", before, DueCursor::START, 500))
            .map(|page| page.len())
    })
}

/// The identifier of the row of this number in the table of this digit.
fn id(table: u128, number: u64) -> Uuid {
    Uuid::from_u128((table << 124) | u128::from(number))
}

/// As [`told`], where nothing is to be cleared away.
fn told_alone(name: &str, question: impl Fn() -> Result<usize, RegistryError>) -> Result<(), Failure> {
    told(name, || if question()? == 0 { Err("nothing was found".into()) } else { Ok(|| Ok(())) })
}

/// Puts a question several times. What it returns clears away, and is not measured.
fn told<C: FnOnce() -> Result<(), Failure>>(
    name: &str,
    question: impl Fn() -> Result<C, Failure>,
) -> Result<(), Failure> {
    let mut times = Vec::with_capacity(TIMES);
    let first = Instant::now();
    while times.len() < TIMES && (times.len() < 5 || first.elapsed() < TOO_LONG) {
        let began = Instant::now();
        let clear = question()?;
        times.push(began.elapsed());
        clear()?;
    }
    times.sort_unstable();
    let micros = |place: usize| times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    println!("  {name}: median {:.0} µs, slowest {:.0} µs", micros(times.len() / 2), micros(times.len() - 1));
    Ok(())
}
