//! Transactions that meet: as if each ran alone, or by rows.

use std::sync::{Arc, Barrier};

use strongroom_database::{Database, DatabaseError, Isolation};

use super::{PUT, SUM, home, impatient, open, raise, try_open, value};

#[test]
fn what_others_changed_meanwhile_is_run_again() {
    let Some((database, scratch)) = home() else { return };
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let database = open(&scratch.url());
            std::thread::spawn(move || {
                for _ in 0..20 {
                    database.write(|transaction| raise(transaction, "one")).expect("is kept in the end");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("lives");
    }
    let found: i64 = database.read(|transaction| value(transaction, "one")).expect("reads");
    assert_eq!(found, 120);
}

/// Two transactions that each read what the other writes: alone, the second would see the first.
#[test]
fn no_two_serial_transactions_decide_by_what_the_other_changes() {
    let Some((database, scratch)) = home() else { return };
    for _ in 0..20 {
        database
            .write(|transaction| {
                transaction.execute(PUT, &["a".into(), 0.into()])?;
                transaction.execute(PUT, &["b".into(), 0.into()])
            })
            .map_err(|error: DatabaseError| error)
            .expect("writes");
        let both = Arc::new(Barrier::new(2));
        let threads: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|name| {
                let (database, both) = (open(&scratch.url()), both.clone());
                std::thread::spawn(move || {
                    let mut first = true;
                    database.write(move |transaction| {
                        let all = transaction.query(SUM, &[])?[0].integer("total")?;
                        if std::mem::take(&mut first) {
                            both.wait();
                        }
                        // Only the first to come takes something.
                        if all == 0 {
                            transaction.execute(PUT, &[name.into(), 1.into()])?;
                        }
                        Ok::<_, DatabaseError>(())
                    })
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("lives").expect("is kept in the end");
        }
        let all: i64 = database
            .read(|transaction| transaction.query(SUM, &[])?[0].integer("total"))
            .map_err(|error: DatabaseError| error)
            .expect("reads");
        assert_eq!(all, 1);
    }
}

#[test]
fn by_rows_each_statement_sees_what_others_have_kept() {
    let Some((database, scratch)) = home() else { return };
    let other = open(&scratch.url());
    let (before, after) = database
        .write_as(Isolation::ReadCommitted, move |transaction| {
            let before = value(transaction, "one")?;
            // Another handle, so another connection: what it keeps is seen by the next statement.
            other.write(|transaction| raise(transaction, "one"))?;
            Ok::<_, DatabaseError>((before, value(transaction, "one")?))
        })
        .expect("writes");
    assert_eq!((before, after), (0, 1));
}

#[test]
fn a_conflict_that_never_ends_is_told_as_transient() {
    let Some((database, scratch)) = home() else { return };
    let stubborn: Arc<dyn Database> = Arc::new(try_open(&scratch.url(), impatient(2)).expect("opens"));
    let error = stubborn
        .write(move |transaction| {
            let present = value(transaction, "one")?;
            database.write(|transaction| raise(transaction, "one"))?;
            transaction.execute(PUT, &["one".into(), present.into()])
        })
        .expect_err("somebody is always faster");
    assert!(error.is_transient(), "{error}");
}
