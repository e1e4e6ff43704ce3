//! Copies of a database in use.

use std::path::{Path, PathBuf};
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

/// Makes `path` with its log as a killed process leaves them, and a backup of what it held before `later`.
fn killed_with_a_backup(path: &Path, backup: &Path) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lived = folder.path().join("registry.db");
    let database = open_at(&lived).expect("opens");
    note(&database, "early").expect("writes");
    database.backup(backup).expect("backs up");
    for number in 0..500 {
        let writing: &dyn Database = &database;
        writing.write(move |transaction| add(transaction, &format!("later {number}"))).expect("writes");
    }
    // While the database is open, the file and its log lie there as after a kill.
    for suffix in ["", "-wal"] {
        std::fs::copy(side_file(&lived, suffix), side_file(path, suffix)).expect("copies");
    }
    assert!(std::fs::metadata(side_file(path, "-wal")).expect("a log").len() > 0);
}

fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[test]
fn a_backup_is_not_opened_with_the_log_of_the_file_that_it_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, backup) = (folder.path().join("regis try?.db"), folder.path().join("backup.db"));
    killed_with_a_backup(&path, &backup);
    std::fs::copy(&backup, &path).expect("is restored");
    let log_before = std::fs::read(side_file(&path, "-wal")).expect("a log");
    for _ in 0..2 {
        let error = open_at(&path).err().expect("is refused");
        assert!(matches!(&error, DatabaseError::ForeignLog { log, .. } if log.ends_with("-wal")), "{error}");
    }
    assert_eq!(std::fs::read(&path).expect("reads"), std::fs::read(&backup).expect("reads"), "nothing is changed");
    assert_eq!(std::fs::read(side_file(&path, "-wal")).expect("reads"), log_before);

    std::fs::rename(side_file(&path, "-wal"), folder.path().join("aside-wal")).expect("moves the log away");
    let restored = open_at(&path).expect("opens");
    assert_eq!(texts(&restored), ["early"]);
    note(&restored, "after").expect("writes");
    drop(restored);
    assert_eq!(texts(&open_at(&path).expect("opens again")), ["after", "early"]);
}

#[test]
fn a_restored_backup_whose_process_is_killed_keeps_its_own_log() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, path) = (folder.path().join("first.db"), folder.path().join("registry.db"));
    let killed = folder.path().join("killed.db");
    note(&open_at(&first).expect("opens"), "early").expect("writes");
    open_at(&first).expect("opens").backup(&path).expect("backs up");
    let database = open_at(&path).expect("a copy is used");
    note(&database, "later").expect("writes");
    for suffix in ["", "-wal"] {
        std::fs::copy(side_file(&path, suffix), side_file(&killed, suffix)).expect("copies");
    }
    assert!(std::fs::metadata(side_file(&killed, "-wal")).expect("a log").len() > 0);
    assert_eq!(texts(&open_at(&killed).expect("opens")), ["early", "later"]);
}
