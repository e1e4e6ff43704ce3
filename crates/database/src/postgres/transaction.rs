//! Statements within one open transaction. A statement whose parameters are all arrays works on many value lists at once:
//! the lists are turned into columns, and a thousand rows cost one exchange with the server.

use std::pin::Pin;

use futures_util::future::{join, try_join_all};
use futures_util::{StreamExt, TryStreamExt};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, RowStream};

use crate::transaction::Asked;
use crate::{DatabaseError, Row, Statement, Statements, Time, Transaction, Value};

use super::connection::{Connection, Prepared, last_row};
use super::failure::{Act, ErrorClass, explain, trouble};
use super::values::{Bound, owned};
use super::{NOW, Shared};

/// Value lists that go to the server at once.
const GROUP: usize = 1_000;
const BEGIN: &str = "begin a transaction";
/// Rows that are taken from the server before they are handed over.
const ROWS_AT_ONCE: usize = 256;
/// The column by which an answer says which value list it is for, from 1.
const PLACE: &str = "place";

/// Whether the server has begun a transaction.
pub(super) enum Begun {
    /// Not yet: this SQL does it, together with the first statement.
    No(String),
    /// It has, with this answer.
    Yes(Vec<Option<String>>),
    /// It was asked to, and did not.
    Refused,
}

/// A transaction; the caller that made it ends it.
pub(super) struct PostgresTransaction<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) statements: &'c Statements,
    pub(super) shown: &'c str,
    pub(super) shared: &'c Shared,
    pub(super) begun: Begun,
    /// Its time; none where it has not begun, and in a read that has not asked for it.
    pub(super) now: Option<Time>,
    /// Why it cannot go on, if something came between.
    pub(super) trouble: Option<ErrorClass>,
    /// The first error of a statement: from there the server refuses all others.
    pub(super) failure: Option<String>,
    /// Whether a statement has succeeded.
    pub(super) has_succeeded: bool,
}

impl PostgresTransaction<'_> {
    fn failed(&mut self, statement: Statement, error: &Error) -> DatabaseError {
        self.failed_at(Act::Statement(statement.0), error)
    }

    fn failed_at(&mut self, act: Act, error: &Error) -> DatabaseError {
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

    /// As [`Self::prepare`], for a statement that works on one value list.
    fn prepare_one(&mut self, statement: Statement, given: usize) -> Result<Prepared, DatabaseError> {
        let prepared = self.prepare(statement, Some(given))?;
        if prepared.is_grouped {
            return Err(DatabaseError::Statement {
                statement: statement.0,
                detail: "it works on many value lists, and was used for one".into(),
            });
        }
        Ok(prepared)
    }

    /// One exchange with the server, which begins the transaction as well where it has not begun yet.
    ///
    /// What is asked goes together with what begins the transaction only where it changes nothing (`is_query`): where the server
    /// refused to begin, it would be a transaction of its own.
    fn exchange<T>(
        &mut self,
        act: Act,
        is_query: bool,
        ask: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, DatabaseError> {
        let begin = match &mut self.begun {
            Begun::Yes(_) => None,
            Begun::No(begin) => Some(std::mem::take(begin)),
            Begun::Refused => return Err(DatabaseError::Aborted(self.failure.clone().unwrap_or_default())),
        };
        let client = &mut self.connection.client;
        let outcome = match begin {
            None => client.run(ask),
            Some(begin) => {
                self.begun = Begun::Refused;
                let both = client.run(async |requests| {
                    let began = requests.simple_query(&begin);
                    if !is_query {
                        let answer = began.await?;
                        return Ok((answer, ask(requests).await));
                    }
                    let (answer, outcome) = join(began, ask(requests)).await;
                    Ok((answer?, outcome))
                });
                let (answer, outcome) = both.map_err(|error| self.failed_at(Act::Other(BEGIN), &error))?;
                let answer = last_row(&answer);
                if let Some(now) = answer.get(1) {
                    self.now = Some(self.shared.now(now.as_deref()));
                }
                self.begun = Begun::Yes(answer);
                outcome
            }
        };
        outcome.map_err(|error| self.failed_at(act, &error))
    }

    fn run(
        &mut self,
        statement: Statement,
        prepared: &Prepared,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, DatabaseError> {
        let changed = self.exchange(Act::Statement(statement.0), prepared.is_query, async |requests| {
            requests.execute(&prepared.statement, parameters).await
        })?;
        self.has_succeeded = true;
        Ok(changed)
    }

    /// Hands rows over one by one, with memory that does not grow with their number. They are handed over between exchanges: who takes
    /// them may wait for something else.
    fn stream(
        &mut self,
        statement: Statement,
        prepared: &Prepared,
        parameters: &[&(dyn ToSql + Sync)],
        take: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let act = Act::Statement(statement.0);
        let (mut rows, mut coming) = self.exchange(act, prepared.is_query, async |requests| {
            let coming = requests.query_raw(&prepared.statement, parameters.iter().copied()).await?;
            some_rows(Box::pin(coming)).await
        })?;
        self.has_succeeded = true;
        loop {
            for row in rows {
                take(owned(&row, &prepared.columns)?)?;
            }
            let Some(more) = coming else { return Ok(()) };
            (rows, coming) =
                self.connection.client.go_on(some_rows(more)).map_err(|error| self.failed_at(act, &error))?;
        }
    }
}

/// Rows that came, and where more may come from.
type Rows = (Vec<tokio_postgres::Row>, Option<Pin<Box<RowStream>>>);

/// The next rows of an answer.
async fn some_rows(mut coming: Pin<Box<RowStream>>) -> Result<Rows, Error> {
    let mut rows = Vec::new();
    while rows.len() < ROWS_AT_ONCE {
        match coming.next().await {
            Some(row) => rows.push(row?),
            None => return Ok((rows, None)),
        }
    }
    Ok((rows, Some(coming)))
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

/// What one request of several that go together carries.
struct Request<'a> {
    /// Which of the statements it is of, and the first of its value lists.
    place: usize,
    first: usize,
    prepared: Prepared,
    parameters: Vec<Box<dyn ToSql + Sync + 'a>>,
}

/// The parameters for these value lists: all of them where the statement is grouped, else the only one.
fn parameters<'a>(
    statement: Statement,
    prepared: &Prepared,
    lists: &'a [Vec<Value>],
) -> Result<Vec<Box<dyn ToSql + Sync + 'a>>, DatabaseError> {
    let width = prepared.statement.params().len();
    if let Some(other) = lists.iter().find(|list| list.len() != width) {
        return Err(DatabaseError::Statement {
            statement: statement.0,
            detail: format!("it takes {width} values and was given {}", other.len()),
        });
    }
    let column = |place: usize| lists.iter().filter_map(move |list| list.get(place)).map(Bound);
    Ok((0..width)
        .map(|place| -> Box<dyn ToSql + Sync + 'a> {
            match column(place).next() {
                Some(value) if !prepared.is_grouped => Box::new(value),
                _ => Box::new(column(place).collect::<Vec<_>>()),
            }
        })
        .collect())
}

/// Which value list of its request a row is the answer to, from 0.
fn place_of(row: &Row) -> Result<usize, DatabaseError> {
    let place = row.count(PLACE)?;
    let from_zero = place.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    from_zero.ok_or_else(|| no_place(place as usize))
}

fn set_answer(answers: &mut [Option<Row>], place: usize, row: Row) -> Result<(), DatabaseError> {
    *answers.get_mut(place).ok_or_else(|| no_place(place + 1))? = Some(row);
    Ok(())
}

fn no_place(place: usize) -> DatabaseError {
    DatabaseError::Column {
        column: PLACE.into(),
        wanted: "the place of a value list, from 1",
        found: place.to_string(),
    }
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
                        let place = place_of(&row)?;
                        set_answer(&mut answers, first + place, row)
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
        let prepared = self.prepare_one(statement, values.len())?;
        with_values(values, |parameters| self.stream(statement, &prepared, parameters, take))
    }

    fn query_together(&mut self, asked: &[Asked]) -> Result<Vec<Vec<Option<Row>>>, DatabaseError> {
        let mut requests = Vec::with_capacity(asked.len());
        for (place, one) in asked.iter().enumerate() {
            let prepared = self.prepare(one.statement, None)?;
            let size = if prepared.is_grouped { GROUP } else { 1 };
            for (number, lists) in one.lists.chunks(size).enumerate() {
                let parameters = parameters(one.statement, &prepared, lists)?;
                requests.push(Request { place, first: number * size, prepared: prepared.clone(), parameters });
            }
        }
        let is_query = requests.iter().all(|one| one.prepared.is_query);
        let act = Act::Statement(asked.first().map_or("", |one| one.statement.0));
        let answers = self.exchange(act, is_query, async |client| {
            let answers = requests.iter().map(async |request| {
                let parameters = request.parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync));
                let answer = async {
                    let rows = client.query_raw(&request.prepared.statement, parameters).await?;
                    let keep = async |mut kept: Vec<_>, row| {
                        if !request.prepared.is_grouped {
                            kept.clear();
                        }
                        kept.push(row);
                        Ok(kept)
                    };
                    rows.try_fold(Vec::new(), keep).await
                };
                answer.await.map_err(|error| (request.place, error))
            });
            Ok(try_join_all(answers).await)
        })?;
        let answers = answers.map_err(|(place, error)| {
            self.failed(asked.get(place).map_or(Statement(""), |one| one.statement), &error)
        })?;
        self.has_succeeded = true;
        let mut found: Vec<Vec<Option<Row>>> = asked.iter().map(|one| vec![None; one.lists.len()]).collect();
        for (request, rows) in requests.iter().zip(&answers) {
            let Some(found) = found.get_mut(request.place) else { continue };
            for row in rows {
                let row = owned(row, &request.prepared.columns)?;
                let place = if request.prepared.is_grouped { place_of(&row)? } else { 0 };
                set_answer(found, request.first + place, row)?;
            }
        }
        Ok(found)
    }

    fn known_now(&mut self) -> Result<Option<Time>, DatabaseError> {
        if self.now.is_none() && self.shared.clock.is_none() { Ok(None) } else { self.now().map(Some) }
    }

    fn now(&mut self) -> Result<Time, DatabaseError> {
        if let Some(now) = self.now {
            return Ok(now);
        }
        let told = if self.shared.clock.is_some() {
            None
        } else {
            let sql = format!("SELECT {NOW}");
            let answer = self
                .exchange(Act::Other("ask for the time"), true, async |requests| requests.simple_query(&sql).await)?;
            last_row(&answer).into_iter().next().flatten()
        };
        // A transaction that writes is told its time where it begins.
        let now = self.now.unwrap_or_else(|| self.shared.now(told.as_deref()));
        self.now = Some(now);
        Ok(now)
    }

    fn runs_alone(&self) -> bool {
        false
    }
}
