//! Record lists kept in a SQL database: each call of [`RecordLists`] is one of the functions of [`lists`] in a transaction of its own.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::{Database, Isolation, Time, Transaction};

use crate::{
    Added, Addition, Chunk, ChunkLease, ClaimRequest, Copied, Cursor, Ending, Finished, From, ListId, ListStatus, Page,
    Population, PopulationRequest, RecordLists, RecordState, RecordsError, Returned, lists,
};

/// Record lists in a database whose schema holds their tables.
#[derive(Clone)]
pub struct DatabaseRecordLists {
    database: Arc<dyn Database>,
}

impl DatabaseRecordLists {
    /// The lists in `database`.
    pub fn new(database: Arc<dyn Database>) -> Self {
        Self { database }
    }

    fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut dyn Transaction) -> Result<T, RecordsError> + Send + 'static,
    ) -> Result<T, RecordsError> {
        self.database.write_as(Isolation::ReadCommitted, job)
    }
}

impl RecordLists for DatabaseRecordLists {
    fn create(&self, list: ListId) -> Result<(), RecordsError> {
        self.write(move |tx| lists::create(tx, list))
    }

    fn take_population(&self, request: &PopulationRequest) -> Result<Option<Population>, RecordsError> {
        let request = request.clone();
        self.write(move |tx| lists::take_population(tx, &request))
    }

    fn extend_population(&self, population: &Population, lease: Duration) -> Result<Time, RecordsError> {
        let population = population.clone();
        self.write(move |tx| lists::extend_population(tx, &population, lease))
    }

    fn release_population(&self, population: &Population) -> Result<(), RecordsError> {
        let population = population.clone();
        self.write(move |tx| lists::release_population(tx, &population))
    }

    fn add(&self, population: &Population, addition: &Addition) -> Result<Added, RecordsError> {
        let (population, addition) = (population.clone(), addition.clone());
        self.write(move |tx| lists::add(tx, &population, &addition))
    }

    fn add_from(&self, population: &Population, from: From, limit: usize) -> Result<Copied, RecordsError> {
        let population = population.clone();
        self.write(move |tx| lists::add_from(tx, &population, from, limit))
    }

    fn reopen(&self, list: ListId) -> Result<bool, RecordsError> {
        self.write(move |tx| lists::reopen(tx, list))
    }

    fn claim(&self, request: &ClaimRequest) -> Result<Option<Chunk>, RecordsError> {
        let request = request.clone();
        self.write(move |tx| lists::claim(tx, &request))
    }

    fn extend(&self, leases: &[ChunkLease], lease: Duration) -> Result<Vec<bool>, RecordsError> {
        let leases = leases.to_vec();
        self.write(move |tx| lists::extend(tx, &leases, lease))
    }

    fn finish(&self, lease: ChunkLease, endings: &[Ending]) -> Result<Finished, RecordsError> {
        let endings = endings.to_vec();
        self.write(move |tx| lists::finish(tx, lease, &endings))
    }

    fn return_expired(&self, limit: usize) -> Result<Vec<Returned>, RecordsError> {
        self.write(move |tx| lists::return_expired(tx, limit))
    }

    fn return_of_worker(&self, worker: &str, limit: usize) -> Result<Vec<Returned>, RecordsError> {
        let worker = worker.to_owned();
        self.write(move |tx| lists::return_of_worker(tx, &worker, limit))
    }

    fn status(&self, list: ListId) -> Result<ListStatus, RecordsError> {
        self.database.read(|tx| lists::status(tx, list))
    }

    fn page(&self, list: ListId, state: RecordState, after: Cursor, limit: usize) -> Result<Page, RecordsError> {
        self.database.read(|tx| lists::page(tx, list, (state, after), limit))
    }

    fn retry_failed(&self, list: ListId, until: Time, limit: usize) -> Result<u64, RecordsError> {
        self.write(move |tx| lists::retry_failed(tx, list, until, limit))
    }

    fn cancel_rest(&self, list: ListId, limit: usize) -> Result<u64, RecordsError> {
        self.write(move |tx| lists::cancel_rest(tx, list, limit))
    }

    fn remove(&self, list: ListId, limit: usize) -> Result<bool, RecordsError> {
        self.write(move |tx| lists::remove(tx, list, limit))
    }

    fn remove_records(&self, list: ListId, limit: usize) -> Result<bool, RecordsError> {
        self.write(move |tx| lists::remove_records(tx, list, limit))
    }

    fn outcome(&self, list: ListId) -> Result<Option<(ListStatus, bool)>, RecordsError> {
        self.database.read(|tx| lists::outcome(tx, list))
    }

    fn being_removed(&self, limit: usize) -> Result<Vec<ListId>, RecordsError> {
        self.database.read(|tx| lists::being_removed(tx, limit))
    }
}
