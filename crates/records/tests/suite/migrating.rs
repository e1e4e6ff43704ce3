//! Lists that an older program has made and has been at work on when the tables were brought forward.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Clock, Database, Isolation, ManualClock, Placeholders, Postgres, PostgresSettings, Sqlite, Statement, Time,
    Transaction, Value,
};
use strongroom_records::{
    ChunkLease, ClaimRequest, Cursor, DatabaseRecordLists, Ending, From, ListId, Outcome, Population,
    PopulationRequest, RecordLists, RecordState, RecordsError, Selection, Takes, statements,
};
use uuid::Uuid;

const NOW: Time = Time(1_750_000_000_000_000);
const LEASE: Duration = Duration::from_mins(1);

/// What the first revision of the tables has.
const EARLIER: &str = "-- name: test.list
INSERT INTO record_lists (id, next_number, is_complete, made_at, is_removed) VALUES (?1, ?2, TRUE, 0, ?3)
-- name: test.slot
INSERT INTO record_slots (list_id, slot, todo, processing, processed, failed, cancelled, sequence, claimed_to)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
-- name: test.chunk
INSERT INTO record_chunks (id, list_id, slot, worker, lease_until, open) VALUES (?1, ?2, ?3, 'older', ?4, ?5)
-- name: test.record
INSERT INTO records (list_id, number, record, state, due, attempts, chunk_id, slot, sequence, changed_at, result, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 7, NULL, ?10)
";

/// An empty database of a revision of the tables.
type Open<'o> = &'o dyn Fn(usize) -> Arc<dyn Database>;

/// What an older program has left.
struct Left {
    list: ListId,
    /// Two chunks, one of two records and one of one.
    chunks: [ChunkLease; 2],
    /// A list of which nothing is left to claim.
    ended: ListId,
    /// A list that is being removed.
    removed: ListId,
}

fn leave(database: &Arc<dyn Database>) -> Left {
    let [list, ended, removed] = std::array::from_fn(|_| ListId::new());
    let chunks = [(); 2].map(|()| ChunkLease { list, chunk: Uuid::now_v7() });
    let [one, other] = chunks.map(|lease| Value::from(lease.chunk));
    let place = |slot: i64, sequence: i64| [Value::from(slot), Value::from(sequence)];
    let none = || [Value::Null, Value::Null];
    let later = NOW.plus(LEASE.as_micros() as i64).0;
    // State, due, attempts, chunk, place, error: those from 8 were never claimed, though 9 was processed.
    let records = vec![
        (1_i64, 2_i64, 1_i64, 1_i64, Value::Null, place(3, 1), Value::Null),
        (2, 1, 1, 2, one.clone(), none(), Value::Null),
        (3, 1, 1, 1, one.clone(), none(), Value::Null),
        (4, 3, 0, 2, Value::Null, none(), "no title".into()),
        (5, 0, 0, 1, Value::Null, none(), Value::Null),
        (6, 0, later, 1, Value::Null, none(), "away".into()),
        (7, 1, 1, 1, other.clone(), none(), Value::Null),
        (8, 0, 1, 0, Value::Null, none(), Value::Null),
        (9, 2, 1, 1, Value::Null, place(3, 2), Value::Null),
        (10, 0, 1, 0, Value::Null, none(), Value::Null),
        (11, 4, 1, 0, Value::Null, none(), Value::Null),
        (12, 0, 1, 0, Value::Null, none(), Value::Null),
    ];
    database
        .write_as::<_, RecordsError, _>(Isolation::ReadCommitted, move |tx: &mut dyn Transaction| {
            for (id, next, is_removed) in [(list, 14_i64, false), (ended, 2, false), (removed, 2, true)] {
                tx.execute(Statement("test.list"), &[id.into(), next.into(), is_removed.into()])?;
            }
            for slot in 0..16_i64 {
                let counts = if slot == 3 { [5, 3, 2, 1, 1, 2, 9] } else { [0; 7] };
                let values: Vec<Value> =
                    [list.into(), slot.into()].into_iter().chain(counts.map(Value::Integer)).collect();
                tx.execute(Statement("test.slot"), &values)?;
            }
            let counts = [0, 0, 1, 0, 0, 1, 1].map(Value::Integer);
            let values: Vec<Value> = [ended.into(), 0_i64.into()].into_iter().chain(counts).collect();
            tx.execute(Statement("test.slot"), &values)?;
            for (chunk, open) in [(&one, 2_i64), (&other, 1)] {
                let values = [chunk.clone(), list.into(), 3_i64.into(), later.into(), open.into()];
                tx.execute(Statement("test.chunk"), &values)?;
            }
            for (number, state, due, attempts, chunk, place, error) in records.clone() {
                let mut values: Vec<Value> = vec![list.into(), number.into(), format!("urn:{number}").into()];
                values.extend([state.into(), due.into(), attempts.into(), chunk]);
                values.extend(place);
                values.push(error);
                tx.execute(Statement("test.record"), &values)?;
            }
            for id in [ended, removed] {
                let mut values: Vec<Value> = vec![id.into(), 1_i64.into(), "urn:1".into(), 2_i64.into(), 1_i64.into()];
                values.extend([1_i64.into(), Value::Null, 0_i64.into(), 1_i64.into(), Value::Null]);
                tx.execute(Statement("test.record"), &values)?;
            }
            Ok(())
        })
        .expect("is written");
    Left { list, chunks, ended, removed }
}

fn numbers(lists: &dyn RecordLists, list: ListId, state: RecordState) -> Vec<u64> {
    let (mut numbers, mut after) = (Vec::new(), Cursor::START);
    loop {
        let page = lists.page(list, state, after, 2).expect("reads");
        let Some(last) = page.last() else { return numbers };
        after = last.cursor;
        numbers.extend(page.iter().map(|record| record.number));
    }
}

fn what_an_older_program_has_left_goes_on(open: Open<'_>, clock: &ManualClock) {
    let earlier = open(1);
    let Left { list, chunks, ended, removed } = leave(&earlier);
    drop(earlier);
    let lists = DatabaseRecordLists::new(open(2));
    let of = |state| numbers(&lists, list, state);
    let counts = lists.status(list).expect("reads").counts;
    let by_state = [counts.todo, counts.processing, counts.processed, counts.failed, counts.cancelled];
    assert_eq!(by_state, RecordState::ALL.map(|state| of(state).len() as u64));
    assert_eq!(of(RecordState::Todo), [5, 8, 10, 12, 6]);
    assert_eq!(of(RecordState::Processing), [2, 3, 7]);
    assert_eq!(of(RecordState::Processed), [1, 9]);
    assert_eq!(of(RecordState::Failed), [4]);
    assert_eq!(of(RecordState::Cancelled), [11]);
    let failed = lists.page(list, RecordState::Failed, Cursor::START, 2).expect("reads").remove(0);
    assert_eq!((failed.id.as_str(), failed.attempts, failed.error.as_deref()), ("urn:4", 2, Some("no title")));
    // What a worker had, it may end while it has the lease; then it comes back.
    let end = |number| Ending { number, outcome: Outcome::Processed { result: None } };
    assert_eq!(lists.finish(chunks[0], &[end(2)]).expect("ends").open, 1);
    let request = |limit| ClaimRequest { list, worker: "newer".into(), limit, lease: LEASE };
    let claimed = lists.claim(&request(2)).expect("claims").expect("there are records");
    let as_claimed = |chunk: &strongroom_records::Chunk| {
        chunk.records.iter().map(|record| (record.number, record.attempts)).collect::<Vec<_>>()
    };
    assert_eq!(as_claimed(&claimed), [(5, 2), (8, 1)]);
    lists.finish(claimed.lease, &[end(5), end(8)]).expect("ends");
    clock.advance(LEASE.as_micros() as i64);
    let returned: u64 = lists.return_expired(10).expect("returns").iter().map(|one| one.records).sum();
    assert_eq!(returned, 2);
    assert!(matches!(lists.finish(chunks[1], &[end(7)]), Err(RecordsError::ChunkLost(_))));
    let rest = lists.claim(&request(100)).expect("claims").expect("there are records");
    assert_eq!(as_claimed(&rest), [(3, 2), (7, 2), (10, 1), (12, 1), (6, 2)]);
    assert!(matches!(lists.finish(rest.lease, &[end(11)]), Err(RecordsError::ChunkLost(_))));
    let ends: Vec<Ending> = rest.records.iter().map(|record| end(record.number)).collect();
    assert_eq!(lists.finish(rest.lease, &ends).expect("ends").open, 0);
    assert_eq!(lists.claim(&request(1)).expect("answers"), None);
    assert!(lists.status(list).expect("reads").is_finished());
    // All of it can be followed, and other lists are as they were.
    let follower = population(&lists);
    let from = |list| From { list, selection: Selection::Processed, takes: Takes::Records };
    assert_eq!(lists.add_from(&follower, from(list), 100).expect("takes").added.added, 10);
    assert_eq!(numbers(&lists, ended, RecordState::Processed), [1]);
    assert_eq!(lists.being_removed(10).expect("reads"), [removed]);
    while !lists.remove(removed, 10).expect("removes") {}
    assert_eq!(lists.being_removed(10).expect("reads"), []);
}

fn population(lists: &dyn RecordLists) -> Population {
    let list = ListId::new();
    lists.create(list).expect("is made");
    let request = PopulationRequest { list, worker: "newer".into(), lease: LEASE };
    lists.take_population(&request).expect("answers").expect("is free")
}

#[test]
fn what_an_older_program_has_left_goes_on_in_sqlite() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(NOW));
    let open = |revisions: usize| -> Arc<dyn Database> {
        let all = statements("sqlite").with_shared(Placeholders::QuestionMarks, EARLIER);
        let migrations = super::migrations("sqlite");
        let path = folder.path().join("registry.db");
        let clock: Arc<dyn Clock> = clock.clone();
        Arc::new(Sqlite::open(&path, all, &migrations[..revisions], clock).expect("opens"))
    };
    what_an_older_program_has_left_goes_on(&open, &clock);
}

#[test]
fn what_an_older_program_has_left_goes_on_in_postgres() {
    let Some(scratch) = Scratch::new() else { return };
    let clock = Arc::new(ManualClock::at(NOW));
    let open = |revisions: usize| -> Arc<dyn Database> {
        let all = statements("postgres").with_shared(Placeholders::Dollars, EARLIER);
        let migrations = super::migrations("postgres");
        let settings = PostgresSettings { clock: Some(clock.clone()), ..PostgresSettings::default() };
        Arc::new(Postgres::open(&scratch.url(), settings, all, &migrations[..revisions]).expect("opens"))
    };
    what_an_older_program_has_left_goes_on(&open, &clock);
}
