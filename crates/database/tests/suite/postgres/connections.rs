//! Connections: bounded, made anew when they break, never two for one act.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use strongroom_database::testing::{Stop, own_server};
use strongroom_database::{Database, DatabaseError, Isolation, PostgresSettings, Statement};

use super::{PID, add, home, impatient, note, open, raise, settings, texts, try_open, value};

#[test]
fn when_all_are_in_use_it_is_said_so() {
    let Some((_, scratch)) = home() else { return };
    let database: Arc<dyn Database> = Arc::new(try_open(&scratch.url(), impatient(2)).expect("opens"));
    let (held, freed) = (Arc::new(Barrier::new(3)), Arc::new(Barrier::new(3)));
    std::thread::scope(|scope| {
        for text in ["a", "b"] {
            let (held, freed, database) = (held.clone(), freed.clone(), database.clone());
            scope.spawn(move || {
                let mut first = true;
                database
                    .write(move |transaction| {
                        add(transaction, text)?;
                        if std::mem::take(&mut first) {
                            held.wait();
                            freed.wait();
                        }
                        Ok::<_, DatabaseError>(())
                    })
                    .expect("writes");
            });
        }
        held.wait();
        let error = note(&*database, "c").expect_err("there is no third");
        freed.wait();
        assert!(error.is_transient(), "{error}");
        assert!(error.to_string().contains("all 2 were in use"), "{error}");
    });
    note(&*database, "c").expect("there is one again");
    assert_eq!(texts(&*database), ["a", "b", "c"]);
}

#[test]
fn leases_are_extended_while_other_work_has_every_connection() {
    let Some((_, scratch)) = home() else { return };
    let database: Arc<dyn Database> = Arc::new(try_open(&scratch.url(), impatient(1)).expect("opens"));
    let (inner, mut is_first) = (database.clone(), true);
    database
        .write(move |transaction| {
            add(transaction, "a")?;
            if std::mem::take(&mut is_first) {
                let extend =
                    |text| inner.write_lease(Isolation::ReadCommitted, move |transaction| add(transaction, text));
                std::thread::scope(|scope| {
                    let lease = || extend("lease").expect("extends");
                    scope.spawn(lease).join().expect("lives");
                    let error = scope.spawn(|| note(&*inner, "b")).join().expect("lives");
                    assert!(error.expect_err("there is no second").to_string().contains("all 1 were in use"));
                });
            }
            Ok::<_, DatabaseError>(())
        })
        .expect("writes");
    assert_eq!(texts(&*database), ["a", "lease"]);
}

#[test]
fn who_waits_gets_the_connection_that_comes_free() {
    let Some((_, scratch)) = home() else { return };
    let single = PostgresSettings { connections: 1, ..settings() };
    let database: Arc<dyn Database> = Arc::new(try_open(&scratch.url(), single).expect("opens"));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let database = database.clone();
            std::thread::spawn(move || {
                for _ in 0..10 {
                    database.write(|transaction| raise(transaction, "one")).expect("writes");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("lives");
    }
    let found: i64 = database.read(|transaction| value(transaction, "one")).expect("reads");
    assert_eq!(found, 80);
}

#[test]
fn a_transaction_within_another_one_is_a_defect() {
    let Some((database, _scratch)) = home() else { return };
    let same = database.clone();
    let error = database
        .write(move |transaction| {
            add(transaction, "outer")?;
            note(&*same, "inner")
        })
        .expect_err("refused");
    assert!(error.to_string().contains("within another"), "{error}");
    let error = database
        .read(|transaction| {
            transaction.query(PID, &[])?;
            note(&*database, "inner")
        })
        .expect_err("refused");
    assert!(error.to_string().contains("within another"), "{error}");
    assert!(texts(&*database).is_empty());
    note(&*database, "after").expect("goes on");
}

#[test]
fn a_connection_that_is_ended_in_the_middle_loses_and_doubles_nothing() {
    let Some((database, scratch)) = home() else { return };
    let mut killer = scratch.client();
    for number in 0..10_i64 {
        let (tell, told) = channel();
        let (go, gone) = channel();
        std::thread::scope(|scope| {
            let database = database.clone();
            let writing = scope.spawn(move || {
                let mut runs = 0;
                database.write(move |transaction| {
                    runs += 1;
                    raise(transaction, "one")?;
                    if runs == 1 {
                        let pid = transaction.query(PID, &[])?[0].integer("pid")?;
                        tell.send(pid).map_err(|error| DatabaseError::Aborted(error.to_string()))?;
                        gone.recv().map_err(|error| DatabaseError::Aborted(error.to_string()))?;
                    }
                    // Every second time the end is met by a statement, else by the commit.
                    if number % 2 == 0 {
                        raise(transaction, "two")?;
                    }
                    Ok::<_, DatabaseError>(runs)
                })
            });
            let pid = i32::try_from(told.recv().expect("is in the middle")).expect("a process id");
            killer.execute("SELECT pg_terminate_backend($1, 10000)", &[&pid]).expect("is ended");
            go.send(()).expect("goes on");
            assert_eq!(writing.join().expect("lives").expect("is kept"), 2, "it ran again");
        });
        let found: i64 = database.read(|transaction| value(transaction, "one")).expect("reads");
        assert_eq!(found, number + 1);
    }
}

#[test]
fn connections_that_broke_while_nobody_used_them_are_made_anew() {
    let Some((database, scratch)) = home() else { return };
    note(&*database, "before").expect("writes");
    let pid: i64 = database
        .write(|transaction| transaction.query(PID, &[])?[0].integer("pid"))
        .map_err(|error: DatabaseError| error)
        .expect("writes");
    let pid = i32::try_from(pid).expect("a process id");
    scratch.client().execute("SELECT pg_terminate_backend($1, 10000)", &[&pid]).expect("is ended");
    assert_eq!(texts(&*database), ["before"]);
    note(&*database, "after").expect("writes");
}

/// Writers go on while the server is stopped and started, in order and as in a crash; what each was told is true.
#[test]
fn a_server_that_is_restarted_in_the_middle_of_work_loses_and_doubles_nothing() {
    let Some(mut server) = own_server() else { return };
    let url = server.url();
    let database = open(&url);
    let stopping = std::sync::atomic::AtomicBool::new(false);
    let kept: i64 = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (database, stopping) = (database.clone(), &stopping);
                scope.spawn(move || {
                    let name = format!("writer {writer}");
                    let (mut kept, mut in_doubt) = (0_i64, 0_i64);
                    while !stopping.load(std::sync::atomic::Ordering::SeqCst) {
                        let own = name.clone();
                        match database.write(move |transaction| raise(transaction, &own)) {
                            Ok(()) => kept += 1,
                            Err(DatabaseError::InDoubt { .. }) => in_doubt += 1,
                            Err(error) => panic!("{error}"),
                        }
                    }
                    let found: i64 = database.read(|transaction| value(transaction, &name)).expect("reads");
                    assert!((kept..=kept + in_doubt).contains(&found), "{found} of {kept} and {in_doubt} in doubt");
                    kept
                })
            })
            .collect();
        for how in [Stop::Fast, Stop::Immediate, Stop::Fast, Stop::Immediate] {
            let present = || -> i64 {
                database
                    .read(|transaction| transaction.query(Statement("sum"), &[])?[0].integer("total"))
                    .map_err(|error: DatabaseError| error)
                    .unwrap_or(0)
            };
            let before = present();
            while present() < before + 50 {
                std::thread::sleep(Duration::from_millis(1));
            }
            server.stop(how).expect("stops");
            server.begin().expect("starts");
        }
        let before: i64 = database.read(|transaction| value(transaction, "writer 0")).expect("reads");
        while database.read(|transaction| value(transaction, "writer 0")).expect("reads") < before + 10 {
            std::thread::sleep(Duration::from_millis(1));
        }
        stopping.store(true, std::sync::atomic::Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().expect("lives")).sum()
    });
    assert!(kept > 200, "{kept}");
}

#[test]
fn a_server_that_does_not_come_back_is_told_as_transient() {
    let Some(mut server) = own_server() else { return };
    let database: Arc<dyn Database> = Arc::new(try_open(&server.url(), impatient(2)).expect("opens"));
    note(&*database, "before").expect("writes");
    server.stop(Stop::Fast).expect("stops");
    let error = note(&*database, "meanwhile").expect_err("nobody answers");
    assert!(error.is_transient(), "{error}");
    server.begin().expect("starts");
    note(&*database, "after").expect("writes");
    assert_eq!(texts(&*database), ["after", "before"]);
}
