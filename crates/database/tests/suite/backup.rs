//! Copies of a database in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_database::{Database, DatabaseError};

use super::{add, note, open_at, texts};

#[test]
fn a_backup_made_while_others_write_is_one_whole_state() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = Arc::new(open_at(&folder.path().join("registry.db")).expect("opens"));
    note(&*database, "first").expect("writes");
    let stop = Arc::new(AtomicBool::new(false));
    let writing = {
        let (database, stop) = (database.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut number = 0;
            while !stop.load(Ordering::SeqCst) {
                let database: &dyn Database = &*database;
                database
                    .write(move |transaction| {
                        add(transaction, &format!("{number}a"))?;
                        add(transaction, &format!("{number}b"))
                    })
                    .expect("writes");
                number += 1;
            }
        })
    };
    for number in 0..5 {
        let path = folder.path().join(format!("copy-{number}.db"));
        database.backup(&path).expect("backs up");
        let copy = open_at(&path).expect("the copy opens");
        assert_eq!(texts(&copy).len() % 2, 1, "pairs are copied whole");
    }
    stop.store(true, Ordering::SeqCst);
    writing.join().expect("lives");
}

#[test]
fn a_backup_never_overwrites_and_leaves_no_part_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = open_at(&folder.path().join("registry.db")).expect("opens");
    let target = folder.path().join("precious.txt");
    std::fs::write(&target, "mine").expect("writes");
    let error = database.backup(&target).expect_err("refused");
    assert!(matches!(error, DatabaseError::Unavailable { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&target).expect("reads"), "mine");
    assert!(!folder.path().join("precious.txt.part").exists());
}
