//! The registry as a whole: a database opened with every statement and migration, and where work is announced.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_database::{
    Clock, Database, DatabaseError, Isolation, Location, Migration, Placeholders, Schema, Sqlite, Statement,
    Statements, Transaction, Upgraded,
};
use strongroom_queue::Wakeups;

use crate::RegistryError;
use crate::hastened::{self, Listener, Listeners};
use crate::workflow::{NoWorkflows, Workflows};

/// The record of one home. Cheap to clone; all clones share the database and the wake-ups.
#[derive(Clone)]
pub struct Registry {
    database: Arc<dyn Database>,
    wakeups: Arc<Wakeups>,
    hastened: Listeners,
    known_schema: u32,
    workflows: Arc<dyn Workflows>,
    /// Why nothing may be changed, where that is so.
    refusal: Option<Arc<str>>,
}

/// The statements of the registry in a dialect: those that all dialects share, and its own.
macro_rules! statements_in {
    ($dialect:literal, $placeholders:expr; $($shared:literal)*; $($own:literal)*) => {
        strongroom_queue::statements($dialect)
            .and(strongroom_records::statements($dialect))
            $(.with_shared($placeholders, include_str!(concat!("../sql/shared/", $shared, ".sql"))))*
            $(.with(include_str!(concat!("../sql/", $dialect, "/", $own, ".sql"))))*
    };
}

/// The migrations of the registry in a dialect, behind that of the queue: the same files in each folder.
macro_rules! migrations_in {
    ($dialect:literal: $($version:literal $name:literal $file:literal)*) => {
        vec![$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../sql/", $dialect, "/migrations/", $file, ".sql")),
        }),*]
    };
}

macro_rules! schema_in {
    ($dialect:literal, $placeholders:expr) => {
        (
            statements_in!($dialect, $placeholders;
                "activities" "audit" "backfill" "deletion_requests" "deletions" "duplication" "fixity" "health" "holds" "identification" "interim" "items" "journal" "legal_holds" "levels" "listing" "manifests" "notifications" "object_ids" "objects" "obstacles" "outbox" "parts" "placements" "problems" "profiles" "provenance" "rebuild"
                "receiving" "reports" "restorations" "restored" "retention" "schema" "search" "spot_tests" "statistics" "stores" "tenants" "tools" "users";
                "activities" "backfill" "deletion_requests" "deletions" "fixity" "identification" "interim" "items" "journal" "legal_holds" "listing" "named" "objects" "outbox" "problems" "provenance" "rebuild"
                "receiving" "reports" "spot_tests" "stores" "tenants" "tools" "users"),
            migrations_in!($dialect:
                2 "records" "0001_records"
                3 "indexes" "0002_indexes"
                4 "formats" "0003_formats"
                5 "generations" "0004_generations"
                6 "receiving" "0005_receiving"
                7 "restored" "0006_restored"
                8 "parts" "0007_parts"
                9 "digests of restored results" "0008_restored_digest"
                10 "discarding" "0009_discarding"
                11 "notices and retention" "0010_notices_and_retention"
                12 "stores" "0011_stores"
                13 "verdicts" "0012_verdicts"
                14 "waits and replacements" "0013_waits_and_replacements"
                15 "marks of stores" "0014_store_marks"
                17 "workflows" "0015_workflows"
                18 "background tasks" "0016_background_tasks"
                19 "attempts of messages" "0017_outbox_attempts"
                20 "journal" "0018_journal"
                21 "profiles" "0019_profiles"
                22 "batches of restorations" "0020_restoration_batches"
                23 "guards of the journal" "0021_journal_guards"
                24 "requests" "0022_requests"
                25 "numbers of work items" "0023_numbers_of_items"
                26 "numbers of lines" "0024_numbers_of_lines"
                27 "undeliverable messages" "0025_undeliverable_messages"
                28 "stores of events" "0026_stores_of_events"
                29 "packages" "0027_packages"
                30 "ARKs" "0028_arks"
                31 "access" "0029_access"
                32 "waits for space" "0032_staging_waits"
                33 "notifications" "0034_notifications"
                34 "holds" "0035_holds"
                35 "rules of collections" "0037_collection_rules"
                36 "reports" "0038_reports"
                37 "whom rules have told" "0039_told_by_rules"
                38 "items to review" "0040_items_to_review"
                39 "reasons of requests" "0041_reasons_of_requests"
                40 "lists of items" "0042_lists_of_items"
                42 "activities" "0043_activities"
                43 "provenance" "0044_provenance"
                44 "stops of batches" "0045_batch_stops"
                45 "findings of tools" "0046_tool_findings"
                46 "lists of batches" "0047_lists_of_batches"
                47 "comparisons of placements" "0049_placement_comparisons"
                49 "outcomes of tools" "0053_outcomes_of_tools"
                50 "activities of work items" "0054_activities_of_items"
                51 "origins" "0056_origins"
                52 "findings of activities" "0058_findings_of_activities"
                53 "errors of attempts" "0059_errors_of_attempts"
                54 "users" "0060_users"
                55 "what actors act by" "0061_actors_by"
                56 "legal holds" "0062_legal_holds"
                57 "spot tests" "0063_spot_tests"
                58 "requests for deletion" "0064_deletion_requests"
                59 "deletions" "0065_deletions"
                60 "bytes of requests for deletion" "0066_deletion_bytes"
                61 "deleted contents by their digests" "0067_deleted_contents"
                62 "audit chains" "0068_audit"
                63 "acts of audit chains" "0069_audit_acts"
                64 "problems" "0070_problems"
                65 "statistics" "0071_statistics"
                66 "audited deletions" "0072_audited_deletions"
                67 "duplication policies" "0073_duplication_policies"
                68 "duplication" "0074_duplication"
                69 "requested placements" "0075_requested_placements"
                70 "acts on content items" "0076_content_acts"),
        )
    };
}

/// The numbers of the queue's revisions among the migrations of the registry.
const QUEUE_VERSIONS: [u32; 2] = [1, 16];
/// Those of the revisions of record lists.
const RECORDS_VERSIONS: [u32; 2] = [41, 48];

/// What the registry, its queue and its record lists bring to a database of this dialect (`sqlite` or `postgres`): every statement, and the
/// schema's history, oldest first. Both dialects have the same versions.
pub fn schema(dialect: &str) -> Schema {
    let (statements, records) = match dialect {
        "postgres" => schema_in!("postgres", Placeholders::Dollars),
        _ => schema_in!("sqlite", Placeholders::QuestionMarks),
    };
    let queue = strongroom_queue::schema(dialect).iter().zip(QUEUE_VERSIONS);
    let queue = queue.map(|(sql, version)| Migration { version, name: "task queue", sql });
    let lists = strongroom_records::schema(dialect).iter().zip(RECORDS_VERSIONS);
    let lists = lists.map(|(sql, version)| Migration { version, name: "record lists", sql });
    let mut migrations: Vec<Migration> = queue.chain(lists).chain(records).collect();
    migrations.sort_by_key(|migration| migration.version);
    Schema { statements, migrations }
}

/// Every statement that the registry and its queue use, in SQLite's dialect.
pub fn statements() -> Statements {
    schema("sqlite").statements
}

/// The schema's history in SQLite's dialect, oldest first.
pub fn migrations() -> Vec<Migration> {
    schema("sqlite").migrations
}

/// Refuses where another program has brought the tables beyond the version that this one knows, while this one was at work.
pub fn check_schema(tx: &mut dyn Transaction, known: u32) -> Result<(), RegistryError> {
    let row = tx.query_one(Statement("schema.version"), &[])?;
    let found = row.map(|row| row.count("version")).transpose()?.unwrap_or(0);
    if found > u64::from(known) { Err(RegistryError::NewerSchema { found, known }) } else { Ok(()) }
}

impl Registry {
    /// Opens the registry at `location`, making its tables where there are none. Older tables are refused: see
    /// [`Self::upgrade`].
    pub fn open(location: &Location) -> Result<Self, RegistryError> {
        Ok(Self::within(strongroom_database::open(location, schema)?))
    }

    /// Brings the tables of the registry at `location` up to what this program knows, after a copy where they are in a
    /// SQLite file.
    pub fn upgrade(location: &Location) -> Result<Upgraded, RegistryError> {
        Ok(strongroom_database::upgrade(location, &schema(location.dialect()).migrations)?)
    }

    /// Opens the SQLite registry at `path`, making or migrating it.
    pub fn open_sqlite(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, RegistryError> {
        Ok(Self::within(Arc::new(Sqlite::open(path, statements(), &migrations(), clock)?)))
    }

    /// The registry within a database that was opened with its [`schema`].
    pub fn within(database: Arc<dyn Database>) -> Self {
        let known_schema = schema(database.dialect()).migrations.last().map_or(0, |last| last.version);
        Self {
            wakeups: Arc::new(Wakeups::through(database.clone())),
            hastened: Listeners::default(),
            database,
            known_schema,
            workflows: Arc::new(NoWorkflows),
            refusal: None,
        }
    }

    /// The version of the tables that this program knows.
    pub fn known_schema(&self) -> u32 {
        self.known_schema
    }

    /// The same registry with these workflows: only of their actions can work items be made, moved on and requeued.
    #[must_use]
    pub fn with_workflows(self, workflows: Arc<dyn Workflows>) -> Self {
        Self { workflows, ..self }
    }

    /// The registered workflows.
    pub fn workflows(&self) -> Arc<dyn Workflows> {
        self.workflows.clone()
    }

    /// The same registry, in which nothing can be changed; `reason` is in the error of each attempt.
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

    /// Calls `listener` when a transaction of this process has made a background task due earlier, for as long as its owner keeps it.
    pub fn listen_for_hastened(&self, listener: &Arc<Listener>) {
        self.hastened.add(listener);
    }

    /// Has `run` run a write transaction, and tells those who wait for a background task where it made one due earlier.
    fn telling<T, E, F>(
        &self,
        mut job: F,
        run: impl FnOnce(&dyn Database, Box<dyn FnMut(&mut dyn Transaction) -> Result<T, E> + Send>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.check_writable()?;
        let is_hastened = Arc::new(AtomicBool::new(false));
        let noted = is_hastened.clone();
        let job = Box::new(move |tx: &mut dyn Transaction| {
            let (result, is_noted) = hastened::noting(|| job(tx));
            // It may be undone and run again: what holds is the last time.
            noted.store(is_noted, Ordering::SeqCst);
            result
        });
        let outcome = run(&*self.database, job);
        if outcome.is_ok() && is_hastened.load(Ordering::SeqCst) {
            self.hastened.call();
        }
        outcome
    }

    /// Runs a write transaction; see [`Database::write_job`].
    pub fn write<T, E, F>(&self, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.telling(job, |database, job| database.write(job))
    }

    /// As [`Self::write`] for jobs that lock what they decide by; see [`Isolation::ReadCommitted`].
    pub fn write_by_rows<T, E, F>(&self, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.write_as(Isolation::ReadCommitted, job)
    }

    /// As [`Self::write`], kept apart from others as the job needs it.
    pub fn write_as<T, E, F>(&self, isolation: Isolation, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.telling(job, move |database, job| database.write_as(isolation, job))
    }

    /// As [`Self::write`] for jobs that take or extend leases and do little else; see [`Database::write_lease_job`].
    pub fn write_lease<T, E, F>(&self, isolation: Isolation, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.telling(job, |database, job| database.write_lease(isolation, job))
    }

    /// Runs a write transaction that returns the topics it put work into, and wakes those who wait for them.
    pub fn write_and_wake<E, F>(&self, job: F) -> Result<(), E>
    where
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<Vec<String>, E> + Send + 'static,
    {
        let topics = self.write(job)?;
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
