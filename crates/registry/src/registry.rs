//! The registry as a whole: a database opened with every statement and migration, and where work is announced.

use std::path::Path;
use std::sync::Arc;

use strongroom_database::{Clock, Database, DatabaseError, Migration, Sqlite, Statements, Transaction};
use strongroom_queue::Wakeups;

use crate::RegistryError;

/// The record of one home. Cheap to clone; all clones share the database and the wake-ups.
#[derive(Clone)]
pub struct Registry {
    database: Arc<dyn Database>,
    wakeups: Arc<Wakeups>,
    /// Why nothing may be changed, where that is so.
    refusal: Option<Arc<str>>,
}

/// Every statement that the registry and its queue use, in SQLite's dialect.
pub fn statements() -> Statements {
    strongroom_queue::statements("sqlite")
        .with(include_str!("../sql/sqlite/tenants.sql"))
        .with(include_str!("../sql/sqlite/items.sql"))
        .with(include_str!("../sql/sqlite/interim.sql"))
        .with(include_str!("../sql/sqlite/objects.sql"))
        .with(include_str!("../sql/sqlite/fixity.sql"))
        .with(include_str!("../sql/sqlite/identification.sql"))
        .with(include_str!("../sql/sqlite/rebuild.sql"))
}

/// The schema's history, oldest first.
pub fn migrations() -> Vec<Migration> {
    vec![
        Migration { version: 1, name: "task queue", sql: strongroom_queue::SQLITE_SCHEMA_1 },
        Migration { version: 2, name: "records", sql: include_str!("../sql/sqlite/migrations/0001_records.sql") },
        Migration { version: 3, name: "indexes", sql: include_str!("../sql/sqlite/migrations/0002_indexes.sql") },
        Migration { version: 4, name: "formats", sql: include_str!("../sql/sqlite/migrations/0003_formats.sql") },
        Migration { version: 5, name: "generations", sql: include_str!("../sql/sqlite/migrations/0004_generations.sql") },
    ]
}

impl Registry {
    /// Opens the SQLite registry at `path`, making or migrating it.
    pub fn open_sqlite(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, RegistryError> {
        let database: Arc<dyn Database> = Arc::new(Sqlite::open(path, statements(), &migrations(), clock)?);
        Ok(Self { database, wakeups: Arc::new(Wakeups::default()), refusal: None })
    }

    /// The same registry, in which nothing can be changed; `reason` is told to whoever tries.
    #[must_use]
    pub fn read_only(&self, reason: &str) -> Self {
        Self { refusal: Some(reason.into()), ..self.clone() }
    }

    /// Why nothing may be changed, where that is so.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    fn check_writable(&self) -> Result<(), DatabaseError> {
        self.refusal.as_ref().map_or(Ok(()), |reason| Err(DatabaseError::ReadOnly { reason: reason.to_string() }))
    }

    /// The database itself.
    pub fn database(&self) -> &Arc<dyn Database> {
        &self.database
    }

    /// Where workers of this process wait for work.
    pub fn wakeups(&self) -> &Arc<Wakeups> {
        &self.wakeups
    }

    /// Runs a write transaction; see [`Database::write_job`].
    pub fn write<T, E, F>(&self, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.check_writable()?;
        self.database.write(job)
    }

    /// Runs a write transaction that returns the topics it put work into, and wakes those who wait for them.
    pub fn write_and_wake<E, F>(&self, job: F) -> Result<(), E>
    where
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<Vec<String>, E> + Send + 'static,
    {
        self.check_writable()?;
        let topics = self.database.write(job)?;
        self.wakeups.notify(topics.iter().map(String::as_str));
        Ok(())
    }

    /// Runs a read transaction: one consistent state.
    pub fn read<T, E, F>(&self, job: F) -> Result<T, E>
    where
        E: From<DatabaseError>,
        F: FnMut(&mut dyn Transaction) -> Result<T, E>,
    {
        self.database.read(job)
    }
}
