//! The gate around the registry: every write transaction of a worker passes it under the names of its statements. To know
//! them it is run once and undone, as a database may do with any of them.

use std::sync::{Arc, Mutex, PoisonError};

use strongroom_database::{Database, DatabaseError, Isolation, Row, Statement, Time, Transaction, Value, WriteJob};

use crate::gate::{Gate, Passage};
use crate::installation::STORES;

/// What the runtime does by the clock, beside the tasks.
const BESIDE: [&str; 2] = ["sweeper", "heartbeat"];

/// A database behind a gate.
pub(crate) struct GatedDatabase {
    pub(crate) inner: Arc<dyn Database>,
    pub(crate) gate: Arc<Gate>,
}

impl Database for GatedDatabase {
    fn write_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        if !self.gate.stand_by() {
            return Err(gone());
        }
        if std::thread::current().name().is_some_and(|name| BESIDE.contains(&name)) {
            return self.inner.write_job(job, isolation);
        }
        let job = Arc::new(Mutex::new(job));
        let name = self.name_of(&job, isolation);
        match self.gate.pass(&name) {
            Passage::Go => self.inner.write_job(again(&job), isolation),
            Passage::Fail => {
                let detail = "a planned disturbance".to_owned();
                Err(DatabaseError::Unavailable { act: "begin a transaction".into(), detail })
            }
            Passage::LoseAnswer => {
                self.inner.write_job(again(&job), isolation)?;
                Err(DatabaseError::InDoubt { detail: "a planned disturbance".into() })
            }
            Passage::Dead => Err(gone()),
        }
    }

    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.gate.stand_by();
        self.inner.read_job(job)
    }

    fn dialect(&self) -> &'static str {
        self.inner.dialect()
    }

    fn revision(&self) -> Result<u64, DatabaseError> {
        self.inner.revision()
    }
}

/// An error after which nothing is tried again.
fn gone() -> DatabaseError {
    DatabaseError::Aborted("the engine is dead".into())
}

fn again(job: &Arc<Mutex<WriteJob>>) -> WriteJob {
    let job = job.clone();
    Box::new(move |tx| (job.lock().unwrap_or_else(PoisonError::into_inner))(tx))
}

impl GatedDatabase {
    /// The statements of a job, and the stores it names.
    fn name_of(&self, job: &Arc<Mutex<WriteJob>>, isolation: Isolation) -> String {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (told, mut job) = (said.clone(), again(job));
        let rehearsal: WriteJob = Box::new(move |tx| {
            told.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let mut heard = Heard { inner: tx, said: &told };
            job(&mut heard)?;
            Err(DatabaseError::Aborted("only to learn its name".into()))
        });
        // It always fails: that is what undoes it.
        let _ = self.inner.write_job(rehearsal, isolation);
        let said = said.lock().unwrap_or_else(PoisonError::into_inner);
        format!("transaction {}", said.join(" "))
    }
}

/// A transaction that takes note of what runs in it.
struct Heard<'t> {
    inner: &'t mut dyn Transaction,
    said: &'t Mutex<Vec<String>>,
}

impl Heard<'_> {
    fn say(&self, statement: Statement, values: &[Value]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let store = values.iter().find_map(|value| match value {
            Value::Text(text) if STORES.contains(&text.as_str()) => Some(text.as_str()),
            _ => None,
        });
        let named = store.map_or_else(|| statement.0.to_owned(), |store| format!("{}({store})", statement.0));
        if !said.contains(&named) {
            said.push(named);
        }
    }
}

impl Transaction for Heard<'_> {
    fn execute(&mut self, statement: Statement, values: &[Value]) -> Result<u64, DatabaseError> {
        self.say(statement, values);
        self.inner.execute(statement, values)
    }

    fn execute_each(
        &mut self,
        statement: Statement,
        lists: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        self.say(statement, &[]);
        self.inner.execute_each(statement, lists)
    }

    fn query_each(
        &mut self,
        statement: Statement,
        values: &[Value],
        take: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.say(statement, values);
        self.inner.query_each(statement, values, take)
    }

    fn now(&mut self) -> Result<Time, DatabaseError> {
        self.inner.now()
    }

    fn runs_alone(&self) -> bool {
        self.inner.runs_alone()
    }
}
