//! The cases against PostgreSQL, and what concerns this engine alone: its statements, their plans, that it keeps step with the
//! other dialect.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{ManualClock, Postgres, PostgresSettings, Statement, Time};
use strongroom_registry::{Registry, schema};

use super::conformance_suite;
use super::sqlite::MAY_SCAN;
use super::world::Subject;

struct PostgresSubject {
    registry: Registry,
    clock: Arc<ManualClock>,
    _scratch: Scratch,
}

fn fresh() -> Option<PostgresSubject> {
    let scratch = Scratch::new()?;
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let settings = PostgresSettings { clock: Some(clock.clone()), ..PostgresSettings::default() };
    let registry = Registry::within(Arc::new(open(&scratch, settings)));
    Some(PostgresSubject { registry, clock, _scratch: scratch })
}

fn open(scratch: &Scratch, settings: PostgresSettings) -> Postgres {
    let strongroom_database::Schema { statements, migrations } = schema("postgres");
    Postgres::open(&scratch.url(), settings, statements, &migrations).expect("opens")
}

impl Subject for PostgresSubject {
    fn registry(&self) -> Registry {
        self.registry.clone()
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by.as_micros() as i64);
    }
}

conformance_suite!(fresh);

#[test]
fn every_statement_fits_the_schema() {
    let Some(scratch) = Scratch::new() else { return };
    open(&scratch, PostgresSettings::default()).check_statements().expect("all fit");
}

#[test]
fn both_dialects_hold_the_same_statements_and_versions() {
    let names = |dialect| schema(dialect).statements.names().collect::<BTreeSet<_>>();
    assert_eq!(names("postgres"), names("sqlite"));
    let versions = |dialect| schema(dialect).migrations.iter().map(|one| (one.version, one.name)).collect::<Vec<_>>();
    assert_eq!(versions("postgres"), versions("sqlite"));
}

#[test]
fn no_statement_reads_a_table_that_grows_from_end_to_end() {
    let Some(scratch) = Scratch::new() else { return };
    drop(open(&scratch, PostgresSettings::default()));
    let mut client = scratch.client();
    client.batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan").expect("sets");
    let statements = schema("postgres").statements;
    let mut scans = Vec::new();
    for name in statements.names().filter(|name| !name.starts_with("rebuild.") && !MAY_SCAN.contains(name)) {
        let sql = statements.sql(Statement(name)).expect("is there");
        let count = (1..40).rev().find(|number| sql.contains(&format!("${number}"))).unwrap_or(0);
        let arguments = match count {
            0 => String::new(),
            count => format!("({})", vec!["NULL"; count].join(", ")),
        };
        let explain = format!("PREPARE plan AS {sql}; EXPLAIN EXECUTE plan{arguments}; DEALLOCATE plan");
        let plan = client.simple_query(&explain).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        for message in plan {
            if let postgres::SimpleQueryMessage::Row(row) = message
                && row.get(0).is_some_and(|step| step.contains("Seq Scan"))
            {
                scans.push(format!("{name}: {}", row.get(0).unwrap_or_default().trim()));
            }
        }
    }
    assert!(scans.is_empty(), "{scans:#?}");
}
