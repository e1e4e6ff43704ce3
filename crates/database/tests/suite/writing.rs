//! Writes: together or not at all, each job by itself, in turns with others.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

use strongroom_database::{Database, DatabaseError, ManualClock, Time, Value};

use super::{ADD, COUNT, MARK, add, home, home_with, note, open_at, texts};

#[test]
fn an_error_of_the_job_undoes_all_it_did() {
    let home = home();
    let error = home
        .database
        .write(|transaction| {
            add(transaction, "one")?;
            Err::<(), _>(DatabaseError::Aborted("second thoughts".into()))
        })
        .expect_err("the job's own error comes back");
    assert_eq!(error.to_string(), "second thoughts");
    assert!(texts(&*home.database).is_empty());
}

#[test]
fn a_refused_row_is_told_with_its_statement_and_its_constraint() {
    let home = home();
    note(&*home.database, "same").expect("writes");
    let error = note(&*home.database, "same").expect_err("refused");
    let DatabaseError::Constraint { statement, detail } = &error else { panic!("{error}") };
    assert_eq!(*statement, "add");
    assert!(detail.contains("note.text"), "{detail}");
    assert!(!error.is_transient());
}

#[test]
fn a_row_without_its_parent_is_refused() {
    let home = home();
    let error: DatabaseError = home
        .database
        .write(|transaction| transaction.execute(MARK, &[Value::Integer(7), Value::Null]))
        .expect_err("refused");
    assert!(matches!(error, DatabaseError::Constraint { .. }), "{error}");
}

#[test]
fn a_panic_fails_its_own_job_and_no_other() {
    let home = home();
    let threads: Vec<_> = (0..16)
        .map(|number| {
            let database = home.database.clone();
            std::thread::spawn(move || {
                database.write(move |transaction| {
                    add(transaction, &format!("{number:02}"))?;
                    assert!(number % 4 != 0, "number {number} is not liked");
                    Ok::<_, DatabaseError>(())
                })
            })
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        let outcome = thread.join().expect("the caller's thread lives");
        assert_eq!(outcome.is_err(), number % 4 == 0, "{number}: {outcome:?}");
    }
    assert_eq!(texts(&*home.database).len(), 12);
}

#[test]
fn jobs_of_one_group_succeed_and_fail_each_by_itself() {
    let home = home();
    let barrier = Arc::new(Barrier::new(32));
    let threads: Vec<_> = (0..32)
        .map(|number: i32| {
            let (database, barrier) = (home.database.clone(), barrier.clone());
            std::thread::spawn(move || {
                barrier.wait();
                database.write(move |transaction| add(transaction, &format!("{:02}", number / 2)))
            })
        })
        .collect();
    let kept = threads.into_iter().flat_map(|thread| thread.join().expect("lives")).count();
    assert_eq!(kept, 16, "of each pair of equal texts one is kept");
    assert_eq!(texts(&*home.database).len(), 16);
}

#[test]
fn a_full_disk_fails_transiently_and_the_database_goes_on() {
    let home = home();
    note(&*home.database, "before").expect("writes");
    // The engine's own limit on pages gives the error that a full disk gives, SQLITE_FULL.
    let limited = super::statements()
        .with("-- name: limit\nPRAGMA max_page_count = 1\n-- name: free\nPRAGMA max_page_count = 1073741823\n");
    let database: Arc<dyn Database> = Arc::new(
        strongroom_database::Sqlite::open(
            &home.folder.path().join("registry.db"),
            limited,
            super::MIGRATIONS,
            super::clock(),
        )
        .expect("opens"),
    );
    let pragma = |name: &'static str| {
        database
            .write(move |transaction| transaction.query(strongroom_database::Statement(name), &[]))
            .map_err(|error: DatabaseError| error)
            .expect("sets the limit");
    };
    pragma("limit");
    let error = database
        .write(|transaction| {
            for number in 0..1000 {
                add(transaction, &format!("{number}").repeat(1000))?;
            }
            Ok::<_, DatabaseError>(())
        })
        .expect_err("no room");
    assert!(error.is_transient(), "{error}");
    assert!(error.to_string().contains("full"), "{error}");
    pragma("free");
    note(&*database, "after").expect("writes again");
    assert_eq!(texts(&*database), ["after", "before"]);
}

#[test]
fn many_rows_go_in_with_one_statement() {
    let home = home();
    let changed: u64 = home
        .database
        .write(|transaction| {
            let mut lists = (0..500).map(|number| vec![Value::Text(format!("{number}"))]);
            transaction.execute_each(ADD, &mut lists)
        })
        .map_err(|error: DatabaseError| error)
        .expect("writes");
    assert_eq!(changed, 500);
    assert_eq!(texts(&*home.database).len(), 500);
}

#[test]
fn time_is_one_within_a_transaction_and_never_goes_back() {
    let clock = Arc::new(ManualClock::at(Time(5_000)));
    let home = home_with(clock.clone());
    let moved = clock.clone();
    let (first, second): (Time, Time) = home
        .database
        .write(move |transaction| {
            let first = transaction.now()?;
            moved.advance(10);
            Ok::<_, DatabaseError>((first, transaction.now()?))
        })
        .expect("writes");
    assert_eq!(first, second);
    let now = || home.database.read(|transaction| transaction.now()).expect("reads");
    assert_eq!(now(), Time(5_010));
    clock.advance(-1_000);
    assert_eq!(now(), Time(5_010));
}

#[test]
fn what_only_reads_does_not_wait_for_a_turn_that_does_not_end() {
    let home = home();
    note(&*home.database, "kept").expect("writes");
    let path = home.folder.path().join("registry.db");
    std::thread::scope(|scope| {
        let (is_writing, writes) = channel();
        // Where this test fails, the writer ends as well, because nobody is left to let it go on.
        let (go_on, may_go_on) = channel::<()>();
        let database = home.database.clone();
        let writer = scope.spawn(move || {
            database.write(move |transaction| {
                add(transaction, "later")?;
                is_writing.send(()).expect("is waited for");
                may_go_on.recv().expect("is let go");
                Ok::<_, DatabaseError>(())
            })
        });
        writes.recv().expect("it writes");
        let other = open_at(&path).expect("opens while another one writes");
        assert_eq!(texts(&other), ["kept"]);
        go_on.send(()).expect("it waits");
        writer.join().expect("ends").expect("writes");
        assert_eq!(texts(&other), ["kept", "later"]);
    });
}

#[test]
fn two_handles_on_one_file_both_get_their_turns() {
    let home = home();
    let other: Arc<dyn Database> = Arc::new(open_at(&home.folder.path().join("registry.db")).expect("opens"));
    let threads: Vec<_> = [("a", home.database.clone()), ("b", other)]
        .into_iter()
        .flat_map(|(name, database)| {
            (0..4).map(move |thread| {
                let database = database.clone();
                std::thread::spawn(move || {
                    for number in 0..50 {
                        database
                            .write(move |transaction| add(transaction, &format!("{name}{thread}-{number}")))
                            .expect("writes");
                    }
                })
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("lives");
    }
    let count: u64 = home
        .database
        .read(|transaction| transaction.query(COUNT, &[])?[0].count("notes"))
        .map_err(|e: DatabaseError| e)
        .expect("reads");
    assert_eq!(count, 400);
}

#[test]
fn what_was_written_is_there_after_reopening() {
    let home = home();
    note(&*home.database, "lasting").expect("writes");
    let super::Home { database, folder } = home;
    drop(database);
    let again = open_at(&folder.path().join("registry.db")).expect("opens");
    assert_eq!(texts(&again), ["lasting"]);
}

#[test]
fn a_write_within_a_write_is_refused_instead_of_waiting_for_itself() {
    let home = home();
    let same = home.database.clone();
    let error = home
        .database
        .write(move |transaction| {
            add(transaction, "outer")?;
            note(&*same, "inner")
        })
        .expect_err("refused");
    assert!(error.to_string().contains("within another"), "{error}");
    assert!(texts(&*home.database).is_empty());
    note(&*home.database, "after").expect("goes on");
}
