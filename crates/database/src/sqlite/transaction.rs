//! Statements within one open SQLite transaction.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

use crate::{DatabaseError, Row, Statement, Time, Transaction, Value};

use super::Shared;
use super::failure::{Act, explain};

/// An open transaction; the caller that made it begins and ends it.
pub(super) struct SqliteTransaction<'c> {
    pub(super) connection: &'c Connection,
    pub(super) shared: &'c Shared,
    pub(super) now: Time,
    pub(super) reading: bool,
}

impl<'c> SqliteTransaction<'c> {
    fn act(&self, statement: Statement) -> Act {
        if self.reading { Act::Read(statement.0) } else { Act::Write(statement.0) }
    }

    fn failed(&self, statement: Statement, error: &rusqlite::Error) -> DatabaseError {
        explain(&self.shared.path, self.act(statement), error)
    }

    fn prepare(&self, statement: Statement) -> Result<CachedStatement<'c>, DatabaseError> {
        let sql = self.shared.statements.sql(statement).ok_or_else(|| DatabaseError::Statement {
            statement: statement.0,
            detail: "there is no statement of this name".into(),
        })?;
        self.connection.prepare_cached(sql).map_err(|error| self.failed(statement, &error))
    }

    fn bind(
        &self,
        statement: Statement,
        prepared: &mut CachedStatement<'_>,
        values: &[Value],
    ) -> Result<(), DatabaseError> {
        if prepared.parameter_count() != values.len() {
            return Err(DatabaseError::Statement {
                statement: statement.0,
                detail: format!("it takes {} values and was given {}", prepared.parameter_count(), values.len()),
            });
        }
        for (position, value) in values.iter().enumerate() {
            prepared.raw_bind_parameter(position + 1, Bound(value)).map_err(|error| self.failed(statement, &error))?;
        }
        Ok(())
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn execute(&mut self, statement: Statement, values: &[Value]) -> Result<u64, DatabaseError> {
        let mut prepared = self.prepare(statement)?;
        self.bind(statement, &mut prepared, values)?;
        prepared.raw_execute().map(|changed| changed as u64).map_err(|error| self.failed(statement, &error))
    }

    fn execute_each(
        &mut self,
        statement: Statement,
        lists: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        let mut prepared = self.prepare(statement)?;
        let mut changed = 0;
        for values in lists {
            self.bind(statement, &mut prepared, &values)?;
            changed += prepared.raw_execute().map_err(|error| self.failed(statement, &error))? as u64;
        }
        Ok(changed)
    }

    fn query_each(
        &mut self,
        statement: Statement,
        values: &[Value],
        take: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let mut prepared = self.prepare(statement)?;
        self.bind(statement, &mut prepared, values)?;
        let columns = self.shared.columns_of(statement, &prepared);
        let width = prepared.column_count();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().map_err(|error| self.failed(statement, &error))? {
            let mut taken = Vec::with_capacity(width);
            for column in 0..width {
                let value = row.get_ref(column).map_err(|error| self.failed(statement, &error))?;
                taken.push(owned(row.as_ref(), column, value)?);
            }
            take(Row::new(&columns, taken))?;
        }
        Ok(())
    }

    fn now(&mut self) -> Result<Time, DatabaseError> {
        Ok(self.now)
    }

    fn runs_alone(&self) -> bool {
        true
    }
}

/// A value as SQLite binds it, without a copy of ours.
struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
            Value::Uuid(uuid) => ValueRef::Blob(uuid.as_bytes()),
        }))
    }
}

fn owned(statement: &rusqlite::Statement<'_>, column: usize, value: ValueRef<'_>) -> Result<Value, DatabaseError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|error| DatabaseError::Column {
                column: statement.column_name(column).unwrap_or_default().to_owned().into(),
                wanted: "UTF-8 text",
                found: error.to_string(),
            })?;
            Value::Text(text.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    })
}
