//! Where a database is, by its URL, and the one place where an engine is picked for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{
    Database, DatabaseError, Migration, Postgres, PostgresSettings, Sqlite, Statements, SystemClock, Upgraded,
};

/// Where a database is.
#[derive(Clone)]
pub enum Location {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A database of a PostgreSQL server.
    Postgres {
        /// `postgres://user@host:port/database?...`
        url: String,
        /// How it is used.
        settings: PostgresSettings,
    },
}

impl Location {
    /// Reads `sqlite:PATH`, where a relative path begins at `folder`, or `postgres://...`, with settings to be changed as
    /// wanted.
    pub fn parse(url: &str, folder: &Path) -> Result<Self, DatabaseError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return Ok(Self::Sqlite(folder.join(path)));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres { url: url.to_owned(), settings: PostgresSettings::default() });
        }
        // A URL may hold a password behind its scheme.
        let shown = match url.split_once(':') {
            Some((scheme, _)) => format!("{scheme}:..."),
            None if url.contains('@') => "...".to_owned(),
            None => url.to_owned(),
        };
        Err(DatabaseError::Address { shown })
    }

    /// The dialect's folder name: `sqlite` or `postgres`.
    pub fn dialect(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres { .. } => "postgres",
        }
    }
}

impl fmt::Display for Location {
    /// For people: without a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres { url, settings } => f.write_str(&Postgres::shown(url, settings)),
        }
    }
}

/// Whether there is a database of ours at `location`, of whatever version. Nothing is made or changed.
pub fn exists(location: &Location) -> Result<bool, DatabaseError> {
    match location {
        Location::Sqlite(path) => path.try_exists().map_err(|error| DatabaseError::Unavailable {
            act: "find the database".into(),
            detail: format!("{}: {error}", path.display()),
        }),
        Location::Postgres { url, settings } => Postgres::exists(url, settings),
    }
}

/// What a program brings to a database, in its dialect.
pub struct Schema {
    /// The statements it uses.
    pub statements: Statements,
    /// The history of its tables, oldest first.
    pub migrations: Vec<Migration>,
}

/// Opens the database at `location`, making its tables where there are none; [`upgrade`] brings older ones up to date.
/// `schema` gives what belongs to the dialect. SQLite goes by the machine's clock.
///
/// # Errors
/// [`DatabaseError::OlderSchema`] where its tables are older than the last migration.
pub fn open(location: &Location, schema: impl FnOnce(&str) -> Schema) -> Result<Arc<dyn Database>, DatabaseError> {
    let Schema { statements, migrations } = schema(location.dialect());
    Ok(match location {
        Location::Sqlite(path) => Arc::new(Sqlite::open_current(path, statements, &migrations, Arc::new(SystemClock))?),
        Location::Postgres { url, settings } => {
            Arc::new(Postgres::open_current(url, settings.clone(), statements, &migrations)?)
        }
    })
}

/// Brings the tables of the database at `location` up to the last of `migrations`. A SQLite file is copied first, beside it,
/// where that changes anything. Of several programs that do so at once one does it, and the others wait.
pub fn upgrade(location: &Location, migrations: &[Migration]) -> Result<Upgraded, DatabaseError> {
    match location {
        Location::Sqlite(path) => Sqlite::upgrade(path, migrations, &SystemClock),
        Location::Postgres { url, settings } => Postgres::upgrade(url, settings, migrations),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sought_in_the_folder_and_an_unknown_scheme_refused() {
        let parse = |url| Location::parse(url, Path::new("/home"));
        assert!(
            matches!(parse("sqlite:registry.db"), Ok(Location::Sqlite(path)) if path == Path::new("/home/registry.db"))
        );
        assert!(
            matches!(parse("sqlite:/elsewhere/r.db"), Ok(Location::Sqlite(path)) if path == Path::new("/elsewhere/r.db"))
        );
        assert_eq!(parse("postgres://h/d").expect("reads").dialect(), "postgres");
        let error = parse("mysql://u:secret@h/d").err().expect("is refused").to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
