//! A connection for moving whole tables: SQL as it is, and COPY in both directions.

use tokio_postgres::SimpleQueryMessage;

use super::address::Address;
use super::client::{CopyIn, CopyOut};
use super::connection::Connection;
use super::failure::{Act, explain};
use super::{schema, tls};
use crate::migration::OlderSchema;
use crate::{DatabaseError, Migration, PostgresSettings};

/// A session of its own.
pub(crate) struct Bare {
    connection: Connection,
    shown: String,
}

impl Bare {
    /// Connects; see [`super::Postgres::open`] for the errors.
    pub(crate) fn open(url: &str, settings: &PostgresSettings) -> Result<Self, DatabaseError> {
        let address = Address::parse(url, settings.password.as_deref())?;
        let connector = tls::connector(&address)?;
        Ok(Self { connection: Connection::open(&address, &connector)?, shown: address.shown })
    }

    /// The address, without its password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Brings the schema up to date. Other sessions that want to do so wait until this one ends.
    pub(crate) fn migrate(&mut self, migrations: &[Migration]) -> Result<(), DatabaseError> {
        schema::migrate(&mut self.connection, &self.shown, migrations, OlderSchema::Migrate).map(drop)
    }

    /// The version of the schema; 0 where there is none.
    pub(crate) fn version(&mut self) -> Result<u32, DatabaseError> {
        schema::version(&mut self.connection, &self.shown)
    }

    /// Runs SQL.
    pub(crate) fn run(&mut self, act: &'static str, sql: &str) -> Result<(), DatabaseError> {
        let outcome = self.connection.client.batch_execute(sql);
        outcome.map_err(|error| self.explain(act, &error))
    }

    /// The rows of a query as texts; NULL is an empty one. For answers of a bounded size.
    pub(crate) fn rows(&mut self, act: &'static str, sql: &str) -> Result<Vec<Vec<String>>, DatabaseError> {
        let messages = self.connection.client.simple_query(sql);
        let messages = messages.map_err(|error| self.explain(act, &error))?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Begins `COPY ... FROM STDIN`.
    pub(crate) fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, DatabaseError> {
        let Self { connection, shown } = self;
        connection.client.copy_in(sql).map_err(|error| explain(shown, Act::Other("fill a table"), &error))
    }

    /// Begins `COPY ... TO STDOUT`.
    pub(crate) fn copy_out(&mut self, sql: &str) -> Result<CopyOut<'_>, DatabaseError> {
        let Self { connection, shown } = self;
        connection.client.copy_out(sql).map_err(|error| explain(shown, Act::Other("read a table"), &error))
    }

    /// Our error for one of the client's.
    pub(crate) fn explain(&self, act: &'static str, error: &tokio_postgres::Error) -> DatabaseError {
        explain(&self.shown, Act::Other(act), error)
    }
}

/// A name as SQL takes it, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
