//! The cost of an item of the same batch while the registry grows. The registry is filled with copies of rows that the program itself
//! made of a first batch, each with identifiers and names of its own: work items that ended, and of their histories the last line,
//! which is what retention keeps; their objects with versions, files, contents, copies, identifiers and events.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use strongroom_web_double::WebDouble;

use super::lists::{Identifiers, write_list};
use super::{Took, allow, ingest, registries, serve, size};
use crate::bench::home::{CarefulServer, Home, Registry};
use crate::bench::{Options, scratch};

/// Objects of a batch.
const OBJECTS: u64 = 500;
/// Work items in the registry, about so many.
const ITEMS: [u64; 2] = [10_000, 1_000_000];
/// Batches that are measured at each size; the median counts.
const BATCHES: usize = 3;
/// Sets of copies that one transaction makes.
const SETS_AT_ONCE: u64 = 100;
/// The tables that are filled, and which rows of them are copied.
const TABLES: [(&str, &str); 13] = [
    ("batches", ""),
    ("work_items", ""),
    (
        "item_history",
        "WHERE number = (SELECT max(l.number) FROM item_history l WHERE l.item_id = item_history.item_id)",
    ),
    ("objects", ""),
    ("object_ids", ""),
    ("local_ids", ""),
    ("versions", ""),
    ("files", ""),
    ("contents", ""),
    ("entries", ""),
    ("copies", ""),
    ("object_copies", ""),
    ("events", ""),
];
/// Columns that identify what is not copied.
const SHARED: [&str; 3] = ["institution_id", "collection_id", "actor_id"];
/// Columns with names that are unique.
const NAMES: [&str; 4] = ["object_identifier", "identifier", "local_id", "value"];

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let objects = size(options, OBJECTS);
    let server = CarefulServer::start()?;
    println!(
        "| registry | work items | ms/object | workers' cpu ms/object | transactions/object | statements/object | filled in s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        let folder = scratch()?;
        let web = WebDouble::start();
        let mut home = Home::new(program, &folder.path().join("home"), on)?;
        allow(&mut home, &web);
        let mut round = 0;
        let mut next = |home: &mut Home| -> Result<Took> {
            round += 1;
            let list = folder.path().join(format!("{round}.checkm"));
            write_list(&list, &serve(&web, &format!("round-{round}-"), 0..objects), Identifiers::Local)?;
            ingest(home, folder.path(), &list, objects)
        };
        next(&mut home)?;
        let mut filler = Filler::new(home.registry(), objects + 1)?;
        let mut first: Option<Summary> = None;
        for items in ITEMS {
            let began = std::time::Instant::now();
            filler.fill(home.registry(), size(options, items))?;
            let filled = began.elapsed();
            let batches = (0..BATCHES).map(|_| next(&mut home)).collect::<Result<Vec<_>>>()?;
            let summary = Summary::of(&batches, objects);
            let items = home.number("SELECT count(*) FROM work_items")?;
            println!(
                "| {name} | {items} | {} | {} | {} | {} | {:.0} |",
                listed(&batches, |took| took.wall, objects),
                listed(&batches, |took| took.cpu, objects),
                shown(summary.transactions),
                shown(summary.statements),
                filled.as_secs_f64()
            );
            if let Some(first) = &first {
                let ratio = |now: Option<f64>, before: Option<f64>| {
                    now.zip(before).map_or("not counted".into(), |(now, before)| format!("{:.2}", now / before))
                };
                println!(
                    "| {name} | ratio (aim: at most 1.2) | {:.2} | {:.2} | {} | {} | |",
                    summary.wall / first.wall,
                    summary.cpu / first.cpu,
                    ratio(summary.transactions, first.transactions),
                    ratio(summary.statements, first.statements)
                );
            }
            first.get_or_insert(summary);
        }
    }
    server.stop()
}

/// Medians, for each object.
struct Summary {
    /// Milliseconds.
    wall: f64,
    cpu: f64,
    transactions: Option<f64>,
    statements: Option<f64>,
}

impl Summary {
    fn of(batches: &[Took], objects: u64) -> Self {
        let median = |values: Vec<f64>| {
            let mut values = values;
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let time = |of: fn(&Took) -> Duration| {
            median(batches.iter().map(|took| milliseconds(of(took), objects)).collect()).unwrap_or_default()
        };
        let count = |of: fn(&Took) -> Option<i64>| {
            median(batches.iter().filter_map(of).map(|count| count as f64 / objects as f64).collect())
        };
        Self {
            wall: time(|took| took.wall),
            cpu: time(|took| took.cpu),
            transactions: count(|took| took.figures.map(|figures| figures.transactions)),
            statements: count(|took| took.figures.and_then(|figures| figures.statements)),
        }
    }
}

fn milliseconds(time: Duration, objects: u64) -> f64 {
    time.as_secs_f64() * 1e3 / objects as f64
}

fn listed(batches: &[Took], of: fn(&Took) -> Duration, objects: u64) -> String {
    batches.iter().map(|took| format!("{:.1}", milliseconds(of(took), objects))).collect::<Vec<_>>().join(", ")
}

fn shown(count: Option<f64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| format!("{count:.1}"))
}

/// Fills a registry with copies of the rows that it had at first, which are kept in temporary tables.
struct Filler {
    /// Columns of the tables.
    columns: Vec<Vec<String>>,
    /// Work items that each set of copies has.
    items: u64,
    /// Sets of copies made.
    sets: u64,
}

impl Filler {
    fn new(registry: &mut Registry, items: u64) -> Result<Self> {
        let mut columns = Vec::new();
        for (table, rows) in TABLES {
            registry.batch(&format!("CREATE TEMPORARY TABLE first_{table} AS SELECT * FROM {table} {rows}"))?;
            columns.push(registry.columns(table)?);
        }
        Ok(Self { columns, items, sets: 0 })
    }

    /// Makes copies until there are so many work items, or a few less.
    fn fill(&mut self, registry: &mut Registry, items: u64) -> Result<()> {
        registry.begin_fill()?;
        let wanted = (items / self.items).saturating_sub(1);
        let last_number = registry.number("SELECT max(number) FROM work_items")?;
        let begin = self.sets;
        while self.sets < wanted {
            let sets = (self.sets + 1, wanted.min(self.sets + SETS_AT_ONCE));
            let mut statements = String::new();
            for ((table, _), columns) in TABLES.iter().zip(&self.columns) {
                let values: Vec<String> = columns
                    .iter()
                    .map(|column| {
                        if column == "number" && *table == "work_items" {
                            format!("f.number + (n - {begin}) * {} + {last_number}", self.items)
                        } else if NAMES.contains(&column.as_str()) {
                            format!("f.{column} || '-' || n")
                        } else if column == "status" && *table == "work_items" {
                            "CASE WHEN f.number % 50 = 7 THEN 'failed' ELSE f.status END".to_owned()
                        } else if !SHARED.contains(&column.as_str())
                            && (column == "id" || column == "generation" || column.ends_with("_id"))
                        {
                            registry.copied_id(column)
                        } else {
                            format!("f.{column}")
                        }
                    })
                    .collect();
                statements += &format!(
                    "INSERT INTO {table} ({}) SELECT {} FROM {} CROSS JOIN first_{table} f;\n",
                    columns.join(", "),
                    values.join(", "),
                    registry.numbers(sets)
                );
            }
            registry.batch(&format!("BEGIN;\n{statements}COMMIT"))?;
            self.sets = sets.1;
        }
        registry.end_fill()
    }
}

/// What a fill needs of a registry, in its dialect.
impl Registry {
    fn batch(&mut self, statements: &str) -> Result<()> {
        match self {
            Self::File(connection) => connection.execute_batch(statements)?,
            Self::Server { client, asked, .. } => {
                *asked += 1;
                client.batch_execute(statements)?;
            }
        }
        Ok(())
    }

    fn number(&mut self, query: &str) -> Result<i64> {
        match self {
            Self::File(connection) => Ok(connection.query_row(query, [], |row| row.get(0))?),
            Self::Server { client, asked, .. } => {
                *asked += 1;
                Ok(client.query_one(query, &[])?.get(0))
            }
        }
    }

    fn columns(&mut self, table: &str) -> Result<Vec<String>> {
        match self {
            Self::File(connection) => {
                let mut names = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
                let names = names.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>, _>>();
                names.with_context(|| format!("the columns of {table}"))
            }
            Self::Server { client, asked, .. } => {
                *asked += 1;
                let names = "SELECT column_name::text FROM information_schema.columns
                    WHERE table_name = $1 AND table_schema = current_schema()";
                Ok(client.query(names, &[&table])?.iter().map(|row| row.get(0)).collect())
            }
        }
    }

    /// A UUID of the first rows with another time in front: those of one set of copies belong together as the first ones do.
    fn copied_id(&self, column: &str) -> String {
        match self {
            Self::File(_) => format!("unhex(printf('%012x', 1500000000000 + n) || substr(hex(f.{column}), 13))"),
            Self::Server { .. } => format!(
                "(lpad(to_hex(1500000000000 + n), 12, '0') || substr(replace(f.{column}::text, '-', ''), 13))::uuid"
            ),
        }
    }

    fn numbers(&self, (first, last): (u64, u64)) -> String {
        match self {
            Self::File(_) => format!(
                "(WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})
                    SELECT n FROM numbers) AS numbers"
            ),
            Self::Server { .. } => format!("generate_series({first}::bigint, {last}::bigint) AS numbers (n)"),
        }
    }

    /// Rows that the program made need not be proved again, and nobody depends on them.
    fn begin_fill(&mut self) -> Result<()> {
        match self {
            Self::File(_) => {
                self.batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")
            }
            Self::Server { .. } => self.batch("SET session_replication_role = replica; SET synchronous_commit = off"),
        }
    }

    /// What a registry that has grown in the course of time has, too: a log that was written back; statistics and a next number.
    fn end_fill(&mut self) -> Result<()> {
        match self {
            Self::File(connection) => {
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
                self.batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -2000")
            }
            Self::Server { .. } => {
                self.number("SELECT setval('work_item_number', max(number)) FROM work_items")?;
                self.batch("RESET session_replication_role; RESET synchronous_commit")?;
                self.batch("VACUUM ANALYZE")
            }
        }
    }
}
