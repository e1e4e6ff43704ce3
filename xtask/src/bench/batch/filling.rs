//! Fills a registry with copies of rows that the program itself made of a first batch, each with identifiers and names of its own: work
//! items that ended, and of their histories the last line, which is what retention keeps; and for five items an object with versions, files,
//! contents, copies, identifiers and events, as if it had been deposited five times.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::bench::home::Registry;

/// Sets of copies that one transaction makes.
const SETS_AT_ONCE: u64 = 100;
/// Sets of work items for each set of objects.
const DEPOSITS: u64 = 5;
/// The tables of which each set has rows; the others have rows of the sets of objects only.
const OF_DEPOSITS: [&str; 3] = ["batches", "work_items", "item_history"];
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

/// Fills a registry with copies of the rows that it had at first, which are kept in temporary tables.
pub(super) struct Filler {
    /// Columns of the tables.
    columns: Vec<Vec<String>>,
    /// Work items that each set of copies has.
    items: u64,
}

impl Filler {
    pub(super) fn new(registry: &mut Registry, items: u64) -> Result<Self> {
        let mut columns = Vec::new();
        for (table, rows) in TABLES {
            registry.batch(&format!("CREATE TEMPORARY TABLE first_{table} AS SELECT * FROM {table} {rows}"))?;
            columns.push(registry.columns(table)?);
        }
        Ok(Self { columns, items })
    }

    /// Makes sets of copies until there are so many work items, or a few less.
    pub(super) fn fill(&self, registry: &mut Registry, items: u64) -> Result<()> {
        registry.begin_fill()?;
        // No trigger marks what is inserted: all objects are to be compared anew.
        registry.batch("DELETE FROM placement_comparisons")?;
        let last = DEPOSITS + (items / self.items).saturating_sub(1);
        let last_number = registry.number("SELECT max(number) FROM work_items")?;
        // Sets are numbered from that of the first objects on.
        for first in (DEPOSITS..last).step_by(SETS_AT_ONCE as usize) {
            let sets = registry.numbers((first, (first + SETS_AT_ONCE).min(last) - 1));
            let mut statements = String::new();
            for ((table, _), columns) in TABLES.iter().zip(&self.columns) {
                let value = |column: &String| registry.copied(table, column, (self.items, last_number));
                let values: Vec<String> = columns.iter().map(value).collect();
                let of_objects = format!("WHERE n % {DEPOSITS} = 0");
                // Writing into a string cannot fail.
                let _ = writeln!(
                    statements,
                    "INSERT INTO {table} ({}) SELECT {} FROM {sets} CROSS JOIN first_{table} f {};",
                    columns.join(", "),
                    values.join(", "),
                    if OF_DEPOSITS.contains(table) { "" } else { &of_objects }
                );
            }
            registry.batch(&format!("BEGIN;\n{statements}COMMIT"))?;
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

    /// What a column of a copy has; the number of its set is `n`. Numbers of work items go on after the last.
    fn copied(&self, table: &str, column: &str, (items, last_number): (u64, i64)) -> String {
        let is_item = table == "work_items";
        let set_of_object = format!("(n - n % {DEPOSITS})");
        let set = if is_item && column.starts_with("object_") { &set_of_object } else { "n" };
        if is_item && column == "number" {
            format!("f.number + (n - {DEPOSITS}) * {items} + {last_number}")
        } else if is_item && column == "status" {
            "CASE WHEN f.number % 50 = 7 THEN 'failed' ELSE f.status END".to_owned()
        } else if is_item && column == "needs_review" {
            "CASE WHEN f.number % 50 = 7 THEN TRUE ELSE f.needs_review END".to_owned()
        } else if NAMES.contains(&column) {
            format!("f.{column} || '-' || {set}")
        } else if SHARED.contains(&column) {
            format!("f.{column}")
        } else if column == "id" || column == "generation" || column.ends_with("_id") {
            self.copied_id(column, set)
        } else {
            format!("f.{column}")
        }
    }

    /// A UUID of the first rows with another time in front: those of one set of copies belong together as the first ones do.
    fn copied_id(&self, column: &str, set: &str) -> String {
        match self {
            Self::File(_) => {
                format!("unhex(printf('%012x', 1500000000000 + {set}) || substr(nullif(hex(f.{column}), ''), 13))")
            }
            Self::Server { .. } => format!(
                "(lpad(to_hex(1500000000000 + {set}), 12, '0') || substr(replace(f.{column}::text, '-', ''), 13))::uuid"
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
