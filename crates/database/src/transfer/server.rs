//! The PostgreSQL side: its tables in an order in which rows can be put, their rows out and in, and its sequences.

use std::io::{BufRead, Write};

use super::{Source, Table, Tally};
use crate::postgres::bare::{Bare, quoted};
use crate::{DatabaseError, Migration, PostgresSettings};

/// Tables in which the engine keeps its own affairs.
const OWN: &str = "'schema_version', 'server_life'";

/// A connection that moves rows, within one transaction.
pub(super) struct Server {
    bare: Bare,
    pub(super) version: u32,
}

impl Server {
    /// Connects, and brings the schema up to the last of `migrations`.
    pub(super) fn open(
        url: &str,
        settings: &PostgresSettings,
        migrations: &[Migration],
    ) -> Result<Self, DatabaseError> {
        let mut bare = Bare::open(url, settings)?;
        bare.migrate(migrations)?;
        Ok(Self { version: bare.version()?, bare })
    }

    /// Connects to what must be there, in a version that this program knows.
    pub(super) fn open_as_it_is(
        url: &str,
        settings: &PostgresSettings,
        migrations: &[Migration],
    ) -> Result<Self, DatabaseError> {
        let mut bare = Bare::open(url, settings)?;
        let version = bare.version()?;
        let server = Self { bare, version };
        match migrations.last() {
            Some(last) if (1..=last.version).contains(&version) => Ok(server),
            _ => Err(server.unfit(format!(
                "its schema has version {version}, which this program does not know; use the program that made it"
            ))),
        }
    }

    pub(super) fn unfit(&self, reason: String) -> DatabaseError {
        DatabaseError::Schema { path: self.bare.shown().to_owned(), reason }
    }

    /// One state of everything, whatever others write meanwhile.
    pub(super) fn begin_reading(&mut self) -> Result<(), DatabaseError> {
        self.bare.run("begin a copy", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// No other process reads or writes until the end, and there must be no rows yet.
    pub(super) fn begin_filling(&mut self) -> Result<(), DatabaseError> {
        self.bare.run("begin to fill the database", "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")?;
        let tables = self.tables()?;
        let names: Vec<String> = tables.iter().map(|table| quoted(&table.name)).collect();
        let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", names.join(", "));
        self.bare.run("hold the database alone", &lock)?;
        for name in names {
            let found = self.bare.rows("check for rows", &format!("SELECT 1 FROM {name} LIMIT 1"))?;
            if !found.is_empty() {
                return Err(self.unfit(format!(
                    "its table {name} has rows already; nothing was changed: name an empty database. Where a \
                     \"strongroom migrate\" that was interrupted left the rows, empty the database and repeat the command"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), DatabaseError> {
        self.bare.run("commit", "COMMIT")
    }

    /// The tables, those that others refer to first.
    pub(super) fn tables(&mut self) -> Result<Vec<Table>, DatabaseError> {
        let columns = self.bare.rows(
            "list the tables",
            &format!(
                "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class c
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname NOT IN ({OWN})
                     AND c.oid NOT IN (SELECT objid FROM pg_depend
                         WHERE classid = 'pg_class'::regclass AND deptype = 'e')
                 ORDER BY c.relname, a.attnum"
            ),
        )?;
        let mut waiting: Vec<Table> = Vec::new();
        for row in columns {
            let [name, column, kind] = row.try_into().unwrap_or_default();
            match waiting.last_mut().filter(|table| table.name == name) {
                Some(table) => table.columns.push((column, kind)),
                None => waiting.push(Table { name, columns: vec![(column, kind)] }),
            }
        }
        let references = self.bare.rows(
            "read the references of the tables",
            "SELECT f.relname, t.relname FROM pg_constraint k
             JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
             WHERE k.contype = 'f' AND k.connamespace = current_schema()::regnamespace AND k.conrelid <> k.confrelid",
        )?;
        let mut ordered: Vec<Table> = Vec::new();
        while !waiting.is_empty() {
            let is_free = |table: &Table| {
                references
                    .iter()
                    .filter(|row| row.first() == Some(&table.name))
                    .all(|row| row.get(1).is_none_or(|referred| ordered.iter().any(|done| done.name == *referred)))
            };
            let (free, bound): (Vec<Table>, Vec<Table>) = waiting.into_iter().partition(is_free);
            if free.is_empty() {
                return Err(self.unfit("its tables refer to each other in a circle".to_owned()));
            }
            ordered.extend(free);
            waiting = bound;
        }
        Ok(ordered)
    }

    /// Puts the rows of a table in.
    pub(super) fn fill(&mut self, table: &Table, source: &mut dyn Source) -> Result<Tally, DatabaseError> {
        let (shown, sql) = (self.bare.shown().to_owned(), format!("COPY {} FROM STDIN", listed(table)));
        let broken = |error: &std::io::Error| DatabaseError::Unavailable {
            act: format!("fill {}", table.name),
            detail: format!("{shown}: {}", cause(error)),
        };
        // What triggers would add comes with the rows that are copied.
        let triggers = |server: &mut Self, act| {
            let sql = format!("ALTER TABLE {} {act} TRIGGER USER", quoted(&table.name));
            server.bare.run("copy rows as they are", &sql)
        };
        triggers(self, "DISABLE")?;
        let mut writer = self.bare.copy_in(&sql)?;
        let mut tally = Tally::default();
        source.lines(table, &mut |line| {
            tally.add(line);
            writer.write_all(line).map_err(|error| broken(&error))
        })?;
        let rows = writer.finish();
        let rows = rows.map_err(|error| self.bare.explain("fill a table", &error))?;
        triggers(self, "ENABLE")?;
        if rows == tally.rows { Ok(tally) } else { Err(self.unfit(format!("{} took {rows} rows", table.name))) }
    }

    /// Hands the rows of a table over as lines.
    pub(super) fn lines(
        &mut self,
        table: &Table,
        take: &mut dyn FnMut(&[u8]) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let (shown, sql) = (self.bare.shown().to_owned(), format!("COPY {} TO STDOUT", listed(table)));
        let mut reader = self.bare.copy_out(&sql)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line).map_err(|error| DatabaseError::Unavailable {
                act: format!("read {}", table.name),
                detail: format!("{shown}: {}", cause(&error)),
            })?;
            if length == 0 {
                return Ok(());
            }
            take(&line)?;
        }
    }

    pub(super) fn sequences(&mut self) -> Result<Vec<String>, DatabaseError> {
        let rows = self.bare.rows(
            "list the sequences",
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S'
             ORDER BY relname",
        )?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The next number of a sequence. It may be higher than what the state being read knows, and never lower.
    pub(super) fn next_of(&mut self, sequence: &str) -> Result<i64, DatabaseError> {
        let sql = format!("SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END FROM {}", quoted(sequence));
        let rows = self.bare.rows("read a sequence", &sql)?;
        let next = rows.into_iter().flatten().next().and_then(|text| text.parse().ok());
        next.ok_or_else(|| self.unfit(format!("its sequence {sequence} has no value")))
    }

    pub(super) fn set_next(&mut self, sequence: &str, next: i64) -> Result<(), DatabaseError> {
        let name = quoted(sequence).replace('\'', "''");
        self.bare.run("set a sequence", &format!("SELECT setval('{name}', {next}, false)"))
    }
}

fn listed(table: &Table) -> String {
    let columns: Vec<String> = table.columns.iter().map(|(name, _)| quoted(name)).collect();
    format!("{} ({})", quoted(&table.name), columns.join(", "))
}

/// What the server said, where it said something.
fn cause(error: &std::io::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.get_ref().and_then(|inner| std::error::Error::source(inner));
    while let Some(present) = cause {
        text = format!("{text}: {present}");
        cause = present.source();
    }
    text
}
