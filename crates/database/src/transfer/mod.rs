//! All rows of a database on their way into another, or into files and back. On the way a row is a line of PostgreSQL's COPY
//! text (documentation of COPY, "Text Format"), whatever it came from, so that one form is moved, counted, proved and kept.
//!
//! What is filled is a PostgreSQL database without rows, in one transaction: it has everything in the end, proved by
//! reading it back, or nothing.

mod file;
mod folder;
mod line;
mod server;

use std::path::Path;

use crate::{DatabaseError, Migration, PostgresSettings};

pub use file::FileSource;
pub use folder::FolderSource;
pub use line::Tally;

use folder::Folder;
use server::Server;

/// A table with its columns in order, and the types that PostgreSQL gives them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Names and types of its columns.
    pub columns: Vec<(String, String)>,
}

/// What was moved of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The table.
    pub table: String,
    /// Its rows and their digest.
    pub tally: Tally,
}

/// Something that a database can be filled from.
pub trait Source {
    /// The version of its schema, which must be the target's.
    fn version(&mut self) -> Result<u32, DatabaseError>;

    /// Refuses where something would be left behind: a table with rows that the target does not have.
    fn check(&mut self, tables: &[Table]) -> Result<(), DatabaseError>;

    /// Hands over every row of a table as a line with its end, in any order, in one consistent state of all tables.
    fn lines(
        &mut self,
        table: &Table,
        take: &mut dyn FnMut(&[u8]) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError>;

    /// What it should be, where that is known beforehand.
    fn expected(&self, table: &Table) -> Option<Tally>;

    /// The next number that a sequence gives; none where it does not know the sequence.
    fn next_of(&mut self, sequence: &str) -> Result<Option<i64>, DatabaseError>;
}

/// Fills the database at `url` from `source`, making its tables, in the source's version, where there are none. `tell` hears of each table when its
/// rows were written and again proved by reading them back.
///
/// # Errors
/// [`DatabaseError::Schema`] where the target holds rows, or the source has another version; nothing is kept then, nor after
/// any other error.
pub fn fill(
    source: &mut dyn Source,
    url: &str,
    settings: &PostgresSettings,
    migrations: &[Migration],
    tell: &mut dyn FnMut(&Moved),
) -> Result<Vec<Moved>, DatabaseError> {
    let found = source.version()?;
    // A target in the source's version takes its rows as they are, also of an older program.
    let needed: Vec<Migration> = migrations.iter().filter(|one| one.version <= found).copied().collect();
    let mut server = Server::open(url, settings, &needed)?;
    let known = server.version;
    if found != known {
        return Err(
            server.unfit(format!("its schema has version {known}, and what it is to be filled from has {found}"))
        );
    }
    server.begin_filling()?;
    let tables = server.tables()?;
    source.check(&tables)?;
    let mut moved = Vec::with_capacity(tables.len());
    for table in &tables {
        let tally = server.fill(table, source)?;
        if source.expected(table).is_some_and(|expected| expected != tally) {
            return Err(
                server.unfit(format!("the rows of {} are not those that were copied; they are damaged", table.name))
            );
        }
        moved.push(Moved { table: table.name.clone(), tally });
    }
    for (table, moved) in tables.iter().zip(&moved) {
        let mut tally = Tally::default();
        server.lines(table, &mut |line| {
            tally.add(line);
            Ok(())
        })?;
        if tally != moved.tally {
            return Err(server.unfit(format!("the rows of {} did not read back as they were written", table.name)));
        }
        tell(moved);
    }
    for sequence in server.sequences()? {
        if let Some(next) = source.next_of(&sequence)? {
            server.set_next(&sequence, next)?;
        }
    }
    server.commit()?;
    Ok(moved)
}

/// Writes every row of the database at `url` into files in `folder`, which must exist and be empty: one consistent state,
/// taken while the database is in use.
pub fn export(
    url: &str,
    settings: &PostgresSettings,
    migrations: &[Migration],
    folder: &Path,
    tell: &mut dyn FnMut(&Moved),
) -> Result<Vec<Moved>, DatabaseError> {
    let mut server = Server::open_as_it_is(url, settings, migrations)?;
    server.begin_reading()?;
    let mut folder = Folder::begin(folder, server.version);
    let mut moved = Vec::new();
    for table in server.tables()? {
        let mut file = folder.table(&table)?;
        server.lines(&table, &mut |line| file.add(line))?;
        let tally = folder.keep(table.clone(), file)?;
        moved.push(Moved { table: table.name, tally });
        moved.last().into_iter().for_each(&mut *tell);
    }
    for sequence in server.sequences()? {
        let next = server.next_of(&sequence)?;
        folder.sequence(sequence, next);
    }
    folder.finish()?;
    Ok(moved)
}
