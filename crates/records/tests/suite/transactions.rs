//! Record lists within transactions of the caller: what is written together is kept together, and what is committed late is not missed.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use strongroom_database::{Database, Isolation, Statement, Transaction};
use strongroom_records::conformance::Subject;
use strongroom_records::{
    Addition, Arrival, Chunk, ClaimRequest, Ending, From, ListId, NewRecord, Outcome, Population, PopulationRequest,
    RecordLists, RecordsError, Selection, Takes, lists,
};

use super::{postgres, sqlite};

const LEASE: Duration = Duration::from_mins(1);

/// The population of a new list.
fn take_population(lists: &dyn RecordLists) -> Population {
    let list = ListId::new();
    lists.create(list).expect("is made");
    let request = PopulationRequest { list, worker: "worker".into(), lease: LEASE };
    lists.take_population(&request).expect("answers").expect("is free")
}

fn populate(lists: &dyn RecordLists, records: usize) -> (ListId, Population) {
    let population = take_population(lists);
    let records = (0..records).map(|number| NewRecord::todo(format!("urn:{number}"))).collect();
    lists.add(&population, &Addition { records, cursor: Some("1".into()), is_last: false }).expect("adds");
    (population.list, population)
}

fn claim(lists: &dyn RecordLists, list: ListId) -> Chunk {
    let request = ClaimRequest { list, worker: "worker".into(), limit: 1, lease: LEASE };
    lists.claim(&request).expect("claims").expect("there are records")
}

fn endings(chunk: &Chunk) -> Vec<Ending> {
    let of = |number| Ending { number, outcome: Outcome::Processed { result: None } };
    chunk.records.iter().map(|record| of(record.number)).collect()
}

/// Records, cursor and counts of an addition whose transaction is dropped are as before; so are those of endings.
fn what_is_dropped_leaves_nothing(subject: &dyn Subject, database: &Arc<dyn Database>) {
    let lists = subject.lists();
    let (list, population) = populate(&*lists, 3);
    let chunk = claim(&*lists, list);
    let before = lists.status(list).expect("reads");
    let (again, ends) = (population.clone(), endings(&chunk));
    let dropped =
        database.write_as::<(), RecordsError, _>(Isolation::ReadCommitted, move |tx: &mut dyn Transaction| {
            let records = vec![NewRecord::todo("urn:new")];
            lists::add(tx, &again, &Addition { records, cursor: Some("2".into()), is_last: true })?;
            lists::finish(tx, chunk.lease, &ends)?;
            Err(RecordsError::NoList(list))
        });
    assert!(dropped.is_err());
    assert_eq!(lists.status(list).expect("reads"), before);
    let records = vec![NewRecord::todo("urn:new")];
    let added = lists.add(&population, &Addition { records, cursor: Some("2".into()), is_last: true }).expect("adds");
    assert_eq!((added.added, added.duplicates), (1, 0));
    assert_eq!(lists.status(list).expect("reads").counts.populated(), 4);
}

#[test]
fn what_is_dropped_leaves_nothing_in_sqlite() {
    if let Some(subject) = sqlite::fresh() {
        what_is_dropped_leaves_nothing(&subject, &subject.database);
    }
}

#[test]
fn what_is_dropped_leaves_nothing_in_postgres() {
    if let Some(subject) = postgres::fresh() {
        what_is_dropped_leaves_nothing(&subject, &subject.database);
    }
}

/// One transaction has ended a record and is not committed while others, that began later, are. A follower that took those takes
/// the one when it is committed.
#[test]
fn a_record_whose_transaction_is_committed_last_is_taken_then() {
    const ALL: usize = 40;
    let Some(subject) = postgres::fresh() else { return };
    let lists = subject.lists();
    let (list, _) = populate(&*lists, ALL);
    let mut chunks: Vec<Chunk> = (0..ALL).map(|_| claim(&*lists, list)).collect();
    let follower = take_population(&*lists);
    let from = From { list, selection: Selection::Processed, takes: Takes::Records };
    let (ended, has_ended) = channel();
    let (commit, may_commit) = channel::<()>();
    let (late, database) = (chunks.swap_remove(7), subject.database.clone());
    let taken = std::thread::scope(|scope| {
        let ends = endings(&late);
        let slow = scope.spawn(move || {
            database.write_as::<(), RecordsError, _>(Isolation::ReadCommitted, move |tx: &mut dyn Transaction| {
                lists::finish(tx, late.lease, &ends)?;
                ended.send(()).expect("is heard");
                may_commit.recv().expect("is told");
                Ok(())
            })
        });
        has_ended.recv().expect("is told");
        // Those of the same slot wait for it; all others are committed before it.
        let (committed, count) = channel();
        for chunk in chunks {
            let (lists, committed) = (subject.other(), committed.clone());
            scope.spawn(move || {
                lists.finish(chunk.lease, &endings(&chunk)).expect("ends");
                committed.send(()).expect("is heard");
            });
        }
        count.recv().expect("some are in other slots");
        let before = lists.add_from(&follower, from, ALL).expect("takes").added.added;
        assert!(before < ALL as u64);
        commit.send(()).expect("is heard");
        slow.join().expect("lives").expect("is committed");
        for _ in 0..ALL - 2 {
            count.recv().expect("they end");
        }
        before + lists.add_from(&follower, from, ALL).expect("takes").added.added
    });
    assert_eq!(taken, ALL as u64);
}

/// A transaction has locked a record and then takes every slot, as the header of the crate says, while another one gives the record another
/// end. Where that had locked its slot first, each would wait for the other.
#[test]
fn a_record_is_locked_before_the_slot_where_it_is_given_another_end() {
    const MOST_SLOTS: i64 = 256;
    let Some(subject) = postgres::fresh() else { return };
    let lists = subject.lists();
    let population = take_population(&*lists);
    let list = population.list;
    let failed = NewRecord { id: "urn:1".into(), arrival: Arrival::Failed { error: "bad".into() } };
    lists.add(&population, &Addition { records: vec![failed], cursor: None, is_last: false }).expect("adds");
    let read = |tx: &mut dyn Transaction| lists::find(tx, list, "urn:1");
    let found = subject.database.read::<_, RecordsError, _>(read).expect("reads").expect("is there");
    let (locked, is_locked) = channel();
    let (begins, has_begun) = channel::<()>();
    let (database, other) = (subject.database.clone(), subject.database.clone());
    std::thread::scope(|scope| {
        let number = i64::try_from(found.number).expect("is small");
        let first = scope.spawn(move || {
            database.write_as::<(), RecordsError, _>(Isolation::ReadCommitted, move |tx: &mut dyn Transaction| {
                let failed = 3_i64;
                tx.query_one(Statement("records_lock_ended"), &[list.into(), number.into(), failed.into()])?
                    .expect("the record has failed");
                locked.send(()).expect("is heard");
                has_begun.recv().expect("is told");
                // So that the other one waits by now. Where it does not, this proves less, and does not fail.
                std::thread::sleep(Duration::from_millis(300));
                for slot in 0..MOST_SLOTS {
                    tx.query_one(Statement("records_slot"), &[list.into(), slot.into()])?;
                }
                Ok(())
            })
        });
        is_locked.recv().expect("is told");
        let second = scope.spawn(move || {
            other.write_as::<bool, RecordsError, _>(Isolation::ReadCommitted, move |tx: &mut dyn Transaction| {
                let _ = begins.send(());
                lists::supersede(tx, &population, &found, &Arrival::Processed { result: None })
            })
        });
        first.join().expect("lives").expect("is committed");
        assert!(second.join().expect("lives").expect("is committed"));
    });
}
