//! Statements within one open transaction. A statement whose parameters are all arrays works on many value lists at once:
//! the lists are turned into columns, and a thousand rows cost one exchange with the server.

use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;

use crate::{DatabaseError, Row, Statement, Statements, Time, Transaction, Value};

use super::connection::{Connection, Prepared};
use super::failure::{Act, ErrorClass, explain, trouble};
use super::values::{Bound, owned};
use super::{NOW, Shared};

/// Value lists that go to the server at once.
const GROUP: usize = 1_000;
/// The column by which an answer says which value list it is for, from 1.
const PLACE: &str = "place";

/// An open transaction; the caller that made it begins and ends it.
pub(super) struct PostgresTransaction<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) statements: &'c Statements,
    pub(super) shown: &'c str,
    pub(super) shared: &'c Shared,
    /// The time of the transaction; none in a read that has not asked for it.
    pub(super) now: Option<Time>,
    /// Why it cannot go on, if something came between.
    pub(super) trouble: Option<ErrorClass>,
    /// The first error of a statement: from there the server refuses all others.
    pub(super) failure: Option<String>,
    /// Whether a statement has succeeded.
    pub(super) has_begun: bool,
}

impl PostgresTransaction<'_> {
    fn failed(&mut self, statement: Statement, error: &postgres::Error) -> DatabaseError {
        self.failed_at(Act::Statement(statement.0), error)
    }

    fn failed_at(&mut self, act: Act, error: &postgres::Error) -> DatabaseError {
        let explained = explain(self.shown, act, error);
        // The first trouble is the cause of all that follow.
        if self.failure.is_none() {
            self.trouble = trouble(error);
            self.failure = Some(explained.to_string());
        }
        explained
    }

    fn prepare(&mut self, statement: Statement, given: Option<usize>) -> Result<Prepared, DatabaseError> {
        let prepared = match self.connection.prepared(self.statements, statement)? {
            Ok(prepared) => prepared,
            Err(error) => return Err(self.failed(statement, &error)),
        };
        let wanted = prepared.statement.params().len();
        match given {
            Some(given) if given != wanted => Err(DatabaseError::Statement {
                statement: statement.0,
                detail: format!("it takes {wanted} values and was given {given}"),
            }),
            _ => Ok(prepared),
        }
    }

    fn run(
        &mut self,
        statement: Statement,
        prepared: &Prepared,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, DatabaseError> {
        let outcome = self.connection.client.execute(&prepared.statement, parameters);
        self.has_begun |= outcome.is_ok();
        outcome.map_err(|error| self.failed(statement, &error))
    }

    /// Hands rows over one by one as they come from the server.
    fn stream(
        &mut self,
        statement: Statement,
        prepared: &Prepared,
        parameters: &[&(dyn ToSql + Sync)],
        take: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let outcome = (|| {
            let mut rows = match self.connection.client.query_raw(&prepared.statement, parameters.iter().copied()) {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(error)),
            };
            loop {
                match rows.next() {
                    Ok(Some(row)) => take(owned(&row, &prepared.columns)?)?,
                    Ok(None) => return Ok(Ok(())),
                    Err(error) => return Ok(Err(error)),
                }
            }
        })()?;
        self.has_begun |= outcome.is_ok();
        outcome.map_err(|error| self.failed(statement, &error))
    }
}

/// Takes the next value lists as columns: how many lists, and the values in order of their columns.
fn columns(
    statement: Statement,
    width: usize,
    lists: &mut dyn Iterator<Item = Vec<Value>>,
) -> Result<(usize, Vec<Vec<Value>>), DatabaseError> {
    let mut columns: Vec<Vec<Value>> = (0..width).map(|_| Vec::new()).collect();
    let mut count = 0;
    for list in lists.take(GROUP) {
        if list.len() != width {
            return Err(DatabaseError::Statement {
                statement: statement.0,
                detail: format!("it takes {width} values and was given {}", list.len()),
            });
        }
        for (column, value) in columns.iter_mut().zip(list) {
            column.push(value);
        }
        count += 1;
    }
    Ok((count, columns))
}

/// Calls `run` with the parameters for these columns.
fn with_columns<T>(columns: &[Vec<Value>], run: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let bound: Vec<Vec<Bound<'_>>> = columns.iter().map(|column| column.iter().map(Bound).collect()).collect();
    let parameters: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|column| column as &(dyn ToSql + Sync)).collect();
    run(&parameters)
}

fn with_values<T>(values: &[Value], run: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let bound: Vec<Bound<'_>> = values.iter().map(Bound).collect();
    let parameters: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    run(&parameters)
}

impl Transaction for PostgresTransaction<'_> {
    fn execute(&mut self, statement: Statement, values: &[Value]) -> Result<u64, DatabaseError> {
        let prepared = self.prepare(statement, Some(values.len()))?;
        if prepared.is_grouped {
            return self.execute_each(statement, &mut std::iter::once(values.to_vec()));
        }
        with_values(values, |parameters| self.run(statement, &prepared, parameters))
    }

    fn execute_each(
        &mut self,
        statement: Statement,
        lists: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        let prepared = self.prepare(statement, None)?;
        let width = prepared.statement.params().len();
        let mut changed = 0;
        if prepared.is_grouped {
            loop {
                let (count, columns) = columns(statement, width, lists)?;
                if count > 0 {
                    changed += with_columns(&columns, |parameters| self.run(statement, &prepared, parameters))?;
                }
                if count < GROUP {
                    return Ok(changed);
                }
            }
        }
        for values in lists {
            self.prepare(statement, Some(values.len()))?;
            changed += with_values(&values, |parameters| self.run(statement, &prepared, parameters))?;
        }
        Ok(changed)
    }

    fn query_many(
        &mut self,
        statement: Statement,
        lists: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<Vec<Option<Row>>, DatabaseError> {
        let prepared = self.prepare(statement, None)?;
        let mut answers = Vec::new();
        if !prepared.is_grouped {
            for values in lists {
                answers.push(self.query_one(statement, &values)?);
            }
            return Ok(answers);
        }
        let width = prepared.statement.params().len();
        loop {
            let (count, columns) = columns(statement, width, lists)?;
            let first = answers.len();
            answers.resize(first + count, None);
            if count > 0 {
                with_columns(&columns, |parameters| {
                    self.stream(statement, &prepared, parameters, &mut |row| {
                        let place = row.count(PLACE)?.checked_sub(1).map(|place| first + place as usize);
                        let answer = place.and_then(|place| answers.get_mut(place));
                        let answer = answer.ok_or_else(|| DatabaseError::Column {
                            column: PLACE.into(),
                            wanted: "the place of a value list, from 1",
                            found: format!("{place:?}"),
                        })?;
                        *answer = Some(row);
                        Ok(())
                    })
                })?;
            }
            if count < GROUP {
                return Ok(answers);
            }
        }
    }

    fn query_each(
        &mut self,
        statement: Statement,
        values: &[Value],
        take: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let prepared = self.prepare(statement, Some(values.len()))?;
        if prepared.is_grouped {
            return Err(DatabaseError::Statement {
                statement: statement.0,
                detail: "it works on many value lists, and was used for one".into(),
            });
        }
        with_values(values, |parameters| self.stream(statement, &prepared, parameters, take))
    }

    fn now(&mut self) -> Result<Time, DatabaseError> {
        if let Some(now) = self.now {
            return Ok(now);
        }
        let told = if self.shared.clock.is_some() {
            None
        } else {
            let row = self.connection.try_first_row(&format!("SELECT {NOW}"));
            row.map_err(|error| self.failed_at(Act::Other("ask for the time"), &error))?.into_iter().next().flatten()
        };
        let now = self.shared.now(told.as_deref());
        self.now = Some(now);
        Ok(now)
    }

    fn runs_alone(&self) -> bool {
        false
    }
}
